"""The decision boundary: which class a model predicts at each point of a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from numpy.lib.stride_tricks import sliding_window_view

from micrograd.core.shapes import Model, Numbers
from micrograd.draw.tokens import LIGHT
from micrograd.plot.figure import (
    MARKERS,
    NotebookFigure,
    as_label,
    class_shades,
    style_axes,
    theme_of,
)
from micrograd.plot.plane import Array, Plane, Scene, scores
from micrograd.texts import said, spoken


@spoken
def decision_boundary(
    predict: Model,
    X: Numbers,
    y: Numbers,
    *,
    names: Sequence[str] | None = None,
    true_boundary: Numbers = (),
    ax: Axes | None = None,
    dark: bool = False,
    language: str | None = None,
) -> Axes:
    """Axes with the points, the lines where the predicted class changes, and confidence shading.

    With two classes the line is where the score is 0, and the shading shows how far sigmoid(score)
    is from 1/2; with more classes, by how much the largest of softmax(scores) exceeds the second.

    Args:
        predict: a function that scores points: above 0 for the second class, like a logit, or a
            score for each class if there are more than two. It takes an array of shape (n, 2) and
            returns n numbers (or shape (n, k) for k classes), like NumPy functions and
            scikit-learn's `decision_function`; or, if that fails, one point `[x1, x2]`, and returns
            a number or Value (or k), like a micrograd model. For a probability p, return p - 0.5.
        X: n points, shape (n, 2).
        y: n labels: 0 and 1, or -1 and 1, or 0, 1, ..., k - 1 for k classes, at most 8.
        names: names of the classes, for the legend; by default the labels, such as -1 and 1.
        true_boundary: points of the line that the model should find, shape (m, 2), drawn dashed.
        ax: the Axes to draw on, whose title stays; by default on a new figure.

    Raises:
        ValueError: shapes or labels are not as described, or a score is NaN.

    >>> ax = decision_boundary(lambda X: X[:, 0] + X[:, 1] - 1, [[0, 0], [1, 1]], [0, 1])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x1', 'x2')
    """
    scene = Scene(X, y, names, true_boundary, resolution=80)
    ax = ax or NotebookFigure(*figure_size(scene.plane), dark).add_subplot()
    draw_boundary(ax, scene, scores(predict, scene.plane.grid, scene.outputs))
    return ax


def draw_boundary(ax: Axes, scene: Scene, scores: Array) -> None:
    """Draws the regions of the classes, from the scores on the grid, and the points on them."""
    if scene.outputs == 1:  # sigmoid(score) is softmax(0, score)
        scores = np.hstack([np.zeros_like(scores), scores])
    plane, theme = scene.plane, theme_of(ax)
    scores = scores.reshape(*plane.shape[::-1], -1)
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = np.sort(odds / odds.sum(axis=-1, keepdims=True))
    # The shade of the leading class, fading into the background where two classes are equal.
    ground, lead = to_rgba_array(theme["panel"]), shares[..., -1:] - shares[..., -2:-1]
    colours = ground + lead * (class_shades(theme)[scores.argmax(axis=-1)] - ground)
    half = (plane.high - plane.low) / np.subtract(plane.shape, 1) / 2  # half a pixel
    (left, bottom), (right, top) = plane.low - half, plane.high + half
    place: Any = {"extent": (left, right, bottom, top), "origin": "lower"}
    ax.imshow(colours, **place, interpolation="bilinear")
    ax.set(**plane.limits, xlabel="x1", ylabel="x2")
    for k in range(1, len(scene.names)):
        ahead = scores[..., k] - np.delete(scores, k, axis=-1).max(axis=-1)
        if ahead.min() < 0 < ahead.max():
            # Where scores are exactly 0 on a region, not on a line, no line follows its edges.
            zero = ahead == 0
            nearby = sliding_window_view(np.pad(zero, 1), (3, 3)).sum(axis=(2, 3))
            ahead = np.ma.masked_where(zero & (nearby > 3), ahead)
            ax.contour(ahead, [0], **place, colors=theme["ink"], linewidths=1.6)
    _draw_points(ax, scene)


def _draw_points(ax: Axes, scene: Scene) -> None:
    # The points of each class, those for validation hollow; the true boundary; the legend.
    theme, size = theme_of(ax), float(np.clip(3000 / len(scene.points), 8, 26))

    def draw(points: Array, k: int, colour: str, edge: str, width: float, label: str) -> None:
        look: Any = {"color": colour, "edgecolors": edge, "linewidths": width * size, "zorder": 3}
        x1, x2 = points.T
        ax.scatter(x1, x2, size, marker=MARKERS[k], label=label, **look)

    for k, name in enumerate(scene.names):
        fill, label = theme[f"class-{k}"], said("pages", "plane.class", name=as_label(name))
        draw(scene.points[scene.labels == k], k, fill, LIGHT["ink"], 1 / 40, label)
    for i, k in enumerate(np.unique(scene.truth)):
        edge, label = theme[f"class-{k}"], "_" if i else said("pages", "plane.validation")
        draw(scene.tested[scene.truth == k], k, theme["panel"], edge, 1 / 20, label)
    if len(scene.line):
        dashed: Any = {"linewidth": 1.4, "dashes": (4, 3), "zorder": 4}
        ax.plot(*scene.line.T, color=theme["ink"], label=said("plot", "truth"), **dashed)
    longest = max(len(text) for text in ax.get_legend_handles_labels()[1])
    in_columns = {"ncols": max(1, 42 // (3 + longest))}
    inside = {"frameon": True, "facecolor": theme["panel"], "edgecolor": theme["soft"]}
    is_ours = isinstance(ax.figure, NotebookFigure)  # above axes of the user is their title
    style_axes(ax, legend=in_columns if is_ours else inside)


def figure_size(plane: Plane) -> tuple[float, float]:
    """Width and height, in inches, of a figure of the plane with its legend."""
    return 3.4 * math.sqrt(plane.ratio) + 0.5, 3.4 / math.sqrt(plane.ratio) + 0.7
