"""Compiles the modules with which the course starts, in its archives: run by compiling.mjs.

This is the Python of the page, in Node. It starts the course, draws the first pictures, and sees
which modules were loaded. The standard library stays an archive in the page: a module compiled
there loses its source, which saves space. The course is unpacked there, and keeps its sources.
"""

import sys
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode
from py_compile import compile as write_compiled
from shutil import unpack_archive
from zipfile import ZipFile

LIBRARY = Path("/files/python_stdlib.zip")
COURSE = Path("/files/course.zip")
PLACE = "/unpacked"


def compile_in(archive, loaded_from):
    """Compiles, in an archive, the modules that were loaded from this place."""
    loaded = {str(getattr(module, "__file__", "")) for module in sys.modules.values()}
    with ZipFile(archive) as opened:
        contents = {name: opened.read(name) for name in opened.namelist()}
    with ZipFile(archive, "w") as made:  # not compressed: the page compresses the whole archive
        for name, content in contents.items():
            is_loaded = f"{loaded_from}/{name}" in loaded
            if is_loaded:
                place = f"{name}c" if archive == LIBRARY else cache_from_source(name)
                made.writestr(place, compiled(name, content))
            if not is_loaded or archive != LIBRARY:
                made.writestr(name, content)


def compiled(name, source):
    """The bytes of a .pyc file, which Python never compares with its source."""
    Path("module.py").write_bytes(source)
    never = PycInvalidationMode.UNCHECKED_HASH
    written = write_compiled("module.py", dfile=name, doraise=True, invalidation_mode=never)
    return Path(written).read_bytes()


unpack_archive(COURSE, PLACE, "zip")
sys.path.append(PLACE)
import runner  # noqa: E402

streams = sys.stdout, sys.stderr
try:
    runner.start(draw, lambda kind, content: None, "{}")  # noqa: F821 - compiling.mjs defines it
    runner.answer('{"pictures": "slope"}')
finally:
    sys.stdout, sys.stderr = streams
(library,) = (place for place in sys.path if place.endswith(".zip"))
compile_in(LIBRARY, library)
compile_in(COURSE, PLACE)
