"""The classic picture of a network, with or without the outputs for one example.

The network may be of classes that its user wrote, on any engine's Value (`program/models.py`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from micrograd.core.shapes import Model, Numbers
from micrograd.draw.cards import caption
from micrograd.draw.formulas import LOWERED, number, sign
from micrograd.draw.render import Digraph
from micrograd.draw.tokens import CAPTION, EDGE, FONT, GRAPH, LIGHT, largest, line, shade
from micrograd.engine import no_grad
from micrograd.nn import Activation
from micrograd.program.models import layers_with_outputs, numbers_of, stages_of
from micrograd.texts import said, spoken

WIDEST = 16  # circles in a column: a larger layer shows this many of its first and last neurons
WIDE, HIGH = 0.6, 0.17  # inches: the room of a number beside a line
TEXT = {"shape": "plain", "style": "", "fixedsize": "false", "fontcolor": CAPTION}
BESIDE = TEXT | {"style": "filled", "fontcolor": LIGHT["ink"], "fontsize": "9"}  # 12 pixels
DOTS = "\N{VERTICAL ELLIPSIS}"


@dataclass
class _Column:
    kind: str  # 'input', an activation, or 'neuron'
    size: int
    weights: list[list[Any]] = field(default_factory=list)  # one row for each circle
    biases: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)  # empty if no x is given
    names: list[str] = field(default_factory=list)  # of the circles; empty if none are given
    letter: str = ""  # of a size that stands for any

    @property
    def heights(self) -> dict[int, float]:
        """The height of each circle that is shown, in steps above the middle."""
        n, half = self.size, WIDEST // 2
        if n <= WIDEST:
            gap = n > 1 and bool(self.letter)  # above the last one
            return {i: (n - 1 + gap) / 2 - i - (gap and i == n - 1) for i in range(n)}
        # The gap between the first and the last ones is 3 steps high.
        top = {i: half + 0.5 - i for i in range(half)}
        return top | {n - 1 - i: -height for i, height in top.items()}


@spoken
def draw_network(
    model: Model,
    x: Numbers | None = None,
    format: str = "svg",
    done: int | Sequence[str] | None = None,
    *,
    numbers: bool = False,
    names: Sequence[str | Sequence[str]] = (),
    language: str | None = None,
) -> Digraph:
    """The picture of a network: a column of circles for each layer, and a line for each weight.

    Lines are orange for positive weights and blue for negative ones; a larger weight has a wider
    line. For an example x, each circle shows the output of its neuron; the circle of a ReLU
    neuron is solid if it fired, that is, if its output is above 0. A layer of more than 16 neurons
    shows the first and the last 8, and how many are left out.

    Args:
        model: an MLP, Layer, Neuron or Linear, a Sequential of these and Activations, or a model of
            classes like the lecture's, with its attributes `layers`, `neurons`, `w` and `b`.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        done: how many layers of neurons the forward pass has computed so far, for a picture of each
            stage: the neurons that it computed last have a bold frame, and later ones no output.
            Or the names of these neurons, if it has computed only some of their layer.
        numbers: whether weights are written beside their lines, and biases below their circles.
        names: for each column the names of its circles, or a text with which they begin: "xhy" for
            inputs x1, x2, ..., hidden neurons h1, ..., outputs y1, ...; ["x_M", "h_J", "y_K"] for
            x1, x2, ..., x_M, in a picture of networks of any sizes M, J, K.

    Raises:
        ValueError: the model contains another kind of module, or does more than to call its layers,
            or another argument does not fit them.

    >>> from micrograd.nn import MLP
    >>> draw_network(MLP(2, [3, 1]), x=[0.5, -0.5]).pipe(encoding="utf-8").count("<ellipse")
    6
    """
    columns = _columns(model, x, names)
    latest = [] if done is None else _latest(columns, x, done)
    heights = [column.heights for column in columns]
    spans = [max(each.values()) - min(each.values()) + 1 for each in heights]
    # The number of a line is 1 / (n + 1) of the way from the column with more circles, where n is
    # the size of the other one: there, no two are at one height.
    parts = [1 / (b + 1) if a >= b else a / (a + 1) for a, b in pairwise(spans)]
    most = max(map(min, pairwise(spans))) + 1 if numbers else 0
    size = 0.5 + 0.1 * bool(names)  # inches: the diameter of a circle
    step = max(size + 0.1 + 0.2 * numbers, HIGH * most)  # between neighbours in a column
    highest = step * (max(spans) - 1) / 2
    # keeps lines so flat that they miss other circles
    apart = max(1.6, highest, (size + WIDE) / 2 * most)
    has_relu = any(column.kind == "relu" and column.outputs for column in columns)
    captions = [said("draw", "legend.signs"), *[said("draw", "network.fired")] * has_relu]
    captions += [said("draw", "network.latest")] * (done is not None)
    captions += [said("draw", "network.numbers")] * bool(numbers)
    look = {"style": "filled", "fixedsize": "true", "color": EDGE, "fillcolor": LIGHT["panel"]}
    dot = Digraph(
        format=format,
        engine="neato",  # keeps the given positions
        graph_attr=GRAPH | {"outputorder": "edgesfirst", "label": caption(captions)},
        node_attr={"shape": "circle", "width": f"{size:g}", **look, **FONT},
        edge_attr={"dir": "none"},
    )

    def add(name: str, label: str, column: float, height: float, **look: str) -> None:
        dot.node(name, label, **look, pos=f"{column * apart:.2f},{height * step:.2f}!")

    strongest = largest(output for column in columns[1:] for output in column.outputs)
    heaviest = largest(w for column in columns for row in column.weights for w in row)
    for c, column in enumerate(columns):
        for i, height in heights[c].items():
            circle, lines = {}, [*map(_as_drawn, column.names[i : i + 1])]
            if column.outputs and (not latest or c < latest[0][0] or (c, i) in latest):
                output = column.outputs[i]
                lines.append(number(output, digits=2))
                if column.kind != "relu":
                    circle["fillcolor"] = shade(output, strongest)
                elif output > 0:
                    circle |= {"fillcolor": LIGHT["ink"], "fontcolor": LIGHT["panel"]}
            if (c, i) in latest:
                circle |= {"color": LIGHT["ink"], "penwidth": "3"}
            add(f"c{c}_{i}", f"<{'<BR/>'.join(lines)}>" if lines else "", c, height, **circle)
            if numbers and c and (bias := column.biases[i]) is not None:
                below = height - (size + HIGH) / 2 / step
                add(f"b{c}_{i}", f"b = {number(bias, digits=2)}", c, below, **BESIDE)
            for k, start in heights[c - 1].items() if c else ():
                weight = column.weights[i][k]
                dot.edge(f"c{c - 1}_{k}", f"c{c}_{i}", **line(weight, heaviest))
                if numbers:
                    text, place = number(weight, digits=2), start + parts[c - 1] * (height - start)
                    add(f"w{c}_{i}_{k}", text, c - 1 + parts[c - 1], place, **BESIDE)
        if spans[c] > len(heights[c]):  # there is a gap
            left_out = column.size - len(heights[c])
            more = DOTS if column.letter else rf"{DOTS}\n{left_out:,}\n{DOTS}"
            add(f"c{c}_more", more, c, 0 if left_out else min(heights[c].values()) + 1, **TEXT)
        key = f"box.{column.kind}" if column.kind in ("input", "neuron") else "network.column"
        title = said("draw", key, n=column.letter or column.size, kind=sign(column.kind))
        depth = 0.55 + 0.1 * numbers  # inches: from the lowest circle to the title of its column
        add(f"c{c}", title, c, (-highest - depth) / step, **TEXT)
    return dot


def _as_drawn(name: str) -> str:
    # x1 and x_M with their indices below the line
    text = re.sub(r"\d+$", lambda digits: digits[0].translate(LOWERED), html.escape(name))
    return re.sub(r"_(\w)$", r"<SUB>\1</SUB>", text)


def _latest(columns: list[_Column], x: Any, done: int | Sequence[str]) -> list[tuple[int, int]]:
    # The column and the place of each neuron that was computed last.
    names = set[str]() if isinstance(done, int) else {*done}
    places = [(c, i) for c, column in enumerate(columns) for i in range(column.size)]
    found = [(c, i) for c, i in places if c == done or names & {*columns[c].names[i : i + 1]}]
    if x is None or len({c for c, _ in found}) != 1 or (names and len(names) != len(found)):
        known = f"0 to {len(columns) - 1} layers, or the names of neurons of one layer"
        raise ValueError(f"done expects x and {known}, got {done!r}")
    return found


def _columns(model: Model, x: Any, names: Sequence[Any]) -> list[_Column]:
    stages = stages_of(model)
    allowed = all(neurons or isinstance(layer, Activation) for layer, neurons in stages)
    if not (allowed and stages and stages[0][1]):
        raise ValueError(
            "draw_network expects an MLP, Layer, Neuron or Linear, a class with their attributes "
            "(layers, neurons, w, b) that only calls its parts in order, or a Sequential of these "
            f"and Activations that begins with neurons, got {model!r:.60}: pass such a part of it"
        )
    columns = [_Column("input", len(stages[0][1][0][0]))]
    if x is not None:
        x = columns[0].outputs = numbers_of(x)
        if len(x) != columns[0].size:
            raise ValueError(f"the network expects {columns[0].size} inputs, got {len(x)}")
    with no_grad():
        for kind, rows, outputs in layers_with_outputs(stages, x):
            weights, biases = [numbers_of(w) for w, *_ in rows], numbers_of([b for _, b, _ in rows])
            columns.append(_Column(kind or "neuron", len(rows), weights, biases, outputs))
    if len(names) not in (0, len(columns)):
        raise ValueError(f"names expects {len(columns)} entries, got {names!r:.60}")
    for column, given in zip(columns, names, strict=False):
        if isinstance(given, str):
            start, _, column.letter = given.partition("_")
            ends = [*range(1, column.size), f"_{column.letter}" if column.letter else column.size]
            given = [f"{start}{end}" for end in ends]
        if len(given) != column.size:
            raise ValueError(f"names expects a text or {column.size} names, got {given!r:.60}")
        column.names = given
    return columns
