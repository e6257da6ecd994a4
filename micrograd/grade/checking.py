"""All checks of a class: each program runs with it and our Value, and the numbers are compared.

The expected numbers come from our own Value. Next to an expected gradient, the report shows the
slope of the class's own forward pass, computed by central differences. If that forward pass is
wrong, its slope is the expected gradient.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from micrograd.grade.check import Check
from micrograd.grade.diagnosis import mistake_behind_error, mistake_behind_gradients
from micrograd.grade.graded_class import (
    BrokenRule,
    GradedClass,
    Observed,
    RaisedError,
    leaves_of,
    near,
    root_of,
)
from micrograd.grade.programs import CORE, REFLECTED, Row, expected_of, methods_in, plan
from micrograd.grade.tasks import first_left, is_to_do, task_of

FREES_GRAPH = (
    "a = Value(3.0); b = a * a; n = len(b._prev); f = b._backward; b.backward(); "
    "freed = len(getattr(b, '_prev', ())) < n or b._backward != f"
)
MAY_REFUSE = {"a ** b", "2.0 ** a"}  # the lecture's __pow__ takes plain exponents only

# ---- 1. The checks


def checks_of(graded: GradedClass, rows: Iterable[Row] | None = None) -> Iterator[Check]:
    """The checks of a class in the order of the plan, each run on demand.

    Args:
        graded: the class.
        rows: the rows to check; by default the whole plan.

    >>> from micrograd.grade.programs import OURS
    >>> next(checks_of(OURS)).name
    'Value: number and gradient of a new one'
    """
    adds_up, is_reported = True, False
    for row in plan() if rows is None else rows:
        check = Check(row.operation, row.aspect, row.programs[0])
        lacks_backward = graded.lacks_backward and ".backward()" in check.program
        task = task_of(row.operation, row.aspect) if graded.is_started else 0
        lacking = replace(check, status="to do" if task else "not there yet")
        if graded.is_started and is_to_do(row, graded):
            check = lacking
        elif lacks_backward and is_reported:  # one failure, not one for each gradient
            check = replace(check, status="not run")
        elif lacks_backward:
            is_reported, expected = True, f"a method {graded.names['backward']}()"
            check = replace(check, status="failed", mistake="needed", expected=expected,
                            found="no such method",
                            spelled=graded.spelled(check.program))  # fmt: skip
        elif row.mistake == "depth" and sys.platform == "emscripten":
            found = "not checked: a deep chain would overflow the stack of the browser"
            check = replace(
                check, status="noted", mistake="depth", expected="no error", found=found
            )
        elif not _is_there(row, graded):
            check = lacking
        else:
            check = _checked(row, graded)
            if task and check.status == "failed" and first_left(graded) < task:
                check = lacking
            if check.mistake == "operands" and row.operation == "graph" and not adds_up:
                check = replace(check, mistake="accumulate")  # a + a can fail for several reasons
            adds_up = adds_up and check.mistake != "accumulate"
        yield check


def _checked(row: Row, graded: GradedClass) -> Check:
    """The outcome of the first program of a row that does not pass, else a passed check."""
    judged = (_judgement(row, program, graded) for program in row.programs)
    check = next((one for one in judged if not one.passed), None)
    if check is None:
        return Check(row.operation, row.aspect, row.programs[0])
    if check.status == "failed" and row.expression:
        check = replace(check, composed=_is_composed(row.expression, graded))
    return replace(check, spelled=graded.spelled(check.program))


def _is_composed(expression: str, graded: GradedClass) -> bool:
    """Whether the class computes the operation from others, and so inherits their mistakes."""
    out = root_of(expression)
    inner = f"any(len(getattr(v, '_prev', ())) for v in {out}._prev)"
    op, has_inner = graded.tried(("", False), f"{expression}; n = [str({out}._op), {inner}]")
    own = {"+": "__add__", "*": "__mul__"}.get(op)  # -a may be a * -1
    return has_inner or (own is not None and own not in methods_in(expression))


# ---- 2. Operations that are not there yet


def _is_there(row: Row, graded: GradedClass) -> bool:
    """Whether the class has the operation; the only way to find out is to try it."""
    is_of_numpy = row.operation == "NumPy"
    if not is_of_numpy and (not row.expression or row.operation in CORE):
        return True
    error = graded.error_in(row.programs[0] if is_of_numpy else row.expression)
    if not error:
        return True  # whatever is wrong, the check itself will find it
    kinds = {*error["kinds"]}
    if {"NotImplementedError", "ModuleNotFoundError"} & kinds or _is_refusal(error, row):
        return False
    if row.operation in MAY_REFUSE and "ValueError" in kinds:
        return False
    if not {"TypeError", "AttributeError"} & kinds:
        return True
    needed = methods_in(row.operation) | {REFLECTED.get(row.operation, "__init__")}
    if is_of_numpy or row.operation in MAY_REFUSE or needed - {*dir(graded.kind)}:
        return False
    # If + or * accepts a plain number, the other operations should as well.
    beside = (f"a = Value(1.5); b = a {sign} {x}" for sign in "+*" for x in ("2.0", "2"))
    is_beside = row.mistake in ("wrap", "reflected")
    return not is_beside or not all(map(graded.error_in, beside))


def _is_refusal(error: Mapping[str, Any], row: Row) -> bool:
    """Whether the class refuses the operation with its own `raise` or `assert`.

    An error about the number, as for the log of -1, does not count: the class may raise it wrongly.
    """
    of_number = {"ValueError", "ArithmeticError", "RecursionError"} & {*error["kinds"]}
    return error["on_purpose"] and (not of_number or "**" in row.operation)


# ---- 3. One program


def _judgement(row: Row, program: str, graded: GradedClass) -> Check:
    place = ""
    try:
        _compare(row, program, graded)
        return Check(row.operation, row.aspect, program)
    except BrokenRule as broken:
        mistake, expected, found = broken.args
        if row.mistake in ("construct", "numpy") and mistake != "untouched":
            mistake = row.mistake
    except RaisedError as raised:
        (error,) = raised.args
        mistake, expected = mistake_behind_error(error, row, graded), "no error"
        found, place = error["text"], error["place"]
    once = program.partition(".backward()")[0] + ".backward()"
    is_again = program.count(f"{root_of(program)}.backward()") == 2
    works_once = is_again and _judgement(row, once, graded).passed
    if works_once and (place or graded.tried(False, FREES_GRAPH)):
        mistake = "twice"  # as in PyTorch, a graph may be used only once
    is_limit = (works_once and mistake == "twice") or (mistake, expected) == ("depth", "no error")
    status = "noted" if is_limit else "failed"
    return Check(row.operation, row.aspect, program, status, mistake, expected, found, place)


def _compare(row: Row, program: str, graded: GradedClass) -> None:
    """Raises BrokenRule if a program gives different numbers with the class and with our Value."""
    forward = graded.observed(program, backward=False)
    if row.aspect == "value" or not row.expression:
        _compare_results(row, program, graded, forward)
    after = graded.observed(program) if ".backward()" in program else forward
    for name, x in forward.data.items():
        if str(after.data[name]) != str(x):  # as text, because it may be NaN
            expected, found = (graded.text("data", [name], y.data) for y in (forward, after))
            raise BrokenRule("untouched", expected, found)
    if row.mistake == "paths":
        few, many = (graded.calls(doublings) for doublings in (3, 12))
        if many > 20 * few:
            found = f"{few} function calls for 4 nodes, {many} for 13 nodes"
            raise BrokenRule("paths", "work proportional to the number of nodes", found)
    if row.aspect != "value":
        _compare_gradients(row, program, graded, forward, after)


def _is_right(program: str, forward: Observed) -> bool:
    root = root_of(program)
    return near(forward.data[root], expected_of(program).data[root])


def _compare_results(row: Row, program: str, graded: GradedClass, forward: Observed) -> None:
    if _is_right(program, forward):
        return
    root, ours = root_of(program), expected_of(program)
    y = ours.data[root]
    turned = {"2.0 - a": -y, "2.0 / a": y and 1 / y}.get(row.operation, y)
    mistake = "swapped" if near(forward.data[root], turned) else "value"
    if root in leaves_of(program):  # no operation computed it
        mistake = "construct"
    expected, found = (graded.text("data", [root], x.data) for x in (ours, forward))
    raise BrokenRule(mistake, expected, found)


def _compare_gradients(
    row: Row, program: str, graded: GradedClass, forward: Observed, after: Observed
) -> None:
    right, slopes = expected_of(program).grad, None
    is_simple = program.count("backward()") == 1 and row.mistake not in ("paths", "depth")
    # A wrong forward pass is reported by another check; here its own slope is the right gradient.
    if is_simple and not _is_right(program, forward):
        right = slopes = graded.slopes(program)
    wrong = [v for v in leaves_of(program) if not near(after.grad[v], right[v])]
    if not wrong:
        return
    expected = graded.text("grad", wrong, right)
    if is_simple:
        slopes = slopes or graded.slopes(program)
        beside = ", ".join(f"{slopes[v]:.6g}" for v in wrong)
        expected += f" (slope of its own forward pass: {beside})"
    mistake = mistake_behind_gradients(row, program, graded, after.grad, right, forward.data)
    raise BrokenRule(mistake, expected, graded.text("grad", wrong, after.grad))
