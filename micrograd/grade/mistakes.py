"""Failed checks, grouped by probable cause, since one mistake makes many checks fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from micrograd.grade.check import Check
from micrograd.grade.programs import EXPRESSIONS, methods_in
from micrograd.grade.rules import ROWS


def grouped(checks: Iterable[Check]) -> tuple[tuple[Check, ...], ...]:
    """The failed checks, grouped by probable cause; the clearest of each group comes first."""
    groups: list[list[Check]] = []
    for check in checks:
        if check.status == "failed":
            group = next((group for group in groups if _has_same_cause(check, group)), [])
            if not group:
                groups.append(group)
            group.append(check)
    return tuple(tuple(_clearest_first(group)) for group in groups)


def _affects(check: Check, what: str) -> bool:
    return what in ROWS[check.mistake].get("affects", ())  # as rules.toml says


def _has_same_cause(later: Check, group: Sequence[Check]) -> bool:
    first, mistake = group[0], group[0].mistake
    is_beside_number = _affects(later, "numbers")
    if later.expected == "no error" and _error(later) in map(_error, group):
        return True
    if _affects(first, "everything") or (later.place and later.place == first.place):
        return True
    if later.mistake == mistake and mistake not in ("value", "derivative", "runs"):
        return True
    if later.operation in EXPRESSIONS and later.operation in {check.operation for check in group}:
        return True
    if mistake == "result" and methods_in(first.program) & methods_in(later.program):
        return True
    is_of_one = _affects(first, "operation") or first.aspect == "inner operand"
    if first.operation in EXPRESSIONS and is_of_one:
        needed = later.composed or methods_in(first.operation) & methods_in(later.program)
        return bool(needed) and (mistake == "runs" or not is_beside_number)
    if is_beside_number or later.aspect == "value":
        return False
    if _affects(first, "reuse"):
        return later.composed or later.aspect != "gradient"
    return _affects(first, "gradients") or later.operation == "NumPy"


def _error(check: Check) -> str:
    operator, *_ = check.found.partition("'")  # the operands differ from check to check
    return operator if "unsupported operand" in operator else check.found


def _clearest_first(group: list[Check]) -> list[Check]:
    # For a node that is used more than once, a + a is clearer than the check that failed first.
    if not _affects(group[0], "reuse") or group[0].aspect == "gradient":
        return group
    same = [check for check in group if check.mistake == group[0].mistake]
    first = min(same, key=lambda check: check.program.count(";"))
    return [first, *(check for check in group if check is not first)]
