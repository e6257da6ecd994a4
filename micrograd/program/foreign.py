"""Graphs of other engines: anyone's Value, read into Values of ours, which can be drawn.

An object is enough that has its number and its gradient in one of the attributes of `LOOKED_FOR`,
and its operands there or in any other attribute: a Value of the original micrograd, of the lecture,
of microgpt, or a learner's own. What it says is kept: its numbers, label, operation and operands.
The rest is found out as far as possible:

    local derivatives   are in `_local_grads`, as in microgpt, or in a similar attribute; or the
                        node's `_backward`, or another function that it keeps, is run alone, with an
                        upstream gradient of 1 and with notes instead of the gradients of its
                        operands. Otherwise they are unknown.
    order of operands   A set has none, and `x * x` is in it once. Then `_backward` tells: it gives
                        one contribution for each use, usually in the order of the formula.
    name of operation   If there is no `_op`, or its number is another one (`-` of a sum), it is the
                        operation of ours that gives the same number and the same derivatives, if
                        there is just one; else it stays, or is '?'. An exponent is found likewise.

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

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from micrograd.core.arithmetic import Number, as_number
from micrograd.core.errors import FAILURES
from micrograd.core.node import Own, innermost, operations
from micrograd.core.origin import note, origin
from micrograd.derivatives import again, local_derivatives, per_edge, replayed
from micrograd.engine import Value, topological_order
from micrograd.program.objects import Variables, found, is_array, is_model

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
    """Whether something is a node of another engine: it has data, grad, and a list of operands."""
    if isinstance(thing, (Value, type)):
        return False
    has_numbers = all(attribute(thing, what) for what in ("data", "grad"))
    return has_numbers and kept(thing, "operands") is not None


def check_engine(user: str, things: Iterable[object]) -> None:
    """Raises a TypeError if one of these things is a node of another engine."""
    modules: list[str] = []
    for x in things:
        with suppress(Exception):  # looking at a property runs it
            modules += [type(x).__module__] * is_foreign(x)
    if modules:
        fix = "use `from micrograd import Value` in that file; its other classes can stay"
        raise TypeError(f"{user} needs the Value of micrograd, got one of {modules[0]}: {fix}")


def attribute(node: object, what: str) -> str:
    """The attribute in which a node keeps its data, grad, ...; '' if there is none."""
    for name in LOOKED_FOR[what]:
        if hasattr(node, name):
            x = getattr(node, name)
            fits = hasattr(x, "__len__") and isinstance(x, str) == (what == "op")
            if what in ("data", "grad"):
                fits = as_number(x) is not NotImplemented
            if fits or name in KNOWN:
                return name
    several = {} if what != "operands" else {
        name: len(x) for name, x in _attributes(node).items()
        if isinstance(x, (list, tuple, set, frozenset)) and all(type(v) is type(node) for v in x)
    }  # fmt: skip
    return max(several, key=several.__getitem__, default="")


def _attributes(node: object) -> dict[str, Any]:
    # All that an instance holds.
    slots = [name for kind in type(node).__mro__ for name in getattr(kind, "__slots__", ())]
    found = {name: getattr(node, name) for name in slots if hasattr(node, name)}
    return found | getattr(node, "__dict__", {})


def kept(node: object, what: str) -> Any:
    """What a node of any engine keeps as its data, grad, ...; None if there is nothing."""
    if name := attribute(node, what):
        return getattr(node, name)
    if what == "operands":  # one in each attribute, such as `left` and `right`
        return [x for x in _attributes(node).values() if type(x) is type(node)] or None
    return None


def number_of(x: Any) -> Any:
    """The plain number in a Value of any engine, or a number as it is."""
    number = innermost(x)
    is_node = as_number(number) is NotImplemented and attribute(x, "data")
    return kept(x, "data") if is_node else number


def as_ours(root: Any, *others: object) -> list[Any]:
    """The root and other arguments, in which each node of another engine is replaced by a Value.

    The root may be a list of nodes, and the others dicts, lists, single nodes or anything else.
    Nodes that do not lead to the root stay as they are. If no root is foreign, everything does.

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
    # Such as names; dicts inside it are not searched.
    ours: dict[Any, Any] = Variables() if isinstance(thing, Variables) else {}
    for key, entry in thing.items():
        is_dict = isinstance(entry, Mapping)
        ours[copy_of.get(id(key), key)] = entry if is_dict else _replaced(entry, copy_of)
        if isinstance(key, str) and is_model(entry):  # the paths of its parameters
            inside = found(entry, key, is_node=lambda x: id(x) in copy_of)
            ours |= {path: copy_of[id(x)] for path, x, _ in inside if id(x) in copy_of}
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
    for copy in topological_order(*(copy_of[id(root)] for root in roots)):
        if copy._prev:
            node, _, slopes = edges[id(origin(copy, "node"))]
            _give_rule(copy, node, slopes)
    return copy_of


def _leaf(node: Any) -> Value:
    if not is_foreign(node) and as_number(node) is not NotImplemented:
        return Value(node)  # a plain number among the operands
    label, data, grad = getattr(node, "label", ""), kept(node, "data"), kept(node, "grad")
    copy = Value(data, label=label if isinstance(label, str) else "")
    note(copy, "node", node)  # it knows the calls that made it, and a page shows its text
    if as_number(grad) is not NotImplemented:
        copy.grad = as_number(grad)
    return copy


def _edges(node: Any) -> tuple[list[Any], list[Any] | None]:
    # The operands in order, and the local derivatives if they are known.
    given, slopes = kept(node, "operands"), kept(node, "slopes")
    notes: list[tuple[Any, Number]] = []
    operands = [] if given is None else list(given)
    if slopes is not None and len(slopes) == len(operands):
        return operands, list(slopes)
    known = getattr(node, "_backward", None)
    for run in [known] if known else filter(callable, _attributes(node).values()):
        with suppress(Exception):  # whatever such an engine may raise
            # the ledger cannot be added to a number, so a `_backward` that calls others fails
            notes = notes or replayed(node, operands, 1.0, run, lambda v: attribute(v, "grad"))
    if not notes:
        return operands, None
    if isinstance(given, (set, frozenset)) and {id(v) for v, _ in notes} == {*map(id, operands)}:
        return [operand for operand, _ in notes], [contribution for _, contribution in notes]
    return operands, per_edge(notes, operands)


def _give_rule(copy: Value, node: Any, slopes: list[Any] | None) -> None:
    # Gives a copy its operation and its closure: ours, if just one of ours fits.
    op = kept(node, "op") or ""
    known = {f.__name__.strip("_"): name for name, f in operations.items()}
    known |= {name.lower(): name for name in operations} | {"pow": "**", "^": "**"}
    name = known.get(op.strip("_").lower(), op)
    fitting = _twins([name], copy, slopes)
    if name in ("", *operations) and not _twins([name], copy, None):  # it says another operation
        ours = [name for name, f in operations.items() if hasattr(type(node), f.__name__)]
        fitting = _twins([*ours, *_powers(copy, slopes)], copy, slopes)
    if len(fitting) == 1:
        (twin,) = fitting
        copy._op, copy._chain_rule = twin._op, twin._chain_rule
    else:
        copy._op, copy._chain_rule = op or "?", _Slopes(slopes)


def _powers(copy: Value, slopes: list[Any] | None) -> list[str]:
    # The power of its one operand with the exponent that its derivative or its number tells.
    y, x = copy.data, copy._prev[0].data
    with suppress(ArithmeticError, ValueError):
        n = slopes[0] * x / y if slopes else math.log(y) / math.log(x)  # n x^(n-1) x / x^n
        n = round(float(n), 9)
        return [f"**{n:g}"] if len(copy._prev) == 1 and n not in (0.0, 1.0) else []
    return []


def _twins(names: list[str], copy: Value, slopes: list[Any] | None) -> list[Value]:
    # Our operations of these names that give the same number and the same derivatives.
    found: list[Value] = []
    for name in names:
        with suppress(*FAILURES):
            twin = again(name, copy._prev)
            pairs = [(twin.data, copy.data)]
            if slopes is not None:
                pairs += zip(local_derivatives(twin), slopes, strict=True)
            same = all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in pairs)
            if same and twin._prev == copy._prev:  # no_grad() leaves out operands
                found.append(twin)
    return found


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
