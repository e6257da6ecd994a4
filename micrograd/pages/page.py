"""A self-contained HTML page made from plain .html, .css and .js files."""

from __future__ import annotations

import html
import json
import os
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from micrograd.core.files import ending_of, show, write_whole
from micrograd.draw import tokens
from micrograd.pages.texts import texts_of

TEXT = r"\{\{(\w+\.(?:[\w.]+|\*))\}\}"  # a text of texts.toml, or all that begin so, in a script
IMPORT = re.compile(r'^import [^;]*?"([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=const|let|class|function|async)", re.MULTILINE)
# A comment that begins a line, up to the next line. No other is removed, as // may be in a string.
COMMENT = re.compile(r"^[ ]*(?://.*|/\*[\s\S]*?\*/)\n", re.MULTILINE)

# What a page may do: run its own scripts, apply its own styles, and show pictures that it made
# itself. It cannot fetch anything, or evaluate text as code.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


def html_page(
    name: str,
    script: str = "",
    styles: Sequence[str] = (),
    folder: Path | None = None,
    language: str = "en",
    texts: str | os.PathLike[str] | None = None,
    **contents: str,
) -> str:
    """The page NAME.html with its placeholders {{key}} filled in.

    Every page has the tokens of `draw/tokens.py` as CSS variables, then shared/base.css, other
    styles and NAME.css; and a script and the modules that it imports, joined in their order without
    the lines of import and export, so no two of them may have the same name at the top level.
    Comments are left out where they begin a line. A placeholder {{transport}} is the file
    shared/transport.html. A placeholder with a dot, {{tool.try}}, is a text of texts.toml. It may
    also be in a string of a script, where "{{word.*}}" is the JSON of all texts that begin with
    `word.`, by the rest of their keys; in HTML, `x` in the text becomes a key of the keyboard.

    Args:
        name: name of the page's .html and .css files, without the ending.
        script: name of the .js file with which the page starts; empty for a page without scripts.
        styles: names of the .css files between base.css and the page's own.
        folder: where to look for files first, for a page that is not part of the package.
        language: a column of texts.toml.
        texts: a file whose texts replace those of texts.toml.
        contents: the text for each of the other placeholders.

    Raises:
        ValueError: modules import each other in a circle.

    >>> html_page("playground", title="A page", data="{}")[:15]
    '<!doctype html>'
    """
    words = texts_of(language, own=texts)
    js = _joined(f"{script}.js", folder) if script else ""
    parts = {
        "policy": POLICY,
        "language": language,
        "css": "\n".join(
            [_tokens(), *(_file(f"{s}.css", folder) for s in ("shared/base", *styles, name))]
        ),
        "js": re.sub(TEXT, lambda gap: _in_script(_text(words, gap[1])), js),
        **contents,
    }
    page = _file(f"{name}.html", folder).replace("{{transport}}", _file("shared/transport.html"))

    def filled(gap: re.Match[str]) -> str:
        return _in_html(words[gap[1]]) if "." in gap[1] else parts[gap[1]]

    # A single pass, so that a title such as {{js}} is not itself replaced.
    return re.sub(r"\{\{([\w.]+)\}\}", filled, page)


def _joined(first: str, folder: Path | None) -> str:
    # The module and those that it imports, each once and after those that it needs.
    texts: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            circle = " -> ".join((*importers[importers.index(name) :], name))
            fix = "move what both need into a module that imports neither"
            raise ValueError(f"expected modules that can be put in order, got {circle}: {fix}")
        if name in texts:
            return
        text = _file(name, folder)
        for imported in IMPORT.findall(text):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), imported))
            add(path, (*importers, name))
        texts[name] = EXPORT.sub("", IMPORT.sub("", text)).strip()

    add(first, ())
    return "\n".join(texts.values()) + "\n"


def _text(words: Mapping[str, str], key: str) -> str:
    if not key.endswith("*"):
        return words[key]
    begin = key[:-1]
    return json.dumps({k.removeprefix(begin): x for k, x in words.items() if k.startswith(begin)})


def _in_html(text: str) -> str:
    return re.sub(r"`(.*?)`", r"<kbd>\1</kbd>", html.escape(text))


def _in_script(text: str) -> str:
    # For a place inside "..." or `...`.
    text = json.dumps(text, ensure_ascii=False)[1:-1].replace("<", "\\u003c")
    return text.replace("`", "\\u0060").replace("${", "\\u0024{")


def as_json(data: Any) -> str:
    r"""The data as JSON for a script element, in which no text can end the element.

    >>> as_json({"label": "</script>"})
    '{"label":"\\u003c/script>"}'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _file(name: str, folder: Path | None = None) -> str:
    places = [*([folder / name] if folder else []), resources.files("micrograd.pages") / name]
    text = next(place for place in places if place.is_file()).read_text(encoding="utf-8")
    if not name.endswith(".html"):
        text = COMMENT.sub("", text)
    # Tabs for the indentation: a page is a tenth smaller, and its source can still be read.
    return re.sub(r"^(?:  )+", lambda gap: "\t" * (len(gap[0]) // 2), text, flags=re.MULTILINE)


def _tokens() -> str:
    fixed = {**tokens.SIZES, **tokens.SPEEDS, "sans": tokens.SANS, "mono": tokens.MONO}
    light = f":root {{\n{tokens.css({**tokens.LIGHT, **fixed})}\n}}"
    dark = f":root:not(.on-paper) {{\n{tokens.css(tokens.DARK)}\n}}"
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"


class Page:
    """An HTML page: a notebook displays it, `.show()` opens it, `.save(path)` writes it.

    Attributes:
        html: the page, a self-contained HTML document.

    >>> Page("<!doctype html>", about="an empty page", title="Empty", height=100)
    <an empty page: .show() opens it, .save('page.html') writes it>
    """

    def __init__(
        self,
        page: str,
        about: str,
        title: str,
        height: int,
        film: Callable[[bool], bytes] | None = None,
    ) -> None:
        self.html = page
        self._about, self._title, self._height, self._film = about, title, height, film

    def save(self, path: str | os.PathLike[str], *, dark: bool = False) -> str:
        """Writes the page, completely or not at all, and returns its path; any browser opens it.

        The page of `explain` can also be saved as a .gif: a film of its backward pass, on a dark
        background if `dark` is true. A page follows the reader's settings.

        Raises:
            ValueError: the path has another ending, or the graph is too large for a film.
        """
        kind = ending_of(path, ("html", "htm", *(["gif"] if self._film else [])))
        page = self.html.encode(errors="replace")
        write_whole(path, self._film(dark) if self._film and kind == "gif" else page)
        return os.fspath(path)

    def show(self) -> None:
        """Displays the page in a notebook; elsewhere, opens it in the browser."""
        show(self, "page.html", self.save)

    def _repr_html_(self) -> str:
        return notebook_frame(self.html, self._title, self._height)

    def __repr__(self) -> str:
        return f"<{self._about}: .show() opens it, .save('page.html') writes it>"


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
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" '
        f'title="{html.escape(title)}" style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
