"""Engines and networks with one mistake each, on which teachers can try their own tests.

    micrograd grade --wrong-engines engines
    for file in engines/*.py; do cp "$file" my_engine.py; pytest -q my_tests.py; done

`right.py` should pass, and every other file should fail. `wrong_engines.toml` beside this file has
the mistakes: each edits the text of the right class. `wrong_networks.toml` has those of networks,
which `--network` writes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from micrograd.core.files import write_whole
from micrograd.grade.programs import rules

_TABLE, _NETWORKS = (
    tomllib.loads((resources.files("micrograd.grade") / f"{name}.toml").read_text(encoding="utf-8"))
    for name in ("wrong_engines", "wrong_networks")
)
RIGHT: str = _TABLE["right"]  # the text of a class like the lecture's
RIGHT_NETWORK: str = RIGHT + "\n" + _NETWORKS["right"]  # and of a network on it
SIGNS = {"+=": " plus equals ", "=": " equals ", "+": " plus ", "*": " times "}  # in names of files


class Mistake(NamedTuple):
    """A mistake in the right class.

    Attributes:
        name: the mistake in a few words.
        rule: the rule that it breaks, a table in rules.toml.
        edits: pairs of an old and a new text.
        right: the text that they change.

    >>> MISTAKES[0].name, MISTAKES[0].rule, ".grad +=" in MISTAKES[0].source
    ('= instead of +=', 'accumulate', False)
    """

    name: str
    rule: str
    edits: Sequence[Sequence[str]]
    right: str = RIGHT

    @property
    def source(self) -> str:
        """The text of the wrong class: each edit is made wherever its old text occurs."""
        text = self.right
        for old, new in self.edits:
            text = text.replace(old, new)
        return text

    def kind(self) -> type:
        """The wrong class itself."""
        names: dict[str, Any] = {"__name__": "wrong"}
        exec(compile(self.source, "wrong.py", "exec", dont_inherit=True), names)
        kind: type = names["Value"]
        return kind


MISTAKES, NETWORK_MISTAKES = (
    [Mistake(name, rule, [*zip(texts[::2], texts[1::2], strict=True)], right)
     for name, rule, texts in table["mistakes"]]
    for table, right in ((_TABLE, RIGHT), (_NETWORKS, RIGHT_NETWORK))
)  # fmt: skip


def write_wrong_engines(folder: Path, comments: bool = True, network: bool = False) -> list[Path]:
    """Writes right.py, and a file for each mistake; returns their paths.

    Args:
        folder: where to write; it is made if it is not there.
        comments: whether names of files and a comment at the top tell the mistake. Else the files
            are called engine_01.py, engine_02.py, ..., for learners who look for the mistake.
        network: whether they are networks.
    """
    texts, kind = {"right": RIGHT_NETWORK if network else RIGHT}, "network" if network else "engine"
    for i, mistake in enumerate(NETWORK_MISTAKES if network else MISTAKES, 1):
        words = re.sub(r"\+=|[=+*]", lambda sign: SIGNS[sign[0]], mistake.name)
        rule = rules("en")[mistake.rule][0].replace("{operation}", "an operation")
        head = f"# Wrong: {mistake.name}.\n# {rule}\n\n" * comments
        name = "_".join(re.findall(r"\w+", words)) if comments else f"{kind}_{i:02}"
        texts[name] = head + mistake.source
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_whole(folder / f"{name}.py", text.encode())
    return [folder / f"{name}.py" for name in texts]
