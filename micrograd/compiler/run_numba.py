"""Running a schedule with numba: one kernel, compiled once per installation, runs all programs.

The kernel is in `kernel.py`, and `encode.py` writes its programs. A child process compiles the
kernel into numba's cache on disk. Meanwhile, functions that were not told which executor to use run
with NumPy. A lock file makes sure that only one process compiles.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from micrograd.compiler.run import Run
from micrograd.compiler.schedule import Schedule

if TYPE_CHECKING:
    from concurrent.futures import Future

LINE = 64  # bytes in a cache line
CHILD = "from micrograd.compiler import run_numba; run_numba.compile_into_cache()"

_starting = threading.Lock()


def why_not(wait: bool = True) -> str:
    """Why numba cannot run programs here; empty if it can.

    Args:
        wait: whether to wait until the kernel is compiled, which takes seconds; if False, a child
            process begins to compile it if necessary, and that it is not ready is a reason.

    >>> why_not() in ("", why_not(wait=False))
    True
    """
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed: pip install numba"
    try:
        kernel = _encoding().kernel
        if _uninterrupted(kernel.is_ready):
            return ""
        if kernel.not_cached and not wait:
            return (
                f"numba cannot cache its kernel ({kernel.not_cached}): set NUMBA_CACHE_DIR to a "
                "writable folder"
            )
        if kernel.not_cached:
            _say("numba compiles its kernel, which it cannot cache: this takes about 10 seconds")
            _uninterrupted(kernel.compile_now)
            return ""
        with _starting:
            compilation = _compilation()
        if not wait and not compilation.done():
            return "numba is compiling its kernel: call clear() in a few seconds"
        failure = compilation.result()
        if failure or _uninterrupted(kernel.is_ready):
            return failure
        return "numba does not find the kernel that it has compiled"
    except Exception as error:  # this numba does not support this version of Python or NumPy
        return f"numba does not work here: {error}"


@cache
def _compilation() -> Future[str]:
    # Starts a child process that compiles the kernel. The result is why it failed, or "".
    from concurrent.futures import Future  # takes 5 milliseconds, which NumPy's users need not wait

    _say(
        "numba compiles its kernel, once per installation: this takes about 10 seconds, and "
        "functions run with NumPy until then"
    )
    found: Future[str] = Future()
    code = f"import sys; sys.path[:] = {sys.path!r}; {CHILD}"
    try:  # a new session, so that Ctrl-C, or closing the terminal, does not stop the child
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", code], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        found.set_result(_failure(error))
        return found

    def watch() -> None:
        *_, last = [b"", *child.communicate()[1].strip().splitlines()]
        reason = last.decode(errors="replace") or f"exit code {child.returncode}"
        found.set_result(_failure(reason) if child.returncode else "")

    # As a daemon, the thread that waits for the child does not keep this process from ending.
    threading.Thread(target=watch, daemon=True).start()
    return found


def _failure(reason: object) -> str:
    text = f"numba could not compile its kernel: {reason}"
    _say(f"{text}; functions run with NumPy")
    return text


def compile_into_cache() -> None:
    """Compiles the kernel into numba's cache, unless another process has done so meanwhile."""
    kernel = _encoding().kernel
    with (Path(kernel.run.stats.cache_path) / "micrograd-kernel.lock").open("w") as file:
        _lock(file)
        kernel.compile_now()


def _lock(file: IO[str]) -> None:
    # Waits until no other process holds the lock; the system releases it when the process ends.
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                return msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            except OSError:  # it gives up after ten seconds
                continue
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)


def _say(text: str) -> None:
    if sys.stderr is not None:  # as in a program without a console
        sys.stderr.write(f"micrograd: {text}\n")
        sys.stderr.flush()


class NumbaRun(Run):
    """A schedule encoded for the kernel, with its memory, for a given number of lanes.

    Args:
        schedule: the schedule to run.
        n: the number of lanes, one per example.

    Attributes:
        kernel: the module of the kernel.
        job: the job that computes everything, see `kernel.jobs`.
    """

    def __init__(self, schedule: Schedule, n: int) -> None:
        self.kernel = kernel = _encoding().kernel
        self._encoded = encoded = _encoding().encode(schedule, n)
        memory = np.zeros(encoded.size + LINE // 8)
        start = -address_of(memory) % LINE // 8
        self._memory = memory = memory[start : start + encoded.size]
        n_uniform, n_rows = schedule.sizes
        lanes = memory[encoded.lanes : encoded.lanes + n_rows * n].reshape(n_rows, n)
        super().__init__(schedule, memory[:n_uniform], lanes)
        arrays = encoded.program, memory
        places = *map(address_of, arrays), *map(len, arrays)
        until, after = encoded.until_means, encoded.after_means
        self.job = kernel.PROGRAM, *places, until[0], after[1]
        parts = encoded.once, (until[0], after[1]), until, after
        self._tables = [kernel.jobs([(kernel.PROGRAM, *places, *part)]) for part in parts]
        once, self._whole, self._until, self._after = map(address_of, self._tables)
        self._run(once)

    def _run(self, table: int) -> None:
        result = self.kernel.run(table)
        if result:
            self.kernel.check(result)

    def __call__(self) -> None:
        """Computes everything."""
        self._run(self._whole)

    def until_means(self) -> None:
        """Computes the uniform groups, the lanes, and their means."""
        self._run(self._until)

    def after_means(self) -> None:
        """Computes the groups that depend on the means."""
        self._run(self._after)


def address_of(array: Any) -> int:
    """The address of the first number of an array, which must not be freed while it is in use."""
    found: int = array.__array_interface__["data"][0]
    return found


@cache
def _encoding() -> Any:
    # The module that writes programs; it imports the kernel, which imports numba.
    return _uninterrupted(importlib.import_module, "micrograd.compiler.encode")


def _uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of the function, which Ctrl-C does not stop halfway.

    The function runs in another thread, while Ctrl-C only interrupts the main thread, which waits.
    A half-imported numba is broken and cannot be imported again; here its import continues after
    Ctrl-C, and the next call waits until it is finished.
    """
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=1).submit(function, *arguments).result()
