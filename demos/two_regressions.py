"""Two tests of an autograd library: least squares, and a small network against PyTorch.

    python demos/two_regressions.py

The script follows "Autodifferentiation and backpropagation", the article of the Smallgrad library,
whose two tests are:

    least squares   100 points with 5 normal features, noise of 0.05, 1,000 steps with a learning
                    rate of 0.1; compared with the exact solution of X^T X w = X^T y
    a network       100 points with 5 features from scikit-learn's make_regression, 10 hidden ReLU
                    neurons without bias, initial weights 0.1 times normal, 20 steps with a learning
                    rate of 0.01; compared with PyTorch

Both are written in whole arrays. Without scikit-learn or PyTorch, the second test is left out, and
the script says so. It takes about 10 seconds.
"""

import argparse

import numpy as np
from table import print_table

from micrograd.arrays import values
from micrograd.derivatives import recompute


def least_squares(epochs=1000, lr=0.1):
    """The weights that gradient descent finds, and those of the exact solution."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = X @ rng.normal(size=5) + 0.05 * rng.normal(size=100)
    w = values(np.zeros(5))
    loss = ((X @ w - y) ** 2).mean()
    for _ in range(epochs):
        w.grad = 0.0
        loss.backward()
        w.data -= lr * w.grad
        recompute(loss)
    return w.data, np.linalg.solve(X.T @ X, X.T @ y)


def problem():
    """Points, targets and the initial weights of both layers."""
    from sklearn.datasets import make_regression

    X, y = make_regression(n_samples=100, n_features=5, noise=0.1, random_state=42)
    rng = np.random.default_rng(0)
    return X, y[:, None], 0.1 * rng.normal(size=(5, 10)), 0.1 * rng.normal(size=(10, 1))


def network(epochs=20, lr=0.01):
    """The two weight matrices after training with our arrays."""
    X, y, first, second = problem()
    W1, W2 = values(first), values(second)
    loss = (((X @ W1).relu() @ W2 - y) ** 2).mean()
    for _ in range(epochs):
        W1.grad = W2.grad = 0.0
        loss.backward()
        W1.data -= lr * W1.grad
        W2.data -= lr * W2.grad
        recompute(loss)
    return W1.data, W2.data


def network_of_pytorch(epochs=20, lr=0.01):
    """The same, trained by PyTorch."""
    import torch

    X, y, *weights = map(torch.tensor, problem())
    W1, W2 = (weight.requires_grad_() for weight in weights)
    for _ in range(epochs):
        loss = (((X @ W1).relu() @ W2 - y) ** 2).mean()
        gradients = torch.autograd.grad(loss, (W1, W2))
        with torch.no_grad():
            for weight, gradient in zip((W1, W2), gradients, strict=True):
                weight -= lr * gradient
    return W1.detach().numpy(), W2.detach().numpy()


def difference(ours, theirs):
    """The largest difference, relative to the largest number."""
    return np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))


def main():
    """Prints how far our results are from the others, beside what the article allows."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    rows = [("least squares", 1e-7, difference(*least_squares()))]
    print_table("Largest relative difference", rows, "article allows")
    try:
        pairs = zip(network(), network_of_pytorch(), strict=True)
    except ImportError as error:
        print(f"\nthe network is left out: {error} (pip install scikit-learn torch)")
        return
    rows = [(name, 1e-5, difference(*pair)) for name, pair in zip(("W1", "W2"), pairs, strict=True)]
    print_table("Network against PyTorch", rows, "article allows")


if __name__ == "__main__":
    main()
