"""Worked examples: each demo runs as a script, and its heart agrees with its reference."""

import re

import numpy as np
import pytest
from demo_scripts import load, run, striped_images
from matplotlib.contour import ContourSet
from PIL import Image

from micrograd import fit
from micrograd.draw import tokens
from micrograd.nn import accuracy
from micrograd.optim import SGD, Adam

# ---- as scripts


@pytest.mark.slow
def test_circle_prints_a_row_for_each_width_and_draws(tmp_path):
    out = run(tmp_path, "circle", "--points", "40", "--epochs", "2", "--largest", "2")
    assert re.search(r"^1( +\d\.\d{3}){2}( +[\d.]+%){2} +62\.9% +[+-][\d.]+%$", out, re.M)
    assert re.search(r"^2( +\d\.\d{3}){2}( +[\d.]+%){2} +75\.8% +[+-][\d.]+%$", out, re.M)
    for name, start in (
        ("circle.png", b"\x89PNG"), ("circle_curves.png", b"\x89PNG"),
        ("circle_training.gif", b"GIF89a"),
    ):  # fmt: skip
        assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [[], ["--eager"]])
def test_digits_prints_both_classifiers(tmp_path, mode):
    pytest.importorskip("sklearn")
    out = run(tmp_path, "digits", "--images", "20", "--epochs", "1", *mode)
    assert "2,410 parameters, 20 images, mini-batches: 1\n" in out
    assert rows_of_accuracies(out) == ["training", "validation"]
    assert sum(confusion_of(out)) == 360


@pytest.mark.slow
def test_digits_prints_every_split_and_their_mean(tmp_path):
    pytest.importorskip("sklearn")
    out = run(tmp_path, "digits", "--images", "45", "--epochs", "2", "--splits", "3")
    assert "2,410 parameters, 45 images, mini-batches: 18\n" in out
    assert rows_of_accuracies(out) == ["training", "validation", "split 0", "split 1", "split 2"]
    _, mean, *splits = map(float, re.findall(r"^ *[a-z]+[ 012]+ ([\d.]+)%", out, re.M))
    assert mean == pytest.approx(sum(splits) / 3, abs=0.1)
    assert sum(confusion_of(out)) == 3 * 360


def rows_of_accuracies(out):
    return re.findall(r"^ *([a-z]+(?: \d)?) +[\d.]+% +[\d.]+% +[+-][\d.]+%$", out, re.M)


def confusion_of(out):
    return [int(n) for row in out.splitlines()[-10:] for n in re.findall(r"\d+", row[3:])]


@pytest.mark.slow
def test_digits_says_how_to_get_scikit_learn(tmp_path):
    said = run(tmp_path, "digits", code=1, without=["sklearn"])
    assert said == 'digits.py needs scikit-learn for its images: pip install -e ".[demos]"\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("circle", "--epochs 0", "--epochs and --largest at least 1"),
        ("circle", "--out nowhere/circle.png", "its folder does not exist"),
        ("backward_gif", "--out film.png", "expected one of the endings .gif"),
        ("digits", "--images 1438", "expected --images from 20 to 1437 (the others"),
        ("digits", "--epochs 0 --eager", "expected --epochs of at least 1, got 0"),
        ("digits", "--splits 0", "expected --splits of at least 1, got 0"),
        ("digits", "--out digits.docx", "expected one of the endings"),
        ("original_demo", "--out-dir nowhere", "an existing folder, got 'nowhere'"),
        ("graphs_to_digits", "--epochs 0", "a whole number of at least 1, got '0'"),
        ("graphs_to_digits", "--mnist nowhere", "No such file or directory: 'nowhere'"),
        ("orders_and_cost", "--largest many", "a whole number of at least 1, got 'many'"),
        ("orders_and_cost", "--largest 10", "at least 2000 nodes, got 10"),
    ],
)
def test_options_that_make_no_sense_are_refused(name, options, message, tmp_path):
    if name == "digits":
        pytest.importorskip("sklearn")
    code = 1 if options in ("--mnist nowhere", "--largest 10") else 2
    assert message in run(tmp_path, name, *options.split(), code=code)
    assert not list(tmp_path.iterdir())


# ---- the circle


@pytest.mark.parametrize("lines", [1, 2, 3, 4, 9])
def test_straight_lines_do_as_well_as_the_best_polygon_found_by_trial(lines):
    demo = load("circle")
    axis = ((np.arange(200) + 0.5) / 200 - 0.5) * demo.SIDE
    x1, x2 = np.meshgrid(axis, axis)
    inside = np.hypot(x1, x2) < demo.RADIUS
    best = 0
    for turn in np.linspace(0, np.pi / 2, 7):
        sides = turn + 2 * np.pi * np.arange(lines) / lines
        farthest = np.max([x1 * np.cos(a) + x2 * np.sin(a) for a in sides], axis=0)
        for r in np.linspace(0.4, 1, 61) * demo.RADIUS:
            best = max(best, np.mean(inside == (farthest < r)))
    assert demo.straight_line_accuracy(lines) == pytest.approx(best, abs=2e-3)


def test_networks_that_learn_together_learn_as_they_would_alone():
    demo = load("circle")
    networks, alone = demo.networks_before_training(3), demo.networks_before_training(3)[2]
    (X, y), validation = demo.discs(20), demo.discs(20, seed=1)
    history = demo.train(networks, (X, y), validation, epochs=2)
    optimizer = SGD(alone.parameters(), lr=0.01)
    for epoch in range(2):
        for (x,), (target,) in demo.batches(X, y, size=1, seed=epoch):
            optimizer.zero_grad()
            ((alone(x) - target) ** 2).backward()
            optimizer.step()
    assert history[-1].weights[2] == pytest.approx(alone.state_dict(), rel=1e-9)
    outputs = [alone(x).data for x in X]
    loss = np.mean([(z - target) ** 2 for z, target in zip(outputs, y, strict=True)])
    right = np.mean([(z > 0.5) == target for z, target in zip(outputs, y, strict=True)])
    assert history[-1].curves[2, [0, 2]] == pytest.approx([loss, right])


@pytest.mark.slow
def test_networks_around_a_circle_reach_what_the_script_says():
    demo = load("circle")
    networks = demo.networks_before_training(9)
    history = demo.train(networks, demo.discs(1000, seed=0), demo.discs(1000, seed=1), epochs=200)
    assert history[-1].curves[8, [0, 3]] == pytest.approx([0.049, 0.950], abs=0.005)
    assert history[-1].curves[[0, 1, 2], 3] == pytest.approx([0.625, 0.746, 0.919], abs=0.005)


def true_circle(ax):
    """The dashed line of a panel, in the order in which it is drawn."""
    return next(line.get_xydata() for line in ax.lines if line.is_dashed())


def drawn_boundary(ax):
    """The points of the boundary that a panel shows."""
    lines = [c for c in ax.collections if isinstance(c, ContourSet)]
    return np.concatenate([path.vertices for c in lines for path in c.get_paths()])


def test_panels_show_the_last_boundaries_the_circle_and_the_accuracies():
    demo = load("circle")
    points = demo.discs(60)
    networks = demo.networks_before_training(3)
    history = demo.train(networks, points, points, epochs=2)
    figure = demo.draw_panels(history, *points)
    for i, (ax, network) in enumerate(zip(figure.axes, networks, strict=True)):
        title = f"{i + 1} neuron{'s' * (i > 0)}: {history[-1].curves[i, 3]:.1%} right"
        assert ax.get_title() == title
        assert np.allclose(np.hypot(*true_circle(ax).T), demo.RADIUS)
        outputs = [network(point).data for point in drawn_boundary(ax).tolist()]
        assert np.allclose(outputs, 0.5, atol=0.01)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["class 0, outside", "class 1, inside", "the circle"]


def test_the_animation_of_the_circle_has_every_epoch_and_both_sets():
    demo = load("circle")
    training, validation = demo.discs(30, seed=0), demo.discs(30, seed=1)
    networks = demo.networks_before_training(2)
    history = demo.train(networks, training, validation, epochs=3)
    run = demo.recorded(history, training, validation)
    frames = run.all_frames()
    assert [frame.step for frame in frames] == [0, 1, 2, 3]
    assert frames[0].training["loss"] is frames[0].validation["loss"] is None
    for frame, epoch in zip(frames[1:], history[1:], strict=True):
        numbers = [
            x[kind] for kind in ("loss", "accuracy") for x in (frame.training, frame.validation)
        ]
        assert numbers == pytest.approx(epoch.curves[1])
    assert np.allclose(np.hypot(*run.scene.line.T), demo.RADIUS)


@pytest.mark.parametrize(("calls", "epochs_run"), [(0, 0), (6, 2)])
def test_ctrl_c_keeps_the_circles_learned_so_far(calls, epochs_run, monkeypatch, capsys):
    demo = load("circle")
    points = demo.discs(20)
    count = iter(range(calls))
    measured = demo.loss_and_accuracy

    def interrupted(*arguments):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return measured(*arguments)

    monkeypatch.setattr(demo, "loss_and_accuracy", interrupted)
    history = demo.train(demo.networks_before_training(2), points, points, epochs=3)
    assert len(history) == (epochs_run + 1 if calls else 0)
    assert f"stopped after {epochs_run} epochs" in capsys.readouterr().err


# ---- digits


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("sklearn")
    return load("digits")


def adam(model):
    return Adam(model.parameters(), lr=0.005)


def backward_in_numpy(model):
    """A function that adds the gradients of the mean loss, computed with arrays, and returns it."""

    def backward(X, y):
        hidden, _, output = model.modules
        (W, b), (V, c) = (
            ([[w.data for w in row] for row in layer.weight], [p.data for p in layer.bias])
            for layer in (hidden, output)
        )
        H = np.maximum(X @ np.transpose(W) + b, 0)
        Z = H @ np.transpose(V) + c
        P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
        d_Z = (P - np.eye(10)[y]) / len(X)
        d_H = (d_Z @ V) * (H > 0)
        parts = [(hidden, d_H.T @ X, d_H.sum(axis=0)), (output, d_Z.T @ H, d_Z.sum(axis=0))]
        for layer, by_weight, by_bias in parts:
            weights = [w for row in layer.weight for w in row]
            for p, d in zip(weights, by_weight.ravel().tolist(), strict=True):
                p.grad += d
            for p, d in zip(layer.bias, by_bias.tolist(), strict=True):
                p.grad += d
        return -np.log(P[range(len(y)), y]).mean()

    return backward


@pytest.mark.slow
def test_gradients_of_the_digits_are_those_of_arrays(digits):
    (X, y), _ = digits.images()
    expected = digits.classifier()
    losses = [backward_in_numpy(expected)(X[:5], y[:5])]
    for compiled in (False, True):
        model = digits.classifier()
        optimizer = SGD(model.parameters(), lr=0.0)
        losses += fit(digits.loss_of(model, compiled), X[:5], y[:5], optimizer, steps=1)
        gradients = [[p.grad for p in each.parameters()] for each in (expected, model)]
        np.testing.assert_allclose(*gradients, rtol=0, atol=1e-12)
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-12)
    assert np.abs(gradients[0]).max() > 0.1


def test_the_classifier_learns_the_digits(digits):
    (X, y), (X_validation, y_validation) = digits.images()
    assert X.shape == (1437, 64)
    assert X_validation.shape == (360, 64)
    assert 0 <= X.min() < X.max() <= 1
    assert len(np.unique([*map(bytes, X), *map(bytes, X_validation)])) == 1797
    model = digits.classifier()
    fit(digits.loss_of(model), X, y, adam(model), steps=720, batch_size=digits.BATCH)
    assert accuracy(digits.compiled_logits(model)(X_validation), y_validation) > 0.9


def test_the_picture_names_predicted_digits_and_marks_wrong_ones():
    n, shown, places = 13, 13, 20
    X, y = striped_images(n, side=8)
    predicted = np.where(np.arange(n) == 4, 7, y)
    figure = load("digits").draw(X, y, np.eye(10)[predicted])
    assert f"{(n - 1) / n:.1%} of {n} images right" in figure.get_suptitle()
    assert len(figure.axes) == places
    for i, ax in enumerate(figure.axes):
        if i < shown:
            assert np.array_equal(ax.images[0].get_array(), X[i].reshape(8, 8))
            assert ax.get_title() == ("7, not 4" if i == 4 else str(y[i]))
        assert bool(ax.images) == (i < shown)
        assert ax.spines["left"].get_visible() == (i == 4)


# ---- backpropagation as a film


@pytest.mark.slow
@pytest.mark.parametrize(("options", "theme"), [([], "LIGHT"), (["--dark"], "DARK")])
def test_the_film_is_written_light_or_dark(options, theme, tmp_path):
    assert run(tmp_path, "backward_gif", *options) == "film in backward.gif\n"
    with Image.open(tmp_path / "backward.gif") as gif:
        ground = bytes(gif.convert("RGB").getpixel((1, 1))).hex()
        assert f"#{ground}" == getattr(tokens, theme)["panel"]
        assert gif.n_frames > 50
