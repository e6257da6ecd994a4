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
from micrograd.grade.loading import NoClassError, class_in, file_at
from micrograd.grade.programs import plan
from micrograd.grade.report import Report

MEGABYTES = 2048  # limit on the memory of the process
FILE_MEGABYTES = 256  # limit for each file it writes: a log in an endless loop would fill the disk
# The child runs the same package as this process, wherever it is; the graded file does not see it.
CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); from micrograd.grade.process import main; "
    "del sys.path[0]; main(sys.argv[2])"
)
RUNNING = set[subprocess.Popen[bytes]]()  # all processes that now grade a file


# ---- 1. Here: the process and what it has found


def grade_file(
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    class_name: str = "Value",
    names: Mapping[str, str] | None = None,
) -> Report:
    r"""The report on a class in a file or a notebook, which runs in a separate process.

    Only the top-level statements that define the class run. If the file does not load, never ends,
    crashes or needs more than 2 GB of memory, the report says so and names the check that was
    running. The file gets no input, and its output is discarded. This protects against mistakes,
    not against malice: the file runs with all your permissions.

    Args:
        path: a .py file, a notebook (.ipynb), or a folder with one file that defines the class.
        seconds: time limit for the whole run.
        class_name: the name of the class in the file.
        names: the class's names for 'data', 'grad' and 'backward', if they cannot be guessed.

    Raises:
        FileNotFoundError: there is no such file, or not exactly one in the folder.
        ValueError: seconds is not above 0.
        RuntimeError: Python runs in a browser, which cannot start a process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "my_engine.py")
    ...     _ = file.write_text("class Value:\n    while True: pass")
    ...     print(grade_file(file, seconds=1.5).mistakes[0][0].rule)
    Every program must end.
    """
    if not seconds > 0:
        raise ValueError(f"grade expects seconds above 0, got {seconds}")
    if sys.platform == "emscripten":
        raise RuntimeError(
            "grade_file expects to start a process, got a browser, which has none: import the "
            f"class from the file, and call grade({class_name})"
        )
    file = file_at(Path(path), class_name)
    settings = json.dumps([str(file), class_name, dict(names or {}), math.ceil(seconds) + 1])
    packages = Path(__file__).resolve().parents[2]
    began, is_late = time.monotonic(), False
    with tempfile.TemporaryFile() as results:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, str(packages), settings],
            stdin=subprocess.DEVNULL, stdout=results, stderr=subprocess.DEVNULL,
            start_new_session=True,
            # Numerical libraries start a thread for each core, and each reserves memory.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        RUNNING.add(child)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            end(child)
        results.seek(0)
        lines = results.readlines()
    remark = json.loads(lines[0]) if lines else ""
    checks = [Check(**json.loads(line)) for line in lines[1:] if line.endswith(b"\n")]
    planned = [Check(row.operation, row.aspect, row.programs[0]) for row in plan()]
    loading = Check("file", "loads", printable(f"from {file.stem} import {class_name}"))
    rest = [loading, *planned][len(checks) :]
    if rest and (not checks or checks[0].passed):
        mistake, what = _ending(child.returncode, seconds if is_late else 0)
        failed = replace(rest.pop(0), status="failed", mistake=mistake, found=what)
        checks.append(replace(failed, expected="a program that ends normally"))
    checks += (replace(check, status="not run") for check in rest)
    return Report(printable(os.fspath(path)), tuple(checks), remark, time.monotonic() - began)


def end(child: subprocess.Popen[bytes]) -> None:
    """Kills a process and (not on Windows) everything it started."""
    with suppress(OSError):
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    RUNNING.discard(child)


def _ending(code: int, seconds: float) -> tuple[str, str]:
    """The key of RULES for the way in which the process ended, and what happened."""
    if seconds:
        return "time", f"not finished after {seconds:g} seconds"
    if code >= 0:
        return "crash", f"the process ended itself with exit code {code}"
    return "crash", f"the process was ended by signal {-code} ({signal.strsignal(-code)})"


# ---- 2. In the process


def main(settings: str) -> None:
    """Grades a file, and writes what it finds to stdout; the file's own output is discarded."""
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    process = os.getpid()
    for found in _found(*json.loads(settings)):
        if os.getpid() != process:  # the file forked: one of the two reports
            break
        results.write(json.dumps(found).encode() + b"\n")
    os._exit(0)  # at once, even if the file started threads


def _found(file: str, class_name: str, names: Mapping[str, str], seconds: int) -> Iterator[Any]:
    """A remark on the names of the class, the check that it loads, and all others."""
    _limit(seconds)
    sys.argv[:] = [file]
    path = Path(file)
    loading = Check("file", "loads", printable(f"from {path.stem} import {class_name}"))
    failed = replace(loading, status="failed", expected=printable(f"a class {class_name}"))
    try:
        graded = GradedClass(class_in(path, class_name), names)
    except NoClassError as error:
        mistake, what = error.args
        yield from ("", asdict(replace(failed, mistake=mistake, found=printable(what))))
    except BaseException as error:
        kinds = {ImportError: "module", MemoryError: "memory", SyntaxError: "syntax"}
        mistake = next((kinds[kind] for kind in kinds if isinstance(error, kind)), "load")
        told = failure(error)
        place = told["place"] * (mistake != "syntax")  # whose text already names the line
        yield from ("", asdict(replace(failed, mistake=mistake, found=told["text"], place=place)))
    else:
        yield from (graded.remark(is_file=True), asdict(loading))
        yield from map(asdict, checks_of(graded))


def _limit(seconds: int) -> None:
    """Sets limits; a loop then ends even if the process that grades is gone."""
    with suppress(ImportError):  # Windows has no such module
        import resource as r

        limits = {r.RLIMIT_AS: MEGABYTES * 2**20, r.RLIMIT_FSIZE: FILE_MEGABYTES * 2**20,
                  r.RLIMIT_CPU: seconds, r.RLIMIT_CORE: 0}  # fmt: skip
        for kind, limit in limits.items():
            with suppress(ValueError, OSError):  # macOS refuses one of memory
                r.setrlimit(kind, (limit, r.getrlimit(kind)[1]))
