"""Drawings as readers see them in a browser: in light and dark pages, and in a notebook's cell."""

import random
import re

import pytest

from micrograd import Value, draw_dot, draw_network, topological_order
from micrograd.draw.tokens import DARK, LIGHT
from micrograd.nn import MLP

LEAST = 11  # pixels


def network(*sizes):
    random.seed(1)
    model, x = MLP(sizes[0], list(sizes[1:]), activation="tanh"), [Value(0.8), Value(-0.5)]
    loss = (model(x) - 1.0) ** 2
    loss.backward()
    return {"model": model, "x": x, "loss": loss}


def drawing(name):
    """One drawing of each kind."""
    names = network(2, 3, 1)
    loss = names["loss"]
    if name == "states":
        order = topological_order(loss)
        return draw_dot(loss, names=names, level="op", highlight=order[3:5], done=order[-4:])
    if name == "network":
        return draw_network(names["model"], names["x"])
    level, edges = name.split()
    return draw_dot(loss, names=names, level=level, edges=edges)


KINDS = ["op plain", "op derivatives", "neuron plain", "layer plain"]
KINDS += ["op symbols", "states", "network"]


def saved(tmp_path, html, name="page.html"):
    path = tmp_path / name
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{html}", encoding="utf-8")
    return path


def inline(dot):
    svg = dot.pipe("svg", encoding="utf-8")
    return svg[svg.index("<svg") :]


PAINTS = """() => [...document.querySelectorAll('svg.drawing *, svg[class^=drawing] *')].flatMap(
    e => ['fill', 'stroke'].filter(p => e.hasAttribute(p) && e.getAttribute(p) != 'none')
        .map(p => [e.getAttribute(p), getComputedStyle(e)[p]]))"""


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize("kind", KINDS)
def test_every_colour_is_a_token_and_has_a_dark_one(opened, tmp_path, kind):
    path = saved(tmp_path, inline(drawing(kind)))
    dark_of = {light: DARK[token] for token, light in LIGHT.items()}
    with opened(path) as page:
        assert all(shown == rgb(written) for written, shown in page.evaluate(PAINTS))
    with opened(path, color_scheme="dark") as page:
        paints = page.evaluate(PAINTS)
    assert len(paints) > 20
    assert all(shown == rgb(dark_of[written]) for written, shown in paints)


def test_equal_drawings_are_equal_files():
    x, y = Value(1.0), Value(1.0)
    assert draw_dot(x * x, names={}).pipe() == draw_dot(y * y, names={}).pipe()
    assert draw_dot(x * x, names={}).pipe() != draw_dot(y + y, names={}).pipe()


def test_an_svg_opens_as_a_file_and_as_an_image(opened, tmp_path):
    dot = drawing("op plain")
    path = dot.save(tmp_path / "o.svg")
    width = float(re.search(r'width="([\d.]+)pt"', dot.pipe(encoding="utf-8"))[1]) * 4 / 3
    with opened(tmp_path / "o.svg") as page:
        assert page.evaluate("document.documentElement.tagName") == "svg"
        box = page.evaluate("document.documentElement.getBoundingClientRect().width")
        assert box == pytest.approx(width, abs=1)
    html = saved(tmp_path, "<style>body{margin:0}</style><canvas></canvas>")
    for scheme, colours in (("light", LIGHT), ("dark", DARK)):
        with opened(html, color_scheme=scheme) as page:
            pixel = page.evaluate(PIXEL, inline_data(dot))
        assert tuple(pixel[:3]) == tuple(int(colours["panel"][i : i + 2], 16) for i in (1, 3, 5))
    assert path.endswith("o.svg")


PIXEL = """source => new Promise(resolve => {
    const image = new Image();
    image.onload = () => {
        const drawing = document.querySelector("canvas").getContext("2d");
        drawing.drawImage(image, 0, 0);
        resolve([...drawing.getImageData(2, 2, 1, 1).data]);
    };
    image.src = source;
})"""


def inline_data(dot):
    return re.search(r'src="(data:.*?)"', dot._repr_html_())[1]


# ---- widths

IMAGE = """() => {
    const image = document.querySelector("img"), cell = image.parentElement;
    return [image.getBoundingClientRect().width, image.naturalWidth, cell.clientWidth,
            cell.scrollWidth];
}"""


@pytest.mark.parametrize("kind", ["op plain", "neuron plain", "layer plain", "network"])
def test_a_drawing_fits_into_the_cell_of_a_notebook(opened, tmp_path, kind):
    dot = drawing(kind)
    svg = dot.pipe(encoding="utf-8")
    letters = min(map(float, re.findall(r'font-size="([\d.]+)"', svg))) * 4 / 3
    # Chromium counts the data in the page as a request, which `opened` would report.
    with opened(saved(tmp_path, ""), width=1960) as page:
        for width in (390, 960, 1920):
            cell = f'<div style="width:{width}px">{dot._repr_html_()}</div>'
            page.evaluate("html => { document.body.innerHTML = html }", cell)
            page.wait_for_function("document.querySelector('img').complete")
            shown, natural, inside, scrolled = page.evaluate(IMAGE)
            assert shown <= natural + 1
            assert letters * shown / natural >= LEAST - 0.1
            assert inside == width
            if natural <= width:
                assert shown == pytest.approx(natural, abs=1)
            assert scrolled >= shown - 1  # nothing is cut off: what does not fit is scrolled to
            assert shown <= width + 1 or letters * shown / natural == pytest.approx(LEAST, abs=0.1)


# ---- nothing is clipped, and no arrow lies on a label

OVERFLOW = """() => [...document.querySelectorAll("g.node")].flatMap(node => {
    const shapes = [...node.querySelectorAll("polygon, path, ellipse")].map(s => s.getBBox());
    if (!shapes.length) return [];
    const right = Math.max(...shapes.map(b => b.x + b.width));
    const left = Math.min(...shapes.map(b => b.x));
    return [...node.querySelectorAll("text")].filter(t => t.textContent.trim()).map(t => {
        const box = t.getBBox();
        return [t.textContent, Math.max(box.x + box.width - right, left - box.x)];
    });
})"""


def extremes():
    """A graph with numbers as wide as they get."""
    x, w = Value(-1.235e-67, label="x"), Value(-2.743e-123, label="w")
    y = Value(-2.743e23) * (x / w) - 88888.0
    y.backward()
    return y


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@pytest.mark.parametrize("edges", ["plain", "derivatives"])
def test_no_number_is_wider_than_its_card(opened, tmp_path, edges, rankdir):
    y = extremes()
    with opened(saved(tmp_path, inline(draw_dot(y, edges=edges, rankdir=rankdir)))) as page:
        texts = page.evaluate(OVERFLOW)
    assert any("e−123" in text for text, _ in texts)
    assert [(text, over) for text, over in texts if over > 0] == []


CROSSED = """() => {
    const boxes = [...document.querySelectorAll("g.node")].map(node => {
        const b = node.getBBox();
        return [node.querySelector("title").textContent, b.x, b.y, b.x + b.width, b.y + b.height];
    });
    return [...document.querySelectorAll("g.edge")].flatMap(edge => {
        const path = edge.querySelector("path"), length = path.getTotalLength(), found = new Set();
        for (let i = 0; i <= 200; i++) {
            const p = path.getPointAtLength(length * i / 200);
            for (const [name, left, top, right, bottom] of boxes)
                if (p.x > left + 1.5 && p.x < right - 1.5 && p.y > top + 1.5 && p.y < bottom - 1.5)
                    found.add(name);
        }
        return [...found].map(name => `${edge.querySelector("title").textContent} on ${name}`);
    });
}"""


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@pytest.mark.parametrize("level", ["op", "neuron"])
def test_no_arrow_lies_on_a_card_and_so_on_a_label(opened, tmp_path, level, rankdir):
    names = network(2, 4, 3, 1)
    dot = draw_dot(names["loss"], names=names, level=level, edges="derivatives", rankdir=rankdir)
    assert not re.search(r"->.*label=", dot.source)
    with opened(saved(tmp_path, inline(dot))) as page:
        assert page.evaluate(CROSSED) == []
        assert page.evaluate("document.querySelectorAll('g.edge').length") > 20
