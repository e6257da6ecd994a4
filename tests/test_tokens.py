"""The colours of drawings, plots and pages."""

import pytest

from micrograd.draw.tokens import DARK, LIGHT, contrast

TEXT = ("ink", "faint", "positive", "negative", "gradient", "local", "wrong")
SOFT = [("ink", "positive-soft"), ("ink", "negative-soft"), ("gradient", "gradient-soft")]
SOFT += [("ink", "mark"), *((f"{c}-soft", "ink") for c in ("gradient", "local"))]
SOFT += [("panel", "ink"), ("soft", "ink")]  # light text on a dark ground
SOFT += [("local", "local-soft"), ("wrong", "wrong-soft"), ("panel", "gradient")]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "panel", "soft"])
def test_text_and_frames_can_be_seen(theme, ground):
    for colour in TEXT:
        assert contrast(theme[colour], theme[ground]) >= 4.5, (colour, ground)
    assert contrast(theme["frame"], theme[ground]) >= 3


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("colour", "ground"), SOFT)
def test_text_on_its_own_ground_can_be_read(theme, colour, ground):
    assert contrast(theme[colour], theme[ground]) >= 4.5


def test_both_themes_have_the_same_names():
    assert LIGHT.keys() == DARK.keys()
