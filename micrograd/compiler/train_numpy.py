"""Training steps with NumPy: the groups of the program, then those of the update rule.

The update has its own memory. Parameters and states get their new numbers only once all of these
are known, so a step that is interrupted or refused changes none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.compiler.run_numpy import NumPyRun
from micrograd.compiler.update import MOST, Training

Array = npt.NDArray[Any]


class Steps(Training):
    """Steps on NumPy; see `Training` for the arguments."""

    bind: Any = NumPyRun  # binds the update rule to its memory, whose lanes are the parameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._executor = self.program.executor_for(with_gradients=True)
        self.largest = self._executor.tile
        schedule = self.rule.schedule
        self._update = update = self.bind(schedule, len(self.optimizer.parameters))
        mean_square, *slots = schedule.results[:, 1].tolist()
        data, self._gradient, *states = update.rows[: 2 + len(self._states)]
        self._outside = [self.row.data, *self._states]
        self._inside = [data, *states]
        self._new = [update.rows[slot] for slot in slots]
        self._mean_square = update.uniform[mean_square : mean_square + 1]
        self._means = np.zeros(MOST)

    def _steps(
        self, arrays: Sequence[Array], n: int, count: int, order: Array | None, means: list[float]
    ) -> float | None:
        before, done = (len(means), self.optimizer.steps), np.zeros(1, np.int64)
        try:
            refused = self._one_by_one(arrays, n, count, order, done)
            self.count(before, done, self._means, means)
        except BaseException:  # Ctrl-C, or an invalid index: earlier steps count
            self.count(before, done, self._means, means)
            raise
        return refused

    def _one_by_one(
        self, arrays: Sequence[Array], n: int, count: int, order: Array | None, done: Array
    ) -> float | None:
        row, update, places = self.program.row, self._update, self.places
        at = slice(places[0], places[-1] + 1) if row.is_slice else places
        n_shared = self._numbers.shape[1]
        bound = self._executor.taken(n)
        if order is None:  # all steps use the same examples
            bound.load(arrays)
        for k in range(count):
            if order is not None:
                bound.load([a[order[k]] if a.ndim else a for a in arrays])
            bound.parameters[...] = row.data
            bound.run()
            found = bound.uniform_results()
            mean: float = found.item(0)
            self._gradient[at] = found[1 : 1 + len(places)]
            self.row.grad[:] = self._gradient
            for inside, outside in zip(self._inside, self._outside, strict=True):
                inside[:] = outside
            update.uniform[:n_shared] = self._numbers[k]
            update()
            if not self._mean_square.item() < np.inf:
                return mean
            try:
                self._commit(k, mean, done)
            except KeyboardInterrupt:  # no half update
                self._commit(k, mean, done)
                raise
        self._executor.bound[n] = bound
        return None

    def _commit(self, k: int, mean: float, done: Array) -> None:
        for outside, new in zip(self._outside, self._new, strict=True):
            outside[:] = new
        self._means[k], done[0] = mean, k + 1
