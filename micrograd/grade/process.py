"""The report on a file, graded in a separate process that may loop, crash or run out of memory.

That process loads the file, runs the checks, and sends each of them as soon as it is done: what was
found before a crash is kept.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from micrograd.grade.check import Check
from micrograd.grade.graded_class import printable
from micrograd.grade.loading import code_in, has_class
from micrograd.grade.programs import plan
from micrograd.grade.report import Report

# The child runs the same package as this process, wherever it is; the graded file does not see it.
CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); from micrograd.grade.child import main; "
    "del sys.path[0]; main()"
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
    if not seconds > 0 or (megabytes is not None and not megabytes > 0):
        raise ValueError(
            f"grade expects limits above 0, got seconds={seconds}, megabytes={megabytes}"
        )
    if sys.platform == "emscripten":
        raise RuntimeError(
            "grade_file expects to start a process, got a browser, which has none: import the "
            f"class from the file, and call grade({class_name})"
        )
    file = _file_at(Path(path), class_name)
    settings = {
        "path": str(file),
        "class_name": class_name,
        "told": dict(names or {}),
        "megabytes": math.ceil(megabytes or 0),
        "cpu_seconds": math.ceil(min(seconds, 1e6)) + 1,
    }
    loading = Check("file", "loads", printable(f"from {file.stem} import {class_name}"))
    planned = [loading, *(Check(row.operation, row.aspect, row.programs[0]) for row in plan())]
    checks: list[Check] = []
    remark = ""
    with _Process(settings, seconds) as process:
        for found in process.found():
            if isinstance(found, list):
                mistake, what, place = map(printable, found)
                failed = replace(loading, status="failed", mistake=mistake, found=what)
                expected = f"a class {printable(class_name)}"
                checks = [replace(failed, expected=expected, place=place)]
            elif isinstance(found, str):
                remark, checks = found, [loading]
            else:
                checks.append(Check(**found))
        if len(checks) < len(planned) and all(check.status != "failed" for check in checks[:1]):
            mistake, what = process.ending()
            failed = replace(planned[len(checks)], status="failed", mistake=mistake, found=what)
            checks.append(replace(failed, expected="a program that ends normally"))
    rest = (replace(check, status="not run") for check in planned[len(checks) :])
    return Report(printable(os.fspath(path)), (*checks, *rest), remark)


def _file_at(path: Path, class_name: str) -> Path:
    file = Path(os.path.realpath(path))
    if file.is_file():
        return file
    what = f"there is no file {path}"
    if file.is_dir():
        there = [x for x in code_in(file) if has_class(x, class_name)]
        if len(there) == 1:
            return there[0]
        some = ", ".join(str(x.relative_to(file)) for x in there[:5])
        what = f"{path} is a folder in which {len(there)} files define a class {class_name}"
        what += f" ({some})" * bool(there)
    raise FileNotFoundError(f"{printable(what)}: grade expects a Python file or a notebook")


# ---- The process


_running: set[_Process] = set()


def end_all() -> None:
    """Ends all processes that grade a file now, in any thread; their reports say so."""
    for process in list(_running):
        process.kill()


class _Process:
    """A process that grades a file until a deadline; then it and its children are killed."""

    def __init__(self, settings: Mapping[str, Any], seconds: float) -> None:
        self.late, self.token = "", secrets.token_hex(16)
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, str(Path(__file__).resolve().parents[2])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # Numerical libraries start a thread for each core, and each reserves memory.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        _running.add(self)
        self.timer = threading.Timer(min(seconds, 1e6), self.kill, [f"{seconds:g} seconds"])
        self.timer.daemon = True
        self.timer.start()
        assert self.child.stdin
        with suppress(OSError), self.child.stdin as pipe:
            pipe.write(json.dumps([self.token, settings]).encode() + b"\n")

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def found(self) -> Iterator[Any]:
        """What the process sends, until it ends; lines that the file itself wrote are left out."""
        assert self.child.stdout
        for line in self.child.stdout:
            with suppress(ValueError, TypeError, RecursionError):
                token, found = json.loads(line)
                if token == self.token:
                    yield found

    def ending(self) -> tuple[str, str]:
        """The key of RULES for the way in which the process ended, and what happened."""
        code = self.end()
        if self.late:
            return "time", f"not finished after {self.late}"
        if code >= 0:
            return "crash", f"the process ended itself with exit code {code}"
        with suppress(ValueError):
            if (name := signal.Signals(-code).name) == "SIGXCPU":
                return "time", "the process used up its processor time"
            name += " or closed its pipes" * (name == "SIGKILL")
            return "crash", f"the process was ended by {name}"
        return "crash", f"the process was ended by signal {-code}"

    def end(self) -> int:
        """Kills the process and (not on Windows) everything it started; returns its exit code."""
        _running.discard(self)
        self.timer.cancel()
        self.kill()
        code = self.child.wait()
        if self.child.stdout:
            self.child.stdout.close()
        return code

    def kill(self, late: str = "") -> None:
        """Kills it; `late` says how long it had."""
        self.late = self.late or late
        if self.child.returncode is None:  # until it is reaped, no other process can have its id
            with suppress(OSError):
                if sys.platform == "win32":
                    self.child.kill()
                else:
                    os.killpg(self.child.pid, signal.SIGKILL)
