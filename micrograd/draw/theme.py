"""What makes a drawing's SVG readable everywhere: dark colours, and a width that fits.

Graphviz writes the light colours of `tokens.py`. `themed` adds a style that replaces them with the
dark ones if the reader prefers dark pages. Each rule begins with a class that only this drawing
has, because the styles of an SVG inside a page apply to the whole page.
"""

from __future__ import annotations

import base64
import re
import zlib

from micrograd.draw.tokens import DARK, LIGHT, SIZES

PIXELS = 4 / 3  # per point, the unit of Graphviz
ROOT = re.compile(r'<svg (?:class="\S+" )?width="([\d.]+)pt" height="[\d.]+pt"')


def themed(svg: str) -> str:
    """The SVG of a drawing with its style; text that is not from Graphviz is returned unchanged.

    The class is computed from the text of the drawing, so that equal drawings give equal files.

    >>> svg = '<svg width="8pt" height="8pt"><path stroke="#1b1f24"/></svg>'
    >>> for line in themed(svg).splitlines():
    ...     print(line)
    <svg class="drawing-e200fbe4" width="8pt" height="8pt"><style>
    .drawing-e200fbe4:not(:root){max-width:100%;height:auto;min-width:9px}
    .drawing-e200fbe4 [stroke="none"]{shape-rendering:crispEdges}
    @media screen and (prefers-color-scheme:dark){
    .drawing-e200fbe4 [stroke="#1b1f24"]{stroke:#e8eaed}
    }
    </style><path stroke="#1b1f24"/></svg>
    """
    root = ROOT.search(svg)
    if not root:
        return svg
    name = f"drawing-{zlib.crc32(svg.encode()):08x}"
    style = [
        # Where the SVG is a part of a page, it is at most as wide as the page allows.
        f".{name}:not(:root){{max-width:100%;height:auto;min-width:{_least_width(svg)}px}}",
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
    opening = svg[root.start() : head].replace("<svg", f'<svg class="{name}"', 1)
    rules = "\n".join(style)
    return f"{svg[: root.start()]}{opening}<style>\n{rules}\n</style>{svg[head:]}"


def in_notebook(svg: str) -> str:
    """The HTML of a notebook's cell: a picture that shrinks to the width of the cell.

    It never grows beyond its natural width, and it scrolls if its letters would become too small.

    >>> in_notebook('<svg width="8pt" height="8pt"/>')[-61:]
    'Pg==" style="max-width:100%;height:auto;min-width:9px"></div>'
    """
    data = base64.b64encode(svg.encode()).decode()
    fit = f"max-width:100%;height:auto;min-width:{_least_width(svg)}px"
    return (
        '<div style="overflow-x:auto"><img alt="the drawing of a graph" '
        f'src="data:image/svg+xml;base64,{data}" style="{fit}"></div>'
    )


def _least_width(svg: str) -> int:
    # The width, in pixels, at which the smallest letters can just be read.
    root = ROOT.search(svg)
    width = float(root[1]) * PIXELS if root else 0.0
    letters = min(map(float, re.findall(r'font-size="([\d.]+)"', svg)), default=10.0) * PIXELS
    return round(width * min(1.0, float(SIZES["least"].removesuffix("px")) / letters))
