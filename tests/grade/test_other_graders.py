"""The files for GitHub and nbgrader in the text of the site for teachers."""

import shlex

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


def test_the_cell_of_a_notebook_fails_with_the_report():
    cell = block("from micrograd.grade import grade")
    exec(cell, {"Value": class_of(RIGHT)})
    with pytest.raises(AssertionError, match="Gradients must add up") as caught:
        exec(cell, {"Value": class_of(WRONG)})
    assert "Fix:" not in str(caught.value)
