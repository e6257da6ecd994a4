"""Pass 1: a recording that writes nothing down twice, and nothing that changes nothing.

Closures written for one number at a time leave much behind that a program need not do: 0 + x where
a gradient begins, 1 * x where the seed is handed on, the same product in two closures. The
recording of chapter 8 writes all of it down, since it is there to be looked at. This one simplifies
on the way:

    constants           2 * 3 is computed here and now
    neutral elements    x + 0, x - 0, 1 * x, x / 1, x ** 1 are x; -1 * x is -x, -(-x) is x
    signs               x + -y is x - y, x - -y is x + y
    twice the same      x + x is 2 * x
    powers              x ** 2 is x * x, x ** 0 is 1, x ** -1 is 1 / x, x ** 0.5 is sqrt(x),
                        x ** -0.5 is 1 / sqrt(x)
    one answer          where(c, x, x) is x
    repetition          an operation on the same operands has the same result

It never turns x * 0 into 0: were x infinite or not a number, eager arithmetic would say so.

    >>> from micrograd.engine import Value
    >>> recording = Simplified()
    >>> x = Value(recording.input(3.0))
    >>> (x * x).backward()
    >>> x.grad
    Traced(* of 3, 0)
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from micrograd import arithmetic
from micrograd.arithmetic import Number
from micrograd.trace import Instruction, Recording, Traced

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
    "is": operator.eq,
    "where": arithmetic.where,
    **{
        name: getattr(arithmetic, name)
        for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "relu")
    },
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
}
CONDITIONS = ("<", "<=", ">", ">=", "is")
NEUTRAL = {  # by operation, place and number: what is left, as the place of an operand
    ("+", 0, 0): 1, ("+", 1, 0): 0, ("-", 1, 0): 0, ("*", 0, 1): 1, ("*", 1, 1): 0,
    ("/", 1, 1): 0, ("**", 1, 1): 0,
}  # fmt: skip

SHOWN = 500  # instructions that are written out at both ends of a list


class Instructions(Sequence[Instruction]):
    """A list of instructions, kept in columns: most of them are never looked at one by one.

    Python's collector walks through all objects that hold others, again and again while a graph
    grows. Lists of strings and of plain tuples give it nothing to do; a hundred thousand
    instructions, each an object, would.

    Attributes:
        ops: what each of them does.
        operands: the places of earlier ones, on whose results.
        numbers: those of inputs and constants, by their place.

    >>> steps = Instructions()
    >>> steps.add("constant", (), 2.0), steps.add("neg", (0,))
    (0, 1)
    >>> steps
    0  constant 2.0
    1  neg 0
    >>> steps[0].number
    2.0
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.operands: list[tuple[int, ...]] = []
        self.numbers: dict[int, Number] = {}

    def add(self, op: str, operands: tuple[int, ...], number: Any = None) -> int:
        """One more; returns its place."""
        place = len(self.ops)
        self.ops.append(op)
        self.operands.append(operands)
        if not operands:
            self.numbers[place] = number
        return place

    def __len__(self) -> int:
        return len(self.ops)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return list(self)[place]
        place = range(len(self))[place]  # -1 is the last
        return Instruction(self.ops[place], self.operands[place], self.numbers.get(place))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        hidden = range(SHOWN, len(self) - SHOWN)
        lines = [self._line(place) for place in range(len(self)) if place not in hidden]
        lines[SHOWN:SHOWN] = [f"... {len(hidden)} more ..."] if hidden else []
        return "\n".join(lines)

    def _line(self, place: int) -> str:
        op, operands = self.ops[place], self.operands[place]
        of = [self.numbers[place]] if op == "constant" else operands
        return " ".join(map(str, (f"{place} ", op, *of)))


class Simplified(Recording):
    """A recording that simplifies; `instructions` has no two that do the same.

    >>> recording = Simplified()
    >>> x = recording.input(3.0)
    >>> 0 + x * 1, x + 2, 2 + x
    (Traced(input of 3.0), Traced(+ of 0, 2), Traced(+ of 0, 2))
    >>> recording.record("**", x, 2)
    Traced(* of 0, 0)
    >>> [step.op for step in recording.instructions]
    ['input', 'constant', 'constant', '+', '*']
    """

    def __init__(self) -> None:
        super().__init__()
        self._recorded = Instructions()
        self._places: dict[str, dict[Any, int]] = defaultdict(dict)  # by op and operands
        self._numbers: dict[int, Number] = {}  # of constants, by their place
        self._notable: set[int] = set()  # constants, negatives, conditions: others never simplify

    @property
    def instructions(self) -> Instructions:
        """What has been recorded so far."""
        return self._recorded

    def input(self, number: Number) -> Traced:
        """A number that will be another one when the program runs."""
        return Traced(self, self._recorded.add("input", (), number))

    def constant(self, number: Number) -> Traced:
        """A number that stays what it is; equal ones share a place."""
        return Traced(self, self._constant(number))

    def place(self, number: Number) -> int:
        """Where a number stands, a recorded one or a constant; of a condition 1 or 0."""
        return self._number(number.place if type(number) is Traced else self._constant(number))

    def result(self, op: str, operands: tuple[int, ...], number: Any = None) -> Traced:
        """The result of an operation on what stands at these places, simplified.

        >>> recording = Simplified()
        >>> x, y = recording.input(3.0), recording.input(4.0)
        >>> recording.result("*", (0, 1)), recording.result("*", (0, 1)).place
        (Traced(* of 0, 1), 2)
        """
        return Traced(self, self.simplified(op, operands))

    def simplified(self, op: str, operands: tuple[int, ...]) -> int:
        """The place of the result of an operation on the results at some places.

        >>> recording = Simplified()
        >>> x, one = recording.input(3.0), recording.constant(1)
        >>> recording.simplified("*", (one.place, x.place))
        0
        """
        known = self._places[op]
        place = known.get(operands)
        if place is None:
            if op == "+" and operands[0] == operands[1]:
                place = self.simplified("*", (self._constant(2), operands[0]))
            elif op == "where" or not self._notable.isdisjoint(operands):
                place = self._simpler(op, operands)
            if place is None and op in ("+", "*"):  # in either order the same
                a, b = operands
                place = known.get((b, a))
            if place is None:
                place = self._recorded.add(op, operands)
                if op == "neg" or op in CONDITIONS:
                    self._notable.add(place)
            known[operands] = place
        return place

    def _constant(self, number: Number) -> int:
        known = self._places["constant"]
        key = repr(float(number))  # since -0.0 is not 0.0, and NaN is itself
        place = known.get(key)
        if place is None:
            if isinstance(number, (int, float)):
                number = +number  # a plain one, also of a member of an enum
            place = known[key] = self._recorded.add("constant", (), number)
            self._numbers[place] = number
            self._notable.add(place)
        return place

    def _simpler(self, op: str, operands: tuple[int, ...]) -> int | None:
        numbers = [self._numbers.get(place) for place in operands]
        if None not in numbers and op in FUNCTIONS:
            try:
                return self._constant(FUNCTIONS[op](*numbers))
            except (ArithmeticError, ValueError):
                return None  # what the program gives there is decided when it runs
        proper = self._proper(op, operands)
        if proper != operands:
            return self.simplified(op, proper)
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
            if op == "**" and i == 1 and number in (0, 2, -1, 0.5, -0.5):
                return self._power(first, number)
        opposite_of_first, opposite_of_last = self._opposite(first), self._opposite(last)
        if op == "neg" and opposite_of_first is not None:
            return opposite_of_first
        if op in ("+", "-") and opposite_of_last is not None:
            return self.simplified("-" if op == "+" else "+", (first, opposite_of_last))
        if op == "+" and opposite_of_first is not None:
            return self.simplified("-", (last, opposite_of_first))
        if op == "where":
            condition, a, b = operands
            if self._recorded.ops[condition] not in CONDITIONS and numbers[0] is None:
                is_zero = self.simplified("is", (condition, self._constant(0)))
                return self.simplified("where", (is_zero, b, a))
            if a == b or numbers[0] is not None:
                return b if a == b or not numbers[0] else a
        return None

    def _opposite(self, place: int) -> int | None:
        return self._recorded.operands[place][0] if self._recorded.ops[place] == "neg" else None

    def _proper(self, op: str, operands: tuple[int, ...]) -> tuple[int, ...]:
        # A condition may only be asked by a where; elsewhere it is the number 1 or 0.
        asked = 1 if op == "where" else 0
        return (*operands[:asked], *map(self._number, operands[asked:]))

    def _number(self, place: int) -> int:
        if self._recorded.ops[place] not in CONDITIONS:
            return place
        return self.simplified("where", (place, self._constant(1), self._constant(0)))

    def _power(self, x: int, exponent: Number) -> int:
        if exponent == 0:
            return self._constant(1)
        if exponent == 2:
            return self.simplified("*", (x, x))
        root = x if exponent == -1 else self.simplified("sqrt", (x,))
        return root if exponent > 0 else self.simplified("/", (self._constant(1), root))
