"""Functions that work on any kind of number; the engine's operations are built from them.

For a float, a function calls Python's `math`; for any other number, such as a `Value` or a traced
number, its method of the same name. What would make a fraction inexact raises a TypeError.
"""

import math
import numbers
import operator
from collections.abc import Callable
from numbers import Complex, Integral, Rational, Real
from typing import Any

Number = Any  # a float, or anything that supports the same arithmetic
OfTwo = Callable[[Number, Number], Number]


def as_number(x: Number, like: Number = 0.0) -> Number:
    """The real number x, of the same kind as `like`; NotImplemented for text, arrays and the rest.

    Python's and NumPy's numbers become floats; but an integer becomes a fraction beside a fraction,
    and an int beside an int. Other kinds of number stay as they are.

    >>> from fractions import Fraction
    >>> as_number(True), as_number(2, like=Fraction(1, 2)), as_number(2, like=0), as_number("2")
    (1.0, Fraction(2, 1), 2, NotImplemented)
    """
    if getattr(x, "shape", None) == ():  # a NumPy scalar or a zero-dimensional array
        missing = getattr(x, "mask", False)
        x = x.item()
        if missing or hasattr(x, "detach"):  # a Value in an array is not a number
            x = NotImplemented
    if isinstance(x, Integral) and not isinstance(like, float):
        is_fraction = isinstance(like, Rational)
        return int(x) + 0 * like if is_fraction else int(x)
    if isinstance(x, (float, int)) or (isinstance(x, Real) and hasattr(x, "dtype")):
        return float(x)
    is_complex = isinstance(x, Complex) and not isinstance(x, Real)
    return x if isinstance(x, numbers.Number) and not is_complex else NotImplemented


def where(condition: object, a: Number, b: Number) -> Number:
    """`a` if the condition holds, else `b`; operations use this function instead of `if`.

    A bool picks one of them; any other condition, such as a traced one, must have `.where(a, b)`.

    >>> where(2.0 > 1.0, "a", "b")
    'a'
    """
    if hasattr(condition, "where"):
        return condition.where(a, b)
    return a if condition else b


def function_of(name: str, of_float: Callable[[float], float]) -> Callable[[Number], Number]:
    """The function of any kind of number with this name, from that of a float."""

    def function(x: Number) -> Number:
        if isinstance(x, (float, int)):
            return of_float(x)
        if callable(getattr(x, name, None)):  # in mpmath, x.exp is the exponent, not a method
            return getattr(x, name)()
        if isinstance(as_number(x), float):  # a NumPy number that was assigned to .data
            return of_float(float(x))
        has = "it has + - * /, integer powers, abs, relu, maximum, minimum; convert it with float()"
        raise TypeError(f"{name} is not defined for {x!r}: {has}")

    return function


def _sigmoid(x: float) -> float:
    e = math.exp(-abs(x))  # at most 1, while exp(-x) would overflow at x = -1000
    return (e if x < 0 else 1.0) / (1.0 + e)


OF_MATH = math.exp, math.log, math.sqrt, math.tanh, math.sin, math.cos
exp, log, sqrt, tanh, sin, cos = (function_of(f.__name__, f) for f in OF_MATH)
sigmoid = function_of("sigmoid", _sigmoid)


def relu(x: Number) -> Number:
    """The larger of x and 0."""
    if isinstance(x, (float, Rational)):
        zero: Any = type(x)
        return zero() if x < 0 else x
    return x.relu() if hasattr(x, "relu") else where(x < 0, 0, x)


def _extreme(name: str, wins: OfTwo) -> OfTwo:
    def function(x: Number, y: Number) -> Number:
        if isinstance(x, float) and isinstance(y, float):
            return x if wins(x, y) or x != x else y  # only NaN differs from itself
        for one, other in ((x, y), (y, x)):  # a traced number leaves it to a Value
            if hasattr(one, name):
                found = getattr(one, name)(other)
                if found is not NotImplemented:
                    return found
        # if they are equal, their mean; if one is NaN, NaN
        return where(wins(x, y), x, where(wins(y, x), y, x / 2 + y / 2))

    return function


maximum, minimum = _extreme("maximum", operator.gt), _extreme("minimum", operator.lt)


def half(x: Number) -> Number:
    """Half of x; of the int 0 the int 0, because 0.0 would round a fraction added to it."""
    return 0 if type(x) is int and not x else x / 2


def power(x: Number, y: Number) -> Number:
    """The power x ** y, a real number of the same kind as x.

    Raises ValueError if x is negative and y not an integer (Python would return a complex number),
    and TypeError if x is a fraction and y not an integer (Python would return a float).
    """
    z = x**y
    if isinstance(z, complex):
        raise ValueError(f"{x!r} to the power {y!r} is not real")
    if isinstance(z, float) and not isinstance(x, (float, int)) and isinstance(x, Rational):
        raise TypeError(f"{x!r} ** {y!r} is not exact: use an int as the exponent, or float()")
    return z
