"""Colours and axes that all plots share.

Classes differ in colour, in lightness and in marker, so colour-blind readers can tell them apart.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

__all__ = [
    "CLASSES",
    "GREY",
    "INK",
    "SHADES",
    "NotebookFigure",
    "as_label",
    "new_axes",
    "style_axes",
    "style_colorbar",
]

INK, GREY = "#222222", "#666666"
CLASSES = (  # for each class: fill, edge, marker, shade of its region
    ("#0072B2", "white", "o", "#8ABADC"),
    ("#F0A30A", "#222222", "^", "#FBDA9F"),
    ("#009E73", "white", "s", "#8FD3BE"),
    ("#C4569A", "white", "D", "#E8BBD5"),
    ("#7F3F00", "white", "v", "#CDB49C"),
    ("#8DD3F5", "#222222", "P", "#D6EFFB"),
    ("#3B3B3B", "white", "X", "#B9B9B9"),
    ("#F4EC5A", "#222222", "*", "#FAF6BE"),
)
SHADES = LinearSegmentedColormap.from_list("confidence", [CLASSES[0][3], "#FFFFFF", CLASSES[1][3]])


class NotebookFigure(Figure):
    """A figure that a notebook displays although pyplot does not manage it."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()


def new_axes(size: tuple[float, float]) -> Axes:
    """Axes on a new figure of this size, in inches."""
    return NotebookFigure(figsize=size, layout="constrained").add_subplot()


def style_axes(ax: Axes) -> None:
    """Makes the frame and the ticks grey and small, so that the data stand out."""
    ax.tick_params(colors=GREY, labelsize="small", length=3)
    ax.locator_params(nbins=6)
    ax.spines[:].set_color(GREY)


def style_colorbar(bar: Any, label: str) -> None:
    """Labels a colour bar and removes its outline and tick marks."""
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelcolor=GREY, labelsize="small")


def as_label(text: str) -> str:
    """The text cut to 24 characters, with $ escaped so that Matplotlib does not read a formula.

    >>> as_label("a name that is far too long for a legend")
    'a name that is far too …'
    """
    text = text if len(text) <= 24 else text[:23] + "…"
    return text.replace("$", r"\$")
