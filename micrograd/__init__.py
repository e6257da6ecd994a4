"""micrograd: a scalar autograd engine to read, to watch, and to grow out of.

    >>> from micrograd import Value
    >>> x = Value(3.0)
    >>> y = x**2 + 1.0
    >>> y.backward()
    >>> x.grad
    6.0

This file only names what users type. Names of later chapters load theirs when they are first used,
so that `import micrograd` needs the standard library alone and takes a few milliseconds.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from micrograd.engine import Value, no_grad, take, topological_order, where

if TYPE_CHECKING:
    from micrograd.compiler.function import compile
    from micrograd.derivatives import (
        check_gradients,
        derivative,
        gradient,
        hessian,
        jacobian,
        jvp,
        local_derivatives,
        sum_over_paths,
        vjp,
    )
    from micrograd.draw import draw_dot, mermaid
    from micrograd.network import draw_network
    from micrograd.steps import explain

__all__ = [
    "Value",
    "check_gradients",
    "compile",
    "derivative",
    "draw_dot",
    "draw_network",
    "explain",
    "gradient",
    "hessian",
    "jacobian",
    "jvp",
    "local_derivatives",
    "mermaid",
    "no_grad",
    "sum_over_paths",
    "take",
    "topological_order",
    "vjp",
    "where",
]

_chapter_of = {
    "check_gradients": "derivatives",
    "compile": "compiler.function",
    "derivative": "derivatives",
    "draw_dot": "draw",
    "draw_network": "network",
    "explain": "steps",
    "gradient": "derivatives",
    "hessian": "derivatives",
    "jacobian": "derivatives",
    "jvp": "derivatives",
    "local_derivatives": "derivatives",
    "mermaid": "draw",
    "sum_over_paths": "derivatives",
    "vjp": "derivatives",
}


def __getattr__(name: str) -> object:
    if name in _chapter_of:
        return getattr(_import_module(f"micrograd.{_chapter_of[name]}"), name)
    raise AttributeError(f"module 'micrograd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
