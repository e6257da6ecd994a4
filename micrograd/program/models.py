"""The layers and neurons of a model, whose classes and engine may be the user's own.

They are known by the attributes `layers`, `neurons`, `w` and `b`, and activations by their numbers.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from operator import mul
from typing import Any

from micrograd.core.shapes import Model, flat, shape_of
from micrograd.engine import Value, no_grad
from micrograd.nn import ACTIVATIONS, MLP, Activation, Layer, Linear, Neuron, Sequential
from micrograd.program.foreign import number_of

Weights = tuple[list[Any], Any, str]  # of a neuron, with its bias or None, and its activation or ''
Stage = tuple[Model, list[Weights]]  # a layer and its neurons


def stages_of(model: Model) -> list[Stage]:
    """The layers of a model in the order in which they run, also those in MLPs and Sequentials.

    An Activation has an empty list of neurons, and so has a model of another class that does more
    than to call its layers in order, with an activation between them or without. A layer of another
    class is replaced by a function that computes the same with our Values, whatever its engine is.
    """
    parts = getattr(model, "layers", None) or getattr(model, "modules", None)
    neurons: list[Weights] = []
    if isinstance(parts, (list, tuple)):
        stages = [stage for part in parts for stage in stages_of(part)]
        if type(model) in (MLP, Sequential):
            return stages
        between = [(Activation(name), neurons) for name in ACTIVATIONS]
        tried = [stages, *([x for s in stages for x in (s, after)][:-1] for after in between)]
    else:
        neurons = _neurons_of(model)
        if not neurons or neurons[0][-1] or not any(numbers_of(neurons[0][0])):
            return [(model, neurons)]  # of zeros alone, nothing tells the activation
        known = ([(w, b, name) for w, b, _ in neurons] for name in ACTIVATIONS)
        tried = [[(partial(_outputs, some), some)] for some in known]
    return next((some for some in tried if _agree(some, model)), [(model, neurons)])


def _neurons_of(module: object) -> list[Weights]:
    # The neurons in a layer, or a single one.
    if isinstance(module, Linear):
        rows, bias = enumerate(module.weight.tolist()), module.bias
        return [(row, None if bias is None else bias[i], "linear") for i, row in rows]
    neurons = getattr(module, "neurons", [module])
    if not isinstance(neurons, list) or any(
        len(shape_of(getattr(n, "w", 0))) != 1 for n in neurons
    ):
        return []
    are_ours = type(module) in (Layer, Neuron) and {*map(type, neurons)} == {Neuron}
    return [([*n.w], getattr(n, "b", None), n.activation if are_ours else "") for n in neurons]


def _outputs(neurons: list[Weights], x: Sequence[Any]) -> list[Any]:
    sums = (sum(map(mul, x, numbers_of(w)), Value(number_of(b) or 0)) for w, b, _ in neurons)
    return [ACTIVATIONS[kind](s) for s, (*_, kind) in zip(sums, neurons, strict=True)]


def _agree(stages: list[Stage], model: Model) -> bool:
    # Whether they give the outputs of the model, both where the sum of the first neuron is above 0
    # and where it is below.
    with suppress(Exception), no_grad():  # a class of one's own may raise anything
        weights, bias, _ = stages[0][1][0]
        w, pairs = numbers_of(weights), list[tuple[Any, Any]]()
        for total in (0.5, -0.5):
            x = [(total - (number_of(bias) or 0)) * wi / (sum(map(mul, w, w)) or 1) for wi in w]
            pairs += zip(outputs_of(stages, x), numbers_of(model(x)), strict=True)
        return all(math.isclose(y, z, rel_tol=1e-6, abs_tol=1e-9) for y, z in pairs)
    return False


def outputs_of(stages: list[Stage], x: Any) -> list[Any]:
    """The outputs of the last layer."""
    return layers_with_outputs(stages, x)[-1][-1]


def numbers_of(values: object) -> list[Any]:
    """The numbers of one or several Values of any engine."""
    return [number_of(v) for v in flat(values)]


def layers_with_outputs(stages: list[Stage], x: Any) -> list[tuple[str, list[Weights], list[Any]]]:
    """For each layer of neurons its activation, its neurons and, if x is given, their outputs."""
    found: list[tuple[str, list[Weights], list[Any]]] = []
    for layer, neurons in stages:
        x = None if x is None else layer(x)
        outputs = [] if x is None else numbers_of(x)
        if neurons:
            found.append((neurons[0][-1], neurons, outputs))
        elif isinstance(layer, Activation) and found:
            found[-1] = (layer.name, found[-1][1], outputs)
    return found
