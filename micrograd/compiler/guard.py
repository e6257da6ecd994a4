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
the globals and attributes that it loads. From the function it follows its globals, its closure and
its defaults, then items of containers, elements of arrays, and attributes whose names are loaded by
any function found so far, until nothing new turns up.

The comparison runs before every call, so most of it is done by a few == of lists, in C. nn.Module
counts assignments to attributes; while the count stays the same, modules need not be compared.
"""

from __future__ import annotations

import dis
import gc
import inspect
import os
import pickle
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache, partial
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
from micrograd.core.node import Node
from micrograd.core.tracing import Traced
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
PARTS = MethodType, partial, cached_property, property, staticmethod, classmethod
# Python calls special methods without naming them, so they all count as loaded, except for those
# that show an object, or list its attributes. Methods that create one count only if the class
# itself is found.
SHOWING = {"__repr__", "__str__", "__format__", "__static_attributes__"}
CREATION = {"__new__", "__init__", "__post_init__"}
# Methods of nn.Module that go through all attributes.
GO_THROUGH_ALL = {"parameters", "named_parameters", "named_modules", "state_dict", "zero_grad"}

# What has a state from which random numbers come; and the two that are always there, with names.
GENERATORS = random.Random, np.random.Generator, np.random.RandomState
GLOBAL_GENERATORS: dict[str, Any] = {
    "Python's random": random.random.__self__,  # type: ignore[attr-defined]
    "np.random": np.random.mtrand._rand,
}

NOT_EDITED = tuple(  # folders: the standard library, this package
    os.path.dirname(os.path.abspath(file)) + os.sep
    for file in (os.__file__, sys.modules["micrograd"].__file__ or "")
)
RESULT = object()  # replaces results of operations in comparisons: each run creates new ones
FUNCTION = attrgetter("__code__", "__defaults__", "__kwdefaults__")
CONTENTS = attrgetter("cell_contents", "cell_contents")  # a tuple, as other reads return
Read = tuple[Callable[[Any], Any], Any]  # a function and its argument


class Guard:
    """What a function reads from outside, as it is now.

    Attributes:
        values: the leaves of graphs that it may use: its parameters are among them.
        generators: the generators of random numbers that it may use.
        reads_optimizer: whether it reads an attribute of an optimizer, such as `lr`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: Sequence[Value] = (),
        arguments: Sequence[Any] = (),
    ) -> None:
        walk = _Walk(function, *arguments)
        self.values, self.reads_optimizer = walk.values, walk.reads_optimizer
        self.generators = walk.generators
        self._elements = walk.elements  # no other object gets the address of one of them
        self._leaves = {*walk.values, *parameters}
        self._freezes, self._frozen = Node.freezes, self._frozen_leaves()
        self._containers = walk.containers
        self._copies = [container.copy() for container in walk.containers]
        self._reads, self._expected = _results(walk.reads)
        self._of_modules, self._expected_of_modules = _results(walk.of_modules)
        self._edits = Module.edits

    def holds(self) -> bool:
        """Whether everything that the function reads is unchanged."""
        try:
            if self._containers != self._copies or [*map(call, *self._reads)] != self._expected:
                return False
            if self._freezes != Node.freezes:
                freezes = Node.freezes
                if self._frozen_leaves() != self._frozen:
                    return False
                self._freezes = freezes
            if self._edits != Module.edits:
                edits = Module.edits
                if [*map(call, *self._of_modules)] != self._expected_of_modules:
                    return False
                self._edits = edits
            return True
        except Exception:  # a name has been deleted, or a number has become an array
            return False

    def _frozen_leaves(self) -> set[Value]:
        return {v for v in self._leaves if not v.requires_grad}


def objects_of(function: Callable[..., Any]) -> list[Any]:
    """The objects that a function can reach, apart from Values."""
    return _Walk(function)._objects


def _results(reads: Sequence[Read]) -> tuple[Any, list[Any]]:
    # Functions and their arguments, and the results, which must not change.
    pairs: Any = [*zip(*reads, strict=True)] or ((), ())
    return pairs, [x if _equality_tells(x) else _Identical(x) for x in map(call, *pairs)]


class _Walk:
    """Everything that a function can reach through names in its code and in the code that it calls.

    Attributes:
        values: Values that are leaves.
        containers: what may get other items, and == tells.
        generators: of random numbers.
        reads, of_modules: functions and their arguments, whose results must not change. Those of
            modules need not be compared unless an attribute of some module is set.
        elements: of arrays of objects.
        reads_optimizer: whether an attribute of an optimizer is among the reads.
    """

    def __init__(self, *things: Any) -> None:
        self.values: list[Value] = []
        self.containers: list[Any] = []
        self.generators: list[Any] = []
        self.elements: list[list[Any]] = []
        self.reads: list[Read] = []
        self.of_modules: list[Read] = []
        self.reads_optimizer = False
        self._names: set[str] = set()  # attribute names that code loads
        self._texts: set[str] = set()  # what may be such a name in a call of getattr
        self._calls_getattr = False
        # Namespaces of functions and objects by id, the names that code loads, and the object.
        self._namespaces: dict[int, tuple[Any, set[str], Any]] = {}
        self._objects: list[Any] = []
        self._classes: dict[type, bool] = {}  # whether code may create objects of the class
        self._seen: dict[int, Any] = {}  # objects by id, kept so that no id is reused
        self._waiting: deque[Any] = deque(things)
        known = None
        while known != (known := (len(self._seen), len(self._names))):
            while self._waiting:
                self._visit(self._waiting.popleft())
            if self._calls_getattr:
                self._names |= self._texts
            self._follow_attributes()
        self._remember()

    def _visit(self, thing: Any) -> None:
        if type(thing) is str and thing.isidentifier():
            self._texts.add(thing)
        if type(thing) in PLAIN or isinstance(thing, Traced) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, Value):
            if (kind := class_of(thing)) is not Value:
                self._classes.setdefault(kind, False)
            if not thing._prev:
                self.values.append(thing)
                if vars(thing).keys() - {"label"}:  # users may add attributes to Values
                    self._objects.append(thing)
        elif isinstance(thing, FunctionType):
            self._visit_function(thing)
        elif isinstance(thing, ModuleType):
            # a folder without an __init__.py has a path instead of a file
            file = vars(thing).get("__file__") or next(iter(vars(thing).get("__path__", ())), None)
            self._objects += [] if _is_installed(file) else [thing]
        elif isinstance(thing, type):
            self._classes[thing] = True
        elif isinstance(thing, np.ndarray):
            self.reads.append((_content, thing))
            if thing.dtype.hasobject:
                elements = thing.ravel().tolist()
                self.elements.append(elements)
                self._waiting += elements
            self._objects.append(thing)
        else:
            if isinstance(thing, GENERATORS) and not isinstance(thing, random.SystemRandom):
                self.generators.append(thing)
            if isinstance(thing, CONTAINERS):
                self._waiting += _elements_of(thing)
                if not isinstance(thing, (tuple, frozenset)):
                    self._watch(thing)
            self._waiting += gc.get_referents(thing) if isinstance(thing, PARTS) else []
            self._waiting.append(_namespace_of(thing).get("__wrapped__"))  # of a compiled function
            if not isinstance(thing, MethodType):  # a new object on each access
                self._objects.append(thing)
                if type(thing).__module__ != "micrograd.compiler.function":
                    self._classes.setdefault(type(thing), False)

    def _visit_function(self, function: FunctionType) -> None:
        loaded = _loaded(function.__code__)
        self._names.update(loaded["attributes"])
        self._texts.update(loaded["texts"])
        self._calls_getattr |= not {"getattr", "hasattr"}.isdisjoint(loaded["globals"])
        self._waiting.append(vars(function).get("__wrapped__"))
        cells = [cell for cell in function.__closure__ or () if _is_filled(cell)]
        self._waiting += [cell.cell_contents for cell in cells]
        if _is_installed(function.__code__.co_filename):  # perhaps a decorator: it calls user code
            return
        self.reads += [(FUNCTION, function), *((CONTENTS, cell) for cell in cells)]
        self._objects += [function] if vars(function) else []
        self._waiting += [*(function.__defaults__ or ()), function.__kwdefaults__]
        self._waiting += [sys.modules.get(name) for name in loaded["modules"]]
        self._read(function.__globals__, loaded["globals"])

    def _read(self, namespace: Any, names: Iterable[str], owner: Any = None) -> None:
        _, known, _ = self._namespaces.setdefault(id(namespace), (namespace, set(), owner))
        self._waiting += [namespace[n] for n in names if n not in known and n in namespace]
        known.update(names)

    def _follow_attributes(self) -> None:
        for thing in self._objects:
            namespace = _namespace_of(thing)
            self._read(namespace, namespace if self._is_whole(thing) else self._names, thing)
            self._waiting += [getattr(thing, name) for name in self._slots(thing)]
        for kind, creates in self._classes.items():
            left_out = SHOWING if creates else SHOWING | CREATION
            for base in _bases_of(kind):
                for name, thing in vars(base).items():
                    if name in self._names or (name.startswith("__") and name not in left_out):
                        self._waiting.append(thing)

    def _watch(self, container: Any) -> None:
        if _equality_tells(container):
            self.containers.append(container)
        else:
            self.reads.append((_items, container))

    def _is_whole(self, thing: Any) -> bool:
        return isinstance(thing, Module) and not GO_THROUGH_ALL.isdisjoint(self._names)

    def _slots(self, thing: Any) -> list[str]:
        if isinstance(thing, (Value, FunctionType)):
            return []
        kind: Any = type(thing)
        return [n for n in _slots_of(kind) if n in self._names and hasattr(thing, n)]

    def _remember(self) -> None:
        # All names are known now, so what counts can be compared later.
        for namespace, names, owner in self._namespaces.values():
            setter: Any = type(owner).__setattr__
            reads = self.of_modules if setter is Module.__setattr__ else self.reads
            if self._is_whole(owner):
                reads.append((_items, namespace))
                continue
            present = [name for name in namespace if name in names]
            if counted := [name for name in present if not _is_result(namespace[name])]:
                reads.append((itemgetter(*counted, counted[0]), namespace))  # a tuple
            if absent := names.difference(present):  # usually built-in functions
                reads.append((namespace.keys().isdisjoint, absent))
            self.reads_optimizer |= bool(present) and isinstance(owner, Optimizer)
        for thing in self._objects:
            if slots := self._slots(thing):
                self.reads.append((attrgetter(*slots, slots[0]), thing))
        for base in {base for kind in self._classes for base in _bases_of(kind)}:
            if not _is_library(base):
                self._watch(vars(base))


class _Identical(tuple[Any, ...]):
    """Equals a tuple of the same objects; plain numbers and strings only need to be equal."""

    def __eq__(self, others: Any) -> bool:
        if len(self) != len(others):
            return False
        return all(map(is_, self, others)) or all(
            a is b or (type(a) is type(b) and type(a) in PLAIN and a == b)
            for a, b in zip(self, others, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


def _equality_tells(thing: Any) -> bool:
    # Whether == detects every replacement in a container. It does not if the class of some item
    # defines __eq__: the item could be replaced by an equal one that changes later.
    if type(thing) not in EQUAL_IF_PARTS_ARE | {MappingProxyType}:
        return False
    items = _elements_of(thing) if type(thing) not in PLAIN else []
    kinds: Any = set(map(type, items))
    if any(kind.__eq__ not in (object.__eq__, tuple.__eq__) for kind in kinds - EQUAL_IF_PARTS_ARE):
        return False
    return not any(map(_is_result, items))


def _is_result(x: Any) -> bool:
    return isinstance(x, Value) and bool(x._prev)


def _items(container: Any) -> tuple[Any, ...]:
    # Results of operations do not count: each run creates new ones.
    return tuple([RESULT if _is_result(x) else x for x in _elements_of(container)])


@lru_cache(maxsize=1000)
def _loaded(code: CodeType) -> dict[str, dict[str, None]]:
    # The names that a piece of code loads.
    names: dict[str, dict[str, None]] = {kind: {} for kind in LOADS.values()}  # ordered sets
    names["texts"] = {}
    waiting = [code]
    while waiting:
        code = waiting.pop()
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
        for step in dis.get_instructions(code):
            if kind := LOADS.get(step.opname):
                names[kind][step.argval] = None
        parts = [x for c in code.co_consts for x in (c if isinstance(c, tuple) else [c])]
        names["texts"].update((x, None) for x in parts if isinstance(x, str) and x.isidentifier())
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


@lru_cache(maxsize=100)
def _slots_of(kind: type) -> list[str]:
    members = [item for base in kind.__mro__ for item in vars(base).items()]
    return [name for name, member in members if type(member) is MemberDescriptorType]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


def _content(array: Any) -> tuple[Any, ...]:
    return (*array.shape, array.dtype.str, array.tobytes())  # of objects, the addresses


def _is_installed(file: str | None) -> bool:
    # Whether users do not edit this file: it belongs to Python, to this package, or to a library.
    return not file or file.startswith(NOT_EDITED) or "-packages" + os.sep in file


def _is_library(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    # `__main__` may be a notebook that a library started.
    return kind.__module__ != "__main__" and bool(file) and _is_installed(file)


# ---- random numbers, which would be the same in every call


def states_of(generators: Sequence[Any]) -> list[tuple[Any, object]]:
    """The states of these generators and of the two global ones, before the function runs."""
    return [(g, _state(g)) for g in (*GLOBAL_GENERATORS.values(), *generators)]


def check_unused(states: list[tuple[Any, object]], function: Callable[..., Any]) -> None:
    """Raises a ValueError if a generator was used since."""
    for generator, state in states:
        if _state(generator) != state:
            found = inspect.getclosurevars(function) if inspect.isfunction(function) else None
            names = [found.nonlocals, found.globals] if found else []
            known = [pair for some in (GLOBAL_GENERATORS, *names) for pair in some.items()]
            kind = f"a generator of the class {type(generator).__name__}"
            name = next((name for name, x in known if x is generator), kind)
            fix = "but would use the same numbers in every call: pass them as an argument"
            raise ValueError(f"the function draws from {name}, {fix}")


def _state(generator: Any) -> object:
    if isinstance(generator, random.Random):
        return generator.getstate()
    is_old = isinstance(generator, np.random.RandomState)
    return pickle.dumps(generator.get_state() if is_old else generator.bit_generator.state)
