"""All checks of a class: each program runs with it and our Value, and the numbers are compared.

The expected numbers come from our own Value. Next to an expected gradient, the report shows the
slope of the class's own forward pass, computed by central differences. If that forward pass is
wrong, its slope is the expected gradient.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from micrograd.grade.check import Check
from micrograd.grade.diagnosis import mistake_behind_error, mistake_behind_gradients
from micrograd.grade.graded_class import (
    BrokenRule,
    GradedClass,
    Numbers,
    RaisedError,
    leaves_of,
    near,
    root_of,
)
from micrograd.grade.programs import (
    CORE,
    CORE_BESIDE_NUMBERS,
    OTHERS_BESIDE_NUMBERS,
    REFLECTED,
    Row,
    expected_of,
    methods_in,
    plan,
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
    for row in plan() if rows is None else rows:
        task = graded.is_started and task_of(row.operation, row.aspect)
        lacking = row.check("to do" if task else "not there yet")
        if (graded.is_started and is_to_do(row, graded)) or not _is_there(row, graded):
            yield lacking
        else:
            check = _checked(row, graded)
            is_later = task and check.status == "failed" and first_left(graded) < task
            yield lacking if is_later else check


def _checked(row: Row, graded: GradedClass) -> Check:
    """The outcome of the first program of a row that does not pass, else a passed check."""
    judged = (_judgement(row, program, graded) for program in row.programs)
    check = next((one for one in judged if not one.passed), row.check())
    if check.status == "failed" and row.expression:
        return replace(check, composed=_is_composed(row.expression, graded))
    return check


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
    # An error about the number, as for the log of -1: the class may raise it wrongly.
    of_number = {"ValueError", "ArithmeticError", "RecursionError"} & error.kinds
    if error.on_purpose and (not of_number or "**" in row.operation):
        return False
    if {"NotImplementedError", "ModuleNotFoundError"} & error.kinds:
        return False
    if row.operation in MAY_REFUSE and "ValueError" in error.kinds:
        return False
    if not {"TypeError", "AttributeError"} & error.kinds:
        return True
    if is_of_numpy or row.operation in MAY_REFUSE:
        return False
    if (methods_in(row.operation) | {REFLECTED.get(row.operation, "__init__")}) - {
        *dir(graded.kind)
    }:
        return False
    # If + or * accepts a plain number, the other operations should as well.
    beside = (f"a = Value(1.5); b = a {sign} {x}" for sign in "+*" for x in ("2.0", "2"))
    return row.mistake not in ("wrap", "reflected") or not all(map(graded.error_in, beside))


# ---- 3. One program


def _judgement(row: Row, program: str, graded: GradedClass) -> Check:
    place = ""
    try:
        _compare(row, program, graded)
        return Check(row.operation, row.aspect, program)
    except BrokenRule as broken:
        mistake, expected, found = broken.args
        if isinstance(broken, RaisedError):
            mistake, place = mistake_behind_error(broken, row, graded), broken.place
        elif row.mistake in ("construct", "numpy") and mistake != "untouched":
            mistake = row.mistake
    is_limit = (mistake, expected) == ("depth", "no error")
    if row.mistake == "twice" and (place or mistake == "twice"):  # as in PyTorch, used only once
        once = program.removesuffix(f"; {root_of(program)}.backward()")
        is_limit = _judgement(replace(row, mistake=""), once, graded).passed
        mistake = "twice" if is_limit else mistake
    status = "noted" if is_limit else "failed"
    return Check(row.operation, row.aspect, program, status, mistake, expected, found, place)


def _compare(row: Row, program: str, graded: GradedClass) -> None:
    """Raises BrokenRule if a program gives different numbers with the class and with our Value."""
    forward, ours = graded.observed(program, backward=False), expected_of(program)
    root = root_of(program)
    is_right = near(forward.data[root], ours.data[root])
    if not is_right and (row.aspect == "value" or not row.expression):
        y = ours.data[root]
        turned = {"2.0 - a": -y, "2.0 / a": y and 1 / y}.get(row.operation, y)
        mistake = "swapped" if near(forward.data[root], turned) else "value"
        if root in leaves_of(program):  # no operation computed it
            mistake = "construct"
        raise BrokenRule(mistake, *(_told("data", [root], x.data) for x in (ours, forward)))
    if row.aspect == "value":
        return
    after = graded.observed(program)
    for name, x in forward.data.items():
        if str(after.data[name]) != str(x):  # as text, because it may be NaN
            raise BrokenRule(
                "untouched", *(_told("data", [name], y.data) for y in (forward, after))
            )
    if row.mistake == "paths":
        few, many = (graded.calls(doublings) for doublings in (3, 12))
        if many > 20 * few:
            found = f"{few} function calls for 4 nodes, {many} for 13 nodes"
            raise BrokenRule("paths", "work proportional to the number of nodes", found)
    right, beside = ours.grad, ""
    has_slopes = program.count("backward()") == 1 and row.mistake not in ("paths", "depth")
    if has_slopes and not is_right:  # which another check reports
        right = graded.slopes(program)
    if wrong := [v for v in leaves_of(program) if not near(after.grad[v], right[v])]:
        if has_slopes:
            slopes = graded.slopes(program)
            numbers = ", ".join(f"{slopes[v]:.6g}" for v in wrong)
            beside = f" (slope of its own forward pass: {numbers})"
        mistake = mistake_behind_gradients(row, program, graded, after.grad, right)
        expected, found = (_told("grad", wrong, x) for x in (right, after.grad))
        raise BrokenRule(mistake, expected + beside, found)


def _told(attribute: str, names: list[str], values: Numbers) -> str:
    """Numbers as the report shows them, for example 'a.grad = 2'."""
    return ", ".join(f"{name}.{attribute} = {values[name]:.6g}" for name in names)


# ---- 4. The tasks of `micrograd start`: later ones are not mistakes

# As in skeleton.txt; the last task has these operations.
TASKS = ("a new Value", "a + b", "a * b", "backward()", "the gradients of + and *", "a.tanh()",
         "plain numbers beside a Value", "more operations")  # fmt: skip
LAST_TASK = {"-a", "a - b", "a ** 2", "a ** 3", "a ** -1", "a ** 0.5", "a / b",
             *OTHERS_BESIDE_NUMBERS}  # fmt: skip
SIGNS = {"__add__": "+", "__mul__": "*"}


def task_of(operation: str, aspect: str) -> int:
    """The number of the task that a check belongs to, 0 if it belongs to none.

    >>> TASKS[task_of("a * b", "value") - 1]
    'a * b'
    """
    if operation in CORE and aspect == "value":
        return 2 + [*CORE].index(operation)
    first = {"number and gradient of a new one": 1, "of a single node": 4}
    if aspect in first:
        return first[aspect]
    if operation in (*CORE, "Value", "graph", "backward"):
        return 5
    beside = 7 if operation in CORE_BESIDE_NUMBERS else 8 if operation in LAST_TASK else 0
    return 6 if operation == "a.tanh()" else beside


def is_to_do(row: Row, graded: GradedClass) -> bool:
    """Whether a check needs a task that is not begun."""
    program = row.programs[0]
    error = graded.error_in(program, backward=True)
    if error and "NotImplementedError" in error.kinds:
        # An operand in the place of its data calls __rmul__, too, but that is a mistake.
        return row.mistake == "reflected" or not re.match("in __r(add|mul)__", error.place)
    has_gradients = ".backward()" in program and root_of(program) not in leaves_of(program)
    methods = methods_in(program) & SIGNS.keys() if has_gradients else ()
    return any(_has_no_closure(method, graded) for method in methods)


def _has_no_closure(method: str, graded: GradedClass) -> bool:
    """Whether the result of an operation has the _backward of a new Value, which does nothing."""
    made = f"a = Value(3.0); b = a {SIGNS[method]} a"
    code = "getattr({}._backward, '__code__', 0)".format
    own = getattr(getattr(graded.kind, method, None), "__code__", None)
    is_begun = own is not None and "_backward" in (*own.co_varnames, *own.co_cellvars)
    return not is_begun and graded.tried(False, f"{made}; same = {code('a')} is {code('b')}")


@cache
def first_left(graded: GradedClass) -> int:
    """The first task that is not begun: a failure in a later one does not count."""
    tasks = ((task_of(x.operation, x.aspect), x) for x in plan())
    return min((task for task, x in tasks if task and is_to_do(x, graded)), default=len(TASKS) + 1)
