"""A map of each neuron of a network: its output over a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from micrograd.plot.boundary import figure_size
from micrograd.plot.layers import LayeredModel
from micrograd.plot.plane import Plane, examples
from micrograd.plot.style import NotebookFigure, marks, shades, style_colorbar, theme_of

__all__ = ["hidden_neurons"]

Array = np.ndarray[Any, np.dtype[Any]]


def hidden_neurons(
    model: Any, X: Any, y: Any, *, resolution: int = 30, dark: bool = False
) -> Figure:
    """A map of each neuron's output over the plane, layer by layer.

    The last column is the output layer. Blue is negative, orange is positive. The maps of a layer
    share the colour bar below them, from -m to m: m is 1, or the largest absolute value of the
    layer's outputs if that is above 1.

    Args:
        model: an MLP, or a Sequential of layers and other steps, such as one that scales the
            inputs; called with points `[x1, x2]`.
        X: n points, shape (n, 2).
        y: n labels, as in `decision_boundary`.
        resolution: number of points along the longer axis at which to call the network.
        dark: whether the figure has a dark background.

    Raises:
        ValueError: the model has no layers, or more than 200 neurons.

    >>> from micrograd.nn import MLP
    >>> figure = hidden_neurons(MLP(2, [3, 1]), [[0, 0], [1, 1]], [0, 1])
    >>> len(figure.axes)  # 4 maps and a colour bar for each layer
    6
    """
    points, labels, _ = examples(X, y)
    network, plane = LayeredModel(model), Plane(points, resolution)
    sizes = network.sizes[1:]
    if not sizes:
        raise ValueError(f"expected an MLP, or a Sequential with layers, got {model!r:.60}")
    if sum(sizes) > 200:
        raise ValueError(f"expected at most 200 neurons, got {sum(sizes)}: draw a smaller network")
    layout = _Layout(sizes, plane, dark)
    layers = np.split(network.outputs_at(plane.grid), np.cumsum(sizes)[:-1])
    drawn = []
    for layer, of_layer in enumerate(layers):
        largest = max(1.0, float(abs(of_layer).max()))
        for i, of_neuron in enumerate(of_layer):
            ax = layout.map_axes(layer, i)
            image = _draw_map(ax, plane, of_neuron, largest)
            theme = theme_of(ax)
            for label, mark in enumerate(marks(theme)):
                ax.plot(*points[labels == label].T, ".", color=mark.fill, markersize=2)
            if i == 0:
                name = "output" if layer == len(sizes) - 1 else f"layer {layer + 1}"
                ax.set_title(name, fontsize="small", color=theme["ink"], loc="left", pad=3)
        drawn.append((image, largest))
    for layer, (image, largest) in enumerate(drawn):
        cax, ticks = layout.bar_axes(layer), [-largest, 0, largest]
        bar = layout.figure.colorbar(
            image, cax=cax, ticks=ticks, format="%.3g", orientation="horizontal"
        )
        style_colorbar(bar, "neuron output" if layer == len(sizes) - 1 else "")
        bar.ax.xaxis.label.set_fontsize("small")
    return layout.figure


class _Layout:
    # Positions of maps and colour bars, in inches, because Matplotlib's grids cannot centre layers.
    MARGIN, GAP = 0.25, 0.4  # around all layers, and between two of them
    TITLE, BAR = 0.25, 0.6  # space above the maps of a layer, and below them for its bar

    def __init__(self, sizes: Sequence[int], plane: Plane, dark: bool) -> None:
        columns = [math.ceil(size / 8) for size in sizes]  # a large layer takes several columns
        self._rows = [math.ceil(size / n) for size, n in zip(sizes, columns, strict=True)]
        size = figure_size(plane)
        self._width, self._height = (1.6 * side / math.hypot(*size) for side in size)
        self._lefts = [
            self._width * sum(columns[:i]) + self.GAP * i + self.MARGIN
            for i in range(len(sizes) + 1)
        ]
        height = self._height * max(self._rows) + self.TITLE + self.BAR
        self._size = (self._lefts[-1] - self.GAP + self.MARGIN, height)
        self.figure = NotebookFigure(self._size, dark)

    def map_axes(self, layer: int, i: int) -> Axes:
        rows = self._rows[layer]
        left = self._lefts[layer] + i // rows * self._width
        bottom = self._bottom(layer) + (rows - 1 - i % rows) * self._height
        return self._axes(left, bottom, 0.94 * self._width, 0.92 * self._height)

    def bar_axes(self, layer: int) -> Axes:
        return self._axes(self._lefts[layer], self._bottom(layer) - 0.14, 0.94 * self._width, 0.08)

    def _bottom(self, layer: int) -> float:
        # Layers with fewer rows are centred beside the others.
        missing = max(self._rows) - self._rows[layer]
        return self.BAR + missing * self._height / 2

    def _axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        x, y = self._size
        return self.figure.add_axes((left / x, bottom / y, width / x, height / y))


def _draw_map(ax: Axes, plane: Plane, outputs: Array, largest: float) -> AxesImage:
    image = ax.imshow(
        outputs.reshape(plane.shape[::-1]),
        extent=plane.extent(1),
        origin="lower",
        cmap=shades(theme_of(ax)),
        vmin=-largest,
        vmax=largest,
        interpolation="bilinear",
        aspect="equal" if plane.equal else "auto",
    )
    (left, bottom), (right, top) = plane.low, plane.high
    ax.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
    ax.spines[:].set_color(theme_of(ax)["frame"])
    return image
