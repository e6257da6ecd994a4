"""What a compiled function reads of its surroundings, and whether that has changed.

A program holds plain numbers, the structure of the model and the branches taken as they were when
the function was recorded. But people edit: they run the notebook cell again that makes the model,
or set `alpha = 0.1`. So a guard compares, before each call, what the function reads now with what
it read then; if they differ, the function is recorded again.

    >>> alpha = [2.0, 3.0]
    >>> guard = Guard(lambda x: alpha[0] * x)
    >>> guard.holds()
    True
    >>> alpha[0] = 5.0
    >>> guard.holds()
    False

What a function reads is found from its code, without running it: the globals that it names, its
closure and its defaults, and from there the items of containers, the content of arrays, and those
attributes whose names are loaded by this function or by one that it can reach.

The comparison precedes every call, so it has to be fast. Most of it is a single == between lists of
lists, which Python evaluates in C. Modules count how often their attributes are set, which saves
looking at each of them.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from operator import attrgetter, is_, itemgetter, methodcaller
from types import (
    BuiltinMethodType,
    CodeType,
    DynamicClassAttribute,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from micrograd.compiler.parameters import Elsewhere
from micrograd.engine import Value
from micrograd.nn import Module

PLAIN = {  # for these types == tells all; an object of a subclass may have attributes as well
    *(int, float, complex, bool, str, bytes, type(None), type(...), range, slice, CodeType),
    *(set(np.sctypeDict.values()) - {np.object_, np.void}),
}
MUTABLE, FROZEN = (list, dict, set, deque), (tuple, frozenset)
VIEWS: tuple[type, ...] = (MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))
BUFFERS = (bytearray, memoryview, array)
LOADS = {
    "LOAD_GLOBAL": "globals",
    "LOAD_NAME": "globals",
    "LOAD_ATTR": "attributes",
    "LOAD_METHOD": "attributes",
    "LOAD_SUPER_ATTR": "attributes",
    "IMPORT_FROM": "attributes",
    "IMPORT_NAME": "modules",
}
STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
THIS_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
COMPUTES_NAMES = {
    *("getattr", "hasattr", "vars", "dir", "attrgetter", "__dict__", "__getattribute__"),
    *("asdict", "astuple", "getmembers", "deepcopy"),
}
RESULT = object()  # stands for any result of an operation: each run of the function makes a new one

Probe = Callable[[Any], tuple[Any, ...]]


class Guard:
    """A snapshot of what a function reads of its surroundings.

    Attributes:
        values: the leaves among it.

    >>> w = Value(2.0)
    >>> guard = Guard(lambda x: 3.0 * w * x * alpha)
    >>> alpha = 0.5
    >>> guard.values == [w], guard.holds(), 0.5 in Guard(lambda x: alpha * x).numbers
    (True, False, True)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        found = _Search(function)
        self.values = found.values
        self._probes = [(probe, thing, _expected(probe(thing))) for probe, thing in found.probes()]
        self._containers = found.containers
        self._contents = [container.copy() for container in found.containers]
        self._dicts = [container for container in found.containers if type(container) is dict]
        self._orders = [*map(tuple, self._dicts)]
        self._objects = [_Attributes(thing, found.names_in(thing)) for thing in found.objects()]
        self._modules = [_Attributes(thing, found.names_in(thing)) for thing in found.modules()]
        self._edits = Module.edits
        self._collect()

    def _collect(self) -> None:
        # Those of objects other than modules, so that a single == compares all their attributes;
        # objects that hold an array, say, are compared one by one.
        together = [attributes for attributes in self._objects if attributes.copy is not None]
        self._references = [attributes.reference for attributes in together]
        self._kinds = [attributes.kind for attributes in together]
        self._copies = [attributes.copy for attributes in together]
        self._alone = [attributes for attributes in self._objects if attributes.copy is None]

    @property
    def numbers(self) -> list[Any]:
        """The plain numbers among what is read by name."""
        by_name = [expected for _, _, expected in self._probes if isinstance(expected, tuple)]
        by_name += [attributes.expected for attributes in (*self._objects, *self._modules)]
        return [x for things in by_name for x in things if isinstance(x, (int, float, complex))]

    def holds(self) -> bool:
        """Whether everything that the function reads is what it was."""
        try:
            if self._containers != self._contents:
                return False
            if self._dicts and [*map(tuple, self._dicts)] != self._orders:
                return False
            for probe, thing, expected in self._probes:
                if probe(thing) != expected:
                    return False
            if self._edits != Module.edits:
                edits = Module.edits
                if not all(attributes.hold() for attributes in self._modules):
                    return False
                self._edits = edits
            if self._alone and not all(attributes.hold() for attributes in self._alone):
                return False
            if self._references:
                things = [reference() for reference in self._references]
                kinds, namespaces = [*map(_kind, things)], [*map(_namespace, things)]
                if kinds != self._kinds or namespaces != self._copies:
                    if not all(attributes.hold() for attributes in self._objects):
                        return False
                    self._collect()
        except Exception:  # a name is gone, or there is an array instead of a number
            return False
        return True


class _Attributes:
    """The attributes of an object that are loaded by name.

    Attributes:
        reference: to the object, whom its own compiled method should not keep alive.
        kind: its class; people assign to `__class__`.
        copy: all of its attributes; None if comparing with it would not tell.
        expected: names and values of those that are loaded.
    """

    def __init__(self, thing: Any, names: Collection[str]) -> None:
        self.reference = _reference(thing)
        self.kind = _kind(thing)
        self._names = names
        self._remember()

    def _remember(self) -> None:
        namespace = _namespace(self.reference())
        self.copy = namespace.copy() if _equality_tells(namespace) else None
        self.expected = self._loaded()

    def _loaded(self) -> tuple[Any, ...]:
        namespace = _namespace(self.reference())
        names = [name for name in namespace if name in self._names]
        return (*names, *(_without_graph(namespace[name]) for name in names))

    def hold(self) -> bool:
        """Whether they are what they were; others, which are not loaded, may have changed."""
        if _kind(self.reference()) is not self.kind:
            return False
        if self.copy is not None and _namespace(self.reference()) == self.copy:
            return True
        if not _are_same(self._loaded(), self.expected):
            return False
        if self.copy is not None:
            self._remember()
        return True


class _AllNames(frozenset[str]):
    """The names of attributes that code may load which computes names, as with getattr()."""

    def __contains__(self, _: object) -> bool:
        return True


ALL_NAMES = _AllNames()


class _Search:
    """What a function can reach by the names in its code, and in the code of all it uses."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.values: list[Value] = []
        self.containers: list[Any] = []  # those that one == compares
        self._probes: list[tuple[Probe, Any]] = []
        self._objects: list[Any] = []
        self._classes: dict[type, None] = {}
        self._namespaces: dict[int, tuple[dict[str, Any], set[str]]] = {}  # of globals, by address
        self._modules: list[ModuleType] = []
        self._explicit: set[str] = set()
        self._are_computed = False
        self._are_computed_in_modules = False
        self._seen: dict[int, Any] = {}  # by address; kept, so that no address is used twice
        self._waiting: deque[Any] = deque([function])
        known: Any = None
        while known != (known := self._extent()):
            while self._waiting:
                self._visit(self._waiting.popleft())
            for module in self._modules:
                present = [name for name in vars(module) if name in self.names_in(module)]
                self._read(vars(module), (*present, *self._explicit, "__getattr__"))
            for thing in self._objects:
                self._waiting += self._attributes_of(thing)
            for base in dict.fromkeys(chain.from_iterable(map(_bases, self._classes))):
                self._waiting += [vars(base)[name] for name in self._loaded_from(base)]

    def _extent(self) -> tuple[int, ...]:
        are_computed = self._are_computed, self._are_computed_in_modules
        return len(self._seen), len(self._explicit), *are_computed

    def names_in(self, thing: Any) -> Collection[str]:
        """The names of attributes of this object that are loaded."""
        if issubclass(type(thing), Module):
            are_computed = self._are_computed or self._are_computed_in_modules
        else:  # an optimizer, say, which counts its steps
            are_computed = self._are_computed and not _is_ours(type(thing))
        return ALL_NAMES if are_computed else self._explicit

    def _visit(self, thing: Any) -> None:
        if type(thing) in PLAIN or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if type(thing) in weakref.ProxyTypes:
            self._waiting.append(thing.__init__.__self__)  # what it stands for
        elif isinstance(thing, Value):
            if _kind(thing) is not Value:
                self._classes[_kind(thing)] = None
            if not thing._prev:
                self.values.append(thing)
                if vars(thing).keys() - {"label"}:  # users hang attributes on Values
                    self._objects.append(thing)
        elif isinstance(thing, FunctionType):
            self._visit_function(thing)
        elif isinstance(thing, np.ndarray):
            self._probes.append((_content, thing))
            self._waiting += thing.ravel().tolist() if thing.dtype.hasobject else []
            self._objects += [thing] if _namespace(thing) else []
        elif isinstance(thing, ModuleType):
            self._modules += [] if _is_installed(vars(thing).get("__file__")) else [thing]
        elif isinstance(thing, type):
            self._classes.update(dict.fromkeys((thing, type(thing))))
            for base in _bases(thing):
                self._waiting += [vars(base).get(name) for name in CREATION]
        else:
            self._visit_object(thing)

    def _visit_function(self, function: FunctionType) -> None:
        code = function.__code__
        loaded = _loaded(code)
        self._explicit.update(loaded.attributes)
        if loaded.computes_names:  # in this package, parameters() does so, with those of modules
            self._are_computed |= not code.co_filename.startswith(THIS_PACKAGE)
            self._are_computed_in_modules |= function.__module__ == Module.__module__
        self._waiting.append(vars(function).get("__wrapped__"))
        cells = tuple(filter(_is_filled, function.__closure__ or ()))
        if _is_installed(code.co_filename):  # its globals are not the user's, who may decorate
            self._waiting += _cell_contents(cells)
            return
        self._probes.append((attrgetter("__code__", "__defaults__", "__kwdefaults__"), function))
        self._waiting += [*(function.__defaults__ or ()), function.__kwdefaults__]
        self._waiting += [sys.modules.get(name) for name in loaded.modules]
        self._read(function.__globals__, loaded.globals)
        self._probes += [(attrgetter("cell_contents", "cell_contents"), cell) for cell in cells]
        self._waiting += _cell_contents(cells)

    def _read(self, namespace: dict[str, Any], names: Iterable[str]) -> None:
        _, known = self._namespaces.setdefault(id(namespace), (namespace, set()))
        self._waiting += [namespace[n] for n in names if n not in known and n in namespace]
        known.update(names)

    def _visit_object(self, thing: Any) -> None:
        if isinstance(thing, MUTABLE) and _equality_tells(thing):
            self.containers.append(thing)
        elif isinstance(thing, (*MUTABLE, *VIEWS)):
            self._probes.append((_items, thing))
        elif isinstance(thing, BUFFERS):
            self._probes.append((_bytes, thing))
        elif isinstance(thing, (attrgetter, methodcaller)):
            self._are_computed = True
        if isinstance(thing, (*MUTABLE, *FROZEN, *VIEWS)):
            self._waiting += _elements(thing)
        self._waiting += [getattr(thing, part, None) for part in PARTS.get(type(thing), ())]
        self._waiting.append(_namespace(thing).get("__wrapped__"))  # as a compiled function has
        if isinstance(thing, weakref.ref):
            self._waiting.append(thing())
        if not type(thing).__module__.startswith("micrograd.compiler."):
            self._objects.append(thing)
            self._classes[type(thing)] = None

    def _attributes_of(self, thing: Any) -> list[Any]:
        namespace = _namespace(thing)
        names = self.names_in(thing)
        values = [namespace[name] for name in namespace if name in names]
        return values + [object.__getattribute__(thing, name) for name in self._slots_of(thing)]

    def _slots_of(self, thing: Any) -> list[str]:
        kind: Any = type(thing)
        names = () if isinstance(thing, Value) else _slots(kind)
        loaded = self.names_in(thing)
        return [name for name in names if name in loaded and hasattr(thing, name)]

    def _loaded_from(self, base: type) -> list[str]:
        is_fixed = not self._are_computed or _is_ours(base) or _is_standard(base)
        names = self._explicit if is_fixed else ALL_NAMES
        return [
            name
            for name in vars(base)
            if (name not in NOT_IMPLICIT if name.startswith("__") else name in names)
        ]

    def objects(self) -> list[Any]:
        """The objects other than modules."""
        found = [thing for thing in self._objects if not _counts_edits(thing)]
        return [t for t in found if _namespace(t) is not NO_ATTRIBUTES or _bases(type(t))]

    def modules(self) -> list[Any]:
        """The modules that count how often their attributes are set."""
        return [thing for thing in self._objects if _counts_edits(thing)]

    def probes(self) -> Iterator[tuple[Probe, Any]]:
        """Functions, each with its argument, whose results should stay what they are."""
        yield from self._probes
        for namespace, names in self._namespaces.values():
            if present := [name for name in names if name in namespace]:
                yield itemgetter(*present, present[0]), namespace  # two names make it a tuple
            if absent := names.difference(present):  # built-in functions, as a rule
                yield functools.partial(_has_none, absent), namespace
        for thing in self._objects:
            if slots := self._slots_of(thing):
                yield functools.partial(_read_from, attrgetter(*slots, slots[0])), _reference(thing)
        for kind in self._classes:
            if not (bases := _bases(kind)):
                continue
            names = set(chain.from_iterable(map(self._loaded_from, bases)))
            # What a class answers, since a subclass may come to hide what its base has. But some
            # answers, as a class method, are made anew each time.
            stable = [n for n in sorted(names) if not _is_computed(kind, n)]
            yield attrgetter(*(stable or ["__mro__"]), "__mro__"), kind
            for base in bases:
                own = vars(base)
                loaded = self._loaded_from(base)
                # Those, and what is hidden, which super() may read.
                others = [n for n in loaded if n not in stable or getattr(kind, n) is not own[n]]
                if others:
                    yield itemgetter(*others, others[0]), own
                absent = names.difference(loaded, stable)
                if absent and base is not bases[-1]:
                    yield functools.partial(_has_none, absent), own


class _Identical:
    """Equal to a tuple of the very same objects, or of equal plain numbers and texts."""

    def __init__(self, things: tuple[Any, ...]) -> None:
        self.things = things

    def __eq__(self, others: Any) -> bool:
        return _are_same(self.things, others)

    __hash__ = None  # type: ignore[assignment]


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("micrograd.")


def _counts_edits(thing: Any) -> bool:
    setter: Any = type(thing).__setattr__
    return setter is Module.__setattr__


def _expected(things: tuple[Any, ...]) -> Any:
    return things if _equality_tells(things) else _Identical(things)


def _are_same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    if len(some) != len(others):
        return False
    return all(map(is_, some, others)) or all(map(_is_same, some, others))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in PLAIN and bool(a == b))


def _equality_tells(thing: Any) -> bool:
    # Whether == would notice that anything in it was replaced. Two objects that say that they are
    # equal may be changed apart later.
    waiting, seen = [thing], set[int]()
    while waiting:
        part = waiting.pop()
        kind = type(part)
        if kind in (*MUTABLE, *FROZEN):
            if id(part) not in seen:
                seen.add(id(part))
                waiting += _elements(part)
        elif isinstance(part, Value) and kind not in weakref.ProxyTypes:
            if part._prev:
                return False
        elif kind not in PLAIN and kind is not BuiltinMethodType:
            equality: Any = kind.__eq__
            if equality is not object.__eq__:
                return False
    return True


def _elements(container: Any) -> Iterable[Any]:
    # As they are: a subclass may iterate over something else.
    if isinstance(container, dict):
        keys_of: Any = OrderedDict if isinstance(container, OrderedDict) else dict
        return [*keys_of.keys(container), *keys_of.values(container)]
    if isinstance(container, MappingProxyType):
        return [*container, *container.values()]
    kind: Any = next(kind for kind in (*MUTABLE, *FROZEN, *VIEWS) if isinstance(container, kind))
    return [*kind.__iter__(container)]


def _items(container: Any) -> tuple[Any, ...]:
    return tuple(map(_without_graph, _elements(container)))


def _without_graph(thing: Any) -> Any:
    return RESULT if isinstance(thing, Value) and thing._prev else thing


def _content(array: Any) -> tuple[Any, ...]:
    if array.dtype.hasobject:
        return (*array.shape, *array.ravel().tolist())
    return (*array.shape, array.dtype.str, array.tobytes())


def _bytes(buffer: Any) -> tuple[bytes]:
    return (bytes(memoryview(buffer)),)


def _reference(thing: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(thing)
    except TypeError:  # an object with slots may have no place for weak references
        return lambda: thing


def _read_from(read: Probe, reference: Callable[[], Any]) -> tuple[Any, ...]:
    return read(reference())


def _kind(thing: Any) -> Any:
    # That of a parameter changes while it is recorded, and when it moves.
    kind = type(thing)
    if issubclass(kind, Elsewhere):
        return next(base for base in kind.__mro__ if not issubclass(base, Elsewhere))
    return kind


def _namespace(thing: Any) -> dict[str, Any]:
    try:
        found = vars(thing)
    except Exception:  # what a __getattr__ of the user raises may be anything
        return NO_ATTRIBUTES
    return found if isinstance(found, dict) else NO_ATTRIBUTES


def _is_computed(kind: type, name: str) -> bool:
    # Whether looking it up in the class runs code, or makes a new object.
    found = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    return not isinstance(found, (FunctionType, property)) and hasattr(type(found), "__get__")


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


def _cell_contents(cells: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(attrgetter("cell_contents"), cells))


def _has_none(names: Collection[str], namespace: dict[str, Any]) -> tuple[bool]:
    return (namespace.keys().isdisjoint(names),)


def _is_installed(file: str | None) -> bool:
    # The standard library, this package, and what pip has installed.
    known = (STANDARD_LIBRARY, THIS_PACKAGE)
    return not file or file.startswith(known) or "-packages" + os.sep in file


def _bases(kind: type) -> list[type]:
    # The classes in which to look for methods: those of a user, modules, and containers.
    return [
        base
        for base in kind.__mro__
        if base.__module__ in CONTAINER_MODULES or not _is_standard(base)
        if not issubclass(Value, base)
    ]


def _is_standard(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


@functools.lru_cache(maxsize=100)
def _slots(kind: type) -> list[str]:
    members = chain.from_iterable(vars(base).items() for base in kind.__mro__)
    return [name for name, member in members if type(member) is MemberDescriptorType]


PARTS: dict[type, tuple[str, ...]] = {  # what these are made of
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
CREATION = ("__new__", "__init__", "__post_init__", "__init_subclass__", "__set_name__")
NOT_IMPLICIT = {  # what else a class has; all other special methods are called without being named
    *CREATION,
    *("__dict__", "__weakref__", "__slots__", "__doc__", "__module__", "__qualname__"),
    *("__annotations__", "__abstractmethods__", "__static_attributes__", "__firstlineno__"),
    *("__parameters__", "__orig_bases__", "__match_args__", "__del__", "__dir__"),
    *("__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__", "__getstate__"),
    *("__setattr__", "__delattr__", "__setstate__", "__getnewargs__", "__sizeof__"),
    *("__copy__", "__deepcopy__"),
}
CONTAINER_MODULES = ("collections", "weakref", "_weakrefset")  # UserDict, WeakSet and the like
NO_ATTRIBUTES: dict[str, Any] = {}


class _Loaded(NamedTuple):
    """The names that some code loads, and whether it computes names of attributes."""

    globals: Collection[str]
    attributes: Collection[str]
    modules: Collection[str]
    computes_names: bool


@functools.lru_cache(maxsize=1000)
def _loaded(code: CodeType) -> _Loaded:
    names: dict[str, dict[str, None]] = {kind: {} for kind in LOADS.values()}  # in their order
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
    if computes_names:  # from these, as a rule, also where no such attribute is there yet
        names["attributes"].update(dict.fromkeys(texts))
    return _Loaded(**names, computes_names=computes_names)
