"""The files for GitHub, otter and nbgrader in the text of the site for teachers."""

import ast
import shlex
import sys
from types import ModuleType

import pytest
from blocks import block, python
from wrong_engines import RIGHT, WRONG, class_of


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "code"), [(WRONG, 1), (RIGHT, 0), (None, 4)])
def test_pytest_runs_each_check(engine, code, tmp_path):
    if engine is not None:
        (tmp_path / "my_engine.py").write_text(engine, encoding="utf-8")
    last = block("name: grade").rpartition("run: ")[2]
    run = python("-m", *shlex.split(last), "-q", folder=tmp_path, code=code)
    out = run.stdout
    if engine is None:
        assert "there is no file my_engine.py" in run.stderr
    else:
        assert " 5" in out  # half a hundred operations are not there yet: skipped
        assert ("35 failed" in out) == bool(code)
        assert ("FAILED my_engine.py::a + b: adding up" in out) == bool(code)


def test_otter_calls_the_first_with_the_names_of_the_notebook(monkeypatch):
    otter = ModuleType("otter.test_files")
    otter.test_case = lambda **options: lambda test: test  # the real one keeps the test, too
    monkeypatch.setitem(sys.modules, "otter", ModuleType("otter"))
    monkeypatch.setitem(sys.modules, "otter.test_files", otter)
    exec(block("from otter"), names := {})
    assert (names["OK_FORMAT"], names["name"], names["points"]) == (False, "q1", 10)
    names["test_value"]({"Value": class_of(RIGHT)})
    with pytest.raises(AssertionError, match="Gradients must add up") as caught:
        names["test_value"]({"Value": class_of(WRONG)})
    assert "Fix:" not in str(caught.value)


def test_the_last_line_of_the_cell_for_nbgrader_is_the_points(capsys):
    *steps, last = ast.parse(block("from micrograd.grade import grade")).body
    for engine, expected in ((RIGHT, 100), (WRONG, 88)):
        names = {"Value": class_of(engine)}
        exec(compile(ast.Module(steps, []), "cell", "exec"), names)
        assert eval(ast.unparse(last), names) == pytest.approx(expected, abs=0.05)
    assert "Verdict: 1 mistake" in capsys.readouterr().out
