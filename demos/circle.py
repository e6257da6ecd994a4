"""The circle, and how many hidden neurons it takes to enclose it.

Points of the square [-1.5, 1.5]^2 are of class 1 inside the circle of radius 1. Networks with one
hidden layer of 1 to 9 tanh neurons learn to tell, from 300 points, and are validated on 300 others:

    logit(x) = v1 tanh(w1 . x + b1) + ... + vh tanh(wh . x + bh) + c        loss: cross-entropy

One neuron draws a straight line, two draw a strip or a bend, and from three on a boundary can
close. The reference for h neurons is what h straight lines could do, as a share of the square:

    h = 1    nothing is inside               1 - pi / 9
    h = 2    the strip |x1| < t              4 sqrt(1 - t^2) = 3
    h > 2    a regular polygon of inradius r      r tan(pi / h) = 2 sqrt(1 - r^2)

with t and r such that a line, moved a little, gains as much as it loses. Networks may do better, as
tanh bends, or worse, as they see only some points. Takes some 25 seconds; Ctrl-C ends the training
early and draws what has been learned so far. The picture has every network's boundary after epochs
1, 2, 4, 8, ... (thin) and the last (thick), and the loss and accuracy of every epoch.
"""

import argparse
import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from tqdm import tqdm

from micrograd import no_grad, plot
from micrograd.datasets import split
from micrograd.losses import binary_cross_entropy
from micrograd.nn import MLP, accuracy
from micrograd.optim import Adam, cosine

SIDE, BATCH, LR = 3.0, 10, 0.1
CURVES = ("training loss", "validation loss", "training accuracy", "validation accuracy")


@dataclass
class Run:
    """A network on its way: after each epoch its weights and the four numbers in CURVES."""

    hidden: int
    model: MLP
    weights: list = field(default_factory=list)
    curves: list = field(default_factory=list)


def circle(n, seed=0):
    """Points spread evenly over the square, and whether each is inside the circle."""
    rng = random.Random(seed)
    X = [[rng.uniform(-SIDE / 2, SIDE / 2) for _ in range(2)] for _ in range(n)]
    return X, [int(math.hypot(*x) < 1) for x in X]


def network(hidden):
    """The network of so many hidden neurons before training."""
    return MLP(2, [hidden, 1], activation="tanh")


def loss_and_accuracy(model, X, y):
    """The mean loss over some points, and the share of points on the right side."""
    with no_grad():
        logits = [model(x) for x in X]
        loss = sum(map(binary_cross_entropy, logits, y)) / len(X)
    return loss.data, accuracy(logits, y)


def train(run, training, validation, epochs):
    """Trains a network, an epoch at a time, and takes notes; yields the loss after each."""
    X, y = training
    optimizer = Adam(run.model.parameters())
    schedule = cosine(LR, 0.0, steps=epochs)
    for epoch in range(epochs):
        optimizer.lr = schedule(epoch)
        for start in range(0, len(X), BATCH):
            batch = slice(start, start + BATCH)
            logits = [run.model(x) for x in X[batch]]
            loss = sum(map(binary_cross_entropy, logits, y[batch])) / len(logits)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        (loss, right), (loss_there, right_there) = (
            loss_and_accuracy(run.model, *points) for points in (training, validation)
        )
        run.weights.append(run.model.state_dict())
        run.curves.append((loss, loss_there, right, right_there))
        yield loss


def train_all(training, validation, largest, epochs):
    """The runs of 1, 2, ... hidden neurons; fewer, or shorter, after Ctrl-C."""
    runs = []
    try:
        with tqdm(total=largest * epochs, unit="epoch") as bar:
            for hidden in range(1, largest + 1):
                random.seed(hidden)
                runs.append(Run(hidden, network(hidden)))
                for loss in train(runs[-1], training, validation, epochs):
                    bar.set_postfix_str(f"{hidden} hidden, loss {loss:.3f}", refresh=False)
                    bar.update()
    except KeyboardInterrupt:
        print("\nstopped early", file=sys.stderr)
    return [run for run in runs if run.curves]


def straight_line_accuracy(lines):
    """The share of the square on the right side of so many well-placed straight lines."""

    def cap(r):  # what a line at distance r from the centre cuts off from the circle
        return math.acos(r) - r * math.sqrt(1 - r * r)

    if lines == 1:
        wrong = math.pi
    elif lines == 2:
        t = math.sqrt(1 - (SIDE / 4) ** 2)
        wrong = 2 * t * SIDE - math.pi + 4 * cap(t)
    else:
        slant = math.tan(math.pi / lines)
        r = 2 / math.sqrt(4 + slant**2)
        wrong = lines * r * r * slant - math.pi + 2 * lines * cap(r)
    return 1 - wrong / SIDE**2


def boundary_logits(run, epoch, resolution=40):
    """The coordinates of a grid and the logits on it, with the weights after an epoch."""
    model = network(run.hidden)
    model.load_state_dict(run.weights[epoch])
    axis = np.linspace(-SIDE / 2, SIDE / 2, resolution)
    with no_grad():
        return axis, np.array([[model([x1, x2]).data for x1 in axis] for x2 in axis])


def draw(runs, X, y):
    """The figure: boundaries of all networks, and the four curves of each."""
    rows = math.ceil(len(runs) / 3)
    figure = Figure(figsize=(11.5, 0.6 + 2.05 * max(rows, 2)), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.05])
    panels = left.subplots(rows, 3, squeeze=False).ravel()
    for ax in panels[len(runs) :]:
        ax.set_axis_off()
    for ax, run in zip(panels, runs, strict=False):
        draw_boundaries(ax, run, X, y)

    colours = colormaps["viridis_r"].resampled(len(runs) + 1)
    for ax, column, name in zip(right.subplots(2, 2).ravel(), range(4), CURVES, strict=True):
        for run in runs:
            numbers = [curve[column] for curve in run.curves]
            epochs = range(1, len(numbers) + 1)
            ax.plot(epochs, numbers, color=colours(run.hidden), linewidth=1.3, label=run.hidden)
        ax.set_title(name, fontsize="medium")
        ax.set_xlabel("epoch")
        ax.set_ylim((0, None) if column < 2 else (None, 1.005))
        ax.spines[["top", "right"]].set_visible(False)
    left.suptitle("boundary after 1, 2, 4, 8, ... epochs (thin) and the last", fontsize="medium")
    right.legend(
        handles=ax.get_lines(), loc="outside upper center", ncols=len(runs) + 1, frameon=False,
        title="hidden neurons", handlelength=1.2, columnspacing=1.2,
    )  # fmt: skip
    return figure


def draw_boundaries(ax, run, X, y):
    """One network: the points, the circle, and the boundary after some epochs."""
    last = len(run.weights) - 1
    shown = [2**k - 1 for k in range(20) if 2**k - 1 < last]
    for i, epoch in enumerate([*shown, last]):
        axis, logits = boundary_logits(run, epoch)
        if epoch == last:
            ax.contourf(axis, axis, logits, [-1e9, 0, 1e9], colors=["#DCE9F3", "#FCEBC8"], zorder=0)
        if logits.min() < 0 < logits.max():
            grey = 0.75 - 0.5 * i / max(1, len(shown))
            colour, width = ("#222222", 1.8) if epoch == last else (str(grey), 0.7)
            ax.contour(axis, axis, logits, [0], colors=[colour], linewidths=width)
    for label, colour, marker in ((0, "#0072B2", "o"), (1, "#C77C00", "^")):
        points = np.array([x for x, k in zip(X, y, strict=True) if k == label])
        ax.scatter(*points.T, 4, color=colour, marker=marker, linewidths=0)
    angle = np.linspace(0, 2 * np.pi, 100)
    ax.plot(np.cos(angle), np.sin(angle), color="#222222", linewidth=0.8, linestyle=":")
    ax.set(xticks=[], yticks=[], xlim=(-SIDE / 2, SIDE / 2), ylim=(-SIDE / 2, SIDE / 2))
    ax.set_aspect("equal")
    ax.set_title(f"{run.hidden} hidden, {run.curves[-1][3]:.1%} right", fontsize="medium")
    ax.spines[:].set_color("#999999")


def main():
    """Trains, prints the table and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--points", type=int, default=600, metavar="N", help="half of them to train on (600)")
    add("--epochs", type=int, default=40, metavar="N", help="(40)")
    add("--largest", type=int, default=9, metavar="H", help="networks of 1 to H neurons (9)")
    add("--out", default="circle.png", metavar="FILE", help="(circle.png)")
    options = parser.parse_args()
    if options.points < 20 or options.epochs < 1 or options.largest < 1:
        parser.error("--points is at least 20, --epochs and --largest at least 1")
    try:
        plot.check_path(options.out)
    except (ValueError, OSError) as error:
        parser.error(str(error))

    training, validation = split(*circle(options.points), validation=0.5)
    runs = train_all(training, validation, options.largest, options.epochs)
    if not runs:
        sys.exit("circle.py: stopped before the first epoch was over, nothing to draw")

    print(f"{'':8}{'loss':^22}{'accuracy':^44}")
    print(f"{'hidden':8}{'training':>11}{'validation':>11}{'training':>11}{'validation':>11}"
          f"{'lines':>10}{'difference':>12}")  # fmt: skip
    for run in runs:
        *losses, right, right_there = run.curves[-1]
        reference = straight_line_accuracy(run.hidden)
        print(f"{run.hidden:<8}" + "".join(f"{loss:>11.3f}" for loss in losses)
              + f"{right:>11.1%}{right_there:>11.1%}{reference:>10.1%}"
              f"{right_there - reference:>+12.1%}")  # fmt: skip
    plot.save(draw(runs, *training), options.out)
    print(f"\npicture in {options.out}")


if __name__ == "__main__":
    main()
