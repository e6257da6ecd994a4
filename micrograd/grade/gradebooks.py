"""The results of a class in the formats of spreadsheets, gradebooks and graders.

Each format is tested against what its maker documents:

    gradescope    results.json, https://gradescope-autograders.readthedocs.io/en/latest/specs/
    canvas        the CSV file that a Canvas gradebook exports and imports

Moodle's grade import takes the CSV file of all results: with a list of students, it has the list's
columns, too, such as the address by which Moodle knows a student.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.grade.points import charged, csv_of, earned, meaning, shown
from micrograd.grade.report import Report
from micrograd.texts import said

Points = Mapping[str, float]
Reports = Sequence[Report]
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def written(
    form: str,
    reports: Reports,
    table: Points,
    hints: int = 3,
    assignment: str = "micrograd",
) -> str:
    """The reports on students in a format.

    Args:
        form: 'json', 'gradescope' or 'canvas'.
        reports: one of each student.
        table: the points, as from `read_points`.
        hints: how much texts for students give away, 0 to 3.
        assignment: the title of the column in a gradebook.

    Raises:
        ValueError: the format is that of a single student, and there are several.
    """
    if form == "canvas":
        return csv_of(_canvas(reports, table, assignment)).rstrip("\n")
    if form == "json":
        return json.dumps({"students": [x.to_dict(table) for x in reports]}, indent=2)
    if len(reports) > 1:
        raise ValueError(f"--format {form} expects one file, got {len(reports)}: it is a student's")
    return json.dumps(_gradescope(reports[0], table, hints), indent=2)


def csv_text(reports: Reports, table: Points) -> str:
    """The reports as CSV: a row for each student, with the first mistake and the points.

    Before these are the columns of the list of students, if there is one.

    >>> print(csv_text([Report("a.py", (), student="=1+1")], {"value": 20}).splitlines()[1])
    '=1+1,0,20,no mistake,,0,0.0,,,,a.py,0
    """
    rows, most = [], shown(sum(table.values()))
    listed = dict.fromkeys((name for x in reports for name in x.row), "")
    for x in reports:
        row = {
            **listed, **x.row,
            "student": x.student, "points": shown(x.points(table)), "of": most,
            "verdict": x.outcome, "rule": x.first.mistake, "mistakes": f"{len(x.mistakes)}",
            "seconds": f"{x.seconds:.1f}", "program": x.first.program,
            "expected": x.first.expected, "found": x.first.found_at, "file": x.name,
        }  # fmt: skip
        for rule, points in earned(x.checks, table).items():
            row[f"{rule} (of {shown(table[rule])})"] = shown(points)
        rows.append(row)
    return csv_of(rows)


def _canvas(reports: Reports, table: Points, assignment: str) -> list[dict[str, str]]:
    empty = dict.fromkeys(CANVAS, "")
    rows = [empty | {"Student": "    Points Possible", assignment: shown(sum(table.values()))}]
    for x in reports:
        row = x.row or {"Student": x.student, "SIS Login ID": x.student}
        known = {name: row[name] for name in CANVAS if name in row}
        rows.append(empty | known | {assignment: shown(x.points(table))})
    return rows


def summary(reports: Reports, table: Points) -> str:
    """The reports as a table for a terminal."""
    rows = [tuple(said("report", x) for x in ("student", "points", "verdict", "rule"))]
    for x in reports:
        rule = ": ".join(filter(None, [x.first.mistake, x.reason]))
        rows.append((x.student, shown(x.points(table)), x.outcome, rule))
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"{a:{width}}  {b:>6}  {c:10}  {d}".rstrip() for a, b, c, d in rows)


def _gradescope(report: Report, table: Points, hints: int) -> dict[str, Any]:
    found = earned(report.checks, table)
    told: dict[str, list[str]] = {rule: [] for rule in table}
    for mistake in report.mistakes if hints else ():
        told.setdefault(charged(mistake), []).append(mistake[0].told(hints))
    return {
        "score": round(sum(found.values()), 2), "output": report.text(hints),
        "execution_time": round(report.seconds, 1),
        "tests": [
            {"name": meaning(rule), "score": round(found[rule], 2), "max_score": most,
             "output": "\n\n".join(told[rule])}
            for rule, most in table.items()
        ],
    }  # fmt: skip
