"""From a file, a notebook or a package to the class in it: only what defines the class is run.

A learner's file often trains a network where it should only define things. Of the statements at
its top level those are run that bind a name which the class needs, directly or by what it needs.
As in subject.py, the standard library is enough, and nothing is imported by a name of ours.
"""

from __future__ import annotations
import __future__

import ast
import dis
import importlib
import importlib.machinery
import importlib.util
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .subject import OUR_ENGINE, is_ours  # relative: the package may have another name here

Statement = tuple[str, ast.stmt]  # and the name of the file, or of the cell, that it is in
USED = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"}
BOUND = {"STORE_NAME", "STORE_GLOBAL"}
SETTINGS = {"sys.setrecursionlimit", "sys.path.append", "sys.path.insert"}
LEVELS = 4  # folders above a file that are looked at for packages that it imports


class NoClassError(Exception):
    """There is no such class: a key of RULES, and what was found.

    >>> NoClassError("name", "no such class").args[0]
    'name'
    """


def class_in(path: Path, name: str) -> type:
    r"""The class of this name that a file or a notebook defines or imports.

    Raises:
        NoClassError: it does neither; or the error that the file itself raises.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.py")
    ...     _ = file.write_text("class Value:\n    unit = 1\n\nwhile True:\n    pass\n")
    ...     class_in(file, "Value").unit
    1
    """
    is_notebook = path.suffix == ".ipynb"
    statements, errors = _cells(path, name) if is_notebook else _lines(path)
    needed = list(needed_for(name, statements))
    classes = [node.name for _, node in statements if isinstance(node, ast.ClassDef)]
    file = _File(path, any(isinstance(x, ast.ImportFrom) and x.level for _, x in statements))
    found: Any = None
    if any(name in _bound(node) for _, node in needed):
        try:
            found = file.run(needed, name, errors, is_notebook)
        except NameError:  # for a name that is bound in a way that cannot be seen
            found = file.run_as_imported(statements, name, errors)
    elif not is_notebook and not classes:  # made in a way that cannot be seen
        found = file.run_as_imported(statements, name, errors)
    if not isinstance(found, type):
        if errors:
            raise errors[0]
        there = ", ".join(dict.fromkeys(classes)) or "none"
        mistake = "name" if classes else "load"
        raise NoClassError(mistake, f"no such class; classes there: {there}")
    return found


# ---- 1. Statements


def _lines(path: Path) -> tuple[list[Statement], list[BaseException]]:
    text = path.read_bytes()
    return [(str(path), node) for node in ast.parse(text, str(path)).body], []


def _cells(path: Path, name: str) -> tuple[list[Statement], list[BaseException]]:
    """The statements of a notebook; a cell that is no Python is left out, as it may be one of many.

    The errors are told if the class is not found; one that should define it takes the place of
    the definitions before it, so that no older one is graded instead.
    """
    notebook = json.loads(path.read_text(encoding="utf-8-sig"))
    sheets = notebook.get("worksheets") or [notebook]  # the format before 2015
    cells = [cell for sheet in sheets for cell in sheet.get("cells", ())]
    statements: list[Statement] = []
    errors: list[BaseException] = []
    for i, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            place = f"cell {i} of {path.name}"
            try:
                parsed = ast.parse(_without_magics("".join(source)), place).body
            except (SyntaxError, ValueError) as error:
                errors.append(error)
                if re.search(rf"^class {re.escape(name)}\b", "".join(source), re.M):
                    errors.insert(0, errors.pop())
                    statements = [
                        (file, node)
                        for file, node in statements
                        if not (isinstance(node, ast.ClassDef) and node.name == name)
                    ]
            else:
                statements += [(place, node) for node in parsed]
    return statements, errors


def _without_magics(source: str) -> str:
    r"""The Python of a cell; IPython's own lines become `pass`, so that lines keep their number.

    >>> _without_magics("%matplotlib inline\nif True:\n    !ls\nx = 1")
    'pass\nif True:\n    pass\nx = 1'
    """
    first = source.lstrip().partition("\n")[0]
    if first.startswith("%%") and not re.match(r"%%(time|timeit|capture|prun)\b", first):
        return ""
    return re.sub(r"^([ \t]*)([%!?].*|[\w.]+\?+[ \t]*)$", r"\1pass", source, flags=re.M)


def needed_for(name: str, statements: Sequence[Statement]) -> Iterator[Statement]:
    r"""Those statements that define a name, or what is needed to do so, in their order.

    >>> text = "import math; x = input(); tape = []; Value = [tape]; x.y = 1"
    >>> needed = needed_for("Value", [("", node) for node in ast.parse(text).body])
    >>> [ast.unparse(node) for _, node in needed]
    ['tape = []', 'Value = [tape]']
    """
    names, kept = {name}, set[int]()
    while True:
        more = {
            i for i, (_, node) in enumerate(statements) if i not in kept and _defines(node, names)
        }
        if not more:
            return (statement for i, statement in enumerate(statements) if i in kept)
        kept |= more
        names.update(*(_used(statements[i][1]) for i in more))


def _defines(node: ast.stmt, names: set[str]) -> bool:
    """Whether a statement binds one of these names, or changes what one of them is bound to."""
    if isinstance(node, ast.ImportFrom) and {node.module, node.names[0].name} & {"__future__", "*"}:
        return True
    if _bound(node) & names:
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        is_decorated = bool(node.decorator_list)  # as by @patch, which puts it into a class
        return is_decorated and bool(_used(node) & names)
    for part in ast.walk(node):
        of: Any = None
        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            of = part.value
        elif isinstance(part, ast.Call):
            called = ast.unparse(part.func)
            if called in SETTINGS and isinstance(node, ast.Expr):
                return True
            of = part.args[0] if called == "setattr" and part.args else None
        if isinstance(of, ast.Name) and of.id in names:
            return True
    return False


def _bound(node: ast.stmt) -> set[str]:
    return {name for how, name in _names(_code(node, "")) if how in BOUND}


def _used(node: ast.stmt) -> set[str]:
    return {name for how, name in _names(_code(node, "")) if how in USED}


def _names(code: CodeType, is_top: bool = True) -> Iterator[tuple[str, str]]:
    """How each name is used that is not local to a function, as the interpreter sees it."""
    for instruction in dis.get_instructions(code):
        if is_top or instruction.opname != "STORE_NAME":  # which in a class is one of its own
            yield instruction.opname, str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant, is_top=False)


def _code(node: ast.stmt, file: str, flags: int = 0) -> Any:
    module = ast.Module([node], [])
    with suppress(SyntaxError):  # `await` at the top level, as notebooks allow it
        return compile(module, file, "exec", flags, dont_inherit=True)
    return compile("", file, "exec")


# ---- 2. Modules


class _File:
    """A file as a module, under the name by which its neighbours import it."""

    def __init__(self, path: Path, is_relative: bool) -> None:
        self.path = path
        folder, parts = path.parent, [path.stem]
        is_package = path.stem == "__init__" or is_relative or folder.name == "micrograd"
        while (folder / "__init__.py").exists() or is_package:
            parts.insert(0, folder.name)
            folder, is_package = folder.parent, False
        if parts[-1] == "__init__":
            parts.pop()
        self.parents = [".".join(parts[:i]) for i in range(1, len(parts))]
        is_module = self.parents or path.stem == "__init__"
        self.name = ".".join(parts) if is_module else f"graded_{path.stem}"
        self.root = folder
        above = [path.parent, *path.parent.parents][:LEVELS]
        sys.path[:0] = list(dict.fromkeys([str(path.parent), str(folder)]))
        sys.path += [*map(str, above[1:]), str(OUR_ENGINE.parents[1])]  # helpers of ours are last
        sys.meta_path.insert(0, _OwnMicrograd(above))

    def run(
        self,
        statements: Sequence[Statement],
        name: str,
        errors: list[BaseException],
        goes_on: bool = False,
    ) -> Any:
        """What a name is bound to in the end; a class that is not ours is preferred to ours.

        A notebook goes on after errors, and a file after an `import *` that may be needless.
        """
        module = ModuleType(self.name)
        module.__file__ = str(self.path)
        module.__package__ = self.parents[-1] if self.parents else ""
        if self.path.stem == "__init__":
            module.__package__, module.__path__ = self.name, [str(self.path.parent)]
        for i, parent in enumerate(self.parents, 1):
            if parent not in sys.modules:  # without its __init__.py, which would import this file
                package = ModuleType(parent)
                package.__path__ = [str(self.root.joinpath(*parent.split(".")[:i]))]
                sys.modules[parent] = package
        sys.modules[self.name] = module  # dataclasses look there for their module
        for inner in [*self.parents[1:], self.name] if self.parents else []:
            outer, _, attribute = inner.rpartition(".")  # as an import of it would do
            setattr(sys.modules[outer], attribute, sys.modules[inner])
        own = None
        flags = 0
        for file, node in statements:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                flags |= _flags(alias.name for alias in node.names)
            try:
                exec(_code(node, file, flags), vars(module))
            except Exception as error:
                is_star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
                if not (goes_on or (is_star and isinstance(error, ImportError))):
                    raise
                errors.append(error)
            found = vars(module).get(name)
            if isinstance(found, type) and not is_ours(found):
                own = found
        if own:
            vars(module)[name] = own  # the methods look there for their class
        return vars(module).get(name)

    def run_as_imported(
        self, statements: Sequence[Statement], name: str, errors: list[BaseException]
    ) -> Any:
        """The same after all of the file was run, and the packages around it were imported."""
        for module in [self.name, *self.parents]:
            sys.modules.pop(module, None)
        for parent in self.parents:
            importlib.import_module(parent)
        return self.run(statements, name, errors)


def _flags(names: Iterable[str]) -> int:
    features = (getattr(__future__, name, None) for name in names)
    return sum(feature.compiler_flag for feature in features if feature)


class _OwnMicrograd:
    """Finds a package called micrograd near a file before ours, which is installed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [place for folder in folders for place in (folder, folder / "src")]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The place of the learner's own micrograd; None of everything else.

        >>> _OwnMicrograd([Path()]).find_spec("math")
        """
        if name != "micrograd":
            return None
        for folder in self.folders:
            package = folder / "micrograd"
            marks = (package / "__init__.py", package / "engine.py", folder / "micrograd.py")
            if any(mark.exists() for mark in marks) and package != OUR_ENGINE.parent:
                return importlib.machinery.PathFinder.find_spec(name, [str(folder)])
        return None
