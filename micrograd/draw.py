"""Chapter 10b: pictures of graphs.

`draw_dot(loss)` draws all that `loss` was computed from: a card for each Value with its name, its
data and its gradient, and an arrow from each operand. Form and colour tell what a card stands for:

    input       round corners, blue
    parameter   square corners, orange
    constant    the number alone, on grey: nobody turns it, so its gradient is left out
    operation   a strip with the sign; the operands enter it in the order of the formula, downwards
                or to the right, so that a - b and b - a differ
    result      a bold frame, green
    a name      alone, in italics: in place of an arrow that would come from very far away

A network may be looked at from further away: `level='neuron'` draws each neuron as one card, and
`level='layer'` each layer. Signs of weights and outputs are told by colour, their size by the width
of an arrow and the depth of a shade, beside the largest of the picture.

    >>> from micrograd.engine import Value
    >>> a, b = Value(2.0), Value(0.5)
    >>> dot = draw_dot(a - b, names=locals())
    >>> [line.strip() for line in dot.source.splitlines() if "->" in line]
    ['v0 -> v2:p0:w', 'v1 -> v2:p1:w']
"""

from __future__ import annotations

import html
import math
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from micrograd.derivatives import jvp, local_derivatives
from micrograd.engine import Value, topological_order
from micrograd.graph import LEVELS, Graph, LayerBox, NeuronBox, Node, graph
from micrograd.render import Digraph

LARGEST = 2000  # nodes: some 3 MB of SVG, and a layout of seconds
REACH = 3000  # steps that all arrows may span together: Graphviz lays out each step of each
MOST_ARROWS = 500  # of a Mermaid diagram, by Mermaid's own default
NEAR = 8  # steps: so short an arrow is always drawn
NOISE = 1e-15  # about what rounding leaves of a difference of ordinary numbers that should be 0

# Where arrows enter and leave a card.
SIDES = {"LR": ("w", "e"), "RL": ("e", "w"), "TB": ("n", "s"), "BT": ("s", "n")}
MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
SIGNS = {"+": "+", "-": MINUS, "neg": MINUS, "*": TIMES, "/": "/"}

# Where so many arrows are short that they span far more than REACH, Graphviz tries less often to
# improve the places within columns; elsewhere that would save little and cost symmetry.
TANGLED = 3500  # steps
QUICK = {"nslimit": "0.2", "mclimit": "0.05"}

# Frame and background; with the text dark, a card looks the same on a light and on a dark page.
COLOURS = {
    "input": ("#2f6f9f", "#e3eff8"),
    "parameter": ("#b0700f", "#fcf0dc"),
    "constant": ("#e8eaed", "#e8eaed"),
    "operation": ("#7d8590", "#ffffff"),
    "result": ("#1c7a5a", "#e2f3ea"),
}
BRACKETS = {  # of Mermaid's shapes: an oval, a box, round corners, a box, a double frame
    "input": ("([", "])"),
    "parameter": ("[", "]"),
    "constant": ("(", ")"),
    "operation": ("[", "]"),
    "result": ("[[", "]]"),
}
# Of weights and of what neurons answer, as of classes on a decision boundary, where a score above 0
# is orange; the colour-blind tell it from blue too.
POSITIVE, NEGATIVE = "#cf7a1c", "#3d86c6"  # lines, seen on white and on black
DEEPEST = {POSITIVE: (0xF4, 0xB8, 0x6E), NEGATIVE: (0x86, 0xBD, 0xE8)}  # still behind dark text
LEGEND = "orange is positive, blue negative, the stronger the larger"
NUMBER = 36  # width of a number's cell, where the number is not wider
STRIP, FAINT = "#e8eaed", "#555b63"
EDGE = "#7d8590"  # of arrows and caption, which lie on the page itself: seen on white and on black
FONT = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "10"}


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

    In a notebook it shows itself; `.save("o.svg")` writes it, `.render("gout")` the files gout (its
    DOT text) and gout.svg; `.pipe()` is the picture as bytes, `.source` its DOT text, the same
    whenever the program is the same.

    Args:
        root: a Value, or a list of several results; or a compiled function, whose groups are drawn,
            with format and rankdir alone.
        format: what `render` and `pipe` make: 'svg', 'png', 'pdf' and more.
        rankdir: the direction of reading: 'LR', 'RL', 'TB' (downwards) or 'BT'.
        names: where to look for names, usually `locals()`; see `micrograd.graph.graph`.
        edges: 'plain', or 'derivatives' for the chain rule on each arrow, local derivative times
            upstream gradient = contribution, where the upstream gradient is that of the node the
            arrow leads to, and the contributions of a node sum to its gradient. Before a backward
            pass there is only the local derivative to tell. That of a neuron is d output / d input;
            an arrow into a layer stands for many numbers and has none.
        level: 'op', or 'neuron' for a card per neuron of `micrograd.nn` and call, shaded by its
            output, with arrows by weight, or 'layer' for a card per layer. More than 2000 cards or
            4000 arrows are too many: then it is the next level, and the caption says so.
        tangents: the speed of leaves that move, as in `jvp`. The cards tell how fast each node
            moves in place of its gradient, and the chain rule on an arrow is that of forward mode,
            local derivative times tangent of the operand; the contributions to a node sum to its
            tangent.

    Raises:
        TypeError: the root is not a Value, or tangents not a mapping.
        ValueError: no such format, direction, kind of edges or level; or a graph too large for all
            levels, whose layout would take minutes and nobody could read.

    >>> x = Value(3.0)
    >>> draw_dot(x * x, names={"x": x}).pipe(encoding="utf-8").count('class="edge"')
    2
    """
    if hasattr(root, "picture") and rankdir in SIDES:  # draws itself: this chapter is earlier
        if (names, edges, level, tangents) != (None, "plain", "op", None):
            raise ValueError(
                "a compiled function is drawn by its groups: names, edges, level and tangents are "
                "for the graph of a Value"
            )
        drawn_by_itself: Digraph = root.picture(format, rankdir)
        return drawn_by_itself
    roots = _roots(root, rankdir)
    if edges not in ("plain", "derivatives"):
        raise ValueError(f"edges {edges!r} is not one of plain, derivatives")
    drawn, captions = _within_limits(roots, names, level)
    values = topological_order(*roots)
    if tangents is not None:
        drawn = _with_tangents(drawn, values, tangents)
    elif not drawn.has_gradients and not all(isinstance(n, LayerBox) for n in drawn.nodes):
        captions.insert(0, "no gradients yet: call backward()")
    enter, leave = SIDES[rankdir]
    far, quick = layout({node.name: node.operands for node in drawn.nodes})
    if far:
        captions.append("a name alone stands for an arrow from far away")
    neurons = [node for node in drawn.nodes if isinstance(node, NeuronBox)]
    if neurons:
        captions.append(f"lines are weights, shades are outputs: {LEGEND}")
    fan = 0  # of how many lines the widest fan is that needs room; labels take that by themselves
    if edges == "plain":
        fan = min(20, max((len(neuron.weights) for neuron in neurons), default=0))
    dot = Digraph(
        format=format,
        graph_attr={
            "rankdir": rankdir,
            "bgcolor": "transparent",
            "nodesep": "0.2",
            "ranksep": f"{0.5 + 0.07 * fan:g}",
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
    forward = tangents is not None
    chain_rule = _chain_rules(drawn, values, forward) if edges == "derivatives" else {}
    named = {operand for _, _, operand in far}
    label_of = {node.name: node.label or node.name * (node.name in named) for node in drawn.nodes}
    heaviest = largest(w for neuron in neurons for w in neuron.weights)
    strongest = largest(neuron.data for neuron in neurons)
    rate = "tangent" if forward else "grad"
    for node, data, grad in _with_texts(drawn):
        look, ground = {}, ""
        if isinstance(node, NeuronBox):
            look["ordering"] = "in"  # neurons side by side stay in the order of their layer
            ground = shade(node.data, strongest)
        card = _card(node, label_of[node.name], {"data": data, rate: grad}, enter, ground)
        dot.node(node.name, f"<{card}>", **look)
    for node in drawn.nodes:
        if isinstance(node, LayerBox):
            dot.node(node.name, f"<{_layer_card(node, label_of[node.name])}>")
    for node in drawn.nodes:
        for i, operand in enumerate(node.operands):
            start = operand
            if (node.name, i, operand) in far:
                start = f"{node.name}_{i}"
                dot.node(start, f"<{_tag('I', _escaped(label_of[operand]))}>", fontcolor=EDGE)
            look = {}
            if (node.name, i) in chain_rule:
                look["label"] = f"<{_beside_arrow(chain_rule[node.name, i], enter)}>"
            port = f"p{i}:"
            if isinstance(node, NeuronBox):
                port = "p0:"
                if node.weights[i] is not None:
                    look |= {"arrowhead": "none", **line(node.weights[i], heaviest)}
            elif isinstance(node, LayerBox):
                port = ""
            dot.edge(start, f"{node.name}:{port}{enter}", **look)
    return dot


def _within_limits(
    roots: Iterable[Value], names: Mapping[str, Any] | None, wanted: str
) -> tuple[Graph, list[str]]:
    # The graph at the wanted level, or at the first after it that is not too large, and a caption.
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
        if level != "op" and not grouped:  # the next level would be the same
            break
    even = " even at level 'layer'" if grouped else ""
    found = f"{nodes} nodes, a drawing at most {LARGEST}"
    if nodes <= LARGEST:
        found = f"{arrows} arrows, a drawing at most {2 * LARGEST}"
    raise ValueError(
        f"the graph{even} has {found}: draw a part, such as the loss of a single example, or a "
        "smaller network"
    )


def mermaid(
    root: Value | Sequence[Value], rankdir: str = "LR", names: Mapping[str, Any] | None = None
) -> str:
    """The same graph as Mermaid text, which GitHub, blogs and many editors draw by themselves.

    Arguments are those of `draw_dot`. Operands that may not be swapped have their place, 1 or 2, on
    the arrow.

    Raises:
        ValueError: more than 500 arrows, which viewers of Mermaid refuse to draw.

    >>> x = Value(3.0)
    >>> print(mermaid(x / 2, names={"x": x}).split("classDef")[0])
    flowchart LR
        v0(["x<br>data 3<br>grad 0"])
        v1("2")
        v2[["#47;<br>data 1.5<br>grad 0"]]
        v0 -->|1| v2
        v1 -->|2| v2
    <BLANKLINE>
    """
    drawn = graph(*_roots(root, rankdir), names=names)
    arrows = sum(len(node.operands) for node in drawn.nodes)
    if arrows > MOST_ARROWS:
        raise ValueError(
            f"the graph has {arrows} arrows, viewers of Mermaid draw at most {MOST_ARROWS}: use "
            "draw_dot, or draw a part of the graph"
        )
    lines = [f"flowchart {rankdir}"]
    for node, data, grad in _with_texts(drawn):
        head = " ".join(filter(None, [SIGNS.get(node.op, node.op), node.label]))
        text = [data] if node.kind == "constant" else [head, f"data {data}", f"grad {grad}"]
        left, right = BRACKETS[node.kind]
        shown = "<br>".join(_for_mermaid(line) for line in text if line)
        lines.append(f'    {node.name}{left}"{shown}"{right}')
    for node in drawn.nodes:
        ordered = node.op in ("-", "/", "**")
        for i, operand in enumerate(node.operands, 1):
            lines.append(f"    {operand} -->{f'|{i}|' if ordered else ''} {node.name}")
    for kind, (frame, ground) in COLOURS.items():
        members = ",".join(node.name for node in drawn.nodes if node.kind == kind)
        if members:
            lines.append(f"    classDef {kind} fill:{ground},stroke:{frame},color:#111")
            lines.append(f"    class {members} {kind}")
    return "\n".join(lines) + "\n"


def _for_mermaid(text: str) -> str:
    # Mermaid reads #35; and the like where HTML has &#35;, and some punctuation as its own.
    return "".join(c if c.isalnum() or c in " .,_-+" or c > "\x7f" else f"#{ord(c)};" for c in text)


def _roots(root: Any, rankdir: str) -> Any:
    if rankdir not in SIDES:
        raise ValueError(f"rankdir {rankdir!r} is not one of {', '.join(SIDES)}")
    return root if isinstance(root, (list, tuple)) and root else [root]


def _with_texts(drawn: Graph) -> Iterator[tuple[Any, str, str]]:
    nodes = [node for node in drawn.nodes if not isinstance(node, LayerBox)]
    data_floor = _floor(node.data for node in nodes)
    grad_floor = _floor(node.grad for node in nodes)
    for node in nodes:
        floor = data_floor if node.operands else 0.0
        yield node, number(node.data, floor), number(node.grad, grad_floor)


def _with_tangents(drawn: Graph, values: Sequence[Value], tangents: Any) -> Graph:
    # The same graph with tangents in the place of gradients.
    if not isinstance(tangents, Mapping) or not all(isinstance(v, Value) for v in tangents):
        raise TypeError(
            f"tangents is a mapping of leaves, which are Values, to their speeds, got "
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
    # By node and place of the operand, local derivative x rate = contribution: the rate is the
    # upstream gradient, that of the node, or in forward mode the tangent of the operand.
    value_of = _values_of(drawn, values)
    rate = {node.name: node.grad for node in drawn.nodes if node.name in value_of}
    floor = _floor(rate.values())
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
    # d output / d operand, by reverse mode inside; of equal operands the first has it all.
    inside = [values[int(name[1:])] for name in neuron.nodes]
    adjoint: dict[Value, Any] = {inside[-1]: 1}
    for value in reversed(inside):
        for d, operand in zip(local_derivatives(value), value._prev, strict=True):
            adjoint[operand] = adjoint.get(operand, 0) + d * adjoint[value]
    return [adjoint.pop(value_of[operand], None) for operand in neuron.operands]


def _values_of(drawn: Graph, values: Sequence[Value]) -> dict[str, Value]:
    # Of nodes and neurons; 'v7' is the one at place 7 of the topological order.
    names = {n.name: n.nodes[-1] if isinstance(n, NeuronBox) else n.name for n in drawn.nodes}
    return {name: values[int(v[1:])] for name, v in names.items() if v.startswith("v")}


def largest(xs: Iterable[Any]) -> float:
    """The largest size of numbers of any kind, infinities left aside.

    >>> largest([1.0, -3, None])
    3.0
    """
    return max((size for size in map(_size, xs) if math.isfinite(size)), default=0.0)


def _size(x: Any) -> float:
    try:
        return abs(float(_innermost(x)))
    except (TypeError, ValueError, OverflowError):  # no number that could be compared
        return 0.0


def _strength(x: Any, most: float) -> tuple[str, float]:
    # The colour of a number's sign and its size, from 0 to 1.
    size = _size(x)
    sign = NEGATIVE if size and _innermost(x) < 0 else POSITIVE
    return sign, min(1.0, size / most) if size and most else 0.0


def line(weight: Any, heaviest: float) -> dict[str, str]:
    """How an arrow or a line is drawn for a weight: its colour and width as Graphviz attributes.

    >>> line(-1.0, heaviest=2.0)
    {'color': '#3d86c6', 'penwidth': '1.4'}
    """
    colour, strength = _strength(weight, heaviest)
    return {"color": colour, "penwidth": f"{0.2 + 2.4 * strength:.2g}"}


def shade(x: Any, strongest: float) -> str:
    """The background for what a neuron answers, from white for 0 to orange or blue.

    >>> shade(0.0, strongest=1.0), shade(1.0, strongest=1.0)
    ('#ffffff', '#f4b86e')
    """
    colour, strength = _strength(x, strongest)
    return "#" + "".join(f"{round(255 + strength * (c - 255)):02x}" for c in DEEPEST[colour])


def _beside_arrow(text: str, side: str) -> str:
    # Graphviz centres a label where its arrow may pass: empty space keeps the arrow off the text.
    if side in "we":
        return text + "<BR/>" + _tag("FONT", "&#160;", **{"POINT-SIZE": 7})
    return "&#160;&#160;" + text


def layout(
    operands_of: Mapping[str, Sequence[str]], reach: int = REACH
) -> tuple[set[tuple[str, int, str]], dict[str, str]]:
    """What keeps the layout of a graph short: arrows to leave out, and attributes.

    The longest arrows are left out, each as (node, place, operand), so many that the others keep
    within reach. An arrow is as long as the steps that it spans: a result is one step after its
    last operand, a leaf one step before its first user.

    Args:
        operands_of: of each node, operands first.
        reach: steps that all arrows may span together.

    >>> layout({"a": [], "b": ["a"], "c": ["a", "b"]})
    (set(), {})
    """
    step: dict[str, int] = {}
    before_first_user: dict[str, int] = {}
    for name, operands in operands_of.items():
        # a layer may feed itself, and then has an operand without a step so far
        step[name] = 1 + max((step.get(operand, 0) for operand in operands), default=-1)
        for operand in operands:
            known = before_first_user.get(operand, step[name])
            before_first_user[operand] = min(known, step[name] - 1)
    arrows = [
        (step[name] - (step[operand] or before_first_user[operand]), name, i, operand)
        for name, operands in operands_of.items()
        for i, operand in enumerate(operands)
    ]
    far: set[tuple[str, int, str]] = set()
    left = sum(span for span, *_ in arrows)
    for span, name, i, operand in sorted(arrows, reverse=True):
        if left <= reach or span <= NEAR:
            break
        far.add((name, i, operand))
        left -= span
    return far, QUICK if left > TANGLED else {}


def number(x: Any, floor: float = 0.0) -> str:
    """A number as it is drawn: a float with 4 significant digits, a short fraction as it is.

    Args:
        x: a number of any kind; of a Value its data, of what is no number its text.
        floor: below it a float is noise and drawn as 0. `draw_dot` takes 1e-15, and in a picture
            where no number reaches 1, 1e-15 of the largest, apart for data and gradients: so
            0.1 + 0.2 - 0.3 is drawn as 0, and a gradient of 3.2e-9 as it is. What was typed, the
            data of leaves, is never noise.

    >>> number(0.1 + 0.2), number(-0.0), number(1234567.0)
    ('0.3', '0', '1.235e6')
    >>> number(0.1 + 0.2 - 0.3, floor=1e-15)
    '0'
    """
    x = _innermost(x)
    text = str(x)
    if isinstance(x, numbers.Rational) and len(text) <= 9:
        return text.replace("-", MINUS)
    try:
        x = float(x)
    except (TypeError, ValueError, OverflowError):
        return text if len(text) <= 24 else f"{text[:23]}…"
    digits = f"{0.0 if abs(x) < floor else x + 0.0:.4g}"  # adding 0.0 turns -0.0 into 0.0
    return re.sub(r"e(-?)\+?0*", r"e\1", digits).replace("-", MINUS)


def _innermost(x: Any) -> Any:
    while isinstance(x, Value):
        x = x.data
    return x


def _floor(xs: Iterable[Any]) -> float:
    sizes = (abs(x) for x in map(_innermost, xs) if isinstance(x, float))
    return NOISE * min(1.0, max(sizes, default=0.0))


def _card(node: Any, label: str, numbers: Mapping[str, str], side: str, ground: str) -> str:
    # An HTML-like label of Graphviz: tables within a table, since rows and columns side by side
    # would have to be of the same height.
    neuron = isinstance(node, NeuronBox)
    colour, usual = COLOURS["operation" if node.kind == "neuron" else node.kind]
    look = {"BORDER": 1, "COLOR": colour, "BGCOLOR": ground or usual, "CELLPADDING": 3}
    if node.kind == "constant":
        return _table([[_tag("TD", _escaped(numbers["data"]))]], **look, STYLE="ROUNDED")
    rows = [
        [_tag("TD", _tag("FONT", name, COLOR=FAINT), ALIGN="LEFT", WIDTH=26),
         _tag("TD", _escaped(text), ALIGN="RIGHT", WIDTH=NUMBER)]
        for name, text in numbers.items()
    ]  # fmt: skip
    if label:
        rows.insert(0, [_tag("TD", _title(label), ALIGN="LEFT", COLSPAN=2)])
    body = _tag("TD", _table(rows, BORDER=0, CELLPADDING=1))
    if not node.operands:
        return _table([[body]], **look, STYLE="ROUNDED" if node.kind == "input" else "SOLID")
    look["BORDER"] = 2 if node.kind == "result" else 1
    op = node.activation if neuron else node.op
    size = 13 if op in SIGNS else 10
    text = _escaped(SIGNS.get(op, op or "?"))
    sign = _tag("FONT", _tag("B", text), **{"POINT-SIZE": size})
    ports = [_tag("TD", "", PORT=f"p{i}") for i in range(1 if neuron else len(node.operands))]
    ports = [ports[0], _tag("TD", sign), *ports[1:]] if ports[1:] else [_tag("TD", sign, PORT="p0")]
    across = side in "we"
    strip = _table([[port] for port in ports] if across else [ports], BORDER=0, CELLPADDING=3)
    cells = [_tag("TD", strip, BGCOLOR=STRIP, CELLPADDING=0), body]
    if side in "es":
        cells.reverse()
    return _table([cells] if across else [[cell] for cell in cells], **look)


def _layer_card(layer: LayerBox, label: str) -> str:
    examples = f"{layer.examples:,} examples" if layer.examples > 1 else ""
    if layer.kind == "inputs":
        colours, head = "input", _plural(layer.n_out, "input")
        lines = [examples]
    else:
        colours, head = "parameter", label or layer.kind
        size = f"{layer.n_in:,} \N{RIGHTWARDS ARROW} {layer.n_out:,}"
        lines = [
            f"{layer.kind}, {layer.activation}" if label else layer.activation,
            size,
            _plural(layer.parameters, "parameter"),
            examples,
        ]
    rows = [[_tag("TD", _title(head))], *([_tag("TD", _escaped(line))] for line in lines if line)]
    frame, ground = COLOURS[colours]
    style = "ROUNDED" if layer.kind == "inputs" else "SOLID"
    body = _tag("TD", _table(rows, BORDER=0, CELLPADDING=1))
    return _table([[body]], BORDER=1, COLOR=frame, BGCOLOR=ground, CELLPADDING=6, STYLE=style)


def _plural(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' * (n != 1)}"


def _title(label: str) -> str:
    # Other machines have other fonts: room for a name that comes out wider than measured here.
    return _tag("B", _escaped(label)) + "&#160;" * (1 + len(label) // 10)


def _table(rows: Iterable[Iterable[str]], **attributes: object) -> str:
    content = "".join(_tag("TR", "".join(row)) for row in rows)
    return _tag("TABLE", content, CELLBORDER=0, CELLSPACING=0, **attributes)


def _tag(name: str, content: str, **attributes: object) -> str:
    settings = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{settings}>{content}</{name}>"


def _escaped(text: str) -> str:
    # A backslash starts an escape even here, and what is no character in XML cannot be drawn.
    text = re.sub(r"[^\n\r\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    lines = html.escape(text.replace("\\", "\\\\")).splitlines() or [""]
    # Graphviz refuses a text that is empty or only tabs.
    return '<BR ALIGN="LEFT"/>'.join(line if line.strip() else "&#160;" for line in lines)
