"""What a drawing knows of a graph: a record of each box, the same in every run.

A `Value` changes during training and is compared by identity. A drawing needs the opposite: a
snapshot with stable names, so that equal programs give equal records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from micrograd.engine import Value

LEVELS = ("op", "neuron", "layer", "array")


@dataclass(frozen=True)
class Box:
    """One Value, or one card for many: a call of a neuron, a layer with its calls, an array.

    Attributes:
        name: a letter and a number: 'v7' is the Value at index 7 of the topological order; 'n' is
            for neurons, 'l' for layers, 'i' for the inputs of layers, 'a' for arrays, 'c' for plain
            numbers beside arrays, 'r' for the rest.
        label: its `label` if it has one, else its name as one would type it, such as
            'model.layers[0].neurons[1]', else ''.
        short: what its card is called, such as 'L0.n1', or ''.
        kind: 'input', 'parameter' or 'constant' for a leaf, else 'operation' or 'result'.
        level: 'op' for a Value; else the level at which such a box stands for many Values; 'call'
            for what is computed in a call of a function, or in several; 'rest' for many nodes that
            belong to no neuron, layer or array.
        op: the operation as in `_op`, or the activation; '' for a leaf.
        operands: names of the boxes that it uses, in order; `x * x` lists the same name twice. A
            layer or a rest lists each once; a layer that feeds itself is among its own operands.
        data, grad: numbers of any kind, of a neuron's output; an array has tuples, and a call has
            those of its outputs; a layer and a rest have None.
        parent: name of the box around it at the next level: of a neuron's layer.
        nodes: names of the Values inside; a neuron's output is the last, and an array's elements
            are the first.
        weights: of a neuron, the weight of each operand.
        shape: of an array.
        n_in, n_out, examples: numbers of inputs and outputs of a layer, and of its calls.
        details: further lines on the card of a layer, a call or a rest.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import Value
    >>> from micrograd.nn import Linear, Neuron
    >>> box = graph(Value(1.0, label="a")).nodes[0]
    >>> box.name, box.short, box.kind, box.data
    ('v0', 'a', 'input', 1.0)
    >>> box = graph(Neuron(1)([2.0]), level="neuron").nodes[-1]
    >>> box.name, box.op, box.operands, box.nodes
    ('n0', 'relu', ('v2',), ('v3', 'v4', 'v5'))
    >>> box = graph(*Linear(4, 3)([1.0, 2.0, 3.0, 4.0]), level="layer").nodes[-1]
    >>> box.short, box.n_in, box.n_out, box.examples, box.operands
    ('Linear', 4, 3, 1, ('i0',))
    """

    name: str
    label: str = ""
    short: str = ""
    kind: str = "operation"
    level: str = "op"
    op: str = ""
    operands: tuple[str, ...] = ()
    data: Any = None
    grad: Any = None
    parent: str = ""
    nodes: tuple[str, ...] = ()
    weights: tuple[Any, ...] = ()
    shape: tuple[int, ...] = ()
    n_in: int = 0
    n_out: int = 0
    examples: int = 0
    details: tuple[str, ...] = ()

    @property
    def has_number(self) -> bool:
        """Whether it has one number: a Value, or the output of a neuron."""
        return self.level in ("op", "neuron")

    @property
    def has_ports(self) -> bool:
        """Whether it shows which operand is which; a layer or a rest lists each once."""
        return self.level not in ("layer", "rest", "call")

    @property
    def has_gradient(self) -> bool:
        """Whether it has a gradient, or an element with a gradient, that is not 0."""
        grads = self.grad if isinstance(self.grad, tuple) else (self.grad,)
        return any(g is not None and (not isinstance(g, (int, float)) or g != 0) for g in grads)


@dataclass(frozen=True)
class Graph:
    """All boxes that lead to one or more results, operands first.

    An operand comes later than its user only if layers form a cycle.

    Attributes:
        nodes: the boxes.
        results: the names of the boxes of the results.
        values: the Values in topological order, at every level; two graphs may be equal without
            sharing them.
        level: one of LEVELS, or 'calls'.
        frames: the opened boxes around nodes, each after the frame around it.
        named: the names of Values and arrays.
    """

    nodes: tuple[Box, ...]
    results: tuple[str, ...]
    values: tuple[Value, ...] = field(compare=False, repr=False)
    level: str = "op"
    frames: tuple[Box, ...] = ()
    named: Any = field(default=None, compare=False, repr=False)

    @property
    def value_of(self) -> dict[str, Value]:
        """The Value of each box that has one number: of a neuron, its output."""
        names = {b.name: b.nodes[-1] if b.nodes else b.name for b in self.nodes if b.has_number}
        return {name: self.values[int(v[1:])] for name, v in names.items() if v.startswith("v")}

    @property
    def has_gradients(self) -> bool:
        """Whether a backward pass has set the gradients of this graph.

        Leaves count only if the graph has nothing else, since they may hold gradients from other
        graphs.

        >>> from micrograd.draw.graph import graph
        >>> from micrograd.engine import Value
        >>> x = Value(2.0)
        >>> y = x * 3.0
        >>> graph(y).has_gradients
        False
        >>> y.backward()
        >>> graph(y).has_gradients
        True
        """
        if self.level == "calls":  # it may show only a part
            return any(value._prev and value.grad != 0 for value in self.values)
        shown = [box for box in self.nodes if box.grad is not None]
        return any(box.has_gradient for box in [box for box in shown if box.operands] or shown)

    @property
    def has_old_gradients(self) -> bool:
        """Whether only leaves have gradients, from another graph or set by hand."""
        return not self.has_gradients and any(box.has_gradient for box in self.nodes)

    @property
    def is_grouped(self) -> bool:
        """Whether some of its boxes stand for many Values."""
        return any(box.level != "op" for box in self.nodes)
