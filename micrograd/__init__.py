"""micrograd: a scalar autograd engine to read, to watch, and to grow out of.

    >>> from micrograd import Value
    >>> x = Value(3.0)
    >>> y = x**2 + 1.0
    >>> y.backward()
    >>> x.grad
    6.0

This file only names what users type. Names that need NumPy, Matplotlib or Graphviz load their
chapter when they are first used, so that `import micrograd` needs the standard library alone.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from micrograd.engine import Value, no_grad, take, topological_order, where

if TYPE_CHECKING:
    from micrograd.draw import draw_dot

__all__ = ["Value", "draw_dot", "no_grad", "take", "topological_order", "where"]

_chapter_of = {"draw_dot": "draw"}


def __getattr__(name: str) -> object:
    if name in _chapter_of:
        return getattr(_import_module(f"micrograd.{_chapter_of[name]}"), name)
    raise AttributeError(f"module 'micrograd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
