"""Training loops, as texts: a right one, and edits that make it wrong or right in another way."""

from typing import NamedTuple

LECTURE = """
import random
from micrograd import MLP, SGD, Adam, Value, no_grad, values, watch
from micrograd.losses import *

random.seed(SEED)
model = MLP(3, [4, 4, 1], activation="tanh", output="tanh")
xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
ys = [1.0, -1.0, -1.0, 1.0]
optimizer = SGD(model.parameters(), lr=0.05)
before = 0
run = watch(range(60), model, bar=False)
for step in run:
    loss = sum((model(x) - t) ** 2 for x, t in zip(xs, ys))
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.05 * p.grad
"""
UPDATE = LECTURE[LECTURE.index("    for p in model") :]
STEP = "    optimizer.step()\n"
XOR = "[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]"
FOUR = LECTURE[LECTURE.index("[[2.0") : LECTURE.index("\nys")]


class Row(NamedTuple):
    """A mistake: the finding, the edits that make it, and those of a right loop like it."""

    name: str
    wrong: list
    right: list
    seed: int = 1337

    def program(self, edits):
        """The program after all edits, each of which must find its old text."""
        text = LECTURE.replace("SEED", str(self.seed))
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        return text


RESET = "    model.zero_grad()\n"
LOSS = "(model(x) - t) ** 2"
SUM = f"sum({LOSS} for x, t in zip(xs, ys))"
MODEL = LECTURE[LECTURE.index("MLP(3") : LECTURE.index("\nxs")]
BACKWARD = "    loss.backward()\n"
DATA = (FOUR, XOR), ("[1.0, -1.0, -1.0, 1.0]", "[-1.0, 1.0, 1.0, -1.0]")
OWN = """
class Neuron:
    def __init__(self, nin):
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(random.uniform(-1, 1))
    def __call__(self, x):
        return sum((wi * xi for wi, xi in zip(self.w, x)), self.b).tanh()
    def parameters(self):
        return self.w + [self.b]

class Layer:
    def __init__(self, nin, nout):
        self.neurons = [Neuron(nin) for _ in range(nout)]
    def __call__(self, x):
        outs = [n(x) for n in self.neurons]
        return outs[0] if len(outs) == 1 else outs
    def parameters(self):
        return [p for neuron in self.neurons for p in neuron.parameters()]

class MLP:
    def __init__(self, nin, nouts):
        sz = [nin] + nouts
        self.layers = [Layer(sz[i], sz[i + 1]) for i in range(len(nouts))]
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

random.seed("""
RESET_BY_HAND = "    for p in model.parameters():\n        p.grad = 0.0\n"
OWN_CLASSES = [
    ("\nrandom.seed(", OWN), (MODEL, "MLP(3, [4, 4, 1])"), (RESET, RESET_BY_HAND)
]  # fmt: skip
MANY = "MLP(3, [10, 10, 10, 10, 1], activation='tanh', output='tanh')"
UNEQUAL = ("ys = [1.0, -1.0", "ys = [1.0, 1.0")
EQUAL = "\nfor p in model.parameters():\n    p.data = 0.1\nxs"
WITH_ADAM = [(UPDATE, STEP), ("SGD(model.parameters(), lr=0.05)", "Adam(model.parameters(), 0.01)")]
IN_TURN = "    for x, t in zip(xs, ys):\n        (" + LOSS + ").backward()\n"
HINGE = "(1 + -t * model(x)).relu()"
LINEAR = (MODEL, "MLP(3, [4, 1], activation='tanh')")

TABLE = [
    # ---- the loop
    Row("accumulated", [(RESET, "")], [(RESET, ""), (UPDATE, UPDATE + RESET)]),
    Row("accumulated", [*OWN_CLASSES, (RESET_BY_HAND, "")], OWN_CLASSES),
    Row("unmoved", [("0.05 * p", "0.0 * p")], [("0.05 * p", "1e-3 * p")]),
    Row("unmoved", [("p.data -= 0.05 * p.grad", "p = p - 0.05 * p.grad")], []),
    Row("unmoved", [("p.data -=", "p -=")], [("    for p in", "    with no_grad():\n     for p in"),
                                             ("p.data -=", "p -=")]),
    Row("unmoved", [(RESET, ""), (BACKWARD, BACKWARD + RESET)], []),
    Row("unmoved", [(UPDATE, STEP), ("lr=0.05", "lr=0.0")], [(UPDATE, STEP)]),
    Row("unmoved", [(UPDATE, STEP), ("before = 0", "model = MLP(3, [4, 4, 1], 'tanh')")], []),
    Row("uphill", [("-= 0.05", "+= 0.05")], []),
    Row("detached", [(LOSS, "(Value(model(x).data) - t) ** 2")], []),
    Row("detached", [("loss = sum", f"net = {MODEL}\n    loss = sum"), (LOSS, "(net(x) - t) ** 2")],
        [("loss = sum", "net = model\n    loss = sum"), (LOSS, "(net(x) - t) ** 2")]),
    Row("detached", [("before = 0", f"net = {MODEL}"), (LOSS, "(net(x) - t) ** 2")], []),
    Row("no_backward", [(BACKWARD, "")], []),
    Row("stale", [(f"    loss = {SUM}\n", ""), ("before = 0", f"loss = {SUM}")], []),
    Row("leftover", [("before = 0", f"({SUM}).backward()"), (RESET, ""), (UPDATE, UPDATE + RESET)],
        [("before = 0", f"({SUM}).backward()")]),
    Row("missing", [(UPDATE, STEP), ("SGD(model", "SGD(model.layers[2]")],
        [(UPDATE, STEP), ("before = 0", "model.layers[0].requires_grad = False")]),
    Row("unused", [("before = 0", "model.extra = Value(1.0)")], []),
    Row("printed", [("loss = sum", "part = sum"), (BACKWARD, "    loss = part + sum(p * p for p in "
         "model.parameters())\n    part.backward()\n")],
        [(BACKWARD, "    (loss / 2).backward()\n")]),
    # ---- the step
    Row("too_slow", [("0.05 * p", "1e-9 * p")], [("0.05 * p", "1e-9 * 1.5 ** step * p")]),
    Row("too_fast", [("0.05 * p", "2.0 * p")], []),
    # ---- the data
    Row("scale", [(FOUR, "[[150.0, 1.0, 3.0], [160, 0, 1], [140, 2, 2], [155, 1, 1]]")], []),
    Row("scale", [(FOUR, "[[1e-4, 2e-4, 0], [3e-4, 1e-4, 0], [0, 1e-4, 1e-4], [2e-4, 0, 0]]")], []),
    Row("reach", [("ys = [1.0", "ys = [10.0")], [("ys = [1.0", "ys = [10.0"), LINEAR,
                                                 ("0.05 * p", "0.005 * p")]),
    Row("reach", [(MODEL, "MLP(3, [4, 1], output='relu')")], []),
    Row("labels", [(LOSS, HINGE), ("[1.0, -1.0, -1.0, 1.0]", "[1, 0, 0, 1]"), LINEAR],
        [(LOSS, HINGE), LINEAR]),
    Row("twice", [(LOSS, "binary_cross_entropy_with_logits(model(x).sigmoid(), (t + 1) / 2)"),
                  LINEAR],
        [(LOSS, "binary_cross_entropy_with_logits(model(x), (t + 1) / 2)"), LINEAR]),
    Row("twice", [(LOSS, "cross_entropy(values(model(x)).softmax(), int(t > 0))"),
                  (MODEL, "MLP(3, [4, 2], 'tanh')")],
        [(LOSS, "cross_entropy(model(x), int(t > 0))"), (MODEL, "MLP(3, [4, 2], 'tanh')")]),
    Row("imbalance", [(f"{FOUR}\nys = [1.0, -1.0, -1.0, 1.0]", "[[i % 3, i % 5, i % 7] for i in "
         "range(20)]\nys = [1] * 19 + [-1]"), ("model, bar", "model, xs, ys, bar"),
         ("0.05", "1e-3"),         ("60", "300")], [("model, bar", "model, xs, ys, bar")]),
    # ---- the network
    Row("equal_weights", [("\nxs", EQUAL)], []),
    Row("dead", [*DATA, (MODEL, "MLP(2, [4, 1])"), ("60", "400")],
        [*DATA, (MODEL, "MLP(2, [4, 1], 'tanh')"), ("60", "400")], 0),
    Row("saturated", [("\nxs", "\nfor p in model.parameters():\n    p.data *= 30\nxs")], []),
    Row("fading", [(MODEL, MANY), UNEQUAL,
                   ("\nxs", "\nfor p in model.parameters():\n    p.data *= 0.02\nxs")],
        [(MODEL, MANY), UNEQUAL]),
    Row("equal_outputs", [(LOSS, "(model([1.0, 2.0, 3.0]) - t) ** 2")], []),
    # ---- the first number that is not finite
    Row("nonfinite", [(MODEL, "MLP(3, [4, 4, 1], 'relu')"), ("0.05 * p", "1e60 * p")], []),
    Row("nonfinite", [("[[2.0", "[[1e308 * 10")], []),
    Row("nonfinite", [(LOSS, "(model(x) * 1e308 * 10 - t).tanh()")], []),
    # ---- a plateau
    Row("plateau", [(LOSS, "1 - 1e-4 * (model(x) * t)"), ("60", "80"), ("0.05", "0.01")], []),
]  # fmt: skip
