"""The sentences of pages, drawings, `grade`, `watch` and the course: a TOML file for each language.

`en.toml` beside this file has all of them. Another language is a copy of it: `de.toml` in this
folder, or a file of your own (`texts=`). A copy may leave texts out, which then are English;
`python -m micrograd texts FILE` lists what it lacks, and what is wrong in it:

    [pages]
    "button.play" = "Abspielen"

    explain(loss, texts="unterricht.toml", language="de").save("neuron.html")

Without `language=`, the variable MICROGRAD_LANGUAGE of the environment decides.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from importlib import resources
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from micrograd.core.files import FilePath

P = ParamSpec("P")
R = TypeVar("R")
Sections = dict[str, dict[str, str]]
FOLDER: Any = resources.files("micrograd.texts")
GAP = re.compile(r"\{(\w+)(?::([^{}]*))?\}")  # {name}, or {n:input|inputs}
WIDE = "\u2e80-\uffef"  # letters of Chinese, Japanese and Korean, as wide as two others
CLOSING = "\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u300d\u201d"  # ends no line before it
WORD = re.compile(rf"\s*(?:[^\s{WIDE}]+[{CLOSING}]*|[{WIDE}][{CLOSING}]*)")
_spoken: ContextVar[tuple[str | None, FilePath | None]] = ContextVar("spoken", default=(None, None))
spoken_now = _spoken.get  # the language of this block and its file, for `speaking` later


# ---- The language of a block of code


@contextmanager
def speaking(language: str | None = None, own: FilePath | None = None) -> Iterator[None]:
    """A block whose texts are in a language, or those of a file; None changes nothing."""
    token = _spoken.set((language, own) if language or own else _spoken.get())
    try:
        texts_of("draw")  # an error for a language without texts
        yield
    finally:
        _spoken.reset(token)


def spoken(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which speaks the language of its arguments `language` and `texts`, if any.

    A method speaks that of its object, if this has a `language`.
    """
    arguments = inspect.signature(function)

    @wraps(function)
    def inside(*args: P.args, **named: P.kwargs) -> R:
        given = arguments.bind(*args, **named).arguments
        name = given.get("language") or getattr(given.get("self"), "language", None)
        own = given.get("texts")
        with speaking(name, own if isinstance(own, str | os.PathLike) else None):
            return function(*args, **named)

    return inside


def language() -> str:
    """The language of this block: an argument, or MICROGRAD_LANGUAGE, or English."""
    return _spoken.get()[0] or os.environ.get("MICROGRAD_LANGUAGE") or "en"


# ---- Texts


def texts_of(section: str, other: str | None = None) -> dict[str, str]:
    """All texts of a section, such as 'pages' or 'grade', by key.

    They are in the language of this block, or in the `other` one. A ValueError tells of a language
    that has no file, and of a file with something else in it.
    """
    name, own = (other, None) if other else (language(), _spoken.get()[1])
    english, shipped = (_shipped(FOLDER, x) for x in ("en", name))
    if not shipped and own is None:
        copy = f"copy micrograd/texts/en.toml to {name}.toml beside it"
        raise ValueError(f"language {name!r} has no texts: {copy}, or pass a file as texts=")
    mine = _own(Path(own).read_text(encoding="utf-8"), Path(own).name) if own else {}
    return english.get(section, {}) | shipped.get(section, {}) | mine.get(section, {})


def said(section: str, key: str, /, **values: object) -> str:
    """One text in the language of this block, with its gaps filled.

    >>> said("draw", "box.input", n=2)
    '2 inputs'
    """
    return filled(texts_of(section)[key], **values)


def filled(text: str, /, **values: object) -> str:
    """The text with its gaps filled: {name} with a value, {n:form|form} with a form for a number.

    >>> filled("{n} {n:вход|входа|входов}", n=1022)
    '1,022 входа'
    """

    def value(gap: re.Match[str]) -> str:
        x = values.get(gap[1], gap[0])
        if gap[2] is not None:
            return form(gap[2].split("|"), x)
        return f"{x:,}" if isinstance(x, int) else str(x)

    return GAP.sub(value, text)


def form(forms: list[str], number: object) -> str:
    """The form of a noun beside a number: of two, the first for 1; of three, as in Russian."""
    n = int(re.sub(r"\D", "", str(number)) or 0)
    if len(forms) < 3:
        return forms[-1] if n != 1 else forms[0]
    ends = n % 10 if not 10 < n % 100 < 15 else 0
    return forms[0 if ends == 1 else 1 if 1 < ends < 5 else 2]


def listed(some: Sequence[str]) -> str:
    """Some words as a list, such as 'a, b and c'."""
    *others, last = some or [""]
    before = texts_of("pages")["list.comma"].join(others)
    return said("pages", "list.and", some=before, last=last) if others else last


def is_wide(text: str) -> bool:
    """Whether a text has letters of Chinese, Japanese or Korean."""
    return re.search(f"[{WIDE}]", text) is not None


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """The lines of a text, each at most so wide; Chinese may end a line after each letter.

    >>> wrap("前向传播 is done.", 6)
    ['前向传', '播 is', 'done.']
    """
    lines = [""] if text else []
    for word in WORD.findall(text):
        line = lines[-1] + word
        if lines[-1].strip() and len(line) + sum(map(is_wide, line)) > columns:
            lines.append(indent)
            word = word.lstrip()
        lines[-1] += word
    return lines


def commented(program: str, section: str, columns: int) -> str:
    """A program with texts for its comments, such as # {{slope.start}}, in lines so wide."""
    texts = texts_of(section)

    def comment(gap: re.Match[str]) -> str:
        return "\n".join(wrap(gap[1] + texts[gap[2]], columns, gap[1]))

    return re.sub(r"( *# |)\{\{(.+?)\}\}", comment, program)


# ---- Files of texts


def faults(text: str) -> Iterator[str]:
    """What is missing in a file of another language, as lines of such a file, and what is wrong."""
    known, mine = _shipped(FOLDER, "en"), tomllib.loads(text)
    for section, texts in known.items():
        own = mine.pop(section, {})
        own = own if isinstance(own, dict) else {"": own}
        left = {key: texts[key] for key in texts if key not in own}
        yield from [f"[{section}]"] * bool(left)
        yield from (f'"{key}" = {json.dumps(left[key], ensure_ascii=False)}' for key in left)
        for key in own:
            if wrong := _fault(texts.get(key), own[key]):
                yield f'# [{section}] "{key}": {wrong}'
    yield from (f"# [{section}]: English has no such section" for section in mine)


def _fault(english: str | None, mine: object) -> str:
    if english is None or not isinstance(mine, str):
        return "English has no such text" if english is None else "expected a text"
    gaps, own = (GAP.findall(text) for text in (english, mine))
    known, used = ({name for name, _ in some} for some in (gaps, own))
    if not {name for name, forms in gaps if not forms} <= used <= known:
        return f"expected the gaps {sorted(known)}, got {sorted(used)}"
    most = max((forms.count("|") for _, forms in own), default=0)
    return f"expected at most 3 forms of a noun, got {most + 1}" if most > 2 else ""


@lru_cache
def _shipped(folder: Any, name: str) -> Sections:
    # The texts of a language, {} if there is no file; drawings ask for one text after the other.
    file = folder / f"{name}.toml"
    return _sections(file.read_text(encoding="utf-8")) if file.is_file() else {}


@lru_cache(maxsize=4)
def _own(text: str, name: str) -> Sections:
    if wrong := next((line for line in faults(text) if line[0] == "#"), ""):
        fix = 'write lines such as "button.play" = "Play" below [pages]'
        raise ValueError(f"{name}: {wrong[2:]}: {fix}; `micrograd texts` prints all")
    return _sections(text)


def _sections(text: str) -> Sections:
    found: Sections = tomllib.loads(text)
    return {s: {key: text.strip("\n") for key, text in texts.items()} for s, texts in found.items()}
