"""From a small graph to a network that reads handwritten digits, with a PyTorch-like interface.

    python demos/graphs_to_digits.py
    python demos/graphs_to_digits.py --mnist FOLDER

The script follows "Building a Mini Neural Network Library: Backpropagation and Autograd" by Henry
Chang (https://henryjchang.github.io and https://github.com/henryjchang/minigrad), part by part:

    the graph       f(x, y) = 3 x^2 + x y + 5 y^2 at (2, 3), one operation in each node:
                    a = x^2   b = x y   c = y^2   d = 3 a   e = 5 c   f = d + b + e
    forward mode    tangent(node) = sum over its operands of local derivative * tangent(operand);
                    one walk along the arrows for each input
    reverse mode    gradient(node) = sum over its users of local derivative * gradient(user);
                    a single walk against the arrows for all inputs
    mini-batches    64 points in X (64 x 2), P = X W, L = mean (P - Y)^2; each gradient has the
                    shape of its node, and dL/dW = 2/N X^T (P - Y)
    three views     the same network as operations, as neurons and as layers
    the library     backward(gradient), and a network of 784-64-64-10 neurons that learns MNIST with
                    SGD, a learning rate of 0.01 and mini-batches of 512 images

The MNIST images are read from a folder with the four idx files or from an .npz file. Without them,
the network learns the digits of scikit-learn: 1,437 images of 8 x 8 pixels, on mini-batches of 64.
On a virtual machine with 2 cores of an Intel Xeon, this takes about 10 seconds, and MNIST about 30.
Ctrl-C ends the training early and shows what has been learned so far. The pictures are forward.svg,
reverse.svg, ops.svg, neurons.svg, layers.svg, network.svg and digits.png.
"""

import math
import random
import sys
from pathlib import Path

import numpy as np
from digits import classifier, draw, images, loss_of
from table import arguments, positive, print_table

import micrograd
from micrograd import Value, datasets, draw_dot, draw_network, fit, plot
from micrograd.arrays import values
from micrograd.derivatives import jvp
from micrograd.losses import cross_entropy
from micrograd.nn import MLP, accuracy
from micrograd.optim import SGD

LEVELS = ("op", "neuron", "layer")
HIDDEN, LR = (64, 64), 0.01
PUBLISHED = [(1.9998, 0.501), (1.1895, 0.740), (0.7130, 0.822), (0.5427, 0.858), (0.4625, 0.876)]


def graph(x=2.0, y=3.0):
    """The nodes of the function by name, operands before results."""
    x, y = Value(x), Value(y)
    a, b, c = x**2, x * y, y**2
    d, e = 3 * a, 5 * c
    f = d + b + e
    return {"x": x, "y": y, "a": a, "b": b, "c": c, "d": d, "e": e, "f": f}


def tangents(nodes, variable):
    """Forward mode: d node / d input for all nodes, from one walk."""
    return dict(zip(nodes, jvp(list(nodes.values()), {nodes[variable]: 1.0}), strict=True))


def gradients(nodes):
    """Reverse mode: d f / d node for all nodes, from one walk."""
    nodes["f"].backward()
    return {name: node.grad for name, node in nodes.items()}


def modes(folder):
    """Prints both modes on the same graph, and draws them."""
    nodes = graph()
    along_x, along_y = forward = [tangents(nodes, "x"), tangents(nodes, "y")]
    draw_dot(nodes["f"], names=nodes, edges="derivatives", tangents={nodes["x"]: 1.0}).save(
        folder / "forward.svg"
    )
    [reverse] = backward = [gradients(nodes)]  # one walk for both inputs
    picture = draw_dot(nodes["f"], names=nodes, edges="derivatives")
    picture.edge_attr["dir"] = "back"
    picture.save(folder / "reverse.svg")
    print_table("The graph", [("f(2, 3)", 63, nodes["f"].data)])
    print_table("Forward mode", [("df/dx = 6 x + y", 15, along_x["f"]),
                                 ("df/dy = x + 10 y", 32, along_y["f"]),
                                 ("walks along the arrows", 2, len(forward))])  # fmt: skip
    print_table("Reverse mode", [("df/dx", 15, reverse["x"]), ("df/dy", 32, reverse["y"]),
                                 ("walks against the arrows", 1, len(backward))])  # fmt: skip
    print("\nnode       value  dnode/dx  dnode/dy  df/dnode")
    for name, node in nodes.items():
        print(f"{name:4}{node.data:>12g}{along_x[name]:>10g}{along_y[name]:>10g}"
              f"{reverse[name]:>10g}")  # fmt: skip


def regression(n=640, noise=0.05):
    """Points with a column of ones, shape (n, 2), and their targets, shape (n, 1)."""
    X, y = datasets.linear_regression(n, weights=(3.0,), bias=-1.0, noise=noise)
    return np.hstack([X, np.ones((n, 1))]), np.array(y)[:, None]


def batch_gradients(X, Y, size=64, lr=0.3):
    """The gradients of P, W and X in each mini-batch, and dL/dW by the formula.

    Gradient descent updates W after each mini-batch.
    """
    W = values(np.zeros((2, 1)))
    optimizer = SGD([W], lr=lr)
    for inputs, targets in datasets.batches(X, Y, size):
        inputs = values(inputs)
        P = inputs @ W
        L = ((P - targets) ** 2).mean()
        optimizer.zero_grad()
        L.backward()
        formula = 2 / len(targets) * inputs.data.T @ (P.data - targets)
        yield {"L": L.data, "P": P.grad, "W": W.grad, "X": inputs.grad}, formula
        optimizer.step()


def mini_batches():
    """Prints the shapes of the gradients, and compares dL/dW with the formula."""
    steps = list(batch_gradients(*regression()))
    first, last = steps[0][0], steps[-1][0]
    shapes = {name: " x ".join(map(str, first[name].shape)) for name in "PWX"}
    difference = max(abs(found["W"] - formula).max() for found, formula in steps)
    print_table("Mini-batches of 64 points", [
        ("shape of dL/dP", "64 x 1", shapes["P"]),
        ("shape of dL/dW", "2 x 1", shapes["W"]),
        ("shape of dL/dX", "64 x 2", shapes["X"]),
        ("largest difference from 2/N X^T (P - Y)", None, difference),
        ("loss, first and last mini-batch", None, f"{first['L']:.4f}, {last['L']:.4f}"),
    ])  # fmt: skip


def views():
    """Four pictures of one network by name: three views of its graph, and circles in columns."""
    random.seed(1)
    model = MLP(2, [3, 2, 1], activation="tanh")
    x = [Value(0.8), Value(-0.5)]
    loss = (model(x) - 1.0) ** 2
    loss.backward()
    names = {"model": model, "x": x, "loss": loss}
    pictures = {f"{level}s": draw_dot(loss, names=names, level=level) for level in LEVELS}
    return pictures | {"network": draw_network(model, x)}


def three_views(folder):
    """Writes the pictures and prints the numbers of boxes and arrows."""
    rows = []
    for name, picture in views().items():
        picture.save(folder / f"{name}.svg")
        svg = picture.pipe(format="svg", encoding="utf-8")
        boxes, arrows = (svg.count(f'class="{kind}"') for kind in ("node", "edge"))
        rows.append((f"{name}.svg: boxes, arrows", None, f"{boxes}, {arrows}"))
    print_table("Three views of a network, and its classic picture", rows)


def upstream_gradient():
    """The gradient of [1, 2, 3] in 2 (2 a), from an upstream gradient of ones."""
    a = values([1.0, 2.0, 3.0])
    (2 * (2 * a)).backward([1.0, 1.0, 1.0])
    return a.grad


def learn(model, training, test, epochs, size):
    """The logits of the test images, and their mean loss and the accuracy after each epoch.

    Ctrl-C ends the training early.
    """
    (X, y), (X_test, y_test) = training, test
    mean, deviation = X.mean(), X.std()  # the network learns faster from standardized pixels
    X, X_test = (X - mean) / deviation, (X_test - mean) / deviation

    @micrograd.compile
    def loss_and_logits(x, digit):
        logits = model(x)
        return [cross_entropy(logits, digit), *logits]

    results = []

    def measure():
        lanes = loss_and_logits(X_test, y_test).lanes
        results.append((lanes[:, 0].mean(), accuracy(lanes[:, 1:].tolist(), y_test)))

    optimizer, loss, steps = (
        SGD(model.parameters(), lr=LR),
        loss_of(model),
        math.ceil(len(X) / size),
    )
    for epoch in range(epochs):
        losses = fit(loss, X, y, optimizer, steps=steps, batch_size=size, seed=epoch)
        if len(losses) < steps:
            break
        measure()
    return loss_and_logits(X_test, y_test).lanes[:, 1:], results


def handwriting(sets, epochs, size, published, folder):
    """Trains a network, prints its accuracy after each epoch, and draws images."""
    training, test = sets
    model = classifier(sizes=(training[0].shape[1], *HIDDEN, 10))
    logits, results = learn(model, training, test, epochs, size)
    rows = [("parameters", None, str(len(model.parameters())))]
    for epoch, here in enumerate(results, 1):
        article = published[epoch - 1] if epoch <= len(published) else None
        if article or epoch in (1, len(results)):
            rows.append((f"epoch {epoch}: test loss, accuracy", *map(shown, (article, here))))
    print_table(f"{len(training[0]):,} images", rows)
    X, y = test
    plot.save(draw(X, y, logits), folder / "digits.png")


def shown(result):
    """A loss and an accuracy in one string, or None."""
    return result and "{:.4f}, {:.1%}".format(*result)


def main():
    """Prints the article's numbers beside ours, part by part, and draws its pictures."""
    options = arguments(
        __doc__,
        ("--mnist", {"metavar": "FOLDER", "help": "learn the MNIST images in this folder"}),
        ("--epochs", {"type": positive, "metavar": "N", "help": "(5 with --mnist, otherwise 40)"}),
    )
    folder = Path(options.out_dir)
    try:
        sets = datasets.mnist(options.mnist) if options.mnist else None
    except (ValueError, OSError) as error:
        sys.exit(f"graphs_to_digits.py: {error}")
    modes(folder)
    mini_batches()
    three_views(folder)
    ones = " ".join(f"{x:g}" for x in upstream_gradient())
    print_table("The library", [("gradient of a in 2 (2 a), upstream 1 1 1", "4 4 4", ones)])
    try:
        if sets:
            handwriting(sets, options.epochs or 5, 512, PUBLISHED, folder)
        else:
            handwriting(images(), options.epochs or 40, 64, [], folder)
    except ImportError as error:  # only the digits need scikit-learn
        print(f"\n{error}")
    print(f"\npictures in {folder}")


if __name__ == "__main__":
    main()
