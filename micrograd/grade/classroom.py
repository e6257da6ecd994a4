"""A class of students: whose file is whose, and two graded at a time.

Each file runs in a process of its own with limits of time and memory (`process.py`), so an endless
loop takes one of the two places for a while and delays nothing else. All results so far are written
after each file: Ctrl-C loses none of them.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from micrograd.core.files import write_whole
from micrograd.grade.gradebooks import csv_text
from micrograd.grade.graded_class import printable
from micrograd.grade.process import ENDINGS, RUNNING, end, files_of, grade_file, is_seen
from micrograd.grade.programs import Check
from micrograd.grade.report import Report, class_page, student_page
from micrograd.texts import said

AT_ONCE = 2  # processes
LONGEST_NAME = 50  # characters of a page's file name

# ---- 1. Which files, and whose


def submissions(
    paths: Sequence[str], class_name: str = "Value", network: bool = False
) -> dict[Path, str]:
    """Each file to grade with the name of its student.

    A folder that is given alone is that of a class: each Python file, notebook and folder in it is
    a student's, whose name it has. Any other folder is one student's: the files in it with a class
    of this name, or with a network, are graded. A path with nothing to grade is kept, so that its
    report says why.
    """
    given = [*{os.path.abspath(path): Path(path) for path in paths}.values()]
    if len(given) == 1 and given[0].is_dir():
        seen = (x for x in given[0].iterdir() if is_seen(x.name))
        given = sorted(x for x in seen if x.suffix in ENDINGS or os.path.isdir(x)) or given
    files: dict[Path, str] = {}
    for path, student in zip(given, _names(given), strict=True):
        own = files_of(path, class_name, network) or [path]
        for file in own:
            part = f"/{file.relative_to(path).as_posix()}" * (len(own) > 1)
            files[file] = printable(student + part)
    return files


def _names(paths: Sequence[Path]) -> list[str]:
    """What tells paths apart: for homework/ada/engine.py and homework/ben/engine.py, the folder."""
    parts = [Path(os.path.abspath(path)).parts for path in paths]
    while len(parts) > 1 and len({x[-1] for x in parts}) == 1:
        parts = [x[:-1] for x in parts]
    names = [re.sub(r"\.(py|ipynb)$", "", x[-1]) for x in parts]
    return names if len({*names}) == len(names) else ["/".join(x[-2:]) for x in parts]


def read_roster(path: Path) -> list[dict[str, str]]:
    """The rows of a list of students, such as a gradebook that Canvas or Moodle exports.

    A student's row is the one in which a cell is the name of the student's file or folder.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [{x: y or "" for x, y in row.items() if x} for row in csv.DictReader(file)]
    return [row for row in rows if "points possible" not in " ".join(row.values()).lower()]


def _row_of(student: str, roster: Iterable[dict[str, str]]) -> dict[str, str]:
    """The row with a cell that is the name of the student's folder, or an address beginning so."""
    name = student.partition("/")[0].casefold()
    cells = ((row, {x.casefold() for x in row.values()}) for row in roster)
    return next((row for row, all_ in cells if name in {x.split("@")[0] for x in all_} | all_), {})


# ---- 2. Grading


def graded(files: Iterable[Path], settings: Mapping[str, Any]) -> Iterator[tuple[Path, Report]]:
    """Each file with its report, as they are finished; two are graded at a time."""
    pool = ThreadPoolExecutor(AT_ONCE)
    waiting = {pool.submit(grade_file, file, **settings): file for file in files}
    try:
        for future in as_completed(waiting):
            file, error = waiting[future], future.exception()
            is_lost = isinstance(error, OSError)
            yield file, _not_loaded(file, str(error)) if is_lost else future.result()
    except BaseException:  # Ctrl-C does not reach the processes
        pool.shutdown(wait=False, cancel_futures=True)
        for process in [*RUNNING]:
            end(process)
        raise
    finally:
        pool.shutdown()


def grade_class(
    files: Mapping[Path, str],
    table: Mapping[str, float],
    csv_path: str | None = None,
    folder: str | None = None,
    hints: int = 3,
    roster: Sequence[dict[str, str]] = (),
    **settings: Any,
) -> Iterator[list[Report]]:
    """All reports so far, after each file; they are also written as a CSV file and as pages.

    Both are written before the first file is graded, too, so a mistake in a path costs no time.

    Args:
        files: the files, each with its student.
        table: the points, as from `read_points`.
        csv_path: where to write the CSV file, if anywhere.
        folder: where to write the pages, if anywhere.
        hints: how much a page gives away, 0 to 3.
        roster: all students, as from `read_roster`; those without a file get a report, too.
        settings: for `grade_file`.
    """
    names, found = dict(files), dict[Path, Report]()
    rows = {file: _row_of(student, roster) for file, student in files.items()}
    without = {}
    for row in roster:
        if row not in rows.values():
            absent = Path(next(filter(None, row.values()), "?"))
            rows[absent], names[absent] = row, str(absent)
            without[absent] = _not_loaded(absent, said("report", "absent"))
    places = {file: i for i, file in enumerate(names, 1)}

    def written(name: str, page: str) -> None:
        Path(folder or "").mkdir(parents=True, exist_ok=True)  # a graded file may have deleted it
        write_whole(Path(folder or "", name), page.encode())

    def so_far() -> list[Report]:
        reports = [found[file] for file in rows if file in found]
        if folder is not None:
            written("index.html", class_page(reports, table))
        if csv_path is not None:
            write_whole(csv_path, csv_text(reports, table).encode("utf-8-sig"))
        return reports

    so_far()
    for file, report in chain(without.items(), graded(files, settings)):
        plain = re.sub(r"\W+", "-", names[file])[:LONGEST_NAME]
        page = f"{places[file]:02}-{plain}.html"
        found[file] = replace(report, student=names[file], page=page, row=rows[file])
        if folder is not None:
            written(page, student_page(found[file], table, hints))
        yield so_far()


def _not_loaded(file: Path, reason: str) -> Report:
    expected, found = said("report", "absent.expected"), printable(reason)
    loading = Check("file", "loads", "", "failed", "load", expected, found)
    return Report(printable(str(file)), (loading,))
