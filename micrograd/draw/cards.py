"""The cards of a drawing, one per box, as Graphviz's HTML-like labels: tables inside tables.

A card has a title and rows that each contain a word and a number. If the box was computed, the card
also has a strip with the sign of the operation, and on it a port for each operand, where its arrow
enters, with its chain rule beside it. `card` is what a notebook shows for a single Value.

Graphviz has no classes in such tables: a light colour is written into each cell. The SVG gets rules
that replace each of these colours in dark mode (`render.py`), so it follows the reader's system.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from micrograd.core.arithmetic import Number
from micrograd.draw.chain_rule import Piece, matrix, matrix_text
from micrograd.draw.formulas import SIGNS, UNKNOWN, formula, number, shape_text, sign
from micrograd.draw.records import Box, Graph
from micrograd.draw.stale import now_of
from micrograd.draw.tokens import COLOURS, DARK, LIGHT, SANS, largest, shade
from micrograd.engine import Value, topological_order
from micrograd.program.objects import values_in
from micrograd.texts import said, wrap

NUMBER = {"ALIGN": "RIGHT", "WIDTH": 36}  # the cell of a number: points, at least
WORD = {"ALIGN": "LEFT", "WIDTH": 26}  # of "data" and "grad"
BLANK = {"BORDER": 1, "COLOR": LIGHT["frame"], "WIDTH": 44, "HEIGHT": 20}  # to write into
FEW = 6  # numbers of an array, or results of a box, that are shown
END_OF_LINE = '<BR ALIGN="LEFT"/>'
STRIP, INK = LIGHT["soft"], LIGHT["ink"]
BOLD = {"share": "gradient", "rate": "ink"}  # pieces of a rule in bold letters, and their colours
# Light text on a dark background, for nodes that have passed on their gradient.
DONE = LIGHT | {"ink": LIGHT["panel"], "faint": LIGHT["soft"], "panel": LIGHT["ink"]}
DONE |= {name: LIGHT[f"{name}-soft"] for name in ("gradient", "local", "wrong")}


@dataclass
class Cards:
    """The cards of a drawing: their titles and numbers, and how far the backward pass has come.

    Its arguments `numbers`, `highlight`, `done` and `blanks` are as in `draw_dot`.
    """

    drawn: Graph
    rate: str = "grad"  # 'tangent' if the graph has tangents instead of gradients
    named: bool = False  # whether nodes without a name are called v1, v2, ...
    numbers: bool = True
    highlight: Any = ()
    done: Any = ()
    now: Mapping[Value, Number] = field(default_factory=dict)  # results, if operands changed since
    sizes: Mapping[int, Sequence[str]] = field(default_factory=dict)  # at least, in inches
    blanks: bool = False

    def __post_init__(self) -> None:
        nodes = self.drawn.nodes
        self.name_of = {box.number: box.short for box in nodes}
        free = (name for k in count(1) if (name := f"v{k}") not in {box.short for box in nodes})
        for box in nodes if self.named else ():
            if not box.short and (box.kind != "constant" or box.level == "array"):
                self.name_of[box.number] = next(free)
        within = {inside: box.number for box in nodes for inside in (box.number, *box.nodes)}
        self._place = {value: within.get(i, -1) for i, value in enumerate(self.drawn.values)}
        is_told = isinstance(self.highlight, Mapping)
        told = self.highlight if is_told else {}
        marked = self._boxes("highlight", [*told] if is_told else self.highlight)
        self.done = {*self._boxes("done", self.done)}
        self._found = {k: {} for k in marked} | dict(zip(marked, told.values(), strict=False))
        self._strongest = largest(box.data for box in nodes if box.level == "neuron")
        # In the middle of a backward pass, a node has received something only if one of its users
        # has passed on its gradient.
        self._known = {box.number for box in nodes if box.has_gradient}
        if self.done:
            self._known.update(o for b in nodes if b.number in self.done for o in b.operands)
        elif self.drawn.has_gradients:
            self._known.update(self.name_of)
        self._now = {k: self.now[v] for k, v in self.drawn.value_of.items() if v in self.now}

    def _boxes(self, argument: str, wanted: object) -> list[int]:
        values = values_in(wanted, argument)
        if strange := [value for value in values if value not in self._place]:
            got = f"got {strange[0]!r:.60}: draw a later result, or leave it out"
            raise ValueError(f"{argument} expects Values of the graph, {got}")
        return [self._place[value] for value in values]

    def rows(self, box: Box) -> list[tuple[str, str, str]]:
        """The rows of a card: a word, a number as text, and the name of the number's colour."""
        if box.kind == "constant" and box.has_ports:
            return [("", self._shown(box), "ink")]
        if not (self.numbers and (box.has_ports or 1 <= len(box.data) <= FEW)):
            return []
        rows, found, now = [], self._found.get(box.number, {}), self._now.get(box.number)
        for word in ("data",) if box.kind == "constant" else ("data", self.rate):
            colour = "gradient" if word == "grad" else "ink"
            rows.append((word, self._shown(box, "data" if word == "data" else "grad"), colour))
            if word == "data" and now is not None:
                rows.append((said("draw", "card.now"), number(now), "wrong"))
            if word in found:
                rows.append((said("report", "found"), number(found[word]), "wrong"))
        return rows

    def _shown(self, box: Box, what: str = "data") -> str:
        # A dot if there is no gradient yet; nothing for what is to be worked out by hand.
        if self.blanks and (what == "grad" or box.operands):
            return ""
        if what == "grad" and self.rate == "grad" and box.number not in self._known:
            return UNKNOWN
        shown = getattr(box, what)
        if box.level != "array":
            return ", ".join(map(number, shown)) if box.level == "call" else number(shown)
        is_small = len(box.data) <= FEW and len(box.shape) <= 2
        return matrix_text(matrix(shown, box.shape)) if is_small else shape_text(box.shape)

    def html(self, box: Box, rules: Sequence[Sequence[Piece]] = (), side: str = "w") -> str:
        """The card of a box with the chain rule of each operand; arrows enter at its `side`."""
        frame, ground = COLOURS[box.kind]
        if box.level == "neuron":
            ground = shade(box.data, self._strongest)
        colours = DONE if box.number in self.done else LIGHT
        marked = box.number in self._found
        look: dict[str, Any] = {
            "BORDER": 2 if box.kind == "result" else 1,
            "COLOR": INK if marked else frame,
            "BGCOLOR": ground if colours is LIGHT else DONE["panel"],
            "STYLE": "ROUNDED" if box.kind in ("input", "constant") else "SOLID",
        }
        if box.number in self.sizes:
            look["WIDTH"], look["HEIGHT"] = (int(72 * float(x)) for x in self.sizes[box.number])
        body = self._body(box, colours)
        rows = [[body]]
        if box.operands and box.has_ports:
            in_strip = side == "n" and len(box.operands) > 1
            texts = [_row(rule, LIGHT if in_strip else colours) for rule in rules]
            rows = _with_strip(box, texts, body, across=side == "w")
        card = _table(rows, **look)
        frame_of = {"BORDER": 1, "COLOR": INK, "BGCOLOR": LIGHT["mark"], "CELLPADDING": 5}
        return _table([[_tag("TD", card)]], **frame_of) if marked else card

    def _body(self, box: Box, colours: Mapping[str, str]) -> str:
        # The cell with the title and the numbers; '' if the card shows neither.
        title, numbers, ink = self.name_of[box.number], self.rows(box), colours["ink"]
        if box.kind == "constant" and box.has_ports:
            text = "  ".join(filter(None, (title, numbers[0][1])))
            return _tag("TD", _text(text, ink), CELLPADDING=3)
        # Extra room, since the font of another machine may be wider than the one measured here.
        room = "&#160;" * (1 + len(title) // 10)
        lines = [_text(title, ink, bold=True) + room] if title else []
        lines += [_text(line, ink) for line in box.details]
        align = "LEFT" if box.has_ports else "CENTER"
        rows = [[_tag("TD", line, ALIGN=align, COLSPAN=2)] for line in lines]
        for word, text, colour in numbers:
            shown = _tag("TD", _text(text, colours[colour]), **(NUMBER if text else BLANK))
            rows.append([_tag("TD", _text(word, colours["faint"]), **WORD), shown])
        # The numbers have their own table: in the card's, the strip would have to share its rows.
        return _tag("TD", _table(rows, CELLPADDING=1), CELLPADDING=4) if rows else ""


def _with_strip(box: Box, rules: list[str], body: str, across: bool) -> list[list[str]]:
    # The rows of a card with a strip: a column at the left, or a row at the top, with the sign
    # between the ports. Each rule is beside its port; with a single one, it is above the body.
    shown = _text(sign(box.op) or "?", INK, size=13 if box.op in SIGNS else 0, bold=True)
    n = 1 if box.level == "neuron" else len(box.operands)
    middle, strip = (n + 1) // 2, _tag("TD", shown, BGCOLOR=STRIP, CELLPADDING=3)
    beside = [_tag("TD", text, ALIGN="LEFT", CELLPADDING=5) if text else "" for text in rules]
    if n == 1:
        ports = [_tag("TD", shown, PORT="p0", CELLPADDING=4)]
        texts = [[cell] for cell in (*beside, body) if cell]
        body = _tag("TD", _table(texts)) if texts else ""
    else:
        inside = [""] * n if across else rules or [""] * n
        look = {"BGCOLOR": STRIP, "WIDTH": 14, "HEIGHT": 10, "CELLPADDING": 4 * (not across)}
        ports = [_tag("TD", text, PORT=f"p{i}", **look) for i, text in enumerate(inside)]
        ports.insert(middle, strip)
        if across and any(rules):
            cells = [*beside[:middle], body, *beside[middle:]]
            return [list(filter(None, row)) for row in zip(ports, cells, strict=True)]
    if across:
        return [[_tag("TD", _table([[port] for port in ports]), BGCOLOR=STRIP), body]]
    return [[_tag("TD", _table([ports]), BGCOLOR=STRIP)], *([[body]] if body else [])]


def _row(rule: Sequence[Piece], colours: Mapping[str, str]) -> str:
    pieces = (_text(text, colours[BOLD.get(kind, kind)], bold=kind in BOLD) for text, kind in rule)
    return "".join(pieces)


def caption(lines: Iterable[str], legend: Sequence[Piece] = ()) -> str:
    """The text below a drawing, and the legend of the chain rule in its colours."""
    wrapped = [text for line in lines for text in wrap(line, columns=80)]
    texts = [*map(_escaped, wrapped), *[_row(legend, LIGHT)] * bool(legend)]
    return f"<{''.join(text + END_OF_LINE for text in texts)}>" if texts else ""


def _text(text: str, colour: str, size: int = 0, bold: bool = False) -> str:
    shown = _tag("B", _escaped(text)) if bold else _escaped(text)
    return _tag("FONT", shown, COLOR=colour, **({"POINT-SIZE": size} if size else {}))


def _table(rows: Iterable[Iterable[str]], **attributes: object) -> str:
    content = "".join(_tag("TR", "".join(row)) for row in rows)
    defaults = {"BORDER": 0, "CELLBORDER": 0, "CELLSPACING": 0, "CELLPADDING": 0}
    return _tag("TABLE", content, **defaults | attributes)


def _tag(name: str, content: str, **attributes: object) -> str:
    settings = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{settings}>{content}</{name}>"


def drawable(text: str) -> str:
    r"""The text with U+FFFD for each character that XML does not allow.

    >>> drawable("a\x00b") == drawable("a\ud800b") == "a\ufffdb"
    True
    """
    return re.sub(r"[^\n\r\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def _escaped(text: str) -> str:
    # A backslash starts an escape even in HTML-like labels.
    lines = html.escape(drawable(text).replace("\\", "\\\\")).splitlines() or [""]
    # Graphviz refuses a line that is empty or contains only tabs.
    return END_OF_LINE.join(line if line.strip() else "&#160;" for line in lines)


STYLE = """
.value-card{{display:inline-grid;grid-template-columns:auto auto;gap:0 1.5em;padding:4px 10px;
border:1px solid {frame};border-radius:8px;background:{panel};color:{ink};font:14px/1.4 {sans}}}
.value-card i{{font-style:normal;color:{faint}}}
.value-card span{{text-align:right}}
.value-card b{{grid-column:1/-1;font-weight:600}}
.value-card .grad{{color:{gradient}}}
.value-card .wrong{{color:{wrong}}}
"""


def card(value: Value) -> str:
    """A Value as HTML, light or dark like the reader's system: formula, data and gradient."""
    light, dark = (STYLE.format(sans=SANS, **colours) for colours in (LIGHT, DARK))
    made = formula(value._op, [str(v.label) or number(v.data) for v in value._prev])
    name = " = ".join(filter(None, (value.label, made if value._prev else "")))
    head = f"<b>{html.escape(drawable(name))}</b>" if name else ""
    rows = [("data", "", value.data), ("grad", "grad", value.grad)]
    if (now := now_of(topological_order(value)).get(value)) is not None:
        rows.insert(1, (said("draw", "card.now"), "wrong", now))
    cells = (
        f'<i>{word}</i><span class="{look}">{html.escape(number(x))}</span>'
        for word, look, x in rows
    )
    return (
        f"<style>{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"
        f'<div class="value-card">{head}{"".join(cells)}</div>'
    )
