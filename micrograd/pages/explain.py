"""A page that steps through a graph, forward and backward.

`explain(loss)` displays a page in a notebook or saves it as a single file. On the page you can step
through the forward pass node by node and through the backward pass closure by closure, turn knobs
to change the leaves, make classic mistakes, and see the paths that a gradient takes. The page
computes with the program that `trace` recorded from the graph. The picture comes from `draw_dot`;
text, styles and script are in the files beside this one.

    >>> x, w = Value(2.0, label="x"), Value(-3.0, label="w")
    >>> explain((x * w).tanh(), title="A product and its tanh")
    <page of 4 nodes and 6 steps: .save('backprop.html') writes it>
"""

from __future__ import annotations

import html
import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.draw.cards import NUMBER_WIDTH
from micrograd.draw.dot import draw_dot
from micrograd.draw.graph import graph
from micrograd.draw.records import Node
from micrograd.engine import Value
from micrograd.files import write_whole
from micrograd.pages.page import html_page, notebook_frame
from micrograd.source import distinct
from micrograd.trace import trace

LARGEST = 1000  # nodes: larger graphs overwhelm both the layout and the reader
WIDEST = 52  # points: the width of a number like -1.235e-67 on a card


class Explanation:
    """The page that `explain` returns: a notebook displays it, `.save(path)` writes it to a file.

    Attributes:
        html: the page, a self-contained HTML document.

    >>> "<!doctype html>" in explain(Value(1.0) + 2.0).html
    True
    """

    def __init__(self, page: str, nodes: int, steps: int) -> None:
        self.html = page
        self._nodes, self._steps = nodes, steps

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the page, completely or not at all, and returns its path; any browser opens it.

        >>> explain(Value(1.0) + 2.0).save("backprop.html")  # doctest: +SKIP
        'backprop.html'
        """
        write_whole(path, self.html.encode(errors="replace"))
        return os.fspath(path)

    def _repr_html_(self) -> str:
        return notebook_frame(self.html, "Backpropagation, step by step", height=780)

    def __repr__(self) -> str:
        return (
            f"<page of {self._nodes} node{'s' * (self._nodes != 1)} and {self._steps} steps: "
            ".save('backprop.html') writes it>"
        )


def explain(
    loss: Value, names: Mapping[str, Any] | None = None, title: str | None = None
) -> Explanation:
    """A page that steps through the forward pass, the seed and the backward pass of a graph.

    It needs no network, no server and no installation: you can send the file by email. The page
    runs the forward pass again from the current leaves, with gradients starting at 0; the graph
    itself does not change. Each leaf has a knob, except leaves that lead to a user-defined
    operation, whose forward pass is not recorded.

    Args:
        loss: the result to start from.
        names: where to look for names, usually `locals()`; see `micrograd.draw.graph.graph`. A node
            without a name is called v0, v1, ... after its place in topological order.
        title: title of the page and of the browser window.

    Raises:
        TypeError: the loss is not a Value.
        ValueError: the graph has more than 1000 nodes, or `micrograd.trace.trace` refuses it.

    >>> a, b = Value(2.0), Value(3.0)
    >>> page = explain(a * b, names={"a": a, "b": b})
    """
    drawn = graph(loss, names=names)
    if len(drawn.nodes) > LARGEST:
        raise ValueError(
            f"expected a graph of at most {LARGEST} nodes, got {len(drawn.nodes)}: explain the "
            "loss of a single example, or use a smaller network"
        )
    program = trace(loss)
    labels = distinct([node.label or node.name for node in drawn.nodes], "{} ({})")
    nodes = _records(drawn.nodes, labels, program.unknown)
    title = str(title or "Backpropagation, step by step")
    result = loss.item() if math.isfinite(loss.item()) else None
    page = html_page(
        "explain",
        title=html.escape(title),
        svg=_drawing(loss, dict(zip(labels, program.order, strict=True)), names or {}),
        data=json.dumps({"title": title, "nodes": nodes, "result": result}).replace("<", r"\u003c"),
        program=program.javascript(),
    )
    results = sum(bool(node.operands) for node in drawn.nodes)
    return Explanation(page, len(nodes), 2 + 2 * results)


def _records(
    drawn: Sequence[Node], labels: Sequence[str], unknown: Sequence[int]
) -> list[dict[str, Any]]:
    # What the page needs to know about each node.
    place = {node.name: i for i, node in enumerate(drawn)}
    operands = [[place[name] for name in node.operands] for node in drawn]
    uses = Counter(i for of_node in operands for i in of_node)
    fixed = _ancestors(unknown, operands)
    return [
        {
            "id": node.name,
            "name": labels[i],
            "label": node.label if node.label != labels[i] else None,
            "op": node.op,
            "own": i in unknown,
            "kind": node.kind,
            "operands": operands[i],
            "uses": uses[i],
            "free": not node.operands and i not in fixed,
        }
        for i, node in enumerate(drawn)
    ]


def _ancestors(places: Sequence[int], operands: list[list[int]]) -> set[int]:
    # These nodes and all nodes that they are computed from.
    found = set(places)
    for i in reversed(range(len(operands))):
        if i in found:
            found.update(operands[i])
    return found


def _drawing(loss: Value, called: Mapping[str, Value], names: Mapping[str, Any]) -> str:
    # `called` comes first and names each Value; `owners` shows which module owns a parameter.
    owners = {f"names[{name!r}]": thing for name, thing in names.items() if name[:1] != "_"}
    dot = draw_dot(loss, names={**called, **owners}, level="op")
    dot.graph_attr["label"] = ""  # the page computes all gradients, even if the graph has none yet
    # Numbers change as the page plays: leave room for the widest.
    dot.body = [line.replace(f'WIDTH="{NUMBER_WIDTH}"', f'WIDTH="{WIDEST}"') for line in dot.body]
    picture = str(dot.pipe(encoding="utf-8"))
    return picture[picture.index("<svg") :]
