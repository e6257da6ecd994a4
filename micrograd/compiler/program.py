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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from micrograd.compiler.fuse import Fused, fused
from micrograd.compiler.parameters import Row, shared_row
from micrograd.compiler.record import Recorded, Shape, recorded
from micrograd.compiler.run_llvm import LlvmExecutor
from micrograd.compiler.run_numpy import NumPyExecutor
from micrograd.compiler.schedule import Schedule, order_of_use, scheduled
from micrograd.compiler.simplify import Instructions, averaged
from micrograd.compiler.text import matrix_source, scalar_source
from micrograd.engine import Value
from micrograd.optim import one_at_a_time

Array = npt.NDArray[Any]
Shapes = tuple[Shape, ...]

DTYPES = {"jax": "float64", "jax-float32": "float32"}  # of the executors that run on JAX


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    # A program under construction is a growing graph without cycles, which Python's garbage
    # collector would visit again and again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Code(NamedTuple):
    # The instructions, the places (indices) of the parameters, and two lists of wanted places:
    # without gradients, all results; with gradients, the mean of one result, the gradients of this
    # mean, and the result itself.
    steps: Instructions
    parameters: list[int]
    wanted: tuple[list[int], list[int]]


class Program:
    """A function compiled for examples of one shape; its arguments are arrays of examples.

    Args:
        function: takes numbers, or lists of numbers, and returns a Value or a list of Values.
        shapes: the shape of each argument, for one example.
        executor: 'llvm', 'numpy', or a key of DTYPES.
        output: the index of the result to differentiate.
        known: the parameters of an earlier program of this function; they keep their order.

    Attributes:
        shapes: the shape of each argument, for one example.
        widths: maps the name of each argument to its number of values.
        parameters: the parameters of the function, which `recorded` finds.
        ids: their ids.
        n_results: how many Values the function returns.
        is_list: whether it returns them in a list.
        has_gradients: whether its first result can be differentiated with respect to parameters.
        have_graphs: for each result, whether it was computed outside no_grad().
        indices: for inputs used as indices, the argument, its columns, and the length of the table.
        by_result: the programs of the gradients of its other results, by their indices.

    >>> from micrograd import Value
    >>> w = Value(2.0, label="w")
    >>> program = Program(lambda x: w * x, [()], "numpy")
    >>> examples = [np.array([1.0, 3.0])]  # one argument, in two lanes
    >>> program.results(program.row.data, examples, 2)
    array([[2., 6.]])
    >>> mean, gradients, _ = program.with_gradients(program.row.data, examples, 2)
    >>> mean, gradients
    (4.0, array([2.]))
    >>> print(program.scalar_source("y", with_gradients=False), end="")
    def program(parameters, inputs):
        [w] = parameters
        [x] = inputs
        y = w * x
        return [y]
    """

    @_collector_at_rest()
    def __init__(
        self,
        function: Callable[..., Any],
        shapes: Sequence[Shape],
        executor: str,
        output: int = 0,
        known: Sequence[Value] = (),
    ) -> None:
        found = recorded(function, shapes, output, known)
        self.executor, self.shapes = executor, tuple(shapes)
        self._names = found.arguments
        self.widths = {name: len(names) for name, names in found.arguments.items()}
        self.is_list, self.n_results = found.is_list, len(found.results)
        self.have_graphs = found.have_graphs
        code, self.parameters, units = _compiled(found, output, keep_order=bool(known))
        self._code = code
        self._units = {not self.is_list: units}  # key: with_gradients; the first schedule clears it
        self.indices = _indices(code.steps, self._places_of_inputs())
        self.has_gradients = bool(self.parameters) and self.have_graphs[0]
        self.ids = frozenset(map(id, self.parameters))
        self.by_result: dict[int, Program] = {}
        self._row = shared_row(self.parameters)
        self._executors: dict[bool, Any] = {}
        self._whole_schedule: Schedule | None = None

    @property
    def instructions(self) -> Instructions:
        """The recording, simplified and with means over lanes."""
        return self._code.steps

    @property
    def row(self) -> Row:
        """The row in which the parameters are currently stored."""
        if not self._row.is_current:
            self._row = shared_row(self.parameters)
        return self._row

    def results(self, parameters: Array, arguments: Sequence[Array], n: int) -> Array:
        """The results for all examples, with a row for each result."""
        forward = self.executor_for(with_gradients=False)
        uniform, rows = forward(parameters, arguments, n)
        if len(rows) == self.n_results:
            return np.asarray(rows)
        found = np.empty((self.n_results, n))
        waiting = iter(rows), iter(uniform)
        for result, (in_lanes, _) in zip(found, forward.schedule.results, strict=True):
            result[:] = next(waiting[0 if in_lanes else 1])
        return found

    def with_gradients(
        self, parameters: Array, arguments: Sequence[Array], n: int
    ) -> tuple[float, Array, Array | None]:
        """The mean, its gradients, and the result for each example if it is computed, else None."""
        executor = self._executors.get(True) or self.executor_for(with_gradients=True)
        found, rows = executor(parameters, arguments, n)
        gradients = found[1 : 1 + len(self.parameters)]
        return found.item(0), gradients, rows[0] if len(rows) else None

    def executor_for(self, with_gradients: bool) -> Any:
        """The executor of the results alone, or of one result with its gradients."""
        found = self._executors.get(with_gradients)
        if found is None:
            with one_at_a_time:
                found = self._executors.get(with_gradients) or self._built(with_gradients)
                self._executors[with_gradients] = found
        return found

    def source(self, name: str = "f") -> str:
        """The program as NumPy text at the level of matrices: a function called `name`."""
        whole = not self.is_list
        schedule = self.schedule if whole else self.executor_for(with_gradients=False).schedule
        return matrix_source(schedule, self.widths, len(self.parameters), name, whole)

    def scalar_source(self, name: str = "result", with_gradients: bool = True) -> str:
        """The program as Python text, number by number; its result is called `name`."""
        steps, places, wanted = self._code
        results = wanted[with_gradients]
        first, gradients = (results[:1], results[1:-1]) if with_gradients else (results, None)
        labels = {i: p.label for i, p in zip(places, self.parameters, strict=True)}
        inputs = list(itertools.chain(*self._names.values()))
        return scalar_source(steps, inputs, labels, first, gradients, name)

    @property
    def schedule(self) -> Schedule:
        """The groups of the forward and backward pass."""
        with one_at_a_time:
            if self._whole_schedule is None:
                self._whole_schedule = self._schedule(with_gradients=True)
            return self._whole_schedule

    def _schedule(self, with_gradients: bool) -> Schedule:
        steps, places, wanted = self._code
        results = wanted[with_gradients]
        units = self._units.get(with_gradients) or fused(steps, results)
        self._units.clear()
        return scheduled(units, steps, self._places_of_inputs(), places, results)

    def _places_of_inputs(self) -> list[range]:
        ends = itertools.accumulate(self.widths.values(), initial=0)
        return [range(start, end) for start, end in itertools.pairwise(ends)]

    @_collector_at_rest()
    def _built(self, with_gradients: bool) -> Any:
        schedule = self.schedule if with_gradients else self._schedule(with_gradients=False)
        if self.executor in DTYPES:
            from micrograd.compiler.run_jax import JaxExecutor  # imports JAX: takes a second

            return JaxExecutor(schedule, len(self.shapes), DTYPES[self.executor])
        kind = LlvmExecutor if self.executor == "llvm" else NumPyExecutor
        return kind(schedule, self.shapes)


def _compiled(found: Recorded, output: int, keep_order: bool) -> tuple[_Code, list[Value], Fused]:
    # Returns the instructions with means over lanes, the parameters in the order in which the units
    # use them, and the units.
    result, places = found.results[output], found.places
    mean, *means = averaged(found.recording, [result, *found.gradients])
    steps = found.recording.instructions
    units = fused(steps, found.results if found.is_list else [mean, *means, result])
    order = list(range(len(places))) if keep_order else order_of_use(units, places)
    wanted = found.results, [mean, *(means[i] for i in order), result]
    code = _Code(steps, [places[i] for i in order], wanted)
    return code, [found.parameters[i] for i in order], units


def _indices(steps: Instructions, inputs: Sequence[range]) -> list[tuple[int, Any, int]]:
    # For inputs that are used as indices, the argument, its columns, and the length of the table.
    lengths = {index: min(found) for index, found in steps.tables.items()}
    found = []
    for argument, places in enumerate(inputs):
        length_of = {i: lengths[place] for i, place in enumerate(places) if place in lengths}
        for length in sorted(set(length_of.values())):
            columns: Any = [i for i in length_of if length_of[i] == length]
            if columns == list(range(columns[0], columns[-1] + 1)):  # a slice is read as a view
                columns = slice(columns[0], columns[-1] + 1)
            found.append((argument, columns, length))
    return found
