"""A recorded training run: which frames are kept, and what is in them."""

import base64
import random

import numpy as np
import pytest
from plotting import X, Y, data_of, trained

from micrograd import plot
from micrograd.engine import Value
from micrograd.losses import binary_cross_entropy_with_logits
from micrograd.nn import MLP


def test_a_frame_holds_what_belongs_to_the_same_weights():
    random.seed(0)
    network = MLP(2, [1])
    history = plot.animate(network, X, Y)
    seen = []
    for _ in range(3):
        loss = sum(map(binary_cross_entropy_with_logits, map(network, X), Y)) / len(X)
        network.zero_grad()
        loss.backward()
        history.record(loss)
        seen.append(
            ([p.data for p in network.parameters()], [p.grad for p in network.parameters()])
        )
        seen[-1] += (loss.data, np.mean([(network(x) > 0) == k for x, k in zip(X, Y, strict=True)]))
        for p in network.parameters():
            p.data -= p.grad
    frames = history.all_frames()
    assert [frame.step for frame in frames] == [0, 1, 2, 3]
    for frame, (weights, gradients, loss, accuracy) in zip(frames, seen, strict=False):
        assert frame.weights.tolist() == weights
        assert frame.gradients.tolist() == gradients
        assert frame.training == pytest.approx({"loss": loss, "accuracy": accuracy})
        assert np.allclose(frame.scores[:, 0], history.scene.plane.grid @ weights[:2] + weights[2])
    # the weights after the last step, whose loss was not recorded
    assert frames[3].weights.tolist() == [p.data for p in network.parameters()]
    assert frames[3].training["loss"] is None
    assert frames[3].gradients is None


def test_no_frame_is_added_where_the_model_has_not_moved():
    assert [frame.step for frame in trained(2, end=True).all_frames()] == [0, 1, 2]
    assert [frame.step for frame in trained(2, end=False).all_frames()] == [0, 1, 2]
    assert trained(2, end=True).all_frames()[-1].gradients is not None


@pytest.mark.parametrize("steps", [100, 101, 102, 500])
def test_of_a_long_run_some_frames_are_kept_with_the_first_and_the_last(steps):
    history = plot.animate(lambda P: P[:, 0], X, Y)
    for step in range(steps + 1):
        history.record(step)
    kept = [frame.step for frame in history.all_frames()]
    assert kept[0] == 0
    assert kept[-1] == steps
    assert 50 <= len(kept) <= 102
    assert [frame.training["loss"] for frame in history.all_frames()] == kept
    gaps = np.diff(kept[:-1])
    assert len(set(gaps.tolist())) == 1


def test_ctrl_c_in_the_middle_of_recording_leaves_the_frames_before_it():
    asked = []

    def model(points):
        asked.append(1)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return points[:, 0]

    history = plot.animate(model, X, Y)
    history.record(1.0)
    with pytest.raises(KeyboardInterrupt):
        history.record(0.5)
    assert [(frame.step, frame.training["loss"]) for frame in history.all_frames()] == [(0, 1.0)]


def test_frames_hold_the_losses_and_accuracies_of_both_sets():
    shift = [0.0]
    history = plot.animate(
        lambda P: P[:, 0] - shift[0], [[0.0, 0.0], [1.0, 1.0]], [0, 1],
        X_validation=[[0.25, 0.0], [0.75, 0.0], [2.0, 0.0]], y_validation=[-1, 1, 1],
    )  # fmt: skip
    for step, losses in enumerate([(0.5, 0.6), (0.4, Value(0.3)), (0.3,)]):
        shift[0] = 0.5 * step
        history.record(*losses)
    data = data_of(history.page().html)
    assert data["validation"]["accuracy"] == pytest.approx([2 / 3, 1, 2 / 3])
    assert data["training"] == {"loss": [0.5, 0.4, 0.3], "accuracy": [1.0, 1.0, 0.5]}
    assert data["validation"]["loss"] == [0.6, 0.3, None]
    assert (data["steps"], data["unit"]) == ([0, 1, 2], "step")
    assert data["low"][0] < 0 < 2 < data["high"][0]  # the rectangle contains all points


def test_a_loss_that_is_not_finite_is_unknown_and_scores_that_are_nan_are_refused():
    history = plot.animate(lambda P: P[:, 0], X, Y)
    for loss in (np.nan, np.inf, Value(2.0), np.float64(3.0)):
        history.record(loss)
    assert [frame.training["loss"] for frame in history.all_frames()] == [None, None, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"got NaN at .*: if training diverged"):
        plot.animate(lambda P: P[:, 0] * np.nan, X, Y).record()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names of 2 to 8 classes"),
        ({"X": [[1.0, 2.0, 3.0]] * 30}, r"shape \(n, 2\), got shape"),
        ({"X_validation": X}, "y_validation expects 30 labels, one for each point, got shape"),
        (
            {"X_validation": [[1.0]], "y_validation": [1]},
            r"X_validation expects n points, .*\(1, 1",
        ),
        ({"X_validation": X, "y_validation": [1]}, "y_validation expects 30 labels"),
        ({"X_validation": X[:1], "y_validation": [2]}, "y_validation expects labels 0 and 1"),
    ],
)
def test_what_cannot_be_recorded_is_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        plot.animate(lambda P: P[:, 0], **{"X": X, "y": Y, **options})


def stored(page):
    """The scores of a page's frames, unpacked as its script does."""
    data = data_of(page)
    b = np.frombuffer(base64.b64decode(data["scores"]), np.int8).astype(float)
    b = b.reshape(len(data["steps"]), np.prod(data["grid"]), -1)
    return np.array(data["units"])[:, None, None] * b / (127 - abs(b))


def test_a_page_keeps_the_boundary_where_it_is():
    history = plot.animate(lambda P: 30 * P[:, 0], [[-1.0, 0.0], [1.0, 1.0]], [0, 1])
    z, again = history.all_frames()[0].scores, stored(history.page().html)[0]
    assert np.all(np.sign(again) == np.sign(np.where(abs(z) < 0.015, 0, z)))
    assert np.allclose(again, z, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("scores", [[1.0, 5.0, 2.0], [1e9, -1e9, 0.0], [100.0, 101.0, 60.0]])
def test_a_page_keeps_how_far_the_best_class_is_ahead(scores):
    history = plot.animate(lambda P: np.tile(scores, (len(P), 1)), X, np.arange(30) % 3)
    again = stored(history.page().html)[0, 0]
    assert again.argmax() == np.argmax(scores)
    assert np.isfinite(again).all()
    first, second = np.sort(again)[:-3:-1]
    ahead = np.sort(scores)[-1] - np.sort(scores)[-2]
    assert min(first - second, 100) == pytest.approx(min(ahead, 100), rel=0.1)
