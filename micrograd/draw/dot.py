"""Pictures of graphs, and Mermaid text.

`draw_dot(loss)` draws the graph that leads to `loss`: a card for each Value with its name, data and
gradient, and an arrow from each operand. The shape shows what kind of Value it is:

    input       round corners
    parameter   square corners
    constant    just the number, on grey: constants are never adjusted
    operation   a strip with the sign; the operands' arrows enter it in the order of the formula,
                so that a - b and b - a look different
    result      a bold frame

Orange and blue are signs: of weights, which are lines, and of outputs, which are shades; a larger
number has a wider line or a deeper shade. Yellow means: look here.

    >>> from micrograd.engine import Value
    >>> a, b = Value(2.0), Value(0.5)
    >>> dot = draw_dot(a - b)
    >>> [line.strip() for line in dot.source.splitlines() if "->" in line]
    ['v0 -> v2:p0:w', 'v1 -> v2:p1:w']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from micrograd.core.arithmetic import Number
from micrograd.draw.cards import Cards, caption, drawable
from micrograd.draw.chain_rule import Rules, rules_of
from micrograd.draw.formulas import sign
from micrograd.draw.graph import readable
from micrograd.draw.network import draw_network
from micrograd.draw.records import Box, columns
from micrograd.draw.render import Digraph
from micrograd.draw.stale import now_of, times_added
from micrograd.draw.tokens import EDGE, FONT, GRAPH, LIGHT, largest, line
from micrograd.engine import Value
from micrograd.program.calls import computed
from micrograd.program.foreign import as_ours
from micrograd.program.objects import is_model, values_in
from micrograd.program.variables import variables
from micrograd.texts import said, spoken

SIDES = {"LR": ("w", "e"), "TB": ("n", "s")}  # where arrows enter and leave a card
MANY = 100  # cards
# Fewer attempts to improve the order within columns; a small graph would be less symmetric.
QUICK = {"nslimit": "0.2", "mclimit": "0.05"}


@spoken
def draw_dot(
    root: object,
    format: str = "svg",
    rankdir: str = "LR",
    names: Mapping[str, object] | None = None,
    edges: str = "plain",
    level: str | int | None = None,
    tangents: Mapping[Value, Number] | None = None,
    *,
    parameters: object = (),
    highlight: object = (),
    done: object = (),
    numbers: bool = True,
    blanks: bool = False,
    frame: Digraph | None = None,
    language: str | None = None,
) -> Digraph:
    """The picture of the graph that leads to `root`, as a `graphviz.Digraph`.

    Cards show the data and gradients that the Values have now. Up to 2,000 Values, the caption says
    if data changed since the forward pass, or if gradients were added by a second backward pass.

    A notebook displays it; `.save("o.svg")` writes it, `.pipe()` returns it as bytes, and `.source`
    is the DOT text. An SVG is light or dark, like the reader's system. For a PNG of 1920 pixels
    along its longer side, call `picture.attr(size="20,20!", dpi="96")` before `.save("o.png")`.

    Args:
        root: a Value, a list or an array of Values; Values of another engine, see `foreign.py`; a
            function without arguments, such as `lambda: loss(X, y)`, which is run and drawn by the
            functions that it calls; a model, drawn by `draw_network`; or a compiled function, drawn
            by its groups. For the last two, only format and rankdir are used.
        format: the format for `render` and `pipe`: 'svg', 'png', 'pdf' and more.
        rankdir: the direction of the arrows: 'LR' (to the right) or 'TB' (downwards).
        names: a dict of variables, {} for none; by default those of the caller, see `variables.py`.
        edges: 'plain'; 'derivatives' for the chain rule of each operand, beside the place where its
            arrow enters: local derivative × upstream gradient = contribution; or 'symbols' for the
            same in letters, with arrows that point backward. The contributions of all arrows that
            leave a node add up to its gradient; where they do not, there are dots instead. An arrow
            into a neuron, a layer or an array stands for many numbers and shows none.
        level: 'op' for one card per Value; 'neuron' for one per call of a neuron; 'layer'; 'array'
            for one per array of Values; a number for the depth down to which boxes are open; or the
            name of a function or part to open. By default, the first of these that can be read.
        tangents: the tangents of some leaves, as in `jvp`, for a picture of forward mode: tangents
            instead of gradients, and local derivative × tangent of the operand = contribution.
        parameters: Values that are parameters although no model owns them. If there are none, the
            leaves that several examples use are.
        highlight: Values whose cards get a yellow frame, for example those that changed; a mapping
            such as {x: {"grad": 1.0}} also tells, in red, what another engine computes.
        done: Values that have passed on their gradient, as in the middle of a backward pass: their
            cards are solid. A gradient that has not been received yet is a dot.
        numbers: whether cards show data and gradients.
        blanks: whether to leave empty what can be worked out by hand: the data of results, and all
            gradients. The same call without it draws the solution; `worksheet` prints both.
        frame: a drawing of the same graph at another time, usually the final one: each card gets
            its size and place there, and its caption stays, so that slides do not jump.

    Raises:
        TypeError: the root is not a Value, or another argument has the wrong type.
        ValueError: an option is unknown, or a Value to highlight is not in the graph.

    >>> x = Value(3.0)
    >>> draw_dot(x * x, names={"x": x}).pipe(encoding="utf-8").count('class="edge"')
    2
    """
    _check("rankdir", rankdir, SIDES)
    _check("edges", edges, ("plain", "derivatives", "symbols"))
    if draw := getattr(type(root), "picture", None):  # a compiled function
        return draw(root, format, rankdir)  # type: ignore[no-any-return]
    if is_model(root):
        return draw_network(root, format=format)
    root, names, tangents, parameters, highlight, done = as_ours(
        computed(root), variables(names), tangents, parameters, highlight, done
    )
    drawn, captions = readable(root, names, level, parameters, tangents)
    rate, named = "grad" if tangents is None else "tangent", edges == "symbols"
    if blanks and edges == "derivatives":
        raise ValueError("edges='derivatives' would show what blanks=True hides: use 'symbols'")
    rows = frame.pipe("plain", encoding="utf-8").splitlines() if frame else []
    # The width and height of each card in the other drawing, in inches.
    sizes = {int(row.split()[1][1:]): row.split()[4:6] for row in rows if row.startswith("node v")}
    is_plain = numbers and tangents is None and not done and not frame and not blanks
    now = now_of(drawn.values) if is_plain else {}
    cards = Cards(drawn, rate, named, numbers, highlight, done, now, sizes, blanks)
    complete = drawn.has_gradients and tangents is None and not cards.done
    rules, legend, has_dots = rules_of(drawn, edges, cards.name_of, tangents is not None, complete)
    captions = [*_state(cards, complete), *[said("draw", "dot.dots")] * has_dots, *captions]
    captions += [said("draw", "dot.done")] * bool(cards.done)
    if any(box.level == "neuron" for box in drawn.nodes):
        captions += [said("draw", "dot.lines"), said("draw", "legend.signs")]
    side, leave = SIDES[rankdir]
    text = frame.graph_attr["label"] if frame else caption(captions, legend)
    # Straight lines between neurons, and room for those that meet at a card.
    room = 0.5 + 0.07 * min(20, max(len(box.weights) for box in drawn.nodes))
    look = {"rankdir": rankdir, "nodesep": "0.2", "ranksep": f"{room:g}", "label": text}
    look |= {"splines": "polyline"} if room > 0.5 else {}
    dot = Digraph(
        format=format,
        graph_attr=GRAPH | look | (QUICK if len(drawn.nodes) > MANY else {}),
        node_attr={"shape": "plain", **FONT},
        edge_attr={"color": EDGE, "arrowsize": "0.6", "tailport": leave},
    )
    _add_cards(dot, cards, rules, side)
    heaviest = largest(w for box in drawn.nodes for w in box.weights)
    backward = {"dir": "back", "color": LIGHT["gradient"]} if edges == "symbols" else {}
    for box in drawn.nodes:
        for i, operand in enumerate(box.operands):
            port = f"p{i}:" if box.has_ports else ""
            ways = {} if drawn.box_of[operand].kind == "constant" else backward  # receives nothing
            if box.weights:
                port, ways = "p0:", {"arrowhead": "none"} | line(box.weights[i], heaviest) | ways
            dot.edge(f"v{operand}", f"v{box.number}:{port}{side}", **ways)
    return dot


def _check(name: str, choice: str, known: Iterable[str]) -> None:
    if choice not in known:
        raise ValueError(f"{name} {choice!r} is not one of {', '.join(known)}")


def _state(cards: Cards, complete: bool) -> Iterator[str]:
    # What to say about the data and the gradients.
    drawn = cards.drawn
    is_told = cards.numbers and cards.rate == "grad" and not cards.blanks
    if is_told and not drawn.has_gradients:  # leaves may have those of another graph
        is_old = any(box.has_gradient for box in drawn.nodes)
        yield said("draw", "dot.old" if is_old else "dot.none")
    if cards.now:
        yield said("draw", "dot.changed.red" if drawn.level == "op" else "dot.changed")
    elif is_told and complete and (times := times_added(drawn.values)) > 1:
        yield said("draw", "dot.added", n=times)


def _add_cards(dot: Digraph, cards: Cards, rules: Rules, side: str, frame: int = -1) -> None:
    # The cards in a frame, and the frames in it.
    nodes, columns_of = cards.drawn.nodes, columns(cards.drawn)
    # Graphviz places the members of a frame from below, if arrows go to the right
    for box in reversed(nodes) if frame >= 0 and side == "w" else nodes:
        if box.parent != frame:
            continue
        # Operands in one column stand in their order, so that no arrows cross before their ports.
        is_ordered = box.has_ports and len({columns_of[operand] for operand in box.operands}) == 1
        attributes = {"ordering": "in"} if is_ordered and len(box.operands) > 1 else {}
        if box.number in cards.sizes:  # exactly, while a table has whole points
            attributes |= zip(("width", "height"), cards.sizes[box.number], strict=True)
        if box.label and box.short != box.label:
            attributes["tooltip"] = drawable(box.label)
        text = cards.html(box, rules.get(box.number, ()), side)
        dot.node(f"v{box.number}", f"<{text}>", **attributes)
    for box in cards.drawn.frames:
        if box.parent == frame:
            with dot.subgraph(name=f"cluster_{box.number}") as inner:
                inner.attr(label=caption([box.short]), color=EDGE, style="rounded")
                _add_cards(inner, cards, rules, side, box.number)


# ---- the same as Mermaid text

ORDER = ("", "\N{CIRCLED DIGIT ONE}", "\N{CIRCLED DIGIT TWO}")  # unlike 1 and 2, no values
SHAPES = {"input": "([{}])", "constant": "({})", "result": "[[{}]]"}  # others are boxes


@spoken
def mermaid(
    root: Value | Sequence[Value],
    rankdir: str = "LR",
    names: Mapping[str, object] | None = None,
    level: str | int | None = None,
    *,
    parameters: object = (),
    groups: Mapping[str, object] | None = None,
    language: str | None = None,
) -> str:
    """The graph that leads to `root` as Mermaid text, which GitHub and many editors can draw.

    The arguments are as in `draw_dot`. If the order of operands matters, as in a - b, their arrows
    are numbered. Mermaid refuses to draw more than 500 arrows. A dict of groups, such as
    groups={"Inputs": [x1, x2], "Loss": loss}, puts frames with these titles around its Values.

    Raises:
        TypeError: the root is not a Value.
        ValueError: the level or the direction is unknown.

    >>> x = Value(3.0)
    >>> print(mermaid(x / 2, names={"x": x}).rstrip())
    flowchart LR
        v0(["x<br>data 3<br>grad •"])
        v1("2")
        v2[["#47;<br>data 1.5<br>grad •"]]
        v0 -->|①| v2
        v1 -->|②| v2
    """
    _check("rankdir", rankdir, SIDES)
    root, names, parameters, groups = as_ours(
        computed(root), variables(names), parameters, groups or {}
    )
    drawn, _ = readable(root, names, level, parameters)
    first = 1 + max(box.number for box in (*drawn.nodes, *drawn.frames))
    framed = [Box(k, title, title) for k, title in enumerate(groups, first)]
    within: dict[int, int] = {}  # the frame of each Value
    for frame in framed:
        inside = {*values_in(groups[frame.label], "groups")}
        within |= {i: frame.number for i, value in enumerate(drawn.values) if value in inside}
    nodes = [b._replace(parent=within.get((b.number, *b.nodes)[-1], b.parent)) for b in drawn.nodes]
    drawn = replace(drawn, nodes=tuple(nodes), frames=(*drawn.frames, *framed))
    arrows = []
    for box in drawn.nodes:
        ordered = box.op in ("-", "/", "**")
        for i, operand in enumerate(box.operands, 1):
            arrows.append(f"v{operand} -->{f'|{ORDER[i]}|' if ordered else ''} v{box.number}")
    return "\n    ".join([f"flowchart {rankdir}", *_inside(-1, Cards(drawn)), *arrows]) + "\n"


def _inside(frame: int, cards: Cards) -> Iterator[str]:
    # The cards in a frame, and the frames in it.
    for box in cards.drawn.nodes:
        if box.parent == frame:
            head = " ".join(filter(None, [sign(box.op), box.short]))
            rows = (f"{word} {number}".strip() for word, number, _ in cards.rows(box))
            lines = filter(None, [head, *box.details, *rows])
            text = "<br>".join(map(_for_mermaid, lines))
            yield f"v{box.number}" + SHAPES.get(box.kind, "[{}]").format(f'"{text}"')
    for box in cards.drawn.frames:
        if box.parent == frame:
            yield f'subgraph v{box.number}["{_for_mermaid(box.short)}"]'
            yield from _inside(box.number, cards)
            yield "end"


def _for_mermaid(text: str) -> str:
    # Escapes punctuation, which may be Mermaid syntax. Mermaid's character references have no &.
    text = drawable(text)
    return "".join(c if c.isalnum() or c in " .,_-+" or c > "\x7f" else f"#{ord(c)};" for c in text)
