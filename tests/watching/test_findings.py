"""Each mistake in a training loop is named, and a right loop that looks alike stays silent."""

import pytest
from loops import TABLE, edited, run_of

from micrograd.texts import texts_of
from micrograd.watching import findings

LONG = ("imbalance", "fading", "dead", "plateau", "no_activation")
ROWS = [
    pytest.param(row, marks=pytest.mark.slow) if row.name in LONG or i % 4 else row
    for i, row in enumerate(TABLE)
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_mistake_is_named_and_a_right_loop_is_not(row, tmp_path, capsys):
    run = run_of(edited(row.wrong, row.seed), tmp_path / "loop.py")
    assert [*run.findings] == [row.name]
    [told] = run.findings.values()
    assert capsys.readouterr().out == f"{told}\n"  # once
    assert str(told) in run.report()
    run = run_of(edited(row.right, row.seed), tmp_path / "loop.py")
    assert not run.findings
    assert run.report().endswith("nothing wrong was found.")
    assert not capsys.readouterr().out


def test_every_finding_has_a_row_and_its_texts():
    names = [finding.__name__ for finding in (*findings.CAUSES, *findings.EFFECTS)]
    assert {row.name for row in TABLE} == {*names}
    keys = {key.removesuffix(".what").removesuffix(".how") for key in texts_of("watch")}
    assert {key.partition(".")[0] for key in keys} == {*names, "run", "fine", "none"}
