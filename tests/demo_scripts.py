"""The demos, loaded as modules or run as scripts."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

DEMOS = Path(__file__).parent.parent / "demos"


def load(name):
    """The functions of a demo, as a module."""
    spec = importlib.util.spec_from_file_location(f"demo_{name}", DEMOS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
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
