"""From operations to arrays: one box for each array of Values.

An array of Values remembers the operation and the operands that it was computed from (see
`arrays.py`), and so does the result of a reduction. Operations outside stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from micrograd.draw.formulas import counted
from micrograd.draw.names import Names, is_array
from micrograd.draw.records import Box, Graph, folded
from micrograd.engine import Value

LOOSE = 8  # at most this many parameters or inputs outside arrays are drawn one by one
OPS = {  # NumPy's names for operations, and ours
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "matmul": "@"},
    **{"negative": "neg", "absolute": "abs", "relu": "ReLU", "add.accumulate": "cumsum"},
    **{"add.reduce": "sum", "multiply.reduce": "prod"},
    **{"maximum.reduce": "max", "minimum.reduce": "min"},
}


def with_arrays(drawn: Graph) -> Graph:
    """The same graph with a single box for each array.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.arrays import values
    >>> W, x = values([[1.0, 2.0], [3.0, 4.0]]), values([1.0, -1.0])
    >>> for box in with_arrays(graph((W @ x).sum(), names={"W": W, "x": x})).nodes:
    ...     print(box.name, box.label, box.op, box.operands)
    a0 W  ()
    a1 x  ()
    a2  @ ('a0', 'a1')
    v12  sum ('a2',)
    """
    view = _ArrayView(drawn)
    in_order = sorted(view.arrays, key=lambda each: int(view.node_of[each[1][0]].name[1:]))
    boxes = [view.box(f"a{i}", *each) for i, each in enumerate(in_order)]
    for value in drawn.values:
        if value in view.reductions and value not in view.first_of:
            op, operands, _ = view.computed([value], _memory(value))
            boxes.append(view.node_of[value]._replace(op=op, operands=operands))
    drawn = folded(replace(drawn, nodes=(*drawn.nodes, *view.constants), level="array"), boxes)
    # The parameters of a model, for example, are too many to draw one by one.
    rests: list[Box] = []
    for kind in ("parameter", "input") if view.arrays else ():
        loose = [box for box in drawn.nodes if (box.kind, box.level) == (kind, "op")]
        if len(loose) > LOOSE:
            title, nodes = counted(len(loose), kind), tuple(box.name for box in loose)
            rests.append(Box(f"r{len(rests)}", title, title, kind, "call", nodes=nodes))
    return folded(drawn, rests)


class _ArrayView:
    # Which Values belong to which array. An element of several arrays, such as both W and W.T,
    # belongs to the first of them. Named arrays come before those that are only remembered. Which
    # arrays an array was computed from is read from the graph of its elements: if an element has
    # been replaced, its memory is out of date, but the graph is right.

    def __init__(self, drawn: Graph) -> None:
        named: Names = drawn.named
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
        reached: dict[str, None] = {}
        inside: list[Value] = []
        seen, waiting = set(elements), list(elements)
        while waiting:
            for operand in waiting.pop()._prev:
                if operand in seen:
                    continue
                seen.add(operand)
                name = self._name(operand)
                is_leaf = not operand._prev and not operand.is_constant
                if is_leaf or operand in self.first_of or name in names:
                    reached[name] = None
                elif operand._prev:
                    inside.append(operand)
                    waiting.append(operand)
        return reached, inside


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
