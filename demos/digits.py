"""Handwritten digits, told apart by a network of 64-32-10 neurons, one scalar at a time.

The images are scikit-learn's, 8 x 8 pixels from 0 to 16; `pip install -e ".[demos]"` installs it.
The network gives a score (logit) for each of the ten digits, and learns by cross-entropy on
mini-batches of 20 images with Adam:

    logits(x) = V max(0, W x + b) + c        loss = -log softmax(logits)[true digit]

Each image takes 7,276 nodes, so that eager mode manages only a part of the 1,797 images: 500
to train on and 300 to validate. The reference is scikit-learn's own classifier of the same size,
with the same images, epochs and optimizer, from other initial weights; a difference of some percent
is luck. Takes some 40 seconds; Ctrl-C ends the training early and reports what has been learned so
far.
"""

import argparse
import random
import sys
import warnings

from tqdm import tqdm

from micrograd import Value, no_grad
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


def images(n_training, n_validation, seed=0):
    """Two sets of images, pixels from 0 to 1, with their digits: to train on and to validate."""
    X, y = load_digits(return_X_y=True)
    order = random.Random(seed).sample(range(len(X)), n_training + n_validation)
    X, y = (X[order] / 16).tolist(), y[order].tolist()
    return (X[:n_training], y[:n_training]), (X[n_training:], y[n_training:])


def classifier(seed=0):
    """The network before training."""
    random.seed(seed)
    return Sequential(Linear(PIXELS, HIDDEN), Activation("relu"), Linear(HIDDEN, DIGITS))


def logits_of(model, x):
    """The scores of the ten digits for an image."""
    return model([Value(pixel) for pixel in x])  # else a pixel is a node for each weight it meets


def eager_backward(model, X, y):
    """Adds the gradients of the mean loss of a mini-batch to the parameters; the mean loss.

    An image at a time, so that there is never more than the graph of one. Whatever else leaves the
    same gradients, such as a compiled function over the whole batch, may take its place in `train`.
    """
    total = 0.0
    for x, digit in zip(X, y, strict=True):
        loss = cross_entropy(logits_of(model, x), digit) / len(X)
        loss.backward()
        total += loss.data
    return total


def train(model, X, y, epochs, backward=eager_backward):
    """Trains the network; the mean loss of each mini-batch, fewer after Ctrl-C."""
    optimizer = Adam(model.parameters(), lr=LR)
    rng = random.Random(0)
    losses = []
    starts = range(0, len(X), BATCH)
    try:
        with tqdm(total=epochs * len(starts), unit="batch") as bar:
            for _ in range(epochs):
                order = rng.sample(range(len(X)), len(X))
                for start in starts:
                    batch = order[start : start + BATCH]
                    optimizer.zero_grad()
                    loss = backward(model, [X[i] for i in batch], [y[i] for i in batch])
                    optimizer.step()
                    losses.append(loss)
                    bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
                    bar.update()
    except KeyboardInterrupt:
        print(f"\nstopped after {len(losses)} mini-batches", file=sys.stderr)
    return losses


def reference_accuracies(training, validation, epochs):
    """What scikit-learn reaches on both sets."""
    model = MLPClassifier([HIDDEN], alpha=0, batch_size=min(BATCH, len(training[0])),
                          learning_rate_init=LR, max_iter=epochs, random_state=0)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few epochs are what is asked for
        model.fit(*training)
    return [model.score(*points) for points in (training, validation)]


def main():
    """Trains, prints both accuracies beside the reference, and what is taken for what."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=500, metavar="N", help="to train on (500)")
    parser.add_argument("--epochs", type=int, default=6, metavar="N", help="(6)")
    options = parser.parse_args()
    if not 20 <= options.images <= 1497 or options.epochs < 1:
        parser.error("--images is from 20 to 1497 (300 validate), --epochs at least 1")

    training, validation = images(options.images, 300)
    model = classifier()
    losses = train(model, *training, options.epochs)
    epochs = max(1, round(len(losses) * BATCH / options.images))  # after Ctrl-C too
    with no_grad():
        scores = [[logits_of(model, x) for x in X] for X, _ in (training, validation)]

    print(f"{len(model.parameters()):,} parameters, {options.images} images, "
          f"mini-batches: {len(losses)}\n")  # fmt: skip
    print(f"{'accuracy':12}{'micrograd':>12}{'scikit-learn':>14}{'difference':>12}")
    for name, z, (_, y), reference in zip(
        ("training", "validation"), scores, (training, validation),
        reference_accuracies(training, validation, epochs), strict=True,
    ):  # fmt: skip
        found = accuracy(z, y)
        print(f"{name:12}{found:>12.1%}{reference:>14.1%}{found - reference:>+12.1%}")

    print("\nValidation: rows are the true digits, columns what they are taken for")
    print(f"{'':3}" + "".join(f"{digit:>4}" for digit in range(DIGITS)))
    for digit, row in enumerate(confusion(scores[1], validation[1], classes=DIGITS)):
        print(f"{digit:3}" + "".join(f"{count or '.':>4}" for count in row))


if __name__ == "__main__":
    main()
