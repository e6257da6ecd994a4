"""Chapter 12b: a training run frame by frame, and as a page to step through.

    >>> film = Film(lambda X: X[:, 0] - 0.5, [[0.0, 0.0], [1.0, 1.0]], [0, 1])
    >>> film.record(loss=0.7)
    >>> film.record(loss=0.5)
    >>> [(frame.step, frame.loss, frame.accuracy) for frame in film.frames()]
    [(0, 0.7, 1.0), (1, 0.5, 1.0)]

What is drawn is kept as bytes, so that a hundred steps make a page of less than 1 MB. The page is
`player.html` with the film's numbers in it; it draws them, and fetches nothing.
"""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from micrograd.plane import CLASSES, Plane, Stack, class_scores, examples, floats

__all__ = ["Film", "Frame", "as_bytes", "as_scores"]

Array = np.ndarray[Any, np.dtype[Any]]

MOST_WEIGHTS = 1000  # more lines than that are a blot, and make the page large
MAP_BYTES = 250_000  # for the maps of the neurons, all frames together


@dataclass(frozen=True)
class Frame:
    """One step: everything in it belongs to the same weights.

    >>> Frame(0, 0.7, 0.5, np.array([[0]]), 1.0, None, np.array([]), None).step
    0
    """

    step: int  # of the optimizer, that went before
    loss: float | None  # None where nobody told it, or where it is not finite
    accuracy: float
    scores: Array  # on the grid, as bytes, shape (n, 1) or (n, classes)
    unit: float  # of these bytes
    maps: Array | None  # answers of the neurons, from -127 to 127, shape (neurons, points)
    weights: Array
    gradients: Array | None  # None where the weights have moved since the last backward pass


class Film:
    """A recorder of a training run. Arguments are those of `plot.animate`.

    In a notebook it shows itself, as the page.
    """

    def __init__(
        self,
        model: Callable[[Any], Any],
        X: Any,
        y: Any,
        *,
        names: Sequence[str] | None = None,
        network: Any = None,
        resolution: int | None = None,
        frames: int = 101,
    ) -> None:
        if frames < 2:
            raise ValueError(f"frames is at least 2, the first and the last, got {frames}")
        self.points, self.labels, self.names = examples(X, y, names)
        if resolution is None:  # each class above two makes another map of each frame
            resolution = 48 if len(self.names) == 2 else round(56 / math.sqrt(len(self.names)))
        self.plane = Plane(self.points, resolution)
        self._model = model
        self._inside = Stack(model)
        self._network = self._inside if network is None else Stack(network)
        if network is not None and not self._network.sizes:
            raise ValueError(
                f"network expects an MLP, or a Sequential with layers, got {network!r:.60}; leave "
                "it out, and there is no picture of it"
            )
        neurons = sum(self._inside.sizes[1:])
        side = min(16, math.isqrt(MAP_BYTES // (frames * neurons))) if neurons else 0
        self._map_plane = Plane(self.points, side) if side >= 6 else None
        self._most, self._every = frames, 1
        self._kept: list[Frame] = []
        self._latest: Frame | None = None

    def record(self, loss: Any = None) -> None:
        """Takes down the model as it is, with its gradients and their loss (a number or a Value).

        Raises:
            ValueError: a score of the model is NaN.
        """
        step = 0 if self._latest is None else self._latest.step + 1
        frame = self._frame(step, loss, self._network.numbers("grad"))
        kept = [*self._kept, frame] if step % self._every == 0 else self._kept
        if len(kept) > self._most:
            self._every *= 2
            kept = [earlier for earlier in kept if earlier.step % self._every == 0]
        self._latest, self._kept = frame, kept  # at the end: Ctrl-C may come at any time

    def frames(self) -> list[Frame]:
        """The frames that were kept, the latest, and the model as it is now if it has moved on."""
        frames = list(self._kept)
        latest = self._latest
        if latest is not None and latest.step != frames[-1].step:
            frames.append(latest)
        now = self._frame(0 if latest is None else latest.step + 1, None, None)
        if latest is None or any(
            not np.array_equal(getattr(now, name), getattr(latest, name))
            for name in ("scores", "weights")
        ):
            frames.append(now)
        return frames

    def page(self) -> str:
        """A page of HTML that needs nothing else: boundary, curves and network, with a slider.

        >>> Film(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1]).page()[:15]
        '<!doctype html>'
        """
        data = json.dumps(self._data(), allow_nan=False, separators=(",", ":"))
        template = resources.files("micrograd").joinpath("player.html").read_text("utf-8")
        # A name may hold "</script>"; as JSON it is the same text without the "<".
        return template.replace("{film}", data.replace("<", "\\u003c"))

    def _repr_html_(self) -> str:  # in a frame of its own, its styles stay out of the notebook
        page = html.escape(self.page())
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="Training, step by step" '
            'style="width: 100%; height: 760px; border: 0"></iframe>'
        )

    def _frame(self, step: int, loss: Any, gradients: Array | None) -> Frame:
        loss = math.nan if loss is None else float(floats([loss], 1)[0, 0])
        places = np.concatenate([self.plane.grid, self.points])
        answers = class_scores(self._model, places, len(self.names), lanes=True)
        on_grid, at_points = np.split(answers, [len(self.plane.grid)])
        found = at_points.argmax(axis=1) if len(self.names) > 2 else at_points[:, 0] > 0
        in_bytes, unit = as_bytes(on_grid)
        maps = None
        if self._map_plane is not None:
            maps = np.rint(127 * self._inside.maps(self._map_plane.grid)).astype(np.int8)
        return Frame(
            step,
            loss if math.isfinite(loss) else None,
            float((found == self.labels).mean()),
            in_bytes,
            unit,
            maps,
            self._network.numbers("data"),
            gradients,
        )

    def _data(self) -> dict[str, Any]:
        frames = self.frames()
        low, high = self.plane.low, self.plane.high
        data: dict[str, Any] = {
            "names": self.names,
            "colours": [[fill, edge] for fill, edge, *_ in CLASSES[: len(self.names)]],
            "points": ((self.points - low) / (high - low)).round(4).tolist(),
            "labels": self.labels.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "ratio": float(np.divide(*(high - low))) if self.plane.equal else 1.0,
            "grid": self.plane.shape,
            "scores": _text([frame.scores for frame in frames], np.int8),
            "units": [frame.unit for frame in frames],
            "steps": [frame.step for frame in frames],
            "losses": [frame.loss for frame in frames],
            "accuracies": [round(frame.accuracy, 5) for frame in frames],
            "sizes": self._network.sizes,
        }
        if self._map_plane is not None and self._network is self._inside:
            data["mapGrid"] = self._map_plane.shape
            data["maps"] = _text([frame.maps for frame in frames], np.int8)
        if 0 < len(frames[0].weights) <= MOST_WEIGHTS:
            gradients = [frame.gradients for frame in frames]
            data["weights"], data["weightScales"] = _scaled([frame.weights for frame in frames])
            data["gradients"], data["gradientScales"] = _scaled(
                [np.zeros_like(frames[0].weights) if g is None else g for g in gradients]
            )
            data["hasGradients"] = [g is not None for g in gradients]
        return data


def as_bytes(answers: Array) -> tuple[Array, float]:
    """Scores as bytes b, fine around 0, where the boundary runs, and ever coarser away from it.

        b = 127 z / (|z| + u)        z = u b / (127 - |b|)

    The unit u is a tenth of the largest score, at most 4. Of the scores of several classes, the
    largest at a point is subtracted from all first, which changes no softmax.

    >>> in_bytes, unit = as_bytes(np.array([[0.0], [4.0], [-1e9]]))
    >>> in_bytes[:, 0].tolist(), unit
    ([0, 64, -126], 4.0)
    """
    z = answers - answers.max(axis=1, keepdims=True) if answers.shape[1] > 1 else answers
    unit = float(f"{min(abs(z).max() / 10, 4.0) or 1.0:.4g}")
    return np.clip(np.rint(127 * z / (abs(z) + unit)), -126, 126).astype(np.int8), unit


def as_scores(in_bytes: Array, unit: float) -> Array:
    """The scores of which `as_bytes` has made bytes, roughly.

    >>> as_scores(np.array([0, 64, -126], np.int8), 4.0).round(1).tolist()
    [0.0, 4.1, -504.0]
    """
    b = in_bytes.astype(float)
    z: Array = unit * b / (127 - abs(b))
    return z


def _scaled(rows: list[Array]) -> tuple[str, list[float]]:
    # Each frame has a scale of its own: gradients shrink by orders of magnitude.
    rows = [np.nan_to_num(row) for row in rows]
    scales = [float(f"{max(abs(row)) or 1.0:.5g}") for row in rows]
    shares = [row / scale for row, scale in zip(rows, scales, strict=True)]
    return _text([np.rint(32000 * share) for share in shares], "<i2"), scales


def _text(rows: Sequence[Any], kind: Any) -> str:
    return base64.b64encode(np.stack(rows).astype(kind).tobytes()).decode()
