"""Chapter 2: all of the calculus, read off the closures of chapter 1.

There is no derivative rule in this file. A closure knows how to hand an upstream gradient on to its
operands; run alone, with an upstream gradient of 1, it tells the local derivatives of its node, one
for each edge of the graph. From these numbers everything else follows:

    reverse mode    adjoint(node)  =  sum over its users of    local derivative * adjoint(user)
    forward mode    tangent(node)  =  sum over its operands of local derivative * tangent(operand)
    sum over paths  d output / d leaf  =  sum over paths of the product of the local derivatives

And where data are Values themselves, so are the derivatives, which can be derived again.

    >>> x, y = Value(2.0, label="x"), Value(3.0, label="y")
    >>> f = 3 * x**2 + x * y + 5 * y**2
    >>> jacobian(f, [x, y], mode="forward") == jacobian(f, [x, y], mode="reverse") == [[15.0, 32.0]]
    True

Words: the adjoint of a node is d output / d node, its tangent d node / d input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from micrograd.arithmetic import Number, as_number, explained
from micrograd.engine import Constant, Value, topological_order

# ---- 1. From closures to numbers on edges


class _Ledger:
    """What stands in for the grad of an operand: it keeps apart what is added to it."""

    def __init__(self, entries: tuple[Number, ...] = ()) -> None:
        self.entries = entries

    def __add__(self, contribution: Number) -> _Ledger:
        return _Ledger((*self.entries, contribution))

    __radd__ = __add__

    def __sub__(self, contribution: Number) -> _Ledger:
        return _Ledger((*self.entries, -contribution))


def local_derivatives(node: Value, *, strict: bool = False) -> tuple[Number, ...]:
    """The derivatives of a node by its operands, one for each edge, in operand order.

    Read off the node's own closure, which may be a user's; no gradient is disturbed. A closure that
    sets a gradient, with =, is read as if it added to it, or if `strict` is a ValueError.

    >>> x = Value(3.0)
    >>> local_derivatives(x * x), local_derivatives(x - 2 * x)
    ((3.0, 3.0), (1, -1))
    """
    upstream = node.data * 0 + 1 if isinstance(node.data, Fraction) else 1
    return contributions(node, upstream, strict=strict)


def contributions(node: Value, upstream: Number, *, strict: bool = False) -> tuple[Number, ...]:
    """What a node hands on to its operands when it is owed `upstream`: one number for each edge.

        contribution  =  local derivative * upstream gradient

    Where an operand stands twice and the closure adds both contributions at once, their sum stands
    at the first edge and 0 at the other.

    >>> x = Value(3.0)
    >>> contributions(x * x, 10.0)
    (30.0, 30.0)
    """
    operands = set(node._prev)
    before = [(v, v.grad) for v in (node, *operands)]
    failure = None
    try:
        for operand in operands:
            operand.grad = _Ledger()
        node.grad = upstream
        node._backward()
        if strict and not all(isinstance(v.grad, _Ledger) for v in operands):
            raise ValueError("it sets the gradient of an operand, =, and should add to it, +=")
        entries = {v: getattr(v.grad, "entries", (v.grad,)) for v in operands}
    except (ArithmeticError, ValueError) as error:
        failure = error
    finally:
        for v, grad in before:
            v.grad = grad
    if failure is not None:
        raise explained(failure, node._op, node._prev, "derivatives") from failure
    shares = {v: _shares(entries[v], node._prev.count(v)) for v in operands}
    return tuple(next(shares[v]) for v in node._prev)


def _shares(entries: tuple[Number, ...], edges: int) -> Any:
    return iter(entries if len(entries) == edges else (sum(entries), *[0] * (edges - 1)))


@dataclass(frozen=True)
class _Tape:
    """A graph with the local derivatives of its edges: what both modes walk along."""

    nodes: list[tuple[Value, tuple[Number, ...]]]

    @staticmethod
    def of(*outputs: Value) -> _Tape:
        return _Tape([(v, local_derivatives(v)) for v in topological_order(*outputs)])

    def tangents(self, seeds: Mapping[Value, Number]) -> dict[Value, Number]:
        """Forward mode: operands before results, for the nodes that depend on a seed."""
        tangent = dict(seeds)
        for node, local in self.nodes:
            for d, operand in zip(local, node._prev, strict=True):
                if operand in tangent:
                    tangent[node] = tangent.get(node, 0) + d * tangent[operand]
        return tangent

    def adjoints(self, seeds: Mapping[Value, Number]) -> dict[Value, Number]:
        """Reverse mode: results before operands, for the nodes that a seed depends on."""
        adjoint = dict(seeds)
        for node, local in reversed(self.nodes):
            if node in adjoint:
                for d, operand in zip(local, node._prev, strict=True):
                    adjoint[operand] = adjoint.get(operand, 0) + d * adjoint[node]
        return adjoint


# ---- 2. Products with the Jacobian, and the Jacobian itself


def jvp(output: Value | Sequence[Value], tangents: Mapping[Value, Number]) -> Any:
    """Forward mode, a Jacobian-vector product: how the output moves when the leaves move so fast.

        d output  =  sum over leaves of   d output / d leaf * tangent(leaf)

    One walk from the leaves to the output, whatever the number of outputs. A whole gradient takes
    one for each input.

    Args:
        output: a Value, or several.
        tangents: the speed of each leaf that moves; the others rest.

    Returns:
        A number, or a list of them for several outputs.

    Raises:
        ValueError: tangents names a node that is no leaf: its speed follows from its operands.

    >>> x, y = Value(2.0), Value(3.0)
    >>> jvp(x * y, {x: 1.0}), jvp([x * y, x - y], {x: 1.0, y: 1.0})
    (3.0, [5.0, 0.0])
    """
    outputs = _list(output)
    for node in tangents:
        if node._prev:
            raise ValueError(f"jvp expects tangents of leaves alone, got one of {node!r}")
    tangent = _Tape.of(*outputs).tangents(tangents)
    found = [tangent.get(v, 0) for v in outputs]
    return found[0] if isinstance(output, Value) else found


def vjp(
    output: Value | Sequence[Value], upstream: Number | Sequence[Number] = 1
) -> dict[Value, Number]:
    """Reverse mode, a vector-Jacobian product: what the outputs are owed, handed on to the leaves.

        gradient(leaf)  =  sum over outputs of   upstream(output) * d output / d leaf

    One walk from the outputs to the leaves, whatever the number of leaves. `backward(gradient)` of
    one output adds the same numbers to the grad of the leaves; here no gradient is disturbed.

    Args:
        output: a Value, or several.
        upstream: the upstream gradient of each output.

    Returns:
        A mapping from every leaf of the graph that is no constant to its gradient.

    Raises:
        ValueError: there are not as many upstream gradients as outputs.

    >>> x, y = Value(2.0), Value(3.0)
    >>> gradient_of = vjp([x * y, x - y], [1.0, 10.0])
    >>> gradient_of[x], gradient_of[y]
    (13.0, -8.0)
    """
    outputs = _list(output)
    upstreams = [upstream] if isinstance(output, Value) else list(upstream)
    if len(outputs) != len(upstreams):
        raise ValueError(f"vjp expects {len(outputs)} upstream gradients, got {len(upstreams)}")
    seeds: dict[Value, Number] = {}
    for v, seed in zip(outputs, upstreams, strict=True):
        seeds[v] = seeds.get(v, 0) + seed
    adjoint = _Tape.of(*outputs).adjoints(seeds)
    return {v: d for v, d in adjoint.items() if not v._prev and not isinstance(v, Constant)}


def jacobian(
    outputs: Value | Sequence[Value], inputs: Sequence[Value], mode: str = "reverse"
) -> list[list[Number]]:
    """The derivatives of all outputs (rows) by all inputs (columns), disturbing no gradient.

    Args:
        outputs: Values; a single one gives one row.
        inputs: nodes of their graph, leaves or not.
        mode: 'reverse' walks the graph once for each output, 'forward' once for each input.

    >>> x, y = Value(2.0), Value(3.0)
    >>> jacobian([x * y, x + y], [x, y])
    [[3.0, 2.0], [1, 1]]
    """
    outputs = _list(outputs)
    tape = _Tape.of(*outputs)
    if mode == "reverse":
        rows = [tape.adjoints({output: 1}) for output in outputs]
        return [[row.get(v, 0) for v in inputs] for row in rows]
    if mode == "forward":
        columns = [tape.tangents({v: 1}) for v in inputs]
        return [[column.get(output, 0) for column in columns] for output in outputs]
    raise ValueError(f"jacobian expects mode 'reverse' or 'forward', got {mode!r}")


@dataclass(frozen=True)
class PassCounts:
    """What a whole Jacobian costs in each mode: walks over the graph, and multiplications.

    A walk multiplies once for each edge, those that lead from constants left out. `print` shows a
    table.

    >>> PassCounts(inputs=3, outputs=1, edges=10).forward
    30
    """

    inputs: int
    outputs: int
    edges: int

    @property
    def forward(self) -> int:
        """Multiplications of forward mode: one walk for each input."""
        return self.inputs * self.edges

    @property
    def reverse(self) -> int:
        """Multiplications of reverse mode: one walk for each output."""
        return self.outputs * self.edges

    def __str__(self) -> str:
        rows = [("forward", self.inputs, self.forward), ("reverse", self.outputs, self.reverse)]
        lines = [f"{name:8}{walks:>6}{products:>17}" for name, walks, products in rows]
        return "\n".join([f"{'mode':8}{'walks':>6}{'multiplications':>17}", *lines])


def count_passes(outputs: Value | Sequence[Value], inputs: Sequence[Value]) -> PassCounts:
    """The cost of the derivatives of all outputs by all inputs, in forward and in reverse mode.

    With n inputs and one output, as in training, reverse mode is n times cheaper.

    >>> x, y = Value(2.0), Value(3.0)
    >>> print(count_passes(x * y + y, [x, y]))
    mode     walks  multiplications
    forward      2                8
    reverse      1                4
    """
    outputs = _list(outputs)
    edges = sum(
        not isinstance(operand, Constant)
        for node in topological_order(*outputs)
        for operand in node._prev
    )
    return PassCounts(len(inputs), len(outputs), edges)


# ---- 3. Derivatives of functions: numbers in, numbers out


def derivative(f: Callable[[Value], Any], x: Number, order: int = 1) -> Number:
    """The n-th derivative of a function of one Value at the number x.

    x goes in as a Value inside a Value ... inside a Value, n deep. Each backward pass peels off
    one: it computes with the Values inside, so that its result is a graph to be derived in turn.

    Args:
        f: a function of one Value. It may use other Values, but none that is derived by meanwhile:
            derivatives of derivatives are had by `order`, not by a `derivative` inside f.
        x: a number; a fraction gives an exact derivative, where the operations of f keep fractions.
        order: n >= 0.

    Raises:
        ValueError: order is negative, or this is the inside of a `no_grad()`.
        TypeError: f returns neither a Value nor a number.

    >>> derivative(lambda x: x**3, 2.0), derivative(lambda x: x**3, 2.0, order=2)
    (12.0, 12.0)
    """
    if order < 0:
        raise ValueError(f"derivative expects order >= 0, got {order}")
    levels = [Value(x)]
    while len(levels) < order:
        levels.append(Value(levels[-1]))
    y = f(levels[-1])
    for level in reversed(levels[:order]):
        y = _gradients(y, [level])[0]
    return _plain(y)


def gradient(f: Callable[..., Any], xs: Iterable[Number]) -> list[Number]:
    """The derivatives of f(*xs) by each of its arguments.

    >>> gradient(lambda x, y: 3 * x**2 + x * y + 5 * y**2, [2.0, 3.0])
    [15.0, 32.0]
    """
    leaves = [Value(x) for x in xs]
    return [_plain(d) for d in _gradients(f(*leaves), leaves)]


def hessian(f: Callable[..., Any], xs: Iterable[Number]) -> list[list[Number]]:
    """The second derivatives of f(*xs): row i, column j holds d^2 f / dx_i dx_j.

    >>> hessian(lambda x, y: x**2 * y, [3.0, 5.0])
    [[10.0, 6.0], [6.0, 0.0]]
    """
    inner = [Value(x) for x in xs]
    outer = [Value(x) for x in inner]
    return [
        [_plain(d) for d in _gradients(first, inner)] for first in _gradients(f(*outer), outer)
    ]


def _gradients(y: Any, leaves: Sequence[Value]) -> list[Any]:
    if not (Value(0.0) + 1.0)._prev:
        raise ValueError("derivatives need the graph, which no_grad() keeps from being recorded")
    if not isinstance(y, Value):  # a plain number depends on nothing
        if as_number(y) is NotImplemented:
            raise TypeError(f"expected a function that returns a Value, got {type(y).__name__}")
        return [0] * len(leaves)
    owed = vjp(y)
    return [owed.get(leaf, 0) for leaf in leaves]


def _plain(y: Any) -> Number:
    y = y.data if isinstance(y, Value) else y
    return float(y) if isinstance(y, int) else y


# ---- 4. Checking closures against differences


class GradientError(ArithmeticError):
    """The derivatives in a closure are not those of its forward line.

    >>> raise GradientError("d f / d x is 2 by its closures and 3 by central differences")
    Traceback (most recent call last):
    micrograd.derivatives.GradientError: d f / d x is 2 by its closures and 3 by central differences
    """


def check_gradients(
    f: Callable[..., Value], xs: Sequence[float], tolerance: float = 1e-5
) -> list[float]:
    """The gradient of f(*xs), once it has been found to agree with central differences.

        df/dx  =  (f(x + h) - f(x - h)) / 2h  +  O(h^2)             h = 6e-6 * scale

    6e-6 is the cube root of the precision of a float, where truncation and rounding balance if f
    changes over distances of `scale`. Scales tried are 1, |x| and their geometric mean, from the
    largest down; one at which both agree is enough, since a wrong closure agrees at none.

    Args:
        f: a function of Values that returns a Value, smooth around xs.
        xs: a number for each argument.
        tolerance: the difference allowed, in units of max(1, |df/dx|).

    Raises:
        GradientError: they differ. It names the argument, both numbers and the first operation of
            the graph whose local derivatives are off.
        TypeError: f does not return a Value.

    >>> check_gradients(lambda x, y: x * y + x.sin(), [0.0, 2.0])
    [3.0, 0.0]
    """
    leaves = [Value(x) for x in xs]
    y = f(*leaves)
    if not isinstance(y, Value):
        raise TypeError(f"check_gradients expects f to return a Value, got {type(y).__name__}")
    nodes = topological_order(y)
    found = [float(d) for d in jacobian(y, leaves)[0]]
    for i, x in enumerate(xs):
        failures = []
        for scale in sorted({1.0, abs(x), abs(x) ** 0.5} - {0.0}, reverse=True):
            h = 6e-6 * scale
            try:
                above, below = (
                    topological_order(f(*map(Value, [*xs[:i], x + step, *xs[i + 1 :]])))
                    for step in (h, -h)
                )
            except (ArithmeticError, ValueError):  # f is not defined as far away as that
                continue
            expected = (above[-1].item() - below[-1].item()) / (2 * h)
            if _agree(found[i], expected, tolerance):
                break
            position, reason = _first_wrong(nodes, above, below, 2 * h, tolerance)
            failures.append((position, expected, reason))
        else:
            # Where the scale is right, the first operation that is off is the latest one.
            end = (-3, float("nan"), "f is not defined on both sides of it")
            _, expected, reason = max(failures, default=end)
            name = getattr(f, "__name__", repr(f))
            raise GradientError(
                f"d {name}{tuple(xs)} / d argument {i} is {found[i]:.8g} by its closures and "
                f"{expected:.8g} by central differences; {reason}"
            )
    return found


def _agree(found: float, expected: float, tolerance: float) -> bool:
    return abs(found - expected) <= tolerance * max(1.0, abs(expected))


def _first_wrong(
    nodes: list[Value], above: list[Value], below: list[Value], width: float, tolerance: float
) -> tuple[int, str]:
    if not len(nodes) == len(above) == len(below):
        return -1, "the graph has another shape on either side of it: use where() in place of if"
    ends = zip(nodes, above, below, strict=True)
    slope = {v: (a.item() - b.item()) / width for v, a, b in ends}
    for position, v in enumerate(nodes):
        local = local_derivatives(v)
        by_closure = sum(float(d) * slope[u] for d, u in zip(local, v._prev, strict=True))
        if v._prev and not _agree(by_closure, slope[v], tolerance):
            operands = ", ".join(f"{u.data:.8g}" for u in v._prev)
            derivatives = ", ".join(f"{float(d):.8g}" for d in local)
            return position, (
                f"the first operation that is off is {v._op!r} of ({operands}): with the local "
                f"derivatives ({derivatives}) of its _backward the slope here is {by_closure:.8g}, "
                f"differences give {slope[v]:.8g} (at a kink, as of relu at 0, neither is wrong)"
            )
    return -2, "no single operation is off: f is rounded too much, or has no derivative here"


# ---- 5. The gradient as a sum over paths


@dataclass(frozen=True)
class PathSum:
    """d output / d leaf, path by path; `str()` gives text, a notebook shows the formula.

    Attributes:
        output, leaf: their names.
        count: how many paths lead from the leaf to the output.
        total: the derivative.
        paths: of each path, the names of its nodes from leaf to output; () above the limit.
        factors: of each path, the local derivatives along it.

    >>> print(PathSum("y", "x", 1, 3.0, (("x", "y"),), ((3.0,),)))
    d y / d x = 3, the sum over 1 path
      x -> y:  3 = 3
    """

    output: str
    leaf: str
    count: int
    total: Number
    paths: tuple[tuple[str, ...], ...]
    factors: tuple[tuple[Number, ...], ...]

    def __str__(self) -> str:
        head = f"d {self.output} / d {self.leaf} = {_number(self.total)}"
        if self.count > len(self.paths):
            return f"{head}, the sum over {self.count:,} paths, too many to list"
        lines = [f"{head}, the sum over {self.count} path{'s' * (self.count != 1)}"]
        for path, factors in zip(self.paths, self.factors, strict=True):
            product: Number = 1
            for factor in factors:
                product = product * factor
            chain = " * ".join(_number(factor) for factor in factors) or "1"
            lines.append(f"  {' -> '.join(path)}:  {chain} = {_number(product)}")
        return "\n".join(lines)

    @property
    def latex(self) -> str:
        r"""The sum as LaTeX, without dollar signs.

        >>> path = PathSum("y", "x", 1, 3.0, (("x", "y"),), ((3.0,),))
        >>> print(path.latex.rsplit("=", 2)[-2:])
        [' (3) ', ' 3']
        """
        head = _partial(self.output, self.leaf)
        if self.count > len(self.paths):
            return rf"{head} = {_number(self.total)} \quad ({self.count}\ \text{{paths}})"
        symbols = [
            " ".join(_partial(b, a) for a, b in reversed(list(pairwise(path)))) or "1"
            for path in self.paths
        ]
        numbers = [
            r" \cdot ".join(f"({_number(factor)})" for factor in reversed(factors)) or "1"
            for factors in self.factors
        ]
        total = _number(self.total)
        return f"{head} = {' + '.join(symbols) or 0} = {' + '.join(numbers) or 0} = {total}"

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"


def sum_over_paths(
    output: Value, leaf: Value, names: Mapping[str, Any] | None = None, limit: int = 16
) -> PathSum:
    """The derivative of output by leaf as the sum, over all paths, of products along the path.

        d output / d leaf  =  sum over paths of   product over edges of the local derivative

    The number of paths may double with every node, which is why backpropagation does not do it so.

    Args:
        output: the node at the end of the paths.
        leaf: the node at their beginning.
        names: names of Values, as `locals()`; the first that does not begin with `_` counts. Labels
            set by hand win; what has no name is called v0, v1, ... in topological order.
        limit: up to how many paths are listed; above, only their number is told.

    >>> a = Value(3.0, label="a")
    >>> b = -a; b.label = "b"
    >>> c = b * a; c.label = "c"
    >>> print(sum_over_paths(c, a))
    d c / d a = -6, the sum over 2 paths
      a -> b -> c:  -1 * 3 = -3
      a -> c:  -3 = -3
    """
    tape = _Tape.of(output)
    variables: dict[Any, str] = {}
    for variable, thing in list((names or {}).items()):
        if isinstance(thing, Value) and not variable.startswith("_"):
            variables.setdefault(thing, variable)
    name = {leaf: leaf.label or variables.get(leaf, "leaf")}
    for i, (v, _) in enumerate(tape.nodes):
        name[v] = v.label or variables.get(v, f"v{i}")
    ways = {v: 0 for v, _ in tape.nodes} | {leaf: 1}  # from the leaf to each node
    edges_of = dict(tape.nodes)
    for v, _ in tape.nodes:
        if v is not leaf:
            ways[v] = sum(ways[u] for u in v._prev)
    paths, factors = [], []
    if 0 < ways[output] <= limit:
        unfinished: list[Any] = [(output, (output,), ())]
        while unfinished:
            v, path, along = unfinished.pop()
            if v is leaf:
                paths.append(tuple(name[u] for u in path))
                factors.append(along)
                continue
            for u, d in reversed(list(zip(v._prev, edges_of[v], strict=True))):
                if ways[u]:
                    unfinished.append((u, (u, *path), (d, *along)))
    total = tape.adjoints({output: 1}).get(leaf, 0)
    return PathSum(name[output], name[leaf], ways[output], total, tuple(paths), tuple(factors))


def _partial(numerator: str, denominator: str) -> str:
    above, below = (rf"\mathrm{{{_latex_text(name)}}}" for name in (numerator, denominator))
    return rf"\frac{{\partial {above}}}{{\partial {below}}}"


def _latex_text(name: str) -> str:
    return "".join("\\" + c if c in "_{}#$%&" else c for c in name)


def _number(x: Number) -> str:
    return f"{float(x):.6g}" if isinstance(x, (int, float)) else str(x)


def _list(one_or_more: Any) -> list[Any]:
    return [one_or_more] if isinstance(one_or_more, Value) else list(one_or_more)
