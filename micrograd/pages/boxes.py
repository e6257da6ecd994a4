"""The boxes in which a page shows a large graph; `draw/hierarchy.py` makes them.

>>> from micrograd.draw.graph import graph
>>> from micrograd.nn import MLP
>>> from micrograd.pages.texts import texts_of
>>> drawn = graph(MLP(2, [3, 1])([1.0, -1.0]))
>>> boxes, box_of, labels, opened = boxes_of(drawn, None, texts_of("en"))
>>> [(box["kind"], box["label"], box["parent"]) for box in boxes[:3]]
[('call', 'L0', -1), ('call', 'L1', -1), ('call', 'L0.n0', 0)]
>>> box_of.count(-1)  # the inputs are in no box, the weights are in the boxes of their neurons
2
>>> labels[len(box_of) - 1]  # the output
'L1'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from micrograd.draw.hierarchy import LEVELS, LOWERED, Hierarchy, Part
from micrograd.draw.parts import Made
from micrograd.draw.records import Graph

UNFOLDED = 400  # cards: the most that are drawn at once, if the reader asks for all


def boxes_of(
    drawn: Graph, level: str | int | None, words: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[int], dict[int, str], list[int]]:
    """The boxes of a graph, and the innermost box of each node.

    `drawn` is the graph at level 'op', `level` what is open at first, as in `explain`.

    Returns:
        A list of boxes, each after its parent, with `label`, `kind`, `about` (a short description)
        and `parent`, the index of the box around it or -1; a long stack also has `members`, which
        are shown one at a time, and `at`, the first to show. If only the inside of a box may be
        shown, the last two stand for what is before it and after it. Then, for each node, in
        topological order, the index of its innermost box, or -1; names for nodes that have none;
        and the indices of the boxes that are open at first.
    """
    tree = Hierarchy(drawn)
    label_of = dict(tree.label_of)
    for part in reversed(tree.parts):  # an outer box names its outputs last
        is_layer = isinstance(part.call, Made) and part.kind == "call" and part.has_boxes
        if part.kind in ("leaves", "part", "vector") or is_layer:
            continue
        mine = sorted(tree.outputs[part])
        for k, i in enumerate(mine, 1):
            label_of[i] = part.label + (f"[{k}]" if len(mine) > 1 else "")
    states = {i: name for part in (tree.root, *tree.parts) for i, name in _states(tree, part)}
    label_of |= states
    for root in tree.results[:1]:
        around = [part.kind for part in tree.box_of[root].path()]
        is_loss = tree.is_called or "call" not in around
        if tree.parts and drawn.values[1:] and is_loss and root not in states:
            label_of[root] = "loss"

    def told(text: str) -> str:
        # "10 examples" or "vector of 3" in the language of the page
        number, _, thing = text.replace("vector of ", "").partition(" ")
        key = "box.vector" if text.startswith("vector") else f"box.{thing}"
        return words[key].format(n=number) if key in words else text

    boxes: list[dict[str, Any]] = []
    for part in tree.parts:
        about = " · ".join(map(told, part.about.split(" · ")))
        parent = part.parent.index if part.parent else -1
        box = {"label": part.label, "kind": part.kind, "about": about, "parent": parent}
        if part.kind == "leaves":
            box["label"] = told(part.label)
        if part.is_paged:
            inside = [inner.index for inner in part.parts]
            box |= {"members": inside, "at": inside[0]}
        boxes.append(box)
    for place in ("before", "after") if level not in LEVELS else ():
        label = words[f"box.{place}"]
        boxes.append({"label": label, "kind": "outside", "about": "", "parent": -1})
    opened = tree.opened(level)
    if level in LEVELS and len(tree.view(opened).nodes) > UNFOLDED:
        opened = tree.first_view()
    return boxes, [box.index for box in tree.box_of], label_of, sorted(box.index for box in opened)


def _states(tree: Hierarchy, part: Part) -> Iterator[tuple[int, str]]:
    # What a loop computes from its own last value, by the name of the leaf with which it began: the
    # first step makes position₁ of position.
    outputs = [tree.outputs[step] for step in part.parts if step.kind == "step"]
    for node in outputs[0] if outputs else ():
        for k, leaf in enumerate(tree.operands[node]):
            chain = [node]
            for some in outputs[1:]:
                chain += [i for i in some if tree.operands[i][k : k + 1] == (chain[-1],)][:1]
            name = tree.drawn.nodes[leaf].label
            if name and len(chain) > 1:
                yield from ((i, name + str(n).translate(LOWERED)) for n, i in enumerate(chain, 1))
