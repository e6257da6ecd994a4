"""Worksheets: what is left empty, what can be worked out by hand, and how it comes out on paper."""

import re
from fractions import Fraction

import pytest

from micrograd import Value, draw_dot, topological_order, worksheet
from micrograd.__main__ import main
from micrograd.pages.worksheet import exercise


def texts(picture):
    """The words and numbers on a drawing, without its description."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.pipe("svg", encoding="utf-8"))


def test_results_and_gradients_are_left_empty_but_leaves_stay():
    a, b = Value(2.0), Value(-3.0)
    y = (a * b) * a * 7
    y.backward()
    shown = texts(draw_dot(y, blanks=True))
    numbers = [text for text in shown if re.search(r"\d", text)]
    assert sorted(numbers) == ["2", "7", "−3"]
    assert shown.count("grad") == 5
    assert "∂y/∂" in " ".join(texts(draw_dot(y, blanks=True, edges="symbols")))
    with pytest.raises(ValueError, match="would show what blanks=True hides"):
        draw_dot(y, blanks=True, edges="derivatives")


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_exercises_have_small_numbers_and_the_same_ones_again(level):
    for seed in range(12):
        loss = exercise(level, seed)
        order = topological_order(loss)
        assert all(v.grad == 0 for v in order)
        loss.backward()
        for v in order:
            for x in Fraction(v.data), Fraction(v.grad):
                assert x
                assert abs(x) <= 40
                assert x.denominator <= (1 if level < 3 else 4)
        uses = [x for v in order for x in v._prev]
        assert (len(uses) > len({*uses})) == (level in (2, 3) or (level == 4 and seed % 2 == 1))
        again = topological_order(exercise(level, seed))
        assert [(v.label, v.data, v._op) for v in order] == [
            (v.label, v.data, v._op) for v in again
        ]
    assert len({repr(topological_order(exercise(level, seed))) for seed in range(12)}) > 9
    with pytest.raises(ValueError, match="a level from 1 to 4, got 5"):
        exercise(5)


def test_a_sheet_of_ones_own_graph_has_its_solution_and_leaves_it_alone():
    a, b = Value(2.0), Value(-3.0)
    c = a * b
    out = c + a
    a.grad = 5.0
    page = worksheet(out, title="Mine & yours").html
    assert (a.grad, out.grad) == (5.0, 0)
    assert "c = a × b; out = c + a" in page
    blank, solved = re.findall(r'alt="([^"]*)"', page)
    assert "a data 2 grad;" in blank
    assert "a data 2 grad −2;" in solved
    assert "<title>Mine &amp; yours</title>" in page
    with pytest.raises(ValueError, match="at least one loss, got none"):
        worksheet()
    with pytest.raises(TypeError):
        worksheet(3.0)


def test_the_command_writes_a_sheet_for_each_seed(tmp_path, capsys):
    paths = [tmp_path / f"{seed}.html" for seed in (7, 8)]
    for seed, path in zip("78", paths, strict=True):
        options = ["--level", "2", "--seed", seed, "--tasks", "1", "-o", str(path)]
        assert main(["exercise", *options]) == 0
    assert capsys.readouterr().out == "".join(f"{path}\n" for path in paths)
    first, second = (path.read_text(encoding="utf-8") for path in paths)
    assert "level 2, sheet 7" in first
    assert re.findall('alt="(.*?)"', first) != re.findall('alt="(.*?)"', second)


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize(("level", "pages"), [(1, 2), (2, 2), (3, 2), (4, 4)])
def test_solutions_are_on_paper_of_their_own(opened, tmp_path, paper, level, pages):
    path = tmp_path / "sheet.html"
    main(["exercise", "--level", str(level), "--seed", "7", "-o", str(path)])
    with opened(path, color_scheme="dark") as page:
        printed = page.pdf(format=paper, prefer_css_page_size=True)
        page.emulate_media(media="print")
        [(width, height)] = {*re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)}
        margins = 2 * 14 / 25.4 * 96
        look = {"width": int(float(width) / 72 * 96 - margins), "height": 600}
        page.set_viewport_size(look)
        zooms = page.evaluate("[...document.images].map(i => i.clientWidth / i.naturalWidth)")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == pages
    assert (float(width) > float(height)) == (level == 4)
    assert 10.5 * min(zooms) >= 9  # points
