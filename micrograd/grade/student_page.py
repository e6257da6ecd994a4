"""HTML pages for a class of students: a report for each of them, and an overview for the teacher.

A report shows, for each mistake, the smallest program that fails: as text, with what was expected
and found, and as a drawing with the wrong numbers in red. `hints` limits how much it gives away:

    0  the verdict and the points
    1  what is wrong: the rules that are broken, and the points for each rule
    2  where: the program, expected and found, the drawing
    3  how to fix it, behind a line to click
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from micrograd.grade.check import Check
from micrograd.grade.gradebooks import shown
from micrograd.grade.points import earned, meaning
from micrograd.grade.report import Result, svg_of
from micrograd.pages.page import html_page


def student_page(result: Result, table: Mapping[str, float], hints: int) -> str:
    """The page for one student."""
    report, most = result.report, shown(sum(table.values()))
    verdict = report.verdict.removeprefix("Verdict: ").capitalize()
    points = f"{shown(report.points(table))} of {most} points"
    parts = [f'<p class="points">{points}</p><p>{escape(verdict)}</p>']
    if hints >= 1:
        for i, (first, *_) in enumerate(report.mistakes, 1):
            parts.append(_mistake(f"{i}. {first.rule}", first, hints))
        for note in report.kinds_of_notes:
            parts.append(_mistake(f"Note, which costs nothing: {note.rule}", note, hints))
        found = earned(report.checks, table)
        rows = [(escape(meaning(x)), f"{shown(found[x])} / {shown(table[x])}") for x in table]
        parts.append(f"<h2>Points</h2>{_table(('rule', 'points'), rows)}")
    return _page(result.student, parts)


def _mistake(title: str, check: Check, hints: int) -> str:
    parts = [f"<h2>{escape(title)}</h2>"]
    if hints >= 2:
        program = (check.spelled or check.program).replace("; ", "\n")
        parts.append(
            f"<pre>{escape(program)}</pre>"
            f"<dl><dt>expected</dt><dd>{escape(check.expected)}</dd>"
            f'<dt>found</dt><dd class="wrong">{escape(check.found_at)}</dd></dl>'
        )
        try:
            picture = svg_of(check)
        except ImportError as error:  # without Graphviz; the rest of the page is still of use
            warnings.warn(f"the pages have no drawings: {error}", RuntimeWarning, stacklevel=2)
            picture = ""
        label = "The graph of this program"
        parts.append(picture and f'<figure role="img" aria-label="{label}">{picture}</figure>')
    if hints >= 3:
        fix = escape(check.fix[:1].upper() + check.fix[1:])
        parts.append(f"<details><summary>How to fix it</summary><p>{fix}.</p></details>")
    return "\n".join(parts)


def class_page(results: Sequence[Result], table: Mapping[str, float]) -> str:
    """The overview of a class, with links to the pages of the students.

    >>> "No report yet" in class_page([], {})
    True
    """
    if not results:
        return _page("Class", ["<p>No report yet.</p>"])
    rows, made_by = [], dict[str, list[str]]()
    for x in results:
        link = f'<a href="{escape(x.page)}">{escape(x.student)}</a>'
        for rule in x.rules:
            made_by.setdefault(rule, []).append(link)
        points, verdict = shown(x.report.points(table)), f'<span class="verdict">{x.verdict}</span>'
        rules = escape(" ".join([*x.rules[:2], x.reason]))
        rows.append((link, points, verdict, rules, f"{x.report.seconds:.1f}"))
    mean = shown(sum(x.report.points(table) for x in results) / len(results))
    files = f"{len(results)} {'file' if len(results) == 1 else 'files'}"
    parts = [
        f'<p class="points">{mean} of {shown(sum(table.values()))} points on average</p>'
        f"<p>{files}.</p>",
        _table(("student", "points", "verdict", "first rules broken", "seconds"), rows),
    ]
    if made_by:
        often = sorted(made_by.items(), key=lambda row: -len(row[1]))
        cells = [(escape(rule), ", ".join(names), f"{len(names)}") for rule, names in often]
        parts.append(f"<h2>Mistakes</h2>{_table(('rule', 'students', 'times'), cells)}")
    return _page("Class", parts)


def _page(title: str, sections: Iterable[str]) -> str:
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return html_page("report", title=escape(title), body=body)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells in HTML; numbers are in the last column."""

    def row(cells: Sequence[str], tag: str) -> str:
        *first, last = cells
        made = "".join(f"<{tag}>{cell}</{tag}>" for cell in first)
        return f'<tr>{made}<{tag} class="right">{last}</{tag}></tr>'

    body = "\n".join(row(cells, "td") for cells in rows)
    return (
        f'<div class="scroll"><table><thead>{row(head, "th")}</thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
