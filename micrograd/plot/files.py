"""Saving figures to files."""

from __future__ import annotations

import io
import os
from collections.abc import Collection

import matplotlib
from matplotlib.figure import Figure

from micrograd.core.files import ending_of, write_whole

__all__ = ["check_path", "save"]


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a figure, completely or not at all, in the format given by the file's ending.

    Raises:
        ValueError: Matplotlib cannot write this format.
        OSError: the file cannot be written.
    """
    kind = check_path(path)
    content = io.BytesIO()
    # Without dates and random ids, the same figure gives the same file.
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "micrograd"}):
        figure.savefig(content, format=kind, dpi=200, facecolor="auto", metadata=undated.get(kind))
    write_whole(path, content.getvalue())


def check_path(path: str | os.PathLike[str], endings: Collection[str] | None = None) -> str:
    """The ending of a path to which `save` can write; call it before any work is done.

    Args:
        path: path of the file to write.
        endings: endings to accept, without the dot; by default all picture formats that
            Matplotlib can write.

    Raises:
        ValueError: the path does not have one of these endings.
        OSError: the file cannot be written.

    >>> check_path("picture.docx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: picture.docx: expected one of the endings .eps ...
    """
    # Some formats are left out: pgf needs LaTeX, avif needs a special build of Pillow, and a raw or
    # rgba file does not contain the size of the picture.
    kinds = set(Figure().canvas.get_supported_filetypes()) - {"pgf", "avif", "raw", "rgba"}
    kinds = kinds if endings is None else set(endings)
    ending = ending_of(path, sorted(kinds))
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder: add a file name")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: its folder does not exist")
    part = f"{target}.{os.getpid()}.part"
    try:
        with open(part, "xb"):
            pass
        os.remove(part)
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(f"cannot write {os.fspath(path)}: {reason}") from None
    return ending
