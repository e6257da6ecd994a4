"""From the elements of arrays to whole arrays.

An array of Values remembers the operation and the operands that it was computed from (see
`arrays.py`), and so does the result of a reduction. These memories tell which arrays exist. Which
of them an array was computed from is read from the graph of its elements: if an element has been
replaced, for example, the array's memory is out of date, but the graph is right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from micrograd.draw.levels import operands_first, renamed
from micrograd.draw.names import Names, is_array
from micrograd.draw.records import ArrayBox, Node, RestBox, has_gradient
from micrograd.draw.style import counted
from micrograd.engine import Value

LOOSE = 8  # at most this many parameters or inputs outside arrays are drawn one by one
OPS = {  # NumPy's names for operations, and ours
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "matmul": "@"},
    **{"negative": "neg", "absolute": "abs", "relu": "ReLU", "add.accumulate": "cumsum"},
    **{"add.reduce": "sum", "multiply.reduce": "prod"},
    **{"maximum.reduce": "max", "minimum.reduce": "min"},
}


def with_arrays(
    nodes: Sequence[Node], order: Sequence[Value], roots: Collection[Value], named: Names
) -> list[Any]:
    """The nodes of a graph, with a single box for each array.

    Args:
        nodes: the record of each Value.
        order: the Values, in the same order.
        roots: the results.
        named: the names of arrays.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.arrays import values
    >>> W, x = values([[1.0, 2.0], [3.0, 4.0]]), values([1.0, -1.0])
    >>> for node in graph((W @ x).sum(), names={"W": W, "x": x}, level="array").nodes:
    ...     print(node.name, node.label, node.op, node.operands)
    a0 W  ()
    a1 x  ()
    a2  @ ('a0', 'a1')
    v12  sum ('a2',)
    """
    view = _View(dict(zip(order, nodes, strict=True)), roots, named)
    if not view.arrays:
        return list(nodes)
    boxes: dict[str, Any] = {}
    waiting = [view.name(root) for root in roots]
    while waiting:
        name = waiting.pop()
        if name not in boxes:
            boxes[name] = view.box(name)
            waiting += reversed(boxes[name].operands)
    placed = operands_first(_without_loose_leaves(boxes))
    arrays = [node.name for node in placed if node.name in view.arrays]
    number = {name: f"a{i}" for i, name in enumerate(arrays)}
    return [replace(renamed(n, number), name=number.get(n.name, n.name)) for n in placed]


class _View:
    # Which Values belong to which array. An element of several arrays, such as both W and W.T,
    # belongs to the first of them. Named arrays come before those that are only remembered.

    def __init__(
        self, node_of: Mapping[Value, Node], roots: Collection[Value], named: Names
    ) -> None:
        self.node_of, self.roots, self.named = node_of, roots, named
        self.value_of = {node.name: value for value, node in node_of.items()}
        self.label_of = {id(array): label for label, array in reversed(named.arrays)}
        self.reductions = {node.name for value, node in node_of.items() if _memory(value)}
        self.arrays: dict[str, Any] = {}
        self.elements: dict[str, list[Value]] = {}
        self.array_of: dict[Value, str] = {}  # the name of the array to which a Value belongs
        self.constants: dict[str, Any] = {}
        for array in _all_arrays(node_of, [array for _, array in named.arrays]):
            own = [v for v in array.ravel().tolist() if v in node_of and v not in self.array_of]
            if own:
                name = f"a{len(self.arrays)}"
                self.arrays[name], self.elements[name] = array, own
                self.array_of.update(dict.fromkeys(own, name))

    def name(self, value: Value) -> str:
        return self.array_of.get(value) or self.node_of[value].name

    def box(self, name: str) -> Any:
        if name in self.constants:
            return self._constant(name)
        array = self.arrays.get(name)
        if array is None:
            return self._scalar(self.value_of[name])
        elements = self.elements[name]
        op, operands, inside = self._computed(elements, _memory(array))
        label = self.label_of.get(id(array), "")
        parameter = not self.named.parameters.isdisjoint(elements)
        computed = "operation" if self._has_no_root(elements) else "result"
        return ArrayBox(
            name=name,
            label=label,
            kind=computed if operands else "parameter" if parameter else "input",
            op=op if operands else "",
            operands=tuple(operands),
            shape=array.shape,
            has_gradient=any(has_gradient(self.node_of[v]) for v in elements),
            nodes=tuple(self.node_of[v].name for v in (*elements, *inside)),
            short=self.named.short(label) if parameter else "",
        )

    def _has_no_root(self, elements: Sequence[Value]) -> bool:
        return set(self.roots).isdisjoint(elements)

    def _scalar(self, value: Value) -> Any:
        # The result of a reduction, or any other Value outside arrays.
        node = self.node_of[value]
        if _memory(value):
            op, operands, _ = self._computed([value], _memory(value))
            return replace(node, op=op, operands=tuple(operands))
        return replace(node, operands=tuple(map(self.name, value._prev)))

    def _constant(self, name: str) -> Any:
        x = self.constants[name]
        if is_array(x):
            label = self.label_of.get(id(x), "")
            return ArrayBox(name, label, "constant", "", (), x.shape, False, ())
        return Node(name, "", "constant", "", (), x, 0)

    def _computed(
        self, elements: Sequence[Value], memory: Any
    ) -> tuple[str, list[str], list[Value]]:
        # The operation, the names of the operands, and the Values between these and the elements.
        op, given = memory or ("", [])
        names = [name for thing in given for name in self._names(thing)]
        reached, inside = self._walk(elements, set(names))
        if memory and reached <= set(names):
            op = OPS.get(op, op)
            if op == "**" and isinstance(given[1], (int, float)):  # as in the `_op` of a Value
                op, names = f"**{given[1]}", names[:1]
            return op, [name for name in names if name in reached | self.constants.keys()], inside
        reached, inside = self._walk(elements, self.reductions)
        return counted(len(inside), "operation"), sorted(reached, key=self._place), inside

    def _names(self, thing: Any) -> Iterator[str]:
        # The names of the boxes for something that an array remembers as an operand.
        if isinstance(thing, Value):
            if thing in self.node_of:
                yield self.name(thing)
        elif _has_values(thing):
            found = (self.array_of.get(v) for v in thing.ravel().tolist())
            yield from dict.fromkeys(name for name in found if name)
        elif (is_array(thing) and thing.ndim) or isinstance(thing, (int, float)):
            name = f"c{len(self.constants)}"
            self.constants[name] = thing
            yield name

    def _walk(self, elements: Sequence[Value], ends: set[str]) -> tuple[set[str], list[Value]]:
        # The names of the arrays, leaves and given ends that the elements were computed from, and
        # the Values in between.
        here = self.array_of.get(elements[0])
        reached: set[str] = set()
        inside: list[Value] = []
        seen, waiting = set(elements), list(elements)
        while waiting:
            value = waiting.pop()
            for operand in value._prev:
                name = self.name(operand)
                if operand in seen or operand.is_constant or name == here:
                    continue
                seen.add(operand)
                if operand in self.array_of or name in ends or not operand._prev:
                    reached.add(name)
                else:
                    inside.append(operand)
                    waiting.append(operand)
        return reached, inside

    def _place(self, name: str) -> int:
        first = self.elements[name][0] if name in self.elements else self.value_of[name]
        return int(self.node_of[first].name[1:])


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


def _without_loose_leaves(boxes: Mapping[str, Any]) -> dict[str, Any]:
    # The parameters of a model, for example, are too many to draw one by one.
    loose: dict[str, list[str]] = {}
    for node in boxes.values():
        if isinstance(node, Node) and not node.operands and node.kind != "constant":
            loose.setdefault(node.kind, []).append(node.name)
    box_of: dict[str, str] = {}
    kept: dict[str, Any] = {}
    for kind, names in loose.items():
        if len(names) > LOOSE:
            name = f"r{len(kept)}"
            kept[name] = RestBox(name, counted(len(names), kind), (), (), tuple(names))
            box_of.update(dict.fromkeys(names, name))
    for name, node in boxes.items():
        if name not in box_of:
            node = renamed(node, box_of)
            once = tuple(dict.fromkeys(node.operands))
            unknown = isinstance(node, ArrayBox) and " " in node.op  # "33 operations"
            kept[name] = replace(node, operands=once) if unknown else node
    return kept
