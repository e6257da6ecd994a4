"""Graphs recorded as data for a page, with the rules of their operations.

A page computes forward and backward passes itself, but contains no derivative rule. So each
operation and its closure run here once, on traced numbers, and the formulas that they compute
become its rule. `recorded_rules` records the graph of a result; `piece` records the graph that a
function builds, which a page joins with others, such as each neuron of a network and its loss.

    >>> x, w = Value(3.0), Value(2.0)
    >>> recorded_rules(x * w)["rules"]
    [{'op': '*', 'forward': ['*', 'x0', 'x1'], 'shares': [['*', 'x1', 'g'], ['*', 'x0', 'g']]}]
    >>> recorded = piece(lambda x, y: [(x * y).tanh()], 2)
    >>> recorded["nodes"], recorded["inputs"], recorded["outputs"]
    ([[-1], [-1], [0, 0, 1], [1, 2]], [0, 1], [3])

A formula is a number, a name, or a list of an operation and its operands. The names are x0, x1, ...
for the data of the operands, y for the data of the node itself, and g for its gradient. A rule has
the formula of the forward pass, and for each operand its share: what is added to its gradient.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import micrograd.operations  # noqa: F401  # choices between traced numbers
from micrograd.core.arithmetic import Number
from micrograd.core.node import innermost
from micrograd.core.pause import is_paused, restored, resumed
from micrograd.core.shapes import Numbers, flat
from micrograd.core.tracing import Recording, Traced
from micrograd.derivatives import again, contributions, is_own_operation, local_derivatives
from micrograd.engine import Value, topological_order
from micrograd.optim import SGD, Adam, AdamW, Optimizer
from micrograd.program.foreign import number_of

Formula = Any  # a float, a name, or a list [op, formula, ...]
Data = dict[str, Any]  # for a page, which gets it as JSON


def recorded_rules(root: Value) -> Data:
    """The graph that leads to `root`, as a list of nodes, and a list of the rules that they use.

    Returns:
        A dict of `rules`, each with its `op`, its `forward` formula (None for a user-defined
        operation, whose forward pass is not recorded) and its `shares`; `nodes` in topological
        order, each a list of the index of its rule and the indices of its operands, or [-1] for a
        leaf; and `leaves`, the data of each leaf and of each result of a user-defined operation.
    """
    if is_paused() or root.is_unrecorded:
        raise ValueError("no_grad() does not record a graph: record the rules outside no_grad()")
    order = topological_order(root)
    position = {value: i for i, value in enumerate(order)}
    rules: list[Data] = []
    index: dict[Any, int] = {}  # from an operation and the pattern of its operands to its rule
    nodes, leaves = [], {}
    for i, value in enumerate(order):
        operands = [position[operand] for operand in value._prev]
        known = bool(operands) and not is_own_operation(value)
        if not known:
            leaves[i] = as_number(innermost(value.data))
        # x * x has a rule of its own: its operands are the same node
        key: Any = (value._op, *map(operands.index, operands)) if known else i
        if operands and key not in index:
            index[key] = len(rules)
            # How a user-defined operation computes is unknown, so its derivatives are constants.
            local = () if known else map(innermost, local_derivatives(value))
            shares = [["*", as_number(d), "g"] for d in local]
            constants = {"op": str(value._op), "forward": None, "shares": shares}
            rules.append(_rule_of(*key) if known else constants)
        nodes.append([index.get(key, -1), *operands])
    return {"rules": rules, "nodes": nodes, "leaves": leaves}


def piece(function: Callable[..., Numbers], inputs: int, parameters: Sequence[Value] = ()) -> Data:
    """The graph that a function builds from its inputs and parameters.

    The function is called with traced numbers, and each instruction that it records is a node. So a
    page also computes what is missing from the graph of a single example: detached numbers, and
    choices made by `where`. They receive no gradient, but formulas may use them.

    `inputs` is the number of Values that it takes, `parameters` are leaves that it uses. The result
    is a dict as of `recorded_rules`, and of the nodes that are `inputs`, `parameters`, `outputs`.
    """
    recording = Recording()
    given = [Value(recording.input(0.0)) for _ in range(inputs)]
    with restored(parameters), resumed():
        for p in parameters:
            p.data = recording.input(innermost(p.data))
        outputs = flat(function(*given))
        for output in outputs:
            if not (isinstance(output, Value) and isinstance(output.data, Traced)):
                got = f"expected Values computed from the inputs, got {output!r:.40}"
                raise TypeError(f"{got}: compute with the Values that it is given, without .data")
        # The Value whose closure is the rule of each node. Detached numbers have none.
        values = [*given, *parameters, *(v for v in topological_order(*outputs) if v._prev)]
        value_at = {v.data.place: v for v in values if isinstance(v.data, Traced)}
        rules: list[Data] = []
        nodes, leaves = [], {}
        for i, step in enumerate(forward := tuple(recording.instructions)):
            operands = list(step.operands)
            if operands:
                rule = _rule(recording, value_at, len(forward), i, operands)
                if rule not in rules:
                    rules.append(rule)
                nodes.append([rules.index(rule), *operands])
            else:
                nodes.append([-1])
                leaves[i] = as_number(innermost(step.number))
    return {
        **{"rules": rules, "nodes": nodes, "leaves": leaves},
        "inputs": list(range(inputs)),
        "parameters": list(range(inputs, inputs + len(parameters))),
        "outputs": [output.data.place for output in outputs],
    }


def as_number(x: Number) -> float | str:
    """The number for JSON, which has no infinities and no NaN: these become strings."""
    number = float(x)
    return number if math.isfinite(number) else json.dumps(number)


def _rule_of(op: str, *pattern: int) -> Data:
    # The rule of the operation with this name. Operands with the same number are the same node.
    recording = Recording()
    xs = [Value(recording.input(0.5)) for _ in pattern]
    value = again(op, [xs[k] for k in pattern])
    value_at = {v.data.place: v for v in (*xs, value)}
    return _rule(recording, value_at, len(xs), value.data.place, [*pattern])


def _rule(
    recording: Recording, value_at: Mapping[int, Value], nodes: int, at: int, operands: list[int]
) -> Data:
    # The rule of the instruction at a place, and of the Value that has its result. Of the places
    # before `nodes`, those that the rule needs besides its operands are added to the operands.
    named: dict[int, str] = {}
    formula = partial(_formula, recording, named, nodes, operands)
    step = recording.instructions[at]
    op, forward = step.op, [step.op, *map(formula, step.operands)]
    given: dict[int, list[Formula]] = {}  # the contributions to each operand
    value = value_at.get(at)
    if value is not None:
        op = str(value._op)
        upstream = recording.input(1.0)
        named |= {at: "y", upstream.place: "g"}
        for operand, share in zip(value._prev, contributions(value, upstream), strict=True):
            place = getattr(operand.data, "place", -1)
            if value_at.get(place) is operand:
                told = formula(share.place) if isinstance(share, Traced) else as_number(share)
                given.setdefault(place, []).append(told)
    for place, shares in given.items():
        operands += [place] * (len(shares) - operands.count(place))
    per_edge = [given[x].pop(0) if given.get(x) else 0 for x in operands]
    return {"op": op, "forward": forward, "shares": per_edge}


def _formula(
    recording: Recording, named: Mapping[int, str], nodes: int, operands: list[int], place: int
) -> Formula:
    # Not inside of `_rule`: a function that calls itself there would keep the graph alive.
    if place in named:
        return named[place]
    if place < nodes:
        if place not in operands:
            operands.append(place)
        return f"x{operands.index(place)}"
    step = recording.instructions[place]
    given = [_formula(recording, named, nodes, operands, o) for o in step.operands]
    return [step.op, *given] if given else as_number(innermost(step.number))


# ---- Optimizers: their update rules, recorded from their code, and their state


def recorded_update(optimizer: Optimizer) -> Data:
    """The rule by which an optimizer updates a parameter, with its momentum, betas and eps.

    Returns:
        A dict of `memory`, the names of what it keeps for each parameter; `steps`, formulas of
        numbers and names: w and g for the parameter and its gradient, rate, decay, t for the number
        of this step from 1, the names in `memory`, and v0, v1, ... for earlier formulas; and
        `figures`, the results: d, the gradient with the decay; pulled, the parameter with the
        decay; what it keeps; mean and root, m and the root of s corrected; next, the new parameter.

    >>> recorded_update(SGD([Value(0.0)]))["steps"]  # g + decay w, then w - rate v1
    [['*', 'decay', 'w'], ['+', 'g', 'v0'], ['*', 'rate', 'v1'], ['-', 'w', 'v2']]
    """
    recording = Recording()
    called: dict[int, Any] = {}  # what the page calls the result of each instruction

    def given(name: str) -> Traced:
        number = _Setting(recording, recording.add("input", ()))
        called[number.place] = name
        return number

    class State(dict[str, Any]):
        def __missing__(self, name: str) -> Traced:
            self[name] = number = given(name)
            return number

    def first(op: str, operand: int) -> int:
        return next(i for i, s in enumerate(steps) if s.op == op and s.operands[0] == operand)

    rate, memory = given("rate"), State()
    _, *corrections = optimizer.at_step(given("t"))
    pulled, d = optimizer.decayed(given("w"), given("g"), rate, given("decay"))
    moved, kept = optimizer.rule(pulled, d, memory, rate, *corrections)
    figures = {"d": d, "pulled": pulled, "next": moved} | kept
    places = {name: number.place for name, number in figures.items()}
    steps = recording.instructions
    if isinstance(optimizer, Adam):
        places["mean"] = first("/", places["m"])
        places["root"] = first("**", first("/", places["s"]))
    formulas: list[Formula] = []
    for i, step in enumerate(steps):
        if step.operands:
            formulas.append([step.op, *(called[place] for place in step.operands)])
            called[i] = f"v{len(formulas) - 1}"
        elif i not in called:
            called[i] = as_number(step.number)
    told = {name: called[place] for name, place in places.items()}
    return {"memory": list(memory), "steps": formulas, "figures": told}


def state_of(optimizer: Optimizer, parameters: Sequence[Value]) -> Data:
    """The settings of an optimizer, the steps it has taken, and what it keeps of each parameter.

    >>> state_of(SGD(p := [Value(0.0)], lr=0.1, momentum=0.9), p)
    {'name': 'Momentum', 'rate': 0.1, 'decay': 0, 'step': 0, 'kept': {'v': [0.0]}}
    """
    name = type(optimizer).__name__
    if type(optimizer) not in (SGD, Adam, AdamW) or getattr(optimizer, "nesterov", False):
        raise ValueError(f"the page has SGD, Adam and AdamW, without nesterov, got {name}")
    if set(optimizer.parameters) != set(parameters):
        fix = f"pass {name}(model.parameters())"
        raise ValueError(f"optimizer expects the parameters of the model: {fix}")
    place = {p: i for i, p in enumerate(optimizer.parameters)}
    names = recorded_update(optimizer)["memory"]
    memory = {kept: optimizer._parameters.state(kept) for kept in names}
    return {
        "name": "Momentum" if "v" in memory else name,
        "rate": optimizer.lr,
        "decay": optimizer.weight_decay,
        "step": optimizer.steps,
        "kept": {of: [float(x[place[p]]) for p in parameters] for of, x in memory.items()},
    }


def call_of(optimizer: Optimizer) -> str:
    """The call that makes such an optimizer, in both packages; lr and weight_decay are gaps."""
    kept = {name: getattr(optimizer, name, None) for name in ("momentum", "betas", "eps")}
    settings = {"lr": "{rate}", **kept, "weight_decay": "{decay}"}
    given = ", ".join(f"{name}={setting}" for name, setting in settings.items() if setting)
    return f"{type(optimizer).__name__}(model.parameters(), {given})"


class _Setting(Traced):
    # A setting that the page can change: the rule does not leave out a decay that may be 0.
    __slots__ = ()

    def __bool__(self) -> bool:  # type: ignore[override]
        return True


def weights_of(parameters: Iterable[Value]) -> list[float]:
    """The numbers of parameters; a ValueError if one is not finite, as when training diverged."""
    weights = [float(number_of(p)) for p in parameters]
    if wrong := [w for w in weights if not math.isfinite(w)]:
        fix = "build the model again, and train it with a lower learning rate"
        got = f"got {wrong[0]} in {len(wrong)} of {len(weights)}"
        raise ValueError(f"a page needs a model with finite weights, {got}: {fix}")
    return weights
