"""Derivatives of every kind, read off the closures of `engine.py`.

This file contains no derivative rule. The closure of a node (its `_backward`) adds contributions to
the gradients of its operands. Run on its own, with an upstream gradient of 1, it gives the local
derivatives of the node, one for each edge from an operand. Everything else follows from them.

The adjoint of a node is d output / d node, and its tangent is d node / d input:

    reverse mode    adjoint(node)  =  sum over its users of    local derivative * adjoint(user)
    forward mode    tangent(node)  =  sum over its operands of local derivative * tangent(operand)
    sum over paths  d output / d leaf  =  sum over paths of the product of the local derivatives

If the data are Values themselves, so are the derivatives, and these can be differentiated again.
So each derivative of a function opens a level: its arguments are Values whose data are Values of
the level below. A Value of a lower level is a constant there (`raised` in `core/node.py`). If f
uses no Values but its arguments, the results are plain numbers, and so they are inside `no_grad()`.
Otherwise they belong to the graph of all Values that f read: a loss may contain a derivative.

    >>> w = Value(3.0)
    >>> slope = derivative(lambda x: w * x**2, 2.0)
    >>> slope.backward()
    >>> slope.data, w.grad
    (12.0, 4.0)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from numbers import Rational
from typing import Any, SupportsFloat

from micrograd.core.arithmetic import Number, as_number
from micrograd.core.errors import described, explained
from micrograd.core.node import Own, as_constant, innermost, level_of, of_leaf, operations, raised
from micrograd.core.pause import is_paused, open_levels, restored, resumed, running
from micrograd.core.shapes import Numbers, flat, shape_of
from micrograd.engine import Value, topological_order

Derivatives = defaultdict[Value, Number]  # 0 where nothing else is known

# ---- 1. From closures to local derivatives


class Ledger:
    """A substitute for the grad of an operand that notes each contribution to it."""

    def __init__(self, operand: Any, notes: list[tuple[Any, Number]]) -> None:
        self.operand, self.notes = operand, notes

    def __add__(self, contribution: Number) -> Ledger:
        self.notes.append((self.operand, contribution))
        return self

    def __sub__(self, contribution: Number) -> Ledger:
        return self.__add__(-contribution)


class _Reflected(Ledger):
    __radd__ = Ledger.__add__


def replayed(
    node: Any,
    operands: Sequence[Any],
    upstream: Number,
    run: Callable[[], object],
    grad_of: Callable[[Any], str] = lambda operand: "grad",
    ledger: type[Ledger] = Ledger,
) -> list[tuple[Any, Number]]:
    """What a `_backward` adds to the gradients of the operands: pairs of operand and contribution.

    The pairs are in the order in which they are added. All gradients stay unchanged, and a gradient
    that is set with = is read as if it were added. The node may be of another engine: `run` runs
    its `_backward`, and `grad_of` tells the name of the attribute with the gradient, '' for none.
    """
    before = [(v, name, getattr(v, name)) for v in (node, *operands) if (name := grad_of(v))]
    notes: list[tuple[Any, Number]] = []
    try:
        for v, name, _ in before[1:]:
            setattr(v, name, ledger(v, notes))
        setattr(node, before[0][1], upstream)
        run()
        written = {id(v): (v, getattr(v, name)) for v, name, _ in before[1:]}
        return notes + [pair for pair in written.values() if not isinstance(pair[1], Ledger)]
    finally:
        for v, name, grad in reversed(before):
            setattr(v, name, grad)


def local_derivatives(node: Value) -> tuple[Number, ...]:
    """The derivatives of a node with respect to its operands: one for each edge, in operand order.

    >>> x = Value(3.0)
    >>> local_derivatives(x * x), local_derivatives(x - 2 * x)
    ((3.0, 3.0), (1, -1))
    """
    number = innermost(node.data)
    return contributions(node, number * 0 + 1 if isinstance(number, Fraction) else 1)


def contributions(node: Value, upstream: Number) -> tuple[Number, ...]:
    """What a node adds to the gradients of its operands: local derivative * upstream, per edge."""
    run = partial(node._chain_rule, upstream, *node._prev)
    try:
        notes = replayed(node, node._prev, upstream, run, ledger=_Reflected)
    except (ArithmeticError, ValueError) as error:
        raise explained(error, node._op, node._prev, "in the derivatives of ") from error
    return tuple(per_edge(notes, node._prev))


def per_edge(notes: list[tuple[Any, Number]], operands: Sequence[Any]) -> list[Number]:
    """The contributions that `replayed` found, one for each edge from an operand.

    If an operand occurs twice and the closure adds both contributions at once, the first edge gets
    their sum, and the other gets 0.
    """
    places, left = [*map(id, operands)], {}
    for place in places:
        found = [contribution for operand, contribution in notes if id(operand) == place]
        edges = places.count(place)
        left[place] = iter(found if len(found) == edges else [sum(found), *[0] * (edges - 1)])
    return [next(left[place]) for place in places]


class _Tape:
    """A graph with the local derivatives on its edges; both modes walk over it."""

    def __init__(self, *outputs: Value) -> None:
        self.nodes = [(v, local_derivatives(v)) for v in topological_order(*outputs)]

    def tangents(self, seeds: Mapping[Value, Number]) -> Derivatives:
        """Forward mode: the tangents of all nodes that depend on those with a given tangent."""
        tangent: Derivatives = defaultdict(int, seeds)
        for node, local in self.nodes:
            for d, operand in zip(local, node._prev, strict=True):
                if operand in tangent and node not in seeds:
                    tangent[node] += d * tangent[operand]
        return tangent

    def adjoints(self, seeds: Mapping[Value, Number]) -> Derivatives:
        """Reverse mode: the adjoints of all nodes that those with a given adjoint depend on."""
        adjoint: Derivatives = defaultdict(int, seeds)
        for node, local in reversed(self.nodes):
            for d, operand in zip(local, node._prev, strict=True) if node in adjoint else ():
                adjoint[operand] += d * adjoint[node]
        return adjoint


# ---- 2. Products with the Jacobian, and the Jacobian itself


def jvp(
    output: Numbers | Callable[..., Numbers],
    xs: Iterable[Number] | Mapping[Value, Number],
    tangents: Iterable[Number] = (),
) -> Any:
    """Forward mode, a Jacobian-vector product: the rate of change of the output.

        d output  =  sum over leaves of   d output / d leaf * tangent(leaf)

    It takes one walk, however many outputs there are. `xs` maps each node that changes to its
    tangent, its rate of change; for a function, `xs` has its arguments, and `tangents` their rates.

    >>> jvp(lambda x, y: [x * y, x - y], [2.0, 3.0], [1.0, 1.0])
    [5.0, 0.0]
    """
    is_expected = callable(output) or isinstance(xs, Mapping)
    _expect(is_expected, "jvp", "a dict for a graph", xs, "use jvp(y, {x: 1.0})")
    leaves, known, output = _called(output, xs)
    rates = dict(leaves if known is None else zip(leaves, flat(tangents), strict=True))
    outputs = [_output(v) for v in flat(output)]
    tangent = _Tape(*outputs).tangents(rates)
    read = [*outputs, *(rate for rate in rates.values() if isinstance(rate, Value))]
    [found] = _of_one_kind([[tangent[v] for v in outputs]], [*rates], read, known)
    return found if shape_of(output) else found[0]


def vjp(output: Numbers, upstream: Numbers = 1) -> Derivatives:
    """Reverse mode, a vector-Jacobian product: the gradients of the leaves.

        gradient(leaf)  =  sum over outputs of   upstream(output) * d output / d leaf

    It takes one walk, however many leaves there are. The result maps every leaf, except constants,
    to its gradient, and any other Value to 0; no grad is changed. `output` is a Value, or Values in
    a list or an array, and `upstream` has the same shape.

    >>> x, y = Value(2.0), Value(3.0)
    >>> gradient_of = vjp([x * y, x - y], [1.0, 10.0])
    >>> gradient_of[x], gradient_of[y]
    (13.0, -8.0)
    """
    fix = "call it, as in vjp(f(x)), or use gradient(f, [2.0])"
    _expect(not callable(output), "vjp", "Values", output, fix)
    if shape_of(output) != shape_of(upstream):
        raise ValueError(f"vjp expects upstream gradients of shape {shape_of(output)}")
    outputs = flat(output)
    seeds: Derivatives = defaultdict(int)
    for v, seed in zip(outputs, flat(upstream), strict=True):
        seeds[v] += seed
    adjoint = _Tape(*outputs).adjoints(seeds).items()
    return defaultdict(int, ((v, d) for v, d in adjoint if v.is_leaf and v.requires_grad))


def jacobian(
    outputs: Numbers | Callable[..., Numbers], inputs: Iterable[Number]
) -> list[list[Number]]:
    """The derivatives of all outputs (rows) with respect to all inputs (columns).

    `outputs` are Values, or a function that returns them; `inputs` are any nodes of the same graph,
    or the numbers at which the function is called. It takes one walk for each output.

    >>> jacobian(lambda x, y: [x * y, x + y], [2.0, 3.0])
    [[3.0, 2.0], [1.0, 1.0]]
    """
    inputs, known, outputs = _called(outputs, inputs)
    given = flat(outputs)
    is_graph = known is not None or not given or any(isinstance(v, Value) for v in given)
    fix = "for derivatives of derivatives, use jacobian(lambda x: jacobian(f, [x]), [2.0])"
    _expect(is_graph, "jacobian", "Values as outputs", outputs, fix)
    nodes, results = flat(inputs), [_output(v) for v in given]
    are_nodes = all(isinstance(v, Value) for v in nodes)
    _expect(are_nodes, "jacobian", "nodes of the graph as inputs", inputs, "or pass a function")
    adjoints = map(_Tape(*results).adjoints, ({output: 1} for output in results))
    rows = [[adjoint[v] for v in nodes] for adjoint in adjoints]
    return _of_one_kind(rows, nodes, results, known)


# ---- 3. Derivatives of functions at plain numbers


def derivative(f: Callable[[Value], SupportsFloat], x: Number, order: int = 1) -> Number:
    """The n-th derivative of a function of one Value at the number x.

    If x is a fraction, the result is exact where the operations in f are.

    >>> derivative(lambda x: x**3, 2.0), derivative(lambda x: x**3, 2.0, order=2)
    (12.0, 12.0)
    """
    if order < 1:
        raise ValueError(f"derivative expects order >= 1, got {order}")
    return gradient(f if order == 1 else lambda v: derivative(f, v, order - 1), [x])[0]


def gradient(f: Callable[..., SupportsFloat], xs: Iterable[Number]) -> list[Number]:
    """The derivatives of f(*xs) with respect to each argument.

    >>> gradient(lambda x, y: x * y, [3.0, 5.0])
    [5.0, 3.0]
    """
    fix = "for a graph, call y.backward() and read x.grad, or use vjp(y)[x] or jacobian([y], [x])"
    _expect(callable(f), "gradient", "a function", f, fix)
    fix = "use gradient(f, [x]), or derivative(f, x)"
    _expect(isinstance(xs, Iterable), "gradient", "a list of numbers", xs, fix)
    return jacobian(lambda *leaves: [_output(f(*leaves))], xs)[0]


def hessian(f: Callable[..., SupportsFloat], xs: Iterable[Number]) -> list[list[Number]]:
    """The second derivatives of f(*xs): row i, column j holds d^2 f / dx_i dx_j.

    >>> hessian(lambda x, y: x**2 * y, [3.0, 5.0])
    [[10.0, 6.0], [6.0, 0.0]]
    """
    return jacobian(lambda *leaves: gradient(f, leaves), xs)


def _called(f: Any, xs: Any) -> tuple[Any, list[Value] | None, Any]:
    # New leaves, one level above every derivative that is running; these and all that f made; and
    # what f returned. If f is not a function but a graph, both as they are.
    if not callable(f):
        return xs, None, f
    numbers = [x if isinstance(x, Value) else Value(x).data for x in xs]
    outer_level, outer_made = running.get()
    level = 1 + max([outer_level, *map(level_of, numbers)])
    leaves = [Value(raised(x, level - 1)) for x in numbers]
    made = [*leaves]
    outer = running.set((level, made))
    open_levels.append(None)
    try:
        with resumed():
            return leaves, made, f(*leaves)
    finally:
        open_levels.pop()
        running.reset(outer)
        if outer_made is not None:
            outer_made += made


def _expect(is_met: bool, user: str, expected: str, got: object, fix: str) -> None:
    if not is_met:
        raise TypeError(f"{user} expects {expected}, got {type(got).__name__} {got!r:.40}: {fix}")


def _output(y: Any) -> Value:
    # What a function returned, as a Value; a plain number becomes one that depends on nothing.
    if as_number(y) is NotImplemented:
        raise TypeError(f"expected f to return a Value or a number, got {type(y).__name__}")
    if not isinstance(y, Value):
        return as_constant(y)  # type: ignore[no-any-return]
    if y.is_unrecorded:
        raise ValueError("no_grad() records no graph: compute this outside the no_grad() block")
    return y


def _of_one_kind(
    rows: list[list[Number]], nodes: Sequence[Value], outputs: list[Value], known: Any
) -> list[list[Number]]:
    # The derivatives of outputs at nodes. For a function, `known` are the leaves that it did not
    # read from outside: they are Values if there are others, else numbers.
    kind = innermost(nodes[0]) if nodes else 0.0
    zero = 0 * kind if isinstance(kind, Rational) else 0.0  # a sum without terms is the int 0
    rows = [[as_number(d, like=zero) for d in row] for row in rows]
    if known is None:
        return rows
    values, known = list(outputs), {*known}
    while values and not is_paused():
        graph = topological_order(*values)
        leaves = [v for v in graph if not v._prev and v not in known]
        if not all(v.is_constant or v.is_unrecorded for v in leaves):
            return [[d if isinstance(d, Value) else as_constant(d) for d in row] for row in rows]
        values = [v.data for v in graph if not v._prev and isinstance(v.data, Value)]
    return [[innermost(d) for d in row] for row in rows]


# ---- 4. Checking closures against central differences


class GradientError(ArithmeticError):
    """Raised if the derivatives in a closure do not match its operation."""


def check_gradients(
    f: Callable[..., Value], xs: Sequence[float] | Any, tolerance: float = 1e-5
) -> list[float]:
    """The gradient of f(*xs), or of f() by the parameters of a model, checked numerically.

        df/dx  =  (f(x + h) - f(x - h)) / 2h  +  O(h^2)             h = 6e-6 * scale

    The right side is a central difference; 6e-6 is the cube root of the precision of a float: with
    it, truncation and rounding errors balance if f varies over distances of about `scale`. The
    scales 1, |x| and their geometric mean are tried; a wrong closure agrees at none. Then a
    GradientError names the first operation whose local derivatives are wrong. `tolerance` is in
    units of max(1, |df/dx|).

    >>> check_gradients(lambda x, y: x * y + x.sin(), [0.0, 2.0])
    [3.0, 0.0]
    """
    own = getattr(xs, "parameters", None)
    leaves = own() if callable(own) else [Value(x) for x in xs]
    at, arguments = [leaf.item() for leaf in leaves], () if callable(own) else leaves
    y = f(*arguments)
    _expect(isinstance(y, Value), "check_gradients", "f to return a Value", y, "use its operations")
    tape, [found] = _Tape(y), jacobian(y, leaves)
    nodes = [v for v, _ in tape.nodes]

    def numbers(leaf: Value, x: float) -> dict[Value, float]:  # of all nodes, with x in this leaf
        with restored([leaf]):
            leaf.data = x
            return {v: v.item() for v in topological_order(f(*arguments))}

    for i, (leaf, x, by_closures) in enumerate(zip(leaves, at, found, strict=True)):
        tangent = tape.tangents({leaf: 1})
        undefined = "f is not defined on both sides of this point, or its graph changes shape: "
        attempts = [(-1, undefined + "use where() instead of if", math.nan)]
        for scale in sorted({1.0, abs(x), abs(x) ** 0.5} - {0.0}, reverse=True):
            h = 6e-6 * scale
            with suppress(ArithmeticError, ValueError):
                above, below = numbers(leaf, x + h), numbers(leaf, x - h)
                rows = zip(nodes, above.values(), below.values(), strict=True)
                slope = {v: (a - b) / (2 * h) for v, a, b in rows}
                if near(by_closures, slope[y], tolerance):
                    break
                others = (v for v in nodes if v is not leaf)
                v = next((v for v in others if not near(tangent[v], slope[v], tolerance)), y)
                reason = _reason(v, float(tangent[v]), slope[v], v in above)
                attempts.append((nodes.index(v), reason, slope[y]))
        else:
            # At an unsuitable scale even correct operations look wrong, so trust the scale at which
            # the first wrong operation comes latest.
            _, reason, expected = max(attempts)
            name = getattr(f, "__name__", repr(f))
            raise GradientError(
                f"d {name}{tuple(at)} / d argument {i} is {by_closures:.8g} according to the "
                f"closures, but {expected:.8g} according to central differences; {reason}"
            )
    return found


def near(found: float, expected: float, tolerance: float = 1e-4) -> bool:
    """Whether two numbers agree; the tolerance is relative if the expected one is above 1."""
    return abs(found - expected) <= tolerance * max(1.0, abs(expected))


def _reason(v: Value, by_closures: float, slope: float, is_old: bool) -> str:
    # Why the slope of this node is another one; it is the first for which this is so.
    if not v._prev:
        return (
            f"the number {v.data:.8g} in f depends on this argument without an operation: made "
            "from .data, detach() or float(), it passes no gradient on"
        )
    if is_old:
        return f"f uses {described(v._op, v._prev)}, which was computed before: compute it inside f"
    operands = ", ".join(f"{u.data:.8g}" for u in v._prev)
    derivatives = ", ".join(f"{float(d):.8g}" for d in local_derivatives(v))
    return (
        f"the first wrong operation is {v._op!r} of ({operands}): the local derivatives "
        f"({derivatives}) of its _backward give the slope {by_closures:.8g}, but differences give "
        f"{slope:.8g} (at a kink, such as relu at 0, neither is wrong)"
    )


# ---- 5. Running operations again


def recompute(root: Value) -> Value:
    """Runs the forward pass of a graph again, after the data of leaves has changed; returns root.

    The graph keeps its shape: decisions that were made while it was built (by `if`, `max`, `where`
    or an index) are not made again, and copies made by `detach()` keep their number.

    >>> a = Value(2.0)
    >>> square = a * a
    >>> a.data = 5.0
    >>> recompute(square)
    Value(data=25.0, grad=0)
    """
    order = topological_order(root)
    nodes = [node for node in order if node._prev]
    if is_paused() or any(node.is_unrecorded for node in order):
        fix = "build the graph outside of it, and use detach() for what stays"
        raise RuntimeError(f"recompute needs closures, and no_grad() keeps none: {fix}")
    if own := [node._op for node in nodes if is_own_operation(node)]:
        raise TypeError(f"recompute cannot run {own[0]!r} again: rebuild the graph in each step")
    fresh: dict[Value, Value] = {}
    for node in order:
        fresh[node] = again(node._op, [fresh[v] for v in node._prev]) if node._prev else node
    for node in nodes:  # only now that nothing can fail
        node.data, node._chain_rule = fresh[node].data, fresh[node]._chain_rule
    return root


def is_own_operation(node: Value) -> bool:
    """Whether a user defined this operation; its name does not tell how to compute it again."""
    rule = node._chain_rule
    return isinstance(rule, Own) or (rule is of_leaf and bool(node._prev))


def again(op: str, operands: Sequence[Value]) -> Value:
    """The result of the operation with this name, as in `_op`.

    >>> again("**2", [Value(3.0)])
    Value(data=9.0, grad=0)
    """
    if op in operations:
        return operations[op](*operands)  # type: ignore[no-any-return]
    for kind in (int, float, Fraction):  # the first that can read the exponent
        with suppress(ValueError):
            return operands[0].__pow__(kind(op.removeprefix("**")))
    raise ValueError(f"{op!r} is not a power with a plain exponent")
