"""The results of a class in the formats of spreadsheets, gradebooks and graders.

Each format is tested against what its maker documents:

    gradescope    results.json, https://gradescope-autograders.readthedocs.io/en/latest/specs/
    classroom50   result.json, schemas/result-v1.schema.json in foundation50/classroom50
    canvas        the CSV file that a Canvas gradebook exports and imports
    moodle        the CSV file of Moodle's grade import, https://docs.moodle.org/en/Grade_import
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from micrograd.grade.check import Check
from micrograd.grade.points import charged, csv_of, earned, meaning
from micrograd.grade.report import Result

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def written(
    form: str,
    results: Sequence[Result],
    table: Mapping[str, float],
    hints: int = 3,
    assignment: str = "micrograd",
) -> str:
    """The results in a format.

    Args:
        form: 'json', 'gradescope', 'classroom50', 'canvas' or 'moodle'.
        results: the results.
        table: the points, as from `read_points`.
        hints: how much texts for students give away, 0 to 3.
        assignment: the title of the column in a gradebook.

    Raises:
        ValueError: the format is that of a single student, and there are several; or a variable of
            its environment is missing.
    """
    if form in ("canvas", "moodle"):
        return csv_of({"canvas": _canvas, "moodle": _moodle}[form](results, table, assignment))
    if form == "json":
        return json.dumps({"students": records(results, table)}, indent=2)
    if len(results) > 1:
        raise ValueError(f"--format {form} expects one file, got {len(results)}: it is a student's")
    one = {"gradescope": _gradescope, "classroom50": _classroom50}[form]
    return json.dumps(one(results[0], table, hints), indent=2)


# ---- 1. Tables: a row for each student, keyed by column


def csv_text(results: Iterable[Result], table: Mapping[str, float]) -> str:
    """The results as CSV: a row for each student, with the first mistake and the points.

    >>> from micrograd.grade.report import Report
    >>> print(csv_text([Result("=1+1", "a.py", Report("a.py", ()))], {"value": 20}).splitlines()[1])
    '=1+1,0,20,no mistake,,0,0.0,,,,a.py,0
    """
    return csv_of(_row(x, table) for x in results)


def _row(x: Result, table: Mapping[str, float]) -> dict[str, str]:
    mistakes = x.report.mistakes
    first = mistakes[0][0] if mistakes else Check("", "", "")
    return {
        "student": x.student,
        "points": shown(x.report.points(table)),
        "of": shown(sum(table.values())),
        "verdict": x.verdict,
        "rule": x.rule,
        "mistakes": f"{len(mistakes)}",
        "seconds": f"{x.report.seconds:.1f}",
        "program": first.spelled or first.program,
        "expected": first.expected,
        "found": first.found_at,
        "file": x.file,
    } | {
        f"{rule} (of {shown(table[rule])})": shown(points)
        for rule, points in earned(x.report.checks, table).items()
    }


def _canvas(
    results: Iterable[Result], table: Mapping[str, float], assignment: str
) -> list[dict[str, str]]:
    most = {"Student": "    Points Possible", assignment: shown(sum(table.values()))}
    rows = [dict.fromkeys(CANVAS, "") | most]
    for x in results:
        row = x.row or {"Student": x.student, "SIS Login ID": x.student}
        points = {assignment: shown(x.report.points(table))}
        rows.append({name: row.get(name, "") for name in CANVAS} | points)
    return rows


def _moodle(
    results: Sequence[Result], table: Mapping[str, float], assignment: str
) -> list[dict[str, str]]:
    columns = [*next((x.row for x in results if x.row), {"ID number": ""})]
    return [
        {
            **(x.row or {**dict.fromkeys(columns, ""), columns[0]: x.student}),
            f"{assignment} (Real)": shown(x.report.points(table)),
            f"{assignment} (Feedback)": " ".join([*x.rules, x.reason]).strip()
            or "No mistake found.",
        }
        for x in results
    ]


def summary(results: Iterable[Result], table: Mapping[str, float]) -> str:
    """The results as a table for a terminal."""
    rows = [("student", "points", "verdict", "rule")]
    for x in results:
        rule = ": ".join(filter(None, [x.rule, x.reason]))
        rows.append((x.student, shown(x.report.points(table)), x.verdict, rule))
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"{a:{width}}  {b:>6}  {c:10}  {d}".rstrip() for a, b, c, d in rows)


def shown(points: float) -> str:
    """Points as text, with at most one decimal.

    >>> shown(100.0), shown(87.25)
    ('100', '87.2')
    """
    return f"{points:.1f}".removesuffix(".0")


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
