"""Pass 0: a function of scalars, recorded.

The function is called with numbers that record, as chapter 8 does it, and `backward()` records the
gradients. What is a parameter shows by itself: a Value that was there before the call and that the
result was computed from. So the function runs twice: once for a glance at the Values it meets, once
with recording numbers as their data. (At the glance their data are what they are; where an
operation on them alone fails, as the logarithm of a negative parameter, it says so as ever.) For
arguments of another shape it runs once, with the parameters that are known by then.

    >>> w = Value(2.0, label="w")
    >>> found = recorded(lambda x: (w * x).tanh(), [()])
    >>> [step.op for step in found.recording.instructions]
    ['input', 'input', '*', 'tanh', '*', 'constant', '-', '*', '*']
    >>> found.parameters, found.arguments
    ([Value(data=2.0, grad=0)], {'x': ['x']})
"""

from __future__ import annotations

import gc
import inspect
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from micrograd.arithmetic import Number, as_number
from micrograd.compiler.parameters import away_from_home
from micrograd.compiler.simplify import Simplified
from micrograd.engine import Constant, Value, _unrecorded, topological_order
from micrograd.pause import resumed
from micrograd.trace import Recording, Traced, distinct

Shape = tuple[int, ...]

ATTEMPTS = 10  # to find all parameters; two will do, but for functions that make some
FARTHEST = 100_000  # things that a function refers to


class Recorded(NamedTuple):
    """A function of arguments of certain shapes.

    Attributes:
        recording: its instructions, those of inputs first.
        arguments: their names, each with a name for each of its numbers.
        parameters: Values that were there before the call.
        places: of the parameters.
        results: the place of each Value that it returns.
        gradients: of one result by each parameter, as places.
        is_list: whether it returns a list.

    >>> w, b = Value(2.0), Value(1.0)
    >>> found = recorded(lambda x: [w * x, w + b], [()])
    >>> found.arguments, found.places  # x, then w and b
    ({'x': ['x']}, [1, 2])
    >>> found.parameters == [w, b], found.is_list
    (True, True)
    >>> [found.recording.instructions[i].op for i in found.results]
    ['*', '+']
    """

    recording: Simplified
    arguments: dict[str, list[str]]
    parameters: list[Value]
    places: list[int]
    results: list[int]
    gradients: list[int]
    is_list: bool


def recorded(
    function: Callable[..., Any],
    shapes: Sequence[Shape],
    output: int = 0,
    known: Sequence[Value] = (),
) -> Recorded:
    """The instructions of a function, and of the backward pass from one of its results.

    Args:
        function: takes numbers, or lists of numbers, and returns a Value or a list of Values.
        shapes: of the arguments: () for a number, (d,) for a list of d, (n, d) for a list of lists.
        output: the number of the result whose gradients are wanted.
        known: parameters that it had for other shapes, which spares the glance.

    Raises:
        TypeError: the function returns something else.
        ValueError: it uses what was computed from parameters before it was called.
        TraceError: it asks for the value of a number, as `if x > 0` does.
    """
    # no_grad() says whether gradients are wanted when the program runs; it is recorded with them.
    with resumed(), _numbers_kept(function) as put_back:
        news = list(known) or _at_a_glance(function, shapes)
        parameters: dict[Value, None] = {}
        before: dict[Value, None] = {}
        for attempt in range(ATTEMPTS):
            put_back()
            parameters.update(dict.fromkeys(v for v in news if not v._prev))
            before.update(dict.fromkeys(v for v in news if v._prev))
            with away_from_home(parameters):
                found, others, constants = _recorded(function, shapes, output, parameters, before)
            put_back()
            for p in constants:
                del parameters[p]
            are_of_use = attempt == 0 or any(p in news for p in found.parameters)
            news = [v for v in others if v not in parameters and v not in before]
            # New ones are of a branch that was not taken before. Or they are made anew in each
            # call, and then the last ones have not been of use.
            if not constants and not (news and are_of_use):
                return found
    raise ValueError(
        "the function keeps Values that it makes, more of them each time that it is called: make "
        "parameters before, and once"
    )


def _recorded(
    function: Callable[..., Any],
    shapes: Sequence[Shape],
    output: int,
    parameters: Collection[Value],
    before: Collection[Value],
) -> tuple[Recorded, list[Value], list[Value]]:
    # With these parameters. Also, further ones that have come to light, and some that are none:
    # they were read, as by `p.data`, but stand in no operation.
    recording = Simplified()
    arguments = [_nested(shape, recording.input) for shape in shapes]
    numbers = [(p.data, 0 if isinstance(p.grad, Traced) else p.grad) for p in parameters]
    place_of = {}
    others: list[tuple[Value, tuple[Number, Number]]] = []
    try:
        for p in parameters:
            p.data = number = recording.input(0.0)
            p.grad, place_of[p] = 0, number.place
        results, is_list = _results(function(*arguments))
        nodes = topological_order(*results)
        met = set(nodes)
        _check_all_is_new(met, before)
        others = [(other, (other.data, other.grad)) for other in _others(nodes)]
        if results[output]._closure is not _unrecorded:  # else there is nothing to derive by
            results[output].backward()
        gradients = {p: recording.place(p.grad) for p in parameters if p in met}
        outcomes = [recording.place(v.data) for v in results]
        unmet = [p for p in parameters if p not in met]
    finally:
        _restore(parameters, numbers)
        _restore([other for other, _ in others], [numbers for _, numbers in others])
    references = [weakref.ref(other) for other, _ in others]
    del results, nodes, met, others
    if unmet:
        asked_for = set(chain.from_iterable(recording.instructions.operands))
        unmet = [p for p in unmet if place_of[p] in asked_for]
    found = Recorded(
        recording,
        _names(function, shapes),
        list(gradients),
        [place_of[p] for p in gradients],
        outcomes,
        list(gradients.values()),
        is_list,
    )
    return found, _that_were_there(references), unmet


class _Glance(Recording):
    """A recording that writes nothing: for a first call, which only shows what is there."""

    def __init__(self) -> None:
        super().__init__()
        self._anything = super().result("input", (), 0.0)

    def result(self, op: str, operands: tuple[int, ...], number: Any = None) -> Traced:
        """The same number every time."""
        return self._anything


@contextmanager
def _numbers_kept(function: Callable[..., Any]) -> Iterator[Callable[[], None]]:
    # Whatever the function does, no number that records stays in a Value of the user's.
    kept = [(v, v.data, v.grad) for v in _within_reach(function)]

    def cleaned() -> bool:
        is_changed = False
        for v, data, grad in kept:
            if isinstance(v.data, Traced) and v.data is not data:
                v.data, is_changed = data, True
            if isinstance(v.grad, Traced):
                v.grad = grad
        return is_changed

    def put_back() -> None:
        if cleaned():
            raise ValueError(
                "the function changes the data of a Value: compile the loss alone, and leave "
                "p.data and the optimizer's step() outside"
            )

    try:
        yield put_back
    finally:
        cleaned()


def _within_reach(function: Callable[..., Any]) -> list[Value]:
    # The leaves that it can get at: by its closure, its defaults, its object, and what is global.
    found: list[Value] = []
    seen: set[int] = set()
    waiting: deque[Any] = deque([function])
    while waiting and len(seen) < FARTHEST:
        thing = waiting.popleft()
        if id(thing) in seen or isinstance(thing, (type, ModuleType)):
            continue
        seen.add(id(thing))
        if isinstance(thing, Value):
            found += [] if thing._prev else [thing]
        elif isinstance(thing, weakref.ref):  # as a method has of its object
            waiting.append(thing())
        elif not isinstance(thing, FunctionType):
            waiting += filter(gc.is_tracked, gc.get_referents(thing))
        elif thing.__module__ == getattr(function, "__module__", "") or thing is function:
            waiting += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__]
            waiting += [thing.__globals__.get(name) for name in thing.__code__.co_names]
    return found


def _at_a_glance(function: Callable[..., Any], shapes: Sequence[Shape]) -> list[Value]:
    glance = _Glance()
    results, _ = _results(function(*(_nested(shape, glance.input) for shape in shapes)))
    seen = topological_order(*results)
    references = list(map(weakref.ref, _others(seen)))
    del results, seen
    return _that_were_there(references)


def _restore(values: Iterable[Value], numbers: Sequence[tuple[Number, Number]]) -> None:
    # A function of its own, so that no variable of a loop keeps a graph alive.
    for value, (data, grad) in zip(values, numbers, strict=True):
        value.data, value.grad = data, grad


def _others(nodes: Iterable[Value]) -> list[Value]:
    # What was not computed from a number of this call.
    return [v for v in nodes if not (isinstance(v.data, Traced) or isinstance(v, Constant))]


def _that_were_there(references: Sequence[weakref.ref[Value]]) -> list[Value]:
    # Those that outlive the graph: leaves, which are parameters, and results of before; these may
    # also be of this call, where a user's closure holds its own result.
    return [v for reference in references if (v := reference()) is not None]


def _check_all_is_new(met: Collection[Value], before: Collection[Value]) -> None:
    for v in before:
        if v in met:
            raise ValueError(
                f"the function uses a result of {v._op!r} that was computed before it was "
                "called, which would stay as it is: compute it inside, or pass its .detach()"
            )


def _results(returned: Any) -> tuple[list[Value], bool]:
    if isinstance(returned, np.ndarray):
        returned = returned.tolist()
    is_list = isinstance(returned, (list, tuple))
    found = returned if is_list else [returned]
    for x in found or [found]:
        if not isinstance(x, Value) and as_number(x) is NotImplemented:
            raise TypeError(
                "a compiled function returns a Value, or a list of Values, got a "
                f"{type(x).__name__}"
            )
    return [x if isinstance(x, Value) else Value(x) for x in found], is_list


def _nested(shape: Shape, number: Callable[[float], Traced]) -> Any:
    if not shape:
        return number(0.0)
    return [_nested(shape[1:], number) for _ in range(shape[0])]


def _names(function: Callable[..., Any], shapes: Sequence[Shape]) -> dict[str, list[str]]:
    try:
        given = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some functions written in C do not tell
        given = []
    names = [given[i] if i < len(given) else f"x{i}" for i in range(len(shapes))]
    return {
        name: ["_".join([name, *map(str, position)]) for position in np.ndindex(*shape)]
        for name, shape in zip(distinct(names, "{}_{}"), shapes, strict=True)
    }
