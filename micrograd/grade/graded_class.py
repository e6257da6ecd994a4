"""The class that is graded: what it does when a program runs.

>>> GradedClass(Value).observed("a = Value(3.0); b = a * a; b.backward()").grad
{'a': 6.0, 'b': 1.0}
"""

import difflib
import importlib
import inspect
import linecache
import math
import numbers
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from micrograd.engine import Value
from micrograd.program.foreign import LOOKED_FOR

ALIASES = {x: LOOKED_FOR[x] for x in ("data", "grad")}  # instead of the lecture's names
WALKS = re.compile(r"back|grad|prop", re.IGNORECASE)  # in the name of what computes all gradients
LONGEST = 300  # characters of any text
# What a class may raise. In a process of its own, that is all: Ctrl-C does not reach it.
caught: list[type[BaseException]] = [Exception, SystemExit]
LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")
ELSEWHERE = str(Path(__file__).parent), "<frozen", *map(sysconfig.get_path, LIBRARIES)


class Observed(NamedTuple):
    """Data and gradients of the Values of a program, by name."""

    data: dict[str, float]
    grad: dict[str, float]


class BrokenRule(Exception):  # noqa: N818 - not an error here, but a finding
    """A broken rule; its arguments are mistake, expected and found."""


class RaisedError(BrokenRule):
    """An error that the class raised, at a `place` in its code, '' if it was raised elsewhere.

    `calls` are the functions of the class that were running, the last one last; `on_purpose` tells
    whether an `assert` or a `raise` there made it.
    """

    def __init__(self, error: BaseException) -> None:
        self.kinds = {kind.__name__ for kind in type(error).__mro__}
        text = " ".join(f"{type(error).__name__}: {shown(error, LONGEST)}".split())
        self.text, self.place, line = printable(text.removesuffix(":")), "", ""
        frames = [(x.f_code, line) for x, line in traceback.walk_tb(error.__traceback__)]
        outside = [x for x in frames if not x[0].co_filename.startswith(ELSEWHERE)]
        self.calls = [code.co_name for code, _ in outside]
        for code, number in outside[-1:]:
            file = Path(code.co_filename).name
            self.place = printable(f"in {code.co_name}, line {number} of {file}")
            line = linecache.getline(code.co_filename, number) * (outside[-1] is frames[-1])
        # `assert insintance(x, int)` raises a NameError, which is a mistake
        said = re.search(r"(?:^|: )(?:(assert)\b|raise (?:\w+\.)*(\w+))", line.strip())
        meant = said and ("AssertionError" if said[1] else said[2])
        self.on_purpose = meant in (type(error).__name__, "NotImplemented")
        super().__init__("runs", "no error", self.text)


@contextmanager
def raising() -> Iterator[None]:
    """What the class raises in this block becomes a RaisedError."""
    try:
        yield
    except BrokenRule:
        raise
    except tuple(caught) as error:
        raise RaisedError(error) from None


class GradedClass:
    """The class that is graded; it gets the lecture's names if it has others, until `restore()`.

    Attributes:
        made: makes an instance from a number.
        walk: the name of the method that computes all gradients.
        starts_with_none: whether a gradient is None until there is one.
        is_started: whether `micrograd start` made its file, which has tasks.
    """

    def __init__(self, kind: type) -> None:
        self.kind, self.title = kind, printable(str(kind.__name__))
        self.made: Callable[[Any], Any] = kind
        self.added, self.walk, self.starts_with_none = list[str](), "backward", False
        with suppress(*caught):
            if "requires_grad" in inspect.signature(kind).parameters:
                self.made = partial(kind, requires_grad=True)  # as PyTorch keeps gradients
            one = self.made(2.5)
            for name, others in ALIASES.items():
                own = next((x for x in others if hasattr(one, x)), "")
                if own and not hasattr(one, name):
                    change = partial(lambda own, v, x: setattr(v, own, x), own)
                    setattr(kind, name, property(attrgetter(own), change))
                    self.added.append(name)
            self.walk = next(self._walks(), self.walk)
            self.starts_with_none = one.grad is None and self._reaches(self.walk)
        code = getattr(getattr(kind, "__init__", None), "__code__", None)
        lines = linecache.getlines(code.co_filename) if code else []
        self.is_started = any(line.lstrip().startswith("# Task ") for line in lines)

    def _walks(self) -> Iterator[str]:
        # `backward`; if there is none, methods without arguments that reach an operand.
        names = sorted(dir(self.kind), key=lambda name: not WALKS.search(name))
        for name in ["backward", *(name for name in names if not name.startswith("__"))]:
            method = getattr(self.kind, name, None)
            if inspect.isfunction(method) and (name == "backward" or self._reaches(name)):
                with suppress(TypeError, ValueError):
                    inspect.signature(method).bind(None)
                    yield name

    def _reaches(self, walk: str) -> bool:
        # Whether this method changes the gradient of an operand.
        a = self.made(3.0)
        with suppress(*caught):
            getattr(a + a, walk)()
        return bool(a.grad)

    def misspelt(self, method: str) -> str:
        """A special method that looks like this one, which the class lacks; '' if there is none."""
        own = [name for name in vars(self.kind) if name.startswith("_") and name.endswith("_")]
        if not method.startswith("__") or method in own:
            return ""
        strange = [name for name in own if not hasattr(int, name) and name not in dir(type)]
        return next(iter(difflib.get_close_matches(method, strange, 1, cutoff=0.8)), "")

    def others(self) -> list[str]:
        """The methods that no check knows: operations of the class's own, with their names."""
        known = {*dir(Value), self.walk, "zero_grad", "build_topo"}
        names = [name for name in vars(self.kind) if not name.startswith("_") and name not in known]
        return [name for name in names if inspect.isfunction(getattr(self.kind, name))]

    def restore(self) -> None:
        """Takes back the names that the class got."""
        for name in self.added:
            delattr(self.kind, name)

    def run(self, program: str, backward: bool = True) -> dict[str, Any]:
        """The instances in a program, by name; `backward=False` runs only the forward pass."""
        program = program.replace(".backward()", f".{self.walk}()")
        steps = [x for x in program.split("; ") if backward or not re.match(r"\w+\.", x)]
        given, made = dict[str, Any](Value=self.made), dict[str, Any]()
        if "np." in program:
            given["np"] = importlib.import_module("numpy")
        exec(compile("\n".join(steps), __file__, "exec"), given, made)  # never a mistake's place
        return made

    def observed(self, program: str, backward: bool = True) -> Observed:
        """Data and gradients after a program; a BrokenRule, if one of them is not a number."""
        with raising():
            made = self.run(program, backward)
        observed = Observed({}, {})
        for name, v in made.items():
            observed.data[name] = self.number(name, v, "data")
            observed.grad[name] = self.number(name, v, "grad")
            if name in leaves_of(program) and (count := operands(v)):
                rule = "fresh" if len({*map(id, made.values())}) == len(made) else "result"
                raise BrokenRule(rule, f"{name}._prev is empty", f"{name}._prev holds {count}")
        return observed

    def number(self, name: str, v: Any, word: str) -> float:
        """The data or grad of what a program calls by this name; an array of one is a number."""
        with raising():
            x: Any = self if type(v).__module__ == "numpy" else getattr(v, word, self)
            is_array = getattr(x, "ndim", None) == 0 or getattr(x, "size", None) == 1
            is_number = is_array or isinstance(x, numbers.Real)
            number = float(x.item() if is_array else x) if is_number else math.nan
        if x is self:
            what = f"{name} is a {type(v).__name__}, {shown(v, 40)}, without .{word}"
            raise BrokenRule("result", f"{name} is a {self.title}", what)
        if x is None and word == "grad" and self.starts_with_none:  # as in PyTorch
            return 0.0
        if not is_number:
            what = f"{name}.{word} is a {type(x).__name__}, {shown(x, 60)}"
            raise BrokenRule("number", f"{name}.{word} is a number", what)
        return number

    def error_in(self, program: str, backward: bool = False) -> RaisedError | None:
        """The error that a program raises, or None."""
        try:
            self.observed(program, backward)
        except BrokenRule as found:
            return found if isinstance(found, RaisedError) else None
        return None

    def gradients(self, program: str, **before: float) -> dict[str, float]:
        """Gradients after a program, empty if it raises an error.

        Those in `before` are set right before its last step.
        """
        *steps, last = program.split("; ")
        given = (f"{name}.grad = {x}" for name, x in before.items())
        with suppress(BrokenRule):
            return self.observed("; ".join([*steps, *given, last])).grad
        return {}

    def tried(self, default: Any, program: str) -> Any:
        """What the last step of a program names, or the default if the class raises an error."""
        with suppress(*caught):
            return [*self.run(program).values()][-1]
        return default

    def holds_operands(self, program: str) -> bool:
        """Whether each Value in a program but the last is in the _prev of another one."""
        made = self.run(program, backward=False)
        held = {id(x) for v in made.values() if operands(v) for x in v._prev}
        return all(id(v) in held for name, v in made.items() if name != root_of(program))

    def calls(self, doublings: int) -> int:
        """The number of function calls in backward() on a graph with 2^doublings paths."""
        events: list[str] = []
        root = self.run("a = Value(1.0)" + "; a = a + a" * doublings)["a"]
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            with raising():
                getattr(root, self.walk)()
        finally:
            sys.setprofile(None)
        return events.count("call") + events.count("c_call")


@cache
def leaves_of(program: str) -> tuple[str, ...]:
    """The names of the Values that a program creates from numbers.

    >>> leaves_of("a = Value(3.0); b = a + a; c = Value(5.0)")
    ('a', 'c')
    """
    return tuple(step.partition(" =")[0] for step in program.split("; ") if " = Value(" in step)


def root_of(program: str) -> str:
    """The name of the Value on which backward() is called last, or of the last Value."""
    return re.split(r"[ .]", program.split("; ")[-1])[0]


def operands(v: Any) -> int:
    """The number of operands in an instance's _prev, 0 if it has none."""
    with suppress(*caught):
        return len(v._prev)  # len, not a truth test: it may be an array
    return 0


def printable(text: str) -> str:
    """A text of a class or a file with control characters and lone surrogates escaped."""
    letters = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(letters)[:LONGEST]


def shown(x: object, most: int) -> str:
    """The text of an object, cut to `most` characters."""
    try:
        return printable(re.sub(r" at 0x[0-9a-fA-F]+>", ">", str(x))[:most])
    except Exception:  # from a broken __repr__
        return "an object that cannot be printed"
