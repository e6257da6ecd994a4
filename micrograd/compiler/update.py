"""Training steps: forward, backward and the optimizer's update in one call of the executor.

The update rules in `optim.py` are functions of one parameter. Called with traced numbers, as the
loss is, a rule becomes instructions like any others. Each of them is a group over all
parameters, which runs after the means, so every executor that runs the program can train it too.

    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> from micrograd.optim import SGD
    >>> w, v = Value(1.0), Value(2.0)
    >>> program = Program(lambda x: w * x + v, [()], "numpy")
    >>> optimizer = SGD([w, v], lr=0.1, momentum=0.9)
    >>> update = updating(program.schedule, optimizer, np.arange(2))
    >>> for group in update.schedule.after[len(program.schedule.after) :]:
    ...     print(group)  # momentum times v, plus the gradient; p - lr v
    copy of 2
    * of 2
    + of 2
    * of 2
    - of 2
    1 sum of 2 products
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from micrograd import optim
from micrograd.compiler.parameters import Row
from micrograd.compiler.program import Program
from micrograd.compiler.schedule import Array, Block, Group, Schedule, Slots
from micrograd.compiler.simplify import CONDITIONS, Simplified, needed
from micrograd.compiler.training import MOST, check_loss, of_others
from micrograd.optim import SGD, Adam, AdamW, Optimizer

METHODS = attrgetter("step", "zero_grad", "rule", "decayed", "at_step")  # what a step consists of
LOOPS = {"numpy": "NumPyLoop", "llvm": "LlvmLoop", "jax": "JaxLoop"}  # in run_*.py


class Update(NamedTuple):
    """A schedule that ends with an optimizer's update of its parameters.

    Each operation of the rule is a group over all parameters of the optimizer; gradients of those
    that the program does not use are 0. Extra numbers come from outside in each step: those that
    all parameters share, the data of parameters that the program does not use, and the states.

    Attributes:
        schedule: the groups of the program, and then those of the rule.
        mean, square: the slots of the mean, and of the sum of the squares of the gradients.
        numbers: the slots of the numbers that all parameters share, the first extra ones.
        kept, new: the slots of the data and of each state, and of their new numbers.
        gradient: the slots of the gradients.
        states: the names of the states.
    """

    schedule: Schedule
    mean: int
    square: int
    numbers: Slots
    kept: list[Slots]
    new: list[Slots]
    gradient: Slots
    states: list[str]


def updating(schedule: Schedule, optimizer: Optimizer, places: Array) -> Update:
    """The schedule of a program, with the update of an optimizer, with its current settings.

    For each parameter of the program, `places` has its index among those of the optimizer.
    """
    # The rule for one parameter, recorded.
    recording = Simplified()
    shared = [recording.parameter() for _ in optimizer.at_step(1)]
    p, g = recording.input(0.0), recording.input(0.0)
    states = defaultdict[str, Any](lambda: recording.input(0.0))
    decayed = optimizer.decayed(p, g, shared[0], optimizer.weight_decay)
    moved, kept_numbers = optimizer.rule(*decayed, states, *shared)
    steps, n = recording.instructions, len(optimizer.parameters)
    data, *new = map(recording.place, (moved, *(kept_numbers[name] for name in states)))
    size = schedule.sizes.uniform

    def taken(count: int) -> Slots:
        nonlocal size
        size += count
        return np.arange(size - count, size, dtype=np.int32)

    used, numbers = needed(steps, [data, *new]), taken(len(shared))
    others = np.setdiff1d(np.arange(n), places)
    old = np.empty(n, np.int32)
    old[places], old[others] = np.arange(len(places)), taken(len(others))
    slots: dict[int, Slots] = {  # of the result of each instruction
        **{x.place: numbers[i : i + 1] for i, x in enumerate(shared)},
        p.place: old,
    }
    slots.update({state.place: taken(n) for state in states.values()})
    slots |= (fixed := {i: taken(1) for i in used if steps.ops[i] == "constant"})
    constants = [(slot.item(), float(steps.numbers[i])) for i, slot in fixed.items()]
    kept = [old, *(slots[state.place] for state in states.values())]
    found = np.full(n, schedule.constants[0][0], np.int32)  # the slot of 0
    found[places] = schedule.results[1 : 1 + len(places), 1]
    slots[g.place] = gradient = taken(n)
    groups = [Group("copy", Block(False, gradient), (Block(False, found),))]
    for i in used:
        op, operands = steps.whole(i)
        if i in slots or op in CONDITIONS:
            continue
        given = [slots[k] for k in operands]
        slots[i] = taken(max(map(len, given)))
        blocks = [Block(False, np.broadcast_to(x, slots[i].shape)) for x in given]
        groups.append(Group(op, Block(False, slots[i]), tuple(blocks)))
    lists, square = Block(False, gradient.reshape(1, 1, -1)), taken(1)
    groups.append(Group("dot", Block(False, square.reshape(1, 1, 1)), (lists, lists)))
    sizes = schedule.sizes._replace(uniform=size)
    after, constants = [*schedule.after, *groups], [*schedule.constants, *constants]
    changed = schedule._replace(after=after, sizes=sizes, constants=constants)
    return Update(
        changed, int(schedule.results[0, 1]), int(square[0]), numbers, kept,
        [slots[i] for i in (data, *new)], gradient, list(states),
    )  # fmt: skip


class Training:
    """Steps of a program with an optimizer.

    The caller holds `one_at_a_time`, so that no parameter moves to another storage meanwhile. All
    steps work on the same arrays: the numbers that all parameters share, with a row for each step;
    the data of the parameters and their states; the gradients of the last step; the mean of each
    step; and one number, of the complete steps.

    Attributes:
        largest: the largest number of examples in a batch.
    """

    def __init__(self, program: Program, optimizer: Optimizer, row: Row, places: Array) -> None:
        self.optimizer, self.row, self._kept = optimizer, row, _kept(optimizer)
        update = updating(program.schedule, optimizer, places)
        self._numbers = np.zeros((MOST, len(update.numbers)))
        self._losses, self._done = np.zeros(MOST), [0]
        self._now: list[tuple[float, ...]] = []
        kept = [row.data, *map(optimizer._parameters.state, update.states)]
        module = import_module(f"micrograd.compiler.run_{program.executor}")
        arrays = self._numbers, kept, row.grad, self._losses, self._done
        self._loop = getattr(module, LOOPS[program.executor])(update, arrays)
        self.largest = self._loop.largest

    def is_for(self, optimizer: object) -> bool:
        """Whether it still trains with this optimizer, whose settings may have changed."""
        is_same = optimizer is self.optimizer and self.row.is_current
        return is_same and _kept(optimizer) == self._kept

    def __call__(
        self,
        arrays: Sequence[Array],
        n: int,
        count: int,
        order: Array | None,
        lrs: Sequence[float],
        means: list[float],
    ) -> None:
        """Does `count` steps with n examples each; adds the mean of the loss in each to `means`.

        If `order`, of shape (count, n), is not None, it has the indices of the examples of each
        step; `lrs` has the learning rate of each step, or is empty.

        Raises:
            ValueError: the loss is NaN, a gradient is not finite, or the sum of their squares
                overflows. The parameters are those of the last full step.
            IndexError: `take` got an invalid index. The same holds.
        """
        optimizer, first = self.optimizer, self.optimizer.steps + 1
        now = [optimizer.at_step(step) for step in range(first, first + count)]
        if lrs:
            now = [(lr, *others) for lr, (_, *others) in zip(lrs, now, strict=True)]
        if now != self._now:  # an assignment takes longer than the comparison
            self._numbers[:count] = self._now = now
        self._done[0], before = 0, len(means)

        def store() -> None:
            [done] = self._done
            means[before:] = self._losses[:done].tolist()
            optimizer.steps = first - 1 + done
            if lrs:
                optimizer.lr = lrs[min(done, count - 1)]

        try:
            is_finite = self._loop(arrays, n, count, order)
        finally:  # after Ctrl-C or an invalid index, earlier steps count
            try:
                store()
            except KeyboardInterrupt:  # it waits until all of it is stored
                store()
                raise
        if not is_finite:
            optimizer._parameters.check_gradients()
            check_loss(self._losses[self._done[0]])
            found = "the squares of the gradients overflow, so no parameter was changed"
            raise ValueError(f"{found}: scale the loss, or try a lower learning rate")


def _kept(optimizer: Any) -> tuple[Any, ...]:
    # What must stay the same: the row, the settings, of which lr is the first, and the methods.
    return optimizer._parameters.row, optimizer._read(optimizer)[1:], METHODS(optimizer)


def training_of(program: Program, optimizer: Any) -> Training | None:
    """The training steps of a program with an optimizer; None if they take several calls.

    This is so if the executor has no loop, if the optimizer or one of its methods is a user's own,
    and if it does not have all parameters of the program, because nothing resets the gradients of
    the others. It raises a ValueError if the optimizer has none of the parameters.
    """
    if isinstance(optimizer, Optimizer) and {*program.parameters}.isdisjoint(optimizer.parameters):
        raise of_others(optimizer)
    # Users may replace a method of the object or of its class, say to clip gradients.
    is_ours = type(optimizer) in (SGD, Adam, AdamW) and all(
        getattr(method, "__globals__", None) is vars(optim) for method in METHODS(optimizer)
    )
    has_loop = program.executor in LOOPS and program.has_gradients and program.is_single
    if not (is_ours and has_loop) or program.shared:
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
    return Training(program, optimizer, row, places)
