"""Programs of users under `mypy --strict`: an editor knows the types of what they get."""

import importlib.util
import subprocess
import sys

import pytest

PROGRAMS = {
    "a number": """
from typing import assert_type
from micrograd import Value
x = Value(3.0, label="x")
y = 2 * x**2 - (x / 3).tanh() + x.relu() + 1
y.backward()
assert_type(y, Value)
assert_type(y.item(), float)
print(f"{y:.3f}", x.grad)
""",
    "exact numbers": """
from fractions import Fraction
from typing import assert_type
from micrograd import Value
a = Value(Fraction(1, 3))
assert_type(a * a + 1, Value)
""",
    "a drawing": """
from micrograd import Value, draw_dot, mermaid
a, b = Value(2.0, label="a"), Value(-3.0)
c = (a * b).sigmoid()
picture = draw_dot(c, names=locals(), edges="derivatives", rankdir="TB")
picture.save("c.svg")
text: str = mermaid(c)
""",
    "a page": """
from typing import assert_type
from micrograd import MLP, Value, explain, playground
from micrograd.datasets import moons
from micrograd.pages.page import Page
X, y = moons(100, noise=0.1, seed=0)
assert_type(explain(Value(1.0).exp()), Page)
playground(MLP(2, [8, 1], activation="tanh"), X, y).save("training.html")
""",
    "training by hand": """
from typing import assert_type
from micrograd import MLP, Value, no_grad
model = MLP(3, [4, 4, 1])
xs, ys = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5]], [1.0, -1.0]
for step in range(20):
    losses = [(model(x) - y) ** 2 for x, y in zip(xs, ys)]
    loss = sum(losses, Value(0.0))
    model.zero_grad()
    loss.backward()
    with no_grad():
        for p in model.parameters():
            p.data -= 0.05 * p.grad
assert_type(model.parameters(), list[Value])
""",
    "an optimizer": """
from micrograd import SGD, Adam, Linear, Sequential, Value
from micrograd.losses import cross_entropy
from micrograd.nn import ReLU, accuracy
model = Sequential(Linear(2, 8), ReLU(), Linear(8, 3))
optimizer = Adam(model.parameters(), lr=0.01, betas=(0.9, 0.99))
X, y = [[0.5, 1.0], [-1.0, 2.0]], [0, 2]
for _ in range(5):
    optimizer.zero_grad()
    loss = cross_entropy(model(X), y)
    loss.backward()
    optimizer.step()
print(accuracy(model(X), y))
""",
    "arrays": """
import numpy as np
from micrograd import values
A = values([[1.0, 2.0], [3.0, 4.0]])
loss = ((A @ np.ones(2) - 1.0) ** 2).sum()
loss.backward()
print(A.grad.shape, A.data.tolist())
""",
    "derivatives": """
from micrograd import Value, check_gradients, derivative, gradient, hessian, jacobian
def f(x: Value, y: Value) -> Value:
    return 3 * x**2 + x * y
print(gradient(f, [2.0, 3.0]), hessian(f, [2.0, 3.0]), derivative(lambda x: x**3, 2.0, order=2))
x, y = Value(2.0), Value(3.0)
print(jacobian(f(x, y), [x, y], mode="forward"))
check_gradients(f, [2.0, 3.0])
""",
    "a compiled function": """
import numpy as np
import micrograd
from micrograd import MLP, Value
from micrograd.optim import AdamW
model = MLP(2, [4, 1])
@micrograd.compile
def loss(x: list[Value], y: Value) -> Value:
    output: Value = model(x)
    return (output - y) ** 2
X, y = np.zeros((10, 2)), np.ones(10)
losses = micrograd.fit(loss, X, y, AdamW(model.parameters()), steps=10, batch_size=5)
print(losses[-1], loss(X, y).data)
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


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="pip install -e '.[check]'")
def test_programs_of_users_have_the_types_that_they_expect(tmp_path):
    assert len(PROGRAMS) == 10
    files = [tmp_path / f"{name.replace(' ', '_').replace(chr(39), '')}.py" for name in PROGRAMS]
    for file, program in zip(files, PROGRAMS.values(), strict=True):
        file.write_text(program, encoding="utf-8")
    options = ["--strict", "--python-version", "3.11", "--cache-dir", tmp_path / "cache"]
    command = [sys.executable, "-m", "mypy", *options, "--ignore-missing-imports", *files]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
