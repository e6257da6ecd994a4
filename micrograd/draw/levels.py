"""From operations to neurons, and from neurons to layers.

Each result of a module in `nn.py` carries a note: the module that made it, and the module's inputs.
The operations between these inputs and the result become one NeuronBox; all NeuronBoxes of a module
become one LayerBox. Operations outside a neuron, such as those of the loss, stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from micrograd.draw.names import Names
from micrograd.draw.records import LayerBox, NeuronBox, Node, RestBox
from micrograd.engine import Value
from micrograd.nn import neurons_of

LEVELS = ("op", "neuron", "layer", "array")


@dataclass
class _NeuronCall:
    note: tuple[Any, ...]  # module and inputs; all results of one call share the same tuple
    path: str  # from the module to the neuron: '.neurons[0]'
    weights: list[Value]
    bias: Value | None
    activation: str
    inside: list[Value]  # its operations; the last one is the output

    @property
    def module(self) -> Any:
        return self.note[0]

    @property
    def parameters(self) -> list[Value]:
        return self.weights if self.bias is None else [*self.weights, self.bias]


def grouped(
    nodes: Sequence[Node],
    order: Sequence[Value],
    roots: Collection[Value],
    named: Names,
    level: str,
) -> list[Any]:
    """The nodes of a graph, with a single box for each neuron or each layer.

    Args:
        nodes: the record of each Value.
        order: the Values, in the same order.
        roots: Values that always keep their nodes.
        named: the names of Values; a module's label is taken from those of its parameters.
        level: 'neuron' or 'layer'.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import topological_order
    >>> from micrograd.nn import Neuron
    >>> y = Neuron(2)([2.0, 3.0])
    >>> nodes, order = graph(y).nodes, topological_order(y)
    >>> [node.name for node in grouped(nodes, order, [y], Names({}), "neuron")]
    ['v2', 'v6', 'n0']
    """
    name_of = {value: node.name for value, node in zip(order, nodes, strict=True)}
    kept = {name_of[root] for root in roots}
    calls = _neuron_calls(order, roots)
    with_neurons = _with_neurons(nodes, calls, name_of, named, kept)
    return with_neurons if level == "neuron" else _with_layers(with_neurons, calls, named, kept)


# ---- 1. Neurons


def _neuron_calls(order: Sequence[Value], roots: Collection[Value]) -> list[_NeuronCall]:
    position = {value: i for i, value in enumerate(order)}
    users = Counter(operand for value in order for operand in set(value._prev))
    known: dict[int, tuple[dict[Value, list[_NeuronCall]], set[Value]]] = {}  # keys: id(module)
    calls: dict[Value, _NeuronCall] = {}  # keys: the outputs
    for value in order:
        note = getattr(value, "_made_by", None)
        if note is None or not value._prev:
            continue
        module = id(note[0])
        if module not in known:
            known[module] = _neurons_and_parameters(note)
        neurons, parameters = known[module]
        inputs = set(note[1:])
        inside, entering = _between(value, inputs, parameters)
        inside.sort(key=position.__getitem__)
        for neuron in (n for v in entering for n in neurons.get(v, [])):
            if entering == inputs.union(neuron.parameters):
                calls[value] = replace(neuron, note=note, inside=inside)
        if not neurons and len(entering) == 1:  # the module is an Activation
            (before,) = entering
            linear = before in calls and calls[before].activation == "linear"
            if linear and users[before] == 1 and before not in roots:
                calls[value] = call = calls.pop(before)
                call.inside += inside
                call.activation = value._op.lower()
    return list(calls.values())


def _neurons_and_parameters(
    note: tuple[Any, ...],
) -> tuple[dict[Value, list[_NeuronCall]], set[Value]]:
    # The neurons of the module in the note, keyed by first weight, and all their parameters.
    neurons: dict[Value, list[_NeuronCall]] = {}
    parameters: set[Value] = set()
    for path, weights, bias, activation in neurons_of(note[0]):
        neuron = _NeuronCall(note, path, weights, bias, activation, [])
        neurons.setdefault(weights[0], []).append(neuron)
        parameters.update(neuron.parameters)
    return neurons, parameters


def _between(
    output: Value, inputs: set[Value], parameters: set[Value]
) -> tuple[list[Value], set[Value]]:
    # The operations that lead to the output, and the inputs and parameters that they use.
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
    named: Names,
    kept: set[str],
) -> list[Any]:
    box_of = {name_of[v]: f"n{i}" for i, call in enumerate(calls) for v in call.inside}
    call_of = {name_of[call.inside[-1]]: call for call in calls}
    modules = {id(call.module): call.module for call in calls}
    layer_of = {
        key: (f"l{i}", _layer_label(module, named))
        for i, (key, module) in enumerate(modules.items())
    }
    level: list[Any] = []
    for node in nodes:
        if node.name in call_of:
            call = call_of[node.name]
            name, layer = box_of[node.name], layer_of[id(call.module)]
            level.append(_neuron_box(name, node, call, layer, name_of, named))
        elif node.name not in box_of:
            level.append(node)
    used = kept.union(*(node.operands for node in level))
    return [renamed(n, box_of) for n in level if n.operands or n.name in used]


def _neuron_box(
    name: str,
    output: Node,
    call: _NeuronCall,
    layer: tuple[str, str],
    name_of: Mapping[Value, str],
    named: Names,
) -> NeuronBox:
    layer_name, layer_label = layer
    path = layer_label and layer_label + call.path
    computed = [p for p in call.parameters if p._prev]
    return NeuronBox(
        name=name,
        label=output.label or path,
        kind="result" if output.kind == "result" else "neuron",
        activation=call.activation,
        operands=tuple(name_of[v] for v in (*call.note[1:], *computed)),
        weights=(*(w.data for w in call.weights), *[None] * len(computed)),
        bias=None if call.bias is None else call.bias.data,
        nodes=tuple(name_of[v] for v in call.inside),
        layer=layer_name,
        data=output.data,
        grad=output.grad,
        short="" if output.label else named.short(path),
    )


# ---- 2. Layers


def _with_layers(
    nodes: Sequence[Any],
    calls: Sequence[_NeuronCall],
    named: Names,
    kept: set[str],
) -> list[Any]:
    neurons = [node for node in nodes if isinstance(node, NeuronBox)]
    members: dict[str, list[tuple[NeuronBox, _NeuronCall]]] = {}
    for neuron, call in zip(neurons, calls, strict=True):
        members.setdefault(neuron.layer, []).append((neuron, call))
    boxes: dict[str, Any] = {
        layer: _layer_box(layer, pairs, named) for layer, pairs in members.items()
    }
    box_of = {neuron.name: neuron.layer for neuron in neurons}
    inputs_of = _inputs_of_layers(nodes, box_of, kept)
    for i, (layers, inputs) in enumerate(inputs_of.items()):
        per_call = max(sum(o in inputs for o in n.operands) for n, _ in members[layers[0]])
        examples = len(inputs) // per_call
        boxes[f"i{i}"] = LayerBox(f"i{i}", "", "inputs", "", 0, per_call, 0, examples, (), ())
        box_of.update(dict.fromkeys(inputs, f"i{i}"))
    level = {}
    for node in nodes:
        name = box_of.get(node.name, node.name)
        if name not in level:
            level[name] = renamed(boxes.get(name, node), box_of)
    return operands_first(level)


def _layer_box(
    name: str, members: Sequence[tuple[NeuronBox, _NeuronCall]], named: Names
) -> LayerBox:
    neurons, calls = zip(*members, strict=True)
    module = calls[0].module
    label = _layer_label(module, named)
    return LayerBox(
        name=name,
        label=label,
        kind=type(module).__name__,
        activation=", ".join(dict.fromkeys(call.activation for call in calls)),
        n_in=len(calls[0].weights),
        n_out=len(neurons_of(module)),
        parameters=len(module.parameters()),
        examples=len({id(call.note) for call in calls}),
        operands=tuple(dict.fromkeys(o for neuron in neurons for o in neuron.operands)),
        neurons=tuple(neuron.name for neuron in neurons),
        short=named.short(label),
    )


def _inputs_of_layers(
    nodes: Iterable[Any], box_of: Mapping[str, str], kept: Collection[str]
) -> dict[tuple[str, ...], dict[str, None]]:
    # Inputs used only by layers, grouped by the layers that use them.
    users_of: dict[str, dict[str, None]] = {}
    for node in nodes:
        for operand in node.operands:
            users_of.setdefault(operand, {})[box_of.get(node.name, node.name)] = None
    layers = set(box_of.values())
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for node in nodes:
        users = tuple(users_of.get(node.name, ()))
        if node.kind == "input" and node.name not in kept and layers.issuperset(users):
            found.setdefault(users, {})[node.name] = None
    return found


def operands_first(level: Mapping[str, Any]) -> list[Any]:
    """The nodes and boxes of a level, keyed by name, operands before their users.

    A box replaces nodes from many positions, and the first of these may come before its operands.
    If layers form a cycle, some operand has to come after its user.
    """
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


def renamed(node: Any, box_of: Mapping[str, str]) -> Any:
    """The node, with each operand that is inside a box replaced by the name of that box."""
    operands = [box_of.get(operand, operand) for operand in node.operands]
    several = isinstance(node, (LayerBox, RestBox))
    once = dict.fromkeys(operands) if several else operands
    return replace(node, operands=tuple(once))


def _layer_label(module: Any, named: Names) -> str:
    # 'model.layers[1]' if its parameter '.neurons[0].b' is called 'model.layers[1].neurons[0].b'
    for path, parameter in module.named_parameters():
        label = named.label_of.get(parameter, "")
        if label.endswith(f".{path}"):
            return label.removesuffix(f".{path}")
    return ""
