"""Running a schedule as the machine code that LLVM makes of its text.

A `Job` is what the machine code gets: a list of integers, among them the addresses of arrays. Each
array belongs to the job, or to an object that outlives the call.

    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> w = Value(2.0)
    >>> schedule = Program(lambda x: w * x, [()], "numpy").schedule
    >>> executor = LlvmExecutor(schedule, shapes=[()])
    >>> executor(np.array([2.0]), [np.array([1.0, 3.0, 5.0])], 3)
    (array([6., 3.]), array([[ 2.,  6., 10.]]))
"""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.compiler.llvm_code import (
    AT,
    BLOCKS,
    DONE,
    HAS_ORDER,
    NOT_FINITE,
    PADDED,
    STATUS,
    WRONG_INDEX,
    Plan,
    text_of,
)  # fmt: skip
from micrograd.compiler.llvm_text import Code, machine
from micrograd.compiler.schedule import Schedule

Array = npt.NDArray[Any]

LINE = 64  # bytes in a cache line
FLOAT, INTEGER = np.dtype(np.float64), np.dtype(np.int64)


def why_not() -> str:
    """Why programs cannot run as machine code here; empty if they can."""
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed: pip install llvmlite"
    try:
        machine()
    except Exception as error:  # this llvmlite does not support this processor or this Python
        return f"llvmlite does not work here: {error}"
    return ""


class Binary:
    """The machine code of a schedule, and the jobs that no thread uses at the moment.

    Args:
        schedule: the schedule.
        plan: what a job consists of.
        is_single: whether there is one example; the code for several does not depend on how many.
    """

    def __init__(self, schedule: Schedule, plan: Plan, is_single: bool) -> None:
        self.schedule, self.plan = schedule, plan
        text, self.tables, self.layout = text_of(schedule, plan, is_single)
        self.code = Code(text)
        self._free: list[Job] = []

    def taken(self, n: int) -> Job:
        """A job for n examples; whoever takes it puts it back with `put`."""
        blocks = min(self.layout.tile, -(-n // self.layout.width))
        try:
            job = self._free.pop()
        except IndexError:
            return Job(self, blocks)
        return job if job.blocks >= blocks else Job(self, blocks)

    def put(self, job: Job) -> None:
        """Keeps a job for the next run."""
        self._free.append(job)


class Job:
    """The integers that the machine code gets, and the memory that it works on.

    Attributes:
        numbers: the integers.
        blocks: how many blocks of lanes the memory has.
        uniform, rows: for the results of an executor.
    """

    uniform, rows = np.empty(0), np.empty((0, 0))

    def __init__(self, binary: Binary, blocks: int) -> None:
        layout, schedule, plan = binary.layout, binary.schedule, binary.plan
        self.blocks = blocks
        memory = np.zeros(layout.lanes + blocks * layout.block + LINE // 8)
        start = -_address(memory) % LINE // 8
        memory = memory[start : len(memory) - LINE // 8 + start]
        for slot, number in schedule.constants:
            memory[slot] = number
        memory[layout.lanes :].reshape(blocks, -1, layout.width)[:, schedule.ones] = 1.0
        self.numbers = (ctypes.c_int64 * plan.size)()
        self.numbers[BLOCKS] = blocks
        self._address = ctypes.addressof(self.numbers)
        self._code = binary.code  # not `binary`, which keeps this job
        self._arguments = [*zip(plan.arguments, plan.widths, strict=True)]
        self._known: dict[int, Any] = {}
        self._given: list[Any] = [(lambda: None, None)] * len(plan.widths)
        self.point(AT["memory"], memory)
        self.point(AT["tables"], binary.tables)
        self.point(AT["order"], np.zeros(1, np.int64))

    def point(self, at: int, array: Array) -> None:
        """Sets the address and the length of an array, which the job keeps."""
        if self._known.get(at) is not array:
            self.numbers[at : at + 2] = [_address(array), array.size]
            self._known[at] = array

    def run(self, n: int, arguments: Sequence[Array], steps: int = 1) -> int:
        """Runs the code, and returns its status."""
        numbers = self.numbers
        numbers[STATUS:HAS_ORDER] = [0, 0, steps, n]
        copies = []  # are kept until the code has run
        for i, array in enumerate(arguments):
            reference, layout = self._given[i]
            if reference() is not array or layout != (array.strides, array.dtype):
                copies.append(self._give(i, array))
        self._code.run(self._address)
        return numbers[STATUS]

    def _give(self, i: int, array: Array) -> Array:
        (at, width), source = self._arguments[i], array
        is_plain = array.flags.c_contiguous and array.flags.aligned
        if not (is_plain and array.dtype in (FLOAT, INTEGER)):
            source = np.array(array, float, order="C")
        distance = width if array.ndim else 0
        self.numbers[at : at + 4] = [
            _address(source), source.size, distance, source.dtype == INTEGER,
        ]  # fmt: skip
        # A copy is used once: the array may change. The array itself is only weakly referenced;
        # meanwhile its numbers stay where they are, because NumPy does not resize such an array.
        known = weakref.ref(array) if source is array else lambda: None
        self._given[i] = known, (array.strides, array.dtype)
        return source


class _Runner:
    # A schedule, compiled when it is first needed for one example, or for several.

    largest = 2**62

    def __init__(self, schedule: Schedule, plan: Plan) -> None:
        self.schedule, self.plan = schedule, plan
        self._binaries: dict[bool, Binary] = {}

    def binary(self, n: int) -> Binary:
        found = self._binaries.get(n == 1)
        if found is None:
            found = self._binaries[n == 1] = Binary(self.schedule, self.plan, n == 1)
        return found


class LlvmExecutor(_Runner):
    """An executor that runs a schedule on batches of any size; see `NumPyExecutor`."""

    def __init__(self, schedule: Schedule, shapes: Sequence[tuple[int, ...]]) -> None:
        (n_parameters, _), *_ = schedule.constants  # their slots come next
        is_lane, slots = schedule.results.T
        self._n_rows, uniform = int(is_lane.sum()), slots[is_lane == 0]
        self._n_uniform = len(uniform)
        widths = [math.prod(shape) for shape in shapes]
        super().__init__(schedule, Plan([np.arange(n_parameters)], [uniform], widths))

    def __call__(self, parameters: Array, arguments: Sequence[Array], n: int) -> tuple[Array, Any]:
        """The results that are uniform or means, and a row of lanes for each remaining result."""
        binary, plan = self.binary(n), self.plan
        job = binary.taken(n)
        if not job.uniform.size:
            job.uniform = np.empty(self._n_uniform)
            job.point(plan.returned[0], job.uniform)
        width = binary.layout.width
        padded = -(-n // width) * width
        if job.numbers[PADDED] != padded:
            job.rows, job.numbers[PADDED] = np.empty((self._n_rows, padded)), padded
            job.point(AT["rows"], job.rows)
        job.point(plan.given[0], np.ascontiguousarray(parameters))
        status = job.run(n, arguments)
        if status:
            raise _error(status)
        found = job.uniform.copy(), job.rows[:, :n].copy()
        binary.put(job)
        return found


class LlvmLoop(_Runner):
    """Training steps, all of them inside the machine code; `NumPyLoop` describes the arguments."""

    def __init__(self, update: Any, shapes: Sequence[tuple[int, ...]]) -> None:
        widths = [math.prod(shape) for shape in shapes]
        outputs = [*update.kept, update.gradient]
        super().__init__(update.schedule, Plan(update.kept, outputs, widths, update))

    def __call__(
        self, arrays: Sequence[Array], n: int, count: int, order: Array | None, numbers: Array,
        kept: Sequence[Array], gradient: Array, losses: Array, done: Array,
    ) -> bool:  # fmt: skip
        """Does steps; returns whether the square of the gradients stays finite."""
        binary, plan = self.binary(n), self.plan
        job = binary.taken(n)
        job.numbers[HAS_ORDER] = order is not None
        if order is not None:
            job.point(AT["order"], np.ascontiguousarray(order, np.int64))
        job.point(AT["numbers"], numbers)
        job.point(AT["losses"], losses)
        for at, array in zip(plan.given + plan.returned, [*kept, *kept, gradient], strict=True):
            job.point(at, array)
        try:
            status = job.run(n, arrays, count)
        finally:
            done[0] = job.numbers[DONE]
        binary.put(job)
        if status in (0, NOT_FINITE):
            return not status
        raise _error(status)


def _address(array: Any) -> int:
    # The address of the first number of an array, which must not be freed while it is in use.
    found: int = array.__array_interface__["data"][0]
    return found


def _error(status: int) -> Exception:
    if status == WRONG_INDEX:
        return IndexError("take got an index that is out of range or not a whole number")
    return RuntimeError("the compiled program used a place outside of its memory")
