"""How a finished graph falls into parts, as far as it tells: neurons, layers, repeated shapes.

A neuron is the sum of the products of a row of parameters, such as all `w[i]` of one list, with a
bias of the same object and an activation, if there are any. Neurons of one list that have the same
inputs are one call of a layer. What comes after the last neuron is the loss. Elsewhere, operations
are alike if their operands are: the ten ReLUs of ten examples have one shape, as if they came from
one place in the source.

    >>> from micrograd.engine import topological_order
    >>> from micrograd.nn import MLP
    >>> loss = (MLP(2, [3, 1])([1.0, -1.0]) - 1.0) ** 2
    >>> found = parts_of(topological_order(loss), [loss], Names(None))
    >>> sorted({part.name for part, _, _ in found.notes if part})
    ['L0.n0', 'L0.n1', 'L0.n2', 'L1.n0', 'loss']
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from micrograd.draw.formulas import counted, sign
from micrograd.draw.names import Names
from micrograd.engine import Value
from micrograd.nn import ACTIVATIONS

WEIGHTS = re.compile(r"\.(w|weights?)(?=(\[\w+\])*$)")


@dataclass
class Neuron:
    """One call of a neuron: of an instance of any class, or of a row of a matrix.

    Attributes:
        row: the path of its weights, without the index: 'model.layers[0].neurons[1].w'.
        inputs: what each weight is multiplied with.
        inside: its operations; the last one is the output.
    """

    row: str
    weights: list[Value]
    inputs: list[Value]
    inside: list[Value]
    bias: Value | None = None
    activation: str = "linear"

    @property
    def path(self) -> str:
        """The path of the neuron: 'model.layers[0].neurons[1]'."""
        return WEIGHTS.sub("", self.row)

    @property
    def layer(self) -> str:
        """The path of its layer, 'model.layers[0]', or ''."""
        return layer_of(self.row)


def layer_of(row: str) -> str:
    """The path of the layer to which a row of weights belongs, or ''."""
    path = WEIGHTS.sub("", row)
    return path[: path.rindex("[")].removesuffix(".neurons") if path.endswith("]") else ""


def neurons_in(
    order: Sequence[Value], results: Iterable[Value], path_of: Mapping[Value, str]
) -> list[Neuron]:
    """The calls of neurons in a graph, given in topological order.

    Args:
        order: the nodes.
        results: those that have to stay in sight.
        path_of: the path of each parameter in its model.
    """
    rows = rows_of(path_of)
    row_of = {w: row for row, weights in rows.items() for w in weights}
    users = Counter(operand for value in order for operand in set(value._prev))
    users.update(results)
    known: dict[Value, Neuron] = {}  # by the output so far
    for v in order:
        begun = [known[o] for o in v._prev if o in known and users[o] == 1]
        if v._op == "*" and sum(o in path_of for o in v._prev) == 1 and row_of.keys() & {*v._prev}:
            w, x = v._prev if v._prev[0] in row_of else v._prev[::-1]
            known[v] = Neuron(row_of[w], [w], [x], [v])
        elif v._op == "+" and begun and _fit(begun, v._prev, known, path_of):
            neuron, *others = begun
            for other in others:
                neuron.weights += other.weights
                neuron.inputs += other.inputs
                neuron.inside += other.inside
                neuron.bias = neuron.bias or other.bias
            neuron.bias = next((o for o in v._prev if o in path_of), neuron.bias)
            neuron.inside.append(v)
            known[v] = neuron
        elif begun and len(v._prev) == 1 and v._op.lower() in ACTIVATIONS:
            (neuron,) = begun
            if len(neuron.weights) == len(rows[neuron.row]) and neuron.activation == "linear":
                neuron.activation = v._op.lower()
                neuron.inside.append(v)
                known[v] = neuron
    found = {id(neuron): neuron for neuron in known.values()}.values()
    return [neuron for neuron in found if len(neuron.weights) == len(rows[neuron.row])]


def _fit(
    begun: Sequence[Neuron],
    operands: Sequence[Value],
    known: Mapping[Value, Neuron],
    path_of: Mapping[Value, str],
) -> bool:
    # Whether a sum is one of products of the same row, or of these and the bias.
    first = begun[0]
    weights = [w for neuron in begun for w in neuron.weights]
    around = first.row.rpartition(".")[0]
    others = [o for o in operands if known.get(o) not in begun]
    return (
        all(neuron.row == first.row and neuron.activation == "linear" for neuron in begun)
        and len(set(weights)) == len(weights)
        and all(o in path_of and path_of[o].rpartition(".")[0] == around for o in others)
        and len(others) + sum(neuron.bias is not None for neuron in begun) <= 1
    )


def rows_of(path_of: Mapping[Value, str]) -> dict[str, list[Value]]:
    """The parameters by their paths without the last index; those without an index are left out."""
    rows: dict[str, list[Value]] = defaultdict(list)
    for value, path in path_of.items():
        if path.endswith("]"):
            rows[path[: path.rindex("[")]].append(value)
    return rows


# ---- Parts


@dataclass(eq=False)
class Made:
    """A part of a finished graph; see `calls.Call`, which has the same attributes.

    Attributes:
        level: 'neuron', 'layer' or 'loss'.
        neuron: its operands, if it is one.
    """

    name: str
    level: str
    place: Any
    number: int
    parent: Made | None = None
    about: str = ""
    neuron: Neuron | None = None
    owner: Any = field(default=None, init=False)

    @property
    def kind(self) -> str:
        """What all calls of it are called."""
        return self.name


class Parts(NamedTuple):
    """What `noted` tells of each node of a watched graph, for a finished one.

    Attributes:
        notes: the innermost part of each node, the key of its shape, and its number; -1 for a leaf.
        labels: names for the parameters of neurons, by the index of the node.
    """

    notes: list[tuple[Made | None, Any, int]]
    labels: dict[int, str]


def parts_of(
    order: Sequence[Value], results: Iterable[Value], named: Names, depth: int = 0
) -> Parts:
    """The parts of a graph, given in topological order, and the shapes of its operations.

    With a `depth`, shapes are compared down to this many operations: then those in the steps of an
    iteration are alike.
    """
    index = {value: i for i, value in enumerate(order)}
    path_of = named.path_of | _paths_of_modules(order, named)
    rows = rows_of(path_of)
    width = Counter(map(layer_of, rows))
    of: dict[Value, Made] = {}
    labels: dict[int, str] = {}
    layers: dict[Any, tuple[Made, set[str]]] = {}  # by layer and inputs: its last call, and rows
    for neuron in neurons_in(order, results, path_of):
        n, number = len(neuron.weights), min(index[v] for v in neuron.inside)
        shown = sign(neuron.activation)
        around, name = None, named.short(neuron.path)
        if path := neuron.layer:
            # another engine may make a leaf of its own wherever a number is used
            inputs = (id(o) if o._prev or o in named.label_of else o.data for o in neuron.inputs)
            key = (path, *inputs)
            if key not in layers or neuron.row in layers[key][1]:
                about = f"{shown} · {n:,} \N{RIGHTWARDS ARROW} {width[path]:,}"
                made = Made(named.short(path), "layer", path, number, about=about)
                layers[key] = made, set()
            around, seen = layers[key]
            seen.add(neuron.row)
            name = f"{around.name}.n{neuron.path[neuron.path.rindex('[') + 1 : -1]}"
        about = f"{neuron.activation} · {counted(n, 'input')}"
        made = Made(name, "neuron", neuron.path, number, around, about, neuron)
        of.update(dict.fromkeys(neuron.inside, made))
        labels |= {index[w]: f"{name}.w{k}" for k, w in enumerate(neuron.weights)}
        labels |= {index[neuron.bias]: f"{name}.b"} if neuron.bias else {}
    if of:
        loss = Made("loss", "loss", "loss", max(index[value] for value in of) + 1)
        before: set[Value] = set()  # what the neurons are computed from
        for v in reversed(order):
            if v in of or v in before:
                before.update(v._prev)
        rest = [v for v in order if v._prev and v not in of and v not in before]
        of.update(dict.fromkeys(rest if len(rest) > 1 else (), loss))
    shapes = _shapes(order, of, named, depth)
    notes = [
        (of.get(v), shapes[v], i) if v._prev else (None, None, -1) for i, v in enumerate(order)
    ]
    return Parts(notes, labels)


def _paths_of_modules(order: Iterable[Value], named: Names) -> dict[Value, str]:
    # The parameters of modules without a name: of L0, L1, ... or Layer if there is just one.
    notes = (getattr(value, "_made_by", None) for value in order)
    modules = {id(note[0]): note[0] for note in notes if note}
    modules = {key: module for key, module in modules.items() if module.parameters()}
    found: dict[Value, str] = {}
    for k, module in enumerate(modules.values()):
        name = f"L{k}" if modules.keys() - {id(module)} else type(module).__name__
        for path, value in module.named_parameters():
            if value not in named.path_of:
                found.setdefault(value, f"{name}.{path}")
    return found


def _shapes(
    order: Sequence[Value], of: Mapping[Value, Made], named: Names, depth: int
) -> dict[Value, Any]:
    # A number for each shape. All operations of a long sum have the shape of the first.
    known: dict[Any, int] = {}
    shape: dict[Value, Any] = {}

    def seen(operand: Value, user: Made | None) -> Any:
        # From outside, all outputs of a layer are alike.
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
