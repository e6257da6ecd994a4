"""Handwritten digits, classified by a network of 64-32-10 neurons that is written in scalars.

    python demos/digits.py
    python demos/digits.py --splits 5
    python demos/digits.py --eager
    python demos/digits.py --out digits.png

The images come from scikit-learn (`pip install -e ".[demos]"`): 8 x 8 pixels with values from 0 to
16. The network gives a score (logit) to each of the ten digits. It learns with cross-entropy and
Adam on mini-batches of 20 images:

    logits(x) = V max(0, W x + b) + c        loss = -log softmax(logits)[true digit]

It trains on 1,437 of the 1,797 images, chosen at random, and is validated on the rest. --splits
repeats this with other images and other initial weights, to show how much the results vary. The
reference is scikit-learn's own classifier of the same size, with the same images, epochs and
optimizer. Its initial weights are larger, which gives it a lead in the first epochs.

The loss of an image is compiled: it is traced once, and then runs as an array program on each
mini-batch. On a 2-core Intel Xeon, 40 epochs take half a second. With --eager it builds a graph of
7,276 nodes for each image, and 6 epochs of 500 images take about 40 seconds. Ctrl-C ends the
training early and reports what has been learned so far. --out draws the first validation images,
each with its predicted digit. Wrong ones have a frame.
"""

import argparse
import itertools
import math
import random
import sys
import warnings
from collections import Counter

import numpy as np
from matplotlib.figure import Figure

import micrograd
from micrograd import datasets, fit, no_grad, plot
from micrograd.draw.tokens import LIGHT
from micrograd.losses import cross_entropy
from micrograd.nn import Linear, ReLU, Sequential, accuracy
from micrograd.optim import Adam

PIXELS, HIDDEN, DIGITS, BATCH, LR = 64, 32, 10, 20, 0.005
MOST_IMAGES = 1437  # for training: 80 % of all images
ROWS, COLUMNS = 6, 10  # of images in the picture


def images(n_training=MOST_IMAGES, seed=0):
    """Training images and validation images, with pixels from 0 to 1, and their digits."""
    X, y = datasets.digits()
    order = random.Random(seed).sample(range(len(X)), len(X))
    return [(X[part], y[part]) for part in (order[:n_training], order[MOST_IMAGES:])]


def classifier(seed=0, sizes=(PIXELS, HIDDEN, DIGITS)):
    """The network before training; `sizes` are its numbers of inputs, neurons and outputs."""
    random.seed(seed)
    modules = []
    for n_in, n_out in itertools.pairwise(sizes):
        modules += [Linear(n_in, n_out), ReLU()]
    return Sequential(*modules[:-1])


def loss_of(model, compiled=True):
    """The loss of one image, as a function of its pixels and its digit."""

    def loss(x, digit):
        return cross_entropy(model(x), digit)

    return micrograd.compile(loss) if compiled else loss


def eager_logits(model):
    """A function that returns the scores of the ten digits for each image."""
    return no_grad()(lambda X: [model(x) for x in X])


def compiled_logits(model):
    """The same function, as an array program."""
    compiled = micrograd.compile(model)
    return lambda X: compiled(X).lanes.tolist()


def reference_accuracies(training, validation, epochs, seed=0):
    """The accuracies of scikit-learn on both sets."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier([HIDDEN], alpha=0, batch_size=min(BATCH, len(training[0])),
                          learning_rate_init=LR, max_iter=epochs, n_iter_no_change=epochs,
                          random_state=seed)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few epochs are intended
        model.fit(*training)
    return [model.score(*points) for points in (training, validation)]


def arguments():
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--images", type=int, metavar="N", help="training images (1437, with --eager 500)")
    add("--epochs", type=int, metavar="N", help="(40, with --eager 6)")
    add("--splits", type=int, metavar="N", default=1, help="repetitions, with seeds 0, 1, ... (1)")
    add("--eager", action="store_true", help="train without the compiler")
    add("--out", metavar="FILE", help="picture of predictions (none)")
    options = parser.parse_args()
    if options.images is None:
        options.images = 500 if options.eager else MOST_IMAGES
    if options.epochs is None:
        options.epochs = 6 if options.eager else 40
    if not 20 <= options.images <= MOST_IMAGES:
        parser.error(f"expected --images from 20 to {MOST_IMAGES} (the others are for validation), "
                     f"got {options.images}")  # fmt: skip
    for option in ("epochs", "splits"):
        if getattr(options, option) < 1:
            parser.error(f"expected --{option} of at least 1, got {getattr(options, option)}")
    if options.out:
        try:
            plot.check_path(options.out)
        except (ValueError, OSError) as error:
            parser.error(str(error))
    return options


def main():
    """Trains, and prints both accuracies beside the reference, and the confusion matrix."""
    options = arguments()
    predict_of = eager_logits if options.eager else compiled_logits
    batches = options.epochs * math.ceil(options.images / BATCH)

    done = 0
    reached = []  # for each split: our accuracies and the reference's, on both sets
    scores, digits = [], []  # of all validation images
    for seed in range(options.splits):
        try:
            training, validation = images(options.images, seed)
        except ImportError:
            sys.exit('digits.py needs scikit-learn for its images: pip install -e ".[demos]"')
        model = classifier(seed)
        optimizer = Adam(model.parameters(), lr=LR)
        loss = loss_of(model, compiled=not options.eager)
        X, y = training
        losses = fit(loss, X, y, optimizer, steps=batches, batch_size=BATCH, seed=seed)
        done += len(losses)
        predict = predict_of(model)
        logits = [predict(X) for X, _ in (training, validation)]
        found = [accuracy(logits[0], y), accuracy(logits[1], validation[1])]
        epochs = max(1, round(options.epochs * len(losses) / batches))  # after Ctrl-C too
        reached.append((found, reference_accuracies(training, validation, epochs, seed)))
        scores += logits[1]
        digits += validation[1].tolist()
        if len(losses) < batches:
            break

    print(f"{len(model.parameters()):,} parameters, {options.images:,} images, "
          f"mini-batches: {done:,}\n")  # fmt: skip
    print(f"{'accuracy':12}{'micrograd':>12}{'scikit-learn':>14}{'difference':>12}")
    ours, theirs = np.swapaxes(reached, 0, 1)  # each of shape (splits, 2)
    for i, name in enumerate(("training", "validation")):
        print(row(name, ours[:, i].mean(), theirs[:, i].mean()))
    if len(reached) > 1:
        for seed, ((_, here), (_, there)) in enumerate(reached):
            print(row(f"  split {seed}", here, there))

    print("\nValidation: rows are true digits, columns are predicted digits")
    print(f"{'':3}" + "".join(f"{digit:>4}" for digit in range(DIGITS)))
    counts = Counter(zip(digits, np.argmax(scores, axis=1), strict=True))
    for digit in range(DIGITS):
        print(
            f"{digit:3}" + "".join(f"{counts[digit, guess] or '.':>4}" for guess in range(DIGITS))
        )
    if options.out:
        X, y = validation
        plot.save(draw(X, y, logits[1]), options.out)  # of the last split


def row(name, found, reference):
    """A row of the table."""
    return f"{name:12}{found:>12.1%}{reference:>14.1%}{found - reference:>+12.1%}"


def draw(X, y, logits):
    """The figure: the first images, each with the predicted digit; wrong ones have a frame."""
    predicted = np.argmax(logits, axis=1)
    rows = min(ROWS, math.ceil(len(X) / COLUMNS))
    side = math.isqrt(X.shape[1])
    figure = Figure(figsize=(COLUMNS * 0.85, rows * 1.05 + 0.5), layout="constrained")
    figure.suptitle(
        f"Predicted digits: {np.mean(predicted == y):.1%} of {len(X):,} images right; "
        "wrong ones have a frame", color=LIGHT["ink"], fontsize="medium",
    )  # fmt: skip
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    for ax, pixels, true, digit in zip(axes, X, y, predicted, strict=False):
        ax.imshow(pixels.reshape(side, side), cmap="Greys", vmin=0, vmax=1)
        if digit == true:
            ax.set_title(digit, color=LIGHT["faint"])
        else:
            ax.set_title(f"{digit}, not {true}", color=LIGHT["ink"], weight="bold")
            ax.spines[:].set(visible=True, color=LIGHT["wrong"], linewidth=3)
    return figure


if __name__ == "__main__":
    main()
