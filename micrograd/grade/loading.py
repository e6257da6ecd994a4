"""The class in a file, a notebook or a package: only the statements that define it are run.

A learner's file often trains a network at its top level. So a top-level statement runs only if it
defines something that the class needs, directly or indirectly. As in `subject.py`, only the
standard library is imported, and nothing under the name `micrograd`.
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
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .subject import OUR_ENGINE, is_ours  # relative: in the child the package has another name

Statement = tuple[str, ast.stmt]  # the name of its file or cell, and the statement
USED = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"}
BOUND = {"STORE_NAME", "STORE_GLOBAL"}
SETTINGS = {"sys.setrecursionlimit", "sys.path.append", "sys.path.insert"}
LEVELS = 4  # folders above a file in which to look for its imports


class NoClassError(Exception):
    """There is no class to grade; the arguments are a key of RULES and what was found instead."""


def class_in(path: Path, name: str) -> type:
    r"""The class of this name that a file or a notebook defines or imports.

    Raises:
        NoClassError: it does neither.
        Exception: whatever the file itself raises.

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
    parts = (part for _, node in statements for part in ast.walk(node))
    file = _File(path, max((x.level for x in parts if isinstance(x, ast.ImportFrom)), default=0))
    found: Any = None
    if any(name in _bound(node) for _, node in needed):
        try:
            found = file.run(needed, name, errors, is_notebook)
        except NameError:  # a name may be bound by exec, for example
            found = file.run_as_imported(statements, name, errors)
    elif not is_notebook and not classes:  # exec may define it, for example
        found = file.run_as_imported(statements, name, errors)
    if not isinstance(found, type):
        if errors:
            raise errors[0]
        there = ", ".join(dict.fromkeys(classes)) or "none"
        mistake = "name" if classes else "load"
        raise NoClassError(mistake, f"no such class; classes there: {there}")
    return found


def mistake_in_imports(error: BaseException, path: Path) -> str:
    """The key of RULES for an error in the imports of a file, '' for any other error.

    >>> mistake_in_imports(ModuleNotFoundError("No module named 'x'", name="x"), Path("a/b.py"))
    'module'
    """
    codes = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))
    files = [code.co_filename for code in codes]
    if str(path) in files:
        files.remove(str(path))  # it is there twice if it imports itself, as random.py may
    named = {*re.findall(r"'(\w+)'", str(error)), *(Path(file).stem for file in files)}
    if any((path.parent / f"{x}.py").exists() for x in named & sys.stdlib_module_names):
        return "shadows"
    if not isinstance(error, ImportError):
        return ""
    is_part = (error.name or "").partition(".")[0] in path.parent.parts
    return "package" if is_part or "relative import" in str(error) else "module"


# ---- 1. Statements


def _lines(path: Path) -> tuple[list[Statement], list[BaseException]]:
    text = path.read_bytes()
    return [(str(path), node) for node in ast.parse(text, str(path)).body], []


def _cells(path: Path, name: str) -> tuple[list[Statement], list[BaseException]]:
    """The statements of a notebook and the syntax errors in it; a cell with an error is left out.

    The errors matter if the class is not found. A cell that should define the class but has an
    error removes earlier definitions, so that no outdated one is graded.
    """
    notebook = json.loads(path.read_text(encoding="utf-8-sig"))
    sheets = notebook.get("worksheets") or [notebook]  # the format before 2015
    cells = [cell for sheet in sheets for cell in sheet.get("cells", ())]
    statements: list[Statement] = []
    errors: list[BaseException] = []
    for i, cell in enumerate(cells, 1):
        if cell.get("cell_type") != "code":
            continue
        source = "".join(cell.get("source", cell.get("input", "")))
        place = f"cell {i} of {path.name}"
        try:
            parsed = ast.parse(_without_magics(source), place).body
        except (SyntaxError, ValueError) as error:
            if not re.search(rf"^class {re.escape(name)}\b", source, re.M):
                errors.append(error)
                continue
            errors.insert(0, error)
            statements = [x for x in statements if not _is_class(x[1], name)]
        else:
            statements += [(place, node) for node in parsed]
    return statements, errors


def _is_class(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == name


def _without_magics(source: str) -> str:
    r"""The Python code of a cell; IPython's commands become `pass`, which keeps the line numbers.

    >>> _without_magics("%matplotlib inline\nif True:\n    !ls\nx = 1")
    'pass\nif True:\n    pass\nx = 1'
    """
    first = source.lstrip().partition("\n")[0]
    if first.startswith("%%") and not re.match(r"%%(time|timeit|capture|prun)\b", first):
        return ""
    return re.sub(r"^([ \t]*)([%!?].*|[\w.]+\?+[ \t]*)$", r"\1pass", source, flags=re.M)


def needed_for(name: str, statements: Sequence[Statement]) -> Iterator[Statement]:
    r"""The statements that define a name and everything it needs, in order.

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
    """Whether a statement binds one of these names or modifies its object."""
    if isinstance(node, ast.ImportFrom) and {node.module, node.names[0].name} & {"__future__", "*"}:
        return True
    if _bound(node) & names:
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        is_decorated = bool(node.decorator_list)  # one like @patch may add the function to a class
        return is_decorated and bool(_used(node) & names)
    return any(_modifies(part, node, names) for part in ast.walk(node))


def _modifies(part: ast.AST, node: ast.stmt, names: set[str]) -> bool:
    """Whether a part of a statement changes an object with one of these names, or a setting."""
    changed: Any = None
    if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
        changed = part.value
    elif isinstance(part, ast.Call):
        called = ast.unparse(part.func)
        if called in SETTINGS and isinstance(node, ast.Expr):
            return True
        changed = part.args[0] if called == "setattr" and part.args else None
    return isinstance(changed, ast.Name) and changed.id in names


def _bound(node: ast.stmt) -> set[str]:
    return {name for how, name in _names(_code(node, "")) if how in BOUND}


def _used(node: ast.stmt) -> set[str]:
    return {name for how, name in _names(_code(node, "")) if how in USED}


def _names(code: CodeType, is_top: bool = True) -> Iterator[tuple[str, str]]:
    """The opcode and the name for each use of a name that is not local to a function."""
    for instruction in dis.get_instructions(code):
        if is_top or instruction.opname != "STORE_NAME":  # in a class body this binds an attribute
            yield instruction.opname, str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant, is_top=False)


def _code(node: ast.stmt, file: str, flags: int = 0) -> Any:
    module = ast.Module([node], [])
    with suppress(SyntaxError):  # notebooks allow `await` at the top level
        return compile(module, file, "exec", flags, dont_inherit=True)
    return compile("", file, "exec")


# ---- 2. Modules


class _File:
    """A file as a module, under the name that other files in its folder import."""

    def __init__(self, path: Path, levels: int) -> None:
        self.path = path
        folder, parts = path.parent, [path.stem]
        levels = max(levels, path.stem == "__init__" or folder.name == "micrograd")
        while (folder / "__init__.py").exists() or len(parts) <= levels:
            parts.insert(0, folder.name)
            folder = folder.parent
        if parts[-1] == "__init__":
            parts.pop()
        self.parents = [".".join(parts[:i]) for i in range(1, len(parts))]
        is_module = self.parents or path.stem == "__init__"
        self.name = ".".join(parts) if is_module else f"graded_{path.stem}"
        self.root = folder
        above = [path.parent, *path.parent.parents][:LEVELS]
        sys.path[:0] = list(dict.fromkeys([str(path.parent), str(folder)]))
        sys.path += [*map(str, above[1:]), str(OUR_ENGINE.parents[1])]  # ours comes last
        sys.meta_path.insert(0, _OwnMicrograd(above))

    def run(
        self,
        statements: Sequence[Statement],
        name: str,
        errors: list[BaseException],
        goes_on: bool = False,
    ) -> Any:
        """The object that a name is bound to in the end, preferably a class that is not ours.

        A notebook continues after any error, a file only after a failed `import *`.
        """
        module = self._module()
        # Annotations may name the class inside it; Python 3.14 evaluates them later, too.
        own, flags = None, __future__.annotations.compiler_flag
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
            vars(module)[name] = own  # the methods look up their class there
        return vars(module).get(name)

    def _module(self) -> ModuleType:
        """A new module for the file in sys.modules, inside the packages around it."""
        module = ModuleType(self.name)
        module.__file__ = str(self.path)
        module.__package__ = self.parents[-1] if self.parents else ""
        if self.path.stem == "__init__":
            module.__package__, module.__path__ = self.name, [str(self.path.parent)]
        for i, parent in enumerate(self.parents, 1):
            if parent not in sys.modules:  # its __init__.py does not run: it may import this file
                package = ModuleType(parent)
                package.__path__ = [str(self.root.joinpath(*parent.split(".")[:i]))]
                sys.modules[parent] = package
        sys.modules[self.name] = module  # dataclasses look there for their module
        for inner in [*self.parents[1:], self.name] if self.parents else []:
            outer, _, attribute = inner.rpartition(".")  # as an import would do
            setattr(sys.modules[outer], attribute, sys.modules[inner])
        return module

    def run_as_imported(
        self, statements: Sequence[Statement], name: str, errors: list[BaseException]
    ) -> Any:
        """The result of `run`, after importing the packages around the file."""
        for module in [self.name, *self.parents]:
            sys.modules.pop(module, None)
        for parent in self.parents:
            importlib.import_module(parent)
        return self.run(statements, name, errors)


def _flags(names: Iterable[str]) -> int:
    features = (getattr(__future__, name, None) for name in names)
    return sum(feature.compiler_flag for feature in features if feature)


class _OwnMicrograd:
    """Finds a package called micrograd near the file, and prefers it to ours."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [place for folder in folders for place in (folder, folder / "src")]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The location of the learner's own micrograd; None for any other name."""
        if name != "micrograd":
            return None
        for folder in self.folders:
            package = folder / "micrograd"
            marks = (package / "__init__.py", package / "engine.py", folder / "micrograd.py")
            if any(mark.exists() for mark in marks) and package != OUR_ENGINE.parent:
                return importlib.machinery.PathFinder.find_spec(name, [str(folder)])
        return None
