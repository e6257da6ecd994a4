"""The classic picture of a network: circles in columns from left to right.

`draw_dot` draws one computation; `draw_network` draws the network itself, with or without the
outputs for one example.

    >>> from micrograd.nn import MLP
    >>> picture = draw_network(MLP(2, [4, 4, 1]))
    >>> picture.pipe(encoding="utf-8").count("<ellipse")
    11
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.shapes import flat
from micrograd.draw.cards import caption
from micrograd.draw.formulas import counted, number, sign
from micrograd.draw.render import Digraph
from micrograd.draw.tokens import CAPTION, EDGE, FONT, GRAPH, LEGEND, LIGHT, largest, line, shade
from micrograd.engine import Value, no_grad
from micrograd.module import Module
from micrograd.nn import Activation, Layer, Linear, Neuron, layers_of, neurons_of

WIDEST = 16  # circles in a column: a larger layer shows this many of its first and last neurons
SIZE = 0.5  # inches: diameter of a circle
STEP = 0.6  # inches: distance between neighbours in a column
GAP = 3  # steps: space for circles that are left out
BELOW = 0.55  # inches: from the lowest circle to the title of its column
TEXT = {"shape": "plain", "style": "", "fixedsize": "false", "fontcolor": CAPTION}
SOLID = {"fillcolor": LIGHT["ink"], "fontcolor": LIGHT["panel"]}


@dataclass
class _Column:
    kind: str
    size: int
    weights: list[list[Value]] = field(default_factory=list)  # one row for each circle
    outputs: list[Any] = field(default_factory=list)  # numbers; empty if no x is given

    @property
    def heights(self) -> Mapping[int, float]:
        """The height of each circle that is shown, in steps above the middle."""
        if self.size <= WIDEST:
            return {i: (self.size - 1) / 2 - i for i in range(self.size)}
        last = WIDEST // 2
        places = [*range(WIDEST - last), *range(self.size - last, self.size)]
        middle = (WIDEST + GAP - 2) / 2
        skipped = self.size - WIDEST - GAP + 1  # the gap is as high as GAP - 1 circles
        return {i: middle - (i if i < last else i - skipped) for i in places}


def draw_network(
    model: Module, x: Any = None, format: str = "svg", done: int | None = None
) -> Digraph:
    """The picture of a network: a column of circles for each layer, and a line for each weight.

    Lines are orange for positive weights and blue for negative ones; a larger weight has a wider
    line. Biases are not shown. If inputs x are given, each circle shows the output of its neuron;
    the circle of a ReLU neuron is solid if it fired, that is, if its output is above 0. A layer of
    more than 16 neurons shows the first and the last 8, and how many are left out.

    Args:
        model: an MLP, Layer, Neuron or Linear, or a Sequential of these and Activations.
        x: one example, as numbers or Values.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        done: how many layers of neurons the forward pass has computed so far, for a picture of each
            stage: the neurons that it computed last have a bold frame, and later ones no output.
            All stages have the same size and shades.

    Raises:
        ValueError: the model contains another kind of module, or `done` is not a number of its
            layers.

    >>> from micrograd.nn import MLP
    >>> draw_network(MLP(2, [3, 1]), x=[0.5, -0.5]).source.count(" -> ")
    9
    """
    columns = _columns(model, x)
    if done is not None and (x is None or done not in range(len(columns))):
        raise ValueError(
            f"done expects x and 0 to {len(columns) - 1} layers, got {done!r}"
            f"{' without x: pass an example' if x is None else ''}"
        )
    shown = [column.heights for column in columns]
    highest = max(height for heights in shown for height in heights.values())
    apart = max(1.6, STEP * highest)  # keeps lines so flat that they miss other circles
    captions = [LEGEND]
    if any(_fires(column) for column in columns):
        captions.append("solid circles are ReLU neurons that fired: their output is above 0")
    if done is not None:
        captions.append("bold frames: the layer that the forward pass has computed last")
    look = {"style": "filled", "fixedsize": "true", "color": EDGE, "fillcolor": LIGHT["panel"]}
    dot = Digraph(
        format=format,
        engine="neato",  # keeps the given positions
        graph_attr=GRAPH | {"outputorder": "edgesfirst", "label": caption(captions)},
        node_attr={"shape": "circle", "width": f"{SIZE}", **look, **FONT},
        edge_attr={"dir": "none"},
    )
    strongest = largest(output for column in columns[1:] for output in column.outputs)
    heaviest = largest(w for column in columns for row in column.weights for w in row)
    for column in columns[done + 1 :] if done is not None else ():
        column.outputs = []
    for c, (column, heights) in enumerate(zip(columns, shown, strict=True)):
        frame = {"color": LIGHT["ink"], "penwidth": "3"} if c == done else {}

        def at(height: float, up: float = 0.0, right: float = c * apart) -> str:
            return f"{right:.2f},{height * STEP + up:.2f}!"

        for i, height in heights.items():
            dot.node(f"c{c}_{i}", pos=at(height), **_circle(column, i, strongest), **frame)
        if len(heights) < column.size:
            dots = "\N{VERTICAL ELLIPSIS}"
            more = f"{dots}\\n{column.size - len(heights):,}\\n{dots}"
            dot.node(f"c{c}_more", more, **TEXT, pos=at(0))
        dot.node(f"c{c}", _title(column), **TEXT, pos=at(-highest, -BELOW))
    for c, column in enumerate(columns):
        for i in shown[c] if column.weights else ():
            for k in shown[c - 1]:
                dot.edge(f"c{c - 1}_{k}", f"c{c}_{i}", **line(column.weights[i][k], heaviest))
    return dot


def _circle(column: _Column, i: int, strongest: float) -> dict[str, str]:
    if not column.outputs:
        return {"label": ""}
    output = innermost(column.outputs[i])
    label = {"label": number(output, digits=2) if isinstance(output, Real) else ""}
    if not _fires(column):
        return label | {"fillcolor": shade(output, strongest)}
    return label | SOLID if output > 0 else label


def _fires(column: _Column) -> bool:
    return column.kind == "relu" and bool(column.outputs)


def _title(column: _Column) -> str:
    if column.kind == "input":
        return counted(column.size, "input")
    return f"{column.size:,} {', '.join(map(sign, column.kind.split(', ')))}"


def _columns(model: Module, x: Any) -> list[_Column]:
    layers = layers_of(model)
    allowed = all(isinstance(layer, (Neuron, Layer, Linear, Activation)) for layer in layers)
    if not (allowed and layers and neurons_of(layers[0])):
        raise ValueError(
            "draw_network expects an MLP, Layer, Neuron or Linear, or a Sequential of these and "
            f"Activations that begins with neurons, got {model!r:.60}: pass such a part of it"
        )
    if x is not None:
        x = list(x) if hasattr(x, "__len__") else [x]
    columns = [_Column("input", len(neurons_of(layers[0])[0][1]), outputs=_data(x))]
    for layer in layers:
        with no_grad():
            x = None if x is None else layer(x)
        neurons = neurons_of(layer)
        if neurons:
            kinds = ", ".join(dict.fromkeys(activation for *_, activation in neurons))
            columns.append(_Column(kinds, len(neurons), [weights for _, weights, *_ in neurons]))
        elif columns[-1].kind == "linear":
            columns[-1].kind = layer.name
        else:
            columns[-1].kind += f", {layer.name}"
        columns[-1].outputs = _data(x)
    return columns


def _data(x: Any) -> list[Any]:
    return [v.data if isinstance(v, Value) else v for v in ([] if x is None else flat(x))]
