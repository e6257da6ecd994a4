"""Finds the broken rule, a key of RULES, from a wrong gradient or an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import permutations
from typing import Any

from micrograd.grade.graded_class import GradedClass, Numbers, leaves_of, near, operands, root_of
from micrograd.grade.programs import CORE, UPSTREAM, Row, expected_of
from micrograd.grade.rules import ROWS


def mistake_behind_gradients(
    row: Row, program: str, graded: GradedClass, found: Numbers, right: Numbers, data: Numbers
) -> str:
    """The rule that explains wrong gradients.

    >>> from micrograd.grade.programs import OURS, plan
    >>> row = next(row for row in plan() if row.aspect == "chain rule")
    >>> wrong, right = {"a": 1.0, "b": 1.0}, {"a": -4.0, "b": -4.0}
    >>> mistake_behind_gradients(row, row.programs[0], OURS, wrong, right, {})
    'chain'
    """
    if _closure_is_on_operand(graded):
        return "own"
    if not row.expression:
        return _mistake_in_graph(row, graded, found, right)
    if _calls_of_closure(program, graded) > 1:
        return "once"
    if set(found.values()) == {1.0} and _all_are_seeds(graded):
        return "seed"
    if row.aspect == "adding up" and row.operation not in program:  # as in a - a
        return "accumulate" if _overwrites(row.operation, graded) else "operands"
    if row.aspect == "adding up":
        # If a _backward writes `=`, it overwrites what the product in out * a contributes to a.
        # That contribution is the value of out.
        *_, out, _ = data.values()
        again = program.removesuffix(".backward()").split(" * ")[-1][0]
        return "accumulate" if near(found[again], right[again] - out) else "derivative"
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
    # A class that keeps operands in a set takes one for the other now and then.
    is_turned = len(inputs) == 2 and all(near(found[x], right[y]) for x, y in permutations(inputs))
    return "operands" if is_turned and _is_right_once(row, program, graded) else "derivative"


def _mistake_in_graph(row: Row, graded: GradedClass, found: Numbers, right: Numbers) -> str:
    if row.mistake == "operands" and _overwrites("a + b", graded):
        return "accumulate"
    if row.mistake == "order" and found["a"] > right["a"]:  # all data there is positive
        return "once"
    return row.mistake


def _mistake_behind_zeros(row: Row, program: str, graded: GradedClass) -> str:
    """The rule that explains why no gradient reaches the operands."""
    if row.operation not in CORE:
        return "closure"
    result = graded.run("a = Value(3.0); b = Value(2.0); c = a + b", backward=False)["c"]
    if hasattr(result, "_prev") and not operands(result):
        return "children"
    if row.aspect != "gradient":  # in some operation, an operand may be reached
        programs = (program for *_, program in ROWS["children"]["shown_by"])
        return "children" if any(graded.gradients(x).get("a") for x in programs) else "walk"
    steps, _, last = program.rpartition("; ")
    root = last.removesuffix(".backward()")
    by_hand = graded.gradients(f"{steps}; {root}.grad = 1.0; {root}._backward()")
    if not any(by_hand.get(x) for x in leaves_of(program)):
        return "closure"
    return "seed" if _calls_of_closure(program, graded) else "walk"


def _closure_is_on_operand(graded: GradedClass) -> bool:
    """Whether an operation changes the _backward of its operand, as in self._backward = ..."""
    # A property or a method may be another object each time: then nothing can be said.
    steps = "a = Value(3.0); b = Value(2.0); f = a._backward; is_kept = f == a._backward"
    changed = f"{steps}; c = {{}}; changed = is_kept and a._backward != f"
    return any(graded.tried(False, changed.format(made)) for made in ("a + b", "a * b"))


def _overwrites(operation: str, graded: GradedClass) -> bool:
    """Whether an operation writes = instead of += to the gradient of its left operand."""
    steps = f"a = Value(3.0); b = Value(2.0); c = {operation}"
    alone = graded.gradients(f"{steps}; c.backward()")
    after = graded.gradients(f"{steps}; a.grad = 5.0; c.backward()")
    return bool(alone) and near(after["a"], alone["a"])


def _calls_of_closure(program: str, graded: GradedClass) -> int:
    """How often backward() calls the _backward of the root, 0 if there is none."""
    steps, _, last = program.rpartition("; ")
    closure = f"{root_of(program)}._backward"
    counting = f"n = []; f = {closure}; {closure} = lambda n=n, f=f: (n.append(1), f())"
    count: int = graded.tried(0, f"{steps}; {counting}; {last}; count = len(n)")
    return count


def _all_are_seeds(graded: GradedClass) -> bool:
    """Whether backward() sets every gradient to 1, not only the root's."""
    grad = graded.gradients("a = Value(3.0); b = a + a; c = b + b; c.backward()")
    return set(grad.values()) == {1.0}


def _reads_gradients(program: str, graded: GradedClass, found: Numbers) -> bool:
    """Whether the contributions of an operation depend on the grad of its operands."""
    before = {leaf: 0.5 + i for i, leaf in enumerate(leaves_of(program))}
    given = "".join(f"{leaf}.grad = {x}; " for leaf, x in before.items())
    steps, _, last = program.rpartition("; ")
    after = graded.gradients(f"{steps}; {given}{last}")
    return any(
        not near(after[x], found[x]) and not near(after[x] - before[x], found[x])
        for x in before
        if x in after
    )


def _is_right_once(row: Row, program: str, graded: GradedClass) -> bool:
    """Whether the derivatives of b * a are right, where those of a * b are not."""
    turned = re.sub(r"\b[ab]\b", lambda name: {"a": "b", "b": "a"}[name[0]], row.operation)
    more = f"{program}; a.grad = 0.0; b.grad = 0.0; d = {turned}; d.backward()"
    found, right = graded.gradients(more), expected_of(more).grad
    return not found or any(near(found[x], right[x]) for x in "ab")


def mistake_behind_error(error: Mapping[str, Any], row: Row, graded: GradedClass) -> str:
    """The rule that explains an error.

    >>> from micrograd.grade.programs import OURS, plan
    >>> error = {"text": "TypeError: unhashable type: 'Value'", "kinds": ["TypeError"]}
    >>> mistake_behind_error(error, next(plan()), OURS)
    'identity'
    """
    text, name, kinds = error["text"], graded.title, error["kinds"]
    number_on_the_left = text.endswith(f"and '{name}'") and text.count(name) == 1
    value_on_the_left = row.expression and row.operation[:1].isalpha()
    signs = [
        (f"'<' not supported between instances of '{name}' and '{name}'" in text, "operands"),
        (f"'{name}' object is not iterable" in text and row.expression, "children"),
        ("unsupported operand" in text and number_on_the_left and value_on_the_left, "recursion"),
        ("RecursionError" in kinds, "depth" if row.mistake == "depth" else "recursion"),
        ("MemoryError" in kinds, "memory"),
        ("SystemExit" in kinds, "crash"),
        ("unhashable" in text, "identity"),
        ("'NoneType' object is not callable" in text, "closure" if row.expression else "nothing"),
        ("NotImplementedError" in kinds and "in __r" in error["place"], "recursion"),
        (re.search(r"'(int|float)' object has no attribute 'data'", text), "wrap"),
        (row.mistake in ("construct", "numpy", "twice", "wrap", "reflected"), row.mistake),
        ("unsupported operand" in text and number_on_the_left, "reflected"),
    ]
    return next((mistake for sign, mistake in signs if sign), "runs")
