"""Shapes of numbers, nested lists and arrays, which distinguish one example from a batch.

Only the number of axes counts: a list of two numbers is one example, never two of one number each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NewType, Protocol, SupportsFloat, TypeAlias


class Table(Protocol):
    """An array or a table of NumPy, pandas, PyTorch, ..."""

    def __array__(self) -> Any: ...


if TYPE_CHECKING:  # a number or a Value, or a nested list, an array or a table of these
    Numbers: TypeAlias = SupportsFloat | Sequence["Numbers"] | Table
else:
    Numbers = NewType("Numbers", object)  # so that the reference shows the name
Model: TypeAlias = Callable[[Any], Numbers]  # takes one example, or several


def plain(x: object) -> Any:
    """A table or an array of another library (pandas, PyTorch), or an np.matrix, as an ndarray.

    Such objects may iterate over column names, index by label, or keep two axes in every row. An
    array without axes is its element; anything else is returned as it is.
    """
    kind = type(x)
    if not hasattr(kind, "__array__") or getattr(kind, "__array_ufunc__", True) is None:
        return x  # a class with __array_ufunc__ = None refuses to compute like an array
    import numpy as np

    array = x if isinstance(x, np.ndarray) and not isinstance(x, np.matrix) else np.asarray(x)
    return array if array.ndim else array[()]


def shape_of(x: object) -> tuple[int, ...]:
    """The length along each axis: () for a number or a Value, (n, d) for n rows of d numbers.

    >>> shape_of(3.0), shape_of([1.0, 2.0]), shape_of([[1.0], [2.0], [3.0]])
    ((), (2,), (3, 1))
    """
    shape = getattr(plain(x), "shape", None)
    if shape is not None:
        return tuple(shape)
    if not isinstance(x, (list, tuple)):
        return ()
    rows = {shape_of(row) for row in x}
    if len(rows) > 1:
        raise ValueError(f"expected rows of the same shape, got rows of shapes {sorted(rows)}")
    return (len(x), *rows.pop()) if rows else (0,)


def flat(x: object) -> list[Any]:
    """All elements of a nested list or an array, row by row."""
    x = plain(x)
    x = x.tolist() if hasattr(x, "tolist") else x
    if not isinstance(x, (list, tuple)):
        return [x]
    return [element for row in x for element in flat(row)]
