"""What a compiled function returns: a Batch of its results, in the structure that it returns.

A structure is what the function returned, with an index in the place of each result: 0 for a single
Value, [0, 1] for a list of two, {"loss": 0, "logits": array([1, 2])} for a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from micrograd.compiler.arguments import as_row
from micrograd.compiler.parameters import Row, one_at_a_time
from micrograd.compiler.schedule import Array
from micrograd.core.pause import watchers


class Batch:
    """The results of a compiled function for a batch of examples.

    Attributes:
        n: the number of examples.
        data: the mean over the examples; a list, array or dict of means if the function returns a
            list, an array or a dict.
        lanes: the result for each example: shape (n,), or (n, k) for a list of k results, (n, ...)
            for an array; a dict of them for a dict.

    >>> from micrograd import Value, compile
    >>> w = Value(2.0)
    >>> both = compile(lambda x: {"a": w * x, "b": w + x})([1.0, 3.0])
    >>> both.data, both["b"].lanes
    ({'a': 4.0, 'b': 4.0}, array([3., 5.]))
    >>> both["b"].backward()
    >>> w.grad
    1.0
    """

    def __init__(
        self,
        n: int,
        structure: Any,
        means: Sequence[float],
        rows: Array,
        gradients_of: Callable[[int, Any], tuple[Row, Array]],
    ) -> None:
        self.n, self._structure, self._means, self._rows = n, structure, means, rows
        self._gradients_of = gradients_of  # takes the index of a result, and upstream gradients

    @property
    def data(self) -> Any:
        """The means over the examples."""
        means = self._means
        return built(
            self._structure,
            lambda i: means[i] if isinstance(i, int) else np.array(means)[i].tolist(),
        )

    @property
    def lanes(self) -> Any:
        """The results for each example."""
        rows = self._rows
        return built(
            self._structure,
            lambda i: rows[i] if isinstance(i, int) else np.moveaxis(rows[i], -1, 0),
        )

    @np.errstate(all="ignore")
    def backward(self, gradient: Any = 1.0) -> None:
        """Adds the gradients of the mean to the `grad` of each parameter, as Value.backward() does.

        `gradient` is the upstream gradient of the mean; or, as an array of shape (n,), that of the
        result of each example.

        Raises:
            TypeError: the function returns several results: call backward() on one of them.
            RuntimeError: the function was called inside `no_grad()`.
        """
        if not isinstance(self._structure, int):
            key = next(iter(self.keys()), 0)
            several = f"this batch has {len(self)} results, and backward() starts from one"
            raise TypeError(f"{several}: call batch[{key!r}].backward()")
        upstream = None
        if not isinstance(gradient, (int, float)) and np.ndim(gradient):
            upstream, gradient = self.n * np.asarray(gradient, float), 1.0  # of the mean
            if upstream.shape != (self.n,):
                expected = f"one number as gradient, or one for each of the {self.n} examples"
                raise ValueError(f"backward expects {expected}, got shape {upstream.shape}")
        for watcher in watchers:
            watcher.begin([self])
        with one_at_a_time:
            row, gradients = self._gradients_of(self._structure, upstream)
            row.grad += gradients if gradient == 1 else gradient * gradients
        for watcher in watchers:
            watcher.end([self])

    def zero_grad(self) -> None:
        """Resets the gradients of the parameters, as Value.zero_grad() does."""
        with one_at_a_time:
            self._gradients_of(0, None)[0].grad = 0

    def item(self) -> float:
        """The mean, as a float."""
        return float(self.data)

    def keys(self) -> Any:
        """The keys of a dict of results; of a list or an array, its indices."""
        return self._structure.keys() if isinstance(self._structure, dict) else range(len(self))

    def __len__(self) -> int:
        if isinstance(self._structure, int):
            raise TypeError("the function returns one Value: its results are in batch.lanes")
        return len(self._structure)

    def __iter__(self) -> Iterator[Any]:
        keys: Any = self.keys()
        return iter(keys) if isinstance(self._structure, dict) else map(self.__getitem__, keys)

    def __getitem__(self, key: Any) -> Batch:
        len(self)  # an error if there is a single result
        chosen = self._structure[key]
        chosen = chosen.item() if isinstance(chosen, np.integer) else chosen
        return Batch(self.n, chosen, self._means, self._rows, self._gradients_of)

    __array_ufunc__ = None  # arithmetic would leave the graph

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.lanes, dtype=dtype)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"Batch(data={self.data}, n={self.n})"


def structured(returned: Any, found: list[Any]) -> Any:
    """The structure of what a function returned; its results are appended to `found`."""
    if isinstance(returned, dict):
        return {key: structured(x, found) for key, x in returned.items()}
    if isinstance(returned, np.ndarray) and returned.ndim:
        first = len(found)
        found += returned.ravel().tolist()
        return np.arange(first, len(found)).reshape(returned.shape)
    if isinstance(returned, (list, tuple)):
        return _like(returned, [structured(x, found) for x in returned])
    if returned is None:
        return None
    found.append(returned.item() if isinstance(returned, np.ndarray) else returned)
    return len(found) - 1


def built(structure: Any, of: Callable[[Any], Any]) -> Any:
    """A structure with what `of` returns for an index, or for a list or array of indices."""
    if isinstance(structure, dict):
        return {key: built(part, of) for key, part in structure.items()}
    if isinstance(structure, (list, tuple)):
        has_fields = hasattr(structure, "_fields")
        if not has_fields and all(type(i) is int for i in structure):
            return of([*structure])
        parts = [built(i, of) for i in structure]
        return _like(structure, parts) if has_fields else parts
    return None if structure is None else of(structure)


def rebuilt(structure: Any, leaves: Sequence[Any]) -> Any:
    """What `structured` took apart, with these leaves."""
    if isinstance(structure, dict):
        return {key: rebuilt(part, leaves) for key, part in structure.items()}
    if isinstance(structure, np.ndarray):
        array = np.empty(structure.size, object)
        array[:] = [leaves[i] for i in structure.flat]
        return as_row(array.reshape(structure.shape))
    if isinstance(structure, (list, tuple)):
        return _like(structure, [rebuilt(part, leaves) for part in structure])
    return None if structure is None else leaves[structure]


def are_same(a: Any, b: Any) -> bool:
    """Whether two structures are the same."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape
    if type(a) is not type(b) or isinstance(a, int) or a is None:
        return bool(a == b)
    parts: Any = (a.values(), b.values()) if isinstance(a, dict) else (a, b)
    is_form = [*a] == [*b] if isinstance(a, dict) else len(a) == len(b)
    return is_form and all(map(are_same, *parts))


def _like(structure: Any, parts: list[Any]) -> Any:
    kind = type(structure)
    return kind(*parts) if hasattr(structure, "_fields") else kind(parts)
