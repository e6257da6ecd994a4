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
from micrograd.grade.rules import RULES

POINTS = {  # 100 in all; by default, the others are shown without points
    "construct": 4, "seed": 4, "fresh": 4, "value": 18, "derivative": 18, "chain": 10,
    "children": 6, "accumulate": 12, "operands": 4, "once": 2, "order": 6, "wrap": 3,
    "reflected": 3, "identity": 2, "again": 2, "paths": 2, "twice": 0, "depth": 0, "numpy": 0,
}  # fmt: skip
# The rule that a check of an expression shows if it passes; a row of the plan may name another.
SHOWN = {"value": "value", "gradient": "derivative", "chain rule": "chain",
         "adding up": "accumulate", "inner operand": "children"}  # fmt: skip


@cache
def _rules() -> dict[str, str]:
    return {
        f"{row.operation}: {row.aspect}": row.mistake or SHOWN[row.aspect] for row in plan()
    }  # fmt: skip


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
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    separator = ";" if ";" in text.partition("\n")[0] else ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(row)]
    except csv.Error as error:  # from a quotation mark that is never closed, for example
        raise ValueError(f"{path} is not a CSV file: {error}") from None
    if not rows or [word.strip().lower() for word in rows[0][:2]] != ["rule", "points"]:
        start = "micrograd start points.csv writes an example"
        raise ValueError(f"{path} must begin with the columns rule and points: {start}")
    table: dict[str, float] = {}
    for name, *cells in rows[1:]:
        name = name.strip()
        if name not in {*_rules().values(), *EXPRESSIONS}:
            known = ", ".join(dict.fromkeys(_rules().values()))
            fix = f"use one of {known}, or an operation such as a.tanh()"
            raise ValueError(f"{path}: {name!r} is not a rule: {fix}")
        if name in table:
            raise ValueError(f"{path}: {name!r} is there twice: leave one of the two rows out")
        table[name] = _number(cells[0] if cells else "", separator, f"{path}: the points of {name}")
    if not sum(table.values()) > 0:
        raise ValueError(f"{path} gives no points: write a number above 0 for at least one rule")
    return table


def _number(text: str, separator: str, what: str) -> float:
    try:
        points = float(text.replace(",", ".") if separator == ";" else text)
    except ValueError:
        points = -1.0
    if not 0 <= points < 1e6:
        raise ValueError(f"{what} must be a number of at least 0, got {text!r}")
    return points


def default_points() -> str:
    """The default table as CSV text, with the meaning of each rule.

    >>> print(default_points().partition("value,")[0].strip())
    rule,points,meaning
    construct,4,A new Value keeps its number in .data and starts with a gradient of 0 in .grad.
    seed,4,The gradient of the node on which backward() is called is 1.
    fresh,4,Each Value has its own grad and its own operands.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rule", "points", "meaning"])
    for name, points in POINTS.items():
        writer.writerow([name, points, meaning(name)])
    return text.getvalue()


def meaning(name: str) -> str:
    """A rule, or an operation, in one sentence.

    >>> meaning("value"), meaning("a.tanh()")
    ('Each operation computes the right number.', 'a.tanh() works.')
    """
    if name in EXPRESSIONS:
        return f"{name} works."
    return OF_ALL.get(name) or RULES[name][0]


# Rules that a report states for one operation.
OF_ALL = {
    "value": "Each operation computes the right number.",
    "derivative": "Each _backward has the right derivatives.",
    "chain": "Each _backward multiplies its local derivatives by the gradient of the result.",
}
