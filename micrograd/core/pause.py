"""`no_grad`, which pauses the recording of operations."""

from __future__ import annotations

from contextlib import ContextDecorator
from contextvars import ContextVar

open_blocks: list[None] = []  # one for each open block of all threads; if empty, nothing is paused
paused: ContextVar[int] = ContextVar("number of blocks around the calling code", default=0)
is_paused = paused.get


class no_grad(ContextDecorator):  # noqa: N801  # as in PyTorch
    """A block in which operations are not recorded; `@no_grad()` decorates an ordinary function.

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
