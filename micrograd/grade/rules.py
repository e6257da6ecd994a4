"""The rules that are checked, in rules.toml beside this file: what each says, and the fix.

>>> rule, fix = RULES["chain"]
>>> fix
'in _backward, multiply by out.grad'
"""

from __future__ import annotations

import tomllib
from importlib import resources

from micrograd.pages.texts import texts_of

TABLE = resources.files("micrograd.grade") / "rules.toml"
ROWS = tomllib.loads(TABLE.read_text(encoding="utf-8"))["rule"]


def rules(language: str) -> dict[str, tuple[str, str]]:
    """The rule and the fix for each kind of mistake, in a language: a column of rules.toml.

    >>> rules("en") == RULES
    True
    """
    texts = texts_of(language, TABLE)
    return {x: (texts[f"rule.{x}.what"], texts[f"rule.{x}.how"]) for x in ROWS}


RULES = rules("en")
