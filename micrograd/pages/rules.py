"""The rules of operations, recorded from their closures, as data for a page.

A page computes forward and backward passes itself, but contains no derivative rule: this file runs
each operation and its closure on traced numbers, once for each operation, and writes down the
formulas that they compute.

    >>> x, w = Value(3.0), Value(2.0)
    >>> recorded = recorded_rules(x * w)
    >>> recorded["rules"]
    [{'op': '*', 'forward': ['*', 'x0', 'x1'], 'shares': [['*', 'x1', 'g'], ['*', 'x0', 'g']]}]
    >>> recorded["nodes"], recorded["leaves"]
    ([[-1], [-1], [0, 0, 1]], {0: 3.0, 1: 2.0})

A formula is a number, a name, or a list of an operation and its operands. The names are x0, x1, ...
for the data of the operands, y for the data of the node itself, and g for its gradient.
"""

from __future__ import annotations

import json
import math
from typing import Any

from micrograd.engine import Value, innermost
from micrograd.trace import Trace, trace

Formula = Any  # a float, a name, or a list [op, formula, ...]


def recorded_rules(root: Value) -> dict[str, Any]:
    """The graph that leads to `root`, as a list of nodes, and a list of the rules that they use.

    Returns:
        A dict of `rules`, each with its `op`, its `forward` formula (None for a user-defined
        operation, whose forward pass is not recorded) and its `shares`, the contribution to the
        gradient of each operand; `nodes` in topological order, each a list of the index of its
        rule and the indices of its operands, or [-1] for a leaf; and `leaves`, the data of each
        leaf and of each result whose rule has no forward formula.

    Raises:
        TypeError, ValueError: as `micrograd.trace.trace`.
    """
    program = trace(root)
    position = {value: i for i, value in enumerate(program.order)}
    operands = [[position[operand] for operand in value._prev] for value in program.order]
    forward, shares = _formulas(program, operands)
    rules: list[dict[str, Any]] = []
    index: dict[str, int] = {}  # from the text of a rule to its place in the list
    nodes, unknown = [], set(program.unknown)
    for i, value in enumerate(program.order):
        if not operands[i]:
            nodes.append([-1])
            continue
        rule = {
            "op": str(value._op),
            "forward": None if i in unknown else forward[i],
            "shares": shares[i],
        }
        text = json.dumps(rule)
        if text not in index:
            index[text] = len(rules)
            rules.append(rule)
        nodes.append([index[text], *operands[i]])
    given = (i for i in range(len(nodes)) if not operands[i] or i in unknown)
    leaves = {i: as_number(innermost(program.order[i].data)) for i in given}
    return {"rules": rules, "nodes": nodes, "leaves": leaves}


def as_number(x: Any) -> Any:
    """The number for JSON, which has no infinities and no NaN: these are texts, as in JavaScript.

    >>> as_number(2), as_number(float("-inf"))
    (2.0, '-Infinity')
    """
    x = float(x)
    if math.isnan(x):
        return "NaN"
    return x if math.isfinite(x) else f"{'-' * (x < 0)}Infinity"


def _formulas(
    program: Trace, operands: list[list[int]]
) -> tuple[list[Formula], list[list[Formula]]]:
    # The forward formula of each node, and the formulas of what its closure contributes.
    data_of = {place: i for i, place in enumerate(program.data)}
    found: list[Formula] = []  # the formula of each instruction
    for step in program.instructions:
        if step.op in ("input", "constant"):
            found.append(as_number(innermost(step.number)))
            continue
        formula = [step.op]
        for place in step.operands if step.role != "accumulation" else ():  # the page adds up
            if place in data_of:
                i = data_of[place]
                formula.append("y" if i == step.node else f"x{operands[step.node].index(i)}")
            else:
                formula.append("g" if _is_gradient(program, place) else found[place])
        found.append(formula)
    shares: list[list[Formula]] = [[] for _ in operands]
    for giver, _, _, place in program.contributions():
        shares[giver].append("g" if _is_gradient(program, place) else found[place])
    return [found[place] for place in program.data], shares


def _is_gradient(program: Trace, place: int) -> bool:
    return program.instructions[place].role in ("accumulation", "seed")
