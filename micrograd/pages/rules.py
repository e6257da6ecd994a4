"""The rules of operations, recorded from their closures, as data for a page.

A page computes forward and backward passes itself, but contains no derivative rule: this file runs
each operation and its closure on traced numbers, once for each kind of operation, and records the
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

import math
from collections.abc import Sequence
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.pause import is_paused
from micrograd.core.tracing import Recording, Traced
from micrograd.derivatives import again, contributions, local_derivatives
from micrograd.engine import Value, topological_order

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
        TypeError: `root` is not a Value.
        ValueError: the graph has a cycle, `root` was computed under `no_grad()`, the call is inside
            `no_grad()`, or the closure of a user-defined operation uses = instead of +=.
    """
    if not isinstance(root, Value):
        raise TypeError(f"recorded_rules expects a Value, got {type(root).__name__} {root!r:.40}")
    if is_paused() or (not root.requires_grad and not root.is_constant):
        raise ValueError("no_grad() does not record a graph: record the rules outside no_grad()")
    order = topological_order(root)
    position = {value: i for i, value in enumerate(order)}
    rules: list[dict[str, Any]] = []
    index: dict[Any, int] = {}  # from an operation and the pattern of its operands to its rule
    nodes, leaves = [], {}
    for i, value in enumerate(order):
        operands = [position[operand] for operand in value._prev]
        known = bool(operands) and not value.is_own_operation
        if not known:
            leaves[i] = as_number(innermost(value.data))
        if not operands:
            nodes.append([-1])
            continue
        # x * x has a rule of its own: its operands are the same node
        key: Any = (value._op, *map(operands.index, operands)) if known else i
        if key not in index:
            index[key] = len(rules)
            rules.append(_rule(key) if known else _constant_rule(value))
        nodes.append([index[key], *operands])
    return {"rules": rules, "nodes": nodes, "leaves": leaves}


def as_number(x: Any) -> Any:
    """The number for JSON, which has no infinities and no NaN: these become strings.

    >>> as_number(2), as_number(float("-inf"))
    (2.0, '-Infinity')
    """
    x = float(x)
    if math.isnan(x):
        return "NaN"
    return x if math.isfinite(x) else f"{'-' * (x < 0)}Infinity"


def _rule(key: Sequence[Any]) -> dict[str, Any]:
    # Records the operation with this name. Operands with the same number in the pattern are equal.
    op, *pattern = key
    recording = Recording()
    xs = {k: Value(recording.input(0.5)) for k in sorted(set(pattern))}
    result = again(op, [xs[k] for k in pattern])
    upstream = recording.input(1.0)
    given = contributions(result, upstream)
    names = {x.data.place: f"x{k}" for k, x in xs.items()}
    names |= {result.data.place: "y", upstream.place: "g"}
    found: list[Formula] = []  # the formula of each instruction
    for step in recording.instructions:
        operands = [names.get(place, found[place]) for place in step.operands]
        found.append([step.op, *operands] if operands else as_number(innermost(step.number)))
    shares = [
        names.get(share.place, found[share.place])
        if isinstance(share, Traced)
        else as_number(share)
        for share in given
    ]
    return {"op": op, "forward": found[result.data.place], "shares": shares}


def _constant_rule(value: Value) -> dict[str, Any]:
    # How a user-defined operation computes is unknown, so its local derivatives are constants.
    local = [innermost(derivative) for derivative in local_derivatives(value, strict=True)]
    shares = [["*", as_number(derivative), "g"] for derivative in local]
    return {"op": str(value._op), "forward": None, "shares": shares}
