"""Reverse, forward and numeric derivatives agree, and computing them changes no gradient."""

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from operations import CASES
from random_graphs import POINT, SMOOTH, STEPS, build

import micrograd
from micrograd import take
from micrograd.arrays import values
from micrograd.derivatives import (
    GradientError,
    check_gradients,
    derivative,
    gradient,
    hessian,
    jacobian,
    jvp,
    local_derivatives,
    vjp,
)
from micrograd.engine import Value, no_grad, topological_order, where
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy
from micrograd.nn import MLP, Neuron
from micrograd.optim import Adam


def article():
    """f(x, y) = 3x^2 + xy + 5y^2 at (2, 3), in the steps of an article on both modes."""
    x, y = Value(2.0, label="x"), Value(3.0, label="y")
    a, b, c = x**2, x * y, y**2
    d, e = 3 * a, 5 * c
    return x, y, d + b + e


# ---- local derivatives


def test_local_derivatives_add_up_to_the_gradients():
    for row, point in CASES:
        leaves = [Value(x) for x in point]
        out = row.function(*leaves)
        out.backward()
        found = local_derivatives(out)
        assert len(found) == len(out._prev), (row, point)
        for leaf in leaves:
            total = sum(d for d, v in zip(found, out._prev, strict=True) if v is leaf)
            assert total == leaf.grad, (row, point)


def own(operands, function, backward):
    """An operation defined as in the lecture."""
    out = Value(function(*[v.data for v in operands]), operands, "own")

    def _backward():
        backward(out.grad, *operands)

    out._backward = _backward
    return out


def test_local_derivatives_of_a_user_defined_operation():
    def both_at_once(upstream, a, b):
        a.grad = upstream * (a.data + b.data) + a.grad

    def crossed(upstream, a, b):
        b.grad -= 7.0 * upstream
        a.grad = a.grad + 2.0 * upstream
        a.grad += 3.0 * upstream

    def overwriting(upstream, a, b):
        a.grad = 5.0 * upstream

    x, y = Value(3.0), Value(4.0)
    assert local_derivatives(own((x, x), lambda a, b: a * b, both_at_once)) == (6.0, 0)
    assert local_derivatives(own((x, y), lambda a, b: a * b, crossed)) == (5.0, -7.0)
    assert local_derivatives(own((x, y), lambda a, b: a * b, overwriting)) == (5.0, 0)


def test_no_gradient_changes_even_after_an_error():
    x, y, f = article()
    f.backward()
    before = [v.grad for v in topological_order(f)]
    for ask in (
        lambda: [local_derivatives(v) for v in topological_order(f)],
        lambda: jvp(f, {x: 1.0}),
        lambda: vjp(f),
        lambda: jacobian(f, [x, y]),
    ):
        ask()
        assert [v.grad for v in topological_order(f)] == before

    zero = Value(0.0, label="z")
    zero.grad = 5.0
    root = zero.sqrt()
    root.grad = 7.0
    with pytest.raises(ZeroDivisionError, match=r"in the derivatives of sqrt\(x\) .* \('z'\)"):
        local_derivatives(root)
    assert (zero.grad, root.grad) == (5.0, 7.0)


# ---- both modes


def test_forward_against_reverse_mode():
    x, y, f = article()
    assert f.data == 63.0
    assert (jvp(f, {x: 1.0}), jvp(f, {y: 1.0})) == (15.0, 32.0)
    assert jvp(f, {x: 1.0, y: -2.0}) == 15.0 - 64.0
    assert vjp(f) == {x: 15.0, y: 32.0}
    assert jacobian(f, [x, y]) == [[15.0, 32.0]]


@given(STEPS, POINT)
def test_both_modes_agree_on_random_graphs(steps, point):
    leaves = [Value(x) for x in point]
    out = build(leaves, steps, SMOOTH)
    inner = [v for v in topological_order(out) if v._prev][:2]
    reverse = jacobian([out, *inner], [*leaves, *inner])
    forward = [jvp([out, *inner], {v: 1.0}) for v in [*leaves, *inner]]
    for column, other in zip(zip(*reverse, strict=True), forward, strict=True):
        assert column == pytest.approx(other, rel=1e-9, abs=1e-9)
    out.backward()
    by_vjp = vjp(out)
    for leaf, entry in zip(leaves, reverse[0][:3], strict=True):
        assert entry == pytest.approx(leaf.grad, rel=1e-12, abs=1e-12)
        assert by_vjp.get(leaf, 0) == pytest.approx(leaf.grad, rel=1e-12, abs=1e-12)


def test_products_for_several_outputs_at_once():
    x, y = Value(2.0), Value(3.0)
    outputs = [x * y, x - y, x * y * y]
    upstream = [1.0, 10.0, 100.0]
    by_vjp = vjp(outputs, upstream)
    matrix = jacobian(outputs, [x, y])
    assert by_vjp == {
        leaf: sum(u * row[j] for u, row in zip(upstream, matrix, strict=True))
        for j, leaf in enumerate((x, y))
    }
    assert vjp([x, x], [1.0, 2.0]) == {x: 3.0}
    outputs[2].backward(100.0)
    assert (x.grad, y.grad) == (900.0, 1200.0)
    assert jvp(outputs, {x: 1.0}) == [3.0, 1.0, 9.0]
    assert jvp(x * 2, {y: 1.0}) == 0
    product = x * y  # with a tangent of its own, it does not depend on x
    assert jvp(product + x, {product: 10.0, x: 1.0}) == 11.0


def test_invalid_arguments():
    x, y = Value(2.0), Value(3.0)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        vjp([x, y], [1.0])
    with pytest.raises(TypeError, match="nodes of the graph as inputs"):
        jacobian(x * y, [2.0, 3.0])


# ---- derivatives of functions


def swirl(x, y):
    return [x * y, x - y, (x * y * y).sin(), 5.0]


def test_jacobian_and_jvp_of_a_function_are_those_of_its_graph():
    x, y = Value(2.0), Value(3.0)
    expected = jacobian(swirl(x, y)[:3], [x, y])
    found = jacobian(swirl, [2.0, 3.0])
    assert found == [*(pytest.approx(row) for row in expected), [0.0, 0.0]]
    rates = jvp(swirl(x, y)[:3], {x: 1.0, y: -2.0})
    assert jvp(swirl, [2.0, 3.0], [1.0, -2.0]) == [*rates, 0.0]
    assert jvp(swirl, xs=(2.0, 3.0), tangents=(1.0, -2.0)) == [*rates, 0.0]
    assert jvp(lambda x, y: np.array(swirl(x, y)[:3]), np.array([2.0, 3.0]), [1, -2]) == rates


def test_invalid_calls_with_a_function():
    for ask in (jacobian, lambda f, xs: jvp(f, xs, [1.0])):
        with pytest.raises(TypeError, match="f to return a Value or a number, got NoneType"):
            ask(lambda x: None, [2.0])
        with pytest.raises(ValueError, match="outside the no_grad"):
            ask(no_grad()(lambda x: x * x), [2.0])
    with pytest.raises(ValueError, match="longer"):
        jvp(lambda x, y: x * y, [2.0, 3.0], [1.0] * 3)


def test_derivatives_of_functions():
    assert [derivative(Value.tanh, 0.0, k) for k in range(1, 7)] == [1, 0, -2, 0, 16, 0]
    assert derivative(Value.exp, 0.0, 9) == 1.0
    assert derivative(Value.sin, 0.0, 5) == 1.0
    assert derivative(lambda x: x**4, 2.0, 4) == 24.0
    assert derivative(lambda x: x**4, 2.0, 5) == 0.0
    assert derivative(lambda x: x * x.relu(), 0.0, 2) == 0.0
    assert derivative(lambda x: 3.0, 1.0) == 0.0
    assert derivative(lambda x: x + 1, 1.0) == 1.0
    assert type(derivative(lambda x: x + 1, 1.0)) is float
    assert derivative(lambda x: x + 1, 1.0, 2) == 0.0
    with pytest.raises(ValueError, match="order >= 1, got 0"):
        derivative(Value.exp, 0.0, 0)


def test_exact_derivatives_of_fractions():
    third = Fraction(1, 3)
    assert derivative(lambda x: x**3 / (1 + x), third) == Fraction(11, 48)
    assert derivative(lambda x: x**3 / (1 + x), third, 2) == Fraction(37, 32)
    assert gradient(lambda x, y: x.maximum(y) * 3, [third, third]) == [Fraction(3, 2)] * 2
    assert derivative(lambda x: x * x / 3, third, 2) == Fraction(2, 3)
    assert type(derivative(lambda x: x * x / 3, third, 2)) is Fraction
    assert hessian(lambda x, y: x * y * y, [third, third]) == [
        [0.0, Fraction(2, 3)],
        [Fraction(2, 3), Fraction(2, 3)],
    ]


# ---- the checker


def test_the_checker_passes_every_operation():
    for row, point in CASES:
        expected = [float(d) for d in gradient(row.function, point)]
        assert check_gradients(row.function, point) == pytest.approx(expected), (row, point)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: 1 / x, 1e-3),
        (lambda x: 1 / x, -1e-6),
        (Value.log, 1e-3),
        (Value.log, 1e-6),
        (Value.sqrt, 1e-8),
        (Value.sin, 1e6),
        (lambda x: x + 1, 1e-9),
        (lambda x: x * x, 1e8),
        (lambda x: (x * 1e-3).exp(), 3.0),
    ],
)
def test_the_checker_finds_the_scale_of_f(f, x):
    assert check_gradients(f, [x]) == gradient(f, [x])
    with pytest.raises(GradientError, match="'own' of"):
        check_gradients(lambda v: wrongly(f(v)), [x])


def wrongly(v):
    """v itself, with a derivative that is wrong by a tenth."""
    return own((v,), lambda a: a, lambda upstream, a: setattr(a, "grad", a.grad + 1.1 * upstream))


def test_the_checker_finds_a_wrong_closure_and_names_it():
    def wrong_cube(v):
        out = Value(v.data**3, (v,), "cube")

        def _backward():
            v.grad += 2 * v.data**2 * out.grad

        out._backward = _backward
        return out

    def volume(x, y):
        return (wrong_cube(x * y) + x).tanh() * 0.1

    with pytest.raises(GradientError) as caught:
        check_gradients(volume, [0.5, 0.8])
    message = str(caught.value)
    assert message.startswith("d volume(0.5, 0.8) / d argument 0 is ")
    assert "the first wrong operation is 'cube' of (0.4)" in message
    assert "local derivatives (0.32)" in message
    assert "differences give 0.384" in message.replace("0.3840", "0.384")


def test_the_checker_explains_other_causes():
    with pytest.raises(GradientError, match=r"'ReLU' of .*at a kink, such as relu at 0"):
        check_gradients(lambda x: x.relu(), [0.0])
    with pytest.raises(GradientError, match="use where"):
        check_gradients(lambda x: x * x if x > 0 else x, [0.0])
    with pytest.raises(TypeError, match="expects f to return a Value, got float"):
        check_gradients(lambda x: x.data, [0.0])
    with pytest.raises(GradientError, match="number 3 in f depends on this argument without an op"):
        check_gradients(lambda x: x * x.detach(), [3.0])
    before = (neuron := Neuron(2, activation="tanh"))([1.0, 2.0]).exp()
    with pytest.raises(GradientError, match="computed before: compute it inside f"):
        check_gradients(lambda: before * 2, neuron)


def test_the_gradient_is_the_sum_over_paths_of_products_of_local_derivatives():
    def paths(v, leaf):  # the product along each path
        if v is leaf:
            yield 1
        for d, operand in zip(local_derivatives(v), v._prev, strict=True):
            yield from (d * product for product in paths(operand, leaf))

    x, y, f = article()
    f.backward()
    assert [len([*paths(f, leaf)]) for leaf in (x, y)] == [2, 2]
    assert [sum(paths(f, leaf)) for leaf in (x, y)] == [x.grad, y.grad]


def test_a_detached_value_is_constant_at_every_level():
    assert derivative(lambda x: x.detach() * x, 2.0, order=2) == 0.0
    assert hessian(lambda x: x.detach() * x, [2.0]) == [[0.0]]


# ---- higher derivatives, at ordinary and at special points


def partial(function, point, order):
    """d^n f / d x_i d x_j ..., for order (i, j, ...), computed with nested Values."""
    levels = [[Value(x) for x in point]]
    for _ in order[1:]:
        levels.append([Value(x) for x in levels[-1]])
    y = function(*levels[-1])
    for i, leaves in zip(order, reversed(levels), strict=False):
        y = vjp(y).get(leaves[i], 0) if isinstance(y, Value) else 0
    return y.item() if isinstance(y, Value) else float(y)


PLANE = [*product((0.5, 2.0), (-1.0, 0.5, 1.0, 2.0, 3.0))]
ORDERS = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1),
          (1, 0, 1), (1, 1, 0), (0, 0, 0), (1, 1, 1)]  # fmt: skip
SMOOTH_IN_PLANE = [
    *(lambda a, b: a**b, lambda a, b: (a * b).maximum(b * a), lambda a, b: a / b + abs(b)),
    *(lambda a, b: (a * b).sigmoid() * (a - b).tanh(), lambda a, b: (a.log() * b).exp().sqrt()),
    *(lambda a, b: a.sin() * b.cos(), lambda a, b: binary_cross_entropy_with_logits(a * b, 1)),
    lambda a, b: take([a, where(b > 0.7, a * b**3, b.relu() / a)], 1),
]


@pytest.mark.parametrize("function", SMOOTH_IN_PLANE, ids=range(len(SMOOTH_IN_PLANE)))
def test_each_derivative_is_the_slope_of_the_one_before_it(function):
    for (*order, i), point in product(ORDERS, PLANE):
        ends = []
        for h in (1e-5, -1e-5):
            moved = [x + h * (k == i) for k, x in enumerate(point)]
            ends.append(partial(function, moved, order))
        expected = (ends[0] - ends[1]) / 2e-5
        found = partial(function, point, (*order, i))
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6), (order, i, point)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        *((lambda a: a.relu(), x, [float(x > 0), 0, 0]) for x in (-1.0, 0.0, 1.0)),
        *((abs, x, [x, 0, 0]) for x in (-1.0, 0.0, 1.0)),
        (lambda a: a**0, 0.0, [0, 0, 0]),
        (lambda a: a**1, 0.0, [1, 0, 0]),
        (lambda a: a**2, 0.0, [0, 2, 0]),
        (lambda a: a**3, 0.0, [0, 0, 6]),
        (lambda a: a**4.0, 0.0, [0, 0, 0]),
        (lambda a: 1**a, 0.0, [0, 0, 0]),
        (lambda a: (a * a).maximum(a**2), 2.0, [4, 2, 0]),
        (lambda a: (a * a).minimum(a**2), 2.0, [4, 2, 0]),
        (lambda a: a.relu() * a**2, 0.0, [0, 0, 0]),
        (lambda a: abs(a - 1) * (a + 1) ** 2, 1.0, [0, 0, 0]),
        *((Value.sigmoid, x, [0, 0, 0]) for x in (-1000.0, 1000.0)),
        (lambda a: binary_cross_entropy_with_logits(a, 1), 0.0, [-0.5, 0.25, 0]),
        (lambda a: binary_cross_entropy_with_logits(a, 1), -1000.0, [-1, 0, 0]),
    ],
)
def test_three_derivatives_at_special_points(function, x, expected):
    assert [partial(function, [x], (0,) * k) for k in (1, 2, 3)] == pytest.approx(expected)


def test_second_derivatives_of_a_power_where_an_operand_is_0():
    mixed = hessian(lambda x, y: x**y, [0.5, 0.0])
    assert mixed == [[0.0, 2.0], [2.0, pytest.approx(math.log(0.5) ** 2)]]
    for y in (2.0, 3.0):
        second = 2.0 if y == 2.0 else 0.0
        assert hessian(lambda a, b: a**b, [0.0, y]) == [[second, 0.0], [0.0, 0.0]]
    assert gradient(lambda a, b: a**b, [0.0, 0.0]) == [0.0, 0.0]
    assert gradient(lambda a, b: a**b, [0.0, 1.0]) == [1.0, 0.0]
    assert gradient(lambda a, b: a**b, [3.0, 0.0]) == [0.0, math.log(3.0)]
    assert math.isnan(hessian(lambda a, b: a * b * b, [math.nan, math.nan])[0][1])


def test_the_hessian_of_cross_entropy_even_for_equal_logits():
    for logits in ([1.0, 1.0, 1.0], [0.0, 2.0, 2.0], [1000.0, -1000.0, 999.0]):
        exponentials = [math.exp(z - max(logits)) for z in logits]
        p = [e / sum(exponentials) for e in exponentials]
        for i, row in enumerate(hessian(lambda *zs: cross_entropy(zs, 1), logits)):
            for j, found in enumerate(row):
                assert found == pytest.approx(p[i] * (i == j) - p[i] * p[j], abs=1e-15)


POWERS = [
    *SMOOTH,
    lambda a, b: (a * a + 0.5) ** b.tanh(),
    lambda a, b: (a * a + 1.0) ** (b - b),
    lambda a, b: 2 ** a.tanh() * b**2,
    lambda a, b: a.maximum(a + 0.0) * b,
]


@given(STEPS, POINT)
def test_hessians_of_random_graphs_against_central_differences(steps, point):
    found = hessian(lambda *leaves: build(leaves, steps, POWERS), point)
    for i, row in enumerate(found):
        above, below = (
            gradient(lambda *leaves: build(leaves, steps, POWERS),
                     [x + h * (k == i) for k, x in enumerate(point)])
            for h in (1e-5, -1e-5)
        )  # fmt: skip
        for d, up, down in zip(row, above, below, strict=True):
            assert d == pytest.approx((up - down) / 2e-5, rel=1e-3, abs=1e-3)


def test_vjp_of_arrays():
    A, x, unused = values([[1.0, 2.0], [3.0, 4.0]]), values([5.0, 6.0]), Value(1.0)
    upstream = np.array([1.0, 10.0])
    gradients = vjp(A @ x, upstream)
    assert [gradients[v] for v in A.flat] == np.outer(upstream, [5.0, 6.0]).ravel().tolist()
    assert [gradients[v] for v in x] == (A.data.T @ upstream).tolist()
    assert gradients[unused] == 0
    for wrong in (upstream[:1], upstream.reshape(2, 1), 1.0):
        with pytest.raises(ValueError, match=r"upstream gradients of shape \(2,\)"):
            vjp(A @ x, wrong)


def test_functions_and_graphs_are_told_apart():
    x = Value(2.0)
    y = x * x
    of_graph = r"call y\.backward\(\) and read x\.grad, or use vjp\(y\)\[x\]"
    for call, error in (
        (lambda: gradient(y, [x]), "gradient expects a function, got Value .*" + of_graph),
        (lambda: derivative(y, x), "expects a function, got Value .*" + of_graph),
        (lambda: hessian(y, [x]), "expects a function, got Value .*" + of_graph),
        (lambda: gradient(abs, 2.0), r"a list of numbers, got float 2\.0: use gradient\(f, \[x\]"),
        (lambda: jvp(y, [x], [1.0]), r"a dict for a graph, got list .*: use jvp\(y, \{x: 1\.0\}\)"),
        (lambda: vjp(abs), r"vjp expects Values, got builtin.*: call it, as in vjp\(f\(x\)\)"),
    ):
        with pytest.raises(TypeError, match=error):
            call()
    assert vjp(y)[x] == jacobian([y], [x])[0][0] == 4.0  # what the errors advise


# ---- levels: derivatives inside of functions, of losses and of derivatives


def test_nested_derivatives_each_have_a_level():
    assert derivative(lambda x: derivative(lambda y: x**2 * y**3, 2.0), 3.0) == 72.0
    assert derivative(lambda x: x * derivative(lambda y: x + y, 1.0), 1.0) == 1.0
    assert gradient(lambda x, y: sum(gradient(lambda z: x * z * z, [y])), [2.0, 3.0]) == [6.0, 4.0]
    assert derivative(lambda x: jvp(lambda y: (x * y).exp(), [0.0], [1.0]), 2.0) == 1.0
    assert derivative(lambda x: derivative(lambda y: x * y**3, x, order=2), 2.0) == 24.0


OF_W = [  # derivatives by x or at x of w x^2, and the derivatives of their sum by w and by x
    (lambda w, x: [derivative(lambda a: w * a**2, x)], 4.0, 6.0),
    (lambda w, x: gradient(lambda a, b: w * a**2 + b, [x, 1.0]), 4.0, 6.0),
    (lambda w, x: hessian(lambda a: w * a**3, [x])[0], 12.0, 18.0),
    (lambda w, x: jacobian(lambda a: [w * a**2, a], [x])[0], 4.0, 6.0),
    (lambda w, x: [jvp(lambda a: w * a**2, [x], [1.0])], 4.0, 6.0),
    (lambda w, x: [derivative(lambda a: Value(1.0) * w * a**2, x)], 4.0, 6.0),
]


@pytest.mark.usefixtures("executor")
@pytest.mark.parametrize(("of", "by_w", "by_x"), OF_W, ids=range(len(OF_W)))
def test_a_derivative_in_a_loss_is_part_of_its_graph(of, by_w, by_x):
    w, x = Value(3.0), Value(2.0)
    found = of(w, x)
    assert all(type(d) is Value for d in found)
    sum(found).backward()
    assert (w.grad, x.grad) == pytest.approx((by_w, by_x), abs=1e-12)
    with no_grad():
        plain = of(w, 2.0)
    assert all(type(d) is float for d in plain)
    assert plain == pytest.approx([d.item() for d in found])

    w.grad = 0.0
    batch = micrograd.compile(lambda number: sum(of(w, number)))([2.0])
    batch.backward()
    assert batch.data == pytest.approx(sum(plain))
    assert w.grad == pytest.approx(by_w, abs=1e-12)


def test_the_tangent_of_a_jvp_may_be_a_value():
    w = Value(3.0)
    jvp(lambda a: a * a, [2.0], [w]).backward()
    assert w.grad == 4.0


def test_results_are_plain_numbers_if_no_value_was_read():
    for f in (
        lambda x: Value(2.0) * x,
        lambda x: x * x.detach(),
        lambda x: cross_entropy([x, x], 0),
    ):
        assert type(derivative(f, 2.0)) is float
        assert type(derivative(f, 2.0, order=2)) is float
    assert derivative(lambda x: no_grad()(pow)(x, 3) + x, 2.0) == 1.0  # as in PyTorch
    third = Fraction(1, 3)
    assert derivative(lambda x: x.maximum(third), third) == Fraction(1, 2)
    assert [*map(type, gradient(lambda x, y: (x - 1).relu() + y, [third, third]))] == [Fraction] * 2


@pytest.mark.slow
def test_a_network_learns_from_its_second_derivative():
    random.seed(3)
    network = MLP(1, [6, 1], activation="tanh")

    def u(x):
        return 1 + x * x * network([x])  # u(0) = 1, u'(0) = 0

    def residual(x):  # u'' + u = 0: the solution is the cosine
        return (derivative(u, x, order=2) + u(x)) ** 2

    optimizer = Adam(network.parameters(), lr=0.02)
    history = micrograd.fit(
        micrograd.compile(residual), np.linspace(0, 1.5, 10), None, optimizer, steps=800
    )
    assert history[-1] < 1e-3 < history[0]
    assert u(Value(1.0)).data == pytest.approx(math.cos(1.0), abs=0.01)
