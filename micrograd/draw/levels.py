"""From operations to neurons, layers and arrays.

Each result of a module in `nn.py` carries a note: the module that made it, and the module's inputs.
The operations between these inputs and the result become one box for the neuron; all such boxes of
a module become one for the layer. An array of Values remembers the operation and the operands that
it was computed from (see `arrays.py`), and so does the result of a reduction. Operations outside,
such as those of a loss, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from micrograd.draw.formulas import counted, sign
from micrograd.draw.modules import NeuronCall, between, label_of, neuron_calls
from micrograd.draw.names import Names, is_array
from micrograd.draw.records import Box, Graph
from micrograd.engine import Value
from micrograd.nn import neurons_of

LOOSE = 8  # at most this many parameters or inputs outside arrays are drawn one by one
OPS = {  # NumPy's names for operations, and ours
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "matmul": "@"},
    **{"negative": "neg", "absolute": "abs", "relu": "ReLU", "add.accumulate": "cumsum"},
    **{"add.reduce": "sum", "multiply.reduce": "prod"},
    **{"maximum.reduce": "max", "minimum.reduce": "min"},
}


def at_level(drawn: Graph, level: str) -> Graph:
    """The same graph with a single box for each neuron, layer or array.

    Args:
        drawn: the graph at level 'op'.
        level: one of LEVELS.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.arrays import values
    >>> W, x = values([[1.0, 2.0], [3.0, 4.0]]), values([1.0, -1.0])
    >>> for box in graph((W @ x).sum(), names={"W": W, "x": x}, level="array").nodes:
    ...     print(box.name, box.label, box.op, box.operands)
    a0 W  ()
    a1 x  ()
    a2  @ ('a0', 'a1')
    v12  sum ('a2',)
    """
    named = drawn.named
    if level == "op":
        return drawn
    if level == "array":
        return _with_arrays(drawn, named)
    node_of = dict(zip(drawn.values, drawn.nodes, strict=True))
    results = {value for value, node in node_of.items() if node.name in drawn.results}
    members: dict[int, list[_Pair]] = {}  # of each module: its calls and their boxes
    for i, call in enumerate(neuron_calls(drawn.values, results)):
        module = id(call.note[0])
        layer = f"l{[*members, module].index(module)}"
        box = _neuron_box(f"n{i}", call, layer, node_of, named)
        members.setdefault(module, []).append((box, call))
    if level == "neuron":
        return folded(drawn, [box for pairs in members.values() for box, _ in pairs], level)
    return _with_layers(drawn, {pairs[0][0].parent: pairs for pairs in members.values()}, named)


def folded(drawn: Graph, boxes: Sequence[Box], level: str) -> Graph:
    """The graph with each node that is inside a box replaced by the box.

    Nodes that only led to the inside of a box, such as the weights of a neuron, are left out.

    Args:
        drawn: the graph.
        boxes: boxes whose operands have the names of the graph's nodes.
        level: the level of the new graph.
    """
    if not boxes:
        return replace(drawn, level=level)
    box_of = {node: box.name for box in boxes for node in box.nodes}
    found = {node.name: node for node in drawn.nodes} | {box.name: box for box in boxes}
    for name, box in found.items():
        operands: Iterable[str] = [box_of.get(operand, operand) for operand in box.operands]
        if not box.has_ports or " " in box.op:  # such as "33 operations"
            operands = dict.fromkeys(operands)
        found[name] = replace(box, operands=tuple(operands))
    results = tuple(dict.fromkeys(box_of.get(result, result) for result in drawn.results))
    nodes = tuple(_operands_first(found, results))
    return replace(drawn, nodes=nodes, results=results, level=level)


def _operands_first(boxes: Mapping[str, Box], results: Iterable[str]) -> list[Box]:
    # The boxes that lead to the results. If layers form a cycle, some operand has to come after its
    # user.
    placed: dict[str, Box] = {}
    begun: set[str] = set()
    for result in results:
        path = [result]
        while path:
            box = boxes[path[-1]]
            before = [] if box.name in begun else [o for o in box.operands if o not in begun]
            begun.add(box.name)
            path += reversed(before)
            if not before:
                placed.setdefault(path.pop(), box)
    return list(placed.values())


# ---- 1. Neurons


def _neuron_box(
    name: str, call: NeuronCall, layer: str, node_of: Mapping[Value, Box], named: Names
) -> Box:
    output, module = node_of[call.inside[-1]], label_of(call.note[0], named)
    path = module and module + call.path
    return replace(
        output,
        name=name,
        label=output.label or path,
        short=output.short or named.short(path),
        level="neuron",
        op=call.activation,
        operands=tuple(node_of[v].name for v in call.note[1:]),
        weights=tuple(w.data for w in call.weights),
        nodes=tuple(node_of[v].name for v in call.inside),
        parent=layer,
    )


# ---- 2. Layers


_Pair = tuple[Box, NeuronCall]


def _with_layers(drawn: Graph, members: Mapping[str, Sequence[_Pair]], named: Names) -> Graph:
    layers = [_layer_box(layer, pairs, named) for layer, pairs in members.items()]
    drawn = folded(drawn, layers, "layer")
    inputs = []
    for i, (users, names) in enumerate(_inputs_of_layers(drawn).items()):
        n_out = max(sum(o in names for o in n.operands) for n, _ in members[users[0]])
        box = Box(
            name=f"i{i}",
            short=counted(n_out, "input"),
            kind="input",
            level="layer",
            nodes=tuple(names),
            n_out=n_out,
            examples=len(names) // n_out,
        )
        inputs.append(box)
    return folded(drawn, inputs, "layer")


def _layer_box(name: str, members: Sequence[_Pair], named: Names) -> Box:
    neurons, calls = zip(*members, strict=True)
    module = calls[0].note[0]
    kind, label = type(module).__name__, label_of(module, named)
    activations = dict.fromkeys(call.activation for call in calls)
    n_in, n_out = len(calls[0].weights), len(neurons_of(module))
    shown = ", ".join(map(sign, activations))
    return Box(
        name=name,
        label=label,
        short=named.short(label) or kind,
        level="layer",
        op=", ".join(activations),
        operands=tuple(o for neuron in neurons for o in neuron.operands),
        nodes=tuple(node for neuron in neurons for node in neuron.nodes),
        n_in=n_in,
        n_out=n_out,
        examples=len({id(call.note) for call in calls}),
        details=(
            f"{kind}, {shown}" if label else shown,
            f"{n_in:,} \N{RIGHTWARDS ARROW} {n_out:,}",
            counted(len(module.parameters()), "parameter"),
        ),
    )


def _inputs_of_layers(drawn: Graph) -> dict[tuple[str, ...], dict[str, None]]:
    # Inputs used only by layers, grouped by the layers that use them.
    users_of: dict[str, dict[str, None]] = {}
    for node in drawn.nodes:
        for operand in node.operands:
            users_of.setdefault(operand, {})[node.name] = None
    layers = {node.name for node in drawn.nodes if node.level == "layer"}
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for node in drawn.nodes:
        users = tuple(users_of.get(node.name, ()))
        if node.kind == "input" and node.name not in drawn.results and layers.issuperset(users):
            found.setdefault(users, {})[node.name] = None
    return found


def _rest(name: str, label: str, members: Iterable[Box], **about: Any) -> Box:
    nodes = tuple(node.name for node in members)
    return Box(name, label, label, level="rest", nodes=nodes, **about)


# ---- 3. Arrays


def _with_arrays(drawn: Graph, named: Names) -> Graph:
    view = _ArrayView(drawn, named)
    in_order = sorted(view.arrays, key=lambda each: int(view.node_of[each[1][0]].name[1:]))
    boxes = [view.box(f"a{i}", *each) for i, each in enumerate(in_order)]
    for value in drawn.values:
        if value in view.reductions and value not in view.first_of:
            op, operands, _ = view.computed([value], _memory(value))
            boxes.append(replace(view.node_of[value], op=op, operands=operands))
    drawn = folded(replace(drawn, nodes=(*drawn.nodes, *view.constants)), boxes, "array")
    # The parameters of a model, for example, are too many to draw one by one.
    rests: list[Box] = []
    for kind in ("parameter", "input") if view.arrays else ():
        loose = [box for box in drawn.nodes if (box.kind, box.level) == (kind, "op")]
        if len(loose) > LOOSE:
            rests.append(_rest(f"r{len(rests)}", counted(len(loose), kind), loose))
    return folded(drawn, rests, "array")


class _ArrayView:
    # Which Values belong to which array. An element of several arrays, such as both W and W.T,
    # belongs to the first of them. Named arrays come before those that are only remembered. Which
    # arrays an array was computed from is read from the graph of its elements: if an element has
    # been replaced, its memory is out of date, but the graph is right.

    def __init__(self, drawn: Graph, named: Names) -> None:
        self.named, self.results = named, set(drawn.results)
        self.node_of = dict(zip(drawn.values, drawn.nodes, strict=True))
        self.label_of = {id(array): label for label, array in reversed(named.arrays)}
        self.reductions = {value for value in drawn.values if _memory(value)}
        self.constants: list[Box] = []  # plain numbers and arrays among the operands
        self.arrays: list[tuple[Any, list[Value]]] = []  # with their elements
        self.first_of: dict[Value, Value] = {}  # the first element stands for its array
        for array in _all_arrays(drawn.values, [array for _, array in named.arrays]):
            own = [v for v in array.ravel() if v in self.node_of and v not in self.first_of]
            if own:
                self.arrays.append((array, own))
                self.first_of.update(dict.fromkeys(own, own[0]))

    def box(self, name: str, array: Any, elements: list[Value]) -> Box:
        op, operands, inside = self.computed(elements, _memory(array))
        label = self.label_of.get(id(array), "")
        leaf = "input" if self.named.parameters.isdisjoint(elements) else "parameter"
        nodes = [self.node_of[v] for v in elements]
        is_result = any(node.name in self.results for node in nodes)
        return Box(
            name=name,
            label=label,
            short=self.named.short(label) if leaf == "parameter" else label,
            kind=("result" if is_result else "operation") if operands else leaf,
            level="array",
            op=op if operands else "",
            operands=operands,
            data=tuple(node.data for node in nodes),
            grad=tuple(node.grad for node in nodes),
            shape=array.shape,
            nodes=tuple(self.node_of[v].name for v in (*elements, *inside)),
        )

    def computed(
        self, elements: list[Value], memory: Any
    ) -> tuple[str, tuple[str, ...], list[Value]]:
        # The operation, the names of the operands, and the Values between these and the elements.
        op, things = memory or ("", [])
        given = [name for thing in things for name in self._given(thing)]
        reached, inside = self._walk(elements, given)
        if memory is None or not reached.keys() <= set(given):
            reached, inside = self._walk(elements, map(self._name, self.reductions))
            return counted(len(inside), "operation"), tuple(reached), inside
        op = OPS.get(op, op)
        if op == "**" and isinstance(things[1], (int, float)):  # as in the `_op` of a Value
            op, given = f"**{things[1]}", given[:1]
        return op, tuple(name for name in given if name in reached or name[0] == "c"), inside

    def _name(self, value: Value) -> str:
        return self.node_of[self.first_of.get(value, value)].name

    def _given(self, thing: Any) -> Iterable[str]:
        # The names of what an array remembers as an operand: Values, or a box of constants.
        if isinstance(thing, Value) or _has_values(thing):
            values = [thing] if isinstance(thing, Value) else thing.ravel()
            return dict.fromkeys(self._name(v) for v in values if v in self.node_of)
        name, label = f"c{len(self.constants)}", self.label_of.get(id(thing), "")
        if is_array(thing) and thing.ndim:
            data = tuple(thing.ravel().tolist())
            box = Box(
                name, label, label, "constant", "array", data=data, grad=(), shape=thing.shape
            )
        elif isinstance(thing, (int, float)):
            box = Box(name, kind="constant", data=thing, grad=0)
        else:
            return []
        self.constants.append(box)
        return [name]

    def _walk(
        self, elements: list[Value], ends: Iterable[str]
    ) -> tuple[dict[str, None], list[Value]]:
        # The arrays, leaves and ends that the elements were computed from, and what is in between.
        names = set(ends)

        def is_end(value: Value) -> bool:
            is_leaf = not value._prev and not value.is_constant
            return is_leaf or value in self.first_of or self._name(value) in names

        inside, entering = between(elements, is_end)
        return dict.fromkeys(map(self._name, entering)), inside


def _all_arrays(values: Iterable[Value], arrays: Sequence[Any]) -> Iterator[Any]:
    # These arrays, then all arrays that they or the Values were computed from, without duplicates.
    waiting = [*reversed(arrays)]
    for value in values:
        waiting[:0] = _operands(value)
    seen: set[int] = set()
    while waiting:
        array = waiting.pop()
        if id(array) not in seen and _has_values(array):
            seen.add(id(array))
            yield array
            waiting[:0] = _operands(array)


def _memory(thing: Any) -> Any:
    # What an array or the Value of a reduction remembers: the operation and its operands, or None.
    return getattr(thing, "_made_from", None)


def _operands(thing: Any) -> list[Any]:
    memory = _memory(thing)
    return [x for x in memory[1] if is_array(x)] if memory else []


def _has_values(thing: Any) -> bool:
    return is_array(thing) and str(thing.dtype) == "object" and thing.ndim > 0
