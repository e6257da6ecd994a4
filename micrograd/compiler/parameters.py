"""Parameters that live in one array, while `p.data` and `p.grad` stay true.

A compiled step wants all parameters as one row of numbers, an optimizer as well; users read and set
`p.data` one by one, whenever they like. Copying from the one to the other at each step would take
longer than the step. So a parameter moves: its numbers stand in the arrays of a `Home`, and `data`
and `grad` become windows on them. The Value itself stays who it is, in the model, in the optimizer
and in every graph; only its class changes, to one that looks its numbers up.

    >>> a, b = Value(1.0, label="a"), Value(2.0)
    >>> row = together([a, b])
    >>> row.data += 0.5
    >>> a, b.data, isinstance(a, Value)
    (Value(data=1.5, grad=0.0), 2.5, True)
    >>> a.data = 4
    >>> row.data
    array([4. , 2.5])
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import RLock, get_ident
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.arithmetic import Number, as_number
from micrograd.engine import Value

Array = npt.NDArray[np.float64]

# The slots in which Value itself keeps its numbers. That of `data` holds a pair of home and place
# once the parameter has moved: a single assignment moves both of its numbers.
_data_slot: Any = Value.__dict__["data"]
_grad_slot: Any = Value.__dict__["grad"]

one_at_a_time = RLock()  # functions are recorded, and parameters move, one after the other
_class_stays = RLock()  # while a thread uses the numbers of a parameter that another one records
for lock in (_class_stays, one_at_a_time):
    if hasattr(os, "register_at_fork"):  # or a child would wait for a thread that it does not have
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


class Home:
    """The arrays in which parameters live.

    Attributes:
        data, grad: their numbers.
        others: what was assigned and is no float, by ('data' or 'grad', place): a fraction, or a
            number that records.
        is_left: whether they have moved on, into a larger home.

    >>> a, b = Value(1.0), Value(2.0)
    >>> home = Home([a, b])
    >>> home.data[1] = 5.0
    >>> b
    Value(data=5.0, grad=0.0)
    >>> larger = Home([*home.alive(), Value(3.0)])
    >>> home.is_left, larger.data
    (True, array([1., 5., 3.]))
    """

    def __init__(self, values: Sequence[Value]) -> None:
        self.others: dict[tuple[str, int], Any] = {}
        self.is_left = False
        self._values = [weakref.ref(p) for p in values]
        with one_at_a_time:
            self.data: Array = np.array([_as_float(p, p.data) for p in values])
            self.grad: Array = np.array([_as_float(p, p.grad, "grad") for p in values])
            for place, p in enumerate(values):
                old = _data_slot.__get__(p)
                if isinstance(p, Resident):
                    _home(p).is_left = True
                    _data_slot.__set__(p, (self, place))
                    self.data[place] = old[0].data[old[1]]  # if another thread has just set it
                else:
                    kind: Any = type(p)
                    p.__class__ = _resident(kind)  # from here on, other threads wait to write
                    self.data[place], self.grad[place] = p.data, p.grad
                    _data_slot.__set__(p, (self, place))

    def alive(self) -> list[Value]:
        """The parameters that are still in use, in the order of the arrays."""
        return [p for reference in self._values if (p := reference()) is not None]


class Elsewhere:
    """The part of a parameter's class while its numbers are not where a Value keeps them."""

    __slots__ = ()

    def __reduce_ex__(self: Any, _: Any) -> Any:
        # A copy is an ordinary Value again.
        kind = next(kind for kind in type(self).__mro__ if not issubclass(kind, Elsewhere))
        return _copied, (kind, self.data, self.grad, dict(self.__dict__))


class Resident(Elsewhere):
    """The part of a parameter's class that looks its numbers up.

    >>> a, b = Value(1.0), Value(2.0)
    >>> _ = together([a, b])
    >>> type(a).__mro__[:3] == (type(a), Resident, Elsewhere)
    True
    >>> row = a.row_of([b, a])  # what an optimizer asks for
    >>> row.data, row.ranks
    (array([1., 2.]), [1, 0])
    """

    __slots__ = ()
    data = property(lambda p: _get(p, "data"), lambda p, x: _set(p, "data", x))
    grad = property(lambda p: _get(p, "grad"), lambda p, x: _set(p, "grad", x))

    @staticmethod
    def row_of(parameters: Sequence[Any], move: bool = True) -> Row | None:
        """The row of these parameters, as they stand in their home; None if not all are floats."""
        try:
            together(parameters)
            in_place = sorted(parameters, key=lambda p: _data_slot.__get__(p)[1])
            row = together(in_place)
            if not row.is_slice and move:
                Home(list(dict.fromkeys([*in_place, *row.home.alive()])))
                row = together(in_place)
        except (TypeError, AttributeError):  # others than Values, or with other numbers
            return None
        rank = {p: i for i, p in enumerate(in_place)}
        row.ranks = [rank[p] for p in parameters]
        return row


class Row:
    """Some parameters of one home, as if they were a single one whose numbers are arrays.

    Attributes:
        is_slice: whether they are neighbours: then the arrays are views, and += writes at once.
        ranks: of each parameter, where in the row it stands.

    >>> a, b = Value(3.0), Value(4.0)
    >>> row = together([a, b])
    >>> row.grad += np.array([0.5, 1.0])
    >>> row.data -= 2.0 * row.grad
    >>> a, b
    (Value(data=2.0, grad=0.5), Value(data=2.0, grad=1.0))
    >>> with row.quietly():
    ...     row.data *= 1e308
    >>> a.data
    inf
    """

    ranks: Any = slice(None)

    def __init__(self, home: Home, places: Sequence[int]) -> None:
        self.home = home
        self.is_slice = all(b == a + 1 for a, b in pairwise(places)) and bool(places)
        self._places: slice | npt.NDArray[np.intp] = np.array(places, np.intp)
        if self.is_slice:
            self._places = slice(places[0], places[-1] + 1)
        self._views = home.data[self._places], home.grad[self._places]

    @property
    def is_current(self) -> bool:
        """Whether the parameters still live there, all of them as floats."""
        return not (self.home.is_left or self.home.others)

    @property
    def data(self) -> Array:
        """The numbers of all of them."""
        return self._views[0] if self.is_slice else self.home.data[self._places]

    @data.setter
    def data(self, numbers: Any) -> None:
        """Sets them all; after `row.data += 1` the view that comes in has them already."""
        if numbers is not self._views[0]:
            self.home.data[self._places] = numbers

    @property
    def grad(self) -> Array:
        """The gradients of all of them."""
        return self._views[1] if self.is_slice else self.home.grad[self._places]

    @grad.setter
    def grad(self, numbers: Any) -> None:
        """Sets them all, as for the numbers."""
        if numbers is not self._views[1]:
            self.home.grad[self._places] = numbers

    def quietly(self) -> Any:
        """A context in which numbers overflow as floats do, without a warning."""
        return np.errstate(all="ignore")


def together(parameters: Sequence[Value]) -> Row:
    """The row of these parameters; they move into one home if they do not live in one.

    Raises:
        TypeError: the data or gradient of a parameter is no float.

    >>> a, b, c = Value(1.0), Value(2.0), Value(3.0)
    >>> first, second = together([a, b]), together([b, c])
    >>> second.data, first.is_current, second.is_current
    (array([2., 3.]), False, True)
    """
    homes = {id(home): home for p in parameters if (home := _home(p)) is not None}
    if len(homes) != 1 or any(_home(p) is None for p in parameters):
        everybody = [p for home in homes.values() for p in home.alive()]
        new = [p for p in parameters if _home(p) is None]
        Home([*everybody, *new])
    home = _home(parameters[0]) if parameters else Home([])
    for (kind, place), number in home.others.items():
        if (p := home._values[place]()) is not None:
            _as_float(p, number, kind)
    return Row(home, [_data_slot.__get__(p)[1] for p in parameters])


@contextmanager
def recorded_as(
    values: Collection[Value], make: Callable[[], Number]
) -> Iterator[Mapping[Value, Number]]:
    """In this block the `data` of the Values are numbers that are made, for this thread alone.

    A number is made when `data` is first read; the mapping has all that were made. Gradients start
    from 0, and whatever the block leaves in either is forgotten. All other threads read and write
    the numbers that are really there.

    >>> a = Value(1.0)
    >>> with recorded_as([a], make=lambda: 5.0) as numbers:
    ...     (a * a).backward()
    ...     a, isinstance(a, InRecording), a in numbers
    (Value(data=5.0, grad=10.0), True, True)
    >>> a
    Value(data=1.0, grad=0)
    """
    global _recorded
    with one_at_a_time:
        outer = _recorded
        _recorded = _Recorded(get_ident(), make, values, outer)
        _recorded.grad |= {p: g for p, g in outer.grad.items() if p not in _recorded.grad}
        changed = [p for p in values if not isinstance(p, InRecording)]
        try:
            for p in changed:
                kind: Any = type(p)
                p.__class__ = _in_recording(kind)
            yield _recorded
        finally:
            with _class_stays:
                for p in changed:
                    p.__class__ = type(p).__bases__[1]
            _recorded = outer


def _home(p: Value) -> Any:
    return _data_slot.__get__(p)[0] if isinstance(p, Resident) else None


@cache
def _resident(kind: Any) -> Any:
    return type(kind.__name__, (Resident, kind), {"__slots__": (), "__module__": kind.__module__})


def _get(p: Any, kind: str) -> Number:
    found = _data_slot.__get__(p)
    if type(found) is not tuple:  # another thread is moving it right now
        return found if kind == "data" else _grad_slot.__get__(p)
    home, place = found
    if home.others and (kind, place) in home.others:
        return home.others[kind, place]
    return getattr(home, kind).item(place)


def _set(p: Any, kind: str, number: Any) -> None:
    while type(found := _data_slot.__get__(p)) is not tuple:
        with one_at_a_time:  # another thread is moving it right now
            pass
    home, place = found
    if isinstance(number, (float, int)):
        getattr(home, kind)[place] = number
        if home.others:
            home.others.pop((kind, place), None)
        if home.is_left and _home(p) is not home:  # another thread has moved it meanwhile
            _set(p, kind, number)
    elif isinstance(known := as_number(number), float):  # one of NumPy's
        _set(p, kind, known)
    else:
        home.others[kind, place] = number


class _Recorded(dict[Value, Number]):
    """The data that one thread sees in parameters, while it records what is done to them.

    An input of the recording is made when it is first read, so inputs are in the order of use.
    """

    def __init__(
        self, thread: int, make: Callable[[], Number], values: Collection[Value], outer: Any
    ) -> None:
        self.thread = thread
        self.grad: dict[Value, Number] = dict.fromkeys(values, 0)
        self._make, self._values, self._outer = make, set(values), outer

    def __missing__(self, p: Value) -> Number:
        self[p] = number = self._make() if p in self._values else self._outer[p]
        return number


_recorded = _Recorded(0, float, (), {})


class InRecording(Elsewhere):
    """The part of a parameter's class that gives other numbers to the thread that records."""

    __slots__ = ()


@cache
def _in_recording(kind: Any) -> Any:
    def seen(name: str) -> property:
        own = getattr(kind, name)  # a slot of Value, or what a Resident has

        def get(p: Value) -> Number:
            recorded = _recorded
            if recorded.thread == get_ident():
                return recorded[p] if name == "data" else recorded.grad[p]
            with _class_stays:
                return own.__get__(p) if isinstance(p, InRecording) else getattr(p, name)

        def set(p: Value, number: Number) -> None:
            recorded = _recorded
            if recorded.thread == get_ident():
                numbers = recorded if name == "data" else recorded.grad
                numbers[p] = number
                return
            with _class_stays:
                own.__set__(p, number) if isinstance(p, InRecording) else setattr(p, name, number)

        return property(get, set)

    parts = {name: seen(name) for name in ("data", "grad")}
    slots = {"__slots__": (), "__module__": kind.__module__}
    return type(kind.__name__, (InRecording, kind), {**parts, **slots})


def _as_float(p: Value, number: Any, kind: str = "data") -> float:
    known = as_number(number)
    if not isinstance(known, float):
        name = repr(p.label) if p.label else "a parameter"
        raise TypeError(
            f"compiled functions compute with floats, got {number!r:.60} "
            f"as the {kind} of {name}: convert it with float()"
        )
    return known


def _copied(kind: type[Value], data: Number, grad: Number, attributes: dict[str, Any]) -> Value:
    value = kind.__new__(kind)
    Value.__init__(value, data)
    value.grad = grad
    value.__dict__.update(attributes)
    return value
