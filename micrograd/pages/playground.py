"""The page on which a network learns while you watch.

`playground()` makes a page that trains a small network on points in the plane, on a curve, or on
examples with any number of inputs, such as images. A reader can look at everything, down to one
weight and its update, or one neuron and its operations. `plot.animate` makes the same page for a
recorded run, with playback controls instead of training.

The page computes with recorded pieces: a step of a neuron's sum, each activation, each loss, or the
whole model if it is not an MLP; and with the recorded update rule of each optimizer.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from micrograd.core.examples import MOST_CLASSES, examples, regression
from micrograd.core.shapes import Model, Numbers, flat, shape_of
from micrograd.engine import Value, topological_order
from micrograd.losses import binary_cross_entropy_with_logits, cross_entropy, hinge, squared_error
from micrograd.nn import ACTIVATIONS, Module
from micrograd.optim import SGD, Adam, AdamW, Optimizer
from micrograd.pages.page import Page, in_languages
from micrograd.pages.pieces import Data, call_of, piece, recorded_update, state_of, weights_of
from micrograd.program.foreign import check_engine
from micrograd.program.models import Weights, stages_of
from micrograd.texts import said

Loss = Callable[..., Value]
ENTROPY, TORCH = "cross-entropy", "torch.nn.functional.{}(scores[:, 0], y.double())"
# What the page calls each loss, and how PyTorch computes it from all scores and labels y.
KNOWN: dict[Loss, tuple[str, str]] = {
    binary_cross_entropy_with_logits: (ENTROPY, TORCH.format("binary_cross_entropy_with_logits")),
    cross_entropy: (ENTROPY, "torch.nn.functional.cross_entropy(scores, y)"),
    hinge: ("hinge", "(1 - y * scores[:, 0]).relu().mean()"),
    squared_error: ("squared error", TORCH.format("mse_loss")),
}


@in_languages
def playground(
    model: Model | None = None,
    X: Numbers | None = None,
    y: Numbers | None = None,
    loss: Callable[[Any, Any], Value] | None = None,
    names: Sequence[str] | None = None,
    optimizer: Optimizer | None = None,
    title: str | None = None,
    language: str | None = None,
    texts: str | os.PathLike[str] | None = None,
    languages: Sequence[str] = (),
) -> Page:
    """A page that trains the model, starting from its weights; the model itself does not change.

    "Present" makes a slide of it: what a step did, the network, the plane and the curves. Your own
    site can embed the file in an iframe: page.html#embed has the buttons, points and network alone.

    Two inputs are shown as a plane, one as a curve, any others as a table of the points. 16 inputs,
    64, 784 or another square are also the pixels of an image, row by row from the top.

    Args:
        model: takes the inputs [x1, x2, ...] of a point and returns one score, positive for class
            1, or one score for each class, or a number to predict. By default a 2-8-8-1 network, or
            one output for each class. Neurons can be added only to an MLP, ours or the lecture's.
        X: n points with any number of inputs each, whose names are those of the columns of a table
            of pandas; or n numbers for a curve. By default the page draws two moons.
        y: n labels: 0 and 1, or -1 and 1, or 0, 1, ..., k - 1 for k classes. If there is one input,
            or if some of them are not whole, they are numbers to predict, for regression.
        loss: takes what the model returns and the label; by default for one score
            `binary_cross_entropy_with_logits`, `cross_entropy` for several, `squared_error` for
            regression. The page takes its mean over the examples. Neither may branch on a number.
        names: those of the classes.
        optimizer: an SGD, Adam or AdamW, whose settings and moments the page starts from.

    `language`, `texts` and `languages` are as in `explain`.

    >>> from micrograd.nn import MLP
    >>> playground(MLP(2, [4, 1]), [[0.0, 1.0], [1.0, 0.0]], [0, 1])
    <a page that trains 2-4-1 on 2 points: .show() opens it, .save('page.html') writes it>
    >>> from micrograd.datasets import drawn_digits
    >>> playground(MLP(64, [16, 10]), *drawn_digits())
    <a page that trains 64-16-10 on 200 points: .show() opens it, .save('page.html') writes it>
    """
    if not (model is None or callable(model)):
        raise TypeError(f"playground expects a model that can be called, got {model!r:.60}")
    layers = [] if model is None else _layers(model)
    shape, usual = shape_of(X), len(layers[0][0][0]) if layers else 2
    inputs = math.prod(shape[1:]) if shape else usual
    if X is None and inputs > 2:
        got = f"got a model of {inputs} inputs and no X: pass X and y"
        raise ValueError(f"playground expects points for a model of more than 2 inputs, {got}")
    parameters = [p for layer in layers for w, b, _ in layer for p in (*w, b)]
    known = set(flat(y) if y is not None else ())
    numeric = inputs == 1 or any(isinstance(k, float) and k % 1 > 0 for k in known)
    k = len(known) if not numeric and known == {*range(len(known))} else 2
    shown: Data = {"sizes": [inputs, 8, 8, 1 if k <= 2 else k]}
    if model is not None:
        parameters = parameters or _parameters(model, inputs)
        shown = _model(model, layers, parameters, inputs)
    outputs = shown["sizes"][-1] if "sizes" in shown else len(shown["piece"]["outputs"])
    classes = max(outputs, 2)
    if k > classes:
        expected = f"for the classes 0 to {k - 1} in y, the page expects a model of {k} outputs"
        raise ValueError(f"{expected}, got {outputs}: build it as in MLP({inputs}, [8, {k}])")
    if names is not None and len(names) != classes:
        raise ValueError(f"names expects a name for each of {classes} classes, got {list(names)}")
    signs = y is None or -1 in known
    usual_names = ("-1", "1") if -1 in known else tuple(map(str, range(classes)))
    if numeric:
        if outputs > 1:
            raise ValueError(f"regression expects a model of 1 output, got {outputs}")
        signs, called = True, list(names or usual_names)
        points = [] if X is None else [[*row, 0] for row in regression(X, y)]
    else:
        rows, labels, called = examples(X, y, names or usual_names, inputs=inputs)
        points = [[*x, k] for x, k in zip(rows, labels, strict=True)]
    can_change = "sizes" in shown  # its inputs and outputs, for other points
    others = (1, *range(3, MOST_CLASSES + 1)) if can_change else ()
    losses = {k: _losses(k, signs) for k in others}
    losses[outputs] = _losses(outputs, signs, None if numeric else loss, can_change)
    of_curve = loss if numeric and loss else squared_error
    data = {
        # a step of a neuron's sum, which begins with its bias; and its activations
        "pieces": {"weighted": piece(lambda total, w, x: total + w * x, 3)}
        | {name: piece(f, 1) for name, f in ACTIVATIONS.items()},
        "model": None if model is None else shown,
        "losses": losses,
        "inputs": [*map(str, getattr(X, "columns", ()))] or inputs,
        "isRegression": numeric,
        "regression": _loss(of_curve, 0) if numeric or can_change else None,
        "names": called,
        "examples": points or None,
        "optimizer": optimizer and state_of(optimizer, parameters),
        **_updates(optimizer),
    }
    sizes = "-".join(map(str, shown.get("sizes", ())))
    trained = sizes or f"a model of {len(parameters)} parameters"
    about = f"a page that trains {trained} on {len(points) or 'generated'} points"
    return Page("playground", data, about, 860, title)


def _model(model: Any, layers: list[Any], parameters: list[Value], inputs: int) -> Data:
    # The model as the page needs it: the sizes of an MLP, else what it computes.
    data: Data = {"weights": weights_of(parameters)}
    if layers:
        sizes = [len(layers[0][0][0]), *map(len, layers)]
        if sizes[0] != inputs:
            expected = f"for these X, the page expects a model of {inputs} inputs"
            raise ValueError(f"{expected}, got {sizes[0]}: build it with nin={inputs}")
        return data | {"sizes": sizes, "activations": [layer[0][-1] for layer in layers]}
    named = model.named_parameters() if isinstance(model, Module) else ()
    called = {p: name for name, p in named}
    data["piece"] = piece(lambda *x: model(list(x)), inputs, parameters)
    data["called"] = [called.get(p) or p.label or f"p{i}" for i, p in enumerate(parameters)]
    return data


def _layers(model: Any) -> list[list[Weights]]:
    # The layers of an MLP that the page can build itself; none of anything else.
    layers = [neurons for _, neurons in stages_of(model)]
    if not (layers and all(layers)):
        return []
    sizes = [len(layers[0][0][0]), *map(len, layers)]
    for n_in, layer in zip(sizes, layers, strict=False):
        kinds = {(len(w), b is None, kind) for w, b, kind in layer}
        if not layer[0][-1] or kinds != {(n_in, False, layer[0][-1])}:
            return []
    count = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))
    return layers if count == len(model.parameters()) else []


def _parameters(model: Any, inputs: int) -> list[Value]:
    # Of a function: the leaves that it uses in every call.
    if isinstance(model, Module):
        return model.parameters()
    results: list[Any] = []
    with suppress(Exception):  # it may take nothing but Values
        results = flat(model([0.25] * inputs))
    check_engine("playground", results)
    xs = [Value(0.25) for _ in range(inputs)]
    outputs = ([v for v in flat(model(xs)) if isinstance(v, Value)] for _ in range(2))
    first, second = (topological_order(*found) for found in outputs)
    used = set(second).difference(xs)
    return [v for v in first if v.is_leaf and not v.is_constant and v in used]


def _losses(
    outputs: int, signs: bool, own: Loss | None = None, can_change: bool = True
) -> list[Data]:
    # Those to choose from for so many outputs, a given one first.
    usual = [f for f in KNOWN if (f is cross_entropy) == (outputs > 1)]
    found = dict.fromkeys([own, *usual] if own else usual)
    return [_loss(f, outputs, signs, can_change and f is cross_entropy) for f in found]


def _loss(loss: Loss, outputs: int, signs: bool = False, takes_label: bool = False) -> Data:
    # With one output, the targets are 0 and 1 for cross-entropies and -1 and 1 for the hinge loss.
    # For other losses they are like the labels in y, or -1 and 1 if there is no y. In regression,
    # the number to predict is an input of the piece; so is the label if it takes one.
    is_entropy = loss in (binary_cross_entropy_with_logits, cross_entropy)
    doubled = outputs == 1 and (loss is hinge or (signs and not is_entropy))
    targets = ([-1, 1] if doubled else list(range(max(outputs, 2)))) if outputs else []

    def behind(target: int) -> Data:
        return piece(lambda *z: loss(z[0] if outputs == 1 else list(z), target), outputs)

    classes = [behind(target) for target in targets if not takes_label]
    if takes_label:
        classes = [piece(lambda *z: loss(list(z[:-1]), z[-1].data), outputs + 1)]
    is_squared = loss is squared_error and outputs == 1
    function = getattr(loss, "__name__", "<lambda>")
    called = said("pages", "loss.your loss") if function == "<lambda>" else function
    name, pytorch = KNOWN.get(loss, (called, ""))
    return {
        **{"name": name, "function": function, "pytorch": pytorch, "targets": targets},
        "threshold": sum(targets) / 2 if is_squared else 0.0,  # a score above it is class 1
        "classes": classes or [piece(loss, 2)],
    }


def _updates(given: Optimizer | None) -> Data:
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
    rules = {name: recorded_update(o) | {"code": call_of(o)} for name, o in offered.items()}
    return {"optimizers": rules, "fixed": {"momentum": momentum, "betas": list(betas)}}
