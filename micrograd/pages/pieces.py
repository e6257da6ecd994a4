"""Functions of numbers, recorded as pieces of a graph that a page can put together.

A page joins such pieces: one for each neuron of a network, then one for the loss. See `rules.py`
for where the rules of operations come from, and how their formulas are written. Here, a formula may
also use the data of additional operands, which receive no gradient.

    >>> recorded = piece(lambda x: [(x[0] * x[1]).tanh()], 2)
    >>> recorded["nodes"], recorded["inputs"], recorded["outputs"]
    ([[-1], [-1], [0, 0, 1], [1, 2]], [0, 1], [3])
    >>> recorded["rules"][0]
    {'op': '*', 'forward': ['*', 'x0', 'x1'], 'shares': [['*', 'x1', 'g'], ['*', 'x0', 'g']]}

The function is called with traced numbers. So a page also correctly computes what is missing from
the graph of a single example: detached numbers, and choices made by `where`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.tracing import Instruction, Recording, Traced, resumed
from micrograd.derivatives import contributions
from micrograd.engine import Value, topological_order
from micrograd.pages.rules import Formula, as_number


def piece(
    function: Callable[[list[Value]], Any], inputs: int, parameters: Sequence[Value] = ()
) -> dict[str, Any]:
    """The graph that a function builds from its inputs and parameters.

    Args:
        function: takes a list of Values and returns a Value or a list of them.
        inputs: the number of Values in the list.
        parameters: leaves that the function uses; they are leaves of the piece too.

    Returns:
        A dict of `rules` as in `rules.py`; `nodes` in the order of computation, each a list of the
        index of its rule and of its operands, or [-1] for a leaf; `leaves`, the data of all leaves;
        and the nodes that are `inputs`, `parameters` and `outputs`.

    Raises:
        TypeError: the function does not return Values.
        ValueError: an output does not depend on the inputs or parameters, or an operation returns
            the data of its operand.
        TraceError: the function branches on an input, as `if x > 0` does.
    """
    recording = Recording()
    xs = [Value(recording.input(0.0)) for _ in range(inputs)]
    before = [p.data for p in parameters]
    with resumed():
        try:
            for p in parameters:
                p.data = recording.input(innermost(p.data))
            outputs = _outputs(function(xs))
            return _Piece(recording, [*xs, *parameters], outputs).data(inputs)
        finally:
            for p, number in zip(parameters, before, strict=True):
                p.data = number


def _outputs(returned: Any) -> list[Value]:
    outputs = [returned] if isinstance(returned, Value) else list(returned)
    for output in outputs:
        if not isinstance(output, Value):
            raise TypeError(
                f"expected a function that returns Values, got {type(output).__name__} "
                f"{output!r:.40}: compute with the Values that it is given, without .data"
            )
        if not isinstance(output.data, Traced):
            raise ValueError(
                f"an output is {output.data!r:.40} for all inputs: compute it from the inputs"
            )
    return outputs


class _Piece:
    # Each instruction of the forward pass is a node, so the place of an instruction numbers a node.

    def __init__(
        self, recording: Recording, leaves: Sequence[Value], outputs: Sequence[Value]
    ) -> None:
        self.recording = recording
        self.forward = tuple(recording.instructions)
        self.leaves = [_place(leaf) for leaf in leaves]
        self.outputs = [_place(output) for output in outputs]
        given = set(leaves)
        # The Value whose closure is the rule of each node. Detached numbers have none.
        self.value_at: dict[int, Value] = {}
        for value in topological_order(*outputs):
            if isinstance(value.data, Traced) and (value in given or value._prev):
                if value.data.place in self.value_at:
                    raise ValueError(
                        f"the operation {value._op!r} returns the data of its operand, so the two "
                        "cannot be told apart: multiply the data by 1"
                    )
                self.value_at[value.data.place] = value

    def data(self, inputs: int) -> dict[str, Any]:
        rules: list[dict[str, Any]] = []
        index: dict[str, int] = {}  # from the text of a rule to its index in the list
        nodes, leaves = [], {}
        for i, step in enumerate(self.forward):
            if not step.operands:
                nodes.append([-1])
                leaves[i] = as_number(innermost(step.number))
                continue
            rule, operands = self.rule(i, step)
            text = json.dumps(rule)
            if text not in index:
                index[text] = len(rules)
                rules.append(rule)
            nodes.append([index[text], *operands])
        return {
            "rules": rules,
            "nodes": nodes,
            "leaves": leaves,
            "inputs": self.leaves[:inputs],
            "parameters": self.leaves[inputs:],
            "outputs": self.outputs,
        }

    def rule(self, i: int, step: Instruction) -> tuple[dict[str, Any], list[int]]:
        operands = list(step.operands)
        shares: list[Formula] = [0] * len(operands)
        value = self.value_at.get(i)
        if value is not None and value._prev:
            start = len(self.recording.instructions)
            upstream = self.recording.input(1.0)
            given = contributions(value, upstream)
            names = {upstream.place: "g", i: "y"}
            found = self.formulas(start, names, operands)
            shares += [0] * (len(operands) - len(shares))
            taken: set[int] = set()
            for operand, share in zip(value._prev, given, strict=True):
                place = _place(operand)
                if place in self.value_at and self.value_at[place] is operand:
                    free = (k for k, p in enumerate(operands) if p == place and k not in taken)
                    k = next(free, len(operands))
                    if k == len(operands):
                        operands.append(place)
                        shares.append(0)
                    taken.add(k)
                    shares[k] = found[share.place] if isinstance(share, Traced) else float(share)
        first = {place: f"x{operands.index(place)}" for place in operands}
        forward = [step.op, *(first[place] for place in step.operands)]
        op = value._op if value is not None and value._prev else step.op
        return {"op": str(op), "forward": forward, "shares": shares}, operands

    def formulas(
        self, start: int, names: dict[int, str], operands: list[int]
    ) -> dict[int, Formula]:
        # The formula of each instruction from `start` on. A node that a formula needs becomes an
        # operand.
        found: dict[int, Formula] = dict(names)
        for place in range(start, len(self.recording.instructions)):
            step = self.recording.instructions[place]
            if place in found:
                continue
            if not step.operands:
                found[place] = as_number(innermost(step.number))
                continue
            for p in step.operands:
                if p not in found:
                    if p not in operands:
                        operands.append(p)
                    found[p] = f"x{operands.index(p)}"
            found[place] = [step.op, *(found[p] for p in step.operands)]
        return found


def _place(value: Value) -> int:
    return value.data.place if isinstance(value.data, Traced) else -1
