"""Training data: points generated from a formula and a seed, or read from a file.

    >>> circles(n=2, noise=0.0, seed=0)
    ([[1.0, 0.0], [0.4, 0.0]], [0, 1])

X is a list of n points, each a list of floats; y is a list of n class indices 0, 1, ... (floats in
`linear_regression`). Class sizes differ by at most 1, and the order is random. `noise` is the
standard deviation of Gaussian noise, which is added to both coordinates. The same arguments give
the same points; the global random state is not used.
"""

from __future__ import annotations

import csv
import gzip
import math
import operator
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from micrograd.core.files import FilePath
from micrograd.core.shapes import Numbers, plain

Rows = list[list[float]]
Points = tuple[Rows, list[int]]
Arrays = tuple[Any, Any]  # X and y of NumPy
TURN = 2 * math.pi


# ---- 1. Points


def moons(n: int = 100, noise: float = 0.1, seed: int = 0) -> Points:
    """Two interleaved half circles of radius 1 as in scikit-learn: class 0 above, class 1 below."""

    def moon(k: int, t: float) -> list[float]:
        x1, x2 = _polar(1.0, math.pi * t)
        return [1 - x1, 0.5 - x2] if k else [x1, x2]

    return _classes(moon, 2, n, noise, seed)


def circles(n: int = 100, noise: float = 0.1, seed: int = 0, factor: float = 0.4) -> Points:
    """Two concentric circles: class 0 with radius 1, class 1 with radius `factor`."""
    radii = 1.0, factor
    return _classes(lambda k, t: _polar(radii[k], TURN * t), 2, n, noise, seed, closed=True)


def spirals(
    n: int = 100, noise: float = 0.03, seed: int = 0, classes: int = 2, turns: float = 1.0
) -> Points:
    """Spiral arms from radius 0.1 out to 1, one for each class, around the centre `turns` times."""

    def arm(k: int, t: float) -> list[float]:
        return _polar(0.1 + 0.9 * t, TURN * (turns * t + k / classes))

    return _classes(arm, classes, n, noise, seed)


def blobs(n: int = 100, noise: float = 0.2, seed: int = 0, classes: int = 3) -> Points:
    """Round clusters, one for each class, with centres evenly spaced on a circle of radius 1."""
    return _classes(lambda k, t: _polar(1.0, TURN * k / classes), classes, n, noise, seed)


def linear_regression(
    n: int = 100,
    weights: Sequence[float] = (2.0, -3.0),
    bias: float = 1.0,
    noise: float = 0.05,
    seed: int = 0,
) -> tuple[Rows, list[float]]:
    """Points and targets y = w1 x1 + ... + wk xk + bias + noise, where x is standard normal.

    A point has one coordinate for each weight; the noise is added to the targets only.

    >>> X, [y] = linear_regression(n=1, weights=[2.0], noise=0.0)
    >>> y == 2.0 * X[0][0] + 1.0
    True
    """
    rng = random.Random(seed)
    X = [[rng.gauss(0.0, 1.0) for _ in weights] for _ in range(n)]
    return X, [sum(map(operator.mul, weights, x)) + bias + rng.gauss(0.0, noise) for x in X]


def _polar(radius: float, angle: float) -> list[float]:
    return [radius * math.cos(angle), radius * math.sin(angle)]


def _classes(
    point: Any, classes: int, n: int, noise: float, seed: int, closed: bool = False
) -> Points:
    # point(k, t) is at the place t of the curve of class k, from 0 at one end to 1 at the other. A
    # closed curve ends where it begins, so there t stays below 1.
    if not 2 <= classes <= n:
        raise ValueError(f"expected 2 <= classes <= n, got classes={classes} and n={n}")
    rng = random.Random(seed)
    examples = []
    for label in range(classes):
        size = len(range(label, n, classes))  # sizes differ by at most 1
        for i in range(size):
            x = point(label, i / max(1, size if closed else size - 1))
            examples.append(([xi + rng.gauss(0.0, noise) for xi in x], label))
    rng.shuffle(examples)
    return [x for x, _ in examples], [label for _, label in examples]


# ---- 2. Mini-batches


def batches(
    X: Numbers, y: Numbers, size: int, shuffle: bool = True, seed: int = 0
) -> Iterator[tuple[Any, Any]]:
    """The examples of one epoch in mini-batches of `size`; the last one may be smaller.

    Batches of arrays and tables are arrays; batches of other sequences are lists. The order depends
    only on the seed, so pass a different one for each epoch, as in batches(X, y, 20, seed=epoch).

    >>> list(batches([[1], [2], [3]], [0, 1, 0], size=2, shuffle=False))
    [([[1], [2]], [0, 1]), ([[3]], [0])]
    """
    xs, ys = plain(X), plain(y)
    if len(xs) != len(ys) or not len(xs) or size < 1:
        got = f"got {len(xs)} examples, {len(ys)} targets and size={size}"
        raise ValueError(f"batches expects a target for each example, and a size >= 1, {got}")
    order = list(range(len(xs)))
    if shuffle:
        random.Random(seed).shuffle(order)
    parts = (order[start : start + size] for start in range(0, len(order), size))
    return ((_chosen(xs, part), _chosen(ys, part)) for part in parts)


def _chosen(X: Any, part: list[int]) -> Any:
    return X[part] if hasattr(X, "__array__") else [X[i] for i in part]


# ---- 3. Images


# Ten digits of 6 x 4 pixels, a row in each hexadecimal digit, from the top.
PATTERNS = "699996_262227_69124F_E1211E_99F111_F8E11E_68E996_F12244_696996_699716"


def drawn_digits(n: int = 200, noise: float = 0.15, seed: int = 0) -> Points:
    """Images of 8 x 8 pixels of the digits 0 to 9: not handwritten, but drawn from a pattern each.

    The pattern is at one of 15 places; the noise is added to each pixel, which then is cut to 0
    and 1. An image is a list of 64 numbers, row by row from the top.
    """
    rng = random.Random(seed)
    labels = [i % 10 for i in range(n)]
    rng.shuffle(labels)
    X = []
    for label in labels:
        down, right = rng.randrange(3), rng.randrange(5)
        pixels = [[0.0] * 8 for _ in range(8)]
        for row, digit in enumerate(PATTERNS[7 * label : 7 * label + 6], start=down):
            pixels[row][right : right + 4] = [float(bit) for bit in f"{int(digit, 16):04b}"]
        noisy = (p + rng.gauss(0.0, noise) for row in pixels for p in row)
        X.append([min(1.0, max(0.0, round(p, 2))) for p in noisy])
    return X, labels


def digits() -> Arrays:
    """The 1,797 handwritten digits of 8 x 8 pixels, from 0 to 1, that scikit-learn has."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError("the digits come with scikit-learn: pip install scikit-learn") from None

    X, y = load_digits(return_X_y=True)
    return X / 16, y


def mnist(folder: FilePath) -> tuple[Arrays, Arrays]:
    """The MNIST digits of 28 x 28 pixels: `(X, y)` for training and `(X, y)` for testing.

    `folder` has the four files train-images-idx3-ubyte, ..., t10k-labels-idx1-ubyte, which may end
    in .gz. Images become arrays of shape (n, 784), pixels from 0 to 1.

    Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits".
    """
    import numpy as np

    def array(pattern: str) -> Any:
        # A header of two zeros, the type (8: bytes), the number of axes, and their lengths.
        file = next(Path(folder).glob(f"{pattern}*"), None)
        if file is None:
            raise FileNotFoundError(f"there is no {pattern.replace('?', '-')} in {folder}")
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        shape = np.frombuffer(content, ">i4", count=content[3], offset=4)
        return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)

    def part(name: str) -> Arrays:
        X, y = array(f"{name}-images?idx3-ubyte"), array(f"{name}-labels?idx1-ubyte")
        return X.reshape(len(X), -1) / 255.0, y.astype(int)

    return part("train"), part("t10k")


# ---- 4. Files


def read_csv(path: FilePath) -> tuple[Rows, list[int], list[str]]:
    r"""Points, class indices and class names from a file with one row x1,x2,...,label per point.

    The first row may be a header, in which no x is a number. If all labels are numbers, classes are
    in numerical order (1, 1.0 and 01 are the same class), otherwise in alphabetical order. A row
    that does not fit is named in a ValueError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "points.csv")
    ...     _ = path.write_text("x1,x2,label\n0.5,1,red\n-2,0,blue\n")
    ...     read_csv(path)
    ([[0.5, 1.0], [-2.0, 0.0]], [1, 0], ['blue', 'red'])
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, skipinitialspace=True)
        rows = [(reader.line_num, [*map(str.strip, row)]) for row in reader if "".join(row).strip()]
    columns = rows[0][1] if rows else []
    if all(_number(x) is math.nan for x in columns[:-1]):
        rows = rows[1:]
    else:
        columns = [*(f"x{i}" for i in range(1, len(columns))), "label"]
    X, labels = [], []
    for line, row in rows:
        x = [*map(_number, row[:-1])]
        if len(row) != len(columns) or not x or not all(map(math.isfinite, x)) or not row[-1]:
            found = f"expected {','.join(columns)}, got {','.join(row)!r}"
            raise ValueError(f"{path}, line {line}: {found}; only {columns[-1]} may be text")
        X.append(x)
        labels.append(row[-1])
    numbers = [_number(label) for label in labels]
    keys: list[Any] = numbers if all(map(math.isfinite, numbers)) else labels
    classes = sorted(set(keys))
    if len(classes) < 2:
        raise ValueError(f"{path}: expected at least two classes, got {classes}")
    names = [str(key).removesuffix(".0" if keys is numbers else "") for key in classes]
    return X, [classes.index(key) for key in keys], names


def _number(text: str) -> float:
    # The object math.nan stands for what is not a number; float("nan") is another one.
    try:
        return float(text)
    except ValueError:
        return math.nan
