"""The boxes in which a page shows a large graph: layers, neurons, and parts of long computations.

A page can show about 40 cards. So the nodes of a graph are put into boxes, and boxes into larger
boxes: operations into the call of a neuron, the calls of a neuron for several examples into the
neuron, neurons into their layer. A box that is still too full is cut into parts, in topological
order.

    >>> from micrograd.nn import MLP
    >>> y = MLP(2, [3, 1])([1.0, -1.0])
    >>> boxes, box_of, labels = boxes_of(y, graph(y).nodes)
    >>> [(box["kind"], box["label"], box["parent"]) for box in boxes[:3]]
    [('layer', 'L0', -1), ('neuron', 'L1.n0', -1), ('neuron', 'L0.n0', 0)]
    >>> box_of.count(-1)  # the inputs are in no box, the weights are in the boxes of their neurons
    2
    >>> labels[len(box_of) - 1]  # the output
    'L1.n0'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from micrograd.draw.graph import graph
from micrograd.draw.hierarchy import Hierarchy
from micrograd.draw.records import Box as Node
from micrograd.draw.records import Graph
from micrograd.engine import Value
from micrograd.pages.texts import texts_of

MOST = 30  # members: a box with more of them is cut into parts
PARTS = 10
THINGS = {"layer": "layers", "neuron": "neurons", "call": "examples"}

Box = dict[str, Any]


def boxes_of_calls(
    drawn: Graph, level: str | int | None = None, words: Mapping[str, str] | None = None
) -> tuple[Any, ...]:
    """The boxes of a graph whose program was watched by `calls`; see `draw/hierarchy.py`.

    Args:
        drawn: the graph at level 'op'.
        level: a depth, or the name of a function that is opened; by default stacks are, as far as
            there is room.
        words: the texts of the page; by default in English.

    Returns:
        The same three as from `boxes_of`, and the indices of the boxes that are open at first. The
        last two boxes stand for what is before and after a box when only its inside is shown.
    """
    tree = Hierarchy(drawn)
    outputs = tree.outputs()
    label_of = dict(tree.label_of)
    for part in reversed(tree.parts):  # an outer box names its outputs last
        if part.kind in ("leaves", "part", "vector"):
            continue
        mine = [i for i in part.nodes if i in outputs[id(part)]]
        for k, i in enumerate(mine, 1):
            label_of[i] = part.label + (f"[{k}]" if len(mine) > 1 else "")
    label_of |= {int(result[1:]): "loss" for result in drawn.results[:1] if drawn.values[1:]}
    boxes = [
        {"label": part.label, "kind": part.kind, "about": part.about, "parent": part.parent}
        for part in tree.parts
    ]
    for place in ("before", "after"):
        label = (words or texts_of("en"))[f"box.{place}"]
        boxes.append({"label": label, "kind": "outside", "about": "", "parent": -1})
    return boxes, tree.box_of, label_of, sorted(tree.opened(level))


def boxes_of(
    root: Value,
    nodes: Sequence[Node],
    names: Mapping[str, Any] | None = None,
    words: Mapping[str, str] | None = None,
) -> tuple[list[Box], list[int], dict[int, str]]:
    """The boxes of the graph that leads to `root`, and the innermost box of each node.

    Args:
        root: the result.
        nodes: the records of the graph's nodes, as in `graph(root, names=names).nodes`.
        names: where to look for names.
        words: the texts of the page; by default in English.

    Returns:
        A list of boxes, each after its parent, with `label`, `kind` ('layer', 'neuron', 'call' or
        'part'), `about` (a short description), and `parent`, the index of the box around it or -1;
        for each node, in topological order, the index of its innermost box, or -1; and labels for
        the parameters and outputs of neurons, by the index of the node.
    """
    tree = _Tree(nodes, words or texts_of("en"))
    neurons = graph(root, names=names, level="neuron").nodes
    calls = {node.name: node for node in neurons if node.level == "neuron"}
    found = graph(root, names=names, level="layer").nodes if calls else ()
    layers = [node for node in found if node.level == "layer" and node.kind != "input"]
    for k, layer in enumerate(layers):
        default = f"L{k}" if len(layers) > 1 else ""
        inside = [call for call in calls.values() if call.parent == layer.name]
        tree.add_layer(layer, inside, default)
    whole = range(len(tree.boxes))
    inner = [i for i, operands in enumerate(tree.operands) if operands]
    leaves = [i for i, operands in enumerate(tree.operands) if not operands]
    tree.cut(inner, tree.box_of, lambda part: f"→ {tree.name(part[-1])}", "operations")
    tree.cut(whole, tree.parent, lambda part: f"{tree.boxes[part[0]]['label']}, ...")
    tree.sink_leaves()
    tree.cut(leaves, tree.box_of, lambda part: f"{tree.name(part[0])}, ...", "leaves")
    # each box after its parent
    order = sorted(range(len(tree.boxes)), key=lambda box: len(tree.around(box)))
    new = {box: i for i, box in enumerate(order)} | {-1: -1}
    boxes = [{**tree.boxes[box], "parent": new[tree.parent[box]]} for box in order]
    return boxes, [new[box] for box in tree.box_of], tree.label_of


class _Tree:
    def __init__(self, nodes: Sequence[Node], texts: Mapping[str, str]) -> None:
        self.nodes, self.texts = nodes, texts
        self.place = place = {node.name: i for i, node in enumerate(nodes)}
        self.operands = [[place[o] for o in node.operands] for node in nodes]
        self.boxes: list[Box] = []
        self.parent: list[int] = []  # of each box
        self.box_of = [-1] * len(nodes)
        self.label_of: dict[int, str] = {}
        self.outside: set[int] = set()  # inputs of neurons, which stay outside all boxes

    def add(self, label: str, kind: str, about: str, parent: int) -> int:
        self.boxes.append({"label": label, "kind": kind, "about": about})
        self.parent.append(parent)
        return len(self.boxes) - 1

    def around(self, box: int) -> list[int]:
        # The box, the box around it, and so on, and at last -1.
        path = [box]
        while path[-1] >= 0:
            path.append(self.parent[path[-1]])
        return path

    def name(self, i: int) -> str:
        node = self.nodes[i]
        return node.short or node.label or node.name

    def counted(self, things: str, n: int) -> str:
        return self.texts[f"box.{things}"].format(n=f"{n:,}")

    # ---- 1. Boxes for the modules of nn.py

    def add_layer(self, layer: Node, calls: Sequence[Node], default: str) -> None:
        inputs = {name for call in calls for name in call.operands}
        self.outside.update(self.place[name] for name in inputs if name in self.place)
        same: dict[frozenset[int], list[Node]] = {}  # the calls of each neuron, by its leaves
        for call in calls:
            same.setdefault(self._own_leaves(call), []).append(call)
        around = -1
        if len(same) > 1:
            about = f"{layer.op} · {layer.n_in:,} → {layer.n_out:,}"
            if layer.examples > 1:
                about += f" · {self.counted('examples', layer.examples)}"
            label = layer.short if layer.label else default or layer.short
            around = self.add(label, "layer", about, -1)
        for k, (own, of_neuron) in enumerate(same.items()):
            call, n = of_neuron[0], len(of_neuron[0].weights)
            numbered = f"{default}.n{k}".lstrip(".") if around >= 0 or default else call.label
            name = (call.short if "[" in call.label else "") or numbered or "neuron"
            about = f"{call.op} · {self.counted('inputs' if n != 1 else 'inputs.one', n)}"
            several = len(of_neuron) > 1
            more = f" · {self.counted('examples', len(of_neuron))}" if several else ""
            box = self.add(name, "neuron", about + more, around)
            self.label_of |= {leaf: f"{name}.p{i}" for i, leaf in enumerate(sorted(own))}
            for i, call in enumerate(of_neuron):
                inner = self.add(f"{name}({i})", "call", about, box) if several else box
                for node in call.nodes:
                    self.box_of[self.place[node]] = inner
                self.label_of[self.place[call.nodes[-1]]] = self.boxes[inner]["label"]

    def _own_leaves(self, call: Node) -> frozenset[int]:
        used = {o for name in call.nodes for o in self.operands[self.place[name]]}
        given = {self.place[name] for name in call.operands if name in self.place}
        return frozenset(i for i in used - given if not self.operands[i])

    # ---- 2. Leaves that are used in one box only are in that box

    def sink_leaves(self) -> None:
        common: dict[int, int] = {}  # for each leaf, the innermost box around all its users
        for i, operands in enumerate(self.operands):
            for leaf in operands:
                if not self.operands[leaf] and leaf not in self.outside:
                    box = self.box_of[i]
                    above = self.around(common.get(leaf, box))
                    common[leaf] = next(b for b in self.around(box) if b in above)
        for leaf, box in common.items():
            self.box_of[leaf] = box

    # ---- 3. Cutting large boxes into parts

    def cut(
        self,
        members: Iterable[int],
        box_of: list[int],
        label: Callable[[Sequence[int]], str],
        things: str = "",
    ) -> None:
        # Puts members, which are nodes or boxes, into parts of the boxes that have too many.
        inside: dict[int, list[int]] = {}
        for member in members:
            inside.setdefault(box_of[member], []).append(member)
        for around, within in inside.items():
            size = -(-len(within) // min(PARTS, -(-len(within) // PARTS)))
            for start in range(0, len(within) if len(within) > MOST else 0, size):
                part = within[start : start + size]
                about = self.counted(things or THINGS[self.boxes[part[0]]["kind"]], len(part))
                box = self.add(label(part), "part", about, around)
                for member in part:
                    box_of[member] = box
                self.cut(part, box_of, label, things)
