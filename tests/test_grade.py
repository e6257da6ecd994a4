"""Chapter 14. The catalogue of mistakes that are to be recognised is in wrong_engines.py."""

import ast
import json
import subprocess
import sys
import textwrap

import pytest
from wrong_engines import FILES, HOG, MISTAKES, RIGHT, class_of, edited

from micrograd.engine import Value
from micrograd.grade import RULES, Check, Report, grade, grade_file

SECONDS = 60.0  # enough for any machine: what is to end by itself does so long before


def write(folder, source):
    path = folder / "my_engine.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return path


def lead(report):
    """The check that the report leads with."""
    return report.mistakes[0][0]


def mistake(name):
    return next(one for one in MISTAKES if one.name == name)


# ---- what is right


def test_our_own_value_passes_every_check():
    report = grade(Value)
    assert {check.status for check in report.checks} == {"passed"}
    assert report.passed
    assert report.mistakes == report.notes == ()


def test_a_right_class_as_in_the_lecture_passes_with_two_notes():
    report = grade(class_of(RIGHT))
    assert report.passed
    assert [note.mistake for note in report.notes] == ["twice", "depth"]
    for note in report.notes:
        assert "original micrograd" in note.way_out
    missing = {check.operation for check in report.checks if check.status == "not found"}
    assert missing == {
        *("a.sigmoid()", "a.log()", "a.sqrt()", "a.sin()", "a.cos()", "abs(a)"),
        *("a.maximum(b)", "a.minimum(b)", "a ** b", "2.0 ** a"),
    }


def test_the_class_of_the_first_half_of_the_lecture_lacks_operations_and_is_right():
    methods = ("neg", "sub", "rsub", "truediv", "rtruediv", "pow")
    names = [(f"__{name}__(", f"_no_{name}(") for name in methods]
    functions = [(f"def {name}(", f"def no_{name}(") for name in ("relu", "exp", "tanh")]
    report = grade(class_of(edited(*names, *functions)))
    assert report.passed
    missing = {check.operation for check in report.checks if check.status == "not found"}
    assert {"-a", "a - b", "a / b", "a ** 2", "a.tanh()", "2.0 - a", "a / 2.0"} <= missing


def test_the_lectures_value_needs_no_reflected_difference_and_quotient():
    report = grade(class_of(edited(("__rsub__", "rsub"), ("__rtruediv__", "rtruediv"))))
    assert report.passed, report
    missing = {check.operation for check in report.checks if check.status == "not found"}
    assert {"2.0 - a", "2.0 / a"} <= missing


@pytest.mark.parametrize(
    "edits",
    [
        [("(out.data > 0)", "(self.data >= 0)")],  # a convention
        [("self.grad = 1.0", "self.grad = 1")],
        [("tuple(_children)", "set(_children)")],  # the closures know their operands
        [("tuple(_children)", "list(_children)")],
        [("self._prev", "self.parents"), ("node._prev", "node.parents")],
        [("node not in visited", "all(node is not other for other in order)")],
        [("math.tanh(self.data)", "1 - 2 / (math.exp(2 * self.data) + 1)")],
        [("raise NotImplementedError", "raise TypeError")],
        [("    def exp(self):\n", "    def exp(self):\n        raise NotImplementedError\n")],
        [("self.data = data", "self.data = float(data)")],
    ],
    ids=str,
)
def test_what_is_a_matter_of_taste_does_not_fail(edits):
    report = grade(class_of(edited(*edits)))
    assert report.passed, report


# ---- what is wrong


@pytest.mark.parametrize("wrong", MISTAKES, ids=str)
def test_the_mistake_is_named_and_no_other(wrong):
    report = grade(class_of(wrong.source))
    assert not report.passed
    assert [group[0].mistake for group in report.mistakes] == [wrong.rule], report
    assert lead(report).found


def test_the_catalogue_breaks_every_rule_but_those_that_need_a_file():
    assert {wrong.rule for wrong in MISTAKES} | {rule for _, rule, _ in FILES.values()} | {
        *("memory", "twice", "kept", "depth")
    } == set(RULES)
    assert len({wrong.name for wrong in MISTAKES}) == len(MISTAKES) >= 12


@pytest.mark.parametrize(
    ("name", "program", "expected", "found"),
    [
        ("= in place of +=", "a = Value(3.0); b = a + a; b.backward()", "a.grad = 2", "a.grad = 1"),
        ("no visited set", "a = Value(3.0); b = a * a; c = b + b; c.backward()",
         "a.grad = 12", "a.grad = 24"),
        ("power without its exponent", "a = Value(1.5); b = a ** 2; b.backward()",
         "a.grad = 3", "a.grad = 1.5"),
        ("__rsub__ unswapped", "a = Value(1.5); b = 2.0 - a", "b.data = 0.5", "b.data = -0.5"),
        ("constants not wrapped", "a = Value(1.5); b = a + 2.0", "no error",
         "AttributeError: 'float' object has no attribute 'data'"),
        ("a set as default argument", "a = Value(3.0); b = a + a; c = Value(5.0)",
         "a._prev is empty", "a._prev holds 1"),
        ("descent inside backward", "a = Value(3.0); a.backward()", "a.data = 3", "a.data = 2.99"),
        ("gradient is a Value", "a = Value(2.0); b = Value(-3.5); c = a * b; c.backward()",
         "a.grad is a number", "a.grad is a Value, Value(-3.5)"),
    ],
)  # fmt: skip
def test_the_smallest_program_and_its_numbers_are_shown(name, program, expected, found):
    check = lead(grade(class_of(mistake(name).source)))
    shown = (check.program, check.expected.split(" (")[0], check.found)
    assert shown == (program, expected, found)


def test_the_slope_is_that_of_the_node_on_which_backward_is_called():
    check = lead(grade(class_of(mistake("grad kept on the class").source)))
    assert check.expected == "b.grad = 0 (slope of its own forward pass: 0)"


def test_an_error_is_told_with_its_place():
    check = lead(grade(class_of(mistake("a typing mistake").source)))
    line = 1 + mistake("a typing mistake").source.split("math.tan_h")[0].count("\n")
    assert check.place == f"in tanh, line {line} of student.py"
    assert check.place in check.message


def test_derivatives_by_the_book_come_from_the_docstrings_of_our_operations():
    check = lead(grade(class_of(mistake("tanh squared forgotten").source)))
    assert "d/da = 1 - t^2" in check.way_out
    check = lead(grade(class_of(mistake("power with the wrong exponent").source)))
    assert "d/da = b a^(b-1)" in check.way_out


@pytest.mark.parametrize(
    ("names", "rules"),
    [
        (("= in place of +=", "quotient with the wrong sign"), ["accumulate", "derivative"]),
        (("preorder", "__rsub__ unswapped"), ["order", "swapped"]),
        (("tanh squared forgotten", "exp as if it were a power"), ["derivative", "derivative"]),
        (("no seed", "relu the wrong way round"), ["seed", "value"]),
    ],
)
def test_two_mistakes_are_told_apart(names, rules):
    edits = [edit for name in names for edit in mistake(name).edits]
    report = grade(class_of(edited(*edits)))
    assert [group[0].mistake for group in report.mistakes] == rules, report


def test_what_follows_is_counted_and_not_explained_again():
    report = grade(class_of(mistake("= in place of +=").source))
    (group,) = report.mistakes
    assert len(group) == sum(check.status == "failed" for check in report.checks) > 10
    assert str(report).count("Way out") == 1 + len(report.notes)
    assert f"probably for this reason ({len(group) - 1})" in str(report)


def test_a_second_backward_is_no_note_where_the_first_is_wrong_already():
    for name, notes in (("no seed", ["depth"]), ("tanh squared forgotten", ["twice", "depth"])):
        report = grade(class_of(mistake(name).source))
        assert [note.mistake for note in report.notes] == notes


def test_a_second_backward_may_give_too_little_as_well():
    setting = "        self.grad = 1.0\n"
    report = grade(class_of(edited((setting, "        for v in order: v.grad = 0\n" + setting))))
    assert report.passed
    assert [note.mistake for note in report.notes] == ["kept", "depth"]
    assert "too much" not in report.notes[0].way_out


def test_every_failure_has_a_message_with_all_its_parts():
    for wrong in MISTAKES:
        for check in grade(class_of(wrong.source)).checks:
            assert "{" not in check.rule + check.way_out
            if check.status == "failed":
                assert check.expected
                assert check.found
                assert check.rule.endswith(".")
                ast.parse(check.program)


def test_only_a_class_is_graded():
    for other in (Value(1.0), "my_engine.py", None):
        with pytest.raises(TypeError, match="grade expects a class, got"):
            grade(other)


# ---- reports


def test_a_report_survives_json():
    report = grade(class_of(mistake("preorder").source), name="preorder.py")
    record = json.loads(report.json())
    assert Report.from_dict(record) == report
    assert record["name"] == "preorder.py"
    assert record["passed"] is False
    assert record["mistakes"][0][0] == lead(report).name
    failed = [check for check in record["checks"] if check["status"] == "failed"]
    assert failed[0]["mistake"] == "order"
    assert failed[0]["rule"] == RULES["order"][0]


def test_the_text_begins_with_a_count_and_ends_with_a_table():
    text = str(grade(class_of(mistake("tanh squared forgotten").source)))
    assert text.startswith("Value: 85 passed, 3 failed, 2 noted, 40 not found\n\n1. The derivative")
    row = "a.tanh()      value ok   gradient FAILED   chain rule FAILED   adding up FAILED"
    assert row in text.splitlines()
    assert text.splitlines()[-1].startswith("not found: a.sigmoid(), a.log()")
    assert "0x" not in text


def test_a_notebook_shows_the_smallest_graph():
    shown = grade(class_of(mistake("no visited set").source))._repr_html_()
    assert "a = Value(3.0); b = a * a; c = b + b; c.backward()" in shown
    assert shown.count("<svg") == 2  # the mistake and one note; a deep chain is not drawn
    assert "<svg" not in grade(Value)._repr_html_()
    raising = edited(("math.tanh(self.data)", "math.tanh('<b>')"))
    assert "must be real number" in (shown := grade(class_of(raising))._repr_html_())
    assert "<b>'" not in shown


def test_names_of_checks_are_unique():
    names = [str(check) for check in grade(Value).checks]
    assert len(set(names)) == len(names)


def test_a_check_that_was_not_reached_fails_as_a_test():
    with pytest.raises(AssertionError, match="was not reached"):
        Check("a + b", "value", "c = a + b", "not run")()


def test_pytest_runs_each_check_as_a_test(tmp_path):
    write(tmp_path, mistake("tanh squared forgotten").source)
    (tmp_path / "test_mine.py").write_text(
        "import pytest\n"
        "from my_engine import Value\n"
        "from micrograd.grade import grade\n\n\n"
        "@pytest.mark.parametrize('check', grade(Value).checks, ids=str)\n"
        "def test_my_value(check):\n"
        "    check()\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "test_mine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "3 failed, 85 passed, 42 skipped" in run.stdout, run.stdout + run.stderr
    assert "test_my_value[a.tanh(): gradient]" in run.stdout
    assert "The derivative in the _backward of a.tanh() is wrong." in run.stdout


# ---- files


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_does_not_end_or_does_not_load_is_a_finding(what, tmp_path):
    source, rule, name = FILES[what]
    report = grade_file(write(tmp_path, source), seconds=2.0 if rule == "time" else SECONDS)
    assert (lead(report).mistake, lead(report).name) == (rule, name), report
    assert len(report.mistakes) == 1
    assert not report.passed
    assert len(report.checks) == 1 + len(grade(Value).checks)


def test_a_right_file_gives_the_same_report_as_its_class(tmp_path):
    path = write(tmp_path, RIGHT)
    report, expected = grade_file(path, SECONDS), grade(class_of(RIGHT))
    assert report.name == str(path)
    assert report.checks[0].name == "file: loads"
    assert [check.status for check in report.checks[1:]] == [x.status for x in expected.checks]
    assert report.passed


def test_what_was_checked_before_a_crash_is_kept(tmp_path):
    report = grade_file(write(tmp_path, FILES["a crash in tanh"][0]), SECONDS)
    statuses = [check.status for check in report.checks]
    crash = statuses.index("failed")
    assert set(statuses[:crash]) == {"passed"}
    assert set(statuses[crash + 1 :]) == {"not run"}
    assert "exit code 3" in lead(report).found


def test_a_file_may_print_what_it_likes_and_have_a_main_part(tmp_path):
    noise = """
import os, sys, threading, time
print('{"check": {}}' * 1000)
sys.stderr.write("noise")
os.close(0)
threading.Thread(target=time.sleep, args=(1000,)).start()
if __name__ == "__main__":
    raise SystemExit("not to be run")
"""
    seed = "        self.grad = 1.0\n"
    printing = edited((seed, seed + "        print(self)\n"))
    report = grade_file(write(tmp_path, noise + printing), SECONDS)
    assert report.passed, report


def test_a_file_may_import_its_neighbours_and_define_a_dataclass(tmp_path):
    (tmp_path / "neighbour.py").write_text("from dataclasses import dataclass\n")
    source = (
        "from neighbour import dataclass\n" + RIGHT + "\n\n@dataclass\nclass Other:\n    x: 'int'\n"
    )
    assert grade_file(write(tmp_path, source), SECONDS).passed


def test_a_folder_called_micrograd_beside_the_file_is_not_taken_for_ours(tmp_path):
    (tmp_path / "micrograd").mkdir()
    (tmp_path / "micrograd" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    path = tmp_path / "micrograd" / "engine.py"
    path.write_text(RIGHT)
    assert grade_file(path, SECONDS).passed


def test_another_name_of_the_class(tmp_path):
    path = write(tmp_path, RIGHT.replace("Value", "Scalar"))
    assert grade_file(path, SECONDS, class_name="Scalar").passed
    report = grade_file(path, SECONDS)
    assert lead(report).found == "no such class; classes there: Scalar"
    assert lead(report).expected == "a class Value"
    assert "--name" in lead(report).way_out


def test_an_error_while_loading_is_told_with_its_line(tmp_path):
    check = lead(grade_file(write(tmp_path, "x = 1\ny = x / 0\n"), SECONDS))
    assert check.found == "ZeroDivisionError: division by zero"
    assert check.place == "in <module>, line 2 of my_engine.py"
    check = lead(grade_file(write(tmp_path, "class Value\n"), SECONDS))
    assert check.found == "SyntaxError: expected ':' (my_engine.py, line 1)"


def test_a_raised_recursion_limit_is_at_most_a_crash_of_the_other_process(tmp_path):
    limit = "import sys\nsys.setrecursionlimit(10**8)\n"
    source = limit + mistake("negation and difference lead to each other").source
    report = grade_file(write(tmp_path, source), SECONDS)
    assert lead(report).name == "-a: value"
    assert lead(report).mistake in ("crash", "recursion", "memory")  # a matter of the version
    report = grade_file(write(tmp_path, limit.replace("10**8", "20000") + RIGHT), SECONDS)
    assert [note.mistake for note in report.notes] == ["twice"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the system has no such limit")
def test_too_much_memory_is_a_finding(tmp_path):
    report = grade_file(write(tmp_path, HOG), SECONDS, megabytes=1024)
    assert (lead(report).mistake, lead(report).operation) == ("memory", "a.exp()")
    assert len(report.mistakes) == 1


def test_arguments_of_grade_file_are_checked(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.py: grade"):
        grade_file(tmp_path / "nothing.py")
    with pytest.raises(FileNotFoundError, match="is a folder: grade expects a Python file"):
        grade_file(tmp_path)
    path = write(tmp_path, RIGHT)
    with pytest.raises(ValueError, match="seconds=0"):
        grade_file(path, seconds=0)
    with pytest.raises(ValueError, match="megabytes=-1"):
        grade_file(path, megabytes=-1)
