"""Questions that learners ask, answered with their own Value on the smallest graph that shows why.

    micrograd why order my_engine.py
    micrograd why add my_engine.py

`order` is why backward() needs a topological order, `add` why gradients add up (`+=`). Graphs are
tried from the smallest on, until the class computes a wrong gradient. If it is right on all of
them, an engine with the usual mistake shows what would go wrong.

    >>> from micrograd.grade.wrong_engines import MISTAKES
    >>> answer(MISTAKES[0].kind(), "add")[1]
    'a = Value(3.0); b = a + a; b.backward(): your engine gives a.grad = 1, not 2'
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from micrograd.derivatives import near
from micrograd.grade.graded_class import GradedClass
from micrograd.grade.programs import OURS, expected_of
from micrograd.grade.wrong_engines import MISTAKES
from micrograd.pages.explain import explain
from micrograd.pages.page import Page
from micrograd.texts import said

QUESTIONS = {"order": "preorder", "add": "= instead of +="}  # with the usual mistake for each
LONGEST = 4  # operations


def why(kind: type, question: str = "order") -> Page:
    """The stepping page on the smallest graph that shows why; its title has the wrong numbers.

    Args:
        kind: a class like Value in the lecture.
        question: 'order' or 'add'.

    Raises:
        ValueError: there is no such question, or a + a does not work yet.

    >>> why(MISTAKES[0].kind(), "add")
    <page of 2 nodes: .show() opens it, .save('page.html') writes it>
    """
    program, title = answer(kind, question)
    made = OURS.run(program, backward=False)
    return explain([*made.values()][-1], names=made, title=title)


def answer(kind: type, question: str) -> tuple[str, str]:
    """The smallest program on which the class, or one with the usual mistake, is wrong; and how."""
    if question not in QUESTIONS:
        known = " or ".join(map(repr, QUESTIONS))
        raise ValueError(f"why expects the question {known}, got {question!r}")
    usual = GradedClass(next(x for x in MISTAKES if x.name == QUESTIONS[question]).kind())
    if error := GradedClass(kind).error_in("a = Value(3.0); b = a + a; b.backward()", True):
        raise ValueError(f"a + a does not work yet ({error.text.rpartition('Error: ')[2]})")
    engines = {"why.yours": GradedClass(kind), "why.usual": usual}
    shown = [program for program in _programs() if _wrong(program, usual)]
    tried = ((x, who, _wrong(x, engines[who])) for who, x in product(engines, shown))
    program, who, wrong = next(x for x in tried if x[2])
    return program, said("report", who, program=program, wrong=", ".join(wrong))


def _wrong(program: str, graded: GradedClass) -> list[str]:
    """The wrong gradients after a program, in words; none if it raises an error."""
    found = graded.gradients(program)
    return [
        said("report", "why.wrong", name=x, found=f"{found[x]:g}", right=f"{right:g}")
        for x, right in expected_of(program).grad.items()
        if x in found and not near(found[x], right)
    ]


def _programs() -> Iterator[str]:
    """Programs with only + or only * over one leaf, from the smallest on; each node is used."""
    names = "abcde"
    for length, sign in product(range(1, LONGEST + 1), "+*"):
        for pairs in product(*(product(names[: i + 1], repeat=2) for i in range(length))):
            if {x for pair in pairs for x in pair} >= {*names[:length]}:
                lines = (f"{names[i + 1]} = {a} {sign} {b}" for i, (a, b) in enumerate(pairs))
                yield f"a = Value(3.0); {'; '.join(lines)}; {names[length]}.backward()"
