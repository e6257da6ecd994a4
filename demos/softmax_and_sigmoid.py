"""One layer of neurons with cross-entropy: the gradient with respect to the logits is p - y.

A layer computes logits z = W x + b. To choose one of several classes, softmax turns the logits into
probabilities. For separate yes-or-no questions, the sigmoid turns each logit into a probability.
The loss is minus the log probability of the truth (y is 1 for the true class and 0 for the others):

    softmax   p_k = e^z_k / sum_j e^z_j      L = -sum_k y_k log p_k
    sigmoid   p   = 1 / (1 + e^-z)           L = -y log p - (1 - y) log(1 - p)

In both cases all fractions cancel. For a batch of N points (X is N x inputs)

    dL/dz = (p - y) / N          dL/dW = (p - y)^T X / N          dL/db = sum of (p - y) / N

The engine gets only the losses. NumPy computes the right sides. Takes less than a second.
"""

import random

import numpy as np

from micrograd import Value
from micrograd.arrays import data_of, grad_of
from micrograd.datasets import blobs
from micrograd.losses import binary_cross_entropy, cross_entropy
from micrograd.nn import Linear


def softmax(Z):
    """The probabilities of the classes, one point in each row."""
    e = np.exp(Z - Z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def sigmoid(Z):
    """The probabilities of yes."""
    return 1 / (1 + np.exp(-Z))


def by_engine(layer, X, loss_of_point):
    """The logits of all points, and the gradients of the mean loss with respect to z, W and b."""
    logits = [layer(x) for x in X]
    loss = sum(loss_of_point(z, i) for i, z in enumerate(logits)) / len(X)
    layer.zero_grad()
    loss.backward()
    return data_of(logits), {
        "z": grad_of(logits),
        "W": grad_of(layer.weight),
        "b": grad_of(layer.bias),
    }


def by_hand(P, Y, X):
    """The same gradients from p - y."""
    error = (P - Y) / len(X)
    return {"z": error, "W": error.T @ X, "b": error.sum(axis=0)}


def softmax_gradients(n=6, classes=3):
    """The gradients of softmax with cross-entropy, by the engine and by hand."""
    X, labels = blobs(n, classes=classes)
    random.seed(0)
    layer = Linear(2, classes)
    Z, engine = by_engine(layer, X, lambda z, i: cross_entropy(z, labels[i]))
    return engine, by_hand(softmax(Z), np.eye(classes)[labels], np.array(X))


def sigmoid_gradients(n=6, neurons=2):
    """The gradients of sigmoids with cross-entropy, by the engine and by hand.

    Each neuron of the layer answers one question: is it class 0, is it class 1?
    """
    X, labels = blobs(n)
    Y = np.eye(3)[labels][:, :neurons]
    random.seed(0)
    layer = Linear(2, neurons)
    Z, engine = by_engine(layer, X, lambda z, i: sum(map(binary_cross_entropy, z, Y[i])))
    return engine, by_hand(sigmoid(Z), Y, np.array(X))


def far_out():
    """The gradients for logits of +-1000, where the formulas above would overflow."""
    z, zs = Value(1000.0), [Value(1000.0), Value(-1000.0)]
    binary_cross_entropy(z, 0).backward()
    cross_entropy(zs, 1).backward()
    first, second = (softmax(data_of([zs])) - [0, 1])[0]
    return [
        ("sigmoid, z = 1000, y = 0", z.grad, sigmoid(z.data) - 0),
        ("softmax, z_1 = 1000, y_1 = 0", zs[0].grad, first),
        ("softmax, z_2 = -1000, y_2 = 1", zs[1].grad, second),
    ]


def largest_difference(engine, hand):
    """The largest difference over all elements of all arrays."""
    return max(abs(engine[name] - hand[name]).max() for name in hand)


def main():
    """Prints both gradients side by side."""
    head = f"{'engine':>20}{'p - y by hand':>20}{'difference':>12}"
    for title, gradients in (("Softmax", softmax_gradients), ("Sigmoid", sigmoid_gradients)):
        engine, hand = gradients()
        print(f"{title + ', first point and all weights':37}{head}")
        for name, array in hand.items():
            for index, reference in np.ndenumerate(array):
                if name != "z" or index[0] == 0:
                    found = engine[name][index]
                    place = ", ".join(map(str, index if name != "z" else index[1:]))
                    print(f"  {f'dL/d{name}[{place}]':35}{found:>20.12f}{reference:>20.12f}"
                          f"{abs(found - reference):>12.1e}")  # fmt: skip
        print(f"  {'largest difference, all points':35}{largest_difference(engine, hand):>52.1e}\n")

    print(f"{'Very large logits, one point':37}{head}")
    for name, found, reference in far_out():
        print(f"  {name:35}{found:>20g}{reference:>20g}{abs(found - reference):>12.1e}")


if __name__ == "__main__":
    main()
