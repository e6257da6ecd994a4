"""The demos, loaded as modules or run as scripts."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

DEMOS = Path(__file__).parent.parent / "demos"


def load(name):
    """The functions of a demo, as a module; it may import other demos."""
    spec = importlib.util.spec_from_file_location(f"demo_{name}", DEMOS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(DEMOS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(DEMOS))
    return module


def run(folder, name, *options, code=0):
    """What a demo prints, run from another folder, where any warning ends it."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "error"}
    process = subprocess.run(
        [sys.executable, str(DEMOS / f"{name}.py"), *options],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert process.returncode == code, process.stderr
    return process.stdout if code == 0 else process.stderr


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
