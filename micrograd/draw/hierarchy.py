"""The boxes of a graph: one for each call of a function that `calls` watched, nested as they ran.

A graph that was not watched has boxes for its neurons and layers, as far as it tells (see
`parts.py`). What comes from one place in the source is a stack: the calls of one layer for ten
examples, or the 16 products of one vector. Stacks that lead to each other in a circle, such as
position and speed in a simulation, are a loop, with a box for each step. A box with a single member
is replaced by this member. Leaves are in the innermost box that alone uses them.

    >>> from micrograd.draw.calls import calls
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

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from micrograd.draw.calls import Call, is_called, noted, roles, written_as
from micrograd.draw.formulas import TIMES, counted, sign
from micrograd.draw.parts import Made, parts_of
from micrograd.draw.records import Box, Graph, folded

MOST = 25  # members of a box, and cards of the first view
MANY = 20  # operations that are no iteration
SMALL = 16  # operations of a neuron that are drawn one by one
ALONE = 4  # leaves without names are drawn one by one if there are at most this many
PARTS = 10
CHAIN = 6  # members of a stack that is open at first
WIDE = 8  # cards in a row that fit into a window
LEVELS = ("op", "neuron", "layer")
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
INDICES = re.compile(r"(\[\w+\])+$")


@dataclass(eq=False)
class Part:
    """A box: its members are indices of nodes, in topological order of the graph, and other boxes.

    Attributes:
        kind: 'call', 'stack', 'loop', 'step', 'vector' (operations from one place), 'leaves' (such
            as a matrix of parameters) or 'part' (of a box with too many members).
        place: where it comes from in the source.
        number: its place in the order of execution.
        nodes: the indices of its operations, while boxes are made.
        parent: the box around it; None for the whole graph.
        index: its place in `Hierarchy.parts`, each after the box around it; -1 for the whole graph.
    """

    label: str
    kind: str
    members: list[Any] = field(default_factory=list)
    place: Any = None
    number: int = 0
    call: Call | Made | None = None
    about: str = ""
    nodes: list[int] = field(default_factory=list)
    parent: Part | None = None
    index: int = -1

    @property
    def name(self) -> str:
        """What its record is called; '' for the whole graph."""
        return f"b{self.index}" if self.parent else ""

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

    def inside(self) -> list[int]:
        """The indices of all nodes inside."""
        found: list[int] = []
        waiting = [self]
        for part in waiting:
            waiting += part.parts
            found += [member for member in part.members if not isinstance(member, Part)]
        return sorted(found)

    def path(self) -> Iterator[Part]:
        """It, the box around it, and so on, up to the whole graph."""
        part: Part | None = self
        while part:
            yield part
            part = part.parent


class Hierarchy:
    """The tree of boxes of a graph.

    Attributes:
        root: the whole graph, as a box.
        parts: the other boxes, each after the box around it.
        box_of: for each node, its innermost box.
        label_of: what inputs without a name are called.

    Args:
        drawn: the graph at level 'op'.
        by_calls: whether boxes are calls, if the program was watched.
    """

    def __init__(self, drawn: Graph, by_calls: bool = True) -> None:
        self.drawn = drawn
        self.results = [int(result[1:]) for result in drawn.results]
        self.place = place = {value: i for i, value in enumerate(drawn.values)}
        self.operands = [tuple([place[o] for o in value._prev]) for value in drawn.values]
        self.is_called = by_calls and is_called(drawn.values)
        if self.is_called:
            self.root = self._arranged([noted(value) for value in drawn.values])
        else:
            results = [drawn.values[i] for i in self.results]
            self.root = self._arranged(parts_of(drawn.values, results, drawn.named))
            if len(self.root.members) > MANY:  # perhaps an iteration
                again = self._arranged(parts_of(drawn.values, results, drawn.named, depth=2))
                if any(part.kind == "loop" for part in again.parts):
                    self.root = again
        self.parts: list[Part] = []
        self.box_of = [self.root] * len(drawn.values)
        self._number_parts()
        self._sink_leaves()
        self._cut_all()
        self._number_parts()
        unnamed = [i for i, n in enumerate(drawn.nodes) if n.kind == "input" and not n.label]
        x = "x" if len(unnamed) == 1 else "x{}"
        self.label_of = {i: x.format(str(k).translate(LOWERED)) for k, i in enumerate(unnamed, 1)}

    def _number_parts(self) -> None:
        # Numbers the boxes, and notes what is around each box and node.
        self.parts.clear()
        waiting = [self.root]
        for part in waiting:
            for member in part.members:
                if isinstance(member, Part):
                    member.parent, member.index = part, len(self.parts)
                    self.parts.append(member)
                    waiting.append(member)
                else:
                    self.box_of[member] = part

    # ---- 1. Boxes for calls

    def _arranged(self, notes: Sequence[Any]) -> Part:
        # The whole graph; `notes` has the call, the place and the number of each node.
        self._notes = notes
        root = Part("", "root")
        part_of: dict[Call | Made | None, Part] = {None: root}
        order = [root]
        for i, operands in enumerate(self.operands):
            if not operands:
                continue
            call: Any = notes[i][0]
            new = []
            while call not in part_of:
                new.append(call)
                call = call.parent
            part = part_of[call]
            for call in reversed(new):
                about = getattr(call, "about", "")
                inner = Part(call.name, "call", [], call.place, call.number, call, about)
                part_of[call] = inner
                order.append(inner)
                part.members.append(inner)
                part = inner
            part.members.append(i)
        for part in reversed(order):
            self._collect(part)
        waiting = [root]
        while waiting:
            part = waiting.pop()
            if part is not root or self.is_called:
                self._unwrap(part)
            part.members.sort(key=self._number)
            if not (isinstance(part.call, Made) and len(part.nodes) <= SMALL):
                self._stack(part)
            if len(part.members) > 1:
                self._find_loops(part)
            if len(part.members) == 1 and part.parts and (part is not root or self.is_called):
                (only,) = part.parts
                part.about = part.about or only.about
                part.members = only.members
            for member in part.parts:
                waiting += member.parts if member.kind in ("stack", "loop") else [member]
        return root

    def _number(self, member: Any) -> int:
        return member.number if isinstance(member, Part) else self._notes[member][2]

    def _collect(self, part: Part) -> Part:
        part.nodes = [i for member in part.members for i in _inside(member)]
        return part

    def _unwrap(self, part: Part) -> None:
        while len(part.members) == 1 and part.parts:
            (only,) = part.parts
            if part.kind == "step" or (only.call and only.label != only.call.kind):
                part.label = only.label
            part.members, part.call = only.members, only.call

    # ---- 2. Stacks and loops

    def _stack(self, part: Part) -> None:
        by_place: dict[Any, list[Any]] = defaultdict(list)
        for member in part.members:
            key = self._place(member) or id(member)
            # the hash of code is slow
            by_place[(id(key[0]), key[1]) if isinstance(key, tuple) else key].append(member)
        part.members = [
            self._stacked(members) if len(members) > 1 else members[0]
            for members in by_place.values()
        ]

    def _place(self, member: Any) -> Any:
        return member.place if isinstance(member, Part) else self._notes[member][1]

    def _stacked(self, members: list[Any]) -> Part:
        n, (first, *_) = len(members), members
        stack = Part("", "stack", members, self._place(first), self._number(first))
        self._collect(stack)
        parts = stack.parts
        if len(parts) < n:
            stack.kind = "vector"
            self._name_vector(stack, [i for i in members if not isinstance(i, Part)])
            return stack
        labels = dict.fromkeys(part.label for part in parts)
        kinds = dict.fromkeys(part.call.kind for part in parts if part.call)
        alike = next((names for names in (labels, kinds) if len(names) == 1), None)
        stack.label = ", ".join(alike or [*kinds][:3] or [*labels][:3])
        stack.about = f"{n:,} {TIMES} {stack.label}" if alike else counted(n, "call")
        if not self.is_called:
            stack.about = " · ".join(filter(None, [parts[0].about, counted(n, "example")]))
        in_model = [next(roles(part.call), "") if part.call else "" for part in parts]
        distinct = all(in_model) and len(set(in_model)) == n
        for k, part in enumerate(parts):
            part.label = in_model[k] if distinct else f"{part.label} {k + 1}"
        return stack

    def _name_vector(self, vector: Part, members: list[int]) -> None:
        ops = Counter(self.drawn.nodes[i].op for i in members)
        [(op, _), *others] = ops.most_common(2)
        inside = set(members)
        used = {o for i in members for o in self.operands[i] if o in inside}
        vector.label = sign(op)
        if others and isinstance(vector.place, tuple):
            vector.label = written_as(*vector.place) or vector.label
        elif used and op == "+":
            vector.label = "sum"
        outputs = len(members) - len(used)
        vector.about = f"vector of {outputs:,}" if outputs > 1 else f"of {len(members) + 1:,}"
        if outputs == 1 and others:
            vector.about = counted(len(members), "operation")

    def _find_loops(self, part: Part) -> None:
        # Members that lead to each other in a circle become one; operands come first.
        if not any(map(_is_stack, part.members)):
            return
        owner = {i: k for k, member in enumerate(part.members) for i in _inside(member)}
        before: list[set[int]] = [set() for _ in part.members]
        for i, k in owner.items():
            before[k].update(owner[o] for o in self.operands[i] if o in owner)
        groups = circles(before)
        loops = {k: n for n, group in enumerate(groups) if len(group) > 1 for k in group}
        # A stack that only a loop uses is computed in the steps of the loop.
        used_in: list[set[int]] = [set() for _ in part.members]
        for group in reversed(groups):
            for k in group:
                (loop, *others) = {loops.get(user, -1) for user in used_in[k]} or {-1}
                if len(group) == 1 and not others and loop >= 0 and _is_stack(part.members[k]):
                    loops[k] = loop
                for o in before[k]:
                    used_in[o].add(k)
        found: list[Any] = []
        for n, group in enumerate(groups):
            if len(group) > 1:
                absorbed = [k for k, loop in loops.items() if loop == n and k not in group]
                parts = [[part.members[k] for k in some] for some in (group, absorbed)]
                made = self._loop(*parts)
                found += [made] if made else [*parts[1], *parts[0]]
            elif group[0] not in loops:
                found.append(part.members[group[0]])
        part.members = found

    def _loop(self, members: list[Any], absorbed: list[Any]) -> Part | None:
        # A step ends when the place that came first recurs with an operand computed in this step.
        flat: list[tuple[int, int, Any]] = []  # number, which of the members or -1, what
        for k, member in [*enumerate(members), *((-1, each) for each in absorbed)]:
            for each in member.members if _is_stack(member) else [member]:
                flat.append((self._number(each), k, each))
        flat.sort(key=lambda each: each[0])
        first = next(k for _, k, _ in flat if k >= 0)
        steps = [Part("step 1", "step", number=flat[0][0])]
        made: set[int] = set()  # in this step, at other places than the first
        before: list[Any] = []  # members of the next step if this one ends
        for number, k, member in flat:
            if k < 0:
                before.append(member)
                continue
            inside = _inside(member)
            if k == first and any(o in made for i in inside for o in self.operands[i]):
                steps.append(Part(f"step {len(steps) + 1}", "step", number=number))
                made = set()
            if k != first:
                made.update(inside)
            steps[-1].members += [*before, member]
            before = []
        steps[-1].members += before
        if len(steps) == 1:
            return None
        steps = [self._collect(step) for step in steps]
        about = counted(len(steps), "step")
        return self._collect(Part("loop", "loop", steps, number=steps[0].number, about=about))

    # ---- 3. Leaves

    def _sink_leaves(self) -> None:
        # Leaves with one name, such as W[0][0] and W[0][1], are one member. Results stay in sight.
        users: dict[int, dict[Part, None]] = defaultdict(dict)
        for i, operands in enumerate(self.operands):
            for o in operands:
                if not self.operands[o] and o not in self.results:
                    users[o][self.box_of[i]] = None
        groups: dict[str, list[int]] = defaultdict(list)
        for leaf in users:
            groups[INDICES.sub("", self.drawn.nodes[leaf].label) or f"#{leaf}"].append(leaf)
        loose: dict[tuple[Part, str], list[int]] = defaultdict(list)
        for name, leaves in groups.items():
            kind = self.drawn.nodes[leaves[0]].kind
            box, *around = _common({part: None for leaf in leaves for part in users[leaf]})
            is_new = self._notes[leaves[0]][2] > 0  # such as the result of detach()
            if kind == "input" and not is_new:
                box = self.root  # what the program is given is in sight
            if box.kind == "vector" and (len(leaves) > ALONE or not name.startswith("#")):
                box = around[0]
            if name.startswith("#"):
                loose[box, kind] += leaves
            else:
                self._add_leaves(box, name, leaves)
        for (box, kind), leaves in loose.items():
            if len(leaves) > ALONE:
                self._add_leaves(box, counted(len(leaves), kind), leaves)
            else:
                box.members[:0] = leaves

    def _add_leaves(self, box: Part, label: str, leaves: list[int]) -> None:
        is_small = isinstance(box.call, Made) and len(box.nodes) <= SMALL and not box.parts
        if len(leaves) == 1 or is_small:
            box.members[:0] = leaves
            return
        part = Part(label, "leaves", sorted(leaves))
        short = self.drawn.nodes[leaves[0]].short
        labels = [self.drawn.nodes[i].label for i in leaves]
        if short != labels[0]:  # L0.n1.w2 of 'layers[0].neurons[1].w[2]'
            part.label = re.sub(r"[\d,]+$", "", short)
        indices = zip(*(re.findall(r"\[(\w+)\]", label) for label in labels), strict=False)
        counts = [len(set(each)) for each in indices]
        if sizes := f" {TIMES} ".join(f"{n:,}" for n in counts if n > 1):
            part.about = f"({sizes})"
        box.members.insert(0, part)

    # ---- 4. At most 25 members in a box

    def _cut_all(self) -> None:
        waiting = [self.root]
        for part in waiting:
            leaves = [m for m in part.members if self._is_leaf(m)]  # they come first
            others = part.members[len(leaves) :]
            if part.kind == "vector" and not any(isinstance(m, Part) for m in others):
                others = self._sums(part.label, others)
            if len(leaves) + len(others) > MOST and not part.is_paged:
                leaves, others = self._cut(leaves, MOST - PARTS), self._cut(others, PARTS)
            part.members = [*leaves, *others]
            waiting += part.parts

    def _sums(self, label: str, ops: list[int]) -> list[Any]:
        # The operations of a vector, or if it is one of sums, a box for each of these.
        inside = set(ops)
        output_of: dict[int, int] = {}
        for i in sorted(ops, reverse=True):
            output = output_of.setdefault(i, i)
            output_of.update((o, output) for o in self.operands[i] if o in inside)
        sums: dict[int, list[int]] = defaultdict(list)
        for i in ops:
            sums[output_of[i]].append(i)
        if not 1 < len(sums) < len(ops):
            return ops
        return [Part(f"{label} {k}", "vector", some) for k, some in enumerate(sums.values(), 1)]

    def _is_leaf(self, member: Any) -> bool:
        return member.kind == "leaves" if isinstance(member, Part) else not self.operands[member]

    def _cut(self, members: list[Any], most: int) -> list[Any]:
        if len(members) <= most:
            return members
        cut = []
        are_steps = isinstance(members[0], Part) and members[0].kind == "step"
        parts = CHAIN if are_steps else PARTS  # each step follows the last one
        for k in range(parts):
            start, end = (len(members) * j // parts for j in (k, k + 1))
            some = members[start:end]
            first, last = (m.label if isinstance(m, Part) else "" for m in (some[0], some[-1]))
            label = f"{start + 1} to {end}"
            if first and last:
                label = f"{first} to {last.rpartition(' ')[2]}" if first != last else first
            kind = "leaves" if self._is_leaf(some[0]) else "part"
            ops = Counter(self.drawn.nodes[m].op for m in some if not isinstance(m, Part))
            about = ", ".join(f"{n:,} {sign(op)}" for op, n in ops.most_common(3) if op)
            cut.append(Part(label, kind, some, about=about))
        return cut

    # ---- 5. Views

    def at_level(self, level: int | str | None = None) -> Graph:
        """The view at a level, at a depth, or of the inside of a function; by default the first.

        At level 'neuron' there is a card for each neuron, at level 'layer' one for each layer.
        """
        opened = self.opened(level)
        if level in LEVELS:
            if not any(self._is_unit(part, "neuron") for part in self.parts):
                return replace(self.drawn, level=str(level))
            opened.update(
                part for part in self.parts if part.is_paged and not self._is_unit(part, level)
            )
            return replace(self.view(opened, level=str(level)), frames=())
        return self.view(opened, self.named(level) if isinstance(level, str) else None)

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
        if self.is_called:
            return {part for part in every if level == "op" or part.has_boxes}
        return {part for part in every if not self._is_unit(part, level)}

    def _is_unit(self, part: Part, level: Any) -> bool:
        # Whether it is a single card at this level: a call of a neuron; or a layer with all its
        # calls, or leaves that are no constants.
        if level == "neuron":
            return part.kind == "call" and isinstance(part.call, Made) and bool(part.call.neuron)
        if part.kind == "leaves":
            return level == "layer" and self.drawn.nodes[part.inside()[0]].kind != "constant"
        calls = [inner.call for inner in ([part] if part.kind == "call" else part.parts)]
        made = any(isinstance(call, Made) and call.level != "loss" for call in calls)
        return level == "layer" and part.kind in ("call", "stack") and made

    @property
    def has_examples(self) -> bool:
        """Whether a layer was called for several examples."""
        return any(part.kind == "stack" and self._is_unit(part, "layer") for part in self.parts)

    def first_view(self) -> set[Part]:
        """The boxes that are open at first: stacks of a few members that lead to each other.

        The layers of a network stand side by side; its calls for ten examples are one box.
        """
        if len(self.operands) <= MOST:
            return {*self.parts}
        opened: set[Part] = set()
        while True:
            around = {self.root, *opened}
            shown = [part for part in self.parts if part.parent in around and part not in opened]
            boxes = [part for part in shown if part.kind != "leaves"]
            stacks = [part for part in boxes if self._is_chain(part) or len(boxes) == 1]
            if not stacks:
                return opened
            least = min(stacks, key=lambda part: len(part.members))
            view = self.view({*opened, least})
            if len(view.nodes) > MOST or columns(view) > WIDE:
                return opened
            opened.add(least)

    def _is_chain(self, part: Part) -> bool:
        # Whether it is a stack of a few boxes, and some member uses what another one computes; or
        # a layer of neurons.
        if part.kind == "call" and isinstance(part.call, Made):
            return part.has_boxes
        if part.kind not in ("stack", "loop") or len(part.members) > CHAIN:
            return False
        boxes = [inner for inner in part.parts if inner.kind != "leaves"]
        of = {i: k for k, inner in enumerate(boxes) for i in inner.inside()}
        return any(of.get(o, k) != k for i, k in of.items() for o in self.operands[i])

    def named(self, function: str) -> Part:
        """The first box with this name, a call rather than a stack of calls."""
        found = [
            part
            for part in self.parts
            if part.label == function or (part.call and part.call.name == function)
        ]
        if not found:
            names = dict.fromkeys(part.call.name for part in self.parts if part.call)
            known = ", ".join([*LEVELS, "array", *names])
            raise ValueError(
                f"level {function!r} is not a function that was called, nor another part of the "
                f"graph: expected a depth such as 1, or one of {known}"
            )
        return min(found, key=lambda part: part.kind != "call")

    @cached_property
    def outputs(self) -> dict[Part, dict[int, None]]:
        """The nodes inside each box that are used outside, or are results."""
        found: dict[Part, dict[int, None]] = {part: {} for part in self.parts}
        around = {part: [*part.path()] for part in {*self.box_of}}
        for box, operands in zip(self.box_of, self.operands, strict=True):
            for o in operands:
                if self.box_of[o] is not box:
                    for part in around[self.box_of[o]]:
                        if part in around[box]:
                            break
                        found[part][o] = None
        for result in self.results:
            for part in around[self.box_of[result]][:-1]:
                found[part][result] = None
        return found

    def view(
        self, opened: Collection[Part], only: Part | None = None, level: str = "calls"
    ) -> Graph:
        """The graph with one card for each box that is not open, and a frame around each open one.

        Args:
            opened: the open boxes; what is inside a closed one does not count.
            only: an open box: only its inside is shown, and what leads there.
            level: of the cards: at level 'neuron', a neuron shows its output and its weights.
        """
        shown, closed = [self.root], list[Part]()
        for part in shown:
            for inner in part.parts:
                (shown if inner in opened else closed).append(inner)
        drawn = folded(self.drawn, [self._card(part, level) for part in closed])
        nodes = [node if node.level != "op" else self._with_frame(node) for node in drawn.nodes]
        frames = [self._card(part) for part in shown[1:]]
        results: Iterable[str] = drawn.results
        if only:
            inside = {node.name: node for node in nodes if node.parent == only.name}
            users = {operand for node in inside.values() for operand in node.operands}
            nodes = [
                node if node.name in inside else node._replace(operands=())
                for node in nodes
                if node.name in inside or node.name in users
            ]
            frames = [frame._replace(parent="") for frame in frames if frame.name == only.name]
            results = dict.fromkeys(node.name for node in nodes if node.name not in users)
        return replace(
            drawn, nodes=tuple(nodes), results=tuple(results), level=level, frames=tuple(frames)
        )

    def _with_frame(self, node: Box) -> Box:
        i = int(node.name[1:])
        short = node.short or self.label_of.get(i, "")
        return node._replace(short=short, label=node.label or short, parent=self.box_of[i].name)

    def _card(self, part: Part, level: str = "calls") -> Box:
        inside = part.inside()
        nodes = tuple([f"v{i}" for i in inside])
        around = part.parent.name if part.parent else ""
        if level == "neuron" and isinstance(part.call, Made) and (neuron := part.call.neuron):
            output = self.drawn.nodes[inside[-1]]
            return output._replace(
                name=part.name,
                label=output.label or part.call.place,
                short=output.short or part.call.name,
                level="neuron",
                op=neuron.activation,
                operands=tuple(f"v{self.place[x]}" for x in neuron.inputs),
                weights=tuple(w.data for w in neuron.weights),
                nodes=nodes,
                parent=around,
            )
        outputs = [self.drawn.nodes[i] for i in sorted(self.outputs[part])]
        is_result = not self.outputs[part].keys().isdisjoint(self.results)
        kind = self.drawn.nodes[inside[0]].kind if part.kind == "leaves" else "operation"
        return Box(
            name=part.name,
            label=part.place if isinstance(part.place, str) else part.label,
            short=part.label,
            kind="result" if is_result else kind,
            level="call",
            data=tuple(node.data for node in outputs),
            grad=tuple(node.grad for node in outputs),
            nodes=nodes,
            parent=around,
            details=tuple(filter(None, part.about.split(" · "))),
        )


def _inside(member: Any) -> list[int]:
    return member.nodes if isinstance(member, Part) else [member]


def _is_stack(member: Any) -> bool:
    return isinstance(member, Part) and member.kind in ("stack", "vector")


def _common(parts: Iterable[Part]) -> list[Part]:
    # The boxes around all of these, the innermost first.
    first, *others = ([*part.path()] for part in parts)
    for path in others:
        around = {*path}
        first = [part for part in first if part in around]
    return first


def columns(view: Graph) -> int:
    """How many cards follow one another."""
    column: dict[str, int] = {}
    for box in view.nodes:
        column[box.name] = 1 + max((column.get(o, 0) for o in box.operands), default=0)
    return max(column.values())


def circles(before: Sequence[Iterable[int]]) -> list[list[int]]:
    """The groups of nodes that lead to each other in a circle, each after what leads to it.

    Args:
        before: for each node, the nodes that lead to it.

    Source: Tarjan, "Depth-first search and linear graph algorithms", 1972.

    >>> circles([[], [0, 2], [1], [2]])
    [[0], [1, 2], [3]]
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    groups: list[list[int]] = []
    stack: list[int] = []
    done: set[int] = set()
    for start in range(len(before)):
        path = [(start, iter(before[start]))] if start not in index else []
        while path:
            node, rest = path[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
            for other in rest:
                if other not in index:
                    path.append((other, iter(before[other])))
                    break
                if other not in done:
                    low[node] = min(low[node], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    group = [stack.pop()]
                    while group[-1] != node:
                        group.append(stack.pop())
                    done.update(group)
                    groups.append(sorted(group))
    return groups
