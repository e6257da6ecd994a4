"""Curves of a training: loss and accuracy over its steps, and the health of the layers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from micrograd.core.shapes import Model, Numbers
from micrograd.plot.boundary import decision_boundary, figure_size
from micrograd.plot.figure import NotebookFigure, as_label, class_shades, style_axes, theme_of
from micrograd.plot.plane import Scene, floats
from micrograd.texts import said, spoken, texts_of
from micrograd.watching.watch import Run

BINS = 30
USUAL = -3  # log10 of the ratio of a step to its parameters: a thousandth


def draw_curves(ax: Axes, kind: str, curves: Mapping[str, Any], until: float = math.inf) -> None:
    """Draws the curves of training and validation, with their last numbers above.

    `kind` is "loss" or "accuracy", and the key of the numbers in `curves["training"]` and, if there
    are any, `curves["validation"]`; None or NaN was not measured. `steps`, counted in the `unit`,
    are those of all numbers. Curves end at the step `until`, but axes have space for later ones.
    """
    lines, above, at = [], [], np.asarray(curves["steps"])
    # where two curves agree, the thin one lies on the wide one
    for name, colour, width in ("training", "ink", 1.4), ("validation", "frame", 3.2):
        if kind in curves.get(name, ()):
            numbers = floats(list(curves[name][kind]), len(at))[:, 0]
            finite = np.isfinite(numbers)
            look: Any = {"color": theme_of(ax)[colour], "linewidth": width, "zorder": 6 - width}
            look |= {"marker": "o", "markersize": 2 + width, "markevery": slice(-1, None)}
            label = said("plot", name)
            lines += ax.plot(at[finite], numbers[finite], label=label, **look)
    ax.set(xlabel=unit_of(curves["unit"]), ylabel=said("plot", kind))
    if kind == "accuracy":
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1))
        ax.set_ylim(0, 1.02)
    elif ax.dataLim.y0 >= 0:
        ax.set_ylim(bottom=0)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())  # before the curves are cut off
    for line in lines:
        known = np.asarray(line.get_xydata())
        line.set_data(known[known[:, 0] <= until].T)
        last = np.asarray(line.get_ydata())[-1:]
        above += [f"{line.get_label()} {y:{'.3g' if kind == 'loss' else '.0%'}}" for y in last]
    title = said("plot", "none") if not above and until == math.inf else ", ".join(above)
    corner = {"loc": "upper right" if kind == "loss" else "lower right"}
    style_axes(ax, title, legend=corner if len(lines) > 1 else None)
    ax.locator_params("x", nbins=5, integer=True)


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
    steps = range(1, len(losses) + 1)
    draw_curves(ax, "loss", {"training": {"loss": losses}, "steps": steps, "unit": "step"})
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


@spoken
def health(run: Run, *, dark: bool = False, language: str | None = None) -> Figure:
    """Three pictures by layer: outputs of activations, gradients, and sizes of steps.

    Outputs that pile up at -1 and 1 are those of saturated tanh neurons, and at 0 those of ReLUs
    that do not fire. Gradients of all layers should be about equally wide. The third picture has
    the base-10 logarithm of |step| / |parameters| over the steps: about -3, a thousandth, is usual;
    far above it a rate is too large, far below too small; it is empty if nothing moved.

    `run` is what `watch` returned, after the loop; a run without a step is a ValueError.

    Source: A. Karpathy, "Building makemore, part 3: activations and gradients, BatchNorm", 2022.
    """
    history = run.history
    if not history.steps:
        raise ValueError("health expects a run with a step: call it after the loop")
    outputs: dict[str, list[float]] = defaultdict(list)
    for (_, first), some in history.look.units.items():
        outputs[history.layer[first]] += some
    last, layers = history.step.grads, history.layers
    gradients = {layer: [last[i] for i in inside] for layer, inside in layers.items()}
    figure = NotebookFigure(12.0, 3.4, dark)
    left, middle, right = figure.subplots(1, 3)
    _draw_shares(left, outputs, said("plot", "health.output"))
    _draw_shares(middle, gradients, said("pages", "word.gradient"))
    theme = theme_of(right)
    for k, layer in enumerate(gradients):
        pairs = [(step, ratios[layer]) for step, ratios in history.updates if layer in ratios]
        steps, ratios = np.array(pairs or [(0, np.nan)]).T
        look: Any = {"color": theme[f"class-{k % 8}"], "linewidth": 1.4}
        right.plot(steps, np.log10(np.maximum(ratios, 1e-12)), label=as_label(layer), **look)
    right.axhline(USUAL, color=theme["faint"], linestyle="--", linewidth=1)
    right.set(xlabel=said("plot", "unit.step"), ylabel=said("plot", "health.step"))
    style_axes(right)
    return figure


def _draw_shares(ax: Axes, numbers: dict[str, list[float]], what: str) -> None:
    # A histogram for each layer, as a line.
    theme = theme_of(ax)
    every = [x for some in numbers.values() for x in some if np.isfinite(x)]
    edges = np.histogram_bin_edges(every, BINS)
    for k, (layer, some) in enumerate(numbers.items()):
        shares = np.histogram(some, edges)[0] / max(1, len(some))
        look: Any = {"color": theme[f"class-{k % 8}"], "linewidth": 1.4}
        ax.stairs(shares, edges, label=as_label(layer), **look)
    ax.set(xlabel=what, ylabel=said("plot", "health.share"))
    style_axes(ax, legend={} if any(numbers) else None)  # if a layer has a name
