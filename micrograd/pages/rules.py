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

import copy
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.pause import is_paused
from micrograd.core.tracing import Recording, Traced
from micrograd.derivatives import again, contributions, local_derivatives
from micrograd.engine import Value, topological_order
from micrograd.optim import Adam, Optimizer

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


def recorded_update(optimizer: Optimizer) -> dict[str, Any]:
    """The rule by which an optimizer updates a parameter, with its momentum, betas and eps.

    Returns:
        A dict of `memory`, the names of what it keeps for each parameter; `steps`, formulas of
        numbers and names: w and g for the parameter and its gradient, rate, decay, t for the number
        of this step from 1, the names in `memory`, and v0, v1, ... for earlier formulas; and
        `figures`, the results: d, the gradient with the decay; pulled, the parameter with the
        decay; what it keeps; mean and root, m and the root of s corrected; next, the new parameter.

    >>> from micrograd.optim import SGD
    >>> recorded_update(SGD([Value(0.0)]))["steps"]  # g + decay w, then w - rate v1
    [['*', 'decay', 'w'], ['+', 'g', 'v0'], ['*', 'rate', 'v1'], ['-', 'w', 'v2']]
    """
    recording = Recording()
    called: dict[int, Any] = {}  # what the page calls the result of each instruction
    memory: dict[str, list[Any]] = {}

    def given(name: str) -> Traced:
        number = _Setting(recording, recording.add("input", ()))
        called[number.place] = name
        return number

    def state(name: str) -> list[Any]:
        return memory.setdefault(name, [given(name)])

    def first(op: str, operand: int) -> int:
        return next(i for i, s in enumerate(steps) if s.op == op and s.operands[0] == operand)

    p, g = SimpleNamespace(data=given("w")), given("g")
    tracing: Any = copy.copy(optimizer)
    tracing.lr, tracing.weight_decay = given("rate"), given("decay")
    tracing._parameters = SimpleNamespace(state=state)
    tracing._now = tracing._numbers(given("t"))
    figures = {"d": tracing._decayed(p, g), "pulled": p.data}
    tracing._update(0, p, figures["d"])
    figures |= {"next": p.data} | {name: kept for name, [kept] in memory.items()}
    places = {name: number.place for name, number in figures.items()}
    steps = recording.instructions
    if isinstance(optimizer, Adam):
        places["mean"] = first("/", places["m"])
        places["root"] = first("**", first("/", places["s"]))
    formulas: list[Formula] = []
    for i, step in enumerate(steps):
        if step.operands:
            formulas.append([step.op, *(called[place] for place in step.operands)])
            called[i] = f"v{len(formulas) - 1}"
        elif i not in called:
            called[i] = as_number(step.number)
    told = {name: called[place] for name, place in places.items()}
    return {"memory": list(memory), "steps": formulas, "figures": told}


class _Setting(Traced):
    # A setting that the page can change: the rule does not leave out a decay that may be 0.
    __slots__ = ()

    def __bool__(self) -> bool:  # type: ignore[override]
        return True


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
