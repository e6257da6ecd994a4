"""A recorded training run, as an animated GIF or as a page with a slider.

A page contains the numbers of all frames, draws them, and downloads nothing. Scores and neuron
outputs are packed as bytes, so that a page with a hundred steps takes less than 1 MB.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from micrograd.core.files import FilePath
from micrograd.core.shapes import Model, Numbers
from micrograd.draw.film import Film
from micrograd.engine import Value
from micrograd.nn import accuracy
from micrograd.pages.page import Page
from micrograd.plot.boundary import draw_boundary, figure_size
from micrograd.plot.curves import draw_curves, unit_of
from micrograd.plot.figure import NotebookFigure, filmed, theme_of
from micrograd.plot.plane import Array, Plane, Scene, floats, scores
from micrograd.program.foreign import kept
from micrograd.program.models import layers_with_outputs, stages_of
from micrograd.texts import spoken

MOST_FRAMES = 101
MOST_WEIGHTS = 1000  # more lines than this could not be told apart and would make the page large
MAP_BYTES = 250_000  # the limit for the maps of all neurons in all frames


@dataclass(frozen=True)
class Frame:
    """One recorded step: everything in it was computed with the same weights."""

    step: int  # number of optimizer steps before this frame
    training: dict[str, float | None]  # accuracy; loss, or None if not given or not finite
    validation: dict[str, float | None]  # the same; None without validation data
    scores: Array  # on the grid, shape (n, 1) or (n, classes)
    maps: Array | None  # outputs of the neurons, shape (points, neurons)
    weights: Array
    gradients: Array | None  # None if the weights have changed since the last backward pass


@dataclass(eq=False, repr=False)
class History:
    """A recorder for a training run, saved as a GIF or as a page with a slider.

    `plot.animate` is another name for this class. Call it before the training loop, `record` in
    each step between `backward` and the update, so that gradients and loss belong to the recorded
    weights, and `save` after the loop. At most 101 steps are kept: longer runs keep every 2nd step,
    then every 4th, and so on, and always the first and the last.

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
    >>> history.page()
    <a recorded run: .show() opens it, .save('page.html') writes it>

    Args:
        model: like `predict` in `decision_boundary`. The page also shows its network if it is an
            MLP, ours or one like the lecture's, or a Sequential with all preprocessing of inputs.
        X, y, names, true_boundary: as in `decision_boundary`.
        X_validation, y_validation: more points and labels, for the accuracy in validation.
        unit: what is counted from one record to the next, such as "epoch".
    """

    model: Model
    X: Numbers
    y: Numbers
    _: KW_ONLY
    X_validation: Numbers | None = None
    y_validation: Numbers | None = None
    names: Sequence[str] | None = None
    true_boundary: Numbers = ()
    title: str = ""
    unit: str = "step"
    language: str | None = None

    def __post_init__(self) -> None:
        validation = self.X_validation, self.y_validation
        self.scene = Scene(self.X, self.y, self.names, self.true_boundary, validation)
        self._stages = stages_of(self.model)
        self._layers = [neurons for _, neurons in self._stages if neurons]
        if not all(len(after[0][0]) == len(before) for before, after in pairwise(self._layers)):
            self._layers = []  # a step between two layers changes the width
        neurons = sum(map(len, self._layers))
        side = math.isqrt(MAP_BYTES // (MOST_FRAMES * neurons)) if neurons else 0
        self._map_plane = Plane(self.scene.everywhere, min(16, side)) if side >= 6 else None
        self._every, self._kept = 1, list[Frame]()

    def record(self, loss: Numbers | None = None, validation_loss: Numbers | None = None) -> None:
        """Adds a frame with the current model, its gradients and the losses (numbers or Values).

        Raises:
            ValueError: a score of the model is NaN.
        """
        frame = self._frame([loss, validation_loss], self._numbers("grad"))
        if sum(kept.step % self._every == 0 for kept in self._kept) >= MOST_FRAMES:
            self._every *= 2
        # In a single assignment, because Ctrl-C may come at any time.
        self._kept = [*(kept for kept in self._kept if kept.step % self._every == 0), frame]

    def _frame(self, losses: Any = (None, None), gradients: Array | None = None) -> Frame:
        scene, maps = self.scene, None
        known = [x if math.isfinite(x) else None for x in floats(losses, 2)[:, 0].tolist()]
        places = [scene.plane.grid, scene.points, scene.tested]
        found = scores(self.model, np.concatenate(places), scene.outputs)
        on_grid, *at = np.split(found, np.cumsum(list(map(len, places)))[:-1])
        if self._map_plane is not None:
            maps = scores(self._outputs, self._map_plane.grid, sum(map(len, self._layers)))
        training, validation = (
            {"loss": x, "accuracy": accuracy(z, k) if len(k) else None}
            for x, z, k in zip(known, at, (scene.labels, scene.truth), strict=True)
        )
        step, weights = self._kept[-1].step + 1 if self._kept else 0, self._numbers("data")
        return Frame(step, training, validation, on_grid, maps, weights, gradients)

    def _outputs(self, point: Numbers) -> list[Value]:
        # The output of each neuron after its activation, layer by layer.
        return [x for *_, outputs in layers_with_outputs(self._stages, point) for x in outputs]

    def _numbers(self, attribute: str) -> Array:
        # `data` or `grad` of all parameters: each neuron's weights, then its bias or 0.
        neurons = [neuron for layer in self._layers for neuron in layer]
        parameters = [p for weights, bias, _ in neurons for p in (*weights, bias)]
        return np.array([0.0 if p is None else float(kept(p, attribute) or 0) for p in parameters])

    def all_frames(self) -> list[Frame]:
        """The kept frames, and one of the current model if it has changed since."""
        now, latest = self._frame(), self._kept[-1:]
        is_known = latest and np.array_equal(now.scores, latest[0].scores)
        return self._kept if is_known else [*self._kept, now]

    def _curves(self, frames: Sequence[Frame]) -> dict[str, Any]:
        # The losses and accuracies of frames, as arguments of `draw_curves`.
        curves: dict[str, Any] = {"steps": [frame.step for frame in frames], "unit": self.unit}
        for name in ("training", "validation"):
            numbers = [getattr(frame, name) for frame in frames]
            rows = {kind: [each[kind] for each in numbers] for kind in ("loss", "accuracy")}
            curves[name] = {kind: row for kind, row in rows.items() if {*row} != {None}}
        return curves

    @spoken
    def page(self) -> Page:
        """The run as a page with a slider: boundary, curves and network."""
        run, title, film = {"run": self._data()}, self.title, self._film
        return Page("recorded", run, "a recorded run", 760, title, layout="playground", film=film)

    def save(self, path: FilePath, *, dark: bool = False) -> None:
        """Writes the run as a page, .html, or as a film, perhaps on a dark background.

        A film is a .gif, or with a path such as `frames/`, a folder of numbered PNGs.

        Raises:
            ValueError: the path has another ending.
            OSError: the file cannot be written.
        """
        self.page().save(path, dark=dark)

    def show(self) -> None:
        """Displays the run in a notebook; elsewhere, opens its page in the browser."""
        self.page().show()

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()

    @spoken
    def _film(self, dark: bool) -> Film:
        frames = self.all_frames()
        curves = self._curves(frames)
        width, height = figure_size(self.scene.plane)
        height = 7.2 * height / (width + 3.2) + 0.3 * bool(self.title)
        figure = NotebookFigure(7.2, height, dark)
        rows: Any = [["boundary", "loss"], ["boundary", "accuracy"]]
        panels = figure.subplot_mosaic(rows, width_ratios=[width, 2.7])
        ink = theme_of(panels["boundary"])["ink"]
        figure.suptitle(self.title.replace("$", r"\$"), color=ink, fontsize="large")

        def draw(i: int) -> None:
            for kind, ax in panels.items():
                ax.clear()
                if kind == "boundary":
                    draw_boundary(ax, self.scene, frames[i].scores)
                else:
                    draw_curves(ax, kind, curves, until=frames[i].step)
                    ax.set_xlabel(f"{unit_of(self.unit)} {frames[i].step}")

        return filmed(figure, draw, len(frames))

    def _data(self) -> dict[str, Any]:
        frames = self.all_frames()
        curves = self._curves(frames)
        scene, plane = self.scene, self.scene.plane
        packed, units = zip(*(_as_bytes(frame.scores) for frame in frames), strict=True)
        data: dict[str, Any] = {
            **curves | {"unit": unit_of(self.unit)},
            "names": scene.names,
            "points": scene.everywhere.tolist(),
            "labels": [*scene.labels.tolist(), *scene.truth.tolist()],
            "trainingPoints": len(scene.points),
            "truth": [scene.line.tolist()] if len(scene.line) else [],
            "low": plane.low.tolist(),
            "high": plane.high.tolist(),
            "ratio": plane.ratio,
            "grid": plane.shape,
            "scores": _base64(packed, np.int8),
            "units": units,
            "sizes": [len(layer[0][0]) for layer in self._layers[:1]] + [*map(len, self._layers)],
        }
        if self._map_plane is not None:
            # The outputs of a neuron are divided by their largest absolute value if it is above 1.
            maps = np.stack([frame.maps.T for frame in frames if frame.maps is not None])
            maps /= np.maximum(1.0, abs(maps).max(axis=-1, keepdims=True))
            data["mapGrid"], data["maps"] = self._map_plane.shape, _base64(127 * maps, np.int8)
        if 0 < len(frames[0].weights) <= MOST_WEIGHTS:
            unknown = np.zeros_like(frames[0].weights)
            gradients = [unknown if f.gradients is None else f.gradients for f in frames]
            data["weights"], data["weightScales"] = _scaled([frame.weights for frame in frames])
            data["gradients"], data["gradientScales"] = _scaled(gradients)
            data["hasGradients"] = [frame.gradients is not None for frame in frames]
        return data


animate = History


def _as_bytes(scores: Array) -> tuple[Array, float]:
    # Scores z as bytes b with their unit u: fine near the boundary at 0, coarser away from it.
    #     b = 127 z / (|z| + u)        z = u b / (127 - |b|)
    # Of several scores, the largest is first subtracted from all: their softmax stays the same.
    z = scores - scores.max(axis=1, keepdims=True) if scores.shape[1] > 1 else scores
    unit = float(f"{min(abs(z).max() / 10, 4.0) or 1.0:.4g}")
    return np.clip(np.rint(127 * z / (abs(z) + unit)), -126, 126), unit


def _scaled(rows: list[Array]) -> tuple[str, list[float]]:
    # Each frame has its own scale, because gradients shrink by orders of magnitude.
    finite = np.nan_to_num(rows)
    scales = [float(f"{largest or 1.0:.5g}") for largest in abs(finite).max(axis=1)]
    return _base64(32000 * (finite.T / scales).T, "<i2"), scales


def _base64(rows: Any, kind: Any) -> str:
    return base64.b64encode(np.rint(rows).astype(kind).tobytes()).decode()
