"""One check and its outcome; failed checks, grouped by probable cause."""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from micrograd.core.node import operations
from micrograd.grade.programs import EXPRESSIONS, OURS, methods_in
from micrograd.grade.rules import ROWS, rules

STATUSES = ("passed", "failed", "noted", "not there yet", "to do", "not run")


@dataclass(frozen=True)
class Check:
    """A check and its outcome; calling it raises an AssertionError if the check failed.

    Attributes:
        operation: what was checked, for example 'a * b', 'graph' or 'backward'.
        aspect: which property of it, for example 'value', 'gradient', 'chain rule', 'adding up'.
        program: the smallest program that shows the outcome, in Python.
        status: 'passed', 'failed', 'noted' (a limit, not a mistake), 'not there yet' (the class
            lacks the operation), 'to do' (the same in a file made by `micrograd start`, whose tasks
            name it) or 'not run' (the process ended before this check, or there is no backward()).
        mistake: a key of RULES, '' if the check passed.
        expected, found: both in words and numbers, '' if the check passed.
        place: the method and line in which an error was raised.
        composed: whether the class computes this operation from several other operations.
        spelled: the program with the names that the class uses, '' if they are the lecture's.

    >>> check = Check("a.exp()", "value", "a = Value(0.0); b = a.exp()", "failed", "value")
    >>> check.name, check.passed
    ('a.exp(): value', False)
    >>> check.rule, check.fix
    ('a.exp() computes a wrong number.', 'use the formula: The exponential e = e^a;  d/da = e')
    >>> check.rule in check.message
    True
    """

    operation: str
    aspect: str
    program: str
    status: str = "passed"
    mistake: str = ""
    expected: str = ""
    found: str = ""
    place: str = ""
    composed: bool = False
    spelled: str = ""

    @property
    def name(self) -> str:
        """The operation and the aspect, unique among the checks."""
        return f"{self.operation}: {self.aspect}"

    def __str__(self) -> str:
        return self.name

    @property
    def passed(self) -> bool:
        """True if all numbers are right."""
        return self.status == "passed"

    @property
    def rule(self) -> str:
        """The broken rule in one sentence, '' if there is none."""
        return self.stated("en")[0]

    @property
    def fix(self) -> str:
        """What to change, '' if nothing has to change."""
        return self.stated("en")[1]

    def stated(self, language: str) -> tuple[str, str]:
        """The rule and the fix in a language, a column of rules.toml; '' and '' if there are none.

        >>> Check("backward", "once", "", "failed", "chain").stated("en")[1]
        'in _backward, multiply by out.grad'
        """
        rule, fix = rules(language)[self.mistake] if self.mistake else ("", "")
        if "{formula}" in fix:  # from the source of our own operation: -OO removes docstrings
            alone = f"a = Value(1.5); b = Value(2.0); c = {self.operation}"
            program = alone if self.operation in EXPRESSIONS else self.program
            op = next(v._op for v in OURS.run(program, backward=False).values() if v._op)
            _, book, *_ = inspect.getsource(operations["**" if "**" in op else op]).split('"""')
            fix = fix.replace("{formula}", book.split("\n")[0].rstrip("."))
        return rule.replace("{operation}", self.operation), fix

    @property
    def message(self) -> str:
        """The rule, the program, what was expected and found, and the fix."""
        return self.told(3)

    def told(self, hints: int) -> str:
        """As much of the message as wanted: the rule (1), the numbers (2), and the fix (3)."""
        numbers = (
            f"\n    {self.spelled or self.program}\n    expected  {self.expected}"
            f"\n    found     {self.found_at}"
        )
        return self.rule + numbers * (hints >= 2) + f"\nFix: {self.fix}." * (hints >= 3)

    @property
    def found_at(self) -> str:
        """What was found, and the place where an error was raised."""
        return self.found + (f" ({self.place})" if self.place else "")

    def __call__(self) -> None:
        """Fails in pytest if the check failed; is skipped for a note or a missing operation."""
        texts = {
            "failed": self.message,
            "to do": f"{self.name}: a task of `micrograd start` that is to do",
            "not run": f"{self.name} was not reached: an earlier check prevents it",
        }
        if self.status in texts:
            raise AssertionError(texts[self.status])
        if not self.passed:
            raise unittest.SkipTest(self.message if self.status == "noted" else self.status)


def grouped(checks: Iterable[Check]) -> tuple[tuple[Check, ...], ...]:
    """The failed checks, grouped by probable cause; the clearest of each group comes first."""
    groups: list[list[Check]] = []
    for check in checks:
        if check.status == "failed":
            group = next((group for group in groups if _has_same_cause(check, group)), [])
            if not group:
                groups.append(group)
            group.append(check)
    return tuple(tuple(_clearest_first(group)) for group in groups)


def affects(check: Check, what: str) -> bool:
    """Whether a failure makes others fail, as rules.toml says, for example 'gradients'."""
    return what in ROWS[check.mistake].get("affects", ())


def _has_same_cause(later: Check, group: Sequence[Check]) -> bool:
    first, mistake = group[0], group[0].mistake
    is_beside_number = affects(later, "numbers")
    if later.expected == "no error" and _error(later) in map(_error, group):
        return True
    if affects(first, "everything") or (later.place and later.place == first.place):
        return True
    if later.mistake == mistake and mistake not in ("value", "derivative", "runs"):
        return True
    if later.operation in EXPRESSIONS and later.operation in {check.operation for check in group}:
        return True
    if mistake == "result" and methods_in(first.program) & methods_in(later.program):
        return True
    is_of_one = affects(first, "operation") or first.aspect == "inner operand"
    if first.operation in EXPRESSIONS and is_of_one:
        needed = later.composed or methods_in(first.operation) & methods_in(later.program)
        return bool(needed) and (mistake == "runs" or not is_beside_number)
    if is_beside_number or later.aspect == "value":
        return False
    if affects(first, "reuse"):
        return later.composed or later.aspect != "gradient"
    return affects(first, "gradients") or later.operation == "NumPy"


def _error(check: Check) -> str:
    operator, *_ = check.found.partition("'")  # the operands differ from check to check
    return operator if "unsupported operand" in operator else check.found


def _clearest_first(group: list[Check]) -> list[Check]:
    # For a node that is used more than once, a + a is clearer than the check that failed first.
    if not affects(group[0], "reuse") or group[0].aspect == "gradient":
        return group
    same = [check for check in group if check.mistake == group[0].mistake]
    first = min(same, key=lambda check: check.program.count(";"))
    return [first, *(check for check in group if check is not first)]
