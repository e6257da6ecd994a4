"""The loss over one parameter, with the gradient as its slope, and over two, with paths on it."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap

from micrograd.core.node import innermost
from micrograd.core.pause import restored, resumed
from micrograd.derivatives import recompute, vjp
from micrograd.draw.formulas import number
from micrograd.draw.graph import graph
from micrograd.draw.names import Names
from micrograd.engine import Value, no_grad
from micrograd.optim import Parameters
from micrograd.plot.figure import MARKERS, NotebookFigure, as_label, filmed, style_axes, theme_of
from micrograd.plot.plane import Array, Coordinates, Plane
from micrograd.program.foreign import number_of
from micrograd.program.variables import variables
from micrograd.texts import said, spoken
from micrograd.watching.step import layer_of

SAMPLES, RESOLUTION, LINES = 81, 60, 12  # points of a curve and of a side; contour lines
BAD = ArithmeticError, ValueError  # where a loss or its gradient is not defined


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
    as a line between curve and tangent. The graph is computed again for the points of the curve,
    in the end for the present data of x; gradients stay as they are.

    Args:
        x: a leaf that the loss was computed from.
        reach: how far the curve goes to both sides of x; by default at least as far as the move.
            Where the result is not defined, as log(x) at -1, it has a gap.
        names: where to look for the names of both; by default the variables of the code that calls.
        ax: the Axes to draw on; by default on a new figure.

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
    computed = resumed()(lambda: recompute(loss))  # which no_grad() does not allow
    *heights, end = _losses(computed, [x], np.append(places, at + move)[:, None])
    height = recompute(loss).item()  # with the present data of x
    gradient = float(vjp(loss)[x])
    ax = ax or NotebookFigure(4.0, 3.0, dark).add_subplot()
    theme = theme_of(ax)
    line: Any = {"linewidth": 1.8, "zorder": 2}
    ax.plot(places, heights, color=theme["ink"], label="curve", **line)
    ax.margins(0.02, 0.1)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())  # a steep tangent leaves the picture
    ends = np.array([at - reach, at + reach])
    ax.plot(ends, height + gradient * (ends - at), color=theme["gradient"], label="tangent", **line)
    ax.scatter([at], [height], 40, theme["ink"], zorder=4)
    told = {"slope": number(gradient)}
    if move:
        predicted, actual = gradient * move, end - height
        both = [height + predicted, height + actual]
        ax.plot([at + move] * 2, both, color=theme["wrong"], linewidth=2.4, label="gap", zorder=3)
        edges = [theme["gradient"], theme["ink"]]
        ax.scatter([at + move] * 2, both, 36, theme["panel"], edgecolors=edges, zorder=4)
        parts = {"predicted": predicted, "actual": actual, "gap": abs(actual - predicted)}
        told |= {name: number(part) for name, part in parts.items()}
    ax.set_xlabel(as_label(label[x] or "x"))
    ax.set_ylabel(as_label(label[loss] or said("pages", "word.result")))
    style_axes(ax, said("plot", "slope.moved" if move else "slope", **told))
    return ax


@spoken
def landscape(
    loss: Callable[[], Any],
    a: Any,
    b: Any = None,
    paths: Mapping[str, Any] | None = None,
    *,
    steps: int = 50,
    reach: float = 1.0,
    seed: int = 0,
    dark: bool = False,
    language: str | None = None,
) -> NotebookFigure:
    """Contour lines of the loss over two parameters, with the paths of optimizers on it.

    Where lines are close, the loss is steep. A path begins at a ring and ends at its marker; above
    are the last losses. Where a path exceeds twice the first loss, it may be outside; the legend
    says so if it ends there. `.save("landscape.gif")` writes a film, a .png has the whole paths.

    Over a model, the two directions are its gradient and a random direction; each is scaled so that
    its part in each layer is as long as the parameters there. A path is then seen from above: it
    leaves the plane, so its losses are not those of the plane, as the picture also says.

    Parameters and optimizers are afterwards as before. The loss is computed once for the 3,600
    points together, or point by point if its operations do not allow that.

    Args:
        loss: a function without arguments that computes the loss, a Value or a number, from the
            data that the parameters have when it is called.
        a: a parameter; or a model, or a list of all its parameters.
        b: another parameter; or nothing.
        paths: a dict of names and paths. A path is an optimizer of these parameters, which takes
            steps from where they are now; or what you recorded: a list of pairs (a, b), or for a
            model, of lists of all parameters.
        steps: how many steps an optimizer takes.
        reach: how far from the present parameters the picture goes at least, to each side; for a
            model, in units of the directions.
        seed: of the random direction.

    Raises:
        ValueError: an optimizer has other parameters, or rows of a path have the wrong length.

    Source: Li, Xu, Taylor, Studer, Goldstein, "Visualizing the loss landscape of neural nets",
    2018, section 4, where a filter is what a layer is here.

    >>> from micrograd import SGD, Adam, Value
    >>> a, b = Value(3.0), Value(2.0)
    >>> paths = {"SGD": SGD([a, b], lr=0.1), "Adam": Adam([a, b], lr=0.5), "mine": [(3, 2), (1, 0)]}
    >>> picture = landscape(lambda: a**2 + 4 * b**2, a, b, paths)
    >>> [text.get_text() for text in picture.axes[0].get_legend().get_texts()]
    ['SGD, loss 1.83e-09', 'Adam, loss 0.0234', 'mine, loss 1']
    >>> a
    Value(data=3.0, grad=0)
    """
    parameters = Parameters(a if b is None else [a, b], "landscape").all
    with restored(parameters):
        now = _numbers(parameters)
        if b is not None:
            label_of = Names(variables(None)).label_of
            given = (getattr(p, "label", "") or label_of.get(p) for p in (a, b))
            names = [as_label(name or x) for name, x in zip(given, "ab", strict=True)]
            directions, origin, start = np.eye(2), np.zeros(2), now
        else:
            names = [said("plot", f"landscape.{x}") for x in ("gradient", "random")]
            directions, origin, start = _directions(a, loss, parameters, seed), now, np.zeros(2)
        first = _losses(loss, parameters, now[None])
        ways, places, seen = {}, {}, [[start - reach, start + reach]]
        for name, path in (paths or {}).items():
            rows, losses = ways[name] = _way(name, path, loss, parameters, steps)
            nearest = np.linalg.lstsq(directions.T, (rows - origin).T, rcond=None)[0]
            places[name] = nearest.T
            seen.append(places[name][losses <= 2 * max(losses[0], first[0])])
        plane = Plane(np.concatenate(seen), RESOLUTION)
        heights = _losses(loss, parameters, origin + plane.grid @ directions)
    figure = NotebookFigure(5.4, 4.9, dark)
    ax = figure.add_subplot()
    theme = theme_of(ax)
    _draw_heights(ax, plane, heights.reshape(plane.shape[::-1]))
    ax.set(xlabel=names[0], ylabel=names[1])
    tracks = []
    for k, (name, place) in enumerate(places.items()):
        look: Any = {"color": theme[f"class-{k % len(MARKERS)}"], "markeredgecolor": theme["ink"]}
        look |= {"marker": MARKERS[k % len(MARKERS)], "markersize": 8, "markevery": [-1]}
        is_inside = ((plane.low <= place[-1]) & (place[-1] <= plane.high)).all()
        told = {"name": as_label(name), "loss": f"{ways[name][1][-1]:.3g}"}
        end = said("plot", f"landscape.{'end' if is_inside else 'outside'}", **told)
        tracks += ax.plot(*place.T, label=end, linewidth=1.8, **look)
        ax.plot(*place[0], "o", color=theme["panel"], markeredgecolor=theme["ink"], zorder=4)
    note = said("plot", "landscape.above") if tracks and b is None else ""
    style_axes(ax, legend={"ncols": 2, "title": note} if tracks else None)

    def draw(step: int) -> None:
        for track, place in zip(tracks, places.values(), strict=True):
            track.set_data(*place[: step + 1].T)

    longest = max(map(len, places.values()), default=1)
    figure.film = lambda: filmed(figure, draw, longest)
    ends = ", ".join(str(track.get_label()) for track in tracks)
    low, high = (f"{f(heights):.3g}" for f in (np.nanmin, np.nanmax))
    about = {"a": names[0], "b": names[1], "low": low, "high": high, "ends": ends}
    figure.alt = f"{said('plot', 'landscape.about', **about)} {note}".rstrip()
    return figure


def _numbers(parameters: Sequence[Any]) -> Array:
    return np.array([innermost(p.data) for p in parameters], dtype=float)


def _directions(model: Any, loss: Any, parameters: Sequence[Any], seed: int) -> Array:
    # The gradient and a random direction; in each layer as long as the parameters there.
    for p in parameters:
        p.grad = 0
    loss().backward()
    gradient = [innermost(p.grad) for p in parameters]
    directions = np.array([gradient, np.random.default_rng(seed).normal(size=len(parameters))])
    paths = Names({"model": model}).path_of
    layers: dict[str, list[int]] = defaultdict(list)
    for i, p in enumerate(parameters):
        layers[layer_of(paths.get(p, "").partition(".")[2])].append(i)
    numbers = _numbers(parameters)
    for inside in layers.values():
        lengths = np.linalg.norm(directions[:, inside], axis=1, keepdims=True)
        directions[:, inside] *= np.linalg.norm(numbers[inside]) / np.maximum(lengths, 1e-300)
    return directions


def _way(
    name: str, path: Any, loss: Any, parameters: Sequence[Any], steps: int
) -> tuple[Array, Array]:
    # The rows of parameters that a path visits, and the losses there.
    if not hasattr(path, "step"):
        rows = np.asarray(path, dtype=float)
        if rows.ndim != 2 or not len(rows) or rows.shape[1] != len(parameters):
            expected = f"paths[{name!r}] expects an optimizer, or rows of {len(parameters)} numbers"
            raise ValueError(f"{expected}, got shape {rows.shape}: append one row in each step")
        return rows, _losses(loss, parameters, rows)
    ours = {id(p): p for p in parameters}
    if not {*map(id, path.parameters)} <= ours.keys():
        fix = "make it of the same ones, as in SGD([a, b], lr=0.1)"
        raise ValueError(f"paths[{name!r}] has other parameters than the picture: {fix}")
    optimizer = copy.deepcopy(path, dict(ours))  # the parameters themselves stay the same
    visited: list[tuple[Array, float]] = []
    with restored(parameters):
        for _ in range(steps + 1):
            try:
                optimizer.zero_grad()
                total = loss()
                visited.append((_numbers(parameters), float(number_of(total))))
                total.backward()
                optimizer.step()
            except BAD:  # it diverged
                if not visited:
                    raise
                break
    rows, losses = map(np.array, zip(*visited, strict=True))
    return rows, losses


def _losses(loss: Any, parameters: Sequence[Any], rows: Array) -> Array:
    # The losses for these rows of parameters; NaN where one is not defined.
    def at(row: Array) -> float:
        for p, x in zip(parameters, row.tolist(), strict=True):
            p.data = x
        try:
            return float(number_of(loss()))
        except BAD:
            return float("nan")

    with restored(parameters), no_grad(), np.errstate(all="ignore"):
        known = [at(row) for row in rows[:3]]
        if len(rows) > 3:
            with suppress(Exception):  # one by one shows what is wrong
                for p, column in zip(parameters, rows.T, strict=True):
                    p.data = column.view(Coordinates)
                found = np.broadcast_to(innermost(loss()), len(rows)).astype(float)
                found[np.isinf(found)] = np.nan  # log(0) is an error for one number
                if np.allclose(found[:3], known, equal_nan=True):
                    return found
        return np.array([*known, *map(at, rows[3:])])


def _draw_heights(ax: Axes, plane: Plane, heights: Array) -> None:
    # Shades and contour lines. The losses of the lines are powers t^n, with such an n that half of
    # them are below the median: a flat valley has some, too.
    theme = theme_of(ax)
    heights = np.ma.masked_invalid(heights)
    low, middle, high = np.quantile(heights.compressed(), [0, 0.5, 1])
    share = np.clip((middle - low) / max(high - low, 1e-300), 1e-3, 0.5)
    levels = np.unique(low + (high - low) * np.linspace(0, 1, LINES + 1) ** -np.log2(share))
    ax.set(**plane.limits)
    if len(levels) < 2:  # the loss is the same everywhere
        return
    axes = [np.linspace(*ends) for ends in zip(plane.low, plane.high, plane.shape, strict=True)]
    shades = LinearSegmentedColormap.from_list("", [theme["panel"], theme["hairline"]])
    norm = BoundaryNorm(levels, shades.N)
    ax.contourf(*axes, heights, levels, cmap=shades, norm=norm)
    lines = ax.contour(*axes, heights, levels[1:-1], colors=theme["frame"], linewidths=0.7)
    quiet: Any = {"fontsize": "small", "colors": theme["faint"]}
    ax.clabel(lines, fmt=lambda x: f"{float(f'{x:.2g}'):g}", **quiet)  # 120 instead of 1.2e+02
