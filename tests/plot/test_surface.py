"""The loss over two parameters, with the paths of optimizers on it."""

import math

import numpy as np
import pytest
from matplotlib.contour import QuadContourSet
from PIL import Image

from micrograd import MLP, SGD, Adam, Value, compile
from micrograd.plot import landscape


def lines(figure):
    """Pairs of the loss of each contour line, and its points."""
    found = [x for x in figure.axes[0].collections if isinstance(x, QuadContourSet)][-1]
    pairs = zip(found.levels, found.get_paths(), strict=True)
    return [(level, path.vertices) for level, path in pairs if len(path.vertices)]


def paths(figure):
    """The points of each path by its name."""
    return {x.get_label().split(",")[0]: x.get_xydata() for x in figure.axes[0].lines[::2]}


def test_lines_are_where_the_loss_is_theirs_and_paths_are_those_of_a_loop():
    slope, bias = Value(2.0), Value(-1.0)
    slope.grad = 7.0
    optimizer = Adam([slope, bias], lr=0.3)
    picture = landscape(lambda: slope**2 + 3 * bias**2, slope, bias, {"Adam": optimizer}, steps=20)
    assert (slope.data, bias.data, slope.grad, bias.grad, optimizer.steps) == (2, -1, 7, 0, 0)
    assert picture.axes[0].get_xlabel() == "slope"
    for level, points in lines(picture):
        assert points[:, 0] ** 2 + 3 * points[:, 1] ** 2 == pytest.approx(level, rel=0.1, abs=0.05)
    expected = []
    for _ in range(21):
        expected.append([slope.data, bias.data])
        optimizer.zero_grad()
        (slope**2 + 3 * bias**2).backward()
        optimizer.step()
    assert np.allclose(paths(picture)["Adam"], expected)


def test_any_loss_can_be_drawn():
    a, b = Value(0.4), Value(0.2)

    @compile
    def compiled(x):
        return (a * x - b) ** 2

    xs = np.array([1.0, 2.0])
    eager = lines(landscape(lambda: sum((a * x - b) ** 2 for x in (1.0, 2.0)) / 2, a, b))
    for other in (
        lambda: compiled(xs),
        lambda: sum((a.data * x - b.data) ** 2 for x in (1.0, 2.0)) / 2,
    ):
        for (level, points), (theirs, same) in zip(
            eager, lines(landscape(other, a, b)), strict=True
        ):
            assert theirs == pytest.approx(level)
            assert np.allclose(points, same)
    assert len(eager) > 5


def test_points_without_a_loss_are_left_out_and_a_diverging_path_ends():
    a, b = Value(0.5), Value(0.5)
    for level, points in lines(landscape(lambda: a.log() + b, a, b)):
        assert np.log(points[:, 0]) + points[:, 1] == pytest.approx(level, abs=0.3)
    picture = landscape(lambda: a**4 + b**2, a, b, {"wild": SGD([a, b], lr=1e3)}, reach=2)
    assert len(paths(picture)["wild"]) < 50
    assert picture.axes[0].get_xlim()[1] < 4
    [label] = picture.axes[0].get_legend().get_texts()
    assert label.get_text().endswith(", outside")


def test_directions_of_a_model_are_as_long_as_each_of_its_layers():
    model = MLP(2, [3, 1], activation="tanh")  # so that each layer has a gradient

    def loss():
        return sum((model([x, 1.0]) - x) ** 2 for x in (-1.0, 2.0))

    model.zero_grad()
    loss().backward()
    move, now = [], [p.data for p in model.parameters()]
    for layer in model.layers:
        data, grad = np.array([(p.data, p.grad) for p in layer.parameters()]).T
        move += (grad * math.hypot(*data) / math.hypot(*grad)).tolist()
    mine = [now, np.add(now, move)]
    picture = landscape(loss, model, paths={"mine": mine, "SGD": SGD(model, lr=1e-3)}, steps=3)
    assert np.allclose(paths(picture)["mine"], [[0, 0], [1, 0]])
    x, y = np.diff(paths(picture)["SGD"], axis=0).T
    assert x.max() < 0
    assert abs(y).max() < abs(x).min()
    assert picture.axes[0].get_legend().get_title().get_text().startswith("Paths leave this plane")
    assert "do not show their losses" in picture.alt


def test_paths_of_something_else_are_refused():
    a, b = Value(1.0), Value(2.0)
    with pytest.raises(ValueError, match=r"paths\['SGD'\] has other parameters.*SGD\(\[a, b\]"):
        landscape(lambda: a * b, a, b, {"SGD": SGD([a, Value(1.0)], lr=0.1)})
    with pytest.raises(ValueError, match=r"rows of 2 numbers, got shape \(3,\)"):
        landscape(lambda: a * b, a, b, {"mine": [1.0, 2.0, 3.0]})


@pytest.mark.slow
def test_it_is_saved_with_words_as_a_film_and_as_slides(tmp_path):
    a, b = Value(1.0), Value(2.0)
    picture = landscape(lambda: a**2 + b**2, a, b, {"SGD": SGD([a, b], lr=0.1)}, steps=3)
    picture.save(tmp_path / "loss.png")
    with Image.open(tmp_path / "loss.png") as opened:
        said = opened.text["Description"]
    assert said.startswith("Contour lines of the loss, from")
    assert "over a and b. Paths: SGD, loss 1.31." in said
    picture.save(tmp_path / "loss.gif")
    with Image.open(tmp_path / "loss.gif") as film:
        assert film.n_frames == 4
    picture.save(tmp_path / "slides")
    assert len([*(tmp_path / "slides").glob("00?.png")]) == 4
