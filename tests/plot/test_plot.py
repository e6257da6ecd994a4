"""What holds for every figure: the axes it is drawn on, Matplotlib's state, and its file."""

import matplotlib
import pytest
from colours import contrast
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from plotting import LABELS, POINTS, line
from sampling import thinned

from micrograd.datasets import moons
from micrograd.draw.tokens import DARK, LIGHT
from micrograd.plot import (
    check_path,
    decision_boundary,
    loss_curve,
    save,
    training_figure,
)
from micrograd.plot.figure import MARKERS, class_shades


def test_axes_that_are_given_are_drawn_on():
    figure = Figure()
    one, two = figure.subplots(1, 2)
    assert decision_boundary(line, POINTS, LABELS, ax=one) is one
    assert loss_curve([1.0], ax=two) is two
    assert figure.axes == [one, two]


@pytest.mark.slow
def test_settings_backend_and_open_figures_are_as_before(tmp_path):
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams), plt.get_fignums()
    save(training_figure(line, POINTS, LABELS, [0.7]), tmp_path / "picture.svg")
    assert (dict(matplotlib.rcParams), plt.get_fignums()) == before


# ---- light and dark

FIGURES = {
    "training_figure": lambda dark: training_figure(line, POINTS, LABELS, [0.7, 0.5], dark=dark),
}


@pytest.mark.parametrize("dark", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("name", FIGURES)
def test_all_text_can_be_read_on_the_ground(name, dark):
    figure = FIGURES[name](dark)
    figure.draw_without_rendering()
    ground = to_hex(figure.get_facecolor())
    assert ground == (DARK if dark else LIGHT)["panel"]
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert len(texts) > 5
    for text in texts:
        assert contrast(to_hex(text.get_color()), ground) >= 4.5, text
        assert text.get_fontsize() * figure.dpi / 72 >= 11  # pixels in a notebook


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_classes_are_drawn_in_different_colours_with_a_border_that_is_seen(theme):
    fills = [theme[f"class-{k}"] for k in range(8)]
    assert len({*fills}) == len({*MARKERS}) == 8
    for fill, shade in zip(fills, map(to_hex, class_shades(theme)), strict=True):
        assert max(contrast(fill, shade), contrast(LIGHT["ink"], shade)) > 2.5
        assert contrast(theme["ink"], shade) >= 4.5


def test_colours_follow_the_ground_of_a_given_figure():
    for ground, theme in (("black", DARK), ("white", LIGHT), ("none", LIGHT)):
        figure = Figure(facecolor=ground)
        one, two = figure.subplots(1, 2)
        loss_curve([0.7, 0.5], ax=one)
        decision_boundary(line, POINTS, LABELS, ax=two)
        assert one.lines[0].get_color() == theme["ink"]
        points = two.collections[-1]
        assert to_hex(points.get_facecolor()[0]) == theme["class-1"]


def test_notebooks_show_the_figure():
    assert loss_curve([1.0]).figure._repr_png_().startswith(b"\x89PNG")


# ---- files


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("picture.png", b"\x89PNG"),
        ("picture.SVG", b"<?xml"),
        pytest.param("picture.pdf", b"%PDF", marks=pytest.mark.slow),
        pytest.param("pic.ture.jpg", b"\xff\xd8", marks=pytest.mark.slow),
    ],
)
def test_the_ending_says_the_format_and_nothing_else_is_left(tmp_path, name, start):
    check_path(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    save(loss_curve([1.0, 0.5]).figure, str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.slow
@pytest.mark.parametrize("kind", thinned(["svg", "png", "pdf"], 3))
def test_the_same_figure_gives_the_same_file(tmp_path, kind):
    X, y = moons(10)
    for name in ("a", "b"):
        save(training_figure(line, X, y, [0.7, 0.5]), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


@pytest.mark.parametrize("name", ["picture", "picture.docx", "picture.", ".png"])
def test_endings_that_cannot_be_written_are_refused_with_those_that_can(tmp_path, name):
    with pytest.raises(ValueError, match=r"expected one of the endings .*\.pdf \.png .*\.svg"):
        check_path(tmp_path / name)
    with pytest.raises(ValueError, match="expected one of the endings"):
        save(loss_curve([1.0]).figure, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
