"""Parameters of compiled functions stay what they are, alone and while they are trained."""

import copy
import gc
import pickle
import random
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from compiled import assert_agrees, assert_close, by_batch, by_engine, mlp, rows

import micrograd
from micrograd import (
    Value,
    check_gradients,
    draw_dot,
    hessian,
    jacobian,
    local_derivatives,
    no_grad,
)
from micrograd.optim import SGD, Adam, AdamW

pytestmark = pytest.mark.usefixtures("executor")


def used(*parameters):
    """Uses the parameters in a compiled function."""
    micrograd.compile(lambda x: sum(parameters) * x)([1.0]).backward()
    for p in parameters:
        p.grad = 0.0


# ---- parameters that a compiled function uses


def test_they_are_the_same_objects_as_before():
    a, b = Value(1.0, label="a"), Value(2)
    graph, a.m = a * b, "mine"
    used(a, b)
    assert graph._prev == (a, b)
    assert isinstance(a, Value)
    assert type(a).__name__ == "Value"
    assert type(type(a)(2.0)) is Value
    assert (a.label, a.m, repr(b)) == ("a", "mine", "Value(data=2.0, grad=0.0)")
    a.data, b.grad = 7, True
    a.data -= 0.5
    assert (a.data, b.grad) == (6.5, 1.0)
    assert type(a.data) is type(b.grad) is float
    a.grad = 0.25
    (a * b).backward()
    (a * b).backward()
    assert (a.grad, b.grad) == (4.25, 14.0)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_a_copy_is_an_ordinary_value_again(copied):
    a = Value(1.0, label="a")
    a.m = [1]
    used(a, Value(2.0))
    a.grad = 0.5
    other = copied(a)
    assert type(other) is Value
    assert (other.data, other.grad, other.label, other.m) == (1.0, 0.5, "a", [1])
    other.data = 5.0
    assert a.data == 1.0


# ---- in compiled functions and optimizers


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.array])
def test_a_numpy_number_assigned_to_data(kind):
    w = Value(3.0)
    compiled = micrograd.compile(lambda x: w * x)
    compiled([1.0])
    w.data = kind(2)
    assert compiled([1.0, 2.0]).data == 3.0


@pytest.mark.parametrize(
    ("kind", "arguments"), [(SGD, {"lr": 0.1, "momentum": 0.9}), (Adam, {"lr": 0.05}), (AdamW, {})]
)
def test_an_optimizer_continues_when_its_parameters_change_storage(kind, arguments):
    xs, ys = rows(6, 2), [1.0, -1.0, 0.5] * 2
    eager, moving = ([mlp(2, 3, 1), mlp(2, 3, 1, seed=1)] for _ in range(2))
    parameters = [  # in another order
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
        if step == 9:  # another optimizer moves some of the parameters
            SGD([parameters[1][-1], Value(1.0)], lr=0.0).step()
    assert_close(*([p.data for p in some] for some in parameters), scale=1)


def test_another_shape_finds_parameters_that_are_new():
    weights = [Value(2.0)]
    compiled = micrograd.compile(lambda x: sum(w * xi for w, xi in zip(weights, x, strict=True)))
    for xs in (rows(3, 1), rows(3, 2), rows(3, 3)):
        weights[:] = [Value(float(i)) for i, _ in enumerate(xs[0])]  # replaces the model
        assert_agrees(compiled.function, weights, xs, compiled=compiled)
    weights[:] = [*weights, Value(0.5)]  # extends it
    assert_agrees(compiled.function, weights, rows(3, 4), compiled=compiled)
    old = weights[0] * 2.0
    weights.append(old)
    with pytest.raises(ValueError, match="computed before the call"):
        compiled(rows(3, 5))


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


def test_a_compiled_model_works_in_eager_mode_as_before():
    model, twin = mlp(2, 3, 1), mlp(2, 3, 1)
    micrograd.compile(lambda x: model(x))(rows(4, 2))
    picture = draw_dot(twin([0.5, 1.0])).source
    out, expected = model([0.5, 1.0]), twin([0.5, 1.0])
    out.backward()
    expected.backward()
    assert out.data == expected.data
    assert [p.grad for p in model.parameters()] == [p.grad for p in twin.parameters()]
    assert draw_dot(model([0.5, 1.0])).source.count("->") == picture.count("->")
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
    with micrograd.no_grad():
        assert hessian(lambda x, y: x * x * y * a, [2.0, 3.0]) == [[12.0, 8.0], [8.0, 0.0]]
    assert jacobian([a * b, a / b], [a, b])[0] == [3.0, 2.0]
    assert micrograd.jvp(a * b, {a: 1.0}) == 3.0
    (a * b).backward()
    assert (a.grad, b.grad) == (3.0, 2.0)


class Clamped(Value):
    @property
    def data(self):
        return Value.data.__get__(self)

    @data.setter
    def data(self, number):
        Value.data.__set__(self, min(number, 1.0))


def test_a_class_that_keeps_its_data_itself_is_refused_and_not_bypassed():
    w, v = Clamped(0.5), Value(2.0)
    loss = micrograd.compile(lambda x: w * v * x)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"expected parameters .* got a Clamped.*: use a Value"):
            loss([1.0])
    w.data = 3.0
    assert (type(w), w.data, type(v)) == (Clamped, 1.0, Value)
    micrograd.compile(lambda x: v * x)([1.0]).backward()
    optimizer = SGD([v, w], lr=1.0)  # updates them one by one, as they do not share storage
    w.grad = -4.0
    optimizer.step()
    assert (w.data, v.data) == (1.0, 1.0)


def test_a_fraction_as_a_parameter_is_refused_and_not_changed():
    third = Value(Fraction(1, 3), label="third")
    compiled = micrograd.compile(lambda x: third * x)
    message = r"with floats, got Fraction\(1, 3\) as the data of 'third'.*float\(\)"
    with pytest.raises(TypeError, match=message):
        compiled([1.0])
    assert third.data == Fraction(1, 3)
    third.data = 0.5
    assert compiled([1.0]).data == 0.5
    third.data = Fraction(1, 3)
    with pytest.raises(TypeError, match=message):
        compiled([1.0])
    third.data = float(third.data)
    assert compiled([3.0]).data == 1.0


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


def test_a_storage_does_not_keep_models_alive():
    common, references = Value(1.0), []
    for _ in range(3):
        own = Value(2.0)
        micrograd.compile(lambda x, own=own: common * own * x)([1.0])
        references.append(weakref.ref(own))
        del own
    gc.collect()
    assert sum(reference() is not None for reference in references) == 0


def test_threads_move_parameters_while_others_train_them():
    """Each thread trains a parameter of its own; all compile functions of all parameters."""
    ps, rounds = [Value(0.0) for _ in range(4)], 25

    def train(p):
        optimizer, generator = SGD([p], lr=1.0), random.Random(0)
        for _ in range(rounds):
            some = generator.sample(ps, 2)
            micrograd.compile(lambda x: sum(some) * x, executor="numpy")([1.0])  # noqa: B023
            optimizer.zero_grad()
            (p * -1.0).backward()
            optimizer.step()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(len(ps)) as pool:
            list(pool.map(train, ps))
    finally:
        sys.setswitchinterval(interval)
    assert [p.data for p in ps] == [rounds] * len(ps)
