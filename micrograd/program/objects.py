"""The Values, arrays and models in the objects of a program."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeGuard

from micrograd.engine import Value

PLAIN = {int, float, bool, str}
LONG = 100  # entries: a list that begins with so many plain numbers is not searched
DEEPEST = 8  # objects inside objects: a model may refer to anything


class Variables(dict[str, object]):
    """Variables that were found, not given: labels set by hand come before their names."""


def values_in(things: object, argument: str) -> list[Value]:
    """The Values in a Value, an array, a Module, or a collection of these.

    Raises:
        TypeError: something in it is not a Value. The message begins with `argument`.
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
            if not {*map(type, thing[:LONG])} <= PLAIN:
                inside = [(f"{name}[{i}]", entry) for i, entry in enumerate(thing)]
        elif isinstance(thing, dict):
            inside = [(f"{name}[{key!r}]", entry) for key, entry in thing.items() if is_owned]
        elif (is_owned or is_model(thing)) and name.count(".") < DEEPEST:
            is_owned = not isinstance(thing, (type, ModuleType))
            attributes = getattr(thing, "__dict__", {}).items() if is_owned else ()
            inside = [(f"{name}.{key}", entry) for key, entry in attributes]
        waiting += [(name, entry, is_owned) for name, entry in reversed(inside)]


def is_model(thing: object) -> TypeGuard[Callable[[Any], Any]]:
    """Whether it has parameters(), or the form of the lecture's classes.

    `parameters` is looked up on the type, so that the class of a model is not one.
    """
    if callable(getattr(type(thing), "parameters", None)):
        return hasattr(thing, "__dict__")
    return not {"w", "neurons", "layers"}.isdisjoint(getattr(thing, "__dict__", ()))


def is_array(thing: object) -> bool:
    """Whether something is a NumPy array, without importing NumPy."""
    return hasattr(type(thing), "__array_ufunc__") and hasattr(type(thing), "tolist")
