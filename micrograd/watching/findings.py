"""What can be wrong with training: one function for each finding, from what was recorded of steps.

A function returns None, or the gaps of its sentences in `texts/en.toml`; `key` in them chooses
among several sentences. A finding is told when it was found in three steps in a row, or looks at
several steps itself. An effect is told only if nothing else was: it may follow from that.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from operator import mul
from statistics import fmean
from typing import Any

from micrograd.watching.step import History, Look, Step, norm

Gaps = dict[str, Any] | None

ROUNDED = 1e-9  # a gradient that may move nothing, in units of the parameter
TINY, USUAL = 1e-6, 1e-3  # a movement, in units of the parameters
BEGINNING = 20  # steps after which a rate is called tiny: a warm-up begins with tiny ones
FACTOR = 10.0  # by which the loss of a run that explodes exceeds that of its beginning
STAYS = 0.7  # the share of its first loss above which a model has learned nothing in ten steps ...
WINDOW, STALLS = 50, 0.9  # ... or has stopped learning, in so many steps
STILL = 1e-3  # the largest change of a loss on a plateau, as a share
SLOPE = 1e-4  # gradients that are not 0: norm times that of parameters, as a share of the loss
SOLVED = 0.1  # the mean squared error in units of the variance of targets, or of the first loss
POOR = 0.5  # the share of the variance of targets that a poor minimum leaves unexplained
SEEN = 12  # outputs that are looked at before a ReLU counts as dead, a layer as saturated
DEAD = 0.25  # share of dead ReLUs in a layer; fewer are common, and harmless
NO_SLOPE = 0.06  # of tanh and sigmoid, as a share of their largest
FLAT, ALL_FLAT = 0.5, 0.9  # share of saturated outputs: if learning stopped, or from the start
FADING, FADED = 0.1, 1e-4  # how much gradients may fade from layer to layer, and in all layers
ALIKE = 1e-6  # differences of outputs that are all the same
FAR, NEAR = 30.0, 0.01  # root mean squares of an input; a neuron expects about 1
SHRUNK = 0.2  # how much of their size parameters may lose under a penalty on their squares
FEW = 5  # of so many times as many examples, a loss should see more than always the same
COMMON = 0.9  # share of a class, if always naming it looks good


# ---- 1. What several findings ask


def solved(h: History) -> bool:
    """Whether the loss has become small."""
    share = unexplained(h)
    return share < SOLVED if share else abs(h.losses[-1]) < SOLVED * abs(h.losses[0])


def unexplained(h: History) -> float:
    """The mean squared error in units of the variance of targets; 0 if these are unknown."""
    targets = [t for _, _, t in h.look.pairs]
    spread = fmean((t - fmean(targets)) ** 2 for t in targets) if targets else 0.0
    return fmean((p - t) ** 2 for _, p, t in h.look.pairs) / spread if spread else 0.0


def stays(h: History) -> bool:
    """Whether the loss has hardly fallen in at least ten steps, and is not small."""
    return len(h.losses) > 10 and h.losses[-1] > STAYS * h.losses[0] and not solved(h)


def stalled(h: History, window: int = WINDOW) -> bool:
    """Whether the loss has hardly fallen for a while, and is not small."""
    if len(h.losses) < window + 10 or solved(h):
        return False
    least: float = STALLS ** (window / WINDOW)
    return fmean(h.losses[-10:]) > least * fmean(h.losses[-window - 10 : -window])


def exploded(h: History, last: int = 1) -> bool:
    """Whether the last losses are far above those of the beginning."""
    losses = [x for x in h.losses if math.isfinite(x)]
    start = losses[: max(1, min(10, len(losses) // 2))]
    return len(losses) > last and min(losses[-last:]) > FACTOR * max(map(abs, start))


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """The sum of products."""
    return sum(map(mul, a, b), 0.0)


def rest(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """What is left of a without its part along b."""
    share = dot(a, b) / (dot(b, b) or math.inf)
    return [x - share * y for x, y in zip(a, b, strict=True)]


def named(h: History, found: Sequence[int], numbers: Sequence[float]) -> dict[str, Any]:
    """The parameter with the largest of these numbers, and that number."""
    i = max(found, key=lambda i: abs(numbers[i]))
    return {"name": h.names[i], "grad": numbers[i], "i": i}


def listed(h: History, names: Sequence[str]) -> Gaps:
    """The first of these parameters, and how many there are; None if there are none."""
    known = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
    return {"names": known, "n": len(names), "all": len(h.names)} if names else None


# ---- 2. The loop


def nonfinite(h: History) -> Gaps:
    """The first number that is not finite."""
    bad = h.step.bad
    return {"key": "nonfinite.rate"} | bad if bad and (exploded(h) or h.most > 1) else bad


def no_backward(h: History) -> Gaps:
    """No backward pass."""
    if h.step.passes or h.step.moved or h.step.bad or h.step.left != h.step.before:
        return None
    return {"key": "no_backward.since"} if h.used else {}


def stale(h: History) -> Gaps:
    """backward() on a graph that was computed, or partly, before the parameters moved."""
    n, total = (h.look.outdated, h.look.products) if h.step.look else (0, 0)
    key = "stale.part" if n < total and not h.step.is_stale else "stale"
    is_stale = n or h.step.is_stale
    return {"key": key, "loss": h.step.loss, "n": n, "all": total} if is_stale else None


def detached(h: History) -> Gaps:
    """A loss that depends on no parameter, or no input: detached, or of another model."""
    had_inputs = h.first.look and h.first.look.inputs
    if h.step.reached and had_inputs and h.step.look and not h.step.look.inputs:
        return {"key": "detached.since"}
    if h.step.reached is not False or not h.step.look:
        return None
    n = len(h.step.look.leaves)
    if n < len(h.names):
        return {"key": "detached.since"} if h.used else {}
    return {"key": "detached.other", "n": n}


def unchained(h: History) -> Gaps:
    """A user's own operation whose contributions do not depend on the gradient of its result."""
    return {"op": h.unchained} if h.unchained else None


def unmoved(h: History) -> Gaps:
    """Gradients that moved nothing."""
    gaps = named(h, range(len(h.names)), h.step.grads) | {"line": h.line}
    gaps["fix"] = re.sub(r"^(\w+)\s*(=\s*\1\s*-|-=)", r"\1.data -=", h.line)
    least = ROUNDED * max(1, abs(h.step.data[gaps["i"]]))
    if h.updates or h.step.moved or abs(gaps["grad"]) < least or h.step.reached is False:
        return None
    keys = {
        "unmoved.rate": h.rates and not any(h.rates),
        "unmoved.other": h.others and not h.rates,
        "unmoved.line": h.line,
        "unmoved.reset": not any(h.step.left),
    }
    return gaps | {"key": next((key for key, is_so in keys.items() if is_so), "")}


def accumulated(h: History) -> Gaps:
    """Gradients that are added to others: those of the step before, or from before the loop."""
    first = h.first.before if h.first.moved and h.first.number == 1 else []
    if len(h.norms) == 2 and any(first) and not any(h.step.before):
        return named(h, range(len(first)), first) | {"key": "accumulated.first"}
    if len(h.steps) < 3 or not all(step.moved for step in h.steps):
        return None
    before, last = h.step.before, h.steps[-2]
    used = [i for i, g in enumerate(before) if g and g != h.step.grads[i]]
    kept = [i for i in used if last.data[i] != last.after[i]]
    gaps = named(h, kept, before) if kept else None
    grads = [f"{step.grads[gaps['i']]:.3g}" for step in h.steps] if gaps else []
    return gaps and gaps | {"grads": ", ".join(grads[-3:])}


def missing(h: History) -> Gaps:
    """Parameters that stay where they are while others move, or that parameters() leaves out."""
    if hidden := [name for name, p in h.hidden if any(p is leaf() for leaf in h.look.leaves)]:
        return {"key": "missing.hidden"} | (listed(h, hidden) or {})
    step, moved = h.step, {i for each in h.steps for i, d in enumerate(each.movement) if d}
    least = max(1e-6 * max(map(abs, step.grads)), ROUNDED)
    both = enumerate(zip(step.grads, step.data, strict=True))
    found = [h.names[i] for i, (g, p) in both if i not in moved and abs(g) > least * max(1, abs(p))]
    return listed(h, found) if found and step.moved and not overwritten(h) else None


def renewed(h: History) -> Gaps:
    """Another optimizer in each of three steps in a row, although it has a state."""
    steps = [*h.steps][-3:]
    made = {id(step.optimizer) for step in steps if step.optimizer}
    return {} if len(made) == 3 and steps[0].number + 2 == h.step.number else None


def overwritten(h: History) -> Gaps:
    """Numbers that became a multiple of the gradients, p.data =- 0.1 * p.grad, or of themselves."""
    step, size = h.step, norm(h.step.data)
    has_slope = norm(rest(step.grads, step.data)) * size > SLOPE * abs(step.loss)
    if not (has_slope and step.moved and size > STILL * norm(step.after)):
        return None  # multiples of the gradients are those of parameters, or huge
    cases = ("", step.after, step.grads), ("overwritten.scaled", step.movement, step.data)
    for key, new, old in cases:
        rates = [-x / y for x, y in zip(new, old, strict=True) if y]
        if len(rates) > 2 and max(rates) - min(rates) < ALIKE * abs(rates[0]):
            return {"key": key, "rate": 1 - rates[0] if key else rates[0]}
    return None


def one_example(h: History) -> Gaps:
    """A loss of the same example in each step, of several, or of the same few of many."""
    if len(h.looks) < 3 or h.step.passes != 1:
        return None
    looks = h.looks[0], h.looks[-2], h.looks[-1]
    first, before, seen = (sorted(zip(*x.inputs.values(), strict=False)) for x in looks)
    few = len(seen)
    is_same = few and first == before == seen
    key, is_part = ("one_example.few", FEW * few < h.examples) if few > 1 else ("", h.examples > 1)
    return {"key": key, "n": h.examples, "few": few} if is_same and is_part else None


def unused(h: History) -> Gaps:
    """Parameters on which the loss does not depend, but for single rows: others may use those."""
    used = [h.names[i] for i in h.used]
    rest = [name for i, name in enumerate(h.names) if i not in h.used]
    table = {name: re.sub(r"(\[\d+\])+$", "[", name) for name in rest}  # up to the indices
    found = [name for name in rest if not any(x.startswith(table[name]) for x in used)]
    return listed(h, found) if used else None


def printed(h: History) -> Gaps:
    """A variable `loss` that is not the one on which backward() was called."""
    other, loss = h.step.printed, h.step.loss
    is_other = other is not None and not math.isclose(other, loss, rel_tol=1e-9)
    return {"printed": other, "loss": loss} if is_other else None


# ---- 3. The step


def uphill(h: History) -> Gaps:
    """Three steps along the gradient instead of against it: from the first one on, or exactly."""
    steps, first = [*h.steps][-3:], h.first
    if len(steps) < 3 or any(x.loss <= 0 or dot(x.movement, x.grads) <= 0 for x in steps):
        return None

    def off(x: Step) -> float:
        return norm(rest(x.movement, x.grads)) / (norm(x.movement) or math.inf)

    is_late = max(map(off, steps)) < ALIKE and sum(map(bool, h.step.movement)) > 3  # not momentum
    is_early = off(first) < 0.05 and dot(first.movement, first.grads) > 0
    step = first if is_early else h.step
    return {"rate": norm(step.movement) / norm(step.grads)} if is_early or is_late else None


def too_fast(h: History) -> Gaps:
    """A loss that explodes, or stays above where it began, although it was to fall."""
    above = len(h.losses) > 12 and min(h.losses[-10:]) > h.losses[0] + 0.1 * abs(h.losses[0])
    predicted = -dot(h.first.movement, h.first.grads)
    gaps = {"first": h.losses[0], "loss": h.losses[-1], "predicted": predicted}
    is_so = (exploded(h, 3) or above) and predicted > 0 and h.losses[-1] > h.losses[0]
    return gaps if is_so else None


def differences(h: History) -> Gaps:
    """A loss that adds up plain differences from targets."""
    targets = h.look.differences
    return {"n": len(targets)} if len({*targets}) > 1 else None


def unbounded(h: History) -> Gaps:
    """A loss below 0 that goes on falling as fast as at the beginning."""
    third = len(h.losses) // 3
    if third < WINDOW // 5 or h.losses[-1] >= 0:
        return None
    first, last = h.losses[0] - h.losses[third], h.losses[-third] - h.losses[-1]
    return {"loss": h.losses[-1], "fell": last, "n": third} if last > 0.5 * first > 0 else None


def too_slow(h: History) -> Gaps:
    """Steps that hardly move anything, from the beginning or at last."""
    slope = h.norms[-1] * norm(h.step.data)
    steps = [*h.steps][-2:]
    if len(h.losses) < BEGINNING or solved(h) or slope < SLOPE * abs(h.losses[-1]):
        return None
    if not h.step.passes or (not h.step.moved and steps[0].number + 1 < h.step.number):
        return None  # it may move in every second step
    last = max(norm(step.movement) / norm(step.data) for step in steps)
    is_same = dot(h.first.grads, h.step.grads) > 0.95 * norm(h.first.grads) * h.norms[-1]
    if (is_same and len(h.losses) >= WINDOW and stays(h) and h.most < USUAL) or h.most < TINY:
        return {"most": h.most, "n": len(h.losses)} if h.updates else None
    return {"key": "too_slow.late", "most": last} if last < TINY else None


def plateau(h: History) -> Gaps:
    """A loss that stays the same: in a minimum far from the targets, or although it has a slope."""
    last, share = h.losses[-WINDOW:], unexplained(h)
    mean = fmean(last)
    is_still = len(last) == WINDOW and max(last) - min(last) <= STILL * abs(mean)
    if not is_still or not mean or solved(h):
        return None
    gaps = {"loss": mean, "n": WINDOW, "grad": h.norms[-1]}
    slope = h.norms[-1] * norm(h.step.data) / abs(mean)
    if share >= POOR and slope <= 10 * SLOPE:
        is_linear = len({unit for _, unit in h.look.units}) < 2
        key = "plateau.linear" if is_linear else "plateau.minimum"
        return gaps | {"key": key, "share": min(100, round(100 * share))}
    return gaps if slope > SLOPE and h.norms[-1] > 0.5 * max(h.norms[-WINDOW:]) else None


# ---- 4. The data


def scale(h: History) -> Gaps:
    """Inputs that are the same for all targets, or far from 1."""
    if len(h.seen) > 1 == len(rows := {row for row, _ in h.seen}):
        return {"key": "scale.same", "first": ", ".join(f"{x:.3g}" for x in rows.pop()[:3])}
    columns: dict[str, list[float]] = defaultdict(list)
    for row in h.look.rows(h.look.inputs).values():
        for k, i in enumerate(row):
            columns[f"[{k}]"] += h.look.inputs[i]
    sizes = {column: norm(xs) / math.sqrt(len(xs)) for column, xs in columns.items()}
    column = max(sizes, key=sizes.__getitem__, default="")
    if not sizes or NEAR < sizes[column] < FAR or sizes[column] in (0, math.inf):
        return None
    return {"column": column, "low": min(columns[column]), "high": max(columns[column])}


def targets(h: History) -> Gaps:
    """Targets far from 1 that a loss which explodes, or hardly falls, does not come near to."""
    numbers = [t for _, _, t in h.look.pairs]
    if not numbers or norm(numbers) < FAR * math.sqrt(len(numbers)):
        return None
    is_missed = stays(h) or exploded(h) or (unexplained(h) > POOR and len(h.losses) > 10)
    return {"low": min(numbers), "high": max(numbers)} if is_missed else None


def reach(h: History) -> Gaps:
    """Targets that an output cannot reach, or labels 0 and 1 in a loss for -1 and 1."""
    ranges = {"tanh": (-1, 1), "sigmoid": (0, 1), "ReLU": (0, math.inf)}
    for op, _, target in h.look.pairs:
        low, high = ranges.get(op, (-math.inf, math.inf))
        if not low <= target <= high:
            return {"op": op.lower(), "low": low, "high": high, "target": target}
    if {abs(t) for look in h.looks for loss, _, t in look.scores if loss} == {0, 1}:
        return {"key": "reach.labels"}
    for loss, op, target in h.look.scores if not h.look.twice else []:
        if op == "tanh" and not loss:
            return {"key": "reach.tanh"}
        if op in ("sigmoid", "ReLU") and target <= 0:
            return {"key": "reach.score", "op": op.lower(), "target": target}
    return None


def crossed(h: History) -> Gaps:
    """Each of several outputs with each of as many targets, by NumPy's broadcasting."""
    met: dict[float, list[float]] = defaultdict(list)
    for _, output, target in h.look.pairs:
        met[output].append(target)
    are_same = len({tuple(sorted(xs)) for xs in met.values()}) == 1
    is_all = len(h.look.pairs) == len(met) ** 2 and len(met) > 2
    return {"n": len(met)} if are_same and is_all else None


def shuffled(h: History) -> Gaps:
    """The same examples and the same targets in several steps, in other pairs."""
    if len(h.looks) < FEW or len(h.seen) <= len(h.look.examples):
        return None
    looks = [sorted(look.examples) for look in h.looks]
    columns = {tuple(tuple(sorted(xs)) for xs in zip(*pairs, strict=True)) for pairs in looks}
    return {"n": len(looks[0])} if len(columns) == 1 < len({*map(tuple, looks)}) else None


def twice(h: History) -> Gaps:
    """A sigmoid or softmax before a loss that has its own, or a softmax of one number."""
    key = "twice.alone" if h.look.twice == "alone" else "twice"
    return {"key": key, "op": h.look.twice} if h.look.twice else None


def imbalance(h: History) -> Gaps:
    """A model that always names the largest class, or a class that is the only one."""
    seen, are_classes = h.seen, {op for op, *_ in h.look.pairs} <= {"tanh", "sigmoid"}
    are_all = len(seen) >= SEEN and min(seen.values()) >= TIMES and h.step.passes == 1
    is_one = are_classes and are_all and len({t for _, t in seen}) == 1
    if is_one or (h.largest_class == 1 and h.examples >= SEEN):
        return {"key": "imbalance.one"}
    shares = [share for look in h.looks for share in look.shares]
    kinds, ps = {kind for _, kind, _ in shares}, {round(p, 6) for *_, p in shares}
    is_half = len(kinds) == 1 and any(kinds) and ps.isdisjoint(round(1 - p, 6) for p in ps)
    if is_half and len(shares) >= SEEN and len({t == 0 for t, *_ in shares}) == 2:
        return {"key": "imbalance.half"}
    is_common: Any = COMMON <= h.largest_class < 1 and len(h.losses) >= BEGINNING
    is_all = is_common and h.accuracy and math.isclose(h.accuracy, h.largest_class)
    return {"share": round(100 * h.largest_class)} if is_all else None


# ---- 5. The network


def no_activation(h: History) -> Gaps:
    """Layers without an activation between them, which are one linear function together."""
    fed = [(*x, i) for i, some in h.look.feeders.items() for x in some]
    pairs = {(h.layer[unit], h.layer[i]) for unit, is_linear, i in fed if is_linear}
    found = sorted((a, b) for a, b in pairs if a != b and stalled(h, WINDOW // 2))
    return {"first": found[0][0], "last": found[0][1]} if found else None


def shrunk(h: History) -> Gaps:
    """Parameters that a penalty on their squares has made small, although the loss is not."""
    is_penalised = h.decay or 2 * len(h.look.penalised) > len(h.names)
    if not is_penalised or len(h.losses) <= 10 or solved(h):
        return None
    share = norm(h.step.after) / (norm(h.first.data) or math.inf)
    return {"share": round(100 * share)} if 0 < share < SHRUNK else None


def equal_weights(h: History) -> Gaps:
    """Neurons of a hidden layer that are all the same, so they stay the same."""
    look = h.look
    for row in look.rows(look.fed).values():
        outputs = {tuple(look.fed[i]) for i in row}
        if len(row) == 1 or len(outputs) > 1:
            continue
        units = {unit for i in row for unit, _ in look.feeders[i]}
        inside, data = look.rows(look.used), [*zip(h.first.data, h.step.data, strict=True)]
        weights = {tuple(data[i] for i in inside[unit]) for unit in units}
        if len(weights) == 1 and (len(units) > 1 or any(outputs.pop())):  # else it may be dead
            key = "equal_weights" if len(units) > 1 else "equal_weights.shared"
            return {"key": key, "layer": h.layer[min(units)], "n": len(row)}
    return None


def dead(h: History) -> Gaps:
    """ReLUs whose output is 0 for all examples."""
    layers: dict[str, list[bool]] = defaultdict(list)
    for op, unit in h.look.units:
        outputs = [look.units.get((op, unit), ()) for look in h.looks]
        if op == "ReLU" and sum(map(len, outputs)) >= SEEN:
            layers[h.layer[unit]].append(not any(map(any, outputs)))
    for layer, are_dead in layers.items():
        n, m = sum(are_dead), len(are_dead)
        if (n == m and len(h.looks) >= 3) or (n >= DEAD * m and stalled(h)):
            return {"layer": layer, "n": n, "all": m}
    return None


def saturated(h: History) -> Gaps:
    """Outputs of tanh or sigmoid at their limits, where the slope is nearly 0."""
    first = _flat(h, h.first.look)
    for layer, share in _flat(h, h.look).items():
        from_start = min(share, first.get(layer, 0)) > ALL_FLAT and stays(h)
        if from_start or (share > FLAT and layer != [*h.layers][-1] and stalled(h)):
            return {"layer": layer, "share": round(100 * share)}
    return None


def _flat(h: History, look: Look | None) -> dict[str, float]:
    # The share of saturated outputs in each layer.
    flat: dict[str, list[bool]] = defaultdict(list)
    for (op, unit), xs in look.units.items() if look else ():
        if op != "ReLU":
            slopes = (1 - x * x if op == "tanh" else 4 * x * (1 - x) for x in xs)
            flat[h.layer[unit]] += [slope < NO_SLOPE for slope in slopes]
    return {layer: fmean(are_flat) for layer, are_flat in flat.items() if len(are_flat) >= SEEN}


def fading(h: History) -> Gaps:
    """Gradients that get smaller, or larger, from layer to layer."""
    layers = h.layers
    if len(layers) < 3 or not stays(h):
        return None
    sizes = [max(abs(h.first.grads[i]) for i in some) for some in layers.values()]
    limit, names = max(FADING ** (len(layers) - 1), FADED), [*layers]
    if not all(sizes) or limit < sizes[0] / sizes[-1] < 1 / limit:
        return None
    known = {"first": names[0], "size": sizes[0], "last": names[-1], "at_last": sizes[-1]}
    return {"key": "fading.growing" * (sizes[0] > sizes[-1]), **known}


def equal_outputs(h: History) -> Gaps:
    """The same prediction for all examples, from the start."""
    for look in h.first.look or Look(), h.look:
        outputs, targets = [p for _, p, _ in look.pairs], {t for _, _, t in look.pairs}
        if len(outputs) < 3 or len(targets) < 2 or not stays(h):
            return None
        if max(outputs) - min(outputs) > ALIKE * max(1, *map(abs, outputs)):
            return None
    return {"output": outputs[0], "n": len(outputs)}


CAUSES = (
    nonfinite, unchained, no_backward, stale, detached, unmoved, overwritten, accumulated, renewed,
    missing, unused, one_example, printed, uphill, differences, unbounded, scale,
    reach, shuffled, crossed, twice, imbalance, equal_weights,
)  # fmt: skip
EFFECTS = (
    targets, too_fast, no_activation, shrunk, dead, saturated, fading, equal_outputs, too_slow,
    plateau,
)  # fmt: skip
AT_ONCE = {  # look back themselves
    nonfinite, accumulated, renewed, uphill, unbounded, shuffled, imbalance, *EFFECTS,
}  # fmt: skip
AFTERWARDS = scale, reach, twice, no_activation, dead, saturated  # without any steps
TIMES = 3  # in a row, for the others
