"""Takes means over lanes, and finds which instructions are needed.

A lane is one example of the batch. Instructions that depend only on parameters and constants are
uniform: they run once. All others run in every lane. The result of a program and the gradients of
its parameters are means over lanes. A mean can move inwards past a uniform operand u:

    mean(u + x) = u + mean(x)        mean(u x) = u mean(x)        mean(x / u) = mean(x) / u

So a penalty on the weights and all of its derivatives are computed once, outside the lanes.

    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> p, x = recording.parameter(2.0), recording.input(3.0)
    >>> [mean] = averaged(recording, [(x.tanh() + p * p).place])
    >>> [recording.instructions[i].op for i in needed(recording.instructions, [mean])]
    ['input', 'input', 'tanh', '*', 'mean', '+']
"""

from __future__ import annotations

from collections.abc import Sequence

from micrograd.compiler.simplify import Instructions, Simplified


def averaged(recording: Simplified, places: Sequence[int]) -> list[int]:
    """Adds the means over lanes of these results to the recording, and returns their places."""
    steps = recording.instructions
    lanes, operands_of = steps.lanes, steps.operands

    def moves_inwards(place: int) -> bool:
        op, operands = steps.ops[place], operands_of[place]
        if op in ("+", "-", "*"):
            return not all(lanes[i] for i in operands)
        return op == "neg" or (op == "/" and not lanes[operands[1]])

    wanted: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place not in wanted and lanes[place] and moves_inwards(place):
            waiting += operands_of[place]
        wanted.add(place)
    mean: dict[int, int] = {}
    for place in sorted(wanted):
        if not lanes[place]:
            mean[place] = place
        elif moves_inwards(place):
            operands = tuple(mean[i] for i in operands_of[place])
            mean[place] = recording.add(steps.ops[place], operands)
        else:
            mean[place] = recording.add("mean", (place,))
    return [mean[place] for place in places]


def uses(operands: Sequence[tuple[int, ...]], results: Sequence[int]) -> list[int]:
    """How often each instruction is used, either as a result or by another needed instruction.

    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> x = recording.input(3.0)
    >>> _, y = x.exp(), x.sin()
    >>> uses(recording.instructions.operands, [y.place])
    [1, 0, 1]
    """
    found = [0] * len(operands)
    for place in results:
        found[place] += 1
    for place in range(len(found) - 1, -1, -1):  # visit each instruction after all that use it
        if found[place]:
            for i in operands[place]:
                found[i] += 1
    return found


def needed(steps: Instructions, results: Sequence[int]) -> list[int]:
    """The places of all instructions that the results depend on, in order."""
    return [place for place, n in enumerate(uses(steps.operands, results)) if n]
