"""The command line: its files, its messages, and what it refuses."""

import doctest
import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from blocks import ROOT, python
from wrong_engines import RIGHT

import micrograd.__main__ as command_line
from micrograd import Value
from micrograd.__main__ import FUNCTIONS, evaluated, main

NEURON = "(x1*w1 + x2*w2 + b).tanh()"
NUMBERS = ["x1=2", "w1=-3", "x2=0", "w2=1", "b=6.88"]


def test_examples_in_the_docstrings():
    assert doctest.testmod(command_line).failed == 0  # pytest skips files named __main__


# ---- expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y * 2", 7.0),
        ("(x + y) * 2", 10.0),
        ("-x ** 2", -9.0),
        ("2 ** -y", 0.25),
        ("x - y - 1", 0.0),
        ("x / y / 2", 0.75),
        ("1 - 2", -1.0),
        ("7", 7.0),
        ("maximum(x, y) + x.minimum(y)", 5.0),
        ("abs(-x)", 3.0),
        ("x.relu().sqrt() ** 2", pytest.approx(3.0)),
        ("n = x * y; m = n + 1\nm * n", 42.0),
        ("n = x * y", 6.0),
        ("(x\n + y)", 5.0),
        ("größe + x", 4.0),
    ],
)
def test_an_expression_is_what_it_is_in_python(text, expected):
    assert evaluated(f"x = 3; y = 2; größe = 1; {text}")[0].data == expected


def test_every_function_works_in_both_ways_of_writing():
    for name in FUNCTIONS:
        more = ["0.25"] * (FUNCTIONS[name].__code__.co_argcount - 1)
        function = evaluated(f"x = 0.5; {name}({', '.join(['x', *more])})")[0]
        method = evaluated(f"x = 0.5; x.{name}({', '.join(more)})")[0]
        assert function.data == method.data == FUNCTIONS[name](Value(0.5), *map(float, more)).data


def test_the_same_name_is_the_same_value():
    result, names = evaluated("x = 3; x * x")
    result.backward()
    assert names["x"].grad == 6.0
    assert list(names) == ["x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x @ y", "'x @ y' is not known here: use names, numbers"),
        ("x + y // 2", "'y // 2' is not known"),
        ("x if y else 2", "is not known"),
        ("x.data", r"'x\.data' is not known"),
        ("x.tanh + 1", r"'x\.tanh' is not known"),
        ("(x + y).cot()", r"'\(x \+ y\)\.cot\(\)' is not known"),
        ("x + 'a'", "'a'"),
        ("x + eval(y)", r"'eval\(y\)' is not known"),
        ("__import__('os').system('x')", "is not known"),
        ("(lambda: x)()", "is not known"),
        ("maximum(x)", r"'maximum\(x\)' is not known"),
        ("tanh(x=1)", "is not known"),
        ("x ^ 2", r"'x \^ 2' is not known here"),
        ("x + z", "z has no value: add z=1.0 after the expression"),
        ("x*y\n+ x", "expected 'new_name = expression'"),
        ("x = 3", "expected 'new_name = expression'"),
        ("a = b = 3", "expected 'new_name = expression'"),
        ("import os", "expected 'new_name = expression'"),
        ("x + ", "invalid syntax in .*: write a product as"),
        ("2x + y", "invalid decimal literal"),
        ("", "expected 'new_name = expression', or at the end an expression"),
    ],
)
def test_anything_but_arithmetic_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        evaluated(f"x = 3; y = 2; {text}" if text else "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x / (y - 2)", "x / y with x = 3.0 and y = 0.0: the quotient is not defined"),
        ("x + log(-y)", "the logarithm needs x > 0"),
    ],
)
def test_what_the_engine_refuses_is_told_in_its_words(text, message, capsys):
    assert main(["draw", text, "x=3", "y=2"]) == 2
    assert message in capsys.readouterr().err


# ---- draw


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!doctype html>"), ("mmd", b"flowchart")],
)
def test_draw_writes_what_the_ending_says(tmp_path, capsys, ending, beginning):
    path = tmp_path / f"neuron.{ending}"
    assert main(["draw", NEURON, *NUMBERS, "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    content = path.read_bytes()
    assert content.startswith(beginning)
    if ending != "png":
        assert b"w1" in content
        assert b"grad" in content


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "x.html", "--edges", "derivatives"], "--edges works only for pictures"),
        (["-o", "x"], "x: expected one of the endings .svg .png .pdf .html .mmd"),
        (["-o", "x.docx"], "docx"),
        (["-o", "nowhere/x.svg"], "No such file or directory"),
        (["-o", "x.svg", "--edges", "nonsense"], "'nonsense' is not one of"),
        (["y"], "expected 'new_name = expression'"),
        (["x=4"], "expected 'new_name = expression'"),
    ],
)
def test_draw_refuses_with_code_2_and_writes_nothing(
    tmp_path, monkeypatch, capsys, options, message
):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", "x * 2", "x=3", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("micrograd: ")
    assert message in captured.err
    assert list(tmp_path.iterdir()) == []


def test_minus_signs_and_standard_input(monkeypatch, tmp_path):
    path = tmp_path / "graph.mmd"
    assert main(["draw", "-x * 2", "x=-1.5", "-o", str(path)]) == 0
    assert "data 3" in path.read_text()
    monkeypatch.setattr("sys.stdin", io.StringIO("n = log(x)\nn / x\n"))
    assert main(["draw", "-", "x=1", "-o", str(path)]) == 0
    assert "log" in path.read_text()


# ---- as a process


def run(*arguments, code=0):
    return python("-W", "error", "-m", "micrograd", *arguments, code=code, PYTHONUTF8="1")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "code", "out"),
    [
        ("draw λ λ=3 -o λ.mmd", 0, b"\\u03bb.mmd\n"),  # to a pipe that lacks this letter
        ("draw x*x x=3 -o x.mmd", 141, None),  # to a reader that has enough
        ("grade --help", 141, None),
    ],
)
def test_a_pipe_may_lack_a_letter_or_end_early(command, code, out, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    settings = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "cp1252", "PYTHONUNBUFFERED": ""}
    process = subprocess.run(
        f"'{sys.executable}' -W error -m micrograd {command}", shell=True,
        stdout=subprocess.PIPE if code != 141 else writer, stderr=subprocess.PIPE,
        env=os.environ | settings, cwd=tmp_path,
    )  # fmt: skip
    os.close(writer)
    assert (process.returncode, process.stdout) == (code, out)
    assert process.stderr == b""


@pytest.mark.parametrize("command", [[], ["draw"], ["grade"], ["play"], ["exercise"]])
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    out = capsys.readouterr().out
    assert "python " in out
    assert len(out.splitlines()) > 5


def test_without_a_command_it_lists_the_commands():
    out = run().stdout
    for command in ("draw", "play", "exercise", "start", "grade"):
        assert len(re.findall(rf"^ +{command} +\w+", out, re.M)) == 1
    assert out == run("--help").stdout


def test_play_writes_the_page(tmp_path, capsys):
    path = tmp_path / "play.html"
    assert main(["play", "-o", str(path), "--title", "Look & learn"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert "<title>Look &amp; learn</title>" in path.read_text()
    assert main(["play", "-o", str(tmp_path / "nowhere" / "play.html")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_demos_are_written_once_into_a_folder(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert main(["demos", str(folder)]) == 0
    assert f"To run the first: python {folder / 'decision_boundary.py'}" in capsys.readouterr().out
    assert {"chapters", "speed", "lecture.ipynb", "table.py"} <= {p.name for p in folder.iterdir()}
    assert main(["demos", str(folder)]) == 2
    assert "demos expects a new folder, got" in capsys.readouterr().err


@pytest.mark.slow
def test_a_wheel_has_the_demos(tmp_path):
    unpacked, pip = tmp_path / "installed", ("-m", "pip", "--disable-pip-version-check")
    python(*pip, "wheel", "--no-deps", ROOT, "-w", tmp_path)
    [wheel] = tmp_path.glob("micrograd-*.whl")
    shutil.unpack_archive(wheel, unpacked, "zip")
    for command in (
        ["-m", "micrograd", "demos", "mine"],
        ["mine/explain_neuron.py", "--out", "neuron.html"],
    ):
        python(*command, folder=tmp_path, PYTHONPATH=str(unpacked))
    assert (tmp_path / "neuron.html").exists()


# ---- grade


@pytest.mark.slow
def test_grade_prints_the_report_and_returns_its_exit_code(tmp_path, capsys):
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(RIGHT)
    bad.write_text("class Value:\n    pass\n")
    assert main(["grade", str(good)]) == 0
    assert "failed" not in capsys.readouterr().out
    assert main(["grade", str(bad), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
    assert main(["grade", str(tmp_path / "missing.py")]) == 2
    assert "missing.py" in capsys.readouterr().err
    assert main(["grade", str(good), "--seconds", "0"]) == 2
    assert main(["grade", str(good), "--name", "Other"]) == 2
    good.write_text("from micrograd.engine import Value\n")
    capsys.readouterr()
    assert main(["grade", str(good)]) == 2
    assert "nothing to grade" in capsys.readouterr().out


# ---- start


def test_start_writes_a_skeleton_once(tmp_path, capsys):
    path = tmp_path / "engine.py"
    assert main(["start", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    text = path.read_text(encoding="utf-8")
    assert "micrograd grade engine.py" in text
    assert main(["start", str(path)]) == 2
    assert "File exists" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == text


def test_start_refuses_other_names_and_folders_that_do_not_exist(tmp_path, capsys):
    assert main(["start", str(tmp_path / "engine.txt")]) == 2
    assert "one of the endings .py .csv" in capsys.readouterr().err
    assert main(["start", str(tmp_path / "nowhere" / "engine.py")]) == 2
    assert "No such file or directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
