"""The report on a class, as text, HTML and JSON."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from micrograd.grade.checking import grouped
from micrograd.grade.points import POINTS, earned
from micrograd.grade.programs import STATUSES, TASKS, Check, task_of

WIDTH = 80  # columns of a report
EXPLAINED = 2  # mistakes: the first one must stay visible on a screen of 24 lines


@dataclass(frozen=True, repr=False)
class Report:
    """All checks of one class; `print` shows a table and the mistakes, and notebooks add graphs.

    Attributes:
        name: the name of the class or the file.
        checks: all checks in order.
        seconds: how long it took in a process of its own.
        student: in a class of students, a name that is unique there.
        page: the file name of the student's page.
        row: the student's row in the list of students, by column.

    >>> report = Report("mine", (Check("a + b", "value", "c = a + b"),))
    >>> report.passed, report.notes, report.verdict
    (True, (), 'Verdict: no mistake found (1 check passed).')
    """

    name: str
    checks: tuple[Check, ...]
    seconds: float = 0.0
    student: str = ""
    page: str = ""
    row: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if no check failed and no task is left; notes do not count."""
        return not any(check.status in ("failed", "to do", "not run") for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 without mistakes, 1 if a rule is broken or a task is left, 2 if it cannot be graded."""
        loads = all(check.passed for check in self.checks[:1] if check.name == "file: loads")
        return int(not self.passed) if loads else 2

    @property
    def mistakes(self) -> tuple[tuple[Check, ...], ...]:
        """The failed checks, grouped by probable cause; the clearest of each group comes first."""
        return grouped(self.checks)

    @property
    def first(self) -> Check:
        """The check that shows the first mistake; without mistakes, an empty one."""
        return next((first for first, *_ in self.mistakes), Check("", "", ""))

    @property
    def rules(self) -> list[str]:
        """The broken rules in words, each once."""
        return [*dict.fromkeys(first.rule for first, *_ in self.mistakes)]

    @property
    def outcome(self) -> str:
        """The exit code in words."""
        if self.progress and not self.mistakes:
            return "unfinished"
        return ("no mistake", "mistakes", "not graded")[self.exit_code]

    @property
    def reason(self) -> str:
        """Why there was nothing to grade, or which task is next; '' otherwise."""
        return self.progress if self.exit_code < 2 else self.first.found_at

    @property
    def notes(self) -> tuple[Check, ...]:
        """A check for each limit that the original micrograd shares, if there is no mistake."""
        by_limit = {check.mistake: check for check in self._with("noted")}
        return () if self.mistakes else tuple(by_limit.values())

    @property
    def progress(self) -> str:
        """Which tasks of `micrograd start` are done, and the next one; '' if none is left."""
        tasks = {task_of(x) for x in self._with("to do")}
        if not tasks:
            return ""
        begun = (x for x in self.checks if x.status not in ("passed", "noted"))
        done = min(task_of(x) or len(TASKS) for x in begun) - 1
        tasks_done = ("no task", "task 1")[done] if done < 2 else f"tasks 1 to {done}"
        then = "the first mistake, then " * bool(self.mistakes)
        return f"{tasks_done} done; next: {then}task {min(tasks)}, {TASKS[min(tasks) - 1]}"

    def _with(self, status: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)

    def to_dict(self, table: Mapping[str, float] = POINTS) -> dict[str, Any]:
        """The report as plain dicts, lists, strings, numbers and bools, for other programs.

        `mistakes` holds the names of the failed checks, grouped by probable cause.

        >>> Report("mine", ()).to_dict({"value": 20})["points"]
        0.0
        """
        names = ("student", "name", "seconds", "passed", "exit_code", "progress")
        checks = [{"name": x.name, "rule": x.rule, "fix": x.fix} | asdict(x) for x in self.checks]
        return {name: getattr(self, name) for name in names} | {
            "points": self.points(table), "of": float(sum(table.values())),
            "points_by_rule": earned(self.checks, table), "checks": checks,
            "mistakes": [[check.name for check in group] for group in self.mistakes],
        }  # fmt: skip

    def json(self, table: Mapping[str, float] = POINTS) -> str:
        """The record of `to_dict` as JSON text."""
        return json.dumps(self.to_dict(table), indent=2)

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
        count = Counter(check.status for check in self.checks)
        known = (f"{count[status]} {status}" for status in STATUSES if count[status])
        parts = [f"{self.name}: {', '.join(known)}"]
        if hints >= 2 and self.exit_code < 2 and not self.progress:
            parts.append(self._table())
        for i, (first, *others) in enumerate(self.mistakes[:EXPLAINED], 1):
            parts.append(f"{i}. {first.told(hints)}".replace("\n", "\n   "))
            if others and hints >= 2:
                names = ", ".join(check.name for check in others[:4]) + ", ..." * (len(others) > 4)
                same = f"Also failed, probably for the same reason ({len(others)}): {names}"
                parts[-1] += f"\n   {same}"
        if left := [first.name for first, *_ in self.mistakes[EXPLAINED:]]:
            parts.append(f"More after these are fixed ({len(left)}): {', '.join(left)}")
        for note in self.notes:
            parts.append(f"Note (not a failure): {note.told(hints)}".replace("\n", "\n   "))
        return "\n\n".join(map(_wrapped, [*parts, self.verdict]))

    __str__ = __repr__ = text

    @property
    def verdict(self) -> str:
        """The last line of the report, a summary."""
        count = Counter(check.status for check in self.checks)
        if self.exit_code == 2:
            return "Verdict: could not be graded."
        if self.passed:
            return f"Verdict: no mistake found ({_counted(count['passed'], 'check')} passed)."
        left = f"; {self.progress}" * bool(self.progress)
        if not self.mistakes:
            return f"Verdict: no mistake so far{left}."
        mistakes, failed = _counted(len(self.mistakes), "mistake"), count["failed"]
        ended = f", {count['not run']} not run" * bool(count["not run"])
        return f"Verdict: {mistakes}, {_counted(failed, 'check')} failed{ended}{left}."

    def _table(self) -> str:
        """The operations, listed by their worst outcome."""
        worst = {x.operation: "passed" for x in self.checks}
        for status in STATUSES[:0:-1]:
            worst |= {x.operation: status for x in self._with(status)}
        lists = ((status, [x for x in worst if worst[x] == status]) for status in STATUSES[::-1])
        return "\n".join(f"{status}: {', '.join(found)}" for status, found in lists if found)

    def _repr_html_(self) -> str:
        from micrograd.grade.student_page import sections

        return "".join(sections(self, POINTS))


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _wrapped(text: str) -> str:
    """The text in lines of at most WIDTH columns; continued lines are indented further."""
    wrap = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False)
    return "\n".join(map(wrap.fill, text.split("\n")))
