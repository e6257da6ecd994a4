import sys

import pytest
from own_classes import Recorded
from pictures import names

import micrograd
from micrograd import MLP, Value, calls


def square(x):
    return x * x


def shown(root, level=0):
    """The names of the boxes and cards when so many levels of calls are open."""
    return names(root, level=level, names={})


def test_nodes_are_shown_in_the_calls_that_made_them():
    def length(x, y):
        return (square(x) + square(y)).sqrt()

    result = calls(length, Value(3.0), y=Value(4.0))
    assert result.data == 5.0
    assert shown(result) == ["x₁", "square", "x₂", "square", "+", "sqrt"]


def test_a_block_of_code_can_be_watched():
    with micrograd.calls():
        y = square(Value(3.0)) + 1.0
    assert shown(y) == ["x", "square", "1", "+"]
    assert "square" not in shown(square(Value(1.0)) + 1.0)  # after the block, nothing is noted


def test_calls_of_attributes_have_the_attributes_name():
    class Model:
        def __init__(self):
            self.hidden, self.output = MLP(2, [2]), MLP(2, [1])

        def __call__(self, x):
            return self.output(self.hidden(x))

    model = Model()
    assert {"hidden", "output"} <= {*shown(calls(model, [1.0, 2.0]))}


def test_comprehensions_and_methods_of_the_value_class_are_no_calls():
    class Mine(Value):
        def cube(self):
            return square(self) * self

    def total(xs):
        return sum(square(x) for x in xs) + next(x.cube() for x in xs)

    y = calls(total, [Mine(1.0), Mine(2.0)])
    found = {name for level in range(3) for name in shown(y, level)}
    assert "square" in found
    assert not {"cube", "total", "<genexpr>", "genexpr"} & found


def test_every_node_of_another_engine_is_noted():
    y = calls(lambda: square(square(Recorded(3.0)) * Recorded(2.0)))
    assert y.data == 324.0
    assert shown(y).count("square") == 2


def test_generators_are_watched():
    def squares(xs):
        for x in xs:
            yield square(x)

    def total(x):
        return sum(squares([x, x]))

    y = calls(total, Value(2.0))
    assert {"square 1", "square 2"} <= {*shown(y, 1)}


def test_another_profiler_is_an_error_before_the_program_runs():
    ran = []
    sys.setprofile(lambda *event: None)
    try:
        with pytest.raises(RuntimeError, match="already set: stop it"):
            calls(ran.append, 1)
    finally:
        sys.setprofile(None)
    assert not ran
    with calls(), pytest.raises(RuntimeError):
        calls(ran.append, 1)


def test_the_profiler_is_removed_whatever_happens():
    with pytest.raises(ZeroDivisionError):
        calls(lambda: 1 / 0)
    assert sys.getprofile() is None
    with pytest.raises(TypeError, match="expects a function"):
        calls(Value(1.0))
