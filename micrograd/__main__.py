"""Chapter 15: the command line, `python -m micrograd`.

    draw    the graph of an expression as a picture, a page that steps through it, or Mermaid text
    derive  its value and its gradients, checked by central differences
    train   a small network on two moons, and the picture of what it has learned
    grade   somebody's own Value class, checked operation by operation

An expression is written as in Python, with the operators and the functions of Value. It is parsed
and never evaluated as Python: nothing but arithmetic can be in it.

    >>> main(["derive", "x * x + y", "x=3", "y=1"])
    value 10
    leaf  data  gradient
    x        3         6
    y        1         1
    central differences agree
    0
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import re
import runpy
import sys
import sysconfig
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from micrograd.derivatives import GradientError, check_gradients
from micrograd.engine import Value

FUNCTIONS = {
    **{f: getattr(Value, f) for f in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid")},
    **{f: getattr(Value, f) for f in ("relu", "maximum", "minimum")},
    "abs": abs,
}
OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
AROUND = 40  # characters of a long line on each side of a mistake
ENDINGS = "an ending: .svg, .png, .pdf and others, .html for a page of steps, .mmd for Mermaid"
TOO_DEEP = "too many operations within one another: give parts a name, as in 'n = x * w; n + b'"
DRAW_EXAMPLES = """examples:
  python -m micrograd draw "(x1*w1 + x2*w2 + b).tanh()" x1=2 w1=-3 x2=0 w2=1 b=6.88 -o neuron.svg
  python -m micrograd draw "n = x*w + b; n.tanh()" x=1 w=2 b=0.5 --edges derivatives -o neuron.png
  python -m micrograd draw "p = a*a; q = p + a; p*q + q" a=3 -o diamond.html
"""
GRADE_EXAMPLES = """examples:
  micrograd grade my_engine.py
  micrograd grade lecture.ipynb
  micrograd grade my_engine.py --data value --backward backprop
  micrograd grade my_engine.py --json > report.json
  python -P -m micrograd grade micrograd/engine.py

The last is the same where `micrograd` is not found. In a folder with a package micrograd of your
own, `python -m micrograd` without -P runs that package.

The exit code is 0 if nothing that is there is wrong (what is not there yet is listed, and is no
failure), 1 if a rule is broken, 2 if it could not be graded: there is no such file, it does not
load, it does not define the class, or the class is this package's own.

Of a file, or of the cells of a notebook, only those statements are run that define the class. They
run in a process of its own, without input, with a limit of time and, on Linux and other systems
with such limits, of processor time, memory and the size of a file (256 MB). At the end that process
is killed with all that it started. On Windows there is none of these limits, and what the file
started goes on running; on macOS there is no limit of memory.

What cannot be prevented: the file runs with all your rights. It may read, change and delete files,
use the network, start processes that leave its group, write to the terminal through other
processes, and search its own memory for ours, to answer for a class that is not there; and a class
may let another engine do its work. To grade files of people whom you do not trust, use a container
or another user's account, and read them.
"""
DERIVE_EXAMPLES = """examples:
  python -m micrograd derive "3*x**2 + x*y + 5*y**2" x=2 y=3
  echo "log(x) / x" | python -m micrograd derive - x=2
"""


# ---- 1. Expressions


class ExpressionError(ValueError):
    """What is wrong with an expression, and where: the text with a mark below the place.

    Of a long line it shows what is around the mark.

    >>> print(ExpressionError("'@' is not known", "a @ b", 2))
    '@' is not known
      a @ b
        ^
    """

    def __init__(self, message: str, text: str, column: int) -> None:
        line = text[:column].count("\n")
        place = column - text.rfind("\n", 0, column) - 1
        shown = text.splitlines()[line] if text else ""
        if place > AROUND:
            shown = "\N{HORIZONTAL ELLIPSIS}" + shown[place - AROUND :]
            place = AROUND + 1
        shown = _shortened(shown, place + AROUND)
        message = re.sub(r"\S+", lambda word: _shortened(word[0], AROUND), message)
        super().__init__(f"{message}\n  {shown}\n  {' ' * place}^")


def _shortened(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}\N{HORIZONTAL ELLIPSIS}"


def evaluated(text: str, numbers: Mapping[str, Any]) -> tuple[Any, dict[str, Value]]:
    """The result of an expression as a Value, and all Values in it that have a name.

    `n = x * w + b; n.tanh()` names a node on the way: assignments, on lines of their own or with
    semicolons between them, come before the last expression, which may be an assignment too.

    Args:
        text: names, numbers, + - * / **, brackets, and functions of Value as `tanh(x)` or
            `x.tanh()`.
        numbers: a number, or a Value, for each name that is not assigned.

    Raises:
        ExpressionError: anything else, a name without a number, or arithmetic that fails.

    >>> o, names = evaluated("n = 2 * x; n.relu()", {"x": 3.0})
    >>> o.data, list(names)
    (6.0, ['x', 'n'])
    """
    text = text.strip()
    try:
        statements = ast.parse(text).body
    except SyntaxError as error:
        lines = text.splitlines(keepends=True)
        column = sum(map(len, lines[: (error.lineno or 1) - 1])) + (error.offset or 1) - 1
        message = str(error.msg).split(". Perhaps")[0] + _hint(text, column)
        raise ExpressionError(message, text, max(0, min(column, len(text)))) from None
    except (RecursionError, MemoryError):
        raise ExpressionError(TOO_DEEP, text, 0) from None
    except ValueError as error:
        raise ExpressionError(f"this cannot be read: {error}", text, 0) from None
    if not statements:
        raise ExpressionError("an expression is expected, such as 'x * y'", text, 0)
    reader = _Reader(text, numbers)
    try:
        for statement in statements[:-1]:
            if isinstance(statement, ast.Expr):
                use = "give it a name, or put brackets around an expression of several lines"
                reader.fail(f"nobody uses this result: {use}", statement)
            reader.statement(statement)
        result = reader.statement(statements[-1])
    except RecursionError:
        raise ExpressionError(TOO_DEEP, text, 0) from None
    return result, reader.named


def _hint(text: str, column: int) -> str:
    # What people mean by what no Python can read.
    found = text[column : column + 1]
    signs = {"\N{MULTIPLICATION SIGN}": "*", "\N{MINUS SIGN}": "-", "\N{DIVISION SIGN}": "/"}
    if found in signs:
        return f": write {signs[found]} for {found}"
    number_and_name = r"(?<![\w.])\d+(\.\d*)?(?!e[-+\d])[A-Za-z_(]"
    return ": write 2*x for 2x" if re.search(number_and_name, text) else ""


class _Reader:
    # Walks the tree that Python's parser makes, and knows arithmetic only.

    def __init__(self, text: str, numbers: Mapping[str, Any]) -> None:
        self.text = text
        self.numbers = numbers
        self.named: dict[str, Value] = {}
        # The parser counts bytes from the beginning of each line.
        self.starts = [0]
        for line in text.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def fail(self, message: str, node: ast.AST, behind: bool = False) -> NoReturn:
        place = "end_" * behind
        line, offset = getattr(node, f"{place}lineno"), getattr(node, f"{place}col_offset")
        column = len(self.text.encode()[: self.starts[line - 1] + offset].decode(errors="replace"))
        while behind and self.text[column] in ") \t\r\n":
            column += 1
        raise ExpressionError(message, self.text, column)

    def statement(self, node: ast.stmt) -> Value:
        if isinstance(node, ast.Expr):
            return self.value(node.value)
        targets = node.targets if isinstance(node, ast.Assign) else []
        if not isinstance(node, ast.Assign) or not isinstance(targets[0], ast.Name) or targets[1:]:
            self.fail("only expressions and 'name = expression' are known", node)
        name = targets[0].id
        if name in self.numbers or name in self.named or name in FUNCTIONS:
            self.fail(f"the name {name!r} is taken", node)
        self.named[name] = self.value(node.value)
        return self.named[name]

    def value(self, node: ast.expr) -> Value:
        result = self.number_or_value(node)
        return result if isinstance(result, Value) else Value(result)

    def number_or_value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if type(node.value) not in (int, float):
                self.fail(f"a number is expected, not {node.value!r:.20}", node)
            return node.value
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            operand = self.number_or_value(node.operand)
            return -operand if isinstance(node.op, ast.USub) else operand
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return self.chain(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        known = f"names, numbers, brackets, + - * / ** and {', '.join(FUNCTIONS)}"
        place: ast.expr = node
        what = "this is not known here"
        if isinstance(node, ast.BinOp):
            place = node.left
            if isinstance(node.op, ast.BitXor):
                what = "a power is written **"
        elif isinstance(node, ast.Attribute):
            place = node.value
            if node.attr in FUNCTIONS:
                what = f"{node.attr} is a function: write .{node.attr}()"
        self.fail(f"{what}; known are {known}", place, behind=place is not node)

    def chain(self, node: ast.BinOp) -> Any:
        # a + b + c is (a + b) + c: a loop, since a sum is as deep as it has terms.
        steps = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp) and type(left.op) in OPERATORS:
            steps.append(left)
            left = left.left
        a = self.number_or_value(left)
        for step in reversed(steps):
            b = self.number_or_value(step.right)
            if not isinstance(a, Value) and not isinstance(b, Value):
                a = Value(a)
            a = self.applied(step, OPERATORS[type(step.op)], a, b)
        return a

    def name(self, node: ast.Name) -> Value:
        name = node.id
        if name in FUNCTIONS:
            self.fail(f"{name} is a function: write {name}(...)", node)
        if name not in self.named:
            if name not in self.numbers:
                self.fail(f"{name} has no value: add {name}=1.0 behind the expression", node)
            given = self.numbers[name]
            self.named[name] = given if isinstance(given, Value) else Value(given)
        return self.named[name]

    def call(self, node: ast.Call) -> Value:
        name, arguments = "this", node.args
        if isinstance(node.func, ast.Name):
            name = node.func.id
        elif isinstance(node.func, ast.Attribute):
            name, arguments = node.func.attr, [node.func.value, *node.args]
        if name not in FUNCTIONS:
            message = f"{name} is no function here; known are {', '.join(FUNCTIONS)}"
            receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
            self.fail(message, receiver or node, behind=receiver is not None)
        expected = 2 if name in ("maximum", "minimum") else 1
        if len(arguments) != expected or node.keywords:
            self.fail(f"{name} takes {expected} operand{'s' * (expected > 1)}", node)
        first, *others = arguments
        operands = [self.number_or_value(other) for other in others]
        return self.applied(node, FUNCTIONS[name], self.value(first), *operands)

    def applied(self, node: ast.expr, function: Callable[..., Any], *operands: Any) -> Value:
        try:
            return function(*operands)  # type: ignore[no-any-return]
        except (ArithmeticError, ValueError) as error:
            self.fail(str(error), node)


# ---- 2. The commands; each returns an exit code


def draw(options: argparse.Namespace) -> int:
    """Writes the picture, the page or the Mermaid text of an expression's graph."""
    from micrograd.draw import draw_dot, mermaid  # Graphviz: the other commands do without
    from micrograd.render import write_whole
    from micrograd.steps import explain

    kind = "svg" if options.out == "-" else os.path.splitext(options.out)[1][1:].lower()
    if not kind:
        raise ValueError(f"--out {options.out!r} needs {ENDINGS}")
    result, names = _evaluated(options)
    given = {o: getattr(options, o) for o in ("level", "edges", "rankdir") if getattr(options, o)}
    allowed = {"html": set(), "mmd": {"rankdir"}}.get(kind, set(given))
    for option in given.keys() - allowed:
        raise ValueError(f"--{option} is for pictures, and not for a file .{kind}")
    if kind == "html":
        content = explain(result, names=names, title=_title(options)).html.encode()
    elif kind == "mmd":
        content = mermaid(result, names=names, **given).encode()
    else:
        content = draw_dot(result, format=kind, names=names, **given).pipe()
    if options.out == "-":
        sys.stdout.buffer.write(content)
    else:
        folder = os.path.dirname(options.out)
        if not os.path.isdir(folder or "."):
            raise ValueError(f"cannot write {options.out}: there is no folder {folder}")
        write_whole(options.out, content)
        print(options.out)
    return 0


def _title(options: argparse.Namespace) -> str:
    return _shortened(" ".join(options.expression.split()), 80)


def derive(options: argparse.Namespace) -> int:
    """Prints value and gradients of an expression, and whether central differences agree."""
    result, names = _evaluated(options)
    given = [_assigned(assignment)[0] for assignment in options.numbers]
    leaves = {name: v for name, v in names.items() if name in given}
    rows = [(name, f"{v.data:.6g}", f"{v.grad:.6g}") for name, v in leaves.items()]
    print(f"value {result.data:.10g}")
    if not rows:
        return 0
    rows.insert(0, ("leaf", "data", "gradient"))
    first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
    print("\n".join(f"{a:{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in rows))

    def f(*xs: Value) -> Value:
        again: Value = evaluated(options.expression, dict(zip(leaves, xs, strict=True)))[0]
        return again

    if not all(math.isfinite(x) for v in leaves.values() for x in (v.data, v.grad, result.data)):
        print("central differences say nothing where a number is not finite")
        return 0
    try:
        check_gradients(f, [v.data for v in leaves.values()])
    except GradientError as error:
        print(f"central differences do not agree: {error}")
        return 1
    print("central differences agree")
    return 0


def grade(options: argparse.Namespace) -> int:
    """Prints the report on the Value class in a file."""
    from micrograd.grade import grade_file

    try:
        names = {"data": options.data, "grad": options.grad, "backward": options.backward}
        told = {name: other for name, other in names.items() if other}
        report = grade_file(options.file, options.seconds, options.name, names=told)
    except RuntimeError as error:  # no process came up
        raise OSError(str(error)) from None
    print(report.json() if options.json else report)
    return report.exit_code


def train(arguments: Sequence[str]) -> int:
    """Runs the demo that trains a network and draws its decision boundary."""
    places = [Path(__file__).parent.parent / "demos"]  # in a clone
    places.append(Path(sysconfig.get_path("data")) / "share" / "micrograd")  # beside a wheel
    found = [demo for place in places if (demo := place / "decision_boundary.py").exists()]
    if not found:
        raise SystemExit(f"no decision_boundary.py in {' or '.join(map(str, places))}")
    before = sys.argv
    sys.argv = ["python -m micrograd train", *arguments]
    try:
        runpy.run_path(str(found[0]), run_name="__main__")
    finally:
        sys.argv = before
    return 0


def _evaluated(options: argparse.Namespace) -> tuple[Any, dict[str, Value]]:
    if options.expression == "-":
        options.expression = sys.stdin.read()
    numbers: dict[str, float] = {}
    for assignment in options.numbers:
        name, number = _assigned(assignment)
        try:
            numbers[name] = float(number)
        except ValueError:
            name = ""
        if not name.isidentifier():
            raise ValueError(f"{assignment!r}: a number for a name is expected, such as x=1.5")
    result, names = evaluated(options.expression, numbers)
    if unused := numbers.keys() - names.keys():
        raise ValueError(f"not in the expression: {', '.join(sorted(unused))}")
    try:
        result.backward()
    except ArithmeticError as error:  # a derivative that is not there, as of sqrt at 0
        raise ValueError(str(error)) from None
    return result, names


def _assigned(assignment: str) -> tuple[str, str]:
    # Python reads names in this form, in which two ways of writing the same letter are one.
    name, _, number = assignment.partition("=")
    return unicodedata.normalize("NFKC", name.strip()), number


# ---- 3. The command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; the exit code is 0, 1 if a check fails, 2 if something cannot be done.

    >>> main(["derive", "x * y"]), main(["draw", "x", "x=1", "-o", "x"]), main(["grade", "no.py"])
    (2, 2, 2)
    >>> main(["train", "--data", "circles"])  # doctest: +SKIP
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["train"]:
        return train(given[1:])
    # An expression like -x*2 is no option: a space before it tells argparse so.
    if len(given) > 1 and re.match(r"-(?!h$|o$|-|$)", given[1]):
        given[1] = f" {given[1]}"
    options = _parser().parse_args(given)
    try:
        code = int(options.command(options))
        sys.stdout.flush()  # here, since at its end Python would only complain
        return code
    except BrokenPipeError:  # whoever reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (ValueError, OSError, ImportError) as error:  # the last: there is no Graphviz here
        print(f"micrograd: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    looks: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    about = (__doc__ or "").partition("\n")[2].partition("    >>>")[0].strip("\n")
    parser = argparse.ArgumentParser("python -m micrograd", description=about, **looks)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        function: Callable[..., int], help: str, examples: str, prog: str | None = None
    ) -> argparse.ArgumentParser:
        name = function.__name__
        added = commands.add_parser(name, prog=prog, help=help, epilog=examples, **looks)
        added.set_defaults(command=function)
        return added

    def takes_expression(added: argparse.ArgumentParser) -> None:
        added.add_argument("expression", help="such as '(x * w + b).tanh()'; - reads it from stdin")
        added.add_argument("numbers", nargs="*", metavar="NAME=NUMBER", help="the leaves")

    added = command(draw, "the graph of an expression", DRAW_EXAMPLES)
    takes_expression(added)
    added.add_argument("-o", "--out", default="graph.svg", help=f"{ENDINGS}; - for SVG on stdout")
    added.add_argument("--level", choices=["op", "neuron", "layer"], help="how much a box holds")
    added.add_argument("--edges", help="what stands on the arrows, such as derivatives")
    added.add_argument("--rankdir", choices=["LR", "RL", "TB", "BT"], help="direction of reading")
    added = command(derive, "value and gradients of an expression, checked", DERIVE_EXAMPLES)
    takes_expression(added)
    # Beside a package micrograd of the learner's own, `python -m micrograd` would run that one.
    about = "somebody's own Value class, checked"
    added = command(grade, about, GRADE_EXAMPLES, prog="micrograd grade")
    added.add_argument("file", help="a Python file, a notebook (.ipynb), or a folder with one file")
    added.add_argument("--name", default="Value", help="that of the class (Value)")
    for name in ("data", "grad", "backward"):
        added.add_argument(f"--{name}", metavar="NAME", help=f"what the class calls .{name}")
    added.add_argument("--json", action="store_true", help="for programs: the whole report")
    added.add_argument("--seconds", type=float, default=10.0, help="for all of it (10)")
    command(train, "a network on two moons; see train --help", "")
    return parser


if __name__ == "__main__":
    sys.exit(main())
