"""Vectors and matrices: NumPy arrays whose elements are Values.

A Value behaves like a number, so NumPy computes with arrays of Values element by element, as with
arrays of numbers. Those that `values()` makes also have `data`, `grad`, `backward()`, `relu()`, ...

    >>> W = values([[1.0, 2.0], [3.0, 4.0]])
    >>> ((W @ [1.0, -1.0]) ** 2).sum().backward()
    >>> W.grad
    array([[-2.,  2.],
           [-2.,  2.]])
    >>> W.data -= 0.1 * W.grad

Shapes, slices, indices and masks (`reshape`, `T`, `concatenate`, `stack`, ...) work, and so do:

    + - * / ** @  abs  < > <= >=     with arrays and numbers on either side, with broadcasting
    sum mean prod cumsum diff        also with axis=; so do average, trace, median
    dot inner outer einsum kron convolve tensordot, linalg.norm
    exp log sqrt sin cos tan tanh square reciprocal abs negative power
    arcsin arccos arctan arctan2 sinh cosh expm1 log1p logaddexp, scipy.special.erf and expit
    maximum minimum max min clip     as in `Value.maximum`: two equal elements receive half of the
                                     gradient each; maximum with a plain 0 is `Value.relu`
    sort argmax argsort where        compare the data; the gradient goes to the chosen elements
    any all nonzero isnan allclose   ask the numbers

`np.linalg.inv` and `solve` need plain numbers: pass A.data. A.data and A.grad are copies: write
A.grad = 0 instead of A.grad[:] = 0, A[0].data -= 5 instead of A.data[0] -= 5.

Numbers assigned to an array that `values` made, or to a view of it, set the data of its leaves, so
that parameters stay parameters: `W[0, 1] = 0.5`, `W[:] = 0`, `W.fill(0.5)`. Results are replaced by
constants, which makes masks: `scores[mask] = -1e9`. In what NumPy copied (`W[[0, 2]]`), the entry
is replaced, and W does not change. `W.copy()` has leaves of its own; NumPy's copies share those.

`A == B` and `A != B` compare the numbers, as do `<` and `>`, while two single Values are equal only
if they are the same node: `A[0] == B[0]`. A result without axes, such as that of `sum()`, is a
Value. For more than a few thousand nodes, use `micrograd.compile` or an array framework.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from operator import add, attrgetter, mul, sub, truediv
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from micrograd.core.arithmetic import as_number
from micrograd.core.node import as_constant, as_value, innermost, operations
from micrograd.core.origin import note
from micrograd.core.pause import is_paused
from micrograd.core.shapes import Numbers
from micrograd.engine import Value

Floats = NDArray[np.float64]


def _in_place(sign: str, operation: Any) -> Any:
    return lambda array, other: _overwrite(array, operation(array, other), f"A {sign}= ...", sign)


def _overwrite(array: ValueArray, results: Any, what: str, sign: str = "") -> ValueArray:
    if is_paused():
        array.data = results
    elif any(isinstance(v, Value) and v.is_leaf and not v.is_constant for v in array.flat):
        fix = f"write A.data {sign}= ..., or use no_grad()"
        raise RuntimeError(f"{what} would replace leaves: {fix}")
    else:
        array[...] = results
    return array


def _each(name: str, function: Callable[..., Value] | None = None, operands: int = 1) -> Any:
    function = function or (lambda x, *others: getattr(as_value(x), name)(*others))
    function.__name__ = name
    return np.frompyfunc(function, operands, 1, identity=None)  # None lets max() reduce all axes


def _of_each(name: str) -> Callable[[ValueArray], ValueArray]:
    def method(self: ValueArray) -> ValueArray:
        return _INSTEAD_OF[name](self)  # type: ignore[no-any-return]

    method.__doc__ = getattr(Value, name).__doc__
    return method


def _of_elements(name: str, view: Callable[[Any], Any] = lambda a: a.view(np.ndarray)) -> Any:
    return lambda array, *args, **options: getattr(view(array), name)(*args, **_named(options))


def _named(options: dict[str, Any]) -> dict[str, Any]:
    # The names that PyTorch has for them are accepted, too.
    return {{"dim": "axis", "keepdim": "keepdims"}.get(k, k): x for k, x in options.items()}


def _numbers(attribute: str, what: str) -> Any:
    def copy(array: ValueArray) -> Copy:
        numbers = data_of(array) if attribute == "data" else grad_of(array)
        numbers.flags.writeable = False
        return numbers.view(Copy)

    def assign(array: ValueArray, given: Numbers) -> None:
        numbers = data_of(given)  # of Values, too: as data they would nest one graph in another
        if numbers.ndim and numbers.shape != array.shape:
            raise ValueError(f"A.{attribute} expects shape {array.shape}, got {numbers.shape}")
        for v, number in zip(array.flat, np.broadcast_to(numbers, array.shape).flat, strict=True):
            setattr(v, attribute, float(number))

    doc = f"A copy of the {what}, as floats in the same shape; assigning sets every one."
    return property(copy, assign, doc=doc)


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

    __iadd__, __isub__, __imul__, __itruediv__, __ipow__ = attrgetter(
        "__add__", "__sub__", "__mul__", "__truediv__", "__pow__"
    )(np.ndarray)


class Memory(np.ndarray[Any, Any]):
    """The memory of an array that `values` made; its views have it as their base, copies do not."""


class ValueArray(np.ndarray[Any, Any]):
    """A NumPy array whose elements are Values; `values()` makes one from numbers."""

    label: str = ""  # a name for drawings

    data, grad = _numbers("data", "numbers"), _numbers("grad", "gradients")

    @property
    def requires_grad(self) -> bool:
        """Whether all elements get a gradient; False freezes them, True undoes that."""
        return all(v.requires_grad for v in self.flat)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        for v in self.flat:
            v.requires_grad = wanted

    def __setitem__(self, key: Any, given: Any) -> None:
        """Sets the data of leaves, if given are numbers and `values` made the array; or entries."""
        memory: Any = self
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        old, is_own = self.view(np.ndarray)[key], isinstance(memory, Memory)
        new = np.empty(np.shape(old), dtype=object)
        new[...] = _plain(given)
        super().__setitem__(key, _ENTRY(old, new, is_own))

    def fill(self, value: Any) -> None:
        """Assigns one number to all elements."""
        self[...] = value

    def copy(self, order: Any = None) -> Any:
        """An array whose leaves are copies; results stay the same nodes."""
        if order is None:
            return values(_COPY(self.view(np.ndarray)), self.label)
        return super().copy(order)  # NumPy's functions call it with an order: sort needs the leaves

    __copy__ = copy
    __deepcopy__: Any = None  # so that deepcopy calls __reduce_ex__

    def __reduce_ex__(self, _: Any) -> Any:
        return values, (self.view(np.ndarray), self.label)

    def zero_grad(self) -> None:
        """Resets the gradients, which otherwise add up from one backward pass to the next."""
        for v in self.flat:  # the int, because with a float fractions would not stay exact
            v.grad = 0

    def detach(self) -> ValueArray:
        """An array of new leaves with a copy of the numbers: later changes are not shared."""
        return values(self.data)

    def backward(self, gradient: Numbers | None = None) -> None:
        """Adds to the `grad` of every leaf, in one walk over the graph.

            grad(leaf)  +=  sum over elements i of   gradient_i * d element_i / d leaf

        `gradient`, the upstream gradients, has the same shape; for a single element, it is 1.
        """
        seeds = np.ones(self.shape) if gradient is None else np.asarray(gradient)
        if seeds.shape != self.shape or (gradient is None and self.size != 1):
            expected = f"backward() of shape {self.shape} expects a gradient of this shape"
            got = "none" if gradient is None else seeds.shape
            raise ValueError(f"{expected}, got {got}; or write A.sum().backward()")
        if self.size and not any(isinstance(v, Value) and v.requires_grad for v in self.flat):
            raise RuntimeError("this array was computed inside no_grad(): compute it outside")
        if self.size:
            np.sum(self * seeds).backward()

    relu, tanh, sigmoid, exp = map(_of_each, ("relu", "tanh", "sigmoid", "exp"))
    log, softplus, erf = map(_of_each, ("log", "softplus", "erf"))

    def softmax(self, axis: int = -1, dim: int | None = None) -> ValueArray:
        """Probabilities that add up to 1 along an axis, stable for scores of any size.

            p_k = e^(z_k - m) / sum_j e^(z_j - m),    m = max_j z_j

        >>> values([1000.0, 1000.0]).softmax().data
        array([0.5, 0.5])
        """
        axis = axis if dim is None else dim
        largest = np.max(self, axis=axis, keepdims=True)
        powers = np.exp(self - _SHIFT(largest).view(ValueArray))
        shares = powers / np.sum(powers, axis=axis, keepdims=True)
        return _remembering(shares, "softmax", (self,))  # type: ignore[no-any-return]

    def sum(self, *args: Any, **options: Any) -> Any:
        """The sum of all elements, or along an axis."""
        return super().sum(*args, **_named(options))

    def mean(self, *args: Any, **options: Any) -> Any:
        """The mean of all elements, or along an axis."""
        return _remembering(super().mean(*args, **_named(options)), "mean", (self,))

    # The elements are compared by data, and the indices are plain integers.
    argmax, argmin, argsort = map(_of_elements, ("argmax", "argmin", "argsort"))
    # A Value is true, as any object is; these ask its number.
    any, all, nonzero, __bool__ = (
        _of_elements(name, lambda a: data_of(a)) for name in ("any", "all", "nonzero", "__bool__")
    )

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """The elements as bool, by their numbers; their copies as objects."""
        array: Any = data_of(self) if np.dtype(dtype) == bool else super()
        return array.astype(dtype, *args, **options)

    __array_ufunc__: Any = lambda *call, **options: apply_ufunc(*call, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.copy:
            return args[0].copy()
        if function in _ASKING:
            return function(*map(_number, args), **kwargs)
        if function in _WRITING and isinstance(args[0], ValueArray):
            changed = np.array(args[0])
            function(changed, *args[1:], **kwargs)
            args[0][...] = changed
            return None
        if function in (np.where, np.compress, np.extract):
            args = _number(args[0]), *args[1:]
        result = _with_class(super().__array_function__(function, types, args, kwargs))
        is_new = isinstance(result, ValueArray) and not function.__name__.endswith("_like")
        if is_new and not all(isinstance(x, Value) for x in result.flat):  # else maybe a view
            result = _CONSTANT(result).view(ValueArray)
        operands = (x for arg in args for x in (arg if isinstance(arg, (list, tuple)) else [arg]))
        return _remembering(result, function.__name__, tuple(operands))

    __iadd__, __isub__, __imul__, __itruediv__, __ipow__ = map(
        _in_place, ("+", "-", "*", "/", "**"), (add, sub, mul, truediv, pow)
    )


def apply_ufunc(_: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """The result of a NumPy function such as `np.add`, where an operand is a Value or has Values.

    NumPy calls it as the `__array_ufunc__` of a ValueArray, or of a Value beside an array.
    """
    target = options.get("out", (None,))[0]
    if isinstance(target, ValueArray):
        del options["out"]
        result = apply_ufunc(_, ufunc, method, *inputs, **options)
        return _overwrite(target, result, f"{ufunc.__name__}(..., out=A)")
    operands = [*map(_plain, map(_number, inputs) if ufunc in _ASKING else inputs)]
    instead = getattr(_INSTEAD_OF.get(ufunc.__name__, ufunc), method)
    if not any(not isinstance(x, Value) and np.ndim(x) for x in inputs):
        return instead(*operands, **options)
    if ufunc in (np.equal, np.not_equal):  # between single Values, == compares nodes
        operands = [*map(_INNERMOST, operands)]
    if (ufunc, method) in _LARGEST and options.get("where", True) is True:
        larger = _INSTEAD_OF[ufunc.__name__]
        operands = [_halved(larger, operands[0], options.get("axis", 0))]
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
    found = np.asarray(_VALUE(np.asarray(array)), dtype=object)
    memory: Any = Memory(found.shape, dtype=object)
    memory[...] = found
    result: ValueArray = memory.view(ValueArray)
    result.label = label
    return result


def data_of(array: Numbers) -> Floats:
    """The data of an array of Values, as an array of floats of the same shape."""
    return np.asarray(_DATA(np.asarray(array, dtype=object)), dtype=float)


def grad_of(array: Numbers) -> Floats:
    """The gradients of an array of Values, as an array of floats of the same shape."""
    return np.asarray(_GRAD(np.asarray(array, dtype=object)), dtype=float)


def _plain(x: Any) -> Any:
    # What NumPy's own loops take. A Value in an array without axes is not asked again.
    if isinstance(x, Value):
        out = np.empty((), dtype=object)
        out[()] = x
        return out
    if getattr(x, "dtype", "") == np.longdouble:  # it would ask the Value to compute, and so on
        return np.asarray(x, dtype=float)
    return x.view(np.ndarray) if isinstance(x, ValueArray) else x


def _number(x: Any) -> Any:
    return data_of(x) if isinstance(x, (Value, ValueArray)) else x


def _entry(old: Any, given: Any, is_own: bool) -> Any:
    # What is at a place where `old` was: the same leaf with a new number, or else what is given.
    if (new := as_number(given)) is NotImplemented:
        expected = "an array of Values expects Values or numbers"
        raise TypeError(f"{expected}, got {given!r:.40}: use float()")
    is_value, was_value = isinstance(new, Value), isinstance(old, Value)
    is_number = not is_value or new.is_unrecorded
    if is_own and is_number and was_value and old.is_leaf and not old.is_constant:
        old.data = new.data if is_value else new
        return old
    return new if is_value or not was_value else as_constant(new)


def _constant(x: Any) -> Any:
    number = as_number(x)
    return x if isinstance(x, Value) or number is NotImplemented else as_constant(number)


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
        note(result, "array", (operation, operands))
    return result


def _maximum(a: SupportsFloat, b: SupportsFloat) -> Any:
    for x, y in ((a, b), (b, a)):
        if not isinstance(y, Value) and y == 0:
            return as_value(x).relu()
    return as_value(a).maximum(b)


def _halved(larger: Any, x: Any, axis: Any) -> Any:
    # The larger ones of two halves, again and again: a graph of depth log n instead of n.
    axis = 0 if axis is None and x.ndim == 1 else axis
    while isinstance(axis, int) and (half := x.shape[axis] // 2) > 1:
        left, right, rest = np.split(x, [half, 2 * half], axis)
        x = np.concatenate([larger(left, right), rest], axis)
    return x


_ENTRY = np.frompyfunc(_entry, 3, 1)
_COPY = np.frompyfunc(lambda v: v if getattr(v, "_prev", ()) else copy.copy(v), 1, 1)
_CONSTANT = np.frompyfunc(_constant, 1, 1)
_SHIFT = np.frompyfunc(lambda v: as_constant(v.detach().data), 1, 1)
_VALUE = np.frompyfunc(as_value, 1, 1)
_INNERMOST = np.frompyfunc(innermost, 1, 1)
_DATA = np.frompyfunc(lambda x: float(innermost(x)), 1, 1)
_GRAD = np.frompyfunc(lambda x: float(innermost(getattr(x, "grad", 0.0))), 1, 1)
_ASKING = {  # functions about the numbers
    *(np.any, np.all, np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.isnan, np.isinf, np.isfinite, np.isclose, np.allclose, np.array_equal, np.isin),
}
_LARGEST = {(np.maximum, "reduce"), (np.minimum, "reduce")}
_WRITING = {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}
# NumPy's own functions return one of the two elements: in a tie the first, even a plain number; and
# they ask each element for a method that plain numbers do not have.
_INSTEAD_OF = {  # the keys are names, because some are functions of SciPy
    **{f.__name__: _each(f.__name__, None, f.__code__.co_argcount) for f in operations.values()},
    "maximum": _each("maximum", _maximum, 2),
    "clip": _each("clip", lambda x, low, high: _maximum(x, low).minimum(high), 3),
    "expit": _each("sigmoid"),
}
