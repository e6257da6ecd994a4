"""A regression with one hidden layer of ReLUs, compared with PyTorch.

100 points with 5 coordinates, 10 hidden neurons, one output, mean squared error, 20 epochs of
gradient descent on mini-batches of 10 points:

    prediction(x) = v . max(0, W x + b) + c

Points and initial weights come from Python's `random`, so both programs start from the same
numbers. They do the same arithmetic in a different order, and after 200 steps all 71 weights agree
up to rounding. If PyTorch is not installed (`pip install torch`), the reference is its recorded
result in relu_regression.json beside this file. Takes about 4 seconds, mostly to import PyTorch.
"""

import argparse
import json
import math
import random
import sys
from pathlib import Path

from micrograd.losses import squared_error
from micrograd.nn import MLP
from micrograd.optim import SGD

RECORDED = Path(__file__).with_suffix(".json")
N, N_IN, HIDDEN, EPOCHS, BATCH, LR = 100, 5, 10, 20, 10, 0.02


def data():
    """The points and their targets, a function that one layer cannot compute."""
    rng = random.Random(0)
    X = [[rng.uniform(-1, 1) for _ in range(N_IN)] for _ in range(N)]
    y = [math.sin(3 * x[0]) + x[1] * x[2] + abs(x[3]) - 0.5 * x[4] for x in X]
    return X, y


def network():
    """The network before training, the same in every run."""
    random.seed(0)
    return MLP(N_IN, [HIDDEN, 1])


def batches():
    """The mini-batches of an epoch, as slices of the data."""
    return [slice(start, start + BATCH) for start in range(0, N, BATCH)]


def train(model, X, y):
    """Trains the network; returns the mean loss of each epoch."""
    optimizer = SGD(model.parameters(), lr=LR)
    means = []
    for _ in range(EPOCHS):
        total = 0.0
        for batch in batches():
            predictions = [model(x) for x in X[batch]]
            loss = sum(map(squared_error, predictions, y[batch])) / BATCH
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.data
        means.append(total / len(batches()))
    return means


def train_in_pytorch(model, X, y):
    """The weights after training in PyTorch, started from those of `model`; names as in micrograd.

    Raises:
        ImportError: PyTorch is not installed.
    """
    import torch

    def tensor(numbers):
        return torch.tensor(numbers, dtype=torch.float64)

    hidden = torch.nn.Linear(N_IN, HIDDEN, dtype=torch.float64)
    output = torch.nn.Linear(HIDDEN, 1, dtype=torch.float64)
    for twin, layer in zip((hidden, output), model.layers, strict=True):
        twin.weight.data = tensor([[w.data for w in neuron.w] for neuron in layer.neurons])
        twin.bias.data = tensor([neuron.b.data for neuron in layer.neurons])

    X, y = tensor(X), tensor(y)
    optimizer = torch.optim.SGD([*hidden.parameters(), *output.parameters()], lr=LR)
    for _ in range(EPOCHS):
        for batch in batches():
            predictions = output(torch.relu(hidden(X[batch])))[:, 0]
            loss = torch.nn.functional.mse_loss(predictions, y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    weights = {}
    for i, twin in enumerate((hidden, output)):
        for j, (row, bias) in enumerate(zip(twin.weight.tolist(), twin.bias.tolist(), strict=True)):
            weights |= {f"layers[{i}].neurons[{j}].w[{k}]": w for k, w in enumerate(row)}
            weights[f"layers[{i}].neurons[{j}].b"] = bias
    return weights


def recorded():
    """The weights from PyTorch in the record."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))["weights"]


def reference_weights(options):
    """PyTorch's weights after training, by name, and their source."""
    if not options.recorded:
        try:
            return train_in_pytorch(network(), *data()), "PyTorch"
        except ImportError:
            if options.renew:
                sys.exit("relu_regression.py: --renew needs PyTorch: pip install torch")
            print("PyTorch is not installed: comparing with its recorded result\n", file=sys.stderr)
    return recorded(), "PyTorch (recorded)"


def main():
    """Trains with both packages and compares weight by weight."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--recorded", action="store_true", help="do not run PyTorch")
    group.add_argument("--renew", action="store_true", help="renew the record from PyTorch")
    options = parser.parse_args()

    reference, source = reference_weights(options)
    if options.renew:
        note = "PyTorch's weights, recorded by: python demos/relu_regression.py --renew"
        record = {"source": note, "weights": reference}
        RECORDED.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    model = network()
    losses = train(model, *data())
    print(f"mean loss: first epoch {losses[0]:.4f}, last epoch {losses[-1]:.4f}\n")

    weights = model.state_dict()
    differences = {name: abs(w - reference[name]) for name, w in weights.items()}
    print(f"{'weight':26}{'micrograd':>20}{source:>20}{'difference':>12}")
    for name, w in weights.items():
        if name.startswith(("layers[0].neurons[0]", "layers[1]")):
            print(f"{name:26}{w:>20.15f}{reference[name]:>20.15f}{differences[name]:>12.1e}")
    print(f"\nlargest difference of all {len(weights)} weights {max(differences.values()):.1e}")


if __name__ == "__main__":
    main()
