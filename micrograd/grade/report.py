"""The report on a class, as text and HTML.

For each mistake, it shows the smallest program that fails, what was expected and what was found;
a notebook also draws it, with the wrong numbers in red.

A failed check is not a mistake yet: one `=` instead of `+=` makes dozens of checks fail. So those
that follow from a mistake found before are set aside (`affects` in rules.toml says which). What
remains are the entries of the report, in the order in which a learner would mend them.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

from micrograd.grade.programs import EXPRESSIONS, OURS, ROWS, STATUSES, Check, methods_in, task_of
from micrograd.texts import said, spoken, wrap

WIDTH, INDENT = 80, " " * 10  # columns of a report, and of lines that continue another
_said = partial(said, "report")
EXPLAINED = 2  # mistakes: the first one must stay visible on a screen of 24 lines


@dataclass(frozen=True, repr=False)
class Report:
    """All checks of a class or a file; `print` shows the mistakes, and notebooks add graphs."""

    name: str
    checks: tuple[Check, ...]
    language: str | None = None

    @property
    def passed(self) -> bool:
        """True if no check failed and no task is left; notes do not count."""
        return not any(check.status in ("failed", "to do", "not run") for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 without mistakes, 1 if a rule is broken or a task is left, 2 if it cannot be graded."""
        loads = all(check.passed for check in self.checks[:1] if check.name == "file: loads")
        return int(not self.passed) if loads else 2

    @property
    def mistakes(self) -> tuple[tuple[Check, ...], ...]:
        """The failed checks, grouped by probable cause; the clearest of each group comes first."""
        groups: list[list[Check]] = []
        for check in self._with("failed"):
            group = next((group for group in groups if _has_same_cause(check, group)), [])
            if not group:
                groups.append(group)
            group.append(check)
        return tuple(map(tuple, groups))

    @property
    def notes(self) -> tuple[Check, ...]:
        """A check for each limit that the original micrograd shares, if all else is right."""
        by_limit = {check.mistake: check for check in self._with("noted")}
        return () if self.mistakes or self.progress else tuple(by_limit.values())

    @property
    @spoken
    def progress(self) -> str:
        """The next task of `micrograd start`, and the error in it if any; '' if none is left."""
        if not (to_do := self._with("to do")):
            return ""
        task = min(map(task_of, to_do))
        errors = (x.found for x in to_do if task_of(x) == task and x.found and not self.mistakes)
        return "; ".join([_said("next", n=task, task=_said(f"task.{task}")), *errors][:2])

    def _with(self, status: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)

    @spoken
    def text(self, hints: int = 3) -> str:
        """The report as text: the verdict (0), what is wrong (1), where (2), how to fix it (3)."""
        if hints == 0:
            return self.verdict
        told = STATUSES[:2] if self.progress else STATUSES
        counts = ((len(self._with(x)), _said(f"status.{x}")) for x in told)
        known = ", ".join(f"{n} {word}" for n, word in counts if n)
        parts = [f"{self.name}: {known}"]
        if hints >= 2 and self.exit_code < 2 and not self.progress:
            parts.append(self._table())
        for i, (first, *others) in enumerate(self.mistakes[:EXPLAINED], 1):
            parts.append(f"{i}. {first.told(hints)}".replace("\n", "\n   "))
            if others and hints >= 2:
                names = ", ".join(check.name for check in others[:4]) + ", ..." * (len(others) > 4)
                parts[-1] += "\n   " + _said("same", n=len(others), names=names)
        if left := [first.name for first, *_ in self.mistakes[EXPLAINED:]]:
            parts.append(_said("more", n=len(left), names=", ".join(left)))
        for note in self.notes:
            parts.append(_said("note", note=note.told(hints)).replace("\n", "\n   "))
        lines = "\n\n".join([*parts, self.verdict]).split("\n")
        return "\n".join("\n".join(wrap(line, WIDTH, INDENT)) for line in lines)

    __str__ = __repr__ = text

    @property
    @spoken
    def verdict(self) -> str:
        """The last line of the report, a summary."""
        right, failed, ended = (len(self._with(x)) for x in ("passed", "failed", "not run"))
        if self.exit_code == 2:
            told = _said("verdict.not")
        elif self.passed:
            told = _said("verdict.right", n=right)
        else:
            key = ".ended" * bool(ended) if self.mistakes else ".begun"
            gaps = {"n": len(self.mistakes), "failed": failed, "ended": ended}
            told = _said(f"verdict.mistakes{key}", **gaps)
        return f"{_said('verdict.is')} {told}" + f" {self.progress}." * bool(self.progress)

    def _table(self) -> str:
        """The operations, listed by their worst outcome."""
        worst = {x.operation: "passed" for x in self.checks}
        for status in STATUSES[:0:-1]:
            worst |= {x.operation: status for x in self._with(status)}
        lists = ((x, [name for name in worst if worst[name] == x]) for x in STATUSES[::-1])
        rows = (f"{_said(f'status.{x}')}: {', '.join(found)}" for x, found in lists if found)
        return "\n".join(rows)

    @spoken
    def _repr_html_(self) -> str:
        shown = [f"<pre>{escape(self.text())}</pre>"]
        with suppress(ImportError):  # without Graphviz, the text is still of use
            shown += [_figure(first) for first, *_ in self.mistakes[:EXPLAINED]]
        return "\n".join(shown)


def _has_same_cause(later: Check, group: Sequence[Check]) -> bool:
    first, affects = group[0], ROWS[group[0].mistake].get("affects", ())
    if "everything" in affects or (later.place and later.place == first.place):
        return True
    if later.expected == "no error" and _error(later) in map(_error, group):
        return True
    if later.mistake == first.mistake and later.mistake not in ("value", "derivative", "runs"):
        return True
    if later.operation in EXPRESSIONS and later.operation in {check.operation for check in group}:
        return True
    if first.mistake == "result" and methods_in(first.program) & methods_in(later.program):
        return True
    if "numbers" in ROWS[later.mistake].get("affects", ()):
        return False
    is_whole = "operation" in affects or first.aspect == "inner operand"
    if is_whole and first.operation in EXPRESSIONS:
        return later.composed or bool(methods_in(first.operation) & methods_in(later.program))
    if "reuse" in affects:
        return later.composed or later.aspect not in ("value", "gradient", "chain rule")
    return "gradients" in affects and later.aspect != "value"


def _error(check: Check) -> str:
    operator, *_ = check.found.partition("'")  # the operands differ from check to check
    return operator if "unsupported operand" in operator else check.found


def _figure(check: Check) -> str:
    """The drawing of a check as a figure in HTML, '' if there is nothing to draw."""
    found: dict[str, dict[str, str]] = {}
    for name, attribute, number in re.findall(r"\b(\w+)\.(data|grad) = (-?[\w.+-]+)", check.found):
        found.setdefault(name, {})[attribute] = number
    if check.aspect == "deep chain" or not (picture := drawing(check.program, found)):
        return ""
    picture.graph_attr["label"] = ""  # no caption: the report is beside it
    svg = picture.pipe(encoding="utf-8")
    svg = re.sub(r' id="[^"]*"', "", svg[svg.index("<svg") :])  # a page may have several
    return f'<figure role="img" aria-label="{said("course", "drawing.plain")}">{svg}</figure>'


def drawing(program: str, found: Mapping[str, Mapping[str, object]]) -> Any:
    """The graph of a program, None if it makes no Value.

    `found` has the wrong 'data' and 'grad' of some of its names, which are drawn in red.
    """
    from micrograd.draw import draw_dot

    if "Value(" not in program:
        return None
    made = OURS.run(program)
    beside = {made[x]: numbers for x, numbers in found.items() if x in made}
    used = {v for value in made.values() for v in value._prev}
    roots = [value for value in made.values() if value not in used]
    return draw_dot(roots, names=made, highlight=beside)
