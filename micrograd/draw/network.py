"""The classic picture of a network, with or without the outputs for one example."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.shapes import Model, Numbers, flat
from micrograd.draw.cards import caption
from micrograd.draw.formulas import counted, number, sign
from micrograd.draw.render import Digraph
from micrograd.draw.tokens import CAPTION, EDGE, FONT, GRAPH, LEGEND, LIGHT, largest, line, shade
from micrograd.engine import Value, no_grad
from micrograd.module import Module
from micrograd.nn import Activation, Layer, Linear, Neuron, layers_of, neurons_of

WIDEST = 16  # circles in a column: a larger layer shows this many of its first and last neurons
SIZE, STEP = 0.5, 0.6  # inches: diameter of a circle, distance between neighbours in a column
BELOW = 0.55  # inches: from the lowest circle to the title of its column
TEXT = {"shape": "plain", "style": "", "fixedsize": "false", "fontcolor": CAPTION}
SOLID = {"fillcolor": LIGHT["ink"], "fontcolor": LIGHT["panel"]}


@dataclass
class _Column:
    kind: str
    size: int
    weights: list[list[Value]] = field(default_factory=list)  # one row for each circle
    outputs: list[Any] = field(default_factory=list)  # empty if no x is given

    @property
    def heights(self) -> dict[int, float]:
        """The height of each circle that is shown, in steps above the middle."""
        n, half = self.size, WIDEST // 2
        if n <= WIDEST:
            return {i: (n - 1) / 2 - i for i in range(n)}
        # The gap between the first and the last ones is 3 steps high.
        top = {i: half + 0.5 - i for i in range(half)}
        return top | {n - 1 - i: -height for i, height in top.items()}


def draw_network(
    model: Module, x: Numbers | None = None, format: str = "svg", done: int | None = None
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

    Raises:
        ValueError: the model contains another kind of module, or `done` is not a number of its
            layers.

    >>> from micrograd.nn import MLP
    >>> draw_network(MLP(2, [3, 1]), x=[0.5, -0.5]).pipe(encoding="utf-8").count("<ellipse")
    6
    """
    columns = _columns(model, x)
    if done is not None and (x is None or done not in range(len(columns))):
        raise ValueError(f"done expects x and 0 to {len(columns) - 1} layers, got {done!r}")
    heights = [column.heights for column in columns]
    highest = max(max(each.values()) for each in heights)
    apart = max(1.6, STEP * highest)  # keeps lines so flat that they miss other circles
    captions = [LEGEND]
    if any(column.kind == "relu" and column.outputs for column in columns):
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
    for c, column in enumerate(columns):
        for i, height in heights[c].items():
            circle = {"label": "", "pos": f"{c * apart:.2f},{height * STEP:.2f}!"}
            if column.outputs and (done is None or c <= done):
                output = innermost(column.outputs[i])
                circle["label"] = number(output, digits=2)
                if column.kind != "relu":
                    circle["fillcolor"] = shade(output, strongest)
                elif output > 0:
                    circle |= SOLID
            if c == done:
                circle |= {"color": LIGHT["ink"], "penwidth": "3"}
            dot.node(f"c{c}_{i}", **circle)
            for k in heights[c - 1] if column.weights else ():
                dot.edge(f"c{c - 1}_{k}", f"c{c}_{i}", **line(column.weights[i][k], heaviest))
        if len(heights[c]) < column.size:
            dots = "\N{VERTICAL ELLIPSIS}"
            more = f"{dots}\\n{column.size - len(heights[c]):,}\\n{dots}"
            dot.node(f"c{c}_more", more, **TEXT, pos=f"{c * apart:.2f},0!")
        title = f"{column.size:,} {sign(column.kind)}" if c else counted(column.size, "input")
        dot.node(f"c{c}", title, **TEXT, pos=f"{c * apart:.2f},{-highest * STEP - BELOW:.2f}!")
    return dot


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
    with no_grad():
        columns = [
            _Column(kind, len(neurons), [weights for _, weights, *_ in neurons], outputs)
            for kind, neurons, outputs in layers_with_outputs(layers, x)
        ]
    given = [] if x is None else flat(x)
    return [_Column("input", len(columns[0].weights[0]), outputs=given), *columns]


def layers_with_outputs(layers: list[Model], x: Any) -> list[tuple[str, list[Any], list[Any]]]:
    """For each layer of neurons its activation, its neurons and, if x is given, their outputs."""
    found: list[tuple[str, list[Any], list[Any]]] = []
    for layer in layers:
        x = None if x is None else layer(x)
        neurons, outputs = neurons_of(layer), [] if x is None else flat(x)
        if neurons:
            found.append((neurons[0][-1], neurons, outputs))
        elif isinstance(layer, Activation) and found:
            found[-1] = (layer.name, found[-1][1], outputs)
    return found
