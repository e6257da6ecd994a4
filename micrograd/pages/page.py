"""A self-contained HTML page made from its .html, .css and .js files."""

from __future__ import annotations

import html
import re
from importlib import resources


def html_page(name: str, **contents: str) -> str:
    """The page NAME.html with its placeholders {{key}} filled in.

    The files NAME.css and NAME.js beside it fill {{css}} and {{js}}.

    Args:
        name: name of the page's three files in this folder, without the ending.
        contents: the text for each of the other placeholders.

    >>> html_page("player", run="{}")[:15]
    '<!doctype html>'
    """
    folder = resources.files("micrograd.pages")
    template, css, js = (
        folder.joinpath(f"{name}.{ending}").read_text(encoding="utf-8")
        for ending in ("html", "css", "js")
    )
    texts = {"css": css, "js": js, **contents}
    # A single pass, so that a title such as {{svg}} is not itself replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda gap: texts[gap[1]], template)


def notebook_frame(page: str, title: str, height: int) -> str:
    """The page in an iframe, which keeps its styles apart from those of the notebook.

    Args:
        page: an HTML document.
        title: name of the frame for screen readers.
        height: height of the frame, in pixels.

    >>> notebook_frame("<p>hello", "A page", height=100)[:31]
    '<iframe srcdoc="&lt;p&gt;hello"'
    """
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" title="{title}" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
