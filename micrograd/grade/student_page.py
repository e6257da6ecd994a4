"""HTML pages for a class of students: a report for each of them, and an overview for the teacher.

A report shows, for each mistake, the smallest program that fails: as text, with what was expected
and found, and as a drawing with the wrong numbers in red. `hints` limits how much it gives away:

    0  the verdict and the points
    1  what is wrong: the rules that are broken, and the points for each rule
    2  where: the program, expected and found, the drawing
    3  how to fix it, behind a line to click
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import Any

from micrograd.grade.points import earned, meaning, shown
from micrograd.grade.programs import OURS, Check
from micrograd.grade.report import Report
from micrograd.pages.page import html_page


def student_page(report: Report, table: Mapping[str, float], hints: int) -> str:
    """The page for one student."""
    return _page(report.student, sections(report, table, hints))


def sections(report: Report, table: Mapping[str, float], hints: int = 3) -> Iterator[str]:
    """The report in parts, each HTML."""
    verdict = report.verdict.removeprefix("Verdict: ").capitalize()
    points = f"{shown(report.points(table))} of {shown(sum(table.values()))} points"
    yield f'<p class="points">{points}</p><p>{escape(verdict)}</p>'
    if hints >= 1:
        for i, (first, *_) in enumerate(report.mistakes, 1):
            yield _mistake(f"{i}. {first.rule}", first, hints)
        for note in report.notes:
            yield _mistake(f"Note, which costs nothing: {note.rule}", note, hints)
        found = earned(report.checks, table)
        rows = [(escape(meaning(x)), f"{shown(found[x])} / {shown(table[x])}") for x in table]
        yield f"<h2>Points</h2>{_table(('rule', 'points'), rows)}"


def _mistake(title: str, check: Check, hints: int) -> str:
    parts = [f"<h2>{escape(title)}</h2>"]
    if hints >= 2:
        program = check.program.replace("; ", "\n")
        parts.append(
            f"<pre>{escape(program)}</pre>"
            f"<dl><dt>expected</dt><dd>{escape(check.expected)}</dd>"
            f'<dt>found</dt><dd class="wrong">{escape(check.found_at)}</dd></dl>'
        )
        with suppress(ImportError):  # without Graphviz, the rest of the page is still of use
            parts.append(svg_of(check))
    if hints >= 3:
        fix = escape(check.fix[:1].upper() + check.fix[1:])
        parts.append(f"<details><summary>How to fix it</summary><p>{fix}.</p></details>")
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
    mean = f"{shown(total / max(1, len(reports)))} of {shown(sum(table.values()))} points"
    often = sorted(made_by.items(), key=lambda row: -len(row[1]))
    cells = [(escape(rule), ", ".join(names), f"{len(names)}") for rule, names in often]
    return _page("Class", [
        f'<p class="points">{mean} on average</p><p>Graded: {len(reports)}.</p>',
        _table(("student", "points", "verdict", "first rules broken", "seconds"), rows),
        f"<h2>Mistakes</h2>{_table(('rule', 'students', 'times'), cells)}",
    ])  # fmt: skip


def _page(title: str, sections: Iterable[str]) -> str:
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return html_page("report", title=escape(title), body=body)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll">{table}</div>'


# ---- Drawings


def svg_of(check: Check) -> str:
    """The drawing of a failed check as a figure in HTML, '' if there is nothing to draw."""
    found: dict[str, dict[str, str]] = {}
    for name, attribute, number in re.findall(r"\b(\w+)\.(data|grad) = (-?[\w.+-]+)", check.found):
        found.setdefault(name, {})[attribute] = number
    picture = None if check.aspect == "deep chain" else drawing(check.program, found)
    if picture is None:
        return ""
    picture.graph_attr["label"] = ""  # no caption: the report is beside it
    svg = picture.pipe(encoding="utf-8")
    svg = re.sub(r' id="[^"]*"', "", svg[svg.index("<svg") :])  # a page may have several
    return f'<figure role="img" aria-label="The graph of this program">{svg}</figure>'


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
