"""The groups of a program as a picture: what becomes of a scalar function.

Each card is a group, that is one call or a few, and says how many instructions it does at once.
Arrows lead from the numbers that it reads; forward and backward pass are one program, so they stand
in one picture. Where an arrow would come from very far away, the name of its group stands instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from micrograd.compiler.schedule import Schedule
from micrograd.draw import COLOURS, EDGE, FONT, LARGEST, layout
from micrograd.render import Digraph

REACH = 1000  # steps that all arrows may span together: most are long, and bend around cards


def picture(
    schedule: Schedule, widths: Mapping[str, int], format: str, rankdir: str
) -> Digraph:
    """The graph of groups.

    Args:
        schedule: the groups.
        widths: of each argument, by its name, in the order of their slots.
        format: as that of `draw_dot`.
        rankdir: as that of `draw_dot`.

    Raises:
        ValueError: there are more groups than a drawing can hold.

    >>> from micrograd import compile
    >>> function = compile(lambda x: (2 * x).exp())
    >>> _ = function([1.0, 2.0])
    >>> [line.strip() for line in function.picture("svg", "TB").source.splitlines() if "->" in line]
    ['x -> g0', 'g0 -> g1', 'g1 -> g2']
    """
    groups = schedule.groups
    if len(groups) > LARGEST:
        raise ValueError(
            f"the program has {len(groups)} groups, a drawing at most {LARGEST}: read them in "
            ".groups, or draw the function of a smaller network or of fewer steps"
        )
    look = {"rankdir": rankdir, "bgcolor": "transparent", "ranksep": "0.3", "fontcolor": EDGE}
    dot = Digraph(
        format=format,
        graph_attr={**look, **FONT},
        node_attr={"shape": "box", "style": "filled", "margin": "0.12,0.05", **FONT},
        edge_attr={"color": EDGE, "arrowsize": "0.6"},
    )
    maker: dict[tuple[bool, int], str] = {}
    leaves: dict[str, str] = {}  # what is written on them
    row = 0
    for name, width in widths.items():
        frame, fill = COLOURS["input"]
        leaves[name] = f"{name} ({width} x lanes)" if width > 1 else f"{name} (lanes)"
        dot.node(name, leaves[name], color=frame, fillcolor=fill, style="filled,rounded")
        maker.update({(True, row + i): name for i in range(width)})
        row += width + 1
    constants = {slot for slot, _ in schedule.constants}
    n_parameters = min(constants)  # they stand before the constants
    if n_parameters:
        frame, fill = COLOURS["parameter"]
        leaves["parameters"] = f"{n_parameters} parameter{'s' * (n_parameters > 1)}"
        dot.node("parameters", leaves["parameters"], color=frame, fillcolor=fill)
        maker.update({(False, i): "parameters" for i in range(n_parameters)})
    mean, *gradients, each = map(tuple, schedule.results.tolist())
    titles = {"mean": {mean}, "gradients": set(gradients), "each example": {each}}
    operands_of: dict[str, list[str]] = {leaf: [] for leaf in leaves}
    made = []
    for i, group in enumerate(groups):
        read = dict.fromkeys(
            maker.get((block.lanes, int(slot)), "")
            for block in group.operands
            for slot in block.slots.flat
        )
        operands_of[f"g{i}"] = [source for source in read if source]
        made.append([(group.result.lanes, int(slot)) for slot in group.result.slots.flat])
        maker.update(dict.fromkeys(made[i], f"g{i}"))
    far, quick = layout(operands_of, REACH)
    dot.graph_attr.update(quick)
    named = {operand for _, _, operand in far}
    if far:
        dot.graph_attr["label"] = "a name alone is an arrow from far away"
    for i, group in enumerate(groups):
        name = f"g{i}"
        title = ", ".join(title for title, slots in titles.items() if slots.intersection(made[i]))
        frame, fill = COLOURS["result" if title else "operation"]
        label = f"{name}: {group!r}" if name in named else repr(group)
        label += f"\n{title}" if title else ""
        dot.node(name, label, color=frame, fillcolor=fill)
        for k, source in enumerate(operands_of[name]):
            start = source
            if (name, k, source) in far:
                start = f"{name}_{k}"
                text = leaves.get(source, source)
                dot.node(start, text, shape="plain", style="", fontcolor=EDGE)
            dot.edge(start, name)
    return dot
