"""The boxes in which a page shows a large graph: layers, neurons, and parts of long computations.

A page can show about 40 cards. So the nodes of a graph are put into boxes, and boxes into larger
boxes: operations into the call of a neuron, the calls of a neuron for several examples into the
neuron, neurons into their layer. A box that is still too full is cut into parts, in topological
order.

    >>> from micrograd.nn import MLP
    >>> y = MLP(2, [3, 1])([1.0, -1.0])
    >>> boxes, box_of = boxes_of(y, graph(y).nodes)
    >>> [(box["kind"], box["label"], box["parent"]) for box in boxes[:3]]
    [('layer', 'L0', -1), ('neuron', 'L0.n0', 0), ('neuron', 'L0.n1', 0)]
    >>> box_of.count(-1)  # the inputs are in no box, the weights are in the boxes of their neurons
    2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from micrograd.draw.graph import graph
from micrograd.draw.records import Box as Node
from micrograd.engine import Value
from micrograd.pages.texts import texts_of

MOST = 30  # members: a box with more of them is cut into parts
PARTS = 10

Box = dict[str, Any]


def boxes_of(
    root: Value,
    nodes: Sequence[Node],
    names: Mapping[str, Any] | None = None,
    language: str = "en",
) -> tuple[list[Box], list[int]]:
    """The boxes of the graph that leads to `root`, and the innermost box of each node.

    Args:
        root: the result.
        nodes: the records of the graph's nodes, as in `graph(root, names=names).nodes`.
        names: where to look for names.
        language: a column of texts.toml.

    Returns:
        A list of boxes, each after its parent, with `label`, `kind` ('layer', 'neuron', 'call' or
        'part'), `about` (a short description), and `parent`, the index of the box around it or -1;
        and for each node, in topological order, the index of its innermost box, or -1.
    """
    tree = _Tree(root, nodes, names, texts_of(language))
    tree.add_layers()
    tree.cut(leaves=False)
    tree.sink_leaves()
    tree.cut(leaves=True)
    return tree.sorted()


class _Tree:
    def __init__(
        self,
        root: Value,
        nodes: Sequence[Node],
        names: Mapping[str, Any] | None,
        texts: Mapping[str, str],
    ) -> None:
        self.root, self.nodes, self.names, self.texts = root, nodes, names, texts
        self.place = place = {node.name: i for i, node in enumerate(nodes)}
        self.operands = [[place[o] for o in node.operands] for node in self.nodes]
        self.boxes: list[Box] = []
        self.box_of = [-1] * len(self.nodes)
        self.outside = {len(nodes) - 1}  # nodes that stay outside all boxes

    def add(self, label: str, kind: str, about: str, parent: int) -> int:
        self.boxes.append({"label": label, "kind": kind, "about": about, "parent": parent})
        return len(self.boxes) - 1

    # ---- 1. Boxes for the modules of nn.py

    def add_layers(self) -> None:
        neurons = {
            node.name: node
            for node in graph(self.root, names=self.names, level="neuron").nodes
            if node.level == "neuron"
        }
        if not neurons:
            return
        layers = [
            node
            for node in graph(self.root, names=self.names, level="layer").nodes
            if node.level == "layer" and node.kind != "input"
        ]
        for k, layer in enumerate(layers):
            calls = [neuron for neuron in neurons.values() if neuron.parent == layer.name]
            self._add_layer(layer, calls, f"L{k}" if len(layers) > 1 else "")

    def _add_layer(self, layer: Node, calls: Sequence[Node], default: str) -> None:
        inputs = {name for call in calls for name in call.operands}
        self.outside.update(self.place[name] for name in inputs if name in self.place)
        same: dict[Any, list[Node]] = {}  # the calls of each neuron, which share its leaves
        for call in calls:
            same.setdefault(self._own_leaves(call), []).append(call)
        label = layer.short if layer.label else default
        around = -1
        if len(same) > 1:
            about = f"{layer.op} · {layer.n_in:,} → {layer.n_out:,}"
            if layer.examples > 1:
                about += f" · {self._counted('examples', layer.examples)}"
            around = self.add(label or layer.short, "layer", about, -1)
        for k, of_neuron in enumerate(same.values()):
            first = of_neuron[0]
            own = first.short if "[" in first.label else ""
            dot = "." if default else ""
            name = own or (f"{default}{dot}n{k}" if around >= 0 or default else first.label)
            name = name or "neuron"
            n = len(first.weights)
            about = f"{first.op} · {self._counted('inputs' if n != 1 else 'inputs.one', n)}"
            if len(of_neuron) == 1:
                self._add_call(first, self.add(name, "neuron", about, around))
                continue
            examples = self._counted("examples", len(of_neuron))
            box = self.add(name, "neuron", f"{about} · {examples}", around)
            for i, call in enumerate(of_neuron):
                self._add_call(call, self.add(f"{name}({i})", "call", about, box))

    def _own_leaves(self, call: Node) -> Any:
        used = {o for name in call.nodes for o in self.operands[self.place[name]]}
        leaves = {
            i
            for i in used
            if self.nodes[i].kind != "constant"
            and not self.operands[i]
            and self.nodes[i].name not in call.operands
        }
        return frozenset(leaves) or call.name

    def _add_call(self, call: Node, box: int) -> None:
        for name in call.nodes:
            self.box_of[self.place[name]] = box

    # ---- 2. Leaves that are used in one box only are in that box

    def sink_leaves(self) -> None:
        common: dict[int, int] = {}  # for each leaf, the innermost box around all its users
        for i, operands in enumerate(self.operands):
            for operand in operands:
                if not self.operands[operand] and operand not in self.outside:
                    box = self.box_of[i]
                    common[operand] = self._around(common.get(operand, box), box)
        for leaf, box in common.items():
            self.box_of[leaf] = box

    def _around(self, a: int, b: int) -> int:
        # The innermost box that contains both.
        above = {-1}
        while a >= 0:
            above.add(a)
            a = self.boxes[a]["parent"]
        while b not in above:
            b = self.boxes[b]["parent"]
        return b

    # ---- 3. Cutting large boxes into parts

    def cut(self, leaves: bool) -> None:
        members: dict[int, list[tuple[int, str, int]]] = {}  # in each box: last node, kind, index
        last = [-1] * len(self.boxes)
        for i, box in enumerate(self.box_of):
            while box >= 0:
                last[box] = i
                box = self.boxes[box]["parent"]
        for i, box in enumerate(self.box_of):
            if bool(self.operands[i]) != leaves:
                members.setdefault(box, []).append((i, "node", i))
        for k in range(len(self.boxes) if not leaves else 0):
            members.setdefault(self.boxes[k]["parent"], []).append((last[k], "box", k))
        for parent, of_box in members.items():
            for kind in ("node", "box"):
                self._cut(parent, sorted(m for m in of_box if m[1] == kind), leaves)

    def _cut(self, parent: int, members: list[tuple[int, str, int]], leaves: bool) -> None:
        if len(members) <= MOST:
            return
        waiting: list[tuple[int, list[tuple[int, str, int]]]] = [(parent, members)]
        while waiting:
            around, within = waiting.pop()
            if len(within) <= MOST:
                for _, what, which in within:
                    if what == "node":
                        self.box_of[which] = around
                    else:
                        self.boxes[which]["parent"] = around
                continue
            size = -(-len(within) // min(PARTS, -(-len(within) // PARTS)))
            for start in range(0, len(within), size):
                piece = within[start : start + size]
                label, about = self._part(piece, leaves), self._count(piece, leaves)
                box = self.add(label, "part", about, around)
                waiting.append((box, piece))

    def _part(self, piece: Sequence[tuple[int, str, int]], leaves: bool) -> str:
        (_, what, first), (_, _, last) = piece[0], piece[-1]
        if what == "box":
            return f"{self.boxes[first]['label']}, ..."
        node = self.nodes[first if leaves else last]
        name = node.short or node.name
        return f"{name}, ..." if leaves else f"\N{RIGHTWARDS ARROW} {name}"

    def _count(self, piece: Sequence[tuple[int, str, int]], leaves: bool) -> str:
        things = "leaves" if leaves else "operations"
        if piece[0][1] == "box":
            kind = self.boxes[piece[0][2]]["kind"]
            things = "examples" if kind == "call" else f"{kind}s"
        return self._counted(things, len(piece))

    def _counted(self, things: str, n: int) -> str:
        return self.texts[f"box.{things}"].format(n=f"{n:,}")

    def sorted(self) -> tuple[list[Box], list[int]]:
        # The boxes that are not empty, each after its parent.
        used: set[int] = set()
        for box in self.box_of:
            while box >= 0 and box not in used:
                used.add(box)
                box = self.boxes[box]["parent"]
        children: dict[int, list[int]] = {}
        for k in sorted(used):
            children.setdefault(self.boxes[k]["parent"], []).append(k)
        order: list[int] = []
        path = children.get(-1, [])[::-1]
        while path:
            order.append(path.pop())
            path += children.get(order[-1], [])[::-1]
        new = {box: i for i, box in enumerate(order)} | {-1: -1}
        boxes = [{**self.boxes[k], "parent": new[self.boxes[k]["parent"]]} for k in order]
        return boxes, [new[box] for box in self.box_of]


def parameters_in(boxes: Iterable[Box], box_of: Sequence[int]) -> set[int]:
    """Indices of the nodes in neurons' boxes, where the leaves are the neurons' parameters."""
    kinds = [box["kind"] for box in boxes]
    return {i for i, box in enumerate(box_of) if box >= 0 and kinds[box] in ("neuron", "call")}
