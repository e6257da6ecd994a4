"""A graph as plain records, from which all drawings are made.

`graph()` records one `Box` per Value in topological order, with the numbers 0, 1, ...
"""

from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.core.arithmetic import Number
from micrograd.core.origin import origin
from micrograd.draw.array_level import remembered
from micrograd.draw.chain_rule import with_tangents
from micrograd.draw.hierarchy import LEVELS, Hierarchy
from micrograd.draw.names import Names
from micrograd.draw.parts import MOST, neurons_in
from micrograd.draw.records import Box, Graph, columns
from micrograd.engine import Value, topological_order
from micrograd.program.calls import owners
from micrograd.program.foreign import LOOKED_FOR
from micrograd.program.objects import Variables, is_array
from micrograd.texts import said

READABLE = 40  # cards: a larger drawing is hard to follow
LONGEST = 16  # cards that follow one another: about 2,500 pixels
LARGEST = 2000  # nodes: about 3 MB of SVG, and a layout that takes seconds
FARTHEST = 40_000  # columns that all arrows cross together: more would take Graphviz minutes


def graph(*results: Any, names: Mapping[str, Any] | None = None, parameters: object = ()) -> Graph:
    """The records of all nodes that lead to the results.

    A leaf is a constant if it was a plain number beside an operator, a parameter if a model in
    `names` owns it or it is among `parameters`, and otherwise an input.

    Args:
        *results: Values, or arrays of Values.
        names: a dict of variables, such as `locals()`, see `Names`. A `label` set by hand takes
            precedence, also that of an array.
        parameters: Values that are parameters although no Module owns them, or lists of these.

    Raises:
        TypeError: a root is not a Value, or names is not a mapping.

    >>> a = Value(3.0)
    >>> square = a * a
    >>> for node in graph(square, names={"a": a, "square": square}).nodes:
    ...     print(node.number, node.label, node.kind, node.data, node.op, node.operands)
    0 a input 3.0  ()
    1 square result 9.0 * (0, 0)
    """
    roots, is_given = roots_of(results), not isinstance(names, Variables)
    order = topological_order(*roots)
    named = Names(names, parameters, order)
    named.arrays += [("", result) for result in results if is_array(result)]
    by_hand = Names({})
    for array in remembered(order, [array for _, array in named.arrays]):
        if label := getattr(array, "label", "") or named.of_numbers(origin(array, "numbers")):
            by_hand.add(array, str(label))
    named.arrays[:0] = by_hand.arrays
    for owner in owners(order):
        named.add(owner, type(owner).__name__, is_owned=True)
    notes = (origin(value, "module") for value in order)
    modules = {id(note[0]): note[0] for note in notes if note}.values()
    unnamed = [m for m in modules if not named.path_of.keys() >= {*m.parameters()}]
    for k, module in enumerate(unnamed):
        named.add(module, f"L{k}" if unnamed[1:] else type(module).__name__, is_owned=True)
    plain = named.of_constants(order, neurons_in(order, [*roots], named.path_of))
    if any(plain.values()) and not named.parameters:  # it computes something from data
        named.add_shared(order)
    place = {value: i for i, value in enumerate(order)}
    nodes = []
    for value, i in place.items():
        known = by_hand.label_of.get(value) or named.label_of.get(value)
        if not known and (given := origin(value, "numbers")):
            row, k = given
            known = (whole := named.of_numbers(row)) and f"{whole}[{k}]"
        # Names that are given come before the labels of another engine.
        given = known if is_given and origin(value, "node") is not None else ""
        short = label = str(given or value.label or known or plain.get(value, ""))
        if value._prev:
            kind = "result" if value in roots else "operation"
        elif value in named.parameters:
            kind, short = "parameter", label if label == value.label else named.short(label)
        else:
            kind = "constant" if value.is_constant or value in plain else "input"
        made = str(value._op), tuple([place[operand] for operand in value._prev])
        nodes.append(Box(i, label, short, kind, "op", *made, value.data, value.grad))
    return Graph(tuple(nodes), tuple(place[r] for r in roots), tuple(order), named=named)


def roots_of(results: Sequence[Any]) -> dict[Value, None]:
    """The Values among the results and in arrays among the results, without duplicates.

    Raises:
        TypeError: a result is neither a Value nor an array of Values.
    """
    entries = (x.ravel().tolist() if is_array(x) and x.size else [x] for x in results)
    roots = [root for some in entries for root in some]
    for root in roots:
        if not isinstance(root, Value):
            fix = "pass the result of a computation, or one entry of a list of results"
            if hasattr(type(root), "named_parameters"):
                fix = "draw its output, draw_dot(model(x)), or the model: draw_network(model)"
            elif type(root).__module__ != "builtins":
                known = (f"{x} ({', '.join(LOOKED_FOR[x])})" for x in ("data", "grad", "operands"))
                fix += f". A Value of another engine is known by its {'; '.join(known)}"
            got = f"{type(root).__name__} {root!r:.40}"
            raise TypeError(f"a graph starts from a Value, got {got}: {fix}")
    return dict.fromkeys(roots)


def readable(
    root: object,
    names: Mapping[str, object] | None,
    level: str | int | None,
    parameters: object,
    tangents: Mapping[Value, Number] | None = None,
) -> tuple[Graph, list[str]]:
    """The graph as detailed as a reader can still follow, and captions that say what was chosen.

    By default, a graph that `calls` watched is drawn by its functions; any other one operation by
    operation, neuron by neuron, layer by layer or array by array (of arrays, first array by array):
    the first of these with at most 40 cards, 16 in a row. If none has, or if a network was called
    for several examples, it is drawn by its parts, with at most 25 cards. A level that the caller
    chooses is used unless the graph is too large to lay out.

    >>> from micrograd.nn import MLP
    >>> drawn, captions = readable(MLP(2, [16, 1])([1.0, 2.0]), None, None, ())
    >>> drawn.level, captions
    ('neuron', ['179 values, a card for each neuron', "draw_dot(..., level='op') draws each value"])
    """
    results = root if isinstance(root, (list, tuple)) and root else [root]
    whole = graph(*results, names=names, parameters=parameters)
    if tangents is not None:
        whole = with_tangents(whole, tangents)
    tree, n = Hierarchy(whole, by_calls=level not in LEVELS), len(whole.values)
    hint = [said("draw", "graph.each")] * _fits(whole)
    key = "graph.calls" if tree.is_called else "graph.parts"
    caption = [said("draw", key, n=n), *([] if tree.is_called else hint)]
    if level in LEVELS:
        drawn = tree.at_level(level)
        if _fits(drawn):
            none = said("draw", "graph.no.array" if level == "array" else "graph.no.neuron")
            return drawn, [none] * (level != "op" and not drawn.is_grouped)
        caption, level = [said("draw", "graph.large", level=level)], None
    elif level is None and not tree.is_called:
        has_examples = any(part.kind == "stack" and part.level == "layer" for part in tree.parts)
        levels = ("op", "array") if has_examples else LEVELS
        for each in ("array", *levels) if remembered(whole.values, ()) else levels:
            drawn = tree.at_level(each)
            is_small = len(drawn.nodes) <= READABLE and max(columns(drawn).values()) < LONGEST
            if is_small and (each == "op" or drawn.is_grouped):
                told = [said("draw", f"graph.{each}", n=n), *hint] if each != "op" else []
                return drawn, told
    drawn = tree.at_level(level)
    if not _fits(drawn):
        raise ValueError(f"level {level!r} would draw {len(drawn.nodes)} cards: choose fewer")
    return drawn, caption if n > MOST else []


def _fits(drawn: Graph) -> bool:
    column, nodes = columns(drawn), drawn.nodes
    lengths = [column[box.number] - column[o] for box in nodes for o in box.operands]
    return max(2 * len(nodes), len(lengths)) <= 2 * LARGEST and sum(lengths) <= FARTHEST
