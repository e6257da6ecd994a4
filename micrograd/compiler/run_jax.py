"""Running a schedule with JAX, on all devices of a machine or of a cluster.

The schedule becomes one function of arrays, made of `jax.numpy`, group by group, which XLA compiles
for the processor or accelerator at hand. Nothing is overwritten: each group adds an array to the
numbers computed so far. The first axis of every array runs over the lanes; uniform numbers have a
single lane, so they broadcast.

Lanes do not depend on each other, so they are what is distributed. All devices have the same
parameters, and each computes its share of the examples, tile by tile. Only the sums for the means
travel between devices. Gradients are recorded instructions like all others: this file contains no
derivative rule and never asks JAX to differentiate.

    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> w = Value(2.0)
    >>> schedule = Program(lambda x: w * x, [()], "jax").schedule
    >>> executor = JaxExecutor(schedule, n_arguments=1, dtype="float64")
    >>> means, _ = executor(np.array([2.0]), [np.array([1.0, 3.0, 5.0])], 3)
    >>> means  # of w * x, and of its derivative with respect to w
    array([6., 3.])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.multihost_utils import process_allgather
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from micrograd.compiler import run_numpy
from micrograd.compiler.fuse import MEANS
from micrograd.compiler.schedule import Block, Group, Schedule, Slots

Array = Any  # an array of NumPy or JAX

# Maximum size of the lanes of a tile, in bytes. On a processor, a tile should fit into the cache;
# on an accelerator, it should be large enough to keep all cores busy.
CACHE, MEMORY = 2**21, 2**28
ROWS = 64  # steps in a call with mini-batches: another number would be compiled again
KEPT = 8  # number of compiled functions to keep, each for a different number of examples


def _choice(compare: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, y, a, b: jnp.where(compare(x, y), a, b)


FUNCTIONS: dict[str, Callable[..., Array]] = {
    **{op: _choice(getattr(jnp, f.__name__)) for op, f in run_numpy.CHOICES.items()},
    **{op: getattr(jnp, f.__name__, f) for op, f in run_numpy.FUNCTIONS.items()},
    "relu": lambda x: jnp.maximum(x, 0),
    "sigmoid": lambda x: jnp.where(x < 0, jnp.exp(-abs(x)), 1) / (1 + jnp.exp(-abs(x))),
    "sum": lambda x: x.sum(-1),
    "largest": lambda x: x.max(-1),
    "smallest": lambda x: x.min(-1),
}


class JaxRun:
    """One run of a schedule, on arrays that may be abstract, as they are inside `jax.jit`.

    All numbers get the dtype of the parameters. `wrong` counts invalid indices outside the lanes.
    An update has extra numbers, whose slots come after those of its program.
    """

    def __init__(
        self, schedule: Schedule, parameters: Array, extra: tuple[int, Array] | None = None
    ) -> None:
        self.schedule = schedule
        self.dtype = parameters.dtype
        self.wrong = jnp.zeros((), self.dtype)
        self._n, self._mask = 1, None
        # For each memory: the first slot of each array, and the arrays, of shape (lanes, slots).
        self._starts: dict[bool, list[int]] = {False: [], True: []}
        self._arrays: dict[bool, list[Array]] = {False: [], True: []}
        self._store(False, 0, parameters[None])
        (first, _), *_ = schedule.constants
        self._store(False, first, np.array([[number for _, number in schedule.constants]]))
        self._extra = extra
        for group in schedule.before:
            self._add(group)

    def lanes(
        self, arguments: Sequence[Array], n: int, mask: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Sums over n lanes for the means, results in lanes, and the number of invalid indices.

        If there is a mask, only the lanes where it is true count in the sums.
        """
        outside, self.wrong = self.wrong, jnp.zeros((), self.dtype)
        self._n, self._mask = n, mask
        self._starts[True], self._arrays[True] = [], []
        first = 0
        for a in arguments:
            width = math.prod(a.shape[1:])
            rows = a.reshape(len(a) if a.ndim else 1, width)
            self._store(True, first, jnp.broadcast_to(rows, (n, width)))
            first += width + 1
        self._store(True, first, np.zeros((n, 1)))  # what shorter sums are padded with
        sums = [found for group in self.schedule.lanes for found in self._add(group)]
        inside, self.wrong = self.wrong, outside
        return jnp.concatenate([*sums, jnp.zeros(0, self.dtype)]), self._results(True), inside

    def after(self, means: Array) -> Array:
        """The results that are uniform or means."""
        if means.size:
            self._store(False, self.schedule.means[0], means[None])
        for group in self.schedule.after:
            if self._extra and group.result.slots.flat[0] > self._extra[0]:
                first, numbers = self._extra
                self._store(False, first, numbers[None])
                self._extra = None
            self._add(group)
        return self._results(False)[0]

    def _results(self, lanes: bool) -> Array:
        is_lane, slots = self.schedule.results.T
        return self._at(Block(lanes, slots[is_lane == lanes]))

    # ---- memory

    def _store(self, lanes: bool, first: int, array: Array) -> None:
        self._starts[lanes].append(first)
        self._arrays[lanes].append(jnp.asarray(array, self.dtype))
        if lanes:  # the next slot is 1 in all lanes
            self._starts[lanes].append(first + array.shape[1])
            self._arrays[lanes].append(jnp.ones((len(array), 1), self.dtype))

    def _at(self, block: Block, part: Any = ...) -> Array:
        # The numbers of a block, or of a part of it: an axis for the lanes, then axes of the block.
        slots = block.slots[part]
        starts, arrays = self._starts[block.lanes], self._arrays[block.lanes]
        if not slots.size:
            return jnp.zeros((len(arrays[0]), *slots.shape), self.dtype)
        owner = np.searchsorted(starts, slots, "right") - 1
        needed = np.unique(owner)
        widths = [arrays[i].shape[1] for i in needed]
        moved = np.cumsum([0, *widths[:-1]]) - np.take(starts, needed)
        array = jnp.concatenate([arrays[i] for i in needed], axis=1)
        return _picked(array, slots + moved[np.searchsorted(needed, owner)])

    def _counted(self, block: Block, part: Any = ...) -> Array:
        # The numbers in all lanes; 0 instead of any number, even NaN, in lanes that do not count.
        numbers = self._at(block, part)
        numbers = jnp.broadcast_to(numbers, (self._n, *numbers.shape[1:]))
        if self._mask is None:
            return numbers
        return jnp.where(self._mask.reshape(-1, *[1] * (numbers.ndim - 1)), numbers, 0)

    # ---- groups

    def _add(self, group: Group) -> list[Array]:
        # Computes a group. Sums for means are returned: other lanes contribute to them, too.
        special = {
            "dot": self._dot, "mean": self._mean, "take": self._take,
            "scatter": self._scatter, "scatter mean": self._scatter,
        }  # fmt: skip
        if group.op in special:
            found = special[group.op](group)
        else:
            found = FUNCTIONS[group.op](*map(self._at, group.operands))
        if group.op in MEANS:
            return [found.ravel()]
        slots, n = group.result.slots, self._n if group.result.lanes else 1
        rows = jnp.broadcast_to(found, (n, *slots.shape)).reshape(n, -1)
        self._store(group.result.lanes, int(slots.flat[0]), rows)
        return []

    def _dot(self, group: Group) -> Array:
        left, right = group.operands
        if left.lanes or left.slots.shape[1] == right.slots.shape[1] == 1:
            return (self._at(left)[:, :, None] * self._at(right)[:, :, :, None]).sum(-1)
        # Weights times the inputs in all lanes.
        return jnp.einsum("...lk,n...rk->n...rl", self._at(left)[0], self._at(right))

    def _mean(self, group: Group) -> Array:
        left, right = group.operands
        if left.slots.shape[1] == right.slots.shape[1] == 1:
            return (self._counted(left) * self._counted(right)).sum((0, -1))[..., None]
        lists = self._counted(left), self._counted(right)
        # The sums run over the lanes and along the lists: both become the first axis.
        a, b = (jnp.moveaxis(x, -1, 1).reshape(-1, *x.shape[1:-1]) for x in lists)
        return jnp.einsum("n...l,n...r->...rl", a, b)

    def _take(self, group: Group) -> Array:
        index, table = map(self._at, group.operands)
        is_valid = (index >= 0) & (index < table.shape[-1]) & (index == jnp.floor(index))
        self.wrong += (~is_valid).sum(dtype=self.dtype)
        place = jnp.where(is_valid, index, 0).astype(int)[..., None]
        return jnp.where(is_valid, jnp.take_along_axis(table, place, -1)[..., 0], jnp.nan)

    def _scatter(self, group: Group) -> Array:
        index, contributions = group.operands
        is_mean = group.op in MEANS
        n = self._n if is_mean or group.result.lanes else 1
        shape = (n, *index.slots.shape)
        lane, table, _ = np.ogrid[tuple(map(slice, shape))]
        place = jnp.broadcast_to(self._at(index), shape).astype(int)
        if is_mean:
            zeros = jnp.zeros(group.result.slots.shape, self.dtype)
            return zeros.at[table, place].add(self._counted(contributions))
        zeros = jnp.zeros((n, *group.result.slots.shape), self.dtype)
        return zeros.at[lane, table, place].add(self._at(contributions))


def _picked(array: Array, places: Slots) -> Array:
    # array[:, places]. If nested loops visit the places, as in the columns of a matrix, axes are
    # split, cut, transposed and repeated instead: XLA does this without a gather.
    loops = _nested(places)
    if loops is None:
        return array.at[:, places].get(mode="promise_in_bounds")
    n, array = len(array), array[:, places.flat[0] :]
    order = sorted(range(len(loops)), key=lambda i: -loops[i][1])
    for i in order:
        size, step = loops[i] if loops[i][1] else (1, array.shape[-1])
        missing = size * step - array.shape[-1]  # if this is negative, `pad` cuts off the end
        widths = [(0, 0, 0)] * (array.ndim - 1) + [(0, missing, 0)]
        array = jax.lax.pad(array, jnp.zeros((), array.dtype), widths)
        array = array.reshape(*array.shape[:-1], size, step)
    array = array[..., 0].transpose(0, *(np.argsort(order) + 1))
    return jnp.broadcast_to(array, (n, *(size for size, _ in loops))).reshape(n, *places.shape)


def _nested(places: Slots) -> list[tuple[int, int]] | None:
    # The size and step of each of the nested loops that visit the places, the outermost first: the
    # places 3, 4, 6, 7 have the loops (2, 3), (2, 1), and 5, 5, 5, 6, 6, 6 have (2, 1), (3, 0).
    # None if there are no such loops, or if one steps back or into the range of another.
    loops: list[tuple[int, int]] = []
    rest = places.ravel()
    while len(rest) > 1:
        steps = np.diff(rest)
        others = np.flatnonzero(steps != steps[0])
        size = int(others[0]) + 1 if len(others) else len(rest)
        if len(rest) % size or (np.diff(rest.reshape(-1, size)) != steps[0]).any():
            return None
        loops.append((size, int(steps[0])))
        rest = rest[::size]
    reach = 0
    for size, step in sorted(loops, key=lambda loop: loop[1]):
        if step < 0 or 0 < step <= reach:
            return None
        reach += (size - 1) * step
    return loops[::-1]


def pure(schedule: Schedule, shapes: Sequence[tuple[int, ...]]) -> Callable[..., Any]:
    """The function (parameters, *arguments) -> (mean, gradients) of a schedule with gradients."""
    (n_parameters, _), *_ = schedule.constants

    def function(parameters: Array, *arguments: Array) -> tuple[Array, Array]:
        parameters, *arrays = map(jnp.asarray, (parameters, *arguments))
        found = [parameters.shape, *(a.shape for a in arrays)]
        expected = [(n_parameters,), *(("n", *shape) for shape in shapes)]
        if found[0] != expected[0] or [shape[1:] for shape in found[1:]] != list(shapes):
            raise ValueError(f"expected arrays of shapes {expected}, got {found}")
        n = max([len(a) for a in arrays if a.ndim], default=1)
        run = JaxRun(schedule, parameters.astype(jnp.result_type(float, parameters)))
        sums, *_ = run.lanes(arrays, n)
        uniform = run.after(sums / n)
        return uniform[0], uniform[1 : 1 + n_parameters]

    return function


class JaxExecutor:
    """An executor that runs a schedule on all devices that JAX finds.

    Args:
        schedule: the schedule.
        n_arguments: the number of arguments.
        dtype: 'float64' or 'float32'.

    Attributes:
        compiled: maps a number of examples to the compiled function, and to the number of lanes
            that it expects: a multiple of the number of devices. Surplus lanes do not count.
    """

    def __init__(self, schedule: Schedule, n_arguments: int, dtype: str) -> None:
        self.schedule = schedule
        self.dtype = dtype
        self.compiled = lru_cache(KEPT)(partial(_compiled, schedule, n_arguments, dtype))

    def __call__(self, parameters: Array, arguments: Sequence[Array], n: int) -> tuple[Array, Any]:
        """The results that are uniform or means, and a row of lanes for each remaining result."""
        with jax.enable_x64(self.dtype == "float64"):
            function, lanes = self.compiled(n)
            uniform, rows = function(parameters, *(_padded(a, n, lanes) for a in arguments))
            found = np.asarray(uniform)  # waits for the devices
        if found[-1]:
            raise IndexError("take got an index that is out of range or not a whole number")
        return found[:-1], [_Row(row, n) for row in rows]


def sharded(
    schedule: Schedule, n_arguments: int, dtype: str, n: int, first_extra: int = 0
) -> tuple[Any, Any, int]:
    """A function of all devices for n examples, the shardings of its arguments, and its lanes.

    Its first argument is the array of parameters, or a pair of it and of extra numbers, which begin
    at slot `first_extra`.
    """
    mesh = Mesh(np.array(jax.devices()), ("lanes",))
    memory = CACHE if jax.default_backend() == "cpu" else MEMORY
    largest = max(16, memory // (np.dtype(dtype).itemsize * schedule.sizes[1]))
    least = math.ceil(n / (mesh.size * largest))
    # Rather a few more tiles than lanes that do not count.
    tiles = next((k for k in range(least, 2 * least) if n % (mesh.size * k) == 0), least)
    tile = math.ceil(n / (mesh.size * tiles))
    lanes = mesh.size * tiles * tile

    def share(given: Array, *arguments: Array) -> tuple[Array, list[Array]]:
        # What one device computes.
        if first_extra:
            parameters, extra = given
            run = JaxRun(schedule, parameters, (first_extra, extra))
        else:
            run = JaxRun(schedule, given)

        def add_tile(totals: Array, part: Sequence[Array]) -> tuple[Array, Array]:
            lane, *inputs = part
            sums, results, wrong = run.lanes(inputs, tile, None if lanes == n else lane < n)
            return totals + jnp.append(sums, wrong), results

        start = jax.lax.axis_index("lanes") * tiles * tile
        inputs = (start + jnp.arange(tiles * tile), *arguments)
        parts = [a.reshape(tiles, tile, *a.shape[1:]) for a in inputs]
        first, end = schedule.means
        totals, results = jax.lax.scan(add_tile, jnp.zeros(end - first + 1, run.dtype), parts)
        totals = jax.lax.psum(totals, "lanes")
        uniform = jnp.append(run.after(totals[:-1] / n), totals[-1] + run.wrong)
        return uniform, list(results.reshape(tiles * tile, -1).T)

    same, split = PartitionSpec(), PartitionSpec("lanes")
    specs = (same, *[split] * n_arguments)
    function = jax.shard_map(
        share, mesh=mesh, in_specs=specs, out_specs=(same, split), check_vma=False
    )
    return function, tuple(NamedSharding(mesh, spec) for spec in specs), lanes


class JaxLoop:
    """Training steps in a loop inside a compiled function; `NumPyLoop` describes the arguments.

    The results of its schedule are the mean, the sum of the squares of the gradients, the
    gradients, and then the new data and states, one after the other.
    """

    def __init__(self, update: Any, shapes: Sequence[tuple[int, ...]]) -> None:
        self.largest = 2**62 if jax.process_count() == 1 else 0
        slots = [update.mean, update.square, *update.gradient, *np.concatenate(update.new)]
        results = np.array([(0, slot) for slot in slots], np.int32)
        self._schedule = update.schedule._replace(results=results)
        self._first = update.numbers[0]
        (self._n_parameters, _), *_ = update.schedule.constants
        old = update.kept[0]  # data of parameters that the program does not use are extra numbers
        self._places = np.argsort(old)[: self._n_parameters]
        self._others = np.flatnonzero(old >= self._n_parameters)
        self._n_arguments = len(shapes)
        self._compiled = lru_cache(KEPT)(self._loop)

    def __call__(
        self, arrays: Sequence[Array], n: int, count: int, order: Array | None, numbers: Array,
        kept: Sequence[Array], gradient: Array, losses: Array, done: Array,
    ) -> bool:  # fmt: skip
        """Does steps, perhaps fewer than `count`; whether the square of the gradients is finite."""
        if order is not None:
            count = min(count, ROWS)
            order = np.resize(order[:count], (ROWS, n))
        with jax.enable_x64(True):
            loop = self._compiled(n, order is not None)
            found = loop(count, numbers, kept, arrays, order)
            new, slopes, steps, wrong, is_finite, means = jax.tree.map(np.asarray, found)

        def commit() -> None:
            for old, now in zip(kept, new, strict=True):
                old[...] = now
            gradient[...] = slopes
            losses[: len(means)] = means
            done[0] = steps

        try:
            commit()
        except KeyboardInterrupt:  # no half update
            commit()
            raise
        if wrong:
            raise IndexError("take got an index that is out of range or not a whole number")
        return bool(is_finite)

    def _loop(self, n: int, in_order: bool) -> Any:
        places, others = self._places, self._others
        compute, _, lanes = sharded(
            self._schedule, self._n_arguments, "float64", n, first_extra=self._first
        )
        real = np.minimum(np.arange(lanes), n - 1)  # copies of the last example fill the lanes

        def examples(array: Any, order: Any, step: Any) -> Any:
            if not array.ndim:
                return jnp.full(lanes, array)
            return array[order[step][real] if in_order else real]

        def loop(count: Any, numbers: Any, kept: Any, arrays: Any, order: Any) -> Any:
            def step(carry: Any) -> Any:
                (data, *states), last, done, _, _, losses = carry
                batch = [examples(array, order, done) for array in arrays]
                extra = jnp.concatenate([numbers[done], data[others], *states])
                found, _ = compute((data[places], extra), *batch)
                mean, square, gradient, *new = jnp.split(
                    found[:-1], np.cumsum([1, 1, *[len(data)] * (1 + len(kept))])[:-1]
                )
                losses, wrong = losses.at[done].set(mean[0]), found[-1] > 0
                is_finite = jnp.isfinite(square[0])
                is_done = is_finite & ~wrong
                gradient = jnp.where(wrong, last, gradient)
                new = [jnp.where(is_done, a, b) for a, b in zip(new, (data, *states), strict=True)]
                return new, gradient, done + is_done, wrong, is_finite, losses

            zeros = jnp.zeros(len(kept[0]))
            start = [*map(jnp.asarray, kept)], zeros, 0, False, True, jnp.zeros(len(numbers))
            return jax.lax.while_loop(lambda c: (c[2] < count) & ~c[3] & c[4], step, start)

        return jax.jit(loop)


def _compiled(schedule: Schedule, n_arguments: int, dtype: str, n: int) -> tuple[Any, int]:
    function, shardings, lanes = sharded(schedule, n_arguments, dtype, n)
    jitted = jax.jit(function, in_shardings=shardings)
    if jax.process_count() == 1:
        return jitted, lanes

    def of_all_processes(*arrays: Array) -> Any:  # each has all examples, and places its share
        pairs = zip(arrays, shardings, strict=True)
        return jitted(*(jax.make_array_from_callback(a.shape, s, a.__getitem__) for a, s in pairs))

    return of_all_processes, lanes


def _padded(a: Array, n: int, lanes: int) -> Array:
    if not a.ndim:
        return np.full(lanes, a)
    # Copies of a real example: for other numbers, an index might be invalid.
    return a if lanes == n else np.concatenate([a, np.repeat(a[-1:], lanes - n, axis=0)])


class _Row:
    # A row of lanes, which stays on the devices until it is needed.

    def __init__(self, row: Array, n: int) -> None:
        self._row, self._n = row, n

    def __call__(self) -> Array:
        row = self._row
        whole = row if row.is_fully_addressable else process_allgather(row, tiled=True)
        return np.array(whole, float)[: self._n]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self(), dtype)
