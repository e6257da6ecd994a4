"""Chapter 14: a trusted reference to check one's own Value against.

`grade(MyValue)` runs small programs with a class that somebody else wrote and with ours, compares
every number and every gradient, and names the rule that is broken, the smallest program on which
that shows, and the way out. `grade_file("my_engine.py")` does so in a process of its own.

    >>> from micrograd.engine import Value
    >>> class MyValue(Value):
    ...     def backward(self, gradient=1):
    ...         pass
    >>> print(str(grade(MyValue)).split("Way out")[0])
    MyValue: 128 passed, 2 failed
    <BLANKLINE>
    1. The gradient of the node on which backward() is called is 1.
           a = Value(3.0); a.backward()
           expected  a.grad = 1 (slope of its own forward pass: 1)
           found     a.grad = 0
    <BLANKLINE>

There is no list of right answers here: what is expected comes from our own Value, and is
shown beside the slope of the class's own forward pass. Basic rules are checked first. A single
mistake makes many checks fail, so a later failure that needs what was found broken before is
counted with that. An operation that the class does not have is not found, which is no failure, and
what the original micrograd cannot do either (a second backward, a very deep graph) is a note.

In pytest each check is a test of its own, skipped where there is a note or nothing was found:

    @pytest.mark.parametrize("check", grade(MyValue).checks, ids=str)
    def test_my_value(check):
        check()
"""

from micrograd.grade.diagnosis import checks_of
from micrograd.grade.process import grade_file
from micrograd.grade.report import Check, Report
from micrograd.grade.rules import RULES

__all__ = ["RULES", "Check", "Report", "grade", "grade_file"]


def grade(kind: type, name: str | None = None) -> Report:
    """The report on a class that is written like the lecture's Value.

    Needed are Value(number), `.data`, `.grad`, `+`, `*` and `.backward()`; what else there is, is
    found out by trying. The class runs right here, so that a loop without end would be one here as
    well: `grade_file` is safe from that.

    Args:
        kind: the class itself.
        name: what the report calls it.

    Raises:
        TypeError: it is no class.

    >>> from micrograd.engine import Value
    >>> grade(Value).passed
    True
    """
    if not isinstance(kind, type):
        what = f"grade expects a class, got {kind!r:.40}"
        raise TypeError(f"{what}: pass Value itself, not Value(1.0) and not the name of a file")
    return Report(name or kind.__name__, tuple(checks_of(kind)))
