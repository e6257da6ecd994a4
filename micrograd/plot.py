"""Chapter 12: pictures of what a network has learned.

    >>> from micrograd.datasets import moons
    >>> from micrograd.nn import MLP
    >>> X, y = moons(20)
    >>> figure = training_figure(MLP(2, [4, 1]), X, y, losses=[0.7, 0.5, 0.4])
    >>> save(figure, "moons.png")  # doctest: +SKIP

Functions that draw take `ax=` and return the Axes, as is usual with Matplotlib; without `ax` they
draw on a figure of their own, `.figure` of what they return. Nothing here shows a window, chooses
a backend, changes a setting of Matplotlib, or leaves a figure open.

The classes differ in colour (safe for colour-blind readers), in lightness and in marker.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from micrograd.engine import no_grad
from micrograd.render import write_whole

__all__ = ["check_path", "decision_boundary", "loss_curve", "save", "training_figure"]

Array = np.ndarray[Any, np.dtype[Any]]

INK, GREY = "#222222", "#666666"
CLASSES = (  # of lower and of higher score: fill, edge, marker
    ("#0072B2", "white", "o"),
    ("#F0A30A", INK, "^"),
)
SHADES = LinearSegmentedColormap.from_list("confidence", ["#8ABADC", "#FFFFFF", "#FBDA9F"])


# ---- 1. Pictures


def decision_boundary(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    *,
    names: Sequence[str] = ("0", "1"),
    resolution: int = 80,
    ax: Axes | None = None,
) -> Axes:
    """The points, the line on which the score is 0, and as shading how sure the scores are.

    Colours deepen with the distance of sigmoid(score) from 1/2; `ax.images[0]` holds sigmoid(score)
    for a colour bar. Units of length are equal on both axes, unless one spans over 4 times the
    other.

    Args:
        predict: scores of points, above 0 for the second class, as logits are. It is called with
            one array of shape (n, 2) and gives n numbers, as NumPy functions and the
            `decision_function` of scikit-learn do; or, if that fails, with a point `[x1, x2]` at a
            time and gives one number or Value, as a micrograd model does. For a probability p,
            give p - 0.5. Values are computed under `no_grad()`.
        X: n points, shape (n, 2).
        y: n labels, 0 and 1, or -1 and 1.
        names: names of the two classes, for the legend.
        resolution: number of points along the longer axis at which `predict` is asked.
        ax: where to draw; a new figure if not given.

    Raises:
        ValueError: shapes or labels other than these, or a score that is NaN.

    >>> ax = decision_boundary(lambda X: X[:, 0] + X[:, 1] - 1, [[0, 0], [1, 1]], [0, 1])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x1', 'x2')
    """
    points, is_second = _examples(X, y)
    if len(names) != 2:
        raise ValueError(f"names expects the names of two classes, got {list(names)!r}")
    if resolution < 2:
        raise ValueError(f"resolution is at least 2 points, got {resolution}")
    low, high = _limits(points)
    span = high - low
    equal = max(span) <= 4 * min(span)
    shares = span / max(span) if equal else np.ones(2)
    counts = np.maximum(2, np.rint(resolution * shares)).astype(int)
    axis1, axis2 = (np.linspace(low[i], high[i], counts[i]) for i in range(2))
    grid = np.stack(np.meshgrid(axis1, axis2), axis=-1)
    scores = _scores(predict, grid.reshape(-1, 2)).reshape(grid.shape[:2])

    ax = ax or _new_axes(_size(points))
    # Interpolated before the sigmoid, scores give smooth shades from a coarse grid.
    fine1, fine2 = (np.linspace(low[i], high[i], 4 * counts[i]) for i in range(2))
    fine = np.array([np.interp(fine1, axis1, row) for row in scores])
    fine = np.array([np.interp(fine2, axis2, column) for column in fine.T]).T
    half = span / (8 * counts - 2)  # the first and last pixels are centred on the limits
    ax.imshow(
        (1 + np.tanh(fine / 2)) / 2,  # sigmoid, without overflow
        extent=(low[0] - half[0], high[0] + half[0], low[1] - half[1], high[1] + half[1]),
        origin="lower",
        cmap=SHADES,
        vmin=0,
        vmax=1,
        interpolation="bilinear",
        aspect="equal" if equal else "auto",
    )
    if scores.min() < 0 < scores.max():
        ax.contour(axis1, axis2, scores, levels=[0], colors=INK, linewidths=1.4)
    size = float(np.clip(3000 / len(points), 8, 26))
    for of_class, name, (fill, edge, marker) in zip(
        (~is_second, is_second), names, CLASSES, strict=True
    ):
        x1, x2 = points[of_class].T
        ax.scatter(
            x1, x2, size, color=fill, edgecolors=edge, marker=marker, linewidths=size / 40,
            label="class " + _text(name), zorder=3,
        )  # fmt: skip
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x1", ylabel="x2")
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=2 if len("".join(names)) < 16 else 1,
        frameon=False, borderaxespad=0.2, handletextpad=0.2, columnspacing=1.2, borderpad=0.2,
    )  # fmt: skip
    _tone_down(ax)
    return ax


def loss_curve(losses: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """The loss (numbers or Values) over the steps of training, the last of them in figures.

    >>> loss_curve([0.7, 0.5, 0.4]).get_xlabel()
    'step'
    """
    numbers = _floats(list(losses), len(losses))
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
    names: Sequence[str] = ("0", "1"),
    resolution: int = 80,
) -> Figure:
    """The decision boundary with its scale of confidence, and beside it the loss over the steps.

    Arguments are those of `decision_boundary` and `loss_curve`.
    """
    width, height = _size(_examples(X, y)[0])
    spaced = ConstrainedLayoutEngine(wspace=0.06)
    figure = _Figure(figsize=(width + 3.5, height), layout=spaced)
    left, right = figure.subplots(1, 2, width_ratios=[width + 0.7, 2.6])
    decision_boundary(predict, X, y, names=names, resolution=resolution, ax=left)
    loss_curve(losses, ax=right)
    bar = figure.colorbar(left.images[0], ax=left, ticks=[0, 0.5, 1], pad=0.02, aspect=30)
    bar.set_label("confidence in class " + _text(names[1]), color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelcolor=GREY, labelsize="small")
    return figure


# ---- 2. Files


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


def check_path(path: str | os.PathLike[str]) -> None:
    """Raises at once, before any work is done, what `save` would raise for the path alone.

    >>> check_path("picture.docx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: picture.docx: expected one of the endings .eps .gif .jpeg ...
    """
    # pgf needs LaTeX, avif a Pillow built for it, raw and rgba a reader that knows the size
    kinds = set(Figure().canvas.get_supported_filetypes()) - {"pgf", "avif", "raw", "rgba"}
    if _ending(path) not in kinds:
        endings = " ".join(f".{kind}" for kind in sorted(kinds))
        raise ValueError(f"{os.fspath(path)}: expected one of the endings {endings}")
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


# ---- 3. Scores of points


def _scores(predict: Callable[[Any], Any], points: Array) -> Array:
    # Three points tell which of the two ways to call `predict` works, before all are computed.
    failures = []
    for way in (_all_at_once, _one_by_one):
        with no_grad():
            try:
                way(predict, points[:3])
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error}")
                continue
            scores = way(predict, points)
        if np.isnan(scores).any():
            x1, x2 = points[np.isnan(scores)][0]
            raise ValueError(f"the score at [{x1:.4g}, {x2:.4g}] is NaN: did training diverge?")
        return np.clip(scores, -1e9, 1e9)  # an infinite score cannot be interpolated
    raise ValueError(
        "predict takes an array of shape (n, 2) and gives n scores, or a point [x1, x2] and gives "
        f"one; with 3 points at once: {failures[0]}; with one point: {failures[1]}"
    )


def _all_at_once(predict: Callable[[Any], Any], points: Array) -> Array:
    return _floats(predict(points), len(points))


def _one_by_one(predict: Callable[[Any], Any], points: Array) -> Array:
    return np.concatenate([_floats(predict(point), 1) for point in points.tolist()])


def _floats(results: Any, n: int) -> Array:
    array = np.asarray(results)
    if array.size != n:
        raise ValueError(f"expected {n} of one score each, got shape {array.shape}")
    if array.dtype == object:  # Values, maybe
        array = np.array([x.item() if hasattr(x, "item") else x for x in array.flat])
    return array.astype(float).reshape(n)


def _examples(X: Any, y: Any) -> tuple[Array, Array]:
    points, labels = np.asarray(X, dtype=float), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(f"X expects n points of two coordinates, got shape {points.shape}")
    if labels.shape != points.shape[:1]:
        raise ValueError(f"y expects {len(points)} labels, got shape {labels.shape}")
    if not np.isfinite(points).all():
        raise ValueError("X expects finite coordinates, got NaN or infinity")
    known = set(labels.tolist())
    if not (known <= {0, 1} or known <= {-1, 1}):
        raise ValueError(f"y expects labels 0 and 1, or -1 and 1, got {sorted(known)[:5]}")
    return points, labels > 0


# ---- 4. Layout


def _limits(points: Array) -> tuple[Array, Array]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.1 * max(high - low)
    margins = np.maximum(np.minimum(margin, 0.25 * (high - low)), 0)
    margins = np.where(margins > 0, margins, margin or 1.0)
    return low - margins, high + margins


def _size(points: Array) -> tuple[float, float]:
    low, high = _limits(points)
    ratio = (high[0] - low[0]) / (high[1] - low[1])
    ratio = ratio if 1 / 4 <= ratio <= 4 else 1.0
    return 3.4 * math.sqrt(ratio) + 0.5, 3.4 / math.sqrt(ratio) + 0.6


def _new_axes(size: tuple[float, float]) -> Axes:
    return _Figure(figsize=size, layout="constrained").add_subplot()


def _text(text: str) -> str:
    text = text if len(text) <= 24 else text[:23] + "…"
    return text.replace("$", r"\$")  # no formula


def _tone_down(ax: Axes) -> None:
    ax.tick_params(colors=GREY, labelsize="small", length=3)
    ax.locator_params(nbins=6)
    ax.spines[:].set_color(GREY)


class _Figure(Figure):
    def _repr_png_(self) -> bytes:  # notebooks show it, though it does not belong to pyplot
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()
