"""Training steps with NumPy: what interrupts or refuses a step leaves the step before."""

import numpy as np
import pytest
from compiled import rows

from micrograd import Value, compile, fit, take
from micrograd.compiler.train_numpy import Steps
from micrograd.optim import SGD


def prepared():
    """A parameter, its loss, its optimizer, and its training after one step."""
    w = Value(3.0)
    loss = compile(lambda x: (w * x) ** 2, executor="numpy")
    optimizer = SGD([w], lr=0.25, momentum=0.5)
    assert loss.step(optimizer, [1.0]) == 9.0
    [training] = loss._cache.trainings.values()
    assert isinstance(training, Steps)
    return w, loss, optimizer, training


class Interrupted(np.ndarray):
    """An array where Ctrl-C is pressed when numbers are stored in it."""

    def __setitem__(self, *_):
        self.training._outside[1] = self.base
        raise KeyboardInterrupt


def test_ctrl_c_between_data_and_states_leaves_no_half_update():
    w, loss, optimizer, training = prepared()
    velocity = training._outside[1]
    training._outside[1] = velocity.view(Interrupted)
    training._outside[1].training = training
    with pytest.raises(KeyboardInterrupt):
        loss.step(optimizer, [1.0])
    assert (w.data, velocity.tolist(), optimizer.steps) == (0.0, [6.0], 2)
    assert loss.step(optimizer, [1.0]) == 0.0
    assert (w.data, velocity.tolist(), optimizer.steps) == (-0.75, [3.0], 3)


def test_steps_before_a_refused_one_count():
    w, _, optimizer, training = prepared()
    arrays, order, means = [np.array([1.0, np.nan])], np.array([[0], [0], [1], [0]]), []
    with pytest.raises(ValueError, match="gradient of parameter 0 is nan"):
        training(arrays, 1, 4, order, [], means)
    assert (w.data, optimizer.steps, means) == (-0.75, 3, [2.25, 0.0])


def test_a_batch_of_several_tiles():
    X = rows(50_000, 2)
    w = [Value(0.5), Value(-1.0)]
    loss = compile(lambda x: (w[0] * x[0] + w[1] * x[1] - 1) ** 2, executor="numpy")
    [mean] = fit(loss, X, None, SGD(w, lr=0.0), steps=1)
    assert len(X) > loss.program(((2,),)).executor_for(with_gradients=True).tile
    assert mean == pytest.approx(((X @ [0.5, -1.0] - 1) ** 2).mean(), rel=1e-12)


@pytest.mark.parametrize("wrong", [-1, 2])
def test_an_invalid_index_in_the_data_is_found_before_the_first_step(wrong):
    table = [Value(1.0), Value(2.0)]
    loss = compile(lambda i: take(table, i) ** 2, executor="numpy")
    optimizer = SGD(table, lr=0.1)
    with pytest.raises(IndexError, match=f"0 <= index < 2, got {wrong}"):
        fit(loss, np.array([0, 1, 0, wrong]), None, optimizer, steps=9, batch_size=1)
    assert optimizer.steps == 0
