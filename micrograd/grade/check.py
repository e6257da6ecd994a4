"""The rules that are checked, and one check with its outcome.

`rules.toml` beside this file has what each rule says, and the fix.

>>> RULES["chain"][1]
'in _backward, multiply by out.grad'
"""

from __future__ import annotations

import inspect
import re
import tomllib
from dataclasses import dataclass
from importlib import resources

from micrograd.core.node import operations
from micrograd.engine import Value
from micrograd.pages.texts import texts_of

TABLE = resources.files("micrograd.grade") / "rules.toml"
ROWS = tomllib.loads(TABLE.read_text(encoding="utf-8"))["rule"]


def rules(language: str) -> dict[str, tuple[str, str]]:
    """The rule and the fix for each kind of mistake, in a language: a column of rules.toml."""
    texts = texts_of(language, TABLE)
    return {x: (texts[f"rule.{x}.what"], texts[f"rule.{x}.how"]) for x in ROWS}


RULES = rules("en")
STATUSES = ("passed", "failed", "noted", "not there yet", "to do", "not run")


@dataclass(frozen=True)
class Check:
    """A check and its outcome.

    Attributes:
        operation: what was checked, for example 'a * b', 'graph' or 'backward'.
        aspect: which property of it, for example 'value', 'gradient', 'chain rule', 'adding up'.
        program: the smallest program that shows the outcome, in Python.
        status: 'passed', 'failed', 'noted' (a limit, not a mistake), 'not there yet' (the class
            lacks the operation), 'to do' (the same in a file made by `micrograd start`, whose tasks
            name it) or 'not run' (the process ended before this check, or there is no backward()).
        mistake: a key of RULES, '' if the check passed.
        expected, found: both in words and numbers, '' if the check passed.
        place: the method and line in which an error was raised.
        composed: whether the class computes this operation from several other operations.

    >>> check = Check("a.exp()", "value", "a = Value(0.0); b = a.exp()", "failed", "value")
    >>> check.name, check.passed
    ('a.exp(): value', False)
    >>> check.rule, check.fix
    ('a.exp() computes a wrong number.', 'use the formula: The exponential e = e^a;  d/da = e')
    >>> check.rule in check.message
    True
    """

    operation: str
    aspect: str
    program: str
    status: str = "passed"
    mistake: str = ""
    expected: str = ""
    found: str = ""
    place: str = ""
    composed: bool = False

    @property
    def name(self) -> str:
        """The operation and the aspect, unique among the checks."""
        return f"{self.operation}: {self.aspect}"

    @property
    def passed(self) -> bool:
        """True if all numbers are right."""
        return self.status == "passed"

    @property
    def rule(self) -> str:
        """The broken rule in one sentence, '' if there is none."""
        return self.stated("en")[0]

    @property
    def fix(self) -> str:
        """What to change, '' if nothing has to change."""
        return self.stated("en")[1]

    def stated(self, language: str) -> tuple[str, str]:
        """The rule and the fix in a language, a column of rules.toml; '' and '' if there are none.

        >>> Check("backward", "once", "", "failed", "chain").stated("en")[1]
        'in _backward, multiply by out.grad'
        """
        rule, fix = rules(language)[self.mistake] if self.mistake else ("", "")
        if "{formula}" in fix:  # from the source of our own operation: -OO removes docstrings
            op = "*" if "*" in self.program else "+"  # of a graph
            if re.search(r"\b[ab]\b", self.operation):
                op = eval(self.operation, {"a": Value(1.5), "b": Value(2.0)})._op
            _, book, *_ = inspect.getsource(operations["**" if "**" in op else op]).split('"""')
            fix = fix.replace("{formula}", book.split("\n")[0].rstrip("."))
        return rule.replace("{operation}", self.operation), fix

    @property
    def message(self) -> str:
        """The rule, the program, what was expected and found, and the fix."""
        return self.told(3)

    def told(self, hints: int) -> str:
        """As much of the message as wanted: the rule (1), the numbers (2), and the fix (3)."""
        numbers = (
            f"\n    {self.program}\n    expected  {self.expected}\n    found     {self.found_at}"
        )
        return self.rule + numbers * (hints >= 2) + f"\nFix: {self.fix}." * (hints >= 3)

    @property
    def found_at(self) -> str:
        """What was found, and the place where an error was raised."""
        return self.found + (f" ({self.place})" if self.place else "")
