"""The results of a class in the formats of spreadsheets, gradebooks and graders.

Each format is tested against what its maker documents:

    gradescope    results.json, https://gradescope-autograders.readthedocs.io/en/latest/specs/
    classroom50   result.json, schemas/result-v1.schema.json in foundation50/classroom50
    canvas        the CSV file that a Canvas gradebook exports and imports
    moodle        the CSV file of Moodle's grade import, https://docs.moodle.org/en/Grade_import
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from micrograd.grade.check import Check
from micrograd.grade.points import charged, earned, meaning
from micrograd.grade.report import Result

FORMATS = ("json", "gradescope", "classroom50", "canvas", "moodle")
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
FORMULA = re.compile(r"\s*[=+@-]")  # a spreadsheet takes a cell that begins so for a formula


def written(
    form: str,
    results: Sequence[Result],
    table: Mapping[str, float],
    hints: int = 3,
    assignment: str = "micrograd",
) -> str:
    """The results in one of FORMATS.

    Args:
        form: the format.
        results: the results.
        table: the points, as from `read_points`.
        hints: how much texts for students give away, 0 to 3.
        assignment: the title of the column in a gradebook.

    Raises:
        ValueError: the format is that of a single student, and there are several; or a variable of
            its environment is missing.
    """
    if form == "canvas":
        return _canvas(results, table, assignment)
    if form == "moodle":
        return _moodle(results, table, assignment)
    if form == "json":
        return json.dumps({"students": records(results, table)}, indent=2)
    if len(results) > 1:
        raise ValueError(f"--format {form} expects one file, got {len(results)}: it is a student's")
    one = {"gradescope": _gradescope, "classroom50": _classroom50}[form]
    return json.dumps(one(results[0], table, hints), indent=2)


# ---- 1. Tables


def csv_text(results: Iterable[Result], table: Mapping[str, float]) -> str:
    """The results as CSV: a row for each student, with the first mistake and the points.

    >>> from micrograd.grade.report import Report
    >>> print(csv_text([Result("=1+1", "a.py", Report("a.py", ()))], {"value": 20}).splitlines()[1])
    '=1+1,0,20,no mistake,,0,0.0,,,,a.py,0
    """
    head = ["student", "points", "of", "verdict", "rule", "mistakes", "seconds"]
    head += ["program", "expected", "found", "file"]
    rows = [[*head, *(f"{rule} (of {shown(most)})" for rule, most in table.items())]]
    for x in results:
        mistakes = x.report.mistakes
        first = mistakes[0][0] if mistakes else Check("", "", "")
        cells = [x.student, shown(x.report.points(table)), shown(sum(table.values())), x.verdict,
                 x.rule, len(mistakes), f"{x.report.seconds:.1f}", first.spelled or first.program,
                 first.expected, first.found_at, x.file]  # fmt: skip
        rows.append([*map(str, cells), *map(shown, earned(x.report.checks, table).values())])
    return _csv(rows)


def _canvas(results: Iterable[Result], table: Mapping[str, float], assignment: str) -> str:
    rows = [[*CANVAS, assignment], ["    Points Possible", "", "", "", "", _total(table)]]
    for x in results:
        row = x.row or {"Student": x.student, "SIS Login ID": x.student}
        rows.append([*(row.get(name, "") for name in CANVAS), shown(x.report.points(table))])
    return _csv(rows)


def _moodle(results: Sequence[Result], table: Mapping[str, float], assignment: str) -> str:
    known = next((x.row for x in results if x.row), {"ID number": ""})
    rows = [[*known, f"{assignment} (Real)", f"{assignment} (Feedback)"]]
    for x in results:
        row = x.row or dict.fromkeys(known, "") | {next(iter(known)): x.student}
        rows.append([*row.values(), shown(x.report.points(table)), said(x)])
    return _csv(rows)


def _csv(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    quoted = ([f"'{cell}" if FORMULA.match(cell) else cell for cell in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(quoted)
    return text.getvalue()


def summary(results: Iterable[Result], table: Mapping[str, float]) -> str:
    """The results as a table for a terminal."""
    rows = [("student", "points", "verdict", "rule")]
    for x in results:
        rule = ": ".join(filter(None, [x.rule, x.reason]))
        rows.append((x.student, shown(x.report.points(table)), x.verdict, rule))
    first, second, third = (max(len(row[i]) for row in rows) for i in range(3))
    lines = [f"{a:{first}}  {b:>{second}}  {c:{third}}  {d}".rstrip() for a, b, c, d in rows]
    return "\n".join(lines)


def shown(points: float) -> str:
    """Points as text, with at most one decimal.

    >>> shown(100.0), shown(87.25)
    ('100', '87.2')
    """
    return f"{points:.1f}".removesuffix(".0")


def said(result: Result) -> str:
    """The rules that a student's class breaks, in words."""
    rules = [first.rule for first, *_ in result.report.mistakes]
    return " ".join([*rules, result.reason]).strip() or "No mistake found."


def _total(table: Mapping[str, float]) -> str:
    return shown(sum(table.values()))


# ---- 2. Records


def records(results: Iterable[Result], table: Mapping[str, float]) -> list[dict[str, Any]]:
    """The results as plain dicts, lists, strings and numbers, the fixes included."""
    return [
        {
            "student": x.student,
            "points": x.report.points(table),
            "of": float(sum(table.values())),
            "points_by_rule": earned(x.report.checks, table),
            "seconds": x.report.seconds,
            **x.report.to_dict(),
        }
        for x in results
    ]


def _gradescope(result: Result, table: Mapping[str, float], hints: int) -> dict[str, Any]:
    report, found = result.report, earned(result.report.checks, table)
    told: dict[str, str] = {}
    for mistake in report.mistakes if hints else ():
        rule = charged(mistake)
        told[rule] = f"{told.get(rule, '')}\n\n{mistake[0].told(hints)}"
    return {
        "score": round(sum(found.values()), 2),
        "execution_time": round(report.seconds, 1),
        "output": report.text(hints),
        "tests": [
            {"name": meaning(rule), "score": round(found[rule], 2), "max_score": most,
             "output": told.get(rule, "").strip()}
            for rule, most in table.items()
        ],
    }  # fmt: skip


def _classroom50(result: Result, table: Mapping[str, float], hints: int) -> dict[str, Any]:
    def given(name: str, default: str = "") -> str:
        if value := os.environ.get(name, default):
            return value
        raise ValueError(
            f"--format classroom50 expects {name} in its environment, as in its runner"
        )

    found = earned(result.report.checks, table)
    tests: list[dict[str, Any]] = [  # whole points, as its schema wants
        {"test-name": meaning(rule), "passed": found[rule] == most, "score": round(found[rule]),
         "max-score": round(most)}
        for rule, most in table.items()
    ]  # fmt: skip
    commit = given("COMMIT_URL")
    return {
        "schema": "classroom50/result/v1",
        "classroom": given("CLASSROOM"),
        "assignment": given("ASSIGNMENT"),
        "assignment_type": given("ASSIGNMENT_TYPE", "individual"),
        "owner": given("OWNER", os.environ.get("USERNAME", "")),
        "submission": given("SUBMISSION_TAG"),
        "commit": commit,
        "release": given("RELEASE_URL"),
        "review": given("REVIEW_URL", commit),
        "datetime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }
