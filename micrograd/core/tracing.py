"""Traced numbers, which record the operations on them.

The engine never tests what kind of number it computes with. So leaves can hold traced numbers,
which only record: operations and their closures give one list of instructions (a Wengert list).

    >>> from micrograd.engine import Value
    >>> recording = Recording()
    >>> x = Value(recording.input(2.0))
    >>> y = x * x + 1.0
    >>> y.backward()
    >>> [step.op for step in recording.instructions]
    ['input', '*', 'constant', '+', 'constant', '*', 'constant', '*', '+']

Source: R. E. Wengert, A simple automatic derivative evaluation program (1964).
"""

from __future__ import annotations

import numbers
import os
import random
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn

from micrograd.core import node
from micrograd.core.arithmetic import Number, as_number, where
from micrograd.core.functions import INVERSE, OTHERS
from micrograd.core.node import Node, operations


class Instruction(NamedTuple):
    """One step of a program: a primitive operation on the results of earlier steps."""

    op: str  # 'input', 'constant', or an operation: '+', '<', 'neg', 'exp', 'where', ...
    operands: tuple[int, ...] = ()  # the places in the list of the instructions that compute them
    number: Number = None  # of a constant, or of an input at the time of recording


class Recording:
    """A growing list of `instructions`; inside of another one, with a larger `depth`.

    A recording takes numbers of those around it as inputs (see `compiler/loop.py`).
    """

    has_ended, depth = False, 0

    def __init__(self) -> None:
        self.instructions: Any = []  # each an Instruction

    def end(self) -> None:
        """Makes every later operation on the numbers of this recording an error."""
        self.has_ended = True
        self.__dict__.update(record=_outlived, add=_outlived)

    def input(self, number: Number) -> Traced:
        """A traced number that can change from one run of the program to the next."""
        return Traced(self, self.add("input", (), number))

    def constant(self, number: Number) -> Traced:
        """A traced number that never changes."""
        return Traced(self, self.add("constant", (), number))

    def record(self, op: str, *operands: Number) -> Number:
        """The result of an operation; NotImplemented if an operand is not a number."""
        places = []
        for x in operands:
            if not isinstance(x, Traced):
                number = x if isinstance(x, int) else as_number(x)
                if number is NotImplemented or isinstance(x, Node):
                    return NotImplemented
                x = self.constant(number)
            elif x.recording is not self:
                if x.recording.depth > self.depth:
                    return x.recording.record(op, *operands)
                x = self.taken_in(x)
            places.append(x.place)
        return Traced(self, self.add(op, tuple(places)))

    def taken_in(self, x: Traced) -> Traced:
        """A number of another recording as one of this recording."""
        raise ValueError(f"{x!r} belongs to another recording: use a plain number instead")

    def add(self, op: str, operands: tuple[int, ...], number: Number = None) -> int:
        """Appends an instruction and returns its place; operands are the places of results."""
        self.instructions.append(Instruction(op, operands, number))
        return len(self.instructions) - 1


class TraceError(TypeError):
    """Raised if a program asks for the value of a traced number, as `if x > 0` does."""


def _outlived(*_: object) -> NoReturn:
    reason = "a number that was recorded while a function was compiled, and stored, has no value"
    raise TraceError(f"{reason}; return it, or call the original function to compute it")


def _unary(op: str) -> Callable[[Traced], Traced]:
    return lambda x: Traced(x.recording, x.recording.add(op, (x.place,)))


def _binary(op: str) -> Callable[[Traced, Number], Number]:
    def method(x: Traced, y: Number) -> Number:
        recording = x.recording
        if type(y) is Traced and y.recording is recording:  # a fast path for the usual case
            return Traced(recording, recording.add(op, (x.place, y.place)))
        return recording.record(op, x, y)

    return method


def _condition(op: str) -> Callable[[Traced, Any], Any]:
    compare = _binary(op)

    def method(x: Traced, y: Any) -> Any:
        found = compare(x, y)
        return found if found is NotImplemented else Condition(found.recording, found.place)

    return method


def _reflected(op: str) -> Callable[[Traced, Number], Number]:
    return lambda x, y: x.recording.record(op, y, x)


def _refuses(what: str, remedy: str) -> Callable[..., NoReturn]:
    def method(x: Traced, *_: object) -> NoReturn:
        if x.recording.has_ended:
            _outlived()
        line = users_line(sys._getframe())
        raise TraceError(f"a traced number does not support {what}, at {line}: {remedy}")

    return method


def users_line(frame: Any) -> str:
    """The file and line from which this package, NumPy or Python's `random` was called."""
    numpy = getattr(sys.modules.get("numpy"), "__file__", __file__)  # np.sum calls us
    files = os.path.dirname(__file__), numpy  # in the folders of this package and of NumPy
    not_the_users = (*(os.path.dirname(file) + os.sep for file in files), random.__file__)
    while frame.f_back and frame.f_code.co_filename.startswith(not_the_users):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


# Choices between Values, which have derivatives: `operations.py` fills in `where` and `take`.
choices: dict[str, Callable[..., Any]] = {}
# What records a loop as one instruction, if a function is being recorded (`compiler/loop.py`).
loops: ContextVar[Callable[..., Any] | None] = ContextVar("loops", default=None)

_CHOICE = (
    "if, while, and, or, max() and sorting would fix the decision for all inputs; use "
    "where(condition, a, b), .maximum(), .minimum() or .relu()"
)
_JUMPS = "its derivative is 0 except at jumps; compute it first and pass the result as an argument"
_BOTH = "they join conditions: write brackets, as in (a < b) & (b < c)"
_TABLE = "to choose an entry, use take(table, index)"
_FUNCTION = "it would make a constant; use methods of Value, such as .exp() instead of math.exp"


class Traced:
    """A number or a condition without a value: it records how it is computed."""

    __slots__ = ("place", "recording")
    shape, _prev = None, ()  # often asked for, and __getattr__ is slow

    def __init__(self, recording: Recording, place: int) -> None:
        self.recording = recording
        self.place = place

    __add__, __sub__, __rsub__ = _binary("+"), _binary("-"), _reflected("-")
    __mul__, __rmul__ = _binary("*"), _reflected("*")
    __truediv__, __rtruediv__ = _binary("/"), _reflected("/")
    __pow__, __rpow__ = _binary("**"), _reflected("**")
    __neg__, __abs__, __pos__ = _unary("neg"), _unary("abs"), lambda x: x
    __lt__, __le__, __gt__, __ge__ = map(_condition, ("<", "<=", ">", ">="))
    __eq__: Any = _condition("is")
    exp, log, sqrt, sin, cos = map(_unary, ("exp", "log", "sqrt", "sin", "cos"))
    tanh, sigmoid, relu = map(_unary, ("tanh", "sigmoid", "relu"))
    tan, sinh, cosh, erf, expm1, log1p = map(_unary, (f.__name__ for f in OTHERS))
    arcsin, arccos, arctan = map(_unary, INVERSE)
    maximum, minimum = map(_binary, ("maximum", "minimum"))
    arctan2, logaddexp = map(_binary, ("arctan2", "logaddexp"))

    def __ne__(self, other: object) -> Any:
        is_equal = self == other
        return ~is_equal if isinstance(is_equal, Condition) else not is_equal

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rule: Any = getattr(node.Value, name, None)  # such as an operation that was added to Value
        if rule in operations.values():
            return lambda *others: rule(node.Value(self), *others).data
        raise AttributeError(f"'Traced' object has no attribute {name!r}", name=name, obj=self)

    def __radd__(self, other: Number) -> Number:
        """The sum; adding 0 records nothing, since gradients and Python's sum() start from 0."""
        if type(other) in (int, float) and other == 0:
            return self
        return self.recording.record("+", other, self)

    def where(self, a: Number, b: Number) -> Number:
        """`a` where this condition holds, else `b`; if one of them is a Value, so is the result."""
        if isinstance(a, Node) or isinstance(b, Node):
            return choices["where"](self, a, b)
        return self.recording.record("where", self, a, b)

    def take(self, table: Sequence[Any]) -> Any:
        """`table[self]`; a Value if the table contains Values, a row if it contains rows."""
        table = [table[i] for i in range(len(table))]  # of a dict, not the keys
        if all(hasattr(entry, "__len__") for entry in table):
            row, columns = table[0], [self.take(column) for column in zip(*table, strict=True)]
            if not hasattr(row, "dtype"):
                return tuple(columns) if isinstance(row, tuple) else columns
            array = row.astype(object)
            array[...] = columns
            return array
        if any(isinstance(entry, Node) for entry in table):
            return choices["take"](self, *table)
        return self.recording.record("take", self, *table)

    __bool__ = _refuses("bool()", _CHOICE)
    __float__ = _refuses("float()", _FUNCTION)
    __int__ = _refuses("int()", f"{_TABLE}; else {_FUNCTION}")
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refuses("%", _JUMPS)
    __floordiv__ = __rfloordiv__ = _refuses("//", _JUMPS)
    __and__: Any = _refuses("&, | and ~", _BOTH)
    __rand__ = __or__ = __ror__ = __invert__ = __and__
    __round__ = __trunc__ = __floor__ = __ceil__ = _refuses("rounding", _JUMPS)
    __index__ = _refuses("use as an index", _TABLE)
    __hash__ = object.__hash__
    __format__ = _refuses("format()", "it has no value yet; print the result instead")

    def __repr__(self) -> str:
        if self.recording.has_ended:
            return "a number recorded by a compiled function"
        instruction = self.recording.instructions[self.place]
        of = ", ".join(map(str, instruction.operands)) or repr(instruction.number)
        return f"Traced({instruction.op} of {of})"


class Condition(Traced):
    """A comparison of traced numbers, or several of them joined by &, | and ~."""

    __slots__ = ()

    __and__ = __rand__ = lambda x, y: _joined(x, where(y, 1, 0), 0)
    __or__ = __ror__ = lambda x, y: _joined(x, 1, where(y, 1, 0))
    __invert__: Any = lambda x: _joined(x, 0, 1)


def _joined(x: Condition, a: Number, b: Number) -> Condition:
    return Condition(x.recording, x.where(a, b).place)


numbers.Number.register(Traced)  # so that the data of a Value may be traced
