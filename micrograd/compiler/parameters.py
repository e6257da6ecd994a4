"""Parameters that share storage, while `p.data` and `p.grad` work as before.

A compiled step reads all parameters from one array, and an optimizer updates them there, while
users read and set `p.data` one by one, at any time. Copying the numbers at each step would take
longer than the step itself. So they are moved into the arrays of a `Storage`. The Value itself
stays the same object, in the model, in the optimizer and in every graph. Only its class changes, so
that `data` and `grad` read and write the arrays; while a function is recorded, the recording thread
sees traced numbers in their place.

    >>> a, b = Value(1.0, label="a"), Value(2.0)
    >>> row = shared_row([a, b])
    >>> row.data += 0.5
    >>> a, b.data, isinstance(a, Value)
    (Value(data=1.5, grad=0.0), 2.5, True)
    >>> a.data = 4
    >>> row.data
    array([4. , 2.5])
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import RLock, get_ident
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.core.arithmetic import Number, as_number
from micrograd.core.node import Node
from micrograd.engine import Value

Array = npt.NDArray[np.float64]

# Held while parameters move to other storage, a row is updated, or a function is recorded or runs.
one_at_a_time = RLock()

# The slots in which a Value keeps its numbers. For a parameter in storage, the slot of `data` holds
# its place there, so that a single assignment moves both its data and its gradient.
data_slot: Any = Node.data
grad_slot: Any = Node.grad


class Storage:
    """The arrays `data` and `grad` that hold the numbers of some parameters.

    It is outdated once a parameter has left: to another storage, or because a number was assigned
    that is not a float.
    """

    def __init__(self, values: Sequence[Value]) -> None:
        self.is_outdated = False
        self._values = [weakref.ref(p) for p in values]
        with one_at_a_time:
            kinds = [_redirected(class_of(p)) for p in values]  # errors come before any change
            self.data: Array = np.array([_as_float(p, p.data) for p in values], float)
            self.grad: Array = np.array([_as_float(p, p.grad, "grad") for p in values], float)
            for index, (p, kind) in enumerate(zip(values, kinds, strict=True)):
                if old := _storage_of(p):
                    old.is_outdated = True
                p.__class__ = kind
                data_slot.__set__(p, _Place((self, index)))

    def alive(self) -> list[Value]:
        """The parameters that are still in use, in the order of the arrays."""
        return [p for reference in self._values if (p := reference()) is not None]


class _Place(tuple[Storage, int]):
    """The storage of a parameter, and its index there."""


class Redirected:
    """A base class of parameters whose numbers are in storage, or that are being recorded."""

    __slots__ = ()
    lock = one_at_a_time
    data = property(lambda p: _get(p, "data"), lambda p, x: _set(p, "data", x))
    grad = property(lambda p: _get(p, "grad"), lambda p, x: _set(p, "grad", x))

    def __isub__(self: Any, other: Any) -> Any:
        if is_recording():
            fix = "write p = p - ..., which makes a new one"
            raise ValueError(f"the function changes a Value by -=: {fix}")
        return Node.__isub__(self, other)

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """A new Value, as in `type(p)(1.0)`; it is an ordinary one."""
        return _original(cls)(*arguments, **named)

    def __reduce_ex__(self: Any, _: Any) -> Any:
        # A copy is an ordinary Value, too.
        found: Any = object.__reduce_ex__(self, 2)
        return object.__new__, (class_of(self),), *found[2:]

    @staticmethod
    def row_of(parameters: Sequence[Any]) -> Row | None:
        """The row of these parameters, adjacent; None if one is frozen, or not a float."""
        if not all(getattr(p, "requires_grad", True) for p in parameters):
            return None
        try:
            shared_row(parameters)
            in_order = sorted(parameters, key=lambda p: data_slot.__get__(p)[1])
            row = shared_row(in_order)
            if not row.is_slice:
                Storage(list(dict.fromkeys([*in_order, *row.storage.alive()])))
                row = shared_row(in_order)
        except (TypeError, AttributeError):  # not Values, or not floats
            return None
        rank = {p: i for i, p in enumerate(in_order)}
        row.ranks = [rank[p] for p in parameters]
        return row


def _numbers(i: int, kind: str) -> Any:
    def numbers(row: Row) -> Array:
        return row._views[i] if row.is_slice else getattr(row.storage, kind)[row._at]

    def set_numbers(row: Row, new: Any) -> None:
        if new is not row._views[i]:  # after `row.data += 1`, it is the view itself, up to date
            getattr(row.storage, kind)[row._at] = new

    return property(numbers, set_numbers)


class Row:
    """Some parameters of one storage, treated as one parameter whose numbers are arrays.

    Attributes:
        data, grad: arrays with a number for each parameter, which can be assigned.
        indices, is_slice: the index of each parameter in the storage, and whether they are
            adjacent; if so, += on `data` or `grad` changes the storage.
        ranks: for each parameter, in the order given to `row_of`, its index in the row.
    """

    ranks: Any = slice(None)
    lock = one_at_a_time

    def __init__(self, storage: Storage, indices: Sequence[int]) -> None:
        self.storage, self._freezes = storage, Node.freezes
        self.is_slice = all(b == a + 1 for a, b in pairwise(indices)) and bool(indices)
        self.indices = np.array(indices, np.intp)
        self._at: Any = slice(indices[0], indices[-1] + 1) if self.is_slice else self.indices
        self._views = storage.data[self._at], storage.grad[self._at]

    @property
    def is_current(self) -> bool:
        """Whether the parameters are still in this storage, and nothing has been frozen since."""
        return not self.storage.is_outdated and self._freezes == Node.freezes

    data, grad = _numbers(0, "data"), _numbers(1, "grad")


def class_of(thing: Any) -> Any:
    """The class of an object; for a parameter in storage or in a recording, its original class."""
    kind = type(thing)
    return _original(kind) if issubclass(kind, Redirected) else kind


def _original(kind: type) -> Any:
    return next(base for base in kind.__mro__ if not issubclass(base, Redirected))


def shared_row(parameters: Sequence[Value]) -> Row:
    """The row of these parameters, which are first moved into one storage if necessary.

    Raises:
        TypeError: the data or gradient of a parameter is not a float, or its class has its own way
            to keep them.

    """
    found = dict.fromkeys(map(_storage_of, parameters))
    if len(found) > 1 or None in found or any(storage.is_outdated for storage in found):
        kept = [p for storage in found if storage for p in storage.alive()]
        Storage([*dict.fromkeys([*kept, *parameters])])
    storage = _storage_of(parameters[0]) if parameters else Storage([])
    return Row(storage, [data_slot.__get__(p)[1] for p in parameters])


@contextmanager
def recorded_as(
    values: Collection[Value], make: Callable[[], Number]
) -> Iterator[Mapping[Value, Number]]:
    """A block in which this thread sees numbers from `make` as the `data` of the Values.

    Each number is made when `data` is first read, so the inputs of a recording are in order of use;
    the mapping holds those made so far. Gradients start at 0. After the block, data and gradients
    are the same as before. All other threads read and write the real numbers throughout.

    >>> a = Value(1.0)
    >>> with recorded_as([a], make=lambda: 5.0) as numbers:
    ...     (a * a).backward()
    ...     a, a in numbers
    (Value(data=5.0, grad=10.0), True)
    >>> a
    Value(data=1.0, grad=0)
    """
    global _recording
    with one_at_a_time:
        changed = [(p, _redirected(class_of(p))) for p in values if not isinstance(p, Redirected)]
        outer = _recording
        try:
            _recording = _Recording(make, values)
            for p, redirected in changed:
                p.__class__ = redirected
            yield _recording
        finally:
            _recording = outer
            for p, _ in changed:
                if _storage_of(p) is None:
                    p.__class__ = class_of(p)


class _Recording(dict[Value, Number]):
    """The data of parameters, as the recording thread sees them; `grad` holds the gradients."""

    def __init__(self, make: Callable[[], Number], values: Collection[Value]) -> None:
        self.thread, self.make = get_ident(), make
        self.grad: dict[Value, Number] = dict.fromkeys(values, 0)

    def __missing__(self, p: Value) -> Number:
        self[p] = number = self.make()
        return number


_recording: _Recording | None = None


def is_recording() -> bool:
    """Whether this thread is recording a function."""
    return _recording is not None and _recording.thread == get_ident()


@cache
def _redirected(kind: Any) -> Any:
    for name in ("data", "grad", "__setattr__", "__getattribute__"):
        if getattr(kind, name) is not getattr(Value, name):
            got = f"a {kind.__name__}, whose own {name} would be bypassed"
            fix = "use a Value, and change its data after each optimizer.step()"
            raise TypeError(
                f"expected parameters that keep their data as Value does, got {got}: {fix}"
            )
    return type(kind.__name__, (Redirected, kind), {"__slots__": (), "__module__": kind.__module__})


def _storage_of(p: Value) -> Any:
    found = data_slot.__get__(p)
    return found[0] if type(found) is _Place else None


def _get(p: Any, kind: str) -> Number:
    recording = _recording
    if recording is not None and recording.thread == get_ident() and p in recording.grad:
        return recording[p] if kind == "data" else recording.grad[p]
    found = data_slot.__get__(p)
    if type(found) is not _Place:
        return found if kind == "data" else grad_slot.__get__(p)
    storage, index = found
    return getattr(storage, kind).item(index)


def _set(p: Any, kind: str, number: Any) -> None:
    recording = _recording
    if recording is not None and recording.thread == get_ident() and p in recording.grad:
        if kind == "data" and number is not recording[p]:
            fix = "compile the loss alone, and keep assignments to p.data and step() outside"
            raise ValueError(f"the function changes the data of a Value: {fix}")
        if kind == "grad":
            recording.grad[p] = number
        return
    known = number if isinstance(number, (float, int)) else as_number(number)
    found = data_slot.__get__(p)
    if type(found) is _Place:
        storage, index = found
        if isinstance(known, (float, int)):  # the usual case
            getattr(storage, kind)[index] = known
            return
        storage.is_outdated = True  # arrays cannot hold this number
        data_slot.__set__(p, storage.data.item(index))
        grad_slot.__set__(p, storage.grad.item(index))
    (data_slot if kind == "data" else grad_slot).__set__(p, number)


def _as_float(p: Value, number: Any, kind: str = "data") -> float:
    known = as_number(number)
    if not isinstance(known, float):
        name = repr(p.label) if p.label else "a parameter"
        got = f"got {number!r:.60} as the {kind} of {name}"
        raise TypeError(f"compiled functions compute with floats, {got}: convert it with float()")
    return known
