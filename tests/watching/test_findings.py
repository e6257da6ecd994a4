"""Each mistake in a training loop is named, and a right loop that looks alike stays silent."""

import contextlib

import pytest
from loops import TABLE

from micrograd.texts import texts_of
from micrograd.watching import findings


def run_of(program, path):
    """The run of a program, in a file of its own, that may end with an error."""
    path.write_text(program, encoding="utf-8")
    names = {"__name__": "__main__"}
    with contextlib.suppress(ArithmeticError, ValueError):
        exec(compile(program, str(path), "exec"), names)
    return names["run"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_mistake_is_named_and_a_right_loop_is_not(row, tmp_path, capsys):
    run = run_of(row.program(row.wrong), tmp_path / "loop.py")
    assert [*run.findings] == [row.name]
    [told] = run.findings.values()
    assert capsys.readouterr().out == f"{told}\n"  # once
    assert str(told) in run.report()
    run = run_of(row.program(row.right), tmp_path / "loop.py")
    assert not run.findings
    assert run.report().endswith("nothing wrong was found.")
    assert not capsys.readouterr().out


def test_every_finding_has_a_row_and_its_texts():
    names = [finding.__name__ for finding in (*findings.CAUSES, *findings.EFFECTS)]
    assert {row.name for row in TABLE} == {*names}
    keys = {key.removesuffix(".what").removesuffix(".how") for key in texts_of("watch")}
    assert {key.partition(".")[0] for key in keys} == {*names, "run", "fine", "none"}
