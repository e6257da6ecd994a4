"""From operations to arrays: one box for each array of Values.

An array of Values remembers the operation and the operands that it was computed from (see
`arrays.py`), and so does the result of a reduction. Operations outside stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from micrograd.draw.formulas import counted
from micrograd.draw.names import is_array
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

    An element of several arrays, such as both W and W.T, belongs to the first of them. Named arrays
    come before those that are only remembered. An operation that a single array needs is inside its
    box. If an element has been replaced, the memory of the array is out of date; the graph is not.

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
    named, node_of = drawn.named, dict(zip(drawn.values, drawn.nodes, strict=True))
    label_of = {id(array): label for label, array in reversed(named.arrays)}
    arrays = [*_arrays(drawn.values, [array for _, array in named.arrays])]
    groups: list[tuple[Any, list[Value]]] = []  # arrays with their elements, then reductions
    home: dict[Value, int] = {}  # the group of each node inside
    for array in arrays:
        own = [v for v in _elements(array) if v in node_of and v not in home]
        home.update(dict.fromkeys(own, len(groups)))
        groups += [(array, own)] if own else []
    n = len(groups)
    kept = {x for thing in (*arrays, *drawn.values) for x in _memory(thing)[1] if not is_array(x)}
    users: dict[Value, set[int]] = defaultdict(set)
    for v in reversed(drawn.values):
        if v not in home and (v._prev or v.is_constant):
            (only, *others) = users[v] or {-1}
            if only >= 0 and not others and v not in kept and node_of[v].kind != "result":
                home[v] = only
            elif _memory(v)[0]:
                home[v] = len(groups)
                groups.append((v, [v]))
        for operand in v._prev:
            users[operand].add(home.get(v, -1))
    inside: dict[int, list[Value]] = defaultdict(list)
    for v in drawn.values:
        inside[home.get(v, -1)].append(v)
    constants: list[Box] = []  # plain numbers and arrays among the operands

    def called(v: Value) -> str:
        return f"a{home[v]}" if home.get(v, n) < n else node_of[v].name

    def given(thing: Any) -> Iterable[str]:
        # The names of what an array remembers as an operand: Values, or a box of constants.
        if elements := _elements(thing):
            return dict.fromkeys(called(v) for v in elements if v in node_of)
        box = Box(f"c{len(constants)}", kind="constant", data=thing, grad=0)
        if is_array(thing) and thing.ndim:
            label, data = label_of.get(id(thing), ""), tuple(thing.ravel().tolist())
            box = Box(box.name, label, label, box.kind, "array", data=data, shape=thing.shape)
        elif not isinstance(thing, (int, float)):
            return []
        constants.append(box)
        return [box.name]

    boxes = []
    for k, (thing, elements) in enumerate(groups):
        used = dict.fromkeys(called(o) for v in inside[k] for o in v._prev if home.get(o) != k)
        op, things = _memory(thing)
        operands = [name for x in things for name in given(x)]
        if op and used.keys() <= {*operands}:
            op = OPS.get(op, op)
            if op == "**" and isinstance(things[1], (int, float)):  # as in the `_op` of a Value
                op, operands = f"**{things[1]}", operands[:1]
            operands = [name for name in operands if name in used or name[0] == "c"]
        else:
            op, operands = counted(sum(bool(v._prev) for v in inside[k]), "operation"), [*used]
        nodes = [node_of[v] for v in dict.fromkeys([*elements, *inside[k]])]
        box = nodes[0]._replace(op=op if operands else "", operands=tuple(operands))
        if k < n:
            label, mine = label_of.get(id(thing), ""), nodes[: len(elements)]
            leaf = "input" if named.parameters.isdisjoint(elements) else "parameter"
            is_result = any(node.kind == "result" for node in mine)
            box = box._replace(
                name=f"a{k}",
                label=label,
                short=named.short(label) if leaf == "parameter" else label,
                kind=("result" if is_result else "operation") if operands else leaf,
                level="array",
                data=tuple(node.data for node in mine),
                grad=tuple(node.grad for node in mine),
                shape=thing.shape,
                nodes=tuple(node.name for node in nodes),
            )
        boxes.append(box)
    drawn = folded(replace(drawn, nodes=(*drawn.nodes, *constants), level="array"), boxes)
    # The parameters of a model, for example, are too many to draw one by one.
    rests: list[Box] = []
    for kind in ("parameter", "input") if arrays else ():
        loose = tuple(box.name for box in drawn.nodes if (box.kind, box.level) == (kind, "op"))
        if len(loose) > LOOSE:
            title = counted(len(loose), kind)
            rests.append(Box(f"r{len(rests)}", title, title, kind, "call", nodes=loose))
    return folded(drawn, rests)


def _arrays(values: Iterable[Value], arrays: Iterable[Any]) -> Iterator[Any]:
    # These arrays, then all arrays that they or the Values were computed from, without duplicates.
    waiting = [*arrays, *(x for value in values for x in _memory(value)[1])]
    seen: set[int] = set()
    for array in waiting:
        if id(array) not in seen and is_array(array) and _elements(array):
            seen.add(id(array))
            yield array
            waiting += _memory(array)[1]


def _memory(thing: Any) -> Any:
    # What an array or the Value of a reduction remembers: the operation and its operands.
    return getattr(thing, "_made_from", None) or ("", ())


def _elements(thing: Any) -> list[Value]:
    # The Values in a Value or an array.
    if isinstance(thing, Value):
        return [thing]
    if is_array(thing) and str(thing.dtype) == "object" and thing.ndim > 0:
        return [v for v in thing.ravel() if isinstance(v, Value)]
    return []
