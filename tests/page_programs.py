"""Programs that pages show: graphs, models of sequences, losses."""

import random

from micrograd import MLP, Linear, Module, Value, take, topological_order
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy, hinge, squared_error


def neuron():
    """The lecture's neuron: its output, and its names."""
    x1, x2, w1, w2, b = map(Value, (2.0, 0.0, -3.0, 1.0, 6.8813735870195432))
    n = x1 * w1 + x2 * w2 + b
    o = n.tanh()
    return o, locals()


def diamond():
    """r = p q + q with p = a a and q = p + a: nodes that are used twice, at different depths."""
    a = Value(3.0)
    p = a * a
    q = p + a
    m = p * q
    r = m + q
    return r, locals()


def network(examples=1):
    """The loss of an MLP, and its names."""
    random.seed(1)
    model = MLP(2, [4, 1], activation="tanh")
    points = [[random.uniform(-1, 1) for _ in range(2)] for _ in range(examples)]
    loss = sum((model(x) - 1.0) ** 2 for x in points)
    return loss, {"model": model, "loss": loss}


def engine(root):
    """Data and gradients of all nodes, in topological order, as the engine has them."""
    order = topological_order(root)
    for v in order:
        v.grad = 0
    root.backward()
    return [v.item() for v in order], [float(v.grad) for v in order]


TEXTS = ["abba", "aab", "ba", "abab"]


class Bigram(Module):
    """The logits after a token are a row of a table."""

    def __init__(self):
        self.table = [[Value(random.gauss(0, 0.1)) for _ in "ab."] for _ in "ab."]

    def follow(self, token):
        return take(self.table, token)

    def logits(self, tokens):
        return [self.follow(token) for token in tokens]


class Recurrent(Module):
    """A state of three numbers, updated by each token."""

    def __init__(self):
        self.table = [[Value(random.gauss(0, 0.5)) for _ in range(3)] for _ in "ab."]
        self.hidden, self.output = Linear(3, 3), Linear(3, 3)

    def update(self, token, state):
        pairs = zip(take(self.table, token), self.hidden(state), strict=True)
        return [(x + h).tanh() for x, h in pairs]

    def logits(self, tokens):
        state, found = [0.0] * 3, []
        for token in tokens:
            state = self.update(token, state)
            found.append(self.output(state))
        return found


LOSSES = {
    "hinge": (hinge, lambda k: 2 * k - 1),
    "cross-entropy": (binary_cross_entropy_with_logits, lambda k: k),
    "squared error": (squared_error, lambda k: k),
    "several classes": (cross_entropy, lambda k: k),
    "own": (lambda score, k: (score - 2.0 * k).tanh() ** 2, lambda k: k),
}
