"""Chapter 10: DOT text in, pictures out, with or without Graphviz on the machine.

A registered renderer draws, where there is one; else a `dot` program; else the copy of Graphviz
that pygraphviz contains.

    >>> picture("digraph { a -> b }", "svg").startswith(b"<?xml")
    True
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import Any

import graphviz

BITMAPS = {"bmp", "gif", "jpe", "jpeg", "jpg", "png", "webp"}
LARGEST_BITMAP = "40,40"  # inches: colouring the pixels of more takes longer than the layout
LARGE = 200  # arrows: the layout of more may take seconds, in which its C code ignores Ctrl-C
LONGEST = 600  # seconds for a layout in a process of its own
WITH_PNG = 200_000  # bytes of SVG: a PNG of more would be several times larger still
PICTURES = graphviz.FORMATS - {"gv", "dot"}  # endings of files; those two are of DOT text

Renderer = Callable[[str, str, str], bytes]

_registered: list[Renderer] = []
_one_at_a_time = threading.Lock()  # the library keeps its state, and Python its stderr, in globals
if hasattr(os, "register_at_fork"):  # or a child would wait for a thread that it does not have
    os.register_at_fork(
        before=_one_at_a_time.acquire,
        after_in_parent=_one_at_a_time.release,
        after_in_child=_one_at_a_time.release,
    )


def register(renderer: Renderer | None) -> None:
    """Lets a function draw all pictures from now on, for example in a browser without Graphviz.

    Args:
        renderer: gets the DOT text, the format and the layout engine, and returns the picture; a
            ValueError says that it cannot make this format. None goes back to Graphviz.

    >>> register(lambda source, format, engine: f"<svg>{source}</svg>".encode())
    >>> picture("digraph {}", "svg")
    b'<svg>digraph {}</svg>'
    >>> register(None)
    """
    _registered[:] = [] if renderer is None else [renderer]


def picture(source: str, format: str, engine: str = "dot", quiet: bool = False) -> bytes:
    """The picture that Graphviz makes of DOT text.

    Args:
        source: the DOT text.
        format: 'svg', 'png', 'pdf' and more; 'svg:cairo' names the renderer as well. Pictures made
            of pixels are scaled down to 40 inches a side, which a graph of some 500 nodes may pass.
        engine: the layout: 'dot' for layers, 'neato' for springs, and more.
        quiet: leaves out what Graphviz says about a text that it could draw all the same.

    A drawing of more than 200 arrows is made in a process of its own, so that Ctrl-C ends it.

    Raises:
        ImportError: there is no Graphviz here; the message says how to get it.
        ValueError: the format cannot be made here, and the message lists what can; or the text
            cannot be drawn, and the message is Graphviz's own.
    """
    if _registered:
        return _registered[0](source, format, engine)
    drawn = _by_program
    if not shutil.which("dot"):
        _require_library()
        # Where Python is part of another program, there is nothing to start a process with.
        large = source.count("->") > LARGE and sys.executable
        drawn = _by_library_in_a_process if large else _by_library
    data, said = drawn(source, format, engine)
    if not data:
        _, not_recognized, formats = said.partition(f'Format: "{format}" not recognized.')
        if not_recognized:
            raise ValueError(f"no picture of format {format!r} can be made here.{formats.rstrip()}")
        raise ValueError(f"Graphviz made no {format} of the DOT text: {said.strip() or '?'}")
    if said and not quiet:
        sys.stderr.write(said)
    return data


def _require_library() -> None:
    try:
        import pygraphviz  # noqa: F401  # some MB of C, which only those without the program need
    except ImportError as error:
        raise ImportError(
            f"drawing needs Graphviz, and there is none here ({error}): install its program `dot` "
            "(apt install graphviz, apk add graphviz, brew install graphviz, or from graphviz.org)"
            ", or the package that contains it, where it has wheels (pip install pygraphviz). "
            "Without it use .source, the DOT text, or mermaid()"
        ) from None


def _by_program(source: str, format: str, engine: str) -> tuple[bytes, str]:
    size = [f"-Gsize={LARGEST_BITMAP}"] if _is_bitmap(format) else []
    return _answer(["dot", f"-K{engine}", f"-T{format}", *size], source)


def _by_library_in_a_process(source: str, format: str, engine: str) -> tuple[bytes, str]:
    code = f"import sys; sys.path = {sys.path!r}; import micrograd.render as r; r._drawn_here()"
    return _answer([sys.executable, "-c", code, format, engine], source)


def _drawn_here() -> None:
    # The other side: draws what comes in. It ends after a while even if its parent was killed.
    if hasattr(signal, "alarm"):
        signal.alarm(LONGEST)
    try:
        data, said = _by_library(sys.stdin.buffer.read().decode(), *sys.argv[1:])
    except OSError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(data)
    sys.stderr.buffer.write(said.encode())


def _answer(command: Sequence[str], source: str) -> tuple[bytes, str]:
    # What a process makes of the text, and what it says. Ctrl-C ends it.
    run = subprocess.run(
        command,
        input=source.encode(),
        capture_output=True,
        check=False,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # Windows would flash a console
    )
    said = run.stderr.decode(errors="replace")
    if run.returncode:
        return b"", said or f"the process that draws ended with code {run.returncode}"
    return run.stdout, said


def _by_library(source: str, format: str, engine: str) -> tuple[bytes, str]:
    import pygraphviz

    # Through sys.stderr the library would say that above 1000 nodes a layout may take a long time.
    with _one_at_a_time, redirect_stderr(io.StringIO()), _stderr_of_c() as said:
        try:
            drawing = pygraphviz.AGraph(string=source)
            if _is_bitmap(format):
                drawing.graph_attr.setdefault("size", LARGEST_BITMAP)
            data = drawing.draw(format=format, prog=engine)
        except (TypeError, ValueError):  # TypeError: it looks into a result that is not there
            data = b""
        except OSError as error:  # the library writes the text into a temporary file
            reason = f"no room for a drawing's temporary file ({error.strerror})"
            raise OSError(error.errno, reason, tempfile.gettempdir()) from None
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
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
            kept = os.dup(2)
        except OSError:  # a full disk, or a program without a console, which has no descriptor 2
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

    Raises:
        OSError: it cannot be written; a file that was there is as before.

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
    except BaseException as error:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = f"nothing is written ({error.strerror or error})"
            raise OSError(error.errno, reason, os.fspath(path)) from None
        raise


class Digraph(graphviz.Digraph):  # type: ignore[misc]  # the library carries no types
    """A `graphviz.Digraph` that draws itself by `picture`, and so also without a `dot` program.

    `save` and `render` write what the ending of a file says. The methods below them are the places
    where the graphviz library would start the program; `pipe`, `view` and the display in Jupyter
    go through them.

    >>> graph = Digraph(format="svg")
    >>> graph.edge("a", "b")
    >>> graph.pipe(encoding="utf-8").count("<path")
    1
    >>> graph
    <drawing: .save('drawing.svg') or .render('drawing.png') writes it>
    """

    directory: str

    def __repr__(self) -> str:
        return "<drawing: .save('drawing.svg') or .render('drawing.png') writes it>"

    def save(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        *,
        skip_existing: bool | None = False,
    ) -> str:
        """Writes a picture if the ending says so (.svg, .png, .pdf, ...), else the DOT text.

        Returns the path. Both are written whole or not at all.

        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Digraph().save("a.svg", folder)
        ...     Path(path).read_bytes()[:5]
        b'<?xml'
        """
        as_text = skip_existing is None  # so `render` of the library writes the DOT text
        if not as_text and _ending(filename) in PICTURES:
            path = self._path(filename, directory)
            return path if skip_existing and os.path.exists(path) else self.render(path, "")
        if filename is not None:
            self.filename = os.fspath(filename)
        if directory is not None:
            self.directory = os.fspath(directory)
        path = str(self.filepath)
        if not skip_existing or not os.path.exists(path):
            self._mkdirs(path)
            write_whole(path, self.source.encode(self.encoding))
        return path

    def render(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
        **options: Any,
    ) -> str:
        """Writes 'out.png' if called so; 'gout' writes the DOT text, and beside it 'gout.svg'.

        Options, and what it returns, are as in the graphviz library.

        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Digraph().render("a.png", folder), Digraph().render("b", folder, format="svg")
        ...     sorted(os.listdir(folder))
        ['a.png', 'b', 'b.svg']
        """
        if _ending(filename) in PICTURES and format is None and "outfile" not in options:
            path = self._path(filename, directory)
            if options.pop("raise_if_result_exists", False) and os.path.exists(path):
                raise graphviz.FileExistsError(f"output file exists: {path!r}")
            options.pop("overwrite_source", None)  # no DOT text is written
            quiet_view = options.pop("quiet_view", False)
            self._mkdirs(path)
            write_whole(path, self.pipe(_ending(path), **options))
            if view or quiet_view:
                self._view(path, format=_ending(path), quiet=quiet_view)
            return path
        options |= {"directory": directory, "view": view, "cleanup": cleanup, "format": format}
        return str(super().render(filename, **options))

    def _path(self, filename: Any, directory: Any) -> str:
        return os.path.join(self.directory if directory is None else directory, filename)

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None, **_: Any
    ) -> dict[str, bytes | str]:
        # JupyterLab shows no SVG of a notebook that is not trusted: a PNG for that case.
        bundle: dict[str, bytes | str] = super()._repr_mimebundle_(include, exclude)
        small = len(bundle.get("image/svg+xml", b"-" * (WITH_PNG + 1))) <= WITH_PNG
        if include is None and small and "image/png" not in (exclude or ()):
            with suppress(ValueError):  # of a registered renderer that cannot make one
                bundle["image/png"] = self._repr_image_png()
        return bundle

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


def _ending(path: str | os.PathLike[str] | None) -> str:
    return os.path.splitext(os.fspath(path or ""))[1][1:].lower()
