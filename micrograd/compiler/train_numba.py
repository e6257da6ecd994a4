"""Training steps with numba: one call of the kernel for any number of steps.

A step is a list of jobs for the kernel: load the examples and parameters, run the groups of the
program, copy the gradients to where the update rule expects them, run its groups, check that the
gradients are finite, and only then store the new data and states. The kernel gets the address of
this list, so a call costs the same however many arrays a step uses.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.compiler.run_numba import NumbaRun, address_of
from micrograd.compiler.train_numpy import Steps as StepsOnNumPy

Array = npt.NDArray[Any]
Job = tuple[int, ...]

KEPT = 4  # numbers of examples for which memory is kept


class Steps(StepsOnNumPy):
    """Steps on numba; see `Training` for the arguments."""

    bind = NumbaRun

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._kernel = self._update.kernel
        self._plans: dict[tuple[int, bool], _Plan] = {}

    def _steps(
        self, arrays: Sequence[Array], n: int, count: int, order: Array | None, means: list[float]
    ) -> float | None:
        kind = n, order is not None
        plan = self._plans.get(kind) or self._planned(*kind)
        plan.point_to(arrays, order, count)
        before = len(means), self.optimizer.steps
        try:
            wrong = self._kernel.run(plan.address)
            self.count(before, plan.done, self._means, means)
        except KeyboardInterrupt:  # the kernel may have done its steps before
            self.count(before, plan.done, self._means, means)
            raise
        if wrong == self._kernel.NOT_FINITE:
            return self._means.item(plan.done.item())
        self._kernel.check(wrong)
        return None

    def _planned(self, n: int, in_order: bool) -> _Plan:
        # The jobs of steps on n examples: all of the arguments, or those that an order lists.
        kernel, program, places = self._kernel, self.program, self.places
        run, update = self._executor.bind(n), self._update
        gradient = self._gradient
        mean, *gradients = program.schedule.results[: 1 + len(places), 1]
        shared = self._numbers.shape[1]
        loads, slot = [], 0
        for shape in program.shapes:
            width = math.prod(shape)
            lanes = address_of(run.rows[slot:])
            loads.append((kernel.LOAD, lanes, 0, n, width, 0, n * in_order, 0))
            slot += width + 1
        each = [
            *self._copies(run.uniform, np.arange(len(places)), self.row.data, places),
            run.job,
            self._copy(self._means[:1], run.uniform[mean:], 8, 0),
            *self._copies(gradient, places, run.uniform, np.array(gradients)),
            self._copy(self.row.grad, gradient),
            self._copy(update.uniform[:shared], self._numbers[0], 0, 8 * shared),
            *map(self._copy, self._inside, self._outside),
            update.job,
            (kernel.CHECK, address_of(self._mean_square)),
            *map(self._copy, self._outside, self._new),
        ]
        # Without an order, all steps use the same examples, which are loaded once.
        table = kernel.jobs([], loads + each) if in_order else kernel.jobs(loads, each)
        plan = _Plan(kernel, table, len(loads), run)
        if len(self._plans) == KEPT:
            del self._plans[next(iter(self._plans))]
        self._plans[n, in_order] = plan
        return plan

    def _copy(self, out: Array, source: Array, *moves: int) -> Job:
        assert len(source) >= len(out)  # the kernel does not check this
        return self._kernel.COPY, address_of(out), address_of(source), len(out), *moves

    def _copies(self, out: Array, at: Array, source: Array, of: Array) -> Iterable[Job]:
        # Jobs for out[at] = source[of], one for each stretch of neighbours.
        ends = np.flatnonzero((np.diff(at) != 1) | (np.diff(of) != 1)) + 1
        for first, last in pairwise([0, *ends, len(at)]):
            yield self._copy(out[at[first] : at[first] + last - first], source[of[first] :])


class _Plan:
    # A table of jobs for batches of n examples. Their arrays differ from call to call.

    def __init__(self, kernel: Any, table: Array, n_loads: int, run: Any) -> None:
        self.table, self.address = table, address_of(table)
        self.run = run  # keeps the memory that the jobs point to
        self._times = kernel.TIMES
        self.done = table[kernel.DONE : kernel.DONE + 1]
        self._loads = table[kernel.JOBS :].reshape(-1, kernel.JOB)[:n_loads]
        self._given: list[Any] = [(lambda: None, (), None)] * n_loads

    def point_to(self, arrays: Sequence[Array], order: Array | None, count: int) -> None:
        for i, array in enumerate(arrays):
            reference, layout, _ = self._given[i]
            if reference() is not array or layout != _layout(array):
                self._point(i, array)
        if order is not None:
            assert 0 <= order.min() <= order.max() < min(map(len, arrays))
            self._order = np.ascontiguousarray(order, np.int64)
            self._loads[:, 5] = address_of(self._order)
        self.table[self._times], self.done[0] = count, 0

    def _point(self, i: int, array: Array) -> None:
        source = array
        is_plain = (
            array.dtype in (np.float64, np.int64)
            and array.flags.c_contiguous
            and array.flags.aligned
        )
        n, width, _, is_in_order = self._loads[i, 3:7].tolist()
        if not (is_plain and array.ndim):
            source = np.array(array if array.ndim else np.full(n, array), float, order="C")
        assert is_in_order or source.size >= n * width
        self._loads[i, 2] = address_of(source)
        self._loads[i, 7] = source.dtype == np.int64
        # The copy is used once: the array may change. The array itself is only weakly referenced.
        known = weakref.ref(array) if source is array else lambda: None
        self._given[i] = known, _layout(array), source if source is not array else None


def _layout(array: Array) -> tuple[Any, ...]:
    # What may change in an array that stays the same object. Its numbers stay where they are:
    # NumPy does not resize an array that is weakly referenced.
    return array.strides, array.dtype
