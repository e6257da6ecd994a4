"""The program as Python text, at two levels.

The scalar text is written from the instructions, before they are fused, so it checks all later
passes. A variable holds one number, or a row with a number for each example; NumPy computes with
both in the same way. A short expression that is used once is written where it is used.

    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> w, v, b = (Value(1.0, label=name) for name in "wvb")
    >>> program = Program(lambda x: (w * x[0] + v * x[1] + b).tanh(), [(2,)], "numpy")
    >>> print(program.scalar_source(), end="")
    from numpy import mean, tanh
    <BLANKLINE>
    <BLANKLINE>
    def program(parameters, inputs):
        [w, v, b] = parameters
        [x_0, x_1] = inputs
        v1 = tanh(w * x_0 + v * x_1 + b)
        v2 = v1 * v1
        v3 = 1.0 - v2
        result = mean(v1)
        b_grad = 1.0 - mean(v2)
        v_grad = mean(x_1 * v3)
        w_grad = mean(x_0 * v3)
        return result, [w_grad, v_grad, b_grad]

The text of matrices has a line for each group of the schedule. What is computed in every lane is a
matrix with a row for each result and a column for each example; what is computed once is a number
or a vector. It reads like the program that one would write by hand, forward and backward:

    >>> print(program.source(), end="")
    from numpy import concatenate, ones, reshape, tanh, vstack
    <BLANKLINE>
    <BLANKLINE>
    def f(parameters, x):
        n = len(x)
        x = reshape(x, (n, -1)).T
        one = ones((1, n))
        v1 = parameters.reshape(1, 3) @ vstack([x, one])
        v2 = tanh(v1)
        v3 = v2 * v2
        v4 = 1.0 - v3
        v5 = (v4 @ x.T / n).ravel()
        v6 = vstack([v2, v3]).mean(1)
        v7 = 1.0 - v6[1]
        return v6[0], concatenate([v5, [v7]])
"""

from __future__ import annotations

import itertools
import keyword
import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from micrograd.compiler.schedule import Block, Group, Schedule, Slots
from micrograd.compiler.simplify import Instructions, uses
from micrograd.core.naming import distinct

Expression = tuple[str, int]  # a text and its rank: how tightly its outermost operation binds

COMPARISON, SUM, PRODUCT, NEGATIVE, POWER, ATOM = range(6)
RANKS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "=="), COMPARISON), **dict.fromkeys("+-", SUM),
    **dict.fromkeys("*/", PRODUCT), "neg": NEGATIVE, "**": POWER,
}  # fmt: skip
WIDTH = 100  # characters in a line
SHORT = 50  # expressions of up to this many characters may be written inside others
SPACE = "\N{NO-BREAK SPACE}"  # where a line must not be wrapped
NUMPY = {
    *("arange", "array", "concatenate", "cos", "einsum", "exp", "inf", "log", "maximum", "mean"),
    *("minimum", "nan", "ones", "reshape", "sin", "sqrt", "take_along_axis", "tanh", "vstack"),
    *("where", "zeros"),
}
OURS = {"sigmoid", "take"}  # functions of this file
TAKEN = {*NUMPY, *OURS, "abs", "inputs", "n", "one", "parameters", "program", "zero"}
REDUCTIONS = {"sum": "sum", "largest": "max", "smallest": "min"}
FEW = 4  # more parameters than these, if they are used together, get a name


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


# ---- Expressions, names and lines


def simple(text: str) -> Expression:
    """The expression for a variable, a call or a number."""
    return text, NEGATIVE if text.startswith("-") else ATOM


def operation(op: str, operands: Sequence[Expression]) -> Expression:
    """The expression for an operation on these operands, with the brackets that it needs.

    The right operand gets brackets if it binds as tightly as the operation itself: a + (b + c)
    is rounded differently from a + b + c.

    >>> operation("-", [("a", ATOM), ("b - c", SUM)]), operation("relu", [("a + b", SUM)])
    (('a - (b - c)', 1), ('maximum(a + b, 0.0)', 5))
    """
    if op == "copy":
        return operands[0]
    if op.startswith("where "):  # a choice with its comparison
        x, y, *sides = operands
        return operation("where", [operation(op.removeprefix("where "), [x, y]), *sides])
    op = "==" if op == "is" else op
    rank = RANKS.get(op, ATOM)
    if op not in RANKS:
        texts = [text for text, _ in operands]
        if op == "relu":
            op, texts = "maximum", [*texts, "0.0"]
        elif op == "take":
            texts = [f"[{', '.join(texts[1:])}]", texts[0]]
        return f"{op}({', '.join(texts)})", ATOM
    least = {"neg": [ATOM], "**": [ATOM, NEGATIVE]}.get(op, [rank, rank + 1])
    texts = [x if own >= low else f"({x})" for (x, own), low in zip(operands, least, strict=True)]
    return f"-{texts[0]}" if op == "neg" else f"{texts[0]} {op} {texts[1]}", rank


def identifiers(labels: Sequence[str], taken: Collection[str] = TAKEN) -> list[str]:
    """Distinct Python names that resemble the labels, and are not taken.

    >>> identifiers(["w", "layers[0].b", "w", "exp", "2nd"])
    ['w', 'layers_0_b', 'w_2', 'exp_2', 'v_2nd']
    """
    names = []
    for i, label in enumerate(labels):
        label = unicodedata.normalize("NFKC", label)  # as Python does with identifiers
        name = re.sub(r"\W+", "_", label).strip("_")
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"v_{name}" if f"v_{name}".isidentifier() else f"v{i}"
        names.append(name)
    return distinct(names, "{}_{}", taken)


def numbered(letter: str, taken: Collection[str]) -> Iterator[str]:
    """Names of variables: the letter and a number."""
    return (name for i in itertools.count(1) if (name := f"{letter}{i}") not in taken)


def assignment(name: str, text: str) -> str:
    """A line of the text; an expression that will be broken into lines needs brackets."""
    is_broken = " " in text and len(name) + len(text) >= WIDTH - 8
    return f"{name}{SPACE}={SPACE}" + (f"({text})" if is_broken else text)


def definition(name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
    """The text of a function with these lines, after the imports that it needs."""
    words = set(re.findall(r"(?<!\.)\b\w+", "\n".join(lines)))
    imports = [
        f"from {module} import {', '.join(sorted(words & known))}"
        for module, known in ((__name__, OURS), ("numpy", NUMPY))
        if words & known
    ]
    head = [*imports, "", ""] if imports else []
    layout: Any = {"initial_indent": " " * 4, "subsequent_indent": " " * 8}
    layout |= {"break_long_words": False, "break_on_hyphens": False}
    filled = [textwrap.fill(line, WIDTH, **layout).replace(SPACE, " ") for line in lines]
    return "\n".join([*head, f"def {name}({', '.join(arguments)}):", *filled, ""])


# ---- Number by number


def scalar_source(
    steps: Instructions,
    inputs: Sequence[str],
    parameters: Mapping[int, str],
    results: Sequence[int],
    gradients: Sequence[int] | None = None,
    name: str = "result",
) -> str:
    """The text of a function of the parameters and of the inputs, number by number.

    The function returns a list of the results. If `gradients` are given, it returns the mean of the
    result and a list of its gradients.

    Args:
        steps: the instructions of a recording, inputs first.
        inputs: a name for each input.
        parameters: maps the place of each parameter to its label, or to ''.
        results: the places of the results; with gradients, the place of one mean result.
        gradients: the places of the mean gradients, one for each parameter.
        name: a name for the result; ignored if it is not an identifier.
    """
    labels = [label or f"p{i}" for i, label in enumerate(parameters.values())]
    names = identifiers([*inputs, *labels])
    n = len(inputs)
    known = dict(zip([*range(n), *parameters], map(simple, names), strict=True))
    name = name if name.isidentifier() else "result"
    wanted = [name] if len(results) == 1 else [f"{name}_{i}" for i in range(len(results))]
    wanted += [] if gradients is None else [f"{p}_grad" for p in names[n:]]
    wanted = identifiers(wanted, {*TAKEN, *names})
    name_of = dict(zip([*results, *(gradients or ())], wanted, strict=True))
    lines = [assignment(f"[{', '.join(names[n:])}]", "parameters")] if parameters else []
    lines += [assignment(f"[{', '.join(names[:n])}]", "inputs")] if inputs else []
    variables = numbered("v", {*names, *wanted})
    for place, count in enumerate(uses(steps.operands, [*results, *(gradients or ())])):
        if not count or place in known:
            continue
        op, operands = steps.ops[place], steps.operands[place]
        if operands:
            found = operation(op, [known[i] for i in operands])
        else:
            found = simple(repr(float(steps.numbers[place])))
        is_short = not operands or (count == 1 and len(found[0]) <= SHORT)
        if not is_short or place in name_of:
            variable = name_of.get(place) or next(variables)
            lines.append(assignment(variable, found[0]))
            found = simple(variable)
        known[place] = found
    returned = f"[{', '.join(known[i][0] for i in results)}]"
    if gradients is not None:
        listed = ", ".join(known[i][0] for i in gradients)
        returned = f"{known[results[0]][0]},{SPACE}[{listed}]"
    lines.append(f"return{SPACE}{returned}")
    return definition("program", ["parameters", "inputs"], lines)


# ---- Matrices


def matrix_source(
    schedule: Schedule, arguments: Sequence[str], n_parameters: int, name: str, is_mean: bool
) -> str:
    """The text of a function of all parameters, as an array, and of the arguments of a batch.

    It returns the mean of the result and an array of its gradients, or if not `is_mean`, a list of
    all results for each example.

    Args:
        schedule: the groups of the program.
        arguments: their names.
        n_parameters: the number of parameters; they have the first uniform slots.
        name: a name for the function; `f` if it is not an identifier, as of a lambda.
        is_mean: whether the schedule's results are the mean, its gradients, and the one result.
    """
    name, *arguments = identifiers([name if name.isidentifier() else "f", *arguments])
    writer = _Writer(schedule, arguments, n_parameters)
    for group in schedule.groups:
        writer.write(group)
    lines = writer.lines
    results = schedule.results.tolist()
    if is_mean:
        gradients = writer.flat(False, schedule.results[1 : 1 + n_parameters, 1])
        lines.append(f"return {writer.number(*results[0])}, {gradients}")
    else:
        lines.append(f"return [{', '.join(writer.number(*result) for result in results)}]")
    for row in ("one", "zero"):
        if any(re.search(rf"\b{row}\b", line) for line in lines):
            lines.insert(0, assignment(row, f"{row}s((1, n))"))
    if arguments:
        shaped = ", ".join(f"reshape({a}, (n, -1)).T" for a in arguments)
        lines[:0] = [f"n = len({arguments[0]})", assignment(", ".join(arguments), shaped)]
    else:
        lines.insert(0, "n = 1")
    return definition(name, ["parameters", *arguments], lines)


class _Writer:
    """Writes a line for each group, and knows which variable holds the number of each slot."""

    def __init__(self, schedule: Schedule, arguments: Sequence[str], n_parameters: int) -> None:
        self.lines: list[str] = []
        self.holder: dict[tuple[bool, int], tuple[str, int]] = {}  # variable, index; by slot
        self.size = {"parameters": n_parameters, "one": 1, "zero": 1}
        self.matrices: dict[str, Slots] = {}  # of parameters
        self.names, self.matrix_names = (numbered(letter, arguments) for letter in "vw")
        self.numbers = {repr(number) for _, number in schedule.constants}  # also variables
        self.hold("parameters", Block(False, np.arange(n_parameters, dtype=np.int32)))
        for name, places in zip(arguments, schedule.inputs, strict=True):
            self.hold(name, Block(True, np.array(places, np.int32)))
        for slot, number in schedule.constants:
            self.holder[False, int(slot)] = repr(number), 0
        for slot in schedule.ones:
            self.holder[True, slot] = "one", 0
        self.holder[True, schedule.zero] = "zero", 0  # for padding

    def hold(self, name: str, block: Block) -> None:
        """From now on, the variable holds the numbers in these slots."""
        self.size[name] = block.slots.size
        for i, slot in enumerate(block.slots.ravel().tolist()):
            self.holder[block.lanes, slot] = name, i

    # ---- Operands

    def number(self, lanes: bool, slot: int) -> str:
        """The text of one number, or of its row in the lanes."""
        name, i = self.holder[lanes, slot]
        return name if name in self.numbers else f"{name}[{i}]"

    def flat(self, lanes: bool, slots: Slots) -> str:
        """The text of the numbers in these slots: a vector, or a matrix with a row for each."""
        places = [self.holder[lanes, slot] for slot in slots.ravel().tolist()]
        pieces = []
        for name, group in itertools.groupby(
            places, lambda place: place[0] not in self.numbers and place[0]
        ):
            found, indices = zip(*group, strict=True)
            if not name:  # numbers
                pieces.append(f"[{', '.join(found)}]")
            else:
                is_part = indices != (*range(self.size[name]),)
                pieces.append(name + f"[{_selected(indices)}]" * is_part)
        if len(pieces) == 1:
            return f"array({pieces[0]})" if pieces[0].startswith("[") else pieces[0]
        joined = f"[{', '.join(pieces)}]"
        return f"vstack({joined})" if lanes else f"concatenate({joined})" if pieces else "array([])"

    def operand(self, block: Block, in_lanes: bool) -> str:
        """The text of an operand of an elementwise group, which broadcasts to its result."""
        lanes, slots = block
        if np.ptp(slots) == 0:  # the same everywhere
            return self.flat(True, slots[:1]) if lanes else self.number(False, slots.item(0))
        return self.flat(lanes, slots) + "[:, None]" * (in_lanes and not lanes)

    def shaped(self, block: Block, dimensions: int) -> str:
        """The text of an operand as an array of the last dimensions of its block, and the lanes."""
        shape = block.slots.shape[-dimensions:]
        slots, listed = block.slots.reshape(shape), ", ".join(map(str, shape))
        text = self.flat(block.lanes, slots)
        if dimensions > 1:
            text += f".reshape({listed}{', n' * block.lanes})"
        if block.lanes or slots.size <= FEW or slots.max() >= self.size["parameters"]:
            return text
        for name, known in self.matrices.items():
            for turned, whole in (name, known), (f"{name}.T", known.T):
                part = whole[tuple(map(slice, shape[: whole.ndim]))]
                if np.array_equal(part, slots):
                    cut = ", ".join(f":{n}" for n in shape)
                    return turned if part.shape == whole.shape else f"{turned}[{cut}]"
        name = next(self.matrix_names)
        self.matrices[name] = slots
        self.lines.append(assignment(name, text))
        return name

    # ---- Groups

    def write(self, group: Group) -> None:
        """Adds the line that computes the group."""
        op, result = group.op, group.result
        if op in ("dot", "mean"):
            text = self.product(group)
        elif op in REDUCTIONS:
            text = self.reduced(group)
        elif op == "take":
            text = self.taken(group)
        elif op in ("scatter", "scatter mean"):
            text = self.scattered(group)
        else:
            text = self.elementwise(group)
        name = next(self.names)
        self.lines.append(assignment(name, text))
        self.hold(name, result)
        if not result.lanes and result.slots.size == 1:
            self.numbers.add(name)

    def elementwise(self, group: Group) -> str:
        in_lanes, slots = group.result
        operands = [simple(self.operand(block, in_lanes)) for block in group.operands]
        text, _ = operation(group.op, operands)
        if in_lanes and not any(block.lanes for block in group.operands):
            text = f"({text}) * one"
        if len(slots) > 1 and all(np.ptp(block.slots) == 0 for block in group.operands):
            text = f"({text}).repeat({len(slots)}, 0)"  # the same number several times
        return text

    def product(self, group: Group) -> str:
        left, right = group.operands
        several, n_rights, n_lefts = group.result.slots.shape
        share = " / n" * (group.op == "mean")
        a, b = self.flat(*left), self.flat(*right)
        if several == 1 and not group.result.lanes and not share:
            a, b = (self.shaped(block, 1 + (block.slots.shape[1] > 1)) for block in (left, right))
            text = f"{a} @ {b}" if n_rights == 1 else f"{b} @ {a}{'.T' if n_lefts > 1 else ''}"
            return f"({text}).ravel()" if min(n_rights, n_lefts) > 1 else text
        if several == n_rights == 1 and group.result.lanes and not left.lanes:
            return f"{self.shaped(left, 2)} @ {b}"
        if several == left.slots.shape[2] == 1 and share and left.lanes and right.lanes:
            if a == "one":
                return f"{b}.mean({'1' * (n_rights > 1)})"
            return _once(f"{b} @ {a}.T / n", group)
        indices = f"{_axes('blk', left)}, {_axes('brk', right)} -> {_axes('brl', group.result)}"
        text = f'einsum("{indices}", {self.shaped(left, 3)}, {self.shaped(right, 3)}){share}'
        return f"{text}.reshape(-1, n)" if group.result.lanes else _once(text, group)

    def reduced(self, group: Group) -> str:
        (numbers,), name = group.operands, REDUCTIONS[group.op]
        if len(numbers.slots) > 1:
            return f"{self.shaped(numbers, 2)}.{name}(1)"
        return f"{self.flat(*numbers)}.{name}({'0, keepdims=True' * numbers.lanes})"

    def taken(self, group: Group) -> str:
        index, table = group.operands
        rows = self.shaped(table, 2) + "[..., None]" * (not table.lanes)
        where = self.shaped(index, 1) + "[..., None]" * (not index.lanes)
        text = f"take_along_axis({rows}, {where}.astype(int)[:, None], 1)[:, 0]"
        return text if group.result.lanes else _once(text, group)

    def scattered(self, group: Group) -> str:
        index, numbers = group.operands
        length = group.result.slots.shape[1]
        where, what = (
            self.shaped(block, 2) + "[..., None]" * (not block.lanes) for block in (index, numbers)
        )
        hits = f"{where}[:, None] == arange({length})[:, None, None]"
        text = f"where({hits}, {what}[:, None], 0.0).sum(2)"
        if group.result.lanes:
            return f"{text}.reshape(-1, n)"
        return _once(text + ".mean(2)" * (group.op == "scatter mean"), group)


def _axes(letters: str, block: Block) -> str:
    return letters + "n" * block.lanes


def _once(text: str, group: Group) -> str:
    # The text of what is computed once: a number or a vector.
    return f"({text}).{'item' if group.result.slots.size == 1 else 'ravel'}()"


def _selected(indices: tuple[int, ...]) -> str:
    # The text of an index: a slice or a list.
    first, last = indices[0], indices[-1]
    step = indices[1] - first if len(indices) > 1 else 1
    if step > 0 and indices == (*range(first, last + 1, step),):
        return f"{first}:{last + 1}" + f":{step}" * (step > 1)
    return repr([*indices])
