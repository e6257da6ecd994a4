"""`no_grad`, which pauses the recording of operations.

A context variable holds the `no_grad()` blocks around the running code, so each thread and each
asyncio task has its own set of blocks. A task inherits the blocks of the code that started it and
may outlive them, so a block counts only while it is open.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

open_blocks: set[object] = set()  # of all threads and tasks; if it is empty, nothing is paused
_blocks: ContextVar[tuple[object, ...]] = ContextVar("no_grad blocks around this", default=())


def is_paused() -> bool:
    """Whether the calling code is inside an open `no_grad()` block.

    >>> with no_grad():
    ...     is_paused()
    True
    """
    return not open_blocks.isdisjoint(_blocks.get())


class no_grad:  # noqa: N801  # as in PyTorch
    """A block in which operations are not recorded, for evaluation; also a decorator, `@no_grad()`.

    A decorated generator or `async def` function pauses recording in its own code only, not in the
    code that runs while it waits.

    >>> from micrograd.engine import Value
    >>> with no_grad():
    ...     y = Value(2.0) * 3.0
    >>> y._prev
    ()
    """

    def __init__(self) -> None:
        self._entered: list[object] = []  # several if this object is entered again before it exits

    def __enter__(self) -> None:
        block = object()
        self._entered.append(block)
        open_blocks.add(block)
        _blocks.set((*_blocks.get(), block))

    def __exit__(self, *_: object) -> None:
        block = self._entered.pop()
        open_blocks.discard(block)
        _blocks.set(tuple(other for other in _blocks.get() if other is not block))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, generator function or `async def` function, made to run in such a block."""

        @wraps(function)
        def paused(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return function(*args, **kwargs)

        @wraps(function)
        def paused_generator(*args: Any, **kwargs: Any) -> Any:
            return _in_steps(function(*args, **kwargs))

        @wraps(function)
        async def paused_coroutine(*args: Any, **kwargs: Any) -> Any:
            return await _awaited_in_steps(function(*args, **kwargs))

        @wraps(function)
        def paused_async_generator(*args: Any, **kwargs: Any) -> Any:
            return _async_in_steps(function(*args, **kwargs))

        if inspect.isasyncgenfunction(function):
            return paused_async_generator
        if inspect.iscoroutinefunction(function):
            return paused_coroutine
        return paused_generator if inspect.isgeneratorfunction(function) else paused


@contextmanager
def resumed() -> Iterator[None]:
    """A block in which operations are recorded, even inside `no_grad()`.

    >>> with no_grad(), resumed():
    ...     is_paused()
    False
    """
    blocks = _blocks.get()
    _blocks.set(())
    try:
        yield
    finally:
        _blocks.set(blocks)


def _in_steps(running: Any) -> Generator[Any, Any, Any]:
    # Runs a generator, or anything with send and throw, and pauses recording during each step.
    step, argument = running.send, None
    while True:
        try:
            with no_grad():
                result = step(argument)
        except StopIteration as end:
            return end.value
        try:
            step, argument = running.send, (yield result)
        except BaseException as error:  # includes GeneratorExit
            step, argument = running.throw, error


@types.coroutine
def _awaited_in_steps(awaitable: Any) -> Generator[Any, Any, Any]:
    return (yield from _in_steps(awaitable.__await__()))


async def _async_in_steps(running: Any) -> AsyncGenerator[Any, Any]:
    step, argument = running.asend, None
    while True:
        try:
            result = await _awaited_in_steps(step(argument))
        except StopAsyncIteration:
            return
        try:
            step, argument = running.asend, (yield result)
        except BaseException as error:
            step, argument = running.athrow, error
