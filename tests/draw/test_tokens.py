"""The colours of drawings, plots and pages."""

import pytest
from colours import contrast

from micrograd.draw.tokens import DARK, DEEPEST, LIGHT, line

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


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["positive-soft", "negative-soft"])
@pytest.mark.parametrize("colour", ["ink", "faint", "gradient", "local"])
def test_text_on_the_deepest_shade_can_be_read(theme, colour, ground):
    assert contrast(theme[colour], mixed(theme[ground], theme["panel"], DEEPEST)) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_line_of_the_smallest_weight_can_be_seen(theme):
    opacity = int(line(1e-9, 1.0)["color"][7:], 16) / 255
    for sign in ("positive", "negative"):
        assert contrast(mixed(theme[sign], theme["panel"], opacity), theme["panel"]) >= 3


def mixed(colour, ground, opacity):
    """The colour that one sees if a colour of this opacity is drawn on a ground."""
    pairs = ((int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(opacity * a + (1 - opacity) * b):02x}" for a, b in pairs)
