"""The files for GitHub and nbgrader in the text of the site for teachers."""

import shlex

import pytest
from blocks import block, python
from wrong_engines import RIGHT, WRONG, class_of


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "code"), [(WRONG, 1), (RIGHT, 0)])
def test_the_workflow_fails_if_a_mistake_is_found(engine, code, tmp_path):
    (tmp_path / "my_engine.py").write_text(engine, encoding="utf-8")
    last = block("name: grade").rpartition("run: ")[2]
    run = python("-m", *shlex.split(last), folder=tmp_path, code=code)
    assert ("35 checks failed" in run.stdout) == bool(code)


def test_the_cell_of_a_notebook_fails_with_the_report():
    cell = block("from micrograd.grade import grade")
    exec(cell, {"Value": class_of(RIGHT)})
    with pytest.raises(AssertionError, match="Gradients must add up") as caught:
        exec(cell, {"Value": class_of(WRONG)})
    assert "Fix:" not in str(caught.value)
