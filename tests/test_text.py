"""Programs as Python text: they are readable, and they compute what eager mode computes."""

import itertools
import math
import random
from math import inf, nan
from operator import itemgetter

import numpy as np
import pytest
from compiled import assert_close, function_of
from demo_scripts import load
from hypothesis import given
from hypothesis import strategies as st
from operations import TABLE, name_of
from random_graphs import SMOOTH, STEPS, build

from micrograd import Value, take, where
from micrograd.compiler.averages import averaged
from micrograd.compiler.record import recorded
from micrograd.compiler.simplify import Simplified
from micrograd.compiler.text import WIDTH, source
from micrograd.losses import cross_entropy
from micrograd.nn import MLP


def written(of, shapes, name="loss"):
    """The texts of a function, for results and for the mean with gradients; its parameters."""
    found = recorded(of, shapes)
    means = averaged(found.recording, [found.results[0], *found.gradients])
    steps = found.recording.instructions
    inputs = list(itertools.chain(*found.arguments.values()))
    labels = {place: p.label for place, p in zip(found.places, found.parameters, strict=True)}
    forward = source(steps, inputs, labels, found.results, name=name)
    backward = source(steps, inputs, labels, means[:1], means[1:], name)
    return forward, backward, found.parameters


def flat(example):
    """The numbers of an example as one list."""
    return [float(x) for a in example for x in (a if isinstance(a, list) else [a])]


def check(of, examples):
    """Asserts that both texts give what the function gives for each example."""
    shapes = [(len(a),) if isinstance(a, list) else () for a in examples[0]]
    forward, backward, parameters = written(of, shapes)
    results = [of(*example) for example in examples]
    mean = sum(results) / len(results)
    for p in parameters:
        p.grad = 0.0
    mean.backward()
    numbers, rows = [p.data for p in parameters], np.transpose([flat(x) for x in examples])
    [found] = function_of(forward)(numbers, rows)
    assert_close(np.broadcast_to(found, len(examples)), [v.data for v in results], scale=1)
    data, gradients = function_of(backward)(numbers, rows)
    assert_close([data, *gradients], [mean.data, *(p.grad for p in parameters)], scale=1)


# ---- how the texts read


def test_the_text_of_a_neuron():
    w1, w2, b = (Value(0.5, label=label) for label in ("w1", "w2", "b"))
    text, _, _ = written(lambda x: (w1 * x[0] + w2 * x[1] + b).relu(), [(2,)], "neuron")
    assert (
        text
        == """\
from numpy import maximum


def program(parameters, inputs):
    [w1, w2, b] = parameters
    [x_0, x_1] = inputs
    neuron = maximum(w1 * x_0 + w2 * x_1 + b, 0.0)
    return [neuron]
"""
    )


def test_the_text_of_a_loss_with_a_penalty():
    w, b = Value(0.5, label="w"), Value(0.25, label="b")
    _, text, _ = written(lambda x, y: (1 - y * (w * x + b)).relu() + 0.1 * (w * w), [(), ()])
    assert (
        text
        == """\
from numpy import maximum, mean, where


def program(parameters, inputs):
    [w, b] = parameters
    [x, y] = inputs
    v1 = 1.0 - y * (w * x + b)
    v2 = y * -where(v1 > 0.0, 1.0, 0.0)
    loss = mean(maximum(v1, 0.0)) + 0.1 * (w * w)
    b_grad = mean(v2)
    w_grad = 2.0 * (w * 0.1) + mean(x * v2)
    return loss, [w_grad, b_grad]
"""
    )


def test_texts_are_reproducible_and_lines_are_short():
    random.seed(0)
    model = MLP(20, [10, 3])
    for p in model.parameters()[::3]:
        p.label = "a rather long name of a parameter"
    texts = written(lambda x, k: cross_entropy(model(x), k), [(20,), ()])[:2]
    assert texts == written(lambda x, k: cross_entropy(model(x), k), [(20,), ()])[:2]
    assert max(len(line) for text in texts for line in text.split("\n")) <= WIDTH


def test_labels_become_names_as_far_as_python_allows():
    labels = [
        "w",
        "w",
        "class",
        "größe",
        "loss",
        "mean",
        "v1",
        "exp",
        "inputs",
        "p8",
        "",
        "x",
        "w_grad",
    ]
    labels += ["layers[0].w", "results", "parameters", "inf", "take", "2nd"]
    parameters = [Value(i / 10, label=label) for i, label in enumerate(labels)]

    def of(x):
        return sum((p * x).tanh() * p for p in parameters)

    _, text, found = written(of, [()])
    unpacked = text.split("program(parameters, inputs):")[1].split(" = parameters")[0]
    names = [name.strip() for name in unpacked.strip(" []\n").split(",")]
    known = dict(zip([p.label for p in found], names, strict=True))
    assert len(set(names)) == len(labels)
    assert itemgetter("größe", "layers[0].w", "")(known) == ("größe", "layers_0_w", "p10")
    assert not {"x", "mean", "exp", "inputs", "parameters", "inf", "take", "class"} & set(names)
    check(of, [(0.5,), (-1.5,)])


# ---- what the texts compute


@pytest.mark.parametrize("row", TABLE, ids=name_of)
def test_every_operation_of_parameters_and_of_inputs(row):
    for point in row.points:
        parameters = [Value(x) for x in point]
        check(lambda x, ps=parameters: row.function(*ps) * x, [(2.0,), (-3.0,)])
        one = Value(1.0)
        for count in range(1, len(point) + 1):

            def of(*xs, ps=parameters, one=one, count=count):
                return row.function(*(x * one for x in xs), *ps[count:]) + one * ps[-1]

            check(of, [point[:count]] * 2)


@given(STEPS, st.lists(st.floats(-2, 2), min_size=2, max_size=2), st.floats(-2, 2))
def test_random_programs(steps, point, x):
    parameters = [Value(number) for number in point]
    check(lambda x: build([*parameters, x * parameters[0]], steps, SMOOTH), [(x,), (0.5,), (-1.0,)])


@given(st.lists(st.tuples(*[st.integers(0, 99)] * 3), min_size=1, max_size=12), st.floats(-2, 2))
def test_random_programs_that_choose(steps, x):
    functions = [
        *SMOOTH, lambda a, b: a.maximum(b), lambda a, b: a.minimum(b), lambda a, b: abs(a - b),
        lambda a, b: (a + b).relu(), lambda a, b: where(a < b, a * b, b), lambda a, b: -a - b,
    ]  # fmt: skip
    p = Value(0.75)
    check(lambda x: build([p, x * p], steps, functions), [(x,), (0.75,), (0.0,)])


def test_a_table_and_the_gradients_of_its_entries():
    table = [[Value(i + 0.5 * j) for j in range(3)] for i in range(4)]
    w = Value(0.5)

    def of(tokens, x):
        rows = [take(table, token) for token in tokens]
        pairs = [pair for row in rows for pair in zip(row, rows[0], strict=True)]
        return sum((a * w).tanh() * b for a, b in pairs) * x

    check(of, [([0, 3], 0.5), ([2, 2], 2.0), ([1, 0], -1.0)])


def test_a_table_of_results():
    w = Value(0.5)
    check(lambda i, x: take([w * x, w, x, 3.0], i) / w, [(0, 2.0), (1, 3.0), (2, 0.5), (3, 1.0)])


def test_several_results_and_results_that_are_the_same_in_every_example():
    w = Value(2.0)
    forward, _, _ = written(lambda x: [w * x, w + x, w * 3], [()])
    first, second, third = function_of(forward)([2.0], [[1.0, 3.0]])
    assert (first.tolist(), second.tolist(), third) == ([2.0, 6.0], [3.0, 5.0], 6.0)
    forward, backward, _ = written(lambda x: w * w, [()])
    assert function_of(forward)([2.0], [[1.0, 3.0]]) == [4.0]
    assert function_of(backward)([2.0], [[1.0, 3.0]]) == (4.0, [4.0])
    forward, backward, _ = written(lambda: Value(0.5) - 1, [])
    assert function_of(forward)([], []) == [-0.5]
    assert function_of(backward)([], []) == (-0.5, [])


# ---- bad numbers

SPECIAL = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -8.0, 3.0, -3.0, 1e3, -1e3, 1e308, -1e308]
SPECIAL += [inf, -inf, nan]


@pytest.mark.parametrize("op", ["exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "neg"])
def test_functions_of_bad_numbers_give_what_numpy_gives(op):
    of_numpy = {"abs": np.abs, "neg": np.negative}.get(op) or getattr(np, op)
    recording = Simplified()
    place = recording.record(op, recording.input(0.0)).place
    steps = recording.instructions
    text = source(steps, ["x"], {}, [place])
    with np.errstate(all="ignore"):
        expected = of_numpy(np.array(SPECIAL))
    np.testing.assert_allclose(function_of(text)([], [SPECIAL])[0], expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("op", "of_numpy"),
    [("/", np.divide), ("**", np.power), ("maximum", np.maximum), ("minimum", np.minimum)],
)
def test_operations_on_bad_numbers_give_what_numpy_gives(op, of_numpy):
    recording = Simplified()
    x, y = recording.input(0.0), recording.input(0.0)
    place = recording.record(op, x, y).place
    steps = recording.instructions
    text = source(steps, ["x", "y"], {}, [place])
    rows = np.transpose(list(itertools.product(SPECIAL, repeat=2)))
    with np.errstate(all="ignore"):
        expected = of_numpy(*rows)
    [found] = function_of(text)([], rows)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    if op in ("/", "**"):  # the larger of two zeros is not defined
        is_zero = expected == 0
        np.testing.assert_array_equal(np.signbit(found)[is_zero], np.signbit(expected)[is_zero])


@pytest.mark.parametrize(
    "of",
    [
        lambda x, w: (x * w).relu(), lambda x, w: (x * w).relu() * x * w, lambda x, w: abs(x * w),
        lambda x, w: (x * w).sigmoid(), lambda x, w: (x * w).maximum(w), lambda x, w: 0 * x * w,
        lambda x, w: (x * w).minimum(1), lambda x, w: (x * w).tanh() - w,
    ],
)  # fmt: skip
def test_nan_and_infinities_flow_through_as_in_eager_mode(of):
    w = Value(1.5)
    for x in (nan, inf, -inf, 0.0, 1e308):
        check(lambda x: of(x, w), [(x,), (2.0,)])


def test_the_branch_that_is_not_chosen_has_no_effect():
    w = Value(2.0)
    forward, backward, _ = written(lambda x: where(x > 0, (x * w).log(), w / x), [()])
    assert function_of(forward)([2.0], [[-1.0, 0.5, 0.0]])[0].tolist() == [-2.0, 0.0, inf]
    data, _ = function_of(backward)([2.0], [[-1.0, 0.5]])
    assert data == -1.0


# ---- size


@pytest.mark.slow
def test_long_sums_and_deep_chains():
    parameters = [Value(math.sin(i)) for i in range(300)]

    def of(x):
        total = sum(p * x for p in parameters)
        for _ in range(2000):
            total = (total * parameters[0]).tanh() + parameters[1]
        return total - sum(p * p for p in parameters)

    check(of, [(0.5,), (-0.25,)])


def test_a_sum_of_products_of_every_kind():
    p, q, s = (Value(x) for x in (1.0, 2.0, 3.0))
    check(lambda x, y, z: x * y + y * z + p * x - q * y + q + s * s, [(0.5, 2.0, -1.0)])


@pytest.mark.slow
def test_a_small_gpt():
    random.seed(0)
    model = load("microgpt").GPT(tokens=27)
    tokens = [26, 4, 12, 12, 0, 3, 8]
    check(model.loss, [(tokens, [*tokens[1:], 26])])


@pytest.mark.slow
def test_a_model_of_thousands_of_parameters():
    random.seed(0)
    model = MLP(100, [40, 5])
    rng = np.random.default_rng(0)
    examples = [(rng.normal(size=100).tolist(), k) for k in (0, 4, 2)]
    check(lambda x, k: cross_entropy(model(x), k), examples)
