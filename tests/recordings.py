"""Recordings, and the compiler passes that follow them."""

from itertools import accumulate

from micrograd.compiler.averages import averaged
from micrograd.compiler.fuse import fused
from micrograd.compiler.record import recorded
from micrograd.compiler.schedule import scheduled
from micrograd.compiler.simplify import FUNCTIONS


def evaluated(instructions, inputs):
    """The results of all instructions, given the inputs in order."""
    given = iter(inputs)
    results = []
    for step in instructions:
        if step.op == "input":
            results.append(next(given))
        elif step.op == "constant":
            results.append(step.number)
        else:
            results.append(FUNCTIONS[step.op](*(results[i] for i in step.operands)))
    return results


def inputs_of(recording, count, parameters=()):
    """Inputs, of which those at the given positions are uniform."""
    return [
        recording.parameter() if i in parameters else recording.input(0.0) for i in range(count)
    ]


def written(recording, place):
    """An instruction and its operands, as nested tuples."""
    step = recording.instructions[place]
    if step.op in ("input", "constant"):
        return f"i{place}" if step.op == "input" else step.number
    return (step.op, *(written(recording, i) for i in step.operands))


def passed(function, shapes):
    """A function after all passes: its recording, and a schedule with three kinds of results, which
    are the mean, its gradients, and the result in every lane."""
    found = recorded(function, shapes)
    wanted = [found.results[0], *found.gradients]
    places = [*averaged(found.recording, wanted), found.results[0]]
    widths = [len(names) for names in found.arguments.values()]
    inputs = [range(end - n, end) for end, n in zip(accumulate(widths), widths, strict=True)]
    steps = found.recording.instructions
    units = fused(steps, places)
    return found, scheduled(units, steps, inputs, found.places, places)
