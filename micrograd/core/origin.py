"""Where a Value or an array comes from: notes that others leave on it, for drawings.

module      the module that returned it, and its inputs (`module.py`)
array       the operation and its operands, of an array or of a sum over one (`arrays.py`)
numbers     the numbers of which an array was made, or their row and the place (`module.py`)
call        the call in which it was made (`program/calls.py`)
node        the node of another engine that it copies (`program/foreign.py`)
"""

from typing import Any


def note(thing: Any, kind: str, what: object) -> None:
    """Leaves a note; an AttributeError if a node of another engine has no room for it."""
    setattr(thing, f"_from_{kind}", what)


def origin(thing: object, kind: str) -> Any:
    """What was noted on it, or None. An object of another engine may answer to every name."""
    return getattr(thing, "__dict__", {}).get(f"_from_{kind}")
