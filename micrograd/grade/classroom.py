"""A class of students: many files, graded two at a time, as a CSV file and as HTML pages.

Each file runs in a process of its own with limits of time and memory (`process.py`), so an endless
loop takes one of the two places for a while and delays nothing else. All results so far are written
after each file: Ctrl-C loses none of them.
"""

from __future__ import annotations

import csv
import io
import os
import queue
import re
import threading
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from micrograd.core.files import write_whole
from micrograd.grade.check import Check
from micrograd.grade.points import earned
from micrograd.grade.process import end_all, grade_file
from micrograd.grade.report import Report
from micrograd.grade.student_page import VERDICTS, Result, class_page, shown, student_page
from micrograd.grade.subject import printable

AT_ONCE = 2  # processes
HIDDEN = {"__pycache__", "node_modules", "site-packages"}
RESERVED = {"index", "con", "prn", "aux", "nul"}  # our overview; devices on Windows
RESERVED |= {f"{device}{i}" for device in ("com", "lpt") for i in range(10)}
LONGEST_NAME = 50  # characters of a page's file name

# ---- 1. Which files, and whose


def submissions(paths: Iterable[str], class_name: str = "Value") -> tuple[list[Path], list[Path]]:
    """What to grade, and the files in folders that are left out.

    If a folder is given alone, or if most files and folders in it have a class of this name, it is
    the folder of a class: each Python file, notebook and folder in it is a student's. Any other
    folder is one student's: the files in it with such a class are graded, the others are left out.
    A path with nothing to grade is kept, so that its report says why.
    """
    waiting = deque(map(Path, paths))
    alone = waiting[0] if len(waiting) == 1 else None
    files: dict[str, Path] = {}  # keyed by the absolute path: each file is graded once
    others: list[Path] = []
    while waiting:
        path = waiting.popleft()
        inside = sorted(_code_in(path))
        found = [file for file in inside if _has_class(file, class_name)]
        works = _works_in(path)
        right = {file.relative_to(path).parts[0] for file in found}
        most = 2 * len(right) > len(works) and not path.is_symlink()
        if works and (most or path == alone):
            waiting.extendleft(reversed(works))
            continue
        for file in found or (inside if len(inside) == 1 else [path]):
            files.setdefault(os.path.abspath(file), file)
        others += [file for file in inside if found and file not in found]
    return list(files.values()), others


def _works_in(folder: Path) -> list[Path]:
    with suppress(OSError):  # its report will say why
        there = [x for x in folder.iterdir() if _is_seen(x.name)]
        return sorted(x for x in there if _is_code(x) or os.path.isdir(x))
    return []


def _code_in(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*") if os.path.isdir(folder) else ():
        is_seen = all(map(_is_seen, path.relative_to(folder).parts))
        if is_seen and _is_code(path) and os.path.isfile(path):
            yield path


def _is_seen(name: str) -> bool:
    return not (name.startswith(".") or name in HIDDEN)


def _is_code(path: Path) -> bool:
    return path.suffix in (".py", ".ipynb")


def _has_class(file: Path, class_name: str) -> bool:
    # A look at the text, because a file with a syntax error is a student's file, too.
    with suppress(OSError):
        text = file.read_text(encoding="utf-8", errors="replace")
        start = r"^[ \t]*" if file.suffix == ".py" else ""
        return bool(re.search(rf"{start}class {re.escape(class_name)}\b", text, re.MULTILINE))
    return True  # it cannot be read: the report will say so


def students(files: Sequence[Path]) -> list[str]:
    """A name for each file: the part of its path that tells it from the others.

    >>> students([Path("homework/ada.py"), Path("homework/ben.ipynb")])
    ['ada', 'ben']
    >>> students([Path("homework/ada/engine.py"), Path("homework/ben/engine.py")])
    ['ada', 'ben']
    >>> students([Path("a/x.py"), Path("b/x.py"), Path("b/y.py"), Path("b/y.ipynb")])
    ['a/x', 'b/x', 'b/y.py', 'b/y.ipynb']
    """
    whole = [Path(os.path.abspath(file)).parts for file in files]
    start = _in_common([parts[:-1] for parts in whole]) if len(whole) > 1 else -1
    # The last parts, if all have the same; but at least one part of each is left.
    backward = [tuple(reversed(parts[start + 1 :])) for parts in whole]
    end = _in_common(backward) if len(whole) > 1 else 0
    names = ["/".join(parts[start : len(parts) - end]) for parts in whole]
    bare = [re.sub(r"\.(py|ipynb)$", "", name) for name in names]
    count = Counter(bare)
    chosen = [short if count[short] == 1 else name for short, name in zip(bare, names, strict=True)]
    return [printable(name) for name in chosen]


def _in_common(paths: Sequence[Sequence[str]]) -> int:
    columns = zip(*paths, strict=False)
    same = (len(set(parts)) == 1 for parts in columns)
    return next((i for i, equal in enumerate(same) if not equal), min(map(len, paths)))


def page_names(names: Iterable[str]) -> list[str]:
    """A file name for the page of each student: safe on all systems, and no two alike.

    >>> page_names(["Ada", "ada", "b/../x y", "con", "="])
    ['Ada.html', 'ada-2.html', 'b-x-y.html', 'con-2.html', 'student.html']
    """
    taken, made = set(RESERVED), []
    for name in names:
        text = unicodedata.normalize("NFC", name)
        plain = re.sub(r"[^\w]+", "-", text).strip("-")[:LONGEST_NAME] or "student"
        number, unique = 1, plain
        while unique.casefold() in taken:
            number += 1
            unique = f"{plain}-{number}"
        taken.add(unique.casefold())
        made.append(f"{unique}.html")
    return made


# ---- 2. Grading


def graded(files: Iterable[Path], grade: Callable[[Path], Report]) -> Iterator[tuple[Path, Report]]:
    """Each file with its report, as they are finished; two are graded at a time.

    When the iterator is closed, as by Ctrl-C, the processes that still run are ended.
    """
    waiting, done = deque(files), queue.Queue[Any]()
    expected = len(waiting)

    def work() -> None:
        with suppress(IndexError):
            while True:
                file = waiting.popleft()
                try:
                    done.put((file, grade(file)))
                except BaseException as error:
                    done.put((file, error))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(expected):
            file, report = _next(done)
            if isinstance(report, BaseException):
                raise report
            yield file, report
    finally:
        waiting.clear()
        while any(thread.is_alive() for thread in threads):
            end_all()
            threads[0].join(0.05)
            threads[1].join(0.05)


def _next(done: queue.Queue[Any]) -> Any:
    while True:  # on Windows, Ctrl-C would have to wait for the end of a longer pause
        with suppress(queue.Empty):
            return done.get(timeout=0.2)


def grade_class(
    files: Sequence[Path],
    table: Mapping[str, float],
    csv_path: str | None = None,
    folder: str | None = None,
    hints: int = 3,
    seconds: float = 10.0,
    class_name: str = "Value",
    names: Mapping[str, str] | None = None,
) -> Iterator[list[Result]]:
    """All results so far, after each file; they are also written as a CSV file and as pages.

    Both are written before the first file is graded, too, so a mistake in a path costs no time.
    Later on, a spreadsheet may lock the CSV file, or a folder may be deleted: all is written again
    after the next file, and a last time at the end.

    Args:
        files: the files, each with one student's class.
        table: the points, as from `read_points`.
        csv_path: where to write the CSV file, if anywhere.
        folder: the folder for the pages, if they are wanted; it is created.
        hints: how much a page gives away, 0 to 3.
        seconds: time limit for each file.
        class_name: the name of the class in the files.
        names: its names for 'data', 'grad' and 'backward', if they cannot be guessed.
    """
    given = students(files)
    facts = dict(zip(files, zip(given, page_names(given), strict=True), strict=True))
    found: dict[Path, Result] = {}

    def grade(file: Path) -> Report:
        try:
            return grade_file(file, seconds, class_name, names=names)
        except (OSError, RuntimeError) as error:
            text = printable(str(error))
            loading = Check("file", "loads", "", "failed", "load", f"a class {class_name}", text)
            return Report(printable(str(file)), (loading,))

    def write(results: Sequence[Result]) -> None:
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for page, text in pages.items():
                if page not in written or not page.exists():  # the folder may be deleted meanwhile
                    write_whole(page, text)
                    written.add(page)
            write_whole(Path(folder, "index.html"), class_page(results, table).encode())
        if csv_path is not None:
            write_whole(csv_path, csv_text(results, table).encode("utf-8-sig"))

    results: list[Result] = []
    pages: dict[Path, bytes] = {}
    written: set[Path] = set()
    write(results)
    for file, report in graded(files, grade):
        student, page = facts[file]
        found[file] = Result(student, printable(str(file)), report, page)
        results = [found[x] for x in files if x in found]
        if folder is not None:
            pages[Path(folder, page)] = student_page(found[file], table, hints).encode()
        with suppress(OSError):
            write(results)
        yield results
    write(results)


# ---- 3. The results as text


def csv_text(results: Iterable[Result], table: Mapping[str, float]) -> str:
    """The results as CSV: a row for each student, with the first mistake and the points.

    >>> print(csv_text([Result("=1+1", "a.py", Report("a.py", ()), "a.html")], {"value": 20}))
    student,points,of,verdict,rule,mistakes,program,expected,found,file,value
    '=1+1,0,20,no mistake,,0,,,,a.py,0
    <BLANKLINE>
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["student", "points", "of", "verdict", "rule", "mistakes"]
    writer.writerow([*head, "program", "expected", "found", "file", *table])
    for result in results:
        report, mistakes = result.report, result.report.mistakes
        points = earned(report.checks, table)
        first = mistakes[0][0] if mistakes else Check("", "", "")
        cells = [
            *(result.student, shown(report.points(table)), shown(sum(table.values()))),
            *(
                VERDICTS[report.exit_code],
                result.rule,
                len(mistakes),
                first.spelled or first.program,
            ),
            *(first.expected, first.found_at, result.file, *map(shown, points.values())),
        ]
        writer.writerow([cell(str(x)) for x in cells])
    return text.getvalue()


def cell(text: str) -> str:
    """The text of a cell that no spreadsheet takes for a formula.

    >>> cell("=HYPERLINK(1)"), cell("@x"), cell("Ada")
    ("'=HYPERLINK(1)", "'@x", 'Ada')

    In countries with a decimal comma, a spreadsheet splits lines at semicolons, too:

    >>> cell("Ada;=1")
    "Ada;'=1"
    """
    return ";".join(f"'{part}" if _is_formula(part) else part for part in text.split(";"))


def _is_formula(text: str) -> bool:
    first = re.sub(r'^[\s"]+', "", text)[:1]
    return unicodedata.normalize("NFKC", first) in ("=", "+", "-", "@")


def summary(results: Iterable[Result], table: Mapping[str, float]) -> str:
    """The results as a table for a terminal."""
    rows = [("student", "points", "verdict", "rule")]
    rows += [
        (
            x.student,
            shown(x.report.points(table)),
            VERDICTS[x.report.exit_code],
            x.rule + f": {x.reason}" * bool(x.reason),
        )
        for x in results
    ]
    first, second, third = (max(len(row[i]) for row in rows) for i in range(3))
    lines = [f"{a:{first}}  {b:>{second}}  {c:{third}}  {d}".rstrip() for a, b, c, d in rows]
    return "\n".join(lines)


def records(results: Iterable[Result], table: Mapping[str, float]) -> list[dict[str, Any]]:
    """The results as plain dicts, lists, strings and numbers, the fixes included."""
    return [
        {
            "student": result.student,
            "points": result.report.points(table),
            "of": float(sum(table.values())),
            "points_by_rule": earned(result.report.checks, table),
            **result.report.to_dict(),
        }
        for result in results
    ]
