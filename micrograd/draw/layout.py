"""Limits that keep the layout of a graph fast: Graphviz would take minutes for many long arrows.

Graphviz places nodes in columns, which are called steps here. The span of an arrow is the number of
steps from its start to its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

REACH = 3000  # steps: the limit for the sum of the spans of all arrows
NEAR = 8  # steps: an arrow with at most this span is always drawn

# If the short arrows alone span more than this, Graphviz gets fewer attempts to improve the order
# within columns. In smaller graphs this would save little time and make the picture less symmetric.
TANGLED = 3500  # steps
QUICK = {"nslimit": "0.2", "mclimit": "0.05"}


def far_arrows(
    operands_of: Mapping[str, Sequence[str]], reach: int = REACH
) -> tuple[set[tuple[str, int, str]], dict[str, str]]:
    """The arrows to leave out, and Graphviz attributes for the layout of the rest.

    The longest arrows are left out until the spans of the others add up to at most `reach`. An
    operation is one step after its last operand; a leaf is one step before its first user.

    Args:
        operands_of: maps each node's name to the names of its operands, in topological order.
        reach: the limit for the sum of the spans of all arrows.

    Returns:
        A set of arrows (node, index of the operand, operand), and a dict of attributes.

    >>> far_arrows({"a": [], "b": ["a"], "c": ["a", "b"]})
    (set(), {})
    """
    step: dict[str, int] = {}
    before_first_user: dict[str, int] = {}
    for name, operands in operands_of.items():
        # a layer that feeds itself has an operand that has no step yet
        step[name] = 1 + max((step.get(operand, 0) for operand in operands), default=-1)
        for operand in operands:
            known = before_first_user.get(operand, step[name])
            before_first_user[operand] = min(known, step[name] - 1)
    arrows = [
        (step[name] - (step[operand] or before_first_user[operand]), name, i, operand)
        for name, operands in operands_of.items()
        for i, operand in enumerate(operands)
    ]
    far: set[tuple[str, int, str]] = set()
    left = sum(span for span, *_ in arrows)
    for span, name, i, operand in sorted(arrows, reverse=True):
        if left <= reach or span <= NEAR:
            break
        far.add((name, i, operand))
        left -= span
    return far, QUICK if left > TANGLED else {}
