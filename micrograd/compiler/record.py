"""The recording of a scalar function and of its backward pass.

First `guard.py` finds the leaves that the function can reach. Then the function is called with
traced numbers (`tracing.py`); during this call the data of those leaves are traced numbers too, but
only in this thread. Finally `backward()` records the gradients. The leaves that affect the
results are the parameters of the function, including any that only decide which result is chosen.

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
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import micrograd.operations  # noqa: F401  # choices between traced numbers
from micrograd.compiler.arguments import Static, traced
from micrograd.compiler.batch import structured
from micrograd.compiler.guard import Guard, check_unused, states_of
from micrograd.compiler.loop import loops_in
from micrograd.compiler.parameters import recorded_as
from micrograd.compiler.simplify import CONDITIONS, Simplified
from micrograd.core.arithmetic import as_number
from micrograd.core.naming import distinct
from micrograd.core.node import unrecorded
from micrograd.core.pause import restored, resumed
from micrograd.core.tracing import Traced
from micrograd.engine import Value, topological_order

ATTEMPTS = 10  # limit on recordings; one is enough unless the function creates or hides parameters


class Recorded(NamedTuple):
    """A function recorded for arguments of given shapes.

    Attributes:
        recording: the instructions, which begin with the inputs for the arguments.
        arguments: maps the name of each argument to the names of its numbers.
        parameters: the Values that affect the results and existed before the call.
        places, results: the indices of parameters and of returned Values in the recording.
        gradients: those of the gradients of the result, one for each parameter; none if there are
            several results.
        structure: what the function returns, with indices of results.
        have_graphs: for each result, whether it is a Value that was computed outside no_grad().
    """

    recording: Simplified
    arguments: dict[str, list[str]]
    parameters: list[Value]
    places: list[int]
    results: list[int]
    gradients: list[int]
    structure: Any
    have_graphs: list[bool]


def recorded(
    function: Callable[..., Any],
    shapes: Sequence[Any],
    n_upstream: int = 0,
    known: Sequence[Value] = (),
) -> Recorded:
    """The instructions of a function, and of the backward pass if it returns a single Value.

    An argument has the shape () if it is a number, (d,) for a row, (n, d) for n rows. If there are
    `n_upstream` results to differentiate, there is a further argument of so many numbers, their
    upstream gradients, and one result: the sum of all results, each times its upstream gradient.
    The Values in `known` come first among the parameters.

    Raises:
        TypeError: the function does not return Values or numbers.
        ValueError: the function uses a result that was computed before the call, changes the data
            of a Value, creates and keeps new Values on every call, or draws random numbers.
        TraceError: the function needs the value of a traced number, as `if x > 0` does.
    """
    guard = Guard(function)
    candidates = dict.fromkeys([*known, *guard.values])
    states = states_of(guard.generators)
    before: set[Value] = set()
    new: list[Value] = []
    # Gradients are recorded even inside no_grad(), which matters only when the program runs.
    attempt = partial(_attempt, function, shapes, n_upstream, candidates, known, before)
    with resumed():
        for _ in range(ATTEMPTS):
            found, references = attempt()
            # Values that outlive the graph: parameters, results from before the call, and results
            # of the call that a user's own closure holds.
            met = [v for reference in references if (v := reference()) is not None]
            # A Value that is still unknown was missed by the search or created by the function. If
            # this attempt uses none of the Values that were new in the last one, the function
            # creates its own in each call.
            are_made_in_each_call = bool(new) and not any(p in new for p in found.parameters)
            new = [v for v in met if v not in candidates and v not in before]
            if not new or are_made_in_each_call:
                break
            found.recording.end()
            candidates.update(dict.fromkeys(v for v in new if not v._prev))
            before.update(v for v in new if v._prev)
        else:
            what = "the function creates and keeps new Values on every call"
            raise ValueError(f"{what}: create its parameters once, outside")
        check_unused(states, function)
    return found


def _attempt(
    function: Callable[..., Any],
    shapes: Sequence[Any],
    n_upstream: int,
    candidates: Collection[Value],
    known: Sequence[Value],
    before: Collection[Value],
) -> tuple[Recorded, list[weakref.ref[Value]]]:
    # Records the function; the candidates may turn out to be its parameters. Also returns weak
    # references to the other Values in the graph, which is freed when `_attempt` returns.
    recording = Simplified()
    arguments = [traced(shape, recording) for shape in shapes]
    upstream = [recording.input(0.0) for _ in range(n_upstream)]
    with ExitStack() as if_it_fails, recorded_as(candidates, recording.parameter) as numbers:
        if_it_fails.callback(recording.end)
        with loops_in(recording):
            results, structure = _results(function(*arguments))
        nodes = topological_order(*results)  # the parameters are those of all results
        if upstream:
            pairs = zip(results, upstream, strict=True)
            products = [v * u for v, u in pairs if not v.is_unrecorded]
            results, structure = [sum(products, Value(0.0))], 0
            nodes = topological_order(*nodes, *results)
        if old := next((v for v in nodes if v in before), None):
            what = f"a result of {old._op!r} that was computed before the call"
            fix = "compute it inside, or it would never be updated; or use its .detach()"
            raise ValueError(f"the function uses {what}: {fix}")
        have_graphs = [not v.is_unrecorded for v in results]
        outcomes = [recording.place(v.data) for v in results]
        used = dict.fromkeys(v for v in nodes if v in candidates)
        # Parameters outside the graph may decide between results, or be read as `p.data`. Every
        # condition counts: if both choices are equal, a gradient may still depend on it.
        if outside := [p for p in numbers if p not in used]:
            steps = recording.instructions
            read = {v.data.place for v in nodes if isinstance(v.data, Traced)}
            for place in reversed(range(len(steps))):
                if place in read or steps.ops[place] in CONDITIONS:
                    read.update(steps.operands[place])
                    read.update(steps.bodies[place].met if place in steps.bodies else ())
            used.update(dict.fromkeys(p for p in outside if numbers[p].place in read))
        parameters = [*dict.fromkeys([*(p for p in known if p in used), *used])]
        # Values that were not computed from a traced number: their gradients are restored.
        others = [v for v in nodes if not (isinstance(v.data, Traced) or v.is_constant)]
        for p in candidates:  # the function may have called backward() itself
            p.grad = 0
        with restored(others):
            is_single = isinstance(structure, int)
            if is_single and have_graphs[0]:
                results[0].backward()
            gradients = [recording.place(p.grad) for p in parameters if is_single]
        places = [recording.place(p.data) for p in parameters]
        names = _names(function, shapes, n_upstream)
        found = Recorded(
            recording, names, parameters, places, outcomes, gradients, structure, have_graphs
        )
        if_it_fails.pop_all()
    return found, list(map(weakref.ref, others))


def _results(returned: Any) -> tuple[list[Value], Any]:
    found: list[Any] = []
    structure = structured(returned, found)
    for x in found or [returned]:
        if not isinstance(x, Value) and as_number(x) is NotImplemented:
            expected = "a Value, or a list, an array or a dict of Values"
            raise TypeError(f"a compiled function must return {expected}, got {type(x).__name__}")
    values = [x if isinstance(x, Value) else Value(x) for x in found]
    for x, v in zip(found, values, strict=True):
        if isinstance(x, Traced):  # taken out of a graph, by .data: nothing to go back through
            v._chain_rule = unrecorded
    return values, structure


def _names(
    function: Callable[..., Any], shapes: Sequence[Any], n_upstream: int
) -> dict[str, list[str]]:
    given = list(inspect.signature(function).parameters)
    names = [given[i] if i < len(given) else f"x{i}" for i in range(len(shapes))]
    named = dict(zip(distinct(names, "{}_{}"), shapes, strict=True))
    named |= {"upstream": (n_upstream,)} if n_upstream else {}
    return {
        name: ["_".join([name, *map(str, position)]) for position in np.ndindex(*shape)]
        for name, shape in named.items()
        if not isinstance(shape, Static)
    }
