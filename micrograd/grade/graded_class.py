"""The class that is graded, as the checks see it: its names, and the numbers that it computes.

The class may live in another process, so everything here goes through `ask`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from micrograd.grade.check import printable
from micrograd.grade.programs import OURS, root_of
from micrograd.grade.subject import ALIASES, leaves_of

STEP = 1e-4  # for central differences: their error is about STEP^2 = 1e-8, rounding adds 1e-12
TOLERANCE = 1e-4  # also for engines that compute with floats of 7 digits, as NumPy's float32

Numbers = Mapping[str, float]  # maps names of Values in a program to data or gradients


class Observed(NamedTuple):
    """Data and gradients of the Values of a program."""

    data: Numbers
    grad: Numbers


class BrokenRule(Exception):  # noqa: N818 - not an error here, but a finding
    """A broken rule; its arguments are mistake, expected and found."""


class RaisedError(Exception):
    """An error that the class raised, as a Subject describes it."""


@dataclass(frozen=True)
class GradedClass:
    """The class that is graded: a way to ask it questions, and the names it uses.

    Attributes:
        ask: asks the class a question, as `Subject.ask` does.
        title: the name of the class.
        names: its names for 'data', 'grad' and 'backward'.
        arguments: what `Value(...)` needs besides the number, for example ', requires_grad=True'.
        missing: which of 'data', 'grad' and 'backward' it lacks.
        methods: the names of all its attributes.
        choices: for a missing name, the attributes that could stand for it.
    """

    ask: Callable[..., Any]
    title: str = "Value"
    names: Mapping[str, str] = field(default_factory=lambda: {x: x for x in ALIASES})
    arguments: str = ""
    missing: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    choices: Mapping[str, list[str]] = field(default_factory=dict)

    @staticmethod
    def found_by(ask: Callable[..., Any]) -> GradedClass:
        """The class that answers these questions."""
        return GradedClass(lambda *question: printable(ask(*question)), **ask("described"))

    def remark(self, is_file: bool = False) -> str:
        """A sentence about the names that differ from the lecture's, '' if none do."""
        names = self.names.items()
        used = [f".{found} is used as .{name}" for name, found in names if found != name]
        if used:
            change = "--data, --grad and --backward" if is_file else "names="
            used[-1] += f" (to change that, use {change})"
        if self.arguments:
            used.append(f"every Value is created with {self.arguments.removeprefix(', ')}")
        return f"Here {' and '.join(used)}." if used else ""

    def spelled(self, program: str) -> str:
        """A program with the names that the class uses, '' if they are the lecture's.

        >>> GradedClass(OURS.ask, title="Scalar").spelled("a = Value(3.0); b = a + a")
        'a = Scalar(3.0); b = a + a'
        """
        number = r"\bValue\(((?:[^()]|\([^()]*\))*)\)"
        text = re.sub(number, rf"{self.title}(\g<1>{self.arguments})", program)
        for name in ("grad", "backward"):
            text = re.sub(rf"\.{name}\b", f".{self.names[name]}", text)
        return text if text != program else ""

    def text(self, attribute: str, names: list[str], values: Numbers) -> str:
        """Numbers as the report shows them, for example 'a.grad = 2'."""
        attribute = self.names[attribute]
        return ", ".join(f"{name}.{attribute} = {values[name]:.6g}" for name in names)

    def observed(self, program: str, backward: bool = True) -> Observed:
        """Data and gradients after a program.

        Raises:
            RaisedError: the program raises an error.
            BrokenRule: a result is not a Value, or its data or grad is not a number.

        >>> GradedClass(OURS.ask).observed("a = Value(3.0); a.backward()")
        Observed(data={'a': 3.0}, grad={'a': 1.0})
        """
        answer = self.ask("observed", program, backward)
        if "error" in answer:
            raise RaisedError(answer["error"])
        if "broken" in answer:
            mistake, expected, found = answer["broken"]
            if there := [f".{x}" for name in ("data", "grad") for x in self.choices.get(name, ())]:
                found += f" (several candidates: {', '.join(there)})"
            raise BrokenRule(mistake, expected, found)
        return Observed(answer["data"], answer["grad"])

    def error_in(self, program: str) -> Any:
        """The error that a forward pass raises, as a Subject describes it, or None."""
        return self.ask("observed", program, False).get("error")

    def gradients(self, program: str) -> Numbers:
        """Gradients after a program, empty if it raises an error."""
        grad: Numbers = self.ask("observed", program).get("grad", {})
        return grad

    def tried(self, default: Any, program: str) -> Any:
        """What the last step of a program names, or the default if the class raises an error."""
        answer = self.ask("last", program)
        return default if isinstance(answer, dict) else answer

    def slopes(self, program: str) -> Numbers:
        """Central differences of the root of a program with respect to each leaf.

        >>> round(GradedClass(OURS.ask).slopes("a = Value(3.0); b = a * a; b.backward()")["a"], 6)
        6.0
        """

        def data(leaf: str, shift: float) -> float:
            moved = program.replace(f"{leaf} = Value(", f"{leaf} = Value({shift} + ")
            return self.observed(moved, backward=False).data[root_of(program)]

        return {x: (data(x, STEP) - data(x, -STEP)) / (2 * STEP) for x in leaves_of(program)}


@cache
def expected_of(program: str) -> Observed:
    """The right data and gradients of a program, computed with our own Value."""
    return GradedClass(OURS.ask).observed(program)


def near(found: float, expected: float, tolerance: float = TOLERANCE) -> bool:
    """Whether two numbers agree; the tolerance is relative if the expected one is above 1.

    >>> near(1e6 + 0.5, 1e6), near(1.5, 1.0)
    (True, False)
    """
    return abs(found - expected) <= tolerance * max(1.0, abs(expected))
