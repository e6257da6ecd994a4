"""Random programs of all operations, for Values, traced numbers and tensors."""

# ruff: noqa: T201  # the command prints

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from operations import TABLE

from micrograd import Value, compile, local_derivatives, take, where

LARGEST, STEEPEST = 100, 1e6  # limits for numbers, and for a number times its gradient
NEAR = 0.01  # this close to a point where a function breaks, only round numbers are allowed
ROUND = [-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5]
TOLERANCE = 1e-9


class Operation(NamedTuple):
    """An operation, or a few of them as in a layer, for Values and for tensors.

    Attributes:
        arity: number of operands, without weights and the index of `take`.
        function: returns a result or a list of results.
        break_at: a number, computed from the operands, at whose zero the function or its derivative
            is discontinuous.
        is_exact: whether round operands give round results, as in sums, products and choices.
        compared: how many of the operands, the first ones, are compared with one another.
        weights: number of parameters that follow the operands, neighbours in the list of all.
    """

    name: str
    arity: int
    function: Callable
    in_pytorch: Callable
    break_at: Callable | None = None
    is_exact: bool = False
    compared: int = 2
    weights: int = 0


def first(a, *_):
    return a


def difference(a, b, *_):
    return a - b


def larger_than_one(a):
    import torch

    return a.maximum(torch.ones_like(a))


def choice_in_pytorch(a, b, c, d):
    import torch

    return torch.where(a < b, c, d)


def smallest_difference(*numbers):
    return min(b - a for a, b in pairwise(sorted(numbers)))


def neuron(inputs, weights, bias):
    return sum(w * x for w, x in zip(weights, inputs, strict=True)) + bias


def layer(x, y, z, *weights):
    """Three neurons of the same three inputs."""
    return [neuron((x, y, z), weights[k : k + 3], weights[9 + k // 3]) for k in (0, 3, 6)]


def positions(x, y, z, u, v, w, *weights):
    """The same layer at two positions of a sequence."""
    return layer(x, y, z, *weights) + layer(u, v, w, *weights)


def same(name, arity, function, **more):
    """An operation that is written in the same way for Values and for tensors."""
    return Operation(name, arity, function, function, **more)


BREAKS = {
    "a / b": lambda a, b: b, "3 / a": first, "a ** b": first, "a ** -3": first, "a ** 0.5": first,
    "abs(a)": first, "log": first, "sqrt": first, "relu": first, "maximum": difference,
    "minimum": difference, "maximum of 1": lambda a: a - 1, "tan": lambda a: math.cos(a),
    "arcsin": lambda a: 1 - abs(a), "arccos": lambda a: 1 - abs(a), "log1p": lambda a: a + 1,
}  # fmt: skip
OTHERWISE = {"maximum of 1": larger_than_one, "softplus": lambda a: a.logaddexp(0 * a)}
OPERATIONS = [
    *[
        Operation(
            row.name, len(row.points[0]), row.function, OTHERWISE.get(row.name, row.function),
            BREAKS.get(row.name), row.exact and "/" not in row.name and "**" not in row.name,
        )
        for row in TABLE
        if not row.name.startswith("arctan2")  # the sign of a zero decides between pi and -pi
    ],
    same("arctan2", 2, lambda a, b: a.arctan2(b * b + 0.25)),
    Operation("where <", 4, lambda a, b, c, d: where(a < b, c, d), choice_in_pytorch,
              difference, is_exact=True),
    Operation("where >=", 4, lambda a, b, c, d: where(a >= b, d, c), choice_in_pytorch,
              difference, is_exact=True),
    Operation("take", 3, lambda i, *table: take(table, i), lambda i, *table: table[i],
              is_exact=True),
    Operation("take by a computed index", 4, lambda i, *table: take(table, 3 - i),
              lambda i, *table: table[3 - i], is_exact=True),
    same("layer", 3, layer, is_exact=True, weights=12),
    same("layer at two positions", 6, positions, is_exact=True, weights=12),
    same("sum of products", 7, lambda a, b, c, d, e, f, g: a * b - c * d + e * f - g - d,
         is_exact=True),
    same("sum", 6, lambda a, b, c, d, e, f: a + b - (c - d) + e + f, is_exact=True),
    same("largest", 4, lambda a, b, c, d: a.maximum(b).maximum(c).maximum(d),
         break_at=smallest_difference, is_exact=True, compared=4),
    same("smallest", 3, lambda a, b, c: a.minimum(b).minimum(c), break_at=smallest_difference,
         is_exact=True, compared=3),
]  # fmt: skip


class Program:
    """A random program, with its parameters and a batch of inputs.

    Its nodes are an index, the parameters, the inputs, then the result of each step.
    """

    def __init__(self, seed):
        rng = random.Random(seed)
        n = rng.choice([1, 2, 3, 4, 14])
        self.parameters = [Value(number(rng), label=f"p{i}") for i in range(n)]
        width = rng.randint(1, 3)
        n = rng.choice([1, 2, 3, 8, 11, 35])
        self.inputs = [[number(rng) for _ in range(width)] for _ in range(n)]
        self.indices = [rng.randrange(3) for _ in range(n)]
        self.steps = []
        self.restart()
        for _ in range(rng.randint(3, 25)):
            self.grow(rng)
        self.n_results = rng.choice([1, 1, min(3, len(self.steps))])
        self.order = list(range(n))  # the example in each lane
        if seed % 5 == 4:
            lanes = round(math.exp(rng.uniform(0, math.log(5000))))
            self.order = [rng.randrange(n) for _ in range(lanes)]
        self.batch = np.array(self.inputs)[self.order], np.array(self.indices)[self.order]

    def restart(self):
        """Forgets all results, and takes the parameters as they are now."""
        self.examples = [  # eager nodes, a list for each example
            [i, *self.parameters, *map(Value, xs)]
            for i, xs in zip(self.indices, self.inputs, strict=True)
        ]
        self.is_exact = [all(map(is_round, column)) for column in zip(*self.examples, strict=True)]

    def grow(self, rng):
        """Adds a random step, unless it has to be skipped."""
        operation = rng.choice(OPERATIONS)
        size = len(self.is_exact)
        places = [
            rng.randrange(1, size) if rng.random() < 0.3
            else max(1, size - 1 - int(rng.expovariate(0.3)))
            for _ in range(operation.arity)
        ]  # fmt: skip
        start = rng.randrange(99)
        places += [1 + (start + k) % len(self.parameters) for k in range(operation.weights)]
        step = operation, [0, *places] if "take" in operation.name else places
        if self.evaluate(*step):
            self.steps.append(step)

    def evaluate(self, operation, places):
        """Whether this step can be compared; if so, its results are added to the examples."""
        exact = all(self.is_exact[i] for i in places)
        new = []
        for nodes in self.examples:
            operands = [nodes[i] for i in places]
            gap = operation.break_at(*[v.data for v in operands]) if operation.break_at else 1.0
            is_itself = operation.arity > 1 and len(set(places[: operation.compared])) == 1
            if abs(gap) < NEAR and not exact and not is_itself:
                return False
            try:
                new.append(as_list(operation.function(*operands)))
                if gap <= 0:  # backward() would not notice if another branch is chosen
                    local_derivatives(new[-1][0])
            except (ArithmeticError, ValueError):
                return False
            if not all(abs(v.data) <= LARGEST for v in new[-1]):
                return False
        for nodes, results in zip(self.examples, new, strict=True):
            nodes += results
        for column in zip(*new, strict=True):
            self.is_exact.append(exact and operation.is_exact and all(map(is_round, column)))
        return True

    def results(self, nodes, in_pytorch=False):
        """The results of the program on Values, traced numbers, or tensors."""
        nodes = list(nodes)
        for operation, places in self.steps:
            function = operation.in_pytorch if in_pytorch else operation.function
            nodes += as_list(function(*[nodes[i] for i in places]))
        return nodes[-self.n_results :]

    def eager(self, k):
        """The k-th result in each lane, the gradients of its mean, and the scale of errors.

        None if eager mode refuses to differentiate, or if the program is too steep to compare.
        """
        for p in self.parameters:
            p.grad = 0
        results = [nodes[len(nodes) - self.n_results + k] for nodes in self.examples]
        lanes = Counter(self.order)
        try:
            total = sum(lanes[i] * result for i, result in enumerate(results) if lanes[i])
            (Value(0.0) + total / len(self.order)).backward()
        except (ArithmeticError, ValueError):
            return None
        nodes = [v for nodes in self.examples for v in nodes[1:]]
        scale = max(1.0, *[abs(v.grad) * max(1.0, abs(v.data)) for v in nodes])
        if not scale < STEEPEST:
            return None
        return [results[i].data for i in self.order], [p.grad for p in self.parameters], scale

    def trained(self, make, steps):
        """The means and the parameters of so many eager steps, or fewer, and the scale of errors.

        Training ends early where a step could not be compared. Afterwards the parameters are as
        before.
        """
        before = [p.data for p in self.parameters]
        optimizer, means, after, largest = make(self.parameters), [], before, 1.0
        for _ in range(steps):
            self.restart()
            comparable = all(self.evaluate(*step) for step in self.steps)
            if not comparable or not (expected := self.eager(0)):
                break
            lanes, _, scale = expected
            optimizer.step()
            means.append(math.fsum(lanes) / len(lanes))
            after, largest = [p.data for p in self.parameters], max(largest, scale)
        self.set_parameters(before)
        self.restart()
        for step in self.steps:
            self.evaluate(*step)
        return means, after, largest

    def set_parameters(self, numbers):
        for p, x in zip(self.parameters, numbers, strict=True):
            p.data, p.grad = x, 0

    def compiled(self, executor):
        def function(x, index):
            results = self.results([index, *self.parameters, *map(Value, x)])
            return results if self.n_results > 1 else results[0]

        return compile(function, executor=executor)

    def __str__(self):
        leaves = f"parameters {[p.data for p in self.parameters]}, inputs {self.inputs}"
        steps = [f"{operation.name} of {places}" for operation, places in self.steps]
        sizes = f"indices {self.indices}, {len(self.order)} lanes, {self.n_results} results"
        return "\n".join([leaves, sizes, *steps])


def as_list(results):
    return results if isinstance(results, list) else [results]


def number(rng):
    return rng.choice(ROUND) if rng.random() < 0.5 else rng.uniform(-2, 2)


def is_round(x):
    x = x.data if isinstance(x, Value) else x
    return abs(x) <= LARGEST and x * 2**20 == int(x * 2**20)


def error(found, expected, scale):
    """The largest difference, relative to the scale of errors; infinite if the shape differs."""
    if np.shape(found) != np.shape(expected):
        return math.inf
    difference = np.abs(np.subtract(found, expected)).max()
    return math.inf if math.isnan(difference) else difference / scale


def compare(made, errors):
    """The command of a test file: compares programs and prints how many, and the largest errors.

    `made(seed)` is a program; `errors(program, executor, i)` are pairs of what the executor
    computes and the error.
    """
    parser = argparse.ArgumentParser(description="Random programs on all executors against eager.")
    parser.add_argument("--programs", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--jax", type=int, default=0, help="how many of them with JAX, too (0)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (0)")
    options = parser.parse_args()
    wanted = {"numpy": options.programs, "llvm": options.programs, "jax": options.jax}
    packages = {"numpy": "numpy", "llvm": "llvmlite", "jax": "jax"}
    counts, largest, lanes = Counter(), Counter(), 0
    for i in range(options.programs):
        program = made(options.seed + i)
        lanes = max(lanes, len(program.order))
        for name, n in wanted.items():
            for what, off in (
                errors(program, name, i) if i < n and find_spec(packages[name]) else ()
            ):
                counts[name, what] += 1
                largest[name, what] = max(largest[name, what], off)
                if off > TOLERANCE:
                    print(f"{name}, {what} off by {off}, seed {options.seed + i}:\n{program}")
    print(f"{options.programs:,} programs of {len(OPERATIONS)} operations, up to {lanes:,} lanes;")
    print("compared with eager mode, and the largest error relative to the largest number:")
    for (name, what), count in counts.items():
        print(f"{name:8}{what:22}{count:>10,}{largest[name, what]:>10.0e}")
