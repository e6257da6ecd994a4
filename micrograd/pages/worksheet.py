"""A page to print: graphs whose numbers are worked out by hand, and their solutions.

>>> worksheet(exercise(level=1), exercise(level=2))
<worksheet with 2 graphs: .show() opens it, .save('page.html') writes it>
"""

from __future__ import annotations

import html
import os
import random
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from operator import add, mul, sub, truediv
from typing import Any

from micrograd.core.errors import FAILURES
from micrograd.core.pause import restored
from micrograd.draw.dot import draw_dot
from micrograd.draw.formulas import formula, number
from micrograd.draw.graph import graph
from micrograd.draw.records import columns
from micrograd.draw.render import in_notebook
from micrograd.engine import Value, topological_order
from micrograd.pages.page import Page
from micrograd.program.calls import computed
from micrograd.program.foreign import as_ours
from micrograd.program.variables import variables
from micrograd.texts import said, spoken

WIDEST = 5  # columns; the letters of a wider graph would be too small on paper that is not turned
LARGEST, FINEST = 40, 4  # numerator and denominator of the numbers in an exercise
# What an exercise of levels 1 to 3 is made of: b an operation on two results that are not used yet,
# d their quotient, r an operation that uses some number again, u one with a single operand.
STEPS = {1: "bb", 2: "bbr", 3: "dbru"}


@spoken
def worksheet(
    *losses: Any,
    names: Mapping[str, object] | None = None,
    title: str | None = None,
    language: str | None = None,
    texts: str | os.PathLike[str] | None = None,
) -> Page:
    """A page to print: each graph with empty boxes, and from a new sheet on, all solutions.

    The numbers of leaves are given; data of results and all gradients are to be filled in. The
    solutions have the contributions to each gradient. The gradients of your graphs stay.

    The arguments are as in `explain`; `exercise` makes random losses. Without a loss, it is a
    ValueError.

    >>> a, b = Value(2.0), Value(-3.0)
    >>> worksheet(a * b + a)
    <worksheet with 1 graph: .show() opens it, .save('page.html') writes it>
    """
    if not losses:
        raise ValueError("worksheet expects at least one loss, got none: try exercise(level=1)")
    given = as_ours([computed(loss) for loss in losses], variables(names))
    tasks = [_task(n, loss, given[1]) for n, loss in enumerate(given[0], 1)]
    blank, solved = map("".join, zip(*tasks, strict=True))
    about = f"worksheet with {len(tasks)} graph{'s' * (len(tasks) > 1)}"
    return Page("worksheet", {}, about, 760, title, tasks=blank, solutions=solved)


def _task(n: int, loss: Value, names: Mapping[str, object]) -> tuple[str, str]:
    # The formulas and the picture with empty boxes, and the solution.
    drawn = graph(loss, names=names)
    size = "wide" if max(columns(drawn).values()) >= WIDEST else ""
    head = f'<section class="{size}"><h2>{html.escape(said("pages", "worksheet.task", n=n))}</h2>'
    look: dict[str, Any] = {"names": names, "level": "op"}
    named = {box.number: box.short or number(box.data) for box in drawn.nodes}
    results = [box for box in drawn.nodes if box.operands]
    lines = [f"{b.short} = {formula(b.op, [named[x] for x in b.operands])}" for b in results]
    is_told = all(box.short for box in results)
    told = f'<p class="formulas">{html.escape("; ".join(lines))}</p>' if is_told else ""
    with restored(order := topological_order(loss)):
        for node in order:
            node.grad = 0
        loss.backward()
        pictures = draw_dot(loss, blanks=True, **look), draw_dot(loss, edges="derivatives", **look)
        for picture in pictures:
            picture.attr(ranksep="0.25")
        svgs = (each.pipe("svg", encoding="utf-8") for each in pictures)
        # on a phone, they are also scrolled with the keyboard
        blank, solved = (in_notebook(svg).replace("<div", '<div tabindex="0"', 1) for svg in svgs)
    return f"{head}{told}{blank}</section>", f"{head}{solved}</section>"


@spoken
def exercises(level: int = 1, seed: int = 0, tasks: int = 2, language: str | None = None) -> Page:
    """A worksheet of several random graphs; another seed gives others.

    `level` is as in `exercise`, `language` as in `explain`.

    >>> exercises(level=2, seed=7)
    <worksheet with 2 graphs: .show() opens it, .save('page.html') writes it>
    """
    losses = [exercise(level, 1000 * seed + i) for i in range(tasks)]
    told = {"title": said("pages", "worksheet.title"), "level": level, "seed": str(seed)}
    return worksheet(*losses, names={}, title=said("pages", "worksheet.level", **told))


def exercise(level: int = 1, seed: int = 0) -> Value:
    """The result of a random small graph, whose gradients can be worked out by hand.

    All of its numbers, gradients too, are small whole numbers, or from level 3 on, simple
    fractions. Its Values have labels.

    Args:
        level: 1 is sums, differences and products; in 2, a number is used twice, so that its
            gradient is a sum; 3 has quotients, squares and ReLUs, too; 4 is a neuron with its
            squared error, or a line with those of two points.
        seed: another one gives another graph; in level 4, even ones a neuron, odd ones a line.

    Raises:
        ValueError: the level is not 1, 2, 3 or 4.

    >>> loss = exercise(level=2, seed=7)
    >>> loss.backward()
    >>> [f"{v.label} = {v.data}, gradient {v.grad}" for v in topological_order(loss)[:2]]
    ['b = 3, gradient 1', 'a = -1, gradient 2']
    """
    if level not in (*STEPS, 4):
        raise ValueError(f"exercise expects a level from 1 to 4, got {level!r}")
    rng = random.Random(f"{level} {seed}")
    while True:
        try:
            made = _network(rng, seed % 2) if level == 4 else _graph(rng, STEPS[level])
            order = topological_order(made)
            order[-1].backward()
        except FAILURES:  # a division by zero
            continue
        numbers = [x for v in order for x in (Fraction(v.data), Fraction(v.grad))]
        if all(x and abs(x) <= LARGEST and x.denominator <= FINEST for x in numbers):
            for v in order:
                v.grad = 0
            return order[-1]


def _graph(rng: random.Random, steps: str) -> Value:
    labels = iter("abcdefghijk")
    leaves = [_leaf(rng, next(labels)) for _ in range(1 + sum(step in "bd" for step in steps))]
    known, unused = [*leaves], [*leaves]
    for step in rng.sample(steps, len(steps)):
        x = unused.pop(rng.randrange(len(unused)))
        if step == "u":
            made = x**2 if rng.random() < 0.5 else x.relu()
        else:
            y = rng.choice(known) if step == "r" else unused.pop(rng.randrange(len(unused)))
            made = rng.choice([truediv] if step == "d" else [add, sub, mul, mul])(x, y)
        made.label = next(labels)
        unused.append(made)
        known.append(made)
    made.label = "L"
    return made


def _network(rng: random.Random, is_line: int) -> Value:
    # A neuron and its squared error; or a line, and its squared errors at two points.
    def named(label: str, value: Value) -> Value:
        value.label = label
        return value

    leaf = partial(_leaf, rng)
    if not is_line:
        products = [named(f"p{i}", leaf(f"x{i}") * leaf(f"w{i}")) for i in (1, 2)]
        act = named("act", named("sum", products[0] + products[1]) + leaf("b"))
        return named("L", named("d", named("out", act.relu()) - leaf("y")) ** 2)
    w, b = leaf("w"), leaf("b")
    outputs = [named(f"o{i}", named(f"p{i}", w * leaf(f"x{i}")) + b) for i in (1, 2)]
    errors = [named(f"d{i}", out - leaf(f"y{i}")) for i, out in enumerate(outputs, 1)]
    first, second = (named(f"s{i}", d**2) for i, d in enumerate(errors, 1))
    return named("L", first + second)


def _leaf(rng: random.Random, label: str) -> Value:
    return Value(Fraction(rng.choice([-4, -3, -2, -1, 1, 2, 3, 4, 5])), label=label)
