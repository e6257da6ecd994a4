"""Names that are told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence


def distinct(names: Sequence[str], numbered: str, taken: Collection[str] = ()) -> list[str]:
    """The names, made distinct: the first of several equal names is kept, the others are numbered.

    >>> distinct(["x", "x", "x (2)", "x"], numbered="{} ({})")
    ['x', 'x (3)', 'x (2)', 'x (4)']
    """
    reserved = {*taken, *names}  # a numbered name must not equal one that the user chose
    used = set(taken)
    count: Counter[str] = Counter()
    found = []
    for name in names:
        count[name] += 1
        unique = name
        while unique in used or (unique != name and unique in reserved):
            count[name] += unique != name
            unique = numbered.format(name, max(2, count[name]))
        used.add(unique)
        found.append(unique)
    return found
