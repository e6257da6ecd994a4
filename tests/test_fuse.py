"""Sums of products, chains of maxima and table lookups, each fused into one unit."""

import random
from itertools import chain

import pytest
from recordings import evaluated, inputs_of

from micrograd import Value
from micrograd.compiler.averages import averaged
from micrograd.compiler.fuse import ONE, Unit, fused
from micrograd.compiler.record import recorded
from micrograd.compiler.simplify import Simplified
from micrograd.nn import MLP


def fused_units(recording, results):
    """The units that the results need, by place."""
    return fused(recording.instructions, [r.place for r in results]).units


def unit(op, *operands):
    """A unit of single operands."""
    return Unit(op, tuple((i,) for i in operands))


def dot(left, right):
    return Unit("dot", (left, right))


def test_a_neuron_is_one_dot_and_its_bias_is_a_weight_whose_input_is_1():
    recording = Simplified()
    w, v, b, x, y = inputs_of(recording, 5, {0, 1, 2})
    out = w * x + v * y + b
    assert fused_units(recording, [out]) == {out.place: dot((0, 1, 2), (3, 4, ONE))}


def test_the_uniform_factor_comes_first_whatever_the_order():
    recording = Simplified()
    w, v, x, y = inputs_of(recording, 4, {0, 1})
    out = x * w + v * y + x
    units = fused_units(recording, [out])
    [products] = [place for place in units if place != out.place]
    assert units == {products: dot((0, 1), (2, 3)), out.place: unit("+", 2, products)}


def test_a_tree_of_additions_is_one_sum_of_products_for_each_sign():
    recording = Simplified()
    a, b, c, d, e = inputs_of(recording, 5)
    out = (a * b - c) - (d * e - (a + b)) + c * d
    units = fused_units(recording, [out])
    products, terms, difference, _ = units
    assert units == {
        products: dot((0, 2), (1, 3)),
        terms: Unit("sum", ((0, 1, products),)),
        difference: unit("-", terms, 2),
        out.place: unit("subtract product", difference, 3, 4),
    }
    assert min(products, terms, difference) >= len(recording.instructions)


def test_products_that_are_subtracted_are_one_dot():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    out, negative = c - a * b - b * c, -(a * c) - b * b
    first, second = len(recording.instructions), len(recording.instructions) + 1
    assert fused_units(recording, [out]) == {
        first: dot((0, 1), (1, 2)),
        out.place: unit("-", 2, first),
    }
    assert fused_units(recording, [out, negative]) == {
        second: dot((0, 1), (1, 2)),
        out.place: unit("-", 2, second),
        first: dot((0, 1), (2, 1)),
        negative.place: unit("neg", first),
    }


def test_equal_parts_are_one_unit_if_they_are_in_the_same_memory():
    recording = Simplified()
    p, q, x, y = inputs_of(recording, 4, {0, 1})
    mixed, uniform = -(x * y) - p, -(p * q) - p
    twice = [-(x * x) - p, mixed, uniform]
    units, lanes, n = fused(recording.instructions, [sum_.place for sum_ in twice])
    parts = [place for place in units if place >= n]
    assert [units[place] for place in parts] == [unit("neg", 0)] * 2
    assert sorted(lanes[place] for place in parts) == [False, True]
    assert all(lanes[units[sum_.place].operands[0][0]] == lanes[sum_.place] for sum_ in twice)


def test_a_term_with_another_use_is_not_absorbed():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    product = a * b
    out = product + c * c + b
    used = product.tanh()
    units = fused_units(recording, [out, used])
    [terms] = [place for place in units if place not in (product.place, out.place, used.place)]
    assert units[product.place] == unit("*", 0, 1)
    assert units[terms] == unit("+", 1, product.place)
    assert units[out.place] == unit("add product", terms, 2, 2)


def test_a_result_is_not_absorbed_by_another_result():
    recording = Simplified()
    a, b, c = inputs_of(recording, 3)
    part = a + b + c
    whole = part + a * b
    assert fused_units(recording, [part, whole]) == {
        part.place: Unit("sum", ((0, 1, 2),)),
        whole.place: unit("add product", part.place, 0, 1),
    }


def test_two_terms_or_signs_alone_stay_as_they_are():
    recording = Simplified()
    a, b = inputs_of(recording, 2)
    sums = [a + b.exp(), -a, a - b]
    ops = [fused_units(recording, sums)[sum_.place].op for sum_ in sums]
    assert ops == ["+", "neg", "-"]


def test_a_constant_minus_a_product_is_one_unit():
    recording = Simplified()
    x, y = inputs_of(recording, 2)
    out = 1 - x * y
    [one] = [i for i, step in enumerate(recording.instructions) if step.op == "constant"]
    assert fused_units(recording, [out]) == {out.place: unit("subtract product", one, 0, 1)}


def test_uniform_sums_stay_outside_the_lanes():
    recording = Simplified()
    p, q, x = inputs_of(recording, 3, {0, 1})
    penalty = p * p + q * q
    out = penalty + x * x + x
    units = fused_units(recording, [out])
    assert units.pop(penalty.place) == dot((0, 1), (0, 1))
    [terms] = [place for place in units if place != out.place]
    assert units == {
        terms: unit("+", 2, penalty.place),
        out.place: unit("add product", terms, 2, 2),
    }


def test_several_uniform_terms_become_one_bias():
    recording = Simplified()
    w, b, c, d, x = inputs_of(recording, 5, {0, 1, 2, 3})
    out = w * x + b + c - d
    units = fused_units(recording, [out])
    [added, bias] = [place for place in units if place != out.place]
    assert units == {
        added: unit("+", 1, 2),
        bias: unit("-", added, 3),
        out.place: dot((0, bias), (4, ONE)),
    }


def test_a_bias_that_is_subtracted_is_subtracted_once():
    recording = Simplified()
    w, b, x, y = inputs_of(recording, 4, {0, 1})
    out = w * x + w * y - b
    units = fused_units(recording, [out])
    [rest] = [place for place in units if place != out.place]
    assert units == {
        rest: dot((0, 0), (2, 3)),
        out.place: unit("-", rest, 1),
    }


@pytest.mark.parametrize(("op", "name"), [("maximum", "largest"), ("minimum", "smallest")])
def test_a_chain_of_maximum_is_one_unit_and_uniform_operands_are_copied(op, name):
    recording = Simplified()
    p, x, y = inputs_of(recording, 3, {0})
    out = recording.record(op, recording.record(op, x, p), y)
    units = fused_units(recording, [out])
    [copy] = [place for place in units if place != out.place]
    assert units == {
        copy: Unit("copy", ((p.place,),)),
        out.place: Unit(name, ((copy, x.place, y.place),)),
    }
    uniform = recording.record(op, recording.record(op, p, 3.0), p * p)
    assert fused_units(recording, [uniform])[uniform.place].op == name


def test_a_maximum_with_another_use_ends_the_chain():
    recording = Simplified()
    x, y, z = inputs_of(recording, 3)
    first = x.maximum(y)
    out = first.maximum(z).minimum(first)
    ops = [unit.op for unit in fused_units(recording, [out]).values()]
    assert ops == ["largest", "largest", "smallest"]


def test_a_table_is_either_uniform_or_in_lanes():
    recording = Simplified()
    p, x, i = inputs_of(recording, 3, {0})
    mixed, uniform = i.take([p, x, p]), i.take([p, p * p])
    units = fused_units(recording, [mixed, uniform])
    [copy] = [place for place, unit in units.items() if unit.op == "copy"]
    assert units[mixed.place] == Unit("take", ((2,), (copy, 1, copy)))
    assert units[uniform.place] == Unit("take", ((2,), (0, (p * p).place)))


def test_the_gradient_of_a_table_entry_is_a_scatter():
    recording = Simplified()
    p, q, i, j, x = inputs_of(recording, 5, {0, 1})
    table = [Value(p), Value(q)]
    out = x * i.take(table) + j.take(table).tanh() + i.take(table).exp()
    out.backward()
    gradients = [entry.grad.place for entry in table]
    units = fused(recording.instructions, gradients).units
    scattered = [units[place] for place in gradients]
    assert [unit.op for unit in scattered] == ["scatter", "scatter"]
    assert [set(unit.operands[0]) for unit in scattered] == [{2, 3}, {2, 3}]
    assert scattered[0].operands[:2] == scattered[1].operands[:2]
    numbers = [recording.instructions[unit.operands[2][0]].number for unit in scattered]
    assert numbers == [0, 1]
    means = averaged(recording, gradients)
    units = fused(recording.instructions, means).units
    assert [units[place].op for place in means] == ["scatter mean", "scatter mean"]


def test_a_choice_between_two_inputs_is_not_a_scatter():
    recording = Simplified()
    i, w, x, y, z = inputs_of(recording, 5, {1})
    result = (
        i.where(w, x) + i.where(w, y) + i.where(w, z)
    )  # an input, even one of 0, is not constant
    assert fused_units(recording, [result])[result.place].op == "sum"


def test_a_mean_of_products_is_a_sum_along_the_lanes():
    recording = Simplified()
    p, x, y = inputs_of(recording, 3, {0})
    product, sum_, other = x * y, x * y.exp() + y * x.exp(), x.tanh()
    means = averaged(recording, [product.place, sum_.place, other.place, (p * x).place])
    units = fused(recording.instructions, means).units
    assert units[means[0]] == Unit("mean", ((1,), (2,)))
    op, (left, right), _ = units[means[1]]
    assert (op, len(left)) == ("mean", 2)
    assert {*zip(left, right, strict=True)} == {(1, y.exp().place), (2, x.exp().place)}
    assert units[means[2]] == Unit("mean", ((ONE,), (other.place,)))
    assert units[means[3]].op == "*"


def test_every_neuron_and_every_upstream_gradient_is_a_dot():
    random.seed(0)
    model = MLP(3, [4, 5, 1])
    found = recorded(model, [(3,)])
    places = averaged(found.recording, [*found.results, *found.gradients])
    units = fused(found.recording.instructions, places).units.values()
    lengths = [len(unit.operands[0]) for unit in units if unit.op == "dot"]
    assert lengths.count(3 + 1) == 4  # the first layer, with biases
    assert lengths.count(5 + 1) == 1
    assert lengths.count(5) == 5 + 4  # the second layer, and upstream gradients of the first
    gradients = [unit for unit in units if unit.op == "mean"]
    # Gradients of weights and biases in two layers; the last upstream gradient is 1.
    assert len([unit for unit in gradients if ONE not in chain(*unit.operands)]) == 4 * 3 + 5 * 4


def value_of(unit, results):
    """The result of a unit of a sum, from the results of other units."""
    x, *others = ([results[i] for i in places] for places in unit.operands)
    if unit.op == "sum":
        return sum(x)
    if unit.op == "dot":
        return sum(a * b for a, b in zip(x, *others, strict=True))
    formulas = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "neg": lambda a: -a,
        "add product": lambda a, b, c: a + b * c, "subtract product": lambda a, b, c: a - b * c,
    }  # fmt: skip
    return formulas[unit.op](*x, *(y for [y] in others))


@pytest.mark.parametrize(
    "of",
    [
        lambda a, b, c, d: a * b - (c * d + a - b * c) - d,
        lambda a, b, c, d: -(a * b) - c * d - a - b - c,
        lambda a, b, c, d: a + b + c + d - (a * b + c - d),
    ],
)
def test_units_have_the_same_results_as_the_chains(of):
    recording = Simplified()
    numbers = [0.5, -1.5, 2.0, 3.0]
    out = of(*(recording.input(x) for x in numbers))
    results = dict(enumerate(evaluated(recording.instructions, numbers)))
    for place, unit in fused_units(recording, [out]).items():
        results[place] = value_of(unit, results)
    assert results[out.place] == of(*numbers)


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
    found = fused(recording.instructions, [out.place])
    known = {i for i, step in enumerate(recording.instructions) if not step.operands} | {ONE}
    for place, unit in found.units.items():
        assert known >= set(chain(*unit.operands))
        known.add(place)
    assert len(found.lanes) > max(found.units)
