"""`Value`, a number that remembers how it was computed.

Arithmetic on Values builds a graph in which each result points to its operands. `backward()` walks
the graph from the last result back to the inputs, and stores the derivative of the last result with
respect to each node in the `grad` of that node.

    >>> a, b = Value(2.0), Value(-3.0)
    >>> loss = (a * b + 10.0) ** 2
    >>> loss.backward()
    >>> loss.data, a.grad, b.grad
    (16.0, -24.0, 16.0)

Derivatives are written in one place only: the `_backward` function inside each operation. It
receives the upstream gradient d loss / d result and the operands, and applies the chain rule:

    d loss / d operand  +=  d result / d operand  *  d loss / d result
                            (local derivative)       (upstream gradient)

It adds with +=, because an operand can reach the loss along several paths and their contributions
add up.

Operations never test the type of their data or branch on it; they use only arithmetic, `<`, `>` and
the functions in `arithmetic.py`. So data may be a float, a fraction (exact gradients), another
Value (derivatives of derivatives), or a traced number, which records the operations on it. In
the formulas, a and b are operands, and x and y are their data.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from functools import wraps
from operator import ge, gt, le, lt
from types import FunctionType
from typing import Any, NoReturn

from micrograd import arithmetic
from micrograd.arithmetic import FAILURES, Number, as_exact, as_number, half, power, take, where
from micrograd.pause import is_paused, no_grad, open_blocks

__all__ = ["Constant", "Value", "no_grad", "take", "topological_order", "where"]

Rule = tuple[Number, Any]  # what a decorated function returns: the result's data and its _backward

# ---- 1. Recording: from a function of numbers to a node of the graph

operations: dict[str, Callable[..., Value]] = {}  # the key is the `_op` of the results
_new = object.__new__


def _operation(op: str, advice: str = "") -> Callable[[Callable[..., Rule]], Callable[..., Value]]:
    """A decorator for a function that takes operands and returns `data, _backward`.

    It turns the function into an operation: plain numbers become Constants, errors explain the fix,
    and the result is recorded. Its closure, `_backward`, receives the upstream gradient, so it does
    not need the result. Since nodes do not point to their results, there are no reference cycles:
    the whole graph is freed when the last reference to the loss is dropped.
    """
    arithmetic.advice[op] = advice

    def decorate(rule: Callable[..., Rule]) -> Callable[..., Value]:
        # A `_backward` that captures nothing is shared by all results: it saves 150 bytes a node.
        code = next(x for x in rule.__code__.co_consts if getattr(x, "co_name", "") == "_backward")
        shared = None if code.co_freevars else FunctionType(code, rule.__globals__)

        def unary(a: Value) -> Value:
            try:
                data, closure = rule(a)
            except FAILURES as error:
                raise arithmetic.explained(error, op, (a,)) from None
            if type(data) is not float or open_blocks:
                return _node(Value, data, (a,), op, shared or closure)
            node: Value = _new(Value)  # _node() inlined, which saves a tenth of the time
            node.data, node.grad, node._op = data, 0, op
            node._prev, node._closure = (a,), shared or closure
            return node

        def binary(a: Value, b: Any) -> Any:
            if not isinstance(b, Value):
                b = _as_value(b, a.data, op)
                if b is NotImplemented:
                    return b
            try:
                data, closure = rule(a, b)
            except FAILURES as error:
                raise arithmetic.explained(error, op, (a, b)) from None
            if type(data) is not float or open_blocks:
                return _node(Value, data, (a, b), op, shared or closure)
            node: Value = _new(Value)
            node.data, node.grad, node._op = data, 0, op
            node._prev, node._closure = (a, b), shared or closure
            return node

        operations[op] = wraps(rule)(unary if rule.__code__.co_argcount == 1 else binary)
        return operations[op]

    return decorate


def _node(kind: Any, data: Number, operands: tuple[Value, ...], op: str, closure: Any) -> Value:
    if operands:
        if type(data) is not float and (error := arithmetic.result_error(data, op, operands)):
            raise error
        if open_blocks and is_paused():
            operands, op, closure = (), "", _unrecorded
    node: Value = _new(kind)
    node.data, node.grad, node._op = data, 0, op
    node._prev, node._closure = operands, closure
    return node


def _leaf(upstream: Number, *operands: Value) -> None:
    """The closure of a leaf, which has no operands."""


def _unrecorded(upstream: Number, *operands: Value) -> None:
    """The closure that marks a result computed under `no_grad()`; otherwise it is like `_leaf`."""


def _as_value(x: Any, beside: Number, op: str = "") -> Any:
    # If this is NotImplemented, Python asks the other operand, such as a NumPy array.
    if isinstance(x, Value):
        return x
    if isinstance(beside, Value):
        if beside.data is beside:
            raise arithmetic.misuse(beside) or RecursionError
        x = _as_value(x, beside.data, op)
    elif type(x) is not float:
        x = arithmetic.as_kind_of(beside, x)
    if x is NotImplemented and op.isidentifier():
        raise TypeError(f"{op} expects a Value or a number as its second operand")
    return x if x is NotImplemented else _node(Constant, x, (), "", _leaf)


def _reflected(method: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def reflected(self: Value, other: Any) -> Any:
        other = _as_value(other, self.data)
        return other if other is NotImplemented else method(other, self)

    return reflected


def _comparison(of_numbers: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def comparison(a: Value, b: Any) -> Any:
        try:
            return of_numbers(a.data, b.data if isinstance(b, Value) else b)
        except (TypeError, RecursionError) as error:
            operands = (a, b) if isinstance(b, Value) else (a,)
            raise arithmetic.explained(error, of_numbers.__name__, operands) from None

    return comparison


def topological_order(*roots: Value) -> list[Value]:
    """The roots and all nodes from which they were computed, operands before results.

    A depth-first walk lists each node after its operands. It keeps its path in a list, because
    recursion would overflow Python's call stack on a deep graph. A cycle raises a ValueError.

    >>> a = Value(2.0)
    >>> b = a * a
    >>> c = b + a
    >>> topological_order(c) == [a, b, c]
    True
    """
    order: list[Value] = []
    listed: set[Value] = set()
    longest = 1000
    for node in roots:
        path: list[Value] = []
        while node not in listed:
            for operand in node._prev:
                if operand in listed:
                    continue
                if operand._prev:  # go down
                    path.append(node)
                    node = operand
                    if len(path) > longest:  # check for a cycle each time the path doubles
                        longest = 2 * len(path)
                        if len(set(path)) < len(path):
                            raise ValueError(f"the graph has a cycle: {node!r} leads to itself")
                    break
                listed.add(operand)
                order.append(operand)
            else:  # go up
                listed.add(node)
                order.append(node)
                node = path.pop() if path else node
    return order


def innermost(x: Any) -> Any:
    """The plain number in a Value, even if Values are nested in its data.

    >>> innermost(Value(Value(2.0)))
    2.0
    """
    while isinstance(x, Value):
        x = x.data
    return x


class Value:
    """A scalar node of a computational graph.

    Attributes:
        data: the number; Python and NumPy real numbers become floats, other kinds are kept.
        grad: d root / d self after `root.backward()`; in leaves it accumulates over several calls.
        label: a name for drawings and messages.
        _prev, _op: the operands and the operation; () and '' for a leaf.

    To define your own operation, create `out = Value(data, _children, _op)` and set `out._backward`
    to a function without arguments that adds to the grad of each operand. Data that is not a real
    number raises a TypeError.

    >>> x = Value(0.25, label="x")
    >>> [round(f(x).data, 3) for f in (Value.exp, Value.log, Value.sqrt, Value.sin, Value.cos)]
    [1.284, -1.386, 0.5, 0.247, 0.969]
    >>> [round(f(x).data, 3) for f in (Value.tanh, Value.sigmoid, Value.relu, abs)]
    [0.245, 0.562, 0.25, 0.25]
    >>> x.maximum(1.0).item(), x.minimum(1.0).item(), (x * 2.0).detach()
    (1.0, 0.25, Value(data=0.5, grad=0))
    """

    # Slots hold the attributes that every node has, which keeps nodes small and fast. Rare ones (a
    # label, a user's own attributes or _backward) are in __dict__, which is created when needed.
    __slots__ = ("__dict__", "__weakref__", "_closure", "_op", "_prev", "data", "grad")
    label: str = ""

    def __init__(
        self, data: Number, _children: Iterable[Value] = (), _op: str = "", label: str = ""
    ) -> None:
        self.data: Number = data if type(data) is float else as_number(data)
        if self.data is NotImplemented:
            raise TypeError(
                f"a Value holds one real number, got {type(data).__name__} {data!r:.40}: convert a "
                "string with float(), or make one Value for each element of a list or an array"
            )
        self.grad: Number = 0
        self._prev: tuple[Value, ...] = tuple(_children)
        if self._prev and not all(isinstance(child, Value) for child in self._prev):
            fix = f"use label={_children!r}" if isinstance(_children, str) else "use Value(x)"
            raise TypeError(f"a Value expects Values as its operands, got {_children!r:.40}: {fix}")
        self._op = _op
        self._closure: Callable[..., None] = _leaf
        if label:
            self.label = label

    # ---- 2. The operations: each defines its result and its derivatives in one place
    @_operation("+")
    def __add__(a: Value, b: Value) -> Rule:
        """The sum a + b;  d/da = 1,  d/db = 1."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += upstream
            b.grad += upstream

        return a.data + b.data, _backward

    @_operation("-")
    def __sub__(a: Value, b: Value) -> Rule:
        """The difference a - b;  d/da = 1,  d/db = -1."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += upstream
            b.grad -= upstream

        return a.data - b.data, _backward

    @_operation("*")
    def __mul__(a: Value, b: Value) -> Rule:
        """The product a * b;  d/da = b,  d/db = a."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += b.data * upstream
            b.grad += a.data * upstream

        return a.data * b.data, _backward

    @_operation("/", "the quotient is not defined; keep y away from 0, for example y + 1e-8")
    def __truediv__(a: Value, b: Value) -> Rule:
        """The quotient q = a / b;  d/da = 1 / b,  d/db = -q / b."""
        q = a.data / b.data

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += upstream / b.data
            b.grad -= q / b.data * upstream

        return q, _backward

    @_operation("**")
    def _power(a: Value, b: Value) -> Rule:
        """The power p = a ** b;  d/da = b a^(b-1), which is 0 for b = 0;  d/db = p log a."""
        p = power(a.data, b.data)

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            x, y = a.data, b.data
            size = abs(x) + abs(y)
            # 0 * 0^0 instead of 0 * 0^-1 if both are 0; p * log 1 instead of p * log 0 if x is 0
            a.grad += y * power(x, where(size > 0, y - 1, 0 * size)) * upstream
            b.grad += p * arithmetic.log(where(x > 0, x, where(x < 0, x, 1))) * upstream

        return p, _backward

    def __pow__(self, other: Number) -> Value:
        """The power a ** b;  a plain exponent is part of `_op`, as in `**2`;  a ** 0 = 1."""
        n = as_exact(other)
        if not isinstance(n, (float, int, numbers.Real)):
            return self._power(other)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += n * power(a.data, n - 1 if n else 0) * upstream

        try:
            return _node(Value, power(self.data, n), (self,), f"**{n}", _backward)
        except FAILURES as error:
            raise arithmetic.explained(error, f"**{n}", (self,)) from None

    def __rpow__(self, other: Number) -> Value:
        """The power p = n ** a;  a plain base is part of `_op`, as in `2**`.

        d/da = p log n, which is 0 for n = 0.
        """
        n = as_exact(other)
        if not isinstance(n, (float, int, numbers.Real)):
            return _reflected(Value._power)(self, other)  # type: ignore[no-any-return]
        op = f"({n})**" if n < 0 else f"{n}**"
        try:
            p = power(arithmetic.as_kind_of(self.data, n), self.data)
        except FAILURES as error:
            raise arithmetic.explained(error, op, (self,)) from None

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += (p * arithmetic.log(n) if n else 0) * upstream

        return _node(Value, p, (self,), op, _backward)

    @_operation("neg")
    def __neg__(a: Value) -> Rule:
        """The negative -a;  d/da = -1."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad -= upstream

        return -a.data, _backward

    @_operation("abs")
    def __abs__(a: Value) -> Rule:
        """The absolute value |a|;  d/da = 1 for a > 0, -1 for a < 0, 0 at 0."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += where(a.data > 0, upstream, where(a.data < 0, -upstream, 0))

        return abs(a.data), _backward

    __rsub__, __rmul__ = _reflected(__sub__), _reflected(__mul__)
    __rtruediv__ = _reflected(__truediv__)

    def __radd__(self, other: Number) -> Value:
        """The sum; adding the int 0 creates no node, because Python's sum() starts with 0."""
        return self if type(other) is int and other == 0 else _reflected(Value.__add__)(self, other)

    # These methods are named after NumPy's functions, so that np.tanh(array_of_values) works.

    @_operation("exp", "the result exceeds the largest float, 1.8e308; keep x below 709")
    def exp(a: Value) -> Rule:
        """The exponential e = e^a;  d/da = e."""
        e = arithmetic.exp(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += e * upstream

        return e, _backward

    @_operation("log", "the logarithm needs x > 0; use, for example, x.maximum(1e-12).log()")
    def log(a: Value) -> Rule:
        """The natural logarithm log a, for a > 0;  d/da = 1 / a."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += upstream / a.data

        return arithmetic.log(a.data), _backward

    @_operation("sqrt", "the root needs x >= 0, and its derivative x > 0; use (x + 1e-12).sqrt()")
    def sqrt(a: Value) -> Rule:
        """The square root r = a^(1/2), for a >= 0;  d/da = 1 / (2 r), not defined at 0."""
        r = arithmetic.sqrt(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += upstream / (2 * r)

        return r, _backward

    @_operation("sin", "not defined at infinity; find the earlier operation that overflowed")
    def sin(a: Value) -> Rule:
        """The sine of a, in radians;  d/da = cos a."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += arithmetic.cos(a.data) * upstream

        return arithmetic.sin(a.data), _backward

    @_operation("cos", "not defined at infinity; find the earlier operation that overflowed")
    def cos(a: Value) -> Rule:
        """The cosine of a, in radians;  d/da = -sin a."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad -= arithmetic.sin(a.data) * upstream

        return arithmetic.cos(a.data), _backward

    @_operation("tanh")
    def tanh(a: Value) -> Rule:
        """The hyperbolic tangent t = tanh a, accurate for all inputs;  d/da = 1 - t^2."""
        t = arithmetic.tanh(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += (1 - t * t) * upstream

        return t, _backward

    @_operation("sigmoid")
    def sigmoid(a: Value) -> Rule:
        """The logistic function s = 1 / (1 + e^-a), accurate for all inputs;  d/da = s (1 - s)."""
        s = arithmetic.sigmoid(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += s * (1 - s) * upstream

        return s, _backward

    @_operation("ReLU")
    def relu(a: Value) -> Rule:
        """The rectifier max(a, 0);  d/da = 1 for a > 0, else 0 (including at 0)."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += where(a.data > 0, upstream, 0)

        return arithmetic.relu(a.data), _backward

    @_operation("maximum")
    def maximum(a: Value, b: Value) -> Rule:
        """The larger of a and b;  d/da = 1 for a > b, 1/2 for a = b, else 0;  d/db = 1 - d/da."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += where(a.data > b.data, upstream, where(a.data < b.data, 0, half(upstream)))
            b.grad += where(b.data > a.data, upstream, where(b.data < a.data, 0, half(upstream)))

        return arithmetic.maximum(a.data, b.data), _backward

    @_operation("minimum")
    def minimum(a: Value, b: Value) -> Rule:
        """The smaller of a and b;  d/da = 1 for a < b, 1/2 for a = b, else 0;  d/db = 1 - d/da."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += where(a.data < b.data, upstream, where(a.data > b.data, 0, half(upstream)))
            b.grad += where(b.data < a.data, upstream, where(b.data > a.data, 0, half(upstream)))

        return arithmetic.minimum(a.data, b.data), _backward

    # ---- 3. Backpropagation
    def _backward(self) -> None:
        """Applies one step of the chain rule: adds a contribution to the grad of each operand."""
        if self._prev:  # may have been set to (), which cuts the graph here
            self._closure(self.grad, *self._prev)

    def backward(self, gradient: Number = 1) -> None:
        """Computes the derivative of this node with respect to every node that it depends on.

        A node can pass its gradient on only when the gradient is complete, that is, after all nodes
        that use it have passed theirs on. So the closures run in reverse topological order. Each
        call resets interior gradients to 0 but adds to the gradients of leaves, so a second call
        doubles those exactly. `gradient` is the upstream gradient of this node.

        Raises ArithmeticError or ValueError where a derivative does not exist, and RuntimeError if
        this node was computed under `no_grad()`.
        """
        if self._closure is _unrecorded:
            raise RuntimeError("this Value was computed inside no_grad(): compute it outside")
        if as_exact(gradient) is NotImplemented:
            raise TypeError(f"backward expects one number as gradient, got {gradient!r:.40}")
        gradient = as_exact(gradient)
        order = topological_order(self)
        for node in order:
            if node._prev:
                node.grad = 0
            elif (type(node.data) is not float or type(node.grad) not in (int, float)) and (
                error := arithmetic.misuse(node)
            ):
                raise error
        if isinstance(self.data, numbers.Rational):
            gradient += 0 * self.data  # makes it a fraction: half of the int 1 would be a float
        self.grad += gradient
        try:
            for node in reversed(order):
                node._backward()
        except FAILURES as error:
            # A variable for the new error would be a reference cycle through its traceback.
            raise arithmetic.explained_at(node, error, "backward pass")  # noqa: B904

    # ---- 4. A Value as a Python object
    def item(self) -> float:
        """The number as a float."""
        if type(self.data) is not float and (error := arithmetic.misuse(self)):
            raise error
        return self.data.item() if isinstance(self.data, Value) else float(self.data)

    def detach(self) -> Value:
        """A leaf with the same data, from which no gradient flows back to this node."""
        return Value(self.data.detach() if isinstance(self.data, Value) else self.data)

    # As in PyTorch. Constants and results computed under no_grad() do not require a gradient.
    is_leaf = property(lambda v: not v._prev)
    requires_grad = property(lambda v: v._closure is not _unrecorded and type(v) is not Constant)

    # == and hash compare identity: a Value is a node, and two nodes may hold equal numbers.
    __lt__, __le__, __gt__, __ge__ = map(_comparison, (lt, le, gt, ge))

    def __bool__(self) -> bool:
        bool(self.data)  # raises an error if the number is traced
        return True

    def __pos__(self) -> Value:
        return self

    def __matmul__(self, other: object) -> Any:
        if hasattr(other, "__array_ufunc__") and not isinstance(other, Value):
            return NotImplemented
        raise TypeError("@ multiplies arrays, such as values([...]); between single Values use *")

    __rmatmul__ = __matmul__

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


class Constant(Value):
    """A leaf that an operation creates from a plain number, such as the 2 in `2 * x`.

    >>> isinstance((2 * Value(3.0))._prev[0], Constant)
    True
    """


numbers.Number.register(Value)  # so that data may be a Value
