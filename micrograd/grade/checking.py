"""All checks of a class: each program runs with it and our Value, and the numbers are compared.

Each failure gets a rule, from the text of its error or from how the numbers differ.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

from micrograd.derivatives import near
from micrograd.grade.graded_class import BrokenRule, GradedClass, RaisedError, leaves_of, root_of
from micrograd.grade.programs import OURS, ROWS, UPSTREAM, Check, Row, methods_in, plan, task_of

FREES_GRAPH = (
    "a = Value(3.0); b = a * a; n = len(b._prev); f = b._backward; b.backward(); "
    "freed = len(getattr(b, '_prev', ())) < n or b._backward != f"
)
METHODS = {"+": "__add__", "*": "__mul__"}

# ---- 1. The checks


def checks_of(graded: GradedClass, rows: Iterable[Row] | None = None) -> Iterator[Check]:
    """The checks of a class, each run on demand: these rows, or all of the plan."""
    for row in plan() if rows is None else rows:
        yield _checked(row, graded)
    if rows is None and (others := graded.others()):
        found = ", ".join(f"{name}()" for name in others)
        yield Check("other methods", "unchecked", "", "noted", "unchecked", "a check", found)


def _checked(row: Row, graded: GradedClass) -> Check:
    """The outcome of a row: of the first of its programs that does not pass."""
    is_first = row.aspect in ("value", "number and gradient of a new one")
    if is_first and (wrong := graded.misspelt(row.method)):
        return row.check("failed", mistake="spelling", expected=row.method, found=wrong)
    task = task_of(row) if graded.is_started else 0
    if _is_there(row, graded) and not (graded.is_started and is_to_do(row, graded)):
        judged = (_judgement(row, program, graded) for program in row.programs)
        check = next((one for one in judged if not one.passed), row.check())
        return replace(check, composed=check.status == "failed" and _is_composed(row, graded))
    error = graded.error_in(row.programs[0], backward=True) if task > 5 else None
    if error and f"task {task}" not in error.text:  # it is written, but needs another task
        return row.check("to do", found=f"{row.operation} raises {error.text} ({error.place})")
    return row.check("to do" if task else "not there yet")


def _is_composed(row: Row, graded: GradedClass) -> bool:
    """Whether the class computes the operation from others, and so inherits their mistakes."""
    if not row.expression:
        return False
    out = root_of(row.expression)
    inner = f"any(len(getattr(v, '_prev', ())) for v in {out}._prev)"
    op, has_inner = graded.tried(("", False), f"{row.expression}; n = [str({out}._op), {inner}]")
    own = METHODS.get(op)  # -a may be a * -1
    return has_inner or (own is not None and own not in methods_in(row.expression))


def _is_there(row: Row, graded: GradedClass) -> bool:
    """Whether the class has the operation; the only way to find out is to try it."""
    is_of_numpy = row.operation == "NumPy"
    if row.is_basic and not is_of_numpy:
        return True
    if not (error := graded.error_in(row.expression or row.programs[0])):
        return True  # whatever is wrong, the check itself will find it
    # An error about the number, as for the log of -1: the class may raise it wrongly.
    of_number = {"ValueError", "ArithmeticError", "RecursionError"} & error.kinds
    is_refused = "**" in row.operation or row.mistake in ("wrap", "reflected", "numpy")
    is_meant = error.on_purpose and (not of_number or is_refused)
    if is_meant or {"NotImplementedError", "ModuleNotFoundError"} & error.kinds:
        return False
    is_type = bool({"TypeError", "AttributeError"} & error.kinds)
    if row.operation in ("a ** b", "2.0 ** a"):  # the lecture's __pow__ takes plain exponents only
        return not is_type and "ValueError" not in error.kinds
    if is_of_numpy or not is_type:
        return not is_type
    if not all(hasattr(graded.kind, x) for x in (row.method, *methods_in(row.operation))):
        return False
    # If + or * accepts a plain number, the other operations should as well.
    beside = (f"a = Value(1.5); b = a {sign} {x}" for sign in "+*" for x in ("2.0", "2"))
    return row.mistake not in ("wrap", "reflected") or not all(map(graded.error_in, beside))


# ---- 2. One program


def _judgement(row: Row, program: str, graded: GradedClass) -> Check:
    place = ""
    try:
        _compare(row, program, graded)
        return Check(row.operation, row.aspect, program)
    except BrokenRule as broken:
        mistake, expected, found = broken.args
        if isinstance(broken, RaisedError):
            mistake, place = _mistake_behind_error(broken, row, graded), broken.place
        elif row.mistake in ("construct", "numpy", "twice") and mistake != "untouched":
            mistake = row.mistake
        elif row.mistake == "inplace" and mistake in ("result", "number"):
            mistake = "inplace"  # it changed the operands, or the data to a Value
    if row.mistake == "again" and (place or graded.tried(False, FREES_GRAPH)):
        mistake = "twice"  # as in PyTorch, a graph may be used only once
    is_limit = mistake == "twice" or (mistake, expected) == ("depth", "no error")
    status = "noted" if is_limit else "failed"
    return Check(row.operation, row.aspect, program, status, mistake, expected, found, place)


def _compare(row: Row, program: str, graded: GradedClass) -> None:
    """Raises BrokenRule if a program gives different numbers with the class and with our Value."""
    forward, ours = graded.observed(program, backward=False), OURS.observed(program)
    root = root_of(program)
    is_of_value = row.aspect == "value" or not row.expression  # else another check reports it
    if is_of_value and not near(forward.data[root], ours.data[root]):
        y = ours.data[root]
        turned = {"2.0 - a": -y, "2.0 / a": y and 1 / y}.get(row.operation, y)
        mistake = "swapped" if near(forward.data[root], turned) else "value"
        if root in leaves_of(program):  # no operation computed it
            mistake = "construct"
        raise BrokenRule(mistake, *(_told("data", [root], x.data) for x in (ours, forward)))
    if row.aspect == "value":
        if moved := [x for x in leaves_of(program) if not near(forward.data[x], ours.data[x])]:
            mistake = "result" if row.expression else row.mistake
            raise BrokenRule(mistake, *(_told("data", moved, x.data) for x in (ours, forward)))
        return
    after = graded.observed(program)
    # As text, because a number may be NaN.
    if changed := [x for x in forward.data if str(after.data[x]) != str(forward.data[x])]:
        raise BrokenRule("untouched", *(_told("data", changed, x.data) for x in (forward, after)))
    if row.mistake == "paths":
        few, many = (graded.calls(doublings) for doublings in (3, 12))
        if many > 20 * few:
            found = f"{few} function calls for 4 nodes, {many} for 13 nodes"
            raise BrokenRule("paths", "work proportional to the number of nodes", found)
    if wrong := [v for v in leaves_of(program) if not near(after.grad[v], ours.grad[v])]:
        mistake = _mistake_behind_gradients(row, program, graded, after.grad, ours.grad)
        raise BrokenRule(mistake, *(_told("grad", wrong, x.grad) for x in (ours, after)))


def _told(attribute: str, names: list[str], values: dict[str, float]) -> str:
    """Numbers as the report shows them, for example 'a.grad = 2'."""
    return ", ".join(f"{name}.{attribute} = {values[name]:.6g}" for name in names)


# ---- 3. Causes of wrong gradients


def _mistake_behind_gradients(
    row: Row, program: str, graded: GradedClass, found: dict[str, float], right: dict[str, float]
) -> str:
    """The rule that explains wrong gradients."""
    if _is_early(program, graded):
        return "early"
    if _closure_is_on_operand(graded):
        return "own"
    if graded.walk in _code(getattr(graded.kind, graded.walk, None))[1]:
        return "recursive"
    if "_backward" in _code(graded.tried(None, f"{program}; f = {root_of(program)}._backward"))[1]:
        return "calls"
    if row.mistake == "operands" and _overwrites("a + b" if "+" in program else "a * b", graded):
        return "accumulate"
    if row.mistake == "children" and graded.holds_operands(program):
        return "walk"
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
    found, right = graded.gradients(more), OURS.observed(more).grad
    return "operands" if any(near(found.get(x, 0.0), right[x]) for x in "ab") else "derivative"


def _mistake_behind_zeros(row: Row, program: str, graded: GradedClass) -> str:
    """The rule that explains why no gradient reaches the operands."""
    names = root_of(row.expression), leaves_of(row.expression)[0]
    programs = (f"{row.expression}; f = {x}._backward" for x in names)
    (own, used), (leaf, _) = (_code(graded.tried(None, x)) for x in programs)
    alone = program.replace(".backward()", "._backward()")
    by_hand = graded.gradients(alone, **{root_of(program): 1.0})
    is_zero = not any(by_hand.get(x) for x in leaves_of(program))
    if own != leaf and "grad" in used and is_zero:  # it has a function, which adds 0
        return "derivative"
    if not row.is_basic:
        return "closure"
    if graded.tried(None, "a = Value(3.0); b = Value(2.0); c = a + b; n = [*c._prev]") == []:
        return "children"
    if row.aspect != "gradient":  # in some operation, an operand may be reached
        programs = (program for *_, program in ROWS["children"]["shown_by"])
        return "children" if any(graded.gradients(x).get("a") for x in programs) else "walk"
    if is_zero:
        return "closure"
    return "seed" if _calls_of_closure(program, graded) else "walk"


def _code(closure: object) -> tuple[object, Sequence[str]]:
    """The code of a function, and the names of attributes and globals in it."""
    code = getattr(closure, "__code__", None)
    return code, getattr(code, "co_names", ())


def _is_early(program: str, graded: GradedClass) -> bool:
    """Whether operations change gradients already in the forward pass, outside their _backward."""
    used = (_code(getattr(graded.kind, x, None))[1] for x in methods_in(program))
    before = graded.observed(program, backward=False).grad
    is_in_method = graded.is_started and any("grad" in names for names in used)
    return is_in_method or any(before[x] for x in leaves_of(program))


def _closure_is_on_operand(graded: GradedClass) -> bool:
    """Whether an operation changes the _backward of its operand, as in self._backward = ..."""
    # A property or a method may be another object each time: then nothing can be said.
    steps = "a = Value(3.0); b = Value(2.0); f = a._backward; is_kept = f == a._backward"
    changed = f"{steps}; c = {{}}; changed = is_kept and a._backward != f"
    return any(graded.tried(False, changed.format(made)) for made in ("a + b", "a * b"))


def _overwrites(operation: str, graded: GradedClass) -> bool:
    """Whether an operation writes = instead of += to the gradient of an operand."""
    program = f"a = Value(3.0); b = Value(2.0); c = {operation}; c.backward()"
    alone, after = graded.gradients(program), graded.gradients(program, a=5.0, b=5.0)
    return bool(alone) and any(near(after[x], alone[x]) for x in "ab" if x in after)


def _reads_gradients(program: str, graded: GradedClass, found: dict[str, float]) -> bool:
    """Whether the contributions of an operation depend on the grad of its operands."""
    before = {leaf: 0.5 + i for i, leaf in enumerate(leaves_of(program))}
    after = graded.gradients(program, **before)
    kept = (x for x in before if x in after and not near(after[x], found[x]))
    return any(not near(after[x] - before[x], found[x]) for x in kept)


def _calls_of_closure(program: str, graded: GradedClass) -> int:
    """How often backward() calls the _backward of the root, 0 if there is none."""
    steps, _, last = program.rpartition("; ")
    closure = f"{root_of(program)}._backward"
    counting = f"n = []; f = {closure}; {closure} = lambda n=n, f=f: (n.append(1), f())"
    return int(graded.tried(0, f"{steps}; {counting}; {last}; count = len(n)"))


# ---- 4. Causes of errors


def _mistake_behind_error(error: RaisedError, row: Row, graded: GradedClass) -> str:
    """The rule that explains an error."""
    text, name, kinds = error.text, graded.title, error.kinds
    is_of_types = "unsupported operand" in text
    number_on_the_left = is_of_types and text.endswith(f"and '{name}'") and text.count(name) == 1
    value_on_the_left = row.expression and row.operation[:1].isalpha()
    method = error.calls[-1] if error.calls else ""
    is_in_method = method in methods_in(row.programs[0])
    is_composed = is_in_method and "data" not in _code(getattr(graded.kind, method, None))[1]
    texts = ((x, y.replace("{class}", name)) for x in ROWS for y in ROWS[x].get("sign", ()))
    signs = [
        (_is_of_values(error, name), "number"),
        (f"'<' not supported between instances of '{name}' and '{name}'" in text, "operands"),
        (f"'{name}' object is not iterable" in text and row.expression, "children"),
        (re.search(r"'(int|float)' .* no attribute '_backward'", text) and is_in_method, "result"),
        (number_on_the_left and is_composed, "reflected"),
        (number_on_the_left and value_on_the_left, "recursion"),
        ("RecursionError" in kinds, "depth" if row.mistake == "depth" else "recursion"),
        (text.endswith("has no attribute 'backward'"), "needed"),
        ("unhashable" in text, "identity"),
        ("'NoneType' object is not callable" in text, "closure" if row.expression else "nothing"),
        ("NotImplementedError" in kinds and "in __r" in error.place, "recursion"),
        (re.search(r"'(int|float)' object has no attribute 'data'", text), "wrap"),
        (row.mistake in ("construct", "numpy", "twice", "wrap", "reflected"), row.mistake),
        (number_on_the_left, "reflected"),
        *((re.search(x, text) or re.search(x, error.place), rule) for rule, x in texts),
    ]
    return next((mistake for sign, mistake in signs if sign), "runs")


def _is_of_values(error: RaisedError, name: str) -> bool:
    """Whether a _backward computes with Values instead of their numbers."""
    *callers, last = ["", *error.calls]
    is_operand = "unsupported operand" in error.text and f"'{name}'" in error.text
    return last.startswith("__") if "_backward" in callers else last == "_backward" and is_operand


# ---- 5. The tasks of `micrograd start`: later ones are not mistakes


def is_to_do(row: Row, graded: GradedClass) -> bool:
    """Whether a check needs a task that is not begun."""
    program = row.programs[0]
    error = graded.error_in(program, backward=True)
    if error and "NotImplementedError" in error.kinds and not _is_of_values(error, graded.title):
        # An operand in the place of its data calls __rmul__, too, but that is a mistake.
        return row.mistake == "reflected" or not re.match("in __r(add|mul)__", error.place)
    has_gradients = ".backward()" in program and root_of(program) not in leaves_of(program)
    methods = methods_in(program) if has_gradients else ()
    return any(_has_no_closure(x, graded) for x, method in METHODS.items() if method in methods)


def _has_no_closure(sign: str, graded: GradedClass) -> bool:
    """Whether the result of + or * has the _backward of a new Value, which does nothing."""
    made = f"a = Value(3.0); b = a {sign} a"
    code = "getattr({}._backward, '__code__', 0)".format
    own = getattr(getattr(graded.kind, METHODS[sign], None), "__code__", None)
    names = own and {*own.co_varnames, *own.co_cellvars, *own.co_names}
    is_begun = bool(names and names & {"_backward", "grad"})
    return not is_begun and graded.tried(False, f"{made}; same = {code('a')} is {code('b')}")
