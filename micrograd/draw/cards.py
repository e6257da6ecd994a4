"""The cards of a drawing, one per box, as Graphviz's HTML-like labels: tables inside tables.

A card has a title and rows that each contain a word and a number. If the box was computed, the card
also has a strip with the sign of the operation. On the strip, each operand has a port, where its
arrow enters. The chain rule of an operand is beside its port, so it is clear which arrow it belongs
to. At the end, the card that a notebook shows for a single Value.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from micrograd.draw.chain_rule import Piece
from micrograd.draw.formulas import SIGNS, UNKNOWN, formula, number, shape_text, sign
from micrograd.draw.names import values_in
from micrograd.draw.records import Box, Graph
from micrograd.draw.tokens import COLOURS, DARK, LIGHT, SANS, largest, shade
from micrograd.engine import Value

NUMBER_WIDTH = 36  # points: the minimum width of a number's cell
WORD_WIDTH = 26  # points: the minimum width of the words "data" and "grad"
STRIP_CELLS = 16  # values that a box shows as shades
LONGEST_LINE = 80  # characters in a line of a caption
END_OF_LINE = '<BR ALIGN="LEFT"/>'
STRIP, INK = LIGHT["soft"], LIGHT["ink"]
BOLD = {"share": "gradient", "rate": "ink"}  # pieces of a rule in bold letters, and their colours
# Light text on a dark background, for nodes that have passed on their gradient.
DONE = LIGHT | {"ink": LIGHT["panel"], "faint": LIGHT["soft"], "panel": LIGHT["ink"]}
DONE |= {name: LIGHT[f"{name}-soft"] for name in ("gradient", "local", "wrong")}


class Cards:
    """The cards of a drawing: their titles and numbers, and how far the backward pass has come.

    Args:
        drawn: the graph.
        named: nodes that need a name, even if they have no label; they are called v7, for example.
        rate: 'grad', or 'tangent' if the graph has tangents instead of gradients.
        numbers, formulas, highlight, done, found: as in `draw_dot`.
        sizes: the least width and height of each box, in points.

    Raises:
        ValueError: a Value of highlight, done or found is not in the graph.

    >>> from micrograd.draw.graph import graph
    >>> x = Value(3.0)
    >>> drawn = graph(x * 2.0, names={"x": x})
    >>> cards = Cards(drawn)
    >>> [cards.title(box) for box in drawn.nodes], cards.rows(drawn.nodes[0])
    (['x', '', ''], [('data', '3', 'ink'), ('grad', '•', 'gradient')])
    >>> re.findall('PORT="p."', cards.html(drawn.nodes[-1]))
    ['PORT="p0"', 'PORT="p1"']
    """

    def __init__(
        self,
        drawn: Graph,
        named: Collection[str] = (),
        rate: str = "grad",
        *,
        numbers: bool = True,
        formulas: bool = False,
        highlight: Any = (),
        done: Any = (),
        found: Mapping[Value, Mapping[str, Any]] | None = None,
        sizes: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.drawn, self.rate, self.numbers, self.formulas = drawn, rate, numbers, formulas
        self.sizes = sizes or {}
        self.box_of = {box.name: box for box in drawn.nodes}
        self.name_of = {
            box.name: box.short or box.name * (box.name in named and box.kind != "constant")
            for box in drawn.nodes
        }
        within = {inside: box.name for box in drawn.nodes for inside in (box.name, *box.nodes)}
        node_of = {value: f"v{i}" for i, value in enumerate(drawn.values)}

        def boxes(wanted: Any, argument: str) -> dict[Value, str]:
            found = values_in(wanted, argument)
            strange = next((value for value in found if value not in node_of), None)
            if strange is not None:
                raise ValueError(
                    f"{argument} expects Values of the graph, got {strange!r:.60}, which does not "
                    "lead to the result: draw a later result, or leave it out"
                )
            return {value: within.get(node_of[value], "") for value in found}

        self._marked = set(boxes(highlight, "highlight").values())
        self.done = set(boxes(done, "done").values())
        of_found = boxes(list(found or {}), "found")
        self._found = {of_found[value]: texts for value, texts in (found or {}).items()}
        self._strongest = largest(box.data for box in drawn.nodes if box.level == "neuron")
        # In the middle of a backward pass, a node has received something only if one of its users
        # has passed on its gradient.
        self._known = {box.name for box in drawn.nodes if box.has_gradient}
        if self.done:
            self._known.update(o for b in drawn.nodes if b.name in self.done for o in b.operands)
        elif drawn.has_gradients:
            self._known.update(self.box_of)

    # ---- 1. Texts

    def title(self, box: Box) -> str:
        """Its name, or its formula with the result, as in c = a + b = 5."""
        name = self.name_of[box.name]
        if not self._has_formula(box):
            return name
        made = ""
        if box.operands and " " not in box.op:  # "7 operations" have no formula
            made = formula(box.op, [self.name_alone(operand) for operand in box.operands])
        result = self._data(box) if self.numbers and box.has_number else ""
        return " = ".join(filter(None, (name, made, result)))

    def _has_formula(self, box: Box) -> bool:
        return self.formulas and box.level in ("op", "array") and box.kind != "constant"

    def name_alone(self, name: str) -> str:
        """What stands for a box in a formula: its name or number."""
        return self.name_of[name] or self._data(self.box_of[name])

    def rows(self, box: Box) -> list[tuple[str, str, str]]:
        """The rows of a card: a word, a number as text, and the name of the number's colour."""
        if box.kind == "constant" and box.has_ports:
            return [("", self._data(box), "ink")]
        if box.level == "call" and len(box.data) == 1:
            box = box._replace(level="op", data=box.data[0], grad=box.grad[0])
        if not (self.numbers and box.has_ports):
            return []
        colour = "gradient" if self.rate == "grad" else "ink"
        rows = [("data", self._data(box), "ink"), (self.rate, self._gradient(box), colour)]
        if self._has_formula(box) and box.has_number:
            del rows[0]
        found = self._found.get(box.name, {})
        with_found = [(row, ("found", number(found.get(row[0])), "wrong")) for row in rows]
        return [each for pair in with_found for each in pair[: 1 + (pair[0][0] in found)]]

    def _data(self, box: Box) -> str:
        if box.level == "array":
            return shape_text(box.shape)
        return number(box.data)

    def _gradient(self, box: Box) -> str:
        # A dot if there is none yet.
        if self.rate == "grad" and box.name not in self._known:
            return UNKNOWN
        return self._data(box) if box.level == "array" else number(box.grad)

    # ---- 2. Tables

    def html(self, box: Box, rules: Sequence[Sequence[Piece]] = (), side: str = "w") -> str:
        """The card of a box, with the chain rule of each operand.

        Args:
            box: one of the graph.
            rules: a row of pieces for each operand, or nothing.
            side: where arrows enter: 'w' or 'n'.
        """
        frame, ground = COLOURS[box.kind]
        if box.level == "neuron":
            ground = shade(box.data, self._strongest)
        colours = DONE if box.name in self.done else LIGHT
        marked = box.name in self._marked
        look: dict[str, Any] = {
            "BORDER": 2 if box.kind == "result" else 1,
            "COLOR": INK if marked else frame,
            "BGCOLOR": ground if colours is LIGHT else DONE["panel"],
            "STYLE": "ROUNDED" if box.kind in ("input", "constant") else "SOLID",
        }
        if box.name in self.sizes:
            look["WIDTH"], look["HEIGHT"] = map(int, self.sizes[box.name])
        body = self._body(box, colours)
        if not (box.operands and box.has_ports):
            rows = [[body]]
        elif side == "w":
            rows = _across(_sign(box), _ports(box, rules), _rows(rules, colours), body)
        else:
            rows = _down(_sign(box), _ports(box, rules), _rows(rules, LIGHT), body)
        card = _table(rows, **look)
        if not marked:
            return card
        look = {"BORDER": 1, "COLOR": INK, "BGCOLOR": LIGHT["mark"], "CELLPADDING": 5}
        return _table([[_tag("TD", card)]], **look)

    def _body(self, box: Box, colours: Mapping[str, str]) -> str:
        # The cell with the title and the numbers; '' if the card shows neither.
        title, numbers, ink = self.title(box), self.rows(box), colours["ink"]
        if box.kind == "constant" and box.has_ports:
            text = "  ".join(filter(None, (title, numbers[0][1])))
            return _tag("TD", _text(text, ink), CELLPADDING=3)
        if not box.has_ports:
            texts = [_title(title, ink), *(_text(line, ink) for line in box.details)]
            lines = [[_tag("TD", text)] for text in texts]
            if self.numbers and box.level == "call" and box.data:
                lines.append([_tag("TD", self._outputs(box, colours))])
            return _tag("TD", _table(lines, CELLPADDING=1), CELLPADDING=6)
        rows = [[_tag("TD", _title(title, ink), ALIGN="LEFT", COLSPAN=2)]]
        rows = rows if title else []
        for word, text, colour in numbers:
            words = _tag("TD", _text(word, colours["faint"]), ALIGN="LEFT", WIDTH=WORD_WIDTH)
            shown = _text(text, colours[colour])
            rows.append([words, _tag("TD", shown, ALIGN="RIGHT", WIDTH=NUMBER_WIDTH)])
        # The numbers have their own table: in the card's, the strip would have to share its rows.
        return _tag("TD", _table(rows, CELLPADDING=1), CELLPADDING=4) if rows else ""

    def _outputs(self, box: Box, colours: Mapping[str, str]) -> str:
        # What a box computes: a single number with its gradient, or a strip of values.
        if len(box.data) == 1:
            return "&#160; ".join(
                _text(f"{word} {text}", colours[colour]) for word, text, colour in self.rows(box)
            )
        strongest = largest(box.data)
        cells = [
            _tag("TD", "", BGCOLOR=shade(x, strongest), WIDTH=7, HEIGHT=9, FIXEDSIZE="TRUE")
            for x in box.data[:STRIP_CELLS]
        ]
        more = len(box.data) - STRIP_CELLS
        cells += [_tag("TD", _text(f" … {len(box.data):,}", colours["faint"]))] * (more > 0)
        width = 8 * min(len(box.data), STRIP_CELLS) + 8 * len(f"{len(box.data):,}  ") * (more > 0)
        look = {"CELLBORDER": 1, "COLOR": LIGHT["soft"], "FIXEDSIZE": "TRUE"}
        return _table([cells], **look, WIDTH=width + 2, HEIGHT=16)


def _sign(box: Box) -> str:
    return _text(sign(box.op) or "?", INK, size=13 if box.op in SIGNS else 0, bold=True)


def _ports(box: Box, rules: Iterable[Any]) -> list[str]:
    # A neuron has a port for each input only if there is something to say beside it.
    one = box.level == "neuron" and not any(rules)
    return [f"p{i}" for i in range(1 if one else len(box.operands))]


def _middle(ports: Sequence[str]) -> int:
    return (len(ports) + 1) // 2


def _across(shown: str, ports: list[str], rules: list[str], body: str) -> list[list[str]]:
    # Rows of a card whose arrows enter on the left. The strip is a column on this side; rules are
    # in rows above and below the body.
    cells = [_tag("TD", text, ALIGN="LEFT", CELLPADDING=5 if text else 0) for text in rules]
    if len(ports) == 1:
        beside = [cell for cell in (*cells, body) if cell] or [""]
        strip = _tag("TD", shown, PORT="p0", BGCOLOR=STRIP, CELLPADDING=4, ROWSPAN=len(beside))
        rows = [[strip, beside[0]], *([cell] for cell in beside[1:])]
    else:
        column = [_tag("TD", "", PORT=port, BGCOLOR=STRIP, HEIGHT=10) for port in ports]
        column.insert(_middle(ports), _tag("TD", shown, BGCOLOR=STRIP, CELLPADDING=3))
        if any(rules):
            cells.insert(_middle(ports), body)
            rows = [list(pair) for pair in zip(column, cells, strict=True)]
        else:  # the body is beside the whole strip, not only beside its sign
            rows = [[_tag("TD", _table([[cell] for cell in column]), BGCOLOR=STRIP), body]]
    return [[cell for cell in row if cell] for row in rows]


def _down(shown: str, ports: list[str], rules: list[str], body: str) -> list[list[str]]:
    # Rows of a card whose arrows enter at the top. The strip is a row there; rules are in the cells
    # of their ports.
    rules = rules or [""] * len(ports)
    if len(ports) == 1:
        cells = [[_tag("TD", shown, PORT="p0", CELLPADDING=3)]]
        cells += [[_tag("TD", text, CELLPADDING=3)] for text in rules if text]
    else:
        row = [
            _tag("TD", text, PORT=port, CELLPADDING=4, WIDTH=14)
            for port, text in zip(ports, rules, strict=True)
        ]
        row.insert(_middle(ports), _tag("TD", shown, CELLPADDING=3))
        cells = [row]
    return [[_tag("TD", _table(cells), BGCOLOR=STRIP)], *([[body]] if body else [])]


def _rows(rules: Iterable[Sequence[Piece]], colours: Mapping[str, str]) -> list[str]:
    return [
        "".join(_text(text, colours[BOLD.get(kind, kind)], bold=kind in BOLD) for text, kind in row)
        for row in rules
    ]


def caption(lines: Iterable[str], legend: Sequence[Piece] = ()) -> str:
    """The text below a drawing, and the legend of the chain rule in its colours.

    >>> caption(["a & b"], [("local", "local")])
    '<a &amp; b<BR ALIGN="LEFT"/><FONT COLOR="#0b6b60">local</FONT><BR ALIGN="LEFT"/>>'
    """
    wrapped = [text for line in lines for text in textwrap.wrap(line, LONGEST_LINE)]
    texts = [*map(_escaped, wrapped), *_rows([legend] if legend else [], LIGHT)]
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


# ---- 3. A single Value in a notebook

STYLE = """
.value-card{{display:inline-grid;grid-template-columns:auto auto;gap:0 1.5em;padding:4px 10px;
border:1px solid {frame};border-radius:8px;background:{panel};color:{ink};
font:14px/1.4 {sans}}}
.value-card i{{font-style:normal;color:{faint}}}
.value-card b{{text-align:right;font-weight:400;font-variant-numeric:tabular-nums}}
.value-card .whole{{grid-column:1/-1;font-weight:600}}
.value-card .grad{{color:{gradient}}}
"""


def card(value: Value) -> str:
    """A Value as HTML, light or dark like the reader's system: formula, data and gradient.

    >>> card(Value(2.0, label="x")).count("</b>")
    2
    """
    light, dark = (STYLE.format(sans=SANS, **colours) for colours in (LIGHT, DARK))
    made = formula(value._op, [str(v.label) or number(v.data) for v in value._prev])
    name = " = ".join(filter(None, (value.label, made if value._prev else "")))
    head = f'<span class="whole">{html.escape(name)}</span>' if name else ""
    data, grad = (html.escape(number(x)) for x in (value.data, value.grad))
    return (
        f"<style>{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"
        f'<span class="value-card">{head}<i>data</i><b>{data}</b>'
        f'<i>grad</i><b class="grad">{grad}</b></span>'
    )
