"""The cards of a drawing, one per node, as Graphviz's HTML-like labels: tables inside tables.

A card has a title and rows that each contain a word and a number. If the node was computed, the
card also has a strip with the sign of the operation. On the strip, each operand has a port, where
its arrow enters. The chain rule of an operand is beside its port, so it is clear which arrow it
belongs to.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from micrograd.draw.chain_rule import Piece
from micrograd.draw.records import LayerBox, NeuronBox
from micrograd.draw.style import COLOURS, SIGNS, counted, sign
from micrograd.draw.tokens import LIGHT

NUMBER_WIDTH = 36  # points: the minimum width of a number's cell
WORD_WIDTH = 26  # points: the minimum width of the words "data" and "grad"
LONGEST_LINE = 80  # characters in a line of a caption
END_OF_LINE = '<BR ALIGN="LEFT"/>'
STRIP = LIGHT["soft"]
BOLD = {"share": "gradient", "rate": "ink"}  # pieces of a rule in bold letters, and their colours
# Light text on a dark background, for nodes that have passed on their gradient.
DONE = LIGHT | {"ink": LIGHT["panel"], "faint": LIGHT["soft"], "ground": LIGHT["ink"]}
DONE |= {name: LIGHT[f"{name}-soft"] for name in ("gradient", "local", "wrong")}


@dataclass(frozen=True)
class Face:
    """What a card shows.

    Attributes:
        title: a name or a formula, or ''.
        numbers: triples of a word, a number as text, and the name of the number's colour.
        rules: the chain rule of each operand, or nothing.
        ground: a background colour that replaces the usual one for the kind of node.
        done: whether the node has passed on its gradient: light text on a dark background.
        marked: whether the card is highlighted.
    """

    title: str = ""
    numbers: Sequence[tuple[str, str, str]] = ()
    rules: Sequence[Sequence[Piece]] = ()
    ground: str = ""
    done: bool = False
    marked: bool = False

    def colour(self, name: str) -> str:
        """A colour from `tokens.py`, or the one that replaces it on a dark background."""
        return (DONE if self.done else LIGHT)[name]


def card(node: Any, face: Face, side: str) -> str:
    """The card of a Value, a neuron or an array; arrows enter it on side 'n', 'e', 's' or 'w'.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import Value
    >>> node = graph(Value(2.0) - 0.5).nodes[-1]
    >>> re.findall('PORT="p."', card(node, Face("difference"), "w"))
    ['PORT="p0"', 'PORT="p1"']
    """
    frame, ground = COLOURS["operation" if node.kind == "neuron" else node.kind]
    look: dict[str, Any] = {
        "BORDER": 2 if node.kind == "result" else 1,
        "COLOR": LIGHT["ink"] if face.marked else frame,
        "BGCOLOR": DONE["ground"] if face.done else face.ground or ground,
        "STYLE": "ROUNDED" if node.kind in ("input", "constant") else "SOLID",
    }
    body = _body(node, face)
    if node.operands:
        rows = _across(node, face, side, body) if side in "we" else _down(node, face, side, body)
    else:
        rows = [[body]]
    return _marked(_table(rows, **look), face)


def _body(node: Any, face: Face) -> str:
    # The cell with the title and the numbers; '' if the card shows neither.
    if node.kind == "constant":
        texts = [face.title, *(number for _, number, _ in face.numbers[:1])]
        return _tag("TD", _text("  ".join(filter(None, texts)), face.colour("ink")), CELLPADDING=3)
    rows = [[_tag("TD", _title(face.title, face.colour("ink")), ALIGN="LEFT", COLSPAN=2)]]
    rows = rows if face.title else []
    for word, text, colour in face.numbers:
        words = _tag("TD", _text(word, face.colour("faint")), ALIGN="LEFT", WIDTH=WORD_WIDTH)
        number = _text(text, face.colour(colour))
        rows.append([words, _tag("TD", number, ALIGN="RIGHT", WIDTH=NUMBER_WIDTH)])
    # The numbers have their own table: in the card's table, the strip would have to share its rows.
    return _tag("TD", _table(rows, CELLPADDING=1), CELLPADDING=4) if rows else ""


def _across(node: Any, face: Face, side: str, body: str) -> list[list[str]]:
    # Rows of a card whose arrows enter on the left or right. The strip is a column on this side;
    # rules are in rows above and below the body.
    shown, ports = _sign_and_ports(node, face)
    texts = _rules(face.rules, face.colour)
    rules = [_tag("TD", text, ALIGN="LEFT", CELLPADDING=5 if text else 0) for text in texts]
    if len(ports) == 1:
        cells = [cell for cell in (*rules, body) if cell] or [""]
        strip = _tag("TD", shown, PORT="p0", BGCOLOR=STRIP, CELLPADDING=4, ROWSPAN=len(cells))
        rows = [[strip, cells[0]], *([cell] for cell in cells[1:])]
    else:
        column = [_tag("TD", "", PORT=port, BGCOLOR=STRIP, HEIGHT=10) for port in ports]
        column.insert(_middle(ports), _tag("TD", shown, BGCOLOR=STRIP, CELLPADDING=3))
        if any(texts):
            rules.insert(_middle(ports), body)
            rows = [list(pair) for pair in zip(column, rules, strict=True)]
        else:  # the body is beside the whole strip, not only beside its sign
            rows = [[_tag("TD", _table([[cell] for cell in column]), BGCOLOR=STRIP), body]]
    rows = [[cell for cell in row if cell] for row in rows]
    return [row[::-1] for row in rows] if side == "e" else rows


def _down(node: Any, face: Face, side: str, body: str) -> list[list[str]]:
    # Rows of a card whose arrows enter at the top or bottom. The strip is a row on this side; rules
    # are in the cells of their ports.
    shown, ports = _sign_and_ports(node, face)
    rules = _rules(face.rules, LIGHT.__getitem__) or [""] * len(ports)
    if len(ports) == 1:
        cells = [[_tag("TD", shown, PORT="p0", CELLPADDING=3)]]
        cells += [[_tag("TD", text, CELLPADDING=3)] for text in rules if text]
        cells = cells[::-1] if side == "s" else cells
    else:
        row = [
            _tag("TD", text, PORT=port, CELLPADDING=4, WIDTH=14)
            for port, text in zip(ports, rules, strict=True)
        ]
        row.insert(_middle(ports), _tag("TD", shown, CELLPADDING=3))
        cells = [row]
    rows = [[_tag("TD", _table(cells), BGCOLOR=STRIP)], *([[body]] if body else [])]
    return rows[::-1] if side == "s" else rows


def _sign_and_ports(node: Any, face: Face) -> tuple[str, list[str]]:
    # A neuron has a port for each input only if there is something to say beside it.
    neuron = isinstance(node, NeuronBox)
    op = node.activation if neuron else node.op
    shown = _text(sign(op) or "?", LIGHT["ink"], size=13 if op in SIGNS else 0, bold=True)
    n = 1 if neuron and not any(face.rules) else len(node.operands)
    return shown, [f"p{i}" for i in range(n)]


def _middle(ports: Sequence[str]) -> int:
    return (len(ports) + 1) // 2


def _rules(rules: Iterable[Sequence[Piece]], colour: Callable[[str], str]) -> list[str]:
    return [
        "".join(_text(text, colour(BOLD.get(kind, kind)), bold=kind in BOLD) for text, kind in row)
        for row in rules
    ]


def box_card(box: Any, face: Face) -> str:
    """The card of a layer, of the inputs of a layer, or of many operations.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.nn import Linear
    >>> box = graph(*Linear(4, 3)([1.0, 2.0, 3.0, 4.0]), level="layer").nodes[-1]
    >>> re.findall("[^<>;]+(?=</FONT></TD>)", box_card(box, Face()))
    ['linear', '4 → 3', '15 parameters']
    """
    head, lines = _of_layer(box, face) if isinstance(box, LayerBox) else (box.label, box.details)
    ink = LIGHT["ink"]
    rows = [[_tag("TD", _title(head, ink))], *([_tag("TD", _text(x, ink))] for x in lines if x)]
    frame, ground = COLOURS["input" if box.kind == "inputs" else "parameter"]
    style = "ROUNDED" if box.kind == "inputs" else "SOLID"
    body = _tag("TD", _table(rows, CELLPADDING=1), CELLPADDING=6)
    colour = ink if face.marked else frame
    return _marked(_table([[body]], BORDER=1, COLOR=colour, BGCOLOR=ground, STYLE=style), face)


def _marked(card: str, face: Face) -> str:
    if not face.marked:
        return card
    look = {"BORDER": 1, "COLOR": LIGHT["ink"], "BGCOLOR": LIGHT["mark"], "CELLPADDING": 5}
    return _table([[_tag("TD", card)]], **look)


def _of_layer(layer: LayerBox, face: Face) -> tuple[str, list[str]]:
    examples = f"{layer.examples:,} examples" if layer.examples > 1 else ""
    if layer.kind == "inputs":
        return counted(layer.n_out, "input"), [examples]
    activation = ", ".join(map(sign, layer.activation.split(", ")))
    return face.title or layer.kind, [
        f"{layer.kind}, {activation}" if face.title else activation,
        f"{layer.n_in:,} \N{RIGHTWARDS ARROW} {layer.n_out:,}",
        counted(layer.parameters, "parameter"),
        examples,
    ]


def name_alone(label: str) -> str:
    """A name in italics, drawn instead of an arrow from a distant node."""
    return _tag("I", _escaped(label))


def caption(lines: Iterable[str], legend: Sequence[Piece] = ()) -> str:
    """The text below a drawing, and the legend of the chain rule in its colours.

    >>> caption(["a & b"], [("local", "local")])
    '<a &amp; b<BR ALIGN="LEFT"/><FONT COLOR="#0b6b60">local</FONT><BR ALIGN="LEFT"/>>'
    """
    wrapped = [text for line in lines for text in textwrap.wrap(line, LONGEST_LINE)]
    texts = [*map(_escaped, wrapped), *_rules([legend] if legend else [], LIGHT.__getitem__)]
    return f"<{''.join(text + END_OF_LINE for text in texts)}>" if texts else ""


def _text(text: str, colour: str, size: int = 0, bold: bool = False) -> str:
    shown = _tag("B", _escaped(text)) if bold else _escaped(text)
    return _tag("FONT", shown, COLOR=colour, **({"POINT-SIZE": size} if size else {}))


def _title(label: str, colour: str) -> str:
    # Extra room, since the font of another machine may be wider than the one measured here.
    return _text(label, colour, bold=True) + "&#160;" * (1 + len(label) // 10)


def _table(rows: Iterable[Iterable[str]], **attributes: object) -> str:
    content = "".join(_tag("TR", "".join(row)) for row in rows)
    defaults = {"BORDER": 0, "CELLBORDER": 0, "CELLSPACING": 0, "CELLPADDING": 0}
    return _tag("TABLE", content, **defaults | attributes)


def _tag(name: str, content: str, **attributes: object) -> str:
    settings = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{settings}>{content}</{name}>"


def _escaped(text: str) -> str:
    # A backslash starts an escape even in HTML-like labels. Only characters that XML allows can be
    # drawn.
    text = re.sub(r"[^\n\r\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    lines = html.escape(text.replace("\\", "\\\\")).splitlines() or [""]
    # Graphviz refuses a line that is empty or contains only tabs.
    return END_OF_LINE.join(line if line.strip() else "&#160;" for line in lines)
