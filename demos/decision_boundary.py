"""Trains a small network to tell two classes of points apart, and draws what it has learned.

    python demos/decision_boundary.py
    python demos/decision_boundary.py --data circles --noise 0.05 --hidden 4 --out circles.svg
    python demos/decision_boundary.py --data points.csv

A CSV file has a row x1,x2,label for each point; a header is optional. Ctrl-C ends the training
early and draws what has been learned so far. As it stands it takes some 5 seconds.
"""

import argparse
import random
import statistics
import sys

from tqdm import tqdm

from micrograd import no_grad, plot
from micrograd.datasets import circles, moons, read_csv
from micrograd.losses import binary_cross_entropy
from micrograd.nn import ACTIVATIONS, MLP, accuracy
from micrograd.optim import AdamW

DATASETS = {"moons": moons, "circles": circles}


def main():
    """Reads the arguments, trains, draws."""
    options, parser = arguments()
    try:  # whatever is wrong with the arguments is said before training
        if options.steps < 0:
            raise ValueError(f"--steps is at least 0, got {options.steps}")
        plot.check_path(options.out)
        X, y, names = load(options.data, options.points, options.noise, options.seed)
        random.seed(options.seed)
        network = MLP(2, [*options.hidden, 1], activation=options.activation)
        optimizer = AdamW(network.parameters(), lr=options.lr, weight_decay=0.1)
    except (ValueError, OSError) as error:
        parser.error(str(error))

    # Networks learn best from inputs around 0 with a spread of about 1, whatever the data's units.
    means = [statistics.fmean(column) for column in zip(*X, strict=True)]
    spreads = [statistics.pstdev(column) or 1.0 for column in zip(*X, strict=True)]

    def model(point):
        return network([(x - m) / s for x, m, s in zip(point, means, spreads, strict=True)])

    try:
        losses = train(model, optimizer, X, y, options.steps)
        with no_grad():
            reached = accuracy([model(point) for point in X], y)
        plot.save(plot.training_figure(model, X, y, losses, names=names), options.out)
    except (ValueError, ArithmeticError, OSError) as error:
        sys.exit(f"no picture: {error}")
    print(f"accuracy {reached:.1%} on {len(X)} points, picture in {options.out}")


def train(model, optimizer, X, y, steps):
    """Steps downhill on the mean loss over all points; the loss before each of them."""
    losses = []
    try:
        for _ in (bar := tqdm(range(steps), unit="step")):
            logits = [model(point) for point in X]
            loss = sum(map(binary_cross_entropy, logits, y)) / len(X)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.data)
            bar.set_postfix_str(f"loss {loss:.4f}, accuracy {accuracy(logits, y):.1%}")
    except KeyboardInterrupt:
        print(f"\nstopped after {len(losses)} steps", file=sys.stderr)
    return losses


def load(data, n, noise, seed):
    """Points, labels 0 or 1, and the names of the two classes."""
    if data in DATASETS:
        made = DATASETS[data](100 if n is None else n, 0.1 if noise is None else noise, seed)
        return *made, ["0", "1"]
    if not data.lower().endswith(".csv"):
        raise ValueError(f"--data expects {', '.join(DATASETS)} or a file .csv, got {data!r}")
    if n is not None or noise is not None:
        raise ValueError("--points and --noise are for points that are made, not for a file")
    X, y, names = read_csv(data)
    if len(names) > 2:
        raise ValueError(f"{data}: expected two classes, got {len(names)}: {', '.join(names[:9])}")
    return X, y, names


def arguments():
    """What the command line says, and its parser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", default="moons", help="moons, circles or FILE.csv (default: moons)")
    add("--points", type=int, metavar="N", help="number of points to make (100)")
    add("--noise", type=float, metavar="SD", help="standard deviation of their noise (0.1)")
    add("--hidden", type=int, nargs="*", default=[8, 8], metavar="N", help="layer widths (8 8)")
    add("--activation", choices=ACTIVATIONS, default="tanh", help="of the hidden layers (tanh)")
    add("--steps", type=int, default=60, metavar="N", help="steps of training (60)")
    add("--lr", type=float, default=0.1, help="learning rate of AdamW (0.1)")
    add("--seed", type=int, default=0, help="another one: other points and weights (0)")
    add("--out", default="decision_boundary.png", metavar="FILE", help="(decision_boundary.png)")
    return parser.parse_args(), parser


if __name__ == "__main__":
    main()
