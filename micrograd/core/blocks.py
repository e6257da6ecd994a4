"""Blocks of code after which everything is as it was before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from micrograd.core.pause import paused


@contextmanager
def resumed() -> Iterator[None]:
    """A block in which operations are recorded, even inside `no_grad()`."""
    before = paused.get()
    paused.set(0)
    try:
        yield
    finally:
        paused.set(before)


@contextmanager
def restored(nodes: Sequence[Any]) -> Iterator[None]:
    """A block after which nodes have the data and the gradients that they had before."""
    before = [(node.data, node.grad) for node in nodes]
    try:
        yield
    finally:
        for node, (data, grad) in zip(nodes, before, strict=True):
            node.data, node.grad = data, grad
