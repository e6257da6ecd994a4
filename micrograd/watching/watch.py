"""`watch`, a line around one's own training loop.

>>> from micrograd import SGD, Value, watch
>>> w, X, y = Value(0.0), [0.5, -0.5], [1.0, -1.0]
>>> optimizer = SGD([w], lr=0.1)
>>> run = watch(range(10), [w], bar=False)
>>> for step in run:  # doctest: +NORMALIZE_WHITESPACE
...     loss = sum((w * x - t) ** 2 for x, t in zip(X, y))
...     loss.backward()
...     optimizer.step()
Step 3: gradients are added to those of the step before (w: -2, -3.8, -5.22): call
model.zero_grad(), or optimizer.zero_grad(), before loss.backward().
>>> print(run.report().partition(":")[0])
10 steps, loss 2 to 2.02
"""

from __future__ import annotations

import linecache
import math
import re
import runpy
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from numbers import Real
from operator import length_hint
from time import perf_counter
from traceback import walk_stack
from typing import Any

from tqdm import tqdm

from micrograd.core.errors import described
from micrograd.core.files import FilePath
from micrograd.core.node import Own
from micrograd.core.pause import no_grad, watchers
from micrograd.core.shapes import flat, plain
from micrograd.derivatives import contributions
from micrograd.engine import Value, topological_order
from micrograd.nn import accuracy
from micrograd.optim import Optimizer, Parameters
from micrograd.program.calls import OTHERS
from micrograd.program.objects import found, is_model
from micrograd.program.variables import variables
from micrograd.texts import filled, said, speaking, texts_of
from micrograd.watching import findings as rules
from micrograd.watching.step import History, Look, Step

SHARE = 0.01  # of the time of a loop, for looking at graphs and for the accuracy
FIRST, EVERY = 4, 20  # steps that are judged: three from the second one on, then some
SOME = 32  # examples with which a compiled function is run eagerly, for a look at its graph
MOST = 1000  # examples of which the accuracy is shown
OVER = re.compile(r"^\s*(\w+)\s*(=\s*\1\s*-|-=)[^#=]*\.grad")  # p = p - 0.1 * p.grad

Numbers = tuple[list[float], list[float]]  # data and gradients of all parameters


class Report(str):
    """A text that a notebook shows as it is."""

    __slots__ = ()
    __repr__ = str.__str__


class Run:
    """The items, with a progress bar that shows the loss, and a sentence for each thing wrong.

    It looks at what each step does to the parameters and at the graph of the loss, changes nothing,
    and takes about a tenth of the time, and some milliseconds. If all is well, it says nothing.

    Args:
        items: what the loop goes over, such as range(100) or the batches of an epoch.
        model: a model with parameters(), or a list of parameters, of this engine or another one.
        X: examples; with them, the bar shows the accuracy, of the first thousand.
        y: the classes of the examples.
        bar: whether there is a progress bar.

    Raises:
        TypeError: the model has something else than parameters with one number each.
    """

    def __init__(
        self,
        items: Iterable[Any],
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        bar: bool = True,
        language: str | None = None,
    ) -> None:
        self.items, self.model, self.bar, self.language = items, model, bar, language
        self.examples = None if X is None or y is None else (plain(X)[:MOST], flat(y)[:MOST])
        self.findings: dict[str, str] = {}  # sentences, by their names in findings.py
        self._texts = texts_of("watch", language)
        self._times: Counter[str] = Counter()
        self._number = 0  # of steps so far
        self._step: Step | None = None  # the one that is going on
        self._unjudged: Step | None = None  # the last one, if it was not looked at
        self._again: Callable[..., Look] | None = None  # runs a compiled function eagerly
        self._failed = ""  # the operation that raised an error
        self._root: Callable[[], object] = lambda: None  # of the last backward pass
        self._spent, self._begin = 0.0, perf_counter()
        self._own(model)
        if self.examples:
            self.history.examples = len(self.examples[1])

    def _own(self, model: Any) -> None:
        with speaking(self.language):
            names, self._values, hidden = ((), (), ()) if model is None else _parameters(model)
            self.history = History(names, hidden=hidden)
        # nodes of another engine may be compared by their numbers
        self._index = {p: i for i, p in enumerate(self._values) if isinstance(p, Value)}
        self._last = self._numbers()

    def __iter__(self) -> Iterator[Any]:
        """The items; while they last, backward passes are watched."""
        self._begin = perf_counter()
        total = length_hint(self.items) or None
        with tqdm(total=total, unit="step", disable=not self.bar) as bar:
            with self.watching():
                for item in self.items:
                    yield item
                    self.turn()
                    if bar.update():  # it was drawn
                        bar.set_postfix_str(self._state())
            bar.set_postfix_str(self._state())

    @contextmanager
    def watching(self) -> Iterator[Run]:
        """A block in which backward passes are watched; at its end, the run is over."""
        kind: Any = type(self._values[0]) if self._values else Value
        backward: Any = None if issubclass(kind, Value) else vars(kind).get("backward")

        def told(node: Any, *arguments: Any, **options: Any) -> Any:
            self.begin([node])
            result = backward(node, *arguments, **options)
            self.end([node])
            return result

        watchers.append(self)
        try:
            if backward:  # another engine's, which does not tell
                kind.backward = told
            yield self
        finally:
            watchers.remove(self)
            if backward:
                kind.backward = backward
            self.finish()

    def report(self) -> Report:
        """All findings, below a line on the run."""
        losses = self.history.losses or [math.nan]
        key = "run" if self.findings else "fine" if self.history.losses else "none"
        known = {"first": f"{losses[0]:.4g}", "last": f"{losses[-1]:.4g}", "n": self._number}
        lines = [filled(self._texts[key], **known), *self.findings.values()]
        return Report("\n".join(lines))

    # ---- What the loop and the engine tell

    def begin(self, order: Sequence[Any]) -> None:
        """A backward pass begins: if parameters moved since the last one, that was a step."""
        if not isinstance(order[-1].data, Real):  # a program is being recorded by the compiler
            return
        if not self._values:
            self._own(_in_graph(order))
        now, step = self._numbers(), self._step
        if step and (now[0] != step.data or (any(step.grads) and not any(now[1]))):
            self._close(step, now)
        self._step = self._step or self._opened(now)

    def end(self, order: Sequence[Any]) -> None:
        """A backward pass has ended."""
        step, root = self._step, order[-1]
        if step is None or not isinstance(root.data, Real):
            return
        start, first, loss = perf_counter(), not step.passes, float(root.data)
        step.passes += 1
        step.loss = loss if first else step.loss + (loss - step.loss) / step.passes
        step.grads = [p.grad for p in self._values]
        step.is_stale = self._root() is root if first else step.is_stale
        self._root = weakref.ref(root)
        checked: list[Any] = [loss, *step.grads]
        if step.is_due and isinstance(root, Value):
            checked += [v.data for v in order]
            if not step.reached:
                look = Look(order, self._index)
                step.reached, step.look = bool(look.used), look if look.used or first else step.look
            known = variables(None) if first and step.number <= FIRST else {}  # it takes a while
            other = known.get("loss")
            if isinstance(other, Value) and other._prev and other is not root:
                step.printed = None if any(other is v for v in order) else other.data
            optimizers = [x for x in self._optimizers(known) if getattr(x, "momentum", True)]
            step.optimizer = weakref.ref(optimizers[0]) if optimizers else step.optimizer
            if step.number == 1 and first:
                own = (v for v in order if isinstance(v._chain_rule, Own))
                self.history.unchained = next((v._op for v in own if _ignores_upstream(v)), "")
        if not step.bad and not math.isfinite(sum(checked)):
            step.bad = self._first_bad(order)
        self._spent += perf_counter() - start

    def stepped(self, loss: float, function: Any, examples: Sequence[Any]) -> None:
        """A compiled function did a whole step. It may be faster than a list of all numbers.

        So these are listed for the steps that are judged, and some examples are run eagerly for the
        first step, at the end if the loss has hardly fallen, and else if there is time for it.
        """
        if not self._values:
            leaves = (leaf() for leaf in _look(function, examples, 0, {}).leaves)
            self._own(_in_graph([v for v in leaves if v is not None]))
        self._again, self._step = partial(_look, function, examples), None
        every = EVERY if self._number < 10 * EVERY else 10 * EVERY
        due = [n <= FIRST or n % every == 0 for n in (self._number + 1, self._number + 2)]
        now = self._numbers() if any(due) else self._last
        if due[0]:
            step = self._opened(self._last)
            step.before, step.grads, step.passes, step.loss = [0.0] * len(now[1]), now[1], 1, loss
            if step.number == 1 or self._may_look():
                step.look = self._look_again(step.number)
            self._close(step, now)
        else:
            self._number, self._last = self._number + 1, now
            self.history.losses.append(loss)

    def _look_again(self, first: int) -> Look | None:
        # At the graph of some examples, from this one on.
        start, look = perf_counter(), None
        with suppress(ArithmeticError, ValueError):  # eagerly, log(0) is an error
            look = self._again(first, self._index) if self._again else None
        self._spent += perf_counter() - start
        return look

    def turn(self) -> None:
        """The loop went round: a step is over, unless it collects gradients over several turns."""
        self._failed = ""
        if self._again and not self._step:  # compiled steps
            return
        now = self._numbers()
        self._step = step = self._step or self._opened(self._last)
        step.turns += 1
        step.left = now[1]
        if not step.passes or now[0] != step.data or not any(now[1]):
            self._close(step, now)

    def failed(self, op: str, operands: Sequence[Any]) -> None:
        """An operation raised an error; if the loop turns again, the program has caught it."""
        self._failed = self._formula(op, operands)
        if not self.history.looks and isinstance(operands[0], Value):
            self._step = self._step or self._opened(self._last)
            self._step.look = Look(topological_order(*operands), self._index)

    def finish(self) -> None:
        """The loop has ended."""
        step = self._step or (self._opened(self._numbers()) if self._failed else None)
        if step:
            if self._failed:
                step.bad = {"formula": self._failed, "result": self._texts["run.result.error"]}
            times = rules.TIMES if self._failed else max(1, step.turns)  # there are no more steps
            self._close(step, self._numbers(), times)
        if self.examples:
            self._evaluate(*self.examples)
        if self._again and (rules.stays(self.history) or rules.stalled(self.history)):
            looks = [look for start in range(3) if (look := self._look_again(start))]
            self.history.looks.clear()
            self.history.see(*looks)
            self._tell(self.history.step)
        if self._unjudged:
            self._judge(self._unjudged)
        elif self.examples and self.history.steps:  # with this accuracy
            self._tell(self.history.step)

    # ---- Steps

    def _numbers(self) -> Numbers:
        return [p.data for p in self._values], [p.grad for p in self._values]

    def _may_look(self) -> bool:
        return self._spent < SHARE * (perf_counter() - self._begin)

    def _opened(self, now: Numbers) -> Step:
        self._number += 1
        is_due = self._number <= FIRST or not self._number % EVERY or self._may_look()
        return Step(self._number, *now, grads=[0.0] * len(self._values), is_due=is_due)

    def _close(self, step: Step, now: Numbers, times: int = 1) -> None:
        start = perf_counter()
        step.after, step.left, self._last = now[0], step.left or now[1], now
        self._step = None
        self.history.losses.append(step.loss)
        self._unjudged = None if step.is_due or step.bad or not step.moved else step
        if not self._unjudged:
            self._judge(step, times)
        self._spent += perf_counter() - start

    def _judge(self, step: Step, times: int = 1) -> None:
        self.history.add(step)
        if step.number in (2, EVERY) or not (step.moved or self.history.updates):
            self._look_around()
        if self.examples and self._may_look():
            self._evaluate(*self.examples)
        self._tell(step, times)

    def _tell(self, step: Step, times: int = 1) -> None:
        is_late = step.number >= rules.TIMES or bool(step.bad)  # a cause takes three steps, too
        for finding in *rules.CAUSES, *rules.EFFECTS * is_late:
            name, gaps = finding.__name__, None
            if name not in self.findings and not (finding in rules.EFFECTS and self.findings):
                gaps = finding(self.history)
            self._times[name] = self._times[name] + times if gaps is not None else 0
            if gaps is not None and (finding in rules.AT_ONCE or self._times[name] >= rules.TIMES):
                told = {"step": step.number, **_told(name, gaps, self._texts)}
                self.findings[name] = filled(self._texts["run.finding"], **told)
                tqdm.write(self.findings[name])

    def _first_bad(self, order: Sequence[Any]) -> dict[str, str] | None:
        # The first operation that gave a number that is not finite, forward or backward.
        bad = (v for v in order if isinstance(v, Value) and not math.isfinite(v.data))
        if node := next(bad, None):
            if node in self._index:
                name = self.history.names[self._index[node]]
                formula = filled(self._texts["run.formula.update"], name=name)
            elif node._prev:
                formula = self._formula(node._op, node._prev)
            else:
                return {"key": "nonfinite.data", "result": f"{node.data}"}
            return {"formula": formula, "result": f"{node.data}"}
        for node in reversed(order):
            operands = getattr(node, "_prev", ())
            if not all(math.isfinite(operand.grad) for operand in operands):
                formula = self._formula(node._op, [*operands])
                formula = filled(self._texts["run.formula.backward"], formula=formula)
                return {"formula": formula, "result": self._texts["run.result.bad"]}
        return None

    def _formula(self, op: str, operands: Sequence[Any]) -> str:
        return described(op, operands, self._texts["run.formula"], ", ")

    def _optimizers(self, known: Mapping[str, object]) -> list[Optimizer]:
        own = {*map(id, self._values)}
        every = (x for x in known.values() if isinstance(x, Optimizer))
        return [x for x in every if not own.isdisjoint(map(id, x.parameters))]

    def _look_around(self) -> None:
        # What the program has, for a step that moved nothing.
        known, history = variables(None), self.history
        having = self._optimizers(known)
        history.rates = [x.lr for x in having]
        history.others = sum(isinstance(x, Optimizer) for x in known.values()) - len(having)
        history.decay = max((x.weight_decay for x in having), default=0.0)
        rows = {row for row, _ in history.seen}
        if len(rows) == 1 and not history.examples:
            row = [*rows.pop()]
            lists = [x for x in known.values() if isinstance(x, list) and row in x]
            history.examples = max(map(len, lists), default=0)
        files = (frame.f_code.co_filename for frame, _ in walk_stack(sys._getframe()))
        file = next((file for file in files if not file.startswith(OTHERS)), "")
        over = next(filter(OVER.match, linecache.getlines(file)), "")
        history.line = over.partition("#")[0].strip()

    def _evaluate(self, X: Any, y: Sequence[Any]) -> None:
        with no_grad():
            scores = [[getattr(s, "data", s) for s in flat(self.model(x))] for x in X]
        are_shares = all(0 <= s <= 1 for row in scores for s in row)
        with suppress(TypeError, ValueError):
            self.history.accuracy = accuracy(scores, y, 0.5 if are_shares else 0.0)
            self.history.largest_class = max(Counter(y).values()) / len(y)
            return
        self.examples = None  # not classes

    def _state(self) -> str:
        known = [("loss", f"{loss:.4g}") for loss in self.history.losses[-1:]]
        if self.history.accuracy is not None:
            known.append(("right", f"{self.history.accuracy:.0%}"))
        return ", ".join(filled(self._texts[f"run.state.{key}"], x=x) for key, x in known)


watch = Run  # as one calls it


def watch_script(file: FilePath) -> Run:
    """A run of a script as it is: a step ends when a parameter has moved."""
    sys.argv = [str(file)]
    with Run((), None).watching() as run:
        runpy.run_path(str(file), run_name="__main__")
    return run


def look_after(
    function: Callable[..., Any], examples: Any, parameters: Sequence[Any], losses: list[float]
) -> str:
    """What an eager look at some examples says after a training that did not learn, or ''."""
    names, values, _ = _parameters(parameters)
    history, index = History(names, losses=losses), {p: i for i, p in enumerate(values)}
    data, grads = [p.data for p in index], [p.grad for p in index]
    for start in range(3):
        with suppress(ArithmeticError, ValueError):
            look = _look(function, examples, start, index)
            history.add(Step(len(losses), data, grads, grads, data, grads, look=look))
    for finding in rules.AFTERWARDS if history.looks and not rules.solved(history) else ():
        if gaps := finding(history):
            return ": ".join(_told(finding.__name__, gaps, texts_of("watch")).values())
    return ""


def _look(function: Callable[..., Any], examples: Any, start: int, index: dict[Any, int]) -> Look:
    # At the graph of the sum over at most SOME examples, evenly spaced.
    are_several = [getattr(some, "shape", None) != () for some in examples]  # not one for all
    n = max((len(some) for some, are in zip(examples, are_several, strict=True) if are), default=1)
    skip = -(-n // SOME)
    rows = ([some[i] if are else some for some, are in zip(examples, are_several, strict=True)]
            for i in range(start % skip, n, skip))  # fmt: skip
    return Look(topological_order(sum(function(*map(plain, row)) for row in rows)), index)


def _told(name: str, gaps: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    # What is wrong, and how to mend it.
    shown = {k: f"{x:.3g}" if isinstance(x, float) else x for k, x in gaps.items()}
    key = gaps.get("key") or name
    return {part: filled(texts[f"{key}.{part}"], **shown) for part in ("what", "how")}


def _is_parameter(thing: object) -> bool:
    return hasattr(thing, "data") and hasattr(thing, "grad") and not hasattr(thing, "__len__")


def _parameters(model: Any) -> tuple[Sequence[str], Sequence[Any], Sequence[tuple[str, Any]]]:
    # Names (paths in the model, variables, or labels) and parameters; and pairs of them for those
    # in the model that parameters() leaves out.
    given = model.parameters() if callable(getattr(model, "parameters", None)) else model
    given = {id(p): p for p in given}.values() if isinstance(given, list) else given  # each once
    parameters = Parameters(given, "watch").all
    own, places, hidden = {*map(id, parameters)}, [], []
    for name, thing in [("", model)] * is_model(model) + [*variables(None).items()]:
        inside = [*found(thing, name, is_model(thing), _is_parameter)]
        places.append({id(p): path for path, p, _ in inside if id(p) in own})
        if is_model(thing) and places[-1] and (thing is model or not is_model(model)):
            hidden += [(path.partition(".")[2], p) for path, p, _ in inside if id(p) not in own]
    places.sort(key=lambda some: -sum("." in path for path in some.values()))  # models first
    paths = {key: path for some in reversed(places) for key, path in some.items()}
    if len({path.partition(".")[0] for path in paths.values()}) == 1:  # one model has all
        paths = {key: path.partition(".")[2] or path for key, path in paths.items()}
    names = []
    for i, p in enumerate(parameters):
        if not isinstance(p.data, Real):
            got = f"got {type(p.data).__name__} as the data of parameter {i}"
            raise TypeError(f"watch expects parameters with one number each, {got}")
        label = paths.get(id(p)) or getattr(p, "label", "")
        names.append(label or said("watch", "run.parameter", n=i))
    return names, parameters, hidden


def _in_graph(order: Sequence[Any]) -> list[Any]:
    # The parameters of the models among the variables, or else the leaves that get a gradient.
    models: list[Any] = [x for x in variables(None).values() if is_model(x)]
    given = {id(p): p for model in models for p in Parameters(model, "watch").all}
    leaves = [v for v in order if not v._prev and v.requires_grad]
    return [*given.values()] or leaves


def _ignores_upstream(node: Value) -> bool:
    # Whether a user's _backward gives the same contributions for every gradient of its result.
    with suppress(Exception):  # it does not only add to gradients
        first, second = (contributions(node, upstream) for upstream in (1.0, 2.0))
        return any(first) and first == second
    return False
