"""Which function call made each node of a graph.

`calls(function, *arguments)` runs a program and notes on every node the calls that were running
when it was made. A drawing can then show the program's own functions as boxes:

    >>> from micrograd.engine import Value
    >>> def square(x):
    ...     return x * x
    >>> def length(x, y):
    ...     return (square(x) + square(y)).sqrt()
    >>> result = calls(length, Value(3.0), Value(4.0))
    >>> result.data, [call.name for call in path_of(result)]
    (5.0, ['length'])
    >>> [call.name for call in path_of(result._prev[0]._prev[0])]
    ['length', 'square']

Python's profiler, `sys.setprofile`, reports each return from a function. The first function that
returns a new node is its operation; the functions that called it are found in the frames below.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import count, islice
from typing import Any, ParamSpec, TypeVar, overload

from micrograd import core, engine
from micrograd.draw.foreign import LOOKED_FOR, is_foreign
from micrograd.draw.formulas import sign
from micrograd.engine import Value

P = ParamSpec("P")
R = TypeVar("R")
Place = tuple[types.CodeType, int]  # where something is called: the code and the instruction

PACKAGE = os.path.dirname(engine.__file__) + os.sep
SHOWN = (PACKAGE + "nn.py", PACKAGE + "losses.py")  # the rest of the package is hidden
OURS = (PACKAGE, os.path.dirname(core.__file__) + os.sep)
LIBRARIES = tuple(
    {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
HIDDEN, PLACE, CALL = range(3)  # what a frame is: nothing, a place in the source, or a call as well
OPERATORS = {ast.MatMult: "@", ast.Mult: "*", ast.Add: "+", ast.Sub: "-", ast.Div: "/"}
GENERIC = ("forward", "__call__", "call")  # names that say nothing: the object is what is called


class Call:
    """One call of a function, which made nodes of a graph.

    Attributes:
        code: the code of the function.
        place: where it was called.
        parent: the call in which that was, or None.
        number: calls and nodes are numbered in the order in which they were made.
    """

    __slots__ = ("_called", "_self", "code", "number", "parent", "place")

    def __init__(
        self, frame: types.FrameType, place: Place | None, parent: Call | None, number: int
    ) -> None:
        self.code, self.place, self.parent, self.number = frame.f_code, place, parent, number
        # hidden calls in between would be what the source at this place calls
        direct = place is not None and frame.f_back is not None and frame.f_back.f_code is place[0]
        generic = self.code.co_name in GENERIC
        self._called = _called(*place) if place and (direct or generic) else ()
        self._self: Any = None
        if self.code.co_argcount and self.code.co_varnames[0] == "self":
            # a strong reference could be a cycle, if a model keeps its last output
            with suppress(KeyError, TypeError):
                self._self = weakref.ref(frame.f_locals["self"])

    @property
    def owner(self) -> Any:
        """The object whose method it is; None if there is none, or if it no longer exists."""
        return self._self and self._self()

    @property
    def name(self) -> str:
        """The attribute that was called, such as query in `self.query(x)`, else the function."""
        called = list(self._called)
        if self.code.co_name not in GENERIC:
            return called[-1] if len(called) > 1 else self.code.co_name
        while called and called[-1] in GENERIC:
            called.pop()
        return called[-1] if len(called) > 1 else self.kind

    @property
    def kind(self) -> str:
        """The class of its object if it is a call of this object, else the function's name."""
        if self.code.co_name in GENERIC and self.owner is not None:
            return type(self.owner).__name__
        if self.code.co_name in GENERIC and "." in self.code.co_qualname:
            return self.code.co_qualname.split(".")[-2]
        return self.code.co_name


def path_of(node: Any) -> list[Call]:
    """The calls in which a node was made, the outermost first."""
    path = []
    call = noted(node)[0]
    while call is not None:
        path.append(call)
        call = call.parent
    return path[::-1]


_of_others: dict[int, Any] = {}  # nodes that cannot have attributes, of the last run


def noted(node: Any) -> tuple[Call | None, Place | None, int]:
    """The innermost call in which a node was made, the place in it, and its number, or -1."""
    kept = getattr(node, "__dict__", {})  # an object of another engine may answer to every name
    if "_copy_of" in kept:
        return noted(kept["_copy_of"])
    found = kept.get("_called") or _of_others.get(id(node), (None, None))[1]
    return found or (None, None, -1)


def is_called(nodes: Iterable[Any]) -> bool:
    """Whether some of the nodes were made while `calls` was watching."""
    return any(noted(node)[2] > 0 for node in nodes)


@overload
def calls() -> Watch: ...
@overload
def calls(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R: ...
def calls(function: Any = None, *arguments: Any, **named: Any) -> Any:
    """The result of `function(*arguments)`, drawn by the functions that were called.

    `draw_dot`, `mermaid` and `explain` show a box for each call. For code that is not one function,
    `with calls():` does the same for everything computed in the block. Threads that are started
    meanwhile count too. Nodes made elsewhere cost nothing more. The program runs about three times
    slower, because Python's profiler reports each return. (Coverage and debuggers do not interfere:
    they trace, or use `sys.monitoring`.)

    Raises:
        RuntimeError: a profiler is already set, in this thread or for new ones.

    >>> with calls():
    ...     y = sum(x * x for x in [Value(1.0), Value(2.0)])
    >>> y
    Value(data=5.0, grad=0)
    """
    if function is None:
        return Watch()
    if not callable(function):
        raise TypeError(
            f"calls expects a function and its arguments, got {function!r:.40}: "
            "write calls(model, x) instead of calls(model(x))"
        )
    with Watch():
        return function(*arguments, **named)


class Watch:
    """A block in which each new node is noted with the calls that made it; see `calls`."""

    def __enter__(self) -> Watch:
        if (profiler := sys.getprofile() or threading.getprofile()) is not None:
            raise RuntimeError(
                f"calls() needs Python's profiler, but {profiler!r:.60} is already set: stop it "
                "before (cProfile: disable(); otherwise sys.setprofile(None) and "
                "threading.setprofile(None))"
            )
        _of_others.clear()
        self._base = sys._getframe(1)
        self._frames: dict[types.FrameType, Call] = {}  # the calls that are running
        self._operands: dict[type, str] = {Value: "_prev"}  # attribute of each class of nodes
        self._kinds: dict[int, int] = {}  # of code by its id: the hash of code is slow
        self._codes: list[types.CodeType] = []
        self._numbers = count(1)
        self._is_open = True
        threading.setprofile(self._returned)
        sys.setprofile(self._returned)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        self._is_open = False
        self._frames.clear()
        del self._base

    def _returned(self, frame: types.FrameType, event: str, result: Any) -> None:
        if event != "return":
            return
        if not self._is_open:  # a thread that outlives the block
            sys.setprofile(None)
            return
        kind = type(result)
        operands = self._operands.get(kind)
        if operands is None:
            operands = self._operands[kind] = self._operands_in(result, kind)
        is_new = bool(operands) and noted(result)[2] < 0
        if is_new and (getattr(result, operands, None) or frame.f_code is DETACH):
            note = (*self._around(frame), next(self._numbers))
            try:
                result._called = note
            except AttributeError:  # it has slots
                _of_others[id(result)] = result, note
        if not frame.f_code.co_flags & GENERATOR:  # a generator also returns when it yields
            self._frames.pop(frame, None)

    def _operands_in(self, result: Any, kind: type) -> str:
        # The attribute with the operands of a node; '' if the result is not a node.
        found = "_prev"
        if not isinstance(result, Value):
            # only what an object really keeps: looking at a property would run it
            kept = {*getattr(result, "__dict__", ())}
            kept = kept.union(*(vars(base).get("__slots__", ()) for base in kind.__mro__))
            if any(kept.isdisjoint(LOOKED_FOR[what]) for what in ("data", "grad", "operands")):
                return ""
            if not is_foreign(result):
                return ""
            found = next(name for name in LOOKED_FOR["operands"] if name in kept)
        self._codes += (methods := _methods(kind))
        self._kinds |= dict.fromkeys(map(id, methods), HIDDEN)
        return found

    def _kind_of(self, frame: types.FrameType) -> int:
        code = frame.f_code
        first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        if isinstance(first, Value) and code in _methods(type(first)):  # of a subclass, say
            return HIDDEN
        return _kind(code)

    def _around(self, frame: types.FrameType) -> tuple[Call | None, Place | None]:
        # The innermost call and the place in it. Calls that are not yet known are created.
        new: list[types.FrameType] = []  # the innermost first
        places: list[Place | None] = []  # of the node, then of each new call
        place: Place | None = None
        around: Call | None = None
        below: types.FrameType | None = frame
        while below is not None:
            code = below.f_code
            kind = self._kinds.get(id(code))
            if kind is None:
                self._codes.append(code)  # no other code may get its id
                kind = self._kinds[id(code)] = self._kind_of(below)
            place = None if kind == HIDDEN else place or (code, below.f_lasti)
            if below is self._base:
                break
            if kind == CALL:
                places.append(place)
                place = None
                if (known := self._frames.get(below)) is not None:
                    around = known
                    break
                new.append(below)
            below = below.f_back
        places.append(place)
        for running, called_at in reversed(list(zip(new, places[1:], strict=False))):
            call = Call(running, called_at, around, next(self._numbers))
            around = self._frames[running] = call
        return around, places[0]


DETACH = Value.detach.__code__  # makes a leaf that is no input
GENERATOR = 0x20 | 0x80 | 0x200  # flags of code: a generator, a coroutine, or both


def _methods(kind: type) -> set[types.CodeType]:
    # The code of the operations of a class of nodes: they get no boxes.
    found = set()
    for base in kind.__mro__:
        for method in vars(base).values():
            function = getattr(method, "__func__", getattr(method, "fget", method))
            if code := getattr(function, "__code__", None):
                found.add(code)
    return found


def _kind(code: types.CodeType) -> int:
    file, name = code.co_filename, code.co_name
    if file.startswith(OURS) and file not in SHOWN:
        return HIDDEN
    if file.startswith((*LIBRARIES, "<frozen")) and file not in SHOWN:
        return HIDDEN
    if name.startswith("__") and name.endswith("__") and name != "__call__":
        return HIDDEN
    return PLACE if name.startswith("<") and name != "<lambda>" else CALL


# ---- Names from the source


@cache
def _called(code: types.CodeType, instruction: int) -> tuple[str, ...]:
    # What is called at a place: ('self', 'query') for self.query(x); () without source.
    expression = parsed(code, instruction)
    if not isinstance(expression, ast.Call):
        return ()
    thing: Any = expression.func
    names: list[str] = []
    while isinstance(thing, ast.Attribute):
        names.append(thing.attr)
        thing = thing.value
    if isinstance(thing, ast.Name):
        names.append(thing.id)
    elif names:
        names.append("")  # something that has no name, as in layers[0].forward(x)
    return tuple(reversed(names))


@cache
def parsed(code: types.CodeType, instruction: int) -> ast.expr | None:
    """The expression at a place, or None without source text."""
    where = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    line, last, start, end = where
    if line is None or last is None or start is None or end is None:
        return None
    lines = [text.encode() for text in linecache.getlines(code.co_filename)[line - 1 : last]]
    if len(lines) != last - line + 1:
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        return ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def written_as(code: types.CodeType, instruction: int) -> str:
    """What is written at a place: '@' for `X @ W`, 'mean' for `P.mean()`, or ''."""
    expression = parsed(code, instruction)
    if isinstance(expression, ast.BinOp):
        return sign(OPERATORS.get(type(expression.op), ""))
    return (_called(code, instruction) or ("",))[-1]


def owners(nodes: Iterable[Any]) -> Iterator[Any]:
    """The objects whose methods the outermost calls were, such as a model."""
    seen: set[int] = set()
    for call in dict.fromkeys(noted(node)[0] for node in nodes):
        outermost = None
        while call is not None:
            outermost = call if call.owner is not None else outermost
            call = call.parent
        if outermost is not None and id(outermost.owner) not in seen:
            seen.add(id(outermost.owner))
            yield outermost.owner


def roles(call: Any) -> Iterator[str]:
    """Where the object of a call is in the object that called it: 'layers[0]', or nothing."""
    around = call.parent
    while around is not None and around.owner is call.owner:
        around = around.parent
    if around is None or around.owner is None or call.owner is None:
        return
    for name, thing in getattr(around.owner, "__dict__", {}).items():
        if thing is call.owner:
            yield name
        elif isinstance(thing, (list, tuple)):
            yield from (f"{name}[{i}]" for i, entry in enumerate(thing) if entry is call.owner)
