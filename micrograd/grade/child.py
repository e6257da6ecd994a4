"""The process in which a graded file is loaded: it answers questions, and judges nothing.

Questions come and answers go through pipes that only local variables hold, each answer with the
token of its question. What is right is known in the other process alone.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from .loading import NoClassError, class_in
from .subject import Subject, failure, is_ours

FILE_MEGABYTES = 256  # what one file may grow to; a log in a loop would fill the disk
PR_SET_PDEATHSIG, SIGKILL = 1, 9  # of Linux: the child ends with its parent


def serve() -> None:
    """Answers until the pipe closes: `class` first, and then what a Subject can be asked.

    >>> serve.__module__.rpartition(".")[2]  # run by process.py, with pipes for stdin and stdout
    'child'
    """
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    subject: Subject | None = None
    encoded, decoded = json.JSONEncoder().encode, json.JSONDecoder().decode

    def answer(token: str, content: Any) -> None:
        answers.write(encoded([token, content]).encode() + b"\n")

    _, _, settings = decoded(questions.readline().decode())
    _limit(settings["megabytes"], settings["cpu_seconds"], settings["parent"])
    sys.argv[:] = [settings["path"]]
    for name in [x for x in sys.modules if x.partition(".")[0] == __name__.partition(".")[0]]:
        del sys.modules[name]  # the file does not find us there
    sys.modules["__main__"] = ModuleType("__main__")
    answer("", "ready")
    for line in questions:
        token, what, arguments = decoded(line.decode())
        if what != "class":
            answer(token, subject.ask(what, *arguments) if subject else None)
            continue
        try:
            found = class_in(Path(settings["path"]), settings["class_name"])
            subject = Subject(found, settings["told"])
            answer(token, {"ours": is_ours(found)})
        except BaseException as error:
            told = {"lacking": list(error.args)} if isinstance(error, NoClassError) else {}
            answer(token, {"error": failure(error), **told})
    os._exit(0)  # at once, whatever threads the file may have started


def _limit(megabytes: int, cpu_seconds: int, parent: int) -> None:
    with suppress(ImportError):  # on Windows there is none
        import resource

        limits = {"RLIMIT_AS": megabytes * 2**20, "RLIMIT_CPU": cpu_seconds, "RLIMIT_CORE": -1,
                  "RLIMIT_FSIZE": FILE_MEGABYTES * 2**20}  # fmt: skip
        for name, limit in limits.items():
            with suppress(AttributeError, ValueError, OSError, OverflowError):
                kind = getattr(resource, name)
                _, most = resource.getrlimit(kind)
                if limit:
                    resource.setrlimit(kind, (max(limit, 0), most))
    if sys.platform == "linux":
        with suppress(Exception):
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
            if os.getppid() != parent:  # it ended before this was set
                os._exit(0)
