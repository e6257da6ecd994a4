"""Training loops, as texts: a right one, and edits that make it wrong or right in another way."""

import contextlib
from typing import NamedTuple

LECTURE = """
import math
import random
import micrograd
import numpy as np
from micrograd import MLP, SGD, Adam, AdamW, Linear, Sequential, Value, no_grad, values, watch
from micrograd.datasets import blobs, circles, moons, spirals
from micrograd.losses import *
from micrograd.nn import Tanh
from micrograd.optim import clip_grad_norm

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


def edited(edits, seed=1337):
    """The program after all edits, each of which must find its old text."""
    text = LECTURE.replace("SEED", str(seed))
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def run_of(program, path):
    """The run of a program, in a file of its own, that may end with an error of arithmetic."""
    path.write_text(program, encoding="utf-8")
    names = {"__name__": "__main__"}
    with contextlib.suppress(ArithmeticError):
        exec(compile(program, str(path), "exec"), names)
    return names["run"]


RESET = "    model.zero_grad()\n"
LOSS = "(model(x) - t) ** 2"
SUM = f"sum({LOSS} for x, t in zip(xs, ys))"
MODEL = LECTURE[LECTURE.index("MLP(3") : LECTURE.index("\nxs")]
BACKWARD = "    loss.backward()\n"
DATA = (FOUR, XOR), ("[1.0, -1.0, -1.0, 1.0]", "[-1.0, 1.0, 1.0, -1.0]")
OWN = "\nfrom own_classes import classes\nMLP = classes(Value)\nrandom.seed("
RESET_BY_HAND = "    for p in model.parameters():\n        p.grad = 0.0\n"
OWN_CLASSES = [
    ("\nrandom.seed(", OWN), (MODEL, "MLP(3, [4, 4, 1])"), (RESET, RESET_BY_HAND)
]  # fmt: skip
MANY = "MLP(3, [10, 10, 10, 10, 1], activation='tanh', output='tanh')"
UNEQUAL = ("ys = [1.0, -1.0", "ys = [1.0, 1.0")
EQUAL = "\nfor p in model.parameters():\n    p.data = 0.1\nxs"
WITH_ADAM = [(UPDATE, STEP), ("SGD(model.parameters(), lr=0.05)", "Adam(model.parameters(), 0.01)")]
BODY = LECTURE[LECTURE.index("    loss = sum") :]
RENEWED = "    optimizer = Adam(model.parameters(), 0.01)\n"
ONE_CALL = "    compiled.step(optimizer, xs, ys)\n"
COMPILED = ("before", f"compiled = micrograd.compile(lambda x, t: {LOSS})\nbefore")
CROSS = "(lambda p: -(t * p.log() + (1 - t) * (1 - p).log()))(0.5 + model(x) / 2.01)"
ACCURACY = ("model, bar", "model, xs, ys, bar")
HUNDRED = [(f"xs = {FOUR}\nys = [1.0, -1.0, -1.0, 1.0]", "xs, ys = moons(100, noise=0.1, seed=1)"),
           (MODEL, "MLP(2, [4, 1], 'tanh')"), ACCURACY]  # fmt: skip
ZEROS = ("[1.0, -1.0, -1.0, 1.0]", "[1, 0, 0, 1]")
HINGE = "(1 + -t * model(x)).relu()"
LINEAR = (MODEL, "MLP(3, [4, 1], activation='tanh')")
MOVE = "    for p in model.parameters():\n        p.data -= 0.05 * p.grad"
VELOCITIES = [("before = 0", "v = [0] * 99"), (MOVE, "    for i, p in enumerate("
               "model.parameters()):\n        v[i] = 0.8 * v[i] + p.grad\n        "
               "p.data -= 0.02 * v[i]")]  # fmt: skip
BY_LIST = ("model, bar", "[*{p: 0 for p in model.parameters()}], bar")
SHARED = ("before = 0", "for layer in model.layers[:2]:\n    layer.neurons = layer.neurons[:1] * 4")
OUT, MIXED = "model(x).sigmoid()", [("[1.0, -1.0, -1.0, 1.0]", "[1.0, 0.0, 0.0, 1.0]")]
LOGIT = "binary_cross_entropy_with_logits"
PAIRS, LISTED = ("before = 0", "pairs = zip(xs, ys)"), ("before = 0", "pairs = [*zip(xs, ys)]")
IN_PAIRS = (SUM, f"sum(({LOSS} for x, t in pairs), Value(0.0))")
EACH = "".join(f"    {line}\n" for line in BODY.replace(SUM, LOSS).splitlines())
EACH = (BODY, f"    for x, t in pairs:\n{EACH}")
SIXTEEN = [(f"xs = {FOUR}\nys = [1.0, -1.0, -1.0, 1.0]", "xs, ys = moons(16, noise=0.1, seed=1)"),
           (MODEL, "MLP(2, [4, 1], 'tanh')")]  # fmt: skip
BCE = (SUM, "binary_cross_entropy_with_logits(model(xs), ys)")
SOFTMAX = ("before = 0", "def softmax(zs):\n    es = [z.exp() for z in zs]\n"
           "    return [e / sum(es) for e in es]\n")  # fmt: skip

HOME_MADE = (
    "before = 0",
    """def tanh(x):
    t = math.tanh(x.data)
    out = Value(t, (x,), "tanh")
    def _backward():
        x.grad += (1 - t * t) * out.grad
    out._backward = _backward
    return out
""",
)

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
    Row("unmoved", [(BODY, ONE_CALL), COMPILED, ("lr=0.05", "lr=0.0")],
        [(BODY, ONE_CALL), COMPILED]),
    Row("renewed", [*WITH_ADAM, (RESET, f"{RENEWED}{RESET}")],
        [*WITH_ADAM, (RESET, f"    if step % 20 == 0:\n    {RENEWED}{RESET}")]),
    Row("accumulated", [("before = 0", f"({SUM}).backward()"), (RESET, ""),
                        (UPDATE, UPDATE + RESET)],
        [("before = 0", f"({SUM}).backward()")]),
    Row("printed", [("loss = sum", "part = sum"), (BACKWARD, "    loss = part + sum(p * p for p in "
         "model.parameters())\n    part.backward()\n")],
        [(BACKWARD, "    (loss / 2).backward()\n")]),
    Row("uphill", [("-= 0.05", "+= 0.05")], []),
    Row("uphill", [("-= 0.05", "+= 0.01 * step")], [("-= 0.05", "-= 0.01 * step")]),
    Row("uphill", [("60", "100"), ("0.05 * p", "(0.05 - 0.002 * step) * p")],
        [("60", "100"), ("0.05 * p", "(0.05 - 0.0005 * step) * p")]),
    Row("uphill", [*VELOCITIES, ("-= 0.02", "+= 0.02")], VELOCITIES),
    Row("detached", [(LOSS, "(Value(model(x).data) - t) ** 2")], []),
    Row("detached", [("loss = sum", f"net = {MODEL}\n    loss = sum"), (LOSS, "(net(x) - t) ** 2")],
        [("loss = sum", "net = model\n    loss = sum"), (LOSS, "(net(x) - t) ** 2")]),
    Row("detached", [("before = 0", f"net = {MODEL}"), (LOSS, "(net(x) - t) ** 2")], []),
    Row("unchained", [HOME_MADE, (LOSS, "(tanh(model(x)) - t) ** 2"), (" * out.grad", "")],
        [HOME_MADE, (LOSS, "(tanh(model(x)) - t) ** 2")]),
    Row("no_backward", [(BACKWARD, "")], []),
    Row("stale", [(f"    loss = {SUM}\n", ""), ("before = 0", f"loss = {SUM}")], []),
    Row("stale", [("before", "all = 0\nbefore"), (f"loss = {SUM}", f"loss = all = all + {SUM}")],
        [("before", "all = 0\nbefore"), (BACKWARD, f"{BACKWARD}    all += loss.data\n")]),
    Row("stale", [("before = 0", "outputs = [model(x) for x in xs]"),
                  (SUM, "sum((o - t) ** 2 for o, t in zip(outputs, ys))")], []),
    Row("detached", [PAIRS, IN_PAIRS], [LISTED, IN_PAIRS]),
    Row("no_backward", [PAIRS, EACH], [LISTED, EACH]),
    Row("missing", [(UPDATE, STEP), ("SGD(model", "SGD(model.layers[2]")],
        [(UPDATE, STEP), ("before = 0", "model.layers[0].requires_grad = False")]),
    Row("missing", [*OWN_CLASSES, ("before = 0", "MLP.parameters = lambda self: "
         "[p for layer in self.layers[1:] for p in layer.parameters()]")],
        OWN_CLASSES),
    Row("overwritten", [("p.data -=", "p.data =-")], []),
    Row("overwritten", [("0.05 * p.grad", "0.05 * p.data")], []),
    Row("one_example", [(f"loss = {SUM}", f"\n    for x, t in zip(xs, ys): loss = {LOSS}")],
        [(f"loss = {SUM}", f"x, t = xs[step % 4], ys[step % 4]\n    loss = {LOSS}")]),
    Row("one_example", [*HUNDRED, ("in zip(xs, ys)", "in zip(xs[:4], ys)")],
        [*HUNDRED, ("in zip(xs, ys)", "in random.sample([*zip(xs, ys)], 4)"), ("60", "100")]),
    Row("one_example", [("model, bar", "model, xs, ys, bar"), (f"loss = {SUM}", "\n    for x, t in "
         f"zip(xs, ys):\n        loss = {LOSS}")],
        [("model, bar", "model, xs, ys, bar"), (f"loss = {SUM}", "loss = 0\n    for x, t in "
         f"zip(xs, ys):\n        loss += {LOSS}")]),
    Row("differences", [(LOSS, "(model(x) - t)")], [(LOSS, "abs(model(x) - t)")]),
    Row("differences", [(SUM, "sum(model(x) - t for x, t in zip(xs, ys)) ** 2")],
        [(SUM, "sum(abs(model(x) - t) for x, t in zip(xs, ys)) ** 2 / 4")]),
    Row("unbounded", [(LOSS, "-t * model(x)"), (MODEL, "MLP(3, [1])")],
        [(LOSS, "(1 - t * model(x)).relu()"), (MODEL, "MLP(3, [1])")]),
    Row("unused", [("before = 0", "model.extra = Value(1.0)")], []),
    # ---- the step
    Row("too_slow", [("0.05 * p", "0.02 * 0.3 ** step * p")],
        [("0.05 * p", "0.05 * 0.9 ** step * p")]),
    Row("too_slow", [(LOSS, "1 - 1e-4 * (model(x) * t)"), ("60", "80"), ("0.05", "0.01")], []),
    Row("too_slow", [("0.05 * p", "1e-4 * p")], [("0.05 * p", "0.005 * p")]),
    Row("too_slow", [("0.05 * p", "1e-9 * p")], [("0.05 * p", "1e-9 * 1.5 ** step * p")]),
    Row("too_fast", [("0.05 * p", "2.0 * p")], []),
    # ---- the data
    Row("scale", [(FOUR, "[[0, 0, 0]] * 4")], []),
    Row("scale", [(FOUR, "[[0.5, 2.0, -1.0]] * 4")], []),
    Row("scale", [(FOUR, "[[150.0, 1.0, 3.0], [160, 0, 1], [140, 2, 2], [155, 1, 1]]")], []),
    Row("scale", [(FOUR, "[[1e-4, 2e-4, 0], [3e-4, 1e-4, 0], [0, 1e-4, 1e-4], [2e-4, 0, 0]]")], []),
    Row("targets", [("ys = [1.0", "ys = [1000.0"), LINEAR, ("0.05 * p", "1e-4 * p")],
        [("ys = [1.0", "ys = [4.0"), LINEAR, ("0.05 * p", "0.02 * p")]),
    Row("reach", [("ys = [1.0", "ys = [10.0")], [("ys = [1.0", "ys = [10.0"), LINEAR,
                                                 ("0.05 * p", "0.005 * p")]),
    Row("reach", [(MODEL, "MLP(3, [4, 1], output='relu')")], []),
    Row("reach", [(LOSS, HINGE), (MODEL, "MLP(3, [4, 1], 'tanh', 'relu')")], []),
    Row("reach", [(LOSS, HINGE), ("[1.0, -1.0, -1.0, 1.0]", "[1, 0, 0, 1]"), LINEAR],
        [(LOSS, HINGE), LINEAR]),
    Row("reach", [(LOSS, f"{LOGIT}(model(x), (t + 1) / 2)")],
        [(LOSS, f"{LOGIT}(model(x), (t + 1) / 2)"), LINEAR]),
    Row("reach", [(LOSS, "cross_entropy(model(x), int(t > 0))"),
                  (MODEL, "MLP(3, [4, 2], 'tanh', 'tanh')")],
        [(LOSS, "cross_entropy(model(x), int(t > 0))"), (MODEL, "MLP(3, [4, 2], 'tanh')")]),
    Row("shuffled", [("loss = sum", "random.shuffle(xs)\n    loss = sum")],
        [("loss = sum", "pairs = [*zip(xs, ys)]; random.shuffle(pairs); xs, ys = zip(*pairs)\n"
          "    loss = sum")]),
    Row("shuffled", [("loss = sum", "random.shuffle(xs)\n    loss = sum"), (LOSS, CROSS), ZEROS],
        [(LOSS, CROSS), ZEROS]),
    Row("crossed", [(SUM, "((np.array([*map(model, xs)]) - np.array(ys)[:, None]) ** 2).mean()")],
        [(SUM, "((np.array([*map(model, xs)]) - np.array(ys)) ** 2).mean()")]),
    Row("twice", [SOFTMAX, LINEAR, (LOSS, "(softmax([model(x)])[0] - (t > 0)) ** 2")],
        [SOFTMAX, LINEAR, (LOSS, "(softmax([model(x), 0 * model(x)])[0] - (t > 0)) ** 2")]),
    Row("twice", [SOFTMAX, LINEAR, (LOSS, "(softmax([model(x)])[0] - (t > 0)) ** 2")],
        [SOFTMAX, LINEAR, (LOSS, "(softmax([model(x)])[0] * softmax([model(x), 0 * model(x)])[0]"
                                 " - (t > 0)) ** 2")]),
    Row("twice", [(LOSS, "binary_cross_entropy_with_logits(model(x).sigmoid(), (t + 1) / 2)"),
                  LINEAR],
        [(LOSS, "binary_cross_entropy_with_logits(model(x), (t + 1) / 2)"), LINEAR]),
    Row("twice", [(LOSS, "cross_entropy(values(model(x)).softmax(), int(t > 0))"),
                  (MODEL, "MLP(3, [4, 2], 'tanh')")],
        [(LOSS, "cross_entropy(model(x), int(t > 0))"), (MODEL, "MLP(3, [4, 2], 'tanh')")]),
    Row("imbalance", [(f"{FOUR}\nys = [1.0, -1.0, -1.0, 1.0]", "[[i % 3, i % 5, i % 7] for i in "
         "range(20)]\nys = [1] * 19 + [-1]"), ("model, bar", "model, xs, ys, bar"),
         ("0.05", "1e-3"),         ("60", "300")], [("model, bar", "model, xs, ys, bar")]),
    Row("imbalance", [*SIXTEEN, BCE, ("before = 0", "ys = [int(t == '1') for t in ys]")],
        [*SIXTEEN, BCE]),
    Row("imbalance", [(LOSS, f"(lambda p: -(t * p.log()))({OUT})"), LINEAR, *MIXED],
        [(LOSS, f"(lambda p: -(t * p.log() + (1 - t) * (1 - p).log()))({OUT})"), LINEAR, *MIXED]),
    # ---- the network
    Row("equal_weights", [("\nxs", EQUAL)], []),
    Row("equal_weights", [BY_LIST, ("\nxs", EQUAL)], [BY_LIST]),
    Row("equal_weights", [BY_LIST, *OWN_CLASSES, SHARED], [BY_LIST, *OWN_CLASSES]),
    Row("no_activation", [*DATA, (MODEL, "MLP(2, [4, 1], 'linear', 'tanh')"), ("60", "50")],
        [*DATA, (MODEL, "MLP(2, [4, 1], 'tanh', 'tanh')"), ("60", "400")]),
    Row("plateau", [*DATA, (MODEL, "MLP(2, [1])"), ("60", "200")],
        [*DATA, (MODEL, "MLP(2, [4, 1], 'tanh')"), ("60", "400")]),
    Row("shrunk", [(UPDATE, STEP), ("lr=0.05", "lr=0.05, weight_decay=5")],
        [(UPDATE, STEP), ("lr=0.05", "lr=0.05, weight_decay=0.01")]),
    Row("shrunk", [(f"{SUM}\n", f"{SUM} + 5 * sum(p * p for p in model.parameters())\n")],
        [(f"{SUM}\n", f"{SUM} + 1e-3 * sum(p * p for p in model.parameters())\n")]),
    Row("dead", [*DATA, (MODEL, "MLP(2, [4, 1])"), ("60", "400")],
        [*DATA, (MODEL, "MLP(2, [4, 1], 'tanh')"), ("60", "400")], 0),
    Row("dead", [*DATA, (MODEL, "MLP(2, [4, 1])"), ("60", "400"), (BODY, ONE_CALL), COMPILED],
        [*DATA, (MODEL, "MLP(2, [4, 1], 'tanh')"), ("60", "400"), (BODY, ONE_CALL), COMPILED], 0),
    Row("saturated", [BY_LIST, ("\nxs", "\nfor p in model.parameters():\n    p.data *= 30\nxs")],
        [BY_LIST]),
    Row("saturated", [("\nxs", "\nfor p in model.parameters():\n    p.data *= 30\nxs")], []),
    Row("fading", [(MODEL, MANY), UNEQUAL,
                   ("\nxs", "\nfor p in model.parameters():\n    p.data *= 0.02\nxs")],
        [(MODEL, MANY), UNEQUAL]),
    # ---- the first number that is not finite
    Row("nonfinite", [(MODEL, "MLP(3, [4, 4, 1], 'relu')"), ("0.05 * p", "1e60 * p")], []),
    Row("nonfinite", [("[[2.0", "[[1e308 * 10")], []),
    Row("nonfinite", [(LOSS, "(model(x) * 1e308 * 10 - t).tanh()")], []),
    Row("equal_outputs", [(LOSS, "(model(x) / model(x) - t) ** 2")], []),
    # ---- a plateau
    Row("plateau", [(SUM, "sum((p - 0.5) ** 2 for p in model.parameters())"), ("60", "80"),
                    ("0.05", "1.0")], []),
]  # fmt: skip

# ---- Right trainings, by what is special in them


def on(data, model, *edits):
    """Edits for other data and another model."""
    return [(f"xs = {FOUR}\nys = [1.0, -1.0, -1.0, 1.0]", data), (MODEL, model), *edits]


SIGNS = "; ys = [2 * t - 1 for t in ys]"
MOONS = f"xs, ys = moons(20, noise=0.1, seed=1){SIGNS}"
CIRCLES = "xs, ys = circles(16, noise=0.05, seed=0)"
ODD = f"xs = {XOR}; ys = [-1.0, 1.0, 1.0, -1.0]"
SINE = "xs = [[i / 10] for i in range(-15, 16, 2)]; ys = [(2 * x[0] % 3) / 3 for x in xs]"
LINE = "xs = [i / 10 for i in range(-10, 11)]; ys = [3 * x + 1 + random.gauss(0, 0.3) for x in xs]"
LOGITS = (SUM, "binary_cross_entropy_with_logits(model(xs), ys)")
LOGITS01 = (SUM, "binary_cross_entropy_with_logits(model(xs), [int(t > 0) for t in ys])")
CLASSES = (SUM, "cross_entropy(model(xs), ys)")
TIMES_X = (LOSS, "(model[0] * x + model[1] - t) ** 2 / 21")
LEAVES = [("model.zero_grad()", "for p in model: p.grad = 0"), ("model.parameters()", "model")]
IN_TURNS = "".join(f"    {line}\n" for line in (
    "((model(xs[step % 20]) - ys[step % 20]) ** 2 / 4).backward()",
    "if step % 4 == 3:", "    optimizer.step()", "    optimizer.zero_grad()",
))  # fmt: skip
EPOCHS = "    for k in range(4):\n" + "".join(f"    {line}\n" for line in BODY.splitlines())


def with_optimizer(made):
    """Edits for another optimizer."""
    return (UPDATE, STEP), ("SGD(model.parameters(), lr=0.05)", made)


def with_adam(rate):
    """Edits for Adam."""
    return with_optimizer(f"Adam(model.parameters(), {rate})")


RIGHT = {
    "the lecture": [],
    "own classes": OWN_CLASSES,
    "hinge, decay, schedule": on(MOONS, "MLP(2, [8, 8, 1])", ACCURACY,
        (SUM, f"sum({HINGE} for x, t in zip(xs, ys)) / 20 + 1e-4 * sum(p * p for p in "
              "model.parameters())"), ("0.05 * p", "(1 - 0.9 * step / 60) * p")),
    "adam": on(CIRCLES, "MLP(2, [8, 1], 'tanh')", LOGITS, ACCURACY, *with_adam(0.02)),
    "xor": on(ODD, "MLP(2, [4, 1], 'tanh')", ACCURACY, ("60", "400")),
    "xor, tanh output": on(ODD, "MLP(2, [4, 1], 'tanh', 'tanh')", ("60", "400")),
    "xor, sigmoid output": on(f"xs = {XOR}; ys = [0, 1, 1, 0]", "MLP(2, [4, 1], 'tanh', 'sigmoid')",
        (SUM, "binary_cross_entropy(model(xs), ys)"), *with_adam(0.05), ("60", "200")),
    "a second run": [("before", "for _ in watch(range(99), model, bar=False):\n"
        f"    model.zero_grad()\n    ({SUM}).backward()\n    optimizer.step()\nbefore")],
    "a line": on(LINE, "[Value(0.5), Value(0.0)]", TIMES_X, *LEAVES, ("60", "300")),
    "one example a step": on(LINE, "[Value(0.5), Value(0.0)]", (SUM, "(model[0] * xs[step % 21] + "
        "model[1] - ys[step % 21]) ** 2"), *LEAVES, ("60", "200")),
    "momentum": on(LINE, "[Value(5.0)]", (SUM, "(model[0] - 1) ** 2"), ("60", "200"),
        *with_optimizer("SGD(model, lr=0.01, momentum=0.95)"), *LEAVES[:1]),
    "a maximum": on(LINE, "[Value(5.0)]", (SUM, "-(model[0] - 1) ** 2"), ("-=", "+="), *LEAVES),
    "a cubic": on(LINE, "[Value(0.0) for _ in range(4)]", *LEAVES, ("0.05", "0.3"),
        (LOSS, "(sum(c * x**i for i, c in enumerate(model)) - t) ** 2 / 21")),
    "mini-batches": on(MOONS, "MLP(2, [8, 1])", (LOSS, HINGE),
        ("in zip(xs, ys)", "in random.sample([*zip(xs, ys)], 5)"),
        *with_optimizer("SGD(model.parameters(), 0.02, momentum=0.9)")),
    "four turns a step": on(MOONS, "MLP(2, [6, 1], 'tanh')", (BODY, IN_TURNS), ("60", "160")),
    "epochs": on(MOONS, "MLP(2, [6, 1], 'tanh')", (BODY, EPOCHS), (LOSS, LOSS + " / 5"),
        ("60", "9"), ("zip(xs, ys)", "zip(xs[k::4], ys[k::4])")),
    "one pass for each example": on(MOONS, "MLP(2, [6, 1], 'tanh')", ACCURACY, (BACKWARD, ""),
        (f"    loss = {SUM}\n{RESET}", f"{RESET}    for x, t in zip(xs, ys):\n"
         f"        loss = {LOSS} / 20\n        loss.backward()\n")),
    "classes, cosine": on("xs, ys = blobs(20, seed=0)", "MLP(2, [6, 3], 'tanh')", CLASSES, ACCURACY,
        *with_adam(0.05),
        (STEP, f"    optimizer.lr = 0.025 * (1 + math.cos(math.pi * step / 60))\n{STEP}")),
    "warm-up": on(CIRCLES, "MLP(2, [8, 1], 'tanh')", LOGITS, *with_adam(0.0),
        (STEP, f"    optimizer.lr = 0.02 * min(1, step / 30)\n{STEP}")),
    "from zero": on(f"{MOONS}; ys = [int(t > 0) for t in ys]", "MLP(2, [1])", LOGITS, ACCURACY,
        ("before", "for p in model.parameters():\n    p.data = 0.0\nbefore"), ("60", "150")),
    "arrays": on("xs, ys = spirals(12, seed=0)", "Sequential(Linear(2, 8), Tanh(), Linear(8, 8), "
        "Tanh(), Linear(8, 3))", CLASSES, *with_adam(0.02), ("60", "30")),
    "relu, a wave": on(SINE, "MLP(1, [12, 1])", (SUM, "squared_error(model(xs), ys)"),
        *with_adam(0.03), ("60", "100")),
    "frozen": on(MOONS, "MLP(2, [8, 1], 'tanh')", (SUM, "hinge(model(xs), ys)"),
        ("before", "model.layers[0].requires_grad = False\nbefore"), *with_optimizer(
            "SGD(model.parameters(), lr=0.2)")),
    "clipped": on(MOONS, "MLP(2, [8, 8, 1])", (SUM, "hinge(model(xs), ys)"), ("60", "40"),
        *with_optimizer("AdamW(model.parameters(), lr=0.02)"),
        (STEP, f"    clip_grad_norm(model.parameters(), 1.0)\n{STEP}")),
    "two models": on("xs = [[random.random() for _ in range(4)] for _ in range(6)]", "[MLP(4, [2], "
        "'tanh'), MLP(2, [4])]", *with_adam(0.02),
        (SUM, "squared_error(model[1](model[0](xs)), xs)"),
        ("model.parameters()", "[p for m in model for p in m.parameters()]"),
        ("model, bar", "[p for m in model for p in m.parameters()], bar"),
        ("model.zero_grad()", "optimizer.zero_grad()")),
    "he": on(MOONS, "MLP(2, [16, 16, 1], init='he')", LOGITS01, ACCURACY, *with_adam(0.02),
        ("60", "40")),
    "xavier": on(MOONS, "MLP(2, [8, 8, 8, 1], 'tanh', init='xavier')", ACCURACY, (LOSS, HINGE),
        ("0.05 * p", "0.01 * p"), ("60", "80")),
    "dropout": on(MOONS, "MLP(2, [12, 1])", (LOSS, "(model.layers[1]([random.choice((0, 2)) * h for"
        " h in model.layers[0](x)]) - t) ** 2 / 20"), *with_adam(0.02), ("60", "100")),
    "noisy inputs": on(MOONS, "MLP(2, [8, 1], 'tanh')", (LOSS, "(model([xi + random.gauss(0, 0.1) "
        "for xi in x]) - t) ** 2 / 20"), *with_adam(0.03), ("60", "100")),
    "labels with mistakes": on(f"{MOONS}; ys = [t * random.choice((1, 1, 1, -1)) for t in ys]",
        "MLP(2, [8, 1], 'tanh')", (LOSS, LOSS + " / 20"), *with_adam(0.02), ("60", "120")),
    "least squares": on("true = [1.0, -2.0, 3.0]; xs = [[random.gauss(0, 1) for _ in true] for "
        "_ in range(30)]; ys = [sum(a * b for a, b in zip(true, x)) for x in xs]",
        "MLP(3, [1])", (LOSS, LOSS + " / 30"), ("0.05 * p", "0.1 * p")),
    "linear layers on a line": on("xs = [[i / 10] for i in range(-10, 11)]; ys = [3 * x[0] + 1 for "
        "x in xs]", "MLP(1, [3, 1], 'linear')", (LOSS, LOSS + " / 21"), ("60", "150")),
    "a recurrent network": on("xs = [[random.choice((0.0, 1.0)) for _ in range(4)] for _ in "
        "range(12)]; ys = [sum(x) / 4 for x in xs]", "MLP(4, [3])",
        (SUM, "0\n    for x, t in zip(xs, ys):\n        h = [0.0] * 3\n        for xi in x:\n"
         "            h = [v.tanh() for v in model([xi, *h])]\n        loss += (h[0] - t) ** 2"),
        *with_adam(0.02)),
    "embeddings": on("xs = [*range(6)] * 3; ys = [(x + 1) % 6 for x in xs]", "MLP(3, [6])",
        ("before", "table = [[Value(random.gauss(0, 1)) for _ in range(3)] for _ in range(6)]\n"
         "before"), (SUM, "sum(cross_entropy(model(table[x]), t) for x, t in zip(xs, ys)) / 18"),
        *with_optimizer("Adam(model.parameters(), 0.05)"), (STEP, f"{STEP}    for row in "
         "table:\n        for e in row:\n            e.data -= 0.5 * e.grad; e.grad = 0\n")),
    "an ellipse": on("xs = [(2 * math.cos(a), math.sin(a)) for a in range(12)]; ys = xs",
        "[Value(1.0), Value(1.5)]", (SUM, "sum(((x / model[0]) ** 2 + (y / model[1]) ** 2 - 1) ** 2"
        " for x, y in xs) / 12"), *LEAVES, ("60", "200"), ("0.05 * p", "0.1 * p")),
    "the largest likelihood": on("xs = [random.gauss(2, 0.5) for _ in range(30)]; ys = xs",
        "[Value(0.0), Value(0.0)]", (SUM, "sum(((x - model[0]) * (-model[1]).exp()) ** 2 / 2 + "
        "model[1] for x in xs) / 30"), *LEAVES, ("60", "200"), ("0.05 * p", "0.02 * p")),
    "a step back": on(MOONS, "MLP(2, [8, 1], 'tanh')", (LOSS, LOSS + " / 20"), (UPDATE, UPDATE +
        "    if step == 30:\n        for p in model.parameters(): p.data += 0.01 * p.grad\n")),
    "two losses": on(MOONS, "MLP(2, [8, 2], 'tanh')", (SUM, "sum((model(x)[0] - t) ** 2 for x, t "
        "in zip(xs, ys)) / 20 + sum(abs(model(x)[1] - x[0]) for x in xs) / 20"), *with_adam(0.03)),
    "in every second step": [(MOVE, MOVE.replace(":", " if step % 2 else ():", 1)), ("60", "100")],
    "L1": on(LINE, "[Value(0.5), Value(0.0)]", (LOSS, "abs(model[0] * x + model[1] - t) / 21"),
        *LEAVES, ("60", "200"), ("0.05 * p", "0.05 * 0.98 ** step * p")),
    "one call a step": on(MOONS, "MLP(2, [8, 1])", (BODY, ONE_CALL), COMPILED),
    "compiled": on(MOONS, "MLP(2, [8, 1])", (SUM, "compiled(xs, ys)"), *with_adam(0.01), ("before",
        f"compiled = micrograd.compile(lambda x, t: {HINGE})\nbefore")),
}  # fmt: skip
