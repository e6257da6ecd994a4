"""Optimizers, which update parameters from their gradients.

    >>> class Parameter:
    ...     data, grad = 3.0, 6.0
    >>> p = Parameter()
    >>> optimizer = SGD([p])
    >>> for step in range(2):  # normally after zero_grad() and loss.backward()
    ...     optimizer.lr = 0.25 * (1 - step / 2)  # 0.25, then 0.125
    ...     optimizer.step()
    >>> p.data
    0.75

Nothing here depends on Value: a parameter is any object with `data` and `grad`. A rule is a pure
function of numbers, which may also be arrays (all parameters of a compiled function at once) or
traced numbers (compiled training and pages). Arguments, defaults and rules are PyTorch's.

Symbols: p parameter, g gradient, v velocity, m running mean of g, s running mean of g^2, t step.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias

from micrograd.core.arithmetic import Number, as_number
from micrograd.core.hints import hinted

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "clip_grad_norm"]

Given: TypeAlias = Iterable[Any]  # parameters, arrays of them, or pairs of a name and one of them
Updated: TypeAlias = tuple[Number, dict[str, Number]]  # the new number, and the new state


class Optimizer:
    """The base class of all optimizers; a subclass defines the update `rule`.

    The rule gets a parameter's number, gradient, state and the learning rate. It returns the
    new number and state. The state is a dict of what is kept from step to step, each at first 0.0.

    Attributes:
        parameters: pass `model.parameters()`, or `model.named_parameters()` for error messages.
        lr: learning rate; may be changed between steps.
        weight_decay: how strongly parameters are pulled towards 0.

    >>> class HeavyBall(Optimizer):
    ...     def rule(self, p, g, state, lr):
    ...         v = 0.9 * state["v"] + g
    ...         return p - lr * v, {"v": v}
    >>> from micrograd.engine import Value
    >>> HeavyBall([Value(3.0)], lr=0.1).parameters
    (Value(data=3.0, grad=0),)
    """

    # What each setting must be below; all are at least 0, which is checked when one is set.
    _settings: ClassVar = {"lr": math.inf, "weight_decay": math.inf}

    def __init__(self, parameters: Given, lr: float, weight_decay: float = 0) -> None:
        are_ours = type(self).rule.__module__ == type(self).decayed.__module__ == __name__
        self._parameters = Parameters(parameters, type(self).__name__, at_once=are_ours)
        self.parameters: tuple[Any, ...] = self._parameters.all
        self.lr = lr
        self.weight_decay = weight_decay
        self.steps = 0
        self._read = attrgetter(*self._settings)

    def __setattr__(self, name: str, given: Any) -> None:
        if name in self._settings:
            given = _in_range(name, given, self._settings[name])
        object.__setattr__(self, name, given)

    def step(self) -> None:
        """Updates every parameter once, or none if a gradient is invalid."""
        with self._parameters.held():
            entries = self._parameters.entries()
            self._parameters.check_gradients()
            self.steps += 1
            lr, *others = self.at_step(self.steps)
            with self._parameters.quietly():
                for i, p in entries:
                    if getattr(p, "requires_grad", True):
                        number, g = self.decayed(p.data, p.grad, lr, self.weight_decay)
                        state = self._parameters.state_of(i)
                        p.data, new = self.rule(number, g, state, lr, *others)
                        for name in new:
                            self._parameters.state(name)[i] = new[name]

    def zero_grad(self) -> None:
        """Resets all gradients to 0; otherwise the next backward pass would add to them."""
        with self._parameters.held():
            for _, p in self._parameters.entries():
                p.grad = 0

    def at_step(self, step: Number) -> tuple[Number, ...]:
        """What a rule gets besides the state: lr, and further numbers that change in each step."""
        return (self.lr,)

    def decayed(self, p: Number, g: Number, lr: Number, decay: Number) -> tuple[Number, Number]:
        """A parameter and its gradient, one of which has the weight decay; by default, g."""
        return p, g + decay * p if decay else g

    def rule(self, p: Number, g: Number, state: Mapping[str, Number], *numbers: Any) -> Updated:
        """The new number of a parameter, and its new state."""
        raise NotImplementedError(f"{type(self).__name__} must define rule(p, g, state, lr)")


class SGD(Optimizer):
    """Gradient descent, optionally with momentum.

        g = g + weight_decay p
        v = momentum v + g                        (v = g in the first step)
        p = p - lr v                              (lr (g + momentum v) with nesterov)

    Args:
        momentum: fraction of the velocity that is kept, at least 0; 0 is plain gradient descent.

    Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in
    deep learning", 2013, in PyTorch's form, where lr multiplies the velocity.

    >>> from micrograd.engine import Value
    >>> p = Value(1.0)
    >>> p.grad = 0.5
    >>> SGD([p], lr=0.1).step()
    >>> round(p.data, 6)
    0.95
    """

    _settings: ClassVar = {**Optimizer._settings, "momentum": math.inf, "nesterov": 2}

    def __init__(
        self,
        parameters: Given,
        lr: float = 1e-3,
        momentum: float = 0,
        *,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        self.momentum = momentum
        self.nesterov = nesterov
        super().__init__(parameters, lr, weight_decay)
        if nesterov and momentum == 0:
            raise ValueError("nesterov needs momentum > 0, got momentum=0")

    def rule(self, p: Number, g: Number, state: Mapping[str, Number], lr: Number) -> Updated:
        """One step along the velocity, or against the gradient if nothing is kept."""
        if not self.momentum:
            return p - lr * g, {}
        v = self.momentum * state["v"] + g
        return p - lr * (g + self.momentum * v if self.nesterov else v), {"v": v}


class Adam(Optimizer):
    """Adam: steps of about lr for every parameter, however large or small its gradients are.

        g = g + weight_decay p
        m = beta1 m + (1 - beta1) g
        s = beta2 s + (1 - beta2) g^2
        p = p - lr (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + eps)

    m and s start at 0 and so are too small at first; dividing by 1 - beta^t corrects this.

    Args:
        betas: fractions of m and s that are kept in each step, both in [0, 1).
        eps: added to the divisor to keep it away from 0; at least 0.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1.

    >>> from micrograd.engine import Value
    >>> p = Value(1.0)
    >>> p.grad = 0.5
    >>> Adam([p], lr=0.1).step()
    >>> round(p.data, 6)
    0.9
    """

    _settings: ClassVar = {**Optimizer._settings, "betas": 1, "eps": math.inf}

    def __init__(
        self,
        parameters: Given,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
    ) -> None:
        self.betas = betas
        self.eps = eps
        super().__init__(parameters, lr, weight_decay)

    def at_step(self, step: Number) -> tuple[Number, ...]:
        """The learning rate, and the divisors 1 - beta^t."""
        beta1, beta2 = self.betas
        return self.lr, 1 - beta1**step, 1 - beta2**step

    def rule(self, p: Number, g: Number, state: Mapping[str, Number], *numbers: Number) -> Updated:
        """One step against the mean gradient, in units of its root mean square."""
        (beta1, beta2), (lr, part1, part2) = self.betas, numbers
        m = beta1 * state["m"] + (1 - beta1) * g
        s = beta2 * state["s"] + (1 - beta2) * g * g
        divisor = (s / part2) ** 0.5 + self.eps
        # The divisor is 0 if eps and all gradients so far are 0: divide 0 by 1 instead.
        return p - lr * (m / part1) / (divisor + (divisor <= 0)), {"m": m, "s": s}


class AdamW(Adam):
    """Adam with weight decay applied to the parameter directly, not added to the gradient.

        p = p - lr weight_decay p,        then Adam without weight decay

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2, with
    the decay multiplied by lr as in PyTorch.

    >>> from micrograd.engine import Value
    >>> p = Value(1.0)
    >>> p.grad = 0.5
    >>> AdamW([p], lr=0.1).step()
    >>> round(p.data, 6)
    0.899
    """

    def __init__(
        self,
        parameters: Given,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def decayed(self, p: Number, g: Number, lr: Number, decay: Number) -> tuple[Number, Number]:
        """The parameter, pulled towards 0, and its gradient as it is."""
        return p - lr * decay * p, g


def clip_grad_norm(parameters: Given, max_norm: float) -> float:
    """The joint norm of all gradients; if it exceeds max_norm, they are scaled to that norm.

        norm = sqrt(sum of g^2)        g = g max_norm / norm   if norm > max_norm

    Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks",
    2013, algorithm 1. (PyTorch's `clip_grad_norm_` adds 1e-6 to the norm.)

    >>> from micrograd.engine import Value
    >>> p, q = Value(0.0), Value(0.0)
    >>> p.grad, q.grad = 3.0, 4.0
    >>> clip_grad_norm([p, q], max_norm=1.0), round(p.grad, 6), round(q.grad, 6)
    (5.0, 0.6, 0.8)
    """
    found = Parameters(parameters, "clip_grad_norm")
    found.check_gradients()
    max_norm = as_number(max_norm)  # NumPy's would make the gradients NumPy's
    norm = math.hypot(*(p.grad for p in found.all))
    for p in found.all if norm > max_norm else ():
        p.grad *= max_norm / norm
    return norm


def _in_range(name: str, given: Any, below: float = math.inf) -> Any:
    # The number; one of NumPy's becomes Python's, or it would make the parameters NumPy's, too.
    if isinstance(given, (tuple, list)):
        return tuple(_in_range(f"{name}[{i}]", one, below) for i, one in enumerate(given))
    number = given if type(given) in (int, float) else as_number(given, like=0)
    if number is NotImplemented or not 0 <= number < below:
        raise ValueError(f"{name} expects a number in [0, {below}), got {given!r}")
    return number


# ---- parameters one by one, or together as one row


class Parameters:
    """The parameters of an optimizer, and the numbers that the optimizer keeps for each of them.

    The parameters of a compiled function share storage: their numbers are in one array. Such a
    parameter has a method `row_of`, which returns the `row`, an object whose `data` and `grad` are
    the arrays of all, for rules that work on arrays (`at_once`). Its `lock` is held as they move.
    """

    def __init__(self, given: Given, user: str, at_once: bool = False) -> None:
        found: dict[int, tuple[str, Any]] = {}  # the key is the id
        fix = "pass model.parameters()"
        if callable(own := getattr(given, "parameters", None)):  # a model
            given = own()
        several = hasattr(given, "__iter__") and getattr(given, "shape", None) != ()
        for name, p in _pairs(given if several else [given]):
            label = name or getattr(p, "label", "")
            shown = f"parameter {len(found)}" + (f" ({label!r})" if label else "")
            if not (hasattr(p, "data") and hasattr(p, "grad")):
                got = f"got {p!r:.60} as {shown}: {fix}"
                raise TypeError(f"{user} expects parameters with data and grad, {got}")
            if id(p) in found:  # it would be updated twice in a step
                got = f"got {shown} also as {found[id(p)][0]}: remove one of them"
                raise ValueError(f"{user} expects each parameter once, {got}")
            found[id(p)] = shown, p
        if not found:
            raise ValueError(f"{user} expects at least one parameter, got none: {fix}")
        self.names, self.all = zip(*found.values(), strict=True)
        self.row: Any = None
        self._at_once = at_once
        self._states: dict[str, Any] = {}

    def held(self) -> AbstractContextManager[object]:
        """A block in which no parameter moves to another storage."""
        stored = self.row or next((p for p in self.all if hasattr(p, "row_of")), None)
        return stored.lock if stored else nullcontext()

    def entries(self) -> list[tuple[Any, Any]]:
        """Pairs (index into `state(name)`, parameter), or one pair (all indices, row)."""
        self.find_row()
        return [*enumerate(self.all)] if self.row is None else [(slice(None), self.row)]

    def quietly(self) -> AbstractContextManager[object]:
        """A block in which arithmetic on the row overflows without a warning, as with floats."""
        if self.row is None:
            return nullcontext()
        import numpy as np

        return np.errstate(over="ignore", invalid="ignore")

    def find_row(self) -> None:
        """Sets `row`, and makes its numbers contiguous in the storage."""
        if not self._at_once or (self.row is not None and self.row.is_current):
            return
        row_of = next((p.row_of for p in self.all if hasattr(p, "row_of")), lambda parameters: None)
        row = row_of(self.all)
        if row is not self.row:
            lists, self.row = self._lists(), row
            self._states = {name: self._arranged(numbers) for name, numbers in lists.items()}

    def state(self, name: str) -> Any:
        """Numbers kept from one step to the next, one for each parameter, initially 0.0."""
        if name not in self._states:
            self._states[name] = self._arranged([0.0] * len(self.all))
        return self._states[name]

    def state_of(self, i: Any) -> dict[str, Number]:
        """What is kept of one parameter, or of the row, by name; each is at first 0.0."""
        return defaultdict(float, {name: numbers[i] for name, numbers in self._states.items()})

    def check_gradients(self) -> None:
        """Raises a ValueError if a gradient is not a finite number."""
        if self.row is not None:  # NumPy finds NaN first
            g = self.row.grad
            if math.isfinite(g[g.argmax()]) and math.isfinite(g[g.argmin()]):
                return
        for name, p in zip(self.names, self.all, strict=True):  # float first, as it is quicker
            if not isinstance(p.grad, (float, Real)) or not math.isfinite(p.grad):
                fix = "reset gradients, leave out examples with NaN, or try a lower learning rate"
                got = f"{p.grad!r:.40}, so no parameter was changed"
                raise ValueError(f"the gradient of {name} is {got}: {fix}")

    def __getstate__(self) -> dict[str, Any]:
        # A copied parameter does not share the storage of the original.
        return {**self.__dict__, "row": None, "_states": self._lists()}

    def _lists(self) -> dict[str, list[float]]:
        if self.row is None:
            return self._states
        return {name: array[self.row.ranks].tolist() for name, array in self._states.items()}

    def _arranged(self, numbers: list[float]) -> Any:
        if self.row is None:
            return numbers
        array = self.row.data.copy()
        array[self.row.ranks] = numbers
        return array


def _pairs(given: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    # Pairs (name or '', parameter); an array of Values is replaced by its elements.
    for entry in given:
        name, p = entry if isinstance(entry, tuple) and len(entry) == 2 else ("", entry)
        if str(getattr(p, "dtype", "")) == "object":
            yield from ((name and f"{name}[{i}]", v) for i, v in enumerate(p.ravel().tolist()))
        else:
            yield name, p


globals()["__getattr__"] = hinted(__name__)  # not `def`: type checkers would accept any name
