"""Operations and derivatives as mathematics: a + b, x², tanh(n), ∂L/∂u.

>>> formula("-", ["a", "b"]), formula("**2", ["x"]), formula("tanh", ["n"])
('a − b', 'x²', 'tanh(n)')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.draw.records import ArrayBox, Graph, Node
from micrograd.draw.style import MINUS, SIGNS, number

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
PARTIAL = "\N{PARTIAL DIFFERENTIAL}"


def formula(op: str, operands: Sequence[str]) -> str:
    """One operation on named operands; a negative number after a sign is in brackets.

    >>> formula("*", ["w", "−3"]), formula("**0.5", ["x"]), formula("2**", ["x"])
    ('w × (−3)', 'x^0.5', '2^x')
    """
    first, *others = operands or [""]
    if op in (*SIGNS, "@") and others:
        return f" {SIGNS.get(op, op)} ".join([first, *map(_bracketed, others)])
    if op == "neg":
        return f"{MINUS}{_bracketed(first)}"
    if op == "abs":
        return f"|{first}|"
    if op == "**":
        return "^".join(map(_bracketed, operands))
    if op.startswith("**"):
        return _bracketed(first) + _raised(op[2:])
    if op.endswith("**"):
        return f"{op[:-2].replace('-', MINUS)}^{_bracketed(first)}"
    return f"{op}({', '.join(operands)})"


def formulas(drawn: Graph, name_of: Mapping[str, str]) -> dict[str, str]:
    """The formula of each node at level 'op': a leaf's is its name, a constant's is its number.

    Args:
        drawn: the graph.
        name_of: what to call each node; a node without a name shows only its formula.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import Value
    >>> drawn = graph((Value(2.0) + 1.0) ** 2)
    >>> formulas(drawn, {"v0": "a", "v2": "c", "v3": "d"})
    {'v0': 'a', 'v2': 'c = a + 1', 'v3': 'd = c²'}
    """
    operand = {
        node.name: name_of.get(node.name)
        or (number(node.data) if isinstance(node, Node) and node.kind == "constant" else "")
        for node in drawn.nodes
    }
    found = {}
    for node in drawn.nodes:
        if isinstance(node, (Node, ArrayBox)) and node.kind != "constant":
            name, text = operand[node.name], ""
            if node.operands and " " not in node.op:  # "7 operations" have no formula
                text = formula(node.op, [operand[o] for o in node.operands])
            found[node.name] = " = ".join(filter(None, [name, text]))
    return found


def partial(output: str, variable: str) -> str:
    """The symbol of a derivative.

    >>> partial("L", "x")
    '∂L/∂x'
    """
    return f"{PARTIAL}{_atom(output)}/{PARTIAL}{_atom(variable)}"


def _atom(name: str) -> str:
    return f"({name})" if " " in name else name


def _bracketed(text: str) -> str:
    return f"({text})" if text.startswith(MINUS) or "/" in text or " " in text else text


def _raised(exponent: str) -> str:
    digits: Any = exponent.removesuffix(".0")
    if set(digits) <= set("0123456789-"):
        return str(digits.translate(RAISED))
    return f"^{exponent.replace('-', MINUS)}"
