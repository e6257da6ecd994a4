"""The class that is graded: what it calls things, and what it does when a program runs.

A Subject answers questions in plain dicts, lists, strings and numbers, so that the class may live
in this process or in another. What the class raises is an answer, too. This file imports nothing
but the standard library, by no name of ours: it also runs where `micrograd` is the learner's own.

    >>> from micrograd.engine import Value
    >>> Subject(Value).observed("a = Value(3.0); b = a * a; b.backward()")["grad"]
    {'a': 6.0, 'b': 1.0}
"""

from __future__ import annotations

import ast
import inspect
import numbers
import opcode
import operator
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow, ast.USub: operator.neg,
}  # fmt: skip
ALIASES = {  # the lecture's name first, then those that learners give to the same
    "data": ("data", "value", "val", "v", "x", "_data", "_value", "number", "scalar"),
    "grad": ("grad", "gradient", "g", "_grad", "_gradient", "derivative", "adjoint", "dv"),
    "backward": ("backward", "backprop", "backpropagate", "back_propagate", "back_prop", "back",
                 "backpropagation", "backward_pass", "run_backward", "compute_gradients"),
}  # fmt: skip
MOST = 300  # characters of a text that the class wrote
HERE = Path(__file__).resolve().parent
OUR_ENGINE = HERE.parent / "engine.py"
RAISE = opcode.opmap["RAISE_VARARGS"]  # what `raise` and `assert` compile to


class Subject:
    """A class that is asked what it does.

    Args:
        kind: the class.
        told: names in the class for 'data', 'grad' and 'backward'; those left out are looked for.

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
        self.names = {name: self._name(name, told or {}) for name in ALIASES}

    def ask(self, what: str, *arguments: Any) -> Any:
        """The answer to one of the questions below, by the name of its method.

        >>> from micrograd.engine import Value
        >>> Subject(Value).ask("lacks", ["exp", "sinh"])
        ['sinh']
        """
        return getattr(self, what)(*arguments)

    def made(self, number: Any) -> Any:
        """A new instance.

        >>> from fractions import Fraction
        >>> Subject(Fraction).made(2)
        Fraction(2, 1)
        """
        return self.kind(number, **self.arguments)

    def _name(self, name: str, told: Mapping[str, str]) -> str:
        if told.get(name):
            return told[name]
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
        """What the class is called, and what it calls things.

        >>> from micrograd.engine import Value
        >>> Subject(Value).described()["title"]
        'Value'
        """
        missing: list[str] = []
        with suppress(Exception):
            one = self.made(2.5)
            missing = [name for name, found in self.names.items() if not hasattr(one, found)]
        return {
            "title": printable(str(self.kind.__name__)),
            "names": {name: printable(found) for name, found in self.names.items()},
            "arguments": "".join(f", {name}={x}" for name, x in self.arguments.items()),
            "missing": missing,
            "choices": self.choices,
        }

    def lacks(self, methods: Iterable[str]) -> list[str]:
        """Those of these methods that the class does not have.

        >>> Subject(float).lacks(["__add__", "exp"])
        ['exp']
        """
        return [name for name in methods if not hasattr(self.kind, name)]

    def observed(self, program: str, backward: bool = True) -> dict[str, Any]:
        """Numbers and gradients that a program leaves, by name; or what is broken, or an error.

        >>> from micrograd.engine import Value
        >>> sorted(Subject(Value).observed("a = Value(3.0); b = a + a", backward=False))
        ['coarse', 'data', 'grad']
        >>> Subject(Value).observed("a = Value(-1.0); b = a.log()")["error"]["kinds"][0]
        'ValueError'
        """
        try:
            return self._observed(program, backward)
        except KeyboardInterrupt:
            raise  # by the user, in the process that is theirs
        except BaseException as error:
            return {"error": failure(error)}

    def _observed(self, program: str, backward: bool) -> dict[str, Any]:
        data: dict[str, float] = {}
        grad: dict[str, float] = {}
        coarse = False
        leaves = leaves_of(program)
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
                coarse |= getattr(getattr(x, "dtype", None), "itemsize", 8) < 8
            if name in leaves and (count := operands(v)):
                found = f"{name}._prev holds {count}"
                return {"broken": ["fresh", f"{name}._prev is empty", found]}
        return {"data": data, "grad": grad, "coarse": coarse}

    def composed(self, program: str) -> list[Any]:
        """What the last result says of itself: its _op, and whether an operand is a result, too.

        >>> from micrograd.engine import Value
        >>> Subject(Value).composed("a = Value(3.0); b = a * -a")
        ['*', True]
        """
        with suppress(Exception, SystemExit):
            *_, out = self.run(program, backward=False).values()
            inner = any(operands(v) for v in out._prev)
            return [out._op if isinstance(out._op, str) else "", inner]
        return ["", False]

    def calls(self, doublings: int) -> dict[str, Any]:
        """The work of backward() on a graph of 2^doublings paths, in calls of functions.

        >>> from micrograd.engine import Value
        >>> Subject(Value).calls(12)["calls"] < 20 * Subject(Value).calls(3)["calls"]
        True
        """
        count = 0

        def counted(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        before = sys.getprofile()
        try:
            root = self.made(1.0)
            for _ in range(doublings):
                root = root + root
            backward = getattr(root, self.names["backward"])
            sys.setprofile(counted)
            backward()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return {"error": failure(error)}
        finally:
            sys.setprofile(before if callable(before) else None)
        return {"calls": count}

    def is_ours(self) -> bool:
        """Whether the class is our own, hands out ours, or lets ours do its work.

        >>> from micrograd.engine import Value
        >>> Subject(Value).is_ours(), Subject(float).is_ours()
        (True, False)
        """
        engine, used = str(OUR_ENGINE), set[str]()

        def watched(frame: Any, event: str, argument: Any) -> None:
            used.add(frame.f_code.co_filename)

        before = sys.getprofile()
        sys.setprofile(watched)
        try:
            made = self.run("a = Value(3.0); b = a * a; c = b + a; c.backward()")
        except (Exception, SystemExit):
            made = {}
        finally:
            sys.setprofile(before if callable(before) else None)
        ours = any(is_ours(kind) for kind in (self.kind, *map(type, made.values())))
        return ours or any(_resolved(file) == engine for file in used)

    def calls_of_closure(self, program: str) -> int:
        """How often backward() calls the _backward of the root; 0 where there is no such function.

        >>> Subject(float).calls_of_closure("a = Value(3.0)")
        0
        """
        calls = list[None]()
        with suppress(Exception, SystemExit):
            *_, root = self.run(program, backward=False).values()
            before = root._backward

            def counting() -> None:
                calls.append(None)
                before()

            root._backward = counting
            getattr(root, self.names["backward"])()
        return len(calls)

    # ---- Programs

    def run(self, program: str, backward: bool = True) -> dict[str, Any]:
        """The instances that a program makes, by name; without gradients if so asked.

        >>> from micrograd.engine import Value
        >>> Subject(Value).run("a = Value(3.0); b = a + a; b.backward()", backward=False)["a"].grad
        0
        """
        names: dict[str, Any] = {"Value": self.made, "abs": abs, "sum": sum}
        if "np." in program:
            import numpy

            names["np"] = numpy
        made = {}
        for step in steps_of(program):
            match step:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    names[name] = made[name] = self._evaluated(value, names)
                case ast.Assign(targets=[ast.Attribute(value=owner, attr=name)], value=value):
                    if backward:
                        number = self._evaluated(value, names)
                        setattr(self._evaluated(owner, names), self.names.get(name, name), number)
                case ast.Expr(value=call) if backward:
                    self._evaluated(call, names)
        return made

    def _evaluated(self, node: Any, names: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=x):
                return x
            case ast.Name(id=name):
                return names[name]
            case ast.List(elts=elements):
                return [self._evaluated(element, names) for element in elements]
            case ast.Attribute(value=owner, attr=name):
                name = self.names.get(name, name)
                return getattr(self._evaluated(owner, names), name)
            case ast.UnaryOp(op=op, operand=a):
                return OPERATORS[type(op)](self._evaluated(a, names))
            case ast.BinOp(left=a, op=op, right=b):
                return OPERATORS[type(op)](self._evaluated(a, names), self._evaluated(b, names))
            case ast.Call(func=function, args=arguments):
                called = self._evaluated(function, names)
                return called(*[self._evaluated(x, names) for x in arguments])
        raise SyntaxError(f"no part of the programs here: {ast.dump(node)}")


@cache
def steps_of(program: str) -> list[ast.stmt]:
    """The statements of a program.

    >>> len(steps_of("a = Value(3.0); b = a + a"))
    2
    """
    return ast.parse(program).body


@cache
def leaves_of(program: str) -> tuple[str, ...]:
    """The names of the Values that a program makes of numbers.

    >>> leaves_of("a = Value(3.0); b = a + a; c = Value(5.0)")
    ('a', 'c')
    """
    return tuple(step.partition(" =")[0] for step in program.split("; ") if " = Value(" in step)


# ---- What a class is and says


def is_ours(kind: Any) -> bool:
    """Whether a class is our Value, a subclass of it, a copy of it, or made of its methods.

    >>> from micrograd.engine import Value
    >>> is_ours(Value), is_ours(type("Mine", (Value,), {})), is_ours(float)
    (True, True, False)
    """
    engine = str(OUR_ENGINE)
    for base in getattr(kind, "__mro__", ()):
        methods = (getattr(x, "__code__", None) for x in list(vars(base).values()))
        if any(code and _resolved(code.co_filename) == engine for code in methods):
            return True
        words = base.__doc__ if isinstance(base.__doc__, str) else ""
        if len(words) > 200 and _squeezed(words) in _squeezed(_our_text()):
            return True
    return False


@cache
def _resolved(path: str) -> str:
    with suppress(OSError, ValueError):
        return str(Path(path).resolve())
    return path


@cache
def _our_text() -> str:
    return OUR_ENGINE.read_text(encoding="utf-8")


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _needed_arguments(kind: Any) -> dict[str, Any]:
    # Gradients are kept on demand alone, where a class follows PyTorch.
    with suppress(TypeError, ValueError):
        parameter = inspect.signature(kind).parameters.get("requires_grad")
        if parameter is not None and parameter.default is not True:
            return {"requires_grad": True}
    return {}


def _is_number(x: Any) -> bool:
    # An array of NumPy without dimensions, which is what np.zeros_like makes of a float, is one.
    return isinstance(x, numbers.Real) or getattr(x, "ndim", None) == 0


def operands(v: Any) -> int:
    """How many operands an instance says it has, 0 where it says nothing.

    >>> from micrograd.engine import Value
    >>> operands(Value(1.0)), operands(Value(1.0) + 2.0), operands("no instance")
    (0, 2, 0)
    """
    with suppress(Exception):
        return len(v._prev)  # no truth test: it may be an array
    return 0


def _kind(x: Any) -> str:
    return printable(str(type(x).__name__)[:60])


def shown(x: Any, most: int) -> str:
    """What an object prints, if it prints.

    >>> shown([1, 2, 3], 4)
    '[1, '
    """
    try:
        return printable(re.sub(r" at 0x[0-9a-fA-F]+>", ">", str(x)[: 9 * most])[:most])
    except Exception:
        return "which cannot be printed"


def printable(text: str) -> str:
    r"""A text in which nothing steers a terminal, and which can be encoded.

    >>> print(printable("a\x1b[2Jb\ud800"))
    a\x1b[2Jb\ud800
    """
    return "".join(x if x.isprintable() else x.encode("unicode_escape").decode() for x in text)


def failure(error: BaseException) -> dict[str, Any]:
    """What an error says, where in the code of the class it arose, and whether that was meant.

    >>> told = failure(ValueError("no number"))
    >>> told["text"], told["place"], told["on_purpose"]
    ('ValueError: no number', '', False)
    """
    try:
        words = str(error)[: 4 * MOST]
    except Exception:
        words = ""
    name = type(error).__name__
    place, on_purpose = "", False
    with suppress(Exception):
        walked = list(traceback.walk_tb(error.__traceback__))
        frame, _ = walked[-1]
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        if last is not None and not _is_internal(frame.f_code.co_filename):
            on_purpose = frame.f_code.co_code[last.tb_lasti] == RAISE
        for frame, line in reversed(walked):
            if not _is_internal(frame.f_code.co_filename):
                file = printable(Path(frame.f_code.co_filename).name)
                place = f"in {printable(frame.f_code.co_name)}, line {line} of {file}"
                break
    return {
        "kinds": [str(kind.__name__) for kind in type(error).__mro__],
        "text": printable(" ".join(f"{name}: {words}".split()).removesuffix(":"))[:MOST],
        "place": place[:MOST],
        "on_purpose": on_purpose,
    }


def _is_internal(file: str) -> bool:
    return file.startswith("<frozen") or Path(file).parent == HERE
