"""Chapter 14: a trusted reference to check one's own Value against.

`grade(MyValue)` runs small programs with a class that somebody else wrote and with ours, compares
every number and every gradient, and names the rule that is broken, the smallest program on which
that shows, and the fix. `grade_file("my_engine.py")` does so in a process of its own.

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
        a = MyValue(3.0); a.backward()
        expected  a.grad = 1 (slope of its own forward pass: 1)
        found     a.grad = 0
    Fix: write self.grad = 1.0 in backward(), once, before the loop in which each _backward runs.

There is no list of right answers here: what is expected comes from our own Value, and is
shown beside the slope of the class's own forward pass. Basic rules are checked first. A single
mistake makes many checks fail, so a later failure that needs what was found broken before is
counted with that. An operation that the class does not have is not there yet, which is no failure;
what the original micrograd cannot do either (a second backward, a very deep graph) is a note.

In pytest each check is a test of its own, skipped where there is a note or no such operation:

    @pytest.mark.parametrize("check", grade(MyValue).checks, ids=str)
    def test_my_value(check):
        check()
"""

from collections.abc import Mapping

from micrograd.grade.diagnosis import checks_of, remark
from micrograd.grade.process import grade_file
from micrograd.grade.report import Check, Report
from micrograd.grade.rules import RULES
from micrograd.grade.subject import Subject, is_ours

__all__ = ["RULES", "Check", "Report", "grade", "grade_file"]


def grade(kind: type, name: str | None = None, names: Mapping[str, str] | None = None) -> Report:
    """The report on a class that is written like the lecture's Value.

    Needed are Value(number), `.data`, `.grad`, `+`, `*` and `.backward()`; what else there is, is
    found out by trying. The class runs right here, so that a loop without end would be one here as
    well: `grade_file` is safe from that.

    Args:
        kind: the class itself.
        name: what the report calls it.
        names: what the class calls 'data', 'grad' and 'backward', if the report cannot tell.

    Raises:
        TypeError: it is no class.
        ValueError: it is our own, or a subclass of it.

    >>> class MyValue:
    ...     pass
    >>> grade(MyValue).passed
    False
    """
    if not isinstance(kind, type):
        what = f"grade expects a class, got {kind!r:.40}"
        raise TypeError(f"{what}: pass Value itself, not Value(1.0) and not the name of a file")
    ours = f"grade expects a class of your own, got {kind.__name__}"
    ours += ", which is this package's own engine: there is nothing to grade"
    if is_ours(kind):
        raise ValueError(ours)
    subject = Subject(kind, names)
    report = Report(name or kind.__name__, tuple(checks_of(subject.ask)), remark(subject.ask))
    if subject.is_ours():  # which runs programs, so that it is asked at last
        raise ValueError(ours)
    return report
