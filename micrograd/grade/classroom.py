"""A class of students: many files, graded two at a time, as a CSV file and as HTML pages.

Each file runs in a process of its own with limits of time and memory (`process.py`), so an endless
loop takes one of the two places for a while and delays nothing else. All results so far are written
after each file: Ctrl-C loses none of them.
"""

from __future__ import annotations

import csv
import io
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

from micrograd.core.files import write_whole
from micrograd.grade.check import Check
from micrograd.grade.graded_class import printable
from micrograd.grade.loading import code_in, has_class, is_code, is_seen
from micrograd.grade.points import earned
from micrograd.grade.process import end_all, grade_file
from micrograd.grade.report import Report
from micrograd.grade.student_page import Result, class_page, shown, student_page

AT_ONCE = 2  # processes
LONGEST_NAME = 50  # characters of a page's file name
# What a spreadsheet takes for a formula, also where it splits cells at semicolons; the last four
# are wide letters, which some spreadsheets take for the first four.
FORMULA = re.compile('(^|;)(?=[\\s"]*[=+@\uff1d\uff0b\uff0d\uff20-])')

# ---- 1. Which files, and whose


def submissions(paths: Sequence[str], class_name: str = "Value") -> tuple[list[Path], list[Path]]:
    """What to grade, and the files in folders that are left out.

    A folder that is given alone is that of a class: each Python file, notebook and folder in it is
    a student's. Any other folder is one student's: the files in it with a class of this name are
    graded, the others are left out. A path with nothing to grade is kept, so that its report says
    why.
    """
    given = [Path(path) for path in paths]
    if len(given) == 1 and os.path.isdir(given[0]):
        seen = (x for x in given[0].iterdir() if is_seen(x.name))
        given = sorted(x for x in seen if is_code(x) or os.path.isdir(x)) or given
    files: dict[str, Path] = {}  # keyed by the absolute path: each file is graded once
    others: list[Path] = []
    for path in given:
        inside = code_in(path) if os.path.isdir(path) else []
        found = [file for file in inside if has_class(file, class_name)]
        others += [file for file in inside if found and file not in found]
        for file in found or (inside if len(inside) == 1 else [path]):
            files.setdefault(os.path.abspath(file), file)
    return list(files.values()), others


def students(files: Sequence[Path]) -> list[str]:
    """A name for each file: the part of its path that tells it from the others.

    >>> students([Path("homework/ada.py"), Path("homework/ben.ipynb")])
    ['ada', 'ben']
    >>> students([Path("homework/ada/engine.py"), Path("homework/ben/engine.py")])
    ['ada', 'ben']
    """
    whole = [Path(os.path.abspath(file)) for file in files]
    root = os.path.commonpath([file.parent for file in whole])
    parts = [file.relative_to(root).parts for file in whole]
    while len(parts) > 1 and min(map(len, parts)) > 1 and len({x[-1] for x in parts}) == 1:
        parts = [x[:-1] for x in parts]
    names = ["/".join(x) for x in parts]
    bare = [re.sub(r"\.(py|ipynb)$", "", name) for name in names]
    count = Counter(bare)
    chosen = (short if count[short] == 1 else name for short, name in zip(bare, names, strict=True))
    return [printable(name) for name in chosen]


def page_names(names: Iterable[str]) -> list[str]:
    """A file name for the page of each student, no two alike.

    >>> page_names(["Ada", "ada", "b/../x y", "index", "="])
    ['Ada.html', 'ada-2.html', 'b-x-y.html', 'index-2.html', 'student.html']
    """
    taken, made = Counter({"index": 1}), []
    for name in names:
        plain = re.sub(r"\W+", "-", name).strip("-")[:LONGEST_NAME] or "student"
        taken[plain.casefold()] += 1
        number = taken[plain.casefold()]
        made.append(f"{plain}-{number}.html" if number > 1 else f"{plain}.html")
    return made


# ---- 2. Grading


def graded(files: Iterable[Path], grade: Callable[[Path], Report]) -> Iterator[tuple[Path, Report]]:
    """Each file with its report, as they are finished; two are graded at a time.

    When the iterator is closed, as by Ctrl-C, the processes that still run are ended.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = {pool.submit(grade, file): file for file in files}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in waiting):
                end_all()
                time.sleep(0.05)


def grade_class(
    files: Sequence[Path],
    table: Mapping[str, float],
    csv_path: str | None = None,
    folder: str | None = None,
    hints: int = 3,
    grade: Callable[[Path], Report] = grade_file,
) -> Iterator[list[Result]]:
    """All results so far, after each file; they are also written as a CSV file and as pages.

    Both are written before the first file is graded, too, so a mistake in a path costs no time.
    Later on, a spreadsheet may lock the CSV file, or a folder may be deleted: all is written a last
    time at the end.

    Args:
        files: the files, each with one student's class.
        table: the points, as from `read_points`.
        csv_path: where to write the CSV file, if anywhere.
        folder: the folder for the pages, if they are wanted; it is created.
        hints: how much a page gives away, 0 to 3.
        grade: makes the report on a file.
    """

    def tried(file: Path) -> Report:
        try:
            return grade(file)
        except OSError as error:
            text = printable(str(error))
            loading = Check("file", "loads", "", "failed", "load", "a file with the class", text)
            return Report(printable(str(file)), (loading,))

    def write(results: Sequence[Result], new: Iterable[Result]) -> None:
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for x in new:
                write_whole(Path(folder, x.page), student_page(x, table, hints).encode())
            write_whole(Path(folder, "index.html"), class_page(results, table).encode())
        if csv_path is not None:
            write_whole(csv_path, csv_text(results, table).encode("utf-8-sig"))

    given = students(files) if files else []
    facts = dict(zip(files, zip(given, page_names(given), strict=True), strict=True))
    found: dict[Path, Result] = {}
    results: list[Result] = []
    write([], [])
    for file, report in graded(files, tried):
        student, page = facts[file]
        found[file] = Result(student, printable(str(file)), report, page)
        results = [found[x] for x in files if x in found]
        with suppress(OSError):
            write(results, [found[file]])
        yield results
    write(results, results)


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
    for x in results:
        mistakes = x.report.mistakes
        first = mistakes[0][0] if mistakes else Check("", "", "")
        cells = [x.student, shown(x.report.points(table)), shown(sum(table.values())), x.verdict,
                 x.rule, len(mistakes), first.spelled or first.program, first.expected,
                 first.found_at, x.file]  # fmt: skip
        cells += map(shown, earned(x.report.checks, table).values())
        writer.writerow([FORMULA.sub(r"\1'", str(cell)) for cell in cells])
    return text.getvalue()


def summary(results: Iterable[Result], table: Mapping[str, float]) -> str:
    """The results as a table for a terminal."""
    rows = [("student", "points", "verdict", "rule")]
    for x in results:
        rule = x.rule + f": {x.reason}" * bool(x.reason)
        rows.append((x.student, shown(x.report.points(table)), x.verdict, rule))
    first, second, third = (max(len(row[i]) for row in rows) for i in range(3))
    lines = [f"{a:{first}}  {b:>{second}}  {c:{third}}  {d}".rstrip() for a, b, c, d in rows]
    return "\n".join(lines)


def records(results: Iterable[Result], table: Mapping[str, float]) -> list[dict[str, Any]]:
    """The results as plain dicts, lists, strings and numbers, the fixes included."""
    return [
        {
            "student": x.student,
            "points": x.report.points(table),
            "of": float(sum(table.values())),
            "points_by_rule": earned(x.report.checks, table),
            **x.report.to_dict(),
        }
        for x in results
    ]
