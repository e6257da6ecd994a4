"""The page of live training: what is in the file, what it computes, and what people do with it."""

import math
import random
import re

import numpy as np
import pytest
from browser import assert_print_is_light, colours, drawn, until
from page_programs import LOSSES
from plotting import HOSTILE

import micrograd
from micrograd import SGD, Adam, AdamW, Linear, Sequential, Value, playground
from micrograd.core.tracing import TraceError
from micrograd.datasets import blobs, drawn_digits, moons
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy, squared_error
from micrograd.nn import MLP, Activation, Module

X, Y = moons(40)


def saved(page, folder):
    return folder / page.save(folder / "play.html").rpartition("/")[2]


def press(page, what, **options):
    """Clicks on what a selector finds, or on a locator, and waits until the answer is drawn."""
    page.click(what, **options) if isinstance(what, str) else what.click(**options)
    drawn(page)


def key(page, name):
    """Presses a key, and waits until the answer is drawn."""
    page.keyboard.press(name)
    drawn(page)


def set_to(model, numbers):
    for p, number in zip(model.parameters(), numbers, strict=True):
        p.data = number


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    return saved(playground(), tmp_path_factory.mktemp("page"))


# ---- agreement with the engine and the optimizers


class Pair(Module):
    """A model that is no MLP: two products, a bend, a choice, and a parameter used twice."""

    def __init__(self):
        self.a, self.b, self.c = Value(0.7), Value(-0.4), Value(0.2)
        self.layer = Linear(2, 2)

    def forward(self, x):
        u, v = self.layer(x)
        product = self.a * u * u + self.b * v.sin()
        return product + self.c * micrograd.where(x[0] > 0.3, u, v) + self.a


def mlp(*sizes, **options):
    random.seed(3)
    return MLP(*sizes, **options)


class Doubled(MLP):
    """A network with a forward of its own."""

    def forward(self, x):
        return super().forward(x) * 2.0


MODELS = {
    "tanh": lambda: mlp(2, [5, 4, 1], activation="tanh"),
    "relu": lambda: mlp(2, [6, 1]),
    "sigmoid": lambda: mlp(2, [4, 1], activation="sigmoid"),
    "linear": lambda: mlp(2, [1]),
    "other": Pair,
    "doubled": lambda: Doubled(2, [3, 1]),
    "sequence": lambda: Sequential(Linear(2, 4), Activation("relu"), Linear(4, 3)),
}
OPTIMIZERS = {
    "sgd": lambda p: SGD(p, lr=0.3),
    "decay": lambda p: SGD(p, lr=0.3, weight_decay=0.01),
    "momentum": lambda p: SGD(p, lr=0.05, momentum=0.8, weight_decay=0.01),
    "adam": lambda p: Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.01),
    "adamw": lambda p: AdamW(p, lr=0.05, weight_decay=0.1),
}


def trained(model, X, labels, loss_of, targets, optimizer, steps=20):
    for _ in range(steps):
        loss = sum(loss_of(model(x), targets(k)) for x, k in zip(X, labels, strict=True)) / len(X)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [p.data for p in optimizer.parameters]


def after(opened, folder, page, steps):
    """The parameters on a page after these steps."""
    with opened(saved(page, folder)) as shown:
        shown.evaluate(f"page.train({steps})")
        return shown.evaluate("page.numbers()")


@pytest.mark.parametrize(
    ("model", "optimizer", "loss"),
    [
        ("tanh", "sgd", "cross-entropy"),
        ("tanh", "decay", "hinge"),
        ("relu", "momentum", "squared error"),
        ("sigmoid", "adam", "own"),
        ("linear", "adamw", "cross-entropy"),
        ("other", "adam", "hinge"),
        ("doubled", "sgd", "cross-entropy"),
        ("sequence", "sgd", "several classes"),
    ],
)
def test_twenty_steps_agree_with_the_engine(tmp_path, opened, model, optimizer, loss):
    random.seed(7)
    points, labels = blobs(30, classes=3) if loss == "several classes" else (X, Y)
    model = MODELS[model]()
    loss_of, targets = LOSSES[loss]
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    trained(model, points, labels, loss_of, targets, optimizer, steps=3)  # it has moments now
    page = playground(model, points, labels, loss=loss_of, optimizer=optimizer)
    with opened(saved(page, tmp_path)) as shown:
        assert shown.evaluate("page.numbers()") == [p.data for p in model.parameters()]
        shown.evaluate("page.train(20)")
        found = shown.evaluate("page.numbers()")
    expected = trained(model, points, labels, loss_of, targets, optimizer)
    assert found == pytest.approx(expected, rel=1e-12)


ROWS = [[math.sin(3 * i + k) for k in range(5)] for i in range(12)]
KINDS = [i % 3 for i in range(12)]
TABLES = {
    "classes": (lambda: mlp(5, [4, 3], activation="tanh"), ROWS, KINDS, cross_entropy),
    "images": (lambda: mlp(64, [5, 10]), *drawn_digits(20), cross_entropy),
    "numbers": (lambda: mlp(5, [4, 1], activation="sigmoid"), ROWS,
                [a * b for a, b, *_ in ROWS], squared_error),
    "function": (lambda: Doubled(5, [3, 1]), ROWS, [a * b for a, b, *_ in ROWS], squared_error),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_any_number_of_inputs_trains_as_in_python_and_the_table_shows_the_answers(
    tmp_path, opened, name
):
    random.seed(4)
    make, X, y, loss = TABLES[name]
    model = make()
    optimizer = SGD(model.parameters(), lr=0.03)
    with opened(saved(playground(model, X, y, optimizer=optimizer), tmp_path)) as page:
        page.evaluate("page.train(20)")
        found = page.evaluate("page.numbers()")
        press(page, "#table tr >> nth=3")
        row = page.locator("#table tr >> nth=3").inner_text().split("\t")
        said = page.inner_text("#details").replace("−", "-")
        assert page.is_hidden("#boundary")
    assert found == pytest.approx(trained(model, X, y, loss, lambda k: k, optimizer), rel=1e-9)
    scores = [z.data for z in np.atleast_1d(model(X[2]))]
    assert ", ".join(f"{z:.4g}" for z in scores) in said
    if loss is squared_error:
        expected = [y[2], scores[0], scores[0] - y[2]]
        assert [float(x.replace("−", "-")) for x in row[-3:]] == pytest.approx(expected, rel=1e-2)
    else:
        guess = scores.index(max(scores))
        assert row[-3:] == [str(y[2]), str(guess), "✓" if guess == y[2] else "✗ wrong"]


def test_a_neuron_with_many_inputs_shows_its_sum(tmp_path, opened):
    model = mlp(64, [5, 10], activation="tanh")
    X, y = drawn_digits(20)
    with opened(saved(playground(model, X, y), tmp_path)) as page:
        press(page, "[aria-label^='L0.n3']")
        said = page.inner_text("#details").replace("−", "-")
        assert f"makes it {model.layers[0](X[0])[3].data:.4g}" in said
        press(page, "#details td button")
        assert "Weight" in page.get_by_label("Weight", exact=True).get_attribute("aria-label")


@pytest.mark.parametrize("kind", ["mlp", "function"])
@pytest.mark.parametrize("loss", [squared_error, lambda z, y: (z - y).tanh() ** 2])
def test_a_curve_trains_as_in_python(tmp_path, opened, kind, loss):
    xs, ys = [-1.0, 0.0, 0.5, 2.0], [1.0, -0.5, 0.25, 3.0]
    model = mlp(1, [4, 1], activation="tanh")
    w, b = Value(0.5), Value(0.1)
    called, parameters = model, model.parameters()
    if kind == "function":
        called, parameters = (lambda x: w * x[0] * x[0] + b), [w, b]
    page = playground(called, xs, ys, loss=loss)
    with opened(saved(page, tmp_path)) as shown:
        shown.fill("#rate", "0.1")
        shown.keyboard.press("Tab")
        shown.evaluate("page.train(20)")
        found = shown.evaluate("page.numbers()")
    points, optimizer = [[x] for x in xs], SGD(parameters, lr=0.1)
    expected = trained(called, points, ys, loss, float, optimizer)
    assert found == pytest.approx(expected, rel=1e-12)


def test_what_is_detached_is_right_for_large_scores(tmp_path, opened):
    model, points = MLP(2, [1]), [[1.0, 1.0], [-1.0, -2.0]]
    model.load_state_dict(dict.fromkeys(model.state_dict(), 900.0))
    with opened(saved(playground(model, points, [0, 1]), tmp_path)) as shown:
        shown.evaluate("page.train(1)")
        found = shown.evaluate("page.numbers()")
    loss, optimizer = binary_cross_entropy_with_logits, SGD(model.parameters(), lr=0.3)
    expected = trained(model, points, [0, 1], loss, int, optimizer, steps=1)
    assert found == pytest.approx(expected, rel=1e-12)


def test_an_update_rule_changed_in_python_changes_the_page(tmp_path, opened, monkeypatch):
    def twice_as_far(self, p, g, state, lr):
        return p - 2 * lr * g, {}

    def moves(name):
        page = playground(mlp(2, [1]), X, Y)
        with opened(saved(page, tmp_path)) as shown:
            shown.select_option("#optimizer", name)
            before = shown.evaluate("page.numbers()")
            shown.evaluate("page.train(1)")
            return [b - a for a, b in zip(before, shown.evaluate("page.numbers()"), strict=True)]

    usual = moves("SGD")
    monkeypatch.setattr(SGD, "rule", twice_as_far)
    assert moves("SGD") == pytest.approx([2 * x for x in usual], rel=1e-9)


def test_a_network_made_larger_on_the_page_is_the_one_python_makes(tmp_path, opened):
    page = playground(mlp(2, [3, 1], activation="tanh"), X, Y)
    with opened(saved(page, tmp_path)) as shown:
        shown.click("[aria-label='Add a neuron to layer 1']")
        press(shown, "[aria-label='Add a layer']")
        before = shown.evaluate("page.numbers()")
        shown.evaluate("page.train(5)")
        found = shown.evaluate("page.numbers()")
    model = MLP(2, [4, 4, 1], activation="tanh")
    set_to(model, before)
    loss, optimizer = binary_cross_entropy_with_logits, SGD(model.parameters(), lr=0.3)
    assert found == pytest.approx(trained(model, X, Y, loss, int, optimizer, steps=5), rel=1e-12)


# ---- the file


def test_the_page_is_small_and_draws_no_random_number():
    random.seed(0)
    state = random.getstate()
    page = playground()
    assert random.getstate() == state
    assert len(page.html.encode()) < 290_000
    assert len(playground(MLP(2, [16, 16, 1]), X * 10, Y * 10).html.encode()) < 500_000
    assert "{{" not in page.html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda: ("model",), "expects a model that can be called, got 'model'"),
        (lambda: (MLP(3, [1]),), "got a model of 3 inputs and no X: pass X and y"),
        (lambda: (MLP(3, [1]), X, Y), "expects a model of 2 inputs, got 3"),
        (lambda: (MLP(2, [1]), X[:3], [0, 1, 2]), "a model of 3 outputs, got 1: build it as in"),
        (lambda: (MLP(64, [10]), [[[0.0] * 8] * 8], [0]), r"shape \(1, 8, 8\): pass X.reshape"),
        (lambda: (MLP(2, [1]), [1.0, 2.0], [1.0, 2.0]), "expects a model of 1 inputs, got 2"),
        (lambda: (MLP(1, [1]), [1.0, 2.0], [1.0]), "a number for each of 2 points, got 1"),
        (lambda: (MLP(1, [2]), [1.0, 2.0], [1.0, 2.0]), "a model of 1 output, got 2"),
        (lambda: (MLP(2, [1]), X, Y[:3]), "y expects 40 labels, one for each point, got"),
        (lambda: (MLP(2, [1]), X, Y, None, ["a"]), "a name for each of 2 classes"),
    ],
)
def test_what_it_cannot_show_is_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        playground(*arguments())


def test_what_it_cannot_train_is_refused():
    model = MLP(2, [1])
    with pytest.raises(TraceError, match="where"):
        playground(lambda x: model(x) if x[0] > 0 else model(x) * 2.0)
    with pytest.raises(ValueError, match="without nesterov"):
        playground(model, optimizer=SGD(model.parameters(), momentum=0.9, nesterov=True))
    with pytest.raises(ValueError, match="optimizer expects the parameters of the model"):
        playground(model, optimizer=SGD(MLP(2, [1]).parameters()))
    with pytest.raises(TypeError, match=r"expected Values computed from the inputs, got 1\.0"):
        playground(lambda x: [1.0])


def test_hostile_names_and_titles_are_text(tmp_path, opened):
    model = mlp(2, [3, 6])
    labelled = Value(0.5, label=HOSTILE[0])
    pages = [
        playground(model, [[0.0, k / 6] for k in range(6)], list(range(6)), names=HOSTILE,
                   title=HOSTILE[0]),
        playground(lambda x: x[0] * labelled, X, Y, names=HOSTILE[:2], title="{{js}}"),
    ]  # fmt: skip
    for number, page in enumerate(pages):
        with opened(saved(page, tmp_path), width=390) as shown:
            press(shown, "#next-point")
            assert shown.evaluate("document.querySelectorAll('b b, script').length") == 2
            assert shown.evaluate("document.documentElement.scrollWidth") <= 390
            assert shown.text_content("h1") == [HOSTILE[0], "{{js}}"][number]
            shown.evaluate("page.train(3)")
            found = shown.eval_on_selector_all("#legend bdi", "all => all.map(e => e.textContent)")
            assert found == HOSTILE[: 6 if number == 0 else 2]


# ---- what people do


def test_buttons_and_keys_train_and_undo(ready, opened):
    with opened(ready) as page:
        start = page.evaluate("page.numbers()")
        press(page, page.get_by_role("button", name="One step"))
        one = page.evaluate("page.numbers()")
        assert "step 1 ·" in page.text_content("#figures")
        assert one != start
        key(page, "ArrowRight")
        assert "step 2 ·" in page.text_content("#figures")
        for name, step in (("PageDown", 3), ("PageUp", 2)):  # as a presenter's remote does
            key(page, name)
            assert f"step {step} ·" in page.text_content("#figures")
        page.focus("#noise")
        key(page, "ArrowLeft")  # steps back and does not turn the slider
        assert page.evaluate("page.numbers()") == one
        assert page.input_value("#noise") == "0.1"
        press(page, page.get_by_role("button", name="Undo"))
        assert page.evaluate("page.numbers()") == start
        assert page.is_disabled("#undo")
        page.focus("#rate")
        key(page, "ArrowRight")  # a text field keeps the key
        assert page.evaluate("page.numbers()") == start
        page.keyboard.press("ArrowUp")
        assert page.input_value("#rate") == "0.5"


def test_lines_say_how_their_weights_moved(ready, opened):
    texts = "[...document.querySelectorAll('#network text')].map(text => text.textContent)"
    with opened(ready, hash="#net=") as page:
        before = page.evaluate("page.numbers()")
        press(page, "#one-step")
        after = page.evaluate("page.numbers()")
        moves = [f"{before[i]:.3g} → {after[i]:.3g}".replace("-", "−") for i in (0, 1)]
        assert sorted(page.evaluate(texts)) == sorted(moves)
        press(page, "#again")
        assert page.evaluate(texts) == []


def test_the_page_tells_what_a_step_did(ready, opened):
    with opened(ready) as page:
        told = page.text_content("#said")
        assert told.startswith("105 parameters: 88 weights (the lines) and 17 biases.")
        press(page, "#one-step")
        high, low = page.evaluate("page.state().curves.loss")
        said = page.text_content("#said").replace("−", "-")
        assert said.startswith(f"The loss fell from {high:.3f} to {low:.3f}. ")
        marked = r"\(marked line\): \S+: (\S+) - (\S+) × (\S+) = (\S+)\.$"
        w, rate, g, result = (float(x.strip("()")) for x in re.search(marked, said).groups())
        assert w - rate * g == pytest.approx(result, 1e-3)
        assert min(abs(x - result) for x in page.evaluate("page.numbers()")) < 1e-3 * abs(result)
        page.select_option("#optimizer", "Adam")
        press(page, "#one-step")
        assert " → " in page.text_content("#said")
        for _ in range(3):
            page.click("#undo")
        drawn(page)
        assert page.text_content("#said") == told


def test_it_trains_until_the_loss_is_small(ready, opened):
    with opened(ready) as page:
        page.select_option("#pace", "50")
        page.click("#train")
        until(page, "page.state().training.steps > 600")
        page.click("#train")
        steps = page.evaluate("page.state().training.steps")
        assert page.evaluate("page.state().curves.loss.at(-1)") < 0.1
        assert page.evaluate("page.state().curves.accuracy.at(-1)") == 1
        page.wait_for_timeout(100)
        assert page.evaluate("page.state().training.steps") == steps
        page.click("#undo")  # all of it, at once
        drawn(page)
        assert "step 0 ·" in page.text_content("#figures")


def test_batches_and_other_settings_work_while_it_runs(ready, opened):
    with opened(ready) as page:
        page.click("#train")
        for choice, value in [("#batch", "1"), ("#optimizer", "Adam"), ("#decay", "0.001"),
                              ("#loss-name", "hinge"), ("#activation", "relu")]:  # fmt: skip
            page.select_option(choice, value)
            before = page.evaluate("page.state().training.steps")
            until(page, f"page.state().training.steps > {before}")
        page.fill("#rate", "0.01")
        page.keyboard.press("Enter")
        page.click("#train")
        settings = page.evaluate("page.state().settings")
        found = [settings[name] for name in ("rate", "batch", "optimizer", "loss")]
        assert found == [0.01, 1, "Adam", "hinge"]


def test_neurons_and_layers_are_added_and_removed(ready, opened):
    with opened(ready) as page:
        sizes = "page.state().sizes"
        page.evaluate("page.train(5)")
        boundary = "document.querySelector('#boundary').toDataURL()"
        press(page, "[aria-label='Remove a neuron from layer 1']")
        assert page.evaluate(sizes) == [2, 7, 8, 1]
        before, losses = page.evaluate(boundary), "page.state().curves.loss.at(-1)"
        loss = page.evaluate(losses)
        press(page, "[aria-label='Add a neuron to layer 1']")
        assert page.evaluate(sizes) == [2, 8, 8, 1]
        assert page.evaluate(losses) == pytest.approx(loss, rel=1e-12)  # nothing listens to it yet
        assert page.evaluate(boundary) == before
        assert page.locator(".neuron").count() == 19
        page.click("[aria-label='Remove a layer']")
        press(page, "[aria-label='Remove a layer']")
        assert page.evaluate(sizes) == [2, 1]
        assert page.is_disabled("[aria-label='Remove a layer']")
        press(page, "[aria-label='Add a layer']")
        assert page.evaluate(sizes) == [2, 4, 1]
        page.evaluate("page.train(5)")
        for _ in range(6):
            page.click("#undo")
        drawn(page)
        assert page.evaluate(sizes) == [2, 1]


def test_a_point_flows_through_the_network(tmp_path, opened):
    model = mlp(2, [3, 1], activation="tanh")
    with opened(saved(playground(model, X, Y), tmp_path)) as page:
        x, y = page.evaluate(
            "[geometry().across(page.state().examples[4].numbers[0]), "
            "geometry().up(page.state().examples[4].numbers[1])]"
        )
        press(page, "#boundary", position={"x": x, "y": y})
        assert page.evaluate("page.state().chosen.point") == 4
        score = model(X[4])
        loss = binary_cross_entropy_with_logits(score, Y[4])
        loss.backward()
        text = page.text_content("#details").replace("−", "-")
        assert f"{score.data:.4g}" in text
        assert f"{loss.data:.4g}" in text
        below = page.text_content("[aria-label^='L1.n0'] span").replace("−", "-")
        assert f"{score.data:.2g}{score.grad:.2g}" == below


def test_a_neuron_steps_through_its_operations_and_its_weights_can_be_turned(tmp_path, opened):
    model = mlp(2, [3, 1], activation="tanh")
    with opened(saved(playground(model, X, Y), tmp_path)) as page:
        press(page, "[aria-label^='L0.n1']")
        cards = page.locator("#opened-graph .card")
        spoken = "[...document.querySelectorAll('#opened-graph .card')].map(c => c.ariaLabel)"
        assert cards.count() == 11
        assert all(text.endswith("gradient ·") for text in page.evaluate(spoken))
        key(page, "ArrowRight")  # from the neuron that was pressed
        assert page.text_content("#opened-count") == "1 of 14"
        assert page.locator("#opened-graph .name").all_text_contents().count("w₁x₁") == 1
        assert " × " in page.text_content("#opened-said")
        assert "step 0 ·" in page.text_content("#figures")  # the network did not train
        press(page, "#opened-all")
        loss = binary_cross_entropy_with_logits(model(X[0]), Y[0])
        loss.backward()
        neuron, found = model.layers[0].neurons[1], page.evaluate(spoken)
        for name, p in zip(("w₁", "w₂", "b"), (*neuron.w, neuron.b), strict=True):
            (text,) = (text for text in found if text.startswith(f"{name}, parameter"))
            assert text.replace("−", "-").endswith(f"data {p.data:.4g}, gradient {p.grad:.4g}")
        before = page.evaluate("page.numbers()")
        page.focus("#opened-graph .parameter >> nth=0")
        key(page, "ArrowUp")
        after = page.evaluate("page.numbers()")
        assert after == [*before[:3], pytest.approx(before[3] + 0.1, abs=1e-3), *before[4:]]
        key(page, "Escape")
        assert not page.is_visible("#arithmetic")


def test_a_weight_shows_its_update_and_is_set_by_hand(tmp_path, opened):
    model = mlp(2, [3, 1], activation="tanh")
    optimizer = Adam(model.parameters(), lr=0.05)
    trained(model, X, Y, binary_cross_entropy_with_logits, int, optimizer, steps=2)
    page_of = playground(model, X, Y, optimizer=optimizer)
    w = model.layers[0].neurons[1].w[0]
    with opened(saved(page_of, tmp_path)) as page:
        line = page.locator("#network .line").nth(2 * 1 + 0).locator("path").first
        middle = "line.getPointAtLength(line.getTotalLength() / 2)"
        place = line.evaluate(f"line => {{const {{x, y}} = {middle}; return {{x, y}};}}")
        press(page, "#network > svg", position=place)
        assert "L0.n1.w0" in page.text_content("#details")
        before = page.evaluate("page.numbers()")
        trained(model, X, Y, binary_cross_entropy_with_logits, int, optimizer, steps=1)
        text = page.text_content("#details").replace("−", "-")
        i = model.parameters().index(w)
        for number in (w.grad, *(optimizer._parameters.state(name)[i] for name in "ms"), w.data):
            mantissa, exponent = f"{number:.3e}".split("e")
            small = f"{float(mantissa):g}e{int(exponent)}"
            assert f"{number:.4g}" in text or small in text
        page.get_by_label("Weight", exact=True).fill("0.75")
        key(page, "Enter")
        after = page.evaluate("page.numbers()")
        assert after[i] == 0.75
        assert after[:i] + after[i + 1 :] == before[:i] + before[i + 1 :]
        page.get_by_label("Weight", exact=True).focus()
        key(page, "ArrowUp")
        assert page.evaluate("page.numbers()")[i] == pytest.approx(0.9, abs=0.06)


def test_a_table_shows_all_weights_with_their_moments(ready, opened):
    with opened(ready) as page:
        page.select_option("#optimizer", "Adam")
        press(page, page.get_by_role("button", name="all weights"))
        assert page.locator("#details tr").count() == 106
        assert page.text_content("#details tr") == "weightdatagradientmsnext"
        before = page.evaluate("page.numbers()")
        row = page.text_content("#details tr >> nth=1").replace("−", "-")
        assert row.startswith(f"L0.n0.w0{before[0]:.4g}")
        page.evaluate("page.train(1)")
        assert row.endswith(f"{page.evaluate('page.numbers()')[0]:.4g}")
        press(page, page.get_by_role("button", name="L1.n7.b"))
        assert "the bias of L1.n7" in page.text_content("#details")


def test_the_health_of_layers_is_that_of_the_engine(tmp_path, opened):
    model = mlp(2, [3, 1], activation="tanh")
    with opened(saved(playground(model, X, Y), tmp_path)) as page:
        press(page, page.get_by_role("button", name="health of layers"))
        assert page.locator("#details svg").count() == 5  # a linear layer has no outputs
        press(page, "#one-step")
        first, last = page.evaluate("experiment.health")
        assert page.inner_text("#details tr:nth-child(2) td:last-child").startswith("−")
        after = page.evaluate("page.numbers()")
    before = np.array([p.data for p in model.parameters()])
    step = after - before
    for layer, part in ((first, slice(0, 9)), (last, slice(9, None))):
        size = np.linalg.norm(step[part]) / np.linalg.norm(before[part])
        assert layer["ratios"] == [None, pytest.approx(size, rel=1e-12)]
    set_to(model, after)
    outputs = [neuron(x).item() for x in X for neuron in model.layers[0].neurons]
    assert first["outputs"] == pytest.approx(outputs, rel=1e-12)
    losses = [binary_cross_entropy_with_logits(model(x), k) for x, k in zip(X, Y, strict=True)]
    model.zero_grad()
    (sum(losses) / len(X)).backward()
    gradients = [p.grad for p in model.parameters()]
    assert first["gradients"] + last["gradients"] == pytest.approx(gradients, rel=1e-12, abs=1e-15)


def test_points_are_added_moved_and_deleted_by_hand(ready, opened):
    with opened(ready, has_touch=True) as page:
        examples = "page.state().examples"
        start = page.evaluate(examples)
        page.click("#brush button >> nth=1")
        board = page.locator("#boundary")
        board.tap(position={"x": 60, "y": 20})  # a corner without points, by a finger
        drawn(page)
        *old, new = page.evaluate(examples)
        assert (old, new["label"]) == (start, 1)
        place = pytest.approx(new["numbers"], abs=0.02)
        assert page.evaluate("geometry().at(60, 20)") == place
        box = board.bounding_box()
        page.mouse.move(box["x"] + 60, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + 120, box["y"] + 40, steps=4)
        page.mouse.up()
        drawn(page)
        moved = page.evaluate(examples)[-1]
        place = pytest.approx(moved["numbers"], abs=0.02)
        assert page.evaluate("geometry().at(120, 40)") == place
        press(page, "#boundary", position={"x": 120, "y": 40})
        press(page, page.get_by_role("button", name="Delete"))
        assert page.evaluate(examples) == start
        for more in (1, 1, 0):
            press(page, "#undo")
            assert len(page.evaluate(examples)) == len(start) + more
        press(page, "#clear")
        assert page.evaluate(examples) == []
        page.click("#train")
        until(page, "document.querySelector('#said').textContent.includes('no points')")
        press(page, "#add")
        assert len(page.evaluate(examples)) == 1


def pasted(page, text):
    """What the page says, the labels of its points, and the names of the classes."""
    page.get_by_label("Points from a table").fill(text)
    press(page, page.get_by_role("button", name="Use these points"))
    examples = page.evaluate("page.state().examples")
    names = page.evaluate("page.state().names")
    return page.text_content("#details output"), [p["label"] for p in examples], names


def test_points_are_pasted_as_csv(ready, opened):
    with opened(ready) as page:
        page.click("#paste")
        for text, message in (
            ("", "Expected 1 to 2000 points, got 0: paste one point in each line."),
            ("1,2,0\n3,4", "Line 2: expected 3 columns, as in the first line, got 2"),
            ("a,b,c\n1,x,0", "Line 2, column b: expected a finite number, got x: write it like"),
            ("nan,inf,red\n1,2,blue", "Line 1, column x₁: expected a finite number, got nan: "),
            ("1;2;5", "Expected two classes or more, got 5: add points of another class."),
            ("5", "Expected at least one column to predict from, got none"),
            ("1,2,a\n3,4,", "Line 2, column x₃: expected a class or a number, got nothing"),
            ("".join(f"1,2,k{i}\n" for i in range(9)), "Expected at most 8 classes, got 9: "),
        ):
            said, labels, _ = pasted(page, text)
            assert said.startswith(message)
            assert len(labels) == 100
        said, *_ = pasted(page, "x1;x2;class\n5;2,5;1\n-3e-1;0.25;0\r\n\n1.5\t2\t0.0\n")
        assert said == "3 points of 2 classes (0, 1). Inputs: x1, x2."  # decimal commas, too
        found = [[*p["numbers"], p["label"]] for p in page.evaluate("page.state().examples")]
        assert found == [[5, 2.5, 1], [-0.3, 0.25, 0], [1.5, 2, 0]]
        for text, names, labels in (  # as micrograd.datasets.read_csv reads them
            ('1, 2, "red, dark"\n3,4,blue\n5,6, blue ', ["blue", "red, dark"], [1, 0, 0]),
            ("1,2,1.0\n3,4,-1\n5,6,01", ["-1", "1"], [1, 0, 1]),
        ):
            assert pasted(page, text)[1:] == (labels, names)
        with opened(ready, hash=page.evaluate("location.hash")) as again:  # it has the names
            assert again.locator("#brush bdi").all_text_contents() == names
        page.click("[data-shape=moons]")
        assert page.locator("#legend bdi").all_text_contents() == ["0", "1"]
        pasted(page, "x,y\n1,2.5\n2,-1")  # a curve, with a network of one input
        assert page.evaluate("page.state().sizes") == [1, 8, 8, 1]
        page.fill("#share", "0.5")  # of a table in the order of its classes
        pasted(page, "".join(f"{i},{i % 5},{i // 10}\n" for i in range(20)))
        tests = [p["label"] for p in page.evaluate("page.state().examples") if p["test"]]
        assert len(tests) == 10
        assert {*tests} == {0, 1}


FLOWERS = "id,petal,sepal,width,kind\n1,1.4,5,20,setosa\n2,4.7,7,40,versicolor\n3,6,6,70,virginica"


def test_a_table_of_ones_own_is_learned_from(ready, opened, tmp_path):
    (tmp_path / "flowers.csv").write_text(FLOWERS)
    with opened(ready) as page:
        page.fill("#share", "0")
        page.click("#paste")
        page.set_input_files("[type=file]", tmp_path / "flowers.csv")
        page.get_by_label("id", exact=True).uncheck()  # not an input
        press(page, page.get_by_role("button", name="Use these points"))
        said = "3 points of 3 classes (setosa, versicolor, virginica). Inputs: petal, sepal, width."
        assert page.text_content("#details output") == said
        assert page.evaluate("page.state().sizes") == [3, 8, 8, 3]
        press(page, page.get_by_role("button", name="Scale the numbers"))
        X = np.array([[1.4, 5, 20], [4.7, 7, 40], [6, 6, 70]])
        found = [p["numbers"] for p in page.evaluate("page.state().examples")]
        assert np.array(found) == pytest.approx((X - X.mean(0)) / X.std(0), abs=1e-4)
        before, link = page.evaluate("page.numbers()"), page.evaluate("location.hash")
        page.evaluate("page.train(5)")
        after = page.evaluate("page.numbers()")
        page.get_by_label("Predict", exact=True).select_option("petal")
        page.get_by_label("kind", exact=True).uncheck()
        press(page, page.get_by_role("button", name="Use these points"))
        assert page.text_content("#details output").startswith("3 points with a number to predict")
        press(page, page.get_by_role("button", name="Scale the numbers"))
        found_now = page.evaluate("page.state().examples.map(e => e.numbers)")
        assert np.std(found_now, axis=0) == pytest.approx(np.ones(3), abs=1e-4)
    with opened(ready, hash=link) as again:
        assert again.evaluate("page.numbers()") == before
        assert again.evaluate("page.state().inputs") == ["petal", "sepal", "width"]
    model = MLP(3, [8, 8, 3], activation="tanh")
    set_to(model, before)
    optimizer = SGD(model.parameters(), lr=0.3)
    expected = trained(model, found, [0, 1, 2], cross_entropy, int, optimizer, steps=5)
    assert after == pytest.approx(expected, rel=1e-9)


def test_points_follow_a_formula(ready, opened):
    with opened(ready) as page:
        page.fill("#noise", "0")
        page.click("[data-shape=formula]")
        for text, is_one in (
            ("above sin(3x)", lambda x, y: y > math.sin(3 * x)),
            ("x1² + x₂^2 < 1", lambda x, y: x * x + y * y < 1),
            ("2 (x - y)/exp(-x) > .5", lambda x, y: 2 * (x - y) * math.exp(x) > 0.5),
            ("-x**2 < y - 1", lambda x, y: -(x**2) < y - 1),
        ):
            page.fill("#formula", text)
            key(page, "Enter")
            points = page.evaluate("page.state().examples")
            assert len(points) == 100
            assert all(p["label"] == is_one(*p["numbers"]) for p in points)
        for text in ("y", "y > ", "y > alert(1)", "y > a", "y > 3)", "x = y", "constructor > 1"):
            page.fill("#formula", text)
            page.keyboard.press("Enter")
            assert f"got {text}: use x" in page.inner_text("#refusedFormula")
        assert page.evaluate("page.state().examples") == points
        page.fill("#formula", "y = sqrt(x)")  # a number to predict, where there is one
        key(page, "Enter")
        assert page.inner_text("#refusedFormula") == ""
        assert page.evaluate("page.state().sizes") == [1, 8, 8, 1]
        for x, y in (p["numbers"] for p in page.evaluate("page.state().examples")):
            assert y == pytest.approx(math.sqrt(x), abs=1e-3)
        with opened(ready, hash=page.evaluate("location.hash")) as again:
            assert again.evaluate("page.numbers()") == page.evaluate("page.numbers()")


def test_training_stops_when_it_is_good_enough(ready, opened):
    with opened(ready) as page:
        page.select_option("#stop", "accuracy 0.95")
        page.click("#train")
        until(page, "!document.querySelector('#train').ariaPressed.includes('true')")
        assert "Good enough" in page.inner_text("#said")
        assert page.evaluate("page.state().curves.accuracy.at(-1)") >= 0.95
        examples, scores = page.evaluate("page.state().examples"), []
        told = re.findall(r"([01]):\s([\d.]+)%", page.inner_text("#per-class"))
        p = page.evaluate("page.numbers()")
    model = MLP(2, [8, 8, 1], activation="tanh")
    set_to(model, p)
    for k in (0, 1):
        own = [e for e in examples if e["label"] == k and not e["test"]]
        right = sum((model(e["numbers"]).data > 0) == k for e in own)
        scores.append((str(k), pytest.approx(100 * right / len(own), abs=0.1)))
    assert [(k, float(share)) for k, share in told] == scores


def test_data_noise_size_and_split_can_be_chosen(ready, opened):
    with opened(ready) as page:
        for shape in ("circles", "spirals", "xor", "moons"):
            press(page, f"[data-shape={shape}]")
            assert page.evaluate("page.state().settings.data") == shape
        page.fill("#size", "200")
        page.fill("#share", "0.5")
        page.fill("#noise", "0")
        drawn(page)
        examples = page.evaluate("page.state().examples")
        assert [len(examples), sum(e["test"] for e in examples)] == [200, 100]
        assert max(e["numbers"][1] for e in examples) == pytest.approx(1, abs=1e-3)


def test_the_address_brings_the_state_back(ready, opened):
    with opened(ready) as page:
        page.click("[data-shape=circles]")
        page.click("[aria-label='Remove a neuron from layer 2']")
        page.select_option("#optimizer", "AdamW")
        page.select_option("#activation", "relu")
        page.fill("#rate", "0.02")
        page.keyboard.press("Tab")
        page.evaluate("page.train(7)")
        press(page, "#boundary", position={"x": 60, "y": 20})
        drawn(page)
        address = page.evaluate("location.hash")
        before = page.evaluate("page.state()")
        numbers = page.evaluate("page.numbers()")
    with opened(ready) as page:
        page.evaluate(f"location.hash = {address!r}")
        until(page, "page.state().training.steps === 7")
        drawn(page)
        after = page.evaluate("page.state()")
        assert page.evaluate("page.numbers()") == numbers
        for part in ("settings", "sizes", "activations", "examples"):
            assert after[part] == before[part]
        assert "step 7 ·" in page.text_content("#figures")


def test_a_damaged_address_is_left_out(ready, opened):
    with opened(ready) as page:
        for address in (
            "#net=99-1&rate=-3&data=no&weights=%%%&points=1_2",
            "#weights=AAAA&points=a_b_c&step=x",
            "#net=&size=1e99&loss=eval&optimizer=__proto__",
        ):
            page.evaluate("page.train(2)")
            page.evaluate(f"location.hash = {address!r}")
            until(page, "page.state().training.steps === 0")
            page.evaluate("page.train(2)")
            assert "step 2 ·" in page.text_content("#figures")


def test_too_large_a_learning_rate_is_explained(ready, opened):
    with opened(ready) as page:
        page.select_option("#loss-name", "squared error")
        page.select_option("#activation", "relu")
        page.fill("#rate", "1000")
        page.keyboard.press("Tab")
        page.evaluate("page.train(30)")
        assert "learning rate is too large" in page.text_content("#said")
        press(page, "#reset")
        assert "step 0" in page.text_content("#figures")


def test_a_bias_that_moved_alone_is_told_of(ready, opened):
    link = "#seed=5&loss=squared error&activation=relu&rate=1000"
    with opened(ready, hash=link) as page:
        page.evaluate("page.train(29)")  # no ReLU is alive any more
        before = page.evaluate("page.numbers()")
        press(page, "#one-step")
        after, said = page.evaluate("page.numbers()"), page.inner_text("#said")
        moved = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
        assert moved == [len(after) - 1]  # the last bias
        assert "The parameter that moved most: L2.n0.b: " in said


def test_what_is_said_is_of_this_moment(ready, opened):
    with opened(ready) as page:
        page.hover("[aria-label^='L0.n1']")
        drawn(page)
        assert ": L0.n1 alone" in page.inner_text("#plane-about")
        for rate in ("-1", "1e308", "0"):
            page.fill("#rate", rate)
            page.keyboard.press("Tab")
            refused = page.inner_text("#refusedRate")
            assert refused == "" if rate == "0" else f"got {rate}." in refused
            assert float(page.input_value("#rate")) == page.evaluate("page.state().settings.rate")
        press(page, "#one-step")
        said = page.inner_text("#said")
        assert re.fullmatch(r"The loss is still \S+\. No parameter moved: .*", said)
        press(page, "#clear")
        assert "no points" in page.inner_text("#said")
        press(page, "#add")
        assert "no points" not in page.inner_text("#said")


def test_a_model_that_is_no_mlp_says_what_cannot_be_changed(tmp_path, opened):
    random.seed(2)
    model = Pair()
    with opened(saved(playground(model, X, Y), tmp_path)) as page:
        assert "neurons cannot be added or removed" in page.text_content("#network")
        assert not any(page.is_visible(part) for part in ("#layers", "#lessons", "#scripts"))
        press(page, page.get_by_role("button", name="layer.weight[0][1]"))
        page.get_by_label("Weight", exact=True).fill("0.5")
        key(page, "Enter")
        assert 0.5 in page.evaluate("page.numbers()")
        page.click("#next-point")
        press(page, "#opened-all")
        set_to(model, page.evaluate("page.numbers()"))
        binary_cross_entropy_with_logits(model(X[0]), Y[0]).backward()
        a = "#opened-graph .card[aria-label^='a, parameter']"
        text = page.get_attribute(a, "aria-label").replace("−", "-")
        assert text.endswith(f"gradient {model.a.grad:.4g}")


# ---- The network as a Python script


def script_of(page, package):
    press(page, page.get_by_role("button", name=f"As a Python script: {package}"))
    return page.input_value("#details textarea")


def ours(script):
    names = {}
    exec(script, names)
    return [p.data for p in names["model"].parameters()]


def theirs(script):
    """The parameters of PyTorch's model in the page's order, neuron by neuron."""
    import torch

    names, default = {}, torch.get_default_dtype()
    try:
        exec(script, names)
    finally:
        torch.set_default_dtype(default)
    rows = [torch.cat([layer.weight, layer.bias[:, None]], 1).ravel() for layer in names["linear"]]
    return torch.cat(rows).tolist()


@pytest.mark.parametrize(
    ("sizes", "activation", "loss", "optimizer"),
    [
        ((2, [3, 1]), "tanh", "cross-entropy", "decay"),
        ((2, [3, 3, 1]), "relu", "hinge", "momentum"),
        ((2, [1]), "linear", "squared error", "adam"),
        ((2, [3, 3]), "sigmoid", "several classes", "adamw"),
    ],
)
def test_copied_scripts_give_the_numbers_of_the_page(
    tmp_path, opened, sizes, activation, loss, optimizer
):
    random.seed(5)
    model = MLP(*sizes, activation=activation)
    X, labels = blobs(12, classes=max(2, sizes[1][-1]))
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    page = playground(model, X, labels, loss=LOSSES[loss][0], optimizer=optimizer)
    with opened(saved(page, tmp_path)) as shown:
        scripts = [script_of(shown, package) for package in ("micrograd", "PyTorch")]
        shown.evaluate("page.train(101)")
        expected = pytest.approx(shown.evaluate("page.numbers()"), rel=1e-9, abs=1e-12)
    assert ours(scripts[0]) == expected
    pytest.importorskip("torch")
    assert theirs(scripts[1]) == expected


def test_a_copied_script_prints_the_losses_of_the_page_and_says_what_differs(ready, opened, capsys):
    with opened(ready) as page:
        page.evaluate("page.train(40)")
        script = script_of(page, "micrograd").replace("range(40, 40 + 101)", "range(40, 51)")
        page.evaluate("page.train(10)")
        at_50 = re.search(r"loss (\S+)", page.text_content("#figures"))[1]
        page.select_option("#optimizer", "Adam")
        page.select_option("#batch", "10")
        page.evaluate("page.train(1)")
        other = script_of(page, "PyTorch")
    assert "# 20 test points of the page are not used here." in script
    assert "10 random points" in other
    assert "without its memory" in other
    ours(script)
    assert capsys.readouterr().out.endswith(f"step 50: loss {at_50}\n")


# ---- Lessons: predict, then see

RIGHT = {  # what is to be predicted, by the words of the answer
    "weight": ["stays", "turns", "shifts", "all points are wrong", "grows"],
    "rate": ["Twice", "a quarter", "as far as it can", "far above", "as far as it can"],
    "few": ["Both", "rises", "7 of 10", "Nearly as small", "Smaller"],
    "dead": ["stands still", "no gradient", "Nothing", "nearly to 0", "nearly to 0"],
}


# What is seen before and after each answer: loss, test loss, accuracy, test accuracy.


def weights_decide(first, second, third, flipped, grown):
    assert (flipped[0][2], flipped[1][2]) == (1, 0)
    assert grown[0][2] == grown[1][2] == 1
    assert grown[1][0] < grown[0][0]


def rates_decide(first, *others):
    slow, fast, blown, back = [[before[0], after[0]] for before, after in others]
    assert 1.5 < slow[1] < slow[0] == fast[0] == blown[0]
    assert fast[1] == pytest.approx(back[1], rel=0.01) == pytest.approx(0.094, abs=0.001)
    assert blown[1] == back[0] > 1000


def few_points_mislead(both, over, sure, many, pulled):
    assert both[1][0] < both[0][0]
    assert both[1][1] < both[0][1]
    assert over[1][0] < 0.05
    assert over[1][1] > 2 * over[0][1]
    assert [x[3] for x in (*over, *sure)] == pytest.approx([0.7] * 4)
    assert many[1][1] < 0.1
    assert 0.7 < pulled[1][1] < 0.9
    assert pulled[1][0] > over[1][0]


def a_dead_neuron_stays_dead(stuck, dead, faster, tanh, eight):
    assert stuck[1][0] == dead[0][0] == pytest.approx(0.347, abs=0.001)
    assert faster[1][0] == pytest.approx(faster[0][0], abs=0.002)
    assert [x[1][2] for x in (stuck, faster, tanh, eight)] == [0.75, 0.75, 1, 1]
    assert max(tanh[1][0], eight[1][0]) < 0.02


SEEN = {
    **{"weight": weights_decide, "rate": rates_decide, "few": few_points_mislead},
    "dead": a_dead_neuron_stays_dead,
}


@pytest.mark.parametrize("lesson", RIGHT)
def test_a_lesson_goes_on_after_each_answer_and_then_gives_the_network_back(ready, opened, lesson):
    seen = []

    def look():
        curves = page.evaluate("page.state().curves")
        names = ("loss", "testLoss", "accuracy", "testAccuracy")
        seen.append([curves[name][-1] for name in names])

    with opened(ready) as page:
        page.evaluate("page.train(3)")
        before = page.evaluate("page.numbers()")
        page.select_option("#lessons", lesson)
        for answer in RIGHT[lesson]:
            assert page.locator("#lesson button", has_text="Next").count() == 0
            asked = page.evaluate("page.numbers()")
            page.keyboard.press("ArrowRight")
            page.evaluate("page.train(1)")
            assert page.evaluate("page.numbers()") == asked  # the answer comes first
            look()
            page.locator("#lesson button", has_text=answer).click()
            assert "That is what happened." in page.inner_text("#lesson")
            assert "{" not in page.inner_text("#lesson")
            look()
            page.locator("#lesson .main").click()
        drawn(page)
        assert not page.is_visible("#lesson")
        assert page.evaluate("page.numbers()") == before
        page.click("#undo")
        assert page.evaluate("page.state().training.steps") == 2
    SEEN[lesson](*zip(seen[::2], seen[1::2], strict=True))


# ---- how it looks


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_it_fits_on_every_screen(ready, opened, width, scheme):
    with opened(ready, width=width, color_scheme=scheme) as page:
        page.evaluate("page.train(5)")
        if width == 1280:  # one screen of a laptop holds it all
            assert page.evaluate("document.documentElement.scrollHeight") <= 800
        page.hover("#curves [data-word=accuracy]")  # its explanation stays on the screen, too
        for chosen in ("", "#next-point", "[aria-label^='L0.n1']"):
            if chosen:
                press(page, chosen)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate(
            """() => [...document.querySelectorAll("body *")]
              .filter(e => e.innerText && !e.children.length && e.offsetParent)
              .filter(e => parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.outerHTML)"""
        )
        assert small == []
        for canvas in ("#boundary", "#loss", "#accuracy"):
            assert colours(page, canvas) > 10, canvas


def test_print_is_light_and_without_controls(ready, opened):
    with opened(ready, color_scheme="dark") as page:
        assert_print_is_light(page, ["#boundary", "#said"], hidden="#train")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 718, "height": 1000})  # a sheet of A4
        box = page.locator("#network .neuron").last.bounding_box()
        assert box["x"] + box["width"] < 700


def test_without_scripts_the_page_says_what_it_is(ready, opened):
    with opened(ready, java_script_enabled=False) as page:
        assert "needs JavaScript" in page.inner_text("body")
        assert not page.is_visible("#train")


def test_words_are_explained_to_mouse_keys_and_readers(ready, opened):
    with opened(ready) as page:
        word = page.locator("#details [data-word=gradient]").first
        word.focus()
        assert word.get_attribute("aria-describedby") == "meaningOf"
        assert "How strongly the loss reacts" in page.locator("#meaningOf").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("#meaningOf").is_hidden()
        page.hover("label [data-word=batch]")
        assert "How many points" in page.locator("#meaningOf").inner_text()
        for name in ("Train", "One step", "Undo", "Learning rate"):
            assert page.get_by_label(name, exact=True).count() == 1
        page.click("#train")
        assert page.get_attribute("#said", "aria-live") == "off"
        page.click("#train")
        assert page.get_attribute("#said", "aria-live") == "polite"


def test_a_slide_fits_the_screen_and_a_presenters_remote_trains(ready, opened):
    with opened(ready, width=1280, height=800) as page:
        page.get_by_role("button", name="Present").click()
        for key, step in (("PageDown", 1), ("ArrowRight", 2), ("PageUp", 1)):
            page.keyboard.press(key)
            drawn(page)
            assert page.text_content("#figures").startswith(f"step {step} ")
        assert page.is_hidden("#data-panel")
        assert page.evaluate("document.documentElement.scrollHeight") <= 800
        page.keyboard.press("Escape")
        assert page.is_visible("#data-panel")


def test_it_can_be_embedded_in_a_small_frame(ready, opened):
    with opened(ready, width=720, height=480, hash="#embed") as page:
        for part in ("#train", "#boundary", "#network"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= 480, part
        assert not any(map(page.is_visible, ("h1", "#data-panel", "#optimizer")))
        press(page, "#one-step")
        assert page.evaluate("location.hash").startswith("#embed")


def test_a_rate_too_large_is_compared_with_a_tenth_of_it(ready, opened):
    with opened(ready, hash="#loss=squared error&rate=2&optimizer=Adam&share=0&size=20") as page:
        start = page.evaluate("page.numbers()")
        page.evaluate("page.train(7)")
        page.evaluate("page.train(1)")
        said, after = page.inner_text("#said"), page.evaluate("page.numbers()")
        told = float(re.search(r"\(0\.2\), the last step would have led to (\S+) instead", said)[1])
        points = page.evaluate("page.state().examples")
        assert page.evaluate("page.numbers()") == after
    model = MLP(2, [8, 8, 1], activation="tanh")
    set_to(model, start)
    X, y = [p["numbers"] for p in points], [2 * p["label"] - 1 for p in points]
    optimizer = Adam(model.parameters())
    for optimizer.lr, steps in ((2.0, 7), (0.2, 1)):
        trained(model, X, y, squared_error, float, optimizer, steps)
    loss = sum(map(squared_error, map(model, X), y)) / len(X)
    assert loss.data == pytest.approx(told, rel=1e-2)


def test_first_weights_are_drawn_as_asked(ready, opened):
    spread = {"uniform": [3**-0.5] * 3, "he": [1.0, 0.5, 0.5],
              "xavier": [0.2**0.5, 8**-0.5, (2 / 9) ** 0.5]}  # fmt: skip
    with opened(ready) as page:
        start = page.evaluate("page.numbers()")
        for name, expected in spread.items():
            page.select_option("#init", name)
            rows, found = [], []
            for seed in range(30):
                page.fill("#seed", str(seed))
                page.keyboard.press("Tab")
                rows.append(page.evaluate("page.numbers()"))
            layers = [(0, 24, 3), (24, 96, 9), (96, 105, 9)]
            for begin, end, width in layers:
                part = np.array(rows)[:, begin:end].reshape(-1, width)
                assert not part[:, -1].any()  # biases
                found.append(part[:, :-1].std())
            assert found == pytest.approx(expected, rel=0.12)
        page.select_option("#init", "uniform")
        page.fill("#seed", "11")
        page.keyboard.press("Tab")
        assert page.evaluate("page.numbers()") == start
        page.evaluate("page.train(3)")
        press(page, "#reset")
        assert page.evaluate("page.numbers()") == start


def test_the_page_says_why_a_network_does_not_learn(opened, tmp_path):
    random.seed(2)
    model, X, y = MLP(2, [4, 1]), [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    playground(model, X, y).save(tmp_path / "xor.html")
    with opened(tmp_path / "xor.html") as page:
        page.evaluate("page.train(300)")
        said = page.locator("#said").inner_text()
        set_to(model, page.evaluate("page.numbers()"))
        outputs = [[neuron(x).data for x in X] for neuron in model.layers[0].neurons]
        dead = [f"L0.n{i}" for i, some in enumerate(outputs) if not any(some)]
        assert dead
        assert f"Dead hidden neurons: {len(dead)} of 4 ({', '.join(dead)})" in said
        marked = page.locator(".neuron", has_text="dead").all()
        assert [tile.get_attribute("title")[:5] for tile in marked] == dead
    far = [[100.0 * a, 150.0 * b] for a, b in X]
    playground(MLP(2, [4, 1], activation="tanh"), far, y).save(tmp_path / "far.html")
    with opened(tmp_path / "far.html") as page:
        assert "go up" not in page.locator("#said").inner_text()  # before the first step
        page.evaluate("page.train(1)")
        assert "The numbers of the points go up to 150." in page.locator("#said").inner_text()
        press(page, page.locator("#sentence button", has_text="Scale the numbers"))
        points = page.evaluate("page.state().examples.map(e => e.numbers)")
        assert points == [[-1, -1], [-1, 1], [1, -1], [1, 1]]
        page.evaluate("page.train(1)")
        assert "go up" not in page.locator("#said").inner_text()
    playground().save(tmp_path / "moons.html")
    with opened(tmp_path / "moons.html") as page:
        page.evaluate("page.train(50)")
        said = page.locator("#said").inner_text()
        assert not any(word in said for word in ("Dead", "Saturated", "too large", "still: try"))
