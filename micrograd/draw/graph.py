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

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from micrograd.draw.array_level import with_arrays
from micrograd.draw.foreign import LOOKED_FOR
from micrograd.draw.levels import LEVELS, grouped
from micrograd.draw.names import Names, is_array
from micrograd.draw.records import Graph, Node
from micrograd.engine import Value, topological_order


def graph(
    *results: Any,
    names: Mapping[str, Any] | None = None,
    level: str = "op",
    parameters: Any = (),
) -> Graph:
    """The records of all nodes that lead to the roots.

    A leaf is a constant if it was a plain number beside an operator, a parameter if a Module in
    `names` owns it or it is among `parameters`, and otherwise an input.

    Args:
        *results: Values, or arrays of Values.
        names: a dict of variables, usually `locals()`, that gives Values their labels. If a Value
            has several names, a variable's comes before that in a list, and then the first is used;
            names that begin with `_` are ignored. An entry of a list, tuple or array is called
            `w[0]`, for example, and a parameter of a Module `model.layers[0].neurons[1].b`. A list
            or tuple gives names only if all its Values are leaves. A `label` set by hand takes
            precedence.
        level: 'op' for a Node per Value; 'neuron' to replace the operations of each call of a
            neuron by a NeuronBox; 'layer' to replace all calls of a layer by one LayerBox; 'array'
            to replace the elements of each array of Values by one ArrayBox.
        parameters: Values that are parameters although no Module owns them, or lists of these.

    Raises:
        TypeError: a root is not a Value, or names is not a mapping.
        ValueError: the level is unknown.

    >>> w = [Value(1.0), Value(2.0)]
    >>> nodes = graph(w[0] + w[1], names={"w": w}, parameters=w[:1]).nodes
    >>> [(node.label, node.kind) for node in nodes]
    [('w[0]', 'parameter'), ('w[1]', 'input'), ('', 'result')]
    """
    roots = roots_of(results)
    named = Names(names, parameters)
    named.arrays += [("", result) for result in results if is_array(result)]
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is not one of {', '.join(LEVELS)}")
    order = topological_order(*roots)
    name_of = {value: f"v{i}" for i, value in enumerate(order)}

    def kind(value: Value) -> str:
        if value._prev:
            return "result" if value in roots else "operation"
        if value.is_constant:
            return "constant"
        return "parameter" if value in named.parameters else "input"

    nodes = []
    for value in order:
        label = named.label_of.get(value, "")
        node = Node(
            name=name_of[value],
            label=str(value.label or label),
            kind=kind(value),
            op=str(value._op),
            operands=tuple(name_of[operand] for operand in value._prev),
            data=value.data,
            grad=value.grad,
            short=named.short(label) if value in named.parameters and not value.label else "",
        )
        nodes.append(node)
    if level == "op":
        return Graph(tuple(nodes))
    if level == "array":
        return Graph(tuple(with_arrays(nodes, order, roots, named)), level)
    return Graph(tuple(grouped(nodes, order, roots, named, level)), level)


def roots_of(results: Sequence[Any]) -> dict[Value, None]:
    """The Values among the results and in arrays among the results, without duplicates.

    Raises:
        TypeError: a result is neither a Value nor an array of Values.

    >>> list(roots_of([Value(1.0)]))
    [Value(data=1.0, grad=0)]
    """
    found: dict[Value, None] = {}
    for result in results:
        inside = result.ravel().tolist() if is_array(result) and result.size else [result]
        for root in inside:
            _check_root(root)
            found[root] = None
    return found


def _check_root(root: Any) -> None:
    if hasattr(type(root), "named_parameters"):
        raise TypeError(
            f"a graph starts from a Value, got the model {root!r:.40}: draw its output with "
            "draw_dot(model(x)), or the network itself with draw_network(model)"
        )
    if not isinstance(root, Value):
        wanted = (f"{x} ({', '.join(LOOKED_FOR[x])})" for x in ("data", "grad", "operands"))
        raise TypeError(
            f"a graph starts from a Value, got {type(root).__name__} {root!r:.40}: pass the "
            "result of a computation, or one entry of a list of results"
            + f". A Value of another engine is known by its {'; '.join(wanted)}"
            * (type(root).__module__ != "builtins")
        )


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
    nodes = [v for v in topological_order(*roots) if not v.is_constant]
    order: list[Value] = []
    placed: set[Value] = set()
    choices = [iter(nodes)]  # for each place in the order, the nodes not yet tried there
    while choices:
        for value in choices[-1]:
            ready = all(v in placed or v.is_constant for v in value._prev)
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
