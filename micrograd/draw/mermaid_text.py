"""Graphs as Mermaid text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from micrograd.draw.contents import Looks
from micrograd.draw.dot import results_of
from micrograd.draw.foreign import as_ours
from micrograd.draw.graph import graph, levels, roots_of
from micrograd.draw.records import Graph, Node
from micrograd.draw.style import COLOURS, sign
from micrograd.draw.tokens import LIGHT
from micrograd.engine import Value, topological_order

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
    *,
    parameters: Any = (),
    formulas: bool = False,
    numbers: bool = True,
    subgraphs: bool | Sequence[str] = False,
) -> str:
    """The graph that leads to `root` as Mermaid text, which GitHub and many editors can draw.

    If the order of operands matters, as in a - b, their arrows are numbered.

    Args:
        root: a Value, or a list of Values.
        rankdir: the direction of the arrows.
        names: a dict of variables, usually `locals()`; see `micrograd.draw.graph.graph`.
        parameters: Values that are parameters although no model owns them.
        formulas: whether nodes show what was computed, as in c = a + b = 5.
        numbers: whether nodes show data and gradients.
        subgraphs: True for a frame around the nodes of each level (`micrograd.draw.graph.levels`),
            called Inputs, Middle 1, Middle 2, ..., Loss; or other titles, one for each level.

    Raises:
        TypeError: the root is not a Value.
        ValueError: the graph has more than 500 arrows, which Mermaid refuses to draw; or the number
            of titles differs from the number of levels.

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
    results = results_of(root, rankdir)
    drawn = graph(*results, names=names, parameters=parameters)
    arrows = sum(len(node.operands) for node in drawn.nodes)
    if arrows > MOST_ARROWS:
        raise ValueError(
            f"Mermaid draws at most {MOST_ARROWS} arrows, but the graph has {arrows}: use "
            "draw_dot, or draw a part of the graph"
        )
    roots = roots_of(results)
    looks = Looks(
        drawn,
        topological_order(*roots),
        named=[node.name for node in drawn.nodes if formulas],
        shows_numbers=numbers,
        shows_formulas=formulas,
    )
    boxes = {node.name: _box(node, looks) for node in drawn.nodes}
    framed = _in_frames(boxes, drawn, levels(*roots), subgraphs) if subgraphs else boxes.values()
    lines = [f"flowchart {rankdir}", *(f"    {line}" for line in (*framed, *_arrows(drawn)))]
    return "\n".join([*lines, *(f"    {line}" for line in _classes(drawn))]) + "\n"


def _box(node: Node, looks: Looks) -> str:
    rows = looks.numbers(node) if looks.shows_numbers else []
    if node.kind == "constant":
        text = [looks.data(node)]
    elif looks.shows_formulas:
        text = [looks.title(node), *(f"{word} {number}" for word, number, _ in rows)]
    else:
        head = " ".join(filter(None, [sign(node.op), looks.title(node)]))
        text = [head, *(f"{word} {number}" for word, number, _ in rows)]
    left, right = BRACKETS[node.kind]
    shown = "<br>".join(_for_mermaid(line) for line in text if line)
    return f'{node.name}{left}"{shown}"{right}'


def _in_frames(
    boxes: Mapping[str, str],
    drawn: Graph,
    level_of: Mapping[Value, int],
    titles: bool | Sequence[str],
) -> Iterator[str]:
    # The boxes with a frame around each level. A constant is beside the operation that uses it.
    place = dict(zip((node.name for node in drawn.nodes), _places(drawn, level_of), strict=True))
    count = 1 + max(place.values())
    if titles is True:
        middle = [f"Middle {i}" for i in range(1, count - 1)] if count != 3 else ["Middle"]
        titles = ["Inputs", *middle, "Loss"][-count:]
    if isinstance(titles, str) or len(titles) != count:  # type: ignore[arg-type]
        raise ValueError(
            f"subgraphs expects True, or a title for each of the {count} levels, got {titles!r:.60}"
        )
    for i, title in enumerate(titles):  # type: ignore[arg-type]
        yield f'subgraph level{i}["{_for_mermaid(str(title))}"]'
        yield from (f"    {box}" for name, box in boxes.items() if place[name] == i)
        yield "end"


def _places(drawn: Graph, level_of: Mapping[Value, int]) -> list[int]:
    # The level of each node: `levels` and `graph` walk in the same order.
    own = dict(zip((node.name for node in drawn.nodes), level_of.values(), strict=True))
    first_user = {o: own[n.name] for n in reversed(drawn.nodes) for o in n.operands}
    return [
        first_user.get(node.name, 0) if node.kind == "constant" else own[node.name]
        for node in drawn.nodes
    ]


def _arrows(drawn: Graph) -> Iterator[str]:
    for node in drawn.nodes:
        ordered = node.op in ("-", "/", "**")
        for i, operand in enumerate(node.operands, 1):
            yield f"{operand} -->{f'|{i}|' if ordered else ''} {node.name}"


def _classes(drawn: Graph) -> Iterator[str]:
    for kind, (frame, ground) in COLOURS.items():
        members = ",".join(node.name for node in drawn.nodes if node.kind == kind)
        if members:
            width = ",stroke-width:2px" * (kind == "result")
            yield f"classDef {kind} fill:{ground},stroke:{frame},color:{LIGHT['ink']}{width}"
            yield f"class {members} {kind}"


def _for_mermaid(text: str) -> str:
    # Escapes punctuation, which may be Mermaid syntax. Mermaid's character references have no &.
    return "".join(c if c.isalnum() or c in " .,_-+" or c > "\x7f" else f"#{ord(c)};" for c in text)
