"""What surrounds every operation of `engine.py`: how its result becomes a node of the graph.

The functions in class Value return the result's data and its `_backward`. `operation` turns each of
them into a method: plain numbers become constant leaves, errors explain the fix, and the result
remembers its operands. `Node` is how a Value is compared, converted, copied and printed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from functools import wraps
from operator import ge, gt, is_, le, lt
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, SupportsFloat, TypeVar, overload

from micrograd.core.arithmetic import Number, as_number
from micrograd.core.errors import FAILURES, advice, explained, misuse
from micrograd.core.pause import is_paused, open_blocks, running
from micrograd.core.shapes import plain

Output = tuple[Number, Any]  # the data of a result, and its _backward
N = TypeVar("N", bound="Node")

operations: dict[str, Callable[..., Any]] = {}  # the key is the `_op` of the results
_new = object.__new__
Value: Any = None  # the class in engine.py, which sets it; results of its subclasses are of it, too
_known_kinds: set[type] = set()  # types of results that are known to be numbers

# ---- 1. Recording


class _Decorator(Protocol):
    # Of a function of one node or of two; the second operand of an operation may be a plain number.
    @overload
    def __call__(self, compute: Callable[[N], Output]) -> Callable[[N], N]: ...
    @overload
    def __call__(self, compute: Callable[[N, N], Output]) -> Callable[[N, SupportsFloat], N]: ...


def operation(op: str, fix: str = "") -> _Decorator:
    """A decorator that turns a function of nodes into an operation; `fix` is for error messages.

    The function returns its `Output`. `_backward` receives the upstream gradient and the operands,
    so it does not need the result. Since nodes do not point to their results, there are no
    reference cycles: the whole graph is freed when the last reference to the loss is dropped.
    """

    def decorator(compute: Callable[..., Output]) -> Any:
        arity = compute.__code__.co_argcount
        # If its `_backward` captures nothing, all results share one: this saves 150 bytes a node.
        codes = (c for c in compute.__code__.co_consts if getattr(c, "co_name", "") == "_backward")
        code = next(codes, None)
        shared = FunctionType(code, compute.__globals__) if code and not code.co_freevars else None

        def binary(a: Node, b: Any) -> Any:  # does what `record` does, without the cost of a call
            if not isinstance(b, Node) and (b := as_operand(b, a, op)) is NotImplemented:
                return b
            try:
                data, closure = compute(a, b)
            except FAILURES as error:
                raise explained(error, op, (a, b)) from None
            node = _new(Value)
            node.data, node.grad, node._op = data, 0, op
            node._prev, node._chain_rule = (a, b), shared or closure
            return node if type(data) is float and not open_blocks else _checked(node, compute)

        advice[op] = fix
        compute.__annotations__["return"] = "Value"  # for help()
        method = binary if arity == 2 else lambda a: record(op, compute, a, shared=shared)
        operations[op] = wraps(compute)(method)
        return operations[op]

    return decorator


def record(op: str, compute: Callable[..., Output], *operands: N, shared: Any = None) -> N:
    """The result of an operation, as a node that remembers its operands and its `_backward`."""
    try:
        data, closure = compute(*operands)
    except FAILURES as error:
        raise explained(error, op, operands) from None
    node: N = _new(Value)
    node.data, node.grad, node._op = data, 0, op
    node._prev, node._chain_rule = operands, shared or closure
    return node if type(data) is float and not open_blocks else _checked(node, compute)


def _checked(node: N, compute: Callable[..., Output]) -> N:
    # Checks a result whose data is not a float, and forgets what was computed under no_grad().
    data, operands = node.data, node._prev
    if type(data) is not float and type(data) not in _known_kinds:
        number = data if type(data) is Value else as_number(data)
        suspects = [*(a for a in operands if number is not data or not a._prev), node]
        if error := next(filter(None, map(misuse, suspects)), None):
            raise error
        node.data = number
        if number is not data and any(as_number(a.data) is not a.data for a in operands):
            for a in operands:  # a NumPy number or an int was assigned: convert it
                a.data = as_number(a.data)
            return record(node._op, compute, *operands)  # type: ignore[no-any-return]
        if isinstance(data, Node):  # the operands must be of one level; numbers have no gradient
            level = max(map(level_of, operands))
            equals = [a if a._chain_rule is constant else raised(a, level) for a in operands]
            if not all(map(is_, operands, equals)):
                return record(node._op, compute, *equals)  # type: ignore[no-any-return]
        else:
            _known_kinds.add(type(number))
    if open_blocks and is_paused():  # some block is open: is it one of ours?
        node._op, node._prev, node._chain_rule = "", (), unrecorded
    return node


def raised(x: Number, level: int) -> Any:
    """A Value of at least this level: x, or a constant whose data is x: gradients reach x."""
    while level_of(x) < level:
        x = as_constant(x)
    return x


def level_of(x: Number) -> int:
    """How many Values are nested in x: -1 for a plain number, 0 for a Value of a plain number."""
    level = -1
    while isinstance(x, Node):
        level, x = level + 1, x.data
    return level


def as_constant(number: Number) -> Any:
    """A leaf that holds a number and gets no gradient."""
    node = _new(Value)
    node.data, node.grad, node._op = number, 0, ""
    node._prev, node._chain_rule = (), constant
    return node


def as_value(x: Any) -> Any:
    """The Value x, also one in an array without axes; a number becomes a leaf."""
    return x if isinstance(x, Node) or isinstance(x := plain(x), Node) else Value(x)


def as_operand(x: Number, beside: Node, op: str = "") -> Any:
    """The plain number x as a constant leaf, in the kind of number that `beside` has.

    If this is NotImplemented, Python asks the other operand, such as a NumPy array.
    """
    if type(x) is not float:
        if isinstance(x := plain(x), Node):
            return x
        if beside.data is beside:
            raise misuse(beside) or RecursionError
        x = as_number(x, like=innermost(beside.data))
    if x is NotImplemented and op.isidentifier():
        raise TypeError(f"{op} expects a Value or a number as its second operand")
    return x if x is NotImplemented else as_constant(x)


def reflected(forward: Callable[[Any, Any], Any]) -> Callable[[N, SupportsFloat], N]:
    """The method for a plain number on the left, as in 2 - a."""

    def method(self: N, other: Any) -> N:
        other = as_operand(other, self)
        return other if other is NotImplemented else forward(other, self)

    return method


# A node without an operation has one of these four functions in the place of a rule. They do
# nothing, and which one it is says what the node is: so this costs no memory.


def of_leaf(upstream: Number, *operands: object) -> None:
    """The `_backward` of a leaf, which has no operands."""


def constant(upstream: Number, *operands: object) -> None:
    """The `_backward` of a leaf made from a plain number, such as the 2 in `2 * x`."""


def frozen(upstream: Number, *operands: object) -> None:
    """The `_backward` of a leaf with `requires_grad = False`."""


def unrecorded(upstream: Number, *operands: object) -> None:
    """The `_backward` of a result computed under `no_grad()`."""


class Own:
    """A `_backward` that a user assigned: it looks up the gradient of its result itself."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function

    def __call__(self, upstream: Number, *operands: Any) -> None:
        """Calls the function."""
        self.function()


# ---- 2. A node as a Python object


def _comparison(of_numbers: Callable[[Any, Any], Any]) -> Callable[[Node, SupportsFloat], bool]:
    return lambda a, b: of_numbers(a.data, b.data if isinstance(b, Node) else b)


class Node:
    """What a Value can do, apart from calculus."""

    # Slots keep nodes small and fast; the label and a user's own attributes are in __dict__.
    __slots__ = ("__dict__", "__weakref__", "_chain_rule", "_op", "_prev", "data", "grad")
    label: str = ""
    data: Number
    grad: Number
    _prev: tuple[Any, ...]
    _op: str
    _chain_rule: Callable[..., None]
    if TYPE_CHECKING:  # what `operations.py` adds to Value

        def _of_one(self: N) -> N: ...
        def _of_two(self: N, other: SupportsFloat) -> N: ...

        tan = arcsin = arccos = arctan = asin = acos = atan = sinh = cosh = _of_one
        erf = expm1 = log1p = softplus = _of_one
        arctan2 = atan2 = logaddexp = _of_two
    is_declared = False  # as a parameter; then other leaves of its module are not trained
    freezes: object = None  # another one after each freezing; compiled functions check it

    def __init_subclass__(cls) -> None:
        global Value
        Value = Value or cls  # class Value is the first

    def check_arguments(self, data: object, operands: object) -> None:
        """Raises a TypeError if what the constructor got is not a number, or are not Values."""
        if (made := running.get()[1]) is not None:
            made.append(self)  # by the function whose derivative is being computed
        if self.data is NotImplemented:
            self.data = data
            raise misuse(self) or TypeError
        if not all(isinstance(operand, Node) for operand in self._prev):
            fix = f"use label={operands!r}" if isinstance(operands, str) else "use Value(x)"
            raise TypeError(f"a Value expects Values as its operands, got {operands!r:.40}: {fix}")

    def check_leaf(self) -> None:
        """Raises a TypeError if data or grad was set to something that is not a number."""
        if error := misuse(self):
            raise error
        self.data, self.grad = as_number(self.data), as_number(self.grad, like=0)  # not NumPy's

    @property
    def _backward(self) -> Callable[[], None]:
        """One step of the chain rule; assign a function of your own to define an operation."""
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

    is_leaf = property(lambda v: not v._prev)
    is_constant = property(lambda v: v._chain_rule is constant)
    is_frozen = property(lambda v: v._chain_rule is frozen)
    is_unrecorded = property(lambda v: v._chain_rule is unrecorded)  # under no_grad()

    @property
    def requires_grad(self) -> bool:
        """Whether it gets a gradient, as in PyTorch; False freezes a leaf, True undoes that."""
        return self._chain_rule not in (constant, frozen, unrecorded)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if self._prev or self.is_unrecorded:
            reason = "requires_grad of a result follows from its operands and cannot be set"
            raise RuntimeError(f"{reason}: set it on a leaf, or use .detach()")
        if wanted != self.requires_grad and (wanted or not self.is_constant):
            self._chain_rule = of_leaf if wanted else frozen
            Node.freezes = object()

    def item(self) -> float:
        """The number as a float."""
        if type(self.data) is not float:
            self.check_leaf()
        return self.data.item() if isinstance(self.data, Node) else float(self.data)

    def detach(self: N) -> N:
        """A leaf with the same data, from which no gradient flows back to this node."""
        data = self.data.detach() if isinstance(self.data, Node) else self.data
        return Value(data)  # type: ignore[no-any-return]

    def __isub__(self: N, other: Number) -> N:
        """`p -= step` changes a parameter's number inside `no_grad()`; else p is a new node."""
        difference: Any = self - other
        if is_paused() and self.is_leaf and self.requires_grad and isinstance(difference, Node):
            self.data = difference.data
            return self
        return difference  # type: ignore[no-any-return]

    __pos__ = conjugate = lambda v: v  # NumPy asks for the conjugate in norms and variances

    # == and hash compare identity: a Value is a node, and two nodes may hold equal numbers.
    __lt__, __le__, __gt__, __ge__ = map(_comparison, (lt, le, gt, ge))

    def __bool__(self) -> bool:
        bool(self.data)  # raises an error if the number is traced
        return True

    def __float__(self) -> NoReturn:
        fix = "use .item() for the number, or a method: x.exp() instead of math.exp(x)"
        raise TypeError(f"float(), int() and math functions would leave the graph: {fix}")

    __int__ = __float__

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"Value(data={self.data!s}, grad={self.grad!s})"

    def __getstate__(self) -> object:
        if self._prev:
            fix = "copy its .detach(), or the leaves it was computed from"
            raise TypeError(f"the result of {self._op!r} is part of its graph, not copied: {fix}")
        return object.__getstate__(self)


numbers.Number.register(Node)  # so that data may be a Value


def innermost(x: Number) -> Number:
    """The plain number in a Value, even if Values are nested in its data."""
    while isinstance(x, Node):
        x = x.data
    return x
