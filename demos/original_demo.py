"""The original micrograd: the example in its README, its demo, and its picture of a neuron.

    python demos/original_demo.py
    python demos/original_demo.py --out-dir pictures

The script follows https://github.com/karpathy/micrograd in the order of its README, and prints its
numbers beside ours. The demo trains a 2-16-16-1 network on 100 points of two moons, with a hinge
loss, an L2 penalty, and a learning rate that falls from 1.0 to 0.1 in 100 steps:

    loss = mean max(0, 1 - target * score) + 0.0001 * sum of p^2 over all parameters p

The points are in published_moons.csv: scikit-learn's make_moons(100, noise=0.1) after
numpy.random.seed(1337). The initial weights come from random.seed(1337), as in the original. The
loss is compiled: it is written for one point and runs on all points at once, so the script takes
only about 3 seconds. It writes example.svg, moons.png and relu_neuron.svg.
"""

import random
from pathlib import Path

import numpy as np
from table import arguments, print_table
from tqdm import tqdm

import micrograd
from micrograd import Value, draw_dot, plot
from micrograd.datasets import read_csv
from micrograd.nn import MLP, Neuron, accuracy
from micrograd.optim import SGD

STEPS = 100


def example():
    """The Values of the README's example by name, after the backward pass."""
    a, b = Value(-4.0), Value(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    return {"a": a, "b": b, "g": g}


def published_moons():
    """The points of the demo, and a target of -1 or 1 for each."""
    X, y, _ = read_csv(Path(__file__).with_name("published_moons.csv"))
    return np.array(X), 2.0 * np.array(y) - 1


def train(model, X, y, steps=STEPS):
    """Trains as the demo does; returns the loss and the accuracy before each step."""

    @micrograd.compile
    def loss_and_score(x, target):
        score = model(x)
        penalty = 1e-4 * sum(p * p for p in model.parameters())
        return [(1 + -target * score).relu() + penalty, score]

    optimizer = SGD(model.parameters(), lr=1.0)
    history = []
    for k in tqdm(range(steps), unit="step"):
        optimizer.lr = 1.0 - 0.9 * k / STEPS
        optimizer.zero_grad()
        batch = loss_and_score(X, y)  # all points at once; batch[0] is the mean loss
        batch[0].backward()
        optimizer.step()
        history.append((batch[0].data, accuracy(batch.lanes[:, 1], y > 0)))
    return history


def main():
    """Prints the article's numbers beside ours, and draws its three pictures."""
    folder = Path(arguments(__doc__).out_dir)

    names = example()
    print_table("The example", [
        ("g", "24.7041", f"{names['g'].data:.4f}"),
        ("dg/da", "138.8338", f"{names['a'].grad:.4f}"),
        ("dg/db", "645.5773", f"{names['b'].grad:.4f}"),
    ])  # fmt: skip
    draw_dot(names["g"], names=names).save(folder / "example.svg")

    X, y = published_moons()
    random.seed(1337)
    model = MLP(2, [16, 16, 1])
    history = train(model, X, y)
    print_table("The demo", [
        ("parameters", "337", str(len(model.parameters()))),
        ("loss, step 0", "0.895844102868", f"{history[0][0]:.12f}"),
        ("loss, step 1", "1.723590533697", f"{history[1][0]:.12f}"),
        ("loss, step 99", "0.010978370135", f"{history[99][0]:.12f}"),
        ("accuracy, step 99", "100.0%", f"{history[99][1]:.1%}"),
    ])  # fmt: skip
    losses = [loss for loss, _ in history]
    figure = plot.training_figure(micrograd.compile(model), X, y, losses)
    plot.save(figure, folder / "moons.png")

    random.seed(1337)
    neuron, x = Neuron(2), [Value(1.0), Value(-2.0)]
    y = neuron(x)
    y.backward()
    gradients = (f"{p.grad:.4f}" for p in (*neuron.w, neuron.b, *x))
    print_table("The neuron", [
        ("y", "0.1024", f"{y.data:.4f}"),
        *zip(("dy/dw1", "dy/dw2", "dy/db", "dy/dx1", "dy/dx2"),
             ("1.0000", "-2.0000", "1.0000", "0.2355", "0.0665"), gradients, strict=True),
    ])  # fmt: skip
    draw_dot(y, names={"n": neuron, "x": x, "y": y}).save(folder / "relu_neuron.svg")
    print(f"\npictures in {folder}: example.svg moons.png relu_neuron.svg")


if __name__ == "__main__":
    main()
