"""What compiled functions take and return: rows, conditions, fixed arguments, structures."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from compiled import assert_close

from micrograd import (
    MLP,
    SGD,
    Value,
    compile,
    derivative,
    fit,
    no_grad,
    shared,
    take,
    values,
    where,
)
from micrograd.core.tracing import TraceError
from micrograd.optim import Adam

pytestmark = pytest.mark.usefixtures("executor")

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
w = Value(2.0, label="w")
A = values([[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (w * (x + 1) ** 2 / 3).sum(),
        lambda x: w * x.mean() + x[1:, None].T[0, 1],
        lambda x: (x @ A).sum() * w,
        lambda x: sum(w * np.exp(-np.abs(x))),
        lambda x: (np.maximum(x, 0.5) * w).sum() + np.minimum(0.0, x)[0],
        lambda x: (w * np.where(x > 0, x, 0.1 * x)).sum(),
        lambda x: np.where((x > 0) & ~(x == 3.0) | (x < -1.5), A[:, 0], x).sum(),
        lambda x: (w * x.reshape(3, 1) * x).sum() + np.arctan2(x, 2.0)[0],
        lambda x: sum(w * a for a in x[::-1][:2]) * len(x),
    ],
)
def test_the_row_of_an_array_is_an_array(function):
    expected = [Value(0.0) + function(row) for row in X]
    batch = compile(function)(X)
    assert_close(batch.lanes, [v.data for v in expected])
    w.grad, A.grad = 0, 0
    batch.backward()
    found = [w.grad, *A.grad.ravel()]
    w.grad, A.grad = 0, 0
    (sum(expected) / len(X)).backward()
    assert_close(found, [w.grad, *A.grad.ravel()])


def test_the_row_of_a_list_is_a_list():
    longer = compile(lambda x: w * sum(x + [1.0]))  # noqa: RUF005  # one more number
    assert_close(longer(X.tolist()).lanes, [2 * sum([*row, 1.0]) for row in X])
    shifted = compile(lambda x: w * sum(x + np.array([1.0, 1.0, 1.0])))
    assert_close(shifted(X).lanes, [2 * sum(row + 1) for row in X])
    default = compile(lambda x: w * sum(x or [1.0]))  # a row with elements is true
    assert_close(default(X).lanes, default(X.tolist()).lanes)
    with pytest.raises(TraceError, match=r"bool\(\).*where"):
        compile(lambda x: 1.0 if x > 0 else w)(X)
    both = compile(lambda x: w * sum(x * 2))
    assert_close(both(X).lanes, both(X.tolist()).lanes)  # two programs


def test_an_array_is_shared_by_all_examples():
    f = compile(lambda x, B, y: ((B @ x * w + (B @ A).sum() - y) ** 2).mean())
    y = np.arange(len(X), dtype=float)
    for B in np.ones((2, 3)), np.arange(6.0).reshape(2, 3):  # one program
        results = [((B @ x * w + (B @ A).sum() - t) ** 2).mean() for x, t in zip(X, y, strict=True)]
        expected = sum(results) / len(X)
        w.grad, A.grad = 0, 0
        expected.backward()
        gradients = [w.grad, *A.grad.ravel()]
        w.grad, A.grad = 0, 0
        batch = f(X, shared(B), y)
        batch.backward()
        assert_close(batch.data, expected.data)
        assert_close([w.grad, *A.grad.ravel()], gradients)
        assert_close(f(X[:1], shared(B), y[:1]).data, results[0].data)
    assert len(f.programs) == 1
    before = w.data, A.data
    assert_close(f.step(SGD([w, *A.flat], lr=0.01), X, shared(B), y), expected.data)
    w.data, A.data = before
    w.grad, A.grad = 0, 0


def test_conditions_are_joined():
    x = np.array([-1.0, 0.5, 1.0, 2.0])
    found = compile(lambda x: [where((x > 0) & (x != 1), w, -x), where((x == 2) | (x < 0), 1, 0)])
    assert_close(found(x).lanes, [[1.0, 1.0], [2.0, 0.0], [-1.0, 0.0], [2.0, 1.0]])


def test_fixed_arguments_have_programs_of_their_own():
    def f(model, x, kind, is_doubled=False):
        y = getattr(model(x), kind)() * (2 if is_doubled else 1)
        return y if isinstance(y, Value) else y[0]

    compiled, model = compile(f), MLP(3, [2, 1])
    for kind in ("tanh", "exp"):
        for is_doubled in (False, True):
            expected = [f(model, row, kind, is_doubled).data for row in X]
            assert_close(compiled(model, X, kind, is_doubled).lanes, expected)
    assert len(compiled.programs) == 4
    model.layers[0].neurons[0].w[0] = Value(7.0)
    assert_close(compiled(model, X, "tanh").lanes, [f(model, row, "tanh").data for row in X])


class Parts(NamedTuple):
    loss: Value
    scores: list[Value]


def test_results_have_the_structure_that_the_function_returns():
    def f(x):
        z = x * w
        return {"square": z[0] ** 2, "parts": Parts(z[1] * 3, [z[2], x[0]]), "all": z.reshape(3, 1)}

    batch, eager = compile(f)(X), [f(values(row)) for row in X]
    assert_close(batch.lanes["square"], [e["square"].data for e in eager])
    assert_close(batch.lanes["all"], [e["all"].data for e in eager])
    assert_close(batch.lanes["parts"].scores, X[:, [2, 0]] * [2.0, 1.0])
    assert batch.data["parts"].loss == 6 * X[:, 1].mean()
    assert batch["parts"][0].data == batch.data["parts"].loss
    assert list(batch) == ["square", "parts", "all"]
    w.grad = 0
    batch["parts"][0].backward(10.0)
    batch["all"][2, 0].backward()
    assert_close(w.grad, 30 * X[:, 1].mean() + X[:, 2].mean())
    with pytest.raises(TypeError, match=r"3 results.*batch\['square'\]\.backward\(\)"):
        batch.backward()


def test_each_example_can_have_an_upstream_gradient():
    x, upstream = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 10.0])
    for function in (lambda x: (w * x) ** 2, lambda x: [x * w, (w * x) ** 2]):
        batch = compile(function)(x)
        w.grad = 0
        (batch if isinstance(batch.data, float) else batch[1]).backward(upstream)
        assert_close(w.grad, sum(upstream * 2 * w.data * x**2))
    batch = compile(lambda x: (w * x) ** 2)(x)
    with no_grad():
        before, w.data = w.data, 100.0  # the gradient is that of the call
    w.grad = 0
    batch.backward(upstream)
    assert_close(w.grad, sum(upstream * 2 * before * x**2))
    w.data = before
    x += 1.0
    with pytest.raises(RuntimeError, match="has changed since this batch was computed"):
        batch.backward(upstream)
    with pytest.raises(ValueError, match=r"each of the 3 examples, got shape \(2,\)"):
        batch.backward([1.0, 2.0])


def test_value_and_gradients_where_the_parameters_have_other_numbers():
    y = X[:, 0]
    b = Value(0.5)
    loss = compile(lambda x, y: ((x @ A) ** 2).sum() * b - y * A[0, 1])
    before, theta = A.data, np.linspace(-1, 1, 6)
    mean, gradients = loss.value_and_grad(theta, X, y, parameters=A)
    assert np.array_equal(A.data, before)
    assert not A.grad.any()
    A.data = theta.reshape(3, 2)
    batch = loss(X, y)
    batch.backward()
    assert_close([mean, *gradients], [batch.data, *A.grad.ravel()])
    theta = [p.data for p in loss.parameters]
    assert_close(loss.value_and_grad(theta, X, y)[1], [p.grad for p in loss.parameters])
    A.data, A.grad = before, 0
    with pytest.raises(ValueError, match=r"expected 6 numbers, one for each parameter, got \(2,\)"):
        loss.value_and_grad([1.0, 2.0], X, y, parameters=A)
    for wrong in (lambda x: [x, w * x], no_grad()(lambda x: w * x)):
        with pytest.raises(TypeError, match="must return a single Value"):
            compile(wrong).value_and_grad([1.0], y)


def test_value_and_grad_follows_a_list_that_gets_other_values():
    a, b = Value(1.0), Value(2.0)
    given, f = [a, b], compile(lambda: a * a + 3 * b)
    assert f.value_and_grad([5.0, 7.0], parameters=given)[1].tolist() == [10.0, 3.0]
    given.reverse()
    assert f.value_and_grad([7.0, 5.0], parameters=given)[1].tolist() == [3.0, 10.0]
    A = values([1.0, 2.0])
    given, g = [A, b], compile(lambda: A[0] * A[0] + 3 * b)
    assert g.value_and_grad([5.0, 0.0, 7.0], parameters=given)[1].tolist() == [10.0, 0.0, 3.0]
    given[0] = A[::-1]
    assert g.value_and_grad([0.0, 5.0, 7.0], parameters=given)[1].tolist() == [0.0, 10.0, 3.0]


def test_a_result_without_a_graph_takes_no_parameter_from_the_others():
    v, u = Value(3.0), Value(5.0)
    batch = compile(lambda x: [(v * x).data, u * u * x])([1.0, 2.0])
    batch[1].backward()
    assert (v.grad, u.grad) == (0.0, 15.0)
    with pytest.raises(RuntimeError, match="has no gradients"):
        batch[0].backward()


def test_a_likelihood_has_no_arguments():
    m, s = Value(0.0), Value(0.0)
    data = np.random.default_rng(0).normal(3.0, 0.5, 50)

    def likelihood():
        return (((m - data) / s.exp()) ** 2).mean() / 2 + s

    for loss in (likelihood, compile(likelihood)):
        m.data, s.data = 0.0, 0.0
        losses = fit(loss, optimizer=Adam([m, s], lr=0.1), steps=600)
        assert losses[-1] < losses[0]
        assert_close([m.data, s.exp().data], [data.mean(), data.std()], scale=1e8)
    optimize = pytest.importorskip("scipy.optimize")
    f = partial(compile(likelihood).value_and_grad, parameters=[m, s])
    assert_close(np.exp(optimize.minimize(f, [0.0, 0.0], jac=True).x[1]), data.std(), scale=1e8)


def test_derivatives_inside_a_compiled_function():
    f = compile(lambda x: derivative(lambda v: w * v**3, x))
    batch = f([1.0, 2.0])
    assert_close(batch.lanes, [6.0, 24.0])
    w.grad = 0
    batch.backward()
    assert w.grad == 7.5
    assert fit(lambda: (w - 1) ** 2, optimizer=SGD([w], lr=0.0), steps=1) == [1.0]


def test_a_value_from_outside_meets_the_argument_of_a_derivative():
    def f(x):
        return derivative(lambda v: w.minimum(v) * v + w.arctan2(v) + v.logaddexp(w), x)

    assert_close(compile(f)([0.5, 3.0]).lanes, [f(0.5).data, f(3.0).data])


def test_a_table_of_parameters():
    table = values(np.random.default_rng(1).normal(size=(50, 2)))
    x, y = np.arange(200) % 37, np.linspace(-1, 1, 200)
    batch = compile(lambda i, y: (take(table, i).sum() - y) ** 2)(x, y)
    batch.backward()
    found, table.grad = table.grad, 0
    for n in (3, 11):  # the gradient is how often an entry was taken
        batch = compile(lambda i, j: take(table[:, 0], i) + take(table[:, 0], 5 - j))(
            x[:n] % 5, x[:n] % 6
        )
        batch.backward()
        counts = np.bincount(x[:n] % 5, minlength=50) + np.bincount(5 - x[:n] % 6, minlength=50)
        assert_close(table.grad[:, 0], counts / n)
        table.grad = 0
    (sum((table[i].sum() - t) ** 2 for i, t in zip(x, y, strict=True)) / 200).backward()
    assert_close(found, table.grad)
