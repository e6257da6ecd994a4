"""A scalar autograd engine to read in one sitting, watch step by step, and grow out of.

    >>> from micrograd import Value
    >>> x = Value(3.0)
    >>> y = x**2 + 1.0
    >>> y.backward()
    >>> x.grad
    6.0

This file only lists the names that users import. `engine.py` and `operations.py` are loaded
immediately, everything else on first use. So `import micrograd` needs only the standard library.
"""

import importlib as _importlib
import typing as _typing

from micrograd.engine import Value, no_grad, topological_order, where
from micrograd.operations import scan, take

if _typing.TYPE_CHECKING:  # for editors and type checkers; `_names_in` says the same
    from micrograd.arrays import values
    from micrograd.compiler.arguments import shared
    from micrograd.compiler.function import compile as compile
    from micrograd.compiler.training import fit
    from micrograd.derivatives import (
        check_gradients,
        derivative,
        gradient,
        hessian,
        jacobian,
        jvp,
        local_derivatives,
        recompute,
        vjp,
    )
    from micrograd.draw import draw_dot, draw_network, mermaid
    from micrograd.nn import MLP, Layer, Linear, Module, Neuron, Sequential
    from micrograd.optim import SGD, Adam, AdamW
    from micrograd.pages.explain import explain
    from micrograd.pages.microscope import microscope
    from micrograd.pages.playground import playground
    from micrograd.pages.worksheet import worksheet
    from micrograd.program.calls import calls
    from micrograd.watching.watch import watch

__all__ = [  # without `compile`, because `import *` must not hide a builtin
    "MLP", "SGD", "Adam", "AdamW", "Layer", "Linear", "Module", "Neuron", "Sequential", "Value",
    "calls", "check_gradients", "derivative", "draw_dot", "draw_network", "explain", "fit",
    "gradient", "hessian", "jacobian", "jvp", "local_derivatives", "mermaid", "microscope",
    "no_grad", "playground", "recompute", "scan", "shared", "take",
    "topological_order", "values", "vjp", "watch", "where", "worksheet",
]  # fmt: skip
_names_in = {
    "engine": "Value no_grad topological_order where",
    "operations": "scan take",
    "arrays": "values",
    "compiler.arguments": "shared",
    "compiler.function": "compile",
    "compiler.training": "fit",
    "derivatives": "check_gradients derivative gradient hessian jacobian jvp local_derivatives"
    " recompute vjp",
    "draw": "draw_dot draw_network mermaid",
    "program.calls": "calls",
    "nn": "MLP Layer Linear Module Neuron Sequential",
    "optim": "SGD Adam AdamW",
    **{f"pages.{page}": page for page in ("explain", "microscope", "playground", "worksheet")},
    "watching.watch": "watch",
}
_module_of = {name: module for module, names in _names_in.items() for name in names.split()}
_modules = (
    "core engine operations derivatives arrays module nn losses optim datasets texts program draw"
    " watching pages plot compiler grade course"
)

__version__ = "1.0.0"


def _late(module: str, name: str) -> _typing.Any:
    return lambda *args, **named: getattr(_importlib.import_module(module), name)(*args, **named)


Value._repr_html_ = _late("micrograd.draw.cards", "card")  # type: ignore[attr-defined]
Value.__array_ufunc__ = _late("micrograd.arrays", "apply_ufunc")  # type: ignore[attr-defined]


def __getattr__(name: str) -> _typing.Any:
    if name in _module_of:
        return getattr(_importlib.import_module(f"micrograd.{_module_of[name]}"), name)
    if name in _modules.split():
        return _importlib.import_module(f"micrograd.{name}")
    return _importlib.import_module("micrograd.core.hints").hinted(__name__)(name, frames=2)


def __dir__() -> list[str]:
    return [*_module_of, *_modules.split(), *(x for x in globals() if x.startswith("__"))]
