"""Vectors and matrices: NumPy arrays whose elements are Values.

A Value behaves like a number, so NumPy computes with arrays of Values element by element, as with
arrays of numbers. `values()` makes such an array; its class adds what people expect from tensors:
`data`, `grad`, `backward()`, `relu()`.

    >>> W = values([[1.0, 2.0], [3.0, 4.0]])
    >>> x = np.array([1.0, -1.0])
    >>> loss = ((W @ x) ** 2).sum()
    >>> loss.backward()
    >>> W.grad
    array([[-2.,  2.],
           [-2.,  2.]])
    >>> W.data -= 0.1 * W.grad

Shapes, slices, indices and masks (`reshape`, `T`, `concatenate`, `stack`, ...) work, and so do:

    + - * / ** @  abs  < > <= >=     with arrays and numbers on either side, with broadcasting
    sum mean prod cumsum diff        also with axis=; so do average, trace, median
    dot inner outer einsum kron convolve tensordot, linalg.norm
    exp log sqrt sin cos tanh square reciprocal abs negative power
    maximum minimum max min clip     as in `Value.maximum`: two equal elements receive half of the
                                     gradient each; maximum with a plain 0 is `Value.relu`
    sort argmax argsort where        compare the data; the gradient goes to the chosen elements

These do not work; use the right column instead:

    A.var(), A.std()                 ((A - A.mean()) ** 2).mean()
    np.linalg.inv, solve, ...        need plain numbers: pass A.data
    np.isnan, np.allclose            np.isnan(A.data)
    A.grad[:] = 0, A.data[0] -= 5    A.grad = 0 and A[0].data -= 5: A.data and A.grad are copies

`A == B` and `A != B` compare the numbers, as do `<` and `>`, while two single Values are equal only
if they are the same node: `A[0] == B[0]`. A result without axes, such as that of `sum()`, is a
Value. Each element is a separate node: for arrays of more than a few thousand elements, use
`micrograd.compile` or an array framework.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from micrograd.core.node import innermost
from micrograd.core.pause import is_paused
from micrograd.core.shapes import Numbers
from micrograd.engine import Value

Floats = NDArray[np.float64]
_METHODS = "relu", "tanh", "sigmoid", "exp", "log", "detach"


def _in_place(sign: str, operation: Callable[[Any, Any], Any]) -> Any:
    def method(self: ValueArray, other: Any) -> ValueArray:
        if is_paused():
            self.data = operation(self, other)
        elif any(isinstance(v, Value) and v.is_leaf and v.requires_grad for v in self.flat):
            fix = f"write A.data {sign}= ..., or do it inside no_grad()"
            raise RuntimeError(f"A {sign}= ... would replace the leaves of A with results: {fix}")
        else:
            self[...] = operation(self, other)
        return self

    return method


def _value(x: SupportsFloat) -> Value:
    return x if isinstance(x, Value) else Value(x)


def _each(name: str, function: Callable[..., Value], operands: int = 1) -> Any:
    function.__name__ = name
    return np.frompyfunc(function, operands, 1, identity=None)  # None lets max() reduce all axes


def _of_each(name: str) -> Callable[[ValueArray], ValueArray]:
    def method(self: ValueArray) -> ValueArray:
        return _EACH[name](self)  # type: ignore[no-any-return]

    method.__doc__ = getattr(Value, name).__doc__
    return method


def _of_elements(name: str) -> Any:
    return lambda array, *args, **options: getattr(array.view(np.ndarray), name)(*args, **options)


class Copy(np.ndarray[Any, Any]):
    """The numbers or gradients of an array of Values, copied: for reading only.

    Writing into a copy would not change the Values, so it is an error. In-place operators make a
    new array, so `A.data -= 0.1 * A.grad` assigns all the numbers of A, and works.
    """

    def __setitem__(self, key: Any, value: object) -> None:
        if not self.flags.writeable:
            fix = "assign all numbers, as in A.grad = 0, or one, as in A[0].grad = 0"
            raise ValueError(f"A.data and A.grad are copies, which change no Value of A: {fix}")
        super().__setitem__(key, value)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else array  # results are ordinary arrays

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    __iadd__: Any = np.ndarray.__add__
    __isub__: Any = np.ndarray.__sub__
    __imul__: Any = np.ndarray.__mul__
    __itruediv__: Any = np.ndarray.__truediv__
    __ipow__: Any = np.ndarray.__pow__


class ValueArray(np.ndarray[Any, Any]):
    """A NumPy array whose elements are Values; `values()` makes one from numbers.

    >>> b = values([-1.0, 2.0])
    >>> (3 * b).backward([1.0, 10.0])
    >>> b.grad
    array([ 3., 30.])
    """

    label: str = ""  # a name for drawings
    _made_from: tuple[str, tuple[Any, ...]] | None = None  # operation and operands, for drawings

    @property  # type: ignore[override]  # ndarray.data is a buffer
    def data(self) -> Copy:
        """A copy of the numbers, as floats in the same shape; assigning sets every one."""
        return _copy(data_of(self))

    @data.setter
    def data(self, numbers: Numbers) -> None:
        """Sets all numbers."""
        _set(self, "data", numbers)

    @property
    def grad(self) -> Copy:
        """A copy of the gradients, as floats in the same shape; assigning sets every one."""
        return _copy(grad_of(self))

    @grad.setter
    def grad(self, numbers: Numbers) -> None:
        """Sets all gradients."""
        _set(self, "grad", numbers)

    def zero_grad(self) -> None:
        """Resets the gradients, which otherwise add up from one backward pass to the next."""
        for v in self.flat:  # the int, because with a float fractions would not stay exact
            v.grad = 0

    def detach(self) -> ValueArray:
        """An array of new leaves with a copy of the numbers: later changes are not shared."""
        return values(self.data)

    def backward(self, upstream: Numbers | None = None) -> None:
        """Adds to the `grad` of every leaf, in one walk over the graph.

            grad(leaf)  +=  sum over elements i of   upstream_i * d element_i / d leaf

        `upstream` has the same shape; for a single element, it is 1 by default.
        """
        if upstream is None and self.size != 1:
            got = f"got {self.size} in shape {self.shape}"
            fix = "write A.sum().backward(), or A.backward(upstream)"
            raise ValueError(f"backward() without upstream expects one element, {got}: {fix}")
        seeds = np.ones(self.shape) if upstream is None else np.asarray(upstream)
        if seeds.shape != self.shape:
            expected = f"upstream gradients of shape {self.shape}"
            raise ValueError(f"backward() expects {expected}, got {seeds.shape}")
        if self.size and not any(isinstance(v, Value) and v.requires_grad for v in self.flat):
            raise RuntimeError("this array was computed inside no_grad(): compute it outside")
        if self.size:
            np.sum(self * seeds).backward()

    relu, tanh, sigmoid, exp, log = map(_of_each, _METHODS[:5])

    def softmax(self, axis: int = -1) -> ValueArray:
        """Probabilities that add up to 1 along an axis, stable for scores of any size.

            p_k = e^(z_k - m) / sum_j e^(z_j - m),    m = max_j z_j

        >>> values([1000.0, 1000.0]).softmax().data
        array([0.5, 0.5])
        """
        powers = np.exp(self - _EACH["detach"](np.max(self, axis=axis, keepdims=True)))
        shares: ValueArray = powers / np.sum(powers, axis=axis, keepdims=True)
        return shares

    def mean(self, *args: Any, **options: Any) -> Any:
        """The mean of all elements, or along an axis."""
        return _remembering(super().mean(*args, **options), "mean", (self,))

    # The elements are compared by data, and the indices are plain integers.
    argmax, argmin, argsort = map(_of_elements, ("argmax", "argmin", "argsort"))

    def __array_ufunc__(self, *call: Any, **options: Any) -> Any:
        return apply_ufunc(*call, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = _with_class(super().__array_function__(function, types, args, kwargs))
        operands = (x for arg in args for x in (arg if isinstance(arg, (list, tuple)) else [arg]))
        return _remembering(result, function.__name__, tuple(operands))

    __iadd__: Any = _in_place("+", operator.add)
    __isub__: Any = _in_place("-", operator.sub)
    __imul__: Any = _in_place("*", operator.mul)
    __itruediv__: Any = _in_place("/", operator.truediv)
    __ipow__: Any = _in_place("**", operator.pow)


def apply_ufunc(ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """The result of a NumPy function such as `np.add`, where an operand is a Value or has Values.

    NumPy calls it as the `__array_ufunc__` of a ValueArray, or of a Value beside an array.
    """
    if ufunc.__name__ == "clip":
        x, low, high = inputs
        return np.minimum(np.maximum(x, low), high, **options)
    if "out" in options:
        options["out"] = tuple(map(_plain, options["out"]))
    operands = map(_plain, inputs)
    instead = getattr(_INSTEAD_OF.get(ufunc, ufunc), method)
    if not any(not isinstance(x, Value) and np.ndim(x) for x in inputs):
        return instead(*operands, **options)
    if ufunc in (np.equal, np.not_equal):  # between single Values, == compares nodes
        operands = map(_INNERMOST, operands)
    name = ufunc.__name__.removesuffix(" (vectorized)") + f".{method}" * (method != "__call__")
    return _remembering(_with_class(instead(*operands, **options)), name, inputs)


def values(array: Numbers, label: str = "") -> ValueArray:
    """An array of new leaves in the shape of these nested lists or this array.

    An element that is a Value stays as it is. `label` is the name of the array in drawings.

    >>> W = values([[1.0, 2.0], [3.0, 4.0]])
    >>> (W * W).sum().backward()
    >>> W.grad
    array([[2., 4.],
           [6., 8.]])
    """
    result = np.asarray(_VALUE(np.asarray(array)), dtype=object).view(ValueArray)
    result.label = label
    return result


def data_of(array: Numbers) -> Floats:
    """The data of an array of Values, as an array of floats of the same shape."""
    return np.asarray(_DATA(np.asarray(array, dtype=object)), dtype=float)


def grad_of(array: Numbers) -> Floats:
    """The gradients of an array of Values, as an array of floats of the same shape."""
    return np.asarray(_GRAD(np.asarray(array, dtype=object)), dtype=float)


def _set(array: ValueArray, attribute: str, given: Numbers) -> None:
    numbers = data_of(given)  # of Values, too: as data they would nest one graph in another
    if numbers.ndim and numbers.shape != array.shape:
        expected = f"an array of shape {array.shape} or a number"
        raise ValueError(f"A.{attribute} expects {expected}, got {numbers.shape}")
    for v, number in zip(array.flat, np.broadcast_to(numbers, array.shape).flat, strict=True):
        setattr(v, attribute, float(number))


def _copy(numbers: Floats) -> Copy:
    numbers.flags.writeable = False
    return numbers.view(Copy)


def _plain(x: Any) -> Any:
    # What NumPy's own loops take. A Value in an array without axes is not asked again.
    if isinstance(x, Value):
        out = np.empty((), dtype=object)
        out[()] = x
        return out
    return x.view(np.ndarray) if isinstance(x, ValueArray) else x


def _with_class(result: Any) -> Any:
    # An array of Values becomes a ValueArray or, if it has no axes, a Value; others do not change.
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result.view(ValueArray) if result.ndim else result[()]
    return _plain(result) if isinstance(result, np.ndarray) else result


def _remembering(result: Any, operation: str, operands: tuple[Any, ...]) -> Any:
    # An array, or the Value of a reduction, remembers what it was computed from, so that drawings
    # can show arrays instead of their elements. A reduction of one element may return this very
    # element: if it remembered its array, there would be a reference cycle.
    if is_paused() or not isinstance(result, (Value, ValueArray)):
        return result
    arrays = [x for x in operands if isinstance(x, ValueArray) and isinstance(result, Value)]
    if not any(v is result for array in arrays for v in array.flat):
        result._made_from = operation, operands  # type: ignore[union-attr]
    return result


def _maximum(a: SupportsFloat, b: SupportsFloat) -> Value:
    for x, y in ((a, b), (b, a)):
        if not isinstance(y, Value) and y == 0:
            return _value(x).relu()
    return _value(a).maximum(b)


_VALUE = np.frompyfunc(_value, 1, 1)
_INNERMOST = np.frompyfunc(innermost, 1, 1)
_DATA = np.frompyfunc(lambda x: float(innermost(x)), 1, 1)
_GRAD = np.frompyfunc(lambda x: float(innermost(getattr(x, "grad", 0.0))), 1, 1)
_EACH = {name: _each(name, lambda x, f=name: getattr(_value(x), f)()) for name in _METHODS}
# NumPy's own functions return one of the two elements: in a tie the first, even a plain number.
_INSTEAD_OF = {
    np.maximum: _each("maximum", _maximum, 2),
    np.minimum: _each("minimum", lambda a, b: _value(a).minimum(b), 2),
}
