"""Batches, the results of compiled functions: lanes, their mean, and its gradients."""

import math

import numpy as np
import pytest
from compiled import assert_agrees, assert_close, by_batch, by_engine, mlp, rows

import micrograd
from micrograd import Value

pytestmark = pytest.mark.usefixtures("executor")


# ---- results


@pytest.mark.parametrize("wrap", [list, tuple, np.array])
def test_several_results(wrap):
    w = Value(2.0)
    batch = micrograd.compile(lambda x: wrap([w * x, w + x]))([1.0, 3.0])
    assert batch.data == [4.0, 4.0]
    assert len(batch) == 2
    assert_close(np.asarray(batch), [[2.0, 3.0], [6.0, 5.0]])
    assert_close(batch[-1].lanes, [3.0, 5.0])
    assert [one.data for one in batch] == [4.0, 4.0]
    batch[0].backward()
    batch[1].backward(gradient=10.0)
    assert w.grad == 12.0
    with pytest.raises(IndexError):
        batch[2]


def test_a_function_without_parameters():
    compiled = micrograd.compile(lambda x, y: Value(x) * y + 1)
    batch = compiled([1.0, 2.0], [3.0, 4.0])
    assert_close(batch.lanes, [4.0, 9.0])
    batch.backward()
    assert_close(micrograd.compile(lambda x: x)([1.0, 2.0]).lanes, [1.0, 2.0])


def test_conditions_are_numbers():
    w = Value(2.0)
    assert_close(micrograd.compile(lambda x: x > 0)([1.0, -1.0]).lanes, [1.0, 0.0])
    assert_agrees(lambda x: w * (x > 0) + (x < 5), [w], [1.0, -1.0])


@pytest.mark.parametrize(
    ("function", "expected"),
    [(lambda w: w, (2.0, 1.0)), (lambda w: w * w, (4.0, 4.0)), (lambda w: 3.0, (3.0, 0.0))],
    ids=["parameter", "uniform", "constant"],
)
def test_uniform_results(function, expected):
    w = Value(2.0)
    batch = micrograd.compile(lambda x: function(w))([1.0, 2.0, 3.0])
    batch.backward()
    assert (batch.data, w.grad) == expected
    assert np.shape(batch.lanes) == (3,)
    batch = micrograd.compile(lambda x: [function(w), w])([1.0, 2.0, 3.0])
    assert np.shape(batch.lanes) == (3, 2)


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


@pytest.mark.parametrize("in_list", [False, True])
def test_what_is_not_defined_at_infinity_is_nan_without_a_warning(in_list):
    w = Value(1.0)
    for function in (lambda x: w * x, Value):
        f = (lambda x, f=function: [f(x)]) if in_list else function
        assert np.isnan(micrograd.compile(f)([math.inf, -math.inf]).data).all()
    w.grad = math.inf
    micrograd.compile(lambda x: w * x)([-math.inf]).backward()
    assert math.isnan(w.grad)
    for n in (1, 2):
        w.grad = 0
        micrograd.compile(lambda x: w * x)([math.inf] * n).backward(gradient=0.0)
        assert math.isnan(w.grad)


# ---- batches after further calls


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


# ---- errors


@pytest.mark.parametrize(
    "use", [lambda b, w: 2 * b, lambda b, w: b + w, lambda b, w: w - b, lambda b, w: sum([b, b])]
)
def test_a_batch_is_the_end_of_a_graph(use):
    w = Value(2.0)
    batch = micrograd.compile(lambda x: w * x)([1.0, 2.0])
    with pytest.raises(TypeError, match="Batch"):
        use(batch, w)


def test_misuse_of_a_batch():
    w = Value(2.0)
    several = micrograd.compile(lambda x: [w * x, w])([1.0])
    with pytest.raises(TypeError, match=r"2 results, and backward\(\) starts from one: .*\[0\]"):
        several.backward()
    one = micrograd.compile(lambda x: w * x)([1.0])
    for use in (len, list, lambda batch: batch[0]):
        with pytest.raises(TypeError, match=r"returns one Value: its results are in batch\.lanes"):
            use(one)


def test_some_of_the_results():
    w = Value(2.0)
    batch = micrograd.compile(lambda x: [w * x, w + x, w - x])([1.0, 3.0])
    rest = batch[1:]
    assert (len(rest), rest.data, rest.lanes.tolist()) == (2, [4.0, 0.0], [[3.0, 1.0], [5.0, -1.0]])
    for part in (rest[0], rest[-1], rest[::-1][1], batch[:1][0]):
        part.backward()
    assert w.grad == 1 + 1 + 1 + 2
    batch.zero_grad()
    assert w.grad == 0
