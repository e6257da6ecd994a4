"""The program as Python text, number by number.

The text defines a function of the parameters and of the inputs, with a row for each number of an
example. A variable holds one number, or a row with a number for each example; NumPy computes with
both in the same way. A short expression that is used once is written where it is used.

    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> x, w, b = (recording.input(0.0) for _ in range(3))
    >>> y = (x * w + b).tanh().place
    >>> print(source(recording.instructions, ["x"], {1: "w", 2: "b"}, [y]), end="")
    from numpy import tanh
    <BLANKLINE>
    <BLANKLINE>
    def program(parameters, inputs):
        [w, b] = parameters
        [x] = inputs
        result = tanh(x * w + b)
        return [result]

It is written from the instructions, before they are fused, so it checks all later passes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from micrograd.compiler.averages import uses
from micrograd.compiler.expressions import ATOM, Expression, expression, identifiers
from micrograd.compiler.simplify import Instructions
from micrograd.core.naming import distinct

Array = npt.NDArray[Any]

WIDTH = 100  # characters in a line
SHORT = 50  # expressions of up to this many characters may be written inside others
SPACE = "\N{NO-BREAK SPACE}"  # where a line must not be wrapped
EQUALS = f"{SPACE}={SPACE}"
OF_NUMPY = {
    *("cos", "divide", "exp", "inf", "log", "maximum", "mean", "minimum", "nan", "power", "sin"),
    *("sqrt", "tanh", "where"),
}
OF_THIS_FILE = {"sigmoid", "take"}
OF_CONSTANTS = {"/": "divide", "**": "power"}  # Python's own operators raise errors


def sigmoid(x: Any) -> Any:
    """The logistic function 1 / (1 + exp(-x)), without overflow.

    >>> sigmoid(np.array([0.0, -1000.0]))
    array([0.5, 0. ])
    """
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0)[()] / (1.0 + e)


def take(table: Sequence[Any], index: Any) -> Any:
    """`table[index]` in each example.

    >>> take([np.array([5.0, 6.0]), 7.0], np.array([0.0, 1.0]))
    array([5., 7.])
    """
    *rows, places = np.broadcast_arrays(*table, index)
    return np.take_along_axis(np.stack(rows), places.astype(int)[None], 0)[0]


def source(
    steps: Instructions,
    inputs: Sequence[str],
    parameters: Mapping[int, str],
    results: Sequence[int],
    gradients: Sequence[int] | None = None,
    name: str = "result",
) -> str:
    """The text of a program.

    Its function returns a list of the results. If `gradients` are given, it returns the mean of the
    result and a list of its gradients.

    Args:
        steps: the instructions of a recording, inputs first.
        inputs: a name for each input.
        parameters: maps the place of each parameter to its label, or to ''.
        results: the places of the results; with gradients, the place of one mean result.
        gradients: the places of the mean gradients, one for each parameter.
        name: a name for the result; ignored if it is not an identifier.
    """
    known = {"parameters", "inputs", *OF_NUMPY, *OF_THIS_FILE}
    labels = [label or f"p{i}" for i, label in enumerate(parameters.values())]
    names = identifiers([*inputs, *labels], known)
    n = len(inputs)
    texts: dict[int, Expression] = {
        place: (name, ATOM) for place, name in zip([*range(n), *parameters], names, strict=True)
    }
    name = name if name.isidentifier() else "result"
    wanted = [name] if len(results) == 1 else [f"{name}_{i}" for i in range(len(results))]
    wanted += [] if gradients is None else [f"{p}_grad" for p in names[n:]]
    wanted = distinct(identifiers(wanted), "{}_{}", {*known, *names})
    name_of = dict(zip([*results, *(gradients or ())], wanted, strict=True))
    lines = [f"[{', '.join(names[n:])}]{EQUALS}parameters"] if parameters else []
    lines += [f"[{', '.join(names[:n])}]{EQUALS}inputs"] if inputs else []
    used: set[str] = set()
    numbered = (f"v{i}" for i in range(1, len(steps)) if f"v{i}" not in {*names, *wanted})
    operands_of = steps.operands
    for place, count in enumerate(uses(operands_of, [*results, *(gradients or ())])):
        if not count or place in texts:
            continue
        op, operands = steps.ops[place], operands_of[place]
        if all(steps.ops[i] == "constant" for i in operands):
            op = OF_CONSTANTS.get(op, op)
        given = [texts[i] for i in operands]
        if op == "relu":
            op, given = "maximum", [*given, ("0.0", ATOM)]
        number = float(steps.numbers[place]) if op == "constant" else None
        text, rank = expression("==" if op == "is" else op, given, number)
        used.add(op if number is None else text.lstrip("-"))
        is_short = number is not None or (count == 1 and len(text) <= SHORT)
        if not is_short or place in name_of:
            variable = name_of.get(place) or next(numbered)
            fits = len(variable) + len(text) < WIDTH - 8
            lines.append(f"{variable}{EQUALS}{text}" if fits else f"{variable}{EQUALS}({text})")
            text, rank = variable, ATOM
        texts[place] = text, rank
    listed = ", ".join(texts[i][0] for i in results)
    if gradients is None:
        lines.append(f"return{SPACE}[{listed}]")
    else:
        found = ", ".join(texts[i][0] for i in gradients)
        lines.append(f"return{SPACE}{listed},{SPACE}[{found}]")
    head = [
        f"from {module} import {', '.join(sorted(used & found))}"
        for module, found in ((__name__, OF_THIS_FILE), ("numpy", OF_NUMPY))
        if used & found
    ]
    head += ["", ""] if head else []
    return "\n".join([*head, "def program(parameters, inputs):", *map(wrapped, lines), ""])


def wrapped(line: str) -> str:
    """An indented line of the text, broken into several if it is too long."""
    indents = {"initial_indent": " " * 4, "subsequent_indent": " " * 8}
    unbroken = {"break_long_words": False, "break_on_hyphens": False}
    filled = textwrap.fill(line, WIDTH, **indents, **unbroken)  # type: ignore[arg-type]
    return filled.replace(SPACE, " ")
