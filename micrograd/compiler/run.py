"""Running a schedule on a batch.

An executor binds a schedule to its two memories (see `schedule.py`) for a given number of lanes,
one per example. A batch that does not fit into the processor's cache is split into tiles. The lanes
of each tile are computed, and their means are added up. Groups that depend on the means run once,
at the end.

    >>> from functools import partial
    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> from micrograd.compiler.run_numpy import NumPyRun
    >>> w = Value(2.0)
    >>> schedule = Program(lambda x: w * x, [()], "numpy").schedule
    >>> run = NumPyRun(schedule, 3)
    >>> run.uniform[0], run.lanes[0] = 2.0, [1.0, 3.0, 5.0]
    >>> run.until_means()  # x has the mean 3
    >>> run.after_means()  # w times the mean; `run()` does both
    >>> run.uniform[schedule.results[:2, 1]]
    array([6., 3.])

The same with an executor, which manages the memory:

    >>> executor = TiledExecutor(schedule, partial(NumPyRun, schedule), shapes=[()])
    >>> executor(np.array([2.0]), [np.array([1.0, 3.0, 5.0])], 3)
    (array([6., 3.]), array([[ 2.,  6., 10.]]))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.compiler.schedule import Schedule

Array = npt.NDArray[Any]
Executor = Callable[[Array, Sequence[Array], int], tuple[Array, Any]]  # see `TiledExecutor`

MEMORY = 2**20  # maximum size of the lanes of a tile, in bytes
KEPT = 8  # number of runs to keep, each for a different number of lanes
LONG = 16  # copying slices beats a gather if the slices have at least this average length


class Run:
    """A schedule bound to its memories; subclasses run its groups.

    Attributes:
        uniform: the uniform numbers.
        rows: the numbers in lanes, of shape (slots, lanes).
        lanes: the same memory; a single lane has no axis.
    """

    def __init__(self, schedule: Schedule, uniform: Array, rows: Array) -> None:
        self.uniform, self.rows = uniform, rows
        self.lanes = rows if rows.shape[1] > 1 else rows[:, 0]
        rows[schedule.ones] = 1.0
        for slot, number in schedule.constants:
            uniform[slot] = number

    def __call__(self) -> None:
        """Computes everything."""
        self.until_means()
        self.after_means()

    def until_means(self) -> None:
        """Computes the uniform groups, the lanes, and their means."""
        raise NotImplementedError

    def after_means(self) -> None:
        """Computes the groups that depend on the means."""
        raise NotImplementedError


class TiledExecutor:
    """An executor that runs a schedule on batches of any size.

    Args:
        schedule: the schedule to run.
        bind: a function that binds the schedule for a given number of lanes.
        shapes: the shape of each argument, for one example.
    """

    def __init__(
        self, schedule: Schedule, bind: Callable[[int], Run], shapes: Sequence[tuple[int, ...]]
    ) -> None:
        self.schedule = schedule
        self.bind = bind
        self.shapes = shapes
        self.bound: dict[int, Bound] = {}
        self.tile = max(16, MEMORY // (8 * schedule.sizes[1]))  # what fits into the cache

    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        """The results that are uniform or means, and a row of lanes for each remaining result.

        Args:
            parameters: the data of all parameters.
            arguments: an array for each argument, whose first axis runs over the examples; an
                array without axes is the same for all examples.
            n: the number of examples.
        """
        if n > self.tile:
            return self._in_tiles(parameters, arguments, n)
        bound = self.taken(n)
        bound.load(arguments)
        bound.parameters[...] = parameters
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
            bound = self.taken(size)
            bound.load(part)
            bound.parameters[...] = parameters
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

    def taken(self, n: int) -> Bound:
        """A run for n lanes; whoever takes it puts it back into `bound`.

        It is removed while in use, so that a call from another thread gets a different one.
        """
        return self.bound.pop(n, None) or self._new(n)

    def _new(self, n: int) -> Bound:
        if len(self.bound) >= KEPT:
            [oldest, *_] = self.bound  # the least recently used
            self.bound.pop(oldest, None)
        return Bound(self.schedule, self.bind(n), self.shapes, n)


class Bound:
    """A run for a fixed number of lanes, with views of its inputs and functions to copy results.

    Attributes:
        run: the run.
        parameters: a view of the data of all parameters, in the order of the program.
        uniform_results: returns a copy of the results that are uniform or means.
        lane_results: returns a copy of the other results, with a row of lanes for each.
    """

    def __init__(
        self, schedule: Schedule, run: Run, shapes: Sequence[tuple[int, ...]], n: int
    ) -> None:
        self.run = run
        (n_parameters, _), *_ = schedule.constants  # their slots come next
        self.parameters = run.uniform[:n_parameters]
        self._inputs: list[Array] = []
        first = 0
        for shape in shapes:
            last = first + math.prod(shape)
            self._inputs.append(np.moveaxis(run.rows[first:last].reshape(*shape, n), -1, 0))
            first = last + 1  # skips a row of ones
        is_lane, slots = schedule.results.T
        self.uniform_results = _copier(run.uniform, slots[is_lane == 0])
        self.lane_results = _copier(run.rows, slots[is_lane == 1])

    def load(self, arguments: Sequence[Array]) -> None:
        """Copies the arguments, even read-only ones: other code may write to their memory."""
        for window, argument in zip(self._inputs, arguments, strict=True):
            window[...] = argument


def _copier(memory: Array, slots: Array) -> Callable[[], Array]:
    ends = [0, *(np.flatnonzero(np.diff(slots) != 1) + 1), len(slots)]
    stretches = [memory[slots[a] : slots[b - 1] + 1] for a, b in pairwise(ends) if a < b]
    if len(stretches) == 1:
        return stretches[0].copy
    if 0 < LONG * len(stretches) <= len(slots):
        return partial(np.concatenate, stretches)
    return partial(memory.take, slots, axis=0)
