"""Compiles the modules with which the course starts, in its archives: called by compiling.mjs.

This is the Python of the page, in Node. It starts the course, draws the first pictures, and sees
which modules were loaded. The standard library stays an archive in the page: a module compiled
there loses its source, which saves space. The course is unpacked there, and keeps its sources.
"""

import sys
from collections.abc import Callable
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode
from py_compile import compile as write_compiled
from zipfile import ZipFile

from micrograd.course import runner


def compile_archives(
    library: str, course: str, unpacked: str, draw: Callable[[str, str, str | None], str]
) -> None:
    """Starts the course, then compiles in both archives what this has loaded.

    Args:
        library: the archive of the standard library.
        course: the archive of the course.
        unpacked: where Python imports the course from.
        draw: what `runner.start` takes.
    """
    streams = sys.stdout, sys.stderr
    try:
        runner.start(draw, lambda kind, content: None, "{}")
        runner.answer('{"pictures": "slope"}')
    finally:
        sys.stdout, sys.stderr = streams
    (imported,) = (place for place in sys.path if place.endswith(".zip"))
    loaded = {str(getattr(module, "__file__", "")) for module in sys.modules.values()}
    for archive, place, keeps in ((library, imported, False), (course, unpacked, True)):
        with ZipFile(archive) as opened:
            contents = {name: opened.read(name) for name in opened.namelist()}
        with ZipFile(archive, "w") as made:  # not compressed: the page compresses the whole archive
            for name, content in contents.items():
                is_loaded = f"{place}/{name}" in loaded
                if is_loaded:
                    made.writestr(cache_from_source(name) if keeps else f"{name}c",
                                  compiled(name, content))  # fmt: skip
                if keeps or not is_loaded:
                    made.writestr(name, content)


def compiled(name: str, source: bytes) -> bytes:
    """The bytes of a .pyc file, which Python never compares with its source."""
    Path("module.py").write_bytes(source)
    never = PycInvalidationMode.UNCHECKED_HASH
    written = write_compiled("module.py", dfile=name, doraise=True, invalidation_mode=never)
    return Path(str(written)).read_bytes()
