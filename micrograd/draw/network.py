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

from micrograd.draw.render import Digraph
from micrograd.draw.style import EDGE, FONT, LEGEND, largest, line, number, shade
from micrograd.engine import Value, no_grad
from micrograd.nn import Activation, Layer, Linear, Module, Neuron, layers_of

SIZE = 0.42  # inches: diameter of a circle
STEP = 0.5  # inches: distance between neighbours in a column
GAP = 3  # steps: space for circles that are left out
TEXT = {"shape": "plain", "style": "", "fixedsize": "false", "fontcolor": EDGE, "fontsize": "10"}


@dataclass
class _Column:
    kind: str
    size: int
    weights: list[list[Value]] = field(default_factory=list)  # one row for each circle
    outputs: list[Any] = field(default_factory=list)  # numbers; empty if no x is given

    def heights(self, widest: int) -> Mapping[int, float]:
        """The height of each circle that is shown, in steps above the middle."""
        if self.size <= widest:
            return {i: (self.size - 1) / 2 - i for i in range(self.size)}
        few, middle = widest // 4 or 1, (GAP - 1) / 2
        top = {i: middle + few - i for i in range(few)}
        return top | {self.size - 1 - i: -height for i, height in top.items()}


def draw_network(model: Module, x: Any = None, format: str = "svg", widest: int = 16) -> Digraph:
    """The picture of a network: a column of circles for each layer, and a line for each weight.

    Lines are orange for positive weights and blue for negative ones; a larger weight has a wider
    line. Biases are not shown. If inputs x are given, each circle shows the output of its neuron.

    Args:
        model: an MLP, Layer, Neuron or Linear, or a Sequential of these and Activations.
        x: one example, as numbers or Values.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        widest: the largest number of circles in a column, at least 2. A larger layer shows only its
            first and last few neurons, and the number of those left out.

    Raises:
        ValueError: the model contains another kind of module, its layers do not fit together, or
            widest is below 2.

    >>> from micrograd.nn import MLP
    >>> draw_network(MLP(2, [3, 1]), x=[0.5, -0.5]).source.count(" -> ")
    9
    """
    if widest < 2:
        raise ValueError(f"draw_network expects widest to be at least 2, got {widest}")
    columns = _columns(model, x)
    heaviest = largest(w for column in columns for row in column.weights for w in row)
    strongest = largest(output for column in columns[1:] for output in column.outputs)
    shown = [column.heights(widest) for column in columns]
    highest = max(height for heights in shown for height in heights.values())
    apart = 1.3 + 0.15 * highest  # steep lines need more room

    def at(column: int, height: float) -> str:
        return f"{column * apart:.2f},{height * STEP:.2f}!"

    dot = _empty_drawing(format)
    for c, (column, heights) in enumerate(zip(columns, shown, strict=True)):
        for i, height in heights.items():
            dot.node(f"c{c}_{i}", pos=at(c, height), **_circle(column, i, strongest))
        if len(heights) < column.size:
            dots = "\N{VERTICAL ELLIPSIS}"
            more = f"{dots}\\n{column.size - len(heights):,}\\n{dots}"
            dot.node(f"c{c}_more", more, **TEXT, pos=at(c, 0))
        dot.node(f"c{c}", _title(column), **TEXT, pos=at(c, -highest - 1))
        for i in heights if column.weights else ():
            for k in shown[c - 1]:
                dot.edge(f"c{c - 1}_{k}", f"c{c}_{i}", **line(column.weights[i][k], heaviest))
    return dot


def _empty_drawing(format: str) -> Digraph:
    return Digraph(
        format=format,
        engine="neato",  # keeps the given positions
        graph_attr={"bgcolor": "transparent", "outputorder": "edgesfirst", "label": LEGEND,
                    "fontcolor": EDGE, **FONT},
        node_attr={"shape": "circle", "style": "filled", "fixedsize": "true", "width": f"{SIZE}",
                   "color": EDGE, "fillcolor": "#ffffff", **FONT, "fontsize": "8"},
        edge_attr={"dir": "none"},
    )  # fmt: skip


def _circle(column: _Column, i: int, strongest: float) -> dict[str, str]:
    if not column.outputs:
        return {"label": ""}
    output = column.outputs[i]
    text = number(float(f"{float(output):.2g}")) if isinstance(output, Real) else ""
    return {"label": text, "fillcolor": shade(output, strongest)}


def _title(column: _Column) -> str:
    if column.kind == "input":
        return f"{column.size:,} input{'s' * (column.size > 1)}"
    return f"{column.size:,} {column.kind}"


def _columns(model: Module, x: Any) -> list[_Column]:
    layers = _checked_layers(model)
    if x is not None:
        x = list(x) if hasattr(x, "__len__") else [x]
    columns = [_Column("input", len(layers[0]._neurons()[0][1]), outputs=_data(x))]
    for layer in layers:
        with no_grad():
            x = None if x is None else layer(x)
        neurons = layer._neurons()
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
    if not layers or not layers[0]._neurons():
        first = f"{layers[0]!r:.60}" if layers else "no layers"
        raise ValueError(
            f"draw_network expects a layer with neurons first, got {first}: begin with a Linear, "
            "for example"
        )
    return layers


def _data(x: Any) -> list[Any]:
    outputs = x if isinstance(x, list) else [] if x is None else [x]
    return [v.data if isinstance(v, Value) else v for v in outputs]
