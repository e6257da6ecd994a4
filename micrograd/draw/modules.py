"""How a finished graph falls into parts, as far as it tells: modules, and repeated shapes.

Each result of a module in `nn.py` carries a note: the module that made it, and the module's inputs.
The operations between these inputs and the result are the call of a neuron. What comes after the
last module is the loss. Elsewhere, operations are alike if their operands are: the ten ReLUs of ten
examples have one shape, as if they came from one place in the source.

    >>> from micrograd.engine import topological_order
    >>> from micrograd.nn import MLP
    >>> loss = (MLP(2, [3, 1])([1.0, -1.0]) - 1.0) ** 2
    >>> found = parts_of(topological_order(loss), Names(None))
    >>> sorted({call.name for call, _, _ in found.notes if call})
    ['L0.n0', 'L0.n1', 'L0.n2', 'L1.n0', 'loss']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from micrograd.draw.formulas import counted, sign
from micrograd.draw.names import Names
from micrograd.engine import Value
from micrograd.nn import neurons_of


@dataclass
class NeuronCall:
    """One call of a neuron.

    An `nn.Activation` belongs to the neuron before it if nothing else uses that neuron's output.

    Attributes:
        note: the module and its inputs; all results of one call share the same tuple.
        path: from the module to the neuron: '.neurons[0]'.
        inside: its operations; the last one is the output.
    """

    note: tuple[Any, ...]
    path: str
    weights: list[Value]
    parameters: list[Value]
    activation: str
    inside: list[Value]


def neuron_calls(order: Sequence[Value], roots: Collection[Value]) -> list[NeuronCall]:
    """The calls of neurons in a graph, given in topological order, that leads to these roots."""
    position = {value: i for i, value in enumerate(order)}
    users = Counter(operand for value in order for operand in set(value._prev))
    known: dict[int, dict[Value, NeuronCall]] = {}  # of each module: its neurons by parameter
    calls: dict[Value, NeuronCall] = {}  # keys: the outputs
    for value in order:
        note = getattr(value, "_made_by", None)
        if note is None or not value._prev:
            continue
        module = id(note[0])
        if module not in known:
            known[module] = _neurons_by_parameter(note)
        inputs = set(note[1:])
        inside, entering = between([value], (inputs | known[module].keys()).__contains__)
        inside = sorted([*inside, value], key=position.__getitem__)
        neuron = next((known[module][v] for v in entering if v in known[module]), None)
        if (
            neuron
            and entering.keys() == inputs.union(neuron.parameters)
            and not any(p._prev for p in neuron.parameters)  # what computes a weight stays in sight
        ):
            calls[value] = replace(neuron, note=note, inside=inside)
        if not known[module] and len(entering) == 1:  # the module is an Activation
            (before,) = entering
            linear = before in calls and calls[before].activation == "linear"
            if linear and users[before] == 1 and before not in roots:
                calls[value] = call = calls.pop(before)
                call.inside += inside
                call.activation = value._op.lower()
    return list(calls.values())


def _neurons_by_parameter(note: tuple[Any, ...]) -> dict[Value, NeuronCall]:
    found = {}
    for path, weights, bias, activation in neurons_of(note[0]):
        parameters = weights if bias is None else [*weights, bias]
        neuron = NeuronCall(note, path, weights, parameters, activation, [])
        found.update(dict.fromkeys(parameters, neuron))
    return found


def between(
    outputs: Sequence[Value], is_end: Callable[[Value], bool]
) -> tuple[list[Value], dict[Value, None]]:
    """The operations that lead to the outputs, and the ends that they use."""
    inside: list[Value] = []
    entering: dict[Value, None] = {}
    seen, waiting = set(outputs), list(outputs)
    while waiting:
        for operand in waiting.pop()._prev:
            if operand in seen:
                continue
            seen.add(operand)
            if is_end(operand):
                entering[operand] = None
            elif operand._prev:
                inside.append(operand)
                waiting.append(operand)
    return inside, entering


def label_of(module: Any, named: Names) -> str:
    """The name of a module: 'model.layers[1]' if its '.b' is called 'model.layers[1].b', or ''."""
    for path, parameter in module.named_parameters():
        label = named.label_of.get(parameter, "")
        if label.endswith(f".{path}"):
            return label.removesuffix(f".{path}")
    return ""


# ---- Parts


@dataclass(eq=False)
class Made:
    """A part of a finished graph; see `calls.Call`, which has the same attributes."""

    name: str
    place: Any
    parent: Made | None
    number: int
    about: str = ""
    kind: str = ""
    owner: Any = None


class Parts(NamedTuple):
    """What `noted` tells of each node of a watched graph, for a finished one.

    Attributes:
        notes: the innermost part of each node, the key of its shape, and its number; -1 for a leaf.
        labels: names for the parameters of neurons, by the index of the node.
    """

    notes: list[tuple[Made | None, Any, int]]
    labels: dict[int, str]


def parts_of(order: Sequence[Value], named: Names, depth: int = 0) -> Parts:
    """The parts of a graph, given in topological order, and the shapes of its operations.

    With a `depth`, shapes are compared down to this many operations: then those in the steps of an
    iteration are alike.
    """
    index = {value: i for i, value in enumerate(order)}
    of: dict[Value, Made] = {}
    labels: dict[int, str] = {}
    layers: dict[Any, Made] = {}  # the key is a call of a layer
    calls = neuron_calls(order, order[-1:])
    for neuron in _of_modules(calls, named) if calls else _of_owners(order, named):
        layer, number = neuron.layer, min(index[v] for v in neuron.inside)
        around = None
        if layer:
            made = Made(layer.name, layer.place, None, number, layer.about)
            around = layers.setdefault(layer.key, made)
        made = Made(neuron.name, neuron.place, around, number, neuron.about)
        of.update(dict.fromkeys(neuron.inside, made))
        labels |= {index[p]: f"{neuron.name}.{name}" for name, p in neuron.parameters}
    if of:
        loss = Made("loss", "loss", None, max(index[value] for value in of) + 1)
        to_modules = {*between([*of], of.__contains__)[0]}
        rest = [v for v in order if v._prev and v not in of and v not in to_modules]
        of.update(dict.fromkeys(rest if len(rest) > 1 else (), loss))
    shapes = _shapes(order, of, named, depth)
    notes = [
        (of.get(v), shapes[v], i) if v._prev else (None, None, -1) for i, v in enumerate(order)
    ]
    return Parts(notes, labels)


class _Layer(NamedTuple):
    key: Any  # of one call
    place: Any  # of all its calls
    name: str
    about: str = ""


class _Neuron(NamedTuple):
    layer: _Layer | None
    place: Any
    name: str
    about: str
    inside: Sequence[Value]
    parameters: Sequence[tuple[str, Value]] = ()


def _of_modules(calls: Sequence[NeuronCall], named: Names) -> Iterator[_Neuron]:
    # The neurons of `nn.py`, and the layers around them.
    modules = [*dict.fromkeys(id(call.note[0]) for call in calls)]
    for call in calls:
        module, n = call.note[0], len(call.weights)
        label = label_of(module, named)
        default = f"L{modules.index(id(module))}" if modules[1:] else type(module).__name__
        name = inner = named.short(label) if label else default
        layer = None
        if call.path:
            sizes = f"{n:,} \N{RIGHTWARDS ARROW} {len(neurons_of(module)):,}"
            about = f"{sign(call.activation)} · {sizes}"
            layer = _Layer(id(call.note), id(module), name, about)
            path = call.path.removeprefix(".neurons").replace("[", "n").replace("]", "")
            inner = named.short(label + call.path) if label else f"{name}.{path}"
        letters = [f"w{k}" for k in range(n)] + ["b"]
        parameters = [*zip(letters, call.parameters, strict=False)]
        about = f"{call.activation} · {counted(n, 'input')}"
        yield _Neuron(layer, (id(module), call.path), inner, about, call.inside, parameters)


def _of_owners(order: Sequence[Value], named: Names) -> Iterator[_Neuron]:
    # Neurons of other classes, as those of the lecture, are known by the names of their parameters:
    # a product with a parameter, sums of such products, and the activation after them.
    owner: dict[Value, str] = {}  # of the parameters, then of the operations
    for value in named.parameters:
        path, dot, _ = named.label_of.get(value, "").rpartition(".")
        if dot:
            owner[value] = path
    of_call: dict[Value, list[Value]] = {}  # the operations of the same call
    closed: set[Value] = set()  # activations
    for v in order:
        own = {owner[o] for o in v._prev if o in owner and o not in closed}
        others = [o for o in v._prev if o not in owner or o in closed]
        joins = v._op == "+" and all(o.is_constant for o in others)
        is_activation = len(v._prev) == 1 and v._prev[0] in of_call and not others
        is_open = [o for o in v._prev if o in of_call and o not in closed]
        is_product = v._op == "*" and len(others) == 1 and not is_open
        if len(own) != 1 or not (joins or is_product or is_activation):
            continue
        calls = {id(c): c for o in v._prev if (c := of_call.get(o)) is not None and o not in closed}
        if not (calls or is_product):
            continue
        call = [each for some in calls.values() for each in some]
        call.append(v)
        of_call.update(dict.fromkeys(call, call))
        (owner[v],) = own
        closed.update([v] if is_activation else [])
    for call in {id(c): c for c in of_call.values()}.values():
        path, inside = owner[call[0]], set(call)
        given = [o for v in call for o in v._prev if o not in inside and o not in named.parameters]
        # another engine may make a leaf of its own wherever a number is used
        inputs = [id(o) if o._prev or o in named.label_of else o.data for o in given]
        outer = path.rpartition(".")[0]
        layer = _Layer((outer, *inputs), outer, named.short(outer))
        name = named.short(path)
        yield _Neuron(layer if outer else None, path, name, "", call)


def _shapes(
    order: Sequence[Value], of: Mapping[Value, Made], named: Names, depth: int
) -> dict[Value, Any]:
    # A number for each shape. All operations of a long sum have the shape of the first.
    known: dict[Any, int] = {}
    shape: dict[Value, Any] = {}

    def seen(operand: Value, user: Made | None) -> Any:
        # From outside, all outputs of a module are alike.
        made = of.get(operand)
        if made is None or made is user:
            return shape[operand] if not depth else _outline(operand, depth)
        return "output", (made.parent or made).place

    for v in order:
        key: Any = "constant" if v.is_constant else v in named.parameters
        if v._prev:
            mine, (first, *others) = of.get(v), v._prev
            is_next = v._op == first._op == "+" and of.get(first) is mine
            if is_next and shape[others[0]] == shape[first._prev[1]] and not depth:
                shape[v] = shape[first]
                continue
            key = (v._op, mine and mine.place, *(seen(o, mine) for o in v._prev))
        shape[v] = known.setdefault(key, len(known) + 1)
    return shape


def _outline(value: Value, depth: int) -> Any:
    if not value._prev:
        return "leaf"
    return value._op, *((_outline(o, depth - 1) for o in value._prev) if depth > 1 else ())
