"""Recording a function: what it finds, what it refuses, and what it leaves unchanged."""

import gc
import inspect
import math
import random

import numpy as np
import pytest
from compiled import assert_agrees, mlp, rows

import micrograd
from micrograd import Value, compile, no_grad, values, where
from micrograd.core.tracing import TraceError
from micrograd.nn import MLP, Module

# ---- what is recorded


def test_a_function_is_recorded_in_one_run_even_if_it_creates_leaves():
    calls, w = [], Value(3.0)

    def function(x):
        calls.append(1)
        return Value(2.0) * x * w

    assert micrograd.compile(function)([1.0, 2.0]).lanes.tolist() == [6.0, 12.0]
    assert len(calls) == 1


def test_parameters_are_the_leaves_from_before_that_the_result_needs():
    random.seed(0)
    model, scale, unused = MLP(2, [3, 1]), Value(2.0), Value(5.0)

    def function(x):
        made_inside = Value(0.5)
        _ = unused * x[0]
        return model(x) * scale * made_inside + 3.0 + Value(x[0])

    assert_agrees(function, [*model.parameters(), scale, unused], rows(3, 2))
    assert unused.grad == 0


def test_results_from_before_the_call_are_refused():
    w = Value(2.0)
    before = w.exp()
    with pytest.raises(ValueError, match=r"a result of 'exp' that was computed before.*detach"):
        micrograd.compile(lambda x: before * x)([1.0])


# ---- what a function does to Values that it did not create


class Remembering(Module):
    def __init__(self):
        self.w = Value(0.5)

    def __call__(self, x):
        self.out = (self.w * x).tanh()
        return self.out * self.w


def test_a_model_may_keep_its_last_result():
    model = Remembering()
    compiled = assert_agrees(model, [model.w], [1.0, 2.0])
    model(1.0)
    compiled([3.0]).backward()
    assert_agrees(model, [model.w], [1.0, 2.0], compiled=compiled)


def test_parameters_are_restored_if_the_function_fails():
    w, v = Value(2.0), Value(3.0)
    w.grad = 5.0

    def fails(x):
        (w * v * x).backward()
        raise KeyError("midway")

    with pytest.raises(KeyError, match="midway"):
        micrograd.compile(fails)([1.0])
    assert (w.data, w.grad, v.data, v.grad) == (2.0, 5.0, 3.0, 0)


def test_a_function_that_calls_backward_leaves_the_gradients_unchanged():
    w, v = Value(2.0), Value(3.0)
    w.grad = 0.25

    def function(x):
        if isinstance(x, list):
            (v * w * x[0]).backward()
            return v * w * x[0]
        (w * x).backward()
        return w * x

    compiled = micrograd.compile(function)
    for xs, expected in (([1.0], 2.0), ([[1.0]], 6.0)):
        batch = compiled(xs)
        assert (batch.data, w.data, v.data, w.grad, v.grad) == (expected, 2.0, 3.0, 0.25, 0)


def test_a_whole_step_inside_is_refused_and_no_weight_is_lost():
    model = mlp(2, 3, 1)
    numbers = [p.data for p in model.parameters()]

    def function(x, y):
        loss = (model(x) - y) ** 2
        loss.backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad
        return loss

    for kept in (False, True):
        if kept:  # storage is shared
            micrograd.compile(lambda x: model(x))(rows(2, 2))
        with pytest.raises(ValueError, match="compile the loss alone"):
            micrograd.compile(function)(rows(2, 2), [1.0, 2.0])
        assert [p.data for p in model.parameters()] == numbers
        assert all(type(p.grad) in (int, float) for p in model.parameters())


def test_a_function_that_sets_a_parameter_or_keeps_new_values_is_refused():
    w = Value(2.0)

    def sets(x):
        w.data = 5.0
        return w * x

    with pytest.raises(ValueError, match="changes the data of a Value"):
        micrograd.compile(sets)([1.0, 3.0])
    assert w.data == 2.0
    kept = []

    def keeps(x):
        kept.append(Value(1.0))
        return w * x + sum(kept)

    with pytest.raises(ValueError, match="creates and keeps new Values"):
        micrograd.compile(keeps)([1.0])


# ---- what is refused


def _if(x):
    return x if x > 0 else -x


def _while(x):
    while x < 10:
        x = x * 2
    return x


MISUSES = {
    "if": (_if, 1, r"bool\(\).*where\(condition, a, b\)"),
    "while": (_while, 1, r"bool\(\).*where\(condition, a, b\)"),
    "and": (lambda x: (x > 0) and (x < 1), 0, "bool.*where"),
    "not": (lambda x: not x, 0, "bool.*where"),
    "max": (lambda x: max(x, 0.0), 0, r"bool.*\.maximum\(\)"),
    "min of Values": (lambda x: min(Value(x), Value(0.0)), 0, r"bool.*\.minimum\(\)"),
    "sorted": (lambda x: sorted([x, 1.0])[0], 0, "bool.*sorting"),
    "float": (lambda x: float(x), 0, r"float\(\).*constant.*methods of Value"),
    "int": (lambda x: int(x), 0, r"int\(\).*constant"),
    "round": (lambda x: round(x), 0, "rounding"),
    "math.exp": (lambda x: math.exp(x), 0, r"float\(\).*\.exp\(\) instead of math\.exp"),
    "math.exp of data": (lambda x: math.exp(Value(x).data), 0, r"\.exp\(\) instead of math\.exp"),
    "item": (lambda x: Value(x).item() * 2, 0, r"float\(\)"),
    "format of a Value": (lambda x: Value(x) if f"{Value(x):.2f}" else 0, 0, r"float\(\)"),
    "index": (lambda x: [1.0, 2.0][x], 0, r"index.*take\(table, index\)"),
    "range": (lambda x: sum(range(x)), 0, "index"),
    "in": (lambda x: x in (0.0, 1.0), 0, r"bool\(\).*where"),
    "rest": (lambda x: x % 2, 0, "%.*pass the result as an argument"),
    "whole part": (lambda x: Value(x // 2), 0, "//.*pass the result as an argument"),
    "both": (lambda x: where(x & 1, x, 0), 0, r"\(a < b\) & \(b < c\)"),
    "NumPy's maximum": (lambda x: np.maximum(x, 0.0), 0, "bool.*maximum"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_branching_on_a_traced_number_is_refused_with_file_line_and_fix(misuse):
    function, offset, message = MISUSES[misuse]
    line = function.__code__.co_firstlineno + offset
    compiled = micrograd.compile(function)
    with pytest.raises(TraceError, match=message) as caught:
        compiled([1.0, 2.0])
    assert f"at {__file__}, line {line}: " in str(caught.value)
    name = function.__name__
    [note] = caught.value.__notes__
    assert note.startswith(f"(while compiling {name} for examples of one number; the first axis")
    assert compiled.programs == {}


def test_branching_on_a_parameter_is_refused():
    w = Value(1.0)
    with pytest.raises(TraceError, match=rf"bool.*test_record\.py, line {line_here() + 1}: "):
        micrograd.compile(lambda x: w * x if w > 0 else w)([1.0])
    assert (w.data, w.grad) == (1.0, 0)


def line_here():
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_as_before_after_a_program_is_built(is_enabled):
    failures = [OSError("no such file")]

    def function(x):
        if failures:
            raise failures.pop()
        return Value(1.0) * x

    before = gc.isenabled()
    compiled = micrograd.compile(function)
    try:
        (gc.enable if is_enabled else gc.disable)()
        with pytest.raises(OSError, match="no such file"):
            compiled([1.0])
        assert gc.isenabled() == is_enabled
        compiled([1.0])
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_a_recorded_number_that_is_kept_says_what_it_is():
    model = Remembering()
    compiled = micrograd.compile(model, executor="numpy")
    compiled([1.0]).backward()
    gradient = model.w.grad
    uses = [
        *(lambda: model.out.item(), lambda: f"{model.out:.3f}", lambda: math.exp(model.out.data)),
        *(lambda: model.out.backward(), lambda: (model.out + model.w).backward()),
        *(lambda: model.out > 0, lambda: model.out.data > 0, lambda: model.out.relu()),
    ]
    for use in uses:
        with pytest.raises(TraceError, match="recorded while a function was compiled"):
            use()
        assert model.w.grad == gradient
    assert repr(model.out.data) == "a number recorded by a compiled function"
    model(1.0).backward()  # a call of the original computes it
    assert model.out.item() == pytest.approx(math.tanh(0.5))


def test_an_update_in_place_in_a_compiled_function_is_refused():
    w = Value(2.0)

    def moved(x):
        p = w
        p -= 1.0
        return p * x

    with no_grad(), pytest.raises(ValueError, match="by -=: write p = p - "):
        micrograd.compile(moved)([1.0])
    assert w.data == 2.0


def test_the_largest_of_many_needs_few_groups():
    x = values(np.arange(1000.0))
    f = compile(lambda: (x - x.max()).exp().sum().log())
    f()
    assert len(f.groups) < 100  # one comparison after another would be 4,000
