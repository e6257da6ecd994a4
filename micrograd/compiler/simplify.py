"""A recording without duplicates or no-ops, and its means over lanes.

The closures of `backward()` do work that a program can skip: 0 + x where a gradient starts, 1 * x
where the seed is passed on, or the same product in two closures. `tracing.py` records all of it,
because its recordings are for reading. The recording in this file simplifies each new instruction:

    neutral elements    x + 0, x - 0, 1 * x, x / 1, x ** 1 are x, and 0 - x is -x
    equal terms         x + x is 2 * x
    powers              x ** 2 is x * x, x ** 0 is 1, x ** -1 is 1 / x, x ** 0.5 is sqrt(x),
                        x ** -0.5 is 1 / sqrt(x)
    equal choices       where(c, x, x) is x
    duplicates          the same operation on the same operands is recorded once

It never turns x * 0 into 0, because the eager result is NaN if x is infinite or NaN.

Instructions that depend only on parameters and constants are uniform: they run once. All others run
in every lane. The result of a program and the gradients of its parameters are means over lanes,
which `averaged` adds to the recording.

    >>> from micrograd.engine import Value
    >>> recording = Simplified()
    >>> x = Value(recording.input(3.0))
    >>> (x * x).backward()
    >>> x.grad
    Traced(* of 3, 0)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.core.arithmetic import Number
from micrograd.core.tracing import Instruction, Recording, Traced

CONDITIONS = ("<", "<=", ">", ">=", "is")
RULES: dict[tuple[str, int, float], Callable[[Any], Any]] = {
    # The key is an operation, the position of its constant operand, and that constant. The function
    # computes the same result from the other operand alone.
    ("+", 0, 0): lambda x: x,
    ("+", 1, 0): lambda x: x,
    ("-", 0, 0): lambda x: -x,
    ("-", 1, 0): lambda x: x,
    ("*", 0, 1): lambda x: x,
    ("*", 1, 1): lambda x: x,
    ("/", 1, 1): lambda x: x,
    ("**", 1, 0): lambda x: 1,
    ("**", 1, 1): lambda x: x,
    ("**", 1, 2): lambda x: x * x,
    ("**", 1, -1): lambda x: 1 / x,
    ("**", 1, 0.5): lambda x: x.sqrt(),
    ("**", 1, -0.5): lambda x: 1 / x.sqrt(),
}

SHOWN = 500  # the repr shows this many instructions at each end of a list


class Instructions(Sequence[Instruction]):
    """A list of instructions, stored in columns, which cost Python's garbage collector less.

    Attributes:
        ops, operands: the operations, and the places (indices into these lists) of their operands.
        lanes: for each instruction, 1 if its result can differ from lane to lane, else 0.
        numbers: maps the place of each input and constant to its number.
        tables: maps the place of each index of a `take` to the lengths of its tables.
        bodies: maps the place of each loop to what is done in its steps (see `loop.py`).

    >>> steps = Instructions()
    >>> steps.add("constant", (), 2.0), steps.add("neg", (0,))
    (0, 1)
    >>> steps
    0  constant 2.0
    1  neg 0
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.lanes = bytearray()
        self.numbers: dict[int, Number] = {}
        self.tables: dict[int, list[int]] = defaultdict(list)
        self.operands: list[tuple[int, ...]] = []
        self.bodies: dict[int, Any] = {}

    def add(self, op: str, operands: tuple[int, ...], number: Any = None) -> int:
        """Appends an instruction and returns its place."""
        place, lanes, is_lane = len(self.ops), self.lanes, 0
        self.ops.append(op)
        self.operands.append(operands)
        for i in operands:  # a loop, because this runs often
            is_lane |= lanes[i]
        if not operands:
            self.numbers[place] = number
            is_lane = op == "input"
        elif op == "take":
            self.tables[operands[0]].append(len(operands) - 1)
        elif op == "loop":
            self.bodies[place] = number
        lanes.append(is_lane if op != "mean" else 0)
        return place

    def constants(self, numbers: Sequence[Number]) -> range:
        """Appends constants, equal ones too, and returns their places: for the many of a loop."""
        first, n = len(self.ops), len(numbers)
        places = range(first, first + n)
        self.ops += ["constant"] * n
        self.operands += [()] * n
        self.lanes += bytes(n)
        self.numbers.update(zip(places, numbers, strict=True))
        return places

    def whole(self, place: int) -> tuple[str, tuple[int, ...]]:
        """The operation and its operands; a choice contains its comparison, as in 'where <'."""
        op, operands = self.ops[place], self.operands[place]
        if op != "where":
            return op, operands
        condition, *sides = operands
        return f"where {self.ops[condition]}", (*self.operands[condition], *sides)

    def __len__(self) -> int:
        return len(self.ops)

    def __getitem__(self, place: Any) -> Any:
        return Instruction(self.ops[place], self.operands[place], self.numbers.get(place))

    def __repr__(self) -> str:
        lines = [
            " ".join(map(str, (f"{i} ", op, *([x] if op == "constant" else operands))))
            for i, (op, operands, x) in enumerate(self)
        ]
        if (hidden := len(lines) - 2 * SHOWN) > 0:
            lines[SHOWN:-SHOWN] = [f"... {hidden} more ..."]
        return "\n".join(lines)


class Simplified(Recording):
    """A recording that simplifies: no two of its `instructions` compute the same thing.

    >>> recording = Simplified()
    >>> x = recording.input(3.0)
    >>> 0 + x * 1, x + 2, 2 + x
    (Traced(input of 3.0), Traced(+ of 0, 2), Traced(+ of 0, 2))
    """

    def __init__(self) -> None:
        self.instructions: Instructions = Instructions()
        self._recorded = self.instructions
        self._places: dict[str, dict[Any, int]] = defaultdict(dict)  # keys: op, then operands
        # Apart from x + x and `where`, only operations on one of these places can be simplified.
        self._notable: set[int] = set()  # constants, conditions

    def input(self, number: Number) -> Traced:
        """Records a number that changes from run to run and differs from lane to lane."""
        return Traced(self, self._recorded.add("input", (), number))

    def parameter(self, number: Number = 0.0) -> Traced:
        """Records an input that is the same in all lanes."""
        found = self.input(number)
        self._recorded.lanes[found.place] = False
        return found

    def constant(self, number: Number) -> Traced:
        """Records a number that is the same in every run; equal constants share a place."""
        return Traced(self, self._constant(number))

    def place(self, number: Number) -> int:
        """The place of a traced number or of a constant; a condition becomes 1 or 0."""
        return self._number(number.place if isinstance(number, Traced) else self._constant(number))

    def add(self, op: str, operands: tuple[int, ...], number: Any = None) -> int:
        """The place of the simplified result of an operation on the results at these places."""
        key = operands
        if op in ("+", "*"):  # commutative: both orders have the same key
            a, b = operands
            if a > b:
                key = b, a
            elif a == b and op == "+":
                return self.add("*", (self._constant(2), a))
        known = self._places[op]
        place = known.get(key)
        if place is None:
            if op == "where" or not self._notable.isdisjoint(operands):
                place = self._simpler(op, operands)
            if place is None:
                place = self._recorded.add(op, operands)
                if op in CONDITIONS:
                    self._notable.add(place)
            known[key] = place
        return place

    def _constant(self, number: Number) -> int:
        known = self._places["constant"]
        key: Any = float(number)
        if key == 0 or key != key:  # 0.0 and -0.0 have different keys, and all NaNs share one
            key = repr(key)
        place = known.get(key)
        if place is None:
            number = number if type(number) is int else float(number)
            place = known[key] = self._recorded.add("constant", (), number)
            self._notable.add(place)
        return place

    def _simpler(self, op: str, operands: tuple[int, ...]) -> int | None:
        # A condition is only allowed as the first operand of where; elsewhere it becomes 1 or 0.
        start = 1 if op == "where" else 0
        numeric = (*operands[:start], *map(self._number, operands[start:]))
        if numeric != operands:
            return self.add(op, numeric)
        ops, known = self._recorded.ops, self._recorded.numbers
        numbers = [known[i] if ops[i] == "constant" else None for i in operands]
        if op == "where":
            (condition, a, b), (number, *_) = operands, numbers
            if number is None and ops[condition] not in CONDITIONS:  # all but 0 are true
                is_zero = self.add("is", (condition, self._constant(0)))
                return self.add("where", (is_zero, b, a))
            if a == b or number is not None:
                return b if a == b or not number else a
        for i, number in enumerate(numbers):
            if number is not None and (op, i, number) in RULES:
                return self.place(RULES[op, i, number](Traced(self, operands[1 - i])))
        return None

    def _number(self, place: int) -> int:
        if self._recorded.ops[place] not in CONDITIONS:
            return place
        return self.add("where", (place, self._constant(1), self._constant(0)))


def averaged(recording: Simplified, places: Sequence[int]) -> list[int]:
    """Adds the means over lanes of these results to the recording, and returns their places.

    A mean moves inwards past a uniform operand u:

        mean(u + x) = u + mean(x)        mean(u x) = u mean(x)        mean(x / u) = mean(x) / u

    So a penalty on the weights and all of its derivatives are computed once, outside the lanes. It
    also moves into a backward loop, which is linear, if all else that it reads is uniform.

    >>> recording = Simplified()
    >>> p, x = recording.parameter(2.0), recording.input(3.0)
    >>> [mean] = averaged(recording, [(x.tanh() + p * p).place])
    >>> [recording.instructions[i].op for i in needed(recording.instructions, [mean])]
    ['input', 'input', 'tanh', '*', 'mean', '+']
    """
    steps = recording.instructions
    lanes, operands_of = steps.lanes, steps.operands

    def moves_inwards(place: int) -> bool:
        op, operands = steps.ops[place], operands_of[place]
        if op in ("+", "-", "*"):
            return not all(lanes[i] for i in operands)
        if op == "loop":
            is_linear_in = steps.bodies[place].is_linear_in
            return all(not lanes[i] or is_linear_in(k) for k, i in enumerate(operands))
        if op.startswith("pick"):
            return moves_inwards(*operands)
        return op == "neg" or (op == "/" and not lanes[operands[1]])

    wanted: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place not in wanted and lanes[place] and moves_inwards(place):
            waiting += operands_of[place]
        wanted.add(place)
    mean: dict[int, int] = {}
    for place in sorted(wanted):
        if not lanes[place]:
            mean[place] = place
        elif moves_inwards(place):
            op, operands = steps.ops[place], tuple(mean[i] for i in operands_of[place])
            add = steps.add if op == "loop" else recording.add
            mean[place] = add(op, operands, steps.bodies.get(place))
        else:
            mean[place] = recording.add("mean", (place,))
    return [mean[place] for place in places]


def uses(operands: Sequence[tuple[int, ...]], results: Sequence[int]) -> list[int]:
    """How often each instruction is used, either as a result or by another needed instruction."""
    found = [0] * len(operands)
    for place in results:
        found[place] += 1
    for place in range(len(found) - 1, -1, -1):  # visit each instruction after all that use it
        if found[place]:
            for i in operands[place]:
                found[i] += 1
    return found


def needed(steps: Instructions, results: Sequence[int]) -> list[int]:
    """The places of all instructions that the results depend on, in order."""
    return [place for place, n in enumerate(uses(steps.operands, results)) if n]
