"""A file graded in a process of its own, which may loop, crash or eat memory without harm to ours.

That process loads the file, runs one small program at a time and tells what came out. It does not
know what is right: programs, numbers that are expected and verdicts are on this side.
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

from micrograd.grade.diagnosis import checks_of, remark
from micrograd.grade.programs import plan
from micrograd.grade.report import Check, Report
from micrograd.grade.subject import printable

# Under another name than `micrograd`, which in that process may be the learner's.
CHILD = (
    "import sys, types; _grader = types.ModuleType('_grader'); _grader.__path__ = [sys.argv[1]];"
    "sys.modules['_grader'] = _grader; from _grader.child import serve; serve()"
)
LONGEST = 2**20  # bytes of an answer


def grade_file(
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    class_name: str = "Value",
    megabytes: int | None = 2048,
    names: Mapping[str, str] | None = None,
) -> Report:
    """The report on a class in a file or a notebook, which is run in a process of its own.

    Only those statements at the top level are run that define the class. A file that does not
    load, a loop without end, a crash, and too much memory are findings, and the report names the
    check that was under way. What the file prints is dropped; it gets no input. This guards
    against mistakes, not against malice: the file runs with all rights.

    Args:
        path: a .py file, a notebook (.ipynb), or a folder with one file that defines the class.
        seconds: how long everything may take together.
        class_name: what the class is called in it.
        megabytes: how much address space the process may use, None for no limit. Where the system
            has no such limit (Windows, macOS) there is none.
        names: what the class calls 'data', 'grad' and 'backward', if the report cannot tell.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: seconds or megabytes are not above 0.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "my_engine.py")
    ...     _ = file.write_text("while True: pass")
    ...     print(grade_file(file, seconds=1.5).mistakes[0][0].rule)
    Every program must come to an end.
    """
    if not seconds > 0 or (megabytes is not None and not megabytes > 0):
        raise ValueError(f"limits must be above 0, got seconds={seconds}, megabytes={megabytes}")
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
    remarks = ""
    with _Process(settings, seconds) as process:
        try:
            loading = _loaded(loading, process)
            checks.append(loading)
            if loading.passed:
                remarks = remark(process.ask, is_file=True)
                for check in checks_of(process.ask):
                    checks.append(check)  # one by one: what was found before a crash is kept
                if process.ask("is_ours"):  # at last, since for that its programs run once more
                    checks = [_ours(loading, class_name)]
            mistake = found = ""
        except _EndedError as ended:
            mistake, found = ended.args
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            mistake, found = "crash", "answers that no program gives: the file wrote to our pipe"
    planned = [loading, *(Check(row.operation, row.aspect, row.programs[0]) for row in plan())]
    left = planned[len(checks) :]
    if mistake:
        expected = "an end of the program"
        last = left.pop(0) if left else checks.pop()
        under_way = replace(last, status="failed", expected=expected)
        checks.append(replace(under_way, mistake=mistake, found=found))
    checks += [replace(check, status="not run") for check in left]
    return Report(printable(os.fspath(path)), tuple(checks), remarks)


def _file_at(path: Path, class_name: str) -> Path:
    file = path.resolve()
    if file.is_dir():
        there = [x for x in _python_files(file) if _defines(x, class_name)]
        if len(there) == 1:
            return there[0]
        what = f"{path} is a folder in which {len(there)} files define a class {class_name}"
        some = ", ".join(str(x.relative_to(file)) for x in there[:5])
        listed = f" ({some})" * bool(there)
        what = printable(f"{what}{listed}")
        raise FileNotFoundError(f"{what}: grade expects a Python file or a notebook")
    if not file.is_file():
        what = printable(f"there is no file {path}")
        raise FileNotFoundError(f"{what}: grade expects a Python file or a notebook")
    return file


def _python_files(folder: Path) -> list[Path]:
    patterns = ("*.py", "*/*.py", "src/*/*.py")
    return sorted({file for pattern in patterns for file in folder.glob(pattern)})[:1000]


def _defines(file: Path, class_name: str) -> bool:
    with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        body = ast.parse(file.read_bytes()).body
        return any(isinstance(node, ast.ClassDef) and node.name == class_name for node in body)
    return False


def _loaded(loading: Check, process: _Process) -> Check:
    """The first check: that the file gives a class, and one that is not ours."""
    answer = process.ask("class")
    failed = replace(loading, status="failed", expected=f"a class {process.class_name}")
    if "lacking" in answer:
        mistake, found = answer["lacking"]
        return replace(failed, mistake=str(mistake), found=printable(str(found)))
    if error := answer.get("error"):
        kinds = {"MemoryError": "memory", "SyntaxError": "syntax"}
        mistake = next((kinds[kind] for kind in error["kinds"] if kind in kinds), "load")
        place = "" if mistake == "syntax" else error["place"]  # its text has the line
        return replace(failed, mistake=mistake, found=error["text"], place=place)
    return _ours(loading, process.class_name) if answer["ours"] else loading


def _ours(loading: Check, class_name: str) -> Check:
    expected = "a class that the file, or one beside it, defines"
    found = f"{class_name} is this package's own engine: there is nothing to grade"
    failed = replace(loading, status="failed", mistake="ours")
    return replace(failed, expected=expected, found=printable(found))


# ---- The process


class _EndedError(Exception):
    """The process has ended, or had to be: a key of RULES, and what happened."""


class _Process:
    """A child that answers questions until a deadline; at the end it and its children go."""

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
            # A thread of a numerical library reserves memory, and there is one for each core.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self.lines: queue.Queue[bytes] = queue.Queue(100)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self._send(["", "", settings])
        try:
            self._answer_to("")
        except _EndedError as error:
            self.end()
            what = "no process for the file came up"
            raise RuntimeError(f"{what} ({error.args[1]}): allow it more time") from None

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def ask(self, what: str, *arguments: Any) -> Any:
        token = secrets.token_hex(16)
        self._send([token, what, arguments])
        return self._answer_to(token)

    def end(self) -> int:
        """Ends the process and, where there are groups, all that it started; its exit code."""
        if self.child.returncode is None:  # while it is not reaped, its number is not another's
            with suppress(OSError):
                if sys.platform == "win32":
                    self.child.kill()
                else:
                    os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        for _ in range(100):  # of 10 milliseconds, if what left the group keeps the pipe open
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

    def _send(self, question: list[Any]) -> None:
        assert self.child.stdin
        with suppress(OSError):  # it has ended: that shows where the answer is read
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
                raise _EndedError("time", f"no end within {self.seconds:g} seconds") from None
            if not line:
                raise _EndedError(*_ending(self.end()))
            with suppress(ValueError, RecursionError):  # anything else is noise from the file
                found, answer = json.loads(line)
                if found == token:
                    return _clean(answer)


def _ending(code: int) -> tuple[str, str]:
    if code >= 0:
        return "crash", f"the process ended itself, with exit code {code}"
    name = str(-code)
    with suppress(ValueError):
        name = signal.Signals(-code).name
    if name == "SIGXCPU":
        return "time", "the process used up its processor time"
    if name == "SIGKILL":
        name += ", or closed its pipes"
    return "crash", f"the process was ended by {name}"


def _clean(answer: Any) -> Any:
    """The same with all text printable: it comes from a process that the file may have altered."""
    if isinstance(answer, str):
        return printable(answer[:1000])
    if isinstance(answer, dict):
        return {_clean(key): _clean(x) for key, x in answer.items()}
    return [_clean(x) for x in answer] if isinstance(answer, list) else answer
