"""The page on which a network learns while you watch, and the page of a recorded run.

`playground()` makes a page that trains a small network on points in the plane. A reader can look at
everything, down to one weight and its update, or one neuron and its operations. The page can start
from a trained model and its data. `recorded()` makes the same page for a run that `plot.animate`
recorded, with playback controls instead of training.

    >>> from micrograd.nn import MLP
    >>> playground(MLP(2, [4, 1]), [[0.0, 1.0], [1.0, 0.0]], [0, 1])
    <a page that trains 2-4-1 on 2 points: .show() opens it, .save('page.html') writes it>

The page computes with recorded pieces: a step of a neuron's sum, each activation, each loss, or the
whole model if it is not an MLP; and with the recorded update rule of each optimizer. It does not
contain any rule of its own.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.shapes import fix_of, flat, plain, without_nan
from micrograd.engine import Value, topological_order
from micrograd.losses import binary_cross_entropy, cross_entropy, hinge, squared_error
from micrograd.nn import ACTIVATIONS, MLP, Layer, Module, Neuron
from micrograd.optim import SGD, Adam, AdamW, Optimizer
from micrograd.pages.page import Page, as_json, html_page
from micrograd.pages.pieces import piece
from micrograd.pages.scripts import LOSSES, call_of, scripts
from micrograd.pages.texts import texts_of
from micrograd.pages.updates import recorded_update

MOST_CLASSES = 8
KNOWN: dict[Callable[..., Value], str] = {
    binary_cross_entropy: "cross-entropy",
    cross_entropy: "cross-entropy",
    hinge: "hinge",
    squared_error: "squared error",
}


def playground(
    model: Any = None,
    X: Any = None,
    y: Any = None,
    loss: Callable[[Any, Any], Value] | None = None,
    names: Sequence[str] | None = None,
    optimizer: Optimizer | None = None,
    title: str | None = None,
    language: str = "en",
    texts: str | os.PathLike[str] | None = None,
) -> Page:
    """A page that trains the model, starting from its weights; the model itself does not change.

    Args:
        model: takes a point [x1, x2] and returns one score, positive for class 1, or one score for
            each class. By default the page makes a 2-8-8-1 network. Neurons can be added only to an
            MLP.
        X: n points, each with two coordinates; by default the page draws two moons.
        y: n labels: 0 and 1, or -1 and 1, or 0, 1, ..., k - 1 for k classes.
        loss: takes what the model returns and the label; by default `binary_cross_entropy` for one
            score, `cross_entropy` for several. The page takes its mean over the examples.
        names: names of the classes.
        optimizer: an SGD, Adam or AdamW, whose settings and moments the page starts from.
        title: title of the page and of the browser window.
        language: the language of the page, a column of `pages/texts.toml`.
        texts: a TOML file of your own, whose texts replace those of the page; see
            `pages/texts.py`.

    Raises:
        TypeError, ValueError: an argument is not as described.
        TraceError: the model or the loss branches on a number, as `if x > 0` does.

    >>> X, y = [[0.0, 1.0], [1.0, 0.0]], [-1, 1]
    >>> page = playground(MLP(2, [4, 1]), X, y, loss=hinge, optimizer=None)
    """
    if not (model is None or callable(model)):
        raise TypeError(f"playground expects a model that can be called, got {model!r:.60}")
    parameters = [] if model is None else _parameters(model)
    shown: dict[str, Any] = {"sizes": [2, 8, 8, 1]} if model is None else _model(model, parameters)
    outputs = shown["sizes"][-1] if "sizes" in shown else len(shown["piece"]["outputs"])
    classes = max(outputs, 2)
    points, labels = _examples(X, y, classes)
    if names is not None and len(names) != classes:
        raise ValueError(f"names expects a name for each of {classes} classes, got {list(names)}")
    usual = [cross_entropy] if outputs > 1 else [binary_cross_entropy, hinge, squared_error]
    losses = dict.fromkeys([loss, *usual] if loss else usual)  # the given one first
    title = str(title or texts_of(language, own=texts)["playground.title"])
    data = {
        "title": title,
        "pieces": _neuron_pieces(),
        "model": None if model is None else shown,
        "losses": [_loss(f, outputs, not labels or -1 in labels) for f in losses],
        "names": list(map(str, names or (["-1", "1"] if -1 in labels else range(classes)))),
        "examples": [[*x, max(0, k)] for x, k in zip(points, labels, strict=True)] or None,
        "optimizer": optimizer and _optimizer(optimizer, parameters),
        **_updates(optimizer),
        "scripts": scripts(),
    }
    sizes = "-".join(map(str, shown.get("sizes", ())))
    trained = sizes or f"a model of {len(parameters)} parameters"
    about = f"a page that trains {trained} on {len(points) or 'generated'} points"
    return Page(_page("playground", data, language, texts), about, title, height=860)


def recorded(run: Mapping[str, Any], language: str = "en") -> str:
    """The page of a recorded training run: boundary, curves and network, with playback controls.

    Args:
        run: the numbers to show, as `History.page` of `plot/history.py` collects them.
        language: the language of the page, a column of `pages/texts.toml`.

    >>> recorded({"names": ["a", "b"]})[:15]
    '<!doctype html>'
    """
    title = str(run.get("title") or texts_of(language)["recorded.title"])
    return _page("recorded", {"title": title, "run": run}, language)


def _page(
    script: str,
    data: Mapping[str, Any],
    language: str,
    texts: str | os.PathLike[str] | None = None,
) -> str:
    return html_page(
        "playground",
        script,
        ["shared/cards"],
        language=language,
        texts=texts,
        title=html.escape(data["title"]),
        data=as_json(data),
    )


# ---- The model


def _model(model: Any, parameters: Sequence[Value]) -> dict[str, Any]:
    # The model as the page needs it: the sizes of an MLP, else what it computes.
    data: dict[str, Any] = {"weights": [float(innermost(p.data)) for p in parameters]}
    if wrong := [x for x in data["weights"] if not math.isfinite(x)]:
        raise ValueError(f"a parameter of the model is {wrong[0]}: start from finite weights")
    if (sizes := _sizes(model)) is not None:
        if sizes[0] != 2:
            raise ValueError(
                "the page shows points in the plane, so it expects a model of 2 inputs, got "
                f"{sizes[0]}: build it with nin=2"
            )
        activations = [layer.neurons[0].activation for layer in model.layers]
        return data | {"sizes": sizes, "activations": activations}
    named = model.named_parameters() if isinstance(model, Module) else ()
    called = {p: name for name, p in named}
    data["piece"] = piece(lambda *x: model(list(x)), 2, parameters)
    data["called"] = [called.get(p) or p.label or f"p{i}" for i, p in enumerate(parameters)]
    return data


def _sizes(model: Any) -> list[int] | None:
    # The layer sizes of an MLP that the page can build itself; None for anything else.
    if type(model) is not MLP or {type(layer) for layer in model.layers} != {Layer}:
        return None
    sizes = [len(model.layers[0].neurons[0].w)]
    for layer in model.layers:
        kinds = {(type(n), len(n.w), n.activation) for n in layer.neurons}
        if kinds != {(Neuron, sizes[-1], layer.neurons[0].activation)}:
            return None
        sizes.append(len(layer.neurons))
    count = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))
    return sizes if count == len(model.parameters()) else None


def _parameters(model: Any) -> list[Value]:
    # Of a function: the leaves that it uses in every call.
    if isinstance(model, Module):
        return model.parameters()
    xs = [Value(0.25), Value(-0.5)]
    outputs = ([v for v in flat(model(xs)) if isinstance(v, Value)] for _ in range(2))
    first, second = (topological_order(*found) for found in outputs)
    used = set(second).difference(xs)
    return [v for v in first if v.is_leaf and not v.is_constant and v in used]


def _neuron_pieces() -> dict[str, Any]:
    # A step of a neuron's sum, which begins with its bias, and its activations.
    weighted = piece(lambda total, w, x: total + w * x, 3)
    return {"weighted": weighted, **{name: piece(f, 1) for name, f in ACTIVATIONS.items()}}


# ---- The loss


def _loss(loss: Callable[..., Value], outputs: int, signs: bool) -> dict[str, Any]:
    # With one output, the targets are 0 and 1 for cross-entropies and -1 and 1 for the hinge loss.
    # For other losses they are like the labels in y, or -1 and 1 if there is no y.
    is_entropy = loss in (binary_cross_entropy, cross_entropy)
    doubled = outputs == 1 and (loss is hinge or (signs and not is_entropy))
    targets = [-1, 1] if doubled else list(range(max(outputs, 2)))

    def behind(target: int) -> dict[str, Any]:
        return piece(lambda *z: loss(z[0] if outputs == 1 else list(z), target), outputs)

    name = KNOWN.get(loss) or getattr(loss, "__name__", "<lambda>")
    is_squared = loss is squared_error and outputs == 1
    return {
        "name": "your loss" if name == "<lambda>" else name,
        "targets": targets,
        "threshold": sum(targets) / 2 if is_squared else 0.0,  # a score above it is class 1
        "classes": [behind(target) for target in targets],
        "code": LOSSES.get(loss),
    }


# ---- Points, optimizer


def _examples(X: Any, y: Any, classes: int) -> tuple[list[list[float]], list[int]]:
    if X is None and y is None:
        return [], []
    if X is None or y is None:
        raise ValueError("playground expects both X and y, or neither: pass a label for each point")
    points, labels = [[float(c) for c in flat(x)] for x in plain(X)], flat(y)
    for x in points:
        if len(x) != 2 or not all(map(math.isfinite, x)):
            fix = without_nan("X", 2) if len(x) == 2 else "pass two columns"
            raise ValueError(f"X expects points with two finite coordinates, got {x}: {fix}")
    if len(labels) != len(points):
        expected = f"y expects {len(points)} labels, one for each point"
        raise ValueError(f"{expected}, got {len(labels)}")
    known = range(min(classes, MOST_CLASSES))
    if strange := [k for k in labels if k not in ((-1, 1) if -1 in labels else known)]:
        fix = fix_of(strange[0], "give the model an output for each class", classes)
        raise ValueError(
            f"y expects labels {', '.join(map(str, known))}{' or -1, 1' * (classes == 2)} for a "
            f"model that tells {classes} classes apart, got {strange[0]!r}: {fix}"
        )
    return points, list(map(int, labels))


def _optimizer(optimizer: Optimizer, parameters: Sequence[Value]) -> dict[str, Any]:
    name = type(optimizer).__name__
    if type(optimizer) not in (SGD, Adam, AdamW):
        raise ValueError(f"the page has SGD, Adam and AdamW, got {name}: pass one of them")
    if getattr(optimizer, "nesterov", False):
        raise ValueError("the page has no nesterov: leave it out, or train in Python")
    if set(optimizer.parameters) != set(parameters):
        fix = f"pass {name}(model.parameters())"
        raise ValueError(f"optimizer expects the parameters of the model: {fix}")
    memory = "ms"
    if isinstance(optimizer, SGD):
        name, memory = ("Momentum", "v") if optimizer.momentum else ("SGD", "")
    place = {p: i for i, p in enumerate(optimizer.parameters)}
    kept = {of: [float(optimizer._state(of)[place[p]]) for p in parameters] for of in memory}
    return {
        "name": name,
        "rate": optimizer.lr,
        "decay": optimizer.weight_decay,
        "steps": optimizer.steps,
        "memory": kept,
    }


def _updates(given: Optimizer | None) -> dict[str, Any]:
    # The optimizers that the page offers, and those of their settings that stay as they are.
    momentum = getattr(given, "momentum", 0) or 0.9
    betas, eps = getattr(given, "betas", (0.9, 0.999)), getattr(given, "eps", 1e-8)
    p = [Value(0.0)]
    offered: dict[str, Optimizer] = {
        "SGD": SGD(p),
        "Momentum": SGD(p, momentum=momentum),
        "Adam": Adam(p, betas=betas, eps=eps),
        "AdamW": AdamW(p, betas=betas, eps=eps),
    }
    rules = {name: recorded_update(optimizer) for name, optimizer in offered.items()}
    for name, rule in rules.items():
        rule["code"] = call_of(offered[name])
    return {"optimizers": rules, "fixed": {"momentum": momentum, "betas": list(betas)}}
