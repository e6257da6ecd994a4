"""A file, graded in a separate process that may loop, crash or run out of memory.

The process loads the class, runs the checks, and writes each of them to a temporary file as soon as
it is done. What was found before a crash or the deadline is kept.

A learner's file often trains a network at its top level. So a top-level statement runs only if it
defines something that the class needs, directly or indirectly.
"""

from __future__ import annotations

import ast
import json
import linecache
import math
import os
import re
import signal
import subprocess
import symtable
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from types import ModuleType

from micrograd.core.files import FilePath
from micrograd.engine import Value
from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import BrokenRule, GradedClass, RaisedError, caught, printable
from micrograd.grade.programs import Check, plan
from micrograd.grade.report import Report

Statement = tuple[str, ast.stmt]  # the name of its file or cell, and the statement
OFTEN_NEEDED = re.compile(r"from \S+ import \*$|sys\.setrecursionlimit\(|sys\.path\.")
COMMAND = re.compile(r"([ \t]*)([%!?].*|.*\?+\s*|\w+ *= *[%!].*)$")  # of IPython
MEGABYTES = 2048  # limit on the memory of the process
FILE_MEGABYTES = 256  # limit for each file it writes: a log in an endless loop would fill the disk
# The child runs the same package as this process, wherever it is; the graded file does not see it.
CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); from micrograd.grade.process import main; "
    "del sys.path[0]; main(*sys.argv[2:])"
)
LOADING = Check("file", "loads", "import my_engine")  # the first check of a file


# ---- 1. Here: the process and what it has found


def grade_file(
    path: FilePath, seconds: float = 10.0, class_name: str = "Value", language: str | None = None
) -> Report:
    """The report on a class in a file or a notebook, which runs in a separate process.

    Only the top-level statements that define the class run. If the file does not load, never ends,
    crashes or needs more than 2 GB of memory, the report says so and names the check that was
    running. The file gets no input, and its output is discarded. This protects against mistakes,
    not against malice: the file runs with all your permissions. `language` is as in `explain`.
    """
    if not seconds > 0:
        raise ValueError(f"grade expects seconds above 0, got {seconds}")
    file = os.path.realpath(path)
    if not os.path.isfile(file):
        what = f"{path} is a folder" if os.path.isdir(file) else f"there is no file {path}"
        raise FileNotFoundError(f"{printable(what)}: grade expects a Python file or a notebook")
    limit = math.ceil(seconds) + 1  # for the processor, if this process is gone
    package = str(Path(__file__).resolve().parents[2])
    with tempfile.TemporaryFile() as results:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, package, file, class_name, str(limit)],
            stdin=subprocess.DEVNULL, stdout=results, stderr=subprocess.DEVNULL,
            start_new_session=True,  # on Windows, nothing
            # Numerical libraries start a thread for each core, and each reserves memory.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        try:
            code = process.wait(seconds)
            found = f"the process ended itself with exit code {code}"
            if code < 0:
                found = f"the process was ended by {signal.Signals(-code).name}"
        except subprocess.TimeoutExpired:
            found = f"not finished after {seconds:g} seconds"
        finally:  # also after Ctrl-C
            with suppress(OSError):  # with those that it has started
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            process.wait()
        results.seek(0)
        lines = results.readlines()
    checks = list[Check]()
    with suppress(TypeError, ValueError):  # up to what the file wrote between them
        checks.extend(Check(**json.loads(line)) for line in lines)
    rest = [LOADING, *(row.check("not run") for row in plan())][len(checks) :]
    if rest and (not checks or checks[0].passed):
        mistake = "time" if "seconds" in found else "crash"
        checks.append(replace(rest.pop(0), status="failed", mistake=mistake, found=found,
                              expected="a program that ends normally"))  # fmt: skip
    name = printable(os.fspath(path))
    if checks[0].passed and (place := checks[0].place):
        name += f" (of several, the class in {place})"
    return Report(name, (*checks, *rest), language)


# ---- 2. In the process


def main(file: str, class_name: str, seconds: str) -> None:
    """Grades a file, and writes what it finds to stdout; the file's own output is discarded."""
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # to nowhere, as stderr
    caught.append(BaseException)
    with suppress(ImportError):  # Windows has no such module
        import resource as r

        # A loop then ends even if the process that grades is gone.
        limits = {r.RLIMIT_AS: MEGABYTES * 2**20, r.RLIMIT_FSIZE: FILE_MEGABYTES * 2**20,
                  r.RLIMIT_CPU: int(seconds), r.RLIMIT_CORE: 0}  # fmt: skip
        for kind, limit in limits.items():
            with suppress(ValueError, OSError):  # macOS refuses one of memory
                r.setrlimit(kind, (limit, r.getrlimit(kind)[1]))
    sys.argv[:] = [file]
    for found in _found(Path(file), class_name):
        results.write(json.dumps(asdict(found)).encode() + b"\n")
    os._exit(0)  # at once, even if the file started threads


def _found(file: Path, class_name: str) -> Iterator[Check]:
    """The check that there is a class, and all others."""
    try:
        kind, place = class_in(file, class_name)
        checks = checks_of(GradedClass(kind))
    except BrokenRule as broken:
        (mistake, _, found), place = broken.args, ""
    except BaseException as error:
        kinds = {ModuleNotFoundError: "module", ImportError: "import", MemoryError: "memory",
                 SyntaxError: "syntax"}  # fmt: skip
        mistake = next((kinds[kind] for kind in kinds if isinstance(error, kind)), "load")
        raised = RaisedError(error)
        found, place = raised.text, raised.place * (mistake != "syntax")  # its text names the line
    else:
        yield replace(LOADING, place=place)
        yield from checks
        return
    yield replace(LOADING, status="failed", mistake=mistake, place=place,
                  expected=printable(f"a class {class_name}"), found=printable(found))  # fmt: skip


# ---- 3. The class in a file


def class_in(path: Path, name: str) -> tuple[type, str]:
    """The class of a name that a file defines or imports, and where it is if there are several.

    Of several classes of this name, it is the one with most methods: a notebook may begin a new one
    below the one that works. A BrokenRule tells of a class that is missing, or ours.
    """
    if path.suffix == ".ipynb":
        statements = [*_cells(path, name)]
    else:
        with tokenize.open(path) as text:
            statements = [(str(path), x) for x in _parsed(text.read(), str(path))]
    loaded, places = {**sys.modules}, dict[type, str]()
    module = vars(_module(path))
    for file, node in needed_for(name, statements):
        # Annotations may name the class inside it: compile() takes over `annotations` of this file.
        code = compile(ast.Module([node], []), file, "exec")
        # Of `import *` from what is not there, such as google.colab, nothing may be needed.
        with suppress(*[ModuleNotFoundError] * ("*" in _names(node)[0])):
            exec(code, module)
        kind = module.get(name)
        if isinstance(kind, type) and not issubclass(kind, Value):  # ours may be there to compare
            places.setdefault(kind, f"line {node.lineno}" if file == str(path) else file)
    sys.modules.update(loaded)  # a package micrograd of their own hid ours
    if places:
        own = max(reversed(places), key=lambda kind: len(dir(kind)))
        module[name] = own  # the methods look up their class by its name
        return own, places[own] if len(places) > 1 else ""
    if isinstance(module.get(name), type):
        raise BrokenRule("ours", "", "this package's own: there is nothing to grade")
    others = {node.name: 0 for _, node in statements if isinstance(node, ast.ClassDef)}
    found = f"no such class; classes there: {', '.join(others) or 'none'}"
    raise BrokenRule("name" if others else "load", "", found)


def _module(path: Path) -> ModuleType:
    """A new module for a file; it can import the files beside it, also as in `from .helpers`."""
    sys.path[:0] = str(path.parent), str(path.parent.parent)
    is_package = path.parent.name == "micrograd" and (path.parent / "__init__.py").is_file()
    package = ModuleType("micrograd" if is_package else "graded")
    for name in [x for x in sys.modules if x.partition(".")[0] == package.__name__]:
        del sys.modules[name]
    package.__path__ = [str(path.parent)]
    module = ModuleType(f"{package.__name__}.{path.stem}")
    module.__package__, module.__file__ = package.__name__, str(path)
    sys.modules |= {x.__name__: x for x in (package, module)}
    return module


# ---- 4. Statements


def _parsed(source: str, place: str) -> list[ast.stmt]:
    """The statements of a file or a cell; commands of IPython become `pass`."""
    while True:
        try:
            return ast.parse(source, place).body
        except SyntaxError as error:  # a line that goes on with % or != is none
            lines = source.splitlines()
            i = min(error.lineno or 1, len(lines)) - 1
            if not lines or not (command := COMMAND.match(lines[i])):
                raise
            lines[i] = f"{command[1]}pass"
            source = "\n".join(lines)


def _cells(path: Path, name: str) -> Iterator[Statement]:
    """The statements of a notebook; a syntax error counts only in the last cell with the class."""
    broken = None
    for i, cell in enumerate(json.loads(path.read_text(encoding="utf-8-sig"))["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        # The code of other languages becomes nothing.
        source = re.sub(r"\A\s*%%(?!(time|timeit|capture|prun)\b)(?s:.*)", "", source)
        place = f"cell {i} of {path.name}"
        linecache.cache[place] = (len(source), None, source.splitlines(), place)  # for tracebacks
        is_of_class = re.search(rf"^class {name}\b", source, re.M)
        try:
            nodes = _parsed(source, place)
            broken = None if is_of_class else broken
            yield from ((place, node) for node in nodes)
        except SyntaxError as error:
            broken = error if is_of_class else broken
    if broken:
        raise broken


def needed_for(name: str, statements: Sequence[Statement]) -> list[Statement]:
    """The statements that define a name and everything that it needs, in order.

    >>> text = "import math; x = input(); tape = []; Value = [tape]; x.y = 1"
    >>> needed = needed_for("Value", [("", node) for node in ast.parse(text).body])
    >>> [ast.unparse(node) for _, node in needed]
    ['tape = []', 'Value = [tape]']
    """
    names, count = {name, "*"}, 0
    while len(names) > count:
        count = len(names)
        for _, node in statements:
            bound, used = _names(node)
            if bound & names:
                names |= used
    return [x for x in statements if _names(x[1])[0] & names]


@cache
def _names(node: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement binds or changes, '*' if it may be any; the global names it uses.

    It changes a name whose attribute it sets, as in Value.tanh = tanh.
    """
    code, used = ast.unparse(node), set[str]()
    if isinstance(node, (ast.For, ast.While)) and ".backward(" in code:
        return set(), used  # a loop that trains defines nothing
    attributes = (part for part in ast.walk(node) if isinstance(part, ast.Attribute))
    bound = {ast.unparse(x.value) for x in attributes if isinstance(x.ctx, ast.Store)}
    if OFTEN_NEEDED.match(code):
        bound.add("*")
    with suppress(SyntaxError):  # notebooks allow `await` at the top level
        tables = [symtable.symtable(code, "", "exec")]
        for table in tables:
            tables += table.get_children()
            for x in table.get_symbols():
                if table is tables[0] and (x.is_assigned() or x.is_imported() or x.is_namespace()):
                    bound.add(x.get_name())
                if x.is_referenced() and (x.is_global() or table.get_type() != "function"):
                    used.add(x.get_name())
    return bound, used
