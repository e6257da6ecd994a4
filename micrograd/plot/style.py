"""Colours, markers and axes that all plots share; the colours are those of `draw/tokens.py`.

Classes differ in colour and in marker, so colour-blind readers can tell them apart.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure

from micrograd.core.files import show
from micrograd.draw.tokens import DARK, LIGHT, contrast

__all__ = [
    "CURVES",
    "MARKERS",
    "Mark",
    "NotebookFigure",
    "as_label",
    "marks",
    "new_axes",
    "shades",
    "style_axes",
    "style_colorbar",
    "theme_of",
]

MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")  # one for each class
CURVES = {  # colour and width; where two curves agree, the thin one lies on the wide one
    "training": ("ink", 1.4),
    "validation": ("frame", 3.2),
}
Theme = Mapping[str, str]  # LIGHT or DARK


class Mark(NamedTuple):
    """How the points of a class are drawn, and the shade of its region."""

    fill: str
    edge: str
    marker: str
    shade: str


def marks(theme: Theme) -> list[Mark]:
    """The mark of each class, with a border in ink if the fill is hard to see on its own region.

    >>> [mark.marker for mark in marks(LIGHT)]
    ['o', '^', 's', 'D', 'v', 'P', 'X', '*']
    """
    found = []
    for k, marker in enumerate(MARKERS):
        fill = theme[f"class-{k}"]
        shade = _mixed(theme["panel"], fill, 0.35)
        edge = theme["panel" if contrast(fill, shade) >= 3 else "ink"]
        found.append(Mark(fill, edge, marker, shade))
    return found


def _mixed(a: str, b: str, share: float) -> str:
    red, green, blue = (x + (y - x) * share for x, y in zip(to_rgb(a), to_rgb(b), strict=True))
    return to_hex((red, green, blue))


def shades(theme: Theme) -> LinearSegmentedColormap:
    """Colours from negative (class 0) through the background to positive (class 1)."""
    negative, positive, *_ = (mark.shade for mark in marks(theme))
    ramp = [negative, theme["panel"], positive]
    return LinearSegmentedColormap.from_list("confidence", ramp)


def theme_of(ax: Axes) -> Theme:
    """The light or the dark theme, whichever can be read on the background of the figure.

    >>> theme_of(new_axes((4, 3), dark=True)) is DARK
    True
    """
    ground = ax.figure.figure.get_facecolor()
    seen = to_hex(ground) if to_rgba(ground)[3] > 0 else LIGHT["panel"]
    return max(LIGHT, DARK, key=lambda theme: contrast(theme["ink"], seen))


class NotebookFigure(Figure):
    """A figure on a light or dark background that a notebook displays without pyplot.

    Its size, in inches, is rounded to whole pixels, so that the background fills the last one.
    """

    def __init__(self, size: tuple[float, float], dark: bool = False, layout: Any = None) -> None:
        whole = (round(size[0], 2), round(size[1], 2))
        super().__init__(whole, facecolor=(DARK if dark else LIGHT)["panel"], layout=layout)

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """Writes the figure, after a first pass in which the layout measures the maps."""
        self.draw_without_rendering()
        super().savefig(*arguments, **options)

    def show(self, warn: bool = True) -> None:
        """Displays the figure in a notebook; elsewhere, opens it in the browser."""
        show(self, "plot.png", self.savefig)

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", facecolor="auto")
        return content.getvalue()


def new_axes(size: tuple[float, float], dark: bool = False) -> Axes:
    """Axes on a new figure of this size, in inches."""
    return NotebookFigure(size, dark, layout="constrained").add_subplot(facecolor="none")


def style_axes(ax: Axes) -> None:
    """Gives labels, ticks and frame their colours: text in ink, the rest quieter than the data."""
    theme = theme_of(ax)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(theme["ink"])
    ax.tick_params(which="both", colors=theme["faint"], labelsize="small", length=3)
    ax.locator_params(nbins=6)
    ax.spines[:].set_color(theme["frame"])


def style_colorbar(bar: Any, label: str) -> None:
    """Labels a colour bar and removes its outline and tick marks."""
    theme = theme_of(bar.ax)
    bar.set_label(label, color=theme["ink"])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelcolor=theme["faint"], labelsize="small")


def as_label(text: str) -> str:
    """The text cut to 24 characters, with $ escaped so that Matplotlib does not read a formula.

    >>> as_label("a name that is far too long for a legend")
    'a name that is far too …'
    """
    text = text if len(text) <= 24 else text[:23] + "…"
    return text.replace("$", r"\$")
