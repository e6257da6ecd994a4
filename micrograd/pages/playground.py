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
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from micrograd.core.node import innermost
from micrograd.core.shapes import fix_of, plain, without_nan
from micrograd.engine import Value, topological_order
from micrograd.losses import binary_cross_entropy, cross_entropy, hinge, squared_error
from micrograd.nn import ACTIVATIONS, MLP, Layer, Module, Neuron
from micrograd.optim import SGD, Adam, AdamW, Optimizer
from micrograd.pages.page import Page, as_json, html_page
from micrograd.pages.pieces import piece
from micrograd.pages.rules import recorded_update
from micrograd.pages.texts import texts_of

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

    Raises:
        TypeError, ValueError: an argument is not as described.
        TraceError: the model or the loss branches on a number, as `if x > 0` does.

    >>> X, y = [[0.0, 1.0], [1.0, 0.0]], [-1, 1]
    >>> page = playground(MLP(2, [4, 1]), X, y, loss=hinge, optimizer=None)
    """
    points, labels, signs = _examples(X, y)
    recorded, outputs = _model(model)
    classes = 2 if outputs == 1 else outputs
    if labels and max(labels) >= classes:
        fix = fix_of(max(labels), f"give its last layer {max(labels) + 1} neurons", classes)
        raise ValueError(f"y has the label {max(labels)}, but the model tells {classes} classes "
                         f"apart: {fix}")  # fmt: skip
    title = str(title or texts_of(language)["playground.title"])
    data = {
        "title": title,
        "pieces": _neuron_pieces(),
        "model": recorded,
        "losses": _losses(loss, outputs, signs),
        "names": _names(names, classes, signs),
        "examples": [[*x, label] for x, label in zip(points, labels, strict=True)] or None,
        "optimizer": _optimizer(optimizer, _parameters(model) if recorded else []),
        **_updates(optimizer),
    }
    trained = _text(recorded) if recorded else "2-8-8-1"
    about = f"a page that trains {trained} on {len(points) or 'generated'} points"
    page = _page("playground", data, title, language)
    return Page(page, about=about, title=title, height=860)


def recorded(run: Mapping[str, Any], language: str = "en") -> str:
    """The page of a recorded training run: boundary, curves and network, with playback controls.

    Args:
        run: the numbers to show, as `History.page` of `plot/history.py` collects them.
        language: the language of the page, a column of `pages/texts.toml`.

    >>> recorded({"names": ["a", "b"]})[:15]
    '<!doctype html>'
    """
    title = str(run.get("title") or texts_of(language)["recorded.title"])
    return _page("recorded", {"title": title, "run": run}, title, language)


def _page(script: str, data: Mapping[str, Any], title: str, language: str) -> str:
    return html_page(
        "playground",
        script,
        ["shared/cards"],
        language=language,
        title=html.escape(title),
        data=as_json(data),
    )


# ---- The model


def _model(model: Any) -> tuple[dict[str, Any] | None, int]:
    # The model as the page needs it, and its number of outputs.
    if model is None:
        return None, 1
    if not callable(model):
        raise TypeError(f"playground expects a model that can be called, got {model!r:.60}")
    parameters = _parameters(model)
    data: dict[str, Any] = {"weights": [_number(p) for p in parameters]}
    if (sizes := _sizes(model)) is not None:
        if sizes[0] != 2:
            raise ValueError(f"the page shows points in the plane, so it expects a model of 2 "
                             f"inputs, got {sizes[0]}: build it with nin=2")  # fmt: skip
        data["sizes"] = sizes
        data["activations"] = [layer.neurons[0].activation for layer in model.layers]
        return data, sizes[-1]
    data["piece"] = piece(model, 2, parameters)
    named = model.named_parameters() if isinstance(model, Module) else ()
    called = {p: name for name, p in named}
    data["called"] = [called.get(p) or p.label or f"p{i}" for i, p in enumerate(parameters)]
    return data, len(data["piece"]["outputs"])


def _sizes(model: Any) -> list[int] | None:
    # The layer sizes of an MLP that the page can build itself; None for anything else.
    if not isinstance(model, MLP) or type(model).__call__ is not MLP.__call__:
        return None
    sizes, expected = [len(model.layers[0].neurons[0].w)], []
    for layer in model.layers:
        neurons = getattr(layer, "neurons", [])
        if type(layer) is not Layer or {type(neuron) for neuron in neurons} != {Neuron}:
            return None
        if {(len(n.w), n.activation) for n in neurons} != {(sizes[-1], neurons[0].activation)}:
            return None
        sizes.append(len(neurons))
        expected += [p for neuron in neurons for p in (*neuron.w, neuron.b)]
    return sizes if expected == model.parameters() else None


def _parameters(model: Any) -> list[Value]:
    if isinstance(model, Module):
        return model.parameters()
    # The leaves that a function uses in every call.
    first, second = (_leaves(model) for _ in range(2))
    return [leaf for leaf in first if leaf in second]


def _leaves(function: Callable[[Any], Any]) -> dict[Value, None]:
    xs = [Value(0.25), Value(-0.5)]
    returned = function(xs)
    outputs = [returned] if isinstance(returned, Value) else list(returned)
    nodes = topological_order(*(v for v in outputs if isinstance(v, Value)))
    leaves = (v for v in nodes if not v._prev and not v.is_constant)
    return {leaf: None for leaf in leaves if leaf not in xs}


def _text(model: Mapping[str, Any]) -> str:
    if "sizes" in model:
        return "-".join(map(str, model["sizes"]))
    return f"a model of {len(model['weights'])} parameters"


def _neuron_pieces() -> dict[str, Any]:
    # A linear neuron with one input computes b + w x. With the sum so far instead of b, this is one
    # step of a larger neuron's sum.
    before = random.getstate()
    one = Neuron(1, activation="linear")
    random.setstate(before)

    def weighted(given: list[Value]) -> Value:
        one.b, one.w = given[0], [given[1]]
        total: Value = one([given[2]])
        return total

    def bent(activation: Callable[[Value], Value]) -> dict[str, Any]:
        return piece(lambda given: activation(given[0]), 1)

    return {"weighted": piece(weighted, 3), **{name: bent(f) for name, f in ACTIVATIONS.items()}}


# ---- The loss


def _losses(
    given: Callable[[Any, Any], Value] | None, outputs: int, signs: bool | None
) -> list[dict[str, Any]]:
    # The given loss first, then others that the page offers.
    usual = [cross_entropy] if outputs > 1 else [binary_cross_entropy, hinge, squared_error]
    first = [given] if given else []
    return [_loss(loss, outputs, signs) for loss in [*first, *(f for f in usual if f != given)]]


def _loss(loss: Callable[..., Value], outputs: int, signs: bool | None) -> dict[str, Any]:
    classes = range(2 if outputs == 1 else outputs)
    # With one output, the targets are 0 and 1 for cross-entropies and -1 and 1 for the hinge loss.
    # For other losses they are like the labels in y, or -1 and 1 if there is no y.
    doubled = outputs == 1 and (
        loss is hinge or (loss not in (binary_cross_entropy, cross_entropy) and signs is not False)
    )
    targets = [2 * k - 1 if doubled else k for k in classes]

    def behind(target: int) -> dict[str, Any]:
        return piece(lambda scores: loss(scores[0] if outputs == 1 else scores, target), outputs)

    squared = loss is squared_error and outputs == 1
    name = KNOWN.get(loss) or getattr(loss, "__name__", "loss").strip("<>")
    return {
        "name": name if name != "lambda" else "your loss",
        "targets": targets,
        "threshold": sum(targets) / 2 if squared else 0.0,  # a score above it is class 1
        "classes": [behind(target) for target in targets],
    }


# ---- Points, names, optimizer


def _examples(X: Any, y: Any) -> tuple[list[list[float]], list[int], bool | None]:
    # Points, class indices, and whether the labels were -1 and 1; None if there are no labels.
    if X is None and y is None:
        return [], [], None
    if X is None or y is None:
        raise ValueError("playground expects both X and y, or neither: pass a label for each point")
    points = [[float(c) for c in _listed(x, "a point of X")] for x in _listed(X, "X")]
    wrong = next((x for x in points if len(x) != 2 or not all(map(math.isfinite, x))), None)
    if wrong is not None or not points:
        fix = f": {without_nan('X', 2)}" if wrong and len(wrong) == 2 else ""
        got = f"{wrong or 'none'}{fix}"
        raise ValueError(f"X expects points with two finite coordinates, got {got}")
    given = [_label(label) for label in _listed(y, "y")]
    if len(given) != len(points):
        raise ValueError(f"y expects {len(points)} labels, one for each point, got {len(given)}")
    signs = -1 in given
    known = {-1, 1} if signs else set(range(MOST_CLASSES))
    if strange := [label for label in given if label not in known]:
        fix = fix_of(strange[0], "pass class indices", MOST_CLASSES)
        raise ValueError("y expects labels 0 and 1, or -1 and 1, or 0, 1, ..., k - 1 for k classes "
                         f"(at most {MOST_CLASSES}), got {strange[0]!r}: {fix}")  # fmt: skip
    return points, [int(label > 0) if signs else int(label) for label in given], signs


def _listed(x: Any, name: str) -> list[Any]:
    x = plain(x)
    if not isinstance(x, Iterable):
        raise TypeError(f"expected {name} to be a list, got {x!r:.40}")
    return list(x)


def _label(label: Any) -> Any:
    if isinstance(label, str):
        return label
    if isinstance(label, Iterable):  # y of shape (n, 1)
        (label,) = label
    return float(label)


def _names(names: Sequence[str] | None, classes: int, signs: bool | None) -> list[str]:
    if names is None:
        return ["-1", "1"] if signs else [str(k) for k in range(classes)]
    if len(names) != classes:
        raise ValueError(f"names expects a name for each of {classes} classes, got {list(names)!r}")
    return [str(name) for name in names]


def _optimizer(optimizer: Optimizer | None, parameters: Sequence[Value]) -> dict[str, Any] | None:
    if optimizer is None:
        return None
    kind = type(optimizer)
    if kind not in (SGD, Adam, AdamW):
        raise ValueError(f"the page has SGD, Adam and AdamW, got {kind.__name__}: pass one of them")
    if getattr(optimizer, "nesterov", False):
        raise ValueError("the page has no nesterov: leave it out, or train in Python")
    if set(optimizer.parameters) != set(parameters):
        raise ValueError("optimizer expects the parameters of the model: pass "
                         f"{kind.__name__}(model.parameters())")  # fmt: skip
    data: dict[str, Any] = {"rate": optimizer.lr, "decay": optimizer.weight_decay}
    data["steps"] = optimizer.steps
    data["name"], memory = kind.__name__, ["m", "s"]
    if isinstance(optimizer, SGD):
        data["name"], memory = ("Momentum", ["v"]) if optimizer.momentum else ("SGD", [])
    place = {p: i for i, p in enumerate(optimizer.parameters)}
    data["memory"] = {
        name: [float(optimizer._state(name)[place[p]]) for p in parameters] for name in memory
    }
    return data


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
    return {"optimizers": rules, "fixed": {"momentum": momentum, "betas": list(betas)}}


def _number(p: Value) -> float:
    number = float(innermost(p.data))
    if not math.isfinite(number):
        raise ValueError(f"a parameter of the model is {number}: start from finite weights")
    return number
