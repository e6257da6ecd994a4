"""The decision boundary: which class a model predicts at each point of a plane.

With two classes a model returns one score for a point, above 0 for the second class. With more
classes it returns a score for each class, and the largest wins. An animation draws the points once
and the regions again for each frame:

    >>> points, labels, names = examples([[0, 0], [1, 1]], [0, 1])
    >>> plane = Plane(points, resolution=9)
    >>> ax = new_axes(figure_size(plane, legend_texts(names)))
    >>> draw_points(ax, plane, points, labels, names, true_lines(None, points))
    >>> for threshold in (0.5, 1.5):
    ...     regions = draw_regions(ax, plane, plane.grid.sum(axis=1, keepdims=True) - threshold)
    ...     for artist in regions:
    ...         artist.remove()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from contourpy import contour_generator
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from micrograd.plot.plane import Plane, examples
from micrograd.plot.scores import class_scores, scores
from micrograd.plot.style import as_label, marks, new_axes, shades, style_axes, theme_of

__all__ = [
    "decision_boundary",
    "draw_points",
    "draw_regions",
    "figure_size",
    "legend_texts",
    "true_lines",
]

Array = np.ndarray[Any, np.dtype[Any]]

TRUE, HOLLOW = "true boundary", "validation"  # in the legend


def decision_boundary(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    true_boundary: Any = None,
    resolution: int = 80,
    ax: Axes | None = None,
    dark: bool = False,
) -> Axes:
    """Axes with the points, the lines where the predicted class changes, and confidence shading.

    With two classes the line is where the score is 0, the shading shows how far sigmoid(score) is
    from 1/2, and `ax.images[0]` holds sigmoid(score) for a colour bar. With more classes the
    shading shows by how much the largest of softmax(scores) exceeds the second largest. Both axes
    use the same unit of length, unless one is more than 4 times as long as the other.

    Args:
        predict: a function that scores points: above 0 for the second class, like a logit, or a
            score for each class if there are more than two. It is called with an array of shape
            (n, 2) and returns n numbers (or shape (n, k) for k classes), like NumPy functions and
            scikit-learn's `decision_function`. If that fails, it is called with one point
            `[x1, x2]` at a time and returns a number or Value (or k of them), like a micrograd
            model. For a probability p, return p - 0.5. Values are computed under `no_grad()`.
        X: n points, shape (n, 2).
        y: n labels: 0 and 1, or -1 and 1, or 0, 1, ..., k - 1 for k classes, at most 8.
        names: names of the classes, for the legend; by default the labels, such as -1 and 1.
        true_boundary: the boundary that the model should find, drawn dashed: the points of a line,
            shape (n, 2), or a function whose zeros are the boundary, called like `predict`.
        resolution: number of points along the longer axis at which to call `predict`.
        ax: the Axes to draw on; by default they are on a new figure. On a figure with a dark
            background the colours are those of the dark theme.
        dark: whether a new figure has a dark background.

    Raises:
        ValueError: shapes or labels are not as described, or a score is NaN.

    >>> ax = decision_boundary(lambda X: X[:, 0] + X[:, 1] - 1, [[0, 0], [1, 1]], [0, 1])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x1', 'x2')
    """
    points, labels, names = examples(X, y, names)
    plane = Plane(points, resolution)
    lines = true_lines(true_boundary, points)
    scores = class_scores(predict, plane.grid, len(names))
    ax = ax or new_axes(figure_size(plane, legend_texts(names, bool(lines))), dark)
    draw_regions(ax, plane, scores)
    draw_points(ax, plane, points, labels, names, lines)
    return ax


def true_lines(true_boundary: Any, points: Array) -> list[Array]:
    """The lines of `true_boundary`, as in `decision_boundary`, in the rectangle around the points.

    >>> [line] = true_lines(lambda point: point[0] - 0.25, np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> line.min(axis=0).round(3).tolist(), line.max(axis=0).round(3).tolist()
    ([0.25, -0.1], [0.25, 1.1])
    """
    if true_boundary is None:
        return []
    if not callable(true_boundary):
        line = np.asarray(true_boundary, dtype=float)
        if line.ndim != 2 or line.shape[1] != 2:
            raise ValueError(
                "true_boundary expects the points of a line, shape (n, 2), or a function that is 0 "
                f"on it, got shape {line.shape}"
            )
        if not np.isfinite(line).all():
            raise ValueError("true_boundary expects finite coordinates, got NaN or infinity")
        return [line]
    plane = Plane(points, 120)
    surface = scores(true_boundary, plane.grid).reshape(plane.shape[::-1])
    return [
        np.array(line) for line in contour_generator(plane.axis1, plane.axis2, surface).lines(0)
    ]


def draw_regions(ax: Axes, plane: Plane, scores: Array) -> list[Any]:
    """Draws shading and lines from the scores on the grid, and returns the artists it drew."""
    several, theme = scores.shape[1] > 1, theme_of(ax)
    coarse = scores.reshape(*plane.shape[::-1], -1)
    fine = _refined(plane, coarse)
    drawn: list[Any] = [
        ax.imshow(
            _shades(fine, theme) if several else (1 + np.tanh(fine[..., 0] / 2)) / 2,  # sigmoid
            extent=plane.extent(4),
            origin="lower",
            cmap=shades(theme),
            vmin=0,
            vmax=1,
            interpolation="bilinear",
            aspect="equal" if plane.equal else "auto",
        )
    ]
    axis1, axis2, surfaces = plane.axis1, plane.axis2, coarse
    if several:
        (axis1, axis2), surfaces = _fine_axes(plane), _leads(fine)
    for k in range(surfaces.shape[-1]):
        surface = surfaces[..., k]
        if surface.min() < 0 < surface.max():
            line = ax.contour(axis1, axis2, surface, [0], colors=theme["ink"], linewidths=1.6)
            drawn.append(line)
    return drawn


def _fine_axes(plane: Plane) -> list[Array]:
    return [np.linspace(axis[0], axis[-1], 4 * len(axis)) for axis in (plane.axis1, plane.axis2)]


def _refined(plane: Plane, surfaces: Array) -> Array:
    # Scores are interpolated before the sigmoid, so that a coarse grid gives smooth shades.
    fine1, fine2 = _fine_axes(plane)
    refined = []
    for surface in np.moveaxis(surfaces, -1, 0):
        rows = np.array([np.interp(fine1, plane.axis1, row) for row in surface])
        refined.append(np.array([np.interp(fine2, plane.axis2, column) for column in rows.T]).T)
    return np.stack(refined, axis=-1)


def _leads(fine: Array) -> Array:
    # The score of each class minus the best score of the others: 0 on the boundary.
    others = [np.delete(fine, k, axis=-1).max(axis=-1) for k in range(fine.shape[-1])]
    leads: Array = fine - np.stack(others, axis=-1)
    return leads


def _shades(fine: Array, theme: Mapping[str, str]) -> Array:
    # The shade of the leading class, fading into the background where two classes are equal.
    odds = np.exp(fine - fine.max(axis=-1, keepdims=True))
    shares = odds / odds.sum(axis=-1, keepdims=True)
    second, first = np.moveaxis(np.sort(shares, axis=-1)[..., -2:], -1, 0)
    ground = np.array(to_rgb(theme["panel"]))
    colours = np.array([to_rgb(mark.shade) for mark in marks(theme)])[fine.argmax(axis=-1)]
    mixed: Array = ground + (first - second)[..., None] * (colours - ground)
    return mixed


def draw_points(
    ax: Axes,
    plane: Plane,
    points: Array,
    labels: Array,
    names: Sequence[str],
    lines: Sequence[Array] = (),
    validation: tuple[Array, Array] | None = None,
) -> None:
    """Draws axes, legend, the points of each class, and the true boundary (dashed).

    `validation`: points that the model does not learn from, which are hollow, and their labels.
    """
    theme = theme_of(ax)
    ordinary = float(np.clip(3000 / len(points), 8, 26))
    for label, (name, mark) in enumerate(zip(names, marks(theme), strict=False)):
        x1, x2 = points[labels == label].T
        size = 2 * ordinary if mark.marker == "*" else ordinary
        ax.scatter(
            x1, x2, size, color=mark.fill, edgecolors=mark.edge, marker=mark.marker,
            linewidths=ordinary / 40, label="class " + as_label(name), zorder=3,
        )  # fmt: skip
    hollow, classes = validation or (points[:0], labels[:0])
    for label in np.unique(classes):
        x1, x2 = hollow[classes == label].T
        mark = marks(theme)[label]
        ax.scatter(
            x1, x2, ordinary, color=theme["panel"], edgecolors=mark.fill,
            marker=mark.marker, linewidths=ordinary / 20, zorder=3,
            label=HOLLOW if label == classes.min() else None,
        )  # fmt: skip
    for line, text in zip(lines, [TRUE, *[None] * len(lines)], strict=False):
        ax.plot(*line.T, color=theme["ink"], linewidth=1.4, dashes=(4, 3), label=text, zorder=4)
    (left, bottom), (right, top) = plane.low, plane.high
    ax.set(xlim=(left, right), ylim=(bottom, top), xlabel="x1", ylabel="x2")
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1),
        ncols=_columns(legend_texts(names, bool(lines), validation is not None)),
        labelcolor=theme["ink"], frameon=False, borderaxespad=0.2, borderpad=0.2,
        handletextpad=0.5, handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip
    style_axes(ax)


def legend_texts(
    names: Sequence[str], has_line: bool = False, has_validation: bool = False
) -> list[str]:
    """The entries of the legend."""
    classes = ["class " + as_label(name) for name in names]
    return classes + [HOLLOW] * has_validation + [TRUE] * has_line


def _columns(texts: Sequence[str]) -> int:
    # The number of columns of the legend.
    return max(1, min(len(texts), 36 // (3 + max(map(len, texts)))))


def figure_size(plane: Plane, legend: Sequence[str] = ("",)) -> tuple[float, float]:
    """Width and height, in inches, of a figure of the plane and its legend."""
    width, height = plane.high - plane.low
    ratio = width / height if plane.equal else 1.0
    rows = math.ceil(len(legend) / _columns(legend))
    return 3.4 * math.sqrt(ratio) + 0.5, 3.4 / math.sqrt(ratio) + 0.37 + 0.23 * rows
