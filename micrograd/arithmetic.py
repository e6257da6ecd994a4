"""Chapter 0: functions of numbers of any kind, on which the engine's operations are built.

A float takes the fast path into Python's `math`. Any other kind of number that knows a function, as
`Value` itself or a number that only records what is done to it, is asked to do it, by a method of
the same name. A fraction stays a fraction where that is exact, and is refused where it is not.

The file ends with what is said when arithmetic fails.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Sequence
from typing import Any

Number = Any  # a float, or whatever computes like one


def as_number(x: Any) -> Number:
    """A float for Python's and NumPy's plain real numbers, other kinds of number as they are.

    Returns NotImplemented for what is no real number: text, lists, arrays, complex numbers.

    >>> from fractions import Fraction
    >>> as_number(True), as_number(Fraction(1, 3)), as_number("1")
    (1.0, Fraction(1, 3), NotImplemented)
    """
    if getattr(x, "shape", None) == ():  # a NumPy scalar, or an array of no dimensions
        x = x.item()
    if isinstance(x, (float, int)) or (isinstance(x, numbers.Real) and hasattr(x, "dtype")):
        try:
            return float(x)
        except OverflowError:
            reason = "an int above the largest float, 1.8e308"
            raise OverflowError(f"{reason}: pass it as a Fraction, which stays exact") from None
    is_complex = isinstance(x, numbers.Complex) and not isinstance(x, numbers.Real)
    return x if isinstance(x, numbers.Number) and not is_complex else NotImplemented


def as_exact(x: Any) -> Number:
    """An int for Python's and NumPy's integers, what `as_number` makes of all else.

    >>> as_exact(True), as_exact(0.5)
    (1, 0.5)
    """
    if type(x) is int or type(x) is float:
        return x
    return int(x) if isinstance(x, numbers.Integral) else as_number(x)


def as_kind_of(beside: Number, x: Any) -> Number:
    """The plain number x as the kind of number that it meets, so that fractions stay exact.

    >>> from fractions import Fraction
    >>> as_kind_of(2.0, 3), as_kind_of(Fraction(1, 2), 3)
    (3.0, Fraction(3, 1))
    """
    x = as_number(x) if isinstance(beside, float) else as_exact(x)
    is_exact: Any = isinstance(x, int) and isinstance(beside, numbers.Rational)
    return beside * 0 + x if is_exact else x


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`: the only choice on data in this package.

    A bool picks; any other condition, such as a recording number's, answers `.where(a, b)` itself.

    >>> where(3.0 > 2.0, "above", "below")
    'above'
    """
    if hasattr(condition, "where"):
        return condition.where(a, b)
    return a if condition else b


def take(table: Any, index: Any) -> Any:
    """`table[index]`, 0 <= index < len(table); a recording index answers `.take(table)` itself.

    Raises:
        IndexError: the index is outside the table (negative ones do not count from the end).
        TypeError: the index is no integer.

    >>> take(["zero", "one"], 1)
    'one'
    """
    if hasattr(index, "take") and not hasattr(index, "dtype"):  # NumPy's take is another one
        return index.take(table)
    try:
        position = operator.index(index)
    except TypeError:
        raise TypeError(f"take expects an int as index, got {index!r}") from None
    if not 0 <= position < len(table):
        raise IndexError(f"take expects 0 <= index < {len(table)}, got {position}")
    return table[position]


def _function(name: str, of_float: Callable[[float], float]) -> Callable[[Number], Number]:
    def function(x: Number) -> Number:
        if isinstance(x, (float, int)):
            return of_float(x)
        if callable(getattr(x, name, None)):  # exp is the exponent in some packages
            return getattr(x, name)()
        if isinstance(as_number(x), float):  # a NumPy number, assigned to data by hand
            return of_float(float(x))
        raise TypeError(
            f"{name} is not defined on {x!r}: other numbers than floats go through + - * /, whole "
            "powers, abs, relu, maximum and minimum alone; convert it with float()"
        )

    return function


def _sigmoid(x: float) -> float:
    e = math.exp(-abs(x))  # at most 1, where exp(-x) would overflow at x = -1000
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
    """The larger of x and y, their mean where they are equal (and NaN where one is).

    >>> maximum(2, 3.0)
    3.0
    """
    if isinstance(x, float) and isinstance(y, float):
        return x if x > y or x != x else y  # only NaN differs from itself
    for one, other in ((x, y), (y, x)):
        if hasattr(one, "maximum"):
            return one.maximum(other)
    return where(x > y, x, where(x < y, y, x / 2 + y / 2))


def minimum(x: Number, y: Number) -> Number:
    """The smaller of x and y, their mean where they are equal (and NaN where one is).

    >>> minimum(2, 3.0)
    2
    """
    if isinstance(x, float) and isinstance(y, float):
        return x if x < y or x != x else y
    for one, other in ((x, y), (y, x)):
        if hasattr(one, "minimum"):
            return one.minimum(other)
    return where(x < y, x, where(x > y, y, x / 2 + y / 2))


def half(x: Number) -> Number:
    """Half of x, where an even int stays an int: 0 / 2 would be a float among fractions.

    >>> half(0), half(3.0)
    (0, 1.5)
    """
    return x // 2 if isinstance(x, int) and x % 2 == 0 else x / 2


def power(x: Number, y: Number) -> Number:
    """The power x ** y, a real number of the same kind as x.

    Raises:
        ValueError: x is negative and y fractional, where Python would go on with a complex number.
        TypeError: x is a fraction and y no whole number, where Python would go on with a float.

    >>> from fractions import Fraction
    >>> power(Fraction(2, 3), -2)
    Fraction(9, 4)
    """
    z = x**y
    if isinstance(z, complex):
        raise ValueError(f"{x!r} to the power {y!r} is not real")
    if isinstance(z, float) and not isinstance(x, (float, int)) and isinstance(x, numbers.Rational):
        raise TypeError(f"{x!r} ** {y!r} is not exact: use an int as exponent, or float()")
    return z


advice = {  # why an operation fails where it does, and the way out; the engine adds its own
    "** ZeroDivisionError": "0 has no negative power; keep the base away from 0, as by + 1e-8",
    "** OverflowError": "the power passes the largest float, 1.8e308; bring the base nearer to 1",
    "** ValueError": "a fractional power, and the derivative by an exponent that is a Value, need "
    "a base above 0; use .maximum(1e-8), or a whole number as exponent",
}


FAILURES = ArithmeticError, ValueError, TypeError, RecursionError  # of an operation
_kinds_met: set[type] = set()  # as results of operations: numbers, float and Value aside


def misuse(node: Any) -> TypeError | None:
    """The error of a Value whose data or grad cannot be meant, or None.

    What users assign is checked where it is used: to check it at once would take a __setattr__,
    which would double the cost of a node.

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
    for other in nearby:  # grows: first the data, then the nodes that it was computed from
        if other is node:
            fix = "use .data on the right, too, as in p.data = p.data - 0.1 * p.grad"
            return TypeError(f"{name} has as its data a Value that was computed from it: {fix}")
        if len(nearby) < 50:  # an update has its parameter nearby, and graphs can be large
            nearby += other._prev
    return None


def misuse_behind(data: Any, op: str, operands: Sequence[Any]) -> TypeError | None:
    """The error of an operation whose result is not a float, or None.

    >>> misuse_behind(2, "+", [])
    """
    if type(data) in _kinds_met:
        return None
    if hasattr(data, "_prev"):  # higher derivatives, if the leaves were not assigned a Value
        return next(filter(None, map(misuse, (a for a in operands if not a._prev))), None)
    number = as_number(data)
    if number is NotImplemented:
        reason = TypeError(f"{op} gave {type(data).__name__} {data!r:.40}: expected a number")
        return next(filter(None, map(misuse, operands)), reason)
    if number is data:
        _kinds_met.add(type(data))
    return None


def explained(error: Exception, op: str, operands: Sequence[Any], when: str = "") -> Exception:
    """The same error in Python's own class, naming the operation, its operands and the fix.

    >>> from micrograd.engine import Value
    >>> print(explained(ValueError("not so"), "f", [Value(1.0), Value(0.0, label="rest")]))
    f(x, y) with x = 1.0 and y = 0.0 ('rest'): not so
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
    if "**" in op:  # **0.5 has its exponent in its name, 2** its base
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
    return kind(f"{place}{formula} with {known}: {why}")
