"""Chapter 9: a graph as plain records, for everything that draws it.

A `Value` is a live object, compared by identity. A drawing needs the opposite: names that are the
same in every run, and what was true at one moment. So `graph()` takes down one `Node` per Value, in
topological order, and calls them v0, v1, ...; equal programs give equal records.

    >>> a = Value(3.0)
    >>> square = a * a
    >>> for node in graph(square, names={"a": a, "square": square}).nodes:
    ...     print(node.name, node.label, node.kind, node.data, node.op, node.operands)
    v0 a input 3.0  ()
    v1 square result 9.0 * ('v0', 'v0')

A network may be looked at from further away. The modules of `nn` note on each result which of them
made it and from which inputs; all that lies between becomes one box, first of a neuron, and then of
a layer with all its neurons. What is no part of a neuron, like the loss, stays as it is.

    >>> from micrograd.nn import MLP
    >>> y = MLP(2, [3, 1])([1.0, -1.0])
    >>> len(graph(y).nodes), len(graph(y, level="neuron").nodes), len(graph(y, level="layer").nodes)
    (36, 6, 3)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from micrograd.engine import Constant, Value, topological_order

LEVELS = ("op", "neuron", "layer")


@dataclass(frozen=True)
class Node:
    """One Value, as it was when the graph was taken down.

    Attributes:
        name: 'v' and its place in topological order.
        label: what its author calls it: set by hand, or a variable's name, or ''.
        kind: 'input', 'parameter' or 'constant' for leaves, 'operation' or 'result' for others.
        op: the operation as in `_op`; '' for a leaf.
        operands: names of the operands in their order; a node stands twice in `x * x`.
        data, grad: the numbers, of whatever kind.

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
    """One call of one neuron: the operations from its inputs to its output, as a single node.

    An `nn.Activation` belongs to the neuron before it, if nothing else uses what it is applied to.

    Attributes:
        name: 'n' and its place among the neurons, in topological order.
        label: that of its output, or its own, as one would type it, or ''.
        kind: 'neuron', or 'result' if its output is one.
        activation: 'relu', 'linear' and so on.
        operands: names of the nodes and boxes that enter: its inputs in their order and, where
            weights or bias were computed by operations, these.
        weights: the number that each operand is multiplied by; None for a computed weight or bias.
        bias: its number, None without bias.
        nodes: names of the operations inside, the output last.
        layer: name of the box that holds it at layer level.
        data, grad: those of the output.

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
    """One layer with all calls of it, or the inputs of one.

    Attributes:
        name: 'l' for layers, 'i' for inputs, and a number.
        label: what one would type for it, or ''.
        kind: the name of its class, or 'inputs'.
        activation: that of its neurons; '' for inputs.
        n_in, n_out: numbers of its inputs and outputs in one call.
        parameters: how many it has.
        examples: how many calls of it there are.
        operands: names of what enters, each once; its own, where a layer feeds itself.
        neurons: names of the boxes that it stands for at neuron level.

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
    """The nodes that one or more results were computed from, operands first.

    Only where layers feed each other in a circle, an operand may come later.

    >>> len(graph(Value(1.0) + Value(2.0)).nodes)
    3
    """

    nodes: tuple[Any, ...]
    level: str = "op"

    @property
    def has_gradients(self) -> bool:
        """Whether a gradient has been computed: one that is not a plain 0, leaves left aside.

        Leaves keep the gradients of earlier backward passes, of other graphs.

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


def graph(*roots: Value, names: Mapping[str, Any] | None = None, level: str = "op") -> Graph:
    """The records of all nodes that the roots were computed from.

    Leaves are constants where a plain number met an operator, parameters where `names` holds a
    Module that owns them, and inputs otherwise.

    Args:
        *roots: the results to start from.
        names: where to look for the names of Values, usually `locals()`. The first name wins; those
            that begin with `_` are passed over; the entries of lists, tuples and arrays are called
            `w[0]`, the parameters of a Module `model.layers[0].neurons[1].b`. A `label` set by hand
            wins over all.
        level: 'op' for a Node per Value; 'neuron' for a NeuronBox in place of the operations of
            each neuron; 'layer' for a LayerBox in place of all its neurons, in whatever example.

    Raises:
        TypeError: a root is not a Value, or names is not a mapping.
        ValueError: there is no such level.

    >>> w = [Value(1.0), Value(2.0)]
    >>> [node.label for node in graph(w[0] + w[1], names={"w": w}).nodes]
    ['w[0]', 'w[1]', '']
    """
    for root in roots:
        if not isinstance(root, Value):
            raise TypeError(
                f"a graph starts from a Value, got {type(root).__name__} {root!r:.40}: take the "
                "result of a computation, or one entry of a list of results"
            )
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(
            f"names is a mapping of names to Values, got {type(names).__name__}: use "
            'names=locals(), or names={"model": model}'
        )
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is not one of {', '.join(LEVELS)}")
    labels: dict[Value, str] = {}
    parameters: set[Value] = set()
    for variable, thing in list((names or {}).items()):
        if not str(variable).startswith("_"):
            for label, value, owned in _values_in(thing, str(variable)):
                labels.setdefault(value, label)
                if owned:
                    parameters.add(value)

    results = set(roots)

    def kind(value: Value) -> str:
        if value._prev:
            return "result" if value in results else "operation"
        if isinstance(value, Constant):
            return "constant"
        return "parameter" if value in parameters else "input"

    order = topological_order(*roots)
    name_of = {value: f"v{i}" for i, value in enumerate(order)}
    nodes: list[Any] = [
        Node(
            name=name_of[value],
            label=str(value.label or labels.get(value, "")),
            kind=kind(value),
            op=str(value._op),
            operands=tuple(name_of[operand] for operand in value._prev),
            data=value.data,
            grad=value.grad,
        )
        for value in order
    ]
    if level != "op":
        calls = _neuron_calls(order, results)
        kept = {name_of[root] for root in roots}
        nodes = _with_neurons(nodes, calls, name_of, labels, kept)
        if level == "layer":
            nodes = _with_layers(nodes, calls, labels, kept)
    return Graph(tuple(nodes), level)


def levels(*roots: Value) -> dict[Value, int]:
    """The level of each node: 0 for a leaf, else 1 above the highest level among its operands.

    Nodes of one level do not depend on each other: they could be computed at the same time.

    >>> a, b = Value(1.0), Value(2.0)
    >>> c = a + b
    >>> list(levels(c * a).values())
    [0, 0, 1, 2]
    """
    level: dict[Value, int] = {}
    for value in topological_order(*roots):
        level[value] = 1 + max((level[operand] for operand in value._prev), default=-1)
    return level


def topological_orders(*roots: Value) -> Iterator[list[Value]]:
    """All orders of the nodes, constants left out, in which operands come before their results.

    They come one by one, as their number may grow with the factorial of the number of nodes.

    >>> a, b = Value(1.0), Value(2.0)
    >>> c = a + b
    >>> [[v.data for v in order] for order in topological_orders(c)]
    [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]]
    """
    nodes = [v for v in topological_order(*roots) if not isinstance(v, Constant)]
    order: list[Value] = []
    placed: set[Value] = set()
    choices = [iter(nodes)]  # for each place in the order, the nodes that have not been tried there
    while choices:
        for value in choices[-1]:
            ready = all(v in placed or isinstance(v, Constant) for v in value._prev)
            if ready and value not in placed:
                order.append(value)
                placed.add(value)
                choices.append(iter(nodes))
                break
        else:
            if len(order) == len(nodes):
                yield order.copy()
            choices.pop()
            if order:
                placed.discard(order.pop())


# ---- from operations to neurons, from neurons to layers


@dataclass
class _NeuronCall:
    note: tuple[Any, ...]  # module and inputs: one and the same tuple for all results of its call
    path: str  # what one types after the name of the module
    weights: list[Value]
    bias: Value | None
    activation: str
    inside: list[Value]  # operations, the output last

    @property
    def parameters(self) -> list[Value]:
        return self.weights if self.bias is None else [*self.weights, self.bias]


def _neuron_calls(order: Sequence[Value], results: set[Value]) -> list[_NeuronCall]:
    position = {value: i for i, value in enumerate(order)}
    users = Counter(operand for value in order for operand in set(value._prev))
    neurons_of: dict[int, dict[Value, list[Any]]] = {}  # of a module, by the first weight
    parameters_of: dict[int, set[Value]] = {}
    calls: dict[Value, _NeuronCall] = {}  # by output
    for value in order:
        note = getattr(value, "_made_by", None)
        if note is None or not value._prev:
            continue
        module = id(note[0])
        if module not in neurons_of:
            neurons_of[module], parameters_of[module] = {}, set()
            for path, weights, bias, activation in note[0]._neurons():
                neuron = _NeuronCall(note, path, weights, bias, activation, [])
                neurons_of[module].setdefault(neuron.weights[0], []).append(neuron)
                parameters_of[module].update(neuron.parameters)
        inputs = set(note[1:])
        inside, entering = _between(value, inputs, parameters_of[module])
        inside.sort(key=position.__getitem__)
        for neuron in (n for v in entering for n in neurons_of[module].get(v, [])):
            if entering == inputs.union(neuron.parameters):
                calls[value] = replace(neuron, note=note, inside=inside)
        if not neurons_of[module] and len(entering) == 1:  # an activation
            (before,) = entering
            linear = before in calls and calls[before].activation == "linear"
            if linear and users[before] == 1 and before not in results:
                calls[value] = call = calls.pop(before)
                call.inside += inside
                call.activation = value._op.lower()
    return list(calls.values())


def _between(
    output: Value, inputs: set[Value], parameters: set[Value]
) -> tuple[list[Value], set[Value]]:
    # The operations that lead from inputs and parameters to the output, and what enters them.
    inside, entering, unseen = [], set(), [output]
    listed = {output}
    while unseen:
        value = unseen.pop()
        inside.append(value)
        for operand in value._prev:
            if operand in inputs or operand in parameters:
                entering.add(operand)
            elif operand._prev and operand not in listed:
                listed.add(operand)
                unseen.append(operand)
    return inside, entering


def _with_neurons(
    nodes: Iterable[Node],
    calls: Sequence[_NeuronCall],
    name_of: Mapping[Value, str],
    labels: Mapping[Value, str],
    kept: set[str],
) -> list[Any]:
    box_of = {name_of[v]: f"n{i}" for i, call in enumerate(calls) for v in call.inside}
    call_of = {name_of[call.inside[-1]]: call for call in calls}
    modules = {id(call.note[0]): call.note[0] for call in calls}
    layer_of = {module: f"l{i}" for i, module in enumerate(modules)}
    label_of = {i: _layer_label(module, labels) for i, module in modules.items()}
    level: list[Any] = []
    for node in nodes:
        if node.name in call_of:
            call = call_of[node.name]
            computed = [p for p in call.parameters if p._prev]
            operands = [*call.note[1:], *computed]
            module = id(call.note[0])
            level.append(
                NeuronBox(
                    name=box_of[node.name],
                    label=node.label or (label_of[module] and label_of[module] + call.path),
                    kind="result" if node.kind == "result" else "neuron",
                    activation=call.activation,
                    operands=tuple(name_of[v] for v in operands),
                    weights=(*(w.data for w in call.weights), *[None] * len(computed)),
                    bias=None if call.bias is None else call.bias.data,
                    nodes=tuple(name_of[v] for v in call.inside),
                    layer=layer_of[module],
                    data=node.data,
                    grad=node.grad,
                )
            )
        elif node.name not in box_of:
            level.append(node)
    used = kept.union(*(node.operands for node in level))
    return [_renamed(n, box_of) for n in level if n.operands or n.name in used]


def _with_layers(
    nodes: Sequence[Any],
    calls: Sequence[_NeuronCall],
    labels: Mapping[Value, str],
    kept: set[str],
) -> list[Any]:
    members: dict[str, list[NeuronBox]] = {}
    call_of = dict(zip((n.name for n in nodes if isinstance(n, NeuronBox)), calls, strict=True))
    for node in nodes:
        if isinstance(node, NeuronBox):
            members.setdefault(node.layer, []).append(node)
    box_of = {neuron.name: layer for layer, neurons in members.items() for neuron in neurons}
    boxes: dict[str, Any] = {}
    for layer, neurons in members.items():
        its_calls = [call_of[neuron.name] for neuron in neurons]
        module = its_calls[0].note[0]
        boxes[layer] = LayerBox(
            name=layer,
            label=_layer_label(module, labels),
            kind=type(module).__name__,
            activation=", ".join(dict.fromkeys(call.activation for call in its_calls)),
            n_in=len(its_calls[0].weights),
            n_out=len(module._neurons()),
            parameters=len(module.parameters()),
            examples=len({id(call.note) for call in its_calls}),
            operands=tuple(dict.fromkeys(o for neuron in neurons for o in neuron.operands)),
            neurons=tuple(neuron.name for neuron in neurons),
        )
    feeds: dict[str, list[str]] = {}  # which boxes and nodes use a node
    for node in nodes:
        for operand in node.operands:
            feeds.setdefault(operand, []).append(box_of.get(node.name, node.name))
    gathered: dict[tuple[str, ...], list[str]] = {}  # inputs, by the layers that they feed
    for node in nodes:
        users = tuple(dict.fromkeys(feeds.get(node.name, ())))
        if node.kind == "input" and node.name not in kept and boxes.keys() >= {*users}:
            gathered.setdefault(users, []).append(node.name)
    for i, (users, inputs) in enumerate(gathered.items()):
        box_of.update(inputs_box := dict.fromkeys(inputs, f"i{i}"))
        per_call = max(sum(o in inputs_box for o in n.operands) for n in members[users[0]])
        examples = len(inputs) // per_call
        boxes[f"i{i}"] = LayerBox(f"i{i}", "", "inputs", "", 0, per_call, 0, examples, (), ())
    level = {}
    for node in nodes:
        name = box_of.get(node.name, node.name)
        if name not in level:
            level[name] = _renamed(boxes.get(name, node), box_of)
    return _operands_first(level)


def _operands_first(level: Mapping[str, Any]) -> list[Any]:
    # A box stands for nodes from many places, so that the order of its first one may not do. In a
    # circle of layers some operand has to come later.
    placed: dict[str, Any] = {}
    begun: set[str] = set()
    for name in level:
        path = [name]
        while path:
            node = level[path[-1]]
            before = [] if node.name in begun else [o for o in node.operands if o not in begun]
            begun.add(node.name)
            path += reversed(before)
            if not before:
                placed.setdefault(path.pop(), node)
    return list(placed.values())


def _renamed(node: Any, box_of: Mapping[str, str]) -> Any:
    operands = [box_of.get(operand, operand) for operand in node.operands]
    once = dict.fromkeys(operands) if isinstance(node, LayerBox) else operands
    return replace(node, operands=tuple(once))


def _layer_label(module: Any, labels: Mapping[Value, str]) -> str:
    # What comes before '.neurons[0].b' where the parameter is called 'model.layers[1].neurons[0].b'
    for path, parameter in module.named_parameters():
        label = labels.get(parameter, "")
        if label.endswith(f".{path}"):
            return label.removesuffix(f".{path}")
    return ""


def _values_in(
    thing: Any, name: str, around: tuple[Any, ...] = ()
) -> Iterator[tuple[str, Value, bool]]:
    # Triples of a name, a Value and whether a Module owns it. What something is shows in its type,
    # so that neither NumPy nor nn need be imported, and a Module's class is not taken for a Module.
    if isinstance(thing, Value):
        yield name, thing, False
    elif hasattr(type(thing), "named_parameters"):
        for path, value in thing.named_parameters():
            if isinstance(value, Value):
                yield f"{name}.{path}", value, True
    elif hasattr(type(thing), "__array__") and str(getattr(thing, "dtype", "")) == "object":
        yield from _values_in(thing.tolist(), name)
    elif isinstance(thing, (list, tuple)) and not any(thing is outer for outer in around):
        around = (*around, thing)
        for i, entry in enumerate(thing):
            yield from _values_in(entry, f"{name}[{i}]", around)
