"""What surrounds every operation of `engine.py`: how its result becomes a node of the graph.

The functions in class Value return the result's data and its `_backward`. `operation` turns each of
them into a method: plain numbers become constant leaves, errors explain the fix, and the result
remembers its operands. `Node` has what a Value can do apart from calculus: how it is compared,
converted, copied and printed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from functools import wraps
from operator import ge, gt, le, lt
from types import SimpleNamespace
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

from micrograd.core.errors import FAILURES, advice, explained, misuse
from micrograd.core.numbers import Number, as_number
from micrograd.core.pause import is_paused, open_blocks

Output = tuple[Number, Any]  # the data of a result, and its _backward
N = TypeVar("N", bound="Node")
P = ParamSpec("P")

operations: dict[str, Callable[..., Any]] = {}  # the key is the `_op` of the results
_new = object.__new__
_known_kinds: set[type] = set()  # types of results that are known to be numbers

# ---- 1. Recording


class operation:  # noqa: N801  # a decorator
    """A decorator that turns a function of nodes into an operation, as in `@operation("+")`.

    The function returns its `Output`. `_backward` receives the upstream gradient and the operands,
    so it does not need the result. Since nodes do not point to their results, there are no
    reference cycles: the whole graph is freed when the last reference to the loss is dropped.
    `advice` is for error messages.
    """

    def __init__(self, op: str, advice: str = "") -> None:
        self.op, self.advice = op, advice

    def __call__(self, f: Callable[Concatenate[N, P], Output]) -> Callable[Concatenate[N, ...], N]:
        """The decorator itself, while the body of the class runs and the class does not exist."""
        self.compute: Callable[..., Output] = f
        return self  # type: ignore[return-value]

    def __set_name__(self, kind: Any, name: str) -> None:
        """Puts the method into the class, `kind`; Python calls this when the class is complete."""
        op, compute = self.op, self.compute
        arity = compute.__code__.co_argcount
        # Computed once on 1.0, only to see whether its `_backward` captures anything. If not, it is
        # the same for all results, and sharing it saves 150 bytes a node. (Defaults capture, too.)
        _, first = compute(*[SimpleNamespace(data=1.0)] * arity)
        shared = None if first.__closure__ or first.__defaults__ else first

        # Written twice, because one function for any number of operands is slower.
        def unary(a: Node) -> Any:
            try:
                data, closure = compute(a)
            except FAILURES as error:
                raise explained(error, op, (a,)) from None
            node = _new(kind)
            node.data, node.grad, node._op = data, 0, op
            node._prev, node._chain_rule = (a,), shared or closure
            return node if type(data) is float and not open_blocks else _checked(node, unary)

        def binary(a: Node, b: Any) -> Any:
            if not isinstance(b, Node):
                b = as_operand(b, a, op)
                if b is NotImplemented:
                    return b
            try:
                data, closure = compute(a, b)
            except FAILURES as error:
                raise explained(error, op, (a, b)) from None
            node = _new(kind)
            node.data, node.grad, node._op = data, 0, op
            node._prev, node._chain_rule = (a, b), shared or closure
            return node if type(data) is float and not open_blocks else _checked(node, binary)

        advice[op] = self.advice
        compute.__annotations__["return"] = kind.__name__  # for help()
        operations[op] = wraps(compute)(unary if arity == 1 else binary)
        setattr(kind, name, operations[op])
        kind.kind = kind


def record(op: str, compute: Callable[..., Output], *operands: N) -> N:
    """The result of an operation that is not a method, such as a power with a plain exponent."""
    try:
        data, closure = compute(*operands)
    except FAILURES as error:
        raise explained(error, op, operands) from None
    node = operands[0].new_leaf(data)
    node._op, node._prev, node._chain_rule = op, operands, closure
    return _checked(node, lambda *operands: record(op, compute, *operands))  # type: ignore[no-any-return]


def _checked(node: Any, operate: Callable[..., Any]) -> Any:
    # Checks a result whose data is not a float, and forgets what was computed under no_grad().
    data, operands = node.data, node._prev
    if type(data) is not float and type(data) not in _known_kinds:
        number = as_number(data)
        suspects = [a for a in operands if number is not data or not a._prev]
        if error := next(filter(None, map(misuse, suspects)), None):
            raise error
        if number is NotImplemented:
            got = f"{type(data).__name__} {data!r:.40}"
            raise TypeError(f"{node._op} gave {got}: expected a number")
        if number is not data:  # a NumPy number or an int
            node.data = number
            # If such a number was assigned to an operand, convert it and compute again.
            if any(as_number(a.data) is not a.data for a in operands):
                for a in operands:
                    a.data = as_number(a.data)
                return operate(*operands)
        elif not isinstance(data, Node):
            _known_kinds.add(type(data))
    if open_blocks and is_paused():  # some block is open: is it one of ours?
        node._op, node._prev, node._chain_rule = "", (), unrecorded
    return node


def as_operand(x: Any, beside: Node, op: str = "") -> Any:
    """The plain number x as a constant leaf, in the kind of number that `beside` has.

    If this is NotImplemented, Python asks the other operand, such as a NumPy array.
    """
    if isinstance(x, Node):
        return x
    if isinstance(beside.data, Node):  # for higher derivatives
        if beside.data is beside:
            raise misuse(beside) or RecursionError
        x = as_operand(x, beside.data, op)
    elif type(x) is not float:
        x = as_number(x, like=beside.data)
    if x is NotImplemented:
        if op.isidentifier():
            raise TypeError(f"{op} expects a Value or a number as its second operand")
        return x
    node = beside.new_leaf(x)
    node._chain_rule = constant
    return node


def reflected(forward: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The method for a plain number on the left, as in 2 - a."""

    def method(self: Node, other: Any) -> Any:
        other = as_operand(other, self)
        return other if other is NotImplemented else forward(other, self)

    return method


def of_leaf(upstream: Number, *operands: Any) -> None:
    """The `_backward` of a leaf, which has no operands."""


def constant(upstream: Number, *operands: Any) -> None:
    """The `_backward` of a leaf made from a plain number, such as the 2 in `2 * x`."""


def unrecorded(upstream: Number, *operands: Any) -> None:
    """The `_backward` of a result computed under `no_grad()`."""


class Own:
    """A `_backward` that a user assigned: it looks up the gradient of its result itself."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function

    def __call__(self, upstream: Number, *operands: Any) -> None:
        """Calls the function."""
        self.function()


# ---- 2. A node as a Python object


def _comparison(of_numbers: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: of_numbers(a.data, b.data if isinstance(b, Node) else b)


class Node:
    """What a Value can do, apart from calculus."""

    # Slots keep nodes small and fast. A label and a user's own attributes are in __dict__, which is
    # created when needed.
    __slots__ = ("__dict__", "__weakref__", "_chain_rule", "_op", "_prev", "data", "grad")
    kind: Any  # class Value: constants and results are of this class, also beside a subclass
    label: str = ""
    data: Number
    grad: Number
    _prev: tuple[Any, ...]
    _op: str
    _chain_rule: Callable[..., None]

    def new_leaf(self: N, data: Number) -> N:
        """A leaf with this data, as it is."""
        leaf: N = self.kind(0.0)
        leaf.data = data
        return leaf

    def check_arguments(self, data: Any, operands: Any) -> None:
        """Raises a TypeError if what the constructor got is not a number, or are not Values."""
        if self.data is NotImplemented:
            fix = "use float(), or values(...) for an array of Values"
            got = f"{type(data).__name__} {data!r:.40}"
            raise TypeError(f"a Value holds one real number, got {got}: {fix}")
        if not all(isinstance(operand, Node) for operand in self._prev):
            fix = f"use label={operands!r}" if isinstance(operands, str) else "use Value(x)"
            raise TypeError(f"a Value expects Values as its operands, got {operands!r:.40}: {fix}")

    def check_leaf(self) -> None:
        """Raises a TypeError if data or grad was set to something that is not a number."""
        if error := misuse(self):
            raise error
        self.data = as_number(self.data)  # NumPy's numbers become Python's
        self.grad = as_number(self.grad, like=0)

    @property
    def _backward(self) -> Callable[[], None]:
        """One step of the chain rule: a function that adds a contribution to each operand's grad.

        Assign a function of your own to define an operation.
        """
        rule = self._chain_rule
        if isinstance(rule, Own):
            return rule.function

        @wraps(rule)
        def _backward() -> None:
            if self._prev:  # may have been set to (), which cuts the graph here
                rule(self.grad, *self._prev)

        return _backward

    @_backward.setter
    def _backward(self, function: Callable[[], None]) -> None:
        self._chain_rule = Own(function)

    # As in PyTorch. Constants and results computed under no_grad() do not require a gradient.
    is_leaf = property(lambda v: not v._prev)
    is_constant = property(lambda v: v._chain_rule is constant)
    requires_grad = property(lambda v: v._chain_rule not in (constant, unrecorded))

    @property
    def is_own_operation(self) -> bool:
        """Whether a user defined this operation; its name does not tell how to compute it again."""
        return isinstance(self._chain_rule, Own) or (
            self._chain_rule is of_leaf and bool(self._prev)
        )

    def item(self) -> float:
        """The number as a float."""
        if type(self.data) is not float and (error := misuse(self)):
            raise error
        return self.data.item() if isinstance(self.data, Node) else float(self.data)

    def detach(self: N) -> N:
        """A leaf with the same data, from which no gradient flows back to this node."""
        return self.new_leaf(self.data.detach() if isinstance(self.data, Node) else self.data)

    def __isub__(self: N, other: Any) -> N:
        """`p -= step` changes a parameter's number inside `no_grad()`; else p is a new node."""
        difference: Any = self - other
        if is_paused() and self.is_leaf and self.requires_grad and isinstance(difference, Node):
            self.data = difference.data
            return self
        return difference  # type: ignore[no-any-return]

    # == and hash compare identity: a Value is a node, and two nodes may hold equal numbers.
    __lt__, __le__, __gt__, __ge__ = map(_comparison, (lt, le, gt, ge))

    def __bool__(self) -> bool:
        bool(self.data)  # raises an error if the number is traced
        return True

    def __pos__(self: N) -> N:
        return self

    def __float__(self) -> NoReturn:
        reason = "float(), int() and math functions would detach the result from the graph"
        raise TypeError(f"{reason}: use .item() for the number, or .exp() instead of math.exp")

    __int__ = __float__

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={self.grad})"

    def __getstate__(self) -> object:
        if self._prev:
            reason = f"the result of {self._op!r} is part of its graph and cannot be copied"
            raise TypeError(f"{reason}: copy its .detach(), or the leaves it was computed from")
        return object.__getstate__(self)


numbers.Number.register(Node)  # so that data may be a Value
data_slot: Any = Node.data  # where a node keeps its numbers; compiled functions move them to arrays
grad_slot: Any = Node.grad


def innermost(x: Any) -> Any:
    """The plain number in a Value, even if Values are nested in its data."""
    while isinstance(x, Node):
        x = x.data
    return x
