"""What `watch` works with, what it leaves as it is, and that right trainings are left in peace."""

import gc
import weakref

import pytest
from loops import LECTURE, LOSS, RESET, RIGHT, STEP, SUM, UPDATE, edited, run_of
from sampling import thinned

from micrograd import MLP, Value, plot, watch
from micrograd.__main__ import main
from micrograd.core.pause import watchers


@pytest.mark.parametrize("name", thinned(RIGHT, 6))
def test_a_right_training_is_left_in_peace(name, tmp_path, capsys):
    run = run_of(edited(RIGHT[name]), tmp_path / "loop.py")
    losses = [-loss if name == "a maximum" else loss for loss in run.history.losses]
    assert len(losses) > 29
    assert min(losses[-9:]) < losses[0]
    assert not capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_with_other_random_numbers_too(name, tmp_path, capsys):
    run_of(edited(RIGHT[name], seed=100), tmp_path / "loop.py")
    assert not capsys.readouterr().out


def test_a_watched_loop_computes_the_same_and_keeps_no_graph():
    def trained(loop):
        w, losses, gone = Value(1.0), [], []
        for _ in loop(range(9), [w]):
            loss = (w - 3) ** 2
            w.grad = 0
            loss.backward()
            w.data -= 0.1 * w.grad
            losses.append(loss.data)
            gone.append(weakref.ref(loss))
        del loss
        return losses, [x() for x in gone]

    gc.disable()
    try:
        plain = trained(lambda items, parameters: items)
        assert trained(lambda *given: watch(*given, bar=False)) == plain
        assert plain[1] == [None] * 9
    finally:
        gc.enable()
    assert not watchers


def test_an_overflow_in_the_first_step_names_the_inputs_far_from_1(capsys):
    def trained(w):
        for _ in watch(range(9), w, bar=False):
            (w[0] * 1.0 + w[1] * 2000.0).exp().backward()

    with pytest.raises(OverflowError):
        trained([Value(0.5), Value(0.5)])
    assert "the inputs in column [1] go from 2e+03" in capsys.readouterr().out


def test_a_numpy_number_is_not_taken_for_a_table(tmp_path):
    one = (f"loss = {SUM}", f"x, t = xs[step % 4], ys[step % 4]\n    loss = {LOSS}")
    run = run_of(edited([("before = 0", "rate = np.float64(0.05)"), one]), tmp_path / "loop.py")
    assert len(run.history.losses) == 60


class Number:
    """Another engine."""

    def __init__(self, data, prev=()):
        self.data, self.grad, self.prev = data, 0.0, prev

    def __mul__(self, other):
        return Number(self.data * other.data, (self, other))

    def backward(self):
        a, b = self.prev
        a.grad, b.grad = a.grad + b.data, b.grad + a.data


@pytest.mark.parametrize("resets", [True, False])
def test_another_engine_is_watched_by_its_numbers(resets):
    w, before = Number(3.0), Number.backward
    for _ in (run := watch(range(9), [w], bar=False)):
        w.grad = w.grad * (not resets)
        (w * w).backward()
        w.data -= 0.1 * w.grad
    assert [*run.findings] == ([] if resets else ["accumulated"])
    assert Number.backward is before


def test_the_bar_shows_the_loss_and_the_accuracy(capsys):
    w = Value(1.0)
    model = type("Line", (), {"parameters": lambda self: [w], "__call__": lambda self, x: w * x})()
    for _ in (run := watch(range(5), model, [-1.0, 2.0], [-1, 1])):
        w.grad = 0
        (w * 2 - 3).backward()
        w.data -= 0.1 * w.grad
    shown = capsys.readouterr().err
    assert "5/5" in shown
    assert f"loss {run.history.losses[-1]:.4g}, 100% right" in shown


@pytest.mark.parametrize(
    ("edits", "code", "said"),
    [
        ([], 0, "60 steps, loss 3.141 to 0.0"),
        ([(RESET, "")], 1, "added to those of the step before (layers[2]"),
        ([(UPDATE, STEP), ("lr=0.05", "lr=0.0")], 1, "because the learning rate is 0"),
        ([("    loss.backward()\n", "")], 0, "No step was seen"),
    ],
)
def test_the_command_line_watches_a_script_as_it_is(edits, code, said, tmp_path, capsys):
    script = LECTURE.replace("SEED", "1337").replace(
        "watch(range(60), model, bar=False)", "range(60)"
    )
    for old, new in edits:
        assert old in script
        script = script.replace(old, new)
    (tmp_path / "train.py").write_text(script)
    assert main(["why", "learn", str(tmp_path / "train.py")]) == code
    assert said in capsys.readouterr().out


def test_what_is_no_parameter_is_an_error():
    with pytest.raises(TypeError, match="watch expects parameters with data and grad, got 3"):
        watch(range(3), [3])
    with pytest.raises(TypeError, match="one number each, got list as the data of parameter 0"):
        watch(range(3), [Number([1.0])])


def test_health_shows_saturated_units_and_the_size_of_steps():
    model = MLP(2, [4, 1], activation="tanh")
    for p in model.layers[0].parameters():
        p.data *= 100.0
    run = watch(range(4), model.parameters(), bar=False)
    for _ in run:
        loss = sum((model(x) - 1.0) ** 2 for x in ([1.0, -0.5], [0.5, 1.0], [-1.0, 0.25]))
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= 1e-3 * p.grad
    outputs, _, steps = plot.health(run).axes
    assert [x.get_text() for x in outputs.get_legend().get_texts()] == ["layers[0]"]
    lefts, _, _ = outputs.patches[0].get_data()
    assert lefts[0] + lefts[-1] > 0.5  # at -1 and 1
    assert [line.get_xdata()[-1] for line in steps.lines[:-1]] == [4, 4]
    with pytest.raises(ValueError, match="a run with a step"):
        plot.health(watch(range(1), model))
