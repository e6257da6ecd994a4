import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import micrograd
from micrograd.arrays import values
from micrograd.engine import Value
from micrograd.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge,
    squared_error,
)
from micrograd.nn import MLP, Linear, ReLU, Sequential, Tanh


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def softmax(zs):
    powers = [math.exp(z - max(zs)) for z in zs]
    return [power / sum(powers) for power in powers]


def with_gradient(loss, *inputs):
    values = [Value(x) for x in inputs]
    result = loss(*values)
    result.backward()
    return result.item(), [value.grad for value in values]


# ---- values and first derivatives


@pytest.mark.parametrize("s", [-1000.0, -1.0, 0.0, 0.5, 1.0, 2.0, 1000.0])
@pytest.mark.parametrize("t", [-1, 1])
def test_hinge_grows_below_the_margin_and_is_flat_from_there_on(s, t):
    expected = max(0.0, 1 - t * s), [-t if t * s < 1 else 0]
    assert with_gradient(lambda s: hinge(s, t), s) == expected


@pytest.mark.parametrize("z", [-3.0, -0.5, 0.0, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("t", [0, 0.25, 1])
def test_binary_cross_entropy_is_minus_log_probability(z, t):
    loss, (gradient,) = with_gradient(lambda z: binary_cross_entropy_with_logits(z, t), z)
    p = sigmoid(z)
    assert loss == pytest.approx(-t * math.log(p) - (1 - t) * math.log1p(-p), rel=1e-7)
    assert gradient == pytest.approx(p - t, abs=1e-15)


@pytest.mark.parametrize(
    ("z", "t", "loss", "gradient"),
    [
        (1000.0, 0, 1000.0, 1.0),
        (1000.0, 1, 0.0, 0.0),
        (-1000.0, 0, 0.0, 0.0),
        (-1000.0, 1, 1000.0, -1.0),
        (0.0, 0, math.log(2), 0.5),
        (0.0, 1, math.log(2), -0.5),
        (0.0, 0.25, math.log(2), 0.25),
        (-0.0, 1, math.log(2), -0.5),
    ],
)
def test_binary_cross_entropy_at_large_logits_and_at_zero(z, t, loss, gradient):
    assert with_gradient(lambda z: binary_cross_entropy_with_logits(z, t), z) == (loss, [gradient])


@pytest.mark.parametrize(
    "zs", [[0.0, 1.0], [2.0, -1.0, 0.5], [1.0, 1.0, 1.0], [1.0, 3.0, 3.0], [-4.0], [0.0, 0.0]]
)
def test_cross_entropy_is_minus_log_softmax(zs):
    for label in range(len(zs)):
        loss, gradient = with_gradient(lambda *zs, k=label: cross_entropy(zs, k), *zs)
        p = softmax(zs)
        assert loss == pytest.approx(-math.log(p[label]), abs=1e-14)
        assert gradient == pytest.approx([pk - (k == label) for k, pk in enumerate(p)], abs=1e-15)


@pytest.mark.parametrize(
    ("zs", "label", "loss", "gradient"),
    [
        ([1000.0, -1000.0], 0, 0.0, [0.0, 0.0]),
        ([1000.0, -1000.0], 1, 2000.0, [1.0, -1.0]),
        ([1000.0, 1000.0], 0, math.log(2), [-0.5, 0.5]),
        ([-1000.0, -1000.0], 1, math.log(2), [0.5, -0.5]),
        ([-1000.0, 1000.0, 1000.0], 0, 2000 + math.log(2), [-1.0, 0.5, 0.5]),
    ],
)
def test_cross_entropy_at_large_logits_and_at_ties(zs, label, loss, gradient):
    assert with_gradient(lambda *zs: cross_entropy(zs, label), *zs) == (loss, gradient)


# ---- other kinds of numbers


def test_squared_error_and_hinge_are_exact_on_fractions():
    third = Fraction(1, 3)
    assert with_gradient_data(lambda x: squared_error(x, Fraction(1, 2)), third) == (
        Fraction(1, 36),
        Fraction(-1, 3),
    )
    assert with_gradient_data(lambda x: hinge(x, 1), third) == (Fraction(2, 3), -1)


def with_gradient_data(loss, x):
    value = Value(x)
    result = loss(value)
    result.backward()
    return result.data, value.grad


# ---- errors


@pytest.mark.parametrize("target", [0, 0.5, 2])
def test_hinge_refuses_targets_other_than_minus_one_and_one(target):
    with pytest.raises(ValueError, match=f"expects a target of -1 or 1, got {target}.*2 \\* y - 1"):
        hinge(Value(1.0), target)


@pytest.mark.parametrize("target", [-1, 1.5, math.nan])
def test_binary_cross_entropy_refuses_targets_outside_0_to_1(target):
    with pytest.raises(ValueError, match=f"expects a target from 0 to 1, got {target}"):
        binary_cross_entropy_with_logits(Value(1.0), target)


@pytest.mark.parametrize("label", [-1, 2])
def test_cross_entropy_refuses_a_label_that_is_not_a_class(label):
    with pytest.raises(IndexError, match=f"label of one of 2 classes.* 0 to 1, got {label}"):
        cross_entropy([Value(1.0), Value(2.0)], label)


def test_cross_entropy_refuses_other_mistakes():
    with pytest.raises(
        TypeError, match=r"a list of logits, got 1: use binary_cross_entropy_with_logits"
    ):
        cross_entropy(1, [Value(1.0), Value(2.0)])
    with pytest.raises(TypeError, match=r"a list of logits.*got Value.*binary_cross_en"):
        cross_entropy(Value(1.0), 0)


# ---- batches


@pytest.mark.parametrize("loss", [squared_error, hinge, binary_cross_entropy_with_logits])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_batch_has_the_mean_loss(loss, n):
    rng = np.random.default_rng(n)
    predictions, targets = rng.normal(size=n), rng.integers(0, 2, n)
    targets = 2 * targets - 1 if loss is hinge else targets
    expected = sum(map(loss, predictions, targets.tolist())).item() / n
    pairs = [(predictions, targets), (values(predictions), targets.tolist())]
    pairs += [(values(predictions.reshape(n, 1)), targets), (list(values(predictions)), targets)]
    pairs += [(values(predictions), np.reshape(targets, (n, 1)))]
    for p, t in pairs:
        assert loss(p, t).item() == pytest.approx(expected, rel=1e-14)


def test_cross_entropy_of_a_batch():
    logits = np.random.default_rng(0).normal(size=(4, 3))
    labels = np.array([2, 0, 1, 1])
    expected = sum(map(cross_entropy, logits, labels.tolist())).item() / 4
    for z in (logits, values(logits), logits.tolist()):
        assert cross_entropy(z, labels).item() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("loss", "prediction", "target", "message"),
    [
        (squared_error, np.ones((3, 2)), np.ones(3), r"got \(3, 2\) and \(3,\)"),
        (squared_error, np.ones(3), np.ones((3, 2)), r"got \(3,\) and \(3, 2\)"),
        (squared_error, np.ones(3), 1.0, r"got \(3,\) and \(\)"),
        (hinge, 1.0, [1.0, 1.0], r"got \(\) and \(2,\)"),
        (binary_cross_entropy_with_logits, np.ones(2), np.ones(3), r"got \(2,\) and \(3,\)"),
        (cross_entropy, np.ones((3, 2)), [0, 1], r"got \(3, 2\) and \(2,\)"),
        (cross_entropy, np.ones((3, 2)), 1, r"got \(3, 2\) and \(\)"),
        (cross_entropy, [1.0, 2.0], [0, 1], r"got \(2,\) and \(2,\)"),
    ],
)
def test_shapes_that_differ_are_refused(loss, prediction, target, message):
    with pytest.raises(ValueError, match=message):
        loss(prediction, target)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("build", "loss", "labels"),
    [
        (lambda: MLP(2, [3, 1]), squared_error, lambda n: np.linspace(-1, 1, n)),
        (lambda: MLP(2, [3, 1]), hinge, lambda n: np.array([1, -1, 1])[:n]),
        (lambda: Sequential(Linear(2, 3), Tanh(), Linear(3, 1)), binary_cross_entropy_with_logits,
         lambda n: np.array([1, 0, 1])[:n]),
        (lambda: Sequential(Linear(2, 3), ReLU(), Linear(3, 2)), cross_entropy,
         lambda n: np.array([1, 0, 1])[:n]),
    ],
)  # fmt: skip
def test_the_same_line_runs_on_a_batch_and_compiled(build, loss, labels, n):
    random.seed(n)
    model = build()
    X, y = np.random.default_rng(n).normal(size=(n, 2)), labels(n)

    def of(x, y):
        return loss(model(x), y)

    eager = of(X, y)
    eager.backward()
    gradients = [p.grad for p in model.parameters()]
    model.zero_grad()
    batch = micrograd.compile(of, executor="numpy")(X, y)
    batch.backward()
    assert batch.data == pytest.approx(eager.item(), rel=1e-12)
    assert [p.grad for p in model.parameters()] == pytest.approx(gradients, rel=1e-12, abs=1e-15)


@pytest.mark.usefixtures("executor")
def test_binary_cross_entropy_of_probabilities():
    for p, t in itertools.product((0.25, 0.7, 1e-9), (0, 1, 0.25)):
        loss, (gradient,) = with_gradient(lambda p, t=t: binary_cross_entropy(p, t), p)
        assert loss == pytest.approx(-t * math.log(p) - (1 - t) * math.log1p(-p))
        assert gradient == pytest.approx((p - t) / (p * (1 - p)))
        assert micrograd.compile(binary_cross_entropy)([p], [t]).data == pytest.approx(loss)
    assert binary_cross_entropy([0.0, 1.0], [1, 0]).data == 100.0  # as in PyTorch
    assert binary_cross_entropy([0.0, 1.0], [0, 1]).data == 0.0
    z = Value(1000.0)
    binary_cross_entropy(z.sigmoid(), 0).backward()
    assert z.grad == 0
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(
            ValueError, match=r"from 0 to 1, got .*use binary_cross_entropy_with_log"
        ):
            binary_cross_entropy(Value(wrong), 1)


def test_empty_batches_are_named():
    for loss in (squared_error, hinge, binary_cross_entropy, binary_cross_entropy_with_logits):
        with pytest.raises(ValueError, match="at least one example, got an empty batch"):
            loss([], [])
    with pytest.raises(ValueError, match=r"at least one example, got inputs of shape \(0, 2\)"):
        Linear(2, 1)(np.ones((0, 2)))
