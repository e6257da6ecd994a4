"""Schedules as arrays of integers, for the kernel.

Groups become steps of the kernel, whose memory is one array:

    uniform numbers, then a 0       a slot of the schedule is a place
    rows of lanes                   n numbers for each slot
    scratch                         copies of operands that are not adjacent in memory
    constants                       operands that consist of constants, copied only once

If there is only one lane, the rows of lanes are numbers like the uniform ones. Among these, small
groups become rows of a step called SERIAL, with one row for each operation.

    >>> double = Group("+", Block(True, np.array([1])), (Block(True, np.array([0])),) * 2)
    >>> schedule = Schedule([], [double], [], (0, 2), 1, [], [], (0, 0), np.zeros((0, 2), np.int32))
    >>> encode(schedule, n=3).steps  # 3 numbers, written to place 11
    [('+', [3, 11, 8, 8, 0, 0])]
    >>> encode(schedule, n=1).steps  # one row
    [('serial', [1, 0, 9, 8, 8, 0, 0])]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from micrograd.compiler import kernel
from micrograd.compiler.kernel import FUNCTIONS, LEFT_IN_LANES, REDUCTIONS, ROWS, VECTORS, WIDTH
from micrograd.compiler.schedule import PRODUCTS, Block, Group, Schedule

Places = npt.NDArray[Any]

CHUNK = 1024  # how many numbers of an operand are copied at a time
FEW = 8  # a group of at most this many rows becomes a part of SERIAL
CACHE_LINE = 8  # in numbers
STEPS = {op: code for code, op in enumerate(kernel.STEPS)}
ROW_CODES = {op: code for code, op in enumerate(kernel.SERIAL_FUNCTIONS)}
ROW_LISTS = ("sum", *PRODUCTS)  # operations on lists that rows can do


class Encoded(NamedTuple):
    """A program of the kernel.

    Attributes:
        program: the integers.
        size: the size of the memory.
        lanes: the place where the rows of lanes begin.
        once: first index, and end, of the steps that copy constants.
        until_means: the same for the steps that compute everything up to the means.
        after_means: the same for all later steps.
    """

    program: npt.NDArray[np.int32]
    size: int
    lanes: int
    once: tuple[int, int]
    until_means: tuple[int, int]
    after_means: tuple[int, int]

    @property
    def steps(self) -> list[tuple[str, list[int]]]:
        """The operation and the integers of each step."""
        found, at = [], 1
        while at < self.after_means[1]:
            code, length = self.program[at : at + 2].tolist()
            found.append((kernel.STEPS[code], self.program[at + 2 : at + length].tolist()))
            at += length
        return found


def encode(schedule: Schedule, n: int) -> Encoded:
    """The program that runs a schedule in n lanes.

    Raises:
        ValueError: a slot is out of range, results are not in neighbouring slots, the kernel does
            not have the operation, or the memory would be too large.
    """
    encoder = _Encoder(schedule, n)
    until = encoder.steps_of([*schedule.before, *schedule.lanes])
    after = encoder.steps_of(schedule.after)
    if encoder.size > np.iinfo(np.int32).max:
        raise ValueError(f"{n} lanes need a memory of {encoder.size} numbers: use fewer lanes")
    pieces = [[np.array([encoder.size])], encoder.once, until, after]
    ends = itertools.accumulate(sum(map(len, piece)) for piece in pieces)
    spare = np.zeros(1)  # the kernel reads integers in fours
    program = np.concatenate([*itertools.chain(*pieces), spare]).astype(np.int32)
    return Encoded(program, encoder.size, encoder.lanes, *itertools.pairwise(ends))


class _Encoder:
    def __init__(self, schedule: Schedule, n: int) -> None:
        self.n = n
        self.limits = schedule.sizes
        self.zero = schedule.sizes[False]
        self.lanes = _whole_lines(self.zero + 1)
        self.scratch = _whole_lines(self.lanes + n * schedule.sizes[True])
        self.part = max(CHUNK, n)  # a part of the scratch memory for each of four operands
        lists = [g.operands[0].slots.size for g in schedule.groups if g.op in PRODUCTS]
        self.size = _whole_lines(self.scratch + max([4 * self.part, *lists]))
        self.constants = {slot for slot, _ in schedule.constants}
        self.copies: dict[Any, int] = {}
        self.once: list[Any] = []
        self.steps: list[Any] = []
        self.rows: list[int] = []

    def steps_of(self, groups: Sequence[Group]) -> list[Any]:
        """The steps for these groups, as arrays."""
        self.steps = []
        for group in groups:
            if not self.in_rows(group):
                self.add_group(group)
        self.end_rows()
        return self.steps

    def step(self, op: str, *numbers: int, tables: Sequence[Places] = ()) -> None:
        self.end_rows()
        self.steps += _step(op, numbers, tables)

    def end_rows(self) -> None:
        if self.rows:
            self.steps += _step("serial", [len(self.rows) // 6, *self.rows], ())
            self.rows = []

    # ---- places

    def width(self, group: Group) -> int:
        """The number of lanes in which the group runs."""
        return self.n if group.result.lanes or any(x.lanes for x in group.operands) else 1

    def places(self, group: Group, block: Block) -> Places:
        """The places of the slots of a block; in lanes, those of the first lane."""
        slots, limit = block.slots, self.limits[block.lanes]
        if slots.size and not 0 <= slots.min() <= slots.max() < limit:
            raise ValueError(
                f"{group.op!r} expects slots from 0 to {limit - 1}, got {slots.min()} to "
                f"{slots.max()}: pass the sizes of the schedule"
            )
        return self.lanes + slots * self.n if block.lanes else slots

    def few_places(self, group: Group, block: Block) -> list[int]:
        """The same as a list; for a few slots this is ten times as fast."""
        slots: list[int] = block.slots.ravel().tolist()
        if slots and not 0 <= min(slots) <= max(slots) < self.limits[block.lanes]:
            self.places(group, block)  # raises the error
        return [self.lanes + slot for slot in slots] if block.lanes else slots

    def first_result(self, group: Group) -> int:
        places = self.places(group, group.result).ravel()
        if not _adjacent(places, self.n if group.result.lanes else 1):
            raise ValueError(
                f"{group.op!r} expects results in neighbouring slots, got "
                f"{group.result.slots.ravel()}: lay out the slots group by group"
            )
        return int(places[0])

    def gathered(self, places: Places, width: int, move: bool, part: int = 0) -> int:
        """The place of adjacent copies: of rows if `move`, else rows that repeat a number."""
        if self.is_constant(places):
            key = width, places.tobytes()
            if key not in self.copies:
                self.copies[key] = self.size
                self.once += _step("gather", (len(places), width, move, self.size), [places])
                self.size = _whole_lines(self.size + len(places) * width)
            return self.copies[key]
        out = self.scratch + part * self.part
        self.step("gather", len(places), width, move, out, tables=[places])
        return out

    def is_constant(self, places: Places) -> bool:
        return self.constants.issuperset(places.tolist())

    # ---- rows of single operations

    def in_rows(self, group: Group) -> bool:
        """Whether the group needs only a few rows, which are then added."""
        op, blocks = group.op, group.operands
        if self.width(group) > 1 or group.result.slots.size > FEW:
            return False
        if op not in FUNCTIONS and (op not in ROW_LISTS or blocks[-1].slots.size > FEW):
            return False
        results, *operands = (self.few_places(group, x) for x in (group.result, *blocks))
        if op in FUNCTIONS:
            for row in zip(results, *operands, strict=True):
                self.row(op, *row)
            return True
        length = blocks[0].slots.shape[-1]
        for i, out in enumerate(results):  # the total grows in place `out`
            if op == "sum":
                total, *terms = operands[0][i * length :][:length]
                for k in range(0, len(terms) or 1, 3):
                    three = terms[k : k + 3]
                    self.row("sum", out, total, *three, *[self.zero] * (3 - len(three)))
                    total = out
            else:
                _, n_right, n_left = group.result.slots.shape
                left = i // (n_right * n_left) * n_left + i % n_left
                xs, ys = operands[0][left * length :], operands[1][i // n_left * length :]
                self.row("*", out, xs[0], ys[0])
                for k in range(1, length):
                    self.row("add product", out, out, xs[k], ys[k])
        return True

    def row(self, op: str, out: int, *operands: int) -> None:
        self.rows += [ROW_CODES[op], out, *operands, *[0] * (4 - len(operands))]

    # ---- steps

    def add_group(self, group: Group) -> None:
        op, width, out = group.op, self.width(group), self.first_result(group)
        operands = [self.places(group, block) for block in group.operands]
        moves = [block.lanes for block in group.operands]
        size = group.result.slots.size
        if op in FUNCTIONS:
            self.elementwise(op, width, out, operands, moves)
        elif op in PRODUCTS:
            self.products(group, width, out, *operands)
        elif op in REDUCTIONS:
            self.step(op, size, operands[0].shape[-1], width, out, tables=operands)
        elif op == "take":
            length = operands[1].shape[-1]
            self.step("take", size, length, width, out, *moves, tables=operands)
        elif op in ("scatter", "scatter mean"):
            count, length = group.result.slots.shape
            sizes = count, operands[0].shape[-1], length, width, out
            out_width = width if group.result.lanes else 1
            self.step("scatter", *sizes, *moves, out_width, tables=operands)
        else:
            known = ", ".join([*FUNCTIONS, *PRODUCTS, *REDUCTIONS, "take", "scatter"])
            raise ValueError(f"the kernel has no operation {op!r}: it knows {known}")

    def elementwise(
        self, op: str, width: int, out: int, operands: Sequence[Places], moves: Sequence[bool]
    ) -> None:
        known: list[int | None] = []  # the places of operands that need no copy in each run
        for places, move in zip(operands, moves, strict=True):
            if (move or width == 1) and _adjacent(places, width):
                known.append(int(places[0]))
            else:
                constant = self.is_constant(places)
                known.append(self.gathered(places, width, move) if constant else None)
        size = count = len(operands[0])
        if None in known:
            size = max(1, CHUNK // width)
        for first in range(0, count, size):
            n = min(size, count - first)
            xs = [
                self.gathered(operands[q][first : first + n], width, moves[q], q)
                if place is None
                else place + first * width
                for q, place in enumerate(known)
            ]
            self.step(op, n * width, out + first * width, *xs, *[0] * (4 - len(xs)))

    def products(self, group: Group, width: int, out: int, left: Places, right: Places) -> None:
        """Sums of products, in the way that is fastest for their shape."""
        count, rows, columns = group.result.slots.shape
        terms, mean = left.shape[-1], width > 1 and not group.result.lanes
        moves = [block.lanes and width > 1 for block in group.operands]
        if columns == 1:  # a single column is transposed, because vectors run along rows
            rows, columns, left, right = columns, rows, right, left
            moves.reverse()
        sizes = count, rows, columns, terms
        if width == 1 and columns >= WIDTH:
            starts, vectors = left[:, :1].copy(), left.swapaxes(1, 2)
            apart = (np.diff(vectors) != 1).any(axis=-1)
            if apart.any():  # vectors of numbers that are not adjacent are copied
                copies = self.gathered(vectors[apart].ravel(), 1, False)
                starts[:, 0][apart] = copies + columns * np.arange(apart.sum())
            self.matrix(count, 1, rows, columns, out, columns, right, starts)
        elif width == 1 and terms >= 2 * WIDTH and _adjacent(left, 1) and _adjacent(right, 1):
            first = right[:, :, :1], left[:, :, :1]
            self.step("inner products", count, rows, columns, 1, terms, out, 1, tables=first)
        elif width >= WIDTH and mean and all(moves):
            self.step("inner products", *sizes, width, out, width, tables=[right, left])
        elif width >= WIDTH and not mean and moves[1]:
            self.matrix(count, rows, columns, width, out, width, left, right, moves[0])
        elif width >= WIDTH and not mean and moves[0]:
            self.matrix(count, columns, rows, width, out, columns * width, right, left)
        else:
            more = width, out, *reversed(moves), mean
            self.step("plain products", *sizes, *more, tables=[right, left])

    def matrix(
        self, count: int, several: int, height: int, n: int, out: int, out_step: int,
        left: Places, right: Places, left_moves: bool = False,
    ) -> None:  # fmt: skip
        """For each of several right lists, `height` rows of n numbers, `out_step` apart."""
        jump = n if out_step > n else height * n  # from one right list to the next
        tall = LEFT_IN_LANES if left_moves else (ROWS if height >= ROWS else 1)
        vectors = -(-n // WIDTH)
        broad = -(-vectors // -(-vectors // VECTORS))  # tiles of almost the same breadth
        sizes = count, several, height, n, right.shape[-1], out, jump, out_step, tall, broad
        self.step("matrix products", *sizes, tables=[left, right])


def _step(op: str, numbers: Sequence[int], tables: Sequence[Places]) -> list[Any]:
    # A step as arrays: its operation and its length come first.
    length = 2 + len(numbers) + sum(table.size for table in tables)
    return [np.array([STEPS[op], length, *numbers]), *(table.ravel() for table in tables)]


def _adjacent(places: Places, distance: int) -> bool:
    return bool((np.diff(places) == distance).all())


def _whole_lines(size: int) -> int:
    return -(-size // CACHE_LINE) * CACHE_LINE
