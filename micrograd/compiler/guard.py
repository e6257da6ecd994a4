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

`dependencies.py` finds the things to compare. The comparison must be fast, because it runs before
every call. Most of it is a single == between lists of lists, which Python evaluates in C. nn.Module
counts assignments to attributes; while the count stays the same, modules need not be compared.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from operator import attrgetter, call, is_, itemgetter
from types import BuiltinMethodType, FunctionType
from typing import Any

from micrograd.compiler.dependencies import (
    FROZEN,
    MUTABLE,
    NO_ATTRIBUTES,
    PLAIN,
    Dependencies,
    bases_of,
    elements_of,
    namespace_of,
)
from micrograd.compiler.parameters import class_of
from micrograd.engine import Value
from micrograd.module import Module
from micrograd.optim import Optimizer

CONTAINERS = {*MUTABLE, *FROZEN}  # without their subclasses
EQUAL_IF_PARTS_ARE = {*PLAIN, *CONTAINERS, BuiltinMethodType}
RESULT = object()  # replaces results of operations in comparisons: each run creates new ones

NAMESPACE, CODE = map(attrgetter, ("__dict__", "__code__"))
CONTENTS = attrgetter("cell_contents", "cell_contents")  # a tuple, as other probes return
DEFAULTS = attrgetter("__defaults__", "__kwdefaults__")

Probe = Callable[[Any], Any]


class Guard:
    """A snapshot of what a function reads from outside.

    Attributes:
        reads_optimizer: whether that includes an attribute of an optimizer, such as `lr`.

    >>> guard = Guard(lambda x: alpha * x)
    >>> alpha = 0.5
    >>> guard.holds(), 0.5 in Guard(lambda x: alpha * x).numbers
    (False, True)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        found = Dependencies(function)
        self._functions = found.functions
        self._codes = [*map(CODE, found.functions)]
        self._containers: list[Any] = []
        self._contents: list[Any] = []
        self._probes: list[Probe] = []
        self._things: list[Any] = []
        self._expected: list[Any] = []
        for thing in found.containers:
            if isinstance(thing, MUTABLE) and _equality_tells(thing):
                self._containers.append(thing)
                self._contents.append(thing.copy())
                if type(thing) is dict:
                    self._remember(list, thing)  # the order counts, too
            else:
                self._remember(_items, thing)
        for probe, thing in _probes(found):
            self._remember(probe, thing)
        with_attributes = [x for x in found.objects if namespace_of(x) is not NO_ATTRIBUTES]
        attributes = [_Attributes(thing, found.names_in(thing)) for thing in with_attributes]
        self._nn_modules = [a for a in attributes if a.are_counted]
        self._objects = [a for a in attributes if not a.are_counted]
        self._edits = Module.edits
        optimizers = [a for a in self._objects if issubclass(a.kind, Optimizer)]
        self.reads_optimizer = any(a.expected for a in optimizers)
        self._collect()

    def _remember(self, probe: Probe, thing: Any) -> None:
        result = probe(thing)
        self._probes.append(probe)
        self._things.append(thing)
        self._expected.append(result if _equality_tells(result) else _Identical(result))

    def _collect(self) -> None:
        # Comparing two pairs of lists checks the classes and attributes of many objects at once.
        # Objects for which == is not enough, such as those with an array, are checked one by one.
        self._alone = [attributes for attributes in self._objects if attributes.copy is None]
        together = [attributes for attributes in self._objects if attributes.copy is not None]
        self._references = [attributes.reference for attributes in together]
        self._kinds = [attributes.kind for attributes in together]
        self._copies = [attributes.copy for attributes in together]

    @property
    def numbers(self) -> list[Any]:
        """The plain numbers that the function reads from variables and attributes."""
        by_name = [expected for expected in self._expected if isinstance(expected, tuple)]
        by_name += [attributes.expected for attributes in (*self._objects, *self._nn_modules)]
        return [x for things in by_name for x in things if isinstance(x, (int, float, complex))]

    def holds(self) -> bool:
        """Whether everything that the function reads is unchanged."""
        try:
            if self._containers != self._contents:
                return False
            if [*map(CODE, self._functions)] != self._codes:
                return False
            if [*map(call, self._probes, self._things)] != self._expected:
                return False
            if self._edits != Module.edits:
                edits = Module.edits
                if not all(attributes.hold() for attributes in self._nn_modules):
                    return False
                self._edits = edits
            for attributes in self._alone:
                if not attributes.hold():
                    return False
            if self._references:
                things = [reference() for reference in self._references]
                namespaces = [*map(NAMESPACE, things)]
                if [*map(type, things)] != self._kinds or namespaces != self._copies:
                    if not all(attributes.hold() for attributes in self._objects):
                        return False
                    self._collect()
        except Exception:  # a name has been deleted, or a number has become an array
            return False
        return True


class _Attributes:
    """The attributes of an object that the function loads by name.

    Attributes:
        reference: returns the object; weak, so that a compiled method does not keep it alive.
        kind: its class, which is compared because users may assign to `__class__`.
        copy: a copy of all its attributes, if == with the copy detects every change; else None.
        expected: the names of the loaded attributes, followed by their values.
        are_counted: whether `Module.edits` counts assignments to them.
    """

    def __init__(self, thing: Any, names: Collection[str]) -> None:
        self.reference = _reference(thing)
        self.kind = class_of(thing)
        setter: Any = type(thing).__setattr__
        self.are_counted = setter is Module.__setattr__
        self._names = names
        self._remember()

    def _remember(self) -> None:
        thing = self.reference()
        namespace = namespace_of(thing)
        can_tell = type(thing) is self.kind and _equality_tells(namespace)
        self.copy = namespace.copy() if can_tell else None
        self._all_names = [*namespace]
        self.expected = self._loaded()
        loaded = self.expected[: len(self.expected) // 2]
        self._read = itemgetter(*loaded, loaded[0]) if loaded else _nothing
        self._values = self._read(namespace)

    def _loaded(self) -> tuple[Any, ...]:
        namespace = namespace_of(self.reference())
        names = [name for name in namespace if name in self._names]
        return (*names, *(_without_graph(namespace[name]) for name in names))

    def hold(self) -> bool:
        """Whether the loaded attributes are unchanged; others may have changed."""
        thing = self.reference()
        if type(thing) is not self.kind and class_of(thing) is not self.kind:
            return False
        namespace = NAMESPACE(thing)
        if [*namespace] == self._all_names and all(map(is_, self._read(namespace), self._values)):
            return True
        if not _are_same(self._loaded(), self.expected):
            return False
        self._remember()
        return True


def _probes(found: Dependencies) -> Iterator[tuple[Probe, Any]]:
    """Pairs of a function and an argument; the result of each call must not change."""
    for cell in found.cells:
        yield CONTENTS, cell
    for array in found.arrays:
        yield _content, array
    for buffer in found.buffers:
        yield _bytes, buffer
    for function in found.functions:  # defaults added later are not used: callers pass everything
        if function.__defaults__ or function.__kwdefaults__:
            yield DEFAULTS, function
    for namespace, names in found.namespaces.values():
        if present := [name for name in names if name in namespace]:
            yield itemgetter(*present, present[0]), namespace  # a tuple, even for a single name
        if absent := names.difference(present):  # usually names of built-in functions
            yield namespace.keys().isdisjoint, absent
    for thing in found.objects:
        if namespace_of(thing) is NO_ATTRIBUTES and bases_of(type(thing)):
            yield _reading(type, thing)
        if slots := found.slots(thing):
            yield _reading(attrgetter(*slots, slots[0]), thing)
    for kind in found.classes:
        yield from _probes_of_class(found, kind)


def _probes_of_class(found: Dependencies, kind: type) -> Iterator[tuple[Probe, Any]]:
    if not (bases := bases_of(kind)):
        return
    names = set(chain.from_iterable(map(found.class_names, bases)))
    # Attributes are read from the class itself, because it may later override those of its bases.
    # But some, such as class methods, are new objects on each access: compare these in the base.
    stable = [n for n in sorted(names) if not _is_computed(kind, n)]
    yield attrgetter(*(stable or ["__mro__"]), "__mro__"), kind
    for base in bases:
        own, loaded = vars(base), found.class_names(base)
        # Overridden attributes are included, because super() may read them.
        others = [n for n in loaded if n not in stable or getattr(kind, n) is not own[n]]
        if others:
            yield itemgetter(*others, others[0]), own
        absent = names.difference(loaded, stable)
        if absent and base is not bases[-1]:
            yield own.keys().isdisjoint, absent


class _Identical:
    """Equals a sequence of the same objects; plain numbers and strings only need to be equal."""

    def __init__(self, things: Sequence[Any]) -> None:
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
    # Whether == detects every replacement inside `thing`. It does not if the class of some object
    # there defines __eq__: the object could be replaced by an equal one that changes later.
    waiting, seen = [[thing]], set[int]()
    while waiting:
        parts = waiting.pop()
        kinds = set(map(type, parts))  # few, even if there are many parts
        others: Any = kinds - EQUAL_IF_PARTS_ARE
        if any(kind.__eq__ is not object.__eq__ for kind in others):
            return False
        for part in parts:
            if isinstance(part, Value):
                if part._prev:
                    return False
            elif type(part) in CONTAINERS and id(part) not in seen:
                seen.add(id(part))
                waiting.append(elements_of(part))
    return True


def _items(container: Any) -> tuple[Any, ...]:
    return tuple(map(_without_graph, elements_of(container)))


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
    except TypeError:  # a tuple, or an object with slots, may not support weak references
        return lambda: thing


def _reading(read: Probe, thing: Any) -> tuple[Probe, Any]:
    reference = _reference(thing)
    if isinstance(reference, weakref.ref):
        return lambda reference: read(reference()), reference
    return read, thing


def _nothing(_: Any) -> tuple[Any, ...]:
    return ()


def _is_computed(kind: type, name: str) -> bool:
    # Whether looking up the name in the class runs code or creates a new object.
    found = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    return not isinstance(found, (FunctionType, property)) and hasattr(type(found), "__get__")
