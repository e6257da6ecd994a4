"""Running a schedule with numba: one kernel, compiled once, runs all programs.

The kernel and the encoding of groups as integers are in `kernel.py`. This file provides aligned
memory for the kernel, and checks whether numba is available.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.compiler.schedule import Schedule

Array = npt.NDArray[Any]

LINE = 64  # bytes in a cache line


def why_not(kept: bool = True) -> str:
    """Why numba cannot run programs here; empty if it can.

    Args:
        kept: whether the kernel must be cached on disk; without a cache, each process takes seconds
            to compile it.

    >>> len(why_not()) >= len(why_not(kept=False))
    True
    """
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed: pip install numba"
    try:
        kernel = _kernel()
    except Exception as error:  # this numba does not support this version of Python or NumPy
        return f"numba does not work here: {error}"
    if kernel.not_cached and kept:
        return (
            f"numba cannot cache its kernel ({kernel.not_cached}): set NUMBA_CACHE_DIR to a "
            "writable folder"
        )
    return ""


class NumbaRun:
    """A schedule encoded as integers, bound to its memories for a given number of lanes.

    Args:
        schedule: the schedule to run.
        encoded: its groups as integers, from `encode`.
        n: the number of lanes, one per example.

    If numba is missing, the example uses a NumPyRun, which has the same methods.

    >>> from functools import partial
    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> from micrograd.compiler.run_numpy import NumPyRun
    >>> w = Value(2.0)
    >>> schedule = Program(lambda x: w * x, [()], "numpy").schedule
    >>> bind = partial(NumPyRun, schedule) if why_not() else numba_binder(schedule)
    >>> run = bind(3)
    >>> run.uniform[0], run.lanes[0] = 2.0, [1.0, 3.0, 5.0]
    >>> run.until_means()
    >>> run.after_means()
    >>> run.uniform[schedule.results[:2, 1]]  # the mean, and its derivative with respect to w
    array([6., 3.])
    """

    def __init__(self, schedule: Schedule, encoded: Array, n: int) -> None:
        kernel = compiled_kernel()
        self._kernel = kernel.run
        n_uniform, n_rows = schedule.sizes
        self.matrix = _aligned(n_rows, n)
        self.uniform = _aligned(1, n_uniform)[0]
        self._encoded, self._scratch = encoded, _aligned(1, kernel.scratch_size(encoded, n))[0]
        memory = self._encoded, self.uniform, self.matrix, self._scratch
        middle, end = len(schedule.before) + len(schedule.lanes), len(schedule.groups)
        parts = (0, end), (0, middle), (middle, end)
        jobs = [(kernel.GROUPS, *map(address_of, memory), n, *part) for part in parts]
        self.job = jobs[0]
        self._tables = [kernel.jobs([job]) for job in jobs]
        self._whole, self._until_means, self._after_means = map(address_of, self._tables)
        self.lanes = self.matrix if n > 1 else self.matrix[:, 0]
        self.lanes[schedule.ones] = 1.0
        for slot, number in schedule.constants:
            self.uniform[slot] = number

    def __call__(self) -> None:
        """Computes everything."""
        self._run(self._whole)

    def until_means(self) -> None:
        """Computes the uniform groups, the lanes, and their means."""
        self._run(self._until_means)

    def after_means(self) -> None:
        """Computes the groups that depend on the means."""
        self._run(self._after_means)

    def _run(self, table: int) -> None:
        if self._kernel(table):
            raise IndexError("take got an index that is out of range or not a whole number")


def numba_binder(schedule: Schedule) -> Callable[[int], NumbaRun]:
    """A function that binds this schedule, encoded only once, for a given number of lanes."""
    return partial(NumbaRun, schedule, _kernel().encode(schedule.groups, *schedule.sizes))


@cache
def _kernel() -> Any:
    """The kernel's module, which imports numba."""
    return _uninterrupted(importlib.import_module, "micrograd.compiler.kernel")


@cache
def compiled_kernel() -> Any:
    """The kernel's module, with the kernel compiled even if it cannot be cached on disk."""
    kernel = _kernel()
    if not kernel.run.signatures:
        _uninterrupted(kernel.run.compile, kernel.SIGNATURE)
    return kernel


def _uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of the function, which Ctrl-C does not stop halfway.

    The function runs in another thread, while Ctrl-C only interrupts the main thread, which waits.
    A half-imported numba is broken and cannot be imported again; here its import continues after
    Ctrl-C, and the next call waits until it is finished.
    """
    return ThreadPoolExecutor(max_workers=1).submit(function, *arguments).result()


def address_of(array: Array) -> int:
    """The address of the first number of an array, which must not be freed while it is in use."""
    found: int = array.__array_interface__["data"][0]
    return found


def _aligned(rows: int, columns: int) -> Array:
    memory = np.zeros(rows * columns + LINE // 8)
    start = -address_of(memory) % LINE // 8
    return memory[start : start + rows * columns].reshape(rows, columns)
