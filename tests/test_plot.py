import math
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from micrograd.datasets import blobs, moons
from micrograd.engine import Value
from micrograd.nn import MLP
from micrograd.plane import CLASSES
from micrograd.plot import check_path, decision_boundary, loss_curve, save, training_figure

POINTS, LABELS = [[-1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]


def line(points):
    """Scores that are 0 where x1 + x2 = 0.5."""
    return points[:, 0] + points[:, 1] - 0.5


def confidence(ax):
    return np.asarray(ax.images[0].get_array())


def boundary(ax):
    """Points of the line that is drawn, or None."""
    lines = [c for c in ax.collections if type(c).__name__ == "QuadContourSet"]
    vertices = [path.vertices for c in lines for path in c.get_paths()]
    return np.concatenate(vertices) if vertices else None


# ---- whom `predict` may be


def model():
    """A network that computes the same line as above, point by point."""
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


def deeper():
    """A network whose first layer would fail on arrays in another way than the last."""
    network = MLP(2, [2, 1])
    for neuron, weights, bias in zip(
        (*network.layers[0].neurons, network.layers[1].neurons[0]),
        ([1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]),
        (-0.5, 0.5, 0.0),
        strict=True,
    ):
        neuron.w[0].data, neuron.w[1].data, neuron.b.data = *weights, bias
    return network


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
        deeper,
        lambda: lambda point: model()([Value(x) for x in point]),
        lambda: lambda points: [model()(point) for point in points],
        scikit_learn,
    ],
)
def test_arrays_points_networks_and_scikit_learn_give_the_same_picture(make):
    expected = decision_boundary(line, POINTS, LABELS, resolution=12)
    ax = decision_boundary(make(), POINTS, LABELS, resolution=12)
    assert np.allclose(confidence(ax), confidence(expected), atol=1e-12)
    assert np.allclose(boundary(ax).sum(axis=1), 0.5)


def test_a_model_records_nothing_and_keeps_its_gradients():
    linear = model()
    outputs = []

    def predict(point):
        outputs.append(linear(point))
        return outputs[-1]

    decision_boundary(predict, POINTS, LABELS, resolution=5)
    assert len(outputs) > 9
    assert all(output._prev == () for output in outputs)
    assert (linear([1.0, 2.0]))._prev  # and recording goes on afterwards


def test_predict_is_interrupted_by_ctrl_c():
    def predict(points):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decision_boundary(predict, POINTS, LABELS)


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (MLP(3, [1]), "with one point: ValueError: Neuron expects 3 inputs, got 2"),
        (MLP(2, [3]), r"with one point: ValueError: expected 1 .* got shape \(3,\)"),
        (lambda points: points, r"at once: ValueError: expected 3 .* got shape \(3, 2\)"),
        (lambda points: 1 / 0, "at once: ZeroDivisionError: division by zero"),
        (lambda point: "blue", "with one point: ValueError"),
        (lambda points: line(points) * np.nan, r"score at \[-1\.2, -1\.2\] is NaN: did training"),
    ],
)
def test_predict_that_gives_no_scores_is_refused_with_the_reason(predict, message):
    with pytest.raises(ValueError, match=message):
        decision_boundary(predict, POINTS, LABELS)


# ---- what is drawn


def test_shading_is_the_sigmoid_of_the_score_between_the_limits():
    ax = decision_boundary(line, POINTS, LABELS, resolution=7)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert (left, right, bottom, top) == pytest.approx((-1.2, 1.2, -1.2, 1.2))
    shades = confidence(ax)
    x1, x2 = np.meshgrid(np.linspace(left, right, 28), np.linspace(bottom, top, 28))
    assert np.allclose(shades, 1 / (1 + np.exp(0.5 - x1 - x2)))
    # the centres of the first and last pixels lie on the limits
    x_from, x_to, y_from, y_to = ax.images[0].get_extent()
    assert x_from + (x_to - x_from) / 56 == pytest.approx(left)
    assert y_to - (y_to - y_from) / 56 == pytest.approx(top)


def test_scores_without_bounds_are_drawn():
    ax = decision_boundary(lambda points: np.copysign(np.inf, line(points)), POINTS, LABELS)
    shades = confidence(ax)
    assert (shades.min(), shades.max()) == (0.0, 1.0)
    assert np.allclose(boundary(ax).sum(axis=1), 0.5, atol=0.1)


def test_where_one_class_has_it_all_there_is_no_boundary():
    assert boundary(decision_boundary(lambda points: line(points) + 9, POINTS, LABELS)) is None


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
    assert light - dark > 0.25
    low, high = (np.dot(ax.images[0].cmap(x)[:3], [0.2, 0.7, 0.1]) for x in (0.0, 1.0))
    assert high - low > 0.1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class off", "class on"]


def test_one_class_alone_is_drawn_as_what_it_is():
    ax = decision_boundary(line, POINTS, [1, 1, 1, 1])
    first, second = (c for c in ax.collections if type(c).__name__ == "PathCollection")
    assert (len(first.get_offsets()), len(second.get_offsets())) == (0, 4)


def test_units_are_equal_unless_one_axis_is_much_longer():
    assert decision_boundary(line, [[0, 0], [3, 1]], [0, 1]).get_aspect() == 1
    assert decision_boundary(line, [[0, 0], [300, 1]], [0, 1]).get_aspect() == "auto"


@pytest.mark.parametrize("points", [[[2.0, 3.0]], [[2.0, 3.0], [2.0, 5.0]], [[1e9, 0], [1e9, 1]]])
def test_points_on_top_of_each_other_are_drawn(points):
    ax = decision_boundary(line, points, [1] * len(points), resolution=4)
    assert ax.get_xlim()[0] < points[0][0] < ax.get_xlim()[1]
    assert ax.get_ylim()[0] < points[0][1] < ax.get_ylim()[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": []}, "n points of two coordinates"),
        ({"X": [[1.0, 2.0, 3.0]] * 4}, r"two coordinates, got shape \(4, 3\)"),
        ({"X": [1.0, 2.0, 3.0, 4.0]}, r"got shape \(4,\)"),
        ({"X": [[math.nan, 0.0], *POINTS[1:]]}, "finite coordinates"),
        ({"y": [0, 1]}, r"4 labels, got shape \(2,\)"),
        ({"y": [0, 1, 2, 1]}, r"0 and 1, or -1 and 1, got \[0, 1, 2\]"),
        ({"y": [-1, 0, 1, 1]}, r"got \[-1, 0, 1\]"),
        ({"names": ["one"]}, "names of two classes"),
        ({"resolution": 1}, "at least 2 points, got 1"),
    ],
)
def test_shapes_and_labels_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        decision_boundary(line, **{"X": POINTS, "y": LABELS, **arguments})


# ---- three classes and more

CORNERS = [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0], [0.5, 0.4]]


def thirds(points):
    """Scores of three classes: left and right of x1 = 0.5, and above x2 = 0.6 and both lines."""
    x1, x2 = points[:, 0] - 0.5, points[:, 1] - 0.6
    return np.stack([-4 * x1, 4 * x1, 8 * x2], axis=1)


def three_neurons():
    """A network that computes the same, point by point."""
    network = MLP(2, [3])
    for neuron, weights, bias in zip(
        network.layers[0].neurons, ([-4, 0], [4, 0], [0, 8]), (2, -2, -4.8), strict=True
    ):
        neuron.w[0].data, neuron.w[1].data, neuron.b.data = *map(float, weights), float(bias)
    return network


@pytest.mark.parametrize("predict", [thirds, three_neurons(), lambda p: thirds(np.array([p]))[0]])
def test_each_region_has_the_colour_of_the_class_with_the_largest_score(predict):
    ax = decision_boundary(predict, CORNERS, [0, 1, 2, 2], resolution=20)
    shades = np.asarray(ax.images[0].get_array())
    left, right, bottom, top = ax.images[0].get_extent()
    rows, columns, _ = shades.shape
    x1 = left + (np.arange(columns) + 0.5) / columns * (right - left)
    x2 = bottom + (np.arange(rows) + 0.5) / rows * (top - bottom)
    grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    scores = thirds(grid)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    second, first = np.sort(shares, axis=1)[:, 1:].T
    colours = np.array([to_rgb(shade) for *_, shade in CLASSES])[scores.argmax(axis=1)]
    expected = 1 - (first - second)[:, None] * (1 - colours)
    assert np.allclose(shades.reshape(-1, 3), expected, atol=0.02)


def test_lines_run_where_the_two_largest_scores_are_equal():
    vertices = boundary(decision_boundary(thirds, CORNERS, [0, 1, 2, 2], resolution=20))
    scores = np.sort(thirds(vertices), axis=1)
    assert np.abs(scores[:, 2] - scores[:, 1]).max() < 0.2
    leaders = {tuple(np.sort(np.argsort(s)[1:]).tolist()) for s in thirds(vertices)}
    assert leaders == {(0, 1), (0, 2), (1, 2)}


@pytest.mark.parametrize("k", range(3, 9))
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


def test_a_class_without_points_has_a_region_all_the_same():
    ax = decision_boundary(thirds, CORNERS, [0, 1, 1, 0], names=["a", "b", "c"])
    assert len(ax.get_legend().get_texts()) == 3


def test_scores_of_classes_without_bounds_are_drawn():
    ax = decision_boundary(lambda p: np.inf * np.sign(thirds(p)), CORNERS, [0, 1, 2, 2])
    assert np.isfinite(np.asarray(ax.images[0].get_array())).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 1, 2, 8]}, r"got \[0, 1, 2, 8\]; of k classes, at most 8, the labels are 0, 1"),
        ({"y": [0, 1, 2, 0.5]}, r"got \[0\.0, 0\.5, 1\.0, 2\.0\]"),
        ({"y": [0, 1, 3, 1], "names": "abc"}, r"got \[0, 1, 3\]"),
        ({"y": [-1, 1, 1, 1], "names": "abc"}, r"got \[-1, 1\]"),
        ({"names": "abcdefghi"}, r"of two classes, or of up to 8, got 9: \['a', 'b'"),
        ({"predict": lambda p: [1.0, 2.0]}, r"\(n, 3\), or a point .* 3 scores; .* got shape \(2,"),
        ({"predict": lambda p: thirds(p).T}, r"of 3 scores each, got shape \(3, \d{4}\)"),
        ({"predict": lambda p: thirds(p) * np.nan}, "is NaN: did training diverge"),
    ],
)
def test_classes_and_scores_that_cannot_be_are_refused(arguments, message):
    given = {"predict": thirds, "X": CORNERS, "y": [0, 1, 2, 2], **arguments}
    with pytest.raises(ValueError, match=message):
        decision_boundary(**given)


def test_the_training_figure_of_several_classes_has_no_scale_of_two():
    figure = training_figure(thirds, CORNERS, [0, 1, 2, 2], [0.7, 0.5], names=["$a", "b" * 99, ""])
    left, right = figure.axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("x1", "step")
    assert len(left.get_legend().get_texts()) == 3


def test_a_trial_cannot_write_into_the_points():
    # np.hypot(a, b, out): three points look like two operands and a place for the result
    ax = decision_boundary(lambda p: float(np.hypot(*p)) - 0.5, POINTS, LABELS, resolution=9)
    x1, x2 = boundary(ax).T
    assert np.allclose(np.hypot(x1, x2), 0.5, atol=0.05)


# ---- loss


def test_loss_curve_counts_steps_from_one():
    ax = loss_curve([0.75, Value(0.5), 0.25])
    assert ax.lines[0].get_xydata().tolist() == [[1, 0.75], [2, 0.5], [3, 0.25]]
    assert ax.get_ylim()[0] == 0
    assert [text.get_text() for text in ax.texts] == ["0.25"]


def test_loss_curve_goes_below_zero_with_the_loss():
    assert loss_curve([1.0, -2.0]).get_ylim()[0] <= -2


@pytest.mark.parametrize("losses", [[], [0.5], [0.5, math.nan], [0.5, math.inf]])
def test_short_and_broken_curves_are_drawn(losses):
    ax = loss_curve(losses)
    ax.figure.canvas.draw()
    assert len(ax.lines[0].get_xdata()) == len(losses)


def test_the_training_figure_shows_both_and_the_scale():
    figure = training_figure(line, POINTS, LABELS, [0.7, 0.5], names=["off", "on"], resolution=8)
    left, right, bar = figure.axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("x1", "step")
    assert bar.get_ylabel() == "confidence in class on"


@pytest.mark.parametrize("name", ["$x^$", "_hidden", "a" * 200, "<&\"'>", ""])
def test_any_text_is_a_name(name, tmp_path):
    figure = training_figure(line, POINTS, LABELS, [0.7], names=[name, name], resolution=4)
    save(figure, tmp_path / "picture.svg")
    texts = figure.axes[0].get_legend().get_texts()
    assert len(texts) == 2
    assert max(len(text.get_text()) for text in texts) <= 30


# ---- manners


def test_axes_that_are_given_are_drawn_on():
    figure = Figure()
    one, two = figure.subplots(1, 2)
    assert decision_boundary(line, POINTS, LABELS, ax=one) is one
    assert loss_curve([1.0], ax=two) is two
    assert figure.axes == [one, two]


def test_settings_backend_and_open_figures_are_as_before(tmp_path):
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams), plt.get_fignums()
    save(training_figure(line, POINTS, LABELS, [0.7]), tmp_path / "picture.svg")
    assert (dict(matplotlib.rcParams), plt.get_fignums()) == before


def test_pyplot_is_not_loaded():
    root = Path(__file__).parents[1]
    program = (
        "import sys; from micrograd.plot import training_figure;"
        "training_figure(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1], [1.0]);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=root, check=False).returncode == 0


def test_notebooks_show_the_figure():
    assert loss_curve([1.0]).figure._repr_png_().startswith(b"\x89PNG")


# ---- files


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("picture.png", b"\x89PNG"),
        ("picture.SVG", b"<?xml"),
        ("picture.pdf", b"%PDF"),
        ("pic.ture.jpg", b"\xff\xd8"),
    ],
)
def test_the_ending_says_the_format_and_nothing_else_is_left(tmp_path, name, start):
    check_path(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    save(loss_curve([1.0, 0.5]).figure, str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_figure_gives_the_same_file(tmp_path, kind):
    X, y = moons(10)
    for name in ("a", "b"):
        save(training_figure(line, X, y, [0.7, 0.5]), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_a_figure_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "picture.png"
    path.write_text("old")
    ax = loss_curve([1.0])
    ax.set_title("$no formula")
    ax.set_title(r"$\nonsense$")
    with pytest.raises(ValueError, match="nonsense"):
        save(ax.figure, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    path.write_text("old")

    def full(source, target):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space left"):
        save(loss_curve([1.0]).figure, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_written_through(tmp_path):
    target, link = tmp_path / "target.png", tmp_path / "link.png"
    target.write_text("old")
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("no symbolic links here")
    save(loss_curve([1.0]).figure, link)
    assert link.is_symlink()
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["picture", "picture.docx", "picture.", ".png", "picture.pgf"])
def test_endings_that_cannot_be_written_are_refused_with_those_that_can(tmp_path, name):
    with pytest.raises(ValueError, match=r"expected one of the endings .*\.pdf \.png .*\.svg"):
        check_path(tmp_path / name)
    with pytest.raises(ValueError, match="expected one of the endings"):
        save(loss_curve([1.0]).figure, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_refused(tmp_path, monkeypatch):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.png is a folder: name a file in it"):
        check_path(tmp_path / "folder.png")
    with pytest.raises(FileNotFoundError, match=r"no\.png: its folder does not exist"):
        check_path(tmp_path / "nowhere" / "no.png")

    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", forbidden)
    with pytest.raises(PermissionError, match=r"cannot write .*a\.png: Permission denied"):
        check_path(tmp_path / "a.png")
