"""Pass 5, NumPy: each group as one call, or a few, on memory that is there already.

The two memories are arrays. What a group reads and writes is a view of them where its slots lie in
a regular pattern, in as many axes as that takes; else a gather copies it together, once, since a
slot is written once in a run. A step is a NumPy function with its arguments bound, and a run calls
one after the other.

    dot, left uniform     matmul: weights times the inputs in all lanes
    mean                  matmul: upstream gradients times inputs, summed along the lanes
    where(c, x, 0)        the bits of x under a mask; another where is two copies
    take, scatter         the place of a number in memory is computed from the index
    other operations      the NumPy function of that name

Arithmetic is IEEE's: the logarithm of a negative number is NaN, 1 / 0 is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from micrograd.compiler.schedule import Block, Group, Schedule, Slots

Array = npt.NDArray[Any]
Step = Callable[[], Any]

FEW = 4  # terms that are added one by one
COMPARISONS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "is": np.equal,
}  # fmt: skip
FUNCTIONS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power,
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "maximum": np.maximum, "minimum": np.minimum,
    "copy": np.positive, **COMPARISONS,
}  # fmt: skip


class NumPyRun:
    """A schedule bound to its memories, for a number of lanes.

    >>> from micrograd.compiler.dots import fused
    >>> from micrograd.compiler.schedule import scheduled
    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> x, w = recording.input(0.0), recording.input(0.0)
    >>> y = (x * w).tanh()
    >>> units = fused(recording.instructions, [y.place], parameters=[1])
    >>> run = NumPyRun(scheduled(units, recording.instructions, [[0]], [1], [y.place]), 3)
    >>> run.uniform[:1], run.lanes[:1] = 2.0, [[0.0, 0.5, 1.0]]
    >>> run.until_means()
    >>> run.lanes[run.schedule.results[0][1]].round(3)
    array([0.   , 0.762, 0.964])
    >>> run.after_means()  # nothing here: no mean was asked for
    """

    def __init__(self, schedule: Schedule, n: int) -> None:
        n_uniform, n_rows = schedule.sizes
        self.schedule = schedule
        self.n = n
        self.uniform = np.zeros(n_uniform)
        self.lanes = np.zeros((n_rows, n) if n > 1 else n_rows)  # a single lane needs no axis
        self.memory = {False: self.uniform, True: self.lanes}
        self.conditions = {lanes: np.zeros(m.shape, bool) for lanes, m in self.memory.items()}
        self.lanes[schedule.ones] = 1.0
        for slot, number in schedule.constants:
            self.uniform[slot] = number
        self.constants = dict(schedule.constants)
        self.gathered: dict[Any, Array] = {}
        self._steps: list[Step] = []
        for group in (*schedule.before, *schedule.lanes):
            self._add(group)
        if n > 1:
            means = self.uniform[slice(*schedule.means)]
            self._step(np.multiply, means, 1 / n, means)
        self._until_means, self._steps = self._steps, []
        for group in schedule.after:
            self._add(group)

    def __call__(self) -> None:
        """Computes everything."""
        with np.errstate(all="ignore"):  # 1 / 0 is infinite, without a word
            for step in self._until_means:
                step()
            for step in self._steps:
                step()

    def until_means(self) -> None:
        """Computes what is uniform, the lanes, and their means."""
        with np.errstate(all="ignore"):  # 1 / 0 is infinite, without a word
            for step in self._until_means:
                step()

    def after_means(self) -> None:
        """Computes what follows from the means."""
        with np.errstate(all="ignore"):
            for step in self._steps:
                step()

    # ---- views

    def _step(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self._steps.append(partial(function, *arguments, **named))

    def _view(self, block: Block, slots: Slots | None = None, conditions: bool = False) -> Array:
        """The numbers of a block, in the shape of its slots and with an axis of lanes behind."""
        slots = block.slots if slots is None else slots
        memory = (self.conditions if conditions else self.memory)[block.lanes]
        strides = regular(slots)
        if strides is not None:
            shape = slots.shape + memory.shape[1:]
            steps = tuple(s * memory.strides[0] for s in strides) + memory.strides[1:]
            return as_strided(memory[slots.flat[0] :], shape, steps)
        if not block.lanes and self.constants.keys() >= set(slots.flat):
            return self.uniform[slots]  # once and for all
        key = (block.lanes, conditions, slots.shape, slots.tobytes())
        if key not in self.gathered:
            self.gathered[key] = np.empty(slots.shape + memory.shape[1:], memory.dtype)
            out = self.gathered[key]
            self._step(np.take, memory, slots.astype(np.intp), axis=0, out=out, mode="clip")
        return self.gathered[key]

    def _side_by_side(self, *arrays: Array, dimensions: int) -> list[Array]:
        """The arrays, uniform ones with an axis of lanes if others have one."""
        if not any(a.ndim > dimensions for a in arrays):
            return list(arrays)
        return [a if a.ndim > dimensions else a[..., None] for a in arrays]

    # ---- groups

    def _add(self, group: Group) -> None:
        if group.op == "dot":
            self._dot(group)
        elif group.op == "mean":
            self._mean(group)
        elif group.op in ("largest", "smallest"):
            values = self._view(group.operands[0])
            reduce = np.maximum.reduce if group.op == "largest" else np.minimum.reduce
            self._step(reduce, values, axis=group.result.slots.ndim, out=self._view(group.result))
        elif group.op == "take":
            self._take(group)
        elif group.op in ("scatter", "scatter mean"):
            self._scatter(group)
        else:
            self._elementwise(group)

    def _elementwise(self, group: Group) -> None:
        blocks = [group.result, *group.operands]
        shape = common_shape([block.slots for block in blocks])
        views = [
            self._view(block, block.slots.reshape(shape), conditions)
            for block, conditions in zip(blocks, _conditions_of(group), strict=True)
        ]
        out, *operands = self._side_by_side(*views, dimensions=len(shape))
        if group.op == "where":
            self._where(group, out, *operands)
        elif group.op == "relu":
            self._step(np.maximum, operands[0], 0.0, out=out)
        elif group.op == "sigmoid":
            self._step(_sigmoid, operands[0], out)
        else:
            self._step(FUNCTIONS[group.op], *operands, out=out)

    def _where(self, group: Group, out: Array, condition: Array, a: Array, b: Array) -> None:
        other = group.operands[2]
        if not other.lanes and all(self.constants.get(int(slot)) == 0 for slot in other.slots.flat):
            # Where the other is 0: the bits of `a` under a mask, since a product may be 0 * inf.
            mask = np.zeros(condition.shape, np.int64)
            self._step(np.subtract, 0, condition.view(np.int8), mask)
            self._step(np.bitwise_and, a.view(np.int64), mask, out.view(np.int64))
        else:
            self._step(np.copyto, out, b)
            self._step(np.copyto, out, a, where=condition)

    def _dot(self, group: Group) -> None:
        left, right, added, subtracted = group.operands
        out = self._view(group.result)
        total = None
        if right.slots.shape[-1]:
            self._products(left, right, out)
            if group.sign < 0:
                self._step(np.negative, out, out)
            total = out
        elif added.slots.shape[-1] > FEW:
            self._step(np.add.reduce, self._view(added), axis=added.slots.ndim - 1, out=out)
            total, added = out, added._replace(slots=added.slots[..., :0])
        for term in self._terms(added, out):
            if total is not None:
                self._step(np.add, total, term, out)
            total = term if total is None else out
        if total is not out:
            self._step(np.copyto, out, 0.0 if total is None else total)
        for term in self._terms(subtracted, out):
            self._step(np.subtract, out, term, out)

    def _terms(self, block: Block, out: Array) -> list[Array]:
        """What is added to each result: few arrays, or the sum of many in one."""
        axis = block.slots.ndim - 1
        length = block.slots.shape[-1]
        if length <= FEW:
            terms = [self._view(block, block.slots[..., q]) for q in range(length)]
        else:
            many = self._view(block)
            terms = [np.empty(many.shape[:axis] + many.shape[axis + 1 :])]
            self._step(np.add.reduce, many, axis=axis, out=terms[0])
        return [term if term.ndim == out.ndim else term[..., None] for term in terms]

    def _products(self, left: Block, right: Block, out: Array) -> None:
        if left.slots.ndim == 2:
            self._rows(self._view(left), self._view(right), out)
            return
        a = self._view(left, left.slots[..., 0, :, :])
        b = self._view(right, right.slots[..., 0, :])
        if b.ndim == right.slots.ndim - 1:
            function = np.matmul if b.shape[-1] > 1 else np.multiply
            self._step(function, b, a.swapaxes(-1, -2), out)
        elif a.ndim < b.ndim:
            self._step(np.matmul, a[..., None, :, :], b, out)
        elif a.shape[-2] == 1:
            self._step(np.multiply, a[..., None, :, 0, :], b[..., :, None, 0, :], out)
        else:
            self._step(np.einsum, "...lkn,...rkn->...rln", a, b, out=out)

    def _rows(self, left: Array, right: Array, out: Array) -> None:
        in_lanes = right.ndim == 3
        if right.shape[1] == 1:
            left = left[:, 0, None] if in_lanes and left.ndim == 2 else left[:, 0]
            self._step(np.multiply, left, right[:, 0], out)
        elif not in_lanes and len(left) == 1:
            self._step(np.matmul, left, right[0], out)
        elif not in_lanes:
            self._step(np.einsum, "gk,gk->g", left, right, out=out)
        elif left.ndim == 2 and len(left) == 1:
            self._step(np.matmul, left, right[0], out)
        else:
            letters = "gk,gkn->gn" if left.ndim == 2 else "gkn,gkn->gn"
            self._step(np.einsum, letters, left, right, out=out)

    def _mean(self, group: Group) -> None:
        left, right = group.operands
        out = self._view(group.result)
        if self.n == 1:
            self._products(left, right, out)
        elif left.slots.ndim > 2:
            a = self._along_lanes(left, left.slots[..., 0, :, :])
            b = self._along_lanes(right, right.slots[..., 0, :])
            self._step(np.matmul, b, a.swapaxes(-1, -2), out)
        elif set(left.slots.flat) <= set(self.schedule.ones) and left.lanes:
            self._step(np.add.reduce, self._view(right), axis=(1, 2), out=out)
        else:
            letters = f"gk{'n' * left.lanes},gk{'n' * right.lanes}->g"
            self._step(np.einsum, letters, self._view(left), self._view(right), out=out)
        if group.sign < 0:
            self._step(np.negative, out, out)

    def _along_lanes(self, block: Block, slots: Slots) -> Array:
        """A matrix whose rows run along the lanes, and along the list if it has more than one."""
        numbers = self._view(block, slots)
        if not block.lanes:
            numbers = np.broadcast_to(numbers[..., None], (*numbers.shape, self.n))
        shape = (*numbers.shape[:-2], numbers.shape[-2] * self.n)
        if numbers.shape[-2] == 1:
            return numbers[..., 0, :]
        whole = np.empty(shape)
        self._step(np.copyto, whole.reshape(numbers.shape), numbers)
        return whole

    def _take(self, group: Group) -> None:
        index, table = group.operands
        rows = self._view(index)
        n_tables, length = table.slots.shape
        self._check(index, length)
        out = self._view(group.result)
        positions = np.zeros(out.shape, np.intp)
        rows = rows if rows.ndim == out.ndim else rows[..., None]
        self._step(np.copyto, positions, rows, casting="unsafe")
        if n_tables > 1:
            starts = np.arange(n_tables) * length
            self._step(np.add, positions, starts.reshape(-1, *[1] * (out.ndim - 1)), positions)
        memory, slots = self.memory[table.lanes], table.slots.ravel().astype(np.intp)
        if memory.ndim == 1:
            self._step(np.take, slots, positions, out=positions, mode="clip")
        else:
            self._step(np.take, slots * self.n, positions, out=positions, mode="clip")
            self._step(np.add, positions, np.arange(self.n), positions)
        self._step(np.take, memory.reshape(-1), positions, out=out, mode="clip")

    def _check(self, index: Block, length: int) -> None:
        if index.slots.max() >= self.schedule.n_inputs or not index.lanes:
            self._step(_check_index, self._view(index), length)  # inputs are checked at the call

    def _scatter(self, group: Group) -> None:
        indices, owed = self._side_by_side(*map(self._view, group.operands), dimensions=2)
        shape = np.broadcast_shapes(indices.shape, owed.shape)
        out = self._view(group.result)
        n_tables, length = group.result.slots.shape
        self._check(group.operands[0], length)
        starts = np.arange(n_tables).reshape(-1, *[1] * (len(shape) - 1)) * length
        stride = 1
        if out.ndim == 3:  # a table in every lane
            starts, stride = starts * self.n + np.arange(self.n), self.n
        self._step(_scatter, indices, owed, starts, stride, shape, out)


def regular(slots: Slots) -> tuple[int, ...] | None:
    """The step along each axis if slots lie in a regular pattern, else None.

    >>> regular(np.array([[3, 4], [6, 7]])), regular(np.array([3, 4, 6]))
    ((3, 1), None)
    """
    first = slots[(0,) * slots.ndim]
    steps = []
    pattern = np.zeros((1,) * slots.ndim, np.intp) + first
    for axis, length in enumerate(slots.shape):
        second = (0,) * axis + (min(1, length - 1),) + (0,) * (slots.ndim - axis - 1)
        steps.append(int(slots[second] - first))
        shape = [1] * slots.ndim
        shape[axis] = length
        pattern = pattern + steps[-1] * np.arange(length).reshape(shape)
    return tuple(steps) if np.array_equal(pattern, slots) else None


def common_shape(blocks: Sequence[Slots]) -> tuple[int, ...]:
    """Axes along which all of these rows of slots lie in a regular pattern, as far as possible.

    >>> common_shape([np.arange(6), np.array([5, 5, 5, 8, 8, 8])])
    (2, 3)
    """
    length = len(blocks[0])
    sizes = {1, length}
    for slots in blocks:
        sizes |= _periods(slots)
    ordered = sorted(size for size in sizes if length % size == 0)
    chain = [1]
    for size in ordered[1:]:
        if size % chain[-1] == 0:
            chain.append(size)
    return tuple(b // a for a, b in pairwise(chain))[::-1] or (1,)


def _periods(slots: Slots) -> set[int]:
    # Lengths after which a regular pattern begins anew, the pattern of patterns included; none if
    # there is no such pattern.
    found: set[int] = set()
    period = 1
    while len(slots) > 1:
        breaks = np.flatnonzero(np.diff(slots) != slots[1] - slots[0])
        if not len(breaks):
            return found
        run = int(breaks[0]) + 1
        if len(slots) % run or run == 1:
            return set()
        tiles = slots.reshape(-1, run)
        if (tiles - tiles[:, :1] != tiles[0] - tiles[0, 0]).any():
            return set()
        period *= run
        found.add(period)
        slots = tiles[:, 0]
    return found


def _conditions_of(group: Group) -> list[bool]:
    # Of the result and of each operand, whether it is a condition.
    asked = group.op == "where"
    return [group.op in COMPARISONS, *(asked and i == 0 for i in range(len(group.operands)))]


def _sigmoid(x: Array, out: Array) -> None:
    e = np.exp(-np.abs(x))
    np.divide(np.where(x < 0, e, 1.0), 1.0 + e, out=out)


def _check_index(index: Array, length: int) -> None:
    is_wrong = ~((index >= 0) & (index < length) & (index == np.floor(index)))
    if is_wrong.any():
        raise IndexError(
            f"take expects a whole number 0 <= index < {length}, got {index[is_wrong][0]:g}"
        )


def _scatter(
    indices: Array, owed: Array, starts: Array, stride: int, shape: tuple[int, ...], out: Array
) -> None:
    positions = np.broadcast_to(indices.astype(np.intp) * stride + starts, shape).ravel()
    found = np.bincount(positions, np.broadcast_to(owed, shape).ravel(), out.size)
    np.copyto(out, found.reshape(out.shape))
