"""A picture of a compiled function: the groups of its program, forward and backward.

Each card stands for a group of instructions, which runs in one or a few calls, and says what the
group computes. Arrows lead to it from the cards whose results it reads. Arguments have round
corners, results a bold frame.
"""

from __future__ import annotations

from collections.abc import Sequence

from micrograd.compiler.schedule import Block, Schedule
from micrograd.core.naming import distinct
from micrograd.draw.dot import MANY, QUICK
from micrograd.draw.render import Digraph
from micrograd.draw.tokens import COLOURS, EDGE, FONT, GRAPH
from micrograd.texts import said

LARGEST = 150  # groups: a layout that takes a second or two


def picture(schedule: Schedule, arguments: Sequence[str], format: str, rankdir: str) -> Digraph:
    """The graph of the groups of a program, as by `draw_dot`; a ValueError if there are too many.

    >>> from micrograd import compile
    >>> function = compile(lambda x: (2 * x).exp())
    >>> _ = function([1.0, 2.0])
    >>> [line.strip() for line in function.picture("svg", "TB").source.splitlines() if "->" in line]
    ['x -> g0', 'g0 -> g1', 'g1 -> g2']
    """
    groups = schedule.groups
    if len(groups) > LARGEST:
        got = f"but the program has {len(groups)}: print its .groups, or draw a smaller network"
        raise ValueError(f"a drawing has at most {LARGEST} groups, {got}")
    quick = QUICK if len(groups) > MANY else {}
    dot = Digraph(
        format=format,
        graph_attr=GRAPH | {"rankdir": rankdir, "ranksep": "0.3"} | quick,
        node_attr={"shape": "box", "style": "filled", "margin": "0.12,0.05", **FONT},
        edge_attr={"color": EDGE, "arrowsize": "0.6"},
    )
    names = [f"g{i}" for i in range(len(groups))]
    *cards, card = distinct([*arguments, "parameters"], "{}_{}", taken=names)
    n, _ = schedule.constants[0]  # parameters come before constants
    maker = {(False, slot): card for slot in range(n)}  # the card of each number
    leaves = []
    for argument, name, places in zip(cards, arguments, schedule.inputs, strict=True):
        several = "compiled.several" if len(places) > 1 else "compiled.inputs"
        leaves.append((argument, said("draw", several, name=name, n=len(places)), "input"))
        maker.update({(True, slot): argument for slot in places})
    leaves += [(card, said("draw", "box.parameter", n=n), "parameter")] if n else []
    for card, text, kind in leaves:
        frame, fill = COLOURS[kind]
        style = "filled,rounded" if kind == "input" else "filled"
        dot.node(card, text, color=frame, fillcolor=fill, style=style)
    mean, *gradients, each = map(tuple, schedule.results.tolist())
    titles = {"mean": {mean}, "gradients": set(gradients), "each": {each}}
    for card, group in zip(names, groups, strict=True):
        made = _numbers(group.result)
        shown = (key for key, slots in titles.items() if slots.intersection(made))
        title = ", ".join(said("draw", f"compiled.{key}") for key in shown)
        frame, fill = COLOURS["result" if title else "operation"]
        label = repr(group) + f"\n{title}" * bool(title)
        dot.node(card, label, color=frame, fillcolor=fill, penwidth="2" if title else "1")
        read = (maker.get(x) for block in group.operands for x in _numbers(block))
        for source in dict.fromkeys(filter(None, read)):
            dot.edge(source, card)
        maker.update(dict.fromkeys(made, card))
    return dot


def _numbers(block: Block) -> list[tuple[bool, int]]:
    return [(block.lanes, slot) for slot in block.slots.ravel().tolist()]
