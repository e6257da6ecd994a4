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
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from micrograd.grade.graded_class import is_ours, printable

Statement = tuple[str, ast.stmt]  # the name of its file or cell, and the statement
SETTINGS = {"sys.setrecursionlimit", "sys.path.append", "sys.path.insert"}
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
    errors: list[Exception] = []
    is_notebook = path.suffix == ".ipynb"
    statements = _cells(path, name, errors) if is_notebook else _lines(path)
    needed = needed_for(name, statements)
    classes = [node.name for _, node in statements if isinstance(node, ast.ClassDef)]
    if not (needed or classes or is_notebook):
        needed = statements  # exec may define it, for example
    module = _module(path)
    try:
        found = _bound_in(module, needed, name, errors, goes_on=is_notebook)
    except NameError:  # a name may be bound by exec
        found = _bound_in(module, statements, name, errors)
    if not isinstance(found, type):
        if errors:
            raise errors[0]
        there = ", ".join(dict.fromkeys(classes)) or "none"
        raise NoClassError("name" if classes else "load", f"no such class; classes there: {there}")
    if is_ours(found):
        raise NoClassError(
            "ours", f"{name} is this package's own engine: there is nothing to grade"
        )
    return found


def mistake_behind(error: BaseException, path: Path) -> str:
    """The key of RULES for an error that a file raises while it loads.

    >>> mistake_behind(ModuleNotFoundError("No module named 'x'", name="x"), Path("a/b.py"))
    'module'
    """
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    if str(path) in files:
        files.remove(str(path))  # it is there twice if it imports itself, as random.py may
    named = {*re.findall(r"'(\w+)'", str(error)), *(Path(file).stem for file in files)}
    if any((path.parent / f"{x}.py").exists() for x in named & sys.stdlib_module_names):
        return "shadows"
    if not isinstance(error, ImportError):
        kinds = {MemoryError: "memory", SyntaxError: "syntax"}
        return next((kinds[kind] for kind in kinds if isinstance(error, kind)), "load")
    is_part = (error.name or "").partition(".")[0] in ("graded", *path.parent.parts)
    return "package" if is_part or "relative import" in str(error) else "module"


# ---- 1. Files


def code_in(folder: Path) -> list[Path]:
    """The Python files and notebooks in a folder, at any depth."""
    found = (x for x in folder.rglob("*") if x.suffix in ENDINGS and os.path.isfile(x))
    return sorted(x for x in found if all(map(is_seen, x.relative_to(folder).parts)))


def is_seen(name: str) -> bool:
    """Whether a file or folder of this name is looked at."""
    return not (name.startswith(".") or name in HIDDEN)


def has_class(file: Path, class_name: str) -> bool:
    """Whether the text of a file defines a class; the file may have a syntax error."""
    with suppress(OSError):
        text = file.read_text(encoding="utf-8", errors="replace")
        start = "^" if file.suffix == ".py" else r'("|\\n)'  # a line in JSON
        return bool(re.search(rf"{start}[ \t]*class {re.escape(class_name)}\b", text, re.MULTILINE))
    return True  # it cannot be read: the report will say so


def file_at(path: Path, class_name: str) -> Path:
    """The file at a path, or the only file in a folder that defines the class.

    Raises:
        FileNotFoundError: there is no such file.
    """
    file = Path(os.path.realpath(path))
    if file.is_file():
        return file
    what = f"there is no file {path}"
    if file.is_dir():
        there = [x for x in code_in(file) if has_class(x, class_name)]
        if len(there) == 1:
            return there[0]
        some = ", ".join(str(x.relative_to(file)) for x in there[:5])
        what = f"{path} is a folder in which {len(there)} files define a class {class_name}"
        what += f" ({some})" * bool(there)
    raise FileNotFoundError(f"{printable(what)}: grade expects a Python file or a notebook")


# ---- 2. Statements


def _lines(path: Path) -> list[Statement]:
    return [(str(path), node) for node in ast.parse(path.read_bytes(), str(path)).body]


def _cells(path: Path, name: str, errors: list[Exception]) -> list[Statement]:
    """The statements of a notebook; syntax errors are kept in case the class is not found.

    A cell that should define the class but has an error removes earlier definitions, so that no
    outdated one is graded.
    """
    statements: list[Statement] = []
    for i, cell in enumerate(json.loads(path.read_text(encoding="utf-8-sig"))["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        source = _without_magics("".join(cell["source"]))
        place = f"cell {i} of {path.name}"
        linecache.cache[place] = (len(source), None, source.splitlines(), place)  # for tracebacks
        try:
            statements += [(place, node) for node in ast.parse(source, place).body]
        except (SyntaxError, ValueError) as error:
            if re.search(rf"^class {re.escape(name)}\b", source, re.M):
                errors.insert(0, error)
                statements = [x for x in statements if getattr(x[1], "name", "") != name]
            else:
                errors.append(error)
    return statements


def _without_magics(source: str) -> str:
    r"""The Python code of a cell; IPython's commands become `pass`, which keeps the line numbers.

    >>> _without_magics("%matplotlib inline\nif True:\n    !ls\nx = 1")
    'pass\nif True:\n    pass\nx = 1'
    """
    first = source.lstrip().partition("\n")[0]
    if first.startswith("%%") and not re.match(r"%%(time|timeit|capture|prun)\b", first):
        return ""
    return re.sub(r"^([ \t]*)([%!?].*|[\w.]+\?+[ \t]*)$", r"\1pass", source, flags=re.M)


def needed_for(name: str, statements: Sequence[Statement]) -> list[Statement]:
    r"""The statements that define a name and everything it needs, in order.

    >>> text = "import math; x = input(); tape = []; Value = [tape]; x.y = 1"
    >>> needed = needed_for("Value", [("", node) for node in ast.parse(text).body])
    >>> [ast.unparse(node) for _, node in needed]
    ['tape = []', 'Value = [tape]']
    """
    names, kept, count = {name}, set[int](), -1
    while len(kept) > count:
        count = len(kept)
        for i, (_, node) in enumerate(statements):
            if i not in kept and _defines(node, names):
                kept.add(i)
                names |= _names(node)[1]
    return [statement for i, statement in enumerate(statements) if i in kept]


def _defines(node: ast.stmt, names: set[str]) -> bool:
    """Whether a statement binds one of these names, changes its object, or changes a setting."""
    bound, used = _names(node)
    if bound & names or "*" in bound:
        return True
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return bool(node.decorator_list and used & names)  # @patch may add it to a class
    for part in ast.walk(node):
        changed: Any = None
        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            changed = part.value
        elif isinstance(part, ast.Call):
            called = ast.unparse(part.func)
            if called in SETTINGS and isinstance(node, ast.Expr):
                return True
            changed = part.args[0] if called == "setattr" and part.args else None
        if isinstance(changed, ast.Name) and changed.id in names:
            return True
    return False


@cache
def _names(node: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement binds, and the global names that it uses."""
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return {"*"}, set()
    bound, used = set[str](), set[str]()
    with suppress(SyntaxError):  # notebooks allow `await` at the top level
        top = symtable.symtable(ast.unparse(node), "", "exec")
        tables = [top]
        for table in tables:
            tables += table.get_children()
            is_function = table.get_type() == "function"
            for x in table.get_symbols():
                is_bound = x.is_assigned() or x.is_imported() or x.is_namespace()
                if is_bound and (table is top or x.is_declared_global()):
                    bound.add(x.get_name())
                if x.is_referenced() and (x.is_global() or not is_function):
                    used.add(x.get_name())
    return bound, used


# ---- 3. Modules


def _bound_in(
    module: ModuleType,
    statements: Sequence[Statement],
    name: str,
    errors: list[Exception],
    goes_on: bool = False,
) -> Any:
    """The object that a name is bound to after these statements, preferably a class not of ours.

    A notebook continues after any error, a file only after a failed `import *`.
    """
    own: Any = None
    for file, node in statements:
        try:
            # Annotations may name the class inside it; Python 3.14 evaluates them later, too.
            flags = __future__.annotations.compiler_flag
            code = compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True)
            exec(code, vars(module))
        except Exception as error:
            if not (goes_on or (isinstance(error, ImportError) and "*" in _names(node)[0])):
                raise
            errors.append(error)
        found = vars(module).get(name)
        if isinstance(found, type) and not is_ours(found):
            own = found
    if own:
        vars(module)[name] = own  # the methods look up their class there
    return vars(module).get(name)


def _module(path: Path) -> ModuleType:
    """A new module for a file, which finds other files in its folder and in the folder above."""
    sys.path[:0] = [str(path.parent), str(path.parent.parent)]
    package = sys.modules["graded"] = ModuleType("graded")  # for `from .helpers import x`
    package.__path__ = [str(path.parent)]
    module = sys.modules[f"graded.{path.stem}"] = ModuleType(f"graded.{path.stem}")
    module.__package__, module.__file__ = "graded", str(path)
    return module
