"""`no_grad`, which pauses the recording of operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

open_blocks: list[None] = []  # one for each open block of all threads; if empty, nothing is paused
paused: ContextVar[bool] = ContextVar("inside no_grad()", default=False)


def is_paused() -> bool:
    """Whether the calling code is inside a `no_grad()` block.

    >>> with no_grad():
    ...     is_paused()
    True
    """
    return paused.get()


class no_grad:  # noqa: N801  # as in PyTorch
    """A block in which operations are not recorded, for evaluation; also a decorator, `@no_grad()`.

    Each thread and each asyncio task has blocks of its own; a task that is started inside a block
    should also end there. Inside, `p -= 0.1 * p.grad` changes the number of a parameter in place.

    >>> from micrograd.engine import Value
    >>> with no_grad():
    ...     y = Value(2.0) * 3.0
    >>> y._prev
    ()
    """

    def __init__(self) -> None:
        self._before: list[bool] = []  # several if this object is entered again before it exits

    def __enter__(self) -> None:
        self._before.append(paused.get())
        paused.set(True)
        open_blocks.append(None)

    def __exit__(self, *_: object) -> None:
        open_blocks.pop()
        paused.set(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, made to run in such a block; not one that runs in several parts."""
        in_parts = inspect.isgeneratorfunction, inspect.isasyncgenfunction
        if any(kind(function) for kind in (*in_parts, inspect.iscoroutinefunction)):
            raise TypeError(
                f"@no_grad() expects an ordinary function, got {function.__name__}, a generator or "
                "async function: write `with no_grad():` inside it, where nothing yields or waits"
            )

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return function(*args, **kwargs)

        return inside
