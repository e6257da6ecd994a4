"""Worked examples: each demo runs as a script, and its heart agrees with its reference."""

import re

import numpy as np
import pytest
from demo_scripts import load, run
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
        ("circle.png", b"\x89PNG"), ("circle_training.gif", b"GIF89a"),
    ):  # fmt: skip
        assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.slow
def test_digits_prints_both_classifiers(tmp_path):
    pytest.importorskip("sklearn")
    out = run(tmp_path, "digits", "--images", "20", "--epochs", "1", "--eager")
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
        ("digits", "--out digits.docx", "expected one of the endings"),
        ("original_demo", "--out-dir nowhere", "an existing folder, got 'nowhere'"),
        ("graphs_to_digits", "--mnist nowhere", "there is no train-images-idx3-ubyte in nowhere"),
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
    networks = [demo.networks_before_training(9)[k] for k in (0, 1, 2, 8)]
    history = demo.train(networks, demo.discs(1000, seed=0), demo.discs(1000, seed=1), epochs=200)
    assert history[-1].curves[3, [0, 3]] == pytest.approx([0.049, 0.950], abs=0.005)
    assert history[-1].curves[[0, 1, 2], 3] == pytest.approx([0.625, 0.746, 0.919], abs=0.005)


# ---- digits


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("sklearn")
    return load("digits")


def adam(model):
    return Adam(model.parameters(), lr=0.005)


def test_the_classifier_learns_the_digits(digits):
    (X, y), (X_validation, y_validation) = digits.images()
    assert X.shape == (1437, 64)
    assert X_validation.shape == (360, 64)
    assert 0 <= X.min() < X.max() <= 1
    assert len(np.unique([*map(bytes, X), *map(bytes, X_validation)])) == 1797
    model = digits.classifier()
    fit(digits.loss_of(model), X, y, adam(model), steps=720, batch_size=digits.BATCH)
    assert accuracy(digits.compiled_logits(model)(X_validation), y_validation) > 0.9


# ---- backpropagation as a film


@pytest.mark.slow
def test_the_film_is_written_in_dark_colours(tmp_path):
    assert run(tmp_path, "backward_gif", "--dark") == "film in backward.gif\n"
    with Image.open(tmp_path / "backward.gif") as gif:
        ground = bytes(gif.convert("RGB").getpixel((1, 1))).hex()
        assert f"#{ground}" == tokens.DARK["panel"]
        assert gif.n_frames > 50
