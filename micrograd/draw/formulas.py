"""Numbers, operations and derivatives as mathematics: −0.5, a + b, x², tanh(n), ∂L/∂u.

>>> formula("-", ["a", "b"]), formula("**2", ["x"]), formula("tanh", ["n"])
('a − b', 'x²', 'tanh(n)')
"""

import numbers
import re
from collections.abc import Sequence

from micrograd.core.arithmetic import Number
from micrograd.core.node import innermost

MINUS, TIMES, UNKNOWN = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{BULLET}"
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")  # digits below the line
TRANSPOSED = "\N{MODIFIER LETTER CAPITAL T}"
SIGNS = {"+": "+", "-": MINUS, "neg": MINUS, "*": TIMES, "/": "/"}
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number(x: Number, digits: int = 4) -> str:
    """The text of a number in a drawing: 4 significant digits, but short fractions in full.

    A Value is drawn as its data, an object that is not a number as its str.

    >>> number(0.1 + 0.2), number(-0.0), number(1234567.0)
    ('0.3', '0', '1.235e6')
    """
    x = innermost(x)
    text = str(x)
    if isinstance(x, numbers.Rational) and len(text) <= 12:
        return text.replace("-", MINUS)
    try:
        x = float(x)
    except (TypeError, ValueError, OverflowError):
        return text if len(text) <= 24 else f"{text[:23]}…"
    text = f"{x + 0.0:.{digits}g}"  # adding 0.0 turns -0.0 into 0.0
    return re.sub(r"e(-?)\+?0*", r"e\1", text).replace("-", MINUS)


def shape_text(shape: Sequence[int]) -> str:
    """The shape of an array as text, such as (64 × 2)."""
    return f"({f' {TIMES} '.join(f'{n:,}' for n in shape)})"


def sign(op: str) -> str:
    """The sign of an operation in mathematics, instead of the one in Python; a power is that of x.

    >>> sign("*"), sign("**-1"), sign("**"), sign("relu")
    ('×', 'x⁻¹', 'x^y', 'ReLU')
    """
    if op.startswith("**"):
        return formula(op, ["x", "y"] if op == "**" else ["x"])
    return "ReLU" if op == "relu" else SIGNS.get(op, op)


def formula(op: str, operands: Sequence[str]) -> str:
    """One operation on named operands; a negative number after a sign is in brackets.

    >>> formula("*", ["w", "−3"]), formula("**0.5", ["x"]), formula("**", ["2", "x"])
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
        exponent = op[2:].removesuffix(".0")
        is_whole = exponent.lstrip("-").isdecimal()
        raised = exponent.translate(RAISED) if is_whole else f"^{exponent.replace('-', MINUS)}"
        return _bracketed(first) + raised
    return f"{sign(op)}({', '.join(operands)})"


def partial(output: str, variable: str) -> str:
    """The symbol of a derivative, such as ∂L/∂x."""
    return "/".join(f"∂({x})" if " " in x else f"∂{x}" for x in (output, variable))


def _bracketed(text: str) -> str:
    return f"({text})" if text.startswith(MINUS) or "/" in text or " " in text else text
