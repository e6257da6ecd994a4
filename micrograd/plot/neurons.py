"""A network as layers of neurons, for a page that draws its weights and what each neuron sees."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from micrograd.core.shapes import flat
from micrograd.engine import Value
from micrograd.nn import Activation, layers_of, neurons_of
from micrograd.plot.plane import Array


class LayeredModel:
    """A network seen as layers of neurons, with the weights and the outputs of each neuron.

    The model is an MLP, a Layer, a Linear, or a Sequential of these and of any other callables.
    `sizes` has the number of inputs and then of neurons in each layer; it is empty for any other
    model.

    >>> from micrograd.nn import Linear, Sequential
    >>> model = LayeredModel(Sequential(Linear(2, 4), Activation("tanh"), Linear(4, 3)))
    >>> model.sizes, len(model.outputs([0.5, 0.5]))
    ([2, 4, 3], 7)
    """

    def __init__(self, model: Any) -> None:
        self._stages = [(stage, neurons_of(stage)) for stage in layers_of(model)]
        layers = [neurons for _, neurons in self._stages if neurons]
        # False if a step between two layers changes the width
        fits = all(len(after[0][1]) == len(before) for before, after in pairwise(layers))
        self._layers = layers if fits else []
        self.sizes = [len(layers[0][0][1]), *map(len, layers)] if self._layers else []

    def outputs(self, point: Any) -> list[Value]:
        """The output of each neuron after its activation, layer by layer."""
        found: list[list[Any]] = []
        for stage, neurons in self._stages:
            point = stage(point)
            if neurons:
                found.append(flat(point))
            elif isinstance(stage, Activation) and found:
                found[-1] = flat(point)
        return [output for layer in found for output in layer]

    def numbers(self, attribute: str) -> Array:
        """`data` or `grad` of all parameters: each neuron's weights, then its bias or 0."""
        neurons = [neuron for layer in self._layers for neuron in layer]
        parameters = [p for _, weights, bias, _ in neurons for p in (*weights, bias)]
        return np.array([0.0 if p is None else float(getattr(p, attribute)) for p in parameters])
