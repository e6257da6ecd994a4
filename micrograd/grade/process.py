"""A file, graded in a separate process that may loop, crash or run out of memory.

The process loads the class, runs the checks, and writes each of them to a temporary file as soon as
it is done. What was found before a crash or the deadline is kept.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from micrograd.grade.check import Check
from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import GradedClass, failure, printable
from micrograd.grade.loading import NoClassError, class_in, file_at, mistake_behind
from micrograd.grade.programs import plan
from micrograd.grade.report import Report

LONGEST_RUN = 1e6  # seconds: a time limit above is none
FILE_MEGABYTES = 256  # limit for each file it writes: a log in an endless loop would fill the disk
# The child runs the same package as this process, wherever it is; the graded file does not see it.
CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); from micrograd.grade.process import main; "
    "del sys.path[0]; main(sys.argv[2])"
)


def grade_file(
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    class_name: str = "Value",
    megabytes: int | None = 2048,
    names: Mapping[str, str] | None = None,
) -> Report:
    """The report on a class in a file or a notebook, which runs in a separate process.

    Only the top-level statements that define the class run. If the file does not load, never ends,
    crashes or needs too much memory, the report says so and names the check that was running. The
    file gets no input, and its output is discarded. This protects against mistakes, not against
    malice: the file runs with all your permissions.

    Args:
        path: a .py file, a notebook (.ipynb), or a folder with one file that defines the class.
        seconds: time limit for the whole run.
        class_name: the name of the class in the file.
        megabytes: limit on the address space of the process, None for no limit; it has no effect on
            Windows and macOS.
        names: the class's names for 'data', 'grad' and 'backward', if they cannot be guessed.

    Raises:
        FileNotFoundError: there is no such file, or not exactly one in the folder.
        ValueError: seconds or megabytes are not above 0.
        RuntimeError: Python runs in a browser, which cannot start a process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "my_engine.py")
    ...     _ = file.write_text("while True: pass")
    ...     print(grade_file(file, seconds=1.5).mistakes[0][0].rule)
    Every program must end.
    """
    grading = Grading(path, seconds, class_name, megabytes, names)
    try:
        with suppress(subprocess.TimeoutExpired):
            grading.child.wait(grading.seconds)
    finally:
        grading.end()
    return grading.report()


# ---- 1. Here: the process and what it has found


class Grading:
    """A file that is being graded, in a process with a deadline; the arguments of `grade_file`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        seconds: float = 10.0,
        class_name: str = "Value",
        megabytes: int | None = 2048,
        names: Mapping[str, str] | None = None,
    ) -> None:
        if not seconds > 0 or (megabytes is not None and not megabytes > 0):
            raise ValueError(
                f"grade expects limits above 0, got seconds={seconds}, megabytes={megabytes}"
            )
        if sys.platform == "emscripten":
            raise RuntimeError(
                "grade_file expects to start a process, got a browser, which has none: import the "
                f"class from the file, and call grade({class_name})"
            )
        self.name, self.seconds = printable(os.fspath(path)), min(seconds, LONGEST_RUN)
        file = file_at(Path(path), class_name)
        self.loading = Check("file", "loads", printable(f"from {file.stem} import {class_name}"))
        settings = {
            "file": str(file),
            "class_name": class_name,
            "names": dict(names or {}),
            "megabytes": math.ceil(megabytes or 0),
            "cpu_seconds": math.ceil(self.seconds) + 1,
        }
        self.results = tempfile.TemporaryFile()  # noqa: SIM115 - report() closes it
        self.began, self.ended, self.is_late = time.monotonic(), 0.0, False
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, str(Path(__file__).resolve().parents[2]),
             json.dumps(settings)],
            stdin=subprocess.DEVNULL, stdout=self.results, stderr=subprocess.DEVNULL,
            start_new_session=True,
            # Numerical libraries start a thread for each core, and each reserves memory.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def is_over(self) -> bool:
        """Whether the process has ended; at the deadline it is killed."""
        if self.child.poll() is None and time.monotonic() < self.began + self.seconds:
            return False
        self.end()
        return True

    def end(self) -> None:
        """Kills the process and (not on Windows) everything it started."""
        self.is_late = self.is_late or self.child.poll() is None
        with suppress(OSError):
            if sys.platform == "win32":
                self.child.kill()
            else:
                os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.ended = self.ended or time.monotonic()

    def report(self) -> Report:
        """What was found, and how the process ended if it did not reach the last check."""
        remark, checks = "", []
        self.results.seek(0)
        for line in self.results:
            with suppress(ValueError, TypeError, RecursionError):  # the file may write here, too
                found = json.loads(line)
                if isinstance(found, str):
                    remark, checks = printable(found), [self.loading]
                else:
                    checks.append(Check(**found))
        self.results.close()
        rest = [
            self.loading,
            *(Check(row.operation, row.aspect, row.programs[0]) for row in plan()),
        ]
        rest = rest[len(checks) :]
        if rest and (not checks or checks[0].status != "failed"):
            mistake, what = self._ending()
            failed = replace(rest.pop(0), status="failed", mistake=mistake, found=what)
            checks.append(replace(failed, expected="a program that ends normally"))
        checks += (replace(check, status="not run") for check in rest)
        return Report(self.name, tuple(checks), remark, self.ended - self.began)

    def _ending(self) -> tuple[str, str]:
        """The key of RULES for the way in which the process ended, and what happened."""
        code = self.child.returncode
        if self.is_late:
            return "time", f"not finished after {self.seconds:g} seconds"
        if code >= 0:
            return "crash", f"the process ended itself with exit code {code}"
        if code == -getattr(signal, "SIGXCPU", 0):
            return "time", "the process used up its processor time"
        return "crash", f"the process was ended by signal {-code} ({signal.strsignal(-code)})"


# ---- 2. In the process


def main(settings: str) -> None:
    """Grades a file, and writes what it finds to stdout; the file's own output is discarded."""
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for found in _found(**json.loads(settings)):
        results.write(json.dumps(found).encode() + b"\n")
    os._exit(0)  # at once, even if the file started threads


def _found(
    file: str, class_name: str, names: Mapping[str, str], megabytes: int, cpu_seconds: int
) -> Iterator[Any]:
    """A remark on the names of the class and all checks; or the one check that it loads."""
    _limit(megabytes, cpu_seconds)
    sys.argv[:] = [file]
    path, place = Path(file), ""
    try:
        graded = GradedClass(class_in(path, class_name), names)
    except NoClassError as error:
        mistake, what = error.args
    except BaseException as error:
        mistake = mistake_behind(error, path)
        told = failure(error)  # the text of a syntax error already names the line
        what, place = told["text"], told["place"] * (mistake != "syntax")
    else:
        yield graded.remark(is_file=True)
        yield from map(asdict, checks_of(graded))
        return
    program = printable(f"from {path.stem} import {class_name}")
    expected = f"a class {printable(class_name)}"
    failed = Check("file", "loads", program, "failed", mistake, expected, printable(what), place)
    yield asdict(failed)


def _limit(megabytes: int, cpu_seconds: int) -> None:
    with suppress(ImportError):  # Windows has no such module
        import resource

        limits = {"RLIMIT_AS": megabytes * 2**20, "RLIMIT_CPU": cpu_seconds, "RLIMIT_CORE": -1,
                  "RLIMIT_FSIZE": FILE_MEGABYTES * 2**20}  # fmt: skip
        for name, limit in limits.items():
            with suppress(AttributeError, ValueError, OSError, OverflowError):
                kind = getattr(resource, name)
                _, most = resource.getrlimit(kind)
                if limit:
                    resource.setrlimit(kind, (max(limit, 0), most))
