"""The tasks of `micrograd start` and which of them are done; later ones are not mistakes."""

from __future__ import annotations

import re
from functools import cache

from micrograd.grade.graded_class import GradedClass, leaves_of, root_of
from micrograd.grade.programs import (
    CORE,
    CORE_BESIDE_NUMBERS,
    OTHERS_BESIDE_NUMBERS,
    Row,
    methods_in,
    plan,
)

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
    if error and "NotImplementedError" in error["kinds"]:
        # An operand in the place of its data calls __rmul__, too, but that is a mistake.
        return row.mistake == "reflected" or not re.match("in __r(add|mul)__", error["place"])
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
