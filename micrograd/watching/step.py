"""What a training step did: numbers before and after it, and what the graph of its loss shows.

>>> from micrograd.engine import topological_order
>>> from micrograd.nn import Neuron
>>> neuron = Neuron(2)
>>> index = {p: i for i, p in enumerate(neuron.parameters())}
>>> look = Look(topological_order(neuron([3.0, 4.0])), index)
>>> [*map(list, look.inputs.values())], [*look.units]  # of two weights; number 2 is the bias
([[3.0], [4.0]], [('ReLU', 2)])
>>> look.unit_of, look.level[2]
({0: 2, 1: 2}, 1)
"""

import math
import re
import weakref
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import itemgetter, sub
from os.path import commonprefix
from typing import Any

from micrograd.texts import filled, texts_of


class Look:
    """What the graph of a loss shows, read in one walk over its nodes.

    A unit is a sum of products with parameters; the parameter with which it begins, as an index
    into the parameters, tells one from another. Its level is 1 above that of its inputs.
    """

    def __init__(self, order: Sequence[Any] = (), index: Mapping[Any, int] | None = None) -> None:
        index = index or {}
        self.used: set[int] = set()  # the parameters in the graph
        self.leaves: list[Any] = []  # weak references to its other leaves that get a gradient
        # Numbers are copied: floats of the graph that outlive it would scatter those of the next.
        numbers: Any = partial(array, "d")
        self.inputs: dict[int, array[float]] = defaultdict(numbers)  # by which each was multiplied
        # ... by results: the numbers; and their units, and whether they went through no activation
        self.fed: dict[int, array[float]] = defaultdict(numbers)
        self.feeders: dict[int, set[tuple[int, bool]]] = defaultdict(set)
        self.unit_of: dict[int, int] = {}  # of parameters with which none begins
        self.level: Counter[int] = Counter()  # of parameters in products, and of units
        self.units: dict[tuple[str, int], array[float]] = defaultdict(numbers)  # by activation
        self.pairs: list[tuple[str, float, float]] = []  # operation, prediction, target of squares
        self.scores: list[tuple[str, str, float]] = []  # loss, operation, t, in `_see_hinge`, ...
        self.shares: list[tuple[float, str, float]] = []  # t, kind and p in t * p.log()
        self.twice = ""  # 'sigmoid' or 'softmax' if one is the input of another, or 'alone', if ...
        are_alone: list[bool] = []  # ... all softmaxes are e / e; attention has one such position
        self.products = self.outdated = 0  # of those with parameters, some have moved since
        self.penalised: set[int] = set()  # parameters whose squares are in the graph
        self.differences: list[float] = []  # targets of output - target, if that is in the loss
        unit: dict[Any, int] = {}  # of a parameter, product or sum
        last: dict[Any, int] = {}  # the unit of the highest level on which a node depends
        level, fed, feeders = self.level, self.fed, self.feeders
        for node in order:
            op, operands = node._op, node._prev
            if not operands:
                if node in index:
                    unit[node] = index[node]
                    self.used.add(index[node])
                elif node.requires_grad:
                    self.leaves.append(weakref.ref(node))
            elif op == "*":
                a, b = operands
                for p, x in ((a, b), (b, a)):
                    i = index.get(p)
                    if i is not None:
                        self.products += x.data != 0
                        if (now := p.data * x.data) != node.data:
                            self.outdated += abs(node.data - now) > 1e-9 * abs(node.data)  # not nan
                        if x is p:
                            self.penalised.add(i)
                            continue
                        unit[node] = last[node] = i
                        below = last.get(x, -1)
                        if i not in level:
                            level[i] = 1 + level[below]
                        if below >= 0:
                            fed[i].append(x.data)
                            feeders[i].add((below, x._op == "+" and x in unit))
                        elif not x._prev and x not in index:
                            self.inputs[i].append(x.data)
                    elif x._op == "log" and not p._prev:
                        self.shares.append((p.data, _kind(x._prev[0]), x._prev[0].data))
            elif op == "+":
                a, b = unit.get(operands[0]), unit.get(operands[1])
                first = b if a is None else a
                if first is not None:
                    unit[node] = last[node] = first
                    if b is not None and b != first and b not in self.unit_of:
                        self.unit_of[b] = first
                        level[first] = max(level[first], level[b])
                elif operands[0]._op == "log" and operands[1]._op == "-":
                    self._see_score(operands[1]._prev[1], unit)
            elif op in ("ReLU", "tanh", "sigmoid"):
                if operands[0] in unit:
                    self.units[op, unit[operands[0]]].append(node.data)
                elif op == "ReLU":
                    self._see_hinge(operands[0])
            elif op == "**2" and operands[0] in index:
                self.penalised.add(index[operands[0]])
            elif op in ("**2", "**2.0", "abs") and operands[0]._op == "-":
                target, output = sorted(operands[0]._prev, key=lambda v: bool(v._prev))
                if output._prev and not target._prev:
                    self.pairs.append((output._op, output.data, target.data))
            elif op == "-" and operands[0]._op == "log":
                self._see_score(operands[1], unit)
            elif op == "/" and operands[0]._op == "exp":
                total = operands[1]
                while total._op == "+" and not (first := total._prev[0])._prev and not first.data:
                    total = total._prev[1]  # sum() begins with 0
                are_alone.append(total is operands[0])
            elif op == "log" and operands[0]._op == "/" and operands[0]._prev[0]._op == "exp":
                self._see_score(operands[0]._prev[0]._prev[0], unit)
            elif op == "exp":
                x = _unshifted(operands[0])
                if x._op == "sigmoid" or (x._op == "/" and x._prev[0]._op == "exp"):
                    self.twice = "sigmoid" if x._op == "sigmoid" else "softmax"
            if node not in last and (known := [last[x] for x in operands if x in last]):
                last[node] = max(known, key=level.__getitem__)
        if are_alone and all(are_alone):
            self.twice = self.twice or "alone"
        self._see_differences(order, unit)

    def rows(self, parameters: Iterable[int]) -> dict[int, list[int]]:
        """Those of each unit, in their order."""
        found = defaultdict(list)
        for i in sorted(parameters):
            found[self.unit_of.get(i, i)].append(i)
        return found

    @cached_property
    def examples(self) -> list[tuple[tuple[float, ...], float]]:
        """Pairs of the inputs of the first neuron and a target; empty if unknown."""
        first: list[int] = next(iter(self.rows(self.inputs).values()), [])
        rows = [*zip(*(self.inputs[i] for i in first), strict=False)]
        targets = [t for *_, t in self.pairs or self.scores]
        targets = targets or [t for t, *_ in self.shares[:: 1 + (len(self.shares) > len(rows))]]
        return [*zip(rows, targets, strict=True)] if len(rows) == len(targets) else []

    def _see_differences(self, order: Sequence[Any], unit: Mapping[Any, int]) -> None:
        targets, terms = [], [*order[-1:]]
        for node in terms:  # grows in the loop, by what is added up
            inner = [v for v in node._prev if v._prev]
            is_sum = node._op == "+" and node not in unit
            is_outer = node is order[-1] and node._op in ("**2", "**2.0", "abs")
            if is_sum or is_outer or (node._op in "*/" and len(inner) == 1):
                terms += inner
            elif node._op == "-" and len(inner) == 1:
                targets.append(node._prev[node._prev[0] is inner[0]])
            elif node._prev:
                return
        self.differences = [target.data for target in targets if target not in unit]

    def _see_hinge(self, x: Any) -> None:
        if x._op in ("+", "-") and x._prev[0].data == 1 and x._prev[1]._op == "*":
            sign = 1 if x._op == "-" else -1
            self.scores += [("hinge", op, sign * t) for op, t in _labels(x._prev[1])]

    def _see_score(self, x: Any, unit: Mapping[Any, int]) -> None:
        # In a cross-entropy, log(...) - t * score or log(...) - score of the right class.
        x = _unshifted(x)
        inner = x._prev[0] if x._op == "tanh" else x
        if inner in unit:
            self.scores.append(("", x._op, unit[inner]))
        elif x._op == "*":
            self.scores += [("", op, t) for op, t in _labels(x)]


def _unshifted(x: Any) -> Any:
    return x._prev[0] if x._op == "-" else x  # the largest score is subtracted first


def _labels(product: Any) -> list[tuple[str, float]]:
    # The operation of the score, and the label, in label * score.
    label, score = sorted(product._prev, key=lambda v: bool(v._prev) and v._op != "neg")
    return [(score._op, label.data)] if score._prev and label._op in ("", "neg") else []


def _kind(x: Any) -> str:
    # What a probability is made with: p, 1 - p or p + 1e-9 for p = z.sigmoid() or 1 / (...); or ''.
    inner = [v for v in x._prev if v._prev]
    p = inner[0] if x._op in ("+", "-") and len(inner) == 1 else x
    is_known = p._op == "sigmoid" or (p._op == "/" and not p._prev[0]._prev)
    return str(x._op) if is_known else ""


@dataclass
class Step:
    """From the first backward pass after a movement of parameters to the next movement.

    Each list has a number for each parameter.
    """

    number: int  # from 1
    data: list[float]
    before: list[float]  # gradients when its first backward pass began
    grads: list[float]  # when its last one ended
    after: list[float] = field(default_factory=list)  # parameters at the end
    left: list[float] = field(default_factory=list)  # gradients at the end
    loss: float = math.nan  # the mean of those on which backward() was called
    passes: int = 0  # calls of backward()
    turns: int = 0  # of the loop
    is_due: bool = True  # it is to be looked at
    is_stale: bool = False  # backward() was called on the loss of the step before
    reached: bool | None = None  # whether it reached a parameter; None if unknown
    printed: float | None = None  # a variable `loss` on which backward() was not called
    bad: dict[str, str] | None = None  # what gave the first number that is not finite
    look: Look | None = None
    optimizer: Callable[[], object] | None = None  # a weak reference to one with a state

    @property
    def moved(self) -> bool:
        """Whether a parameter changed."""
        return self.after != self.data

    @cached_property
    def movement(self) -> list[float]:
        """How far each parameter moved."""
        return list(map(sub, self.after, self.data))


@dataclass
class History:
    """What is known of a run: the last steps that were looked at, and a few numbers of others."""

    names: Sequence[str]  # paths of the parameters
    steps: deque[Step] = field(default_factory=partial(deque, maxlen=4))
    looks: deque[Look] = field(default_factory=partial(deque, maxlen=16))
    first: Step = field(init=False)
    used: set[int] = field(default_factory=set)  # parameters that were in a graph
    losses: list[float] = field(default_factory=list)  # of all steps
    norms: list[float] = field(default_factory=list)  # of gradients, in steps that were looked at
    most: float = 0.0  # the largest movement, in units of the norm of the parameters
    updates: list[tuple[int, dict[str, float]]] = field(default_factory=list)  # the same by layer
    accuracy: float | None = None  # on X and y
    largest_class: float = 0.0  # its share in y
    unchained: str = ""  # an operation of the user's own whose _backward has no upstream gradient
    line: str = ""  # a line of the program such as p = p - 0.1 * p.grad
    rates: list[float] = field(default_factory=list)  # of optimizers that have some parameters
    others: int = 0  # optimizers that have none
    decay: float = 0.0  # the largest weight decay of these optimizers
    hidden: Sequence[tuple[str, Any]] = ()  # in the model, not in parameters()
    numbered: str = field(default_factory=lambda: texts_of("watch")["run.layer"])
    examples: int = 0  # in X, or in a variable that has the example of the loss

    def add(self, step: Step) -> None:
        """Adds a step that was looked at."""
        self.first = self.first if self.steps else step
        self.steps.append(step)
        self.norms.append(norm(step.grads))
        if step.look:
            self.see(step.look)
            self.used |= step.look.used
        if step.moved and (size := norm(step.data)):
            self.most = max(self.most, norm(step.movement) / size)
            parts: dict[str, float] = {}
            for layer, inside in self.layers.items():
                x, y = (norm([xs[i] for i in inside]) for xs in (step.movement, step.data))
                parts |= {layer: x / y} if y else {}
            self.updates.append((step.number, parts))

    def see(self, *looks: Look) -> None:
        """Adds graphs."""
        self.looks.extend(looks)
        self.__dict__.pop("seen", None)  # is in other graphs now

    @cached_property
    def seen(self) -> Counter[tuple[tuple[float, ...], float]]:
        """Pairs of an example's inputs and its target, and how often the last graphs have them."""
        return Counter(pair for look in self.looks for pair in look.examples)

    @property
    def step(self) -> Step:
        """The last step."""
        return self.steps[-1]

    @property
    def look(self) -> Look:
        """The last graph, or an empty one."""
        return self.looks[-1] if self.looks else Look()

    @cached_property
    def layers(self) -> dict[str, list[int]]:
        """The parameters in each part of the model, those of the lowest level first.

        What is on one level of the first graph is a part. It bears the name that its parameters
        share, if no other one has it, or a number. Without a graph, names tell the parts.
        """
        look, parts = self.look, defaultdict[tuple[float, str], list[int]](list)
        for i, name in enumerate(self.names):
            level = look.level[look.unit_of.get(i, i)], ""
            parts[level if i in look.used else (math.inf, layer_of(name))].append(i)
        known = [parts[key] for key in sorted(parts, key=itemgetter(0))]
        paths = ([self.names[i] for i in inside] for inside in known)
        names = [layer_of(commonprefix(some)) for some in paths]  # noqa: RUF071  # no folders
        return {
            name if name and names.count(name) == 1 else filled(self.numbered, n=n): inside
            for n, (name, inside) in enumerate(zip(names, known, strict=True), 1)
        }

    @cached_property
    def layer(self) -> dict[int, str]:
        """The part to which each parameter belongs."""
        return {i: name for name, inside in self.layers.items() for i in inside}


def norm(numbers: Sequence[float]) -> float:
    """The square root of the sum of squares."""
    return math.hypot(*numbers)


def layer_of(name: str) -> str:
    """Of layers[0].neurons[1].w[2] layers[0], of w[2] w: the part to which a parameter belongs."""
    return re.split(r"\.|\[(?![^.]*\.)", name)[0]
