"""A grid over the rectangle around some points in a plane, and a model's scores there.

A picture needs scores at thousands of points, and a model of scalars computes one point after the
other. But operations do not ask what kind of number their data is: so a model that computes with
Values is called once, with data that hold the coordinates of all points, and gives all scores.
"""

import math
import numbers
from collections.abc import Sequence
from functools import partial, partialmethod
from typing import Any

import numpy as np

from micrograd.core.examples import examples
from micrograd.core.node import innermost
from micrograd.core.shapes import Model, Numbers, flat
from micrograd.engine import Value, no_grad
from micrograd.program.foreign import number_of
from micrograd.program.models import outputs_of, stages_of

Array = np.ndarray[Any, np.dtype[Any]]


class Plane:
    """The rectangle around points of shape (n, 2), and a grid over it.

    Attributes:
        low, high: lower left and upper right corners of the rectangle, including a margin.
        ratio: width / height of its picture, in which both axes use the same unit of length; 1 if
            the points extend more than 4 times as far along one of them.
        limits: its limits and its aspect, for `ax.set`.
        shape: numbers of columns and rows of the grid, of which the larger one is `resolution`.
        grid: the grid points row by row, shape (columns * rows, 2).

    >>> plane = Plane([[0.0, 0.0], [2.0, 1.0]], resolution=5)
    >>> plane.low.tolist(), plane.high.tolist(), plane.shape
    ([-0.2, -0.2], [2.2, 1.2], [5, 3])
    """

    def __init__(self, X: Array, resolution: int) -> None:
        low, high = np.min(X, axis=0), np.max(X, axis=0)
        span = high - low
        is_equal = bool(max(span) <= 4 * min(span))
        margins = 0.1 * (max(span) if is_equal else span)
        margins = np.where(margins > 0, margins, 1.0)
        self.low, self.high = low - margins, high + margins
        span = self.high - self.low
        self.ratio = float(span[0] / span[1]) if is_equal else 1.0
        xlim, ylim = zip(self.low, self.high, strict=True)
        self.limits: Any = {"xlim": xlim, "ylim": ylim, "aspect": "equal" if is_equal else "auto"}
        shares = span / max(span) if is_equal else np.ones(2)
        self.shape = np.maximum(2, np.rint(resolution * shares)).astype(int).tolist()
        axes = map(np.linspace, self.low, self.high, self.shape)
        self.grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)


class Scene:
    """What stays the same in a picture while a model learns.

    `points`, shape (n, 2), `labels` and `names` are as in `examples`; `tested` and `truth` are
    points and labels for validation, or none; `line` is the true boundary, shape (m, 2), or none. A
    model returns `outputs` scores for a point. `plane` is the one around all points, `everywhere`.
    """

    def __init__(
        self,
        X: Numbers,
        y: Numbers,
        names: Sequence[str] | None = None,
        true_boundary: Numbers = (),
        validation: tuple[Numbers | None, Numbers | None] = (None, None),
        resolution: int = 0,
    ) -> None:
        points, labels, self.names = examples(X, y, names)
        tested, truth, _ = examples(*validation, self.names, "_validation")
        self.points, self.tested = np.array(points), np.array(tested).reshape(-1, 2)
        self.labels, self.truth = np.array(labels), np.array(truth, dtype=int)
        self.line = np.asarray(true_boundary, dtype=float).reshape(-1, 2)
        self.outputs = 1 if len(self.names) == 2 else len(self.names)
        self.everywhere = np.concatenate([self.points, self.tested])
        self.plane = Plane(self.everywhere, resolution or round(56 / math.sqrt(self.outputs)))


class Coordinates(np.ndarray[Any, np.dtype[Any]]):
    """A coordinate of all points, which the operations of a Value take for a single number.

    A model that branches on it raises an error.
    """

    exp, log, sqrt = map(partialmethod, (np.exp, np.log, np.sqrt))
    sin, cos, tanh = map(partialmethod, (np.sin, np.cos, np.tanh))

    def sigmoid(self) -> Any:
        """1 / (1 + exp(-x))."""
        return (1 + np.tanh(self / 2)) / 2

    def where(self, a: Any, b: Any) -> Any:
        """At each point, a where the condition is true, else b."""
        return np.where(self, a, b).view(Coordinates)


numbers.Number.register(Coordinates)  # so that the data of a Value may be one


def scores(predict: Model, points: Array, width: int = 1) -> Array:
    """The scores of a model at n points, shape (n, width), computed without a graph.

    `predict` is called with an array of shape (n, 2) or, if that fails, with one point [x1, x2] at
    a time, and returns numbers or Values. A model that computes with Values is called once for all
    points, if three of them show that this works.

    Raises:
        ValueError: `predict` fails both ways, or a score is NaN.

    >>> scores(lambda point: [point[0], -point[1]], np.array([[1.0, 2.0]]), width=2).tolist()
    [[1.0, -2.0]]
    """

    def one_by_one(some: Array) -> Any:
        # numbers alone: a graph of another engine would stay alive, and the collector slow
        return [[*map(number_of, flat(predict(point)))] for point in some.tolist()]

    failures = []
    with no_grad():
        for way in (lambda some: predict(some.copy()), one_by_one):
            try:
                known = floats(way(points[:3]), len(points[:3]), width)
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error}")
                continue
            found = _with_values(predict, points, known)
            if found is None and (stages := stages_of(predict))[0][1]:  # of another engine
                found = _with_values(partial(outputs_of, stages), points, known)
            if found is None:
                found = floats(way(points), len(points), width)
            if np.isnan(found).any():
                x1, x2 = points[np.isnan(found).any(axis=1)][0]
                got = f"expected a score at every point, got NaN at [{x1:.4g}, {x2:.4g}]"
                raise ValueError(f"{got}: if training diverged, lower the learning rate")
            return np.clip(found, -1e9, 1e9)  # an infinite score cannot be interpolated
    raise ValueError(
        f"predict should take an array of shape (n, 2) and return n x {width} scores, or take a "
        f"point [x1, x2] and return {width}; with three points in an array: {failures[0]}; with "
        f"three points one by one: {failures[1]}"
    )


def _with_values(predict: Model, points: Array, known: Array) -> Array | None:
    # The scores of all points in one call, or None if it fails or the first ones are not as known.
    try:
        with np.errstate(all="raise", under="ignore"):  # exp(1000) fails, as math.exp does
            outputs = predict([Value(x.view(Coordinates)) for x in points.T])
        several: Any = [outputs] if isinstance(outputs, (Value, Coordinates)) else outputs
        columns = [np.broadcast_to(innermost(output), len(points)) for output in several]
        found: Array = np.stack(columns, axis=1).astype(float)
        return found if np.allclose(found[: len(known)], known) else None
    except Exception:  # calling it in another way shows what is wrong
        return None


def floats(results: object, n: int, width: int = 1) -> Array:
    """Numbers or Values as floats of shape (n, width)."""
    array = np.asarray(results)
    if array.size != n * width or (width > 1 and n > 1 and array.shape[0] != n):
        raise ValueError(f"expected shape ({n}, {width}), got shape {array.shape}")
    if array.dtype == object:  # perhaps Values
        array = np.array([x.item() if hasattr(x, "item") else number_of(x) for x in array.flat])
    return array.astype(float).reshape(n, width)
