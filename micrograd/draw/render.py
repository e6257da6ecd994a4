"""From DOT text to pictures, with or without Graphviz on the machine.

Pictures are drawn by a registered renderer if there is one, else by the program `dot` if it is
installed, else by the copy of Graphviz in pygraphviz. Both run in a process of their own: Ctrl-C
can stop a long layout, several threads may draw at once, and nothing is printed to the terminal.
"""

from __future__ import annotations

import base64
import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, overload

import graphviz

from micrograd.core.files import FilePath, ending_of, show, write_whole
from micrograd.draw.tokens import DARK, FONT, LIGHT, SIZES
from micrograd.texts import language, listed, said, speaking, spoken_now

AS_TEXT = ("gv", "dot", "")  # file endings for DOT text; a name without an ending is one, too
PICTURES = ("svg", "png", "pdf", *sorted(graphviz.FORMATS - {"svg", "png", "pdf", *AS_TEXT}))
LIBRARY = """
import sys, pygraphviz
engine, format = (option[2:] for option in sys.argv[1:])
drawing = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(drawing.draw(format=format, prog=engine))
"""
GROUP = re.compile(r'<g id="\S+" class="(node|edge)">\n<title>(.*?)</title>(.*?)</g>', re.DOTALL)
WORD = re.compile(r"<text[^>]*>([^<]*)</text>")
ROOT = re.compile(r'<svg\b([^>]*? width="([\d.]+)pt"[^>]*)>')
MOST_DESCRIBED = 60  # nodes
DARK_OF = {light: DARK[token] for token, light in LIGHT.items()}

Renderer = Callable[[str, str, str], bytes]

_registered: list[Renderer] = []


def register(renderer: Renderer | None) -> None:
    """Makes a function draw all pictures from now on, for example in a browser without Graphviz.

    It takes the DOT text, the format and the layout engine, and returns the picture, or raises a
    ValueError if it does not know the format. None goes back to Graphviz.

    >>> register(lambda source, format, engine: f"<svg>{source}</svg>".encode())
    >>> picture("digraph {}", "svg")
    b'<svg>digraph {}</svg>'
    >>> register(None)
    """
    _registered[:] = [] if renderer is None else [renderer]


def picture(source: str, format: str, engine: str = "dot") -> bytes:
    """The picture that Graphviz draws from DOT text, in a format such as 'svg', 'png' or 'pdf'.

    Raises:
        ImportError: Graphviz is not installed; the message says how to install it.
        ValueError: the text cannot be drawn, or not in this format; the message is from Graphviz.
    """
    if _registered:
        return _registered[0](source, format, engine)
    program = ["dot"] if shutil.which("dot") else [sys.executable, "-c", LIBRARY]
    if program != ["dot"] and not importlib.util.find_spec("pygraphviz"):
        raise ImportError(
            "drawing needs Graphviz, which is not installed: install its program `dot` "
            "(apt install graphviz, apk add graphviz, brew install graphviz, or from graphviz.org)"
            ", or pygraphviz, which contains Graphviz, if it has a wheel for this platform "
            "(pip install pygraphviz). Without Graphviz, use .source (the DOT text) or mermaid()"
        )
    run = subprocess.run(
        [*program, f"-K{engine}", f"-T{format}"],
        input=source.encode(),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # else Windows flashes a console
    )
    if run.returncode == 0 and run.stdout:
        return run.stdout
    said = run.stderr.decode(errors="replace").strip()
    errors = " ".join(re.findall("^Error: (.*)", said, re.M)) or said
    reason = errors or f"the drawing process ended with code {run.returncode}"
    raise ValueError(f"Graphviz cannot draw the DOT text as {format}: {reason}")


class Digraph(graphviz.Digraph):  # type: ignore[misc]  # the library has no types
    """A `graphviz.Digraph` that `picture` draws, so it does not need the program `dot`."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._spoken = spoken_now()

    def __repr__(self) -> str:
        return "<drawing: .show() opens it, .save('drawing.svg') writes it>"

    def show(self) -> None:
        """Displays the drawing in a notebook; elsewhere, opens it in the browser."""
        show(self, "drawing.svg", self.save)

    @overload
    def pipe(self, format: str | None = ..., *, dark: bool = ...) -> bytes: ...
    @overload
    def pipe(self, format: str | None = ..., *, encoding: str, dark: bool = ...) -> str: ...
    def pipe(self, format: str | None = None, *, encoding: str = "", dark: bool = False) -> Any:
        """The picture as bytes, or as text if an encoding is given; `dark` as in `save`."""
        format = format or self.format
        source = darkened(self.source) if dark else self.source
        if format == "png" and "dpi=" not in source:  # twice the pixels of a screen: for slides
            source = source.rstrip("}\n") + "\ngraph [dpi=192]\n}"
        data = picture(source, format, self.engine)
        if format == "svg":
            with speaking(*self._spoken):
                data = themed(data.decode()).encode()
        return data.decode(encoding) if encoding else data

    def save(self, filename: FilePath | None = None, *, dark: bool = False) -> str:
        """Writes a picture if the file ends in .svg, .png, .pdf, ...; DOT text for .gv and .dot.

        Returns the path. A name without an ending gets DOT text, too; any other ending is a
        ValueError. `dark` draws on a dark background, for a slide; otherwise, an SVG follows the
        reader's settings, and other pictures are light.
        """
        path = Path(filename or self.filename)
        kind = ending_of(path, [*PICTURES, *AS_TEXT])
        data = self.source.encode() if kind in AS_TEXT else self.pipe(kind, dark=dark)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
        return str(path)

    def render(
        self, filename: FilePath | None = None, *, format: str | None = None, cleanup: bool = False
    ) -> str:
        """For 'out.png', writes just the picture; for 'gout', the DOT text and 'gout.svg'.

        Returns the path of the picture. `cleanup` leaves out the DOT text.
        """
        path = Path(filename or self.filename)
        has_text = path.suffix[1:] in AS_TEXT
        if has_text and not cleanup:
            self.save(path)
        return self.save(f"{path}.{format or self.format}" if has_text or format else path)

    view = show  # what `graphviz` calls it

    def _repr_mimebundle_(self, **_: Any) -> dict[str, bytes | str]:
        # Notebooks prefer HTML, which can fit a picture to the width of a cell. Some programs that
        # show notebooks take only the SVG, or if they do not trust it, the PNG.
        svg = self.pipe("svg", encoding="utf-8")
        bundle: dict[str, bytes | str] = {"image/svg+xml": svg, "text/html": in_notebook(svg)}
        if len(svg) <= 200_000:  # the PNG of a larger SVG would be several times as large
            with suppress(ValueError):  # a registered renderer may not support PNG
                bundle["image/png"] = picture(self.source, "png", self.engine)
        return bundle

    def _repr_html_(self) -> str:
        return in_notebook(self.pipe("svg", encoding="utf-8"))


def darkened(source: str) -> str:
    """DOT text in the dark colours of `tokens.py` instead of the light ones."""
    return re.sub("#[0-9a-f]{6}", lambda found: DARK_OF.get(found[0], found[0]), source)


def themed(svg: str) -> str:
    """The SVG of a drawing with dark colours and a description in words.

    Drawings are in the light colours of `tokens.py`. A style replaces them with the dark ones if
    the reader prefers dark pages. The styles of an SVG inside a page apply to the whole page, so
    each rule begins with a class that only this drawing has. Other text is returned unchanged.
    """
    if not (root := ROOT.search(svg)):
        return svg
    name, about = f"drawing-{zlib.crc32(svg.encode()):08x}", html.escape(described(svg))
    rules = "\n".join(
        f'.{name} [{paint}="{light}"]{{{paint}:{dark}}}'
        for light, dark in DARK_OF.items()
        for paint in ("fill", "stroke")
        if f'{paint}="{light}"' in svg
    )
    # Where the SVG is a part of a page, it is at most as wide as the page allows. Crisp edges leave
    # no seams between cells.
    opening = f"""<svg class="{name}" role="img" aria-label="{about}" lang="{language()}"{root[1]}>
<desc>{about}</desc><style>
.{name}:not(:root){{{_width(svg)}}}
.{name} [stroke="none"]{{shape-rendering:crispEdges}}
@media screen and (prefers-color-scheme:dark){{
{rules}
}}</style>"""
    return svg[: root.start()] + opening + svg[root.end() :]


def described(svg: str) -> str:
    """What a drawing shows, in words: each card with what it says and where its arrows come from.

    >>> from micrograd import Value, draw_dot
    >>> x = Value(3.0, label="x")
    >>> y = x * x
    >>> y.backward()
    >>> described(draw_dot(y).pipe(encoding="utf-8"))
    'A graph with 2 nodes and 2 arrows. x data 3 grad 6; × y data 9 grad 1, from x and x.'
    """
    cards: dict[str, str] = {}
    arrows: list[list[str]] = []  # a tail and a head
    for kind, title, inside in GROUP.findall(svg):
        if kind == "edge":
            arrows.append([end.split(":")[0] for end in html.unescape(title).split("->")])
        elif words := html.unescape(" ".join(WORD.findall(inside))).split():
            cards[html.unescape(title)] = " ".join(words)
    parts, titles = [], sorted(cards, key=lambda title: [*map(int, re.findall(r"\d+", title))])
    for title in titles[:MOST_DESCRIBED]:
        # what is on the cards of the operands, before their numbers
        givers = [cards.get(x, x).partition(" data ")[0] for x, *_, y in arrows if y == title]
        told = {"card": cards[title], "operands": listed(givers)}
        parts.append(said("draw", "said.from", **told) if givers else cards[title])
    if len(cards) > MOST_DESCRIBED:
        parts.append(said("pages", "list.rest", n=len(cards) - MOST_DESCRIBED))
    return said("draw", "said.graph", n=len(cards), arrows=len(arrows), parts="; ".join(parts))


def in_notebook(svg: str) -> str:
    """The HTML of a notebook's cell: a picture that shrinks to the width of the cell.

    It never grows beyond its natural width, and it scrolls if its letters would become too small.
    """
    data, about = base64.b64encode(svg.encode()).decode(), re.search("<desc>(.*?)</desc>", svg)
    return (
        f'<div style="overflow-x:auto"><img alt="{about[1] if about else ""}" '
        f'src="data:image/svg+xml;base64,{data}" style="{_width(svg)}"></div>'
    )


def _width(svg: str) -> str:
    # At the least width, the letters can just be read.
    root = ROOT.search(svg)
    width, least = float(root[2]) if root else 0.0, float(SIZES["least"].removesuffix("px"))
    return f"max-width:100%;height:auto;min-width:{width * least / float(FONT['fontsize']):.0f}px"
