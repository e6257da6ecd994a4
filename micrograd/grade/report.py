"""What comes out: the Check, and the Report, which puts failures with one cause together."""

from __future__ import annotations

import html
import json
import unittest
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from micrograd.engine import Value, operations
from micrograd.grade.programs import EXPRESSIONS, methods_in, root_of, run
from micrograd.grade.rules import RULES

STATUSES = ("passed", "failed", "noted", "not found", "not run")


@dataclass(frozen=True)
class Check:
    """What came out of one check; calling it raises an AssertionError if that is a failure.

    Attributes:
        operation: what was checked, as 'a * b', 'graph' or 'backward'.
        aspect: what about it, as 'value', 'gradient', 'chain rule', 'adding up'.
        program: the smallest program that shows it, in Python.
        status: one of STATUSES; 'not found' is an operation that the class does not have, 'not
            run' a check that a process did not reach.
        mistake: a key of RULES, '' if all is well.
        expected, found: in words and numbers, '' if all is well.
        place: method and line of an error.
        composed: whether the class computes this operation by several of its others.

    >>> check = Check("a.exp()", "value", "a = Value(0.0); b = a.exp()", "failed", "value")
    >>> check.name, check.passed, check.skipped
    ('a.exp(): value', False, False)
    >>> check.rule, check.way_out
    ('a.exp() computes a wrong number.', 'by the book: The exponential e = e^a;  d/da = e')
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

    @property
    def name(self) -> str:
        """The operation and the aspect; no other check bears the same."""
        return f"{self.operation}: {self.aspect}"

    @property
    def passed(self) -> bool:
        """True if all numbers are as they should be."""
        return self.status == "passed"

    @property
    def skipped(self) -> bool:
        """True if there is nothing to judge: no such operation, or the process ended before."""
        return self.status in ("not found", "not run")

    @property
    def rule(self) -> str:
        """The rule that is broken, one sentence; '' if none is."""
        return self._text(0)

    @property
    def way_out(self) -> str:
        """What to do about it; '' if there is nothing to do."""
        return self._text(1)

    def _text(self, part: int) -> str:
        text = RULES[self.mistake][part] if self.mistake else ""
        if "{formula}" in text:  # from our own operation
            op = next(v._op for v in run(self.program, Value, backward=False).values() if v._op)
            book = operations["**" if "**" in op else op].__doc__ or ""
            text = text.replace("{formula}", book.split("\n")[0].rstrip("."))
        return text.replace("{operation}", self.operation)

    @property
    def message(self) -> str:
        """The rule, the program, what was expected and found, and the way out."""
        found = self.found + (f" ({self.place})" if self.place else "")
        return (
            f"{self.rule}\n    {self.program}\n    expected  {self.expected}\n"
            f"    found     {found}\nWay out: {self.way_out}."
        )

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        """Fails in pytest where the check did; is skipped where there is only something to note."""
        if self.status == "failed":
            raise AssertionError(self.message)
        if self.status == "not run":
            raise AssertionError(f"{self.name} was not reached: an earlier check ended the process")
        if not self.passed:
            raise unittest.SkipTest(self.message if self.status == "noted" else "not found")


@dataclass(frozen=True, repr=False)
class Report:
    """All checks of one class: `print` shows the mistakes and a table, a notebook draws as well.

    Attributes:
        name: that of the class or of the file.
        checks: in the order in which they were made.

    >>> report = Report("mine", (Check("a + b", "value", "c = a + b"),))
    >>> report.passed, report.notes, Report.from_dict(json.loads(report.json())) == report
    (True, (), True)
    """

    name: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """True if nothing failed; notes and operations that were not found do not count."""
        return not any(check.status in ("failed", "not run") for check in self.checks)

    @property
    def mistakes(self) -> tuple[tuple[Check, ...], ...]:
        """The failed checks, grouped by what probably is one mistake; what shows it best is first.

        >>> Report("mine", (Check("a + b", "value", "c = a + b"),)).mistakes
        ()
        """
        groups: list[list[Check]] = []
        for check in self._with("failed"):
            group = next((group for group in groups if _follows(check, group)), [])
            if not group:
                groups.append(group)
            group.append(check)
        return tuple(tuple(_clearest_first(group)) for group in groups)

    @property
    def notes(self) -> tuple[Check, ...]:
        """What is worth knowing and no failure, since the original micrograd does it as well."""
        return self._with("noted")

    def _with(self, status: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)

    def to_dict(self) -> dict[str, Any]:
        """The report in lists, dicts, strings and bools, as a program that grades can use it.

        Of each group of failures that is probably one mistake, `mistakes` has the names of checks.

        >>> Report("mine", ()).to_dict()
        {'name': 'mine', 'passed': True, 'mistakes': [], 'checks': []}
        """
        return {
            "name": self.name,
            "passed": self.passed,
            "mistakes": [[check.name for check in group] for group in self.mistakes],
            "checks": [{"name": x.name, "rule": x.rule} | asdict(x) for x in self.checks],
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Report:
        """The report of which `to_dict` made this record.

        >>> Report.from_dict({"name": "mine", "checks": []}).passed
        True
        """
        names = {field.name for field in fields(Check)}
        checks = [{k: x for k, x in check.items() if k in names} for check in record["checks"]]
        return Report(record["name"], tuple(Check(**check) for check in checks))

    def json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        return "\n\n".join([self._headline(), *(text for text, _ in self._told()), self._table()])

    __repr__ = __str__

    def _headline(self) -> str:
        count = Counter(check.status for check in self.checks)
        known = (f"{count[status]} {status}" for status in STATUSES if count[status])
        return f"{self.name}: {', '.join(known)}"

    def _told(self) -> Iterator[tuple[str, Check]]:
        """What is told of each mistake and each note, and the check that shows it."""
        for i, (first, *others) in enumerate(self.mistakes, 1):
            text = first.message
            if others:
                some = ", ".join(check.name for check in others[:4]) + ", ..." * (len(others) > 4)
                text += f"\nAlso failed, probably for this reason ({len(others)}): {some}"
            yield _indented(f"{i}.", text), first
        for note in self.notes:
            yield _indented("Note, no failure:", note.message), note

    def _table(self) -> str:
        rows: dict[str, list[str]] = {}
        for check in self.checks:
            if not check.skipped:
                mark = {"passed": "ok", "failed": "FAILED"}.get(check.status, check.status)
                rows.setdefault(check.operation, []).append(f"{check.aspect} {mark}")
        lines = []
        for operation, aspects in rows.items():
            comma = "   " if operation in EXPRESSIONS else "\n" + " " * 14
            lines.append(f"{operation:14}" + comma.join(aspects))
        for status in ("not found", "not run"):
            operations = dict.fromkeys(check.operation for check in self._with(status))
            lines += [f"{status}: {', '.join(operations)}"] * bool(operations)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        told = "".join(f"<pre>{html.escape(text)}</pre>{_drawing(x)}" for text, x in self._told())
        return (
            f"<p><b>{html.escape(self._headline())}</b></p>{told}<details><summary>all checks"
            f"</summary><pre>{html.escape(self._table())}</pre></details>"
        )


def _indented(head: str, text: str) -> str:
    return f"{head} " + text.replace("\n", "\n   ")


def _drawing(check: Check) -> str:
    """The graph of a program as SVG, with the right gradients; '' where there is none to draw."""
    from micrograd.draw import draw_dot

    if "Value(" not in check.program or check.mistake == "depth":
        return ""
    made = run(check.program, Value)
    picture = draw_dot(made[root_of(check.program)], names=made).pipe(encoding="utf-8")
    return str(picture[picture.index("<svg") :])


# ---- Which failures belong together

OF_EVERYTHING = {"load", "syntax", "name", "construct"}
OF_ONE_OPERATION = {"value", "derivative", "closure", "chain", "runs", "result", "operands",
                    "exchanged"}  # fmt: skip
OF_NUMBERS_BESIDE = {"wrap", "reflected", "swapped"}
OF_ALL_GRADIENTS = {"seed", "fresh", "walk", "number", "untouched", "identity", "children"}
OF_USES = {"accumulate", "operands", "once", "order"}


def _follows(later: Check, group: Sequence[Check]) -> bool:
    """Whether what is behind these failures probably is behind a later one, too."""
    first, mistake = group[0], group[0].mistake
    if later.expected == "no error" and _error(later) in map(_error, group):
        return True
    if mistake in OF_EVERYTHING or (later.place and later.place == first.place):
        return True
    if later.mistake == mistake and mistake not in ("value", "derivative", "runs"):
        return True
    if first.operation in EXPRESSIONS and mistake in OF_ONE_OPERATION:
        needed = later.composed or methods_in(first.operation) & methods_in(later.program)
        return bool(needed) and (mistake == "runs" or later.mistake not in OF_NUMBERS_BESIDE)
    if later.mistake in OF_NUMBERS_BESIDE or later.aspect == "value":
        return False
    if mistake in OF_USES:
        return later.composed or later.aspect != "gradient"
    return mistake in OF_ALL_GRADIENTS or later.operation == "NumPy"


def _error(check: Check) -> str:
    operator, *_ = check.found.partition("'")  # of an operation that is missing
    return operator if "unsupported operand" in operator else check.found


def _clearest_first(group: list[Check]) -> list[Check]:
    # A node that is used more than once: a + a shows it in fewer steps than what was found first.
    if group[0].mistake not in OF_USES or group[0].aspect == "gradient":
        return group
    same = [check for check in group if check.mistake == group[0].mistake]
    first = min(same, key=lambda check: check.program.count(";"))
    return [first, *(check for check in group if check is not first)]
