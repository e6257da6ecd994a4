"""Handwritten digits, told apart by a network of 64-32-10 neurons, written one scalar at a time.

    python demos/digits.py
    python demos/digits.py --splits 5
    python demos/digits.py --eager

The images are scikit-learn's, 8 x 8 pixels from 0 to 16; `pip install -e ".[demos]"` installs it.
The network gives a score (logit) for each of the ten digits, and learns by cross-entropy on
mini-batches of 20 images with Adam:

    logits(x) = V max(0, W x + b) + c        loss = -log softmax(logits)[true digit]

It trains on 1,437 of the 1,797 images, drawn at random, and is validated on the rest; --splits
repeats it from other draws and other initial weights, to see how much is luck. The reference is
scikit-learn's own classifier of the same size, with the same images, epochs and optimizer; its
initial weights are larger, which gives it a lead in the first epochs.

The loss of an image is compiled: traced once, then run as an array program over each mini-batch. On
a 2-core Intel Xeon 40 epochs take half a second. With --eager it runs as it is written, as a graph
of 7,276 nodes for each image, and some 40 seconds are enough for 6 epochs of 500 images. Ctrl-C
ends the training early and reports what has been learned so far.
"""

import argparse
import random
import sys
import warnings

import numpy as np
from tqdm import tqdm

import micrograd
from micrograd import no_grad
from micrograd.losses import cross_entropy
from micrograd.nn import Activation, Linear, Sequential, accuracy, confusion
from micrograd.optim import Adam

try:
    from sklearn.datasets import load_digits
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
except ImportError:
    sys.exit('digits.py needs scikit-learn for its images: pip install -e ".[demos]"')

PIXELS, HIDDEN, DIGITS, BATCH, LR = 64, 32, 10, 20, 0.005
MOST_IMAGES = 1437  # to train on: 80 % of them


def images(n_training=MOST_IMAGES, seed=0):
    """Two sets of images, pixels from 0 to 1, with their digits: to train on and to validate."""
    X, y = load_digits(return_X_y=True)
    order = random.Random(seed).sample(range(len(X)), len(X))
    return [(X[part] / 16, y[part]) for part in (order[:n_training], order[MOST_IMAGES:])]


def classifier(seed=0):
    """The network before training."""
    random.seed(seed)
    return Sequential(Linear(PIXELS, HIDDEN), Activation("relu"), Linear(HIDDEN, DIGITS))


def eager_backward(model):
    """A function that adds the gradients of a mini-batch's mean loss to the parameters; that loss.

    It takes an image at a time, so that there is never more than the graph of one.
    """

    def backward(X, y):
        total = 0.0
        for x, digit in zip(X, y, strict=True):
            loss = cross_entropy(model(x), digit) / len(X)
            loss.backward()
            total += loss.data
        return total

    return backward


def compiled_backward(model):
    """The same, as an array program over the whole mini-batch."""

    @micrograd.compile
    def loss(x, digit):
        return cross_entropy(model(x), digit)

    def backward(X, y):
        batch = loss(X, y)
        batch.backward()
        return batch.data

    return backward


def train(model, X, y, epochs, backward, seed=0):
    """Trains the network; the mean loss of each mini-batch, fewer after Ctrl-C."""
    optimizer = Adam(model.parameters(), lr=LR)
    rng = random.Random(seed)
    losses = []
    starts = range(0, len(X), BATCH)
    try:
        with tqdm(total=epochs * len(starts), unit="batch") as bar:
            for _ in range(epochs):
                order = rng.sample(range(len(X)), len(X))
                for start in starts:
                    batch = order[start : start + BATCH]
                    optimizer.zero_grad()
                    loss = backward(X[batch], y[batch])
                    optimizer.step()
                    losses.append(loss)
                    bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
                    bar.update()
    except KeyboardInterrupt:
        print(f"\nstopped after {len(losses)} mini-batches", file=sys.stderr)
    return losses


def eager_logits(model):
    """A function of images that gives the scores of the ten digits for each."""
    return no_grad()(lambda X: [model(x) for x in X])


def compiled_logits(model):
    """The same, as an array program."""
    compiled = micrograd.compile(model)
    return lambda X: compiled(X).lanes.tolist()


def reference_accuracies(training, validation, epochs, seed=0):
    """What scikit-learn reaches on both sets."""
    model = MLPClassifier([HIDDEN], alpha=0, batch_size=min(BATCH, len(training[0])),
                          learning_rate_init=LR, max_iter=epochs, n_iter_no_change=epochs,
                          random_state=seed)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few epochs are what is asked for
        model.fit(*training)
    return [model.score(*points) for points in (training, validation)]


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--images", type=int, metavar="N", help="to train on (1437, with --eager 500)")
    add("--epochs", type=int, metavar="N", help="(40, with --eager 6)")
    add("--splits", type=int, default=1, metavar="N", help="times to do it, seeded 0, 1, ... (1)")
    add("--eager", action="store_true", help="without the compiler")
    options = parser.parse_args()
    if options.images is None:
        options.images = 500 if options.eager else MOST_IMAGES
    if options.epochs is None:
        options.epochs = 6 if options.eager else 40
    if not 20 <= options.images <= MOST_IMAGES:
        parser.error(f"--images is from 20 to {MOST_IMAGES}, the others validate, "
                     f"got {options.images}")  # fmt: skip
    for option in ("epochs", "splits"):
        if getattr(options, option) < 1:
            parser.error(f"--{option} is at least 1, got {getattr(options, option)}")
    return options


def main():
    """Trains, prints both accuracies beside the reference, and what is taken for what."""
    options = arguments()
    backward_of = eager_backward if options.eager else compiled_backward
    predict_of = eager_logits if options.eager else compiled_logits
    batches = options.epochs * -(-options.images // BATCH)

    done = 0
    reached = []  # for each split: ours and the reference's, each on both sets
    scores, digits = [], []  # of all images that validate
    for seed in range(options.splits):
        sets = images(options.images, seed)
        model = classifier(seed)
        losses = train(model, *sets[0], options.epochs, backward_of(model), seed)
        done += len(losses)
        predict = predict_of(model)
        logits = [predict(X) for X, _ in sets]
        found = [accuracy(z, y) for z, (_, y) in zip(logits, sets, strict=True)]
        epochs = max(1, round(options.epochs * len(losses) / batches))  # after Ctrl-C too
        reached.append((found, reference_accuracies(*sets, epochs, seed)))
        scores += logits[1]
        digits += sets[1][1].tolist()
        if len(losses) < batches:
            break

    print(f"{len(model.parameters()):,} parameters, {options.images:,} images, "
          f"mini-batches: {done:,}\n")  # fmt: skip
    print(f"{'accuracy':12}{'micrograd':>12}{'scikit-learn':>14}{'difference':>12}")
    ours, theirs = np.swapaxes(reached, 0, 1)  # each of shape (splits, 2)
    for i, name in enumerate(("training", "validation")):
        print(row(name, ours[:, i].mean(), theirs[:, i].mean()))
    if len(reached) > 1:
        for seed, ((_, found), (_, reference)) in enumerate(reached):
            print(row(f"  split {seed}", found, reference))

    print("\nValidation: rows are the true digits, columns what they are taken for")
    print(f"{'':3}" + "".join(f"{digit:>4}" for digit in range(DIGITS)))
    for digit, counts in enumerate(confusion(scores, digits, classes=DIGITS)):
        print(f"{digit:3}" + "".join(f"{count or '.':>4}" for count in counts))


def row(name, found, reference):
    """A line of the table."""
    return f"{name:12}{found:>12.1%}{reference:>14.1%}{found - reference:>+12.1%}"


if __name__ == "__main__":
    main()
