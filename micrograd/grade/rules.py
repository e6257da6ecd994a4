"""What is checked, in words: the rule behind each check, and the fix where it is broken.

The sentences are in texts.toml beside this file.

>>> rule, fix = RULES["chain"]
>>> fix
'in _backward, multiply by out.grad'
"""

from __future__ import annotations

from importlib import resources

from micrograd.pages.texts import texts_of

TABLE = resources.files("micrograd.grade") / "texts.toml"


def rules(language: str) -> dict[str, tuple[str, str]]:
    """The rule and the fix for each kind of mistake, in a language: a column of texts.toml.

    >>> rules("en") == RULES
    True
    """
    texts = texts_of(language, TABLE)
    mistakes = dict.fromkeys(key.split(".")[1] for key in texts)
    return {x: (texts[f"rule.{x}.what"], texts[f"rule.{x}.how"]) for x in mistakes}


RULES = rules("en")
