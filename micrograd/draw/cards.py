"""The cards of a drawing, one per node, as Graphviz's HTML-like labels: tables inside tables."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from typing import Any

from micrograd.draw.records import LayerBox, NeuronBox
from micrograd.draw.style import COLOURS, SIGNS

NUMBER_WIDTH = 36  # points: the minimum width of a number's cell
STRIP = "#e8eaed"  # background colour of the strip that holds an operation's sign
FAINT = "#555b63"  # colour of the words "data" and "grad"


def card(node: Any, label: str, texts: Mapping[str, str], side: str, ground: str = "") -> str:
    """The card of a Value or a neuron.

    Args:
        node: its Node or NeuronBox.
        label: its name, or ''.
        texts: maps 'data', and 'grad' or 'tangent', to that number as text.
        side: the side at which arrows enter: 'n', 'e', 's' or 'w'.
        ground: a background colour that replaces the usual one for its kind.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import Value
    >>> node = graph(Value(2.0) - 0.5).nodes[-1]
    >>> re.findall('PORT="p."', card(node, "difference", {"data": "1.5"}, "w"))
    ['PORT="p0"', 'PORT="p1"']
    """
    colour, usual = COLOURS["operation" if node.kind == "neuron" else node.kind]
    look = {"BORDER": 1, "COLOR": colour, "BGCOLOR": ground or usual, "CELLPADDING": 3}
    if node.kind == "constant":
        return _table([[_tag("TD", _escaped(texts["data"]))]], **look, STYLE="ROUNDED")
    rows = [
        [_tag("TD", _tag("FONT", name, COLOR=FAINT), ALIGN="LEFT", WIDTH=26),
         _tag("TD", _escaped(text), ALIGN="RIGHT", WIDTH=NUMBER_WIDTH)]
        for name, text in texts.items()
    ]  # fmt: skip
    if label:
        rows.insert(0, [_tag("TD", _title(label), ALIGN="LEFT", COLSPAN=2)])
    # A separate table: in a single one, the strip would have to share the rows of the numbers.
    body = _tag("TD", _table(rows, BORDER=0, CELLPADDING=1))
    if not node.operands:
        return _table([[body]], **look, STYLE="ROUNDED" if node.kind == "input" else "SOLID")
    look["BORDER"] = 2 if node.kind == "result" else 1
    across = side in "we"
    cells = [_strip(node, across), body]
    if side in "es":
        cells.reverse()
    return _table([cells] if across else [[cell] for cell in cells], **look)


def _strip(node: Any, across: bool) -> str:
    # An operation's sign between the ports for its operands; if there is one port, it is the sign.
    neuron = isinstance(node, NeuronBox)
    op = node.activation if neuron else node.op
    text = _escaped(SIGNS.get(op, op or "?"))
    sign = _tag("FONT", _tag("B", text), **{"POINT-SIZE": 13 if op in SIGNS else 10})
    if neuron or len(node.operands) == 1:
        cells = [_tag("TD", sign, PORT="p0")]
    else:
        cells = [_tag("TD", "", PORT=f"p{i}") for i in range(len(node.operands))]
        cells.insert(1, _tag("TD", sign))
    strip = _table([[cell] for cell in cells] if across else [cells], BORDER=0, CELLPADDING=3)
    return _tag("TD", strip, BGCOLOR=STRIP, CELLPADDING=0)


def layer_card(layer: LayerBox, label: str) -> str:
    """The card of a layer, or of the inputs of a layer.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.nn import Linear
    >>> box = graph(*Linear(4, 3)([1.0, 2.0, 3.0, 4.0]), level="layer").nodes[-1]
    >>> re.findall("[^<>;]+(?=</TD>)", layer_card(box, ""))
    ['linear', '4 → 3', '15 parameters']
    """
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


def beside_arrow(text: str, side: str) -> str:
    """The label of an arrow that enters a card on the given side.

    Graphviz may draw the arrow through the middle of its label, so empty space moves the text away.
    """
    if side in "we":
        return text + "<BR/>" + _tag("FONT", "&#160;", **{"POINT-SIZE": 7})
    return "&#160;&#160;" + text


def name_alone(label: str) -> str:
    """A name in italics, drawn instead of an arrow from a distant node."""
    return _tag("I", _escaped(label))


def _plural(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' * (n != 1)}"


def _title(label: str) -> str:
    # Extra room, since the font of another machine may be wider than the one measured here.
    return _tag("B", _escaped(label)) + "&#160;" * (1 + len(label) // 10)


def _table(rows: Iterable[Iterable[str]], **attributes: object) -> str:
    content = "".join(_tag("TR", "".join(row)) for row in rows)
    return _tag("TABLE", content, CELLBORDER=0, CELLSPACING=0, **attributes)


def _tag(name: str, content: str, **attributes: object) -> str:
    settings = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{settings}>{content}</{name}>"


def _escaped(text: str) -> str:
    # A backslash starts an escape even in HTML-like labels; only XML's characters can be drawn.
    text = re.sub(r"[^\n\r\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    lines = html.escape(text.replace("\\", "\\\\")).splitlines() or [""]
    # Graphviz refuses a line that is empty or has only tabs.
    return '<BR ALIGN="LEFT"/>'.join(line if line.strip() else "&#160;" for line in lines)
