"""HTML pages for a class of students: a report for each of them, and an overview for the teacher.

A report shows, for each mistake, the smallest program that fails: as text, with what was expected
and found, and as a drawing with the wrong numbers in red. `hints` limits how much it gives away:

    0  the verdict and the points
    1  what is wrong: the rules that are broken, and the points for each rule
    2  where: the program, expected and found, the drawing
    3  how to fix it, behind a line to click
"""

from __future__ import annotations

import html
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from micrograd.grade.check import Check
from micrograd.grade.points import earned, meaning
from micrograd.grade.report import Report, svg_of
from micrograd.pages.page import html_page

VERDICTS = {0: "no mistake", 1: "mistakes", 2: "not graded"}  # keyed by exit code


class Result(NamedTuple):
    """One student's report.

    Attributes:
        student: a name that is unique in the class.
        file: the file as it was given.
        report: the report on it.
        page: the file name of the student's page.
    """

    student: str
    file: str
    report: Report
    page: str

    @property
    def rule(self) -> str:
        """The key of the rule that the first mistake breaks, '' without mistakes."""
        return next((group[0].mistake for group in self.report.mistakes), "")

    @property
    def reason(self) -> str:
        """Why there was nothing to grade, '' if there was."""
        return "" if self.report.graded else self.report.mistakes[0][0].found_at


def shown(points: float) -> str:
    """Points as text, with at most one decimal.

    >>> shown(100.0), shown(87.25)
    ('100', '87.2')
    """
    return f"{points:.1f}".removesuffix(".0")


def student_page(result: Result, table: Mapping[str, float], hints: int) -> str:
    """The page for one student.

    >>> page = student_page(Result("Ada", "ada.py", Report("ada.py", ()), "ada.html"), {}, 3)
    >>> "<h1>Ada</h1>" in page
    True
    """
    report = result.report
    verdict = report.verdict.removeprefix("Verdict: ").rstrip(".")
    points = f"{shown(report.points(table))} of {shown(sum(table.values()))} points"
    parts = [_section(f'<p class="points">{points}</p><p>{_escaped(verdict[:1].upper())}'
                      f"{_escaped(verdict[1:])}.</p>")]  # fmt: skip
    if hints >= 1:
        parts += [
            _mistake(f"{i}. {group[0].rule}", group[0], hints)
            for i, group in enumerate(report.mistakes, 1)
        ]
        parts += [
            _mistake(f"Note, which costs nothing: {note.rule}", note, hints)
            for note in report.kinds_of_notes
        ]
        parts.append(_points(earned(report.checks, table), table))
    return html_page("report", title=_escaped(result.student), body="\n".join(parts))


def _mistake(title: str, check: Check, hints: int) -> str:
    parts = [f"<h2>{_escaped(title)}</h2>"]
    if hints >= 2:
        program = "\n".join((check.spelled or check.program).split("; "))
        parts += [
            f"<pre>{_escaped(program)}</pre>",
            f"<dl><dt>expected</dt><dd>{_escaped(check.expected)}</dd>"
            f'<dt>found</dt><dd class="wrong">{_escaped(check.found_at)}</dd></dl>',
            _figure(check),
        ]
    if hints >= 3:
        fix = check.fix[:1].upper() + check.fix[1:]
        parts.append(f"<details><summary>How to fix it</summary><p>{_escaped(fix)}.</p></details>")
    return _section("\n".join(parts))


def _figure(check: Check) -> str:
    try:
        picture = svg_of(check)
    except ImportError as error:  # without Graphviz; the rest of the page is still of use
        warnings.warn(f"the pages have no drawings: {error}", RuntimeWarning, stacklevel=2)
        return ""
    label = "The graph of this program"
    return picture and f'<figure role="img" aria-label="{label}">{picture}</figure>'


def _points(found: Mapping[str, float], table: Mapping[str, float]) -> str:
    rows = [
        (meaning(name), f"{shown(found[name])} / {shown(most)}")
        for name, most in table.items()
        if most
    ]
    return _section(f"<h2>Points</h2>{_table(('rule', 'points'), rows)}")


def class_page(results: Sequence[Result], table: Mapping[str, float]) -> str:
    """The overview of a class, with links to the pages of the students.

    >>> "No report yet" in class_page([], {})
    True
    """
    if not results:
        return html_page("report", title="Class", body=_section("<p>No report yet.</p>"))
    points = [result.report.points(table) for result in results]
    most = shown(sum(table.values()))
    rows = [
        (
            f'<a href="{_escaped(result.page)}">{_escaped(result.student)}</a>',
            f'<span class="verdict">{VERDICTS[result.report.exit_code]}</span>',
            _escaped(" ".join([*(x.rule for x, *_ in result.report.mistakes[:2]), result.reason])),
            shown(earned),
        )
        for result, earned in zip(results, points, strict=True)
    ]
    count = Counter(x.rule for result in results for x, *_ in result.report.mistakes)
    mean = shown(sum(points) / len(points))
    parts = [
        _section(f'<p class="points">{mean} of {most} points on average</p>'
                 f"<p>{len(results)} {'file' if len(results) == 1 else 'files'}.</p>"),
        _section(_table(("student", "verdict", "first rules broken", "points"), rows, safe=True)),
    ]  # fmt: skip
    if count:
        often = [(rule, f"{n}") for rule, n in count.most_common()]
        parts.append(_section(f"<h2>Mistakes</h2>{_table(('rule', 'times'), often)}"))
    return html_page("report", title="Class", body="\n".join(parts))


def _section(content: str) -> str:
    return f"<section>{content}</section>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], safe: bool = False) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        *first, last = (cell if safe or tag == "th" else _escaped(cell) for cell in cells)
        made = "".join(f"<{tag}>{cell}</{tag}>" for cell in first)
        return f'<tr>{made}<{tag} class="right">{last}</{tag}></tr>'

    body = "\n".join(row(cells, "td") for cells in rows)
    return (
        f'<div class="scroll"><table><thead>{row(head, "th")}</thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _escaped(text: str) -> str:
    return html.escape(text)
