"""`micrograd.scan` while a function is recorded: a loop that stays a loop.

The step is called once, with traced numbers of a recording of its own. What it reads from outside,
such as parameters, becomes an input there. Then the ordinary closures run, from an upstream
gradient for each result of the step back to its state, its x, and what it read:

    forward     (state, x) -> (next state, output)
    backward    (gradient of the next state, sums so far; state, x, gradient of the output)
                -> (gradient of the state, sums so far; gradient of x)

Both are loops of the same form, and each is one instruction of the recording outside. The forward
loop keeps the state of each step, and the backward loop, which runs from the last step to the
first, reads it there. The sums are the gradients of what the step reads from outside.

    >>> from micrograd import compile, scan
    >>> w = Value(0.5)
    >>> power = compile(lambda x: scan(lambda y, _: (w * y, None), x, length=1000)[0])
    >>> power([1.0]).data == 0.5**1000, len(power.instructions) < 30
    (True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from micrograd.compiler.batch import are_same, rebuilt, structured
from micrograd.compiler.guard import Guard
from micrograd.compiler.simplify import Instructions, Simplified, needed
from micrograd.core.arithmetic import as_number
from micrograd.core.node import Node, unrecorded
from micrograd.core.pause import restored
from micrograd.core.tracing import Traced, loops
from micrograd.engine import Value, topological_order
from micrograd.operations import pair_of, unrolled

Leaves = list[Any]


class Body(NamedTuple):
    """What is done in each step of a loop; inputs and results are places in `steps`.

    An instruction that runs it has these operands: the first states, the numbers that are read in
    each step, step by step, what comes from outside, and for a backward loop the forward one. Its
    results have indices: the last states, then the outputs, step by step.

    Attributes:
        steps: the recording; it may hold the body of another loop, too.
        is_backward: whether it runs from the last step to the first.
        states, new: a number of the state, and that of the next step.
        reads: the numbers that are read in each step.
        kept: those that are read from the states of the forward loop, and their indices there.
        outside: what is the same in all steps.
        outputs: the numbers that are stored in each step.
        upstream: those of `reads` that are upstream gradients.
        met: all numbers outside that the step met, forward or backward.
    """

    steps: Instructions
    n_steps: int
    is_backward: bool
    states: list[int]
    new: list[int]
    reads: list[int]
    kept: list[tuple[int, int]]
    outside: list[int]
    outputs: list[int]
    upstream: frozenset[int] = frozenset()
    met: Collection[int] = ()

    def is_linear_in(self, k: int) -> bool:
        """Whether the mean of results over lanes is the result of the mean of operand k."""
        n, width = len(self.states), len(self.reads)
        if not self.is_backward or k < n:
            return self.is_backward
        return k < n + width * self.n_steps and self.reads[(k - n) % width] in self.upstream

    def in_lanes(self, are_lanes: bool, outside: Sequence[int]) -> Instructions:
        """The recording where the states are in lanes, or not, and some of what is outside is."""
        steps = copy(self.steps)
        lanes = steps.lanes = bytearray(len(steps))
        for place in (*self.states, *self.reads, *(place for place, _ in self.kept)):
            lanes[place] = are_lanes
        for place, is_lane in zip(self.outside, outside, strict=True):
            lanes[place] = is_lane
        for place, operands in enumerate(steps.operands):
            if operands:
                lanes[place] = any(lanes[i] for i in operands)
        return steps


class _Inside(Simplified):
    # The recording of a step. Numbers of the recording around it become inputs.

    def __init__(self, outer: Simplified) -> None:
        super().__init__()
        self.outer, self.depth = outer, outer.depth + 1
        self.taken: dict[int, int] = {}  # the places of these inputs, by their places outside

    def taken_in(self, x: Traced) -> Traced:
        if x.recording is not self.outer:
            x = self.outer.taken_in(x)
        place = self.outer.place(x)
        if place not in self.taken:
            self.taken[place] = self.input(0.0).place
        return Traced(self, self.taken[place])

    def place(self, number: Any) -> int:
        is_outside = isinstance(number, Traced) and number.recording is not self
        return super().place(self.taken_in(number) if is_outside else number)

    def loop(
        self, body: Body, first: list[int], read: Sequence[list[int]], forward: int | None
    ) -> int:
        """Records a loop outside; `body` has no `outside` yet, and may read what it does not need.

        `first` are the places of the first states outside, and `read` has a list for each step.
        """
        outer, steps = self.outer, body.steps
        used = {*needed(steps, [*body.new, *body.outputs])}
        columns = [j for j, place in enumerate(body.reads) if place in used]
        outside = {i: place for place, i in self.taken.items() if i in used}
        constants = [i for i in used if steps.ops[i] == "constant"]
        outside |= {i: outer.place(steps.numbers[i]) for i in constants}
        operands = [*first, *(row[j] for row in read for j in columns)]
        body = body._replace(
            reads=[body.reads[j] for j in columns],
            kept=[(place, j) for place, j in body.kept if place in used],
            outside=[*outside],
            met=self.taken,
        )
        operands += [*outside.values(), *([] if forward is None else [forward])]
        return outer.instructions.add("loop", tuple(operands), body)


def recorded_loop(
    outer: Simplified, step: Callable[..., Any], state: Any, xs: Sequence[Any]
) -> tuple[Any, list[Any]]:
    """The results of `scan`; a loop whose steps do not have one form is recorded step by step.

    Raises:
        ValueError: the step changes something outside of it.
    """
    first: Leaves = []
    structure, read = structured(state, first), [list[Any]() for _ in xs]
    if isinstance(xs, np.ndarray) and xs.dtype.kind in "iuf":
        read, forms = [x.ravel().tolist() for x in xs], [structured(x, []) for x in xs[:1]]
    else:
        forms = [structured(x, row) for x, row in zip(xs, read, strict=True)]
    are_numbers = all(map(_is_number, chain(first, [] if _are_plain(read) else chain(*read))))
    if not (forms and are_numbers and all(are_same(form, forms[0]) for form in forms)):
        return unrolled(step, state, xs)
    are_values = [isinstance(x, Node) for x in first]
    xs_are_values = [any(isinstance(x, Node) for x in xs) for xs in zip(*read, strict=True)]
    known: list[bool] | None = None
    while known != are_values:  # a number may become a Value in the first step
        known, inside = are_values, _Inside(outer)
        states, x = (_inputs(inside, kinds) for kinds in (are_values, xs_are_values))
        after, output = _once(inside, step, rebuilt(structure, states), rebuilt(forms[0], x))
        new, outputs = list[Any](), list[Any]()
        form, output_form = structured(after, new), structured(output, outputs)
        if not (are_same(form, structure) and all(map(_is_number, chain(new, outputs)))):
            return unrolled(step, state, xs)
        are_values = [a or isinstance(b, Node) for a, b in zip(known, new, strict=True)]
    loop = _Loop(inside, len(xs), states, x, new, outputs)
    inside.end()
    last, made = loop.results(first, read)
    return rebuilt(structure, last), [rebuilt(output_form, row) for row in made]


@contextmanager
def loops_in(recording: Simplified) -> Iterator[None]:
    """A block in which `scan` records loops in this recording."""
    token = loops.set(partial(recorded_loop, recording))
    try:
        yield
    finally:
        loops.reset(token)


def _inputs(inside: _Inside, are_values: Sequence[bool]) -> Leaves:
    numbers = [(inside.input(0.0), is_value) for is_value in are_values]
    return [Value(number) if is_value else number for number, is_value in numbers]


def _once(inside: _Inside, step: Callable[..., Any], state: Any, x: Any) -> tuple[Any, Any]:
    # What a step returns; it may contain loops.
    for _ in range(2):  # a layer may store its last result: the second call changes nothing
        guard = Guard(step)
        with loops_in(inside):
            returned = pair_of(step(state, x))
        if guard.holds():
            return returned
    fix = "make it a part of the state, or return it as the output"
    raise ValueError(f"a step of scan changes something outside, and runs only once: {fix}")


def _are_plain(rows: Sequence[Leaves]) -> bool:
    # Whether there are Python's numbers alone: as there may be many, they are not looked at twice.
    return {*map(type, chain(*rows))} <= {float, int}


def _number(x: Any) -> Any:
    return x.data if isinstance(x, Node) else x


def _is_number(x: Any) -> bool:
    # Whether x is a number or a Value that holds a plain or a traced number.
    x = _number(x)
    return not isinstance(x, (Node, bool)) and as_number(x) is not NotImplemented


class _Loop:
    """Both directions of a loop, from the recording of one step."""

    def __init__(
        self, inside: _Inside, count: int, states: Leaves, x: Leaves, new: Leaves, outputs: Leaves
    ) -> None:
        self.inside, self.new, self.outputs, self.x = inside, new, outputs, x
        upstream = [inside.input(0.0) for _ in (*new, *outputs)]
        sums = self.differentiated(upstream)
        self.outside = [*sums]
        at_states, at_x, at_new, at_outputs, at_upstream = (
            [inside.place(_number(v)) for v in some] for some in (states, x, new, outputs, upstream)
        )
        form = Body(inside.instructions, count, False, at_states, at_new, at_x, [], [], at_outputs)
        self.forward = form
        # The state of the backward loop: the upstream gradients of states, and the sums.
        self.carried = [i for i, v in enumerate(states) if isinstance(v, Node)]
        totals = [inside.input(0.0) for _ in sums]
        grads = [states[i].grad for i in self.carried]
        grads += [total + grad for total, grad in zip(totals, sums.values(), strict=True)]
        given = at_upstream[len(new) :]
        self.backward = form._replace(
            is_backward=True,
            states=[at_upstream[i] for i in self.carried] + [total.place for total in totals],
            new=[*map(inside.place, grads)],
            reads=at_x + given,
            kept=[(i, k) for k, i in enumerate(at_states)],
            outputs=[inside.place(v.grad) for v in x if isinstance(v, Node)],
            upstream=frozenset(given),
        )

    def differentiated(self, upstream: Sequence[Traced]) -> dict[Value, Traced]:
        """Runs the closures of a step; returns the gradients of Values outside of it."""
        results = zip((*self.new, *self.outputs), upstream, strict=True)
        ends = [(v, u) for v, u in results if isinstance(v, Value)]
        nodes = topological_order(*(v for v, _ in ends))
        within = [v for v in nodes if getattr(v.data, "recording", None) is self.inside]
        known = {*within}
        read = chain((v for v, _ in ends), *(v._prev for v in within))
        outside = [v for v in dict.fromkeys(read) if v not in known and v.requires_grad]
        with restored(outside):
            for v in (*within, *outside):
                v.grad = 0
            for v, u in ends:
                v.grad += u
            for v in reversed(within):
                if v._prev:
                    v._chain_rule(v.grad, *v._prev)
            return {v: v.grad for v in outside if isinstance(v.grad, Traced)}

    def results(self, first: Leaves, read: Sequence[Leaves]) -> tuple[Leaves, list[Leaves]]:
        """The last state and the outputs, as results of a node that has all Values as operands."""
        outer, inside, n, m = self.inside.outer, self.inside, len(self.new), len(self.outputs)
        starts = [outer.place(_number(x)) for x in first]
        if _are_plain(read):
            places, width = outer.instructions.constants([*chain(*read)]), len(read[0])
            rows: list[Any] = [places[t * width : (t + 1) * width] for t in range(len(read))]
        else:
            rows = [[outer.place(_number(x)) for x in row] for row in read]
        at = inside.loop(self.forward, starts, rows, None)
        given: dict[int, Any] = {}  # upstream gradients, by the index of the result
        # Each operand, and which result of the backward loop is its gradient.
        columns = [j for j, v in enumerate(self.x) if isinstance(v, Node)]
        grads = [*(first[i] for i in self.carried), *self.outside]
        grads += [row[j] for row in read for j in columns]
        operands = [(v, k) for k, v in enumerate(grads) if isinstance(v, Value)]

        def backward(_: object, *operands_now: Value) -> None:
            zero = outer.place(0)
            upstream = {k: outer.place(u) for k, u in given.items()}
            given.clear()
            start = [upstream.get(i, zero) for i in self.carried] + [zero] * len(self.outside)
            places = [
                [*row, *(upstream.get(k, zero) for k in range(n + t * m, n + t * m + m))]
                for t, row in enumerate(rows)
            ]
            gradients = inside.loop(self.backward, start, places, at)
            for operand, (_, k) in zip(operands_now, operands, strict=True):
                operand.grad += _picked(outer, gradients, k)

        hub = Value(0.0, [v for v, _ in operands], "scan")
        hub.data, hub._chain_rule = _picked(outer, at, 0), backward

        def result(k: int, like: Any) -> Any:
            number = _picked(outer, at, k)
            if not isinstance(like, Node):
                return number
            found = Value(number, (hub,), "scan")
            found._chain_rule = lambda upstream, _: given.update({k: upstream})
            if like.is_unrecorded:
                found._prev, found._chain_rule = (), unrecorded
            return found

        last = [result(i, v) for i, v in enumerate(self.new)]
        return last, [
            [result(i, v) for i, v in enumerate(self.outputs, n + t * m)] for t in range(len(rows))
        ]


def _picked(recording: Simplified, at: int, k: int) -> Traced:
    # One of the results of a loop.
    return Traced(recording, recording.instructions.add(f"pick {k}", (at,)))
