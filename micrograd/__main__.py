"""The command line, `python -m micrograd`.

Write expressions as in Python, with the operators and functions of Value. They are parsed, never
executed as Python, and may contain only arithmetic.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from operator import add, mul, sub, truediv
from pathlib import Path
from typing import Any

from micrograd.core.files import ending_of, write_whole
from micrograd.core.node import as_value, operations
from micrograd.engine import Value
from micrograd.texts import FOLDER, faults, speaking

FUNCTIONS: dict[str, Any] = {"abs": Value.__abs__}
FUNCTIONS |= {x: f for x, f in vars(Value).items() if f in operations.values() and x[0] != "_"}
OPERATORS: Any = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.Pow: pow}
ENDINGS = "a file name that ends in .svg, .png, .pdf, .html (a page of steps) or .mmd (Mermaid)"

# ---- 1. Expressions


def evaluated(text: str) -> tuple[Value, dict[str, Value]]:
    """The result of an expression as a Value, and all named Values.

    Assignments name inputs and intermediate nodes. Functions are written `tanh(x)` or `x.tanh()`.
    Anything but arithmetic is a ValueError.

    >>> o, names = evaluated("x = 3; n = 2 * x; n.relu()")
    >>> o.data, list(names)
    (6.0, ['x', 'n'])
    """
    try:
        statements = ast.parse(text.strip()).body
    except SyntaxError as error:
        fix = "write a product as 2*x, and the number of a name as x=2, without spaces"
        raise ValueError(f"{error.msg} in {(error.text or '').strip()!r}: {fix}") from None
    names: dict[str, Value] = {}
    for statement in statements or [None]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in names:
                result = names[name] = as_value(_result(value, names))
            case ast.Expr(value=value) if statement is statements[-1]:
                result = as_value(_result(value, names))
            case _:
                expected = "expected 'new_name = expression', or at the end an expression"
                raise ValueError(f"{expected}, got {ast.unparse(statement) if statement else ''!r}")
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
    if options.expression == "-":
        options.expression = sys.stdin.read()
    # An argument such as x=2 is an assignment, too.
    result, names = evaluated("\n".join([*options.numbers, options.expression.strip()]))
    result.backward()
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


def grade(options: argparse.Namespace) -> int:
    """Checks your own Value class, operation by operation, or those of a whole class."""
    if options.wrong_engines:
        from micrograd.grade.wrong_engines import write_wrong_engines

        folder, what = Path(options.wrong_engines), "networks" if options.network else "engines"
        paths = write_wrong_engines(folder, options.hints > 0, options.network)
        print(f"{len(paths) - 1} wrong {what} and right.py in {folder}")
        return 0
    if not options.files:
        raise ValueError("grade expects a file, such as my_engine.py: micrograd start writes one")
    from micrograd.grade import grade_file, gradebooks
    from micrograd.grade.points import NETWORK_POINTS, POINTS, read_points
    from micrograd.grade.report import points_of

    settings = {x: getattr(options, x) for x in ("seconds", "class_name", "network")}
    table: Mapping[str, float] = NETWORK_POINTS if options.network else POINTS
    table = read_points(Path(options.points)) if options.points else table
    is_class = options.csv or options.html or options.format == "canvas"
    if len(options.files) > 1 or is_class:
        return _grade_class(options, table, settings)
    path = Path(options.files[0])
    report = grade_file(path, **settings)
    if options.format == "json":
        print(report.json(table))
    elif options.format:
        reports = [replace(report, student=path.stem)]
        print(gradebooks.written(options.format, reports, table, options.hints, ""))
    else:
        print(report.text(options.hints))
        if options.points:
            print(points_of(report.points(table), table))
    return report.exit_code


def _grade_class(options: argparse.Namespace, table: Any, settings: dict[str, Any]) -> int:
    from tqdm import tqdm

    from micrograd.grade import classroom, gradebooks

    if options.csv and options.csv.endswith((".py", ".ipynb")):  # as in `--csv *.py`
        raise ValueError(f"--csv expects a name such as results.csv, got {options.csv}")
    files = classroom.submissions(options.files, options.class_name, options.network)
    roster = classroom.read_roster(Path(options.roster)) if options.roster else []
    results: list[Any] = []
    written = [options.csv, options.html and str(Path(options.html, "index.html"))]
    try:
        with tqdm(total=len(files), unit="file", disable=None) as bar:  # on a terminal only
            for results in classroom.grade_class(
                files, table, options.csv, options.html, options.hints, roster, **settings
            ):
                bar.update(len(results) - bar.n)
    finally:  # what is finished is shown after Ctrl-C, too
        if options.format and results:
            told = results, table, options.hints, options.assignment
            print(gradebooks.written(options.format, *told))
        elif results:
            print("\n".join([gradebooks.summary(results, table), *filter(None, written)]))
    return int(max(report.exit_code for report in results))


def start(options: argparse.Namespace) -> int:
    """Writes a skeleton of a Value class with tasks as comments, or a table of points.

    Examples:
      micrograd start my_engine.py
      micrograd start points.csv
      micrograd start --network my_nn.py

    Both are for `micrograd grade`: my_engine.py as the file, points.csv with --points. With
    --network, they are for `micrograd grade --network`.
    """
    from micrograd.grade.points import default_points
    from micrograd.grade.programs import skeleton

    path = Path(options.file)
    texts = {"py": skeleton(path.name, options.network), "csv": default_points(options.network)}
    kind = ending_of(path, [*texts])
    with path.open("x", encoding="utf-8", newline="") as file:  # an error if it exists
        file.write(texts[kind])
    print(path)
    return 0


def why(options: argparse.Namespace) -> int:
    """Answers a question with your own Value, on the smallest graph, or with your own training.

    Examples:
      micrograd why order my_engine.py
      micrograd why add my_engine.py
      micrograd why learn train.py

    `order`: why does backward() need a topological order? `add`: why do gradients add up (+=)? The
    page steps through the graph. Its title has the wrong gradients: yours, or if yours are right,
    those of an engine with the usual mistake. `learn`: why does it not learn? The script runs as it
    is, and a sentence says what is wrong with its training steps; the exit code is 1 if one does.
    """
    if options.question == "learn":
        from micrograd.watching.watch import watch_script

        run = watch_script(options.file)
        print(run.report())
        return int(bool(run.findings))
    from micrograd.grade.graded_class import BrokenRule
    from micrograd.grade.process import class_in, file_at
    from micrograd.grade.why import answer, why

    try:
        kind, _ = class_in(file_at(Path(options.file), options.name), options.name)
    except BrokenRule as error:
        raise ValueError(f"{options.file}: {error.args[2]}") from None
    print(answer(kind, options.question)[1])
    print(why(kind, options.question).save(options.out))
    return 0


def play(options: argparse.Namespace) -> int:
    """Writes a page on which a small network learns while you watch.

    Example:
      python -m micrograd play -o play.html
    """
    from micrograd.pages.playground import playground

    print(playground(title=options.title).save(options.out))
    return 0


def exercise(options: argparse.Namespace) -> int:
    """Writes a worksheet: graphs whose gradients are worked out by hand, then their solutions.

    Example:
      python -m micrograd exercise --level 2 --seed 7 -o sheet.html

    Print it from the browser; the solutions begin on a page of their own.
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
    inside = Path(__file__).parent / "demos"  # in a wheel; in a clone, they are beside the package
    shutil.copytree(
        inside if inside.exists() else inside.parents[1] / "demos", folder, ignore=leave
    )
    scripts, notebooks = (len([*folder.glob(f"*.{end}")]) for end in ("py", "ipynb"))
    print(f"{folder}: {scripts} scripts and {notebooks} notebooks")
    print(f"To run the first: python {folder / 'decision_boundary.py'}")
    return 0


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


# ---- 3. The command line


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit code: 1 if a check fails, 2 for other errors, else 0.

    >>> main(["draw", "x * y"]), main(["draw", "x", "x=1", "-o", "x"]), main(["grade", "no.py"])
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

    drawn, played = command(draw), command(play)
    drawn("expression", help="such as '(x * w + b).tanh()'; - reads it from stdin")
    drawn("numbers", nargs="*", metavar="NAME=NUMBER", help="values of the names in it")
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
    command(demos)("folder", help="a folder that does not exist yet")
    # In a folder with a package micrograd, `python -m micrograd` would run that package instead.
    option = command(start, prog="micrograd start")
    option("file", help="a name that ends in .py (the skeleton) or .csv (points)")
    option("--network", action="store_true", help="for Neuron, Layer, MLP and training")
    built = option = command(course, prog="micrograd course")
    option("--texts", metavar="FILE", help="texts of your own; see micrograd texts")
    option("--tasks", metavar="FOLDER", help="a folder with chapters of your own")
    archives = "the folder of the npm packages, as .tgz; npm fetches into it those that it lacks"
    option("--pyodide", metavar="FOLDER", help=f"{archives} (default: ~/.cache/micrograd-course)")
    asked = option = command(why, prog="micrograd why")
    option("question", choices=["order", "add", "learn"], help="what to explain")
    option("file", help="a file or a notebook with your Value class, or a script that trains")
    option("--name", default="Value", help="name of the class (default: Value)")
    for option, name in (played, "play"), (sheet, "sheet"), (built, "course"), (asked, "why"):
        option("-o", "--out", default=f"{name}.html", help="file name of the page")
    about_grade = resources.files("micrograd.grade").joinpath("help.txt").read_text("utf-8")
    option = command(grade, prog="micrograd grade", epilog=about_grade)
    what = "a Python file, a notebook (.ipynb), or a folder with one such file; or several of them"
    option("files", nargs="*", metavar="file", help=what)
    option("--network", action="store_true", help="grade Neuron, Layer, MLP and training instead")
    name = "name of the class (default: Value)"
    option("--name", default="Value", dest="class_name", metavar="NAME", help=name)
    option("--format", choices=["json", "gradescope", "canvas"], help="how to print the results")
    option("--json", dest="format", action="store_const", const="json", help="--format json")
    option("--assignment", default="micrograd", metavar="NAME", help="title of a gradebook column")
    option("--csv", metavar="FILE", help="write the results of a class as CSV")
    option("--html", metavar="FOLDER", help="write a page for each student")
    option("--roster", metavar="FILE", help="all students, as CSV: a gradebook that you exported")
    option("--points", metavar="FILE", help="a table of points for each rule, as CSV")
    wrong = "instead, write engines with one mistake each, to try your own tests on; see --hints 0"
    option("--wrong-engines", metavar="FOLDER", help=wrong)
    hints = "reports tell 0 the verdict, 1 what is wrong, 2 where, 3 how to fix it (default: 3)"
    option("--hints", type=int, choices=range(4), default=3, help=hints)
    option("--seconds", type=float, default=10.0, help="time limit for each file (default: 10)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
