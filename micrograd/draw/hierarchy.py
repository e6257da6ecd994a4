"""The boxes of a graph: one for each call of a function that `calls` watched, nested as they ran.

A graph that was not watched has boxes for its neurons and layers, where it shows them (see
`parts.py`). `Hierarchy` makes this tree in four walks, each from the outer boxes to the inner ones:

1. `_nested`: each operation goes into the box of its call, and this box into that of the caller.
2. `_arrange`: what comes from one place in the source becomes a stack: the calls of one layer for
   ten examples, or the 16 products of one vector. Stacks that lead to each other in a circle, such
   as position and speed in a simulation, become a loop, with a box for each step.
3. `_sink_leaves`: a leaf moves into the innermost box that alone uses it, with others of its name.
4. `_cut`: parameters with the same users become one card; and what is left is divided into parts,
   so that no box has more than 25 members.

A view is then a set of open boxes: `view` gives the graph in which every closed box is one card.

    >>> from micrograd.program.calls import calls
    >>> from micrograd.draw.graph import graph
    >>> from micrograd.engine import Value
    >>> def square(x):
    ...     return x * x
    >>> def length(*xs):
    ...     return sum(square(x) for x in xs).sqrt()
    >>> tree = Hierarchy(graph(calls(length, Value(3.0), Value(4.0))))
    >>> [(part.label, part.kind) for part in tree.parts]
    [('square', 'stack'), ('square 1', 'call'), ('square 2', 'call')]
"""

import re
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from micrograd.draw.array_level import with_arrays
from micrograd.draw.formulas import LOWERED, number, shape_text, sign
from micrograd.draw.parts import MOST, WEIGHTS, Part, parts_of
from micrograd.draw.records import Box, Graph, columns, folded
from micrograd.program.calls import Call, noted, roles, written
from micrograd.texts import said

SMALL = 16  # operations of a neuron that are drawn one by one
ALONE = 4  # leaves without names are drawn one by one if there are at most this many
PARTS = 10
CHAIN = 6  # members of a stack that is open at first
WIDE = 8  # cards in a row that fit into a window
LEVELS = ("op", "neuron", "layer", "array")  # at one of them, parts of this and those before close
NUMBER = re.compile(r" \d+$")  # of a member of a stack
Used = Mapping[Any, Sequence[Any]]  # by the members of a box: what each of them uses, in order
INDICES = re.compile(r"(\[\w+\])+$")


class Hierarchy:
    """The tree of boxes of a graph.

    Attributes:
        root: the whole graph, as a box.
        parts: the other boxes, each after the box around it.
        box_of: for each node, its innermost box.
        label_of: what inputs without a name are called, and the states of loops.

    Args:
        drawn: the graph at level 'op'.
        by_calls: whether boxes are calls, if the program was watched.
    """

    def __init__(self, drawn: Graph, by_calls: bool = True) -> None:
        values = drawn.values
        self.whole = drawn
        self.is_called = by_calls and any(noted(value)[2] > 0 for value in values)
        self.place = {value: i for i, value in enumerate(values)}
        first: dict[str, int] = {}
        self.twins = {  # constants of one name are one number: the first of them
            node.number: first.setdefault(node.label, node.number)
            for node in drawn.nodes
            if node.kind == "constant" and node.label
        }
        self.operands = [tuple([self.twins.get(o, o) for o in n.operands]) for n in drawn.nodes]
        pairs = zip(drawn.nodes, self.operands, strict=True)
        self.nodes = tuple([node._replace(operands=operands) for node, operands in pairs])
        self.drawn = replace(drawn, nodes=self.nodes)
        self.users: list[list[int]] = [[] for _ in self.nodes]
        for i, operands in enumerate(self.operands):
            for o in operands:
                self.users[o].append(i)
        self._notes: list[Any] = (  # the call, the place and the number of each node
            [noted(value) for value in values] if self.is_called else parts_of(drawn)
        )
        self._column_of = columns(self.drawn)
        self.root = self._nested()
        self._for_each_box(self._arrange)
        self._sink_leaves()
        self._for_each_box(self._cut)
        inputs = (n.number for n in self.nodes if n.kind == "input" and not n.label)
        unnamed = [i for i in inputs if i not in self.states]
        x = "x" if len(unnamed) == 1 else "x{}"
        names = {i: x.format(str(k).translate(LOWERED)) for k, i in enumerate(unnamed, 1)}
        self.label_of = names | self.states

    def _for_each_box(self, change: Callable[[Part], None]) -> None:
        # Changes the boxes, the outer ones first, and notes what is around each box and node.
        boxes = [self.root]
        self.box_of = [self.root] * len(self.operands)
        for part in boxes:
            change(part)
            for member in part.members:
                if isinstance(member, Part):
                    member.around, member.index = weakref.ref(part), len(boxes) - 1
                    boxes.append(member)
                else:
                    self.box_of[member] = part
        for twin, i in self.twins.items():
            self.box_of[twin] = self.box_of[i]
        self.parts = boxes[1:]

    # ---- 1. Boxes for calls

    def _nested(self) -> Part:
        part_of: dict[Any, Part] = {None: Part("", "root")}
        for i, (call, *_) in enumerate(self._notes):
            if not self.operands[i]:
                continue
            inner: Any = i  # the node, then each new box around it
            while call not in part_of:
                part = part_of[call] = call if isinstance(call, Part) else _box_of(call)
                part.members.append(inner)
                inner, call = part, call.parent
            part_of[call].members.append(inner)
        return part_of[None]

    def _arrange(self, part: Part) -> None:
        # Members become stacks and loops; a single one is replaced by its members.
        if part.kind in ("stack", "vector", "loop"):
            return
        is_box = part is not self.root or self.is_called
        while is_box and len(part.members) == 1 and part.parts:
            (only,) = part.parts
            part.members, part.call, part.called = only.members, only.call, only.called
            part.level, part.neuron, part.about = only.level, only.neuron, part.about or only.about
        part.members.sort(key=self._number)
        if part.level and len(inside(part)) <= SMALL:
            return
        by_place: dict[Any, list[Any]] = defaultdict(list)
        for member in part.members:
            by_place[self._place(member) or member].append(member)
        groups = [*by_place.values()]
        loops = self._loops(groups) if len(groups) < len(part.members) else []
        stacks = [self._stack(some) if len(some) > 1 else some[0] for some in groups if some]
        part.members = sorted([*stacks, *loops], key=self._number)
        if is_box and len(part.members) == 1 and part.parts:
            (only,) = part.parts
            part.about = part.about or only.about
            part.members = only.members

    def _number(self, member: Part | int) -> int:
        return member.number if isinstance(member, Part) else self._notes[member][2]

    def _place(self, member: Any) -> Any:
        return member.place if isinstance(member, Part) else self._notes[member][1]

    # ---- 2. Stacks and loops

    def _stack(self, members: list[Any]) -> Part:
        n = len(members)
        stack = Part("", "stack", members, self._place(members[0]), self._number(members[0]))
        parts = stack.parts
        if len(parts) < n:
            self._name_vector(stack, [i for i in members if not isinstance(i, Part)])
            return stack
        names = [*dict.fromkeys(part.label for part in parts)]
        stack.label, stack.level = ", ".join(names[:3]), "layer" if parts[0].level else ""
        about = ["", "box.call"] if self.is_called else [parts[0].about, "box.example"]
        stack.about = " · ".join(filter(None, [about[0], said("draw", about[1], n=n)]))
        in_model = [next(roles(part.call), "") if part.call else "" for part in parts]
        distinct = all(in_model) and len(set(in_model)) == n
        for k, part in enumerate(parts):
            part.label = in_model[k] if distinct else f"{part.label} {k + 1}"
        return stack

    def _name_vector(self, vector: Part, members: list[int]) -> None:
        n, ops = len(members), Counter(self.nodes[i].op for i in members)
        [(op, _), *others] = ops.most_common(2)
        used = {o for i in members for o in self.operands[i]} & {*members}
        vector.kind, vector.label = "vector", sign(op)
        if others and isinstance(vector.place, tuple):
            vector.label = sign(next(reversed(written(*vector.place)), "")) or vector.label
        elif used and op == "+":
            vector.label = said("pages", "name.sum")
        size = n if others else n + 1
        vector.about = said("draw", "box.operation" if others else "box.terms", n=size)
        if n - len(used) > 1:
            vector.about = said("draw", "box.vector", n=n - len(used))

    def _loops(self, groups: list[list[Any]]) -> list[Part]:
        # Groups that lead to each other in a circle become a loop, and are empty then.
        place = {each: k for k, group in enumerate(groups) for each in group}
        unit_of = {i: each for each in place for i in inside(each)}
        used: dict[Any, list[Any]] = defaultdict(list)  # what each uses from others, in order
        for i in sorted(unit_of):
            each = unit_of[i]
            used[each] += [unit_of.get(o, o) for o in self.operands[i] if unit_of.get(o) != each]
        before = [
            {place[o] for each in group for o in used[each] if o in place} for group in groups
        ]
        loops = []
        for circle in circles(before):
            mine = [groups[k] for k in circle]
            steps = self._steps(mine, used)
            if not self.is_called:
                steps = self._matched(steps, used)
            if len(steps) > 1:
                taken = {each for step in steps for each in step}
                for group in groups:
                    group[:] = [each for each in group if each not in taken]
                parts = [
                    Part(said("draw", "name.step", n=k), "step", some, number=self._number(some[0]))
                    for k, some in enumerate(steps, 1)
                ]
                loop = said("draw", "name.loop")
                loops.append(Part(loop, "loop", parts, number=parts[0].number))
                continue
            for group in mine:  # those of one depth do not lead to each other
                columns = dict.fromkeys(map(self._column, group))
                groups += [[x for x in group if self._column(x) == column] for column in columns]
                group.clear()
        return loops

    def _column(self, unit: Part | int) -> int:
        return max(self._column_of[i] for i in inside(unit))

    def _steps(self, groups: list[list[Any]], used: Used) -> list[list[Any]]:
        # A step ends when the place that came first recurs with an operand computed in this step.
        place = {each: k for k, group in enumerate(groups) for each in group}
        steps: list[list[Any]] = [[]]
        made: set[Any] = set()  # in this step, at other places than the first
        for each in sorted(place, key=self._column):
            is_first = place[each] == place[(steps[0] or [each])[0]]
            if is_first and not made.isdisjoint(used[each]):
                steps, made = [*steps, []], set()
            made.update(() if is_first else (each,))
            steps[-1].append(each)
        return steps

    def _matched(self, steps: list[list[Any]], used: Used) -> list[list[Any]]:
        # The steps of a loop in a finished graph; [] if they differ. From the outputs of each step
        # and the one before, pairs of operands that correspond lead back to the first step, which
        # has another shape because it begins with leaves, and to all that a single step uses.
        before: dict[Any, Any] = {}
        different: list[tuple[Any, Any]] = []
        waiting = [pair for two in pairwise(steps[::-1]) for pair in zip(*two, strict=False)]
        while waiting:
            later, earlier = waiting.pop()
            kinds = [x.label if isinstance(x, Part) else self.nodes[x].op for x in (later, earlier)]
            if kinds[0] != kinds[1]:
                different.append((later, earlier))
            elif later != earlier and later in used and before.get(later) != earlier:
                if later in before:
                    return []
                before[later] = earlier
                waiting += zip(used[later], used[earlier], strict=False)
        found, after = {*before, *before.values()}, {x: later for later, x in before.items()}
        if any(later in before or earlier in found for later, earlier in different):
            return []
        matched = [[unit for unit in sorted(found, key=self._number) if unit not in before]]
        while some := [after[unit] for unit in matched[-1] if unit in after]:
            matched.append(sorted(some, key=self._number))
        sizes = [*map(len, matched)]
        # Nothing leads back to itself, and all but the last have as many units.
        is_one = len(found) == sum(sizes) and len({*sizes[:-1]}) == 1
        return matched if is_one and len(matched) > 2 else []

    # ---- 3. Leaves

    def _sink_leaves(self) -> None:
        # Leaves with one name, such as W[0][0] and W[0][1], are one member. Results stay in sight.
        used = dict.fromkeys(o for operands in self.operands for o in operands)
        groups: dict[Any, list[int]] = defaultdict(list)
        for leaf in (i for i in used if not (self.operands[i] or i in self.drawn.results)):
            groups[INDICES.sub("", self.nodes[leaf].label) or leaf].append(leaf)
        cards: dict[Any, list[int]] = defaultdict(list)  # by box, and by name or kind
        for name, leaves in groups.items():
            kind, is_named = self.nodes[leaves[0]].kind, isinstance(name, str)
            users = {self.box_of[i]: None for leaf in leaves for i in self.users[leaf]}
            inner, *others = ([*box.path()] for box in users)
            box, *around = [part for part in inner if all(part in other for other in others)]
            is_given = kind == "input" and self._notes[leaves[0]][2] <= 0  # not made by detach()
            if is_given or (kind == "constant" and is_named):
                box = self.root  # what the program is given is in sight
            elif box.kind == "vector" and (is_named or len(leaves) > ALONE):
                box = around[0]
            cards[box, name if is_named else "", kind] += leaves
        for (box, name, _), leaves in cards.items():
            is_small = box.level and not box.parts
            if len(leaves) <= (ALONE if not name else 1) or (name and is_small):
                box.members[:0] = leaves
            else:
                box.members.insert(0, self._leaves(name, leaves))

    def _leaves(self, name: str, leaves: list[int]) -> Part:
        leaves.sort(key=lambda i: [*map(int, re.findall(r"\d+", self.nodes[i].label))])
        short, kind = self.nodes[leaves[0]].short, self.nodes[leaves[0]].kind
        count = "" if name else said("draw", f"box.{kind}", n=len(leaves))
        part = Part(name or ("x" if kind == "input" else count), "leaves", leaves)
        part.about = count if kind == "input" else ""
        part.level = "layer" if name or kind != "constant" else ""
        labels = [self.nodes[i].label for i in leaves]
        if short != labels[0]:  # L0.n1.w2 of 'layers[0].neurons[1].w[2]'
            part.label = re.sub(r"[\d,]+$", "", short)
        indices = zip(*(re.findall(r"\[(\w+)\]", label) for label in labels), strict=False)
        counts = [len(set(each)) for each in indices]
        own = INDICES.search(labels[0])  # those of an array; the others are of lists of objects
        first = len(counts) - (own[0].count("[") if own else 0)
        if sizes := [n for k, n in enumerate(counts) if n > 1 or k >= first]:
            part.about = shape_text(sizes)
        return part

    # ---- 4. At most 25 members in a box

    def _cut(self, part: Part) -> None:
        leaves = [m for m in part.members if self._is_leaf(m)]  # they come first
        others = part.members[len(leaves) :]
        if len(leaves) > ALONE and others:
            leaves = self._together(leaves, others)
        steps = [m for m in others if isinstance(m, Part) and m.kind == "step"]
        if steps:
            names = self._names([m for m in steps[0].members if not self._is_leaf(m)])
            part.about = f"{said('draw', 'box.step', n=len(steps))} · {names}"
        if len(leaves) + len(others) > MOST and not part.is_paged:
            leaves, others = self._divided(leaves, MOST - PARTS), self._divided(others, PARTS)
        part.members = [*leaves, *others]
        if part.kind in ("call", "step", "part") and not part.about:
            part.about = self._names(others)

    def _names(self, members: list[Any]) -> str:
        # What is inside a box, in a few words.
        names = [m.label if isinstance(m, Part) else sign(self.nodes[m].op) for m in members]
        found = [*dict.fromkeys(NUMBER.sub("", name) for name in names)]
        is_long = len(found) > ALONE
        return ", ".join([*found[: ALONE - 1], "\N{HORIZONTAL ELLIPSIS}"] if is_long else found)

    def _together(self, leaves: list[Any], others: list[Any]) -> list[Any]:
        # Parameters that are used in the same boxes are one card, such as all weights of a layer.
        owner = {i: k for k, other in enumerate(others) for i in inside(other)}
        groups: dict[Any, list[Any]] = defaultdict(list)
        for leaf in leaves:
            nodes = inside(leaf)
            users = frozenset(owner.get(user) for i in nodes for user in self.users[i])
            is_one_of_many = self.nodes[nodes[0]].kind == "parameter"
            groups[users if is_one_of_many else leaf].append(leaf)
        found: list[Any] = []
        for some in groups.values():
            part = Part(said("draw", "name.parameters"), "leaves", some)
            part.about = said("draw", "box.in", n=len(inside(part)), groups=len(some))
            found += some if len(some) <= ALONE else [part]
        return found

    def _is_leaf(self, member: Part | int) -> bool:
        return member.kind == "leaves" if isinstance(member, Part) else not self.operands[member]

    def _divided(self, members: list[Any], most: int) -> list[Any]:
        # The members if there are few, else a few boxes of equal size.
        if len(members) <= most:
            return members
        cut = []
        is_loop = isinstance(members[0], Part) and members[0].kind == "step"
        n = CHAIN if is_loop else PARTS  # each step follows the last one
        for start, end in pairwise(len(members) * k // n for k in range(n + 1)):
            some = members[start:end]
            first, last = (m.label if isinstance(m, Part) else "" for m in (some[0], some[-1]))
            label = f"{first}\N{EN DASH}{last.rpartition(' ')[2]}" if first != last else first
            kind = "leaves" if self._is_leaf(some[0]) else "part"
            cut.append(Part(label or f"{start + 1}\N{EN DASH}{end}", kind, some))
        return cut

    # ---- 5. Views

    def at_level(self, level: int | str | None = None) -> Graph:
        """The view at a level, at a depth, or of the inside of a function; by default the first.

        At a level there is a card for each Value ('op'), 'neuron', 'layer' or 'array'.
        """
        if level == "op":
            return self.whole
        if level == "array":
            return with_arrays(self.whole)
        if level not in LEVELS:
            only = self.named(level) if isinstance(level, str) else None
            return self.view(self.opened(level), only)
        is_grouped = any(part.level == "neuron" for part in self.parts)
        closed = _closed_at(level) if is_grouped else ()
        return self.view({p for p in self.parts if p.level not in closed}, level=str(level))

    def opened(self, level: int | str | None = None) -> set[Part]:
        """The open boxes: of the first view, of a level or depth, or around and with a function.

        Raises:
            ValueError: no function of this name was called.
        """
        every = {part for part in self.parts if not part.is_paged}
        if level is None:
            return self.first_view()
        if isinstance(level, int):
            return {part for part in every if len([*part.path()]) <= level + 1}
        if level not in LEVELS:
            return {*self.named(level).path()} - {self.root}
        return {part for part in every if part.level not in _closed_at(level)}

    def first_view(self) -> set[Part]:
        """The boxes that are open at first: stacks of a few members that lead to each other.

        The layers of a network stand side by side; its calls for ten examples are one box.
        """
        opened = {*self.parts} if len(self.operands) <= MOST else set[Part]()
        while True:
            boxes = [p for p in self.parts if p.kind != "leaves" and p not in opened]
            shown = [p for p in boxes if p.parent is self.root or p.parent in opened]
            stacks = [part for part in shown if self._is_chain(part) or len(shown) == 1]
            if not stacks:
                return opened
            wider = {*opened, min(stacks, key=lambda part: len(part.members))}
            view = self.view(wider)
            if len(view.nodes) > MOST or max(columns(view).values()) >= WIDE:
                return opened
            opened = wider

    def _is_chain(self, part: Part) -> bool:
        # Whether it is a stack of a few boxes, and some member uses what another one computes; or
        # a layer of neurons that is not long.
        if part.kind not in ("stack", "loop") or len(part.members) > CHAIN:
            is_layer = part.kind == "call" and bool(part.level) and part.has_boxes
            return is_layer and not any(inner.kind == "part" for inner in part.parts)
        boxes = [inner for inner in part.parts if inner.kind != "leaves"]
        of = {i: k for k, inner in enumerate(boxes) for i in inside(inner)}
        return any(of.get(o, k) != k for i, k in of.items() for o in self.operands[i])

    def named(self, function: str) -> Part:
        """The first box with this name, a call rather than a stack of calls."""
        found = [part for part in self.parts if function in (part.label, part.called)]
        if not found:
            calls = dict.fromkeys(part.called for part in self.parts if part.called)
            known = ", ".join([*LEVELS, *calls])
            raise ValueError(
                f"level {function!r} is not a function that was called, nor another part of the "
                f"graph: expected a depth such as 1, or one of {known}"
            )
        return min(found, key=lambda part: part.kind != "call")

    @cached_property
    def states(self) -> dict[int, str]:
        """The names of what loops compute from their own last values: h₀, h₁, h₂, ... for h.

        The name of a state is that of its last value, or of the leaf with which it began.
        """
        found: dict[int, str] = {}
        for part in (self.root, *self.parts):
            steps = [sorted(inside(step)) for step in part.parts if step.kind == "step"]
            for p, node in enumerate(steps[0] if steps else ()):
                op = self.nodes[node].op
                same = [step[p] for step in steps if p < len(step)]
                chain = [i for i in same if self.nodes[i].op == op]
                begun = [
                    before
                    for i, j in zip(*steps[:2], strict=False)
                    for before, now in zip(self.operands[i], self.operands[j], strict=False)
                    if now == node
                ]
                if begun and len(chain) > 1 and begun[0] not in steps[0]:
                    name = self.nodes[chain[-1]].label or self.nodes[begun[0]].label
                    named = enumerate([begun[0], *chain] if name else ())
                    found |= {i: name + str(k).translate(LOWERED) for k, i in named}
        return found

    @cached_property
    def outputs(self) -> dict[Part, set[int]]:
        """The nodes inside each box that are used outside, or are results."""
        found: dict[Part, set[int]] = {part: set() for part in self.parts}
        used = [(o, self.box_of[i]) for o, users in enumerate(self.users) for i in users]
        for o, box in [*used, *((result, self.root) for result in self.drawn.results)]:
            if box is not self.box_of[o]:
                for part in {*self.box_of[o].path()}.difference(box.path()):
                    found[part].add(o)
        return found

    def view(
        self, opened: Collection[Part], only: Part | None = None, level: str = "calls"
    ) -> Graph:
        """The graph with one card for each box that is not open, and a frame around each open one.

        Args:
            opened: the open boxes; what is inside a closed one does not count.
            only: an open box: only its inside is shown, and what leads there.
            level: 'neuron' for neurons that show their outputs and weights.
        """
        shown, closed = [self.root], list[Part]()
        for part in shown:
            for inner in part.parts:
                (shown if inner in opened else closed).append(inner)
        drawn = folded(self.drawn, [self._card(part, level) for part in closed])
        nodes = [self._with_frame(n) if n.number < len(self.operands) else n for n in drawn.nodes]
        frames = [self._card(part) for part in shown[1:] if level == "calls"]
        results = drawn.results
        if only:
            box = self._number_of(only)
            mine = {node.number for node in nodes if node.parent == box}
            used = {operand for node in nodes if node.number in mine for operand in node.operands}
            nodes = [node for node in nodes if node.number in mine | used]
            nodes = [n if n.number in mine else n._replace(operands=()) for n in nodes]
            frames = [frame._replace(parent=-1) for frame in frames if frame.number == box]
            results = tuple(node.number for node in nodes if node.number not in used)
        around = {frame.number for frame in frames}
        placed = tuple(n if n.parent in around else n._replace(parent=-1) for n in nodes)
        return replace(drawn, nodes=placed, results=results, level=level, frames=tuple(frames))

    def _with_frame(self, node: Box) -> Box:
        short = node.short or self.label_of.get(node.number, "")
        parent = self._number_of(self.box_of[node.number])
        return node._replace(short=short, label=node.label or short, parent=parent)

    def _number_of(self, part: Part | None) -> int:
        return -1 if part in (None, self.root) else len(self.operands) + part.index

    def _card(self, part: Part, level: str = "calls") -> Box:
        nodes, used = sorted(inside(part)), self.outputs[part]
        order = inside(part) if part.kind == "leaves" else sorted(used)
        outputs = [self.nodes[i] for i in order if i in used]
        is_result = not used.isdisjoint(self.drawn.results)
        kind = self.nodes[nodes[0]].kind if part.kind == "leaves" else "operation"
        box = Box(
            number=self._number_of(part),
            label=part.place if isinstance(part.place, str) else part.label,
            short=part.label,
            kind="result" if is_result else kind,
            level="call",
            data=tuple(node.data for node in outputs),
            grad=tuple(node.grad for node in outputs),
            nodes=tuple(nodes),
            parent=self._number_of(part.parent),
            details=tuple(filter(None, part.about.split(" · "))),
        )
        if not (neuron := part.neuron) or level != "neuron":
            return box
        output = self.nodes[nodes[-1]]
        inputs = (self.twins.get(i, i) for i in (self.place[x] for x in neuron.inputs))
        pairs = zip(inputs, neuron.weights, strict=True)
        shown = [(i, w.data) for i, w in pairs if i not in nodes]  # plain numbers may be in the box
        return box._replace(
            label=output.label or WEIGHTS.sub("", neuron.row),
            short=output.short or part.called,
            level="neuron",
            op=neuron.activation,
            operands=tuple(name for name, _ in shown),
            data=output.data,
            grad=output.grad,
            weights=tuple(weight for _, weight in shown),
            details=(),
        )


def _closed_at(level: object) -> Sequence[str]:
    return LEVELS[1 : LEVELS.index(str(level)) + 1]


def _box_of(call: Call) -> Part:
    about = ", ".join(f"{x}={number(given)}" for x, given in call.arguments.items())
    return Part(call.name, "call", [], call.place, call.number, about, call=call)


def inside(member: Part | int) -> list[int]:
    """The indices of all nodes in a member of a box; of a node, its own."""
    members = [member]
    for each in members:
        members += each.members if isinstance(each, Part) else ()
    return [each for each in members if not isinstance(each, Part)]


def circles(before: Sequence[Iterable[int]]) -> list[list[int]]:
    """The groups of several nodes that lead to each other in a circle; `before` leads to each."""
    reached, last = [0] * len(before), [-1]  # from each node backwards, as bits
    while reached != last:
        last = [*reached]
        for k, nodes in enumerate(before):
            for o in nodes:
                reached[k] |= 1 << o | reached[o]
    groups: dict[int, list[int]] = defaultdict(list)
    for k, bits in enumerate(reached):
        if bits >> k & 1:  # those of one circle reach the same nodes
            groups[bits].append(k)
    return [group for group in groups.values() if len(group) > 1]
