"""The passes in their order: from a function to what runs.

A program is made for examples of one shape. It keeps what an executor needs, and its instructions
in packed form, since those of a large function are a hundred times as large as all else.

    >>> from micrograd import Value
    >>> w = Value(2.0, label="w")
    >>> program = Program(lambda x: (w * x).tanh(), [()], "numpy")
    >>> program.instructions  # x, w, the function, its gradient, the means of both
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

import itertools
import pickle
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.compiler.dots import Fused, fused
from micrograd.compiler.lanes import averaged
from micrograd.compiler.parameters import Row, one_at_a_time, together
from micrograd.compiler.record import Shape, recorded
from micrograd.compiler.run import Executor, TextExecutor, TiledExecutor
from micrograd.compiler.run_numba import numba_binder
from micrograd.compiler.run_numpy import NumPyRun
from micrograd.compiler.run_python import source
from micrograd.compiler.schedule import Schedule, order_of_use, scheduled
from micrograd.compiler.simplify import Instructions
from micrograd.engine import Value

Array = npt.NDArray[Any]
Shapes = tuple[Shape, ...]
_Recorded = tuple[Instructions, list[int], tuple[list[int], list[int]]]


class Program:
    """A function compiled for examples of one shape; its arguments come as arrays of examples.

    Args:
        function: takes numbers or lists of numbers, returns a Value or a list of Values.
        shapes: of its arguments, for one example.
        executor: 'numba', 'numpy' or 'python'.
        output: the number of the result whose gradients are wanted.
        known: parameters that it had for other shapes, or results; their order is kept.

    Attributes:
        shapes: those of its arguments.
        widths: the name of each argument, and how many numbers it is.
        parameters: the Values that were there before.
        n_results: how many Values the function returns.
        is_list: whether it returns them in a list.
        has_gradients: whether the first Value that it returns depends on parameters.
        have_graphs: of each Value that it returns, whether there is something to differentiate.
        indices: inputs that are indices: which argument, which of its numbers, length of the table.

    >>> from micrograd import Value
    >>> w = Value(2.0, label="w")
    >>> program = Program(lambda x: w * x, [()], "numpy")
    >>> examples = [np.array([1.0, 3.0])]  # one argument, in two lanes
    >>> program.results(program.row.data, examples, 2)
    array([[2., 6.]])
    >>> mean, gradients, _ = program.with_gradients(program.row.data, examples, 2)
    >>> mean, gradients
    (4.0, array([2.]))
    >>> print(program.source("y", with_gradients=False), end="")
    def program(parameters, rows):
        (w,) = parameters
    <BLANKLINE>
        # in every example
        results = []
        for (x,) in rows:
            y = w * x
            results.append(y)
        return results
    """

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
        steps, result, places = found.recording.instructions, found.results[output], found.places
        mean, *means = averaged(found.recording, [result, *found.gradients], set(places))
        self.indices = _indices(steps, list(self.widths.values()))
        wanted = found.results if self.is_list else [mean, *means, result]
        self._units: Fused | None = fused(steps, wanted, set(places))
        order = list(range(len(places))) if known else order_of_use(self._units, places)
        self.parameters = [found.parameters[i] for i in order]
        self.has_gradients = bool(self.parameters) and self.have_graphs[0]
        self._row = together(self.parameters)
        # The instructions, the places of parameters, and those of what is wanted, without gradients
        # and with them.
        self._recorded: _Recorded | None = (
            steps,
            [places[i] for i in order],
            (found.results, [mean, *(means[i] for i in order), result]),
        )
        self._packed = b""
        self._executors: dict[bool, Any] = {}
        self._whole_schedule: Schedule | None = None

    @property
    def instructions(self) -> Instructions:
        """The recording after passes 1 and 2: simplified, with means over lanes."""
        return self._unpacked[0]

    @property
    def _unpacked(self) -> _Recorded:
        return _unpacked(self._packed) if self._recorded is None else self._recorded

    @property
    def row(self) -> Row:
        """The parameters, wherever they live now."""
        if not self._row.is_current:
            self._row = together(self.parameters)
        return self._row

    def results(self, parameters: Array, arguments: Sequence[Array], n: int) -> Array:
        """All results of all examples: a row for each result."""
        forward = self._executor(with_gradients=False)
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
        """The mean of a result, its gradients, and the result of each example if it is there."""
        executor = self._executors.get(True) or self._executor(with_gradients=True)
        found, rows = executor(parameters, arguments, n)
        gradients = found[1 : 1 + len(self.parameters)]
        return float(found[0]), gradients, rows[0] if len(rows) else None

    def _executor(self, with_gradients: bool) -> Any:
        found = self._executors.get(with_gradients)
        if found is None:
            with one_at_a_time:
                found = self._executors.get(with_gradients) or self._built(with_gradients)
                self._executors[with_gradients] = found
        return found

    def source(self, name: str = "result", with_gradients: bool = True) -> str:
        """The program as Python text; `name` is what the result is called."""
        steps, places, wanted = self._unpacked
        results = wanted[with_gradients]
        first, gradients = (results[:1], results[1:-1]) if with_gradients else (results, None)
        units = fused(steps, [*first, *(gradients or ())], set(places))
        labels = {i: p.label for i, p in zip(places, self.parameters, strict=True)}
        inputs = list(itertools.chain(*self._names.values()))
        return source(units, steps, inputs, labels, first, gradients, name)

    @property
    def schedule(self) -> Schedule:
        """The groups of forward and backward pass."""
        with one_at_a_time:
            if self._whole_schedule is None:
                self._whole_schedule = self._schedule(with_gradients=True)
            return self._whole_schedule

    def _schedule(self, with_gradients: bool) -> Schedule:
        steps, places, wanted = self._unpacked
        units, self._units = self._units, None  # those made for the order of the parameters
        if units is None or with_gradients == self.is_list:
            units = fused(steps, wanted[with_gradients], set(places))
        ends = itertools.accumulate(self.widths.values())
        inputs = [range(e - n, e) for e, n in zip(ends, self.widths.values(), strict=True)]
        return scheduled(units, steps, inputs, places, wanted[with_gradients])

    def _built(self, with_gradients: bool) -> Executor:
        if self.executor == "python":
            executor: Executor = TextExecutor(self.source(with_gradients=with_gradients))
        else:
            schedule = self.schedule if with_gradients else self._schedule(with_gradients=False)
            bind: Any = partial(NumPyRun, schedule)
            if self.executor == "numba":
                bind = numba_binder(schedule)
            executor = TiledExecutor(schedule, bind, self.shapes)
        if self._recorded is not None:
            self._packed, self._recorded = _packed(self._recorded), None
        return executor


def _packed(recorded: _Recorded) -> bytes:
    # What an instruction refers to is told by how far back it stands: that repeats, and packs well.
    steps, *places = recorded
    lengths = np.fromiter(map(len, steps.operands), np.int32, len(steps))
    operands = np.fromiter(itertools.chain.from_iterable(steps.operands), np.int32)
    distances = np.repeat(np.arange(len(steps), dtype=np.int32), lengths) - operands
    columns = steps.ops, steps.numbers, lengths.tobytes(), distances.tobytes()
    return zlib.compress(pickle.dumps((columns, places)), 1)


def _unpacked(packed: bytes) -> _Recorded:
    steps = Instructions()
    (steps.ops, steps.numbers, *arrays), (places, wanted) = pickle.loads(zlib.decompress(packed))
    lengths, distances = (np.frombuffer(array, np.int32) for array in arrays)
    operands = iter((np.repeat(np.arange(len(lengths)), lengths) - distances).tolist())
    steps.operands = [tuple(itertools.islice(operands, length)) for length in lengths.tolist()]
    return steps, places, wanted


def _indices(steps: Instructions, widths: Sequence[int]) -> list[tuple[int, Any, int]]:
    # Inputs that are used as indices: argument, columns of it, and the length of the table.
    lengths: dict[int, int] = {}
    for op, operands in zip(steps.ops, steps.operands, strict=True):
        if op == "take":
            index, *table = operands
            lengths[index] = min(len(table), lengths.get(index, len(table)))
    found = []
    start = 0
    for argument, width in enumerate(widths):
        rows = {i: lengths[start + i] for i in range(width) if start + i in lengths}
        for length in sorted(set(rows.values())):
            columns: Any = [i for i in rows if rows[i] == length]
            if columns == list(range(columns[0], columns[-1] + 1)):  # as a view, then
                columns = slice(columns[0], columns[-1] + 1)
            found.append((argument, columns, length))
        start += width
    return found
