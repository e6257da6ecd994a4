"""Pass 3: sums of products as one instruction.

A neuron is a sum of products, and so is what it is owed: the activation w1 x1 + ... + wn xn + b,
the upstream gradient of x over all neurons that hear it, the gradient of a weight over all places
where it stands. In the recording these are chains of + and *. Here a tree of additions whose inner
nodes nobody else uses becomes one `Dot`: a list of products and a list of terms that are added as
they are. Only the order of rounding changes.

    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> w, x, v, y, b = (recording.input(0.5) for _ in range(5))
    >>> result = w * x + v * y - b
    >>> places = list(range(len(recording.instructions)))
    >>> fused(recording.instructions, places, [result.place], parameters={0, 2, 4})
    {8: Dot(products=((0, 1, 1), (2, 3, 1)), terms=((4, -1),))}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from micrograd.compiler.lanes import in_lanes
from micrograd.trace import Instruction

SIGNS = {"+": (1, 1), "-": (1, -1), "neg": (-1,)}


@dataclass(frozen=True)
class Dot:
    """The sum of products and of terms, each with its sign.

    Attributes:
        products: (place of a factor, place of the other, sign).
        terms: (place, sign).

    >>> Dot(((0, 1, 1),), ((2, -1),)).sources
    (0, 1, 2)
    """

    products: tuple[tuple[int, int, int], ...]
    terms: tuple[tuple[int, int], ...] = ()

    @property
    def sources(self) -> tuple[int, ...]:
        """The places that it is computed from."""
        factors = [place for a, b, _ in self.products for place in (a, b)]
        return (*factors, *(place for place, _ in self.terms))


def fused(
    instructions: Sequence[Instruction],
    places: Sequence[int],
    results: Collection[int],
    parameters: Collection[int],
) -> dict[int, Dot]:
    """The sums of products among the instructions at `places`, by the place of the whole sum.

    A sum of two terms without a product stays the instruction that it is. A single product stands
    here if a mean is taken of it, since that is a sum of products, too: over the lanes.

    Args:
        instructions: those of a recording.
        places: of those that are needed, in order.
        results: places of results, which must not disappear in a sum.
        parameters: places of inputs that are the same in every lane.
    """
    lanes = in_lanes(instructions, parameters)
    uses = Counter(i for place in places for i in instructions[place].operands)
    uses.update(results)

    def disappears_in(whole: int, part: int) -> bool:
        # What is uniform is not drawn into the lanes: it is computed once.
        return uses[part] == 1 and lanes[part] == lanes[whole]

    dots: dict[int, Dot] = {}
    inside: set[int] = set()
    for place in reversed(places):  # the whole before its parts
        op, operands = instructions[place].op, instructions[place].operands
        if place in inside:
            continue
        if op in SIGNS:
            dot, parts = _sum(instructions, place, disappears_in)
            if dot.products or len(dot.terms) > 2:
                dots[place] = dot
                inside |= parts
        elif op == "mean" and instructions[operands[0]].op == "*" and uses[operands[0]] == 1:
            a, b = instructions[operands[0]].operands
            dots[operands[0]] = Dot(((a, b, 1),))
    return dots


def _sum(
    instructions: Sequence[Instruction], place: int, disappears_in: Callable[[int, int], bool]
) -> tuple[Dot, set[int]]:
    # The sum that ends at `place`, and the places of what has disappeared in it.
    products, terms, inside = [], [], set()
    waiting = [(place, 1)]
    while waiting:
        whole, sign = waiting.pop()
        step = instructions[whole]
        for part, own in zip(step.operands, SIGNS[step.op], strict=True):
            inner = instructions[part]
            if not disappears_in(place, part):
                terms.append((part, sign * own))
                continue
            if inner.op in SIGNS:
                waiting.append((part, sign * own))
            elif inner.op == "*":
                a, b = inner.operands
                products.append((a, b, sign * own))
            else:
                terms.append((part, sign * own))
                continue
            inside.add(part)
    return Dot(tuple(sorted(products)), tuple(sorted(terms))), inside
