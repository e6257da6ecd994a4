"""A language 'xx', made of English: the texts in capital letters, or with longer words."""

import json
import re
import tomllib

from micrograd import texts

ENGLISH = (texts.FOLDER / "en.toml").read_text(encoding="utf-8")


def longer(text):
    """A text whose words are 40 % longer; its gaps stay."""
    words = re.split(r"(\{[^{}]*\}|`[^`]*`|[^\w{`]+)", text)
    return "".join(x + "n" * round(0.4 * len(x)) if x.isalpha() else x for x in words)


def speak(change, folder, monkeypatch):
    """Has a language 'xx': English, changed."""
    lines = []
    for section, english in tomllib.loads(ENGLISH).items():
        lines += [f"[{section}]", *(f'"{x}" = {json.dumps(change(english[x]))}' for x in english)]
    for name, text in (("en", ENGLISH), ("xx", "\n".join(lines))):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(texts, "FOLDER", folder)
