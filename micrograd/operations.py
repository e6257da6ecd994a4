"""Further operations, each with its derivative beside it, as in `engine.py`.

A choice has no derivative with respect to what decides it: the gradient goes to what was chosen.
For plain numbers, `where` and `take` pick it, and no operation is recorded. For traced numbers,
which have no value yet, the choice itself becomes an operation.

    >>> table = [Value(1.0), Value(2.0)]
    >>> take(table, 1) is table[1]
    True
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, TypeVar

from micrograd.core.arithmetic import Number
from micrograd.core.node import Output, as_operand, record
from micrograd.core.tracing import Traced, choices
from micrograd.engine import Value

__all__ = ["take"]

T = TypeVar("T")


def take(table: Any, index: SupportsIndex) -> Any:
    """`table[index]` for 0 <= index < len(table), also for a traced index.

    Raises IndexError if the index is out of range (negative ones do not count from the end), and
    TypeError if it is not an integer.

    >>> take(["zero", "one"], 1)
    'one'
    """
    if hasattr(index, "take") and not hasattr(index, "dtype"):  # NumPy's take is different
        return index.take(table)
    try:
        position = operator.index(index)
    except TypeError:
        raise TypeError(f"take expects an int as its index, got {index!r}: use int()") from None
    if not 0 <= position < len(table):
        raise IndexError(f"take expects 0 <= index < {len(table)}, got {position}")
    return table[position]


def _where(condition: Traced, *alternatives: Any) -> Value:
    # a where the condition holds, else b;  d/da = 1 where it holds, d/db = 1 where it does not
    def choice(a: Value, b: Value) -> Output:
        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += condition.where(upstream, 0)
            b.grad += condition.where(0, upstream)

        return condition.where(a.data, b.data), _backward

    return record("where", choice, *_operands(alternatives))


def _take(index: Traced, *entries: Any) -> Value:
    # entries[index];  d/d entry = 1 for the one at the index, else 0
    def choice(*entries: Value) -> Output:
        def _backward(upstream: Number, *entries: Value) -> None:
            for position, entry in enumerate(entries):
                entry.grad += index.recording.record("is", index, position).where(upstream, 0)

        return index.take([entry.data for entry in entries]), _backward

    return record("take", choice, *_operands(entries))


def matrix_product_rule(
    upstream: T, left: T, right: T, transposed: Callable[[T], T]
) -> tuple[tuple[T, T], tuple[T, T]]:
    """The factors of each contribution for P = X W: to X, upstream Wᵀ; to W, Xᵀ upstream.

    NumPy multiplies matrices of Values number by number, so this is not an operation: drawings of
    arrays show it, in numbers and in letters.

    >>> matrix_product_rule("U", "X", "W", lambda name: name + "ᵀ")
    (('U', 'Wᵀ'), ('Xᵀ', 'U'))
    """
    return (upstream, transposed(right)), (transposed(left), upstream)


def _operands(entries: Sequence[Any]) -> list[Value]:
    beside = next(entry for entry in entries if isinstance(entry, Value))
    return [as_operand(entry, beside) for entry in entries]


choices.update(where=_where, take=_take)
