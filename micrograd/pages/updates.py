"""Optimizers as data for a page: their update rules, recorded from their code, and their state."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from micrograd.core.tracing import Recording, Traced
from micrograd.engine import Value
from micrograd.optim import SGD, Adam, AdamW, Optimizer
from micrograd.pages.pieces import Formula, as_number


def recorded_update(optimizer: Optimizer) -> dict[str, Any]:
    """The rule by which an optimizer updates a parameter, with its momentum, betas and eps.

    Returns:
        A dict of `memory`, the names of what it keeps for each parameter; `steps`, formulas of
        numbers and names: w and g for the parameter and its gradient, rate, decay, t for the number
        of this step from 1, the names in `memory`, and v0, v1, ... for earlier formulas; and
        `figures`, the results: d, the gradient with the decay; pulled, the parameter with the
        decay; what it keeps; mean and root, m and the root of s corrected; next, the new parameter.

    >>> recorded_update(SGD([Value(0.0)]))["steps"]  # g + decay w, then w - rate v1
    [['*', 'decay', 'w'], ['+', 'g', 'v0'], ['*', 'rate', 'v1'], ['-', 'w', 'v2']]
    """
    recording = Recording()
    called: dict[int, Any] = {}  # what the page calls the result of each instruction
    memory: dict[str, list[Any]] = {}

    def given(name: str) -> Traced:
        number = _Setting(recording, recording.add("input", ()))
        called[number.place] = name
        return number

    def state(name: str) -> list[Any]:
        return memory.setdefault(name, [given(name)])

    def first(op: str, operand: int) -> int:
        return next(i for i, s in enumerate(steps) if s.op == op and s.operands[0] == operand)

    p, g = SimpleNamespace(data=given("w")), given("g")
    tracing: Any = copy.copy(optimizer)
    tracing.lr, tracing.weight_decay = given("rate"), given("decay")
    tracing._parameters = SimpleNamespace(state=state)
    tracing._now = tracing._numbers(given("t"))
    figures = {"d": tracing._decayed(p, g), "pulled": p.data}
    tracing._update(0, p, figures["d"])
    figures |= {"next": p.data} | {name: kept for name, [kept] in memory.items()}
    places = {name: number.place for name, number in figures.items()}
    steps = recording.instructions
    if isinstance(optimizer, Adam):
        places["mean"] = first("/", places["m"])
        places["root"] = first("**", first("/", places["s"]))
    formulas: list[Formula] = []
    for i, step in enumerate(steps):
        if step.operands:
            formulas.append([step.op, *(called[place] for place in step.operands)])
            called[i] = f"v{len(formulas) - 1}"
        elif i not in called:
            called[i] = as_number(step.number)
    told = {name: called[place] for name, place in places.items()}
    return {"memory": list(memory), "steps": formulas, "figures": told}


def state_of(optimizer: Optimizer, parameters: Sequence[Value]) -> dict[str, Any]:
    """The settings of an optimizer, the steps it has taken, and what it keeps of each parameter.

    Raises:
        ValueError: it is not an SGD, Adam or AdamW of these parameters, or has nesterov.

    >>> state_of(SGD(p := [Value(0.0)], lr=0.1, momentum=0.9), p)
    {'name': 'Momentum', 'rate': 0.1, 'decay': 0, 'step': 0, 'kept': {'v': [0.0]}}
    """
    name = type(optimizer).__name__
    if type(optimizer) not in (SGD, Adam, AdamW) or getattr(optimizer, "nesterov", False):
        raise ValueError(f"the page has SGD, Adam and AdamW, without nesterov, got {name}")
    if set(optimizer.parameters) != set(parameters):
        fix = f"pass {name}(model.parameters())"
        raise ValueError(f"optimizer expects the parameters of the model: {fix}")
    place = {p: i for i, p in enumerate(optimizer.parameters)}
    memory = {kept: optimizer._state(kept) for kept in recorded_update(optimizer)["memory"]}
    return {
        "name": "Momentum" if "v" in memory else name,
        "rate": optimizer.lr,
        "decay": optimizer.weight_decay,
        "step": optimizer.steps,
        "kept": {of: [float(x[place[p]]) for p in parameters] for of, x in memory.items()},
    }


def call_of(optimizer: Optimizer) -> str:
    """The call that makes such an optimizer, in both packages; lr and weight_decay are gaps.

    >>> call_of(SGD([Value(1.0)], momentum=0.8))
    'SGD(model.parameters(), lr={rate}, momentum=0.8, weight_decay={decay})'
    """
    kept = {name: getattr(optimizer, name, None) for name in ("momentum", "betas", "eps")}
    settings = {"lr": "{rate}", **kept, "weight_decay": "{decay}"}
    given = ", ".join(f"{name}={setting}" for name, setting in settings.items() if setting)
    return f"{type(optimizer).__name__}(model.parameters(), {given})"


class _Setting(Traced):
    # A setting that the page can change: the rule does not leave out a decay that may be 0.
    __slots__ = ()

    def __bool__(self) -> bool:  # type: ignore[override]
        return True
