"""Chains of instructions fused into one.

A neuron needs sums of products in both passes: forward for its activation w1 x1 + ... + wn xn + b,
backward for the gradient of an input (a sum over all neurons that use it) and of a weight (a sum
over all of its uses). In the recording these sums are chains of + and *. This file turns a tree of
additions whose inner nodes have no other use into one unit: an instruction with any number of
operands. Some other chains become units too:

    dot             a sum of products, left1 right1 + left2 right2 + ...
    mean            the mean over lanes of such a sum
    sum             x1 + x2 + x3 + ...
    largest         x1.maximum(x2).maximum(x3) ..., and `smallest`
    where >         a choice and its comparison: for x, y, a and b it is a if x > y, else b
    scatter         the gradient of one entry of a table: the sum of all contributions whose index
                    is the position of that entry; `scatter mean` is its mean over lanes

Only rounding changes, because terms are added in a different order. A neuron's bias becomes one
more weight, whose input is 1 in every lane. Each list of operands is either uniform (the same for
all examples) or in lanes (one number per example); what does not fit becomes a separate unit, whose
result is added.

    >>> from micrograd.compiler.simplify import Simplified
    >>> recording = Simplified()
    >>> w, v, b = (recording.parameter() for _ in range(3))
    >>> x, y = recording.input(0.5), recording.input(0.5)
    >>> result = w * x + v * y + b
    >>> fused(recording.instructions, [result.place]).units
    {8: Unit(op='dot', operands=((0, 1, 2), (3, 4, -1)), length=0)}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from micrograd.compiler.simplify import CONDITIONS, Instructions, uses

ONE = -1  # the place of an input that is 1 in every lane
SUMS = ("+", "-", "neg")
CHAINS = {"maximum": "largest", "minimum": "smallest"}
MEANS, SCATTERS = ("mean", "scatter mean"), ("scatter", "scatter mean")


class Unit(NamedTuple):
    """An instruction with any number of operands, in lists of places (instruction indices).

    The lists are left and right for a dot and a mean; the index and the table for a take; indices,
    contributions and the position for a scatter, which also stores the length of the table.
    """

    op: str
    operands: tuple[tuple[int, ...], ...]
    length: int = 0


class Fused(NamedTuple):
    """A recording after fusion.

    Attributes:
        units: maps places to units; operands come before results. New units that are part of
            another one get places after the end of the recording.
        lanes: for each place, whether its result can differ from lane to lane.
        n_instructions: the length of the recording.
        loops: maps the place of each loop to its body.

    All products of a dot are of the same kind: of w * x + v * x + x * x, only the first two are a
    weight times an input, so their dot becomes a part of the sum.
    """

    units: dict[int, Unit]
    lanes: list[bool]
    n_instructions: int
    loops: dict[int, FusedLoop]


class FusedLoop(NamedTuple):
    """The body of a loop after fusion.

    Its `reads` are split into those of uniform numbers and those of numbers in lanes; `outside` are
    the places of what comes from outside, `results` those of the next states and the outputs, and
    `is_kept` says whether another loop reads its states.
    """

    body: Any
    units: Fused
    reads: list[list[int]]
    outside: list[int]
    results: list[int]
    is_kept: bool


def fused(instructions: Instructions, results: Sequence[int]) -> Fused:
    """The units that these results need; each keeps its own unit, even if a sum could absorb it."""
    return _Fusion(instructions, results).all()


class _Fusion:
    # Makes units, from the last instruction to the first, so that sums can absorb their terms.

    def __init__(self, steps: Instructions, results: Sequence[int]) -> None:
        self.steps, self.ops, self.operands = steps, steps.ops, steps.operands
        self.lanes = list(map(bool, steps.lanes))
        self.uses = uses(self.operands, results)
        self.found: dict[int, Unit] = {}  # results before operands
        self.parts: dict[int, Unit] = {}  # of the current unit, operands before results
        self.places: dict[tuple[Unit, bool], int] = {}  # of parts, by unit and whether in lanes
        self.absorbed: set[int] = set()  # places that another unit has absorbed
        self.loops: dict[int, FusedLoop] = {}
        self.kept: set[int] = set()  # loops whose states are read by others

    def all(self) -> Fused:
        """All units that the results need."""
        n = len(self.operands)
        for place in range(n - 1, -1, -1):  # sums before their terms
            is_needed = self.uses[place] and place not in self.absorbed
            if is_needed and self.operands[place] and self.ops[place] not in CONDITIONS:
                self.found[place] = self.unit(place)
                self.add_parts()
        return Fused(dict(reversed(self.found.items())), self.lanes, n, self.loops)

    def add_parts(self) -> None:
        """Adds the new units of which a unit consists."""
        while self.parts:
            part, unit = self.parts.popitem()
            self.found.pop(part, None)  # other units may use it too: all of them come first
            self.found[part] = unit

    def unit(self, place: int) -> Unit:
        op, operands = self.ops[place], self.operands[place]
        if op in SUMS:
            tree = self.tree(place)
            self.absorbed.update(tree.inside)
            scatter = self.scattered(place, tree) if len(tree.terms) > 1 else None
            return scatter or self.total(tree, self.lanes[place])
        if op == "mean":
            return self.mean(*operands)
        if op in CHAINS:
            return self.chain(place)
        if op == "take":
            return Unit(op, (operands[:1], self.alike(operands[1:])))
        if op == "loop":
            return self.loop(place)
        if op.startswith("pick"):
            return Unit("pick", (operands,), int(op.removeprefix("pick ")))
        op, operands = self.steps.whole(place)
        return Unit(op, tuple((i,) for i in operands))

    def part(self, of: Unit | int, lanes: bool) -> int:
        """The place of a unit that is part of another one; equal parts share a place."""
        if isinstance(of, int):  # it has a place already
            return of
        place = self.places.setdefault((of, lanes), len(self.lanes))
        if place == len(self.lanes):
            self.lanes.append(lanes)
        self.parts[place] = of
        return place

    def can_absorb(self, part: int, whole: int) -> bool:
        # A uniform part of a unit in lanes stays separate, so that it runs only once.
        return self.uses[part] == 1 and self.lanes[part] == self.lanes[whole]

    def alike(self, operands: Sequence[int], in_lanes: bool = False) -> tuple[int, ...]:
        """The operands; if any of them is in lanes, the uniform ones are copied there."""
        if not (in_lanes or any(self.lanes[i] for i in operands)):
            return tuple(operands)
        return tuple(
            i if self.lanes[i] else self.part(Unit("copy", ((i,),)), True) for i in operands
        )

    def chain(self, place: int) -> Unit:
        op = self.ops[place]
        operands, waiting = [], [*self.operands[place]]
        while waiting:
            part = waiting.pop()
            if self.ops[part] == op and self.can_absorb(part, place):
                waiting += self.operands[part]
                self.absorbed.add(part)
            else:
                operands.append(part)
        return Unit(CHAINS[op], (self.alike(sorted(operands)),))

    def loop(self, place: int) -> Unit:
        """The unit of a loop: its first states, what its steps read, what comes from outside."""
        body, operands, lanes = self.steps.bodies[place], self.operands[place], self.lanes[place]
        n, width = len(body.states), len(body.reads)
        end = n + body.n_steps * width
        read, ends = operands[n:end], end + len(body.outside)
        outside, forward = operands[end:ends], operands[ends:]
        columns: dict[bool, list[int]] = {False: [], True: []}  # those in lanes, and others
        for k in range(width):
            columns[any(self.lanes[i] for i in read[k::width])].append(k)
        rows = range(0, len(read), width or 1)
        reads = [self.alike([read[t + k] for t in rows for k in some]) for some in columns.values()]
        steps = body.in_lanes(lanes, [self.lanes[i] for i in outside])
        fusion = _Fusion(steps, [*body.new, *body.outputs])
        # A result has a number of its own, in lanes if the states are: else it is copied.
        results = [
            i
            if steps.operands[i] and bool(steps.lanes[i]) == lanes
            else fusion.part(Unit("copy", ((i,),)), lanes)
            for i in (*body.new, *body.outputs)
        ]
        fusion.add_parts()
        inner = fusion.all()
        # Uniform parts of sums in lanes are computed once, before the loop.
        outer_of = dict(zip(body.outside, outside, strict=True))
        for i, unit in [*inner.units.items()] if lanes else []:
            if not inner.lanes[i]:
                moved = [tuple(outer_of.get(k, k) for k in some) for some in unit.operands]
                if i in inner.loops:  # no two of them are equal, because their bodies differ
                    unit = unit._replace(length=len(self.lanes))
                    self.loops[len(self.lanes)] = inner.loops[i]
                outer_of[i] = self.part(unit._replace(operands=tuple(moved)), False)
                del inner.units[i]
        targets = [[body.reads[k] for k in some] for some in columns.values()]
        is_kept = place in self.kept
        self.loops[place] = FusedLoop(body, inner, targets, [*outer_of], results, is_kept)
        self.kept.update(forward)
        first, outside = self.alike(operands[:n], lanes), tuple(outer_of.values())
        return Unit("loop", (first, *reads, outside, forward))

    # ---- sums

    def tree(self, whole: int) -> _Tree:
        """The tree of additions whose total is at this place.

        Products are sorted by kind: their sign, and which of their factors are in lanes. The most
        frequent kind comes first. A uniform factor is the left one, so all neurons of a layer have
        the same form.
        """
        ops, operands_of, users, lanes = self.ops, self.operands, self.uses, self.lanes
        is_lane = lanes[whole]
        found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
        terms: list[tuple[int, int]] = []
        inside: list[int] = []
        waiting = [(whole, 1)]
        while waiting:
            place, sign = waiting.pop()
            op = ops[place]
            is_inside = (users[place] == 1 and lanes[place] == is_lane) or place == whole
            if is_inside and op == "*":
                a, b = operands_of[place]
                pair = (b, a) if lanes[a] and not lanes[b] else (a, b)
                found[sign, lanes[pair[0]], lanes[pair[1]]].append(pair)
            elif is_inside and op in SUMS:
                operands = operands_of[place]
                if op != "neg":
                    waiting.append((operands[0], sign))
                waiting.append((operands[-1], sign if op == "+" else -sign))
            else:
                terms.append((place, sign))
                continue
            inside.append(place)
        kinds = sorted(found.items(), key=lambda kind: (-len(kind[1]), -kind[0][0]))
        products = [(*zip(*sorted(pairs), strict=True), sign) for (sign, *_), pairs in kinds]
        return _Tree(products, sorted(terms), inside)

    def total(self, tree: _Tree, in_lanes: bool) -> Unit:
        """The unit of a sum: a dot, or the last one of a chain whose other units are its parts."""
        summed: dict[int, list[Any]] = {1: [], -1: []}  # terms, products and dots, by sign
        uniform: Terms = []
        for i, sign in tree.terms:
            if self.lanes[i] == in_lanes:
                summed[sign].append(i)
            else:
                uniform.append((i, sign))
        if len(uniform) > 1:
            uniform = [(self.part(self.total(_Tree([], uniform, []), False), False), 1)]
        for left, right, sign in tree.products:
            if uniform and (sign, uniform[0][1]) == (1, 1) and not self.lanes[left[0]]:
                # A neuron: weights times inputs, and a bias.
                left, right = (*left, uniform.pop()[0]), (*right, ONE)
            summed[sign].append(Unit("dot" if len(left) > 1 else "*", (left, right)))
        chain: Terms = []
        for sign, terms in summed.items():
            if len(terms) > 2:
                terms = [Unit("sum", (tuple(self.part(term, in_lanes) for term in terms),))]
            chain += [(term, sign) for term in terms]
            chain += [(i, sign) for i, other in uniform if other == sign]  # one at most
        (total, sign), *rest = chain
        if sign < 0:
            total = Unit("neg", ((self.part(total, in_lanes),),))
        for term, sign in rest:
            operands = (self.part(total, in_lanes),), (self.part(term, in_lanes),)
            total = Unit("+" if sign > 0 else "-", operands)
        return total if isinstance(total, Unit) else Unit("copy", ((total,),))

    def mean(self, whole: int) -> Unit:
        is_sum = self.uses[whole] == 1 and self.ops[whole] in ("*", *SUMS)
        tree = self.tree(whole) if is_sum else _Tree([], [(whole, 1)], [])
        if scatter := self.scattered(whole, tree):
            self.absorbed.update(tree.inside)
            return scatter._replace(op="scatter mean")
        if len(tree.products) == 1 and not tree.terms:
            self.absorbed.update(tree.inside)
            [(left, right, sign)] = tree.products
            mean = Unit("mean", (left, right))
            return mean if sign > 0 else Unit("neg", ((self.part(mean, False),),))
        return Unit("mean", ((ONE,), (whole,)))

    def scattered(self, whole: int, tree: _Tree) -> Unit | None:
        """A scatter if every term of the sum is like where(index is position, x, 0), else None."""
        if tree.products:
            return None
        indices, contributions, positions = [], [], set()
        for place, sign in tree.terms:
            if self.ops[place] != "where" or sign < 0 or not self.can_absorb(place, whole):
                return None
            condition, x, other = self.operands[place]
            is_zero = self.ops[other] == "constant" and self.steps.numbers[other] == 0
            index, position = self.operands[condition][:2]
            # Without a table it is not an index: where(x, 0, y) is also recorded with an `is`.
            if not is_zero or self.ops[condition] != "is" or index not in self.steps.tables:
                return None
            indices.append(index)
            contributions.append(x)
            positions.add(position)
        if len(positions) != 1 or self.ops[position] != "constant":
            return None
        self.absorbed.update(place for place, _ in tree.terms)
        # An index may point past the entries that have a gradient, for example at constants.
        length = max(max(self.steps.tables[index]) for index in indices)
        # In lanes, because a mean leaves out what is beyond the last example there.
        in_lanes = self.lanes[whole]
        operands = self.alike(indices), self.alike(contributions, in_lanes), tuple(positions)
        return Unit("scatter", operands, length=length)


Terms = list[tuple[Any, int]]  # places or units, each with a sign


class _Tree(NamedTuple):
    # A tree of additions: by kind, the left and right factors of its products and their sign; its
    # other terms; and the places of the instructions inside it.
    products: list[Any]
    terms: Terms
    inside: list[int]
