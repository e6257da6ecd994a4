"""Points, scores and training runs that several test files draw."""

import json
import random
import re

import numpy as np

from micrograd import plot
from micrograd.datasets import blobs, moons
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy
from micrograd.nn import MLP

POINTS, LABELS = [[-1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
CORNERS = [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0], [0.5, 0.4]]

X, Y = moons(30)
HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"'&<b>",
    "w" * 500,
    "עברית",
    "$x^$",
    "\u202e\u2028",
]


def line(points):
    """Scores that are 0 where x1 + x2 = 0.5."""
    return points[:, 0] + points[:, 1] - 0.5


def thirds(points):
    """Scores of three classes: left and right of x1 = 0.5, and above x2 = 0.6 and both lines."""
    x1, x2 = points[:, 0] - 0.5, points[:, 1] - 0.6
    return np.stack([-4 * x1, 4 * x1, 8 * x2], axis=1)


def trained(steps, hidden=(4,), classes=2, model_of=None, names=None, end=True, **options):
    """A recorded run of gradient descent; with `end`, the last state has its loss and gradients."""
    random.seed(0)
    points, labels = (X, Y) if classes == 2 else blobs(30, classes=classes)
    network = MLP(2, [*hidden, 1 if classes == 2 else classes], activation="tanh")
    model = model_of(network) if model_of else network
    loss_of = binary_cross_entropy_with_logits if classes == 2 else cross_entropy
    history = plot.animate(model, points, labels, names=names, **options)
    for step in range(steps + 1):
        loss = sum(map(loss_of, map(model, points), labels)) / len(points)
        network.zero_grad()
        loss.backward()
        if step < steps or end:
            history.record(loss)
        if step < steps:
            for p in network.parameters():
                p.data -= 0.5 * p.grad
    return history


def data_of(page, part="run"):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
    return json.loads(text)[part]
