"""The programs that run with the graded class and with ours, and the plan of all checks.

A program is text in a small subset of Python, so what runs is exactly what the report shows.

>>> OURS.run("a = Value(3.0); b = a * a; b.backward()")["a"].grad
6.0
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from micrograd.engine import Value
from micrograd.grade.graded_class import GradedClass, Observed
from micrograd.grade.rules import ROWS

OURS = GradedClass(Value)
ASPECTS = ("value", "gradient", "chain rule", "adding up", "inner operand")
UPSTREAM = -4.0  # the upstream gradient in the checks of the chain rule

# ---- 1. Tables: operations with the numbers to try

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
# One node on both sides; rules.toml has a + a and a * a, and maximum and minimum a convention.
WITH_ITSELF = {"a - b": "a - a", "a / b": "a / a", "a ** b": "a ** a"}
REFLECTED = {"2.0 + a": "__radd__", "sum([a, b])": "__radd__", "2.0 * a": "__rmul__",
             "2.0 - a": "__rsub__", "2.0 / a": "__rtruediv__"}  # fmt: skip
METHODS: dict[type, str] = {
    ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__",
    ast.Pow: "__pow__", ast.USub: "__neg__",
}  # fmt: skip
EXPRESSIONS = {*CORE, *OTHERS, *CORE_BESIDE_NUMBERS, *OTHERS_BESIDE_NUMBERS}


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
    yield from _shown_by("construct", "seed", "fresh")
    yield from _expressions(CORE, "value", "gradient")  # both come first: all the rest needs them
    yield from _expressions(CORE, "chain rule", "adding up")
    yield from _shown_by("children", "operands", "once", "order", "identity")
    yield from _beside_numbers(CORE_BESIDE_NUMBERS)
    yield from _expressions(OTHERS, *ASPECTS)
    yield from _beside_numbers(OTHERS_BESIDE_NUMBERS)
    yield from _shown_by("numpy", "again", "twice", "paths", "depth")


def _shown_by(*rules: str) -> Iterator[Row]:
    for rule in rules:
        for operation, aspect, program in ROWS[rule]["shown_by"]:
            yield Row(operation, aspect, rule, (program,))


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


@cache
def expected_of(program: str) -> Observed:
    """The right data and gradients of a program, computed with our own Value."""
    return OURS.observed(program)


@cache
def methods_in(program: str) -> set[str]:
    """The methods of the class that a program uses, except backward().

    >>> sorted(methods_in("a = Value(-3.0); b = sum([a, -a]); c = b.exp(); c.backward()"))
    ['__add__', '__neg__', 'exp']
    """
    found = {"sum": "__add__", "abs": "__abs__"}
    methods = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.BinOp) or (
            isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant)
        ):
            methods.add(METHODS[type(node.op)])
        elif isinstance(node, ast.Attribute) and hasattr(Value, node.attr):
            methods.add(node.attr)
        elif isinstance(node, ast.Name):
            methods.add(found.get(node.id, "backward"))
    return methods - {"backward"}
