"""The pictures of each chapter: drawings, and pages to step through or to play with.

Modules for pages are loaded when the first page is made, so that Python is ready sooner.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from micrograd.draw import draw_dot, draw_network
from micrograd.engine import Value
from micrograd.nn import MLP

Pictures = Iterator[tuple[str, Any]]  # the key of each caption, and the drawing or page


def pictures_of(chapter: str) -> list[tuple[str, Any]]:
    """The pictures of a chapter, each with the key of its caption in the table of texts."""
    drawn = PICTURES[chapter]() if chapter in PICTURES else _own(chapter)
    return [(f"{chapter}.{name}", picture) for name, picture in drawn]


def _own(chapter: str) -> Pictures:
    with suppress(ModuleNotFoundError):
        yield "graph", import_module(f"{chapter}_picture").picture()


def _steps(root: Value, names: dict[str, Value], **options: Any) -> Any:
    from micrograd.pages.explain import explain

    return explain(root, names=names, **options)


def _slope() -> Pictures:
    x = Value(3.0, label="x")
    y = 3 * x**2 - 4 * x + 5
    y.backward()
    yield "graph", draw_dot(y, names={"y": y})


def _product() -> dict[str, Value]:
    a, b, c = Value(1.0), Value(4.0), Value(2.0)
    d = a * b
    e = d + c
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


def _value() -> Pictures:
    names = _product()
    graph = draw_dot(names["e"], names=names)
    graph.graph_attr["label"] = ""  # it would say to call backward(), which comes in chapter 5
    yield "graph", graph


def _byhand() -> Pictures:
    names = _product()
    names["f"] = Value(3.0)
    names["L"] = names["e"] * names["f"]
    names["L"].backward()
    yield "graph", draw_dot(names["L"], names=names, edges="derivatives")
    yield "page", _steps(names["L"], names)


def _diamond() -> dict[str, Value]:
    a = Value(3.0)
    b = a * a
    c = b + a
    d = b * c
    return {"a": a, "b": b, "c": c, "d": d}


def _order() -> Pictures:
    names = _diamond()
    yield "graph", draw_dot(names["d"], names=names, numbers=False)
    yield "page", _steps(names["d"], names)


def _backward() -> Pictures:
    names = _diamond()
    c, d = names["c"], names["d"]
    d.grad = 1.0
    d._backward()
    c._backward()
    yield "graph", draw_dot(d, names=names, done=[c, d], edges="derivatives")
    yield "page", _steps(d, names)


def _neuron() -> Pictures:
    x1, x2 = Value(2.0), Value(-1.0)
    w1, w2, b = Value(-0.5), Value(1.0), Value(0.75)
    o = (x1 * w1 + x2 * w2 + b).tanh()
    o.backward()
    names = {"x1": x1, "x2": x2, "w1": w1, "w2": w2, "b": b, "o": o}
    yield "graph", draw_dot(o, names=names)
    yield "page", _steps(o, names, parameters=[w1, w2, b])


def _network() -> Pictures:
    state = random.getstate()
    random.seed(1)
    model = MLP(3, [4, 4, 1], activation="tanh", output="tanh")
    random.setstate(state)
    yield "graph", draw_network(model, [2.0, 3.0, -1.0])


def _boundary() -> Pictures:
    from micrograd.pages.playground import playground

    yield "page", playground()


PICTURES: dict[str, Callable[[], Iterable[tuple[str, Any]]]] = {
    "slope": _slope, "value": _value, "byhand": _byhand, "order": _order, "backward": _backward,
    "neuron": _neuron, "network": _network, "boundary": _boundary, "built": list, "free": list,
}  # fmt: skip
