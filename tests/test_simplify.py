"""Simplified expressions, and that their gradients stay the same."""

import math
from fractions import Fraction
from operator import neg

import numpy as np
import pytest
from hypothesis import given
from operations import TABLE, name_of
from random_graphs import POINT, SMOOTH, STEPS, build
from recordings import evaluated, inputs_of, written

from micrograd import Value
from micrograd.compiler.simplify import Simplified
from micrograd.core.tracing import Traced


def known(number, results):
    """The result of a traced number, or the number itself if it is not traced."""
    return results[number.place] if isinstance(number, Traced) else number


@pytest.mark.parametrize(
    "same",
    [
        lambda x: x + 0, lambda x: 0 + x, lambda x: x - 0, lambda x: 1 * x, lambda x: x * 1.0,
        lambda x: x / 1, lambda x: x**1, lambda x: neg(-x), lambda x: (x > 0).where(x, x),
        lambda x: -1 * (-x), lambda x: 0 - (-x),
    ],
)  # fmt: skip
def test_no_ops_are_left_out(same):
    x = Simplified().input(3.0)
    assert same(x).place == x.place


@pytest.mark.parametrize(
    ("long", "short"),
    [
        (lambda x: -1 * x, lambda x: -x),
        (lambda x: 0 - x, lambda x: -x),
        (lambda x: x**2, lambda x: x * x),
        (lambda x: x**-1, lambda x: 1 / x),
        (lambda x: x**0.5, lambda x: x.sqrt()),
        (lambda x: x + 2, lambda x: 2.0 + x),
        (lambda x: x * 2, lambda x: 2 * x),
        (lambda x: x.exp() + x.exp(), lambda x: x.exp() + x.exp()),
    ],
)
def test_equal_expressions_have_the_same_place(long, short):
    x = Simplified().input(3.0)
    assert long(x).place == short(x).place


def test_constants_are_computed_immediately_and_stored_once():
    recording = Simplified()
    three = recording.constant(3.0)
    assert (three * 2 + 1).place == recording.constant(7).place
    assert (three**0).place == recording.constant(1).place
    assert (three > 2).where(recording.input(1.0), 5).place == recording.instructions.index(
        next(step for step in recording.instructions if step.op == "input")
    )
    assert recording.constant(0.0).place != recording.constant(-0.0).place
    assert recording.constant(math.nan).place == recording.constant(math.nan).place


def test_different_expressions_stay_different():
    x, y = inputs_of(Simplified(), 2)
    assert (x * 0).place != x.recording.constant(0).place  # x may be infinite
    assert (x - y).place != (y - x).place
    assert (x / y).place != (y / x).place
    assert (x / 0).place > x.place  # computed when it runs
    assert (x.recording.constant(-1.0).log()).place > x.place


@pytest.mark.parametrize(
    ("expression", "simplified"),
    [
        (lambda x, y: x + -y, ("-", "i0", "i1")),
        (lambda x, y: -x + y, ("-", "i1", "i0")),
        (lambda x, y: x - -y, ("+", "i0", "i1")),
        (lambda x, y: x + -1 * y, ("-", "i0", "i1")),
        (lambda x, y: x**-0.5, ("/", 1, ("sqrt", "i0"))),
        (lambda x, y: x**0 + y, ("+", 1, "i1")),
        (lambda x, y: x**3, ("**", "i0", 3)),
        (lambda x, y: x**y, ("**", "i0", "i1")),
        # where a number is needed, a condition becomes 1 or 0
        (lambda x, y: (x > 0) * y, ("*", ("where", (">", "i0", 0), 1, 0), "i1")),
        (lambda x, y: (x > y).exp(), ("exp", ("where", (">", "i0", "i1"), 1, 0))),
        (lambda x, y: (x > y).where(x <= y, y),
         ("where", (">", "i0", "i1"), ("where", ("<=", "i0", "i1"), 1, 0), "i1")),
        # where a condition is needed, a number is true if it is not 0
        (lambda x, y: x.where(y, 2), ("where", ("is", "i0", 0), 2, "i1")),
        (lambda x, y: (x + y).where(y, y), "i1"),
        (lambda x, y: x.recording.constant(3.0).where(x, y), "i0"),
        (lambda x, y: x.recording.constant(0).where(x, y), "i1"),
        (lambda x, y: x.maximum(y), ("maximum", "i0", "i1")),
        (lambda x, y: x.recording.constant(2.0).maximum(5), 5),
        (lambda x, y: x.recording.constant(2.0).minimum(5), 2.0),
        (lambda x, y: x.take([y, 2.0]), ("take", "i0", "i1", 2.0)),
        (lambda x, y: (x > 0).take([y, 2.0]),
         ("take", ("where", (">", "i0", 0), 1, 0), "i1", 2.0)),
        (lambda x, y: x.recording.record("is", x, 1), ("is", "i0", 1)),
        (lambda x, y: 2 * (3 * x), ("*", 2, ("*", 3, "i0"))),
        (lambda x, y: 0 - (x - y), ("neg", ("-", "i0", "i1"))),
        (lambda x, y: x / -1, ("/", "i0", -1)),
        (lambda x, y: 1 / x, ("/", 1, "i0")),
        (lambda x, y: x * 0, ("*", "i0", 0)),
    ],
)  # fmt: skip
def test_simplified_expressions(expression, simplified):
    recording = Simplified()
    out = expression(*inputs_of(recording, 2))
    assert written(recording, out.place) == simplified


def test_an_undefined_power_of_constants_is_left_to_the_executor():
    recording = Simplified()
    zero, thousand = recording.constant(0.0), recording.constant(1000.0)
    assert written(recording, (1 / zero).place) == ("/", 1, 0.0)
    assert written(recording, (zero**-1).place) == ("**", 0.0, -1)
    assert written(recording, thousand.exp().place) == ("exp", 1000.0)


def test_all_kinds_of_numbers_are_constants_but_nothing_else_is():
    recording = Simplified()
    x = recording.input(1.0)
    places = {(x + number).place for number in (2, 2.0, np.float32(2), Fraction(2), np.array(2))}
    assert len(places) == 1
    assert recording.place(True) == recording.place(1.0)
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(ValueError, match="another recording"):
        x + Simplified().input(1.0)


def test_the_place_of_a_condition_is_that_of_1_or_0():
    recording = Simplified()
    x = recording.input(1.0)
    assert written(recording, recording.place(x > 0)) == ("where", (">", "i0", 0), 1, 0)
    assert recording.place(x) == 0


@pytest.mark.parametrize("row", TABLE, ids=name_of)
def test_a_simplified_recording_computes_the_same_gradients(row):
    recording = Simplified()
    leaves = [Value(recording.input(x)) for x in row.points[0]]
    out = row.function(*leaves)
    out.backward()
    for point in row.points:
        eager = [Value(x) for x in point]
        expected = row.function(*eager)
        expected.backward()
        found = evaluated(recording.instructions, point)
        assert found[out.data.place] == pytest.approx(expected.data, rel=1e-15)
        for leaf, right in zip(leaves, eager, strict=True):
            assert known(leaf.grad, found) == pytest.approx(right.grad, rel=1e-14)


@given(STEPS, POINT, POINT)
def test_random_programs_compute_the_same_gradients(steps, point, other):
    recording = Simplified()
    leaves = [Value(recording.input(x)) for x in point]
    build(leaves, steps, SMOOTH).backward()
    eager = [Value(x) for x in other]
    build(eager, steps, SMOOTH).backward()
    found = evaluated(recording.instructions, other)
    for leaf, right in zip(leaves, eager, strict=True):
        assert known(leaf.grad, found) == pytest.approx(right.grad, rel=1e-12, abs=1e-12)


def test_instructions_are_a_list_before_and_after_they_are_made_compact():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    (x > 2.0).where(x.take([x, y, 0.5]), -y)
    steps = recording.instructions
    before, operands = list(steps), steps.operands
    assert (steps[-1], steps[len(steps) - 1], steps[1:-1]) == (before[-1], before[-1], before[1:-1])
    steps.compact()
    steps.compact()
    assert (steps, steps.operands) == (before, operands)
    with pytest.raises(IndexError):
        steps[len(steps)]
