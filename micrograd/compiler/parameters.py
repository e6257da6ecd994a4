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

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.arithmetic import Number, as_number
from micrograd.engine import Value

Array = npt.NDArray[np.float64]

# The places in which Value itself keeps its numbers; one of them now keeps where they have gone.
_home_of: Any = Value.__dict__["data"]
_place_of: Any = Value.__dict__["grad"]


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
        numbers = [(_as_float(p, p.data), _as_float(p, p.grad, "grad")) for p in values]
        self._values = [weakref.ref(p) for p in values]
        self.data: Array = np.array([data for data, _ in numbers])
        self.grad: Array = np.array([grad for _, grad in numbers])
        self.others: dict[tuple[str, int], Any] = {}
        self.is_left = False
        for place, p in enumerate(values):
            if isinstance(p, Resident):
                _home_of.__get__(p).is_left = True
            else:
                kind: Any = type(p)
                p.__class__ = _resident(kind)
            _home_of.__set__(p, self)
            _place_of.__set__(p, place)

    def alive(self) -> list[Value]:
        """The parameters that are still in use, in the order of the arrays."""
        return [p for reference in self._values if (p := reference()) is not None]


class Resident:
    """The part of a parameter's class that looks its numbers up.

    >>> a, b = Value(1.0), Value(2.0)
    >>> _ = together([a, b])
    >>> type(a).__mro__[:3] == (type(a), Resident, Value)
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
            in_place = sorted(parameters, key=_place_of.__get__)
            row = together(in_place)
            if not row.is_slice and move:
                Home(list(dict.fromkeys([*in_place, *row.home.alive()])))
                row = together(in_place)
        except (TypeError, AttributeError):  # others than Values, or with other numbers
            return None
        rank = {p: i for i, p in enumerate(in_place)}
        row.ranks = [rank[p] for p in parameters]
        return row

    def __reduce_ex__(self, _: Any) -> Any:
        # A copy is an ordinary Value again.
        kind = type(self).__mro__[2]
        return _copied, (kind, self.data, self.grad, dict(self.__dict__))


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
    home = _home_of.__get__(parameters[0]) if parameters else Home([])
    for (kind, place), number in home.others.items():
        if (p := home._values[place]()) is not None:
            _as_float(p, number, kind)
    return Row(home, [_place_of.__get__(p) for p in parameters])


@contextmanager
def away_from_home(values: Iterable[Value]) -> Iterator[None]:
    """In this block they keep their numbers themselves, whatever kind these are.

    To record, that is quicker; and what the block leaves in them is forgotten.

    >>> a = Value(1.0)
    >>> row = together([a])
    >>> with away_from_home([a]):
    ...     a.data = 5.0
    >>> a.data, row.is_current
    (1.0, True)
    """
    inhabitants: list[Any] = [p for p in values if isinstance(p, Resident)]
    homes = [(_home_of.__get__(p), _place_of.__get__(p)) for p in inhabitants]
    for p in inhabitants:
        data, grad, p.__class__ = p.data, p.grad, type(p).__mro__[2]
        p.data, p.grad = data, grad
    try:
        yield
    finally:
        for p, (home, place) in zip(inhabitants, homes, strict=True):
            if isinstance(p, Resident):  # somewhere else by now
                home.is_left = True
                continue
            kind: Any = type(p)
            _place_of.__set__(p, place)
            _home_of.__set__(p, home)
            p.__class__ = _resident(kind)


def _home(p: Value) -> Home | None:
    return _home_of.__get__(p) if isinstance(p, Resident) else None


@cache
def _resident(kind: Any) -> Any:
    return type(kind.__name__, (Resident, kind), {"__slots__": (), "__module__": kind.__module__})


def _get(p: Any, kind: str) -> Number:
    home, place = _home_of.__get__(p), _place_of.__get__(p)
    if home.others and (kind, place) in home.others:
        return home.others[kind, place]
    return getattr(home, kind).item(place)


def _set(p: Any, kind: str, number: Any) -> None:
    home, place = _home_of.__get__(p), _place_of.__get__(p)
    if isinstance(number, (float, int)):
        getattr(home, kind)[place] = number
        if home.others:
            home.others.pop((kind, place), None)
    elif isinstance(known := as_number(number), float):  # one of NumPy's
        _set(p, kind, known)
    else:
        home.others[kind, place] = number


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
