"""The demo as a user runs it: in a process and a folder of its own."""

import os
import random
import re
import runpy
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from blocks import python
from demo_scripts import DEMOS, interrupted
from sampling import thinned

DEMO = DEMOS / "decision_boundary.py"
SMALL = ["--points", "20", "--hidden", "4"]


def run(folder, *arguments, code=0):
    utf_8 = {"PYTHONIOENCODING": "utf-8"}
    return python("-W", "error", DEMO, *arguments, folder=folder, code=code, **utf_8)


def assert_drawn(result, picture, points):
    last = result.stdout.splitlines()[-1]
    match = re.fullmatch(r"accuracy (\d+\.\d)% on (\d+) points, picture in (.*)", last)
    assert match, last
    assert (int(match[2]), match[3]) == (points, str(picture))
    return float(match[1])


@pytest.mark.parametrize("data", thinned(["moons", "circles"], 2))
def test_points_are_made_learned_and_drawn(tmp_path, data):
    result = run(tmp_path, *SMALL, "--data", data, "--steps", "40", "--noise", "0.02")
    assert assert_drawn(result, "decision_boundary.png", 20) >= 80
    assert [path.name for path in tmp_path.iterdir()] == ["decision_boundary.png"]
    assert (tmp_path / "decision_boundary.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"40/40.*loss 0\.\d{4}, accuracy \d+\.\d%", result.stderr)


@pytest.mark.slow
def test_a_file_of_points_in_any_unit_is_learned_and_drawn(tmp_path):
    rows = [f"{i},{0.001 * (i % 7)},{'near' if i < 500 else 'far'}" for i in range(0, 1000, 40)]
    (tmp_path / "points.csv").write_text("mm,m,place\n" + "\n".join(rows))
    result = run(tmp_path, "--data", "points.csv", "--hidden", "--out", "p.svg", "--steps", "30")
    assert assert_drawn(result, "p.svg", 25) >= 95


@pytest.mark.slow
@pytest.mark.parametrize("data", thinned(["blobs", "spirals"], 2))
def test_three_classes_are_learned_and_drawn(tmp_path, data):
    arguments = ("--points", "30", "--hidden", "8", "--data", data, "--steps", "40")
    assert assert_drawn(run(tmp_path, *arguments), "decision_boundary.png", 30) >= 80


@pytest.mark.parametrize("data", thinned(["moons", "spirals"], 2))
def test_eager_and_compiled_training_have_the_same_losses(data):
    demo = SimpleNamespace(**runpy.run_path(str(DEMO)))
    X, y, names = demo.load(data, 30, None, seed=1)
    losses, logits, weights = [], [], []
    for backward_of in (demo.eager_backward, demo.compiled_backward):
        random.seed(2)
        network = demo.MLP(2, [5, 1 if len(names) == 2 else len(names)], activation="tanh")
        optimizer = demo.AdamW(network.parameters(), lr=0.1, weight_decay=0.1)
        backward = backward_of(network, X, y)
        losses.append(demo.train(optimizer, backward, y, steps=25))
        logits.append([[float(z) for z in np.ravel([getattr(z, "data", z) for z in point])]
                       for point in backward()[1]])  # fmt: skip
        weights.append(network.state_dict())
    assert losses[0][-1] < 0.8 * losses[0][0]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    np.testing.assert_allclose(*logits, rtol=1e-9, atol=1e-9)
    assert weights[0] == pytest.approx(weights[1], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start", "mode"),
    [("a.gif", b"GIF89a", []), ("a.HTML", b"<!doctype html>", ["--eager"])],
)
def test_the_training_is_animated_as_well(tmp_path, name, start, mode):
    result = run(tmp_path, *SMALL, "--steps", "3", "--out", "still.png", "--animate", name, *mode)
    assert_drawn(result, "still.png", 20)
    assert result.stdout.splitlines()[0] == f"animation in {name}"
    assert (tmp_path / name).read_bytes().startswith(start)
    if not mode:
        plain = run(tmp_path, *SMALL, "--steps", "3", "--out", "plain.png")
        assert result.stdout.splitlines()[1:] == [plain.stdout.strip().replace("plain", "still")]
        assert (tmp_path / "still.png").read_bytes() == (tmp_path / "plain.png").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are sent in another way")
def test_ctrl_c_keeps_what_has_been_learned_and_draws(tmp_path):
    options = [*SMALL, "--steps", "1000000", "--animate", "a.html"]
    out, err = interrupted(tmp_path, "decision_boundary", *options)
    result = subprocess.CompletedProcess([], 0, out, err)
    assert_drawn(result, "decision_boundary.png", 20)
    steps = int(re.search(r"\nstopped after ([1-9]\d*) steps\n", err)[1])
    page = (tmp_path / "a.html").read_text()
    recorded = int(re.search(r'"steps":\[[\d,]*?(\d+)\]', page)[1])
    assert steps <= recorded <= steps + 1  # it may come between recording and taking a step
    assert (tmp_path / "decision_boundary.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("mode", [[], ["--eager"]])
def test_training_that_diverges_is_reported_without_a_traceback(tmp_path, mode):
    result = run(tmp_path, *SMALL, "--lr", "1e300", "--steps", "9", *mode, code=1)
    assert re.search(r"\nno picture: the gradient of parameter \d+ is nan, .*lower", result.stderr)
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--steps -1", "expected --steps of at least 0, got -1"),
        ("--data squares", "moons, circles, blobs, spirals or a .csv file, got 'squares'"),
        ("--data nowhere.csv", "No such file or directory: 'nowhere.csv'"),
        ("--data broken.csv", "broken.csv, line 2: expected x1,x2,label, got '2,one,b'"),
        ("--data nine.csv", "nine.csv: expected at most 8 classes, one for each colour of the pic"),
        ("--data three.csv", "three.csv: expected x1,x2,label, got 3 numbers in a row"),
        ("--data two.csv --points 10", "--points and --noise do not apply to a file"),
        ("--points 1", "got classes=2 and n=1"),
        ("--lr -0.1", "lr expects a number in [0, inf), got -0.1"),
        ("--out picture.docx", "picture.docx: expected one of the endings"),
        ("--animate run.mp4", "run.mp4: expected one of the endings .gif .html"),
        ("--out a.gif --animate ./a.gif", "--out and --animate name the same file: give them two"),
        ("--out nowhere/picture.png", "cannot write nowhere/picture.png: its folder does not"),
    ],
)
def test_bad_arguments_fail_at_once(tmp_path, monkeypatch, capsys, arguments, message):
    (tmp_path / "two.csv").write_text("1,2,a\n2,1,b\n")
    (tmp_path / "nine.csv").write_text("".join(f"{i},{i * i},{i}\n" for i in range(9)))
    (tmp_path / "three.csv").write_text("1,2,3,a\n2,1,0,b\n")
    (tmp_path / "broken.csv").write_text("1,2,a\n2,one,b\n")
    before = sorted(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(DEMO), *arguments.split()])
    main = runpy.run_path(str(DEMO))["main"]
    main.__globals__["train"] = lambda *_: pytest.fail("training has begun")
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
