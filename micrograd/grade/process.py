"""The report on a file, graded in a separate process that may loop, crash or run out of memory.

That process loads the file, runs one small program at a time and sends back the numbers. It does
not know what is right: programs, expected numbers and verdicts stay in this process.
"""

from __future__ import annotations

import ast
import json
import math
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from micrograd.grade.check import Check
from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import GradedClass
from micrograd.grade.programs import plan
from micrograd.grade.report import Report
from micrograd.grade.subject import printable

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
        "parent": os.getpid(),
    }
    loading = Check("file", "loads", printable(f"from {file.stem} import {class_name}"))
    checks: list[Check] = []
    remark, ended = "", None
    with _Process(settings, seconds) as process:
        try:
            checks.append(_loaded(loading, process))
            if checks[0].passed:
                graded = GradedClass.found_by(process.ask)
                remark = graded.remark(is_file=True)
                for check in checks_of(graded):
                    checks.append(check)  # one by one, to keep what was found before a crash
                if process.ask("is_ours"):  # last, because it runs programs
                    checks = [_ours(loading, class_name)]
        except _EndedError as error:
            ended = error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            ended = _EndedError("crash", "impossible answers: the file wrote to our pipe")
    planned = [loading, *(Check(row.operation, row.aspect, row.programs[0]) for row in plan())]
    return Report(printable(os.fspath(path)), _completed(checks, planned, ended), remark)


def _completed(
    checks: list[Check], planned: list[Check], ended: _EndedError | None
) -> tuple[Check, ...]:
    """All checks of the plan: those made, the one running when the process ended, and the rest."""
    if ended:
        mistake, found = ended.args
        last = min(len(checks), len(planned) - 1)
        failed = replace(planned[last], status="failed", mistake=mistake, found=found)
        checks = [*checks[:last], replace(failed, expected="a program that ends normally")]
    return (*checks, *(replace(check, status="not run") for check in planned[len(checks) :]))


def _file_at(path: Path, class_name: str) -> Path:
    file = path.resolve()
    if file.is_file():
        return file
    what = f"there is no file {path}"
    if file.is_dir():
        there = [x for x in _python_files(file) if _defines(x, class_name)]
        if len(there) == 1:
            return there[0]
        some = ", ".join(str(x.relative_to(file)) for x in there[:5])
        what = f"{path} is a folder in which {len(there)} files define a class {class_name}"
        what += f" ({some})" * bool(there)
    raise FileNotFoundError(f"{printable(what)}: grade expects a Python file or a notebook")


def _python_files(folder: Path) -> list[Path]:
    patterns = ("*.py", "*/*.py", "src/*/*.py")
    found = {file for pattern in patterns for file in folder.glob(pattern) if file.is_file()}
    return sorted(found)[:1000]


def _defines(file: Path, class_name: str) -> bool:
    with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        body = ast.parse(file.read_bytes()).body
        return any(isinstance(node, ast.ClassDef) and node.name == class_name for node in body)
    return False


def _loaded(loading: Check, process: _Process) -> Check:
    """The first check: the file defines a class that is not ours."""
    answer = process.ask("class")
    failed = replace(loading, status="failed", expected=f"a class {process.class_name}")
    if "lacking" in answer:
        mistake, found = answer["lacking"]
        return replace(failed, mistake=str(mistake), found=printable(str(found)))
    if error := answer.get("error"):
        kinds = {"MemoryError": "memory", "SyntaxError": "syntax"}
        found = next((kinds[kind] for kind in error["kinds"] if kind in kinds), "load")
        mistake = str(answer["mistake"]) or found
        place = "" if mistake == "syntax" else error["place"]  # its text already names the line
        return replace(failed, mistake=mistake, found=error["text"], place=place)
    return _ours(loading, process.class_name) if answer["ours"] else loading


def _ours(loading: Check, class_name: str) -> Check:
    expected = "a class defined in the file or in one next to it"
    found = f"{class_name} is this package's own engine: there is nothing to grade"
    failed = replace(loading, status="failed", mistake="ours")
    return replace(failed, expected=expected, found=printable(found))


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

    def __init__(self, settings: Mapping[str, Any], seconds: float) -> None:
        self.class_name = printable(settings["class_name"])
        self.seconds = seconds
        self.deadline = time.monotonic() + min(seconds, 1e6)
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
        self.lines: queue.Queue[bytes] = queue.Queue(100)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self._send(["", "", settings])
        try:
            self._answer_to("")
        except _EndedError as error:
            self.end()
            what = "the process for the file did not start"
            raise RuntimeError(f"{what} ({error.args[1]}): allow more time") from None

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def ask(self, what: str, *arguments: Any) -> Any:
        token = secrets.token_hex(16)
        self._send([token, what, arguments])
        return self._answer_to(token)

    def end(self) -> int:
        """Kills the process and (not on Windows) everything it started; returns its exit code."""
        _running.discard(self)
        self.kill()
        self.child.wait()
        for _ in range(100):  # 1 second in all, in case an escaped child still holds the pipe
            with suppress(queue.Empty):
                self.lines.get_nowait()
            self.reader.join(0.01)
            if not self.reader.is_alive():
                break
        for pipe in (self.child.stdin, None if self.reader.is_alive() else self.child.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()
        return self.child.returncode

    def kill(self) -> None:
        if self.child.returncode is None:  # until it is reaped, no other process can have its id
            with suppress(OSError):
                if sys.platform == "win32":
                    self.child.kill()
                else:
                    os.killpg(self.child.pid, signal.SIGKILL)

    def _send(self, question: list[Any]) -> None:
        assert self.child.stdin
        with suppress(OSError):  # it has ended: reading the answer will show that
            self.child.stdin.write(json.dumps(question).encode() + b"\n")
            self.child.stdin.flush()

    def _read(self) -> None:
        assert self.child.stdout
        with suppress(OSError, ValueError):
            while line := self.child.stdout.readline(LONGEST):
                self.lines.put(line)
        self.lines.put(b"")

    def _answer_to(self, token: str) -> Any:
        while True:
            left = self.deadline - time.monotonic()
            try:
                line = self.lines.get(timeout=max(left, 0.001))
            except queue.Empty:
                raise _EndedError("time", f"not finished after {self.seconds:g} seconds") from None
            if not line:
                raise _EndedError(*_ending(self.end()))
            with suppress(ValueError, RecursionError):  # a line that the file itself wrote
                found, answer = json.loads(line)
                if found == token:
                    return _clean(answer)


def _ending(code: int) -> tuple[str, str]:
    if code >= 0:
        return "crash", f"the process ended itself with exit code {code}"
    name = str(-code)
    with suppress(ValueError):
        name = signal.Signals(-code).name
    if name == "SIGXCPU":
        return "time", "the process used up its processor time"
    if name == "SIGKILL":
        name += " or closed its pipes"
    return "crash", f"the process was ended by {name}"


def _clean(answer: Any) -> Any:
    """The answer with all text made printable: the file may have altered the process."""
    if isinstance(answer, str):
        return printable(answer[:1000])
    if isinstance(answer, dict):
        return {_clean(key): _clean(x) for key, x in answer.items()}
    return [_clean(x) for x in answer] if isinstance(answer, list) else answer
