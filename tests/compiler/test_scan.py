"""`scan` in compiled functions: loops of random steps against eager mode, and what people write.

The random steps are programs of `test_random_programs.py`, whose results become the next state. As
a command, this file compares more of them than the tests do:

    PYTHONPATH=tests python tests/compiler/test_scan.py --loops 2000 --jax 100
"""

# ruff: noqa: T201  # the command prints

import argparse
import math
import random
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest
from compiled import skip_without
from test_random_programs import LARGEST, STEEPEST, TOLERANCE, Program, error

from micrograd import MLP, SGD, Value, compile, derivative, fit, scan, take, values, where

LENGTHS = [0, 1, 2, 3, 8, 30]


class RandomLoop:
    """A loop whose step is a random program, with the parameters and a batch of that program.

    The state are the first inputs of the program. A step reads an index, its other inputs, and
    numbers from outside: parameters, a number of the example, and a result of both.
    """

    def __init__(self, seed):
        rng = random.Random(seed)
        self.program = program = Program(10**6 + seed)
        self.parameters = program.parameters
        width = len(program.inputs[0])
        self.n_states = rng.randint(1, width)
        self.count = rng.choice(LENGTHS) if seed % 50 else 500
        n = rng.choice([1, 1, 2, 5])
        shape = (self.count, width - self.n_states)
        self.is_uniform = rng.random() < 0.2  # the same loop for all examples
        lanes = range(1 if self.is_uniform else n)
        self.indices = [[rng.randrange(3) for _ in range(self.count)] for _ in lanes]
        self.xs = [np.array([rng.uniform(-2, 2) for _ in range(math.prod(shape))]).reshape(shape)
                   for _ in lanes]  # fmt: skip
        self.scales = [rng.uniform(0.5, 2) for _ in range(n)]
        self.order = [*range(n)]
        if seed % 5 == 4:
            many = round(math.exp(rng.uniform(0, math.log(5000 if self.count < 100 else 50))))
            self.order = [rng.randrange(n) for _ in range(many)]
        self.has_outputs, self.is_first_value = rng.random() < 0.7, rng.random() < 0.5
        self.share = rng.choice([0.5, 0.9, 1.0])

    def loss(self, scale, indices=None, xs=None):
        indices, xs = (self.indices[0], self.xs[0]) if indices is None else (indices, xs)
        outside = self.parameters[0] * (self.share if self.is_uniform else scale)

        def step(state, read):
            index, x = read
            nodes = [index, *self.parameters, *map(as_value, [*state, *x])]
            program_results = self.program.results(nodes)
            new = [(v + outside).tanh() * self.share for v in [*program_results, *nodes[-3:]]]
            new = (new * self.n_states)[: self.n_states]
            return new, (program_results[0].tanh() if self.has_outputs else None)

        first = self.program.inputs[0][: self.n_states]
        start = [Value(x) if self.is_first_value else x for x in first]
        if self.is_first_value and not self.is_uniform:
            start = [v * scale for v in start]
        steps = [*zip(indices, xs, strict=True)]
        last, outputs = scan(step, start, steps)
        total = sum((v * (k + 1) for k, v in enumerate(last)), Value(0.0))
        if self.has_outputs and outputs:
            total = total + outputs[0] * 0.25 + sum(outputs) / len(outputs)
        return total * scale

    def eager(self):
        """The results, gradients of the mean, and the scale of errors; None if not comparable."""
        for p in self.parameters:
            p.grad = 0
        try:
            read = [()] * len(self.scales) if self.is_uniform else zip(self.indices, self.xs)
            results = [self.loss(s, *r) for s, r in zip(self.scales, read, strict=True)]
            lanes = Counter(self.order)
            total = sum(lanes[i] * v for i, v in enumerate(results) if lanes[i])
            (Value(0.0) + total / len(self.order)).backward()
        except (ArithmeticError, ValueError):
            return None
        gradients = [p.grad for p in self.parameters]
        scale = max(1.0, *map(abs, gradients))
        if not scale < STEEPEST or not all(abs(v.data) < LARGEST for v in results):
            return None
        return [results[i].data for i in self.order], gradients, scale

    @property
    def batch(self):
        arrays = [np.array(self.scales)[self.order]]
        if not self.is_uniform:
            arrays += [np.array(self.indices)[self.order], np.array(self.xs)[self.order]]
        return arrays


def as_value(x):
    return x if isinstance(x, Value) else Value(x)


def errors(loop, executor, expected):
    lanes, gradients, scale = expected
    compiled = compile(loop.loss, executor=executor)
    for p in loop.parameters:
        p.grad = 0
    found = compiled(*loop.batch)
    found.backward()
    yield "result", error(found.lanes, lanes, scale)
    yield "gradient", error([p.grad for p in loop.parameters], gradients, scale)


def main():
    """Compares random loops and prints how many, and the largest error of each executor."""
    parser = argparse.ArgumentParser(description="Random loops on all executors against eager.")
    parser.add_argument("--loops", type=int, default=200, help="how many (200)")
    parser.add_argument("--jax", type=int, default=0, help="how many of them with JAX, too (0)")
    parser.add_argument("--seed", type=int, default=0, help="of the first loop (0)")
    options = parser.parse_args()
    wanted = {"numpy": options.loops, "llvm": options.loops, "jax": options.jax}
    packages = {"numpy": "numpy", "llvm": "llvmlite", "jax": "jax"}
    counts, largest = Counter(), Counter()
    for i in range(options.loops):
        loop = RandomLoop(options.seed + i)
        if not loop.program.steps or (expected := loop.eager()) is None:
            continue
        for name, n in wanted.items():
            if i < n and find_spec(packages[name]):
                try:
                    found = [*errors(loop, name, expected)]
                except Exception as e:
                    print(f"{name} seed {options.seed + i}: {type(e).__name__} {e}"[:300]); continue
                for what, off in found:
                    counts[name, what] += 1
                    largest[name, what] = max(largest[name, what], off)
                    if off > TOLERANCE:
                        print(f"{name}, {what} off by {off}, seed {options.seed + i}, T {loop.count} u {loop.is_uniform}")
    for (name, what), count in counts.items():
        print(f"{name:8}{what:12}{count:>10,}{largest[name, what]:>10.0e}")


if __name__ == "__main__":
    main()
