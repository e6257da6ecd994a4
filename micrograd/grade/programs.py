"""The programs that run with the graded class and with ours, and the plan of all checks.

A program is text in a small subset of Python, so what runs is exactly what the report shows.

>>> OURS.run("a = Value(3.0); b = a * a; b.backward()")["a"].grad
6.0
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

from micrograd.engine import Value
from micrograd.grade.subject import OPERATORS, Subject

OURS = Subject(Value)
ASPECTS = ("value", "gradient", "chain rule", "adding up", "inner operand")
UPSTREAM = -4.0  # the upstream gradient in the checks of the chain rule

# ---- 1. Tables: operations with the numbers to try, and graphs of several operations

ONE, POSITIVE, TWO = ((1.5,), (-0.75,)), ((0.5,), (3.0,)), ((2.0, -3.5), (7, 2))
KINK = (*ONE, (0.25,))  # a test such as > 1 instead of > 0 shows between 0 and 1 only
CORE = {"a + b": TWO, "a * b": TWO}
OTHERS = {
    "-a": ONE, "a - b": TWO, "a ** 2": ONE, "a ** 3": ONE, "a ** -1": ONE, "a ** 0.5": POSITIVE,
    "a / b": TWO, "a.relu()": KINK, "a.exp()": ONE, "a.tanh()": ONE, "a.sigmoid()": ONE,
    "a.log()": POSITIVE, "a.sqrt()": POSITIVE, "a.sin()": ONE, "a.cos()": ONE, "abs(a)": KINK,
    "a.maximum(b)": TWO, "a.minimum(b)": TWO, "a ** b": ((2.0, -3.0), (0.5, 1.5)), "2.0 ** a": ONE,
}  # fmt: skip
CORE_BESIDE_NUMBERS = {"a + 2.0": "wrap", "a * 2.0": "wrap", "2.0 + a": "reflected",
                       "2.0 * a": "reflected", "sum([a, b])": "reflected"}  # fmt: skip
OTHERS_BESIDE_NUMBERS = {"a - 2.0": "wrap", "a / 2.0": "wrap", "2.0 - a": "reflected",
                         "2.0 / a": "reflected"}  # fmt: skip
# One node on both sides; CORE has these in OF_SHARED_NODES, and maximum and minimum a convention.
WITH_ITSELF = {"a - b": "a - a", "a / b": "a / a", "a ** b": "a ** a"}
EXPRESSIONS = {*CORE, *OTHERS, *CORE_BESIDE_NUMBERS, *OTHERS_BESIDE_NUMBERS}

OF_ONE_NODE = (
    ("Value", "number and gradient of a new one", "construct", "a = Value(2.5)"),
    ("backward", "of a single node", "seed", "a = Value(3.0); a.backward()"),
    ("Value", "gradient not shared", "fresh", "a = Value(3.0); b = Value(5.0); a.backward()"),
    ("Value", "operands not shared", "fresh", "a = Value(3.0); b = a + a; c = Value(5.0)"),
)
OF_INNER_NODES = tuple(
    ("graph", f"an inner node on the {side} of {sign}", "children",
     f"a = Value(3.0); b = Value(2.0); w = Value(7.0); c = a {sign} b; d = {last}; d.backward()")
    for sign in "+*"
    for side, last in (("left", f"c {sign} w"), ("right", f"w {sign} c"))
)  # fmt: skip
OF_SHARED_NODES = (
    ("graph", "a + a", "operands", "a = Value(3.0); b = a + a; b.backward()"),
    ("graph", "a * a", "operands", "a = Value(3.0); b = a * a; b.backward()"),
    ("graph", "an inner node used twice", "once",
     "a = Value(3.0); b = a * a; c = b + b; c.backward()"),
    ("graph", "an inner node used at two depths, the near use first", "order",
     "a = Value(3.0); b = a * a; c = b + a; d = b * c; d.backward()"),
    ("graph", "an inner node used at two depths, the far use first", "order",
     "a = Value(3.0); b = a * a; c = b + a; d = c * a; e = d * b; e.backward()"),
    ("graph", "a diamond", "order",
     "a = Value(3.0); b = a * a; c = b + a; d = b * a; e = c * d; e.backward()"),
    ("graph", "two nodes with equal numbers", "identity",
     "a = Value(2.0); b = Value(2.0); c = a * a; d = b * b; e = c * d; e.backward()"),
)  # fmt: skip
_doublings = "; ".join(f"{b} = {a} + {a}" for a, b in pairwise("abcdefghijklm"))
AT_LAST = (
    ("NumPy", "float64 inside", "numpy", "a = Value(np.float64(3.0)); b = a * a; b.backward()"),
    ("NumPy", "float32 on the right", "numpy",
     "a = Value(3.0); b = a * np.float32(2.5); b.backward()"),
    ("NumPy", "int64 on the right", "numpy", "a = Value(3.0); b = a + np.int64(2); b.backward()"),
    ("NumPy", "float64 on the left", "numpy",
     "a = Value(3.0); b = np.float64(2.0) * a; b.backward()"),
    ("backward", "again, with the leaf set to 0", "again",
     "a = Value(3.0); b = a * a; b.backward(); a.grad = 0.0; b.backward()"),
    ("backward", "of a new graph over the same leaf", "again",
     "a = Value(3.0); b = a * a; b.backward(); a.grad = 0.0; c = a + a; c.backward()"),
    ("backward", "twice", "twice",
     "a = Value(3.0); b = a * a; c = b * a; c.backward(); c.backward()"),
    ("backward", "work", "paths", f"a = Value(1.0); {_doublings}; m.backward()"),
    ("backward", "deep chain", "depth",
     "a = Value(3.0); b = sum([a] * 5000, a); b.backward()"),
)  # fmt: skip


# ---- 2. The plan


@dataclass(frozen=True)
class Row:
    """A line of the plan: one check, with the programs that it tries in turn."""

    operation: str
    aspect: str
    mistake: str  # the broken rule if the numbers alone do not show which one it is
    programs: tuple[str, ...]
    expression: str = ""  # a program with only the operation


def plan() -> Iterator[Row]:
    """All checks in order: each comes after the checks it depends on.

    >>> len(list(plan()))
    177
    """
    yield from _graphs(OF_ONE_NODE)
    yield from _expressions(CORE, "value", "gradient")  # both come first: all the rest needs them
    yield from _expressions(CORE, "chain rule", "adding up")
    yield from _graphs(OF_INNER_NODES)
    yield from _graphs(OF_SHARED_NODES)
    yield from _beside_numbers(CORE_BESIDE_NUMBERS)
    yield from _expressions(OTHERS, *ASPECTS)
    yield from _beside_numbers(OTHERS_BESIDE_NUMBERS)
    yield from _graphs(AT_LAST)


def _graphs(table: Iterable[tuple[str, str, str, str]]) -> Iterator[Row]:
    for operation, aspect, mistake, program in table:
        yield Row(operation, aspect, mistake, (program,))


def _expressions(table: Mapping[str, Any], *aspects: str) -> Iterator[Row]:
    for expression, points in table.items():
        alone = _program(expression, "value", points[0])
        for aspect in aspects:
            again = "ab"[: len(points[0])] if aspect == "adding up" else "a"
            programs = tuple(_program(expression, aspect, x, y) for x in points for y in again)
            if aspect == "adding up" and expression in WITH_ITSELF:
                twice = f"a = Value(2.0); b = {WITH_ITSELF[expression]}; b.backward()"
                programs = (*programs, twice)
            yield Row(expression, aspect, "", programs, alone)


def _beside_numbers(table: Mapping[str, str]) -> Iterator[Row]:
    points = {expression: TWO if "b" in expression else ONE for expression in table}
    for row in _expressions(points, *ASPECTS):
        yield replace(row, mistake=table[row.operation])


def _program(expression: str, aspect: str, point: Sequence[float], again: str = "a") -> str:
    """For example 'a = Value(1.5); b = a.tanh(); w = Value(-4.0); c = b * w; c.backward()'."""
    operands = "ab"[: len(point)]
    out, last = ("b", "c") if len(point) == 1 else ("c", "d")
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


# ---- 3. What a program contains


def root_of(program: str) -> str:
    """The name of the Value on which backward() is called last, or of the last Value.

    >>> root_of("a = Value(3.0); b = a + a; b.backward(); a.grad = 0.0; b.backward()")
    'b'
    """
    last = program.split("; ")[-1]
    return last.partition(" ")[0].partition(".")[0]


@cache
def methods_in(program: str) -> set[str]:
    """The methods of the class that a program uses, except backward().

    >>> sorted(methods_in("a = Value(-3.0); b = sum([a, -a]); c = b.exp(); c.backward()"))
    ['__add__', '__neg__', 'exp']
    """
    found = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.BinOp) or (
            isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant)
        ):
            found.add(f"__{OPERATORS[type(node.op)].__name__}__")
        elif isinstance(node, ast.Attribute) and hasattr(Value, node.attr):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and node.id in ("sum", "abs"):
            found.add({"sum": "__add__", "abs": "__abs__"}[node.id])
    return found - {"backward"}
