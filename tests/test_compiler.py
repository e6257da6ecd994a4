"""Chapter 13. Each pass alone: a program goes in, the expected one comes out."""

import math
import random
from operator import neg

import pytest
from hypothesis import given
from operations import TABLE, name_of
from test_engine import POINT, SMOOTH, STEPS, build

from micrograd import Value
from micrograd.compiler.dots import Dot, fused
from micrograd.compiler.lanes import averaged, in_lanes, needed
from micrograd.compiler.simplify import FUNCTIONS, Simplified
from micrograd.nn import MLP
from micrograd.trace import Traced


def evaluated(instructions, inputs):
    """The result of each instruction, for the inputs in their order."""
    given = iter(inputs)
    results = []
    for step in instructions:
        if step.op == "input":
            results.append(next(given))
        elif step.op == "constant":
            results.append(step.number)
        else:
            results.append(FUNCTIONS[step.op](*(results[i] for i in step.operands)))
    return results


def known(number, results):
    """A number that was recorded, once it is known; one that never was is what it is."""
    return results[number.place] if isinstance(number, Traced) else number


def inputs_of(recording, count):
    return [recording.input(0.0) for _ in range(count)]


# ---- simplify


@pytest.mark.parametrize(
    "same",
    [
        lambda x: x + 0, lambda x: 0 + x, lambda x: x - 0, lambda x: 1 * x, lambda x: x * 1.0,
        lambda x: x / 1, lambda x: x**1, lambda x: neg(-x), lambda x: (x > 0).where(x, x),
        lambda x: -1 * (-x), lambda x: 0 - (-x),
    ],
)  # fmt: skip
def test_what_changes_nothing_is_left_out(same):
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
def test_what_does_the_same_has_the_same_place(long, short):
    x = Simplified().input(3.0)
    assert long(x).place == short(x).place


def test_constants_are_computed_at_once_and_stored_once():
    recording = Simplified()
    three = recording.constant(3.0)
    assert (three * 2 + 1).place == recording.constant(7).place
    assert (three**0).place == recording.constant(1).place
    assert (three > 2).where(recording.input(1.0), 5).place == recording.instructions.index(
        next(step for step in recording.instructions if step.op == "input")
    )
    assert recording.constant(0.0).place != recording.constant(-0.0).place
    assert recording.constant(math.nan).place == recording.constant(math.nan).place


def test_what_is_not_the_same_stays():
    x, y = inputs_of(Simplified(), 2)
    assert (x * 0).place != x.recording.constant(0).place  # x may be infinite
    assert (x - y).place != (y - x).place
    assert (x / y).place != (y / x).place
    assert (x / 0).place > x.place  # decided when it runs
    assert (x.recording.constant(-1.0).log()).place > x.place


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


# ---- lanes


def test_lanes_begin_at_inputs_and_end_at_means():
    recording = Simplified()
    p, x = inputs_of(recording, 2)
    places = [(p * p).place, (p * x).place, recording.simplified("mean", ((p * x).place,))]
    lanes = in_lanes(recording.instructions, {p.place})
    assert [lanes[place] for place in places] == [False, True, False]


def shown(instructions, place):
    """An instruction and what it is computed from, as nested tuples."""
    step = instructions[place]
    if step.op in ("input", "constant"):
        return f"i{place}" if step.op == "input" else step.number
    return (step.op, *(shown(instructions, i) for i in step.operands))


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
def test_a_mean_moves_inwards_until_it_meets_the_lanes(of, expected):
    recording = Simplified()
    p, x = inputs_of(recording, 2)
    [mean] = averaged(recording, [of(p, x).place], {p.place})
    assert shown(recording.instructions, mean) == expected


def test_what_no_result_needs_is_left_out():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    _, kept = y.exp(), x.sin() * 2
    ops = [recording.instructions[i].op for i in needed(recording.instructions, [kept.place])]
    assert ops == ["input", "sin", "constant", "*"]


# ---- dots


def dots_of(recording, results, parameters=()):
    places = needed(recording.instructions, results)
    return fused(recording.instructions, places, results, parameters)


def test_a_tree_of_additions_is_one_sum():
    recording = Simplified()
    a, b, c, d, e = inputs_of(recording, 5)
    whole = (a * b - c) - (d * e - (a + b))
    assert dots_of(recording, [whole.place]) == {
        whole.place: Dot(
            products=((0, 1, 1), (3, 4, -1)), terms=((0, 1), (1, 1), (2, -1))
        )
    }  # fmt: skip


def test_what_others_use_stays_by_itself():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    product = a * b
    whole = product + c * c + b
    used = product.tanh()
    dots = dots_of(recording, [whole.place, used.place])
    assert dots[whole.place] == Dot(((2, 2, 1),), ((1, 1), (product.place, 1)))


def test_a_result_does_not_disappear_in_another():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    part = a + b + c
    whole = part + a * b
    dots = dots_of(recording, [part.place, whole.place])
    assert dots[part.place] == Dot((), ((0, 1), (1, 1), (2, 1)))
    assert dots[whole.place] == Dot(((0, 1, 1),), ((part.place, 1),))


def test_two_terms_and_signs_alone_are_no_dot():
    recording = Simplified()
    a, b = inputs_of(recording, 2)
    assert dots_of(recording, [(a + b.exp()).place, (-a).place, (a - b).place]) == {}


def test_uniform_sums_are_not_drawn_into_the_lanes():
    recording = Simplified()
    p, q, x = inputs_of(recording, 3)
    penalty = p * p + q * q
    whole = penalty + x * x + x
    dots = dots_of(recording, [whole.place], {p.place, q.place})
    assert dots[penalty.place] == Dot(((0, 0, 1), (1, 1, 1)))
    assert dots[whole.place] == Dot(((2, 2, 1),), ((2, 1), (penalty.place, 1)))


def test_a_mean_of_a_product_is_a_sum_over_the_lanes():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    [mean] = averaged(recording, [(x * y).place], ())
    assert dots_of(recording, [mean]) == {(x * y).place: Dot(((0, 1, 1),))}


def test_every_neuron_and_what_it_is_owed_is_a_dot():
    random.seed(0)
    model = MLP(3, [4, 5, 1])
    recording = Simplified()
    xs = [recording.input(0.5) for _ in range(3)]
    parameters = model.parameters()
    for p in parameters:
        p.data = recording.input(p.data)
    out = model(xs)
    out.backward()
    inputs = range(3, 3 + len(parameters))
    gradients = [p.grad.place for p in parameters if isinstance(p.grad, Traced)]
    results = averaged(recording, [out.data.place, *gradients], inputs)
    dots = dots_of(recording, results, inputs).values()
    lengths = [len(dot.products) for dot in dots]
    assert lengths.count(3) == 4  # of the first layer
    assert lengths.count(4) == 5
    assert lengths.count(5) == 1 + 4  # the output, and what the first layer is owed
    # The gradients of weights, products along lanes; of the last layer the upstream gradient is 1.
    assert lengths.count(1) == 4 * 3 + 5 * 4


def test_dots_compute_what_the_chains_did():
    recording = Simplified()
    numbers = [0.5, -1.5, 2.0, 3.0]
    a, b, c, d = (recording.input(x) for x in numbers)
    whole = a * b - (c * d + a - b * c) - 4
    [dot] = dots_of(recording, [whole.place]).values()
    results = evaluated(recording.instructions, numbers)
    total = sum(sign * results[i] * results[j] for i, j, sign in dot.products)
    total += sum(sign * results[i] for i, sign in dot.terms)
    assert total == results[whole.place]
