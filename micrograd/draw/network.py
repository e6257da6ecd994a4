"""The classic picture of a network, with or without the outputs for one example.

The network may be of classes that its user wrote, such as the lecture's, on any engine's Value: it
is known by the attributes `layers`, `neurons`, `w` and `b`, and its activations by their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from operator import mul
from typing import Any, NamedTuple

from micrograd.core.shapes import Model, Numbers, flat, shape_of
from micrograd.draw.cards import caption
from micrograd.draw.foreign import number_of
from micrograd.draw.formulas import number, sign
from micrograd.draw.render import Digraph
from micrograd.draw.tokens import CAPTION, EDGE, FONT, GRAPH, LIGHT, largest, line, shade
from micrograd.engine import Value, no_grad
from micrograd.nn import ACTIVATIONS, MLP, Activation, Layer, Linear, Neuron, Sequential
from micrograd.texts import said, spoken

WIDEST = 16  # circles in a column: a larger layer shows this many of its first and last neurons
SIZE, STEP = 0.5, 0.6  # inches: diameter of a circle, distance between neighbours in a column
BELOW = 0.92  # steps: from the lowest circle to the title of its column
TEXT = {"shape": "plain", "style": "", "fixedsize": "false", "fontcolor": CAPTION}
SOLID = {"fillcolor": LIGHT["ink"], "fontcolor": LIGHT["panel"]}
DOTS = "\N{VERTICAL ELLIPSIS}"

Weights = tuple[list[Any], Any, str]  # of a neuron, with its bias or None, and its activation or ''
Stage = tuple[Model, list[Weights]]  # a layer and its neurons


class _Column(NamedTuple):
    kind: str  # 'input', an activation, or 'neuron'
    size: int
    weights: list[list[Any]]  # one row for each circle
    outputs: list[Any]  # empty if no x is given


def _heights(n: int) -> dict[int, float]:
    # The height of each circle that is shown, in steps above the middle.
    if n <= WIDEST:
        return {i: (n - 1) / 2 - i for i in range(n)}
    # The gap between the first and the last ones is 3 steps high.
    top = {i: (WIDEST + 1) / 2 - i for i in range(WIDEST // 2)}
    return top | {n - 1 - i: -height for i, height in top.items()}


@spoken
def draw_network(
    model: Model,
    x: Numbers | None = None,
    format: str = "svg",
    done: int | None = None,
    *,
    language: str | None = None,
) -> Digraph:
    """The picture of a network: a column of circles for each layer, and a line for each weight.

    Lines are orange for positive weights and blue for negative ones; a larger weight has a wider
    line. If inputs x are given, each circle shows the output of its neuron; the circle of a ReLU
    neuron is solid if it fired, that is, if its output is above 0. A layer of more than 16 neurons
    shows the first and the last 8, and how many are left out.

    Args:
        model: an MLP, Layer, Neuron or Linear, a Sequential of these and Activations, or a model of
            classes like the lecture's, with its attributes `layers`, `neurons`, `w` and `b`.
        x: one example, as numbers or Values.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        done: how many layers of neurons the forward pass has computed so far, for a picture of each
            stage: the neurons that it computed last have a bold frame, and later ones no output.
        language: that of the words in it, as in `explain`.

    Raises:
        ValueError: the model contains another kind of module, or does more than to call its layers,
            or another argument does not fit them.

    >>> from micrograd.nn import MLP
    >>> draw_network(MLP(2, [3, 1]), x=[0.5, -0.5]).pipe(encoding="utf-8").count("<ellipse")
    6
    """
    columns = _columns(model, x)
    if done is not None and (x is None or done not in range(len(columns))):
        raise ValueError(f"done expects x and 0 to {len(columns) - 1} layers, got {done!r}")
    heights = [_heights(column.size) for column in columns]
    highest = max(each[0] for each in heights)
    apart = max(1.6, STEP * highest)  # keeps lines so flat that they miss other circles
    captions = [said("draw", "legend.signs")]
    if any(column.kind == "relu" and column.outputs for column in columns):
        captions.append(said("draw", "network.fired"))
    if done is not None:
        captions.append(said("draw", "network.latest"))
    look = {"style": "filled", "fixedsize": "true", "color": EDGE, "fillcolor": LIGHT["panel"]}
    dot = Digraph(
        format=format,
        engine="neato",  # keeps the given positions
        graph_attr=GRAPH | {"outputorder": "edgesfirst", "label": caption(captions)},
        node_attr={"shape": "circle", "width": f"{SIZE:g}", **look, **FONT},
        edge_attr={"dir": "none"},
    )

    def add(name: str, label: str, column: float, height: float, **look: str) -> None:
        dot.node(name, label, **look, pos=f"{column * apart:.2f},{height * STEP:.2f}!")

    strongest = largest(output for column in columns[1:] for output in column.outputs)
    heaviest = largest(w for column in columns for row in column.weights for w in row)
    for c, column in enumerate(columns):
        for i, height in heights[c].items():
            circle, text = {}, ""
            if column.outputs and (done is None or c <= done):
                output = column.outputs[i]
                text = number(output, digits=2)
                if column.kind != "relu":
                    circle["fillcolor"] = shade(output, strongest)
                elif output > 0:
                    circle |= SOLID
            if c == done:
                circle |= {"color": LIGHT["ink"], "penwidth": "3"}
            add(f"c{c}_{i}", text, c, height, **circle)
            for k in heights[c - 1] if c else ():
                dot.edge(f"c{c - 1}_{k}", f"c{c}_{i}", **line(column.weights[i][k], heaviest))
        if left_out := column.size - len(heights[c]):
            add(f"c{c}_more", rf"{DOTS}\n{left_out:,}\n{DOTS}", c, 0, **TEXT)
        key = f"box.{column.kind}" if column.kind in ("input", "neuron") else "network.column"
        title = said("draw", key, n=column.size, kind=sign(column.kind))
        add(f"c{c}", title, c, -highest - BELOW, **TEXT)
    return dot


def _columns(model: Model, x: Any) -> list[_Column]:
    stages = stages_of(model)
    allowed = all(neurons or isinstance(layer, Activation) for layer, neurons in stages)
    if not (allowed and stages and stages[0][1]):
        raise ValueError(
            "draw_network expects an MLP, Layer, Neuron or Linear, a class with their attributes "
            "(layers, neurons, w, b) that only calls its parts in order, or a Sequential of these "
            f"and Activations that begins with neurons, got {model!r:.60}: pass such a part of it"
        )
    n = len(stages[0][1][0][0])
    x = None if x is None else _numbers(x)
    if x is not None and len(x) != n:
        raise ValueError(f"the network expects {n} inputs, got {len(x)}")
    columns = [_Column("input", n, [], x or [])]
    with no_grad():
        for kind, rows, outputs in layers_with_outputs(stages, x):
            weights = [_numbers(w) for w, *_ in rows]
            columns.append(_Column(kind or "neuron", len(rows), weights, outputs))
    return columns


def _numbers(values: object) -> list[Any]:
    return [number_of(v) for v in flat(values)]


# ---- the layers and neurons of a model


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
        if not neurons or neurons[0][-1] or not any(_numbers(neurons[0][0])):
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
    shapes = [shape_of(getattr(n, "w", 0)) for n in neurons] if isinstance(neurons, list) else [()]
    if any(len(shape) != 1 for shape in shapes):
        return []
    are_ours = type(module) in (Layer, Neuron) and {*map(type, neurons)} == {Neuron}
    return [([*n.w], getattr(n, "b", None), n.activation if are_ours else "") for n in neurons]


def _outputs(neurons: list[Weights], x: Sequence[Any]) -> list[Any]:
    sums = (sum(map(mul, x, _numbers(w)), Value(number_of(b) or 0)) for w, b, _ in neurons)
    return [ACTIVATIONS[kind](s) for s, (*_, kind) in zip(sums, neurons, strict=True)]


def _agree(stages: list[Stage], model: Model) -> bool:
    # Whether they give the outputs of the model, both where the sum of the first neuron is above 0
    # and where it is below.
    with suppress(Exception), no_grad():  # a class of one's own may raise anything
        weights, bias, _ = stages[0][1][0]
        w, pairs = _numbers(weights), list[tuple[Any, Any]]()
        for total in (0.5, -0.5):
            x = [(total - (number_of(bias) or 0)) * wi / (sum(map(mul, w, w)) or 1) for wi in w]
            pairs += zip(outputs_of(stages, x), _numbers(model(x)), strict=True)
        return all(math.isclose(y, z, rel_tol=1e-6, abs_tol=1e-9) for y, z in pairs)
    return False


def outputs_of(stages: list[Stage], x: Any) -> list[Any]:
    """The outputs of the last layer."""
    return layers_with_outputs(stages, x)[-1][-1]


def layers_with_outputs(stages: list[Stage], x: Any) -> list[tuple[str, list[Weights], list[Any]]]:
    """For each layer of neurons its activation, its neurons and, if x is given, their outputs."""
    found: list[tuple[str, list[Weights], list[Any]]] = []
    for layer, neurons in stages:
        x = None if x is None else layer(x)
        outputs = [] if x is None else _numbers(x)
        if neurons:
            found.append((neurons[0][-1], neurons, outputs))
        elif isinstance(layer, Activation) and found:
            found[-1] = (layer.name, found[-1][1], outputs)
    return found
