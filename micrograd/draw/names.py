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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any, TypeGuard

from micrograd.engine import Value, topological_order

LETTERS = {"layers": "L", "modules": "M", "neurons": "n", "weight": "w", "bias": "b"}
LONG = 100  # entries: a longer list that begins with a plain number is not searched
DEEPEST = 8  # objects inside objects: a model may refer to anything
NUMBERED = re.compile(r"L\d+")  # a layer without a name, as `graph` calls it
PATH = re.compile(r"\w+(\[\w+\])*(\.\w+(\[\w+\])*)+")


class Variables(dict[str, object]):
    """Variables that were found, not given: labels set by hand come before their names."""


class Names:
    """The names that a dict of variables gives to Values and arrays.

    Attributes:
        label_of: the name of each Value: its place in a model, list or array; but if all entries
            are variables, the name of its variable. So after `for x in xs`, x is `xs[2]`. A list in
            which one entry is computed from another gives no names: it is an order.
        parameters: the Values that a model owns, or that the user declared to be parameters.
        path_of: the path of each parameter in its model, whatever its label.
        arrays: pairs of a name and an array of numbers or Values.

    Args:
        variables: usually `locals()`; names that begin with `_` are ignored.
        parameters: Values, arrays, Modules, or lists of these.
        nodes: the nodes that need names; all, if it is empty.

    Raises:
        TypeError: variables is not a mapping, or a parameter is not a Value.
    """

    def __init__(
        self,
        variables: Mapping[str, object] | None,
        parameters: object = (),
        nodes: Collection[Value] = (),
    ) -> None:
        if variables is not None and not isinstance(variables, Mapping):
            raise TypeError(
                f"names expects a dict from names to Values, got {type(variables).__name__}: use "
                'names=locals(), or names={"model": model}'
            )
        self.label_of: dict[Value, str] = {}
        self.arrays: list[tuple[str, Any]] = []
        self.parameters = set(values_in(parameters, "parameters"))
        self.path_of: dict[Value, str] = {}
        self._nodes = {*nodes}
        self._variable: dict[Value, str] = {}  # the names of variables that are Values
        named = [(str(name), thing) for name, thing in list((variables or {}).items())]
        named = self._named = [pair for pair in named if not pair[0].startswith("_")]
        for name, thing in named:
            if isinstance(thing, Value) and "." not in name:
                self._variable.setdefault(thing, name)
        for name, thing in named:
            if not isinstance(thing, Value) or "." in name:  # with a dot, `as_ours` found it
                self.add(thing, name)
        for value, name in self._variable.items():
            self._label(value, name)
        short = {v: _abbreviated(x) for v, x in self.label_of.items() if self.path_of.get(v) == x}
        others = {label for value, label in self.label_of.items() if value not in short}
        self._distinct = len({*short.values()}) == len(short) and others.isdisjoint(short.values())

    def add(self, thing: object, name: str, is_owned: bool = False) -> None:
        """Names what is in a thing; all of its leaves are parameters if a model owns it."""
        inside = list(found(thing, name, is_owned))
        values = [v for _, v, _ in inside if isinstance(v, Value)]
        known = [v for v in values if v in self._nodes] if self._nodes else values
        names_none = isinstance(thing, (list, tuple)) and _is_order(known)
        names_none = names_none or all(v in self._variable for v in known)
        for label, value, is_owned in inside:
            if is_array(value):
                self.arrays.append((label, value))
            elif is_owned or ("." in label and not value._prev):
                if value.is_leaf and (value.requires_grad or value.is_frozen):
                    self.parameters.add(value)
                    self.path_of.setdefault(value, label)
                    self._label(value, self._variable.get(value, label) if names_none else label)
            elif not names_none:
                self._label(value, label)

    def _label(self, value: Value, label: str) -> None:
        if value in self._nodes or not self._nodes:
            self.label_of.setdefault(value, label)

    def of_numbers(self, thing: Any) -> str:
        """The name of a list or array of plain numbers, or of a row of one, such as `X[3]`; or ''.

        >>> X = [[1.0, 2.0], [3.0, 4.0]]
        >>> Names({"X": X, "x": X[1]}).of_numbers(X[1])
        'X[1]'
        """
        if not is_array(thing) or id(thing) in self._rows:
            return self._rows.get(id(thing), ("", None))[0]
        for name, whole in self.arrays:
            if whole.shape[1:] == thing.shape and whole.strides[1:] == thing.strides:
                distance = _address(thing) - _address(whole)  # a row of it is a view
                place, rest = divmod(distance, whole.strides[0] or 1)
                if not rest and 0 <= place < len(whole):
                    return f"{name}[{place}]"
        return ""

    def of_inputs(self, neurons: Iterable[Any]) -> dict[Value, str]:
        """The names of the plain numbers by which neurons of other classes multiply their weights.

        Nothing tells where such a constant comes from: it has the name of a row of equal numbers.
        """
        found: dict[Value, str] = {}
        rows: dict[Any, str] = {}
        for neuron in neurons:
            if all(x.is_constant for x in neuron.inputs):
                rows = rows or {_numbers(row): name for name, row in self._by_preference()}
                if name := rows.get(tuple(x.data for x in neuron.inputs)):
                    found |= {x: f"{name}[{i}]" for i, x in enumerate(neuron.inputs)}
        return found

    def _by_preference(self) -> Iterator[tuple[str, Any]]:
        # All rows with their names, those that are preferred last.
        yield from reversed(self._rows.values())
        for name, array in self.arrays:
            yield from ((f"{name}[{i}]", row) for i, row in enumerate(array) if array.ndim == 2)

    @cached_property
    def _rows(self) -> dict[int, tuple[str, Any]]:
        # The lists in lists, then lists and arrays themselves, by id, with their names.
        lists: list[tuple[str, Any]] = [x for x in self._named if isinstance(x[1], (list, tuple))]
        inside = (
            (f"{name}[{i}]", row)
            for name, thing in lists
            for i, row in enumerate(thing)
            if isinstance(row, (list, tuple)) or is_array(row)
        )
        rows: dict[int, tuple[str, Any]] = {}
        for name, thing in (*inside, *lists, *self.arrays):
            rows.setdefault(id(thing), (name, thing))  # the row is kept, so that no id is reused
        return rows

    def short(self, label: str) -> str:
        """The label of a part of a model, shortened: 'model.layers[0].neurons[1]' to 'L0.n1'.

        The name of the variable is kept if several models have a part with the same short name.

        >>> Names({}).short("net.blocks[0].weight[1][2]"), Names({}).short("x[0]")
        ('blocks0.w1,2', 'x[0]')
        """
        if not PATH.fullmatch(label):
            return label
        variable = label.partition(".")[0]
        is_clear = self._distinct and not NUMBERED.fullmatch(variable)
        return _abbreviated(label) if is_clear else f"{variable}.{_abbreviated(label)}"


def _is_order(values: Collection[Value]) -> bool:
    # Whether one of the Values was computed from another one.
    some, later = {*values}, set[Value]()
    for v in topological_order(*values) if any(v._prev for v in values) else ():
        if any(operand in some or operand in later for operand in v._prev):
            if v in some:
                return True
            later.add(v)
    return False


def _abbreviated(label: str) -> str:
    # 'model.layers[0].neurons[1].w[2]' becomes 'L0.n1.w2'
    parts = [re.findall(r"\w+", part) for part in label.split(".")[1:]]
    return ".".join(LETTERS.get(name, name) + ",".join(indices) for name, *indices in parts)


def values_in(things: object, argument: str) -> list[Value]:
    """The Values in a Value, an array, a Module, or a collection of these.

    Raises:
        TypeError: something in it is not a Value. The message begins with `argument`.

    >>> a, b = Value(1.0), Value(2.0)
    >>> values_in([a, [b]], "highlight") == [a, b]
    True
    """
    if isinstance(things, (list, tuple, set, frozenset)):
        return [value for thing in things for value in values_in(thing, argument)]
    inside = [x for _, x, _ in found(things, "") if isinstance(x, Value)]
    if not inside:
        raise TypeError(
            f"{argument} expects Values, or lists of Values, got {type(things).__name__} "
            f"{things!r:.40}: pass the Values themselves, not their names or data"
        )
    return inside


def found(
    thing: Any,
    name: str,
    is_owned: bool = False,
    is_node: Callable[[object], bool] = lambda x: isinstance(x, Value),
) -> Iterator[tuple[str, Any, bool]]:
    """The nodes and arrays in a thing: their names, they themselves, and whether a model owns them.

    Lists, tuples and arrays are searched; and models, with every object in their attributes.
    """
    seen: dict[int, Any] = {}  # by id; kept, so that nothing else gets this id
    waiting = [(name, thing, is_owned)]
    while waiting:
        name, thing, is_owned = waiting.pop()
        if is_node(thing):
            yield name, thing, is_owned
            continue
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        inside: list[tuple[str, Any]] = []
        if is_array(thing):
            yield name, thing, is_owned
            inside = [(name, thing.tolist())] if str(thing.dtype) == "object" else []
        elif isinstance(thing, (list, tuple)):
            if len(thing) <= LONG or not isinstance(_first(thing), (int, float, str)):
                inside = [(f"{name}[{i}]", entry) for i, entry in enumerate(thing)]
        elif isinstance(thing, dict):
            inside = [(f"{name}[{key!r}]", entry) for key, entry in thing.items() if is_owned]
        elif (is_owned or is_model(thing)) and name.count(".") < DEEPEST:
            is_owned = not isinstance(thing, (type, ModuleType))
            attributes = getattr(thing, "__dict__", {}).items() if is_owned else ()
            inside = [(f"{name}.{key}", entry) for key, entry in attributes]
        waiting += [(name, entry, is_owned) for name, entry in reversed(inside)]


def _first(thing: Any) -> Any:
    # The first number, or whatever else it is, in a nested list.
    while isinstance(thing, (list, tuple)) and thing:
        thing = thing[0]
    return thing


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _numbers(row: Any) -> tuple[float, ...]:
    # The numbers in a row of plain numbers; () for any other.
    entries = row.tolist() if is_array(row) else row
    is_plain = isinstance(entries, (list, tuple)) and all(type(x) in (int, float) for x in entries)
    return tuple(map(float, entries)) if is_plain else ()


def is_model(thing: object) -> TypeGuard[Callable[[Any], Any]]:
    """Whether it has parameters(), or the form of the lecture's classes.

    `parameters` is looked up on the type, so that the class of a model is not one.
    """
    if callable(getattr(type(thing), "parameters", None)):
        return hasattr(thing, "__dict__")
    return not {"w", "neurons", "layers"}.isdisjoint(getattr(thing, "__dict__", ()))


def is_array(thing: object) -> bool:
    """Whether something is a NumPy array, without importing NumPy.

    >>> is_array([Value(1.0)])
    False
    """
    return hasattr(type(thing), "__array_ufunc__") and hasattr(type(thing), "tolist")
