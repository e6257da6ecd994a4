"""A page that steps through a graph, forward and backward.

`explain(loss)` displays a page in a notebook or saves it as a single file. It shows the formula and
the graph, and steps through the forward pass node by node and through the backward pass closure by
closure. On the page you can change the leaves, nudge them, predict numbers, try out the classic
mistakes, and take steps of gradient descent. The page computes with the rules that `rules.py`
records from the closures; text, styles and scripts are in the files beside this one.

    >>> x, w = Value(2.0, label="x"), Value(-3.0, label="w")
    >>> explain((x * w).tanh(), title="A product and its tanh")
    <page of 4 nodes: .show() opens it, .save('page.html') writes it>
"""

from __future__ import annotations

import html
import inspect
import math
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.source import distinct
from micrograd.derivatives import local_derivatives
from micrograd.draw.foreign import as_ours
from micrograd.draw.formulas import number, sign
from micrograd.draw.graph import graph
from micrograd.draw.records import Box as Node
from micrograd.engine import Value, topological_order
from micrograd.pages.boxes import boxes_of, parameters_in
from micrograd.pages.lines import lines_of
from micrograd.pages.page import Page, as_json, html_page
from micrograd.pages.rules import recorded_rules
from micrograd.pages.texts import texts_of

LARGEST = 50_000  # nodes
UNFOLDED = 400  # nodes: the most that are drawn at once, if the reader asks for all
LEVELS = ("op", "neuron", "layer")
KINDS = {"input": "i", "parameter": "p", "constant": "c", "operation": "o", "result": "r"}
CALLS = ("neuron", "call")  # boxes with one output
STYLES = ("cards",)
SCRIPTS = (
    *("texts", "numbers", "program", "layout", "levels", "steps", "formula", "words", "pane"),
    *("cards", "transport", "meaning", "trying", "drawer", "sending"),
)
Explanation = Page  # what explain() returns


def explain(
    loss: Value,
    names: Mapping[str, Any] | None = None,
    title: str | None = None,
    level: str | None = None,
    rankdir: str = "LR",
    learning_rate: float = 0.1,
    parameters: Iterable[Value] = (),
    language: str = "en",
) -> Page:
    """A page that steps through the forward pass, the seed and the backward pass of a graph.

    It needs no internet connection, server or installation: you can send the file by email. The
    page runs the forward pass again from the current leaves, with gradients starting at 0; the
    graph itself does not change. All leaves can be changed, except those that lead to a
    user-defined operation, whose forward pass is not recorded. Large graphs open folded into
    neurons and layers.

    To embed the saved file in a site of your own, add #embed, which leaves out the title, the tools
    and the drawer:

        <iframe src="neuron.html#embed" title="A neuron" style="width: 100%; height: 720px">
        </iframe>

    Args:
        loss: the result to start from. It may be a Value of another engine, if that tells its local
            derivatives (see `micrograd/draw/foreign.py`).
        names: where to look for names, usually `locals()`; see `micrograd.draw.graph.graph`. A node
            without a name is called by its formula, such as x₁w₁, if that is short; otherwise v₀,
            v₁, ... after its place in topological order, as in `graph()`.
        title: title of the page and of the browser window.
        level: what is unfolded at first: 'op', 'neuron' or 'layer'; by default as much as fits
            into 40 cards.
        rankdir: direction of the graph, 'LR' (to the right) or 'TB' (downwards).
        learning_rate: the learning rate for the steps of gradient descent.
        parameters: leaves that are parameters although no module in `names` owns them.
        language: the language of the page, a column of `pages/texts.toml`.

    Raises:
        TypeError: the loss is not a Value.
        ValueError: the graph has more than 50,000 nodes or a cycle, or was not recorded because of
            `no_grad()`; an engine does not tell its local derivatives; the level, the direction or
            the language is unknown.

    >>> a, b = Value(2.0), Value(3.0)
    >>> page = explain(a * b, names={"a": a, "b": b})
    """
    if level not in (None, *LEVELS):
        raise ValueError(f"level {level!r} is not one of {', '.join(LEVELS)}")
    if rankdir not in ("LR", "TB"):
        raise ValueError(f"rankdir {rankdir!r} is not 'LR' (to the right) or 'TB' (downwards)")
    rate = float(learning_rate)
    if not (rate > 0 and math.isfinite(rate)):
        raise ValueError(f"learning_rate expects a positive number, got {learning_rate!r}")
    loss, names, parameters = as_ours(loss, names, parameters)
    nodes = graph(loss, names=names).nodes
    if len(nodes) > LARGEST:
        raise ValueError(
            f"expected a graph of at most {LARGEST:,} nodes, got {len(nodes):,}: explain the loss "
            "of fewer examples"
        )
    if level == "op" and len(nodes) > UNFOLDED:
        raise ValueError(
            f"level='op' draws at most {UNFOLDED} nodes, got {len(nodes):,}: leave it out, and "
            "unfold on the page what you want to see"
        )
    texts = texts_of(language)
    title = str(title or texts["explain.title"])
    shown = _graph_data(loss, names, nodes, set(parameters), language)
    shown["lines"] = lines_of(loss, names or {}, sys._getframe(1))
    data = {
        "title": title,
        "graph": shown,
        "example": _example(),
        "level": level,
        "down": rankdir == "TB",
        "learningRate": rate,
    }
    page = html_page(
        "explain",
        SCRIPTS,
        STYLES,
        language=language,
        title=html.escape(title),
        data=as_json(data),
        table=_table(nodes, texts),
    )
    about = f"page of {len(nodes)} node{'s' * (len(nodes) != 1)}"
    return Page(page, about, title, height=760)


def _graph_data(
    loss: Value,
    names: Mapping[str, Any] | None,
    nodes: Sequence[Node],
    parameters: Collection[Value] = (),
    language: str = "en",
) -> dict[str, Any]:
    # What the page needs to know about a graph.
    order = topological_order(loss)
    boxes, box_of = boxes_of(loss, nodes, names, language)
    owned = parameters_in(boxes, box_of)
    owned |= {i for i, v in enumerate(order) if v in parameters}
    kinds = [
        "p" if node.kind == "input" and i in owned else KINDS[node.kind]
        for i, node in enumerate(nodes)
    ]
    labels = _labels(nodes, boxes, box_of, kinds)
    of_rules = recorded_rules(loss)
    for rule in of_rules["rules"]:
        rule["sign"] = sign(rule["op"])
    return {
        **of_rules,
        "kinds": "".join(kinds),
        "labels": {i: text for i, text in enumerate(labels) if text != f"v{i}"},
        "paths": {
            i: node.label for i, node in enumerate(nodes) if node.label not in ("", labels[i])
        },
        "boxes": boxes,
        "boxOf": box_of,
        "code": _code(order),
        "result": loss.item() if math.isfinite(loss.item()) else None,
        "fractions": _fractions(order),
        "lines": {},
    }


def _labels(
    nodes: Sequence[Node], boxes: Sequence[dict[str, Any]], box_of: Sequence[int], kinds: list[str]
) -> list[str]:
    # Short, distinct names. Outputs and parameters of neurons are named after their neuron.
    texts, count = [], [0] * len(boxes)
    call_of = []  # the innermost call around each node: a long one was cut into parts
    for box in box_of:
        while box >= 0 and boxes[box]["kind"] not in CALLS:
            box = boxes[box]["parent"]
        call_of.append(box)
    output = {box: i for i, box in enumerate(call_of) if nodes[i].operands}
    for i, node in enumerate(nodes):
        text = node.short
        if not text and call_of[i] >= 0 and output.get(call_of[i]) == i:
            text = boxes[call_of[i]]["label"]
        if not text and kinds[i] == "p" and box_of[i] >= 0:
            count[box_of[i]] += 1
            text = f"{boxes[box_of[i]]['label']}.p{count[box_of[i]] - 1}"
        texts.append(text or node.name)
    return distinct(texts, "{} ({})")


def _fractions(order: Sequence[Value]) -> list[tuple[float, str]]:
    # The numbers of both passes that are exact fractions: the decimal on the page, and their text.
    if not any(type(innermost(v.data)) is Fraction for v in order):
        return []
    found: set[Any] = {innermost(v.data) for v in order}
    gradients: dict[Value, Any] = dict.fromkeys(order, Fraction(0)) | {order[-1]: Fraction(1)}
    for v in reversed(order):
        for operand, local in zip(v._prev, local_derivatives(v), strict=True):
            contribution = local * gradients[v]
            gradients[operand] += contribution
            found |= {local, contribution, gradients[operand]}
    return [(float(x), number(x)) for x in found if type(x) is Fraction and x.denominator > 1]


def _code(order: Iterable[Value]) -> dict[str, str]:
    # The text of the `_backward` function of each operation, where it can be found.
    found: dict[str, str] = {}
    for value in order:
        if value._prev and str(value._op) not in found:
            closure = vars(value).get("_written") or value._backward  # of another engine, or ours
            try:
                text = textwrap.dedent(inspect.getsource(closure)).strip()
            except (OSError, TypeError):
                text = ""
            found[str(value._op)] = text
    return {op: text for op, text in found.items() if text}


def _example() -> dict[str, Any]:
    # A graph on which each mistake makes a difference: a and q are used more than once.
    a = Value(3.0, label="a")
    p = a * a
    q = p + a
    m = p * q
    r = m + q
    named = {"a": a, "p": p, "q": q, "m": m, "r": r}
    return _graph_data(r, named, graph(r, names=named).nodes)


def _table(nodes: Sequence[Node], texts: Mapping[str, str]) -> str:
    # What readers without JavaScript see: each node, and how it is computed.
    label_of = {node.name: node.label or node.name for node in nodes}
    rows = []
    for node in nodes[:100]:
        operands = ", ".join(label_of[name] for name in node.operands)
        made = texts["explain.made" if node.operands else f"word.{node.kind}"]
        made = made.format(operation=node.op, operands=operands)
        cells = (label_of[node.name], made, number(node.data))
        rows.append("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in cells) + "</tr>")
    if len(nodes) > len(rows):
        more = texts["explain.nodes"].format(n=f"{len(nodes) - len(rows):,}")
        rows.append(f"<tr><td>{html.escape(more)}</td><td></td><td></td></tr>")
    return "\n".join(rows)
