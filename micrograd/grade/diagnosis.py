"""Finds causes: the broken rule, a key of RULES, and the failed checks that it explains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

from micrograd.grade.check import ROWS, Check
from micrograd.grade.graded_class import (
    GradedClass,
    Numbers,
    RaisedError,
    leaves_of,
    near,
    operands,
    root_of,
)
from micrograd.grade.programs import CORE, EXPRESSIONS, UPSTREAM, Row, expected_of, methods_in

# ---- 1. Wrong gradients


def mistake_behind_gradients(
    row: Row, program: str, graded: GradedClass, found: Numbers, right: Numbers
) -> str:
    """The rule that explains wrong gradients.

    >>> from micrograd.grade.programs import OURS, plan
    >>> row = next(row for row in plan() if row.aspect == "chain rule")
    >>> wrong, right = {"a": 1.0, "b": 1.0}, {"a": -4.0, "b": -4.0}
    >>> mistake_behind_gradients(row, row.programs[0], OURS, wrong, right)
    'chain'
    """
    if _closure_is_on_operand(graded):
        return "own"
    if row.mistake == "operands":  # a + a or a * a
        is_overwritten = _overwrites("a + b" if "+" in program else "a * b", graded)
        return "accumulate" if is_overwritten else "operands"
    if not row.expression:  # if too much arrives in the order's graphs, whose data is all positive
        return "once" if row.mistake == "order" and found["a"] > right["a"] else row.mistake
    if _calls_of_closure(program, graded) > 1:
        return "once"
    doubled = graded.gradients("a = Value(3.0); b = a + a; c = b + b; c.backward()")
    if {*found.values()} == {*doubled.values()} == {1.0}:  # backward() sets all of them
        return "seed"
    if row.aspect == "adding up":
        if _overwrites(row.operation, graded):
            return "accumulate"
        return "derivative" if row.operation in program else "operands"  # as in a - a
    if row.aspect == "gradient" and _reads_gradients(program, graded, found):
        return "reads"
    if row.aspect == "inner operand":
        is_lost = any(found[x] == 0 != right[x] for x in leaves_of(program))
        return "children" if is_lost else "derivative"
    inputs = [x for x in leaves_of(program) if x != "w"]
    # If the first program passed, its gradients did reach the operands.
    if program == row.programs[0] and all(found[x] == 0 for x in inputs):
        return _mistake_behind_zeros(row, program, graded)
    if row.aspect == "chain rule":
        is_local = all(near(found[x], right[x] / UPSTREAM) for x in inputs)
        return "chain" if is_local else "derivative"
    if len(inputs) < 2 or not all(near(found[x], right[y]) for x, y in permutations(inputs)):
        return "derivative"
    # A class that keeps operands in a set takes one for the other now and then: is b * a right?
    turned = row.operation.translate(str.maketrans("ab", "ba"))
    more = f"{program}; a.grad = 0.0; b.grad = 0.0; d = {turned}; d.backward()"
    found, right = graded.gradients(more), expected_of(more).grad
    return "operands" if any(near(found.get(x, 0.0), right[x]) for x in "ab") else "derivative"


def _mistake_behind_zeros(row: Row, program: str, graded: GradedClass) -> str:
    """The rule that explains why no gradient reaches the operands."""
    if row.operation not in CORE:
        return "closure"
    result = graded.tried(None, "a = Value(3.0); b = Value(2.0); c = a + b")
    if hasattr(result, "_prev") and not operands(result):
        return "children"
    if row.aspect != "gradient":  # in some operation, an operand may be reached
        programs = (program for *_, program in ROWS["children"]["shown_by"])
        return "children" if any(graded.gradients(x).get("a") for x in programs) else "walk"
    by_hand = _after(program, graded, {root_of(program): 1.0}, f"{root_of(program)}._backward()")
    if not any(by_hand.get(x) for x in leaves_of(program)):
        return "closure"
    return "seed" if _calls_of_closure(program, graded) else "walk"


def _closure_is_on_operand(graded: GradedClass) -> bool:
    """Whether an operation changes the _backward of its operand, as in self._backward = ..."""
    # A property or a method may be another object each time: then nothing can be said.
    steps = "a = Value(3.0); b = Value(2.0); f = a._backward; is_kept = f == a._backward"
    changed = f"{steps}; c = {{}}; changed = is_kept and a._backward != f"
    return any(graded.tried(False, changed.format(made)) for made in ("a + b", "a * b"))


def _after(
    program: str, graded: GradedClass, before: Mapping[str, float], last: str = ""
) -> Numbers:
    """The gradients after a program if those in `before` are set right before its last step."""
    steps, _, backward = program.rpartition("; ")
    given = "".join(f"{name}.grad = {x}; " for name, x in before.items())
    return graded.gradients(f"{steps}; {given}{last or backward}")


def _overwrites(operation: str, graded: GradedClass) -> bool:
    """Whether an operation writes = instead of += to the gradient of an operand."""
    program = f"a = Value(3.0); b = Value(2.0); c = {operation}; c.backward()"
    alone, after = graded.gradients(program), _after(program, graded, {"a": 5.0, "b": 5.0})
    return bool(alone) and any(near(after[x], alone[x]) for x in "ab" if x in after)


def _reads_gradients(program: str, graded: GradedClass, found: Numbers) -> bool:
    """Whether the contributions of an operation depend on the grad of its operands."""
    before = {leaf: 0.5 + i for i, leaf in enumerate(leaves_of(program))}
    after = _after(program, graded, before)
    kept = (x for x in before if x in after and not near(after[x], found[x]))
    return any(not near(after[x] - before[x], found[x]) for x in kept)


def _calls_of_closure(program: str, graded: GradedClass) -> int:
    """How often backward() calls the _backward of the root, 0 if there is none."""
    steps, _, last = program.rpartition("; ")
    closure = f"{root_of(program)}._backward"
    counting = f"n = []; f = {closure}; {closure} = lambda n=n, f=f: (n.append(1), f())"
    count: int = graded.tried(0, f"{steps}; {counting}; {last}; count = len(n)")
    return count


# ---- 2. Errors


def mistake_behind_error(error: RaisedError, row: Row, graded: GradedClass) -> str:
    """The rule that explains an error.

    >>> from micrograd.grade.programs import OURS, plan
    >>> mistake_behind_error(RaisedError(TypeError("unhashable type")), next(plan()), OURS)
    'identity'
    """
    text, name, kinds = error.text, graded.title, error.kinds
    number_on_the_left = text.endswith(f"and '{name}'") and text.count(name) == 1
    value_on_the_left = row.expression and row.operation[:1].isalpha()
    signs = [
        (f"'<' not supported between instances of '{name}' and '{name}'" in text, "operands"),
        (f"'{name}' object is not iterable" in text and row.expression, "children"),
        ("unsupported operand" in text and number_on_the_left and value_on_the_left, "recursion"),
        ("RecursionError" in kinds, "depth" if row.mistake == "depth" else "recursion"),
        (text.endswith("has no attribute 'backward'"), "needed"),
        ("MemoryError" in kinds, "memory"),
        ("SystemExit" in kinds, "crash"),
        ("unhashable" in text, "identity"),
        ("'NoneType' object is not callable" in text, "closure" if row.expression else "nothing"),
        ("NotImplementedError" in kinds and "in __r" in error.place, "recursion"),
        (re.search(r"'(int|float)' object has no attribute 'data'", text), "wrap"),
        (row.mistake in ("construct", "numpy", "twice", "wrap", "reflected"), row.mistake),
        ("unsupported operand" in text and number_on_the_left, "reflected"),
    ]
    return next((mistake for sign, mistake in signs if sign), "runs")


# ---- 3. Failures with the same cause


def grouped(checks: Iterable[Check]) -> tuple[tuple[Check, ...], ...]:
    """The failed checks, grouped by probable cause; the clearest of each group comes first."""
    groups: list[list[Check]] = []
    for check in checks:
        if check.status == "failed":
            group = next((group for group in groups if _has_same_cause(check, group)), [])
            if not group:
                groups.append(group)
            group.append(check)
    return tuple(map(tuple, groups))


def affects(check: Check, what: str) -> bool:
    """Whether a failure makes others fail, as rules.toml says, for example 'gradients'."""
    return what in ROWS[check.mistake].get("affects", ())


def _has_same_cause(later: Check, group: Sequence[Check]) -> bool:
    first = group[0]
    if affects(first, "everything") or (later.place and later.place == first.place):
        return True
    if later.expected == "no error" and _error(later) in map(_error, group):
        return True
    if later.mistake == first.mistake and later.mistake not in ("value", "derivative", "runs"):
        return True
    if later.operation in EXPRESSIONS and later.operation in {check.operation for check in group}:
        return True
    if first.mistake == "result" and methods_in(first.program) & methods_in(later.program):
        return True
    if affects(later, "numbers"):
        return False
    if first.operation in EXPRESSIONS and (
        affects(first, "operation") or first.aspect == "inner operand"
    ):
        return later.composed or bool(methods_in(first.operation) & methods_in(later.program))
    if affects(first, "reuse"):
        return later.composed or later.aspect not in ("value", "gradient", "chain rule")
    return affects(first, "gradients") and later.aspect != "value"


def _error(check: Check) -> str:
    operator, *_ = check.found.partition("'")  # the operands differ from check to check
    return operator if "unsupported operand" in operator else check.found
