"""Chapter 11: one page that steps through a graph, forward and backward.

`explain(loss)` shows in a notebook, or saves as one file, a page on which one can step through the
forward pass node by node and through the backward pass closure by closure, turn the leaves like
knobs, make the classic mistakes, and see along which paths a gradient comes. The page computes with
the program that `trace` has recorded from the graph; all else, the graph drawn by `draw_dot` and
what its nodes are called, is put into the template beside this file.

    >>> x, w = Value(2.0, label="x"), Value(-3.0, label="w")
    >>> explain((x * w).tanh(), title="A product and its tanh")
    <page of 4 nodes and 6 steps: .save('backprop.html') writes it>
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from typing import Any

from micrograd.draw import NUMBER, draw_dot
from micrograd.engine import Value
from micrograd.graph import graph
from micrograd.render import write_whole
from micrograd.trace import distinct, trace

LARGEST = 1000  # nodes: above, neither the layout nor a reader gets through
WIDEST = 52  # points, for a number like -1.235e-67 on a card


class Explanation:
    """The page that `explain` makes: shows itself in a notebook, `.save(path)` writes it.

    Attributes:
        html: the page, one HTML document that needs nothing else.

    >>> "<!doctype html>" in explain(Value(1.0) + 2.0).html
    True
    """

    def __init__(self, page: str, nodes: int, steps: int) -> None:
        self.html = page
        self._nodes, self._steps = nodes, steps

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the page, whole or not at all, and returns the path; any browser opens it.

        >>> explain(Value(1.0) + 2.0).save("backprop.html")  # doctest: +SKIP
        'backprop.html'
        """
        write_whole(path, self.html.encode(errors="replace"))
        return os.fspath(path)

    def _repr_html_(self) -> str:
        # A frame of its own, so that neither the notebook's styles get in nor the page's get out.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 780px; '
            'border: 0" sandbox="allow-scripts" title="backpropagation, step by step"></iframe>'
        )

    def __repr__(self) -> str:
        return (
            f"<page of {self._nodes} node{'s' * (self._nodes != 1)} and {self._steps} steps: "
            ".save('backprop.html') writes it>"
        )


def explain(
    loss: Value, names: Mapping[str, Any] | None = None, title: str | None = None
) -> Explanation:
    """A page that steps through the forward pass, the seed and the backward pass of a graph.

    It needs no network, no server and no installation: the file can be sent by mail. The forward
    pass is run again, from the leaves as they are now, and gradients begin at 0; the graph itself
    is left as it is. Leaves have knobs, except those that lead to an operation of the user's own,
    whose forward pass is nowhere recorded.

    Args:
        loss: the result to start from.
        names: where to look for names, usually `locals()`; see `micrograd.graph.graph`. A node
            without a name is called v and its place in topological order.
        title: the headline, of the page and of the browser's window.

    Raises:
        TypeError: the loss is not a Value.
        ValueError: more than 1000 nodes; or what `micrograd.trace.trace` refuses.

    >>> a, b = Value(2.0), Value(3.0)
    >>> page = explain(a * b, names={"a": a, "b": b})
    """
    drawn = graph(loss, names=names)
    if len(drawn.nodes) > LARGEST:
        raise ValueError(
            f"the graph has {len(drawn.nodes)} nodes, a page steps through at most {LARGEST}: "
            "explain the loss of a single example, or of a smaller network"
        )
    program = trace(loss)
    place = {node.name: i for i, node in enumerate(drawn.nodes)}
    operands = [[place[name] for name in node.operands] for node in drawn.nodes]
    labels = distinct([node.label or node.name for node in drawn.nodes], "{} ({})")
    uses = Counter(i for of_node in operands for i in of_node)
    fixed = _behind(program.unknown, operands)
    nodes = [
        {
            "id": node.name,
            "name": labels[i],
            "label": node.label if node.label != labels[i] else None,
            "op": node.op,
            "own": i in program.unknown,
            "kind": node.kind,
            "operands": operands[i],
            "uses": uses[i],
            "free": not node.operands and i not in fixed,
        }
        for i, node in enumerate(drawn.nodes)
    ]
    # The first name of a Value counts; what the user's own names add is who owns which parameter.
    called = dict(zip(labels, program.order, strict=True))
    shown = {name: thing for name, thing in (names or {}).items() if not name.startswith("_")}
    owners = {f"names[{name!r}]": thing for name, thing in shown.items()}
    dot = draw_dot(loss, names=called | owners)
    # The page computes all gradients, also those of a graph that has none yet.
    caption = dot.graph_attr["label"].replace("no gradients yet: call backward()", "")
    dot.graph_attr["label"] = caption.removeprefix("\\n")
    # Numbers change while the page is read: room for the widest.
    dot.body = [line.replace(f'WIDTH="{NUMBER}"', f'WIDTH="{WIDEST}"') for line in dot.body]
    picture = dot.pipe(encoding="utf-8")
    title = str(title or "Backpropagation, step by step")
    told = loss.item() if math.isfinite(loss.item()) else None
    page = _filled(
        resources.files("micrograd").joinpath("steps.html").read_text(encoding="utf-8"),
        title=html.escape(title),
        svg=picture[picture.index("<svg") :],
        data=json.dumps({"title": title, "nodes": nodes, "result": told}).replace("<", r"\u003c"),
        program=program.javascript(),
    )
    results = sum(bool(node.operands) for node in drawn.nodes)
    return Explanation(page, len(nodes), 2 + 2 * results)


def _filled(template: str, **contents: str) -> str:
    # All in one go, so that a title like {{svg}} stays a title.
    return re.sub(r"\{\{(\w+)\}\}", lambda gap: contents[gap[1]], template)


def _behind(places: tuple[int, ...], operands: list[list[int]]) -> set[int]:
    # The nodes from which one of these is reached.
    found = set(places)
    for i in reversed(range(len(operands))):
        if i in found:
            found.update(operands[i])
    return found
