"""The reference is PyTorch, whose results are recorded here."""

import math
from fractions import Fraction

import numpy as np
import pytest

from micrograd import optim
from micrograd.arrays import values
from micrograd.engine import Value
from micrograd.nn import MLP
from micrograd.optim import SGD, Adam, AdamW, clip_grad_norm

START = [1.0, -2.0, 0.5, 0.25]


def gradients(step, data):
    """Gradients of a bowl around 0, shaken a little, more, a lot; the last direction is flat."""
    shaken = [
        0.2 * x + size * math.sin(0.3 * step + size)
        for x, size in zip(data[:3], [0.1, 1.0, 10.0], strict=True)
    ]
    return [*shaken, 0.0]


# Parameters after 100 steps of PyTorch 2.13.0, in float64.
CASES = [
    ("SGD", {}, [0.9799043657930369, -1.9597308076928883, 0.5016088009198056, 0.25]),
    ("SGD", {"lr": 0.1}, [0.13390645934981968, 0.003615601844618203, -1.5717578940142807, 0.25]),
    (
        "SGD",
        {"lr": 0.05, "momentum": 0.9},
        [-0.05328607850743396, -0.01993370021775753, 2.8107693901266635, 0.25],
    ),
    (
        "SGD",
        {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        [-0.04044312673197499, 0.19894479281238694, 0.9416892361869493, -0.0009957028449095672],
    ),
    ("Adam", {}, [0.9091173867922361, -1.962313955723886, 0.5091650887077805, 0.25]),
    (
        "Adam",
        {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1},
        [-0.050340157674576086, 0.020957962189504076, 0.9167282576918296, 8.361254000521444e-07],
    ),
    (
        "AdamW",
        {},
        [0.9081824153967051, -1.960346023616158, 0.5086573479158875, 0.24975012370958594],
    ),
    (
        "AdamW",
        {"lr": 0.1, "weight_decay": 0.5, "betas": (0.5, 0.9)},
        [0.3479100158770079, 0.3533296309532613, -0.19922454521409874, 0.0014801323050834992],
    ),
]


def take_step(optimizer, parameters, step):
    for p, g in zip(parameters, gradients(step, [p.data for p in parameters]), strict=True):
        p.grad = g
    optimizer.step()


@pytest.mark.parametrize(("name", "arguments", "recorded"), CASES)
def test_100_steps_end_at_the_results_recorded_from_pytorch(name, arguments, recorded):
    parameters = [Value(x) for x in START]
    optimizer = getattr(optim, name)(parameters, **arguments)
    for step in range(100):
        take_step(optimizer, parameters, step)
    assert [p.data for p in parameters] == pytest.approx(recorded, rel=1e-12, abs=1e-14)


def test_plain_gradient_descent_is_exact_on_fractions():
    p = Value(Fraction(1, 3))
    p.grad = Fraction(1, 2)
    SGD([p], lr=Fraction(1, 3)).step()
    assert p.data == Fraction(1, 6)


def test_adam_leaves_a_parameter_that_never_had_a_gradient():
    p = Value(1.0)
    Adam([p], eps=0).step()
    assert p.data == 1.0


# ---- errors

OPTIMIZERS = [SGD, Adam, AdamW]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite_changes_nothing_and_names_the_parameter(optimizer, bad):
    a, b, c = Value(1.0), Value(2.0, label="w"), Value(3.0)
    ours, untroubled = optimizer([a, b, c], lr=0.1), optimizer([Value(1.0)], lr=0.1)
    a.grad = 1.0
    b.grad = bad
    with pytest.raises(
        ValueError, match=rf"gradient of parameter 1 \('w'\) is {bad}, so no parameter was changed"
    ):
        ours.step()
    assert (a.data, b.data, c.data) == (1.0, 2.0, 3.0)
    b.grad = 0.0  # the optimizer continues as if nothing had happened
    untroubled.parameters[0].grad = 1.0
    ours.step()
    untroubled.step()
    assert a.data == untroubled.parameters[0].data != 1.0


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_invalid_parameters_are_refused(optimizer):
    name, p = optimizer.__name__, Value(1.0, label="w")
    with pytest.raises(ValueError, match=f"{name} expects at least one parameter, got none"):
        optimizer([])
    with pytest.raises(ValueError, match=r"once, got parameter 2 \('w'\) also as parameter 0"):
        optimizer([p, Value(1.0), p])
    with pytest.raises(TypeError, match=r"got MLP of .*: pass model.parameters\(\)"):
        optimizer([MLP(1, [1])])
    with pytest.raises(TypeError, match=r"with data and grad, got 2\.0 as parameter 1"):
        optimizer([p, 2.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: SGD(p, lr=-1), r"lr expects a number in \[0, inf\), got -1"),
        (lambda p: Adam(p, lr=math.nan), "lr expects .* got nan"),
        (lambda p: Adam(p, betas=(1.0, 0.9)), r"betas\[0\] expects a number in \[0, 1\), got 1.0"),
        (lambda p: Adam(p, betas=(0.9, -0.1)), r"betas\[1\] expects .* got -0.1"),
        (lambda p: Adam(p, eps=-1e-8), "eps expects .* got -1e-08"),
        (lambda p: SGD(p, nesterov=True), "nesterov needs momentum > 0"),
    ],
)
def test_arguments_outside_their_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make([Value(1.0)])


# ---- clipping


def with_grads(*grads):
    parameters = [Value(0.0) for _ in grads]
    for p, g in zip(parameters, grads, strict=True):
        p.grad = g
    return parameters


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("lr", x) for x in (math.nan, math.inf, -math.inf, -0.1, "0.1", None)),
        *((name, math.nan) for name in ("weight_decay", "momentum")),
    ],
)
def test_an_invalid_setting_is_refused_where_it_is_set(name, wrong):
    p = Value(1.0)
    optimizer = SGD([p], lr=0.1, momentum=0.5)
    p.grad = 1.0
    with pytest.raises((ValueError, TypeError), match=f"{name} expects a number"):
        setattr(optimizer, name, wrong)
    setattr(optimizer, name, 0.25)
    optimizer.step()
    assert p.data < 1.0


@pytest.mark.parametrize("grad", [None, "1.0", []], ids=repr)
def test_a_gradient_that_is_not_a_number_is_refused(grad):
    a, b = Value(1.0), Value(1.0, label="b")
    a.grad, b.grad = 1.0, grad
    with pytest.raises(ValueError, match=r"gradient of parameter 1 \('b'\) is .* reset gradients"):
        SGD([a, b]).step()
    assert a.data == 1.0


def test_clipping_scales_long_gradients_and_leaves_short_ones():
    parameters = with_grads(3.0, -4.0)
    assert clip_grad_norm(parameters, 10.0) == 5.0
    assert [p.grad for p in parameters] == [3.0, -4.0]
    assert clip_grad_norm(parameters, 1.0) == 5.0
    assert [p.grad for p in parameters] == pytest.approx([0.6, -0.8], rel=1e-15)


def test_clipping_works_when_squares_of_gradients_overflow():
    parameters = with_grads(3e200, 4e200)
    assert clip_grad_norm(parameters, 1.0) == pytest.approx(5e200)
    assert [p.grad for p in parameters] == pytest.approx([0.6, 0.8])


def test_clipping_refuses_invalid_gradients():
    parameters = with_grads(1.0, math.nan)
    with pytest.raises(ValueError, match="gradient of parameter 1 is nan"):
        clip_grad_norm(parameters, 0.5)
    assert parameters[0].grad == 1.0
    with pytest.raises(ValueError, match="clip_grad_norm expects at least one parameter"):
        clip_grad_norm([], 1.0)


def test_errors_use_the_models_names_of_parameters():
    model = MLP(2, [2, 1])
    optimizer = SGD(model.named_parameters(), lr=0.1)
    assert list(optimizer.parameters) == model.parameters()
    before = model.state_dict()
    model.layers[1].neurons[0].b.grad = float("nan")
    with pytest.raises(ValueError, match=r"parameter 8 \('layers\[1\].neurons\[0\].b'\) is nan"):
        optimizer.step()
    assert model.state_dict() == before


@pytest.mark.parametrize("make", [SGD, Adam])
def test_arrays_of_values_are_parameters(make):
    W, b = values([[1.0, 2.0], [3.0, 4.0]]), values([0.5, -0.5])
    optimizer = make([W, ("bias", b)], lr=0.1)
    assert len(optimizer.parameters) == 6
    ((W @ np.array([1.0, -1.0]) + b) ** 2).sum().backward()
    before = W.data
    optimizer.step()
    assert ((W.data - before) * W.grad < 0).all()
    optimizer.zero_grad()
    assert not W.grad.any()
