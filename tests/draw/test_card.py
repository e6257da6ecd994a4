"""A notebook shows a Value as a card; the REPL shows its repr as before."""

import re
from fractions import Fraction

import pytest

from micrograd import Value


def text(value):
    """The words and numbers of a card."""
    return re.findall(
        r">([^<>]+)<", re.sub("<style>.*?</style>", "", value._repr_html_(), flags=re.S)
    )


def test_a_card_has_the_name_the_formula_and_both_numbers():
    d, f = Value(4.0, label="d"), Value(-2.0)
    product = d * f
    product.label = "L"
    product.backward()
    assert text(d) == ["d", "data", "4", "grad", "−2"]
    assert text(f) == ["data", "−2", "grad", "4"]
    assert text(product) == ["L = d × (−2)", "data", "−8", "grad", "1"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda a, b: a - b, "a − b"), (lambda a, b: -a, "−a"), (lambda a, b: a**-1, "a⁻¹"),
        (lambda a, b: a.maximum(b), "maximum(a, b)"), (lambda a, b: a.relu(), "ReLU(a)"),
        (lambda a, b: a**b, "a^b"), (lambda a, b: 1 + a, "1 + a"),
        (lambda a, b: Value(1.0, (a, b, b), "odd one"), "odd one(a, b, b)"),
    ],
)  # fmt: skip
def test_the_formula_shows_what_was_typed(value, expected):
    assert text(value(Value(2.0, label="a"), Value(3.0, label="b")))[0] == expected


def test_a_negative_base_is_in_parentheses():
    x = Value(-2.0)
    formulas = [text(v)[0] for v in (x**2, x**-1, x ** Value(3.0), -x, 1 - x, 2**x)]
    assert formulas == ["(−2)²", "(−2)⁻¹", "(−2)^3", "−(−2)", "1 − (−2)", "2^(−2)"]


def test_numbers_of_any_kind_and_hostile_labels():
    assert text(Value(Fraction(2, 3)))[1] == "2/3"
    assert text(Value(Value(2.0)))[1] == "2"
    assert "nan" in text(Value(float("nan")))
    assert "<script>" not in Value(1.0, label="<script>")._repr_html_()
    odd = Value(1.0)
    odd.label, odd.grad = None, "no number"
    assert text(odd) == ["data", "1", "grad", "no number"]


def test_jupyter_chooses_the_card_and_a_terminal_the_repr():
    formatters = pytest.importorskip("IPython.core.formatters")
    data, _ = formatters.DisplayFormatter().format(Value(2.0, label="x"))
    assert data["text/plain"] == "Value(data=2.0, grad=0)"
    assert data["text/html"] == Value(2.0, label="x")._repr_html_()
    assert "prefers-color-scheme:dark" in data["text/html"]
