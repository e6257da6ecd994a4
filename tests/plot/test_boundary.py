"""The decision boundary: models of all kinds, two classes, and more."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from plotting import CORNERS, LABELS, POINTS, line, thirds

from micrograd.datasets import blobs
from micrograd.draw.tokens import LIGHT
from micrograd.engine import Value
from micrograd.nn import MLP
from micrograd.plot import decision_boundary
from micrograd.plot.figure import class_shades


def colours(ax):
    """The colours of the shading, row by row from below."""
    return np.asarray(ax.images[0].get_array())


def boundary(ax):
    """Points of the line that is drawn, or None."""
    lines = [c for c in ax.collections if type(c).__name__ == "QuadContourSet"]
    vertices = [path.vertices for c in lines for path in c.get_paths()]
    return np.concatenate(vertices) if vertices else None


def test_axes_of_the_user_keep_their_title_and_its_place():
    ax = Figure().add_subplot()
    ax.set_title("after 10 steps")
    decision_boundary(line, POINTS, LABELS, ax=ax)
    assert ax.get_title() == "after 10 steps"
    ax.figure.draw_without_rendering()
    assert not ax.title.get_window_extent().overlaps(ax.get_legend().get_window_extent())


def test_no_line_follows_the_edge_of_a_region_where_no_class_is_ahead():
    def dead(points):  # no neuron of it fires at x1 + x2 < 0
        return np.maximum(points.sum(axis=1), 0) * points[:, 0]

    drawn = boundary(decision_boundary(dead, POINTS, LABELS))
    assert abs(drawn[:, 0]).max() < 0.05
    assert drawn[:, 1].min() > -0.05
    on_the_grid = decision_boundary(lambda points: points[:, 0], [[-1, -1], [1, 1]], [0, 1])
    assert np.ptp(boundary(on_the_grid)[:, 1]) > 2


# ---- kinds of `predict`


def model():
    """A network that computes the same line, point by point."""
    linear = MLP(2, [1])
    neuron = linear.layers[0].neurons[0]
    neuron.w[0].data, neuron.w[1].data, neuron.b.data = 1.0, 1.0, -0.5
    return linear


def scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression

    classifier = LogisticRegression()
    classifier.fit(np.array(POINTS), LABELS)
    classifier.coef_, classifier.intercept_ = np.array([[1.0, 1.0]]), np.array([-0.5])
    return classifier.decision_function


@pytest.mark.parametrize(
    "make",
    [
        lambda: line,
        lambda: lambda points: line(points)[:, None],
        lambda: lambda points: line(points).tolist(),
        lambda: lambda point: point[0] + point[1] - 0.5,
        lambda: lambda point: [math.fsum([*point, -0.5])],
        lambda: lambda point: np.sum(point) - 0.5,
        lambda: lambda point: Value(point[0]) + point[1] - 0.5,
        model,
        lambda: lambda point: model()([Value(x) for x in point]),
        lambda: lambda points: [model()(point) for point in points],
        pytest.param(scikit_learn, marks=pytest.mark.slow),
    ],
)
def test_arrays_points_networks_and_scikit_learn_give_the_same_picture(make):
    expected = decision_boundary(line, POINTS, LABELS)
    ax = decision_boundary(make(), POINTS, LABELS)
    assert np.allclose(colours(ax), colours(expected), atol=1e-12)
    assert np.allclose(boundary(ax).sum(axis=1), 0.5)


def test_a_model_records_nothing_and_keeps_its_gradients():
    linear = model()
    outputs = []

    def predict(point):
        outputs.append(linear([Value(x) for x in point]))
        return outputs[-1]

    linear([1.0, 2.0]).backward()
    before = [p.grad for p in linear.parameters()]
    decision_boundary(predict, POINTS, LABELS)
    assert outputs
    assert all(output._prev == () for output in outputs)
    assert [p.grad for p in linear.parameters()] == before
    assert (linear([1.0, 2.0]))._prev  # and recording goes on afterwards


def test_every_operation_of_a_value_works_in_a_picture():
    def predict(point):
        a, b = (x if isinstance(x, Value) else Value(x) for x in point)
        z = (a.exp() + 2).log() * b.sin() / (a.cos() + 3) - abs(b) ** 2.5 + 1 / (3 + a * a)
        return z.maximum(-1).minimum(a) + (b * b + 1).sqrt() + 2 ** (a / 4) - b**2

    one_by_one = decision_boundary(lambda p: float(predict(p).data), POINTS, LABELS)
    ax = decision_boundary(predict, POINTS, LABELS)
    assert np.allclose(colours(ax), colours(one_by_one))


@pytest.mark.parametrize(
    "predict",
    [
        lambda point: 1.0 if point[0] > 0.25 else -1.0,  # branches on its data
        lambda point: math.copysign(1, point[0] - 0.25),
        lambda point: Value(1.0) if point[0] > 0.25 else Value(-1.0),
    ],
)
def test_a_model_that_branches_is_called_point_by_point(predict):
    x1, _ = boundary(decision_boundary(predict, POINTS, LABELS)).T
    assert np.allclose(x1, 0.25, atol=0.04)


def test_predict_is_interrupted_by_ctrl_c():
    def predict(points):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decision_boundary(predict, POINTS, LABELS)


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (MLP(3, [1]), "one by one: ValueError: Neuron expects 3 inputs, got 2"),
        (MLP(2, [3]), r"one by one: ValueError: expected shape \(3, 1\), got shape \(3, 3\)"),
        (
            lambda points: points,
            r"an array: ValueError: expected shape \(3, 1\), got shape \(3, 2\)",
        ),
        (lambda points: 1 / 0, "an array: ZeroDivisionError: division by zero"),
        (lambda point: "blue", "one by one: ValueError"),
        (
            lambda points: line(points) * np.nan,
            r"got NaN at \[-1\.2, -1\.2\]: if training diverged",
        ),
    ],
)
def test_predict_that_returns_no_scores_is_refused_with_the_reason(predict, message):
    with pytest.raises(ValueError, match=message):
        decision_boundary(predict, POINTS, LABELS)


# ---- what is drawn


def grid_of(ax):
    """The points at the centres of the pixels, and the colours there."""
    found = colours(ax)
    left, right, bottom, top = ax.images[0].get_extent()
    rows, columns, _ = found.shape
    x1 = left + (np.arange(columns) + 0.5) / columns * (right - left)
    x2 = bottom + (np.arange(rows) + 0.5) / rows * (top - bottom)
    return np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2), found.reshape(-1, 4)


def test_shading_is_the_sigmoid_of_the_score_between_the_limits():
    ax = decision_boundary(line, POINTS, LABELS)
    assert (*ax.get_xlim(), *ax.get_ylim()) == pytest.approx((-1.2, 1.2, -1.2, 1.2))
    points, found = grid_of(ax)
    lead = np.tanh(line(points) / 2)[:, None]
    hues = class_shades(LIGHT)[(line(points) > 0).astype(int)]
    ground = np.array(to_rgba(LIGHT["panel"]))
    assert np.allclose(found, ground + abs(lead) * (hues - ground))


@pytest.mark.parametrize(
    "labels", [LABELS, [-1, -1, 1, 1], [False, False, True, True], np.array([0.0, 0.0, 1.0, 1.0])]
)
def test_classes_are_told_apart_by_colour_lightness_and_marker(labels):
    ax = decision_boundary(line, POINTS, labels, names=["off", "on"])
    first, second = (c for c in ax.collections if type(c).__name__ == "PathCollection")
    assert first.get_offsets().tolist() == POINTS[:2]
    assert second.get_offsets().tolist() == POINTS[2:]
    assert len(first.get_paths()[0]) != len(second.get_paths()[0])
    dark, light = (np.dot(to_rgb(c.get_facecolor()[0]), [0.2, 0.7, 0.1]) for c in (first, second))
    assert light - dark > 0.1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class off", "class on"]


def test_a_plane_with_one_predicted_class_has_no_boundary():
    assert boundary(decision_boundary(lambda points: line(points) + 9, POINTS, LABELS)) is None


def test_units_are_equal_unless_one_axis_is_much_longer():
    assert decision_boundary(line, [[0, 0], [3, 1]], [0, 1]).get_aspect() == 1
    assert decision_boundary(line, [[0, 0], [300, 1]], [0, 1]).get_aspect() == "auto"


@pytest.mark.parametrize("points", [[[2.0, 3.0]], [[2.0, 3.0], [2.0, 5.0]], [[1e9, 0], [1e9, 1]]])
def test_points_on_top_of_each_other_are_drawn(points):
    ax = decision_boundary(line, points, [1] * len(points))
    assert ax.get_xlim()[0] < points[0][0] < ax.get_xlim()[1]
    assert ax.get_ylim()[0] < points[0][1] < ax.get_ylim()[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": []}, "X expects n points"),
        ({"X": [[1.0, 2.0, 3.0]] * 4}, r"shape \(n, 2\), got shape \(4, 3\)"),
        ({"X": [[math.nan, 0.0], *POINTS[1:]]}, "finite coordinates"),
        ({"y": [0, 1, 2, 1]}, r"return n x 3 scores.* got shape \(3,\)"),
        ({"y": [-1, 0, 1, 1]}, r"got \[-1, 0, 1\]"),
        ({"names": ["one"]}, "names of 2 to 8 classes, got 1"),
    ],
)
def test_shapes_and_labels_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        decision_boundary(line, **{"X": POINTS, "y": LABELS, **arguments})


# ---- the true boundary


def dashed(ax):
    """The dashed lines of a picture, as arrays of points."""
    return [line.get_xydata() for line in ax.lines if line.is_dashed()]


def test_a_true_boundary_is_a_dashed_line():
    ax = decision_boundary(line, POINTS, LABELS, true_boundary=[[-1, -1], [0, 0.5], [9, 1]])
    assert [line.tolist() for line in dashed(ax)] == [[[-1, -1], [0, 0.5], [9, 1]]]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["class 0", "class 1", "true boundary"]
    assert ax.get_xlim() == pytest.approx((-1.2, 1.2))


# ---- three classes and more


@pytest.mark.parametrize("predict", [thirds, lambda p: thirds(np.array([p]))[0]])
def test_each_region_has_the_colour_of_the_class_with_the_largest_score(predict):
    points, found = grid_of(decision_boundary(predict, CORNERS, [0, 1, 2, 2]))
    scores = thirds(points)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    second, first = np.sort(shares, axis=1)[:, 1:].T
    hues = class_shades(LIGHT)[scores.argmax(axis=1)]
    assert np.allclose(found, 1 - (first - second)[:, None] * (1 - hues))


def test_lines_run_where_the_two_largest_scores_are_equal():
    vertices = boundary(decision_boundary(thirds, CORNERS, [0, 1, 2, 2]))
    scores = np.sort(thirds(vertices), axis=1)
    assert np.abs(scores[:, 2] - scores[:, 1]).max() < 0.2
    leaders = {tuple(np.sort(np.argsort(s)[1:]).tolist()) for s in thirds(vertices)}
    assert leaders == {(0, 1), (0, 2), (1, 2)}


@pytest.mark.parametrize("k", [3, 8])
def test_up_to_eight_classes_differ_in_colour_and_marker_and_have_names(k):
    X, y = blobs(5 * k, classes=k)
    names = [f"kind {i}" for i in range(k)]
    ax = decision_boundary(lambda points: np.ones((len(points), k)), X, y, names=names)
    drawn = [c for c in ax.collections if type(c).__name__ == "PathCollection"]
    assert [len(c.get_offsets()) for c in drawn] == [5] * k
    assert len({tuple(c.get_facecolor()[0]) for c in drawn}) == k
    assert len({c.get_paths()[0].vertices.tobytes() for c in drawn}) == k
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"class {n}" for n in names
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 1, 2, 8]}, r"0, 1, ..., k - 1 for k classes \(at most 8\), got \[0, 1, 2, 8\]"),
        ({"y": [0, 1, 3, 1], "names": "abc"}, r"got \[0, 1, 3\]"),
        ({"y": [-1, 1, 1, 1], "names": "abc"}, r"got \[-1, 1\]"),
        ({"names": "abcdefghi"}, "of 2 to 8 classes, got 9"),
        (
            {"predict": lambda p: [1.0, 2.0]},
            r"return n x 3 scores, .* expected shape \(3, 3\), got shape \(3, 2\)",
        ),
        (
            {"predict": lambda p: thirds(p).T},
            r"expected shape \(\d{4}, 3\), got shape \(3, \d{4}\)",
        ),
        ({"predict": lambda p: thirds(p) * np.nan}, "got NaN at .*: if training diverged"),
    ],
)
def test_classes_and_scores_that_cannot_be_are_refused(arguments, message):
    given = {"predict": thirds, "X": CORNERS, "y": [0, 1, 2, 2], **arguments}
    with pytest.raises(ValueError, match=message):
        decision_boundary(**given)
