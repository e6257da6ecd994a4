"""The class that is graded: its names, and what it does when a program runs.

A Subject answers questions in plain dicts, lists, strings and numbers, so the class may live in
this process or in another. An error that the class raises is an answer too. This file imports only
the standard library, because it also runs where `micrograd` is the learner's own package.

    >>> from micrograd.engine import Value
    >>> Subject(Value).ask("observed", "a = Value(3.0); b = a * a; b.backward()")["grad"]
    {'a': 6.0, 'b': 1.0}
"""

from __future__ import annotations

import filecmp
import inspect
import numbers
import re
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

ALIASES = {  # the lecture's name first, then others that learners use
    "data": ("data", "value", "val", "v", "x", "_data", "_value", "number", "scalar"),
    "grad": ("grad", "gradient", "g", "_grad", "_gradient", "derivative", "adjoint", "dv"),
    "backward": ("backward", "backprop", "backpropagate", "back_propagate", "back_prop", "back",
                 "backpropagation", "backward_pass", "run_backward", "compute_gradients"),
}  # fmt: skip
MOST = 300  # characters: the limit for a text that comes from the class
HERE = Path(__file__).resolve().parent
OUR_ENGINE = HERE.parent / "engine.py"


class Subject:
    """A class that answers questions about itself.

    Args:
        kind: the class.
        told: its names for 'data', 'grad' and 'backward'; names not given are guessed.

    >>> class Scalar:
    ...     def __init__(self, value):
    ...         self.value, self.grad = value, 0.0
    >>> Subject(Scalar).names
    {'data': 'value', 'grad': 'grad', 'backward': 'backward'}
    """

    def __init__(self, kind: type, told: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.arguments = _needed_arguments(kind)
        self.choices: dict[str, list[str]] = {}
        self.names = {name: (told or {}).get(name) or self._guessed(name) for name in ALIASES}

    def ask(self, what: str, *arguments: Any) -> Any:
        """The answer to a question, the name of a method below; or the error that the class raises.

        >>> from micrograd.engine import Value
        >>> Subject(Value).ask("observed", "a = Value(-1.0); b = a.log()")["error"]["kinds"][0]
        'ValueError'
        """
        try:
            return getattr(self, what)(*arguments)
        except KeyboardInterrupt:
            raise  # from the user, if the class runs in the user's process
        except BaseException as error:
            return {"error": failure(error)}

    def made(self, number: Any) -> Any:
        """A new instance."""
        return self.kind(number, **self.arguments)

    def _guessed(self, name: str) -> str:
        with suppress(Exception):
            one = self.made(2.5)
            if hasattr(one, name):
                return name
            test = {"data": lambda x: _is_number(x) and x == 2.5, "grad": _is_number}
            there = [x for x in ALIASES[name] if test.get(name, callable)(getattr(one, x, None))]
            if len(there) == 1:
                return there[0]
            self.choices[name] = there
        return name

    # ---- Questions

    def described(self) -> dict[str, Any]:
        """The name of the class, its names for data, grad and backward(), and what it lacks."""
        missing: list[str] = []
        with suppress(Exception):
            one = self.made(2.5)
            missing = [name for name, found in self.names.items() if not hasattr(one, found)]
        return {
            "title": str(self.kind.__name__),
            "names": self.names,
            "arguments": "".join(f", {name}={x}" for name, x in self.arguments.items()),
            "missing": missing,
            "methods": dir(self.kind),
            "choices": self.choices,
        }

    def observed(self, program: str, backward: bool = True) -> dict[str, Any]:
        """Data and gradients after a program, keyed by name; or the broken rule."""
        data: dict[str, float] = {}
        grad: dict[str, float] = {}
        for name, v in self.run(program, backward).items():
            for word, by_name in (("data", data), ("grad", grad)):
                attribute = self.names[word]
                x: Any = getattr(v, attribute, self)
                if x is self:
                    what = f"{name} is a {_kind(v)}, {shown(v, 40)}, without .{attribute}"
                    return {"broken": ["result", f"{name} is a {self.kind.__name__}", what]}
                if not _is_number(x):
                    what = f"{name}.{attribute} is a {_kind(x)}, {shown(x, 60)}"
                    return {"broken": ["number", f"{name}.{attribute} is a number", what]}
                by_name[name] = float(x)
            if name in leaves_of(program) and (count := operands(v)):
                found = f"{name}._prev holds {count}"
                return {"broken": ["fresh", f"{name}._prev is empty", found]}
        return {"data": data, "grad": grad}

    def last(self, program: str) -> Any:
        """What the last step of a program names: a number, a text or a list of these.

        >>> from micrograd.engine import Value
        >>> Subject(Value).last("a = Value(3.0); b = a * a; n = len(b._prev)")
        2
        """
        return [*self.run(program).values()][-1]

    def calls(self, doublings: int) -> int:
        """The number of function calls in backward() on a graph with 2^doublings paths."""
        count = 0

        def counted(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        root = self.made(1.0)
        for _ in range(doublings):
            root = root + root
        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            getattr(root, self.names["backward"])()
        finally:
            sys.setprofile(before)
        return count

    def run(self, program: str, backward: bool = True) -> dict[str, Any]:
        """The instances in a program, keyed by name; `backward=False` runs only the forward pass.

        >>> from micrograd.engine import Value
        >>> Subject(Value).run("a = Value(3.0); b = a + a; b.backward()", backward=False)["a"].grad
        0
        """
        steps = [x for x in program.split("; ") if backward or not re.match(r"\w+\.", x)]
        word = r"\.(data|grad|backward)\b"
        text = re.sub(word, lambda found: f".{self.names[found[1]]}", "; ".join(steps))
        names: dict[str, Any] = {"Value": self.made}
        if "np." in program:
            import numpy

            names["np"] = numpy
        made: dict[str, Any] = {}
        exec(compile(text, __file__, "exec"), names, made)  # ours: never the place of a mistake
        return made


@cache
def leaves_of(program: str) -> tuple[str, ...]:
    """The names of the Values that a program creates from numbers.

    >>> leaves_of("a = Value(3.0); b = a + a; c = Value(5.0)")
    ('a', 'c')
    """
    return tuple(step.partition(" =")[0] for step in program.split("; ") if " = Value(" in step)


# ---- Facts about classes, objects and errors


def is_ours(kind: Any) -> bool:
    """Whether the code of a class is in our engine's file, or in another copy of it.

    >>> from micrograd.engine import Value
    >>> is_ours(Value), is_ours(type("Mine", (Value,), {})), is_ours(float)
    (True, True, False)
    """
    members = (x for base in getattr(kind, "__mro__", ()) for x in list(vars(base).values()))
    return any(_is_our_engine(x.__code__.co_filename) for x in members if hasattr(x, "__code__"))


@cache
def _is_our_engine(path: str) -> bool:
    with suppress(OSError, ValueError):
        return filecmp.cmp(path, OUR_ENGINE, shallow=False)
    return False


def _needed_arguments(kind: Any) -> dict[str, Any]:
    # A class that follows PyTorch keeps gradients only on request.
    with suppress(TypeError, ValueError):
        for name, parameter in inspect.signature(kind).parameters.items():
            if re.match("requires?_?grad", name.lower()) and parameter.default is not True:
                return {name: True}
    return {}


def _is_number(x: Any) -> bool:
    # np.zeros_like(2.0) is an array without dimensions: it counts as a number.
    return isinstance(x, numbers.Real) or getattr(x, "ndim", None) == 0


def operands(v: Any) -> int:
    """The number of operands in an instance's _prev, 0 if it has none."""
    with suppress(Exception):
        return len(v._prev)  # len, not a truth test: it may be an array
    return 0


def _kind(x: Any) -> str:
    return str(type(x).__name__)[:60]


def shown(x: Any, most: int) -> str:
    """The text of an object, cut to `most` characters.

    >>> shown([1, 2, 3], 4)
    '[1, '
    """
    try:
        return re.sub(r" at 0x[0-9a-fA-F]+>", ">", str(x)[: 9 * most])[:most]
    except KeyboardInterrupt:
        raise  # by the user
    except BaseException:  # a broken __repr__ may even exit
        return "an object that cannot be printed"


def failure(error: BaseException) -> dict[str, Any]:
    """The text of an error, its place in the code of the class, and whether a `raise` caused it.

    >>> failure(ValueError("no number"))["text"]
    'ValueError: no number'
    """
    frames = traceback.extract_tb(error.__traceback__)
    outside = [x for x in frames if Path(x.filename).parent != HERE and x.filename[:7] != "<frozen"]
    place, line = "", ""
    if outside:
        at = outside[-1]
        place = f"in {at.name}, line {at.lineno} of {Path(at.filename).name}"
        line = (at is frames[-1] and at.line) or ""
    return {
        "kinds": [str(kind.__name__) for kind in type(error).__mro__],
        "text": " ".join(f"{_kind(error)}: {shown(error, MOST)}".split()).removesuffix(":")[:MOST],
        "place": place[:MOST],
        "on_purpose": re.search(r"(^|: )(raise|assert)\b", line) is not None,
    }
