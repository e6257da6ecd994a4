"""The report on a class, as text, HTML and JSON."""

from __future__ import annotations

import html
import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from micrograd.grade.check import STATUSES, Check, grouped
from micrograd.grade.graded_class import ALIASES
from micrograd.grade.points import POINTS, earned
from micrograd.grade.programs import EXPRESSIONS, OURS
from micrograd.grade.tasks import TASKS, task_of

MARKS = {"passed": "ok", "failed": "FAILED"}
WIDTH = 80  # columns of a report
EXPLAINED = 2  # mistakes: the first one must stay visible on a screen of 24 lines


@dataclass(frozen=True, repr=False)
class Report:
    """All checks of one class; `print` shows a table and the mistakes, and notebooks add graphs.

    Attributes:
        name: the name of the class or the file.
        checks: all checks in order.
        remark: which names of the class differ from the lecture's, if any.
        seconds: how long it took in a process of its own.

    >>> report = Report("mine", (Check("a + b", "value", "c = a + b"),))
    >>> report.passed, report.notes, report.verdict
    (True, (), 'Verdict: no mistake found (1 check passed).')
    """

    name: str
    checks: tuple[Check, ...]
    remark: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if no check failed and no task is left; notes do not count."""
        return not any(check.status in ("failed", "to do", "not run") for check in self.checks)

    @property
    def graded(self) -> bool:
        """False if there was nothing to grade: the file defines no class, or uses ours."""
        return all(check.passed for check in self.checks[:1] if check.name == "file: loads")

    @property
    def exit_code(self) -> int:
        """0 without mistakes, 1 if a rule is broken or a task is left, 2 if it cannot be graded."""
        return 2 if not self.graded else int(not self.passed)

    @property
    def mistakes(self) -> tuple[tuple[Check, ...], ...]:
        """The failed checks, grouped by probable cause; the clearest of each group comes first."""
        return grouped(self.checks)

    @property
    def progress(self) -> str:
        """Which tasks of `micrograd start` are done, and the next one; '' if none is left."""
        tasks = {task_of(x.operation, x.aspect) for x in self._with("to do")}
        if not tasks:
            return ""
        begun = (x for x in self.checks if x.status not in ("passed", "noted"))
        first = min(task_of(x.operation, x.aspect) or len(TASKS) for x in begun)
        some = ("no task", "task 1", "tasks 1 and 2")
        done = some[first - 1] if first <= len(some) else f"tasks 1 to {first - 1}"
        then = "the first mistake, then " * bool(self.mistakes)
        return f"{done} done; next: {then}task {min(tasks)}, {TASKS[min(tasks) - 1]}"

    @property
    def notes(self) -> tuple[Check, ...]:
        """Checks that show a limit, not a mistake, which the original micrograd shares."""
        return self._with("noted")

    @property
    def kinds_of_notes(self) -> tuple[Check, ...]:
        """The first note of each kind."""
        return tuple({note.mistake: note for note in self.notes[::-1]}.values())[::-1]

    def _with(self, status: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings, numbers and bools, for other programs.

        `mistakes` holds the names of the failed checks, grouped by probable cause.

        >>> sorted(Report("mine", ()).to_dict())
        ['checks', 'exit_code', 'mistakes', 'name', 'passed', 'progress', 'remark']
        """
        return {
            "name": self.name,
            "remark": self.remark,
            "passed": self.passed,
            "exit_code": self.exit_code,
            "progress": self.progress,
            "mistakes": [[check.name for check in group] for group in self.mistakes],
            "checks": [
                {"name": x.name, "rule": x.rule, "fix": x.fix} | asdict(x) for x in self.checks
            ],
        }

    def json(self) -> str:
        """The record of `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def points(self, table: Mapping[str, float] = POINTS) -> float:
        """The points that the checks earn; 100 by default if all pass. See `points.py`."""
        return math.fsum(earned(self.checks, table).values())

    def text(self, hints: int = 3) -> str:
        """The report as text, which tells the verdict (0), what is wrong (1), where (2), how (3).

        >>> print(Report("mine", ()).text(hints=0))
        Verdict: no mistake found (0 checks passed).
        """
        if hints == 0:
            return self.verdict
        count = len(self.mistakes)
        left = [first.name for first, *_ in self.mistakes[EXPLAINED:]]
        more = f"More after these are fixed ({len(left)}): {', '.join(left)}" * bool(left)
        texts = [text for text, _ in self._texts(hints)][: min(count, EXPLAINED) or None]
        table = self._table() * (hints >= 2 and self.graded and not self.progress)
        parts = [self._headline(), table, self.remark, *texts, more, self.verdict]
        return "\n\n".join(_wrapped(part) for part in parts if part)

    __str__ = __repr__ = text

    @property
    def verdict(self) -> str:
        """The last line of the report, a summary."""
        count = Counter(check.status for check in self.checks)
        if not self.graded:
            return "Verdict: could not be graded."
        if self.passed:
            return f"Verdict: no mistake found ({_counted(count['passed'], 'check')} passed)."
        left = f"; {self.progress}" * bool(self.progress)
        if not self.mistakes:
            return f"Verdict: no mistake so far{left}."
        mistakes, failed = _counted(len(self.mistakes), "mistake"), count["failed"]
        ended = f", {count['not run']} not run" * bool(count["not run"])
        return f"Verdict: {mistakes}, {_counted(failed, 'check')} failed{ended}{left}."

    def _headline(self) -> str:
        count = Counter(check.status for check in self.checks)
        known = (f"{count[status]} {status}" for status in STATUSES if count[status])
        return f"{self.name}: {', '.join(known)}"

    def _texts(self, hints: int = 3) -> list[tuple[str, Check]]:
        """The text about each mistake, then each kind of note, with the check that shows it."""
        texts = []
        for i, (first, *others) in enumerate(self.mistakes, 1):
            text = f"{i}. {first.told(hints)}"
            if others and hints >= 2:
                names = ", ".join(check.name for check in others[:4]) + ", ..." * (len(others) > 4)
                text += f"\nAlso failed, probably for the same reason ({len(others)}): {names}"
            texts.append((text, first))
        for note in self.kinds_of_notes:
            texts.append((f"Note (not a failure): {note.told(hints)}", note))
        return [(text.replace("\n", "\n   "), check) for text, check in texts]

    def _table(self) -> str:
        """A row for each operation with a failure or a note, then lists of all others."""
        lines, lists = [], dict[str, list[str]]()
        for operation in dict.fromkeys(check.operation for check in self.checks):
            checks = [check for check in self.checks if check.operation == operation]
            # Graphs have many checks, with long names: only what failed is shown.
            shown = [x for x in checks if operation in EXPRESSIONS or not x.passed]
            if {"failed", "noted"} & {x.status for x in checks}:
                row = (f"{x.aspect} {MARKS.get(x.status, x.status)}" for x in shown)
                lines.append(f"{operation:14}{'  '.join(row)}")
            else:
                lists.setdefault(checks[-1].status, []).append(operation)
        named = (f"{MARKS.get(status, status)}: {', '.join(x)}" for status, x in lists.items())
        return "\n".join([*lines, *named])

    def _repr_html_(self) -> str:
        texts = ((html.escape(text), svg_of(check)) for text, check in self._texts())
        shown = "".join(f"<pre>{text}</pre>{svg}" for text, svg in texts)
        return (
            f"<p><b>{html.escape(self._headline())}</b></p>{html.escape(self.remark)}{shown}"
            f"<details><summary>all checks</summary><pre>{html.escape(self._table())}</pre>"
            f"</details><p>{html.escape(self.verdict)}</p>"
        )


class Result(NamedTuple):
    """One student's report in a class.

    Attributes:
        student: a name that is unique in the class.
        file: the file as it was given.
        report: the report on it.
        page: the file name of the student's page.
        row: the student's row in the list of students, by column.
    """

    student: str
    file: str
    report: Report
    page: str = ""
    row: Mapping[str, str] = {}

    @property
    def verdict(self) -> str:
        """The exit code in words."""
        if self.report.progress and not self.report.mistakes:
            return "unfinished"
        return ("no mistake", "mistakes", "not graded")[self.report.exit_code]

    @property
    def rules(self) -> list[str]:
        """The broken rules in words, each once."""
        return [*dict.fromkeys(first.rule for first, *_ in self.report.mistakes)]

    @property
    def rule(self) -> str:
        """The key of the rule that the first mistake breaks, '' without mistakes."""
        return next((group[0].mistake for group in self.report.mistakes), "")

    @property
    def reason(self) -> str:
        """Why there was nothing to grade, or which task is next; '' otherwise."""
        return self.report.progress if self.report.graded else self.report.mistakes[0][0].found_at


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _wrapped(text: str) -> str:
    """The text in lines of at most WIDTH columns; continued lines are indented further."""
    lines = (
        textwrap.wrap(line, WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False)
        for line in text.split("\n")
    )
    return "\n".join("\n".join(line) for line in lines)


# ---- 2. Drawings


def svg_of(check: Check) -> str:
    """The drawing of a failed check as SVG, '' if there is nothing to draw."""
    found: dict[str, dict[str, str]] = {}
    for name, attribute, number in re.findall(r"\b(\w+)\.(\w+) = (-?[\w.+-]+)", check.found):
        word = "data" if attribute in ALIASES["data"] else "grad"
        found.setdefault(name, {})[word] = number
    picture = None if check.aspect == "deep chain" else drawing(check.program, found)
    if picture is None:
        return ""
    picture.graph_attr["label"] = ""  # no caption: the report is beside it
    svg = picture.pipe(encoding="utf-8")
    return re.sub(r' id="[^"]*"', "", svg[svg.index("<svg") :])  # a page may have several


def drawing(program: str, found: Mapping[str, Mapping[str, Any]]) -> Any:
    """The graph of a program: the right numbers, and in red the wrong ones that were found.

    Args:
        program: one that our own Value can run.
        found: for some of its names, the wrong 'data' and 'grad'; other names are ignored.

    Returns:
        What `draw_dot` returns, or None if the program makes no Value.
    """
    from micrograd.draw import draw_dot

    if "Value(" not in program:
        return None
    made = OURS.run(program)
    beside = {made[x]: numbers for x, numbers in found.items() if x in made}
    used = {v for value in made.values() for v in value._prev}
    roots = [value for value in made.values() if value not in used]
    return draw_dot(roots, names=made, found=beside, highlight=[*beside])
