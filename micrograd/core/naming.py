"""Names that are told apart."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import count


def distinct(names: Sequence[str], numbered: str, taken: Collection[str] = ()) -> list[str]:
    """The names, made distinct: the first of several equal names is kept, the others are numbered.

    >>> distinct(["x", "x", "x (2)", "x"], numbered="{} ({})")
    ['x', 'x (3)', 'x (2)', 'x (4)']
    """
    given, used, found = {*taken, *names}, set(taken), []
    numbers: dict[str, count[int]] = defaultdict(lambda: count(2))
    for name in names:
        unique = name
        while unique in used or (unique != name and unique in given):
            unique = numbered.format(name, next(numbers[name]))
        used.add(unique)
        found.append(unique)
    return found
