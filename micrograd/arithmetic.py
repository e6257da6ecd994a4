"""Functions that work on any kind of number; the engine's operations are built from them.

For a float, a function calls Python's `math`. For any other number, such as a `Value` or a traced
number, it calls the number's own method of the same name. Fractions stay exact where that is
possible; functions that would make them inexact raise a TypeError.

The functions at the end of the file write the error messages of operations.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Sequence
from typing import Any

Number = Any  # a float, or anything that supports the same arithmetic


def as_number(x: Any) -> Number:
    """A plain Python or NumPy real number as a float; other kinds of real number unchanged.

    Returns NotImplemented for anything else: text, lists, arrays, complex numbers.

    >>> from fractions import Fraction
    >>> as_number(True), as_number(Fraction(1, 3)), as_number("1")
    (1.0, Fraction(1, 3), NotImplemented)
    """
    if getattr(x, "shape", None) == ():  # a NumPy scalar or a zero-dimensional array
        x = NotImplemented if getattr(x, "mask", False) else x.item()  # masked: it is missing
    if isinstance(x, (float, int)) or (isinstance(x, numbers.Real) and hasattr(x, "dtype")):
        try:
            return float(x)
        except OverflowError:
            reason = "expected an int up to the largest float, 1.8e308, got a larger one"
            raise OverflowError(f"{reason}: pass a Fraction, which stays exact") from None
    is_complex = isinstance(x, numbers.Complex) and not isinstance(x, numbers.Real)
    return x if isinstance(x, numbers.Number) and not is_complex else NotImplemented


def as_exact(x: Any) -> Number:
    """A Python or NumPy integer as an int; anything else as `as_number` returns it.

    >>> as_exact(True), as_exact(0.5)
    (1, 0.5)
    """
    if type(x) is int or type(x) is float:
        return x
    return int(x) if isinstance(x, numbers.Integral) else as_number(x)


def as_kind_of(beside: Number, x: Any) -> Number:
    """The plain number x as a number of the same kind as `beside`, so that fractions stay exact.

    >>> from fractions import Fraction
    >>> as_kind_of(2.0, 3), as_kind_of(Fraction(1, 2), 3)
    (3.0, Fraction(3, 1))
    """
    x = as_number(x) if isinstance(beside, float) else as_exact(x)
    is_exact: Any = isinstance(x, int) and isinstance(beside, numbers.Rational)
    return beside * 0 + x if is_exact else x


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` if the condition holds, else `b`; operations use this function instead of `if`.

    A bool picks one of them; any other condition, such as a traced one, must have `.where(a, b)`.

    >>> where(3.0 > 2.0, "above", "below")
    'above'
    """
    if hasattr(condition, "where"):
        return condition.where(a, b)
    return a if condition else b


def take(table: Any, index: Any) -> Any:
    """`table[index]` for 0 <= index < len(table); a traced index must have `.take(table)`.

    Raises:
        IndexError: the index is out of range; negative indices do not count from the end.
        TypeError: the index is not an integer.

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


def _function(name: str, of_float: Callable[[float], float]) -> Callable[[Number], Number]:
    def function(x: Number) -> Number:
        if isinstance(x, (float, int)):
            return of_float(x)
        if callable(getattr(x, name, None)):  # in mpmath, x.exp is the exponent, not a method
            return getattr(x, name)()
        if isinstance(as_number(x), float):  # a NumPy number that was assigned to .data
            return of_float(float(x))
        raise TypeError(
            f"{name} is not defined for {x!r}: numbers other than floats support only + - * /, "
            "integer powers, abs, relu, maximum and minimum; convert this one with float()"
        )

    return function


def _sigmoid(x: float) -> float:
    e = math.exp(-abs(x))  # at most 1, while exp(-x) would overflow at x = -1000
    return (e if x < 0 else 1.0) / (1.0 + e)


exp = _function("exp", math.exp)
log = _function("log", math.log)
sqrt = _function("sqrt", math.sqrt)
sin = _function("sin", math.sin)
cos = _function("cos", math.cos)
tanh = _function("tanh", math.tanh)
sigmoid = _function("sigmoid", _sigmoid)


def relu(x: Number) -> Number:
    """The larger of x and 0.

    >>> relu(-2.0), relu(3.0)
    (0.0, 3.0)
    """
    if isinstance(x, (float, numbers.Rational)):
        zero: Any = type(x)
        return zero() if x < 0 else x
    return x.relu() if hasattr(x, "relu") else where(x < 0, 0, x)


def maximum(x: Number, y: Number) -> Number:
    """The larger of x and y; NaN if either is NaN.

    >>> maximum(2, 3.0)
    3.0
    """
    if isinstance(x, float) and isinstance(y, float):
        return x if x > y or x != x else y  # only NaN differs from itself
    for one, other in ((x, y), (y, x)):
        if hasattr(one, "maximum"):
            return one.maximum(other)
    return where(x > y, x, where(x < y, y, x / 2 + y / 2))  # if equal, their mean; if NaN, NaN


def minimum(x: Number, y: Number) -> Number:
    """The smaller of x and y; NaN if either is NaN.

    >>> minimum(2, 3.0)
    2
    """
    if isinstance(x, float) and isinstance(y, float):
        return x if x < y or x != x else y
    for one, other in ((x, y), (y, x)):
        if hasattr(one, "minimum"):
            return one.minimum(other)
    return where(x < y, x, where(x > y, y, x / 2 + y / 2))  # if equal, their mean; if NaN, NaN


def half(x: Number) -> Number:
    """Half of x; an even int stays an int: adding a float, even 0.0, makes a fraction inexact.

    >>> half(0), half(3.0)
    (0, 1.5)
    """
    return x // 2 if isinstance(x, int) and x % 2 == 0 else x / 2


def power(x: Number, y: Number) -> Number:
    """The power x ** y, a real number of the same kind as x.

    Raises:
        ValueError: x is negative and y is not an integer; Python would return a complex number.
        TypeError: x is a fraction and y is not an integer; Python would return a float.

    >>> from fractions import Fraction
    >>> power(Fraction(2, 3), -2)
    Fraction(9, 4)
    """
    z = x**y
    if isinstance(z, complex):
        raise ValueError(f"{x!r} to the power {y!r} is not real")
    if isinstance(z, float) and not isinstance(x, (float, int)) and isinstance(x, numbers.Rational):
        raise TypeError(f"{x!r} ** {y!r} is not exact: use an int as the exponent, or float()")
    return z


advice = {  # why an operation fails, and how to fix it; engine.py adds more entries
    "** ZeroDivisionError": "0 cannot have a negative exponent; keep the base away from 0, for "
    "example by adding 1e-8",
    "** OverflowError": "the power exceeds the largest float, 1.8e308; use a base closer to 1",
    "** ValueError": "a fractional exponent, or a derivative with respect to the exponent, needs a "
    "base above 0; use .maximum(1e-8) on the base, or an int as the exponent",
}


FAILURES = ArithmeticError, ValueError, TypeError, RecursionError  # what operations may raise
_known_kinds: set[type] = set()  # result types that are known to be numbers


def misuse(node: Any) -> TypeError | None:
    """The error to raise if the data or grad of a Value was set to something invalid, else None.

    Data is checked when it is used. A check on assignment would need a __setattr__, which would
    double the cost of creating a node.

    >>> from micrograd.engine import Value
    >>> p = Value(1.0, label="p")
    >>> p.data = "3"
    >>> print(misuse(p))
    expected a number as the data of 'p', got str '3': use float()
    """
    name = repr(node.label) if node.label else "a Value"
    for attribute, fix in ("data", "use float()"), ("grad", "reset it to 0"):
        x = getattr(node, attribute)
        if as_number(x) is NotImplemented:
            got = f"got {type(x).__name__} {x!r:.40}"
            return TypeError(f"expected a number as the {attribute} of {name}, {got}: {fix}")
    nearby = [node.data] if hasattr(node.data, "_prev") else []
    for other in nearby:  # grows in the loop: the data, then the nodes it was computed from
        if other is node:
            reason = f"the data of {name} is a Value that was computed from {name} itself"
            fix = "use .data on the right as well, as in p.data = p.data - 0.1 * p.grad"
            return TypeError(f"{reason}: {fix}")
        if len(nearby) < 50:  # self-reference shows within a few nodes, and graphs can be large
            nearby += other._prev
    return None


def result_error(data: Any, op: str, operands: Sequence[Any]) -> TypeError | None:
    """The error to raise if the result of an operation is not a number, else None."""
    if type(data) in _known_kinds:
        return None
    if hasattr(data, "_prev"):  # a Value: for higher derivatives, or put into a leaf by mistake
        return next(filter(None, map(misuse, (a for a in operands if not a._prev))), None)
    number = as_number(data)
    if number is NotImplemented:
        reason = TypeError(f"{op} gave {type(data).__name__} {data!r:.40}: expected a number")
        return next(filter(None, map(misuse, operands)), reason)
    if number is data:
        _known_kinds.add(type(data))
    return None


def explained(
    error: Exception, op: str, operands: Sequence[Any], when: str = "", node: Any = None
) -> Exception:
    """An error of the same kind, whose message names the operation, its operands and the fix.

    An arithmetic error has an attribute `graph`: the node that failed, from which its graph can be
    drawn. An operation that failed has no result, so its data is NaN.

    >>> from micrograd.engine import Value
    >>> found = explained(ValueError("no result"), "f", [Value(1.0), Value(0.0, label="rest")])
    >>> print(found)
    f(x, y) with x = 1.0 and y = 0.0 ('rest'): no result
    >>> found.graph, found.graph._prev
    (Value(data=nan, grad=0), (Value(data=1.0, grad=0), Value(data=0.0, grad=0)))
    """
    if reason := next(filter(None, map(misuse, operands)), None):
        return reason
    if isinstance(error, (TypeError, RecursionError)):
        if str(error).startswith("unsupported operand"):  # Decimal("0.1") * 0.5
            named = " and ".join(type(a.data).__name__ for a in operands)
            return TypeError(f"{op} of {named} is not defined: convert both with float()")
        return error
    kinds = (ZeroDivisionError, OverflowError, ArithmeticError, ValueError)
    kind: type[Exception] = next(k for k in kinds if isinstance(error, k))
    names = "xyzuvw"[: len(operands)]
    symbol, base, exponent = op, "x", names[-1:]
    if "**" in op:  # the name `**0.5` includes the exponent, and the name `2**` the base
        before, symbol, after = op.partition("**")
        base, exponent = before or base, after or exponent
    formula = f"{base} {symbol} {exponent}"
    if op.isidentifier():
        formula = f"{op}({', '.join(names)})"
    known = " and ".join(
        f"{name} = {a.data!r}" + (f" ({a.label!r})" if a.label else "")
        for name, a in zip(names, operands, strict=False)
    )
    why = advice.get(f"{symbol} {kind.__name__}") or advice.get(op) or error
    place = f"in the {when} of " if when else ""
    raised = kind(f"{place}{formula} with {known}: {why}")
    vars(raised)["graph"] = node or _failed(op, operands, str(raised))
    # A graph cannot be pickled, but the error can be, without it: another process may raise it.
    vars(raised)["__reduce_ex__"] = lambda _, parts=(kind, raised.args): parts
    return raised


def explained_at(node: Any, error: Exception, when: str) -> Exception:
    """The error of `explained` for a node that exists: its derivative is what failed."""
    return explained(error, node._op, node._prev, when, node)


def _failed(op: str, operands: Sequence[Any], message: str) -> Any:
    def _backward(upstream: Any, *operands: Any) -> None:
        raise ValueError(message)  # the text alone: the error itself would be a reference cycle

    node = operands[0].detach()  # a plain Value
    node.data, node._prev, node._op, node._closure = math.nan, tuple(operands), op, _backward
    return node
