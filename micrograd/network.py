"""Chapter 10c: the classic picture of a network, circles in columns from left to right.

Where draw_dot draws one calculation, this is the network by itself, or with one example in it.

    >>> from micrograd.nn import MLP
    >>> picture = draw_network(MLP(2, [4, 4, 1]))
    >>> picture.pipe(encoding="utf-8").count("<ellipse")
    11
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from micrograd.draw import EDGE, FONT, LEGEND, largest, line, number, shade
from micrograd.engine import Value, no_grad
from micrograd.nn import MLP, Activation, Layer, Linear, Module, Neuron, Sequential
from micrograd.render import Digraph

SIZE, STEP, GAP = 0.42, 0.5, 3  # of a circle and from each to the next in inches; steps left out


@dataclass
class _Column:
    kind: str
    size: int
    weights: list[list[Value]] = field(default_factory=list)  # of each circle, by column before it
    answers: list[Any] = field(default_factory=list)  # data, where the network was given inputs

    def rows(self, widest: int) -> Mapping[int, float]:
        """The place of each circle that is shown, in steps above the middle."""
        if self.size <= widest:
            return {i: (self.size - 1) / 2 - i for i in range(self.size)}
        few, middle = widest // 4 or 1, (GAP - 1) / 2
        top = {i: middle + few - i for i in range(few)}
        return top | {self.size - 1 - i: -place for i, place in top.items()}


def draw_network(model: Module, x: Any = None, format: str = "svg", widest: int = 16) -> Digraph:
    """The network as circles in columns, inputs first, and a line for each weight.

    Lines are orange for positive weights and blue for negative ones, and the wider the larger.
    Biases are left out. Beside inputs x, each circle tells what its neuron answers, and is shaded
    by it.

    Args:
        model: an MLP, Layer, Neuron or Linear, or a Sequential of these and of Activations.
        x: one example, numbers or Values.
        format: what `render` and `pipe` of the picture make: 'svg', 'png', 'pdf' and more.
        widest: the most circles in a column, at least 2; of more neurons the first few and the
            last few are shown, and the others counted.

    Raises:
        ValueError: the model has a part that is none of these, or parts that do not fit together,
            or widest is below 2.

    >>> draw_network(MLP(2, [3, 1]), x=[0.5, -0.5]).source.count(" -> ")
    9
    """
    if widest < 2:
        raise ValueError(f"draw_network expects widest of at least 2, got {widest}")
    columns = _columns(model, x)
    heaviest = largest(w for column in columns for row in column.weights for w in row)
    strongest = largest(answer for column in columns[1:] for answer in column.answers)
    dot = Digraph(
        format=format,
        engine="neato",  # leaves the circles where they are put
        graph_attr={"bgcolor": "transparent", "outputorder": "edgesfirst", "label": LEGEND,
                    "fontcolor": EDGE, **FONT},
        node_attr={"shape": "circle", "style": "filled", "fixedsize": "true", "width": f"{SIZE}",
                   "color": EDGE, "fillcolor": "#ffffff", **FONT, "fontsize": "8"},
        edge_attr={"dir": "none"},
    )  # fmt: skip
    rows = [column.rows(widest) for column in columns]
    highest = max(place for row in rows for place in row.values())
    apart = 1.3 + 0.15 * highest  # the steeper the lines, the more room

    def at(column: int, place: float) -> str:
        return f"{column * apart:.2f},{place * STEP:.2f}!"

    for c, (column, row) in enumerate(zip(columns, rows, strict=True)):
        for i, place in row.items():
            look = {}
            if column.answers:
                look = {"label": _short(column.answers[i]),
                        "fillcolor": shade(column.answers[i], strongest)}  # fmt: skip
            dot.node(f"c{c}_{i}", **{"label": ""} | look, pos=at(c, place))
        text = {"shape": "plain", "style": "", "fixedsize": "false", "fontcolor": EDGE}
        if len(row) < column.size:
            dots = "\N{VERTICAL ELLIPSIS}"
            more = f"{dots}\\n{column.size - len(row):,}\\n{dots}"
            dot.node(f"c{c}_more", more, **text, fontsize="10", pos=at(c, 0))
        dot.node(f"c{c}", _title(column), **text, fontsize="10", pos=at(c, -highest - 1))
        for i in row if column.weights else ():
            for k in rows[c - 1]:
                dot.edge(f"c{c - 1}_{k}", f"c{c}_{i}", **line(column.weights[i][k], heaviest))
    return dot


def _title(column: _Column) -> str:
    if column.kind == "input":
        return f"{column.size:,} input{'s' * (column.size > 1)}"
    return f"{column.size:,} {column.kind}"


def _short(x: Any) -> str:
    return number(float(f"{float(x):.2g}")) if isinstance(x, Real) else ""


def _columns(model: Module, x: Any) -> list[_Column]:
    layers = list(_layers(model))
    if not layers or not layers[0]._neurons():
        raise ValueError("draw_network needs neurons to begin with: is there an Activation first?")
    if x is not None:
        x = list(x) if hasattr(x, "__len__") else [x]
    columns = [_Column("input", len(layers[0]._neurons()[0][1]), answers=_data(x))]
    for layer in layers:
        with no_grad():
            x = None if x is None else layer(x)
        neurons = layer._neurons()
        if neurons:
            n_in = len(neurons[0][1])
            if n_in != columns[-1].size:
                raise ValueError(f"{layer!r:.60} expects {n_in} inputs after {columns[-1].size}")
            kinds = ", ".join(dict.fromkeys(activation for *_, activation in neurons))
            columns.append(_Column(kinds, len(neurons), [weights for _, weights, *_ in neurons]))
        elif columns[-1].kind == "linear":
            columns[-1].kind = layer.name
        else:
            columns[-1].kind += f", {layer.name}"
        columns[-1].answers = _data(x)
    return columns


def _layers(model: Any) -> Iterator[Any]:
    if isinstance(model, (MLP, Sequential)):
        for part in model.layers if isinstance(model, MLP) else model.modules:
            yield from _layers(part)
    elif isinstance(model, (Neuron, Layer, Linear, Activation)):
        yield model
    else:
        raise ValueError(
            "draw_network draws an MLP, Layer, Neuron or Linear, or a Sequential of these and of "
            f"Activations, got {model!r:.60}: pass the part of the model that is one"
        )


def _data(x: Any) -> list[Any]:
    answers = x if isinstance(x, list) else [] if x is None else [x]
    return [v.data if isinstance(v, Value) else v for v in answers]
