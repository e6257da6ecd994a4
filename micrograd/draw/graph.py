"""A graph as plain records, from which all drawings are made.

A `Value` changes during training and is compared by identity. A drawing needs the opposite: a
snapshot, with names that are the same in every run. So `graph()` records one `Node` per Value in
topological order and calls them v0, v1, ...; equal programs give equal records.

    >>> a = Value(3.0)
    >>> square = a * a
    >>> for node in graph(square, names={"a": a, "square": square}).nodes:
    ...     print(node.name, node.label, node.kind, node.data, node.op, node.operands)
    v0 a input 3.0  ()
    v1 square result 9.0 * ('v0', 'v0')

A network is easier to read at a higher level: `level="neuron"` has one box for all operations of a
neuron, `level="layer"` one box for all neurons of a layer (see `levels.py`).

    >>> from micrograd.nn import MLP
    >>> y = MLP(2, [3, 1])([1.0, -1.0])
    >>> len(graph(y).nodes), len(graph(y, level="neuron").nodes), len(graph(y, level="layer").nodes)
    (36, 6, 3)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from micrograd.draw.levels import LEVELS, grouped
from micrograd.draw.records import Graph, Node
from micrograd.engine import Constant, Value, topological_order


def graph(*roots: Value, names: Mapping[str, Any] | None = None, level: str = "op") -> Graph:
    """The records of all nodes that lead to the roots.

    A leaf is a constant if it was a plain number beside an operator, a parameter if a Module in
    `names` owns it, and otherwise an input.

    Args:
        *roots: the results.
        names: a dict of variables, usually `locals()`, that gives Values their labels. If a Value
            has several names, the first counts; names that begin with `_` are ignored. Entries of
            lists, tuples and arrays are called `w[0]`; parameters of a Module,
            `model.layers[0].neurons[1].b`. A `label` set by hand takes precedence.
        level: 'op' for a Node per Value; 'neuron' to replace the operations of each call of a
            neuron by a NeuronBox; 'layer' to replace all calls of a layer by one LayerBox.

    Raises:
        TypeError: a root is not a Value, or names is not a mapping.
        ValueError: the level is unknown.

    >>> w = [Value(1.0), Value(2.0)]
    >>> [node.label for node in graph(w[0] + w[1], names={"w": w}).nodes]
    ['w[0]', 'w[1]', '']
    """
    for root in roots:
        _check_root(root)
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(
            f"names expects a dict from names to Values, got {type(names).__name__}: use "
            'names=locals(), or names={"model": model}'
        )
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is not one of {', '.join(LEVELS)}")
    order, results = topological_order(*roots), set(roots)
    labels, parameters = _labels_and_parameters(names or {})
    name_of = {value: f"v{i}" for i, value in enumerate(order)}

    def kind(value: Value) -> str:
        if value._prev:
            return "result" if value in results else "operation"
        if isinstance(value, Constant):
            return "constant"
        return "parameter" if value in parameters else "input"

    nodes = [
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
    if level == "op":
        return Graph(tuple(nodes))
    return Graph(tuple(grouped(nodes, order, results, labels, level)), level)


def _check_root(root: Any) -> None:
    if hasattr(type(root), "named_parameters"):
        raise TypeError(
            f"a graph starts from a Value, got the model {root!r:.40}: draw its output with "
            "draw_dot(model(x)), or the network itself with draw_network(model)"
        )
    if not isinstance(root, Value):
        raise TypeError(
            f"a graph starts from a Value, got {type(root).__name__} {root!r:.40}: pass the "
            "result of a computation, or one entry of a list of results"
        )


# ---- names of Values


def _labels_and_parameters(names: Mapping[Any, Any]) -> tuple[dict[Value, str], set[Value]]:
    labels: dict[Value, str] = {}
    parameters: set[Value] = set()
    for variable, thing in list(names.items()):
        if not str(variable).startswith("_"):
            for label, value, owned in _values_in(thing, str(variable)):
                labels.setdefault(value, label)
                if owned:
                    parameters.add(value)
    return labels, parameters


def _values_in(
    thing: Any, name: str, around: tuple[Any, ...] = ()
) -> Iterator[tuple[str, Value, bool]]:
    # Triples: a name, a Value, and whether a Module owns it. Attributes are looked up on the type:
    # this avoids importing NumPy or nn, and does not mistake the class of a Module for a Module.
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


# ---- orders


def levels(*roots: Value) -> dict[Value, int]:
    """The level of each node: 0 for a leaf, else one more than the highest level of its operands.

    Nodes of the same level do not depend on each other: they could be computed at the same time.
    (These levels have nothing to do with the `level` of a drawing.)

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
    """All topological orders of the nodes without constants: operands come before their results.

    An iterator, because n nodes may have up to n! such orders.

    >>> a, b = Value(1.0), Value(2.0)
    >>> c = a + b
    >>> [[v.data for v in order] for order in topological_orders(c)]
    [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]]
    """
    nodes = [v for v in topological_order(*roots) if not isinstance(v, Constant)]
    order: list[Value] = []
    placed: set[Value] = set()
    choices = [iter(nodes)]  # for each place in the order, the nodes not yet tried there
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
