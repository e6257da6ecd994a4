"""Scores of many points at once."""

import numpy as np
import pytest
from plotting import X

from micrograd.engine import Value
from micrograd.nn import MLP
from micrograd.plot.plane import Plane
from micrograd.plot.scores import ArrayNumber, scores


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "linear"])
def test_many_numbers_at_once_give_the_same_answers(activation):
    network = MLP(2, [5, 3, 2], activation=activation)
    grid = Plane(X, 7).grid
    at_once = scores(network, grid, 2, as_values=True)
    assert np.allclose(at_once, scores(network, grid, 2), atol=1e-12)


def test_every_operation_works_on_array_numbers():
    def model(point):
        a, b = point
        z = (a.exp() + 2).log() * b.sin() / (a.cos() + 3) - abs(b) ** 2.5 + 1 / (3 + a * a)
        return z.maximum(-1).minimum(a) + (b * b + 1).sqrt() + 2 ** (a / 4) - b**2

    asked = []

    def counted(point):
        asked.append(point)
        return model([x if isinstance(x, Value) else Value(x) for x in point])

    grid = Plane(X, 9).grid
    assert np.allclose(scores(counted, grid, as_values=True), scores(counted, grid))
    assert sum(isinstance(point[0], Value) for point in asked) == 2  # a trial, and all
    assert isinstance(next(p for p in asked if isinstance(p[0], Value))[0].data, ArrayNumber)


@pytest.mark.parametrize(
    "model",
    [
        lambda point: 1.0 if point[0] > 0.5 else -1.0,  # branches on its data
        lambda point: float(np.hypot(*point)) - 1,
        lambda point: [sum(point)],
        lambda point: Value(point[0] if isinstance(point[0], float) else 0.0),  # other results
    ],
)
def test_models_that_cannot_take_all_points_at_once_are_called_point_by_point(model):
    grid = Plane(X, 6).grid
    expected = [float(getattr(v := model(p), "data", v[0] if isinstance(v, list) else v))
                for p in grid.tolist()]  # fmt: skip
    assert np.allclose(scores(model, grid, as_values=True)[:, 0], expected)


def test_an_error_at_one_of_the_points_is_the_one_that_a_single_point_meets():
    points = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1000.0, 0.0]])
    with pytest.raises(OverflowError, match=r"exp"):
        scores(lambda p: (Value(1) * p[0]).exp(), points, as_values=True)
