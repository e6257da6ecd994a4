"""What a drawing knows of a graph: a record of each box, the same in every run.

A `Value` changes during training and is compared by identity. A drawing needs the opposite: a
snapshot with stable names, so that equal programs give equal records.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from micrograd.engine import Value


class Box(NamedTuple):
    """One Value, or one card for many.

    Attributes:
        number: of a Value, its index in the topological order; other boxes come after these.
        label: its `label` if it has one, else its name as one would type it, such as
            'model.layers[0].neurons[1]', else ''.
        short: what its card is called, such as 'L0.n1', or ''.
        kind: 'input', 'parameter' or 'constant' for a leaf, else 'operation' or 'result'.
        level: 'op' for a Value, 'neuron', 'array', or 'call' for any other part of the graph.
        op: the operation as in `_op`, or the activation; '' for a leaf.
        operands: numbers of the boxes that it uses, in order: twice for `x * x`, once for a 'call'.
        data, grad: numbers of any kind, of a neuron's output; tuples of an array, or of the outputs
            of a call.
        parent: number of the box around it, or -1.
        nodes: numbers of the Values inside: a neuron's output last, an array's elements first.
        weights: of a neuron, the weight of each operand.
        shape: of an array.
        details: further lines on the card of a call.
    """

    number: int
    label: str = ""
    short: str = ""
    kind: str = "operation"
    level: str = "op"
    op: str = ""
    operands: tuple[int, ...] = ()
    data: Any = ()
    grad: Any = ()
    parent: int = -1
    nodes: tuple[int, ...] = ()
    weights: tuple[Any, ...] = ()
    shape: tuple[int, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def has_ports(self) -> bool:
        """Whether it shows which operand is which."""
        return self.level != "call"

    @property
    def has_gradient(self) -> bool:
        """Whether it has a gradient, or an element with a gradient, that is not 0."""
        return any(map(_is_nonzero, self.grad if isinstance(self.grad, tuple) else (self.grad,)))


def _is_nonzero(grad: Any) -> bool:
    return grad is not None and (not isinstance(grad, (int, float)) or grad != 0)


@dataclass(frozen=True)
class Graph:
    """All boxes that lead to one or more results, operands first.

    Attributes:
        nodes: the boxes.
        results: the numbers of the boxes of the results.
        values: the Values in topological order, at every level; two graphs may be equal without
            sharing them.
        level: 'op', 'neuron', 'layer', 'array' or 'calls'.
        frames: the opened boxes around nodes, each after the frame around it.
        named: the names of Values and arrays.
    """

    nodes: tuple[Box, ...]
    results: tuple[int, ...]
    values: tuple[Value, ...] = field(compare=False, repr=False)
    level: str = "op"
    frames: tuple[Box, ...] = ()
    named: Any = field(default=None, compare=False, repr=False)

    @cached_property
    def box_of(self) -> dict[int, Box]:
        """The boxes by their numbers."""
        return {box.number: box for box in self.nodes}

    @property
    def value_of(self) -> dict[int, Value]:
        """The Value of each box that is drawn for a single one."""
        single = [box.number for box in self.nodes if box.level == "op"]
        return {number: self.values[number] for number in single if number < len(self.values)}

    @cached_property
    def has_gradients(self) -> bool:
        """Whether a backward pass has set the gradients of this graph.

        Leaves count only if there is nothing else: they may hold gradients from other graphs.
        """
        computed = [value for value in self.values if value._prev]
        return any(_is_nonzero(value.grad) for value in computed or self.values)

    @property
    def is_grouped(self) -> bool:
        """Whether some of its boxes stand for many operations, or for arrays."""
        return any(box.level == "array" or (box.nodes and box.operands) for box in self.nodes)


def folded(drawn: Graph, boxes: Sequence[Box]) -> Graph:
    """The graph with each node that is inside a box replaced by the box.

    A box without operands uses what its nodes use. Nodes that lead only to the inside of a box,
    such as the weights of a neuron, are left out.
    """
    box_of = {node: box.number for box in boxes for node in box.nodes}
    used: dict[int, dict[int, None]] = {box.number: {} for box in boxes}
    found: dict[int, Box] = {}
    for node in drawn.nodes:
        operands = tuple([box_of.get(operand, operand) for operand in node.operands])
        if node.number in box_of:
            used[box_of[node.number]].update(dict.fromkeys(operands))
        else:
            found[node.number] = node._replace(operands=operands)
    for box in boxes:
        used[box.number].pop(box.number, None)
        given = tuple([box_of.get(operand, operand) for operand in box.operands])
        found[box.number] = box._replace(operands=given or tuple(used[box.number]))
    results = tuple(dict.fromkeys(box_of.get(result, result) for result in drawn.results))
    placed: dict[int, Box] = {}  # operands first
    begun: set[int] = set()
    path = [*reversed(results)]
    while path:
        box = found[path[-1]]
        before = [] if box.number in begun else [o for o in box.operands if o not in begun]
        begun.add(box.number)
        path += reversed(before)
        if not before:
            placed.setdefault(path.pop(), box)
    return replace(drawn, nodes=tuple(placed.values()), results=results)


def columns(drawn: Graph) -> dict[int, int]:
    """The column of each box: behind its operands. A leaf is one column before its first user."""
    column = {drawn.nodes[0].number: 0}
    for box in drawn.nodes:
        if box.operands:
            mine = column[box.number] = 1 + max(column.get(o, 0) for o in box.operands)
            for operand in box.operands:
                column.setdefault(operand, mine - 1)
    return column
