"""A learner's own network: Neuron, Layer and MLP on their Value, a loss and a training function.

As for a Value, each program runs with the learner's classes and with ours, and the numbers are
compared. Which activations the classes have is their choice: it is found out, and ours get the same
ones. The weights are set, so they are looked for: under w and b, or in any attribute with as many
Values. A network is trained by `descent`, from weights as its class draws them.
"""

from __future__ import annotations

import inspect
import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial, reduce
from itertools import product
from operator import add, attrgetter
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
    raising,
    shown,
    takes,
)
from micrograd.grade.programs import NETWORK, ROWS, Check, Row, plan, task_of

ROLES = {  # what programs call it, and its usual names
    "Neuron": ("Neuron", "Perceptron"),
    "Layer": ("Layer", "Dense", "DenseLayer", "LinearLayer"),
    "MLP": ("MLP", "Network", "NeuralNetwork", "NeuralNet", "Net", "NN", "MultiLayerPerceptron"),
    "loss": ("loss", "loss_fn", "mse", "mse_loss", "mean_squared_error", "squared_error"),
    "train": ("train", "fit", "training_loop", "train_loop", "train_model", "gradient_descent"),
}
PARTS = {"w": "Neuron", "b": "Neuron", "neurons": "Layer", "layers": "MLP"}
SIZES: dict[str, tuple[Any, ...]] = {"Neuron": (3,), "Layer": (3, 2), "MLP": (3, [2, 1])}
ARGUMENTS = {  # of a training function, by the names of its parameters
    "model": "m|n|nn|net|network|mlp|model", "xs": "xs?|inputs?|x_train|data|examples|features",
    "ys": "ys?|targets?|labels?|y_train|y_?true", "steps": ".*(step|epoch|iter).*",
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

    `kind` is the class Value below them. Of `parts`, those with one of the names in ROLES count.
    """

    def __init__(self, kind: type, parts: Iterable[Any]) -> None:
        super().__init__(kind)
        named = {getattr(x, "__name__", ""): x for x in parts}
        usual = ((role, x) for role, names in ROLES.items() for x in reversed(names))
        self.roles = {role: named[x] for role, x in usual if x in named}  # the first name wins
        if "loss" in self.roles and not takes(self.roles["loss"], [], []):
            del self.roles["loss"]  # such as the loss(batch_size=None) of micrograd's demo
        self.names |= self.roles | {"descent": partial(descent, self)}
        self.calls_parameters = True
        self.unseen = {part for part, role in PARTS.items() if role not in self.roles}
        for role in SIZES.keys() & self.roles.keys():
            with suppress(*caught):
                self._adapt(self.roles[role], role)
        self.is_started = any(map(self.has_tasks, self.roles.values()))

    def _adapt(self, cls: type, role: str) -> None:
        # Gives a class the lecture's names and its signature.
        if not any("__call__" in vars(x) for x in cls.__mro__) and hasattr(cls, "forward"):
            self.give(cls, "__call__", cls.forward)
        others = (x for x in ("params", "get_parameters", "get_params") if hasattr(cls, x))
        if not hasattr(cls, "parameters") and (own := next(others, "")):
            self.give(cls, "parameters", getattr(cls, own))
        try:
            one = cls(*SIZES[role])
        except TypeError:  # perhaps all sizes in one list
            one = cls([3, 2, 1])
            self.names[role] = lambda nin, nouts: cls([nin, *nouts])
        self.calls_parameters = callable(getattr(one, "parameters", len))
        for part in (part for part, its in PARTS.items() if its == role and not hasattr(one, part)):
            if own := next((x for x, y in vars(one).items() if self._is_part(part, y)), ""):
                self.give(cls, part, property(attrgetter(own)))
            elif part != "b" or len(getattr(one, "w", ())) != 3:  # without any bias, it has none
                self.unseen.add(part)

    def _is_part(self, part: str, held: Any) -> bool:
        if part == "b" or not hasattr(held, "__len__") or isinstance(held, (str, dict)):
            return part == "b" and isinstance(held, self.kind)
        numbers = [isinstance(x, (self.kind, float)) for x in held]
        objects = [hasattr(x, "__dict__") for x in held]
        return bool(numbers) and (all(numbers) if part == "w" else all(objects) > any(numbers))

    def run(self, program: str, backward: bool = True) -> dict[str, Any]:
        """What a program makes; the random numbers are the same in every run."""
        random.seed(0)
        call = ".parameters" + "()" * self.calls_parameters
        return super().run(program.replace(".parameters()", call), backward)

    def parameters(self, model: Any) -> list[Any]:
        """What a model says are its parameters."""
        return [*(model.parameters() if self.calls_parameters else model.parameters)]

    def results(self, program: str) -> dict[str, Any]:
        """The numbers of what the last line with `=` makes, by name, or a BrokenRule."""
        with raising():
            made = self.run(program)
            return {name: self.plain(name, made[name]) for name in results_of(program)}

    def plain(self, name: str, x: Any) -> Any:
        """A result as numbers; a list of one is that one."""
        if isinstance(x, (list, tuple)) or getattr(x, "ndim", False):
            found = [self.plain(f"{name}[{i}]", each) for i, each in enumerate(x)]
            return found[0] if len(found) == 1 else found
        if isinstance(x, self.kind):
            return self.number(name, x, "data")
        if name.startswith("y") or not isinstance(x, (int, float)):
            what = f"{name} is a {type(x).__name__}, {shown(x, 40)}"
            raise BrokenRule("floats", f"{name} is a {self.title}", what)
        return x

    def output(self, program: str) -> float:
        """The number y of a program, NaN if it has none."""
        with suppress(BrokenRule, TypeError):
            return float(self.results(program)["y"])
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
    def activations(self) -> tuple[str, str, str, str]:
        """Those of Neuron, of Layer, and of MLP before its last layer and there."""
        neuron = self.activation if self.activation in nn.ACTIVATIONS else "tanh"
        layer = next((x for x in nn.ACTIVATIONS if self.fits("Layer", x)), neuron)
        pairs = (x for x in product(nn.ACTIVATIONS, repeat=2) if self.fits("MLP", *x))
        inner, outer = next(pairs, (layer, layer))
        return neuron, layer, inner, outer

    @cached_property
    def ours(self) -> GradedNetwork:
        """Our own classes with the same activations."""
        neuron, layer, inner, outer = self.activations
        net = GradedNetwork(Value, ())
        net.names |= {
            "Neuron": partial(nn.Neuron, activation=neuron),
            "Layer": partial(nn.Layer, activation=layer),
            "MLP": partial(nn.MLP, activation=inner, output=outer),
            "loss": lambda ys, goals: sum((y - t) ** 2 for y, t in zip(ys, goals, strict=True)),
        }
        return net


def results_of(program: str) -> list[str]:
    """The names on the left of the last `=` of a program, two in `a = 1; count, own = a, 2`."""
    *_, names = re.findall(r"(?:^|; )([\w, ]+) = ", program)
    return str(names).split(", ")


# ---- 2. Training


def slopes(graded: GradedNetwork, model: Any) -> tuple[float, list[float]]:
    """The squared error of a model on XOR, and its gradient."""
    parameters = graded.parameters(model)
    for v in parameters:
        v.grad = 0.0
    outputs = [model([graded.made(x) for x in xs]) for xs, _ in XOR]
    ends = [x[0] if isinstance(x, (list, tuple)) else x for x in outputs]
    # Only + and * of two Values: the class need not have more.
    gaps = [end + graded.made(-y) for end, (_, y) in zip(ends, XOR, strict=True)]
    loss = reduce(add, [gap * gap for gap in gaps])
    getattr(loss, graded.walk)()
    return float(loss.data), [float(v.grad) for v in parameters]


def descent(
    graded: GradedNetwork, model: Any, steps: int, rate: float | None = None
) -> tuple[float, float, float]:
    """The squared error of a model on XOR before and after steps of gradient descent.

    Also by how much the first step should lower it: rate times the sum of all squared gradients. A
    rate of None takes half of the step after which a loss without curvature would be 0.
    """
    errors, falls = list[float](), list[float]()
    for step in range(steps + 1):
        error, gradient = slopes(graded, model)
        squares = sum(x * x for x in gradient)
        size = min(1.0, error / (squares or 1) / 2) if rate is None else rate
        errors, falls = [*errors, error], [*falls, size * squares]
        if step == steps or not squares or (rate is None and error < LEARNED):
            break
        for v, x in zip(graded.parameters(model), gradient, strict=True):
            v.data -= size * x
    return errors[0], errors[-1], falls[0]


def _arguments(function: Any, **known: Any) -> dict[str, Any] | None:
    """The arguments of a training function, by its names for them; None if they are others."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        fits = (x for x in known if re.fullmatch(ARGUMENTS[x], name.lower()))
        if (own := next(fits, None)) is not None:
            found[name] = known.pop(own)
        elif parameter.default is parameter.empty and parameter.kind < parameter.VAR_POSITIONAL:
            return None
    return None if known else found  # without `steps`, it could take any time


@cache
def mistake_of_training(graded: GradedNetwork) -> tuple[str, str]:
    """The rule that a training function breaks, '' if none, and what was found.

    One step has to go against the gradient; the second one against the gradient where it begins,
    and not against the sum of both. A BrokenRule tells of a function that cannot be checked.
    """
    train, xs, ys = graded.roles["train"], [x for x, _ in XOR], [y for _, y in XOR]
    with raising():
        random.seed(0)
        model = graded.names["MLP"](2, [4, 1])
        start = [v.data for v in graded.parameters(model)]

        def moved(steps: int) -> list[float]:
            for v, x in zip(graded.parameters(model), start, strict=True):
                v.data, v.grad = x, 0.0
            arguments = _arguments(train, model=model, xs=xs, ys=ys, steps=steps)
            if arguments is None:
                found = f"{train.__name__}{inspect.signature(train)}"
                raise BrokenRule("untrained", CALL, found)
            train(**arguments)
            return [v.data - x for v, x in zip(graded.parameters(model), start, strict=True)]

        error, first = slopes(graded, model)
        once = moved(1)
        after, second = slopes(graded, model)
        then = [x - y for x, y in zip(moved(2), once, strict=True)]
    along, both = _cosine(once, first), [x + y for x, y in zip(first, second, strict=True)]
    if any(first) and not any(once):
        return "unmoved", "no parameter has changed"
    if along > 0.8 or (along > -0.8 and after > error):
        return "uphill", f"the squared error went from {error:.4g} to {after:.4g}"
    if along < -0.99 and _cosine(then, both) < -0.9999 < _cosine(then, second):
        return "stale", "the second step went against the sum of two gradients"
    return "", ""


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


# ---- 3. The checks


def network_checks(graded: GradedNetwork) -> Iterator[Check]:
    """The checks of a network, each run on demand."""
    known = {"engine", *graded.roles}
    if hasattr(graded.roles.get("MLP"), "zero_grad"):
        known.add("zero_grad")
    for row in plan(network=True):
        state = random.getstate()  # the caller's, who may be in a notebook
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
        finally:
            random.setstate(state)


def _failed(row: Row, broken: BrokenRule, graded: GradedNetwork) -> Check:
    (mistake, expected, found), place = broken.args, ""
    if isinstance(broken, RaisedError):
        place = broken.place
        if graded.is_started and "NotImplementedError" in broken.kinds and "task" in found:
            return row.check("to do")
        signs = ((x, y) for x in NETWORK for y in ROWS[x].get("sign", ()))
        usual = "runs" if place else row.mistake
        mistake = next((x for x, sign in signs if re.search(sign, f"{found} {place}")), usual)
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
        mistake, what = mistake_of_training(graded)
        if mistake == row.mistake:
            raise BrokenRule(mistake, "each parameter moves against its gradient", what)
        return None
    found = graded.results(program)
    if row.mistake == "step":
        before, after, fall = found.values()
        if not abs(before - after - fall) <= 0.05 * fall:
            right = {"before": before, "after": before - fall, "fall": fall}
            raise BrokenRule("step", f"about {_told(right)}", _told(found))
    elif row.mistake == "learns":
        if not found["error"] < LEARNED:
            mistake = "reach" if graded.activations[-1] == "relu" else "learns"
            raise BrokenRule(mistake, f"error < {LEARNED}", _told(found))
    elif {"y", "grad"} & {*found} and graded.activation == "own":
        raise BrokenRule("activation", ", ".join(nn.ACTIVATIONS), "another function")
    elif row.mistake == "linear" and graded.activations[2:] == ("linear", "linear"):
        raise BrokenRule("linear", "an activation between the layers", "none")
    elif _told(found) != _told(right := graded.ours.results(program)):
        other = {"doubled": graded.activation or "neuron", "linear": "connected"}
        raise BrokenRule(other.get(row.mistake, row.mistake), _told(right), _told(found))


def _check_engine(graded: GradedNetwork) -> None:
    """Raises BrokenRule if there is a mistake in the class Value."""
    engine = GradedClass(graded.kind)
    checks = [] if is_ours(graded.kind) else [*checks_of(engine)]
    engine.restore()
    for first, *_ in grouped(checks):
        raise BrokenRule("engine", first.expected, f"{first.found_at} after {first.program}")
    if left := [task_of(x) for x in checks if x.status == "to do"]:
        raise BrokenRule("engine", "an engine without mistakes", f"task {min(left)} is left")


def _told(results: dict[str, Any]) -> str:
    """Results as the report shows them and as they are compared, for example 'count = 4'."""
    return ", ".join(f"{name} = {_shown(x)}" for name, x in results.items())


def _shown(x: Any) -> str:
    if isinstance(x, list):
        return f"[{', '.join(map(_shown, x))}]"
    return str(x) if isinstance(x, bool) else f"{round(x, 9) + 0.0:.6g}"  # no -0
