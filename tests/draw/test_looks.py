"""What drawings show where one asks: states of the backward pass, formulas, names, levels."""

import json
import random
import re
import xml.etree.ElementTree as ET

import pytest
from pictures import names

from micrograd import Value, draw_dot, explain, mermaid, topological_order
from micrograd.derivatives import recompute
from micrograd.draw.graph import READABLE
from micrograd.draw.tokens import LIGHT
from micrograd.nn import MLP, Linear, Neuron, Sequential
from micrograd.optim import SGD

TIMES, DOT = "\N{MULTIPLICATION SIGN}", "\N{BULLET}"
SOLID = f'BGCOLOR="{LIGHT["ink"]}"'
MARKED = f'BGCOLOR="{LIGHT["mark"]}"'


def texts(dot):
    """The texts of each card, by the name of its node."""
    found = {}
    for name, label in re.findall(r"^\t(\w+) \[label=<(.*)>(?: \w+=.*)?\]$", dot.source, re.M):
        words = re.findall(r">([^<>]+)<", label.replace("&#160;", ""))
        found[name] = [word.replace("\xa0", " ").strip() for word in words]
    return found


def with_look(dot, look):
    """The names of the nodes whose cards have this look."""
    cards = re.findall(r"^\t(\w+) \[label=<(.*)$", dot.source, re.M)
    return [name for name, card in cards if look in card]


def caption(dot):
    label = dot.graph_attr["label"][1:-1]
    return re.sub(r"<.*?>", " ", label.replace("&#x27;", "'")).replace("\xa0", " ")


def line():
    """x * w + b through tanh, with names."""
    x, w, b = Value(2.0, label="x"), Value(-3.0, label="w"), Value(1.0, label="b")
    u = x * w
    v = u + b
    L = v.tanh()
    u.label, v.label, L.label = "u", "v", "L"
    return x, w, b, u, v, L


# ---- states of the backward pass


def test_highlighted_cards_have_a_yellow_frame():
    x, w, b, u, _, L = line()
    assert with_look(draw_dot(L, highlight=[x, [u]]), MARKED) == ["v0", "v2"]
    assert with_look(draw_dot(L, highlight=L), MARKED) == ["v5"]
    assert with_look(draw_dot(L, highlight={w, b}, rankdir="TB"), MARKED) == ["v1", "v3"]
    assert not with_look(draw_dot(L), MARKED)


@pytest.mark.parametrize("argument", ["highlight", "done", "parameters"])
@pytest.mark.parametrize("wrong", ["x", 3.0, ["x"], [Value(1.0), None]])
def test_only_values_can_be_highlighted(argument, wrong):
    with pytest.raises(TypeError, match=f"{argument} expects Values, or lists of Values, got"):
        draw_dot(Value(1.0) + 1.0, **{argument: wrong})


@pytest.mark.parametrize("argument", ["highlight", "done"])
def test_a_value_of_another_graph_cannot_be_highlighted(argument):
    with pytest.raises(ValueError, match=f"{argument} expects Values of the graph, got Value"):
        draw_dot(Value(1.0) + 1.0, **{argument: Value(2.0)})


def test_the_stages_of_a_backward_pass():
    x, w, _, u, v, L = line()
    L.grad = 1.0
    done = []
    for node, solid, known in (
        (L, ["v5"], {"L", "v"}),
        (v, ["v4", "v5"], {"L", "v", "u", "b"}),
        (u, ["v2", "v4", "v5"], {"L", "v", "u", "b", "x", "w"}),
    ):
        node._backward()
        done.append(node)
        dot = draw_dot(L, done=done)
        assert with_look(dot, SOLID) == solid
        shown = {words[-5]: words[-1] for words in texts(dot).values()}  # name, data, ., grad, .
        assert {name for name, grad in shown.items() if grad != DOT} == known
        assert "solid cards have passed on their gradient" in caption(dot)
        assert "no gradients yet" not in caption(dot)
    assert x.grad == L.grad * (1 - L.data**2) * w.data


def test_the_caption_says_nothing_wrong_about_gradients():
    x, *_, L = line()
    dot = draw_dot(L)
    assert "no gradients yet: call backward()" in caption(dot)
    assert {words[-1] for words in texts(dot).values()} == {DOT}
    x.grad = 5.0
    dot = draw_dot(L)
    assert "no gradients yet" not in caption(dot)
    assert "only leaves have gradients, left over from before: call backward()" in caption(dot)
    assert texts(dot)["v0"][-1] == "5"
    assert texts(dot)["v5"][-1] == DOT
    L.grad = 1.0
    assert "backward()" not in caption(draw_dot(L))


# ---- symbols


def test_a_graph_without_numbers():
    *_, L = line()
    assert list(texts(draw_dot(L, numbers=False)).values()) == [
        ["x"], ["w"], [TIMES, "u"], ["b"], ["+", "v"], ["tanh", "L"],
    ]  # fmt: skip
    found = texts(draw_dot(L * 2.0, numbers=False))
    assert found["v6"] == ["2"]  # a constant is its number
    assert "backward()" not in caption(draw_dot(L, numbers=False))


def test_symbols_of_the_chain_rule():
    *_, L = line()
    dot = draw_dot(L, edges="symbols", numbers=False)
    rows = [" ".join(words) for words in texts(dot).values()]
    assert rows[2] == f"∂L/∂u · ∂u/∂x {TIMES} u ∂L/∂u · ∂u/∂w"
    assert rows[5] == "tanh ∂L/∂v L"  # the gradient of the result is 1
    arrows = [line for line in dot.source.splitlines() if "->" in line]
    assert all(f'color="{LIGHT["gradient"]}" dir=back' in line for line in arrows)
    with pytest.raises(ValueError, match="edges='symbols' expects one result, got 2"):
        draw_dot([L, L * 2.0], edges="symbols")
    x = Value(1.0)
    found = texts(draw_dot(x * x, edges="symbols", names={}))
    assert found["v0"][0] == "v1"
    assert found["v1"].count("∂v2/∂v1") == 2


def test_a_power_is_written_alike_everywhere():
    x = Value(3.0, label="x")
    for power, shown in ((x**2, "x²"), (x**-1, "x⁻¹"), (x**0.5, "x^0.5")):
        assert texts(draw_dot(power))[f"v{len(power._prev)}"][0] == shown
        assert f">{shown}<" in power._repr_html_()
        assert f'"sign":{json.dumps(shown)}' in explain(power).html
        assert shown.replace("^", "#94;") in mermaid(power)


# ---- names


def network(*sizes, examples=1):
    random.seed(1)
    model = MLP(*(sizes or (2, [3, 1])), activation="tanh")
    x = [[Value(random.random()), Value(random.random())] for _ in range(examples)]
    loss = sum((model(row) - 1.0) ** 2 for row in x)
    loss.backward()
    return {"model": model, "x": x, "loss": loss}


def test_parameters_have_short_names_and_long_tooltips():
    names = network()
    dot = draw_dot(names["loss"], names=names, level="op")
    assert {"L0.n2.w1", "L1.n0.b", "x[0][1]"} <= {words[0] for words in texts(dot).values()}
    svg = ET.fromstring(dot.pipe())
    tooltips = {a.get("{http://www.w3.org/1999/xlink}title") for a in svg.iter() if "a" in a.tag}
    assert {f"model.{name}" for name, _ in names["model"].named_parameters()} <= tooltips


def test_short_names_are_distinct():
    a, b, neuron, linear = MLP(1, [2, 1]), MLP(1, [2, 1]), Neuron(1), Linear(2, 1)
    assert "a.L0.n1.w0" in names(a([1.0]) + b([1.0]), names={"a": a, "b": b})
    bias = Value(0.0)
    assert "neuron.b" in names(neuron([bias]), names={"neuron": neuron, "b": bias})
    assert "linear.weight[0][1]" in names(linear([1.0, 2.0]), names={"linear": linear})


def test_a_parameter_has_the_same_short_name_in_drawings_and_on_pages():
    model = Sequential(Linear(3, 2), Linear(2, 1))
    [out] = model([1.0, 2.0, 3.0])
    assert "M0.w1,2" in {words[0] for words in texts(draw_dot(out, names=locals())).values()}
    assert '"M0.w1,2"' in explain(out, names=locals()).html


# ---- levels


@pytest.mark.parametrize(
    ("sizes", "examples", "level"),
    [
        ((2, [2, 1]), 1, "op"),
        ((2, [8, 8, 1]), 1, "neuron"),
        ((2, [50, 50, 1]), 1, "layer"),
    ],
)
def test_the_level_is_as_deep_as_one_can_read(sizes, examples, level):
    given = network(*sizes, examples=examples)
    nodes = len(topological_order(given["loss"]))
    dot = draw_dot(given["loss"], names=given)
    assert len(texts(dot)) <= READABLE
    kinds = {"op": "L0.n0.w0", "neuron": "L0.n0", "layer": "L0"}
    assert kinds[level] in {word for words in texts(dot).values() for word in words[:2]}
    said = caption(dot)
    assert (f"{nodes:,} values, a card for each {level}" in said) is (level != "op")
    assert ("level='op') draws each value" in said) is (level == "neuron")


# ---- numbers that fit together


def squared_error():
    """The Values of (w x + b - y)^2, and the loss after a backward pass."""
    names = {name: Value(x) for name, x in (("w", 2.0), ("x", 3.0), ("b", 1.0), ("y", 10.0))}
    L = (names["w"] * names["x"] + names["b"] - names["y"]) ** 2
    L.backward()
    return names, L


def sums(dot):
    """For each arrow of a chain rule, the local derivative, the gradient and the contribution."""
    rows = " | ".join(" ".join(words) for words in texts(dot).values())
    return re.findall(rf"(\S+) {TIMES} (\S+) = (\S+)", rows)


def test_gradients_of_other_data_are_told_and_no_chain_rule_is_made_of_them():
    names, L = squared_error()
    assert "do not" not in caption(draw_dot(L, names=names, edges="derivatives"))
    SGD([names["w"], names["b"]], lr=0.01).step()
    recompute(L)
    dot = draw_dot(L, names=names, edges="derivatives")
    assert "backward()" in caption(dot)
    assert "zero_grad()" in caption(dot)
    assert {(upstream, share) for _, upstream, share in sums(dot)} <= {(DOT, DOT)}
    for leaf in names.values():
        leaf.grad = 0
    L.backward()
    dot = draw_dot(L, names=names, edges="derivatives")
    assert "backward()" not in caption(dot)
    assert DOT not in {x for numbers in sums(dot) for x in numbers}


def test_gradients_that_pile_up_in_constants_are_no_reason_for_dots():
    x = Value(3.0)
    y = (2 * x - 1) ** 2
    for _ in range(2):
        x.grad = 0  # the gradients of 2 and 1 stay
        y.backward()
        dot = draw_dot(y, edges="derivatives")
        assert "do not" not in caption(dot)
        assert DOT not in {number for numbers in sums(dot) for number in numbers}
    y.backward()  # now x, too, has piled up
    dots = caption(draw_dot(y, edges="derivatives"))
    assert "call loss.zero_grad(), then loss.backward()" in " ".join(dots.split())


def test_a_part_of_a_larger_graph_has_no_chain_rule():
    x = Value(3.0)
    h = x * x
    part = h * 2.0
    (part + h).backward()
    assert {share for *_, share in sums(draw_dot(part, edges="derivatives"))} == {DOT}


def test_a_frozen_parameter_looks_like_the_others_and_has_no_gradient():
    neuron = Neuron(2)
    neuron.w[0].requires_grad = False
    out = neuron([Value(1.0, label="a"), Value(2.0, label="b")])
    out.backward()
    drawn = draw_dot(out, names={"neuron": neuron}, edges="derivatives").source
    frozen, free = (next(line for line in drawn.splitlines() if f">w{i}<" in line) for i in "01")
    assert "dots" not in drawn
    assert frozen.split("COLOR")[1] == free.split("COLOR")[1]  # the frame of a parameter
