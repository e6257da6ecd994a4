"""From wrong numbers to the rule that is broken: what a program leaves behind, and what it should.

What is expected comes from our own Value. A slope of the class's own forward pass, by central
differences, stands beside it, and takes its place where the forward pass is wrong already.
"""

from __future__ import annotations

import importlib.util
import numbers
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from micrograd.engine import Value
from micrograd.grade.programs import (
    CORE,
    OF_INNER_NODES,
    UPSTREAM,
    Row,
    methods_in,
    plan,
    root_of,
    run,
)  # fmt: skip
from micrograd.grade.report import Check

STEP = 1e-4  # of central differences: they are off by some STEP^2 = 1e-8, and rounding by 1e-12
SLOPE_TOLERANCE = 1e-5  # well above that, and well below what a wrong derivative is off by
TOLERANCE = 1e-6  # between two engines, each with its own formulas, in floats of 16 digits
MAY_REFUSE = {"a ** b", "2.0 ** a"}  # the lecture's __pow__ takes plain exponents alone
LACKING_IN_LECTURE = {"2.0 - a": {"__rsub__"}, "2.0 / a": {"__rtruediv__"}}

Numbers = Mapping[str, float]  # data or gradients, by the names of Values in a program

# ---- 1. All checks of a class


def checks_of(kind: type) -> Iterator[Check]:
    """The checks of a class, in the order of the plan, each made when it is asked for.

    >>> next(checks_of(Value)).name
    'Value: number and gradient of a new one'
    """
    adds_up = True
    for row in plan():
        check = Check(row.operation, row.aspect, row.programs[0])
        if not _has(kind, row):
            yield replace(check, status="not found")
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
        yield check


def _has(kind: type, row: Row) -> bool:
    """Whether the class has the operation at all, found out by trying it."""
    if row.operation == "NumPy":
        return importlib.util.find_spec("numpy") is not None
    if not row.expression or row.operation in CORE:
        return True
    try:
        run(row.expression, kind)
    except NotImplementedError:
        return False
    except (TypeError, AttributeError, AssertionError, ValueError):
        methods = methods_in(row.operation) | LACKING_IN_LECTURE.get(row.operation, set())
        return row.operation not in MAY_REFUSE and all(hasattr(kind, name) for name in methods)
    except (Exception, SystemExit):
        pass  # the check will tell what is wrong with it
    return True


def _is_composed(expression: str, kind: type) -> bool:
    """Whether the class computes an operation by others, so that their mistakes show in it."""
    with suppress(Exception, SystemExit):
        *_, out = run(expression, kind).values()
        own = {"+": "__add__", "*": "__mul__"}.get(out._op)  # -a may be a * -1
        is_other = own is not None and own not in methods_in(expression)
        return is_other or any(getattr(v, "_prev", ()) for v in out._prev)
    return False


# ---- 2. One program


class _Broken(Exception):  # noqa: N818 - it is no error here, but a finding
    """A rule is broken: mistake, expected, found."""


def _judgement(row: Row, program: str, kind: Any) -> Check:
    place = ""
    try:
        _compare(row, program, kind)
        return Check(row.operation, row.aspect, program)
    except _Broken as broken:
        mistake, expected, found = broken.args
        if row.mistake in ("construct", "numpy") and mistake != "untouched":
            mistake = row.mistake
    except (Exception, SystemExit) as error:
        mistake, expected, (found, place) = _behind(error, row, kind), "no error", told(error)
    is_note = mistake in ("twice", "kept") or (mistake == "depth" and expected == "no error")
    status = "noted" if is_note else "failed"
    return Check(row.operation, row.aspect, program, status, mistake, expected, found, place)


def _compare(row: Row, program: str, kind: Any) -> None:
    """Raises _Broken where a program leaves other numbers in the class than in our Value."""
    root, leaves = root_of(program), _leaves(program)
    our_data, right = _observed(program, Value)
    forward, _ = _observed(program, kind, backward=False)
    is_off = not _near(forward[root], our_data[root])
    if is_off and (row.aspect == "value" or not row.expression):
        y = our_data[root]
        turned = {"2.0 - a": -y, "2.0 / a": y and 1 / y}.get(row.operation, y)
        mistake = "swapped" if _near(forward[root], turned) else "value"
        raise _Broken(mistake, _text("data", [root], our_data), _text("data", [root], forward))
    data, grad = _observed(program, kind)
    if changed := [name for name in forward if not _near(data[name], forward[name])][:1]:
        raise _Broken("untouched", _text("data", changed, forward), _text("data", changed, data))
    if row.mistake == "paths" and (many := _calls(kind, 12)) > 20 * (few := _calls(kind, 3)):
        found = f"{few} calls of functions for 4 nodes, {many} for 13 nodes"
        raise _Broken("paths", "work in step with nodes", found)
    if row.aspect == "value":
        return
    tolerance, slopes = TOLERANCE, None
    if program.count("backward()") == 1 and row.mistake not in ("paths", "depth"):
        slopes = _slopes(program, kind)
        if is_off:  # a wrong forward pass, told of already, may have a gradient right for it
            right, tolerance = slopes, SLOPE_TOLERANCE
    if wrong := [v for v in leaves if not _near(grad[v], right[v], tolerance)]:
        expected = _text("grad", wrong, right)
        if slopes:
            beside = ", ".join(f"{slopes[v]:.6g}" for v in wrong)
            expected += f" (slope of its own forward pass: {beside})"
        mistake = _behind_gradients(row, program, kind, grad, right, forward)
        raise _Broken(mistake, expected, _text("grad", wrong, grad))


def _observed(program: str, kind: Any, backward: bool = True) -> tuple[Numbers, Numbers]:
    """Data and gradients that a program leaves in its Values, by their names."""
    observed: dict[str, dict[str, float]] = {"data": {}, "grad": {}}
    for name, v in run(program, kind, backward).items():
        for attribute, by_name in observed.items():
            if not hasattr(v, attribute):
                what = f"{name} is a {type(v).__name__}, {v!s:.40}, without .{attribute}"
                raise _Broken("result", f"{name} is a Value", what)
            x = getattr(v, attribute)
            if not isinstance(x, numbers.Real):
                what = f"{name}.{attribute} is a {type(x).__name__}, {x!s:.60}"
                raise _Broken("number", f"{name}.{attribute} is a number", what)
            by_name[name] = float(x)
        if name in _leaves(program) and (operands := getattr(v, "_prev", None)):
            raise _Broken("fresh", f"{name}._prev is empty", f"{name}._prev holds {len(operands)}")
    return observed["data"], observed["grad"]


def _leaves(program: str) -> list[str]:
    return re.findall(r"(\w+) = Value\(", program)


def _slopes(program: str, kind: Any) -> Numbers:
    """Central differences of the root of a program, by each leaf."""

    def data(leaf: str, shift: float) -> float:
        moved = program.replace(f"{leaf} = Value(", f"{leaf} = Value({shift} + ")
        return float(run(moved, kind, backward=False)[root_of(program)].data)

    return {x: (data(x, STEP) - data(x, -STEP)) / (2 * STEP) for x in _leaves(program)}


def _near(found: float, expected: float, tolerance: float = TOLERANCE) -> bool:
    return abs(found - expected) <= tolerance * max(1.0, abs(expected))


def _text(attribute: str, names: list[str], values: Numbers) -> str:
    return ", ".join(f"{name}.{attribute} = {values[name]:.6g}" for name in names)


def _calls(kind: Any, doublings: int) -> int:
    """The work of backward() on a graph of 2^doublings paths, in calls of functions."""
    root, events, before = kind(1.0), list[str](), sys.getprofile()
    for _ in range(doublings):
        root = root + root
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        root.backward()
    finally:
        sys.setprofile(before)
    return events.count("call") + events.count("c_call")


# ---- 3. The rule behind it


def _behind_gradients(
    row: Row, program: str, kind: Any, found: Numbers, right: Numbers, data: Numbers
) -> str:
    """The rule that is broken where a gradient is wrong, from what kind of wrong it is."""
    leaves = _leaves(program)
    if not row.expression:
        if row.mistake == "order" and found["a"] > right["a"]:  # all data there is positive
            return "once"
        if row.mistake == "twice" and found["a"] < right["a"]:
            return "kept"
        return row.mistake
    if _calls_of_backward(program, kind) > 1:
        return "once"
    if set(found.values()) == {1.0} and _all_are_seeds(kind):
        return "seed"
    if row.aspect == "adding up":  # in out * a, the share of the product, out, is overwritten
        *_, out, _ = data.values()
        again = program.removesuffix(".backward()").split(" * ")[-1][0]
        return "accumulate" if _near(found[again], right[again] - out) else "derivative"
    inputs = [x for x in leaves if x != "w"]
    if all(found[x] == 0 for x in inputs):
        if row.aspect == "gradient":
            return "closure"
        if row.operation in CORE:
            return "children" if _some_are_reached(kind) else "walk"
    if row.aspect == "chain rule":
        is_local = all(_near(found[x], right[x] / UPSTREAM) for x in inputs)
        return "chain" if is_local else "derivative"
    if len(inputs) == 2 and all(_near(found[x], right[y]) for x, y in permutations(inputs)):
        return "exchanged" if _are_exchanged(row, program, kind) else "operands"
    return "derivative"


def _calls_of_backward(program: str, kind: Any) -> int:
    """How often backward() calls the _backward of the root; 0 where there is no such function."""
    calls = list[None]()
    with suppress(Exception, SystemExit):
        root = run(program, kind, backward=False)[root_of(program)]
        before = root._backward

        def counting() -> None:
            calls.append(None)
            before()

        root._backward = counting
        root.backward()
    return len(calls)


def _all_are_seeds(kind: Any) -> bool:
    """Whether backward() gives every node the gradient 1, and not the root alone."""
    with suppress(Exception, SystemExit):
        made = run("a = Value(3.0); b = a + a; c = b + b; c.backward()", kind)
        return all(v.grad == 1 for v in made.values())
    return False


def _some_are_reached(kind: Any) -> bool:
    """Whether backward() goes on from an operation to an operand on some side, left or right."""
    for *_, program in OF_INNER_NODES:
        with suppress(Exception, SystemExit):
            if run(program, kind)["a"].grad:
                return True
    return False


def _are_exchanged(row: Row, program: str, kind: Any) -> bool:
    """Whether two derivatives stand for each other on both sides: in a set it is a matter of luck.

    In a set, the order of two nodes is the same for a * b and b * a, so that one of them is right.
    """
    turned = re.sub(r"\b[ab]\b", lambda name: {"a": "b", "b": "a"}[name[0]], row.operation)
    more = f"{program}; a.grad = 0.0; b.grad = 0.0; d = {turned}; d.backward()"
    with suppress(Exception, SystemExit):
        found, right = run(more, kind), run(more, Value)
        return all(_near(found[x].grad, right[y].grad) for x, y in ("ab", "ba"))
    return False


def _behind(error: BaseException, row: Row, kind: type) -> str:
    """The rule that is broken where a program ends in an error."""
    text, name = told(error)[0], kind.__name__
    number_on_the_left = text.endswith(f"and '{name}'") and text.count(name) == 1
    signs = [
        (isinstance(error, RecursionError), "depth" if row.mistake == "depth" else "recursion"),
        (isinstance(error, MemoryError), "memory"),
        (isinstance(error, SystemExit), "crash"),
        ("unhashable" in text, "identity"),
        ("'NoneType' object is not callable" in text and row.expression, "closure"),
        (re.search(r"'(int|float)' object has no attribute 'data'", text), "wrap"),
        (row.mistake in ("construct", "numpy", "twice", "wrap", "reflected"), row.mistake),
        ("unsupported operand" in text and number_on_the_left, "reflected"),
    ]
    return next((mistake for sign, mistake in signs if sign), "runs")


def told(error: BaseException) -> tuple[str, str]:
    """What an error says, and where in the code of the class it arose: '' if in the program itself.

    >>> told(ValueError("no number"))
    ('ValueError: no number', '')
    """
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")[:200]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.parent != Path(__file__).parent and not frame.filename.startswith("<frozen"):
            return text, f"in {frame.name}, line {frame.lineno} of {file.name}"
    return text, ""
