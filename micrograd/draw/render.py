"""From DOT text to pictures, with or without Graphviz on the machine.

Pictures are drawn by a registered renderer if there is one, else by the program `dot` if it is
installed, else by the copy of Graphviz in pygraphviz.

    >>> picture("digraph { a -> b }", "svg").startswith(b"<?xml")
    True
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from typing import Any

import graphviz

from micrograd.core.files import ending_of, show, write_whole
from micrograd.draw.theme import in_notebook, themed

BITMAPS = {"bmp", "gif", "jpe", "jpeg", "jpg", "png", "webp"}
LARGEST_BITMAP = "40,40"  # inches: filling more pixels would take longer than the layout
LARGE = 200  # arrows: a larger layout may take seconds, and C code ignores Ctrl-C
LONGEST = 600  # seconds: the time limit for a layout in a separate process
WITH_PNG = 200_000  # bytes: the PNG of a larger SVG would be several times as large
AS_TEXT = ("gv", "dot", "")  # file endings for DOT text; a name without an ending is one, too
PICTURES = ("svg", "png", "pdf", *sorted(graphviz.FORMATS - {"svg", "png", "pdf", *AS_TEXT}))
ENDINGS = (*PICTURES, *AS_TEXT)

Renderer = Callable[[str, str, str], bytes]

_registered: list[Renderer] = []
_one_at_a_time = threading.Lock()  # the library's state and sys.stderr are global
if hasattr(os, "register_at_fork"):  # otherwise a child might wait for a lock forever
    os.register_at_fork(
        before=_one_at_a_time.acquire,
        after_in_parent=_one_at_a_time.release,
        after_in_child=_one_at_a_time.release,
    )


def register(renderer: Renderer | None) -> None:
    """Makes a function draw all pictures from now on, for example in a browser without Graphviz.

    Args:
        renderer: takes the DOT text, the format and the layout engine, and returns the picture; it
            raises a ValueError for a format that it cannot make. None goes back to Graphviz.

    >>> register(lambda source, format, engine: f"<svg>{source}</svg>".encode())
    >>> picture("digraph {}", "svg")
    b'<svg>digraph {}</svg>'
    >>> register(None)
    """
    _registered[:] = [] if renderer is None else [renderer]


def picture(source: str, format: str, engine: str = "dot", quiet: bool = False) -> bytes:
    """The picture that Graphviz draws from DOT text.

    A drawing with more than 200 arrows is made in a separate process, so that Ctrl-C can stop it.

    Args:
        source: the DOT text.
        format: 'svg', 'png', 'pdf' and more; 'svg:cairo' also names the renderer. Bitmaps are
            scaled down to 40 inches a side; a graph of about 500 nodes may be larger than that.
        engine: the layout engine: 'dot' for layers, 'neato' for a spring model, and more.
        quiet: whether to suppress Graphviz's warnings.

    Raises:
        ImportError: Graphviz is not installed; the message says how to install it.
        ValueError: the format is not available, and the message lists those that are; or the text
            cannot be drawn, and the message is from Graphviz.
    """
    if _registered:
        return _registered[0](source, format, engine)
    drawn = _by_program
    if not shutil.which("dot"):
        _require_library()
        # If Python is embedded in another program, there may be no executable to start.
        large = source.count("->") > LARGE and sys.executable
        drawn = _by_library_in_a_process if large else _by_library
    data, said = drawn(source, format, engine)
    if not data:
        _, not_recognized, formats = said.partition(f'Format: "{format}" not recognized.')
        if not_recognized:
            raise ValueError(f"cannot draw format {format!r} here.{formats.rstrip()}")
        raise ValueError(f"Graphviz cannot draw the DOT text as {format}: {said.strip() or '?'}")
    if said and not quiet:
        sys.stderr.write(said)
    return data


def _require_library() -> None:
    try:
        import pygraphviz  # noqa: F401  # large, and not needed if there is `dot`
    except ImportError as error:
        raise ImportError(
            f"drawing needs Graphviz, which is not installed ({error}): install its program `dot` "
            "(apt install graphviz, apk add graphviz, brew install graphviz, or from graphviz.org)"
            ", or pygraphviz, which contains Graphviz, if it has a wheel for this platform "
            "(pip install pygraphviz). Without Graphviz, use .source (the DOT text) or mermaid()"
        ) from None


def _by_program(source: str, format: str, engine: str) -> tuple[bytes, str]:
    size = [f"-Gsize={LARGEST_BITMAP}"] if _is_bitmap(format) else []
    return _run(["dot", f"-K{engine}", f"-T{format}", *size], source)


def _by_library_in_a_process(source: str, format: str, engine: str) -> tuple[bytes, str]:
    code = f"import sys; sys.path = {sys.path!r}; from {__name__} import _draw_from_stdin as f; f()"
    return _run([sys.executable, "-c", code, format, engine], source)


def _draw_from_stdin() -> None:
    # Runs in the separate process. The alarm ends it even if its parent was killed.
    if hasattr(signal, "alarm"):
        signal.alarm(LONGEST)
    try:
        data, said = _by_library(sys.stdin.buffer.read().decode(), *sys.argv[1:])
    except OSError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(data)
    sys.stderr.buffer.write(said.encode())


def _run(command: Sequence[str], source: str) -> tuple[bytes, str]:
    # The picture that a separate process draws, and its messages. Ctrl-C ends the process.
    run = subprocess.run(
        command,
        input=source.encode(),
        capture_output=True,
        check=False,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # else Windows flashes a console
    )
    said = run.stderr.decode(errors="replace")
    if run.returncode:
        return b"", said or f"the drawing process ended with code {run.returncode}"
    return run.stdout, said


def _by_library(source: str, format: str, engine: str) -> tuple[bytes, str]:
    import pygraphviz

    # The library writes a warning to sys.stderr if a graph has more than 1000 nodes.
    with _one_at_a_time, redirect_stderr(io.StringIO()), _stderr_of_c() as said:
        try:
            drawing = pygraphviz.AGraph(string=source)
            if _is_bitmap(format):
                drawing.graph_attr.setdefault("size", LARGEST_BITMAP)
            data = drawing.draw(format=format, prog=engine)
        except (TypeError, ValueError):  # TypeError: the library fails on a missing result
            data = b""
        except OSError as error:  # from the library's temporary file
            reason = f"cannot write the temporary file of a drawing ({error.strerror})"
            raise OSError(error.errno, reason, tempfile.gettempdir()) from None
    # Graphviz's messages, without the warnings of the font library about the machine's settings.
    # Lines that other threads wrote in the meantime are passed on to stderr.
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
    # C code writes to file descriptor 2, whatever sys.stderr is. On exit, the text is in the list.
    said = [""]
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
            kept = os.dup(2)
        except OSError:  # a full disk, or no descriptor 2 in a program without a console
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


class Digraph(graphviz.Digraph):  # type: ignore[misc]  # the library has no types
    """A `graphviz.Digraph` that `picture` draws, so it does not need the program `dot`.

    `save` and `render` choose the format by the file ending. The private methods below them
    override those of the graphviz library that would start the program; `pipe`, `view` and the
    display in Jupyter call them.

    >>> graph = Digraph(format="svg")
    >>> graph.edge("a", "b")
    >>> graph.pipe(encoding="utf-8").count("<path")
    1
    >>> graph
    <drawing: .show() opens it, .save('drawing.svg') writes it>
    """

    directory: str

    def __repr__(self) -> str:
        return "<drawing: .show() opens it, .save('drawing.svg') writes it>"

    def show(self) -> None:
        """Displays the drawing in a notebook; elsewhere, opens it in the browser."""
        show(self, "drawing.svg", self.save)

    def save(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        *,
        skip_existing: bool | None = False,
    ) -> str:
        """Writes a picture if the file ends in .svg, .png, .pdf, ...; DOT text for .gv and .dot.

        Returns the path. The file is written completely or not at all. A name without an ending
        gets DOT text, too. Any other ending is a ValueError.

        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Digraph().save("a.svg", folder)
        ...     Path(path).read_bytes()[:5]
        b'<?xml'
        """
        as_text = skip_existing is None  # this is how the library's `render` asks for DOT text
        kind = "" if as_text or filename is None else ending_of(filename, ENDINGS)
        if kind not in AS_TEXT:
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
        """For 'out.png', writes just the picture; for 'gout', the DOT text and 'gout.svg'.

        Options and return value are as in the graphviz library.

        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Digraph().render("a.png", folder), Digraph().render("b", folder, format="svg")
        ...     sorted(os.listdir(folder))
        ['a.png', 'b', 'b.svg']
        """
        kind = ""
        if filename is not None and format is None and "outfile" not in options:
            kind = ending_of(filename, ENDINGS)
        if kind not in AS_TEXT:
            path = self._path(filename, directory)
            if options.pop("raise_if_result_exists", False) and os.path.exists(path):
                raise graphviz.FileExistsError(f"output file exists: {path!r}")
            options.pop("overwrite_source", None)  # no DOT text is written
            quiet_view = options.pop("quiet_view", False)
            self._mkdirs(path)
            write_whole(path, self.pipe(kind, **options))
            if view or quiet_view:
                self._view(path, format=kind, quiet=quiet_view)
            return path
        options |= {"directory": directory, "view": view, "cleanup": cleanup, "format": format}
        return str(super().render(filename, **options))

    def _path(self, filename: Any, directory: Any) -> str:
        return os.path.join(self.directory if directory is None else directory, filename)

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None, **_: Any
    ) -> dict[str, bytes | str]:
        # Notebooks prefer HTML, which can fit a picture to the width of a cell. Some programs that
        # show notebooks take only the SVG, or if they do not trust it, the PNG.
        include = None if include is None else set(include)
        bundle: dict[str, bytes | str] = super()._repr_mimebundle_(include, exclude)
        if (include is None or "text/html" in include) and "text/html" not in (exclude or ()):
            bundle["text/html"] = in_notebook(str(bundle.get("image/svg+xml") or self._svg()))
        small = len(bundle.get("image/svg+xml", b"-" * (WITH_PNG + 1))) <= WITH_PNG
        if include is None and small and "image/png" not in (exclude or ()):
            with suppress(ValueError):  # a registered renderer may not support PNG
                bundle["image/png"] = self._repr_image_png()
        return bundle

    def _repr_html_(self) -> str:
        return in_notebook(self._svg())

    def _svg(self) -> str:
        return str(self.pipe("svg", encoding="utf-8"))

    @staticmethod
    def _verify_format(format: str, **_: Any) -> None:
        if format.lower() not in graphviz.FORMATS:  # an incomplete list: ask Graphviz
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
            raise ValueError(
                f"neato_no_op is not supported, got {neato_no_op!r}: leave it out, and the layout "
                "engine places the nodes"
            )
        full_format = ":".join(part for part in (format, renderer, formatter) if part)
        data = picture("".join(input_lines), full_format, engine, quiet)
        return themed(data.decode()).encode() if full_format == "svg" else data

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
