"""Which results differ between lanes, and where means over lanes are taken."""

import pytest
from recordings import inputs_of, written

from micrograd.compiler.averages import averaged, needed
from micrograd.compiler.simplify import Simplified


def test_lanes_start_at_inputs_and_end_at_means():
    recording = Simplified()
    p, x = inputs_of(recording, 2, parameters={0})
    places = [(p * p).place, (p * x).place, recording.add("mean", ((p * x).place,))]
    lanes = recording.instructions.lanes
    assert [bool(lanes[place]) for place in places] == [False, True, False]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (lambda p, x: x, ("mean", "i1")),
        (lambda p, x: p, "i0"),
        (lambda p, x: p * p + x, ("+", ("*", "i0", "i0"), ("mean", "i1"))),
        (lambda p, x: x - p, ("-", ("mean", "i1"), "i0")),
        (lambda p, x: -(p * x), ("neg", ("*", "i0", ("mean", "i1")))),
        (lambda p, x: x / p, ("/", ("mean", "i1"), "i0")),
        (lambda p, x: p / x, ("mean", ("/", "i0", "i1"))),
        (lambda p, x: x * x, ("mean", ("*", "i1", "i1"))),
        (lambda p, x: (p * x).tanh(), ("mean", ("tanh", ("*", "i0", "i1")))),
    ],
)
def test_a_mean_moves_inwards_past_uniform_operands(of, expected):
    recording = Simplified()
    p, x = inputs_of(recording, 2, parameters={0})
    [mean] = averaged(recording, [of(p, x).place])
    assert written(recording, mean) == expected


def test_unneeded_instructions_are_left_out():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    _, kept = y.exp(), x.sin() * 2
    ops = [recording.instructions[i].op for i in needed(recording.instructions, [kept.place])]
    assert ops == ["input", "sin", "constant", "*"]
