"""Loss and accuracy over the steps or epochs of training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from micrograd.core.shapes import Model, Numbers
from micrograd.plot.boundary import decision_boundary, figure_size
from micrograd.plot.figure import NotebookFigure, as_label, class_shades, style_axes, theme_of
from micrograd.plot.plane import Scene, floats
from micrograd.texts import said, spoken, texts_of

STYLES = {  # colour and width; where two curves agree, the thin one lies on the wide one
    "training": ("ink", 1.4),
    "validation": ("frame", 3.2),
}
Curves = Mapping[str, Sequence[Numbers | None]]


def draw_curves(
    ax: Axes,
    kind: str,
    training: Curves,
    validation: Curves,
    epochs: Sequence[float] | None,
    unit: str,
    until: float = math.inf,
) -> None:
    """Draws the curves of training and validation, with their last numbers above.

    `kind` is "loss" or "accuracy", and the key of the numbers in `training` and `validation`; None
    or NaN was not measured. The curves end at the epoch `until`, but the axes have space for the
    later ones.
    """
    theme, lines, above = theme_of(ax), [], []
    for (name, (colour, width)), given in zip(STYLES.items(), (training, validation), strict=True):
        if kind in given:
            at = np.asarray(range(1, len(given[kind]) + 1) if epochs is None else epochs)
            numbers = floats(list(given[kind]), len(at))[:, 0]
            finite = np.isfinite(numbers)
            look: Any = {"color": theme[colour], "linewidth": width, "zorder": 6 - width}
            look |= {"marker": "o", "markersize": 2 + width, "markevery": slice(-1, None)}
            label = said("plot", name)
            lines += ax.plot(at[finite], numbers[finite], label=label, **look)
    unit = unit_of(unit)
    ax.set(xlabel=unit, ylabel=said("plot", kind))
    ax.spines[["top", "right"]].set_visible(False)
    style_axes(ax)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    if kind == "accuracy":
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1))
        ax.set_ylim(0, 1.02)
    elif ax.dataLim.y0 >= 0:
        ax.set_ylim(bottom=0)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())  # before the curves are cut off
    form = ".3g" if kind == "loss" else ".0%"
    for line in lines:
        known = np.asarray(line.get_xydata())
        points = known[known[:, 0] <= until].tolist()
        line.set_data(np.reshape(points, (-1, 2)).T)
        above += [f"{line.get_label()} {y:{form}}" for _, y in points[-1:]]
    title = ", ".join(above) if above or until < math.inf else said("plot", "none")
    ax.set_title(title, loc="right", fontsize="small", color=theme["faint"])
    if len(lines) > 1:
        corner: Any = "upper right" if kind == "loss" else "lower right"
        ax.legend(loc=corner, frameon=False, labelcolor=theme["ink"], fontsize="small")


def unit_of(unit: str) -> str:
    """What is counted, in the language of this block if it is 'step' or 'epoch'."""
    return texts_of("plot").get(f"unit.{unit}", unit)


@spoken
def loss_curve(
    losses: Sequence[Numbers],
    *,
    ax: Axes | None = None,
    dark: bool = False,
    language: str | None = None,
) -> Axes:
    """Axes with the losses (numbers or Values) over the steps, and the last loss above them.

    `ax`, `dark` and `language` are as in `decision_boundary`.

    >>> loss_curve([0.7, 0.5, 0.4]).get_title(loc="right")
    'training 0.4'
    """
    ax = ax or NotebookFigure(4.0, 3.0, dark).add_subplot()
    draw_curves(ax, "loss", {"loss": losses}, {}, None, "step")
    return ax


@spoken
def training_figure(
    predict: Model,
    X: Numbers,
    y: Numbers,
    losses: Sequence[Numbers],
    *,
    names: Sequence[str] | None = None,
    dark: bool = False,
    language: str | None = None,
) -> Figure:
    """The decision boundary beside the loss curve, with a colour bar if there are two classes.

    The arguments are the same as for `decision_boundary` and `loss_curve`.

    >>> X, y = [[0, 0], [1, 1]], [0, 1]
    >>> figure = training_figure(lambda X: X[:, 0] - 0.5, X, y, losses=[0.7, 0.5, 0.4])
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['x2', 'loss', 'confidence in class 1']
    """
    scene = Scene(X, y, names)
    width, height = figure_size(scene.plane)
    figure = NotebookFigure(width + 3.5, height, dark)
    left, right = figure.subplots(1, 2, width_ratios=[width + 0.7, 2.6])
    decision_boundary(predict, X, y, names=names, ax=left)
    loss_curve(losses, ax=right)
    if scene.outputs == 1:
        theme = theme_of(left)
        first, second, *_ = class_shades(theme)
        shades = LinearSegmentedColormap.from_list("", [first, theme["panel"], second])
        colours = ScalarMappable(cmap=shades)
        bar = figure.colorbar(colours, ax=left, ticks=[0, 0.5, 1], pad=0.02, aspect=30)
        bar.set_label(said("plot", "confidence", name=as_label(scene.names[1])), color=theme["ink"])
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelcolor=theme["faint"], labelsize="small")
    return figure
