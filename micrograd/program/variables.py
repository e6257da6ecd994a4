"""The variables of the code that asks for a picture, which give its nodes their names.

A function such as `draw_dot` reads the variables of its caller, of the caller of this function, and
so on, up to the first module (in a notebook: the notebook). So a helper finds the names of the code
that uses it:

    >>> from micrograd.draw.dot import draw_dot
    >>> from micrograd.engine import Value
    >>> def show(v):
    ...     return draw_dot(v)
    >>> a = Value(2.0)
    >>> squared = a * a
    >>> [name in show(squared).source for name in (">a<", ">squared<", ">v<")]
    [True, True, False]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from traceback import walk_stack
from types import FrameType

from micrograd.program.calls import OTHERS
from micrograd.program.objects import Variables

HIDDEN = {"In", "Out"}  # IPython's, besides those that begin with _
OPTIMIZED = 0x1  # a flag of code: its variables are not in a dict


def variables(given: Mapping[str, object] | None) -> Mapping[str, object]:
    """The given names; or, if they are None, the variables of the code that called this package.

    A parameter of a function comes after all other variables, because its caller has another name
    for the same thing.
    """
    if given is not None:
        return given
    found, parameters = Variables(), Variables()
    for frame, _ in walk_stack(sys._getframe(1)):
        code = frame.f_code
        if code.co_filename.startswith(OTHERS):
            continue
        first = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name, thing in _read(frame).items():
            if not name.startswith("_") and name.isidentifier() and name not in HIDDEN:
                (parameters if name in first else found).setdefault(name, thing)
        if code.co_name == "<module>":
            break
    for name, thing in parameters.items():
        found.setdefault(name, thing)
    return found


def _read(frame: FrameType) -> dict[str, object]:
    # Python before 3.13 keeps what `f_locals` of a function returned: the graph would live longer.
    # That of a module holds the variables of a comprehension alone, from 3.13 on, while one runs.
    kept = frame.f_locals
    found = {**frame.f_globals, **kept} if frame.f_code.co_name == "<module>" else dict(kept)
    references = getattr(sys, "getrefcount", len)(kept)  # of the frame, `kept`, and this argument
    if type(kept) is dict and frame.f_code.co_flags & OPTIMIZED and references == 3:
        kept.clear()  # otherwise the user called locals(), and has it
    return found
