"""An animation as a GIF, and its file."""

import io

import numpy as np
import pytest
from PIL import Image
from plotting import X, Y, trained

from micrograd import plot
from micrograd.draw.tokens import LIGHT


@pytest.mark.slow
def test_a_gif_moves_at_readme_width_and_holds_the_last_frame(tmp_path):
    trained(5).save(tmp_path / "training.gif")
    with Image.open(tmp_path / "training.gif") as gif:
        assert gif.width == 720
        assert gif.n_frames == 6
        durations, first = [], gif.convert("RGB")
        for i in range(gif.n_frames):
            gif.seek(i)
            durations.append(gif.info["duration"])
        assert durations == [80] * 5 + [2000]
        assert gif.info["loop"] == 0
        assert first.getpixel((2, 2)) == (255, 255, 255)
        assert np.abs(np.asarray(gif.convert("RGB")).astype(int) - np.asarray(first)).max() > 100
    assert [path.name for path in tmp_path.iterdir()] == ["training.gif"]


def saved(history, folder, ending="gif", **options):
    """The bytes of a run that was saved as a file."""
    history.save(folder / f"run.{ending}", **options)
    return (folder / f"run.{ending}").read_bytes()


def pictures(gif):
    """All frames of a GIF as arrays of shape (height, width, 3)."""
    with Image.open(io.BytesIO(gif)) as opened:
        frames = []
        for i in range(opened.n_frames):
            opened.seek(i)
            frames.append(np.asarray(opened.convert("RGB")).astype(int))
    return frames


@pytest.mark.slow
def test_a_gif_shows_validation_a_title_and_the_true_boundary(tmp_path):
    shift = [0.0]

    def run(**options):
        history = plot.animate(lambda P: P[:, 0] - shift[0], X, Y, **options)
        history.record(1.0, options.get("X_validation") and 0.5)
        return pictures(saved(history, tmp_path))[0]

    plain = run()
    height, width, _ = plain.shape
    assert run(title="The title").shape[0] > height
    checked = run(X_validation=X[:9], y_validation=Y[:9])
    moved = run(X_validation=X[9:18], y_validation=Y[9:18])
    assert (checked[:, : width // 2] != moved[:, : width // 2]).any()  # hollow points
    dashed = run(true_boundary=[[-9.0, 0.0], [9.0, 0.0]], names=["a", "b"])
    ink = np.array([int(LIGHT["ink"][i : i + 2], 16) for i in (1, 3, 5)])
    rows = (abs(dashed[:, 80 : width // 2] - ink).max(axis=2) < 60).mean(axis=1)
    assert (rows > 0.4).any()  # the dashes lie in one row of pixels


@pytest.mark.slow
def test_a_gif_shows_at_most_61_frames_the_first_and_the_last_among_them(tmp_path):
    history = plot.animate(lambda P: P[:, 0] + shift[0], X, Y)
    shift = [0.0]
    for step in range(100):
        shift[0] = step / 100
        history.record(1 / (step + 1))
    with Image.open(io.BytesIO(saved(history, tmp_path))) as gif:
        assert gif.n_frames == 61


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["gif", "html"])
def test_the_same_run_gives_the_same_bytes(tmp_path, ending):
    assert saved(trained(2), tmp_path, ending) == saved(trained(2), tmp_path, ending)
