"""A trusted reference to check your own Value against.

`grade(MyValue)` runs small programs with your class and with ours, and compares every number and
every gradient. Where they differ, it names the broken rule, the smallest program that shows this,
and the fix. `grade_file("my_engine.py")` does the same in a separate process.

    >>> class MyValue:
    ...     def __init__(self, data):
    ...         self.data, self.grad = data, 0.0
    ...     def __add__(self, other):
    ...         return MyValue(self.data + other.data)
    ...     def __mul__(self, other):
    ...         return MyValue(self.data * other.data)
    ...     def backward(self):
    ...         pass
    >>> print(grade(MyValue).mistakes[0][0].message)
    The gradient of the node on which backward() is called is 1.
        a = Value(3.0); a.backward()
        expected  a.grad = 1
        found     a.grad = 0
    Fix: write self.grad = 1.0 in backward(), once, before the loop that calls each _backward().

Basic rules are checked first, and failures with the same probable cause are reported as one. An
operation that the class lacks is "not there yet", which is not a failure. A limit of the original
micrograd, such as the depth of a graph, is only noted.

For lessons of your own (`micrograd/course/` is one), there are the parts of a report: `plan()` has
all checks in order, `checks_of(GradedClass(MyValue), rows)` their outcomes, `drawing` shows a
program, and `OURS` runs it with our Value.
"""

from typing import Any

from micrograd.engine import Value
from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import BrokenRule, GradedClass, shown
from micrograd.grade.process import grade_file
from micrograd.grade.programs import OURS, RULES, Check, Row, plan
from micrograd.grade.report import Report, drawing

__all__ = ["OURS", "RULES", "BrokenRule", "Check", "GradedClass", "Report", "Row", "checks_of",
           "drawing", "grade", "grade_file", "plan", "shown"]  # fmt: skip


def grade(kind: type | Any, name: str | None = None, language: str | None = None) -> Report:
    """The report on a class like Value in the micrograd lecture.

    The class needs Value(number), `.data`, `.grad`, `+`, `*` and `.backward()`; other operations
    are checked if it has them. It runs in this process, so `grade` never returns if the class has
    an endless loop; `grade_file` protects against that. `language` is as in `explain`.
    """
    if not isinstance(kind, type):
        what = f"grade expects a class, got {shown(kind, 40)}"
        raise TypeError(f"{what}: pass Value itself, not Value(1.0) and not the name of a file")
    if issubclass(kind, Value):
        ours = f"grade expects your own class, got {kind.__name__}"
        raise ValueError(f"{ours}, which is this package's own engine: there is nothing to grade")
    graded = GradedClass(kind)
    try:
        return Report(name or kind.__name__, tuple(checks_of(graded)), language)
    finally:
        graded.restore()
