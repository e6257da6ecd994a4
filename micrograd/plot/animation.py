"""A recorded training run as an animated GIF or as a page with a slider."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from micrograd.files import write_whole
from micrograd.plot.boundary import draw_points, draw_regions, figure_size
from micrograd.plot.files import check_path
from micrograd.plot.history import Frame, History, as_scores
from micrograd.plot.style import CLASSES, INK, style_axes

__all__ = ["Animation", "animate"]

Array = np.ndarray[Any, np.dtype[Any]]


def animate(
    model: Callable[[Any], Any],
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    network: Any = None,
    resolution: int | None = None,
    frames: int = 101,
) -> Animation:
    """A recorder for a training run, saved as a GIF or as a page with a slider.

    Call `animate` before the training loop, `record` in each step, and `save` after the loop.
    Record between `backward` and the update, so that weights, gradients and loss belong together.

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
        names: names of the classes.
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
    return Animation(
        model, X, y, names=names, network=network, resolution=resolution, frames=frames
    )


class Animation(History):
    """The recorder that `animate` returns: a history that can be saved as a GIF or as a page."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the run, completely or not at all, as a .gif or as an .html page with a slider.

        If the weights have changed since the last `record`, an additional frame at the end shows
        the current model, without loss and gradients.

        Raises:
            ValueError: the path ends in neither .gif nor .html.
            OSError: the file cannot be written.
        """
        check_path(path, ["gif", "html"])
        as_gif = os.fspath(path).lower().endswith(".gif")
        write_whole(path, self.gif() if as_gif else self.page().encode())

    def gif(self) -> bytes:
        """The run as an animated GIF: 80 ms for each frame, 2 s for the last one.

        >>> animate(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1], resolution=3).gif()[:6]
        b'GIF89a'
        """
        frames = self.frames()
        chosen = sorted({round(i * (len(frames) - 1) / 60) for i in range(61)})
        figure = _FrameFigure(self, frames)
        images = [figure.image(i) for i in chosen]
        content = io.BytesIO()
        images[0].save(
            content, "GIF", save_all=True, append_images=images[1:], loop=0, optimize=True,
            duration=[*[80] * (len(images) - 1), 2000],
        )  # fmt: skip
        return content.getvalue()


class _FrameFigure:
    # Boundary, loss and accuracy on the same axes for all frames; each frame redraws what changes.

    def __init__(self, run: History, frames: list[Frame]) -> None:
        self._run, self._frames = run, frames
        self._palette = _palette(len(run.names))
        self._has_layout = False
        width, height = figure_size(run.plane, run.names)
        size = (7.2, 7.2 * height / (width + 3.2) + 0.3)
        self._figure = Figure(figsize=size, layout="constrained")
        self._canvas = FigureCanvasAgg(self._figure)
        grid = self._figure.add_gridspec(2, 2, width_ratios=[width, 2.7])
        cells = (grid[:, 0], grid[0, 1], grid[1, 1])
        self._boundary, losses, self._accuracies = map(self._figure.add_subplot, cells)
        draw_points(self._boundary, run.plane, run.points, run.labels, run.names)
        steps = [frame.step for frame in frames]
        self._markers = [
            _draw_curve(losses, steps, [frame.loss for frame in frames], "loss", "{:.3f}"),
            _draw_curve(
                self._accuracies, steps, [f.accuracy for f in frames], "accuracy", "{:.0%}"
            ),
        ]
        losses.tick_params(labelbottom=False)
        self._accuracies.set(yticks=[0, 0.5, 1], yticklabels=["0", "50%", "100%"])

    def image(self, i: int) -> Image.Image:
        frame = self._frames[i]
        regions = draw_regions(self._boundary, self._run.plane, as_scores(frame.scores, frame.unit))
        for show in self._markers:
            show(i)
        self._accuracies.set_xlabel(f"step {frame.step}")
        if not self._has_layout:  # compute it once; the second pass knows the map's shape
            self._figure.draw_without_rendering()
            self._figure.draw_without_rendering()
            self._figure.set_layout_engine("none")
            self._has_layout = True
        self._canvas.draw()  # type: ignore[no-untyped-call]
        pixels = np.asarray(self._canvas.buffer_rgba())  # type: ignore[no-untyped-call]
        for artist in regions:
            artist.remove()
        return _indexed(pixels, self._palette)


def _draw_curve(
    ax: Axes, steps: list[int], numbers: list[float | None], name: str, form: str
) -> Callable[[int], None]:
    # A pale curve of the whole run; the returned function draws it in ink up to frame i.
    y = np.array([math.nan if number is None else number for number in numbers])
    ax.plot(steps, y, color="#CCCCCC", linewidth=1.2)
    (so_far,) = ax.plot([], [], color=INK, linewidth=1.6)
    (dot,) = ax.plot([], [], "o", color=INK, markersize=4, clip_on=False)
    ax.set_title(name, loc="left", fontsize="medium", color=INK)
    value = ax.set_title("", loc="right", fontsize="medium", color=INK)
    ax.set(xlim=(0, max(1, steps[-1])), ylim=(0, 1))
    if name == "loss" and np.isfinite(y).any():
        ax.set_ylim(min(0, np.nanmin(y)), max(1e-9, np.nanmax(y)) * 1.02)
    ax.spines[["top", "right"]].set_visible(False)
    style_axes(ax)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(3))

    def show(i: int) -> None:
        so_far.set_data(steps[: i + 1], y[: i + 1])
        dot.set_data(steps[i : i + 1], y[i : i + 1])
        value.set_text(form.format(y[i]) if math.isfinite(y[i]) else "")

    return show


def _palette(classes: int) -> Array:
    # One palette for all frames, so that each frame of the GIF stores only what has changed.
    white, ink = np.ones(3), np.array(to_rgb(INK))
    ramps = [(ink, white, 16)]
    for *names, in_region in CLASSES[:classes]:
        fill, edge, shade = (np.array(to_rgb(name)) for name in (*names[:2], in_region))
        ramps.append((shade, white, max(12, 40 // classes)))
        ramps += [(fill, edge, 5), (ink, shade, 5), (fill, shade, 4)]
    colours = np.concatenate([np.linspace(*ramp) for ramp in ramps])
    palette: Array = np.rint(255 * colours).astype(np.uint8)
    return palette


def _indexed(pixels: Array, palette: Array) -> Image.Image:
    # Each pixel gets the nearest colour of the palette. (Pillow's own search is approximate and
    # would turn white into another colour.)
    codes = np.dot(pixels[..., :3].astype(int), [65536, 256, 1])
    different, places = np.unique(codes, return_inverse=True)
    colours = np.stack(np.unravel_index(different, (256, 256, 256)), axis=-1)
    distances = ((colours[:, None] - palette.astype(int)) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=1).astype(np.uint8)
    picture = Image.fromarray(nearest[places.reshape(codes.shape)])
    picture.putpalette(palette.tobytes())
    return picture
