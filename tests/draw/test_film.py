"""Films of the backward pass, and drawings of one graph at several times."""

import io
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from micrograd import MLP, draw_dot, explain, topological_order
from micrograd.draw.tokens import DARK, LIGHT

DEMO = Path(__file__).parents[2] / "demos" / "backward_gif.py"


@pytest.fixture
def o():
    """The result of the lecture's neuron."""
    return runpy.run_path(str(DEMO))["neuron"]()


def layout(drawing):
    """The box around a drawing, and the places of its cards."""
    laid_out = json.loads(drawing.pipe("json0"))
    return laid_out["bb"], {node["name"]: node["pos"] for node in laid_out["objects"]}


def frames(gif):
    """The pictures of a GIF."""
    with Image.open(io.BytesIO(gif)) as film:
        for i in range(film.n_frames):
            film.seek(i)
            yield np.asarray(film.convert("RGB"))


@pytest.mark.parametrize("look", [{"rankdir": "TB"}, pytest.param({}, marks=pytest.mark.slow)])
def test_drawings_in_the_frame_of_the_last_one_do_not_jump(o, look):
    early = draw_dot(o, **look)
    o.backward()
    last = draw_dot(o, **look)
    nodes = topological_order(o)
    for node in nodes:
        node.grad = 0
    first = draw_dot(o, frame=last, **look)
    assert layout(first) == layout(last) != layout(early)
    o.grad = 1
    o._backward()
    assert layout(draw_dot(o, done=[o], frame=last, **look)) == layout(last)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_drawing_is_saved_light_or_dark(o, theme, tmp_path):
    path = draw_dot(o).save(tmp_path / "o.png", dark=theme is DARK)
    with Image.open(path) as picture:
        assert f"#{bytes(picture.convert('RGB').getpixel((1, 1))).hex()}" == theme["panel"]


@pytest.mark.slow
def test_the_film_of_a_page(o, tmp_path):
    o.backward()
    o._prev[0].grad = 7.0
    before = [node.grad for node in topological_order(o)]
    path = explain(o).save(tmp_path / "o.gif", dark=True)
    assert [node.grad for node in topological_order(o)] == before
    shown = list(frames(Path(path).read_bytes()))
    assert len(shown) == 3 + 5 * 11  # three texts; ten pictures on the way in each step
    assert len({picture.shape for picture in shown}) == 1
    panel = [*bytes.fromhex(DARK["panel"][1:])]
    assert shown[0][1, 1].astype(int) == pytest.approx(
        panel, abs=4
    )  # all pictures have one palette
    explain(o).save(f"{tmp_path / 'slides'}/")
    slides = sorted(path.name for path in (tmp_path / "slides").iterdir())
    assert slides == [f"{i:03}.png" for i in range(1, 9)]  # one for each text and each step


def test_a_graph_too_large_for_a_film_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"at most 100 nodes, got 179: save a \.html page"):
        explain(MLP(2, [16, 1])([1.0, 2.0])).save(tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []
