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
