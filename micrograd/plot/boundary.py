"""The decision boundary: which class a model predicts at each point of a plane.

With two classes a model returns one score for a point, above 0 for the second class. With more
classes it returns a score for each class, and the largest wins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from micrograd.plot.figure import NotebookFigure, as_label, marks, style_axes, theme_of
from micrograd.plot.plane import Array, Plane, Scene, scores


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

    With two classes the line is where the score is 0, and the shading shows how far sigmoid(score)
    is from 1/2. With more classes it shows by how much the largest of softmax(scores) exceeds the
    second largest. Both axes use the same unit of length, unless the points extend more than 4
    times as far along one of them.

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
        true_boundary: the points of a line, shape (m, 2): the boundary that the model should find,
            drawn dashed.
        resolution: number of points along the longer axis at which to call `predict`.
        ax: the Axes to draw on, in colours that can be read there; by default on a new figure.
        dark: whether a new figure has a dark background.

    Raises:
        ValueError: shapes or labels are not as described, or a score is NaN.

    >>> ax = decision_boundary(lambda X: X[:, 0] + X[:, 1] - 1, [[0, 0], [1, 1]], [0, 1])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x1', 'x2')
    """
    scene = Scene(X, y, names, resolution, true_boundary)
    ax = ax or NotebookFigure(figure_size(scene.plane), dark).add_subplot()
    draw_boundary(ax, scene, scores(predict, scene.plane.grid, scene.outputs))
    make_room_for_legend(ax)
    return ax


def draw_boundary(ax: Axes, scene: Scene, scores: Array) -> None:
    """Draws the regions of the classes, from the scores on the grid, and the points on them."""
    if scene.outputs == 1:  # sigmoid(score) is softmax(0, score)
        scores = np.hstack([np.zeros_like(scores), scores])
    # Scores are interpolated before the softmax, so that a coarse grid gives smooth shades.
    x1, x2, fine = scene.plane.refined(scores)
    odds = np.exp(fine - fine.max(axis=-1, keepdims=True))
    shares = np.sort(odds / odds.sum(axis=-1, keepdims=True))
    # The shade of the leading class, fading into the background where two classes are equal.
    theme, lead = theme_of(ax), shares[..., -1:] - shares[..., -2:-1]
    ground = np.array(to_rgb(theme["panel"]))
    colours = np.array([to_rgb(mark.shade) for mark in marks(theme)])[fine.argmax(axis=-1)]
    (left, bottom), (right, top) = scene.plane.low.tolist(), scene.plane.high.tolist()
    ax.imshow(
        ground + lead * (colours - ground), extent=(left, right, bottom, top), origin="lower",
        interpolation="bilinear", aspect="equal" if scene.plane.equal else "auto",
    )  # fmt: skip
    ax.set(xlim=(left, right), ylim=(bottom, top))
    for k in range(1, len(scene.names)):
        ahead = fine[..., k] - np.delete(fine, k, axis=-1).max(axis=-1)
        if ahead.min() < 0 < ahead.max():
            ax.contour(x1, x2, ahead, [0], colors=theme["ink"], linewidths=1.6)
    _draw_points(ax, scene)


def _draw_points(ax: Axes, scene: Scene) -> None:
    # The points of each class, those for validation hollow; the true boundary; axes and legend.
    theme = theme_of(ax)
    size = float(np.clip(3000 / len(scene.points), 8, 26))
    for label, (name, mark) in enumerate(zip(scene.names, marks(theme), strict=False)):
        x1, x2 = scene.points[scene.labels == label].T
        ax.scatter(
            x1, x2, size, color=mark.fill, edgecolors=mark.edge,
            marker=mark.marker, linewidths=size / 40, label="class " + as_label(name), zorder=3,
        )  # fmt: skip
    for label in np.unique(scene.truth):
        mark, (x1, x2) = marks(theme)[label], scene.tested[scene.truth == label].T
        ax.scatter(
            x1, x2, size, color=theme["panel"], edgecolors=mark.fill, marker=mark.marker,
            linewidths=size / 20, label="validation" if label == scene.truth.min() else None,
            zorder=3,
        )  # fmt: skip
    if len(scene.line):
        ax.plot(
            *scene.line.T, color=theme["ink"], linewidth=1.4, dashes=(4, 3),
            label="true boundary", zorder=4,
        )  # fmt: skip
    ax.set(xlabel="x1", ylabel="x2")
    longest = max(len(text) for text in ax.get_legend_handles_labels()[1])
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=max(1, 36 // (3 + longest)),
        labelcolor=theme["ink"], frameon=False, borderaxespad=0.2, borderpad=0.2,
        handletextpad=0.5, handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip
    style_axes(ax)


def make_room_for_legend(ax: Axes) -> None:
    """Makes a figure of this package higher by the height of the legend above the axes."""
    if isinstance(figure := ax.figure, NotebookFigure):
        legend: Any = ax.get_legend()
        width, height = figure.get_size_inches()
        room = legend.get_window_extent().height / figure.dpi
        figure.set_size_inches(width, round(height + room, 2))


def figure_size(plane: Plane) -> tuple[float, float]:
    """Width and height, in inches, of a figure of the plane, without its legend."""
    width, height = plane.high - plane.low
    ratio = width / height if plane.equal else 1.0
    return 3.4 * math.sqrt(ratio) + 0.5, 3.4 / math.sqrt(ratio) + 0.37
