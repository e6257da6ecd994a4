"""micrograd: a scalar autograd engine to read, to watch, and to grow out of.

    >>> from micrograd import Value
    >>> x = Value(3.0)
    >>> y = x**2 + 1.0
    >>> y.backward()
    >>> x.grad
    6.0

This file only names what users type. A name loads its module when it is first used, and so does a
module (`micrograd.nn`), so that `import micrograd` needs the standard library alone and takes a few
milliseconds.
"""

import typing as _typing
from importlib import import_module as _import_module

from micrograd.engine import Value, no_grad, take, topological_order, where

if _typing.TYPE_CHECKING:
    from micrograd.arrays import values
    from micrograd.compiler.function import compile as compile
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
    from micrograd.nn import MLP, Layer, Linear, Module, Neuron, Sequential
    from micrograd.optim import SGD, Adam, AdamW
    from micrograd.steps import explain

__version__ = "1.0.0"

# Without `compile`: `from micrograd import *` must not hide a builtin.
__all__ = [
    "MLP",
    "SGD",
    "Adam",
    "AdamW",
    "Layer",
    "Linear",
    "Module",
    "Neuron",
    "Sequential",
    "Value",
    "check_gradients",
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
    "values",
    "vjp",
    "where",
]

_names_in = {
    "arrays": "values",
    "compiler.function": "compile",
    "derivatives": "check_gradients derivative gradient hessian jacobian jvp local_derivatives "
    "sum_over_paths vjp",
    "draw": "draw_dot mermaid",
    "network": "draw_network",
    "nn": "Layer Linear MLP Module Neuron Sequential",
    "optim": "Adam AdamW SGD",
    "steps": "explain",
}
_module_of = {name: module for module, names in _names_in.items() for name in names.split()}
_modules = [
    *("arithmetic", "pause", "engine", "derivatives", "nn", "losses", "optim", "arrays"),
    *("datasets", "trace", "graph", "render", "draw", "network", "steps", "plane", "film", "plot"),
    *("compiler", "grade"),
]


def __getattr__(name: str) -> _typing.Any:
    if name in _module_of:
        return getattr(_import_module(f"micrograd.{_module_of[name]}"), name)
    if name in _modules:
        return _import_module(f"micrograd.{name}")
    raise AttributeError(f"module 'micrograd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "compile", *_modules, *(n for n in globals() if n.startswith("__"))})
