"""Groups of instructions that do the same thing at the same time.

Units (fused instructions) that do the same thing and do not depend on each other form a `Group`,
which runs in one or a few calls. The level of a unit says when it runs: as late as possible, just
before the first unit that needs its result. Numbers are stored in slots of two memories:

    uniform     a vector: parameters first, then constants, then results that are computed once
    lanes       a matrix with a row for each slot and a column for each lane (example); inputs first

The results of a group have adjacent slots, in an order that lets later groups read most of their
operands from adjacent slots. In the lanes, each group is followed by a row of ones: the biases of
later groups are weights of this row.

Matrix products are found by hashing the operands of dots (sums of products). Neurons of a layer
have different weights and the same inputs; positions of a sequence share weights but not inputs.
A dot multiplies a left list by a right list. Left lists with the same right lists form a grid,
which is a matrix product:

    result[r, l] = sum over k of left[l, k] right[r, k]

The gradients of weights form grids too: every input is multiplied by every upstream gradient.

    >>> grids({((0, 1), (8, 9)): 10, ((2, 3), (8, 9)): 11})
    [([(0, 1), (2, 3)], [(8, 9)])]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from micrograd.compiler.fuse import MEANS, ONE, SCATTERS, Fused
from micrograd.compiler.simplify import Instructions

Array = npt.NDArray[Any]
Slots = npt.NDArray[Any]  # of whole numbers
Places = tuple[int, ...]
T = TypeVar("T")
Grid = tuple[list[Places], list[Places]]  # each left list is paired with every right list


class Memories(NamedTuple, Generic[T]):
    """One thing for each of the two memories, such as its size."""

    uniform: T
    lanes: T

    def of(self, lanes: bool) -> T:
        """That of the lanes, or else of the uniform numbers."""
        return self.lanes if lanes else self.uniform


class Block(NamedTuple):
    """The slots that a group reads or writes, in an array of any shape."""

    lanes: bool
    slots: Slots


class Group(NamedTuple):
    """Units that run together; the shapes of the blocks say which operands belong to which result.

    Blocks of elementwise operations have the same shape, and lists of operands have one more axis.
    Dots and means of products are B matrix products of the same size: operands of shapes (B, L, K)
    and (B, R, K) give a result of shape (B, R, L).

    >>> weights, x = np.arange(6).reshape(1, 2, 3), np.arange(3).reshape(1, 1, 3)
    >>> result = Block(True, np.array([[[3, 4]]]))
    >>> Group("dot", result, (Block(False, weights), Block(True, x)))
    matrix product (2 x 3) (3 x lanes)
    """

    op: str
    result: Block
    operands: tuple[Block, ...]
    loop: Loop | None = None  # if the operation is a loop

    def __repr__(self) -> str:
        shape = self.result.slots.shape
        where = " in lanes" if self.result.lanes else ""
        if self.loop:
            size, way = len(self.loop.groups), " backwards" * self.loop.is_reversed
            return f"loop of {self.loop.n_steps} steps{way}, {size} groups each{where}"
        if self.op not in PRODUCTS:
            return f"{self.op} of {' x '.join(map(str, shape))}{where}"
        several, n_rights, n_lefts = shape
        is_mean, length = self.op == "mean", self.operands[0].slots.shape[-1]
        if (n_rights, n_lefts) == (1, 1):
            kind = ("mean" if is_mean else "sum") + "s" * (several > 1)
            return f"{several} {kind} of {length} product{'s' * (length > 1)}{where}"
        inner = str(length)
        if is_mean:
            inner = f"({length} lanes)" if length > 1 else "lanes"
        is_column = self.result.lanes and n_rights == 1
        columns = "lanes" if is_column else str(n_rights)
        product = f"matrix product ({n_lefts} x {inner}) ({inner} x {columns})"
        product += "" if is_column else where
        return f"{several} times {product}" if several > 1 else product


class Loop(NamedTuple):
    """What a loop does, in the memory of its group; slots are arrays of one axis, or (n_steps, n).

        states = first
        for t in range(n_steps), or reversed:
            kept[t] = states;  for each read, its slots = numbers[t]
            groups
            outputs[t] = made;  states = new
        last = states

    Attributes:
        reads: the numbers that are read in each step, of shape (n_steps, n), and where they go.
        kept: where the states of each step are kept for a backward loop; has no slots if nowhere.
    """

    n_steps: int
    is_reversed: bool
    groups: list[Group]
    first: Block
    states: Slots
    new: Slots
    last: Slots
    reads: list[tuple[Block, Slots]]
    made: Slots
    outputs: Slots
    kept: Slots


class Schedule(NamedTuple):
    """The groups of a program, and the slots of its numbers.

    Attributes:
        before: groups that run once, before the lanes, on parameters and constants.
        lanes: groups that run in every lane, and the means over lanes.
        after: groups that run once, after the means.
        sizes: the number of slots in each memory.
        inputs: the rows of each argument.
        zero: the row that is 0 in every lane.
        constants: pairs of a uniform slot and its number, first those of 0 and 1; slots before them
            are for parameters.
        ones: the rows that are 1 in every lane.
        means: start and end (exclusive) of the adjacent uniform slots that hold the means.
        results: for each result, whether it is in lanes, and its slot; shape (n, 2).

    >>> from micrograd.compiler.program import Program
    >>> from micrograd.engine import Value
    >>> w = Value(1.0)
    >>> schedule = Program(lambda x: [(w.exp() * x).tanh()], [()], "numpy").schedule
    >>> schedule.before, schedule.lanes, schedule.after
    ([exp of 1], [* of 1 in lanes, tanh of 1 in lanes], [])
    >>> schedule.ones  # the rows are x, 1, 0, 1, exp(w) x, 1, y, 1
    [1, 3, 5, 7]
    """

    before: list[Group]
    lanes: list[Group]
    after: list[Group]
    sizes: Memories[int]
    inputs: list[range]
    zero: int
    constants: list[tuple[int, float]]
    ones: list[int]
    means: tuple[int, int]
    results: Slots

    @property
    def groups(self) -> list[Group]:
        """All groups, in the order in which they run."""
        return [*self.before, *self.lanes, *self.after]


PRODUCTS = ("dot", "mean")
ZERO = -2  # stands for an input that is 0 in every lane, as ONE stands for 1
LONG = {*PRODUCTS, "sum", "largest", "smallest"}  # operations on lists of any length
FEW = 2  # with at most this many sizes of thin grids (one row or column), each size gets a call


def scheduled(
    fused: Fused,
    instructions: Instructions,
    inputs: Sequence[Sequence[int]],
    parameters: Sequence[int],
    results: Sequence[int],
) -> Schedule:
    """The groups of these units, in an order in which they can run.

    `inputs` are the places of inputs, argument by argument, which get the first slots of the lanes;
    `parameters` are those of uniform inputs, which get the first uniform slots. The schedule's
    `results` are in the order of the places in `results`.
    """
    layout = _Layout(fused, instructions)
    layout.take_slots(parameters, False)
    rows: list[range] = []
    for argument in inputs:
        rows.append(range(layout.n_rows, layout.n_rows + len(argument)))
        layout.take_slots(argument, True)
    layout.take_constants(instructions, results)
    phases: list[list[Group]] = []
    ends = []
    for levels in _levels(fused):
        phases.append(layout.all_grouped(levels))
        ends.append(layout.n_uniform)
    before, lanes, after = phases
    sizes, means = Memories(layout.n_uniform, layout.n_rows), (ends[0], ends[1])
    zero, ones = layout.fixed[ZERO, True], sorted(layout.ones)
    found = np.array([(fused.lanes[i], layout.slot[i]) for i in results], np.int32)
    return Schedule(
        before, lanes, after, sizes, rows, zero, layout.constants, ones, means, results=found
    )


def _levels(fused: Fused) -> list[list[list[int]]]:
    # For each phase (before the lanes, in lanes, after the means), the places of units by level.
    units, wide = fused.units, len(fused.lanes)
    n = len(units) * wide
    late: set[int] = set()  # means, and what depends on them
    # The level of each place: a multiple of `wide`, or a little less for a part, which runs just
    # before its whole. It is at most 0, n or 2n, depending on its phase; the phases cannot overlap
    # because no chain is longer. The last entry is the level of ONE.
    level = [-n] * (wide + 1)
    for place, unit in units.items():
        is_mean, is_lane = unit.op in MEANS, fused.lanes[place]
        if is_mean or not (is_lane or all(map(late.isdisjoint, unit.operands))):
            late.add(place)
        level[place] = n if is_mean or is_lane else 2 * n * (place in late)
    found: dict[int, list[int]] = defaultdict(list)
    for place, unit in reversed(units.items()):
        last = level[place]
        found[last].append(place)
        earlier = -(-last // wide) * wide - wide
        for source in chain.from_iterable(unit.operands):
            latest = last - 1 if source >= fused.n_instructions else earlier
            if level[source] > latest:
                level[source] = latest
    phases: list[list[list[int]]] = [[], [], []]
    for last in sorted(found):
        phases[-(-last // n)].append(found[last][::-1])
    return phases


def order_of_use(fused: Fused, parameters: Sequence[int]) -> list[int]:
    """The indices of the parameters in the order in which the units use them, dots first.

    In this order the rows of a weight matrix follow each other in memory: a bias comes after its
    weights.
    """
    used: dict[str, list[Places]] = {"dot": []}
    for unit in fused.units.values():
        used.setdefault(unit.op, []).extend(unit.operands)
    places = chain.from_iterable(chain.from_iterable(used.values()))
    rank = {place: i for i, place in enumerate(parameters)}
    return [rank[place] for place in dict.fromkeys(chain(places, parameters)) if place in rank]


class _Layout:
    """Assigns slots to places and forms groups of units."""

    def __init__(
        self, fused: Fused, instructions: Instructions, around: _Layout | None = None
    ) -> None:
        self.units, self.lanes, self.numbers = fused.units, fused.lanes, instructions.numbers
        self.loops = fused.loops
        self.slot: dict[int, int] = {}
        self.n_uniform = self.n_rows = 0
        self.ones: set[int] = set()
        self.fixed: dict[tuple[int, bool], int] = {}
        if around:  # the body of a loop is in the same memory
            self.n_uniform, self.n_rows = around.n_uniform, around.n_rows
            self.ones, self.fixed = around.ones, around.fixed

    def take_constants(self, instructions: Instructions, results: Sequence[int]) -> None:
        """Takes slots for the constants that are needed, and for 0 and 1."""
        zero, one, row = *self.take_slots([None, None], False), *self.take_slots([None], True)
        known = {*results}.union(*chain.from_iterable(u.operands for u in self.units.values()))
        constants = [i for i in self.numbers if i in known and instructions.ops[i] == "constant"]
        self.take_slots(constants, False)
        self.constants = [(int(zero), 0.0), (int(one), 1.0)]
        self.constants += [(self.slot[i], float(self.numbers[i])) for i in constants]
        self.fixed = {(ZERO, False): zero, (ONE, False): one}
        self.fixed.update({(ZERO, True): row, (ONE, True): row + 1})

    def take_slots(self, places: Sequence[int | None], lanes: bool) -> Slots:
        """Takes the next slot for each place; None takes a slot that belongs to no place."""
        first = self.n_rows if lanes else self.n_uniform
        for slot, place in enumerate(places, first):
            if place is not None:
                self.slot[place] = slot
        if lanes:  # add a row of ones after them
            self.ones.add(first + len(places))
            self.n_rows += len(places) + 1
        else:
            self.n_uniform += len(places)
        return np.arange(first, first + len(places), dtype=np.int32)

    def slots_of(self, places: Places, lanes: bool = True, last: int = 0) -> list[int]:
        slots = []
        slot_of = self.slot
        for place in places:
            if place >= 0:
                last = slot_of[place]
            elif place == ONE and last + 1 in self.ones and lanes:  # the row of ones after `last`
                last += 1
            else:
                last = self.fixed[place, lanes]
            slots.append(last)
        return slots

    def in_lanes(self, places: Places) -> bool:
        return places[0] == ONE or self.lanes[places[0]]

    def all_grouped(self, levels: Iterable[Sequence[int]]) -> list[Group]:
        """The groups of all levels, in order."""
        return [group for places in levels for group in self.grouped(places)]

    def grouped(self, places: Sequence[int]) -> list[Group]:
        """The groups of units that do not depend on each other."""
        alike: dict[Any, list[int]] = defaultdict(list)
        for place in places:
            alike[self.kind(place)].append(place)
        groups: list[Group] = []
        for (op, *_), members in alike.items():
            if op == "loop":
                groups += map(self.loop, members)
            elif op == "pick":
                for place in members:
                    [[source]], k = self.units[place].operands, self.units[place].length
                    self.slot[place] = self.slot[source] + k
            elif op in SCATTERS:
                groups.append(self.scatter(members))
            elif op in PRODUCTS:
                groups += self.products(members)
            else:
                groups.append(self.group(members))
        return groups

    def kind(self, place: int) -> tuple[Any, ...]:
        """A key that is equal for units that can be in the same group."""
        op, operands, size = self.units[place]
        if op in ("loop", "pick"):
            return (op,)
        if op in SCATTERS:
            operands = operands[:2]
        lengths = list(map(len, operands))
        if op in LONG:
            # Lists of 2 to 7 operands, of 8 to 31, and so on, share a group: this saves groups, and
            # padding cannot make a list four times as long.
            lengths = [lengths[0].bit_length() // 2]
        return op, size, *lengths, *map(self.in_lanes, operands)

    def order(self, place: int) -> tuple[Any, ...]:
        """A sort key: units in the same group are sorted by the slots of their operands."""
        return [self.slots_of(operands) for operands in self.units[place].operands], place

    def block(self, lists: Sequence[Places], shape: tuple[int, ...], filler: Any = None) -> Block:
        """The block of these lists, one after the other, in an array with one more axis."""
        length = max(map(len, lists))
        lanes = any(map(self.in_lanes, lists))
        found: list[int] = []
        for places in lists:
            if len(places) < length:
                places += ((places[-1] if filler is None else filler),) * (length - len(places))
            found += self.slots_of(places, lanes, found[-1] if found else 0)
        return Block(lanes, np.array(found, np.int32).reshape(*shape, length))

    def group(self, members: list[int]) -> Group:
        """A group of G units: lists of K operands have shape (G, K), single operands (G,)."""
        if len(members) > 1:
            members.sort(key=self.order)
        unit, lanes = self.units[members[0]], self.lanes[members[0]]
        operands = zip(*[self.units[place].operands for place in members], strict=True)
        blocks = []
        for q, lists in enumerate(operands):
            block = self.block(lists, (len(members),), ZERO if unit.op == "sum" else None)
            is_single = unit.op not in LONG and not (unit.op == "take" and q == 1)
            blocks.append(Block(block.lanes, block.slots[:, 0]) if is_single else block)
        return Group(unit.op, Block(lanes, self.take_slots(members, lanes)), tuple(blocks))

    def loop(self, place: int) -> Group:
        """The group of a loop; its body has slots of its own, which each step uses again."""
        body, units, targets, known, results, is_kept = self.loops[place]
        first, *read, outside, forward = self.units[place].operands
        lanes, n = self.lanes[place], body.n_steps
        inner = _Layout(units, body.steps, self)
        inner.slot.update(zip(known, (self.slot[i] for i in outside), strict=True))
        states = inner.take_slots(body.states, lanes)
        begin = self.block([first], ()) if first else Block(lanes, states)
        reads = []
        for numbers, some in zip(read, targets, strict=True):
            if some:
                block = self.block([numbers], ())
                reads.append((block._replace(slots=block.slots.reshape(n, -1)), some))
        if kept := body.kept:
            [at], size = forward, len(self.loops[forward[0]].body.states)
            start = self.slot[at] + size + n * len(self.loops[at].body.outputs)
            rows = start + np.array([k for _, k in kept]) + size * np.arange(n)[:, None]
            reads.append((Block(self.lanes[at], rows.astype(np.int32)), [i for i, _ in kept]))
        moved = [(block, inner.take_slots(some, lanes)) for block, some in reads]
        groups = inner.all_grouped(chain.from_iterable(_levels(units)))
        self.n_uniform, self.n_rows = inner.n_uniform, inner.n_rows
        new, made = np.split(np.array(inner.slots_of(tuple(results)), np.int32), [len(body.new)])
        sizes = [len(states), n * len(made), n * len(states) * is_kept]
        result = self.take_slots([place, *[None] * (sum(sizes) - 1)], lanes)
        last, outputs, kept_states = np.split(result, np.cumsum(sizes)[:-1])
        loop = Loop(
            n, body.is_backward, groups, begin, states, new, last, moved,
            made, outputs.reshape(n, -1), kept_states.reshape(n, -1),
        )  # fmt: skip
        used = [[i for i in outside if self.lanes[i] == lane] for lane in (False, True)]
        blocks = [self.block([tuple(some)], ()) for some in used if some]
        operands = (begin, *(block for block, _ in moved), *blocks)
        return Group("loop", Block(lanes, result), operands, loop)

    def products(self, members: list[int]) -> list[Group]:
        """The groups of dots and means of products, one for each size of grid."""
        place_of: dict[tuple[Places, Places], int] = {}
        sizes: dict[tuple[int, int], list[list[int]]] = defaultdict(list)
        for place in members:
            left, right = self.units[place].operands
            if place_of.setdefault((left, right), place) != place:
                sizes[1, 1].append([place])  # the same sum in a different order of additions
        for lefts, rights in grids(place_of):
            for some in (lefts, rights):
                some.sort(key=lambda places: (places == (ONE,), self.slots_of(places)))
            grid = [place_of[left, right] for right, left in product(rights, lefts)]
            sizes[len(rights), len(lefts)].append(grid)
        # A grid with one row or column is often too little work for a call of its own. If there are
        # many sizes of such grids, one call with padded lists is faster.
        thin = [size for size in sizes if 1 in size and size != (1, 1)]
        for size in thin if len(thin) > FEW else ():
            sizes[1, 1] += [[place] for grid in sizes.pop(size) for place in grid]
        for found in sizes.values():
            found.sort(key=lambda grid: self.order(grid[0]))
        order = sorted(sizes, key=lambda size: self.order(sizes[size][0][0]))
        return [self.grid(sizes[size], *size) for size in order]

    def grid(self, found: list[list[int]], n_rights: int, n_lefts: int) -> Group:
        """One group for all grids of a size, each of which lists places row by row."""
        members = [*chain.from_iterable(found)]
        count, size = len(found), n_rights * n_lefts
        left, right = zip(*[self.units[place].operands for place in members], strict=True)
        lefts = [places for i, places in enumerate(left) if i % size < n_lefts]
        blocks = (
            self.block(lefts, (count, n_lefts), ZERO),
            self.block(right[::n_lefts], (count, n_rights), ONE),
        )
        slots = self.take_slots(members, self.lanes[members[0]])
        block = Block(self.lanes[members[0]], slots.reshape(count, n_rights, n_lefts))
        return Group(self.units[members[0]].op, block, blocks)

    def scatter(self, members: list[int]) -> Group:
        """A group for G tables of length N: gradients (G, N), indices and contributions (G, J)."""
        tables: dict[tuple[Places, Places], dict[int, int]] = defaultdict(dict)
        for place in members:
            indices, contributions, (position,) = self.units[place].operands
            tables[indices, contributions][int(self.numbers[position])] = place
        keys = sorted(tables, key=lambda key: list(map(self.slots_of, key)))
        unit, lanes = self.units[members[0]], self.lanes[members[0]]
        places = [tables[key].get(position) for key in keys for position in range(unit.length)]
        result = Block(lanes, self.take_slots(places, lanes).reshape(len(keys), unit.length))
        blocks = [self.block(lists, (len(keys),)) for lists in zip(*keys, strict=True)]
        return Group(unit.op, result, tuple(blocks))


def grids(pairs: Mapping[tuple[Places, Places], int]) -> list[Grid]:
    """Splits the pairs of lists into grids that combine every left list with every right list.

    Left lists with the same right lists form a grid. The input of biases, (ONE,), is multiplied by
    the upstream gradients of all layers, so it joins the grid of each layer.
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
