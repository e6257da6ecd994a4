"""The process that loads a graded file: it answers questions but judges nothing.

Questions and answers go through pipes that only local variables hold, and each answer carries the
token of its question. Only the other process knows the right answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .loading import NoClassError, class_in, mistake_behind
from .subject import Subject, failure

FILE_MEGABYTES = 256  # limit for each file it writes: a log in an endless loop would fill the disk


def serve() -> None:
    """Answers questions until the pipe closes: first `load`, then the questions of a Subject.

    `process.py` runs this with pipes as stdin and stdout.
    """
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    subject: Subject | None = None
    encoded, decoded = json.JSONEncoder().encode, json.JSONDecoder().decode
    for line in questions:
        token, what, arguments = decoded(line.decode())
        answer: Any
        if what == "load":
            subject, answer = _loaded(*arguments)
        else:
            answer = subject and subject.ask(what, *arguments)
        answers.write(encoded([token, answer]).encode() + b"\n")
    os._exit(0)  # at once, even if the file started threads


def _loaded(settings: Mapping[str, Any]) -> tuple[Subject | None, list[str]]:
    """The Subject for the class in the file; or the broken rule, what was found, and where."""
    _limit(settings["megabytes"], settings["cpu_seconds"])
    sys.argv[:] = [settings["path"]]
    path = Path(settings["path"])
    try:
        return Subject(class_in(path, settings["class_name"]), settings["told"]), []
    except NoClassError as error:
        return None, [*error.args, ""]
    except BaseException as error:
        mistake = mistake_behind(error, path)
        told = failure(error)  # the text of a syntax error already names the line
        return None, [mistake, told["text"], told["place"] * (mistake != "syntax")]


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
