"""The source of a compiled function, its groups, and the picture of them."""

import random
import re

import numpy as np
import pytest
from compiled import function_of

import micrograd
from micrograd import Value, draw_dot
from micrograd.compiler.picture import REACH
from micrograd.draw.dot import FAR
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
    assert 'g0_2 [label="g0 (lanes)"' in dot.source
    assert {"g0_2 -> g0", "parameters_2 -> g0"} <= {*arrows(dot)}


def test_the_picture_is_the_same_each_time(loss):
    assert draw_dot(loss).source == draw_dot(loss).source


def test_an_unknown_direction_is_refused(loss):
    with pytest.raises(ValueError, match="rankdir"):
        draw_dot(loss, rankdir="XY")


def test_nothing_is_shown_before_the_first_call():
    compiled = micrograd.compile(lambda x: x * Value(2.0))
    for show in (
        lambda: compiled.source,
        lambda: compiled.groups,
        lambda: compiled.instructions,
        lambda: draw_dot(compiled),
    ):
        with pytest.raises(RuntimeError, match="call it once"):
            show()


def test_the_source_computes_what_the_function_does(loss):
    parameters = [p.data for p in next(iter(loss.programs.values())).parameters]
    rows = [(0.5, -1.0, 1.0), (2.0, 0.25, -1.0)]
    batch = loss([row[:2] for row in rows], [row[2] for row in rows])
    mean, _ = function_of(loss.source)(parameters, np.transpose(rows))
    assert mean == pytest.approx(batch.data, rel=1e-12)


def test_the_source_uses_the_names_of_the_user():
    rate = Value(0.5, label="rate")
    decay = micrograd.compile(lambda time: (-rate * time).exp())
    decay([1.0])
    assert "[rate] = parameters" in decay.source
    assert "[time] = inputs" in decay.source
    assert "rate_grad" in decay.source


def test_the_cache_can_be_seen_and_cleared():
    calls = []

    @micrograd.compile
    def total(x):
        calls.append(1)
        return sum(x) * Value(1.0)

    total(np.ones((3, 2)))
    total(np.ones((5, 2)))
    assert list(total.programs) == [((2,),)]
    n = len(calls)
    total(np.ones((5, 4)))
    assert list(total.programs) == [((2,),), ((4,),)]
    assert len(calls) == 2 * n
    total.clear()
    assert total.programs == {}


def chained(steps):
    w = Value(0.5)

    @micrograd.compile(executor="numpy")
    def chain(x):
        for _ in range(steps):
            x = (x * w).tanh()
        return x

    chain(np.ones(3))
    return chain


def test_names_replace_arrows_from_far_away():
    dot = draw_dot(chained(40))
    assert FAR in dot.source
    ends = [re.match(r"(\w+) -> (\w+)", line).groups() for line in arrows(dot)]
    lone = {start: end for start, end in ends if "_" in start}
    assert 50 < len(lone) < len(ends)
    for start, end in lone.items():
        assert start.startswith(f"{end}_")
        name = re.search(rf"\t{start} \[label=<<I>(g\d+|1 parameter|x)\b.*?</I>>", dot.source)[1]
        assert re.search(rf'label="{name}\b', dot.source)  # the card shows the name too
    drawn = [(start, end) for start, end in ends if start not in lone]
    column = {}  # one after the last card that an arrow comes from
    for start, end in drawn:
        column[end] = max(column.get(end, 0), column.setdefault(start, 0) + 1)
    assert sum(column[end] - column[start] for start, end in drawn) <= 2 * REACH
    assert FAR not in draw_dot(chained(5)).source


def test_too_many_groups_are_refused_at_once_with_advice():
    with pytest.raises(ValueError, match=r"at most 2000 groups, but .* has 2005: print its \.gr"):
        draw_dot(chained(401))


def test_a_long_chain_is_drawn():
    assert b"<svg" in draw_dot(chained(100)).pipe()
