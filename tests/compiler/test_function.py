"""`compile` as users see it: arguments, recording, executors and errors."""

import copy
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from compiled import (
    ALL_EXECUTORS,
    assert_agrees,
    assert_close,
    by_batch,
    by_engine,
    mlp,
    on_executors,
    rows,
)

import micrograd
from micrograd import Value, no_grad
from micrograd.compiler.function import compile
from micrograd.losses import hinge
from micrograd.nn import Module

pytestmark = pytest.mark.usefixtures("executor")


# ---- arguments


def test_a_read_only_array_may_have_changed():
    w = Value(2.0)
    compiled = micrograd.compile(lambda x: w * x)
    x = np.array([1.0, 2.0])
    view = x[:]
    x.flags.writeable = False
    assert compiled(x).lanes.tolist() == [2.0, 4.0]
    view[0] = 5.0
    assert compiled(x).lanes.tolist() == [10.0, 4.0]
    del x, view
    assert compiled(np.full(2, 3.0)).lanes.tolist() == [6.0, 6.0]


@ALL_EXECUTORS
def test_scalars_keywords_defaults_and_uniform_arguments():
    w = Value(2.0)

    def function(x, y, scale=1.0):
        return (w * x - y) * scale

    compiled = micrograd.compile(function)
    xs, ys = [1.0, 2.0, 3.0], [0.5, 0.0, -1.0]
    expected = by_engine(function, [w], xs, ys, 0.5)
    for batch in (
        compiled(xs, ys, 0.5),
        compiled(xs, ys, scale=0.5),
        compiled(y=ys, scale=0.5, x=xs),
        compiled(np.array(xs), tuple(ys), np.float32(0.5)),
    ):
        for found, right in zip(by_batch(batch, [w]), expected, strict=True):
            assert_close(found, right)
    assert_close(compiled(3.0, 1).lanes, [5.0])
    assert compiled(3.0, 1).n == 1
    assert compiled(3.0, True).data == 5.0
    assert compiled(xs, 1.0).n == 3


def test_a_keyword_only_argument_is_refused():
    def function(x, *, scale):
        return Value(x) * scale

    with pytest.raises(TypeError, match="takes scale by keyword alone"):
        micrograd.compile(function)([1.0, 2.0], scale=5.0)


ARRAYS = [
    np.array([[1, 2], [3, 4], [5, 6]]),
    np.array([[True, False], [False, False], [True, True]]),
    np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], np.float32),
    np.asfortranarray([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    np.arange(12.0).reshape(3, 4)[:, ::2],
    np.arange(6.0).reshape(3, 2)[::-1],
    np.array([[1, 2], [3, 4]], np.uint8),
    [[1, 2.5], (3, 4)],
    [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
]


@on_executors("array", ARRAYS, on_jax=ARRAYS[:3])
def test_arrays_of_all_kinds(array):
    w, b = Value(2.0), Value(-1.0)
    assert_agrees(lambda x: (w * x[0] - b * x[1]).tanh(), [w, b], array, scale=1)


@ALL_EXECUTORS
def test_a_function_of_no_arguments_and_an_example_of_no_numbers():
    w = Value(2.0)
    batch = micrograd.compile(lambda: w * w)()
    batch.backward()
    assert (batch.data, w.grad) == (4.0, 4.0)
    assert micrograd.compile(lambda x: w * len(x))(np.zeros((3, 0))).data == 0.0


# ---- when it is recorded again


def test_a_new_shape_is_recorded_but_a_new_number_of_examples_is_not():
    w, calls = Value(2.0), []

    def function(x):
        calls.append(len(x))
        return sum(w * xi for xi in x)

    compiled = micrograd.compile(function)
    for n in (3, 1, 7, 50, 3, 2, 1, 9, 20):
        assert_close(compiled(np.ones((n, 2))).lanes, [4.0] * n)
    assert set(calls) == {2}
    count = len(calls)
    compiled(np.ones((3, 4))).backward()
    assert set(calls[count:]) == {4}
    assert list(compiled.programs) == [((2,),), ((4,),)]
    count = len(calls)
    compiled(np.ones((5, 2))).backward()
    compiled(np.ones((5, 4))).backward()
    assert len(calls) == count
    compiled.clear()
    assert compiled.programs == {}
    compiled(np.ones((5, 2)))
    assert len(calls) > count


def test_many_shapes_are_said_once():
    w = Value(2.0)
    compiled = micrograd.compile(lambda x: sum(w * xi for xi in x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for d in range(1, 30):
            assert compiled(np.ones((2, d))).data == 2.0 * d
    [warning] = caught
    assert re.search("compiled 20 times within a minute.*pad examples", str(warning.message))
    assert len(compiled.programs) == 29


def test_no_grad_around_a_call():
    w = Value(2.0)
    compiled = micrograd.compile(lambda x: w * x)
    with no_grad():
        batch = compiled([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"computed inside no_grad\(\)"):
        batch.backward()
    compiled([1.0, 2.0]).backward()
    assert (batch.data, w.grad) == (3.0, 1.5)


def test_no_grad_or_data_in_the_function():
    w = Value(2.0)
    paused = no_grad()(lambda x: w * x), no_grad()(lambda x: [w * x])
    for without_graph in (*paused, lambda x: w.data * x):
        batch = micrograd.compile(without_graph)([1.0, 2.0])
        with pytest.raises(RuntimeError, match=r"computed inside no_grad\(\)"):
            (batch[0] if isinstance(batch.data, list) else batch).backward()
    batch = micrograd.compile(lambda x: [no_grad()(lambda: w * x)(), w * x])([1.0, 2.0])
    batch[1].backward()
    assert w.grad == 1.5
    with pytest.raises(RuntimeError, match=r"computed inside no_grad\(\)"):
        batch[0].backward()


def test_called_with_values_it_is_the_function_itself():
    model = mlp(2, 3, 1)
    compiled = micrograd.compile(lambda x, y: hinge(model(x), y))
    x = [Value(0.5), Value(-0.5)]
    for arguments in ((x, 1), (x, Value(1.0)), (np.array(x), 1)):
        out = compiled(*arguments)
        assert isinstance(out, Value)
        assert out.data == hinge(model(x), 1).data
    assert compiled.programs == {}
    compiled([[0.5, -0.5]], [1.0]).backward()
    assert compiled(x, 1).data == hinge(model(x), 1).data


def test_a_compiled_function_inside_another_one():
    model = mlp(2, 3, 1)
    compiled = micrograd.compile(model)
    compiled(rows(2, 2))
    outer = micrograd.compile(lambda x, y: (compiled(x) - y) ** 2)
    arguments = rows(3, 2), [1, 2, 3]
    assert_agrees(lambda x, y: (model(x) - y) ** 2, model.parameters(), *arguments, compiled=outer)


def test_the_executor_is_chosen_or_given():
    w = Value(2.0)
    default = compile(lambda x: w * x)
    assert default.executor in ("llvm", "numpy")

    @compile(executor="numpy")
    def loss(x):
        return w * x

    assert (loss.executor, loss([1.0, 2.0]).data) == ("numpy", 3.0)
    with pytest.raises(ValueError, match=r"executor 'fortran' is not one of .*numpy"):
        compile(lambda x: x, executor="fortran")


def test_methods_are_compiled_for_each_object_and_for_each_class():
    class Base(Module):
        def __init__(self, w):
            self.w = Value(w)

        @micrograd.compile
        def loss(self, x):
            return self.w * x

    class Derived(Base):
        @micrograd.compile
        def loss(self, x):
            return super().loss(x) * 2

    two, three = Derived(2.0), Base(3.0)
    for _ in range(2):
        assert two.loss([1.0, 2.0]).lanes.tolist() == [4.0, 8.0]
        assert three.loss([1.0, 2.0]).lanes.tolist() == [3.0, 6.0]
    assert vars(two).keys() == {"w"}
    other = copy.copy(two)
    other.w = Value(10.0)
    assert other.loss([1.0]).data == 20.0

    class Slotted:
        __slots__ = ("w",)  # and no weak references
        loss = Base.loss

    slotted = Slotted()
    slotted.w = Value(3.0)
    assert slotted.loss([1.0, 2.0]).lanes.tolist() == [3.0, 6.0]


# ---- errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.0, 2.0], [1.0]],), ValueError, "argument 0 has examples of different lengths.*once"),
        (([1.0], [[[1.0]], [1.0]]), ValueError, "argument 1 has examples of different lengths"),
        (([1.0, 2.0], [1.0]), ValueError, "a row for each example, got 2 and 1 rows"),
        (([],), ValueError, "a row for each example.*got 0 rows"),
        ((np.zeros((0, 3)),), ValueError, "a row for each example.*got 0 rows"),
        (([1.0], ["a"]), TypeError, "argument 1: expected an array of real numbers, got <U1"),
        (([1j],), TypeError, "real numbers, got complex128"),
        (({"a": 1.0},), TypeError, "real numbers, got object {'a': 1.0}"),
        (([1.0, None],), TypeError, "real numbers, got object"),
        (([Fraction(1, 3)],), TypeError, "real numbers, got object"),
        ((np.array(["2026-01-01"], "datetime64[D]"),), TypeError, "real numbers, got datetime64"),
    ],
)
def test_arguments_that_are_not_a_batch(arguments, error, message):
    with pytest.raises(error, match=message):
        micrograd.compile(lambda *xs: Value(1.0))(*arguments)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "a compiled function must return a Value, or a list, .*, got NoneType"),
        ("text", "got str"),
        ([], r"got list"),
        ((), r"got tuple"),
        ({"a": "text"}, "got str"),
        (1j, "got complex"),
    ],
)
def test_results_that_are_not_allowed(returned, message):
    with pytest.raises(TypeError, match=message):
        micrograd.compile(lambda x: returned)([1.0])


@pytest.mark.parametrize("thing", [3, "text", Value(1.0)])
def test_compiling_something_that_is_not_a_function(thing):
    with pytest.raises(TypeError, match=f"compile expects a function, got {type(thing).__name__}"):
        micrograd.compile(thing)
