"""Pass 1: a recording that writes nothing down twice, and nothing that changes nothing.

Closures written for one number at a time leave much behind that a program need not do: 0 + x where
a gradient begins, 1 * x where the seed is handed on, the same product in two closures. The
recording of chapter 8 writes all of it down, since it is there to be looked at. This one simplifies
on the way:

    constants           2 * 3 is computed here and now
    neutral elements    x + 0, x - 0, 1 * x, x / 1, x ** 1 are x; -1 * x is -x, -(-x) is x
    powers              x ** 2 is x * x, x ** 0 is 1, x ** -1 is 1 / x, x ** 0.5 is sqrt(x)
    one answer          where(c, x, x) is x
    repetition          an operation on the same operands has the same result

It never turns x * 0 into 0: were x infinite or not a number, eager arithmetic would say so.

    >>> from micrograd.engine import Value
    >>> recording = Simplified()
    >>> x = Value(recording.input(3.0))
    >>> (x * x).backward()
    >>> x.grad
    Traced(+ of 0, 0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from micrograd import arithmetic
from micrograd.arithmetic import Number
from micrograd.trace import Recording, Traced

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": arithmetic.power,
    "neg": operator.neg,
    "abs": abs,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "where": arithmetic.where,
    **{
        name: getattr(arithmetic, name)
        for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "relu")
    },
}
NEUTRAL = {  # by operation, place and number: what is left, as the place of an operand
    ("+", 0, 0): 1, ("+", 1, 0): 0, ("-", 1, 0): 0, ("*", 0, 1): 1, ("*", 1, 1): 0,
    ("/", 1, 1): 0, ("**", 1, 1): 0,
}  # fmt: skip


class Simplified(Recording):
    """A recording that simplifies; `instructions` has no two that do the same.

    >>> recording = Simplified()
    >>> x = recording.input(3.0)
    >>> 0 + x * 1, x + 2, 2 + x
    (Traced(input of 3.0), Traced(+ of 0, 3), Traced(+ of 0, 3))
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[Any, int] = {}  # of instructions, by what they do
        self._numbers: dict[int, Number] = {}  # of constants, by their place

    def constant(self, number: Number) -> Traced:
        """A number that stays what it is; equal ones share a place."""
        key = ("constant", repr(float(number)))  # by repr -0.0 is not 0.0, and nan is itself
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = super().constant(number).place
            self._numbers[place] = number
        return Traced(self, place)

    def _add(self, op: str, operands: tuple[int, ...], number: Any = None) -> Traced:
        if not operands:
            return super()._add(op, operands, number)
        return Traced(self, self.simplified(op, operands))

    def simplified(self, op: str, operands: tuple[int, ...]) -> int:
        """The place of the result of an operation on the results at some places.

        >>> recording = Simplified()
        >>> x, one = recording.input(3.0), recording.constant(1)
        >>> recording.simplified("*", (one.place, x.place))
        0
        """
        place = self._simpler(op, operands)
        if place is None:
            place = self._places.get((op, operands))
        if place is None and op in ("+", "*"):
            place = self._places.get((op, operands[::-1]))
        if place is None:
            place = self._places[op, operands] = super()._add(op, operands).place
        return place

    def _simpler(self, op: str, operands: tuple[int, ...]) -> int | None:
        numbers = [self._numbers.get(place) for place in operands]
        if None not in numbers and op in FUNCTIONS:
            try:
                return self.constant(FUNCTIONS[op](*numbers)).place
            except (ArithmeticError, ValueError):
                return None  # what the program gives there is decided when it runs
        first, last = operands[0], operands[-1]
        for i, number in enumerate(numbers):
            if number is None:
                continue
            if (op, i, number) in NEUTRAL:
                return operands[NEUTRAL[op, i, number]]
            if op == "*" and number == -1:
                return self.simplified("neg", (operands[1 - i],))
            if op == "-" and i == 0 and number == 0:
                return self.simplified("neg", (last,))
            if op == "**" and i == 1 and number in (0, 2, -1, 0.5):
                return self._power(first, number)
        if op == "neg" and self.instructions[first].op == "neg":
            return self.instructions[first].operands[0]
        if op == "where":
            _, a, b = operands
            if a == b or numbers[0] is not None:
                return b if a == b or not numbers[0] else a
        return None

    def _power(self, x: int, exponent: Number) -> int:
        if exponent == 0:
            return self.constant(1).place
        if exponent == 2:
            return self.simplified("*", (x, x))
        if exponent == -1:
            return self.simplified("/", (self.constant(1).place, x))
        return self.simplified("sqrt", (x,))
