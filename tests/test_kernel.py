"""The kernel that runs groups, against a reference interpreter in a few lines of NumPy."""

import builtins
import ctypes.util
import math
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba, the extra 'fast', is not installed")

import numba

from micrograd import Value, compile
from micrograd.compiler import kernel, run_numba
from micrograd.compiler.kernel import FUNCTIONS, GROUPS, encode, jobs, scratch_size
from micrograd.compiler.run_numba import address_of
from micrograd.compiler.schedule import Block, Group

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
}  # fmt: skip
OPERANDS = {op: 4 if " " in op else 1 if op.isalpha() else 2 for op in FUNCTIONS}
OPERANDS |= {"maximum": 2, "minimum": 2}


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
        total = group.sign * (xs[0] * xs[1]).sum(-2)
        return total + xs[2].sum(-2) - xs[3].sum(-2) if group.op == "dot" else total
    if group.op in ("largest", "smallest"):
        return (np.max if group.op == "largest" else np.min)(xs[0], axis=-2)
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


def run(program, U, S, scratch, n, function=kernel.run):
    """Runs n groups."""
    table = jobs([(GROUPS, *map(address_of, (program, U, S, scratch)), S.shape[1], 0, n)])
    return function(address_of(table))


def outcome(groups, U, S):
    program = encode(groups, len(U), len(S))
    return run(program, U, S, np.empty(scratch_size(program, S.shape[1])), len(groups))


def check(group, lanes, rng, U=None, S=None):
    U = numbers(rng, UNIFORMS) if U is None else U
    S = numbers(rng, (ROWS, lanes)) if S is None else S
    expected_u, expected_s = U.copy(), S.copy()
    interpret([group], expected_u, expected_s)
    assert outcome([group], U, S) == 0
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


@pytest.mark.parametrize("op", FUNCTIONS)
def test_extreme_numbers(op):
    rng = np.random.default_rng(0)
    places = [np.repeat(np.arange(31), 31), np.tile(np.arange(31), 31)]
    places += rng.integers(0, 31, (2, 961)).tolist()
    S = np.concatenate([np.array(EXTREMES), np.zeros(961)])[:, None]
    expected, U = S.copy(), np.zeros(1)
    operands = tuple(Block(True, np.array(p)) for p in places[: OPERANDS[op]])
    group = Group(op, Block(True, 31 + np.arange(961)), operands)
    interpret([group], U, expected)
    assert outcome([group], U, S) == 0
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
    outcome([group], np.zeros(0), S)
    np.testing.assert_allclose(S[n:, 0], REFERENCES[op](x), rtol=1e-15, atol=0)


SHAPES = [  # of result, left, right
    ((5, 9), (1, 9, 4), (5, 1, 4)), ((1, 16), (1, 16, 3), (1, 1, 3)),
    ((7, 1), (1, 1, 5), (7, 1, 5)),
    ((3, 4, 8), (3, 1, 8, 2), (3, 4, 1, 2)), ((2, 3, 3), (1, 1, 3, 4), (2, 3, 1, 4)),
    ((11,), (11, 3), (11, 3)), ((9,), (9, 4), (4,)), ((3, 3), (3, 3, 2), (3, 3, 2)),
    ((2, 40), (1, 40, 5), (2, 1, 5)), ((1,), (1, 0), (1, 0)), ((4, 10), (1, 10, 0), (4, 1, 0)),
    ((3, 27), (1, 27, 1), (3, 1, 1)), ((), (3,), (3,)), ((6, 5), (1, 5, 17), (6, 5, 17)),
]  # fmt: skip


@LANES
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("op", ["dot", "mean"])
def test_sums_of_products(op, shapes, lanes):
    rng = np.random.default_rng(2)
    shape, *factors = shapes
    for kinds in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for terms in ((0, 0), (1, 0), (0, 2), (3, 1)):
            for sign in (1, -1):
                pairs = zip(kinds, factors, strict=True)
                operands = [Block(bool(kind), slots(rng, s)) for kind, s in pairs]
                if op == "dot":
                    extra = [bool(rng.integers(2)) for _ in terms]
                    operands += [
                        Block(k, slots(rng, (*shape, n))) for k, n in zip(extra, terms, strict=True)
                    ]
                wide = any(x.lanes for x in operands)
                if op == "mean" and not (wide and terms == (0, 0)):
                    continue
                group = Group(op, result(wide and op == "dot", shape), tuple(operands), sign)
                check(group, lanes, rng)


@LANES
@pytest.mark.parametrize("op", ["largest", "smallest"])
@pytest.mark.parametrize("lanes_in", [True, False])
def test_extremes_of_many(op, lanes_in, lanes):
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
    assert outcome([first, group], U, S) == 2


def test_groups_follow_one_another():
    rng = np.random.default_rng(5)
    U, S = numbers(rng, 60), numbers(rng, (60, 20))
    grid = Group("dot", Block(True, np.arange(30, 38)[None]), (
        Block(False, np.arange(32).reshape(1, 8, 4)), Block(True, np.arange(4).reshape(1, 1, 4)),
        Block(True, np.zeros((1, 8, 0), int)), Block(True, np.zeros((1, 8, 0), int)),
    ))  # fmt: skip
    relu = Group("relu", Block(True, np.arange(38, 46)), (Block(True, np.arange(30, 38)),))
    mean = Group("mean", Block(False, np.arange(40, 48)[None]), (
        Block(True, np.arange(38, 46).reshape(1, 8, 1)), Block(True, np.array([[[3]]])),
    ))  # fmt: skip
    expected_u, expected_s = U.copy(), S.copy()
    interpret([grid, relu, mean], expected_u, expected_s)
    assert outcome([grid, relu, mean], U, S) == 0
    np.testing.assert_allclose(U, expected_u, rtol=1e-12)
    np.testing.assert_allclose(S, expected_s, rtol=1e-12)


def test_groups_that_cannot_be_encoded_are_refused():
    def group(op="neg", out=(1,), x=(0,)):
        return Group(op, Block(True, np.array(out)), (Block(True, np.array(x)),))

    with pytest.raises(ValueError, match="'neg' expects slots from 0 to 1, got 2 to 2"):
        encode([group(x=(2,))], 0, 2)
    with pytest.raises(ValueError, match="neighbouring slots"):
        encode([group(out=(0, 2), x=(1, 1))], 0, 3)
    with pytest.raises(ValueError, match="no operation 'erf'"):
        encode([group(op="erf")], 0, 2)


def test_without_a_cache_folder_the_kernel_is_compiled_in_memory():
    text = Path(kernel.__file__).read_text(encoding="utf-8")
    code = builtins.compile(text, "<nowhere>", "exec")
    names = {"__name__": "nowhere", "__file__": "<nowhere>"}
    exec(code, names)
    assert "no locator available" in names["not_cached"]
    program = names["encode"]([], 1, 1)
    assert run(program, np.zeros(1), np.zeros((1, 1)), np.zeros(0), 0, names["run"]) == 0


@pytest.mark.parametrize("lanes", [1000, 5000, 20_000])
@pytest.mark.parametrize("op", [*FUNCTIONS, "dot", "mean", "largest", "take", "scatter"])
def test_rows_longer_than_a_chunk_of_scratch_memory(op, lanes):
    rng = np.random.default_rng(6)
    U, S = np.abs(numbers(rng, 8)), np.abs(numbers(rng, (12, lanes)))
    S[0] = rng.integers(0, 3, lanes)
    far, three = np.array([1, 5, 3]), np.array([9, 10, 11])  # far: not neighbours, so gathered
    table, index = Block(True, far[None]), np.array([0])
    factors = Block(True, far[:, None]), Block(False, far[:, None])
    none = Block(False, np.zeros((3, 0), int))
    groups = {
        "dot": (Block(True, three), *factors, none, none),
        "mean": (Block(False, index), Block(True, far[None]), Block(True, far[None])),
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
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, __file__],
        env=os.environ | setting, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_kernel_that_is_not_cached_on_disk_is_compiled_before_it_runs(monkeypatch):
    lazy = numba.njit(lambda table: 0)
    module = SimpleNamespace(run=lazy, SIGNATURE=kernel.SIGNATURE)
    monkeypatch.setattr(run_numba, "_kernel", lambda: module)
    assert run_numba.compiled_kernel.__wrapped__() is module
    assert len(lazy.signatures) == 1


INTERRUPTED = """
import signal, sys, threading
import numpy as np
from micrograd import Value, compile

class CtrlC:  # pressed when a module is about to be imported
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it by default
sys.meta_path.insert(0, CtrlC())
w = Value(2.0)
f = compile(lambda x: w * x)
try:
    f(np.array([1.0, 2.0]))
except KeyboardInterrupt:
    print("interrupted")
print(f(np.array([1.0, 2.0])).lanes.tolist(), f.executor, f.reason)
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs pthread_kill")
@pytest.mark.parametrize("module", [
    "llvmlite", "numba.core.types", "numba.core.typing.templates", "numba.core.dispatcher",
])  # fmt: skip
def test_after_ctrl_c_while_numba_is_imported_the_next_call_runs_on_numba(module):
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True
    )
    assert run.stdout.split() == ["interrupted", "[2.0,", "4.0]", "numba"], run.stderr
