"""The names of Values: long ones, as one would type them, and short ones for cards.

>>> from micrograd.nn import MLP
>>> model = MLP(1, [2, 1])
>>> names = Names({"model": model})
>>> w = model.layers[1].neurons[0].w[1]
>>> names.label_of[w], names.short(names.label_of[w])
('model.layers[1].neurons[0].w[1]', 'L1.n0.w1')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from micrograd.engine import Value

LETTERS = {"layers": "L", "modules": "M", "neurons": "n", "weight": "w", "bias": "b"}
DEEPEST = 8  # objects inside objects: a model may refer to anything
NUMBERED = re.compile(r"L\d+")  # a layer without a name, as `graph` calls it
PATH = re.compile(r"\w+(\[\w+\])*(\.\w+(\[\w+\])*)+")


class Names:
    """The names that a dict of variables gives to Values and arrays.

    Attributes:
        label_of: the name of each Value: that of a variable, else its place in a model, list or
            array. A list with results of operations gives no names: it may well be a topological
            order, in which every Value would be called topo[7] or so.
        parameters: the Values that a model owns, or that the user declared to be parameters.
        path_of: the path of each parameter in its model, whatever its label.
        arrays: pairs of a name and an array of numbers or Values.

    Args:
        variables: usually `locals()`; names that begin with `_` are ignored.
        parameters: Values, arrays, Modules, or lists of these.

    Raises:
        TypeError: variables is not a mapping, or a parameter is not a Value.
    """

    def __init__(self, variables: Mapping[Any, Any] | None, parameters: Any = ()) -> None:
        if variables is not None and not isinstance(variables, Mapping):
            raise TypeError(
                f"names expects a dict from names to Values, got {type(variables).__name__}: use "
                'names=locals(), or names={"model": model}'
            )
        self.label_of: dict[Value, str] = {}
        self.arrays: list[tuple[str, Any]] = []
        self.parameters = set(values_in(parameters, "parameters"))
        self.path_of: dict[Value, str] = {}
        paths: dict[Value, str] = {}  # of those called by it: the path without the variable
        named = [(str(x), thing) for x, thing in list((variables or {}).items())]
        named = [(name, thing) for name, thing in named if not name.startswith("_")]
        for name, thing in named:
            if isinstance(thing, Value):  # first: a plain name takes precedence
                self.label_of.setdefault(thing, name)
                if "." in name and not thing._prev:  # a path in a model of another engine
                    self.parameters.add(thing)
                    self.path_of.setdefault(thing, name)
        for name, thing in named:
            inside = list(_named(thing, name))
            listed = isinstance(thing, (list, tuple)) and any(value._prev for _, value, _ in inside)
            for label, value, path in inside:
                if not listed:
                    self.label_of.setdefault(value, label)
                if path:
                    self.parameters.add(value)
                    self.path_of.setdefault(value, label)
                    if self.label_of.get(value) == label:
                        paths[value] = path
            self.arrays += _arrays(thing, name)
        short = [_abbreviated(path) for path in paths.values()]
        others = {label for value, label in self.label_of.items() if value not in paths}
        self._distinct = len(set(short)) == len(short) and others.isdisjoint(short)

    def add_parameters_of(self, thing: Any, name: str) -> None:
        """Gives the parameters in an object that has no name of its own their paths as names."""
        for path, value in kept(thing):
            if value.is_leaf and value.requires_grad and value not in self.path_of:
                self.path_of[value] = f"{name}.{path}"
                self.label_of.setdefault(value, f"{name}.{path}")
                self.parameters.add(value)

    def short(self, label: str) -> str:
        """The label of a part of a model, shortened: 'model.layers[0].neurons[1]' to 'L0.n1'.

        The name of the variable is kept if several models have a part with the same short name.

        >>> Names({}).short("net.blocks[0].weight[1][2]"), Names({}).short("x[0]")
        ('blocks0.w1,2', 'x[0]')
        """
        if not PATH.fullmatch(label):
            return label
        variable, _, path = label.partition(".")
        is_clear = self._distinct and not NUMBERED.fullmatch(variable)
        return _abbreviated(path) if is_clear else f"{variable}.{_abbreviated(path)}"


def values_in(things: Any, argument: str) -> list[Value]:
    """The Values in a Value, an array, a Module, or a collection of these.

    Raises:
        TypeError: something in it is not a Value. The message begins with `argument`.

    >>> a, b = Value(1.0), Value(2.0)
    >>> values_in([a, [b]], "highlight") == [a, b]
    True
    """
    found: list[Value] = []
    waiting = [things]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, (list, tuple, set, frozenset)):
            waiting += reversed(list(thing))
            continue
        inside = [value for _, value, _ in _named(thing, "")]
        if not inside:
            raise TypeError(
                f"{argument} expects Values, or lists of Values, got {type(thing).__name__} "
                f"{thing!r:.40}: pass the Values themselves, not their names or data"
            )
        found += inside
    return found


def _abbreviated(path: str) -> str:
    # 'layers[0].neurons[1].w[2]' becomes 'L0.n1.w2'
    parts = [re.findall(r"\w+", part) for part in path.split(".")]
    return ".".join(LETTERS.get(name, name) + ",".join(indices) for name, *indices in parts)


def _named(thing: Any, name: str) -> Iterator[tuple[str, Value, str]]:
    # Triples: a name, a Value, and its path in the model that owns it, or ''.
    if isinstance(thing, Value):
        yield name, thing, ""
    elif is_array(thing):
        if str(thing.dtype) == "object":
            yield from _named(thing.tolist(), name)
    elif isinstance(thing, (list, tuple)):
        for i, entry in enumerate(thing):
            yield from _named(entry, f"{name}[{i}]")
    elif is_model(thing):
        leaves = ((path, v) for path, v in kept(thing) if v.is_leaf and v.requires_grad)
        yield from ((f"{name}.{path}", value, path) for path, value in leaves)


def is_model(thing: Any) -> bool:
    """Whether it has parameters(), or the form of the lecture's classes.

    `parameters` is looked up on the type, so that the class of a model is not one.
    """
    if callable(getattr(type(thing), "parameters", None)):
        return hasattr(thing, "__dict__")
    return not {"w", "neurons", "layers"}.isdisjoint(getattr(thing, "__dict__", ()))


def kept(
    thing: Any, is_node: Callable[[Any], bool] = lambda x: isinstance(x, Value)
) -> Iterator[tuple[str, Any]]:
    """The Values, or other nodes, in the attributes of any object, with their paths."""
    seen: dict[int, Any] = {}  # by id; kept, so that nothing else gets this id
    waiting = [("", thing)]
    while waiting:
        path, thing = waiting.pop()
        if is_node(thing):
            yield path, thing
            continue
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        inside: list[tuple[str, Any]] = []
        if is_array(thing):
            thing = thing.tolist() if str(thing.dtype) == "object" else []
        if isinstance(thing, (list, tuple)):
            inside = [(f"{path}[{i}]", entry) for i, entry in enumerate(thing)]
        elif isinstance(thing, dict):
            inside = [(f"{path}[{key!r}]", entry) for key, entry in thing.items()]
        elif not isinstance(thing, (type, ModuleType)) and path.count(".") < DEEPEST:
            attributes = getattr(thing, "__dict__", {}).items()
            inside = [(f"{path}.{key}".lstrip("."), entry) for key, entry in attributes]
        waiting += reversed(inside)


def _arrays(thing: Any, name: str) -> Iterator[tuple[str, Any]]:
    if is_array(thing):
        yield name, thing
    elif isinstance(thing, (list, tuple)):
        for i, entry in enumerate(thing):
            yield from _arrays(entry, f"{name}[{i}]")
    elif is_model(thing):
        yield from ((f"{name}.{path}", array) for path, array in kept(thing, is_array))


def is_array(thing: Any) -> bool:
    """Whether something is a NumPy array, without importing NumPy.

    >>> is_array([Value(1.0)])
    False
    """
    return hasattr(type(thing), "__array_ufunc__") and hasattr(type(thing), "tolist")
