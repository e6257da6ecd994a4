"""Running a schedule as machine code that LLVM makes for it.

Vectors run over the lanes. The examples of a batch fill blocks of as many lanes as a vector register
has, and a slot of a block is one vector:

    memory      the uniform numbers, then the blocks, each with a vector for every slot

So the code of a group is the same for any number of examples: it runs block by block, and the means
are summed over all blocks at the end. The lanes that fill the last block are copies of the last
example, and are set to 0 before the sums. With a single example, slots are numbers, and vectors run
over neighbouring slots, as they do in all uniform groups.

A group becomes a loop nest. The place of an operand is a formula of the loop counters where its
slots form a regular pattern, and is read from a table elsewhere. Groups of elementwise operations
on the same slots share one loop, so that numbers between them stay in registers.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from micrograd.compiler import llvm_text as of
from micrograd.compiler.fuse import MEANS, SCATTERS
from micrograd.compiler.llvm_text import Array, Num, Text, machine
from micrograd.compiler.schedule import PRODUCTS, Block, Group, Schedule, Slots

Numbers = npt.NDArray[Any]

MEMORY = 2**20  # maximum size of the lanes of a tile, in bytes
SERIAL = 500  # with more groups, those with few results become rows of one table
FEW = 8  # results
MOST = 32  # the sum of at most this many numbers is written without a loop
CHECKED = bool(os.environ.get("MICROGRAD_CHECKED"))  # check every access to memory, for tests
WRONG_INDEX, NOT_FINITE, WRONG_PLACE = 1, 2, 3  # what a run may end with, instead of 0

FUNCTIONS: dict[str, Callable[..., Num]] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
    "/": lambda x, y: x / y, "**": lambda x, y: x.call("pow", y), "neg": lambda x: -x, "abs": abs,
    "exp": of.exp, "log": of.log, "sqrt": lambda x: x.call("sqrt"), "sin": lambda x: x.call("sin"),
    "cos": lambda x: x.call("cos"), "tanh": of.tanh, "sigmoid": of.sigmoid, "relu": of.relu,
    "maximum": of.larger, "minimum": of.smaller, "copy": lambda x: x,
    "add product": lambda x, y, z: x + y * z, "subtract product": lambda x, y, z: x - y * z,
    **{
        f"where {sign}": lambda x, y, a, b, sign=sign: x.compared(sign, y).where(a, b)
        for sign in ("<", "<=", ">", ">=")
    },
    "where is": lambda x, y, a, b: x.compared("==", y).where(a, b),
}  # fmt: skip
REDUCTIONS = {"sum": FUNCTIONS["+"], "largest": of.larger, "smallest": of.smaller}

# What a row of a table of single operations can do, and the number of operands if it is not 2.
ROW_FUNCTIONS: dict[str, Callable[..., Num]] = {
    **FUNCTIONS, **REDUCTIONS, "sum": lambda x, y, a, b: (x + y) + (a + b),
    "add product": lambda x, y, z: x + y * z,
}  # fmt: skip
ROWS = {op: i for i, op in enumerate(ROW_FUNCTIONS)}
ARITY = {
    **dict.fromkeys(("neg", "abs", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid"), 1),
    "relu": 1, "copy": 1, "sum": 4, "add product": 3, "subtract product": 3,
    **{op: 4 for op in FUNCTIONS if op.startswith("where")},
}  # fmt: skip

# The integers of a job: what a run gets and returns. Each array has an address and a length; then
# come the arrays to copy to uniform slots, those to copy from there, and the arguments, each with
# the distance between examples, and whether its numbers are integers.
STATUS, DONE, STEPS, N, HAS_ORDER, PADDED, BLOCKS, FIRST = range(8)
ARRAYS = {"memory": "double", "tables": "i32", "order": "i64", "losses": "double",
          "numbers": "double", "rows": "double"}  # fmt: skip


class Layout(NamedTuple):
    """Where the numbers of a schedule are in memory.

    Attributes:
        width: lanes in a block; 1 if there is a single example.
        lanes: where the first block begins.
        block: the size of a block.
        tile: the largest number of blocks in memory.
    """

    width: int
    lanes: int
    block: int
    tile: int


def layout_of(schedule: Schedule, n: int) -> Layout:
    """The layout for n examples: one is laid out differently from several."""
    n_uniform, n_rows = schedule.sizes
    width = 1 if n == 1 else machine().width
    lanes = -(-(n_uniform + schedule.means[1] - schedule.means[0]) // 8) * 8
    block = (n_rows | 1) * width  # an odd number of vectors: blocks share no part of the cache
    return Layout(width, lanes, block, 1 if n == 1 else max(2, MEMORY // (8 * block)))


# ---- places


class _Places:
    """The slots of a block as a formula of indices, with a table where there is no formula."""

    def __init__(self, writer: _Writer, slots: Slots) -> None:
        self.steps: list[int | None] = []
        rest: Any = slots
        for axis, size in enumerate(slots.shape):
            steps = np.diff(rest, axis=axis)
            step = steps.flat[0] if steps.size else 0
            is_regular = size == 1 or bool((steps == step).all())
            self.steps.append(int(step) if is_regular else None)
            if is_regular:
                rest = rest.take([0], axis=axis)
        self.first = int(rest.flat[0])
        self.table, self.sizes = None, rest.shape
        if rest.size > 1:
            self.table = writer.table(rest)
            self.writer = writer

    def at(self, *indices: Any) -> Any:
        """The slot at these indices."""
        place: Any = self.first
        if self.table is not None:
            at: Any = 0
            for index, size in zip(indices, self.sizes, strict=True):
                at = at * size + (index if size > 1 else 0)
            place = self.writer.tables.read(at + self.table)
        for index, step in zip(indices, self.steps, strict=True):
            if step:
                place = index * step + place
        return place


class Plan:
    """What a run copies from and to other memory, and where its job says so.

    Attributes:
        inputs: slots that are set before the first step, an array for each given one.
        outputs: slots that are returned after the last step.
        widths: how many numbers of each argument an example has.
        update: the update of the parameters after each step; None if there is none.
    """

    def __init__(
        self, inputs: Sequence[Slots], outputs: Sequence[Slots], widths: Sequence[int],
        update: Any = None,
    ) -> None:  # fmt: skip
        self.inputs, self.outputs, self.widths = inputs, outputs, widths
        self.update = update
        at = FIRST + 2 * len(ARRAYS)
        pairs = [at + 2 * i for i in range(len(inputs) + len(outputs))]
        self.given, self.returned = pairs[: len(inputs)], pairs[len(inputs) :]
        at += 2 * len(pairs)
        self.arguments = [(at + 4 * i, at + 4 * i + 1) for i in range(len(widths))]
        self.size = at + 4 * len(widths)


def text_of(schedule: Schedule, plan: Plan, is_single: bool) -> tuple[str, Slots, Layout]:
    """The text of a schedule, its tables, and its layout; for one example, or for several."""
    layout = layout_of(schedule, 1 if is_single else 2)
    writer = _Writer(schedule, layout, plan)
    return writer.text.finished(), np.concatenate([*writer.found, np.zeros(1, np.int32)]), layout


class _Writer:
    """Writes the functions of a schedule.

    Attributes:
        memory: for uniform numbers (False) and lanes (True), the array in the current function.
        tables: the array of all tables in the current function.
    """

    def __init__(self, schedule: Schedule, layout: Layout, plan: Plan) -> None:
        self.plan = plan
        self.schedule, self.layout = schedule, layout
        self.text = Text(machine().width)
        self.memory: dict[bool, Array] = {}
        self.tables: Any = None
        self.text.checked = self.checked if CHECKED else None
        self.found: list[Numbers] = []
        self.known: dict[bytes, int] = {}
        self.has_rows = False
        self.size = 0
        lanes = [group for group in schedule.lanes if group.op not in MEANS]
        means = [group for group in schedule.lanes if group.op in MEANS]
        for name, groups in (
            ("before", schedule.before), ("lanes", lanes), ("means", means),
            ("after", schedule.after),
        ):  # fmt: skip
            self.begin(name)
            self.is_vector = name == "lanes" and layout.width > 1
            is_serial = not self.is_vector and name != "means" and len(groups) > SERIAL
            for few, some in itertools.groupby(groups, lambda x: is_serial and _in_rows(x)):  # noqa: B023
                if few:
                    self.rows(list(some))
                else:
                    for run in _runs(list(some)):
                        self.add(run)
        if self.has_rows:
            self.row_by_row()
        self.load()
        self.step()
        self.run()

    def begin(self, name: str) -> None:
        """Begins a function; n is the number of blocks in memory, or that of the block."""
        uniform, lanes, tables, job, n = self.text.function(
            name, uniform="double", lanes="double", tables="i32", job="i64", n="number"
        )
        self.job, self.n = job._replace(length=self.plan.size), n
        size = (n if name in ("means", "step") else 1) * self.layout.block
        self.memory = {
            False: uniform._replace(length=self.layout.lanes),
            True: lanes._replace(length=size),
        }
        self.tables = tables._replace(length=self.job.read(self.where("tables") + 1))
        self.arrays = [uniform, lanes, tables, job]

    def table(self, numbers: Numbers) -> int:
        """Where these numbers begin in the table of all places."""
        flat = np.ascontiguousarray(numbers, np.int32).ravel()
        key = flat.tobytes()
        if key not in self.known:
            self.known[key] = self.size
            self.found.append(flat)
            self.size += len(flat)
        return self.known[key]

    def checked(self, index: Any, last: Any) -> Any:
        """The index, or 0 if it is not from 0 to `last`; then the run ends with WRONG_PLACE."""
        index = self.text.number(index, "i64")
        is_valid = (index.compared(">=", 0)) & (index.compared("<=", last))
        self.job.write(STATUS, is_valid.where(self.job.read(STATUS), WRONG_PLACE))
        return is_valid.where(index, 0)

    # ---- what runs around the groups

    def load(self) -> None:
        """Copies the examples of a block into its lanes; the last one is repeated if they end."""
        self.begin("load")
        text, job, width = self.text, self.job, self.layout.width
        n, order = job.read(N), self.array("order")
        has_order = job.read(HAS_ORDER).compared("==", 1)
        start = job.read(DONE) * n
        rows = []
        for lane in range(width):
            row = text.minimum(self.n * width + lane, n - 1)
            rows.append(has_order.where(order.read(has_order.where(start + row, 0)), row))
        slot = 0
        for (address, size), length in zip(self.plan.arguments, self.plan.widths, strict=True):
            distance, is_whole = job.read(size + 1), job.read(size + 2)
            firsts = [row * distance for row in rows]
            for whole, kind in enumerate(("double", "i64")):
                with text.when(is_whole.compared("==", whole)):
                    array = job.read(address).array(kind, job.read(size))
                    for column in text.range(length):
                        numbers = text.joined([array.read(first + column) for first in firsts])
                        if whole:
                            numbers = numbers.cast("sitofp", "double")
                        self.memory[True].write((column + slot) * width, numbers)
            slot += length + 1  # skips a row of ones

    def step(self) -> None:
        """Computes everything once: before the lanes, tile by tile, after the means."""
        self.begin("step")
        text, job, plan, width = self.text, self.job, self.plan, self.layout.width
        uniform, lanes = self.memory[False], self.memory[True]
        arrays = self.arrays
        if plan.update:
            numbers, done = self.array("numbers"), job.read(DONE)
            size = len(plan.update.numbers)
            for i, slot in enumerate(plan.update.numbers):
                uniform.write(int(slot), numbers.read(done * size + i))
        text.call("before", *arrays, 0)
        first, last = self.schedule.means
        n = job.read(N)
        rows, padded = self.array("rows"), job.read(PADDED)
        places = [slot for is_lane, slot in self.schedule.results.tolist() if is_lane]
        total = (n + (width - 1)) >> (width.bit_length() - 1)
        is_new = job.read(DONE).compared("==", 0) | job.read(HAS_ORDER).compared("==", 1)
        is_new = is_new | text.number(total, "i64").compared(">", self.layout.tile)
        for begin in text.range(total, step=self.layout.tile):
            blocks = text.minimum(total - begin, self.layout.tile)
            for i in text.range(blocks):
                block = lanes.part(i * self.layout.block, self.layout.block)
                here = [arrays[0], block, *arrays[2:]]
                with text.when(is_new):
                    text.call("load", *here, begin + i)
                text.call("lanes", *here, 0)
                for k, slot in enumerate([] if plan.update else places):
                    at = (begin + i) * width + padded * k
                    rows.write(at, block.read(slot * width, width))
            if width > 1:
                is_last = text.number(begin + blocks, "i64").compared("==", total)
                rest = is_last.where(n & (width - 1), 0)
                self.without_copies(
                    rest, blocks, lambda blocks=blocks: text.call("means", *arrays, blocks)
                )
                with text.when(text.number(total, "i64") > self.layout.tile):  # add up the tiles
                    for i in text.range(last - first):
                        mean, at = uniform.read(i + first), i + self.schedule.sizes[False]
                        mean = (begin > 0).where(uniform.read(at) + mean, mean)
                        uniform.write(at, mean)
                        uniform.write(i + first, mean)
            else:
                text.call("means", *arrays, 1)
        text.call("after", *arrays, 0)
        if not plan.update:
            return
        with text.when(job.read(STATUS).compared("==", 0)):
            done = job.read(DONE)
            self.array("losses").write(done, uniform.read(plan.update.mean))
            is_finite = uniform.read(plan.update.square) < math.inf
            job.write(STATUS, is_finite.where(0, text.number(NOT_FINITE, "i64")))
            with text.when(is_finite):
                for old, new in zip(plan.update.kept, plan.update.new, strict=True):
                    self.copy(uniform, new, uniform, old)
                job.write(DONE, done + 1)

    def without_copies(self, rest: Num, blocks: Num, call: Callable[[], None]) -> None:
        """Calls something while the lanes of the last block are 0, except for the first `rest`."""
        text, layout, lanes = self.text, self.layout, self.memory[True]
        width = layout.width
        start = (blocks - 1) * layout.block
        is_filled = rest > 0
        with text.when(is_filled):
            mask = text.joined([rest > lane for lane in range(width)])
            for i in text.range(layout.block, step=width):
                at = i + start
                lanes.write(at, mask.where(lanes.read(at, width), 0.0))
        call()
        with text.when(is_filled):
            ones = _Places(self, np.array(self.schedule.ones))
            one = text.number(1.0, "double", width)
            for i in text.range(len(self.schedule.ones)):
                lanes.write(ones.at(i) * width + start, one)

    def run(self) -> None:
        """The function that is called from outside."""
        [job] = self.text.function("run", job="i64")
        text, plan = self.text, self.plan
        self.job = job = job._replace(length=plan.size)
        memory, self.tables = self.array("memory"), self.array("tables")
        uniform = memory.part(0, self.layout.lanes)
        lanes = memory.part(self.layout.lanes, memory.length - self.layout.lanes)
        for address, slots in zip(plan.given, plan.inputs, strict=True):
            array = job.read(address).array("double", job.read(address + 1))
            self.copy(array, np.arange(len(slots)), uniform, slots)
        for _ in text.range(job.read(STEPS)):
            with text.when(job.read(STATUS).compared("==", 0)):
                text.call("step", uniform, lanes, self.tables, job, job.read(BLOCKS))
        for address, slots in zip(plan.returned, plan.outputs, strict=True):
            array = job.read(address).array("double", job.read(address + 1))
            self.copy(uniform, slots, array, np.arange(len(slots)))

    def copy(self, source: Array, of: Slots, target: Array, to: Slots) -> None:
        """Sets target[to] = source[of]."""
        if not len(of):
            return
        self.is_vector = False
        for length, moves, starts in _parts([of, to], len(of)):
            first, last = (_Places(self, slots[starts]) for slots in (of, to))
            for i in self.text.range(len(starts)):
                x, y = first.at(i), last.at(i)
                are_adjacent = moves == [1, 1]
                for j, width in self.pieces(length) if are_adjacent else self.singles(length):
                    target.write(j * moves[1] + y, source.read(j * moves[0] + x, width))

    def singles(self, length: int) -> Iterator[tuple[Any, int]]:
        """A loop over single numbers."""
        for j in self.text.range(length):
            yield j, 1

    def array(self, name: str) -> Array:
        """An array of the job."""
        at = self.where(name)
        return self.job.read(at).array(ARRAYS[name], self.job.read(at + 1))

    def where(self, name: str) -> int:
        """Where the job has the address and the length of an array."""
        return FIRST + 2 * [*ARRAYS].index(name)

    # ---- numbers at slots

    def read(self, lanes: bool, slot: Any, width: int, step: int = 1) -> Num:
        """In lanes, the vector of a slot; else `width` numbers at slots with this step."""
        memory, lane_width = self.memory[lanes], self.layout.width
        if self.is_vector:
            if lanes:
                return memory.read(slot * lane_width, lane_width)
            return memory.read(slot).splat(lane_width)
        if step == 1 or width == 1:
            return memory.read(slot, width)
        if step == 0:
            return memory.read(slot).splat(width)
        return self.text.joined([memory.read(slot + i * step) for i in range(width)])

    def write(self, lanes: bool, slot: Any, numbers: Num) -> None:
        """Stores numbers in neighbouring slots; in lanes, a vector in a slot."""
        if self.is_vector:
            slot = slot * self.layout.width
            numbers = numbers.splat(self.layout.width)
        self.memory[lanes].write(slot, numbers)

    # ---- groups

    def add(self, run: list[Group]) -> None:
        """Writes the code of a few groups that `_runs` put together."""
        group = run[0]
        if _is_elementwise(group):
            self.elementwise(run)
        elif group.op in PRODUCTS:
            self.products(group)
        elif group.op in REDUCTIONS:
            self.reduction(group)
        elif group.op == "take":
            self.take(group)
        elif group.op in SCATTERS:
            self.scatter(group)
        else:
            raise ValueError(f"there is no code for operation {group.op!r}")

    def elementwise(self, run: list[Group]) -> None:
        """Groups whose results depend, at each index, on operands at the same index."""
        made: dict[Any, int] = {}
        columns: list[tuple[bool, Slots]] = []  # the operands that are read from memory
        steps: list[tuple[Group, list[tuple[bool, int]]]] = []
        for i, group in enumerate(run):
            operands = []
            for block in group.operands:
                slots = block.slots[:, None] if block.slots.ndim == 1 else block.slots
                for column in slots.T:
                    key = (block.lanes, column.tobytes())
                    if key in made:
                        operands.append((True, made[key]))
                    else:
                        operands.append((False, len(columns)))
                        columns.append((block.lanes, column))
            steps.append((group, operands))
            made[group.result.lanes, group.result.slots.tobytes()] = i
        count = len(run[0].result.slots)
        if self.is_vector:
            parts: list[Any] = [(1, [0] * len(columns), np.arange(count))]
        else:
            parts = _parts([slots for _, slots in columns], count)
        for length, moves, starts in parts:
            places = [_Places(self, slots[starts]) for _, slots in columns]
            first = _Places(self, starts.astype(np.int32))
            for i in self.text.range(len(starts), unroll=2):
                begins = [place.at(i) for place in places]
                out = first.at(i)
                for j, width in self.pieces(length):
                    loaded = [
                        self.read(lanes, begin + j * move if move else begin, width, move)
                        for (lanes, _), begin, move in zip(columns, begins, moves, strict=True)
                    ]
                    results: list[Num] = []
                    for group, operands in steps:
                        xs = [results[k] if is_made else loaded[k] for is_made, k in operands]
                        results.append(_combined(group.op, xs))
                        self.write(
                            group.result.lanes, out + (j + group.result.slots.item(0)), results[-1]
                        )

    def pieces(self, length: int) -> Iterator[tuple[Any, int]]:
        """Loops over neighbouring numbers: where each vector begins; the last two may overlap."""
        width = 1 if self.is_vector else min(self.text.width, 1 << (length.bit_length() - 1))
        whole = length // width * width
        for j in self.text.range(whole, step=width, unroll=2):
            yield j, width
        if whole < length:
            yield length - width, width

    def reduction(self, group: Group) -> None:
        """A sum, or the largest or smallest number, of long lists."""
        [block], result = group.operands, group.result
        places, combine = _Places(self, block.slots), REDUCTIONS[group.op]
        n, length = block.slots.shape
        for i in self.text.range(n):
            found = [self.read(block.lanes, places.at(i, k), 1) for k in range(4)]
            whole = length // 4 * 4
            for k in self.text.range(whole, start=4, step=4, carried=found):
                found[:] = [
                    combine(x, self.read(block.lanes, places.at(i, k + j), 1))
                    for j, x in enumerate(found)
                ]
            found += [self.read(block.lanes, places.at(i, k), 1) for k in range(whole, length)]
            self.write(result.lanes, i + result.slots.item(0), _tree(combine, found))

    # ---- many small groups

    def rows(self, groups: list[Group]) -> None:
        """Single operations as rows of a table: operation, place of the result, four operands."""
        self.has_rows = True
        zero = self.schedule.constants[-2][0]
        table: list[int] = []

        def row(op: str, *places: int) -> None:
            table.extend((ROWS[op], *places, *[zero] * (5 - len(places))))

        for group in groups:
            op = group.op
            outs, *operands = (
                (x.slots.ravel() + x.lanes * self.layout.lanes).tolist()
                for x in (group.result, *group.operands)
            )
            if op in FUNCTIONS:
                for places in zip(outs, *operands, strict=True):
                    row(op, *places)
                continue
            length = group.operands[0].slots.shape[-1]
            for i, out in enumerate(outs):
                if op in REDUCTIONS:
                    total, *rest = operands[0][i * length : (i + 1) * length]
                    step = 3 if op == "sum" else 1
                    for k in range(0, len(rest) or 1, step):
                        row(op, out, total, *(rest[k : k + step] or [total] * (op != "sum")))
                        total = out
                    continue
                _, n_rights, n_lefts = group.result.slots.shape
                left = (i // (n_rights * n_lefts) * n_lefts + i % n_lefts) * length
                right = i // n_lefts * length
                row("*", out, operands[0][left], operands[1][right])
                for k in range(1, length):
                    row("add product", out, out, operands[0][left + k], operands[1][right + k])
        start = self.table(np.array(table, np.int32))
        uniform, _, tables, job = self.arrays
        self.text.call("rows", uniform, tables, job, start, len(table) // 6)

    def row_by_row(self) -> None:
        """The function that runs rows of the table."""
        memory, tables, self.job, start, count = self.text.function(
            "rows", memory="double", tables="i32", job="i64", first="number", count="number"
        )
        if CHECKED:
            tables = tables._replace(length=self.job.read(self.where("tables") + 1))
            memory = memory._replace(length=self.job.read(self.where("memory") + 1))
        for i in self.text.range(count):
            at = start + i * 6
            for k in self.text.cases(tables.read(at), len(ROWS)):
                op = [*ROWS][k]
                given = [memory.read(tables.read(at + 2 + j)) for j in range(ARITY.get(op, 2))]
                memory.write(tables.read(at + 1), ROW_FUNCTIONS[op](*given))

    # ---- products

    def products(self, group: Group) -> None:
        """Matrix products, in tiles whose sums stay in registers."""
        left, right = group.operands
        count, n_rights, n_lefts = group.result.slots.shape
        terms = left.slots.shape[-1]
        if not self.is_vector and self.layout.width > 1 and group.op == "mean":
            self.means(group)
            return
        a, b = _Places(self, left.slots), _Places(self, right.slots)
        moved = False  # whether left and right have changed places
        if not self.is_vector and n_lefts == 1 and n_rights > 1:
            a, b, left, right = b, a, right, left
            n_rights, n_lefts, moved = n_lefts, n_rights, True
        full = self.text.width
        width, along = 1, 1  # the width of vectors along results, and along terms
        if not self.is_vector:
            if a.steps[1] == 1 and n_lefts > 1:
                width = min(full, 1 << (n_lefts.bit_length() - 1))
            elif a.steps[2] == b.steps[2] == 1 and terms > 3:
                along = min(full, 1 << (terms.bit_length() - 1))
        tile = machine().tile
        high = min(n_rights, 4)
        wide = max(1, min(tile // high, -(-n_lefts // width)))
        if along > 1:
            wide = min(4, n_lefts)
        out = group.result.slots.item(0)
        lanes = group.result.lanes
        for i in self.text.range(count):
            for r, rows in self.tiles(n_rights, high):
                for x, columns in self.tiles(n_lefts, wide * width):
                    starts = [min(j, columns - width) for j in range(0, columns, width)]

                    def factors(k, i=i, r=r, x=x, rows=rows, starts=starts):
                        xs = [
                            self.read(left.lanes, a.at(i, x + j, k), width if along == 1 else along)
                            for j in starts
                        ]
                        ys = [self.read(right.lanes, b.at(i, r + j, k), along) for j in range(rows)]
                        return [(p, q) for q in ys for p in xs]

                    def last(k, i=i, r=r, x=x, rows=rows, starts=starts):
                        xs = [self.read(left.lanes, a.at(i, x + j, k), 1) for j in starts]
                        ys = [self.read(right.lanes, b.at(i, r + j, k), 1) for j in range(rows)]
                        return [p * q for q in ys for p in xs]

                    n = rows * len(starts)
                    kind = self.layout.width if self.is_vector else max(width, along)
                    sums = self.sums(terms, along, n, kind, factors, last)
                    for j in range(rows):
                        row = sums[j * len(starts) : (j + 1) * len(starts)]
                        at = (i * n_rights + (r + j)) * n_lefts + x + out
                        if along > 1:
                            self.write(lanes, at, self.text.sums(row))
                        else:
                            for start, total in zip(starts, row, strict=True):
                                self.write(lanes, at + start, total)
        del moved

    def tiles(self, total: int, most: int) -> Iterator[tuple[Any, int]]:
        """A loop over tiles of the same size: where each begins; the last two may overlap."""
        count = -(-total // most)
        size = -(-total // count)
        for i in self.text.range(count):
            start = i * size
            if count * size > total:
                start = self.text.minimum(start, total - size)
            yield start, size

    def sums(
        self, terms: int, step: int, n: int, width: int, factors: Callable[[Any], Any],
        last: Callable[[Any], Any],
    ) -> list[Num]:  # fmt: skip
        """N sums of products over `terms` indices."""
        turns = terms // step
        parts = max(1, min(8 // n, turns // 2))
        totals = [self.text.number(0.0, "double", width)] * (n * parts)
        if turns * step < terms:
            rest = [self.text.number(0.0, "double")] * n
            for k in range(turns * step, terms):
                rest = [x + y for x, y in zip(rest, last(k), strict=True)]
            totals[:n] = [x.first(width) for x in rest]
        whole = turns // parts * parts
        if whole:
            unroll = max(1, 32 // (n * parts))
            for k in self.text.range(
                whole * step, step=parts * step, carried=totals, unroll=unroll
            ):
                for part in range(parts):
                    for i, (x, y) in enumerate(factors(k + part * step)):
                        totals[part * n + i] = totals[part * n + i] + x * y
        for k in range(whole, turns):
            for i, (x, y) in enumerate(factors(k * step)):
                totals[i] = totals[i] + x * y
        while len(totals) > n:
            half = len(totals) // n // 2 * n
            totals = [
                *(x + y for x, y in zip(totals[:half], totals[half : 2 * half], strict=True)),
                *totals[2 * half :],
            ]
        return totals

    def means(self, group: Group) -> None:
        """Sums over the lanes of all blocks, added to the results, divided by the examples."""
        left, right = group.operands
        count, n_rights, n_lefts = group.result.slots.shape
        terms, vector = left.slots.shape[-1], self.layout.width
        a, b = _Places(self, left.slots), _Places(self, right.slots)
        out = group.result.slots.item(0)
        high = min(4, n_rights)
        wide = min(max(1, machine().tile // 4), n_lefts)
        factor = self.factor()

        def vectors(block: Block, slot: Any, at: Any) -> Num:
            if block.lanes:
                return self.memory[True].read(at + slot * vector, vector)
            return self.memory[False].read(slot).splat(vector)

        for i in self.text.range(count):
            for r, rows in self.tiles(n_rights, high):
                for x, columns in self.tiles(n_lefts, wide):
                    totals = [self.text.number(0.0, "double", vector)] * (rows * columns)
                    for at in self.text.range(
                        self.n * self.layout.block, step=self.layout.block, carried=totals
                    ):
                        for k in self.text.range(terms, carried=totals, unroll=4):
                            xs = [vectors(left, a.at(i, x + j, k), at) for j in range(columns)]
                            ys = [vectors(right, b.at(i, r + j, k), at) for j in range(rows)]
                            pairs = itertools.product(ys, xs)
                            totals[:] = [t + p * q for t, (q, p) in zip(totals, pairs, strict=True)]
                    for j in range(rows):
                        row = self.text.sums(totals[j * columns : (j + 1) * columns])
                        at = (i * n_rights + (r + j)) * n_lefts + x + out
                        self.memory[False].write(at, row * factor)

    def factor(self) -> Num:
        """One divided by the number of examples."""
        return 1.0 / self.job.read(N).cast("sitofp", "double")

    # ---- tables

    def indices(self, index: Num, length: int, lane: int) -> Num:
        """A checked index."""
        number = index.entry(lane)
        whole = number.cast("fptosi", "i64")
        is_valid = (
            number.compared(">=", 0.0)
            & number.compared("<", float(length))
            & whole.cast("sitofp", "double").compared("==", number)
        )
        place = is_valid.where(whole, 0)
        self.job.write(STATUS, is_valid.where(self.job.read(STATUS), WRONG_INDEX))
        return place

    def take(self, group: Group) -> None:
        """Looks up entries of tables."""
        index, table = group.operands
        n, length = table.slots.shape
        chosen, entries = _Places(self, index.slots.reshape(-1)), _Places(self, table.slots)
        width = self.layout.width if self.is_vector else 1
        move = width if self.is_vector and table.lanes else 1
        for i in self.text.range(n):
            numbers = self.read(index.lanes, chosen.at(i), 1)
            found = []
            for lane in range(width):
                slot = entries.at(i, self.indices(numbers, length, lane))
                at = slot * move + (lane if move > 1 else 0)
                found.append(self.memory[table.lanes].read(at))
            self.write(group.result.lanes, i + group.result.slots.item(0), self.text.joined(found))

    def scatter(self, group: Group) -> None:
        """Adds numbers to entries of tables."""
        index, contributions = group.operands
        n, length = group.result.slots.shape
        each = index.slots.shape[1]
        chosen, added = _Places(self, index.slots), _Places(self, contributions.slots)
        out, lanes = group.result.slots.item(0), group.result.lanes
        vector = self.layout.width
        if not self.is_vector and vector > 1 and group.op == "scatter mean":
            self.scatter_mean(group, chosen, added)
            return
        width = vector if self.is_vector else 1
        memory = self.memory[lanes]
        zero = self.text.number(0.0, "double", width)
        for i in self.text.range(n * length):
            memory.write((i + out) * width, zero)
        for i in self.text.range(n):
            for j in self.text.range(each):
                numbers = self.read(index.lanes, chosen.at(i, j), 1)
                more = self.read(contributions.lanes, added.at(i, j), 1)
                for lane in range(width):
                    entry = self.indices(numbers, length, lane)
                    at = (i * length + out + entry) * width + lane
                    memory.write(at, memory.read(at) + more.entry(lane))

    def scatter_mean(self, group: Group, chosen: _Places, added: _Places) -> None:
        """The same for sums over the lanes of all blocks."""
        index, contributions = group.operands
        n, length = group.result.slots.shape
        out, vector = group.result.slots.item(0), self.layout.width
        factor, uniform = self.factor(), self.memory[False]
        for i in self.text.range(n * length):
            uniform.write(i + out, 0.0)

        def vectors(block: Block, slot: Any, at: Any) -> Num:
            if block.lanes:
                return self.memory[True].read(at + slot * vector, vector)
            return uniform.read(slot).splat(vector)

        for i in self.text.range(n):
            for j in self.text.range(index.slots.shape[1]):
                for at in self.text.range(self.n * self.layout.block, step=self.layout.block):
                    numbers = vectors(index, chosen.at(i, j), at)
                    more = vectors(contributions, added.at(i, j), at)
                    for lane in range(vector):
                        entry = i * length + out + self.indices(numbers, length, lane)
                        uniform.write(entry, uniform.read(entry) + more.entry(lane) * factor)


def _is_elementwise(group: Group) -> bool:
    return group.op in FUNCTIONS or (
        group.op in REDUCTIONS and group.operands[0].slots.shape[1] <= MOST
    )


def _in_rows(group: Group) -> bool:
    is_small = group.op == "dot" and group.operands[0].slots.shape[-1] <= FEW
    return group.result.slots.size <= FEW and (is_small or _is_elementwise(group))


def _combined(op: str, xs: list[Num]) -> Num:
    return _tree(REDUCTIONS[op], xs) if op in REDUCTIONS else FUNCTIONS[op](*xs)


def _tree(combine: Callable[..., Num], xs: Sequence[Num]) -> Num:
    while len(xs) > 1:
        odd = xs[len(xs) // 2 * 2 :]
        xs = [*(combine(x, y) for x, y in zip(xs[::2], xs[1::2], strict=False)), *odd]
    return xs[0]


def _runs(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Splits the groups: elementwise ones that can share a loop come together."""
    run: list[Group] = []
    for group in groups:
        if run and not _fits(group, run):
            yield run
            run = []
        run.append(group)
        if not _is_elementwise(group):
            yield run
            run = []
    if run:
        yield run


def _fits(group: Group, run: list[Group]) -> bool:
    result = run[0].result
    if not _is_elementwise(group) or group.result.lanes != result.lanes:
        return False
    if len(group.result.slots) != len(result.slots):
        return False
    for block in group.operands:
        columns = [block.slots] if block.slots.ndim == 1 else [*block.slots.T]
        for made in run:
            first, n = made.result.slots.item(0), len(made.result.slots)
            if block.lanes != made.result.lanes:
                continue
            for column in columns:
                inside = (column >= first) & (column < first + n)
                if inside.any() and not np.array_equal(column, made.result.slots):
                    return False
    return True


def _parts(columns: Sequence[Slots], count: int) -> list[tuple[int, list[int], Slots]]:
    """Splits indices 0 ... count - 1 into stretches in which each column moves by a fixed step.

    Returns, for each kind of stretch, its length, the step of each column, and where such stretches
    begin.

    >>> _parts([np.array([5, 6, 7, 8, 0, 1, 2, 3]), np.array([9, 9, 9, 9, 8, 8, 8, 8])], 8)
    [(4, [1, 0], array([0, 4]))]
    """
    steps = np.array([np.diff(slots) for slots in columns])
    changes = [*(np.flatnonzero((np.diff(steps, axis=1) != 0).any(axis=0)) + 1), count - 1]
    stretches = []
    start, waiting = 0, iter(changes)
    for change in waiting:
        if change <= start:
            continue
        stretches.append((start, int(change)))
        start = int(change) + 1
    if start < count:
        stretches.append((start, start))
    if 4 * len(stretches) > count:
        return [(1, [0] * len(columns), np.arange(count))]
    kinds: dict[Any, list[int]] = {}
    for first, last in stretches:
        moves = steps[:, first].tolist() if last > first else [0] * len(columns)
        kinds.setdefault((last - first + 1, *moves), []).append(first)
    return [(length, moves, np.array(starts)) for (length, *moves), starts in kinds.items()]
