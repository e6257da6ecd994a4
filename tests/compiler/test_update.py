"""A training step in one call: the numbers of the four calls, for every optimizer and executor."""

import math
from functools import partial, wraps

import numpy as np
import pytest
from compiled import ALL_EXECUTORS, assert_close, mlp, on_executors, rows

import micrograd
from micrograd import Value, no_grad, take
from micrograd.optim import SGD, Adam, AdamW, Optimizer

X = rows(12, 3)
Y = np.sign(X[:, 0] + 0.5 * X[:, 1])


class Own(Optimizer):
    """A user's optimizer."""

    def rule(self, p, g, state, lr):
        v = 0.5 * state["v"] + g
        return p - lr * np.tanh(v), {"v": v}


OPTIMIZERS = [
    partial(SGD, lr=0.05),
    partial(SGD, lr=0.05, momentum=0.9, weight_decay=0.01),
    partial(SGD, lr=0.05, momentum=0.9, nesterov=True),
    partial(Adam, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1),
    partial(Adam, lr=0.05, eps=0),
    partial(AdamW, lr=0.05, weight_decay=0.1),
    partial(Own, lr=0.05),
]


def model_and_loss(executor):
    model = mlp(3, 4, 1, activation="tanh")
    unused = Value(1.0)  # a parameter of the optimizer alone
    loss = micrograd.compile(
        lambda x, y: (model(x) - y) ** 2 + 0.01 * sum(p * p for p in model.parameters()),
        executor=executor,
    )
    return [*model.parameters()[::-1], unused], loss


def by_hand(loss, optimizer, *arguments):
    optimizer.zero_grad()
    batch = loss(*arguments)
    batch.backward()
    optimizer.step()
    return batch.data


def in_one(loss, optimizer, *arguments):
    return loss.step(optimizer, *arguments)


def alternately(loss, optimizer, *arguments):
    return (in_one if optimizer.steps % 3 else by_hand)(loss, optimizer, *arguments)


def numbers_of(optimizer):
    return np.array([[p.data, p.grad] for p in optimizer.parameters]).T


def trained(executor, make, step, steps=50):
    parameters, loss = model_and_loss(executor)
    optimizer = make(parameters)
    means = []
    for i in range(steps):
        optimizer.lr = 0.02 / (1 + i)
        n = 12 if i % 5 else 7
        means.append(step(loss, optimizer, X[:n], Y[:n]))
    assert optimizer.steps == steps
    return means, numbers_of(optimizer)


@on_executors("make", OPTIMIZERS, on_jax=OPTIMIZERS[-1:], every=3)
def test_50_steps_give_the_numbers_of_the_loop(executor, make):
    means, numbers = trained(executor, make, by_hand)
    for step in (in_one, alternately):
        found, others = trained(executor, make, step)
        np.testing.assert_allclose(found, means, rtol=1e-12)
        np.testing.assert_allclose(others, numbers, rtol=1e-12, atol=1e-12)


def test_a_changed_setting_counts_in_the_next_step(executor):
    def step(change, loss, optimizer):
        if optimizer.steps == 3:
            optimizer.weight_decay, optimizer.momentum = 0.5, 0.9
        if optimizer.steps == 6:
            optimizer.nesterov = True
        return change(loss, optimizer, X, Y)

    found = []
    for change in (by_hand, in_one):
        parameters, loss = model_and_loss(executor)
        optimizer = SGD(parameters, lr=0.05)
        for _ in range(10):
            step(change, loss, optimizer)
        found.append(numbers_of(optimizer))
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        *((None, "step"), (None, "zero_grad")),  # on the optimizer itself
        *((SGD, "step"), (Optimizer, "step"), (SGD, "zero_grad"), (SGD, "rule")),
    ],
)
def test_a_method_that_is_replaced_is_called(executor, owner, name, monkeypatch):
    parameters, loss = model_and_loss(executor)
    optimizer, calls = SGD(parameters, lr=0.01), []
    loss.step(optimizer, X, Y)
    original = getattr(SGD if owner else optimizer, name)

    @wraps(original)
    def replaced(*arguments):
        calls.append(name)
        return original(*arguments)

    monkeypatch.setattr(owner or optimizer, name, replaced)
    loss.step(optimizer, X, Y)
    micrograd.fit(loss, X, Y, optimizer, steps=3)
    assert (len(calls), optimizer.steps) == (4, 5)
    monkeypatch.undo()
    loss.step(optimizer, X, Y)
    assert (len(calls), optimizer.steps) == (4, 6)


def test_a_parameter_that_the_optimizer_does_not_have_adds_up_its_gradients(executor):
    found = []
    for step in (by_hand, in_one):
        parameters, loss = model_and_loss(executor)
        optimizer = SGD(parameters[1:], lr=0.05)
        for _ in range(3):
            step(loss, optimizer, X, Y)
        found.append([parameters[0].data, parameters[0].grad])
    assert_close(*found)


def test_the_data_and_everything_else_may_change_between_steps(executor):
    parameters, loss = model_and_loss(executor)
    optimizer = Adam(parameters, lr=0.1)
    x = X.copy()
    before = loss.step(optimizer, x, Y)
    for p, number in zip(parameters, np.linspace(-1, 1, len(parameters)), strict=True):
        p.data = number
    x *= 0.5
    assert loss.step(optimizer, x, Y) != before
    for p, number in zip(parameters, np.linspace(-1, 1, len(parameters)), strict=True):
        p.data = number
    assert loss(x, Y).data == pytest.approx(loss.step(optimizer, x.tolist(), Y), rel=1e-12)
    x.resize((6, 6), refcheck=False)  # the same array, but other examples
    with pytest.raises(ValueError, match="expects 3 inputs, got 6"):
        loss.step(optimizer, x, Y[:6])


@ALL_EXECUTORS
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(executor, bad):
    found = []
    for troubled in (False, True):
        a, b = Value(1.0), Value(2.0, label="w")
        loss = micrograd.compile(lambda x, y, a=a, b=b: a * x + b * y, executor=executor)
        optimizer = SGD([a, b], lr=0.1, momentum=0.5)
        loss.step(optimizer, [1.0], [1.0])
        if troubled:
            with pytest.raises(ValueError, match=r"parameter 1 \('w'\) is .*no parameter was"):
                loss.step(optimizer, [1.0], [bad])
            assert optimizer.steps == 1
            assert not math.isfinite(b.grad)
            with pytest.raises(ValueError, match=r"squares of the gradients.*no parameter was"):
                loss.step(optimizer, [1.0], [1e200])
        loss.step(optimizer, [1.0], [3.0])
        found.append(numbers_of(optimizer).tolist())
    assert found[0] == found[1]


@ALL_EXECUTORS
def test_an_invalid_index_changes_nothing(executor):
    table = [Value(1.0), Value(2.0)]
    loss = micrograd.compile(lambda i: take(table, i) ** 2, executor=executor)
    optimizer = SGD(table, lr=0.1)
    loss.step(optimizer, [0, 1])
    before = numbers_of(optimizer)
    for wrong in (2, -1, 0.5):
        with pytest.raises(IndexError, match=rf"0 <= index < 2, got {wrong}"):
            loss.step(optimizer, [0, wrong])
    assert (numbers_of(optimizer)[0] == before[0]).all()
    assert optimizer.steps == 1


def test_what_cannot_be_trained_says_so(executor):
    w = Value(2.0)
    optimizer = SGD([w])
    loss = micrograd.compile(lambda x: w * x, executor=executor)
    with pytest.raises(RuntimeError, match=r"no_grad\(\)"), no_grad():
        loss.step(optimizer, [1.0])
    loss.step(optimizer, [1.0])
    with pytest.raises(RuntimeError, match=r"no_grad\(\)"), no_grad():
        loss.step(optimizer, [1.0])
    with pytest.raises(TypeError, match="has 2 results"):
        micrograd.compile(lambda x: [w, x], executor=executor).step(optimizer, [1.0])
    w.data = "two"
    with pytest.raises(TypeError, match="compute with floats, got 'two'"):
        loss.step(optimizer, [1.0])
