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
    arrays = [*_arrays(drawn.values, [array for _, array in named.arrays])]
    home: dict[Value, int] = {}  # the group of a node: an array, or the result of a reduction
    groups: list[tuple[Any, list[Value]]] = []  # with its elements
    for array in arrays:
        own = [v for v in _elements(array) if v in node_of and v not in home]
        home.update(dict.fromkeys(own, len(groups)))
        groups += [(array, own)] if own else []
    kept = {
        x for thing in (*arrays, *drawn.values) for x in _memory(thing)[1] if isinstance(x, Value)
    }
    users: dict[Value, set[int | None]] = defaultdict(set)
    for v in reversed(drawn.values):
        if v not in home and (v._prev or v.is_constant):
            (only, *others) = users[v] or {None}
            if only is not None and not others and v not in kept and node_of[v].kind != "result":
                home[v] = only
            elif _memory(v)[0]:
                home[v] = len(groups)
                groups.append((v, [v]))
        for operand in v._prev:
            users[operand].add(home.get(v))

    in_order = sorted((int(node_of[own[0]].name[1:]), k)
                      for k, (thing, own) in enumerate(groups) if is_array(thing))  # fmt: skip
    name_of = {k: f"a{i}" for i, (_, k) in enumerate(in_order)}
    label_of = {id(array): label for label, array in reversed(named.arrays)}
    constants: list[Box] = []  # plain numbers and arrays among the operands

    def called(v: Value) -> str:
        return name_of.get(home.get(v, -1), node_of[v].name)

    def given(thing: Any) -> Iterable[str]:
        # The names of what an array remembers as an operand: Values, or a box of constants.
        if elements := _elements(thing):
            return dict.fromkeys(called(v) for v in elements if v in node_of)
        box = Box(f"c{len(constants)}", label_of.get(id(thing), ""), kind="constant", grad=())
        if is_array(thing) and thing.ndim:
            data = tuple(thing.ravel().tolist())
            box = box._replace(short=box.label, level="array", data=data, shape=thing.shape)
        elif isinstance(thing, (int, float)):
            box = box._replace(label="", data=thing, grad=0)
        else:
            return []
        constants.append(box)
        return [box.name]

    inside: dict[int, list[Value]] = defaultdict(list)
    for v in drawn.values:
        if v in home:
            inside[home[v]].append(v)
    boxes = []
    for k, (thing, elements) in enumerate(groups):
        node, nodes = node_of[elements[0]], [node_of[v] for v in elements]
        used = dict.fromkeys(called(o) for v in inside[k] for o in v._prev if home.get(o) != k)
        op, things = _memory(thing)
        names = [name for x in things for name in given(x)]
        if op and used.keys() <= {*names}:
            op = OPS.get(op, op)
            if op == "**" and isinstance(things[1], (int, float)):  # as in the `_op` of a Value
                op, names = f"**{things[1]}", names[:1]
            operands = tuple(name for name in names if name in used or name[0] == "c")
        else:
            operands = tuple(used)
            op = counted(sum(bool(v._prev) for v in inside[k]), "operation") if used else ""
        if not is_array(thing):
            boxes.append(node._replace(op=op, operands=operands))
            continue
        label = label_of.get(id(thing), "")
        leaf = "input" if named.parameters.isdisjoint(elements) else "parameter"
        is_result = any(node.kind == "result" for node in nodes)
        boxes.append(
            Box(
                name=name_of[k],
                label=label,
                short=named.short(label) if leaf == "parameter" else label,
                kind=("result" if is_result else "operation") if operands else leaf,
                level="array",
                op=op if operands else "",
                operands=operands,
                data=tuple(node.data for node in nodes),
                grad=tuple(node.grad for node in nodes),
                shape=thing.shape,
                nodes=tuple(node_of[v].name for v in dict.fromkeys([*elements, *inside[k]])),
            )
        )
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
