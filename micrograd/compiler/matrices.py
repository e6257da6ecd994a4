"""The program as NumPy text, at the level of matrices.

Each group of a schedule becomes a line. What is computed in every lane is a matrix with a row for
each result and a column for each example; what is computed once is a number or an array. The text
reads like the program that one would write by hand, forward and backward:

    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> w, v, b = (Value(1.0, label=name) for name in "wvb")
    >>> program = Program(lambda x: (w * x[0] + v * x[1] + b).tanh(), [(2,)], "numpy")
    >>> print(matrix_source(program.schedule, {"x": 2}, 3, "f", True), end="")
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
        v5 = x @ v4[0] / n
        v6 = vstack([v2, v3]).mean(1)
        v7 = 1.0 - v6[1]
        return v6[0], concatenate([v5, [v7]])
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby

import numpy as np

from micrograd.compiler.expressions import identifiers
from micrograd.compiler.schedule import Block, Group, Schedule, Slots
from micrograd.compiler.text import WIDTH, sigmoid, wrapped

INFIX = {
    **{op: op for op in ("+", "-", "*", "/", "**")},
    **{"where <": "<", "where <=": "<=", "where >": ">", "where >=": ">=", "where is": "=="},
}
REDUCTIONS = {"sum": "sum", "largest": "max", "smallest": "min"}
NUMPY = {
    *("abs", "arange", "array", "concatenate", "cos", "einsum", "exp", "inf", "log", "maximum"),
    *("minimum", "nan", "ones", "reshape", "sin", "sqrt", "take_along_axis", "tanh", "vstack"),
    *("where", "zeros"),
}
OURS = {sigmoid.__name__}
FEW = 4  # more parameters than these, if they are used together, get a name


def matrix_source(
    schedule: Schedule, widths: Mapping[str, int], n_parameters: int, name: str, is_mean: bool
) -> str:
    """The text of a function of all parameters, as an array, and of the arguments of a batch.

    It returns the mean of the result and an array of its gradients, or if not `is_mean`, a list of
    all results for each example.

    Args:
        schedule: the groups of the program.
        widths: maps the name of each argument to its number of values in an example.
        n_parameters: the number of parameters; they have the first uniform slots.
        name: a name for the function; `f` if it is not an identifier, as of a lambda.
        is_mean: whether the schedule's results are the mean, its gradients, and the one result.
    """
    taken = {*NUMPY, *OURS, "n", "one", "zero", "parameters"}
    name, *arguments = identifiers([name if name.isidentifier() else "f", *widths], taken)
    writer = _Writer(schedule, dict(zip(arguments, widths.values(), strict=True)), n_parameters)
    for group in schedule.groups:
        writer.write(group)
    lines = writer.lines
    results = [(bool(lanes), slot) for lanes, slot in schedule.results]
    if is_mean:
        gradients = np.array([slot for _, slot in results[1 : 1 + n_parameters]])
        lines.append(f"return {writer.number(results[0][1])}, {writer.flat(False, gradients)}")
    else:
        rows = [writer.row(s) if lanes else writer.number(s) for lanes, s in results]
        lines.append(f"return [{', '.join(rows)}]")
    for row in ("one", "zero"):
        if any(re.search(rf"\b{row}\b", line) for line in lines):
            lines.insert(0, f"{row} = {row}s((1, n))")
    if arguments:
        shaped = ", ".join(f"reshape({a}, (n, -1)).T" for a in arguments)
        lines[:0] = [f"n = len({arguments[0]})", f"{', '.join(arguments)} = {shaped}"]
    else:
        lines.insert(0, "n = 1")
    words = set(re.findall(r"\w+", "\n".join(lines)))
    head = [
        f"from {module} import {', '.join(sorted(words & known))}"
        for module, known in ((sigmoid.__module__, OURS), ("numpy", NUMPY))
        if words & known
    ]
    begin = f"def {name}({', '.join(['parameters', *arguments])}):"
    return "\n".join([*head, "", "", begin, *map(wrapped, lines), ""])


class _Writer:
    """Writes a line for each group, and knows which variable holds the number of each slot."""

    def __init__(self, schedule: Schedule, widths: Mapping[str, int], n_parameters: int) -> None:
        self.lines: list[str] = []
        self.holder: dict[tuple[bool, int], tuple[str, int]] = {}  # variable, index; by slot
        self.size = {"parameters": n_parameters, "one": 1, "zero": 1}
        self.matrices: dict[str, Slots] = {}  # of parameters
        # What is computed once may be a number, or have more dimensions than a vector.
        self.numbers = {repr(number) for _, number in schedule.constants}
        self.is_matrix: set[str] = set()
        self.hold("parameters", Block(False, np.arange(n_parameters, dtype=np.int32)))
        first = 0
        for name, width in widths.items():
            self.hold(name, Block(True, np.arange(first, first + width, dtype=np.int32)))
            first += width + 1
        for slot, number in schedule.constants:
            self.holder[False, int(slot)] = repr(number), 0
        for slot in schedule.ones:
            self.holder[True, slot] = "one", 0
        self.holder[True, schedule.n_inputs] = "zero", 0  # for padding

    def hold(self, name: str, block: Block) -> None:
        """From now on, the variable holds the numbers in these slots."""
        self.size[name] = block.slots.size
        for i, slot in enumerate(block.slots.ravel().tolist()):
            self.holder[block.lanes, slot] = name, i

    # ---- Operands

    def number(self, slot: int) -> str:
        """The text of one number that is computed once."""
        name, i = self.holder[False, slot]
        if name in self.numbers:
            return name
        return f"{name}.ravel()[{i}]" if name in self.is_matrix else f"{name}[{i}]"

    def row(self, slot: int) -> str:
        """The text of one number in each lane."""
        name, i = self.holder[True, slot]
        return f"{name}[{i}]"

    def flat(self, lanes: bool, slots: Slots) -> str:
        """The text of the numbers in these slots: a vector, or a matrix with a row for each."""
        places = [self.holder[lanes, slot] for slot in slots.ravel().tolist()]
        pieces = []
        for name, group in groupby(places, lambda place: place[0] not in self.numbers and place[0]):
            found, indices = zip(*group, strict=True)
            if not name:  # numbers
                same = len(found) > 2 and len(set(found)) == 1
                pieces.append(f"[{found[0]}] * {len(found)}" if same else f"[{', '.join(found)}]")
            else:
                part = f"[{_selected(indices)}]" * (indices != (*range(self.size[name]),))
                pieces.append(name + ".ravel()" * (name in self.is_matrix) + part)
        if len(pieces) == 1:
            return f"array({pieces[0]})" if pieces[0].startswith("[") else pieces[0]
        joined = f"[{', '.join(pieces)}]"
        return f"vstack({joined})" if lanes else f"concatenate({joined})" if pieces else "array([])"

    def operand(self, block: Block, in_lanes: bool) -> str:
        """The text of an operand of an elementwise group, which broadcasts to its result."""
        slots = block.slots
        if np.ptp(slots) == 0:  # the same everywhere
            return self.flat(True, slots[:1]) if block.lanes else self.number(int(slots[0]))
        return self.flat(block.lanes, slots) + "[:, None]" * (in_lanes and not block.lanes)

    def shaped(self, block: Block, dimensions: int) -> str:
        """The text of an operand as an array of the last dimensions of its block, and the lanes."""
        shape = block.slots.shape[-dimensions:]
        slots, listed = block.slots.reshape(shape), ", ".join(map(str, shape))
        if block.lanes:
            text = self.flat(True, slots)
            return f"{text}.reshape({listed}, n)" if dimensions > 1 else text
        text = self.flat(False, slots)
        text = f"{text}.reshape({listed})" if dimensions > 1 else text
        if slots.size <= FEW or slots.max() >= self.size["parameters"]:
            return text
        for name, known in self.matrices.items():
            for turned, whole in (name, known), (f"{name}.T", known.T):
                part = whole[tuple(map(slice, shape[: whole.ndim]))]
                if np.array_equal(part, slots):
                    cut = ", ".join(f":{n}" for n in shape)
                    return turned if part.shape == whole.shape else f"{turned}[{cut}]"
        name = f"w{len(self.matrices) + 1}"
        self.matrices[name] = slots
        self.lines.append(f"{name} = {text}")
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
            text = self.elementwise(op, [self.operand(b, result.lanes) for b in group.operands])
            if result.lanes and not any(block.lanes for block in group.operands):
                text = f"({text}) * one"
            if len(result.slots) > 1 and all(np.ptp(b.slots) == 0 for b in group.operands):
                text = f"({text}).repeat({len(result.slots)}, 0)"  # the same number several times
        name = f"v{1 + sum(line.startswith('v') for line in self.lines)}"
        is_long = len(name) + len(text) > WIDTH - 12  # where a line is broken, brackets are needed
        self.lines.append(f"{name} = ({text})" if is_long else f"{name} = {text}")
        self.hold(name, result)
        if not result.lanes and result.slots.size == 1:
            self.numbers.add(name)
        elif not result.lanes and sum(n > 1 for n in result.slots.shape) > 1:
            self.is_matrix.add(name)

    def elementwise(self, op: str, operands: list[str]) -> str:
        x, *more = operands
        if op.startswith("where"):
            return f"where({x} {INFIX[op]} {more[0]}, {more[1]}, {more[2]})"
        if op in INFIX:
            return f"{x} {INFIX[op]} {more[0]}"
        if op in ("neg", "copy"):
            return f"-{x}" if op == "neg" else x
        return f"maximum({x}, 0.0)" if op == "relu" else f"{op}({', '.join(operands)})"

    def product(self, group: Group) -> str:
        left, right = group.operands
        several, n_rights, n_lefts = group.result.slots.shape
        mean = " / n" * (group.op == "mean")
        a, b = self.flat(left.lanes, left.slots), self.flat(right.lanes, right.slots)
        if several == 1 and not group.result.lanes and not mean:
            a, b = (self.shaped(block, 1 + (block.slots.shape[1] > 1)) for block in (left, right))
            return f"{a} @ {b}" if n_rights == 1 else f"{b} @ {a}{'.T' if n_lefts > 1 else ''}"
        if several == n_rights == 1 and group.result.lanes and not left.lanes:
            return f"{self.shaped(left, 2)} @ {b}"
        if several == left.slots.shape[2] == 1 and mean and left.lanes and right.lanes:
            if a == "one":
                return f"{b}.mean({1 if n_rights > 1 else ''})"
            if n_lefts == 1:
                return f"{b} @ {a}[0] / n" if n_rights > 1 else f"({a} * {b}).mean()"
            return f"{b} @ {a}.T / n" if n_rights > 1 else f"{a} @ {b}[0] / n"
        indices = "blk" + "n" * left.lanes, "brk" + "n" * right.lanes
        result = "brln" if group.result.lanes else "brl"
        a, b = self.shaped(left, 3), self.shaped(right, 3)
        text = f'einsum("{", ".join(indices)} -> {result}", {a}, {b})'
        return text + (".reshape(-1, n)" if group.result.lanes else f".squeeze(){mean}")

    def reduced(self, group: Group) -> str:
        (numbers,) = group.operands
        name = REDUCTIONS[group.op]
        if len(numbers.slots) == 1:
            keep = ", keepdims=True" * numbers.lanes
            text = self.flat(numbers.lanes, numbers.slots)
            return f"{text}.{name}(0{keep})" if numbers.lanes else f"{text}.{name}()"
        return f"{self.shaped(numbers, 2)}.{name}(1)"

    def taken(self, group: Group) -> str:
        index, table = group.operands
        rows = self.shaped(table, 2) + "[..., None]" * (not table.lanes)
        where = self.shaped(index, 1) + "[..., None]" * (not index.lanes)
        text = f"take_along_axis({rows}, {where}.astype(int)[:, None], 1)[:, 0]"
        if group.result.lanes:
            return text
        return f"{text}.item()" if group.result.slots.size == 1 else f"{text}[:, 0]"

    def scattered(self, group: Group) -> str:
        index, numbers = group.operands
        length = group.result.slots.shape[1]
        where, what = (
            self.shaped(block, 2) + "[..., None]" * (not block.lanes) for block in (index, numbers)
        )
        hits = f"{where}[:, None] == arange({length})[:, None, None]"
        text = f"where({hits}, {what}[:, None], 0.0)"
        if group.op == "scatter mean":
            return f"{text}.sum(2).mean(2).squeeze()"
        in_lanes = group.result.lanes
        return f"{text}.sum(2).reshape(-1, n)" if in_lanes else f"{text}.sum((2, 3)).squeeze()"


def _slices(shape: tuple[int, ...]) -> str:
    return ", ".join(f":{n}" for n in shape)


def _selected(indices: tuple[int, ...]) -> str:
    # The text of an index: a slice or a list.
    first, last = indices[0], indices[-1]
    step = indices[1] - first if len(indices) > 1 else 1
    if step > 0 and indices == (*range(first, last + 1, step),):
        return f"{first}:{last + 1}" + f":{step}" * (step > 1)
    return repr([*indices])
