"""The tables that the article scripts print: a description, the article's number, and ours."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def print_table(
    title: str, rows: Iterable[tuple[str, Any, Any]], reference: str = "article"
) -> None:
    """Prints a row for each (what, reference, here); a reference of None is a dash."""
    print(f"\n{title:50}{reference:>18}{'here':>18}")
    for what, expected, here in rows:
        print(f"  {what:48}{text(expected):>18}{text(here):>18}")


def text(x: object) -> str:
    """A number with 6 digits, a string as it is, a dash for None."""
    if x is None:
        return "-"
    return x if isinstance(x, str) else f"{x:.6g}"


def positive(number: str) -> int:
    """A whole number of at least 1, from the command line."""
    if not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {number!r}")
    return int(number)


def arguments(doc: str | None, *options: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """The options of the command line: --out-dir, and those given as (name, keywords)."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out-dir", default=".", metavar="FOLDER", help="(this folder)")
    for name, keywords in options:
        parser.add_argument(name, **keywords)
    chosen = parser.parse_args()
    if not Path(chosen.out_dir).is_dir():
        parser.error(f"--out-dir expects an existing folder, got {chosen.out_dir!r}")
    return chosen
