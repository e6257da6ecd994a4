"""What the card of each node shows: its title, its numbers, and how far the backward pass has come.

>>> from micrograd.draw.graph import graph
>>> from micrograd.engine import topological_order
>>> x = Value(3.0)
>>> drawn = graph(x * 2.0, names={"x": x})
>>> looks = Looks(drawn, topological_order(x * 2.0))
>>> [looks.title(node) for node in drawn.nodes], looks.numbers(drawn.nodes[0])
(['x', '', ''], [('data', '3', 'ink'), ('grad', '•', 'gradient')])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from micrograd.draw.cards import Face
from micrograd.draw.chain_rule import Rules
from micrograd.draw.formulas import formulas
from micrograd.draw.names import values_in
from micrograd.draw.records import (
    ArrayBox,
    Graph,
    LayerBox,
    NeuronBox,
    Node,
    RestBox,
    has_gradient,
)
from micrograd.draw.style import TIMES, UNKNOWN, largest, noise_floor, number, shade
from micrograd.engine import Value

Triple = tuple[str, str, str]  # a word, a number as text, and the name of a colour


class Looks:
    """The cards of a drawing.

    Attributes:
        name_of: what a node is called on its card and in formulas; '' for no name.
        done: names of the nodes that have passed on their gradient.

    Args:
        drawn: the graph.
        values: its Values in topological order.
        named: nodes that need a name, even if they have no label; they are called v7, for example.
        rate: 'grad', or 'tangent' if the graph has tangents instead of gradients.
        shows_numbers, shows_formulas: as `numbers` and `formulas` of `draw_dot`.
        highlight, done, found: as in `draw_dot`.

    Raises:
        ValueError: a Value of highlight or done is not in the graph.
    """

    def __init__(
        self,
        drawn: Graph,
        values: Sequence[Value],
        named: Collection[str] = (),
        rate: str = "grad",
        *,
        shows_numbers: bool = True,
        shows_formulas: bool = False,
        highlight: Any = (),
        done: Any = (),
        found: Mapping[Value, Mapping[str, Any]] | None = None,
    ) -> None:
        self.drawn, self.rate = drawn, rate
        self.shows_numbers, self.shows_formulas = shows_numbers, shows_formulas
        self.name_of = {
            node.name: _short(node) or node.name * (node.name in named and node.kind != "constant")
            for node in drawn.nodes
        }
        self._node_of = {node.name: node for node in drawn.nodes}
        self._formulas = formulas(drawn, self.name_of) if shows_formulas else {}
        self._marked = _boxes_of(drawn, values, highlight, "highlight")
        self.done = _boxes_of(drawn, values, done, "done")
        self._found = {}
        for value, texts in (found or {}).items():
            [name] = _boxes_of(drawn, values, [value], "found")
            self._found[name] = texts
        self._numbers = [n for n in drawn.nodes if isinstance(n, (Node, NeuronBox))]
        self._data_floor = noise_floor(node.data for node in self._numbers)
        self._rate_floor = noise_floor(node.grad for node in self._numbers)
        self._strongest = largest(n.data for n in drawn.nodes if isinstance(n, NeuronBox))
        self._known = self._with_known_gradient()

    def face(self, node: Any, rules: Rules) -> Face:
        """What the card of a node shows."""
        return Face(
            title=self.title(node),
            numbers=self.numbers(node) if self.shows_numbers or node.kind == "constant" else (),
            rules=rules.get(node.name, ()),
            ground=shade(node.data, self._strongest) if isinstance(node, NeuronBox) else "",
            done=node.name in self.done,
            marked=node.name in self._marked,
        )

    def title(self, node: Any) -> str:
        """Its name, or its formula with the result, as in c = a + b = 5."""
        text = self._formulas.get(node.name)
        if text is None:
            return self.name_of[node.name]
        return f"{text} = {self.data(node)}" if self.shows_numbers and _is_number(node) else text

    def name_alone(self, name: str) -> str:
        """What replaces the arrow from a distant node: its name, or the number of a constant."""
        return self.name_of[name] or self.data(self._node_of[name])

    def numbers(self, node: Any) -> list[Triple]:
        """The rows of a card."""
        if isinstance(node, (LayerBox, RestBox)):
            return []
        colour = "gradient" if self.rate == "grad" else "ink"
        rows = [("data", self.data(node), "ink"), (self.rate, self.gradient(node), colour)]
        rows = rows[1:] if node.name in self._formulas and _is_number(node) else rows
        found = self._found.get(node.name, {})
        with_found = [(row, ("found", number(found.get(row[0])), "wrong")) for row in rows]
        return [each for pair in with_found for each in pair[: 1 + (pair[0][0] in found)]]

    def data(self, node: Any) -> str:
        """The data of a node as text; the shape of an array."""
        if isinstance(node, ArrayBox):
            return shape_text(node.shape)
        return number(node.data, self._data_floor if node.operands else 0.0)

    def gradient(self, node: Any) -> str:
        """The gradient or the tangent of a node as text, or a dot if there is none yet."""
        if self.rate == "grad" and node.name not in self._known:
            return UNKNOWN
        if isinstance(node, ArrayBox):
            return shape_text(node.shape)
        return number(node.grad, self._rate_floor)

    def _with_known_gradient(self) -> set[str]:
        # In the middle of a backward pass, a node has received something only if one of its users
        # has passed on its gradient.
        nodes = [n for n in self.drawn.nodes if not isinstance(n, (LayerBox, RestBox))]
        if self.done:
            reached = {o for n in self.drawn.nodes if n.name in self.done for o in n.operands}
        else:
            reached = {n.name for n in nodes} if self.drawn.has_gradients else set()
        return reached | {node.name for node in nodes if has_gradient(node)}


def shape_text(shape: Sequence[int]) -> str:
    """The shape of an array as text.

    >>> shape_text((64, 2))
    '(64 × 2)'
    """
    return f"({f' {TIMES} '.join(f'{n:,}' for n in shape)})"


def _is_number(node: Any) -> bool:
    return not isinstance(node, ArrayBox)


def _short(node: Any) -> str:
    return "" if isinstance(node, RestBox) else node.short or node.label


def _boxes_of(drawn: Graph, values: Sequence[Value], wanted: Any, argument: str) -> set[str]:
    # The names of the nodes and boxes that stand for these Values.
    box_of = {
        inside: node.name
        for node in drawn.nodes
        for inside in (node.name, *getattr(node, "nodes", ()))
    }
    name_of = {value: f"v{i}" for i, value in enumerate(values)}
    found = values_in(wanted, argument)
    strange = next((value for value in found if value not in name_of), None)
    if strange is not None:
        raise ValueError(
            f"{argument} expects Values of the graph, got {strange!r:.60}, which does not lead to "
            "the result: draw a later result, or leave it out"
        )
    return {box_of[name_of[value]] for value in found if name_of[value] in box_of}
