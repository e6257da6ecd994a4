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
from dataclasses import dataclass
from functools import cache
from itertools import product

from micrograd.grade.graded_class import GradedClass, Numbers, near
from micrograd.grade.programs import OURS, expected_of
from micrograd.grade.wrong_engines import MISTAKES
from micrograd.pages.explain import explain
from micrograd.pages.page import Page

# The usual mistake for each question.
QUESTIONS = {"order": "preorder", "add": "= instead of +="}
LONGEST = 4  # operations


@dataclass(frozen=True)
class Answer:
    """The smallest graph on which a gradient goes wrong.

    Attributes:
        program: the program that builds it.
        found, right: the gradients by name, as they went wrong and as they are.
        is_theirs: whether the class itself went wrong; else it is an engine with the usual mistake.
    """

    program: str
    found: Numbers
    right: Numbers
    is_theirs: bool

    def __str__(self) -> str:
        wrong = [
            x for x in self.right if x not in self.found or not near(self.found[x], self.right[x])
        ]
        who = (
            "your engine" if self.is_theirs else "yours is right; with the usual mistake, an engine"
        )
        numbers = (f"{x}.grad = {self.found.get(x, 0.0):g}, not {self.right[x]:g}" for x in wrong)
        return f"{self.program}: {who} gives {', '.join(numbers)}"


def why(kind: type, question: str = "order") -> Page:
    """The stepping page on the smallest graph that shows why; its title has the wrong numbers.

    Args:
        kind: a class like Value in the lecture.
        question: 'order' or 'add'.

    Raises:
        ValueError: there is no such question.
    """
    return page(answer(question, kind))


def page(found: Answer) -> Page:
    """The stepping page on the graph of an answer."""
    made = OURS.run(found.program, backward=False)
    return explain([*made.values()][-1], names=made, title=str(found))


def answer(question: str, kind: type) -> Answer:
    """The smallest graph on which the class is wrong, else one that shows the usual mistake."""
    if question not in QUESTIONS:
        known = " or ".join(map(repr, QUESTIONS))
        raise ValueError(f"why expects the question {known}, got {question!r}")
    theirs, shown = GradedClass(kind), _shown(question)
    for program, _ in shown:
        found = theirs.gradients(program)
        if not _agree(found, expected_of(program).grad):
            return Answer(program, found, expected_of(program).grad, True)
    program, found = shown[0]
    return Answer(program, found, expected_of(program).grad, False)


@cache
def _shown(question: str) -> list[tuple[str, Numbers]]:
    """The programs on which the usual mistake shows, with the gradients that it gives."""
    usual = GradedClass(next(x for x in MISTAKES if x.name == QUESTIONS[question]).kind())
    made = ((program, usual.gradients(program)) for program in _programs())
    return [(x, found) for x, found in made if not _agree(found, expected_of(x).grad)]


def _programs() -> Iterator[str]:
    """Programs with only + or only * over one leaf, from the smallest on; each node is used."""
    names = "abcde"
    for length, sign in product(range(1, LONGEST + 1), "+*"):
        for pairs in product(*(product(names[: i + 1], repeat=2) for i in range(length))):
            if {x for pair in pairs for x in pair} >= {*names[:length]}:
                lines = (f"{names[i + 1]} = {a} {sign} {b}" for i, (a, b) in enumerate(pairs))
                yield f"a = Value(3.0); {'; '.join(lines)}; {names[length]}.backward()"


def _agree(found: Numbers, right: Numbers) -> bool:
    return found.keys() == right.keys() and all(near(found[x], right[x]) for x in right)
