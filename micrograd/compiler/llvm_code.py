"""The text from which LLVM makes machine code for a schedule.

Vectors run over the lanes. The examples of a batch fill blocks of as many lanes as a vector
register has, and a slot of a block is one vector:

    memory      uniform numbers, then blocks of lanes, each with a vector for every slot

So the code is the same for any number of examples: it runs block by block, and means are summed
over all blocks at the end. The lanes that fill the last block are copies of the last example, and
are set to 0 before the sums. With a single example, slots are numbers, and vectors run over
neighbouring slots, as they do in all uniform groups.

A group becomes a loop nest. The place of an operand is a formula of the loop counters where its
slots form a regular pattern, and is read from a table elsewhere. Groups of elementwise operations
on the same slots share one loop, so that numbers between them stay in registers. Thousands of
groups with few results would take long to compile: they become rows of one table.

Source of the tiles: K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication
(2008), sections 4 and 6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from micrograd.compiler import llvm_text as llvm
from micrograd.compiler.fuse import MEANS, SCATTERS
from micrograd.compiler.llvm_text import Array, Num, Text, machine
from micrograd.compiler.schedule import PRODUCTS, Block, Group, Loop, Memories, Schedule, Slots

MEMORY = 2**20  # maximum size of the lanes of a tile, in bytes
PART = 64  # loops in a function: LLVM takes much longer for large functions
SERIAL = 500  # with more groups than this, those with few results become rows of one table
FEW = 8  # results, or terms of a sum
REGISTERS = 500  # numbers in the body of a loop that are not stored


def _where(sign: str) -> Callable[..., Num]:
    return lambda x, y, a, b: x.compared(sign, y).where(a, b)


FUNCTIONS: dict[str, Callable[..., Num]] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
    "/": lambda x, y: x / y, "**": lambda x, y: x.call("pow", y), "neg": lambda x: -x,
    "abs": lambda x: x.call("fabs"), "exp": llvm.exp, "log": llvm.log, "tanh": llvm.tanh,
    "sigmoid": llvm.sigmoid, "sqrt": lambda x: x.call("sqrt"), "sin": lambda x: x.call("sin"),
    "cos": lambda x: x.call("cos"), "relu": llvm.relu, "maximum": llvm.larger,
    "minimum": llvm.smaller, "copy": lambda x: x, "where is": _where("=="),
    **{f"where {sign}": _where(sign) for sign in ("<", "<=", ">", ">=")},
    "arcsin": llvm.of_c("asin"), "arccos": llvm.of_c("acos"), "arctan": llvm.of_c("atan"),
    "arctan2": llvm.of_c("atan2"), "logaddexp": llvm.logaddexp,
    **{name: llvm.of_c(name) for name in ("tan", "sinh", "cosh", "erf", "expm1", "log1p")},
}  # fmt: skip
REDUCTIONS = {"sum": "+", "largest": "maximum", "smallest": "minimum"}  # of many numbers
ROWS = FUNCTIONS | {  # what a row of the table can do
    "add three": lambda x, y, a, b: (x + y) + (a + b), "add product": lambda x, y, z: x + y * z,
}  # fmt: skip
ROW = 6  # integers: the operation, the place of the result, those of up to four operands

# A job is a list of integers: what a run gets, and what it returns. For each array it has an
# address: first the arrays below, then those that are copied to uniform slots, those that are
# copied from there, and the arguments. For these it also has the distance between examples, and
# whether the numbers are integers.
STATUS, DONE, STEPS, N, HAS_ORDER, PADDED, BLOCKS, FIRST = range(8)
ARRAYS = ("memory", "tables", "order", "losses", "numbers", "rows")
AT = {name: FIRST + i for i, name in enumerate(ARRAYS)}
WRONG_INDEX, NOT_FINITE = 1, 2  # how a run may end; 0 if all is well


class Plan:
    """What a run copies from and to other memory, and where its job says so.

    `inputs` has the slots that are set from given arrays before the first step, `outputs` those
    that are returned after the last one. `update` is that of `update.py`, or None.
    """

    def __init__(
        self, schedule: Schedule, inputs: Sequence[Slots], outputs: Sequence[Slots],
        update: Any = None,
    ) -> None:  # fmt: skip
        self.inputs, self.outputs, self.update = inputs, outputs, update
        places = itertools.count(FIRST + len(ARRAYS))
        self.given, self.returned = ([next(places) for _ in some] for some in (inputs, outputs))
        first = next(places)
        self.arguments = [first + 3 * i for i in range(len(schedule.inputs))]
        self.size = first + 3 * len(self.arguments)


class Layout(NamedTuple):
    """Where the numbers of a schedule are in memory.

    A block has `width` lanes, 1 if there is a single example, and the size `block`. The first one
    begins at `lanes`, after totals of the means; at most `tile` blocks are in memory.
    """

    width: int
    lanes: int
    block: int
    tile: int


def text_of(schedule: Schedule, plan: Plan, is_single: bool) -> tuple[str, Slots, Layout]:
    """The text for a single example, or for several; the tables that it reads; the layout."""
    (n_uniform, n_rows), (first, last) = schedule.sizes, schedule.means
    width = 1 if is_single else machine().width
    block = (n_rows | 1) * width  # with an odd number of vectors, blocks do not compete for cache
    tile = 1 if is_single else max(2, MEMORY // (8 * block))
    layout = Layout(width, -(-(n_uniform + last - first) // 8) * 8, block, tile)
    writer = _Writer(schedule, plan, layout)
    return writer.text.finished(), np.concatenate([*writer.found, np.zeros(1, np.int32)]), layout


class _Writer:
    """Writes the functions of a schedule.

    Attributes:
        memory: for uniform numbers (False) and lanes (True), the array in the current function.
        is_vector: whether numbers are vectors of lanes; else vectors run over neighbouring slots.
        registers: in the body of a small loop, the numbers that are not in memory, by their slots.
        at: where the current block begins in the lanes.
    """

    def __init__(self, schedule: Schedule, plan: Plan, layout: Layout) -> None:
        self.schedule, self.plan, self.layout = schedule, plan, layout
        self.text = Text()
        self.row_functions: set[str] = set()
        self.parts: dict[str, list[str]] = {}
        self.registers: dict[tuple[bool, int], Any] | None = None
        self.bodies: dict[int, str] = {}  # the names of parts, by the ids of groups
        self.found: list[Slots] = []
        self.known: dict[bytes, int] = {}
        self.size = 0
        means = [group for group in schedule.lanes if group.op in MEANS]
        lanes = [group for group in schedule.lanes if group.op not in MEANS]
        phases = {"before": schedule.before, "lanes": lanes, "means": means}
        for name, groups in (phases | {"after": schedule.after}).items():
            self.is_vector = name in ("lanes", "means") and layout.width > 1
            self.write_parts(name, groups)
        for name in sorted(self.row_functions):
            self.row_by_row(name)
        self.load()
        self.step()
        self.run()

    def write_parts(self, name: str, groups: Sequence[Group]) -> None:
        """Writes functions that run these groups; bodies of loops come first."""
        for i, group in enumerate(groups):
            if group.loop and not self.fits_registers(group.loop):
                self.bodies[id(group)] = f"{name}_{i}_"
                self.write_parts(f"{name}_{i}_", group.loop.groups)
        self.is_serial = name != "means" and len(groups) > SERIAL
        runs = self.runs(groups)
        self.parts[name] = [f"{name}{i}" for i in range(0, len(runs), PART)]
        for i, part in enumerate(self.parts[name]):
            self.begin(part)
            for run in runs[i * PART : (i + 1) * PART]:
                self.add(run)

    def begin(self, name: str) -> None:
        """Begins a function; n is the number of the block, or of all blocks, or a place."""
        is_loop, types = name != "step", {"uniform": "double", "lanes": "double", "tables": "i32"}
        *self.arrays, self.n = self.text.function(name, is_loop, **types, job="i64", n="number")
        uniform, lanes, self.tables, self.job = self.arrays
        self.memory = Memories(uniform, lanes)
        self.at: Any = 0

    def table(self, numbers: Slots) -> int:
        """Where these numbers begin in the table of all places."""
        flat = np.ascontiguousarray(numbers, np.int32).ravel()
        start = self.known.setdefault(flat.tobytes(), self.size)
        if start == self.size:
            self.found.append(flat)
            self.size += len(flat)
        return start

    # ---- what runs around the groups

    def array(self, at: int, kind: str = "double") -> Array:
        """One of the arrays of a job."""
        address: Num = self.job.read(at)
        return address.array(kind)

    def load(self) -> None:
        """Copies the examples of a block into its lanes; the last one is repeated if they end."""
        self.begin("load")
        text, job, width = self.text, self.job, self.layout.width
        order = self.array(AT["order"], "i64")
        n, has_order = job.read(N), job.read(HAS_ORDER).compared("==", 1)
        start, rows = job.read(DONE) * n, []
        for lane in range(width):
            row = text.minimum(self.n * width + lane, n - 1)
            rows.append(has_order.where(order.read(has_order.where(start + row, 0)), row))
        for at, slots in zip(self.plan.arguments, self.schedule.inputs, strict=True):
            firsts = [row * job.read(at + 1) for row in rows]
            array, are_whole = self.array(at, "i64"), job.read(at + 2).compared("==", 1)
            for column in text.range(len(slots)):
                bits = text.joined([array.read(first + column) for first in firsts])
                of_kinds = bits.cast("sitofp", "double"), bits.cast("bitcast", "double")
                self.memory.lanes.write((column + slots.start) * width, are_whole.where(*of_kinds))

    def step(self) -> None:
        """Computes everything once: before the lanes, tile by tile, after the means."""
        self.begin("step")
        text, job, update, layout = self.text, self.job, self.plan.update, self.layout
        (uniform, lanes), arrays, width = self.memory, self.arrays, layout.width
        done, n = job.read(DONE), job.read(N)
        if update:
            size, numbers = len(update.numbers), self.array(AT["numbers"])
            for i, slot in enumerate(update.numbers.tolist()):
                uniform.write(slot, numbers.read(done * size + i))
        self.call_parts("before", arrays)
        blocks, surplus = (n + (width - 1)) >> (width.bit_length() - 1), n & (width - 1)
        # Examples stay in the lanes, except in those of the last block that are set to 0 below.
        is_new = done.compared("==", 0) | job.read(HAS_ORDER).compared("==", 1)
        is_new = is_new | (blocks > layout.tile)
        results = [slot for in_lanes, slot in self.schedule.results.tolist() if in_lanes]
        for first in text.range(blocks, step=layout.tile):
            some = text.minimum(blocks - first, layout.tile)
            for i in text.range(some):
                block = lanes.part(i * layout.block)
                here = [arrays[0], block, *arrays[2:]]
                is_last = (i + first + 1).compared("==", blocks)
                with text.when(is_new | (is_last & (surplus > 0))):
                    text.call("load", *here, i + first)
                self.call_parts("lanes", here)
                for k, slot in enumerate([] if update else results):
                    at = (i + first) * width + job.read(PADDED) * k
                    self.array(AT["rows"]).write(at, block.read(slot * width, width))
            last = (some - 1) * layout.block  # the last block, and how many examples it has
            rest = (first + some).compared("==", blocks).where(surplus, 0)
            with text.when(rest > 0):
                mask = text.joined([rest > lane for lane in range(width)])
                for i in text.range(layout.block, step=width):
                    lanes.write(i + last, mask.where(lanes.read(i + last, width), 0.0))
            self.call_parts("means", arrays, some)
            with text.when(rest > 0):
                ones = _Places(self, np.array(self.schedule.ones))
                for i in text.range(len(self.schedule.ones)):
                    one = text.number(1.0, "double", width)
                    lanes.write(ones.at(i) * width + last, one)
            with text.when(blocks > layout.tile):  # add up the tiles
                for slot in text.range(self.schedule.means[1], start=self.schedule.means[0]):
                    at, mean = slot + (self.schedule.sizes.uniform - self.schedule.means[0]), slot
                    total = (first > 0).where(uniform.read(at), 0.0) + uniform.read(mean)
                    uniform.write(at, total)
                    uniform.write(mean, total)
        self.call_parts("after", arrays)
        if update:
            with text.when(job.read(STATUS).compared("==", 0)):
                mean = uniform.read(update.mean)
                self.array(AT["losses"]).write(done, mean)
                is_number = mean.compared("==", mean)
                is_finite = (uniform.read(update.square) < math.inf) & is_number
                job.write(STATUS, is_finite.where(0, text.number(NOT_FINITE, "i64")))
                with text.when(is_finite):
                    for old, new in zip(update.kept, update.new, strict=True):
                        self.copy(uniform, new, uniform, old)
                    job.write(DONE, done + 1)

    def call_parts(self, name: str, arrays: Sequence[Array], n: Any = 0) -> None:
        """Calls the functions of some groups, one after the other."""
        for part in self.parts[name]:
            self.text.call(part, *arrays, n)

    def run(self) -> None:
        """The function that is called from outside."""
        text, plan, layout = self.text, self.plan, self.layout
        [job] = text.function("run", is_loop=False, job="i64")
        self.job = job
        uniform, self.tables = self.array(AT["memory"]), self.array(AT["tables"], "i32")
        lanes = uniform.part(layout.lanes)
        for at, slots in zip(plan.given, plan.inputs, strict=True):
            self.copy(self.array(at), np.arange(len(slots)), uniform, slots)
        for _ in text.range(job.read(STEPS)):
            with text.when(job.read(STATUS).compared("==", 0)):
                text.call("step", uniform, lanes, self.tables, job, job.read(BLOCKS))
        for at, slots in zip(plan.returned, plan.outputs, strict=True):
            self.copy(uniform, slots, self.array(at), np.arange(len(slots)))

    def copy(self, source: Array, old: Slots, target: Array, new: Slots) -> None:
        """Sets target[new] = source[old]."""
        for length, moves, starts in _stretches([old, new], len(old)):
            first, last = (_Places(self, slots[starts]) for slots in (old, new))
            for i in self.text.range(len(starts)):
                x, y = first.at(i), last.at(i)
                for j, width in self.pieces(length, machine().width if moves == [1, 1] else 1):
                    target.write(j * moves[1] + y, source.read(j * moves[0] + x, width))

    # ---- numbers at slots

    def read(self, lanes: bool, slot: Any, width: int = 1, step: int = 1) -> Any:
        """In lanes, the vector of a slot; else `width` numbers at slots with this step."""
        if self.registers is not None and (lanes, slot) in self.registers:
            return self.registers[lanes, slot]
        memory = self.memory.of(lanes)
        if self.is_vector:
            vector = self.layout.width
            if lanes:
                return memory.read(slot * vector + self.at, vector)
            return memory.read(slot).splat(vector)
        if step == 0:
            return memory.read(slot).splat(width)
        if step == 1:
            return memory.read(slot, width)
        return self.text.joined([memory.read(slot + i * step) for i in range(width)])

    def write(self, lanes: bool, slot: Any, numbers: Num) -> None:
        """Stores a vector in a slot of the lanes, else numbers in neighbouring slots."""
        width = self.layout.width if lanes and self.is_vector else 1
        if self.registers is None:
            self.memory.of(lanes).write(slot * width, numbers)
        else:
            self.registers[lanes, slot] = self.text.number(numbers, "double", width)

    @property
    def widest(self) -> int:
        """The width of vectors along slots."""
        return machine().width if self.registers is None else 1

    def blocks(self, carried: list[Any] | None = None) -> Iterator[None]:
        """A loop over all blocks, for groups that compute means."""
        step = self.layout.block
        for at in self.text.range(self.n * step, step=step, carried=carried):
            self.at = at
            yield
        self.at = 0

    def pieces(self, length: int, width: int) -> Iterator[tuple[Any, int]]:
        """Loops over neighbouring numbers: where each vector begins; the last two may overlap."""
        width = min(width, 1 << (length.bit_length() - 1))
        for j in self.text.range(length // width * width, step=width):
            yield j, width
        if length % width:
            yield length - width, width

    def tiles(self, total: int, most: int) -> Iterator[tuple[Any, int]]:
        """A loop over tiles of the same size: where each begins; the last two may overlap."""
        count = -(-total // most)
        size = -(-total // count)
        for i in self.text.range(count):
            start = i * size
            yield self.text.minimum(start, total - size) if count * size > total else start, size

    # ---- groups

    def runs(self, groups: Sequence[Group]) -> list[list[Group]]:
        """The groups in order; those that can share a loop, or a part of the table, as one."""
        found: list[list[Group]] = []
        for group in groups:
            if found and self.fits(group, found[-1]):
                found[-1].append(group)
            else:
                found.append([group])
        return found

    def fits(self, group: Group, run: list[Group]) -> bool:
        """Whether all it needs from the run is, at each index, a result at the same index."""
        in_rows = self.in_rows(group), self.in_rows(run[0])
        if any(in_rows):
            return all(in_rows)
        (lanes, slots), made = group.result, {_key(known.result) for known in run}
        first, end = run[0].result.slots.item(0), slots.item(-1)
        return (
            group.op in FUNCTIONS
            and run[0].op in FUNCTIONS
            and (lanes, slots.shape) == (run[0].result.lanes, run[0].result.slots.shape)
            and all(
                key in made or key[0] != lanes or not ((column >= first) & (column <= end)).any()
                for key, column in _columns(group)
            )
        )

    def in_rows(self, group: Group) -> bool:
        """Whether the group becomes rows of the table."""
        is_short = group.op in {"dot", *REDUCTIONS} and group.operands[0].slots.shape[-1] <= FEW
        is_small = group.result.slots.size <= FEW and (is_short or group.op in FUNCTIONS)
        return self.is_serial and is_small

    def add(self, run: list[Group]) -> None:
        """Writes the code of groups that `runs` put together."""
        group = run[0]
        if self.in_rows(group):
            self.rows(run)
        elif group.op in FUNCTIONS:
            self.elementwise(run)
        elif group.op in PRODUCTS:
            self.products(group)
        elif group.op in SCATTERS:
            self.scatter(group)
        elif group.op == "take":
            self.take(group)
        elif group.loop:
            self.loop(group, group.loop)
        else:  # the sum of lists, or their largest or smallest number
            [block], combine = group.operands, FUNCTIONS[REDUCTIONS[group.op]]
            places, (n, length) = _Places(self, block.slots), block.slots.shape
            for i in self.text.range(n):
                total = [self.read(block.lanes, places.at(i, 0))]
                for k in self.text.range(length, start=1, carried=total):
                    total[0] = combine(total[0], self.read(block.lanes, places.at(i, k)))
                self.write(group.result.lanes, i + group.result.slots.item(0), total[0])

    def elementwise(self, run: list[Group]) -> None:
        """Groups whose results depend, at each index, on operands at the same index."""
        made: set[Any] = set()  # the results
        columns: dict[Any, Slots] = {}  # the operands that are read from memory
        for group in run:
            columns.update({key: x for key, x in _columns(group) if key not in made})
            made.add(_key(group.result))
        count = len(run[0].result.slots)
        if self.is_vector:
            stretches = [(1, [0] * len(columns), np.arange(count))]
        else:
            stretches = _stretches([*columns.values()], count)
        for length, moves, starts in stretches:
            places = [
                _Places(self, slots[starts]) for slots in (*columns.values(), np.arange(count))
            ]
            for i in self.text.range(len(starts)):
                *begins, out = [place.at(i) for place in places]
                for j, width in self.pieces(length, self.widest):
                    known: dict[Any, Num] = {}
                    for key, begin, move in zip(columns, begins, moves, strict=True):
                        known[key] = self.read(key[0], j * move + begin, width, move)
                    for group in run:
                        xs = [known[key] for key, _ in _columns(group)]
                        known[_key(group.result)] = found = FUNCTIONS[group.op](*xs)
                        first = group.result.slots.item(0)
                        self.write(group.result.lanes, j + out + first, found)

    def loop(self, group: Group, loop: Loop) -> None:
        """A loop, whose body is in functions of its own, unless it is small."""
        lanes, count = group.result.lanes, loop.n_steps
        if self.fits_registers(loop):
            self.loop_in_registers(lanes, loop)
            return
        self.move(loop.first, Block(lanes, loop.states))
        for turn in self.text.range(count):
            t = count - 1 - turn if loop.is_reversed else turn
            self.move(Block(lanes, loop.states), Block(lanes, loop.kept), to_row=t)
            for numbers, slots in loop.reads:
                self.move(numbers, Block(lanes, slots), row=t)
            self.call_parts(self.bodies[id(group)], self.arrays, self.n)
            self.move(Block(lanes, loop.made), Block(lanes, loop.outputs), to_row=t)
            self.move(Block(lanes, loop.new), Block(lanes, loop.states))
        self.move(Block(lanes, loop.states), Block(lanes, loop.last))

    def fits_registers(self, loop: Loop) -> bool:
        """Whether the numbers of a step need not be stored: vectors along slots would be short."""
        size = sum(group.result.slots.size for group in loop.groups)
        is_thin = self.is_vector or size < FEW * len(loop.groups)
        are_known = all(
            group.op in FUNCTIONS or group.op in {"dot", *REDUCTIONS} for group in loop.groups
        )
        return size <= REGISTERS and is_thin and are_known

    def loop_in_registers(self, lanes: bool, loop: Loop) -> None:
        """A loop whose states and other numbers stay in registers."""
        places = [_Places(self, numbers.slots) for numbers, _ in loop.reads]
        first = loop.first.slots.tolist()
        states = [self.read(loop.first.lanes, slot) for slot in first]

        def store(slots: Slots, numbers: Sequence[Num], row: Any) -> None:
            for j, x in enumerate(numbers if slots.size else ()):
                self.write(lanes, _Places(self, slots).at(row, j), x)

        for turn in self.text.range(loop.n_steps, carried=states):
            t = loop.n_steps - 1 - turn if loop.is_reversed else turn
            store(loop.kept, states, t)
            slots = zip(loop.states.tolist(), states, strict=True)
            known = {(lanes, slot): x for slot, x in slots}
            for (numbers, targets), place in zip(loop.reads, places, strict=True):
                for j, slot in enumerate(targets.tolist()):
                    known[lanes, slot] = self.read(numbers.lanes, place.at(t, j))
            self.registers, self.text.is_unrolled = known, True
            for run in self.runs(loop.groups):
                self.add(run)
            self.registers, self.text.is_unrolled = None, False
            store(loop.outputs, [known[lanes, slot] for slot in loop.made.tolist()], t)
            states[:] = [known[lanes, slot] for slot in loop.new.tolist()]
        store(loop.last[None], states, 0)

    def move(self, source: Block, target: Block, row: Any = 0, to_row: Any = 0) -> None:
        """Copies numbers, of a row of the source or to a row of the target."""
        if source.slots.size and target.slots.size:
            old, new = (np.atleast_2d(block.slots) for block in (source, target))
            olds, news = _Places(self, old), _Places(self, new)
            is_whole = not self.is_vector and olds.steps[1] == news.steps[1] == 1
            for j, width in self.pieces(old.shape[1], machine().width if is_whole else 1):
                numbers = self.read(source.lanes, olds.at(row, j), width)
                self.write(target.lanes, news.at(to_row, j), numbers)

    # ---- products

    def products(self, group: Group) -> None:
        """Matrix products, in tiles whose sums stay in registers.

        Vectors run over the lanes, else along neighbouring results, or else along the terms of a
        sum. The numbers of such a vector, and those of the lanes for a mean, are added at the end.
        """
        (left, right), result = group.operands, group.result
        count, n_rights, n_lefts = result.slots.shape
        is_mean, terms = self.is_vector and group.op == "mean", left.slots.shape[-1]
        a, b = _Places(self, left.slots), _Places(self, right.slots)
        if n_lefts == 1 and not self.is_vector:  # a column is computed as a row
            a, b, left, right, n_rights, n_lefts = b, a, right, left, n_lefts, n_rights
        widest = self.widest
        width = along = 1  # of vectors along results, and along terms
        if not self.is_vector and a.steps[1] == 1 and n_lefts > 1:
            width = min(widest, 1 << (n_lefts.bit_length() - 1))
        elif not self.is_vector and a.steps[2] == b.steps[2] == 1 and terms > 3:
            along = min(widest, 1 << (terms.bit_length() - 1))
        adds, share = is_mean or along > 1, self.share() if is_mean else 1.0
        vector = self.layout.width if self.is_vector else max(width, along)
        high = min(n_rights, 4)
        wide = min(4, machine().tile // high) if adds else machine().tile // high * width
        for i in self.text.range(count):
            for r, rows in self.tiles(n_rights, high):
                for x, columns in self.tiles(n_lefts, min(wide, -(-n_lefts // width) * width)):
                    starts = [min(j, columns - width) for j in range(0, columns, width)]
                    sums = [self.text.number(0.0, "double", vector)] * (rows * len(starts))
                    for _ in self.blocks(sums) if is_mean else [None]:
                        for k, size in self.terms(terms, along, sums):
                            xs = [
                                self.read(left.lanes, a.at(i, x + j, k), max(width, size))
                                for j in starts
                            ]
                            ys = [
                                self.read(right.lanes, b.at(i, r + j, k), size) for j in range(rows)
                            ]
                            for s, (q, p) in enumerate(itertools.product(ys, xs)):
                                sums[s] = sums[s] + (p * q).first(vector)
                    for j in range(rows):
                        row, begins = sums[j * len(starts) : (j + 1) * len(starts)], starts
                        if adds:
                            row, begins = [self.text.joined([x.sum() for x in row]) * share], [0]
                        at = (i * n_rights + (r + j)) * n_lefts + x + result.slots.item(0)
                        for start, total in zip(begins, row, strict=True):
                            self.write(result.lanes, at + start, total)

    def terms(self, length: int, along: int, sums: list[Any]) -> Iterator[tuple[Any, int]]:
        """Loops over the terms of sums: where each vector begins, and its width."""
        whole = length // along * along
        for k in self.text.range(whole, step=along, carried=sums):
            yield k, along
        for k in range(whole, length):  # what does not fill a vector
            yield k, 1

    def share(self) -> Any:
        """One divided by the number of examples."""
        return 1.0 / self.job.read(N).cast("sitofp", "double")

    # ---- many small groups

    def rows(self, groups: list[Group]) -> None:
        """Groups as rows of the table."""
        codes, table = {op: i for i, op in enumerate(ROWS)}, list[int]()
        [zero] = self.row_places(Block(False, np.array(self.schedule.constants[0][0])))

        def row(op: str, *places: int) -> None:
            table.extend((codes[op], *places, *[zero] * (ROW - 1 - len(places))))

        for group in groups:
            op, length = group.op, group.operands[0].slots.shape[-1]
            outs, *operands = map(self.row_places, (group.result, *group.operands))
            for i, out in enumerate(outs):
                if op in FUNCTIONS:
                    row(op, out, *(places[i] for places in operands))
                elif op in REDUCTIONS:
                    total, *rest = operands[0][i * length : (i + 1) * length]
                    name, step = ("add three", 3) if op == "sum" else (REDUCTIONS[op], 1)
                    for k in range(0, len(rest), step):
                        row(name, out, total, *rest[k : k + step])
                        total = out
                else:
                    _, n_rights, n_lefts = group.result.slots.shape
                    left = (i // (n_rights * n_lefts) * n_lefts + i % n_lefts) * length
                    right = i // n_lefts * length
                    row("*", out, operands[0][left], operands[1][right])
                    for k in range(1, length):
                        row("add product", out, out, operands[0][left + k], operands[1][right + k])
        name = "lane_rows" if self.is_vector else "rows"
        self.row_functions.add(name)
        self.text.call(name, *self.arrays, self.table(np.array([len(table) // ROW, *table])))

    def row_places(self, block: Block) -> list[int]:
        """Slots in the table: if numbers are vectors, a negative place is a uniform number."""
        slots, lanes = block.slots.ravel(), block.lanes
        if self.is_vector:
            return (slots if lanes else -1 - slots).tolist()
        return (slots + self.layout.lanes * lanes).tolist()

    def row_by_row(self, name: str) -> None:
        """A function that runs the rows that follow their number in the table, at n."""
        self.begin(name)
        self.is_vector = name == "lane_rows"

        def number(place: Any) -> Any:
            if not self.is_vector:  # both memories are one, which begins with the uniform numbers
                return self.memory.uniform.read(place)
            is_lane = place.compared(">=", 0)
            uniform = self.memory.uniform.read(is_lane.where(0, -1 - place))
            return is_lane.where(self.read(True, is_lane.where(place, 0)), uniform)

        for i in self.text.range(self.tables.read(self.n)):
            at = self.n + i * ROW + 1
            for case in self.text.cases(self.tables.read(at), len(ROWS)):
                function = [*ROWS.values()][case]
                arity = function.__code__.co_argcount
                xs = [number(self.tables.read(at + 2 + j)) for j in range(arity)]
                self.write(self.is_vector, self.tables.read(at + 1), function(*xs))

    # ---- tables of a user's program

    def take(self, group: Group) -> None:
        """Looks up entries of tables."""
        (index, table), result = group.operands, group.result
        n, length = table.slots.shape
        chosen, entries = _Places(self, index.slots.ravel()), _Places(self, table.slots)
        for i in self.text.range(n):
            found = []
            for lane, entry in self.entries(self.read(index.lanes, chosen.at(i)), length):
                slot, memory = entries.at(i, entry), self.memory.of(table.lanes)
                is_row = self.is_vector and table.lanes
                found.append(memory.read(slot * self.layout.width + lane if is_row else slot))
            self.write(result.lanes, i + result.slots.item(0), self.text.joined(found))

    def scatter(self, group: Group) -> None:
        """Adds numbers to entries of tables, perhaps those of all lanes to the same entry."""
        (index, added), result = group.operands, group.result
        (n, length), out = result.slots.shape, result.slots.item(0)
        indices, places = _Places(self, index.slots), _Places(self, added.slots)
        is_mean = self.is_vector and group.op == "scatter mean"
        width = self.layout.width if self.is_vector and not is_mean else 1
        memory, factor = self.memory.of(result.lanes), self.share() if is_mean else 1.0
        for i in self.text.range(n * length):
            memory.write((i + out) * width, self.text.number(0.0, "double", width))
        for i in self.text.range(n):
            for j in self.text.range(index.slots.shape[1]):
                for _ in self.blocks() if is_mean else [None]:
                    more = self.read(added.lanes, places.at(i, j)) * factor
                    numbers = self.read(index.lanes, indices.at(i, j))
                    for lane, entry in self.entries(numbers, length):
                        at = (i * length + out + entry) * width + (lane if width > 1 else 0)
                        memory.write(at, memory.read(at) + more.entry(lane))

    def entries(self, index: Num, length: int) -> Iterator[tuple[int, Num]]:
        """For each lane, the index as a whole number; invalid ones are 0, and end the run."""
        for lane in range(index.width):
            number = index.entry(lane)
            is_valid = number.compared(">=", 0.0) & number.compared("<", float(length))
            whole = is_valid.where(number, 0.0).cast("fptosi", "i64")
            is_valid = is_valid & whole.cast("sitofp", "double").compared("==", number)
            self.job.write(STATUS, is_valid.where(self.job.read(STATUS), WRONG_INDEX))
            yield lane, whole


class _Places:
    """The slots of a block as a formula of indices, with a table where there is no formula."""

    def __init__(self, writer: _Writer, slots: Slots) -> None:
        self.steps: list[int | None] = []
        rest: Any = slots
        for axis, size in enumerate(slots.shape):
            steps = np.diff(rest, axis=axis)
            is_regular = size < 2 or bool((steps == steps.flat[0]).all())
            self.steps.append((int(steps.flat[0]) if size > 1 else 0) if is_regular else None)
            rest = rest[(slice(None),) * axis + (slice(1),)] if is_regular else rest
        self.first, self.sizes = int(rest.flat[0]) if rest.size else 0, rest.shape
        self.table = writer.table(rest) if rest.size > 1 else None
        self.writer, self.rest = writer, rest

    def at(self, *indices: Any) -> Any:
        """The slot at these indices."""
        place: Any = self.first
        if self.table is not None and all(isinstance(i, int) for i in indices):
            chosen = zip(indices, self.sizes, strict=True)
            place = int(self.rest[tuple(i if size > 1 else 0 for i, size in chosen)])
        elif self.table is not None:
            at: Any = 0
            for index, size in zip(indices, self.sizes, strict=True):
                at = at * size + (index if size > 1 else 0)
            place = self.writer.tables.read(at + self.table)
        for index, step in zip(indices, self.steps, strict=True):
            if step:
                place = index * step + place
        return place


def _key(block: Block) -> tuple[bool, bytes]:
    return block.lanes, block.slots.tobytes()


def _columns(group: Group) -> Iterator[tuple[Any, Slots]]:
    # The operands of an elementwise group: those at each index, and a key for each.
    return ((_key(block), block.slots) for block in group.operands)


def _stretches(columns: Sequence[Slots], count: int) -> list[tuple[int, list[int], Slots]]:
    """Splits indices into stretches in which each column moves by a fixed step.

    Returns, for each kind of stretch, its length, the step of each column, and where such stretches
    begin. If they would be short, it returns single indices.

    >>> _stretches([np.array([5, 6, 7, 8, 0, 1, 2, 3]), np.array([9, 9, 9, 9, 8, 8, 8, 8])], 8)
    [(4, [1, 0], array([0, 4]))]
    """
    steps = np.diff(np.reshape(columns, (len(columns), count)), axis=1)
    changes = np.flatnonzero((np.diff(steps, axis=1) != 0).any(axis=0)) + 1
    kinds: dict[Any, list[int]] = {}
    start = 0
    for last in [*changes.tolist(), count - 1]:
        if last > start or start == last == count - 1:
            moves = steps[:, start].tolist() if last > start else [0] * len(columns)
            kinds.setdefault((last - start + 1, *moves), []).append(start)
            start = last + 1
    if 4 * sum(map(len, kinds.values())) > count:
        return [(1, [0] * len(columns), np.arange(count))] if count else []
    return [(length, moves, np.array(starts)) for (length, *moves), starts in kinds.items()]
