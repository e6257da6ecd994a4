"""The level at which a graph is drawn: as detailed as a reader can still follow.

By default, a graph of up to 100 nodes is drawn operation by operation, and a larger one neuron by
neuron, layer by layer or array by array: the first of these that is small enough. If the caller
chooses a level, it is used unless the graph is too large to lay out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.draw.after_layers import with_rest
from micrograd.draw.graph import graph
from micrograd.draw.levels import LEVELS
from micrograd.draw.records import Graph, Node

READABLE = 100  # nodes: a larger drawing is a hairball
LARGEST = 2000  # nodes: about 3 MB of SVG, and a layout that takes seconds
NAMES = {"op": "operation by operation", "neuron": "neuron by neuron"}
NAMES |= {"layer": "layer by layer", "array": "array by array"}


def chosen(
    results: Sequence[Any], names: Mapping[str, Any] | None, wanted: str | None, parameters: Any
) -> tuple[Graph, list[str]]:
    """The graph at the wanted level, or at the first higher level where it is small enough.

    Args:
        results: Values, or arrays of Values.
        names: as in `graph`.
        wanted: a level, or None for the most detailed one that a reader can still follow.
        parameters: as in `graph`.

    Returns:
        The graph, and captions that say what was chosen.

    Raises:
        ValueError: the level is unknown, or the graph is too large at every level.

    >>> from micrograd.nn import MLP
    >>> drawn, captions = chosen([MLP(2, [16, 1])([1.0, 2.0])], None, None, ())
    >>> drawn.level, captions
    ('neuron', ["179 nodes, drawn neuron by neuron: level='op' draws each operation"])
    """

    def at(level: str) -> Graph:
        return graph(*results, names=names, level=level, parameters=parameters)

    if wanted is None:
        return _readable(at("op"), at)
    drawn = at(wanted)
    if wanted != "op" and not _grouped(drawn):
        what = "arrays of Values" if wanted == "array" else "neurons of micrograd.nn"
        return _within_limits(drawn, [f"no {what} in this graph"])
    if _fits(drawn):
        return drawn, []
    for higher in _higher_than(wanted, at):
        if _fits(higher):
            return higher, [f"too large for level '{wanted}': drawn at level '{higher.level}'"]
        drawn = higher
    return _within_limits(drawn, [])


def _readable(deepest: Graph, at: Any) -> tuple[Graph, list[str]]:
    size = len(deepest.nodes)
    if size <= READABLE:
        return deepest, []
    best = deepest
    for higher in _higher_than("op", at):
        if len(higher.nodes) < len(best.nodes):
            best = higher
        if len(best.nodes) <= READABLE:
            break
    if best is deepest:
        return _within_limits(deepest, [])
    caption = f"{size:,} nodes, drawn {NAMES[best.level]}"
    if _fits(deepest):
        caption += ": level='op' draws each operation"
    return _within_limits(best, [caption])


def _higher_than(level: str, at: Any) -> Any:
    # The graph at each higher level at which it has boxes; finally, with one box for all operations
    # after the last layer.
    for higher in LEVELS[LEVELS.index(level) + 1 :]:
        drawn = at(higher)
        if _grouped(drawn):
            yield drawn
            if higher == "layer":
                yield with_rest(drawn)


def _grouped(drawn: Graph) -> bool:
    return any(not isinstance(node, Node) for node in drawn.nodes)


def _sizes(drawn: Graph) -> tuple[int, int]:
    return len(drawn.nodes), sum(len(node.operands) for node in drawn.nodes)


def _fits(drawn: Graph) -> bool:
    nodes, arrows = _sizes(drawn)
    return nodes <= LARGEST and arrows <= 2 * LARGEST


def _within_limits(drawn: Graph, captions: list[str]) -> tuple[Graph, list[str]]:
    if _fits(drawn):
        return drawn, captions
    nodes, arrows = _sizes(drawn)
    limit, found = f"{LARGEST} nodes", nodes
    if nodes <= LARGEST:
        limit, found = f"{2 * LARGEST} arrows", arrows
    even = f" even at level '{drawn.level}'" if _grouped(drawn) else ""
    raise ValueError(
        f"a drawing has at most {limit}, but the graph has {found}{even}: draw a part of it, such "
        "as the loss of a single example, or a smaller network"
    )
