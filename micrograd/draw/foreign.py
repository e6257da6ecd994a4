"""Graphs of other engines: anyone's Value, read into Values of ours, which can be drawn.

An object is enough that has its number, its gradient and its operands in one of the attributes of
`LOOKED_FOR`: a Value of the original micrograd, of the lecture, of microgpt, or a learner's own.
What it says is kept: its numbers, label, operation and operands. The rest is found out as far as
possible:

    local derivatives   are in `_local_grads`, as in microgpt, or in a similar attribute; or the
                        node's `_backward` is run alone, with an upstream gradient of 1 and with
                        notes instead of the gradients of its operands. Otherwise they are unknown.
    order of operands   A set has none, and `x * x` is in it once. Then `_backward` tells: it gives
                        one contribution for each use, usually in the order of the formula.
    name of operation   If there is no `_op`, it is the operation of ours that gives the same number
                        and the same derivatives, if there is just one; else it is '?'.

If an operation of the same name gives the same number and the same derivatives here, the copy has
our rule, so that a page can compute it again. Otherwise it has the numbers of the other engine.

    >>> class Mine:
    ...     def __init__(self, data, operands=(), slopes=()):
    ...         self.data, self.grad, self._children, self._local_grads = data, 0, operands, slopes
    ...     def __mul__(self, other):
    ...         return Mine(self.data * other.data, (self, other), (other.data, self.data))
    >>> [ours] = as_ours(Mine(3.0) * Mine(2.0))
    >>> ours, ours._op, local_derivatives(ours)
    (Value(data=6.0, grad=0.0), '*', (2.0, 3.0))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any

from micrograd.core.errors import FAILURES
from micrograd.core.node import Own, operations
from micrograd.core.numbers import as_number
from micrograd.derivatives import again, local_derivatives, replayed, shares
from micrograd.draw.names import Names, found, is_array, is_model
from micrograd.engine import Value, topological_order

UNKNOWN = (
    "this engine does not tell its local derivatives: give each result a _backward() without "
    "arguments, or _local_grads beside its operands; draw_dot draws the graph without them"
)
LOOKED_FOR = {  # where an engine may keep things; the names of the original and microgpt first
    "data": ("data", "value", "val", "v", "x", "_data", "_value", "number", "scalar"),
    "grad": ("grad", "gradient", "g", "_grad", "_gradient", "derivative", "adjoint", "dv"),
    "operands": ("_prev", "_children", "prev", "children", "parents", "_parents", "operands",
                 "_operands", "inputs", "_inputs", "args", "_args"),
    "slopes": ("_local_grads", "local_grads", "_local_grad", "local_grad", "_local_derivatives",
               "local_derivatives"),
    "op": ("_op", "op"),
}  # fmt: skip
KNOWN = ("data", "grad", "_prev", "_children")  # these count whatever they hold


def is_foreign(thing: Any) -> bool:
    """Whether something is a node of another engine: it has data, grad, and a list of operands.

    >>> is_foreign(Value(1.0)), is_foreign(1.0)
    (False, False)
    """
    if isinstance(thing, (Value, type)):
        return False
    return all(_name(thing, what) for what in ("data", "grad", "operands"))


def _name(node: Any, what: str) -> str:
    # The attribute in which a node keeps its data, grad, ...; '' if there is none.
    for name in LOOKED_FOR[what]:
        if hasattr(node, name) and _fits(getattr(node, name), what):
            return name
    return next((name for name in LOOKED_FOR[what] if name in KNOWN and hasattr(node, name)), "")


def _fits(x: Any, what: str) -> bool:
    if what in ("data", "grad"):
        return as_number(x) is not NotImplemented
    if what == "op":
        return isinstance(x, str)
    return hasattr(x, "__len__") and hasattr(x, "__iter__") and not isinstance(x, str)


def _found(node: Any, what: str) -> Any:
    # What a node keeps there, or None.
    name = _name(node, what)
    return getattr(node, name) if name else None


def as_ours(root: Any, *others: Any) -> list[Any]:
    """The root and other arguments, in which each node of another engine is replaced by a Value.

    Nodes that do not lead to the root stay as they are. If no root is foreign, everything does.

    Args:
        root: a Value, or a list of Values, of any engine.
        *others: arguments that mention Values: dicts, lists, single Values or anything else.

    Raises:
        TypeError: the data of a node is not a real number.
        ValueError: the graph has a cycle.
    """
    roots = _listed(root)
    foreign = [node for node in roots if is_foreign(node)] if isinstance(roots, list) else []
    if not foreign:
        return [root, *others]
    copy_of = _copies(foreign)
    replaced = [_replaced(thing, copy_of) for thing in (root, *others)]
    for thing, given in zip(replaced, (root, *others), strict=True):
        if isinstance(given, Mapping):
            for name, model in given.items():
                if isinstance(name, str) and is_model(model):  # the paths of its parameters
                    parts = [(label, v) for label, v, _ in found(model, name, True, lambda x: id(x) in copy_of) if id(v) in copy_of]
                    thing.update((path, copy_of[id(v)]) for path, v in parts)
            # names from the user replace labels of the engine
            for value in Names(thing).label_of.keys() & set(copy_of.values()):
                value.label = ""
    return replaced


def _listed(thing: Any) -> Any:
    # An array or a collection as a list, a single node as a list of one.
    if is_array(thing):
        return thing.tolist()
    if isinstance(thing, (list, tuple, set, frozenset)):
        return list(thing)
    return [thing] if is_foreign(thing) else thing


def _replaced(thing: Any, copy_of: Mapping[int, Value]) -> Any:
    if isinstance(thing, Mapping):  # such as names; dicts inside it are not searched
        return {
            copy_of.get(id(key), key): entry
            if isinstance(entry, Mapping)
            else _replaced(entry, copy_of)
            for key, entry in thing.items()
        }
    if isinstance(thing, (list, tuple, set, frozenset)) or is_array(thing):
        return [_replaced(entry, copy_of) for entry in _listed(thing)]
    return copy_of.get(id(thing), thing)


def _copies(roots: Sequence[Any]) -> dict[int, Value]:
    # Our Value for each node. Nodes are told apart by id(): a class may define its own equality.
    nodes: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in nodes:
            nodes[id(node)] = node
            waiting += _operands(node)
    copy_of = {key: _leaf(node) for key, node in nodes.items()}
    edges = {key: _edges(node) for key, node in nodes.items()}
    for key, (operands, _) in edges.items():
        copy_of[key]._prev = tuple(copy_of[id(operand)] for operand in operands)
    key_of = {copy: key for key, copy in copy_of.items()}
    for copy in topological_order(*(copy_of[id(root)] for root in roots)):
        if copy._prev:
            key = key_of[copy]
            _give_rule(copy, nodes[key], edges[key][1])
    return copy_of


def _leaf(node: Any) -> Value:
    if not is_foreign(node) and as_number(node) is not NotImplemented:
        return Value(node)  # a plain number among the operands
    label = getattr(node, "label", "")
    copy = Value(_found(node, "data"), label=label if isinstance(label, str) else "")
    copy._copy_of = node  # type: ignore[attr-defined]  # it knows the calls that made it
    grad = as_number(_found(node, "grad"))
    copy.grad = 0 if grad is NotImplemented else grad
    return copy


# ---- 1. Operands and local derivatives


def _operands(node: Any) -> list[Any]:
    given = _found(node, "operands")
    return [] if given is None else list(given)


def _is_set(node: Any) -> bool:
    return isinstance(_found(node, "operands"), (set, frozenset))


def _edges(node: Any) -> tuple[list[Any], list[Any] | None]:
    # The operands in order, and the local derivatives if they are known.
    operands, slopes = _operands(node), _found(node, "slopes")
    if slopes is not None and len(slopes) == len(operands):
        return operands, list(slopes)
    try:
        # the ledger cannot be added to a number, so a `_backward` that calls others fails
        notes = replayed(node, operands, 1.0, lambda: node._backward(), lambda v: _name(v, "grad"))
    except Exception:  # whatever such an engine may raise
        notes = []
    if not notes:
        return operands, None
    used = [operand for operand, _ in notes]
    if _is_set(node) and {*map(id, used)} == {*map(id, operands)}:
        return used, [contribution for _, contribution in notes]
    places = [*map(id, operands)]
    received = {key: tuple(d for v, d in notes if id(v) == key) for key in places}
    share = {key: shares(entries, places.count(key)) for key, entries in received.items()}
    return operands, [next(share[key]) for key in places]


# ---- 2. Rules


def _give_rule(copy: Value, node: Any, slopes: list[Any] | None) -> None:
    # Gives a copy its operation and its closure.
    op = _found(node, "op") or ""
    has_order = slopes is not None or not _is_set(node) or len(copy._prev) > 2  # ours take 1 or 2
    orders = [copy._prev] if has_order else permutations(copy._prev)
    names = list(_names(op, type(node), copy, slopes))
    tried = [_twin(name, operands, copy, slopes) for operands in orders for name in names]
    fitting = [twin for twin in tried if twin is not None]
    if len({twin._op for twin in fitting}) == 1:
        twin = fitting[0]
        copy._prev, copy._op, copy._chain_rule = twin._prev, twin._op, twin._chain_rule
    else:
        copy._op = op or "?"
        copy._chain_rule = _Slopes(slopes)
    if hasattr(node, "_backward"):
        copy.__dict__["_written"] = node._backward  # a page shows its text


def _names(op: str, kind: type, copy: Value, slopes: list[Any] | None) -> Iterator[str]:
    # The names of our operations that could be this one.
    if op:
        plain = op.strip("_").lower()
        known = {f.__name__.strip("_"): name for name, f in operations.items()}
        known |= {name.lower(): name for name in operations}
        yield known.get(plain, op)
        return
    yield from (name for name, f in operations.items() if hasattr(kind, f.__name__))
    if slopes and len(copy._prev) == 1 and copy.data and hasattr(kind, "__pow__"):
        exponent = round(float(slopes[0] * copy._prev[0].data / copy.data), 9)  # n x^(n-1) x / x^n
        if exponent not in (0.0, 1.0):
            yield f"**{exponent:g}"


def _twin(
    name: str, operands: Sequence[Value], copy: Value, slopes: list[Any] | None
) -> Value | None:
    # Our operation of this name, if it gives the same number and the same derivatives.
    with suppress(*FAILURES):
        twin = again(name, operands)
        pairs = [(twin.data, copy.data)]
        if slopes is not None:
            pairs += zip(local_derivatives(twin), slopes, strict=True)
        same = all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in pairs)
        return twin if same and twin._prev == operands else None  # no_grad() leaves out operands
    return None


class _Slopes(Own):
    # The `_backward` of an operation of which only the local derivatives are known, or not these.
    function: Any = None

    def __init__(self, slopes: list[Any] | None) -> None:
        self.slopes = slopes

    def __call__(self, upstream: Any, *operands: Value) -> None:
        if self.slopes is None:
            raise ValueError(UNKNOWN)
        for operand, slope in zip(operands, self.slopes, strict=True):
            operand.grad += float(slope) * upstream
