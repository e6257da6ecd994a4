"""Optimizers beside compiled functions: the same numbers one by one and all at once."""

import copy
import math
import random

import pytest

import micrograd
from micrograd.engine import Value
from micrograd.optim import SGD, Adam, AdamW, Optimizer

XS = [0.5, -1.0, 2.0]


class Nesterov(Optimizer):
    """The form that uses both the old and the new velocity."""

    elementwise = True
    calls = 0

    def _update(self, i, p, g):
        self.calls += 1
        v, before = self._state("v"), p.data
        old = v[i]
        v[i] = 0.9 * v[i] - self.lr * g
        p.data += 1.9 * v[i] - 0.9 * old
        self._state("moved")[i] = p.data - before
        g *= 0.0


class OneByOne(Nesterov):
    elementwise = False


class InPlace(Optimizer):
    elementwise = "in place"

    def _update(self, i, p, g):
        v = self._state("v")
        v[i] = 0.5 * v[i] + g
        p.data -= self.lr * v[i]


def trained(kind, compiled, steps=6, **arguments):
    """The optimizer after some steps, the first of them eager."""
    a, b, c = Value(0.5), Value(-1.5), Value(2.0)

    def loss(x):
        return (a * x).tanh() * c + b * b * x

    fast = micrograd.compile(loss, executor="numpy")
    optimizer = kind([c, a, b], lr=0.1, **arguments)  # not in the order of the array
    for step in range(steps):
        optimizer.zero_grad()
        if compiled and step:
            fast(XS).backward()
        else:
            (sum(map(loss, XS)) / len(XS)).backward()
        optimizer.step()
    return optimizer


def numbers_of(optimizer):
    return [(p.data, p.grad) for p in optimizer.parameters]


def assert_same(one, other):
    for x, y in zip(numbers_of(one), numbers_of(other), strict=True):
        assert x == pytest.approx(y, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("kind", [Nesterov, InPlace])
def test_a_declared_rule_moves_all_parameters_in_one_update(kind):
    eager, compiled = trained(kind, False), trained(kind, True)
    assert_same(eager, compiled)
    assert_same(compiled, trained(type("Again", (kind,), {}), True))  # inherits the rule
    if kind is Nesterov:
        assert (eager.calls, compiled.calls) == (6 * 3, 3 + 5)


def test_a_rule_may_use_old_numbers_after_it_has_changed_them():
    one_by_one, at_once = trained(OneByOne, True), trained(Nesterov, True)
    assert (one_by_one.calls, at_once.calls) == (6 * 3, 3 + 5)
    assert_same(one_by_one, at_once)
    moved = [optimizer._parameters._lists()["moved"] for optimizer in (one_by_one, at_once)]
    assert moved[0] == pytest.approx(moved[1], rel=1e-9)
    assert all(moved[0])


def test_an_undeclared_rule_is_correct_and_warns_that_it_is_slow():
    class Sign(SGD):  # replaces the rule of SGD, so the declaration of SGD does not hold
        def _update(self, i, p, g):
            if g:
                p.data -= math.copysign(self.lr * (i + 1), g) * random.random()

    random.seed(3)
    eager = trained(Sign, False)
    random.seed(3)
    with pytest.warns(
        RuntimeWarning, match="Sign updates the 3 parameters .* Sign.elementwise = True"
    ):
        compiled = trained(Sign, True)
    assert_same(eager, compiled)
    random.seed(3)
    assert_same(eager, trained(type("Declared", (Sign,), {"elementwise": False}), True))


@pytest.mark.parametrize("base", [SGD, Adam, AdamW])
def test_a_declaration_does_not_hold_for_a_subclass_with_another_rule(base):
    class Decayed(base):
        def _decayed(self, p, g):
            return g + 0.1 * math.tanh(p.data)

    class Mixed(Decayed, base):
        elementwise = False

    with pytest.warns(RuntimeWarning, match="Decayed updates the 3 parameters"):
        compiled = trained(Decayed, True)
    assert_same(trained(Mixed, True), compiled)
    assert_same(trained(Mixed, False), compiled)


def test_a_wrong_declaration_is_an_error_with_a_fix():
    class Branching(Optimizer):
        elementwise = True

        def _update(self, i, p, g):
            p.data -= self.lr if g > 0 else -self.lr

    with pytest.raises(ValueError, match="truth value") as caught:
        trained(Branching, True)
    assert "np.where, or set elementwise = False" in caught.value.__notes__[0]

    class Own(Optimizer):
        elementwise = True

        def _update(self, i, p, g):
            velocity = self.__dict__.setdefault("velocity", [0.0] * 3)
            velocity[i] += g

    with pytest.raises(TypeError, match="indices must be integers"):
        trained(Own, True)


def test_numpy_warns_where_floats_raise():
    class Normed(Optimizer):
        elementwise = True

        def _update(self, i, p, g):
            p.data -= self.lr * g / abs(0.0 * g)

    with pytest.raises(ZeroDivisionError):
        trained(Normed, False)
    p = Value(1.0)
    micrograd.compile(lambda x: p * x, executor="numpy")([2.0]).backward()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        Normed([p], lr=0.1).step()


def test_a_copy_continues_on_its_own():
    optimizer = trained(Nesterov, True, steps=3)
    other = copy.deepcopy(optimizer)
    for each in (optimizer, other):
        for p in each.parameters:
            p.grad = 0.25
        each.step()
    assert_same(optimizer, other)
    assert (optimizer.calls, other.calls) == (
        3 + 2 + 1,
        3 + 2 + 3,
    )  # the parameters of a copy share no storage


def test_a_gradient_whose_square_overflows_is_accepted():
    optimizer = trained(Nesterov, True, steps=2)
    optimizer.parameters[0].grad = 1e200
    optimizer.step()
    optimizer.parameters[0].grad = math.inf
    with pytest.raises(ValueError, match="gradient of parameter 0 is inf, so no parameter was"):
        optimizer.step()
