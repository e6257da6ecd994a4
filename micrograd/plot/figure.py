"""What all figures share: colours (those of `draw/tokens.py`), markers, axes, and `save`.

Classes differ in colour and in marker, so colour-blind readers can tell them apart.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from micrograd.core.files import ending_of, show, write_whole
from micrograd.draw.tokens import DARK, LIGHT, contrast

MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")  # one for each class
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
        mixed: Any = 0.65 * np.array(to_rgb(theme["panel"])) + 0.35 * np.array(to_rgb(fill))
        shade = to_hex(mixed)
        edge = theme["panel" if contrast(fill, shade) >= 3 else "ink"]
        found.append(Mark(fill, edge, marker, shade))
    return found


def shades(theme: Theme) -> LinearSegmentedColormap:
    """Colours from negative (class 0) through the background to positive (class 1)."""
    negative, positive, *_ = (mark.shade for mark in marks(theme))
    return LinearSegmentedColormap.from_list("shades", [negative, theme["panel"], positive])


def theme_of(ax: Axes) -> Theme:
    """The light or the dark theme, whichever can be read on the background of the figure.

    >>> theme_of(NotebookFigure((4, 3), dark=True).add_subplot()) is DARK
    True
    """
    ground = ax.figure.figure.get_facecolor()
    seen = to_hex(ground) if to_rgba(ground)[3] > 0 else LIGHT["panel"]
    return max(LIGHT, DARK, key=lambda theme: contrast(theme["ink"], seen))


class NotebookFigure(Figure):
    """A figure on a light or dark background that a notebook displays without pyplot.

    Its size, in inches, is rounded to whole pixels, so that the background fills the last one. Its
    Axes are transparent.
    """

    def __init__(self, size: tuple[float, float], dark: bool = False) -> None:
        whole = (round(size[0], 2), round(size[1], 2))
        ground = (DARK if dark else LIGHT)["panel"]
        super().__init__(whole, facecolor=ground, layout=ConstrainedLayoutEngine(wspace=0.06))

    def add_subplot(self, *arguments: Any, **options: Any) -> Any:
        """Axes through which the background of the figure is seen."""
        return super().add_subplot(*arguments, **{"facecolor": "none", **options})

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


def style_axes(ax: Axes) -> None:
    """Gives labels, ticks and frame their colours: text in ink, the rest quieter than the data."""
    theme = theme_of(ax)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(theme["ink"])
    ax.tick_params(which="both", colors=theme["faint"], labelsize="small", length=3)
    ax.locator_params(nbins=6)
    ax.spines[:].set_color(theme["frame"])


def as_label(text: str) -> str:
    """The text cut to 24 characters, with $ escaped so that Matplotlib does not read a formula.

    >>> as_label("a name that is far too long for a legend")
    'a name that is far too …'
    """
    text = text if len(text) <= 24 else text[:23] + "…"
    return text.replace("$", r"\$")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a figure, completely or not at all, in the format given by the file's ending.

    Raises:
        ValueError: Matplotlib cannot write this format.
        OSError: the file cannot be written.
    """
    kind = check_path(path)
    content = io.BytesIO()
    # Without dates and random ids, the same figure gives the same file.
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "micrograd"}):
        figure.savefig(content, format=kind, dpi=200, facecolor="auto", metadata=undated.get(kind))
    write_whole(path, content.getvalue())


def check_path(path: str | os.PathLike[str], endings: Collection[str] | None = None) -> str:
    """The ending of a path to which `save` can write; call it before any work is done.

    `endings` are those to accept, without the dot; by default all picture formats that Matplotlib
    can write.

    Raises:
        ValueError: the path does not have one of these endings.
        FileNotFoundError: its folder does not exist.

    >>> check_path("picture.docx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: picture.docx: expected one of the endings .eps ...
    """
    # Some formats are left out: pgf needs LaTeX, avif needs a special build of Pillow, and a raw or
    # rgba file does not contain the size of the picture.
    kinds = set(Figure().canvas.get_supported_filetypes()) - {"pgf", "avif", "raw", "rgba"}
    ending = ending_of(path, sorted(endings or kinds))
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: its folder does not exist")
    return ending
