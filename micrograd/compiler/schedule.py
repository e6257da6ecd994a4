"""Pass 4: what does the same at the same time, side by side.

Units that need not wait for one another and do the same make one `Group`, which is done at once.
The level of a unit says when: one before the first unit that needs it, so as late as possible.
Numbers get slots, in two memories:

    uniform     a vector: parameters first, then constants, then what is computed once
    lanes       a matrix with a row for each slot and a column for each lane: inputs first

The results of a group lie side by side, and those who need them find them in order: then what a
group reads is seldom scattered, and a row of ones after each group serves the biases of the next.

Among dots, hashing finds the matrix products. Neurons of a layer have different weights and hear
the same inputs; the examples of a sequence have the same weights and different inputs. Left lists
that meet the same right lists make a grid, left times right,

    result[r, l] = sum over k of left[l, k] right[r, k]

and so do the gradients of weights, in which each input meets each upstream gradient.

    >>> grids({((0, 1), (8, 9)): 10, ((2, 3), (8, 9)): 11})
    [([(0, 1), (2, 3)], [(8, 9)])]
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from micrograd.compiler.dots import LANES, ONE, SCATTERS, Fused
from micrograd.compiler.simplify import Instructions

Slots = npt.NDArray[np.int32]
Places = tuple[int, ...]
Grid = tuple[list[Places], list[Places]]  # left lists, and right lists that each of them meets


class Block(NamedTuple):
    """Slots of the numbers that a group reads or writes, in an array of any shape.

    >>> Block(True, np.array([3, 4]))
    Block(lanes=True, slots=array([3, 4]))
    """

    lanes: bool
    slots: Slots


class Group(NamedTuple):
    """Units that do the same at once; the shapes of its blocks say how they belong together.

    Those of operands have the shape of the result, or fit it as NumPy broadcasts; where a unit
    takes lists of operands, the last axis runs along the list. In a grid of dots that is
    (R, L) of (1, L, K) and (R, 1, K).

    >>> Group("exp", Block(True, np.array([2, 3])), (Block(True, np.array([0, 1])),))
    exp of 2 in lanes
    >>> weights, x = np.arange(6).reshape(1, 2, 3), np.arange(3).reshape(1, 1, 3)
    >>> none = Block(False, np.zeros((1, 2, 0), np.intp))
    >>> result = Block(True, np.array([[3, 4]]))
    >>> Group("dot", result, (Block(False, weights), Block(True, x), none, none))
    matrix product (2 x 3) (3 x lanes)
    """

    op: str
    result: Block
    operands: tuple[Block, ...]
    sign: int = 1

    def __repr__(self) -> str:
        shape = self.result.slots.shape
        where = " in lanes" if self.result.lanes else ""
        if self.op not in ("dot", "mean"):
            return f"{self.op} of {' x '.join(map(str, shape))}{where}"
        length = self.operands[0].slots.shape[-1]
        is_thin = 1 in shape[-2:] if self.op == "dot" else math.prod(shape) == 1
        if len(shape) == 1 or (length == 1 and is_thin):
            terms = sum(block.slots.shape[-1] for block in self.operands[2:])
            parts = [_counted(length, "product"), _counted(terms, "term")]
            what = " and ".join(filter(None, parts)) or "nothing"
            kind = "mean" if self.op == "mean" else "sum"
            return f"{_counted(math.prod(shape), kind)} of {what}{where}"
        *several, n_rights, n_lefts = shape
        inner = "lanes" if self.op == "mean" else str(length)
        if self.op == "mean" and length > 1:
            inner = f"({length} lanes)"
        columns = "lanes" if self.result.lanes and n_rights == 1 else str(n_rights)
        product = f"matrix product ({n_lefts} x {inner}) ({inner} x {columns})"
        if self.result.lanes and n_rights > 1:
            product += " in lanes"
        return f"{several[0]} times {product}" if several else product


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}" if n else ""


class Schedule(NamedTuple):
    """A program of groups.

    Attributes:
        before: groups of what is computed once, from parameters and constants.
        lanes: groups of what is computed in every lane, and of means over lanes.
        after: groups of what is computed once, from means.
        sizes: of the two memories, in slots: numbers that are uniform, and rows of lanes.
        n_inputs: how many of the rows are those of arguments, a row of ones behind each included.
        constants: pairs of a uniform slot and a number.
        ones: the rows that are 1 in every lane.
        means: the uniform slots of means, which lie side by side, as first and end.
        results: a row for each, whether it is in lanes and its slot: (n, 2).

    >>> from micrograd.compiler.dots import fused
    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> w, x = recording.input(0.0), recording.input(0.0)
    >>> y = (w.exp() * x).tanh()
    >>> units = fused(recording.instructions, [y.place], parameters=[0])
    >>> schedule = scheduled(units, recording.instructions, [[1]], [0], [y.place])
    >>> schedule.before, schedule.lanes, schedule.after
    ([exp of 1], [* of 1 in lanes, tanh of 1 in lanes], [])
    >>> schedule.ones  # the rows are x, 1, 0, 1, exp(w) x, 1, y, 1
    [1, 3, 5, 7]
    >>> schedule.groups[-1].result.slots, schedule.results
    (array([6], dtype=int32), array([[1, 6]], dtype=int32))
    """

    before: list[Group]
    lanes: list[Group]
    after: list[Group]
    sizes: tuple[int, int]
    n_inputs: int
    constants: list[tuple[int, float]]
    ones: list[int]
    means: tuple[int, int]
    results: Slots

    @property
    def groups(self) -> list[Group]:
        """All groups, in their order."""
        return [*self.before, *self.lanes, *self.after]


ZERO = -2  # like ONE the place of an input that is always the same
FILLERS = {  # what a list is filled up with, to be as long as those of others in its group
    "dot": (ZERO, ONE, ZERO, ZERO), "mean": (ZERO, ONE),
    "largest": (None,), "smallest": (None,),  # its last operand
}  # fmt: skip


def scheduled(
    fused: Fused,
    instructions: Instructions,
    inputs: Sequence[Sequence[int]],
    parameters: Sequence[int],
    results: Sequence[int],
) -> Schedule:
    """The groups of these units, in an order in which they can be done.

    Args:
        fused: what pass 3 made of the instructions.
        instructions: those of a recording.
        inputs: places of inputs, argument by argument; they get the first slots of the lanes.
        parameters: places of inputs that are uniform, which get the first uniform slots.
        results: places of results, in the order in which they are wanted.
    """
    layout = _Layout(fused, instructions, inputs, parameters, results)
    phases: list[list[Group]] = [[], [], []]
    first_mean = end = 0
    for (phase, _), members in sorted(_levels(fused).items()):
        if phase == LANES and not phases[LANES]:
            first_mean = layout.size[False]
        phases[phase] += layout.grouped(members)
        if phase == LANES:
            end = layout.size[False]
    before, lanes, after = phases
    return Schedule(
        before, lanes, after, (layout.size[False], layout.size[True]),
        sum(len(argument) + 1 for argument in inputs), layout.constants, sorted(layout.ones),
        (first_mean, end), np.array([(fused.lanes[i], layout.slot[i]) for i in results], np.int32),
    )  # fmt: skip


def _levels(fused: Fused) -> dict[tuple[int, int], list[int]]:
    # The places of units by phase and level. Levels are negative, counted from the end.
    phase = fused.phases
    level = dict.fromkeys(fused.units, 0)
    for place, unit in reversed(fused.units.items()):
        own, before = phase[place], level[place] - 1
        for source in unit.sources:
            if phase.get(source) == own and level[source] > before:
                level[source] = before
    found = defaultdict(list)
    for place in fused.units:
        found[phase[place], level[place]].append(place)
    return found


def order_of_use(fused: Fused, parameters: Sequence[int]) -> list[int]:
    """The ranks of parameters, in the order in which the units of a kind list their places.

    In this order a matrix, whose rows are used one after another, lies in memory as it is written
    on paper.

    >>> from micrograd.compiler.dots import fused
    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> b, w, x = (recording.input(0.0) for _ in range(3))
    >>> units = fused(recording.instructions, [(b + w * x).place], parameters=[0, 1])
    >>> order_of_use(units, [0, 1])  # the bias behind its weight
    [1, 0]
    """
    rank = {place: i for i, place in enumerate(parameters)}
    kinds: dict[str, list[int]] = {"dot": []}
    for unit in fused.units.values():
        kinds.setdefault(unit.op, []).extend(rank[i] for i in unit.sources if i in rank)
    return list(dict.fromkeys([*chain.from_iterable(kinds.values()), *rank.values()]))


class _Layout:
    """Gives slots to places, and makes groups of the units of a level."""

    def __init__(
        self,
        fused: Fused,
        instructions: Instructions,
        inputs: Sequence[Sequence[int]],
        parameters: Sequence[int],
        results: Sequence[int],
    ) -> None:
        self.units, self.lanes = fused.units, fused.lanes
        self.numbers = numbers = instructions.numbers
        self.rank = {place: i for i, place in reversed(list(enumerate(results)))}
        for place, unit in reversed(fused.units.items()):  # and of the means that it is made of
            for source in unit.sources:
                if place in self.rank and not fused.lanes[source]:
                    self.rank.setdefault(source, self.rank[place])
        self.slot: dict[int, int] = {}
        self.size = {False: 0, True: 0}
        self.ones: set[int] = set()
        self.take_slots(parameters, False)
        known = set(results).union(*(unit.sources for unit in fused.units.values()))
        for argument in inputs:
            self.take_slots(argument, True)
        constants = [i for i in numbers if i in known and instructions.ops[i] == "constant"]
        self.take_slots(constants, False)
        self.constants = [(self.slot[i], float(numbers[i])) for i in constants]
        zero, one, row = *self.take_slots([None, None], False), *self.take_slots([None], True)
        self.constants += [(zero, 0.0), (one, 1.0)]
        self.fixed = {(ZERO, False): zero, (ONE, False): one}
        self.fixed.update({(ZERO, True): row, (ONE, True): row + 1})

    def take_slots(self, places: Sequence[int | None], lanes: bool) -> Slots:
        """The next slots, one for each place (None: one that nobody asks for)."""
        first = self.size[lanes]
        for slot, place in enumerate(places, first):
            if place is not None:
                self.slot[place] = slot
        self.size[lanes] += len(places)
        if lanes:  # a row of ones behind them
            self.ones.add(self.size[True])
            self.size[True] += 1
        return np.arange(first, first + len(places), dtype=np.int32)

    def slots_of(self, places: Places, lanes: bool = True, last: int = 0) -> list[int]:
        slots = []
        slot_of = self.slot
        for place in places:
            if place >= 0:
                last = slot_of[place]
            elif place == ONE and last + 1 in self.ones and lanes:  # as if it were one more input
                last += 1
            else:
                last = self.fixed[place, lanes]
            slots.append(last)
        return slots

    def in_lanes(self, places: Places) -> bool:
        return bool(places) and (places[0] == ONE or self.lanes[places[0]])

    def grouped(self, places: Sequence[int]) -> list[Group]:
        """The groups of units that need not wait for one another."""
        alike: dict[Any, list[int]] = defaultdict(list)
        for place in places:
            op, operands, sign, size = self.units[place]
            if op in SCATTERS:
                operands = operands[:2]
            lengths = [len(some) for some in operands]
            if op in FILLERS:  # filled up, lists of 2 to 7 operands are alike, or of 8 to 31, ...
                size = max(lengths).bit_length() // 2
                lengths = [min(1, length) for length in lengths]
            alike[op, sign, size, *lengths, *map(self.in_lanes, operands)].append(place)
        groups = []
        for (op, *_), members in alike.items():
            if op in SCATTERS:
                groups.append(self.scatter(members))
            elif op in ("dot", "mean") and self.units[members[0]].operands[0]:
                groups += self.products(members)
            else:
                groups.append(self.side_by_side(members))
        return groups

    def order(self, place: int) -> tuple[Any, ...]:
        # Results in the order in which they are wanted, the others in that of their operands.
        slots = [self.slots_of(operands) for operands in self.units[place].operands]
        return self.rank.get(place, -1), slots, place

    def blocks(self, members: Sequence[int]) -> list[Block]:
        """The operands of some units: (G, K) for each list, (G,) for a single operand."""
        op = self.units[members[0]].op
        blocks = []
        for q, _ in enumerate(self.units[members[0]].operands):
            block = self.block([self.units[place].operands[q] for place in members], op, q)
            is_list = op in FILLERS or (op == "take" and q == 1)
            blocks.append(block if is_list else Block(block.lanes, block.slots[:, 0]))
        return blocks

    def block(self, lists: Sequence[Places], op: str = "", q: int = 0) -> Block:
        lanes = any(self.in_lanes(places) for places in lists)
        length = max(map(len, lists))
        filler = FILLERS[op][q] if op in FILLERS else None
        found: list[int] = []
        for places in lists:
            if len(places) < length:
                places += ((places[-1] if filler is None else filler),) * (length - len(places))
            found += self.slots_of(places, lanes, found[-1] if found else 0)
        return Block(lanes, np.array(found, np.int32).reshape(len(lists), length))

    def side_by_side(self, members: list[int]) -> Group:
        members.sort(key=self.order)
        unit, lanes = self.units[members[0]], self.lanes[members[0]]
        blocks = self.blocks(members)
        result = Block(lanes, self.take_slots(members, lanes))
        return Group(unit.op, result, tuple(blocks), unit.sign)

    def products(self, members: list[int]) -> list[Group]:
        """Dots and means of products: grids of a size together, the rest in rows."""
        place_of: dict[tuple[Places, Places], int] = {}
        rows = []
        for place in members:
            left, right, *_ = self.units[place].operands
            if place_of.setdefault((left, right), place) != place:
                rows.append(place)  # the same sums of products, with other terms
        sizes: dict[tuple[int, int], list[list[int]]] = defaultdict(list)
        for lefts, rights in grids(place_of):
            lefts.sort(key=self.last_if_one)
            rights.sort(key=self.last_if_one)
            found = [place_of[left, right] for right, left in product(rights, lefts)]
            sizes[len(rights), len(lefts)].append(found)
        thin = [size for size in sizes if 1 in size]
        if len(thin) > 2 or thin == [(1, 1)]:  # each is too small to be done by itself
            rows += [place for size in thin for grid in sizes.pop(size) for place in grid]
        if rows:
            sizes[0, 0] = [[place] for place in rows]

        def first(size: tuple[int, int]) -> tuple[Any, ...]:
            return min(self.order(grid[0]) for grid in sizes[size])

        return [
            self.grid(sizes[size], *size) if any(size) else self.side_by_side(rows)
            for size in sorted(sizes, key=first)
        ]

    def last_if_one(self, places: Places) -> tuple[bool, list[int]]:
        return places == (ONE,), self.slots_of(places)

    def grid(self, found: list[list[int]], n_rights: int, n_lefts: int) -> Group:
        """Grids of one size as one group: (R, L), or (B, R, L) if there are several."""
        found.sort(key=lambda grid: self.order(grid[0]))
        members = [place for grid in found for place in grid]
        shape = (len(found), n_rights, n_lefts)
        left, right, *terms = (
            block._replace(slots=block.slots.reshape(*shape, -1)) for block in self.blocks(members)
        )
        left = left._replace(slots=left.slots[:, :1].copy())
        right = right._replace(slots=right.slots[:, :, :1].copy())
        unit, lanes = self.units[members[0]], self.lanes[members[0]]
        result = Block(lanes, self.take_slots(members, lanes).reshape(shape))
        blocks = [result, left, right, *terms]
        if len(found) == 1:
            blocks = [block._replace(slots=block.slots[0]) for block in blocks]
        return Group(unit.op, blocks[0], tuple(blocks[1:]), unit.sign)

    def scatter(self, members: list[int]) -> Group:
        """What the entries of tables of one length are owed: (G, N) of (G, J) and (G, J)."""
        tables: dict[tuple[Places, Places], dict[int, int]] = defaultdict(dict)
        for place in members:
            indices, owed, (position,) = self.units[place].operands
            tables[indices, owed][int(self.numbers[position])] = place
        keys = sorted(tables, key=lambda key: list(map(self.slots_of, key)))
        unit, lanes = self.units[members[0]], self.lanes[members[0]]
        places = [tables[key].get(position) for key in keys for position in range(unit.length)]
        result = Block(lanes, self.take_slots(places, lanes).reshape(len(keys), unit.length))
        blocks = [self.block(lists) for lists in zip(*keys, strict=True)]
        return Group(unit.op, result, tuple(blocks))


def grids(
    pairs: Mapping[tuple[Places, Places], int],
) -> list[Grid]:
    """The pairs of a left and a right list, as products of some left lists with some right lists.

    Left lists that meet the same right lists belong together. The bias meets every upstream
    gradient; it joins the inputs that meet the same ones.
    """
    rights_of = defaultdict(set)
    for left, right in pairs:
        rights_of[left].add(right)
    biased = rights_of.pop((ONE,), set())
    together = defaultdict(list)
    for left, rights in rights_of.items():
        together[frozenset(rights)].append(left)
    found = []
    for rights_of_all, lefts in together.items():
        if rights_of_all <= biased:
            biased -= rights_of_all
            lefts.append((ONE,))
        found.append((lefts, list(rights_of_all)))
    return [*found, ([(ONE,)], list(biased))] if biased else found
