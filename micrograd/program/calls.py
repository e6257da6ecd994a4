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
import inspect
import linecache
import os
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import count, islice
from typing import Any

from micrograd import engine
from micrograd.core.origin import note, origin
from micrograd.engine import Value
from micrograd.program.foreign import attribute, is_foreign

Place = tuple[types.CodeType, int]  # where something is called: the code and the instruction

PACKAGE = os.path.dirname(engine.__file__) + os.sep
SHOWN = (PACKAGE + "nn.py", PACKAGE + "losses.py")  # the rest of the package is hidden
LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")
OTHERS = (PACKAGE, *(sysconfig.get_path(name) + os.sep for name in LIBRARIES), "<frozen")
HIDDEN, PLACE, CALL = range(3)  # what a frame is: nothing, a place in the source, or a call as well
OPERATORS = {ast.MatMult: "@", ast.Mult: "*", ast.Add: "+", ast.Sub: "-", ast.Div: "/"}
GENERIC = ("forward", "__call__", "call")  # names that say nothing: the object is what is called
DETACH = Value.detach.__code__  # makes a leaf that is no input
PLAIN = (bool, int, float, str)  # arguments that are shown
GENERATOR = 0x20 | 0x80 | 0x200  # flags of code: a generator, a coroutine, or both


class Call:
    """One call of a function, which made nodes of a graph.

    Attributes:
        name: the attribute that was called, such as query in `self.query(x)`, else the function, or
            the class of its object if this was called.
        arguments: those that are plain numbers or texts, by their names.
        place: where it was called.
        parent: the call in which that was, or None.
        number: calls and nodes are numbered in the order in which they were made.
    """

    __slots__ = ("_owner", "arguments", "name", "number", "parent", "place")

    def __init__(
        self, frame: types.FrameType, place: Place | None, parent: Call | None, order: int
    ) -> None:
        self.place, self.parent, self.number = place, parent, order
        code, name, given = frame.f_code, frame.f_code.co_name, frame.f_locals
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.arguments = {x: given[x] for x in named if type(given.get(x)) in PLAIN}
        self._owner: Callable[[], object] = lambda: None
        if named[:1] == ("self",):
            # a strong reference could be a cycle, if a model keeps its last output
            with suppress(KeyError, TypeError):
                self._owner = weakref.ref(given["self"])
            if name in GENERIC:
                name = type(given.get("self")).__name__
        called = [x for x in written(*place) if x not in GENERIC] if place else []
        # hidden calls in between would be what the source at this place calls
        is_direct = place and place[0] is getattr(frame.f_back, "f_code", None)
        self.name = called[-1] if called[1:] and (is_direct or code.co_name in GENERIC) else name

    @property
    def owner(self) -> object:
        """The object whose method it is; None if there is none, or if it no longer exists."""
        return self._owner()


def path_of(node: object) -> list[Call]:
    """The calls in which a node was made, the outermost first."""
    call, path = noted(node)[0], list[Call]()
    while call is not None:
        path.insert(0, call)
        call = call.parent
    return path


_of_others: dict[int, Any] = {}  # nodes that cannot have attributes, of the last run


def noted(node: object) -> tuple[Call | None, Place | None, int]:
    """The innermost call in which a node was made, the place in it, and its number, or -1."""
    copied = origin(node, "node")
    node = node if copied is None else copied  # a node of another engine may have no truth value
    found = origin(node, "call") or _of_others.get(id(node), (None, None))[1]
    return found or (None, None, -1)


def calls(function: Any = None, *arguments: Any, **named: Any) -> Any:
    """The result of `function(*arguments)`, drawn by the functions that were called.

    `draw_dot`, `mermaid` and `explain` show a box for each call. For code that is not one function,
    `with calls():` does the same for everything that this thread computes in the block. The program
    runs about three times slower, because Python's profiler reports each return. (Coverage and
    debuggers do not interfere: they trace, or use `sys.monitoring`.)

    Raises:
        RuntimeError: a profiler is already set.
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


def computed(root: Any) -> Any:
    """What a function without arguments returns, watched by `calls`; anything else as it is."""
    if not isinstance(root, (types.FunctionType, types.MethodType, partial)):
        return root
    try:
        inspect.signature(root).bind()
    except TypeError as error:
        fix = "write lambda: f(x), or pass the result"
        raise TypeError(f"expected a function that takes no arguments: {error}; {fix}") from None
    return calls(root)


class Watch:
    """A block in which each new node is noted with the calls that made it; see `calls`."""

    def __enter__(self) -> Watch:
        if (profiler := sys.getprofile()) is not None:
            raise RuntimeError(
                f"calls() needs Python's profiler, but {profiler!r:.60} is already set: stop it "
                "before (cProfile: disable(); otherwise sys.setprofile(None))"
            )
        _of_others.clear()
        self._base = sys._getframe(1)
        self._frames: dict[types.FrameType, Call] = {}  # the calls that are running
        self._operands: dict[type, str] = {Value: "_prev"}  # attribute of each class of nodes
        self._kinds: dict[int, Any] = {}  # of code by its id: the hash of code is slow
        self._numbers = count(1)
        sys.setprofile(self._returned)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self._frames.clear()
        del self._base

    def _returned(self, frame: types.FrameType, event: str, result: Any) -> None:
        if event != "return":
            return
        if type(result) not in self._operands:
            self._operands[type(result)] = "_prev" if isinstance(result, Value) else ""
            with suppress(Exception):  # looking at a property runs it
                if is_foreign(result):
                    self._operands[type(result)] = attribute(result, "operands")
        operands = self._operands[type(result)]
        kept = getattr(result, operands, None) if operands and noted(result)[2] < 0 else None
        if kept is not None and (len(kept) or frame.f_code is DETACH):
            made = (*self._around(frame), next(self._numbers))
            try:
                note(result, "call", made)
            except AttributeError:  # it has slots
                _of_others[id(result)] = result, made
        if not frame.f_code.co_flags & GENERATOR:  # a generator also returns when it yields
            self._frames.pop(frame, None)

    def _around(self, frame: types.FrameType) -> tuple[Call | None, Place | None]:
        # The innermost call and the place in it. Calls that are not yet known are created.
        running: list[types.FrameType] = []  # the innermost first
        places: list[Place | None] = [None]  # in each of these, and in the known call around them
        around: Call | None = None
        below: types.FrameType | None = frame
        while below is not None and around is None:
            code = below.f_code
            if id(code) not in self._kinds:
                self._kinds[id(code)] = self._kind(below), code  # no other code may get its id
            kind, _ = self._kinds[id(code)]
            places[-1] = None if kind == HIDDEN else places[-1] or (code, below.f_lasti)
            if below is self._base:
                break
            if kind == CALL:
                around = self._frames.get(below)
                running.append(below)
                places.append(None)
            below = below.f_back
        for new, called_at in reversed([*zip(running, places[1:], strict=False)]):
            if new not in self._frames:
                self._frames[new] = Call(new, called_at, around, next(self._numbers))
            around = self._frames[new]
        return around, places[0]

    def _kind(self, frame: types.FrameType) -> int:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        is_special = name.startswith("__") and name.endswith("__") and name != "__call__"
        if is_special or (file.startswith(OTHERS) and file not in SHOWN):
            return HIDDEN
        if frame.f_code.co_varnames[:1] == ("self",):  # an operation of a class of nodes
            node = frame.f_locals.get("self")
            if isinstance(node, Value) or self._operands.get(type(node)):
                return HIDDEN
        return PLACE if name.startswith("<") and name != "<lambda>" else CALL


# ---- Names from the source


@cache
def written(code: types.CodeType, instruction: int) -> tuple[str, ...]:
    """What is called at a place: ('self', 'query') for self.query(x), or ('@',) for X @ W.

    It is () for anything else, and without the source.
    """
    thing: Any = None
    with suppress(SyntaxError, ValueError, TypeError, IndexError):
        line, last, start, end = next(islice(code.co_positions(), instruction // 2, None))
        text = linecache.getlines(code.co_filename)[(line or 1) - 1 : last]
        lines = [each.encode() for each in text]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        thing = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    if isinstance(thing, ast.BinOp):
        return (OPERATORS.get(type(thing.op), ""),)
    names: list[str] = []
    thing = getattr(thing, "func", None)
    while isinstance(thing, ast.Attribute):
        names.insert(0, thing.attr)
        thing = thing.value
    if isinstance(thing, ast.Name):
        return thing.id, *names
    return ("", *names) if names else ()  # no name, as in layers[0].forward(x)


def owners(nodes: Iterable[object]) -> Iterable[object]:
    """The objects whose methods the outermost calls were, such as a model."""
    made = {noted(node)[0]: node for node in nodes}.values()  # a node of each call
    paths = ([x for call in path_of(node) if (x := call.owner) is not None] for node in made)
    return {id(path[0]): path[0] for path in paths if path}.values()


def roles(call: Call) -> Iterator[str]:
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
