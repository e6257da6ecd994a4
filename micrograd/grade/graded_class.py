"""The class that is graded: its names, and what it does when a program runs.

>>> from micrograd.engine import Value
>>> GradedClass(Value).observed("a = Value(3.0); b = a * a; b.backward()").grad
{'a': 6.0, 'b': 1.0}
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import numbers
import re
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from micrograd.engine import Value

ALIASES = {  # the lecture's name first, then others that learners use
    "data": ("data", "value", "val", "v", "x", "_data", "_value", "number", "scalar"),
    "grad": ("grad", "gradient", "g", "_grad", "_gradient", "derivative", "adjoint", "dv"),
    "backward": ("backward", "backprop", "backpropagate", "back_propagate", "back_prop", "back",
                 "backpropagation", "backward_pass", "run_backward", "compute_gradients"),
}  # fmt: skip
LONGEST = 300  # characters of any text
STEP = 1e-4  # for central differences: their error is about STEP^2 = 1e-8, rounding adds 1e-12
TOLERANCE = 1e-4  # also for engines that compute with floats of 7 digits, as NumPy's float32
HERE = str(Path(__file__).parent)

Numbers = Mapping[str, float]  # maps names of Values in a program to data or gradients


class Observed(NamedTuple):
    """Data and gradients of the Values of a program."""

    data: Numbers
    grad: Numbers


class BrokenRule(Exception):  # noqa: N818 - not an error here, but a finding
    """A broken rule; its arguments are mistake, expected and found."""


class RaisedError(Exception):
    """An error that the class raised; its argument is what `failure` says of it."""


class GradedClass:
    """The class that is graded.

    Attributes:
        kind: the class itself.
        title: its name.
        arguments: what it needs besides the number, for example {'requires_grad': True}.
        names: its names for 'data', 'grad' and 'backward'.
        lacks_backward: whether it has no method of this name.
        is_started: whether `micrograd start` made its file, which has tasks.

    Args:
        kind: the class.
        told: its names for 'data', 'grad' and 'backward'; names not given are guessed.

    >>> class Scalar:
    ...     def __init__(self, value):
    ...         self.value, self.grad = value, 0.0
    >>> GradedClass(Scalar).names
    {'data': 'value', 'grad': 'grad', 'backward': 'backward'}
    """

    def __init__(self, kind: type, told: Mapping[str, str] | None = None) -> None:
        self.kind, self.title = kind, printable(str(kind.__name__))
        self.arguments = _needed_arguments(kind)
        one: Any = None
        with suppress(Exception):
            one = self.made(2.5)
        self.names = {name: (told or {}).get(name) or _guessed(name, one) for name in ALIASES}
        self.lacks_backward = one is not None and not hasattr(one, self.names["backward"])
        code = getattr(kind.__init__, "__code__", None)  # type: ignore[misc]
        lines = linecache.getlines(code.co_filename) if code else []
        self.is_started = any(line.startswith("    # Task ") for line in lines)

    def made(self, number: Any) -> Any:
        """A new instance."""
        return self.kind(number, **self.arguments)

    def remark(self, is_file: bool = False) -> str:
        """A sentence about the names that differ from the lecture's, '' if none do."""
        names = self.names.items()
        used = [f".{found} is used as .{name}" for name, found in names if found != name]
        if used:
            change = "--data, --grad and --backward" if is_file else "names="
            used[-1] += f" (to change that, use {change})"
        if self.arguments:
            used.append(f"every Value is created with {self._listed().removeprefix(', ')}")
        return f"Here {' and '.join(used)}." if used else ""

    def spelled(self, program: str) -> str:
        """A program with the names that the class uses, '' if they are the lecture's.

        >>> GradedClass(type("Scalar", (), {})).spelled("a = Value(3.0); b = a + a")
        'a = Scalar(3.0); b = a + a'
        """
        number = r"\bValue\(((?:[^()]|\([^()]*\))*)\)"
        text = re.sub(number, rf"{self.title}(\g<1>{self._listed()})", program)
        for name in ("grad", "backward"):
            text = re.sub(rf"\.{name}\b", f".{self.names[name]}", text)
        return text if text != program else ""

    def _listed(self) -> str:
        return "".join(f", {name}={x}" for name, x in self.arguments.items())

    def text(self, attribute: str, names: list[str], values: Numbers) -> str:
        """Numbers as the report shows them, for example 'a.grad = 2'."""
        attribute = self.names[attribute]
        return ", ".join(f"{name}.{attribute} = {values[name]:.6g}" for name in names)

    # ---- Running programs

    def run(self, program: str, backward: bool = True) -> dict[str, Any]:
        """The instances in a program, keyed by name; `backward=False` runs only the forward pass.

        >>> from micrograd.engine import Value
        >>> program = "a = Value(3.0); b = a + a; b.backward()"
        >>> GradedClass(Value).run(program, backward=False)["a"].grad
        0
        """
        steps = [x for x in program.split("; ") if backward or not re.match(r"\w+\.", x)]
        word = r"\.(data|grad|backward)\b"
        text = re.sub(word, lambda found: f".{self.names[found[1]]}", "; ".join(steps))
        names: dict[str, Any] = {"Value": self.made}
        if "np." in program:
            names["np"] = importlib.import_module("numpy")
        made: dict[str, Any] = {}
        exec(compile(text, __file__, "exec"), names, made)  # ours: never the place of a mistake
        return made

    def observed(self, program: str, backward: bool = True) -> Observed:
        """Data and gradients after a program.

        Raises:
            RaisedError: the program raises an error.
            BrokenRule: a result is not a Value, or its data or grad is not a number.
        """
        try:
            made = self.run(program, backward)
        except (Exception, SystemExit) as error:
            raise RaisedError(failure(error)) from None
        data: dict[str, float] = {}
        grad: dict[str, float] = {}
        for name, v in made.items():
            for word, by_name in (("data", data), ("grad", grad)):
                attribute = self.names[word]
                x: Any = getattr(v, attribute, self)
                if x is self:
                    what = f"{name} is a {type(v).__name__}, {shown(v, 40)}, without .{attribute}"
                    raise BrokenRule("result", f"{name} is a {self.title}", what)
                if not _is_number(x):
                    what = f"{name}.{attribute} is a {type(x).__name__}, {shown(x, 60)}"
                    raise BrokenRule("number", f"{name}.{attribute} is a number", what)
                by_name[name] = float(x)
            if name in leaves_of(program) and (count := operands(v)):
                raise BrokenRule("fresh", f"{name}._prev is empty", f"{name}._prev holds {count}")
        return Observed(data, grad)

    def error_in(self, program: str, backward: bool = False) -> Any:
        """What `failure` says of the error that a program raises, or None."""
        with suppress(BrokenRule):
            try:
                self.observed(program, backward)
            except RaisedError as error:
                return error.args[0]
        return None

    def gradients(self, program: str) -> Numbers:
        """Gradients after a program, empty if it raises an error."""
        with suppress(RaisedError, BrokenRule):
            return self.observed(program).grad
        return {}

    def tried(self, default: Any, program: str) -> Any:
        """What the last step of a program names, or the default if the class raises an error."""
        with suppress(Exception, SystemExit):
            return [*self.run(program).values()][-1]
        return default

    def calls(self, doublings: int) -> int:
        """The number of function calls in backward() on a graph with 2^doublings paths."""
        events: list[str] = []
        root = self.made(1.0)
        for _ in range(doublings):
            root = root + root
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            getattr(root, self.names["backward"])()
        finally:
            sys.setprofile(None)
        return events.count("call") + events.count("c_call")

    def slopes(self, program: str) -> Numbers:
        """Central differences of the root of a program with respect to each leaf.

        >>> from micrograd.engine import Value
        >>> round(GradedClass(Value).slopes("a = Value(3.0); b = a * a; b.backward()")["a"], 6)
        6.0
        """

        def data(leaf: str, shift: float) -> float:
            moved = program.replace(f"{leaf} = Value(", f"{leaf} = Value({shift} + ")
            return self.observed(moved, backward=False).data[root_of(program)]

        return {x: (data(x, STEP) - data(x, -STEP)) / (2 * STEP) for x in leaves_of(program)}


@cache
def leaves_of(program: str) -> tuple[str, ...]:
    """The names of the Values that a program creates from numbers.

    >>> leaves_of("a = Value(3.0); b = a + a; c = Value(5.0)")
    ('a', 'c')
    """
    return tuple(step.partition(" =")[0] for step in program.split("; ") if " = Value(" in step)


def root_of(program: str) -> str:
    """The name of the Value on which backward() is called last, or of the last Value.

    >>> root_of("a = Value(3.0); b = a + a; b.backward(); a.grad = 0.0; b.backward()")
    'b'
    """
    last = program.split("; ")[-1]
    return last.partition(" ")[0].partition(".")[0]


def near(found: float, expected: float, tolerance: float = TOLERANCE) -> bool:
    """Whether two numbers agree; the tolerance is relative if the expected one is above 1.

    >>> near(1e6 + 0.5, 1e6), near(1.5, 1.0)
    (True, False)
    """
    return abs(found - expected) <= tolerance * max(1.0, abs(expected))


# ---- Facts about classes, objects and errors


def is_ours(kind: Any) -> bool:
    """Whether something is the class of this package, or one that inherits from it."""
    return isinstance(kind, type) and issubclass(kind, Value)


def _needed_arguments(kind: Any) -> dict[str, Any]:
    # A class that follows PyTorch keeps gradients only on request.
    with suppress(TypeError, ValueError):
        for name, parameter in inspect.signature(kind).parameters.items():
            if re.match("requires?_?grad", name.lower()) and parameter.default is not True:
                return {name: True}
    return {}


def _guessed(name: str, one: Any) -> str:
    """The only attribute of an instance that may be meant, if it has none with the usual name."""
    test = {"data": lambda x: _is_number(x) and x == 2.5, "grad": _is_number}.get(name, callable)
    there = [x for x in ALIASES[name] if test(getattr(one, x, None))]
    return there[0] if len(there) == 1 and not hasattr(one, name) else name


def _is_number(x: Any) -> bool:
    # np.zeros_like(2.0) is an array without dimensions: it counts as a number.
    return isinstance(x, numbers.Real) or getattr(x, "ndim", None) == 0


def operands(v: Any) -> int:
    """The number of operands in an instance's _prev, 0 if it has none."""
    with suppress(Exception):
        return len(v._prev)  # len, not a truth test: it may be an array
    return 0


def printable(text: str) -> str:
    r"""A text of a class or a file with control characters and lone surrogates escaped.

    >>> print(printable("a\x1b[2Jb\ud800"))
    a\x1b[2Jb\ud800
    """
    letters = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(letters)[:LONGEST]


def shown(x: Any, most: int) -> str:
    """The text of an object, cut to `most` characters.

    >>> shown([1, 2, 3], 4)
    '[1, '
    """
    try:
        return printable(re.sub(r" at 0x[0-9a-fA-F]+>", ">", str(x))[:most])
    except Exception:  # from a broken __repr__
        return "an object that cannot be printed"


def failure(error: BaseException) -> dict[str, Any]:
    """The text of an error, its place in the code of the class, and whether a `raise` caused it.

    >>> failure(ValueError("no number"))["text"]
    'ValueError: no number'
    """
    frames = [(x.f_code, line) for x, line in traceback.walk_tb(error.__traceback__)]
    outside = [x for x in frames if not x[0].co_filename.startswith((HERE, "<frozen"))]
    place, line = "", ""
    if outside:
        code, number = outside[-1]
        place = f"in {code.co_name}, line {number} of {Path(code.co_filename).name}"
        line = linecache.getline(code.co_filename, number) * (outside[-1] is frames[-1])
    text = " ".join(f"{type(error).__name__}: {shown(error, LONGEST)}".split())
    return {
        "kinds": [kind.__name__ for kind in type(error).__mro__],
        "text": printable(text.removesuffix(":")),
        "place": printable(place),
        "on_purpose": re.search(r"(^|: )(raise|assert)\b", line.strip()) is not None,
    }
