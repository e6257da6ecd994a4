"""A class of students: whose file is whose, two at a time, and results that no Ctrl-C loses."""

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from blocks import is_running, written
from right_engines import notebook
from sampling import thinned
from wrong_engines import FILES, RIGHT, WRONG, class_of

from micrograd.__main__ import main
from micrograd.grade import Report, grade
from micrograd.grade.classroom import submissions
from micrograd.grade.gradebooks import csv_text


def rows(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def cell(text):
    """How a student with this name is written into the CSV file."""
    report = Report("a.py", (), student=text)
    return next(csv.DictReader(io.StringIO(csv_text([report], {}), newline="")))["student"]


# ---- whose file


def whose(folder, *paths):
    """Whose files are graded, as paths from this folder."""
    files = submissions([str(folder / path) for path in paths])
    return {path.relative_to(folder).as_posix(): student for path, student in files.items()}


def test_the_student_has_the_name_of_the_file_or_folder_in_the_folder_of_the_class(tmp_path):
    written(tmp_path, {
        "ada.py": RIGHT, "ben/work/my_engine.py": RIGHT, "cem.ipynb": notebook(RIGHT),
        "dana.py": "class Value\n  syntax error", "hal/report.pdf": "", "ira/work/x.py": "x = 1",
        "joe/mine/engine.py": RIGHT, "joe/mine/nn.py": "", "joe/lecture.ipynb": notebook(RIGHT),
        "ben/plot.py": "import Value", "notes.txt": RIGHT, ".git/hook.py": RIGHT,
        "ben/.ipynb_checkpoints/x.ipynb": notebook(RIGHT), "ben/__pycache__/y.py": RIGHT,
    })  # fmt: skip
    assert whose(tmp_path, "") == {
        "ada.py": "ada", "ben/work/my_engine.py": "ben", "cem.ipynb": "cem", "dana.py": "dana",
         "hal": "hal", "ira": "ira", "joe/lecture.ipynb": "joe/lecture.ipynb",
         "joe/mine/engine.py": "joe/mine/engine.py",
    }  # fmt: skip
    assert whose(tmp_path, "ben", "hal", "./ben") == {
        "ben/work/my_engine.py": "ben", "hal": "hal"
    }  # fmt: skip
    assert whose(tmp_path, "nobody.py", "x" * 300) == {"nobody.py": "nobody", "x" * 300: "x" * 300}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["h/ada.py"], ["ada"]),
        (["h/ada.py", "h/ada.ipynb"], ["h/ada.py", "h/ada.ipynb"]),
        (["h/ada/e.py", "h/ben/e.py"], ["ada", "ben"]),
        (["h/ada/ps1/e.py", "h/ben/ps1/e.py"], ["ada", "ben"]),
        (["h/ada/e.py", "h/ada/f.py", "h/ben/e.py"], ["ada/e.py", "ada/f.py", "ben/e.py"]),
        (["h/\x1b[2J.py", "h/b.py"], [r"\x1b[2J", "b"]),
    ],
)
def test_names_tell_files_apart(files, expected):
    assert [*submissions(files).values()] == expected


def linked(path, target):
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("the system has no symbolic links for everyone")


@pytest.mark.slow
@pytest.mark.parametrize("how", thinned(["one folder", "many paths"], 2))
def test_everything_given_has_a_row_and_ends_no_other(how, tmp_path, monkeypatch, capsys):
    files = {"ada.py": RIGHT, "eve.py": "class Valeu: pass", "fay.py": "", "hal/report.pdf": "",
             "gil.py": "from micrograd import Value"}  # fmt: skip
    h = written(tmp_path, {f"h/{name}": text for name, text in files.items()}) / "h"
    linked(h / "ira.py", "nowhere")
    linked(h / "joe.py", "joe.py")
    linked(h / "kim.py", "ada.py")
    monkeypatch.chdir(tmp_path)
    paths = ["h"] if how == "one folder" else [f"h/{x.name}" for x in sorted(h.iterdir())]
    assert main(["grade", *paths, "--csv", "r.csv", "--html", "report"]) == 2
    out = capsys.readouterr().out
    assert {row["student"]: row["verdict"] for row in rows("r.csv")} == {
        "ada": "no mistake", "kim": "no mistake",
        **dict.fromkeys(("eve", "fay", "gil", "hal", "ira", "joe"), "not graded"),
    }  # fmt: skip
    page = Path("report", "index.html").read_text(encoding="utf-8")
    for reason in (
        "classes there: Valeu", "classes there: none", "this package&#x27;s own engine",
        "hal is a folder in which 0 files define a class Value", "there is no file h/ira.py",
    ):  # fmt: skip
        assert reason in page
        assert reason.replace("&#x27;", "'") in out
    assert len(list(Path("report").iterdir())) == 9


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "  =1", "\t=1"])
def test_a_cell_is_never_a_formula(text):
    assert cell(text) == f"'{text}"


# ---- a list of students


ROSTER = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Quiz (7)\n    Points Possible,,,,,10\n"
    '"Lovelace, Ada",11,S1,ada,A,9\n"Noether, Emmy",12,S2,emmy@uni.example,A,8\n'
)


def test_a_student_without_a_file_has_a_row_too(tmp_path, capsys):
    h = written(tmp_path, {"h/ada.py": RIGHT, "roster.csv": ROSTER}) / "h"
    results = str(tmp_path / "results.csv")
    command = ["grade", str(h), "--roster", str(tmp_path / "roster.csv"), "--csv", results]
    assert main([*command, "--format", "canvas", "--assignment", "Engine (8)"]) == 2
    assert capsys.readouterr().out.splitlines()[:4] == [
        "Student,ID,SIS User ID,SIS Login ID,Section,Engine (8)",
        "    Points Possible,,,,,100",
        '"Lovelace, Ada",11,S1,ada,A,100',
        '"Noether, Emmy",12,S2,emmy@uni.example,A,0',
    ]
    # Moodle's grade import asks which column tells the student, and which the points.
    assert [(row["SIS Login ID"], row["points"]) for row in rows(results)] == [
        ("ada", "100"),
        ("emmy@uni.example", "0"),
    ]


# ---- on the command line


def test_a_class_is_graded_into_a_table_a_csv_file_and_pages(tmp_path, capsys):
    written(tmp_path, {
        "h/ada.py": RIGHT, "h/ben/ada.py": WRONG, "h/=cmd.py": FILES["a syntax error"][0],
        "h/dora.ipynb": notebook(WRONG), "h/ben/plot.py": "x = 1",
        "points.csv": "rule,points\norder,5\n", "results.csv": "", "report/index.html": "",
    })  # fmt: skip
    private = tmp_path / "results.csv", tmp_path / "report" / "index.html"
    modes = [path.chmod(0o600) or path.stat().st_mode for path in private]
    out = [str(tmp_path / name) for name in ("results.csv", "report", "points.csv")]
    command = ["grade", str(tmp_path / "h"), "--csv", out[0], "--html", out[1], "--points", out[2]]
    assert main([*command, "--hints", "2"]) == 2  # the highest of their exit codes
    captured = capsys.readouterr()
    table = captured.out.splitlines()
    assert table[0].split() == ["student", "points", "verdict", "rule"]
    assert table[1].split()[:5] == ["=cmd", "0", "not", "graded", "syntax:"]
    assert "line 1" in table[1]
    assert table[2].split() == ["ada", "5", "no", "mistake"]
    assert table[5:] == [out[0], str(Path(out[1], "index.html"))]
    found = rows(out[0])
    assert [row["student"] for row in found] == ["'=cmd", "ada", "ben", "dora"]
    assert [row["points"] for row in found] == ["0", "5", "5", "5"]
    assert [row["verdict"] for row in found] == ["not graded", "no mistake", "mistakes", "mistakes"]
    assert found[2]["rule"] == "accumulate"
    assert found[2]["program"] == "a = Value(3.0); b = a + a; b.backward()"
    assert (found[2]["of"], found[2]["order (of 5)"]) == ("5", "5")
    pages = sorted(path.name for path in Path(out[1]).iterdir())
    assert pages == ["01--cmd.html", "02-ada.html", "03-ben.html", "04-dora.html", "index.html"]
    page = Path(out[1], "03-ben.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "write += instead" not in page
    assert [path.stat().st_mode for path in private] == modes  # grades stay private


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["a.py", "--csv", "nowhere/x.csv"], "nowhere/x.csv"),
        (["--csv", "a.py", "b.py"], "--csv expects a name such as results.csv, got a.py"),
        (["a.py", "--csv", "."], "nothing was written"),
        (["."], "a whole class is graded with --csv FILE or --html FOLDER"),
        (["a.py", "--points", "nowhere.csv"], "nowhere.csv"),
        (["a.py", "a.py", "--seconds", "0"], "expects seconds above 0, got 0"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_written(
    options, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, {"a.py": RIGHT, "b.py": RIGHT})
    assert main(["grade", *options]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]


@pytest.mark.slow
def test_hints_limit_the_report_on_a_single_file(tmp_path, capsys):
    written(tmp_path, {"b.py": WRONG})
    path, points = str(tmp_path / "b.py"), str(tmp_path / "points.csv")
    assert main(["start", points]) == 0
    capsys.readouterr()
    assert main(["grade", path, "--hints", "0", "--points", points]) == 1
    verdict, earned = capsys.readouterr().out.splitlines()
    assert verdict.startswith("Verdict: 1 mistake")
    assert earned == "88 of 100 points"
    told = [grade(class_of(WRONG)).text(hints) for hints in range(4)]
    for first, words in enumerate(("Verdict: 1", "Gradients must add up", "expected", "Fix:")):
        assert [words in text for text in told] == [hints >= first for hints in range(4)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_ends_what_runs(tmp_path):
    pid = tmp_path / "pid"
    loop = f"import os; open({str(pid)!r}, 'w').write(str(os.getpid()))\n    while True: pass\n"
    endless = RIGHT.replace("class Value:\n", f"class Value:\n    {loop}\n")
    written(tmp_path, {"ada.py": RIGHT, "ben.py": endless, "cem.py": endless, "dana.py": RIGHT})
    program = (  # in a background job the signal would be ignored
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "runpy.run_module('micrograd', run_name='__main__', alter_sys=True)"
    )
    command = [sys.executable, "-P", "-c", program, "grade", "--seconds", "600",
               "--csv", "results.csv", "--html", "report", *(f"{x}.py" for x in
               ("ada", "ben", "cem", "dana"))]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    results = tmp_path / "results.csv"
    while not (pid.exists() and results.exists() and rows(results)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)  # after writing the results, it needs a moment to return them
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.splitlines()[1:2] == [b"ada         100  no mistake"]
    assert [row["student"] for row in rows(results)] == ["ada"]
    assert sorted(x.name for x in (tmp_path / "report").iterdir()) == ["01-ada.html", "index.html"]
    assert not list(tmp_path.rglob("*.part"))
    while is_running(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.02)
