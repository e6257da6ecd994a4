"""A Value as a small card, which a notebook shows instead of the text of its repr.

The card looks like those of `draw_dot`: the formula, the data in ink, the gradient in magenta.
`engine.py` knows nothing of it: `micrograd/__init__.py` adds the method to `Value`, and this file
is loaded when a notebook first asks for a card.

    >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    >>> formula(a / b), formula(a**2), formula(2**a), formula((a - b).tanh()), formula(a)
    ('a / b', 'a^2', '2^a', 'tanh(5)', '')
"""

from __future__ import annotations

import html
from typing import Any

from micrograd.draw.style import MINUS, TIMES, number, sign
from micrograd.draw.tokens import DARK, LIGHT, SANS
from micrograd.engine import Value

INFIX = {"+", MINUS, TIMES, "/", "^"}
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
    """The card as HTML, light or dark like the reader's system.

    >>> card(Value(2.0, label="x")).count("</b>")
    2
    """
    light, dark = (STYLE.format(sans=SANS, **colours) for colours in (LIGHT, DARK))
    name = " = ".join(filter(None, (value.label, formula(value))))
    head = f'<span class="whole">{html.escape(str(name))}</span>' if name else ""
    data, grad = (html.escape(number(x)) for x in (value.data, value.grad))
    return (
        f"<style>{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"
        f'<span class="value-card">{head}<i>data</i><b>{data}</b>'
        f'<i>grad</i><b class="grad">{grad}</b></span>'
    )


def formula(value: Value) -> str:
    """How a Value was computed from its operands, called by their labels or numbers; '' for a leaf.

    >>> formula(Value(1.0, label="x") / 4)
    'x / 4'
    """
    names = [str(v.label) or number(v.data) for v in value._prev]
    op: Any = sign(value._op)
    if names and names[0].startswith(MINUS) and ("^" in op or (len(names) == 1 and op == MINUS)):
        names[0] = f"({names[0]})"  # the square of -2 is not -2^2
    if len(names) == 2 and op in INFIX:
        return f" {op} ".join(names)
    if len(names) == 1 and (op in INFIX or "^" in op):
        return f"{names[0]}{op}" if op.startswith("^") else f"{op}{names[0]}"
    return f"{op}({', '.join(names)})" if names else ""
