"""Pictures of what a network has learned, of its training, and of a gradient as a slope.

    >>> from micrograd.datasets import moons
    >>> from micrograd.nn import MLP
    >>> X, y = moons(20)
    >>> figure = training_figure(MLP(2, [4, 1]), X, y, losses=[0.7, 0.5, 0.4])
    >>> save(figure, "moons.png")  # doctest: +SKIP

`decision_boundary`, `loss_curve` and `slope` take `ax=` and return the Axes, as is usual with
Matplotlib. Figures have a light background, or a dark one with `dark=True`. `figure.show()`
displays a figure in a notebook, or opens it in the browser. Nothing here chooses a backend,
changes Matplotlib's settings, or leaves a figure open.
"""

from micrograd.plot.boundary import decision_boundary
from micrograd.plot.curves import health, loss_curve, training_figure
from micrograd.plot.figure import check_path, save
from micrograd.plot.history import History, animate
from micrograd.plot.surface import landscape, slope

__all__ = [
    "History",
    "animate",
    "check_path",
    "decision_boundary",
    "health",
    "landscape",
    "loss_curve",
    "save",
    "slope",
    "training_figure",
]
