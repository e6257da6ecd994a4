"""The sentences of pages, `grade`, `watch` and the course: one TOML file for each language.

`en.toml` beside this file has all of them. Another language is a copy of it: `de.toml` in this
folder, or a file of your own (`texts=`). A copy may leave texts out, which then are English, and
`python -m micrograd texts FILE` lists them:

    [pages]
    "button.play" = "Abspielen"

    explain(loss, texts="unterricht.toml", language="de").save("neuron.html")
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from micrograd.core.files import FilePath

FOLDER = resources.files("micrograd.texts")


def texts_of(section: str, language: str = "en", own: FilePath | None = None) -> dict[str, str]:
    """All texts of a section ('pages', 'grade', 'watch', 'course' or 'plot') in a language, by key.

    Those of the file `own` replace them. A ValueError tells of a language that has no file, and of
    a file with something else in it.

    >>> texts_of("pages")["button.play"]
    'Play'
    """
    file, mine = FOLDER / f"{language}.toml", [Path(own)] if own is not None else []
    if not file.is_file() and own is None:
        copy = f"copy micrograd/texts/en.toml to {language}.toml beside it"
        raise ValueError(f"language {language!r} has no texts: {copy}, or pass a file as texts=")
    found: dict[str, str] = {}
    for each in (FOLDER / "en.toml", *([file] if file.is_file() else []), *mine):
        found |= _sections(each).get(section, {})
    return {key: text.strip("\n") for key, text in found.items()}


def lacking(own: FilePath) -> Iterator[str]:
    """The English texts that a file of another language lacks, as lines of such a file."""
    mine = _sections(Path(own))
    for section, texts in _sections(FOLDER / "en.toml").items():
        left = {key: texts[key] for key in texts if key not in mine.get(section, {})}
        yield from [f"[{section}]"] * bool(left)
        yield from (f'"{key}" = {json.dumps(left[key], ensure_ascii=False)}' for key in left)


def _sections(file: Path | Traversable) -> dict[str, dict[str, str]]:
    return _checked(file.read_text(encoding="utf-8"), file.name)


@lru_cache(maxsize=4)
def _checked(text: str, name: str) -> dict[str, dict[str, str]]:
    found = _parsed(text)
    known = _parsed((FOLDER / "en.toml").read_text(encoding="utf-8"))
    for section, texts in found.items():
        is_section = section in known and isinstance(texts, dict)
        for key, text in texts.items() if is_section else [("", "")]:
            if not is_section or key not in known[section] or not isinstance(text, str):
                expected = 'expected lines such as "button.play" = "Play" below [pages], [grade]'
                got = f"{key!r} below [{section}]" if key else f"[{section}]"
                raise ValueError(f"{name}: {expected} or [course], got {got}: use the keys "
                                 "that `python -m micrograd texts` prints")  # fmt: skip
    return found


@lru_cache(maxsize=4)
def _parsed(text: str) -> dict[str, Any]:
    return tomllib.loads(text)
