"""Checks whether anything that a compiled function reads from outside has changed.

A program contains the plain numbers, the structure of the model and the branches taken, all as they
were when the function was recorded. But users make changes: they rerun the notebook cell that
creates the model, or set `alpha = 0.1`. So before each call a guard compares what the function
reads now with what it read then; if something differs, the function is recorded again.

    >>> alpha = [2.0, 3.0]
    >>> guard = Guard(lambda x: alpha[0] * x)
    >>> guard.holds()
    True
    >>> alpha[0] = 5.0
    >>> guard.holds()
    False

One walk finds what to compare, by reading code without running it: bytecode contains the names of
the globals and attributes that it loads. The walk starts from one function: its globals, its
closure and its defaults. From there it follows items of containers, elements of arrays, and
attributes whose names are loaded by any function found so far. Each new function is searched in the
same way, until nothing new turns up.

The comparison must be fast, because it runs before every call. Most of it is a single == between
two lists of dicts and lists, which Python evaluates in C. nn.Module counts assignments to
attributes; while the count stays the same, modules need not be compared.

Of 27 changes such as a user makes, the next call gives the right result after 25; environment
variables and files are not noticed. torch.compile notices 25, too; jax.jit and equinox's filter_jit
ask for arguments instead. A call takes 4 microseconds (`demos/benchmark.py --only stale`).
"""

from __future__ import annotations

import dis
import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from operator import attrgetter, call, is_, itemgetter
from types import (
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from micrograd.compiler.parameters import class_of
from micrograd.engine import Value
from micrograd.module import Module
from micrograd.optim import Optimizer

# Objects of these types have no items and no attributes, and == compares them fully. Subclasses are
# not listed: their objects may have attributes.
PLAIN = {
    *(int, float, complex, bool, str, bytes, type(None), type(...), range, slice, CodeType),
    *(set(np.sctypeDict.values()) - {np.object_, np.void}),
}
CONTAINERS = (list, dict, set, deque, tuple, frozenset)
EQUAL_IF_PARTS_ARE = {*PLAIN, *CONTAINERS}

# Bytecode instructions that load something by name, and what they load.
LOADS = {
    "LOAD_GLOBAL": "globals",
    "LOAD_NAME": "globals",
    "LOAD_ATTR": "attributes",
    "LOAD_METHOD": "attributes",
    "LOAD_SUPER_ATTR": "attributes",
    "IMPORT_FROM": "attributes",
    "IMPORT_NAME": "modules",
}
# Objects of these types call functions, or read attributes, that are not in their `__dict__`.
PARTS: dict[type, tuple[str, ...]] = {
    MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    functools.cached_property: ("func",),
}
# Python calls special methods without naming them, so they all count as loaded, except for those
# that show an object. Methods that create one count only if the class itself is found.
SHOWING = {"__repr__", "__str__", "__format__"}
CREATION = {"__new__", "__init__", "__post_init__"}
# Methods of nn.Module that go through all attributes.
GO_THROUGH_ALL = {"parameters", "named_parameters", "named_modules", "state_dict", "zero_grad"}

STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
THIS_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
RESULT = object()  # replaces results of operations in comparisons: each run creates new ones
CODE, DEFAULTS = attrgetter("__code__"), attrgetter("__defaults__", "__kwdefaults__")
CONTENTS = attrgetter("cell_contents", "cell_contents")  # a tuple, as other reads return


class Guard:
    """What a function reads from outside, as it is now.

    Attributes:
        values: the leaves of graphs that it may use: its parameters are among them.
        reads_optimizer: whether it reads an attribute of an optimizer, such as `lr`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        walk = _Walk(function)
        self.values = walk.values
        self.reads_optimizer = any(part.before for part in walk.of_optimizers)
        self._parts, self._modules, self._edits = walk.parts, walk.of_modules, Module.edits
        self._functions, self._codes = walk.functions, [*map(CODE, walk.functions)]
        self._reads = [read for read, _ in walk.reads]
        self._things = [thing for _, thing in walk.reads]
        found = [read(thing) for read, thing in walk.reads]
        self._expected = [x if _equality_tells(x) else _Identical(x) for x in found]
        self._collect()

    def _collect(self) -> None:
        # Comparing two lists checks many parts at once; others, with an array, say, go one by one.
        self._alone = [part for part in self._parts if part.copy is None]
        together = [part for part in self._parts if part.copy is not None]
        self._holders = [part.holder for part in together]
        self._copies = [part.copy for part in together]

    @property
    def numbers(self) -> list[Any]:
        """The plain numbers that the function reads from variables and attributes."""
        found = [x.things if isinstance(x, _Identical) else x for x in self._expected]
        found = [things for things in found if isinstance(things, tuple)]
        parts = (*self._parts, *self._modules)
        found += [part.before for part in parts if part.names is not None]
        return [x for things in found for x in things if isinstance(x, (int, float, complex))]

    def holds(self) -> bool:
        """Whether everything that the function reads is unchanged."""
        try:
            if [*map(CODE, self._functions)] != self._codes:
                return False
            if [*map(call, self._reads, self._things)] != self._expected:
                return False
            if self._edits != Module.edits:
                edits = Module.edits
                if not all(map(_Part.holds, self._modules)):
                    return False
                self._edits = edits
            if self._holders != self._copies:  # something changed that may not count
                if not all(map(_Part.holds, self._parts)):
                    return False
                self._collect()
                return True
            return all(map(_Part.holds, self._alone))
        except Exception:  # a name has been deleted, or a number has become an array
            return False


class _Part:
    """A container, or the attributes of an object or a class.

    Attributes:
        holder: the container, or the dict of the attributes.
        names: the names of the attributes that count; None for the items of a container.
        before: the items, or the attributes that count, each after its name.
        copy: a copy of the holder, if == with the copy detects every change; else None.
    """

    def __init__(self, holder: Any, names: Container[str] | None = None) -> None:
        self.holder, self.names = holder, names
        self.remember()

    def remember(self) -> None:
        self.before = self.items()
        self.copy = self.holder.copy() if _equality_tells(self.holder) else None
        every = _elements_of(self.holder)  # must not keep a graph alive
        self._every = [] if any(isinstance(x, Value) and x._prev for x in every) else every

    def items(self) -> tuple[Any, ...]:
        found: Iterable[Any] = _elements_of(self.holder)
        if self.names is not None:
            loaded = [name for name in self.holder if name in self.names]
            found = [*loaded, *(self.holder[name] for name in loaded)]
        return tuple([RESULT if isinstance(x, Value) and x._prev else x for x in found])

    def holds(self) -> bool:
        """Whether what counts is unchanged; other attributes may have changed."""
        now = _elements_of(self.holder)
        if len(now) == len(self._every) and all(map(is_, now, self._every)):  # the usual case
            return True
        if not _are_same(self.items(), self.before):
            return False
        self.remember()
        return True


class _InClass:
    # Contains the names in a class that count, given those that code loads.
    def __init__(self, names: set[str], creates: bool) -> None:
        self.names, self.left_out = names, SHOWING if creates else SHOWING | CREATION

    def __contains__(self, name: Any) -> bool:
        return name in self.names or (name.startswith("__") and name not in self.left_out)


class _Walk:
    """Everything that a function can reach through names in its code and in the code that it calls.

    Attributes:
        values: Values that are leaves.
        parts: the containers and objects that may change.
        of_modules, of_optimizers: the parts that are attributes of these.
        functions: the functions, whose code must not change.
        reads: pairs of a function and its argument; the results must not change.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.values: list[Value] = []
        self.parts: list[_Part] = []
        self.of_modules: list[_Part] = []
        self.of_optimizers: list[_Part] = []
        self.functions: list[FunctionType] = []
        self.reads: list[tuple[Callable[[Any], Any], Any]] = []
        self._names: set[str] = set()  # attribute names that code loads
        self._namespaces: dict[int, tuple[Any, set[str]]] = {}  # of functions; the names they load
        self._python_modules: list[ModuleType] = []
        self._objects: list[Any] = []
        self._classes: dict[type, bool] = {}  # whether code may create objects of the class
        self._seen: dict[int, Any] = {}  # objects by id, kept so that no id is reused
        self._waiting: deque[Any] = deque([function])
        known = None
        while known != (known := (len(self._seen), len(self._names))):
            while self._waiting:
                self._visit(self._waiting.popleft())
            self._follow_attributes()
        self._remember()

    def _visit(self, thing: Any) -> None:
        if type(thing) in PLAIN or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, Value):
            self._visit_value(thing)
        elif isinstance(thing, FunctionType):
            self._visit_function(thing)
        elif isinstance(thing, ModuleType):
            self._python_modules += [] if _is_installed(vars(thing).get("__file__")) else [thing]
        elif isinstance(thing, type):
            self._classes[thing] = True
        elif isinstance(thing, np.ndarray):
            self.reads.append((_content, thing))
            self._waiting += thing.ravel().tolist() if thing.dtype.hasobject else []
            self._objects.append(thing)
        else:
            self._visit_object(thing)

    def _visit_value(self, value: Value) -> None:
        if (kind := class_of(value)) is not Value:
            self._classes.setdefault(kind, False)
        if not value._prev:
            self.values.append(value)
            if vars(value).keys() - {"label"}:  # users may add attributes to Values
                self._objects.append(value)

    def _visit_function(self, function: FunctionType) -> None:
        loaded = _loaded(function.__code__)
        self._names.update(loaded["attributes"])
        self._waiting.append(vars(function).get("__wrapped__"))
        cells = [cell for cell in function.__closure__ or () if _is_filled(cell)]
        self._waiting += [cell.cell_contents for cell in cells]
        if _is_installed(function.__code__.co_filename):  # perhaps a decorator: it calls user code
            return
        self.functions.append(function)
        self.reads += [(CONTENTS, cell) for cell in cells]
        self._objects += [function] if vars(function) else []
        if any(defaults := DEFAULTS(function)):
            self.reads.append((DEFAULTS, function))
            self._waiting += [*(defaults[0] or ()), defaults[1]]
        self._waiting += [sys.modules.get(name) for name in loaded["modules"]]
        self._read(function.__globals__, loaded["globals"])

    def _visit_object(self, thing: Any) -> None:
        if isinstance(thing, CONTAINERS):
            self._waiting += _elements_of(thing)
            self.parts += [] if isinstance(thing, (tuple, frozenset)) else [_Part(thing)]
        self._waiting += [getattr(thing, part, None) for part in PARTS.get(type(thing), ())]
        self._waiting.append(_namespace_of(thing).get("__wrapped__"))  # of a compiled function
        if not isinstance(thing, MethodType):  # a new object on each access
            self._objects.append(thing)
            if type(thing).__module__ != "micrograd.compiler.function":
                self._classes.setdefault(type(thing), False)

    def _read(self, namespace: Any, names: Iterable[str]) -> None:
        _, known = self._namespaces.setdefault(id(namespace), (namespace, set()))
        self._waiting += [namespace[n] for n in names if n not in known and n in namespace]
        known.update(names)

    def _follow_attributes(self) -> None:
        for module in self._python_modules:
            self._read(vars(module), self._names)
        for thing in self._objects:
            namespace, names = _namespace_of(thing), self._names_in(thing)
            self._waiting += [namespace[name] for name in namespace if name in names]
            self._waiting += [getattr(thing, name) for name in self._slots(thing)]
        for kind, creates in self._classes.items():
            for base in _bases_of(kind):
                names = _InClass(self._names, creates)
                self._waiting += [vars(base)[name] for name in vars(base) if name in names]

    def _names_in(self, thing: Any) -> Container[str]:
        is_whole = isinstance(thing, Module) and not GO_THROUGH_ALL.isdisjoint(self._names)
        return vars(thing) if is_whole else self._names

    def _slots(self, thing: Any) -> list[str]:
        if isinstance(thing, (Value, FunctionType)):
            return []
        kind: Any = type(thing)
        return [n for n in _slots_of(kind) if n in self._names and hasattr(thing, n)]

    def _remember(self) -> None:
        # All names are known now, so what counts can be compared later.
        for namespace, names in self._namespaces.values():
            if present := [name for name in names if name in namespace]:
                self.reads.append((itemgetter(*present, present[0]), namespace))  # a tuple
            if absent := names.difference(present):  # usually built-in functions
                self.reads.append((namespace.keys().isdisjoint, absent))
        for thing in self._objects:
            if slots := self._slots(thing):
                self.reads.append((attrgetter(*slots, slots[0]), thing))
            if (namespace := _namespace_of(thing)) is NO_ATTRIBUTES:
                continue
            part = _Part(namespace, self._names_in(thing))
            setter: Any = type(thing).__setattr__
            is_counted = setter is Module.__setattr__
            (self.of_modules if is_counted else self.parts).append(part)
            if isinstance(thing, Optimizer):
                self.of_optimizers.append(part)
        for kind, creates in self._classes.items():
            loaded = _InClass(self._names, creates)
            self.parts += [_Part(vars(b), loaded) for b in _bases_of(kind) if not _is_library(b)]


class _Identical:
    """Equals a tuple of the same objects; plain numbers and strings only need to be equal."""

    def __init__(self, things: tuple[Any, ...]) -> None:
        self.things = things

    def __eq__(self, others: Any) -> bool:
        return _are_same(self.things, others)

    __hash__ = None  # type: ignore[assignment]


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    if len(some) != len(others):
        return False
    return all(map(is_, some, others)) or all(map(_is_same, some, others))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in PLAIN and bool(a == b))


def _equality_tells(thing: Any) -> bool:
    # Whether == detects every replacement in a container. It does not if the class of some item
    # defines __eq__: the item could be replaced by an equal one that changes later.
    if type(thing) not in EQUAL_IF_PARTS_ARE | {MappingProxyType}:
        return False
    items = _elements_of(thing) if isinstance(thing, (*CONTAINERS, MappingProxyType)) else []
    kinds: Any = set(map(type, items))
    if any(kind.__eq__ not in (object.__eq__, tuple.__eq__) for kind in kinds - EQUAL_IF_PARTS_ARE):
        return False
    return not any(isinstance(x, Value) and x._prev for x in items)


@functools.lru_cache(maxsize=1000)
def _loaded(code: CodeType) -> dict[str, dict[str, None]]:
    # The names that a piece of code loads.
    names: dict[str, dict[str, None]] = {kind: {} for kind in LOADS.values()}  # ordered sets
    texts: list[str] = []
    waiting = [code]
    while waiting:
        code = waiting.pop()
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
        for step in dis.get_instructions(code):
            if kind := LOADS.get(step.opname):
                names[kind][step.argval] = None
        texts += [c for c in code.co_consts if isinstance(c, str) and c.isidentifier()]
    if not {"getattr", "hasattr"}.isdisjoint(names["globals"]):
        names["attributes"].update(dict.fromkeys(texts))
    return names


NO_ATTRIBUTES: dict[str, Any] = {}  # the attributes of an object without a `__dict__`


def _namespace_of(thing: Any) -> dict[str, Any]:
    try:  # the attributes of an object, without its slots
        found = vars(thing)
    except Exception:  # a user's __getattr__ may raise anything
        return NO_ATTRIBUTES
    return found if isinstance(found, dict) else NO_ATTRIBUTES


def _elements_of(container: Any) -> list[Any]:
    if isinstance(container, (dict, MappingProxyType)):
        return [*container, *container.values()]
    return [*container]


def _bases_of(kind: type) -> list[type]:
    # The classes whose methods are searched: all but Value, and those of the standard library.
    standard = sys.stdlib_module_names
    bases = [base for base in kind.__mro__ if base.__module__.partition(".")[0] not in standard]
    return [base for base in bases if not issubclass(Value, base)]


@functools.lru_cache(maxsize=100)
def _slots_of(kind: type) -> list[str]:
    members = [item for base in kind.__mro__ for item in vars(base).items()]
    return [name for name, member in members if type(member) is MemberDescriptorType]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


def _content(array: Any) -> tuple[Any, ...]:
    if array.dtype.hasobject:
        return (*array.shape, *array.ravel().tolist())
    return (*array.shape, array.dtype.str, array.tobytes())


def _is_installed(file: str | None) -> bool:
    # Whether users do not edit this file: it belongs to Python, to this package, or to a library.
    known = (STANDARD_LIBRARY, THIS_PACKAGE)
    return not file or file.startswith(known) or "-packages" + os.sep in file


def _is_library(kind: type) -> bool:
    # Whether users do not edit this class; `__main__` may be a notebook that a library started.
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ != "__main__" and bool(file) and _is_installed(file)
