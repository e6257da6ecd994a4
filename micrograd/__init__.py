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

# `as` tells type checkers that a name is exported.
from micrograd.engine import Value as Value
from micrograd.engine import no_grad as no_grad
from micrograd.engine import topological_order as topological_order
from micrograd.engine import where as where
from micrograd.operations import scan as scan
from micrograd.operations import take as take

if _typing.TYPE_CHECKING:  # for editors and type checkers; `_names_in` says the same
    from micrograd.arrays import values as values
    from micrograd.compiler.arguments import shared as shared
    from micrograd.compiler.function import compile as compile
    from micrograd.compiler.training import fit as fit
    from micrograd.derivatives import check_gradients as check_gradients
    from micrograd.derivatives import derivative as derivative
    from micrograd.derivatives import gradient as gradient
    from micrograd.derivatives import hessian as hessian
    from micrograd.derivatives import jacobian as jacobian
    from micrograd.derivatives import jvp as jvp
    from micrograd.derivatives import local_derivatives as local_derivatives
    from micrograd.derivatives import recompute as recompute
    from micrograd.derivatives import sum_over_paths as sum_over_paths
    from micrograd.derivatives import vjp as vjp
    from micrograd.draw import draw_dot as draw_dot
    from micrograd.draw import draw_network as draw_network
    from micrograd.draw import mermaid as mermaid
    from micrograd.draw.calls import calls as calls
    from micrograd.nn import MLP as MLP
    from micrograd.nn import Layer as Layer
    from micrograd.nn import Linear as Linear
    from micrograd.nn import Module as Module
    from micrograd.nn import Neuron as Neuron
    from micrograd.nn import Sequential as Sequential
    from micrograd.optim import SGD as SGD
    from micrograd.optim import Adam as Adam
    from micrograd.optim import AdamW as AdamW
    from micrograd.pages.explain import explain as explain
    from micrograd.pages.microscope import microscope as microscope
    from micrograd.pages.playground import playground as playground
    from micrograd.pages.worksheet import worksheet as worksheet
    from micrograd.watching.watch import watch as watch

_names_in = {
    "engine": "Value no_grad topological_order where",
    "operations": "scan take",
    "arrays": "values",
    "compiler.arguments": "shared",
    "compiler.function": "compile",
    "compiler.training": "fit",
    "derivatives": "check_gradients derivative gradient hessian jacobian jvp local_derivatives"
    " recompute sum_over_paths vjp",
    "draw": "draw_dot draw_network mermaid",
    "draw.calls": "calls",
    "nn": "MLP Layer Linear Module Neuron Sequential",
    "optim": "SGD Adam AdamW",
    "pages.explain": "explain",
    "pages.microscope": "microscope",
    "pages.playground": "playground",
    "pages.worksheet": "worksheet",
    "watching.watch": "watch",
}
_module_of = {name: module for module, names in _names_in.items() for name in names.split()}
_modules = (
    "core engine operations derivatives arrays module nn losses optim datasets texts draw watching"
    " pages plot compiler grade course"
)

__version__ = "1.0.0"
if not _typing.TYPE_CHECKING:  # type checkers understand only a literal list
    __all__ = sorted(_module_of.keys() - {"compile"})  # `import *` must not hide a builtin

_unknown = _importlib.import_module("micrograd.core.hints").hinted(__name__)


def _late(module: str, name: str) -> _typing.Any:
    return lambda *args, **options: getattr(_importlib.import_module(module), name)(
        *args, **options
    )


Value._repr_html_ = _late("micrograd.draw.cards", "card")  # type: ignore[attr-defined]
Value.__array_ufunc__ = _late("micrograd.arrays", "apply_ufunc")  # type: ignore[attr-defined]


def __getattr__(name: str) -> _typing.Any:
    if name in _module_of:
        return getattr(_importlib.import_module(f"micrograd.{_module_of[name]}"), name)
    if name in _modules.split():
        return _importlib.import_module(f"micrograd.{name}")
    return _unknown(name, frames=2)


def __dir__() -> list[str]:
    special = (name for name in globals() if name.startswith("__"))
    return sorted({*_module_of, *_modules.split(), *special})
