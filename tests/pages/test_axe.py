"""axe-core finds no violation of WCAG 2.2 AA on pages, in light and then dark colours."""

import random

import pytest
from browser import violations
from page_programs import TEXTS, Bigram

from micrograd import Value, draw_dot, explain, microscope, playground, plot, worksheet
from micrograd.datasets import drawn_digits, moons
from micrograd.grade import grade
from micrograd.nn import MLP


def result():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    out = (a * b + a).tanh()
    out.backward()
    return out


def in_a_notebook(shown):
    head = '<!doctype html><html lang="en"><head><title>A notebook</title></head><body><main>'
    return f"{head}{shown._repr_html_()}</main></body></html>"


class Wrong:
    """Adds, but knows no gradient."""

    def __init__(self, data):
        self.data, self.grad = data, 0.0

    def __add__(self, other):
        return Wrong(self.data + other.data)

    def backward(self):
        self.grad = 2.0


def recorded():
    X, y = moons(10)
    history = plot.animate(MLP(2, [3, 1]), X, y, names=["moon 1", "moon 2"])
    history.record(loss=0.5)
    return history.page().html


def tiny_language_model():
    random.seed(0)
    return microscope(Bigram(), "ab.", TEXTS).html


PAGES = {  # what makes a page, and what is pressed on it
    "stepping": (lambda: explain(result()).html, []),
    "training": (lambda: playground().html, ["#paste"]),
    "a point": (lambda: playground(MLP(2, [3, 1]), *moons(10)).html, ["#next-point", "#one-step"]),
    "a curve": (lambda: playground().html, ["[data-shape=curve]", "#next-point"]),
    "a table": (
        lambda: playground(MLP(64, [4, 10]), *drawn_digits(20)).html,
        ["#next-point", "[aria-label^='L0.n1']"],
    ),
    "a formula": (lambda: playground().html, ["[data-shape=formula]"]),
    "a script": (lambda: playground().html, ["#micrograd"]),
    "a graded engine": (lambda: in_a_notebook(grade(Wrong)), []),
    "a recorded run": (recorded, []),
    "a language model": (tiny_language_model, ["#gradients", "#one-step"]),
    "a drawing": (lambda: in_a_notebook(draw_dot(result())), []),
    "a worksheet": (lambda: worksheet(result()).html, []),
}


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(shown, name):
    make, presses = PAGES[name]
    with shown(make()) as page:
        for press in presses:
            page.click(press)
        assert violations(page) == []
        page.emulate_media(color_scheme="dark")
        assert violations(page) == []
