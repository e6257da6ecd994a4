"""The classic picture of a network: circles in columns from left to right.

`draw_dot` draws one computation; `draw_network` draws the network itself, with or without the
outputs for one example.

    >>> from micrograd.nn import MLP
    >>> picture = draw_network(MLP(2, [4, 4, 1]))
    >>> picture.pipe(encoding="utf-8").count("<ellipse")
    11
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.shapes import flat
from micrograd.draw.cards import caption
from micrograd.draw.render import Digraph
from micrograd.draw.style import (
    CAPTION,
    EDGE,
    FONT,
    LEGEND,
    counted,
    largest,
    line,
    number,
    shade,
    sign,
    sign_colour,
)
from micrograd.draw.tokens import LIGHT
from micrograd.engine import Value, no_grad
from micrograd.module import Module
from micrograd.nn import Activation, Layer, Linear, Neuron, layers_of, neurons_of

SIZE = 0.5  # inches: diameter of a circle
STEP = 0.6  # inches: distance between neighbours in a column
GAP = 3  # steps: space for circles that are left out
LABEL = 0.22  # inches: room for a number on a line
BELOW = 0.15  # inches: room for a name below a circle
TEXT = {"shape": "plain", "style": "", "fixedsize": "false", "fontcolor": CAPTION}
LABELS = {**TEXT, "style": "filled", "fillcolor": LIGHT["panel"], "fontcolor": LIGHT["ink"]}
SOLID = {"fillcolor": LIGHT["ink"], "fontcolor": LIGHT["panel"]}
LETTER = 0.085  # inches: the approximate width of a letter


@dataclass
class _Column:
    kind: str
    size: int
    weights: list[list[Value]] = field(default_factory=list)  # one row for each circle
    outputs: list[Any] = field(default_factory=list)  # numbers; empty if no x is given
    names: Sequence[str] = ()

    def heights(self, widest: int) -> Mapping[int, float]:
        """The height of each circle that is shown, in steps above the middle."""
        if self.size <= widest:
            return {i: (self.size - 1) / 2 - i for i in range(self.size)}
        last = widest // 2
        places = [*range(widest - last), *range(self.size - last, self.size)]
        middle = (widest + GAP - 2) / 2
        skipped = self.size - widest - GAP + 1  # the gap is as high as GAP - 1 circles
        return {i: middle - (i if i < widest - last else i - skipped) for i in places}


def draw_network(
    model: Module,
    x: Any = None,
    format: str = "svg",
    widest: int = 16,
    *,
    inputs: Sequence[str] = (),
    neurons: Sequence[Any] = (),
    weights: bool = False,
) -> Digraph:
    """The picture of a network: a column of circles for each layer, and a line for each weight.

    Lines are orange for positive weights and blue for negative ones; a larger weight has a wider
    line. Biases are not shown. If inputs x are given, each circle shows the output of its neuron;
    the circle of a ReLU neuron is solid if it fired, that is, if its output is above 0.

    Args:
        model: an MLP, Layer, Neuron or Linear, or a Sequential of these and Activations.
        x: one example, as numbers or Values.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        widest: the largest number of circles in a column, at least 2. A larger layer shows this
            many of its first and last neurons, and how many are left out.
        inputs: names of the inputs.
        neurons: names of the neurons, in a list for each layer.
        weights: whether to write the weights on the lines.

    Raises:
        ValueError: the model contains another kind of module, its layers do not fit together,
            widest is below 2, or there are not as many names as inputs or neurons.

    >>> from micrograd.nn import MLP
    >>> picture = draw_network(MLP(2, [3, 1]), x=[0.5, -0.5], inputs=["height", "age"])
    >>> picture.source.count(" -> "), "age" in picture.source
    (9, True)
    """
    if widest < 2:
        raise ValueError(f"draw_network expects widest to be at least 2, got {widest}")
    columns = _columns(model, x)
    _name(columns, inputs, neurons)
    shown = [column.heights(widest) for column in columns]
    step, apart = _distances(columns, shown, weights)
    highest = max(height for heights in shown for height in heights.values())
    dot = _empty_drawing(format, columns)
    strongest = largest(output for column in columns[1:] for output in column.outputs)
    for c, (column, heights) in enumerate(zip(columns, shown, strict=True)):
        at = _Places(c * apart, step)
        for i, height in heights.items():
            dot.node(f"c{c}_{i}", pos=at(height), **_circle(column, i, strongest))
            if column.names:
                place = _beside(column.names[i], c, len(columns) - 1)
                dot.node(f"c{c}_{i}_name", column.names[i], **LABELS, pos=at(height, *place))
        if len(heights) < column.size:
            dots = "\N{VERTICAL ELLIPSIS}"
            more = f"{dots}\\n{column.size - len(heights):,}\\n{dots}"
            dot.node(f"c{c}_more", more, **TEXT, pos=at(_gap(heights)))
        dot.node(f"c{c}", _title(column), **TEXT, pos=at(-highest, 0, -SIZE / 2 - BELOW * 2))
    _add_lines(dot, columns, shown)
    if weights:
        _add_weights(dot, columns, shown, step, apart)
    return dot


@dataclass(frozen=True)
class _Places:
    # Positions in a column, as Graphviz writes them.
    x: float
    step: float

    def __call__(self, height: float, right: float = 0.0, up: float = 0.0) -> str:
        # `height` is in steps, `right` and `up` are in inches.
        return f"{self.x + right:.2f},{height * self.step + up:.2f}!"


def _distances(
    columns: Sequence[_Column], shown: Sequence[Mapping[int, float]], weights: bool
) -> tuple[float, float]:
    # The distances between neighbours in a column and between columns, in inches.
    fewer = [min(map(len, pair)) for pair in pairwise(shown)]
    step = STEP + BELOW * any(column.names for column in columns[1:-1])
    step = max([step, *(LABEL * (1 + n) for n in fewer if weights)])
    height = 2 * step * max(height for heights in shown for height in heights.values())
    longest = max((len(name) for column in columns for name in column.names), default=0)
    apart = max(1.6, 0.5 * height)  # keeps lines so flat that they miss other circles
    return step, apart + LETTER / 2 * longest + weights * (0.4 + 0.2 * max(fewer))


def _beside(name: str, column: int, last: int) -> tuple[float, float]:
    # The position of a name relative to its circle: beside it in the outer columns, else below it.
    if 0 < column < last:
        return 0.0, -SIZE / 2 - BELOW / 2
    right = SIZE / 2 + 0.06 + LETTER * len(name) / 2
    return (right if column else -right), 0.0


def _gap(heights: Mapping[int, float]) -> float:
    # The middle of the largest gap between neighbours.
    high, low = max(pairwise(heights.values()), key=lambda pair: pair[0] - pair[1])
    return (high + low) / 2


def _add_lines(
    dot: Digraph, columns: Sequence[_Column], shown: Sequence[Mapping[int, float]]
) -> None:
    heaviest = largest(w for column in columns for row in column.weights for w in row)
    for c, column in enumerate(columns):
        for i in shown[c] if column.weights else ():
            for k in shown[c - 1]:
                dot.edge(f"c{c - 1}_{k}", f"c{c}_{i}", **line(column.weights[i][k], heaviest))


def _add_weights(
    dot: Digraph,
    columns: Sequence[_Column],
    shown: Sequence[Mapping[int, float]],
    step: float,
    apart: float,
) -> None:
    # The lines between n circles and m circles are evenly spaced, and in order, at the fraction
    # 1 / (m + 1) of the way. A number written there does not touch the line of another number.
    for c in range(1, len(columns)):
        before, after = shown[c - 1], shown[c]
        near_end = len(before) < len(after)
        fewer = min(len(before), len(after))
        t = 1 - 1 / (fewer + 1) if near_end else 1 / (fewer + 1)
        at = _Places((c - 1 + t) * apart, step)
        for i, end in after.items():
            for k, start in before.items():
                weight = columns[c].weights[i][k]
                look = LABELS | {"fontcolor": sign_colour(weight)}
                dot.node(f"w{c}_{i}_{k}", _short(weight), **look, pos=at((1 - t) * start + t * end))


def _empty_drawing(format: str, columns: Sequence[_Column]) -> Digraph:
    captions = [LEGEND]
    if any(_fires(column) for column in columns):
        captions.append("solid circles are ReLU neurons that fired: their output is above 0")
    return Digraph(
        format=format,
        engine="neato",  # keeps the given positions
        graph_attr={"bgcolor": LIGHT["panel"], "pad": "0.1", "outputorder": "edgesfirst",
                    "label": caption(captions), "labeljust": "l", **FONT, "fontcolor": CAPTION},
        node_attr={"shape": "circle", "style": "filled", "fixedsize": "true", "width": f"{SIZE}",
                   "color": EDGE, "fillcolor": LIGHT["panel"], **FONT},
        edge_attr={"dir": "none"},
    )  # fmt: skip


def _circle(column: _Column, i: int, strongest: float) -> dict[str, str]:
    if not column.outputs:
        return {"label": ""}
    output = innermost(column.outputs[i])
    label = {"label": _short(output) if isinstance(output, Real) else ""}
    if not _fires(column):
        return label | {"fillcolor": shade(output, strongest)}
    return label | SOLID if output > 0 else label


def _fires(column: _Column) -> bool:
    return column.kind == "relu" and bool(column.outputs)


def _short(x: Any) -> str:
    # A float with 2 significant digits; a Fraction or an int as `number` writes it.
    x = innermost(x)
    return number(float(f"{float(x):.2g}")) if isinstance(x, float) else number(x)


def _title(column: _Column) -> str:
    if column.kind == "input":
        return counted(column.size, "input")
    return f"{column.size:,} {', '.join(map(sign, column.kind.split(', ')))}"


def _name(columns: Sequence[_Column], inputs: Sequence[str], neurons: Sequence[Any]) -> None:
    given = [inputs, *neurons] if neurons else [inputs]
    if len(given) > len(columns):
        raise ValueError(
            f"neurons expects a list of names for each of the {len(columns) - 1} layers, got "
            f"{len(neurons)} lists"
        )
    for c, (column, names) in enumerate(zip(columns, given, strict=False)):
        what = f"neurons[{c - 1}]" if c else "inputs"
        if isinstance(names, str) or len(names) not in (0, column.size):
            raise ValueError(f"{what} expects a list of {column.size} names, got {names!r:.60}")
        column.names = list(map(str, names))


def _columns(model: Module, x: Any) -> list[_Column]:
    layers = _checked_layers(model)
    if x is not None:
        x = list(x) if hasattr(x, "__len__") else [x]
    columns = [_Column("input", len(neurons_of(layers[0])[0][1]), outputs=_data(x))]
    for layer in layers:
        with no_grad():
            x = None if x is None else layer(x)
        neurons = neurons_of(layer)
        if neurons:
            n_in = len(neurons[0][1])
            if n_in != columns[-1].size:
                raise ValueError(
                    f"{layer!r:.60} expects {n_in} inputs, got {columns[-1].size} from the layer "
                    f"before it: build it for {columns[-1].size} inputs"
                )
            kinds = ", ".join(dict.fromkeys(activation for *_, activation in neurons))
            columns.append(_Column(kinds, len(neurons), [weights for _, weights, *_ in neurons]))
        elif columns[-1].kind == "linear":
            columns[-1].kind = layer.name
        else:
            columns[-1].kind += f", {layer.name}"
        columns[-1].outputs = _data(x)
    return columns


def _checked_layers(model: Module) -> list[Any]:
    layers = layers_of(model)
    for layer in layers:
        if not isinstance(layer, (Neuron, Layer, Linear, Activation)):
            raise ValueError(
                "draw_network expects an MLP, Layer, Neuron or Linear, or a Sequential of these "
                f"and Activations, got {layer!r:.60}: pass a part of the model that is one of these"
            )
    if not layers or not neurons_of(layers[0]):
        first = f"{layers[0]!r:.60}" if layers else "no layers"
        raise ValueError(
            f"draw_network expects a layer with neurons first, got {first}: begin with a Linear, "
            "for example"
        )
    return layers


def _data(x: Any) -> list[Any]:
    return [v.data if isinstance(v, Value) else v for v in ([] if x is None else flat(x))]
