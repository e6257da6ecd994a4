"""Further operations, each with its derivative beside it, as in `engine.py`.

The first part adds methods to `Value`, named after NumPy's functions, so that np.arctan(x) works.

    >>> x = Value(0.5)
    >>> [round(f(x).data, 3) for f in (Value.tan, Value.arctan, Value.cosh, Value.erf)]
    [0.546, 0.464, 1.128, 0.52]

The second part is about choices. A choice has no derivative with respect to what decides it: the
gradient goes to what was chosen. For plain numbers, `where` and `take` pick it, and no operation is
recorded. For traced numbers, which have no value yet, the choice itself becomes an operation.

    >>> take([Value(1.0), Value(2.0)], 1)
    Value(data=2.0, grad=0)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, TypeVar

from micrograd.core import arithmetic, functions
from micrograd.core.arithmetic import Number
from micrograd.core.node import Output, as_operand, operation, record
from micrograd.core.shapes import plain, shape_of
from micrograd.core.tracing import Traced, choices, loops
from micrograd.engine import Value

__all__ = ["scan", "take"]

T = TypeVar("T")

# ---- 1. Functions of one number or two


@operation("tan")
def tan(a: Value) -> Output:
    """The tangent t = tan a, a in radians;  d/da = 1 + t^2."""
    t = functions.tan(a.data)

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += (1 + t * t) * upstream

    return t, _backward


@operation("arcsin", "the inverse sine needs -1 <= x <= 1, and its derivative -1 < x < 1")
def arcsin(a: Value) -> Output:
    """The angle between -pi/2 and pi/2 whose sine is a;  d/da = 1 / sqrt(1 - a^2)."""

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += upstream / arithmetic.sqrt((1 - a.data) * (1 + a.data))

    return functions.arcsin(a.data), _backward


@operation("arccos", "the inverse cosine needs -1 <= x <= 1, and its derivative -1 < x < 1")
def arccos(a: Value) -> Output:
    """The angle between 0 and pi whose cosine is a;  d/da = -1 / sqrt(1 - a^2)."""

    def _backward(upstream: Number, a: Value) -> None:
        a.grad -= upstream / arithmetic.sqrt((1 - a.data) * (1 + a.data))

    return functions.arccos(a.data), _backward


@operation("arctan")
def arctan(a: Value) -> Output:
    """The angle between -pi/2 and pi/2 whose tangent is a;  d/da = 1 / (1 + a^2)."""

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += upstream / (1 + a.data * a.data)

    return functions.arctan(a.data), _backward


@operation("arctan2", "the point (0, 0) has no direction, so the angle has no derivative there")
def arctan2(a: Value, b: Value) -> Output:
    """The angle from -pi to pi of the point with x = b and y = a.

    d/da = b / r^2,  d/db = -a / r^2,  with r^2 = a^2 + b^2
    """

    def _backward(upstream: Number, a: Value, b: Value) -> None:
        rate = upstream / (a.data * a.data + b.data * b.data)
        a.grad += b.data * rate
        b.grad -= a.data * rate

    return functions.arctan2(a.data, b.data), _backward


@operation("sinh", "the result exceeds the largest float, 1.8e308; keep x between -710 and 710")
def sinh(a: Value) -> Output:
    """The hyperbolic sine (e^a - e^-a) / 2;  d/da = cosh a."""

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += functions.cosh(a.data) * upstream

    return functions.sinh(a.data), _backward


@operation("cosh", "the result exceeds the largest float, 1.8e308; keep x between -710 and 710")
def cosh(a: Value) -> Output:
    """The hyperbolic cosine (e^a + e^-a) / 2;  d/da = sinh a."""

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += functions.sinh(a.data) * upstream

    return functions.cosh(a.data), _backward


@operation("erf")
def erf(a: Value) -> Output:
    """The error function: 2/sqrt(pi) times the integral of e^(-t^2) for t from 0 to a.

    d/da = 2/sqrt(pi) e^(-a^2).  For a standard normal x, P(x < a) = (1 + erf(a / sqrt 2)) / 2.
    """

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += 2 / math.sqrt(math.pi) * arithmetic.exp(-a.data * a.data) * upstream

    return functions.erf(a.data), _backward


@operation("expm1", "the result exceeds the largest float, 1.8e308; keep x below 709")
def expm1(a: Value) -> Output:
    """The exponential less one, e^a - 1, accurate also for a near 0;  d/da = e^a."""
    e = functions.expm1(a.data)

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += (e + 1) * upstream

    return e, _backward


@operation("log1p", "the logarithm of 1 + x needs x > -1")
def log1p(a: Value) -> Output:
    """The logarithm of 1 + a, accurate also for a near 0, for a > -1;  d/da = 1 / (1 + a)."""

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += upstream / (1 + a.data)

    return functions.log1p(a.data), _backward


@operation("logaddexp")
def logaddexp(a: Value, b: Value) -> Output:
    """The logarithm of e^a + e^b, also where these would overflow.

    d/da = 1 / (1 + e^(b - a)),  d/db = 1 / (1 + e^(a - b))
    """

    def _backward(upstream: Number, a: Value, b: Value) -> None:
        a.grad += arithmetic.sigmoid(a.data - b.data) * upstream
        b.grad += arithmetic.sigmoid(b.data - a.data) * upstream

    return functions.logaddexp(a.data, b.data), _backward


@operation("softplus")
def softplus(a: Value) -> Output:
    """The smooth rectifier log(1 + e^a), which does not overflow;  d/da = 1 / (1 + e^-a)."""

    def _backward(upstream: Number, a: Value) -> None:
        a.grad += arithmetic.sigmoid(a.data) * upstream

    return functions.logaddexp(a.data, 0.0), _backward


_METHODS = tan, arctan, sinh, cosh, erf, expm1, log1p, arcsin, arccos, arctan2, logaddexp, softplus
_IN_PYTORCH = {"asin": arcsin, "acos": arccos, "atan": arctan, "atan2": arctan2}
for _name, _method in ({f.__name__: f for f in _METHODS} | _IN_PYTORCH).items():
    setattr(Value, _name, _method)  # node.py declares them, for type checkers


# ---- 2. Choices


def take(table: Any, index: SupportsIndex) -> Any:
    """`table[index]` for 0 <= index < len(table), also for a traced index.

    Raises IndexError if the index is out of range or negative, TypeError if it is not an integer.
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

    Drawings of arrays show it, in numbers and in letters; NumPy multiplies Value by Value.
    """
    return (upstream, transposed(right)), (transposed(left), upstream)


def _operands(entries: Sequence[Any]) -> list[Value]:
    beside = next(entry for entry in entries if isinstance(entry, Value))
    return [as_operand(entry, beside) for entry in entries]


choices.update(where=_where, take=_take)

# ---- 3. Loops


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    state: Any,
    xs: Any = None,
    length: SupportsIndex | None = None,
) -> tuple[Any, list[Any]]:
    """The last state of a loop, and a list of the outputs of its steps.

        outputs = []
        for x in xs:
            state, output = step(state, x)
            outputs.append(output)

    In a compiled function, it stays a loop: a step is recorded once, forward and backward, so that
    10,000 steps take no longer to compile than 10. (Loops whose steps differ in form, and those
    inside of a derivative, are recorded step by step.)

    Args:
        step: a function of the state and an entry of xs. It returns a tuple: the next state, and an
            output or None. Once compiled, it must not change what is outside of it.
        state: the first state: a number, a Value, or a list, tuple, array or dict of these.
        xs: a list or an array, with an entry for each step: zip(a, b) for pairs.
        length: the number of steps, if xs is not given; step gets None instead of an entry.

    >>> x, heights = scan(lambda x, rate: (x * rate, x), Value(1.0), [2.0, 3.0, 4.0])
    >>> x.data, [height.data for height in heights]
    (24.0, [1.0, 2.0, 6.0])
    """
    if xs is None and length is None:
        raise TypeError("scan expects xs or length: the number of steps, as in length=100")
    if isinstance(xs, dict) or (isinstance(xs, tuple) and any(map(shape_of, xs))):
        fix = "write zip(a, b) where each of them has a number for each step, else list(xs)"
        raise TypeError(f"scan expects xs as a list of entries, got a {type(xs).__name__}: {fix}")
    entries = [None] * operator.index(length or 0) if xs is None else plain(xs)
    entries = entries if hasattr(entries, "dtype") else [*entries]  # a step may change a list
    if length is not None and operator.index(length) != len(entries):
        raise ValueError(f"scan got {len(entries)} entries as xs, but length={length}")
    return (loops.get() or unrolled)(step, state, entries)


def unrolled(step: Callable[..., Any], state: Any, entries: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The results of `scan`, step by step."""
    outputs = []
    for x in entries:
        state, output = pair_of(step(state, x))
        outputs.append(output)
    return state, outputs


def pair_of(returned: Any) -> tuple[Any, Any]:
    """What a step of `scan` returned, if it is a pair."""
    if isinstance(returned, tuple) and len(returned) == 2:
        return returned
    got = f"{returned!r:.40}: write `return state, None` if there is no output"
    raise TypeError(f"a step of scan returns a tuple (state, output), got {got}")
