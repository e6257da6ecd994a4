"""Traced numbers refuse to decide; a graph can be computed again."""

import os
import re
from itertools import product

import pytest
from hypothesis import given
from operations import TABLE
from random_graphs import POINT, SMOOTH, STEPS, build

from micrograd.core.tracing import Recording, TraceError
from micrograd.derivatives import recompute
from micrograd.engine import Value, no_grad


def test_the_users_line_is_found_in_a_folder_of_any_name():
    file = os.path.join(os.sep, "courses", "numpy", "lecture.py")
    code = compile("def ask(x):\n    return x > 0 or x\n", file, "exec")
    names = {}
    exec(code, names)
    with pytest.raises(TraceError, match=re.escape(f"{file}, line 2: ")):
        names["ask"](Recording().input(3.0))


def test_numbers_of_two_recordings_do_not_mix():
    with pytest.raises(ValueError, match="another recording"):
        Recording().input(1.0) + Recording().input(2.0)
    with pytest.raises(TypeError, match="unsupported operand"):
        Recording().input(1.0) + "text"


# ---- recompute


def data_and_gradients(root, leaves):
    for leaf in leaves:
        leaf.grad = 0
    root.backward()
    return root.data, [leaf.grad for leaf in leaves]


def assert_computed_again(function, before, now):
    """A graph of other numbers gives today's data and gradients after `recompute`."""
    leaves, fresh = [Value(x) for x in before], [Value(x) for x in now]
    root = function(*leaves)
    for leaf, x in zip(leaves, now, strict=True):
        leaf.data = x
    assert recompute(root) is root
    expected = data_and_gradients(function(*fresh), fresh)
    assert data_and_gradients(root, leaves) == expected, (function, before, now)


def test_every_operation_is_computed_again_with_its_closure():
    for row in TABLE:
        for before, now in product(row.points, repeat=2):
            assert_computed_again(row.function, before, now)


@given(STEPS, POINT, POINT)
def test_random_graphs_are_computed_again(steps, before, now):
    assert_computed_again(lambda *leaves: build(leaves, steps, SMOOTH), before, now)


def test_training_on_one_graph_is_training_on_new_ones():
    def built(w):
        return ((w * 2.0).tanh() - 0.5) ** 2

    once, anew = Value(3.0), Value(3.0)
    loss = built(once)
    for _ in range(20):
        recompute(loss).backward()
        built(anew).backward()
        for w in (once, anew):
            w.data -= 0.5 * w.grad
            w.grad = 0
        assert once.data == anew.data


def test_a_failure_on_the_way_changes_nothing():
    x = Value(1.0, label="x")
    root = (x + 1.0) / x
    inner = root._prev[0]
    x.data = 0.0
    with pytest.raises(ZeroDivisionError, match="x"):
        recompute(root)
    assert (inner.data, root.data) == (2.0, 2.0)


def test_what_cannot_be_computed_again_is_refused():
    x = Value(2.0)
    own = Value(4.0, (x,), "double")
    own._backward = lambda: None
    with pytest.raises(TypeError, match="cannot run 'double' again"):
        recompute(own + 1.0)
    root = x * x
    with no_grad(), pytest.raises(RuntimeError, match="no_grad"):
        recompute(root)


def test_recompute_refuses_a_graph_with_a_part_that_has_no_closures():
    a = Value(2.0)
    with no_grad():
        square = a * a
    out = square + a
    a.data = 5.0
    with pytest.raises(RuntimeError, match="build the graph"):
        recompute(out)
    assert out.data == 6.0
    fixed = (a * a).detach() + a  # a number that is meant to stay as it is
    a.data = 1.0
    assert recompute(fixed).data == 26.0
