"""The command line, `python -m micrograd`.

    draw    draws the graph of an expression: a picture, a page of steps, or Mermaid text
    derive  computes the value and gradients of an expression, and checks the gradients
    train   trains a small network on two moons and draws its decision boundary
    play    writes a page on which a small network learns while you watch
    start   writes a skeleton of a Value class, with tasks as comments
    grade   checks your own Value class, operation by operation, or those of a whole class

Write expressions as in Python, with the operators and functions of Value. They are parsed, never
executed as Python, and may contain only arithmetic.

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
import json
import math
import os
import re
import runpy
import sys
import sysconfig
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
AROUND = 40  # characters to show on each side of a mistake in a long line
ENDINGS = "a file name that ends in .svg, .png, .pdf, .html (a page of steps) or .mmd (Mermaid)"
TOO_DEEP = "too many nested operations: name some of the parts, as in 'n = x * w; n + b'"
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
  micrograd grade homework/*.py --csv results.csv --html report/
  micrograd grade homework/ --csv results.csv --points points.csv --hints 1
  python -P -m micrograd grade micrograd/engine.py

Use the last form if your shell does not find `micrograd`. The option -P matters: without it,
`python -m micrograd` runs a package called micrograd in the current folder, if there is one.

Your class needs Value(number), .data, .grad, +, * and .backward(). Other operations are checked if
the class has them; the report lists the rest as "not there yet". In-place operators such as += are
not checked: without __iadd__, Python computes a += b as a = a + b.

Several files, or --csv or --html, grade a whole class: two files at a time, each with its own
limits. A single folder then stands for the files and folders in it. The folder of a student stands
for all Python files and notebooks in it, at any depth, that define the class. Everything given has
a row: where there is nothing to grade, it says "not graded" and why, and the rest is still graded.
All results so far are written after each file, so Ctrl-C loses none. The CSV file has a row
for each student (in UTF-8 with a byte order mark; Python reads it with encoding="utf-8-sig"):
student, points, of, verdict, rule, mistakes, program, expected, found, file, and the points for
each rule. --html writes index.html for the teacher, and a page for each student; --hints says how
much the pages give away. --json has everything, the fixes included.

Points: each rule earns its points in proportion to its checks that pass. `micrograd start
points.csv` writes the default table (100 points), which you can edit and pass with --points. A row
may also name an operation, such as a.tanh(). Without it, a missing operation costs nothing.

Exit codes, for scripts; for several files, the highest of theirs:
  0  no mistake found
  1  a rule is broken
  2  could not be graded: the file is missing, does not load or does not define the class, or the
     class is this package's own; or a wrong option. In a class: at least one could not be graded,
     and the results of all the others are written
  130  stopped by Ctrl-C

For GitHub Classroom, otter and nbgrader, see help(micrograd.grade): a test file of a few lines.

Only the statements that define the class run, from a file or from the cells of a notebook. They run
in a separate process without input and with a time limit. Where the system supports it, there are
also limits on processor time, memory and file size (256 MB). At the end, the separate process and
everything it started are killed. On macOS memory is not limited. On Windows there is only the time
limit, and processes that the file started keep running.

What cannot be prevented: the file runs with all your permissions. It can read, change and delete
files, use the network, start processes that escape, write to the terminal through other processes,
and forge answers. A class whose code is this package's is refused, but a class can let another
engine do its work. If you do not trust the author, read the file first, and grade it in a container
or under another account.
"""
START_EXAMPLES = """examples:
  micrograd start my_engine.py
  micrograd start points.csv

The skeleton has the tasks as comments; check your work with `micrograd grade my_engine.py`. The
table of points is for `micrograd grade --points points.csv`.
"""
PLAY_EXAMPLES = """examples:
  python -m micrograd play -o play.html

The page needs no network and no server: open it in a browser. In Python,
playground(model, X, y) makes the same page for a model of your own.
"""
DERIVE_EXAMPLES = """examples:
  python -m micrograd derive "3*x**2 + x*y + 5*y**2" x=2 y=3
  echo "log(x) / x" | python -m micrograd derive - x=2
"""


# ---- 1. Expressions


class ExpressionError(ValueError):
    """A mistake in an expression, shown with a mark below it.

    If the line is long, only the part around the mark is shown.

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
    """The result of an expression as a Value, and all named Values in it.

    Assignments name intermediate nodes, as in `n = x * w + b; n.tanh()`. Semicolons or
    newlines separate the statements; the last one may be an expression or an assignment.

    Args:
        text: names, numbers, + - * / **, parentheses, and functions of Value, either as `tanh(x)`
            or as `x.tanh()`.
        numbers: a number or a Value for each name that is not assigned.

    Raises:
        ExpressionError: the text contains anything else, a name has no number, or the arithmetic
            fails.

    >>> o, names = evaluated("n = 2 * x; n.relu()", {"x": 3.0})
    >>> o.data, list(names)
    (6.0, ['x', 'n'])
    """
    text = text.strip()
    statements = _parsed(text)
    reader = _Reader(text, numbers)
    try:
        for statement in statements[:-1]:
            if isinstance(statement, ast.Expr):
                fix = "assign it to a name, or put an expression of several lines in parentheses"
                reader.fail(f"this result is never used: {fix}", statement)
            reader.statement(statement)
        return reader.statement(statements[-1]), reader.named
    except RecursionError:
        raise ExpressionError(TOO_DEEP, text, 0) from None


def _parsed(text: str) -> list[ast.stmt]:
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
        raise ExpressionError(f"this cannot be parsed: {error}", text, 0) from None
    if not statements:
        raise ExpressionError("expected an expression such as 'x * y', got nothing", text, 0)
    return statements


def _hint(text: str, column: int) -> str:
    # The fix for common notations that are not valid Python.
    found = text[column : column + 1]
    signs = {"\N{MULTIPLICATION SIGN}": "*", "\N{MINUS SIGN}": "-", "\N{DIVISION SIGN}": "/"}
    if found in signs:
        return f": write {signs[found]} instead of {found}"
    number_and_name = r"(?<![\w.])\d+(\.\d*)?(?!e[-+\d])[A-Za-z_(]"
    return ": write 2*x instead of 2x" if re.search(number_and_name, text) else ""


class _Reader:
    # Walks the syntax tree from Python's parser; anything but arithmetic is an error.

    def __init__(self, text: str, numbers: Mapping[str, Any]) -> None:
        self.text = text
        self.numbers = numbers
        self.named: dict[str, Value] = {}
        # Byte offsets of the lines: the parser counts columns in bytes from the start of a line.
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
            self.fail("expected an expression or 'name = expression'", node)
        name = targets[0].id
        if name in self.numbers or name in self.named or name in FUNCTIONS:
            self.fail(f"the name {name!r} is already in use: choose another", node)
        self.named[name] = self.value(node.value)
        return self.named[name]

    def value(self, node: ast.expr) -> Value:
        result = self.number_or_value(node)
        return result if isinstance(result, Value) else Value(result)

    def number_or_value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if type(node.value) not in (int, float):
                self.fail(f"expected a number, got {node.value!r:.20}", node)
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
        self.refuse(node)

    def refuse(self, node: ast.expr) -> NoReturn:
        place, what = node, "this is not supported"
        if isinstance(node, ast.BinOp):
            place = node.left
            if isinstance(node.op, ast.BitXor):
                what = "write ** for a power"
        elif isinstance(node, ast.Attribute):
            place = node.value
            if node.attr in FUNCTIONS:
                what = f"{node.attr} is a function: write .{node.attr}()"
        known = f"names, numbers, parentheses, + - * / ** and {', '.join(FUNCTIONS)}"
        self.fail(f"{what}; use {known}", place, behind=place is not node)

    def chain(self, node: ast.BinOp) -> Any:
        # a + b + c is (a + b) + c, so a long sum is deeply nested: loop instead of recursing.
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
                self.fail(f"{name} has no value: add {name}=1.0 after the expression", node)
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
            message = f"{name} is not a known function; use {', '.join(FUNCTIONS)}"
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
    # Imported here, because the other commands do not need Graphviz.
    from micrograd.core.files import write_whole
    from micrograd.draw import draw_dot, mermaid
    from micrograd.pages.explain import explain

    kind = "svg" if options.out == "-" else os.path.splitext(options.out)[1][1:].lower()
    if not kind:
        raise ValueError(f"--out expects {ENDINGS}, got {options.out!r}")
    result, names = _evaluated(options)
    looks = _looks(options, kind)
    if kind == "html":
        content = explain(result, names=names, title=_title(options), **looks).html.encode()
    elif kind == "mmd":
        content = mermaid(result, names=names, **looks).encode()
    else:
        content = draw_dot(result, format=kind, names=names, **looks).pipe()
    if options.out == "-":
        sys.stdout.buffer.write(content)
        return 0
    _check_folder(options.out)
    write_whole(options.out, content)
    print(options.out)
    return 0


def _looks(options: argparse.Namespace, kind: str) -> dict[str, Any]:
    given = {o: getattr(options, o) for o in ("level", "edges", "rankdir") if getattr(options, o)}
    allowed = {"html": {"level", "rankdir"}, "mmd": {"rankdir"}}.get(kind, set(given))
    for option in given.keys() - allowed:
        raise ValueError(f"--{option} works only for pictures, not for .{kind} files: leave it out")
    return given


def _check_folder(path: str) -> None:
    folder = os.path.dirname(path)
    if not os.path.isdir(folder or "."):
        raise ValueError(f"cannot write {path}: there is no folder {folder}; create it first")


def _title(options: argparse.Namespace) -> str:
    return _shortened(" ".join(options.expression.split()), 80)


def derive(options: argparse.Namespace) -> int:
    """Prints the value and gradients of an expression, and whether central differences agree."""
    result, names = _evaluated(options)
    given = [_assigned(assignment)[0] for assignment in options.numbers]
    leaves = {name: v for name, v in names.items() if name in given}
    print(f"value {result.data:.10g}")
    if not leaves:
        return 0
    rows = [(name, f"{v.data:.6g}", f"{v.grad:.6g}") for name, v in leaves.items()]
    _print_table([("leaf", "data", "gradient"), *rows])
    if not all(math.isfinite(x) for v in leaves.values() for x in (v.data, v.grad, result.data)):
        print("not checked: central differences need finite numbers")
        return 0

    def f(*xs: Value) -> Value:
        again: Value = evaluated(options.expression, dict(zip(leaves, xs, strict=True)))[0]
        return again

    try:
        check_gradients(f, [v.data for v in leaves.values()])
    except GradientError as error:
        print(f"central differences do not agree: {error}")
        return 1
    print("central differences agree")
    return 0


def _print_table(rows: Sequence[tuple[str, str, str]]) -> None:
    first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
    for a, b, c in rows:
        print(f"{a:{first}}  {b:>{second}}  {c:>{third}}")


def grade(options: argparse.Namespace) -> int:
    """Prints the report on the Value class in a file, or grades the files of a whole class."""
    from micrograd.grade import grade_file
    from micrograd.grade.points import POINTS, read_points

    names = {"data": options.data, "grad": options.grad, "backward": options.backward}
    told = {name: other for name, other in names.items() if other}
    table = read_points(Path(options.points)) if options.points else POINTS
    if len(options.files) > 1 or options.csv or options.html:
        return _grade_class(options, told, table)
    try:
        report = grade_file(options.files[0], options.seconds, options.name, names=told)
    except FileNotFoundError as error:
        whole = "; to grade all files in it, add --csv FILE or --html FOLDER"
        raise FileNotFoundError(f"{error}{whole * Path(options.files[0]).is_dir()}") from None
    _show(report.json() if options.json else report.text(options.hints))
    if options.points and not options.json:
        print(f"Points: {report.points(table):.4g} of {sum(table.values()):.4g}.")
    return report.exit_code


def _grade_class(
    options: argparse.Namespace, names: Mapping[str, str], table: Mapping[str, float]
) -> int:
    from tqdm import tqdm

    from micrograd.grade import classroom, grade_file
    from micrograd.grade.check import printable

    if options.csv:
        _check_folder(options.csv)
        if Path(options.csv).suffix in (".py", ".ipynb"):  # as in `--csv *.py`, without its name
            raise ValueError(f"--csv expects a name such as results.csv, got {options.csv}")
    if not options.seconds > 0:
        raise ValueError(f"--seconds expects a number above 0, got {options.seconds}")
    files, others = classroom.submissions(options.files, options.name)
    for file in others:
        print(f"left out, without a class {options.name}: {printable(str(file))}", file=sys.stderr)
    results: list[Any] = []
    written = [options.csv, options.html and str(Path(options.html, "index.html"))]
    try:
        with tqdm(total=len(files), unit="file", disable=None) as bar:  # on a terminal only
            settings: dict[str, Any] = {"seconds": options.seconds, "names": names}
            grading = partial(grade_file, class_name=options.name, **settings)
            for so_far in classroom.grade_class(
                files, table, options.csv, options.html, options.hints, grading
            ):
                results = so_far
                bar.update()
    finally:  # what is finished is shown after Ctrl-C, too
        if options.json and results:
            print(json.dumps({"students": classroom.records(results, table)}, indent=2))
        elif results:
            _show("\n".join([classroom.summary(results, table), *filter(None, written)]))
    return int(max(result.report.exit_code for result in results))


def _show(text: str) -> None:
    # Where output goes to a pipe on Windows, its encoding may lack letters of a student's name.
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def start(options: argparse.Namespace) -> int:
    """Writes a skeleton of a Value class, or the table of points; never over an existing file."""
    from importlib.resources import files

    from micrograd.core.files import write_whole
    from micrograd.grade.points import default_points

    path = Path(options.file)
    typed = f'"{path.name}"' if " " in path.name else path.name
    skeleton = files("micrograd.grade").joinpath("skeleton.txt").read_text(encoding="utf-8")
    texts = {".py": skeleton.replace("my_engine.py", typed), ".csv": default_points()}
    if path.suffix not in texts:
        raise ValueError(
            f"start expects a name that ends in .py (the skeleton) or .csv (points), got {path}"
        )
    _check_folder(options.file)
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists: choose another name, or delete it first")
    write_whole(path, texts[path.suffix].encode())
    print(path)
    return 0


def train(arguments: Sequence[str]) -> int:
    """Runs the demo that trains a network and draws its decision boundary."""
    places = [Path(__file__).parent.parent / "demos"]  # in a clone
    places.append(
        Path(sysconfig.get_path("data")) / "share" / "micrograd"
    )  # installed from a wheel
    found = [demo for place in places if (demo := place / "decision_boundary.py").exists()]
    if not found:
        raise SystemExit(
            f"no decision_boundary.py in {' or '.join(map(str, places))}: reinstall micrograd"
        )
    before = sys.argv
    sys.argv = ["python -m micrograd train", *arguments]
    try:
        runpy.run_path(str(found[0]), run_name="__main__")
    finally:
        sys.argv = before
    return 0


def play(options: argparse.Namespace) -> int:
    """Writes the page of live training."""
    from micrograd.pages.playground import playground

    _check_folder(options.out)
    print(playground(title=options.title).save(options.out))
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
            raise ValueError(f"expected a name and a number such as x=1.5, got {assignment!r}")
    result, names = evaluated(options.expression, numbers)
    if unused := numbers.keys() - names.keys():
        raise ValueError(f"not in the expression: {', '.join(sorted(unused))}; leave it out")
    try:
        result.backward()
    except ArithmeticError as error:  # a derivative does not exist, as for sqrt at 0
        raise ValueError(str(error)) from None
    return result, names


def _assigned(assignment: str) -> tuple[str, str]:
    # Normalizes a name as Python does: different codes for the same letter become one.
    name, _, number = assignment.partition("=")
    return unicodedata.normalize("NFKC", name.strip()), number


# ---- 3. The command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code: 1 if a check fails, 2 for other errors, else 0.

    Without a command, it prints the help, as for `--help`.

    >>> main(["derive", "x * y"]), main(["draw", "x", "x=1", "-o", "x"]), main(["grade", "no.py"])
    (2, 2, 2)
    >>> main(["train", "--data", "circles"])  # doctest: +SKIP
    """
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if given[:1] == ["train"]:
        return train(given[1:])
    # argparse would take an expression like -x*2 for an option, unless a space comes first.
    if len(given) > 1 and re.match(r"-(?!h$|o$|-|$)", given[1]):
        given[1] = f" {given[1]}"
    options = _parser().parse_args(given)
    try:
        code = int(options.command(options))
        sys.stdout.flush()  # at exit, Python would only warn of a failed write
        return code
    except BrokenPipeError:  # the reader of the pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (ValueError, OSError, ImportError) as error:  # ImportError: Graphviz is missing
        print(f"micrograd: {error}", file=sys.stderr)
        return 2


LOOKS: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}


def _parser() -> argparse.ArgumentParser:
    about = (__doc__ or "").partition("\n")[2].partition("    >>>")[0].strip("\n")
    parser = argparse.ArgumentParser("python -m micrograd", description=about, **LOOKS)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(function: Callable[..., int], **texts: Any) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = commands.add_parser(function.__name__, **texts, **LOOKS)
        added.set_defaults(command=function)
        return added

    _takes_drawing(command(draw, help="draw the graph of an expression", epilog=DRAW_EXAMPLES))
    checked = "compute the value and gradients of an expression"
    _takes_expression(command(derive, help=checked, epilog=DERIVE_EXAMPLES))
    # In a folder with a package micrograd, `python -m micrograd` would run that package instead.
    graded: dict[str, Any] = {"prog": "micrograd grade", "epilog": GRADE_EXAMPLES}
    _takes_files(command(grade, help="check your own Value class", **graded))
    begun: dict[str, Any] = {"prog": "micrograd start", "epilog": START_EXAMPLES}
    _takes_name(command(start, help="write a skeleton of a Value class", **begun))
    command(train, help="train a network on two moons; see train --help")
    _takes_page(command(play, help="write a page of live training", epilog=PLAY_EXAMPLES))
    return parser


def _takes_expression(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "expression", help="for example '(x * w + b).tanh()'; - reads it from stdin"
    )
    command.add_argument(
        "numbers", nargs="*", metavar="NAME=NUMBER", help="values of the names in the expression"
    )


def _takes_drawing(command: argparse.ArgumentParser) -> None:
    _takes_expression(command)
    command.add_argument(
        "-o", "--out", default="graph.svg", help=f"{ENDINGS}; - writes SVG to stdout"
    )
    command.add_argument(
        "--level",
        choices=["op", "neuron", "layer"],
        help="draw a box for each operation, neuron or layer",
    )
    command.add_argument("--edges", help="what to write beside the arrows, for example derivatives")
    command.add_argument(
        "--rankdir", choices=["LR", "RL", "TB", "BT"], help="direction of the graph"
    )


def _takes_page(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--out", default="play.html", help="file name of the page")
    command.add_argument("--title", help="title of the page")


def _takes_name(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="a name that ends in .py (the skeleton) or .csv (points)")


def _takes_files(command: argparse.ArgumentParser) -> None:
    what = "a Python file, a notebook (.ipynb), or a folder with one such file; or several of them"
    command.add_argument("files", nargs="+", metavar="file", help=what)
    command.add_argument("--name", default="Value", help="name of the class (default: Value)")
    for name in ("data", "grad", "backward"):
        command.add_argument(
            f"--{name}", metavar="NAME", help=f"name that the class uses for .{name}"
        )
    command.add_argument("--json", action="store_true", help="print the whole report as JSON")
    command.add_argument("--csv", metavar="FILE", help="write the results of a class as CSV")
    command.add_argument("--html", metavar="FOLDER", help="write a page for each student")
    command.add_argument("--points", metavar="FILE", help="a table of points for each rule, as CSV")
    command.add_argument(
        "--hints",
        type=int,
        choices=range(4),
        default=3,
        help="reports tell 0 the verdict, 1 what is wrong, 2 where, 3 how to fix it (default: 3)",
    )
    command.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        help="time limit for each file (default: 10)",
    )


if __name__ == "__main__":
    sys.exit(main())
