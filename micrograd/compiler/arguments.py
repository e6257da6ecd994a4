"""What a compiled function is called with, and what the function itself gets for an example.

A call gives arrays with a row for each example. While the function is recorded, an example's number
is a traced number, its row a list of them if the rows are lists, and else an array of them, which
computes as NumPy's arrays do. Text, True, False, None and functions are no numbers: the function
gets them as they are, and each of them has a program of its own.

    >>> from micrograd.core.tracing import Recording
    >>> x = traced(shape_of(as_array(0, np.ones((100, 2)))), Recording())
    >>> (x + 1.0).mean(), where(x[0] > 0, 1.0, x[1])
    (Traced(/ of 6, 7), Traced(where of 10, 11, 1))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from micrograd.arrays import ValueArray, values
from micrograd.core import arithmetic, functions
from micrograd.core.arithmetic import where
from micrograd.core.examples import fix_of
from micrograd.core.shapes import Numbers
from micrograd.core.tracing import Condition
from micrograd.engine import Value

Array = npt.NDArray[Any]


class Listed(np.ndarray[Any, Any]):
    """An array of examples that came as lists."""


class Shared(np.ndarray[Any, Any]):
    """An array that is the same for all examples."""


def shared(x: Numbers) -> Shared:
    """An argument of a compiled function that is an array, and the same for all examples.

    The function gets the whole array. What depends on it and on parameters alone is computed once.

    >>> from micrograd import compile
    >>> w = Value(2.0)
    >>> distance = compile(lambda x, centre: ((w * x - centre) ** 2).sum())
    >>> distance(np.array([[0.0, 1.0], [2.0, 3.0]]), shared([1.0, 1.0])).lanes
    array([ 2., 34.])
    """
    return np.asarray(x, float).view(Shared)


class Shape(tuple[int, ...]):
    """A shape that is not equal to the same shape of an array, as each has its own program."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and super().__eq__(other)

    __hash__ = tuple.__hash__


class ListShape(Shape):
    """The shape of an example that is a list of numbers, or of lists."""


class SharedShape(Shape):
    """The shape of an array that is the same for all examples."""


class Static(NamedTuple):
    """An argument that is the same for all examples and no number."""

    value: Any


def as_array(i: int, x: Numbers) -> Array | Static:
    """Argument i as an array of numbers; text, flags, None and functions are Static."""
    if x is None or isinstance(x, (str, bool)) or (callable(x) and not hasattr(x, "__array__")):
        return Static(x)
    if isinstance(x, Shared):
        return x
    if np.ma.is_masked(x):
        raise TypeError(f"argument {i} has masked numbers: leave out those examples")
    try:
        array = np.asarray(x)
    except ValueError:
        fix = "call the function once for each length"
        raise ValueError(f"argument {i} has examples of different lengths: {fix}") from None
    if array.dtype.kind not in "biuf":
        text = next((v for v in array.ravel().tolist() if isinstance(v, str)), 0)
        fix = fix_of(text if array.ndim == 1 else 0, "convert it with .astype(float)")
        got = f"got {array.dtype} {x!r:.40}"
        raise TypeError(f"argument {i}: expected an array of real numbers, {got}: {fix}")
    # JAX has no long doubles, and numbers in the byte order of this machine alone.
    dtype = np.dtype(float) if array.dtype.char == "g" else array.dtype.newbyteorder("=")
    array = array.astype(dtype, copy=False)
    is_listed = array.ndim > 1 and isinstance(x, (list, tuple)) and isinstance(x[0], (list, tuple))
    return array.view(Listed) if is_listed else array


def shape_of(array: Array | Static) -> tuple[int, ...] | Static:
    """The shape of one example of an argument."""
    if isinstance(array, Static):
        return array
    if isinstance(array, Shared):
        return SharedShape(array.shape)
    return (ListShape if isinstance(array, Listed) else tuple)(array.shape[1:])


def traced(shape: Any, recording: Any) -> Any:
    """What a function gets for an argument of this shape, with traced numbers of a recording."""
    if isinstance(shape, Static):
        return shape.value
    if not shape:
        is_shared = isinstance(shape, SharedShape)
        return recording.parameter() if is_shared else recording.input(0.0)
    rows = [traced(type(shape)(shape[1:]), recording) for _ in range(shape[0])]
    if isinstance(shape, ListShape):
        return rows
    array = np.empty(shape, object)
    array[...] = np.reshape(np.array(rows, object), shape)
    return array.view(Row)


class Row(np.ndarray[Any, Any]):
    """An array of traced numbers: comparisons give conditions, which `where` takes."""

    def __bool__(self) -> bool:
        """Whether it has elements, as of a list; an array of conditions refuses to decide."""
        return self.size > 0 and all(bool(x) for x in self.flat if isinstance(x, Condition))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, (Value, ValueArray)) for x in inputs):
            return NotImplemented  # they compute with arrays of numbers
        if ufunc.__name__ in CONDITIONS:
            options.setdefault("dtype", object)
        function = getattr(INSTEAD_OF.get(ufunc.__name__, ufunc), method)
        return as_row(function(*map(_plain, inputs), **options))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3:
            return as_row(np.frompyfunc(where, 3, 1)(*map(_plain, args)))
        return super().__array_function__(function, types, args, kwargs)


CONDITIONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
INSTEAD_OF = {
    name: np.frompyfunc((vars(arithmetic) | vars(functions))[name], n, 1)
    for n, names in ((1, ("sigmoid", "erf")), (2, ("maximum", "minimum", "arctan2", "logaddexp")))
    for name in names
}


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, np.ndarray) else x


def as_row(x: Any) -> Any:
    """An array of traced numbers; Values in it make it an array of Values."""
    if not isinstance(x, np.ndarray):
        return x
    has_values = any(isinstance(element, Value) for element in x.flat)
    return values(x) if has_values else x.view(Row)
