"""Chapter 10: DOT text in, pictures out, with or without Graphviz on the machine.

Where there is a `dot` program, it draws. Where there is none, the copy of Graphviz that pygraphviz
carries draws the same inside this process.

    >>> picture("digraph { a -> b }", "svg").startswith(b"<?xml")
    True
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import graphviz

BITMAPS = {"bmp", "gif", "jpe", "jpeg", "jpg", "png", "webp"}
LARGEST_BITMAP = "40,40"  # inches: colouring the pixels of more takes longer than the layout

_one_at_a_time = threading.Lock()  # the library keeps its state, and Python its stderr, in globals


def picture(source: str, format: str, engine: str = "dot", quiet: bool = False) -> bytes:
    """The picture that Graphviz makes of DOT text.

    Args:
        source: the DOT text.
        format: 'svg', 'png', 'pdf' and more; 'svg:cairo' names the renderer as well. Pictures made
            of pixels are scaled down to 40 inches a side, which a graph of some 500 nodes may pass.
        engine: the layout: 'dot' for layers, 'neato' for springs, and more.
        quiet: leaves out what Graphviz says about a text that it could draw all the same.

    Raises:
        ValueError: the format cannot be made here, and the message lists what can; or the text
            cannot be drawn, and the message is Graphviz's own.
    """
    drawn = _by_program if shutil.which("dot") else _by_library
    data, said = drawn(source, format, engine)
    if not data:
        _, not_recognized, formats = said.partition(f'Format: "{format}" not recognized.')
        if not_recognized:
            raise ValueError(f"no picture of format {format!r} can be made here.{formats.rstrip()}")
        raise ValueError(f"Graphviz made no {format} of the DOT text: {said.strip() or '?'}")
    if said and not quiet:
        sys.stderr.write(said)
    return data


def _by_program(source: str, format: str, engine: str) -> tuple[bytes, str]:
    size = [f"-Gsize={LARGEST_BITMAP}"] if _is_bitmap(format) else []
    run = subprocess.run(
        ["dot", f"-K{engine}", f"-T{format}", *size],
        input=source.encode(),
        capture_output=True,
        check=False,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # Windows would flash a console
    )
    return b"" if run.returncode else run.stdout, run.stderr.decode(errors="replace")


def _by_library(source: str, format: str, engine: str) -> tuple[bytes, str]:
    import pygraphviz  # some MB of C, which only those without the program need

    # Through sys.stderr the library would say that above 1000 nodes a layout may take a long time.
    with _one_at_a_time, redirect_stderr(io.StringIO()), _stderr_of_c() as said:
        try:
            drawing = pygraphviz.AGraph(string=source)
            if _is_bitmap(format):
                drawing.graph_attr.setdefault("size", LARGEST_BITMAP)
            data = drawing.draw(format=format, prog=engine)
        except (TypeError, ValueError):  # TypeError: it looks into a result that is not there
            data = b""
    # Graphviz's own words, without the fonts' library grumbling about the machine's settings; what
    # other threads wrote meanwhile goes where it was meant to go.
    graphviz_said, others = [], []
    for line in said[0].splitlines(keepends=True):
        if line.startswith(("Error: ", "Warning: ")):
            graphviz_said.append(line)
        elif not line.startswith("Fontconfig "):
            others.append(line)
    if others:
        os.write(2, "".join(others).encode())
    return data, "".join(graphviz_said)


def _is_bitmap(format: str) -> bool:
    return format.lower().split(":")[0] in BITMAPS


@contextmanager
def _stderr_of_c() -> Iterator[list[str]]:
    # C code writes to file descriptor 2, whatever sys.stderr is. The list is filled at the end.
    said = [""]
    with tempfile.TemporaryFile() as file:
        try:
            kept = os.dup(2)
        except OSError:  # a program without a console has no such descriptor
            yield said
            return
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said[0] = file.read().decode(errors="replace")


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file whole or not at all: what stood there stays until all of it is on the disk.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "a.txt"), b"all of it")
    ...     Path(folder, "a.txt").read_bytes()
    b'all of it'
    """
    target = os.path.realpath(path)
    part = f"{target}.{secrets.token_hex(4)}.part"
    try:
        Path(part).write_bytes(data)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


class Digraph(graphviz.Digraph):  # type: ignore[misc]  # the library carries no types
    """A `graphviz.Digraph` that draws itself by `picture`, and so also without a `dot` program.

    The methods below are the places where the graphviz library would start the program; `render`,
    `pipe`, `view` and the display in Jupyter go through them.

    >>> graph = Digraph(format="svg")
    >>> graph.edge("a", "b")
    >>> graph.pipe(encoding="utf-8").count("<path")
    1
    """

    @staticmethod
    def _verify_format(format: str, **_: Any) -> None:
        if format.lower() not in graphviz.FORMATS:  # the library's list; Graphviz has the last word
            picture("digraph {}", format)

    def _pipe_lines(
        self,
        engine: str,
        format: str,
        input_lines: Iterable[str],
        *,
        renderer: str | None = None,
        formatter: str | None = None,
        neato_no_op: bool | int | None = None,
        quiet: bool = False,
        **_encoding: str,
    ) -> bytes:
        if neato_no_op:
            raise ValueError("neato_no_op draws nodes at given places: here the layout finds them")
        full_format = ":".join(part for part in (format, renderer, formatter) if part)
        return picture("".join(input_lines), full_format, engine, quiet)

    def _pipe_lines_string(self, *args: Any, encoding: str, **options: Any) -> str:
        return self._pipe_lines(*args, **options).decode(encoding)

    def _render(
        self,
        engine: str,
        format: str,
        filepath: str,
        *,
        outfile: str | os.PathLike[str] | None = None,
        raise_if_result_exists: bool = False,
        overwrite_filepath: bool = False,
        **options: Any,
    ) -> str:
        suffixes = (options["formatter"], options["renderer"], format)
        path = os.fspath(outfile or ".".join([filepath, *filter(None, suffixes)]))
        if raise_if_result_exists and os.path.exists(path):
            raise graphviz.FileExistsError(f"output file exists: {path!r}")
        if not overwrite_filepath and os.path.realpath(path) == os.path.realpath(filepath):
            raise ValueError(f"{path!r} would overwrite the DOT text: choose another outfile")
        write_whole(path, self._pipe_lines(engine, format, self, **options))
        return path
