"""Pass 3: chains of instructions as one.

A neuron is a sum of products, and so is what it is owed: the activation w1 x1 + ... + wn xn + b,
the upstream gradient of x over all neurons that hear it, the gradient of a weight over all places
where it stands. In the recording these are chains of + and *. Here a tree of additions whose inner
nodes nobody else uses becomes one instruction of any number of operands:

    dot         sign * (left1 right1 + left2 right2 + ...) + added - subtracted
    mean        the mean over lanes of such a sum of products
    largest     x1.maximum(x2).maximum(x3) ..., and `smallest`
    where >     what is chosen by comparing two numbers: of x, y, a, b it is a if x > y, else b
    scatter     what an entry of a table is owed by all who took it: the sum of those x whose index
                is the entry's position; `scatter mean` is the mean of that over lanes

Only the order of rounding changes. The bias of a neuron is one more weight, of an input that is 1
in every lane. A list of operands is uniform or in lanes as a whole; what does not fit is computed
beside it.

    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> w, x, v, y, b = (recording.input(0.5) for _ in range(5))
    >>> result = w * x + v * y + b
    >>> fused(recording.instructions, [result.place], parameters={0, 2, 4}).units
    {8: Unit(op='dot', operands=((0, 2, 4), (1, 3, -1), (), ()), sign=1, length=0)}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from micrograd.compiler.lanes import in_lanes, uses
from micrograd.compiler.simplify import Instructions

ONE = -1  # the place of an input that is 1 in every lane
SUMS = ("+", "-", "neg")
CHAINS = {"maximum": "largest", "minimum": "smallest"}
MEANS, SCATTERS = ("mean", "scatter mean"), ("scatter", "scatter mean")
BEFORE, LANES, AFTER = range(3)  # the phases of a program


class Unit(NamedTuple):
    """An instruction of any number of operands, which come in lists of places.

    Those of a dot are left, right, added, subtracted; of a mean left and right; of a scatter the
    indices, what is owed, and the position in a table of some length; of a take the index, and the
    table.

    >>> Unit("dot", ((0, 1), (2, 3), (), (4,))).sources
    (0, 1, 2, 3, 4)
    """

    op: str
    operands: tuple[tuple[int, ...], ...]
    sign: int = 1
    length: int = 0

    @property
    def sources(self) -> tuple[int, ...]:
        """The places that it is computed from."""
        return tuple(chain(*self.operands))


class Fused(NamedTuple):
    """What is left of a recording.

    Attributes:
        units: by their place, operands before results; places beyond those of the recording are
            those of parts.
        lanes: of each place, whether it has another result in every lane.

    A dot has products of one kind. Here x * x is no weight times an input, so it makes a part, in
    place 8, which the dot in place 7 adds.

    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> w, v, x = (recording.input(0.5) for _ in range(3))
    >>> result = w * x + v * x + x * x
    >>> units, lanes = fused(recording.instructions, [result.place], parameters={0, 1})
    >>> for place, unit in units.items():
    ...     print(place, unit.operands)
    8 ((2,), (2,), (), ())
    7 ((0, 1), (2, 2), (8,), ())
    >>> lanes
    [False, False, True, True, True, True, True, True, True]
    """

    units: dict[int, Unit]
    lanes: list[bool]

    @property
    def phases(self) -> dict[int, int]:
        """When each unit is computed: once before the lanes, in each of them, or once after them.

        Means are added up lane by lane. What follows from them comes after.

        >>> from micrograd.compiler.simplify import Simplified
        >>> recording = Simplified()
        >>> w, x = recording.input(0.5), recording.input(0.5)
        >>> mean = recording.result("mean", (x.exp().place,))
        >>> result = (w.sin() * mean).place
        >>> found = fused(recording.instructions, [result], parameters={0})
        >>> [(unit.op, found.phases[place]) for place, unit in found.units.items()]
        [('sin', 0), ('exp', 1), ('mean', 1), ('*', 2)]
        """
        phases: dict[int, int] = {}
        for place, unit in self.units.items():
            if self.lanes[place] or unit.op in MEANS:
                phases[place] = LANES
            else:
                phases[place] = AFTER if any(map(phases.get, unit.sources)) else BEFORE
        return phases


def fused(
    instructions: Instructions, results: Sequence[int], parameters: Collection[int]
) -> Fused:
    """The units that these results need.

    A sum of two terms without a product stays the operation that it is.

    Args:
        instructions: those of a recording.
        results: places of results, which must not disappear in a sum.
        parameters: places of inputs that are the same in every lane.
    """
    fusion = _Fusion(instructions, results, parameters)
    for place in range(len(instructions) - 1, -1, -1):  # the whole before its parts
        if fusion.uses[place] and place not in fusion.inside and instructions.operands[place]:
            fusion.fuse(place)
    return Fused(_in_order(fusion.found, results), fusion.lanes)


def _in_order(units: Mapping[int, Unit], results: Sequence[int]) -> dict[int, Unit]:
    # Those that the results need, operands before results: by a walk as in `topological_order`.
    order: dict[int, Unit] = {}
    entered: set[int] = set()
    for result in results:
        path = [result] if result in units else []
        while path:
            place = path[-1]
            if place in entered:  # its operands are listed by now
                order.setdefault(place, units[place])
                path.pop()
            else:
                entered.add(place)
                path += [i for i in reversed(units[place].sources) if i in units and i not in order]
    return order


def _depths(operands: Sequence[tuple[int, ...]]) -> list[int]:
    # Of each instruction, how many there are one after the other before it, at the most.
    depths: list[int] = []
    for places in operands:
        depth = 0
        for i in places:
            if depths[i] >= depth:
                depth = depths[i] + 1
        depths.append(depth)
    return depths


class _Fusion:
    def __init__(
        self, steps: Instructions, results: Sequence[int], parameters: Collection[int]
    ) -> None:
        self.ops, self.operands, self.numbers = steps.ops, steps.operands, steps.numbers
        self.lanes = in_lanes(steps, parameters)
        self.uses = uses(steps, results)
        self.depth = _depths(steps.operands)
        self.found: dict[int, Unit] = {}
        self.copies: dict[int, int] = {}  # in lanes, of what is uniform
        self.inside: set[int] = set()  # what has disappeared in a whole
        self.lengths: dict[int, int] = {}  # of the longest table, by the place of its index
        for op, operands in zip(steps.ops, steps.operands, strict=True):
            if op == "take":
                index, *table = operands
                self.lengths[index] = max(len(table), self.lengths.get(index, 0))

    def fuse(self, place: int) -> None:
        op, operands = self.ops[place], self.operands[place]
        if op in SUMS:
            self.sum(place)
        elif op == "mean":
            self.mean(place)
        elif op in CHAINS:
            self.chain(place)
        elif op == "take":
            self.found[place] = Unit(op, (operands[:1], self.alike(operands[1:])))
        elif op == "where":
            condition, *sides = operands
            compared = *self.operands[condition], *sides
            self.found[place] = Unit(f"where {self.ops[condition]}", tuple((i,) for i in compared))
        else:
            self.found[place] = Unit(op, tuple((i,) for i in operands))

    def part(self, unit: Unit, lanes: bool) -> int:
        """A new place, for what is computed beside a whole."""
        self.lanes.append(lanes)
        self.found[len(self.lanes) - 1] = unit
        return len(self.lanes) - 1

    def disappears(self, part: int, whole: int) -> bool:
        # What is uniform is not drawn into the lanes: it is computed once.
        return self.uses[part] == 1 and self.lanes[part] == self.lanes[whole]

    def alike(self, operands: Sequence[int]) -> tuple[int, ...]:
        """The operands; those that are uniform are copied into the lanes if others are there."""
        if not any(self.lanes[i] for i in operands):
            return tuple(operands)
        for i in operands:
            if not self.lanes[i] and i not in self.copies:
                self.copies[i] = self.part(Unit("copy", ((i,),)), True)
        return tuple(self.copies.get(i, i) for i in operands)

    def chain(self, place: int) -> None:
        op = self.ops[place]
        operands, waiting = [], [*self.operands[place]]
        while waiting:
            part = waiting.pop()
            if self.ops[part] == op and self.disappears(part, place):
                waiting += self.operands[part]
                self.inside.add(part)
            else:
                operands.append(part)
        self.found[place] = Unit(CHAINS[op], (self.alike(sorted(operands)),))

    # ---- sums

    def terms(self, whole: int) -> tuple[list[_Products], _Terms, list[int]]:
        """Products and other terms of the tree of additions that ends here, and its inside.

        Products come by sign and by what is in lanes, the most frequent kind first. In all of them
        what is uniform stands left of what is in lanes, and what was computed earlier left of what
        was computed later: then the neurons of a layer look alike.
        """
        ops, operands_of, users = self.ops, self.operands, self.uses
        lanes, depth = self.lanes, self.depth
        is_lane = lanes[whole]
        found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
        terms: _Terms = []
        inside: list[int] = []
        waiting = [(whole, 1)]
        while waiting:
            place, sign = waiting.pop()
            op = ops[place]
            is_inside = place == whole or (users[place] == 1 and lanes[place] == is_lane)
            if not is_inside or (op != "*" and op not in SUMS):
                terms.append((place, sign))
                continue
            inside.append(place)
            a, b = operands_of[place][0], operands_of[place][-1]
            if op != "*":
                if op != "neg":
                    waiting.append((a, sign))
                waiting.append((b, sign if op == "+" else -sign))
            else:
                if lanes[a] > lanes[b] or (lanes[a] == lanes[b] and depth[a] > depth[b]):
                    a, b = b, a
                found[sign, lanes[a], lanes[b]].append((a, b))
        kinds = sorted(found.items(), key=lambda kind: (-len(kind[1]), -kind[0][0]))
        products = [
            _Products(sign, *zip(*sorted(pairs), strict=True)) for (sign, *_), pairs in kinds
        ]
        return products, sorted(terms), inside

    def sum(self, place: int) -> None:
        products, terms, inside = self.terms(place)
        as_it_is = Unit(self.ops[place], tuple((i,) for i in self.operands[place]))
        if not products and len(terms) <= 2:
            self.found[place] = as_it_is
            return
        scattered = self.scattered(terms, place) if not products else None
        if scattered:
            self.inside.update(inside, (i for i, _ in terms))
            self.found[place] = scattered
            return
        once = [(i, sign) for i, sign in terms if self.lanes[place] and not self.lanes[i]]
        main, *others = products or [_Products(1, (), ())]
        is_neuron = main.sign > 0 and bool(main.left) and not self.lanes[main.left[0]]
        length = len(terms) + sum(len(kind.left) for kind in products)
        if once and length == 2 and not is_neuron:
            self.found[place] = as_it_is  # 1 - x y is no dot: its product stays, too
            return
        self.inside.update(inside)
        added = [i for i, sign in terms if sign > 0 and (i, sign) not in once]
        subtracted = [i for i, sign in terms if sign < 0 and (i, sign) not in once]
        for other in others:
            part = self.part(other.dot(), self.lanes[place])
            (added if other.sign > 0 else subtracted).append(part)
        if not once:
            self.found[place] = main.dot(added, subtracted, main.sign)
            return
        bias, sign = once[0]
        if len(once) > 1:
            plus = tuple(i for i, sign in once if sign > 0)
            minus = tuple(i for i, sign in once if sign < 0)
            bias, sign = self.part(Unit("dot", ((), (), plus, minus)), False), 1
        if is_neuron and sign > 0:
            neuron = _Products(1, (*main.left, bias), (*main.right, ONE))
            self.found[place] = neuron.dot(added, subtracted)
        else:
            rest = self.part(main.dot(added, subtracted, main.sign), True)
            self.found[place] = Unit("+" if sign > 0 else "-", ((rest,), (bias,)))

    def mean(self, place: int) -> None:
        [whole] = self.operands[place]
        products: list[_Products] = []
        terms: _Terms = [(whole, 1)]
        inside: list[int] = []
        if self.uses[whole] == 1 and self.ops[whole] in ("*", *SUMS):
            products, terms, inside = self.terms(whole)
        scattered = self.scattered(terms, whole) if not products else None
        if scattered:
            self.inside.update(inside, (i for i, _ in terms))
            self.found[place] = scattered._replace(op="scatter mean")
        elif len(products) == 1 and not terms:
            self.inside.update(inside)
            [(sign, left, right)] = products
            self.found[place] = Unit("mean", (left, right), sign)
        else:
            self.found[place] = Unit("mean", ((ONE,), (whole,)))

    def scattered(self, terms: _Terms, whole: int) -> Unit | None:
        """The scatter that these terms are, if each of them is where(index is position, x, 0)."""
        indices, owed, positions = [], [], set()
        for place, sign in terms:
            if self.ops[place] != "where" or sign < 0 or not self.disappears(place, whole):
                return None
            condition, x, other = self.operands[place]
            is_zero = self.ops[other] == "constant" and self.numbers[other] == 0
            if self.ops[condition] != "is" or not is_zero:
                return None
            index, position = self.operands[condition]
            if index not in self.lengths:  # any number, as in where(x, 0, y)
                return None
            indices.append(index)
            owed.append(x)
            positions.add(position)
        if len(positions) != 1 or self.ops[min(positions)] != "constant" or len(terms) < 2:
            return None
        # An index may name an entry that is owed nothing, as a constant at the end of the table.
        length = max(self.lengths[index] for index in indices)
        operands = self.alike(indices), self.alike(owed), tuple(positions)
        return Unit("scatter", operands, length=length)


_Terms = list[tuple[int, int]]  # places with signs


class _Products(NamedTuple):
    sign: int
    left: tuple[int, ...]
    right: tuple[int, ...]

    def dot(self, added: Sequence[int] = (), subtracted: Sequence[int] = (), sign: int = 1) -> Unit:
        return Unit("dot", (self.left, self.right, tuple(added), tuple(subtracted)), sign)
