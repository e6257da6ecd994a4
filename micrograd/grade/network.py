"""A learner's own network: Neuron, Layer and MLP on their Value, a loss and a training function.

As for a Value, each program runs with the learner's classes and with ours, and the numbers are
compared. Which activations the classes have is their choice: it is found out, and ours get the same
ones. The weights are set, so they are looked for: under w and b, or in any attribute with as many
Values. A network is trained by `descent`, from weights as its class draws them.

    >>> from micrograd.grade.programs import plan
    >>> ours = GradedNetwork(Value, [nn.Neuron, nn.Layer, nn.MLP])
    >>> {check.status for check in network_checks(ours) if check.operation != "train()"}
    {'passed', 'not there yet'}
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import product
from operator import attrgetter
from typing import Any

from micrograd import nn
from micrograd.derivatives import near
from micrograd.engine import Value
from micrograd.grade.checking import checks_of, grouped
from micrograd.grade.graded_class import (
    BrokenRule,
    GradedClass,
    RaisedError,
    caught,
    is_ours,
    shown,
)
from micrograd.grade.programs import NETWORK, ROWS, Check, Row, plan, task_of

ROLES = {  # what programs call it, and its usual names
    "Neuron": ("Neuron", "Perceptron"),
    "Layer": ("Layer", "Dense", "DenseLayer", "LinearLayer"),
    "MLP": ("MLP", "Network", "NeuralNetwork", "NeuralNet", "Net", "NN", "MultiLayerPerceptron"),
    "loss": ("loss", "loss_fn", "loss_function", "mse", "mse_loss", "squared_error",
             "mean_squared_error", "squared_loss", "criterion"),
    "train": ("train", "fit", "training", "training_loop", "train_loop", "train_model", "optimize",
              "gradient_descent"),
}  # fmt: skip
PARTS = {"w": "Neuron", "b": "Neuron", "neurons": "Layer", "layers": "MLP"}
ARGUMENTS = {  # of a training function, by the names of its parameters
    "model": "m|n|nn|net|network|mlp|model", "xs": "xs?|inputs?|x_train|data|examples|features",
    "ys": "ys?|targets?|labels?|y_train|y_?true", "steps": ".*(step|epoch|iter).*",
    "rate": "lr|.*rate|alpha|eta",
}  # fmt: skip
CALL = "train(model, xs, ys, steps, rate)"
NOTES = {"activation", "unseen", "untrained", "reach"}  # what was not checked, or is a limit
# One number goes in and one comes out, for inputs that tell the activations apart.
PROBES = {x.operation: x.programs[0] for x in plan(network=True) if x.aspect == "activation"} | {
    "Layer": "l = Layer(1, 1); [n] = l.neurons; n.w[0].data, n.b.data = 1.0, 0.0; "
             "y = l([Value(0.5)])",
}  # fmt: skip
INPUTS = 0.5, -0.75, 2.0
XOR = [([-1.0, -1.0], 0.0), ([-1.0, 1.0], 1.0), ([1.0, -1.0], 1.0), ([1.0, 1.0], 0.0)]
LEARNED = 0.5  # squared error on XOR; a straight line has 1 at best

# ---- 1. The classes


class GradedNetwork(GradedClass):
    """The classes and functions that are graded, with the lecture's names for their parts.

    Args:
        kind: the class Value below them.
        parts: the classes Neuron, Layer and MLP, a loss and a training function, as far as they are
            there; others do no harm.
    """

    def __init__(self, kind: type, parts: Iterable[Any]) -> None:
        super().__init__(kind)
        named = {getattr(x, "__name__", ""): x for x in parts}
        found = {role: next((named[x] for x in y if x in named), None) for role, y in ROLES.items()}
        self.roles = {role: x for role, x in found.items() if x}
        self.names |= self.roles | {"XOR": XOR, "descent": partial(descent, self)}
        self.calls_parameters = True
        self.unseen = {part for part, role in PARTS.items() if role not in self.roles}
        for role, sizes in {"Neuron": (3,), "Layer": (3, 2), "MLP": (3, [2, 1])}.items():
            if isinstance(cls := self.roles.get(role), type):
                with suppress(*caught):
                    self._adapt(cls, role, *sizes)
        codes = (inspect.unwrap(getattr(x, "__init__", x)) for x in self.roles.values())
        files = {x.__code__.co_filename for x in codes if inspect.isfunction(x)}
        lines = (line for file in files for line in linecache.getlines(file))
        self.is_started = any(line.lstrip().startswith("# Task ") for line in lines)

    def _adapt(self, cls: type, role: str, *sizes: Any) -> None:
        # Gives a class the lecture's names and its signature.
        if not any("__call__" in vars(x) for x in cls.__mro__) and hasattr(cls, "forward"):
            self.give(cls, "__call__", cls.forward)
        if role == "MLP":
            forms: list[Callable[..., Any]] = [cls, lambda n, ns: cls([n, *ns]), lambda n, ns:
                                               cls(n, *ns)]  # fmt: skip
            self.names[role] = next((x for x in forms if _works(x, *sizes)), cls)
        one = self.names[role](*sizes)
        own = next((x for x in ("params", "get_parameters", "get_params") if hasattr(one, x)), "")
        if own and not hasattr(one, "parameters"):
            self.give(cls, "parameters", property(attrgetter(own)))
        self.calls_parameters = callable(getattr(one, "parameters", len))
        for part in (part for part, its in PARTS.items() if its == role and not hasattr(one, part)):
            held = (x for x, held in vars(one).items() if self._is_part(part, held))
            if own := next(held, ""):
                self.give(cls, part, property(attrgetter(own)))
            elif part != "b" or len(getattr(one, "w", ())) != 3:  # without any bias, it has none
                self.unseen.add(part)

    def _is_part(self, part: str, held: Any) -> bool:
        if part == "b":
            return isinstance(held, self.kind)
        if not hasattr(held, "__len__") or isinstance(held, (str, dict)) or not len(held):
            return False
        is_w = part == "w"
        return all(
            isinstance(x, (self.kind, float)) if is_w else hasattr(x, "__dict__") for x in held
        )

    def run(self, program: str, backward: bool = True) -> dict[str, Any]:
        """What a program makes; the random numbers are the same in every run."""
        random.seed(0)
        if not self.calls_parameters:
            program = program.replace(".parameters()", ".parameters")
        return super().run(program, backward)

    def results(self, program: str) -> dict[str, Any]:
        """The numbers of what the last line with `=` makes, by name.

        Raises:
            BrokenRule: the program raises an error, or a result is not a number.
        """
        try:
            made = self.run(program)
            return {name: self.plain(name, made[name]) for name in results_of(program)}
        except BrokenRule:
            raise
        except tuple(caught) as error:
            raise RaisedError(error) from None

    def plain(self, name: str, x: Any) -> Any:
        """A result as numbers; a list of one is that one."""
        if isinstance(x, (list, tuple)) or getattr(x, "ndim", False):
            found = [self.plain(f"{name}[{i}]", each) for i, each in enumerate(x)]
            return found[0] if len(found) == 1 else found
        if isinstance(x, self.kind):
            return self._number(name, x, "data")
        if name.startswith("y") or not isinstance(x, (int, float)):
            what = f"{name} is a {type(x).__name__}, {shown(x, 40)}"
            raise BrokenRule("floats", f"{name} is a {self.title}", what)
        return x

    def output(self, program: str) -> float:
        """The number of the only result of a program, NaN if it has none."""
        with suppress(BrokenRule):
            [found] = self.results(program).values()
            return found if isinstance(found, float) else math.nan
        return math.nan

    def fits(self, role: str, *names: str) -> bool:
        """Whether a class, asked by its probe, has this activation, or these two."""
        first, *second = (nn.ACTIVATIONS[name] for name in names)
        inner = [first(Value(2 * x if role == "MLP" else x)) for x in INPUTS]
        right = [second[0](0.75 - x if role == "MLP" else x) if second else x for x in inner]
        programs = (PROBES[role].replace("0.5)])", f"{x})])") for x in INPUTS)
        return all(near(self.output(x), v.data) for x, v in zip(programs, right, strict=True))

    @cached_property
    def activation(self) -> str:
        """That of Neuron, or 'doubled'; 'own' if it is none of ours, '' if its sum is wrong."""
        if known := next((x for x in nn.ACTIVATIONS if self.fits("Neuron", x)), ""):
            return known
        if any(self.fits("Neuron", x, x) for x in nn.ACTIVATIONS):
            return "doubled"
        sums = (0.5, 0.0, 1.0), (2.0, 0.0, 0.25), (0.0, 0.5, 1.0), (1.0, 0.25, 0.25)
        line = "n = Neuron(1); n.w[0].data, n.b.data = {}, {}; y = n([Value({})])"
        first, *others = (self.output(line.format(*x)) for x in sums)
        return "own" if all(near(first, x) for x in others) else ""

    @cached_property
    def ours(self) -> GradedNetwork:
        """Our own classes with the same activations, as far as they were found."""
        neuron = self.activation if self.activation in nn.ACTIVATIONS else "tanh"
        layer = next((x for x in nn.ACTIVATIONS if self.fits("Layer", x)), neuron)
        pairs = product(nn.ACTIVATIONS, repeat=2)
        inner, outer = next((x for x in pairs if self.fits("MLP", *x)), (layer, layer))
        net = GradedNetwork(Value, ())
        net.names |= {
            "Neuron": partial(nn.Neuron, activation=neuron),
            "Layer": partial(nn.Layer, activation=layer),
            "MLP": partial(nn.MLP, activation=inner, output=outer),
            "loss": _squared_error, "activations": (inner, outer),
        }  # fmt: skip
        return net


def results_of(program: str) -> list[str]:
    """The names on the left of the last `=` of a program.

    >>> results_of("a = Value(1.0); count, own = 1, a.data")
    ['count', 'own']
    """
    steps = (ast.parse(step).body[0] for step in reversed(program.split("; ")))
    last = next(step for step in steps if isinstance(step, ast.Assign))
    return [x.id for x in ast.walk(last.targets[0]) if isinstance(x, ast.Name)]


def _works(made: Callable[..., Any], *arguments: Any) -> bool:
    try:
        made(*arguments)
    except TypeError:
        return False
    return True


# ---- 2. Training


def _squared_error(outputs: Sequence[Any], targets: Sequence[float]) -> Any:
    total: Any = 0.0
    for output, target in zip(outputs, targets, strict=True):
        distance = output + -target
        total = distance * distance + total
    return total


def descent(
    graded: GradedNetwork, model: Any, data: Sequence[Any], steps: int, rate: float | None = None
) -> tuple[float, float, float]:
    """The squared error of a model before and after steps of gradient descent.

    Also by how much the first step should lower it: rate times the sum of all squared gradients. A
    rate of None takes half of the step after which a loss without curvature would be 0.
    """
    first = fall = math.nan
    for step in range(steps + 1):
        loss, gradient = slopes(graded, model, data)
        squares = sum(x * x for x in gradient)
        if step == 0:
            first, fall = loss, (rate or 0.0) * squares
        if step == steps or not squares or (rate is None and loss < LEARNED):
            break
        size = min(1.0, loss / squares / 2) if rate is None else rate
        for v, x in zip(_parameters(graded, model), gradient, strict=True):
            v.data -= size * x
    return first, loss, fall


def slopes(graded: GradedNetwork, model: Any, data: Sequence[Any]) -> tuple[float, list[float]]:
    """The squared error of a model, and its gradient; what was in the gradients is lost."""
    parameters = _parameters(graded, model)
    for v in parameters:
        v.grad = 0.0
    outputs = [model([graded.made(x) for x in xs]) for xs, _ in data]
    ends = [x[0] if isinstance(x, (list, tuple)) else x for x in outputs]
    loss = _squared_error(ends, [graded.made(y).data for _, y in data])
    getattr(loss, graded.walk)()
    gradient = [float(v.grad) for v in parameters]
    for v in parameters:
        v.grad = 0.0
    return float(loss.data), gradient


def _parameters(graded: GradedNetwork, model: Any) -> list[Any]:
    return [*(model.parameters() if graded.calls_parameters else model.parameters)]


def _arguments(function: Any, **known: Any) -> dict[str, Any] | None:
    """The arguments of a training function, by its names for them; None if it needs others."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        fits = (x for x in known if re.fullmatch(ARGUMENTS[x], name.lower()))
        if (own := next(fits, None)) is not None:
            found[name] = known.pop(own)
        elif parameter.default is parameter.empty and parameter.kind < parameter.VAR_POSITIONAL:
            return None
    return found if not {"model", "xs", "ys"} & {*known} else None


def mistake_of_training(graded: GradedNetwork) -> tuple[str, str]:
    """The rule that a training function breaks, '' if none, and what was found.

    One step has to go against the gradient; the second one against the gradient where it begins,
    and not against the sum of both.

    Raises:
        BrokenRule: the function needs other arguments, so that it cannot be checked.
    """
    train, model = graded.roles["train"], graded.names["MLP"](2, [4, 1])
    xs, ys = [x for x, _ in XOR], [y for _, y in XOR]
    start = [v.data for v in _parameters(graded, model)]

    def moved(steps: int) -> list[float]:
        for v, x in zip(_parameters(graded, model), start, strict=True):
            v.data, v.grad = x, 0.0
        before, known = [*start], {"model": model, "xs": xs, "ys": ys}
        arguments = _arguments(train, **known, steps=steps)
        if arguments is None:
            found = f"{train.__name__}{inspect.signature(train)}"
            raise BrokenRule("untrained", CALL, found)
        train(**arguments)
        return [v.data - x for v, x in zip(_parameters(graded, model), before, strict=True)]

    error, first = slopes(graded, model, XOR)
    once = moved(1)
    after, second = slopes(graded, model, XOR)
    twice = [x - y for x, y in zip(moved(2), once, strict=True)]
    if any(first) and not any(once):
        return "unmoved", "no parameter has changed"
    if (along := _cosine(once, first)) > 0.8 or (along > -0.8 and after > error):
        return "uphill", f"the squared error went from {error:.4g} to {after:.4g}"
    both = [x + y for x, y in zip(first, second, strict=True)]
    if along < -0.99 and _cosine(twice, both) < -0.9999 < _cosine(twice, second):
        return "stale", "the second step went against the sum of two gradients"
    return "", ""


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


# ---- 3. The checks


def network_checks(graded: GradedNetwork, rows: Iterable[Row] | None = None) -> Iterator[Check]:
    """The checks of a network, each run on demand: these rows of the plan, or all in order."""
    has_zero_grad = hasattr(graded.roles.get("MLP"), "zero_grad")
    known = {"engine", *graded.roles, *["zero_grad"] * has_zero_grad}
    for row in plan(network=True) if rows is None else rows:
        try:
            if row.operation.removesuffix("()") in known:
                _compare(row, graded)
                yield row.check()
            elif row.mistake == "unmoved":  # the first row of train()
                raise BrokenRule("untrained", CALL, "no such function")
            else:
                yield row.check("not there yet")
        except BrokenRule as broken:
            yield _failed(row, broken, graded)


def _failed(row: Row, broken: BrokenRule, graded: GradedNetwork) -> Check:
    mistake, expected, found = broken.args
    place = ""
    if isinstance(broken, RaisedError):
        place = broken.place
        if graded.is_started and "NotImplementedError" in broken.kinds and "task" in found:
            return row.check("to do")
        signs = ((x, y) for x in NETWORK for y in ROWS[x].get("sign", ()))
        mistake = next((x for x, sign in signs if re.search(sign, f"{found} {place}")), "")
        mistake = mistake or ("runs" if place else row.mistake)
        if place and row.operation in ("loss()", "train()"):  # perhaps it is for other arguments
            mistake = "untrained"
    status, program = "noted" if mistake in NOTES else "failed", row.programs[0]
    for role, own in graded.roles.items():  # the learner's names
        program = re.sub(rf"\b{role}\(", f"{own.__name__}(", program)
    return Check(row.operation, row.aspect, program, status, mistake, expected, found, place)


def _compare(row: Row, graded: GradedNetwork) -> None:
    """Raises BrokenRule if the outcome of a row is not the right one."""
    program = row.programs[0]
    if row.operation == "engine":
        return _check_engine(graded)
    if unseen := [x for x in graded.unseen if re.search(rf"\.{x}\b", program)]:
        names = f"{', '.join(PARTS)}, as in the lecture"
        raise BrokenRule("unseen", names, f"no {unseen[0]} in {PARTS[unseen[0]]}")
    if row.operation == "train()":
        return _check_training(row, graded)
    found = graded.results(program)
    if row.mistake == "step":
        before, after, fall = found.values()
        if not abs(before - after - fall) <= 0.05 * fall:
            right = {"before": before, "after": before - fall, "fall": fall}
            raise BrokenRule("step", f"about {_told(right)}", _told(found))
    elif row.mistake == "learns":
        if not found["error"] < LEARNED:
            is_relu = graded.ours.names["activations"][1] == "relu"
            mistake = "reach" if is_relu else "learns"
            raise BrokenRule(mistake, f"error < {LEARNED}", _told(found))
    elif {"y", "grad"} & {*found} and graded.activation == "own":
        raise BrokenRule("activation", ", ".join(nn.ACTIVATIONS), "another function")
    elif row.mistake == "doubled" and graded.activation == "doubled":
        raise BrokenRule("doubled", _told(graded.ours.results(program)), _told(found))
    elif row.mistake == "linear" and graded.ours.names["activations"] == ("linear", "linear"):
        raise BrokenRule("linear", "an activation between the layers", "none")
    elif not _same(found, right := graded.ours.results(program)):
        mistake = {"doubled": "neuron", "linear": "connected"}.get(row.mistake, row.mistake)
        raise BrokenRule(mistake, _told(right), _told(found))


def _check_engine(graded: GradedNetwork) -> None:
    """Raises BrokenRule if there is a mistake in the class Value."""
    if is_ours(graded.kind):
        return
    checks = [*checks_of(engine := GradedClass(graded.kind))]
    engine.restore()
    for first, *_ in grouped(checks):
        raise BrokenRule("engine", first.expected, f"{first.found_at} after {first.program}")
    if left := [task_of(x) for x in checks if x.status == "to do"]:
        raise BrokenRule("engine", "an engine without mistakes", f"task {min(left)} is left")


def _check_training(row: Row, graded: GradedNetwork) -> None:
    try:
        mistake, found = mistake_of_training(graded)
    except tuple(caught) as error:
        if isinstance(error, BrokenRule):
            raise BrokenRule(*error.args) from None
        raise RaisedError(error) from None
    if mistake == row.mistake:
        raise BrokenRule(mistake, "each parameter moves against its gradient", found)


def _same(found: Any, right: Any) -> bool:
    """Whether results are equal, but for rounding."""
    if isinstance(found, dict):
        found, right = [*found.values()], [*right.values()]
    if isinstance(found, list) and isinstance(right, list):
        return len(found) == len(right) and all(map(_same, found, right))
    return not (isinstance(found, list) or isinstance(right, list)) and near(found, right)


def _told(results: dict[str, Any]) -> str:
    """Results as the report shows them, for example 'count = 4'."""
    return ", ".join(f"{name} = {_shown(x)}" for name, x in results.items())


def _shown(x: Any) -> str:
    if isinstance(x, list):
        return f"[{', '.join(map(_shown, x))}]"
    return str(x) if isinstance(x, bool) else f"{x:.6g}"
