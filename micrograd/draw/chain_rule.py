"""The chain rule beside the operands of an operation: local derivative × upstream = contribution.

Each rule is a row of pieces, and each piece a text with the name of its colour in `tokens.py`. Two
names stand for bold text: 'share' for a contribution to a gradient, 'rate' for one to a tangent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    """The rules beside the operands, their legend, and whether dots replace numbers.

    The legend says what the colours mean and, for arrays, the signs.
    """
    local, upstream, share = (said("pages", f"word.{x}") for x in ("local", "upstream", "share"))
    rules, legend, has_dots = dict[int, list[list[Piece]]](), list[Piece](), False
    if edges == "symbols":
        rules, legend = rules_with_symbols(drawn, name_of), [(upstream, "gradient"), DOT, (local, "local")]
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


def rules_with_numbers(drawn: Graph, forward: bool, complete: bool) -> tuple[Rules, bool]:
    """The numbers of the chain rule, or only the local derivatives if there are no gradients yet.

    The second factor is the gradient of the node (upstream) or, in forward mode, the tangent of the
    operand. Constants have no rule, nor have boxes of many numbers.

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
    local = {  # of each operand; not for boxes of many numbers
        k: _known_derivatives(value)
        for k, value in value_of.items()
        if box_of[k].op == value._op and not any(box_of[o].shape for o in box_of[k].operands)
    }
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

    rules = {
        k: [row(*pair, k) for pair in zip(each, box_of[k].operands, strict=True)]
        for k, each in local.items()
    }
    return rules, bool(dotted)


def _shapes(left: Box, right: Box) -> list[tuple[int, ...]]:
    # The shapes of X, W and P = X @ W, where a vector X is a row and a vector W is a column.
    x = left.shape if len(left.shape) > 1 else (1, *left.shape)
    w = right.shape if len(right.shape) > 1 else (*right.shape, 1)
    return [x, w, (x[0], w[-1])]


def matrix_text(numbers: Sequence[Any], shape: Sequence[int]) -> str:
    """A small array of at most two axes in one line, such as [1 2; 3 4]; a vector is a column."""
    rows = shape[0] if shape else 1
    n = len(numbers) // rows
    texts = [" ".join(map(number, numbers[i * n : i * n + n])) for i in range(rows)]
    return f"[{'; '.join(texts)}]".replace(" ", "\xa0")


def rules_with_symbols(drawn: Graph, name_of: Mapping[int, str]) -> Rules:
    r"""The chain rule in letters: upstream gradient · local derivative.

    For arrays, ⊙ multiplies entry by entry, Σ adds up what was broadcast or, beside a ·, the
    entries of the result. The two rows of a product P = X @ W of matrices or vectors are ∂L/∂P · Wᵀ
    and Xᵀ · ∂L/∂P, with the shapes of the factors.

    Raises:
        ValueError: there are several results, so it would be unclear what ∂L stands for.
    """
    results = [name_of[node.number] for node in drawn.nodes if node.kind == "result"]
    if len(results) > 1:
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
        factors = [drawn.box_of[name] for name in node.operands]
        if node.op == "@" and len(factors) == 2 and all(len(box.shape) < 3 for box in factors):
            shapes = _shapes(*factors)
            x, w = (((name_of[name], "local"), shapes[k]) for k, name in enumerate(node.operands))
            rule = matrix_product_rule((upstream, shapes[2]), x, w, _transposed)
            (left, rows), (right, columns) = rule[i]
            texts = f"\xa0\xa0\xa0{shape_text(rows)}\xa0{shape_text(columns)}"
            return [left, DOT, right, (texts, "faint")]
        if node.op not in operations and not node.op.startswith("**"):
            return [ADDED, upstream, DOT, local]
        was_broadcast = operand.shape != node.shape
        return [*[ADDED] * was_broadcast, upstream, TIMES_EACH, local]

    with_rules = [node for node in drawn.nodes if node.has_ports]
    return {node.number: [row(node, i) for i in range(len(node.operands))] for node in with_rules}


def _transposed(factor: tuple[Piece, tuple[int, ...]]) -> tuple[Piece, tuple[int, ...]]:
    (name, colour), shape = factor
    turned = (name + TRANSPOSED).removesuffix(2 * TRANSPOSED)
    return (turned, colour), shape[::-1]


def _known_derivatives(value: Value) -> Sequence[Any]:
    # There is no derivative at sqrt(0), for example, and another engine may not tell it.
    try:
        return local_derivatives(value)
    except (ArithmeticError, ValueError):
        return [math.nan] * len(value._prev)
