"""From operations to arrays: one box for each array of Values.

An array of Values remembers the operation and the operands that it was computed from (see
`arrays.py`), and so does the result of a reduction. Operations outside stay as they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from micrograd.core.origin import origin
from micrograd.draw.formulas import TRANSPOSED
from micrograd.draw.records import Box, Graph, folded
from micrograd.engine import Value
from micrograd.program.objects import is_array
from micrograd.texts import said

LOOSE = 8  # at most this many parameters or inputs outside arrays are drawn one by one
OPS = {  # NumPy's names for operations, and ours
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "matmul": "@"},
    **{"negative": "neg", "absolute": "abs", "relu": "ReLU", "add.accumulate": "cumsum"},
    **{"add.reduce": "sum", "multiply.reduce": "prod"},
    **{"maximum.reduce": "max", "minimum.reduce": "min"},
}


def with_arrays(drawn: Graph) -> Graph:
    """The same graph with a single box for each array.

    An element of several arrays, such as both W and W.T, belongs to the one whose operation made
    it, else to the first of them, a named one if there is one. Another one that is an operand, such
    as W.T in X @ W.T, has a box of its own, without elements, behind that of W. An operation that a
    single array needs is inside its box. What an array remembers may be out of date, if an element
    has been replaced; the graph is not.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.arrays import values
    >>> W, x = values([[1.0, 2.0], [3.0, 4.0]]), values([1.0, -1.0])
    >>> for box in with_arrays(graph((W @ x).sum(), names={"W": W, "x": x})).nodes:
    ...     print(box.number, box.label, box.op, box.operands)
    13 W  ()
    14 x  ()
    15  @ (13, 14)
    12  sum (15,)
    """
    named, node_of = drawn.named, dict(zip(drawn.values, drawn.nodes, strict=True))
    names = {id(array): label for label, array in reversed(named.arrays)}
    groups, inside = grouped(drawn)
    home = {v: k for k, some in inside.items() for v in some if k >= 0}
    arrays = [thing for thing, _ in groups if is_array(thing)]
    n, first = len(arrays), len(drawn.values)  # numbers: of arrays, and of the first box of one
    extra: dict[Any, Box] = {}  # operands that own no element: numbers, plain arrays, views

    def box_of(v: Value) -> int:
        return first + home[v] if home.get(v, n) < n else node_of[v].number

    def shown(array: Any) -> dict[str, Any]:
        # Some of its elements may not lead to the result.
        boxes = [node_of.get(v, v) if isinstance(v, Value) else Box(-1, data=v, grad=0)
                 for v in array.ravel().tolist()]  # fmt: skip
        data, grad = (tuple(getattr(box, what) for box in boxes) for what in ("data", "grad"))
        label = names.get(id(array), "")
        return {"label": label, "level": "array", "data": data, "grad": grad, "shape": array.shape}

    def given(thing: Any) -> dict[int, tuple[int, ...]]:
        # What an array remembers as an operand: its box, and the boxes that it consists of.
        label = named.of_numbers(thing)
        if isinstance(thing, (list, tuple)):
            import numpy as np  # a graph of arrays has loaded it

            thing = np.asarray(thing)
        elements, key = _elements(thing), (len(extra),)
        below = dict.fromkeys(box_of(v) for v in elements if v in node_of)
        wholes = [arrays[home[v]] for v in elements if home.get(v, n) < n]
        if isinstance(thing, (int, float)):
            box = Box(-1, kind="constant", data=thing, grad=0)
        elif not (is_array(thing) and thing.ndim) or (elements and not wholes):
            return {box: (box,) for box in below}
        elif not elements:
            box = Box(-1, kind="constant", **shown(thing) | {"label": label})
        else:
            whole = wholes[0]
            if (elements, thing.shape) == (_elements(whole), whole.shape):
                return {box: (box,) for box in below}
            key = (thing.shape, *elements)
            op, suffix = _taken(thing, whole)
            box = Box(-1, op=op, operands=tuple(below), **shown(thing))
            box = box._replace(label=box.label or label)
            if (name := names.get(id(whole))) and len(below) == 1 and not box.label:
                box = box._replace(label=name + suffix, short=named.short(name) + suffix)
        box = extra.setdefault(
            key, box._replace(number=first + n + len(extra), short=box.short or box.label)
        )
        return {box.number: box.operands}

    boxes = []
    for k, (thing, elements) in enumerate(groups):
        used = dict.fromkeys(box_of(o) for v in inside[k] for o in v._prev if home.get(o) != k)
        op, things = operation_of(thing), _memory(thing)[1]
        pairs = [pair for x in things for pair in given(x).items()]
        if op and used.keys() <= {name for _, below in pairs for name in below}:
            pairs = pairs[:1] if op.startswith("**") and op != "**" else pairs
            operands = [name for name, below in pairs if not below or used.keys() & below]
        else:
            n_inside = sum(bool(v._prev) for v in inside[k])
            op, operands = said("draw", "box.operation", n=n_inside), [*used]
        nodes = [node_of[v] for v in dict.fromkeys([*elements, *inside[k]])]
        box = nodes[0]._replace(op=op if operands else "", operands=tuple(operands))
        if k < n:
            leaf = "input" if named.parameters.isdisjoint(elements) else "parameter"
            is_result = any(node.kind == "result" for node in nodes[: len(elements)])
            kind = ("result" if is_result else "operation") if operands else leaf
            within = tuple(node.number for node in nodes)
            box = box._replace(number=first + k, kind=kind, nodes=within, **shown(thing))
            box = box._replace(short=named.short(box.label) if leaf == "parameter" else box.label)
        boxes.append(box)
    drawn = folded(replace(drawn, nodes=(*drawn.nodes, *extra.values()), level="array"), boxes)
    # The parameters of a model, for example, are too many to draw one by one.
    rests: list[Box] = []
    for kind in ("parameter", "input") if arrays else ():
        loose = tuple(box.number for box in drawn.nodes if (box.kind, box.level) == (kind, "op"))
        if len(loose) > LOOSE:
            title, number = said("draw", f"box.{kind}", n=len(loose)), len(extra) + len(rests)
            rests.append(Box(first + n + number, title, title, kind, "call", nodes=loose))
    return folded(drawn, rests)


def grouped(drawn: Graph) -> tuple[list[tuple[Any, list[Value]]], dict[int, list[Value]]]:
    """Arrays and reductions, each with its elements; and the Values inside each, by its index.

    Those that are in none have the index -1. Arrays come before reductions.
    """
    groups: list[tuple[Any, list[Value]]] = []
    home: dict[Value, int] = {}  # the group of each node inside
    node_of = dict(zip(drawn.values, drawn.nodes, strict=True))
    arrays = remembered(drawn.values, [array for _, array in drawn.named.arrays])
    for array in arrays:
        own = [v for v in _elements(array) if v in node_of and v not in home]
        home.update(dict.fromkeys(own, len(groups)))
        groups += [(array, own)] if own else []
    things = (x for thing in (*arrays, *drawn.values) for x in _memory(thing)[1])
    kept = {x for x in things if isinstance(x, Value)}
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
    return groups, inside


def operation_of(thing: Any) -> str:
    """The operation by which an array, or the Value of a reduction, was computed; or ''."""
    op, things = _memory(thing)
    is_power = op == "power" and isinstance(things[1], (int, float))
    return f"**{things[1]}" if is_power else OPS.get(op, op)  # as in the `_op` of a Value


def remembered(values: Iterable[Value], arrays: Iterable[Any]) -> list[Any]:
    """These arrays, then all arrays that they or the Values were computed from.

    Last are those with elements of their operands, such as views.
    """
    waiting = [*arrays, *(x for value in values for x in _memory(value)[1])]
    found: dict[int, Any] = {}
    for array in waiting:
        if id(array) not in found and is_array(array) and _elements(array):
            found[id(array)] = array
            waiting += _memory(array)[1]

    def is_taken(array: Any) -> bool:
        own = {*_elements(array)}
        return any(not own.isdisjoint(_elements(operand)) for operand in _memory(array)[1])

    return sorted(found.values(), key=is_taken)


def _taken(part: Any, whole: Any) -> tuple[str, str]:
    # The operation that takes a part of an array, and what one types after the array's name.
    elements = _elements(part)
    turned = whole.swapaxes(-1, -2) if whole.ndim > 1 else whole
    if (elements, part.shape) == (_elements(turned), turned.shape):
        return "T", TRANSPOSED
    if elements == _elements(whole):
        return "reshape", f".reshape({', '.join(map(str, part.shape))})"
    return _memory(part)[0] or "[ ]", "[…]"


def _memory(thing: Any) -> tuple[str, Sequence[Any]]:
    # What an array or the Value of a reduction remembers: the operation and its operands; a view
    # is taken from a result, or from an array with a label.
    base = getattr(thing, "base", None)
    is_known = origin(base, "array") or getattr(base, "label", "")
    return origin(thing, "array") or ("", [base] if is_known else [])


def _elements(thing: Any) -> list[Value]:
    # The Values in a Value, a list or an array.
    if isinstance(thing, Value):
        return [thing]
    if isinstance(thing, (list, tuple)):
        return [v for x in thing for v in _elements(x)]
    if is_array(thing) and str(thing.dtype) == "object" and thing.ndim > 0:
        return [v for v in thing.ravel() if isinstance(v, Value)]
    return []
