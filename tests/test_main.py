"""The command line: its files, its messages, and what it refuses."""

import doctest
import os
import re
import shutil
import subprocess
import sys

import pytest
from blocks import ROOT, python
from wrong_engines import RIGHT

import micrograd.__main__ as command_line
from micrograd.__main__ import main


def test_examples_in_the_docstrings():
    assert doctest.testmod(command_line).failed == 0  # pytest skips files named __main__


# ---- as a process


def run(*arguments, code=0):
    return python("-W", "error", "-m", "micrograd", *arguments, code=code, PYTHONUTF8="1")


def test_a_pipe_may_lack_a_letter(tmp_path):
    settings = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-W", "error", "-m", "micrograd", "play", "-o", "λ.html"]
    done = subprocess.run(command, capture_output=True, env=os.environ | settings, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\\u03bb.html\n", b"")


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe whose reader has gone")
def test_a_reader_that_has_enough_ends_it_without_a_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-W", "error", "-m", "micrograd", "texts"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("command", [[], ["grade"], ["play"], ["exercise"]])
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    out = capsys.readouterr().out
    assert "python " in out
    assert len(out.splitlines()) > 5


def test_without_a_command_it_lists_the_commands():
    out = run().stdout
    for command in ("play", "exercise", "start", "grade"):
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
    assert main(["grade", str(bad)]) == 1
    assert "failed" in capsys.readouterr().out
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
    assert "one of the endings .py" in capsys.readouterr().err
    assert main(["start", str(tmp_path / "nowhere" / "engine.py")]) == 2
    assert "No such file or directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
