"""The command line: its files, its messages, and what it refuses."""

import ast
import doctest
import io
import json
import os
import re
import subprocess
import sys

import pytest
from wrong_engines import RIGHT, class_of

import micrograd.__main__ as command_line
from micrograd import Value
from micrograd.__main__ import FUNCTIONS, ExpressionError, evaluated, main
from micrograd.grade import grade

NEURON = "(x1*w1 + x2*w2 + b).tanh()"
NUMBERS = ["x1=2", "w1=-3", "x2=0", "w2=1", "b=6.88"]


def test_examples_in_the_docstrings():
    assert doctest.testmod(command_line).failed == 0  # pytest skips files named __main__


# ---- expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y * 2", 7.0),
        ("(x + y) * 2", 10.0),
        ("-x ** 2", -9.0),
        ("2 ** -y", 0.25),
        ("x - y - 1", 0.0),
        ("x / y / 2", 0.75),
        ("+x", 3.0),
        ("1 - 2", -1.0),
        ("7", 7.0),
        ("maximum(x, y) + x.minimum(y)", 5.0),
        ("abs(-x)", 3.0),
        ("x.relu().sqrt() ** 2", pytest.approx(3.0)),
        ("n = x * y; m = n + 1\nm * n", 42.0),
        ("n = x * y", 6.0),
        ("(x\n + y)", 5.0),
        ("größe + x", 4.0),
    ],
)
def test_an_expression_is_what_it_is_in_python(text, expected):
    assert evaluated(text, {"x": 3.0, "y": 2.0, "größe": 1.0})[0].data == expected


def test_every_function_works_in_both_ways_of_writing():
    for name in FUNCTIONS:
        more = ["0.25"] if name in ("maximum", "minimum") else []
        function = evaluated(f"{name}({', '.join(['x', *more])})", {"x": 0.5})[0]
        method = evaluated(f"x.{name}({', '.join(more)})", {"x": 0.5})[0]
        assert function.data == method.data == FUNCTIONS[name](Value(0.5), *map(float, more)).data


def test_the_same_name_is_the_same_value():
    result, names = evaluated("x * x", {"x": 3.0})
    result.backward()
    assert names["x"].grad == 6.0
    assert list(names) == ["x"]


@pytest.mark.parametrize(
    ("text", "message", "mark"),
    [
        ("x @ y", "not supported", "@"),
        ("x + y // 2", "not supported", "// 2"),
        ("x if y else 2", "not supported", "x if"),
        ("x < y", "not supported", "x < y"),
        ("[x]", "not supported", "[x]"),
        ("x.data", "not supported", ".data"),
        ("x.tanh + 1", "tanh is a function: write .tanh", ".tanh"),
        ("(x + y).tan()", "tan is not a known function", ".tan"),
        ("x ^ 2", r"write \*\* for a power", "^"),
        ("2x + y", "write 2\\*x instead of 2x", ""),
        ("x1w1 + 1e-5 +", "invalid syntax\\n", ""),
        ("x × y", "write \\* instead of ×", "×"),
        ("x − y", "write - instead of −", "−"),
        ("x*y\n+ x", "this result is never used", "x*y"),
        ("x; y", "this result is never used", "x; y"),
        ("lambda: x", "not supported", "lambda"),
        ("x and y", "not supported", "x and"),
        ("~x", "not supported", "~x"),
        ("f'{x}'", "not supported", "f'"),
        ("x + 'a'", "expected a number, got", "'a'"),
        ("x + True", "expected a number, got", "True"),
        ("x + 2j", "expected a number, got", "2j"),
        ("x + z", "z has no value: add z=1.0", "z"),
        ("x + tanh", "tanh is a function", "tanh"),
        ("x + eval(y)", "eval is not a known function", "eval(y)"),
        ("__import__('os').system('x')", "system is not a known function", ".system"),
        ("x + tanh(x, y)", "tanh takes 1 operand", "tanh(x, y)"),
        ("maximum(x)", "maximum takes 2 operands", "maximum"),
        ("tanh(x=1)", "tanh takes 1 operand", "tanh"),
        ("(lambda: x)()", "this is not a known function", "(lambda"),
        ("x = 3", "the name 'x' is already in use", "x = 3"),
        ("tanh = 3", "the name 'tanh' is already in use", "tanh"),
        ("a = b = 3", "expected an expression or", "a = b"),
        ("a, b = 3", "expected an expression or", "a, b"),
        ("x += 3", "expected an expression or", "x += 3"),
        ("import os", "expected an expression or", "import"),
        ("n = x; del n", "expected an expression or", "del n"),
        ("größe + größe @ x", "not supported", "@ x"),
        ("(x +\n y @ x)", "not supported", "@ x)"),
        ("x / (y - 2)", "the quotient is not defined", "x / (y"),
        ("x + log(-y)", "the logarithm needs x > 0", "log(-y)"),
        ("x + ", "invalid syntax", ""),
        ("x + (y", "was never closed", "(y"),
        ("x $ y", "invalid syntax", "$"),
        ("", "expected an expression such as", ""),
        ("# nothing", "expected an expression such as", ""),
        ("1_000 + 0x", "invalid hexadecimal", ""),
        ("x\0", "null bytes", ""),
        ("+".join(["x"] * 20_000), "cannot be parsed|too many", ""),
        ("(" * 300 + "x" + ")" * 300, "too many nested", ""),
        ("-" * 5000 + "x", "cannot be parsed|too many", ""),
    ],
)
def test_anything_but_arithmetic_is_refused_with_a_mark_at_the_place(text, message, mark):
    with pytest.raises(ExpressionError, match=message) as error:
        evaluated(text, {"x": 3.0, "y": 2.0, "größe": 1.0})
    if mark:
        *_, line, below = str(error.value).splitlines()
        assert line[below.index("^") :].startswith(mark)


SUM = " + x" * 2500


@pytest.mark.parametrize(
    ("text", "message", "mark"),
    [
        (f"x{SUM[:4000]} @ y{SUM[:4000]}", "not supported", "@ y"),
        (f"x{SUM} $ y{SUM}", "invalid syntax", "$ y"),
        (f"x @ y{SUM}", "not supported", "@ y"),
        (f"x{SUM} + eval(x)", "eval is not a known function", "eval(x)"),
        (f"x{SUM} + x.tanh", "tanh is a function", ".tanh"),
        (f"x{SUM} + z", "z has no value", "z"),
        (f"x{SUM} + log(-x)", "the logarithm needs x > 0", "log(-x)"),
        (f"(x{SUM}", "was never closed", "(x"),
        ("n = 2 * x\n" + f"n{SUM} +", "invalid syntax", ""),
        ("y" * 10_000, "has no value: add", "y"),
        (f"x + {'f' * 10_000}(x)", "is not a known function", "f"),
        ("x+" * 5000 + "+ @", "invalid syntax", "@"),
        ("x" + "+x" * 20_000, "name some of the parts", "x+x"),
        ("1" * 10_000, "Exceeds the limit", "1"),
    ],
)
def test_a_long_expression_is_shown_where_it_is_wrong(text, message, mark, capsys):
    assert main(["draw", text, "x=2"]) == 2
    error = capsys.readouterr().err.removesuffix("\n")
    assert message in error
    assert len(error) < 500
    *_, line, below = error.split("\n")
    assert len(line) <= 2 + 80 + 2
    assert line[below.index("^") :].startswith(mark)


def test_a_long_sum_is_computed():
    assert evaluated(f"x{SUM}", {"x": 1.0})[0].data == 2501


# ---- draw


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!doctype html>"), ("mmd", b"flowchart")],
)
def test_draw_writes_what_the_ending_says(tmp_path, capsys, ending, beginning):
    path = tmp_path / f"neuron.{ending}"
    assert main(["draw", NEURON, *NUMBERS, "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    content = path.read_bytes()
    assert content.startswith(beginning)
    if ending != "png":
        assert b"w1" in content
        assert b"grad" in content


def test_draw_takes_edges_and_direction(tmp_path):
    path = tmp_path / "x.svg"
    assert main(["draw", "x * 2", "x=3", "-o", str(path), "--edges", "derivatives"]) == 0
    assert ">contribution<" in path.read_text(encoding="utf-8")
    assert main(["draw", "x * 2", "x=3", "-o", str(path), "--rankdir", "TB"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "x.html", "--edges", "derivatives"], "--edges works only for pictures"),
        (["-o", "x.mmd", "--level", "op"], "--level works only for pictures"),
        (["-o", "x"], "--out expects a file name that ends in"),
        (["-o", "x.docx"], "docx"),
        (["-o", "nowhere/x.svg"], "there is no folder nowhere"),
        (["-o", "x.svg", "--edges", "nonsense"], "'nonsense' is not one of"),
        (["y=3"], "not in the expression: y"),
        (["y"], "such as x=1.5"),
        (["y=a"], "such as x=1.5"),
        (["2=3"], "such as x=1.5"),
    ],
)
def test_draw_refuses_with_code_2_and_writes_nothing(
    tmp_path, monkeypatch, capsys, options, message
):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", "x * 2", "x=3", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("micrograd: ")
    assert message in captured.err
    assert list(tmp_path.iterdir()) == []


# ---- derive


def test_derive_prints_value_gradients_and_the_check(capsys):
    assert main(["derive", "3*x**2 + x*y + 5*y**2", "x=2", "y=3"]) == 0
    assert capsys.readouterr().out.split("\n") == [
        "value 63",
        "leaf  data  gradient",
        "x        2        15",
        "y        3        32",
        "central differences agree",
        "",
    ]


def test_derive_ends_with_code_1_when_a_closure_is_wrong(monkeypatch, capsys):
    def wrong(a):
        out = Value(a.data**3, (a,), "cube")

        def _backward():
            a.grad += 2 * a.data * out.grad

        out._backward = _backward
        return out

    monkeypatch.setitem(FUNCTIONS, "exp", wrong)
    assert main(["derive", "exp(x)", "x=2"]) == 1
    assert "do not agree" in capsys.readouterr().out


def test_derive_without_a_derivative_or_a_finite_number(capsys):
    assert main(["derive", "sqrt(x)", "x=0"]) == 2
    assert capsys.readouterr().err.startswith("micrograd: in the backward pass of sqrt(x)")
    assert main(["derive", "x * x", "x=inf"]) == 0
    assert "not checked: central differences need finite numbers" in capsys.readouterr().out
    assert main(["derive", "a = 2; a * x", "x=3"]) == 0
    assert "\na " not in capsys.readouterr().out
    assert main(["derive", "\N{MICRO SIGN} * 2", "\N{MICRO SIGN}=3"]) == 0
    assert capsys.readouterr().out.startswith("value 6\n")


def test_a_pipe_that_closes_early_is_not_an_error():
    command = [sys.executable, "-m", "micrograd", "derive", "x * x", "x=2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_minus_signs_and_standard_input(monkeypatch, capsys):
    assert main(["derive", "-x * 2", "x=-1.5"]) == 0
    assert capsys.readouterr().out.startswith("value 3\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("n = log(x)\nn / x\n"))
    assert main(["derive", "-", "x=1"]) == 0
    assert capsys.readouterr().out.startswith("value 0\n")
    assert main(["derive", "7"]) == 0
    assert capsys.readouterr().out == "value 7\n"


# ---- as a process


def run(*arguments, stdin="", code=0):
    process = subprocess.run(
        [sys.executable, "-W", "error", "-m", "micrograd", *arguments],
        input=stdin.encode(), capture_output=True, env=os.environ | {"PYTHONUTF8": "1"},
    )  # fmt: skip
    assert process.returncode == code, process.stderr.decode()
    return process.stdout, process.stderr.decode()


def test_as_a_process_with_pipes():
    out, err = run("draw", "-", "x=2", "-o", "-", stdin="x * x")
    assert out.startswith(b"<?xml")
    assert err == ""
    _, err = run("draw", "x @ x", "x=2", code=2)
    assert err.splitlines()[1:] == ["  x @ x", "    ^"]
    _, err = run("nonsense", code=2)
    assert "invalid choice" in err


@pytest.mark.parametrize("command", [[], ["draw"], ["derive"], ["train"], ["grade"], ["play"]])
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    out = capsys.readouterr().out
    assert "python " in out
    assert len(out.splitlines()) > 5


def test_without_a_command_it_lists_the_commands():
    out, err = run()
    assert err == ""
    for command in ("draw", "derive", "train", "play", "start", "grade"):
        assert re.search(rf"^ +{command} +\w+", out.decode(), re.M)
    assert out == run("--help")[0]


def test_play_writes_the_page(tmp_path, capsys):
    path = tmp_path / "play.html"
    assert main(["play", "-o", str(path), "--title", "Look & learn"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert "<title>Look &amp; learn</title>" in path.read_text()
    assert main(["play", "-o", str(tmp_path / "nowhere" / "play.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.slow
def test_train_is_the_demo(tmp_path):
    path = tmp_path / "circles.png"
    small = ["--data", "circles", "--points", "20", "--steps", "1", "--hidden", "2", "--eager"]
    out, _ = run("train", *small, "--out", str(path))
    assert out.startswith(b"accuracy ")
    assert path.read_bytes().startswith(b"\x89PNG")
    _, err = run("train", "--data", "nonsense", code=2)
    assert "--data expects" in err


# ---- grade


def test_grade_prints_the_report_and_returns_its_exit_code(tmp_path, capsys):
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(RIGHT)
    bad.write_text("class Value:\n    pass\n")
    assert main(["grade", str(good)]) == 0
    assert "failed" not in capsys.readouterr().out
    assert main(["grade", str(bad), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
    assert main(["grade", str(tmp_path / "missing.py")]) == 2
    assert "missing.py" in capsys.readouterr().err
    assert main(["grade", str(good), "--seconds", "0"]) == 2
    assert main(["grade", str(good), "--name", "Other"]) == 2
    good.write_text("from micrograd.engine import Value\n")
    capsys.readouterr()
    assert main(["grade", str(good)]) == 2
    assert "nothing to grade" in capsys.readouterr().out


# ---- start


def test_start_writes_a_skeleton_once(tmp_path, capsys):
    path = tmp_path / "engine.py"
    assert main(["start", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    text = path.read_text(encoding="utf-8")
    assert "micrograd grade engine.py" in text
    assert main(["start", str(path)]) == 2
    assert "engine.py exists: choose another name" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == text
    assert main(["start", str(tmp_path / "my own.py")]) == 0
    assert 'micrograd grade "my own.py"' in (tmp_path / "my own.py").read_text(encoding="utf-8")


def test_start_refuses_other_names_and_folders_that_do_not_exist(tmp_path, capsys):
    assert main(["start", str(tmp_path / "engine.txt")]) == 2
    assert "ends in .py (the skeleton) or .csv (points)" in capsys.readouterr().err
    assert main(["start", str(tmp_path / "nowhere" / "engine.py")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_skeleton_names_its_first_task_and_passes_when_all_are_done(tmp_path):
    assert main(["start", str(tmp_path / "my_engine.py")]) == 0
    skeleton = (tmp_path / "my_engine.py").read_text(encoding="utf-8")
    report = grade(class_of(skeleton))
    assert "NotImplementedError: task 1" in report.mistakes[0][0].found
    solved = {x.name: x for x in ast.parse(RIGHT).body[1].body}
    tree = ast.parse(skeleton)
    for method in tree.body[2].body:
        if isinstance(method, ast.FunctionDef):
            method.args, method.body = solved[method.name].args, solved[method.name].body
    assert grade(class_of(ast.unparse(tree))).passed
