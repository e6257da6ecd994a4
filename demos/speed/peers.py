"""One training step in many packages: the peers in the table of `benchmark.py`.

There are four workloads. Every peer starts from the same numbers, in float64, and does plain
gradient descent:

    W1  moons      perceptron 2-16-16-1 on 100 points, hinge loss and an L2 penalty
    W2  digits     perceptron 64-32-10 on 128 images, softmax cross-entropy
    W3  document   a one-layer GPT of 4,192 parameters on the 7 positions of one document
    W4  serial     10,000 operations on single numbers, most of which wait for the ones before

A peer is built from a workload. Its `step()` goes forward and backward, updates the parameters,

    p = p - lr d loss / d p        for all parameters p,

and returns the loss before the update. `parameters()` returns their current values. So the tests
check exactly what is timed: the gradient is the change in a step, divided by -lr. The derivatives
come from

    NumPy code, written by hand                    section 3
    PyTorch and JAX, on arrays                     section 4
    scalar engines, which all run one program      section 5, the program in section 2

Letters: A matrix of a layer, with a row for each neuron and its bias last; W weights, b biases; X
inputs, H hidden values, Z scores or logits, d_Z the derivative of the loss with respect to Z.
"""

import math
import operator
import shutil
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from functools import partial, reduce
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

# ---- 1. The workloads

PENALTY, EPSILON = 1e-4, 1e-5
CLASSES, PIXELS = 10, 64
STEPS, NUMBERS = 10_000, 100
TOKENS, POSITIONS, WIDTH, HEADS = 27, 16, 16, 4
HEAD_WIDTH = WIDTH // HEADS


class Workload(NamedTuple):
    """A training task: the parameters and the data.

    Attributes:
        name: 'moons', 'digits', 'document' or 'serial'.
        matrices: the parameters, by name, in the order of this package's `parameters()`.
        inputs: one example in each row.
        targets: one for each example; for a document, a row with one for each position.
        lr: learning rate.
    """

    name: str
    matrices: dict
    inputs: np.ndarray
    targets: np.ndarray
    lr: float = 0.01

    @property
    def operations(self):
        """The least number of additions and multiplications in the matrix products of a step.

        A product of a matrix and its input is done once forward, and twice backward: for the
        derivative with respect to the matrix and to the input. Data need no derivative.
        """
        if self.name == "serial":  # has no matrix product
            return 0
        if self.name == "document":
            length = self.inputs.size
            projections = sum(A.size for A in list(self.matrices.values())[2:])
            pairs = length * (length + 1) // 2  # a position attends to itself and earlier ones
            return 3 * 2 * (length * projections + pairs * 2 * WIDTH)
        sizes = [A.size for A in self.matrices.values()]
        inner = [len(A) * (A.shape[1] - 1) for A in list(self.matrices.values())[1:]]
        return 2 * len(self.inputs) * (2 * sum(sizes) + sum(inner))

    def repeated(self, examples):
        """The workload with this many examples, which repeat, if it is one of perceptrons."""
        if self.name in ("document", "serial") or not examples:
            return self
        arrays = [np.resize(a, (examples, *a.shape[1:])) for a in (self.inputs, self.targets)]
        return self._replace(inputs=arrays[0], targets=arrays[1])


def perceptron(rng, *sizes):
    """The matrices of layers of these sizes, uniform in +-1 / sqrt(inputs)."""
    return {
        f"layers[{i}]": rng.uniform(-1, 1, (n_out, n_in + 1)) / math.sqrt(n_in)
        for i, (n_in, n_out) in enumerate(pairwise(sizes))
    }


def moons():
    """W1, with labels -1 and 1."""
    from micrograd.datasets import moons as points

    X, y = points(100, noise=0.1, seed=1337)
    matrices = perceptron(np.random.default_rng(1), 2, 16, 16, 1)
    return Workload("moons", matrices, np.array(X), 2.0 * np.array(y) - 1)


def digits():
    """W2, with random images and labels: speed does not depend on the pictures."""
    rng = np.random.default_rng(2)
    images, labels = rng.uniform(0, 1, (128, PIXELS)), rng.integers(0, CLASSES, 128)
    return Workload("digits", perceptron(rng, PIXELS, 32, CLASSES), images, labels)


def document():
    """W3, with a document that repeats some tokens: token 0, a word, token 0."""
    rng = np.random.default_rng(3)
    shapes = {
        "token": (TOKENS, WIDTH),
        "position": (POSITIONS, WIDTH),
        "attention": (3 * WIDTH, WIDTH),  # queries, keys and values, one below the other
        "output": (WIDTH, WIDTH),
        "up": (4 * WIDTH, WIDTH),
        "down": (WIDTH, 4 * WIDTH),
        "head": (TOKENS, WIDTH),
    }
    matrices = {name: rng.normal(0, 0.2, shape) for name, shape in shapes.items()}
    word = np.array([[0, 1, 14, 14, 1, 2, 5, 0]])
    return Workload("document", matrices, word[:, :-1], word[:, 1:])


def serial():
    """W4, which has parameters and no data.

    Source: A. Rogozhnikov, Fastest Autograd in the West (2023). His loss is the last number, whose
    derivatives are too small to compare; here it is the mean of all results of softplus.
    """
    start = np.random.default_rng(4).uniform(-1, 1, (1, NUMBERS))
    return Workload("serial", {"start": start}, np.zeros((1, 1)), np.zeros(1))


WORKLOADS = {"W1": moons, "W2": digits, "W3": document, "W4": serial}


# ---- 2. The loss of one example, in scalars, for any engine that has + - * / **


class Functions(NamedTuple):
    """The functions that a scalar program needs besides arithmetic, as the engine has them."""

    relu: object
    exp: object
    log: object
    largest: object  # of a list; it is only a shift, so an engine may treat it as constant
    take: object  # table, index


def dot(a, b):
    """The sum of the products of two lists."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def layer(matrix, x):
    """The weighted sums of x, one for each row; a row that is longer than x ends with a bias."""
    return [dot(row[: len(x)], x) + row[-1] if len(row) > len(x) else dot(row, x) for row in matrix]


def exponentials(scores, use):
    """The parts of a softmax: the shifted scores, their exponentials, and the sum of these."""
    largest = use.largest(scores)
    shifted = [z - largest for z in scores]
    powers = [use.exp(z) for z in shifted]
    return shifted, powers, sum(powers)


def cross_entropy(logits, label, use):
    """The negative log probability of the label."""
    shifted, _, total = exponentials(logits, use)
    return use.log(total) - use.take(shifted, label)


def scores_of(matrices, x, use):
    """The outputs of a perceptron."""
    *hidden, last = matrices
    for matrix in hidden:
        x = [use.relu(z) for z in layer(matrix, x)]
    return layer(last, x)


def scalar_moons(matrices, x, y, use):
    """The hinge loss of a point."""
    return use.relu(1 - y * scores_of(matrices, x, use)[0])


def scalar_digits(matrices, x, label, use):
    """The cross-entropy of an image."""
    return cross_entropy(scores_of(matrices, x, use), label, use)


def normalised(x):
    """The vector x divided by its root mean square."""
    scale = (dot(x, x) / len(x) + EPSILON) ** -0.5
    return [xi * scale for xi in x]


def attended(query, keys, values, use):
    """The mean of the values, weighted by how well their keys match the query."""
    scores = [dot(query, key) * HEAD_WIDTH**-0.5 for key in keys]
    _, powers, total = exponentials(scores, use)
    weights = [power / total for power in powers]
    return [dot(weights, column) for column in zip(*values, strict=True)]


def scalar_document(matrices, tokens, targets, use):
    """The mean cross-entropy of the tokens that follow, each predicted from those before."""
    token_table, position_table, attention, output, up, down, head = matrices
    heads = [slice(i, i + HEAD_WIDTH) for i in range(0, WIDTH, HEAD_WIDTH)]
    keys, values, losses = [], [], []
    for position, (token, target) in enumerate(zip(tokens, targets, strict=True)):
        embedding, place = use.take(token_table, token), position_table[position]
        x = [a + b for a, b in zip(embedding, place, strict=True)]
        projected = layer(attention, normalised(x))
        query = projected[:WIDTH]
        keys.append(projected[WIDTH : 2 * WIDTH])
        values.append(projected[2 * WIDTH :])
        mixed = []
        for part in heads:
            head_keys, head_values = ([row[part] for row in rows] for rows in (keys, values))
            mixed += attended(query[part], head_keys, head_values, use)
        x = [a + b for a, b in zip(x, layer(output, mixed), strict=True)]
        hidden = [use.relu(z) for z in layer(up, normalised(x))]
        x = [a + b for a, b in zip(x, layer(down, hidden), strict=True)]
        losses.append(cross_entropy(layer(head, x), target, use))
    return sum(losses) / len(losses)


def scalar_serial(matrices, x, y, use):
    """The mean of all results of softplus; takes turns with sum, product, and softmax of four."""
    [[start]] = matrices
    nodes, found = [*start], []
    for i in range(STEPS):
        if i % 4 == 0:
            found.append(use.log(use.exp(nodes[-10]) + 1))
            nodes.append(found[-1])
        elif i % 4 == 1:
            nodes.append(sum(nodes[-30:-10:5]))
        elif i % 4 == 2:
            nodes.append(nodes[-20] * nodes[-10])
        else:
            powers = [use.exp(z) for z in nodes[-4:]]
            total = sum(powers)
            nodes += [power / total for power in powers]
    return sum(found) / len(found)


SCALAR_LOSSES = {
    "moons": scalar_moons, "digits": scalar_digits, "document": scalar_document,
    "serial": scalar_serial,
}  # fmt: skip


def penalty(name, matrices):
    """The part of the loss that does not depend on the examples: the L2 penalty of W1, else 0."""
    if name != "moons":
        return 0
    return PENALTY * sum(p * p for matrix in matrices for row in matrix for p in row)


# ---- 3. NumPy code, written by hand


class NumPy:
    """Matrix code, written by hand, forward and backward.

    All parameters are in one vector and all gradients in another, so the update is one operation.
    The matrices are views of these vectors. An example is a column, so that sums and maxima over
    the classes combine whole rows. A row of ones makes the biases part of the products.
    """

    def __init__(self, workload):
        self.lr = workload.lr
        matrices = workload.matrices.values()
        self.vector = np.concatenate([A.ravel() for A in matrices])
        self.gradient = np.zeros_like(self.vector)
        ends = np.cumsum([A.size for A in matrices])[:-1]
        self.A, self.G = (
            [part.reshape(A.shape) for part, A in zip(np.split(v, ends), matrices, strict=True)]
            for v in (self.vector, self.gradient)
        )
        self.loss_and_gradient = getattr(self, workload.name)
        if workload.name == "document":
            self.tokens, self.targets = workload.inputs[0], workload.targets[0]
            length = len(self.tokens)
            self.one_hot = np.eye(TOKENS)[self.tokens].T.copy()
            self.future = np.triu(np.full((length, length), -np.inf), 1)
        else:
            n = len(workload.inputs)
            self.X = np.vstack([workload.inputs.T, np.ones(n)])
            self.H = [np.ones((len(A) + 1, n)) for A in self.A[:-1]]
            self.targets = workload.targets
        self.columns = np.arange(len(self.targets))

    def step(self):
        """The loss before the step, which updates the parameters."""
        loss = self.loss_and_gradient()
        self.gradient *= self.lr
        self.vector -= self.gradient
        return loss

    def parameters(self):
        """All parameters."""
        return self.vector.copy()

    def forward(self):
        """The scores of a perceptron; stores the hidden values in H."""
        X = self.X
        for A, H in zip(self.A, self.H, strict=False):
            np.maximum(A @ X, 0, out=H[:-1])
            X = H
        return self.A[-1] @ X

    def backward(self, d_Z):
        """Stores the derivatives with respect to the matrices in G, from those for the scores."""
        for i in range(len(self.A) - 1, 0, -1):
            H = self.H[i - 1]
            np.matmul(d_Z, H.T, out=self.G[i])
            d_Z = self.A[i][:, :-1].T @ d_Z
            d_Z *= H[:-1] > 0
        np.matmul(d_Z, self.X.T, out=self.G[0])

    def moons(self):
        """The loss of W1; stores its gradient."""
        y = self.targets
        shortfall = 1 - y * self.forward()
        self.backward((shortfall > 0) * (y / -len(y)))
        self.gradient += 2 * PENALTY * self.vector
        return np.maximum(shortfall, 0).mean() + PENALTY * (self.vector @ self.vector)

    def digits(self):
        """The loss of W2; stores its gradient."""
        loss, d_Z = self.cross_entropy(self.forward())
        self.backward(d_Z)
        return loss

    def cross_entropy(self, Z):
        """The mean cross-entropy of columns of logits, and its derivative."""
        n = len(self.targets)
        Z = Z - Z.max(axis=0)
        P = np.exp(Z)
        total = P.sum(axis=0)
        loss = (np.log(total).sum() - Z[self.targets, self.columns].sum()) / n
        P /= total * n
        P[self.targets, self.columns] -= 1 / n
        return loss, P

    def document(self):
        """The loss of W3; stores its gradient. Heads are the first axis of stacked matrices."""
        token, position, attention, output, up, down, head = self.A
        d_token, d_position, d_attention, d_output, d_up, d_down, d_head = self.G
        length = len(self.tokens)
        scale = HEAD_WIDTH**-0.5

        x = token[self.tokens] + position[:length]
        n, by_root = rms_normalised(x)
        Q, K, V = (n @ attention.T).reshape(length, 3, HEADS, HEAD_WIDTH).transpose(1, 2, 0, 3)
        S = Q @ K.transpose(0, 2, 1)
        S *= scale
        S += self.future
        S -= S.max(axis=2, keepdims=True)
        P = np.exp(S, out=S)
        P /= P.sum(axis=2, keepdims=True)
        mixed = (P @ V).transpose(1, 0, 2).reshape(length, WIDTH)
        x = x + mixed @ output.T
        m, by_second_root = rms_normalised(x)
        H = m @ up.T
        np.maximum(H, 0, out=H)
        x += H @ down.T
        loss, d_Z = self.cross_entropy(head @ x.T)

        np.matmul(d_Z, x, out=d_head)
        d_x = d_Z.T @ head
        np.matmul(d_x.T, H, out=d_down)
        d_H = d_x @ down
        d_H *= H > 0
        np.matmul(d_H.T, m, out=d_up)
        d_x += rms_derivative(d_H @ up, m, by_second_root)
        np.matmul(d_x.T, mixed, out=d_output)
        d_mixed = (d_x @ output).reshape(length, HEADS, HEAD_WIDTH).transpose(1, 0, 2)
        d_P = d_mixed @ V.transpose(0, 2, 1)
        d_P *= P
        d_S = d_P - P * d_P.sum(axis=2, keepdims=True)
        d_S *= scale
        d_QKV = np.empty((length, 3, HEADS, HEAD_WIDTH))
        d_Q, d_K, d_V = d_QKV.transpose(1, 2, 0, 3)
        np.matmul(d_S, K, out=d_Q)
        np.matmul(d_S.transpose(0, 2, 1), Q, out=d_K)
        np.matmul(P.transpose(0, 2, 1), d_mixed, out=d_V)
        d_rows = d_QKV.reshape(length, 3 * WIDTH)
        np.matmul(d_rows.T, n, out=d_attention)
        d_x += rms_derivative(d_rows @ attention, n, by_root)
        np.matmul(self.one_hot, d_x, out=d_token)
        d_position[:length] = d_x
        return loss

    def serial(self):
        """The loss of W4; stores its gradient. Single numbers need no NumPy."""
        nodes, places = self.A[0][0].tolist(), []
        for i in range(STEPS):
            places.append(len(nodes))
            if i % 4 == 0:
                nodes.append(math.log(math.exp(nodes[-10]) + 1))
            elif i % 4 == 1:
                nodes.append(sum(nodes[-30:-10:5]))
            elif i % 4 == 2:
                nodes.append(nodes[-20] * nodes[-10])
            else:
                powers = [math.exp(z) for z in nodes[-4:]]
                nodes += [power / sum(powers) for power in powers]
        d = [0.0] * len(nodes)
        for k in places[::4]:
            d[k] = 1 / len(places[::4])
        for i, k in reversed(list(enumerate(places))):
            if i % 4 == 0:  # the derivative of softplus is 1 - exp(-softplus)
                d[k - 10] += d[k] * (1 - math.exp(-nodes[k]))
            elif i % 4 == 1:
                for term in range(k - 30, k - 10, 5):
                    d[term] += d[k]
            elif i % 4 == 2:
                d[k - 20] += d[k] * nodes[k - 10]
                d[k - 10] += d[k] * nodes[k - 20]
            else:
                mean = dot(d[k : k + 4], nodes[k : k + 4])
                for j in range(k, k + 4):
                    d[j - 4] += nodes[j] * (d[j] - mean)
        self.G[0][0] = d[:NUMBERS]
        return sum(nodes[k] for k in places[::4]) / len(places[::4])


def rms_normalised(x):
    """The rows divided by their root mean square, and 1 / root mean square."""
    by_root = 1 / np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / WIDTH + EPSILON)
    return x * by_root, by_root


def rms_derivative(d_n, n, by_root):
    """The derivative with respect to x, from that with respect to n = x by_root."""
    return (d_n - n * (np.einsum("ij,ij->i", d_n, n)[:, None] / WIDTH)) * by_root


# ---- 4. Array frameworks


def split(workload):
    """The parameters as frameworks keep them: weights and biases in separate arrays."""
    if workload.name in ("document", "serial"):
        return list(workload.matrices.values())
    parts = [(A[:, :-1], A[:, -1]) for A in workload.matrices.values()]
    return [np.ascontiguousarray(part) for pair in parts for part in pair]


def joined(workload, arrays):
    """All parameters in one vector, in this package's order, from arrays as in `split`."""
    arrays = [np.asarray(array) for array in arrays]
    if workload.name not in ("document", "serial"):
        arrays = [np.column_stack(wb) for wb in zip(arrays[::2], arrays[1::2], strict=True)]
    return np.concatenate([array.ravel() for array in arrays])


class PyTorch:
    """PyTorch, one operation at a time."""

    def __init__(self, workload):
        import torch

        torch.set_num_threads(1)
        self.torch, self.workload = torch, workload
        self.weights = [torch.tensor(array, requires_grad=True) for array in split(workload)]
        self.inputs, self.targets = (
            torch.tensor(array[0] if workload.name == "document" else array)
            for array in (workload.inputs, workload.targets)
        )
        self.loss = getattr(self, workload.name)

    def step(self):
        """The loss before the step, which updates the parameters."""
        loss = self.loss(self.weights)
        loss.backward()
        with self.torch.no_grad():
            for p in self.weights:
                p.sub_(p.grad, alpha=self.workload.lr)
                p.grad = None
        return loss.detach()

    def parameters(self):
        """All parameters."""
        return joined(self.workload, [p.detach().numpy() for p in self.weights])

    def forward(self, weights):
        """The scores of a perceptron."""
        F = self.torch.nn.functional
        *hidden, (W, b) = zip(weights[::2], weights[1::2], strict=True)
        X = self.inputs
        for V, c in hidden:
            X = F.relu(F.linear(X, V, c))
        return F.linear(X, W, b)

    def moons(self, weights):
        """The loss of W1."""
        shortfall = 1 - self.targets * self.forward(weights)[:, 0]
        flat = self.torch.nn.utils.parameters_to_vector(weights)
        return shortfall.relu().mean() + PENALTY * (flat @ flat)

    def digits(self, weights):
        """The loss of W2."""
        return self.torch.nn.functional.cross_entropy(self.forward(weights), self.targets)

    def document(self, weights):
        """The loss of W3."""
        F = self.torch.nn.functional
        token, position, attention, output, up, down, head = weights
        length = len(self.inputs)
        x = token[self.inputs] + position[:length]
        projected = F.linear(F.rms_norm(x, (WIDTH,), eps=EPSILON), attention)
        Q, K, V = projected.view(1, length, 3, HEADS, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
        x = x + F.linear(mixed[0].transpose(0, 1).reshape(length, WIDTH), output)
        hidden = F.relu(F.linear(F.rms_norm(x, (WIDTH,), eps=EPSILON), up))
        return F.cross_entropy(F.linear(x + F.linear(hidden, down), head), self.targets)

    def serial(self, weights):
        """The loss of W4, in scalars."""
        torch = self.torch
        use = Functions(torch.relu, torch.exp, torch.log, max, operator.getitem)
        return scalar_serial([[weights[0][0].unbind()]], None, None, use)


class CompiledPyTorch(PyTorch):
    """PyTorch, with the whole step compiled."""

    def __init__(self, workload):
        super().__init__(workload)
        self.weights = [p.detach() for p in self.weights]
        loss_and_gradient = self.torch.func.grad_and_value(self.loss)

        def step(weights):
            gradient, loss = loss_and_gradient(weights)
            for p, g in zip(weights, gradient, strict=True):
                p.sub_(g, alpha=workload.lr)
            return loss

        compiled = self.torch.compile(step, options={"cpp_wrapper": True})  # cheaper calls
        self.step = partial(compiled, self.weights)  # type: ignore[method-assign]


class JAX:
    """JAX, with the whole step compiled; one vector of parameters, as each argument costs time."""

    def __init__(self, workload):
        import jax
        from jax.flatten_util import ravel_pytree

        jax.config.update("jax_enable_x64", True)
        self.jax, self.workload = jax, workload
        self.vector, self.unravel = ravel_pytree(split(workload))
        document = workload.name == "document"
        data = (workload.inputs[0], workload.targets[0]) if document else workload[2:4]
        self.data = [jax.numpy.array(array) for array in data]
        loss = getattr(self, workload.name)

        def step(vector, inputs, targets):
            loss_and_gradient = jax.value_and_grad(lambda v: loss(self.unravel(v), inputs, targets))
            loss_before, gradient = loss_and_gradient(vector)
            return loss_before, vector - workload.lr * gradient

        def many_steps(vector, inputs, targets, count):
            def next_step(_, state):
                return step(state[1], inputs, targets)

            return jax.lax.fori_loop(0, count, next_step, (jax.numpy.zeros(()), vector))

        self.compiled = jax.jit(step, donate_argnums=0)  # may overwrite its argument
        self.compiled_loop = jax.jit(many_steps, donate_argnums=0)

    def step(self):
        """The loss before the step, which updates the parameters."""
        loss, self.vector = self.compiled(self.vector, *self.data)
        return loss

    def parameters(self):
        """All parameters."""
        return joined(self.workload, self.unravel(self.vector))

    def forward(self, weights, X):
        """The scores of a perceptron."""
        *hidden, (W, b) = zip(weights[::2], weights[1::2], strict=True)
        for V, c in hidden:
            X = self.jax.nn.relu(X @ V.T + c)
        return X @ W.T + b

    def moons(self, weights, X, y):
        """The loss of W1."""
        shortfall = 1 - y * self.forward(weights, X)[:, 0]
        squares = sum((p * p).sum() for p in weights)
        return self.jax.nn.relu(shortfall).mean() + PENALTY * squares

    def digits(self, weights, X, labels):
        """The loss of W2."""
        return self.cross_entropy(self.forward(weights, X), labels)

    def cross_entropy(self, logits, labels):
        """The mean cross-entropy of rows of logits."""
        np, nn = self.jax.numpy, self.jax.nn
        return -np.take_along_axis(nn.log_softmax(logits), labels[:, None], axis=1).mean()

    def document(self, weights, tokens, targets):
        """The loss of W3."""
        np, nn = self.jax.numpy, self.jax.nn
        token, position, attention, output, up, down, head = weights
        length = len(tokens)

        def normalised(x):
            return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON)

        x = token[tokens] + position[:length]
        projected = (normalised(x) @ attention.T).reshape(length, 3, HEADS, HEAD_WIDTH)
        Q, K, V = projected.transpose(1, 2, 0, 3)
        S = Q @ K.transpose(0, 2, 1) * HEAD_WIDTH**-0.5
        S = np.where(np.tri(length, dtype=bool), S, -np.inf)
        mixed = nn.softmax(S) @ V
        x = x + mixed.transpose(1, 0, 2).reshape(length, WIDTH) @ output.T
        x = x + nn.relu(normalised(x) @ up.T) @ down.T
        return self.cross_entropy(x @ head.T, targets)

    def serial(self, weights, inputs, targets):
        """The loss of W4, in scalars."""
        np = self.jax.numpy
        use = Functions(self.jax.nn.relu, np.exp, np.log, max, operator.getitem)
        return scalar_serial([[list(weights[0][0])]], inputs, targets, use)


class LoopInJAX(JAX):
    """JAX, with a loop over the steps inside the compiled function."""

    def step(self):
        """The loss before the step, which updates the parameters."""
        return self.steps(1)

    def steps(self, count):
        """The loss before the last of `count` steps."""
        loss, self.vector = self.compiled_loop(self.vector, *self.data, count)
        return loss


# ---- 5. Scalar engines


class Eager:
    """The eager engine of this package: a graph for each example, a node for each operation."""

    def __init__(self, workload):
        from micrograd import Value, take

        def largest(scores):
            return reduce(Value.maximum, scores).detach()

        self.prepare(workload, Value, Functions(Value.relu, Value.exp, Value.log, largest, take))

    def prepare(self, workload, Value, use):
        """Creates the Values; `use` holds the functions of their engine."""
        self.name, self.lr, self.use = workload.name, workload.lr, use
        self.inputs, self.targets = workload.inputs.tolist(), workload.targets.tolist()
        self.matrices = [
            [[Value(p) for p in row] for row in A.tolist()] for A in workload.matrices.values()
        ]
        self.leaves = [p for matrix in self.matrices for row in matrix for p in row]

    def loss_of(self, x, target):
        """The loss of an example, without the penalty."""
        return SCALAR_LOSSES[self.name](self.matrices, x, target, self.use)

    def step(self):
        """The loss before the step, which updates the parameters.

        It builds the graph of one example at a time, which saves memory and garbage collection.
        """
        for p in self.leaves:
            p.grad = 0
        total = 0.0
        for x, target in zip(self.inputs, self.targets, strict=True):
            loss = self.loss_of(x, target) / len(self.inputs)
            loss.backward()
            total += loss.data
        rest = penalty(self.name, self.matrices)
        if rest:
            rest.backward()
            total += rest.data
        for p in self.leaves:
            p.data -= self.lr * p.grad
        return total

    def parameters(self):
        """All parameters."""
        return np.array([p.data for p in self.leaves])


class Original(Eager):
    """Karpathy's micrograd, with exp and log added in the style of its lecture.

    Args:
        workload: the training task.
        folder: contains the package; the process must not have imported another micrograd.
    """

    def __init__(self, workload, folder):
        sys.path.insert(0, folder)
        from micrograd.engine import Value

        sys.setrecursionlimit(10**6)  # its topological sort is recursive

        def exp(x):
            out = Value(math.exp(x.data), (x,), "exp")

            def _backward():
                x.grad += out.data * out.grad

            out._backward = _backward
            return out

        def log(x):
            out = Value(math.log(x.data), (x,), "log")

            def _backward():
                x.grad += out.grad / x.data

            out._backward = _backward
            return out

        def largest(scores):
            return max(z.data for z in scores)

        self.prepare(workload, Value, Functions(Value.relu, exp, log, largest, operator.getitem))


class Compiled(Eager):
    """The compiler of this package, on the same scalar program."""

    def __init__(self, workload, executor):
        import micrograd
        from micrograd.optim import SGD

        super().__init__(workload)
        self.inputs, self.targets = workload.inputs, workload.targets

        def loss(x, target):
            return self.loss_of(x, target) + penalty(self.name, self.matrices)

        self.compiled = micrograd.compile(loss, executor=executor)
        self.optimizer = SGD(self.leaves, lr=self.lr)

    def step(self):
        """The loss before the step, which updates the parameters."""
        batch = self.compiled(self.inputs, self.targets)
        self.optimizer.zero_grad()
        batch.backward()
        self.optimizer.step()
        return batch.data


class OneCall(Compiled):
    """The same, with forward, backward and update in one call."""

    def step(self):
        """The loss before the step, which updates the parameters."""
        return self.compiled.step(self.optimizer, self.inputs, self.targets)


class ManySteps(Compiled):
    """The same, with many steps in one call."""

    def step(self):
        """The loss before the step, which updates the parameters."""
        return self.steps(1)

    def steps(self, count):
        """The loss before the last of `count` steps."""
        from micrograd.compiler import training

        # After many rounds nothing is left to learn; to ask why is not what is timed here.
        with mock.patch.object(training, "ENOUGH", math.inf):
            losses = training.fit(
                self.compiled, self.inputs, self.targets, self.optimizer, steps=count
            )
        return losses[-1]


class CasADi:
    """CasADi: the scalar program as a symbolic expression, run by its virtual machine.

    The expression is for one example; CasADi maps it over the batch. The labels of images are rows
    of 0 and 1. The tokens of the document are part of the expression.
    """

    def __init__(self, workload):
        import casadi

        self.casadi = casadi
        name, shapes = workload.name, [A.shape for A in workload.matrices.values()]
        p = casadi.SX.sym("p", sum(rows * columns for rows, columns in shapes))
        numbers = iter(casadi.vertsplit(p))
        matrices = [[[next(numbers) for _ in range(n)] for _ in range(rows)] for rows, n in shapes]

        def largest(scores):
            return reduce(casadi.fmax, scores)

        def take(table, index):
            return table[index] if isinstance(index, int) else dot(table, index)

        use = Functions(lambda x: casadi.fmax(x, 0), casadi.exp, casadi.log, largest, take)
        if name == "document":
            X = Y = np.empty((1, 0))
            x = y = casadi.SX(0, 1)
            arguments = workload.inputs[0].tolist(), workload.targets[0].tolist()
        else:
            X = workload.inputs
            Y = np.eye(CLASSES)[workload.targets] if name == "digits" else workload.targets[:, None]
            x, y = casadi.SX.sym("x", X.shape[1]), casadi.SX.sym("y", Y.shape[1])
            parts = casadi.vertsplit(y)
            arguments = casadi.vertsplit(x), parts if name == "digits" else parts[0]
        loss = SCALAR_LOSSES[name](matrices, *arguments, use)
        rest = casadi.SX(penalty(name, matrices))
        example = casadi.Function("example", [p, x, y], [loss, casadi.gradient(loss, p)])
        uniform = casadi.Function("uniform", [p], [rest, casadi.gradient(rest, p)])
        self.function = self.step_function(workload, example, uniform, X.shape, Y.shape)

        self.vector = np.concatenate([A.ravel() for A in workload.matrices.values()])
        self.moved, self.loss = np.empty_like(self.vector), np.empty(1)
        buffer, self.run = self.function.buffer()
        self.memory = [buffer, *map(np.ascontiguousarray, (X, Y))]  # CasADi: columns are examples
        for i, array in enumerate((self.vector, *self.memory[1:])):
            buffer.set_arg(i, array.data)
        buffer.set_res(0, self.loss.data)
        buffer.set_res(1, self.moved.data)

    def step_function(self, workload, example, uniform, X_shape, Y_shape):
        """The whole step, from parameters and data to the loss and the updated parameters."""
        MX = self.casadi.MX
        n = X_shape[0]
        p = MX.sym("p", example.size1_in(0))
        X, Y = MX.sym("X", *X_shape[::-1]), MX.sym("Y", *Y_shape[::-1])
        batch = example if n == 1 else example.map("batch", "serial", n, [0], [0, 1])
        loss, gradient = batch(p, X, Y)
        rest, slope = uniform(p)
        results = [loss / n + rest, p - workload.lr * (gradient / n + slope)]
        return self.casadi.Function("step", [p, X, Y], results)

    def step(self):
        """The loss before the step, which updates the parameters."""
        self.run()
        self.vector[:] = self.moved
        return self.loss[0]

    def parameters(self):
        """All parameters."""
        return self.vector.copy()


class CompiledCasADi(CasADi):
    """CasADi: the same expression as compiled C code."""

    FLAGS = ("-O2", "-march=native", "-fPIC", "-shared")

    def step_function(self, *arguments):
        """The whole step, in machine code."""
        function = super().step_function(*arguments)
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder) / "step.c", Path(folder) / "step.so"
            code = self.casadi.CodeGenerator(source.name)
            code.add(function)
            code.generate(folder + "/")
            subprocess.run(["gcc", *self.FLAGS, source, "-o", library, "-lm"], check=True)
            return self.casadi.external("step", str(library))


# ---- 6. All of them


class Peer(NamedTuple):
    """A row of the table.

    Attributes:
        name: the title of the row.
        build: a class above, called with a workload.
        kind: 'scalar', 'framework', 'loop' (many steps in a call), 'array' or 'compiled'.
        package: the package it imports, or '' if none.
        install: the name of that package for pip.
    """

    name: str
    build: Callable[..., Any]
    kind: str
    package: str = ""
    install: str = ""

    def missing(self):
        """The reason why it cannot run here, or '' if it can."""
        if self.package and find_spec(self.package) is None:
            return f"pip install {self.install}"
        if self.build is CompiledCasADi and not shutil.which("gcc"):
            return "needs gcc"
        if self.build is CompiledPyTorch and not shutil.which("g++"):
            return "needs g++"
        return ""


TORCH = ("framework", "torch", "torch")
LLVM = ("compiled", "llvmlite", "llvmlite")
CASADI = ("scalar", "casadi", "casadi")
PEERS = [
    Peer("this package, eager", Eager, "scalar"),
    Peer("CasADi, virtual machine", CasADi, *CASADI),
    Peer("CasADi, generated C", CompiledCasADi, *CASADI),
    Peer("PyTorch, eager", PyTorch, *TORCH),
    Peer("PyTorch, torch.compile", CompiledPyTorch, *TORCH),
    Peer("JAX, jit", JAX, "framework", "jax", "jax"),
    Peer("JAX, jit, many steps", LoopInJAX, "loop", "jax", "jax"),
    Peer("NumPy, by hand", NumPy, "array"),
    Peer("compiled, NumPy", partial(Compiled, executor="numpy"), "compiled"),
    Peer("compiled, NumPy, one call", partial(OneCall, executor="numpy"), "compiled"),
    Peer("compiled, NumPy, many steps", partial(ManySteps, executor="numpy"), "compiled"),
    Peer("compiled, LLVM", partial(Compiled, executor="llvm"), *LLVM),
    Peer("compiled, LLVM, one call", partial(OneCall, executor="llvm"), *LLVM),
    Peer("compiled, LLVM, many steps", partial(ManySteps, executor="llvm"), *LLVM),
    Peer("compiled, JAX", partial(Compiled, executor="jax"), "compiled", "jax", "jax"),
    Peer("compiled, JAX, many steps", partial(ManySteps, executor="jax"), "compiled", "jax", "jax"),
]


def peak():
    """Floating-point operations per second of this core, from the fastest large matrix product."""
    n = 1024
    A = np.random.default_rng(0).uniform(-1, 1, (n, n))
    products = [partial(np.matmul, A, A, out=np.empty_like(A))]
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        B = torch.tensor(A)
        products.append(partial(torch.mm, B, B, out=torch.empty_like(B)))
    return max(2 * n**3 / min(timeit.repeat(product, number=1, repeat=10)) for product in products)
