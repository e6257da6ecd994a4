"""Update rules of optimizers, recorded from their code as data for a page."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

from micrograd.core.tracing import Recording, Traced
from micrograd.optim import Adam, Optimizer
from micrograd.pages.pieces import Formula, as_number


def recorded_update(optimizer: Optimizer) -> dict[str, Any]:
    """The rule by which an optimizer updates a parameter, with its momentum, betas and eps.

    Returns:
        A dict of `memory`, the names of what it keeps for each parameter; `steps`, formulas of
        numbers and names: w and g for the parameter and its gradient, rate, decay, t for the number
        of this step from 1, the names in `memory`, and v0, v1, ... for earlier formulas; and
        `figures`, the results: d, the gradient with the decay; pulled, the parameter with the
        decay; what it keeps; mean and root, m and the root of s corrected; next, the new parameter.

    >>> from micrograd.engine import Value
    >>> from micrograd.optim import SGD
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


class _Setting(Traced):
    # A setting that the page can change: the rule does not leave out a decay that may be 0.
    __slots__ = ()

    def __bool__(self) -> bool:  # type: ignore[override]
        return True
