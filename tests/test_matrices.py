"""The source of a compiled function at the level of matrices."""

import numpy as np
import pytest
from compiled import computed_by_matrices, mlp, rows

import micrograd
from micrograd import Value
from micrograd.losses import cross_entropy


def test_a_network_takes_some_thirty_lines_which_give_its_loss_and_gradients():
    model = mlp(10, 32, 32, 3)

    @micrograd.compile
    def function(x, label):
        return cross_entropy(model(x), label)

    X, labels = rows(20, 10), np.arange(20) % 3
    batch = function(X, labels)
    batch.backward()
    assert len(function.source.splitlines()) < 40
    assert function.source.count("@") == 8  # three layers forward, two back, three gradients
    mean, gradients = computed_by_matrices(function, model.parameters(), X, labels)
    assert mean == pytest.approx(batch.data, rel=1e-12)
    for p, gradient in gradients.items():
        assert gradient == pytest.approx(p.grad, rel=1e-9, abs=1e-12)


def test_several_results_and_functions_without_arguments():
    w = Value(2.0)
    namespace = {}
    several = micrograd.compile(lambda x: [w * x, w * 3])
    several([1.0, 3.0])
    exec(several.source, namespace)
    first, second = namespace["f"](np.array([2.0]), [1.0, 3.0])
    assert (first.tolist(), second) == ([2.0, 6.0], 6.0)
    square = micrograd.compile(lambda: w * w)
    square()
    exec(square.source, namespace)
    mean, gradients = namespace["f"](np.array([3.0]))
    assert (mean, gradients.tolist()) == (9.0, [6.0])


def test_names_in_the_source_are_made_from_those_of_the_user():
    w = Value(2.0)

    def exp(one, maximum):
        return w * one.exp() + maximum

    function = micrograd.compile(exp)
    mean = function([0.5, 1.0], [1.0, 2.0]).data
    namespace = {}
    exec(function.source, namespace)
    assert namespace["exp_2"](np.array([2.0]), [0.5, 1.0], [1.0, 2.0])[0] == pytest.approx(mean)
