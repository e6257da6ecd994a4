"""Whole programs on every executor: random ones, models and losses, against the engine."""

import math
import random

import numpy as np
import pytest
from compiled import assert_agrees, assert_close, by_batch, by_engine, mlp, rows
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import SMOOTH, STEPS, build
from sampling import thinned

import micrograd
from micrograd import Value, where
from micrograd.losses import binary_cross_entropy, cross_entropy, hinge, squared_error
from micrograd.nn import Linear, Module, Sequential

pytestmark = pytest.mark.usefixtures("executor")


# ---- random programs


KINKED = [
    *SMOOTH,
    lambda a, b: a.maximum(b),
    lambda a, b: a.minimum(b) * 0.5,
    lambda a, b: a.relu() - b,
    lambda a, b: abs(a) + b,
    lambda a, b: a + b + a * b,
    lambda a, b: a - b - 2 * a,
    lambda a, b: 1 - a * b,
    lambda a, b: -a,
]
# Few numbers, so that ties are common.
ROUND = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5])


@given(
    STEPS,
    st.lists(ROUND, min_size=3, max_size=3),
    st.lists(st.tuples(ROUND, ROUND), min_size=1, max_size=7),
)
def test_random_programs(steps, point, batch):
    parameters = [Value(x) for x in point]
    a, b, c = parameters

    def function(x, y):
        choices = [
            *KINKED,
            lambda a, b: where(y > a, a, b * 0.5),
            lambda a, b: where(x < 0.25, b, where(a + x >= y, -a, a * y)),
        ]
        return build([a, Value(x), b + y, b, Value(y), c * x], steps, choices)

    expected = by_engine(function, parameters, *np.transpose(batch))
    if not all(map(math.isfinite, [*expected[0], *expected[2]])):
        return
    found = by_batch(micrograd.compile(function)(*np.transpose(batch)), parameters)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, max(1.0, *map(abs, expected[0]), *map(abs, expected[2])))


@given(
    st.lists(STEPS, min_size=2, max_size=3),
    st.lists(ROUND, min_size=3, max_size=3),
    st.integers(1, 2),
)
def test_random_programs_with_several_results(programs, point, n):
    parameters = [Value(x) for x in point]
    xs = np.array([[0.5, -1.0], [1.5, 0.25]])[:n]

    def results(x):
        leaves = [*parameters, Value(x[0]), parameters[0] * x[1]]
        for steps in programs:
            leaves = [*leaves[-5:], build(leaves, steps, SMOOTH), build(leaves[1:], steps, KINKED)]
        return leaves[-4:]

    compiled = micrograd.compile(results)
    batch = compiled(xs)
    for i in range(4):
        lanes, mean, gradients = by_engine(lambda x, i=i: results(x)[i], parameters, xs)
        if not all(map(math.isfinite, [*lanes, *gradients])) or max(map(abs, lanes)) > 1e6:
            return
        scale = max(1.0, *map(abs, lanes), *map(abs, gradients))
        found = by_batch(batch[i], parameters)
        for one, other in zip(found, (lanes, mean, gradients), strict=True):
            assert_close(one, other, scale)


@pytest.mark.parametrize("seed", thinned(range(20), 5))
def test_results_of_random_functions_with_shared_weights(seed):
    rng = random.Random(seed)
    weights = [Value(rng.uniform(-1, 1)) for _ in range(rng.randint(2, 6))]

    def function(x):
        choose = random.Random(seed + len(x))
        known = [*(xi * 1.0 for xi in x), *weights]
        for _ in range(8):
            pairs = [(choose.choice(weights), choose.choice(known)) for _ in range(3)]
            known.append(sum((w * v for w, v in pairs), choose.choice(weights)).tanh())
        return [known[-1], choose.choice(weights) * known[-1], sum(known[len(x) :])]

    compiled = micrograd.compile(function)
    for width in (2, 1, 3, 2):
        xs = rows(4, width, seed)
        batch = compiled(xs)
        for i in (2, 0, 1):
            expected = by_engine(lambda x, i=i: function(x)[i], weights, xs)
            assert_close(by_batch(batch[i], weights)[1], expected[1], scale=1)


# ---- models and losses


LOSSES = {
    "hinge": (hinge, [1.0, -1.0]),
    "squared error": (squared_error, [0.5, -2.0]),
    "binary cross-entropy": (binary_cross_entropy, [0, 1]),
}


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
def test_networks_with_one_output(loss, activation):
    of, targets = LOSSES[loss]
    model = mlp(3, 5, 4, 1, activation=activation)
    for n in (1, 2, 7):
        y = [targets[i % 2] for i in range(n)]
        assert_agrees(lambda x, y: of(model(x), y), model.parameters(), rows(n, 3), y, scale=1)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "linear"])
def test_classifiers(activation):
    model = mlp(4, 6, 3, activation=activation)

    def loss(x, label):
        return cross_entropy(model(x), label)

    compiled = None
    for n in (1, 2, 7):
        labels = np.arange(n) % 3
        compiled = assert_agrees(
            loss, model.parameters(), rows(n, 4), labels, compiled=compiled, scale=1
        )
    assert len(compiled.programs) == 1


def test_extreme_logits():
    w = Value(1000.0)

    def loss(x, label):
        return cross_entropy([w * x, -w * x, w], label) + binary_cross_entropy(w * x, label / 2)

    assert_agrees(loss, [w], [1.0, -1.0, 1.0, 0.5], [0, 1, 2, 2])


@pytest.mark.parametrize(
    "penalty",
    [
        lambda ps: 1e-4 * sum(p * p for p in ps),
        lambda ps: 0.1 * sum(abs(p) for p in ps) / len(ps),
        lambda ps: sum((p * p).maximum(0.01) for p in ps[:5]) ** 0.5,
        lambda ps: -sum(ps) * ps[0].tanh(),
        lambda ps: ps[-1] + 3,
    ],
)
def test_a_penalty_on_the_parameters(penalty):
    model = mlp(2, 4, 1)
    ps = model.parameters()

    def loss(x, y):
        return hinge(model(x), y) + penalty(ps)

    for n in (1, 7):
        assert_agrees(loss, ps, rows(n, 2), [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0][:n], scale=1)
    assert_agrees(lambda x: penalty(ps) - model(x), ps, rows(5, 2), scale=1)


def test_custom_modules_and_sequences():
    random.seed(1)

    class Gated(Module):
        def __init__(self):
            self.up, self.gate = Linear(3, 4), Linear(3, 4, bias=False)
            self.down = [Value(random.uniform(-1, 1)) for _ in range(4)]

        def __call__(self, x):
            pairs = zip(self.up(x), self.gate(x), strict=True)
            hidden = [a * b.sigmoid() for a, b in pairs]
            return sum(w * h for w, h in zip(self.down, hidden, strict=True))

    gated, sequence = Gated(), Sequential(Linear(2, 3), Linear(3, 1))
    assert_agrees(gated, gated.parameters(), rows(5, 3), scale=1)
    assert_agrees(lambda x: sequence(x)[0], sequence.parameters(), rows(5, 2), scale=1)


@pytest.mark.slow
def test_a_program_is_deep_without_recursion():
    w = Value(0.5)

    def function(x):
        for _ in range(2000):
            x = (w * x).sin()
        return x

    assert_agrees(function, [w], [1.0, 2.0], scale=1)


def test_numpy_inside_the_function():
    w = np.array([[Value(0.5), Value(-1.0)], [Value(2.0), Value(0.25)]])

    def function(x):
        return np.tanh(w @ np.array(x)).sum()

    assert_agrees(function, w.ravel().tolist(), rows(4, 2), scale=1)


def test_attention_over_a_short_sequence():
    random.seed(2)
    q, k, v = Linear(2, 3), Linear(2, 3), Linear(2, 3)

    def function(x):
        queries, keys, values = map(q, x), list(map(k, x)), list(map(v, x))
        total = Value(0.0)
        for query in queries:
            scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
            weights = [score.exp() for score in scores]
            norm = sum(weights)
            mixed = [
                sum(w * value[d] for w, value in zip(weights, values, strict=True)) / norm
                for d in range(3)
            ]
            total = total + sum(mixed) ** 2
        return total

    parameters = [*q.parameters(), *k.parameters(), *v.parameters()]
    for n in (1, 2, 5):
        xs = np.random.default_rng(n).normal(size=(n, 4, 2))
        assert_agrees(function, parameters, xs, scale=10)
