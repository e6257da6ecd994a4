"""The command line, `micrograd` or `python -m micrograd`."""

from __future__ import annotations

import argparse
import inspect
import io
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from micrograd.core.files import ending_of, write_whole
from micrograd.texts import FOLDER, faults, speaking

# ---- 1. The commands; each returns an exit code


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

    Both are for `micrograd grade`: my_engine.py as the file, points.csv with --points.
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

    `order`: why does backward() need a topological order? `add`: why do gradients add up (+=)? A
    page steps through the graph. `learn`: why does it not learn? The script runs as it is, and a
    sentence says what is wrong with its training steps; then the exit code is 1.
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

    npm (a part of Node.js) fetches Python, Graphviz and an editor for the page, once; see
    help(micrograd.course).
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
    found = [*faults(Path(options.file).read_text(encoding="utf-8"))] if options.file else []
    whole = (FOLDER / "en.toml").read_text(encoding="utf-8").strip()
    print("\n".join(found) if options.file else whole)
    return int(bool(found))


# ---- 2. The command line


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit code: 1 if a check fails, 2 for other errors, else 0.

    >>> main(["play", "-o", "page.svg"]), main(["grade", "no.py"])
    (2, 2)
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # on Windows, a pipe may lack letters of a name
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        options = _parser().parse_args(given or ["--help"])
        with speaking(options.language):
            return int(options.command(options))
    except KeyboardInterrupt:
        return 130
    except (ValueError, SyntaxError, ArithmeticError, OSError, ImportError) as error:
        print(f"micrograd: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    looks: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser("python -m micrograd", description=__doc__, **looks)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(function: Callable[..., int], **texts: Any) -> Callable[..., Any]:
        about = inspect.getdoc(function) or ""
        texts |= {"help": about.partition("\n")[0], "description": about}
        added = commands.add_parser(function.__name__, **texts, **looks)
        added.set_defaults(command=function)
        added.add_argument("--language", metavar="NAME", help="language of the texts, such as de")
        return added.add_argument

    played = command(play)
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
