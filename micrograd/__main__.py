"""The command line, `python -m micrograd`.

Write expressions as in Python, with the operators and functions of Value. They are parsed, never
executed as Python, and may contain only arithmetic.

    >>> main(["derive", "x * x + y", "x=3", "y=1"])
    value 10
    x = 3, gradient 6
    y = 1, gradient 1
    central differences agree
    0
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import json
import os
import re
import runpy
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib import resources
from operator import add, mul, sub, truediv
from pathlib import Path
from typing import Any

from micrograd.core.files import ending_of, write_whole
from micrograd.core.node import as_value, operations
from micrograd.derivatives import GradientError, check_gradients
from micrograd.engine import Value
from micrograd.texts import FOLDER, faults, speaking

FUNCTIONS: dict[str, Any] = {"abs": Value.__abs__}
FUNCTIONS |= {x: f for x, f in vars(Value).items() if f in operations.values() and x[0] != "_"}
OPERATORS: Any = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.Pow: pow}
ENDINGS = "a file name that ends in .svg, .png, .pdf, .html (a page of steps) or .mmd (Mermaid)"

# ---- 1. Expressions


def evaluated(text: str, numbers: Mapping[str, float | Value]) -> tuple[Value, dict[str, Value]]:
    """The result of an expression as a Value, and all named Values.

    Assignments name intermediate nodes, as in `n = x * w + b; n.tanh()`. Functions are written
    `tanh(x)` or `x.tanh()`. Anything but arithmetic is a ValueError. `numbers` has a number or a
    Value for each name that is not assigned.

    >>> o, names = evaluated("n = 2 * x; n.relu()", {"x": 3.0})
    >>> o.data, list(names)
    (6.0, ['x', 'n'])
    """
    try:
        statements = ast.parse(text.strip()).body
    except SyntaxError as error:
        fix = "write a product as 2*x, and the number of a name as x=2, without spaces"
        raise ValueError(f"{error.msg} in {(error.text or '').strip()!r}: {fix}") from None
    names = {name: as_value(number) for name, number in numbers.items()}
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in names:
                result = names[name] = as_value(_result(value, names))
            case ast.Expr(value=value) if statement is statements[-1]:
                result = as_value(_result(value, names))
            case _:
                expected = "expected 'new_name = expression', or an expression at the end"
                raise ValueError(f"{expected}, got {ast.unparse(statement)!r}")
    if not statements:
        raise ValueError("expected an expression such as 'x * y', got nothing")
    return result, names


def _result(node: ast.expr, names: Mapping[str, Value]) -> Any:
    # A number that an operator meets stays a number, so that drawings show it as a constant.
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise ValueError(f"{name} has no value: add {name}=1.0 after the expression")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_result(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            a, b = _result(left, names), _result(right, names)
            return OPERATORS[type(op)](a if isinstance(b, Value) else as_value(a), b)
        case ast.BinOp(op=ast.BitXor()):
            raise ValueError(f"write ** instead of ^ for a power, in {ast.unparse(node)!r}")
        case (
            ast.Call(func=ast.Attribute(attr=name, value=first), args=more, keywords=[])
            | ast.Call(func=ast.Name(id=name), args=[first, *more], keywords=[])
        ) if name in FUNCTIONS and len(more) == FUNCTIONS[name].__code__.co_argcount - 1:
            others = [_result(other, names) for other in more]
            return FUNCTIONS[name](as_value(_result(first, names)), *others)
    known = f"names, numbers, parentheses, + - * / ** and {', '.join(FUNCTIONS)}"
    raise ValueError(f"{ast.unparse(node)!r} is not known here: use {known}")


# ---- 2. The commands; each returns an exit code


def draw(options: argparse.Namespace) -> int:
    """Draws the graph of an expression: a picture, a page of steps, or Mermaid text.

    Examples:
      python -m micrograd draw "(x1*w1 + x2*w2).tanh()" x1=2 w1=-3 x2=0 w2=1 -o neuron.svg
      python -m micrograd draw "n = x*w; n.tanh()" x=1 w=2 --edges derivatives -o neuron.png
      python -m micrograd draw "p = a*a; q = p + a; p*q + q" a=3 -o diamond.html
    """
    # Imported here, because the other commands do not need Graphviz.
    from micrograd.draw import draw_dot, mermaid
    from micrograd.draw.render import PICTURES
    from micrograd.pages.explain import explain

    kinds = *PICTURES[:3], "html", "mmd", *PICTURES[3:], "gv", "dot"
    kind = "svg" if options.out == "-" else ending_of(options.out, kinds)
    if options.edges and kind in ("html", "mmd"):
        raise ValueError(f"--edges works only for pictures, not for .{kind} files: leave it out")
    result, names = _evaluated(options)
    asked = ("level", "edges", "rankdir")
    looks: dict[str, Any] = {x: getattr(options, x) for x in asked if getattr(options, x)}
    if kind == "html":
        content = explain(result, names=names, title=options.expression, **looks).html.encode()
    elif kind == "mmd":
        content = mermaid(result, names=names, **looks).encode()
    else:
        content = draw_dot(result, format=kind, names=names, **looks).pipe()
    if options.out == "-":
        sys.stdout.buffer.write(content)
    else:
        write_whole(options.out, content)
        print(options.out)
    return 0


def derive(options: argparse.Namespace) -> int:
    """Prints the value and gradients of an expression, and checks the gradients.

    Examples:
      python -m micrograd derive "3*x**2 + x*y + 5*y**2" x=2 y=3
      echo "log(x) / x" | python -m micrograd derive - x=2
    """
    result, names = _evaluated(options)
    given = (assignment.partition("=")[0].strip() for assignment in options.numbers)
    leaves = {name: names[name] for name in given}
    print(f"value {result.data:.10g}")
    for name, leaf in leaves.items():
        print(f"{name} = {leaf.data:.6g}, gradient {leaf.grad:.6g}")

    def f(*xs: Value) -> Any:
        return evaluated(options.expression, dict(zip(leaves, xs, strict=True)))[0]

    try:
        check_gradients(f, [v.data for v in leaves.values()])
    except GradientError as error:
        print(f"central differences do not agree: {error}")
        return 1
    print("central differences agree")
    return 0


def grade(options: argparse.Namespace) -> int:
    """Checks your own Value class, operation by operation."""
    from micrograd.grade import grade_file

    if len(options.files) != 1:
        loop = 'for f in *.py; do micrograd grade "$f"; done'
        raise ValueError(f"grade expects one file, such as my_engine.py; for several: {loop}")
    report = grade_file(options.files[0], options.seconds, options.class_name)
    as_json = json.dumps(report.to_dict(), indent=2) if options.json else ""
    print(as_json or report.text(options.hints))
    return report.exit_code


def start(options: argparse.Namespace) -> int:
    """Writes a skeleton of a Value class, with tasks as comments.

    Example:
      micrograd start my_engine.py

    `micrograd grade` checks it.
    """
    from micrograd.grade.programs import skeleton

    path = Path(options.file)
    ending_of(path, ["py"])
    with path.open("x", encoding="utf-8", newline="") as file:  # an error if it exists
        file.write(skeleton(path.name))
    print(path)
    return 0


def why(options: argparse.Namespace) -> int:
    """Runs a script that trains, and says why it does not learn.

    Example:
      micrograd why learn train.py

    The script runs as it is, and a sentence says what is wrong with its training steps; the exit
    code is 1 if something is.
    """
    from micrograd.watching.watch import watch_script

    run = watch_script(options.file)
    print(run.report())
    return int(bool(run.findings))


def play(options: argparse.Namespace) -> int:
    """Writes a page on which a small network learns while you watch.

    Example:
      python -m micrograd play -o play.html

    In Python, playground(model, X, y) makes the same page for a model of your own.
    """
    from micrograd.pages.playground import playground

    print(playground(title=options.title).save(options.out))
    return 0


def exercise(options: argparse.Namespace) -> int:
    """Writes a worksheet: graphs whose gradients are worked out by hand, then their solutions.

    Example:
      python -m micrograd exercise --level 2 --seed 7 -o sheet.html

    Print it from the browser; the solutions begin on a page of their own. Another seed gives other
    graphs. In Python, worksheet(loss) makes such a sheet from a graph of your own.
    """
    from micrograd.pages.worksheet import exercises

    print(exercises(options.level, options.seed, options.tasks).save(options.out))
    return 0


def course(options: argparse.Namespace) -> int:
    """Builds the course, one HTML file in which you write an engine.

    Examples:
      micrograd course -o course.html
      micrograd course -o course.html --tasks my_chapters/ --texts my_texts.toml

    npm (a part of Node.js) fetches Python, Graphviz and an editor for the page, once. The help of
    `micrograd.course` says what a chapter of your own is, and which browsers open the page.
    """
    from micrograd.course.build import CACHE, course

    given = options.pyodide or CACHE, options.language, options.texts, options.tasks
    page = course(*given).encode()
    write_whole(options.out, page)
    print(f"{options.out}: {len(page) / 1e6:.1f} MB")
    return 0


def demos(options: argparse.Namespace) -> int:
    """Writes scripts and notebooks to run and to change into a folder of your own.

    Example:
      python -m micrograd demos my_demos
    """
    folder = Path(options.folder)
    if folder.exists():
        raise FileExistsError(f"demos expects a new folder, got {folder}: give it another name")
    leave = shutil.ignore_patterns("__pycache__", "gallery*", "site")  # for the README and the site
    shutil.copytree(_demos(), folder, ignore=leave)
    scripts, notebooks = (len([*folder.glob(f"*.{end}")]) for end in ("py", "ipynb"))
    print(f"{folder}: {scripts} scripts and {notebooks} notebooks")
    print(f"To run the first: python {folder / 'decision_boundary.py'}")
    return 0


def _demos() -> Path:
    # A wheel has them inside the package; a clone, beside it.
    inside = Path(__file__).parent / "demos"
    return inside if inside.exists() else Path(__file__).parents[1] / "demos"


def texts(options: argparse.Namespace) -> int:
    """Lists what a file of another language lacks or has wrong; without a file, all English texts.

    Examples:
      python -m micrograd texts > de.toml
      python -m micrograd texts de.toml

    explain(y, texts="de.toml", language="de") shows them; what the file lacks is English. The exit
    code is 1 if the list is not empty.
    """
    found = [*faults(Path(options.file))] if options.file else []
    whole = (FOLDER / "en.toml").read_text(encoding="utf-8").strip()
    print("\n".join(found) if options.file else whole)
    return int(bool(found))


def _evaluated(options: argparse.Namespace) -> tuple[Value, dict[str, Value]]:
    if options.expression == "-":
        options.expression = sys.stdin.read()
    # An argument such as x=2 is an assignment, too.
    result, names = evaluated("\n".join([*options.numbers, options.expression.strip()]), {})
    result.backward()
    return result, names


# ---- 3. The command line


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit code: 1 if a check fails, 2 for other errors, else 0.

    >>> main(["derive", "x * y"]), main(["draw", "x", "x=1", "-o", "x"]), main(["grade", "no.py"])
    (2, 2, 2)
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # on Windows, a pipe may lack letters of a name
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments) or ["--help"])
        finally:
            sys.stdout.flush()  # when Python ends, an error here would be shown in full
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is left to be flushed
        return 141
    except (ValueError, SyntaxError, ArithmeticError, OSError, ImportError) as error:
        print(f"micrograd: {error}", file=sys.stderr)
        return 2


def _run(given: list[str]) -> int:
    if given[0] == "train":  # a demo, with options of its own
        sys.argv = ["python -m micrograd train", *given[1:]]
        runpy.run_path(str(_demos() / "decision_boundary.py"), run_name="__main__")
        return 0
    # argparse would take an expression like -x*2 for an option, unless a space comes first.
    if len(given) > 1 and re.match(r"-(?!h$|o$|-|$)", given[1]):
        given[1] = f" {given[1]}"
    options = _parser().parse_args(given)
    with speaking(options.language):
        return int(options.command(options))


def _parser() -> argparse.ArgumentParser:
    looks: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    about = (__doc__ or "").split("\n\n")[1:2]
    parser = argparse.ArgumentParser("python -m micrograd", description="".join(about), **looks)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(function: Callable[..., int], **texts: Any) -> Callable[..., Any]:
        about = inspect.getdoc(function) or ""
        texts |= {"help": about.partition("\n")[0], "description": about}
        added = commands.add_parser(function.__name__, **texts, **looks)
        added.set_defaults(command=function)
        added.add_argument("--language", metavar="NAME", help="language of the texts, such as de")
        return added.add_argument

    drawn, derived, played = command(draw), command(derive), command(play)
    for option in drawn, derived:
        option("expression", help="such as '(x * w + b).tanh()'; - reads it from stdin")
        option("numbers", nargs="*", metavar="NAME=NUMBER", help="values of the names in it")
    drawn("-o", "--out", default="graph.svg", help=f"{ENDINGS}; - writes SVG to stdout")
    drawn("--level", choices=["op", "neuron", "layer"], help="draw a box for each of these")
    drawn("--edges", help="what to write beside the arrows, for example derivatives")
    drawn("--rankdir", choices=["LR", "TB"], help="direction of the graph")
    played("--title", help="title of the page")
    sheet = command(exercise)
    levels = "1 sums and products; 2 a number is used twice; 3 quotients, squares and ReLUs, too; "
    levels += "4 a neuron with its squared error, or a line with those of two points (default: 1)"
    sheet("--level", type=int, choices=range(1, 5), default=1, help=levels)
    sheet("--seed", type=int, default=0, help="another number gives other graphs (default: 0)")
    sheet("--tasks", type=int, default=2, help="number of graphs (default: 2)")
    command(texts)("file", nargs="?", help="a file of texts in your language")
    task = "Trains a small network and draws its decision boundary; see train --help"
    commands.add_parser("train", help=task)
    command(demos)("folder", help="a folder that does not exist yet")
    # In a folder with a package micrograd, `python -m micrograd` would run that package instead.
    option = command(start, prog="micrograd start")
    option("file", help="a new file, whose name ends in .py")
    built = option = command(course, prog="micrograd course")
    option("--texts", metavar="FILE", help="texts of your own; see micrograd texts")
    option("--tasks", metavar="FOLDER", help="a folder with chapters of your own")
    archives = "the folder of the npm packages, as .tgz; npm fetches into it those that it lacks"
    option("--pyodide", metavar="FOLDER", help=f"{archives} (default: ~/.cache/micrograd-course)")
    option = command(why, prog="micrograd why")
    option("question", choices=["learn"], help="what to explain")
    option("file", help="a script that trains")
    for option, name in (played, "play"), (sheet, "sheet"), (built, "course"):
        option("-o", "--out", default=f"{name}.html", help="file name of the page")
    about_grade = resources.files("micrograd.grade").joinpath("help.txt").read_text("utf-8")
    option = command(grade, prog="micrograd grade", epilog=about_grade)
    option("files", nargs="*", metavar="file", help="a Python file or a notebook (.ipynb)")
    name = "name of the class (default: Value)"
    option("--name", default="Value", dest="class_name", metavar="NAME", help=name)
    option("--json", action="store_true", help="print the report as JSON")
    hints = "the report tells 0 the verdict, 1 what is wrong, 2 where, 3 how to fix it (default: 3)"
    option("--hints", type=int, choices=range(4), default=3, help=hints)
    option("--seconds", type=float, default=10.0, help="time limit (default: 10)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
