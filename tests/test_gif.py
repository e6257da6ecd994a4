"""GIFs in exactly the colours of a palette."""

import io

import numpy as np
import pytest
from PIL import Image

from micrograd.plot.gif import animated_gif, frequent_colours


def frames(gif):
    with Image.open(io.BytesIO(gif)) as opened:
        for i in range(opened.n_frames):
            opened.seek(i)
            yield np.asarray(opened.convert("RGB")), opened.info["duration"]


def test_pictures_of_few_colours_come_back_exactly():
    random = np.random.default_rng(0)
    colours = random.integers(0, 256, size=(200, 3)).astype(np.uint8)
    pictures = [colours[random.integers(0, 200, size=(20, 30))] for _ in range(4)]
    gif = animated_gif(pictures, frequent_colours(pictures), [50, 70, 90, 2000])
    found, durations = zip(*frames(gif), strict=True)
    np.testing.assert_array_equal(found, pictures)
    assert durations == (50, 70, 90, 2000)


@pytest.mark.parametrize(
    ("colour", "nearest"), [((250, 251, 252), (255, 255, 255)), ((9, 90, 3), (0, 100, 0))]
)
def test_other_colours_become_the_nearest_of_the_palette(colour, nearest):
    palette = np.array([[0, 0, 0], [255, 255, 255], [0, 100, 0]])
    picture = np.full((2, 2, 3), colour, np.uint8)
    ((found, _),) = frames(animated_gif([picture], palette, [100]))
    assert found[1, 1].tolist() == list(nearest)


def test_a_palette_has_the_most_frequent_colours():
    picture = np.zeros((30, 30, 3), np.uint8)
    picture[..., 0] = np.arange(900).reshape(30, 30) // 4  # 225 colours, four times each
    picture[..., 1] = picture[..., 0] % 2
    others = np.arange(256 * 3).reshape(16, 16, 3).astype(np.uint8)
    palette = frequent_colours([picture, picture, others])
    assert palette.shape == (256, 3)
    known = {tuple(colour) for colour in palette.tolist()}
    assert {tuple(colour) for colour in picture.reshape(-1, 3).tolist()} <= known
