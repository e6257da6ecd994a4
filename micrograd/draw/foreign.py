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
from typing import Any

from micrograd.core.arithmetic import Number, as_number
from micrograd.core.errors import FAILURES
from micrograd.core.node import Own, operations
from micrograd.core.origin import note
from micrograd.derivatives import again, local_derivatives, replayed, shares
from micrograd.draw.names import Names, Variables, found, is_array, is_model
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


def is_foreign(thing: object) -> bool:
    """Whether something is a node of another engine: it has data, grad, and a list of operands.

    >>> is_foreign(Value(1.0)), is_foreign(1.0)
    (False, False)
    """
    if isinstance(thing, (Value, type)):
        return False
    return all(attribute(thing, what) for what in ("data", "grad", "operands"))


def attribute(node: object, what: str) -> str:
    """The attribute in which a node keeps its data, grad, ...; '' if there is none."""
    for name in LOOKED_FOR[what]:
        if hasattr(node, name):
            x = getattr(node, name)
            if what in ("data", "grad"):
                fits = as_number(x) is not NotImplemented
            else:
                fits = hasattr(x, "__len__") and isinstance(x, str) == (what == "op")
            if fits or name in KNOWN:
                return name
    return ""


def _kept(node: object, what: str) -> Any:
    # What a node keeps there, or None.
    name = attribute(node, what)
    return getattr(node, name) if name else None


def as_ours(root: Any, *others: object) -> list[Any]:
    """The root and other arguments, in which each node of another engine is replaced by a Value.

    Nodes that do not lead to the root stay as they are. If no root is foreign, everything does.

    Args:
        root: a Value, or a list of Values, of any engine.
        *others: arguments that mention Values: dicts, lists, single Values or anything else.

    Raises:
        TypeError: the data of a node is not a real number.
        ValueError: the graph has a cycle.
    """
    roots = root.tolist() if is_array(root) else root
    foreign = [x for x in (roots if isinstance(roots, (list, tuple)) else [root]) if is_foreign(x)]
    if not foreign:
        return [root, *others]
    copy_of = _copies(foreign)
    return [_replaced(thing, copy_of) for thing in (root, *others)]


def _replaced(thing: Any, copy_of: Mapping[int, Value]) -> Any:
    if is_array(thing):
        thing = thing.tolist() if str(thing.dtype) == "object" else thing
    if isinstance(thing, (list, tuple, set, frozenset)):
        return [_replaced(entry, copy_of) for entry in thing]
    if not isinstance(thing, Mapping):
        return copy_of.get(id(thing), thing)
    ours: dict[Any, Any] = {}  # such as names; dicts inside it are not searched
    for key, entry in thing.items():
        is_dict = isinstance(entry, Mapping)
        ours[copy_of.get(id(key), key)] = entry if is_dict else _replaced(entry, copy_of)
        if isinstance(key, str) and is_model(entry):  # the paths of its parameters
            inside = found(entry, key, is_node=lambda x: id(x) in copy_of)
            ours |= {path: copy_of[id(x)] for path, x, _ in inside if id(x) in copy_of}
    for value in Names(ours).label_of.keys() & {*copy_of.values()}:
        if not isinstance(thing, Variables):
            value.label = ""  # names that the user gives replace labels of the engine
    return ours


def _copies(roots: Sequence[Any]) -> dict[int, Value]:
    # Our Value for each node. Nodes are told apart by id(): a class may define its own equality.
    edges: dict[int, Any] = {}  # each node, its operands and its local derivatives
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in edges:
            edges[id(node)] = node, *_edges(node)
            waiting += edges[id(node)][1]
    copy_of = {key: _leaf(node) for key, (node, *_) in edges.items()}
    for key, (_, operands, _) in edges.items():
        copy_of[key]._prev = tuple(copy_of[id(operand)] for operand in operands)
    key_of = {copy: key for key, copy in copy_of.items()}
    for copy in topological_order(*(copy_of[id(root)] for root in roots)):
        if copy._prev:
            node, _, slopes = edges[key_of[copy]]
            _give_rule(copy, node, slopes)
    return copy_of


def _leaf(node: Any) -> Value:
    if not is_foreign(node) and as_number(node) is not NotImplemented:
        return Value(node)  # a plain number among the operands
    label, grad = getattr(node, "label", ""), as_number(_kept(node, "grad"))
    copy = Value(_kept(node, "data"), label=label if isinstance(label, str) else "")
    note(copy, "node", node)  # it knows the calls that made it, and a page shows its text
    copy.grad = 0 if grad is NotImplemented else grad
    return copy


def _edges(node: Any) -> tuple[list[Any], list[Any] | None]:
    # The operands in order, and the local derivatives if they are known.
    kept, slopes, notes = _kept(node, "operands"), _kept(node, "slopes"), []
    operands = [] if kept is None else list(kept)  # an array has no truth value
    if slopes is not None and len(slopes) == len(operands):
        return operands, list(slopes)
    with suppress(Exception):  # whatever such an engine may raise
        # the ledger cannot be added to a number, so a `_backward` that calls others fails
        run = node._backward
        notes = replayed(node, operands, 1.0, lambda: run(), lambda v: attribute(v, "grad"))
    if not notes:
        return operands, None
    if isinstance(kept, (set, frozenset)) and {id(v) for v, _ in notes} == {*map(id, operands)}:
        return [operand for operand, _ in notes], [contribution for _, contribution in notes]
    places = [*map(id, operands)]
    received = {key: tuple(d for v, d in notes if id(v) == key) for key in places}
    share = {key: shares(entries, places.count(key)) for key, entries in received.items()}
    return operands, [next(share[key]) for key in places]


def _give_rule(copy: Value, node: Any, slopes: list[Any] | None) -> None:
    # Gives a copy its operation and its closure: ours, if just one of ours fits.
    op = _kept(node, "op") or ""
    tried = [_twin(name, copy, slopes) for name in _candidates(op, type(node), copy, slopes)]
    fitting = [twin for twin in tried if twin is not None]
    if len(fitting) == 1:
        (twin,) = fitting
        copy._op, copy._chain_rule = twin._op, twin._chain_rule
    else:
        copy._op, copy._chain_rule = op or "?", _Slopes(slopes)


def _candidates(op: str, kind: type, copy: Value, slopes: list[Any] | None) -> Iterator[str]:
    # The names of our operations that could be this one.
    if op:
        known = {f.__name__.strip("_"): name for name, f in operations.items()}
        known |= {name.lower(): name for name in operations}
        yield known.get(op.strip("_").lower(), op)
        return
    yield from (name for name, f in operations.items() if hasattr(kind, f.__name__))
    if slopes and len(copy._prev) == 1 and copy.data and hasattr(kind, "__pow__"):
        exponent = round(float(slopes[0] * copy._prev[0].data / copy.data), 9)  # n x^(n-1) x / x^n
        if exponent not in (0.0, 1.0):
            yield f"**{exponent:g}"


def _twin(name: str, copy: Value, slopes: list[Any] | None) -> Value | None:
    # Our operation of this name, if it gives the same number and the same derivatives.
    with suppress(*FAILURES):
        twin = again(name, copy._prev)
        pairs = [(twin.data, copy.data)]
        if slopes is not None:
            pairs += zip(local_derivatives(twin), slopes, strict=True)
        same = all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in pairs)
        return twin if same and twin._prev == copy._prev else None  # no_grad() leaves out operands
    return None


class _Slopes(Own):
    # The `_backward` of an operation of which only the local derivatives are known, or not these.
    function: Any = None

    def __init__(self, slopes: list[Any] | None) -> None:
        self.slopes = slopes

    def __call__(self, upstream: Number, *operands: Value) -> None:
        if self.slopes is None:
            raise ValueError(UNKNOWN)
        for operand, slope in zip(operands, self.slopes, strict=True):
            operand.grad += float(slope) * upstream
