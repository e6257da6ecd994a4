"""The error messages of operations: what went wrong, with which operands, and how to fix it."""

from collections.abc import Sequence
from typing import Any

from micrograd.core.arithmetic import as_number
from micrograd.core.pause import watchers

FAILURES = ArithmeticError, ValueError, TypeError, RecursionError  # what operations may raise

advice = {  # why an operation fails, and how to fix it; engine.py adds more entries
    "** ZeroDivisionError": "0 cannot have a negative exponent; keep the base above 0: add 1e-8",
    "** OverflowError": "the power exceeds the largest float, 1.8e308; in training, try a tenth of "
    "the learning rate, else a base closer to 1",
    "** ValueError": "a fractional exponent, or a derivative with respect to the exponent, needs a "
    "base above 0; use .maximum(1e-8) on the base, or an int as the exponent",
}


def misuse(node: Any) -> TypeError | None:
    """The error to raise if the data or grad of a Value was set to something invalid, else None.

    Data is checked when it is used: a __setattr__ would double the cost of creating a node.
    """
    name = repr(node.label) if node.label else "a Value"
    of_data = "use float(), or values(...) for an array"
    for attribute, fix in ("data", of_data), ("grad", "reset it to 0"):
        x = getattr(node, attribute)
        if as_number(x) is NotImplemented:
            got = f"got {type(x).__name__} {x!r:.40}"
            return TypeError(f"expected a number as the {attribute} of {name}, {got}: {fix}")
    nearby = [node.data]
    for other in nearby:  # grows in the loop: the data, then the nodes it was computed from
        if other is node:
            reason = f"the data of {name} is a Value that was computed from {name} itself"
            fix = "use .data on the right as well, as in p.data = p.data - 0.1 * p.grad"
            return TypeError(f"{reason}: {fix}")
        if len(nearby) < 50:  # self-reference shows within a few nodes, and graphs can be large
            nearby += getattr(other, "_prev", ())
    return None


def explained(error: Exception, op: str, operands: Sequence[Any], place: str = "") -> Exception:
    """An error of the same kind, whose message names the operation, its operands and the fix."""
    if reason := next(filter(None, map(misuse, operands)), None):
        return reason
    if isinstance(error, (TypeError, RecursionError)):
        return error
    kinds = (ZeroDivisionError, OverflowError, ArithmeticError, ValueError)
    kind: type[Exception] = next(k for k in kinds if isinstance(error, k))
    # the name of a power, such as `**0.5`, includes the exponent
    why = advice.get(f"{op[:2]} {kind.__name__}") or advice.get(op) or error
    for watcher in watchers:
        watcher.failed(op, operands)
    return kind(f"{place}{described(op, operands)}: {why}")


def described(
    op: str, operands: Sequence[Any], text: str = "{formula} with {operands}", joint: str = " and "
) -> str:
    """An operation and its operands, such as `x / y with x = 3.0 and y = 0.0 ('n')`."""
    names, symbol = "xyzuvw"[: len(operands)], "**" if op[:2] == "**" else op
    formula = f"x {symbol} {op.removeprefix(symbol) or names[-1:]}"
    if op.isidentifier():
        formula = f"{op}({', '.join(names)})"
    known = joint.join(
        f"{name} = {a.data!r}" + (f" ({a.label!r})" if a.label else "")
        for name, a in zip(names, operands, strict=False)
    )
    return text.format(formula=formula, operands=known)
