"""The kernel that runs groups, against a reference interpreter in a few lines of NumPy."""

import builtins
import ctypes.util
import itertools
import math
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba, the extra 'fast', is not installed")

from micrograd import Value, compile
from micrograd.compiler import kernel
from micrograd.compiler.encode import encode
from micrograd.compiler.kernel import FUNCTIONS
from micrograd.compiler.run_numba import NumbaRun, address_of, why_not
from micrograd.compiler.schedule import Block, Group, Schedule

assert not why_not()

UNIFORMS, ROWS = 400, 400  # results go to the last quarter of each
FREE = 300


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1 + e)


REFERENCES = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.float_power,
    "neg": np.negative, "abs": np.abs,
    "where <": lambda x, y, a, b: np.where(x < y, a, b),
    "where <=": lambda x, y, a, b: np.where(x <= y, a, b),
    "where >": lambda x, y, a, b: np.where(x > y, a, b),
    "where >=": lambda x, y, a, b: np.where(x >= y, a, b),
    "where is": lambda x, y, a, b: np.where(x == y, a, b),
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "sigmoid": sigmoid, "relu": lambda x: np.where(x <= 0, 0.0, x), "maximum": np.maximum,
    "minimum": np.minimum, "copy": np.positive,
    "add product": lambda x, y, z: x + y * z, "subtract product": lambda x, y, z: x - y * z,
}  # fmt: skip
OPERANDS = {op: 4 if " " in op else 1 if op.isalpha() else 2 for op in FUNCTIONS}
OPERANDS |= {"maximum": 2, "minimum": 2, "add product": 3, "subtract product": 3}
REDUCTIONS = {"sum": np.sum, "largest": np.max, "smallest": np.min}


def interpret(groups, U, S):
    """Runs groups one by one, with lanes as the last axis of all arrays."""
    for group in groups:
        xs = [
            S[x.slots] if x.lanes else np.repeat(U[x.slots][..., None], S.shape[1], -1)
            for x in group.operands
        ]
        with np.errstate(all="ignore"):
            result = value(group, xs)
        if group.result.lanes:
            S[group.result.slots] = result
        else:
            U[group.result.slots] = result.mean(-1)


def value(group, xs):
    if group.op in REFERENCES:
        return REFERENCES[group.op](*xs) * 1.0
    if group.op in ("dot", "mean"):
        return (xs[0][:, None] * xs[1][:, :, None]).sum(-2)
    if group.op in REDUCTIONS:
        return REDUCTIONS[group.op](xs[0], axis=-2)
    if group.op == "take":
        return np.take_along_axis(xs[1], xs[0][:, None].astype(int), axis=1)[:, 0]
    places = np.arange(group.result.slots.shape[1])[:, None, None]
    return (xs[1][:, None] * (xs[0][:, None] == places)).sum(-2)


def numbers(rng, shape):
    return rng.normal(size=shape)


def slots(rng, shape):
    """Slots of operands: neighbours, an arithmetic progression, or random."""
    size = math.prod(shape)
    kind = rng.integers(3)
    if kind == 0 and size < FREE:
        return (rng.integers(FREE - size) + np.arange(size)).reshape(shape)
    if kind == 1 and size * 2 < FREE:
        return (1 + 2 * np.arange(size)).reshape(shape)
    return rng.integers(0, FREE, shape)


def result(lanes, shape):
    return Block(lanes, FREE + np.arange(math.prod(shape)).reshape(shape))


def scheduled(groups, uniforms, rows, constants=()):
    return Schedule([], groups, [], (uniforms, rows), 0, [*constants], [], (0, 0), None)


def compute(groups, U, S, constants=()):
    """Runs the groups on these numbers, in place."""
    found = NumbaRun(scheduled(groups, len(U), len(S), constants), S.shape[1])
    lanes = found.lanes.reshape(S.shape)
    found.uniform[:], lanes[:] = U, S
    found()
    U[:], S[:] = found.uniform, lanes


def run(program, memory, first, last):
    """Runs steps of a program; returns 0, or what is wrong."""
    addresses = address_of(program), address_of(memory)
    job = kernel.PROGRAM, *addresses, len(program), len(memory), first, last
    return kernel.run(address_of(kernel.jobs([], [job])))


def check(group, lanes, rng, U=None, S=None):
    U = numbers(rng, UNIFORMS) if U is None else U
    S = numbers(rng, (ROWS, lanes)) if S is None else S
    expected_u, expected_s = U.copy(), S.copy()
    interpret([group], expected_u, expected_s)
    compute([group], U, S)
    np.testing.assert_allclose(U, expected_u, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(S, expected_s, rtol=1e-12, atol=1e-12)


LANES = pytest.mark.parametrize("lanes", [1, 3, 8, 13, 100])


@LANES
@pytest.mark.parametrize("op", FUNCTIONS)
def test_elementwise(op, lanes):
    rng = np.random.default_rng(1)
    for count in (1, 3, 8, 37, 90):
        for _ in range(6):
            kinds = rng.integers(0, 2, OPERANDS[op]) == 1
            operands = tuple(Block(bool(kind), slots(rng, (count,))) for kind in kinds)
            check(Group(op, result(bool(kinds.any()), (count,)), operands), lanes, rng)


EXTREMES = [
    0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, -1e-9, 1e-300, 5e-324, 2.5e-308, 1e300, 19.5, -40.0, 708.5,
    709.7, 709.79, 710.5, 1000.0, -708.5, -720.3, -744.9, -745.5, -1000.0, math.inf, -math.inf,
    math.nan, 1 + 2.0**-52, 1 - 2.0**-53, 0.7071067811865475, 0.7071067811865476,
    1.4142135623730951,
]  # fmt: skip


# A product that is added is not rounded, so these two are finite where NumPy overflows.
@pytest.mark.parametrize("op", [op for op in FUNCTIONS if "product" not in op])
def test_extreme_numbers(op):
    rng = np.random.default_rng(0)
    places = [np.repeat(np.arange(31), 31), np.tile(np.arange(31), 31)]
    places += rng.integers(0, 31, (2, 961)).tolist()
    S = np.concatenate([np.array(EXTREMES), np.zeros(961)])[:, None]
    expected, U = S.copy(), np.zeros(1)
    operands = tuple(Block(True, np.array(p)) for p in places[: OPERANDS[op]])
    group = Group(op, Block(True, 31 + np.arange(961)), operands)
    interpret([group], U, expected)
    compute([group], U, S)
    np.testing.assert_allclose(S, expected, rtol=4e-15, atol=0)


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "sigmoid"])
def test_functions_are_accurate_to_the_last_digits(op):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-30, 30, 40_000), rng.normal(size=40_000) * 1e-3,
                        1 + rng.normal(size=20_000) * 1e-3])  # fmt: skip
    if op == "log":
        x = np.abs(x) * 10.0 ** rng.integers(-300, 300, len(x)) ** rng.integers(0, 2, len(x))
    S = np.concatenate([x, x])[:, None]
    n = len(x)
    group = Group(op, Block(True, n + np.arange(n)), (Block(True, np.arange(n)),))
    compute([group], np.zeros(0), S)
    np.testing.assert_allclose(S[n:, 0], REFERENCES[op](x), rtol=1e-15, atol=0)


SHAPES = [  # of left and right
    ((1, 9, 4), (1, 5, 4)), ((1, 16, 3), (1, 1, 3)), ((1, 1, 5), (1, 7, 5)),
    ((3, 8, 2), (3, 4, 2)), ((2, 3, 4), (2, 3, 4)), ((11, 1, 3), (11, 1, 3)),
    ((9, 1, 4), (9, 1, 4)), ((1, 40, 5), (1, 2, 5)), ((1, 1, 2), (1, 1, 2)),
    ((1, 10, 1), (1, 4, 1)), ((1, 27, 1), (1, 3, 1)), ((1, 1, 3), (1, 1, 3)),
    ((6, 5, 17), (6, 1, 17)),
]  # fmt: skip


@LANES
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("op", ["dot", "mean"])
def test_sums_of_products(op, shapes, lanes):
    rng = np.random.default_rng(2)
    factors = (several, lefts, _), (_, rights, _) = shapes
    shape = several, rights, lefts
    for kinds in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for _ in range(8):
            pairs = zip(kinds, factors, strict=True)
            operands = [Block(bool(kind), slots(rng, s)) for kind, s in pairs]
            wide = any(x.lanes for x in operands)
            if wide or op == "dot":
                group = Group(op, result(wide and op == "dot", shape), tuple(operands))
                check(group, lanes, rng)


@LANES
@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("lanes_in", [True, False])
def test_sums_and_extremes_of_many(op, lanes_in, lanes):
    rng = np.random.default_rng(3)
    for shape in ((1, 10), (7, 3), (20, 1), (2, 5, 4)):
        S = numbers(rng, (ROWS, lanes))
        S[17] = math.nan
        operands = (Block(lanes_in, slots(rng, shape)),)
        check(Group(op, result(lanes_in, shape[:-1]), operands), lanes, rng, S=S)


@LANES
@pytest.mark.parametrize("op", ["take", "scatter", "scatter mean"])
def test_tables(op, lanes):
    rng = np.random.default_rng(4)
    for kinds in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for count, each, n in ((1, 1, 1), (4, 3, 7), (9, 2, 5)):
            U, S = numbers(rng, UNIFORMS), numbers(rng, (ROWS, lanes))
            U[:40], S[:40] = rng.integers(0, n, 40), rng.integers(0, n, (40, lanes))
            wide = any(kinds)
            if op == "scatter mean" and not wide:
                continue
            shapes = ((count,), (count, n)) if op == "take" else ((count, each),) * 2
            index = rng.integers(0, 40, shapes[0])
            operands = (Block(bool(kinds[0]), index), Block(bool(kinds[1]), slots(rng, shapes[1])))
            shape = (count,) if op == "take" else (count, n)
            out = result(wide and op != "scatter mean", shape)
            check(Group(op, out, operands), lanes, rng, U, S)


@pytest.mark.parametrize("index", [-1.0, 3.0, math.nan, 1e300, math.inf])
@pytest.mark.parametrize("op", ["take", "scatter"])
def test_an_index_outside_of_its_table_is_reported(op, index):
    U, S = np.array([index, 1.0, 2.0, 3.0] + [0.0] * 9), np.zeros((1, 1))
    first = Group("neg", Block(False, np.array([12])), (Block(False, np.array([1])),))
    places, table = np.array([0]), np.array([[1, 2, 3]])
    group = Group(op, Block(False, np.array([9])), (Block(False, places), Block(False, table)))
    if op == "scatter":
        operands = (Block(False, places[:, None]), Block(False, table[:, :1]))
        group = Group(op, Block(False, np.array([[9, 10, 11]])), operands)
    with pytest.raises(IndexError, match="take got an index"):
        compute([first, group], U, S)


def test_groups_follow_one_another():
    rng = np.random.default_rng(5)
    U, S = numbers(rng, 60), numbers(rng, (60, 20))
    grid = Group("dot", Block(True, np.arange(30, 38)[None, None]), (
        Block(False, np.arange(32).reshape(1, 8, 4)), Block(True, np.arange(4).reshape(1, 1, 4)),
    ))  # fmt: skip
    relu = Group("relu", Block(True, np.arange(38, 46)), (Block(True, np.arange(30, 38)),))
    mean = Group("mean", Block(False, np.arange(40, 48)[None, None]), (
        Block(True, np.arange(38, 46).reshape(1, 8, 1)), Block(True, np.array([[[3]]])),
    ))  # fmt: skip
    expected_u, expected_s = U.copy(), S.copy()
    interpret([grid, relu, mean], expected_u, expected_s)
    compute([grid, relu, mean], U, S)
    np.testing.assert_allclose(U, expected_u, rtol=1e-12)
    np.testing.assert_allclose(S, expected_s, rtol=1e-12)


def test_groups_that_cannot_be_encoded_are_refused():
    def group(op="neg", out=(1,), x=(0,)):
        return Group(op, Block(True, np.array(out)), (Block(True, np.array(x)),))

    for n in (1, 2):
        with pytest.raises(ValueError, match="'neg' expects slots from 0 to 1, got 2 to 2"):
            encode(scheduled([group(x=(2,))], 0, 2), n)
    with pytest.raises(ValueError, match="neighbouring slots"):
        encode(scheduled([group(out=(0, 2), x=(1, 1))], 0, 3), 2)
    with pytest.raises(ValueError, match="no operation 'erf'"):
        encode(scheduled([group(op="erf")], 0, 2), 2)
    with pytest.raises(ValueError, match="10000000 lanes need a memory of"):
        encode(scheduled([], 1, 300), 10_000_000)


def test_without_a_cache_folder_the_kernel_is_compiled_in_memory():
    text = Path(kernel.__file__).read_text(encoding="utf-8")
    code = builtins.compile(text, "<nowhere>", "exec")
    names = {"__name__": "nowhere", "__file__": "<nowhere>"}
    exec(code, names)
    assert not names["run"].signatures
    assert "no locator available" in names["not_cached"]


@pytest.mark.parametrize("lanes", [1000, 5000, 20_000])
@pytest.mark.parametrize("op", [*FUNCTIONS, "dot", "mean", "sum", "largest", "take", "scatter"])
def test_rows_longer_than_a_chunk_of_scratch_memory(op, lanes):
    rng = np.random.default_rng(6)
    U, S = np.abs(numbers(rng, 8)), np.abs(numbers(rng, (12, lanes)))
    S[0] = rng.integers(0, 3, lanes)
    far, three = np.array([1, 5, 3]), np.array([9, 10, 11])  # far: not neighbours, so gathered
    table, index = Block(True, far[None]), np.array([0])
    factors = Block(True, far[:, None, None]), Block(False, far[:, None, None])
    groups = {
        "dot": (Block(True, three[:, None, None]), *factors),
        "mean": (Block(False, index[None, None]), *[Block(True, far[None, None])] * 2),
        "sum": (Block(True, three[:1]), table),
        "largest": (Block(True, three[:1]), table),
        "take": (Block(True, three[:1]), Block(True, index), table),
        "scatter": (Block(True, three[None]), Block(True, index[None]), Block(True, far[None, :1])),
    }  # fmt: skip
    elementwise = (Block(True, three), *(Block(True, far), Block(False, far)) * 2)
    out, *operands = groups.get(op) or elementwise[: 1 + OPERANDS[op]]
    check(Group(op, out, tuple(operands)), lanes, rng, U, S)


def test_runs_of_many_lanes_follow_one_another():
    w = Value(0.5)
    f = compile(lambda x: (w * x).tanh(), executor="numba")
    for n in (1000, 5000, 1, 20_000, 5000, 300_000):
        w.grad = 0
        batch = f(np.ones(n))
        batch.backward()
        tanh = math.tanh(0.5)
        np.testing.assert_allclose([batch.data, w.grad], [tanh, 1 - tanh**2], rtol=1e-12)


# Using memory after it was freed often goes unnoticed, because it keeps its content for a while.
# With these settings of glibc it is noticed: freed memory is returned to the system at once, or
# overwritten, or checked.
DEBUG = ctypes.util.find_library("c_malloc_debug") or ""
ALLOCATORS = [
    {"MALLOC_MMAP_THRESHOLD_": "65536"},
    {"MALLOC_PERTURB_": "165"},
    pytest.param({"MALLOC_CHECK_": "3", "LD_PRELOAD": DEBUG}, marks=pytest.mark.skipif(
        not DEBUG, reason="the debugging allocator of glibc is missing")),
]  # fmt: skip


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are those of glibc")
@pytest.mark.parametrize("setting", ALLOCATORS, ids="-".join)
def test_no_memory_is_used_after_it_was_freed(setting):
    options = ["-q", "-p", "no:cacheprovider", "-k", "chunk_of_scratch or many_lanes"]
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", *options, __file__],
        env=os.environ | setting, capture_output=True, text=True,
    )  # fmt: skip
    assert tests.returncode == 0, tests.stdout + tests.stderr


# ---- Memory safety: with a variable of the environment set, the kernel checks each access


def every_kind_of_step():
    """Groups that need each kind of step, and the numbers that they read."""
    rng = np.random.default_rng(7)
    left, right = (
        Block(False, np.arange(32).reshape(1, 8, 4)),
        Block(True, np.arange(4)[None, None]),
    )
    far, row = np.array([[1, 5, 3]]), Block(True, np.arange(8).reshape(1, 8, 1))
    index, out = Block(True, np.array([0])), itertools.count(40, 8)

    def eight(lanes=True, shape=(1, 1, 8)):
        start = next(out)
        return Block(lanes, np.arange(start, start + math.prod(shape)).reshape(shape))

    groups = [
        Group("relu", eight(shape=(8,)), (Block(True, np.arange(8) * 2),)),
        Group("+", eight(False, (2,)), (Block(False, np.arange(2)),) * 2),
        Group("dot", eight(), (left, right)),
        Group("dot", eight(False), (left, Block(False, right.slots))),
        Group("sum", eight(shape=(1,)), (Block(True, far),)),
        Group("mean", eight(False), (row, Block(True, np.array([[[3]]])))),
        Group("largest", eight(shape=(1,)), (Block(True, far),)),
        Group("take", eight(shape=(1,)), (index, Block(False, far))),
        Group("scatter", eight(shape=(1, 3)), (Block(True, index.slots[:, None]), index._replace(
            slots=far[:, :1]))),
    ]  # fmt: skip
    U, S = numbers(rng, 140), numbers(rng, (140, 20))
    S[0] = rng.integers(0, 3, 20)
    return groups, U, S


def test_a_program_and_a_memory_that_do_not_belong_together_are_refused():
    groups, U, S = every_kind_of_step()
    program, size, *_, (_, end) = encode(scheduled(groups, len(U), len(S)), 20)
    memory = np.zeros(size)
    assert run(program, memory, 1, end) == 0
    wrong = (1, end, memory[:-1]), (1, end + 2, memory), (-1, 5, memory), (9, 5, memory)
    for first, last, m in wrong:
        with pytest.raises(RuntimeError, match="cannot run on this memory"):
            kernel.check(run(program, m, first, last))


@pytest.mark.skipif(not kernel.CHECKED, reason="the kernel checks nothing; a slow test sets this")
@pytest.mark.parametrize("wrong", [-1, 10**6])
def test_in_a_broken_program_each_wrong_place_is_found(wrong):
    groups, U, S = every_kind_of_step()
    for n in (1, 20):
        encoded = encode(scheduled(groups, len(U), len(S)), n)
        program, memory = encoded.program, np.zeros(encoded.size)
        end = encoded.after_means[1]
        kernel.check(run(program, memory, 1, end))
        at = 1
        for op, integers in encoded.steps:
            broken = program.copy()
            # a place that is used: that of the result, of an index, or of the last operand
            position = 1 if op in FUNCTIONS else 6 if op == "take" else len(integers) - 1
            broken[at + 2 + position] = wrong
            at += 2 + len(integers)
            result = run(broken, memory, 1, end)
            with pytest.raises(RuntimeError, match="a place is out of range"):
                kernel.check(result)


@pytest.mark.slow
def test_with_checks_no_access_is_out_of_range():
    files = [__file__, Path(__file__).with_name("test_run_numpy.py")]
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "not freed and not checks and not cache_folder",
    ]
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        env=os.environ | {"MICROGRAD_CHECKED_KERNEL": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert tests.returncode == 0, tests.stdout + tests.stderr
