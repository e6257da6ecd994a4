"""Pass 5, numba: the groups as integers for a kernel that is compiled once for all programs.

What the kernel is, and how a group becomes integers, stands in `kernel`. Here is what surrounds it:
memory that begins where the processor likes it, and the question whether numba is there.
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

LINE = 64  # bytes that the processor loads at once


def why_not(kept: bool = True) -> str:
    """Why numba cannot run programs here; empty if it can.

    Args:
        kept: whether the kernel must be kept on disk, as it would take seconds in each process.

    >>> len(why_not()) >= len(why_not(kept=False))
    True
    """
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed: pip install numba"
    try:
        kernel = _kernel()
    except Exception as error:  # a numba that does not fit the Python or the NumPy that is here
        return f"numba does not work here: {error}"
    if kernel.not_cached and kept:
        return (
            f"numba cannot keep its kernel ({kernel.not_cached}): set NUMBA_CACHE_DIR to a folder "
            "that can be written"
        )
    return ""


class NumbaRun:
    """A schedule in the form of integers, bound to its memories for a number of lanes.

    Args:
        schedule: what to run.
        encoded: its groups, from `encode`.
        n: number of lanes.

    A run of NumPy's does the same in the same way, where there is no numba.

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
    >>> run.uniform[schedule.results[:2, 1]]  # the mean, and its derivative by w
    array([6., 3.])
    """

    def __init__(self, schedule: Schedule, encoded: Array, n: int) -> None:
        kernel = _compiled_kernel()
        self._run = kernel.run
        n_uniform, n_rows = schedule.sizes
        self._encoded = encoded
        self._first_after = len(schedule.before) + len(schedule.lanes)
        self._last = len(schedule.groups)
        self._matrix = _aligned(n_rows, n)
        self._scratch = _aligned(1, kernel.scratch_size(encoded, n))[0]
        self.uniform = _aligned(1, n_uniform)[0]
        self.lanes = self._matrix if n > 1 else self._matrix[:, 0]
        self.lanes[schedule.ones] = 1.0
        for slot, number in schedule.constants:
            self.uniform[slot] = number

    def __call__(self, first: int = 0, last: int | None = None) -> None:
        """Computes everything, or some of the groups."""
        last = self._last if last is None else last
        memory = self.uniform, self._matrix, self._scratch
        if self._run(self._encoded, *memory, first, last):
            raise IndexError("take got an index outside of its table")

    def until_means(self) -> None:
        """Computes what is uniform, the lanes, and their means."""
        self(0, self._first_after)

    def after_means(self) -> None:
        """Computes what follows from the means."""
        self(self._first_after)


def numba_binder(schedule: Schedule) -> Callable[[int], NumbaRun]:
    """What makes runs of this schedule; its groups become integers once."""
    return partial(NumbaRun, schedule, _kernel().encode(schedule.groups, *schedule.sizes))


@cache
def _kernel() -> Any:
    """The kernel's module, which imports numba."""
    return _uninterrupted(importlib.import_module, "micrograd.compiler.kernel")


@cache
def _compiled_kernel() -> Any:
    """The same, compiled also where it cannot be kept on disk."""
    kernel = _kernel()
    if not kernel.run.signatures:
        _uninterrupted(kernel.run.compile, kernel.SIGNATURE)
    return kernel


def _uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns; Ctrl-C does not stop it halfway.

    It runs in another thread, and Ctrl-C interrupts the main thread alone, here while it waits. A
    numba that is imported by half works no more, and cannot be imported again; so it goes on, and
    the next call waits for the rest.
    """
    return ThreadPoolExecutor(max_workers=1).submit(function, *arguments).result()


def _aligned(rows: int, columns: int) -> Array:
    memory = np.zeros(rows * columns + LINE // 8)
    start = -memory.ctypes.data % LINE // 8
    return memory[start : start + rows * columns].reshape(rows, columns)
