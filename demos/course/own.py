"""Chapters of a teacher's own: their tests, which run in the page."""

import importlib
from contextlib import suppress

from tasks import Finding, text

from micrograd.grade.graded_class import near, shown


class AnswerError(Exception):
    """A test failed; its argument is the finding."""


def own_finding(chapter, names, say):
    """The first test of a chapter that fails, as a finding; None if all pass."""
    tests = importlib.import_module(f"{chapter}_tests")
    done = []
    for name, test in vars(tests).items():
        if name.startswith("test_"):
            what, _, how = (test.__doc__ or name).partition("\n\n")
            about = {"what": joined(what), "how": joined(how), "done": tuple(done)}
            try:
                test(Check(names, say, about))
            except AnswerError as wrong:
                return wrong.args[0]
            done.append(name.removeprefix("test_").replace("_", " "))
    return None


def joined(sentence):
    """The lines of a docstring as one."""
    return " ".join(sentence.split())


class Check:
    """What a test calls: compares an expression in the learner's program with what is right."""

    def __init__(self, names, say, about):
        self.names, self.say, self.about = names, say, about

    def __call__(self, expression, expected):
        """Raises AnswerError if the expression is not near the expected number, list or object."""
        self.say(expression)
        method = expression.partition("(")[0].split(".")[0]
        for name in self.names:  # the function in which to look
            if f"{name}(" in expression and callable(self.names[name]):
                method = name
        about = {"program": expression, "method": method, **self.about}
        try:
            found = eval(expression, dict(self.names))
        except Exception as error:
            raised = text("no-error"), f"{type(error).__name__}: {error}"[:300]
            raise AnswerError(
                Finding("own-task", expected=raised[0], found=raised[1], **about)
            ) from None
        if not same(found, expected):
            numbers = {"expected": shown(expected, 200), "found": shown(found, 200)}
            raise AnswerError(Finding("own-task", number=expression, **numbers, **about))


def same(found, expected):
    """Whether two numbers, lists of numbers, or other objects agree."""
    found = getattr(found, "data", found)  # of a Value
    if isinstance(expected, (list, tuple)):
        with suppress(TypeError):
            found = list(found)
            return len(found) == len(expected) and all(map(same, found, expected))
        return False
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return near(float(found), float(expected))
    return bool(found == expected)
