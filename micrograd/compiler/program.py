"""All passes in order, from a function to an executor.

A program is compiled for examples of one shape.

    >>> from micrograd import Value
    >>> w = Value(2.0, label="w")
    >>> program = Program(lambda x: (w * x).tanh(), [()], "numpy")
    >>> program.instructions  # x, w, the function, its derivative, the means of both
    0  input
    1  input
    2  * 1 0
    3  tanh 2
    4  * 3 3
    5  constant 1
    6  - 5 4
    7  * 0 6
    8  * 1 6
    9  mean 3
    10  mean 7
    >>> program.schedule.groups
    [* of 1 in lanes, tanh of 1 in lanes, * of 1 in lanes, - of 1 in lanes, 2 means of 1 product]
"""

from __future__ import annotations

import gc
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from micrograd.compiler.arguments import SharedShape, Static
from micrograd.compiler.batch import Batch
from micrograd.compiler.fuse import Fused, fused
from micrograd.compiler.parameters import Row, one_at_a_time, shared_row
from micrograd.compiler.record import recorded
from micrograd.compiler.run_llvm import LlvmExecutor
from micrograd.compiler.run_numpy import NumPyExecutor, as_index
from micrograd.compiler.schedule import Array, Schedule, order_of_use, scheduled
from micrograd.compiler.simplify import averaged
from micrograd.compiler.text import matrix_source, scalar_source
from micrograd.core.pause import is_paused, open_blocks
from micrograd.core.shapes import flat
from micrograd.engine import Value

Shapes = tuple[Any, ...]  # of one example's arguments: tuples of lengths, or Static

MANY = 500  # groups from which on JAX takes more than ten seconds
DTYPES = {"jax": "float64", "jax-float32": "float32"}  # of the executors that run on JAX


class Program:
    """A function compiled for examples of one shape; its arguments are arrays of examples.

    `n_upstream` is as in `recorded`; `known` are the parameters of an earlier program of this
    function, which keep their order.

    Attributes:
        names: maps the name of each argument to the names of its numbers.
        instructions: the recording, simplified and with means over lanes.
        parameters: the parameters of the function, in the order in which the units use them.
        n_results, structure: how many Values the function returns, and their structure.
        is_single: whether it returns a single one, which this program differentiates.
        has_gradients: whether that one can be differentiated with respect to parameters.
        have_graphs: for each result, whether it is a Value that was computed outside no_grad().
        weighted: the program for upstream gradients, of several results or of each example.
        shared: the indices of arguments that are the same for all examples.
        schedule: the groups of the forward pass, and of the backward pass if there is one result.
        training: the latest training steps, see `update.py`; None without any.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shapes: Shapes,
        executor: str,
        n_upstream: int = 0,
        known: Sequence[Value] = (),
    ) -> None:
        with collector_at_rest():
            found = recorded(function, shapes, n_upstream, known)
            self.structure, self.n_results = found.structure, len(found.results)
            self.is_single = isinstance(self.structure, int)
            results = found.results[: self.is_single]
            means = averaged(found.recording, [*results, *found.gradients])
            found.recording.end()
            self.instructions = found.recording.instructions
            units = fused(self.instructions, [*means, *results] or found.results)
        order = [*range(len(found.places))] if known else order_of_use(units, found.places)
        self.executor, self.shapes, self.names = executor, shapes, found.arguments
        self.have_graphs = found.have_graphs
        self.parameters = [found.parameters[i] for i in order]
        self.has_gradients = self.is_single and bool(self.parameters) and self.have_graphs[0]
        self.weighted: Program | None = None
        self.training: Any = None
        self._places = [found.places[i] for i in order]
        # Arrays that all examples share are further uniform numbers, after the parameters.
        ends = itertools.accumulate(map(len, self.names.values()), initial=0)
        self._inputs = [range(start, end) for start, end in itertools.pairwise(ends)]
        given = [shape for shape in shapes if not isinstance(shape, Static)]
        self.shared = {i for i, shape in enumerate(given) if isinstance(shape, SharedShape)}
        self._wanted = found.results
        if self.is_single:
            mean, *gradients = means
            self._wanted_with_gradients = [mean, *(gradients[i] for i in order), *results]
        self._row = shared_row(self.parameters)
        self._executors: dict[bool, Any] = {}  # keys: with_gradients
        self._places_of: tuple[Any, ...] | None = None  # those last asked for
        wanted = self._wanted_with_gradients if self.is_single else self._wanted
        self.schedule = self._scheduled(units, wanted)

    @property
    def row(self) -> Row:
        """The row in which the parameters are currently stored."""
        if not self._row.is_current:
            self._row = shared_row(self.parameters)
        return self._row

    def places_of(self, parameters: Any) -> Any:
        """How many these are; of those that the program uses, the places among its own and these.

        The order of arrays and models is that of their `parameters()`.
        """
        if parameters is None:
            return len(self.parameters), slice(None), slice(None)
        # A list or an array may get other Values; of an array, the bytes are addresses.
        some = parameters if isinstance(parameters, (list, tuple)) else [parameters]
        now = [x.tobytes() if isinstance(x, np.ndarray) else x for x in some]
        if self._places_of is None or self._places_of[0] != now:
            listed = getattr(parameters, "parameters", lambda: flat(parameters))()
            place_of = {p: i for i, p in enumerate(self.parameters)}
            pairs = sorted((place_of[p], k) for k, p in enumerate(listed) if p in place_of)
            here, there = np.array(pairs, np.int32).reshape(-1, 2).T
            places = len(listed), as_index(here), as_index(there)
            self._places_of = now, places, listed  # so that no other Value gets an address
        return self._places_of[1]

    def _of_inputs(self, are_shared: bool) -> list[range]:
        return [x for i, x in enumerate(self._inputs) if (i in self.shared) == are_shared]

    def _apart(self, parameters: Array, arguments: Sequence[Array]) -> tuple[Array, Any]:
        # The uniform numbers, and the arguments with a row for each example.
        if not self.shared:
            return parameters, arguments
        some = [np.asarray(arguments[i]).ravel() for i in sorted(self.shared)]
        others = [a for i, a in enumerate(arguments) if i not in self.shared]
        return np.concatenate([parameters, *some]), others

    def results(self, parameters: Array, arguments: Sequence[Array], n: int) -> Array:
        """The results for all examples, with a row for each result."""
        forward = self.executor_for(with_gradients=False)
        uniform, rows = forward(*self._apart(parameters, arguments), n)
        are_lanes = forward.schedule.results[:, 0]
        if are_lanes.all():
            return np.asarray(rows)
        found = np.empty((self.n_results, n))
        found[are_lanes == 1] = np.reshape(rows, (-1, n))
        found[are_lanes == 0] = uniform[:, None]
        return found

    def with_gradients(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[float, Array, Array]:
        """The mean, its gradients, and the result for each example."""
        executor = self._executors.get(True) or self.executor_for(with_gradients=True)
        found, rows = executor(*self._apart(parameters, arguments), n)
        mean = found.item(0)  # a result that is uniform is its own mean
        gradients = found[1 : 1 + len(self.parameters)]
        return mean, gradients, rows[0] if len(rows) else np.full(n, mean)

    def batch(
        self,
        arguments: Sequence[Array],
        n: int,
        weighted_of: Callable[[Program], Program] = lambda program: program,
    ) -> Batch:
        """The results for n examples, which compute gradients of their means when asked.

        `weighted_of` finds the program for upstream gradients.
        """
        has_gradients = self.has_gradients and not (open_blocks and is_paused())
        # The copy is for a later backward(); the executor knows the address of the array itself.
        data, kept = self.row.data, arguments
        parameters = data.copy()
        if has_gradients:
            mean, gradients, lanes = self.with_gradients(data, arguments, n)
            rows, means = lanes[None], [mean]
        else:
            kept = [a.copy() for a in arguments]  # for a later backward()
            rows = self.results(parameters, arguments, n)
            with np.errstate(all="ignore"):
                means = rows.mean(axis=1).tolist()
        is_lost = is_paused()

        def gradients_of(result: int, upstream: Array | None) -> tuple[Row, Array]:
            if is_lost or not self.have_graphs[result]:
                why = "its result is a number such as .data, or was computed inside no_grad()"
                raise RuntimeError(f"this batch has no gradients, since {why}: return a Value")
            if has_gradients and upstream is None:
                return self.row, gradients
            if has_gradients:  # the arrays were not copied: the same results come from them now
                again = self.with_gradients(parameters, arguments, n)[2]
                if not np.allclose(again, lanes, rtol=1e-12, atol=0, equal_nan=True):
                    what = "an array has changed since this batch was computed"
                    raise RuntimeError(f"{what}: call the function again")
            weighted, weights = weighted_of(self), np.zeros((n, self.n_results))
            weights[:, result] = 1.0 if upstream is None else upstream
            _, found, _ = weighted.with_gradients(parameters, [*kept, weights], n)
            return weighted.row, found

        return Batch(n, self.structure, means, rows, gradients_of)

    def executor_for(self, with_gradients: bool) -> Any:
        """The executor of the results alone, or of one result with its gradients."""
        if known := self._executors.get(with_gradients):
            return known
        with one_at_a_time, collector_at_rest():
            schedule = self.schedule
            if with_gradients != self.is_single:
                schedule = self._scheduled(fused(self.instructions, self._wanted), self._wanted)
            if self.executor in DTYPES:
                from micrograd.compiler.run_jax import JaxExecutor  # imports JAX: takes a second

                if (n := len(schedule.groups)) >= MANY:
                    fix = "the executor 'llvm' compiles such programs in seconds"
                    warnings.warn(
                        f"JAX may take minutes to compile {n} groups: {fix}",
                        RuntimeWarning,
                        stacklevel=6,  # in the line that calls the function
                    )

                found: Any = JaxExecutor(schedule, DTYPES[self.executor])
            else:
                found = (LlvmExecutor if self.executor == "llvm" else NumPyExecutor)(schedule)
            return self._executors.setdefault(with_gradients, found)

    def _scheduled(self, units: Fused, wanted: Sequence[int]) -> Schedule:
        uniform = [*self._places, *itertools.chain(*self._of_inputs(True))]
        return scheduled(units, self.instructions, self._of_inputs(False), uniform, wanted)

    def say_which_index(self, arguments: Sequence[Array], n: int) -> None:
        """Raises an IndexError that names the index that another executor found invalid."""
        NumPyExecutor(self.schedule)(*self._apart(self.row.data, arguments), n)

    def source(self, name: str = "f") -> str:
        """The program as NumPy text at the level of matrices: a function called `name`."""
        n = len(self.parameters)
        names = [name for i, name in enumerate(self.names) if i not in self.shared]
        return matrix_source(self.schedule, names, n, name, is_mean=self.is_single)

    def scalar_source(self) -> str:
        """The program as Python text, number by number."""
        first, gradients = self._wanted, None
        if self.is_single:
            [*first], gradients = self._wanted_with_gradients[:1], self._wanted_with_gradients[1:-1]
        labels = {i: p.label for i, p in zip(self._places, self.parameters, strict=True)}
        inputs = list(itertools.chain(*self.names.values()))
        return scalar_source(self.instructions, inputs, labels, first, gradients)


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """A block in which Python's garbage collector does not visit the growing program."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
