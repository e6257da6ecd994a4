"""The README keeps its word: its examples run, its commands and pictures exist."""

import doctest
import os
import re
import shlex
from pathlib import Path

import pytest
from rooms import ROOMS
from wrong_engines import edited

from micrograd.__main__ import main

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "demos" / "site").glob("*.md"))]


def text_of(page):
    return (ROOT / "demos" / "site" / f"{page}.md").read_text(encoding="utf-8")


@pytest.fixture
def elsewhere(tmp_path):
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_what_they_say(elsewhere, page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0
    if page != README:
        return
    assert "<svg" in (elsewhere / "neuron.svg").read_text(encoding="utf-8")
    assert "<svg" in (elsewhere / "neuron.html").read_text(encoding="utf-8")


def toured(text):
    """The README with the line counts of the tour as they are."""

    def row(match):
        path = ROOT / match[1]
        files = sorted(path.glob("*.py")) if path.is_dir() else [path]
        count = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        return f"| `{match[1]}` | {count} |"

    return re.sub(r"^\| `(micrograd/\S+)` \| \d+ \|", row, text, flags=re.M)


def test_the_tour_has_all_files_in_reading_order_and_counts_their_lines():
    text = README.read_text(encoding="utf-8")
    assert text == toured(text), "python tests/test_readme.py counts anew"
    files = re.findall(r"^\| `micrograd/(\w+)(?:\.py|/)` \| \d+ \|", text, re.M)
    package = {path.stem for path in (ROOT / "micrograd").iterdir() if path.suffix in ("", ".py")}
    assert files == [room for room in ROOMS if room in package]
    assert set(files) == package - {"__init__", "__pycache__", "py"} - {"py.typed"}


def test_commands_of_the_command_line_run_and_say_what_is_shown(elsewhere, capsys):
    text = text_of("features")
    blocks = [block for _, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)]
    commands = next(block for block in blocks if block.startswith("python -m micrograd"))
    shown = next(block for block in blocks if block.startswith("1. "))
    engine = edited((".grad +=", ".grad ="))
    Path("my_engine.py").write_text(engine, encoding="utf-8")
    words = [shlex.split(line) for line in commands.splitlines()]
    codes = [main(line[line.index("micrograd") + 1 :]) for line in words]
    assert codes == [0, 0, 1]
    out = capsys.readouterr().out
    for line in shown.splitlines():
        assert line.strip() in out
    assert "<svg" in Path("neuron.html").read_text(encoding="utf-8")


def test_the_three_lines_of_a_teacher_run(elsewhere):
    text = text_of("class")
    [block] = re.findall(r"^```\n(micrograd start.*?)^```$", text, re.M | re.S)
    Path("homework").mkdir()
    Path("homework", "ada.py").write_text(edited((".grad +=", ".grad =")), encoding="utf-8")
    codes = [main(shlex.split(line)[1:]) for line in block.splitlines()]
    assert codes == [0, 0, 1]
    made = {path.relative_to(elsewhere).as_posix() for path in elsewhere.rglob("*.*")}
    assert made == {
        *("my_engine.py", "points.csv", "results.csv", "homework/ada.py"),
        *("report/index.html", "report/01-ada.html"),
    }


def test_there_are_two_commands():
    commands = re.findall(r"^```sh\n(.*?)\n```$", README.read_text(encoding="utf-8"), re.M | re.S)
    assert [re.split(r" && ", command)[-1] for command in commands] == [
        "python demos/decision_boundary.py",
        "python -m pytest -n 2",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_and_files_it_names_exist(page):
    text = page.read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", text) + re.findall(r'src(?:set)?="(.*?)"', text)
    assert len(pictures) > 8 or page != README
    for path in pictures:
        assert (page.parent / path).exists(), path
    named = re.findall(r"`((?:micrograd|demos)/\S*?)`", text)
    for path in named + re.findall(r"(?<!\S)((?:tests|demos)/\w+\.py)\b", text):
        assert (ROOT / path).exists(), path


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 220


if __name__ == "__main__":
    README.write_text(toured(README.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
