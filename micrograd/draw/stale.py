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

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from numbers import Real

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


def times_added(values: Sequence[Value]) -> int:
    """How many times larger the gradients of all leaves are than the contributions to them, or 1.

    After several backward passes from the same result, it is the number of passes.
    """
    shares: dict[Value, Number] = defaultdict(int)
    for v in values if len(values) <= MOST else ():
        with suppress(ArithmeticError, ValueError, TypeError, RuntimeError):
            for operand, share in zip(v._prev, contributions(v, v.grad), strict=True):
                shares[operand] += share
    leaves = [v for v in shares if not v._prev and not v.is_constant]
    pairs = [(innermost(v.grad), innermost(shares[v])) for v in leaves]
    if not all(isinstance(x, Real) for pair in pairs for x in pair):
        return 1
    ratios = {round(grad / share) for grad, share in pairs if share}
    times = ratios.pop() if len(ratios) == 1 else 1
    return times if all(_near(grad, times * share) for grad, share in pairs) else 1


def _near(x: Number, y: Number) -> bool:
    are_plain = isinstance(x, Real) and isinstance(y, Real)
    return not are_plain or x != x or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12)
