"""What a compiled function notices: the table of `benchmark.py --only stale`.

Someone compiles a function in a notebook, calls it, changes something that the function reads, and
calls it again. Then the result is what the plain Python function returns now ("right"), or the
change or the call is an error, or the result is the old one, and nothing says so. In every library
a changed argument gives the right result; here nothing that changes is an argument, although JAX
and equinox ask for this.
"""

import functools
import math
import os
import tempfile
import timeit
import types
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any, NamedTuple

import numpy as np

X = np.array([1.5])  # a batch of one example
MODEL = """
class Layer(Module):
    w: object
    def __init__(self, w):
        super().__init__()
        self.w = parameter(w)
    def __call__(self, x):
        return self.w * x
class Model(Module):
    layers: list
    def __init__(self, *ws):
        super().__init__()
        self.layers = [Layer(w) for w in ws]
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
model = Model(2.0, 3.0)
"""
# The cell that comes before, the formula, the cell that changes something. The tests of
# micrograd.compile run these, too.
CASES = {
    "a global number": ("rate = 2.0", "rate * x", "rate = 5.0"),
    "a global word, in an if": ("kind = 'a'", "(2.0 if kind == 'a' else 5.0) * x", "kind = 'b'"),
    "a closure's number": (
        "def make():\n r = 2.0\n def change(to):\n  nonlocal r\n  r = to\n"
        " return lambda x: r * x, change\nf, change = make()", "f(x)", "change(5.0)",
    ),
    "a default": ("def f(x, r=2.0): return r * x", "f(x)", "f.__defaults__ = (5.0,)"),
    "a list in a partial": (
        "t = [2.0]\nf = functools.partial(lambda r, x: r[0] * x, t)", "f(x)", "t[0] = 5.0"
    ),
    "a module's number": (
        "settings = types.ModuleType('settings'); settings.rate = 2.0\n"
        "settings.__file__ = folder + '/settings.py'", "settings.rate * x", "settings.rate = 5.0",
    ),
    "an object's attribute": (
        "class C: pass\nc = C(); c.rate = 2.0", "c.rate * x", "c.rate = 5.0"
    ),
    "an attribute that was not there": (
        "class C: pass\nc = C()", "getattr(c, 'rate', 2.0) * x", "c.rate = 5.0"
    ),
    "a class attribute": ("class C: rate = 2.0\nc = C()", "c.rate * x", "C.rate = 5.0"),
    "a number behind a property": (
        "class C:\n r = 2.0\n @property\n def rate(self): return self.r\nc = C()", "c.rate * x",
        "c.r = 5.0",
    ),
    "a list's entry": ("t = [2.0, 3.0]", "t[1] * x", "t[1] = 5.0"),
    "a list appended to": ("t = [2.0, 3.0]", "sum(t) * x", "t.append(5.0)"),
    "a dict's entry": ("t = {'a': 2.0}", "t['a'] * x", "t['a'] = 5.0"),
    "a dict's new key": ("t = {'a': 2.0}", "len(t) * x", "t['b'] = 5.0"),
    "a set": ("t = {2}", "sum(t) * x", "t.add(3)"),
    "an array's content": ("a = np.array([2.0, 3.0])", "a[1] * x", "a[1] = 5.0"),
    "a helper defined again": ("def f(x): return 2.0 * x", "f(x)", "def f(x): return 5.0 * x"),
    "a number that a helper reads": (
        "rate = 2.0\ndef f(x): return rate * x", "f(x)", "rate = 5.0"
    ),
    "a method replaced": (
        "class C:\n def f(self, x): return 2.0 * x\nc = C()", "c.f(x)",
        "C.f = lambda self, x: 5.0 * x",
    ),
    "an inherited method replaced": (
        "class B:\n def f(self, x): return 2.0 * x\nclass C(B): pass\nc = C()", "c.f(x)",
        "B.f = lambda self, x: 5.0 * x",
    ),
    "a parameter's number": (MODEL, "model(x)", "set_number(model.layers[0].w, 5.0)"),
    "a parameter replaced": (MODEL, "model(x)", "model.layers[0].w = parameter(5.0)"),
    "a layer replaced": (MODEL, "model(x)", "model.layers[0] = Layer(5.0)"),
    "a layer appended": (MODEL, "model(x)", "model.layers.append(Layer(5.0))"),
    "the model's cell run again": (MODEL, "model(x)", "model = Model(5.0)"),
}  # fmt: skip
OUTSIDE = {  # of the program: nothing watches these
    "an environment variable": (
        "os.environ['RATE'] = '2'", "float(os.environ['RATE']) * x", "os.environ['RATE'] = '5'"
    ),
    "a number in a file": (
        "path = folder + '/rate'\nprint(2.0, file=open(path, 'w'))", "float(open(path).read()) * x",
        "print(5.0, file=open(path, 'w'))",
    ),
}  # fmt: skip

Function = Callable[..., Any]
Compiler = Callable[[Function], Function]


class Library(NamedTuple):
    """One way to compile a function, and what a cell needs to write a model for it.

    Attributes:
        compile: returns a function of a batch that returns a number when it is computed.
        set_number: changes a parameter in place; None if parameters cannot be changed.
    """

    compile: Compiler
    array: Function
    parameter: Function
    module: type
    set_number: Function | None = None


def with_micrograd() -> Library:
    """`micrograd.compile`, with its default executor."""
    import micrograd

    def compile(function: Function) -> Function:
        compiled = micrograd.compile(function)
        return lambda x: compiled(x).data

    return Library(compile, lambda x: x, micrograd.Value, micrograd.nn.Module,
                   lambda p, to: setattr(p, "data", to))  # fmt: skip


def with_torch() -> Library:
    """`torch.compile` without code generation: the guards of Dynamo are the same."""
    import torch

    def parameter(x: float) -> Any:
        return torch.nn.Parameter(torch.tensor(x, dtype=torch.float64))

    return Library(torch.compile(backend="eager"), torch.tensor, parameter, torch.nn.Module,
                   lambda p, to: p.data.fill_(to))  # fmt: skip


def with_jax() -> Library:
    """`jax.jit`; a model is an object of a plain class, with arrays."""
    import jax

    def compile(function: Function) -> Function:
        compiled = jax.jit(function)
        return lambda x: compiled(x).block_until_ready()

    return Library(compile, jax.numpy.asarray, jax.numpy.asarray, object)


def with_equinox() -> Library:
    """`equinox.filter_jit`; a model is an equinox.Module."""
    import equinox

    jax = with_jax()

    def compile(function: Function) -> Function:
        compiled = equinox.filter_jit(function)
        return lambda x: compiled(x).block_until_ready()

    return jax._replace(compile=compile, module=equinox.Module)


LIBRARIES: dict[str, tuple[str, Callable[[], Library]]] = {
    "jax.jit": ("jax", with_jax),
    "torch.compile": ("torch", with_torch),
    "filter_jit": ("equinox", with_equinox),
    "micrograd.compile": ("micrograd", with_micrograd),
}


def outcome(library: Library, before: str, formula: str, change: str) -> tuple[str, float]:
    """What a call after the change does ("right", "error" or "old"), and the seconds of a call."""
    if library.set_number is None and "set_number" in change:
        return "-", math.nan
    cell: dict[str, Any] = {
        "__name__": "__main__", "np": np, "functools": functools, "os": os, "types": types,
        "Module": library.module, "parameter": library.parameter, "set_number": library.set_number,
    }  # fmt: skip
    x = library.array(X)
    with tempfile.TemporaryDirectory() as cell["folder"]:
        exec(f"{before}\none = parameter(1.0)\ndef eager(x): return one * ({formula})", cell)
        compiled = library.compile(cell["eager"])
        compiled(x)
        seconds = min(timeit.repeat(lambda: compiled(x), number=200, repeat=7)) / 200
        try:
            exec(change, cell)
            found = number(compiled(x))
        except Exception:
            return "error", seconds
        is_right = math.isclose(found, number(cell["eager"](x[0])), rel_tol=1e-6)
    return "right" if is_right else "old", seconds


def number(x: Any) -> float:
    """A result as a plain number."""
    return float(np.ravel(x.data if hasattr(x, "backward") else x)[0])


def stale_table() -> None:
    """Prints what each library returns after each change, and the microseconds of a call."""
    installed = {name: make() for name, (package, make) in LIBRARIES.items() if find_spec(package)}
    print("\nThe result after a change of what the function reads, and microseconds of a call")
    print(f"{'':34}" + "".join(f"{name:>20}" for name in LIBRARIES))
    words = {name: Counter[str]() for name in LIBRARIES}
    times: dict[str, list[float]] = {name: [] for name in LIBRARIES}
    for title, case in (CASES | OUTSIDE).items():
        print(f"{title:34}", end="", flush=True)
        for name in LIBRARIES:
            library = installed.get(name)
            word, seconds = outcome(library, *case) if library else ("-", math.nan)
            words[name][word] += 1
            if seconds > 0:
                times[name].append(seconds * 1e6)
            print(f"{word:>12}{times[name][-1]:>8.1f}" if seconds > 0 else f"{word:>12}{'':8}",
                  end="", flush=True)  # fmt: skip
        print()
    for word in ("right", "error", "old"):
        print(f"{word:34}" + "".join(f"{words[name][word]:>12}{'':8}" for name in LIBRARIES))
    medians = [f"{median(t):.1f}" if t else "-" for t in times.values()]
    print(f"{'microseconds, median':34}" + "".join(f"{text:>20}" for text in medians))
