"""The report on a file, graded in a separate process that may loop, crash or run out of memory.

That process loads the file, runs one small program at a time and sends back the numbers. It does
not know what is right: programs, expected numbers and verdicts stay in this process.
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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from micrograd.grade.check import Check, printable
from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import GradedClass
from micrograd.grade.loading import code_in, has_class
from micrograd.grade.programs import plan
from micrograd.grade.report import Report

# The child imports our package as _grader: its `micrograd` may be the learner's package.
CHILD = (
    "import sys, types; _grader = types.ModuleType('_grader'); _grader.__path__ = [sys.argv[1]];"
    "sys.modules['_grader'] = _grader; from _grader.child import serve; serve()"
)
LONGEST = 2**20  # bytes: the limit for an answer


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
    checks: list[Check] = []
    remark, ended = "", None
    with _Process(seconds) as process:
        try:
            if wrong := printable(process.ask("load", settings)):
                mistake, found, place = wrong
                expected = f"a class {printable(class_name)}"
                failed = replace(loading, status="failed", mistake=mistake, expected=expected)
                checks.append(replace(failed, found=found, place=place))
            else:
                checks.append(loading)
                graded = GradedClass.found_by(process.ask)
                remark = graded.remark(is_file=True)
                for check in checks_of(graded):
                    checks.append(check)  # one by one, to keep what was found before a crash
        except _EndedError as error:
            ended = error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            ended = _EndedError("crash", "impossible answers: the file wrote to our pipe")
    planned = [loading, *(Check(row.operation, row.aspect, row.programs[0]) for row in plan())]
    if ended:
        mistake, found = ended.args
        what = {"mistake": mistake, "expected": "a program that ends normally", "found": found}
        checks.append(replace(planned[len(checks)], status="failed", **what))
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


class _EndedError(Exception):
    """The process ended or was stopped; the arguments are a key of RULES and what happened."""


_running: set[_Process] = set()


def end_all() -> None:
    """Ends all processes that grade a file now, in any thread; their reports say so."""
    for process in list(_running):
        process.kill()


class _Process:
    """A process that answers questions until a deadline; then it and its children are killed."""

    def __init__(self, seconds: float) -> None:
        self.late = ""
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, str(Path(__file__).resolve().parent)],
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

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def ask(self, what: str, *arguments: Any) -> Any:
        """The answer to a question; lines that the file itself wrote are left out."""
        assert self.child.stdin
        assert self.child.stdout
        token = secrets.token_hex(16)
        with suppress(OSError):  # it has ended: reading the answer will show that
            self.child.stdin.write(json.dumps([token, what, arguments]).encode() + b"\n")
            self.child.stdin.flush()
        while line := self.child.stdout.readline(LONGEST):
            with suppress(ValueError, TypeError, RecursionError):
                found, answer = json.loads(line)
                if found == token:
                    return answer
        raise _EndedError(*self._ending())

    def _ending(self) -> tuple[str, str]:
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
        for pipe in (self.child.stdin, self.child.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()
        return code

    def kill(self, late: str = "") -> None:
        self.late = self.late or late
        if self.child.returncode is None:  # until it is reaped, no other process can have its id
            with suppress(OSError):
                if sys.platform == "win32":
                    self.child.kill()
                else:
                    os.killpg(self.child.pid, signal.SIGKILL)
