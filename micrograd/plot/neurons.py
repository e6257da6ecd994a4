"""A network as layers of neurons, for a page that draws its weights and what each neuron sees."""

from __future__ import annotations

from typing import Any

import numpy as np

from micrograd.core.shapes import flat
from micrograd.engine import Value
from micrograd.nn import Activation, Layer, Linear, layers_of, neurons_of
from micrograd.plot.plane import Array


class LayeredModel:
    """A network seen as layers of neurons, with the weights and the outputs of each neuron.

    The model is an MLP, a Layer, a Linear, or a Sequential of these and of any other callables.
    `layers` has a list of neurons for each layer, as pairs (weights, bias or None), and `sizes` the
    number of inputs and then of neurons in each layer. Both are empty for any other model.

    >>> from micrograd.nn import Sequential
    >>> model = LayeredModel(Sequential(Linear(2, 4), Activation("tanh"), Linear(4, 3)))
    >>> model.sizes, len(model.outputs([0.5, 0.5]))
    ([2, 4, 3], 7)
    """

    def __init__(self, model: Any) -> None:
        self._stages = layers_of(model)
        layers = [
            [(weights, bias) for _, weights, bias, _ in neurons_of(stage)]
            for stage in self._stages
            if isinstance(stage, (Layer, Linear))
        ]
        inputs, outputs = [len(layer[0][0]) for layer in layers], [len(layer) for layer in layers]
        fits = inputs[1:] == outputs[:-1]  # False if a step between two layers changes the width
        self.layers = layers if fits else []
        self.sizes = [*inputs[:1], *outputs] if fits else []

    def outputs(self, point: Any) -> list[Value]:
        """The output of each neuron after its activation, layer by layer."""
        found: list[list[Any]] = []
        x = point
        for stage in self._stages:
            x = stage(x)
            several = flat(x)
            if isinstance(stage, (Layer, Linear)):
                found.append(several)
            elif isinstance(stage, Activation) and found:
                found[-1] = several
        return [output for layer in found for output in layer]

    def numbers(self, attribute: str) -> Array:
        """`data` or `grad` of all parameters: each neuron's weights, then its bias or 0."""
        found = [
            0.0 if p is None else float(getattr(p, attribute))
            for layer in self.layers
            for weights, bias in layer
            for p in (*weights, bias)
        ]
        return np.array(found)
