"""What each chapter of the course asks for, and the first number at which an answer is wrong.

Runs in the page. The class is judged by `micrograd.grade`: by those of its checks that belong to
the chapters so far. What a class cannot show, such as a function for the slope, is compared here
with this package, on the smallest program that tells them apart.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise
from numbers import Real
from typing import Any

from micrograd.derivatives import near
from micrograd.draw import draw_dot
from micrograd.engine import Value
from micrograd.grade import (
    OURS,
    BrokenRule,
    Check,
    GradedClass,
    Report,
    Row,
    checks_of,
    drawing,
    plan,
    shown,
)
from micrograd.grade.checking import METHODS
from micrograd.grade.graded_class import operands
from micrograd.grade.programs import EXPRESSIONS, REFLECTED, ROWS, methods_in
from micrograd.texts import filled

CHAPTERS = ("slope", "value", "byhand", "order", "backward", "neuron", "network", "boundary")
Names = Mapping[str, Any]  # what a program has defined
Say = Callable[[str], object]  # is told each program before it runs
TRAINED: dict[str, Any] = {}  # in the last chapter: the rate, and the losses of all steps
TEXTS: dict[str, str] = {}  # the table of texts in the language of the page


def text(key: str, **values: object) -> str:
    """A text of this file from the table."""
    return filled(TEXTS[f"says.{key}"], **values)


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
        what, how: the rule and the fix, if they are not in the table of texts.
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


class WrongAnswer(Exception):  # noqa: N818 - an answer, not an error of ours
    """Ends the questions with a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


class Questions:
    """What a learner's program is asked; remembers what a finding has to say about it.

    Args:
        names: what the program has defined.
        say: is told each program before it runs.
    """

    def __init__(self, names: Names, say: Say) -> None:
        self.names, self.say = names, say
        self.about: dict[str, Any] = {}
        self.done: list[str] = []

    def ask(self, program: str, method: str, **about: Any) -> None:
        """Begins a question; an error that is raised from now on is an answer to it."""
        self.say(program)
        self.about = {"program": program, "method": method, "expected": text("no-error"), **about}

    def wrong(self, rule: str, **about: Any) -> WrongAnswer:
        """What to raise if the answer is wrong."""
        return WrongAnswer(Finding(rule, done=tuple(self.done), **self.about | about))

    def defined(self, name: str, line: str) -> Any:
        """A function or class of the learner's; the line is how its definition begins."""
        if not callable(self.names.get(name)):
            raise self.wrong("function", expected=line, found=_absent(self.names, name))
        return self.names[name]

    def number(self, name: str, x: object) -> float:
        """A learner's number as a float."""
        if not isinstance(x, Real):
            found = text("is", name=name, what=shown(x, 60))
            raise self.wrong("not-number", number=name, expected=text("number"), found=found)
        return float(x)


def first_finding(chapter: str, names: Names, say: Say) -> Finding | None:
    """The first thing that is wrong in a learner's program, None if the chapter is done.

    Args:
        chapter: one of CHAPTERS, or the name of a teacher's own.
        names: what the program has defined.
        say: is told each program before it runs.
    """
    questions = Questions(names, say)
    try:
        if chapter not in CHAPTERS:
            ask_own(chapter, questions)
            return None
        if chapter == "value":  # its steps one by one; the class as a whole comes last
            ask_for_memory(questions)
        if chapter != "slope":
            ask_class(chapter, questions)
        if chapter in OF_FUNCTIONS:
            OF_FUNCTIONS[chapter](questions)
    except WrongAnswer as wrong:
        return wrong.finding
    except Exception as error:
        return questions.wrong("runs-here", found=_error(error)).finding
    return None


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _absent(names: Names, name: str) -> str:
    if name not in names:
        return text("absent", name=name)
    return text("is", name=name, what=shown(names[name], 60))


def _numbers(number: str, right: float, found: float) -> dict[str, str]:
    return {"number": number, "expected": f"{number} = {right:.6g}",
            "found": f"{number} = {found:.6g}"}  # fmt: skip


def _without_label(picture: Any) -> Any:
    picture.graph_attr["label"] = ""  # it would say to call backward(), which is not asked for
    return picture


def line_of(name: str, text: str) -> int:
    """The line that defines a function, or a method such as 'Value.tanh'; 0 if there is none."""
    body, line = ast.parse(text).body, 0
    for part in name.split("."):
        found = [node for node in body if getattr(node, "name", None) == part]
        if not found:
            return 0
        body, line = getattr(found[-1], "body", []), found[-1].lineno
    return line


# ---- 1. The class

NEEDED = ("a + 2.0", "2.0 * a", "a - b", "a ** 2", "a.tanh()")  # for a neuron and its loss


def ask_class(chapter: str, questions: Questions) -> None:
    """Asks for the first broken rule of the class, by the checks of the chapters so far."""
    kind = questions.names.get("Value")
    if not isinstance(kind, type):
        found = _absent(questions.names, "Value")
        raise questions.wrong("name", expected="class Value", found=found)
    if issubclass(kind, Value):
        raise questions.wrong("ours", expected=text("own"), found=text("ours"))
    graded = GradedClass(kind)
    checks = tuple(checks_of(graded, _rows(chapter, questions.say)))
    for first, *_ in Report("yours", checks).mistakes:
        raise WrongAnswer(_finding_of(first, graded))
    needed = NEEDED if CHAPTERS.index(chapter) >= CHAPTERS.index("neuron") else ()
    values = [x for x in checks if x.operation in needed and x.aspect == "value"]
    questions.done = [check.operation for check in values if check.passed]
    for check in values:
        if not check.passed:
            questions.ask(check.program, f"Value.{method_of(check, graded)}")
            error = graded.error_in(check.program)
            raise questions.wrong("needed-here", found=error.text if error else "")
    questions.done = []


def _rows(chapter: str, say: Say) -> Iterator[Row]:
    """The checks of the chapters so far, without those that a browser cannot run."""
    for row in plan():
        goes_back = any(".backward()" in program for program in row.programs)
        first = ("backward" if goes_back else "value") if row.is_basic else "neuron"
        if row.mistake != "depth" and CHAPTERS.index(first) <= CHAPTERS.index(chapter):
            say(row.programs[0])
            yield row


def _finding_of(check: Check, graded: GradedClass) -> Finding:
    if "no attribute '_backward'" in check.found:  # in a Value that was not computed
        check = replace(check, mistake="nothing")
    right, found = _numbers_of(OURS, check.program), _numbers_of(graded, check.program)
    wrong = next((x for x in right if x not in found or not near(found[x], right[x])), "")
    if wrong not in found:
        wrong = ""  # the program ends before it
    name, _, attribute = wrong.partition(".")
    picture = drawing(check.program, {name: {attribute: found[wrong]}} if wrong else {})
    if picture and "backward()" not in check.program:
        _without_label(picture)
    about = {"expected": check.expected, "found": check.found}
    if wrong:
        about = _numbers(wrong, right[wrong], found[wrong])
    method = method_of(check, graded)
    return Finding(
        check.mistake, check.program, about.get("number", ""), about["expected"], about["found"],
        check.place, f"Value.{method}" if method else "", check.rule, check.fix, picture,
    )  # fmt: skip


def method_of(check: Check, graded: GradedClass) -> str:
    """The method to look at after a check that did not pass, '' if it may be any."""
    if (method := ROWS.get(check.mistake, {}).get("method")) is not None:
        return str(method)
    if check.mistake == "children":
        made, ours = graded.run(check.program, backward=False), OURS.run(check.program)
        short = (v._op for x, v in ours.items() if operands(made[x]) < len(v._prev))
        if method := METHODS.get(next(short, "")):
            return method
    if check.operation in REFLECTED:
        return REFLECTED[check.operation]
    is_expression = check.operation in EXPRESSIONS
    methods = methods_in(check.operation if is_expression else check.program)
    return min(methods, default="backward")


def _numbers_of(graded: GradedClass, program: str) -> dict[str, float]:
    """All numbers of a program in the order in which they are computed.

    If it ends with an error, these are the numbers up to there.
    """
    for part in reversed([*accumulate(program.split("; "), "{}; {}".format)]):
        with suppress(BrokenRule):
            found = graded.observed(part)
            data = {f"{x}.data": number for x, number in found.data.items()}
            grad = {f"{x}.grad": number for x, number in reversed([*found.grad.items()])}
            return data | grad if part == program else data
    return {}


# ---- 2. The slope of a function

SLOPES = (("5 * x", 2.0), ("x * x", 3.0), ("3 * x**2 - 4 * x + 5", 3.0), ("1 / x", -0.5))
OF_STEP = 0.02  # relative error that a step of about 0.001 makes


def ask_slope(questions: Questions) -> None:
    """Asks for the slopes of a few functions."""
    slope = questions.defined("slope", "def slope(f, x)")
    for formula, at in SLOPES:
        x = Value(at, label="x")
        y = eval(formula, {"x": x})
        y.backward()
        picture = draw_dot(y, names={"y": y})
        questions.ask(f"slope(lambda x: {formula}, {at})", "slope", drawing=picture)
        found = questions.number("slope", slope(eval(f"lambda x: {formula}"), at))
        if not near(found, x.grad, OF_STEP):
            picture = draw_dot(y, names={"y": y}, highlight={x: {"grad": found}})
            raise questions.wrong("slope", drawing=picture, **_numbers("slope", x.grad, found))


# ---- 3. A Value that remembers


def ask_for_memory(questions: Questions) -> None:
    """Asks step by step: `__init__` keeps both, then `+` and `*` pass them on."""
    kind = questions.names.get("Value")
    if not isinstance(kind, type) or issubclass(kind, Value):
        return  # this, and each error, is said by the check of the class
    graded, program = GradedClass(kind), "a = Value(2.0)"
    questions.ask(program, "Value.__init__")
    if graded.error_in(program):
        return
    for name, rule in (("_prev", "memory"), ("_op", "sign")):
        what = text("remembers", name=name)
        if not hasattr(graded.made(2.0), name):
            found = text("absent", name=f"a.{name}")
            raise questions.wrong(rule, number=f"a.{name}", expected=what, found=found)
        questions.done.append(what)
    for sign, method in (("+", "__add__"), ("*", "__mul__")):
        program = f"a = Value(2.0); b = Value(-3.0); c = a {sign} b"
        ours = OURS.run(program)
        picture = _without_label(draw_dot(ours["c"], names=ours, highlight=[ours["c"]]))
        questions.ask(program, f"Value.{method}", drawing=picture)
        if not hasattr(kind, method):
            raise questions.wrong("no-method", found=text("absent", name=f"Value.{method}"))
        if graded.error_in(program):
            return
        made = graded.run(program)
        if not hasattr(made["c"], "_prev"):
            return
        held = made["c"]._prev
        name_of = {id(v): name for name, v in made.items()}
        is_several = isinstance(held, Collection)
        names = [name_of.get(id(v), shown(v, 20)) for v in held] if is_several else []
        if sorted(names) != ["a", "b"]:
            found = text("holds", what=", ".join(names) or shown(held, 20))
            raise questions.wrong("memory", number="c._prev", expected=text("holds", what="a, b"),
                                  found=found)  # fmt: skip
        op = getattr(made["c"], "_op", None)
        if op != sign:
            raise questions.wrong("sign", number="c._op", expected=f"c._op = {sign!r}",
                                  found=f"c._op = {shown(repr(op), 40)}")  # fmt: skip
        questions.done.append(text("passes", sign=sign))
    questions.done = []


# ---- 4. Gradients by hand

POINTS = ((2.0, -3.0, 10.0, -2.0), (1.5, 4.0, -0.5, 3.0))  # the second one: no fixed numbers


def ask_by_hand(questions: Questions) -> None:
    """Asks for the gradients in the order of the backward pass."""
    by_hand = questions.defined("by_hand", "def by_hand(a, b, c, f)")
    for point in POINTS:
        leaves = "; ".join(f"{x} = Value({at})" for x, at in zip("abcf", point, strict=True))
        formula = f"{leaves}; d = a * b; e = d + c; L = e * f"
        ours = OURS.run(f"{formula}; L.backward()")
        made = GradedClass(questions.names["Value"]).run(leaves)
        questions.ask(f"{formula}; by_hand(a, b, c, f)", "by_hand", expected=text("three"))
        made |= dict(zip("deL", by_hand(*made.values()), strict=True))
        for x in "Lefdcba":
            number, right = f"{x}.grad", float(ours[x].grad)
            found = questions.number(number, made[x].grad)
            if not near(found, right):
                picture = drawing(f"{formula}; L.backward()", {x: {"grad": found}})
                raise questions.wrong(_rule_by_hand(x, found, ours), drawing=picture,
                                      **_numbers(number, right, found))  # fmt: skip
            questions.done.append(number)
        questions.done = []


def _rule_by_hand(x: str, number: float, ours: Mapping[str, Value]) -> str:
    if x == "L":
        return "byhand-seed"
    if x in "dc":
        return "byhand-sum"
    other, upstream = {"a": ("b", "d"), "b": ("a", "d"), "e": ("f", "L"), "f": ("e", "L")}[x]
    is_local = near(number, float(ours[other].data)) and not near(float(ours[upstream].grad), 1.0)
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


def ask_order(questions: Questions) -> None:
    """Asks for the order of growing graphs."""
    order_of = questions.defined("topological_order", "def topological_order(root)")
    for program in GRAPHS:
        made = GradedClass(questions.names["Value"]).run(program)
        root = [*made][-1]
        questions.ask(f"{program}; topological_order({root})", "topological_order",
                      expected=text("list"))  # fmt: skip
        name_of = {id(v): name for name, v in made.items()}
        found = [name_of.get(id(v), shown(v, 20)) for v in order_of(made[root])]
        rule, wrong = _misplaced(found, made)
        if rule:
            raise questions.wrong(rule, number=wrong, found=", ".join(found) or "[]",
                                  expected=text("for-example", what=", ".join(made)),
                                  drawing=_with_places(program, found, wrong))  # fmt: skip


def _misplaced(found: Sequence[str], made: Mapping[str, Any]) -> tuple[str, str]:
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


def _with_places(program: str, found: Sequence[str], wrong: str) -> Any:
    ours: dict[str, Value] = OURS.run(program)
    named: dict[str, Value] = {}
    for x, v in ours.items():
        places = ", ".join(str(i) for i, y in enumerate(found, 1) if y == x)
        named[text("place", name=x, places=places) if places else text("missing", name=x)] = v
    marked = [ours[wrong]] if wrong in ours else []
    return draw_dot([*ours.values()][-1], names=named, numbers=False, highlight=marked)


# ---- 6. A neuron

NEURONS = (([1.5], [0.5], 0.25), ([2.0, -1.0], [-0.5, 1.0], 0.75))  # inputs, weights, bias


def ask_neuron(questions: Questions) -> None:
    """Asks for the numbers of two neurons, then for their parameters."""
    kind = questions.defined("Neuron", "class Neuron")
    for inputs, weights, bias in NEURONS:
        xs = [f"x{i}" for i, _ in enumerate(inputs, 1)]
        ws = [f"w{i}" for i, _ in enumerate(weights, 1)]
        named = dict(zip((*xs, *ws, "b"), (*inputs, *weights, bias), strict=True))
        leaves = "; ".join(f"{x} = Value({number})" for x, number in named.items())
        total = " + ".join(f"{x} * {w}" for x, w in zip(xs, ws, strict=True))
        formula = f"{leaves}; o = ({total} + b).tanh(); o.backward()"
        ours = OURS.run(formula)
        values = ", ".join(f"{x} = {number}" for x, number in named.items())
        called = f"o = Neuron({len(xs)})([{', '.join(xs)}])"
        questions.ask(f"{values}; {called}; o.backward()", "Neuron.__call__",
                      drawing=draw_dot(ours["o"], names=ours))  # fmt: skip
        neuron = kind(len(xs))
        made = dict(zip((*ws, "b"), (*neuron.w, neuron.b), strict=True))
        for x, v in made.items():
            v.data = named[x]
        made |= {x: questions.names["Value"](named[x]) for x in xs}
        made["o"] = neuron([made[x] for x in xs])
        made["o"].backward()
        for x, attribute in (("o", "data"), *((x, "grad") for x in ("o", *named))):
            number, right = f"{x}.{attribute}", float(getattr(ours[x], attribute))
            found = questions.number(number, getattr(made[x], attribute))
            if not near(found, right):
                raise questions.wrong("neuron", drawing=drawing(formula, {x: {attribute: found}}),
                                      **_numbers(number, right, found))  # fmt: skip
        parameters = {id(p) for p in neuron.parameters()}
        for x in (*ws, "b"):
            if id(made[x]) not in parameters:
                raise questions.wrong("neuron-parameters", number=x, method="Neuron.parameters",
                                      expected=text("all-parameters"), drawing=None,
                                      found=text("missing", name=x))  # fmt: skip


# ---- 7. One training step

Examples = Sequence[tuple[Sequence[float], float]]  # inputs and target of each
EXAMPLES: tuple[Examples, ...] = (((1.5,), 1.0),), (((1.5,), 1.0), ((-0.5,), -1.0))
START, RATE = {"w": 0.5, "b": 0.25}, 0.1


def ask_step(questions: Questions) -> None:
    """Asks for the parameters after one step, and after two."""
    step = questions.defined("training_step", "def training_step(model, xs, ys, rate)")
    network = questions.defined("MLP", "class MLP")
    for examples in EXAMPLES:
        xs, ys = [list(x) for x, _ in examples], [y for _, y in examples]
        program = f"model = MLP(1, [1]); w = {START['w']}, b = {START['b']}"
        questions.ask(program, "MLP")
        model = network(1, [1])
        made = dict(zip(START, model.parameters(), strict=True))
        for x, v in made.items():
            v.data = START[x]
        now, grad = START, dict.fromkeys(START, 0.0)
        for steps in (1, 2):
            program += f"; training_step(model, {xs}, {ys}, {RATE})"
            questions.ask(program, "training_step")
            before, old = now, grad
            now, grad, loss, values = _stepped(before, examples)
            step(model, xs, ys, RATE)
            for x, v in made.items():
                found = questions.number(f"{x}.data", v.data)
                if not near(found, now[x]):
                    known = {"step-still": before[x], "step-uphill": before[x] + RATE * grad[x],
                             "step-rate": before[x] - grad[x],
                             "step-zero": before[x] - RATE * (grad[x] + old[x])}  # fmt: skip
                    rules = [rule for rule, number in known.items() if near(found, number)]
                    picture = draw_dot(loss, names=values, highlight={values[x]: {"data": found}})
                    about = _numbers(f"{x}.data", now[x], found)
                    about["expected"] = text("after-step", step=steps, what=about["expected"])
                    raise questions.wrong((*rules, "step")[0], drawing=_without_label(picture),
                                          **about)  # fmt: skip


def _stepped(
    start: Mapping[str, float], examples: Examples
) -> tuple[dict[str, float], dict[str, float], Value, dict[str, Value]]:
    """The parameters after a step, their gradients before it, and the graph of the new loss."""
    values = {x: Value(number, label=x) for x, number in start.items()}
    _loss(values, examples).backward()
    grad = {x: float(v.grad) for x, v in values.items()}
    after = {x: float(v.data) - RATE * grad[x] for x, v in values.items()}
    moved = {x: Value(number, label=x) for x, number in after.items()}
    return after, grad, _loss(moved, examples), moved


def _loss(values: Mapping[str, Value], examples: Examples) -> Value:
    errors = [((values["w"] * x + values["b"]).tanh() - y) ** 2 for (x,), y in examples]
    return sum(errors[1:], errors[0])


# ---- 8. A decision boundary

ENOUGH = 0.95  # the share of points on the right side of the boundary


def ask_boundary(questions: Questions) -> None:
    """Asks on which side of the boundary the points are; if too many are wrong, for the cause."""
    names, enough = questions.names, text("enough", share=f"{ENOUGH:.0%}")
    for name in ("model", "X", "y"):
        if name not in names:
            raise questions.wrong("function", expected=name, found=text("absent", name=name))
    questions.ask("[model(x).data > 0 for x in X]", "")
    X, y = names["X"], names["y"]
    scores = [float(names["model"](list(x)).data) for x in X]
    wrong = [i for i, score in enumerate(scores) if (score > 0) != (y[i] > 0)]
    right = len(scores) - len(wrong)
    if right >= ENOUGH * len(scores):
        return
    losses = TRAINED.get("losses", [])
    rises = sum(not (after <= before) for before, after in pairwise(losses))  # NaN rises, too
    # Or tanh is at its ends, where its slope is 0: the loss stays as it is.
    stuck = losses and losses[-1] >= 0.99 * losses[len(losses) // 2]
    sure = all(abs(scores[i]) > 0.98 for i in wrong)
    if rises > len(losses) / 4 or (stuck and sure):
        found = text("jumps", rate=TRAINED["rate"], rises=rises, steps=len(losses),
                     loss=f"{losses[-1]:.4g}")  # fmt: skip
        raise questions.wrong("boundary-rate", expected=enough, found=found)
    (x1, x2), score = X[wrong[0]], scores[wrong[0]]
    found = text("too-few", right=right, count=len(scores), label=y[wrong[0]],
                 model=f"model([{x1:.3g}, {x2:.3g}]) = {score:.3g}")  # fmt: skip
    raise questions.wrong("boundary", number=f"model(X[{wrong[0]}])", expected=enough, found=found)


OF_FUNCTIONS = {
    "slope": ask_slope, "byhand": ask_by_hand, "order": ask_order, "neuron": ask_neuron,
    "network": ask_step, "boundary": ask_boundary,
}  # fmt: skip


# ---- 9. Chapters of a teacher's own: their tests


def ask_own(chapter: str, questions: Questions) -> None:
    """Runs the tests of a chapter; each gets a function that compares an expression."""
    for name, test in vars(importlib.import_module(f"{chapter}_tests")).items():
        if name.startswith("test_"):
            what, _, how = (" ".join(x.split()) for x in (test.__doc__ or name).partition("\n\n"))
            test(partial(_compare, questions, {"what": what, "how": how}))
            questions.done.append(name.removeprefix("test_").replace("_", " "))


def _compare(
    questions: Questions, sentences: Mapping[str, str], expression: str, expected: object
) -> None:
    called = [x for x in questions.names if f"{x}(" in expression]
    questions.ask(expression, (called or [""])[-1], **sentences)
    try:
        found = eval(expression, dict(questions.names))
    except Exception as error:
        raise questions.wrong("own-task", found=_error(error)) from None
    if not same(found, expected):
        raise questions.wrong("own-task", number=expression, expected=shown(expected, 200),
                              found=shown(found, 200))  # fmt: skip


def same(found: Any, expected: object) -> bool:
    """Whether two numbers, lists of numbers, or other objects agree."""
    found = getattr(found, "data", found)  # of a Value
    if isinstance(expected, (list, tuple)):
        with suppress(TypeError):
            found = list(found)
            return len(found) == len(expected) and all(map(same, found, expected))
        return False
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return near(float(found), float(expected))
    return bool(found == expected)
