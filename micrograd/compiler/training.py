"""`micrograd.fit`: trains a model, many steps at a time.

>>> from micrograd import Value, compile, fit
>>> from micrograd.optim import SGD
>>> w = Value(0.0)
>>> loss = compile(lambda x, y: (w * x - y) ** 2)
>>> fit(loss, [1.0, 2.0], [3.0, 6.0], SGD([w], lr=0.1), steps=3)  # the mean before each step
[22.5, 5.625, 1.40625]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from micrograd.core.shapes import check_no_nan, fix_of, plain, shape_of
from micrograd.engine import Value, topological_order
from micrograd.module import Module
from micrograd.optim import Optimizer, check_loss, check_optimizer

__all__ = ["fit"]

LONG = 1.0  # seconds after which a progress bar appears
STRETCH = 0.05  # seconds of steps between looks at the clock
MOST = 1024  # steps in a stretch


def fit(
    loss: Callable[..., Any],
    X: Any,
    y: Any,
    optimizer: Any,
    *,
    steps: int,
    batch_size: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    schedule: Callable[[int], float] | None = None,
    on_step: Callable[[int, float], Any] | None = None,
) -> list[float]:
    """Trains, and returns the mean loss before each step: fewer means if Ctrl-C ended it early.

    Each step does the same as `optimizer.zero_grad()`, `backward()` and `optimizer.step()`. A loss
    that was compiled does many steps in one call of its executor.

    After Ctrl-C, and after any error, training can go on with another call. The parameters and the
    optimizer are those after the last complete step; but if each step takes several calls, Ctrl-C
    may leave half an update behind. Gradients may be incomplete. Work of more than a second shows a
    progress bar on stderr.

    Args:
        loss: the loss of one example: a function, compiled or not, of an entry of X and of y.
        X: the examples, in the first axis of a list, an array, or a table such as a DataFrame.
        y: a target for each example; None if the loss takes an entry of X alone.
        optimizer: an optimizer of the parameters, or any object with `zero_grad()` and `step()`.
        steps: number of steps.
        batch_size: number of examples in a step; by default, all. The last batch of an epoch may be
            smaller.
        shuffle: whether mini-batches take the examples in a new order in each epoch. The order of
            epoch e = 0, 1, ... is `numpy.random.default_rng([seed, e]).permutation(len(X))`.
        seed: the seed for shuffling, at least 0.
        schedule: a function from the number of steps done to the learning rate of the next step,
            such as `optim.cosine(...)`. It is called once for each step, in order, and perhaps
            1024 steps early, unless there is an `on_step`.
        on_step: called as `on_step(step, mean)` after step 0, 1, ...; training ends if it returns
            True. It may change anything, also the arrays X and y (but not lists, if the loss is
            compiled), so each step is a call of its own.

    Raises:
        ValueError: X and y differ in length, are empty or have NaN, another argument is out of
            range, or the loss uses none of the optimizer's parameters.
        TypeError: the loss of an example is not a single number, or something else is passed as the
            loss or as the optimizer.

    Steps between which none of your code runs share a single check whether anything that the loss
    reads has changed, unless it reads the optimizer. Other threads do not run meanwhile, unless the
    executor is NumPy or JAX.

    >>> import micrograd
    >>> w = micrograd.Value(0.0)
    >>> loss = micrograd.compile(lambda x, y: (w * x - y) ** 2)
    >>> optimizer = micrograd.SGD([w], lr=0.1)
    >>> losses = fit(loss, [1.0, 2.0], [3.0, 6.0], optimizer, steps=20)  # w = 3 fits
    >>> round(losses[0], 1), round(w.data, 3)
    (22.5, 3.0)
    """
    check_optimizer("fit", optimizer)
    if isinstance(loss, Module):
        fix = "pass a function such as lambda x, y: squared_error(model(x), y)"
        raise TypeError(f"fit expects the loss of an example, got a {type(loss).__name__}: {fix}")
    examples = [plain(X)] if y is None else [plain(X), plain(y)]
    lengths = [len(some) for some in examples]
    if not lengths[0]:
        raise ValueError("fit expects at least one example, got none")
    if lengths[0] != lengths[-1]:
        counts = " examples and ".join(map(str, lengths))
        raise ValueError(f"fit expects a target for each example, got {counts} targets")
    size = lengths[0] if batch_size is None else batch_size
    least = {"steps": (steps, 0), "batch_size": (size, 1), "seed": (seed, 0)}
    for name, (number, limit) in least.items():
        if not hasattr(number, "__index__") or number < limit:
            raise ValueError(f"{name} expects a whole number of at least {limit}, got {number!r}")
    steps, size, seed = map(index, (steps, size, seed))
    batches = _Batches(lengths[0], size, shuffle, seed)
    means: list[float] = []
    lrs: list[float] = []  # the learning rates of a stretch
    run = _Stretch(loss, examples, optimizer, means)
    for name, some in zip("Xy", run.examples, strict=False):
        check_no_nan(name, some)
    bar, most = _Bar(steps), 1
    try:
        while len(means) < steps:
            count = 1 if on_step else min(most, steps - len(means))
            count, order = batches.next(count)
            if schedule:
                lrs = [schedule(step) for step in range(len(means), len(means) + count)]
            start = time.monotonic()
            run(count, order, lrs)
            if run.unused and len(means) >= min(steps, math.ceil(lengths[0] / size)):
                raise optimizer._has_other_parameters()
            took = time.monotonic() - start
            most = min(MOST, 4 * most) if took < STRETCH / 4 else max(1, most // 2)
            bar.show(means)
            answer = on_step and on_step(len(means) - 1, means[-1])
            if type(answer).__name__ in ("bool", "bool_") and answer:  # of Python or NumPy
                break
    except KeyboardInterrupt:
        sys.stderr.write(f"\nstopped after {len(means)} of {steps} steps\n")
    finally:
        bar.close()
    return means


class _Stretch:
    # Some steps: in one call of an executor if possible, else one by one.

    def __init__(self, loss: Any, examples: list[Any], optimizer: Any, means: list[float]) -> None:
        self.loss, self.examples, self.optimizer, self.means = loss, examples, optimizer, means
        self.in_one_call = getattr(loss, "in_one_call", None)
        if self.in_one_call:
            from micrograd.compiler.function import _as_array

            self.examples = [_as_array(i, some) for i, some in enumerate(examples)]
        # The ids of the optimizer's parameters, until an eager loss has used one of them.
        is_checked = isinstance(optimizer, Optimizer) and not self.in_one_call
        self.unused = {id(p) for p in optimizer.parameters} if is_checked else set()

    def __call__(self, count: int, order: Any, lrs: Sequence[float]) -> None:
        if lrs:
            self.optimizer.lr = lrs[0]
        arguments = self.optimizer, self.examples, count, order, lrs, self.means
        are_valid = all(isinstance(lr, (int, float)) and 0 <= lr < math.inf for lr in lrs)
        if self.in_one_call and are_valid and self.in_one_call(*arguments):
            return
        self.one_by_one(count, order, lrs)

    def one_by_one(self, count: int, order: Any, lrs: Sequence[float]) -> None:
        for k in range(count):
            if lrs:
                self.optimizer.lr = lrs[k]
            indices = None if order is None else order[k]
            self.optimizer.zero_grad()
            mean = self.compiled(indices) if self.in_one_call else self.eager(indices)
            check_loss(mean)
            self.optimizer.step()
            self.means.append(mean)

    def compiled(self, indices: Any) -> float:
        batch = self.loss(*(a if indices is None else a[indices] for a in self.examples))
        batch.backward()
        return float(batch.data)

    def eager(self, indices: Any) -> float:
        total = 0.0
        chosen = range(len(self.examples[0])) if indices is None else indices.tolist()
        for i in chosen:  # one graph at a time
            example = [some[i] for some in self.examples]
            label = example[1] if len(example) > 1 else 0
            try:
                part = self.loss(*example)
            except TypeError as error:
                fix = fix_of(label, "")
                if not fix or fix in str(error):
                    raise
                raise TypeError(f"{error}: {fix}") from error
            if shape := shape_of(part):
                fix = fix_of(label, "return one number, such as its sum or mean")
                raise TypeError(f"fit expects a loss that returns one Value for each example, got "
                                f"shape {shape}: {fix}")  # fmt: skip
            part = part / len(chosen)
            part.backward()
            if self.unused and isinstance(part, Value):
                is_used = not self.unused.isdisjoint(map(id, topological_order(part)))
                self.unused = set() if is_used else self.unused
            total += part.data
        return total


class _Batches:
    # The examples of the next steps.

    def __init__(self, n: int, size: int, shuffle: bool, seed: int) -> None:
        self.n, self.size, self.shuffle, self.seed = n, size, shuffle, seed
        self.epoch = 0
        self.waiting: list[Any] = []  # arrays with a row of indices for each step

    def next(self, most: int) -> tuple[int, Any]:
        """A number of steps, and their examples: a row of indices for each, or None for all."""
        if self.size >= self.n:
            return most, None
        if not self.waiting:
            self.begin(most)
        rows, *self.waiting = self.waiting
        if len(rows) > most:
            self.waiting.insert(0, rows[most:])
        return len(rows[:most]), rows[:most]

    def begin(self, most: int) -> None:
        """Starts an epoch; several at once if each has only a few steps, all of the same size."""
        import numpy as np

        steps, rest = divmod(self.n, self.size)
        orders = []
        for _ in range(1 if rest else math.ceil(most / steps)):
            generator = np.random.default_rng([self.seed, self.epoch])
            orders.append(generator.permutation(self.n) if self.shuffle else np.arange(self.n))
            self.epoch += 1
        whole = np.concatenate(orders)
        self.waiting = [whole[: len(whole) - rest].reshape(-1, self.size)]
        if rest:
            self.waiting.append(whole[-rest:][None])


class _Bar:
    # A progress bar, once the work has taken a while.

    def __init__(self, steps: int) -> None:
        self.steps, self.start = steps, time.monotonic()
        self.bar: Any = None

    def show(self, means: Sequence[float]) -> None:
        if not self.bar and len(means) < self.steps and time.monotonic() > self.start + LONG:
            from tqdm import tqdm

            self.bar = tqdm(total=self.steps, unit="step")
        if self.bar is not None:
            self.bar.set_postfix_str(f"loss {means[-1]:.4g}", refresh=False)
            self.bar.update(len(means) - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
