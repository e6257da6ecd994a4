"""Programs of users under `mypy --strict`: an editor knows the types of what they get."""

import re

import pytest
from blocks import python

PROGRAMS = {
    "a number": """
from fractions import Fraction
from typing import assert_type
from micrograd import Value
x = Value(3.0, label="x")
y = 2 * x**2 - (x / 3).tanh() + x.relu() + 1
y.backward()
assert_type(y, Value)
assert_type(y.item(), float)
assert_type(x < 2, bool)
assert_type(2 - x.maximum(1), Value)
print(f"{y:.3f}", x.grad)
exact = Value(Fraction(1, 3))
assert_type(exact * exact + 1, Value)
""",
    "the lecture's neuron": """
from typing import assert_type
import numpy as np
from micrograd import Layer, Neuron, Value
from micrograd.arrays import ValueArray
neuron = Neuron(2, activation="tanh")
x1, x2 = Value(2.0, label="x1"), Value(0.0, label="x2")
o = neuron([x1, x2])
o.backward()
assert_type(o, Value)
assert_type(neuron([2.0, x2]), Value)
assert_type(neuron.w, list[Value])
assert_type(Layer(2, 3)([[1.0, 2.0], [3.0, 4.0]]), ValueArray)
layer = Layer(2, 3)(np.ones(2))
print(neuron.b.grad, layer[0].data)
""",
    "a drawing": """
from typing import assert_type
from micrograd import MLP, Value, draw_dot, draw_network, mermaid
from micrograd.draw.render import Digraph
a, b = Value(2.0, label="a"), Value(-3.0)
c = (a * b).sigmoid()
picture = draw_dot(c, names=locals(), edges="derivatives", rankdir="TB")
assert_type(picture, Digraph)
assert_type(picture.save("c.svg"), str)
assert_type(picture.pipe(), bytes)
assert_type(picture.pipe("svg", encoding="utf-8"), str)
assert_type(mermaid(c), str)
assert_type(draw_network(MLP(2, [3, 1]), x=[0.5, b]), Digraph)
""",
    "pages and plots": """
from typing import assert_type
from micrograd import MLP, Value, explain, playground
from micrograd.datasets import moons
from micrograd.pages.page import Page
from micrograd.plot import decision_boundary, loss_curve
X, y = moons(100, noise=0.1, seed=0)
assert_type(explain(Value(1.0).exp()), Page)
playground(MLP(2, [8, 1]), X, y).save("training.html")
decision_boundary(lambda point: point[0] - 0.5, X, y).set_title("moons")
loss_curve([0.7, Value(0.5)]).set_title("loss")
""",
    "optimizers and losses": """
from typing import assert_type
import numpy as np
from micrograd import SGD, Adam, Linear, MLP, Sequential, Value
from micrograd.arrays import ValueArray
from micrograd.datasets import batches, moons
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy, squared_error
from micrograd.nn import ReLU, accuracy
from micrograd.optim import clip_grad_norm
model = Sequential(Linear(2, 8), ReLU(), Linear(8, 3))
optimizer = Adam(model.parameters(), lr=0.01, betas=(0.9, 0.99))
X, y = [[0.5, 1.0], [-1.0, 2.0]], [0, 2]
for _ in range(5):
    optimizer.zero_grad()
    loss = cross_entropy(model(X), y)
    loss.backward()
    optimizer.step()
assert_type(accuracy(model(X), y), float)
points, labels = moons(100)
network = MLP(2, [8, 1])
sgd = SGD(network.named_parameters(), lr=0.1, momentum=0.9)
for points_now, labels_now in batches(points, labels, size=20):
    sgd.lr = 0.1 * (1 - sgd.steps / 30)
    sgd.zero_grad()
    binary_cross_entropy_with_logits(network(points_now), labels_now).backward()
    assert_type(clip_grad_norm(network.parameters(), 1.0), float)
    sgd.step()
assert_type(network(points), ValueArray)
assert_type(Linear(2, 1)([1.0, 2.0]), ValueArray)
assert_type(Linear(2, 1)(np.ones((5, 2))), ValueArray)
assert_type(squared_error(network([1.0, 2.0]), 1.0), Value)
""",
    "arrays": """
from typing import assert_type
import numpy as np
from micrograd import Value, values
from micrograd.arrays import ValueArray
A = values([[1.0, 2.0], [3.0, 4.0]])
assert_type(A, ValueArray)
assert_type(A.relu().softmax(), ValueArray)
assert_type(values([Value(1.0), 2.0]), ValueArray)
loss = ((A @ np.ones(2) - 1.0) ** 2).sum()
loss.backward()
print(A.grad.shape, A.data.tolist())
A.data -= 0.1 * A.grad
A.grad = 0
""",
    "derivatives": """
from typing import assert_type
from micrograd import Value, check_gradients, derivative, gradient, hessian, jacobian, jvp, vjp
def f(x: Value, y: Value) -> Value:
    return 3 * x**2 + x * y
print(gradient(f, [2.0, 3.0]), hessian(f, [2.0, 3.0]), derivative(lambda x: x**3, 2.0, order=2))
x, y = Value(2.0), Value(3.0)
print(jacobian(f(x, y), [x, y]))
assert_type(check_gradients(f, [2.0, 3.0]), list[float])
print(vjp([x * y, x - y], [1.0, 10.0])[x], jvp(f, [2.0, 3.0], [1.0, 0.0]))
""",
    "a compiled function": """
from typing import assert_type
import numpy as np
import micrograd
from micrograd import MLP, Value
from micrograd.compiler.batch import Batch
from micrograd.optim import AdamW
model = MLP(2, [4, 1])
@micrograd.compile
def loss(x: list[Value], y: Value) -> Value:
    output: Value = model(x)
    return (output - y) ** 2
X, y = np.zeros((10, 2)), np.ones(10)
losses = micrograd.fit(loss, X, y, AdamW(model.parameters()), steps=10, batch_size=5)
assert_type(losses, list[float])
assert_type(loss(X, y), Batch)
assert_type(loss([[1.0, 2.0]], [1]), Batch)
assert_type(loss.step(AdamW(model.parameters()), X, y), float)
eager: Value = loss([Value(1.0), Value(2.0)], Value(1.0))
""",
    "an engine of one's own, graded": """
from __future__ import annotations
from typing import assert_type
from micrograd.grade import Report, grade, grade_file
class Mine:
    def __init__(self, data: float, operands: tuple[Mine, ...] = ()) -> None:
        self.data, self.grad, self._prev = data, 0.0, operands
    def __add__(self, other: Mine) -> Mine:
        return Mine(self.data + other.data, (self, other))
report = grade(Mine)
assert_type(report, Report)
assert_type([mistake[0].message for mistake in report.mistakes], list[str])
print(report, grade_file("my_engine.py").passed)
""",
    "an operation and a module of one's own": """
from micrograd import Module, Value
def softplus(x: Value) -> Value:
    out = Value(x.exp().data + 1.0, (x,), "softplus")
    def _backward() -> None:
        x.grad += out.grad * x.sigmoid().data
    out._backward = _backward
    return out
class Model(Module):
    def __init__(self) -> None:
        self.w = Value(0.5)
    def forward(self, x: float) -> Value:
        return softplus(self.w * x)
model = Model()
print(model(2.0), model.state_dict())
""",
}


MISTAKES = """
from micrograd import MLP, SGD, Adam, Neuron, Value, draw_dot, explain, gradient, values
from micrograd.datasets import moons
from micrograd.losses import cross_entropy
x, model = Value(2.0), MLP(2, [3, 1])
Value("3")
Value([1.0, 2.0])
x + "1"
x.tanh(3)
x.maximum()
x.backward().grad
x.sigmod()
MLP(2, 8)
Neuron(2, activation=True)
Neuron(2)([1.0, 2.0]).date
SGD(model, lr=0.1)
Adam(model.parameters(), betas=0.9)
draw_dot(x, names=[x])
explain(2.0)
gradient(2.0, [1.0])
values({1.0, 2.0})
moons(noise="high")
cross_entropy(model, 0)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What mypy says to each program, in a file of its own: the lines of its errors."""
    pytest.importorskip("mypy", reason="pip install -e '.[check]'")
    folder = tmp_path_factory.mktemp("programs")
    programs = [*PROGRAMS.values(), MISTAKES]
    files = [folder / f"program_{i}.py" for i, _ in enumerate(programs)]
    for file, program in zip(files, programs, strict=True):
        file.write_text(program, encoding="utf-8")
    options = ["--strict", "--python-version", "3.11", "--cache-dir", folder / "cache"]
    said = python("-m", "mypy", *options, "--ignore-missing-imports", *files, code=1).stdout
    return {
        program: re.findall(rf"{file.name}:(\d+): error.*", said)
        for file, program in zip(files, programs, strict=True)
    }


@pytest.mark.slow
def test_programs_of_users_have_the_types_that_they_expect(found):
    assert len(PROGRAMS) >= 10
    assert {name: found[program] for name, program in PROGRAMS.items() if found[program]} == {}


@pytest.mark.slow
def test_a_type_checker_finds_the_usual_mistakes(found):
    lines = enumerate(MISTAKES.split("\n"), 1)
    wrong = {int(line) for line in found[MISTAKES]}
    assert [text for line, text in lines if (line > 5) == (line not in wrong) and text] == []
