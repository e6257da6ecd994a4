"""The chain rule beside the operands of an operation: local derivative × upstream = contribution.

Each rule is a row of pieces. Each piece is a text with the name of its colour in `tokens.py`: teal
for local derivatives, magenta for gradients, ink for tangents. Two of the names stand for bold
text: 'share' for a contribution to a gradient, 'rate' for a contribution to a tangent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from micrograd.core.node import innermost
from micrograd.derivatives import jvp, local_derivatives
from micrograd.draw.formulas import TIMES, UNKNOWN, number, partial, shape_text
from micrograd.draw.records import Box, Graph
from micrograd.engine import Value

Piece = tuple[str, str]  # a text, and 'local', 'gradient', 'share', 'ink', 'rate' or 'faint'
Rules = dict[str, list[list[Piece]]]  # keyed by node: a row for each operand, [] if it has no rule
# Browsers may drop an ordinary space at the end of a piece.
SPACED_TIMES: Piece = (f"\xa0{TIMES}\xa0", "faint")
SPACED_DOT: Piece = ("\xa0\N{MIDDLE DOT}\xa0", "faint")
SPACED_ENTRYWISE: Piece = ("\xa0\N{CIRCLED DOT OPERATOR}\xa0", "faint")
FITS = 3  # rows and columns of a matrix that is shown in numbers
EQUALS: Piece = ("\xa0=\xa0", "faint")


def with_tangents(drawn: Graph, tangents: Any) -> Graph:
    """The same graph, at level 'op', with tangents instead of gradients.

    Raises:
        TypeError: tangents is not a mapping of Values.
        ValueError: a tangent is given for a Value that was computed.
    """
    if not isinstance(tangents, Mapping) or not all(isinstance(v, Value) for v in tangents):
        raise TypeError(
            f"tangents expects a dict that maps leaves (Values) to numbers, got "
            f"{type(tangents).__name__} {tangents!r:.40}: use tangents={{x: 1.0}}"
        )
    speeds = jvp(drawn.values, tangents)
    nodes = [node._replace(grad=x) for node, x in zip(drawn.nodes, speeds, strict=True)]
    return replace(drawn, nodes=tuple(nodes))


def misfits(values: Sequence[Value], roots: Collection[Value]) -> set[Value]:
    """The Values whose gradient is not the sum of the contributions to it, with today's data.

    Leaves accumulate the gradients of several backward passes, so one may be a misfit alone; an
    operation without a gradient may wait for its turn. But if the gradient of an operation is
    wrong, all gradients belong to other data or to a larger graph. The gradient of a root is never
    a misfit: a backward pass starts with any number there.

    Args:
        values: a graph in topological order.
        roots: the results of the graph.

    >>> x = Value(3.0)
    >>> y = x * x
    >>> y.backward()
    >>> misfits([x, y], [y])
    set()
    >>> x.data = 1.0
    >>> misfits([x, y], [y]) == {x}
    True
    """
    received: dict[Value, list[Any]] = {}
    unknown = set(roots)
    for value in values:
        for d, operand in zip(_known_derivatives(value), value._prev, strict=True):
            if d is UNKNOWN:
                unknown.add(operand)
            elif not operand.is_constant:
                received.setdefault(operand, []).append(innermost(d * value.grad))
    found = set()
    for value in received.keys() - unknown:
        shares, grad = received[value], innermost(value.grad)
        with suppress(TypeError):  # from data that are formulas, not numbers
            # A drawing shows four digits.
            if 10_000 * abs(sum(shares) - grad) > sum(map(abs, shares)) + abs(grad):
                found.add(value)
    return set(received) if any(is_stale(value) for value in found) else found


def is_stale(misfit: Value) -> bool:
    """Whether a misfit is an operation that has a gradient: not of these data and this graph."""
    return bool(misfit._prev and innermost(misfit.grad))


def rules_with_numbers(drawn: Graph, forward: bool, dotted: Collection[Value] = ()) -> Rules:
    """The numbers of the chain rule, or only the local derivatives if there are no gradients yet.

    For the operands in `dotted`, there are dots instead of the gradients, as for `misfits`.

    The second factor is the gradient of the node (upstream) or, in forward mode, the tangent of the
    operand. Constants have no rule, nor have boxes of many numbers, but for products of small
    matrices.

    >>> from micrograd.draw.graph import graph
    >>> x = Value(3.0)
    >>> y = x * 2.0
    >>> y.backward()
    >>> rules = rules_with_numbers(graph(y), forward=False)
    >>> [" ".join(text.strip() for text, _ in row) for row in rules["v2"]]
    ['2 × 1 = 2', '']
    """
    value_of = drawn.value_of
    rate = {node.name: node.grad for node in drawn.nodes if node.name in value_of}
    known = forward or drawn.has_gradients
    constants = {node.name for node in drawn.nodes if node.kind == "constant"}
    upstream, share = ("ink", "rate") if forward else ("gradient", "share")

    def row(d: Any, operand: str, node: str) -> list[Piece]:
        along = operand if forward else node
        if operand in constants or along not in rate:
            return []
        if d is None:
            return [("together with the row above", "faint")]
        if d is UNKNOWN:
            return [("no derivative known", "faint")]
        if not known:
            return [(number(d), "local")]
        texts = number(rate[along]), number(d * rate[along])
        if value_of.get(operand) in dotted:
            texts = UNKNOWN, UNKNOWN
        return [
            *((number(d), "local"), SPACED_TIMES, (texts[0], upstream)),
            *(EQUALS, (texts[1], share)),
        ]

    rules: Rules = {}
    box_of = {node.name: node for node in drawn.nodes}
    for node in drawn.nodes:
        local: Sequence[Any]
        if node.op == "@" and known and not forward:
            factors = [box_of[operand] for operand in node.operands]
            rules[node.name] = [_of_matrices(node, factors, i) for i in range(len(factors))]
            continue
        if node.level == "neuron":
            inside = [drawn.values[int(name[1:])] for name in node.nodes]
            local = _through(inside, [value_of.get(operand) for operand in node.operands])
        elif node.name in value_of and node.op == value_of[node.name]._op:
            local = _known_derivatives(value_of[node.name])
        else:  # of many numbers, such as the sum of an array
            continue
        pairs = zip(local, node.operands, strict=True)
        rules[node.name] = [row(d, operand, node.name) for d, operand in pairs]
    return rules


def _of_matrices(node: Box, factors: Sequence[Box], i: int) -> list[Piece]:
    # The chain rule of P = X @ W in numbers: upstream times W transposed, X transposed times it.
    if factors[i].kind == "constant" or len(factors) < 2 or len(factors[1 - i].shape) > 2:
        return []
    upstream = (_matrix(node.grad, node), "gradient")
    turned = (_matrix(factors[1 - i].data, factors[1 - i]).T, "local")
    (left, first), (right, second) = (upstream, turned) if i == 0 else (turned, upstream)
    if max(left.shape + right.shape) > FITS:
        return []
    product = (_matrix_text(left @ right), "share")
    return [(_matrix_text(left), first), SPACED_DOT, (_matrix_text(right), second), EQUALS, product]


def _matrix(entries: Sequence[Any], box: Box) -> Any:
    # An array of plain numbers with two axes; a vector is a column.
    import numpy as np  # a graph of arrays has loaded it

    rows = box.shape[0] if box.shape else 1
    numbers = entries if isinstance(entries, tuple) else (entries,)
    return np.array([innermost(x) for x in numbers], dtype=object).reshape(rows, -1)


def _matrix_text(matrix: Any) -> str:
    rows = "; ".join(" ".join(map(number, row)) for row in matrix.tolist())
    return f"[{rows}]".replace(" ", "\xa0")


def rules_with_symbols(drawn: Graph, name_of: Mapping[str, str]) -> Rules:
    r"""The chain rule in letters: upstream gradient · local derivative.

    For arrays, ⊙ multiplies entry by entry, Σ adds up what was broadcast, and the two rows of a
    matrix product P = X @ W are ∂L/∂P · Wᵀ and Xᵀ · ∂L/∂P, with the shapes of the factors.

    Raises:
        ValueError: there are several results, so it would be unclear what ∂L stands for.

    >>> from micrograd.arrays import values
    >>> from micrograd.draw.graph import at_level, graph
    >>> from micrograd.engine import Value
    >>> y = Value(3.0).tanh()
    >>> rules = rules_with_symbols(graph(y * 2.0), {"v0": "x", "v1": "y", "v3": "L"})
    >>> " ".join(text.strip() for text, _ in rules["v1"][0])
    '∂L/∂y · ∂y/∂x'
    >>> X, W = values([[1.0, 2.0], [0.0, 1.0]]), values([[3.0], [4.0]])
    >>> drawn = at_level(graph((X @ W).sum(), names={"X": X, "W": W}), "array")
    >>> names = {box.name: name for box, name in zip(drawn.nodes, "XWPL", strict=True)}
    >>> for row in rules_with_symbols(drawn, names)["a2"]:
    ...     print("".join(text for text, _ in row).replace("\xa0", " "))
    ∂L/∂P · Wᵀ   (2 × 1) (1 × 2)
    Xᵀ · ∂L/∂P   (2 × 2) (2 × 1)
    """
    results = [name_of[node.name] for node in drawn.nodes if node.kind == "result"]
    if len(results) > 1:
        raise ValueError(f"edges='symbols' expects one result, got {len(results)}: draw their sum")
    box_of = {node.name: node for node in drawn.nodes}

    def row(node: Box, i: int) -> list[Piece]:
        operand = box_of[node.operands[i]]
        if operand.kind == "constant":
            return []
        upstream = (partial(results[0], name_of[node.name]), "gradient")
        local = (partial(name_of[node.name], name_of[operand.name]), "local")
        if name_of[node.name] == results[0]:  # its gradient is 1
            return [local]
        if node.level != "array":
            return [upstream, SPACED_DOT, local]
        if node.op == "@":
            other = box_of[node.operands[1 - i]]
            transposed = (name_of[other.name] + "\N{MODIFIER LETTER CAPITAL T}", "local")
            factors, shapes = [upstream, transposed], [node.shape, other.shape[::-1]]
            if i == 1:
                factors, shapes = factors[::-1], shapes[::-1]
            texts = "\xa0".join(map(shape_text, shapes))
            return [factors[0], SPACED_DOT, factors[1], (f"\xa0\xa0\xa0{texts}", "faint")]
        was_broadcast = operand.shape != node.shape
        added: list[Piece] = [("\N{N-ARY SUMMATION}\xa0", "faint")] if was_broadcast else []
        return [*added, upstream, SPACED_ENTRYWISE, local]

    with_rules = [node for node in drawn.nodes if node.has_ports]
    return {node.name: [row(node, i) for i in range(len(node.operands))] for node in with_rules}


def _known_derivatives(value: Value) -> Sequence[Any]:
    # There is no derivative at sqrt(0), for example, and another engine may not tell it.
    try:
        return local_derivatives(value)
    except (ArithmeticError, ValueError):
        return [UNKNOWN] * len(value._prev)


def _through(inside: Sequence[Value], operands: Sequence[Value | None]) -> list[Any]:
    # d output / d operand for each operand of a neuron, by reverse mode; None where it is repeated.
    adjoint: dict[Value | None, Any] = {inside[-1]: 1}
    for value in reversed(inside):
        for d, operand in zip(local_derivatives(value), value._prev, strict=True):
            adjoint[operand] = adjoint.get(operand, 0) + d * adjoint[value]
    return [adjoint.pop(operand, None) for operand in operands]
