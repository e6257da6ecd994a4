"""The program as Python text, at two levels.

The scalar text is written from the instructions, before they are fused, so it checks all later
passes. A variable holds one number, or a row with a number for each example; NumPy computes with
both in the same way.

    >>> from micrograd import Value
    >>> from micrograd.compiler.program import Program
    >>> w, b = Value(1.0, label="w"), Value(1.0, label="b")
    >>> program = Program(lambda x: (w * x + b).tanh(), [()], "numpy")
    >>> print(program.scalar_source(), end="")
    from numpy import mean, tanh
    <BLANKLINE>
    <BLANKLINE>
    def program(parameters, inputs):
        [w, b] = parameters
        [x] = inputs
        v1 = w * x
        v2 = v1 + b
        v3 = tanh(v2)
        v4 = v3 * v3
        v5 = 1.0 - v4
        v6 = x * v5
        v7 = mean(v3)
        v8 = mean(v4)
        v9 = 1.0 - v8
        v10 = mean(v6)
        return v7, [v10, v9]

The text of matrices has a line for each group of the schedule. What is computed in every lane is a
matrix with a row for each result and a column for each example; what is computed once is a number
or a vector. It reads like the program that one would write by hand, forward and backward:

    >>> print(program.source(), end="")
    from numpy import array, ones, reshape, tanh, vstack
    <BLANKLINE>
    <BLANKLINE>
    def f(parameters, x):
        n = len(x)
        x = reshape(x, (n, -1)).T
        one = ones((1, n))
        v1 = parameters.reshape(1, 2) @ vstack([x, one])
        v2 = tanh(v1)
        v3 = v2 * v2
        v4 = 1.0 - v3
        v5 = (v4 @ x.T / n).item()
        v6 = vstack([v2, v3]).mean(1)
        v7 = 1.0 - v6[1]
        return v6[0], array([v5, v7])
"""

from __future__ import annotations

import itertools
import keyword
import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from micrograd.compiler.schedule import Block, Group, Loop, Schedule, Slots
from micrograd.compiler.simplify import Instructions, needed
from micrograd.core.naming import distinct

INFIX = ("+", "-", "*", "/", "**", "<", "<=", ">", ">=")
WIDTH = 100  # characters in a line
SPACE = "\N{NO-BREAK SPACE}"  # where a line must not be wrapped
NUMPY = {
    *("arange", "array", "concatenate", "cos", "einsum", "exp", "inf", "log", "maximum", "mean"),
    *("minimum", "nan", "ones", "reshape", "select", "sin", "sqrt", "take_along_axis", "tanh"),
    *("vstack", "where", "zeros", "tan", "sinh", "cosh", "expm1", "log1p", "logaddexp"),
    *("arcsin", "arccos", "arctan", "arctan2"),
}
TAKEN = {*NUMPY, "erf", "abs", "inputs", "n", "one", "parameters", "program", "range", "zero"}
REDUCTIONS = {"sum": "sum", "largest": "max", "smallest": "min"}
INDENT = 4 * SPACE
FEW = 4  # more parameters than these, if they are used together, get a name


def expression(op: str, xs: Sequence[str]) -> str:
    """The text of an operation on operands that need no brackets: names, calls, and numbers.

    >>> expression("where <", ["a", "b", "1.0", "c"]), expression("**", ["-2.0", "x"])
    ('where(a < b, 1.0, c)', '(-2.0) ** x')
    """
    x, *others = xs
    if op in INFIX:
        return f"({x}) {op} {xs[1]}" if x.startswith("-") else f"{x} {op} {xs[1]}"
    if op == "is":
        return f"{x} == {xs[1]}"
    if op.startswith("where "):  # a choice with its comparison
        return f"where({expression(op.removeprefix('where '), xs[:2])}, {', '.join(xs[2:])})"
    if op == "take":
        return f"select([{x} == i for i in range({len(others)})], [{', '.join(others)}])"
    unary = {"copy": x, "neg": f"-{x}", "relu": f"maximum({x}, 0.0)"}
    unary["sigmoid"] = f"exp(minimum({x}, 0.0)) / (1.0 + exp(-abs({x})))"  # does not overflow
    return unary.get(op) or f"{op}({', '.join(xs)})"


def identifiers(labels: Sequence[str], taken: Collection[str] = TAKEN) -> list[str]:
    """Distinct Python names that resemble the labels, and are not taken.

    >>> identifiers(["w", "layers[0].b", "w", "exp", "2nd"])
    ['w', 'layers_0_b', 'w_2', 'exp_2', 'v_2nd']
    """
    names = []
    for label in labels:
        label = unicodedata.normalize("NFKC", label)  # as Python does with identifiers
        name = re.sub(r"\W+", "_", label).strip("_")
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"v_{name}"
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
    """The text of a function with these lines, after the import that it needs."""
    words = NUMPY.intersection(re.findall(r"(?<!\.)\b\w+", "\n".join(lines)))
    head = [f"from numpy import {', '.join(sorted(words))}"] if words else []
    head += ["from scipy.special import erf"] if any("erf(" in line for line in lines) else []
    head += ["", ""] if head else []
    wrap = textwrap.TextWrapper(WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    wrap.break_long_words = wrap.break_on_hyphens = False
    filled = [wrap.fill(line).replace(SPACE, " ") for line in lines]
    return "\n".join([*head, f"def {name}({', '.join(arguments)}):", *filled, ""])


def scalar_source(
    steps: Instructions,
    inputs: Sequence[str],
    parameters: Mapping[int, str],
    results: Sequence[int],
    gradients: Sequence[int] | None = None,
) -> str:
    """The text of a function of the parameters and of the inputs, with a line for each number.

    The function returns a list of the results. If `gradients` are given, the places of one mean
    gradient for each parameter, it returns the mean of the one result and a list of its gradients.
    `inputs` has a name for each input; `parameters` maps places to labels, or to ''.

    Raises:
        ValueError: there is a loop, whose steps have no numbers of their own.
    """
    if steps.bodies:
        raise ValueError("a program with a loop of `scan` is not a list of numbers: use `source`")
    names = identifiers([*inputs, *(x or f"p{i}" for i, x in enumerate(parameters.values()))])
    n, variables = len(inputs), numbered("v", names)
    known = dict(zip([*range(n), *parameters], names, strict=True))
    lines = [assignment(f"[{', '.join(names[n:])}]", "parameters")] if parameters else []
    lines += [assignment(f"[{', '.join(names[:n])}]", "inputs")] if inputs else []
    for place in needed(steps, [*results, *(gradients or ())]):
        op, operands, number = steps[place]
        if op == "constant":
            known[place] = repr(float(number))
        elif place not in known:
            known[place] = next(variables)
            lines.append(assignment(known[place], expression(op, [known[i] for i in operands])))
    returned = f"[{', '.join(known[i] for i in results)}]"
    if gradients is not None:
        returned = f"{known[results[0]]},{SPACE}[{', '.join(known[i] for i in gradients)}]"
    return definition("program", ["parameters", "inputs"], [*lines, f"return{SPACE}{returned}"])


def matrix_source(
    schedule: Schedule, arguments: Sequence[str], n_parameters: int, name: str, is_mean: bool
) -> str:
    """The text of a function of all parameters, as an array, and of the arguments of a batch.

    It returns the mean of the result and an array of its gradients, or if not `is_mean`, a list of
    all results for each example. A lambda gets the name `f`.
    """
    name, *arguments = identifiers([name if name.isidentifier() else "f", *arguments])
    n_uniform, _ = schedule.constants[0]  # with arrays that all examples share
    writer = _Writer(schedule, arguments, n_uniform)
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
            first, last = indices[0], indices[-1]
            step = indices[1] - first if len(indices) > 1 else 1
            if not name:  # numbers
                pieces.append(f"[{', '.join(found)}]")
            elif indices == (*range(self.size[name]),):
                pieces.append(name)
            elif step > 0 and indices == (*range(first, last + 1, step),):
                pieces.append(f"{name}[{first}:{last + 1}" + f":{step}" * (step > 1) + "]")
            else:
                pieces.append(f"{name}[{[*indices]}]")
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

    def loop(self, group: Group, loop: Loop) -> None:
        """Adds the lines of a loop."""
        lanes, count, around = group.result.lanes, loop.n_steps, self.lines
        t, state, made, kept, result = (next(self.names) for _ in range(5))

        def rows(block: Block, shape: str) -> str:
            text = self.flat(*block)
            text += "[:, None] * one" * (lanes and not block.lanes)
            return text if not shape else f"({text}).reshape({shape}{', n' * lanes})"

        first = rows(loop.first, "") if loop.states.size else "zeros((0, n))" if lanes else "[]"
        around += [assignment(state, first), assignment(f"{made}, {kept}", "[], []")]
        reads = []
        for block, slots in loop.reads:
            name, x = next(self.names), next(self.names)
            around.append(assignment(name, rows(block, f"{count}, {len(slots)}")))
            reads.append(assignment(x, f"{name}[{t}]"))
            self.hold(x, Block(lanes, slots))
        order = f"reversed(range({count}))" if loop.is_reversed else f"range({count})"
        around.append(f"for {t} in {order}:")
        self.lines = [f"{kept}.append({state})"] * bool(loop.kept.size) + reads
        self.hold(state, Block(lanes, loop.states))
        for inner in loop.groups:
            self.write(inner)
        self.lines += [f"{made}.append({self.flat(lanes, loop.made)})"] * bool(loop.made.size)
        if loop.states.size:
            self.lines.append(assignment(state, self.flat(lanes, loop.new)))
        around += [INDENT + line for line in self.lines]
        self.lines = around
        outputs = f"{made}[::-1]" if loop.is_reversed else made
        text = f"concatenate([{state}, *{outputs}, *{kept}])"
        self.lines.append(assignment(result, text))
        self.hold(result, group.result)

    def write(self, group: Group) -> None:
        """Adds the line that computes the group."""
        if group.loop:
            self.loop(group, group.loop)
            return
        result, name = group.result, next(self.names)
        self.lines.append(assignment(name, self.text_of(group)))
        self.hold(name, result)
        if not result.lanes and result.slots.size == 1:
            self.numbers.add(name)

    def text_of(self, group: Group) -> str:
        """The text that computes the group."""
        op, (in_lanes, slots), blocks, _ = group
        text_once = f"({{}}).{'item' if slots.size == 1 else 'ravel'}()"  # what runs once
        if op in ("dot", "mean"):
            return self.product(group, text_once)
        if op in REDUCTIONS:
            [numbers], name = blocks, REDUCTIONS[op]
            if len(numbers.slots) > 1:
                return f"{self.shaped(numbers, 2)}.{name}(1)"
            return f"{self.flat(*numbers)}.{name}({'0, keepdims=True' * numbers.lanes})"
        if op == "take":
            index, table = blocks
            rows = self.shaped(table, 2) + "[..., None]" * (not table.lanes)
            where = self.shaped(index, 1) + "[..., None]" * (not index.lanes)
            text = f"take_along_axis({rows}, {where}.astype(int)[:, None], 1)[:, 0]"
            return text if in_lanes else text_once.format(text)
        if op in ("scatter", "scatter mean"):
            where, what = (self.shaped(b, 2) + "[..., None]" * (not b.lanes) for b in blocks)
            hits = f"{where}[:, None] == arange({slots.shape[1]})[:, None, None]"
            text = f"where({hits}, {what}[:, None], 0.0).sum(2)"
            if in_lanes:
                return f"{text}.reshape(-1, n)"
            return text_once.format(text + ".mean(2)" * (op == "scatter mean"))
        text = expression(op, [self.operand(block, in_lanes) for block in blocks])
        if in_lanes and not any(block.lanes for block in blocks):
            text = f"({text}) * one"
        if len(slots) > 1 and all(np.ptp(block.slots) == 0 for block in blocks):
            text = f"({text}).repeat({len(slots)}, 0)"  # the same number several times
        return text

    def product(self, group: Group, text_once: str) -> str:
        """The text of a matrix product, or of several ones."""
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
            return text_once.format(f"{b} @ {a}.T / n")
        axes = zip(("blk", "brk", "brl"), (left, right, group.result), strict=True)
        of_left, of_right, of_result = (letters + "n" * block.lanes for letters, block in axes)
        indices = f"{of_left}, {of_right} -> {of_result}"
        text = f'einsum("{indices}", {self.shaped(left, 3)}, {self.shaped(right, 3)}){share}'
        return f"{text}.reshape(-1, n)" if group.result.lanes else text_once.format(text)
