"""Drawings: what one sees in the SVG, whatever the DOT text looks like."""

import gc
import math
import re
import weakref
import xml.etree.ElementTree as ET
from decimal import Decimal
from fractions import Fraction

import graphviz
import pytest
from sampling import thinned

import micrograd
from micrograd.draw.dot import draw_dot
from micrograd.draw.formulas import MINUS, number
from micrograd.draw.graph import LARGEST
from micrograd.draw.network import draw_network
from micrograd.draw.tokens import LIGHT
from micrograd.engine import Value, topological_order
from micrograd.nn import MLP, Activation, Layer, Linear, Neuron, Sequential

TIMES = "\N{MULTIPLICATION SIGN}"
POSITIVE, NEGATIVE = LIGHT["positive"], LIGHT["negative"]
SVG = "{http://www.w3.org/2000/svg}"


def small_network():
    """By name: a 2-2-1 network, its inputs, and its loss after the backward pass."""
    model = MLP(2, [2, 1], activation="tanh")
    for i, p in enumerate(model.parameters()):
        p.data = (-1) ** i * 0.25 * (i + 1)
    x = [Value(1.0), Value(-0.5)]
    loss = (model(x) - 1.0) ** 2
    loss.backward()
    return {"model": model, "x": x, "loss": loss}


def texts(dot):
    """The texts of the drawing, in the order of the SVG."""
    svg = ET.fromstring(dot.pipe(format="svg", encoding="utf-8"))
    return ["".join(e.itertext()).rstrip("\xa0") for e in svg.iter(f"{SVG}text")]


@pytest.fixture(autouse=True)
def _in_process(monkeypatch):
    """Draws with the library on every machine; test_render shows that `dot` does the same."""
    monkeypatch.setenv("PATH", "")


def test_the_cells_of_the_lecture(tmp_path):
    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(10.0, label="c")
    e = a * b
    e.label = "e"
    d = e + c
    d.label = "d"
    dot = micrograd.draw_dot(d)
    assert isinstance(dot, graphviz.Digraph)
    assert dot.render(tmp_path / "gout") == str(tmp_path / "gout.svg")
    assert dot._repr_mimebundle_()["image/svg+xml"].startswith("<?xml")
    assert {"a", "b", "c", "d", "e", "+", TIMES, f"{MINUS}6"} <= set(texts(dot))


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_operands_are_in_the_order_of_the_formula(rankdir):
    a, b = Value(1.0), Value(2.0)
    dot = draw_dot(b - a, names=locals(), rankdir=rankdir)
    svg = ET.fromstring(dot.pipe(encoding="utf-8"))
    place = {
        "".join(t.itertext()).strip("\xa0"): (float(t.get("x")), -float(t.get("y")))
        for t in svg.iter(f"{SVG}text")
    }
    # b comes first: left of a if arrows go down or up, above it if they go left or right
    if rankdir == "TB":
        assert place["b"][0] < place["a"][0]
    else:
        assert place["b"][1] > place["a"][1]


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.30000000000000004, "0.3"), (-0.0, "0"), (2.0, "2"), (0.123456, "0.1235"),
        (-1.5, "-1.5"), (3.2e-9, "3.2e-9"), (1e100, "1e100"), (-1234567.0, "-1.235e6"),
        (1e-17, "1e-17"), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"),
        (1, "1"), (Fraction(-1, 3), "-1/3"), (Fraction(1, 3**30), "4.857e-15"),
        (10**400, "1" + "0" * 22 + "…"), (Decimal("0.5"), "0.5"), (Value(Value(0.25)), "0.25"),
    ],
)  # fmt: skip
def test_numbers_have_four_significant_digits(x, text):
    assert number(x) == text.replace("-", MINUS)


@pytest.mark.parametrize(
    "label",
    [
        "{a|b}", "<b>", "</TD>", "a<b & c>d", '"quoted"', "it's", r"\N", r"\l \G \\", "\\", '"\\',
        "größe Ω 損失", "عربي", "&amp; &#65;", "]]>", "</script>", "x" * 200, "%", "node", "->",
    ],
)  # fmt: skip
def test_labels_are_drawn_as_given(label):
    assert label in texts(draw_dot(Value(1.0, label=label)))


def test_labels_of_several_lines_and_invalid_characters():
    assert texts(draw_dot(Value(1.0, label="one\ntwo\r\nthree")))[1:4] == ["one", "two", "three"]
    assert "a\ufffdb\ufffd" in texts(draw_dot(Value(1.0, label="a\0b\ud800")))


@pytest.mark.parametrize("data", [Fraction(2, 3), Value(2.0), Decimal("0.5")])
def test_data_of_every_kind_is_drawn(data):
    x = Value(data, label="x")
    y = x * x
    y.backward()
    drawn = texts(draw_dot(y))
    assert number(data) in drawn
    assert number(x.grad) in drawn


def test_clear_errors():
    y = Value(1.0) + 1.0
    for wrong in (3.0, [], [3.0], None, "y"):
        with pytest.raises(TypeError, match="a graph starts from a Value, got"):
            draw_dot(wrong)
    with pytest.raises(ValueError, match="rankdir 'lr' is not one of LR, TB"):
        draw_dot(y, rankdir="lr")
    with pytest.raises(ValueError, match=r"unknown format: 'jpeg2' \(must be one of .*svg"):
        draw_dot(y, format="jpeg2")
    with pytest.raises(TypeError, match=r"use names=locals\(\)"):
        draw_dot(y, names=["y"])


def test_a_graph_too_large_to_lay_out_is_drawn_by_its_parts_and_says_so():
    x = Value(1.0)
    for _ in range(LARGEST):
        x = -x
    leaves = [Value(1.0) for _ in range(100)]
    many_arrows = Value(1.0, [Value(1.0, leaves, "f") for _ in range(100)], "g")
    for root in (x, many_arrows):
        assert draw_dot(root).source.count("->") < 150
    assert "too large for level" in draw_dot(x, level="op").source
    assert "too large" not in draw_dot(-Value(1.0), level="op").source


def rules(dot):
    """The rows of the chain rule on the cards, in the order of nodes and operands."""
    rows = re.findall(r"<TD[^>]*>((?:<FONT[^>]*>[^/]*(?:</B>)?</FONT>)+)</TD>", dot.source)
    local = f'<FONT COLOR="{LIGHT["local"]}">'
    texts = (re.sub("<.*?>", "", row) for row in rows if row.startswith(local))
    return [text.replace("\xa0", " ") for text in texts]


def arrows(dot):
    return [line for line in dot.source.splitlines() if "->" in line]


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_the_chain_rule_on_the_arrows(rankdir):
    a = Value(3.0, label="a")
    c = a * a - 2 * a
    before = draw_dot(c, rankdir=rankdir, edges="derivatives")
    assert rules(before) == ["3", "3", "2", "1", f"{MINUS}1"]  # constants have no derivative
    c.backward()
    gradients = [v.grad for v in micrograd.topological_order(c)]
    after = draw_dot(c, rankdir=rankdir, edges="derivatives")
    assert rules(after) == [
        f"3 {TIMES} 1 = 3",
        f"3 {TIMES} 1 = 3",
        f"2 {TIMES} {MINUS}1 = {MINUS}2",
        f"1 {TIMES} 1 = 1",
        f"{MINUS}1 {TIMES} 1 = {MINUS}1",
    ]
    assert [v.grad for v in micrograd.topological_order(c)] == gradients
    assert not any(rules(draw_dot(c, rankdir=rankdir)))
    with pytest.raises(ValueError, match="edges 'all' is not one of plain, derivatives, symbols"):
        draw_dot(c, edges="all")


def test_mermaid_escapes_labels():
    hostile = Value(1.0, label='<b> "q" `x`; # {|} é')
    line = micrograd.mermaid(hostile).splitlines()[1]
    inside = line.partition('"')[2].rpartition('"')[0].replace("<br>", "")
    assert not set(inside.replace("#", "")) & set('<>"`{}|()[]')
    assert "é" in inside
    assert micrograd.mermaid(hostile, rankdir="TB").startswith("flowchart TB\n")
    with pytest.raises(ValueError, match="rankdir 'XY' is not one of"):
        micrograd.mermaid(hostile, rankdir="XY")


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_a_label_of_white_space_can_be_drawn(rankdir):
    labels = ["\t", "\t\t", "\r", "\n", " ", "\n\t\n", "\x0b", "\u2028"]
    leaves = [Value(6.0, label=label) for label in labels]
    named = [Value(6.0) for _ in labels]
    computed = [Value(6.0, (v,), v.label) for v in (*leaves, *named)]
    drawing = draw_dot(computed, rankdir=rankdir, names=dict(zip(labels, named, strict=True)))
    assert drawing.pipe("svg", encoding="utf-8").count(">6<") == 4 * len(labels)
    assert micrograd.mermaid(computed).startswith("flowchart")


# ---- neurons, layers and networks


def lines(dot):
    """Colour and width of each arrow or line, by its two ends; None for the defaults."""
    found = {}
    for text in arrows(dot):
        ends = tuple(re.search(r"(\w+) -> (\w+)", text).groups())
        colour, width = re.search(r'color="(.{7})', text), re.search(r"penwidth=([\d.]+)", text)
        found[ends] = (colour and colour[1], width and float(width[1]))
    return found


def test_lines_into_neurons_show_sign_and_size_of_the_weight():
    neuron = Neuron(3, nonlin=False)
    for w, data in zip(neuron.w, (2.0, -1.0, 0.0), strict=True):
        w.data = data
    dot = draw_dot(neuron([1.0, 2.0, 3.0]), level="neuron")
    assert any("lines are weights" in text for text in texts(dot))
    found = lines(dot)
    assert [colour for colour, _ in found.values()] == [POSITIVE, NEGATIVE, POSITIVE]
    assert [width for _, width in found.values()] == [2.6, 1.4, 0.2]


def test_neurons_are_shaded_by_their_outputs():
    layer = Layer(1, 4, nonlin=False)
    for neuron, w in zip(layer.neurons, (4.0, 2.0, 0.0, -4.0), strict=True):
        neuron.w[0].data = w
    source = draw_dot(layer([1.0]), level="neuron", names={}).source
    cards = [line for line in source.splitlines() if "Layer.n" in line]
    assert len({re.search(r'BGCOLOR="(.+?)"', card)[1] for card in cards}) == 4


@pytest.mark.parametrize("rankdir", [pytest.param("LR", marks=pytest.mark.slow), "TB"])
@pytest.mark.parametrize("level", ["op", "neuron", "layer"])
def test_each_level_is_drawn_in_each_direction(level, rankdir):
    names = small_network()
    dot = draw_dot(names["loss"], names=names, level=level, rankdir=rankdir)
    svg = dot.pipe(encoding="utf-8")
    assert svg.count('class="edge"') == len(arrows(dot))
    assert "loss" in texts(dot)


def test_tangents_instead_of_gradients():
    x, y = Value(2.0, label="x"), Value(3.0, label="y")
    f = 3 * x**2 + x * y
    dot = draw_dot(f, edges="derivatives", tangents={x: 1.0})
    assert rules(dot) == [
        f"4 {TIMES} 1 = 4", f"3 {TIMES} 4 = 12", f"3 {TIMES} 1 = 3", f"2 {TIMES} 0 = 0",
        f"1 {TIMES} 12 = 12", f"1 {TIMES} 3 = 3",
    ]  # fmt: skip
    shown = texts(dot)
    assert shown.count("tangent") == 6
    assert not {"grad", "no gradients yet: call backward()"} & set(shown)
    assert [v.grad for v in topological_order(f)] == [0] * 7
    assert not any(rules(draw_dot(f, tangents={x: 1.0})))
    for wrong in (x, [x], {"x": 1.0}):
        with pytest.raises(TypeError, match=r"use tangents=\{x: 1\.0\}"):
            draw_dot(f, tangents=wrong)


def test_a_level_that_does_not_exist():
    model = MLP(2, [2, 1])
    with pytest.raises(ValueError, match="level 'neurons' is not a function that was called"):
        draw_dot(model([1.0, 2.0]), level="neurons")
    x = Value(1.0)
    assert "no neurons in this graph" in draw_dot(x * x, level="layer").source


def test_layers_in_a_circle_are_drawn():
    cell, h = Layer(2, 2), [Value(0.5), Value(-0.5)]
    for _ in range(5):
        h = [a + 1.0 for a in cell(h)]
    assert texts(draw_dot(h, level="layer")).count("2 → 2") == 5


@pytest.mark.parametrize("level", thinned(["neuron", "layer"], 2))
@pytest.mark.parametrize(
    "label", ['"<b>&', "{a|b}", "\\N \\", "عربي", "x" * 200, "a\nb", "]]>", "\0", "\ud800"]
)
def test_hostile_names_of_models_are_text(label, level):
    model = MLP(1, [2, 1])
    svg = ET.fromstring(draw_dot(model([1.0]), names={label: model}, level=level).pipe())
    tooltips = [a.get("{http://www.w3.org/1999/xlink}title") for a in svg.iter(f"{SVG}a")]
    drawn = " ".join([*("".join(e.itertext()) for e in svg.iter(f"{SVG}text")), *tooltips])
    assert label.split("\n")[-1].translate({0: "\ufffd", 0xD800: "\ufffd"}) in drawn
    assert micrograd.mermaid(model([1.0]), names={label: model}, level=level).encode()


PICTURES = {
    "dot": draw_dot, "by parts": lambda loss: draw_dot(loss, level=1), "card": Value._repr_html_,
    "mermaid": micrograd.mermaid, "page": micrograd.explain,
}  # fmt: skip


@pytest.mark.parametrize("kind", PICTURES)
def test_a_graph_is_freed_at_once_after_it_was_drawn(kind):
    def drawn():
        loss = (MLP(2, [3, 1])([Value(1.0), 2.0]) - 1.0) ** 2
        PICTURES[kind](loss)
        return weakref.ref(loss)

    drawn()  # loads modules
    gc.collect()
    gc.disable()
    try:
        assert drawn()() is None
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_the_classic_picture():
    dot = draw_network(MLP(2, [4, 4, 1], activation="tanh"))
    svg = dot.pipe(encoding="utf-8")
    assert (svg.count("<ellipse"), svg.count('class="edge"')) == (11, 2 * 4 + 4 * 4 + 4)
    assert [t for t in texts(dot) if t[0] in "0123456789"] == [
        "2 inputs", "4 tanh", "4 tanh", "1 linear",
    ]  # fmt: skip
    assert micrograd.draw_network is draw_network


def test_circles_show_the_outputs_of_their_neurons():
    model = Sequential(Linear(1, 2), Activation("relu"), Linear(2, 1, bias=False))
    for p, data in zip(model.parameters(), (2.0, -2.0, 0.5, 0.0, 1.0, 1.0), strict=True):
        p.data = data
    shown = texts(draw_network(model, x=[1]))
    numbers = [text for text in shown if re.fullmatch(r"[\d.]+", text)]
    assert sorted(numbers) == ["0", "1", "2.5", "2.5"]
    assert any(text.startswith("solid circles are ReLU neurons that fired") for text in shown)
    assert "0.5" in texts(draw_network(Neuron(1, nonlin=False), 0.5))


@pytest.mark.parametrize("size", [64, pytest.param(784, marks=pytest.mark.slow)])
def test_wide_layers_show_the_first_and_the_last(size):
    model = Sequential(Linear(size, 32), Activation("relu"), Linear(32, 10))
    dot = draw_network(model)
    shown = texts(dot)
    assert {f"{size} inputs", str(size - 16), "32 ReLU", "16", "10 linear"} <= set(shown)
    assert dot.pipe(encoding="utf-8").count("<ellipse") == 16 + 16 + 10


def test_stages_of_a_forward_pass_have_one_size_and_no_later_outputs():
    model, x = MLP(2, [3, 1]), [0.5, -0.25]
    stages = [draw_network(model, x, done=done) for done in range(3)]
    numbers = [sum(bool(re.fullmatch(f"{MINUS}?[\\d.e{MINUS}]+", text)) for text in texts(stage))
               for stage in stages]  # fmt: skip
    assert numbers == [2, 2 + 3, 2 + 3 + 1]
    sizes = {re.search(r'viewBox="(.*?)"', stage._repr_image_svg_xml())[1] for stage in stages}
    assert len(sizes) == 1
    for wrong in ({"x": x, "done": 3}, {"done": 0}):
        with pytest.raises(ValueError, match=r"done expects x and 0 to 2 layers, .*, got"):
            draw_network(model, **wrong)


def test_names_and_numbers_in_the_classic_picture():
    model, x = MLP(2, [3, 1]), [0.5, -0.25]
    weights = [w for layer in model.layers for neuron in layer.neurons for w in neuron.w]
    shown = texts(draw_network(model, numbers=True, names="xhy"))
    assert {f"{w.data:.2g}".replace("-", MINUS) for w in weights} <= {*shown}
    assert shown.count("b = 0") == 4
    assert {"x₁", "x₂", "h₁", "h₂", "h₃", "y₁"} <= {*shown}
    generic = texts(draw_network(MLP(3, [4, 2]), names=["x_M", "h_J", "y_K"]))
    assert {"M inputs", "J ReLU", "K linear", "x₁", "x₂", "h₃"} <= {*generic} - {"x₃"}
    assert generic.count("⋮") == 3
    named = draw_network(model, x, names=[["age", "size"], "h", ["price"]], done=["h2"])
    assert {"age", "0.5", "size", "h₂", "price"} <= {*texts(named)}
    assert re.findall(r"c(\d_\d) .*penwidth=3", named.source) == ["1_1"]
    for wrong in ({"names": "xh"}, {"names": ["x", ["a"], "y"]}, {"names": ["x_M"]},
                  {"done": ["h2"]}, {"done": ["h2", "y1"], "names": "xhy"},
                  {"done": ["h2", "h9"], "names": "xhy"}):  # fmt: skip
        with pytest.raises(ValueError, match=r"^(names|done) expects"):
            draw_network(model, x, **wrong)


def test_clear_errors_of_draw_network():
    for model, message in (
        (Sequential(Linear(2, 1), sum), "got Sequential.*: pass such a part of it"),
        (Sequential(), r"begins with neurons, got Sequential\(\): pass"),
        (Activation("relu"), r"begins with neurons, got Activation\('relu'\): pass"),
        (3.0, "got 3.0"),
    ):
        with pytest.raises(ValueError, match=message):
            draw_network(model)
    with pytest.raises(ValueError, match="expects 2 inputs, got 3"):
        draw_network(Linear(2, 2), [1.0, 2.0, 3.0])


def test_mermaid_puts_named_groups_into_frames():
    x, w = Value(1.0), Value(2.0)
    h = x * w
    text = micrograd.mermaid(h - 1.0, groups={"Inputs": [x, w], "Middle": h})
    frames = [line.split('"')[1] for line in text.splitlines() if "subgraph" in line]
    assert frames == ["Inputs", "Middle"]
    inputs = text.partition("Inputs")[2].partition("end")[0]
    assert "x<br>" in inputs
    assert "w<br>" in inputs
    assert "-->|②|" in text


def test_a_picture_tells_numbers_that_do_not_belong_together():
    x, w = Value(2.0), Value(3.0)
    y = x * x + w
    y.backward()
    assert "added" not in draw_dot(y).source
    w.grad += 1.0  # of another graph
    y.backward()
    assert "added" not in draw_dot(y).source
    y.zero_grad()
    y.backward()
    y.backward()
    assert "2 backward passes were added up" in draw_dot(y).source
    x.data = 5.0
    source = draw_dot(y).source
    assert "data changed after the forward pass" in source
    assert source.count(">now<") == 2  # of x * x, and of y
    assert ">28<" in source
    assert ">28<" in y._repr_html_()
    assert "now" not in draw_dot(y, numbers=False).source
    unknown = Value(float("nan")) * x
    unknown.backward()
    assert "added" not in draw_dot(unknown, edges="derivatives").source
