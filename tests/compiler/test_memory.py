"""Programs of every kind of operation with so many examples that they need memory of all sizes.

Using memory after it was freed often goes unnoticed, because it keeps its content for a while.
`.ci/run` repeats this file with settings of glibc under which it is noticed: freed memory is
returned to the system at once if it is large, overwritten if it is small, and checked.
"""

import numpy as np
import pytest
from compiled import assert_close, mlp
from operations import TABLE

import micrograd
from micrograd import Value, take
from micrograd.optim import Adam

pytestmark = pytest.mark.usefixtures("executor")
SIZES = [1000, 5000, 1, 20_000, 5000, 3]  # one after another, in the same program


def many(function, parameters, few):
    """Compares batches in which three examples repeat with the batch of these three."""
    compiled = micrograd.compile(function)

    def computed(arguments):
        for p in parameters:
            p.grad = 0
        batch = compiled(*arguments)
        lanes = batch.lanes
        batch.backward()
        return lanes, np.array([p.grad for p in parameters])

    ones = [computed([a[i : i + 1] for a in few]) for i in range(3)]
    for n in SIZES:
        index = np.arange(n) % 3
        lanes, gradients = computed([a[index] for a in few])
        assert_close(lanes, np.array([lane for [lane], _ in ones])[index], scale=1)
        expected = sum(g * np.sum(index == i) for i, (_, g) in enumerate(ones)) / n
        assert_close(gradients, expected, scale=max(1, np.abs(expected).max()))


@pytest.mark.parametrize("arity", [1, 2])
def test_every_operation(arity):
    table = [row for row in TABLE if len(row.points[0]) == arity]
    points = np.array([[row.points[i % len(row.points)] for row in table] for i in range(3)])
    parameters = [Value(0.0) for _ in table]

    def function(point):
        results = [row.function(p + xs[0], *xs[1:])
                   for row, p, xs in zip(table, parameters, point, strict=True)]  # fmt: skip
        return sum(results)

    many(function, parameters, [points])


def test_products_tables_and_chains():
    model = mlp(2, 9, 5, 3, activation="tanh")
    table = [[Value(0.1 * i - 0.2 * j) for j in range(2)] for i in range(4)]

    def function(x, i):
        row = take(table, i)
        scores = model([x[0] * row[0], x[1] + row[1]])
        largest = scores[0].maximum(scores[1]).maximum(scores[2])
        weights = [(score - largest).exp() for score in scores]
        return take(weights, 2 - i) / sum(weights) + scores[0].minimum(x[0]).minimum(x[1])

    few = np.array([[0.5, -1.0], [1.5, 2.0], [-0.5, 0.25]]), np.array([2, 0, 1])
    many(function, [*model.parameters(), *(p for row in table for p in row)], few)


def test_steps_of_training():
    found = []
    for repeated in (1, 1000):
        model = mlp(2, 4, 1)
        loss = micrograd.compile(lambda x, y, model=model: (model(x) - y) ** 2)
        optimizer = Adam(model.parameters(), lr=0.1)
        X, y = np.array([[0.5, -1.0], [1.5, 2.0]] * repeated), np.array([1.0, -1.0] * repeated)
        micrograd.fit(loss, X, y, optimizer, steps=5)
        found.append([p.data for p in model.parameters()])
    assert_close(*found, scale=1)
