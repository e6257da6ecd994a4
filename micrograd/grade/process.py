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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

from micrograd.grade.check import Check
from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import GradedClass, RaisedError, printable
from micrograd.grade.loading import NoClassError, class_in, file_at
from micrograd.grade.programs import plan
from micrograd.grade.report import Report

MEGABYTES = 2048  # limit on the memory of the process
FILE_MEGABYTES = 256  # limit for each file it writes: a log in an endless loop would fill the disk
# The child runs the same package as this process, wherever it is; the graded file does not see it.
CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); from micrograd.grade.process import main; "
    "del sys.path[0]; main(*sys.argv[2:])"
)
PACKAGES = Path(__file__).resolve().parents[2]


# ---- 1. Here: the process and what it has found


def grade_file(
    path: str | os.PathLike[str], seconds: float = 10.0, class_name: str = "Value"
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

    Raises:
        FileNotFoundError: there is no such file, or not exactly one in the folder.
        ValueError: seconds is not above 0.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "my_engine.py")
    ...     _ = file.write_text("class Value:\n    while True: pass")
    ...     print(grade_file(file, seconds=0.5).mistakes[0][0].rule)
    Every program must end.
    """
    if not seconds > 0:
        raise ValueError(f"grade expects seconds above 0, got {seconds}")
    file = file_at(Path(path), class_name)
    began, found = time.monotonic(), ""
    with tempfile.TemporaryFile() as results:
        try:
            code = subprocess.run(
                [sys.executable, "-P", "-c", CHILD, PACKAGES, file, class_name,
                 str(math.ceil(seconds) + 1)],
                stdin=subprocess.DEVNULL, stdout=results, stderr=subprocess.DEVNULL,
                timeout=seconds, check=False,
                # Numerical libraries start a thread for each core, and each reserves memory.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            ).returncode  # fmt: skip
            found = f"the process ended itself with exit code {code}"
            if code < 0:
                found = f"the process was ended by {signal.Signals(-code).name}"
        except subprocess.TimeoutExpired:
            found = f"not finished after {seconds:g} seconds"
        results.seek(0)
        lines = results.readlines()
    checks = [Check(**json.loads(line)) for line in lines if line.endswith(b"\n")]
    planned = [_loading(class_name), *(row.check("not run") for row in plan())]
    rest = planned[len(checks) :]
    if rest and (not checks or checks[0].passed):
        mistake, expected = (
            "time" if "seconds" in found else "crash",
            "a program that ends normally",
        )
        failed = replace(rest.pop(0), status="failed", mistake=mistake, expected=expected)
        checks.append(replace(failed, found=found))
    return Report(printable(os.fspath(path)), (*checks, *rest), time.monotonic() - began)


def _loading(class_name: str) -> Check:
    """The first check of a file: that there is a class."""
    return Check("file", "loads", printable(f"from my_engine import {class_name}"))


# ---- 2. In the process


def main(file: str, class_name: str, seconds: str) -> None:
    """Grades a file, and writes what it finds to stdout; the file's own output is discarded."""
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    process = os.getpid()
    with suppress(ImportError):  # Windows has no such module
        import resource as r

        # A loop then ends even if the process that grades is gone.
        limits = {r.RLIMIT_AS: MEGABYTES * 2**20, r.RLIMIT_FSIZE: FILE_MEGABYTES * 2**20,
                  r.RLIMIT_CPU: int(seconds), r.RLIMIT_CORE: 0}  # fmt: skip
        for kind, limit in limits.items():
            with suppress(ValueError, OSError):  # macOS refuses one of memory
                r.setrlimit(kind, (limit, r.getrlimit(kind)[1]))
    sys.argv[:] = [file]
    for found in _found(Path(file), class_name):
        if os.getpid() != process:  # the file forked: one of the two reports
            break
        results.write(json.dumps(asdict(found)).encode() + b"\n")
    os._exit(0)  # at once, even if the file started threads


def _found(file: Path, class_name: str) -> Iterator[Check]:
    """The check that there is a class, and all others."""
    loading = _loading(class_name)
    try:
        graded = GradedClass(class_in(file, class_name))
    except BaseException as error:
        kinds = {ImportError: "module", MemoryError: "memory", SyntaxError: "syntax"}
        mistake = next((kinds[kind] for kind in kinds if isinstance(error, kind)), "load")
        raised = RaisedError(error)
        found, place = raised.text, raised.place * (mistake != "syntax")  # its text names the line
        if isinstance(error, NoClassError):
            mistake, found, place = *error.args, ""
        expected, found = printable(f"a class {class_name}"), printable(found)
        yield replace(loading, status="failed", mistake=mistake, place=place,
                      expected=expected, found=found)  # fmt: skip
    else:
        yield from chain([loading], checks_of(graded))
