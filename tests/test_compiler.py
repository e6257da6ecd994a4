"""Chapter 13. Each pass alone: a program goes in, the expected one comes out."""

import copy
import math
import operator
import pickle
import random
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, product
from operator import neg

import numpy as np
import pytest
from hypothesis import given
from operations import TABLE, name_of
from test_engine import POINT, SMOOTH, STEPS, build

from micrograd import Value, no_grad, take
from micrograd.compiler import run
from micrograd.compiler.dots import ONE, Unit, fused
from micrograd.compiler.lanes import averaged, in_lanes, needed
from micrograd.compiler.parameters import Resident, together
from micrograd.compiler.program import Program, _packed, _unpacked
from micrograd.compiler.record import recorded
from micrograd.compiler.run import TiledExecutor
from micrograd.compiler.run_numba import numba_binder, why_not
from micrograd.compiler.run_numpy import NumPyRun, regular
from micrograd.compiler.schedule import Block, Group, Schedule, grids, scheduled
from micrograd.compiler.simplify import FUNCTIONS, Simplified
from micrograd.nn import MLP, Linear
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


def written(recording, place):
    """An instruction and what it is computed from, as nested tuples."""
    step = recording.instructions[place]
    if step.op in ("input", "constant"):
        return f"i{place}" if step.op == "input" else step.number
    return (step.op, *(written(recording, i) for i in step.operands))


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
        # a condition is a number where a number is asked for
        (lambda x, y: (x > 0) * y, ("*", ("where", (">", "i0", 0), 1, 0), "i1")),
        (lambda x, y: (x > y).exp(), ("exp", ("where", (">", "i0", "i1"), 1, 0))),
        (lambda x, y: (x > y).where(x <= y, y),
         ("where", (">", "i0", "i1"), ("where", ("<=", "i0", "i1"), 1, 0), "i1")),
        # and a number is a condition where a condition is asked for: it holds if it is not 0
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
def test_what_is_left_of_an_expression(expression, simplified):
    recording = Simplified()
    out = expression(*inputs_of(recording, 2))
    assert written(recording, out.place) == simplified


def test_a_power_of_constants_without_a_value_is_left_to_the_run():
    recording = Simplified()
    zero, thousand = recording.constant(0.0), recording.constant(1000.0)
    assert written(recording, (1 / zero).place) == ("/", 1, 0.0)
    assert written(recording, (zero**-1).place) == ("**", 0.0, -1)
    assert written(recording, thousand.exp().place) == ("exp", 1000.0)


def test_numbers_of_all_kinds_are_constants_and_other_things_are_not():
    recording = Simplified()
    x = recording.input(1.0)
    places = {(x + number).place for number in (2, 2.0, np.float32(2), Fraction(2), np.array(2))}
    assert len(places) == 1
    assert recording.place(True) == recording.place(1.0)
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(ValueError, match="another recording"):
        x + Simplified().input(1.0)


def test_the_place_of_a_condition_is_that_of_a_number():
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


# ---- lanes


def test_lanes_begin_at_inputs_and_end_at_means():
    recording = Simplified()
    p, x = inputs_of(recording, 2)
    places = [(p * p).place, (p * x).place, recording.simplified("mean", ((p * x).place,))]
    lanes = in_lanes(recording.instructions, {p.place})
    assert [lanes[place] for place in places] == [False, True, False]


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
    assert written(recording, mean) == expected


def test_what_no_result_needs_is_left_out():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    _, kept = y.exp(), x.sin() * 2
    ops = [recording.instructions[i].op for i in needed(recording.instructions, [kept.place])]
    assert ops == ["input", "sin", "constant", "*"]


def test_instructions_are_a_list_in_whichever_way_they_are_kept():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    (x > 2.0).where(x.take([x, y, 0.5]), -y)
    steps = recording.instructions
    assert steps[-1] == steps[len(steps) - 1] == list(steps)[-1]
    assert steps[1:-1] == list(steps)[1:-1]
    assert steps == list(steps) == _unpacked(_packed((steps, [], ([], []))))[0]
    with pytest.raises(IndexError):
        steps[len(steps)]


# ---- dots


def fused_units(recording, results, parameters=()):
    """The units that the results need, by place."""
    return fused(recording.instructions, [r.place for r in results], parameters).units


def dot(left=(), right=(), added=(), subtracted=(), sign=1):
    return Unit("dot", (tuple(left), tuple(right), tuple(added), tuple(subtracted)), sign)


def test_a_neuron_is_one_dot_and_its_bias_the_weight_of_an_input_of_ones():
    recording = Simplified()
    w, v, b, x, y = inputs_of(recording, 5)
    out = w * x + v * y + b
    assert fused_units(recording, [out], {0, 1, 2}) == {
        out.place: dot(left=(0, 1, 2), right=(3, 4, ONE))
    }


def test_what_is_uniform_stands_left_in_either_order():
    recording = Simplified()
    w, v, x, y = inputs_of(recording, 4)
    out = x * w + v * y + x
    assert fused_units(recording, [out], {0, 1}) == {
        out.place: dot(left=(0, 1), right=(2, 3), added=(2,))
    }


def test_a_tree_of_additions_is_one_sum_of_products_for_each_sign():
    recording = Simplified()
    a, b, c, d, e = inputs_of(recording, 5)
    out = (a * b - c) - (d * e - (a + b)) + c * d
    units = fused_units(recording, [out])
    [minus] = [place for place in units if place != out.place]
    assert units == {
        minus: dot(left=(3,), right=(4,)),
        out.place: dot(left=(0, 2), right=(1, 3), added=(0, 1), subtracted=(2, minus)),
    }
    assert minus >= len(recording.instructions)


def test_a_sum_all_of_whose_products_are_subtracted_has_a_sign():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    out = c - a * b - b * c
    assert fused_units(recording, [out]) == {
        out.place: dot(left=(0, 1), right=(1, 2), added=(2,), sign=-1)
    }


def test_what_others_use_stays_by_itself():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    product = a * b
    out = product + c * c + b
    used = product.tanh()
    units = fused_units(recording, [out, used])
    assert units[product.place] == Unit("*", ((0,), (1,)))
    assert units[out.place] == dot(left=(2,), right=(2,), added=(1, product.place))


def test_a_result_does_not_disappear_in_another():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    part = a + b + c
    whole = part + a * b
    assert fused_units(recording, [part, whole]) == {
        part.place: dot(added=(0, 1, 2)),
        whole.place: dot(left=(0,), right=(1,), added=(part.place,)),
    }


def test_two_terms_and_signs_alone_are_no_dot():
    recording = Simplified()
    a, b = inputs_of(recording, 2)
    sums = [a + b.exp(), -a, a - b]
    ops = [fused_units(recording, sums)[sum_.place].op for sum_ in sums]
    assert ops == ["+", "neg", "-"]


def test_a_constant_minus_a_product_is_no_dot():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    out = 1 - x * y
    units = fused_units(recording, [out])
    assert [unit.op for unit in units.values()] == ["*", "-"]


def test_uniform_sums_are_not_drawn_into_the_lanes():
    recording = Simplified()
    p, q, x = inputs_of(recording, 3)
    penalty = p * p + q * q
    out = penalty + x * x + x
    units = fused_units(recording, [out], {p.place, q.place})
    assert units.pop(penalty.place) == dot(left=(0, 1), right=(0, 1))
    [rest] = [place for place in units if place != out.place]
    assert units == {
        rest: dot(left=(2,), right=(2,), added=(2,)),
        out.place: Unit("+", ((rest,), (penalty.place,))),
    }


def test_several_uniform_terms_are_one_bias():
    recording = Simplified()
    w, b, c, d, x = inputs_of(recording, 5)
    out = w * x + b + c - d
    units = fused_units(recording, [out], {0, 1, 2, 3})
    [bias] = [place for place in units if place != out.place]
    assert units == {
        bias: dot(added=(1, 2), subtracted=(3,)),
        out.place: dot(left=(0, bias), right=(4, ONE)),
    }


def test_a_bias_that_is_subtracted_is_subtracted_once():
    recording = Simplified()
    w, b, x, y = inputs_of(recording, 4)
    out = w * x + w * y - b
    units = fused_units(recording, [out], {0, 1})
    [rest] = [place for place in units if place != out.place]
    assert units == {
        rest: dot(left=(0, 0), right=(2, 3)),
        out.place: Unit("-", ((rest,), (1,))),
    }


@pytest.mark.parametrize(("op", "name"), [("maximum", "largest"), ("minimum", "smallest")])
def test_a_chain_of_maximum_is_one_unit_and_what_is_uniform_is_copied(op, name):
    recording = Simplified()
    p, x, y = inputs_of(recording, 3)
    out = recording.record(op, recording.record(op, x, p), y)
    units = fused_units(recording, [out], {p.place})
    [copy] = [place for place in units if place != out.place]
    assert units == {
        copy: Unit("copy", ((p.place,),)),
        out.place: Unit(name, ((copy, x.place, y.place),)),
    }
    uniform = recording.record(op, recording.record(op, p, 3.0), p * p)
    assert fused_units(recording, [uniform], {p.place})[uniform.place].op == name


def test_a_maximum_that_others_use_ends_the_chain():
    recording = Simplified()
    x, y, z = inputs_of(recording, 3)
    first = x.maximum(y)
    out = first.maximum(z).minimum(first)
    ops = [unit.op for unit in fused_units(recording, [out]).values()]
    assert ops == ["largest", "largest", "smallest"]


def test_a_table_is_uniform_or_in_lanes_as_a_whole():
    recording = Simplified()
    p, x, i = inputs_of(recording, 3)
    mixed, uniform = i.take([p, x, p]), i.take([p, p * p])
    units = fused_units(recording, [mixed, uniform], {p.place})
    [copy] = [place for place, unit in units.items() if unit.op == "copy"]
    assert units[mixed.place] == Unit("take", ((2,), (copy, 1, copy)))
    assert units[uniform.place] == Unit("take", ((2,), (0, (p * p).place)))


def test_what_an_entry_of_a_table_is_owed_is_a_scatter():
    recording = Simplified()
    p, q, i, j, x = inputs_of(recording, 5)
    table = [Value(p), Value(q)]
    out = x * i.take(table) + j.take(table).tanh() + i.take(table).exp()
    out.backward()
    gradients = [entry.grad.place for entry in table]
    units = fused(recording.instructions, gradients, {0, 1}).units
    scattered = [units[place] for place in gradients]
    assert [unit.op for unit in scattered] == ["scatter", "scatter"]
    assert [set(unit.operands[0]) for unit in scattered] == [{2, 3}, {2, 3}]
    assert scattered[0].operands[:2] == scattered[1].operands[:2]
    numbers = [recording.instructions[unit.operands[2][0]].number for unit in scattered]
    assert numbers == [0, 1]
    means = averaged(recording, gradients, {0, 1})
    units = fused(recording.instructions, means, {0, 1}).units
    assert [units[place].op for place in means] == ["scatter mean", "scatter mean"]


def test_a_choice_of_which_an_input_is_the_other_part_is_no_scatter():
    recording = Simplified()
    i, w, x, y, z = inputs_of(recording, 5)
    result = i.where(w, x) + i.where(w, y) + i.where(w, z)  # an input is no 0, even recorded as one
    assert fused_units(recording, [result], {1})[result.place].op == "dot"


def test_a_mean_of_products_is_a_sum_along_the_lanes():
    recording = Simplified()
    p, x, y = inputs_of(recording, 3)
    product, sum_, other = x * y, x * y.exp() + y * x.exp(), x.tanh()
    means = averaged(recording, [product.place, sum_.place, other.place, (p * x).place], {0})
    units = fused(recording.instructions, means, {0}).units
    assert units[means[0]] == Unit("mean", ((1,), (2,)))
    [(left, right), sign, _] = units[means[1]][1:]
    assert (len(left), sign) == (2, 1)
    assert {*zip(left, right, strict=True)} == {(1, y.exp().place), (2, x.exp().place)}
    assert units[means[2]] == Unit("mean", ((ONE,), (other.place,)))
    assert units[means[3]].op == "*"


def test_every_neuron_and_what_it_is_owed_is_a_dot():
    random.seed(0)
    model = MLP(3, [4, 5, 1])
    found = recorded(model, [(3,)])
    places = averaged(found.recording, [*found.results, *found.gradients], set(found.places))
    units = fused(found.recording.instructions, places, set(found.places)).units.values()
    lengths = [len(unit.operands[0]) for unit in units if unit.op == "dot"]
    assert lengths.count(3 + 1) == 4  # of the first layer, with its bias
    assert lengths.count(5 + 1) == 1
    assert lengths.count(5) == 5 + 4  # of the second layer, and what the first layer is owed
    gradients = [unit for unit in units if unit.op == "mean"]
    # Weights of two layers and their biases; of the last layer the upstream gradient is 1.
    assert len([unit for unit in gradients if ONE not in unit.sources]) == 4 * 3 + 5 * 4


def value_of(unit, results):
    """The result of a dot, by the results of the recording."""
    left, right, added, subtracted = unit.operands
    total = unit.sign * sum(results[i] * results[j] for i, j in zip(left, right, strict=True))
    return total + sum(results[i] for i in added) - sum(results[i] for i in subtracted)


def test_dots_compute_what_the_chains_did():
    recording = Simplified()
    numbers = [0.5, -1.5, 2.0, 3.0]
    a, b, c, d = (recording.input(x) for x in numbers)
    out = a * b - (c * d + a - b * c) - d
    results = dict(enumerate(evaluated(recording.instructions, numbers)))
    for place, unit in fused_units(recording, [out]).items():
        results[place] = value_of(unit, results)
    assert results[out.place] == 0.5 * -1.5 - (2.0 * 3.0 + 0.5 - -1.5 * 2.0) - 3.0


@pytest.mark.parametrize(
    "of",
    [
        lambda x, y: x * y - y * y + 1,
        lambda x, y: x * y - y * y + 1 - x,
        lambda x, y: 2 * x - y * y - x * y + 1,
        lambda x, y: (x + y + 1) * y - 2 * x - 3,
    ],
)
def test_operands_come_before_results(of):
    recording = Simplified()
    out = of(*inputs_of(recording, 2))
    found = fused(recording.instructions, [out.place], ())
    known = {i for i, step in enumerate(recording.instructions) if not step.operands} | {ONE}
    for place, unit in found.units.items():
        assert known >= set(unit.sources)
        known.add(place)
    assert len(found.lanes) > max(found.units)


# ---- record


def test_parameters_are_the_leaves_that_were_there_in_the_order_of_the_module():
    random.seed(0)
    model, scale = MLP(2, [3, 1]), Value(2.0)

    def function(x):
        made_inside = Value(0.5)
        return model(x) * scale * made_inside + 3.0 + Value(x[0])

    assert Program(function, [(2,)], "numpy").parameters == [*model.parameters(), scale]
    found = recorded(function, [(2,)])
    assert set(found.parameters) == {*model.parameters(), scale}
    assert [found.recording.instructions[i].op for i in found.places] == ["input"] * 14
    assert len(found.gradients) == 14
    assert found.arguments == {"x": ["x_0", "x_1"]}
    assert not found.is_list


def test_parameters_that_the_result_does_not_need_are_none():
    used, unused = Value(1.0), Value(2.0)

    def function(x):
        _ = unused * x
        return used * x

    assert recorded(function, [()]).parameters == [used]


def test_names_of_inputs():
    def function(x, rows, *others):
        return Value(x)

    assert recorded(function, [(), (2, 2), (), (1,)]).arguments == {
        "x": ["x"],
        "rows": ["rows_0_0", "rows_0_1", "rows_1_0", "rows_1_1"],
        "others": ["others"],
        "x3": ["x3_0"],
    }


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_list_of_results(kind):
    w = Value(2.0)
    found = recorded(lambda x: kind([w * x, w + 1, 3.0, x]), [()], output=1)
    ops = [found.recording.instructions[place].op for place in found.results]
    assert (found.is_list, ops) == (True, ["*", "+", "constant", "input"])
    assert [found.recording.instructions[place].number for place in found.gradients] == [1]


def test_a_constant_as_result():
    found = recorded(lambda x: 2.5, [()])
    assert found.recording.instructions[found.results[0]].number == 2.5
    assert found.parameters == []


def test_recording_records_under_no_grad_and_leaves_it_in_force():
    w = Value(2.0)
    with no_grad():
        found = recorded(lambda x: w * x, [()])
        assert (w * w)._prev == ()
    assert found.parameters == [w]
    assert (w * w)._prev == (w, w)


def test_data_and_gradients_are_put_back_also_after_an_error():
    w = Value(2.0)
    w.grad = 0.25
    recorded(lambda x: w * x, [()])
    assert (w.data, w.grad) == (2.0, 0.25)
    calls = []

    def fails(x):
        calls.append(w.data)
        w.grad = w.data * 2.0
        raise KeyError("half-way")

    with pytest.raises(KeyError, match="half-way"):
        recorded(fails, [()])
    assert isinstance(calls[0], Traced)
    assert (w.data, w.grad) == (2.0, 0.25)


def test_what_was_computed_before_is_refused():
    w = Value(2.0)
    before = w.exp()
    with pytest.raises(ValueError, match=r"a result of 'exp' that was computed before.*detach"):
        recorded(lambda x: before * x, [()])


# ---- schedule


def schedule_of(recording, results, parameters=(), inputs=None):
    places = [r.place for r in results]
    steps = recording.instructions
    found = [i for i, s in enumerate(steps) if s.op == "input" and i not in parameters]
    units = fused(steps, places, set(parameters))
    return scheduled(units, steps, inputs or [found], list(parameters), places)


def passed(function, shapes):
    """A function after all passes: what was recorded, and the schedule of its backward pass, which
    results in the mean, its gradients, and the result in every lane."""
    found = recorded(function, shapes)
    wanted = [found.results[0], *found.gradients]
    places = [*averaged(found.recording, wanted, set(found.places)), found.results[0]]
    widths = [len(names) for names in found.arguments.values()]
    inputs = [range(end - n, end) for end, n in zip(accumulate(widths), widths, strict=True)]
    steps = found.recording.instructions
    units = fused(steps, places, set(found.places))
    return found, scheduled(units, steps, inputs, found.places, places)


def test_what_can_be_done_at_once_is_one_group_as_late_as_possible():
    recording = Simplified()
    x, y, z = inputs_of(recording, 3)
    early, late = x.exp().sin().tanh(), y.exp().tanh()
    schedule = schedule_of(recording, [early, late, z.tanh()])
    first, *then, last = ((group.op, len(group.result.slots)) for group in schedule.lanes)
    assert (first, sorted(then), last) == (("exp", 1), [("exp", 1), ("sin", 1)], ("tanh", 3))
    assert (schedule.before, schedule.after) == ([], [])
    # inputs in the first rows, a row of ones behind them and behind each group
    assert schedule.n_inputs == 4
    assert 3 in schedule.ones
    for group in schedule.lanes:
        slots = group.result.slots
        assert slots.tolist() == list(range(slots[0], slots[0] + len(slots)))
        assert slots[-1] + 1 in schedule.ones


def test_what_is_uniform_comes_before_and_what_follows_from_means_after():
    recording = Simplified()
    p, x = inputs_of(recording, 2)
    [mean] = averaged(recording, [(p.exp() * x.tanh()).place], {p.place})
    schedule = schedule_of(recording, [Traced(recording, mean)], [p.place])
    phases = [[group.op for group in phase]
              for phase in (schedule.before, schedule.lanes, schedule.after)]  # fmt: skip
    assert phases in (
        [["exp"], ["tanh", "mean"], ["*"]],
        [[], ["tanh", "mean"], ["exp", "*"]],
    )
    first, end = schedule.means
    assert schedule.lanes[-1].result.slots.tolist() == list(range(first, end))
    [(is_in_lanes, slot)] = schedule.results
    assert (is_in_lanes, slot) == (False, schedule.groups[-1].result.slots.flat[0])
    assert [group.op for group in schedule.groups] == [*chain(*phases)]


def test_constants_and_parameters_come_first():
    recording = Simplified()
    x, p, q = inputs_of(recording, 3)
    schedule = schedule_of(recording, [(x * p + 2.5) / q], [p.place, q.place])
    constants = {int(slot): number for slot, number in schedule.constants}
    assert constants == {2: 2.5, 3: 0.0, 4: 1.0}
    quotient = schedule.lanes[-1]
    assert quotient.operands[1].slots.tolist() == [1]


def grids_of(groups):
    """Shapes of the matrix products: of their results, and the length of the sums."""
    return [
        (*group.result.slots.shape, group.operands[0].slots.shape[-1])
        for group in groups
        if group.op in ("dot", "mean") and group.result.slots.ndim > 1
    ]


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_every_layer_is_a_matrix_product_in_all_three_directions(activation):
    random.seed(0)
    model = MLP(3, [4, 5, 2], activation=activation)
    _, schedule = passed(lambda x, y: sum((a * y).tanh() for a in model(x)), [(3,), ()])
    lanes = schedule.lanes
    found = grids_of(lanes)
    # forward, R = 1 list of inputs by L neurons, sums over the inputs and the bias
    assert found[:3] == [(1, 4, 4), (1, 5, 5), (1, 2, 6)]
    # what the inputs of a layer are owed
    assert found[3:5] == [(1, 5, 2), (1, 4, 5)]
    # gradients of weights and biases: each upstream gradient by each input, sums over lanes
    assert set(found[5:]) == {(2, 6, 1), (5, 5, 1), (4, 4, 1)}
    assert all(group.result.lanes != (group.op == "mean") for group in lanes)


def test_the_same_layer_at_several_places_is_one_product():
    random.seed(0)
    layer = Linear(2, 3)

    def function(rows):
        return sum(a.tanh() for row in rows for a in layer(row))

    _, schedule = passed(function, [(4, 2)])
    assert (4, 3, 3) in grids_of(schedule.lanes)  # R = 4 rows, L = 3 neurons


def test_grids():
    def pairs(*found):
        return {pair: i for i, pair in enumerate(found)}

    a, b, x, y, one = (0,), (1,), (2,), (3,), (ONE,)
    assert grids(pairs((a, x), (b, x), (a, y), (b, y))) == [([a, b], list({x, y}))]
    assert grids(pairs((a, x), (b, y))) == [([a], [x]), ([b], [y])]
    # a triangle, as in attention to what came before
    assert grids(pairs((a, x), (b, x), (b, y))) == [([a], [x]), ([b], list({x, y}))]
    # the bias joins inputs that meet all that it meets, and is alone with the rest
    assert grids(pairs((a, x), (one, x), (one, y))) == [([a, one], [x]), ([one], [y])]
    assert grids(pairs((one, x))) == [([one], [x])]
    assert grids({}) == []


def test_grids_hold_every_pair_once():
    rng = random.Random(0)
    for _ in range(50):
        lefts = [*((i,) for i in range(5)), (ONE,)]
        every = [(left, (9, j)) for left in lefts for j in range(5)]
        some = rng.sample(every, rng.randint(1, len(every)))
        found = [(left, right) for ls, rs in grids(dict.fromkeys(some, 0))
                 for left in ls for right in rs]  # fmt: skip
        assert sorted(found) == sorted(some)


def test_a_triangle_of_dots_falls_into_rows():
    recording = Simplified()
    xs, ys = inputs_of(recording, 6), inputs_of(recording, 6)
    pairs = [(2 * i, 2 * j) for i in range(3) for j in range(i + 1)]
    dots = [xs[i] * ys[j] + xs[i + 1] * ys[j + 1] for i, j in pairs]
    schedule = schedule_of(recording, [d.tanh() for d in dots])
    dots = [group for group in schedule.lanes if group.op == "dot"]
    assert sum(group.result.slots.size for group in dots) == 6
    assert all(group.result.slots.ndim == 1 for group in dots)


def test_sums_of_similar_length_are_filled_up_and_others_are_not():
    recording = Simplified()
    xs = inputs_of(recording, 40)
    short, longer = xs[0] * xs[1] + xs[2] * xs[3], sum(x * x for x in xs[4:7])
    long = sum(x * x for x in xs[7:])
    schedule = schedule_of(recording, [short.tanh(), longer.tanh(), long.tanh()])
    dots = {group.operands[0].slots.shape for group in schedule.lanes if group.op == "dot"}
    assert dots == {(2, 3), (1, 33)}
    [filled] = [g for g in schedule.lanes if g.op == "dot" and len(g.result.slots) == 2]
    left, right = filled.operands[:2]
    zero = next(slot for slot in left.slots.ravel() if slot > 39)
    assert zero not in schedule.ones
    assert set(right.slots.ravel()) & set(schedule.ones)


def test_how_groups_show_themselves():
    random.seed(0)
    model = MLP(2, [3, 1])
    shown = [repr(group) for group in passed(lambda x: model(x).tanh(), [(2,)])[1].groups]
    assert shown[0] == "matrix product (3 x 3) (3 x lanes)"
    assert shown[1] == "relu of 3 in lanes"
    assert "1 sum of 4 products in lanes" in shown


# ---- run


@pytest.mark.parametrize(
    ("slots", "steps"),
    [
        ([3, 4, 5], (1,)), ([3, 5, 7], (2,)), ([7, 5, 3], (-2,)), ([4, 4, 4], (0,)), ([4], (0,)),
        ([3, 4, 6], None), ([[3, 4], [6, 7]], (3, 1)), ([[3, 4], [3, 4]], (0, 1)),
        ([[3, 4], [6, 8]], None), ([[[1], [2]], [[5], [6]]], (4, 1, 0)),
    ],
)  # fmt: skip
def test_regular_slots_have_a_step_along_each_axis(slots, steps):
    assert regular(np.array(slots)) == steps


def executor_of(function, shapes):
    """What runs a function with NumPy, and its parameters."""
    found, schedule = passed(function, shapes)
    return TiledExecutor(schedule, partial(NumPyRun, schedule), shapes), found.parameters


def test_a_program_runs_for_many_numbers_of_lanes_in_any_order():
    random.seed(0)
    model = MLP(2, [3, 1], activation="tanh")
    executor, parameters = executor_of(model, [(2,)])
    numbers = np.array([p.data for p in parameters])
    xs = np.random.default_rng(0).normal(size=(40, 2))
    for n in (1, 40, 2, 1, 3, 40, 5, 6, 7, 8, 1, 17, 16):
        found, lanes = executor(numbers, [xs[:n]], n)
        expected = [model(x).data for x in xs[:n].tolist()]
        assert lanes[0].tolist() == pytest.approx(expected, rel=1e-13)
        assert found[0] == pytest.approx(sum(expected) / n, rel=1e-12)
        assert len(found) == 1 + len(parameters)
    assert len(executor.bound) <= run.KEPT


def test_results_are_copies():
    w = Value(2.0)
    executor, _ = executor_of(lambda x: w * x, [()])
    first, rows = executor(np.array([3.0]), [np.array([1.0, 2.0])], 2)
    executor(np.array([5.0]), [np.array([5.0, 6.0])], 2)
    assert (first.tolist(), rows.tolist()) == ([4.5, 1.5], [[3.0, 6.0]])


def test_tiles_give_what_the_whole_batch_gives(monkeypatch):
    random.seed(0)
    model = MLP(2, [3, 1], activation="tanh")

    def function(x):
        return model(x) ** 2 + sum(p * p for p in model.parameters())

    whole, parameters = executor_of(function, [(2,)])
    monkeypatch.setattr(run, "MEMORY", 1)
    tiled, _ = executor_of(function, [(2,)])
    assert (tiled.tile, whole.tile > 50) == (16, True)
    numbers = np.array([p.data for p in parameters])
    xs = np.random.default_rng(0).normal(size=(50, 2))
    for n in (16, 17, 31, 32, 33, 50):
        found = [executor(numbers, [xs[:n]], n) for executor in (whole, tiled)]
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


# ---- run: every group against loops over its numbers


def at(block, shape, lane, memory):
    """The numbers of a block in a lane, in this shape, and lists in the last axis if it has one."""
    slots = np.broadcast_to(block.slots, shape)
    numbers = memory[block.lanes]
    return numbers[slots, lane] if block.lanes else numbers[slots]


SCALAR = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "**": operator.pow, "neg": operator.neg, "abs": abs, "exp": math.exp, "log": math.log,
    "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "relu": lambda x: max(x, 0.0),
    "maximum": max, "minimum": min, "copy": lambda x: x,
}  # fmt: skip
CHOICES = {
    "where <": operator.lt, "where <=": operator.le, "where >": operator.gt,
    "where >=": operator.ge, "where is": operator.eq,
}  # fmt: skip


def by_loops(group, lane, memory):
    """The numbers of a group's result in one lane, in the shape of its slots."""
    shape = group.result.slots.shape
    if group.op in ("dot", "mean"):
        left, right, *terms = (
            at(block, (*shape, block.slots.shape[-1]), lane, memory) for block in group.operands
        )
        added, subtracted = terms or (np.zeros((*shape, 0)),) * 2
        return (group.sign * (left * right).sum(-1)) + added.sum(-1) - subtracted.sum(-1)
    if group.op in ("largest", "smallest"):
        [block] = group.operands
        numbers = at(block, block.slots.shape, lane, memory)
        return numbers.max(-1) if group.op == "largest" else numbers.min(-1)
    numbers = [at(block, block.slots.shape, lane, memory) for block in group.operands]
    found = np.zeros(shape)
    if group.op == "take":
        indices, tables = numbers
        for g, i in enumerate(indices):
            found[g] = tables[g, int(i)]
    elif group.op in ("scatter", "scatter mean"):
        for g, (indices, owed) in enumerate(zip(*numbers, strict=True)):
            for i, x in zip(indices, owed, strict=True):
                found[g, int(i)] += x
    elif group.op in CHOICES:
        for g, (x, y, a, b) in enumerate(zip(*numbers, strict=True)):
            found[g] = a if CHOICES[group.op](x, y) else b
    else:
        for g, operands in enumerate(zip(*numbers, strict=True)):
            found[g] = SCALAR[group.op](*operands)
    return found


N_SLOTS = 40


def random_slots(rng, shape):
    """Slots of a random pattern: in order, with gaps, the same ones, in turns, or none at all."""
    size = math.prod(shape)
    kind = rng.choice(["in order", "gaps", "backwards", "same", "turns", "blocks", "any"])
    start = rng.randrange(0, 4)
    row = {
        "in order": range(start, start + size),
        "gaps": range(start, start + 2 * size, 2),
        "backwards": range(start + size, start, -1),
        "same": [start] * size,
        "turns": [start + i % 3 for i in range(size)],
        "blocks": [start + i // 3 for i in range(size)],
        "any": [rng.randrange(N_SLOTS) for _ in range(size)],
    }[kind]
    return np.array([slot % N_SLOTS for slot in row], np.intp).reshape(shape)


BINDERS = [lambda schedule: partial(NumPyRun, schedule), *([] if why_not() else [numba_binder])]


def computed(groups, sizes, memory, n, means=(0, 0), constants=(), ones=()):
    """Both memories after these groups, done by each executor that is there."""
    in_lanes = [group for group in groups if group.result.lanes or means[1]]
    before = [group for group in groups if group not in in_lanes]
    schedule = Schedule(
        before, in_lanes, [], sizes, 0, list(constants), list(ones), means, [(False, 0)]
    )
    for bind in BINDERS:
        bound = bind(schedule)(n)
        bound.uniform[:N_SLOTS] = memory[False]
        bound.lanes[:N_SLOTS] = memory[True] if n > 1 else memory[True][:, 0]
        bound.until_means()
        yield {False: bound.uniform, True: bound.lanes.reshape(sizes[1], n)}


def assert_group_agrees(group, memory, n, **more):
    """The group alone, done by each executor, against loops."""
    first, size = N_SLOTS, group.result.slots.size
    sizes = (2 * N_SLOTS + size, 2 * N_SLOTS + size)
    is_mean = group.op in ("mean", "scatter mean")
    means = (first, first + size) if is_mean else (0, 0)
    lanes = [by_loops(group, lane, memory) for lane in range(n)]
    expected = np.stack(lanes, -1) if group.result.lanes else lanes[0]
    if is_mean:
        expected = sum(lanes) / n
    for done in computed([group], sizes, memory, n, means, **more):
        found = done[group.result.lanes][group.result.slots]
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def random_memory(rng, n, least=-1.5):
    numbers = np.random.default_rng(rng.randrange(10**6))
    uniform = numbers.uniform(least, 1.5, size=N_SLOTS)
    return {False: uniform, True: numbers.uniform(least, 1.5, size=(N_SLOTS, n))}


def result_block(lanes, shape):
    return Block(lanes, N_SLOTS + np.arange(math.prod(shape)).reshape(shape))


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("op", SCALAR)
def test_elementwise_groups(op, n):
    rng = random.Random(0)
    arity = 2 if op in ("+", "-", "*", "/", "**", "maximum", "minimum") else 1
    for lanes in product([False, True], repeat=arity):
        for size in (1, 2, 6, 12):
            memory = random_memory(rng, n, least=0.1 if op in ("log", "sqrt", "/", "**") else -1.5)
            blocks = [Block(each, random_slots(rng, (size,))) for each in lanes]
            result = result_block(any(lanes) or op == "copy", (size,))
            assert_group_agrees(Group(op, result, tuple(blocks)), memory, n)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("is_zero", [False, True])
def test_a_choice_by_each_comparison(is_zero, n):
    rng = random.Random(1)
    for op, lanes in product(CHOICES, product([False, True], repeat=4)):
        for size in (1, 6):
            memory = random_memory(rng, n)
            memory[True][:, 0] = memory[False]  # so that some are equal
            blocks = [Block(each, random_slots(rng, (size,))) for each in lanes]
            constants = []
            if is_zero:
                blocks[3] = Block(False, np.full(size, N_SLOTS - 1))
                memory[False][N_SLOTS - 1] = 0.0
                constants = [(N_SLOTS - 1, 0.0)]
            result = result_block(any(block.lanes for block in blocks), (size,))
            group = Group(op, result, tuple(blocks))
            assert_group_agrees(group, memory, n, constants=constants)


ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1.0]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("lanes", [[True, True], [True, False], [False, True], [False, False]])
def test_a_choice_gives_each_number_bit_by_bit(lanes, n):
    """Also beside one that is infinite or not a number, and with its sign if it is 0."""
    memory = {True: np.ones((N_SLOTS, n)), False: np.ones(N_SLOTS)}
    memory[False][: len(ODD)] = ODD
    memory[True][: len(ODD)] = np.array(ODD)[:, None]
    memory[True][len(ODD)] = [0.0, 2.0][:n]
    pairs = np.array(list(product(range(len(ODD)), repeat=2)))
    size = len(pairs)
    x, one = (Block(each, np.full(size, len(ODD))) for each in (True, False))
    a, b = (Block(each, slots) for each, slots in zip(lanes, pairs.T, strict=True))
    group = Group("where <", result_block(True, (size,)), (x, one, a, b))
    expected = np.array(ODD)[pairs][:, :n]  # 0 < 1, but not 2 < 1
    for done in computed([group], (N_SLOTS + size,) * 2, memory, n):
        found = done[True][group.result.slots]
        np.testing.assert_array_equal(found.view(np.int64), expected.copy().view(np.int64))


# A list of operands is uniform or in lanes; uniform left of lanes.
SIDES = [(False, False), (False, True), (True, True)]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("sign", [1, -1])
def test_rows_of_dots(sign, n):
    rng = random.Random(2)
    for lanes, size, length in product(SIDES, (1, 2, 5), (0, 1, 3)):
        for n_added, n_subtracted in ((0, 0), (1, 0), (0, 2), (3, 1), (6, 7)):
            memory = random_memory(rng, n)
            lengths = (length, length, n_added, n_subtracted)
            blocks = [
                Block(each, random_slots(rng, (size, k)))
                for each, k in zip((*lanes, lanes[1], lanes[1]), lengths, strict=True)
            ]
            group = Group("dot", result_block(lanes[1], (size,)), tuple(blocks), sign)
            assert_group_agrees(group, memory, n)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("several", [(), (3,)])
def test_grids_of_dots(several, n):
    rng = random.Random(3)
    for lanes, rights, lefts, length in product(SIDES, (1, 3), (1, 4), (1, 3)):
        for n_added, sign in ((0, 1), (2, -1), (6, 1)):
            memory = random_memory(rng, n)
            shape = (*several, rights, lefts)
            blocks = [
                Block(lanes[0], random_slots(rng, (*several, 1, lefts, length))),
                Block(lanes[1], random_slots(rng, (*several, rights, 1, length))),
                Block(lanes[1], random_slots(rng, (*shape, n_added))),
                Block(lanes[1], random_slots(rng, (*shape, 0))),
            ]
            group = Group("dot", result_block(lanes[1], shape), tuple(blocks), sign)
            assert_group_agrees(group, memory, n)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("sign", [1, -1])
def test_means(sign, n):
    rng = random.Random(4)
    for length, size in product((1, 3), (1, 5)):
        memory = random_memory(rng, n)
        blocks = [Block(True, random_slots(rng, (size, length))) for _ in range(2)]
        group = Group("mean", result_block(False, (size,)), tuple(blocks), sign)
        assert_group_agrees(group, memory, n)
        ones = Block(True, np.full((size, length), N_SLOTS - 1))
        memory[True][N_SLOTS - 1] = 1.0
        group = group._replace(operands=(ones, blocks[1]))
        assert_group_agrees(group, memory, n, ones=[N_SLOTS - 1])
    for several, rights, lefts, length in product([(), (2,)], (1, 3), (1, 4), (1, 3)):
        memory = random_memory(rng, n)
        left = Block(True, random_slots(rng, (*several, 1, lefts, length)))
        right = Block(True, random_slots(rng, (*several, rights, 1, length)))
        result = result_block(False, (*several, rights, lefts))
        assert_group_agrees(Group("mean", result, (left, right), sign), memory, n)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("op", ["largest", "smallest"])
def test_the_largest_of_a_list(op, n):
    rng = random.Random(5)
    for lanes, size, length in product([False, True], (1, 4), (1, 2, 6)):
        block = Block(lanes, random_slots(rng, (size, length)))
        group = Group(op, result_block(lanes, (size,)), (block,))
        assert_group_agrees(group, random_memory(rng, n), n)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("op", ["take", "scatter", "scatter mean"])
def test_tables(op, n):
    rng = random.Random(6)
    kinds = list(product([False, True], repeat=2))
    for (of_index, of_numbers), tables, length in product(kinds, (1, 4), (1, 5)):
        memory = random_memory(rng, n)
        memory[False][:20] = [rng.randrange(length) for _ in range(20)]
        memory[True][:20] = [[rng.randrange(length) for _ in range(n)] for _ in range(20)]
        lanes = of_index or of_numbers
        if op == "take":
            index = Block(of_index, random_slots(rng, (tables,)) % 20)
            table = Block(of_numbers, random_slots(rng, (tables, length)))
            result = result_block(lanes, (tables,))
            assert_group_agrees(Group(op, result, (index, table)), memory, n)
        elif lanes or op == "scatter":
            index = Block(of_index, random_slots(rng, (tables, 3)) % 20)
            owed = Block(of_numbers, random_slots(rng, (tables, 3)))
            result = result_block(lanes and op == "scatter", (tables, length))
            assert_group_agrees(Group(op, result, (index, owed)), memory, n)


def test_an_index_that_was_computed_is_checked_when_it_runs():
    table = [Value(1.0), Value(2.0)]
    executor, _ = executor_of(lambda i: take(table, i + 1), [()])
    with pytest.raises(IndexError, match=r"take expects a whole number 0 <= index < 2, got 2"):
        executor(np.array([1.0, 2.0]), [np.array([0.0, 1.0])], 2)


# ---- parameters


def test_parameters_move_into_one_home_and_stay_who_they_are():
    a, b = Value(1.0, label="a"), Value(2)
    a.grad, a.m = 0.5, "mine"
    graph = a * b
    row = together([a, b])
    assert (row.data.tolist(), row.grad.tolist()) == ([1.0, 2.0], [0.5, 0.0])
    assert graph._prev == (a, b)
    assert (a.label, a.m, repr(a), repr(b)) == (
        "a", "mine", "Value(data=1.0, grad=0.5)", "Value(data=2.0, grad=0.0)",
    )  # fmt: skip
    row.data += 0.5
    row.grad = [3.0, 4.0]
    assert (a.data, a.grad, b.data, b.grad) == (1.5, 3.0, 2.5, 4.0)
    a.data, b.grad = 7, True
    a.data -= 0.5
    assert (row.data.tolist(), row.grad.tolist()) == ([6.5, 2.5], [3.0, 1.0])
    assert type(a.data) is type(b.grad) is float
    assert isinstance(a, Value)
    assert isinstance(a, Resident)
    assert type(a).__name__ == "Value"


def test_the_same_parameters_stay_where_they_are():
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    first = together([a, b, c])
    again = together([c, a])
    assert again.home is first.home
    assert again.data.tolist() == [3.0, 1.0]
    assert first.is_current
    again.data = [30.0, 10.0]
    assert first.data.tolist() == [10.0, 2.0, 30.0]
    assert together([]).data.tolist() == []


def test_two_homes_become_one_and_nothing_is_lost():
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    first, second = together([a]), together([b])
    a.grad, b.grad = 0.25, 0.75
    both = together([c, b, a])
    assert (both.data.tolist(), both.grad.tolist()) == ([3.0, 2.0, 1.0], [0.0, 0.75, 0.25])
    assert [first.is_current, second.is_current, both.is_current] == [False, False, True]
    a.data = 9.0
    assert both.data.tolist() == [3.0, 2.0, 9.0]


def test_the_row_for_an_optimizer_is_a_slice_of_the_home():
    a, b, c, d = (Value(float(i)) for i in range(4))
    first = together([a, b, c])
    row = Resident.row_of([c, a])
    assert row.is_slice
    assert (row.data.tolist(), row.is_current, first.is_current) == ([0.0, 2.0], True, False)
    assert row.ranks == [1, 0]
    assert together([a, b, c]).data.tolist() == [0.0, 1.0, 2.0]
    assert Resident.row_of([c, a]).home is row.home
    assert Resident.row_of([d, b]).data.tolist() == [1.0, 3.0]
    assert [p.data for p in (a, b, c, d)] == [0.0, 1.0, 2.0, 3.0]
    assert Resident.row_of([a, Value(Fraction(1, 3))]) is None
    assert Resident.row_of([a, object()]) is None


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_a_copy_is_an_ordinary_value_again(copied):
    a = Value(1.0, label="a")
    a.m = [1]
    together([a, Value(2.0)])
    a.grad = 0.5
    other = copied(a)
    assert type(other) is Value
    assert (other.data, other.grad, other.label, other.m) == (1.0, 0.5, "a", [1])
    other.data = 5.0
    assert a.data == 1.0


def test_a_fraction_is_kept_but_not_computed_with():
    a, b = Value(1.0, label="a"), Value(2.0)
    row = together([a, b])
    a.data = Fraction(1, 3)
    assert a.data == Fraction(1, 3)
    assert (a * b).data == Fraction(1, 3) * 2.0
    assert not row.is_current
    with pytest.raises(TypeError, match=r"got Fraction.* as the data of 'a': convert it with fl"):
        together([a, b])
    a.data = 0.5
    assert row.is_current
    assert together([a, b]).data.tolist() == [0.5, 2.0]
    b.grad = Fraction(1, 2)
    with pytest.raises(TypeError, match="as the grad of a parameter"):
        together([a, b])


class Weight(Value):
    """A Value with an attribute of its own."""

    __slots__ = ("m",)


def test_a_subclass_stays_what_it_is():
    w, v = Weight(1.0), Value(2.0)
    w.m = 3.0
    together([w, v])
    assert isinstance(w, Weight)
    assert (type(w).__name__, w.m, w.data) == ("Weight", 3.0, 1.0)
    assert not isinstance(v, Weight)
    assert type(copy.copy(w)) is Weight


def test_gradients_add_up_in_the_home():
    a, b = Value(1.0), Value(2.0)
    row = together([a, b])
    (a * b).backward()
    (a * b).backward()
    assert row.grad.tolist() == [4.0, 2.0]
