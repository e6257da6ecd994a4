"""What each chapter of the course asks for, and the first number at which an answer is wrong.

Runs in the page. The class is judged by `micrograd.grade`: by those of its checks that belong to
the chapters so far. What a class cannot show, such as a function for the slope, is compared here
with this package, on the smallest program that tells them apart.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from micrograd import Value, draw_dot
from micrograd.grade.check import Check
from micrograd.grade.checking import checks_of
from micrograd.grade.graded_class import (
    BrokenRule,
    GradedClass,
    RaisedError,
    is_ours,
    near,
    operands,
    root_of,
    shown,
)
from micrograd.grade.programs import CORE, EXPRESSIONS, OURS, REFLECTED, Row, methods_in, plan
from micrograd.grade.report import Report, drawing

CHAPTERS = ("slope", "value", "byhand", "order", "backward", "neuron", "network", "boundary")
NEEDED = ("a + 2.0", "2.0 * a", "a - b", "a ** 2", "a.tanh()")  # for a neuron and its loss
OF_WALK = ("seed", "walk", "once", "order")  # mistakes in backward()
OF_OPERATION = ("accumulate", "children", "operands", "result", "runs")  # also in larger programs
ENOUGH = 0.95  # the share of points on the right side of the boundary


@dataclass(frozen=True)
class Finding:
    """The first thing that is wrong.

    Attributes:
        rule: the rule that is broken: a key of RULES, or of the table of texts.
        program: the smallest program that shows it.
        number: the first wrong number, for example 'a.grad'; '' if there is none.
        expected, found: both in words and numbers.
        place: the method and the line in which an error was raised.
        method: where to look, for example 'Value.__mul__' or 'slope'.
        what, how: the rule and the fix, if they are those of `micrograd.grade`.
        drawing: the graph of the program, or nothing.
        done: what is right already, in words.
    """

    rule: str
    program: str = ""
    number: str = ""
    expected: str = ""
    found: str = ""
    place: str = ""
    method: str = ""
    what: str = ""
    how: str = ""
    drawing: Any = field(default=None, compare=False)
    done: tuple[str, ...] = ()


TRAINED: dict[str, Any] = {}  # in the last chapter: the rate, and the losses of all steps
TEXTS: dict[str, str] = {}  # the table of texts in the language of the page


def language() -> str:
    """The column of the tables of texts; while the course is built, there is no table yet."""
    return TEXTS.get("language", "en")


def text(key: str, **values: object) -> str:
    """A text of this file from the table."""
    return TEXTS[f"says.{key}"].format(**values)


def first_finding(
    chapter: str, names: Mapping[str, Any], say: Callable[[str], None]
) -> Finding | None:
    """The first thing that is wrong in a learner's program, None if the chapter is done.

    Args:
        chapter: one of CHAPTERS.
        names: what the program has defined.
        say: is told each program before it runs.
    """
    own = {
        "slope": slope_finding, "value": memory_finding, "byhand": by_hand_finding,
        "order": order_finding, "neuron": neuron_finding, "network": step_finding,
        "boundary": boundary_finding,
    }.get(chapter)  # fmt: skip
    if chapter not in CHAPTERS:
        from own import own_finding  # which needs this module

        return own_finding(chapter, names, say)
    if chapter == "value":  # its steps one by one; the class as a whole comes last
        return memory_finding(names, say) or class_finding(chapter, names, say)
    return (
        (chapter != "slope" and class_finding(chapter, names, say))
        or (own and own(names, say))
        or None
    )


# ---- 1. The class


def class_finding(
    chapter: str, names: Mapping[str, Any], say: Callable[[str], None]
) -> Finding | None:
    """The first broken rule of the class, by the checks of the chapters so far."""
    kind = names.get("Value")
    if not isinstance(kind, type):
        return Finding("name", expected="class Value", found=_absent(names, "Value"))
    if is_ours(kind):
        return Finding("ours", expected=text("own"), found=text("ours"))
    graded = GradedClass(kind)
    checks = tuple(checks_of(graded, _told(_rows(chapter), say)))
    for first, *_ in Report("yours", checks).mistakes:
        return _finding_of(first, graded)
    needed = NEEDED if CHAPTERS.index(chapter) >= CHAPTERS.index("neuron") else ()
    values = [x for x in checks if x.operation in needed and x.aspect == "value"]
    done = tuple(check.operation for check in values if check.passed)
    for check in values:
        if not check.passed:
            found = graded.error_in(check.program)["text"]
            lacking = REFLECTED.get(check.operation) or min(methods_in(check.operation))
            return Finding("needed-here", check.program, expected=text("no-error"), found=found,
                           method=f"Value.{lacking}", done=done)  # fmt: skip
    return None


def _rows(chapter: str) -> Iterator[Row]:
    """The checks of the chapters so far, without those that a browser cannot run."""
    last = CHAPTERS.index(chapter)
    yield from (row for row in plan() if row.mistake != "depth" and _chapter_of(row) <= last)


def _chapter_of(row: Row) -> int:
    if not any(".backward()" in program for program in row.programs) and (
        not row.expression or row.operation in CORE
    ):
        return CHAPTERS.index("value")
    is_of_core = not row.expression or row.operation in CORE
    return CHAPTERS.index("backward" if is_of_core else "neuron")


def _told(rows: Iterator[Row], say: Callable[[str], None]) -> Iterator[Row]:
    for row in rows:
        say(row.programs[0])
        yield row


def _finding_of(check: Check, graded: GradedClass) -> Finding:
    right, found = _numbers(OURS, check.program), _numbers(graded, check.program)
    wrong = next((x for x in right if x not in found or not near(found[x], right[x])), "")
    if wrong not in found:
        wrong = ""  # the program ends before it
    return Finding(
        check.mistake,
        check.spelled or check.program,
        wrong,
        f"{wrong} = {right[wrong]:.6g}" if wrong else check.expected,
        f"{wrong} = {found[wrong]:.6g}" if wrong else check.found,
        check.place,
        f"Value.{method}" if (method := _method(check, graded)) else "",
        *check.stated(language()),
        drawing(check.program, _beside(wrong, found.get(wrong))),
    )


def _numbers(graded: GradedClass, program: str) -> dict[str, float]:
    """All numbers of a program in the order in which they are computed.

    If it ends with an error, these are the numbers up to there.
    """
    for part in reversed([*accumulate(program.split("; "), "{}; {}".format)]):
        with suppress(RaisedError, BrokenRule):
            found = graded.observed(part)
            data = {f"{x}.data": number for x, number in found.data.items()}
            grad = {f"{x}.grad": number for x, number in reversed(found.grad.items())}
            return data | grad if part == program else data
    return {}


def _beside(wrong: str, found: float | None) -> dict[str, dict[str, float]]:
    """The wrong number, for example of 'a.grad', as `drawing` takes it."""
    name, _, attribute = wrong.partition(".")
    return {name: {attribute: found}} if found is not None else {}


def _method(check: Check, graded: GradedClass) -> str:
    """The method in which the mistake probably is."""
    by_rule = {
        "construct": "__init__", "fresh": "__init__", "number": "", "identity": "__eq__",
        "needed": "backward",
    }  # fmt: skip
    if check.mistake in by_rule:
        return by_rule[check.mistake]
    if check.mistake == "children":
        made, ours = graded.run(check.program, backward=False), OURS.run(check.program)
        short = (v._op for x, v in ours.items() if operands(made[x]) < len(v._prev))
        if op := {"+": "__add__", "*": "__mul__"}.get(next(short, "")):
            return op
    if check.operation in REFLECTED:
        return REFLECTED[check.operation]
    if check.operation in EXPRESSIONS and check.mistake not in OF_WALK:
        return min(methods_in(check.operation))
    methods = methods_in(check.program)
    return min(methods) if check.mistake in OF_OPERATION and methods else "backward"


def line_of(name: str, text: str) -> int:
    """The line that defines a function, or a method such as 'Value.tanh'; 0 if there is none."""
    body = ast.parse(text).body
    for part in name.split("."):
        found = [node for node in body if getattr(node, "name", None) == part]
        if not found:
            return 0
        body = getattr(found[-1], "body", [])
    return found[-1].lineno


def _absent(names: Mapping[str, Any], name: str) -> str:
    return (
        text("is", name=name, what=shown(names[name], 60))
        if name in names
        else text("absent", name=name)
    )


# ---- 2. The slope of a function

SLOPES = (("5 * x", 2.0), ("x * x", 3.0), ("3 * x**2 - 4 * x + 5", 3.0), ("1 / x", -0.5))
OF_STEP = 0.02  # relative error that a step of about 0.001 makes


def slope_finding(names: Mapping[str, Any], say: Callable[[str], None]) -> Finding | None:
    """The first function whose slope is wrong."""
    slope = names.get("slope")
    if not callable(slope):
        return Finding("function", found=_absent(names, "slope"), expected="def slope(f, x)")
    for formula, at in SLOPES:
        program = f"slope(lambda x: {formula}, {at})"
        say(program)
        x = Value(at, label="x")
        y = eval(formula, {"x": x})
        y.backward()
        about = {"program": program, "method": "slope", "drawing": draw_dot(y, names={"y": y})}
        try:
            found = float(slope(eval(f"lambda x: {formula}"), at))
        except Exception as error:
            return Finding("runs-here", expected=text("no-error"), found=_error(error), **about)
        if not near(found, x.grad, OF_STEP):
            about["drawing"] = draw_dot(y, names={"y": y}, found={x: {"grad": found}},
                                        highlight=[x])  # fmt: skip
            return Finding("slope", number="slope", expected=f"slope = {x.grad:.6g}",
                           found=f"slope = {found:.6g}", **about)  # fmt: skip
    return None


def _error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


# ---- 3. A Value that remembers


def memory_finding(names: Mapping[str, Any], say: Callable[[str], None]) -> Finding | None:
    """The first step that is missing: `__init__` keeps both, then `+` and `*` pass them on."""
    kind = names.get("Value")
    if not isinstance(kind, type) or is_ours(kind):
        return None  # the check of the class says so
    graded, done = GradedClass(kind), ()
    say("a = Value(2.0)")
    try:
        new = kind(2.0)
    except Exception:
        return None
    for name, rule in (("_prev", "memory"), ("_op", "sign")):
        what = text("remembers", name=name)
        if not hasattr(new, name):
            return Finding(rule, "a = Value(2.0)", number=f"a.{name}", expected=what, done=done,
                           found=text("absent", name=f"a.{name}"),
                           method="Value.__init__")  # fmt: skip
        done += (what,)
    for program in ("a = Value(2.0); b = Value(-3.0); c = a + b",
                    "a = Value(2.0); b = Value(-3.0); c = a * b"):  # fmt: skip
        say(program)
        ours = OURS.run(program)
        operation = "__add__" if "+" in program else "__mul__"
        about = {"program": program, "method": f"Value.{operation}", "done": done,
                 "drawing": draw_dot(ours["c"], names=ours, highlight=[ours["c"]])}  # fmt: skip
        if not hasattr(kind, operation):
            return Finding("runs", expected=text("no-error"),
                           found=text("absent", name=f"Value.{operation}"), **about)  # fmt: skip
        try:
            made = graded.run(program)
            operands = list(made["c"]._prev)
        except RaisedError:
            return None
        except (AttributeError, TypeError):
            return Finding("memory", number="c._prev", expected=text("holds", what="a, b"),
                           found=text("no-operands"), **about)  # fmt: skip
        name_of = {id(v): name for name, v in made.items()}
        found = [name_of.get(id(v), shown(v, 20)) for v in operands]
        if sorted(found) != ["a", "b"]:
            return Finding("memory", number="c._prev", expected=text("holds", what="a, b"),
                           found=text("holds", what=", ".join(found) or "-"),
                           **about)  # fmt: skip
        sign, op = ours["c"]._op, getattr(made["c"], "_op", None)
        if op != sign:
            return Finding("sign", number="c._op", expected=f"c._op = {sign!r}",
                           found=f"c._op = {shown(repr(op), 40)}", **about)  # fmt: skip
        done += (text("passes", sign=sign),)
    return None


# ---- 4. Gradients by hand

POINTS = ((2.0, -3.0, 10.0, -2.0), (1.5, 4.0, -0.5, 3.0))  # the second one: no fixed numbers


def by_hand_finding(names: Mapping[str, Any], say: Callable[[str], None]) -> Finding | None:
    """The first gradient that is wrong, in the order of the backward pass."""
    by_hand = names.get("by_hand")
    if not callable(by_hand):
        return Finding("function", expected="def by_hand(a, b, c, f)",
                       found=_absent(names, "by_hand"))  # fmt: skip
    for point in POINTS:
        leaves = "; ".join(f"{x} = Value({at})" for x, at in zip("abcf", point, strict=True))
        program = f"{leaves}; d = a * b; e = d + c; L = e * f; L.backward()"
        say(program)
        ours, made = OURS.run(program), GradedClass(names["Value"]).run(leaves)
        about = {"program": program.replace("L.backward()", "by_hand(a, b, c, f)"),
                 "method": "by_hand"}  # fmt: skip
        try:
            made |= dict(zip("deL", by_hand(*made.values()), strict=True))
            found = {x: float(made[x].grad) for x in "Lefdcba"}
        except Exception as error:
            return Finding("runs-here", expected=text("three"),
                           found=_error(error), **about)  # fmt: skip
        for x, number in found.items():
            right = float(ours[x].grad)
            if not near(number, right):
                return Finding(
                    _rule_by_hand(x, number, ours), number=f"{x}.grad",
                    expected=f"{x}.grad = {right:.6g}", found=f"{x}.grad = {number:.6g}",
                    drawing=drawing(program, {x: {"grad": number}}),
                    done=tuple(f"{y}.grad" for y in [*found][: [*found].index(x)]),
                    **about,
                )  # fmt: skip
    return None


def _rule_by_hand(x: str, number: float, ours: Mapping[str, Value]) -> str:
    if x == "L":
        return "byhand-seed"
    if x in "dc":
        return "byhand-sum"
    a, b, upstream = (ours["a"], ours["b"], ours["d"]) if x in "ab" else (
        ours["e"], ours["f"], ours["L"])  # fmt: skip
    other = b if x in "ae" else a
    is_local = near(number, float(other.data)) and not near(float(upstream.grad), 1.0)
    return "byhand-chain" if is_local else "byhand-product"


# ---- 5. The order

GRAPHS = (
    "a = Value(3.0)",
    "a = Value(3.0); b = a + a",
    "a = Value(3.0); b = Value(2.0); c = a * b",
    "a = Value(3.0); b = a * a; c = b + a; d = b * c",
    "a = Value(3.0); b = a * a; c = b + a; d = c * a; e = d * b",
    "a = Value(3.0); b = a * a; c = b + a; d = b * a; e = c * d",
)


def order_finding(names: Mapping[str, Any], say: Callable[[str], None]) -> Finding | None:
    """The first node that is at a wrong place."""
    order_of = names.get("topological_order")
    if not callable(order_of):
        return Finding("function", expected="def topological_order(root)",
                       found=_absent(names, "topological_order"))  # fmt: skip
    for program in GRAPHS:
        say(program)
        made, root = GradedClass(names["Value"]).run(program), root_of(program)
        about: dict[str, Any] = {"program": f"{program}; topological_order({root})",
                                 "method": "topological_order"}  # fmt: skip
        try:
            order = list(order_of(made[root]))
        except Exception as error:
            return Finding("runs-here", expected=text("list"), found=_error(error), **about)
        name_of = {id(v): name for name, v in made.items()}
        found = [name_of.get(id(v), shown(v, 20)) for v in order]
        rule, wrong = _misplaced(found, made)
        if rule:
            return Finding(rule, number=wrong, expected=text("for-example", what=", ".join(made)),
                           found=", ".join(found) or "[]",
                           drawing=_with_places(program, found, wrong), **about)  # fmt: skip
    return None


def _misplaced(found: list[str], made: Mapping[str, Any]) -> tuple[str, str]:
    """The broken rule and the node; a node may not be before its operands, twice, or missing."""
    operands = {x: [y for y, v in made.items() if any(v is w for w in made[x]._prev)] for x in made}
    for i, x in enumerate(found):
        if x not in made:
            return "order-strange", x
        if x in found[:i]:
            return "order-once", x
        if any(y not in found[:i] for y in operands[x]):
            return "order-operands", x
    return next((("order-missing", x) for x in made if x not in found), ("", ""))


def _with_places(program: str, found: list[str], wrong: str) -> Any:
    ours = OURS.run(program)
    places = {
        x: ", ".join(str(i) for i, y in enumerate(found, 1) if y == x) or text("nowhere")
        for x in ours
    }
    named = {f"{x}: {places[x]}": v for x, v in ours.items()}
    marked = [ours[wrong]] if wrong in ours else []
    return draw_dot(ours[root_of(program)], names=named, numbers=False, highlight=marked)


# ---- 6. A neuron

NEURONS = (([1.5], [0.5], 0.25), ([2.0, -1.0], [-0.5, 1.0], 0.75))  # inputs, weights, bias


def neuron_finding(names: Mapping[str, Any], say: Callable[[str], None]) -> Finding | None:
    """The first number of a neuron that is wrong."""
    if not isinstance(names.get("Neuron"), type):
        return Finding("function", expected="class Neuron", found=_absent(names, "Neuron"))
    for inputs, weights, bias in NEURONS:
        named = {f"x{i}": x for i, x in enumerate(inputs, 1)}
        named |= {f"w{i}": w for i, w in enumerate(weights, 1)} | {"b": bias}
        leaves = "; ".join(f"{x} = Value({number})" for x, number in named.items())
        total = " + ".join(f"x{i} * w{i}" for i, _ in enumerate(inputs, 1))
        program = f"{leaves}; o = ({total} + b).tanh(); o.backward()"
        say(program)
        ours = OURS.run(program)
        called = f"o = Neuron({len(inputs)})([{', '.join(x for x in named if x[0] == 'x')}])"
        values = ", ".join(f"{x} = {number}" for x, number in named.items())
        about = {"program": f"{values}; {called}; o.backward()", "method": "Neuron.__call__"}
        try:
            neuron = names["Neuron"](len(inputs))
            made = {f"w{i}": w for i, w in enumerate(neuron.w, 1)} | {"b": neuron.b}
            for x, v in made.items():
                v.data = named[x]
            made |= {f"x{i}": names["Value"](x) for i, x in enumerate(inputs, 1)}
            made["o"] = neuron([made[f"x{i}"] for i, _ in enumerate(inputs, 1)])
            made["o"].backward()
            numbers = {"o.data": float(made["o"].data)}
            numbers |= {f"{x}.grad": float(made[x].grad) for x in ("o", *named)}
            parameters = {id(p) for p in neuron.parameters()}
        except Exception as error:
            return Finding("runs-here", expected=text("no-error"), found=_error(error),
                           drawing=draw_dot(ours["o"], names=ours), **about)  # fmt: skip
        for number, found in numbers.items():
            x, attribute = number.split(".")
            right = float(getattr(ours[x], attribute))
            if not near(found, right):
                return Finding(
                    "neuron", number=number, expected=f"{number} = {right:.6g}",
                    found=f"{number} = {found:.6g}",
                    drawing=drawing(program, {x: {attribute: found}}),
                    **about,
                )  # fmt: skip
        lacking = [x for x in named if x[0] in "wb" and id(made[x]) not in parameters]
        if lacking:
            about["method"] = "Neuron.parameters"
            return Finding("neuron-parameters", number=lacking[0],
                           expected=text("all-parameters"),
                           found=text("missing", name=lacking[0]), **about)  # fmt: skip
    return None


# ---- 7. One training step

EXAMPLES = (((1.5,), 1.0),), (((1.5,), 1.0), ((-0.5,), -1.0))
START, RATE = {"w": 0.5, "b": 0.25}, 0.1


def step_finding(names: Mapping[str, Any], say: Callable[[str], None]) -> Finding | None:
    """The first parameter that is wrong after one step, or after two."""
    step, network = names.get("training_step"), names.get("MLP")
    if not callable(step) or not isinstance(network, type):
        lacking = "MLP" if callable(step) else "training_step"
        return Finding("function", expected=text("definition", name=lacking),
                       found=_absent(names, lacking))  # fmt: skip
    for examples in EXAMPLES:
        xs, ys = [list(x) for x, _ in examples], [y for _, y in examples]
        program = (f"model = MLP(1, [1]); w = {START['w']}, b = {START['b']}; "
                   f"training_step(model, {xs}, {ys}, {RATE})")  # fmt: skip
        say(program)
        about = {"program": program, "method": "training_step"}
        try:
            model = network(1, [1])
            w, b = made = model.parameters()
            w.data, b.data = START.values()
            now, grad = dict(START), {"w": 0.0, "b": 0.0}
            for steps in (1, 2):
                before, old = now, grad
                now, grad, loss, values = _stepped(before, examples)
                step(model, xs, ys, RATE)
                for x, v in zip(now, made, strict=True):
                    found = float(v.data)
                    if not near(found, now[x]):
                        known = {"step-still": before[x], "step-uphill": before[x] + RATE * grad[x],
                                 "step-rate": before[x] - grad[x],
                                 "step-zero": before[x] - RATE * (grad[x] + old[x])}  # fmt: skip
                        rules = [rule for rule, number in known.items() if near(found, number)]
                        picture = draw_dot(loss, names=values, highlight=[values[x]],
                                           found={values[x]: {"data": found}})  # fmt: skip
                        picture.graph_attr["label"] = ""  # it would ask for gradients
                        return Finding(
                            rules[0] if rules else "step", number=f"{x}.data",
                            expected=text("after-step", step=steps,
                                          what=f"{x}.data = {now[x]:.6g}"),
                            found=f"{x}.data = {found:.6g}",
                            drawing=picture, **about,
                        )  # fmt: skip
        except Exception as error:
            return Finding("runs-here", expected=text("no-error"), found=_error(error), **about)
    return None


def _stepped(
    start: Mapping[str, float], examples: Any
) -> tuple[dict[str, float], dict[str, float], Value, dict[str, Value]]:
    """The parameters after a step, their gradients before it, and the graph of the new loss."""
    values = {x: Value(number, label=x) for x, number in start.items()}
    loss = _loss(values, examples)
    loss.backward()
    grad = {x: float(v.grad) for x, v in values.items()}
    after = {x: float(v.data) - RATE * grad[x] for x, v in values.items()}
    moved = {x: Value(number, label=x) for x, number in after.items()}
    return after, grad, _loss(moved, examples), moved


def _loss(values: Mapping[str, Value], examples: Any) -> Value:
    errors = [((values["w"] * x + values["b"]).tanh() - y) ** 2 for (x,), y in examples]
    return sum(errors[1:], errors[0])


# ---- 8. A decision boundary


def boundary_finding(names: Mapping[str, Any], say: Callable[[str], None]) -> Finding | None:
    """The first point on the wrong side of the boundary, if there are too many of them."""
    lacking = [name for name in ("model", "X", "y") if name not in names]
    if lacking:
        return Finding("function", expected="model, X, y", found=text("absent", name=lacking[0]))
    about = {"program": "[model(x).data > 0 for x in X]"}
    say(about["program"])
    try:
        scores = [float(names["model"](list(x)).data) for x in names["X"]]
        wrong = [i for i, score in enumerate(scores) if (score > 0) != (names["y"][i] > 0)]
    except Exception as error:
        return Finding("runs-here", expected=text("no-error"), found=_error(error), **about)
    right = len(scores) - len(wrong)
    if right >= ENOUGH * len(scores):
        return None
    losses = TRAINED.get("losses", [])
    rises = sum(not (after <= before) for before, after in pairwise(losses))  # NaN rises, too
    # Or tanh is at its ends, where its slope is 0: the loss stays as it is.
    stuck = losses and losses[-1] >= 0.99 * losses[len(losses) // 2]
    sure = all(abs(scores[i]) > 0.98 for i in wrong)
    if rises > len(losses) / 4 or (stuck and sure):
        found = text("jumps", rate=TRAINED["rate"], rises=rises, steps=len(losses),
                     loss=f"{losses[-1]:.4g}")  # fmt: skip
        return Finding("boundary-rate", expected=text("enough", share=f"{ENOUGH:.0%}"),
                       found=found, **about)  # fmt: skip
    (x1, x2), score = names["X"][wrong[0]], scores[wrong[0]]
    return Finding(
        "boundary", number=f"model(X[{wrong[0]}])",
        expected=text("enough", share=f"{ENOUGH:.0%}"),
        found=text("too-few", right=right, count=len(scores), label=names["y"][wrong[0]],
                   model=f"model([{x1:.3g}, {x2:.3g}]) = {score:.3g}"),
        **about,
    )  # fmt: skip
