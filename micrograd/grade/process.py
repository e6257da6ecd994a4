"""A file graded in a process of its own, which may loop, crash or eat memory without harm to ours.

The process writes one line of JSON for each check as it is made, so that nothing is lost when it
ends, and the check that was under way is known.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from micrograd.grade.diagnosis import checks_of, told
from micrograd.grade.programs import plan
from micrograd.grade.report import Check, Report

CHILD = (
    "import sys; sys.path.append(sys.argv[1]); from micrograd.grade.process import _child; _child()"
)
DONE = 86  # the exit code of a child that got through: a student's exit(0) is not that

# ---- 1. This side


def grade_file(
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    class_name: str = "Value",
    megabytes: int | None = 2048,
) -> Report:
    """The report on a class in a file, which is run in a process of its own.

    A file that does not load, a loop without end, a crash, and too much memory are findings, and
    the report names the check that was under way. What the file prints is dropped; it gets no
    input. This guards against mistakes, not against malice: the file runs with all rights.

    Args:
        path: the file.
        seconds: how long everything may take together.
        class_name: what the class is called in it.
        megabytes: how much address space the process may use, None for no limit. Where the system
            has no such limit (Windows, macOS) there is none.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: seconds or megabytes are not above 0.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "my_engine.py")
    ...     _ = file.write_text("while True: pass")
    ...     print(grade_file(file, seconds=1.5).mistakes[0][0].rule)
    Every program must come to an end.
    """
    file = Path(path).resolve()
    if not file.is_file():
        what = "{} is a folder" if file.is_dir() else "there is no file {}"
        raise FileNotFoundError(f"{what.format(os.fspath(path))}: grade expects a Python file")
    if seconds <= 0 or (megabytes is not None and megabytes <= 0):
        raise ValueError(f"limits must be above 0, got seconds={seconds}, megabytes={megabytes}")
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.jsonl")
        arguments = [file, class_name, results, megabytes or 0]
        ended = _ended_child([str(x) for x in arguments], seconds)
        written = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return Report(os.fspath(path), tuple(_completed(written, ended)))


def _ended_child(arguments: list[str], seconds: float) -> str:
    """How the process ended, '' if all went well."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD, str(Path(__file__).parents[2]), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A thread of a numerical library reserves memory, and there would be one for each core.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"no end within {seconds:g} seconds"
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                if sys.platform != "win32":  # and what it started
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
    if code < 0:
        with suppress(ValueError):
            return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended itself, with exit code {code}" if code != DONE else ""


def _completed(written: list[str], ended: str) -> Iterator[Check]:
    """The checks made, that during which the process ended, and those it did not reach."""
    checks = []
    for line in written:
        with suppress(ValueError):  # the last line of a process that was killed
            checks.append(Check(**json.loads(line)))
    if not checks:
        reason = ended or "it wrote nothing"
        raise RuntimeError(f"no process for the file came up ({reason}): allow it more time")
    loading, *made = checks
    planned = [loading, *(Check(row.operation, row.aspect, row.programs[0]) for row in plan())]
    left = planned[len(made) :]
    yield from made
    if ended and left:
        mistake = "time" if ended.startswith("no end") else "crash"
        under_way = replace(left.pop(0), status="failed", expected="an end of the program")
        yield replace(under_way, mistake=mistake, found=ended)
    yield from (replace(check, status="not run") for check in left)


# ---- 2. The other side


def _child() -> None:
    """What the process for a file does, with what it finds in sys.argv."""
    _, _, path, class_name, results, megabytes = sys.argv
    sys.argv[:] = [path]
    exit_now = os._exit

    def write(check: Check) -> None:
        with Path(results).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(check)) + "\n")

    loading = Check("file", "loads", f"from {Path(path).stem} import {class_name}")
    write(loading)  # twice: before, in case that this does not end, and after
    with suppress(ImportError, ValueError, OSError):  # where there is no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if limit := int(megabytes) * 2**20:
            resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    failed = replace(loading, status="failed", mistake="load", expected=f"a class {class_name}")
    try:
        module = _loaded(Path(path))
        kind: Any = getattr(module, class_name, None)
        if not isinstance(kind, type):
            classes = ", ".join(x for x, y in vars(module).items() if isinstance(y, type)) or "none"
            mistake = "load" if classes == "none" else "name"
            found = f"no such class; classes there: {classes}"
            loading = replace(failed, mistake=mistake, found=found)
    except (Exception, SystemExit) as error:
        found, place = told(error)
        kinds = {MemoryError: "memory", SyntaxError: "syntax"}
        mistake = next((x for kind, x in kinds.items() if isinstance(error, kind)), "load")
        place = "" if isinstance(error, SyntaxError) else place  # its text has the line
        loading = replace(failed, mistake=mistake, found=found, place=place)
    write(loading)
    if loading.passed:
        for check in checks_of(kind):
            write(check)
    exit_now(DONE)  # at once, whatever threads the file may have started


def _loaded(path: Path) -> ModuleType:
    """The file, imported under a name that hides no other module."""
    sys.path.insert(0, str(path.parent))
    name = f"graded_{path.stem}"
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, loader))
    sys.modules[name] = module  # dataclasses look there for their module
    loader.exec_module(module)
    return module
