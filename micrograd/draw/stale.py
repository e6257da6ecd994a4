"""Numbers that do not belong together: data that changed, and gradients that were added up.

>>> x = Value(2.0)
>>> y = x * x
>>> y.backward()
>>> y.backward()
>>> times_added([x, y])
2
>>> x.data = 5.0
>>> now_of([x, y])
{Value(data=4.0, grad=1): 25.0}
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from numbers import Real
from typing import Any

from micrograd.core.arithmetic import Number
from micrograd.core.node import innermost
from micrograd.derivatives import again, contributions, is_own_operation
from micrograd.engine import Value

MOST = 2000  # Values: about 30 ms


def now_of(values: Sequence[Value]) -> dict[Value, Number]:
    """What each result would be now, if the data of its operands have changed since.

    The Values are in topological order. A user's own operation is left out, and what follows it.
    """
    fresh = {v: v for v in values if not v._prev}
    for v in values if len(values) <= MOST else ():
        if v._prev and not is_own_operation(v):
            with suppress(ArithmeticError, ValueError, TypeError, KeyError):
                fresh[v] = again(v._op, [fresh[operand].detach() for operand in v._prev])
    return {v: x.data for v, x in fresh.items() if v._prev and not _near(v.data, x.data)}


def received(values: Sequence[Value]) -> dict[Value, list[Number]]:
    """The contributions to each Value by the gradients of its users; {} for very many Values."""
    shares: dict[Value, list[Number]] = defaultdict(list)
    for v in values if len(values) <= MOST else ():
        with suppress(ArithmeticError, ValueError, TypeError, RuntimeError):
            for operand, share in zip(v._prev, contributions(v, v.grad), strict=True):
                shares[operand].append(innermost(share))
    return shares


def add_up(shares: Sequence[Any], grad: Any) -> bool:
    """Whether contributions add up to a gradient, as far as a drawing shows: it has four digits.

    If it is unknown, as for NaN, or for formulas instead of numbers, it is True.
    """
    with suppress(TypeError):
        return not 10_000 * abs(sum(shares) - grad) > sum(map(abs, shares)) + abs(grad)
    return True


def times_added(values: Sequence[Value]) -> int:
    """How many times larger the gradients of all leaves are than the contributions to them, or 1.

    After several backward passes from the same result, it is the number of passes.
    """
    leaves = {v: x for v, x in received(values).items() if not v._prev and not v.is_constant}
    grads = [innermost(v.grad) for v in leaves]
    for grad, shares in zip(grads, leaves.values(), strict=True):
        with suppress(ArithmeticError, ValueError, TypeError):  # no finite number, or a formula
            n = round(grad / sum(shares))
            added = ([n * x for x in each] for each in leaves.values())
            return n if all(map(add_up, added, grads)) else 1
    return 1


def _near(x: Number, y: Number) -> bool:
    are_plain = isinstance(x, Real) and isinstance(y, Real)
    return not are_plain or x != x or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12)
