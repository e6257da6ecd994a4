"""Runs a schedule with NumPy: one or a few calls for each group, on preallocated memory.

The two memories are arrays, and slots are indices into them. Where the slots of a block (an operand
or the result of a group) form a regular pattern, the group reads or writes a view. Elsewhere `take`
copies the numbers; each slot is written once, so one copy per run is enough. A step is a NumPy
function with its arguments bound, and a run calls the steps in order.

    dot, left uniform     matrix product: weights times the inputs in all lanes (examples)
    mean                  matrix product: upstream gradients times inputs, summed along the lanes
    take, scatter         the position of each number in memory is computed from the index
    other operations      the NumPy function of that name

Groups are small, so a step spends most of its time on the overhead of its call. This module thus
uses the calls with the least overhead: methods (`a.dot(b, out)` takes half the time of
`np.matmul(a, b, out)`), no keyword arguments, and a 0-dimensional array for a single number.

A batch that does not fit into the processor's cache is split into tiles, whose means are added up.
Groups that depend on the means run once, at the end.

Arithmetic follows the IEEE standard: the log of a negative number is NaN, and 1 / 0 is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from micrograd.compiler.fuse import SCATTERS
from micrograd.compiler.parameters import one_at_a_time
from micrograd.compiler.schedule import Array, Block, Group, Loop, Memories, Schedule, Slots
from micrograd.core.examples import fix_of

Step = Callable[[], Any]

MEMORY = 2**20  # maximum size of the lanes of a tile, in bytes
KEPT = 8  # number of runs to keep, each for a different number of lanes


def sigmoid(x: Array, out: Array) -> None:
    """Writes 1 / (1 + exp(-x)) for each number to `out`, without overflow."""
    e = np.exp(-np.abs(x))
    np.divide(np.where(x < 0, e, 1.0), 1.0 + e, out=out)


def erf(x: Array, out: Array) -> None:
    """Writes the error function of each number to `out`; NumPy has none."""
    out[...] = _erf(x)


_erf = np.frompyfunc(math.erf, 1, 1)


def choose(compare: Any, x: Array, y: Array, a: Array, b: Array, out: Array) -> None:
    """Writes a where the comparison of x and y is true, else b."""
    out[...] = np.where(compare(x, y), a, b)


CHOICES = {
    "where <": np.less, "where <=": np.less_equal, "where >": np.greater,
    "where >=": np.greater_equal, "where is": np.equal,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power,
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "maximum": np.maximum, "minimum": np.minimum,
    "copy": np.positive, "relu": np.maximum, "sigmoid": sigmoid, "erf": erf,
}  # fmt: skip
OTHERS = np.tan, np.sinh, np.cosh, np.expm1, np.log1p, np.arcsin, np.arccos, np.arctan
FUNCTIONS.update((f.__name__, f) for f in (*OTHERS, np.arctan2, np.logaddexp))
REDUCTIONS = {"sum": np.add, "largest": np.maximum, "smallest": np.minimum}


class NumPyRun:
    """A schedule bound to its memories, for a fixed number of lanes.

    Attributes:
        uniform: the uniform numbers; those of the parameters come first.
        lanes: the numbers in lanes, of shape (slots, lanes); a single lane has no axis.
        parameters: the data of the parameters.
        until_means, after_means: all steps, in two lists.
        uniform_results: returns a copy of the results that are uniform or means.
        lane_results: returns a copy of the other results, with a row of lanes for each.
    """

    def __init__(self, schedule: Schedule, n: int) -> None:
        self.schedule, self.n = schedule, n
        self.uniform, rows = np.zeros(schedule.sizes.uniform), np.zeros((schedule.sizes.lanes, n))
        self.lanes = rows if n > 1 else rows[:, 0]
        self.memory = Memories(self.uniform, self.lanes)
        rows[schedule.ones] = 1.0
        for slot, number in schedule.constants:
            self.uniform[slot] = number
        self.parameters = self.uniform[: schedule.constants[0][0]]
        is_lane, slots = schedule.results.T.astype(np.intp)
        take, rest = self.uniform.take, (0, None, "clip")
        self.uniform_results: Step = partial(take, slots[is_lane == 0], *rest)
        self.lane_results: Step = partial(rows.take, slots[is_lane == 1], *rest)
        self._inputs = [rows[places.start : places.stop].T for places in schedule.inputs]
        self._checks: list[Step] = []  # of arguments that are indices
        self.gathered: dict[Any, Array] = {}
        self._steps: list[Step] = []
        self.until_means = self._steps
        for group in (*schedule.before, *schedule.lanes):
            self._add(group)
        if n > 1:
            means = self.uniform[slice(*schedule.means)]
            self.until_means.append(partial(np.multiply, means, np.array(1 / n), means))
        self.after_means = self._steps = []
        for group in schedule.after:
            self._add(group)

    def load(self, arguments: Sequence[Array]) -> None:
        """Copies the arguments, even read-only ones: other code may write to their memory."""
        for window, argument in zip(self._inputs, arguments, strict=True):
            window[...] = argument.reshape(len(argument), -1) if argument.ndim else argument
        for check in self._checks:
            check()

    def __call__(self) -> None:
        """Computes everything."""
        for step in self.until_means:
            step()
        for step in self.after_means:
            step()

    # ---- views

    def _step(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self._steps.append(partial(function, *arguments, **named))

    def _view(self, block: Block) -> Array:
        """The numbers of a block, in the shape of its slots plus a last axis for the lanes."""
        slots, memory = block.slots, self.memory.of(block.lanes)
        shape = slots.shape + memory.shape[1:]
        if not slots.size:
            return np.empty(shape)
        steps = regular(slots)
        if steps is not None:
            row, *lane = memory.strides
            strides = [row * step for step in steps] + lane
            return np.ndarray(shape, float, memory, row * slots.item(0), strides)
        key = (block.lanes, slots.shape, slots.tobytes())
        if key not in self.gathered:
            self.gathered[key] = np.empty(shape)
            self._step(memory.take, slots.astype(np.intp), 0, self.gathered[key], "clip")
        return self.gathered[key]

    def _operand(self, block: Block, dimensions: int) -> Array:
        """A view of a block that broadcasts to a result with this many dimensions."""
        if not block.lanes and block.slots.size == 1:
            return self.uniform[block.slots.item(0), ...]
        view = self._view(block)
        return view if view.ndim == dimensions else view[..., None]

    # ---- groups

    def _loop(self, loop: Loop, in_lanes: bool) -> None:
        def view(slots: Slots) -> Array:
            return self._view(Block(in_lanes, slots))

        states, last, outputs, kept = map(view, (loop.states, loop.last, loop.outputs, loop.kept))
        targets = [view(slots) for _, slots in loop.reads]
        n_axes = self.memory.of(in_lanes).ndim  # 1 without an axis for the lanes

        def given(block: Block) -> Array:
            numbers, expected = self._view(block), block.slots.ndim - 1 + n_axes
            return numbers if numbers.ndim == expected else numbers[..., None]

        first, *read = map(given, (loop.first, *(block for block, _ in loop.reads)))
        order = range(loop.n_steps)[:: -1 if loop.is_reversed else 1]
        around, self._steps = self._steps, []
        for group in loop.groups:
            self._add(group)
        made, new = view(loop.made), view(loop.new)
        steps, self._steps = self._steps, around

        def run() -> None:
            states[...] = first
            for t in order:
                if kept.size:
                    kept[t] = states
                for target, numbers in zip(targets, read, strict=True):
                    target[...] = numbers[t]
                for step in steps:
                    step()
                outputs[t] = made
                states[...] = new
            last[...] = states

        self._step(run)

    def _add(self, group: Group) -> None:
        op, blocks, out = group.op, group.operands, self._view(group.result)
        if op in REDUCTIONS:
            numbers = self._view(blocks[0])
            if numbers.strides[1] < 0:  # NumPy before 2.2 finds a wrong maximum backwards
                numbers = numbers[:, ::-1]
            self._step(REDUCTIONS[op].reduce, numbers, 1, None, out)
        elif op == "mean":
            left, right = map(self._along_lanes, blocks)
            self._product(right, left.swapaxes(-1, -2), out)
        elif op == "dot":
            a, b = map(self._view, blocks)
            if out.ndim == 3:  # a single lane, or uniform numbers: no axis of lanes
                self._product(b, a.swapaxes(-1, -2), out)
            elif a.ndim < b.ndim:  # weights times inputs, whose columns are lanes
                self._product(a[..., None, :, :], b, out)
            else:  # a product of matrices in each lane
                self._step(np.einsum, "...lkn,...rkn->...rln", a, b, out=out)
        elif op == "take":
            memory = self.memory.of(blocks[1].lanes).reshape(-1)
            self._step(memory.take, self._positions(group, blocks[1], out.shape), None, out, "clip")
        elif op in SCATTERS:
            self._scatter(group)
        elif group.loop:
            self._loop(group.loop, group.result.lanes)
        elif op in CHOICES:
            self._where(group, out)
        else:
            operands = [self._operand(block, out.ndim) for block in blocks]
            if op == "relu":  # this is twice as fast as with a single 0
                operands.append(np.zeros(out.shape))
            function = FUNCTIONS[op]
            if function in (np.maximum, np.minimum):  # NumPy deprecates a positional `out` here
                self._step(function, *operands, out=out)
            else:
                self._step(function, *operands, out)

    def _where(self, group: Group, out: Array) -> None:
        x, y, a, b = (self._operand(block, out.ndim) for block in group.operands)
        compare, (in_lanes, slots) = CHOICES[group.op], group.operands[3]
        zeros = {slot for slot, number in self.schedule.constants if str(number) == "0.0"}
        if in_lanes or not zeros.issuperset(slots.flat):
            self._step(choose, compare, x, y, a, b, out)
        else:  # c a or 0, faster: on the bits, because with floats 0 times infinity is NaN
            c = np.zeros(np.broadcast_shapes(x.shape, y.shape), np.int64)
            self._step(compare, x, y, c)
            self._step(np.multiply, c, a.view(np.int64), out.view(np.int64))

    def _product(self, a: Array, b: Array, out: Array) -> None:
        """Adds the step for a product of two matrices, or of two stacks of matrices."""
        while out.ndim > 2 and len(out) == 1:  # a stack of one
            a, b, out = (x[0] if x.ndim == out.ndim else x for x in (a, b, out))
        if a.shape[-1] == 1:  # dot would skip a factor of 0, also before an infinity
            self._step(np.multiply, a, b, out)
        elif out.ndim == 2:
            self._step(a.dot, b, out)
        else:
            self._step(np.matmul, a, b, out)

    def _along_lanes(self, block: Block) -> Array:
        """A matrix with a row for each list: the numbers of the list in all lanes."""
        numbers = self._view(block)
        if numbers.ndim == block.slots.ndim:  # uniform, or a single lane
            numbers = np.broadcast_to(numbers[..., None], (*numbers.shape, self.n))
        whole = numbers.reshape(*numbers.shape[:-2], -1)
        if not np.may_share_memory(whole, numbers):  # no view, but a copy
            self._step(np.copyto, whole.reshape(numbers.shape), numbers)
        return whole

    def _scatter(self, group: Group) -> None:
        index, contributions = group.operands
        in_lanes = self.n > 1 and (index.lanes or contributions.lanes)
        shape = (*index.slots.shape, *[self.n] * in_lanes)
        positions = self._positions(group, group.result, shape)
        numbers = np.empty(shape)
        self._step(np.copyto, numbers, self._operand(contributions, len(shape)))
        self._step(self._view(group.result).fill, 0.0)
        memory = self.memory.of(group.result.lanes).reshape(-1)
        self._step(np.add.at, memory, positions.reshape(-1), numbers.reshape(-1))

    def _positions(self, group: Group, table: Block, shape: tuple[int, ...]) -> Array:
        """The positions of the selected entries in the flattened memory."""
        n_tables, length = table.slots.shape
        numbers = self._operand(group.operands[0], len(shape))
        if group.op == "take":
            block = group.operands[0]
            are_inputs = block.lanes and block.slots.max() < self.schedule.zero
            checks = self._checks if are_inputs else self._steps
            checks.append(partial(_check_index, self.memory.of(block.lanes), block.slots, length))
        positions, whole = np.zeros(shape, np.intp), np.zeros(shape, np.intp)
        self._step(np.copyto, positions, numbers, casting="unsafe")
        starts = length * np.arange(n_tables).reshape(-1, *[1] * (len(shape) - 1))
        self._step(np.add, positions, whole + starts, positions)
        stride = self.n if table.lanes else 1
        slots = table.slots.ravel().astype(np.intp) * stride
        self._step(slots.take, positions, None, positions, "clip")
        self._step(np.add, positions, whole + np.arange(stride), positions)
        return positions


class NumPyExecutor:
    """An executor that runs a schedule on batches of any size."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.run_for = lru_cache(KEPT)(partial(NumPyRun, schedule))
        self.tile = max(16, MEMORY // (8 * schedule.sizes.lanes))  # what fits into the cache

    @np.errstate(all="ignore")  # 1 / 0 is infinite, without a warning
    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, Array]:
        """The results that are uniform or means, and a row of lanes for each remaining result.

        The first axis of an argument runs over the n examples; without axes, it is the same in all.
        """
        means, rows = slice(*self.schedule.means), []
        total: Any = 0.0
        with one_at_a_time:
            for start in range(0, n, self.tile):
                size = min(self.tile, n - start)
                run, part = self.run_for(size), slice(start, start + size)
                run.load(arguments if size == n else [a[part] if a.ndim else a for a in arguments])
                run.parameters[...] = parameters
                for step in run.until_means:
                    step()
                if size < n:  # the tiles so far
                    total = run.uniform[means] = total + run.uniform[means] * (size / n)
                rows.append(run.lane_results())
            for step in run.after_means:
                step()
            uniform = run.uniform_results()
        return uniform, rows[0] if size == n else np.concatenate(rows, axis=1)


class NumPyLoop:
    """Training steps: the groups of an update, whose numbers are copied in and out in each step.

    Parameters and states get their new numbers only once all of these are known, so a step that is
    interrupted or refused changes none of them. The update and the memory are those of `update.py`;
    `largest` is the largest number of examples.
    """

    def __init__(self, update: Any, memory: Any) -> None:
        self.update, self.memory = update, memory
        self._executor = NumPyExecutor(update.schedule)
        self.largest = self._executor.tile
        self._numbers, self._gradient = as_index(update.numbers), as_index(update.gradient)
        self._kept, self._new = [*map(as_index, update.kept)], [*map(as_index, update.new)]

    @np.errstate(all="ignore")
    def __call__(self, arrays: Sequence[Array], n: int, count: int, order: Array | None) -> bool:
        """Does steps, until the loss or the square of the gradients is not finite; whether it is.

        If `order`, of shape (count, n), is not None, it has the indices of the examples of each
        step.
        """
        numbers, kept, gradient, losses, done = self.memory
        update, run = self.update, self._executor.run_for(n)
        uniform = run.uniform
        if order is None:  # all steps use the same examples
            run.load(arrays)
        for k in range(count):
            if order is not None:
                run.load([a[order[k]] if a.ndim else a for a in arrays])
            uniform[self._numbers] = numbers[k]
            for place, outside in zip(self._kept, kept, strict=True):
                uniform[place] = outside
            run()
            gradient[...] = uniform[self._gradient]
            losses[k] = uniform[update.mean]
            if not uniform[update.square] < np.inf or np.isnan(losses[k]):
                return False
            commit(kept, [uniform[place] for place in self._new], done, k + 1)
        return True


def commit(kept: Sequence[Array], new: Sequence[Array], done: list[int], count: int) -> None:
    """Stores new numbers, and how many steps are done; Ctrl-C waits until all of it is stored."""
    try:
        for old, numbers in zip(kept, new, strict=True):
            old[...] = numbers
        done[0] = count
    except KeyboardInterrupt:
        commit(kept, new, done, count)
        raise


def as_index(slots: Slots) -> Any:
    """A slice if possible, else integers that NumPy need not convert."""
    adjacent = range(slots[0], slots[0] + len(slots)) if len(slots) else range(0)
    is_slice = slots.tolist() == [*adjacent]
    return slice(adjacent.start, adjacent.stop) if is_slice else slots.astype(np.intp)


def regular(slots: Slots) -> tuple[int, ...] | None:
    """The step along each axis if the slots form a regular pattern, else None.

    >>> regular(np.array([[3, 4], [6, 7]])), regular(np.array([3, 4, 6]))
    ((3, 1), None)
    """
    numbers = slots.ravel().tolist()
    steps, expected, distance = [], numbers[:1], len(numbers)
    for size in slots.shape:
        distance //= size
        steps.append(numbers[distance] - numbers[0] if size > 1 else 0)
        expected = [slot + steps[-1] * i for slot in expected for i in range(size)]
    return tuple(steps) if numbers == expected else None


def _check_index(memory: Array, slots: Slots, length: int) -> None:
    index = memory[slots]
    is_wrong = ~((index >= 0) & (index < length) & (index == np.floor(index)))
    if is_wrong.any():
        wrong = index[is_wrong][0]
        fix = fix_of(wrong, "pass indices in this range", length)
        raise IndexError(f"take expects a whole number 0 <= index < {length}, got {wrong:g}: {fix}")
