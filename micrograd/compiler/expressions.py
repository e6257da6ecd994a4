"""Pieces of program text: expressions with the brackets that they need, numbers, and names.

`text.py` writes a compiled function with them. An expression is a text and its rank, which says how
tightly its outermost operation binds.

    >>> total = operation("+", [("a", ATOM), ("b", ATOM)])
    >>> operation("*", [total, number(-2.0)])
    ('(a + b) * -2.0', 3)
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from micrograd.core.naming import distinct
from micrograd.core.numbers import Number

Expression = tuple[str, int]  # a text and its rank

# Ranks, from the loosest to the tightest binding; Python and JavaScript agree on them.
CHOICE, COMPARISON, SUM, PRODUCT, NEGATIVE, POWER, ATOM = range(7)
RANKS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "=="), COMPARISON), **dict.fromkeys("+-", SUM),
    **dict.fromkeys("*/", PRODUCT), "neg": NEGATIVE, "**": POWER,
}  # fmt: skip
FUNCTIONS = {
    *("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "relu", "abs", "where", "take"),
    *("maximum", "minimum"),
}


def bracketed(expression: Expression, rank: int) -> str:
    """The text of an expression, in brackets if it binds less tightly than `rank`.

    >>> bracketed(("a + b", SUM), PRODUCT)
    '(a + b)'
    """
    text, own = expression
    return text if own >= rank else f"({text})"


def operation(op: str, operands: Sequence[Expression]) -> Expression:
    """The expression for an operation, or for a function call, on these operands.

    The right operand gets brackets if it binds as tightly as the operation itself: a + (b + c)
    is rounded differently from a + b + c.

    >>> operation("-", [("a", ATOM), ("b - c", SUM)]), operation("tanh", [("a + b", SUM)])
    (('a - (b - c)', 2), ('tanh(a + b)', 6))
    """
    rank = RANKS.get(op, ATOM)
    if op == "neg":
        text = f"-{bracketed(operands[0], ATOM)}"
    elif op == "**":  # JavaScript does not accept -x ** 2 without brackets
        text = f"{bracketed(operands[0], ATOM)} ** {bracketed(operands[1], NEGATIVE)}"
    elif op in RANKS:
        left, right = operands
        text = f"{bracketed(left, rank)} {op} {bracketed(right, rank + 1)}"
    else:
        text = f"{op}({', '.join(text for text, _ in operands)})"
    return text, rank


def expression(
    op: str,
    operands: Sequence[Expression],
    x: Number = None,
    spelling: Mapping[str, str] | None = None,
) -> Expression:
    """The expression for an instruction; an input or a constant has no operands but a number x.

    >>> expression("take", [("i", ATOM), ("a", ATOM), ("b + c", SUM)])
    ('take([a, b + c], i)', 6)
    """
    if op in ("input", "constant"):
        return number(x, spelling)
    if op == "take":
        (index, _), *table = operands
        return f"take([{', '.join(text for text, _ in table)}], {index})", ATOM
    return operation(op, operands)


def number(x: Number, spelling: Mapping[str, str] | None = None) -> Expression:
    """The expression for a number; `spelling` says how to write inf, -inf and nan.

    >>> number(-0.5), number(float("inf"), {"inf": "Infinity"})
    (('-0.5', 4), ('Infinity', 6))
    """
    text = (spelling or {}).get(repr(x), repr(x))
    return text, NEGATIVE if text.startswith("-") else ATOM


def identifiers(labels: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Distinct Python names that resemble the labels and do not shadow functions that programs use.

    >>> identifiers(["w", "layers[0].b", "w", "exp", "2nd"])
    ['w', 'layers_0_b', 'w_2', 'exp_2', 'v_2nd']
    """
    names = []
    for i, label in enumerate(labels):
        label = unicodedata.normalize("NFKC", label)  # as Python does with identifiers
        name = re.sub(r"\W+", "_", label).strip("_")
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"v_{name}" if f"v_{name}".isidentifier() else f"v{i}"
        names.append(name)
    return distinct(names, "{}_{}", {*taken, *FUNCTIONS, "program", "float"})
