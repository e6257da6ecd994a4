"""The class that is graded: its names, and what it does when a program runs.

A Subject answers questions in plain dicts, lists, strings and numbers, so the class may live in
this process or in another. An error that the class raises is an answer too. This file imports only
the standard library, because it also runs where `micrograd` is the learner's own package.

    >>> from micrograd.engine import Value
    >>> Subject(Value).observed("a = Value(3.0); b = a * a; b.backward()")["grad"]
    {'a': 6.0, 'b': 1.0}
"""

from __future__ import annotations

import ast
import filecmp
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
ALIASES = {  # the lecture's name first, then others that learners use
    "data": ("data", "value", "val", "v", "x", "_data", "_value", "number", "scalar"),
    "grad": ("grad", "gradient", "g", "_grad", "_gradient", "derivative", "adjoint", "dv"),
    "backward": ("backward", "backprop", "backpropagate", "back_propagate", "back_prop", "back",
                 "backpropagation", "backward_pass", "run_backward", "compute_gradients"),
}  # fmt: skip
MOST = 300  # characters: the limit for a text that comes from the class
HERE = Path(__file__).resolve().parent
OUR_ENGINE = HERE.parent / "engine.py"
RAISE = opcode.opmap["RAISE_VARARGS"]  # what `raise` and `assert` compile to


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
        self.names = {name: self._name(name, told or {}) for name in ALIASES}

    def ask(self, what: str, *arguments: Any) -> Any:
        """The answer to one of the questions below, which is chosen by the name of its method.

        >>> from micrograd.engine import Value
        >>> Subject(Value).ask("lacks", ["exp", "sinh"])
        ['sinh']
        """
        return getattr(self, what)(*arguments)

    def made(self, number: Any) -> Any:
        """A new instance."""
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
        """The name of the class, its names for data, grad and backward(), and what it lacks."""
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
        """The given methods that the class lacks.

        >>> Subject(float).lacks(["__add__", "exp"])
        ['exp']
        """
        return [name for name in methods if not hasattr(self.kind, name)]

    def observed(self, program: str, backward: bool = True) -> dict[str, Any]:
        """Data and gradients after a program, keyed by name; or the broken rule; or the error.

        >>> from micrograd.engine import Value
        >>> sorted(Subject(Value).observed("a = Value(3.0); b = a + a", backward=False))
        ['coarse', 'data', 'grad']
        >>> Subject(Value).observed("a = Value(-1.0); b = a.log()")["error"]["kinds"][0]
        'ValueError'
        """
        try:
            return self._observed(program, backward)
        except KeyboardInterrupt:
            raise  # from the user, if the class runs in the user's process
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
        """The _op of the last result, and whether one of its operands is a result as well.

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
        """The number of function calls in backward() on a graph with 2^doublings paths.

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
        """Whether the class is our own, returns ours, or lets ours do the work.

        >>> from micrograd.engine import Value
        >>> Subject(Value).is_ours(), Subject(float).is_ours()
        (True, False)
        """
        used = set[str]()

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
        return ours or any(map(_is_our_engine, used))

    def frees_graph(self) -> bool:
        """Whether backward() removes the operands or the _backward of a node."""
        with suppress(Exception, SystemExit):
            out = self.run("a = Value(3.0); b = a * a")["b"]
            count, closure = operands(out), getattr(out, "_backward", None)
            getattr(out, self.names["backward"])()
            return bool(operands(out) < count or getattr(out, "_backward", None) != closure)
        return False

    def calls_of_closure(self, program: str) -> int:
        """How often backward() calls the _backward of the root; 0 if there is no such function."""
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
        """The instances in a program, keyed by name; `backward=False` runs only the forward pass.

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
        raise SyntaxError(f"expected a name, a number, arithmetic or a call, got {ast.dump(node)}")


@cache
def steps_of(program: str) -> list[ast.stmt]:
    """The statements of a program."""
    return ast.parse(program).body


@cache
def leaves_of(program: str) -> tuple[str, ...]:
    """The names of the Values that a program creates from numbers.

    >>> leaves_of("a = Value(3.0); b = a + a; c = Value(5.0)")
    ('a', 'c')
    """
    return tuple(step.partition(" =")[0] for step in program.split("; ") if " = Value(" in step)


# ---- Facts about classes, objects and errors


def is_ours(kind: Any) -> bool:
    """Whether a class is our Value, a subclass or copy of it, or built from its methods.

    >>> from micrograd.engine import Value
    >>> is_ours(Value), is_ours(type("Mine", (Value,), {})), is_ours(float)
    (True, True, False)
    """
    for base in getattr(kind, "__mro__", ()):
        methods = (getattr(x, "__code__", None) for x in list(vars(base).values()))
        if any(code and _is_our_engine(code.co_filename) for code in methods):
            return True
        words = base.__doc__ if isinstance(base.__doc__, str) else ""
        if len(words) > 200 and _squeezed(words) in _squeezed(_our_text()):
            return True
    return False


@cache
def _is_our_engine(path: str) -> bool:
    # By its text, because another copy of this package may be installed beside this one.
    with suppress(OSError, ValueError):
        return filecmp.cmp(path, OUR_ENGINE, shallow=False)
    return False


@cache
def _our_text() -> str:
    return OUR_ENGINE.read_text(encoding="utf-8")


def _squeezed(text: str) -> str:
    return "".join(text.split())


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
    """The number of operands in an instance's _prev, 0 if it has none.

    >>> from micrograd.engine import Value
    >>> operands(Value(1.0)), operands(Value(1.0) + 2.0), operands("no instance")
    (0, 2, 0)
    """
    with suppress(Exception):
        return len(v._prev)  # len, not a truth test: it may be an array
    return 0


def _kind(x: Any) -> str:
    return printable(str(type(x).__name__)[:60])


def shown(x: Any, most: int) -> str:
    """The text of an object, cut to `most` characters.

    >>> shown([1, 2, 3], 4)
    '[1, '
    """
    text = _str(x, 9 * most)
    if text is None:
        return "an object that cannot be printed"
    return printable(re.sub(r" at 0x[0-9a-fA-F]+>", ">", text)[:most])


def _str(x: Any, most: int) -> str | None:
    try:
        return str(x)[:most]
    except KeyboardInterrupt:
        raise  # by the user
    except BaseException:  # a broken __repr__ may even exit
        return None


def printable(text: str) -> str:
    r"""The text, with control characters and lone surrogates escaped.

    >>> print(printable("a\x1b[2Jb\ud800"))
    a\x1b[2Jb\ud800
    """
    return "".join(x if x.isprintable() else x.encode("unicode_escape").decode() for x in text)


def failure(error: BaseException) -> dict[str, Any]:
    """The text of an error, its place in the code of the class, and whether a `raise` caused it.

    >>> told = failure(ValueError("no number"))
    >>> told["text"], told["place"], told["on_purpose"]
    ('ValueError: no number', '', False)
    """
    name, words = type(error).__name__, _str(error, 4 * MOST) or ""
    place, on_purpose = "", False
    with suppress(Exception):
        place, on_purpose = _origin(error)
    return {
        "kinds": [str(kind.__name__) for kind in type(error).__mro__],
        "text": printable(" ".join(f"{name}: {words}".split()).removesuffix(":"))[:MOST],
        "place": place[:MOST],
        "on_purpose": on_purpose,
    }


def _origin(error: BaseException) -> tuple[str, bool]:
    """The innermost place outside this package, and whether a `raise` statement is the cause."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    if last is None:
        return "", False
    code = last.tb_frame.f_code
    on_purpose = not _is_internal(code.co_filename) and code.co_code[last.tb_lasti] == RAISE
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if not _is_internal(file):
            name = printable(frame.f_code.co_name)
            return f"in {name}, line {line} of {printable(Path(file).name)}", on_purpose
    return "", on_purpose


def _is_internal(file: str) -> bool:
    return file.startswith("<frozen") or Path(file).parent == HERE
