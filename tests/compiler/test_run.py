"""Compiled operations, models and losses on every executor, against the engine on one example."""

import itertools
import math
from collections import Counter
from operator import neg

import numpy as np
import pytest
from compiled import (
    ALL_EXECUTORS,
    assert_agrees,
    assert_close,
    attention,
    by_batch,
    by_engine,
    function_of,
    mlp,
    on_executors,
    parameters_in,
    rows,
)
from operations import TABLE

import micrograd
from micrograd import Value, no_grad, take, values, where
from micrograd.core.node import operation, operations
from micrograd.losses import cross_entropy, hinge

pytestmark = pytest.mark.usefixtures("executor")


# ---- every operation, on all kinds of operands


PLACES = {
    "parameter": lambda p, x: p,
    "input": lambda p, x: Value(x),
    "sum of both": lambda p, x: p + x,
}
KINDS = [
    *itertools.product(PLACES),
    *(("parameter", "input"), ("input", "parameter"), ("sum of both", "sum of both")),
]


def functions_of(table, kinds):
    """All operations of the table as functions of the operands, each with parameters of its own."""
    parameters = [[Value(0.0) for _ in kinds] for _ in table]

    def function_of(row, ps):
        return lambda *xs: row.function(
            *(PLACES[kind](p, x) for kind, p, x in zip(kinds, ps, xs, strict=True))
        )

    return [function_of(row, ps) for row, ps in zip(table, parameters, strict=True)], parameters


@on_executors("kinds", KINDS, on_jax=[("sum of both",), ("sum of both", "sum of both")])
def test_the_table_of_operations(kinds, executor):
    table = [row for row in TABLE if len(row.points[0]) == len(kinds)]
    points = [[row.points[i % len(row.points)] for row in table] for i in range(5)]
    functions, parameters = functions_of(table, kinds)
    for ps, point in zip(parameters, points[0], strict=True):
        for p, kind, x in zip(ps, kinds, point, strict=True):
            p.data = x if kind == "parameter" else 0.0
    leaves = [*itertools.chain(*parameters)]

    def each(point):
        return [f(*xs) for f, xs in zip(functions, point, strict=True)]

    results = micrograd.compile(no_grad()(each))
    total = micrograd.compile(lambda point: sum(each(point)))
    for n in (5,) if executor == "jax" else (1, 2, 5):  # it compiles again for each number
        expected = [[v.data for v in each(point)] for point in points[:n]]
        assert_close(results(points[:n]).lanes, expected)
        # in a sum, the gradient of an operand is that of its own operation
        gradients = by_engine(lambda point: sum(each(point)), leaves, points[:n])[2]
        assert_close(by_batch(total(points[:n]), leaves)[2], gradients)


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -3.0, 0.5, 710.0, 1e-310, 1e300]


def or_none(compute):
    """What is computed, or None where eager mode raises an error: see the next test."""
    try:
        return compute()
    except (ArithmeticError, ValueError):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("arity", [1, 2])
def test_extreme_and_invalid_numbers(executor, arity):
    # a ** 0.5 is a square root, which is NaN at -inf; three times cosh(710) overflows
    rest = "a ** 0.5", "sinh", "cosh"
    table = [r for r in TABLE if len(r.points[0]) == arity and r.name not in rest]
    functions, parameters = functions_of(table, ["sum of both"] * arity)
    points = [*itertools.product(SPECIAL, repeat=arity)]
    arguments = np.transpose(points)
    results = micrograd.compile(no_grad()(lambda *xs: [f(*xs) for f in functions]))
    lanes = results(*arguments).lanes
    total = micrograd.compile(lambda *xs: sum(f(*xs) for f in functions))
    leaves = [*itertools.chain(*parameters)]
    if executor == "numpy":
        zeros = [0.0] * len(parameters_in(results.scalar_source))
        by_source = function_of(results.scalar_source)(zeros, arguments)
        for found, lane in zip(by_source, lanes.T, strict=True):
            assert_close(np.broadcast_to(found, lane.shape), lane)
    for point, row in zip(points, lanes, strict=True):
        for n in (1, 3):
            _, _, found = by_batch(total(*([x] * n for x in point)), leaves)
            for i, (f, ps, result) in enumerate(zip(functions, parameters, row, strict=True)):
                expected = or_none(lambda f=f, point=point: f(*point).data)
                if expected is not None:
                    assert_close(result, expected)
                of_one = [[x] for x in point]
                slopes = or_none(lambda f=f, ps=ps, of_one=of_one: by_engine(f, ps, *of_one)[2])
                if slopes is not None:
                    assert_close(found[i * arity : (i + 1) * arity], slopes)


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
    assert_agrees(lambda x: function(w + +x), [w], [x])
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
    twice = [w, Value(-1.0), 2.0]
    assert_agrees(lambda i, j: take(twice, i) * take(twice, j), twice[:2], [0, 1, 2], [2, 1, 2])


@ALL_EXECUTORS
def test_take_by_a_computed_index():
    table = [Value(float(i)) for i in range(4)]
    uniform = micrograd.compile(lambda x: take(table, table[3].data) * x)
    assert uniform([1.0]).data == 3.0
    table[3].data = 4.0
    with pytest.raises(IndexError, match=r"take expects a whole"):
        uniform([1.0])
    assert_agrees(lambda i: take(table, i + 1), table, [0, 2, 1])
    with pytest.raises(IndexError, match=r"take expects a whole .* got 4"):
        micrograd.compile(lambda i: take(table, i + 1))([0, 3]).backward()
    with pytest.raises(IndexError, match=r"take expects a whole number .* got 0.5"):
        micrograd.compile(lambda i: take(table, i / 2))([0, 1])


@pytest.mark.parametrize(("index", "wrong"), [([0, 4], 4), ([0, -1], -1), ([0, 1.5], 1.5),
                                                ([math.nan], math.nan)])  # fmt: skip
def test_indices_out_of_range(index, wrong):
    table = [Value(float(i)) for i in range(4)]
    with pytest.raises(IndexError, match=f"take expects a whole number .* < 4, got {wrong}:"):
        micrograd.compile(lambda i: take(table, i))(index)


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


# ---- models and losses


@ALL_EXECUTORS
def test_classifiers():
    model, compiled = mlp(4, 6, 3, activation="sigmoid"), None
    for n in (1, 2, 7):
        compiled = assert_agrees(
            lambda x, label: cross_entropy(model(x), label), model.parameters(),
            rows(n, 4), np.arange(n) % 3, compiled=compiled, scale=1,
        )  # fmt: skip
    assert len(compiled.programs) == 1


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


@pytest.mark.slow
def test_a_program_is_deep_without_recursion():
    w = Value(0.5)

    def function(x):
        for _ in range(2000):
            x = (w * x).sin()
        return x

    assert "sin" in assert_agrees(function, [w], [1.0, 2.0], scale=1).scalar_source


@ALL_EXECUTORS
def test_attention_over_a_short_sequence():
    function, parameters, examples = attention()
    for n in (1, 2, 5):
        assert_agrees(function, parameters, *examples(n), scale=10)


def test_an_operation_that_is_added_runs_on_a_plain_input():
    @operation("squared")
    def squared(a):
        def _backward(upstream, a):
            a.grad += 2 * a.data * upstream

        return a.data * a.data, _backward

    Value.squared = squared
    try:
        w = Value(3.0)
        batch = micrograd.compile(lambda x: x.squared() * w.squared())([1.0, 2.0])
        batch.backward()
        assert batch.lanes.tolist() == [9.0, 36.0]
        assert w.grad == 2 * 3.0 * (1.0 + 4.0) / 2
    finally:
        del Value.squared, operations["squared"]


TABLES = {
    "rows of Values": (values([[1.0, 2.0], [3.0, 4.0]]), lambda row: (row + row * 2)[1]),
    "rows of numbers": (np.array([[1.0, 2.0], [3.0, 4.0]]), lambda row: (row + row * 2)[1]),
    "rows in a list": ([[1.0, 2.0], [3.0, 4.0]], lambda row: (row + row)[3]),
    "tuples": ([(1.0, 2.0), (3.0, 4.0)], lambda row: (row + row)[3]),
    "matrices": (values(np.arange(8.0).reshape(2, 2, 2)), lambda table: (table @ np.ones(2))[1]),
    "a dict": ({1: 10.0, 0: 2.0}, lambda entry: entry),
    "a Counter": (Counter({1: 10, 0: 2}), lambda entry: entry),
}


@pytest.mark.parametrize(("table", "use"), TABLES.values(), ids=TABLES)
def test_take_compiled_is_take_as_it_is(table, use):
    w = Value(3.0)

    def f(i):
        return use(take(table, i)) * w

    assert micrograd.compile(f)([0, 1]).lanes.tolist() == [f(0).data, f(1).data]
