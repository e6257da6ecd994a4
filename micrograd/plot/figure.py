"""What all figures share: colours (those of `draw/tokens.py`), markers, axes, and `save`."""

import io
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from micrograd.core.files import FilePath, ending_of, show, write_whole
from micrograd.draw.film import Film, write_film
from micrograd.draw.tokens import DARK, LIGHT
from micrograd.texts import is_wide

ENDINGS = ("jpg", "pdf", "png", "svg", "webp")  # of files to which `save` writes
ABOVE: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderpad": 0.2,
              "handlelength": 1.6, "columnspacing": 1.2}  # a legend in columns  # fmt: skip
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")  # of classes: colour is not all that differs
# Letters that Matplotlib's own font lacks are of the first of these that the machine has.
CHINESE = ("PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC",
           "WenQuanYi Micro Hei")  # fmt: skip
Theme = Mapping[str, str]  # LIGHT or DARK


def class_shades(theme: Theme) -> Any:
    """The shade of the region of each class: its colour, mixed with the background."""
    fills = to_rgba_array([theme[f"class-{k}"] for k in range(len(MARKERS))])
    return 0.65 * to_rgba_array(theme["panel"]) + 0.35 * fills


def theme_of(ax: Axes) -> Theme:
    """The light or the dark theme, whichever can be read on the background of the figure."""
    *colour, opacity = to_rgba(ax.figure.figure.get_facecolor())
    return DARK if sum(colour) < 1.5 and opacity else LIGHT


class NotebookFigure(Figure):
    """A figure on a light or dark background that a notebook displays without pyplot.

    Its size, in inches, is rounded to whole pixels, so that the background fills the last one.

    Attributes:
        alt: what it shows, in words, for a reader who cannot see it.
        film: makes the pictures of a film of it, if it has one.
    """

    alt = ""
    film: Callable[[], Film] | None = None

    def __init__(self, width: float, height: float, dark: bool = False) -> None:
        whole, ground = (round(width, 2), round(height, 2)), (DARK if dark else LIGHT)["panel"]
        super().__init__(whole, facecolor=ground, layout=ConstrainedLayoutEngine(wspace=0.06))

    def draw(self, renderer: Any) -> None:
        """Draws the figure; Chinese words in a font that has them, if the machine has one."""
        for text in self.findobj(Text):
            if is_wide(text.get_text()):
                known = {font.name for font in fontManager.ttflist}
                chinese = [x for x in CHINESE if x in known][:1]
                text.set_fontfamily([*matplotlib.rcParams["font.family"], *chinese])
        super().draw(renderer)

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """Writes the figure, after a first pass in which the layout measures the maps."""
        self.draw_without_rendering()
        super().savefig(*arguments, **options)

    def save(self, path: FilePath) -> None:
        """Writes the figure, as `plot.save` does."""
        save(self, path)

    def show(self, warn: bool = True) -> None:
        """Displays the figure in a notebook; elsewhere, opens it in the browser."""
        show(self, "plot.png", self.savefig)

    def _repr_png_(self) -> Any:
        content = io.BytesIO()
        self.savefig(content, format="png", facecolor="auto")
        return (content.getvalue(), {"alt": self.alt}) if self.alt else content.getvalue()


def style_axes(ax: Axes, above: str | None = None, legend: Mapping[str, Any] | None = None) -> None:
    """Gives axes their colours: no background, text in ink, the rest quieter than the data.

    Axes with a line of text `above` are open at the top and on the right. `legend` has settings of
    a legend, if there is to be one; it is above the axes if it has a number of columns.
    """
    theme = theme_of(ax)
    ax.set_facecolor("none")
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(theme["ink"])
    ax.tick_params(which="both", colors=theme["faint"], labelsize="small", length=3)
    ax.locator_params(nbins=6)
    ax.spines[:].set_color(theme["frame"])
    if above is not None:
        ax.set_title(above, loc="right", fontsize="small", color=theme["faint"])
        ax.spines[["top", "right"]].set_visible(False)
    if legend is not None:
        place = ABOVE if "ncols" in legend else {}
        quiet = {"frameon": False, "labelcolor": theme["ink"], "fontsize": "small",
                 "title_fontsize": "small", "alignment": "left"}  # fmt: skip
        ax.legend(**quiet | place | dict(legend)).get_title().set_color(theme["faint"])


def as_label(text: str) -> str:
    """The text cut to 24 characters, with $ escaped so that Matplotlib does not read a formula.

    >>> as_label("a name that is far too long for a legend")
    'a name that is far too …'
    """
    text = text if len(text) <= 24 else text[:23] + "…"
    return text.replace("$", r"\$")


def filmed(figure: Figure, draw: Callable[[int], None], n: int) -> Film:
    """Up to 61 of the pictures that `draw` draws on a figure: each for 80 ms, the last for 2 s.

    `draw` is called with a number below n, the first time with 0.
    """
    canvas, pictures = FigureCanvasAgg(figure), list[Any]()
    for i in sorted({round(i * (n - 1) / 60) for i in range(61)}):
        draw(i)
        if not pictures:  # compute the layout once; the second pass knows the map's shape
            figure.draw_without_rendering()
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        canvas.draw()  # type: ignore[no-untyped-call]
        pictures.append(np.array(canvas.buffer_rgba())[..., :3])  # type: ignore[no-untyped-call]
    return [*((shown, 80) for shown in pictures[:-1]), (pictures[-1], 2000)]


def save(figure: Figure, path: FilePath) -> None:
    """Writes a figure, completely or not at all, in the format given by the file's ending.

    A figure that moves, such as a `landscape`, may also be a .gif, or with a path such as
    `frames/`, a folder of numbered PNGs.

    Raises:
        ValueError: the file has another ending than .png, .svg, .pdf, .jpg and .webp.
        OSError: the file cannot be written.
    """
    film = getattr(figure, "film", None)
    kind = check_path(path, (*ENDINGS, "gif", "") if film else ENDINGS)
    if film and kind in ("gif", ""):
        return write_film(path, film())
    content, about = io.BytesIO(), {"Description": getattr(figure, "alt", "") or None}
    # Without dates and random ids, the same figure gives the same file.
    known = {"svg": about | {"Date": None}, "png": about, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "micrograd"}):
        figure.savefig(content, format=kind, dpi=200, facecolor="auto", metadata=known.get(kind))
    write_whole(path, content.getvalue())


def check_path(path: FilePath, endings: Collection[str] = ENDINGS) -> str:
    """The ending of a path to which `save` can write; call it before any work is done.

    `endings` are those to accept, without the dot.

    Raises:
        ValueError: the path does not have one of these endings.
        FileNotFoundError: its folder does not exist.

    >>> check_path("picture.docx")
    Traceback (most recent call last):
    ValueError: picture.docx: expected one of the endings .jpg .pdf .png .svg .webp
    """
    ending = ending_of(path, sorted(endings))
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: its folder does not exist")
    return ending
