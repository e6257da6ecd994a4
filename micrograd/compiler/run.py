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
    >>> run.after_means()  # w times that
    >>> run.uniform[schedule.results[:2, 1]]
    array([6., 3.])

The same, with the memory looked after:

    >>> executor: Executor = TiledExecutor(schedule, partial(NumPyRun, schedule), widths=[1])
    >>> executor(np.array([2.0]), [np.array([[1.0, 3.0, 5.0]])], 3)
    (array([6., 3.]), array([[ 2.,  6., 10.]]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from micrograd.compiler.run_python import function
from micrograd.compiler.schedule import Schedule

Array = npt.NDArray[Any]

MEMORY = 2**20  # bytes that the lanes of a tile should take at most
KEPT = 8  # numbers of lanes that stay bound, those used last


class Run(Protocol):
    """A schedule bound to its memories."""

    uniform: Array
    lanes: Array

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
            arguments: a matrix for each, with a row for each number and a column for each example.
            n: number of examples.
        """


class TextExecutor:
    """A program as Python text.

    >>> text = "def program(parameters, rows): return [parameters[0] * x for x, in rows]"
    >>> TextExecutor(text)(np.array([2.0]), [np.array([[1.0, 3.0]])], 2)[1]
    array([[2., 6.]])
    """

    def __init__(self, text: str) -> None:
        self._function = function(text)

    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        """The mean and its gradients, or all results in rows."""
        columns = [row.tolist() for argument in arguments for row in argument.astype(float)]
        rows = list(zip(*columns, strict=True)) if columns else [()] * n
        found = self._function(parameters.tolist(), rows)
        if isinstance(found, tuple):
            mean, gradients = found
            return np.array([mean, *gradients], float), np.empty((0, n))
        return np.empty(0), np.array(found, float).reshape(n, -1).T


class TiledExecutor:
    """A schedule that runs on batches of any size.

    Args:
        schedule: what to run.
        bind: makes a run of it for a number of lanes.
        widths: how many numbers each argument is, for one example.
    """

    def __init__(
        self, schedule: Schedule, bind: Callable[[int], Run], widths: Sequence[int]
    ) -> None:
        self.schedule = schedule
        self.bind = bind
        self.runs: dict[int, Run] = {}
        self._alone = Lock()
        self.tile = max(16, MEMORY // (8 * schedule.sizes[1]))
        starts = np.cumsum([0, *(width + 1 for width in widths)])  # a row of ones behind each
        self.rows = [slice(a, a + width) for a, width in zip(starts, widths, strict=False)]
        self.uniform = _compact([int(slot) for lanes, slot in schedule.results if not lanes])
        self.lanes = _compact([int(slot) for lanes, slot in schedule.results if lanes])

    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        """The results that are uniform, and a row of lanes for each of the others."""
        with self._alone:  # the memories belong to one call at a time
            if n > self.tile:
                return self._in_tiles(parameters, arguments, n)
            run = self._loaded(parameters, arguments, n)
            run.until_means()
            run.after_means()
            return run.uniform[self.uniform].copy(), self._rows(run, n).copy()

    def _in_tiles(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        means = slice(*self.schedule.means)
        total = np.zeros(means.stop - means.start)
        rows = []
        for start in range(0, n, self.tile):
            part = [argument[:, start : start + self.tile] for argument in arguments]
            size = min(self.tile, n - start)
            run = self._loaded(parameters, part, size)
            run.until_means()
            with np.errstate(all="ignore"):
                total += run.uniform[means] * (size / n)
            rows.append(self._rows(run, size).copy())
        run.uniform[means] = total
        run.after_means()
        return run.uniform[self.uniform].copy(), np.concatenate(rows, axis=1)

    def _rows(self, run: Run, n: int) -> Array:
        rows: Array = run.lanes[self.lanes]
        return rows if n > 1 else rows[:, None]

    def _loaded(self, parameters: Array, arguments: Sequence[Array], n: int) -> Run:
        run = self.runs.pop(n, None) or self.bind(n)
        self.runs[n] = run  # as the last one used
        if len(self.runs) > KEPT:
            del self.runs[next(iter(self.runs))]
        run.uniform[: len(parameters)] = parameters
        for rows, argument in zip(self.rows, arguments, strict=True):
            run.lanes[rows] = argument if n > 1 else argument[:, 0]
        return run


def _compact(slots: Sequence[int]) -> Any:
    # As a slice where that is possible, since a slice is a view.
    if slots and list(slots) == list(range(slots[0], slots[0] + len(slots))):
        return slice(slots[0], slots[0] + len(slots))
    return np.array(slots, np.intp)
