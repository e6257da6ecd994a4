"""What a compiled function takes, arrays of examples, and what it returns, a Batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from micrograd.compiler.parameters import Row, one_at_a_time
from micrograd.compiler.schedule import Array
from micrograd.core.pause import watchers
from micrograd.core.shapes import Numbers, fix_of


class Batch:
    """The results of a compiled function for a batch of examples.

    Attributes:
        n: the number of examples.
        data: the mean over the examples; a list of means if the function returns a list.
        lanes: the result for each example: shape (n,), or (n, k) if the function returns k results.

    >>> from micrograd import Value, compile
    >>> w = Value(2.0)
    >>> both = compile(lambda x: [w * x, w + x])([1.0, 3.0])
    >>> both.data, both.lanes
    ([4.0, 4.0], array([[2., 3.],
           [6., 5.]]))
    >>> both[1].backward()
    >>> w.grad
    1.0
    """

    def __init__(
        self, n: int, data: Any, lanes: Array, gradients_of: Callable[[int], tuple[Row, Array]]
    ) -> None:
        self.n, self.data, self.lanes = n, data, lanes
        self._gradients_of = gradients_of  # takes the index of a result: 0 if there is only one

    @np.errstate(all="ignore")
    def backward(self, gradient: float = 1.0) -> None:
        """Adds the gradients of the mean to the `grad` of each parameter, as Value.backward() does.

        Raises:
            TypeError: the function returns a list: call backward() on an element of the batch.
            RuntimeError: the function was called inside `no_grad()`.
        """
        if isinstance(self.data, list):
            raise TypeError(
                f"this batch has {len(self)} results, and backward() starts from one: "
                "call batch[0].backward()"
            )
        for watcher in watchers:
            watcher.begin([self])
        with one_at_a_time:
            row, gradients = self._gradients_of(0)
            row.grad += gradients if gradient == 1 else gradient * gradients
        for watcher in watchers:
            watcher.end([self])

    def zero_grad(self) -> None:
        """Resets the gradients of the parameters, as Value.zero_grad() does."""
        with one_at_a_time:
            self._gradients_of(0)[0].grad = 0

    def item(self) -> float:
        """The mean, as a float."""
        return float(self.data)

    def __len__(self) -> int:
        if not isinstance(self.data, list):
            raise TypeError("the function returns one Value: its results are in batch.lanes")
        return len(self.data)

    def __getitem__(self, i: int | slice) -> Batch:
        chosen: Any = range(len(self))[i]

        def gradients_of(k: int) -> tuple[Row, Array]:
            return self._gradients_of(chosen[k] if isinstance(i, slice) else chosen)

        return Batch(self.n, self.data[i], self.lanes[:, i], gradients_of)

    __array_ufunc__ = None  # arithmetic would leave the graph

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.lanes, dtype=dtype)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"Batch(data={self.data}, n={self.n})"


def as_array(i: int, x: Numbers) -> Array:
    """Argument i as an array of numbers."""
    if np.ma.is_masked(x):
        raise TypeError(f"argument {i} has masked numbers: leave out those examples")
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(
            f"argument {i} has examples of different lengths, but all examples of a batch must "
            "have the same shape: call the function once for each length"
        ) from None
    if array.dtype.kind not in "biuf":
        text = next((v for v in array.ravel().tolist() if isinstance(v, str)), 0)
        fix = fix_of(text if array.ndim == 1 else 0, "convert it with .astype(float)")
        raise TypeError(
            f"argument {i}: expected an array of real numbers, got {array.dtype} {x!r:.40}: {fix}"
        )
    # JAX has no long doubles, and numbers in the byte order of this machine alone.
    dtype = np.dtype(float) if array.dtype.char == "g" else array.dtype.newbyteorder("=")
    return array.astype(dtype, copy=False)
