"""What holds for the package as a whole: what loads when, and who may import whom."""

import ast
import builtins
import graphlib
import importlib
import operator
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from blocks import python
from rooms import ROOMS
from sampling import thinned

import micrograd
from micrograd.core.hints import HINTS

PACKAGE = Path(micrograd.__file__).parent
PATHS = sorted(PACKAGE.rglob("*.py"))
APART = {"nn", "losses", "optim", "datasets"}  # these do not import one another
FOLDERS = [room for room in ROOMS if (PACKAGE / room).is_dir()]


def module_of(path):
    """The name of a file's module in the package, as `draw.graph`, or `draw` for its __init__."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def room_of(module):
    return module.partition(".")[0]


MODULES = set(map(module_of, PATHS))


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path):
    """The modules of the package that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(tree_of(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [n if n.removeprefix("micrograd.") in MODULES else node.module for n in inside]
        found |= {n.removeprefix("micrograd.") for n in names if room_of(n) == "micrograd"}
    return found


@pytest.mark.parametrize("path", PATHS, ids=module_of)
def test_a_room_imports_earlier_rooms_only(path):
    room = room_of(module_of(path))
    if room == "__init__":
        return
    for imported in map(room_of, imports_of(path)):
        assert ROOMS.index(imported) <= ROOMS.index(room), f"{room} imports {imported}"
        assert not (imported != room and {imported, room} <= APART), f"{room}: {imported}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_files_of_a_folder_import_one_another_in_no_circle(folder):
    files = {module_of(path): imports_of(path) for path in (PACKAGE / folder).glob("*.py")}
    del files[folder]
    assert not [file for file, imported in files.items() if folder in imported]
    graphlib.TopologicalSorter(files).prepare()  # a circle is an error


def fresh(code):
    """What a fresh interpreter prints for this code."""
    return python("-c", code).stdout


def test_import_loads_the_standard_library_only():
    loaded = set(fresh("import sys, micrograd; print(*sys.modules)").split())
    bare = set(fresh("import sys; print(*sys.modules)").split())
    new = {name.split(".")[0] for name in loaded - bare}
    assert new - set(sys.stdlib_module_names) == {"micrograd"}


def test_the_interpreter_is_left_as_it_was():
    settings = (
        "(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), sys.getrecursionlimit())"
    )
    out = fresh(
        f"import gc, sys; a = {settings}\nimport micrograd, micrograd.nn\nprint(a == {settings})"
    )
    assert out == "True\n"


def test_the_facade_names_everything_it_promises_and_no_module():
    imports = ast.walk(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")))
    imports = [node for node in imports if isinstance(node, ast.ImportFrom)]
    typed = {alias.name: node.module for node in imports for alias in node.names}
    assert typed == {name: f"micrograd.{room}" for name, room in micrograd._module_of.items()}
    for name in micrograd.__all__:
        assert getattr(micrograd, name) is not None
        assert name in dir(micrograd)
        assert name not in ROOMS
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = micrograd.nonsense


HINTED = {"": "", "nn": "MSELoss Dropout functional"}


@pytest.mark.parametrize("module", HINTED)
def test_a_name_that_is_elsewhere_or_of_another_package_is_told_with_the_one_here(module):
    names = HINTED[module].split() or [name for some in HINTS for name in some.split()]
    module = f"micrograd.{module}".rstrip(".")
    for name in names:
        [hint] = (hint for some, hint in HINTS.items() if name in some.split())
        told = re.escape(f"module '{module}' has no attribute '{name}': {hint}")
        with pytest.raises(AttributeError, match=told):
            operator.attrgetter(f"{module}.{name}".removeprefix("micrograd."))(micrograd)
        with pytest.raises(ImportError, match=told):
            exec(f"from {module} import {name}")


def test_what_hints_name_is_there():
    for names, hint in HINTS.items():
        for name in map("".join, re.findall(r"\bmicrograd\.([\w.]*\w)|\buse (\w+)\(", hint)):
            assert operator.attrgetter(name)(micrograd)
        if hint.startswith("import it from micrograd."):
            module = importlib.import_module(hint.removeprefix("import it from "))
            assert all(hasattr(module, name) for name in names.split())


def test_an_unknown_name_is_told_as_usual():
    for module in ("micrograd", "micrograd.nn"):
        with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
            exec(f"from {module} import nonsense")
    with pytest.raises(AttributeError, match="no attribute 'Linaer'") as told:
        _ = micrograd.nn.Linaer
    assert (told.value.name, told.value.obj) == ("Linaer", micrograd.nn)  # for "Did you mean"


@pytest.mark.parametrize("module", thinned([room for room in ROOMS if room != "__main__"], 5))
def test_a_module_is_there_after_import_micrograd(module):
    code = f"import micrograd; print(micrograd.{module}.__name__, {module!r} in dir(micrograd))"
    assert fresh(code) == f"micrograd.{module} True\n"


def test_tab_completion_offers_names_and_modules_and_nothing_else():
    offered = {name for name in dir(micrograd) if not name.startswith("__")}
    assert offered == {*micrograd.__all__, "compile", *ROOMS} - {"__main__"}
    public = fresh("import micrograd; print(*(n for n in vars(micrograd) if n[0] != '_'))").split()
    assert set(public) <= offered  # editors read the file itself


def test_a_star_import_hides_no_builtin():
    names: dict[str, object] = {}
    exec("from micrograd import *", names)
    assert names["Value"] is micrograd.Value
    assert not names.keys() & set(dir(builtins))
    assert micrograd.compile is not compile


ROOT = PACKAGE.parent


def test_the_version_is_that_of_the_distribution_and_of_the_citation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["name"] == "micrograd"
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "micrograd/__init__.py"
    assert micrograd.__version__ == "1.0.0"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"version = {{{micrograd.__version__}}}" in readme


def test_the_site_leaves_out_the_modules_that_need_more_than_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {*sys.stdlib_module_names, "micrograd", "PIL"}  # which Matplotlib needs
    known |= {re.match(r"\w+", each)[0] for each in project["dependencies"]}
    needed = {
        module_of(path): room_of(name)
        for path in PATHS
        for node in tree_of(path).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None) or node.names[0].name]
        if room_of(name) not in known
    }
    site = (ROOT / "demos" / "site" / "build.py").read_text(encoding="utf-8")
    assert needed == ast.literal_eval(re.search(r"^NEEDED = (.*)", site, re.M)[1])


def public_names(path):
    """Functions and classes of a file, and the methods of the classes, that do not begin with _."""
    unseen = re.compile(r"overload|\w+\.setter")  # help() shows the getter

    def named(body, kinds):
        some = (node for node in body if isinstance(node, kinds) and not node.name.startswith("_"))
        return [x for x in some if not any(unseen.match(ast.unparse(d)) for d in x.decorator_list)]

    for node in named(tree_of(path).body, (ast.FunctionDef, ast.ClassDef)):
        yield node, node.name
        members = node.body if isinstance(node, ast.ClassDef) else ()
        for member in named(members, ast.FunctionDef):
            yield member, f"{node.name}.{member.name}"


@pytest.mark.parametrize("path", PATHS, ids=module_of)
def test_every_public_name_has_a_docstring(path):
    for node, name in public_names(path):
        assert ast.get_docstring(node), f"{name} has no docstring"


def test_the_engine_and_a_network_can_be_read_in_one_sitting():
    engine = (PACKAGE / "engine.py").read_text(encoding="utf-8").splitlines()
    nn = (PACKAGE / "nn.py").read_text(encoding="utf-8")
    networks = next(x.end_lineno for x in ast.parse(nn).body if getattr(x, "name", "") == "MLP")
    assert len(engine) + networks <= 500
    readme = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    assert "500 lines" in readme.partition("<picture>")[0]


def test_derivative_rules_stand_in_closures_only():
    """Outside its `_backward` functions the engine writes a grad only to reset or to seed it."""
    source = (PACKAGE / "engine.py").read_text(encoding="utf-8")
    closures = [
        range(node.lineno, node.end_lineno + 1)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == "_backward"
    ]
    assert len(closures) > 17
    others = [
        line.partition("#")[0].strip()
        for number, line in enumerate(source.splitlines(), 1)
        if re.search(r"\.grad\b[^.,()]*=", line) and not any(number in c for c in closures)
    ]
    assert {*others} == {"node.grad = 0", "self.grad += seed", "self.grad = 0"}
    rooms = {
        path.relative_to(PACKAGE).as_posix()
        for path in PATHS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and node.name == "_backward"
        if any(isinstance(x, ast.AugAssign) for x in ast.walk(node))
    }
    assert rooms == {"engine.py", "operations.py"}
