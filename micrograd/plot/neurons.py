"""The layers of a network, and a map of each neuron: its output over a plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from micrograd.core.shapes import flat
from micrograd.engine import Value
from micrograd.nn import Activation, Layer, Linear, layers_of, neurons_of
from micrograd.plot.boundary import draw_map, figure_size
from micrograd.plot.figure import NotebookFigure, marks, shades, style_colorbar, theme_of
from micrograd.plot.plane import Array, Scene, scores


class LayeredModel:
    """A network seen as layers of neurons, with the weights and the outputs of each neuron.

    The model is an MLP, a Layer, a Linear, or a Sequential of these and of any other callables.
    `layers` has a list of neurons for each layer, as pairs (weights, bias or None), and `sizes` the
    number of inputs and then of neurons in each layer. Both are empty for any other model.

    >>> from micrograd.nn import Sequential
    >>> model = LayeredModel(Sequential(Linear(2, 4), Activation("tanh"), Linear(4, 3)))
    >>> model.sizes, len(model.outputs([0.5, 0.5]))
    ([2, 4, 3], 7)
    """

    def __init__(self, model: Any) -> None:
        self._stages = layers_of(model)
        layers = [
            [(weights, bias) for _, weights, bias, _ in neurons_of(stage)]
            for stage in self._stages
            if isinstance(stage, (Layer, Linear))
        ]
        inputs, outputs = [len(layer[0][0]) for layer in layers], [len(layer) for layer in layers]
        fits = inputs[1:] == outputs[:-1]  # False if a step between two layers changes the width
        self.layers = layers if fits else []
        self.sizes = [*inputs[:1], *outputs] if fits else []

    def outputs(self, point: Any) -> list[Value]:
        """The output of each neuron after its activation, layer by layer."""
        found: list[list[Any]] = []
        x = point
        for stage in self._stages:
            x = stage(x)
            several = flat(x)
            if isinstance(stage, (Layer, Linear)):
                found.append(several)
            elif isinstance(stage, Activation) and found:
                found[-1] = several
        return [output for layer in found for output in layer]

    def numbers(self, attribute: str) -> Array:
        """`data` or `grad` of all parameters: each neuron's weights, then its bias or 0."""
        found = [
            0.0 if p is None else float(getattr(p, attribute))
            for layer in self.layers
            for weights, bias in layer
            for p in (*weights, bias)
        ]
        return np.array(found)


def hidden_neurons(
    model: Any, X: Any, y: Any, *, resolution: int = 30, dark: bool = False
) -> Figure:
    """A map of each neuron's output over the plane, layer by layer.

    The last column is the output layer. Blue is negative, orange is positive. The maps of a layer
    share the colour bar below them, from -m to m: m is 1, or the largest absolute value of the
    layer's outputs if that is above 1.

    `model` is an MLP, or a Sequential of layers and other steps, such as one that scales the
    inputs; the other arguments are as in `decision_boundary`.

    Raises:
        ValueError: the model has no layers.

    >>> from micrograd.nn import MLP
    >>> figure = hidden_neurons(MLP(2, [3, 1]), [[0, 0], [1, 1]], [0, 1])
    >>> len(figure.axes)  # a map for each neuron
    4
    """
    scene, network = Scene(X, y, resolution=resolution), LayeredModel(model)
    sizes = network.sizes[1:]
    if not sizes:
        raise ValueError(f"expected an MLP, or a Sequential with layers, got {model!r:.60}")
    _, _, maps = scene.plane.refined(scores(network.outputs, scene.plane.grid, sum(sizes)))
    width, height = (0.4 * side for side in figure_size(scene.plane))
    figure = NotebookFigure((width * len(sizes), height * max(sizes) + 0.6), dark)
    grid = figure.add_gridspec(max(sizes), len(sizes))
    layers = np.split(np.moveaxis(maps, -1, 0), np.cumsum(sizes)[:-1])
    for i, layer in enumerate(layers):
        largest, top = max(1.0, float(abs(layer).max())), (max(sizes) - len(layer)) // 2
        for k, outputs in enumerate(layer):
            ax = figure.add_subplot(grid[top + k, i])
            theme = theme_of(ax)
            image = draw_map(
                ax, scene.plane, outputs, cmap=shades(theme), vmin=-largest, vmax=largest
            )
            for label, mark in enumerate(marks(theme)):
                dots = scene.points[scene.labels == label]
                ax.plot(*dots.T, ".", color=mark.fill, markersize=2)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color(theme["frame"])
            if k == 0:
                title = "output" if i == len(layers) - 1 else f"layer {i + 1}"
                ax.set_title(title, fontsize="small", color=theme["ink"], loc="left")
        below = ax.inset_axes((0, -0.12, 1, 0.06))
        ticks = [-largest, 0, largest]
        bar = figure.colorbar(image, below, ticks=ticks, format="%.3g", orientation="horizontal")
        style_colorbar(bar, "")
    return figure
