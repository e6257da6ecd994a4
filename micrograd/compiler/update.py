"""Training steps: forward, backward and the optimizer's update in one call of the executor.

The update rules in `optim.py` are plain arithmetic on one parameter. Called with traced numbers,
as the loss is, a rule becomes a program like any other. Its lanes are the parameters, and the
numbers that all parameters share, such as the learning rate, are uniform.

    >>> from micrograd import Value
    >>> from micrograd.optim import SGD
    >>> rule = recorded_rule(SGD([Value(1.0)], lr=0.1, momentum=0.9))
    >>> rule.states
    ['v']
    >>> for group in rule.schedule.groups:  # v, p - lr v, and the mean square of the gradients
    ...     print(group)
    add product of 1 in lanes
    subtract product of 1 in lanes
    1 mean of 1 product

The numbers are those of `zero_grad()`, `backward()` and `step()`, up to rounding, and so is what
the optimizer keeps: both can be mixed in any order.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from importlib import import_module
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from micrograd import optim
from micrograd.compiler.averages import averaged
from micrograd.compiler.fuse import fused
from micrograd.compiler.parameters import Row
from micrograd.compiler.program import Program
from micrograd.compiler.schedule import Schedule, scheduled
from micrograd.compiler.simplify import Simplified
from micrograd.optim import SGD, Adam, AdamW, Optimizer

Array = npt.NDArray[Any]

MOST = 1024  # steps in one call
METHODS = attrgetter("step", "zero_grad", "_update", "_decayed")  # what a step consists of
TRAINERS = "numpy", "numba", "jax"  # executors with a subclass of Training, in train_*.py


class Rule(NamedTuple):
    """The update rule of an optimizer as a program.

    Attributes:
        schedule: its groups. Uniform inputs are the numbers that all parameters share; inputs in
            lanes are the data, the gradient, and the states. The results are the mean square of the
            gradients, the new data, and the new states.
        states: the names of the states.
    """

    schedule: Schedule
    states: list[str]


def recorded_rule(optimizer: Optimizer) -> Rule:
    """The rule by which this optimizer updates a parameter, with its current settings."""
    recording = Simplified()
    shared = [recording.parameter(0.0) for _ in optimizer._numbers(1)]
    p = SimpleNamespace(data=recording.input(0.0), grad=recording.input(0.0))
    inputs = [p.data.place, p.grad.place]
    squares = p.grad * p.grad
    states: dict[str, list[Any]] = {}

    def state(name: str) -> list[Any]:
        if name not in states:
            states[name] = [recording.input(0.0)]
            inputs.append(states[name][0].place)
        return states[name]

    tracing = copy.copy(optimizer)
    tracing._now = tuple(shared)
    tracing._parameters = SimpleNamespace(entries=lambda: [(0, p)], state=state)  # type: ignore
    tracing._update_all()
    uniform = [x.place for x in shared]
    results = averaged(recording, [squares.place])
    results += [recording.place(x) for x in (p.data, *(numbers for [numbers] in states.values()))]
    steps = recording.instructions
    units = fused(steps, results)
    return Rule(scheduled(units, steps, [inputs], uniform, results), list(states))


class Training:
    """Steps of a program with an optimizer; a subclass runs them on an executor.

    The caller holds `one_at_a_time`, so that no parameter moves to another storage meanwhile.

    Attributes:
        largest: the largest number of examples in a batch.
        row: the row of the optimizer's parameters.
        places: the index in this row of each parameter of the program.
        rule: the update rule, with the settings that the optimizer had.
    """

    largest = 0

    def __init__(self, program: Program, optimizer: Optimizer, row: Row, places: Array) -> None:
        self.program, self.optimizer, self.row, self.places = program, optimizer, row, places
        self.rule = recorded_rule(optimizer)
        self._settings = optimizer._checked()  # the first is lr, which may change
        self._methods = METHODS(optimizer)
        self._states = [optimizer._state(name) for name in self.rule.states]
        self._numbers = np.zeros((MOST, len(optimizer._numbers(1))))
        self._last: Any = None

    def is_for(self, optimizer: Any) -> bool:
        """Whether it still trains with this optimizer, whose settings may have changed."""
        if optimizer is not self.optimizer or optimizer._parameters.row is not self.row:
            return False
        settings = optimizer._checked()
        is_known: bool = settings is self._settings or settings[1:] == self._settings[1:]
        return is_known and self.row.is_current and METHODS(optimizer) == self._methods

    def __call__(
        self,
        arrays: Sequence[Array],
        n: int,
        count: int,
        order: Array | None,
        lrs: Sequence[float],
        means: list[float],
    ) -> None:
        """Does steps; adds the mean of the loss in each of them to `means`.

        Args:
            arrays: the arguments.
            n: number of examples in a step.
            count: number of steps.
            order: the indices of the examples for each step, of shape (count, n); None for all.
            lrs: the learning rate of each step; empty for that of the optimizer.
            means: a list.

        Raises:
            ValueError: a gradient is not finite. The parameters are those of the last full step.
            IndexError: `take` got an invalid index. The same holds.
        """
        optimizer = self.optimizer
        while count:
            if lrs:
                optimizer.lr = lrs[0]
            if count > 1:
                first = optimizer.steps + 1  # powers of arrays would have other last bits
                self._numbers[:count] = [*map(optimizer._numbers, range(first, first + count))]
                if lrs:
                    self._numbers[:count, 0] = lrs
                self._last = None
            elif (now := optimizer._numbers(optimizer.steps + 1)) != self._last:
                self._numbers[0] = self._last = now
            before, refused = len(means), None
            try:
                refused = self._steps(arrays, n, count, order, means)
            finally:  # after Ctrl-C, too
                done = len(means) - before
                if lrs:
                    optimizer.lr = lrs[max(0, done - (refused is None))]
            if done == count:
                return
            if refused is not None:
                with self.row.quietly():  # usually raises: rarely, only squares overflow
                    optimizer._parameters.check_gradients()
                optimizer.step()
                means.append(refused)
                done += 1
            count, lrs = count - done, lrs[done:]
            order = None if order is None else order[done:]

    def count(
        self, before: tuple[int, int], done: Array, losses: Array, means: list[float]
    ) -> None:
        """Counts steps; may be called again if Ctrl-C interrupts it.

        Args:
            before: the numbers of means and steps before.
            done: an array of one number, the number of steps done.
            losses: their means.
            means: the list to which these are added.
        """
        n, (old, steps) = done.item(), before
        means[old:] = losses[:n].tolist() if n > 1 else [losses.item(0)] * n  # faster for 1
        self.optimizer.steps = steps + n

    def _steps(
        self, arrays: Sequence[Array], n: int, count: int, order: Array | None, means: list[float]
    ) -> float | None:
        # Does at most `count` steps, counts them, and adds their means to the list. It ends before
        # an update whose gradients have an infinite square, and then returns the mean of that step.
        raise NotImplementedError


def training_of(program: Program, optimizer: Any) -> Training | None:
    """The training steps of a program with an optimizer; None if they take several calls.

    This is so if the executor has no subclass of `Training`, if the optimizer or one of its methods
    is a user's own, and if it does not have all parameters of the program: nothing resets the
    gradients of the others, so they add up from step to step.

    Raises:
        ValueError: the optimizer has none of the parameters of the program.
    """
    if isinstance(optimizer, Optimizer) and program.ids.isdisjoint(map(id, optimizer.parameters)):
        raise optimizer._has_other_parameters()
    is_ours = type(optimizer) in (SGD, Adam, AdamW)
    # Users may replace a method of the object or of its class, say to clip gradients.
    is_ours = is_ours and all(
        getattr(method, "__globals__", None) is vars(optim) for method in METHODS(optimizer)
    )
    if program.executor not in TRAINERS or not is_ours:
        return None
    if program.is_list or not program.has_gradients:
        return None
    parameters = optimizer._parameters
    for _ in range(3):  # finding one row may move the parameters of the other
        parameters.find_row()
        row, other = parameters.row, program.row
        if row is None or (row.is_current and row.storage is other.storage):
            break
    if row is None or not row.is_slice:
        return None
    places = other.indices - row.indices[0]
    if places.min() < 0 or places.max() >= len(parameters.all):
        return None
    module = import_module(f"micrograd.compiler.train_{program.executor}")
    found: Training = module.Steps(program, optimizer, row, places)
    return found
