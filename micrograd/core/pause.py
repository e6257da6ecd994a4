"""`no_grad`, which pauses the recording of operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

open_blocks: list[None] = []  # one for each open block of all threads; if empty, nothing is paused
paused: ContextVar[int] = ContextVar("number of blocks around the calling code", default=0)
is_paused = paused.get


class no_grad(ContextDecorator):  # noqa: N801  # as in PyTorch
    """A block in which operations are not recorded, for evaluation; also a decorator, `@no_grad()`.

    Each thread and each asyncio task has blocks of its own; a task that is started inside a block
    should also end there. Inside, `p -= 0.1 * p.grad` changes the number of a parameter in place.

    >>> from micrograd.engine import Value
    >>> with no_grad():
    ...     y = Value(2.0) * 3.0
    >>> y._prev
    ()
    """

    def __enter__(self) -> None:
        paused.set(paused.get() + 1)
        open_blocks.append(None)

    def __exit__(self, *_: object) -> None:
        open_blocks.pop()
        paused.set(max(0, paused.get() - 1))  # 0 already in a context where the block did not begin

    def __call__(self, function: F) -> F:
        """The function, made to run in such a block; not one that runs in several parts."""
        in_parts = inspect.isgeneratorfunction, inspect.isasyncgenfunction
        if any(kind(function) for kind in (*in_parts, inspect.iscoroutinefunction)):
            raise TypeError(
                f"@no_grad() expects an ordinary function, got {function.__name__}, a generator or "
                "async function: write `with no_grad():` inside it, where nothing yields or waits"
            )
        return super().__call__(function)
