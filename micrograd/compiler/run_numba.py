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

    def __init__(self, schedule: Schedule, n: int) -> None:
        compiler = _compiler()
        self._kernel = compiler.kernel
        self._encoded = encoded = compiler.encode(schedule, n)
        memory = np.zeros(encoded.size + LINE // 8)
        start = -memory.ctypes.data % LINE // 8
        self._memory = memory[start : start + encoded.size]
        n_uniform, n_rows = schedule.sizes
        self.uniform = self._memory[:n_uniform]
        rows = self._memory[encoded.lanes : encoded.lanes + n_rows * n].reshape(n_rows, n)
        self.lanes = rows if n > 1 else rows[:, 0]
        self.lanes[schedule.ones] = 1.0
        for slot, number in schedule.constants:
            self.uniform[slot] = number
        self._run(*encoded.once)

    def _run(self, first: int, last: int, times: int = 1) -> None:
        found = self._kernel.run(self._encoded.program, self._memory, first, last, times)
        if found == self._kernel.WRONG_INDEX:
            raise IndexError("take got an index that is out of range or not a whole number")
        if found:
            raise RuntimeError(f"the kernel stopped: {found}")

    def __call__(self) -> None:
        """Computes everything."""
        self._run(self._encoded.until_means[0], self._encoded.after_means[1])

    def until_means(self) -> None:
        """Computes the uniform groups, the lanes, and their means."""
        self._run(*self._encoded.until_means)

    def after_means(self) -> None:
        """Computes the groups that depend on the means."""
        self._run(*self._encoded.after_means)


def numba_binder(schedule: Schedule) -> Callable[[int], NumbaRun]:
    """A function that binds this schedule for a given number of lanes."""
    return partial(NumbaRun, schedule)


@cache
def _compiler() -> Any:
    encode = _uninterrupted(importlib.import_module, "micrograd.compiler.encode")
    if not encode.kernel.run.signatures:
        _uninterrupted(encode.kernel.compile_now)
    return encode


@cache
def _kernel() -> Any:
    """The kernel's module, which imports numba."""
    return _uninterrupted(importlib.import_module, "micrograd.compiler.kernel")


@cache
def _compiled_kernel() -> Any:
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


def _aligned(rows: int, columns: int) -> Array:
    memory = np.zeros(rows * columns + LINE // 8)
    start = -memory.ctypes.data % LINE // 8
    return memory[start : start + rows * columns].reshape(rows, columns)
