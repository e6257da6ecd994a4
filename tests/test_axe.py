"""axe-core finds no violation of WCAG 2.2 AA on pages, in light and dark colours."""

import pytest

from micrograd import Value, draw_dot, explain, playground
from micrograd.datasets import moons
from micrograd.grade import grade
from micrograd.grade.classroom import Result
from micrograd.grade.points import POINTS
from micrograd.grade.student_page import student_page
from micrograd.nn import MLP

LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def result():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    out = (a * b + a).tanh()
    out.backward()
    return out


def drawing():
    head = '<!doctype html><html lang="en"><head><title>A drawing</title></head><body><main>'
    return f"{head}{draw_dot(result())._repr_html_()}</main></body></html>"


class Wrong:
    """Adds, but knows no gradient."""

    def __init__(self, data):
        self.data, self.grad = data, 0.0

    def __add__(self, other):
        return Wrong(self.data + other.data)

    def backward(self):
        self.grad = 2.0


def student():
    report = grade(Wrong)
    return student_page(Result("student", "engine.py", report, "student.html"), POINTS, 3)


PAGES = {  # what makes a page, and what is pressed on it
    "stepping": (lambda: explain(result()).html, []),
    "training": (lambda: playground().html, ["#paste"]),
    "a point": (lambda: playground(MLP(2, [3, 1]), *moons(10)).html, ["#next-point", "#one-step"]),
    "a script": (lambda: playground().html, ["#micrograd"]),
    "a graded engine": (student, []),
    "a drawing": (drawing, []),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(opened, tmp_path, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    make, presses = PAGES[name]
    path = tmp_path / "page.html"
    path.write_text(make(), encoding="utf-8")
    with opened(path, color_scheme=scheme) as page:
        for press in presses:
            page.click(press)
        options = {"runOnly": {"type": "tag", "values": LEVELS}}
        found = axe.run(page, options=options).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
