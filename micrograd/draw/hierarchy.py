"""The boxes of a graph whose program was watched by `calls`: one for each call, nested as they ran.

What comes from one place in the source is a stack: the calls of one layer for ten examples, or the
16 products of one vector. Stacks that lead to each other in a circle, such as position and speed in
a simulation, are a loop, with a box for each step. A box with a single member is replaced by this
member. Leaves are in the innermost box that alone uses them.

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
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from micrograd.draw.calls import Call, is_called, noted, roles, written_as
from micrograd.draw.formulas import counted, sign
from micrograd.draw.modules import Made, parts_of
from micrograd.draw.records import Box, Graph

MOST = 25  # members of a box, and cards of the first view
MANY = 20  # operations that are no iteration
SMALL = 16  # operations of a neuron that are drawn one by one
ALONE = 4  # leaves without names are drawn one by one if there are at most this many
PARTS = 10
LARGEST = 400  # cards that a level may open
CHAIN = 6  # members of a stack that is open at first
WIDE = 8  # cards in a row that fit into a window
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
        nodes: the indices of all nodes inside.
        parent: index of the box around it in `Hierarchy.parts`, or -1.
    """

    label: str
    kind: str
    members: list[Any] = field(default_factory=list)
    place: Any = None
    number: int = 0
    call: Call | Made | None = None
    nodes: list[int] = field(default_factory=list)
    parent: int = -1
    about: str = ""

    @property
    def is_paged(self) -> bool:
        """Whether it is shown member by member, because it has too many of them."""
        return self.kind in ("stack", "loop") and len(self.members) > MOST


class Hierarchy:
    """The tree of boxes of a graph.

    Attributes:
        parts: the boxes, each after the box around it.
        box_of: for each node, the index of its innermost box, or -1.
        label_of: what inputs without a name are called.

    Args:
        drawn: the graph at level 'op'.
    """

    def __init__(self, drawn: Graph) -> None:
        self.drawn = drawn
        place = {value: i for i, value in enumerate(drawn.values)}
        self.operands = [[place[o] for o in value._prev] for value in drawn.values]
        self._notes: list[Any] = [noted(value) for value in drawn.values]
        labels: dict[int, str] = {}
        self.is_called = is_called(drawn.values)
        if not self.is_called:
            self._notes, labels = parts_of(drawn.values, drawn.named)
        self._root = self._arranged()
        if not self.is_called and len(self._root.members) > MANY:  # perhaps an iteration
            exact = self._root, self._notes
            self._notes = parts_of(drawn.values, drawn.named, depth=2).notes
            if not any(isinstance(m, Part) and m.kind == "loop" for m in self._arranged().members):
                self._root, self._notes = exact
        self._sink_leaves()
        inputs = [i for i, node in enumerate(drawn.nodes) if node.kind == "input"]
        unnamed = [i for i in inputs if not drawn.nodes[i].label]
        x = "x" if len(unnamed) == 1 else "x{}"
        self.label_of = {i: x.format(str(k).translate(LOWERED)) for k, i in enumerate(unnamed, 1)}
        self.label_of |= {i: name for i, name in labels.items() if not drawn.nodes[i].label}
        self.parts: list[Part] = []
        self.box_of = [-1] * len(drawn.values)
        self._finish()

    # ---- 1. Boxes for calls

    def _arranged(self) -> Part:
        self._root = Part("", "root")
        self._add_calls()
        self._arrange()
        return self._root

    def _add_calls(self) -> None:
        part_of: dict[Call | Made | None, Part] = {None: self._root}
        for i, operands in enumerate(self.operands):
            if not operands:
                continue
            call: Any = self._notes[i][0]
            new = []
            while call not in part_of:
                new.append(call)
                call = call.parent
            part = part_of[call]
            for call in reversed(new):
                inner = Part(call.name, "call", [], call.place, call.number, call)
                inner.about = getattr(call, "about", "")
                part_of[call] = inner
                part.members.append(inner)
                part = inner
            part.members.append(i)

    def _number(self, member: Any) -> int:
        return member.number if isinstance(member, Part) else self._notes[member][2]

    # ---- 2. Stacks and loops

    def _arrange(self) -> None:
        order = [self._root]
        for part in order:
            order += [m for m in part.members if isinstance(m, Part)]
        for part in reversed(order):
            self._collect(part)
        waiting = [self._root]
        while waiting:
            part = waiting.pop()
            self._unwrap(part)
            part.members.sort(key=self._number)
            if not (isinstance(part.call, Made) and len(part.nodes) <= SMALL):
                self._stack(part)
            if len(part.members) > 1:
                self._find_loops(part)
            if len(part.members) == 1 and isinstance(part.members[0], Part):
                (only,) = part.members
                part.about = part.about or only.about
                part.members = only.members
            for member in part.members:
                if isinstance(member, Part):
                    is_group = member.kind in ("stack", "loop")
                    waiting += member.members if is_group else [member]

    def _collect(self, part: Part) -> None:
        part.nodes = []
        for member in part.members:
            part.nodes += member.nodes if isinstance(member, Part) else [member]

    def _unwrap(self, part: Part) -> None:
        while len(part.members) == 1 and isinstance(part.members[0], Part):
            (only,) = part.members
            if part.kind == "step" or (only.call and only.label != only.call.kind):
                part.label = only.label
            part.members, part.call = only.members, only.call

    def _stack(self, part: Part) -> None:
        by_place: dict[Any, list[Any]] = defaultdict(list)
        for member in part.members:
            where = member.place if isinstance(member, Part) else self._notes[member][1]
            by_place[where or id(member)].append(member)
        part.members = [
            self._stacked(where, members) if len(members) > 1 else members[0]
            for where, members in by_place.items()
        ]

    def _stacked(self, where: Any, members: list[Any]) -> Part:
        parts = [m for m in members if isinstance(m, Part)]
        n = len(members)
        stack = Part("", "stack", members, where, self._number(members[0]))
        if len(parts) == n:
            labels = dict.fromkeys(part.label for part in parts)
            kinds = dict.fromkeys(part.call.kind for part in parts if part.call)
            alike = next((names for names in (labels, kinds) if len(names) == 1), None)
            stack.label = ", ".join(alike or [*kinds][:3] or [*labels][:3])
            stack.about = f"{n:,} {TIMES} {stack.label}" if alike else counted(n, "call")
            if not self.is_called:
                stack.about = counted(n, "example")
            in_model = [next(roles(part.call), "") if part.call else "" for part in parts]
            distinct = all(in_model) and len(set(in_model)) == n
            for k, part in enumerate(parts):
                part.label = in_model[k] if distinct else f"{part.label} {k + 1}"
        else:
            stack.kind = "vector"
            self._name_vector(stack, [i for i in members if not isinstance(i, Part)])
        self._collect(stack)
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
        owner: dict[int, int] = {}
        for k, member in enumerate(part.members):
            owner.update(dict.fromkeys(member.nodes if isinstance(member, Part) else [member], k))
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
        steps = [Part("", "step", number=flat[0][0])]
        made: set[int] = set()  # in this step, at other places than the first
        before: list[Any] = []  # members of the next step if this one ends
        for number, k, member in flat:
            if k < 0:
                before.append(member)
                continue
            inside = member.nodes if isinstance(member, Part) else [member]
            if k == first and any(o in made for i in inside for o in self.operands[i]):
                steps.append(Part("", "step", number=number))
                made = set()
            if k != first:
                made.update(inside)
            steps[-1].members += [*before, member]
            before = []
        steps[-1].members += before
        if len(steps) == 1:
            return None
        for n, step in enumerate(steps, 1):
            step.label = f"step {n}"
            self._collect(step)
        loop = Part("loop", "loop", steps, number=steps[0].number)
        loop.about = counted(len(steps), "step")
        self._collect(loop)
        return loop

    # ---- 3. Leaves

    def _sink_leaves(self) -> None:
        # Leaves with one name, such as W[0][0] and W[0][1], are one member.
        around: dict[int, list[Part]] = {}  # of each operation: the boxes around it, outermost last
        above: dict[int, Part] = {}
        waiting = [self._root]
        while waiting:
            part = waiting.pop()
            for member in part.members:
                if isinstance(member, Part):
                    above[id(member)] = part
                    waiting.append(member)
                else:
                    around[member] = [part]

        def path(part: Part) -> list[Part]:
            found = [part]
            while id(found[-1]) in above:
                found.append(above[id(found[-1])])
            return found

        users: dict[int, dict[int, Part]] = defaultdict(dict)  # of each leaf
        for i, operands in enumerate(self.operands):
            for o in operands:
                if not self.operands[o] and i in around:
                    [part] = around[i]
                    users[o][id(part)] = part
        groups: dict[str, list[int]] = defaultdict(list)
        for leaf in users:
            label = self.drawn.nodes[leaf].label
            groups[INDICES.sub("", label) or f"#{leaf}"].append(leaf)
        loose: dict[tuple[int, str], list[int]] = defaultdict(list)
        common: dict[int, Part] = {}
        for name, leaves in groups.items():
            paths = [path(p) for p in {k: p for i in leaves for k, p in users[i].items()}.values()]
            depth = min(map(len, paths))
            shared = [p for p in paths[0][-depth:] if all(p in other[-depth:] for other in paths)]
            box = shared[0]
            is_new = self._notes[leaves[0]][2] > 0  # such as the result of detach()
            if self.drawn.nodes[leaves[0]].kind == "input" and not is_new:
                box = self._root  # what the program is given is in sight
            if box.kind == "vector":
                box = above[id(box)] if len(leaves) > ALONE or not name.startswith("#") else box
            if name.startswith("#"):
                common[id(box)] = box
                loose[id(box), self.drawn.nodes[leaves[0]].kind].append(leaves[0])
            else:
                self._add_leaves(box, INDICES.sub("", name), leaves)
        for (key, kind), leaves in loose.items():
            box = common[key]
            if len(leaves) > ALONE:
                self._add_leaves(box, counted(len(leaves), kind), leaves)
            else:
                box.members[:0] = leaves
        if not self._root.members:  # the graph is a leaf
            self._root.members = list(range(len(self.operands)))

    def _add_leaves(self, box: Part, label: str, leaves: list[int]) -> None:
        is_small = isinstance(box.call, Made) and len(box.nodes) <= SMALL
        if len(leaves) == 1 or (is_small and not any(isinstance(m, Part) for m in box.members)):
            box.members[:0] = leaves
            return
        part = Part(label, "leaves", sorted(leaves))
        short = self.drawn.nodes[leaves[0]].short
        if short != self.drawn.nodes[leaves[0]].label:  # L0.n1.w2 of 'layers[0].neurons[1].w[2]'
            part.label = re.sub(r"[\d,]+$", "", short)
        labels = [self.drawn.nodes[i].label for i in leaves]
        indices = zip(*(re.findall(r"\[(\w+)\]", label) for label in labels), strict=False)
        counts = [len(set(each)) for each in indices]
        sizes = f" {TIMES} ".join(f"{n:,}" for n in counts if n > 1)
        if sizes:
            part.about = f"({sizes})"
        box.members.insert(0, part)

    # ---- 4. At most 25 members in a box

    def _finish(self) -> None:
        waiting = [(self._root, -1)]
        for part, index in waiting:
            if not part.is_paged:
                part.members = self._cut(self._by_sum(part))
            for member in part.members:
                if isinstance(member, Part):
                    member.parent = index
                    self.parts.append(member)
                    waiting.append((member, len(self.parts) - 1))
                else:
                    self.box_of[member] = index
        for part in self.parts:
            part.nodes = []
        for i, box in enumerate(self.box_of):
            while box >= 0:
                self.parts[box].nodes.append(i)
                box = self.parts[box].parent

    def _by_sum(self, vector: Part) -> list[Any]:
        # In a vector of sums, the operations of each sum are a box.
        if vector.kind != "vector":
            return vector.members
        ops = [m for m in vector.members if not self._is_leaf(m)]
        if any(isinstance(m, Part) for m in ops):
            return vector.members
        inside = set(ops)
        output_of: dict[int, int] = {}
        for i in sorted(ops, reverse=True):
            output = output_of.setdefault(i, i)
            output_of.update((o, output) for o in self.operands[i] if o in inside)
        sums: dict[int, list[int]] = defaultdict(list)
        for i in ops:
            sums[output_of[i]].append(i)
        if not 1 < len(sums) < len(ops):
            return vector.members
        rest = [m for m in vector.members if self._is_leaf(m)]
        numbered = enumerate(sums.values(), 1)
        return rest + [Part(f"{vector.label} {k}", "vector", some) for k, some in numbered]

    def _cut(self, members: list[Any]) -> list[Any]:
        if len(members) <= MOST:
            return members
        leaves = [m for m in members if self._is_leaf(m)]
        others = [m for m in members if not self._is_leaf(m)]
        return [*self._cut_into(leaves, MOST - PARTS), *self._cut_into(others, PARTS)]

    def _is_leaf(self, member: Any) -> bool:
        return member.kind == "leaves" if isinstance(member, Part) else not self.operands[member]

    def _cut_into(self, members: list[Any], most: int) -> list[Any]:
        if len(members) <= most:
            return members
        cut = []
        for k in range(PARTS):
            start, end = (len(members) * j // PARTS for j in (k, k + 1))
            some = members[start:end]
            first, last = (m.label if isinstance(m, Part) else "" for m in (some[0], some[-1]))
            label = f"{start + 1} to {end}"
            if first and last:
                label = f"{first} to {last.rpartition(' ')[2]}" if first != last else first
            kind = "leaves" if self._is_leaf(some[0]) else "part"
            ops = Counter(sign(self.drawn.nodes[m].op) for m in some if not isinstance(m, Part))
            about = ", ".join(f"{n:,} {op}" for op, n in ops.most_common(3) if op)
            cut.append(Part(label, kind, some, about=about))
        return cut

    # ---- 5. Views

    def members(self, index: int) -> int:
        """The number of cards in an opened box."""
        part = self.parts[index]
        return 1 if part.is_paged else len(part.members)

    def first_view(self) -> set[int]:
        """The boxes that are open at first: stacks of a few members that lead to each other.

        The layers of a network stand side by side; its calls for ten examples are one box.
        """
        count = len(self._root.members)
        opened: set[int] = set()
        if len(self.operands) <= MOST:
            return set(range(len(self.parts)))
        while True:
            shown = [
                k
                for k, part in enumerate(self.parts)
                if k not in opened and (part.parent < 0 or part.parent in opened)
            ]
            stacks = [k for k in shown if self._is_chain(self.parts[k])]
            least = min(stacks, key=self.members, default=-1)
            if least < 0 or count - 1 + self.members(least) > MOST:
                return opened
            if self._columns(opened | {least}) > WIDE:
                return opened
            opened.add(least)
            count += self.members(least) - 1

    def _columns(self, opened: Collection[int]) -> int:
        # How many cards follow one another.
        column: dict[str, int] = {}
        for box in self.view(opened).nodes:
            column[box.name] = 1 + max((column.get(o, 0) for o in box.operands), default=0)
        return max(column.values())

    def _is_chain(self, part: Part) -> bool:
        # Whether it is a stack of a few boxes, and some member uses what another one computes; or
        # a layer of neurons.
        if part.kind == "call" and isinstance(part.call, Made):
            return self.has_boxes(part)
        if part.kind not in ("stack", "loop") or len(part.members) > CHAIN:
            return False
        boxes = [m for m in part.members if isinstance(m, Part) and m.kind != "leaves"]
        of = {i: k for k, m in enumerate(boxes) for i in m.nodes}
        return any(of.get(o, k) != k for i, k in of.items() for o in self.operands[i])

    def _cards(self, opened: Collection[int]) -> int:
        shown = [k for k in opened if {*self.path(k)} <= {*opened}]
        return len(self._root.members) + sum(self.members(k) - 1 for k in shown)

    def has_boxes(self, part: Part) -> bool:
        """Whether there are other boxes than vectors and leaves in it."""
        inside = [m for m in part.members if isinstance(m, Part)]
        return any(inner.kind in ("call", "stack", "part") for inner in inside)

    def opened(self, level: int | str | None = None) -> set[int]:
        """The open boxes: of the first view, down to a depth, or around and with a function.

        Raises:
            ValueError: no function of this name was called.
        """
        if level is None:
            return self.first_view()
        paged = {k for k, part in enumerate(self.parts) if part.is_paged}
        every = {*range(len(self.parts))} - paged
        if level in ("op", "neuron", "layer"):
            some = {
                k
                for k in every
                if level == "op" or (level == "neuron" and self.has_boxes(self.parts[k]))
            }
            return some if self._cards(some) <= LARGEST else self.first_view()
        if isinstance(level, int):
            return {k for k in every if len(self.path(k)) <= level}
        return {*self.path(self.named(level))}

    def named(self, function: str) -> int:
        """The index of the first box with this name, a call rather than a stack of calls."""
        found = [
            k
            for k, part in enumerate(self.parts)
            if part.label == function or (part.call and part.call.name == function)
        ]
        if not found:
            names = dict.fromkeys(part.call.name for part in self.parts if part.call)
            known = ", ".join(["op", "neuron", "layer", "array", *names])
            raise ValueError(
                f"level {function!r} is not a function that was called, nor another part of the "
                f"graph: expected a depth such as 1, or one of {known}"
            )
        return min(found, key=lambda k: self.parts[k].kind != "call")

    def at_level(self, level: int | str | None) -> Graph:
        """The view at a depth, or the inside of a function; by default the first view."""
        only = self.named(level) if isinstance(level, str) else -1
        return self.view(self.opened(level), only)

    def outputs(self) -> dict[int, set[int]]:
        """For each box, by its id, the nodes inside that are used outside, or are results."""
        found: dict[int, set[int]] = defaultdict(set)
        around: dict[int, list[int]] = {k: self.path(k) for k in {*self.box_of}}
        for i, operands in enumerate(self.operands):
            mine = around[self.box_of[i]]
            for o in operands:
                if self.box_of[o] != self.box_of[i]:
                    for k in around[self.box_of[o]]:
                        if k in mine:
                            break
                        found[id(self.parts[k])].add(o)
        for result in self.drawn.results:
            for k in around[self.box_of[int(result[1:])]]:
                found[id(self.parts[k])].add(int(result[1:]))
        return found

    def path(self, index: int) -> list[int]:
        """The box, the box around it, and so on."""
        found = []
        while index >= 0:
            found.append(index)
            index = self.parts[index].parent
        return found

    def view(self, opened: Collection[int], only: int = -1) -> Graph:
        """The graph with one card for each box that is not open, and a frame around each open one.

        Args:
            opened: indices of boxes.
            only: index of an open box: only its inside is shown, and what leads there.
        """
        folded: list[int] = []  # of each box: the outermost closed box around it, or -1
        for k, part in enumerate(self.parts):
            outer = folded[part.parent] if part.parent >= 0 else -1
            folded.append(outer if outer >= 0 else -1 if k in opened else k)
        names = [f"b{folded[k]}" if k >= 0 and folded[k] >= 0 else f"v{i}"
                 for i, k in enumerate(self.box_of)]  # fmt: skip
        operands: dict[str, dict[str, None]] = {}
        outputs: dict[str, dict[int, None]] = defaultdict(dict)
        for i, name in enumerate(names):
            mine = operands.setdefault(name, {})
            for o in self.operands[i]:
                if names[o] != name:
                    mine[names[o]] = None
                    outputs[names[o]][o] = None
        for result in self.drawn.results:
            outputs[names[int(result[1:])]][int(result[1:])] = None
        nodes = []
        results = {names[int(result[1:])] for result in self.drawn.results}
        for name, before in operands.items():
            k = int(name[1:])
            if name[0] == "v":
                node = self.drawn.nodes[k]
                inputs = tuple(names[o] for o in self.operands[k])
                frame = self.box_of[k]
                called = node.short or self.label_of.get(k, "")
                node = replace(
                    node, operands=inputs, parent=frame_name(frame), label=called, short=called
                )
            else:
                node = self._card(k, tuple(before), outputs[name], name in results)
            nodes.append(node)
        frames = [self._card(k) for k in sorted(opened) if {*self.path(k)} <= {*opened}]
        ends = dict.fromkeys(names[int(r[1:])] for r in self.drawn.results)
        if only >= 0:
            inside = {node.name: node for node in nodes if node.parent == frame_name(only)}
            users = {operand for node in inside.values() for operand in node.operands}
            nodes = [
                node if node.name in inside else replace(node, operands=())
                for node in nodes
                if node.name in inside or node.name in users
            ]
            frames = [
                replace(frame, parent="") for frame in frames if frame.name == frame_name(only)
            ]
            ends = dict.fromkeys(node.name for node in nodes if node.name not in users)
        return Graph(
            tuple(_sorted(nodes)),
            tuple(ends),
            self.drawn.values,
            "calls",
            tuple(frames),
        )

    def _card(
        self,
        index: int,
        operands: tuple[str, ...] = (),
        outputs: Iterable[int] = (),
        is_result: bool = False,
    ) -> Box:
        part = self.parts[index]
        shown = [self.drawn.nodes[i] for i in sorted(outputs)]
        kind = "result" if is_result else "operation"
        if part.kind == "leaves":
            kind = self.drawn.nodes[part.nodes[0]].kind
        return Box(
            name=f"b{index}",
            label=part.label,
            short=part.label,
            kind=kind,
            level="call",
            operands=operands,
            data=tuple(node.data for node in shown),
            grad=tuple(node.grad for node in shown),
            nodes=tuple(f"v{i}" for i in part.nodes),
            parent=frame_name(part.parent),
            details=(part.about,) if part.about else (),
        )


TIMES = "\N{MULTIPLICATION SIGN}"


def _is_stack(member: Any) -> bool:
    return isinstance(member, Part) and member.kind in ("stack", "vector")


def frame_name(index: int) -> str:
    """The name of a box by its index in `Hierarchy.parts`; '' for -1."""
    return f"b{index}" if index >= 0 else ""


def _sorted(nodes: Sequence[Box]) -> list[Box]:
    # operands first
    before = [set[int]() for _ in nodes]
    place = {node.name: k for k, node in enumerate(nodes)}
    for k, node in enumerate(nodes):
        before[k].update(place[o] for o in node.operands)
    return [nodes[k] for group in circles(before) for k in group]


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
