"""Chapter 6: vectors and matrices, which are NumPy arrays whose elements are Values.

A Value behaves as a number, so NumPy does with an array of them what it does with an array of
numbers, element by element, and every element of the result has its graph. This file holds only
what NumPy does not do: into such an array, and out of it.

    >>> W = values([[1.0, 2.0], [3.0, 4.0]])
    >>> x = np.array([1.0, -1.0])
    >>> loss = ((W @ x) ** 2).sum()
    >>> loss.backward()
    >>> loss.data
    2.0
    >>> grad_of(W)
    array([[-2.,  2.],
           [-2.,  2.]])

What works, besides shapes, slices, indices and masks (`reshape`, `T`, `concatenate`, `stack`, ...):

    + - * / ** @  abs  < > <= >=     also with arrays and numbers on either side, broadcasting
    sum mean prod cumsum diff        with axis=, too; also average, trace, median
    dot inner outer einsum kron convolve tensordot, linalg.norm
    exp log sqrt sin cos tanh square reciprocal abs negative power
    max min sort argmax argsort      choices by data, where the derivative is that of the chosen
    where clip maximum minimum       element (np.maximum gives ties to the first); a number that is
                                     chosen stays a plain number: np.maximum(A, Value(0.0))

What does not, and what does instead:

    A.var(), A.std()                 ((A - A.mean()) ** 2).mean()
    np.linalg.inv, solve, ...        they need plain numbers: data_of(A)
    np.isnan, np.allclose            np.isnan(data_of(A))
    a sigmoid or a ReLU              np.vectorize(Value.sigmoid)(A), or 1 / (1 + np.exp(-A))
    A == B                           compares nodes, not numbers: data_of(A) == data_of(B)

Shapes are those of NumPy. Each element is a node of its own: for arrays of more than some thousand
elements an array framework, or the compiler of chapter 13, is the right tool.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from micrograd.engine import Value


def values(array: Any) -> NDArray[np.object_]:
    """An array of new leaves with these data, of the same shape.

    Args:
        array: numbers, as nested lists or as an array of any shape.

    Raises:
        TypeError: an element is no number, or is masked.
        ValueError: the rows are not of equal lengths.

    >>> values([1, 2]) * 2
    array([Value(data=2.0, grad=0), Value(data=4.0, grad=0)], dtype=object)
    """
    if np.ma.is_masked(np.ma.asarray(array)):
        raise TypeError("expected numbers, got masked elements: choose some with .filled(number)")
    numbers = np.asarray(array)
    out = np.empty(numbers.shape, dtype=object)
    for index, x in np.ndenumerate(numbers):
        out[index] = Value(x)
    return out


def data_of(array: Any) -> NDArray[np.float64]:
    """The data of an array of Values, as an array of floats of the same shape.

    >>> data_of([Value(1.0), Value(2.0)])
    array([1., 2.])
    """
    return _floats(array, "data")


def grad_of(array: Any) -> NDArray[np.float64]:
    """The gradients of an array of Values, as an array of floats of the same shape.

    >>> x = values([1.0, 2.0])
    >>> (x[0] * x[1]).backward()
    >>> grad_of(x)
    array([2., 1.])
    """
    return _floats(array, "grad")


def _floats(array: Any, attribute: str) -> NDArray[np.float64]:
    elements = np.asarray(array, dtype=object)
    out = np.empty(elements.shape)
    for index, element in np.ndenumerate(elements):
        plain = element if attribute == "data" else 0.0  # of a number among the Values
        number = getattr(element, attribute) if isinstance(element, Value) else plain
        out[index] = number.item() if isinstance(number, Value) else float(number)
    return out
