"""Shapes of numbers, nested lists and arrays, which distinguish one example from a batch.

Only the number of axes counts, never the size: a list of two numbers is always one example, never
two examples of one number each.
"""

from __future__ import annotations

import math
import numbers
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

    if isinstance(x, np.generic):
        return x
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
        got = " and ".join(map(str, sorted(rows)))
        raise ValueError(f"expected rows of the same shape, got rows of shape {got}")
    return (len(x), *rows.pop()) if rows else (0,)


def flat(x: object) -> list[Any]:
    """All elements of a nested list or an array, row by row."""
    x = plain(x)
    if hasattr(x, "tolist"):
        x = x.tolist()
    if not isinstance(x, (list, tuple)):
        return [x]
    return [element for row in x for element in flat(row)]


def fix_of(label: object, otherwise: str, classes: float = math.inf) -> str:
    """The end of a message about a label: the line that mends the data, or the fix for a number.

    `classes` is the number of classes; labels that count from 1 exceed it by one.
    """
    if isinstance(label, str):
        return "write names = sorted(set(y)); y = [names.index(label) for label in y]"
    if shape := shape_of(label):
        return "for y of shape (n, 1), pass y.ravel()" if shape[-1] == 1 else otherwise
    if label != label:
        return without_nan("y")
    if isinstance(label, numbers.Real) and float(label) >= classes:
        return f"{otherwise}; if your labels count from 1, pass y - 1"
    return otherwise


def without_nan(name: str, axes: int = 1) -> str:
    """The line that leaves out the examples with NaN in X or y, for messages."""
    kept = f"np.isfinite({name})" + ".all(axis=1)" * (axes > 1)
    return f"leave these examples out: keep = {kept}; X, y = X[keep], y[keep]"


def check_no_nan(name: str, x: Any) -> None:
    """Raises a ValueError if a number in x is NaN: the loss and its gradients would be NaN, too."""
    if (x != x).any() if hasattr(x, "any") else any(number != number for number in flat(x)):
        raise ValueError(f"{name} has NaN: {without_nan(name, len(shape_of(x)))}")
