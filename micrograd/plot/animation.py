"""A recorded training run as an animated GIF or as a page with a slider."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from micrograd.core.files import show, write_whole
from micrograd.plot.boundary import draw_points, draw_regions, figure_size, legend_texts
from micrograd.plot.files import check_path
from micrograd.plot.gif import animated_gif
from micrograd.plot.history import Frame, History, as_scores
from micrograd.plot.style import CURVES, NotebookFigure, marks, style_axes, theme_of

__all__ = ["Animation", "animate"]

Array = np.ndarray[Any, np.dtype[Any]]


class Animation(History):
    """A recorder for a training run, saved as a GIF or as a page with a slider.

    `animate` is another name for this class. Call it before the training loop, `record` in each
    step, and `save` after the loop. Record between `backward` and the update, so that gradients and
    loss belong to the recorded weights.

    >>> from micrograd.nn import MLP
    >>> X, y = [[0.0, 0.0], [1.0, 1.0]], [0, 1]
    >>> network = MLP(2, [1])
    >>> history = animate(network, X, y)
    >>> for step in range(3):
    ...     loss = sum((network(x) - 2 * k + 1) ** 2 for x, k in zip(X, y))
    ...     network.zero_grad()
    ...     loss.backward()
    ...     history.record(loss)
    ...     for p in network.parameters():
    ...         p.data -= 0.1 * p.grad
    >>> history.save("training.html")  # doctest: +SKIP

    Args:
        model: like `predict` in `decision_boundary`; it is called again in each step.
        X: n points, shape (n, 2).
        y: n labels, as in `decision_boundary`.
        X_validation, y_validation: m more points and labels, for the accuracy in validation. For
            its loss, call `record(loss, validation_loss)`.
        names: names of the classes.
        true_boundary: the boundary that the model should find, as in `decision_boundary`.
        title: text above the picture.
        unit: what is counted from one record to the next, such as "epoch".
        network: the network inside the model, to be drawn beside the boundary. Not needed if the
            model is an MLP itself, or a Sequential that includes all preprocessing of the inputs.
        resolution: number of points along the longer axis at which to call the model; by default
            48, or fewer with more than two classes. The time for recording grows with its square,
            unless the model takes all points at once.
        frames: the largest number of steps to keep. Longer runs keep every 2nd step, then every
            4th, and so on, and always the first and the last.

    Raises:
        ValueError: `decision_boundary` would refuse X or y, or the network has no layers.
    """

    def save(self, path: str | os.PathLike[str], *, dark: bool = False) -> None:
        """Writes the run, completely or not at all, as a .gif or as an .html page with a slider.

        If the weights have changed since the last `record`, an additional frame at the end shows
        the current model, without loss and gradients.

        Args:
            path: path of the file to write.
            dark: whether a GIF has a dark background. A page follows the reader's settings.

        Raises:
            ValueError: the path ends in neither .gif nor .html.
            OSError: the file cannot be written.
        """
        as_gif = check_path(path, ["gif", "html"]) == "gif"
        write_whole(path, self.gif(dark=dark) if as_gif else self.page().encode())

    def show(self) -> None:
        """Displays the run in a notebook; elsewhere, opens its page in the browser."""
        show(self, "training.html", self.save)

    def gif(self, *, dark: bool = False) -> bytes:
        """The run as an animated GIF: 80 ms for each frame, 2 s for the last one.

        >>> animate(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1], resolution=3).gif()[:6]
        b'GIF89a'
        """
        frames = self.frames()
        chosen = sorted({round(i * (len(frames) - 1) / 60) for i in range(61)})
        figure = _FrameFigure(self, frames, dark)
        durations = [*[80] * (len(chosen) - 1), 2000]
        return animated_gif(map(figure.pixels, chosen), figure.palette, durations)


animate = Animation


class _FrameFigure:
    # All frames have the same axes for boundary, loss and accuracy; each redraws what has changed.

    def __init__(self, run: History, frames: list[Frame], dark: bool) -> None:
        self._run, self._frames = run, frames
        self._has_layout = False
        validation = run.validation_points, run.validation_labels
        hollow = validation if len(validation[0]) else None
        legend = legend_texts(run.names, bool(run.true_lines), hollow is not None)
        width, height = figure_size(run.plane, legend)
        size = (7.2, 7.2 * height / (width + 3.2) + 0.3 + 0.3 * bool(run.title))
        self._figure = NotebookFigure(size, dark, layout="constrained")
        self._canvas = FigureCanvasAgg(self._figure)
        grid = self._figure.add_gridspec(2, 2, width_ratios=[width, 2.7])
        cells = (grid[:, 0], grid[0, 1], grid[1, 1])
        self._boundary, losses, self._accuracies = (
            self._figure.add_subplot(cell, facecolor="none") for cell in cells
        )
        theme = theme_of(self._boundary)
        self.palette = _palette(theme, len(run.names))
        self._figure.suptitle(run.title.replace("$", r"\$"), color=theme["ink"], fontsize="large")
        draw_points(
            self._boundary, run.plane, run.points, run.labels, run.names, run.true_lines, hollow
        )
        steps, curves = [frame.step for frame in frames], run.curves()
        rows = {
            kind: {name: curves[name][kind] for name in CURVES if kind in curves[name]}
            for kind in ("loss", "accuracy")
        }
        self._show_curves = [
            _draw_curves(losses, steps, rows["loss"], "loss", "{:.3f}"),
            _draw_curves(self._accuracies, steps, rows["accuracy"], "accuracy", "{:.0%}"),
        ]
        losses.tick_params(labelbottom=False)
        self._accuracies.set(yticks=[0, 0.5, 1], yticklabels=["0", "50%", "100%"])

    def pixels(self, i: int) -> Array:
        frame = self._frames[i]
        regions = draw_regions(self._boundary, self._run.plane, as_scores(frame.scores, frame.unit))
        for show_curve in self._show_curves:
            show_curve(i)
        self._accuracies.set_xlabel(f"{self._run.unit} {frame.step}")
        if not self._has_layout:  # compute it once; the second pass knows the map's shape
            self._figure.draw_without_rendering()
            self._figure.draw_without_rendering()
            self._figure.set_layout_engine("none")
            self._has_layout = True
        self._canvas.draw()  # type: ignore[no-untyped-call]
        pixels = np.array(self._canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
        for artist in regions:
            artist.remove()
        return pixels


def _draw_curves(
    ax: Axes,
    steps: list[int],
    rows: Mapping[str, list[float | None]],
    kind: str,
    form: str,
) -> Callable[[int], None]:
    # The whole run as pale curves; the returned function draws them in full colour up to frame i.
    theme = theme_of(ax)
    curves = {name: np.array(row, dtype=float) for name, row in rows.items()}  # None becomes NaN
    lines = []
    for name, y in curves.items():
        ax.plot(steps, y, color=theme["hairline"], linewidth=1.2)
        colour, width = CURVES[name]
        (line,) = ax.plot([], [], color=theme[colour], linewidth=width, label=name)
        line.set(
            zorder=6 - width, marker="o", markersize=3 + width / 2, markevery=[-1], clip_on=False
        )
        lines.append(line)
    ax.set_title(kind, loc="left", fontsize="medium", color=theme["ink"])
    ax.set(xlim=(0, max(1, steps[-1])), ylim=(0, 1))
    known = np.concatenate([y[np.isfinite(y)] for y in curves.values()] or [[]])
    if kind == "loss" and len(known):
        ax.set_ylim(min(0, known.min()), max(1e-9, known.max()) * 1.02)
    ax.spines[["top", "right"]].set_visible(False)
    style_axes(ax)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(3))
    legend = ax.legend(
        handles=lines, loc="upper right" if kind == "loss" else "lower right", fontsize="small",
        labelcolor=theme["ink"], facecolor=theme["panel"], edgecolor="none", handlelength=1.2,
    )  # fmt: skip

    def show(i: int) -> None:
        for (name, y), line, text in zip(curves.items(), lines, legend.get_texts(), strict=True):
            line.set_data(steps[: i + 1], y[: i + 1])
            text.set_text(f"{name} {form.format(y[i])}" if math.isfinite(y[i]) else name)

    return show


def _palette(theme: Mapping[str, str], classes: int) -> Array:
    # One palette for all frames, so that each frame of the GIF stores only what has changed.
    panel, ink = theme["panel"], theme["ink"]
    ramps = [(ink, panel, 16), (theme["faint"], panel, 6), (theme["frame"], panel, 6)]
    ramps += [(theme["hairline"], panel, 3)]
    for mark in marks(theme)[:classes]:
        ramps.append((mark.shade, panel, max(12, 40 // classes)))
        ramps += [(mark.fill, mark.edge, 5), (ink, mark.shade, 5), (mark.fill, mark.shade, 4)]
    colours = [np.linspace(to_rgb(a), to_rgb(b), count) for a, b, count in ramps]
    palette: Array = np.rint(255 * np.concatenate(colours)).astype(np.uint8)
    return palette
