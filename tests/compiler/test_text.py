"""What a compiled function shows: its instructions, its source, its groups.

That a source computes what eager mode does is tested in test_random_programs.py and test_run.py.
"""

import random
from operator import itemgetter

import numpy as np
import pytest
from compiled import computed_by_matrices, computed_by_source, function_of, mlp, parameters_in, rows

import micrograd
from micrograd import Value, draw_dot
from micrograd.losses import cross_entropy
from micrograd.nn import MLP


def compiled(function, *examples):
    """The function, compiled for examples like these."""
    found = micrograd.compile(function, executor="numpy")
    found(*examples)
    return found


def test_the_source_of_a_list_is_the_results_alone():
    w1, w2, b = (Value(0.5, label=label) for label in ("w1", "w2", "b"))

    def neuron(x):
        return [(w1 * x[0] + w2 * x[1] + b).relu()]

    source = compiled(neuron, [[1.0, 2.0]]).scalar_source
    assert "[w1, w2, b] = parameters\n    [x_0, x_1] = inputs\n" in source
    assert function_of(source)([0.5, 0.5, 0.5], [[1.0], [2.0]]) == [[2.0]]
    assert "grad" not in source


def test_sources_are_reproducible_and_lines_are_short():
    random.seed(0)
    model = MLP(20, [10, 3])
    for p in model.parameters()[::3]:
        p.label = "a rather long name of a parameter"
    X, y = np.ones((2, 20)), [0, 1]
    one, other = (compiled(lambda x, k: cross_entropy(model(x), k), X, y) for _ in range(2))
    assert one.scalar_source == other.scalar_source
    assert max(map(len, one.scalar_source.splitlines())) <= 100


def test_labels_become_names_as_far_as_python_allows():
    labels = ["w", "w", "class", "größe", "of", "mean", "v1", "exp", "inputs", "p8", "", "x"]
    labels += ["w_grad", "layers[0].w", "results", "parameters", "inf", "take", "2nd"]
    parameters = [Value(i / 10, label=label) for i, label in enumerate(labels)]

    def of(x):
        return sum((p * x).tanh() * p for p in parameters)

    text = compiled(of, [0.5]).scalar_source
    names = parameters_in(text)
    known = dict(zip(labels, names, strict=True))
    assert len(set(names)) == len(labels)
    assert itemgetter("größe", "layers[0].w", "")(known) == ("größe", "layers_0_w", "p10")
    assert not {"x", "mean", "exp", "inputs", "parameters", "inf", "class"} & set(names)
    for p, name in zip(parameters, names, strict=True):
        p.label = name
    x = np.array([0.5, -1.5])
    mean, _ = computed_by_source(compiled(of, x), parameters, x)
    assert mean == pytest.approx(sum(of(number).data for number in x) / 2, rel=1e-12)


def test_the_source_of_a_branch_that_is_not_chosen_has_no_effect():
    w = Value(2.0)
    chosen = compiled(lambda x: [micrograd.where(x > 0, (w * x).log(), w / x)], [1.0])
    [found] = function_of(chosen.scalar_source)([2.0], [[-1.0, 0.5, 0.0]])
    assert found.tolist() == [-2.0, 0.0, np.inf]


def test_nothing_is_shown_before_the_first_call():
    function = micrograd.compile(lambda x: x * Value(2.0))
    for show in (
        lambda: function.scalar_source,
        lambda: function.groups,
        lambda: function.instructions,
        lambda: draw_dot(function),
    ):
        with pytest.raises(RuntimeError, match=r"is not compiled yet.*call it once"):
            show()


# ---- the source at the level of matrices


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
