"""Where the time of a compiled function goes."""

import pytest

import micrograd
from micrograd import Value


def test_a_profile_lists_each_group_with_its_time():
    w = Value(2.0)
    loss = micrograd.compile(lambda x: (w * x).exp())
    profile = loss.profile([1.0, 2.0])
    assert [group for group, _ in profile.times] == loss.groups
    assert all(seconds > 0 for _, seconds in profile.times)
    head, *rows = str(profile).splitlines()
    assert "groups" in head
    assert len(rows) == len(loss.groups)
    shares = [float(row.split("us")[1].split("%")[0]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=1)
    with pytest.raises(TypeError, match="expects a batch of numbers, got Values"):
        loss.profile(Value(1.0))


def test_outputs_of_a_model_for_a_batch():
    model = micrograd.MLP(2, [3, 2])
    outputs = micrograd.compile(model)([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).lanes
    assert outputs.shape == (3, 2)
    assert outputs[1].tolist() == pytest.approx([v.data for v in model([3.0, 4.0])])
