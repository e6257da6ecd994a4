"""Ordinary least squares by gradient descent, compared with the normal equations.

100 points with 5 coordinates, targets y = X w + noise of standard deviation 0.05. Gradient descent
on the mean squared error

    L(w) = |X w - y|^2 / N          w <- w - lr dL/dw

has the same minimum as the normal equations, which NumPy solves directly:

    X^T X w = X^T y

Each epoch multiplies the distance from that minimum by at most max |1 - lr k| over the eigenvalues
k of 2 X^T X / N. So the logarithm of the distance falls along a straight line until only rounding
is left. 1,000 epochs over all points take about 3 seconds.
"""

import argparse

import numpy as np
from tqdm import tqdm

from micrograd.arrays import data_of, values
from micrograd.datasets import linear_regression
from micrograd.optim import SGD

TRUE_WEIGHTS = (1.5, -2.0, 0.5, 3.0, -1.0)


def data(n=100, noise=0.05, seed=0):
    """The points, one in each row, and their targets."""
    X, y = linear_regression(n, weights=TRUE_WEIGHTS, bias=0.0, noise=noise, seed=seed)
    return np.array(X), np.array(y)


def gradient_descent(X, y, epochs, lr=0.1):
    """The weights before the first epoch and after each epoch: epochs + 1 rows."""
    w = values(np.zeros(X.shape[1]))
    optimizer = SGD(w, lr=lr)
    history = [data_of(w)]
    for _ in tqdm(range(epochs), unit="epoch"):
        loss = ((X @ w - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(data_of(w))
    return np.array(history)


def normal_equations(X, y):
    """The weights with the least squared error, without gradients."""
    return np.linalg.solve(X.T @ X, X.T @ y)


def contraction(X, lr=0.1):
    """The largest factor by which an epoch multiplies the distance from the minimum."""
    return max(abs(1 - lr * np.linalg.eigvalsh(2 * X.T @ X / len(X))))


def main():
    """Prints the distance from the minimum, and both solutions."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=1000, metavar="N", help="(1000)")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error(f"expected --epochs of at least 1, got {options.epochs}")

    X, y = data()
    history, solution = gradient_descent(X, y, options.epochs), normal_equations(X, y)
    distance = np.linalg.norm(history - solution, axis=1)

    print(f"{'epochs':>6}{'distance from the minimum':>28}{'bound without rounding':>25}")
    for epoch in (0, 1, 3, 10, 30, 100, 300, 1000):
        if epoch <= options.epochs:
            bound = distance[0] * contraction(X) ** epoch
            print(f"{epoch:>6}{distance[epoch]:>28.1e}{bound:>25.1e}")

    print(f"\n{'weight':>6}{'true':>8}{'gradient descent':>20}{'normal equations':>20}"
          f"{'difference':>12}")  # fmt: skip
    for i, (w, reference) in enumerate(zip(history[-1], solution, strict=True)):
        print(f"{f'w{i + 1}':>6}{TRUE_WEIGHTS[i]:>8.2f}{w:>20.12f}{reference:>20.12f}"
              f"{abs(w - reference):>12.1e}")  # fmt: skip
    print(f"\nlargest difference {max(abs(history[-1] - solution)):.1e}")


if __name__ == "__main__":
    main()
