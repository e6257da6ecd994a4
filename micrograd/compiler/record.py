"""Pass 0: a function of scalars, recorded.

The function is called with recording numbers, as in `trace.py`, and `backward()` records the
gradients. The leaves that it can reach are found first, by its guard; while it runs, they hold
recording numbers as well, which only this thread sees. Those on which its results depend are its
parameters, also if they only decide between results.

    >>> w = Value(2.0, label="w")
    >>> found = recorded(lambda x: (w * x).tanh(), [()])
    >>> [step.op for step in found.recording.instructions]
    ['input', 'input', '*', 'tanh', '*', 'constant', '-', '*', '*']
    >>> found.parameters, found.arguments
    ([Value(data=2.0, grad=0)], {'x': ['x']})
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from micrograd.arithmetic import Number, as_number
from micrograd.compiler.guard import Guard
from micrograd.compiler.parameters import recorded_as
from micrograd.compiler.simplify import CONDITIONS, Simplified
from micrograd.engine import Constant, Value, _unrecorded, topological_order
from micrograd.pause import resumed
from micrograd.trace import Traced, distinct

Shape = tuple[int, ...]

ATTEMPTS = 10  # to find all parameters; one is enough unless the function makes or hides some


class Recorded(NamedTuple):
    """A function of arguments of certain shapes.

    Attributes:
        recording: its instructions; the inputs of arguments are the first of them.
        arguments: their names, each with a name for each of its numbers.
        parameters: Values that were there before the call.
        places: of the parameters.
        results: the place of each Value that it returns.
        gradients: of one result by each parameter, as places.
        is_list: whether it returns a list.
        have_graphs: of each result, whether it was computed outside of a no_grad().

    >>> w, b = Value(2.0), Value(1.0)
    >>> found = recorded(lambda x: [w * x, w + b], [()])
    >>> found.arguments, found.places  # x, then w and b
    ({'x': ['x']}, [1, 3])
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
    have_graphs: list[bool]


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
        known: Values that come first among its parameters, in this order.

    Raises:
        TypeError: the function returns something else.
        ValueError: it uses what was computed from parameters before it was called, or it changes
            the data of a Value.
        TraceError: it asks for the value of a number, as `if x > 0` does.
    """
    candidates, before = dict.fromkeys([*known, *Guard(function).values]), set[Value]()
    new: list[Value] = []
    # no_grad() says whether gradients are wanted when the program runs; it is recorded with them.
    with resumed():
        for _ in range(ATTEMPTS):
            found, met = _recorded(function, shapes, output, candidates, known, before)
            # What else was met has been out of the guard's sight, or was made by the function: in
            # each call, if the Values that were met in the last attempt have not been used in this.
            are_made_in_each_call = bool(new) and not any(p in new for p in found.parameters)
            new = [v for v in met if v not in candidates and v not in before]
            if not new or are_made_in_each_call:
                return found
            candidates.update(dict.fromkeys(v for v in new if not v._prev))
            before.update(v for v in new if v._prev)
    raise ValueError(
        "the function creates and keeps new Values on every call: create its parameters once, "
        "outside"
    )


def _recorded(
    function: Callable[..., Any],
    shapes: Sequence[Shape],
    output: int,
    candidates: Collection[Value],
    known: Sequence[Value],
    before: Collection[Value],
) -> tuple[Recorded, list[Value]]:
    # The function with these candidates for parameters, and further Values that it has met.
    recording = Simplified()
    arguments = [_nested(shape, recording.input) for shape in shapes]
    inputs: list[Traced] = []

    def new_input() -> Traced:
        inputs.append(recording.input(0.0))
        return inputs[-1]

    others: list[tuple[Value, Number]] = []
    try:
        with recorded_as(candidates, new_input) as numbers:
            results, is_list = _results(function(*arguments))
            if len(numbers) != len(inputs) or not all(map(is_, numbers.values(), inputs)):
                raise ValueError(
                    "the function changes the data of a Value: compile the loss alone, and leave "
                    "p.data and the optimizer's step() outside"
                )
            nodes = topological_order(*results)
            met = set(nodes)
            _check_all_is_new(met, before)
            outcomes = [recording.place(v.data) for v in results]
            in_graph = [v for v in nodes if v in candidates]
            # Other parameters may decide between results, or be read by `p.data`.
            outside = [p for p in numbers if p not in met]
            used = _used(recording, nodes) if outside else ()
            found = {*in_graph, *(p for p in outside if numbers[p].place in used)}
            parameters = [p for p in dict.fromkeys([*known, *in_graph, *outside]) if p in found]
            have_graphs = [v._closure is not _unrecorded for v in results]
            others = [(v, 0 if isinstance(v.grad, Traced) else v.grad) for v in _others(nodes)]
            for p in candidates:
                p.grad = 0
            if have_graphs[output]:
                results[output].backward()
            gradients = [recording.place(p.grad) for p in parameters]
            places = [p.data.place for p in parameters]
    finally:
        _restore(others)
    references = [weakref.ref(v) for v, _ in others]
    del results, nodes, met, in_graph, others
    recorded = Recorded(
        recording,
        _names(function, shapes),
        parameters,
        places,
        outcomes,
        gradients,
        is_list,
        have_graphs,
    )
    return recorded, _that_were_there(references)


def _used(recording: Simplified, nodes: Sequence[Value]) -> set[int]:
    # Where the data of nodes come from, and conditions: closures may ask for them even if both
    # sides of a choice are the same, so that its result does not depend on it.
    steps = recording.instructions
    used = {v.data.place for v in nodes if isinstance(v.data, Traced)}
    for place in reversed(range(len(steps))):
        if place in used or steps.ops[place] in CONDITIONS:
            used.update(steps.operands[place])
    return used


def _restore(gradients: Iterable[tuple[Value, Number]]) -> None:
    # A function of its own, so that no variable of a loop keeps a graph alive.
    for value, grad in gradients:
        value.grad = grad


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
