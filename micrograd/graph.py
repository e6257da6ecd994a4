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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from micrograd.engine import Constant, Value, topological_order


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
class Graph:
    """The nodes that one or more results were computed from, operands first.

    >>> len(graph(Value(1.0) + Value(2.0)).nodes)
    3
    """

    nodes: tuple[Node, ...]

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
        inside = [n for n in self.nodes if n.operands] or self.nodes
        return any(not isinstance(n.grad, (int, float)) or n.grad != 0 for n in inside)


def graph(*roots: Value, names: Mapping[str, Any] | None = None) -> Graph:
    """The records of all nodes that the roots were computed from.

    Leaves are constants where a plain number met an operator, parameters where `names` holds a
    Module that owns them, and inputs otherwise.

    Args:
        *roots: the results to start from.
        names: where to look for the names of Values, usually `locals()`. The first name wins; those
            that begin with `_` are passed over; the entries of lists, tuples and arrays are called
            `w[0]`, the parameters of a Module `model.layers[0].neurons[1].b`. A `label` set by hand
            wins over all.

    Raises:
        TypeError: a root is not a Value, or names is not a mapping.

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
    return Graph(
        tuple(
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
        )
    )


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
