"""Networks to grade: right ones in the styles that people write, and wrong ones, each named."""

from itertools import pairwise

import pytest
from blocks import python
from right_engines import FIRST_HALF, notebook
from sampling import thinned
from wrong_engines import NETWORK_MISTAKES, RIGHT, RIGHT_NETWORK, begun
from wrong_engines import edited as edited_engine

from micrograd import nn
from micrograd.__main__ import main
from micrograd.engine import Value
from micrograd.grade import grade, grade_file
from micrograd.grade.programs import NETWORK, rules

SECONDS = 60.0
NET = RIGHT_NETWORK.removeprefix(RIGHT)


def report_on(source):
    names = {"__name__": "student"}
    exec(compile(source, "student.py", "exec", dont_inherit=True), names)
    return grade(names["Value"], "mine", [x for x in names.values() if callable(x)])


def edited(*edits):
    return edited_engine(*edits, right=RIGHT_NETWORK)


def lead(report):
    """The check that the report leads with."""
    return report.mistakes[0][0]


def rules_of(report):
    return [first.mistake for first, *_ in report.mistakes]


# ---- right networks


FORWARD = [("def __call__(self, x)", "def forward(self, x)"), ("n(x) for", "n.forward(x) for"),
           ("layer(x)", "layer.forward(x)"), ("model(x)", "model.forward(x)")]  # fmt: skip
LINEAR_LAST = [("(self, nin)", "(self, nin, nonlin=True)"),
               ("self.b = V", "self.nonlin = nonlin; self.b = V"),
               ("return act.tanh()", "return act.relu() if self.nonlin else act"),
               ("(self, nin, nout)", "(self, nin, nout, **more)"),
               ("Neuron(nin) for", "Neuron(nin, **more) for"),
               ("sz[i + 1])", "sz[i + 1], nonlin=i != len(nouts) - 1)")]  # fmt: skip
MATRIX = NET[: NET.index("class Neuron")] + """
class Layer:
    def __init__(self, nin, nout):
        self.W = [[Value(random.uniform(-1, 1)) for _ in range(nin)] for _ in range(nout)]
        self.b = [Value(0.0) for _ in range(nout)]

    def __call__(self, x):
        return [sum((w * xi for w, xi in zip(row, x)), b).tanh() for row, b in zip(self.W, self.b)]

    def parameters(self):
        return [w for row in self.W for w in row] + self.b


""" + NET[NET.index("class MLP") : NET.index("def mse")]  # fmt: skip
STYLES = {
    "as in the lecture": [],
    "with relu and a linear last layer": LINEAR_LAST,
    "sigmoid": [("act.tanh()", "1 / (1 + (-act).exp())")],
    "activation of its own": [("act.tanh()", "act.tanh() + 0.1 * act")],
    "activation in the layer": [("act.tanh()", "act"), ("[n(x) for", "[n(x).tanh() for")],
    "bias first": [("self.w + [self.b]", "[self.b] + self.w")],
    "other names": [("self.w", "self.weights"), ("self.b", "self.bias"), (".neurons", ".units"),
                    (".layers", ".stack"), ("class MLP", "class Network"),
                    ("parameters(", "params(")],
    "forward instead of a call": FORWARD,
    "parameters in an attribute": [("def parameters", "@property\n    def parameters"),
                                   (".parameters()", ".parameters")],
    "a list also of one output": [("return outs[0] if len(outs) == 1 else outs", "return outs"),
                                  ("model(x) for", "model(x)[0] for")],
    "all sizes in one list": [("def __init__(self, nin, nouts):", "def __init__(self, sz):"),
                              ("        sz = [nin] + nouts\n", ""), ("len(nouts)", "len(sz) - 1")],
    "normal weights": [("random.uniform(-1, 1)", "random.gauss(0, 1)")],
    "an update of one example at a time": [
        ("for _ in range(steps):", "for x, y in [*zip(xs, ys)] * steps:"),
        ("mse([model(x) for x in xs], ys)", "mse([model(x)], [y])")],
    "a hinge loss": [("mse(", "loss_fn("), ("sum((p - t) ** 2 for", "sum((1 - p * t).relu() for")],
    "training with data of its own": [("(model, xs, ys, steps=20", "(file, steps=20")],
}  # fmt: skip


@pytest.mark.parametrize("style", thinned(STYLES, 8))
def test_a_right_network_is_not_accused_whatever_its_style(style):
    report = report_on(edited(*STYLES[style]))
    assert report.passed, report
    noted = {"activation of its own": {"activation"},
             "training with data of its own": {"untrained"}}.get(style, set())  # fmt: skip
    assert {note.mistake for note in report.notes} == noted, report


def test_a_network_on_our_value_is_graded_and_ours_is_not():
    names = {"Value": Value}
    exec(NET, names)
    assert grade(Value, "mine", [x for x in names.values() if callable(x)]).passed
    ours = grade(Value, "ours", [nn.Neuron, nn.Layer, nn.MLP])
    assert ours.passed, ours


def test_what_is_not_there_is_said_and_the_rest_is_checked():
    layers = report_on(RIGHT + MATRIX)
    assert layers.passed, layers
    assert layers.verdict.endswith("passed); not there yet: Neuron.")
    assert [note.mistake for note in layers.notes] == ["unseen", "untrained"]
    plain = report_on(FIRST_HALF + NET[: NET.index("def mse")])
    assert plain.passed, plain
    first = report_on(RIGHT + NET[: NET.index("class Layer")])
    assert first.verdict.endswith("not there yet: Layer, MLP.")


# ---- wrong networks


@pytest.mark.parametrize("wrong", thinned(NETWORK_MISTAKES, 15), ids=lambda x: x.name)
def test_the_mistake_of_a_network_is_named_and_no_other(wrong):
    report = report_on(wrong.source)
    assert rules_of(report) == [wrong.rule], report
    assert max(map(len, str(report).splitlines())) <= 80


def test_each_rule_of_a_network_is_broken_by_one():
    notes = {"activation", "unseen", "untrained", "reach"}
    others = {"signature", "callable", "step"}  # below
    assert {x.rule for x in NETWORK_MISTAKES} | others | notes == {*NETWORK}
    assert len(NETWORK_MISTAKES) >= 30


def test_training_shows_mistakes_also_where_the_weights_are_not_found():
    copies = ("[w for row in self.W for w in row] + self.b",
              "[Value(w.data) for row in [*self.W, self.b] for w in row]")  # fmt: skip
    assert rules_of(report_on(RIGHT + MATRIX.replace(*copies))) == ["learns"]
    noise = (", b).tanh()", ", b).tanh() + random.random()")
    assert rules_of(report_on(RIGHT + MATRIX.replace(*noise))) == ["step"]


@pytest.mark.parametrize(
    ("edits", "rule", "fix"),
    [
        ([("(self, nin)", "(self, nin, function)"), ("Neuron(nin)", "Neuron(nin, 'tanh')")],
         "signature", "give every further parameter a default"),
        ([("__call__(self, x):\n        act", "_call_(self, x):\n        act")],
         "callable", "two underscores"),
    ],
)  # fmt: skip
def test_an_error_is_told_with_its_fix(edits, rule, fix):
    report = report_on(edited(*edits))
    assert lead(report).mistake == rule, report
    assert fix in lead(report).fix


def test_the_program_shows_the_names_and_the_numbers():
    report = report_on(edited(("class MLP", "class Network"), ("x = layer(x)", "out = layer(x)"),
                              ("return x", "return out")))  # fmt: skip
    text = str(report)
    assert "m = Network(2, [3, 2])" in report._repr_html_()
    assert "m = Network(2, [3, 2])" in text
    assert "expected  y = [" in text
    assert rules("en")["connected"][0] in " ".join(text.split())


# ---- files


@pytest.mark.slow
def test_the_engine_may_be_in_another_file_and_training_does_not_run(tmp_path):
    (tmp_path / "engine.py").write_text(RIGHT, encoding="utf-8")
    path = tmp_path / "my_nn.py"
    loop = "\nmodel = MLP(2, [3, 1])\nfor k in range(10**9):\n    model([1.0, 2.0]).backward()\n"
    path.write_text(f"from engine import Value\n{NET}{loop}", encoding="utf-8")
    report = grade_file(path, SECONDS, network=True)
    assert report.passed, report
    (tmp_path / "engine.py").write_text(RIGHT.replace(".grad +=", ".grad ="), encoding="utf-8")
    report = grade_file(path, SECONDS, network=True)
    assert rules_of(report) == ["engine"]
    assert "without --network" in lead(report).fix


DEMO = """
from sklearn_that_is_not_there.datasets import make_moons
X, y = make_moons(100)
def loss(batch_size=None):
    return sum((1 - yi * model(xi)).relu() for xi, yi in zip(X, y))
"""


def test_a_notebook_with_a_network_is_graded_as_far_as_it_is_one(tmp_path):
    path = tmp_path / "lecture.ipynb"
    early = NET[NET.index("class Neuron") : NET.index("    def parameters")]
    cells = ["import random\n" + RIGHT, early, "n = Neuron(2)\nn([1.0, 2.0])"]
    path.write_text(notebook(*cells, NET[: NET.index("def mse")], DEMO), encoding="utf-8")
    report = grade_file(path, SECONDS, network=True)
    assert report.passed, report
    missing = {x.operation for x in report.checks if x.status == "not there yet"}
    assert missing == {"loss()", "train()"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("class Value: pass", "no such class"),
        (
            "from micrograd.nn import *\nfrom micrograd import Value",
            "own: there is nothing to grade",
        ),
        ("class MLP: pass", "no such class; classes there: MLP"),
    ],
)
@pytest.mark.slow
def test_a_file_without_a_network_says_what_is_there(source, found, tmp_path):
    path = tmp_path / "my_nn.py"
    path.write_text(source)
    report = grade_file(path, SECONDS, network=True)
    assert report.exit_code == 2
    assert found in lead(report).found


# ---- tasks


@pytest.mark.parametrize("done", thinned([8, 9, 10, 11, 12], 5))
def test_the_tasks_of_a_network_follow_those_of_the_engine(done, tmp_path):
    begun(tmp_path, 8)
    path = tmp_path / "my_nn.py"
    assert main(["start", "--network", str(path)]) == 0
    text, solved = path.read_text(encoding="utf-8"), NET.replace("def mse(", "def loss_fn(")
    heads = ["class Neuron", "class Layer", "class MLP", "# Task 12. The loss", ""]
    for i, (begin, after) in enumerate(pairwise(heads)):
        own = begin if begin in solved else "def loss_fn"
        until = "def loss_fn" if after.startswith("#") else after
        if 9 + i <= done:
            new = solved[solved.index(own) : solved.index(until) if until else None]
            text = text[: text.index(begin)] + new + (text[text.index(after) :] if after else "")
    path.write_text(text.replace("mse(", "loss_fn("), encoding="utf-8")
    report = grade_file(path, SECONDS, network=True)
    assert report.mistakes == (), report
    assert report.passed == (done == 12), report
    if done < 12:
        names = ["a neuron", "a layer", "a network", "a training loop"]
        assert (
            f"Tasks 1 to {done} done; next: task {done + 1}, {names[done - 8]}" in report.progress
        )


@pytest.mark.slow
def test_the_command_grades_networks(tmp_path, capsys):
    wrong = tmp_path / "my_nn.py"
    wrong.write_text(edited(("x)), self.b)", "x)))")), encoding="utf-8")
    assert main(["grade", "--network", str(wrong), "--hints", "1"]) == 1
    assert "A neuron adds its bias" in capsys.readouterr().out


@pytest.mark.slow
def test_pytest_runs_each_check_of_a_network(tmp_path):
    (tmp_path / "my_nn.py").write_text(edited(("x)), self.b)", "x)))")), encoding="utf-8")
    command = ("-m", "pytest", "-q", "--micrograd-network", "my_nn.py")
    out = python(*command, folder=tmp_path, code=1).stdout
    assert "FAILED my_nn.py::Neuron: bias" in out
    assert "Neuron: inputs" not in out
