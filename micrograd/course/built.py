"""The last page of the course: what a learner has built, and what their own engine can do."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd.course import gpt
from micrograd.course.tasks import Names, text
from micrograd.datasets import moons
from micrograd.engine import Value

NAME = "emma"
NEEDED = {"exp": "exp", "log": "log", "relu": "relu", "**": "__pow__"}  # for the GPT
OPERATIONS = {
    "+": "__add__", "*": "__mul__", "-": "__sub__", "/": "__truediv__", "**": "__pow__",
    "tanh": "tanh", "exp": "exp", "log": "log", "relu": "relu",
}  # fmt: skip
PARTS = ("slope", "Value", "topological_order", "Neuron", "Layer", "MLP", "training_step")


def parts_of(names: Names) -> str:
    """HTML of what the program defines, and what it lacks."""
    there = [name for name in PARTS if name in names]
    lacking = [name for name in PARTS if name not in names]
    own = [sign for sign, method in OPERATIONS.items() if hasattr(names.get("Value"), method)]
    lines = [text("built-parts", what=", ".join(there) or "-")]
    if own:
        lines.append(text("built-operations", what=" ".join(own)))
    if lacking:
        lines.append(text("built-lacking", what=", ".join(lacking)))
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def trained(
    names: Names, watch: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> tuple[Any, list[list[float]], list[int]] | None:
    """A network of the learner's own, trained here on two moons; None if a part is missing."""
    if not {"MLP", "training_step"} <= names.keys():
        return None
    X, y = moons(20, noise=0.1, seed=2)
    model = names["MLP"](2, [8, 1])
    step = watch(names["training_step"])
    for _ in range(40):
        step(model, X, [2 * label - 1 for label in y], 0.05)
    return model, X, y


def gpt_beside_ours(kind: Any) -> str:
    """HTML of a step of a small GPT with the learner's class and with ours, or what is missing."""
    title = f"<h2>{html.escape(text('built-gpt', name=NAME))}</h2>"
    lacking = [sign for sign, method in NEEDED.items() if not hasattr(kind, method)]
    if lacking:
        return title + f"<p>{html.escape(text('built-add', what=', '.join(lacking)))}</p>"
    ours = gpt.gpt_step(Value, NAME)
    try:
        yours = gpt.gpt_step(kind, NAME)
    except Exception as error:
        found = text("built-error", what=f"{type(error).__name__}: {error}"[:300])
        return title + f"<p>{html.escape(found)}</p>"
    largest = max(abs(a - b) for a, b in zip(yours[2], ours[2], strict=True))
    rows = [
        (text("built-before"), *(f"{x[0]:.9f}" for x in (yours, ours))),
        (text("built-after"), *(f"{x[1]:.9f}" for x in (yours, ours))),
        (text("built-largest"), *(f"{max(map(abs, x[2])):.9f}" for x in (yours, ours))),
    ]
    body = "".join(f"<tr><th>{a}</th><td>{b}</td><td>{c}</td></tr>" for a, b, c in rows)
    source = html.escape(Path(gpt.__file__).read_text(encoding="utf-8"))
    head = f"<tr><td></td><th>{text('built-yours')}</th><th>{text('built-ours')}</th></tr>"
    apart = text("built-apart", count=len(ours[2]), difference=f"{largest:.1e}")
    code = f"<details><summary>gpt.py</summary><pre>{source}</pre></details>"
    return f"{title}<table>{head}{body}</table><p>{apart}</p>{code}"
