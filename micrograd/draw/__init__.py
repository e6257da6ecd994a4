"""Pictures of graphs and networks: `draw_dot`, `mermaid` and `draw_network`.

They are imported on first use, because pages need the colours in `tokens.py`, but not Graphviz.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:  # for editors and type checkers
    from micrograd.draw.dot import draw_dot as draw_dot
    from micrograd.draw.dot import mermaid as mermaid
    from micrograd.draw.network import draw_network as draw_network
    from micrograd.draw.render import Digraph as Digraph
    from micrograd.draw.render import register as register

_module_of = dict.fromkeys(("draw_dot", "mermaid"), "dot") | {"draw_network": "network"}
_module_of |= dict.fromkeys(("Digraph", "register"), "render")
if not _typing.TYPE_CHECKING:  # type checkers and the reference know the imports above
    __all__ = [*_module_of]


def __getattr__(name: str) -> _typing.Any:
    if name in _module_of:
        return getattr(_importlib.import_module(f"micrograd.draw.{_module_of[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
