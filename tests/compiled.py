"""Compiled functions, compared with the engine on one example at a time."""

import random
import re

import numpy as np
import pytest

import micrograd
from micrograd import Value
from micrograd.nn import MLP


def skip_without(executor):
    """Skips the test if the package of this executor is not installed."""
    if executor in ("llvm", "jax"):
        pytest.importorskip({"llvm": "llvmlite", "jax": "jax"}[executor])


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


def mlp(*sizes, seed=0, activation="relu"):
    random.seed(seed)
    return MLP(sizes[0], list(sizes[1:]), activation=activation)
