"""The process that grades a file: it loads the class, and writes each check as a line of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import GradedClass, failure
from micrograd.grade.loading import NoClassError, class_in, mistake_behind

FILE_MEGABYTES = 256  # limit for each file it writes: a log in an endless loop would fill the disk


def main() -> None:
    """Grades the file in the settings that stdin has, and writes what it finds to stdout.

    The file itself gets no input, and its output is discarded.
    """
    token, settings = json.loads(sys.stdin.readline())
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for found in _found(settings):
        results.write(json.dumps([token, found]).encode() + b"\n")
    os._exit(0)  # at once, even if the file started threads


def _found(settings: Mapping[str, Any]) -> Iterator[Any]:
    # If there is no class: the broken rule, what was found, and where. Else a remark on the names
    # of the class, then all checks.
    _limit(settings["megabytes"], settings["cpu_seconds"])
    sys.argv[:] = [settings["path"]]
    path = Path(settings["path"])
    try:
        graded = GradedClass(class_in(path, settings["class_name"]), settings["told"])
    except NoClassError as error:
        yield [*error.args, ""]
    except BaseException as error:
        mistake = mistake_behind(error, path)
        told = failure(error)  # the text of a syntax error already names the line
        yield [mistake, told["text"], told["place"] * (mistake != "syntax")]
    else:
        yield graded.remark(is_file=True)
        yield from map(asdict, checks_of(graded))


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
