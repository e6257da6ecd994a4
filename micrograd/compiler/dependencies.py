"""Finds what a function depends on besides its arguments, by reading its code without running it.

Bytecode contains the names of the globals and attributes that it loads. The search starts from one
function: its globals, its closure and its defaults. From there it follows items of containers,
elements of arrays, and attributes whose names are loaded by any function found so far. Each new
function is searched in the same way, until nothing new turns up.

    >>> scale = [2.0]
    >>> def scaled(x):
    ...     return scale[0] * x
    >>> w = Value(3.0)
    >>> found = Dependencies(lambda x: scaled(w * x))
    >>> found.values == [w], found.containers == [scale], scaled in found.functions
    (True, True, True)

Code that computes names of attributes, for example for getattr(), may load any attribute.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from itertools import chain
from operator import attrgetter, methodcaller
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    DynamicClassAttribute,
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

# Objects of these types have no items and no attributes, so there is nothing to follow, and ==
# compares them fully. Subclasses are not listed: their objects may have attributes.
PLAIN = {
    *(int, float, complex, bool, str, bytes, type(None), type(...), range, slice, CodeType),
    *(set(np.sctypeDict.values()) - {np.object_, np.void}),
}
MUTABLE, FROZEN = (list, dict, set, deque), (tuple, frozenset)
VIEWS: tuple[type, ...] = (MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))
BUFFERS = (bytearray, memoryview, array)

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
# Code that uses one of these may load attributes whose names are not in its bytecode.
COMPUTES_NAMES = {
    *("getattr", "hasattr", "vars", "dir", "attrgetter", "__dict__", "__getattribute__"),
    *("asdict", "astuple", "getmembers", "deepcopy"),
}
# These wrappers keep the functions that they call in attributes outside their `__dict__`.
PARTS: dict[type, tuple[str, ...]] = {
    MethodType: ("__func__", "__self__"),
    BuiltinMethodType: ("__self__",),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    functools.cached_property: ("func",),
    functools.partialmethod: ("func", "args", "keywords"),
    functools.singledispatchmethod: ("func", "dispatcher"),
    DynamicClassAttribute: ("fget",),
}
# Python calls special methods without naming them, so they all count as loaded, except for two
# kinds. Methods that create an object count only if the class itself is found:
CREATION = ("__new__", "__init__", "__post_init__", "__init_subclass__", "__set_name__")
# Metadata, and methods that play no part in computing numbers, do not count at all:
NOT_IMPLICIT = {
    *CREATION,
    *("__dict__", "__weakref__", "__slots__", "__doc__", "__module__", "__qualname__"),
    *("__annotations__", "__abstractmethods__", "__static_attributes__", "__firstlineno__"),
    *("__parameters__", "__orig_bases__", "__match_args__", "__del__", "__dir__"),
    *("__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__", "__getstate__"),
    *("__setattr__", "__delattr__", "__setstate__", "__getnewargs__", "__sizeof__"),
    *("__copy__", "__deepcopy__"),
}
# Containers of the standard library that are written in Python, such as UserDict and WeakSet, keep
# their items in attributes, which their methods load. So their classes are searched like your own.
CONTAINER_MODULES = ("collections", "weakref", "_weakrefset")

STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
THIS_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
NO_ATTRIBUTES: dict[str, Any] = {}  # the attributes of an object without a `__dict__`


class _AllNames(frozenset[str]):
    """The set of all names, for code that computes names: it contains every string."""

    def __contains__(self, _: object) -> bool:
        return True


ALL_NAMES = _AllNames()


class Dependencies:
    """Everything that a function can reach through names in its code and in the code that it calls.

    Attributes:
        values: Values that are leaves.
        functions: the user's functions, including the one searched.
        cells: the closure variables of these functions.
        containers: lists, dicts, sets and the like, whose items may change.
        arrays: NumPy arrays.
        buffers: bytearrays and the like.
        objects: other objects, which may have attributes.
        classes: classes of the objects, and classes found by name; a dict, to keep their order.
        namespaces: maps the id of a dict of globals to the dict and the names read from it.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(rate=2.0, steps=0)
    >>> found = Dependencies(lambda x: model.rate * x)
    >>> found.objects == [model], "rate" in found.names_in(model), "steps" in found.names_in(model)
    (True, True, False)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.values: list[Value] = []
        self.functions: list[FunctionType] = []
        self.cells: list[CellType] = []
        self.containers: list[Any] = []
        self.arrays: list[Any] = []
        self.buffers: list[Any] = []
        self.objects: list[Any] = []
        self.classes: dict[type, None] = {}
        self.namespaces: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._python_modules: list[ModuleType] = []
        self._names: set[str] = set()  # attribute names that code loads
        self._computes_names = False
        self._computes_names_in_nn = False
        self._seen: dict[int, Any] = {}  # objects by id, kept so that no id is reused
        self._waiting: deque[Any] = deque([function])
        known: Any = None
        while known != (known := self._extent()):
            while self._waiting:
                self._visit(self._waiting.popleft())
            self._follow_attributes()

    def names_in(self, thing: Any) -> Collection[str]:
        """The names of attributes that code may load from this object."""
        if issubclass(type(thing), Module):
            may_be_any = self._computes_names or self._computes_names_in_nn
        else:  # this package's own objects do not count: an optimizer changes at every step
            may_be_any = self._computes_names and not _is_of_this_package(type(thing))
        return ALL_NAMES if may_be_any else self._names

    def class_names(self, base: type) -> list[str]:
        """The names in this class that code may load, including those of special methods."""
        is_fixed = _is_of_this_package(base) or _is_of_standard_library(base)
        names = ALL_NAMES if self._computes_names and not is_fixed else self._names
        return [
            name
            for name in vars(base)
            if (name not in NOT_IMPLICIT if name.startswith("__") else name in names)
        ]

    def slots(self, thing: Any) -> list[str]:
        """The names of this object's filled slots that code may load."""
        kind: Any = type(thing)
        names = () if isinstance(thing, (Value, FunctionType)) else _slots(kind)
        loaded = self.names_in(thing)
        return [name for name in names if name in loaded and hasattr(thing, name)]

    def _extent(self) -> tuple[int, ...]:
        # How much has been found; the search ends when a round finds nothing new.
        return len(self._seen), len(self._names), self._computes_names, self._computes_names_in_nn

    def _follow_attributes(self) -> None:
        for module in self._python_modules:
            present = [name for name in vars(module) if name in self.names_in(module)]
            self._read(vars(module), (*present, *self._names, "__getattr__"))
        for thing in self.objects:
            namespace, names = namespace_of(thing), self.names_in(thing)
            self._waiting += [namespace[name] for name in namespace if name in names]
            self._waiting += [object.__getattribute__(thing, name) for name in self.slots(thing)]
        for base in dict.fromkeys(chain.from_iterable(map(bases_of, self.classes))):
            self._waiting += [vars(base)[name] for name in self.class_names(base)]

    def _visit(self, thing: Any) -> None:
        if type(thing) in PLAIN or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if type(thing) in weakref.ProxyTypes:
            self._waiting.append(thing.__init__.__self__)  # the object behind the proxy
        elif isinstance(thing, Value):
            self._visit_value(thing)
        elif isinstance(thing, FunctionType):
            self._visit_function(thing)
        elif isinstance(thing, ModuleType):
            self._python_modules += [] if _is_installed(vars(thing).get("__file__")) else [thing]
        elif isinstance(thing, type):
            self.classes.update(dict.fromkeys((thing, type(thing))))
            for base in bases_of(thing):
                self._waiting += [vars(base).get(name) for name in CREATION]
        elif isinstance(thing, np.ndarray):
            self.arrays.append(thing)
            self._waiting += thing.ravel().tolist() if thing.dtype.hasobject else []
            self.objects += [thing] if namespace_of(thing) else []
        else:
            self._visit_object(thing)

    def _visit_value(self, value: Value) -> None:
        if (kind := class_of(value)) is not Value:
            self.classes[kind] = None
        if not value._prev:
            self.values.append(value)
            attributes = vars(value)
            if attributes and attributes.keys() != {"label"}:  # users may add attributes to Values
                self.objects.append(value)

    def _visit_function(self, function: FunctionType) -> None:
        code = function.__code__
        loaded, computes_names = _loaded(code)
        self._names.update(loaded["attributes"])
        if computes_names:  # in nn.py, parameters() does this with attributes of nn.Modules
            self._computes_names |= not code.co_filename.startswith(THIS_PACKAGE)
            self._computes_names_in_nn |= function.__module__ == Module.__module__
        self._waiting.append(vars(function).get("__wrapped__"))
        cells = tuple(filter(_is_filled, function.__closure__ or ()))
        if _is_installed(code.co_filename):  # perhaps a decorator, with user code in its closure
            self._waiting += [cell.cell_contents for cell in cells]
            return
        self.functions.append(function)
        self.objects += [function] if vars(function) else []
        self._waiting += [*(function.__defaults__ or ()), function.__kwdefaults__]
        self._waiting += [sys.modules.get(name) for name in loaded["modules"]]
        self._read(function.__globals__, loaded["globals"])
        self.cells += cells
        self._waiting += [cell.cell_contents for cell in cells]

    def _read(self, namespace: dict[str, Any], names: Iterable[str]) -> None:
        _, known = self.namespaces.setdefault(id(namespace), (namespace, set()))
        self._waiting += [namespace[n] for n in names if n not in known and n in namespace]
        known.update(names)

    def _visit_object(self, thing: Any) -> None:
        if isinstance(thing, (*MUTABLE, *VIEWS)):
            self.containers.append(thing)
        elif isinstance(thing, BUFFERS):
            self.buffers.append(thing)
        elif isinstance(thing, (attrgetter, methodcaller)):
            self._computes_names = True
        if isinstance(thing, (*MUTABLE, *FROZEN, *VIEWS)):
            self._waiting += elements_of(thing)
        self._waiting += [getattr(thing, part, None) for part in PARTS.get(type(thing), ())]
        self._waiting.append(namespace_of(thing).get("__wrapped__"))  # set in compiled functions
        if isinstance(thing, weakref.ref):
            self._waiting.append(thing())
        # A bound method is a new object on each access; its function has its attributes.
        if type(thing).__module__.startswith("micrograd.compiler."):
            self.objects += [thing] if "__wrapped__" in namespace_of(thing) else []
        elif not isinstance(thing, MethodType):
            self.objects.append(thing)
            self.classes[type(thing)] = None


@functools.lru_cache(maxsize=1000)
def _loaded(code: CodeType) -> tuple[dict[str, dict[str, None]], bool]:
    # The names that a piece of code loads, and whether it may compute more names of attributes.
    names: dict[str, dict[str, None]] = {kind: {} for kind in LOADS.values()}  # ordered sets
    texts: list[str] = []
    waiting = [code]
    while waiting:
        code = waiting.pop()
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
        for step in dis.get_instructions(code):
            if kind := LOADS.get(step.opname):
                names[kind][step.argval] = None
            elif step.opname == "MATCH_CLASS":
                names["attributes"]["getattr"] = None
        texts += [c for c in code.co_consts if isinstance(c, str) and c.isidentifier()]
    computes_names = not COMPUTES_NAMES.isdisjoint([*names["globals"], *names["attributes"]])
    if computes_names:  # the names are usually in these strings; attributes need not exist yet
        names["attributes"].update(dict.fromkeys(texts))
    return names, computes_names


def namespace_of(thing: Any) -> dict[str, Any]:
    """The attributes of an object, without its slots.

    >>> namespace_of(3.0)
    {}
    """
    try:
        found = vars(thing)
    except Exception:  # a user's __getattr__ may raise anything
        return NO_ATTRIBUTES
    return found if isinstance(found, dict) else NO_ATTRIBUTES


def bases_of(kind: type) -> list[type]:
    """The base classes whose methods are searched: user classes, nn.Module, and some containers.

    >>> bases_of(int), bases_of(Module)
    ([], [<class 'micrograd.module.Module'>])
    """
    return [
        base
        for base in kind.__mro__
        if base.__module__ in CONTAINER_MODULES or not _is_of_standard_library(base)
        if not issubclass(Value, base)
    ]


def elements_of(container: Any) -> list[Any]:
    """The elements of a container, even if its class overrides iteration.

    >>> elements_of({"a": 1.0})
    ['a', 1.0]
    """
    if isinstance(container, dict):
        keys_of: Any = OrderedDict if isinstance(container, OrderedDict) else dict
        return [*keys_of.keys(container), *keys_of.values(container)]
    if isinstance(container, MappingProxyType):
        return [*container, *container.values()]
    kind: Any = next(kind for kind in (*MUTABLE, *FROZEN, *VIEWS) if isinstance(container, kind))
    return [*kind.__iter__(container)]


@functools.lru_cache(maxsize=100)
def _slots(kind: type) -> list[str]:
    members = chain.from_iterable(vars(base).items() for base in kind.__mro__)
    return [name for name, member in members if type(member) is MemberDescriptorType]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


def _is_installed(file: str | None) -> bool:
    # Whether users do not edit this file: it belongs to Python, to this package, or to a library.
    known = (STANDARD_LIBRARY, THIS_PACKAGE)
    return not file or file.startswith(known) or "-packages" + os.sep in file


def _is_of_this_package(kind: type) -> bool:
    return kind.__module__.startswith("micrograd.")


def _is_of_standard_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names
