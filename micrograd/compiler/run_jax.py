"""Running a schedule with JAX, on all devices of a machine.

The schedule becomes one function of arrays, made of `jax.numpy`, group by group, which XLA compiles
for the processor or accelerator at hand. Nothing is overwritten: each group adds an array to the
numbers computed so far. The first axis of every array runs over the lanes; uniform numbers have a
single lane, so they broadcast.

All devices have the same parameters, and each computes its share of the examples, tile by tile.
Only the sums for the means travel between devices. This file contains no derivative rule and never
asks JAX to differentiate: gradients are recorded instructions like all others.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from micrograd.compiler import run_numpy
from micrograd.compiler.fuse import MEANS
from micrograd.compiler.schedule import Block, Group, Loop, Memories, Schedule

Array = Any  # an array of NumPy or JAX

# Maximum size of the lanes of a tile, in bytes. On a processor, a tile should fit into the cache;
# on an accelerator, it should be large enough to keep all cores busy.
CACHE, MEMORY = 2**21, 2**28
ROWS = 64  # steps in a call with mini-batches: another number would be compiled again
KEPT = 8  # number of compiled functions to keep, each for a different number of examples
WRONG_INDEX = "take got an index that is out of range or not a whole number"


FUNCTIONS: dict[str, Callable[..., Array]] = {
    **{op: getattr(jnp, f.__name__, f) for op, f in run_numpy.FUNCTIONS.items()},
    "relu": lambda x: jnp.maximum(x, 0),
    "erf": jax.scipy.special.erf,
    "sigmoid": lambda x: jnp.where(x < 0, jnp.exp(-abs(x)), 1) / (1 + jnp.exp(-abs(x))),
    "sum": lambda x: x.sum(-1),
    "largest": lambda x: x.max(-1),
    "smallest": lambda x: x.min(-1),
}


class JaxRun:
    """One run of a schedule, on arrays that may be abstract, as they are inside `jax.jit`.

    `numbers` are the data of the parameters, whose dtype all numbers get, and then those that an
    update gets from outside, the first of which has the slot `first`.
    """

    def __init__(self, schedule: Schedule, numbers: Array, first: int = 0) -> None:
        self.schedule, self.dtype = schedule, numbers.dtype
        self._n, self._mask = 1, None
        # For each memory: the first slot of each array, and the arrays, of shape (lanes, slots).
        self._memory = Memories[tuple[list[int], list[Array]]](([], []), ([], []))
        self._sums: list[Array] = []
        self._wrong = Memories[list[Array]]([], [])  # invalid indices: a count for each group
        slots, constants = np.array(schedule.constants).T
        end = int(slots[0])
        self._store(False, 0, numbers[None, :end])
        for part in np.split(np.arange(len(slots)), 1 + np.flatnonzero(np.diff(slots) != 1)):
            self._store(False, int(slots[part[0]]), constants[None, part])  # adjacent ones
        if first:
            self._store(False, first, numbers[None, end:])
        for group in schedule.before:
            self._add(group)

    def lanes(
        self, arguments: Sequence[Array], n: int, mask: Array | None = None
    ) -> tuple[Array, Array]:
        """Sums over n lanes, for the means and of invalid indices; and the results in lanes.

        If there is a mask, only the lanes where it is true count in the means.
        """
        self._n, self._mask = n, mask
        self._memory, self._sums = self._memory._replace(lanes=([], [])), []
        self._wrong.lanes.clear()
        for places, a in zip(self.schedule.inputs, arguments, strict=True):
            self._store(True, places.start, filled(a, n).reshape(n, len(places)))
        self._store(True, self.schedule.zero, np.zeros((n, 1)))  # shorter sums are padded with it
        for group in self.schedule.lanes:
            self._add(group)
        return jnp.concatenate([*self._sums, self._count(True)]), self._results(True)

    def after(self, sums: Array, n: int) -> Array:
        """The results that are uniform or means, and the number of invalid indices."""
        self._store(False, self.schedule.means[0], sums[None, :-1] / n)
        for group in self.schedule.after:
            self._add(group)
        return jnp.append(self._results(False)[0], sums[-1] + self._count(False))

    def _count(self, lanes: bool) -> Array:
        return sum(self._wrong.of(lanes), jnp.zeros(1, self.dtype))

    def _results(self, lanes: bool) -> Array:
        is_lane, slots = self.schedule.results.T
        return self._at(Block(lanes, slots[is_lane == lanes]))

    # ---- memory

    def _store(self, lanes: bool, first: int, array: Array) -> None:
        starts, arrays = self._memory.of(lanes)
        if not (lanes or array.shape[1]):  # no means, say: another array begins at this slot
            return
        i = bisect(starts, first)
        starts.insert(i, first)
        arrays.insert(i, jnp.asarray(array, self.dtype))
        if lanes:  # the next slot is 1 in all lanes
            starts.append(first + array.shape[1])
            arrays.append(jnp.ones((len(array), 1), self.dtype))

    def _at(self, block: Block) -> Array:
        # The numbers of a block: an axis for the lanes, then the axes of the block.
        starts, arrays = self._memory.of(block.lanes)
        if not block.slots.size:
            return jnp.zeros((len(arrays[0]), 0), self.dtype)
        owner = np.searchsorted(starts, block.slots, "right") - 1
        needed, owner = np.unique(owner, return_inverse=True)
        widths = [arrays[i].shape[1] for i in needed]
        moved = np.cumsum([0, *widths[:-1]]) - np.take(starts, needed)
        array = jnp.concatenate([arrays[i] for i in needed], axis=1)
        places = block.slots + moved[owner.reshape(block.slots.shape)]
        return array.at[:, places].get(mode="promise_in_bounds")

    def _spread(self, block: Block, n: int) -> Array:
        return jnp.broadcast_to(self._at(block), (n, *block.slots.shape))

    def _counted(self, block: Block) -> Array:
        # The numbers in all lanes; 0 instead of any number, even NaN, in lanes that do not count.
        numbers = self._spread(block, self._n)
        if self._mask is None:
            return numbers
        return jnp.where(self._mask.reshape(-1, *[1] * (numbers.ndim - 1)), numbers, 0)

    def _loop(self, loop: Loop, lanes: bool) -> Array:
        """The results of a loop: the last states, the outputs and the states that are kept."""
        n, around = self._n if lanes else 1, (self._memory, self._wrong)

        def step(states: Array, read: Sequence[Array]) -> tuple[Array, Any]:
            self._memory = Memories(*((starts[:], arrays[:]) for starts, arrays in around[0]))
            self._wrong = Memories([], [])
            if loop.states.size:
                self._store(lanes, int(loop.states[0]), states)
            for (_, slots), row in zip(loop.reads, read, strict=True):
                self._store(lanes, int(slots[0]), row)
            for group in loop.groups:
                self._add(group)
            new, made = (self._spread(Block(lanes, some), n) for some in (loop.new, loop.made))
            return new, (made, states[:, : loop.kept.shape[1]], self._count(lanes))

        first, *read = (self._spread(block, n) for block, _ in ((loop.first, None), *loop.reads))
        read = [jnp.moveaxis(numbers, 1, 0) for numbers in read]
        found = jax.lax.scan(step, first, read, loop.n_steps, loop.is_reversed)
        last, (outputs, kept, wrong) = found
        self._memory, self._wrong = around
        self._wrong.of(lanes).append(wrong.sum())
        rows = (jnp.moveaxis(some, 0, 1).reshape(n, -1) for some in (outputs, kept))
        return jnp.concatenate([last, *rows], axis=1)

    def _add(self, group: Group) -> None:
        (lanes, slots), op, blocks = group.result, group.op, group.operands
        if op in FUNCTIONS:
            found = FUNCTIONS[op](*map(self._at, blocks))
        elif op in run_numpy.CHOICES:
            x, y, a, b = map(self._at, blocks)
            found = jnp.where(getattr(jnp, run_numpy.CHOICES[op].__name__)(x, y), a, b)
        elif op == "mean":
            found = jnp.einsum("n...lk,n...rk->...rl", *map(self._counted, blocks))
        elif op == "dot":
            left, right = map(self._at, blocks)
            if blocks[0].lanes:
                found = (left[:, :, None] * right[:, :, :, None]).sum(-1)
            else:  # weights times inputs
                found = jnp.einsum("...lk,n...rk->n...rl", left[0], right)
        elif group.loop:
            found = self._loop(group.loop, lanes)
        elif op == "take":
            index, table = map(self._at, blocks)
            is_valid = (index >= 0) & (index < table.shape[-1]) & (index == jnp.floor(index))
            self._wrong.of(lanes).append((~is_valid).sum(dtype=self.dtype))
            place = jnp.where(is_valid, index, 0).astype(int)[..., None]
            taken = jnp.take_along_axis(table, place, -1)[..., 0]
            found = jnp.where(is_valid, taken, jnp.nan)
        else:  # a scatter; for a mean, all lanes share one table
            index, contributions = blocks
            n = self._n if op in MEANS or lanes else 1
            shape, is_mean = (n, *index.slots.shape), op in MEANS
            lane, row, _ = np.ogrid[tuple(map(slice, shape))]
            place = jnp.broadcast_to(self._at(index), shape).astype(int)
            numbers = (self._counted if is_mean else self._at)(contributions)
            zeros = jnp.zeros((n, *slots.shape)[is_mean:], self.dtype)
            found = zeros.at[(lane, row, place)[is_mean:]].add(numbers)
        if op in MEANS:  # only sums: other lanes contribute to the means, too
            self._sums.append(found.ravel())
        else:
            n = self._n if lanes else 1
            rows = jnp.broadcast_to(found, (n, *slots.shape)).reshape(n, -1)
            self._store(lanes, int(slots.flat[0]), rows)


def filled(a: Array, n: int) -> Array:
    """The examples of an argument for n lanes; surplus lanes get copies of the last example.

    Other numbers might be invalid indices there.
    """
    rows = a if a.ndim else a[None]
    return rows if len(rows) == n else rows[np.minimum(np.arange(n), len(rows) - 1)]


class JaxExecutor:
    """An executor that runs a schedule on all devices that JAX finds, in 'float64' or 'float32'.

    Attributes:
        compiled: maps a number of examples to the compiled function, and the number of lanes that
            it expects.
    """

    def __init__(self, schedule: Schedule, dtype: str) -> None:
        self.schedule, self.dtype = schedule, dtype

        def compiled(n: int) -> tuple[Any, int]:
            function, lanes = sharded(schedule, dtype, n)
            return jax.jit(function), lanes

        self.compiled = lru_cache(KEPT)(compiled)

    def __call__(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[Array, list[Array]]:
        """The results that are uniform or means, and a row of lanes for each remaining result."""
        with jax.enable_x64(self.dtype == "float64"):
            function, lanes = self.compiled(n)
            uniform, rows = function(parameters, *(filled(a, lanes) for a in arguments))
            found = np.asarray(uniform)  # waits for the devices
        if found[-1]:
            raise IndexError(WRONG_INDEX)
        return found[:-1], [np.array(row, float)[:n] for row in rows]


def sharded(schedule: Schedule, dtype: str, n: int, first: int = 0) -> tuple[Any, int]:
    """A function of all devices for n examples, and how many lanes it has.

    Its arguments are the `numbers` of `JaxRun` and the examples. Each device and each tile gets
    equally many lanes; surplus lanes do not count.
    """
    mesh = Mesh(np.array(jax.devices()), ("lanes",))
    memory = CACHE if jax.default_backend() == "cpu" else MEMORY
    largest = max(16, memory // (np.dtype(dtype).itemsize * schedule.sizes.lanes))
    least = math.ceil(n / (mesh.size * largest))
    # Rather a few more tiles than lanes that do not count.
    tiles = next((k for k in range(least, 2 * least) if n % (mesh.size * k) == 0), least)
    tile = math.ceil(n / (mesh.size * tiles))
    lanes = mesh.size * tiles * tile

    def share(numbers: Array, *arguments: Array) -> tuple[Array, list[Array]]:
        # What one device computes.
        run = JaxRun(schedule, numbers, first)

        def add_tile(totals: Array, part: Sequence[Array]) -> tuple[Array, Array]:
            lane, *inputs = part
            sums, results = run.lanes(inputs, tile, None if lanes == n else lane < n)
            return totals + sums, results

        start = jax.lax.axis_index("lanes") * tiles * tile
        inputs = (start + jnp.arange(tiles * tile), *arguments)
        parts = [a.reshape(tiles, tile, *a.shape[1:]) for a in inputs]
        zeros = jnp.zeros(schedule.means[1] - schedule.means[0] + 1, run.dtype)
        sums, results = jax.lax.scan(add_tile, zeros, parts)
        uniform = run.after(jax.lax.psum(sums, "lanes"), n)
        return uniform, list(results.reshape(tiles * tile, -1).T)

    same, split = PartitionSpec(), PartitionSpec("lanes")
    specs = (same, *[split] * len(schedule.inputs))
    function = jax.shard_map(
        share, mesh=mesh, in_specs=specs, out_specs=(same, split), check_vma=False
    )
    return function, lanes


class JaxLoop:
    """Training steps in a loop inside a compiled function; `NumPyLoop` describes the arguments."""

    def __init__(self, update: Any, memory: Any) -> None:
        self.largest, self.memory = 2**62, memory
        self._update = update
        self._compiled = lru_cache(KEPT)(self._loop)

    def __call__(self, arrays: Sequence[Array], n: int, count: int, order: Array | None) -> bool:
        """Does steps, perhaps fewer than `count`; whether the square of the gradients is finite."""
        numbers, kept, gradient, losses, done = self.memory
        if order is not None:
            count = min(count, ROWS)
            order = np.resize(order[:count], (ROWS, n))
        with jax.enable_x64(True):
            loop = self._compiled(n, order is not None)
            found = loop(count, numbers, kept, arrays, order)
            new, slopes, means, steps, is_finite, wrong = jax.tree.map(np.asarray, found)
        run_numpy.commit([*kept, gradient, losses], [*new, slopes, means], done, int(steps))
        if wrong:
            raise IndexError(WRONG_INDEX)
        return bool(is_finite)

    def _loop(self, n: int, in_order: bool) -> Any:
        update = self._update  # the results are what a step returns, one after the other
        slots = [update.mean, update.square, *update.gradient, *np.concatenate(update.new)]
        results = np.array([(0, slot) for slot in slots], np.int32)
        schedule = update.schedule._replace(results=results)
        compute, lanes = sharded(schedule, "float64", n, first=update.numbers[0])
        (n_parameters, _), *_ = schedule.constants
        # The data of parameters that the program does not use are the second of the extra numbers.
        used, unused = np.split(np.argsort(update.kept[0]), [n_parameters])

        def loop(count: Any, numbers: Any, kept: Any, arrays: Any, order: Any) -> Any:
            def step(carry: Any) -> Any:
                (data, *states), last, losses, done, _, _ = carry
                rows = [a[order[done]] if in_order and a.ndim else a for a in arrays]
                given = jnp.concatenate([data[used], numbers[done], data[unused], *states])
                found, _ = compute(given, *(filled(a, lanes) for a in rows))
                ends = np.cumsum([1, 1, *[len(data)] * (1 + len(kept))])
                [mean], [square], gradient, *new, [wrong] = jnp.split(found, ends)
                is_finite, wrong = jnp.isfinite(square) & ~jnp.isnan(mean), wrong > 0
                is_done, gradient = is_finite & ~wrong, jnp.where(wrong, last, gradient)
                new = [jnp.where(is_done, a, b) for a, b in zip(new, (data, *states), strict=True)]
                return new, gradient, losses.at[done].set(mean), done + is_done, is_finite, wrong

            zeros = jnp.zeros(len(kept[0])), jnp.zeros(len(numbers))
            start = [*map(jnp.asarray, kept)], *zeros, 0, True, False
            return jax.lax.while_loop(lambda c: (c[3] < count) & c[4] & ~c[5], step, start)

        return jax.jit(loop)
