"""Machine code: for any number of examples, made by threads at once, freed with its function."""

import platform
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite, the extra 'fast', is not installed")

from blocks import python
from compiled import assert_agrees, assert_close, by_batch, mlp, rows

import micrograd
from micrograd import Value, fit, take
from micrograd.compiler import run_llvm
from micrograd.losses import cross_entropy
from micrograd.optim import Adam


@pytest.fixture
def codes(monkeypatch):
    """Weak references to all machine code that is made meanwhile."""
    made, original = [], run_llvm.machine_code

    def noted(text):
        made.append(weakref.ref(run := original(text)))
        return run

    monkeypatch.setattr(run_llvm, "machine_code", noted)
    return made


def test_one_text_serves_all_numbers_of_examples(codes):
    model, xs = mlp(3, 5, 2), rows(600, 3)
    loss = micrograd.compile(lambda x, k: cross_entropy(model(x), k), executor="llvm")
    expected = None
    for n in (600, 2, 3, 7, 8, 9, 599, 64, 600):
        found = by_batch(loss(xs[:n], np.arange(n) % 2), model.parameters())
        expected = expected or found
        assert_close(found[0], expected[0][:n])
    assert len(codes) == 1
    assert_close(found[2], expected[2], scale=1)


def test_code_is_freed_with_its_function(codes):
    w = Value(2.0)

    def used():
        loss = micrograd.compile(lambda x: (w * x - 1) ** 2, executor="llvm")
        batch = loss([1.0, 2.0])
        batch.backward()
        fit(loss, np.array([1.0, 2.0]), None, Adam([w]), steps=3)
        return batch

    batch = used()
    assert codes
    assert batch.lanes.tolist() == [1.0, 9.0]
    del batch
    assert not any(code() for code in codes)


@pytest.mark.slow
def test_threads_compile_and_run_at_once():
    models = [mlp(3, 4, 1, seed=i) for i in range(6)]
    xs = rows(50, 3)

    def computed(model):
        loss = micrograd.compile(lambda x: model(x) ** 2, executor="llvm")
        return [loss(xs[:n]).data for n in (50, 1, 20) for _ in range(5)]

    with ThreadPoolExecutor(max_workers=6) as pool:
        found = list(pool.map(computed, models))
    for model, numbers in zip(models, found, strict=True):
        assert_close(numbers, computed(model))


def test_steps_with_a_computed_index_and_a_number_of_examples_that_fills_no_vector():
    table = [Value(x) for x in (0.0, 1.0, 2.0)]
    loss = micrograd.compile(lambda i: (take(table, i - 1) - 2) ** 2, executor="llvm")
    losses = fit(loss, np.array([1.0, 2.0, 3.0]), None, Adam(table), steps=4)
    assert losses[0] == pytest.approx(5 / 3)
    assert losses == sorted(losses, reverse=True)


@pytest.mark.slow
def test_a_loop_over_many_small_operations():
    w = Value(0.5)

    def loss(x):
        y = Value(x)
        for i in range(400):
            y = (y * w + x * (0.1 * i)).tanh() + (y * y + 1).log() / 3
        return y + sum((w * k).exp() for k in (0.1, 0.2, 0.3))

    compiled = micrograd.compile(loss, executor="llvm")
    for xs in ([0.25], [0.25, 1.0]):
        assert_agrees(loss, [w], xs, compiled=compiled, scale=1e3)


NARROW = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
from llvmlite import binding
features = binding.get_host_cpu_features()
hidden = [name for name in features if name.startswith("avx512") or {hides_avx2} and "avx" in name]
hidden += ["fma", "f16c", "vaes", "vpclmulqdq"] if {hides_avx2} else []
for name in hidden:
    features[name] = False
binding.get_host_cpu_features = lambda: features
binding.get_host_cpu_name = lambda: "x86-64"
import micrograd
from compiled import assert_agrees, mlp, rows
from micrograd.compiler.llvm_text import machine
for sizes, n in (((3, 9, 5, 2), 13), ((2, 17, 1), 1), ((2, 4, 1), 2)):
    model = mlp(*sizes, activation="tanh")
    f = lambda x: sum(y * y for y in (model(x) if sizes[-1] > 1 else [model(x)]))
    compiled = micrograd.compile(f, executor="llvm")
    assert_agrees(f, model.parameters(), rows(n, sizes[0]), compiled=compiled, scale=1)
print(machine().width)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="masks features of x86")
@pytest.mark.parametrize(("hides_avx2", "width"), [(False, "4"), (True, "2")])
def test_processors_with_narrower_vectors(hides_avx2, width):
    code = NARROW.format(tests=str(Path(__file__).parents[1]), hides_avx2=hides_avx2)
    assert python("-c", code).stdout == f"{width}\n"
