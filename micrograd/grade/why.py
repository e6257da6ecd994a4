"""Questions that learners ask, answered with their own Value on the smallest graph that shows why.

    micrograd why order my_engine.py
    micrograd why add my_engine.py

`order` is why backward() needs a topological order, `add` why gradients add up (`+=`). Graphs are
tried from the smallest on, until the class computes a wrong gradient. If it is right on all of
them, an engine with the usual mistake shows what would go wrong.

    >>> from micrograd.grade.wrong_engines import MISTAKES
    >>> print(answer("add", MISTAKES[0].kind()))
    a = Value(3.0); b = a + a; b.backward(): your engine gives a.grad = 1, not 2
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from micrograd.grade.graded_class import GradedClass, Numbers, near
from micrograd.grade.programs import OURS, expected_of
from micrograd.grade.wrong_engines import MISTAKES
from micrograd.pages.explain import explain
from micrograd.pages.page import Page

QUESTIONS = {"order": "preorder", "add": "= instead of +="}  # with the usual mistake for each
LONGEST = 4  # operations


class Answer(NamedTuple):
    """The smallest graph on which a gradient goes wrong.

    Attributes:
        program: the program that builds it.
        found: the gradients by name, as they went wrong.
        is_theirs: whether the class itself went wrong; else it is an engine with the usual mistake.
    """

    program: str
    found: Numbers
    is_theirs: bool

    def __str__(self) -> str:
        usual = "yours is right; with the usual mistake, an engine"
        numbers = (
            f"{x}.grad = {self.found.get(x, 0.0):g}, not {right:g}"
            for x, right in expected_of(self.program).grad.items()
            if x not in self.found or not near(self.found[x], right)
        )
        who = "your engine" if self.is_theirs else usual
        return f"{self.program}: {who} gives {', '.join(numbers)}"


def why(kind: type, question: str = "order") -> Page:
    """The stepping page on the smallest graph that shows why; its title has the wrong numbers.

    Args:
        kind: a class like Value in the lecture.
        question: 'order' or 'add'.

    Raises:
        ValueError: there is no such question.
    """
    found = answer(question, kind)
    made = OURS.run(found.program, backward=False)
    return explain([*made.values()][-1], names=made, title=str(found))


def answer(question: str, kind: type) -> Answer:
    """The smallest graph on which the class is wrong, else one that shows the usual mistake."""
    if question not in QUESTIONS:
        known = " or ".join(map(repr, QUESTIONS))
        raise ValueError(f"why expects the question {known}, got {question!r}")
    theirs, shown = GradedClass(kind), _shown(question)
    tried = (Answer(x.program, theirs.gradients(x.program), True) for x in shown)
    return next((x for x in tried if not _is_right(x)), shown[0])


@cache
def _shown(question: str) -> list[Answer]:
    """The answers about an engine with the usual mistake."""
    usual = GradedClass(next(x for x in MISTAKES if x.name == QUESTIONS[question]).kind())
    made = (Answer(program, usual.gradients(program), False) for program in _programs())
    return [x for x in made if not _is_right(x)]


def _programs() -> Iterator[str]:
    """Programs with only + or only * over one leaf, from the smallest on; each node is used."""
    names = "abcde"
    for length, sign in product(range(1, LONGEST + 1), "+*"):
        for pairs in product(*(product(names[: i + 1], repeat=2) for i in range(length))):
            if {x for pair in pairs for x in pair} >= {*names[:length]}:
                lines = (f"{names[i + 1]} = {a} {sign} {b}" for i, (a, b) in enumerate(pairs))
                yield f"a = Value(3.0); {'; '.join(lines)}; {names[length]}.backward()"


def _is_right(x: Answer) -> bool:
    right = expected_of(x.program).grad
    return x.found.keys() == right.keys() and all(near(x.found[v], right[v]) for v in right)
