"""The operations after the last layer as a single box.

These are the operations of the loss: a few for each example, and more if there is a penalty on the
parameters. In a graph of 40,000 nodes they would hide the layers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from micrograd.draw.levels import operands_first, renamed
from micrograd.draw.records import Graph, Node, RestBox
from micrograd.draw.style import counted, sign

SHOWN = 4  # the box lists at most this many kinds of operations


def with_rest(drawn: Graph) -> Graph:
    """The same graph with one RestBox for all operations that do not lead to a layer.

    Leaves that only these operations use also belong to the box; results do not.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.nn import Neuron
    >>> y = (Neuron(1)([2.0]) - 1.0) ** 2 / 2.0
    >>> [node.label or node.name for node in with_rest(graph(y, level="layer")).nodes]
    ['i0', 'l0', '2 operations', 'v9', 'v10']
    """
    to_layers = _ancestors(drawn, [n.name for n in drawn.nodes if not isinstance(n, Node)])
    plain = [n for n in drawn.nodes if n.name not in to_layers and isinstance(n, Node)]
    inside = {n.name for n in plain if n.operands and n.kind != "result"}
    if not inside:
        return drawn
    used, elsewhere = (
        {o for n in drawn.nodes if (n.name in inside) is inner for o in n.operands}
        for inner in (True, False)
    )
    inside |= {n.name for n in plain if not n.operands and n.name in used - elsewhere}
    box_of = dict.fromkeys(inside, "r0")
    box = _rest_box([n for n in plain if n.name in inside])
    level: dict[str, Any] = {}
    for node in drawn.nodes:
        name = box_of.get(node.name, node.name)
        level.setdefault(name, renamed(box if name == "r0" else node, box_of))
    return replace(drawn, nodes=tuple(operands_first(level)))


def _ancestors(drawn: Graph, names: Iterable[str]) -> set[str]:
    # These nodes and all nodes that lead to them.
    operands_of = {node.name: node.operands for node in drawn.nodes}
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += operands_of[name]
    return found


def _rest_box(members: Sequence[Node]) -> RestBox:
    inside = {node.name for node in members}
    ops = Counter(sign(node.op) for node in members if node.operands)
    leaves = Counter(node.kind for node in members if not node.operands)
    most = ",  ".join(f"{n:,} {op}" for op, n in ops.most_common(SHOWN))
    return RestBox(
        name="r0",
        label=counted(sum(ops.values()), "operation"),
        details=(
            most + ", ..." * (len(ops) > SHOWN),
            *(counted(n, kind) for kind, n in leaves.items()),
        ),
        operands=tuple(dict.fromkeys(o for n in members for o in n.operands if o not in inside)),
        nodes=tuple(node.name for node in members),
    )
