"""Each kind of group, run with NumPy and with numba, against loops over its numbers."""

import math
import operator
import random
from functools import partial
from itertools import product

import numpy as np
import pytest
from recordings import passed

from micrograd import Value, take
from micrograd.compiler import run
from micrograd.compiler.run import TiledExecutor
from micrograd.compiler.run_numba import NumbaRun, why_not
from micrograd.compiler.run_numpy import NumPyRun, regular
from micrograd.compiler.schedule import Block, Group, Schedule
from micrograd.nn import MLP

# ---- programs


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
    """The NumPy executor of a function, and its parameters."""
    found, schedule = passed(function, shapes)
    return TiledExecutor(schedule, partial(NumPyRun, schedule), shapes), found.parameters


def test_a_program_runs_with_different_numbers_of_lanes_in_any_order():
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


def test_tiles_give_the_same_results_as_the_whole_batch(monkeypatch):
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


# ---- every group against loops over its numbers


def at(block, lane, memory):
    """The numbers of a block in a lane."""
    numbers = memory[block.lanes]
    return numbers[block.slots, lane] if block.lanes else numbers[block.slots]


SCALAR = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "**": operator.pow, "neg": operator.neg, "abs": abs, "exp": math.exp, "log": math.log,
    "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "relu": lambda x: max(x, 0.0),
    "maximum": max, "minimum": min, "copy": lambda x: x,
    "add product": lambda x, y, z: x + y * z, "subtract product": lambda x, y, z: x - y * z,
}  # fmt: skip
REDUCTIONS = {"sum": np.sum, "largest": np.max, "smallest": np.min}
CHOICES = {
    "where <": operator.lt, "where <=": operator.le, "where >": operator.gt,
    "where >=": operator.ge, "where is": operator.eq,
}  # fmt: skip


def by_loops(group, lane, memory):
    """The numbers of a group's result in one lane, in the shape of its slots."""
    shape = group.result.slots.shape
    if group.op in ("dot", "mean"):
        left, right = (at(block, lane, memory) for block in group.operands)
        return (left[:, None] * right[:, :, None]).sum(-1)
    if group.op in REDUCTIONS:
        [block] = group.operands
        return REDUCTIONS[group.op](at(block, lane, memory), axis=-1)
    numbers = [at(block, lane, memory) for block in group.operands]
    found = np.zeros(shape)
    if group.op == "take":
        indices, tables = numbers
        for g, i in enumerate(indices):
            found[g] = tables[g, int(i)]
    elif group.op in ("scatter", "scatter mean"):
        for g, (indices, contributions) in enumerate(zip(*numbers, strict=True)):
            for i, x in zip(indices, contributions, strict=True):
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
    """Slots in a random pattern: in order, with gaps, all the same, alternating, or irregular."""
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


RUNS = [NumPyRun, *([] if why_not() else [NumbaRun])]


def computed(groups, sizes, memory, n, means=(0, 0), constants=(), ones=()):
    """Both memories after these groups have run, for each available executor."""
    in_lanes = [group for group in groups if group.result.lanes or means[1]]
    before = [group for group in groups if group not in in_lanes]
    schedule = Schedule(
        before, in_lanes, [], sizes, 0, list(constants), list(ones), means, [(False, 0)]
    )
    for kind in RUNS:
        bound = kind(schedule, n)
        bound.uniform[:N_SLOTS] = memory[False]
        bound.lanes[:N_SLOTS] = memory[True] if n > 1 else memory[True][:, 0]
        bound.until_means()
        yield {False: bound.uniform, True: bound.lanes.reshape(sizes[1], n)}


def assert_group_agrees(group, memory, n, **more):
    """Compares the group on each executor with loops."""
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
    arity = 3 if op.endswith("product") else arity
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
            memory[True][:, 0] = memory[False]  # makes some of them equal
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
def test_a_choice_keeps_every_bit_of_a_number(lanes, n):
    """Even if the other number is infinite or NaN; and the sign of 0 is kept."""
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


# Whether the left and the right list are in lanes; a uniform list is always the left one.
SIDES = [(False, False), (False, True), (True, True)]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_dots(n):
    rng = random.Random(2)
    grids = product((1, 3), (1, 3), (1, 4), (1, 2, 3))
    for lanes, (several, rights, lefts, length) in product(SIDES, grids):
        for _ in range(5):
            memory = random_memory(rng, n)
            left = Block(lanes[0], random_slots(rng, (several, lefts, length)))
            right = Block(lanes[1], random_slots(rng, (several, rights, length)))
            group = Group("dot", result_block(lanes[1], (several, rights, lefts)), (left, right))
            assert_group_agrees(group, memory, n)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_means(n):
    rng = random.Random(4)
    for several, rights, lefts, length in product((1, 2, 5), (1, 3), (1, 4), (1, 3)):
        memory = random_memory(rng, n)
        left = Block(True, random_slots(rng, (several, lefts, length)))
        right = Block(True, random_slots(rng, (several, rights, length)))
        group = Group("mean", result_block(False, (several, rights, lefts)), (left, right))
        assert_group_agrees(group, memory, n)
        ones = Block(True, np.full((several, lefts, length), N_SLOTS - 1))
        memory[True][N_SLOTS - 1] = 1.0
        group = group._replace(operands=(ones, right))
        assert_group_agrees(group, memory, n, ones=[N_SLOTS - 1])


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_the_sum_and_the_largest_of_a_list(op, n):
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
            contributions = Block(of_numbers, random_slots(rng, (tables, 3)))
            result = result_block(lanes and op == "scatter", (tables, length))
            assert_group_agrees(Group(op, result, (index, contributions)), memory, n)


def test_a_computed_index_is_checked_in_each_run():
    table = [Value(1.0), Value(2.0)]
    executor, _ = executor_of(lambda i: take(table, i + 1), [()])
    with pytest.raises(IndexError, match=r"take expects a whole number 0 <= index < 2, got 2"):
        executor(np.array([1.0, 2.0]), [np.array([0.0, 1.0])], 2)
