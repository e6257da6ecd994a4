"""A picture of a compiled function: the groups of its program.

Each card stands for a group of instructions, which runs in one or a few calls, and says what the
group computes. Arrows lead to it from the cards whose results it reads. The picture shows both the
forward and the backward pass, because they are one program. Arguments have round corners, results a
bold frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from micrograd.compiler.schedule import Block, Schedule
from micrograd.core.naming import distinct
from micrograd.draw.dot import MANY, QUICK
from micrograd.draw.render import Digraph
from micrograd.draw.tokens import COLOURS, EDGE, FONT, GRAPH

LARGEST = 150  # groups: a layout that takes a second or two


def picture(schedule: Schedule, arguments: Sequence[str], format: str, rankdir: str) -> Digraph:
    """The graph of the groups of a program.

    Args:
        schedule: the groups.
        arguments: their names.
        format: as in `draw_dot`.
        rankdir: as in `draw_dot`.

    Raises:
        ValueError: there are too many groups for a drawing.

    >>> from micrograd import compile
    >>> function = compile(lambda x: (2 * x).exp())
    >>> _ = function([1.0, 2.0])
    >>> [line.strip() for line in function.picture("svg", "TB").source.splitlines() if "->" in line]
    ['x -> g0', 'g0 -> g1', 'g1 -> g2']
    """
    groups = schedule.groups
    if len(groups) > LARGEST:
        raise ValueError(
            f"a drawing has at most {LARGEST} groups, but the program has {len(groups)}: print its "
            ".groups instead, or draw a smaller network or fewer steps"
        )
    quick = QUICK if len(groups) > MANY else {}
    dot = Digraph(
        format=format,
        graph_attr=GRAPH | {"rankdir": rankdir, "ranksep": "0.3"} | quick,
        node_attr={"shape": "box", "style": "filled", "margin": "0.12,0.05", **FONT},
        edge_attr={"color": EDGE, "arrowsize": "0.6"},
    )
    maker: dict[_Number, str] = {}  # maps each number to the card that computes it
    for name, text, kind, numbers in _leaves(schedule, arguments):
        frame, fill = COLOURS[kind]
        style = "filled,rounded" if kind == "input" else "filled"
        dot.node(name, text, color=frame, fillcolor=fill, style=style)
        maker.update(dict.fromkeys(numbers, name))
    mean, *gradients, each = map(tuple, schedule.results.tolist())
    titles = {"mean": {mean}, "gradients": set(gradients), "each example": {each}}
    for i, group in enumerate(groups):
        name, made = f"g{i}", _numbers(group.result)
        title = ", ".join(title for title, slots in titles.items() if slots.intersection(made))
        frame, fill = COLOURS["result" if title else "operation"]
        label = repr(group) + f"\n{title}" * bool(title)
        dot.node(name, label, color=frame, fillcolor=fill, penwidth="2" if title else "1")
        read = (maker.get(n, "") for block in group.operands for n in _numbers(block))
        for source in dict.fromkeys(read):
            if source:
                dot.edge(source, name)
        maker.update(dict.fromkeys(made, name))
    return dot


_Number = tuple[bool, int]  # whether it is in lanes, and its slot


def _numbers(block: Block) -> list[_Number]:
    return [(block.lanes, slot) for slot in block.slots.ravel().tolist()]


def _leaves(
    schedule: Schedule, names: Sequence[str]
) -> Iterator[tuple[str, str, str, list[_Number]]]:
    # The name, text, kind and numbers of the card of each argument, and of one for all parameters.
    groups = [f"g{i}" for i in range(len(schedule.groups))]
    *arguments, parameters = distinct([*names, "parameters"], "{}_{}", taken=groups)
    for card, name, places in zip(arguments, names, schedule.inputs, strict=True):
        text = f"{name} ({len(places)} x lanes)" if len(places) > 1 else f"{name} (lanes)"
        yield card, text, "input", [(True, slot) for slot in places]
    n = min(slot for slot, _ in schedule.constants)  # parameters come before constants
    if n:
        text = f"{n} parameter{'s' * (n > 1)}"
        yield parameters, text, "parameter", [(False, i) for i in range(n)]
