"""Chapter 8: numbers that write down what is done to them, and the program that they leave behind.

The engine never asks what kind of number it computes with. So let the data of the leaves be numbers
that only record. The operations of chapter 1, run on them, write down the forward pass; their
closures, run on what came out, write down the backward pass. What is left is one flat list of
instructions (a Wengert list) for both, in which nobody has repeated a derivative rule.

    >>> x, w = Value(2.0, label="x"), Value(0.5, label="w")
    >>> print(trace((w * x).tanh()).python(), end="")
    from micrograd.arithmetic import tanh
    <BLANKLINE>
    def program(w, x):
        v2 = w * x
        v3 = tanh(v2)
    <BLANKLINE>
        w_grad = x_grad = v2_grad = v3_grad = 0
        v3_grad += 1
        v2_grad += (1 - v3 * v3) * v3_grad
        w_grad += x * v2_grad
        x_grad += w * v2_grad
        return v3, [w_grad, x_grad]

Source: R. E. Wengert, A simple automatic derivative evaluation program (1964).
"""

from __future__ import annotations

import keyword
import numbers
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from micrograd.arithmetic import Number, as_number
from micrograd.derivatives import contributions, local_derivatives
from micrograd.engine import Constant, Value, _node, operations, topological_order

# ---- 1. Instructions, and numbers that record them


class Instruction(NamedTuple):
    """One step of a program: a primitive operation on the results of earlier steps.

    Attributes:
        op: 'input', 'constant', or what is done: '+', '<', 'neg', 'exp', 'where', ...
        operands: places of earlier instructions in the list.
        number: that of a constant, and of an input when it was recorded.
        node: what it is done for, as a place in the topological order of the graph.
        role: 'leaf' or 'forward', when it is part of the node's data; 'start', the 0 that gradients
            begin with; 'seed', the gradient of the root; 'contribution', when it is part of what
            the node's closure gives to an operand; 'accumulation', when it adds one to the node's
            gradient.
        edge: of an accumulation, the node that gives and which of its operands this one is.

    >>> trace(-Value(2.0)).instructions[1]
    Instruction(op='neg', operands=(0,), number=None, node=1, role='forward', edge=None)
    """

    op: str
    operands: tuple[int, ...] = ()
    number: Any = None
    node: int = -1
    role: str = "forward"
    edge: tuple[int, int] | None = None


class Recording:
    """A growing list of instructions; `node`, `role` and `edge` are noted on those to come.

    >>> recording = Recording()
    >>> recording.note(node=0, role="leaf")
    >>> x = recording.input(3.0)
    >>> recording.constant(2.0) * x, recording.record("tanh", x)
    (Traced(* of 1, 0), Traced(tanh of 0))
    >>> [step.op for step in recording.instructions]
    ['input', 'constant', '*', 'tanh']
    """

    def __init__(self) -> None:
        self._steps: list[Instruction] = []
        self.node, self.role, self.edge = -1, "forward", None

    @property
    def instructions(self) -> Sequence[Instruction]:
        """What has been recorded so far."""
        return self._steps

    def note(self, node: int, role: str, edge: Any = None) -> None:
        """Says what the next instructions are for."""
        self.node, self.role, self.edge = node, role, edge

    def input(self, number: Number) -> Traced:
        """A number that will be another one when the program runs."""
        return self.result("input", (), number)

    def constant(self, number: Number) -> Traced:
        """A number that stays what it is."""
        return self.result("constant", (), number)

    def record(self, op: str, *operands: Any) -> Any:
        """The result of an operation; NotImplemented if an operand is no number.

        Raises:
            ValueError: an operand was recorded elsewhere.
        """
        places = []
        for x in operands:
            if not isinstance(x, Traced):
                number = x if isinstance(x, int) else as_number(x)
                if number is NotImplemented or isinstance(x, Value):
                    return NotImplemented
                x = self.constant(number)
            elif x.recording is not self:
                raise ValueError(f"{x!r} belongs to another recording: pass in a plain number")
            places.append(x.place)
        return self.result(op, tuple(places))

    def result(self, op: str, operands: tuple[int, ...], number: Any = None) -> Traced:
        """The result of an operation on what stands at these places: one more instruction.

        >>> recording = Recording()
        >>> x, y = recording.input(3.0), recording.input(4.0)
        >>> recording.result("*", (0, 1)), recording.result("*", (0, 1)).place
        (Traced(* of 0, 1), 3)
        """
        self._steps.append(Instruction(op, operands, number, self.node, self.role, self.edge))
        return Traced(self, len(self._steps) - 1)


class TraceError(TypeError):
    """A program asked a number that is only recorded for its value, as `if x > 0` does.

    >>> try:
    ...     bool(Recording().input(3.0))
    ... except TraceError as error:
    ...     print(str(error).split(" at ")[0])
    bool() of a number that is only recorded,
    """


def _unary(op: str) -> Callable[[Traced], Any]:
    return lambda x: x.recording.result(op, (x.place,))


def _binary(op: str) -> Callable[[Traced, Any], Any]:
    def method(x: Traced, y: Any) -> Any:
        if type(y) is Traced and y.recording is x.recording:  # so it is nearly always
            return x.recording.result(op, (x.place, y.place))
        return x.recording.record(op, x, y)

    return method


def _reflected(op: str) -> Callable[[Traced, Any], Any]:
    return lambda x, y: x.recording.record(op, y, x)


def _refuses(what: str, remedy: str) -> Callable[..., NoReturn]:
    def method(*_: Any) -> NoReturn:
        raise TraceError(f"{what} of a number that is only recorded, at {_users_line()}: {remedy}")

    return method


def _users_line() -> str:
    frame: Any = sys._getframe()
    files = __file__, getattr(sys.modules.get("numpy"), "__file__", __file__)  # np.sum calls us
    not_the_users = tuple(os.path.dirname(file) + os.sep for file in files)
    while frame.f_back and frame.f_code.co_filename.startswith(not_the_users):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


_CHOICE = (
    "if, while, and, or, max() and sorting would decide once for all numbers; use "
    "where(condition, a, b), .maximum(), .minimum() or .relu()"
)
_JUMPS = "its derivative is 0 but for jumps; compute it before and pass the result as an argument"
_BOTH = (
    "conditions are combined by choosing twice: where(a & b, x, y) is where(a, where(b, x, y), y), "
    "and where(a | b, x, y) is where(a, x, where(b, x, y))"
)
_FUNCTION = "it would become a constant; use the methods of Value, such as .exp() for math.exp"


class Traced:
    """A number, or a condition, of which only the way it is computed is known.

    >>> recording = Recording()
    >>> x = recording.input(3.0)
    >>> (x < 4).where(x, 4), x.take([1.0, 2.0])
    (Traced(where of 2, 0, 3), Traced(take of 0, 5, 6))
    """

    __slots__ = ("place", "recording")

    def __init__(self, recording: Recording, place: int) -> None:
        self.recording = recording
        self.place = place

    __add__, __sub__, __rsub__ = _binary("+"), _binary("-"), _reflected("-")
    __mul__, __rmul__ = _binary("*"), _reflected("*")
    __truediv__, __rtruediv__ = _binary("/"), _reflected("/")
    __pow__, __rpow__ = _binary("**"), _reflected("**")
    __neg__, __abs__ = _unary("neg"), _unary("abs")
    __lt__, __le__, __gt__, __ge__ = map(_binary, ("<", "<=", ">", ">="))
    exp, log, sqrt, sin, cos = map(_unary, ("exp", "log", "sqrt", "sin", "cos"))
    tanh, sigmoid, relu = map(_unary, ("tanh", "sigmoid", "relu"))
    maximum, minimum = map(_binary, ("maximum", "minimum"))

    def __pos__(self) -> Traced:
        return self

    def __radd__(self, other: Any) -> Any:
        """The sum; a 0, from which every gradient starts and Python's sum(), adds nothing."""
        if type(other) in (int, float) and other == 0:
            return self
        return self.recording.record("+", other, self)

    def where(self, a: Any, b: Any) -> Any:
        """`a` where this condition holds, else `b`; between Values, an operation with its closure.

        >>> recording = Recording()
        >>> a, b = Value(recording.input(3.0)), Value(recording.input(4.0))
        >>> (a < b).where(a, 0).data
        Traced(where of 2, 0, 3)
        """
        if not (isinstance(a, Value) or isinstance(b, Value)):
            return self.recording.record("where", self, a, b)

        a, b = _value(a), _value(b)

        def _backward(upstream: Number, a: Value = a, b: Value = b) -> None:
            a.grad += self.where(upstream, 0)
            b.grad += self.where(0, upstream)

        return _node(Value, self.where(a.data, b.data), (a, b), "where", _backward)

    def take(self, table: Sequence[Any]) -> Any:
        """`table[self]`; of Values, an operation with its closure; of rows, a row.

        >>> recording = Recording()
        >>> taken = recording.input(1).take([Value(2.0), Value(3.0)])
        >>> taken.data, len(taken._prev)
        (Traced(take of 0, 1, 2), 2)
        """
        if not len(table):
            raise IndexError("take expects a table with at least one entry")
        if all(hasattr(entry, "__len__") for entry in table):
            if len(set(map(len, table))) > 1:
                raise ValueError("take expects rows of one length in a table of rows")
            return [self.take(column) for column in zip(*table, strict=True)]
        if not any(isinstance(entry, Value) for entry in table):
            return self.recording.record("take", self, *table)
        entries = tuple(map(_value, table))

        def _backward(upstream: Number) -> None:
            for position, entry in enumerate(entries):
                entry.grad += self.recording.record("is", self, position).where(upstream, 0)

        data = self.take([entry.data for entry in entries])
        return _node(Value, data, entries, "take", _backward)

    __bool__ = _refuses("bool()", _CHOICE)
    __eq__ = __ne__ = _refuses("==", "ties are written with < and >, as in where(a < b, a, b)")
    __float__, __int__ = _refuses("float()", _FUNCTION), _refuses("int()", _FUNCTION)
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refuses("%", _JUMPS)
    __floordiv__ = __rfloordiv__ = _refuses("//", _JUMPS)
    __and__ = __rand__ = _refuses("&", _BOTH)
    __or__ = __ror__ = _refuses("|", _BOTH)
    __xor__ = __rxor__ = _refuses("^", _BOTH)
    __invert__ = _refuses("~", _BOTH)
    __matmul__ = __rmatmul__ = _refuses("@", "it is a single number; use *")
    __round__ = __trunc__ = __floor__ = __ceil__ = _refuses("rounding", "it has no derivative")
    __index__ = _refuses("the index", "use take(table, index)")
    __hash__ = object.__hash__

    __format__ = _refuses("format()", "its value is known only when the program runs")

    def __repr__(self) -> str:
        instruction = self.recording.instructions[self.place]
        of = ", ".join(map(str, instruction.operands)) or repr(instruction.number)
        return f"Traced({instruction.op} of {of})"


numbers.Number.register(Traced)  # so that it may be the data of a Value


def _value(x: Any) -> Value:
    return x if isinstance(x, Value) else Constant(x)


# ---- 2. From a graph to its program


@dataclass(frozen=True)
class Program:
    """What `trace` has recorded: forward and backward of a graph as a list of instructions.

    Attributes:
        instructions: all of them, operands before results.
        order: the nodes of the graph in topological order, the root last.
        data, grad: for each node the place of the instruction that completes it.
        unknown: nodes whose forward pass could not be recorded, since they were made by operations
            of the user's own; their data and local derivatives are constants of the program.

    >>> x = Value(3.0)
    >>> len(trace(x * x).order)
    2
    """

    instructions: tuple[Instruction, ...]
    order: tuple[Value, ...]
    data: tuple[int, ...]
    grad: tuple[int, ...]
    unknown: tuple[int, ...]

    def contributions(self) -> list[tuple[int, int, int, int]]:
        """In their order, (giver, which of its operands, receiver, place of the contribution).

        >>> x = Value(3.0)
        >>> trace(x * x).contributions()
        [(1, 0, 0, 4), (1, 1, 0, 5)]
        """
        return [
            (*step.edge, step.node, step.operands[1])
            for step in self.instructions
            if step.role == "accumulation" and step.edge
        ]

    def python(self, names: Sequence[str] | None = None) -> str:
        """The program as Python text: a function of the leaves, giving result and gradients.

        Args:
            names: one for each node, made fit for Python where needed; labels by default.

        Raises:
            ValueError: there are not as many names as nodes.
        """
        if names and len(names) != len(self.order):
            raise ValueError(f"expected {len(self.order)} names, one for each node of `order`")
        names = _identifiers(names or [v.label or f"v{i}" for i, v in enumerate(self.order)])
        grads = _identifiers([f"{name}_grad" for name in names], taken=names)
        known = self._names(lambda i: names[i], lambda i: grads[i])
        texts = _expressions(self.instructions, known, _PYTHON)
        leaves = [i for i, v in enumerate(self.order) if not v._prev]
        results = ((i, p) for i, p in enumerate(self.data) if self.order[i]._prev)
        lines = [f"{names[i]} = {texts[p]}" for i, p in results]
        lines.append("")
        for start in range(0, len(grads), 6):
            lines.append(" = ".join([*grads[start : start + 6], "0"]))
        lines.append(f"{grads[-1]} += 1")
        for _, _, receiver, place in self.contributions():
            lines.append(f"{grads[receiver]} += {known.get(place) or texts[place]}")
        found = ", ".join(grads[i] for i in leaves)
        lines.append(f"return {names[-1]}, [{found}]")
        used = sorted({step.op for step in self.instructions} & set(_FUNCTIONS) - {"abs"})
        head = f"from micrograd.arithmetic import {', '.join(used)}\n\n" if used else ""
        body = "".join(f"    {line}".rstrip() + "\n" for line in lines)
        return f"{head}def program({', '.join(names[i] for i in leaves)}):\n{body}"

    def javascript(self) -> str:
        """The program as a JavaScript expression: a function of two arrays, d and g.

        d[i] and g[i] are data and gradient of node i. The function gives an object of three lists:
        `leaves` has {node, number} for each leaf, `forward` has {node, data()} for each result,
        `backward` has {node, shares} for each closure, and each of its shares {edge, node, share()}
        for an operand. Nothing is written into d and g: whoever runs the program does that, in
        order or out of it. The primitives that JavaScript has not under these names are expected as
        functions around it.

        >>> print(trace(-Value(2.0)).javascript())
        (d, g) => ({
          leaves: [
            {node: 0, number: 2.0},
          ],
          forward: [
            {node: 1, data: () => -d[0]},
          ],
          backward: [
            {node: 1, shares: [
              {edge: 0, node: 0, share: () => -g[1]},
            ]},
          ],
        })
        """
        known = self._names(lambda i: f"d[{i}]", lambda i: f"g[{i}]")
        texts = _expressions(self.instructions, known, _JAVASCRIPT)
        leaves = [
            f"    {{node: {i}, number: {texts[self.data[i]]}}},"
            for i, v in enumerate(self.order)
            if not v._prev
        ]
        forward = [
            f"    {{node: {i}, data: () => {texts[self.data[i]]}}},"
            for i, v in enumerate(self.order)
            if v._prev
        ]
        backward, last = [], None
        for giver, edge, receiver, place in self.contributions():
            if giver != last:
                backward += ["    ]},"] * (last is not None) + [f"    {{node: {giver}, shares: ["]
                last = giver
            text = known.get(place) or texts[place]
            backward.append(f"      {{edge: {edge}, node: {receiver}, share: () => {text}}},")
        backward += ["    ]},"] * (last is not None)
        lines = ["  leaves: [", *leaves, "  ],", "  forward: [", *forward, "  ],"]
        lines += ["  backward: [", *backward, "  ],"]
        return "\n".join(["(d, g) => ({", *lines, "})"])

    def _names(self, data: Callable[[int], str], grad: Callable[[int], str]) -> dict[int, str]:
        # What stands in an expression for the result of an instruction that completes something.
        known = {place: data(i) for i, place in enumerate(self.data)}
        for place, step in enumerate(self.instructions):
            if step.role in ("accumulation", "seed"):
                known[place] = grad(step.node)
        return known


def trace(root: Value) -> Program:
    """The program of the graph that leads to `root`: its forward pass and its backward pass.

    Each operation is run again, on recording numbers, and then each closure of what came out. The
    graph itself is left as it is.

    Raises:
        TypeError: the root is not a Value.
        ValueError: a `no_grad()` is around this; or the closure of an operation of the user's own
            sets the gradient of an operand, with =, where it should add to it.

    >>> a, b = Value(2.0), Value(3.0)
    >>> [step.role for step in trace(a * b).instructions[:6]]
    ['leaf', 'leaf', 'forward', 'start', 'seed', 'contribution']
    """
    if not isinstance(root, Value):
        raise TypeError(f"trace starts from a Value, got {type(root).__name__} {root!r:.40}")
    recording = Recording()
    order = topological_order(root)
    twin: dict[Value, Value] = {}
    unknown = []
    for i, node in enumerate(order):
        operands = [twin[operand] for operand in node._prev]
        recording.note(i, "forward" if operands else "leaf")
        if not operands:
            twin[node] = Value(recording.input(_innermost(node.data)))
        elif _is_known(node):
            twin[node] = _again(node._op, operands)
        else:
            unknown.append(i)
            twin[node] = _as_it_is(node, operands, recording)
    if root._prev and not twin[root]._prev:
        raise ValueError("tracing needs the graph, which no_grad() keeps from being recorded")
    data = [twin[node].data.place for node in order]

    recording.note(-1, "start")
    grads = dict.fromkeys(twin.values(), recording.constant(0))
    recording.note(len(order) - 1, "seed")
    grads[twin[root]] = recording.constant(1)
    place_of = {twin[node]: i for i, node in enumerate(order)}
    for i, node in reversed(list(enumerate(order))):
        giver = twin[node]
        recording.note(i, "contribution")
        shares = contributions(giver, grads[giver])
        for edge, (receiver, share) in enumerate(zip(giver._prev, shares, strict=True)):
            recording.note(place_of[receiver], "accumulation", (i, edge))
            grads[receiver] = recording.record("+", grads[receiver], share)
    grad = [grads[twin[node]].place for node in order]
    return Program(
        tuple(recording.instructions), tuple(order), tuple(data), tuple(grad), tuple(unknown)
    )


def _is_known(node: Value) -> bool:
    is_ours = node._closure.__defaults__ == node._prev and "_backward" not in vars(node)
    return is_ours and (node._op in operations or "**" in node._op)


def _again(op: str, operands: Sequence[Value]) -> Value:
    if op in operations:
        return operations[op](*operands)
    base, _, exponent = op.partition("**")  # one of them is a plain number, part of the name
    kinds: list[Any] = [int, float, Fraction]
    for kind in kinds:
        try:
            number = kind(base.strip("()") or exponent)
        except ValueError:
            continue
        power: Value = number ** operands[0] if base else operands[0] ** number
        return power
    raise ValueError(f"{op!r} is not a power with a plain base or exponent")


def _as_it_is(node: Value, operands: Sequence[Value], recording: Recording) -> Value:
    # An operation of the user's own knows its data for these operands alone: they stay constants,
    # and so do its local derivatives.
    local = [_innermost(derivative) for derivative in local_derivatives(node, strict=True)]

    def closure(upstream: Number) -> None:
        for operand, derivative in zip(operands, local, strict=True):
            operand.grad += derivative * upstream

    twin = Value(recording.constant(_innermost(node.data)), operands, node._op)
    twin._closure = closure
    return twin


def _innermost(x: Any) -> Any:
    while isinstance(x, Value):
        x = x.data
    return x


# ---- 3. From a program to text


_FUNCTIONS = (
    *("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "relu", "abs", "where", "take"),
    *("maximum", "minimum"),
)
_PYTHON = {"inf": "float('inf')", "-inf": "-float('inf')", "nan": "float('nan')"}
_JAVASCRIPT = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}

# Both languages agree on these. A sum of sums keeps its brackets, since rounding depends on them.
_RANKS = {"<": 1, "<=": 1, ">": 1, ">=": 1, "+": 2, "-": 2, "*": 3, "/": 3, "neg": 4, "**": 5}
_ATOM = 6


def _expressions(
    instructions: Sequence[Instruction], known: Mapping[int, str], spelling: Mapping[str, str]
) -> list[str]:
    # For each instruction, the text of what it computes. Operands that are known by a name stand by
    # it, the others are written out in their place. `spelling` is that of numbers without digits.
    texts: list[tuple[str, int]] = []

    def operand(place: int, rank: int) -> str:
        text, own = (known[place], _ATOM) if place in known else texts[place]
        return text if own >= rank else f"({text})"

    for step in instructions:
        op, places, rank = step.op, step.operands, _RANKS.get(step.op, _ATOM)
        if op in ("input", "constant"):
            text = _number(step.number, spelling)
            rank = _RANKS["neg"] if text.startswith("-") else _ATOM
        elif op == "neg":
            text = f"-{operand(places[0], rank + 1)}"
        elif op == "**":
            text = f"{operand(places[0], rank + 1)} ** {operand(places[1], _RANKS['neg'])}"
        elif op in _RANKS:
            text = f"{operand(places[0], rank)} {op} {operand(places[1], rank + 1)}"
        elif op == "take":
            index, *table = (operand(place, 0) for place in places)
            text = f"take([{', '.join(table)}], {index})"
        else:
            text = f"{op}({', '.join(operand(place, 0) for place in places)})"
        texts.append((text, rank))
    return [text for text, _ in texts]


def _number(x: Any, spelling: Mapping[str, str]) -> str:
    if not isinstance(x, int) or abs(x) > 2**53:  # JavaScript's limit of whole numbers
        x = float(_innermost(x))
    return spelling.get(repr(x), repr(x))


def _identifiers(labels: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    # Names fit for Python, each one once: layers[0].b becomes layers_0_b.
    names = []
    for i, label in enumerate(labels):
        label = unicodedata.normalize("NFKC", label)  # as Python does with its names
        name = re.sub(r"\W+", "_", label).strip("_")
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"v_{name}" if f"v_{name}".isidentifier() else f"v{i}"
        names.append(name)
    return distinct(names, "{}_{}", {*taken, *_FUNCTIONS, "program", "float"})


def distinct(names: Sequence[str], numbered: str, taken: Collection[str] = ()) -> list[str]:
    """The names, each one once: the first keeps its name, the others get a number.

    >>> distinct(["x", "x", "x (2)", "x"], numbered="{} ({})")
    ['x', 'x (3)', 'x (2)', 'x (4)']
    """
    reserved = {*taken, *names}  # a numbered name gives way to one that somebody chose
    used = set(taken)
    count: Counter[str] = Counter()
    found = []
    for name in names:
        count[name] += 1
        unique = name
        while unique in used or (unique != name and unique in reserved):
            count[name] += unique != name
            unique = numbered.format(name, max(2, count[name]))
        used.add(unique)
        found.append(unique)
    return found
