"""The rules that are checked, the programs that show them, and the plan of all checks.

`rules.toml` beside this file has the rules, and `micrograd/texts/` what each says. A program is
text in a small subset of Python, so what runs is exactly what the report shows.

>>> OURS.run("a = Value(3.0); b = a * a; b.backward()")["a"].grad
6.0
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from micrograd.core.node import operations
from micrograd.engine import Value, topological_order
from micrograd.grade.graded_class import GradedClass
from micrograd.texts import commented, said, texts_of

ROWS = tomllib.loads((resources.files(__package__) / "rules.toml").read_text("utf-8"))["rule"]
_TEXTS = texts_of("grade", "en")
RULES = {x: (_TEXTS[f"{x}.what"], _TEXTS[f"{x}.how"]) for x in ROWS}  # each rule and its fix
STATUSES = ("passed", "failed", "noted", "not there yet", "to do", "not run")


@dataclass(frozen=True)
class Check:
    """A check and its outcome.

    Attributes:
        operation: what was checked, for example 'a * b', 'graph' or 'backward'.
        aspect: which property of it, for example 'value', 'gradient', 'chain rule', 'adding up'.
        program: the smallest program that shows the outcome, in Python.
        status: one of STATUSES: 'noted' is a limit, not a mistake; 'to do' is an operation that the
            class lacks and a task of `micrograd start` names; 'not run' is what came after a crash.
        mistake: a rule of rules.toml.
        place: the method and line in which an error was raised.
        composed: whether the class computes this operation from several other operations.

    >>> check = Check("a.exp()", "value", "a = Value(0.0); b = a.exp()", "failed", "value")
    >>> check.rule, check.fix
    ('a.exp() computes a wrong number.', 'use the formula: The exponential e = e^a;  d/da = e')
    """

    operation: str
    aspect: str
    program: str
    status: str = "passed"
    mistake: str = ""
    expected: str = ""
    found: str = ""
    place: str = ""
    composed: bool = False

    @property
    def name(self) -> str:
        """The operation and the aspect, unique among the checks."""
        return f"{self.operation}: {self.aspect}"

    @property
    def passed(self) -> bool:
        """True if all numbers are right."""
        return self.status == "passed"

    @property
    def rule(self) -> str:
        """The broken rule in one sentence, '' if there is none."""
        return self._said("what", operation=self.operation)

    @property
    def fix(self) -> str:
        """What to change, '' if nothing has to change."""
        op = "*" if "*" in self.program else "+"  # of a graph
        if self.operation in EXPRESSIONS:
            op = eval(self.operation, {"a": Value(1.5), "b": Value(2.0)})._op
        book = operations["**" if "**" in op else op].__doc__ or ""
        return self._said("how", formula=book.split("\n")[0].rstrip("."))

    def _said(self, what: str, **gaps: str) -> str:
        return said("grade", f"{self.mistake}.{what}", **gaps) if self.mistake else ""

    @property
    def message(self) -> str:
        """The rule, the program, what was expected and found, and the fix."""
        return self.told(3)

    def told(self, hints: int) -> str:
        """As much of the message as wanted: the rule (1), the numbers (2), and the fix (3)."""
        place = f" ({self.place})" if self.place else ""
        rows = {"expected": self.expected, "found": self.found + place}
        width = 2 + max(len(said("report", x)) for x in rows)
        found = "".join(f"\n    {said('report', x):{width}}{rows[x]}" for x in rows)
        fix = "\n" + said("report", "fix", fix=self.fix)
        return self.rule + f"\n    {self.program}{found}" * (hints >= 2) + fix * (hints >= 3)


OURS = GradedClass(Value)
ASPECTS = ("value", "gradient", "chain rule", "adding up", "inner operand")
UPSTREAM = -4.0  # the upstream gradient in the checks of the chain rule

ONE, POSITIVE, TWO = ((1.5,), (-0.75,)), ((0.5,), (3.0,)), ((2.0, -3.5), (7, 2))
KINK = (*ONE, (0.25,))  # a test such as > 1 instead of > 0 shows between 0 and 1 only
CORE = {"a + b": TWO, "a * b": TWO}
OTHERS = {
    "-a": ONE, "a - b": TWO, "a ** 2": ONE, "a ** 3": ONE, "a ** -1": ONE, "a ** 0.5": POSITIVE,
    "a / b": TWO, "a.relu()": KINK, "a.exp()": ONE, "a.tanh()": ONE, "a.sigmoid()": ONE,
    "a.log()": POSITIVE, "a.sqrt()": POSITIVE, "a.sin()": ONE, "a.cos()": ONE, "abs(a)": KINK,
    "a.maximum(b)": TWO, "a.minimum(b)": TWO, "a ** b": ((2.0, -3.0), (0.5, 1.5)), "2.0 ** a": ONE,
}  # fmt: skip
CORE_BESIDE_NUMBERS = {"a + 2.0": ONE, "a * 2.0": ONE, "2.0 + a": ONE, "2.0 * a": ONE,
                       "sum([a, b])": TWO}  # fmt: skip
OTHERS_BESIDE_NUMBERS = dict.fromkeys(("a - 2.0", "a / 2.0", "2.0 - a", "2.0 / a"), ONE)
# One node on both sides; rules.toml has a + a and a * a, and maximum and minimum a convention.
WITH_ITSELF = {"a - b": "a - a", "a / b": "a / a", "a ** b": "a ** a"}
REFLECTED = {"2.0 + a": "__radd__", "sum([a, b])": "__radd__", "2.0 * a": "__rmul__",
             "2.0 - a": "__rsub__", "2.0 / a": "__rtruediv__"}  # fmt: skip
EXPRESSIONS = {*CORE, *OTHERS, *CORE_BESIDE_NUMBERS, *OTHERS_BESIDE_NUMBERS}


@dataclass(frozen=True)
class Row:
    """A line of the plan: one check, with the programs that it tries in turn."""

    operation: str
    aspect: str
    mistake: str  # the broken rule if the numbers alone do not show which one it is
    programs: tuple[str, ...]
    expression: str = ""  # a program with only the operation

    @property
    def is_basic(self) -> bool:
        """Whether every class has to have it: no operation, or + and * of two Values."""
        return not self.expression or self.operation in CORE

    @property
    def method(self) -> str:
        """The method of Value that it checks, for example '__radd__'."""
        if not self.expression:
            return "__init__"
        return REFLECTED.get(self.operation) or min(methods_in(self.operation))

    def check(self, status: str = "passed", **found: Any) -> Check:
        """The check and its outcome."""
        return Check(self.operation, self.aspect, self.programs[0], status, **found)


def plan() -> Iterator[Row]:
    """All checks of a Value, in order: each after the checks it depends on.

    Rules are checked in the order of rules.toml, the operations at the rules that they show first.
    """
    operations = {
        "value": _expressions(CORE, "value", "gradient"),  # all the rest needs them
        "chain": _expressions(CORE, "chain rule", "adding up"),
        "wrap": _expressions(CORE_BESIDE_NUMBERS | OTHERS | OTHERS_BESIDE_NUMBERS, *ASPECTS),
    }
    for rule, row in ROWS.items():
        yield from operations.get(rule, ())
        if rule != "depth" or sys.platform != "emscripten":  # the stack of a browser is small
            for operation, aspect, program in row.get("shown_by", ()):
                yield Row(operation, aspect, rule, (program,))


def _expressions(table: Mapping[str, Any], *aspects: str) -> Iterator[Row]:
    for expression, points in table.items():
        alone = _program(expression, "value", points[0])
        mistake = "reflected" if expression in REFLECTED else "wrap" * expression.endswith(" 2.0")
        for aspect in aspects:
            again = "ab"[: len(points[0])] if aspect == "adding up" else "a"
            programs = tuple(_program(expression, aspect, x, y) for x in points for y in again)
            if aspect == "adding up" and expression in WITH_ITSELF:
                programs += (f"a = Value(2.0); b = {WITH_ITSELF[expression]}; b.backward()",)
            yield Row(expression, aspect, mistake, programs, alone)


def _program(expression: str, aspect: str, point: Sequence[float], again: str = "a") -> str:
    """For example 'a = Value(1.5); b = a.tanh(); w = Value(-4.0); c = b * w; c.backward()'."""
    *operands, out, last = list("abcd"[: len(point) + 2])
    leaves = operands if aspect != "inner operand" else "pq"[: len(point)]
    steps = [f"{leaf} = Value({x})" for leaf, x in zip(leaves, point, strict=True)]
    if aspect == "inner operand":  # reached only through the _children of the operation
        inner = (f"{a} = {p} + z" for a, p in zip(operands, leaves, strict=True))
        steps += ["z = Value(0.0)", *inner]
    steps.append(f"{out} = {expression}")
    if aspect == "chain rule":
        steps += [f"w = Value({UPSTREAM})", f"{last} = {out} * w"]
    if aspect == "adding up":
        steps += [f"{last} = {out} * {again}"]
    if aspect != "value":
        steps.append(f"{steps[-1][0]}.backward()")
    return "; ".join(steps)


@cache
def methods_in(program: str) -> set[str]:
    """The methods of our Value that a program, or an expression of a and b, uses.

    >>> sorted(methods_in("a = Value(-3.0); b = sum([a, -a]); c = b.exp()"))
    ['__add__', '__neg__', 'exp']
    """
    whole = program if "=" in program else f"a = Value(1.5); b = Value(2.0); c = {program}"
    nodes = topological_order(*OURS.run(whole, backward=False).values())
    ops = {"**" if "**" in v._op else v._op for v in nodes} - {""}
    return {"__pow__" if op == "**" else operations[op].__name__ for op in ops}


def skeleton(file: str) -> str:
    """What `micrograd start` writes into a file of that name: a class with tasks as comments."""
    text = (resources.files(__package__) / "my_engine.txt").read_text("utf-8")
    return commented(text.replace("my_engine.py", file), "report", columns=100)


def task_of(x: Check | Row) -> int:
    """The number of the task that a check belongs to, 0 if it belongs to none."""
    if x.operation in CORE and x.aspect == "value":
        return 2 + [*CORE].index(x.operation)
    first = {"number and gradient of a new one": 1, "of a single node": 4}
    if x.aspect in first:
        return first[x.aspect]
    groups = {5: (*CORE, "Value", "graph", "backward"), 6: ("a.tanh()",), 7: CORE_BESIDE_NUMBERS,
              8: {*[*OTHERS][:7], *OTHERS_BESIDE_NUMBERS}}  # fmt: skip
    return next((i for i, group in groups.items() if x.operation in group), 0)
