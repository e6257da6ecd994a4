"""Graphs recorded as data for a page, with the rules of their operations.

A page computes forward and backward passes itself, but contains no derivative rule. So each
operation and its closure run here once, on traced numbers, and the formulas that they compute
become its rule. `recorded_rules` records the graph of a result; `piece` records the graph that a
function builds, which a page joins with others, such as each neuron of a network and its loss.

    >>> x, w = Value(3.0), Value(2.0)
    >>> recorded_rules(x * w)["rules"]
    [{'op': '*', 'forward': ['*', 'x0', 'x1'], 'shares': [['*', 'x1', 'g'], ['*', 'x0', 'g']]}]
    >>> recorded = piece(lambda x, y: [(x * y).tanh()], 2)
    >>> recorded["nodes"], recorded["inputs"], recorded["outputs"]
    ([[-1], [-1], [0, 0, 1], [1, 2]], [0, 1], [3])

A formula is a number, a name, or a list of an operation and its operands. The names are x0, x1, ...
for the data of the operands, y for the data of the node itself, and g for its gradient. A rule has
the formula of the forward pass, and for each operand its share: the contribution that is added to
its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.pause import is_paused
from micrograd.core.shapes import flat
from micrograd.core.tracing import Recording, Traced, resumed
from micrograd.derivatives import again, contributions, is_own_operation, local_derivatives
from micrograd.engine import Value, topological_order

Formula = Any  # a float, a name, or a list [op, formula, ...]
Rule = dict[str, Any]


def recorded_rules(root: Value) -> dict[str, Any]:
    """The graph that leads to `root`, as a list of nodes, and a list of the rules that they use.

    Returns:
        A dict of `rules`, each with its `op`, its `forward` formula (None for a user-defined
        operation, whose forward pass is not recorded) and its `shares`; `nodes` in topological
        order, each a list of the index of its rule and the indices of its operands, or [-1] for a
        leaf; and `leaves`, the data of each leaf and of each result of a user-defined operation.

    >>> recorded = recorded_rules(Value(3.0) * Value(2.0))
    >>> recorded["nodes"], recorded["leaves"]
    ([[-1], [-1], [0, 0, 1]], {0: 3.0, 1: 2.0})
    """
    if is_paused() or (not root.requires_grad and not root.is_constant):
        raise ValueError("no_grad() does not record a graph: record the rules outside no_grad()")
    order = topological_order(root)
    position = {value: i for i, value in enumerate(order)}
    rules: list[Rule] = []
    index: dict[Any, int] = {}  # from an operation and the pattern of its operands to its rule
    nodes, leaves = [], {}
    for i, value in enumerate(order):
        operands = [position[operand] for operand in value._prev]
        known = bool(operands) and not is_own_operation(value)
        if not known:
            leaves[i] = as_number(innermost(value.data))
        # x * x has a rule of its own: its operands are the same node
        key: Any = (value._op, *map(operands.index, operands)) if known else i
        if operands and key not in index:
            index[key] = len(rules)
            # How a user-defined operation computes is unknown, so its derivatives are constants.
            local = () if known else map(innermost, local_derivatives(value))
            shares = [["*", as_number(d), "g"] for d in local]
            constants = {"op": str(value._op), "forward": None, "shares": shares}
            rules.append(_rule_of(*key) if known else constants)
        nodes.append([index.get(key, -1), *operands])
    return {"rules": rules, "nodes": nodes, "leaves": leaves}


def piece(
    function: Callable[..., Any], inputs: int, parameters: Sequence[Value] = ()
) -> dict[str, Any]:
    """The graph that a function builds from its inputs and parameters.

    The function is called with traced numbers, and each instruction that it records is a node. So a
    page also correctly computes what is missing from the graph of a single example: detached
    numbers, and choices made by `where`. They receive no gradient, but formulas may use them.

    Args:
        function: takes Values and returns a Value or a list of them; it must not branch on them.
        inputs: the number of Values that it takes.
        parameters: leaves that the function uses; they are leaves of the piece too.

    Returns:
        A dict of `rules`, `nodes` and `leaves` as in `recorded_rules`, and of the nodes that are
        `inputs`, `parameters` and `outputs`.
    """
    recording = Recording()
    given = [Value(recording.input(0.0)) for _ in range(inputs)]
    before = [p.data for p in parameters]
    try:
        for p in parameters:
            p.data = recording.input(innermost(p.data))
        with resumed():
            outputs = flat(function(*given))
            nodes = _recorded_piece(recording, [*given, *parameters], outputs)
    finally:
        for p, number in zip(parameters, before, strict=True):
            p.data = number
    return nodes | {
        "inputs": list(range(inputs)),
        "parameters": list(range(inputs, inputs + len(parameters))),
        "outputs": [output.data.place for output in outputs],
    }


def as_number(x: Any) -> Any:
    """The number for JSON, which has no infinities and no NaN: these become strings.

    >>> as_number(2), as_number(float("-inf"))
    (2.0, '-Infinity')
    """
    x = float(x)
    names = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return names.get(x, x) if x == x else "NaN"


def _recorded_piece(
    recording: Recording, given: Sequence[Value], outputs: Sequence[Any]
) -> dict[str, Any]:
    for output in outputs:
        if not (isinstance(output, Value) and isinstance(output.data, Traced)):
            fix = "compute with the Values that it is given, without .data"
            raise TypeError(f"expected Values computed from the inputs, got {output!r:.40}: {fix}")
    # The Value whose closure is the rule of each node. Detached numbers have none.
    values = [*given, *(v for v in topological_order(*outputs) if v._prev)]
    value_at = {v.data.place: v for v in values if isinstance(v.data, Traced)}
    rules: list[Rule] = []
    nodes, leaves = [], {}
    forward = tuple(recording.instructions)
    for i, step in enumerate(forward):
        operands = list(step.operands)
        if not operands:
            nodes.append([-1])
            leaves[i] = as_number(innermost(step.number))
            continue
        rule = _rule(recording, value_at, len(forward), i, operands)
        if rule not in rules:
            rules.append(rule)
        nodes.append([rules.index(rule), *operands])
    return {"rules": rules, "nodes": nodes, "leaves": leaves}


def _rule_of(op: str, *pattern: int) -> Rule:
    # The rule of the operation with this name. Operands with the same number are the same node.
    recording = Recording()
    xs = {k: Value(recording.input(0.5)) for k in sorted(set(pattern))}
    value = again(op, [xs[k] for k in pattern])
    value_at = {v.data.place: v for v in (*xs.values(), value)}
    operands = [xs[k].data.place for k in pattern]
    return _rule(recording, value_at, len(xs), value.data.place, operands)


def _rule(
    recording: Recording, value_at: Mapping[int, Value], nodes: int, at: int, operands: list[int]
) -> Rule:
    # The rule of the instruction at a place, and of the Value that has its result. Of the places
    # before `nodes`, those that the rule needs besides its operands are added to the operands.
    named: dict[int, str] = {}

    def formula(place: int) -> Formula:
        if place in named:
            return named[place]
        if place < nodes and place != at:
            if place not in operands:
                operands.append(place)
            return f"x{operands.index(place)}"
        step = recording.instructions[place]
        number = innermost(step.number)
        return [step.op, *map(formula, step.operands)] if step.operands else as_number(number)

    op, forward = recording.instructions[at].op, formula(at)
    given: dict[int, list[Formula]] = {}  # the contributions to each operand
    value = value_at.get(at)
    if value is not None:
        op = str(value._op)
        upstream = recording.input(1.0)
        named |= {at: "y", upstream.place: "g"}
        for operand, share in zip(value._prev, contributions(value, upstream), strict=True):
            place = getattr(operand.data, "place", -1)
            if value_at.get(place) is operand:
                told = formula(share.place) if isinstance(share, Traced) else as_number(share)
                given.setdefault(place, []).append(told)
    for place, shares in given.items():
        operands += [place] * (len(shares) - operands.count(place))
    return {
        "op": op,
        "forward": forward,
        "shares": [given[x].pop(0) if given.get(x) else 0 for x in operands],
    }
