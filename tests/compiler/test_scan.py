"""`scan` in compiled functions: loops of random steps against eager mode, and what people write.

The random steps are programs of `test_random_programs.py`, whose results become the next state. As
a command, this file compares more of them than the tests do:

    PYTHONPATH=tests python tests/compiler/test_scan.py --programs 2000 --jax 100
"""

import math
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from compiled import ALL_EXECUTORS, computed_by_matrices
from random_programs import LARGEST, STEEPEST, TOLERANCE, Program, compare, error

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
            read = (
                [()] * len(self.scales)
                if self.is_uniform
                else zip(self.indices, self.xs, strict=True)
            )
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


def errors(loop, executor):
    """Pairs: what this executor computes in another way than eager mode, and the error."""
    if not loop.program.steps or not (expected := loop.eager()):
        return
    lanes, gradients, scale = expected

    def function(*arguments):
        return loop.loss(*arguments)

    compiled = compile(function, executor=executor)
    for p in loop.parameters:
        p.grad = 0
    found = compiled(*loop.batch)
    found.backward()
    yield "result", error(found.lanes, lanes, scale)
    yield "gradient", error([p.grad for p in loop.parameters], gradients, scale)
    if executor == "numpy" and loop.count < 100:
        mean, slopes = computed_by_matrices(compiled, loop.parameters, *loop.batch)
        yield "mean", error(mean, math.fsum(lanes) / len(lanes), scale)
        yield "gradient", error([slopes[p] for p in loop.parameters], gradients, scale)


@ALL_EXECUTORS
def test_a_loop_without_examples_in_a_loop_over_them(executor):
    w, v = Value(0.9), Value(0.3)

    def loss(x):
        def step(state, _):
            total, _ = scan(lambda y, _: (y * w + v, None), v, length=4)
            product, _ = scan(lambda y, _: (y * v * w, None), v, length=4)  # with the same operands
            return state * total + w * product, None

        return scan(step, x, length=5)[0]

    xs = [1.0, 2.0]
    (sum(loss(Value(x)) for x in xs) / 2).backward()
    expected = w.grad, v.grad
    w.grad = v.grad = 0
    compile(loss, executor=executor)(xs).backward()
    assert (w.grad, v.grad) == pytest.approx(expected, rel=1e-12)


@ALL_EXECUTORS
def test_random_loops_agree_with_eager_mode(executor, effort, record_property):
    compared = 0
    seeds = range(1, 1 + {"numpy": 8 * effort, "llvm": 5 * effort, "jax": 4}[executor])
    for seed in seeds:
        loop = RandomLoop(seed)
        for what, off in errors(loop, executor):
            assert off <= TOLERANCE, f"a {what} is off by {off}, seed {seed}:\n{loop.program}"
            compared += what == "result"
    record_property("count", f"{compared:,} random loops compared")
    assert compared > 0.7 * len(seeds)


# ---- what people write


def assert_as_eager(function, parameters, executor, *arguments):
    """Checks the mean of the function over a batch, and its gradients."""
    found = []
    for is_compiled in (False, True):
        for p in parameters:
            p.grad = 0
        if is_compiled:
            mean = compile(function, executor=executor)(*arguments)
        else:
            rows = zip(*(np.asarray(a).tolist() for a in arguments), strict=True)
            results = [function(*row) for row in rows]
            mean = sum(results) / len(results)
        mean.backward()
        found.append([mean.data, *(p.grad for p in parameters)])
    assert found[1] == pytest.approx(found[0], abs=1e-12)


@ALL_EXECUTORS
def test_a_recurrent_network_with_a_table_and_targets_of_every_step(executor):
    rng = np.random.default_rng(0)
    table, W = values(rng.normal(size=(3, 2))), values(rng.normal(size=(2, 4)))
    readout, bias = values(rng.normal(size=(2, 3))), Value(0.1)

    def loss(letters):
        def step(hidden, pair):
            letter, following = pair
            hidden = np.tanh(W @ np.concatenate([take(table, letter), hidden]) + bias)
            logits = hidden @ readout
            return hidden, np.exp(logits).sum().log() - take(logits, following)

        _, losses = scan(step, np.zeros(2), [*pairwise(letters)])
        return sum(losses) / len(losses)

    parameters = [*table.flat, *W.flat, *readout.flat, bias]
    assert_as_eager(loss, parameters, executor, rng.integers(0, 3, (4, 6)))


@ALL_EXECUTORS
def test_states_of_all_forms_and_loops_in_loops(executor):
    w, v = Value(0.7), Value(-0.3)

    def inner(total, x):
        return total * w + x * v, None

    def outer(state, x):
        total, _ = scan(inner, state["total"], [x, state["n"], 2.0])
        return {"total": total, "n": state["n"] + 1.0}, total * x

    def loss(x, y):
        final, outputs = scan(outer, {"total": x * v, "n": 0.0}, [x, y, x * w, 1.0])
        return final["total"] * y + outputs[1] + final["n"]

    assert_as_eager(loss, [w, v], executor, [0.5, -1.0, 0.25], [1.0, 2.0, 3.0])


@ALL_EXECUTORS
def test_a_derivative_inside_of_a_step_and_one_of_a_loop(executor):
    w = Value(1.5)

    def descent(x, _):  # of (w x - 1)^2, so that the result depends on w through derivatives
        return x - 0.1 * derivative(lambda z: (w * z - 1.0) ** 2, x), None

    assert_as_eager(lambda x: scan(descent, x, length=5)[0] ** 2, [w], executor, [0.5, 2.0])
    power = compile(
        lambda x: derivative(
            lambda z: scan(lambda y, _: (y * z, None), 1.0, length=4)[0], x, order=2
        )
    )
    assert power([2.0, 3.0]).lanes.tolist() == [48.0, 108.0]


def test_the_program_does_not_grow_with_the_steps():
    w = Value(0.5)

    def instructions(n):
        f = compile(lambda x: scan(lambda y, _: ((w * y + x).tanh(), None), x, length=n)[0])
        f([1.0])
        return len(f.instructions), len(f.groups)

    assert instructions(10) == instructions(10_000)


def test_a_loop_has_a_text_of_matrices_alone():
    f = compile(lambda x: scan(lambda y, _: (y * x, None), x, length=3)[0], executor="numpy")
    f([1.0])
    assert "for v1 in range(3):" in f.source
    with pytest.raises(ValueError, match=r"with a loop of `scan` .* use `source`"):
        _ = f.scalar_source


@ALL_EXECUTORS
def test_training_steps_and_results_in_a_list(executor):
    model = MLP(3, [4, 2], activation="tanh")

    def both(x, y):
        last, _ = scan(lambda h, u: (model([*h, u]), None), [0.0, 0.0], x)
        return [(last[0] - y) ** 2, last[1]]

    def loss(x, y):
        return both(x, y)[0]

    X, y = np.random.default_rng(1).normal(size=(6, 5)), np.linspace(-0.5, 0.5, 6)
    before = [p.data for p in model.parameters()]
    runs = []
    for is_compiled in (False, True):
        for p, x in zip(model.parameters(), before, strict=True):
            p.data, p.grad = x, 0
        if is_compiled:
            second = compile(both, executor=executor)(X, y)[1]
        else:
            second = sum(both(x.tolist(), t)[1] for x, t in zip(X, y, strict=True)) / 6
        second.backward()
        gradients = [p.grad for p in model.parameters()]
        optimizer = SGD(model.parameters(), lr=0.1)
        if is_compiled:
            losses = fit(compile(loss, executor=executor), X, y, optimizer, steps=3)
        else:
            losses = []
            for _ in range(3):
                optimizer.zero_grad()
                total = sum(loss(x.tolist(), t) for x, t in zip(X, y, strict=True)) / 6
                total.backward()
                optimizer.step()
                losses.append(total.data)
        runs.append([*gradients, *losses, *(p.data for p in model.parameters())])
    assert runs[1] == pytest.approx(runs[0])


def test_a_step_that_changes_something_else_is_an_error():
    seen, w = [], Value(2.0)

    def step(y, _):
        seen.append(y)
        return w * y, None

    with pytest.raises(ValueError, match="changes something outside"):
        compile(lambda x: scan(step, x, length=3)[0])([1.0])


def test_wrong_calls_are_errors():
    with pytest.raises(TypeError, match=r"returns a tuple \(state, output\), got 1\.0"):
        scan(lambda y, _: y, 1.0, length=2)
    with pytest.raises(TypeError, match="expects xs or length"):
        scan(lambda y, _: (y, None), 1.0)
    with pytest.raises(ValueError, match="got 2 entries as xs, but length=3"):
        scan(lambda y, _: (y, None), 1.0, [1.0, 2.0], length=3)
    for columns in ([1.0, 2.0], [3.0, 4.0]), {"x": [1.0, 2.0]}:
        with pytest.raises(
            TypeError, match=r"expects xs as a list of entries, .*write zip\(a, b\)"
        ):
            scan(lambda y, _: (y, None), 1.0, columns)


@ALL_EXECUTORS
def test_a_loop_without_a_state(executor):
    w = Value(0.7)

    def step(_, x):
        return None, (w * x).tanh()

    def loss(x, xs):
        pairs = zip([x, 2.0], xs, strict=True)
        _, products = scan(lambda _, pair: (None, pair[0] * pair[1] * w), None, pairs)
        return sum(scan(step, None, xs)[1]) + sum(products)

    assert_as_eager(loss, [w], executor, np.array([1.0, 2.0]), np.ones((2, 2)))


@ALL_EXECUTORS
def test_steps_of_different_forms_are_recorded_one_by_one(executor):
    w = Value(0.5)

    def step(history, x):
        return [*history, history[-1] * w + x], None

    assert_as_eager(lambda x: sum(scan(step, [x], [1.0, 2.0])[0]), [w], executor, [1.0, 3.0])


@ALL_EXECUTORS
def test_a_choice_in_each_lane(executor):
    w = Value(0.8)

    def step(x, i):
        return where(x < 3.0, x * 1.5 + w, x), x.maximum(i)

    def loss(x):
        last, outputs = scan(step, Value(1.0) * x, range(6))
        return last + outputs[2]

    assert_as_eager(loss, [w], executor, [0.1, 1.0, 5.0])


if __name__ == "__main__":
    compare(RandomLoop, lambda loop, executor, _: errors(loop, executor))
