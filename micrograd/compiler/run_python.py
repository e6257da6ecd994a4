"""The program as readable Python text, which runs without NumPy.

The text defines a function of the parameters and of rows, with one row of inputs for each example.
First it computes all numbers that are the same in every example. Then a loop over the examples adds
up the terms of the means. Numbers that depend on the means come last. Numbers are local variables,
which Python accesses fastest; a short expression that is used once is written where it is used.

    >>> from micrograd.compiler.fuse import fused
    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> x, w, b = (recording.input(0.0) for _ in range(3))
    >>> y = (x * w + b).tanh().place
    >>> units = fused(recording.instructions, [y], parameters=[1, 2])
    >>> text = source(units, recording.instructions, ["x"], {1: "w", 2: "b"}, [y])
    >>> print(text, end="")
    from micrograd.compiler.run_python import tanh
    <BLANKLINE>
    <BLANKLINE>
    def program(parameters, rows):
        w, b = parameters
    <BLANKLINE>
        # in every example
        results = []
        for (x,) in rows:
            result = tanh(w * x + b)
            results.append(result)
        return results
    >>> function(text)([2.0, 0.0], [(0.0,), (0.5,)])
    [0.0, 0.7615941559557649]

The functions that the text imports from this file never raise an arithmetic error. They follow the
IEEE standard, as NumPy does: 1 / 0 is infinite, and the logarithm of a negative number is NaN.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, nan, tanh
from typing import Any

from micrograd.arithmetic import relu, sigmoid
from micrograd.compiler.fuse import AFTER, BEFORE, LANES, MEANS, ONE, SCATTERS, Fused, Unit
from micrograd.compiler.simplify import Instructions
from micrograd.source import (
    ATOM,
    CHOICE,
    COMPARISON,
    NEGATIVE,
    PRODUCT,
    SUM,
    Expression,
    bracketed,
    distinct,
    identifiers,
    number,
    operation,
)

__all__ = [  # all names that a text can import, and also `function` and `source`
    "cos", "divide", "exp", "function", "inf", "largest", "log", "nan", "power", "relu", "scatter",
    "sigmoid", "sin", "smallest", "source", "sqrt", "take", "tanh",
]  # fmt: skip

# ---- 1. Functions that accept every number


def divide(x: float, y: float) -> float:
    """The quotient x / y.

    >>> divide(1.0, -0.0), divide(0.0, 0.0)
    (-inf, nan)
    """
    try:
        return x / y
    except ZeroDivisionError:
        return x * math.copysign(inf, y)


def power(x: float, y: float) -> float:
    """The power x ** y.

    >>> power(-8.0, 1 / 3), power(0.0, -1.0), power(-10.0, 999.0)
    (nan, inf, -inf)
    """
    try:
        return math.pow(x, y)
    except OverflowError:
        return -inf if x < 0 and y % 2 == 1 else inf
    except ValueError:  # a fractional power of a negative number, or a negative power of 0
        return nan if x else math.copysign(inf, x) if y % 2 == 1 else inf


def exp(x: float) -> float:
    """The exponential of x.

    >>> exp(0.0), exp(1000.0)
    (1.0, inf)
    """
    try:
        return math.exp(x)
    except OverflowError:
        return inf


def log(x: float) -> float:
    """The natural logarithm of x.

    >>> log(0.0), log(-1.0)
    (-inf, nan)
    """
    try:
        return math.log(x)
    except ValueError:
        return nan if x else -inf


def _or_nan(of_float: Callable[[float], float]) -> Callable[[float], float]:
    """The function, with NaN where it is not defined.

    >>> sqrt(4.0), sqrt(-4.0), sin(inf)
    (2.0, nan, nan)
    """

    def function(x: float) -> float:
        try:
            return of_float(x)
        except ValueError:
            return nan

    return function


sqrt, sin, cos = _or_nan(math.sqrt), _or_nan(math.sin), _or_nan(math.cos)


def largest(*numbers: float) -> float:
    """The largest of the numbers, or NaN if one of them is NaN.

    >>> largest(1.0, 3.0, 2.0), largest(1.0, nan)
    (3.0, nan)
    """
    return nan if any(map(math.isnan, numbers)) else max(numbers)


def smallest(*numbers: float) -> float:
    """The smallest of the numbers, or NaN if one of them is NaN.

    >>> smallest(1.0, 3.0, 2.0), smallest(nan, 1.0)
    (1.0, nan)
    """
    return nan if any(map(math.isnan, numbers)) else min(numbers)


def take(table: Sequence[float], index: float) -> float:
    """`table[index]`, for a computed index.

    Raises:
        IndexError: the index is not an integer, or is out of range.

    >>> take((5.0, 6.0), 1.0)
    6.0
    """
    if not 0 <= index < len(table) or index != int(index):
        raise IndexError(f"take expects a whole number 0 <= index < {len(table)}, got {index:g}")
    return table[int(index)]


def scatter(totals: list[float], indices: Sequence[float], terms: Sequence[float]) -> list[float]:
    """The totals, after each term has been added at its index.

    >>> scatter([0.0, 0.0, 0.0], (2, 0, 2), (1.0, 5.0, 3.0))
    [5.0, 0.0, 4.0]
    """
    for index, x in zip(indices, terms, strict=True):
        totals[int(index)] += x
    return totals


# ---- 2. Running the text


def function(text: str) -> Callable[[Sequence[float], Sequence[Sequence[float]]], Any]:
    """The function that the text defines; it takes the parameters, and a row for each example."""
    names: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), names)
    found: Callable[[Sequence[float], Sequence[Sequence[float]]], Any] = names["program"]
    return found


# ---- 3. Writing the text

WIDTH = 100  # characters in a line
SHORT = 50  # expressions of up to this many characters may be written inside others
LONGEST = 64  # maximum number of terms in one expression: Python's compiler is recursive

_TAKEN = {*__all__, "abs", "int", "len", "n", "parameters", "program", "results", "rows"}
_BREAKS = re.compile(r"(?<=,) | (?=[-+] |if |else )")  # where a line may end


def source(
    fused: Fused,
    instructions: Instructions,
    inputs: Sequence[str],
    parameters: Mapping[int, str],
    results: Sequence[int],
    gradients: Sequence[int] | None = None,
    name: str = "result",
) -> str:
    """The text of a program.

    Its function returns a list with the result, or the list of results, of each example. If
    `gradients` are given, it returns the mean of the result and a list of the mean gradients.

    Args:
        fused: the units of the program, which are single or fused instructions.
        instructions: the instructions of a recording, inputs first; a place is a position in them.
        inputs: a name for each input.
        parameters: maps the place of each parameter to its label, or to ''.
        results: the places of the results; with gradients, the place of one mean result.
        gradients: the places of the mean gradients, one for each parameter.
        name: a name for the result; ignored if it is not an identifier.
    """
    name = name if name.isidentifier() else "result"
    writer = _Writer(fused, instructions, inputs, parameters)
    names = [name] if len(results) == 1 else [f"{name}_{i}" for i in range(len(results))]
    writer.name(results, identifiers(names))
    if gradients is not None:
        writer.name(gradients, [f"{p}_grad" for p in writer.parameters])
    for place in fused.units:
        writer.write(place)
    return writer.text(results, gradients)


class _Writer:
    """Writes statements into three sections: before, in and after the loop over the examples."""

    def __init__(
        self,
        fused: Fused,
        instructions: Instructions,
        inputs: Sequence[str],
        parameters: Mapping[int, str],
    ) -> None:
        self.units, self.lanes, self.steps = fused.units, fused.lanes, instructions
        labels = [label or f"p{i}" for i, label in enumerate(parameters.values())]
        names = identifiers([*inputs, *labels], sorted(_TAKEN))
        self.inputs, self.parameters = names[: len(inputs)], names[len(inputs) :]
        places = [*range(len(inputs)), *parameters]
        self.texts = {i: (name, ATOM) for i, name in zip(places, names, strict=True)}
        self.names = {*_TAKEN, *names}
        self.numbered: Counter[str] = Counter()
        self.name_of: dict[int, str] = {}  # the names of results and gradients
        self.used: set[str] = set()  # names to import
        self.sections: dict[int, list[str]] = {BEFORE: [], LANES: [], AFTER: []}
        self.sums: dict[str, None] = {}  # names that start at 0 before the loop
        self.tables: dict[Any, str] = {}  # maps the contents of lists to their names
        self.phase = fused.phases
        self.uses = Counter(i for unit in self.units.values() for i in unit.sources)
        self.user = {i: place for place, unit in self.units.items() for i in unit.sources}

    def name(self, places: Sequence[int], names: Sequence[str]) -> None:
        """Gives names to results, before anything is written."""
        names = distinct(names, "{}_{}", self.names)
        self.names.update(names)
        for place, name in zip(places, names, strict=True):
            if place in self.units:
                self.name_of.setdefault(place, name)

    def new_name(self, kind: str) -> str:
        while True:
            self.numbered[kind] += 1
            name = f"{kind}{self.numbered[kind]}"
            if name not in self.names:
                return name

    # ---- expressions

    def operand(self, place: int, rank: int = 0) -> str:
        """The text of a result, in brackets if its own rank (precedence) is lower than `rank`."""
        return bracketed(self.operand_expression(place), rank)

    def operand_expression(self, place: int) -> Expression:
        if place in self.texts:
            return self.texts[place]
        x = 1.0 if place == ONE else float(self.steps[place].number)
        if not math.isfinite(x):
            self.used.add(repr(abs(x)))
        return number(x)

    def operands(self, places: Sequence[int]) -> str:
        """The text of a tuple of these operands, without its brackets."""
        return _listed([self.operand(i) for i in places])

    def call(self, op: str, *operands: Expression) -> Expression:
        if op in __all__:
            self.used.add(op)
        return operation(op, operands)

    def expression(self, unit: Unit) -> Expression:
        """The text of an operation, and its rank."""
        op, places = unit.op, unit.sources
        if op == "dot":
            return _sum(self.terms(unit)), SUM
        if op == "take":
            return self.taken(unit)
        if op.startswith("where"):
            x, y, a, b = map(self.operand, places, (SUM, SUM, COMPARISON, CHOICE))
            sign = op.removeprefix("where ").replace("is", "==")
            return f"{a} if {x} {sign} {y} else {b}", CHOICE
        if op == "relu" and (x := self.operand(*places)).isidentifier():  # faster than a call
            return f"0.0 if {x} < 0.0 else {x}", CHOICE
        if op == "**":
            op = "power"
        elif op == "/" and not self.is_nonzero_number(places[1]):
            op = "divide"
        return self.call(op, *map(self.operand_expression, places))

    def is_nonzero_number(self, place: int) -> bool:
        is_number = place < len(self.steps) and self.steps[place].op == "constant"
        return is_number and self.steps[place].number != 0

    def terms(self, unit: Unit) -> list[str]:
        """The terms of a dot or a mean, each with a sign in front."""
        left, right, *others = unit.operands
        added, subtracted = others or ((), ())
        products = []
        for pair in zip(left, right, strict=True):
            factors = [i for i in pair if i != ONE] or [ONE]
            ranks = (PRODUCT, PRODUCT + 1) if len(factors) == 2 or unit.sign < 0 else (SUM,)
            products.append(" * ".join(map(self.operand, factors, ranks)))
        plus, minus = (products, []) if unit.sign > 0 else ([], products)
        plus += [self.operand(i, SUM) for i in added]
        minus += [self.operand(i, PRODUCT) for i in subtracted]
        return [*(f"+ {term}" for term in plus), *(f"- {term}" for term in minus)]

    def taken(self, unit: Unit) -> Expression:
        (index,), table = unit.operands
        entries = f"({self.operands(table)})"
        if not any(self.lanes[i] for i in table):  # uniform: a variable that is set before the loop
            if table not in self.tables:
                self.tables[table] = self.new_name("table")
                self.assign(BEFORE, self.tables[table], self.operands(table))
            entries = self.tables[table]
        if self.steps[index].op == "input":  # already checked, before the program runs
            return f"{entries}[int({self.operand(index)})]", ATOM
        return self.call("take", (entries, ATOM), self.operand_expression(index))

    # ---- statements

    def assign(self, phase: int, name: str, text: str, operator: str = "=") -> None:
        indent = 8 if phase == LANES else 4
        self.sections[phase] += _wrapped(indent, f"{name} {operator} ", text)

    def write(self, place: int) -> None:
        """Writes a statement for this result, or keeps its text until the result is used."""
        unit, phase = self.units[place], self.phase[place]
        if unit.op == "copy":
            self.texts[place] = self.operand(unit.sources[0], NEGATIVE), NEGATIVE
        elif unit.op == "mean":
            self.write_mean(place, unit)
        elif unit.op in SCATTERS:
            self.write_scatter(place, unit)
        elif unit.op == "dot" and len(terms := self.terms(unit)) > LONGEST:
            self.add_up(phase, self.named(place), "=", terms)
        else:
            self.keep(place, phase, *self.expression(unit))

    def named(self, place: int) -> str:
        name = self.name_of.get(place) or self.new_name("v")
        self.texts[place] = name, ATOM
        return name

    def keep(self, place: int, phase: int, text: str, rank: int) -> None:
        is_used_once = self.uses[place] == 1 and place not in self.name_of
        is_short = len(text) <= SHORT and rank != CHOICE
        if is_used_once and is_short and self.phase[self.user[place]] == phase:
            self.texts[place] = text, rank
        else:
            self.assign(phase, self.named(place), text)

    def add_up(self, phase: int, name: str, operator: str, terms: Sequence[str]) -> None:
        for start in range(0, len(terms), LONGEST):
            self.assign(phase, name, _sum(terms[start : start + LONGEST]), operator)
            operator = "+=" if operator == "=" else operator

    def write_mean(self, place: int, unit: Unit) -> None:
        user = self.user.get(place, place)
        name = self.name_of.get(place)
        if not name and self.uses[place] == 1 and len(self.units[user].sources) <= LONGEST:
            name = self.name_of.get(user)  # as in w_grad = w_grad / n + penalty
        if not name or name in self.sums:
            name = self.new_name("sum")
        self.sums[name] = None
        operator = "+=" if unit.sign > 0 else "-="
        self.add_up(LANES, name, operator, self.terms(unit._replace(sign=1)))
        if name == self.name_of.get(place):
            self.assign(AFTER, self.named(place), "n", "/=")
        else:
            self.keep(place, AFTER, f"{name} / n", PRODUCT)

    def write_scatter(self, place: int, unit: Unit) -> None:
        indices, terms, (position,) = unit.operands
        key, is_mean = (unit.op, indices, terms), unit.op in MEANS
        if key not in self.tables:
            name = self.tables[key] = self.new_name("totals")
            totals = f"[0.0] * {unit.length}"
            if is_mean:
                self.assign(BEFORE, name, totals)
                totals = name
            given = [f"({self.operands(places)})" for places in (indices, terms)]
            text, _ = self.call("scatter", *((text, ATOM) for text in (totals, *given)))
            self.assign(self.phase[place], name, text)
        total = f"{self.tables[key]}[{int(self.steps[position].number)}]"
        if is_mean:
            self.keep(place, AFTER, f"{total} / n", PRODUCT)
        else:
            self.keep(place, self.phase[place], total, ATOM)

    # ---- the whole text

    def text(self, results: Sequence[int], gradients: Sequence[int] | None) -> str:
        """The finished text of the program."""
        found = ", ".join(map(self.operand, results))
        lines = ["def program(parameters, rows):"]
        if self.parameters:
            lines += _wrapped(4, "", _listed(self.parameters), " = parameters")
        if self.sections[BEFORE]:
            lines += ["", "    # once", *self.sections[BEFORE]]
        if gradients is None:
            start, end = ("(", ")") if len(results) == 1 else ("([", "])")
            self.sections[LANES] += _wrapped(8, f"results.append{start}", found, end)
        if self.sections[LANES]:
            lines += ["", "    # in every example"]
            lines += ["    results = []"] * (gradients is None)
            zeros = _filled([f"{name} =" for name in self.sums], WIDTH - 8)
            lines += [f"    {names} 0.0" for names in zeros]
            lines += _wrapped(4, "for ", _listed(self.inputs) or "_", " in rows:")
            lines += self.sections[LANES]
        if gradients is None:
            lines.append("    return results")
        else:
            if self.sections[AFTER]:
                lines += ["", "    # means over the examples", "    n = len(rows)"]
                lines += self.sections[AFTER]
            listed = ", ".join(map(self.operand, gradients))
            lines += _wrapped(4, f"return {found}, [", listed, "]")
        return "\n".join([*self.imports(), *lines, ""])

    def imports(self) -> list[str]:
        names = ", ".join(sorted(self.used))
        return [*_wrapped(0, f"from {__name__} import ", names), "", ""] if names else []


def _sum(terms: Sequence[str]) -> str:
    # A leading plus is dropped; a leading minus loses the space after it.
    text = " ".join(terms)
    return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)


def _listed(texts: Sequence[str]) -> str:
    # The text of a tuple; it needs brackets only if there is a single element.
    return f"({texts[0]},)" if len(texts) == 1 else ", ".join(texts)


def _wrapped(indent: int, start: str, text: str, end: str = "") -> list[str]:
    # The lines of a statement; if there are several, brackets join them.
    margin = " " * indent
    line = f"{margin}{start}{text}{end}"
    if len(line) <= WIDTH:
        return [line]
    if not start.endswith(("(", "[")):
        start, end = f"{start}(", f"){end}"
    lines = _filled(_BREAKS.split(text), WIDTH - indent - 4)
    return [f"{margin}{start}", *(f"{margin}    {line}" for line in lines), f"{margin}{end}"]


def _filled(pieces: Iterable[str], width: int) -> list[str]:
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + 1 + len(piece) <= width:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines
