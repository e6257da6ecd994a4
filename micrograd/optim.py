"""Chapter 5: optimizers, which move parameters against their gradients.

    >>> class Parameter:
    ...     data, grad = 3.0, 0.0
    >>> p = Parameter()
    >>> optimizer = SGD([p], lr=0.25)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     p.grad = 2 * p.data  # in real life loss.backward(), here for loss = p^2
    ...     optimizer.step()
    >>> p.data
    0.75

Nothing here knows what a Value is: a parameter is whatever has a `data` and a `grad`. Those of a
compiled function live side by side in one array; then the row of all of them is taken for a single
parameter, whose numbers are arrays, and the same rules, being arithmetic, move all at once.
Arguments, defaults and update rules are PyTorch's. A learning-rate schedule is a function of the
step:

    >>> schedule = linear(1.0, 0.0, steps=4)
    >>> [schedule(step) for step in range(5)]
    [1.0, 0.75, 0.5, 0.25, 0.0]
    >>> optimizer.lr = schedule(3)

Letters: p parameter, g gradient, v velocity, m and s running means of g and of g^2, t step count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from operator import attrgetter
from typing import Any

__all__ = ["SGD", "Adam", "AdamW", "clip_grad_norm", "constant", "cosine", "linear"]

Schedule = Callable[[float], float]


class Optimizer:
    """What all optimizers share; a subclass defines `_update(i, p, g)`.

    Parameters are given as `model.parameters()`, or as `model.named_parameters()`, whose names then
    stand in messages.

    Attributes:
        parameters: a tuple of all parameters.
        lr: learning rate; may be set between steps.
        weight_decay: factor of the pull of parameters towards 0.
        maximize: climb in place of descend.
        steps: number of steps taken.

    >>> class SignDescent(Optimizer):
    ...     def _update(self, i, p, g):
    ...         p.data -= math.copysign(self.lr, g)
    """

    def __init__(
        self, parameters: Iterable[Any], lr: float, weight_decay: float, maximize: bool
    ) -> None:
        self._names, checked = _checked(parameters, type(self).__name__)
        self.parameters = tuple(checked)
        self.lr = lr
        self.weight_decay = weight_decay
        Optimizer._check_settings(self)
        self.maximize = maximize
        self.steps = 0
        self._checked: Any = None  # settings
        self._row: Any = None
        self._row_of = self.parameters
        self._states: dict[str, Any] = {}  # running means and the like, a number for each parameter

    # May be set between steps; so the next step checks them, if they are others by then.
    _settings: Callable[[Any], Any] = attrgetter("lr", "weight_decay")

    def _check_settings(self) -> None:
        _check_range("lr", self.lr)
        _check_range("weight_decay", self.weight_decay)

    def step(self) -> None:
        """Moves every parameter once.

        Raises:
            ValueError: a gradient is infinite or NaN, or a setting such as lr was set to a number
                that it cannot be; no parameter has been moved.
            TypeError: a setting, or a gradient, is not a number.
        """
        settings = self._settings(self)
        if settings != self._checked:
            self._check_settings()
            self._checked = settings
        row = self._row_of_all()
        with nullcontext() if row is None else row.quietly():
            _check_finite(self._names, self.parameters, row)
            self.steps += 1
            for i, p in enumerate(self.parameters) if row is None else [(slice(None), row)]:
                self._update(i, p, self._decayed(p, -p.grad if self.maximize else p.grad))

    def zero_grad(self) -> None:
        """Resets the gradients, which would otherwise add up from one backward pass to the next."""
        row = self._row_of_all()
        for p in self.parameters if row is None else [row]:
            p.grad = 0

    def __getstate__(self) -> dict[str, Any]:
        # A copy has parameters of its own, which live elsewhere.
        return {**self.__dict__, "_row": None, "_states": self._listed_states()}

    def _listed_states(self) -> dict[str, list[float]]:
        row, states = self._row, self._states.items()
        if row is None:
            return {name: list(state) for name, state in states}
        return {name: state[row.ranks].tolist() for name, state in states}

    def _row_of_all(self) -> Any:
        # All parameters as one, where they live in one array and the rule is one of ours.
        if type(self) not in (SGD, Adam, AdamW):
            return None
        if self._row is None or not self._row.is_current or self._row_of is not self.parameters:
            row = _row(self.parameters)
            if row is not self._row:
                self._states, self._row = self._listed_states(), row
                self._row_of = self.parameters
            for name, state in self._states.items() if row is not None else ():
                self._states[name] = row.data.copy()
                self._states[name][row.ranks] = state
        return self._row

    def _decayed(self, p: Any, g: Any) -> Any:
        return g + self.weight_decay * p.data if self.weight_decay else g

    def _update(self, i: Any, p: Any, g: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _update(i, p, g)")


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for.

        g = g + weight_decay p
        v = momentum v + (1 - dampening) g        (v = g in the first step)
        p = p - lr v                              (lr (g + momentum v) with nesterov)

    Args:
        parameters: what has `data` and `grad`, as `model.parameters()` gives them.
        lr: learning rate, at least 0.
        momentum: share of the velocity that is kept, at least 0; 0 is plain gradient descent.
        dampening: share of the gradient that does not enter the velocity.
        weight_decay: at least 0.
        nesterov: look ahead along the velocity; needs momentum and no dampening.
        maximize: climb in place of descend.

    Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in
    deep learning", 2013, in the form of PyTorch, where lr multiplies the velocity.
    """

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
        super().__init__(parameters, lr, weight_decay, maximize)
        self.momentum = momentum
        self.dampening = dampening
        self.nesterov = nesterov
        self._check_settings()
        self._states["v"] = [0.0] * len(self.parameters)
        self._first_step = 0  # the first one with momentum

    _settings = attrgetter("lr", "weight_decay", "momentum", "dampening", "nesterov")

    def _check_settings(self) -> None:
        super()._check_settings()
        _check_range("momentum", self.momentum)
        _check_range("dampening", self.dampening)
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise ValueError(
                "nesterov needs momentum > 0 and dampening = 0, "
                f"got momentum={self.momentum}, dampening={self.dampening}"
            )

    def _update(self, i: Any, p: Any, g: Any) -> None:
        if self.momentum:
            self._first_step = self._first_step or self.steps
            v = self._states["v"]
            is_first = self.steps == self._first_step
            v[i] = g if is_first else self.momentum * v[i] + (1 - self.dampening) * g
            g = g + self.momentum * v[i] if self.nesterov else v[i]
        p.data -= self.lr * g


class Adam(Optimizer):
    """Steps of about lr each, whatever the size of the gradients.

        g = g + weight_decay p
        m = beta1 m + (1 - beta1) g
        s = beta2 s + (1 - beta2) g^2
        p = p - lr (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + eps)

    m and s start from 0 and are too small at first, which the divisors make up for. In the first
    step m and sqrt(s) come out as g and |g|, so that every parameter moves by lr:

    >>> class Parameter:
    ...     data, grad = 1.0, 0.5
    >>> p = Parameter()
    >>> Adam([p], lr=0.25).step()
    >>> round(p.data, 6)
    0.75

    Args:
        parameters: what has `data` and `grad`, as `model.parameters()` gives them.
        lr: learning rate, at least 0.
        betas: shares of the two running means that are kept, each in [0, 1).
        eps: keeps the divisor away from 0, at least 0.
        weight_decay: at least 0.
        amsgrad: divide by the largest s so far.
        maximize: climb in place of descend.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1; amsgrad:
    Reddi, Kale and Kumar, "On the convergence of Adam and beyond", 2018, as PyTorch has it.
    """

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
        super().__init__(parameters, lr, weight_decay, maximize)
        self.betas = betas
        self.eps = eps
        self.amsgrad = amsgrad
        self._check_settings()
        for name in ("m", "s", "largest s"):
            self._states[name] = [0.0] * len(self.parameters)

    _settings = attrgetter("lr", "weight_decay", "betas", "eps")

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise TypeError(f"betas expects two numbers, as in (0.9, 0.999), got {self.betas!r}")
        _check_range("betas[0]", self.betas[0], below=1)
        _check_range("betas[1]", self.betas[1], below=1)
        _check_range("eps", self.eps)

    def _update(self, i: Any, p: Any, g: Any) -> None:
        beta1, beta2 = self.betas
        m, s, largest = (self._states[name] for name in ("m", "s", "largest s"))
        m[i] = beta1 * m[i] + (1 - beta1) * g
        s[i] = beta2 * s[i] + (1 - beta2) * g * g
        if self.amsgrad:
            largest[i] = s[i] * (s[i] > largest[i]) + largest[i] * (s[i] <= largest[i])
            s = largest
        mean = m[i] / (1 - beta1**self.steps)
        divisor = (s[i] / (1 - beta2**self.steps)) ** 0.5 + self.eps
        # + 1 where it would be 0 / 0, since eps and all gradients so far are 0
        p.data -= self.lr * mean / (divisor + (divisor == 0))


class AdamW(Adam):
    """Adam whose weight decay acts on the parameter itself and not by way of the gradient.

        p = p - lr weight_decay p,        then as Adam without weight decay

    Arguments are those of Adam.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2, with
    lr in front of the decay as PyTorch has it.

    >>> class Parameter:
    ...     data, grad = 1.0, 0.0
    >>> p = Parameter()
    >>> AdamW([p], lr=0.5, weight_decay=0.5).step()
    >>> p.data
    0.75
    """

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
        p.data -= self.lr * self.weight_decay * p.data
        return g


def clip_grad_norm(parameters: Iterable[Any], max_norm: float) -> float:
    """Scales all gradients by one factor so that their norm is at most max_norm; the norm before.

        norm = sqrt(sum of g^2)        g = g max_norm / norm   if norm > max_norm

    Raises:
        ValueError: a gradient is infinite or NaN, or max_norm is not above 0; nothing was scaled.

    Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks",
    2013, algorithm 1. (PyTorch's `clip_grad_norm_` adds 1e-6 to the norm.)

    >>> class Parameter:
    ...     data, grad = 1.0, -8.0
    >>> p = Parameter()
    >>> clip_grad_norm([p], max_norm=2.0), p.grad
    (8.0, -2.0)
    """
    names, parameters = _checked(parameters, "clip_grad_norm")
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm expects max_norm > 0, got {max_norm}")
    row = _row(parameters, move=False)
    with nullcontext() if row is None else row.quietly():
        _check_finite(names, parameters, row)
    norm = math.hypot(*((p.grad for p in parameters) if row is None else row.grad))
    if norm > max_norm:
        for p in parameters if row is None else [row]:
            p.grad *= max_norm / norm
    return norm


def constant(lr: float) -> Schedule:
    """The same learning rate in every step.

    >>> constant(0.5)(100)
    0.5
    """
    return linear(lr, lr, steps=1)


def linear(start: float, end: float, steps: int) -> Schedule:
    """A straight line from `start` at step 0 to `end` at step `steps`, and `end` from there on.

        lr(t) = start + (end - start) t / steps

    >>> linear(1.0, 0.5, steps=10)(5)
    0.75
    """
    return _schedule(lambda progress: progress, start, end, steps)


def cosine(start: float, end: float, steps: int) -> Schedule:
    """Half a wave from `start` at step 0 to `end` at step `steps`, and `end` from there on.

        lr(t) = start + (end - start) (1 - cos(pi t / steps)) / 2

    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017,
    equation 5, without the restarts.

    >>> [round(cosine(1.0, 0.0, steps=4)(step), 4) for step in range(5)]
    [1.0, 0.8536, 0.5, 0.1464, 0.0]
    """
    return _schedule(lambda progress: (1 - math.cos(math.pi * progress)) / 2, start, end, steps)


def _schedule(shape: Callable[[float], float], start: float, end: float, steps: int) -> Schedule:
    _check_range("start", start)
    _check_range("end", end)
    if steps < 1:
        raise ValueError(f"a schedule needs at least one step, got steps={steps}")

    def lr(step: float) -> float:
        if step < 0:
            raise ValueError(f"a schedule starts at step 0, got step {step}")
        return start + (end - start) * shape(step / steps) if step < steps else end

    return lr


def _checked(parameters: Iterable[Any], name: str) -> tuple[list[str], list[Any]]:
    if not isinstance(parameters, Iterable):
        raise TypeError(
            f"{name} expects a list of parameters, got {type(parameters).__name__}: "
            "model.parameters() gives those of a model"
        )
    pairs = [p if isinstance(p, tuple) and len(p) == 2 else ("", p) for p in parameters]
    checked = [p for _, p in pairs]
    names = []
    for i, (given, p) in enumerate(pairs):
        label = given or getattr(p, "label", "")
        names.append(f"parameter {i} ({label!r})" if label else f"parameter {i}")
    if not checked:
        raise ValueError(f"{name} expects at least one parameter, got none: nothing could learn")
    first: dict[int, int] = {}
    for i, p in enumerate(checked):
        if not (hasattr(p, "data") and hasattr(p, "grad")):
            raise TypeError(
                f"{name} expects parameters with data and grad, got {p!r:.60} as number {i}: "
                "model.parameters() gives those of a model"
            )
        if first.setdefault(id(p), i) != i:
            raise ValueError(
                f"{name} got {names[i]} twice, as number {first[id(p)]} too: "
                "it would move twice in a step; list every parameter once"
            )
    return names, checked


def _check_range(name: str, number: float, below: float = math.inf) -> None:
    try:
        is_inside = 0 <= number < below
    except TypeError:
        got = f"got {number!r}: convert it with float()"
        raise TypeError(f"{name} expects a number in [0, {below}), {got}") from None
    if not is_inside:
        raise ValueError(f"{name} expects a number in [0, {below}), got {number}")


def _check_finite(names: list[str], parameters: Sequence[Any], row: Any) -> None:
    if row is not None and math.isfinite(row.grad.dot(row.grad)):  # quick, and right if it says so
        return
    for name, p in zip(names, parameters, strict=True):
        if not isinstance(p.grad, (int, float)) and not hasattr(p.grad, "__float__"):
            raise TypeError(
                f"expected a number as the gradient of {name}, got {p.grad!r:.40}: call backward() "
                "before step(), and reset gradients to 0"
            )
        if not math.isfinite(p.grad):
            raise ValueError(
                f"the gradient of {name} is {p.grad}, so no parameter was changed: a lower "
                "learning rate or clip_grad_norm keeps training from running away"
            )


def _row(parameters: Sequence[Any], move: bool = True) -> Any:
    # A parameter that lives in an array knows how to find the row of all, if there is one; to be
    # neighbours, they may move.
    row_of = next((p.row_of for p in parameters if hasattr(p, "row_of")), None)
    return row_of(parameters, move) if row_of else None
