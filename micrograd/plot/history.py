"""A recorded training run, frame by frame.

    >>> history = History(lambda X: X[:, 0] - 0.5, [[0.0, 0.0], [1.0, 1.0]], [0, 1])
    >>> history.record(loss=0.7)
    >>> history.record(loss=0.5)
    >>> [(frame.step, frame.loss, frame.accuracy) for frame in history.frames()]
    [(0, 0.7, 1.0), (1, 0.5, 1.0)]

Scores and neuron outputs are stored as bytes, so that a page with a hundred steps takes less than
1 MB. The page contains these numbers, draws them, and downloads nothing.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.pages.page import notebook_frame
from micrograd.pages.playground import recorded
from micrograd.plot.boundary import true_lines
from micrograd.plot.layers import LayeredModel
from micrograd.plot.plane import Plane, examples
from micrograd.plot.scores import class_scores, floats

__all__ = ["Frame", "History", "as_bytes", "as_scores"]

Array = np.ndarray[Any, np.dtype[Any]]

MOST_WEIGHTS = 1000  # more lines than this could not be told apart and would make the page large
MAP_BYTES = 250_000  # the limit for the maps of all neurons in all frames


@dataclass(frozen=True)
class Frame:
    """One recorded step: everything in it was computed with the same weights."""

    step: int  # number of optimizer steps before this frame
    loss: float | None  # None if it was not given, or is not finite
    validation_loss: float | None
    accuracy: float
    validation_accuracy: float | None  # None without validation data
    scores: Array  # on the grid, as bytes, shape (n, 1) or (n, classes)
    unit: float  # turns these bytes back into scores, see `as_bytes`
    maps: Array | None  # outputs of the neurons, from -127 to 127, shape (neurons, points)
    weights: Array
    gradients: Array | None  # None if the weights have changed since the last backward pass


class History:
    """A recorder for a training run; it takes the same arguments as `plot.animate`.

    A notebook displays it as an HTML page.
    """

    def __init__(
        self,
        model: Callable[[Any], Any],
        X: Any,
        y: Any,
        *,
        X_validation: Any = None,
        y_validation: Any = None,
        names: Sequence[str] | None = None,
        true_boundary: Any = None,
        title: str = "",
        unit: str = "step",
        network: Any = None,
        resolution: int | None = None,
        frames: int = 101,
    ) -> None:
        if frames < 2:
            raise ValueError(f"frames expects at least 2 (first and last), got {frames}")
        self.points, self.labels, self.names = examples(X, y, names)
        if (X_validation is None) != (y_validation is None):
            raise ValueError("expected X_validation and y_validation together, got one of them")
        self.validation_points, self.validation_labels = self.points[:0], self.labels[:0]
        if X_validation is not None:
            self.validation_points, self.validation_labels, _ = examples(
                X_validation, y_validation, self.names, which="_validation"
            )
        self.title, self.unit = title, unit
        if resolution is None:  # k classes have k scores at each point
            resolution = 48 if len(self.names) == 2 else round(56 / math.sqrt(len(self.names)))
        everywhere = np.concatenate([self.points, self.validation_points])
        self.plane = Plane(everywhere, resolution)
        self.true_lines = true_lines(true_boundary, everywhere)
        self._model = model
        self._layers = LayeredModel(model)
        self._network = self._layers if network is None else LayeredModel(network)
        if network is not None and not self._network.sizes:
            raise ValueError(
                f"network expects an MLP, or a Sequential with layers, got {network!r:.60}: leave "
                "it out to record without a picture of the network"
            )
        neurons = sum(self._layers.sizes[1:])
        side = min(16, math.isqrt(MAP_BYTES // (frames * neurons))) if neurons else 0
        self._map_plane = Plane(everywhere, side) if side >= 6 else None
        self._most, self._every = frames, 1
        self._kept: list[Frame] = []
        self._latest: Frame | None = None

    def record(self, loss: Any = None, validation_loss: Any = None) -> None:
        """Adds a frame with the current model, its gradients and the losses (numbers or Values).

        Raises:
            ValueError: a score of the model is NaN.
        """
        step = 0 if self._latest is None else self._latest.step + 1
        frame = self._frame(step, loss, validation_loss, self._network.numbers("grad"))
        kept = [*self._kept, frame] if step % self._every == 0 else self._kept
        if len(kept) > self._most:
            self._every *= 2
            kept = [earlier for earlier in kept if earlier.step % self._every == 0]
        self._latest, self._kept = frame, kept  # last, because Ctrl-C may come at any time

    def frames(self) -> list[Frame]:
        """The kept frames, the latest one, and one of the current model if it has changed since."""
        frames = list(self._kept)
        latest = self._latest
        if latest is not None and latest.step != frames[-1].step:
            frames.append(latest)
        now = self._frame(0 if latest is None else latest.step + 1, None, None, None)
        if latest is None or any(
            not np.array_equal(getattr(now, name), getattr(latest, name))
            for name in ("scores", "weights")
        ):
            frames.append(now)
        return frames

    def curves(self) -> dict[str, Any]:
        """The losses and accuracies of all frames, as arguments for `plot.learning_curves`.

        >>> history = History(lambda X: X[:, 0] - 0.5, [[0.0, 0.0], [1.0, 1.0]], [0, 1])
        >>> history.record(loss=0.7)
        >>> history.curves()["training"]
        {'loss': [0.7], 'accuracy': [1.0]}
        """
        frames = self.frames()
        return {
            "training": _rows(frames, loss="loss", accuracy="accuracy"),
            "validation": _rows(frames, loss="validation_loss", accuracy="validation_accuracy"),
            "epochs": [frame.step for frame in frames],
            "unit": self.unit,
        }

    def page(self) -> str:
        """A self-contained HTML page: boundary, curves and network, with a slider.

        >>> History(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1]).page()[:15]
        '<!doctype html>'
        """
        return recorded(self._data())

    def _repr_html_(self) -> str:
        return notebook_frame(self.page(), "Training, step by step", height=760)

    def _frame(self, step: int, loss: Any, validation_loss: Any, gradients: Array | None) -> Frame:
        places = [self.plane.grid, self.points, self.validation_points]
        scores = class_scores(self._model, np.concatenate(places), len(self.names), as_values=True)
        on_grid, at_points, at_validation = np.split(scores, np.cumsum([*map(len, places[:2])]))
        in_bytes, unit = as_bytes(on_grid)
        maps = None
        if self._map_plane is not None:
            maps = np.rint(127 * self._layers.maps(self._map_plane.grid)).astype(np.int8)
        return Frame(
            step,
            _finite(loss),
            _finite(validation_loss),
            _accuracy(at_points, self.labels),
            _accuracy(at_validation, self.validation_labels) if len(at_validation) else None,
            in_bytes,
            unit,
            maps,
            self._network.numbers("data"),
            gradients,
        )

    def _data(self) -> dict[str, Any]:
        frames = self.frames()
        low, high = self.plane.low, self.plane.high
        points = np.concatenate([self.points, self.validation_points])
        data: dict[str, Any] = {
            "title": self.title,
            "unit": self.unit,
            "names": self.names,
            "points": ((points - low) / (high - low)).round(4).tolist(),
            "labels": [*self.labels.tolist(), *self.validation_labels.tolist()],
            "trainingPoints": len(self.points),
            "truth": [[[float(f"{x:.6g}") for x in p] for p in line] for line in self.true_lines],
            "low": low.tolist(),
            "high": high.tolist(),
            "ratio": float(np.divide(*(high - low))) if self.plane.equal else 1.0,
            "grid": self.plane.shape,
            "scores": _base64([frame.scores for frame in frames], np.int8),
            "units": [frame.unit for frame in frames],
            "steps": [frame.step for frame in frames],
            "losses": [frame.loss for frame in frames],
            "accuracies": [frame.accuracy for frame in frames],
            "sizes": self._network.sizes,
        }
        data |= _rows(
            frames,
            validationLosses="validation_loss",
            validationAccuracies="validation_accuracy",
        )
        if self._map_plane is not None and self._network is self._layers:
            data["mapGrid"] = self._map_plane.shape
            data["maps"] = _base64([frame.maps for frame in frames], np.int8)
        if 0 < len(frames[0].weights) <= MOST_WEIGHTS:
            gradients = [frame.gradients for frame in frames]
            data["weights"], data["weightScales"] = _scaled([frame.weights for frame in frames])
            data["gradients"], data["gradientScales"] = _scaled(
                [np.zeros_like(frames[0].weights) if g is None else g for g in gradients]
            )
            data["hasGradients"] = [g is not None for g in gradients]
        return data


def _rows(frames: list[Frame], **names: str) -> dict[str, list[Any]]:
    # A row for each key: the attribute of this name in every frame. Rows of None are left out.
    rows = {key: [getattr(frame, name) for frame in frames] for key, name in names.items()}
    return {key: row for key, row in rows.items() if row != [None] * len(frames)}


def _finite(loss: Any) -> float | None:
    number = math.nan if loss is None else float(floats([loss], 1)[0, 0])
    return number if math.isfinite(number) else None


def _accuracy(scores: Array, labels: Array) -> float:
    predicted = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
    return float((predicted == labels).mean())


def as_bytes(scores: Array) -> tuple[Array, float]:
    """Scores z as bytes b with their unit u: fine near the boundary at 0, coarser away from it.

        b = 127 z / (|z| + u)        z = u b / (127 - |b|)

    The unit u is a tenth of the largest score, at most 4. With several classes, the largest score
    at each point is first subtracted from all of them, which does not change the softmax.

    >>> in_bytes, unit = as_bytes(np.array([[0.0], [4.0], [-1e9]]))
    >>> in_bytes[:, 0].tolist(), unit
    ([0, 64, -126], 4.0)
    """
    z = scores - scores.max(axis=1, keepdims=True) if scores.shape[1] > 1 else scores
    unit = float(f"{min(abs(z).max() / 10, 4.0) or 1.0:.4g}")
    return np.clip(np.rint(127 * z / (abs(z) + unit)), -126, 126).astype(np.int8), unit


def as_scores(in_bytes: Array, unit: float) -> Array:
    """The approximate scores from the bytes and the unit that `as_bytes` returned.

    >>> as_scores(np.array([0, 64, -126], np.int8), 4.0).round(1).tolist()
    [0.0, 4.1, -504.0]
    """
    b = in_bytes.astype(float)
    z: Array = unit * b / (127 - abs(b))
    return z


def _scaled(rows: list[Array]) -> tuple[str, list[float]]:
    # Each frame has its own scale, because gradients shrink by orders of magnitude.
    rows = [np.nan_to_num(row) for row in rows]
    scales = [float(f"{max(abs(row)) or 1.0:.5g}") for row in rows]
    shares = [row / scale for row, scale in zip(rows, scales, strict=True)]
    return _base64([np.rint(32000 * share) for share in shares], "<i2"), scales


def _base64(rows: Sequence[Any], kind: Any) -> str:
    return base64.b64encode(np.stack(rows).astype(kind).tobytes()).decode()
