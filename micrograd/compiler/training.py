"""`micrograd.fit`: trains a model, many steps at a time."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

from micrograd.core.arithmetic import Number
from micrograd.core.examples import check_no_nan, fix_of
from micrograd.core.pause import restored, watchers
from micrograd.core.shapes import Numbers, plain, shape_of
from micrograd.engine import Value, topological_order
from micrograd.module import Module
from micrograd.optim import Optimizer

__all__ = ["fit"]

LONG = 1.0  # seconds after which a progress bar appears
STRETCH = 0.05  # seconds of steps between looks at the clock
MOST = 1024  # steps in a stretch
ENOUGH = 20  # steps after which a run is judged
WORSE, LITTLE, STILL = 10.0, 0.7, 1e-6  # of the first loss: a rise, a small fall, no change
NOT_MODEL = "pass a function such as lambda x, y: squared_error(model(x), y)"


def fit(
    loss: Callable[..., object],
    X: Numbers | None = None,
    y: Numbers | None = None,
    optimizer: Optimizer | Any = None,
    *,
    steps: int,
    batch_size: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    schedule: Callable[[int], float] | None = None,
    on_step: Callable[[int, float], object] | None = None,
) -> list[float]:
    """Trains, and returns the mean loss before each step: fewer means if Ctrl-C ended it early.

    Each step does the same as `optimizer.zero_grad()`, `backward()` and `optimizer.step()`. A loss
    that was compiled does many steps in one call of its executor.

    After Ctrl-C, and after any error, training can go on with another call. The parameters and the
    optimizer are those after the last complete step; but if each step takes several calls, Ctrl-C
    may leave half an update behind. Gradients may be incomplete. Work of more than a second shows a
    progress bar on stderr. At the end, a warning says if the loss rose tenfold (and what a tenth of
    the learning rate would have given), or hardly fell and a look at the graph shows why.

    Args:
        loss: the loss of one example: a function, compiled or not, of an entry of X and of y; or a
            function without arguments, which needs neither X nor y: fit(f, optimizer=..., steps=9).
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
            such as `lambda step: 0.1 * (1 - step / 100)`. It is called once for each step, in
            order, and perhaps 1024 steps early, unless there is an `on_step`.
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
        got = f"got a {type(loss).__name__}"
        raise TypeError(f"fit expects the loss of an example, {got}: {NOT_MODEL}")
    examples = [plain(some) for some in (X, y) if some is not None]
    lengths = [len(some) for some in examples] or [1]
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
    loop = getattr(loss, "in_one_call", None)
    if loop:
        from micrograd.compiler.arguments import as_array

        examples = [as_array(i, some) for i, some in enumerate(examples)]
    for name, some in zip("Xy", examples, strict=False):
        check_no_nan(name, some)
    batches = _batches(lengths[0], size, shuffle, seed) if size < lengths[0] else None
    single = Single(loss, examples, optimizer)
    means: list[float] = []
    lrs: list[float] = []  # the learning rates of a stretch
    parameters = getattr(optimizer, "parameters", ())  # an object of the user's may have none
    starts = [p.data for p in parameters]
    begin, bar, most = time.monotonic(), None, 1
    try:
        while len(means) < steps:
            count = 1 if on_step else min(most, steps - len(means))
            order = batches(len(means), count) if batches else None
            count = count if order is None else len(order)
            if schedule:
                lrs = [schedule(step) for step in range(len(means), len(means) + count)]
                optimizer.lr = lrs[0]
            start = time.monotonic()
            are_valid = all(isinstance(lr, (int, float)) and 0 <= lr < math.inf for lr in lrs)
            is_done = loop and are_valid and loop(optimizer, examples, count, order, lrs, means)
            for k in range(0 if is_done else count):
                if lrs:
                    optimizer.lr = lrs[k]
                means.append(single(None if order is None else order[k]))
            if single.unused and len(means) >= min(steps, math.ceil(lengths[0] / size)):
                raise of_others(optimizer)
            end = time.monotonic()
            most = min(MOST, 4 * most) if end - start < STRETCH / 4 else max(1, most // 2)
            if not bar and len(means) < steps and end > begin + LONG:
                from tqdm import tqdm

                bar = tqdm(total=steps, unit="step")
            if bar:
                bar.set_postfix_str(f"loss {means[-1]:.4g}", refresh=False)
                bar.update(len(means) - bar.n)
            answer = on_step and on_step(len(means) - 1, means[-1])
            if type(answer).__name__ in ("bool", "bool_") and answer:  # of Python or NumPy
                break
    except KeyboardInterrupt:
        sys.stderr.write(f"\nstopped after {len(means)} of {steps} steps\n")
    finally:
        if bar:
            bar.close()
    first = batches(0, 1)[0] if batches else None  # the examples of the first step
    if trouble := _trouble(single, [] if schedule else starts, means, first):
        warnings.warn(trouble, stacklevel=2)
    return means


def _trouble(single: Single, starts: Sequence[Number], means: list[float], batch: Any) -> str:
    # What the losses of a run show, if it did not learn.
    first, last = (means[0], means[-1]) if len(means) >= ENOUGH else (0.0, 0.0)
    parameters = getattr(single.optimizer, "parameters", ())
    if last > WORSE * abs(first) > 0:
        lower = _at_a_tenth(single, starts, batch)
        return f"the loss rose from {first:.4g} to {last:.4g}: lower the learning rate{lower}"
    if last <= LITTLE * first or not parameters or not isinstance(parameters[0], Value):
        return ""
    from micrograd.watching.watch import look_after  # imports drawing, which few runs need

    function = single.loss.function if single.is_compiled else single.loss
    reason = look_after(function, single.examples, parameters, means)
    is_still = max(means) - min(means) <= STILL * abs(first)
    if not reason and is_still and first:
        reason = "raise the learning rate, or put micrograd.watch around a loop of your own"
    went = f"stayed at {last:.4g} for" if is_still else f"went from {first:.4g} to {last:.4g} in"
    return f"the loss {went} {len(means)} steps: {reason}" if reason else ""


def _at_a_tenth(single: Single, starts: Sequence[Number], batch: Any) -> str:
    # What steps with the first batch come to at a tenth of the rate; then all is as it was.
    optimizer = single.optimizer
    is_ours = type(optimizer).__module__ == Optimizer.__module__  # another may take anything
    if not (is_ours and starts) or watchers:  # a loop that is watched must not see these steps
        return ""
    settings = {name: getattr(optimizer, name) for name in optimizer._settings}
    trial = type(optimizer)(optimizer.parameters, **settings | {"lr": optimizer.lr / 10})
    step = Single(single.loss, single.examples, trial)
    with restored(optimizer.parameters):
        for p, start in zip(optimizer.parameters, starts, strict=True):
            p.data = start
        try:
            losses = [step(batch) for _ in range(ENOUGH + 1)]
        except (ArithmeticError, ValueError):  # a tenth is too much, too
            return ""
    return f"; with a tenth of it, {ENOUGH} steps from the same start lead to {losses[-1]:.4g}"


def check_optimizer(user: str, optimizer: object) -> None:
    """Raises an error unless it has the methods of an optimizer."""
    if not hasattr(optimizer, "zero_grad"):
        expected = "an optimizer such as SGD(model.parameters(), lr=0.1)"
        raise TypeError(f"{user} expects {expected}, got {type(optimizer).__name__}")


def check_loss(mean: float) -> None:
    """Raises a ValueError if the loss is NaN; eager operations raise an error themselves."""
    if math.isnan(mean):
        fix = "call the original function with one example, which says what is not defined"
        raise ValueError(f"the loss is NaN, so no parameter was changed: {fix}")


def of_others(optimizer: Optimizer) -> ValueError:
    """The error for a loss that uses no parameter of the optimizer, say those of an older model."""
    name = type(optimizer).__name__
    expected = f"expected an optimizer of parameters that the loss uses, got {name} with others"
    return ValueError(f"{expected}: build it again, as in {name}(model.parameters())")


class Single:
    """Training steps one by one.

    `unused` has ids of the optimizer's parameters, until an eager loss has used one of them.
    """

    def __init__(self, loss: Any, examples: Sequence[Any], optimizer: Any) -> None:
        self.loss, self.examples, self.optimizer = loss, examples, optimizer
        self.is_compiled = hasattr(loss, "in_one_call")
        is_checked = isinstance(optimizer, Optimizer) and not self.is_compiled
        given = optimizer.parameters if is_checked else ()
        self.unused = {id(p) for p in given if isinstance(p, Value)}  # not of another engine

    def __call__(self, indices: Any) -> float:
        """Does a step with these examples, or with all; returns the mean loss before it."""
        self.optimizer.zero_grad()
        if self.is_compiled:
            batch = self.loss(*(a if indices is None else a[indices] for a in self.examples))
            batch.backward()
            mean = float(batch.data)
        else:
            every = range(len(self.examples[0]) if self.examples else 1)
            mean = self.eager(every if indices is None else indices.tolist())
        check_loss(mean)
        self.optimizer.step()
        return mean

    def eager(self, chosen: Sequence[int]) -> float:
        """The mean loss of these examples, whose gradients are added, one graph at a time."""
        total = 0.0
        for i in chosen:
            example = [some[i] for some in self.examples]
            label = example[1] if len(example) > 1 else 0
            try:
                part = self.loss(*example)
            except TypeError as error:
                if not example:
                    raise
                fix = fix_of(label, NOT_MODEL if hasattr(type(self.loss), "parameters") else "")
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


def _batches(n: int, size: int, shuffle: bool, seed: int) -> Callable[[int, int], Any]:
    """A function of a step and of a number of steps, which returns the examples of these steps.

    It returns a row of indices for each, perhaps for fewer steps: all rows have one length.
    """
    import numpy as np

    @lru_cache(2)
    def order(epoch: int) -> Any:
        return np.random.default_rng([seed, epoch]).permutation(n) if shuffle else np.arange(n)

    whole, rest = divmod(n, size)

    def rows(step: int, count: int) -> Any:
        epoch, first = divmod(step, whole + (rest > 0))
        if first == whole:
            return order(epoch)[-rest:][None]
        last = epoch + (0 if rest else (first + count - 1) // whole)
        orders = [order(i)[: n - rest].reshape(-1, size) for i in range(epoch, last + 1)]
        found = np.concatenate(orders) if len(orders) > 1 else orders[0]
        return found[first : first + count]

    return rows
