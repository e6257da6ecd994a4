"""Linear regression on mini-batches: the engine's gradients compared with the matrix formula.

A mini-batch has N rows of inputs X (N x 4) and N rows of targets Y (N x 2). Predictions are X W.
The loss is the squared error, summed over the outputs and averaged over the rows:

    L  =  1/N sum over rows of |x W - y|^2            dL/dW  =  2/N X^T (X W - Y)

The engine gets only the left formula. The right formula is one line of NumPy, written by hand. The
two gradients are compared element by element on every mini-batch, with a step of gradient descent
after each. Takes less than a second.
"""

import numpy as np

from micrograd.arrays import data_of, grad_of, values
from micrograd.optim import SGD

TRUE_WEIGHTS = np.array([[2.0, -1.0], [0.5, 3.0], [-1.5, 0.0], [1.0, 1.0]])


def data(n=120, noise=0.05, seed=0):
    """The inputs and the targets, one point in each row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(TRUE_WEIGHTS)))
    return X, X @ TRUE_WEIGHTS + rng.normal(0, noise, size=(n, 2))


def minibatches(X, Y, size, seed=0):
    """Mini-batches of inputs and targets that together hold all points, in random order."""
    order = np.random.default_rng(seed).permutation(len(X))
    for start in range(0, len(X), size):
        rows = order[start : start + size]
        yield X[rows], Y[rows]


def mean_squared_error(W, X, Y):
    """The loss of a mini-batch, as a Value."""
    return ((X @ W - Y) ** 2).sum() / len(X)


def gradient_by_hand(W, X, Y):
    """The derivatives of the loss with respect to all weights, from the formula."""
    return 2 / len(X) * X.T @ (X @ W - Y)


def gradients(W, X, Y, size=20, lr=0.2):
    """The loss and both gradients of each mini-batch; W takes a step after each."""
    optimizer = SGD(W.ravel(), lr=lr)
    for x, y in minibatches(X, Y, size):
        by_hand = gradient_by_hand(data_of(W), x, y)
        loss = mean_squared_error(W, x, y)
        optimizer.zero_grad()
        loss.backward()
        yield loss.data, grad_of(W), by_hand
        optimizer.step()


def main():
    """Prints the comparison, element by element for the first mini-batch."""
    X, Y = data()
    W = values(np.zeros(TRUE_WEIGHTS.shape))
    batches = list(gradients(W, X, Y))

    print("First mini-batch")
    print(f"  {'':11}{'engine':>20}{'2/N X^T (X W - Y)':>20}{'difference':>12}")
    _, engine, by_hand = batches[0]
    for (i, j), reference in np.ndenumerate(by_hand):
        print(f"  dL/dW[{i}, {j}]{engine[i, j]:>20.12f}{reference:>20.12f}"
              f"{abs(engine[i, j] - reference):>12.1e}")  # fmt: skip

    print("\nAll mini-batches")
    print(f"  batch{'loss':>11}{'largest |dL/dW|':>20}{'largest difference':>21}")
    for number, (loss, engine, by_hand) in enumerate(batches, 1):
        print(f"  {number:>5}{loss:>11.4f}{abs(by_hand).max():>20.4f}"
              f"{abs(engine - by_hand).max():>21.1e}")  # fmt: skip

    print(f"\nlargest difference {max(abs(e - h).max() for _, e, h in batches):.1e}")


if __name__ == "__main__":
    main()
