"""A gradient as a slope: the result against one leaf, with the tangent at the present point."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from micrograd.core.pause import restored
from micrograd.derivatives import recompute, vjp
from micrograd.draw.formulas import number
from micrograd.draw.graph import graph
from micrograd.draw.variables import variables
from micrograd.engine import Value
from micrograd.plot.figure import NotebookFigure, as_label, style_axes, theme_of
from micrograd.texts import said, spoken

SAMPLES = 81


@spoken
def slope(
    loss: Value,
    x: Value,
    move: float = 0.0,
    *,
    reach: float | None = None,
    names: Mapping[str, object] | None = None,
    ax: Axes | None = None,
    dark: bool = False,
    language: str | None = None,
) -> Axes:
    """Axes with the result against one leaf, and the tangent whose slope is the gradient.

        loss(x + move)  is about  loss(x) + gradient * move

    With a `move`, the title has both changes of the result and the gap between them, which is drawn
    as a line between curve and tangent. The graph is computed again for each point of the curve,
    in the end for the present data of x; gradients stay as they are.

    Args:
        loss: the result of a computation.
        x: a leaf that it was computed from.
        move: how far x moves.
        reach: how far the curve goes to both sides of x; by default at least as far as the move.
            Where the result is not defined, as log(x) at -1, it has a gap.
        names: where to look for the names of both; by default the variables of the code that calls.
        ax: the Axes to draw on; by default on a new figure.
        dark: whether a new figure has a dark background.
        language: that of the words in it, as in `explain`.

    Raises:
        ValueError: x is not a leaf of the graph of loss.

    >>> x = Value(3.0)
    >>> y = x * x
    >>> ax = slope(y, x, move=0.5)
    >>> print(ax.get_title(loc="right"))
    slope 6: predicted 3, actual 3.25, gap 0.25
    """
    drawn = graph(loss, names=variables(names))
    label = {value: node.short for value, node in zip(drawn.values, drawn.nodes, strict=True)}
    if x not in label or x._prev:
        fix = "pass a Value that it was computed from, and that was not computed itself"
        raise ValueError(f"expected a leaf of the graph of {label[loss] or 'loss'}, got {x}: {fix}")
    at = x.item()
    reach = max(0.4, 0.2 * abs(at), 1.5 * abs(move)) if reach is None else reach
    places = np.linspace(at - reach, at + reach, SAMPLES)
    heights = np.full(SAMPLES + 1, np.nan)
    with restored([x]):
        for k, place in enumerate([*places, at + move]):
            with suppress(ArithmeticError, ValueError):
                x.data = float(place)
                heights[k] = recompute(loss).item()
    height = recompute(loss).item()
    gradient = float(vjp(loss)[x])
    ax = ax or NotebookFigure(4.0, 3.0, dark).add_subplot()
    theme = theme_of(ax)
    line: Any = {"linewidth": 1.8, "zorder": 2}
    ax.plot(places, heights[:-1], color=theme["ink"], label="curve", **line)
    ax.margins(0.02, 0.1)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())  # a steep tangent leaves the picture
    ends = np.array([at - reach, at + reach])
    ax.plot(ends, height + gradient * (ends - at), color=theme["gradient"], label="tangent", **line)
    ax.scatter([at], [height], 40, theme["ink"], zorder=4)
    told = {"slope": number(gradient)}
    if move:
        predicted, actual = gradient * move, heights[-1] - height
        both = [height + predicted, height + actual]
        ax.plot([at + move] * 2, both, color=theme["wrong"], linewidth=2.4, label="gap", zorder=3)
        edges = [theme["gradient"], theme["ink"]]
        ax.scatter([at + move] * 2, both, 36, theme["panel"], edgecolors=edges, zorder=4)
        parts = {"predicted": predicted, "actual": actual, "gap": abs(actual - predicted)}
        told |= {name: number(part) for name, part in parts.items()}
    title = said("plot", "slope.moved" if move else "slope", **told)
    ax.set_title(title, loc="right", fontsize="small", color=theme["faint"])
    ax.set(
        xlabel=as_label(label[x] or "x"),
        ylabel=as_label(label[loss] or said("pages", "word.result")),
    )
    ax.spines[["top", "right"]].set_visible(False)
    style_axes(ax)
    return ax
