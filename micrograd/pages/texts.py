"""The sentences of the pages, from tables with a column for each language.

A table is a TOML file. Each text has a key, and a line for each language:

    [again]
    en = "Play it {n} times again"
    de = "{n}-mal noch einmal abspielen"

{n} is a gap, which a value fills. `texts.toml` beside this file has the texts of the pages in this
package; `language=` chooses a column. A file of your own (`texts=`, in the same format) replaces
any of these texts, in any language; what it leaves out stays as it is, or English:

    explain(loss, texts="unterricht.toml", language="de").save("neuron.html")
"""

from __future__ import annotations

import os
import tomllib
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

TABLE = resources.files("micrograd.pages") / "texts.toml"


def texts_of(
    language: str,
    table: Path | Traversable | None = None,
    own: str | os.PathLike[str] | None = None,
) -> dict[str, str]:
    """All texts of a table in one language, by key; by default of `texts.toml`.

    Those of the file `own` replace them. A ValueError tells of a text or a file that does not have
    this language.
    """
    table = table or TABLE
    rows = _columns(table.read_text(encoding="utf-8"))
    if own is not None:
        mine = _columns(Path(own).read_text(encoding="utf-8"))
        languages = sorted({name for columns in mine.values() for name in columns})
        if language not in languages:
            found = f"{', '.join(languages) or 'none'}: pass the language of its texts as language="
            raise ValueError(f"{Path(own).name} expects texts in {language!r}, got {found}")
        known = rows.keys() | _columns(TABLE.read_text(encoding="utf-8")).keys()
        if table is not TABLE and (unknown := sorted(mine.keys() - known)):
            raise ValueError(f"{Path(own).name} has {unknown[0]!r}, which is not used")
        rows = {key: {language: c["en"], **c, **mine.get(key, {})} for key, c in rows.items()}
    lacking = [key for key, columns in rows.items() if language not in columns]
    if lacking:
        keys = ", ".join(lacking[:3])
        raise ValueError(f"{table.name} has no {language!r} for {keys}, ...: add it there")
    return {key: columns[language].strip("\n") for key, columns in rows.items()}


@lru_cache(maxsize=4)
def _columns(text: str) -> dict[str, dict[str, str]]:
    # The columns of each text, by its key: those of [button.play] are a table in a table.
    rows: dict[str, dict[str, str]] = {}
    tables: list[tuple[str, dict[str, Any]]] = [("", tomllib.loads(text))]
    for key, table in tables:  # the tables inside are added at the end
        for part, inner in table.items():
            if isinstance(inner, dict):
                tables.append((f"{key}.{part}".lstrip("."), inner))
            elif isinstance(inner, str):
                rows.setdefault(key, {})[part] = inner
    return rows
