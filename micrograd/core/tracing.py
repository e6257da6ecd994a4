"""Traced numbers, which record the operations on them, and the resulting program.

The engine never tests what kind of number it computes with. So the leaves can hold traced numbers,
which have no value and only record. Running the operations of `engine.py` then records the forward
pass, and running their closures records the backward pass. The result is one flat list of
instructions (a Wengert list) for both, and no derivative rule is written twice.

    >>> x, w = Value(2.0, label="x"), Value(0.5, label="w")
    >>> print(trace((w * x).tanh()).python(), end="")
    from micrograd.core.numbers import tanh
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

import numbers
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from micrograd.core.node import innermost, is_own, operations, record, unrecorded
from micrograd.core.numbers import Number, as_number
from micrograd.core.pause import is_paused
from micrograd.core.source import ATOM, FUNCTIONS, Expression, expression, identifiers
from micrograd.derivatives import contributions, local_derivatives
from micrograd.engine import Value, topological_order

# ---- 1. Instructions, and the numbers that record them


class Instruction(NamedTuple):
    """One step of a program: a primitive operation on the results of earlier steps.

    Attributes:
        op: 'input', 'constant', or an operation: '+', '<', 'neg', 'exp', 'where', ...
        operands: the places (indices in the list) of the instructions that compute the operands.
        number: the value of a constant, or of an input at the time of recording.
        node: the index, in the topological order of the graph, of the node that it belongs to.
        role: 'leaf' or 'forward' for the data of the node; 'start' for the 0 from which gradients
            start; 'seed' for the gradient of the root; 'contribution' for the steps by which the
            closure of the node computes what it adds to an operand's gradient; 'accumulation' for
            adding a contribution to the gradient of the node.
        edge: for an accumulation, the index of the contributing node, and the position of the
            receiving node among its operands.

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
    """A growing list of instructions; new ones get the current `node`, `role` and `edge`.

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
        """The instructions recorded so far."""
        return self._steps

    def note(self, node: int, role: str, edge: Any = None) -> None:
        """Sets the node, role and edge of the next instructions."""
        self.node, self.role, self.edge = node, role, edge

    def input(self, number: Number) -> Traced:
        """A traced number that can change from one run of the program to the next."""
        return Traced(self, self.add("input", (), number))

    def constant(self, number: Number) -> Traced:
        """A traced number that never changes."""
        return Traced(self, self.add("constant", (), number))

    def record(self, op: str, *operands: Any) -> Any:
        """The result of an operation; NotImplemented if an operand is not a number.

        Raises:
            ValueError: an operand belongs to another recording.
        """
        places = []
        for x in operands:
            if not isinstance(x, Traced):
                number = x if isinstance(x, int) else as_number(x)
                if number is NotImplemented or isinstance(x, Value):
                    return NotImplemented
                x = self.constant(number)
            elif x.recording is not self:
                raise ValueError(f"{x!r} belongs to another recording: use a plain number instead")
            places.append(x.place)
        return Traced(self, self.add(op, tuple(places)))

    def add(self, op: str, operands: tuple[int, ...], number: Any = None) -> int:
        """Appends an instruction and returns its place; operands are the places of results."""
        self._steps.append(Instruction(op, operands, number, self.node, self.role, self.edge))
        return len(self._steps) - 1


class TraceError(TypeError):
    """Raised if a program asks for the value of a traced number, as `if x > 0` does."""


def _unary(op: str) -> Callable[[Traced], Any]:
    return lambda x: Traced(x.recording, x.recording.add(op, (x.place,)))


def _binary(op: str) -> Callable[[Traced, Any], Any]:
    def method(x: Traced, y: Any) -> Any:
        recording = x.recording
        if type(y) is Traced and y.recording is recording:  # a fast path for the usual case
            return Traced(recording, recording.add(op, (x.place, y.place)))
        return recording.record(op, x, y)

    return method


def _reflected(op: str) -> Callable[[Traced, Any], Any]:
    return lambda x, y: x.recording.record(op, y, x)


def _refuses(what: str, remedy: str) -> Callable[..., NoReturn]:
    def method(*_: Any) -> NoReturn:
        raise TraceError(f"a traced number does not support {what}, at {_users_line()}: {remedy}")

    return method


def _users_line() -> str:
    frame: Any = sys._getframe()
    files = __file__, getattr(sys.modules.get("numpy"), "__file__", __file__)  # np.sum calls us
    not_the_users = tuple(os.path.dirname(file) + os.sep for file in files)
    while frame.f_back and frame.f_code.co_filename.startswith(not_the_users):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


_CHOICE = (
    "if, while, and, or, max() and sorting would fix the decision for all inputs; use "
    "where(condition, a, b), .maximum(), .minimum() or .relu()"
)
_JUMPS = "its derivative is 0 except at jumps; compute it first and pass the result as an argument"
_BOTH = (
    "choose twice instead: for where(a & b, x, y) write where(a, where(b, x, y), y), and for "
    "where(a | b, x, y) write where(a, x, where(b, x, y))"
)
_FUNCTION = "it would make a constant; use methods of Value, such as .exp() instead of math.exp"


class Traced:
    """A number or a condition without a value: it records how it is computed.

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
        """The sum; adding 0 records nothing, since gradients and Python's sum() start from 0."""
        if type(other) in (int, float) and other == 0:
            return self
        return self.recording.record("+", other, self)

    def where(self, a: Any, b: Any) -> Any:
        """`a` where this condition holds, else `b`; if one of them is a Value, so is the result.

        >>> recording = Recording()
        >>> a, b = Value(recording.input(3.0)), Value(recording.input(4.0))
        >>> (a < b).where(a, 0).data
        Traced(where of 2, 0, 3)
        """
        if not (isinstance(a, Value) or isinstance(b, Value)):
            return self.recording.record("where", self, a, b)

        def rule(a: Value, b: Value) -> Any:
            def _backward(upstream: Number, a: Value, b: Value) -> None:
                a.grad += self.where(upstream, 0)
                b.grad += self.where(0, upstream)

            return self.where(a.data, b.data), _backward

        return record("where", rule, _value(a), _value(b))

    def take(self, table: Sequence[Any]) -> Any:
        """`table[self]`; a Value if the table contains Values, a row if it contains rows.

        >>> recording = Recording()
        >>> taken = recording.input(1).take([Value(2.0), Value(3.0)])
        >>> taken.data, len(taken._prev)
        (Traced(take of 0, 1, 2), 2)
        """
        if not len(table):
            raise IndexError("take expects a table with at least one entry, got an empty one")
        if all(hasattr(entry, "__len__") for entry in table):
            if len(lengths := set(map(len, table))) > 1:
                raise ValueError(f"take expects rows of equal length, got {sorted(lengths)}")
            return [self.take(column) for column in zip(*table, strict=True)]
        if not any(isinstance(entry, Value) for entry in table):
            return self.recording.record("take", self, *table)

        def rule(*entries: Value) -> Any:
            def _backward(upstream: Number, *entries: Value) -> None:
                for position, entry in enumerate(entries):
                    entry.grad += self.recording.record("is", self, position).where(upstream, 0)

            return self.take([entry.data for entry in entries]), _backward

        return record("take", rule, *map(_value, table))

    __bool__ = _refuses("bool()", _CHOICE)
    __eq__ = __ne__ = _refuses("==", "use < or > instead, as in where(a < b, a, b)")
    __float__, __int__ = _refuses("float()", _FUNCTION), _refuses("int()", _FUNCTION)
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refuses("%", _JUMPS)
    __floordiv__ = __rfloordiv__ = _refuses("//", _JUMPS)
    __and__ = __rand__ = _refuses("&", _BOTH)
    __or__ = __ror__ = _refuses("|", _BOTH)
    __xor__ = __rxor__ = _refuses("^", _BOTH)
    __invert__ = _refuses("~", _BOTH)
    __matmul__ = __rmatmul__ = _refuses("@", "use * between single numbers")
    __round__ = __trunc__ = __floor__ = __ceil__ = _refuses("rounding", _JUMPS)
    __index__ = _refuses("use as an index", "use take(table, index)")
    __hash__ = object.__hash__

    __format__ = _refuses("format()", "it has no value yet; print the result instead")

    def __repr__(self) -> str:
        instruction = self.recording.instructions[self.place]
        of = ", ".join(map(str, instruction.operands)) or repr(instruction.number)
        return f"Traced({instruction.op} of {of})"


numbers.Number.register(Traced)  # so that the data of a Value may be traced


def _value(x: Any) -> Value:
    return x if isinstance(x, Value) else Value(x)


# ---- 2. Running operations again


def recompute(root: Value) -> Value:
    """Runs the forward pass of a graph again, after the data of leaves has changed; returns root.

    Each node gets new data and a new closure, because closures hold intermediate results. Gradients
    do not change. The graph keeps its shape: decisions that were made while it was built (by `if`,
    `max`, `where` or an index) are not made again, and copies made by `detach()` keep their number.

    Raises:
        TypeError: the root is not a Value, or the graph contains a user-defined operation, which
            cannot be run again. Nothing has been changed.
        RuntimeError: the call is inside `no_grad()`, or the graph was built there: `no_grad()` does
            not keep closures.

    >>> a = Value(2.0)
    >>> square = a * a
    >>> a.data = 5.0
    >>> recompute(square)
    Value(data=25.0, grad=0)
    """
    if not isinstance(root, Value):
        raise TypeError(f"recompute starts from a Value, got {type(root).__name__} {root!r:.40}")
    order = topological_order(root)
    if is_paused() or any(node._rule is unrecorded for node in order):
        reason = "recompute needs the closures of the graph, and no_grad() keeps none"
        raise RuntimeError(
            f"{reason}: build all of the graph, and call recompute, outside no_grad(); "
            "use detach() for a number that is to stay as it is"
        )
    nodes = [node for node in order if node._prev]
    for node in nodes:
        if not is_known(node):
            raise TypeError(
                f"recompute cannot run the operation {node._op!r} again, since it is not one of "
                "Value's: rebuild the graph in each step"
            )
    before = [(node.data, node._rule) for node in nodes]
    try:
        for node in nodes:
            fresh = again(node._op, node._prev)
            node.data, node._rule = fresh.data, fresh._rule
    except BaseException:  # such as an overflow or Ctrl-C: change all nodes or none
        for node, (data, rule) in zip(nodes, before, strict=True):
            node.data, node._rule = data, rule
        raise
    return root


def is_known(node: Value) -> bool:
    """Whether the operation is one of Value's, so that its name and operands give the result.

    >>> is_known(Value(2.0) * 3.0), is_known(Value(6.0, (Value(2.0),), "triple"))
    (True, False)
    """
    return not is_own(node) and (node._op in operations or "**" in node._op)


def again(op: str, operands: Sequence[Value]) -> Value:
    """The result of the operation with this name, as in `_op`.

    Raises:
        ValueError: the name is neither an operation nor a power with a plain base or exponent.

    >>> again("**2", [Value(3.0)]), again("+", [Value(3.0), Value(1.0)])
    (Value(data=9.0, grad=0), Value(data=4.0, grad=0))
    """
    if op in operations:
        result: Value = operations[op](*operands)
        return result
    base, _, exponent = op.partition("**")  # the base or the exponent is a plain number in the name
    kinds: list[Any] = [int, float, Fraction]
    for kind in kinds:
        try:
            number = kind(base.strip("()") or exponent)
        except ValueError:
            continue
        power: Value = number ** operands[0] if base else operands[0] ** number
        return power
    raise ValueError(f"{op!r} is not a power with a plain base or exponent")


# ---- 3. From a graph to its program


class Trace(NamedTuple):
    """The forward and backward pass of a graph as one list of instructions.

    Attributes:
        instructions: all instructions, operands before results.
        order: the nodes of the graph in topological order, the root last.
        data, grad: for each node, the place of the instruction that completes its data or grad.
        unknown: indices of nodes with user-defined operations, whose forward pass cannot be
            recorded; their data and local derivatives are constants in the program.
    """

    instructions: tuple[Instruction, ...]
    order: tuple[Value, ...]
    data: tuple[int, ...]
    grad: tuple[int, ...]
    unknown: tuple[int, ...]

    def contributions(self) -> list[tuple[int, int, int, int]]:
        """All contributions in order, as (contributing node, operand index, receiving node, place).

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
        """The program as Python text: a function from leaves to the result and the gradients.

        Args:
            names: a name for each node, changed where Python requires it; by default its label.

        Raises:
            ValueError: the number of names differs from the number of nodes.
        """
        if names and len(names) != len(self.order):
            expected = f"expected {len(self.order)} names, one for each node of `order`"
            raise ValueError(f"{expected}, got {len(names)}")
        names = identifiers(names or [v.label or f"v{i}" for i, v in enumerate(self.order)])
        grads = identifiers([f"{name}_grad" for name in names], taken=names)
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
        used = sorted({step.op for step in self.instructions} & FUNCTIONS - {"abs"})
        head = f"from micrograd.core.numbers import {', '.join(used)}\n\n" if used else ""
        body = "".join(f"    {line}".rstrip() + "\n" for line in lines)
        return f"{head}def program({', '.join(names[i] for i in leaves)}):\n{body}"

    def javascript(self) -> str:
        """The program as a JavaScript expression: a function of two arrays, d and g.

        d[i] and g[i] are the data and the gradient of node i. The function returns an object with
        three lists: `leaves` has {node, number} for each leaf, `forward` has {node, data()} for
        each result, and `backward` has {node, shares} for each closure, with a share {edge, node,
        share()} for each operand. The function does not write to d and g: the caller does, in an
        order of its choice, and also defines functions that the program calls, such as `tanh`.

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
        leaves, forward, backward, last = [], [], [], None
        for i, (v, place) in enumerate(zip(self.order, self.data, strict=True)):
            if v._prev:
                forward.append(f"    {{node: {i}, data: () => {texts[place]}}},")
            else:
                leaves.append(f"    {{node: {i}, number: {texts[place]}}},")
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
        # Maps the place of the instruction that completes a node's data or gradient to its name.
        known = {place: data(i) for i, place in enumerate(self.data)}
        for place, step in enumerate(self.instructions):
            if step.role in ("accumulation", "seed"):
                known[place] = grad(step.node)
        return known


def trace(root: Value) -> Trace:
    """The program of the graph that leads to `root`: its forward pass and its backward pass.

    Each operation runs again on traced numbers, and then the closures of the results run. The
    graph itself does not change.

    Raises:
        TypeError: the root is not a Value.
        ValueError: the call is inside a `no_grad()` block, or the closure of a user-defined
            operation sets the grad of an operand with = instead of +=.

    >>> a, b = Value(2.0), Value(3.0)
    >>> [step.role for step in trace(a * b).instructions[:6]]
    ['leaf', 'leaf', 'forward', 'start', 'seed', 'contribution']
    """
    if not isinstance(root, Value):
        raise TypeError(f"trace expects a Value, got {type(root).__name__} {root!r:.40}")
    recording = Recording()
    order = topological_order(root)
    twins, unknown = _recorded_forward(recording, order)
    if root._prev and not twins[-1]._prev:
        reason = "trace needs a graph, and no_grad() records none"
        raise ValueError(f"{reason}: call trace outside the no_grad() block")
    data = tuple(twin.data.place for twin in twins)
    grad = _recorded_backward(recording, twins)
    return Trace(tuple(recording.instructions), tuple(order), data, grad, tuple(unknown))


def _recorded_forward(
    recording: Recording, order: Sequence[Value]
) -> tuple[list[Value], list[int]]:
    # A copy of each node with traced data, and the indices of nodes that could not be recorded.
    twin: dict[Value, Value] = {}
    unknown = []
    for i, node in enumerate(order):
        operands = [twin[operand] for operand in node._prev]
        recording.note(i, "forward" if operands else "leaf")
        if not operands:
            twin[node] = Value(recording.input(innermost(node.data)))
        elif is_known(node):
            twin[node] = again(node._op, operands)
        else:
            unknown.append(i)
            twin[node] = _constant(node, operands, recording)
    return list(twin.values()), unknown


def _recorded_backward(recording: Recording, twins: Sequence[Value]) -> tuple[int, ...]:
    # For each node, the place of the instruction that completes its gradient.
    position = {twin: i for i, twin in enumerate(twins)}
    recording.note(-1, "start")
    grads = [recording.constant(0)] * len(twins)
    recording.note(len(twins) - 1, "seed")
    grads[-1] = recording.constant(1)
    for i, giver in reversed(list(enumerate(twins))):
        recording.note(i, "contribution")
        shares = contributions(giver, grads[i])
        for edge, (receiver, share) in enumerate(zip(giver._prev, shares, strict=True)):
            r = position[receiver]
            recording.note(r, "accumulation", (i, edge))
            grads[r] = recording.record("+", grads[r], share)
    return tuple(grad.place for grad in grads)


def _constant(node: Value, operands: Sequence[Value], recording: Recording) -> Value:
    # How a user-defined operation computes its data is unknown, so its data and its local
    # derivatives become constants.
    local = [innermost(derivative) for derivative in local_derivatives(node, strict=True)]

    def closure(upstream: Number, *operands: Value) -> None:
        for operand, derivative in zip(operands, local, strict=True):
            operand.grad += derivative * upstream

    twin = Value(recording.constant(innermost(node.data)), operands, node._op)
    twin._rule = closure
    return twin


# ---- 4. From a program to text

_PYTHON = {"inf": "float('inf')", "-inf": "-float('inf')", "nan": "float('nan')"}
_JAVASCRIPT = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


def _expressions(
    instructions: Sequence[Instruction], known: Mapping[int, str], spelling: Mapping[str, str]
) -> list[str]:
    # The text of each instruction. Operands in `known` appear as their names, others as full
    # expressions. `spelling` says how to write infinities and NaN.
    texts: list[Expression] = []
    for step in instructions:
        operands = [(known[i], ATOM) if i in known else texts[i] for i in step.operands]
        x = step.number
        if not isinstance(x, int | None) or abs(x or 0) > 2**53:  # JavaScript's exact integers
            x = float(innermost(x))
        texts.append(expression(step.op, operands, x, spelling))
    return [text for text, _ in texts]
