"""Chapter 12: pictures of what a network has learned, and of how it learned it.

    >>> from micrograd.datasets import moons
    >>> from micrograd.nn import MLP
    >>> X, y = moons(20)
    >>> figure = training_figure(MLP(2, [4, 1]), X, y, losses=[0.7, 0.5, 0.4])
    >>> save(figure, "moons.png")  # doctest: +SKIP

Functions that draw take `ax=` and return the Axes, as is usual with Matplotlib; without `ax` they
draw on a figure of their own, `.figure` of what they return. Nothing here shows a window, chooses
a backend, changes a setting of Matplotlib, or leaves a figure open.

The classes differ in colour (safe for colour-blind readers), in lightness and in marker. One score
for a point tells two classes apart; for more, a model gives a score for each, and the largest wins.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Collection, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator
from PIL import Image

from micrograd.film import Film, as_scores
from micrograd.plane import CLASSES, Plane, Stack, class_scores, examples, floats
from micrograd.render import write_whole

__all__ = [
    "Animation",
    "animate",
    "check_path",
    "decision_boundary",
    "hidden_neurons",
    "loss_curve",
    "save",
    "training_figure",
]

Array = np.ndarray[Any, np.dtype[Any]]

INK, GREY = "#222222", "#666666"
FILMS = ("gif", "html")  # endings of an animation's file
SHADES = LinearSegmentedColormap.from_list("confidence", [CLASSES[0][3], "#FFFFFF", CLASSES[1][3]])


# ---- 1. Pictures


def decision_boundary(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    resolution: int = 80,
    ax: Axes | None = None,
) -> Axes:
    """The points, the lines where the class changes, and as shading how sure the scores are.

    Of two classes, the line is where the score is 0, colours deepen with the distance of
    sigmoid(score) from 1/2, and `ax.images[0]` holds sigmoid(score) for a colour bar. Of more, they
    deepen with the lead of the largest of softmax(scores) over the next. Units of length are equal
    on both axes, unless one spans over 4 times the other.

    Args:
        predict: scores of points, above 0 for the second class, as logits are; for more than two
            classes, a score for each. It is called with one array of shape (n, 2) and gives n
            numbers (or shape (n, k) for k classes), as NumPy functions and the `decision_function`
            of scikit-learn do; or, if that fails, with a point `[x1, x2]` at a time and gives one
            number or Value (or k), as a micrograd model does. For a probability p, give p - 0.5.
            Values are computed under `no_grad()`.
        X: n points, shape (n, 2).
        y: n labels, 0 and 1, or -1 and 1, or 0, 1, ..., k - 1 for k classes, at most 8.
        names: names of the classes, for the legend; their labels 0, 1, ... if not given.
        resolution: number of points along the longer axis at which `predict` is asked.
        ax: where to draw; a new figure if not given.

    Raises:
        ValueError: shapes or labels other than these, or a score that is NaN.

    >>> ax = decision_boundary(lambda X: X[:, 0] + X[:, 1] - 1, [[0, 0], [1, 1]], [0, 1])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x1', 'x2')
    """
    points, labels, names = examples(X, y, names)
    plane = Plane(points, resolution)
    answers = class_scores(predict, plane.grid, len(names))
    ax = ax or _new_axes(_size(plane, names))
    _draw_regions(ax, plane, answers)
    _draw_points(ax, plane, points, labels, names)
    return ax


def loss_curve(losses: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """The loss (numbers or Values) over the steps of training, the last of them in figures.

    >>> loss_curve([0.7, 0.5, 0.4]).get_xlabel()
    'step'
    """
    numbers = floats(list(losses), len(losses))[:, 0]
    ax = ax or _new_axes((4.0, 3.0))
    steps = np.arange(1, len(numbers) + 1)
    ax.plot(steps, numbers, color=INK, linewidth=1.4, marker="o" if len(numbers) == 1 else None)
    ax.set(xlabel="step", ylabel="loss")
    ax.spines[["top", "right"]].set_visible(False)
    _tone_down(ax)
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
        ax.text(0.5, 0.5, "no step yet", color=GREY, ha="center", transform=ax.transAxes)
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
    """The decision boundary and beside it the loss over the steps; of two classes, with a scale.

    Arguments are those of `decision_boundary` and `loss_curve`.
    """
    points, _, names = examples(X, y, names)
    width, height = _size(Plane(points, resolution), names)
    spaced = ConstrainedLayoutEngine(wspace=0.06)
    figure = _Figure(figsize=(width + 3.5, height), layout=spaced)
    left, right = figure.subplots(1, 2, width_ratios=[width + 0.7, 2.6])
    decision_boundary(predict, X, y, names=names, resolution=resolution, ax=left)
    loss_curve(losses, ax=right)
    if len(names) == 2:
        bar = figure.colorbar(left.images[0], ax=left, ticks=[0, 0.5, 1], pad=0.02, aspect=30)
        _tone_down_bar(bar, "confidence in class " + _text(names[1]))
    return figure


def hidden_neurons(model: Any, X: Any, y: Any, *, resolution: int = 30) -> Figure:
    """What each neuron of a network sees: a map of its answers over the plane, layer by layer.

    The last column is the output. Blue answers are negative, orange ones positive. The maps of a
    layer share the scale beside it: the deepest colour is 1, or the layer's largest answer if that
    is more.

    Args:
        model: an MLP, or a Sequential of layers and of other steps, such as one that scales the
            inputs; called with points `[x1, x2]`.
        X: n points, shape (n, 2).
        y: n labels, as for `decision_boundary`.
        resolution: number of points along the longer axis at which the network is asked.

    Raises:
        ValueError: no layers are found in the model, or it has over 200 neurons.

    >>> from micrograd.nn import MLP
    >>> figure = hidden_neurons(MLP(2, [3, 1]), [[0, 0], [1, 1]], [0, 1])
    >>> len(figure.axes)  # 4 maps, and the scale of each layer
    6
    """
    points, labels, _ = examples(X, y)
    stack, plane = Stack(model), Plane(points, resolution)
    sizes = stack.sizes[1:]
    if not sizes:
        raise ValueError(f"expected an MLP, or a Sequential with layers, got {model!r:.60}")
    if sum(sizes) > 200:
        raise ValueError(f"{sum(sizes)} neurons are too many for one picture: at most 200 fit")
    blocks = [math.ceil(size / 8) for size in sizes]  # columns: a tall layer takes several
    heights = [math.ceil(size / block) for size, block in zip(sizes, blocks, strict=True)]
    # Layers are centred, which no grid of Matplotlib's can do: places are in inches of the figure.
    width, height = (1.3 * side / math.hypot(*_size(plane)) for side in _size(plane))
    gap = 0.8  # to the right of each layer, for its scale
    lefts = [width * sum(blocks[:i]) + gap * i + 0.05 for i in range(len(blocks) + 1)]
    whole = (lefts[-1], max(height * max(heights) + 0.3, 1.8))
    figure = _Figure(figsize=whole)

    def place(left: float, bottom: float, wide: float, high: float) -> Axes:
        x, y = whole
        return figure.add_axes((left / x, bottom / y, wide / x, high / y))

    layers = np.split(stack.answers_at(plane.grid), np.cumsum(sizes)[:-1])
    scales = []  # drawn after all maps
    for layer, (answers, tall) in enumerate(zip(layers, heights, strict=True)):
        largest = max(1.0, float(abs(answers).max()))
        for i, of_neuron in enumerate(answers):
            left = lefts[layer] + i // tall * width
            top = (whole[1] - 0.2 + tall * height) / 2 - i % tall * height
            ax = place(left, top - height, 0.92 * width, 0.9 * height)
            _draw_map(ax, plane, of_neuron, largest)
            for label, (fill, *_) in enumerate(CLASSES):
                ax.plot(*points[labels == label].T, ".", color=fill, markersize=1.5)
            if i == 0:
                name = "output" if layer == len(sizes) - 1 else f"layer {layer + 1}"
                ax.set_title(name, fontsize="small", color=GREY, loc="left", pad=3)
        scales.append((ax.images[0], largest))
    middle = min(whole[1] - 0.4, 2.6)
    for (drawn, largest), left in zip(scales, lefts[1:], strict=True):
        cax = place(left - gap, (whole[1] - middle) / 2, 0.1, middle)
        bar = figure.colorbar(drawn, cax=cax, ticks=[-largest, 0, largest], format="%.3g")
        _tone_down_bar(bar, "answer" if left == lefts[-1] else "")
    return figure


# ---- 2. Training as a film


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
    """A film of a training run, which the training loop feeds once in each step.

    It goes before the loop; `record` goes where a loss has its gradients and the step is still to
    come, so that weights, gradients and loss belong together; `save` goes after the loop.

    >>> from micrograd.nn import MLP
    >>> X, y = [[0.0, 0.0], [1.0, 1.0]], [0, 1]
    >>> network = MLP(2, [1])
    >>> film = animate(network, X, y)
    >>> for step in range(3):
    ...     loss = sum((network(x) - 2 * k + 1) ** 2 for x, k in zip(X, y))
    ...     network.zero_grad()
    ...     loss.backward()
    ...     film.record(loss)
    ...     for p in network.parameters():
    ...         p.data -= 0.1 * p.grad
    >>> film.save("film.html")  # doctest: +SKIP

    Args:
        model: as `predict` of `decision_boundary`; asked anew in each step.
        X: n points, shape (n, 2).
        y: n labels, as for `decision_boundary`.
        names: names of the classes.
        network: the network that works inside the model, for its picture. Not needed where the
            model is itself one: an MLP, or a Sequential with all that is done to the inputs.
        resolution: number of points along the longer axis at which the model is asked: 48 if not
            given, fewer with more than two classes. Recording takes time in proportion to its
            square, unless the model takes all points at once.
        frames: the most steps to keep. In a longer run every other one is let go, then every other
            of the rest, and so on; the first and the last stay.

    Raises:
        ValueError: examples as in `decision_boundary`, or a network without layers.
    """
    return Animation(
        model, X, y, names=names, network=network, resolution=resolution, frames=frames
    )


class Animation(Film):
    """What `animate` returns: a film with its two kinds of file, a GIF and a page.

    >>> isinstance(animate(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1]), Animation)
    True
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the film to a file, wholly or not at all: a .gif, or a page .html with a slider.

        Should the weights have moved since the last `record`, they make a last frame, of which no
        loss and no gradients are known.

        Raises:
            ValueError: another ending.
            OSError: the file cannot be written.
        """
        check_path(path, FILMS)
        write_whole(path, self.gif() if _ending(path) == "gif" else self.page().encode())

    def gif(self) -> bytes:
        """The film as an animated picture: 12 frames a second, the last one held.

        >>> animate(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1], resolution=3).gif()[:6]
        b'GIF89a'
        """
        film = self.frames()
        last = len(film) - 1
        chosen = [film[i] for i in sorted({round(i * last / 60) for i in range(61)})]
        width, height = _size(self.plane, self.names)
        figure = Figure(figsize=(7.2, 7.2 * height / (width + 3.2) + 0.3), layout="constrained")
        canvas = FigureCanvasAgg(figure)
        grid = figure.add_gridspec(2, 2, width_ratios=[width, 2.7])
        cells = (grid[:, 0], grid[0, 1], grid[1, 1])
        plane, losses, accuracies = (figure.add_subplot(cell) for cell in cells)
        _draw_points(plane, self.plane, self.points, self.labels, self.names)
        steps = [frame.step for frame in film]
        markers = [
            _draw_curve(losses, steps, [frame.loss for frame in film], "loss", "{:.3f}"),
            _draw_curve(accuracies, steps, [f.accuracy for f in film], "accuracy", "{:.0%}"),
        ]
        losses.tick_params(labelbottom=False)
        accuracies.set(yticks=[0, 0.5, 1], yticklabels=["0", "50%", "100%"])
        palette = _palette(len(self.names))
        pictures: list[Image.Image] = []
        for frame in chosen:
            regions = _draw_regions(plane, self.plane, as_scores(frame.scores, frame.unit))
            for show in markers:
                show(steps.index(frame.step))
            accuracies.set_xlabel(f"step {frame.step}")
            if not pictures:  # one layout for all frames; a second pass knows the map's shape
                figure.draw_without_rendering()
                figure.draw_without_rendering()
                figure.set_layout_engine("none")
            canvas.draw()  # type: ignore[no-untyped-call]
            pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            pictures.append(_indexed(pixels, palette))
            for artist in regions:
                artist.remove()
        content = io.BytesIO()
        pictures[0].save(
            content, "GIF", save_all=True, append_images=pictures[1:], loop=0, optimize=True,
            duration=[*[80] * (len(pictures) - 1), 2000],
        )  # fmt: skip
        return content.getvalue()


# ---- 3. Files


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a figure to a file in the format that its ending says, wholly or not at all.

    Raises:
        ValueError: Matplotlib cannot write the format.
        OSError: the file cannot be written.
    """
    check_path(path)
    kind = _ending(path)
    content = io.BytesIO()
    # The same figure gives the same file: no date in it, and no random ids.
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "micrograd"}):
        figure.savefig(content, format=kind, dpi=200, metadata=undated.get(kind))
    write_whole(path, content.getvalue())


def check_path(path: str | os.PathLike[str], endings: Collection[str] | None = None) -> None:
    """Raises at once, before any work is done, what `save` would raise for the path alone.

    Args:
        path: of the file to write.
        endings: those that will do, without the dot, as `plot.FILMS`; if not given, those of
            pictures that Matplotlib can write.

    >>> check_path("picture.docx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: picture.docx: expected one of the endings .eps .gif .jpeg ...
    """
    # pgf needs LaTeX, avif a Pillow built for it, raw and rgba a reader that knows the size
    kinds = set(Figure().canvas.get_supported_filetypes()) - {"pgf", "avif", "raw", "rgba"}
    kinds = kinds if endings is None else set(endings)
    if _ending(path) not in kinds:
        known = " ".join(f".{kind}" for kind in sorted(kinds))
        raise ValueError(f"{os.fspath(path)}: expected one of the endings {known}")
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder: name a file in it")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: its folder does not exist")
    part = f"{target}.{os.getpid()}.part"
    try:
        with open(part, "xb"):
            pass
        os.remove(part)
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(f"cannot write {os.fspath(path)}: {reason}") from None


def _ending(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.fspath(path))[1][1:].lower()


# ---- 4. Parts of pictures


def _draw_regions(ax: Axes, plane: Plane, answers: Array) -> list[Any]:
    # What is drawn, so that an animation can take it away again.
    several = answers.shape[1] > 1
    coarse = answers.reshape(*plane.shape[::-1], -1)
    fine = _refined(plane, coarse)
    drawn: list[Any] = [
        ax.imshow(
            _shades(fine) if several else (1 + np.tanh(fine[..., 0] / 2)) / 2,  # sigmoid
            extent=_extent(plane, 4),
            origin="lower",
            cmap=SHADES,
            vmin=0,
            vmax=1,
            interpolation="bilinear",
            aspect="equal" if plane.equal else "auto",
        )
    ]
    axis1, axis2 = plane.axis1, plane.axis2
    surfaces = coarse
    if several:  # lines of 0 of the lead of each class over the best of the others
        axis1, axis2 = (np.linspace(a[0], a[-1], 4 * len(a)) for a in (axis1, axis2))
        others = [np.delete(fine, k, axis=-1).max(axis=-1) for k in range(fine.shape[-1])]
        surfaces = fine - np.stack(others, axis=-1)
    for k in range(surfaces.shape[-1]):
        surface = surfaces[..., k]
        if surface.min() < 0 < surface.max():
            drawn.append(ax.contour(axis1, axis2, surface, levels=[0], colors=INK, linewidths=1.4))
    return drawn


def _refined(plane: Plane, surfaces: Array) -> Array:
    # Interpolated before the sigmoid, scores give smooth shades from a coarse grid.
    fine1, fine2 = (np.linspace(a[0], a[-1], 4 * len(a)) for a in (plane.axis1, plane.axis2))
    refined = []
    for surface in np.moveaxis(surfaces, -1, 0):
        rows = np.array([np.interp(fine1, plane.axis1, row) for row in surface])
        refined.append(np.array([np.interp(fine2, plane.axis2, column) for column in rows.T]).T)
    return np.stack(refined, axis=-1)


def _shades(fine: Array) -> Array:
    # The colour of the class that leads, the paler the less it leads: white where two are equal.
    odds = np.exp(fine - fine.max(axis=-1, keepdims=True))
    shares = odds / odds.sum(axis=-1, keepdims=True)
    second, first = np.moveaxis(np.sort(shares, axis=-1)[..., -2:], -1, 0)
    colours = np.array([to_rgb(shade) for *_, shade in CLASSES])[fine.argmax(axis=-1)]
    mixed: Array = 1 - (first - second)[..., None] * (1 - colours)
    return mixed


def _extent(plane: Plane, factor: int) -> tuple[float, float, float, float]:
    # The first and last pixels are centred on the limits.
    half = (plane.high - plane.low) / (2 * (factor * np.array(plane.shape) - 1))
    (left, bottom), (right, top) = plane.low - half, plane.high + half
    return left, right, bottom, top


def _draw_points(
    ax: Axes, plane: Plane, points: Array, labels: Array, names: Sequence[str]
) -> None:
    size = float(np.clip(3000 / len(points), 8, 26))
    for label, (name, (fill, edge, marker, _)) in enumerate(zip(names, CLASSES, strict=False)):
        x1, x2 = points[labels == label].T
        ax.scatter(
            x1, x2, size, color=fill, edgecolors=edge, marker=marker, linewidths=size / 40,
            label="class " + _text(name), zorder=3,
        )  # fmt: skip
    (left, bottom), (right, top) = plane.low, plane.high
    ax.set(xlim=(left, right), ylim=(bottom, top), xlabel="x1", ylabel="x2")
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=_columns(names),
        frameon=False, borderaxespad=0.2, handletextpad=0.2, columnspacing=1.2, borderpad=0.2,
    )  # fmt: skip
    _tone_down(ax)


def _draw_map(ax: Axes, plane: Plane, answers: Array, largest: float) -> None:
    ax.imshow(
        answers.reshape(plane.shape[::-1]),
        extent=_extent(plane, 1),
        origin="lower",
        cmap=SHADES,
        vmin=-largest,
        vmax=largest,
        interpolation="bilinear",
        aspect="equal" if plane.equal else "auto",
    )
    (left, bottom), (right, top) = plane.low, plane.high
    ax.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
    ax.spines[:].set_color(GREY)


def _palette(classes: int) -> Array:
    # Of all frames the same, so that a frame of a GIF holds only what differs from the one before.
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
    # Each pixel takes the nearest colour of the palette. (Pillow's own search is only roughly so,
    # and would turn white into something near it.)
    codes = np.dot(pixels[..., :3].astype(int), [65536, 256, 1])
    different, places = np.unique(codes, return_inverse=True)
    colours = np.stack(np.unravel_index(different, (256, 256, 256)), axis=-1)
    distances = ((colours[:, None] - palette.astype(int)) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=1).astype(np.uint8)
    picture = Image.fromarray(nearest[places.reshape(codes.shape)])
    picture.putpalette(palette.tobytes())
    return picture


def _draw_curve(
    ax: Axes, steps: list[int], numbers: list[float | None], name: str, form: str
) -> Callable[[int], None]:
    # A pale curve and, up to the frame that the returned function is told, the same in ink.
    y = np.array([math.nan if number is None else number for number in numbers])
    ax.plot(steps, y, color="#CCCCCC", linewidth=1.2)
    (so_far,) = ax.plot([], [], color=INK, linewidth=1.6)
    (dot,) = ax.plot([], [], "o", color=INK, markersize=4, clip_on=False)
    ax.set_title(name, loc="left", fontsize="medium", color=INK)
    figures = ax.set_title("", loc="right", fontsize="medium", color=INK)
    ax.set(xlim=(0, max(1, steps[-1])), ylim=(0, 1))
    if name == "loss" and np.isfinite(y).any():
        ax.set_ylim(min(0, np.nanmin(y)), max(1e-9, np.nanmax(y)) * 1.02)
    ax.spines[["top", "right"]].set_visible(False)
    _tone_down(ax)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(3))

    def show(i: int) -> None:
        so_far.set_data(steps[: i + 1], y[: i + 1])
        dot.set_data(steps[i : i + 1], y[i : i + 1])
        figures.set_text(form.format(y[i]) if math.isfinite(y[i]) else "")

    return show


def _columns(names: Sequence[str]) -> int:
    # of the legend
    if len(names) == 2:
        return 2 if len("".join(names)) < 16 else 1
    return max(1, min(len(names), 36 // (9 + max(len(_text(name)) for name in names))))


def _size(plane: Plane, names: Sequence[str] = ()) -> tuple[float, float]:
    width, height = plane.high - plane.low
    ratio = width / height if plane.equal else 1.0
    rows = math.ceil(len(names) / _columns(names)) if len(names) > 2 else 1
    return 3.4 * math.sqrt(ratio) + 0.5, 3.4 / math.sqrt(ratio) + 0.37 + 0.23 * rows


def _new_axes(size: tuple[float, float]) -> Axes:
    return _Figure(figsize=size, layout="constrained").add_subplot()


def _text(text: str) -> str:
    text = text if len(text) <= 24 else text[:23] + "…"
    return text.replace("$", r"\$")  # no formula


def _tone_down(ax: Axes) -> None:
    ax.tick_params(colors=GREY, labelsize="small", length=3)
    ax.locator_params(nbins=6)
    ax.spines[:].set_color(GREY)


def _tone_down_bar(bar: Any, label: str) -> None:
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelcolor=GREY, labelsize="small")


class _Figure(Figure):
    def _repr_png_(self) -> bytes:  # notebooks show it, though it does not belong to pyplot
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()
