import gc
import sys
import threading
import weakref

import pytest

import micrograd
from micrograd import MLP, Value, calls, topological_order
from micrograd.draw.calls import path_of


def square(x):
    return x * x


def names(node):
    return [call.name for call in path_of(node)]


def test_a_node_knows_the_calls_that_made_it():
    def length(x, y):
        return (square(x) + square(y)).sqrt()

    result = calls(length, Value(3.0), y=Value(4.0))
    assert result.data == 5.0
    assert names(result) == ["length"]
    assert [names(v) for v in result._prev[0]._prev] == [["length", "square"]] * 2


def test_a_block_of_code_can_be_watched():
    with micrograd.calls():
        y = square(Value(3.0)) + 1.0
    assert names(y) == []
    assert names(y._prev[0]) == ["square"]
    assert names(square(Value(1.0))) == []  # after the block, nothing is noted


def test_calls_of_attributes_have_the_attributes_name():
    class Model:
        def __init__(self):
            self.hidden, self.output = MLP(2, [2]), MLP(2, [1])

        def __call__(self, x):
            return self.output(self.hidden(x))

    model = Model()
    y = calls(model, [1.0, 2.0])
    assert names(y)[:2] == ["Model", "output"]
    assert ["Model", "hidden"] in [names(v)[:2] for v in topological_order(y)]


def test_comprehensions_and_methods_of_the_value_class_are_no_calls():
    class Mine(Value):
        def cube(self):
            return square(self) * self

    def total(xs):
        return sum(square(x) for x in xs) + next(x.cube() for x in xs)

    y = calls(total, [Mine(1.0), Mine(2.0)])
    found = {tuple(names(v)) for v in topological_order(y) if v._prev}
    assert found == {("total",), ("total", "square")}


def test_every_node_of_another_engine_is_noted():
    class Other:
        __slots__ = ("_children", "data", "grad")  # no room for notes

        def __init__(self, data, children=()):
            self.data, self.grad, self._children = data, 0, children

        def __mul__(self, other):
            return Other(self.data * other.data, (self, other))

    y = calls(square, Other(3.0))
    assert y.data == 9.0
    assert names(y) == ["square"]


def test_generators_and_threads_are_watched():
    def squares(xs):
        for x in xs:
            yield square(x)

    def in_threads(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(square(x)))
        thread.start()
        thread.join()
        return found[0] + sum(squares([x, x]))

    y = calls(in_threads, Value(2.0))
    assert y.data == 12.0
    assert "square" in names(y._prev[0])
    of_squares = [v for v in topological_order(y) if v._op == "*"]
    assert sum(names(v)[-2:] == ["squares", "square"] for v in of_squares) == 2


def test_it_works_under_coverage():
    coverage = pytest.importorskip("coverage")
    plain = names(calls(square, Value(3.0)))
    measured = coverage.Coverage(data_file=None)
    measured.start()
    try:
        y = calls(square, Value(3.0))
    finally:
        measured.stop()
    assert names(y) == plain == ["square"]
    assert __file__ in measured.get_data().measured_files()


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
    assert threading.getprofile() is None
    with pytest.raises(TypeError, match="expects a function"):
        calls(Value(1.0))


def test_the_graph_is_freed_with_its_last_reference():
    class Model:
        def __call__(self, x):
            self.last = square(x)
            return self.last

    gc.disable()
    try:
        model = Model()
        seen = weakref.ref(calls(model, Value(1.0)))
        assert seen() is not None
        del model
        assert seen() is None
    finally:
        gc.enable()
