"""Right trainings, each of another kind; `right` is a decorator that lists them."""

import math
import random

import micrograd
from micrograd import MLP, SGD, Adam, AdamW, Linear, Sequential, Value, watch
from micrograd.datasets import blobs, circles, moons, spirals
from micrograd.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge,
    squared_error,
)
from micrograd.nn import Tanh
from micrograd.optim import clip_grad_norm, cosine

XOR, ODD = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [-1.0, 1.0, 1.0, -1.0]
LINE = [(i / 10, 3 * i / 10 + 1 + 0.3 * math.sin(9.0 * i)) for i in range(-10, 11)]
SINE = [[i / 10] for i in range(-15, 16, 2)], [math.sin(i / 5) for i in range(-15, 16, 2)]
RIGHT = []  # what each returns: the run and a step of its loop


def signs(labels):
    """Labels -1 and 1 for 0 and 1."""
    return [2 * label - 1 for label in labels]


def trained(model, loss, optimizer, n, X=None, y=None, before=lambda k: None, after=lambda: None):
    """A run of the usual loop."""
    run = watch(range(n), model, X, y, bar=False)
    for k in run:
        before(k)
        optimizer.zero_grad()
        loss(k).backward()
        after()
        optimizer.step()
    return run


def right(function):
    """Lists a training."""
    RIGHT.append(function)
    return function


@right
def hinge_with_a_decay_and_a_schedule_by_hand():
    X, y = moons(20, noise=0.1, seed=0)
    y, model = signs(y), MLP(2, [8, 8, 1])
    for k in (run := watch(range(30), model, X, y, bar=False)):
        loss = sum((1 + -t * model(x)).relu() for x, t in zip(X, y, strict=True)) * (1 / len(X))
        loss = loss + 1e-4 * sum(p * p for p in model.parameters())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= (1 - 0.9 * k / 30) * p.grad
    return run


@right
def circles_with_adam():
    X, y = circles(16, noise=0.05, seed=0)
    model = MLP(2, [8, 1], "tanh")
    bce = binary_cross_entropy_with_logits
    optimizer = Adam(model.parameters(), 0.02)
    return trained(model, lambda k: bce(model(X), y), optimizer, 50, X, y)


@right
def xor_with_tanh():
    model = MLP(2, [4, 1], "tanh")
    optimizer = SGD(model.parameters(), lr=0.2)
    return trained(model, lambda k: squared_error(model(XOR), ODD), optimizer, 300, XOR, ODD)


@right
def xor_with_a_sigmoid_output():
    model, y = MLP(2, [4, 1], "tanh", "sigmoid"), [0, 1, 1, 0]
    optimizer = Adam(model.parameters(), 0.05)
    return trained(model, lambda k: binary_cross_entropy(model(XOR), y), optimizer, 200, XOR, y)


@right
def a_run_after_a_run():
    model = MLP(2, [4, 1], "tanh", "tanh")
    optimizer = SGD(model.parameters(), lr=0.3)
    for _ in range(2):
        run = trained(model, lambda k: squared_error(model(XOR), ODD), optimizer, 200)
        assert not run.findings
    return run


@right
def a_line_to_its_best_fit_and_beyond():
    w, b = Value(0.5), Value(0.0)
    for _ in (run := watch(range(300), [w, b], bar=False)):
        loss = sum((w * x + b - y) ** 2 for x, y in LINE) / len(LINE)
        loss.backward()
        for p in (w, b):
            p.data -= 0.1 * p.grad
            p.grad = 0
    return run


@right
def a_line_one_example_at_a_time():
    w, b = Value(0.5), Value(0.0)
    optimizer = SGD([w, b], lr=0.1)
    examples = [random.choice(LINE) for _ in range(200)]
    return trained([w, b], lambda k: (w * examples[k][0] + b - examples[k][1]) ** 2, optimizer, 200)


@right
def momentum_that_overshoots():
    w = Value(5.0)
    return trained([w], lambda k: (w - 1) ** 2, SGD([w], lr=0.01, momentum=0.95), 200)


@right
def mini_batches_with_momentum():
    X, y = moons(40, noise=0.1, seed=1)
    y, model = signs(y), MLP(2, [8, 1])
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = [random.sample(range(40), 8) for _ in range(60)]

    def loss(k):
        return sum((1 + -y[i] * model(X[i])).relu() for i in batches[k]) / 8

    return trained(model, loss, optimizer, 60, X, y)


@right
def gradients_of_eight_turns():
    X, y = moons(40, noise=0.1, seed=1)
    y, model = signs(y), MLP(2, [6, 1], "tanh")
    optimizer = SGD(model.parameters(), lr=0.2)
    for k in (run := watch(range(120), model, bar=False)):
        ((model(X[k % 40]) - y[k % 40]) ** 2 / 8).backward()
        if k % 8 == 7:
            optimizer.step()
            optimizer.zero_grad()
    return run


@right
def epochs_around_batches():
    X, y = moons(40, noise=0.1, seed=1)
    y, model = signs(y), MLP(2, [6, 1], "tanh")
    optimizer = SGD(model.parameters(), lr=0.1)
    for _ in (run := watch(range(6), model, bar=False)):
        for i in range(0, 40, 10):
            loss = squared_error(model(X[i : i + 10]), y[i : i + 10])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return run


@right
def one_backward_pass_for_each_example():
    X, y = moons(20, noise=0.1, seed=1)
    y, model = signs(y), MLP(2, [6, 1], "tanh")
    for _ in (run := watch(range(20), model, bar=False)):
        model.zero_grad()
        for x, t in zip(X, y, strict=True):
            loss = (model(x) - t) ** 2 / 20
            loss.backward()
        for p in model.parameters():
            p.data -= 0.2 * p.grad
    return run


@right
def three_classes_and_a_cosine():
    X, y = blobs(20, seed=0)
    model = MLP(2, [6, max(y) + 1], "tanh")
    optimizer, rate = AdamW(model.parameters(), lr=0.05), cosine(0.05, 0.0, 60)

    def set_rate(k):
        optimizer.lr = rate(k)

    return trained(model, lambda k: cross_entropy(model(X), y), optimizer, 60, X, y, set_rate)


@right
def a_warm_up_from_zero():
    X, y = circles(12, seed=0)
    model = MLP(2, [8, 1], "tanh")
    optimizer = Adam(model.parameters(), lr=0.0)

    def set_rate(k):
        optimizer.lr = 0.02 * min(1, k / 30)

    return trained(model, lambda k: hinge(model(X), signs(y)), optimizer, 60, X, y, set_rate)


@right
def noisy_labels_from_zero_weights():
    X = [[random.gauss(0, 1), random.gauss(0, 1)] for _ in range(20)]
    y = [int(a + b + random.gauss(0, 2) > 0) for a, b in X]
    model = MLP(2, [1])
    for p in model.parameters():
        p.data = 0.0
    bce = binary_cross_entropy_with_logits
    return trained(model, lambda k: bce(model(X), y), SGD(model.parameters(), lr=0.5), 150, X, y)


@right
def spirals_with_arrays():
    X, y = spirals(12, seed=0)
    model = Sequential(Linear(2, 8), Tanh(), Linear(8, 8), Tanh(), Linear(8, max(y) + 1))
    return trained(model, lambda k: cross_entropy(model(X), y), Adam(model.parameters(), 0.02), 25)


@right
def a_sine_with_relu():
    model = MLP(1, [12, 1])
    optimizer = Adam(model.parameters(), 0.03)
    return trained(model, lambda k: squared_error(model(SINE[0]), SINE[1]), optimizer, 100)


@right
def a_frozen_layer():
    X, y = moons(20, noise=0.1, seed=1)
    model = Sequential(Linear(2, 8), Tanh(), Linear(8, 1))
    model.modules[0].requires_grad = False
    optimizer = SGD(model.parameters(), lr=0.2)
    return trained(model, lambda k: hinge(model(X), signs(y)), optimizer, 40, X, y)


@right
def clipped_gradients():
    X, y = moons(16, noise=0.1, seed=1)
    model = MLP(2, [8, 8, 1])
    optimizer = SGD(model.parameters(), lr=0.2, weight_decay=1e-3)

    def clip():
        clip_grad_norm(model.parameters(), 1.0)

    return trained(model, lambda k: hinge(model(X), signs(y)), optimizer, 40, after=clip)


@right
def a_cubic_from_zero():
    c = [Value(0.0) for _ in range(4)]

    def loss(k):
        errors = ((sum(c[i] * x**i for i in range(4)) - x**3 + x) ** 2 for x, _ in LINE)
        return sum(errors) / len(LINE)

    return trained(c, loss, SGD(c, lr=0.3), 100)


@right
def a_maximum_uphill():
    w = Value(0.0)
    for _ in (run := watch(range(40), [w], bar=False)):
        w.grad = 0
        (-((w - 2) ** 2)).backward()
        w.data += 0.1 * w.grad
    return run


@right
def an_encoder_and_a_decoder():
    X = [[random.random() for _ in range(4)] for _ in range(6)]
    encoder, decoder = MLP(4, [2], "tanh", "tanh"), MLP(2, [4], "tanh")
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = Adam(parameters, 0.02)
    return trained(parameters, lambda k: squared_error(decoder(encoder(X)), X), optimizer, 60)


@right
def a_compiled_loss():
    X, y = moons(40, noise=0.1, seed=0)
    model = MLP(2, [8, 1])
    loss = micrograd.compile(lambda x, label: (1 - (2 * label - 1) * model(x)).relu())
    return trained(model, lambda k: loss(X, y), Adam(model.parameters(), 0.01), 60, X, y)
