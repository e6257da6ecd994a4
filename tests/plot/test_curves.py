"""The loss curve, and the training figure."""

import math

import pytest
from plotting import LABELS, POINTS, line
from sampling import thinned

from micrograd.engine import Value
from micrograd.plot import learning_curves, loss_curve, save, training_figure


def test_loss_curve_counts_steps_from_one():
    ax = loss_curve([0.75, Value(0.5), 0.25])
    assert ax.lines[0].get_xydata().tolist() == [[1, 0.75], [2, 0.5], [3, 0.25]]
    assert ax.get_ylim()[0] == 0
    assert ax.get_title(loc="right") == "training 0.25"


@pytest.mark.parametrize("losses", [[], [0.5], [0.5, math.nan], [0.5, math.inf]])
def test_short_and_broken_curves_are_drawn(losses):
    ax = loss_curve(losses)
    ax.figure.canvas.draw()
    assert ax.get_title(loc="right") == ("training 0.5" if losses else "nothing yet")


def curves_of(figure):
    """For each panel, its title and the points of its curves by their names."""
    return {
        ax.get_ylabel(): {
            line.get_label(): line.get_xydata().tolist()
            for line in ax.lines
            if not line.get_label().startswith("_")
        }
        for ax in figure.axes
    }


def test_learning_curves_show_both_sets_with_their_best_epochs():
    figure = learning_curves(
        {"accuracy": [0.5, 0.75, 1.0], "loss": [Value(3.0), 2.0, 1.0]},
        {"loss": [3.0, 1.5, 2.0], "accuracy": [0.5, 0.5, 0.75]},
    )
    assert curves_of(figure) == {
        "loss": {"training": [[1, 3], [2, 2], [3, 1]], "validation": [[1, 3], [2, 1.5], [3, 2]]},
        "accuracy": {
            "training": [[1, 0.5], [2, 0.75], [3, 1]],
            "validation": [[1, 0.5], [2, 0.5], [3, 0.75]],
        },
    }
    titles = [ax.get_title(loc="right") for ax in figure.axes]
    assert titles == ["best 1.5, epoch 2", "best 75.0%, epoch 3"]
    marked = [ax.collections[0].get_offsets().tolist() for ax in figure.axes]
    assert marked == [[[2, 1.5]], [[3, 0.75]]]
    for ax in figure.axes:
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [
            "training", "validation",
        ]  # fmt: skip
        assert ax.lines[0].get_color() != ax.lines[1].get_color()
    assert figure.axes[0].get_ylim()[0] == 0


def test_learning_curves_of_training_alone_and_of_other_epochs():
    figure = learning_curves({"loss": [2.0, None, 1.0]}, epochs=[0, 10, 20], unit="step")
    assert curves_of(figure) == {"loss": {"training": [[0, 2], [20, 1]]}}
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_title(loc="right")) == ("step", "best 1, step 20")
    assert ax.get_legend() is None


@pytest.mark.parametrize("numbers", [[], [None], [math.nan, math.inf]])
def test_learning_curves_without_numbers_say_so(numbers):
    figure = learning_curves({"loss": numbers})
    figure.draw_without_rendering()
    assert figure.axes[0].get_title(loc="right") == "nothing yet"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([{"error": [1.0]}], r"expected \"loss\" or \"accuracy\" or both, got \['error'\]"),
        ([{}], r"got \[\]"),
        ([{"loss": [1.0]}, {}, [1, 2]], r"expected shape \(2, 1\), got shape \(1,\)"),
    ],
)
def test_curves_that_do_not_belong_together_are_refused(arguments, message):
    training, validation, epochs = [*arguments, None, None][:3]
    with pytest.raises(ValueError, match=message):
        learning_curves(training, validation, epochs=epochs)


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
