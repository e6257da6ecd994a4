"""Writes files completely or not at all, each in the format that its ending says; shows them."""

import os
import secrets
import stat
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

FilePath: TypeAlias = str | os.PathLike[str]


def write_whole(path: FilePath, data: bytes) -> None:
    """Writes a file completely or not at all: an old file stays until the new one is complete.

    The new file has the mode of the old one. What is not a file, such as a pipe, is written to.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            Path(path).write_bytes(data)
            return
        target = os.path.realpath(path)
        part = Path(f"{target}.{secrets.token_hex(4)}.part")
        try:
            part.touch()
            if os.path.exists(target):
                part.chmod(stat.S_IMODE(os.stat(target).st_mode))
            part.write_bytes(data)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        reason = f"nothing was written ({error.strerror or error})"
        raise OSError(error.errno, reason, os.fspath(path)) from None


def ending_of(path: FilePath, known: Sequence[str]) -> str:
    """The ending of a file name, without the dot and in lower case; it must be one of those known.

    >>> ending_of("neuron.sgv", ["svg", "png"])
    Traceback (most recent call last):
    ValueError: neuron.sgv: expected one of the endings .svg .png
    """
    ending = os.path.splitext(os.fspath(path))[1][1:].lower()
    if ending not in known:
        shown = " ".join(f".{each}" for each in known[:12] if each) + " ..." * (len(known) > 12)
        raise ValueError(f"{os.fspath(path)}: expected one of the endings {shown}")
    return ending


def show(thing: object, path: str, save: Callable[[Path], object]) -> None:
    """Displays a drawing, page or plot in a notebook; elsewhere, saves it and opens the browser."""
    notebook = sys.modules.get("IPython")
    if notebook and hasattr(notebook.get_ipython(), "kernel"):
        notebook.display.display(thing)
        return
    file = Path(tempfile.mkdtemp(prefix="micrograd-"), path)
    save(file)
    if not webbrowser.open(file.as_uri()):
        raise RuntimeError(f"found no browser to show the file: open {file} yourself")
