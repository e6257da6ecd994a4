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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from micrograd.compiler.batch import Batch
from micrograd.compiler.fuse import Fused, fused
from micrograd.compiler.parameters import Row, one_at_a_time, shared_row
from micrograd.compiler.record import Shape, recorded
from micrograd.compiler.run_llvm import LlvmExecutor
from micrograd.compiler.run_numpy import NumPyExecutor
from micrograd.compiler.schedule import Array, Schedule, order_of_use, scheduled
from micrograd.compiler.simplify import averaged
from micrograd.compiler.text import matrix_source, scalar_source
from micrograd.core.pause import is_paused, open_blocks
from micrograd.engine import Value

Shapes = tuple[Shape, ...]

DTYPES = {"jax": "float64", "jax-float32": "float32"}  # of the executors that run on JAX


class Program:
    """A function compiled for examples of one shape; its arguments are arrays of examples.

    `output` is the index of the result to differentiate; `known` are the parameters of an earlier
    program of this function, which keep their order.

    Attributes:
        names: maps the name of each argument to the names of its numbers.
        instructions: the recording, simplified and with means over lanes.
        parameters: the parameters of the function, in the order in which the units use them.
        n_results, is_list: how many Values the function returns, and whether in a list.
        has_gradients: whether its first result can be differentiated with respect to parameters.
        have_graphs: for each result, whether it is a Value that was computed outside no_grad().
        by_result: the programs of the gradients of its other results, by their indices.
        training: the latest training steps, see `update.py`; None without any.

    >>> from micrograd import Value
    >>> w = Value(2.0, label="w")
    >>> program = Program(lambda x: w * x, [()], "numpy")
    >>> program.batch([np.array([1.0, 3.0])], 2)  # one argument, 2 lanes
    Batch(data=4.0, n=2)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shapes: Shapes,
        executor: str,
        output: int = 0,
        known: Sequence[Value] = (),
    ) -> None:
        with collector_at_rest():
            found = recorded(function, shapes, output, known)
            result = found.results[output]
            mean, *means = averaged(found.recording, [result, *found.gradients])
            found.recording.end()
            self.instructions = found.recording.instructions
            self.is_list, self.n_results = found.is_list, len(found.results)
            wanted = found.results if self.is_list else [mean, *means, result]
            units = fused(self.instructions, wanted)
        order = [*range(len(found.places))] if known else order_of_use(units, found.places)
        self.executor, self.shapes, self.names = executor, shapes, found.arguments
        self.have_graphs = found.have_graphs
        self.parameters = [found.parameters[i] for i in order]
        self.has_gradients = bool(self.parameters) and self.have_graphs[0]
        self.by_result: dict[int, Program] = {}
        self.training: Any = None
        self._places = [found.places[i] for i in order]
        self._wanted = found.results, [mean, *(means[i] for i in order), result]
        self._row = shared_row(self.parameters)
        self._executors: dict[bool, Any] = {}  # keys: with_gradients
        self._schedules: dict[bool, Schedule] = {}
        self.schedule_for(not self.is_list, units)

    @property
    def row(self) -> Row:
        """The row in which the parameters are currently stored."""
        if not self._row.is_current:
            self._row = shared_row(self.parameters)
        return self._row

    def results(self, parameters: Array, arguments: Sequence[Array], n: int) -> Array:
        """The results for all examples, with a row for each result."""
        forward = self.executor_for(with_gradients=False)
        uniform, rows = map(iter, forward(parameters, arguments, n))
        found = np.empty((self.n_results, n))
        for result, (in_lanes, _) in zip(found, forward.schedule.results, strict=True):
            result[:] = next(rows if in_lanes else uniform)
        return found

    def with_gradients(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[float, Array, Array]:
        """The mean, its gradients, and the result for each example."""
        executor = self._executors.get(True) or self.executor_for(with_gradients=True)
        found, rows = executor(parameters, arguments, n)
        mean = found.item(0)  # a result that is uniform is its own mean
        gradients = found[1 : 1 + len(self.parameters)]
        return mean, gradients, rows[0] if len(rows) else np.full(n, mean)

    def batch(
        self,
        arguments: Sequence[Array],
        n: int,
        of_result: Callable[[Program, int], Program] = lambda program, output: program,
    ) -> Batch:
        """The results for n examples, which compute gradients of their means when asked.

        `of_result` finds the program that differentiates another result.
        """
        if not (self.is_list or not self.has_gradients or (open_blocks and is_paused())):
            mean, gradients, lanes = self.with_gradients(self.row.data, arguments, n)
            return Batch(n, mean, lanes, lambda _: (self.row, gradients))
        parameters = self.row.data.copy()
        lanes = self.results(parameters, arguments, n)
        with np.errstate(all="ignore"):
            means = [float(row.mean()) for row in lanes]
        kept = None if is_paused() else [a.copy() for a in arguments]  # for a later backward()

        def gradients_of(output: int) -> tuple[Row, Array]:
            if kept is None or not self.have_graphs[output]:
                raise RuntimeError(
                    "this batch has no gradients, since its result is a number such as .data, or "
                    "was computed inside no_grad(): return a Value, computed outside"
                )
            backward = of_result(self, output)
            _, gradients, _ = backward.with_gradients(parameters, kept, n)
            return backward.row, gradients

        data, found = (means, lanes.T) if self.is_list else (means[0], lanes[0])
        return Batch(n, data, found, gradients_of)

    def executor_for(self, with_gradients: bool) -> Any:
        """The executor of the results alone, or of one result with its gradients."""
        if known := self._executors.get(with_gradients):
            return known
        with one_at_a_time, collector_at_rest():
            schedule = self.schedule_for(with_gradients)
            if self.executor in DTYPES:
                from micrograd.compiler.run_jax import JaxExecutor  # imports JAX: takes a second

                found: Any = JaxExecutor(schedule, DTYPES[self.executor])
            else:
                found = (LlvmExecutor if self.executor == "llvm" else NumPyExecutor)(schedule)
            return self._executors.setdefault(with_gradients, found)

    @property
    def schedule(self) -> Schedule:
        """The groups of the forward and backward pass."""
        return self.schedule_for(with_gradients=True)

    def schedule_for(self, with_gradients: bool, units: Fused | None = None) -> Schedule:
        """The groups of the results alone, or of one result with its gradients."""
        with one_at_a_time:
            if with_gradients not in self._schedules:
                wanted, steps = self._wanted[with_gradients], self.instructions
                ends = itertools.accumulate(map(len, self.names.values()), initial=0)
                inputs = [range(start, end) for start, end in itertools.pairwise(ends)]
                found = scheduled(
                    units or fused(steps, wanted), steps, inputs, self._places, wanted
                )
                self._schedules[with_gradients] = found
            return self._schedules[with_gradients]

    def say_which_index(self, arguments: Sequence[Array], n: int) -> None:
        """Raises an IndexError that names the index that another executor found invalid."""
        NumPyExecutor(self.schedule_for(not self.is_list))(self.row.data, arguments, n)

    def source(self, name: str = "f") -> str:
        """The program as NumPy text at the level of matrices: a function called `name`."""
        schedule, n = self.schedule_for(not self.is_list), len(self.parameters)
        return matrix_source(schedule, [*self.names], n, name, is_mean=not self.is_list)

    def scalar_source(self) -> str:
        """The program as Python text, number by number."""
        results = self._wanted[not self.is_list]
        first, gradients = (results, None) if self.is_list else (results[:1], results[1:-1])
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
