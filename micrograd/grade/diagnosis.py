"""From wrong numbers to the rule that is broken: what a program leaves behind, and what it should.

What is expected comes from our own Value. A slope of the class's own forward pass, by central
differences, stands beside it, and takes its place where the forward pass is wrong already.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import permutations
from typing import Any

from micrograd.grade.programs import (
    CORE,
    OF_INNER_NODES,
    OURS,
    UPSTREAM,
    Row,
    methods_in,
    plan,
    root_of,
)  # fmt: skip
from micrograd.grade.report import Check
from micrograd.grade.subject import ALIASES, leaves_of

STEP = 1e-4  # of central differences: they are off by some STEP^2 = 1e-8, and rounding by 1e-12
SLOPE_TOLERANCE = 1e-5  # well above that, and well below what a wrong derivative is off by
TOLERANCE = 1e-6  # between two engines, each with its own formulas, in floats of 16 digits
COARSE_TOLERANCE = 1e-4  # in floats of 7 digits, as in NumPy's float32
MAY_REFUSE = {"a ** b", "2.0 ** a"}  # the lecture's __pow__ takes plain exponents alone
REFLECTED = {"2.0 + a": "__radd__", "sum([a, b])": "__radd__", "2.0 * a": "__rmul__",
             "2.0 - a": "__rsub__", "2.0 / a": "__rtruediv__"}  # fmt: skip

Numbers = Mapping[str, float]  # data or gradients, by the names of Values in a program

# ---- 1. All checks of a class


@dataclass(frozen=True)
class _Class:
    """The class that is graded: a way to ask it, and how programs are written with it."""

    ask: Callable[..., Any]
    title: str = "Value"
    names: Mapping[str, str] = field(default_factory=lambda: {x: x for x in ALIASES})
    arguments: str = ""
    missing: tuple[str, ...] = ()
    choices: Mapping[str, list[str]] = field(default_factory=dict)

    def spelled(self, program: str) -> str:
        """A program as the class has it, '' if that is the same."""
        number = r"\bValue\(((?:[^()]|\([^()]*\))*)\)"
        text = re.sub(number, rf"{self.title}(\g<1>{self.arguments})", program)
        for name in ("grad", "backward"):
            text = re.sub(rf"\.{name}\b", f".{self.names[name]}", text)
        return text if text != program else ""


def _described(ask: Callable[..., Any]) -> _Class:
    told = ask("described")
    missing = tuple(told.pop("missing"))
    return _Class(ask, missing=missing, **told)


def remark(ask: Callable[..., Any], is_file: bool = False) -> str:
    """What is worth knowing of the names in a class, '' if they are the lecture's.

    >>> remark(OURS.ask)
    ''
    """
    kind = _described(ask)
    told = kind.names.items()
    other = [f".{found} is taken for .{name}" for name, found in told if found != name]
    if kind.arguments:
        other.append(f"every Value is made with {kind.arguments.removeprefix(', ')}")
    if not other:
        return ""
    change = "--data, --grad and --backward say" if is_file else "names= says"
    return f"Here {' and '.join(other)} ({change} otherwise)."


def checks_of(ask: Callable[..., Any]) -> Iterator[Check]:
    """The checks of a class, in the order of the plan, each made when it is asked for.

    Args:
        ask: what asks the class, as the method of a Subject does.

    >>> next(checks_of(OURS.ask)).name
    'Value: number and gradient of a new one'
    """
    kind = _described(ask)
    adds_up, has_backward = True, True
    for row in plan():
        check = Check(row.operation, row.aspect, row.programs[0])
        if not has_backward and ".backward()" in row.programs[0]:
            yield replace(check, status="not there yet")
            continue
        if "backward" in kind.missing and ".backward()" in row.programs[0]:
            has_backward = False
            yield _without_backward(check, kind)
            continue
        if not _is_there(row, kind):
            yield replace(check, status="not there yet")
            continue
        judged = (_judgement(row, program, kind) for program in row.programs)
        check = next((one for one in judged if not one.passed), check)
        if check.status == "failed" and row.expression:
            check = replace(check, composed=_is_composed(row.expression, kind))
        if check.status == "noted" and row.mistake == "twice":
            once = row.programs[0].removesuffix("; c.backward()")
            if not _judgement(row, once, kind).passed:  # something else is wrong, and not that
                check = replace(check, status="failed")
        if check.mistake == "operands" and row.operation == "graph" and not adds_up:
            check = replace(check, mistake="accumulate")  # a + a fails for more than one reason
        adds_up = adds_up and check.mistake != "accumulate"
        yield check if check.passed else replace(check, spelled=kind.spelled(check.program))


def _without_backward(check: Check, kind: _Class) -> Check:
    there = ", ".join(kind.choices.get("backward", ()))
    found = f"several that may be it: {there}" if there else "no such method"
    expected = f"a method {kind.names['backward']}()"
    made = kind.spelled(check.program)
    return replace(
        check, status="failed", mistake="needed", expected=expected, found=found, spelled=made
    )


def _is_there(row: Row, kind: _Class) -> bool:
    """Whether the class has the operation at all, found out by trying it."""
    if row.operation == "NumPy":
        if importlib.util.find_spec("numpy") is None:
            return False
        error = _error_of(row.programs[0], kind)
        return not error or not (_is_refusal(error, row) or _is_of_type(error))
    if not row.expression or row.operation in CORE:
        return True
    error = _error_of(row.expression, kind)
    if not error:
        return True  # the check will tell what is wrong with it, if anything
    if "NotImplementedError" in error["kinds"] or _is_refusal(error, row):
        return False
    if row.operation in MAY_REFUSE and "ValueError" in error["kinds"]:
        return False
    if not _is_of_type(error):
        return True
    needed = methods_in(row.operation) | {REFLECTED.get(row.operation, "__init__")}
    if row.operation in MAY_REFUSE or kind.ask("lacks", sorted(needed)):
        return False
    if row.mistake in ("wrap", "reflected"):  # forgotten here, if numbers are taken elsewhere
        beside = (f"a = Value(1.5); b = a {sign} {x}" for sign in "+*" for x in ("2.0", "2"))
        return any(not _error_of(program, kind) for program in beside)
    return True


def _error_of(program: str, kind: _Class) -> Any:
    """What an error in a forward pass says of itself, None if there is none."""
    return kind.ask("observed", program, False).get("error")


def _is_of_type(error: Mapping[str, Any]) -> bool:
    return bool({"TypeError", "AttributeError"} & {*error["kinds"]})


def _is_refusal(error: Mapping[str, Any], row: Row) -> bool:
    """Whether the class says no by a `raise` or an `assert` of its own.

    An error of the number, as a logarithm raises it, is none: it may come from a wrong condition.
    """
    of_number = {"ValueError", "ArithmeticError", "RecursionError"} & {*error["kinds"]}
    return error["on_purpose"] and (not of_number or "**" in row.operation)


def _is_composed(expression: str, kind: _Class) -> bool:
    """Whether the class computes an operation by others, so that their mistakes show in it."""
    op, has_inner = kind.ask("composed", expression)
    own = {"+": "__add__", "*": "__mul__"}.get(op)  # -a may be a * -1
    return has_inner or (own is not None and own not in methods_in(expression))


# ---- 2. One program


class _Broken(Exception):  # noqa: N818 - it is no error here, but a finding
    """A rule is broken: mistake, expected, found."""


class _Failed(Exception):  # noqa: N818
    """The class raises an error: what a Subject tells of it."""


def _judgement(row: Row, program: str, kind: _Class) -> Check:
    place = ""
    try:
        _compare(row, program, kind)
        return Check(row.operation, row.aspect, program)
    except _Broken as broken:
        mistake, expected, found = broken.args
        if row.mistake in ("construct", "numpy") and mistake != "untouched":
            mistake = row.mistake
    except _Failed as failed:
        (error,) = failed.args
        mistake, expected = _behind(error, row, kind), "no error"
        found, place = error["text"], error["place"]
    is_note = mistake in ("twice", "kept") or (mistake == "depth" and expected == "no error")
    status = "noted" if is_note else "failed"
    return Check(row.operation, row.aspect, program, status, mistake, expected, found, place)


def _compare(row: Row, program: str, kind: _Class) -> None:
    """Raises _Broken where a program leaves other numbers in the class than in our Value."""
    root, leaves = root_of(program), leaves_of(program)
    our_data, right, _ = _ours(program)
    forward, grad, tolerance = _observed(program, kind, backward=False)
    is_off = not _near(forward[root], our_data[root], tolerance)
    if is_off and (row.aspect == "value" or not row.expression):
        y = our_data[root]
        turned = {"2.0 - a": -y, "2.0 / a": y and 1 / y}.get(row.operation, y)
        mistake = "swapped" if _near(forward[root], turned, tolerance) else "value"
        expected, found = (_text("data", [root], data, kind) for data in (our_data, forward))
        raise _Broken(mistake, expected, found)
    data = forward
    if ".backward()" in program:
        data, grad, tolerance = _observed(program, kind)
    if changed := [name for name in forward if not _near(data[name], forward[name])][:1]:
        expected, found = (_text("data", changed, numbers, kind) for numbers in (forward, data))
        raise _Broken("untouched", expected, found)
    if row.mistake == "paths" and (many := _calls(kind, 12)) > 20 * (few := _calls(kind, 3)):
        found = f"{few} calls of functions for 4 nodes, {many} for 13 nodes"
        raise _Broken("paths", "work in step with nodes", found)
    if row.aspect == "value":
        return
    is_simple = program.count("backward()") == 1 and row.mistake not in ("paths", "depth")
    slopes: Numbers = {}
    if is_off and is_simple:  # a wrong forward pass, told of already, may have its own gradient
        right = slopes = _slopes(program, kind)
        tolerance = max(tolerance, SLOPE_TOLERANCE)
    if wrong := [v for v in leaves if not _near(grad[v], right[v], tolerance)]:
        expected = _text("grad", wrong, right, kind)
        if is_simple:
            slopes = slopes or _slopes(program, kind)
            beside = ", ".join(f"{slopes[v]:.6g}" for v in wrong)
            expected += f" (slope of its own forward pass: {beside})"
        mistake = _behind_gradients(row, program, kind, grad, right, forward)
        raise _Broken(mistake, expected, _text("grad", wrong, grad, kind))


def _observed(program: str, kind: _Class, backward: bool = True) -> tuple[Numbers, Numbers, float]:
    """Data and gradients that a program leaves in its Values, and how exact they can be."""
    told = kind.ask("observed", program, backward)
    if "error" in told:
        raise _Failed(told["error"])
    if "broken" in told:
        mistake, expected, found = told["broken"]
        if there := [f".{x}" for name in ("data", "grad") for x in kind.choices.get(name, ())]:
            found += f" (several may be it: {', '.join(there)})"
        raise _Broken(mistake, expected, found)
    return told["data"], told["grad"], COARSE_TOLERANCE if told["coarse"] else TOLERANCE


@cache
def _ours(program: str) -> tuple[Numbers, Numbers, float]:
    return _observed(program, _Class(OURS.ask))


def _gradients(program: str, kind: _Class) -> Numbers:
    """Those that a program leaves, none if it fails."""
    told = kind.ask("observed", program)
    grad: Numbers = told.get("grad", {})
    return grad


def _slopes(program: str, kind: _Class) -> Numbers:
    """Central differences of the root of a program, by each leaf."""

    def data(leaf: str, shift: float) -> float:
        moved = program.replace(f"{leaf} = Value(", f"{leaf} = Value({shift} + ")
        return _observed(moved, kind, backward=False)[0][root_of(program)]

    return {x: (data(x, STEP) - data(x, -STEP)) / (2 * STEP) for x in leaves_of(program)}


def _near(found: float, expected: float, tolerance: float = TOLERANCE) -> bool:
    return abs(found - expected) <= tolerance * max(1.0, abs(expected))


def _text(attribute: str, names: list[str], values: Numbers, kind: _Class) -> str:
    attribute = kind.names[attribute]
    return ", ".join(f"{name}.{attribute} = {values[name]:.6g}" for name in names)


def _calls(kind: _Class, doublings: int) -> int:
    told = kind.ask("calls", doublings)
    if "error" in told:
        raise _Failed(told["error"])
    count: int = told["calls"]
    return count


# ---- 3. The rule behind it


def _behind_gradients(
    row: Row, program: str, kind: _Class, found: Numbers, right: Numbers, data: Numbers
) -> str:
    """The rule that is broken where a gradient is wrong, from what kind of wrong it is."""
    leaves = leaves_of(program)
    if not row.expression:
        if row.mistake == "order" and found["a"] > right["a"]:  # all data there is positive
            return "once"
        if row.mistake == "twice" and found["a"] < right["a"]:
            return "kept"
        return row.mistake
    if kind.ask("calls_of_closure", program) > 1:
        return "once"
    if set(found.values()) == {1.0} and _all_are_seeds(kind):
        return "seed"
    if row.aspect == "adding up":  # in out * a, the share of the product, out, is overwritten
        *_, out, _ = data.values()
        again = program.removesuffix(".backward()").split(" * ")[-1][0]
        return "accumulate" if _near(found[again], right[again] - out) else "derivative"
    if row.aspect == "gradient" and _reads_gradients(program, kind, found):
        return "reads"
    if row.aspect == "inner operand":
        return "children" if any(found[x] == 0 != right[x] for x in leaves) else "derivative"
    inputs = [x for x in leaves if x != "w"]
    if all(found[x] == 0 for x in inputs):
        if row.operation not in CORE:
            return "closure"
        if row.aspect == "gradient":
            return _behind_nothing(program, kind)
        return "children" if _some_are_reached(kind) else "walk"
    if row.aspect == "chain rule":
        is_local = all(_near(found[x], right[x] / UPSTREAM) for x in inputs)
        return "chain" if is_local else "derivative"
    if len(inputs) == 2 and all(_near(found[x], right[y]) for x, y in permutations(inputs)):
        return "exchanged" if _are_exchanged(row, program, kind) else "operands"
    return "derivative"


def _behind_nothing(program: str, kind: _Class) -> str:
    """The rule that is broken where an operation hands nothing back when backward() is called."""
    steps, _, last = program.rpartition("; ")
    root = last.removesuffix(".backward()")
    by_hand = _gradients(f"{steps}; {root}.grad = 1.0; {root}._backward()", kind)
    if not any(by_hand.get(x) for x in leaves_of(program)):
        return "closure"
    return "seed" if kind.ask("calls_of_closure", program) else "walk"


def _all_are_seeds(kind: _Class) -> bool:
    """Whether backward() gives every node the gradient 1, and not the root alone."""
    grad = _gradients("a = Value(3.0); b = a + a; c = b + b; c.backward()", kind)
    return set(grad.values()) == {1.0}


def _some_are_reached(kind: _Class) -> bool:
    """Whether backward() goes on from an operation to an operand on some side, left or right."""
    return any(_gradients(program, kind).get("a") for *_, program in OF_INNER_NODES)


def _reads_gradients(program: str, kind: _Class, found: Numbers) -> bool:
    """Whether what an operation hands back depends on what is in the grad of its operands."""
    before = {leaf: 0.5 + i for i, leaf in enumerate(leaves_of(program))}
    given = "".join(f"{leaf}.grad = {x}; " for leaf, x in before.items())
    steps, _, last = program.rpartition("; ")
    after = _gradients(f"{steps}; {given}{last}", kind)
    return any(
        not _near(after[x], found[x]) and not _near(after[x] - before[x], found[x])
        for x in before
        if x in after
    )


def _are_exchanged(row: Row, program: str, kind: _Class) -> bool:
    """Whether two derivatives stand for each other on both sides: in a set it is a matter of luck.

    In a set, the order of two nodes is the same for a * b and b * a, so that one of them is right.
    """
    turned = re.sub(r"\b[ab]\b", lambda name: {"a": "b", "b": "a"}[name[0]], row.operation)
    more = f"{program}; a.grad = 0.0; b.grad = 0.0; d = {turned}; d.backward()"
    found, (_, right, _) = _gradients(more, kind), _ours(more)
    return bool(found) and all(_near(found[x], right[y]) for x, y in ("ab", "ba"))


def _behind(error: Mapping[str, Any], row: Row, kind: _Class) -> str:
    """The rule that is broken where a program ends in an error."""
    text, name, kinds = error["text"], kind.title, error["kinds"]
    number_on_the_left = text.endswith(f"and '{name}'") and text.count(name) == 1
    signs = [
        ("RecursionError" in kinds, "depth" if row.mistake == "depth" else "recursion"),
        ("MemoryError" in kinds, "memory"),
        ("SystemExit" in kinds, "crash"),
        ("unhashable" in text, "identity"),
        ("'NoneType' object is not callable" in text and row.expression, "closure"),
        (re.search(r"'(int|float)' object has no attribute 'data'", text), "wrap"),
        (row.mistake in ("construct", "numpy", "twice", "wrap", "reflected"), row.mistake),
        ("unsupported operand" in text and number_on_the_left, "reflected"),
    ]
    return next((mistake for sign, mistake in signs if sign), "runs")
