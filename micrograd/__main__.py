"""The command line, `micrograd` or `python -m micrograd`."""

import argparse
import inspect
import io
import os
import shutil
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from micrograd.core.files import ending_of, write_whole
from micrograd.texts import FOLDER, faults, speaking

# ---- 1. The commands; each returns an exit code


def grade(options: argparse.Namespace) -> int:
    """Checks your own Value class, operation by operation."""
    from micrograd.grade import grade_file

    report = grade_file(options.file, options.seconds, options.name)
    print(report.text(options.hints))
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
    source = inside if inside.exists() else inside.parents[1] / "demos"
    shutil.copytree(source, folder, ignore=leave)
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
        try:
            given = list(sys.argv[1:] if arguments is None else arguments)
            options = _parser().parse_args(given or ["--help"])
            with speaking(options.language):
                return int(options.command(options))
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
    command(start, prog="micrograd start")("file", help="a new file, whose name ends in .py")
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
    option("file", help="a Python file or a notebook (.ipynb)")
    option("--name", default="Value", help="name of the class (default: Value)")
    hints = "the report tells 0 the verdict, 1 what is wrong, 2 where, 3 how to fix it (default: 3)"
    option("--hints", type=int, choices=range(4), default=3, help=hints)
    option("--seconds", type=float, default=10.0, help="time limit (default: 10)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
