"""A self-contained HTML page made from plain .html, .css and .js files."""

from __future__ import annotations

import html
import json
import os
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import resources
from pathlib import Path
from typing import Any, ParamSpec

from micrograd.core.files import ending_of, show, write_whole
from micrograd.draw import tokens
from micrograd.texts import language, speaking, spoken, spoken_now, texts_of

TEXT = r"\{\{(\w+\.[\w.]*[\w*])\}\}"  # a text, or all that begin so, in a script
SHARED = r"\{\{(head|transport|scripts)\}\}"  # a file of HTML that pages share
# What joining takes out of a file: a comment that begins a line or ends it, an import, `export`.
COMMENT = r"^[ ]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/)\n|[ ]+// .*$"
IMPORT = r'^(?:import (?:\{(?:\s*[\w$]+\s*(?:,|(?=\})))+\s*\} from )?|@import )"(?P<path>[^"]+)";\n'
EXPORT = r"^export (?=const|let|class|function|async)"
OTHER = r"(?P<other>^(?:import|export)\b.*|`.*)"  # an error
# What it keeps as it is: strings, patterns, and templates, with code inside them.
STRING = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
TEMPLATE, code = "", r"[^`{}\"']*"
for _ in range(4):
    TEMPLATE = rf"`(?:\\[\s\S]|[^`\\$]|\$(?!\{{)|\$\{{{code}\}})*`"
    code = rf"(?:[^`{{}}\"']|{STRING}|{TEMPLATE}|\{{{code}\}})*"
PATTERN = r"(?<=[(,=:!&|?;{}\[>])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/"
KEPT = rf"(?P<kept>{STRING}|{TEMPLATE}|{PATTERN}|/\*[\s\S]*?\*/)"
# What makes a script or a style easy to read, but says nothing.
SPACES = {
    ".js": r"(?<=[,;(){}\[=&|>])\n *|,?\n *(?=[)}\]])|\n *(?=[.?:\n])"
    r"| (?==>|[=!]==|&&|\|\|)|(?<=[=!]==) |(?<==>) |(?<=&&|\|\|) |(?<=\n) +",
    "css": r"(?<=[:;,{}])\s+|\s+(?=[{}])",
}
# What a module declares, also in the next line of a declaration of several.
NAMED = r"(?m)^(?:(?:async )?(?:const|let|class|function) |  (?=[A-Z_]+ = ))([\w$]+)"

# A page may run its own scripts and styles, and show pictures that it made itself; nothing else.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)

FIXED = {**tokens.SIZES, **tokens.SPEEDS, "sans": tokens.SANS, "mono": tokens.MONO}
TOKENS = f""":root {{\n{tokens.css({**tokens.LIGHT, **FIXED})}\n}}
@media screen and (prefers-color-scheme: dark) {{
:root:not(.on-paper) {{\n{tokens.css(tokens.DARK)}\n}}\n}}"""


def html_page(
    name: str, script: str = "", folder: Path | None = None, *, mark: str = "", **contents: str
) -> str:
    """The page NAME.html with its placeholders {{key}} filled in.

    Every page has the tokens of `draw/tokens.py` as CSS variables, then shared/base.css and
    NAME.css; and a script. What a script or a style imports is joined before it, so no two modules
    of a page may have the same name at the top level. Comments are left out.

    A placeholder with a dot, {{tool.try}}, is a text of en.toml, also in a string of a script,
    where "{{word.*}}" is the JSON of all texts that begin with `word.`; in HTML, `x` in the text
    becomes a key of the keyboard. {{head}}, {{scripts}} and {{transport}} are files in shared/.
    `contents` fills the other placeholders. `script` names the .js file that starts, if any. Files
    are first looked for in `folder`. `mark` is around each text, for a page in several languages.

    >>> html_page("worksheet", title="A page", tasks="", solutions="")[:15]
    '<!doctype html>'
    """
    words = texts_of("pages")

    def in_script(gap: re.Match[str]) -> str:  # for a place inside "..." or `...`
        word, star, _ = gap[1].partition("*")
        some = {key.removeprefix(word): x for key, x in words.items() if key.startswith(word)}
        text = json.dumps(some, ensure_ascii=False, separators=(",", ":")) if star else words[word]
        text = json.dumps(text, ensure_ascii=False)[1:-1].replace("<", "\\u003c")
        return mark + text.replace("`", "\\u0060").replace("${", "\\u0024{") + mark

    page = re.sub(SHARED, lambda gap: _file(f"shared/{gap[1]}.html"), _file(f"{name}.html", folder))
    parts = {"policy": POLICY, "language": language()} | contents
    if "{{css}}" in page and "css" not in parts:
        parts["css"] = f"{TOKENS}\n{_joined('shared/base.css')}{_joined(f'{name}.css', folder)}"
    parts["js"] = re.sub(TEXT, in_script, _joined(f"{script}.js", folder)) if script else ""

    def in_html(gap: re.Match[str]) -> str:
        if "." not in gap[1]:
            return mark * (gap[1] in MARKED) + parts[gap[1]] + mark * (gap[1] in MARKED)
        return mark + re.sub(r"`(.*?)`", r"<kbd>\1</kbd>", html.escape(words[gap[1]])) + mark

    # A single pass, so that a title such as {{js}} is not itself replaced.
    return re.sub(r"\{\{([\w.]+)\}\}", in_html, page)


def _joined(first: str, folder: Path | None = None) -> str:
    # The file and those that it imports, each once and after those that it needs.
    texts: dict[str, str] = {}
    _join(first, folder, texts, {})
    return "\n".join(texts.values()) + "\n"


def _join(name: str, folder: Path | None, texts: dict[str, str], owners: dict[str, str]) -> None:
    if name in texts:
        return

    def taken(found: re.Match[str]) -> str:
        if found["other"]:
            known = 'only import {a, b} from "./file.js", export const, let, class or function'
            got = f"templates at most 4 deep, got {found['other']}"
            raise ValueError(f"{name}: expected {known}, and {got}")
        if found["path"]:
            path = posixpath.join(posixpath.dirname(name), found["path"])
            _join(posixpath.normpath(path), folder, texts, owners)
        return found["kept"] or ""

    pieces = "|".join([COMMENT, IMPORT, EXPORT, KEPT, OTHER])
    text = re.sub(pieces, taken, _file(name, folder), flags=re.MULTILINE)
    for named in re.findall(NAMED, text):
        if owners.setdefault(named, name) != name:
            raise ValueError(f"{name}: {owners[named]} has a {named}, too: rename one of them")
    room = f"{KEPT}|{SPACES[name[-3:]]}"
    texts[name] = re.sub(room, lambda found: found["kept"] or "", text).strip()


P = ParamSpec("P")
MARK = "\ue000"  # around a text; a private character, which no text has
MARKED = ("title", "language", "tasks", "solutions")
STRINGS = r'("(?:[^"\\]|\\.)*")'


def as_json(data: object, is_ascii: bool = True) -> str:
    r"""The data as JSON for a script element, in which no text can end the element.

    Texts of many languages are shorter if `is_ascii` is false.

    >>> as_json({"label": "</script>"})
    '{"label":"\\u003c/script>"}'
    """
    text = json.dumps(data, ensure_ascii=is_ascii, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _file(name: str, folder: Path | None = None) -> str:
    places = [*([folder / name] if folder else []), resources.files("micrograd.pages") / name]
    text = next(place for place in places if place.is_file()).read_text(encoding="utf-8")
    return re.sub(r"^ +", " ", text, flags=re.MULTILINE) if name.endswith(".html") else text


def in_languages(make: Callable[P, Page]) -> Callable[P, Page]:
    """The function that makes a page, or one with a menu of the `languages` that it is given."""

    @wraps(make)
    def made(*args: P.args, **named: P.kwargs) -> Page:
        one: Callable[..., Page] = spoken(make)
        languages: Any = named.get("languages") or ()
        pages = [one(*args, **{**named, "languages": (), "language": each}) for each in languages]
        return _joined_pages(pages, languages) if pages else one(*args, **named)

    return made


def _joined_pages(pages: Sequence[Page], languages: Sequence[str]) -> Page:
    # The first page, with what differs in the others beside it.
    parts: list[Any] = [""]
    for several in zip(*(page._marked.split(MARK) for page in pages), strict=True):
        rows = [re.split(STRINGS, part) for part in several]  # data have as many strings
        are_alike = len({*map(len, rows)}) == 1
        for same in zip(*rows, strict=True) if are_alike else [several]:
            if len({*same}) > 1:
                parts += [same, ""]
            else:
                parts[-1] += same[0]
    labels = [texts_of("pages", each)["language.name"] for each in languages]
    told = as_json({"languages": languages, "parts": parts, "labels": labels}, is_ascii=False)
    first, name = pages[0], "shared/languages"
    first.html = html_page(name, name, title=first._title, language=languages[0], data=told, css="")
    return first


class Page:
    """An HTML page: a notebook displays it, `.show()` opens it, `.save(path)` writes it.

    Args:
        name: name of the script; also that of the .html and .css files, unless `layout` is given.
        data: what the script reads from the page; a page without data has no script.
        about: a few words for its repr.
        height: height of its frame in a notebook, in pixels.
        title: title of the page; by default the text NAME.title.
        film: makes the pictures of a film, on a dark background if called with True.
        contents: what fills the other placeholders of the .html file.
    """

    def __init__(
        self,
        name: str,
        data: Mapping[str, object],
        about: str,
        height: int,
        title: object = None,
        layout: str = "",
        film: Callable[[bool], Any] | None = None,
        **contents: str,
    ) -> None:
        self._about, self._height, self._film = about, height, film
        self._spoken = spoken_now()
        self._title = html.escape(str(title or texts_of("pages")[f"{name}.title"]))
        contents |= {"title": self._title, "data": as_json(data)}
        script = name if data else ""
        self._marked = html_page(layout or name, script, None, mark=MARK, **contents)
        self.html = self._marked.replace(MARK, "")

    def save(self, path: str | os.PathLike[str], *, dark: bool = False) -> str:
        """Writes the page, completely or not at all, and returns its path; any browser opens it.

        A page of `explain` or of a recorded run can also be saved as a film, on a dark background
        if `dark` is true: as a .gif, or with a path such as `frames/`, as numbered PNGs for slides.
        """
        ending = ending_of(path, (*(["gif", ""] if self._film else []), "html", "htm"))
        if ending in ("html", "htm"):
            write_whole(path, self.html.encode(errors="replace"))
        elif self._film:
            from micrograd.draw.film import write_film  # loads an imaging library

            with speaking(*self._spoken):
                write_film(path, self._film(dark))
        return os.fspath(path)

    def show(self) -> None:
        """Displays the page in a notebook; elsewhere, opens it in the browser."""
        show(self, "page.html", self.save)

    def _repr_html_(self) -> str:
        # In an iframe, which keeps the page's styles apart from those of the notebook.
        style = f"width: 100%; height: {self._height}px; border: 0"
        allowed = f'title="{self._title}" style="{style}" sandbox="allow-scripts allow-downloads"'
        return f'<iframe {allowed} srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<{self._about}: .show() opens it, .save('page.html') writes it>"
