"""Reports on right and wrong classes; `wrong_engines.py` has the mistakes to recognise."""

import ast
import re
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest
from blocks import python, written
from right_engines import ENGINES, OTHER_NAMES, notebook
from sampling import thinned
from wrong_engines import BACKWARD, FILES, MISTAKES, RIGHT, WRAP, begun, class_of, edited, mistake

from micrograd.engine import Value
from micrograd.grade import RULES, Check, Report, grade, grade_file
from micrograd.grade.checking import checks_of
from micrograd.grade.programs import OURS, plan

SECONDS = 60.0  # enough for any machine: nothing here needs as much


def write(folder, source):
    path = folder / "my_engine.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return path


def lead(report):
    """The check that the report leads with."""
    return report.mistakes[0][0]


@cache
def report_of(source):
    return grade(class_of(source))


def report_on(wrong):
    """The report on a class with one mistake, shared by several tests."""
    return report_of(wrong.source)


# ---- what is right


def test_our_own_value_passes_every_check():
    report = Report("Value", tuple(checks_of(OURS)))
    assert {check.status for check in report.checks} == {"passed"}
    assert report.passed
    assert report.mistakes == report.notes == ()


def test_a_right_class_as_in_the_lecture_passes_with_two_notes():
    report = grade(class_of(RIGHT))
    assert report.passed
    assert [note.mistake for note in report.notes] == ["twice", "depth"]
    for note in report.notes:
        assert "original micrograd" in note.fix
    missing = {check.operation for check in report.checks if check.status == "not there yet"}
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
    missing = {check.operation for check in report.checks if check.status == "not there yet"}
    assert {"-a", "a - b", "a / b", "a ** 2", "a.tanh()", "2.0 - a", "a / 2.0"} <= missing


def test_the_lectures_value_needs_no_reflected_difference_and_quotient():
    report = grade(class_of(edited(("__rsub__", "rsub"), ("__rtruediv__", "rtruediv"))))
    assert report.passed, report
    missing = {check.operation for check in report.checks if check.status == "not there yet"}
    assert {"2.0 - a", "2.0 / a"} <= missing


# ---- what is wrong


@pytest.mark.parametrize("wrong", thinned(MISTAKES, 30), ids=lambda x: x.name)
def test_the_mistake_is_named_and_no_other(wrong):
    report = report_on(wrong)
    assert not report.passed
    assert [group[0].mistake for group in report.mistakes] == [wrong.rule], report
    assert lead(report).found
    assert max(map(len, str(report).splitlines())) <= 80


def test_the_catalogue_breaks_every_rule_but_those_that_need_a_file():
    rules = {wrong.rule for wrong in MISTAKES} | {rule for _, rule, _ in FILES.values()}
    assert rules | {"memory", "twice", "depth", "unchecked"} | {x[0] for x in TYPICAL} == {*RULES}
    assert len({wrong.name for wrong in MISTAKES}) == len(MISTAKES) >= 12


@pytest.mark.parametrize(
    ("name", "program", "expected", "found"),
    [
        ("= instead of +=", "a = Value(3.0); b = a + a; b.backward()", "a.grad = 2", "a.grad = 1"),
        ("no visited set", "a = Value(3.0); b = a * a; c = b + b; c.backward()",
         "a.grad = 12", "a.grad = 24"),
        ("power without its exponent", "a = Value(1.5); b = a ** 2; b.backward()",
         "a.grad = 3", "a.grad = 1.5"),
        ("__rsub__ unswapped", "a = Value(1.5); b = 2.0 - a", "b.data = 0.5", "b.data = -0.5"),
        ("constants not wrapped in *", "a = Value(1.5); b = a * 2.0", "no error",
         "AttributeError: 'float' object has no attribute 'data'"),
        ("a set as default argument", "a = Value(3.0); b = a + a; c = Value(5.0)",
         "a._prev is empty", "a._prev holds 1"),
        ("descent inside backward", "a = Value(3.0); a.backward()", "a.data = 3", "a.data = 2.99"),
        ("gradient is a Value", "a = Value(2.0); b = Value(-3.5); c = a * b; c.backward()",
         "a.grad is a number", "a.grad is a Value, Value(-3.5)"),
    ],
)  # fmt: skip
def test_the_smallest_program_and_its_numbers_are_shown(name, program, expected, found):
    check = lead(report_on(mistake(name)))
    shown = (check.program, check.expected.split(" (")[0], check.found)
    assert shown == (program, expected, found)


def test_an_error_is_reported_with_its_place():
    check = lead(report_on(mistake("a typing mistake")))
    line = 1 + mistake("a typing mistake").source.split("math.tan_h")[0].count("\n")
    assert check.place == f"in tanh, line {line} of student.py"
    assert check.place in check.message


def test_derivatives_by_the_book_come_from_the_docstrings_of_our_operations():
    checks = report_on(mistake("tanh squared forgotten")).checks
    fixes = {check.fix for check in checks if check.operation == "a.tanh()" and not check.passed}
    assert len(fixes) == 1  # also for inner operands
    assert "d/da = 1 - t^2" in fixes.pop()
    check = lead(report_on(mistake("power with the wrong exponent")))
    assert "d/da = b a^(b-1)" in check.fix


def test_failures_with_the_same_cause_are_counted_but_not_explained_again():
    report = report_on(mistake("= instead of +="))
    (group,) = report.mistakes
    assert len(group) == sum(check.status == "failed" for check in report.checks) > 10
    assert str(report).count("Fix") == 1
    assert f"probably for the same reason ({len(group) - 1})" in str(report)


@pytest.mark.slow
def test_every_failure_has_a_message_with_all_its_parts():
    for wrong in MISTAKES:
        for check in report_on(wrong).checks:
            assert "{" not in check.rule + check.fix
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


def test_a_report_has_the_name_that_it_is_given():
    assert str(grade(class_of(RIGHT), name="mine.py")).startswith("mine.py: ")


DATA, GRAD = "self.data = data", "self.grad = 0.0"
CONSTRUCTORS = [
    *((DATA, f"self.data = {x}") for x in ("0", "1.0", "None", "-data", "data + 1", "data,")),
    *((DATA, line) for line in ("pass", "Value.data = data", "self.data = float('nan')")),
    *((GRAD, line) for line in ("pass", "self.grad = None", "self.grad = 1.0", "self.grad = data")),
    ("data, _children=(),", "name, data=0.0, _children=(),"),
    ("data, _children=(),", "_children=(), data=0.0,"),
    ("def __init__", "def init"),
]


@pytest.mark.parametrize("edit", thinned(CONSTRUCTORS, 20), ids=str)
def test_a_wrong_constructor_is_one_mistake_with_a_rule(edit):
    report = grade(class_of(edited(edit)))
    assert [group[0].mistake for group in report.mistakes] == ["construct"]
    assert "A new Value keeps its number" in str(report)
    assert all(check.rule for check in report.checks if check.status == "failed")


def test_the_text_begins_with_a_count_and_a_table_and_ends_with_the_verdict():
    text = str(report_on(mistake("tanh squared forgotten")))
    assert re.match(r"Value: \d+ passed, 4 failed, 2 noted, \d+ not there yet\n\n", text)
    assert "\nfailed: a.tanh()\n" in text
    assert "\nnot there yet: a.sigmoid(), a.log()" in text
    assert text.splitlines()[-1] == "Verdict: 1 mistake, 4 checks failed."
    assert "0x" not in text


def test_a_notebook_shows_the_smallest_graph_with_the_wrong_number_in_red():
    shown = report_on(mistake("= instead of +="))._repr_html_()
    assert "a = Value(3.0); b = a + a; b.backward()" in shown
    assert "write += instead of =" in shown.lower()
    [drawn] = re.findall(r"<figure.*?</figure>", shown, re.S)
    texts = [text for text in re.findall(r"<text[^>]*>([^<]+)</text>", drawn) if text.strip()]
    a = texts.index("a")
    assert texts[a : a + 7] == ["a", "data", "3", "grad", "2", "found", "1"]
    assert re.findall(r'<text[^>]*fill="#b3182f"[^>]*>([^<]+)</text>', drawn) == ["1"]
    assert " id=" not in drawn
    assert "<svg" not in Report("Value", tuple(checks_of(OURS)))._repr_html_()


def test_texts_of_a_class_are_shown_as_text_in_a_notebook():
    attack = "<script>alert(1)</script>"
    check = Check("file", "loads", attack, "failed", "load", attack, attack, attack)
    assert "<script" not in (shown := Report(attack, (check,))._repr_html_())
    assert "&lt;script&gt;" in shown


# ---- each fix, applied, repairs what it is about


FIRST, SECOND = "self.grad += out.grad\n", "other.grad += out.grad\n"
OVERWRITES = [(FIRST, FIRST.replace("+=", "=")), (SECOND, SECOND.replace("+=", "="))]
OVERWRITES_IN_TIMES = [(f"{x}.grad += {y}.data", f"{x}.grad = {y}.data")
                       for x, y in (("self", "other"), ("other", "self"))]  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "causes"),
    [
        ([("tuple(_children)", "tuple(_children)[:1]")], ["children"]),  # one parent per node
        ([("tuple(_children)", "set()")], ["children"]),
        ([*OVERWRITES, ("def __mul__", "def mul")], ["runs", "accumulate"]),
        ([*OVERWRITES_IN_TIMES, ("out.data**2", "out.data")], ["accumulate", "derivative"]),
        ([*OVERWRITES_IN_TIMES, ("2) * out.grad", "2)")], ["accumulate", "chain"]),
        (
            [x for name in ("preorder", "__rsub__ unswapped") for x in mistake(name).edits],
            ["order", "swapped"],
        ),
    ],
)
def test_independent_mistakes_have_an_entry_each_in_the_order_of_mending(edits, causes):
    report = grade(class_of(edited(*edits)))
    assert [first.mistake for first, *_ in report.mistakes] == causes, report


TIMES_OF_PREV = ("self.grad += other.data * out.grad\n", "a, b = out._prev\n"
                 "            self.grad += (a if b is self else b).data * out.grad\n")  # fmt: skip
TANH = "    def tanh(self):\n"
NUMPY = ("import math", "import math\nimport numpy as np")
TYPICAL = [  # the rule, a part of the fix, and the edits
    ("nothing", "write self._backward = lambda: None", [("self._backward = lambda: None", "pass")]),
    ("argument", "write def _backward(): without", [("def _backward()", "def _backward(self)")]),
    ("children", "self._prev = tuple(_children)", [("self._prev =", "self.children =")]),
    ("reverse", "for node in reversed(topo)", [("reversed(order)", "order.reverse()")]),
    ("math", "math.tanh(self.data)", [("math.tanh(self.data)", "math.tanh(self)")]),
    ("lacking", "math.exp(self.data)", [("(math.tanh(self.data)", "(self.sin().data")]),
    ("inside", "leave plain numbers such as an exponent", [('(self,), f"**', '(self, n), f"**')]),
    ("number", "use other.data, out.data", [("other.data * out.grad", "other * out.grad")]),
    ("number", "use other.data, out.data", [("out.data**2", "out / '2'")]),
    ("early", "without ()", [("self.grad += out.grad", "self.grad += 1"),
                             ("out._backward = _backward", "out._backward = _backward()")]),
    ("result", "return out, where out =", [("return self * -1", "self.data *= -1; return self")]),
    ("result", "return out, where out =", [(TANH, f"{TANH}        return np.tanh(self.data)\n"),
                                           NUMPY]),
    ("runs", "", [("if not isinstance(n, (int, float)):", "if not insintance(n, int):")]),
    ("runs", "", [(TANH, f"{TANH}        assert insintance(self, Value)\n")]),
    ("runs", "", [(TANH, f"{TANH}        return Value(np.sigmoid(self.data))\n"), NUMPY]),
    ("runs", "", [(TANH, f"{TANH}        raise TypeEror('not a number')\n")]),
    ("attribute", "write self.data", [("math.tanh(self.data)", "math.tanh(self.value)")]),
    ("unary", "def __neg__(self)", [("    def __neg__", "    def minus")]),
    ("without", "leave out the parameters", [("def tanh(self)", "def tanh(self, x)")]),
    ("unpacked", "in a tuple", [("tuple(_children)", "set(_children)"), TIMES_OF_PREV]),
    ("wrap", "", [(WRAP, WRAP.replace("else Value(other)", "else other").replace(
        "other if isinstance(other, Value)", "Value(other) if isinstance(other, int)"))]),
    ("spelling", "two underscores on each side", [("__truediv__", "__truedive__")]),
    ("spelling", "two underscores on each side", [("__init__", "__inti__")]),
    ("spelling", "two underscores on each side", [("__rmul__", "___rmul__")]),
    ("calls", "leave these calls out", [(SECOND, f"{SECOND}            other._backward()\n")]),
    ("reverse", "a set has no order", [("reversed(order)", "reversed({*order})")]),
    ("derivative", "d/da = 1 - t^2", [("(1 - out.data**2) * out.grad", "0 * out.grad")]),
    ("result", "return out, where out =",
     [('out = Value(self.data + other.data, (self, other), "+")', "out = self.data + other.data")]),
    ("recursive", "call _backward() of the operands",
     [(BACKWARD, """    def backward(self):
        self.grad = 1.0
        self._backward()
        for operand in self._prev:
            operand.backward()
""")]),
]  # fmt: skip


@pytest.mark.parametrize("typical", thinned(TYPICAL, 5))
def test_a_typical_mistake_is_told_with_its_repair(typical):
    rule, fix, edits = typical
    check = lead(grade(class_of(edited(*edits))))
    assert check.mistake == rule
    assert fix in check.fix


def test_what_a_value_raises_ends_no_grading(tmp_path):
    odd = "\n    @property\n    def data(self):\n        if self._op == 'tanh':\n            "
    source = edited(("self.data = data", "self.number = data"))
    for way in ("raise KeyboardInterrupt", "raise SystemExit"):
        text = f"{source}{odd}{way}\n        return self.number\n"
        report = grade_file(write(tmp_path, text), SECONDS)
        assert {check.status for check in report.checks} == {"passed", "noted", "not there yet"}


def test_what_was_not_checked_is_told():
    more = "\n    def leaky_relu(self):\n        return Value(self.data)\n"
    report = grade(class_of(RIGHT + more))
    assert report.passed
    assert "found     leaky_relu()" in str(report)


# ---- the tasks of `micrograd start`


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "verdict"),
    [
        (0, "no mistake so far. Next: task 1, a new Value"),
        (1, "no mistake so far. Next: task 2, a + b"),
        (3, "no mistake so far. Next: task 4, backward()"),
        (4, "no mistake so far. Next: task 5, the gradients of + and *"),
        (5, "no mistake so far. Next: task 6, a.tanh()"),
        (7, "no mistake so far. Next: task 8, more operations"),
        (8, "no mistake found"),
    ],
)
def test_what_comes_later_is_no_mistake(tasks, verdict, tmp_path):
    report = grade_file(begun(tmp_path, tasks), SECONDS)
    assert report.verdict.startswith(f"Verdict: {verdict}"), report
    assert report.mistakes == ()
    assert report.exit_code == int(tasks < 8)


ADD_ONLY = ("""
        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
""", "")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "edits", "rule", "told"),
    [
        (5, [ADD_ONLY], "", "Next: task 5, the gradients of + and *."),
        (5, [ADD_ONLY, ("reversed(order)", "order")], "walk", "reversed(topo)"),
        (5, [ADD_ONLY, TYPICAL[-1][2][0]], "recursive", "must not call backward() of the operands"),
        (5, [("        def _backward():\n            self.grad += out.grad\n    "
              "        other.grad", "        self.grad += out.grad\n        other.grad"),
             ("other.grad += out.grad\n\n        out._backward = _backward\n", "pass\n")],
         "early", "put the lines that change .grad into a function _backward"),
        (6, [("out.data**2", "out**2")], "number", "use other.data, out.data and out.grad"),
        (6, [("Value(math.tanh(self", "Value(math.tanh((self / 1)")], "",
         "a.tanh() raises NotImplementedError: task 8 (in __truediv__"),
        (5, [(".grad +=", ".grad =")], "accumulate",
         "Next: task 6, a.tanh()."),
        (7, [("    def __radd__", "    def radd")], "", "Next: task 7, plain numbers"),
    ],
)  # fmt: skip
def test_a_task_that_is_half_done_is_told_what_it_lacks(tasks, edits, rule, told, tmp_path):
    report = grade_file(begun(tmp_path, tasks, edited(*edits)), SECONDS)
    assert [first.mistake for first, *_ in report.mistakes] == [rule] * bool(rule), report
    assert told in " ".join(str(report).split()), report
    assert report.notes == ()


# ---- files


@pytest.mark.parametrize("what", thinned(sorted(FILES, key=lambda x: FILES[x][1]), 15))
def test_a_file_that_does_not_end_or_does_not_load_is_reported(what, tmp_path):
    source, rule, name = FILES[what]
    report = grade_file(write(tmp_path, source), seconds=2.0 if rule == "time" else SECONDS)
    assert (lead(report).mistake, lead(report).name) == (rule, name), report
    assert len(report.mistakes) == 1
    assert not report.passed
    assert ("--seconds" in str(report)) == (rule == "time")
    assert len(report.checks) == 1 + len([*plan()])


def test_the_file_must_be_there_and_have_time(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.py: grade"):
        grade_file(tmp_path / "nothing.py")
    with pytest.raises(FileNotFoundError, match="is a folder: grade expects a Python file"):
        grade_file(tmp_path)
    with pytest.raises(ValueError, match="seconds above 0"):
        grade_file(write(tmp_path, RIGHT), seconds=0)


@pytest.mark.slow
def test_what_was_checked_before_a_crash_is_kept(tmp_path):
    report = grade_file(write(tmp_path, FILES["a crash in tanh"][0]), SECONDS)
    statuses = [check.status for check in report.checks]
    crash = statuses.index("failed")
    assert set(statuses[:crash]) == {"passed"}
    assert set(statuses[crash + 1 :]) == {"not run"}
    assert "exit code 3" in lead(report).found


NOISE = """
import os, sys, threading, time
print('{"check": {}}' * 1000)
sys.stderr.write("noise")
os.close(0)
threading.Thread(target=time.sleep, args=(1000,)).start()
if __name__ == "__main__":
    raise SystemExit("not to be run")
"""
SEED = "        self.grad = 1.0\n"
FOLDERS = {  # the files, and the path that is graded
    "noise and a main part": (
        {"x.py": NOISE + edited((SEED, SEED + "        print(self)\n"))}, "x.py",
    ),
    "a neighbour and a dataclass": (
        {"neighbour.py": "from dataclasses import dataclass\n",
         "x.py": f"from neighbour import dataclass\n{RIGHT}\n@dataclass\nclass A:\n    x: 'int'\n"},
        "x.py",
    ),
    "a folder called micrograd": (
        {"micrograd/__init__.py": "raise SystemExit('wrong')", "micrograd/engine.py": RIGHT},
        "micrograd/engine.py",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("files", "graded"), FOLDERS.values(), ids=FOLDERS)
def test_a_right_class_passes_whatever_is_around_it(files, graded, tmp_path):
    report = grade_file(written(tmp_path, files) / graded, SECONDS)
    assert report.passed, report


@pytest.mark.slow
def test_another_name_of_the_class(tmp_path):
    path = write(tmp_path, RIGHT.replace("Value", "Scalar"))
    assert grade_file(path, SECONDS, class_name="Scalar").passed
    report = grade_file(path, SECONDS)
    assert lead(report).found == "no such class; classes there: Scalar"
    assert lead(report).expected == "a class Value"
    assert "--name" in lead(report).fix


def test_an_error_while_loading_is_told_with_its_line(tmp_path):
    check = lead(grade_file(write(tmp_path, "class Value:\n    x = 1 / 0\n"), SECONDS))
    assert check.found == "ZeroDivisionError: division by zero"
    assert check.place == "in Value, line 2 of my_engine.py"
    check = lead(grade_file(write(tmp_path, "class Value\n"), SECONDS))
    assert check.found == "SyntaxError: expected ':' (my_engine.py, line 1)"


@pytest.mark.slow
def test_with_a_raised_recursion_limit_a_deep_graph_is_no_note(tmp_path):
    source = "import sys\nsys.setrecursionlimit(20000)\n" + RIGHT
    report = grade_file(write(tmp_path, source), SECONDS)
    assert [note.mistake for note in report.notes] == ["twice"]


HOG = edited(("math.exp(self.data)", "len([0.0] * 10**10)"))  # 80 gigabytes at once


@pytest.mark.slow
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the system has no such limit")
def test_too_much_memory_is_reported(tmp_path):
    report = grade_file(write(tmp_path, HOG), SECONDS)
    assert (lead(report).mistake, lead(report).operation) == ("memory", "a.exp()")
    assert len(report.mistakes) == 1


# ---- right, but unusual

USUAL = {x.operation for x in grade(class_of(RIGHT)).checks if x.status == "not there yet"}


@pytest.mark.parametrize("what", thinned(ENGINES, 60))
def test_a_right_engine_is_not_accused(what, tmp_path):
    source, lacking = ENGINES[what]
    report = grade_file(write(tmp_path, source), SECONDS)
    assert report.exit_code == 0, report
    missing = {x.operation for x in report.checks if x.status == "not there yet"}
    assert missing - USUAL == set(lacking), report


# ---- other names and missing methods


def test_a_missing_backward_is_one_finding_and_the_numbers_are_checked():
    source = edited(("    def backward(self)", "    def later(self, order)"))
    report = grade(class_of(source))
    assert [group[0].name for group in report.mistakes] == ["backward: of a single node"]
    assert lead(report).mistake == "needed"
    passed = {check.name for check in report.checks if check.passed}
    assert {"a * b: value", "a.tanh(): value", "2.0 - a: value"} <= passed
    wrong = grade(class_of(source.replace("math.exp(self.data)", "math.exp(-self.data)")))
    assert [group[0].mistake for group in wrong.mistakes] == ["needed", "value"]


# ---- notebooks


def saved(folder, *cells):
    path = folder / "lecture.ipynb"
    path.write_text(notebook(*cells), encoding="utf-8")
    return path


def test_a_notebook_is_graded_by_the_cells_that_define(tmp_path):
    path = saved(
        tmp_path,
        "%matplotlib inline\nimport math\n!pip install graphviz",
        "class Value:\n    def __init__(self, data):\n        self.data = data\n\nValue(2.0) + 1",
        "%%bash\nclass Value",
        "this is no Python",
        "squared = lambda x:\\\n    x**2\n?squared\nsquared??",
        "%%time\n" + RIGHT.replace("out.data**2", "squared(out.data)"),
        "raise ValueError('this cell fails')",
        "while True:\n    Value(1.0) + Value(2.0)",
        "await something()",
        "%load_ext autoreload\nfrom micrograd.engine import Value",
    )
    report = grade_file(path, SECONDS)
    assert report.exit_code == 0, report
    assert not {"a + b", "a.tanh()"} & {x.operation for x in report.checks if not x.passed}


@pytest.mark.slow
def test_the_fullest_class_of_a_notebook_is_graded(tmp_path):
    begun_anew = "class Value:\n    def __init__(self, data):\n        self.data = data\n"
    path = saved(tmp_path, begun_anew, RIGHT, begun_anew)
    report = grade_file(path, SECONDS)
    assert report.passed
    assert "of several, the class in cell 3 of lecture.ipynb" in " ".join(str(report).split())


LEFTOVER = edited(("(1 - out.data**2) * out.grad", "(\n                1 - out.data**2\n"
                   "                % 1e9) * out.grad"))  # fmt: skip
UNEQUAL = edited(("isinstance(n, (int, float))", "(type(n)\n                != str)"))
LOOP = "for i in range(10**9):\n    n = Value(1.0)\n    (n + n).backward()\n"
LATER = "class Neuron:\n    def __init__(self):\n        self.n = n\nValue.extra = Neuron\n"
HANDED_IN = {
    "a line that begins with %": notebook(LEFTOVER),
    "a line that begins with !=": notebook(UNEQUAL),
    "commands in a script": f"# %%\n%matplotlib inline\nx = !ls\n# %%\n{RIGHT}",
    "imports of colab": notebook(f"from google.colab import *\nimport google.colab as c\n{RIGHT}"),
    "training that a later cell seems to need": notebook(RIGHT, LOOP, LATER),
}  # fmt: skip


@pytest.mark.parametrize("name", thinned(HANDED_IN, 4))
def test_what_people_hand_in_is_graded(name, tmp_path):
    ending = "py" if HANDED_IN[name].startswith("#") else "ipynb"
    path = tmp_path / f"mine.{ending}"
    path.write_text(HANDED_IN[name], encoding="utf-8")
    report = grade_file(path, SECONDS)
    assert report.passed, report


def test_a_mistake_in_a_notebook_is_told_with_its_cell(tmp_path):
    path = saved(tmp_path, "import math", mistake("a typing mistake").source)
    check = lead(grade_file(path, SECONDS))
    line = 1 + mistake("a typing mistake").source.split("math.tan_h")[0].count("\n")
    assert check.place == f"in tanh, line {line} of cell 3 of lecture.ipynb"


# ---- in a repository with a package micrograd of its own


@pytest.fixture(params=thinned(["with __init__", "without", "that exports it"], 3))
def repository(request, tmp_path):
    files = {
        "micrograd/engine.py": "from .helpers import wrapped\n"
        + edited((WRAP, "other = wrapped(other, Value)")),
        "micrograd/helpers.py": "def wrapped(x, kind):\n"
        "    return x if isinstance(x, kind) else kind(x)\n",
        "micrograd/__main__.py": "raise SystemExit('the micrograd of the learner')",
        "demo.py": "from micrograd.engine import Value\n\nprint(Value(1.0))\n",
        "notebooks/demo.ipynb": notebook(
            "import sys\nsys.path.append('..')", "from micrograd.engine import Value"
        ),
    }
    if request.param != "without":
        exports = "from .engine import Value\n" * (request.param == "that exports it")
        files["micrograd/__init__.py"] = exports
    return written(tmp_path, files)


@pytest.mark.slow
def test_the_commands_that_are_shown_work_in_such_a_repository(repository):
    script = Path(sys.executable).with_name("micrograd")
    for command in (["-P", "-m", "micrograd"], *[[script]] * script.exists()):
        out = python(*command, "grade", "micrograd/engine.py", folder=repository).stdout
        assert out.splitlines()[-1].startswith("Verdict: no mistake found")
    if (repository / "micrograd" / "__init__.py").exists():  # which is why the commands are shown
        out = python("-m", "micrograd", "grade", "demo.py", folder=repository, code=1).stderr
        assert "the micrograd of the learner" in out


# ---- what is shown


def test_the_most_important_mistake_stays_on_the_screen_however_many_there_are():
    names = ("= in + alone", "tanh squared forgotten", "exp as if it were a power", "no seed",
             "relu the wrong way round", "__rsub__ unswapped", "floor division")  # fmt: skip
    report = grade(class_of(edited(*[edit for name in names for edit in mistake(name).edits])))
    assert len(report.mistakes) >= 4
    lines = str(report).splitlines()
    assert any(line.startswith(f"1. {lead(report).rule[:40]}") for line in lines[-23:])
    assert any(line.startswith("More after these are fixed (") for line in lines)


@pytest.mark.slow
def test_an_older_definition_is_not_graded_where_the_last_does_not_parse(tmp_path):
    path = tmp_path / "lecture.ipynb"
    broken = RIGHT.replace("def exp(self):", "def exp(self)")
    path.write_text(notebook(RIGHT, broken))
    report = grade_file(path, SECONDS)
    assert report.exit_code == 2
    assert lead(report).mistake == "syntax"
    assert lead(report).found.startswith(
        "SyntaxError: expected ':' (cell 3 of lecture.ipynb, line "
    )
    path.write_text(notebook(broken, RIGHT))
    assert grade_file(path, SECONDS).exit_code == 0


def test_a_class_with_other_names_gets_the_lectures_while_it_is_graded():
    other = OTHER_NAMES.replace("Value", "Scalar").replace("1 - out.value**2", "1 - out.value")
    exec(other, names := {})
    before = dict(vars(names["Scalar"]))
    check = lead(grade(names["Scalar"]))
    assert (check.name, check.found[:9]) == ("a.tanh(): gradient", "a.grad = ")
    assert dict(vars(names["Scalar"])) == before
