"""Pass 5: a schedule becomes a program that runs, and a batch goes through it.

An executor binds a schedule to its two memories for a number of lanes. Batches that are larger than
what fits near the processor go through in tiles: the lanes of a tile are computed, their means are
added up, and what follows from the means is computed once, at the end.

    >>> from functools import partial
    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> from micrograd.compiler.run_numpy import NumPyRun
    >>> w = Value(2.0)
    >>> schedule = Program(lambda x: w * x, [()], "numpy").schedule
    >>> run: Run = NumPyRun(schedule, 3)
    >>> run.uniform[0], run.lanes[0] = 2.0, [1.0, 3.0, 5.0]
    >>> run.until_means()  # x has the mean 3
    >>> run.after_means()  # w times that; `run()` does both
    >>> run.uniform[schedule.results[:2, 1]]
    array([6., 3.])

The same, with the memory looked after:

    >>> executor: Executor = TiledExecutor(schedule, partial(NumPyRun, schedule), shapes=[()])
    >>> executor(np.array([2.0]), [np.array([1.0, 3.0, 5.0])], 3)
    (array([6., 3.]), array([[ 2.,  6., 10.]]))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from micrograd.compiler.run_python import function
from micrograd.compiler.schedule import Schedule

Array = npt.NDArray[Any]

MEMORY = 2**20  # bytes that the lanes of a tile should take at most
KEPT = 8  # numbers of lanes that stay bound
LONG = 16  # neighbours among results, on average, that are better copied together


class Run(Protocol):
    """A schedule bound to its memories."""

    uniform: Array
    lanes: Array

    def __call__(self) -> None:
        """Computes everything."""

    def until_means(self) -> None:
        """Computes what is uniform, the lanes, and their means."""

    def after_means(self) -> None:
        """Computes what follows from the means."""


class Executor(Protocol):
    """What runs a program on a batch."""

    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        """The results that are means or the same in every lane, and a row of lanes for each other.

        Args:
            parameters: a number for each of them.
            arguments: an array for each, whose first axis is that of the examples; without axes it
                is the same for all.
            n: number of examples.
        """


class TextExecutor:
    """A program as Python text.

    >>> text = "def program(parameters, rows): return [parameters[0] * x for x, in rows]"
    >>> TextExecutor(text)(np.array([2.0]), [np.array([1.0, 3.0])], 2)[1]
    array([[2., 6.]])
    """

    def __init__(self, text: str) -> None:
        self._function = function(text)

    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        """The mean and its gradients, or all results in rows."""
        columns = [(a if a.ndim else np.full(n, a)).reshape(n, -1) for a in arguments]
        rows = np.hstack([np.empty((n, 0)), *columns])
        found = self._function(parameters.tolist(), rows.tolist())
        if isinstance(found, tuple):
            mean, gradients = found
            return np.array([mean, *gradients], float), np.empty((0, n))
        return np.empty(0), np.array(found, float).reshape(n, -1).T


class TiledExecutor:
    """A schedule that runs on batches of any size.

    Args:
        schedule: what to run.
        bind: makes a run of it for a number of lanes.
        shapes: of the arguments, for one example.
    """

    def __init__(
        self, schedule: Schedule, bind: Callable[[int], Run], shapes: Sequence[tuple[int, ...]]
    ) -> None:
        self.schedule = schedule
        self.bind = bind
        self.shapes = shapes
        self.bound: dict[int, _Bound] = {}
        self.tile = max(16, MEMORY // (8 * schedule.sizes[1]))

    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        """The results that are uniform, and a row of lanes for each of the others."""
        if n > self.tile:
            return self._in_tiles(parameters, arguments, n)
        bound = self._loaded(parameters, arguments, n)
        bound.run()
        results = bound.uniform_results(), bound.lane_results()
        self.bound[n] = bound
        return results

    def _in_tiles(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        means = slice(*self.schedule.means)
        total = np.zeros(means.stop - means.start)
        rows = []
        for start in range(0, n, self.tile):
            size = min(self.tile, n - start)
            part = [a[start : start + size] if a.ndim else a for a in arguments]
            bound = self._loaded(parameters, part, size)
            bound.run.until_means()
            with np.errstate(all="ignore"):
                total += bound.run.uniform[means] * (size / n)
            rows.append(bound.lane_results())
            if start + size < n:
                self.bound[size] = bound
        bound.run.uniform[means] = total
        bound.run.after_means()
        results = bound.uniform_results(), np.concatenate(rows, axis=1)
        self.bound[size] = bound
        return results

    def _loaded(self, parameters: Array, arguments: Sequence[Array], n: int) -> _Bound:
        # Taken out while it is in use: another thread that calls meanwhile gets one of its own.
        bound = self.bound.pop(n, None) or self._new(n)
        bound.run.uniform[: len(parameters)] = parameters
        for window, argument in zip(bound.inputs, arguments, strict=True):
            window[...] = argument  # also a read-only array: other code may write to its memory
        return bound

    def _new(self, n: int) -> _Bound:
        if len(self.bound) >= KEPT:
            [oldest, *_] = self.bound  # the one that has not been used for longest
            self.bound.pop(oldest, None)
        return _Bound(self.schedule, self.bind(n), self.shapes, n)


class _Bound:
    """A run for a number of lanes, with windows on what goes in and copies of what comes out."""

    def __init__(
        self, schedule: Schedule, run: Run, shapes: Sequence[tuple[int, ...]], n: int
    ) -> None:
        self.run = run
        lanes = run.lanes if n > 1 else run.lanes[:, None]
        self.inputs: list[Array] = []
        first = 0
        for shape in shapes:
            last = first + math.prod(shape)
            self.inputs.append(np.moveaxis(lanes[first:last].reshape(*shape, n), -1, 0))
            first = last + 1  # behind a row of ones
        is_lane, slots = schedule.results.T
        self.uniform_results = _copier(run.uniform, slots[is_lane == 0])
        self.lane_results = _copier(lanes, slots[is_lane == 1])


def _copier(memory: Array, slots: Array) -> Callable[[], Array]:
    ends = [0, *(np.flatnonzero(np.diff(slots) != 1) + 1), len(slots)]
    stretches = [memory[slots[a] : slots[b - 1] + 1] for a, b in pairwise(ends) if a < b]
    if len(stretches) == 1:
        return stretches[0].copy
    if 0 < LONG * len(stretches) <= len(slots):
        return partial(np.concatenate, stretches)
    return partial(memory.take, slots, axis=0)
