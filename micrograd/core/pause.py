"""`no_grad`, which pauses recording, and other blocks; which derivatives run; and who watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
IN_PARTS = 0x20 | 0x80 | 0x200  # flags of code: generator, coroutine, asynchronous generator

open_blocks: list[None] = []  # one for each open block of all threads; if empty, nothing is paused
paused: ContextVar[int] = ContextVar("number of blocks around the calling code", default=0)
is_paused = paused.get
open_levels: list[None] = []  # one for each function of all threads that is being differentiated
# The level of the innermost one, and the Values that were made while it ran (see derivatives.py).
running: ContextVar[tuple[int, list[Any] | None]] = ContextVar("derivative", default=(0, None))
# What `micrograd.watch` put around a loop: each is told when a backward pass begins and ends, with
# the order of its nodes, when a compiled function did a step, and when an operation failed.
watchers: list[Any] = []


class no_grad(ContextDecorator):  # noqa: N801  # as in PyTorch
    """A block in which operations are not recorded; `@no_grad()` decorates an ordinary function.

    Each thread and each asyncio task has blocks of its own; a task that is started inside a block
    should also end there. Inside, `p -= 0.1 * p.grad` changes the number of a parameter in place.
    `p += ...`, `p *= ...` and `p /= ...` do not: they make a new number, as they do everywhere, so
    that `act = self.b; act += w * x` leaves the bias alone. Write `p -= -step` or `p.data += step`.

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
        code = getattr(function, "__code__", None)  # a partial has none
        if code and code.co_flags & IN_PARTS:
            fix = f"write `with no_grad():` inside it, in {function.__name__}"
            raise TypeError(f"@no_grad() expects no generator and no async function: {fix}")
        return super().__call__(function)


@contextmanager
def resumed() -> Iterator[None]:
    """A block in which operations are recorded, even inside `no_grad()`."""
    token = paused.set(0)
    try:
        yield
    finally:
        paused.reset(token)


@contextmanager
def restored(nodes: Sequence[Any]) -> Iterator[None]:
    """A block after which nodes have the data and the gradients that they had before."""
    before = [(node.data, node.grad) for node in nodes]
    try:
        yield
    finally:
        for node, (data, grad) in zip(nodes, before, strict=True):
            node.data, node.grad = data, grad
