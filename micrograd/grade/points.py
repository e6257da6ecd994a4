"""Points: what each rule is worth, and how many points a report earns.

The table is a CSV file with the columns `rule` and `points`, which a teacher can edit
(`micrograd start points.csv` writes the default). A rule earns its points in proportion to its
checks that pass: 18 of 20 give 90 %. Operations that the class lacks do not count. A row may also
name an operation, as the report does, such as `a.tanh()`: if the class lacks it, its points are
lost. A note costs nothing. A rule that no check could show earns nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from micrograd.grade.check import Check
from micrograd.grade.programs import EXPRESSIONS, plan
from micrograd.grade.rules import ROWS

POINTS = {name: row["points"] for name, row in ROWS.items() if "points" in row}  # 100 in all
# The rule that a check of an expression shows if it passes; a row of the plan may name another.
SHOWN = {"value": "value", "gradient": "derivative", "chain rule": "chain",
         "adding up": "accumulate", "inner operand": "children"}  # fmt: skip


@cache
def _rules() -> dict[str, str]:
    """The rule that each check shows."""
    return {f"{x.operation}: {x.aspect}": x.mistake or SHOWN[x.aspect] for x in plan()}


def earned(checks: Iterable[Check], table: Mapping[str, float] = POINTS) -> dict[str, float]:
    """The points for each row of the table.

    >>> passed = Check("a + b", "value", "c = a + b")
    >>> earned([passed, Check("a * b", "value", "c = a * b", "failed")], {"value": 20})
    {'value': 10.0}
    """
    checks = list(checks)

    def share(name: str) -> float:
        asked = [check for check in checks if check.operation == name]
        if name not in EXPRESSIONS:
            asked = [check for check in checks if _rules().get(check.name) == name]
            asked = [check for check in asked if check.status != "not there yet"]
        return sum(x.status in ("passed", "noted") for x in asked) / len(asked) if asked else 0.0

    return {name: most * share(name) for name, most in table.items()}


def read_points(path: Path) -> dict[str, float]:
    """The table in a CSV file.

    Columns after `points` are ignored, and may be in any encoding. Semicolons and decimal commas
    are fine, as spreadsheets write them in some countries.

    Raises:
        OSError: the file cannot be read.
        ValueError: a row names no rule, or its points are not a number of at least 0.
    """
    lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    separator = ";" if lines and ";" in lines[0] else ","
    try:
        rows = [row for row in csv.reader(lines, delimiter=separator) if any(row)]
    except csv.Error as error:  # from a quotation mark that is never closed, for example
        raise ValueError(f"{path} is not a CSV file: {error}") from None
    if not rows or [word.strip().lower() for word in rows[0][:2]] != ["rule", "points"]:
        start = "micrograd start points.csv writes an example"
        raise ValueError(f"{path} must begin with the columns rule and points: {start}")
    table: dict[str, float] = {}
    rules = dict.fromkeys(_rules().values())
    for name, text, *_ in ([*row, ""] for row in rows[1:]):
        name = name.strip()
        if name not in {*rules, *EXPRESSIONS}:
            fix = f"use one of {', '.join(rules)}, or an operation such as a.tanh()"
            raise ValueError(f"{path}: {name!r} is not a rule: {fix}")
        if name in table:
            raise ValueError(f"{path}: {name!r} is there twice: leave one of the two rows out")
        try:
            table[name] = float(text.replace(",", "."))
        except ValueError:
            table[name] = -1.0
        if not 0 <= table[name] < 1e6:
            what = f"the points of {name} must be a number of at least 0, got {text!r}"
            raise ValueError(f"{path}: {what}")
    if not sum(table.values()) > 0:
        raise ValueError(f"{path} gives no points: write a number above 0 for at least one rule")
    return table


def default_points() -> str:
    """The default table as CSV text, with the meaning of each rule."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rule", "points", "meaning"])
    writer.writerows([name, points, meaning(name)] for name, points in POINTS.items())
    return text.getvalue()


def meaning(name: str) -> str:
    """A rule, or an operation, in one sentence.

    >>> meaning("value"), meaning("a.tanh()")
    ('Each operation computes the right number.', 'a.tanh() works.')
    """
    if name in EXPRESSIONS:
        return f"{name} works."
    texts: str = ROWS[name].get("all", ROWS[name]["what"])["en"]
    return texts
