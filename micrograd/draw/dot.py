"""Pictures of graphs.

`draw_dot(loss)` draws the graph that leads to `loss`: a card for each Value with its name, data and
gradient, and an arrow from each operand. The shape shows what kind of Value it is:

    input       round corners
    parameter   square corners
    constant    just the number, on grey: constants are never adjusted
    operation   a strip with the sign; the operands' arrows enter it in the order of the formula,
                so that a - b and b - a look different
    result      a bold frame

Colours show what a number is: data in ink, gradients in magenta, local derivatives in teal. Orange
and blue only show signs: of weights, which are lines, and of outputs, which are shades. A larger
number has a wider line or a deeper shade, relative to the largest number in the picture. Yellow
means: look here.

    >>> from micrograd.engine import Value
    >>> a, b = Value(2.0), Value(0.5)
    >>> dot = draw_dot(a - b, names=locals())
    >>> [line.strip() for line in dot.source.splitlines() if "->" in line]
    ['v0 -> v2:p0:w', 'v1 -> v2:p1:w']
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from micrograd.draw.cards import Cards, caption
from micrograd.draw.chain_rule import (
    EQUALS,
    SPACED_DOT,
    SPACED_TIMES,
    Piece,
    Rules,
    is_stale,
    misfits,
    rules_with_numbers,
    rules_with_symbols,
)
from micrograd.draw.foreign import as_ours
from micrograd.draw.graph import readable, roots_of
from micrograd.draw.records import Graph
from micrograd.draw.render import Digraph
from micrograd.draw.tokens import EDGE, FONT, GRAPH, LEGEND, LIGHT, largest, line
from micrograd.engine import Value

EDGES = ("plain", "derivatives", "symbols")
SIDES = {"LR": ("w", "e"), "TB": ("n", "s")}  # where arrows enter and leave a card
MISFIT = (
    "gradients and data do not fit: data changed after backward(), or a larger graph was used: "
    "call zero_grad(), then backward()"
)
DOTS = (
    "dots: contributions that do not add up to the gradient, because data changed after "
    "backward(), a backward pass is not finished, or other gradients were added: call "
    "zero_grad(), or set the grad of leaves to 0, then call backward()"
)
MANY = 100  # cards
# Fewer attempts to improve the order within columns; a small graph would be less symmetric.
QUICK = {"nslimit": "0.2", "mclimit": "0.05"}
LEGENDS: dict[str, list[Piece]] = {
    "reverse": [
        *(("local derivative", "local"), SPACED_TIMES, ("upstream gradient", "gradient")),
        *(EQUALS, ("contribution", "share"), ("\xa0to the gradient of the operand", "faint")),
    ],
    "forward": [
        *(("local derivative", "local"), SPACED_TIMES, ("tangent of the operand", "ink")),
        *(EQUALS, ("contribution", "rate"), ("\xa0to the tangent", "faint")),
    ],
    "local": [("local derivatives", "local"), (", beside the arrow of the operand", "faint")],
    "symbols": [
        *(("upstream gradient", "gradient"), SPACED_DOT, ("local derivative", "local")),
        (", from the result back to the operands", "faint"),
    ],
}

ENTRYWISE: Piece = (
    "; \N{CIRCLED DOT OPERATOR} entry by entry, \N{N-ARY SUMMATION} of what was broadcast, "
    "ᵀ transposed",
    "faint",
)


def draw_dot(
    root: Any,
    format: str = "svg",
    rankdir: str = "LR",
    names: Mapping[str, Any] | None = None,
    edges: str = "plain",
    level: str | int | None = None,
    tangents: Mapping[Value, Any] | None = None,
    *,
    parameters: Any = (),
    highlight: Any = (),
    done: Any = (),
    found: Mapping[Value, Mapping[str, Any]] | None = None,
    formulas: bool = False,
    numbers: bool = True,
    frame: Digraph | None = None,
) -> Digraph:
    """The picture of the graph that leads to `root`, as a `graphviz.Digraph`.

    A notebook displays the picture. `.save("o.svg")` writes it; `.render("gout")` writes two files,
    the DOT text gout and the picture gout.svg; `.pipe()` returns the picture as bytes; `.source` is
    the DOT text. The same program always gives the same DOT text. An SVG is light or dark, like the
    reader's system, and sharp at any size. For a PNG that is 1920 pixels wide or high, call
    `picture.attr(size="20,20!", dpi="96")`, 20 inches of 96 pixels, before `.save("o.png")`.

    Args:
        root: a Value, a list or an array of Values; Values of another engine, if they have `data`,
            `grad` and operands in attributes that `foreign.py` lists; or a compiled function, whose
            groups of instructions are drawn: then all arguments but format and rankdir are ignored.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        rankdir: the direction of the arrows: 'LR' (to the right) or 'TB' (downwards).
        names: a dict of variables, usually `locals()`; see `micrograd.draw.graph.graph`.
        edges: 'plain'; 'derivatives' for the chain rule of each operand, beside the place where its
            arrow enters: local derivative times upstream gradient = contribution; or 'symbols' for
            the same in letters, with arrows that point backward. The contributions of all arrows
            that leave a node add up to its gradient; where they do not, there are dots instead, and
            the caption says why and what to call. Before a backward pass, there are only local
            derivatives. An arrow into a layer or an array stands for many numbers and shows none,
            but into a product of matrices of up to 3 rows and columns.
        level: 'op' for one card per Value; 'neuron' for one per call of a neuron, shaded by its
            output, with lines for its weights; 'layer' for one per layer; 'array' for one per array
            of Values; a number for the depth down to which boxes are open; or the name of a
            function or part to open. By default, the first of these that can be read: a graph of
            more than 40 cards, or run by `micrograd.calls`, is drawn by its parts or functions.
            What is too large to lay out is drawn by its parts, too. The caption says so.
        tangents: the tangents of some leaves, as in `jvp`, for a picture of forward mode. The cards
            show tangents instead of gradients, and the chain rule of an operand is local derivative
            times tangent of the operand = contribution; the contributions of all arrows that enter
            a node add up to its tangent.
        parameters: Values that are parameters although no model owns them.
        highlight: Values whose cards get a yellow frame, for example those that changed.
        done: Values that have passed on their gradient to their operands, as in the middle of a
            backward pass. Their cards are solid: light text on a dark background. A card that has
            not received a gradient yet shows a dot instead.
        found: what another engine computes, in red below our numbers, as {x: {"grad": 1.0}}.
        formulas: whether cards show what was computed, as in c = a + b = 5.
        numbers: whether cards show data and gradients.
        frame: a drawing of the same graph at another time, usually the final one: each card gets
            its size and place there, and its caption stays, so that slides do not jump.

    Raises:
        TypeError: the root is not a Value, or another argument has the wrong type.
        ValueError: the format, direction, kind of edges or level is unknown; a Value to highlight
            is not in the graph; the frame has other cards; or the graph is too large at every
            level: its layout would take minutes, and the picture would be unreadable.

    >>> x = Value(3.0)
    >>> draw_dot(x * x, names={"x": x}).pipe(encoding="utf-8").count('class="edge"')
    2
    """
    if hasattr(type(root), "picture") and rankdir in SIDES:  # a compiled function
        picture: Digraph = root.picture(format, rankdir)
        return picture
    root, names, tangents, parameters, highlight, done, found = as_ours(
        root, names, tangents, parameters, highlight, done, found
    )
    if edges not in EDGES:
        raise ValueError(f"edges {edges!r} is not one of {', '.join(EDGES)}")
    results = results_of(root, rankdir)
    drawn, captions = readable(results, names, level, parameters, tangents)
    named = {box.name for box in drawn.nodes if formulas or edges == "symbols"}
    cards = Cards(
        drawn,
        named,
        rate="grad" if tangents is None else "tangent",
        numbers=numbers,
        formulas=formulas,
        highlight=highlight,
        done=done,
        found=found,
        sizes=_sizes(frame, drawn) if frame else None,
    )
    # In the middle of a backward pass, no gradient fits yet. In a large graph, only a chain rule
    # needs to know.
    asked = edges == "derivatives" or (drawn.level == "op" and numbers)
    complete = tangents is None and drawn.has_gradients and not cards.done
    dotted = misfits(drawn.values, roots_of(results)) if asked and complete else set()
    rules, legend = _rules(edges, cards, dotted)
    captions = [*_state(cards, edges, dotted), *captions, *_explained(cards, bool(legend))]
    room = _room(drawn, bool(rules) and rankdir == "TB")
    side, leave = SIDES[rankdir]
    text = frame.graph_attr["label"] if frame else caption(captions, legend)
    look = {"rankdir": rankdir, "nodesep": "0.2", "label": text}
    dot = Digraph(
        format=format,
        graph_attr=GRAPH | look | room | (QUICK if len(drawn.nodes) > MANY else {}),
        node_attr={"shape": "plain", **FONT},
        edge_attr={"color": EDGE, "arrowsize": "0.6", "tailport": leave},
    )
    _add_cards(dot, cards, rules, side)
    _add_arrows(dot, cards, rules, side, edges == "symbols")
    return dot


def _sizes(frame: Digraph, drawn: Graph) -> dict[str, tuple[float, float]]:
    # The width and height of each card in the drawing `frame`.
    cards = [each for each in json.loads(frame.pipe("json0"))["objects"] if "width" in each]
    sizes = {
        card["name"]: (72 * float(card["width"]), 72 * float(card["height"])) for card in cards
    }
    missing = [box.name for box in drawn.nodes if box.name not in sizes]
    if missing or len(sizes) > len(drawn.nodes):
        raise ValueError(
            f"frame expects a drawing of the same graph, got one of {len(sizes)} cards for "
            f"{len(drawn.nodes)}: draw the same result, with the same level"
        )
    return sizes


def results_of(root: Any, rankdir: str) -> Any:
    """The results to draw, as a list; an unknown direction is an error."""
    if rankdir not in SIDES:
        raise ValueError(f"rankdir {rankdir!r} is not one of {', '.join(SIDES)}")
    return root if isinstance(root, (list, tuple)) and root else [root]


def _rules(edges: str, cards: Cards, dotted: Collection[Value]) -> tuple[Rules, Sequence[Piece]]:
    # The rows of the chain rule, and their legend.
    forward = cards.rate == "tangent"
    if edges == "symbols":
        with_arrays = any(box.level == "array" for box in cards.drawn.nodes)
        legend = [*LEGENDS[edges], *[ENTRYWISE] * with_arrays]
        return rules_with_symbols(cards.drawn, cards.name_of), legend
    if edges == "plain":
        return {}, ()
    rules = rules_with_numbers(cards.drawn, forward, dotted)
    known = "reverse" if cards.drawn.has_gradients else "local"
    return rules, LEGENDS["forward" if forward else known] if rules else ()


def _state(cards: Cards, edges: str, dotted: Collection[Value]) -> list[str]:
    # What to say if there are no gradients, or if they do not fit; an arrow into a layer stands for
    # many of them.
    drawn = cards.drawn
    if cards.rate == "tangent" or not cards.numbers:
        return []
    if drawn.has_old_gradients:
        return ["only leaves have gradients, left over from before: call backward()"]
    if not drawn.has_gradients:
        return ["no gradients yet: call backward()"]
    if dotted and edges == "derivatives":
        return [DOTS]
    return [MISFIT] if any(map(is_stale, dotted)) else []


def _explained(cards: Cards, ruled: bool) -> list[str]:
    # The captions that explain what is not obvious in the drawing.
    texts = ["solid cards have passed on their gradient"] if cards.done else []
    nodes = {box.name: box for box in cards.drawn.nodes if box.level == "op"}
    operands = [[o for o in box.operands if o in nodes] for box in nodes.values()]
    if not ruled and any(len(set(each)) < len(each) for each in operands):
        texts.append("two arrows between the same cards: the operation uses that number twice")
    if any(box.level == "neuron" for box in cards.drawn.nodes):
        texts.append(f"lines are weights, shades are outputs: {LEGEND}")
    return texts


def _room(drawn: Graph, wide: bool) -> dict[str, str]:
    # Straight lines between neurons, and room for those that meet at a card. Wide cards, with rules
    # beside the ports, need more room.
    fan = max(len(box.weights) for box in drawn.nodes)
    if not fan:
        return {"ranksep": "0.5"}
    return {"ranksep": f"{max(1.0 * wide, 0.5 + 0.07 * min(20, fan)):g}", "splines": "polyline"}


def _add_cards(dot: Digraph, cards: Cards, rules: Rules, side: str, frame: str = "") -> None:
    # The cards in a frame, and the frames in it.
    frames = {box.name for box in cards.drawn.frames}
    nodes = cards.drawn.nodes
    # Graphviz places the members of a frame from below, if arrows go to the right
    for box in reversed(nodes) if frame and side == "w" else nodes:
        if (box.parent if box.parent in frames else "") != frame:
            continue
        # keeps neurons in the order of their layer
        attributes = {"ordering": "in"} if box.level == "neuron" else {}
        if box.name in cards.sizes:  # exactly, while a table has whole points
            width, height = cards.sizes[box.name]
            attributes |= {"width": f"{width / 72:.6g}", "height": f"{height / 72:.6g}"}
        if box.label and box.short != box.label:
            attributes["tooltip"] = box.label
        text = cards.html(box, rules.get(box.name, ()), side)
        dot.node(box.name, f"<{text}>", **attributes)
    for box in cards.drawn.frames:
        if box.parent == frame:
            with dot.subgraph(name=f"cluster_{box.name}") as inner:
                inner.attr(label=caption([box.short]), color=EDGE, style="rounded")
                _add_cards(inner, cards, rules, side, box.name)


def _add_arrows(dot: Digraph, cards: Cards, rules: Rules, side: str, backward: bool) -> None:
    heaviest = largest(w for box in cards.drawn.nodes for w in box.weights)
    for box in cards.drawn.nodes:
        for i, operand in enumerate(box.operands):
            look: dict[str, str] = {}
            port = f"p{i}:" if box.has_ports else ""
            if box.weights:
                port = port if any(rules.get(box.name, ())) else "p0:"
                look = {"arrowhead": "none", **line(box.weights[i], heaviest)}
            if backward:
                look |= {"dir": "back", "color": LIGHT["gradient"]}
            dot.edge(operand, f"{box.name}:{port}{side}", **look)
