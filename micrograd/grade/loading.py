"""The class in a file, a notebook or a package: only the statements that define it are run.

A learner's file often trains a network at its top level. So a top-level statement runs only if it
defines something that the class needs, directly or indirectly.
"""

from __future__ import annotations
import __future__

import ast
import json
import linecache
import os
import re
import symtable
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

from micrograd.grade.graded_class import is_ours, printable

Statement = tuple[str, ast.stmt]  # the name of its file or cell, and the statement
SETTINGS = ("sys.setrecursionlimit(", "sys.path.")  # calls that the class may need
ENDINGS = (".py", ".ipynb")
HIDDEN = {"__pycache__", "node_modules", "site-packages"}


class NoClassError(Exception):
    """There is no class to grade; the arguments are a key of RULES and what was found instead."""


def class_in(path: Path, name: str) -> type:
    r"""The class of this name that a file or a notebook defines or imports.

    Raises:
        NoClassError: it does neither, or the class is ours.
        Exception: whatever the file itself raises.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.py")
    ...     _ = file.write_text("class Value:\n    unit = 1\n\nwhile True:\n    pass\n")
    ...     class_in(file, "Value").unit
    1
    """
    if path.suffix == ".ipynb":
        statements = [*_cells(path, name)]
    else:
        statements = [(str(path), x) for x in ast.parse(path.read_bytes(), str(path)).body]
    module, own = vars(_module(path)), None
    for file, node in needed_for(name, statements):
        # Annotations may name the class inside it; Python 3.14 evaluates them later, too.
        flags = __future__.annotations.compiler_flag
        exec(compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True), module)
        found = module.get(name)
        own = found if isinstance(found, type) and not is_ours(found) else own
    if own:  # ours may be imported to compare with; the methods look up their class by its name
        module[name] = own
        return own
    if is_ours(module.get(name)):
        what = f"{name} is this package's own engine: there is nothing to grade"
        raise NoClassError("ours", what)
    classes = dict.fromkeys(node.name for _, node in statements if isinstance(node, ast.ClassDef))
    there = ", ".join(classes) or "none"
    raise NoClassError("name" if classes else "load", f"no such class; classes there: {there}")


def _module(path: Path) -> ModuleType:
    """A new module for a file, which finds other files in its folder and in the folder above."""
    sys.path[:0] = [str(path.parent), str(path.parent.parent)]
    package = sys.modules["graded"] = ModuleType("graded")  # for `from .helpers import x`
    package.__path__ = [str(path.parent)]
    module = sys.modules[f"graded.{path.stem}"] = ModuleType(f"graded.{path.stem}")
    module.__package__, module.__file__ = "graded", str(path)
    return module


# ---- 1. Files


def code_in(folder: Path) -> list[Path]:
    """The Python files and notebooks in a folder, at any depth."""
    found = (x for x in folder.rglob("*") if x.suffix in ENDINGS and os.path.isfile(x))
    return sorted(x for x in found if all(map(is_seen, x.relative_to(folder).parts)))


def is_seen(name: str) -> bool:
    """Whether a file or folder of this name is looked at."""
    return not (name.startswith(".") or name in HIDDEN)


def has_class(file: Path, class_name: str) -> bool:
    """Whether the text of a file defines a class, or cannot be read: its report says why."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    start = "^" if file.suffix == ".py" else r'("|\\n)'  # a line in JSON
    return bool(re.search(rf"{start}[ \t]*class {re.escape(class_name)}\b", text, re.MULTILINE))


def file_at(path: Path, class_name: str) -> Path:
    """The file at a path, or the only file in a folder that defines the class.

    Raises:
        FileNotFoundError: there is no such file.
    """
    file, what = Path(os.path.realpath(path)), f"there is no file {path}"
    if os.path.isfile(file):
        return file
    if os.path.isdir(file):
        there = [x for x in code_in(file) if has_class(x, class_name)]
        if len(there) == 1:
            return there[0]
        what = f"{path} is a folder in which {len(there)} files define a class {class_name}"
        what += " (a whole class is graded with --csv FILE or --html FOLDER)"
    raise FileNotFoundError(f"{printable(what)}: grade expects a Python file or a notebook")


# ---- 2. Statements


def _cells(path: Path, name: str) -> Iterator[Statement]:
    """The statements of a notebook; cells with a syntax error are left out.

    Raises:
        SyntaxError: it is in the last cell that should define the class.
    """
    broken = None
    for i, cell in enumerate(json.loads(path.read_text(encoding="utf-8-sig"))["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        # IPython's commands become `pass`, and the code of other languages nothing.
        source = re.sub(
            r"\A\s*%%(?!(time|timeit|capture|prun)\b)(?s:.*)", "", "".join(cell["source"])
        )
        source = re.sub(r"^([ \t]*)([%!?].*|[\w.]+\?+[ \t]*)$", r"\1pass", source, flags=re.M)
        place = f"cell {i} of {path.name}"
        linecache.cache[place] = (len(source), None, source.splitlines(), place)  # for tracebacks
        is_of_class = re.search(rf"^class {re.escape(name)}\b", source, re.M)
        try:
            nodes = ast.parse(source, place).body
            broken = None if is_of_class else broken
            yield from ((place, node) for node in nodes)
        except SyntaxError as error:
            broken = error if is_of_class else broken
    if broken:
        raise broken


def needed_for(name: str, statements: Sequence[Statement]) -> list[Statement]:
    r"""The statements that define a name and everything it needs, in order.

    >>> text = "import math; x = input(); tape = []; Value = [tape]; x.y = 1"
    >>> needed = needed_for("Value", [("", node) for node in ast.parse(text).body])
    >>> [ast.unparse(node) for _, node in needed]
    ['tape = []', 'Value = [tape]']
    """
    names, kept, count = {name, "*"}, dict[int, Statement](), -1
    while len(kept) > count:
        count = len(kept)
        for i, statement in enumerate(statements):
            bound, used = _names(statement[1])
            if bound & names:
                kept[i] = statement
                names |= used
    return [kept[i] for i in sorted(kept)]


@cache
def _names(node: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement binds or changes, '*' if it may be any; the global names it uses.

    It changes a name whose attribute it sets, as in Value.tanh = tanh.
    """
    bound, used, code = set[str](), set[str](), ast.unparse(node)
    if code.startswith(SETTINGS) or (
        isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    ):
        bound.add("*")
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            bound.add(ast.unparse(part.value))
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
