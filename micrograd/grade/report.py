"""The report on a class, as text, JSON and HTML; the overview of a class of students.

For each mistake, a page shows the smallest program that fails: as text, with what was expected and
found, and as a drawing with the wrong numbers in red. `hints` limits how much it gives away:

    0  the verdict and the points
    1  what is wrong: the rules that are broken, and the points for each rule
    2  where: the program, expected and found, the drawing
    3  how to fix it, behind a line to click
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from html import escape
from typing import Any

from micrograd.grade.checking import grouped
from micrograd.grade.points import NETWORK_POINTS, POINTS, earned, meaning, shown
from micrograd.grade.programs import OF_NETWORK, OURS, STATUSES, TASKS, Check, task_of
from micrograd.pages.page import html_page
from micrograd.texts import said, spoken, wrap

WIDTH, INDENT = 80, " " * 10  # columns of a report, and of lines that continue another
_said = partial(said, "report")
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
        language: that of its sentences, as in `explain`.

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
    language: str | None = None

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
    @spoken
    def rules(self) -> list[str]:
        """The broken rules in words, each once."""
        return [*dict.fromkeys(first.rule for first, *_ in self.mistakes)]

    @property
    @spoken
    def outcome(self) -> str:
        """The exit code in words."""
        if self.progress and not self.mistakes:
            return _said("outcome.unfinished")
        return _said(f"outcome.{self.exit_code}")

    @property
    def reason(self) -> str:
        """Why there was nothing to grade, or which task is next; '' otherwise."""
        return self.progress if self.exit_code < 2 else self.first.found_at

    @property
    def notes(self) -> tuple[Check, ...]:
        """A check for each limit that the original micrograd shares, if all else is right."""
        by_limit = {check.mistake: check for check in self._with("noted")}
        return () if self.mistakes or self.progress else tuple(by_limit.values())

    @property
    @spoken
    def progress(self) -> str:
        """Which tasks of `micrograd start` are done, and the next one; '' if none is left."""
        if not (to_do := self._with("to do")):
            return ""
        done, task = self._task - 1, min(map(task_of, to_do))
        if self.mistakes and self._task == min(OF_NETWORK.values()):
            done = 0  # the engine below a network that is not begun is not right
        then = "next.mistake" if self.mistakes else "next"
        then = _said(then, n=task, task=_said(f"task.{task}"))
        text = _said(f"done.{min(done, 3)}", n=done, next=then)
        its = [x for x in self.checks if task_of(x) == task and x.aspect in ("value", "gradient")]
        left = {x.operation: x.found for x in its if x.status == "to do"}
        if any(x.passed for x in its):
            text += f"; {_said('missing', names=', '.join(left))}"
        found = next((x for x in left.values() if x and not self.mistakes), "")
        return text + f"; {found}" * bool(found)

    @property
    def _task(self) -> int:
        """The first task that is not done."""
        done = "passed", "noted"
        left = (task_of(x) for x in self.checks if x.status not in done)
        return min(filter(None, left), default=TASKS)

    def _with(self, status: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)

    def to_dict(self, table: Mapping[str, float] | None = None) -> dict[str, Any]:
        """The report as plain dicts, lists, strings, numbers and bools, for other programs.

        `mistakes` holds the names of the failed checks, grouped by probable cause.

        >>> Report("mine", ()).to_dict({"value": 20})["points"]
        0.0
        """
        table = self.table if table is None else table
        names = ("student", "name", "seconds", "passed", "exit_code", "progress")
        checks = [{"name": x.name, "rule": x.rule, "fix": x.fix} | asdict(x) for x in self.checks]
        return {name: getattr(self, name) for name in names} | {
            "points": self.points(table), "of": float(sum(table.values())),
            "points_by_rule": earned(self.checks, table), "checks": checks,
            "mistakes": [[check.name for check in group] for group in self.mistakes],
        }  # fmt: skip

    def json(self, table: Mapping[str, float] | None = None) -> str:
        """The record of `to_dict` as JSON text."""
        return json.dumps(self.to_dict(table), indent=2)

    def points(self, table: Mapping[str, float] | None = None) -> float:
        """The points that the checks earn; 100 by default if all pass. See `points.py`."""
        return math.fsum(earned(self.checks, self.table if table is None else table).values())

    @property
    def table(self) -> Mapping[str, float]:
        """The default points: those for a Value, or those for a network."""
        return NETWORK_POINTS if any(x.operation == "MLP" for x in self.checks) else POINTS

    @spoken
    def text(self, hints: int = 3) -> str:
        """The report as text, which tells the verdict (0), what is wrong (1), where (2), how (3).

        >>> print(Report("mine", ()).text(hints=0))
        Verdict: no mistake found (0 checks passed).
        """
        if hints == 0:
            return self.verdict
        count = Counter(check.status for check in self.checks)
        told = STATUSES[:2] if self.progress else STATUSES
        known = ", ".join(f"{count[x]} {_status(x)}" for x in told if count[x])
        last = max(map(task_of, self.checks), default=0)
        task = [_said("task.of", n=self._task, all=last)] if self.progress else []
        parts = [f"{self.name}: {'; '.join([*task, known])}"]
        if hints >= 2 and self.exit_code < 2 and not self.progress:
            parts.append(self._table())
        for i, (first, *others) in enumerate(self.mistakes[:EXPLAINED], 1):
            parts.append(f"{i}. {first.told(hints)}".replace("\n", "\n   "))
            if others and hints >= 2:
                names = ", ".join(check.name for check in others[:4]) + ", ..." * (len(others) > 4)
                same = _said("same", n=len(others), names=names)
                parts[-1] += f"\n   {same}"
        if left := [first.name for first, *_ in self.mistakes[EXPLAINED:]]:
            parts.append(_said("more", n=len(left), names=", ".join(left)))
        for note in self.notes:
            parts.append(_said("note", note=note.told(hints)).replace("\n", "\n   "))
        lines = "\n\n".join([*parts, self.verdict]).split("\n")
        return "\n".join("\n".join(wrap(line, WIDTH, INDENT)) for line in lines)

    __str__ = __repr__ = text

    @property
    @spoken
    def verdict(self) -> str:
        """The last line of the report, a summary."""
        return f"{_said('verdict.is')} {self._verdict}"

    @property
    @spoken
    def _verdict(self) -> str:
        count = Counter(check.status for check in self.checks)
        if self.exit_code == 2:
            return _said("verdict.not")
        if self.passed:
            classes = ("Neuron", "Layer", "MLP")
            absent = [x.operation for x in self._with("not there yet") if x.operation in classes]
            if absent:
                names = ", ".join(dict.fromkeys(absent))
                return _said("verdict.right.absent", n=count["passed"], names=names)
            return _said("verdict.right", n=count["passed"])
        key = ".ended" * bool(count["not run"]) if self.mistakes else ".begun"
        counts = {"n": len(self.mistakes), "failed": count["failed"], "ended": count["not run"]}
        left = f" {self.progress}." * bool(self.progress)
        return _said(f"verdict.mistakes{key}", **counts) + left

    def _table(self) -> str:
        """The operations, listed by their worst outcome."""
        worst = {x.operation: "passed" for x in self.checks}
        for status in STATUSES[:0:-1]:
            worst |= {x.operation: status for x in self._with(status)}
        lists = ((status, [x for x in worst if worst[x] == status]) for status in STATUSES[::-1])
        return "\n".join(f"{_status(x)}: {', '.join(found)}" for x, found in lists if found)

    @spoken
    def _repr_html_(self) -> str:
        return "".join(sections(self, self.table))


def _status(status: str) -> str:
    return _said(f"status.{status}")


# ---- Pages


def student_page(report: Report, table: Mapping[str, float], hints: int) -> str:
    """The page for one student."""
    return _page(report.student, sections(report, table, hints))


def sections(report: Report, table: Mapping[str, float], hints: int = 3) -> Iterator[str]:
    """The report in parts, each HTML."""
    verdict = report._verdict
    points = points_of(report.points(table), table)
    yield f'<p class="points">{points}</p><p>{escape(verdict[:1].upper() + verdict[1:])}</p>'
    if hints >= 1:
        for i, (first, *_) in enumerate(report.mistakes, 1):
            yield _mistake(f"{i}. {first.rule}", first, hints)
        for note in report.notes:
            yield _mistake(_said("note.free", rule=note.rule), note, hints)
        found = earned(report.checks, table)
        rows = [
            (escape(meaning(x)), f"{shown(found[x])} / {shown(n)}") for x, n in table.items() if n
        ]
        yield f"<h2>{_said('points.title')}</h2>{_table(('rule', 'points'), rows)}"


def _mistake(title: str, check: Check, hints: int) -> str:
    parts = [f"<h2>{escape(title)}</h2>"]
    if hints >= 2:
        program = check.program.replace("; ", "\n")
        parts.append(
            f"<pre>{escape(program)}</pre>"
            f"<dl><dt>{_said('expected')}</dt><dd>{escape(check.expected)}</dd>"
            f'<dt>{_said("found")}</dt><dd class="wrong">{escape(check.found_at)}</dd></dl>'
        )
        with suppress(ImportError):  # without Graphviz, the rest of the page is still of use
            parts.append(svg_of(check))
    if hints >= 3:
        fix = escape(check.fix[:1].upper() + check.fix[1:])
        parts.append(f"<details><summary>{_said('how')}</summary><p>{fix}.</p></details>")
    return "\n".join(parts)


def class_page(reports: Sequence[Report], table: Mapping[str, float]) -> str:
    """The overview of a class, with links to the pages of the students."""
    rows, made_by, total = [], dict[str, list[str]](), 0.0
    for x in reports:
        link = f'<a href="{escape(x.page)}">{escape(x.student)}</a>'
        for rule in x.rules:
            made_by.setdefault(rule, []).append(link)
        points = x.points(table)
        total += points
        rules = escape(" ".join([*x.rules[:2], x.reason]))
        verdict = f'<span class="verdict">{x.outcome}</span>'
        rows.append((link, shown(points), verdict, rules, f"{x.seconds:.1f}"))
    mean = _said("points.mean", points=points_of(total / max(1, len(reports)), table))
    often = sorted(made_by.items(), key=lambda row: -len(row[1]))
    cells = [(escape(rule), ", ".join(names), f"{len(names)}") for rule, names in often]
    graded = _said("class.graded", n=len(reports))
    return _page(_said("class.title"), [
        f'<p class="points">{mean}</p><p>{graded}</p>',
        _table(("student", "points", "verdict", "class.next", "seconds"), rows),
        f"<h2>{_said('class.mistakes')}</h2>{_table(('rule', 'students', 'times'), cells)}",
    ])  # fmt: skip


def points_of(points: float, table: Mapping[str, float]) -> str:
    """Points out of those of a table, in words."""
    return _said("points.of", n=shown(points), all=shown(sum(table.values())))


def _page(title: str, sections: Iterable[str]) -> str:
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return html_page("report", title=escape(title), body=body)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{_said(key)}</th>" for key in head)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll">{table}</div>'


# ---- Drawings


def svg_of(check: Check) -> str:
    """The drawing of a failed check as a figure in HTML, '' if there is nothing to draw."""
    found: dict[str, dict[str, str]] = {}
    for name, attribute, number in re.findall(r"\b(\w+)\.(data|grad) = (-?[\w.+-]+)", check.found):
        found.setdefault(name, {})[attribute] = number
    is_large = check.aspect == "deep chain" or check.operation in OF_NETWORK
    picture = None if is_large else drawing(check.program, found)
    if picture is None:
        return ""
    picture.graph_attr["label"] = ""  # no caption: the report is beside it
    svg = picture.pipe(encoding="utf-8")
    svg = re.sub(r' id="[^"]*"', "", svg[svg.index("<svg") :])  # a page may have several
    return f'<figure role="img" aria-label="{said("course", "drawing.plain")}">{svg}</figure>'


def drawing(program: str, found: Mapping[str, Mapping[str, object]]) -> Any:
    """The graph of a program, None if it makes no Value; wrong numbers that were found are red.

    Args:
        program: one that our own Value can run.
        found: for some of its names, the wrong 'data' and 'grad'; other names are ignored.
    """
    from micrograd.draw import draw_dot

    if "Value(" not in program:
        return None
    made = OURS.run(program)
    beside = {made[x]: numbers for x, numbers in found.items() if x in made}
    used = {v for value in made.values() for v in value._prev}
    roots = [value for value in made.values() if value not in used]
    return draw_dot(roots, names=made, highlight=beside)
