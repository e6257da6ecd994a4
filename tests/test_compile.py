"""Chapter 13. `micrograd.compile` against the same function, run by the engine on one example at a
time: results, their mean, and the gradients of the mean; all on each executor that is there."""

import contextlib
import copy
import gc
import inspect
import itertools
import math
import pickle
import random
import weakref
from fractions import Fraction
from functools import partial
from operator import neg

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations import TABLE, name_of
from test_engine import SMOOTH, STEPS, build

import micrograd
from micrograd import (
    Value,
    check_gradients,
    draw_dot,
    hessian,
    jacobian,
    local_derivatives,
    no_grad,
    take,
    where,
)
from micrograd.compiler import run
from micrograd.compiler.function import compile
from micrograd.compiler.parameters import Resident
from micrograd.compiler.run_numba import why_not
from micrograd.losses import binary_cross_entropy, cross_entropy, hinge, squared_error
from micrograd.nn import MLP, Linear, Module, Sequential
from micrograd.optim import SGD, Adam, AdamW
from micrograd.trace import TraceError


@pytest.fixture(autouse=True, scope="module", params=["numpy", "python", "numba"])
def executor(request):
    if request.param == "numba" and why_not():
        pytest.skip(why_not())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(micrograd, "compile", partial(compile, executor=request.param))
        yield request.param


def examples_of(*arguments):
    """The arguments of each call that a batch stands for, as plain numbers and lists."""
    arrays = [np.asarray(a) for a in arguments]
    n = max([len(a) for a in arrays if a.ndim], default=1)
    rows = [a.tolist() if a.ndim else [a.item()] * n for a in arrays]
    return [tuple(argument[i] for argument in rows) for i in range(n)]


def by_engine(function, parameters, *arguments):
    """Results, their mean, and its gradients, with the mean written out."""
    for p in parameters:
        p.grad = 0
    values = [Value(0.0) + function(*example) for example in examples_of(*arguments)]
    mean = sum(values) / len(values)
    mean.backward()
    return [v.data for v in values], mean.data, [p.grad for p in parameters]


def by_batch(batch, parameters):
    """The same of a batch."""
    for p in parameters:
        p.grad = 0
    batch.backward()
    return np.broadcast_to(batch.lanes, batch.n), batch.data, [p.grad for p in parameters]


def assert_close(found, expected, scale=None):
    """Equal to 1e-12 of each number, or of the scale where numbers cancel; NaN equals NaN."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * (scale or 0))


def assert_agrees(function, parameters, *arguments, compiled=None, scale=None):
    compiled = compiled or micrograd.compile(function)
    expected = by_engine(function, parameters, *arguments)
    found = by_batch(compiled(*arguments), parameters)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, scale)
    return compiled


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def mlp(*sizes, seed=0, activation="relu"):
    random.seed(seed)
    return MLP(sizes[0], list(sizes[1:]), activation=activation)


# ---- every operation, in all kinds of places


PLACES = {
    "parameter": lambda p, x: p,
    "input": lambda p, x: Value(x),
    "sum of both": lambda p, x: p + x,
}


def placed(row, kinds):
    """The operation as a function of inputs, with operands of these kinds, and its parameters."""
    parameters = [Value(0.0) for _ in kinds]

    def function(*xs):
        pairs = zip(kinds, parameters, xs, strict=True)
        return row.function(*(PLACES[kind](p, x) for kind, p, x in pairs))

    return function, parameters


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("row", TABLE, ids=name_of)
def test_each_operation_on_parameters_and_inputs(row, n):
    points = [row.points[i % len(row.points)] for i in range(n)]
    for kinds in itertools.product(PLACES, repeat=len(points[0])):
        function, parameters = placed(row, kinds)
        for p, kind, x in zip(parameters, kinds, points[0], strict=True):
            p.data = x if kind == "parameter" else 0.0
        expected = by_engine(function, parameters, *np.transpose(points))
        batch = micrograd.compile(function)(*np.transpose(points))
        found = by_batch(batch, parameters)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -3.0, 0.5, 710.0, 1e-310, 1e300]


@pytest.mark.parametrize(
    "row",
    [
        row for row in TABLE if row.name != "a ** 0.5"  # that is a root, and that of -inf is NaN
    ],
    ids=name_of,
)  # fmt: skip
def test_each_operation_far_out_and_where_it_has_no_value(row):
    kinds = ["sum of both"] * len(row.points[0])
    function, parameters = placed(row, kinds)
    compiled = micrograd.compile(function)
    for point in itertools.product(SPECIAL, repeat=len(kinds)):
        try:
            lanes = by_engine(function, [], *([x] for x in point))[0]
        except (ArithmeticError, ValueError):  # then it is IEEE's, and the next test is for that
            lanes = None
        try:
            gradients = by_engine(function, parameters, *([x] for x in point))[2]
        except (ArithmeticError, ValueError):
            gradients = None
        for n in (1, 3):
            found = by_batch(compiled(*([x] * n for x in point)), parameters)
            if lanes is not None:
                assert_close(found[0], lanes * n)
            if gradients is not None:
                assert_close(found[2], gradients)


def test_what_the_engine_refuses_has_the_value_of_ieee_arithmetic():
    def function(x):
        x = Value(x)
        return [x.log(), 1 / x, x.sqrt(), x.exp(), x**-2, x**1.5, x.sin(), Value(1e308) * 10 ** x]

    found = micrograd.compile(function)([0.0, -1.0, 1000.0, math.inf]).lanes
    expected = [
        [-math.inf, math.inf, 0.0, 1.0, math.inf, 0.0, 0.0, 1e308],
        [math.nan, -1.0, math.nan, math.exp(-1), 1.0, math.nan, math.sin(-1), 1e307],
        [math.log(1000), 1e-3, 1000**0.5, math.inf, 1e-6, 1000**1.5, math.sin(1000), math.inf],
        [math.inf, 0.0, math.inf, math.inf, 0.0, math.inf, math.nan, math.inf],
    ]
    assert_close(found, expected)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda w: w.log(), math.nan),
        (lambda w: 1 / (w + 1), math.inf),
        (lambda w: w.sqrt(), math.nan),
        (lambda w: (w * -1000).exp(), math.inf),
    ],
)
def test_what_the_engine_refuses_of_a_parameter_has_the_value_of_ieee_arithmetic(
    function, expected
):
    w = Value(-1.0)
    compiled = micrograd.compile(lambda x: function(w) * x)
    assert_close(compiled([1.0, 2.0]).lanes, [expected] * 2)
    w.data = 0.5
    compiled([1.0, 2.0])
    w.data = -1.0
    assert_close(compiled([1.0, 2.0]).lanes, [expected] * 2)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (Value.relu, 0.0),
        (abs, 0.0),
        (lambda a: a**0, 0.0),
        (lambda a: a ** Value(0.0), 0.0),
        (lambda a: 0 ** (a + 2), 1.0),
        (lambda a: a.maximum(2.0), 2.0),
        (lambda a: a.minimum(2.0), 2.0),
        (lambda a: a.maximum(a), 2.0),
        (lambda a: a.minimum(neg(-a)) * a, 2.0),
        (lambda a: a.maximum(2.0).maximum(a).maximum(a * 1.0), 2.0),
        (lambda a: a.relu().maximum(0.0) + abs(a - a), 0.0),
    ],
)
def test_conventions_at_kinks(function, x):
    w = Value(0.0)
    assert_agrees(lambda x: function(w + x), [w], [x])
    assert_agrees(lambda x: function(w + x), [w], [x, x + 1, x, x + 0.5])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: where(x > 0, x, 0.0) * 2,
        lambda x: where(x > 0, 1 / x, 0.0),
        lambda x: where(x * x > 1, x.exp(), -x),
        lambda x: where(x > 0, where(x < 2, x, 2.0), where(x <= -1, -1.0, x * x)),
        lambda x: where(x >= 0, x, -x).sqrt() + where(x < 0, x, 0.0),
    ],
)
def test_where_hides_what_is_infinite_or_undefined_in_the_other_branch(function):
    w = Value(0.0)
    xs = [1.5, -1.5, 0.5, 3.0, -0.25]
    assert_agrees(lambda x: function(w + x), [w], xs)
    assert_agrees(lambda x: function(w + x), [w], xs[:1])


def test_where_gives_nothing_to_the_other_branch_even_if_that_is_infinite():
    w = Value(1.0)
    batch = micrograd.compile(lambda x: where(x > 0, w, w * x / 0.0))([1.0, 2.0])
    batch.backward()
    assert_close(batch.lanes, [1.0, 1.0])
    # as by the engine on a graph of both branches: 0 * inf, which is where the user's formula says
    assert math.isnan(w.grad)
    w.grad = 0
    micrograd.compile(lambda x: where(x > 0, w, (w * x).log()))([1.0, 2.0]).backward()
    assert w.grad == 1.0


def test_a_number_that_decides_is_no_index():
    w, v = Value(2.0), Value(3.0)

    def of(x, y):
        return where(x, 0.0, w) + where(y, 0.0, w * v) + where(x - y, 0.0, v)

    compiled = assert_agrees(of, [w, v], [0.0, 2.0, -1.5], [2.5, 0.0, -1.5])
    with micrograd.no_grad():
        assert_close(compiled([0.0, 2.0, -1.5], [2.5, 0.0, -1.5]).lanes, [2.0, 6.0, 3.0])


def view_written_to(x):
    view = x[:]
    x.flags.writeable = False
    yield x
    view[0] = 5.0
    yield x


def flag_toggled(x):
    x.flags.writeable = False
    yield x
    x.flags.writeable = True
    x[0] = 5.0
    x.flags.writeable = False
    yield x


def flag_of_a_view_of_what_changes(x):
    view = x[:]
    view.flags.writeable = False
    yield view
    x[0] = 5.0
    yield view


def memory_of_someone_else(x):
    memory = bytearray(x.tobytes())
    array = np.frombuffer(memory)
    array.flags.writeable = False
    yield array
    memory[:8] = np.array([5.0]).tobytes()
    yield array


def another_array_between(x):
    x.flags.writeable = False
    yield x
    yield np.array([7.0, 8.0])
    yield np.array([9.0])
    yield x


@pytest.mark.parametrize("change", [
    view_written_to, flag_toggled, flag_of_a_view_of_what_changes, memory_of_someone_else,
    another_array_between,
])  # fmt: skip
def test_a_read_only_array_may_have_changed(change):
    w = Value(2.0)
    compiled = micrograd.compile(lambda x: w * x)
    for x in change(np.array([1.0, 2.0])):
        assert compiled(x).lanes.tolist() == (2.0 * x).tolist()


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
# Few numbers, so that ties are frequent.
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
def test_random_programs_of_many_results(programs, point, n):
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


# ---- models and losses


LOSSES = {
    "hinge": (hinge, [1.0, -1.0]),
    "squared error": (squared_error, [0.5, -2.0]),
    "binary cross-entropy": (binary_cross_entropy, [0, 1]),
}


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
def test_networks_of_one_output(loss, activation):
    of, targets = LOSSES[loss]
    model = mlp(3, 5, 4, 1, activation=activation)
    for n in (1, 2, 7):
        y = [targets[i % 2] for i in range(n)]
        assert_agrees(lambda x, y: of(model(x), y), model.parameters(), rows(n, 3), y, scale=1)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "linear"])
def test_networks_of_classes(activation):
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


def test_logits_far_out():
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


def test_modules_of_ones_own_and_sequences():
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


# ---- take


def test_take_of_parameters():
    table = [Value(float(i)) for i in range(4)]
    assert_agrees(lambda i: take(table, i) ** 2, table, [0, 3, 1, 1, 0])
    assert_agrees(lambda i: take(table, i) ** 2, table, [2])
    assert_agrees(lambda i, j: take(table, i) * take(table, j), table, [0, 3, 1], [0, 1, 1])


def test_take_of_rows():
    random.seed(0)
    table = [[Value(random.uniform(-1, 1)) for _ in range(3)] for _ in range(4)]
    head = Linear(3, 2)

    def function(i, label):
        return cross_entropy(head(take(table, i)), label)

    parameters = [*itertools.chain(*table), *head.parameters()]
    for n in (1, 6):
        assert_agrees(function, parameters, np.arange(n) % 3, np.arange(n) % 2, scale=1)


def test_take_of_rows_for_each_token_of_a_sequence():
    random.seed(0)
    table = [[Value(random.uniform(-1, 1)) for _ in range(2)] for _ in range(5)]

    def function(tokens):
        taken = [take(table, token) for token in tokens]
        return sum(a * b for a, b in zip(taken[0], taken[1], strict=True)) + taken[2][0]

    for n in (1, 4):
        tokens = np.random.default_rng(n).integers(0, 5, size=(n, 3))
        assert_agrees(function, [*itertools.chain(*table)], tokens, scale=1)


def test_take_of_what_was_computed():
    w = [Value(0.5), Value(-1.0), Value(2.0)]

    def function(x, i):
        return take([(p * x).tanh() for p in w], i) + take([p * p for p in w], i)

    assert_agrees(function, w, [1.0, 2.0, -0.5, 3.0], [0, 2, 1, 2])
    assert_agrees(function, w, [1.0], [1])


def test_take_of_numbers_inputs_parameters_and_constants_in_one_table():
    w = Value(0.5)
    xs, indices = [1.0, 2.0, 3.5, 4.0], [0, 1, 2, 3]
    assert_agrees(lambda x, i: w * take([x, 2.0, -x, w], i), [w], xs, indices)
    assert_agrees(lambda x, i: take([w, Value(x), 2.0, w * x], i), [w], xs, indices)
    assert_agrees(lambda i: take([10.0, 20.0], i) * w, [w], [0, 1])


def test_take_by_an_index_that_was_computed():
    table = [Value(float(i)) for i in range(4)]
    assert_agrees(lambda i: take(table, i + 1), table, [0, 2, 1])
    with pytest.raises(IndexError, match=r"take (expects a whole .* got 4|got an index out)"):
        micrograd.compile(lambda i: take(table, i + 1))([0, 3]).backward()


def test_take_twice_from_a_table_whose_last_entry_is_a_constant():
    a, b = Value(0.5), Value(-1.0)
    table = [a, b, 2.0]
    assert_agrees(lambda i, j: take(table, i) * take(table, j), [a, b], [0, 1, 2], [2, 1, 2])


def test_take_by_a_computed_index_that_is_not_whole():
    table = [Value(1.0), Value(2.0)]
    with pytest.raises(IndexError, match=r"take (expects a whole number .* got 0.5|got an index)"):
        micrograd.compile(lambda i: take(table, i / 2))([0, 1])


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        ([0, 4], IndexError, r"take expects 0 <= index < 4, got 4"),
        ([0, -1], IndexError, r"take expects 0 <= index < 4, got -1"),
        ([0, 1.5], TypeError, r"expected whole numbers as indices, got 1\.5"),
        ([math.nan], TypeError, r"expected whole numbers as indices, got nan"),
    ],
)
def test_indices_out_of_range(index, error, message):
    table = [Value(float(i)) for i in range(4)]
    with pytest.raises(error, match=message):
        micrograd.compile(lambda i: take(table, i))(index)


def test_the_shortest_table_decides():
    long, short = [Value(float(i)) for i in range(4)], [Value(1.0), Value(2.0)]
    with pytest.raises(IndexError, match=r"0 <= index < 2, got 3"):
        micrograd.compile(lambda i: take(long, i) * take(short, i))([3, 0])


# ---- operations of one's own


def squared(self):
    out = Value(self.data * self.data, (self,), "sq")

    def _backward():
        self.grad += 2 * self.data * out.grad

    out._backward = _backward
    return out


def scaled_product(self, other):
    out = Value(3 * self.data * other.data, (self, other), "3xy")

    def _backward():
        self.grad += 3 * other.data * out.grad
        other.grad += 3 * self.data * out.grad

    out._backward = _backward
    return out


def test_an_operation_of_ones_own():
    w = Value(0.5)
    assert_agrees(lambda x: squared(w * x) + squared(w), [w], [1.0, -2.0, 3.0])
    assert_agrees(lambda x: squared(scaled_product(w, w + x)).tanh(), [w], [1.0, -0.25, 0.5])
    assert_agrees(lambda x: scaled_product(w, w) * x, [w], [1.0])


def test_value_to_the_power_of_a_value():
    a, b = Value(1.5), Value(-0.5)
    assert_agrees(lambda x: (a + x) ** (b * x) + x**a + a**b, [a, b], [1.0, 2.0, 0.5])


# ---- what goes in


def test_scalars_keywords_defaults_and_what_is_the_same_in_every_example():
    w = Value(2.0)

    def function(x, y, scale=1.0):
        return (w * x - y) * scale

    compiled = micrograd.compile(function)
    xs, ys = [1.0, 2.0, 3.0], [0.5, 0.0, -1.0]
    expected = by_engine(function, [w], xs, ys, 0.5)
    for batch in (
        compiled(xs, ys, 0.5),
        compiled(xs, ys, scale=0.5),
        compiled(y=ys, scale=0.5, x=xs),
        compiled(np.array(xs), tuple(ys), np.float32(0.5)),
    ):
        for found, right in zip(by_batch(batch, [w]), expected, strict=True):
            assert_close(found, right)
    assert_close(compiled(3.0, 1).lanes, [5.0])
    assert compiled(3.0, 1).n == 1
    assert compiled(3.0, True).data == 5.0
    assert compiled(xs, 1.0).n == 3


def test_a_keyword_after_a_default():
    def function(x, a=1.0, b=2.0):
        return Value(x) * a + b

    assert_close(micrograd.compile(function)([1.0, 2.0], b=5.0).lanes, [6.0, 7.0])


def test_an_argument_that_is_given_by_keyword_alone():
    def function(x, *, scale):
        return Value(x) * scale

    assert_close(micrograd.compile(function)([1.0, 2.0], scale=5.0).lanes, [5.0, 10.0])


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, 2], [3, 4], [5, 6]]),
        np.array([[True, False], [False, False], [True, True]]),
        np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], np.float32),
        np.asfortranarray([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.arange(6.0).reshape(3, 2)[::-1],
        np.array([[1, 2], [3, 4]], np.uint8),
        [[1, 2.5], (3, 4)],
        [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
    ],
)
def test_arrays_of_all_kinds(array):
    w, b = Value(2.0), Value(-1.0)
    assert_agrees(lambda x: (w * x[0] - b * x[1]).tanh(), [w, b], array, scale=1)


def test_lists_of_lists():
    w = [Value(float(i)) for i in range(6)]

    def function(x):
        assert (len(x), len(x[0])) == (2, 3)
        return sum(p * xi for p, xi in zip(w, itertools.chain(*x), strict=True)).sin()

    for n in (1, 4):
        assert_agrees(function, w, np.random.default_rng(0).normal(size=(n, 2, 3)), scale=1)


def test_a_function_of_no_arguments_and_an_example_of_no_numbers():
    w = Value(2.0)
    batch = micrograd.compile(lambda: w * w)()
    batch.backward()
    assert (batch.data, w.grad) == (4.0, 4.0)
    assert micrograd.compile(lambda x: w * len(x))(np.zeros((3, 0))).data == 0.0


def test_plain_arithmetic_on_inputs():
    w = Value(2.0)
    xs, ys = [1.0, 2.0], [3.0, -4.0]
    assert_agrees(lambda x, y: w * (x * x - y / 2 + abs(-y) ** 3) + x**2, [w], xs, ys)


def test_inputs_that_nobody_uses():
    w = Value(2.0)
    assert_agrees(lambda x, y, z: w * y[1], [w], [1.0, 2.0], rows(2, 3), [5, 6])


# ---- what comes out


@pytest.mark.parametrize(
    ("wrap", "expected"),
    [(list, [[2.0, 3.0], [6.0, 5.0]]), (tuple, [[2.0, 3.0], [6.0, 5.0]]),
     (np.array, [[2.0, 3.0], [6.0, 5.0]])],
)  # fmt: skip
def test_several_results(wrap, expected):
    w = Value(2.0)
    batch = micrograd.compile(lambda x: wrap([w * x, w + x]))([1.0, 3.0])
    assert batch.data == [4.0, 4.0]
    assert len(batch) == 2
    assert_close(batch.lanes, expected)
    assert_close(np.asarray(batch), expected)
    assert_close(batch[-1].lanes, [3.0, 5.0])
    assert [one.data for one in batch] == [4.0, 4.0]
    batch[0].backward()
    batch[1].backward(gradient=10.0)
    assert w.grad == 12.0
    with pytest.raises(IndexError):
        batch[2]


def test_a_list_of_one():
    w = Value(2.0)
    batch = micrograd.compile(lambda x: [w * x])([1.0, 3.0])
    assert batch.data == [4.0]
    assert batch.lanes.shape == (2, 1)


def test_a_model_as_it_is_for_prediction():
    model = mlp(2, 4, 3)
    grid = rows(50, 2)
    expected = [[v.data for v in model(x)] for x in grid.tolist()]
    assert_close(micrograd.compile(model)(grid).lanes, expected)


def test_a_function_without_parameters():
    compiled = micrograd.compile(lambda x, y: Value(x) * y + 1)
    batch = compiled([1.0, 2.0], [3.0, 4.0])
    assert_close(batch.lanes, [4.0, 9.0])
    batch.backward()
    assert compiled.programs[(), ()].parameters == []
    assert_close(micrograd.compile(lambda x: x)([1.0, 2.0]).lanes, [1.0, 2.0])


def test_conditions_are_numbers():
    w = Value(2.0)
    assert_close(micrograd.compile(lambda x: x > 0)([1.0, -1.0]).lanes, [1.0, 0.0])
    assert_agrees(lambda x: w * (x > 0) + (x < 5), [w], [1.0, -1.0])


CONSTANT = {"parameter": lambda w: w, "uniform": lambda w: w * w, "constant": lambda w: 3.0}


@pytest.mark.parametrize("kind", CONSTANT)
def test_results_that_are_the_same_in_every_example(kind):
    w = Value(2.0)
    expected = {"parameter": (2.0, 1.0), "uniform": (4.0, 4.0), "constant": (3.0, 0.0)}[kind]
    batch = micrograd.compile(lambda x: CONSTANT[kind](w))([1.0, 2.0, 3.0])
    batch.backward()
    assert (batch.data, w.grad) == expected


@pytest.mark.parametrize("kind", CONSTANT)
def test_lanes_of_results_that_are_the_same_in_every_example(kind):
    w = Value(2.0)
    batch = micrograd.compile(lambda x: CONSTANT[kind](w))([1.0, 2.0, 3.0])
    assert np.shape(batch.lanes) == (3,)
    batch = micrograd.compile(lambda x: [CONSTANT[kind](w), w])([1.0, 2.0, 3.0])
    assert np.shape(batch.lanes) == (3, 2)


def test_lanes_of_results_some_of_which_are_the_same_in_every_example():
    w = Value(2.0)
    lanes = micrograd.compile(lambda x: [w, w * x, 3.0, Value(x), x])([1.0, 4.0]).lanes
    assert_close(lanes, [[2, 2, 3, 1, 1], [2, 8, 3, 4, 4]])


def test_the_same_result_twice():
    w = Value(2.0)
    batch = micrograd.compile(lambda x: [w * x, w * x, w, w])([1.0, 4.0])
    assert_close(batch.lanes, [[2, 2, 2, 2], [8, 8, 2, 2]])
    for i in range(4):
        batch[i].backward()
    assert w.grad == 2.5 + 2.5 + 1 + 1


def test_the_mean_is_the_same_float_before_and_after_backward():
    model = mlp(3, 4, 1)
    compiled = micrograd.compile(lambda x: model(x) ** 2)
    batch = compiled(rows(7, 3))
    before = batch.data
    batch.backward()
    assert batch.data == batch.item() == before
    other = compiled(rows(7, 3))
    other.backward()
    assert other.data == pytest.approx(before, rel=1e-14)
    assert f"{other:.3f}" == f"{before:.3f}"
    assert repr(batch) == f"{batch}" == f"Batch(data={before}, n=7)"


def test_a_mean_of_opposite_infinities_is_nan_without_a_warning():
    w = Value(1.0)
    assert math.isnan(micrograd.compile(lambda x: w * x)([math.inf, -math.inf]).data)


@pytest.mark.parametrize("function", [lambda x: Value(x), lambda x: [Value(x)]])
def test_a_mean_of_opposite_infinities_without_gradients_is_nan_without_a_warning(function):
    assert np.isnan(micrograd.compile(function)([math.inf, -math.inf]).data).all()


def test_opposite_infinities_in_a_gradient_are_nan_without_a_warning():
    w = Value(1.0)
    w.grad = math.inf
    micrograd.compile(lambda x: w * x)([-math.inf]).backward()
    assert math.isnan(w.grad)


def test_an_infinite_gradient_times_0_is_nan_without_a_warning():
    w = Value(1.0)
    micrograd.compile(lambda x: w * x)([math.inf]).backward(gradient=0.0)
    assert math.isnan(w.grad)


# ---- when it is recorded anew


def test_a_new_shape_is_recorded_and_a_new_number_of_examples_is_not():
    w, calls = Value(2.0), []

    def function(x):
        calls.append(len(x))
        return sum(w * xi for xi in x)

    compiled = micrograd.compile(function)
    for n in (3, 1, 7, 50, 3, 2, 1, 9, 20):
        assert_close(compiled(np.ones((n, 2))).lanes, [4.0] * n)
    assert set(calls) == {2}
    count = len(calls)
    compiled(np.ones((3, 4))).backward()
    assert set(calls[count:]) == {4}
    assert list(compiled.programs) == [((2,),), ((4,),)]
    count = len(calls)
    compiled(np.ones((5, 2))).backward()
    compiled(np.ones((5, 4))).backward()
    assert len(calls) == count
    compiled.clear()
    assert compiled.programs == {}
    compiled(np.ones((5, 2)))
    assert len(calls) > count


def test_no_grad_around_a_call():
    w = Value(2.0)
    compiled = micrograd.compile(lambda x: w * x)
    with no_grad():
        batch = compiled([1.0, 2.0])
        assert batch.data == 3.0
        assert (w * w)._prev == ()
    with pytest.raises(RuntimeError, match=r"computed inside no_grad\(\)"):
        batch.backward()
    compiled([1.0, 2.0]).backward()
    assert w.grad == 1.5
    list_of_two = micrograd.compile(lambda x: [w * x, w])
    with no_grad():
        assert list_of_two([1.0, 2.0]).data == [3.0, 2.0]
    list_of_two([1.0, 2.0])[1].backward()
    assert w.grad == 2.5


def test_no_grad_in_the_function():
    w = Value(2.0)
    for paused in (no_grad()(lambda x: w * x), no_grad()(lambda x: [w * x])):
        batch = micrograd.compile(paused)([1.0, 2.0])
        with pytest.raises(RuntimeError, match=r"computed inside no_grad\(\)"):
            (batch[0] if batch._elements else batch).backward()
    batch = micrograd.compile(lambda x: [no_grad()(lambda: w * x)(), w * x])([1.0, 2.0])
    batch[1].backward()
    assert w.grad == 1.5
    with pytest.raises(RuntimeError, match=r"computed inside no_grad\(\)"):
        batch[0].backward()


def test_called_with_values_it_is_the_function_itself():
    model = mlp(2, 3, 1)
    compiled = micrograd.compile(lambda x, y: hinge(model(x), y))
    x = [Value(0.5), Value(-0.5)]
    for arguments in ((x, 1), (x, Value(1.0)), (np.array(x), 1)):
        out = compiled(*arguments)
        assert isinstance(out, Value)
        assert out.data == hinge(model(x), 1).data
    assert compiled.programs == {}
    compiled([[0.5, -0.5]], [1.0]).backward()
    assert compiled(x, 1).data == hinge(model(x), 1).data


def test_a_compiled_function_inside_of_another_one():
    model = mlp(2, 3, 1)
    compiled = micrograd.compile(model)
    compiled(rows(2, 2))
    outer = micrograd.compile(lambda x, y: (compiled(x) - y) ** 2)
    arguments = rows(3, 2), [1, 2, 3]
    assert_agrees(
        lambda x, y: (model(x) - y) ** 2, model.parameters(), *arguments, compiled=outer
    )


def test_the_executor_is_chosen_or_told():
    w = Value(2.0)
    default = compile(lambda x: w * x)
    assert (default.executor, bool(default.reason)) in (("numba", False), ("numpy", True))

    @compile(executor="python")
    def loss(x):
        return w * x

    assert (loss.executor, loss.reason, loss([1.0, 2.0]).data) == ("python", "", 3.0)
    with pytest.raises(ValueError, match=r"executor 'fortran' is not one of .*numpy"):
        compile(lambda x: x, executor="fortran")


def test_a_decorated_function_keeps_its_name_and_its_docstring(executor):
    @micrograd.compile
    def loss(x):
        """How wrong it is."""
        return Value(x)

    assert (loss.__name__, loss.__doc__) == ("loss", "How wrong it is.")
    assert repr(loss) == "Compiled(loss)"
    assert loss.function(2.0).data == 2.0
    assert loss.executor == executor
    loss([1.0])
    assert [step.op for step in loss.instructions[:1]] == ["input"]
    assert [group.op for group in loss.groups] == ["mean"]


# ---- batches and parameters that live on


def test_two_batches_alive_at_once():
    model = mlp(2, 3, 1)
    parameters = model.parameters()
    compiled = micrograd.compile(lambda x: model(x) ** 2)
    first_rows, second_rows = rows(4, 2), rows(4, 2, seed=1)
    first, second = compiled(first_rows), compiled(second_rows)
    expected_first = by_engine(compiled.function, parameters, first_rows)
    expected_second = by_engine(compiled.function, parameters, second_rows)
    lanes = first.lanes
    for batch, expected in ((second, expected_second), (first, expected_first)):
        for found, right in zip(by_batch(batch, parameters), expected, strict=True):
            assert_close(found, right, scale=1)
    assert_close(lanes, expected_first[0], scale=1)


def test_a_batch_holds_the_parameters_of_its_call():
    w = Value(3.0)
    batch = micrograd.compile(lambda x: w * w * x)([1.0, 2.0])
    w.data = 100.0
    assert batch.data == 13.5
    batch.backward()
    assert (w.grad, w.data) == (9.0, 100.0)


def test_a_batch_holds_the_arrays_of_its_call():
    w = Value(3.0)
    xs, rows_ = np.array([1.0, 2.0]), np.array([[1.0], [2.0]])
    batch = micrograd.compile(lambda x, y: w * x * y[0])(xs, rows_)
    xs[:], rows_[:] = 100.0, 100.0
    batch.backward()
    assert (batch.data, w.grad) == (7.5, 2.5)


def test_results_that_were_handed_out_stay():
    w = Value(3.0)
    compiled = micrograd.compile(lambda x: w * x)
    lanes = compiled([1.0, 2.0]).lanes
    assert_close(compiled([5.0, 6.0]).lanes, [15.0, 18.0])
    assert_close(lanes, [3.0, 6.0])


def test_backward_twice_adds_twice():
    w = Value(3.0)
    batch = micrograd.compile(lambda x: w * w * x)([1.0, 2.0])
    batch.backward()
    once = w.grad
    batch.backward()
    assert w.grad == 2 * once
    w.grad = 0.0
    batch.backward(gradient=-0.5)
    assert w.grad == -0.5 * once
    w.grad = 1.0
    batch.backward(2)
    assert w.grad == 1.0 + 2 * once


def test_data_and_grad_are_read_and_written_between_steps():
    a, b = Value(3.0, label="a"), Value(2.0)
    compiled = micrograd.compile(lambda x: a * x + b)
    compiled([1.0, 2.0]).backward()
    assert isinstance(a, Value)
    assert (a.data, a.grad, b.data, b.grad) == (3.0, 1.5, 2.0, 1.0)
    assert type(a.data) is type(a.grad) is float
    assert repr(a) == "Value(data=3.0, grad=1.5)"
    assert a.label == "a"
    a.data -= 0.5 * a.grad
    b.data = 7
    a.grad = b.grad = 0
    batch = compiled([1.0])
    batch.backward()
    assert (batch.data, a.grad, b.grad) == (9.25, 1.0, 1.0)
    assert repr(b) == "Value(data=7.0, grad=1.0)"


def test_gradients_of_what_does_not_depend_on_a_parameter_leave_it_alone():
    a, b = Value(3.0), Value(2.0)
    b.grad = 5.0
    micrograd.compile(lambda x: [a * x, b * x])([1.0, 2.0])[0].backward()
    assert (a.grad, b.grad) == (1.5, 5.0)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.array])
def test_a_number_of_numpy_assigned_to_data(kind):
    w = Value(3.0)
    compiled = micrograd.compile(lambda x: w * x)
    compiled([1.0])
    w.data = kind(2)
    assert compiled([1.0, 2.0]).data == 3.0


def test_where_on_a_parameter_knows_the_parameters_of_both_branches():
    w, a, b = Value(1.0), Value(2.0), Value(3.0)

    def function(x):
        return where(w > 0, a * x, b * x * x) + 0 * w

    compiled = assert_agrees(function, [w, a, b], [1.0, 2.0])
    w.data, b.data = -1.0, 4.0
    assert_agrees(function, [w, a, b], [1.0, 2.0], compiled=compiled)


def test_no_recording_number_stays_behind_in_a_branch_that_was_not_taken():
    w, a, b = Value(1.0), Value(2.0), Value(3.0)
    micrograd.compile(lambda x: where(w > 0, a, b) * w * x)([1.0, 2.0])
    assert [p.grad for p in (w, a, b)] == [0.0, 0.0, 0.0]


def test_a_model_may_keep_what_it_computed():
    class Remembering(Module):
        def __init__(self):
            self.w = Value(0.5)

        def __call__(self, x):
            self.hidden = (self.w * x).tanh()
            self.out = self.hidden * self.w
            return self.out

    model = Remembering()
    compiled = assert_agrees(model, [model.w], [1.0, 2.0])
    model(1.0)
    compiled([3.0]).backward()
    assert_agrees(model, [model.w], [1.0, 2.0], compiled=compiled)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (SGD, {"lr": 0.1}),
        (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        (Adam, {"lr": 0.05}),
        (Adam, {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}),
        (AdamW, {"lr": 0.05, "weight_decay": 0.1}),
        (AdamW, {"lr": 0.05, "maximize": True}),
    ],
)
def test_20_steps_of_training_end_at_the_same_parameters(kind, arguments):
    xs, ys = rows(8, 2), [1.0, -1.0] * 4
    eager, compiled = mlp(2, 4, 1, activation="tanh"), mlp(2, 4, 1, activation="tanh")

    def loss_of(model):
        penalty = lambda: 1e-3 * sum(p * p for p in model.parameters())  # noqa: E731
        return lambda x, y: (1 - y * model(x)).relu() + penalty()

    loss = micrograd.compile(loss_of(compiled))
    optimizers = [kind(model.parameters(), **arguments) for model in (eager, compiled)]
    for _ in range(20):
        optimizers[0].zero_grad()
        by_engine(loss_of(eager), [], xs, ys)
        optimizers[0].step()
        optimizers[1].zero_grad()
        loss(xs, ys).backward()
        optimizers[1].step()
    expected = [p.data for p in eager.parameters()]
    assert_close([p.data for p in compiled.parameters()], expected, scale=1)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [(SGD, {"lr": 0.1, "momentum": 0.9}), (Adam, {"lr": 0.05, "amsgrad": True}), (AdamW, {})],
)
def test_an_optimizer_goes_on_while_its_parameters_move(kind, arguments):
    xs, ys = rows(6, 2), [1.0, -1.0, 0.5] * 2
    eager, moving = ([mlp(2, 3, 1), mlp(2, 3, 1, seed=1)] for _ in range(2))
    parameters = [  # in an order of its own
        [p for model in models for p in reversed(model.parameters())] for models in (eager, moving)
    ]
    optimizers = [kind(some, **arguments) for some in parameters]

    def loss_of(models):
        return lambda x, y: (models[0](x) * models[1](x) - y) ** 2

    def head_of(models):
        return lambda x, y: (models[1](x) - y) ** 2

    compiled, head = micrograd.compile(loss_of(moving)), micrograd.compile(head_of(moving))
    for step in range(12):
        for optimizer in optimizers:
            optimizer.zero_grad()
        of = head_of if 3 <= step < 6 else loss_of
        by_engine(of(eager), [], xs, ys)
        if step in (0, 1, 2, 8):
            by_engine(of(moving), [], xs, ys)
        else:
            (head if of is head_of else compiled)(xs, ys).backward()
        for optimizer in optimizers:
            optimizer.step()
        if step == 9:  # another user of some of the parameters takes them elsewhere
            SGD([parameters[1][-1], Value(1.0)], lr=0.0).step()
    assert_close(*([p.data for p in some] for some in parameters), scale=1)


def test_two_optimizers_of_parts_of_a_compiled_model():
    xs = rows(6, 2)
    models = [mlp(2, 3, 1), mlp(2, 3, 1)]
    parts = [(m.parameters()[::2], m.parameters()[1::2]) for m in models]
    pairs = [(SGD(some, lr=0.1), Adam(others, lr=0.01)) for some, others in parts]
    compiled = micrograd.compile(lambda x: models[1](x) ** 2)
    for _ in range(5):
        models[0].zero_grad()
        by_engine(lambda x: models[0](x) ** 2, [], xs)
        models[1].zero_grad()
        compiled(xs).backward()
        for pair in pairs:
            for optimizer in pair:
                optimizer.step()
    assert_close(*([p.data for p in model.parameters()] for model in models), scale=1)


def test_another_shape_finds_parameters_that_are_new():
    weights = [Value(2.0)]
    compiled = micrograd.compile(lambda x: sum(w * xi for w, xi in zip(weights, x, strict=True)))
    for xs in (rows(3, 1), rows(3, 2), rows(3, 3)):
        weights[:] = [Value(float(i)) for i, _ in enumerate(xs[0])]  # a model that was replaced
        assert_agrees(compiled.function, weights, xs, compiled=compiled)
    weights[:] = [*weights, Value(0.5)]  # and one that has grown
    assert_agrees(compiled.function, weights, rows(3, 4), compiled=compiled)
    old = weights[0] * 2.0
    weights.append(old)
    with pytest.raises(ValueError, match="computed before it was called"):
        compiled(rows(3, 5))


def test_functions_that_share_parameters():
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    first, second = micrograd.compile(lambda x: a * b * x), micrograd.compile(lambda x: b * c * x)
    for _ in range(2):
        assert_agrees(first.function, [a, b, c], [1.0, 2.0], compiled=first)
        assert_agrees(second.function, [a, b, c], [1.0, 2.0], compiled=second)
        b.data += 1.0
    old = first([1.0, 2.0])
    second([1.0, 2.0]).backward()
    a.grad = b.grad = c.grad = 0.0
    old.backward()
    assert (a.grad, b.grad, c.grad) == (6.0, 1.5, 0.0)


def test_models_compiled_apart_and_then_together():
    one, two = mlp(2, 3, 1), mlp(2, 3, 1, seed=1)
    xs = rows(5, 2)
    apart = [micrograd.compile(model) for model in (one, two)]
    old = [compiled(xs) for compiled in apart]
    parameters = [*two.parameters(), *one.parameters()]
    together = assert_agrees(lambda x: two(x) * one(x), parameters, xs, scale=1)
    for compiled, model, batch in zip(apart, (one, two), old, strict=True):
        expected = by_engine(model, model.parameters(), xs)[2]
        assert_close(by_batch(batch, model.parameters())[2], expected, scale=1)
        model.parameters()[0].data += 0.5
        assert_agrees(model, model.parameters(), xs, compiled=compiled, scale=1)
    assert_agrees(together.function, parameters, xs, compiled=together, scale=1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_a_compiled_model_are_ordinary_and_their_own(copied):
    model = mlp(2, 3, 1)
    micrograd.compile(model)(rows(4, 2)).backward()
    other = copied(model)
    assert other.state_dict() == model.state_dict()
    assert [p.grad for p in other.parameters()] == [p.grad for p in model.parameters()]
    assert all(type(p) is Value for p in other.parameters())
    other.parameters()[0].data = 100.0
    assert model.parameters()[0].data != 100.0
    assert_agrees(other, other.parameters(), rows(4, 2), scale=100)
    assert_agrees(model, model.parameters(), rows(4, 2), scale=1)


def test_a_copy_of_a_model_that_holds_its_compiled_function():
    class Line(Module):
        def __init__(self):
            self.slope = Value(3.0)
            self.loss = micrograd.compile(self.of)

        def of(self, x):
            return self.slope * x

    line = Line()
    line.loss([1.0])
    other = copy.deepcopy(line)
    other.slope.data = 10.0
    assert (line.loss([1.0]).data, other.loss([1.0]).data) == (3.0, 10.0)
    other.loss([1.0]).backward()
    assert (line.slope.grad, other.slope.grad) == (0.0, 1.0)


def test_the_state_of_a_compiled_model_is_saved_and_loaded():
    model, other = mlp(2, 3, 1), mlp(2, 3, 1, seed=1)
    compiled = micrograd.compile(model)
    compiled(rows(4, 2)).backward()
    state = model.state_dict()
    assert all(type(x) is float for x in state.values())
    other.load_state_dict(state)
    assert other([1.0, 2.0]).data == model([1.0, 2.0]).data
    model.load_state_dict({name: 2 * x for name, x in state.items()})
    assert_agrees(model, model.parameters(), rows(4, 2), compiled=compiled, scale=1)


def test_eager_use_of_a_compiled_model_is_as_before():
    model, twin = mlp(2, 3, 1), mlp(2, 3, 1)
    micrograd.compile(lambda x: model(x))(rows(4, 2))
    picture = draw_dot(twin([0.5, 1.0])).source
    out, expected = model([0.5, 1.0]), twin([0.5, 1.0])
    out.backward()
    expected.backward()
    assert out.data == expected.data
    assert [p.grad for p in model.parameters()] == [p.grad for p in twin.parameters()]
    assert draw_dot(model([0.5, 1.0])).source.count("->") == picture.count("->")
    assert model.summary() == twin.summary()
    with no_grad():
        assert model([0.5, 1.0])._prev == ()


def test_derivatives_by_parameters_of_a_compiled_function():
    a, b = Value(2.0, label="a"), Value(3.0)
    micrograd.compile(lambda x: a * b * x)([1.0]).backward()
    a.grad = b.grad = 0.0
    assert local_derivatives(a * b) == (3.0, 2.0)
    assert local_derivatives(a * a) == (2.0, 2.0)
    assert (a.grad, b.grad) == (0.0, 0.0)
    check_gradients(lambda x, y: x * y.tanh() + a * x, [2.0, 3.0])
    assert hessian(lambda x, y: x * x * y * a, [2.0, 3.0]) == [[12.0, 8.0], [8.0, 0.0]]
    assert jacobian([a * b, a / b], [a, b])[0] == [3.0, 2.0]
    assert micrograd.jvp(a * b, {a: 1.0}) == 3.0
    assert micrograd.trace.trace(a * b).python(names="abc").startswith("def program(a, b)")
    (a * b).backward()
    assert (a.grad, b.grad) == (3.0, 2.0)


def test_users_attributes_and_subclasses_stay():
    class Weight(Value):
        def doubled(self):
            return self * 2

    w = Weight(3.0, label="w")
    w.m = 0.25
    same = w
    micrograd.compile(lambda x: w.doubled() * x)([1.0, 2.0]).backward()
    assert w is same
    assert isinstance(w, Weight)
    assert (w.m, w.label, w.grad, w.doubled().data) == (0.25, "w", 3.0, 6.0)
    assert {w: 1}[same] == 1


def test_a_large_batch_goes_through_in_tiles(monkeypatch):
    model = mlp(2, 4, 1)
    xs, ys = rows(203, 2), np.arange(203) % 2
    monkeypatch.setattr(run, "MEMORY", 1)

    def loss(x, y):
        penalty = 1e-3 * sum(p * p for p in model.parameters())
        return binary_cross_entropy(model(x), y) + penalty

    compiled = assert_agrees(loss, model.parameters(), xs, ys, scale=1)
    for n in (15, 16, 17, 32, 33, 48):
        assert_agrees(loss, model.parameters(), xs[:n], ys[:n], compiled=compiled, scale=1)


# ---- what is refused


def _if(x):
    return x if x > 0 else -x


def _while(x):
    while x < 10:
        x = x * 2
    return x


MISUSES = {
    "if": (_if, 1, r"bool\(\).*where\(condition, a, b\)"),
    "while": (_while, 1, r"bool\(\).*where\(condition, a, b\)"),
    "and": (lambda x: (x > 0) and (x < 1), 0, "bool.*where"),
    "not": (lambda x: not x, 0, "bool.*where"),
    "max": (lambda x: max(x, 0.0), 0, r"bool.*\.maximum\(\)"),
    "min of Values": (lambda x: min(Value(x), Value(0.0)), 0, r"bool.*\.minimum\(\)"),
    "sorted": (lambda x: sorted([x, 1.0])[0], 0, "bool.*sorting"),
    "float": (lambda x: float(x), 0, r"float\(\).*constant.*methods of Value"),
    "int": (lambda x: int(x), 0, r"int\(\).*constant"),
    "round": (lambda x: round(x), 0, "rounding"),
    "math.exp": (lambda x: math.exp(x), 0, r"float\(\).*\.exp\(\) for math\.exp"),
    "math.exp of data": (lambda x: math.exp(Value(x).data), 0, r"\.exp\(\) for math\.exp"),
    "item": (lambda x: Value(x).item() * 2, 0, r"float\(\)"),
    "format of a Value": (lambda x: Value(x) if f"{Value(x):.2f}" else 0, 0, r"float\(\)"),
    "index": (lambda x: [1.0, 2.0][x], 0, r"index.*take\(table, index\)"),
    "range": (lambda x: sum(range(x)), 0, "index"),
    "equals": (lambda x: x == 1.0, 0, "==.*where"),
    "in": (lambda x: x in (0.0, 1.0), 0, "=="),
    "rest": (lambda x: x % 2, 0, "%.*pass the result as an argument"),
    "whole part": (lambda x: Value(x // 2), 0, "//.*pass the result as an argument"),
    "both": (lambda x: where((x > 0) & (x < 1), x, 0), 0, r"&.*where\(a, where\(b, x, y\), y\)"),
    "NumPy's maximum": (lambda x: np.maximum(x, 0.0), 0, "bool.*maximum"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_what_would_freeze_a_choice_is_refused_with_file_line_and_remedy(misuse):
    function, offset, message = MISUSES[misuse]
    line = function.__code__.co_firstlineno + offset
    compiled = micrograd.compile(function)
    with pytest.raises(TraceError, match=message) as caught:
        compiled([1.0, 2.0])
    assert f"at {__file__}, line {line}: " in str(caught.value)
    name = function.__name__
    [note] = caught.value.__notes__
    assert note.startswith(f"(while compiling {name} for examples of one number; the first axis")
    assert compiled.programs == {}


@pytest.mark.parametrize(
    "use", [lambda b, w: 2 * b, lambda b, w: b + w, lambda b, w: w - b, lambda b, w: sum([b, b])]
)
def test_a_batch_is_the_end_of_a_graph(use):
    w = Value(2.0)
    batch = micrograd.compile(lambda x: w * x)([1.0, 2.0])
    with pytest.raises(TypeError, match="inside the compiled function"):
        use(batch, w)


def test_a_formatted_input_is_refused_with_file_and_line():
    with pytest.raises(TraceError, match=r"test_compile\.py, line \d+"):
        micrograd.compile(lambda x: f"{x:.2f}")([1.0])


def test_a_choice_inside_of_a_library_is_told_with_the_users_line():
    with pytest.raises(TraceError, match=r"test_compile\.py, line \d+"):
        micrograd.compile(lambda x: np.max(x))([[1.0, 2.0]])


def test_a_choice_by_a_parameter_is_refused():
    w = Value(1.0)
    with pytest.raises(TraceError, match=rf"bool.*test_compile\.py, line {line_here() + 1}: "):
        micrograd.compile(lambda x: w * x if w > 0 else w)([1.0])
    assert (w.data, w.grad) == (1.0, 0)


def line_here():
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.0, 2.0], [1.0]],), ValueError, "argument 0 has examples of different lengths.*once"),
        (([1.0], [[[1.0]], [1.0]]), ValueError, "argument 1 has examples of different lengths"),
        (([1.0, 2.0], [1.0]), ValueError, "a row for each example, got 2 and 1 rows"),
        (([],), ValueError, "at least one example, got none"),
        ((np.zeros((0, 3)),), ValueError, "at least one example, got none"),
        (("abc",), TypeError, "argument 0: expected an array of real numbers, got <U3 'abc'"),
        (([1.0], ["a"]), TypeError, "argument 1: expected an array of real numbers, got <U1"),
        (([1j],), TypeError, "real numbers, got complex128"),
        ((None,), TypeError, "real numbers, got object None"),
        (({"a": 1.0},), TypeError, "real numbers, got object {'a': 1.0}"),
        (([1.0, None],), TypeError, "real numbers, got object"),
        (([Fraction(1, 3)],), TypeError, "real numbers, got object"),
        ((np.array(["2026-01-01"], "datetime64[D]"),), TypeError, "real numbers, got datetime64"),
    ],
)
def test_arguments_that_are_no_batch(arguments, error, message):
    with pytest.raises(error, match=message):
        micrograd.compile(lambda *xs: Value(1.0))(*arguments)


def test_a_wrong_number_of_arguments():
    compiled = micrograd.compile(lambda x, y: Value(x))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        compiled([1.0])
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        compiled([1.0], [1.0], [1.0])
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        compiled([1.0], [1.0], z=[1.0])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "a compiled function returns a Value, or a list of Values, got a NoneType"),
        ("text", "got a str"),
        ([], r"got a list"),
        ((), r"got a tuple"),
        ([1.0, None], "got a NoneType"),
        ([[1.0]], "got a list"),
        ({"a": 1.0}, "got a dict"),
        (1j, "got a complex"),
    ],
)
def test_what_a_function_may_not_return(returned, message):
    with pytest.raises(TypeError, match=message):
        micrograd.compile(lambda x: returned)([1.0])


@pytest.mark.parametrize("thing", [3, "text", Value(1.0)])
def test_what_is_no_function(thing):
    with pytest.raises(TypeError, match=f"compile expects a function, got {type(thing).__name__}"):
        micrograd.compile(thing)


def test_a_batch_that_is_used_as_what_it_is_not():
    w = Value(2.0)
    several = micrograd.compile(lambda x: [w * x, w])([1.0])
    with pytest.raises(TypeError, match=r"2 results, and backward\(\) starts from one: .*\[0\]"):
        several.backward()
    one = micrograd.compile(lambda x: w * x)([1.0])
    for use in (len, list, lambda batch: batch[0]):
        with pytest.raises(TypeError, match=r"returns one Value: its results are batch\.lanes"):
            use(one)


@pytest.mark.parametrize("stage", ["instructions", "groups"])
def test_a_look_at_a_program_before_there_is_one(stage):
    compiled = micrograd.compile(lambda x: Value(x))
    with pytest.raises(RuntimeError, match=r"compiled when it is first called.*call it once"):
        getattr(compiled, stage)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))]
)
def test_a_copy_of_a_batch_has_its_numbers(duplicate):
    w = Value(2.0)
    one = micrograd.compile(lambda x: w * x)([1.0, 3.0])
    both = micrograd.compile(lambda x: [w * x, w + x])([1.0, 3.0])
    w.data = 5.0  # results stay those of the call
    for batch in (one, both):
        twin = duplicate(batch)
        assert (twin.n, twin.data) == (batch.n, batch.data)
        assert twin.lanes.tolist() == batch.lanes.tolist()
    assert duplicate(one).lanes.tolist() == [2.0, 6.0]
    assert [result.item() for result in duplicate(both)] == [4.0, 4.0]
    for twin in (duplicate(one), duplicate(both[0])):
        with pytest.raises(RuntimeError, match="a copy of a batch has no gradients"):
            twin.backward()
    with pytest.raises(TypeError, match="this batch has 2 results"):
        duplicate(both).backward()


def test_a_result_from_outside_is_refused_and_its_detached_copy_is_not():
    w = Value(2.0)
    stale = w * 3
    with pytest.raises(ValueError, match=r"result of '\*' that was computed before.*\.detach\(\)"):
        micrograd.compile(lambda x: stale * x)([1.0])
    fixed = stale.detach()
    assert micrograd.compile(lambda x: fixed * x)([1.0]).data == 6.0


def test_a_fraction_as_a_parameter_is_refused_and_left_as_it_is():
    third = Value(Fraction(1, 3), label="third")
    compiled = micrograd.compile(lambda x: third * x)
    message = r"with floats, got Fraction\(1, 3\) as the data of 'third'.*float\(\)"
    with pytest.raises(TypeError, match=message):
        compiled([1.0])
    assert third.data == Fraction(1, 3)
    assert not isinstance(third, Resident)
    third.data = 0.5
    assert compiled([1.0]).data == 0.5
    third.data = Fraction(1, 3)
    with pytest.raises(TypeError, match=message):
        compiled([1.0])
    third.data = float(third.data)
    assert compiled([3.0]).data == 1.0


def test_parameters_are_as_before_when_the_function_fails():
    w = Value(2.0)
    w.grad = 5.0

    def fails(x):
        if isinstance(w.data, float):
            return w * x
        raise KeyError("midway")

    with pytest.raises(KeyError, match="midway"):
        micrograd.compile(fails)([1.0])
    assert (w.data, w.grad) == (2.0, 5.0)


def test_a_sign_is_a_number_for_the_compiler_as_well():
    w = Value(2.0)
    assert_agrees(lambda x: neg(w) - -w * x - (-x), [w], [1.0, 3.0])


# ---- found by breaking it


def test_a_copied_optimizer_moves_the_copied_model():
    model = mlp(2, 3, 1)
    optimizer = Adam(model.parameters()[::-1], lr=0.1)
    X = rows(4, 2)
    loss = micrograd.compile(lambda x: model(x) ** 2)
    loss(X).backward()
    optimizer.step()
    other_model, other = copy.deepcopy((model, optimizer))
    before = [p.data for p in other_model.parameters()]
    micrograd.compile(lambda x: other_model(x) ** 2)(X).backward()
    other.step()
    after = [p.data for p in other_model.parameters()]
    assert all(x != y for x, y in zip(before, after, strict=True))
    assert (other.steps, optimizer.steps) == (2, 1)
    loss(X).backward()
    optimizer.step()
    assert_close([p.data for p in model.parameters()], after, scale=1)


def test_methods_are_compiled_for_each_object_and_for_each_class():
    class Base(Module):
        def __init__(self, w):
            self.w = Value(w)

        @micrograd.compile
        def loss(self, x):
            return self.w * x

    class Derived(Base):
        @micrograd.compile
        def loss(self, x):
            return super().loss(x) * 2

    two, three = Derived(2.0), Base(3.0)
    for _ in range(2):
        assert two.loss([1.0, 2.0]).lanes.tolist() == [4.0, 8.0]
        assert three.loss([1.0, 2.0]).lanes.tolist() == [3.0, 6.0]
    assert two.loss is two.loss
    assert vars(two).keys() == {"w"}
    other = copy.copy(two)
    other.w = Value(10.0)
    assert other.loss([1.0]).data == 20.0
    reference = weakref.ref(two)
    del two
    gc.collect()
    assert reference() is None


def test_arguments_may_have_the_names_that_others_are_given():
    w = Value(2.0)
    compiled = micrograd.compile(lambda *x1: w * x1[0] + x1[1])
    assert compiled([1.0], [3.0]).data == 5.0


def test_a_function_with_a_backward_of_its_own_leaves_the_gradients_as_they_were():
    w = Value(2.0)

    def function(x):
        loss = (w * x) ** 2
        loss.backward()
        return loss * w.grad

    with contextlib.suppress(TypeError, ValueError):
        micrograd.compile(function)([1.0, 3.0])
    assert (w.data, w.grad) == (2.0, 0.0)


def test_a_home_does_not_keep_models_alive():
    common, references = Value(1.0), []
    for _ in range(3):
        own = Value(2.0)
        micrograd.compile(lambda x, own=own: common * own * x)([1.0])
        references.append(weakref.ref(own))
        del own
    gc.collect()
    assert sum(reference() is not None for reference in references) == 0


def test_a_function_is_recorded_in_one_run_also_if_it_makes_leaves():
    calls, w = [], Value(3.0)

    def function(x):
        calls.append(1)
        return Value(2.0) * x * w

    assert micrograd.compile(function)([1.0, 2.0]).lanes.tolist() == [6.0, 12.0]
    assert len(calls) == 1


def test_each_result_of_a_list_has_the_gradients_of_its_own_parameters():
    a, b, c = Value(1.0), Value(10.0), Value(100.0)

    def function(x):  # whose sums list the parameters in one order, and in another with c known
        return [a * x, a * (c * x + 1.0) + b * (b * x + 1.0)]

    batch = micrograd.compile(function)([1.0])
    batch[1].backward()
    assert [a.grad, b.grad, c.grad] == [101.0, 21.0, 1.0]


def test_a_list_of_a_model_that_was_replaced_is_refused():
    model = [Value(2.0), Value(3.0)]
    compiled = micrograd.compile(lambda x: [model[0] * x, model[1] * x])
    batch = compiled([1.0])
    model[:] = [Value(5.0), Value(7.0)]
    with pytest.raises(RuntimeError, match="call the function again"):
        batch[1].backward()
    batch = compiled([1.0])
    batch[1].backward()
    assert (batch[1].data, [p.grad for p in model]) == (7.0, [0, 1.0])


@pytest.mark.parametrize("seed", range(20))
def test_results_of_random_functions_that_share_their_weights(seed):
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


@pytest.mark.parametrize(
    "constant",
    [lambda w: w.data, lambda w: w.detach(), lambda w: no_grad()(lambda: w * 1.0)()],
)
def test_a_parameter_may_be_a_constant_for_another_shape(constant):
    w, v = Value(2.0), Value(3.0)

    def function(x):
        return v * x[0] * constant(w) if isinstance(x, list) else v * w * x

    compiled = micrograd.compile(function)
    assert compiled([1.0]).data == 6.0
    assert compiled([[1.0], [2.0]]).lanes.tolist() == [6.0, 12.0]
    assert (w.data, v.data) == (2.0, 3.0)


def test_the_sign_of_zero():
    w = Value(1.0)
    chosen = micrograd.compile(lambda x: 1.0 / where(x > 0.0, w, -0.0))
    assert chosen([-1.0]).data == -math.inf
    assert micrograd.compile(lambda x: 1.0 / (w * x).tanh())([0.0, 0.0]).data == math.inf


# ---- what a function does to the Values of its user


def test_a_function_that_goes_backward_leaves_the_gradients_as_they_were():
    w, v = Value(2.0), Value(3.0)
    w.grad = 0.25

    def function(x):
        if isinstance(x, list):
            (v * w * x[0]).backward()
            return v * w * x[0]
        (w * x).backward()
        return w * x

    compiled = micrograd.compile(function)
    for xs, expected in (([1.0], 2.0), ([[1.0]], 6.0)):
        batch = compiled(xs)
        assert (batch.data, w.data, v.data, w.grad, v.grad) == (expected, 2.0, 3.0, 0.25, 0)


def test_a_whole_step_inside_is_refused_and_no_weight_is_lost():
    model = mlp(2, 3, 1)
    numbers = [p.data for p in model.parameters()]

    def function(x, y):
        loss = (model(x) - y) ** 2
        loss.backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad
        return loss

    for kept in (False, True):
        if kept:  # where numbers stand in an array
            micrograd.compile(lambda x: model(x))(rows(2, 2))
        with pytest.raises(ValueError, match="compile the loss alone"):
            micrograd.compile(function)(rows(2, 2), [1.0, 2.0])
        assert [p.data for p in model.parameters()] == numbers
        assert all(type(p.grad) in (int, float) for p in model.parameters())


def test_a_method_that_takes_a_step_is_refused_and_no_weight_is_lost():
    class Model(Module):
        def __init__(self):
            self.w = Value(2.0)

        @micrograd.compile
        def loss(self, x):
            loss = self.w * x
            loss.backward()
            self.w.data -= self.w.grad
            return loss

    model = Model()
    with pytest.raises(ValueError, match="compile the loss alone"):
        model.loss([1.0, 2.0])
    assert (model.w.data, model.w.grad) == (2.0, 0)


def test_a_function_that_fails_half_way_leaves_nothing_behind():
    w, v = Value(2.0), Value(3.0)

    def function(x):
        (w * v * x).backward()
        v.data = w * 2.0
        raise KeyError("half-way")

    with pytest.raises(KeyError):
        micrograd.compile(function)([1.0])
    assert (w.data, w.grad, v.grad) == (2.0, 0, 0)


def test_a_function_that_sets_a_parameter_or_keeps_what_it_makes_is_refused():
    w = Value(2.0)

    def sets(x):
        w.data = 5.0
        return w * x

    with pytest.raises(ValueError, match="changes the data of a Value"):
        micrograd.compile(sets)([1.0, 3.0])
    assert w.data == 2.0
    kept = []

    def keeps(x):
        kept.append(Value(1.0))
        return w * x + sum(kept)

    with pytest.raises(ValueError, match="creates and keeps new Values"):
        micrograd.compile(keeps)([1.0])


def test_masked_numbers_are_refused():
    w = Value(2.0)
    with pytest.raises(TypeError, match="argument 0 has masked numbers"):
        micrograd.compile(lambda x: w * x)(np.ma.array([1.0, 2.0], mask=[True, False]))
