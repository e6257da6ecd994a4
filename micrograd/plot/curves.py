"""The loss over the steps of training, alone or beside the decision boundary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from micrograd.plot.boundary import decision_boundary, figure_size
from micrograd.plot.plane import Plane, examples
from micrograd.plot.scores import floats
from micrograd.plot.style import (
    GREY,
    INK,
    NotebookFigure,
    as_label,
    new_axes,
    style_axes,
    style_colorbar,
)

__all__ = ["loss_curve", "training_figure"]


def loss_curve(losses: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Axes with the losses (numbers or Values) over the steps; the last one is written out.

    >>> loss_curve([0.7, 0.5, 0.4]).get_xlabel()
    'step'
    """
    numbers = floats(list(losses), len(losses))[:, 0]
    ax = ax or new_axes((4.0, 3.0))
    steps = np.arange(1, len(numbers) + 1)
    ax.plot(steps, numbers, color=INK, linewidth=1.4, marker="o" if len(numbers) == 1 else None)
    ax.set(xlabel="step", ylabel="loss")
    ax.spines[["top", "right"]].set_visible(False)
    style_axes(ax)
    if len(numbers):
        if min(numbers) >= 0:
            ax.set_ylim(bottom=0)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.annotate(
            f"{numbers[-1]:.2g}", (steps[-1], numbers[-1]), (0, 5), textcoords="offset points",
            ha="right", va="bottom", color=GREY,
        )  # fmt: skip
    else:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "no steps yet", color=GREY, ha="center", transform=ax.transAxes)
    return ax


def training_figure(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    losses: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    resolution: int = 80,
) -> Figure:
    """The decision boundary beside the loss curve, with a colour bar if there are two classes.

    The arguments are the same as for `decision_boundary` and `loss_curve`.

    >>> X, y = [[0, 0], [1, 1]], [0, 1]
    >>> figure = training_figure(lambda X: X[:, 0] - 0.5, X, y, losses=[0.7, 0.5, 0.4])
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['x2', 'loss', 'confidence in class 1']
    """
    points, _, names = examples(X, y, names)
    width, height = figure_size(Plane(points, resolution), names)
    spaced = ConstrainedLayoutEngine(wspace=0.06)
    figure = NotebookFigure(figsize=(width + 3.5, height), layout=spaced)
    left, right = figure.subplots(1, 2, width_ratios=[width + 0.7, 2.6])
    decision_boundary(predict, X, y, names=names, resolution=resolution, ax=left)
    loss_curve(losses, ax=right)
    if len(names) == 2:
        bar = figure.colorbar(left.images[0], ax=left, ticks=[0, 0.5, 1], pad=0.02, aspect=30)
        style_colorbar(bar, "confidence in class " + as_label(names[1]))
    return figure
