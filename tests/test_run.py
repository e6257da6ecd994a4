"""Compiled operations on every executor, against the engine on one example at a time."""

import itertools
import math
import random
from operator import neg

import numpy as np
import pytest
from compiled import assert_agrees, assert_close, by_batch, by_engine, mlp, rows
from operations import TABLE, name_of

import micrograd
from micrograd import Value, take, where
from micrograd.compiler import run
from micrograd.losses import binary_cross_entropy, cross_entropy
from micrograd.nn import Linear

pytestmark = pytest.mark.usefixtures("executor")


# ---- every operation, on all kinds of operands


PLACES = {
    "parameter": lambda p, x: p,
    "input": lambda p, x: Value(x),
    "sum of both": lambda p, x: p + x,
}


def placed(row, kinds):
    """The operation as a function of inputs, with these kinds of operands, and its parameters."""
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
        row for row in TABLE if row.name != "a ** 0.5"  # a square root, which is NaN at -inf
    ],
    ids=name_of,
)  # fmt: skip
def test_each_operation_on_extreme_and_invalid_numbers(row):
    kinds = ["sum of both"] * len(row.points[0])
    function, parameters = placed(row, kinds)
    compiled = micrograd.compile(function)
    for point in itertools.product(SPECIAL, repeat=len(kinds)):
        try:
            lanes = by_engine(function, [], *([x] for x in point))[0]
        except (ArithmeticError, ValueError):  # IEEE arithmetic: see the next test
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


def test_errors_of_the_engine_become_results_of_ieee_arithmetic():
    def function(x):
        x = Value(x)
        return [x.log(), 1 / x, x.sqrt(), x.exp(), x**-2, x**1.5, x.sin(), Value(1e308) * 10**x]

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
def test_errors_of_the_engine_on_a_parameter_become_results_of_ieee_arithmetic(function, expected):
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
def test_where_hides_infinite_and_undefined_numbers_of_the_other_branch(function):
    w = Value(0.0)
    xs = [1.5, -1.5, 0.5, 3.0, -0.25]
    assert_agrees(lambda x: function(w + x), [w], xs)
    assert_agrees(lambda x: function(w + x), [w], xs[:1])


def test_where_passes_no_gradient_to_the_other_branch_even_if_it_is_infinite():
    w = Value(1.0)
    batch = micrograd.compile(lambda x: where(x > 0, w, w * x / 0.0))([1.0, 2.0])
    batch.backward()
    assert_close(batch.lanes, [1.0, 1.0])
    # 0 * inf, as the engine computes it on a graph of both branches
    assert math.isnan(w.grad)
    w.grad = 0
    micrograd.compile(lambda x: where(x > 0, w, (w * x).log()))([1.0, 2.0]).backward()
    assert w.grad == 1.0


def test_a_number_used_as_a_condition_is_not_an_index():
    w, v = Value(2.0), Value(3.0)

    def of(x, y):
        return where(x, 0.0, w) + where(y, 0.0, w * v) + where(x - y, 0.0, v)

    compiled = assert_agrees(of, [w, v], [0.0, 2.0, -1.5], [2.5, 0.0, -1.5])
    with micrograd.no_grad():
        assert_close(compiled([0.0, 2.0, -1.5], [2.5, 0.0, -1.5]).lanes, [2.0, 6.0, 3.0])


def test_signs():
    w = Value(2.0)
    assert_agrees(lambda x: neg(w) - -w * x - (-x), [w], [1.0, 3.0])


def test_the_sign_of_zero():
    w = Value(1.0)
    chosen = micrograd.compile(lambda x: 1.0 / where(x > 0.0, w, -0.0))
    assert chosen([-1.0]).data == -math.inf
    assert micrograd.compile(lambda x: 1.0 / (w * x).tanh())([0.0, 0.0]).data == math.inf


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


def test_take_of_computed_entries():
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


def test_take_by_a_computed_index():
    table = [Value(float(i)) for i in range(4)]
    assert_agrees(lambda i: take(table, i + 1), table, [0, 2, 1])
    with pytest.raises(IndexError, match=r"take (expects a whole .* got 4|got an index that)"):
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


def test_an_index_of_two_tables_has_to_fit_the_shorter_one():
    long, short = [Value(float(i)) for i in range(4)], [Value(1.0), Value(2.0)]
    with pytest.raises(IndexError, match=r"0 <= index < 2, got 3"):
        micrograd.compile(lambda i: take(long, i) * take(short, i))([3, 0])


# ---- operations defined by users


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


def test_operations_defined_by_users():
    w = Value(0.5)
    assert_agrees(lambda x: squared(w * x) + squared(w), [w], [1.0, -2.0, 3.0])
    assert_agrees(lambda x: squared(scaled_product(w, w + x)).tanh(), [w], [1.0, -0.25, 0.5])
    assert_agrees(lambda x: scaled_product(w, w) * x, [w], [1.0])


def test_value_to_the_power_of_a_value():
    a, b = Value(1.5), Value(-0.5)
    assert_agrees(lambda x: (a + x) ** (b * x) + x**a + a**b, [a, b], [1.0, 2.0, 0.5])


# ---- large batches


def test_a_large_batch_runs_in_tiles(monkeypatch):
    model = mlp(2, 4, 1)
    xs, ys = rows(203, 2), np.arange(203) % 2
    monkeypatch.setattr(run, "MEMORY", 1)

    def loss(x, y):
        penalty = 1e-3 * sum(p * p for p in model.parameters())
        return binary_cross_entropy(model(x), y) + penalty

    compiled = assert_agrees(loss, model.parameters(), xs, ys, scale=1)
    for n in (15, 16, 17, 32, 33, 48):
        assert_agrees(loss, model.parameters(), xs[:n], ys[:n], compiled=compiled, scale=1)
