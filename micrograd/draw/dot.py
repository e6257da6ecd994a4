"""Pictures of graphs.

`draw_dot(loss)` draws the graph that leads to `loss`: a card for each Value with its name, data and
gradient, and an arrow from each operand. Shape and colour show what kind of Value it is:

    input       round corners, blue
    parameter   square corners, orange
    constant    just the number, on grey: constants are never adjusted
    operation   a strip with the sign; the operands' arrows enter it in the order of the formula,
                so that a - b and b - a look different
    result      a bold frame, green
    a name      in italics, without a card: replaces an arrow that would come from far away

A network can be drawn at a higher level: `level='neuron'` has one card per neuron, `level='layer'`
one card per layer. Colours show the signs of weights and outputs. The width of a line and the depth
of a shade show their sizes, relative to the largest one in the picture.

    >>> from micrograd.engine import Value
    >>> a, b = Value(2.0), Value(0.5)
    >>> dot = draw_dot(a - b, names=locals())
    >>> [line.strip() for line in dot.source.splitlines() if "->" in line]
    ['v0 -> v2:p0:w', 'v1 -> v2:p1:w']
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from micrograd.derivatives import jvp, local_derivatives
from micrograd.draw.cards import beside_arrow, card, layer_card, name_alone
from micrograd.draw.graph import graph
from micrograd.draw.layout import far_arrows
from micrograd.draw.levels import LEVELS
from micrograd.draw.records import Graph, LayerBox, NeuronBox, Node
from micrograd.draw.render import Digraph
from micrograd.draw.style import (
    EDGE,
    FONT,
    LEGEND,
    TIMES,
    largest,
    line,
    noise_floor,
    number,
    shade,
)
from micrograd.engine import Value, topological_order

LARGEST = 2000  # nodes: about 3 MB of SVG, and a layout that takes seconds

SIDES = {  # where arrows enter and leave a card
    "LR": ("w", "e"),
    "RL": ("e", "w"),
    "TB": ("n", "s"),
    "BT": ("s", "n"),
}


def draw_dot(
    root: Any,
    format: str = "svg",
    rankdir: str = "LR",
    names: Mapping[str, Any] | None = None,
    edges: str = "plain",
    level: str = "op",
    tangents: Mapping[Value, Any] | None = None,
) -> Digraph:
    """The picture of the graph that leads to `root`, as a `graphviz.Digraph`.

    A notebook displays the picture. `.save("o.svg")` writes it; `.render("gout")` writes two files,
    the DOT text gout and the picture gout.svg; `.pipe()` is the picture as bytes, `.source` the DOT
    text. The same program always gives the same DOT text.

    Args:
        root: a Value or a list of Values; or a compiled function, whose groups of instructions are
            drawn; in that case, only format and rankdir may be passed as well.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        rankdir: the direction of the arrows: 'LR' (to the right), 'RL', 'TB' (downwards) or 'BT'.
        names: a dict of variables, usually `locals()`; see `micrograd.draw.graph.graph`.
        edges: 'plain', or 'derivatives' for the chain rule on each arrow: local derivative times
            upstream gradient = contribution. The upstream gradient is the gradient of the node at
            the end of the arrow; the contributions on all arrows that leave a node add up to its
            gradient. Before a backward pass, arrows show only local derivatives. The local
            derivative of a neuron is d output / d input. An arrow into a layer stands for many
            numbers and shows none.
        level: 'op'; 'neuron' for one card per call of a neuron of `micrograd.nn`, shaded by its
            output, with lines for its weights; or 'layer' for one card per layer. A graph of more
            than 2000 cards or 4000 arrows is drawn at the next level, and the caption says so.
        tangents: the tangents of some leaves, as in `jvp`, for a picture of forward mode. The cards
            show tangents instead of gradients, and the chain rule on an arrow is local derivative
            times tangent of the operand = contribution; the contributions on all arrows that enter
            a node add up to its tangent.

    Raises:
        TypeError: the root is not a Value, or tangents is not a mapping.
        ValueError: the format, direction, kind of edges or level is unknown; or the graph is too
            large at every level: its layout would take minutes and be unreadable.

    >>> x = Value(3.0)
    >>> draw_dot(x * x, names={"x": x}).pipe(encoding="utf-8").count('class="edge"')
    2
    """
    if hasattr(root, "picture") and rankdir in SIDES:  # a compiled function
        if (names, edges, level, tangents) != (None, "plain", "op", None):
            raise ValueError(
                "names, edges, level and tangents are for the graph of a Value, got a compiled "
                "function: pass only format and rankdir"
            )
        picture: Digraph = root.picture(format, rankdir)
        return picture
    roots = roots_of(root, rankdir)
    if edges not in ("plain", "derivatives"):
        raise ValueError(f"edges {edges!r} is not one of plain, derivatives")
    drawn, captions = _within_limits(roots, names, level)
    values, forward = topological_order(*roots), tangents is not None
    if forward:
        drawn = _with_tangents(drawn, values, tangents)
    elif not drawn.has_gradients and not all(isinstance(n, LayerBox) for n in drawn.nodes):
        captions.insert(0, "no gradients yet: call backward()")
    far, quick = far_arrows({node.name: node.operands for node in drawn.nodes})
    if far:
        captions.append("a name alone stands for an arrow from far away")
    neurons = [node for node in drawn.nodes if isinstance(node, NeuronBox)]
    if neurons:
        captions.append(f"lines are weights, shades are outputs: {LEGEND}")
    chain_rules, fan = {}, 0  # fan: how many lines meet at a card; labels already make room
    if edges == "derivatives":
        chain_rules = _chain_rules(drawn, values, forward)
    else:
        fan = max((len(neuron.weights) for neuron in neurons), default=0)
    dot = _empty_drawing(format, rankdir, captions, fan, quick)
    named = {operand for _, _, operand in far}
    label_of = {node.name: node.label or node.name * (node.name in named) for node in drawn.nodes}
    side, _ = SIDES[rankdir]
    _add_cards(dot, drawn, label_of, side, "tangent" if forward else "grad")
    _add_arrows(dot, drawn, label_of, side, far, chain_rules)
    return dot


def roots_of(root: Any, rankdir: str) -> Any:
    """The results to draw, as a list; an unknown direction is an error."""
    if rankdir not in SIDES:
        raise ValueError(f"rankdir {rankdir!r} is not one of {', '.join(SIDES)}")
    return root if isinstance(root, (list, tuple)) and root else [root]


def _within_limits(
    roots: Iterable[Value], names: Mapping[str, Any] | None, wanted: str
) -> tuple[Graph, list[str]]:
    # The graph at the wanted level, or at the first higher level where it is small enough, and
    # captions that say so.
    for level in LEVELS[LEVELS.index(wanted) :] if wanted in LEVELS else [wanted]:
        drawn = graph(*roots, names=names, level=level)
        nodes, arrows = len(drawn.nodes), sum(len(node.operands) for node in drawn.nodes)
        grouped = any(not isinstance(node, Node) for node in drawn.nodes)
        if nodes <= LARGEST and arrows <= 2 * LARGEST:
            if level != wanted:
                return drawn, [f"too large for level '{wanted}': drawn at level '{level}'"]
            if level != "op" and not grouped:
                return drawn, ["no neurons of micrograd.nn in this graph"]
            return drawn, []
        if level != "op" and not grouped:  # the next level would not be smaller
            break
    even = " even at level 'layer'" if grouped else ""
    limit, found = f"{LARGEST} nodes", nodes
    if nodes <= LARGEST:
        limit, found = f"{2 * LARGEST} arrows", arrows
    raise ValueError(
        f"a drawing has at most {limit}, the graph has {found}{even}: draw a part of it, such as "
        "the loss of a single example, or a smaller network"
    )


def _empty_drawing(
    format: str, rankdir: str, captions: Iterable[str], fan: int, quick: Mapping[str, str]
) -> Digraph:
    # `fan` is the largest number of lines that meet at one card.
    _, leave = SIDES[rankdir]
    return Digraph(
        format=format,
        graph_attr={
            "rankdir": rankdir,
            "bgcolor": "transparent",
            "nodesep": "0.2",
            "ranksep": f"{0.5 + 0.07 * min(20, fan):g}",
            **({"splines": "polyline"} if fan else {}),
            **quick,
            "label": "\\n".join(captions),
            "fontcolor": EDGE,
            **FONT,
        },
        node_attr={"shape": "plain", **FONT},
        edge_attr={
            "color": EDGE,
            "arrowsize": "0.6",
            "tailport": leave,
            **FONT,
            "fontsize": "9",
            "fontcolor": EDGE,
        },
    )


def _add_cards(
    dot: Digraph, drawn: Graph, label_of: Mapping[str, str], side: str, rate: str
) -> None:
    strongest = largest(node.data for node in drawn.nodes if isinstance(node, NeuronBox))
    for node, data, grad in number_texts(drawn):
        look, ground = {}, ""
        if isinstance(node, NeuronBox):
            look["ordering"] = "in"  # keeps neurons in the order of their layer
            ground = shade(node.data, strongest)
        texts = {"data": data, rate: grad}
        dot.node(node.name, f"<{card(node, label_of[node.name], texts, side, ground)}>", **look)
    for node in drawn.nodes:
        if isinstance(node, LayerBox):
            dot.node(node.name, f"<{layer_card(node, label_of[node.name])}>")


def _add_arrows(
    dot: Digraph,
    drawn: Graph,
    label_of: Mapping[str, str],
    side: str,
    far: Collection[tuple[str, int, str]],
    chain_rules: Mapping[tuple[str, int], str],
) -> None:
    neurons = [node for node in drawn.nodes if isinstance(node, NeuronBox)]
    heaviest = largest(w for neuron in neurons for w in neuron.weights)
    for node in drawn.nodes:
        for i, operand in enumerate(node.operands):
            start = operand
            if (node.name, i, operand) in far:
                start = f"{node.name}_{i}"
                dot.node(start, f"<{name_alone(label_of[operand])}>", fontcolor=EDGE)
            look = {}
            if (node.name, i) in chain_rules:
                look["label"] = f"<{beside_arrow(chain_rules[node.name, i], side)}>"
            port = f"p{i}:"
            if isinstance(node, NeuronBox):
                port = "p0:"
                if node.weights[i] is not None:
                    look |= {"arrowhead": "none", **line(node.weights[i], heaviest)}
            elif isinstance(node, LayerBox):
                port = ""
            dot.edge(start, f"{node.name}:{port}{side}", **look)


def number_texts(drawn: Graph) -> Iterator[tuple[Any, str, str]]:
    """Each node or neuron with its data and its gradient as text.

    >>> [(node.name, *texts) for node, *texts in number_texts(graph(Value(2.0) * 0.25))]
    [('v0', '2', '0'), ('v1', '0.25', '0'), ('v2', '0.5', '0')]
    """
    nodes = [node for node in drawn.nodes if not isinstance(node, LayerBox)]
    data_floor = noise_floor(node.data for node in nodes)
    grad_floor = noise_floor(node.grad for node in nodes)
    for node in nodes:
        floor = data_floor if node.operands else 0.0  # what the user typed is never noise
        yield node, number(node.data, floor), number(node.grad, grad_floor)


def _with_tangents(drawn: Graph, values: Sequence[Value], tangents: Any) -> Graph:
    # The same graph with tangents instead of gradients.
    if not isinstance(tangents, Mapping) or not all(isinstance(v, Value) for v in tangents):
        raise TypeError(
            f"tangents expects a dict that maps leaves (Values) to numbers, got "
            f"{type(tangents).__name__} {tangents!r:.40}: use tangents={{x: 1.0}}"
        )
    speed = dict(zip(values, jvp(values, tangents), strict=True))
    value_of = _values_of(drawn, values)
    return replace(
        drawn,
        nodes=tuple(
            replace(node, grad=speed[value_of[node.name]]) if node.name in value_of else node
            for node in drawn.nodes
        ),
    )


def _chain_rules(
    drawn: Graph, values: Sequence[Value], forward: bool
) -> dict[tuple[str, int], str]:
    # Maps (node, index of the operand) to the text: local derivative x rate = contribution. The
    # rate is the gradient of the node (upstream); in forward mode, the tangent of the operand.
    value_of = _values_of(drawn, values)
    rate = {node.name: node.grad for node in drawn.nodes if node.name in value_of}
    floor = noise_floor(rate.values())
    rates_known = forward or drawn.has_gradients
    constants = {node.name for node in drawn.nodes if node.kind == "constant"}
    rules = {}
    for node in drawn.nodes:
        local: Sequence[Any]
        if isinstance(node, Node):
            local = local_derivatives(value_of[node.name])
        elif isinstance(node, NeuronBox):
            local = _through_neuron(node, value_of, values)
        else:  # an arrow into a layer stands for many numbers
            continue
        for i, (d, operand) in enumerate(zip(local, node.operands, strict=True)):
            along = operand if forward else node.name
            if d is not None and operand not in constants and along in rate:
                text = number(d)
                if rates_known:
                    share = number(d * rate[along], floor)
                    text += f" {TIMES} {number(rate[along], floor)} = {share}"
                rules[node.name, i] = text
    return rules


def _through_neuron(
    neuron: NeuronBox, value_of: Mapping[str, Value], values: Sequence[Value]
) -> list[Any]:
    # d output / d operand for each operand, by reverse mode; None where an operand is repeated.
    inside = [values[int(name[1:])] for name in neuron.nodes]
    adjoint: dict[Value, Any] = {inside[-1]: 1}
    for value in reversed(inside):
        for d, operand in zip(local_derivatives(value), value._prev, strict=True):
            adjoint[operand] = adjoint.get(operand, 0) + d * adjoint[value]
    return [adjoint.pop(value_of[operand], None) for operand in neuron.operands]


def _values_of(drawn: Graph, values: Sequence[Value]) -> dict[str, Value]:
    # The Value of each node and neuron; 'v7' is the one at index 7 of the topological order.
    names = {n.name: n.nodes[-1] if isinstance(n, NeuronBox) else n.name for n in drawn.nodes}
    return {name: values[int(v[1:])] for name, v in names.items() if v.startswith("v")}
