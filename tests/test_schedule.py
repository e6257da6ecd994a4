"""Groups of instructions that run at the same time, and their matrix products."""

import random
from itertools import chain

import pytest
from recordings import inputs_of, passed

from micrograd.compiler.averages import averaged
from micrograd.compiler.fuse import ONE, fused
from micrograd.compiler.schedule import grids, scheduled
from micrograd.compiler.simplify import Simplified
from micrograd.core.tracing import Traced
from micrograd.nn import MLP, Linear


def schedule_of(recording, results, parameters=(), inputs=None):
    places = [r.place for r in results]
    steps = recording.instructions
    found = [i for i, s in enumerate(steps) if s.op == "input" and i not in parameters]
    units = fused(steps, places)
    return scheduled(units, steps, inputs or [found], list(parameters), places)


def test_independent_units_form_one_group_as_late_as_possible():
    recording = Simplified()
    x, y, z = inputs_of(recording, 3)
    early, late = x.exp().sin().tanh(), y.exp().tanh()
    schedule = schedule_of(recording, [early, late, z.tanh()])
    first, *then, last = ((group.op, len(group.result.slots)) for group in schedule.lanes)
    assert (first, sorted(then), last) == (("exp", 1), [("exp", 1), ("sin", 1)], ("tanh", 3))
    assert (schedule.before, schedule.after) == ([], [])
    # inputs in the first rows; a row of ones after them and after each group
    assert schedule.n_inputs == 4
    assert 3 in schedule.ones
    for group in schedule.lanes:
        slots = group.result.slots
        assert slots.tolist() == list(range(slots[0], slots[0] + len(slots)))
        assert slots[-1] + 1 in schedule.ones


def test_uniform_groups_run_before_the_lanes_or_after_the_means():
    recording = Simplified()
    p, x = inputs_of(recording, 2, {0})
    [mean] = averaged(recording, [(p.exp() * x.tanh()).place])
    schedule = schedule_of(recording, [Traced(recording, mean)], [p.place])
    phases = [[group.op for group in phase]
              for phase in (schedule.before, schedule.lanes, schedule.after)]  # fmt: skip
    assert phases in (
        [["exp"], ["tanh", "mean"], ["*"]],
        [[], ["tanh", "mean"], ["exp", "*"]],
    )
    first, end = schedule.means
    assert schedule.lanes[-1].result.slots.ravel().tolist() == list(range(first, end))
    [(is_in_lanes, slot)] = schedule.results
    assert (is_in_lanes, slot) == (False, schedule.groups[-1].result.slots.flat[0])
    assert [group.op for group in schedule.groups] == [*chain(*phases)]


def test_constants_and_parameters_come_first():
    recording = Simplified()
    x, p, q = inputs_of(recording, 3, {1, 2})
    schedule = schedule_of(recording, [(x * p + 2.5) / q], [p.place, q.place])
    constants = {int(slot): number for slot, number in schedule.constants}
    assert constants == {2: 2.5, 3: 0.0, 4: 1.0}
    quotient = schedule.lanes[-1]
    assert quotient.operands[1].slots.tolist() == [1]


def grids_of(groups):
    """Shapes of the matrix products: the shape of the result, and the length of the sums."""
    return [
        (*group.result.slots.shape[1:], group.operands[0].slots.shape[-1])
        for group in groups
        if group.op in ("dot", "mean") and group.result.slots[0].size > 1
    ]


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_every_layer_is_a_matrix_product_in_all_three_directions(activation):
    random.seed(0)
    model = MLP(3, [4, 5, 2], activation=activation)
    _, schedule = passed(lambda x, y: sum((a * y).tanh() for a in model(x)), [(3,), ()])
    lanes = schedule.lanes
    found = grids_of(lanes)
    # forward: R = 1 list of inputs times L neurons, summed over inputs and bias
    assert found[:3] == [(1, 4, 4), (1, 5, 5), (1, 2, 6)]
    # gradients of the inputs of a layer
    assert found[3:5] == [(1, 5, 2), (1, 4, 5)]
    # gradients of weights and biases: upstream gradients times inputs, summed over lanes
    assert set(found[5:]) == {(2, 6, 1), (5, 5, 1), (4, 4, 1)}
    assert all(group.result.lanes != (group.op == "mean") for group in lanes)


def test_a_layer_used_at_several_positions_is_one_product():
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
    # a triangle, as in causal attention
    assert grids(pairs((a, x), (b, x), (b, y))) == [([a], [x]), ([b], list({x, y}))]
    # the bias joins a grid if it has all of its right lists; the others form a grid alone
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
    assert all(group.result.slots.shape[1:] == (1, 1) for group in dots)


def test_only_sums_of_similar_length_are_padded():
    recording = Simplified()
    xs = inputs_of(recording, 40)
    short, longer = xs[0] * xs[1] + xs[2] * xs[3], sum(x * x for x in xs[4:7])
    long = sum(x * x for x in xs[7:])
    schedule = schedule_of(recording, [short.tanh(), longer.tanh(), long.tanh()])
    dots = {group.operands[0].slots.shape for group in schedule.lanes if group.op == "dot"}
    assert dots == {(2, 1, 3), (1, 1, 33)}
    [filled] = [g for g in schedule.lanes if g.op == "dot" and len(g.result.slots) == 2]
    left, right = filled.operands[:2]
    zero = next(slot for slot in left.slots.ravel() if slot > 39)
    assert zero not in schedule.ones
    assert set(right.slots.ravel()) & set(schedule.ones)


def test_sums_with_different_terms_share_their_groups():
    recording = Simplified()
    x = [x.exp() for x in inputs_of(recording, 12)]
    dots = [x[i] * x[i + 1] + x[i + 2] * x[i + 3] for i in (0, 4, 8)]
    alone, with_a_term, with_many = dots[0], dots[1] + x[0], x[0] - dots[2] + x[1] + x[2]
    schedule = schedule_of(recording, [x.tanh() for x in (alone, with_a_term, with_many)])
    found = [(group.op, group.result.slots.size) for group in schedule.lanes]
    assert found == [("exp", 12), ("dot", 3), ("sum", 1), ("+", 1), ("-", 1), ("tanh", 3)]


def test_the_repr_of_groups():
    random.seed(0)
    model = MLP(2, [3, 1])
    shown = [repr(group) for group in passed(lambda x: model(x).tanh(), [(2,)])[1].groups]
    assert shown[0] == "matrix product (3 x 3) (3 x lanes)"
    assert shown[1] == "relu of 3 in lanes"
    assert "1 sum of 4 products in lanes" in shown
