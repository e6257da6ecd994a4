"""`micrograd.fit`: the numbers of the loop written out, and what ends training early."""

import itertools
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from blocks import python
from compiled import mlp, on_executors, rows, skip_without
from sampling import thinned

import micrograd
from micrograd import Value, fit
from micrograd.compiler import training
from micrograd.optim import SGD, Adam, AdamW, Optimizer

X = rows(23, 3)
Y = np.sign(X[:, 0] + 0.5 * X[:, 1])


LLVM = pytest.param("llvm", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=["numpy", LLVM, "eager"])
def executor(request):
    skip_without(request.param)
    return request.param


def model_and_loss(executor):
    model = mlp(3, 4, 1, activation="tanh")

    def loss(x, y):
        return (model(x) - y) ** 2

    return model, loss if executor == "eager" else micrograd.compile(loss, executor=executor)


class Own(Optimizer):
    def rule(self, p, g, state, lr):
        return p - lr * (1 if g > 0 else -1), {}


def written_out(loss, optimizer, steps, size, shuffle, seed, schedule):
    means = []
    for epoch in itertools.count():
        random = np.random.default_rng([seed, epoch])
        order = random.permutation(len(X)) if shuffle and size < len(X) else np.arange(len(X))
        for start in range(0, len(X), size):
            if len(means) == steps:
                return means
            part = order[start : start + size]
            if schedule:
                optimizer.lr = schedule(len(means))
            optimizer.zero_grad()
            if hasattr(loss, "step"):  # compiled
                mean = loss(X[part], Y[part])
            else:
                mean = sum(loss(x, y) for x, y in zip(X[part], Y[part], strict=True)) / len(part)
            mean.backward()
            optimizer.step()
            means.append(mean.data)


CASES = [
    (partial(SGD, lr=0.05), 23, False, None),
    (partial(SGD, lr=0.05, momentum=0.9, nesterov=True), 5, True, lambda step: 0.1 / (1 + step)),
    (partial(Adam, lr=0.05), 5, False, None),
    (partial(AdamW, lr=0.05), 1, True, None),
    (partial(Adam, lr=0.05, weight_decay=0.1), 100, True, lambda step: 0.1 / (1 + step)),
    (partial(Own, lr=0.05), 8, True, None),
]


@on_executors("case", CASES, on_jax=CASES[1::3], executors=["numpy", "llvm", "eager"])
def test_50_steps_give_the_numbers_of_the_loop(executor, case):
    make, size, shuffle, schedule = case
    steps = 12 if executor == "eager" else 50
    found = []
    for train in (written_out, None):
        model, loss = model_and_loss(executor)
        optimizer = make(model.parameters())
        if train:
            means = train(loss, optimizer, steps, size, shuffle, 3, schedule)
        else:
            settings = {"batch_size": size, "shuffle": shuffle, "seed": 3, "schedule": schedule}
            means = fit(loss, X, Y, optimizer, steps=steps, **settings)
        numbers = [[p.data, p.grad] for p in model.parameters()]
        found.append((means, numbers, optimizer.lr, optimizer.steps))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert len(found[0][0]) == steps


def test_it_can_be_continued_by_hand_and_by_another_call(executor):
    found = []
    for parts in ([6], [2, 1, 3]):
        model, loss = model_and_loss(executor)
        optimizer = Adam(model.parameters(), lr=0.1)
        means = [mean for steps in parts for mean in fit(loss, X, Y, optimizer, steps=steps)]
        found.append((means, [p.data for p in model.parameters()]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_on_step_sees_each_step_and_may_end_training(executor):
    model, loss = model_and_loss(executor)
    optimizer = SGD(model.parameters(), lr=0.1)
    seen = []

    def on_step(step, mean):
        seen.append((step, mean, optimizer.steps, model.parameters()[0].data))
        return step == 4

    means = fit(loss, X, Y, optimizer, steps=100, batch_size=10, on_step=on_step)
    assert [(step, mean, steps) for step, mean, steps, _ in seen] == [
        (i, mean, i + 1) for i, mean in enumerate(means)
    ]
    assert len(means) == 5
    assert len({data for *_, data in seen}) == 5


def test_a_change_in_on_step_counts_in_the_next_step(executor):
    w, scale = Value(3.0), [1.0]

    def loss(x):
        return (w * x * scale[0]) ** 2

    def on_step(step, mean):
        scale[0] = step + 2.0
        optimizer.weight_decay = 0.1 if step == 2 else 0.0

    optimizer = SGD([w], lr=0.0)
    compiled = loss if executor == "eager" else micrograd.compile(loss, executor=executor)
    means = fit(compiled, [1.0], None, optimizer, steps=4, on_step=on_step)
    assert means == pytest.approx([9.0, 36.0, 81.0, 144.0], rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*has been compiled 10 times:RuntimeWarning")
@pytest.mark.parametrize("read", [lambda o: o.steps, lambda o: 10 * o.lr], ids=["steps", "lr"])
def test_a_loss_that_reads_the_optimizer_sees_each_step(executor, read):
    found = []
    for do_steps in (written_out, None):
        w = Value(1.0)
        optimizer = SGD([w], lr=0.1)

        def eager(x, y, w=w, optimizer=optimizer):
            return (w * x[0] - y) ** 2 / (1 + read(optimizer))

        loss = eager if executor == "eager" else micrograd.compile(eager, executor=executor)
        settings = {"shuffle": True, "seed": 0, "schedule": lambda step: 0.1 / (1 + step)}
        if do_steps:
            do_steps(loss, optimizer, 12, len(X), **settings)
        else:
            fit(loss, X, Y, optimizer, steps=12, **settings)
        found.append(w.data)
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_an_error_leaves_the_parameters_of_the_last_complete_step(executor):
    w = Value(1.0)

    def loss(x):
        return w * x

    compiled = loss if executor == "eager" else micrograd.compile(loss, executor=executor)
    optimizer = SGD([w], lr=0.5)
    xs = [1.0] * 6 + [float("inf")]
    with pytest.raises(ValueError, match="gradient of parameter 0 is"):
        fit(compiled, xs, None, optimizer, steps=20, batch_size=1, shuffle=False)
    assert (w.data, optimizer.steps) == (1 - 0.5 * 6, 6)


def test_wrong_arguments_are_refused(executor):
    model, loss = model_and_loss(executor)
    optimizer = SGD(model.parameters())
    for arguments, settings, message in [
        ((X, Y[:-1]), {"steps": 1}, "a target for each example, got 23 examples and 22 targets"),
        ((X[:0], Y[:0]), {"steps": 1}, "at least one example"),
        ((X, Y), {"steps": -1}, "steps expects a whole number of at least 0, got -1"),
        ((X, Y), {"steps": float("nan")}, "steps expects a whole number of at least 0, got nan"),
        ((X, Y), {"steps": 1, "batch_size": 0}, "batch_size expects a whole number of at least 1"),
        ((X, Y), {"steps": 1, "seed": -1}, "seed expects a whole number of at least 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit(loss, *arguments, optimizer, **settings)
    assert fit(loss, X, Y, optimizer, steps=0) == []
    with pytest.raises(ValueError, match="lr expects"):
        fit(loss, X, Y, optimizer, steps=9, schedule=lambda step: -0.1 if step == 5 else 0.1)
    assert optimizer.steps == 5


@pytest.mark.parametrize(("kind", "size"), [(SGD, 23), (SGD, 4), (Own, 4)])
def test_an_optimizer_of_another_model_is_refused(executor, kind, size):
    other, loss = model_and_loss(executor)
    optimizer = kind(other.parameters(), lr=0.1)
    fit(loss, X, Y, optimizer, steps=2)
    model, loss = model_and_loss(executor)  # as when a cell of a notebook runs again
    numbers = [p.data for p in (*other.parameters(), *model.parameters())]
    message = rf"of parameters that the loss uses, got {kind.__name__} with others: build it again"
    for steps in (1, 100):
        with pytest.raises(ValueError, match=message):
            fit(loss, X, Y, optimizer, steps=steps, batch_size=size)
    if executor != "eager":
        with pytest.raises(ValueError, match=message):
            loss.step(optimizer, X, Y)
        other_numbers = [p.data for p in (*other.parameters(), *model.parameters())]
        assert numbers == other_numbers
    some = kind(model.parameters()[:1], lr=0.1)  # the others are frozen
    assert len(fit(loss, X, Y, some, steps=3, batch_size=size)) == 3


def test_a_parameter_may_be_used_for_some_examples_alone():
    a, b = Value(1.0), Value(1.0)
    fit(lambda x: (a if x > 2 else b) * x, [1.0, 2.0, 3.0], None, SGD([a]), steps=3, batch_size=1)
    assert a.data != b.data


def test_what_is_passed_in_the_wrong_place_is_named():
    model, loss = model_and_loss("numpy")
    with pytest.raises(TypeError, match=r"fit expects an optimizer such as SGD.*, got float"):
        fit(loss, X, Y, 0.1, steps=1)
    with pytest.raises(TypeError, match=r"step expects an optimizer such as SGD.*, got ndarray"):
        loss.step(np.array(X), Y)
    with pytest.raises(TypeError, match=r"the loss of an example, got a MLP: pass a function such"):
        fit(model, X, Y, SGD(model.parameters()), steps=1)


@pytest.fixture
def ctrl_c():
    """Makes Ctrl-C raise KeyboardInterrupt, wherever the tests run."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


def press_ctrl_c(after):
    def press():
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.kill")
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("after", thinned([0.05, 0.0513], 2))
def test_ctrl_c_returns_what_was_reached(executor, capsys, after):
    model, loss = model_and_loss(executor)
    start = model.state_dict()
    optimizer = Adam(model.parameters(), lr=0.01)
    fit(loss, X, Y, optimizer, steps=22)  # compiled before the key is pressed
    thread = press_ctrl_c(after)
    means = fit(loss, X, Y, optimizer, steps=10**7)
    thread.join()
    assert optimizer.steps - 22 in (len(means), len(means) + (executor == "eager"))
    assert f"stopped after {len(means)} of 10000000 steps" in capsys.readouterr().err
    if executor == "eager":  # the key may have been pressed in the middle of an update
        return
    reached = [p.data for p in model.parameters()]
    model.load_state_dict(start)
    optimizer = Adam(model.parameters(), lr=0.01)
    again = fit(loss, X, Y, optimizer, steps=22 + len(means))
    assert again[22:] == means  # to the last bit, wherever the run was divided
    assert [p.data for p in model.parameters()] == reached


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.kill")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_step_that_runs_and_nothing_goes_on():
    w, goes_on, calls, pressed = Value(1.0), threading.Event(), [], []

    def loss(x):
        calls.append(x)
        if len(calls) == 2:
            pressed.extend(map(press_ctrl_c, (0.1, 0.5)))
            while not goes_on.wait(0.01):
                pass
        return (w * x) ** 2

    optimizer = SGD([w], lr=0.25)
    with suppress(KeyboardInterrupt):  # the second may come after the end
        assert fit(loss, [1.0] * 4, None, optimizer, steps=3) == []
        pressed[-1].join()
    goes_on.set()
    time.sleep(0.2)  # what runs on would add its gradients now
    assert (len(calls), w.data, w.grad, optimizer.steps) == (2, 1.0, 0.5, 0)
    assert fit(loss, [1.0], None, optimizer, steps=1) == [1.0]
    assert (w.data, w.grad) == (0.5, 2.0)


def test_long_work_shows_a_bar_on_stderr(executor, capsys, monkeypatch):
    model, loss = model_and_loss(executor)
    optimizer = SGD(model.parameters(), lr=0.001)
    monkeypatch.setattr(training, "LONG", 1e9)
    fit(loss, X, Y, optimizer, steps=20)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(training, "LONG", 0.0)
    fit(loss, X, Y, optimizer, steps=20)
    out, err = capsys.readouterr()
    assert not out
    assert "20/20" in err
    assert "loss" in err


def test_a_run_that_does_not_learn_ends_with_a_warning(executor):
    model, loss = model_and_loss(executor)
    with pytest.warns(UserWarning, match="the loss stayed at .* for 20 steps: raise"):
        fit(loss, X, Y, SGD(model.parameters(), lr=0.0), steps=20)
    w = Value(1.0)
    far = "rose from 4 to .*: lower the learning rate; with a tenth of it, 20 steps .* to 6.8.*e-05"
    with pytest.warns(UserWarning, match=far):
        means = fit(lambda x: (w * x - 3.0) ** 2, [1.0], None, SGD([w], lr=1.2), steps=20)
    assert (w.data - 3.0) ** 2 > means[-1] > 1000.0  # the trial left no trace
    for p in model.layers[0].parameters():
        p.data = -5.0
    with pytest.warns(UserWarning, match=r"of the outputs of layers\[0\] are at the limits"):
        fit(loss, X, Y, SGD(model.parameters(), lr=1e-3), steps=80)


def test_an_optimizer_of_ones_own_needs_no_parameters():
    w = Value(1.0)

    class Still:
        def zero_grad(self):
            w.grad = 0

        step = zero_grad

    assert fit(lambda x: (w * x - 3.0) ** 2, [1.0], None, Still(), steps=25) == [4.0] * 25


def test_an_eager_loss_needs_the_standard_library_alone():
    code = (
        "import sys\n"
        "for name in ('numpy', 'tqdm', 'matplotlib', 'llvmlite', 'jax'): sys.modules[name] = None\n"
        "from micrograd import Value, SGD, fit\n"
        "w = Value(0.0)\n"
        "means = fit(lambda x, y: (w * x - y) ** 2, [1.0], [2.0], SGD([w], lr=0.25), steps=3)\n"
        "print(means)\n"
    )
    assert python("-c", code).stdout == "[4.0, 1.0, 0.25]\n"


def test_a_loss_that_is_nan_changes_no_parameter(executor):
    if executor == "eager":
        pytest.skip("eager operations raise errors of their own")
    w = Value(-1.0)
    loss = micrograd.compile(lambda x: (w * x).log(), executor=executor)
    optimizer = SGD([w], lr=0.1)
    for train in (
        lambda: fit(loss, [1.0, 2.0], None, optimizer, steps=3),
        lambda: loss.step(optimizer, [1.0, 2.0]),
    ):
        with pytest.raises(ValueError, match="the loss is NaN, so no parameter was changed"):
            train()
        assert (w.data, optimizer.steps) == (-1.0, 0)
