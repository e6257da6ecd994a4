"""The loss curve, and the training figure."""

import math

import pytest
from plotting import LABELS, POINTS, line
from sampling import thinned

from micrograd.engine import Value
from micrograd.plot import loss_curve, save, training_figure


def test_loss_curve_counts_steps_from_one():
    ax = loss_curve([0.75, Value(0.5), 0.25])
    assert ax.lines[0].get_xydata().tolist() == [[1, 0.75], [2, 0.5], [3, 0.25]]
    assert ax.get_ylim()[0] == 0
    assert ax.get_title(loc="right") == "training 0.25"


@pytest.mark.parametrize("losses", [[], [None], [0.5], [0.5, math.nan], [0.5, math.inf]])
def test_short_and_broken_curves_are_drawn(losses):
    ax = loss_curve(losses)
    ax.figure.canvas.draw()
    assert ax.get_title(loc="right") == ("training 0.5" if any(losses) else "nothing yet")


def test_the_training_figure_shows_both_and_the_scale():
    figure = training_figure(line, POINTS, LABELS, [0.7, 0.5], names=["off", "on"])
    left, right, bar = figure.axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("x1", "step")
    assert bar.get_ylabel() == "confidence in class on"


@pytest.mark.parametrize("name", thinned(["$x^$", "_hidden", "a" * 200, "<&\"'>", ""], 5))
def test_any_text_is_a_name(name, tmp_path):
    figure = training_figure(line, POINTS, LABELS, [0.7], names=[name, name])
    save(figure, tmp_path / "picture.svg")
    texts = figure.axes[0].get_legend().get_texts()
    assert len(texts) == 2
    assert max(len(text.get_text()) for text in texts) <= 30
