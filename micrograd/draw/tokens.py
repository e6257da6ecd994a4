"""The design of everything a person looks at: colours, fonts, spacing, corners and speeds.

Drawings, plots and HTML pages are styled by these tables, so that a colour means the same thing
everywhere:

    orange, blue    positive and negative; class 1 and class 0
    magenta         gradients and the backward pass
    teal            local derivatives, between the data and the gradients
    ink             data, and all text
    yellow          look here: the background of what has just changed
    red             what went wrong, always with a sign or a word beside it

The kind of a node is shown by its shape, not by a colour. Each text colour has a contrast of at
least 4.5 with its background, and each frame at least 3 (a test computes them).

    >>> contrast(LIGHT["gradient"], LIGHT["panel"]) > 4.5
    True
    >>> print(css(LIGHT).splitlines()[0])
    --page: #f5f5f2;
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from micrograd.core.node import innermost

LIGHT = {
    "page": "#f5f5f2",  # behind everything
    "panel": "#ffffff",  # behind text, cards and drawings
    "soft": "#ebecee",  # strips and quiet buttons on a panel
    "ink": "#1b1f24",
    "faint": "#596068",  # explanations
    "frame": "#7d848c",  # frames and arrows
    "hairline": "#d9dce0",  # lines that only separate
    "positive": "#a35200",
    "negative": "#0b62a8",
    "positive-soft": "#f8d3a4",  # backgrounds for ink
    "negative-soft": "#b9daf2",
    "gradient": "#a3127c",
    "gradient-soft": "#fbe3f4",
    "local": "#0b6b60",
    "local-soft": "#dcf1ee",
    "wrong": "#b3182f",
    "wrong-soft": "#fde4e8",
    "mark": "#ffe14d",
    "class-0": "#0b62a8",  # points of each class: shapes, never text
    "class-1": "#d57a00",
    "class-2": "#35b597",
    "class-3": "#5a30d8",
    "class-4": "#54292f",
    "class-5": "#c9c158",
    "class-6": "#6cc0ea",
    "class-7": "#6d747d",
}
DARK = {
    "page": "#14171a",
    "panel": "#1d2126",
    "soft": "#2c3138",
    "ink": "#e8eaed",
    "faint": "#a8b0b9",
    "frame": "#7f8893",
    "hairline": "#363c44",
    "positive": "#f5b060",
    "negative": "#74b8f2",
    "positive-soft": "#6b441a",
    "negative-soft": "#1d4a6e",
    "gradient": "#f58fd4",
    "gradient-soft": "#4d1c40",
    "local": "#5fd0bf",
    "local-soft": "#153f3a",
    "wrong": "#ff8a9c",
    "wrong-soft": "#4a1822",
    "mark": "#6e5c00",
    "class-0": "#74b8f2",
    "class-1": "#f5b060",
    "class-2": "#35a578",
    "class-3": "#8a74f0",
    "class-4": "#b5684a",
    "class-5": "#f5ee9a",
    "class-6": "#c5e8ff",
    "class-7": "#8d939c",
}
SIZES = {  # pixels
    "text": "15px",
    "small": "13px",
    "large": "20px",
    "least": "11px",  # no text is smaller
    "gap": "12px",
    "radius": "8px",
    "target": "36px",  # height of anything to tap
}
SPEEDS = {"quick": "150ms", "travel": "700ms", "step": "1400ms"}
SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace'

# What drawings add: they are written in the light colours, and `render.py` adds the dark ones.
COLOURS = {  # frame and background of each kind of card
    "input": (LIGHT["frame"], LIGHT["panel"]),
    "parameter": (LIGHT["frame"], LIGHT["panel"]),
    "constant": (LIGHT["soft"], LIGHT["soft"]),
    "operation": (LIGHT["frame"], LIGHT["panel"]),
    "result": (LIGHT["ink"], LIGHT["panel"]),
}
EDGE, CAPTION = LIGHT["frame"], LIGHT["faint"]  # colours of arrows, and of words beside the cards
# The fonts after Arial have letters as wide as Arial's, so that text fits its card.
FONT = {
    "fontname": "Helvetica,Arial,Liberation Sans,Arimo,sans-serif",
    "fontsize": "10.5",  # points: 14 pixels, at which the layout measures digits a little too wide
    "fontcolor": LIGHT["ink"],
}
GRAPH = {  # what all drawings of graphs have in common
    **{"bgcolor": LIGHT["panel"], "pad": "0.1", "labeljust": "l"},
    **(FONT | {"fontcolor": CAPTION}),
}
DEEPEST = 0.75  # opacity of the deepest shade, on which words and gradients can still be read
LEGEND = "orange is positive, blue is negative; stronger means larger"


def css(colours: Mapping[str, str]) -> str:
    """Declarations of the colours as CSS variables, one for each line."""
    return "\n".join(f"--{name}: {colour};" for name, colour in colours.items())


def contrast(a: str, b: str) -> float:
    """The contrast of two colours '#rrggbb': (L1 + 0.05) / (L2 + 0.05), from 1 to 21.

    L1 and L2 are the luminances of the lighter and of the darker one.

    Source: W3C, Web Content Accessibility Guidelines 2.2, "contrast ratio".

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    shares = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return sum(part * c for part, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


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


def _strength(x: Any, most: float) -> float:
    # The size of a number relative to the largest, from 0 to 1.
    size = _size(x)
    return min(1.0, size / most) if size and most else 0.0


def _sign(x: Any) -> str:
    return "negative" if _size(x) and innermost(x) < 0 else "positive"


def line(weight: Any, heaviest: float) -> dict[str, str]:
    """Graphviz attributes of the line for a weight: colour shows its sign, width its size.

    A small weight is also paler, so that the large ones stand out where many lines cross.

    >>> line(-1.0, heaviest=2.0)
    {'color': '#0b62a8d9', 'penwidth': '1.4'}
    """
    strength = _strength(weight, heaviest)
    return {
        "color": f"{LIGHT[_sign(weight)]}{round(255 * (0.7 + 0.3 * strength)):02x}",
        "penwidth": f"{0.2 + 2.4 * strength:.2g}",
    }


def shade(x: Any, strongest: float) -> str:
    """The background for the output of a neuron: transparent for 0, most opaque for the largest.

    >>> shade(0.0, strongest=1.0), shade(-0.5, strongest=1.0), shade(1.0, strongest=1.0)
    ('#f8d3a400', '#b9daf260', '#f8d3a4bf')
    """
    opacity = round(255 * DEEPEST * _strength(x, strongest))
    return f"{LIGHT[f'{_sign(x)}-soft']}{opacity:02x}"
