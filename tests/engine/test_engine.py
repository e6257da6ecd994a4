"""The engine: rules that hold for every operation are tested on the table in operations.py."""

import copy
import gc
import inspect
import math
import pickle
import sys
import tracemalloc
import weakref
from fractions import Fraction

import numpy as np
import pytest
from blocks import python
from hypothesis import given
from operations import CASES, EXACT_CASES
from random_graphs import POINT, SMOOTH, STEPS, build

from micrograd import take
from micrograd.engine import Value, no_grad, topological_order, where
from micrograd.nn import MLP


def run(function, point):
    """The data and the gradients of function(*point), computed by the engine."""
    leaves = [Value(x) for x in point]
    out = function(*leaves)
    out.backward()
    return out.data, [leaf.grad for leaf in leaves]


def slope(function, point, i, step=1e-5):
    """The central difference of a function of floats with respect to its i-th argument."""
    shifted = [list(point), list(point)]
    shifted[0][i] += step
    shifted[1][i] -= step
    return (function(*shifted[0]) - function(*shifted[1])) / (2 * step)


# ---- every operation, on every kind of number


def test_value_and_gradients_agree_with_python_and_central_differences():
    for row, point in CASES:
        data, gradients = run(row.function, point)
        assert data == pytest.approx(row.reference(*point), rel=1e-14), (row, point)
        slopes = [slope(row.reference, point, i) for i in range(len(point))]
        assert gradients == pytest.approx(slopes, rel=1e-7, abs=1e-7), (row, point)


def test_values_inside_values_give_the_same_and_the_second_derivative():
    for row, point in CASES:
        inner = [Value(x) for x in point]
        outer = [Value(x) for x in inner]
        out = row.function(*outer)
        out.backward()
        data, gradients = run(row.function, point)
        assert out.item() == data, (row, point)
        for i, leaf in enumerate(outer):
            for x in inner:
                x.grad = 0
            first = leaf.grad if isinstance(leaf.grad, Value) else Value(float(leaf.grad))
            assert first.item() == gradients[i], (row, point)
            first.backward()
            expected = [slope(lambda *at, i=i, row=row: run(row.function, at)[1][i], point, j)
                        for j in range(len(point))]  # fmt: skip
            found = [x.grad for x in inner]
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6), (row, point)


def test_fractions_stay_exact():
    for row, point in EXACT_CASES:
        data, gradients = run(row.function, point)
        assert isinstance(data, (Fraction, int)), (row, point)
        assert data == row.reference(*point), (row, point)
        floats = run(row.function, [float(x) for x in point])[1]
        for exact, rounded in zip(gradients, floats, strict=True):
            assert isinstance(exact, (Fraction, int)), (row, point)
            assert float(exact) == pytest.approx(rounded, rel=1e-12), (row, point)


# ---- conventions


@pytest.mark.parametrize(
    ("function", "point", "gradient"),
    [
        (lambda a: a ** Value(0.0), 0.0, 0),
        (lambda a: 0 ** (a + 2), 1.0, 0),
        (lambda a: a.maximum(2.0), 2.0, 0.5),
        (lambda a: a.minimum(2.0), 2.0, 0.5),
        (lambda a: a.maximum(a), 2.0, 1.0),
    ],
)
def test_conventions_at_kinks(function, point, gradient):
    assert run(function, [point])[1] == [gradient]


@pytest.mark.parametrize("x", [-math.inf, -1000.0, 1000.0, math.inf])
def test_tanh_and_sigmoid_of_large_numbers(x):
    assert run(Value.tanh, [x]) == (math.copysign(1.0, x), [0.0])
    assert run(Value.sigmoid, [x]) == (1.0 if x > 0 else 0.0, [0.0])


def test_nan_flows_through():
    nan = Value(math.nan)
    for name in ["relu", "exp", "log", "tanh", "sigmoid", "sqrt", "__abs__", "__neg__"]:
        assert math.isnan(getattr(nan, name)().data), name
    for name in ["__add__", "__sub__", "__mul__", "__truediv__", "__pow__", "maximum", "minimum"]:
        assert math.isnan(getattr(nan, name)(1.0).data), name
        assert name == "__pow__" or math.isnan(getattr(Value(1.0), name)(nan).data), name


def test_infinities_flow_through():
    assert Value(-math.inf).relu().data == 0.0
    assert Value(math.inf).maximum(math.inf).data == math.inf
    assert Value(-math.inf).minimum(5.0).data == -math.inf
    assert Value(1e308).maximum(1e308).data == 1e308
    assert (Value(1e308) * 10).data == math.inf


def test_quotient_of_tiny_numbers_has_its_derivative():
    assert run(lambda a, b: a / b, [1e-200, 1e-200])[1] == [1e200, -1e200]


# ---- the graph


def test_the_graph_is_what_was_typed():
    a, b = Value(2.0), Value(3.0)
    for result, op, operands in (
        (a - b, "-", (a, b)), (a / b, "/", (a, b)), (-a, "neg", (a,)), (a * a, "*", (a, a)),
        (a**2, "**2", (a,)), (a**b, "**", (a, b)), (a.relu(), "ReLU", (a,)),
    ):  # fmt: skip
        assert (result._op, result._prev) == (op, operands)
    assert [v.data for v in (2**a)._prev] == [2, 2.0]
    assert [v.data for v in (5 - a)._prev] == [5, 2.0]
    assert +a is a


def test_sum_adds_no_zero_to_the_graph():
    values = [Value(float(i)) for i in range(3)]
    assert len(topological_order(sum(values))) == 5
    assert sum([values[0]]) is values[0]
    start = Value(10.0)
    assert sum(values, start)._prev[0]._prev[0]._prev == (start, values[0])
    assert len(topological_order(0.0 + values[0])) == 3


def test_a_number_beside_a_value_is_a_constant_and_results_are_plain():
    class Mine(Value):
        pass

    out = 2 * Mine(3.0)
    assert type(out._prev[0]) is Value
    assert out._prev[0].is_constant
    assert not out._prev[1].is_constant
    assert type(out._prev[1]) is Mine
    assert type(out) is Value
    assert out._prev[0]._op == ""
    assert repr(out._prev[0]) == "Value(data=2.0, grad=0)"


def test_topological_order_lists_operands_first_and_each_node_once():
    a, b = Value(1.0), Value(2.0)
    c = a + b
    d = c * a
    e = d - c
    assert topological_order(e) == [a, b, c, d, e]
    assert topological_order(c, e) == [a, b, c, d, e]
    assert topological_order() == []


def test_a_cycle_is_an_error():
    a = Value(1.0)
    b = a + 1
    c = b * 2
    a._prev = (c,)
    with pytest.raises(ValueError, match="the graph has a cycle: Value"):
        c.backward()
    a._prev = (a,)
    with pytest.raises(ValueError, match="leads to itself"):
        a.backward()


# ---- backward


def test_second_backward_gives_exactly_twice_at_the_leaves_and_once_inside():
    a, b = Value(0.1), Value(0.7)
    inside = a * b
    out = (inside + a).tanh() * inside
    out.backward()
    once = (a.grad, b.grad, inside.grad, out.grad)
    out.backward()
    assert (a.grad, b.grad, inside.grad, out.grad) == (2 * once[0], 2 * once[1], *once[2:])


def test_backward_of_a_leaf_and_with_a_gradient():
    a = Value(3.0)
    a.backward()
    a.backward()
    assert a.grad == 2
    b = Value(2.0)
    (b * b).backward(10.0)
    assert b.grad == 40.0


def test_derivatives_that_do_not_exist_are_found_in_the_backward_pass():
    x = Value(0.0, label="x0")
    for function in (Value.sqrt, lambda a: a**0.5):
        with pytest.raises(ZeroDivisionError, match=r"in the backward pass of .*'x0'.*keep|use"):
            function(x).backward()
    with pytest.raises(ValueError, match=r"in the backward pass of x \*\* y with x = -2.0"):
        (Value(-2.0) ** Value(2.0)).backward()

    y = Value(1.0)
    out = Value(1.0, (y,), "mine")

    def _backward():
        raise ZeroDivisionError("no such slope")

    out._backward = _backward
    with pytest.raises(
        ZeroDivisionError, match=r"backward pass of mine\(x\) with x = 1.0: no such"
    ):
        (out * 2).backward()


# ---- memory, depth, threads


@pytest.fixture
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_the_graph_is_freed_with_the_last_reference_to_the_loss(without_collector):
    x = Value(0.5, label="x")
    y = x.exp().log() + x.tanh() * x.sigmoid() / (x**2 + 1) - abs(x).sqrt().sin().cos().relu()
    z = ((abs(y) + 1) ** x).maximum(x).minimum(2 * x) - (-y)
    z.backward()
    inside = [weakref.ref(node) for node in topological_order(z) if node._prev]
    assert len(inside) > 15
    assert all(ref() is not None for ref in inside)
    del y, z
    assert [ref() for ref in inside if ref() is not None] == []
    assert gc.collect() == 0


def test_a_node_takes_about_200_bytes():
    model, X = MLP(2, [8, 8, 1]), [[0.1 * i, 1.0] for i in range(15)]
    sum(model(x) for x in X).backward()  # the caches of the interpreter are filled
    gc.collect()
    tracemalloc.start()
    try:
        loss = sum(model(x) for x in X)
        loss.backward()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken < 260 * len(topological_order(loss))  # with room for other interpreters


def chain(length):
    x = Value(1.0)
    y = x
    for _ in range(length // 2):
        y = (y + x) * 0.5
    y.backward()
    return x.grad


# CPython 3.13 frees nested objects recursively, deeper than 512 kB of stack allow.
SMALL_STACK = 256 * 1024 if sys.version_info < (3, 13) else 1024 * 1024


@pytest.mark.slow
def test_a_million_operations_deep_in_a_thread_with_a_small_stack():
    code = f"""
import threading
from micrograd.engine import Value
{inspect.getsource(chain)}
threading.stack_size({SMALL_STACK})
thread = threading.Thread(target=lambda: print(chain(1_000_000)))
thread.start()
thread.join()
"""
    # in a separate process, because a stack overflow would kill this one
    assert python("-c", code).stdout == "1.0\n"


# ---- data that a Value accepts


@pytest.mark.parametrize(
    "data",
    [3, True, 3.0, np.float64(3), np.float32(3), np.int8(3), np.bool_(True), np.array(3),
     np.longdouble(3), np.float16(3)],
)  # fmt: skip
def test_plain_numbers_become_floats(data):
    value = Value(data)
    assert type(value.data) is float
    assert value.data == float(data)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("3", "got str '3': use float"),
        (None, "got NoneType None"),
        (1j, "got complex 1j"),
        (np.complex128(1j), "got complex128"),
        ([1, 2], r"got list \[1, 2\].*values\(...\) for an array"),
        (np.ones(3), "got ndarray array"),
        (np.array(1j), "got ndarray"),
        (np.ma.masked, "got MaskedConstant masked"),
    ],
)
def test_other_data_is_refused(data, shown):
    with pytest.raises(TypeError, match=f"expected a number as the data of a Value, {shown}"):
        Value(data)


@pytest.mark.parametrize("other", ["3", None, 1j, [1.0]])
def test_operators_refuse_anything_but_numbers(other):
    for operation in (lambda a: a + other, lambda a: other - a, lambda a: a * other,
                      lambda a: a / other, lambda a: a**other, lambda a: a < other):  # fmt: skip
        with pytest.raises(TypeError):
            operation(Value(2.0))
    with pytest.raises(TypeError, match="maximum expects a Value or a number"):
        Value(2.0).maximum(other)


@pytest.mark.parametrize("number", [np.float64(3), np.float32(3), np.int64(3), np.array(3.0)])
def test_numpy_numbers_on_either_side(number):
    a = Value(2.0)
    for out, data in (
        (a + number, 5), (number + a, 5), (a - number, -1), (number - a, 1), (a * number, 6),
        (number * a, 6), (a / number, 2 / 3), (number / a, 1.5), (a**number, 8), (number**a, 9),
    ):  # fmt: skip
        assert type(out) is Value
        assert type(out.data) is float
        assert out.data == data


def test_exact_fractions_need_exact_operations():
    third = Value(Fraction(1, 3))
    assert (2 * third + 1) ** 2 / 5 > 0
    for operation in (Value.exp, Value.log, Value.tanh, Value.sqrt, Value.sigmoid, Value.sin):
        with pytest.raises(
            TypeError, match=r"not defined for Fraction\(1, 3\).*convert it with float"
        ):
            operation(third)
    for power in (lambda: third**0.5, lambda: 2**third):
        with pytest.raises(TypeError, match="is not exact: use an int as the exponent"):
            power()
    assert (Fraction(1, 2) ** Value(Fraction(-2))).data == 4
    with pytest.raises(ZeroDivisionError, match=r"x / y with x = Fraction\(1, 3\) and y = Fr"):
        third / 0


# ---- invalid attributes are refused when they are used

USES = [
    *(lambda a: a * 2, lambda a: 2 * a, lambda a: Value(2.0) * a, lambda a: a**2, lambda a: 2**a),
    *(lambda a: -a, Value.exp, Value.relu, lambda a: a.maximum(2.0), Value.backward, Value.item),
]


@pytest.mark.parametrize("data", ["3", None, [1.0], (1.0,), b"3", 1j, np.ones(2)], ids=repr)
def test_data_that_is_not_a_number(data):
    a = Value(1.0, label="a")
    a.data = data
    message = f"expected a number as the data of 'a', got {type(data).__name__} .*float()"
    for use in USES:
        with pytest.raises(TypeError, match=message):
            use(a)


@pytest.mark.parametrize(
    "update",
    [
        lambda p: p - 0.05 * p.grad,
        lambda p: p - 0.05 * (p * 2 + p.grad) / ((p * p) ** 0.5 + 1e-8),
    ],
)
def test_data_that_is_computed_from_the_value_itself(update):
    p = Value(1.0, label="p")
    p.data = update(p)
    for use in USES:
        message = r"data of 'p' is a Value that .* use .data on the ri"
        with pytest.raises(TypeError, match=message) as caught:
            use(p)
        assert len(caught.traceback) < 10


@pytest.mark.parametrize("grad", [None, "0", [], np.zeros(2)], ids=repr)
def test_a_grad_that_is_not_a_number(grad):
    p = Value(2.0, label="p")
    loss = p * 3.0
    p.grad = grad
    with pytest.raises(TypeError, match=r"expected a number as the grad of 'p', got .*reset it"):
        loss.backward()


@pytest.mark.parametrize("gradient", [np.ones(2), "1", None, [1.0], 1j], ids=repr)
def test_an_upstream_gradient_that_is_not_a_number(gradient):
    x = Value(2.0)
    with pytest.raises(TypeError, match="backward expects one number as gradient, got"):
        (x * x).backward(gradient)
    assert x.grad == 0


def test_backward_of_a_result_computed_under_no_grad():
    x = Value(3.0)
    with no_grad():
        y, power = x * 2.0, x**2
        inside = x * 1.0 + 1.0
    for result in (y, power, inside, copy.copy(y)):
        with pytest.raises(RuntimeError, match=r"computed inside no_grad\(\): compute it outside"):
            result.backward()
    (y * x).backward()  # as an operand it is a constant
    assert (x.grad, y.grad) == (6.0, 3.0)
    y.detach().backward()
    with no_grad():
        x.backward()


def test_operands_that_are_not_values():
    with pytest.raises(
        TypeError, match=r"expects Values as its operands, got 'x1': use label='x1'"
    ):
        Value(2.0, "x1")
    with pytest.raises(TypeError, match=r"expects Values as its operands, got \[1\.0\]: use Value"):
        Value(2.0, [1.0])
    a, b = Value(1.0), Value(2.0)
    assert Value(2.0, {a})._prev == Value(2.0, iter([a]))._prev == (a,)
    assert Value(2.0, np.array([a, b]))._prev == (a, b)


# ---- errors of arithmetic


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        (lambda x: 3 / x(0.0), ZeroDivisionError,
         "x / y with x = 3.0 and y = 0.0 ('it'): the quotient is not defined; keep y away from 0, "
         "for example y + 1e-8"),
        (lambda x: x(0.0).log(), ValueError,
         "log(x) with x = 0.0 ('it'): the logarithm needs x > 0; use, for example, x.maximum"),
        (lambda x: x(-1.0).log(), ValueError,
         "log(x) with x = -1.0 ('it'): the logarithm needs x > 0"),
        (lambda x: x(-8.0) ** (1 / 3), ValueError,
         "x ** 0.3333333333333333 with x = -8.0 ('it'): a fractional exponent"),
        (lambda x: x(0.0) ** -1, ZeroDivisionError,
         "x ** -1 with x = 0.0 ('it'): 0 cannot have a negative exponent; keep the base"),
        (lambda x: ((-8) ** x(2.0)).backward(), ValueError,
         "in the backward pass of x ** y with x = -8.0 and y = 2.0 ('it'): a fractional exponent"),
        (lambda x: x(0.0) ** Value(-1), ZeroDivisionError,
         "x ** y with x = 0.0 ('it') and y = -1.0: 0 cannot have a negative exponent"),
        (lambda x: x(10.0) ** 400, OverflowError,
         "x ** 400 with x = 10.0 ('it'): the power exceeds the largest float, 1.8e308; in"),
        (lambda x: x(-4.0).sqrt(), ValueError,
         "sqrt(x) with x = -4.0 ('it'): the root needs x >= 0, and its derivative x > 0; use (x"),
        (lambda x: x(1000.0).exp(), OverflowError,
         "exp(x) with x = 1000.0 ('it'): the result exceeds the largest float, 1.8e308; keep x"),
        (lambda x: x(math.inf).sin(), ValueError,
         "sin(x) with x = inf ('it'): not defined at infinity; find the earlier operation"),
        (lambda x: x(-math.inf).cos(), ValueError,
         "cos(x) with x = -inf ('it'): not defined at infinity"),
    ],
)  # fmt: skip
def test_errors_name_the_operation_its_operands_and_the_fix(operation, error, message):
    with pytest.raises(error) as caught:
        operation(lambda data: Value(data, label="it"))
    assert str(caught.value).startswith(message)
    assert type(caught.value) is error


# ---- a Value as a Python object


def test_comparisons_compare_data_and_equality_compares_identity():
    a, b = Value(1.0), Value(2.0)
    assert a < b
    assert b > 1
    assert a <= 1.0
    assert b <= 2
    assert max([a, b]) is b
    assert sorted([b, a]) == [a, b]
    assert Value(1.0) != a
    assert len({a, Value(1.0)}) == 2


def test_a_value_is_true_even_with_data_0():
    for data in (0.0, 1.0, math.nan, Fraction(0), Value(0.0)):
        assert Value(data)
    node = None
    for leaf in (Value(0.0), None):
        if not node:  # as in programs for the original package
            node = leaf
    assert node.data == 0.0


def test_conversions():
    v = Value(2.5, label="v")
    assert (v.item(), Value(Value(2.5)).item(), Value(Fraction(5, 2)).item()) == (2.5, 2.5, 2.5)
    assert f"{v:.4f} {v}" == "2.5000 Value(data=2.5, grad=0)"
    assert f"{Value(Fraction(1, 4)):.2f}" == "0.25"
    assert repr(Value(3)) == "Value(data=3.0, grad=0)"
    for convert in (float, int, math.exp):
        with pytest.raises(TypeError, match=r"\.item\(\).*\.exp\(\)"):
            convert(v)
    w = (v * v).detach()
    assert (w.data, w._prev, w is v) == (6.25, (), False)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_leaves_can_be_copied(duplicate):
    leaf = Value(1.5, label="w")
    leaf.grad, leaf.m = 2.0, 0.1
    twin = duplicate(leaf)
    assert twin is not leaf
    assert (twin.data, twin.grad, twin.label, twin.m) == (1.5, 2.0, "w", 0.1)
    (twin * 2).backward()
    assert (twin.grad, leaf.grad) == (4.0, 2.0)
    with pytest.raises(TypeError, match=r"result of '\*' is part of its graph.*detach"):
        duplicate(leaf * 2)


def test_where_and_take():
    a, b = Value(1.0), Value(2.0)
    assert where(a < b, a, b) is a
    assert where(a > b, a, b) is b
    assert where(np.bool_(True), a, b) is a
    assert take([a, b], np.int64(1)) is b
    for index in (2, -1):
        with pytest.raises(IndexError, match=f"0 <= index < 2, got {index}"):
            take([a, b], index)
    with pytest.raises(TypeError, match=r"expects an int as its index, got 1\.0"):
        take([a, b], 1.0)


# ---- random graphs


@given(STEPS, POINT)
def test_random_graphs_against_central_differences(steps, point):
    _, gradients = run(lambda *leaves: build(leaves, steps, SMOOTH), point)
    for i, gradient in enumerate(gradients):
        found = slope(lambda *at: build([Value(x) for x in at], steps, SMOOTH).data, point, i)
        assert gradient == pytest.approx(found, rel=1e-4, abs=1e-4)


def test_leaves_and_what_requires_a_gradient():
    x = Value(2.0)
    y = x * 3.0
    constant = y._prev[1]
    with no_grad():
        unrecorded = x * 3.0
    assert [v.is_leaf for v in (x, y, constant, unrecorded)] == [True, False, True, True]
    assert [v.requires_grad for v in (x, y, constant, unrecorded)] == [True, True, False, False]
    with pytest.raises(AttributeError):
        x.is_leaf = True
    for result in (y, unrecorded):
        with pytest.raises(RuntimeError, match="set it on a leaf"):
            result.requires_grad = False


def test_a_node_without_its_operands_is_a_leaf():
    a = Value(3.0)
    b = a * a
    b._prev = ()  # cuts the graph, as in truncated backpropagation through time
    c = b * 2.0
    c.backward()
    assert (a.grad, b.grad, c.grad) == (0, 2.0, 1)
    b._backward()
    assert a.grad == 0


def test_backward_of_a_node_is_a_function_that_shows_its_operation_and_can_be_replaced():
    a, b = Value(2.0), Value(3.0)
    out = a * b
    out.grad = 10.0
    out._backward()
    assert (a.grad, b.grad) == (30.0, 20.0)
    assert "Value.__mul__" in repr(out._backward)
    assert "b.grad += a.data * upstream" in inspect.getsource(out._backward)

    def mine():
        a.grad += 100.0

    out._backward = mine
    assert out._backward is mine
    out.backward()
    assert (a.grad, b.grad) == (130.0, 20.0)
    a._backward()  # that of a leaf does nothing


def test_in_no_grad_a_subtraction_in_place_changes_a_leaf_and_nothing_else():
    p, q = Value(1.0, label="p"), Value(2.0)
    p.grad = q.grad = 1.0
    parameters = [p, q]
    with no_grad():
        for r in parameters:
            r -= 0.25 * r.grad
    assert (p.data, q.data, p.label) == (0.75, 1.75, "p")

    def neuron():
        act = p
        for x in (1.0, 2.0):
            act += q * x
        return act

    with no_grad():
        assert neuron().data == neuron().data == 6.0
        constant = 2.0 - q
        kept = constant
        constant -= 1.0  # a result, not a leaf that requires a gradient
    assert kept.data == 0.25
    assert p.data == 0.75
    before = p
    p -= 0.5  # outside: a new node, as for any number
    assert before.data == 0.75
    assert p._prev[0] is before


def test_zero_grad_resets_the_whole_graph():
    a, b = Value(2.0), Value(3.0)
    loss = (a * b + 1.0) * a
    for _ in range(2):
        loss.zero_grad()
        loss.backward()
    assert (a.grad, b.grad) == (13.0, 4.0)
    assert [v.grad for v in topological_order(loss) if v.is_constant] == [2.0]
