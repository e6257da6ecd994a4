"""Chapter 4: losses, which say in one number how wrong an output is.

Each takes one example and gives one Value; the loss of a batch is their mean.

    >>> model_outputs, targets = [Value(2.0), Value(-1.0)], [1.0, -1.0]
    >>> losses = [squared_error(p, t) for p, t in zip(model_outputs, targets)]
    >>> (sum(losses) / len(losses)).item()
    0.5

The cross-entropies take logits, that is scores of any size, and not probabilities: log(sigmoid(z))
and log(softmax(z)) would take the logarithm of 0 where a score is large. They are written with the
identity, true for every number m,

    log(sum_k e^z_k)  =  m + log(sum_k e^(z_k - m))

and m the largest score, so that no exponential overflows and one of them is 1. Since the right side
does not depend on m, m enters as a constant (detached), and derivatives of all orders stay exact,
also where two scores tie for the largest.

Letters: z logit, t target, m shift.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from micrograd.engine import Value, take

__all__ = ["binary_cross_entropy", "cross_entropy", "hinge", "squared_error"]


def squared_error(prediction: Any, target: Any) -> Value:
    """The square of the difference, for regression.

        loss = (p - t)^2        d loss / d p = 2 (p - t)

    >>> squared_error(Value(3.0), 1.0).item()
    4.0
    """
    difference: Value = _value(prediction) - target
    return difference**2


def hinge(score: Any, target: Any) -> Value:
    """How far the score falls short of a margin of 1 on the target's side, for two classes.

        loss = max(0, 1 - t s)        d loss / d s = -t where t s < 1, else 0

    Args:
        score: s, any real number; its sign is the class.
        target: t, -1 or 1.

    Raises:
        ValueError: the target is another number.

    >>> hinge(Value(0.25), 1).item(), hinge(Value(0.25), -1).item(), hinge(Value(3.0), 1).item()
    (0.75, 1.25, 0.0)
    """
    if _is_known(target) and target not in (-1, 1):
        raise ValueError(
            f"hinge expects a target of -1 or 1, got {target}: 2 * y - 1 makes it of a y in 0, 1"
        )
    shortfall: Value = 1 - _value(score) * target
    return shortfall.relu()


def binary_cross_entropy(logit: Any, target: Any) -> Value:
    """The negative log probability of the target, for two classes with P(1) = sigmoid(logit).

        loss = log(e^z + 1) - t z        d loss / d z = sigmoid(z) - t

    Args:
        logit: z, any real number (stable at +-1000).
        target: t, 0 or 1, or the probability of class 1, in [0, 1].

    Raises:
        ValueError: the target lies outside [0, 1].

    >>> z = Value(0.0)
    >>> loss = binary_cross_entropy(z, 1)
    >>> loss.backward()
    >>> round(loss.item(), 4), z.grad
    (0.6931, -0.5)
    """
    if _is_known(target) and not 0 <= target <= 1:
        raise ValueError(
            f"binary_cross_entropy expects a target from 0 to 1, got {target}: (t + 1) / 2 makes "
            "it of a t in -1, 1"
        )
    z = _value(logit)
    m = z.maximum(0).detach()
    loss: Value = ((z - m).exp() + (-m).exp()).log() + (m - z * target)
    return loss


def cross_entropy(logits: Sequence[Any], label: Any) -> Value:
    """The negative log probability that a softmax over the logits gives to the label.

        loss = log(sum_k e^z_k) - z_label        d loss / d z_k = p_k - [k = label]

    Args:
        logits: one for each of n classes, any real numbers (stable at +-1000).
        label: index of the true class, 0 <= label < n.

    Raises:
        IndexError: the label is not one of the n classes.
        TypeError: the logits are a single Value, or the label is no integer.
        ValueError: there are no logits.

    >>> round(cross_entropy([Value(1.0), Value(1.0)], 0).item(), 4)
    0.6931
    """
    if not isinstance(logits, Iterable):
        got = "a single Value" if isinstance(logits, Value) else repr(logits)
        raise TypeError(
            f"cross_entropy expects a list of logits, one for each class, got {got}: "
            "use binary_cross_entropy, or a last layer of two neurons or more"
        )
    zs = [_value(z) for z in logits]
    if not zs:
        raise ValueError("cross_entropy expects at least one logit, got none")
    m = reduce(Value.maximum, zs).detach()
    shifted = [z - m for z in zs]
    total: Any = sum(z.exp() for z in shifted)
    try:
        chosen = take(shifted, label)
    except (IndexError, TypeError) as error:
        raise type(error)(
            f"cross_entropy expects as label the index of one of {len(zs)} classes, an int from 0 "
            f"to {len(zs) - 1}, got {label!r}"
        ) from None
    loss: Value = total.log() - chosen
    return loss


def _value(x: Any) -> Value:
    return x if isinstance(x, Value) else Value(x)


def _is_known(target: Any) -> bool:  # and not a number that is still to come, as a recording one
    return isinstance(target, numbers.Real)
