"""Records of a graph: a node for each Value, or a box for each neuron or layer."""

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

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import Value
    >>> graph(Value(1.0, label="a")).nodes[0]
    Node(name='v0', label='a', kind='input', op='', operands=(), data=1.0, grad=0)
    """

    name: str
    label: str
    kind: str
    op: str
    operands: tuple[str, ...]
    data: Any
    grad: Any


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
        numbers = [n for n in self.nodes if not isinstance(n, LayerBox)]
        inside = [n for n in numbers if n.operands] or numbers
        return any(not isinstance(n.grad, (int, float)) or n.grad != 0 for n in inside)
