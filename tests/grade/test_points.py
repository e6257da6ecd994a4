"""Points for rules: what a report earns, and the table that a teacher edits."""

import pytest
from right_engines import FIRST_HALF
from wrong_engines import BACKWARD, RIGHT, class_of, edited, mistake

from micrograd.grade import grade
from micrograd.grade.points import POINTS, default_points, earned, meaning, read_points
from micrograd.grade.programs import Check, plan


@pytest.fixture
def table(tmp_path):
    def read(text, encoding="utf-8"):
        path = tmp_path / "points.csv"
        path.write_text(text, encoding=encoding)
        return read_points(path)

    return read


def report_on(name):
    return grade(class_of(mistake(name).source))


def test_a_right_class_earns_all_points_and_an_empty_one_none():
    assert sum(POINTS.values()) == 100
    assert grade(class_of(RIGHT)).points() == 100
    assert grade(type("Value", (), {})).points() == 0


@pytest.mark.slow
def test_one_mistake_costs_its_own_rule_once():
    lost = {name: 100 - report_on(name).points() for name in
            ("= instead of +=", "preorder", "no seed", "= in tanh alone",
             "__rsub__ unswapped")}  # fmt: skip
    assert lost["= instead of +="] == pytest.approx(POINTS["accumulate"])
    assert lost["preorder"] == pytest.approx(POINTS["order"]) == 10
    assert lost["no seed"] == pytest.approx(POINTS["seed"])
    assert 0 < lost["= in tanh alone"] < 2
    assert 0 < lost["__rsub__ unswapped"] < 1


def test_without_backward_nothing_about_gradients_is_earned():
    found = earned(report_on("no backward").checks)
    assert found["value"] == POINTS["value"]
    assert found["derivative"] == found["chain"] == found["accumulate"] == found["order"] == 0


@pytest.mark.parametrize(
    ("old", "new", "most"),
    [
        (BACKWARD, "    def backward(self):\n        raise RuntimeError('no')\n", 30),
        ("    def __add__(self, other):\n", "    def __add__(self, other):\n        other.x\n", 70),
        ("    def __mul__(", "    def times(", 50),
    ],
)
def test_points_are_for_what_works_if_nothing_works_without_the_rest(old, new, most):
    assert 0 < grade(class_of(edited((old, new)))).points() < most


def test_each_check_of_the_plan_shows_one_rule_that_has_a_meaning():
    for row in plan():
        failed = Check(row.operation, row.aspect, "", "failed", "runs")
        found = earned([failed], dict.fromkeys(POINTS, 1))
        assert sum(found.values()) == len(POINTS) - 1, row
    assert all(meaning(name).endswith(".") for name in POINTS)


def test_operations_that_lack_do_not_count_unless_the_table_names_them():
    report = grade(class_of(FIRST_HALF))
    assert report.points() == 100
    points = earned(report.checks, {"value": 10, "wrap": 3, "a.tanh()": 5, "a.log()": 5})
    assert points == {"value": 10, "wrap": 3, "a.tanh()": 5, "a.log()": 0}


def test_the_default_table_can_be_read_and_edited(table):
    assert table(default_points()) == POINTS
    assert table(default_points(), "utf-8-sig") == POINTS
    assert table('rule, "points"\norder, "1"\n') == {"order": 1}
    assert table("rule,points,note\norder,1,f\u00fcr alle\n", "cp1252") == {"order": 1}
    assert table("Rule;Points;note\norder;2,5;\n;;\n a.tanh() ;10;\n") == {
        "order": 2.5,
        "a.tanh()": 10,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must begin with the columns rule and points: micrograd start"),
        ("order,2\n", "must begin with the columns"),
        ("rule,points\nnonsense,2\n", "'nonsense' is not a rule: use one of construct"),
        ("rule,points\norder,many\n", "the points of order must be a number of at least 0, got"),
        ("rule,points\norder\n", "must be a number of at least 0, got ''"),
        ("rule,points\norder,-1\n", "must be a number of at least 0, got '-1'"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(text, message, table):
    with pytest.raises(ValueError, match=message):
        table(text)
