"""A model's scores at many points, as plain arrays of numbers.

    >>> points = np.array([[1.0, 2.0], [5.0, 3.0], [0.0, 4.0]])
    >>> scores(lambda point: point[0] - point[1], points).tolist()
    [[-1.0], [2.0], [-4.0]]

A picture needs scores at a thousand points or more. Where possible, the model is called only once
for all of them: with an array, or with Values whose data is an `ArrayNumber`, which is a number
with an entry for each point.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from micrograd.core.shapes import flat
from micrograd.engine import Value, no_grad

__all__ = ["ArrayNumber", "class_scores", "floats", "scores"]

Array = np.ndarray[Any, np.dtype[Any]]


class ArrayNumber(np.lib.mixins.NDArrayOperatorsMixin, numbers.Number):
    """An array with an entry for each point that behaves like a single number in arithmetic.

    If the `data` of Values are such arrays, a single call computes a model at all points. A model
    that branches on its data cannot be called this way: the branch raises a TypeError.

    >>> x = Value(ArrayNumber([1.0, -2.0]))
    >>> (3 * x + 1).relu().data.array.tolist()
    [4.0, 0.0]
    >>> (x.data > 0).where(1.0, 2.0).array.tolist(), x.sigmoid().data.array.round(2).tolist()
    ([1.0, 2.0], [0.73, 0.12])
    """

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or not all(
            isinstance(x, (ArrayNumber, float, int)) for x in inputs
        ):
            return NotImplemented
        return ArrayNumber(ufunc(*map(_array, inputs), **options))

    def where(self, a: Any, b: Any) -> ArrayNumber:
        """Entries of `a` where this is true, else of `b`; `micrograd.where` calls it."""
        return ArrayNumber(np.where(self.array, _array(a), _array(b)))

    def sigmoid(self) -> ArrayNumber:
        """1 / (1 + exp(-x)), without overflow."""
        return ArrayNumber((1 + np.tanh(self.array / 2)) / 2)

    def __getattr__(self, name: str) -> Any:
        if name not in ("exp", "log", "sqrt", "sin", "cos", "tanh"):
            raise AttributeError(name)
        return lambda: ArrayNumber(getattr(np, name)(self.array))

    def __bool__(self) -> bool:
        raise TypeError("an array of numbers is neither true nor false: use where() instead of if")

    __hash__ = object.__hash__


def _array(x: Any) -> Any:
    return x.array if isinstance(x, ArrayNumber) else x


def scores(
    predict: Callable[[Any], Any], points: Array, width: int = 1, *, as_values: bool = False
) -> Array:
    """The scores of a model at n points, shape (n, width), computed without a graph.

    Args:
        predict: called with an array of shape (n, 2) or, if that fails, with one point [x1, x2] at
            a time.
        points: shape (n, 2).
        width: number of scores for each point.
        as_values: whether a model that computes with Values is called only once, with two Values
            that hold the coordinates of all points, or otherwise once for each point.

    Raises:
        ValueError: `predict` fails both ways, or a score is NaN.

    >>> scores(lambda point: [point[0], -point[1]], np.array([[1.0, 2.0]]), width=2).tolist()
    [[1.0, -2.0]]
    """
    # The first three points show which way of calling `predict` works.
    failures = []
    ways = (_with_numbers, _with_values) if as_values else (_with_array, _point_by_point)
    for way in ways:
        with no_grad():
            try:
                way(predict, points[:3], width)
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error}")
                continue
            found = way(predict, points, width)
        if np.isnan(found).any():
            x1, x2 = points[np.isnan(found).any(axis=1)][0]
            raise ValueError(
                f"expected a score at every point, got NaN at [{x1:.4g}, {x2:.4g}]: if training "
                "diverged, lower the learning rate"
            )
        return np.clip(found, -1e9, 1e9)  # an infinite score cannot be interpolated
    many, one = ("n", "one score") if width == 1 else (f"n x {width}", f"{width} scores")
    raise ValueError(
        f"predict should take an array of shape (n, 2) and return {many} scores, or take a point "
        f"[x1, x2] and return {one}; with an array: {failures[0]}; with one point: {failures[1]}"
    )


def class_scores(
    predict: Callable[[Any], Any], points: Array, classes: int, *, as_values: bool = False
) -> Array:
    """The `scores` of a classifier: shape (n, classes), or (n, 1) for two classes.

    >>> class_scores(lambda point: point[0], np.array([[1.0, 2.0]]), classes=2).tolist()
    [[1.0]]
    """
    width = 1 if classes == 2 else classes
    try:
        return scores(predict, points, width, as_values=as_values)
    except ValueError:
        if width == 1:
            raise
        try:
            scores(predict, points[:1])
        except ValueError:
            pass
        else:
            raise ValueError(
                "predict returns one score for each point, so y expects labels 0 and 1, or -1 and "
                f"1, got {list(range(classes))}: for more than two classes, return a score for each"
            ) from None
        raise


def _with_array(predict: Callable[[Any], Any], points: Array, width: int) -> Array:
    # A copy: with three points, np.hypot(*points) writes its result into the third.
    return floats(predict(points.copy()), len(points), width)


def _with_numbers(predict: Callable[[Any], Any], points: Array, width: int) -> Array:
    outputs = np.asarray(predict(points.copy()))
    if outputs.dtype == object:
        raise TypeError("it returns Values, which are slow for many points")
    return floats(outputs, len(points), width)


def _point_by_point(predict: Callable[[Any], Any], points: Array, width: int) -> Array:
    return np.concatenate([floats(predict(point), 1, width) for point in points.tolist()])


def _with_values(predict: Callable[[Any], Any], points: Array, width: int) -> Array:
    try:
        with np.errstate(all="raise", under="ignore"):  # exp(1000) fails, as math.exp does
            outputs = predict([Value(ArrayNumber(column)) for column in points.T])
        data = [_array(getattr(output, "data", output)) for output in flat(outputs)]
        columns = [np.broadcast_to(column, len(points)) for column in data]
        found = np.stack(columns, axis=1).astype(float)
        if np.allclose(found[:3], _point_by_point(predict, points[:3], width)):
            return found
    except Exception:  # calling it point by point shows what is wrong
        pass
    return _point_by_point(predict, points, width)


def floats(results: Any, n: int, width: int = 1) -> Array:
    """Numbers or Values as floats of shape (n, width).

    >>> floats([Value(1.0), 2], 2).tolist()
    [[1.0], [2.0]]
    """
    array = np.asarray(results)
    if array.size != n * width or (width > 1 and n > 1 and array.shape[0] != n):
        one = n == 1 or width == 1
        expected = f"{n * width} score{'s' * (n * width > 1)}" if one else f"shape ({n}, {width})"
        raise ValueError(f"expected {expected}, got shape {array.shape}")
    if array.dtype == object:  # perhaps Values
        array = np.array([x.item() if hasattr(x, "item") else x for x in array.flat])
    return array.astype(float).reshape(n, width)
