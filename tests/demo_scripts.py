"""The demos, loaded as modules or run as scripts."""

import importlib.util
import os
import signal
import subprocess
import sys

import numpy as np
from blocks import ROOT, python

DEMOS = ROOT / "demos"


def load(name):
    """The functions of a demo, as a module; it may import the demos beside it."""
    path = DEMOS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"demo_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def run(folder, name, *options, code=0, without=()):
    """What a demo prints, run from another folder, where any warning ends it.

    Modules in `without` are hidden from it.
    """
    program = "import runpy, sys; sys.path.insert(0, sys.argv[1]); "
    program += "".join(f"sys.modules[{module!r}] = None; " for module in without)
    program += f"runpy.run_path(sys.argv.pop(1) + '/{name}.py', run_name='__main__')"
    command = ["-c", program, str(DEMOS)] if without else [str(DEMOS / f"{name}.py")]
    careful = {"PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "error"}
    done = python(*command, *options, folder=folder, code=code, **careful)
    return done.stdout if code == 0 else done.stderr


def interrupted(folder, name, *options):
    """What a demo prints, and its messages, if Ctrl-C ends its training."""
    program = (  # in a background job the signal would be ignored
        "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"sys.argv[0] = {str(DEMOS / name)!r} + '.py';"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        [sys.executable, "-c", program, *options],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        seen = b""
        while b"loss" not in seen:
            part = os.read(process.stderr.fileno(), 1000)
            assert part, seen
            seen += part
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate()
    assert process.returncode == 0, rest
    return out.decode(), rest.decode()


def rows_of(out):
    """The rows of tables that `demos/table.py` printed: (reference, here) by title and what."""
    rows, title = {}, None
    for line in out.splitlines():
        what, reference, here = (part.strip() for part in (line[:50], line[50:68], line[68:]))
        if not line:
            title = None  # a table ends
        elif here == "here":
            title = what
        elif title:
            assert (title, what) not in rows
            rows[title, what] = (reference, here)
    return rows


def striped_images(n, side):
    """Noisy images, in rows of pixels; each class has stripes of its own."""
    rng = np.random.default_rng(n)
    y = np.arange(n) % 10
    stripes = np.arange(side * side) % 10 == y[:, None]
    return 0.7 * stripes + rng.uniform(0, 0.3, stripes.shape), y
