"""What comes out: the Check, and the Report, which puts failures with one cause together."""

from __future__ import annotations

import html
import json
import re
import textwrap
import unicodedata
import unittest
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import accumulate
from typing import Any

from micrograd.engine import operations
from micrograd.grade.programs import EXPRESSIONS, OURS, methods_in, root_of
from micrograd.grade.rules import RULES

STATUSES = ("passed", "failed", "noted", "not there yet", "not run")
WIDTH = 80  # columns of a report
LINES = 20  # of mistakes that are explained, so that the first is still on the screen at the end


@dataclass(frozen=True)
class Check:
    """What came out of one check; calling it raises an AssertionError if that is a failure.

    Attributes:
        operation: what was checked, as 'a * b', 'graph' or 'backward'.
        aspect: what about it, as 'value', 'gradient', 'chain rule', 'adding up'.
        program: the smallest program that shows it, in Python.
        status: one of STATUSES; 'not there yet' is an operation that the class does not have, 'not
            run' a check that a process did not reach.
        mistake: a key of RULES, '' if all is well.
        expected, found: in words and numbers, '' if all is well.
        place: method and line of an error.
        composed: whether the class computes this operation by several of its others.
        spelled: the program with the names of the class, '' if they are the lecture's.

    >>> check = Check("a.exp()", "value", "a = Value(0.0); b = a.exp()", "failed", "value")
    >>> check.name, check.passed, check.skipped
    ('a.exp(): value', False, False)
    >>> check.rule, check.fix
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
    spelled: str = ""

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
        return self.status in ("not there yet", "not run")

    @property
    def rule(self) -> str:
        """The rule that is broken, one sentence; '' if none is."""
        return self._text(0)

    @property
    def fix(self) -> str:
        """What to do about it; '' if there is nothing to do."""
        return self._text(1)

    def _text(self, part: int) -> str:
        text = RULES[self.mistake][part] if self.mistake else ""
        if "{formula}" in text:  # from our own operation
            op = next(v._op for v in OURS.run(self.program, backward=False).values() if v._op)
            book = operations["**" if "**" in op else op].__doc__ or ""
            text = text.replace("{formula}", book.split("\n")[0].rstrip("."))
        return text.replace("{operation}", self.operation)

    @property
    def message(self) -> str:
        """The rule, the program, what was expected and found, and the fix."""
        found = self.found + (f" ({self.place})" if self.place else "")
        return (
            f"{self.rule}\n    {self.spelled or self.program}\n    expected  {self.expected}\n"
            f"    found     {found}\nFix: {self.fix}."
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
            raise unittest.SkipTest(self.message if self.status == "noted" else self.status)


@dataclass(frozen=True, repr=False)
class Report:
    """All checks of one class: `print` shows the mistakes and a table, a notebook draws as well.

    Attributes:
        name: that of the class or of the file.
        checks: in the order in which they were made.
        remark: what is worth knowing of the names in the class, as which is taken for data.

    >>> report = Report("mine", (Check("a + b", "value", "c = a + b"),))
    >>> report.passed, report.notes, Report.from_dict(json.loads(report.json())) == report
    (True, (), True)
    """

    name: str
    checks: tuple[Check, ...]
    remark: str = ""

    @property
    def passed(self) -> bool:
        """True if nothing failed; notes and operations that are not there yet do not count."""
        return not any(check.status in ("failed", "not run") for check in self.checks)

    @property
    def graded(self) -> bool:
        """False if there was nothing to grade: the file gives no class, or gives ours.

        >>> Report("mine", (Check("file", "loads", "import mine", "failed", "load"),)).graded
        False
        """
        return not (self.checks[:1] and self.checks[0].name == "file: loads") or (
            self.checks[0].passed
        )

    @property
    def exit_code(self) -> int:
        """0 if nothing that is there is wrong, 1 if a rule is broken, 2 if it was not graded.

        >>> Report("mine", (Check("a + b", "value", "c = a + b", "not there yet"),)).exit_code
        0
        """
        return 2 if not self.graded else int(not self.passed)

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
        {'name': 'mine', 'remark': '', 'passed': True, 'exit_code': 0, 'mistakes': [], 'checks': []}
        """
        return {
            "name": self.name,
            "remark": self.remark,
            "passed": self.passed,
            "exit_code": self.exit_code,
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
        made = tuple(Check(**check) for check in checks)
        return Report(record["name"], made, record.get("remark", ""))

    def json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        table = self._table() if self.graded else ""
        wrapped = [_wrapped(x) for x in (self._headline(), table, self.remark) if x]
        told = [_wrapped(text) for text, _ in self._told()]
        if self.mistakes:  # as many as leave the first on the screen, with the verdict
            lines = accumulate(text.count("\n") + 2 for text in told)
            most = max(1, sum(line <= LINES for line in lines))
            told = told[: min(most, len(self.mistakes))]
            if left := [group[0].name for group in self.mistakes[len(told) :]]:
                rest = ", ".join(left[:5]) + ", ..." * (len(left) > 5)
                told.append(_wrapped(f"To be told when that is fixed ({len(left)}): {rest}"))
        wrapped += told
        return "\n\n".join([*wrapped, self.verdict])

    __repr__ = __str__

    @property
    def verdict(self) -> str:
        """The last line of the report: what it comes to.

        >>> Report("mine", (Check("a + b", "value", "c = a + b"),)).verdict
        'Verdict: nothing that is there is wrong (1 check passed).'
        """
        count = Counter(check.status for check in self.checks)
        if not self.graded:
            return "Verdict: it could not be graded."
        if not self.passed:
            causes, failed = _counted(len(self.mistakes), "mistake"), count["failed"]
            ended = f", {count['not run']} not run" * bool(count["not run"])
            return f"Verdict: {causes}, {_counted(failed, 'check')} failed{ended}."
        passed = f"{_counted(count['passed'], 'check')} passed"
        return f"Verdict: nothing that is there is wrong ({passed})."

    def _headline(self) -> str:
        count = Counter(check.status for check in self.checks)
        known = (f"{count[status]} {status}" for status in STATUSES if count[status])
        return f"{self.name}: {', '.join(known)}"

    def _told(self) -> Iterator[tuple[str, Check]]:
        """What is told of each mistake and then of each note, and the check that shows it."""
        for i, (first, *others) in enumerate(self.mistakes, 1):
            text = first.message
            if others:
                some = ", ".join(check.name for check in others[:4]) + ", ..." * (len(others) > 4)
                text += f"\nAlso failed, probably for this reason ({len(others)}): {some}"
            yield _indented(f"{i}.", text), first
        for note in self.notes:
            yield _indented("Note, no failure:", note.message), note

    def _table(self) -> str:
        rows: dict[str, list[Check]] = {}
        for check in self.checks:
            if not check.skipped:
                rows.setdefault(check.operation, []).append(check)
        lines = []
        for operation, checks in rows.items():
            if any(not check.passed for check in checks):
                marks = {"passed": "ok", "failed": "FAILED"}
                aspects = [f"{x.aspect} {marks.get(x.status, x.status)}" for x in checks]
                if operation not in EXPRESSIONS:  # there are many, with long names
                    aspects = [text for text in aspects if not text.endswith(" ok")]
                lines.append(f"{operation:14}" + "  ".join(map(_unbroken, aspects)))
        passed = [name for name, checks in rows.items() if all(x.passed for x in checks)]
        lines += [f"ok: {', '.join(map(_unbroken, passed))}"] * bool(passed)
        for status in ("not there yet", "not run"):
            operations = dict.fromkeys(check.operation for check in self._with(status))
            lines += [f"{status}: {', '.join(map(_unbroken, operations))}"] * bool(operations)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        told = ((html.escape(text), _drawing(check)) for text, check in self._told())
        shown = "".join(f"<pre>{text}</pre>{drawing}" for text, drawing in told)
        return (
            f"<p><b>{html.escape(self._headline())}</b></p>{html.escape(self.remark)}{shown}"
            f"<details><summary>all checks</summary><pre>{html.escape(self._table())}</pre>"
            f"</details><p>{html.escape(self.verdict)}</p>"
        )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _indented(head: str, text: str) -> str:
    return f"{head} " + text.replace("\n", "\n   ")


def _unbroken(text: str) -> str:
    return text.replace(" ", "\xa0")  # which no line is broken at


def _wrapped(text: str) -> str:
    """The same in lines of at most WIDTH columns; what goes on is indented by more."""
    lines = []
    for line in text.split("\n"):
        start = " " * (len(line) - len(line.lstrip()))
        label = re.match(r"expected  |found     |\d+\. |[\w()]+( [\w()]+)?:? ", line.lstrip())
        hang = len(label[0]) if label and label[0].endswith("  ") else 3
        more = start + " " * hang
        width = WIDTH - sum(unicodedata.east_asian_width(x) in "WF" for x in line)
        lines += textwrap.wrap(
            line.lstrip(),
            max(width, WIDTH // 2),
            initial_indent=start,
            subsequent_indent=more,
            break_on_hyphens=False,
        )
    return "\n".join(lines).replace("\xa0", " ")


def _drawing(check: Check) -> str:
    """The graph of a program as SVG, with the right gradients; '' where there is none to draw."""
    from micrograd.draw import draw_dot

    if "Value(" not in check.program or check.aspect == "deep chain":
        return ""
    made = OURS.run(check.program)
    picture = draw_dot(made[root_of(check.program)], names=made).pipe(encoding="utf-8")
    return str(picture[picture.index("<svg") :])


# ---- Which failures belong together

OF_EVERYTHING = {"load", "syntax", "name", "ours", "construct"}
OF_ONE_OPERATION = {"value", "derivative", "closure", "chain", "runs", "result", "operands",
                    "exchanged", "reads"}  # fmt: skip
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
    if later.operation in EXPRESSIONS and later.operation in {check.operation for check in group}:
        return True
    if mistake == "result" and methods_in(first.program) & methods_in(later.program):
        return True
    is_of_one = mistake in OF_ONE_OPERATION or first.aspect == "inner operand"
    if first.operation in EXPRESSIONS and is_of_one:
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
