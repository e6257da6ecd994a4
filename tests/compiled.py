"""Compiled functions, compared with the engine on one example at a time."""

import random
import re

import numpy as np
import pytest

import micrograd
from micrograd import Value, take
from micrograd.nn import MLP, Linear


def skip_without(executor):
    """Skips the test if the package of this executor is not installed."""
    if executor in ("llvm", "jax"):
        pytest.importorskip({"llvm": "llvmlite", "jax": "jax"}[executor])


JAX = pytest.param("jax", marks=pytest.mark.slow)  # takes a second to compile each program
ALL_EXECUTORS = pytest.mark.parametrize(
    "executor", ["numpy", "llvm", JAX], indirect=True, scope="module"
)


def on_executors(name, cases, on_jax, executors=("numpy", "llvm"), every=1):
    """Cases on these executors, by default one of `every` so many; on JAX, which is slow, some."""
    given = [(case, run_by, i % every > 0) for i, case in enumerate(cases) for run_by in executors]
    given += [(case, "jax", True) for case in on_jax]
    cases = [pytest.param(*case, marks=[pytest.mark.slow] * late) for *case, late in given]
    return pytest.mark.parametrize((name, "executor"), cases, indirect=["executor"], scope="module")


def function_of(text):
    """The function that a text defines; it takes the parameters, and a row for each input."""
    names = {}
    exec(compile(text, "<program>", "exec"), names)

    @np.errstate(all="ignore")  # 1 / 0 is infinite, as in the executors
    def program(parameters, inputs):
        return names["program"](np.array(parameters, float), np.array(inputs, float))

    return program


def parameters_in(source):
    """The names of the parameters in a source, in order."""
    names = re.search(r"\[([^]]*)\] = parameters", source)
    return names[1].replace(",", " ").split() if names else []


def computed_by_source(compiled, parameters, *arguments):
    """The mean, and its gradient by each parameter, from the scalar source run as Python.

    The labels of the parameters have to be different names.
    """
    source = compiled.scalar_source
    named = {p.label: p for p in parameters}
    used = [named[name] for name in parameters_in(source)]
    inputs = np.concatenate([np.reshape(a, (len(a), -1)) for a in arguments], axis=1).T
    mean, gradients = function_of(source)([p.data for p in used], inputs)
    return mean, dict.fromkeys(parameters, 0.0) | dict(zip(used, gradients, strict=True))


def computed_by_matrices(compiled, parameters, *arguments):
    """The same from the source at the level of matrices."""
    namespace = {}
    exec(compiled.source, namespace)
    used = compiled.parameters
    mean, gradients = namespace["function"](np.array([p.data for p in used]), *arguments)
    return mean, dict.fromkeys(parameters, 0.0) | dict(zip(used, gradients, strict=True))


def examples_of(*arguments):
    """The arguments of the call for each example, as plain numbers and lists."""
    arrays = [np.asarray(a) for a in arguments]
    n = max([len(a) for a in arrays if a.ndim], default=1)
    rows = [a.tolist() if a.ndim else [a.item()] * n for a in arrays]
    return [tuple(argument[i] for argument in rows) for i in range(n)]


def by_engine(function, parameters, *arguments):
    """Results, their mean, and its gradients, computed by the engine."""
    for p in parameters:
        p.grad = 0
    values = [Value(0.0) + function(*example) for example in examples_of(*arguments)]
    mean = sum(values) / len(values)
    mean.backward()
    return [v.data for v in values], mean.data, [p.grad for p in parameters]


def by_batch(batch, parameters):
    """The same for a compiled batch."""
    for p in parameters:
        p.grad = 0
    batch.backward()
    return np.broadcast_to(batch.lanes, batch.n), batch.data, [p.grad for p in parameters]


def assert_close(found, expected, scale=None):
    """Equal up to 1e-12 of each number, or of the scale if numbers cancel; NaN equals NaN."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * (scale or 0))


def assert_agrees(function, parameters, *arguments, compiled=None, scale=None):
    compiled = compiled or micrograd.compile(function)
    expected = by_engine(function, parameters, *arguments)
    found = by_batch(compiled(*arguments), parameters)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, scale)
    return compiled


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def attention():
    """A function of short sequences of tokens, its parameters, and the arguments of n examples."""
    random.seed(2)
    table = [[Value(random.uniform(-1, 1)) for _ in range(2)] for _ in range(5)]
    q, k, v = Linear(2, 3), Linear(2, 3), Linear(2, 3)

    def loss(tokens):
        x = [take(table, token) for token in tokens]
        queries, keys, values = map(q, x), list(map(k, x)), list(map(v, x))
        total = Value(0.0)
        for query in queries:
            scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
            weights = [score.exp() for score in scores]
            mixed = [sum(w * u[d] for w, u in zip(weights, values, strict=True)) for d in range(3)]
            total = total + (sum(mixed) / sum(weights)) ** 2
        return total

    parts = [*table, *(layer.parameters() for layer in (q, k, v))]
    examples = np.random.default_rng(0).integers(0, 5, size=(20, 4))
    return loss, [p for part in parts for p in part], lambda n: (examples[:n],)


def mlp(*sizes, seed=0, activation="relu"):
    random.seed(seed)
    return MLP(sizes[0], list(sizes[1:]), activation=activation)
