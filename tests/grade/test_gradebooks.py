"""Results in the formats of others, against what their makers publish; and answers to `why`."""

import json
import re
from dataclasses import replace

import pytest
from blocks import block, shell
from wrong_engines import RIGHT, WRONG, class_of, mistake

import micrograd
from micrograd.__main__ import main
from micrograd.grade import grade
from micrograd.grade.gradebooks import written
from micrograd.grade.points import POINTS
from micrograd.grade.why import answer

# gradescope-autograders.readthedocs.io/en/latest/specs, "Output format".
RESULTS = {"score": float, "execution_time": float, "output": ".+", "tests": list}
CASE = {"name": ".+", "score": float, "max_score": int, "output": "(?s:.*)"}


def fits(record, form):
    assert record.keys() == form.keys()
    for key, expected in form.items():
        if isinstance(expected, type):
            assert type(record[key]) is expected, key
        else:
            assert re.fullmatch(expected, record[key], re.S), key


@pytest.mark.slow
def test_gradescope_gets_its_results():
    report = replace(grade(class_of(WRONG)), student="ben")
    record = json.loads(written("gradescope", [report], POINTS, hints=2))
    fits(record, RESULTS)
    for case in record["tests"]:
        fits(case, CASE)
    [wrong] = [case for case in record["tests"] if case["score"] < case["max_score"]]
    assert wrong["output"].startswith("Gradients must add up")
    assert "Fix:" not in json.dumps(record)
    with pytest.raises(ValueError, match="expects one file, got 2"):
        written("gradescope", [report] * 2, POINTS)


# ---- why


@pytest.mark.parametrize(
    ("name", "question", "program"),
    [
        ("preorder", "order", "b = a + a; c = a + b; d = b + c"),
        ("a stack without order", "order", "b = a + a; c = a + b; d = a + b; e = c + d"),
        ("= instead of +=", "add", "b = a + a"),
    ],
)
def test_the_smallest_graph_on_which_the_class_goes_wrong_is_found(name, question, program):
    kind = class_of(mistake(name).source)
    found, told = answer(kind, question)
    root = program.rpartition("; ")[2][0]
    assert found == f"a = Value(3.0); {program}; {root}.backward()"
    assert "your engine gives a.grad = " in told


def test_a_right_class_sees_what_the_usual_mistake_does(tmp_path, capsys):
    file, page = tmp_path / "mine.py", tmp_path / "why.html"
    file.write_text(RIGHT, encoding="utf-8")
    assert main(["why", "order", str(file), "-o", str(page)]) == 0
    assert "yours is right; with the usual mistake" in capsys.readouterr().out
    assert "a.grad = 3, not 5" in page.read_text(encoding="utf-8")
    assert "page of 4 nodes" in repr(micrograd.why(class_of(RIGHT)))
    with pytest.raises(ValueError, match="expects the question 'order' or 'add'"):
        micrograd.why(class_of(RIGHT), "depth")
    assert main(["start", str(tmp_path / "new.py")]) == 0
    assert main(["why", "add", str(tmp_path / "new.py")]) == 2
    assert "a + a does not work yet (task 1)" in capsys.readouterr().err
    file.write_text("from micrograd import Value\n", encoding="utf-8")
    assert main(["why", "order", str(file)]) == 2
    assert "own engine" in capsys.readouterr().err


@pytest.mark.slow
def test_the_lines_for_gradebooks_run(tmp_path):
    (tmp_path / "homework").mkdir()
    (tmp_path / "homework" / "ada.py").write_text(WRONG, encoding="utf-8")
    (tmp_path / "my_engine.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "gradebook.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Engine (1234)\n"
        "    Points Possible,,,,,100\nada,1,,ada,,\n", encoding="utf-8",
    )  # fmt: skip
    script = block("micrograd grade homework/ --roster")
    assert "/autograder/results/" in script  # only Gradescope has this folder
    shell(script.replace("/autograder/results/", ""), tmp_path)
    assert (tmp_path / "grades.csv").read_text(encoding="utf-8").endswith("ada,1,,ada,,88\n")
    assert '"score": 100' in (tmp_path / "results.json").read_text(encoding="utf-8")
