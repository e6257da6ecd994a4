"""Chapter 6: what its docstring says of NumPy's functions is true."""

import numpy as np
import pytest

from micrograd.arrays import data_of, grad_of, values
from micrograd.engine import Value

A = np.array([[1.0, -2.0], [3.0, 4.5]])
V = np.array([0.5, 1.5])

WORKS = [
    lambda a, v: a + v,
    lambda a, v: 1 - a,
    lambda a, v: V * a,
    lambda a, v: a * V,
    lambda a, v: v / (a + 10),
    lambda a, v: a**2,
    lambda a, v: 2**a,
    lambda a, v: -a,
    lambda a, v: abs(a),
    lambda a, v: a @ v,
    lambda a, v: v @ a,
    lambda a, v: A @ a,
    lambda a, v: a @ V,
    lambda a, v: a.T @ a,
    lambda a, v: a.sum(),
    lambda a, v: a.sum(axis=0),
    lambda a, v: a.mean(axis=1, keepdims=True),
    lambda a, v: np.prod(a),
    lambda a, v: np.cumsum(a),
    lambda a, v: np.diff(a),
    lambda a, v: np.average(a),
    lambda a, v: np.trace(a),
    lambda a, v: np.median(a),
    lambda a, v: np.dot(a, v),
    lambda a, v: np.inner(v, v),
    lambda a, v: np.outer(v, a[0]),
    lambda a, v: np.einsum("ij,j->i", a, v),
    lambda a, v: np.kron(v, a),
    lambda a, v: np.convolve(v, v),
    lambda a, v: np.tensordot(a, a)[()],
    lambda a, v: np.linalg.norm(v),
    lambda a, v: np.exp(a),
    lambda a, v: np.log(v),
    lambda a, v: np.sqrt(v),
    lambda a, v: np.sin(a) * np.cos(a),
    lambda a, v: np.tanh(a),
    lambda a, v: np.square(a),
    lambda a, v: np.reciprocal(v),
    lambda a, v: np.negative(a),
    lambda a, v: np.power(v, 3),
    lambda a, v: np.maximum(a, 0.25),
    lambda a, v: np.minimum(a, v),
    lambda a, v: np.clip(a, -1.0, 2.0),
    lambda a, v: np.where(data_of(a) > 0, a, 2 * a),
    lambda a, v: a.max(axis=1),
    lambda a, v: np.sort(a.ravel()),
    lambda a, v: a[a > 0],
    lambda a, v: a[::-1, 1:].reshape(-1),
    lambda a, v: np.concatenate([a, a.T]),
    lambda a, v: np.stack([v, v * 2]),
    lambda a, v: ((a - a.mean()) ** 2).mean(),
]


@pytest.mark.parametrize("function", WORKS, ids=range(len(WORKS)))
def test_numpy_does_with_values_what_it_does_with_numbers(function):
    a, v = values(A), values(V)
    out = function(a, v)
    expected = np.asarray(function(A, V), dtype=float)
    assert data_of(out).shape == expected.shape
    assert np.allclose(data_of(out), expected, rtol=1e-13)

    total = np.sum(out * 1.5)
    total.backward()
    step = 1e-6
    for leaves, numbers, others in ((a, A, lambda x: (x, V)), (v, V, lambda x: (A, x))):
        for index in np.ndindex(numbers.shape):
            ends = []
            for sign in (1, -1):
                moved = numbers.copy()
                moved[index] += sign * step
                ends.append(float(np.sum(function(*others(moved)) * 1.5)))
            slope = (ends[0] - ends[1]) / (2 * step)
            assert leaves[index].grad == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_what_the_docstring_says_does_not_work_does_not():
    a = values(A)
    for function in (lambda: a.var(), lambda: np.linalg.inv(a), lambda: np.isnan(a)):
        with pytest.raises(TypeError):
            function()
    assert not (a == values(A)).any()
    assert np.isclose(data_of(np.vectorize(Value.sigmoid)(a)), 1 / (1 + np.exp(-A))).all()


def test_values_keeps_shapes_and_makes_leaves():
    for shape in ((), (0,), (3,), (2, 3), (2, 1, 2)):
        array = values(np.ones(shape))
        assert array.shape == shape
        assert all(type(v) is Value and v._prev == () for v in array.flat)
    assert [v.data for v in values([1, True, np.float32(2.0)])] == [1.0, 1.0, 2.0]
    first, second = values([1.0, 1.0])
    assert first is not second


def test_data_and_gradients_come_out_as_floats():
    x = values([1.0, 2.0])
    (x[0] * 3).backward()
    assert grad_of(x).tolist() == [3.0, 0.0]
    assert grad_of(x).dtype == data_of(x).dtype == float
    assert data_of([[x[0], 7], [x[1], 0.5]]).tolist() == [[1.0, 7.0], [2.0, 0.5]]
    assert data_of(x[0]).shape == ()
    assert data_of([Value(Value(2.0))]).tolist() == [2.0]


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"one real number, got str_.*'a'"):
        values(["a", "b"])
    with pytest.raises(ValueError, match="inhomogeneous"):
        values([[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError):
        data_of([None])


def test_masked_elements_are_refused():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for array in (masked, [masked, masked], masked.reshape(2, 1)):
        with pytest.raises(TypeError, match=r"got masked elements: .*filled"):
            values(array)
    assert [v.data for v in values(np.ma.array([1.0, 2.0]))] == [1.0, 2.0]
    assert [v.data for v in values(masked.filled(0.5))] == [1.0, 0.5]
