"""From DOT text to pictures, with or without Graphviz on the machine.

Pictures are drawn by a registered renderer if there is one, else by the program `dot` if it is
installed, else by the copy of Graphviz in pygraphviz. Both run in a process of their own: Ctrl-C
can stop a long layout, several threads may draw at once, and what Graphviz and its font library
print does not reach the terminal.

    >>> picture("digraph { a -> b }", "svg").startswith(b"<?xml")
    True
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
import webbrowser
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import graphviz

from micrograd.core.files import ending_of, show, write_whole
from micrograd.draw.formulas import counted
from micrograd.draw.tokens import DARK, LIGHT, SIZES

BITMAPS = {"bmp", "gif", "jpe", "jpeg", "jpg", "png", "webp"}
LARGEST_BITMAP = "40,40"  # inches: filling more pixels would take longer than the layout
WITH_PNG = 200_000  # bytes: the PNG of a larger SVG would be several times as large
AS_TEXT = ("gv", "dot", "")  # file endings for DOT text; a name without an ending is one, too
PICTURES = ("svg", "png", "pdf", *sorted(graphviz.FORMATS - {"svg", "png", "pdf", *AS_TEXT}))
ENDINGS = (*PICTURES, *AS_TEXT)
LIBRARY = """
import sys, pygraphviz
engine, format, *size = (option[2:] for option in sys.argv[1:])
drawing = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
for each in size:
    drawing.graph_attr.setdefault(*each.split("="))
sys.stdout.buffer.write(drawing.draw(format=format, prog=engine))
"""
PIXELS = 4 / 3  # per point, the unit of Graphviz
GROUP = re.compile(r'<g id="\S+" class="(node|edge)">\n<title>(.*?)</title>(.*?)</g>', re.DOTALL)
WORD = re.compile(r"<text[^>]*>([^<]*)</text>")
MOST_DESCRIBED = 60  # nodes
ROOT = re.compile(r'<svg (?:class="\S+" )?width="([\d.]+)pt" height="[\d.]+pt"')

Renderer = Callable[[str, str, str], bytes]
File = str | os.PathLike[str] | None

_registered: list[Renderer] = []


def register(renderer: Renderer | None) -> None:
    """Makes a function draw all pictures from now on, for example in a browser without Graphviz.

    Args:
        renderer: takes the DOT text, the format and the layout engine, and returns the picture; it
            raises a ValueError for a format that it cannot make. None goes back to Graphviz.

    >>> register(lambda source, format, engine: f"<svg>{source}</svg>".encode())
    >>> picture("digraph {}", "svg")
    b'<svg>digraph {}</svg>'
    >>> register(None)
    """
    _registered[:] = [] if renderer is None else [renderer]


def picture(source: str, format: str, engine: str = "dot") -> bytes:
    """The picture that Graphviz draws from DOT text.

    Args:
        source: the DOT text.
        format: 'svg', 'png', 'pdf' and more. Bitmaps are scaled down to 40 inches a side; a graph
            of about 500 nodes may be larger than that.
        engine: the layout engine: 'dot' for layers, 'neato' for a spring model, and more.

    Raises:
        ImportError: Graphviz is not installed; the message says how to install it.
        ValueError: the text cannot be drawn, or not in this format; the message is from Graphviz.
    """
    if _registered:
        return _registered[0](source, format, engine)
    size = [f"-Gsize={LARGEST_BITMAP}"] * (format in BITMAPS)
    run = subprocess.run(
        [*_graphviz(), f"-K{engine}", f"-T{format}", *size],
        input=source.encode(),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # else Windows flashes a console
    )
    if run.returncode == 0 and run.stdout:
        return run.stdout
    said = run.stderr.decode(errors="replace")
    errors = " ".join(re.findall("^Error: (.*)", said, re.M)) or said.strip()
    errors = errors or f"the drawing process ended with code {run.returncode}"
    raise ValueError(f"Graphviz cannot draw the DOT text as {format}: {errors}")


def _graphviz() -> list[str]:
    # The command that takes the options of the program `dot`.
    if shutil.which("dot"):
        return ["dot"]
    if not importlib.util.find_spec("pygraphviz"):
        raise ImportError(
            "drawing needs Graphviz, which is not installed: install its program `dot` "
            "(apt install graphviz, apk add graphviz, brew install graphviz, or from graphviz.org)"
            ", or pygraphviz, which contains Graphviz, if it has a wheel for this platform "
            "(pip install pygraphviz). Without Graphviz, use .source (the DOT text) or mermaid()"
        )
    return [sys.executable, "-c", LIBRARY]


class Digraph(graphviz.Digraph):  # type: ignore[misc]  # the library has no types
    """A `graphviz.Digraph` that `picture` draws, so it does not need the program `dot`.

    >>> graph = Digraph(format="svg")
    >>> graph.edge("a", "b")
    >>> graph.pipe(encoding="utf-8").count("<path")
    1
    >>> graph
    <drawing: .show() opens it, .save('drawing.svg') writes it>
    """

    def __repr__(self) -> str:
        return "<drawing: .show() opens it, .save('drawing.svg') writes it>"

    def show(self) -> None:
        """Displays the drawing in a notebook; elsewhere, opens it in the browser."""
        show(self, "drawing.svg", self.save)

    def pipe(
        self,
        format: str | None = None,
        *,
        engine: str | None = None,
        encoding: str | None = None,
        dark: bool = False,
    ) -> Any:
        """The picture as bytes, or as text if an encoding is given; `dark` as in `save`."""
        format = format or self.format
        source = darkened(self.source) if dark else self.source
        data = picture(source, format, engine or self.engine)
        data = themed(data.decode()).encode() if format == "svg" else data
        return data.decode(encoding) if encoding else data

    def save(self, filename: File = None, *, dark: bool = False) -> str:
        """Writes a picture if the file ends in .svg, .png, .pdf, ...; DOT text for .gv and .dot.

        Returns the path. The file is written completely or not at all. A name without an ending
        gets DOT text, too. Any other ending is a ValueError. `dark` draws on a dark background, for
        a slide; otherwise, an SVG follows the reader's settings, and other pictures are light.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Digraph().save(Path(folder, "a.svg"))
        ...     Path(path).read_bytes()[:5]
        b'<?xml'
        """
        path = Path(filename or self.filename)
        kind = ending_of(path, ENDINGS)
        data = self.source.encode() if kind in AS_TEXT else self.pipe(kind, dark=dark)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
        return str(path)

    def render(
        self,
        filename: File = None,
        *,
        format: str | None = None,
        view: bool = False,
        cleanup: bool = False,
    ) -> str:
        """For 'out.png', writes just the picture; for 'gout', the DOT text and 'gout.svg'.

        Returns the path of the picture. `view` opens it, and `cleanup` leaves out the DOT text.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Digraph().render(Path(folder, "gout"), format="png")
        ...     sorted(os.listdir(folder))
        ['gout', 'gout.png']
        """
        path = Path(filename or self.filename)
        if filename is None or format or ending_of(path, ENDINGS) in AS_TEXT:
            if not cleanup:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, self.source.encode())
            path = Path(f"{path}.{format or self.format}")
        self.save(path)
        if view:
            webbrowser.open(path.absolute().as_uri())
        return str(path)

    def view(self, filename: File = None) -> str:
        """Writes the picture as `render` does, and opens it."""
        return self.render(filename, view=True)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, bytes | str]:
        # Notebooks prefer HTML, which can fit a picture to the width of a cell. Some programs that
        # show notebooks take only the SVG, or if they do not trust it, the PNG. IPython picks those
        # that its caller wants.
        svg = self.pipe("svg", encoding="utf-8")
        bundle: dict[str, bytes | str] = {"image/svg+xml": svg, "text/html": in_notebook(svg)}
        if len(svg) <= WITH_PNG:
            with suppress(ValueError):  # a registered renderer may not support PNG
                bundle["image/png"] = self.pipe("png")
        return bundle

    def _repr_html_(self) -> str:
        return in_notebook(self.pipe("svg", encoding="utf-8"))


def darkened(source: str) -> str:
    """DOT text in the dark colours of `tokens.py` instead of the light ones.

    >>> darkened("#1b1f24")
    '#e8eaed'
    """
    dark_of = {light: DARK[token] for token, light in LIGHT.items()}
    return re.sub("#[0-9a-f]{6}", lambda found: dark_of.get(found[0], found[0]), source)


# ---- an SVG that can be read everywhere


def themed(svg: str) -> str:
    """The SVG of a drawing with dark colours and a description in words.

    Text that is not from Graphviz is returned unchanged.

    Drawings are in the light colours of `tokens.py`. The style that is added replaces them with the
    dark ones if the reader prefers dark pages. Each rule begins with a class that only this drawing
    has, because the styles of an SVG inside a page apply to the whole page. The class is computed
    from the text of the drawing, so that equal drawings give equal files.

    >>> svg = themed('<svg width="8pt" height="8pt"><path stroke="#1b1f24"/></svg>')
    >>> [line for line in svg.splitlines() if "#e8eaed" in line]
    ['.drawing-e200fbe4 [stroke="#1b1f24"]{stroke:#e8eaed}']
    """
    root = ROOT.search(svg)
    if not root:
        return svg
    name = f"drawing-{zlib.crc32(svg.encode()):08x}"
    style = [
        # Where the SVG is a part of a page, it is at most as wide as the page allows.
        f".{name}:not(:root){{{_width(svg)}}}",
        f'.{name} [stroke="none"]{{shape-rendering:crispEdges}}',  # no seams between cells
        "@media screen and (prefers-color-scheme:dark){",
        *(
            f'.{name} [{paint}="{light}"]{{{paint}:{DARK[token]}}}'
            for token, light in LIGHT.items()
            for paint in ("fill", "stroke")
            if f'{paint}="{light}"' in svg
        ),
        "}",
    ]
    head = svg.index(">", root.end()) + 1
    about = described(svg)
    opening = svg[root.start() : head - 1].replace("<svg", f'<svg class="{name}"', 1)
    opening += f' role="img" aria-label="{html.escape(about)}">'
    rules = "\n".join(style)
    inside = f"<desc>{html.escape(about)}</desc><style>\n{rules}\n</style>"
    return f"{svg[: root.start()]}{opening}{inside}{svg[head:]}"


def described(svg: str) -> str:
    """What a drawing shows, in words: each card with what it says and where its arrows come from.

    >>> from micrograd import Value, draw_dot
    >>> x = Value(3.0, label="x")
    >>> y = x * x
    >>> y.backward()
    >>> described(draw_dot(y).pipe(encoding="utf-8"))
    'A graph with 2 nodes and 2 arrows. x data 3 grad 6; × data 9 grad 1, from x and x.'
    """
    said: dict[str, str] = {}
    sources: dict[str, list[str]] = {}
    arrows = 0
    for kind, title, inside in GROUP.findall(svg):
        if kind == "node":
            words = html.unescape(" ".join(WORD.findall(inside))).split()
            said[html.unescape(title)] = " ".join(words)
        else:
            arrows += 1
            ends = re.split("->|--", html.unescape(title))
            tail, head = (end.split(":")[0] for end in (ends[0], ends[-1]))
            sources.setdefault(head, []).append(tail)
    parts = []
    titles = sorted(
        filter(said.get, said), key=lambda title: [*map(int, re.findall(r"\d+", title))]
    )
    for title in titles[:MOST_DESCRIBED]:  # operands come first
        # what a card begins with, before its numbers
        givers = [said.get(x, "").partition(" data ")[0] or x for x in sources.get(title, ())]
        parts.append(said[title] + (f", from {' and '.join(givers)}" if givers else ""))
    more = f"; and {len(titles) - len(parts)} more" if len(titles) > len(parts) else ""
    counts = f"{counted(len(titles), 'node')} and {counted(arrows, 'arrow')}"
    return f"A graph with {counts}{'. ' * bool(parts)}{'; '.join(parts)}{more}."


def in_notebook(svg: str) -> str:
    """The HTML of a notebook's cell: a picture that shrinks to the width of the cell.

    It never grows beyond its natural width, and it scrolls if its letters would become too small.

    >>> in_notebook('<svg width="8pt" height="8pt"/>')[-61:]
    'Pg==" style="max-width:100%;height:auto;min-width:9px"></div>'
    """
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<div style="overflow-x:auto"><img alt="{html.escape(described(svg))}" '
        f'src="data:image/svg+xml;base64,{data}" style="{_width(svg)}"></div>'
    )


def _width(svg: str) -> str:
    # At the least width, the smallest letters can just be read.
    root = ROOT.search(svg)
    width = float(root[1]) * PIXELS if root else 0.0
    letters = min(map(float, re.findall(r'font-size="([\d.]+)"', svg)), default=10.0) * PIXELS
    least = round(width * min(1.0, float(SIZES["least"].removesuffix("px")) / letters))
    return f"max-width:100%;height:auto;min-width:{least}px"
