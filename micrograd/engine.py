"""`Value`, a number that remembers how it was computed.

Arithmetic on Values builds a graph in which each result points to its operands. `backward()` walks
the graph from the last result back to the inputs, and stores the derivative of the last result with
respect to each node in the `grad` of that node.

    >>> a, b = Value(2.0), Value(-3.0)
    >>> loss = (a * b + 10.0) ** 2
    >>> loss.backward()
    >>> loss.data, a.grad, b.grad
    (16.0, -24.0, 16.0)

Each operation contains a function `_backward` with its derivatives; they are written nowhere else.
It gets the upstream gradient and the operands as arguments, and applies the chain rule:

    d loss / d operand  +=  d result / d operand  *  d loss / d result
                            (local derivative)       (upstream gradient)

It adds with +=, because an operand can reach the loss along several paths and their contributions
add up. An operation returns its `Output`: the result's data and this function. `@operation` (in
`core/node.py`) makes a Value of them and keeps the function as `_chain_rule`. For a step by hand,
the property `_backward` calls it: `node._backward()`, without arguments, passes the node's gradient
and operands to it. Under `no_grad()` a result keeps neither operands nor function.

Operations never test the type of their data or branch on it; they use only arithmetic, `<`, `>` and
the functions in `core/arithmetic.py`. So data may be a float, a fraction (exact gradients), another
Value (derivatives of derivatives), or a traced number, which the compiler uses to record a program.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Rational, Real
from operator import add, mul, sub, truediv
from typing import SupportsFloat

from micrograd.core import arithmetic
from micrograd.core.arithmetic import Number, as_number, power, where
from micrograd.core.errors import FAILURES, explained
from micrograd.core.node import Node, Output, of_leaf, operation, record, reflected
from micrograd.core.pause import no_grad, open_levels, watchers

__all__ = ["Value", "no_grad", "topological_order", "where"]


class Value(Node):
    """A scalar node of a computational graph.

    Attributes:
        data: a real number (else a TypeError); ints and NumPy's numbers become floats.
        grad: d root / d self after `root.backward()`; in leaves it accumulates over several calls.
        label: a name for drawings and messages.
        _prev, _op: the operands and the operation; () and '' for a leaf.

    For an operation outside this class, create `out = Value(data, _children, _op)` and set
    `out._backward` to a function without arguments, which reads `out.grad` and adds to the grad of
    each operand.

    >>> x = Value(0.25, label="x")
    >>> [round(f(x).data, 3) for f in (Value.exp, Value.log, Value.sqrt, Value.sin, Value.cos)]
    [1.284, -1.386, 0.5, 0.247, 0.969]
    >>> x.maximum(1.0).item(), x.minimum(1.0).item(), (x * 2.0).detach()
    (1.0, 0.25, Value(data=0.5, grad=0))
    """

    __slots__ = ()

    def __init__(
        self, data: SupportsFloat, _children: Iterable[Value] = (), _op: str = "", label: str = ""
    ) -> None:
        self.data = data if type(data) is float else as_number(data)
        self.grad = 0
        self._prev = tuple(_children)
        self._op = _op
        self._chain_rule = of_leaf
        if label:
            self.label = label
        if self._prev or open_levels or self.data is NotImplemented:
            self.check_arguments(data, _children)

    # ---- 1. The operations: result and derivatives in one place; a text is the fix in an error

    @operation("+")
    def __add__(a: Value, b: Value) -> Output:
        """The sum a + b;  d/da = 1,  d/db = 1."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += upstream
            b.grad += upstream

        return a.data + b.data, _backward

    @operation("-")
    def __sub__(a: Value, b: Value) -> Output:
        """The difference a - b;  d/da = 1,  d/db = -1."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += upstream
            b.grad -= upstream

        return a.data - b.data, _backward

    @operation("*")
    def __mul__(a: Value, b: Value) -> Output:
        """The product a * b;  d/da = b,  d/db = a."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += b.data * upstream
            b.grad += a.data * upstream

        return a.data * b.data, _backward

    @operation("/", "the quotient is not defined; keep y away from 0, for example y + 1e-8")
    def __truediv__(a: Value, b: Value) -> Output:
        """The quotient q = a / b;  d/da = 1 / b,  d/db = -q / b."""
        q = a.data / b.data

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            a.grad += upstream / b.data
            b.grad -= q / b.data * upstream

        return q, _backward

    @operation("**")
    def _power(a: Value, b: Value) -> Output:
        """The power p = a ** b;  d/da = b a^(b-1), which is 0 for b = 0;  d/db = p log a."""
        p = power(a.data, b.data)

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            x, y = a.data, b.data
            either = abs(x) + abs(y)  # 0 only at 0 ** 0, where the exponent y - 1 would be -1
            if not a.is_constant:  # 0 * either is a 0 of the same kind of number
                a.grad += y * power(x, where(either > 0, y - 1, 0 * either)) * upstream
            nonzero = where(x > 0, x, where(x < 0, x, 1))  # at x = 0: log 1, so that d/db is 0
            b.grad += p * arithmetic.log(nonzero) * upstream

        return p, _backward

    def __pow__(self, other: SupportsFloat) -> Value:
        """The power a ** b;  if b is a plain number, a is the only operand, and `_op` is `**2`."""
        n = as_number(other, like=0)  # the int 2 stays an int: `**2`, not `**2.0`
        if not isinstance(n, Real):
            return self._power(other)

        def compute(a: Value) -> Output:
            def _backward(upstream: Number, a: Value) -> None:
                a.grad += n * power(a.data, (n - 1 if n else 0)) * upstream

            return power(a.data, n), _backward

        return record(f"**{n}", compute, self)

    @operation("neg")
    def __neg__(a: Value) -> Output:
        """The negative -a;  d/da = -1."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad -= upstream

        return -a.data, _backward

    @operation("abs")
    def __abs__(a: Value) -> Output:
        """The absolute value |a|;  d/da = 1 for a > 0, -1 for a < 0, 0 at 0."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += where(a.data > 0, upstream, where(a.data < 0, -upstream, 0))

        return abs(a.data), _backward

    # What Python calls for 2 - a.
    __rsub__, __rmul__, __rtruediv__ = map(reflected, (sub, mul, truediv))
    __rpow__ = reflected(pow)

    def __radd__(self, other: SupportsFloat) -> Value:
        """The sum; adding the int 0 creates no node, because Python's sum() starts with 0."""
        return self if type(other) is int and other == 0 else reflected(add)(self, other)

    # These methods are named after NumPy's functions, so that np.tanh(array_of_values) works.

    @operation("exp", "the result exceeds the largest float, 1.8e308; keep x below 709")
    def exp(a: Value) -> Output:
        """The exponential e = e^a;  d/da = e."""
        e = arithmetic.exp(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += e * upstream

        return e, _backward

    @operation("log", "the logarithm needs x > 0; use, for example, x.maximum(1e-12).log()")
    def log(a: Value) -> Output:
        """The natural logarithm log a, for a > 0;  d/da = 1 / a."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += upstream / a.data

        return arithmetic.log(a.data), _backward

    @operation("sqrt", "the root needs x >= 0, and its derivative x > 0; use (x + 1e-12).sqrt()")
    def sqrt(a: Value) -> Output:
        """The square root r = a^(1/2), for a >= 0;  d/da = 1 / (2 r), not defined at 0."""
        r = arithmetic.sqrt(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += upstream / (2 * r)

        return r, _backward

    @operation("sin", "not defined at infinity; find the earlier operation that overflowed")
    def sin(a: Value) -> Output:
        """The sine of a, in radians;  d/da = cos a."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += arithmetic.cos(a.data) * upstream

        return arithmetic.sin(a.data), _backward

    @operation("cos", "not defined at infinity; find the earlier operation that overflowed")
    def cos(a: Value) -> Output:
        """The cosine of a, in radians;  d/da = -sin a."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad -= arithmetic.sin(a.data) * upstream

        return arithmetic.cos(a.data), _backward

    @operation("tanh")
    def tanh(a: Value) -> Output:
        """The hyperbolic tangent t = tanh a, accurate for all inputs;  d/da = 1 - t^2."""
        t = arithmetic.tanh(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += (1 - t * t) * upstream

        return t, _backward

    @operation("sigmoid")
    def sigmoid(a: Value) -> Output:
        """The logistic function s = 1 / (1 + e^-a), accurate for all inputs;  d/da = s (1 - s)."""
        s = arithmetic.sigmoid(a.data)

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += s * (1 - s) * upstream

        return s, _backward

    @operation("ReLU")
    def relu(a: Value) -> Output:
        """The rectifier max(a, 0);  d/da = 1 for a > 0, else 0 (including at 0)."""

        def _backward(upstream: Number, a: Value) -> None:
            a.grad += where(a.data > 0, upstream, 0)

        return arithmetic.relu(a.data), _backward

    @operation("maximum")
    def maximum(a: Value, b: Value) -> Output:
        """The larger of a and b;  d/da = 1 for a > b, 1/2 for a = b, else 0;  d/db = 1 - d/da."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            half = arithmetic.half(upstream)
            a.grad += where(a.data > b.data, upstream, where(a.data < b.data, 0, half))
            b.grad += where(b.data > a.data, upstream, where(b.data < a.data, 0, half))

        return arithmetic.maximum(a.data, b.data), _backward

    @operation("minimum")
    def minimum(a: Value, b: Value) -> Output:
        """The smaller of a and b;  d/da = 1 for a < b, 1/2 for a = b, else 0;  d/db = 1 - d/da."""

        def _backward(upstream: Number, a: Value, b: Value) -> None:
            half = arithmetic.half(upstream)
            a.grad += where(a.data < b.data, upstream, where(a.data > b.data, 0, half))
            b.grad += where(b.data < a.data, upstream, where(b.data > a.data, 0, half))

        return arithmetic.minimum(a.data, b.data), _backward

    # ---- 2. Backpropagation

    def backward(self, gradient: Number = 1) -> None:
        """Computes the derivative of this node with respect to every node that it depends on.

        A node can pass its gradient on only when the gradient is complete, that is, after all nodes
        that use it have passed theirs on. So these functions run in reverse topological order. Each
        call resets interior gradients to 0 but adds to the gradients of leaves: a second call adds
        the same again. `gradient` is the upstream gradient of this node. Gradients are plain
        numbers: for the derivative of a derivative, use `derivative(f, x, order=2)`.

        Raises ArithmeticError or ValueError where a derivative does not exist, and RuntimeError if
        this node was computed under `no_grad()`.
        """
        if self.is_unrecorded:
            raise RuntimeError("this Value was computed inside no_grad(): compute it outside")
        # A fraction needs a fraction as the seed: maximum may halve it, and 1 / 2 is a float.
        seed = as_number(gradient, like=self.data if isinstance(self.data, Rational) else 0)
        if seed is NotImplemented:
            raise TypeError(f"backward expects one number as gradient, got {gradient!r:.40}")
        order = topological_order(self)
        for watcher in watchers:
            watcher.begin(order)
        for node in order:
            if node._prev:
                node.grad = 0
            elif type(node.data) is not float or type(node.grad) not in (int, float):
                node.check_leaf()  # its data and grad may have been set to anything
        self.grad += seed  # not =, because the root may itself be a leaf
        try:
            for node in reversed(order):
                if node._prev:
                    node._chain_rule(node.grad, *node._prev)  # what node._backward() does
                elif node.is_frozen:
                    node.grad = 0  # all contributions have arrived: drop them
        except FAILURES as error:
            # A variable for the new error would be a reference cycle through its traceback.
            raise explained(error, node._op, node._prev, "in the backward pass of ")  # noqa: B904
        for watcher in watchers:
            watcher.end(order)

    def zero_grad(self) -> None:
        """Resets the gradients of this node and of all nodes that it depends on."""
        for node in topological_order(self):
            node.grad = 0


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
    listed: set[Value] = set()  # by identity: nodes with equal numbers are different nodes
    longest = 1000
    for node in roots:
        path: list[Value] = []
        while node not in listed:  # `node` is where the walk stands
            for operand in node._prev:
                if operand in listed:
                    continue
                if operand._prev:  # go down: its operands come first
                    path.append(node)
                    node = operand
                    if len(path) > longest:  # check for a cycle each time the path doubles
                        longest = 2 * len(path)
                        if len(set(path)) < len(path):
                            raise ValueError(f"the graph has a cycle: {node!r} leads to itself")
                    break
                listed.add(operand)
                order.append(operand)
            else:  # the loop had no break, so all operands are listed: list the node, go up
                listed.add(node)
                order.append(node)
                node = path.pop() if path else node  # a listed root ends the loop
    return order
