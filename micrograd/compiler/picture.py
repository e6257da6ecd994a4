"""The groups of a program as a picture: what becomes of a scalar function.

Each card is a group, that is one call or a few, and says how many instructions it does at once.
Arrows lead from the numbers that it reads; forward and backward pass are one program, so they stand
in one picture.
"""

from __future__ import annotations

from collections.abc import Mapping

from micrograd.compiler.schedule import Schedule
from micrograd.draw import COLOURS, EDGE, FONT
from micrograd.render import Digraph


def picture(
    schedule: Schedule, widths: Mapping[str, int], format: str, rankdir: str
) -> Digraph:
    """The graph of groups.

    Args:
        schedule: the groups.
        widths: of each argument, by its name, in the order of their slots.
        format: as that of `draw_dot`.
        rankdir: as that of `draw_dot`.

    >>> from micrograd import compile
    >>> function = compile(lambda x: (2 * x).exp())
    >>> _ = function([1.0, 2.0])
    >>> [line.strip() for line in function.picture("svg", "TB").source.splitlines() if "->" in line]
    ['x -> g0', 'g0 -> g1', 'g1 -> g2']
    """
    dot = Digraph(
        format=format,
        graph_attr={"rankdir": rankdir, "bgcolor": "transparent", "ranksep": "0.3", **FONT},
        node_attr={"shape": "box", "style": "filled", "margin": "0.12,0.05", **FONT},
        edge_attr={"color": EDGE, "arrowsize": "0.6"},
    )
    maker: dict[tuple[bool, int], str] = {}
    row = 0
    for name, width in widths.items():
        frame, fill = COLOURS["input"]
        label = f"{name} ({width} x lanes)" if width > 1 else f"{name} (lanes)"
        dot.node(name, label, color=frame, fillcolor=fill, style="filled,rounded")
        maker.update({(True, row + i): name for i in range(width)})
        row += width + 1
    constants = {slot for slot, _ in schedule.constants}
    n_parameters = min(constants)  # they stand before the constants
    if n_parameters:
        frame, fill = COLOURS["parameter"]
        label = f"{n_parameters} parameters" if n_parameters > 1 else "1 parameter"
        dot.node("parameters", label, color=frame, fillcolor=fill)
        maker.update({(False, i): "parameters" for i in range(n_parameters)})
    mean, *gradients, each = map(tuple, schedule.results.tolist())
    titles = {"mean": {mean}, "gradients": set(gradients), "each example": {each}}
    for i, group in enumerate(schedule.groups):
        name = f"g{i}"
        made = [(group.result.lanes, int(slot)) for slot in group.result.slots.flat]
        title = ", ".join(title for title, slots in titles.items() if slots.intersection(made))
        frame, fill = COLOURS["result" if title else "operation"]
        label = f"{group!r}\n{title}" if title else repr(group)
        dot.node(name, label, color=frame, fillcolor=fill)
        read = dict.fromkeys(
            maker.get((block.lanes, int(slot)), "")
            for block in group.operands
            for slot in block.slots.flat
        )
        for source in filter(None, read):
            dot.edge(source, name)
        maker.update(dict.fromkeys(made, name))
    return dot
