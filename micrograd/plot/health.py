"""How a run that `watch` looked at went: activations, gradients, and the size of the steps."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from micrograd.plot.figure import NotebookFigure, as_label, style_axes, theme_of
from micrograd.texts import said, spoken
from micrograd.watching.watch import Run

BINS = 30
USUAL = -3  # log10 of the ratio of a step to its parameters: a thousandth


@spoken
def health(run: Run, *, dark: bool = False, language: str | None = None) -> Figure:
    """Three pictures by layer: outputs of activations, gradients, and sizes of steps.

    Outputs that pile up at -1 and 1 are those of saturated tanh neurons, and at 0 those of ReLUs
    that do not fire. Gradients of all layers should be about equally wide. The third picture has
    the base-10 logarithm of |step| / |parameters| over the steps: about -3, a thousandth, is usual;
    far above it a rate is too large, far below too small; it is empty if nothing moved.

    Args:
        run: what `watch` returned, after the loop.
        dark: whether the figure has a dark background.
        language: that of the words in it, as in `explain`.

    Raises:
        ValueError: the run has no step yet.

    Source: A. Karpathy, "Building makemore, part 3: activations and gradients, BatchNorm", 2022.

    >>> from micrograd import MLP, SGD, watch
    >>> model, X, y = MLP(2, [3, 1]), [[1.0, 0.5], [-0.5, 1.0]], [1.0, -1.0]
    >>> optimizer, run = SGD(model.parameters(), lr=0.01), watch(range(3), model, bar=False)
    >>> for step in run:
    ...     optimizer.zero_grad()
    ...     loss = sum((model(x) - t) ** 2 for x, t in zip(X, y))
    ...     loss.backward()
    ...     optimizer.step()
    >>> [ax.get_xlabel() for ax in health(run).axes]
    ['output of an activation', 'gradient', 'step']
    """
    history = run.history
    if not history.steps:
        raise ValueError("health expects a run with a step: call it after the loop")
    outputs: dict[str, list[float]] = defaultdict(list)
    for (_, first), some in history.look.units.items():
        outputs[history.layer[first]] += some
    gradients = {
        layer: [history.step.grads[i] for i in inside] for layer, inside in history.layers.items()
    }
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
        ax.stairs(
            shares, edges, label=as_label(layer), color=theme[f"class-{k % 8}"], linewidth=1.4
        )
    ax.set(xlabel=what, ylabel=said("plot", "health.share"))
    style_axes(ax)
    if any(numbers):  # a layer that has a name
        ax.legend(frameon=False, labelcolor=theme["ink"], fontsize="small")
