"""The style of all drawings: colours, widths of lines, and numbers as text.

The kind of a node is shown by its shape; the colours of cards are neutral. A drawing is written in
the light colours of `tokens.py`, and `theme.py` adds the dark ones to an SVG.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable
from typing import Any

from micrograd.core.node import innermost
from micrograd.draw.tokens import LIGHT

MINUS, TIMES, UNKNOWN = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{BULLET}"
SIGNS = {"+": "+", "-": MINUS, "neg": MINUS, "*": TIMES, "/": "/"}
NOISE = 1e-15  # about the rounding error of a difference of ordinary numbers that should be 0

COLOURS = {  # frame and background
    "input": (LIGHT["frame"], LIGHT["panel"]),
    "parameter": (LIGHT["frame"], LIGHT["panel"]),
    "constant": (LIGHT["soft"], LIGHT["soft"]),
    "operation": (LIGHT["frame"], LIGHT["panel"]),
    "result": (LIGHT["ink"], LIGHT["panel"]),
}
# Orange and blue show the sign of a weight or an output, like the classes of a decision boundary.
# Colour-blind readers can tell these two apart.
POSITIVE, NEGATIVE = LIGHT["positive"], LIGHT["negative"]  # colours of lines
GROUNDS = {POSITIVE: LIGHT["positive-soft"], NEGATIVE: LIGHT["negative-soft"]}
DEEPEST = 0.75  # opacity of the deepest shade, on which words and gradients can still be read
LEGEND = "orange is positive, blue is negative; stronger means larger"
FAR = "a name in italics replaces a long arrow from the card of that name"
EDGE, CAPTION = LIGHT["frame"], LIGHT["faint"]  # colours of arrows, and of words beside the cards
# The fonts after Arial have letters as wide as Arial's, so that text fits its card.
FONT = {
    "fontname": "Helvetica,Arial,Liberation Sans,Arimo,sans-serif",
    "fontsize": "10.5",  # points: 14 pixels, at which the layout measures digits a little too wide
    "fontcolor": LIGHT["ink"],
}


def number(x: Any, floor: float = 0.0) -> str:
    """The text of a number in a drawing: 4 significant digits, but short fractions in full.

    Args:
        x: a number of any kind; a Value is drawn as its data, any other object as its str.
        floor: a float below this size is noise and is drawn as 0.

    >>> number(0.1 + 0.2), number(-0.0), number(1234567.0)
    ('0.3', '0', '1.235e6')
    >>> number(0.1 + 0.2 - 0.3, floor=1e-15)
    '0'
    """
    x = innermost(x)
    text = str(x)
    if isinstance(x, numbers.Rational) and len(text) <= 12:
        return text.replace("-", MINUS)
    try:
        x = float(x)
    except (TypeError, ValueError, OverflowError):
        return text if len(text) <= 24 else f"{text[:23]}…"
    digits = f"{0.0 if abs(x) < floor else x + 0.0:.4g}"  # adding 0.0 turns -0.0 into 0.0
    return re.sub(r"e(-?)\+?0*", r"e\1", digits).replace("-", MINUS)


def sign(op: str) -> str:
    """The sign of an operation in mathematics, instead of the one in Python.

    >>> sign("*"), sign("**-1"), sign("tanh")
    ('×', '^−1', 'tanh')
    """
    known = SIGNS | {"relu": "ReLU"}
    return known.get(op) or op.replace("**", "^").replace("-", MINUS)


def counted(n: int, thing: str) -> str:
    """A count and its noun, in the singular or the plural.

    >>> counted(1, "input"), counted(1200, "parameter")
    ('1 input', '1,200 parameters')
    """
    return f"{n:,} {thing}{'s' * (n != 1)}"


def noise_floor(xs: Iterable[Any]) -> float:
    """The size below which a float is noise, given all data or all gradients of a drawing.

    It is 1e-15, or 1e-15 times the largest number if that is below 1. So 0.1 + 0.2 - 0.3 is drawn
    as 0, but a gradient of 3.2e-9 is drawn as it is.

    >>> noise_floor([0.5, 2.0]), noise_floor([0.25, 0.5])
    (1e-15, 5e-16)
    """
    sizes = (abs(x) for x in map(innermost, xs) if isinstance(x, float))
    return NOISE * min(1.0, max(sizes, default=0.0))


def largest(xs: Iterable[Any]) -> float:
    """The largest finite absolute value among numbers of any kind.

    >>> largest([1.0, -3, None])
    3.0
    """
    return max((size for size in map(_size, xs) if math.isfinite(size)), default=0.0)


def _size(x: Any) -> float:
    try:
        return abs(float(innermost(x)))
    except (TypeError, ValueError, OverflowError):  # not a real number
        return 0.0


def sign_colour(x: Any) -> str:
    """Orange for a positive number and for 0, blue for a negative one."""
    return NEGATIVE if _size(x) and innermost(x) < 0 else POSITIVE


def _strength(x: Any, most: float) -> float:
    # The size of a number relative to the largest, from 0 to 1.
    size = _size(x)
    return min(1.0, size / most) if size and most else 0.0


def line(weight: Any, heaviest: float) -> dict[str, str]:
    """Graphviz attributes of the line for a weight: colour shows its sign, width its size.

    A small weight is also paler, so that the large ones stand out where many lines cross.

    >>> line(-1.0, heaviest=2.0)
    {'color': '#0b62a8d9', 'penwidth': '1.4'}
    """
    strength = _strength(weight, heaviest)
    return {
        "color": f"{sign_colour(weight)}{round(255 * (0.7 + 0.3 * strength)):02x}",
        "penwidth": f"{0.2 + 2.4 * strength:.2g}",
    }


def shade(x: Any, strongest: float) -> str:
    """The background for the output of a neuron: transparent for 0, most opaque for the largest.

    >>> shade(0.0, strongest=1.0), shade(-0.5, strongest=1.0), shade(1.0, strongest=1.0)
    ('#f8d3a400', '#b9daf260', '#f8d3a4bf')
    """
    return f"{GROUNDS[sign_colour(x)]}{round(255 * DEEPEST * _strength(x, strongest)):02x}"
