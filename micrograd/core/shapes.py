"""Shapes of numbers, nested lists and arrays, which distinguish one example from a batch.

Only the number of axes counts, never the size: a list of two numbers is always one example, never
two examples of one number each.
"""

from __future__ import annotations

from typing import Any


def shape_of(x: Any) -> tuple[int, ...]:
    """The length along each axis: () for a number or a Value, (n, d) for n rows of d numbers.

    Raises:
        ValueError: rows differ in length.

    >>> shape_of(3.0), shape_of([1.0, 2.0]), shape_of([[1.0], [2.0], [3.0]])
    ((), (2,), (3, 1))
    """
    shape = getattr(x, "shape", None)
    if shape is not None:
        return tuple(shape)
    if not isinstance(x, (list, tuple)):
        return ()
    rows = {shape_of(row) for row in x}
    if len(rows) > 1:
        got = " and ".join(map(str, sorted(rows)))
        raise ValueError(f"expected rows of the same shape, got rows of shape {got}")
    return (len(x), *rows.pop()) if rows else (0,)


def flat(x: Any) -> list[Any]:
    """All elements of a nested list or an array, row by row.

    >>> flat([[1, 2], [3, 4]])
    [1, 2, 3, 4]
    """
    if hasattr(x, "tolist"):
        x = x.tolist()
    if not isinstance(x, (list, tuple)):
        return [x]
    return [element for row in x for element in flat(row)]
