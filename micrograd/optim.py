"""Optimizers, which update parameters from their gradients, and learning-rate schedules.

    >>> class Parameter:
    ...     data, grad = 3.0, 0.0
    >>> p = Parameter()
    >>> optimizer = SGD([p], lr=0.25)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     p.grad = 2 * p.data  # normally done by loss.backward(); here loss = p^2
    ...     optimizer.step()
    >>> p.data
    0.75

Nothing here depends on Value: a parameter is any object with `data` and `grad`. These may also be
arrays: the update rules are plain arithmetic, so they update all parameters of a compiled function
at once (see `rows.py`). Arguments, defaults and update rules are the same as in PyTorch. A
learning-rate schedule is a function of the step:

    >>> schedule = linear(1.0, 0.0, steps=4)
    >>> [schedule(step) for step in range(5)]
    [1.0, 0.75, 0.5, 0.25, 0.0]
    >>> optimizer.lr = schedule(3)

Symbols: p parameter, g gradient, v velocity, m running mean of g, s running mean of g^2, t step.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from micrograd.core.numbers import as_exact
from micrograd.rows import Parameters, one_at_a_time

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "clip_grad_norm", "constant", "cosine", "linear"]

Schedule = Callable[[float], float]


class Optimizer:
    """The base class of all optimizers; a subclass defines the update rule, `_update(i, p, g)`.

    Pass the parameters as `model.parameters()`, or as `model.named_parameters()` to see their
    names in error messages.

    Attributes:
        parameters: a tuple of all parameters.
        lr: learning rate; may be changed between steps.
        weight_decay: how strongly parameters are pulled towards 0.
        maximize: whether to increase the loss instead of decreasing it.
        steps: number of steps taken.
        elementwise: whether `_update` also works on arrays; see below.

    >>> class SignDescent(Optimizer):
    ...     def _update(self, i, p, g):
    ...         p.data -= math.copysign(self.lr, g)

    A rule can keep a number from one step to the next in `self._state(name)[i]`, which starts at
    0.0.

    The parameters of a compiled function share storage: their numbers are in one array. A rule that
    consists of arithmetic and NumPy functions can update them all in one call, where `p.data`
    and `g` are arrays; for a few hundred parameters this is about 80 times as fast. Such a rule
    must not branch on numbers, call `math` or `random`, use `i` for anything but `_state`, or keep
    numbers anywhere else. This cannot be checked automatically, so the class that defines `_update`
    has to declare it:

    >>> class HeavyBall(Optimizer):
    ...     elementwise = True
    ...     def _update(self, i, p, g):
    ...         v = self._state("v")
    ...         v[i] = 0.9 * v[i] + g
    ...         p.data -= self.lr * v[i]
    >>> class Parameter:
    ...     data, grad = 3.0, 1.0
    >>> optimizer = HeavyBall([Parameter()], lr=0.5)
    >>> optimizer.step()
    >>> optimizer.parameters[0].data
    2.5

    With `elementwise = False`, `_update` always gets one parameter at a time. The same happens
    without a declaration, but then, if parameters share storage, a warning says that this is slow.
    With `elementwise = "in place"`, `p.data`, `g` and `v[i]` are the arrays themselves, not copies
    as with True. This saves some time, but after `old = v[i]`, changing `v[i]` also changes `old`.
    """

    elementwise: bool | str | None = None

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float,
        weight_decay: float = 0,
        maximize: bool = False,
    ) -> None:
        rule = {"elementwise", "_update", "_decayed"}
        declared = next(vars(kind) for kind in type(self).__mro__ if rule & vars(kind).keys())
        self._elementwise = declared.get("elementwise")
        self._parameters = Parameters(parameters, type(self).__name__, self._elementwise or False)
        self.lr = lr
        self.weight_decay = weight_decay
        self.maximize = maximize
        self.steps = 0
        self._check_settings()
        self._checked_settings: Any = None
        self._now: tuple[Any, ...] = ()  # the numbers of this step, see `_numbers`

    # Settings that may be changed between steps; `step` checks them again if they have changed.
    _settings: Callable[[Any], Any] = attrgetter("lr", "weight_decay", "maximize")

    def _check_settings(self) -> None:
        self.lr = _in_range("lr", self.lr)
        self.weight_decay = _in_range("weight_decay", self.weight_decay)

    @property
    def parameters(self) -> tuple[Any, ...]:
        """All parameters."""
        return self._parameters.all

    def step(self) -> None:
        """Updates every parameter once.

        Raises:
            ValueError: a gradient is infinite or NaN, or a setting such as lr is out of range; no
                parameter has been changed.
            TypeError: a gradient or a setting is not a number.
        """
        self._checked()
        self._now = self._numbers(self.steps + 1)
        with one_at_a_time:
            self._parameters.find_row()
            if self._elementwise is None and self._parameters.row is not None:
                self._warn_that_it_is_slow()
            with self._parameters.quietly():
                self._parameters.check_gradients()
                self.steps += 1
                if self._elementwise == "in place":
                    return self._update_all()
            self._update_all()  # outside quietly(), so that NumPy warns of an overflow or of 1 / 0

    def zero_grad(self) -> None:
        """Resets all gradients to 0; otherwise the next backward pass would add to them."""
        with one_at_a_time:
            self._parameters.find_row()
            for p in self.parameters if self._parameters.row is None else [self._parameters.row]:
                p.grad = 0

    def _checked(self) -> Any:
        # The settings, checked if they have changed since the last time; else the same object.
        settings = self._settings(self)
        if settings != self._checked_settings:
            self._check_settings()
            self._checked_settings = settings
        return self._checked_settings

    def _numbers(self, step: int) -> tuple[float, ...]:
        # What the rules below use apart from p, g, states and settings: numbers that all parameters
        # share, and that may change from step to step. The first is lr.
        return (self.lr,)

    def _has_other_parameters(self) -> ValueError:
        # For a loss that uses none of the parameters, as after a notebook's cell built a new model.
        name = type(self).__name__
        return ValueError(
            f"expected an optimizer of parameters that the loss uses, got {name} with none of "
            f"them, so training would change nothing: build it again, as in "
            f"{name}(model.parameters())"
        )

    def _state(self, name: str) -> Any:
        return self._parameters.state(name)

    def _decayed(self, p: Any, g: Any) -> Any:
        return g + self.weight_decay * p.data if self.weight_decay else g

    def _update(self, i: Any, p: Any, g: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _update(i, p, g)")

    def _update_all(self) -> None:
        for i, p in self._parameters.entries():
            try:
                self._update(i, p, self._decayed(p, -p.grad if self.maximize else p.grad))
            except Exception as error:
                if i is ...:
                    error.add_note(
                        f"({type(self).__name__}.elementwise is {self._elementwise!r}, so _update "
                        "got arrays: use arithmetic and NumPy functions such as np.where, or set "
                        "elementwise = False)"
                    )
                raise

    def _warn_that_it_is_slow(self) -> None:
        name, n = type(self).__name__, len(self.parameters)
        warnings.warn(
            f"{name} updates the {n} parameters of a compiled function one by one, which is slow: "
            f"set {name}.elementwise = True if its _update also works on arrays, or False if not "
            "(see help(micrograd.optim.Optimizer))",
            RuntimeWarning,
            stacklevel=3,
        )


class SGD(Optimizer):
    """Gradient descent, optionally with momentum.

        g = g + weight_decay p
        v = momentum v + (1 - dampening) g        (v = g in the first step)
        p = p - lr v                              (lr (g + momentum v) with nesterov)

    Args:
        parameters: objects with `data` and `grad`, such as those in `model.parameters()`.
        lr: learning rate, at least 0.
        momentum: fraction of the velocity that is kept, at least 0; 0 is plain gradient descent.
        dampening: fraction of the gradient that is left out of the velocity.
        weight_decay: how strongly parameters are pulled towards 0; at least 0.
        nesterov: whether to look ahead along the velocity; needs momentum and no dampening.
        maximize: whether to increase the loss instead of decreasing it.

    Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in
    deep learning", 2013, in PyTorch's form, where lr multiplies the velocity.
    """

    elementwise = "in place"

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self.momentum = momentum
        self.dampening = dampening
        self.nesterov = nesterov
        self._first_step = 0  # the first step that used momentum
        super().__init__(parameters, lr, weight_decay, maximize)

    _settings = attrgetter("lr", "weight_decay", "maximize", "momentum", "dampening", "nesterov")

    def _check_settings(self) -> None:
        super()._check_settings()
        self.momentum = _in_range("momentum", self.momentum)
        self.dampening = _in_range("dampening", self.dampening)
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise ValueError(
                "nesterov needs momentum > 0 and dampening = 0, "
                f"got momentum={self.momentum}, dampening={self.dampening}"
            )

    def _numbers(self, step: int) -> tuple[float, ...]:
        if not self.momentum:
            return (self.lr,)
        self._first_step = self._first_step or self.steps + 1
        is_later = step > self._first_step
        return self.lr, self.momentum * is_later, 1 - self.dampening * is_later

    def _update(self, i: Any, p: Any, g: Any) -> None:
        lr, *fractions = self._now
        if fractions:
            kept, added = fractions
            v = self._state("v")
            v[i] = kept * v[i] + added * g
            g = g + self.momentum * v[i] if self.nesterov else v[i]
        p.data -= lr * g


class Adam(Optimizer):
    """Adam: steps of about lr for every parameter, however large or small its gradients are.

        g = g + weight_decay p
        m = beta1 m + (1 - beta1) g
        s = beta2 s + (1 - beta2) g^2
        p = p - lr (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + eps)

    m and s start at 0 and so are too small at first; dividing by 1 - beta^t corrects this. In the
    first step the corrected m and sqrt(s) are g and |g|, so every parameter moves by lr:

    >>> class Parameter:
    ...     data, grad = 1.0, 0.5
    >>> p = Parameter()
    >>> Adam([p], lr=0.25).step()
    >>> round(p.data, 6)
    0.75

    Args:
        parameters: objects with `data` and `grad`, such as those in `model.parameters()`.
        lr: learning rate, at least 0.
        betas: fractions of m and s that are kept in each step, both in [0, 1).
        eps: added to the divisor to keep it away from 0; at least 0.
        weight_decay: how strongly parameters are pulled towards 0; at least 0.
        amsgrad: whether to use the largest s so far instead of s.
        maximize: whether to increase the loss instead of decreasing it.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1; amsgrad:
    Reddi, Kale and Kumar, "On the convergence of Adam and beyond", 2018, in PyTorch's form.
    """

    elementwise = "in place"

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self.betas: tuple[float, ...] = betas
        self.eps = eps
        self.amsgrad = amsgrad
        super().__init__(parameters, lr, weight_decay, maximize)

    _settings = attrgetter("lr", "weight_decay", "maximize", "betas", "eps", "amsgrad")

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise TypeError(f"betas expects two numbers, as in (0.9, 0.999), got {self.betas!r}")
        # a tuple, because a list could change unnoticed
        self.betas = tuple(_in_range(f"betas[{i}]", b, 1) for i, b in enumerate(self.betas))
        self.eps = _in_range("eps", self.eps)

    def _numbers(self, step: int) -> tuple[float, ...]:
        beta1, beta2 = self.betas
        return self.lr, 1 - beta1**step, 1 - beta2**step

    def _update(self, i: Any, p: Any, g: Any) -> None:
        beta1, beta2 = self.betas
        lr, part1, part2 = self._now
        m, s = self._state("m"), self._state("s")
        m[i] = beta1 * m[i] + (1 - beta1) * g
        s[i] = beta2 * s[i] + (1 - beta2) * g * g
        if self.amsgrad:
            largest = self._state("largest s")
            largest[i] = s[i] * (s[i] > largest[i]) + largest[i] * (s[i] <= largest[i])
            s = largest
        divisor = (s[i] / part2) ** 0.5 + self.eps
        # The divisor is 0 if eps and all gradients so far are 0: divide 0 by 1 instead.
        p.data -= lr * (m[i] / part1) / (divisor + (divisor <= 0))


class AdamW(Adam):
    """Adam with weight decay applied to the parameter directly, not added to the gradient.

        p = p - lr weight_decay p,        then Adam without weight decay

    The arguments are those of Adam.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2, with
    the decay multiplied by lr as in PyTorch.

    >>> class Parameter:
    ...     data, grad = 1.0, 0.0
    >>> p = Parameter()
    >>> AdamW([p], lr=0.5, weight_decay=0.5).step()
    >>> p.data
    0.75
    """

    elementwise = "in place"

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def _decayed(self, p: Any, g: Any) -> Any:
        p.data -= self._now[0] * self.weight_decay * p.data
        return g


def clip_grad_norm(parameters: Iterable[Any], max_norm: float) -> float:
    """The joint norm of all gradients; if it exceeds max_norm, they are scaled to that norm.

        norm = sqrt(sum of g^2)        g = g max_norm / norm   if norm > max_norm

    Raises:
        ValueError: a gradient is infinite or NaN, or max_norm is not above 0; no gradient has been
            changed.

    Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks",
    2013, algorithm 1. (PyTorch's `clip_grad_norm_` adds 1e-6 to the norm.)

    >>> class Parameter:
    ...     data, grad = 1.0, -8.0
    >>> p = Parameter()
    >>> clip_grad_norm([p], max_norm=2.0), p.grad
    (8.0, -2.0)
    """
    checked = Parameters(parameters, "clip_grad_norm")
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm expects max_norm > 0, got {max_norm}")
    with one_at_a_time:
        checked.find_row(rearrange=False)
        with checked.quietly():
            checked.check_gradients()
        row = checked.row
        norm = math.hypot(*((p.grad for p in checked.all) if row is None else row.grad))
        if norm > max_norm:
            for _, p in checked.entries():
                p.grad *= max_norm / norm
        return norm


def constant(lr: float) -> Schedule:
    """A schedule with the same learning rate in every step.

    >>> constant(0.5)(100)
    0.5
    """
    return linear(lr, lr, steps=1)


def linear(start: float, end: float, steps: int) -> Schedule:
    """A straight line from `start` at step 0 to `end` at step `steps`; constant after that.

        lr(t) = start + (end - start) t / steps

    >>> linear(1.0, 0.5, steps=10)(5)
    0.75
    """
    return _schedule(lambda progress: progress, start, end, steps)


def cosine(start: float, end: float, steps: int) -> Schedule:
    """Half a cosine wave from `start` at step 0 to `end` at step `steps`; constant after that.

        lr(t) = start + (end - start) (1 - cos(pi t / steps)) / 2

    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017,
    equation 5, without the restarts.

    >>> [round(cosine(1.0, 0.0, steps=4)(step), 4) for step in range(5)]
    [1.0, 0.8536, 0.5, 0.1464, 0.0]
    """
    return _schedule(lambda progress: (1 - math.cos(math.pi * progress)) / 2, start, end, steps)


def _schedule(shape: Callable[[float], float], start: float, end: float, steps: int) -> Schedule:
    start, end = _in_range("start", start), _in_range("end", end)
    if steps < 1:
        raise ValueError(f"a schedule needs at least one step, got steps={steps}")

    def lr(step: float) -> float:
        if step < 0:
            raise ValueError(f"a schedule starts at step 0, got step {step}")
        return start + (end - start) * shape(step / steps) if step < steps else end

    return lr


def _in_range(name: str, number: Any, below: float = math.inf) -> Any:
    # The number, not as one of NumPy's: these would make the parameters NumPy's numbers, too.
    try:
        is_inside = 0 <= number < below
    except TypeError:
        fix = "convert it with float()" if isinstance(number, str) else "pass one, for example 0.1"
        raise TypeError(f"{name} expects a number in [0, {below}), got {number!r}: {fix}") from None
    if not is_inside:
        raise ValueError(f"{name} expects a number in [0, {below}), got {number}")
    return as_exact(number)
