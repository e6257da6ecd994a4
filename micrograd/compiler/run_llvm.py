"""Running a schedule as the machine code that LLVM makes of its text.

A `Job` is what the machine code gets: a list of integers, among them the addresses of arrays that
outlive the call.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from micrograd.compiler import llvm_code
from micrograd.compiler.llvm_code import AT, DONE, STATUS, STEPS, Layout, N, Plan
from micrograd.compiler.llvm_text import machine, machine_code
from micrograd.compiler.parameters import one_at_a_time
from micrograd.compiler.schedule import Array, Schedule, Slots

LINE = 8  # numbers in a cache line
NO_ORDER = np.zeros(1, np.int64)
FLOAT, INTEGER = np.dtype(np.float64), np.dtype(np.int64)
Binary = tuple[Callable[[Any], None], Slots, Layout]  # machine code, and the tables that it reads


def why_not() -> str:
    """Why programs cannot run as machine code here; empty if they can."""
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed: pip install llvmlite"
    try:
        machine()
    except Exception as error:  # this llvmlite does not support this processor or this Python
        return f"llvmlite does not work here: {error}"
    return ""


class Job:
    """Machine code, the integers `numbers` that it gets, and the memory that it works on.

    The memory has `blocks` of `width` lanes; `uniform` and `rows` are for results of an executor.
    """

    uniform, rows = np.empty(0), np.empty((0, 0))

    def __init__(self, runner: _Runner, binary: Binary, blocks: int) -> None:
        schedule, plan, (self._code, tables, layout) = runner.schedule, runner.plan, binary
        self.blocks, self.width = blocks, layout.width
        memory = np.zeros(layout.lanes + blocks * layout.block + LINE)
        start = -_address(memory) // 8 % LINE
        memory = memory[start : len(memory) - LINE + start]
        for slot, number in schedule.constants:
            memory[slot] = number
        memory[layout.lanes :].reshape(blocks, -1, layout.width)[:, schedule.ones] = 1.0
        self.numbers = (ctypes.c_int64 * plan.size)()
        self.numbers[llvm_code.BLOCKS] = blocks
        self._address = ctypes.c_int64(ctypes.addressof(self.numbers))
        self._arguments = [*zip(plan.arguments, map(len, schedule.inputs), strict=True)]
        self._known: dict[int, Any] = {}
        self._given: list[Any] = [(lambda: None, None)] * len(plan.arguments)
        places = {AT["memory"]: memory, AT["tables"]: tables, AT["order"]: NO_ORDER}
        for at, array in (places | runner.outside).items():
            self.point(at, array)

    def point(self, at: int, array: Array) -> None:
        """Sets the address of an array, which the job keeps."""
        if self._known.get(at) is not array:
            self.numbers[at] = _address(array)
            self._known[at] = array

    def run(self, n: int, arguments: Sequence[Array], steps: int = 1) -> bool:
        """Runs the code; returns whether the square of the gradients stays finite."""
        numbers = self.numbers
        numbers[STATUS] = numbers[DONE] = 0
        numbers[STEPS], numbers[N] = steps, n
        copies = []  # are kept until the code has run
        for i, array in enumerate(arguments):
            reference, dtype = self._given[i]
            if reference() is not array or dtype is not array.dtype:
                copies.append(self._give(i, array))
        self._code(self._address)
        if (status := numbers[STATUS]) == 0:
            return True
        if status == llvm_code.WRONG_INDEX:
            raise IndexError("take got an index that is out of range or not a whole number")
        return False

    def _give(self, i: int, array: Array) -> Array:
        (at, width), source = self._arguments[i], array
        is_plain = array.flags.c_contiguous and array.flags.aligned
        if not (is_plain and array.dtype in (FLOAT, INTEGER)):
            source = np.array(array, float, order="C")
        distance = width if array.ndim else 0
        self.numbers[at : at + 3] = [_address(source), distance, source.dtype == INTEGER]
        # A copy is used once: the array may change. The array itself is only weakly referenced;
        # meanwhile its numbers stay where they are, because NumPy does not resize such an array.
        known = weakref.ref(array) if source is array else lambda: None
        self._given[i] = known, array.dtype
        return source


class _Runner:
    # A schedule, compiled when it is first needed for one example, or for several: the code for
    # several does not depend on how many.

    largest = 2**62

    def __init__(self, schedule: Schedule, plan: Plan, outside: dict[int, Array]) -> None:
        self.schedule, self.plan, self.outside = schedule, plan, outside
        self._binaries: dict[bool, Binary] = {}
        self._jobs: dict[bool, Job] = {}

    def job_for(self, n: int) -> Job:
        """The job for n examples."""
        is_single = n == 1
        binary = self._binaries.get(is_single)
        if binary is None:
            text, *where = llvm_code.text_of(self.schedule, self.plan, is_single)
            binary = self._binaries[is_single] = (machine_code(text), *where)
        layout, job = binary[-1], self._jobs.get(is_single)
        blocks = min(layout.tile, -(-n // layout.width))
        if not job or job.blocks < blocks:
            job = self._jobs[is_single] = Job(self, binary, blocks)
        return job


class LlvmExecutor(_Runner):
    """An executor that runs a schedule on batches of any size; see `NumPyExecutor`."""

    def __init__(self, schedule: Schedule) -> None:
        (n_parameters, _), *_ = schedule.constants  # their slots come next
        is_lane, slots = schedule.results.T
        self._n_rows, uniform = int(is_lane.sum()), slots[is_lane == 0]
        self._n_uniform = len(uniform)
        super().__init__(schedule, Plan(schedule, [np.arange(n_parameters)], [uniform]), {})

    def __call__(self, parameters: Array, arguments: Sequence[Array], n: int) -> tuple[Array, Any]:
        """The results that are uniform or means, and a row of lanes for each remaining result."""
        with one_at_a_time:
            job, plan = self.job_for(n), self.plan
            if not job.uniform.size:
                job.uniform = np.empty(self._n_uniform)
                job.point(plan.returned[0], job.uniform)
            padded = -(-n // job.width) * job.width
            if job.numbers[llvm_code.PADDED] != padded:
                job.rows, job.numbers[llvm_code.PADDED] = np.empty((self._n_rows, padded)), padded
                job.point(AT["rows"], job.rows)
            job.point(plan.given[0], parameters)
            job.run(n, arguments)
            return job.uniform.copy(), job.rows[:, :n].copy()


class LlvmLoop(_Runner):
    """Training steps, all of them inside the machine code; `NumPyLoop` describes the arguments."""

    def __init__(self, update: Any, memory: Any) -> None:
        numbers, kept, gradient, losses, self.done = memory
        plan = Plan(update.schedule, update.kept, [*update.kept, update.gradient], update)
        outside = {AT["numbers"]: numbers, AT["losses"]: losses}
        places = plan.given + plan.returned
        outside.update(zip(places, [*kept, *kept, gradient], strict=True))
        super().__init__(update.schedule, plan, outside)

    def __call__(self, arrays: Sequence[Array], n: int, count: int, order: Array | None) -> bool:
        """Does steps; returns whether the square of the gradients stays finite."""
        job = self.job_for(n)
        job.numbers[llvm_code.HAS_ORDER] = order is not None
        if order is not None:
            job.point(AT["order"], np.ascontiguousarray(order, np.int64))
        job.numbers[DONE] = 0  # also if Ctrl-C comes before the first step
        try:
            is_finite = job.run(n, arrays, count)
        finally:
            self.done[0] = job.numbers[DONE]
        return is_finite


def _address(array: Any) -> int:
    # The address of the first number of an array, which must not be freed while it is in use.
    found: int = array.__array_interface__["data"][0]
    return found
