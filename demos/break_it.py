"""Five classic mistakes, each in an engine with one wrong line.

    python demos/break_it.py
    python demos/break_it.py --lesson 2
    python demos/break_it.py --lesson 2 --answers
    python demos/break_it.py --out pictures

Each variation rewrites one method of `Value` or `Module` with one wrong line. Both engines then run
the same program, on the smallest graph that shows the mistake. A lesson shows the method and both
columns of numbers: find the wrong line, and explain its numbers. On a terminal, Enter shows the
answer; elsewhere, --answers does. With --out, each lesson gets a drawing of the right and the wrong
graph, 1.svg to 5.svg. Takes less than a second.
"""

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from micrograd import Value, draw_dot
from micrograd.nn import Module

# ---- 1. Five variations


class Overwriting(Value):
    """Replaces gradients instead of adding them up."""

    def __add__(self, other):
        """The sum a + b."""
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad = out.grad  # right: self.grad += out.grad
            other.grad = out.grad  # right: other.grad += out.grad

        out._backward = _backward
        return out


class Unsorted(Value):
    """Goes backward from the nodes nearest to the result to the farthest."""

    def backward(self):
        """Stores the derivative with respect to each node in its `grad`."""
        nearest_first = [self]
        for node in nearest_first:
            nearest_first += [v for v in node._prev if v not in nearest_first]
        self.grad = 1
        for node in nearest_first:  # right: for node in reversed(topological_order(self)):
            node._backward()


class Forgetful(Module):
    """A model whose gradients are never reset."""

    def zero_grad(self):
        """Does nothing."""
        pass  # right: for p in self.parameters(): p.grad = 0


class Unswapped(Value):
    """Computes a - 1 for `1 - a`, where Python calls a method of a, the right operand."""

    def __rsub__(self, other):
        """The difference other - a."""
        return self - other  # right: return Unswapped(other) - self


class InASet(Value):
    """Keeps operands in a set, which has no order and holds each node only once."""

    def __mul__(self, other):
        """The product a * b;  d/d operand = product / operand."""
        operands = {self, other}  # right: operands = (self, other)
        out = Value(self.data * other.data, operands, "*")

        def _backward():
            for operand in operands:
                operand.grad += out.data / operand.data * out.grad

        out._backward = _backward
        return out


# ---- 2. The smallest graphs that show the mistakes: numbers by name, and the result to draw


def twice(kind):
    """A sum of a node with itself."""
    a = kind(3.0, label="a")
    s = a + a
    kind.backward(s)
    return {"s": s.data, "ds/da": a.grad}, s


def detour(kind, detour_first=False):
    """A node that reaches the result directly and through another node."""
    a = kind(3.0, label="a")
    b = -a
    c = b * b
    b.label, c.label = "b", "c"
    d = c + b if detour_first else b + c
    kind.backward(d)
    return {"d": d.data, "dd/db": b.grad, "dd/da": a.grad}, d


def detour_in_both_orders(kind):
    """The same numbers, and one more from the last sum with its operands exchanged."""
    numbers, d = detour(kind)
    exchanged, _ = detour(kind, detour_first=True)
    return numbers | {"dd/da of d = c + b": exchanged["dd/da"]}, d


def descent(kind):
    """Three steps of gradient descent on w * w."""
    model = kind()
    model.w = Value(1.0, label="w")
    numbers = {}
    for step in (1, 2, 3):
        loss = model.w * model.w
        model.zero_grad()
        loss.backward()
        numbers[f"gradient in step {step}"] = model.w.grad
        if step < 3:
            model.w.data -= 0.25 * model.w.grad
            numbers[f"w after step {step}"] = model.w.data
    return numbers, loss


def one_minus(kind):
    """A difference whose left operand is a plain number."""
    a = kind(3.0, label="a")
    s = 1 - a
    kind.backward(s)
    return {"s": s.data, "ds/da": a.grad}, s


def square(kind):
    """A product of a node with itself."""
    a = kind(3.0, label="a")
    s = a * a
    kind.backward(s)
    return {"s": s.data, "ds/da": a.grad, "arrows into s": len(s._prev)}, s


# ---- 3. The lessons


@dataclass(frozen=True)
class Lesson:
    """A mistake: the program that shows it, the right and the wrong class, and the reason."""

    title: str
    program: str
    example: Callable
    right: type
    wrong: type
    method: str
    reason: str

    def lines(self):
        """Pairs of a wrong line and the right one."""
        source = inspect.getsource(getattr(self.wrong, self.method))
        return re.findall(r"^ *(.*?)  # right: (.*)$", source, re.MULTILINE)

    def picture(self):
        """The graphs of the right and the wrong engine."""
        (_, right), (_, wrong) = self.example(self.right), self.example(self.wrong)
        names = {"right": right, "wrong": wrong}
        return draw_dot([wrong, right], names=names)

    def question(self):
        """The method with the wrong line, and both columns of numbers."""
        (right, _), (wrong, _) = self.example(self.right), self.example(self.wrong)
        source = textwrap.dedent(inspect.getsource(getattr(self.wrong, self.method)))
        source = re.sub(r"  # right: .*", "", source)
        rows = [f"Lesson {self.title[0]}: {self.program}", "", textwrap.indent(source, "    ")]
        rows.append(f"    {'':22}{'right':>8}{'wrong':>8}")
        for name in right:
            mark = "" if right[name] == wrong[name] else "  <--"
            rows.append(f"    {name:22}{right[name]:>8g}{wrong[name]:>8g}{mark}")
        return "\n".join(
            [*rows, "", "    Which line is wrong, and why does it give these numbers?"]
        )

    def answer(self):
        """The name of the mistake, the wrong lines beside the right ones, and the reason."""
        rows = [f"    {self.title}", ""]
        for wrong_line, right_line in self.lines():
            rows += [f"    wrong   {wrong_line}", f"    right   {right_line}", ""]
        return "\n".join([*rows, textwrap.indent(textwrap.fill(self.reason, 90), "    ")])


LESSONS = [
    Lesson(
        "1. = instead of +=", "s = a + a at a = 3",
        twice, Value, Overwriting, "__add__",
        "Two paths lead from a to s, and each contributes a gradient of 1. Contributions add up; "
        "with =, the second replaces the first. If every node is used only once, the mistake does "
        "not show.",
    ),
    Lesson(
        "2. No topological order", "b = -a, c = b * b, d = b + c at a = 3",
        detour_in_both_orders, Value, Unsorted, "backward",
        "b is used by both c and d, but it comes before c here: it passes its gradient on to a "
        "before the contribution from c arrives. Typed as c + b, the same function happens to give "
        "the right result.",
    ),
    Lesson(
        "3. Forgotten zero_grad()", "loss = w * w, w = w - 0.25 dloss/dw, from w = 1",
        descent, Module, Forgetful, "zero_grad",
        "The first step is right. In later steps the old gradient is still there, and the new one "
        "is added to it, so w moves past the minimum at 0.",
    ),
    Lesson(
        "4. A reflected subtraction without a swap", "s = 1 - a at a = 3",
        one_minus, Value, Unswapped, "__rsub__",
        "The number 1 cannot subtract a Value, so Python calls a.__rsub__(1), and self is the "
        "right operand. The order makes no difference for + and *, but it does for - and /.",
    ),
    Lesson(
        "5. Operands in a set", "s = a * a at a = 3",
        square, Value, InASet, "__mul__",
        "A set holds a only once. So the drawing shows one arrow, and backward follows one arrow "
        "instead of two. A set has no order either: a - b may be drawn as b - a, and differently "
        "in the next run.",
    ),
]  # fmt: skip


def main():
    """Prints the lessons, and draws them with --out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    numbers = range(1, len(LESSONS) + 1)
    parser.add_argument("--lesson", type=int, choices=numbers, help="only this lesson")
    parser.add_argument("--answers", action="store_true", help="print the answers, too")
    parser.add_argument("--out", metavar="FOLDER", help="where to write 1.svg to 5.svg")
    options = parser.parse_args()
    lessons = {i: LESSONS[i - 1] for i in numbers if options.lesson in (None, i)}
    if options.out is not None:
        try:
            Path(options.out).mkdir(parents=True, exist_ok=True)
            for i, lesson in lessons.items():
                lesson.picture().save(Path(options.out, f"{i}.svg"))
        except OSError as error:
            parser.error(f"cannot write into {options.out}: {error.strerror or error}")
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not options.answers
    for lesson in lessons.values():
        print(lesson.question())
        if asks:
            with suppress(EOFError):
                input("    Press Enter for the answer. ")
        if asks or options.answers:
            print(f"\n{lesson.answer()}")
        print("\n")
    if not asks and not options.answers:
        print("For the answers, add --answers.")
    if options.out is not None:
        print(f"pictures in {options.out}: {', '.join(f'{i}.svg' for i in lessons)}")


if __name__ == "__main__":
    main()
