"""The chain rule beside the operands of an operation: local derivative × upstream = contribution.

Each rule is a row of pieces, and each piece a text with the name of its colour in `tokens.py`. Two
names stand for bold text: 'share' for a contribution to a gradient, 'rate' for one to a tangent.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from micrograd.core.node import innermost, operations
from micrograd.derivatives import jvp, local_derivatives
from micrograd.draw.formulas import TIMES, TRANSPOSED, UNKNOWN, number, partial, shape_text
from micrograd.draw.records import Box, Graph
from micrograd.draw.stale import add_up, received
from micrograd.engine import Value
from micrograd.operations import matrix_product_rule
from micrograd.texts import said

Piece = tuple[str, str]  # a text, and 'local', 'gradient', 'share', 'ink', 'rate' or 'faint'
Rules = dict[int, list[list[Piece]]]  # keyed by node: a row for each operand, [] if it has no rule
# Browsers may drop an ordinary space at the end of a piece.
FITS = 3  # rows and columns of a matrix that is shown in numbers
EQUALS: Piece = ("\xa0=\xa0", "faint")
DOT: Piece = ("\xa0\N{MIDDLE DOT}\xa0", "faint")
TIMES_EACH: Piece = ("\xa0\N{CIRCLED DOT OPERATOR}\xa0", "faint")
ADDED: Piece = ("\N{N-ARY SUMMATION}\xa0", "faint")


def product(local: str, rate: str, share: str, forward: bool = False) -> list[Piece]:
    """Local derivative × rate = share; the rate is a gradient or, in forward mode, a tangent."""
    colour, bold = ("ink", "rate") if forward else ("gradient", "share")
    times: Piece = (f"\xa0{TIMES}\xa0", "faint")
    return [(local, "local"), times, (rate, colour), EQUALS, (share, bold)]


# Signs in the rules of arrays, and the keys of what they say.
SIGNS = {TIMES_EACH[0].strip(): "legend.each", ADDED[0].strip(): "legend.added",
         TRANSPOSED: "legend.transposed"}  # fmt: skip


def rules_of(
    drawn: Graph, edges: str, name_of: Mapping[int, str], forward: bool, complete: bool
) -> tuple[Rules, list[Piece], bool]:
    """The rules beside the operands, their legend, and whether dots replace numbers."""
    local, upstream, share = (said("pages", f"word.{x}") for x in ("local", "upstream", "share"))
    rules, legend, has_dots = Rules(), list[Piece](), False
    if edges == "symbols":
        rules = rules_with_symbols(drawn, name_of)
        legend = [(upstream, "gradient"), DOT, (local, "local")]
    elif edges != "plain":
        rules, has_dots = rules_with_numbers(drawn, forward, complete)
        legend = [(said("draw", "legend.alone"), "local")]
        if forward or drawn.has_gradients:
            rate = said("draw", "legend.tangent") if forward else upstream
            legend = product(local, rate, share, forward)
    shown = "".join(text for rows in rules.values() for row in rows for text, _ in row)
    signs = [said("draw", key, sign=sign) for sign, key in SIGNS.items() if sign in shown]
    legend.append((";\xa0 ".join(["", *signs]), "faint"))
    return rules, legend if rules else [], has_dots


def with_tangents(drawn: Graph, tangents: object) -> Graph:
    """The same graph, at level 'op', with tangents instead of gradients."""
    if not isinstance(tangents, Mapping) or not all(isinstance(v, Value) for v in tangents):
        got = f"got {type(tangents).__name__} {tangents!r:.40}: use tangents={{x: 1.0}}"
        raise TypeError(f"tangents expects a dict that maps leaves (Values) to numbers, {got}")
    speeds = jvp(drawn.values, tangents)
    nodes = [node._replace(grad=x) for node, x in zip(drawn.nodes, speeds, strict=True)]
    return replace(drawn, nodes=tuple(nodes))


def rules_with_numbers(drawn: Graph, forward: bool, complete: bool) -> tuple[Rules, bool]:
    """The numbers of the chain rule, or only the local derivatives if there are no gradients yet.

    The second factor is the gradient of the node (upstream) or, in forward mode, the tangent of the
    operand. Constants have no rule, nor have boxes of many numbers, except small arrays.

    After a complete backward pass, the contributions to a number add up to its gradient. If they do
    not, its data have changed or the gradients are those of a larger graph: then there are dots
    instead of the numbers, and the second result is True.

    >>> from micrograd.draw.graph import graph
    >>> x = Value(3.0)
    >>> y = x * 2.0
    >>> y.backward()
    >>> rules, has_dots = rules_with_numbers(graph(y), forward=False, complete=True)
    >>> [" ".join(text.strip() for text, _ in row) for row in rules[2]]
    ['2 × 1 = 2', '']
    """
    value_of, box_of = drawn.value_of, drawn.box_of
    shares = received(drawn.values) if complete else {}
    dotted = {
        x
        for x, v in value_of.items()
        if v in shares and not add_up(shares[v], innermost(v.grad))
        if box_of[x].kind != "constant" and x not in drawn.results and not v.is_frozen
    }
    if any(box_of[x].op and box_of[x].has_gradient for x in dotted):
        dotted = {*box_of}  # a leaf may have accumulated, but this is of other data

    def row(d: Any, operand: int, node: int) -> list[Piece]:
        along = operand if forward else node
        if box_of[operand].kind == "constant" or along not in value_of:
            return []
        if d != d:
            return [(said("draw", "rule.none"), "faint")]
        if not (forward or drawn.has_gradients):
            return [(number(d), "local")]
        rate = box_of[along].grad
        texts = (UNKNOWN, UNKNOWN) if operand in dotted else (number(rate), number(d * rate))
        return product(number(d), *texts, forward)

    rules = {  # not for boxes of many numbers
        k: [row(*pair, k) for pair in zip(_known_derivatives(v), box_of[k].operands, strict=True)]
        for k, v in value_of.items()
        if box_of[k].op == v._op and not any(box_of[o].shape for o in box_of[k].operands)
    }
    are_known = drawn.has_gradients and not (forward or dotted)
    for node in drawn.nodes if are_known else ():
        factors = [box_of[operand] for operand in node.operands]
        if node.op == "@" and len(factors) == 2:
            rules[node.number] = [_in_matrices(node, factors, i) for i in (0, 1)]
        elif node.level == "array":
            entries = [drawn.values[i] for i in node.nodes[: len(node.data)]]
            rules[node.number] = [_in_entries(node, entries, *pair) for pair in enumerate(factors)]
    return rules, bool(dotted)


def _in_entries(node: Box, entries: Sequence[Value], i: int, operand: Box) -> list[Piece]:
    # The chain rule of an operation on each entry in numbers; what was broadcast is added up.
    is_small = 0 < len(entries) <= FITS**2 and len(node.shape) <= 2
    if operand.kind == "constant" or not is_small or any(v._op != node.op for v in entries):
        return []
    local = matrix(tuple(_known_derivatives(v)[i] for v in entries), node.shape)
    upstream = matrix(node.grad, node.shape)
    lengths = (1,) * (len(node.shape) - len(operand.shape)) + operand.shape
    repeated = tuple(i for i, n in enumerate(lengths) if n < node.shape[i])
    shares = (local * upstream).reshape(node.shape).sum(repeated, keepdims=True)
    was_broadcast = operand.shape != node.shape
    times = [(matrix_text(local), "local"), TIMES_EACH, (matrix_text(upstream), "gradient")]
    share = matrix_text(matrix(tuple(shares.ravel()), operand.shape))
    return [*[ADDED] * was_broadcast, *times, EQUALS, (share, "share")]


def _in_matrices(node: Box, factors: Sequence[Box], i: int) -> list[Piece]:
    # The chain rule of P = X @ W in numbers.
    shapes = _shapes(node, *factors)
    if factors[i].kind == "constant" or max(map(max, shapes)) > FITS or len(shapes[2]) > 2:
        return []
    upstream = (matrix(node.grad, shapes[2]), "gradient")
    x, w = ((matrix(box.data, shape), "local") for box, shape in zip(factors, shapes, strict=False))
    rule = matrix_product_rule(upstream, x, w, lambda factor: (factor[0].T, factor[1]))
    (left, first), (right, second) = rule[i]
    times = [(matrix_text(left), first), DOT, (matrix_text(right), second)]
    return [*times, EQUALS, (matrix_text(left @ right), "share")]


def _shapes(node: Box, left: Box, right: Box) -> list[tuple[int, ...]]:
    # The shapes of X, W and P = X @ W, where a vector X is a row and a vector W is a column.
    x = left.shape if len(left.shape) > 1 else (1, *left.shape)
    w = right.shape if len(right.shape) > 1 else (*right.shape, 1)
    return [x, w, (*node.shape[: max(len(x), len(w)) - 2], x[-2], w[-1])]


def matrix(entries: Any, shape: Sequence[int]) -> Any:
    """An array of plain numbers with two axes; a vector is a column."""
    import numpy as np  # a graph of arrays has loaded it

    numbers = entries if isinstance(entries, tuple) else (entries,)
    rows = shape[0] if shape else 1
    return np.array([innermost(x) for x in numbers], dtype=object).reshape(rows, -1)


def matrix_text(matrix: Any) -> str:
    """A small matrix in one line, such as [1 2; 3 4]."""
    rows = "; ".join(" ".join(map(number, row)) for row in matrix.tolist())
    return f"[{rows}]".replace(" ", "\xa0")


def rules_with_symbols(drawn: Graph, name_of: Mapping[int, str]) -> Rules:
    r"""The chain rule in letters: upstream gradient · local derivative.

    For arrays, ⊙ multiplies entry by entry, Σ adds up what was broadcast or, beside a ·, the
    entries of the result, and the two rows of a matrix product P = X @ W are ∂L/∂P · Wᵀ and
    Xᵀ · ∂L/∂P, with the shapes of the factors.
    """
    results = [name_of[node.number] for node in drawn.nodes if node.kind == "result"]
    if len(results) > 1:  # it would be unclear what ∂L stands for
        raise ValueError(f"edges='symbols' expects one result, got {len(results)}: draw their sum")

    def row(node: Box, i: int) -> list[Piece]:
        operand = drawn.box_of[node.operands[i]]
        if operand.kind == "constant":
            return []
        upstream = (partial(results[0], name_of[node.number]), "gradient")
        local = (partial(name_of[node.number], name_of[operand.number]), "local")
        if name_of[node.number] == results[0]:  # its gradient is 1
            return [local]
        if node.level != "array":
            return [upstream, DOT, local]
        if node.op == "@" and len(node.operands) == 2:
            shapes = _shapes(node, *(drawn.box_of[name] for name in node.operands))
            x, w = (((name_of[name], "local"), shapes[k]) for k, name in enumerate(node.operands))
            rule = matrix_product_rule((upstream, shapes[2]), x, w, _transposed)
            (left, rows), (right, columns) = rule[i]
            texts = f"\xa0\xa0\xa0{shape_text(rows)}\xa0{shape_text(columns)}"
            is_shared = shapes[i][:-2] != shapes[2][:-2]  # by several matrices
            return [*[ADDED] * is_shared, left, DOT, right, (texts, "faint")]
        if node.op not in operations and not node.op.startswith("**"):
            return [ADDED, upstream, DOT, local]
        was_broadcast = operand.shape != node.shape
        return [*[ADDED] * was_broadcast, upstream, TIMES_EACH, local]

    with_rules = [node for node in drawn.nodes if node.has_ports]
    return {node.number: [row(node, i) for i in range(len(node.operands))] for node in with_rules}


def _transposed(factor: tuple[Piece, tuple[int, ...]]) -> tuple[Piece, tuple[int, ...]]:
    (name, colour), shape = factor
    turned = (name + TRANSPOSED).removesuffix(2 * TRANSPOSED)
    return (turned, colour), (*shape[:-2], shape[-1], shape[-2])


def _known_derivatives(value: Value) -> Sequence[Any]:
    # There is no derivative at sqrt(0), for example, and another engine may not tell it.
    with suppress(ArithmeticError, ValueError):
        return local_derivatives(value)
    return [math.nan] * len(value._prev)
