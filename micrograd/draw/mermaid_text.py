"""Graphs as Mermaid text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from micrograd.draw.cards import Cards
from micrograd.draw.dot import results_of
from micrograd.draw.foreign import as_ours
from micrograd.draw.formulas import sign
from micrograd.draw.graph import readable
from micrograd.draw.records import Box, Graph
from micrograd.draw.tokens import COLOURS, LIGHT
from micrograd.engine import Value

MOST_ARROWS = 500  # the default limit of Mermaid
BRACKETS = {  # each pair gives a node its shape
    "input": ("([", "])"),  # oval
    "parameter": ("[", "]"),  # box
    "constant": ("(", ")"),  # round corners
    "operation": ("[", "]"),
    "result": ("[[", "]]"),  # double frame
}


def mermaid(
    root: Value | Sequence[Value],
    rankdir: str = "LR",
    names: Mapping[str, Any] | None = None,
    level: str | int | None = None,
    *,
    parameters: Any = (),
) -> str:
    """The graph that leads to `root` as Mermaid text, which GitHub and many editors can draw.

    If the order of operands matters, as in a - b, their arrows are numbered.

    Args:
        root: a Value, or a list of Values.
        rankdir: the direction of the arrows.
        names: a dict of variables, usually `locals()`; see `micrograd.draw.graph.graph`.
        level: as in `draw_dot`; by default, a large graph is drawn by its parts.
        parameters: Values that are parameters although no model owns them.

    Raises:
        TypeError: the root is not a Value.
        ValueError: there would be more than 500 arrows, which Mermaid refuses to draw, or the level
            is unknown.

    >>> x = Value(3.0)
    >>> print(mermaid(x / 2, names={"x": x}).split("classDef")[0])
    flowchart LR
        v0(["x<br>data 3<br>grad •"])
        v1("2")
        v2[["#47;<br>data 1.5<br>grad •"]]
        v0 -->|1| v2
        v1 -->|2| v2
    <BLANKLINE>
    """
    root, names, parameters = as_ours(root, names, parameters)
    drawn, _ = readable(results_of(root, rankdir), names, level, parameters)
    arrows = sum(len(box.operands) for box in drawn.nodes)
    if arrows > MOST_ARROWS:
        raise ValueError(
            f"Mermaid draws at most {MOST_ARROWS} arrows, but there would be {arrows}: use "
            "draw_dot, or another level"
        )
    cards = Cards(drawn)
    lines = [*_boxes(cards), *_arrows(drawn), *_classes(drawn)]
    return "\n    ".join([f"flowchart {rankdir}", *lines]) + "\n"


def _boxes(cards: Cards) -> Iterator[str]:
    # The cards and the frames around them. Frames with equal titles, in the same frame, are one.
    first: dict[tuple[str, str], str] = {}
    merged = {"": ""}
    for box in cards.drawn.frames:  # each after the frame around it
        merged[box.name] = first.setdefault((merged.get(box.parent, ""), box.short), box.name)

    def inside(frame: str) -> Iterator[str]:
        for box in cards.drawn.nodes:
            if merged.get(box.parent, "") == frame:
                yield _box(box, cards)
        for (parent, title), name in first.items():
            if parent == frame:
                yield f'subgraph {name}["{_for_mermaid(title)}"]'
                yield from inside(name)
                yield "end"

    return inside("")


def _box(box: Box, cards: Cards) -> str:
    head = " ".join(filter(None, [sign(box.op), cards.title(box)]))
    rows = (f"{word} {number}".strip() for word, number, _ in cards.rows(box))
    lines = [head, *box.details, *rows]
    left, right = BRACKETS[box.kind]
    shown = "<br>".join(_for_mermaid(line) for line in lines if line)
    return f'{box.name}{left}"{shown}"{right}'


def _arrows(drawn: Graph) -> Iterator[str]:
    for box in drawn.nodes:
        ordered = box.op in ("-", "/", "**")
        for i, operand in enumerate(box.operands, 1):
            yield f"{operand} -->{f'|{i}|' if ordered else ''} {box.name}"


def _classes(drawn: Graph) -> Iterator[str]:
    for kind, (frame, ground) in COLOURS.items():
        members = ",".join(box.name for box in drawn.nodes if box.kind == kind)
        if members:
            width = ",stroke-width:2px" * (kind == "result")
            yield f"classDef {kind} fill:{ground},stroke:{frame},color:{LIGHT['ink']}{width}"
            yield f"class {members} {kind}"


def _for_mermaid(text: str) -> str:
    # Escapes punctuation, which may be Mermaid syntax. Mermaid's character references have no &.
    return "".join(c if c.isalnum() or c in " .,_-+" or c > "\x7f" else f"#{ord(c)};" for c in text)
