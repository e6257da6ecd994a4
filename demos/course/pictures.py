"""The pictures of each chapter: drawings, and pages to step through or to play with.

Modules for pages are loaded when the first page is made, so that Python is ready sooner.
"""

import random
from contextlib import suppress
from importlib import import_module

from tasks import language

import micrograd
from micrograd import Value, draw_dot


def pictures_of(chapter):
    """The pictures of a chapter, each with the key of its caption in the table of texts."""
    drawn = PICTURES[chapter]() if chapter in PICTURES else _own(chapter)
    return [(f"{chapter}.{name}", picture) for name, picture in drawn]


def _own(chapter):
    with suppress(ModuleNotFoundError):
        yield "graph", import_module(f"{chapter}_picture").picture()


def _slope():
    x = Value(3.0, label="x")
    y = 3 * x**2 - 4 * x + 5
    y.backward()
    yield "graph", draw_dot(y, names={"y": y})
    yield "page", micrograd.explain(y, names={"y": y}, language=language())


def _product():
    a, b, c = Value(1.0), Value(4.0), Value(2.0)
    d = a * b
    e = d + c
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


def _value():
    names = _product()
    graph = draw_dot(names["e"], names=names)
    graph.graph_attr["label"] = ""  # it would say to call backward(), which comes in chapter 5
    yield "graph", graph


def _byhand():
    names = _product()
    names["f"] = Value(3.0)
    names["L"] = names["e"] * names["f"]
    names["L"].backward()
    yield "graph", draw_dot(names["L"], names=names, edges="derivatives")
    yield "page", micrograd.explain(names["L"], names=names, language=language())


def _diamond():
    a = Value(3.0)
    b = a * a
    c = b + a
    d = b * c
    return {"a": a, "b": b, "c": c, "d": d}


def _order():
    names = _diamond()
    yield "graph", draw_dot(names["d"], names=names, numbers=False)
    yield "page", micrograd.explain(names["d"], names=names, language=language())


def _backward():
    names = _diamond()
    c, d = names["c"], names["d"]
    d.grad = 1.0
    d._backward()
    c._backward()
    yield "graph", draw_dot(d, names=names, done=[c, d], edges="derivatives")
    yield "page", micrograd.explain(d, names=names, language=language())


def _neuron():
    x1, x2 = Value(2.0), Value(-1.0)
    w1, w2, b = Value(-0.5), Value(1.0), Value(0.75)
    o = (x1 * w1 + x2 * w2 + b).tanh()
    o.backward()
    names = {"x1": x1, "x2": x2, "w1": w1, "w2": w2, "b": b, "o": o}
    yield "graph", draw_dot(o, names=names)
    yield "page", micrograd.explain(o, names=names, parameters=[w1, w2, b], language=language())


def _network():
    state = random.getstate()
    random.seed(1)
    model = micrograd.MLP(3, [4, 4, 1], activation="tanh", output="tanh")
    random.setstate(state)
    yield "graph", micrograd.draw_network(model, [2.0, 3.0, -1.0])


def _boundary():
    yield "page", micrograd.playground(language=language())


PICTURES = {
    "slope": _slope, "value": _value, "byhand": _byhand, "order": _order, "backward": _backward,
    "neuron": _neuron, "network": _network, "boundary": _boundary, "built": list, "free": list,
}  # fmt: skip
