"""Graphs as Mermaid text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.draw.dot import number_texts, roots_of
from micrograd.draw.graph import graph
from micrograd.draw.style import COLOURS, SIGNS
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
    root: Value | Sequence[Value], rankdir: str = "LR", names: Mapping[str, Any] | None = None
) -> str:
    """The graph that leads to `root` as Mermaid text, which GitHub and many editors can draw.

    The arguments are as in `draw_dot`. If the order of operands matters, as in a - b, their
    arrows are numbered.

    Raises:
        TypeError: the root is not a Value.
        ValueError: the graph has more than 500 arrows, which Mermaid refuses to draw.

    >>> x = Value(3.0)
    >>> print(mermaid(x / 2, names={"x": x}).split("classDef")[0])
    flowchart LR
        v0(["x<br>data 3<br>grad 0"])
        v1("2")
        v2[["#47;<br>data 1.5<br>grad 0"]]
        v0 -->|1| v2
        v1 -->|2| v2
    <BLANKLINE>
    """
    drawn = graph(*roots_of(root, rankdir), names=names)
    arrows = sum(len(node.operands) for node in drawn.nodes)
    if arrows > MOST_ARROWS:
        raise ValueError(
            f"Mermaid draws at most {MOST_ARROWS} arrows, the graph has {arrows}: use draw_dot, "
            "or draw a part of the graph"
        )
    lines = [f"flowchart {rankdir}"]
    for node, data, grad in number_texts(drawn):
        head = " ".join(filter(None, [SIGNS.get(node.op, node.op), node.label]))
        text = [data] if node.kind == "constant" else [head, f"data {data}", f"grad {grad}"]
        left, right = BRACKETS[node.kind]
        shown = "<br>".join(_for_mermaid(line) for line in text if line)
        lines.append(f'    {node.name}{left}"{shown}"{right}')
    for node in drawn.nodes:
        ordered = node.op in ("-", "/", "**")
        for i, operand in enumerate(node.operands, 1):
            lines.append(f"    {operand} -->{f'|{i}|' if ordered else ''} {node.name}")
    for kind, (frame, ground) in COLOURS.items():
        members = ",".join(node.name for node in drawn.nodes if node.kind == kind)
        if members:
            lines.append(f"    classDef {kind} fill:{ground},stroke:{frame},color:#111")
            lines.append(f"    class {members} {kind}")
    return "\n".join(lines) + "\n"


def _for_mermaid(text: str) -> str:
    # Escapes punctuation, which may have a meaning in Mermaid; its character references have no &.
    return "".join(c if c.isalnum() or c in " .,_-+" or c > "\x7f" else f"#{ord(c)};" for c in text)
