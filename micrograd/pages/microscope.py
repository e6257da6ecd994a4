"""A page that shows every number of a language model, and trains the model while you watch.

A reader types a text. Each of its tokens goes through the functions of the model, shown as boxes
with the vectors that they return. A click on a number shows the multiplications it comes from. The
page also shows gradients, takes training steps, and invents texts.

The model is recorded once, forward and backward, as a table of instructions (`compiler/fuse.py`)
for the longest text; shorter ones are padded with positions of weight 0.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from micrograd.compiler.fuse import fused
from micrograd.compiler.parameters import recorded_as
from micrograd.compiler.simplify import Simplified
from micrograd.core.node import innermost
from micrograd.core.pause import resumed
from micrograd.engine import Value, topological_order
from micrograd.losses import cross_entropy
from micrograd.module import Module
from micrograd.optim import Adam, Optimizer
from micrograd.pages.page import Page, in_languages
from micrograd.pages.pieces import Data, as_number, recorded_update, state_of, weights_of
from micrograd.program.calls import Call, calls, noted, path_of


@in_languages
def microscope(
    model: Module,
    tokens: Sequence[str],
    texts: Sequence[Sequence[str]],
    optimizer: Optimizer | None = None,
    untrained: Sequence[float] | None = None,
    title: str | None = None,
    language: str | None = None,
    languages: Sequence[str] = (),
) -> Page:
    """A page on which a language model can be read down to one multiplication, and trained.

    The model does not change. A step lowers the mean cross-entropy over the next text's positions.

    Args:
        model: a Module, whose parameters are trained. Its method `logits` takes the tokens before
            each position, as indices for `take`, and returns a list of logits for each. They may
            depend on earlier positions only.
        tokens: the names of the tokens, such as letters; the last one begins and ends each text.
        texts: what the model learns from; each is a sequence of tokens without the last one.
        optimizer: an SGD, Adam or AdamW, with its moments; by default a new Adam with lr=0.01.
        untrained: the weights before training, to which a reader can go back.
        languages: as in `explain`.

    >>> from micrograd import Module, Value, take
    >>> class Bigram(Module):
    ...     def __init__(self):
    ...         self.table = [[Value(0.0) for _ in "ab."] for _ in "ab."]
    ...     def logits(self, tokens):
    ...         return [take(self.table, token) for token in tokens]
    >>> microscope(Bigram(), "ab.", ["ab", "abab"])
    <a page on a model of 9 parameters: .show() opens it, .save('page.html') writes it>
    """
    parameters = model.parameters()
    known = {token: i for i, token in enumerate(tokens)}
    for text in texts:
        if not text or {*text} - {*tokens[:-1]}:
            raise ValueError(f"expected texts of {[*tokens][:-1]}, got {text!r}: add its tokens")
    codes = [[known[token] for token in text] for text in texts]
    optimizer = optimizer or Adam(parameters, lr=0.01)
    weights = weights_of(parameters)
    before = weights if untrained is None else untrained
    state = state_of(optimizer, parameters)
    state["kept"] = {name: _packed(numbers, float) for name, numbers in state["kept"].items()}
    data = {
        "tokens": list(tokens),
        "texts": codes,
        "called": [name for name, _ in model.named_parameters()],
        "start": {"trained": _packed(weights, float), "untrained": _packed(before, float)},
        "optimizer": recorded_update(optimizer) | state | {"name": type(optimizer).__name__},
        **_program(model.logits, parameters, 1 + max(map(len, codes)), len(tokens)),  # type: ignore[attr-defined]
    }
    about = f"a page on a model of {len(weights):,} parameters"
    return Page("microscope", data, about, 900, title)


def _program(logits: Callable[..., Any], parameters: list[Value], n: int, tokens: int) -> Data:
    # The instructions for texts of n - 1 tokens, forward and backward, and where each result is.
    recording = Simplified()

    def places(numbers: Iterable[Any]) -> list[int]:
        return [recording.place(x) for x in numbers]

    with resumed(), recorded_as(parameters, recording.parameter):
        own = places(p.data for p in parameters)
        inputs = [[recording.parameter() for _ in range(n)] for _ in range(3)]
        rows = calls(logits, inputs[0])
        if len(rows) != n or {*map(len, rows)} != {tokens}:
            raise ValueError(f"expected {n} lists of {tokens} logits, got {[*map(len, rows)]}")
        losses = [cross_entropy(row, y) for row, y in zip(rows, inputs[1], strict=True)]
        loss = sum(w * x for w, x in zip(inputs[2], losses, strict=True))
        loss.backward()
        every = _calls(rows)
        vectors = [*(box["values"] for boxes in every for box in boxes), *rows, losses, [loss]]
        data = [places(v.data for v in vector) for vector in vectors]
        grads = [places(v.grad for v in vector) for vector in vectors]
        gradients = places(p.grad for p in parameters)
    steps = recording.instructions
    wanted = {place for vector in data for place in vector}
    units = fused(steps, [*wanted, *gradients, *(i for vector in grads for i in vector)]).units
    for place in reversed(units):
        if place in wanted:
            wanted.update(i for operands in units[place].operands for i in operands)
    passes = [[i for i in units if i in wanted], [i for i in units if i not in wanted]]
    ordered = [*own, *(x.place for numbers in inputs for x in numbers), *steps.numbers]
    slot = {place: i for i, place in enumerate(dict.fromkeys(chain(ordered, *passes)))}
    ops = sorted({unit.op for unit in units.values()})
    kind = np.uint16 if len(slot) < 2**16 else np.uint32

    def line(place: int) -> list[int]:
        operands = [slot[i] for i in chain(*units[place].operands)]
        return [ops.index(units[place].op), slot[place], len(operands), *operands]

    found = [[slot[i] for i in vector] for vector in data]
    for box, slots in zip(chain(*every), found, strict=False):
        box["slots"] = slots
    return {
        "size": len(slot),
        "ops": ops,
        "tables": [_packed([*chain(*map(line, part))], kind) for part in passes],
        "constants": [[slot[i], as_number(innermost(x))] for i, x in steps.numbers.items() if x],
        "gradients": [slot[i] for i in gradients],
        "gradOf": [(slot[i], slot[j]) for i, j in zip(chain(*data), chain(*grads), strict=True)],
        "boxes": _boxes(every),
        "logits": found[-2 - n : -2],
        "losses": found[-2],
        "loss": found[-1][0],
    }


def _calls(rows: list[list[Value]]) -> list[list[Data]]:
    # For each position the calls, outer ones first: their names, the path of names that leads there
    # and what they return. A call is at the first position whose logits need its results.
    every: list[list[Data]] = []
    seen: set[Value] = set()
    for row in rows:
        nodes = {v for v in topological_order(*row) if v._prev} - seen
        seen |= nodes
        around = {v: set(path_of(v)) for v in nodes}
        sizes = Counter(chain(*around.values()))
        used = [(operand, around[v]) for v in nodes for operand in nodes.intersection(v._prev)]
        returned: dict[Call, set[Value]] = defaultdict(set)
        for v, path in [*used, *((v, set()) for v in nodes.intersection(row))]:
            for call in around[v] - path:  # v is used outside of it
                returned[call].add(v)
        made = sorted(returned, key=lambda call: call.number)
        # Calls that make the whole position tell nothing, unless there are no others.
        made = [call for call in made if sizes[call] < len(nodes)] or made[-1:]
        paths: dict[Call | None, tuple[str, ...]] = {None: ()}
        count: Counter[tuple[str, ...]] = Counter()  # of equal names in one call
        boxes = []
        for call in made:
            parent = call.parent
            while parent not in paths and parent is not None:
                parent = parent.parent
            path_there = (*paths[parent], call.name)
            paths[call] = (*path_there, str(count[path_there]))
            count[path_there] += 1
            values = sorted(returned[call], key=lambda v: noted(v)[2])
            boxes.append({"name": call.name, "path": paths[call], "values": values})
        every.append(boxes)
    return every


def _boxes(every: list[list[Data]]) -> list[list[Data]]:
    # The boxes to show at each position, one in the other. A call that returns a single number is
    # left out, and one that only passes on what its single call returns is shown as one with it.
    wide = {box["path"] for box in chain(*every) if len(box["slots"]) > 1}
    shown: dict[tuple[str, ...], list[Data]] = defaultdict(list)

    def inside(path: tuple[str, ...], boxes: list[Data]) -> list[Data]:
        found = [box for box in boxes if box["path"][:-2] == path and box["path"] in wide]
        for box in found:
            inner = box["inside"] = inside(box["path"], boxes)
            if len(inner) == 1 and inner[0]["slots"] == box["slots"]:
                box["inside"] = inner[0]["inside"]
        return [{key: box[key] for key in ("name", "path", "slots", "inside")} for box in found]

    def note(boxes: list[Data]) -> None:
        for box in boxes:
            note(box["inside"])
            shown[box.pop("path")].append(box)

    tops = [inside((), boxes) for boxes in every]
    for boxes in tops:
        note(boxes)
    # The weights of attention, one for each position up to their own, have a number: their head.
    ramp = [*range(1, len(every) + 1)]
    heads = [some for some in shown.values() if [len(box["slots"]) for box in some] == ramp]
    for k, some in enumerate(heads if len(every) > 1 else ()):
        for box in some:
            box["head"] = k
    return tops


def _packed(numbers: Sequence[float], kind: Any) -> str:
    return b64encode(np.array(numbers, np.dtype(kind).newbyteorder("<")).tobytes()).decode()
