"""The style of all drawings: colours, widths of lines, and numbers as text.

A drawing has no background: frames, lines and captions are visible on light and on dark pages. A
card has a light background and dark text.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable
from typing import Any

from micrograd.engine import innermost

MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
SIGNS = {"+": "+", "-": MINUS, "neg": MINUS, "*": TIMES, "/": "/"}
NOISE = 1e-15  # about the rounding error of a difference of ordinary numbers that should be 0

COLOURS = {  # frame and background
    "input": ("#2f6f9f", "#e3eff8"),
    "parameter": ("#b0700f", "#fcf0dc"),
    "constant": ("#e8eaed", "#e8eaed"),
    "operation": ("#7d8590", "#ffffff"),
    "result": ("#1c7a5a", "#e2f3ea"),
}
# Orange and blue show the sign of a weight or an output, like the classes of a decision boundary.
# Colour-blind readers can tell these two apart.
POSITIVE, NEGATIVE = "#cf7a1c", "#3d86c6"  # colours of lines
DEEPEST = {POSITIVE: (0xF4, 0xB8, 0x6E), NEGATIVE: (0x86, 0xBD, 0xE8)}  # backgrounds for dark text
LEGEND = "orange is positive, blue is negative; stronger means larger"
EDGE = "#7d8590"  # colour of arrows and captions
FONT = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "10"}


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
    if isinstance(x, numbers.Rational) and len(text) <= 9:
        return text.replace("-", MINUS)
    try:
        x = float(x)
    except (TypeError, ValueError, OverflowError):
        return text if len(text) <= 24 else f"{text[:23]}…"
    digits = f"{0.0 if abs(x) < floor else x + 0.0:.4g}"  # adding 0.0 turns -0.0 into 0.0
    return re.sub(r"e(-?)\+?0*", r"e\1", digits).replace("-", MINUS)


def noise_floor(xs: Iterable[Any]) -> float:
    """The size below which a float in a drawing is noise, given all its data or all its gradients.

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


def _strength(x: Any, most: float) -> tuple[str, float]:
    # The colour for a number's sign, and its size relative to the largest, from 0 to 1.
    size = _size(x)
    sign = NEGATIVE if size and innermost(x) < 0 else POSITIVE
    return sign, min(1.0, size / most) if size and most else 0.0


def line(weight: Any, heaviest: float) -> dict[str, str]:
    """Graphviz attributes of the line for a weight: colour shows its sign, width its size.

    >>> line(-1.0, heaviest=2.0)
    {'color': '#3d86c6', 'penwidth': '1.4'}
    """
    colour, strength = _strength(weight, heaviest)
    return {"color": colour, "penwidth": f"{0.2 + 2.4 * strength:.2g}"}


def shade(x: Any, strongest: float) -> str:
    """The background colour for the output of a neuron, from white for 0 to orange or blue.

    >>> shade(0.0, strongest=1.0), shade(1.0, strongest=1.0)
    ('#ffffff', '#f4b86e')
    """
    colour, strength = _strength(x, strongest)
    return "#" + "".join(f"{round(255 + strength * (c - 255)):02x}" for c in DEEPEST[colour])
