"""Trains a small network to tell classes of points apart, and draws what it has learned.

    python demos/decision_boundary.py
    python demos/decision_boundary.py --data circles --noise 0.05 --hidden 4 --out circles.svg
    python demos/decision_boundary.py --data points.csv
    python demos/decision_boundary.py --data spirals --animate spirals.html

A CSV file has a row x1,x2,label for each point; a header is optional. Ctrl-C ends the training
early and draws what has been learned so far. --animate also records the training, step by step, as
a GIF or as a page with a slider for any browser.

The loss is compiled: it is traced once, for one point, and then runs as an array program on all
points. On a 2-core Intel Xeon, 100 steps take 0.03 seconds. The whole command, including the import
of Matplotlib and the drawing, takes 0.9 seconds. With --eager the loss runs number by number: the
losses are the same, but it takes about 8 seconds.
"""

import argparse
import random
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import micrograd
from micrograd import plot
from micrograd.datasets import Points, blobs, circles, moons, read_csv, spirals
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy
from micrograd.nn import ACTIVATIONS, MLP, Module, Sequential, accuracy
from micrograd.optim import AdamW, Optimizer
from micrograd.plot.figure import MARKERS

Backward = Callable[[], tuple[float, list[Any]]]  # the loss, and the logits of each point
DATASETS: dict[str, Callable[..., Points]] = {  # the last two have three classes
    "moons": moons,
    "circles": circles,
    "blobs": partial(blobs, noise=0.3),
    "spirals": partial(spirals, noise=0.03, classes=3, turns=0.7),
}


def main() -> None:
    """Reads the arguments, trains, and draws."""
    options, parser = arguments()
    try:  # report wrong arguments before training
        if options.steps < 0:
            raise ValueError(f"expected --steps of at least 0, got {options.steps}")
        if options.animate:
            plot.check_path(options.animate, ["gif", "html"])
            if Path(options.animate).resolve() == Path(options.out).resolve():
                raise ValueError("--out and --animate name the same file: give them two")
        plot.check_path(options.out)
        X, y, names = load(options.data, options.points, options.noise, options.seed)
        random.seed(options.seed)
        outputs = 1 if len(names) == 2 else len(names)
        network = MLP(2, [*options.hidden, outputs], activation=options.activation)
        optimizer = AdamW(network.parameters(), lr=options.lr, weight_decay=0.1)
    except (ValueError, OSError) as error:
        parser.error(str(error))

    # Networks learn best if the inputs have a mean of 0 and a standard deviation of 1.
    means = [statistics.fmean(column) for column in zip(*X, strict=True)]
    spreads = [statistics.pstdev(column) or 1.0 for column in zip(*X, strict=True)]

    def standardized(point: Any) -> list[Any]:
        return [(x - m) / s for x, m, s in zip(point, means, spreads, strict=True)]

    model = Sequential(standardized, network)
    try:
        history = plot.animate(model, X, y, names=names) if options.animate else None
        backward = (eager_backward if options.eager else compiled_backward)(model, X, y)
        losses = train(optimizer, backward, y, options.steps, history)
        optimizer.zero_grad()
        loss, logits = backward()
        predict = model if options.eager else micrograd.compile(model)
        figure = plot.training_figure(predict, X, y, losses, names=names, dark=options.dark)
        plot.save(figure, options.out)
        if history:
            history.record(loss)
            history.save(options.animate, dark=options.dark)
            print(f"animation in {options.animate}")
    except (ValueError, ArithmeticError, OSError) as error:
        sys.exit(f"no picture: {error}")
    print(f"accuracy {accuracy(logits, y):.1%} on {len(X)} points, picture in {options.out}")


def loss_and_logits(model: Module, point: Any, label: Any) -> list[Any]:
    """A list of the loss at one point and its logits."""
    logits = model(point)
    if hasattr(logits, "__len__"):
        return [cross_entropy(logits, label), *logits]
    return [binary_cross_entropy_with_logits(logits, label), logits]


def eager_backward(model: Module, X: list[list[float]], y: list[int]) -> Backward:
    """A function that adds the gradients of the mean loss to the parameters.

    It returns the loss, and the list of logits of each point.
    """

    def backward() -> tuple[float, list[Any]]:
        results = [loss_and_logits(model, point, label) for point, label in zip(X, y, strict=True)]
        loss = sum(loss for loss, *_ in results) / len(X)
        loss.backward()
        return loss.data, [logits for _, *logits in results]

    return backward


def compiled_backward(model: Module, X: list[list[float]], y: list[int]) -> Backward:
    """The same function, as an array program."""
    points, labels = np.array(X), np.array(y)

    @micrograd.compile
    def results(point: Any, label: Any) -> list[Any]:
        return loss_and_logits(model, point, label)

    def backward() -> tuple[float, list[Any]]:
        batch = results(points, labels)
        loss = batch[0]
        loss.backward()
        return loss.data, batch.lanes[:, 1:].tolist()

    return backward


def train(
    optimizer: Optimizer,
    backward: Backward,
    y: list[int],
    steps: int,
    history: plot.History | None = None,
) -> list[float]:
    """Trains for some steps; returns the loss before each step."""
    losses: list[float] = []
    try:
        for _ in (bar := tqdm(range(steps), unit="step")):
            optimizer.zero_grad()
            loss, logits = backward()
            if history:
                history.record(loss)
            optimizer.step()
            losses.append(loss)
            shown = f"loss {loss:.4f}, accuracy {accuracy(logits, y):.1%}"
            bar.set_postfix_str(shown, refresh=False)  # redrawing takes longer than a step
    except KeyboardInterrupt:
        print(f"\nstopped after {len(losses)} steps", file=sys.stderr)
    return losses


def load(
    data: str, n: int | None, noise: float | None, seed: int
) -> tuple[list[list[float]], list[int], list[str]]:
    """The points, their labels 0, 1, ..., and the names of the classes."""
    if data in DATASETS:
        given = {} if noise is None else {"noise": noise}
        X, y = DATASETS[data](100 if n is None else n, seed=seed, **given)
        return X, y, [str(label) for label in sorted(set(y))]
    if not data.lower().endswith(".csv"):
        raise ValueError(f"--data expects {', '.join(DATASETS)} or a .csv file, got {data!r}")
    if n is not None or noise is not None:
        raise ValueError("--points and --noise do not apply to a file: leave them out")
    X, y, names = read_csv(data)
    if len(X[0]) != 2:
        raise ValueError(f"{data}: expected x1,x2,label, got {len(X[0])} numbers in a row")
    if len(names) > len(MARKERS):
        shown = ", ".join(names[:9])
        raise ValueError(f"{data}: expected at most {len(MARKERS)} classes, one for each colour of "
                         f"the picture, got {len(names)}: {shown}, ...")  # fmt: skip
    return X, y, names


def arguments() -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    """The options of the command line, and the parser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", default="moons", help=f"{', '.join(DATASETS)} or FILE.csv (default: moons)")
    add("--points", type=int, metavar="N", help="number of points to generate (100)")
    add("--noise", type=float, metavar="SD", help="standard deviation of their noise")
    add("--hidden", type=int, nargs="*", default=[8, 8], metavar="N", help="layer widths (8 8)")
    add("--activation", choices=ACTIVATIONS, default="tanh", help="of the hidden layers (tanh)")
    add("--steps", type=int, default=100, metavar="N", help="training steps (100)")
    add("--lr", type=float, default=0.1, help="learning rate of AdamW (0.1)")
    add("--seed", type=int, default=0, help="seed for points and weights (0)")
    add("--out", default="decision_boundary.png", metavar="FILE", help="(decision_boundary.png)")
    add("--animate", metavar="FILE", help="also record the training, as FILE.gif or FILE.html")
    add("--dark", action="store_true", help="draw pictures on a dark ground")
    add("--eager", action="store_true", help="train without the compiler")
    return parser.parse_args(), parser


if __name__ == "__main__":
    main()
