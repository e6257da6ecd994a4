"""Groups failures that have the same cause: one mistake makes many checks fail."""

from __future__ import annotations

from collections.abc import Sequence

from micrograd.grade.check import Check
from micrograd.grade.programs import EXPRESSIONS, methods_in

# Keys of RULES, grouped by what such a mistake affects.
OF_EVERYTHING = {"load", "module", "package", "shadows", "syntax", "name", "ours", "construct"}
OF_ONE_OPERATION = {"value", "derivative", "closure", "chain", "runs", "result", "operands",
                    "exchanged", "reads"}  # fmt: skip
OF_PLAIN_NUMBERS = {"wrap", "reflected", "swapped"}
OF_ALL_GRADIENTS = {"seed", "fresh", "walk", "number", "untouched", "identity", "children"}
OF_REUSE = {"accumulate", "operands", "once", "order"}


def grouped(failed: Sequence[Check]) -> tuple[tuple[Check, ...], ...]:
    """Failed checks, grouped by probable cause; the clearest check of each group comes first."""
    groups: list[list[Check]] = []
    for check in failed:
        group = next((group for group in groups if _has_same_cause(check, group)), [])
        if not group:
            groups.append(group)
        group.append(check)
    return tuple(tuple(_clearest_first(group)) for group in groups)


def _has_same_cause(later: Check, group: Sequence[Check]) -> bool:
    first, mistake = group[0], group[0].mistake
    if later.expected == "no error" and _error(later) in map(_error, group):
        return True
    if mistake in OF_EVERYTHING or (later.place and later.place == first.place):
        return True
    if later.mistake == mistake and mistake not in ("value", "derivative", "runs"):
        return True
    if later.operation in EXPRESSIONS and later.operation in {check.operation for check in group}:
        return True
    if mistake == "result" and methods_in(first.program) & methods_in(later.program):
        return True
    is_of_one = mistake in OF_ONE_OPERATION or first.aspect == "inner operand"
    if first.operation in EXPRESSIONS and is_of_one:
        needed = later.composed or methods_in(first.operation) & methods_in(later.program)
        return bool(needed) and (mistake == "runs" or later.mistake not in OF_PLAIN_NUMBERS)
    if later.mistake in OF_PLAIN_NUMBERS or later.aspect == "value":
        return False
    if mistake in OF_REUSE:
        return later.composed or later.aspect != "gradient"
    return mistake in OF_ALL_GRADIENTS or later.operation == "NumPy"


def _error(check: Check) -> str:
    operator, *_ = check.found.partition("'")  # the operands differ from check to check
    return operator if "unsupported operand" in operator else check.found


def _clearest_first(group: list[Check]) -> list[Check]:
    # For a node that is used more than once, a + a is clearer than the check that failed first.
    if group[0].mistake not in OF_REUSE or group[0].aspect == "gradient":
        return group
    same = [check for check in group if check.mistake == group[0].mistake]
    first = min(same, key=lambda check: check.program.count(";"))
    return [first, *(check for check in group if check is not first)]
