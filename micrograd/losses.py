"""Loss functions: one number that measures how wrong an output is.

Each function takes one example and returns its loss, or takes a batch, which has one axis more, and
returns the mean. Shape (n, 1), as of a one-neuron layer, fits (n,); other differences are errors.

    >>> squared_error([Value(2.0), Value(-1.0)], [1.0, -1.0]).item()
    0.5

The cross-entropies, except for `binary_cross_entropy`, take logits, which are scores of any size:
for large ones, log(sigmoid(z)) and log(softmax(z)) would take the logarithm of 0. They use

    log(sum_k e^z_k)  =  m + log(sum_k e^(z_k - m)),        true for every number m,

with the largest score as m, so that no exponential overflows and one of them is 1. As the result
does not depend on m, m is a constant: derivatives stay exact, even if two scores are the largest.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from functools import reduce
from typing import Any

from micrograd.core.examples import fix_of
from micrograd.core.node import as_constant, as_value, innermost
from micrograd.core.origin import note
from micrograd.core.shapes import Numbers, flat, plain, shape_of
from micrograd.engine import Value
from micrograd.operations import take


def squared_error(prediction: Numbers, target: Numbers) -> Value:
    """The squared difference, for regression.

    loss = (p - t)^2        d loss / d p = 2 (p - t)

    >>> squared_error(Value(3.0), 1.0).item()
    4.0
    """
    losses = [(p - t) ** 2 for p, t in _pairs("squared_error", prediction, target)]
    return _mean("squared error", losses, prediction, target)


def hinge(score: Numbers, target: Numbers) -> Value:
    """How far the score falls short of a margin of 1 on the target's side, for two classes.

        loss = max(0, 1 - t s)        d loss / d s = -t where t s < 1, else 0

    The sign of the score s gives the class; the target t is -1 or 1.

    >>> hinge(Value(0.25), 1).item(), hinge(Value(0.25), -1).item(), hinge(Value(3.0), 1).item()
    (0.75, 1.25, 0.0)
    """
    losses = []
    for s, t in _pairs("hinge", score, target):
        if _is_known(t) and t not in (-1, 1):
            fix = fix_of(t, "for labels 0 and 1, pass 2 * y - 1", classes=2)
            raise ValueError(f"hinge expects a target of -1 or 1, got {t}: {fix}")
        losses.append((1 - s * t).relu())
    return _mean("hinge", losses, score, target)


def binary_cross_entropy_with_logits(logit: Numbers, target: Numbers) -> Value:
    """The negative log probability of the target for two classes, with P(1) = sigmoid(logit).

        loss = log(e^z + 1) - t z        d loss / d z = sigmoid(z) - t

    The target t is 0 or 1, or the probability of class 1. Stable at z = +-1000.

    >>> round(binary_cross_entropy_with_logits(Value(0.0), 1).item(), 4)
    0.6931
    """
    losses = []
    for z, t in _pairs("binary_cross_entropy_with_logits", logit, target):
        _check_target(t)
        m = as_constant(z.maximum(0).detach().data)
        losses.append(((z - m).exp() + (-m).exp()).log() + (m - z * t))
    return _mean("cross entropy", losses, logit, target)


def binary_cross_entropy(probability: Numbers, target: Numbers) -> Value:
    """The negative log probability of the target for two classes, with P(1) = probability.

        loss = -t log p - (1 - t) log(1 - p)        d loss / d p = (p - t) / (p (1 - p))

    The target t is 0 or 1, or a probability. As in PyTorch, no logarithm is below -100, because
    a saturated sigmoid is 0.0 or 1.0; there, the derivative of the logarithm is 0. If the last
    operation is a sigmoid, use `binary_cross_entropy_with_logits` instead.

    >>> round(binary_cross_entropy(Value(0.7), 1).item(), 4)
    0.3567
    """
    losses = []
    for p, t in _pairs("binary_cross_entropy", probability, target):
        _check_target(t)
        if _is_known(known := innermost(p)) and not 0 <= known <= 1:
            fix = "for logits, use binary_cross_entropy_with_logits"
            raise ValueError(f"expected a probability from 0 to 1, got {known}: {fix}")
        log_p, log_q = (q.maximum(math.exp(-100)).log() for q in (p, 1 - p))
        losses.append(-(t * log_p) - (1 - t) * log_q)
    return _mean("cross entropy", losses, probability, target)


def cross_entropy(logits: Numbers, label: Numbers) -> Value:
    """The negative log probability of the label under a softmax over the logits.

        loss = log(sum_k e^z_k) - z_label        d loss / d z_k = p_k - [k = label]

    The logits are one per class, or for a batch an array of shape (n, k); the label is the index of
    the true class, 0 <= label < k, or for a batch an array of shape (n,). Stable at +-1000.

    >>> round(cross_entropy([Value(1.0), Value(1.0)], 0).item(), 4)
    0.6931
    """
    losses = []
    for row, k in _rows(logits, label):
        zs = [*map(as_value, row)]
        m = as_constant(reduce(Value.maximum, zs).detach().data)
        shifted = [z - m for z in zs]
        total: Any = sum(z.exp() for z in shifted)
        try:
            losses.append(total.log() - take(shifted, k))
        except (IndexError, TypeError) as error:
            fix = fix_of(k, "pass the index of the true class", classes=len(zs))
            if len(zs) == 1:
                fix = "for a single output, use binary_cross_entropy_with_logits"
            expected = f"the label of one of {len(zs)} classes, an int from 0 to {len(zs) - 1}"
            raise type(error)(f"cross_entropy expects {expected}, got {k!r}: {fix}") from None
    return _mean("cross entropy", losses, logits, label)


def _check_target(t: Any) -> None:
    if _is_known(t) and (isinstance(t, str) or not 0 <= t <= 1):
        fix = fix_of(t, "for labels -1 and 1, pass (y + 1) / 2", classes=2)
        raise ValueError(f"binary_cross_entropy expects a target from 0 to 1, got {t}: {fix}")


def _pairs(loss: str, predictions: Numbers, targets: Numbers) -> Iterable[tuple[Value, Any]]:
    # The prediction and the target of one example, or of each example of a batch.
    shape, expected = shape_of(predictions), shape_of(targets)
    if shape not in (expected, (*expected, 1)) and expected != (*shape, 1):
        raise ValueError(f"{loss} expects two equal shapes, got {shape} and {expected}")
    return zip(map(as_value, flat(predictions)), flat(targets), strict=True)


def _rows(logits: Numbers, labels: Numbers) -> Iterable[tuple[Iterable[Numbers], Any]]:
    # The logits and the label of one example, or of each example of a batch.
    rows = plain(logits)
    if not isinstance(rows, Iterable):
        fix = "use binary_cross_entropy_with_logits, or a last layer of two neurons"
        raise TypeError(f"cross_entropy expects a list of logits, got {rows!r}: {fix}")
    shape, expected = shape_of(rows), shape_of(labels)
    if len(shape) <= 1 and not expected:
        return [(rows, labels)]
    if len(shape) != 2 or expected != shape[:1]:
        got = f"got {shape} and {expected}: {fix_of(labels, 'pass a label for each row')}"
        raise ValueError(f"cross_entropy expects logits (n, k) and labels (n,), {got}")
    return zip(rows, flat(labels), strict=True)


def _mean(operation: str, losses: list[Value], prediction: Any, target: Any) -> Value:
    if not losses:
        raise ValueError("expected a loss of at least one example, got an empty batch")
    total: Any = sum(losses)
    mean: Value = total / len(losses) if len(losses) > 1 else total
    if hasattr(prediction, "ndim"):
        note(mean, "array", (operation, (prediction, target)))
    return mean


def _is_known(target: object) -> bool:  # a traced number has no value yet, so it cannot be checked
    return isinstance(target, (numbers.Real, str))
