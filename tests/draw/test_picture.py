"""The picture of a compiled function: its groups, and what each of them reads."""

import random
import re

import numpy as np
import pytest

import micrograd
from micrograd import Value, draw_dot
from micrograd.nn import MLP


@pytest.fixture
def loss():
    random.seed(0)
    model = MLP(2, [3, 1])

    @micrograd.compile(executor="numpy")
    def loss(x, y):
        return (1 - y * model(x)).relu() + 0.1 * sum(p * p for p in model.parameters())

    loss(np.ones((4, 2)), np.ones(4))
    return loss


def arrows(dot):
    return [line.strip() for line in dot.source.splitlines() if "->" in line]


def test_draw_dot_draws_the_groups_of_a_compiled_function(loss):
    dot = draw_dot(loss, rankdir="TB")
    assert all(repr(group) in dot.source for group in loss.groups)
    assert "matrix product (3 x 3) (3 x lanes)" in dot.source
    assert "13 parameters" in dot.source
    assert "rankdir=TB" in dot.source
    assert b"<svg" in dot.pipe()


def test_every_group_has_arrows_from_the_cards_that_it_reads(loss):
    targets = {line.split(" -> ")[1] for line in arrows(draw_dot(loss))}
    assert targets == {f"g{i}" for i in range(len(loss.groups))}
    sources = {line.split(" -> ")[0] for line in arrows(draw_dot(loss))}
    assert {"x", "y", "parameters"} <= sources


def test_an_argument_may_have_the_name_of_a_group():
    w = Value(2.0)
    compiled = micrograd.compile(lambda g0, parameters: (w * g0).tanh() * parameters)
    compiled([1.0], [2.0])
    dot = draw_dot(compiled)
    cards = re.findall(r'^\t(\w+) \[label="(.*)', dot.source, re.MULTILINE)
    assert len({key for key, _ in cards}) == len(cards)
    key = {label.partition('"')[0]: key for key, label in cards}
    assert {f"{key['g0 (lanes)']} -> g0", f"{key['1 parameter']} -> g0"} <= {*arrows(dot)}
    assert any(arrow.startswith(f"{key['parameters (lanes)']} -> g") for arrow in arrows(dot))


def test_an_unknown_direction_is_refused(loss):
    with pytest.raises(ValueError, match="rankdir"):
        draw_dot(loss, rankdir="XY")


def chained(steps):
    w = Value(0.5)

    @micrograd.compile(executor="numpy")
    def chain(x):
        for _ in range(steps):
            x = (x * w).tanh()
        return x

    chain(np.ones(3))
    return chain


def test_too_many_groups_are_refused_at_once_with_advice():
    with pytest.raises(ValueError, match=r"at most 150 groups, but .* has 246: print its \.gr"):
        draw_dot(chained(41))
