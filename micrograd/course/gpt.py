"""A step of a small GPT on one name, with any engine: plain Python, no packages.

The engine needs + and * also beside numbers, `**` with a number, exp, log, relu and backward. One
head of attention and one perceptron; each adds to x. See `demos/microgpt.py` for the real one.
"""

from typing import Any

Vector = list[Any]  # of Values
SIZE, RATE = 4, 0.1


def gpt_step(Value: type, name: str) -> tuple[float, float, list[float]]:
    """The loss on a name before a step and after it, and the gradient of each parameter.

    Args:
        Value: a class of an engine.
        name: lower-case letters; the end of the name is a token, too.
    """
    letters = sorted(set(name))
    tokens = [0] + [letters.index(letter) + 1 for letter in name] + [0]
    count = len(letters) + 1
    model = {
        part: [[Value(start(part, i, j)) for j in range(SIZE)] for i in range(rows)]
        for part, rows in (
            ("token", count), ("place", len(tokens)), ("query", SIZE), ("key", SIZE),
            ("value", SIZE), ("hidden", SIZE), ("back", SIZE), ("output", count),
        )
    }  # fmt: skip
    parameters = [p for matrix in model.values() for row in matrix for p in row]
    before = loss_of(model, tokens)
    before.backward()
    gradients = [float(p.grad) for p in parameters]
    for p in parameters:
        p.data -= RATE * p.grad
    return float(before.data), float(loss_of(model, tokens).data), gradients


def start(part: str, i: int, j: int) -> float:
    """A number between -0.5 and 0.5 for each place in a matrix, the same in every run."""
    return (sum(map(ord, part)) * 31 + i * 17 + j * 29) % 101 / 101 - 0.5


def loss_of(model: dict[str, list[Vector]], tokens: list[int]) -> Any:
    """The mean of -log(probability of the token that follows) over all positions."""
    memory: list[tuple[Vector, Vector]] = []
    losses: Vector = []
    for place, token in enumerate(tokens[:-1]):
        x = added(model["token"][token], model["place"][place])
        query, key, value = (times(model[part], x) for part in ("query", "key", "value"))
        memory.append((key, value))
        weights = softmax([dot(query, k) * SIZE**-0.5 for k, _ in memory])
        mixed = [dot(weights, [v[i] for _, v in memory]) for i in range(SIZE)]
        x = added(x, mixed)
        hidden = [h.relu() for h in times(model["hidden"], x)]
        x = added(x, times(model["back"], hidden))
        losses.append(softmax(times(model["output"], x))[tokens[place + 1]].log() * -1)
    return total(losses) * (1 / len(losses))


def total(xs: Vector) -> Any:
    """The sum of Values."""
    result = xs[0]
    for x in xs[1:]:
        result = result + x
    return result


def dot(xs: Vector, ys: Vector) -> Any:
    """The sum of products."""
    return total([x * y for x, y in zip(xs, ys, strict=True)])


def times(matrix: list[Vector], x: Vector) -> Vector:
    """The product of a matrix and a vector."""
    return [dot(row, x) for row in matrix]


def added(xs: Vector, ys: Vector) -> Vector:
    """The sum of two vectors."""
    return [x + y for x, y in zip(xs, ys, strict=True)]


def softmax(xs: Vector) -> Vector:
    """Positive numbers that add up to 1."""
    powers = [x.exp() for x in xs]
    return [power * total(powers) ** -1 for power in powers]
