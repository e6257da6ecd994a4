"""Drawings by calls: what the boxes are, and that they are few enough to read."""

import random

import pytest
from own_classes import Recorded, classes
from pictures import names

from micrograd import Module, Value, calls, draw_dot, explain, mermaid, topological_order, values
from micrograd.losses import cross_entropy
from micrograd.nn import Linear

MLP = classes(Value)


class Net(Module):
    def __init__(self):
        self.fc1, self.fc2 = Linear(2, 3), Linear(3, 2)

    def __call__(self, X):
        return self.fc2(self.fc1(X).relu())


def mean_loss(net, X, y):
    return sum(cross_entropy(row, t) for row, t in zip(net(X), y, strict=True)) / len(y)


def classified(n):
    return calls(mean_loss, Net(), [[random.random()] * 2 for _ in range(n)], [0, 1] * (n // 2))


def spring(steps=100):
    x, v = Value(1.0, label="x"), Value(0.0)
    k = Value(2.0, label="k")
    for _ in range(steps):
        v = v - k * x * 0.05
        x = x + v * 0.05
    return x


def recurrent(xs):
    W = [[Value(random.random()) for _ in range(4)] for _ in range(4)]
    h = [Value(0.0)] * 4
    for x in xs:
        h = [(sum(w * hj for w, hj in zip(row, h, strict=True)) + x).tanh() for row in W]
    return sum(h)


def newton():
    c = Value(2.0, label="c")

    def f(x):
        return x * x - c

    def df(x):
        return 2 * x

    x = Value(1.0, label="start")
    for _ in range(5):
        x = x - f(x) / df(x)
    return x


def matrices():
    X = values([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    W = values([[1.0], [2.0]])
    return ((X @ W - 1.0) ** 2).mean()


PROGRAMS = {
    "the lecture's network": lambda: calls(MLP(3, [4, 4, 1]), [2.0, 3.0, -1.0]),
    "10 points": lambda: classified(10),
    "64 points": lambda: classified(64),
    "a recurrent network": lambda: calls(recurrent, [0.5] * 6),
    "a spring": lambda: calls(spring),
    "Newton's method": lambda: calls(newton),
    "matrices": lambda: calls(matrices),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_view_has_at_most_25_cards(name):
    assert 1 < len(names(PROGRAMS[name](), level=None)) <= 25


def test_a_network_shows_its_layers_and_each_layer_its_neurons_with_their_parameters():
    model = MLP(3, [4, 4, 1])
    y = calls(model, [2.0, 3.0, -1.0])
    assert names(y, level=None) == ["layers[0]", "layers[1]", "layers[2]"]
    assert {f"neurons[{i}]" for i in range(4)} <= {*names(y, level="layers[0]")}
    x = [Value(1.0), Value(2.0)]
    model = MLP(2, [2, 1])
    y = calls(model, x)
    assert names(y, level=None)[:2] == ["x₁", "x₂"]
    assert {"L0.n0.b", "L0.n0.w"} <= {*names(y, level="neurons[0]")}  # nothing else uses them


def test_a_larger_batch_gives_the_same_picture():
    for n in (10, 64):
        assert {"fc1", "ReLU", "fc2"} <= {*names(classified(n), level="Net")}


def test_a_simulation_is_a_loop_of_steps():
    shown = names(calls(spring, 10), level=None)
    assert [name for name in shown if name.startswith("step")] == [
        f"step {k + 1}" for k in range(10)
    ]
    assert "k" in shown


def test_a_card_tells_plain_arguments_or_else_what_is_inside():
    def scaled(x, by, name="scale"):
        return (x * by).tanh() + 1.0

    def both(x):
        return scaled(x, 2.0) * scaled(x * x, by=3)

    text = draw_dot(calls(both, Value(0.5)), level=0).source
    assert "by=2, name=scale" in text
    assert "by=3, name=scale" in text
    assert "fc1, ReLU, fc2" in draw_dot(classified(10)).source


def test_what_a_loop_computes_is_called_by_its_variable(shown):
    x = calls(newton)
    with shown(explain(x)) as page:
        assert page.locator("#formula").inner_text().startswith("x = x4")


def test_steps_contain_the_functions_called_in_them_and_every_node_is_in_one():
    y = calls(newton)
    assert {"f", "df", "− start₂", "/"} <= {*names(y, level="step 2")}
    assert len(names(y, level="op")) == len(topological_order(y))


def test_matrices_are_named_as_in_the_source():
    y = calls(matrices)
    assert [name for name in names(y, level=None) if len(name) < 5][-4:] == ["@", "−", "x²", "mean"]


def test_a_level_is_a_depth_or_a_function():
    model = MLP(3, [2, 1])
    y = calls(model, [2.0, 3.0, -1.0])
    assert "neurons[1]" in names(y, level=1)
    for draw in (draw_dot, mermaid, explain):
        with pytest.raises(ValueError, match=r"not a function that was called.*expected a depth"):
            draw(y, level="attention")
        with pytest.raises(ValueError, match="not a function that was called"):
            draw(Value(1.0) + 1.0, level="attention")


# ---- the page


def unfold(page, name):
    page.locator(f'#graph [aria-label="Unfold {name}"]').first.dispatch_event("click")


def names_on(page):
    return [
        card.get_attribute("aria-label").removeprefix("Unfold ")
        for card in page.locator('#graph [aria-label^="Unfold "]').all()
    ]


def test_the_page_opens_by_calls_and_one_step_is_a_box(shown):
    model = MLP(3, [4, 4, 1])
    with shown(explain(calls(model, [2.0, 3.0, -1.0]))) as page:
        assert names_on(page) == ["layers[0]", "layers[1]", "layers[2]"]
        steps = int(page.locator("#slider").get_attribute("max"))
        assert steps == 3 + 1 + 3 + 1  # forward, seed, backward, end
        page.keyboard.press("End")
        assert "0.0" not in page.locator("#alarm").text_content()
        unfold(page, "layers[1]")
        assert "neurons[3]" in names_on(page)
        text = page.locator("body").inner_text()
        assert "v1" not in text.split()


def test_an_opened_box_is_shown_alone_if_there_are_too_many_cards(shown):
    model = MLP(3, [9, 9, 9, 1])
    y = calls(model, [2.0, 3.0, -1.0])
    with shown(explain(y), width=1920, height=1080) as page:
        for layer in range(3):
            unfold(page, f"layers[{layer}]")
        assert "neurons[8]" in names_on(page)
        assert "all after" in names_on(page)
        assert len(names_on(page)) <= 25
        data = page.evaluate("page.model.steps.d.at(-1)")
        assert data == pytest.approx(y.item(), rel=1e-12)
        unfold(page, "all after")  # back
        assert "all after" not in names_on(page)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_view_fits_and_every_opened_box_fits_in_its_width(shown, name):
    open_all = """() => {
        const {levels, boxes} = page.model;
        const [wide, seen] = [[], new Set()];
        if (!page.stage.fits()) wide.push("first view");
        const {stage} = page; // a column of many cards can be longer: it is moved
        const look = what => stage.needs(stage.k).width <= stage.size.width + 1 || wide.push(what);
        for (const j of boxes.keys()) {
            const path = levels.around(j).map(k => boxes[k].label.replace(/\\d+/g, ""));
            if (boxes[j].kind === "outside" || seen.has(`${path}`)) continue;
            seen.add(`${path}`);
            showBoxes(usuallyOpen(page.model));
            for (const k of levels.around(j).reverse())
                if (!page.open.has(k) && page.model.view.items.has(`b${k}`)) unfoldBox(k);
            look(boxes[j].label);
        }
        return wide;
    }"""
    with shown(explain(PROGRAMS[name]()), width=960) as page:
        assert page.evaluate(open_all) == []
        letters = page.locator("#graph text").first.evaluate(
            "text => parseFloat(getComputedStyle(text).fontSize) * page.stage.k"
        )
        assert letters >= 11


def test_the_layers_of_another_engine_are_boxes_if_the_model_is_named():
    class Neuron:
        def __init__(self):
            self.w, self.b = [Recorded(0.5), Recorded(-2.0)], Recorded(1.0)

        def __call__(self, x):
            products = [w * Recorded(number) for w, number in zip(self.w, x, strict=True)]
            return products[0] + products[1] + self.b

    class Layer:
        def __init__(self):
            self.neurons = [Neuron() for _ in range(3)]

    layer = Layer()
    outputs = [[neuron(x) for neuron in layer.neurons] for x in ([1.0, 2.0], [3.0, 4.0])]
    loss = outputs[0][0] * outputs[0][1] + outputs[1][2] * outputs[1][0]
    text = draw_dot(loss, names={"net": [layer], "layer": layer}, level=0).source
    assert "2 examples" in text
    assert ">layer<" in text


def test_a_recurrent_network_is_a_loop_from_its_first_step_on():
    seq, w, u, b, h = [0.5, -1.0, 0.25, 1.0], Value(0.8), Value(-0.5), Value(0.1), Value(0.0)
    for x in seq:
        h = (w * x + u * h + b).tanh()
    text = draw_dot((h - 1.0) ** 2).source
    assert [f"step {k}" in text for k in range(1, 6)] == [True] * 4 + [False]
    assert ">h₀<" in text
    assert ">seq<" in text
    assert "0.5, −1, 0.25, 1" in text


def test_what_does_not_repeat_from_its_first_step_is_no_loop():
    x = Value(0.5)
    for k in range(8):
        x = (x.exp() if k in (0, 1, 3) else x.sin()) * 0.5 + x
    assert "loop" not in draw_dot(x, level=0).source
    y = Value(0.5)
    for _ in range(8):
        y = y.sin() * 0.5 + y
    assert "8 steps" in draw_dot(y, level=0).source


def test_a_long_loop_that_uses_its_state_more_than_once():
    x, a = Value(0.3), Value(3.7)
    for _ in range(200):
        x = a * x * (1 - x)
    assert "200 steps" in draw_dot(x, level=0).source


def test_steps_that_swap_what_they_use_are_no_loop_of_equal_steps():
    a, b, x = Value(0.1).exp(), Value(0.2).exp(), Value(0.3)
    for k in range(20):
        x = ((a if k % 2 else b) * x + (b if k % 2 else a)).tanh()
    assert "20 steps" not in draw_dot(x, level=0).source


def test_states_have_the_name_of_the_last_one(shown):
    a, x = Value(2.0), Value(1.0)
    for _ in range(4):
        x = (x + a / x) / 2
    with shown(explain(x)) as page:
        assert page.locator("#formula").inner_text().startswith("x = (x3 + a / x3) / 2")


def test_plain_inputs_are_shown_once_and_as_numbers(shown):
    x, n = [2.0, 3.0, -1.0], MLP(3, [4, 4, 1])
    with shown(explain(n(x)), width=1280, height=800) as page:
        page.keyboard.press("End")
        texts = page.locator("#graph text.few").all_text_contents()
        assert "2, 3, −1" in texts
        assert "x[0] (2)" not in page.content()
