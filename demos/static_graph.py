"""A graph that is built once: forward, backward and update, from one number to mini-batches.

    python demos/static_graph.py
    python demos/static_graph.py --out-dir pictures

The script follows the notebook "Backpropagation in DAGs", where a graph is a list of compute nodes
that is built once and then run with three functions: forward(), backward(loss) and sgd(eta). Here
they are written out as methods of a `StaticGraph` for the first part. The others use

    recompute(loss)        loss.backward()        optimizer.step()

which do the same. The parts go from scalars to vectors and matrices:

    a scalar     L = (w x + b - y)^2, one step
    a vector     least squares: 100 points with 5 coordinates, noise of standard deviation 0.05.
                 Gradient descent finds the solution of the normal equations, X^T X w = X^T y
    softmax      p_k = e^z_k / sum_j e^z_j,  L = -log p_label;  then dL/dz = (p - y) / N,
                 dL/dW = dL/dz^T X and dL/db = sum of dL/dz, where y is 1 for the label, else 0
    sigmoid      p = 1 / (1 + e^-z),  L = -y log p - (1 - y) log(1 - p);  the same derivatives
    matrices     a regression with 10 hidden ReLUs: 100 points with 5 coordinates, 20 epochs on
                 mini-batches of 10 points, compared with PyTorch from the same 71 weights

The middle column of the tables has the results of formulas, computed with NumPy. The last table
compares with PyTorch, whose weights are recorded in static_graph.json. The script takes about 10
seconds, and writes scalar.svg and learned.png.
"""

import json
import math
import random
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from table import arguments, print_table

import micrograd
from micrograd import Value, draw_dot, plot, topological_order
from micrograd.arrays import values
from micrograd.datasets import batches, blobs, linear_regression
from micrograd.derivatives import recompute
from micrograd.draw.tokens import LIGHT
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy, squared_error
from micrograd.nn import MLP, Linear
from micrograd.optim import SGD

N_IN, HIDDEN, EPOCHS, BATCH, LR = 5, 10, 20, 10, 0.02


# ---- 1. A scalar


class StaticGraph:
    """The nodes of a graph, in an order in which operands come first."""

    def __init__(self, loss, parameters):
        self.nodes, self.parameters = topological_order(loss), parameters

    def forward(self):
        """Computes the data of all nodes again, from that of the leaves."""
        recompute(self.nodes[-1])

    def backward(self, loss):
        """Computes the gradients of all nodes, from the loss back to the leaves."""
        for node in self.nodes:
            node.grad = 0.0
        loss.grad = 1.0
        for node in reversed(self.nodes):
            node._backward()

    def sgd(self, eta):
        """Moves each parameter against its gradient."""
        for parameter in self.parameters:
            parameter.data -= eta * parameter.grad


def scalar():
    """The graph's Values by name, and L, dL/dw, dL/db, and w, b, L after one step.

    At the end, the graph has the data and the gradients after the step.
    """
    w, b = Value(2.0), Value(1.0)
    x, y = Value(3.0), Value(10.0)
    L = (w * x + b - y) ** 2
    before = L.data
    graph = StaticGraph(L, [w, b])
    graph.backward(L)
    gradients = w.grad, b.grad
    graph.sgd(eta=0.01)
    graph.forward()
    graph.backward(L)
    return {"w": w, "x": x, "b": b, "y": y, "L": L}, (before, *gradients, w.data, b.data, L.data)


# ---- 2. A vector


def points(n=100, noise=0.05):
    """The points of the least-squares problem, one in each row, and their targets."""
    X, y = linear_regression(n, weights=(1.5, -2.0, 0.5, 3.0, -1.0), bias=0.0, noise=noise)
    return np.array(X), np.array(y)


def gradient_descent(X, y, epochs=300, lr=0.1):
    """The weights before the first epoch and after each epoch, from a single graph."""
    w = values(np.zeros(X.shape[1]))
    loss = ((X @ w - y) ** 2).mean()
    optimizer = SGD([w], lr=lr)
    history = [w.data]
    for _ in range(epochs):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recompute(loss)
        history.append(w.data)
    return np.array(history)


def normal_equations(X, y):
    """The weights with the least squared error, without gradients."""
    return np.linalg.solve(X.T @ X, X.T @ y)


def contraction(X, lr=0.1):
    """The largest factor by which an epoch multiplies the distance from the minimum."""
    return max(abs(1 - lr * np.linalg.eigvalsh(2 * X.T @ X / len(X))))


# ---- 3. Softmax and sigmoid


def by_engine(loss, layer, X, targets):
    """The logits, and the derivatives of the mean loss with respect to z, W and b."""
    z = layer(X)
    layer.zero_grad()
    loss(z, targets).backward()
    W, b = layer.weight, layer.bias
    return z.data, {"z": z.grad, "W": W.grad, "b": b.grad}


def by_formula(P, Y, X):
    """The same derivatives, computed from p - y."""
    error = (P - Y) / len(X)
    return {"z": error, "W": error.T @ X, "b": error.sum(axis=0)}


def softmax(n=6, classes=3):
    """The derivatives of softmax with cross-entropy, by the engine and by the formula."""
    X, labels = blobs(n, classes=classes)
    random.seed(0)
    Z, engine = by_engine(cross_entropy, Linear(2, classes), X, labels)
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    return engine, by_formula(P, np.eye(classes)[labels], np.array(X))


def sigmoid(n=6):
    """The derivatives of a neuron that detects class 0, by the engine and by the formula."""
    X, labels = blobs(n)
    Y = np.array(labels)[:, None] == 0
    random.seed(0)
    Z, engine = by_engine(binary_cross_entropy_with_logits, Linear(2, 1), X, Y)
    return engine, by_formula(1 / (1 + np.exp(-Z)), Y, np.array(X))


def far_out():
    """The derivatives for logits of 1000 and -1000, where e^1000 would overflow."""
    z, zs = Value(1000.0), [Value(1000.0), Value(-1000.0)]
    binary_cross_entropy_with_logits(z, 0).backward()
    cross_entropy(zs, 1).backward()
    return [z.grad, zs[0].grad, zs[1].grad]


# ---- 4. Matrices


def regression():
    """The points and their targets, which a single layer cannot learn exactly."""
    rng = random.Random(0)
    X = [[rng.uniform(-1, 1) for _ in range(N_IN)] for _ in range(100)]
    y = [math.sin(3 * x[0]) + x[1] * x[2] + abs(x[3]) - 0.5 * x[4] for x in X]
    return np.array(X), np.array(y)


def network():
    """The network before training, the same in every run."""
    random.seed(0)
    return MLP(N_IN, [HIDDEN, 1])


def eager(model):
    """A function that computes the loss of a mini-batch, number by number."""
    return lambda X, y: squared_error(model(X), y)


def compiled(model):
    """The same function, compiled: it is written for one point and runs on arrays."""
    return micrograd.compile(lambda x, y: squared_error(model(x), y))


def train(model, loss_of):
    """Trains the network; returns the mean loss of each epoch."""
    optimizer = SGD(model.parameters(), lr=LR)
    loss_of_batch, means = loss_of(model), []
    inputs, targets = regression()
    for _ in range(EPOCHS):
        losses = []
        for X, y in batches(inputs, targets, BATCH, shuffle=False):
            loss = loss_of_batch(X, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.data)
        means.append(float(np.mean(losses)))
    return means


def recorded():
    """The weights after the same training in PyTorch, by name."""
    return json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))["weights"]


# ---- 5. The tables and the pictures


def difference(found, reference):
    """The largest difference between the arrays of two dicts."""
    return max(np.abs(np.subtract(found[name], reference[name])).max() for name in reference)


def draw(distance, bound, means):
    """The figure: the distance from the minimum, and the loss of the regression."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(bound, color=LIGHT["faint"], linewidth=1, linestyle="--", label="bound")
    left.plot(distance, color=LIGHT["ink"], linewidth=1.4, label="distance")
    left.set(yscale="log", xlabel="epoch", ylabel="distance from the minimum",
             title="Least squares", ylim=(1e-16, None))  # fmt: skip
    left.legend(frameon=False)
    right.plot(
        range(1, len(means) + 1), means, color=LIGHT["ink"], linewidth=1.4, marker="o", markersize=3
    )
    right.set(xlabel="epoch", ylabel="mean loss", title="Hidden layer of ReLUs", ylim=(0, None))
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def main():
    """Prints the results of formulas and PyTorch beside ours, part by part."""
    folder = Path(arguments(__doc__).out_dir)

    names, (loss, dw, db, w, b, after) = scalar()
    print_table("A scalar", [
        ("L = (w x + b - y)^2", 9, loss),
        ("dL/dw = 2 (w x + b - y) x", -18, dw),
        ("dL/db = 2 (w x + b - y)", -6, db),
        ("w and b after one step", "2.18, 1.06", f"{w:g}, {b:g}"),
        ("L after one step", 5.76, after),
    ], "formula")  # fmt: skip
    draw_dot(names["L"], names=names).save(folder / "scalar.svg")

    X, y = points()
    history, solution = gradient_descent(X, y), normal_equations(X, y)
    distance = np.linalg.norm(history - solution, axis=1)
    rows = [(f"w{i}", *pair) for i, pair in enumerate(zip(solution, history[-1], strict=True), 1)]
    rows.append(("largest difference", None, abs(history[-1] - solution).max()))
    print_table("A vector: least squares", rows, "normal equations")

    for title, (engine, formula) in (("Softmax", softmax()), ("Sigmoid", sigmoid())):
        first = zip(formula["z"][0], engine["z"][0], strict=True)
        rows = [(f"dL/dz{k} of the first point", *pair) for k, pair in enumerate(first, 1)]
        rows.append(("largest difference, also of dL/dW, dL/db", None, difference(engine, formula)))
        print_table(title, rows, "p - y")
    far = far_out()
    print_table("Very large logits", [
        ("sigmoid, z = 1000, y = 0", 1, far[0]),
        ("softmax, z = 1000, y = 0", 1, far[1]),
        ("softmax, z = -1000, y = 1", -1, far[2]),
    ], "p - y")  # fmt: skip

    reference = recorded()
    model, twin = network(), network()
    means = train(model, eager)
    train(twin, compiled)
    weights = model.state_dict()
    shown = ("layers[0].neurons[0].w[0]", "layers[1].neurons[0].w[0]", "layers[1].neurons[0].b")
    print_table("Matrices: a hidden layer of ReLUs", [
        *((name, reference[name], weights[name]) for name in shown),
        ("largest difference of all 71 weights", None, difference(weights, reference)),
        ("largest difference if compiled", None, difference(twin.state_dict(), reference)),
        ("mean loss, first and last epoch", None, f"{means[0]:.4f}, {means[-1]:.4f}"),
    ], "PyTorch")  # fmt: skip

    bound = distance[0] * contraction(X) ** np.arange(len(distance))
    plot.save(draw(distance, bound, means), folder / "learned.png")
    print(f"\npictures in {folder}: scalar.svg learned.png")


if __name__ == "__main__":
    main()
