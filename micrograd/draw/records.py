"""Records of a graph: a node for each Value, or a box for each neuron, layer or array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Node:
    """One Value, as it was when the graph was recorded.

    Attributes:
        name: 'v' and its index in topological order.
        label: its `label` if it has one, else the name of its variable, else ''.
        kind: 'input', 'parameter' or 'constant' for a leaf, else 'operation' or 'result'.
        op: the operation as in `_op`; '' for a leaf.
        operands: names of the operands in order; `x * x` lists the same name twice.
        data, grad: numbers of any kind.
        short: a shorter label for a card, such as 'L0.n1.w2' for a parameter of a model, or ''.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import Value
    >>> graph(Value(1.0, label="a")).nodes[0]
    Node(name='v0', label='a', kind='input', op='', operands=(), data=1.0, grad=0, short='')
    """

    name: str
    label: str
    kind: str
    op: str
    operands: tuple[str, ...]
    data: Any
    grad: Any
    short: str = ""


@dataclass(frozen=True)
class NeuronBox:
    """One call of one neuron as a single node: the operations from its inputs to its output.

    An `nn.Activation` belongs to the neuron before it if nothing else uses that neuron's output.

    Attributes:
        name: 'n' and its index among the neurons, in topological order.
        label: the label of its output, else the expression for the neuron, as in
            'model.neurons[0]', else ''.
        kind: 'neuron', or 'result' if its output is a result.
        activation: 'relu', 'linear' and so on.
        operands: names of the nodes and boxes that it uses: its inputs in order, then any
            weights and bias that are results of operations.
        weights: the weight of each input, then None for each of the other operands.
        bias: a number, or None for a neuron without bias.
        nodes: names of the operations inside; the last one is the output.
        layer: name of the LayerBox that it belongs to at level 'layer'.
        data, grad: the data and gradient of the output.
        short: a shorter label for a card, such as 'L0.n1', or ''.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.nn import Neuron
    >>> box = graph(Neuron(1)([2.0]), level="neuron").nodes[-1]
    >>> box.name, box.activation, box.operands, box.nodes
    ('n0', 'relu', ('v2',), ('v3', 'v4', 'v5'))
    """

    name: str
    label: str
    kind: str
    activation: str
    operands: tuple[str, ...]
    weights: tuple[Any, ...]
    bias: Any
    nodes: tuple[str, ...]
    layer: str
    data: Any
    grad: Any
    short: str = ""


@dataclass(frozen=True)
class LayerBox:
    """One layer with all its calls, or the inputs of a layer.

    Attributes:
        name: 'l' for a layer or 'i' for inputs, and a number.
        label: the expression for the layer, as in 'model.layers[0]', or ''.
        kind: the name of its class, or 'inputs'.
        activation: the activation of its neurons; '' for inputs.
        n_in, n_out: numbers of inputs and outputs per call.
        parameters: number of its parameters.
        examples: number of its calls.
        operands: names of the nodes and boxes that it uses, each once; a layer that feeds itself
            is among its own operands.
        neurons: names of the NeuronBoxes that it replaces.
        short: a shorter label for a card, such as 'L0', or ''.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.nn import Linear
    >>> box = graph(*Linear(4, 3)([1.0, 2.0, 3.0, 4.0]), level="layer").nodes[-1]
    >>> box.kind, box.n_in, box.n_out, box.parameters, box.examples, box.operands
    ('Linear', 4, 3, 15, 1, ('i0',))
    """

    name: str
    label: str
    kind: str
    activation: str
    n_in: int
    n_out: int
    parameters: int
    examples: int
    operands: tuple[str, ...]
    neurons: tuple[str, ...]
    short: str = ""


@dataclass(frozen=True)
class ArrayBox:
    """One array as a single node: its elements, and the operations that computed them.

    Attributes:
        name: 'a' and a number.
        label: the name of its variable, or ''.
        kind: 'input', 'parameter' or 'constant' for an array that was not computed, else
            'operation' or 'result'.
        op: the operation as in `_op`, or the name of the function; if it is not known, the number
            of operations; '' for an array that was not computed.
        operands: names of the nodes and boxes that it was computed from.
        shape: its shape.
        has_gradient: whether one of its elements has a gradient that is not 0.
        nodes: names of the Nodes that it replaces; its elements come first.
    """

    name: str
    label: str
    kind: str
    op: str
    operands: tuple[str, ...]
    shape: tuple[int, ...]
    has_gradient: bool
    nodes: tuple[str, ...]
    short: str = ""


@dataclass(frozen=True)
class RestBox:
    """Many nodes as one, such as the operations of a loss after the last layer.

    Attributes:
        name: 'r' and a number.
        label: what it stands for, as in '300 operations'.
        details: lines that say more about it.
        operands: names of the nodes and boxes that it uses, each once.
        nodes: names of the Nodes that it replaces.
    """

    name: str
    label: str
    details: tuple[str, ...]
    operands: tuple[str, ...]
    nodes: tuple[str, ...]
    kind: str = "rest"
    short: str = ""


@dataclass(frozen=True)
class Graph:
    """All nodes that lead to one or more results, operands first.

    An operand comes later than its user only if layers form a cycle.
    """

    nodes: tuple[Any, ...]
    level: str = "op"

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
        shown = [node for node in self.nodes if _may_have_gradient(node)]
        return any(map(has_gradient, [n for n in shown if n.operands] or shown))

    @property
    def has_old_gradients(self) -> bool:
        """Whether only leaves have gradients, from another graph or set by hand.

        >>> from micrograd.draw.graph import graph
        >>> from micrograd.engine import Value
        >>> x = Value(2.0)
        >>> x.grad = 1.0
        >>> graph(x * 3.0).has_old_gradients
        True
        """
        shown = filter(_may_have_gradient, self.nodes)
        return not self.has_gradients and any(map(has_gradient, shown))


def has_gradient(node: Any) -> bool:
    """Whether a node or box has a gradient that is not 0."""
    if isinstance(node, ArrayBox):
        return node.has_gradient
    return not isinstance(node.grad, (int, float)) or node.grad != 0


def _may_have_gradient(node: Any) -> bool:
    return not isinstance(node, (LayerBox, RestBox))
