"""A page that steps through a graph, forward and backward.

`explain(loss)` shows the formula and the graph, and steps through the forward pass node by node and
through the backward pass closure by closure. On the page you can change the leaves, nudge them and
see the gradient as the slope of a curve, predict numbers, try out the classic mistakes, and take
steps of gradient descent. It computes with the rules that `pieces.py` records from the closures.

    >>> x, w = Value(2.0, label="x"), Value(-3.0, label="w")
    >>> explain((x * w).tanh(), title="A product and its tanh")
    <page of 4 nodes: .show() opens it, .save('page.html') writes it>
"""

from __future__ import annotations

import inspect
import math
import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from micrograd.core.naming import distinct
from micrograd.core.origin import origin
from micrograd.draw.formulas import sign
from micrograd.draw.graph import graph
from micrograd.draw.hierarchy import LEVELS, Hierarchy
from micrograd.draw.records import Graph
from micrograd.engine import Value
from micrograd.pages.page import Page, in_languages
from micrograd.pages.pieces import recorded_rules
from micrograd.program.calls import computed
from micrograd.program.foreign import as_ours
from micrograd.program.variables import variables
from micrograd.texts import said

LARGEST = 50_000  # nodes
LARGE = 100  # nodes: fewer are called by their formulas
UNFOLDED = 400  # cards: the most that are drawn at once, if the reader asks for all
BESIDE = 12  # cards in an open stack
OUTPUT = re.compile(r"^(\w+)(?:\.n(\d+))?(?: (\d+))?$")  # for the fourth example: L2 4, or L2.n0 4
KINDS = {"input": "i", "parameter": "p", "constant": "c", "operation": "o", "result": "r"}


@in_languages
def explain(
    loss: Value,
    names: Mapping[str, object] | None = None,
    title: str | None = None,
    level: str | int | None = None,
    rankdir: str = "LR",
    parameters: Iterable[Value] = (),
    language: str | None = None,
    texts: str | os.PathLike[str] | None = None,
    languages: Sequence[str] = (),
) -> Page:
    """A page that steps through the forward pass, the seed and the backward pass of a graph.

    It needs no internet connection, server or installation. The page runs the forward pass again
    from the current leaves; the graph itself does not change. All leaves can be changed, except
    those that lead to a user-defined operation, whose forward pass is not recorded. Large graphs
    open folded into neurons and layers. "Present" makes a slide of it, on which a presenter's
    remote steps, and one can nudge and train; on paper the page has the whole graph and all steps.

    Your own site can embed the file in an iframe: neuron.html#embed has no title, tools or drawer.

    Args:
        loss: the result to start from, or a function without arguments that computes it, whose
            calls become boxes. It may be a Value of another engine, if that tells its local
            derivatives (see `micrograd/program/foreign.py`).
        names: where to look for names; by default the caller's variables, {} for nowhere. A node
            without one is called by its formula, such as x₁w₁, if short, else its operation: sum₂.
        level: what is unfolded at first: 'op', 'neuron', 'layer' or 'array'; by default as much as
            fits into 25 cards. Or, as in `draw_dot`, a depth or a part: a function run by `calls`.
        rankdir: direction of the graph, 'LR' (to the right) or 'TB' (downwards).
        parameters: leaves that are parameters although no module in `names` owns them. If there
            are none, the leaves that several examples use are.
        language: the language of the page: that of a file in `micrograd/texts/`, or of `texts`.
        texts: a TOML file of your own, whose texts replace those of the page.
        languages: several languages, such as ["en", "de"], for a page with a menu of them.

    Raises:
        TypeError: the loss is not a Value.
        ValueError: the graph has more than 50,000 nodes or a cycle, or was not recorded because of
            `no_grad()`; an engine does not tell its local derivatives; an argument is unknown.

    >>> x = Value(3.0)
    >>> explain(x * x + x, names={"x": x})
    <page of 3 nodes: .show() opens it, .save('page.html') writes it>
    """
    if rankdir not in ("LR", "TB"):
        raise ValueError(f"rankdir {rankdir!r} is not 'LR' (to the right) or 'TB' (downwards)")
    loss, names, parameters = as_ours(computed(loss), variables(names), parameters)
    drawn = graph(loss, names=names, parameters=list(parameters))
    n = len(drawn.nodes)
    if n > LARGEST:
        fix = "explain the loss of fewer examples"
        raise ValueError(f"expected a graph of at most {LARGEST:,} nodes, got {n:,}: {fix}")
    # all that the page keeps of the variables
    names = {label: value for value, label in drawn.named.label_of.items()}

    def film(dark: bool) -> Any:
        from micrograd.draw.film import backward_film  # loads an imaging library

        return backward_film(loss, names, rankdir, dark=dark)

    own, example = _graph_data(loss, drawn, level), _example()
    code = {**example.pop("code"), **own.pop("code")}
    data = {"graph": own, "example": example, "code": code, "down": rankdir == "TB"}
    about = f"page of {n} node{'s' * (n != 1)}"
    return Page("explain", data, about, 760, title, film=film)


def _graph_data(loss: Value, drawn: Graph, level: str | int | None = None) -> dict[str, Any]:
    # What the page needs to know about a graph.
    nodes, tree = drawn.nodes, Hierarchy(drawn)
    boxes, opened = _boxes(tree, level)
    box_of = [box.index for box in tree.box_of]
    if level is None and not tree.is_called and len(opened) == len(tree.parts):
        # all is in sight: there is nothing to fold
        boxes, box_of, opened = [], [-1] * len(nodes), []
    label_of = _names(tree)
    shown = {i: node for i, node in enumerate(nodes) if tree.twins.get(i, i) == i}
    texts = [n.short or n.label or label_of.get(i, f"v{i}") for i, n in shown.items()]
    labels = dict(zip(shown, distinct(texts, "{} ({})"), strict=True))
    twins = {i: first for i, first in tree.twins.items() if i != first}
    labels |= {i: labels[first] for i, first in twins.items()}
    recorded = recorded_rules(loss)
    for rule in recorded["rules"]:
        rule["sign"] = sign(rule["op"])
    return {
        **recorded,
        "kinds": "".join(KINDS[node.kind] for node in nodes),
        "labels": {i: text for i, text in labels.items() if text != f"v{i}"},
        "twins": twins,  # constants of one name, and the first of them, which is shown
        "paths": {i: n.label for i, n in enumerate(nodes) if n.label not in ("", labels[i])},
        "boxes": boxes,
        "boxOf": box_of,
        "open": opened,
        # in a large graph, the names of nodes tell in which box they are
        "byBox": tree.is_called or len(nodes) > LARGE,
        "code": _code(drawn.values),
        "result": loss.item() if math.isfinite(loss.item()) else None,
    }


def _code(order: Iterable[Value]) -> dict[str, str]:
    # The text of the `_backward` function of each operation, where it can be found.
    first = {str(value._op): value for value in reversed(list(order)) if value._prev}
    found = {}
    for op, value in first.items():
        copied = origin(value, "node")  # of another engine, or ours
        closure = getattr(copied, "_backward", None) or value._backward
        with suppress(OSError, TypeError):
            found[op] = textwrap.dedent(inspect.getsource(closure)).strip()
    return found


def _example() -> dict[str, Any]:
    # A graph on which each mistake makes a difference: a and q are used more than once.
    a = Value(3.0)
    q = (p := a * a) + a
    r = (m := p * q) + q
    return _graph_data(r, graph(r, names={"a": a, "p": p, "q": q, "m": m, "r": r}))


# ---- The boxes in which a large graph is shown; `draw/hierarchy.py` makes them


def _boxes(tree: Hierarchy, level: str | int | None) -> tuple[list[dict[str, Any]], list[int]]:
    # The boxes, each after the one around it, and those that are open at first. A long stack has
    # `members`, which are shown one at a time. The last two are before and after the only open one.
    opened = tree.opened(level)
    if level in LEVELS and len(tree.view(opened).nodes) > UNFOLDED:
        opened = tree.first_view()
    boxes: list[dict[str, Any]] = []
    for part in tree.parts:
        parent = part.parent.index if part.parent else -1
        box = {"label": part.label, "kind": part.kind, "about": part.about, "parent": parent}
        inside = [inner.index for inner in part.parts if inner.kind != "leaves"]
        is_crowded = part.kind == "stack" and len(part.members) > BESIDE and len(inside) > 1
        if part.is_paged or (is_crowded and part not in opened):
            box["members"] = inside
        boxes.append(box)
    for key in ("box.before", "box.after") if level not in LEVELS else ():
        boxes.append({"label": said("pages", key), "kind": "outside", "about": "", "parent": -1})
    return boxes, sorted(box.index for box in opened)


def _names(tree: Hierarchy) -> dict[int, str]:
    # The names of nodes that have none: those of the boxes whose outputs they are.
    drawn, label_of = tree.drawn, dict(tree.label_of)
    count = Counter(part.label for part in tree.parts)
    for part in reversed(tree.parts):  # an outer box names its outputs last
        is_layer = part.kind == "call" and part.level and part.has_boxes
        is_named = part.kind in ("call", "step") and not is_layer
        mine = sorted(tree.outputs[part]) if is_named else []
        # equal names of several calls, such as dot: GPT 2 dot
        single = [each.label for each in part.path() if count[each.label] == 1][:1]
        label = " ".join(dict.fromkeys([*single, part.label]))
        label = re.sub(r"^(\w+)( \d+) (\1\.\w+)$", r"\3\2", label)  # not L0 4 L0.n3, but L0.n3 4
        for k, i in enumerate(mine, 1):
            label_of[i] = label + (f"[{k}]" if len(mine) > 1 else "")
    # what the loss of a network is computed from: out[3], not L2 4
    levels = {i: {tree.box_of[user].level for user in tree.users[i]} for i in label_of}
    ends = [i for i in label_of if tree.operands[i] and levels[i] == {"loss"}]
    found = [(i, *match) for i in ends for match in OUTPUT.findall(label_of[i])]
    for i, _, neuron, example in found if len({layer for _, layer, *_ in found}) == 1 else ():
        row = f"[{int(example) - 1}]" if example else ""
        label_of[i] = f"out{row}[{neuron}]" if neuron else f"out{row}"
    label_of |= tree.states
    for root in drawn.results[:1]:
        around = [part.kind for part in tree.box_of[root].path()]
        is_loss = tree.is_called or "call" not in around
        if tree.parts and drawn.values[1:] and is_loss and root not in tree.states:
            label_of[root] = "loss"
    return label_of
