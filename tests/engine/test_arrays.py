"""NumPy functions work on arrays of Values as the docstring of `arrays.py` says."""

import copy
import pickle
import re

import numpy as np
import pytest

from micrograd.arrays import ValueArray, data_of, values
from micrograd.engine import Value, no_grad
from micrograd.losses import cross_entropy
from micrograd.nn import Neuron

A = np.array([[1.0, -2.0], [3.0, 4.5]])
V = np.array([0.5, 1.5])

WORKS = [
    lambda a, v: a + v,
    lambda a, v: a * V,
    lambda a, v: v / (a + 10),
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
    lambda a, v: np.median(a),
    lambda a, v: np.dot(a, v),
    lambda a, v: np.inner(v, v),
    lambda a, v: np.outer(v, a[0]),
    lambda a, v: np.einsum("ij,j->i", a, v),
    lambda a, v: np.tensordot(a, a),
    lambda a, v: np.linalg.norm(v),
    lambda a, v: np.exp(a),
    lambda a, v: np.sqrt(v),
    lambda a, v: np.sin(a) * np.cos(a),
    lambda a, v: np.tanh(a),
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
    lambda a, v: a.var() + np.var(a, axis=1, ddof=1),
    lambda a, v: a.std(axis=0),
    lambda a, v: np.linalg.norm(a, axis=1),
    lambda a, v: np.exp(np.where(a > 0, a, 0.0)),
    lambda a, v: np.tanh(np.hstack([a, np.ones((2, 1))])),
    lambda a, v: np.sin(np.append(v, 0.5)) * np.cos(np.pad(v, (0, 1))),
    lambda a, v: np.sqrt(np.tril(abs(a)) + 1),
]

ASKS = [  # functions that ask for numbers, or for their truth
    *(np.any, np.all, np.count_nonzero, np.nonzero, np.flatnonzero, np.argwhere, np.isfinite),
    *(np.logical_not, lambda x: np.logical_and(x, x > 1), lambda x: np.where(x, 1, 2)),
    *(lambda x: x.any(axis=0), lambda x: x.all(), lambda x: x.nonzero(), lambda x: x.astype(bool)),
    *(lambda x: bool(x[:1, 0]), lambda x: np.allclose(x, 0.0), lambda x: np.array_equal(x, x + 0)),
]


@pytest.mark.parametrize("ask", ASKS, ids=range(len(ASKS)))
def test_numpys_questions_are_asked_of_the_numbers(ask):
    for numbers in (np.array([[0.0, 2.0], [1.0, 0.0]]), np.zeros((2, 2))):
        found = ask(values(numbers))
        assert np.array_equal(found, ask(numbers))
        assert np.asarray(found).dtype == np.asarray(ask(numbers)).dtype


WRITES = {  # numbers assigned to W, which is [[1, 2], [3, 4]]
    "an entry": (lambda W: W.__setitem__((0, 1), 9), [[1, 9], [3, 4]]),
    "a row": (lambda W: W.__setitem__(0, [8, 9]), [[8, 9], [3, 4]]),
    "all": (lambda W: W.__setitem__(slice(None), 0.0), [[0, 0], [0, 0]]),
    "a mask": (lambda W: W.__setitem__(W.data > 2, 0), [[1, 2], [0, 0]]),
    "np.transpose": (lambda W: np.transpose(W)[1:].__setitem__((0, 0), 9), [[1, 9], [3, 4]]),
    "a view": (lambda W: W.T[1:].reshape(-1).__setitem__(0, 9), [[1, 9], [3, 4]]),
    "fill": (lambda W: W.fill(0.5), [[0.5, 0.5], [0.5, 0.5]]),
    "fill_diagonal": (lambda W: np.fill_diagonal(W, 0), [[0, 2], [3, 0]]),
    "copyto": (lambda W: np.copyto(W, [5, 6]), [[5, 6], [5, 6]]),
    "putmask": (lambda W: np.putmask(W, W > 3, 0), [[1, 2], [3, 0]]),
    "out=": (lambda W: no_grad()(np.add)(W, 1, out=W), [[2, 3], [4, 5]]),
}
COPIES = [
    *(lambda W: W[[0, 1]], lambda W: W[W.data > 0], lambda W: np.concatenate([W, W]), np.sort),
    *(np.copy, np.array, copy.copy, copy.deepcopy, lambda W: W.copy(), lambda W: np.pad(W, 1)),
]


@pytest.mark.parametrize(("write", "expected"), WRITES.values(), ids=WRITES)
def test_numbers_assigned_to_leaves_set_their_data(write, expected):
    for W in (
        values([[1.0, 2.0], [3.0, 4.0]]),
        pickle.loads(pickle.dumps(values([[1, 2], [3, 4]]))),
    ):
        leaves = W.ravel().tolist()
        write(W)
        assert W.data.tolist() == expected
        assert all(a is b for a, b in zip(W.ravel(), leaves, strict=True))


@pytest.mark.parametrize("copied", COPIES, ids=range(len(COPIES)))
def test_numbers_assigned_to_what_numpy_made_leave_the_parameters_alone(copied):
    W = values([[1.0, 2.0], [3.0, 4.0]])
    other = copied(W)
    other[0] = 7.0
    assert W.data.tolist() == [[1, 2], [3, 4]]
    assert (data_of(other)[0] == 7.0).all()


def test_results_are_replaced_by_constants_and_copies_have_their_own_leaves():
    W = values([[1.0, 2.0], [3.0, 4.0]])
    scores = W * 2
    scores[np.triu(np.ones((2, 2)), 1) > 0] = -1e9
    assert scores[0, 1].is_constant
    scores.softmax(axis=1)[:, 0].sum().backward()
    assert W.grad[0].tolist() == [0.0, 0.0]
    assert W.grad[1, 0] != 0
    old, result = W.copy(), (W * 2).copy()
    W[0, 0] = 5.0
    assert old.data[0, 0] == 1.0
    np.sort(W[0])[0].backward()
    result[0, 0].backward()
    assert W.grad[0].tolist() == [2.0, 1.0]  # of the copied result, and of the smallest
    with pytest.raises(TypeError, match="expects Values or numbers, got 'red'"):
        W[0] = ["red", 1.0]
    with pytest.raises(RuntimeError, match=r"add\(\.\.\., out=A\) would replace leaves"):
        np.add(W, 1, out=W)


def test_an_array_without_axes_is_a_value_on_either_side():
    for product in (
        *(lambda w: Value(3.0) * w, lambda w: w * Value(3.0), lambda w: 3.0 * w),
        *(lambda w: sum([w, w, w]), lambda w: np.mean([w, w]) * 3, lambda w: Value(3.0) + 3 * w),
        lambda w: 3 * cross_entropy([w, Value(-1e3)], 1) - 3e3,
        lambda w: Neuron(1, nonlin=False)([w]) * 0 + 3 * w,
    ):
        w = values(2.0)
        product(w).backward()
        assert float(w.grad) == 3.0
    assert Value(2.0).maximum(values(3.0)).data == (Value(3.0) ** values(1.0)).data == 3.0
    with pytest.raises(TypeError, match=r"data of a Value, got ValueArray"):
        Value(values(2.0))


def test_pytorchs_names_of_arguments():
    a = values(A)
    assert (a.sum(dim=0).data == A.sum(axis=0)).all()
    assert (a.mean(dim=1, keepdim=True).data == A.mean(axis=1, keepdims=True)).all()
    assert (a.argmax(dim=1) == A.argmax(axis=1)).all()
    assert (a.softmax(dim=0).data == a.softmax(axis=0).data).all()
    a.backward(gradient=A)
    assert (a.grad == A).all()


@pytest.mark.parametrize("function", WORKS, ids=range(len(WORKS)))
def test_numpy_treats_values_like_numbers(function):
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


def test_values_keeps_the_shape_and_makes_leaves():
    for shape in ((), (0,), (3,), (2, 3), (2, 1, 2)):
        array = values(np.ones(shape))
        assert array.shape == shape
        assert all(type(v) is Value and v._prev == () for v in array.flat)
    assert [v.data for v in values([1, True, np.float32(2.0)])] == [1.0, 1.0, 2.0]
    first, second = values([1.0, 1.0])
    assert first is not second


def test_elements_that_are_not_numbers_are_refused():
    with pytest.raises(TypeError, match=r"data of a Value, got str 'a'"):
        values(["a", "b"])
    with pytest.raises(ValueError, match="inhomogeneous"):
        values([[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError):
        data_of([None])


def test_results_are_arrays_of_this_class_and_a_single_element_is_a_value():
    a, v = values(A), values(V)
    for out in (a + 1, 1 - a, V - v, a @ v, a[0], a.T, a.sum(axis=0), np.stack([v, v]), [1, 2] * v):
        assert type(out) is ValueArray
    for out in (a.sum(), a.mean(), a.max(), v @ v, np.dot(v, v), np.einsum("i,i", v, v), a[0, 0]):
        assert type(out) is Value
    for out in (a > 0, a == a, a.argmax(axis=0), np.argsort(v)):
        assert type(out) is np.ndarray
        assert out.dtype != object


def test_data_and_grad_are_read_and_set_as_arrays():
    w = values(A)
    leaves = w.ravel().tolist()
    (w * w).sum().backward()
    assert w.grad.tolist() == (2 * A).tolist()
    w.data -= 0.5 * w.grad
    assert w.data.tolist() == np.zeros((2, 2)).tolist()
    assert all(a is b for a, b in zip(w.flat, leaves, strict=True))
    w.data = values(A)  # numbers, and not Values inside of Values
    assert [type(v.data) for v in w.flat] == [float] * 4
    w.grad = 3
    assert w.grad.tolist() == [[3, 3], [3, 3]]
    w.zero_grad()
    assert [v.grad for v in w.flat] == [0] * 4
    with pytest.raises(ValueError, match=r"expects shape \(2, 2\), got \(2,\)"):
        w.data = [1.0, 2.0]  # NumPy would repeat it
    detached = w.detach()
    detached.data = 0
    assert w.data.tolist() == A.tolist()


def test_backward_is_a_vector_jacobian_product():
    a, v = values(A), values(V)
    upstream = np.array([2.0, -1.0])
    (a @ v).backward(upstream)
    assert np.allclose(a.grad, np.outer(upstream, V))
    assert np.allclose(v.grad, A.T @ upstream)
    x = values([3.0])
    (x * x).backward()
    assert x.grad.tolist() == [6.0]
    with pytest.raises(ValueError, match=r"of shape \(2, 2\) .*got none; or write A\.sum"):
        (a * 2).backward()
    with pytest.raises(ValueError, match=r"of shape \(2, 2\) .*got \(2,\)"):
        (a * 2).backward(upstream)


def test_softmax():
    a = values(A)
    for axis in (0, 1, -1):
        e = np.exp(A)
        assert np.allclose(a.softmax(axis).data, e / e.sum(axis=axis, keepdims=True))
    assert values([1000.0, -1000.0]).softmax().data.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("relu", [lambda x: np.maximum(x, 0), lambda x: np.maximum(0, x),
                                  lambda x: x.relu(), lambda x: np.clip(x, 0, None)])  # fmt: skip
def test_maximum_with_zero_is_relu(relu):
    x = values([-1.0, 0.0, 2.0])
    out = relu(x)
    assert all(type(v) is Value for v in out)
    out.sum().backward()
    assert out.data.tolist() == [0, 0, 2]
    assert x.grad.tolist() == [0, 0, 1]


def test_an_update_in_place_of_leaves_is_refused_and_sets_the_numbers_inside_no_grad():
    b = values([1.0, 2.0])
    leaves = list(b)
    updates = b.__iadd__, b.__isub__, b.__imul__, b.__itruediv__, b.__ipow__
    for sign, update in zip(("+", "-", "*", "/", "**"), updates, strict=True):
        with pytest.raises(RuntimeError, match=re.escape(f"write A.data {sign}= ")):
            update(2.0)
    with no_grad():
        b -= np.array([0.5, 1.0])
    assert b.data.tolist() == [0.5, 1.0]
    assert all(x is y for x, y in zip(b, leaves, strict=True))
    total = np.zeros_like(b)
    total += b  # plain zeros are no leaves
    assert total.data.tolist() == [0.5, 1.0]
    hidden = b * 2
    hidden += 1  # results may be replaced by results
    hidden.sum().backward()
    assert hidden.data.tolist() == [2.0, 3.0]
    assert b.grad.tolist() == [2.0, 2.0]


# ---- what is compared and what is copied


def test_equality_of_arrays_compares_numbers_and_that_of_single_values_nodes():
    x = values([1.0, 2.0, 2.0])
    (x @ x).backward()
    assert (x.grad == 2 * x).all()
    assert (2 * x == x.grad).all()
    assert (x == [1.0, 0.0, 2.0]).tolist() == [True, False, True]
    assert (x != values([1.0, 0.0, 2.0])).tolist() == [False, True, False]
    assert (x == 2.0).tolist() == [False, True, True]
    assert 2.0 in x
    assert not (values([np.nan]) == values([np.nan])).any()
    assert x[1] != x[2]
    assert x[1] == x[1]
    assert x[1] != np.float64(2.0)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda v: v.grad.__setitem__(slice(None), 0.0), r"A\.grad = 0"),
        (lambda v: v.data.__setitem__(0, v.data[0] - 5), r"A\.grad = 0"),
        (lambda v: v.data[0].__setitem__(1, 3.0), r"A\.grad = 0"),
        (lambda v: v.grad.fill(0), "read-only"),
        (lambda v: np.add(v.data, 1, out=v.data), "read-only"),
        (lambda v: np.clip(v.grad, -1, 1, out=v.grad), "read-only"),
    ],
)
def test_writing_into_a_copy_of_the_numbers_is_refused(write, message):
    v = values([[1.0, 2.0]])
    with pytest.raises(ValueError, match=message):
        write(v)
    assert v.data.tolist() == [[1.0, 2.0]]


def test_in_place_operators_on_a_copy_make_a_new_array():
    W = values([[1.0, 2.0], [3.0, 4.0]])
    (W**2).sum().backward()
    W.data -= 0.1 * W.grad
    W.grad /= 2
    g = W.grad
    g *= 0.5
    assert np.allclose(W.data, [[0.8, 1.6], [2.4, 3.2]])
    assert np.maximum(W.data, 1.0).dtype == float
    assert W.grad.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert g.tolist() == [[0.5, 1.0], [1.5, 2.0]]
    kept = W.grad.copy()
    kept[0, 0] = 7.0
    kept.fill(1.0)
    assert kept.sum() == 4.0


def test_a_value_beside_an_array_gives_an_array_of_values_in_both_orders():
    v, x = Value(2.0), np.array([1.0, -1.0])
    for product in (v * x, x * v):
        assert product.relu().data.tolist() == [2.0, 0.0]
        product.backward([1.0, 3.0])
    assert v.grad == 2 * (1.0 - 3.0)
    assert (x - v).data.tolist() == [-1.0, -3.0]
    assert (v > x).tolist() == [True, True]
    assert (v**x).data.tolist() == [2.0, 0.5]
    assert type(np.float64(2.0) * v) is type(np.tanh(v)) is Value
    with pytest.raises(TypeError, match="@"):
        v @ v
