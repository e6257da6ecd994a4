"""The parts that can be found in a finished graph: neurons, layers, repeated shapes.

A neuron is the sum of the products of a row of parameters, such as all `w[i]` of one list, with a
bias of the same object and an activation, if there are any. Neurons of one list that have the same
inputs are one call of a layer. What comes after the last neuron is the loss. Elsewhere, operations
are alike if their operands are, as far as one sees: the ten ReLUs of ten examples have one shape,
as if they came from one place in the source, and so have those in the steps of an iteration.

    >>> from micrograd.draw.graph import graph
    >>> from micrograd.nn import MLP
    >>> model = MLP(2, [3, 1])
    >>> loss = (model([1.0, -1.0]) - 1.0) ** 2
    >>> found = parts_of(graph(loss, names={"model": model}))
    >>> sorted({part.label for part, _, _ in found if part})
    ['L0.n0', 'L0.n1', 'L0.n2', 'L1.n0', 'loss']
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from micrograd.draw.array_level import grouped, operation_of
from micrograd.draw.formulas import shape_text, sign
from micrograd.draw.records import Graph
from micrograd.engine import Value, topological_order
from micrograd.nn import ACTIVATIONS
from micrograd.texts import said

WEIGHTS = re.compile(r"\.(w|weights?)(?=(\[\w+\])*$)")
MOST = 25  # members of a box, and cards of the first view
DEPTH = 2  # operations down to which shapes are compared


@dataclass(eq=False)
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
    activation: str = "linear"


def layer_of(row: str) -> str:
    """The path of the layer to which a row of weights belongs, or ''."""
    path = WEIGHTS.sub("", row)
    return path[: path.rindex("[")].removesuffix(".neurons") if path.endswith("]") else ""


def rows_of(path_of: Mapping[Value, str]) -> dict[str, list[Value]]:
    """The parameters by their paths without the last index; those without an index are left out."""
    rows: dict[str, list[Value]] = defaultdict(list)
    for value, path in path_of.items():
        if path.endswith("]"):
            rows[path[: path.rindex("[")]].append(value)
    return rows


def neurons_in(
    order: Sequence[Value], results: Iterable[Value], path_of: Mapping[Value, str]
) -> list[Neuron]:
    """The calls of neurons in a graph, given in topological order; its results stay in sight.

    Args:
        path_of: the path of each parameter in its model.
    """
    rows = rows_of(path_of)
    row_of = {w: row for row, weights in rows.items() for w in weights}
    users = Counter(operand for value in order for operand in set(value._prev))
    users.update(results)
    known: dict[Value, Neuron] = {}  # by the output so far
    for v in order:
        begun = [known[o] for o in v._prev if o in known and users[o] == 1]
        others = [o for o in v._prev if known.get(o) not in begun]
        owner = {path_of.get(o, "").rpartition(".")[0] for o in others}  # of a bias
        made = begun[0] if begun else None
        if v._op == "*" and [o in path_of for o in v._prev].count(True) == 1:
            w, x = sorted(v._prev, key=lambda o: o not in path_of)
            made = Neuron(row_of[w], [w], [x], [v]) if w in row_of else None
        elif (
            made
            and v._op == "+"
            and all(part.row == made.row and part.activation == "linear" for part in begun)
            and sum(len(part.weights) for part in begun) <= len(rows[made.row])
            and owner <= {made.row.rpartition(".")[0]}
        ):
            made.weights += [w for part in begun[1:] for w in part.weights]
            made.inputs += [x for part in begun[1:] for x in part.inputs]
            made.inside += [*(each for part in begun[1:] for each in part.inside), v]
        elif made and not others and v._op.lower() in ACTIVATIONS and made.activation == "linear":
            made.activation = v._op.lower()
            made.inside.append(v)
        else:
            continue
        if made:
            known[v] = made
    return [each for each in dict.fromkeys(known.values()) if {*each.weights} == {*rows[each.row]}]


# ---- Parts


@dataclass(eq=False)
class Part:
    """A box: its members are indices of nodes, in topological order of the graph, and other boxes.

    Attributes:
        kind: 'call', 'stack', 'loop', 'step', 'vector' (operations from one place), 'leaves' (such
            as a matrix of parameters) or 'part' (of a box with too many members).
        place: where it comes from in the source, or its path in a model.
        number: its place in the order of execution.
        level: 'neuron', 'layer' (parameters and inputs, too), 'array' or 'loss'.
        around: gives the box around it; a weak reference, as the box has it as a member.
        index: its place in `Hierarchy.parts`, each after the box around it; -1 for the whole graph.
    """

    label: str
    kind: str
    members: list[Any] = field(default_factory=list)
    place: Any = None
    number: int = 0
    about: str = ""
    level: str = ""
    around: Callable[[], Part | None] = lambda: None
    call: Any = None  # noted by `calls`
    neuron: Neuron | None = None
    index: int = -1

    def __post_init__(self) -> None:
        self.called = self.label if self.kind == "call" else ""

    @property
    def parent(self) -> Part | None:
        """The box around it; None for the whole graph."""
        return self.around()

    @property
    def parts(self) -> list[Part]:
        """The boxes among its members."""
        return [member for member in self.members if isinstance(member, Part)]

    @property
    def is_paged(self) -> bool:
        """Whether it is shown member by member, because it has too many of them."""
        return self.kind in ("stack", "loop") and len(self.members) > MOST

    @property
    def has_boxes(self) -> bool:
        """Whether there are other boxes than vectors and leaves in it."""
        return any(inner.kind in ("call", "stack", "part") for inner in self.parts)

    def path(self) -> Iterator[Part]:
        """It, the box around it, and so on, up to the whole graph."""
        part: Part | None = self
        while part:
            yield part
            part = part.parent


def parts_of(drawn: Graph) -> list[tuple[Part | None, Any, int]]:
    """What `noted` tells of each node of a watched graph, for a finished one.

    That is the innermost part of a node, the key of its shape, and its number; -1 for a leaf.
    """
    order, named = drawn.values, drawn.named
    index = {value: i for i, value in enumerate(order)}
    results = [order[i] for i in drawn.results]
    width = Counter(map(layer_of, rows_of(named.path_of)))
    of: dict[Value, Part] = {}
    layers: dict[Any, Part] = {}  # by their paths and inputs: the last call
    rows: dict[Part | None, set[str]] = defaultdict(set)  # of each call
    for neuron in neurons_in(order, results, named.path_of):
        n, number = len(neuron.weights), min(index[v] for v in neuron.inside)
        place = WEIGHTS.sub("", neuron.row)  # the path of the neuron: 'model.layers[0].neurons[1]'
        about = f"{neuron.activation} · {said('draw', 'box.input', n=n)}"
        made = Part(named.short(place), "call", [], place, number, about, "neuron", neuron=neuron)
        if path := layer_of(neuron.row):
            # another engine may make a leaf of its own wherever a number is used
            inputs = (id(o) if o._prev or o in named.label_of else o.data for o in neuron.inputs)
            key = (path, *inputs)
            if key not in layers or neuron.row in rows[layers[key]]:
                about = f"{sign(neuron.activation)} · {n:,} \N{RIGHTWARDS ARROW} {width[path]:,}"
                layers[key] = Part(named.short(path), "call", [], path, number, about, "layer")
            layer = layers[key]
            made.around = partial(lambda part: part, layer)  # nothing else keeps it yet
            rows[layer].add(neuron.row)
            made.label = made.called = f"{layer.label}.n{place[place.rindex('[') + 1 : -1]}"
        of.update(dict.fromkeys(neuron.inside, made))
    loss = Part("loss", "call", [], "loss", level="loss")
    if of:
        loss.number = max(index[value] for value in of) + 1
        before = {*topological_order(*of)}  # the neurons, and what they are computed from
        rest = [v for v in order if v._prev and v not in before]
        of.update(dict.fromkeys(rest if len(rest) > 1 else (), loss))
    shapes = _shapes(order, of)
    groups, members = grouped(drawn)
    label_of = {id(array): label for label, array in reversed(named.arrays)}
    for k, (thing, _) in enumerate(groups):
        own = [v for v in members[k] if v._prev and of.get(v) in (None, loss)]
        if len(own) < 2 or not (op := sign(operation_of(thing))):
            continue
        label, shape = label_of.get(id(thing), ""), getattr(thing, "shape", ())
        told = [*[op] * bool(label), *[shape_text(shape)] * bool(shape)]
        key, number = ("array", shapes[own[-1]]), index[own[0]]
        part = Part(label or op, "vector", [], key, number, " · ".join(told), "array")
        part.around = partial(lambda part: part, of.get(own[0]))
        of.update(dict.fromkeys(own, part))
    return [(of.get(v), shapes[v], i) if v._prev else (None, None, -1) for i, v in enumerate(order)]


def _shapes(order: Sequence[Value], of: Mapping[Value, Part]) -> dict[Value, Any]:
    # A number for each shape. All operations of a long sum have the shape of the first.
    place = {v: of[v].place if v in of else None for v in order}
    outer = {v: (of[v].parent or of[v]).place if v in of else None for v in order}
    shape: dict[Value, Any] = {v: v._op for v in order}
    for _ in range(DEPTH):
        known: dict[Any, int] = {}
        finer: dict[Value, Any] = {}
        for v in order:
            # from outside, all outputs of a layer are alike
            key = [
                outer[o] if of.get(o) is not of.get(v) and o in of else shape[o] for o in v._prev
            ]
            finer[v] = known.setdefault((v._op, place[v], *key), len(known) + 1)
            if v._op == "+" == v._prev[0]._op and of.get(v) is of.get(v._prev[0]):
                begun = v._prev[0]
                if shape[v._prev[1]] == shape[begun._prev[1]]:
                    finer[v] = finer[begun]
        shape = finer
    return shape
