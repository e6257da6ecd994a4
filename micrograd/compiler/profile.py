"""Where the time of a step goes: the groups of a program by their share.

The groups are timed one by one on the NumPy executor. Machine code runs several groups in one loop
and cannot be split in this way, so its shares differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from time import perf_counter

import numpy as np

from micrograd.compiler.program import Program
from micrograd.compiler.run_numpy import NumPyRun
from micrograd.compiler.schedule import Array, Group

ROUNDS = 30


class Profile:
    """The groups of a program on a batch in a single tile, and the median time of each in seconds.

    >>> from micrograd import compile
    >>> loss = compile(lambda x: (2 * x).exp())
    >>> loss.profile([1.0, 2.0])  # doctest: +SKIP
          2.2 us       2 groups, one by one, in NumPy
          1.4 us 63.6%  exp of 1 in lanes
          0.8 us 36.4%  * of 1 in lanes
    """

    @np.errstate(all="ignore")
    def __init__(self, program: Program, arguments: Sequence[Array], n: int) -> None:
        run = NumPyRun(program.schedule, n)
        run.load(arguments)
        run.parameters[...] = program.row.data
        seconds: list[list[float]] = [[] for _ in run.steps_of]
        for _ in range(ROUNDS):
            for found, (_, steps) in zip(seconds, run.steps_of, strict=True):
                start = perf_counter()
                for step in steps:
                    step()
                found.append(perf_counter() - start)
        groups = [group for group, _ in run.steps_of]
        self.times: list[tuple[Group, float]] = [*zip(groups, map(median, seconds), strict=True)]

    def __repr__(self) -> str:
        total = sum(seconds for _, seconds in self.times)
        lines = [f"{1e6 * total:9.1f} us       {len(self.times)} groups, one by one, in NumPy"]
        for group, seconds in sorted(self.times, key=lambda row: -row[1]):
            lines.append(f"{1e6 * seconds:9.1f} us {seconds / total:5.1%}  {group!r}")
        return "\n".join(lines)
