"""Points for rules: what a report earns, and the table that a teacher edits."""

import pytest
from right_engines import FIRST_HALF
from wrong_engines import MISTAKES, RIGHT, class_of, edited

from micrograd.grade import grade
from micrograd.grade.check import Check
from micrograd.grade.points import POINTS, default_points, earned, meaning, read_points
from micrograd.grade.programs import plan


@pytest.fixture
def table(tmp_path):
    def read(text, encoding="utf-8"):
        path = tmp_path / "points.csv"
        path.write_text(text, encoding=encoding)
        return read_points(path)

    return read


def report_on(name):
    return grade(class_of(next(x for x in MISTAKES if x.name == name).source))


def test_a_right_class_earns_all_points_and_an_empty_one_none():
    assert sum(POINTS.values()) == 100
    assert grade(class_of(RIGHT)).points() == 100
    assert grade(type("Value", (), {})).points() == 0


def test_a_small_mistake_costs_little_and_a_large_one_much():
    one, all_, none = (
        report_on(name).points() for name in ("= in tanh alone", "= instead of +=", "no seed")
    )
    assert 100 > one > 90 > all_ > 50 > none > 10


def test_each_check_of_the_plan_shows_one_rule_that_has_a_meaning():
    for row in plan():
        found = earned([Check(row.operation, row.aspect, "")], dict.fromkeys(POINTS, 1))
        assert sum(found.values()) == 1, row
    assert all(meaning(name).endswith(".") for name in POINTS)


def test_operations_that_lack_do_not_count_unless_the_table_names_them():
    report = grade(class_of(FIRST_HALF))
    points = earned(report.checks, {"value": 10, "wrap": 3, "a.tanh()": 5, "a.log()": 5})
    assert points == {"value": 10, "wrap": 0, "a.tanh()": 5, "a.log()": 0}


def test_checks_that_were_not_run_earn_nothing():
    checks = [Check("a + b", "value", ""), Check("a * b", "value", "", "not run")]
    assert earned(checks, {"value": 20}) == {"value": 10}


def test_the_default_table_can_be_read_and_edited(table):
    assert table(default_points()) == POINTS
    assert table(default_points(), "utf-8-sig") == POINTS
    assert table("rule,points,note\norder,1,f\u00fcr alle\n", "cp1252") == {"order": 1}
    assert table("Rule;Points;note\norder;2,5;\n;;\n a.tanh() ;10;\n") == {
        "order": 2.5,
        "a.tanh()": 10,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must begin with the columns rule and points: micrograd start"),
        ('rule,points\norder,"1\n' + 200_000 * "x", "points.csv is not a CSV file: field larger"),
        ("order,2\n", "must begin with the columns"),
        ("rule,points\nnonsense,2\n", "'nonsense' is not a rule: use one of construct"),
        ("rule,points\norder,many\n", "the points of order must be a number of at least 0, got"),
        ("rule,points\norder,-1\n", "at least 0, got '-1'"),
        ("rule,points\norder,nan\n", "at least 0, got 'nan'"),
        ("rule,points\norder\n", "at least 0, got ''"),
        ("rule,points\norder,1\norder,2\n", "'order' is there twice"),
        ("rule,points\norder,0\n", "gives no points"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(text, message, table):
    with pytest.raises(ValueError, match=message):
        table(text)


def test_points_follow_the_weights():
    report = grade(class_of(edited(("(-self) + other", "self - other"))))
    assert report.points({"accumulate": 1}) == 1
    assert report.points({"reflected": 10}) < 10
