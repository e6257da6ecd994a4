"""Loss and accuracy over the steps or epochs of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, PercentFormatter

from micrograd.plot.boundary import decision_boundary, figure_size, legend_texts
from micrograd.plot.plane import Plane, examples
from micrograd.plot.scores import floats
from micrograd.plot.style import (
    CURVES,
    NotebookFigure,
    as_label,
    new_axes,
    style_axes,
    style_colorbar,
    theme_of,
)

__all__ = ["learning_curves", "loss_curve", "training_figure"]

Array = np.ndarray[Any, np.dtype[Any]]


def loss_curve(losses: Sequence[Any], *, ax: Axes | None = None, dark: bool = False) -> Axes:
    """Axes with the losses (numbers or Values) over the steps; a number shows the last one.

    `ax` and `dark` are as in `decision_boundary`.

    >>> loss_curve([0.7, 0.5, 0.4]).get_xlabel()
    'step'
    """
    numbers = floats(list(losses), len(losses))[:, 0]
    ax = ax or new_axes((4.0, 3.0), dark)
    theme, steps = theme_of(ax), np.arange(1, len(numbers) + 1)
    marker = "o" if len(numbers) == 1 else None
    ax.plot(steps, numbers, color=theme["ink"], linewidth=1.6, marker=marker)
    ax.set(xlabel="step", ylabel="loss")
    _style_curves(ax)
    if len(numbers):
        if min(numbers) >= 0:
            ax.set_ylim(bottom=0)
        ax.annotate(
            f"{numbers[-1]:.2g}", (steps[-1], numbers[-1]), (0, 5), textcoords="offset points",
            ha="right", va="bottom", color=theme["faint"],
        )  # fmt: skip
    else:
        _say_nothing_yet(ax, "no steps yet")
    return ax


def learning_curves(
    training: Mapping[str, Sequence[Any]],
    validation: Mapping[str, Sequence[Any]] | None = None,
    *,
    epochs: Sequence[float] | None = None,
    unit: str = "epoch",
    log: bool = False,
    dark: bool = False,
) -> Figure:
    """Loss and accuracy over the epochs, for training and validation, with the best ones marked.

    The best epoch is the one with the lowest loss or the highest accuracy in validation, or in
    training if there is no validation.

    Args:
        training: a dict with the keys "loss" or "accuracy" or both, each with a list of a number or
            Value for each epoch. None or NaN means that it was not measured in this epoch.
        validation: the same for the validation set.
        epochs: the epochs to which the numbers belong; by default 1, 2, 3, ...
        unit: the label of the horizontal axis, in the singular.
        log: whether the loss has a logarithmic axis, which leaves out losses that are not positive.
        dark: whether the figure has a dark background.

    Raises:
        ValueError: there is a key other than "loss" and "accuracy", or the lengths differ.

    >>> figure = learning_curves(
    ...     {"loss": [0.7, 0.5, 0.4], "accuracy": [0.5, 0.75, 1.0]}, {"loss": [0.8, 0.6, 0.7]}
    ... )
    >>> [ax.get_title(loc="right") for ax in figure.axes]
    ['best 0.6, epoch 2', 'best 100.0%, epoch 3']
    """
    given = {"training": training, "validation": validation or {}}
    rows = {
        (name, kind): floats(list(numbers), len(numbers))[:, 0]
        for name, of_kind in given.items()
        for kind, numbers in of_kind.items()
    }
    names = {kind for _, kind in rows}
    if not rows or not names <= {"loss", "accuracy"}:
        raise ValueError(f'expected "loss" or "accuracy" or both, got {sorted(names)}')
    n = len(next(iter(rows.values())) if epochs is None else epochs)
    if any(len(row) != n for row in rows.values()):
        lengths = ", ".join(f"{len(row)} ({' '.join(key)})" for key, row in rows.items())
        raise ValueError(f"expected {n} numbers each, one for each {unit}, got {lengths}")
    at = np.arange(1, n + 1) if epochs is None else np.asarray(epochs)
    kinds = [kind for kind in ("loss", "accuracy") if kind in names]
    figure = NotebookFigure((4.6 * len(kinds), 3.4), dark, layout="constrained")
    panels = figure.subplots(1, len(kinds), squeeze=False, subplot_kw={"facecolor": "none"})[0]
    for kind, ax in zip(kinds, panels, strict=True):
        shown = {name: rows[name, kind] for name in given if (name, kind) in rows}
        _draw_curves(ax, at, shown, kind, unit)
        if kind == "loss" and log:
            ax.set_yscale("log", nonpositive="mask")
        elif kind == "loss" and ax.dataLim.y0 >= 0:
            ax.set_ylim(bottom=0)
    return figure


def _draw_curves(ax: Axes, at: Array, shown: Mapping[str, Array], kind: str, unit: str) -> None:
    theme = theme_of(ax)
    for name, numbers in shown.items():
        known = np.isfinite(numbers)
        colour, width = CURVES[name]
        ax.plot(
            at[known], numbers[known], color=theme[colour], linewidth=width, label=name,
            zorder=6 - width,
        )  # fmt: skip
    ax.set_title(kind, loc="left", fontsize="medium", color=theme["ink"])
    ax.set_xlabel(unit)
    _style_curves(ax)
    if not known.any():  # the last curve is empty: it is the one that decides which epoch is best
        _say_nothing_yet(ax, f"no {unit}s yet")
        return
    best = at[known][numbers[known].argmin() if kind == "loss" else numbers[known].argmax()]
    value = numbers[at == best][0]
    ax.scatter([best], [value], 40, theme[colour], edgecolors=theme["ink"], zorder=6)
    text = f"best {value:.3g}" if kind == "loss" else f"best {value:.1%}"
    ax.set_title(f"{text}, {unit} {best:g}", loc="right", fontsize="small", color=theme["faint"])
    if kind == "accuracy":
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    if len(shown) > 1:
        ax.legend(frameon=False, labelcolor=theme["ink"])


def _style_curves(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    style_axes(ax)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _say_nothing_yet(ax: Axes, text: str) -> None:
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, text, color=theme_of(ax)["faint"], ha="center", transform=ax.transAxes)


def training_figure(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    losses: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    true_boundary: Any = None,
    resolution: int = 80,
    dark: bool = False,
) -> Figure:
    """The decision boundary beside the loss curve, with a colour bar if there are two classes.

    The arguments are the same as for `decision_boundary` and `loss_curve`.

    >>> X, y = [[0, 0], [1, 1]], [0, 1]
    >>> figure = training_figure(lambda X: X[:, 0] - 0.5, X, y, losses=[0.7, 0.5, 0.4])
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['x2', 'loss', 'confidence in class 1']
    """
    points, _, names = examples(X, y, names)
    has_line = true_boundary is not None
    width, height = figure_size(Plane(points, resolution), legend_texts(names, has_line))
    spaced = ConstrainedLayoutEngine(wspace=0.06)
    figure = NotebookFigure((width + 3.5, height), dark, layout=spaced)
    ratios, transparent = [width + 0.7, 2.6], {"facecolor": "none"}
    left, right = figure.subplots(1, 2, width_ratios=ratios, subplot_kw=transparent)
    decision_boundary(
        predict, X, y, names=names, true_boundary=true_boundary, resolution=resolution, ax=left
    )
    loss_curve(losses, ax=right)
    if len(names) == 2:
        bar = figure.colorbar(left.images[0], ax=left, ticks=[0, 0.5, 1], pad=0.02, aspect=30)
        style_colorbar(bar, "confidence in class " + as_label(names[1]))
    return figure
