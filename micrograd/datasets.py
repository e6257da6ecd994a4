"""Chapter 7: points to learn from, made by a formula and a seed or read from a file.

    >>> X, y = circles(n=2, noise=0.0, seed=0)
    >>> sorted(zip(X, y))
    [([0.4, 0.0], 1), ([1.0, 0.0], 0)]

X is a list of n points, each a list of floats; y is a list of n class indices 0, 1, ... (of floats
in `linear_regression`). Classes are as equal in size as n allows, and the order is random. `noise`
is the standard deviation of Gaussian noise, added to both coordinates of a point after its class is
settled. The same arguments give the same points, and nothing here touches `random.seed()`.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeVar

__all__ = [
    "blobs",
    "circles",
    "linear_regression",
    "moons",
    "read_csv",
    "spirals",
    "split",
    "xor",
    "yin_yang",
]

Points = tuple[list[list[float]], list[int]]
Label = TypeVar("Label")


# ---- 1. Classes in the plane


def moons(n: int = 100, noise: float = 0.1, seed: int = 0) -> Points:
    """Two half circles of radius 1 that reach into each other: class 0 above, class 1 below.

    The shapes are those of scikit-learn's `make_moons`.

    >>> X, y = moons(100)
    >>> len(X), y.count(0), y.count(1)
    (100, 50, 50)
    """

    def moon(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        x1, x2 = math.cos(math.pi * along), math.sin(math.pi * along)
        return (1 - x1, 0.5 - x2) if label else (x1, x2)

    return _classes(moon, 2, n, noise, seed)


def circles(n: int = 100, noise: float = 0.1, seed: int = 0, factor: float = 0.4) -> Points:
    """A circle of radius 1, class 0, around one of radius `factor`, class 1.

    >>> X, y = circles(100, noise=0.0)
    >>> {label: round(math.hypot(*x), 9) for x, label in sorted(zip(X, y))}
    {0: 1.0, 1: 0.4}
    """

    def circle(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        radius, angle = factor if label else 1.0, 2 * math.pi * along
        return radius * math.cos(angle), radius * math.sin(angle)

    return _classes(circle, 2, n, noise, seed, closed=True)


def spirals(
    n: int = 100, noise: float = 0.03, seed: int = 0, classes: int = 2, turns: float = 1.0
) -> Points:
    """Arms that wind around each other, one for each class, from radius 0.1 out to 1.

    Each goes `turns` times around the centre.

    >>> X, y = spirals(4, noise=0.0)
    >>> sorted(round(math.hypot(*x), 9) for x in X)
    [0.1, 0.1, 1.0, 1.0]
    """

    def arm(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        radius, angle = 0.1 + 0.9 * along, 2 * math.pi * (turns * along + label / classes)
        return radius * math.cos(angle), radius * math.sin(angle)

    return _classes(arm, classes, n, noise, seed)


def xor(n: int = 100, noise: float = 0.0, seed: int = 0) -> Points:
    """Points of the square of side 2 around 0; class 1 where one coordinate alone is negative.

    Points keep a distance of 0.1 from the axes, so that there is a gap to draw the boundary in.

    >>> X, y = xor(100)
    >>> all((x1 * x2 < 0) == label for (x1, x2), label in zip(X, y))
    True
    """

    def quadrant(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        x1, x2 = rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)
        side = rng.choice((-1, 1))
        return side * x1, -side * x2 if label else side * x2

    return _classes(quadrant, 2, n, noise, seed)


def yin_yang(n: int = 100, noise: float = 0.0, seed: int = 0) -> Points:
    """The symbol of radius 1: classes 0 and 1 are its halves, class 2 the dots in them.

    Source: Kriener, Göltz, Petrovici, "The Yin-Yang dataset", 2022; there the radius is 0.5.

    >>> X, y = yin_yang(99)
    >>> y.count(0), y.count(1), y.count(2)
    (33, 33, 33)
    """

    def label_of(x1: float, x2: float) -> int:
        left, right = math.hypot(x1 + 0.5, x2), math.hypot(x1 - 0.5, x2)  # from the dots' centres
        if left < 0.2 or right < 0.2:
            return 2
        return int(left <= 0.5 or (x2 > 0 and right > 0.5))

    def draw(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        while True:
            x1, x2 = rng.uniform(-1, 1), rng.uniform(-1, 1)
            if math.hypot(x1, x2) <= 1 and label_of(x1, x2) == label:
                return x1, x2

    return _classes(draw, 3, n, noise, seed)


def blobs(n: int = 100, noise: float = 0.2, seed: int = 0, classes: int = 3) -> Points:
    """Round clouds, one for each class, whose centres stand evenly on a circle of radius 1.

    >>> X, y = blobs(5, noise=0.0, classes=5)
    >>> [1.0, 0.0] in X, sorted(y)
    (True, [0, 1, 2, 3, 4])
    """

    def centre(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        angle = 2 * math.pi * label / classes
        return math.cos(angle), math.sin(angle)

    return _classes(centre, classes, n, noise, seed)


def _classes(
    point: Callable[[int, float, random.Random], tuple[float, float]],
    classes: int,
    n: int,
    noise: float,
    seed: int,
    closed: bool = False,
) -> Points:
    # point(label, along, rng) is the one at `along`, in [0, 1], on the shape of the class; the end
    # of a closed shape is its beginning, so that no point goes there
    if classes < 2:
        raise ValueError(f"expected at least two classes, got classes={classes}")
    if n < classes:
        raise ValueError(f"expected a point for each of {classes} classes at least, got n={n}")
    rng = _generator(n, noise, seed)
    examples = []
    for label in range(classes):
        size = len(range(label, n, classes))  # a class more or less makes up for the remainder
        for i in range(size):
            x1, x2 = point(label, i / max(1, size if closed else size - 1), rng)
            examples.append(([x1 + rng.gauss(0.0, noise), x2 + rng.gauss(0.0, noise)], label))
    rng.shuffle(examples)
    return [x for x, _ in examples], [label for _, label in examples]


# ---- 2. Regression


def linear_regression(
    n: int = 100,
    weights: Sequence[float] = (2.0, -3.0),
    bias: float = 1.0,
    noise: float = 0.05,
    seed: int = 0,
) -> tuple[list[list[float]], list[float]]:
    """Points and targets y = w1 x1 + ... + wk xk + bias + noise; each x normal, mean 0, spread 1.

    A point has as many coordinates as there are weights; the noise is that of the targets.

    >>> X, y = linear_regression(5, noise=0.0)
    >>> all(target == 2 * x1 - 3 * x2 + 1 for (x1, x2), target in zip(X, y))
    True
    """
    if not weights:
        raise ValueError("linear_regression expects at least one weight, got none")
    rng = _generator(n, noise, seed)
    X = [[rng.gauss(0.0, 1.0) for _ in weights] for _ in range(n)]
    y = [
        sum(w * xi for w, xi in zip(weights, x, strict=True)) + bias + rng.gauss(0.0, noise)
        for x in X
    ]
    return X, y


# ---- 3. Training and validation


def split(
    X: Sequence[list[float]], y: Sequence[Label], validation: float = 0.2, seed: int = 0
) -> tuple[tuple[list[list[float]], list[Label]], tuple[list[list[float]], list[Label]]]:
    """The examples dealt out at random to two sets: `(X, y)` to train on, `(X, y)` to validate.

    The second set gets a share of `validation`, in (0, 1), and each at least one example.

    Raises:
        ValueError: sizes that do not fit, or a share outside (0, 1).

    >>> (X, y), (X_validation, y_validation) = split(*moons(100))
    >>> len(X), len(y), len(X_validation), len(y_validation)
    (80, 80, 20, 20)
    """
    if len(X) != len(y) or len(X) < 2:
        raise ValueError(f"split expects as many points as labels, at least 2: {len(X)}, {len(y)}")
    if not 0 < validation < 1:
        raise ValueError(f"validation is a share between 0 and 1, got {validation}")
    order = list(range(len(X)))
    random.Random(seed).shuffle(order)
    size = min(max(round(validation * len(X)), 1), len(X) - 1)

    def chosen(indices: list[int]) -> tuple[list[list[float]], list[Label]]:
        return [X[i] for i in indices], [y[i] for i in indices]

    return chosen(order[size:]), chosen(order[:size])


# ---- 4. Files


def read_csv(path: str | PathLike[str]) -> tuple[list[list[float]], list[int], list[str]]:
    r"""Points, class indices and class names of a file with a row x1,x2,label for each point.

    The first row may be a header, that is one in which neither x1 nor x2 is a number; blank lines
    are skipped. Labels may be numbers or text: classes are in the order of the numbers if all
    labels are numbers (1, 1.0 and 01 are one class), in alphabetical order if not.

    Args:
        path: a text file in UTF-8, separated by commas, with decimal points.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a row that is not as above, a number that is not finite (both with the number of
            the line), fewer than two classes, or a file that is not such text.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "points.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("x1,x2,label\n0.5,1,red\n-2,0,blue\n")
    ...     read_csv(path)
    ([[0.5, 1.0], [-2.0, 0.0]], [1, 0], ['blue', 'red'])
    """
    X, labels = [], []
    for i, (line, row) in enumerate(_rows(path)):
        place, got = f"{path}, line {line}", f"got {','.join(row)[:60]!r}"
        if len(row) != 3:
            raise ValueError(f"{place}: expected x1,x2,label separated by commas, {got}")
        x1, x2, label = _number(row[0]), _number(row[1]), row[2]
        if i == 0 and x1 is None and x2 is None:
            continue
        if x1 is None or x2 is None:
            raise ValueError(f"{place}: expected x1 and x2 to be numbers like -1.5, {got}")
        if not label:
            raise ValueError(f"{place}: expected a label after x1 and x2, {got}")
        if not all(math.isfinite(x) for x in (x1, x2, _number(label) or 0.0)):
            raise ValueError(f"{place}: expected finite numbers, {got}: leave the row out")
        X.append([x1, x2])
        labels.append(label)
    numbers = [_number(label) for label in labels]
    keys: list[Any] = labels if None in numbers else numbers
    classes = sorted(set(keys))
    if len(classes) < 2:
        found = f"all {len(X)} labels are {labels[0]!r}" if X else "there are no rows"
        raise ValueError(f"{path}: expected at least two classes, but {found}")
    names = [key if isinstance(key, str) else repr(key).removesuffix(".0") for key in classes]
    return X, [classes.index(key) for key in keys], names


def _rows(path: str | PathLike[str]) -> list[tuple[int, list[str]]]:
    rows = []  # those that are not blank, each with the number of its last line
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            try:
                for row in reader:
                    fields = [field.strip() for field in row]
                    if fields not in ([], [""]):
                        rows.append((reader.line_num, fields))
            except csv.Error as error:
                raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: save it as CSV in UTF-8") from None
    return rows


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _generator(n: int, noise: float, seed: int) -> random.Random:
    if n < 1:
        raise ValueError(f"expected at least one point, got n={n}")
    if not 0 <= noise < math.inf:
        raise ValueError(f"noise is a standard deviation of at least 0, got {noise}")
    return random.Random(seed)
