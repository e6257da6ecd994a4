"""The README keeps its word: its examples run, its commands and pictures exist."""

import ast
import doctest
import re
import shlex
from pathlib import Path

import operations
import pytest
from blocks import BLOCKS, PAGES, README, ROOT, block, lines, python, shell
from rooms import ROOMS
from wrong_engines import RIGHT, WRONG

import micrograd
from micrograd import Value, engine
from micrograd.__main__ import main

CHECKS = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [pytest.param(x, marks=[pytest.mark.slow] * (x.stem == "gallery")) for x in PAGES],
    ids=lambda page: page.stem,
)
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
        files = [*path.rglob("*.*")] if path.is_dir() else [path]

        def count(*kinds):
            texts = (file.read_text(encoding="utf-8") for file in files if file.suffix in kinds)
            return sum(len(text.splitlines()) for text in texts)

        counts = count(".py"), count(".js", ".mjs", ".css", ".html")
        return f"| `{match[1]}` | {' + '.join(str(n) for n in counts if n)} |"

    return re.sub(r"^\| `(micrograd/\S+)` \| [\d +]+ \|", row, text, flags=re.M)


def test_the_tour_has_all_files_in_reading_order_and_counts_their_lines():
    text = README.read_text(encoding="utf-8")
    assert text == toured(text), "PYTHONPATH=tests python tests/docs/test_readme.py counts anew"
    files = re.findall(r"^\| `micrograd/(\w+)(?:\.py|/)` \| [\d +]+ \|", text, re.M)
    package = {path.stem for path in (ROOT / "micrograd").iterdir() if path.suffix in ("", ".py")}
    assert files == [room for room in ROOMS if room in package]
    assert set(files) == package - {"__init__", "__pycache__", "py"} - {"py.typed"}


SILENT = """
from micrograd import Value
w = Value(0.0)
for step in range(9):
    loss = (w * 2.0 - 3.0) ** 2
    w.grad = 0
    loss.backward()
    w - 0.1 * w.grad
"""


def test_commands_of_the_command_line_run_and_say_what_is_shown(elsewhere, capsys):
    Path("my_engine.py").write_text(WRONG, encoding="utf-8")
    Path("train.py").write_text(SILENT, encoding="utf-8")
    words = [shlex.split(line) for line in block("python -m micrograd play").splitlines()]
    codes = [main(line[line.index("micrograd") + 1 :]) for line in words]
    assert codes == [0, 0, 1, 1]
    out = capsys.readouterr().out
    assert "Step 3: no parameter moved" in out
    for line in block("1. Gradients must add up").splitlines():
        assert line.strip() in out
    assert Path("play.html").exists()


def test_the_lines_of_a_teacher_run(tmp_path):
    (tmp_path / "homework").mkdir()
    for name, text in (("ada", WRONG), ("bo", RIGHT)):
        (tmp_path / "homework" / f"{name}.py").write_text(text, encoding="utf-8")
    printed = shell(block("micrograd start my_engine.py\nfor"), tmp_path)
    assert printed.split() == ["my_engine.py", "homework/ada.py"]
    ada, bo = (path.read_text() for path in sorted(tmp_path.glob("homework/*.txt")))
    assert ("Fix:" in ada, "no mistake found" in bo) == (True, True)


def test_there_are_two_commands():
    # .ci/run takes them from the README and runs them.
    text = README.read_text(encoding="utf-8")
    assert re.findall(r"^```sh\n(.*?)```$", text, re.M | re.S) == [
        block("pip install -e . && python demos/decision_boundary.py"),
        block('pip install -e ".[test]" && python -m pytest -n 2'),
    ]


def test_each_block_is_run_by_a_test():
    asked = {
        call.args[0].value
        for path in Path(__file__).parents[1].rglob("test_*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "block"
    }
    rest = [text for text in BLOCKS if ">>>" not in text]  # a doctest has run those
    assert [text for text in rest if not text.startswith(tuple(asked))] == []


def test_what_is_installed_and_checked_is_so_in_the_checks():
    """`.ci/run` runs the two commands of the README, and has each of these lines itself."""
    known = lines(CHECKS + block("pip install -e . &&") + block('pip install -e ".[test]" &&'))
    checked = [
        *(block("pip install graphviz"), block('pip install -e ".[test,check]"')),
        *(block("python -m pytest -n 2 "), *re.findall("^pip install .*", "".join(BLOCKS), re.M)),
    ]
    assert [line for text in checked for line in lines(text) if line not in known] == []


@pytest.mark.slow
def test_the_commands_of_the_table_of_proof_find_what_they_name():
    """All tests are run by `.ci/run`, and the tables of the benchmark by test_peers.py."""
    text = (ROOT / "demos" / "site" / "proof.md").read_text(encoding="utf-8")
    commands = re.findall(
        r"^\|.*\| `((?:PYTHONPATH=tests )?(?:python|pytest) .*?)` \|$", text, re.M
    )
    assert len(commands) >= 10
    for command in commands:
        name, *words = shlex.split(command.removeprefix("PYTHONPATH=tests "))
        if name == "python":
            call = [*words, "--help"]
        elif "-k" in words:
            call = ["-m", "pytest", *words, "--collect-only", "-q"]
        else:  # test_pictures_and_files_it_names_exist looks for the file
            continue
        path = {"PYTHONPATH": "tests"} if command.startswith("PYTHONPATH") else {}
        out = python(*call, folder=ROOT, **path).stdout
        options = [word for word in words if word.startswith("--")] if name == "python" else []
        assert [option for option in options if option not in out] == [], command


def test_the_citation_has_the_name_and_version_of_today():
    found = dict(re.findall(r"^  (\w+) += \{+(.*?)\}+,$", block("@software{micrograd"), re.M))
    about = micrograd.__doc__.partition("\n")[0].rstrip(".")
    assert found["title"].lower() == f"micrograd: {about}".lower()
    assert found["version"] == micrograd.__version__


def test_an_operation_is_added_as_contributing_says(monkeypatch):
    exec(block('@operation("square")'), names := dict(vars(engine)))
    monkeypatch.setattr(Value, "square", names["square"], raising=False)
    [row] = eval(f"[{block('Row(')}]", vars(operations))
    for [x] in row.points:
        a = Value(x)
        y = row.function(a)
        y.backward()
        assert (y.data, a.grad) == (row.reference(x), 2 * x)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_and_files_it_names_exist(page):
    text = page.read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", text) + re.findall(r'src(?:set)?="(.*?)"', text)
    assert len(pictures) > 8 or page != README
    for path in pictures:
        assert (page.parent / path).exists(), path
    named = re.findall(r"`((?:micrograd|demos)/\S*?)`", text)
    for path in named + re.findall(r"(?<!\S)((?:tests|demos)/[\w/]+\.py)\b", text):
        assert (ROOT / path).exists(), path


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 225


if __name__ == "__main__":
    README.write_text(toured(README.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
