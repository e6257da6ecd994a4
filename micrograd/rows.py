"""Parameters as optimizers see them: one by one, or together as one row.

The parameters of a compiled function share storage: their numbers are in one array. Such a
parameter has a method `row_of(parameters, rearrange)`, which returns the row of these parameters:
an object that has `data` and `grad` like a single parameter, except that both are arrays. So the
same update rule works for one parameter or for all of them.

    >>> class Parameter:
    ...     data, grad = 3.0, 0.5
    >>> parameters = Parameters([Parameter(), Parameter()], "SGD")
    >>> parameters.find_row()
    >>> parameters.row is None  # these two do not share storage
    True
    >>> with parameters.quietly():
    ...     parameters.check_gradients()
    ...     for i, p in parameters.entries():
    ...         parameters.state("velocity")[i] = p.grad
    ...         p.data -= 0.5 * p.grad
    >>> [p.data for p in parameters.all], parameters.state("velocity")
    ([2.75, 2.75], [0.5, 0.5])
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import nullcontext
from threading import RLock
from typing import Any

__all__ = ["Parameters", "one_at_a_time"]

# Held while parameters move to other storage, while a row is updated, and while a function is
# recorded. Otherwise a thread could update a row that another thread has just copied elsewhere.
one_at_a_time = RLock()


class Parameters:
    """The parameters of an optimizer, and the numbers that the optimizer keeps for each of them.

    Args:
        given: parameters, or pairs (name, parameter).
        user: name of the optimizer or function that uses them, for error messages.
        elementwise: whether `entries` and `state` may use arrays: True, False or 'in place', as in
            `optim.Optimizer`.

    Attributes:
        all: a tuple of the parameters.
        names: a name for each parameter, for error messages.
        row: the row of all parameters; None if they do not share storage.

    Raises:
        TypeError: something in `given` is not a parameter.
        ValueError: there are no parameters, or one is listed twice.
    """

    def __init__(self, given: Iterable[Any], user: str, elementwise: bool | str = "in place"):
        self.names, self.all = _checked(given, user)
        self.row: Any = None
        self._elementwise = elementwise
        self._states: dict[str, Any] = {}

    def find_row(self, rearrange: bool = True) -> None:
        """Sets `row`; with `rearrange`, also makes its numbers contiguous in the storage."""
        if self.row is not None and self.row.is_current:
            return
        row_of = next((p.row_of for p in self.all if hasattr(p, "row_of")), None)
        row = row_of(self.all, rearrange) if row_of else None
        if row is not self.row:
            lists = self._lists()
            self.row = row
            self._states = {name: self._arranged(numbers) for name, numbers in lists.items()}

    def entries(self) -> Iterable[tuple[Any, Any]]:
        """Pairs (index into `state(name)`, parameter), or a single pair (index, row) for all."""
        if self.row is None or not self._elementwise:
            return enumerate(self.all)
        return [(..., self.row if self._elementwise == "in place" else _CopiedRow(self.row))]

    def state(self, name: str) -> Any:
        """Numbers kept from one step to the next, one for each parameter, initially 0.0."""
        if name not in self._states:
            self._states[name] = self._arranged([0.0] * len(self.all))
        return self._states[name]

    def quietly(self) -> Any:
        """A context in which arithmetic on the row overflows without a warning, as with floats."""
        return nullcontext() if self.row is None else self.row.quietly()

    def check_gradients(self) -> None:
        """Raises a ValueError or TypeError if a gradient is not a finite number."""
        if self.row is not None and math.isfinite(self.row.grad.dot(self.row.grad)):
            return  # otherwise check each: perhaps only the sum of squares overflowed
        for name, p in zip(self.names, self.all, strict=True):
            if not isinstance(p.grad, (int, float)) and not hasattr(p.grad, "__float__"):
                raise TypeError(
                    f"expected a number as the gradient of {name}, got {p.grad!r:.40}: call "
                    "backward() before step(), and reset gradients to 0"
                )
            if not math.isfinite(p.grad):
                raise ValueError(
                    f"the gradient of {name} is {p.grad}, so no parameter was changed: leave out "
                    "examples with NaN, or try a lower learning rate or clip_grad_norm"
                )

    def __getstate__(self) -> dict[str, Any]:
        # A copied parameter does not share the storage of the original.
        return {**self.__dict__, "row": None, "_states": self._lists()}

    def _lists(self) -> dict[str, list[float]]:
        if self.row is None or not self._elementwise:
            return self._states
        ranks = self.row.ranks
        return {name: numbers[...][ranks].tolist() for name, numbers in self._states.items()}

    def _arranged(self, numbers: list[float]) -> Any:
        if self.row is None or not self._elementwise:
            return numbers
        array = self.row.data.copy()
        array[self.row.ranks] = numbers
        return array if self._elementwise == "in place" else _CopiedArray(array)


class _CopiedArray:
    """An array that returns copies: after `old = v[i]`, changing `v[i]` does not change `old`."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, i: Any) -> Any:
        return self._array[i].copy()

    def __setitem__(self, i: Any, numbers: Any) -> None:
        self._array[i] = numbers


class _CopiedRow:
    """A row that returns copies of its arrays, for update rules that keep `old = p.data`."""

    def __init__(self, row: Any) -> None:
        self._row = row

    data = property(lambda p: p._row.data.copy(), lambda p, x: setattr(p._row, "data", x))
    grad = property(lambda p: p._row.grad.copy(), lambda p, x: setattr(p._row, "grad", x))


def _checked(given: Iterable[Any], user: str) -> tuple[list[str], tuple[Any, ...]]:
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{user} expects a list of parameters, got {type(given).__name__}: "
            "pass model.parameters()"
        )
    pairs = [
        pair
        for p in given
        for pair in _elements(*(p if isinstance(p, tuple) and len(p) == 2 else ("", p)))
    ]
    if not pairs:
        raise ValueError(
            f"{user} expects at least one parameter, got none: pass model.parameters()"
        )
    names: list[str] = []
    first: dict[int, int] = {}
    for i, (name, p) in enumerate(pairs):
        label = name or getattr(p, "label", "")
        names.append(f"parameter {i} ({label!r})" if label else f"parameter {i}")
        if not (hasattr(p, "data") and hasattr(p, "grad")):
            raise TypeError(
                f"{user} expects parameters with data and grad, got {p!r:.60} as parameter {i}: "
                "pass model.parameters()"
            )
        if first.setdefault(id(p), i) != i:
            raise ValueError(
                f"{user} expects each parameter once, got {names[i]} also as parameter "
                f"{first[id(p)]}: remove one of them, so that it is not updated twice in a step"
            )
    return names, tuple(p for _, p in pairs)


def _elements(name: str, p: Any) -> list[tuple[str, Any]]:
    # An array of Values is replaced by its elements.
    if str(getattr(p, "dtype", "")) != "object":
        return [(name, p)]
    return [(f"{name}[{i}]" if name else "", e) for i, e in enumerate(p.ravel().tolist())]
