"""Random numbers in a compiled function, which would be the same in every call: an error.

>>> from micrograd import compile
>>> f = compile(lambda x: x * random.random())
>>> f([1.0])  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
ValueError: the function draws from Python's random, but once compiled, ...
"""

from __future__ import annotations

import inspect
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

OF_PYTHON: Any = random.random.__self__  # type: ignore[attr-defined]


def is_generator(thing: object) -> bool:
    """Whether it has a state from which random numbers come; that of the system has none."""
    kinds = (random.Random, np.random.Generator, np.random.RandomState)
    return isinstance(thing, kinds) and not isinstance(thing, random.SystemRandom)


def states_of(generators: Sequence[Any]) -> list[tuple[Any, object]]:
    """The states of these generators and of the two global ones, before the function runs."""
    return [(g, _state(g)) for g in (OF_PYTHON, np.random.mtrand._rand, *generators)]


def check_unused(
    states: list[tuple[Any, object]], function: Callable[..., Any], run: Callable[[], object]
) -> None:
    """Raises a ValueError if a generator was used since; `run` calls the function once more."""
    for generator, state in states:
        if _state(generator) == state:
            continue
        state = _state(generator)
        run()  # another thread may have drawn, or the function seeds it
        if _state(generator) != state:
            raise ValueError(
                f"the function draws from {_name(generator, function)}, but once compiled, it "
                "would use the same random numbers in every call: pass them as an argument"
            )


def _state(generator: Any) -> object:
    if isinstance(generator, random.Random):
        return generator.getstate()
    is_old = isinstance(generator, np.random.RandomState)
    return pickle.dumps(generator.get_state() if is_old else generator.bit_generator.state)


def _name(generator: Any, function: Callable[..., Any]) -> str:
    if generator is OF_PYTHON:
        return "Python's random"
    if generator is np.random.mtrand._rand:
        return "np.random"
    found = inspect.getclosurevars(function) if inspect.isfunction(function) else None
    names = {**found.nonlocals, **found.globals} if found else {}
    kind = f"a generator of the class {type(generator).__name__}"
    return next((name for name, x in names.items() if x is generator), kind)
