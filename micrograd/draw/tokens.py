"""The design of everything a person looks at: colours, fonts, spacing, corners and speeds.

Drawings, plots, HTML pages and their CSS are all styled by these tables, and no colour is chosen
anywhere else. So a colour means the same thing everywhere:

    orange, blue    positive and negative; class 1 and class 0
    magenta         gradients and the backward pass
    teal            local derivatives, between the data and the gradients
    ink             data, and all text
    yellow          look here: the background of what has just changed
    red             what went wrong, always with a sign or a word beside it

The kind of a node is shown by its shape. Each text colour has a contrast of at least 4.5 with its
background, and each frame at least 3 (a test computes them).
"""

import math
from collections.abc import Iterable, Mapping

from micrograd.core.arithmetic import Number
from micrograd.core.node import innermost

TOKENS = {  # the colour on light pages and on dark ones
    "page": ("#f5f5f2", "#14171a"),  # behind everything
    "panel": ("#ffffff", "#1d2126"),  # behind text, cards and drawings
    "soft": ("#ebecee", "#2c3138"),  # strips and quiet buttons on a panel
    "ink": ("#1b1f24", "#e8eaed"),
    "faint": ("#596068", "#a8b0b9"),  # explanations
    "frame": ("#7d848c", "#7f8893"),  # frames and arrows
    "hairline": ("#d9dce0", "#363c44"),  # lines that only separate
    "positive": ("#a35200", "#f5b060"),
    "negative": ("#0b62a8", "#74b8f2"),
    "positive-soft": ("#f8d3a4", "#6b441a"),  # backgrounds for ink
    "negative-soft": ("#b9daf2", "#1d4a6e"),
    "gradient": ("#a3127c", "#f58fd4"),
    "gradient-soft": ("#fbe3f4", "#4d1c40"),
    "local": ("#0b6b60", "#5fd0bf"),
    "local-soft": ("#dcf1ee", "#153f3a"),
    "wrong": ("#b3182f", "#ff8a9c"),
    "wrong-soft": ("#fde4e8", "#4a1822"),
    "mark": ("#ffe14d", "#6e5c00"),
    "class-0": ("#0b62a8", "#74b8f2"),  # points of each class: shapes, never text
    "class-1": ("#d57a00", "#f5b060"),
    "class-2": ("#35b597", "#35a578"),
    "class-3": ("#5a30d8", "#8a74f0"),
    "class-4": ("#54292f", "#b5684a"),
    "class-5": ("#c9c158", "#f5ee9a"),
    "class-6": ("#6cc0ea", "#c5e8ff"),
    "class-7": ("#6d747d", "#8d939c"),
}
LIGHT, DARK = ({name: pair[i] for name, pair in TOKENS.items()} for i in (0, 1))
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
    **dict.fromkeys(("input", "parameter", "operation"), (LIGHT["frame"], LIGHT["panel"])),
    **{"constant": (LIGHT["soft"], LIGHT["soft"]), "result": (LIGHT["ink"], LIGHT["panel"])},
}
EDGE, CAPTION = LIGHT["frame"], LIGHT["faint"]  # colours of arrows, and of words beside the cards
# The fonts after Arial have letters as wide as Arial's, so that text fits its card.
FONT = {
    "fontname": "Helvetica,Arial,Liberation Sans,Arimo,sans-serif",
    "fontsize": "10.5",  # points: 14 pixels, at which the layout measures digits a little too wide
    "fontcolor": LIGHT["ink"],
}
# What all drawings of graphs have in common.
GRAPH = FONT | {"fontcolor": CAPTION, "bgcolor": LIGHT["panel"], "pad": "0.1", "labeljust": "l"}
DEEPEST = 0.75  # opacity of the deepest shade, on which words and gradients can still be read


def css(colours: Mapping[str, str]) -> str:
    """Declarations of the colours as CSS variables."""
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def largest(xs: Iterable[Number]) -> float:
    """The largest finite absolute value among numbers of any kind.

    >>> largest([1.0, -3, None])
    3.0
    """
    return max(filter(math.isfinite, map(abs, map(_real, xs))), default=0.0)


def _real(x: Number) -> float:
    try:
        return float(innermost(x))
    except (TypeError, ValueError, OverflowError):  # not a real number
        return 0.0


def _sign_and_strength(x: Number, most: float) -> tuple[str, float]:
    # The strength is the size relative to the largest number, from 0 to 1.
    real = _real(x)
    return "negative" if real < 0 else "positive", min(1.0, abs(real) / most) if most else 0.0


def line(weight: Number, heaviest: float) -> dict[str, str]:
    """Graphviz attributes of the line for a weight: colour shows its sign, width its size.

    A small weight is also paler, so that the large ones stand out where many lines cross.

    >>> line(-1.0, heaviest=2.0)
    {'color': '#0b62a8d9', 'penwidth': '1.4'}
    """
    sign, strength = _sign_and_strength(weight, heaviest)
    opacity = round(255 * (0.7 + 0.3 * strength))
    return {"color": f"{LIGHT[sign]}{opacity:02x}", "penwidth": f"{0.2 + 2.4 * strength:.2g}"}


def shade(x: Number, strongest: float) -> str:
    """The background for the output of a neuron: transparent for 0, most opaque for the largest.

    >>> shade(0.0, strongest=1.0), shade(-0.5, strongest=1.0), shade(1.0, strongest=1.0)
    ('#f8d3a400', '#b9daf260', '#f8d3a4bf')
    """
    sign, strength = _sign_and_strength(x, strongest)
    return f"{LIGHT[f'{sign}-soft']}{round(255 * DEEPEST * strength):02x}"
