"""Points: what each rule is worth, and how many points a report earns.

The table is a CSV file with the columns `rule` and `points`, which a teacher can edit
(`micrograd start points.csv` writes the default). A mistake costs its own rule, once; what else
fails because of it costs nothing. A rule about single operations loses in proportion to the
operations that break it, any other rule all its points. A mistake against a rule without points
costs the rule of the check that shows it, or the one that rules.toml names. After a mistake because
of which nothing works, only what still works earns points. `micrograd grade --help` says what a
missing operation costs.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from micrograd.grade.checking import affects, grouped
from micrograd.grade.programs import (
    CORE,
    ENGINE,
    EXPRESSIONS,
    NETWORK,
    OF_NETWORK,
    ROWS,
    Check,
    plan,
)
from micrograd.texts import said, texts_of

POINTS, NETWORK_POINTS = (  # 100 each
    {name: row["points"] for name, row in table.items() if "points" in row}
    for table in (ENGINE, NETWORK)
)
# The rule that a check of an expression shows if it passes; a row of the plan may name another.
SHOWN = {"value": "value", "gradient": "derivative", "chain rule": "chain",
         "adding up": "accumulate", "inner operand": "children"}  # fmt: skip
OF_OPERATIONS = {*SHOWN.values(), "wrap", "reflected"}  # these lose points in proportion
RULE_OF = {f"{x.operation}: {x.aspect}": x.mistake or SHOWN[x.aspect]
           for x in [*plan(), *plan(network=True)]}  # fmt: skip
NAMED = EXPRESSIONS | OF_NETWORK.keys()  # what a row of the table may name instead of a rule


def earned(checks: Iterable[Check], table: Mapping[str, float] = POINTS) -> dict[str, float]:
    """The points for each row of the table.

    >>> passed = Check("a + b", "value", "c = a + b")
    >>> earned([passed, Check("a * b", "value", "c = a * b", "failed", "value")], {"value": 20})
    {'value': 10.0}
    """
    checks = list(checks)
    mistakes = grouped(checks)
    whole = [group for group in mistakes if _is_whole(group)]

    def share(name: str) -> float:
        if name in NAMED:
            asked = [x for x in checks if x.operation == name]
            groups = [group for group in mistakes if group[0].operation == name]
        else:
            shown = (x for x in checks if RULE_OF.get(x.name) == name)
            asked = [x for x in shown if x.status != "not there yet"]
            groups = [group for group in mistakes if charged(group) == name]
            if groups and name not in OF_OPERATIONS:
                return 0.0
        if not asked:
            return float(bool(checks) and not whole)
        lost = {x for group in groups + whole for x in group}
        lost |= {x for x in asked if x.status in ("not there yet", "to do", "not run")}
        return 1 - len(lost & {*asked}) / len(asked)

    return {name: most * share(name) for name, most in table.items()}


def _is_whole(mistake: Sequence[Check]) -> bool:
    # Whether nothing works because of it: no Value, a + b, a * b or backward(); no Neuron, ...
    first = mistake[0]
    needed = {"backward: of a single node", *(f"{x}: value" for x in CORE),
              "Neuron: weights and bias", "Layer: neurons", "MLP: sizes"}  # fmt: skip
    is_error = any(check.name in needed and check.expected == "no error" for check in mistake)
    return affects(first, "everything") or first.mistake == "needed" or is_error


def charged(mistake: Sequence[Check]) -> str:
    """The rule with points that a mistake costs, which a check that fails because of it shows."""
    first, failed = mistake[0], {RULE_OF.get(check.name, "") for check in mistake}
    [rule] = ROWS[first.mistake].get("costs", [first.mistake])
    is_shown = rule in failed or rule not in OF_OPERATIONS
    return rule if rule in POINTS | NETWORK_POINTS and is_shown else RULE_OF.get(first.name, "")


def read_points(path: Path) -> dict[str, float]:
    """The table in a CSV file; columns after `points` are ignored.

    Semicolons and decimal commas are fine, as spreadsheets write them in some countries.

    Raises:
        OSError: the file cannot be read.
        ValueError: a row names no rule, or its points are not a number of at least 0.
    """
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    separator = ";" if re.match(r"\s*rule\s*;", text, re.I) else ","
    lines = text.splitlines() or [""]
    head, *rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    if [word.strip().lower() for word in head[:2]] != ["rule", "points"]:
        start = "micrograd start points.csv writes an example"
        raise ValueError(f"{path} must begin with the columns rule and points: {start}")
    table: dict[str, float] = {}
    for name, number, *_ in ([x.strip() for x in [*row, ""]] for row in rows if any(row)):
        rules = dict.fromkeys([*RULE_OF.values(), *NETWORK_POINTS])
        if name not in {*rules, *NAMED}:
            fix = f"use one of {', '.join(rules)}, or an operation such as a.tanh()"
            raise ValueError(f"{path}: {name!r} is not a rule: {fix}")
        if not re.fullmatch(r"\d+([.,]\d*)?", number):
            what = f"the points of {name} must be a number of at least 0, got {number!r}"
            raise ValueError(f"{path}: {what}")
        table[name] = float(number.replace(",", "."))
    return table


def default_points(network: bool = False) -> str:
    """The default table as CSV text, with the meaning of each rule."""
    return csv_of(
        {"rule": x, "points": f"{n}", said("report", "points.meaning"): meaning(x)}
        for x, n in (NETWORK_POINTS if network else POINTS).items()
    )


def csv_of(rows: Iterable[Mapping[str, str]]) -> str:
    r"""Rows with the same columns as CSV text; no cell is a formula.

    >>> csv_of([{"student": "=1+1", "points": "5"}])
    "student,points\n'=1+1,5\n"
    """
    rows, text = list(rows), io.StringIO()
    for row in [[*rows[0]] if rows else [], *([*row.values()] for row in rows)]:
        cells = (f"'{x}" if re.match(r"\s*[=+@-]", x) else x for x in row)
        csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def meaning(name: str) -> str:
    """A rule, or an operation, in one sentence."""
    if name in NAMED:
        return said("report", "works", name=name)
    texts = texts_of("grade")
    return texts.get(f"{name}.all", texts[f"{name}.what"])


def shown(points: float) -> str:
    """Points as text, with at most one decimal."""
    return f"{points:.1f}".removesuffix(".0")
