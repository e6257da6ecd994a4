"""Training data: points generated from a formula and a seed, or read from a file.

    >>> X, y = circles(n=2, noise=0.0, seed=0)
    >>> sorted(zip(X, y))
    [([0.4, 0.0], 1), ([1.0, 0.0], 0)]

X is a list of n points, each a list of floats; y is a list of n class indices 0, 1, ... (floats in
`linear_regression`). Class sizes differ by at most 1, and the order is random. `noise` is the
standard deviation of Gaussian noise, which is added to both coordinates of a point after its class
has been determined. The same arguments give the same points. Python's global random state is
neither used nor changed.
"""

from __future__ import annotations

import csv
import gzip
import math
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from micrograd.shapes import plain

__all__ = [
    "batches",
    "blobs",
    "circles",
    "digits",
    "discs",
    "linear_regression",
    "mnist",
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
    """Two interleaved half circles of radius 1: class 0 above, class 1 below.

    The shapes are the same as in scikit-learn's `make_moons`.

    >>> X, y = moons(100)
    >>> len(X), y.count(0), y.count(1)
    (100, 50, 50)
    """

    def moon(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        x1, x2 = math.cos(math.pi * along), math.sin(math.pi * along)
        return (1 - x1, 0.5 - x2) if label else (x1, x2)

    return _classes(moon, 2, n, noise, seed)


def circles(n: int = 100, noise: float = 0.1, seed: int = 0, factor: float = 0.4) -> Points:
    """Two concentric circles: class 0 with radius 1, class 1 with radius `factor`.

    >>> X, y = circles(100, noise=0.0)
    >>> {label: round(math.hypot(*x), 9) for x, label in sorted(zip(X, y))}
    {0: 1.0, 1: 0.4}
    """

    def circle(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        radius, angle = factor if label else 1.0, 2 * math.pi * along
        return radius * math.cos(angle), radius * math.sin(angle)

    return _classes(circle, 2, n, noise, seed, closed=True)


def discs(n: int = 100, noise: float = 0.0, seed: int = 0) -> Points:
    """Points in a square: class 1 inside a circle of half the square's area, class 0 outside.

    The square goes from -1 to 1 in both coordinates, and the circle has radius sqrt(2 / pi). The
    points of each class are drawn uniformly.

    >>> X, y = discs(100)
    >>> y.count(1), all((math.hypot(*x) < 0.7979) == label for x, label in zip(X, y))
    (50, True)
    """

    def draw(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        while True:
            x1, x2 = rng.uniform(-1, 1), rng.uniform(-1, 1)
            if (math.hypot(x1, x2) < math.sqrt(2 / math.pi)) == label:
                return x1, x2

    return _classes(draw, 2, n, noise, seed)


def spirals(
    n: int = 100, noise: float = 0.03, seed: int = 0, classes: int = 2, turns: float = 1.0
) -> Points:
    """Spiral arms that wind around each other, one for each class, from radius 0.1 out to 1.

    Each arm goes around the centre `turns` times.

    >>> X, y = spirals(4, noise=0.0)
    >>> sorted(round(math.hypot(*x), 9) for x in X)
    [0.1, 0.1, 1.0, 1.0]
    """

    def arm(label: int, along: float, rng: random.Random) -> tuple[float, float]:
        radius, angle = 0.1 + 0.9 * along, 2 * math.pi * (turns * along + label / classes)
        return radius * math.cos(angle), radius * math.sin(angle)

    return _classes(arm, classes, n, noise, seed)


def xor(n: int = 100, noise: float = 0.0, seed: int = 0) -> Points:
    """Points with coordinates from -1 to 1; class 1 where exactly one coordinate is negative.

    Without noise, points are at least 0.1 away from the axes, which leaves a gap between classes.

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
    """The yin-yang symbol with radius 1: classes 0 and 1 are its halves, class 2 is the two dots.

    Source: Kriener, Göltz, Petrovici, "The Yin-Yang dataset", 2022; there the radius is 0.5.

    >>> X, y = yin_yang(99)
    >>> y.count(0), y.count(1), y.count(2)
    (33, 33, 33)
    """

    def label_of(x1: float, x2: float) -> int:
        left, right = math.hypot(x1 + 0.5, x2), math.hypot(x1 - 0.5, x2)  # to the dots' centres
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
    """Round clusters, one for each class, with centres evenly spaced on a circle of radius 1.

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
    # point(label, along, rng) is a point of a class; on a curve, `along` is 0 at one end and 1 at
    # the other. A closed curve ends where it begins, so there `along` stays below 1.
    if classes < 2:
        raise ValueError(f"expected at least two classes, got classes={classes}")
    if n < classes:
        raise ValueError(f"expected at least one point for each of {classes} classes, got n={n}")
    rng = _generator(n, noise, seed)
    examples = []
    for label in range(classes):
        size = len(range(label, n, classes))  # sizes differ by at most 1
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
    """Points and targets y = w1 x1 + ... + wk xk + bias + noise, where x is standard normal.

    A point has one coordinate for each weight; the noise is added to the targets only.

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
    """The examples, split at random into `(X, y)` for training and `(X, y)` for validation.

    `validation` is the fraction of the examples in the second set, between 0 and 1. Each set has
    at least one example.

    Raises:
        ValueError: the sizes do not match, or the fraction is outside (0, 1).

    >>> (X, y), (X_validation, y_validation) = split(*moons(100))
    >>> len(X), len(y), len(X_validation), len(y_validation)
    (80, 80, 20, 20)
    """
    X, y = plain(X), plain(y)
    if len(X) != len(y) or len(X) < 2:
        raise ValueError(
            f"split expects at least two points, each with a label, got {len(X)} points and "
            f"{len(y)} labels"
        )
    if not 0 < validation < 1:
        raise ValueError(f"validation expects a fraction between 0 and 1, got {validation}")
    order = list(range(len(X)))
    random.Random(seed).shuffle(order)
    size = min(max(round(validation * len(X)), 1), len(X) - 1)

    def chosen(indices: list[int]) -> tuple[list[list[float]], list[Label]]:
        return [X[i] for i in indices], [y[i] for i in indices]

    return chosen(order[size:]), chosen(order[:size])


def batches(
    X: Any, y: Any, size: int, shuffle: bool = True, seed: int = 0
) -> Iterator[tuple[Any, Any]]:
    """The examples of one epoch in mini-batches of `size`; the last one may be smaller.

    Batches of arrays and tables are arrays; batches of other sequences are lists. The order depends
    only on the seed, so pass a different seed for each epoch:

        for epoch in range(10):
            for X_batch, y_batch in batches(X, y, size=20, seed=epoch): ...

    Args:
        X: the examples.
        y: a target for each example.
        size: number of examples in a mini-batch, at least 1.
        shuffle: whether to shuffle the examples.
        seed: the seed for shuffling.

    Raises:
        ValueError: X and y differ in length or are empty, or the size is below 1.

    >>> list(batches([[1], [2], [3]], [0, 1, 0], size=2, shuffle=False))
    [([[1], [2]], [0, 1]), ([[3]], [0])]
    """
    X, y = plain(X), plain(y)
    if len(X) != len(y) or not len(X):
        raise ValueError(
            f"batches expects a target for each example, got {len(X)} examples and {len(y)} targets"
        )
    if size < 1:
        raise ValueError(f"batches expects a size of at least 1, got {size}")
    order = list(range(len(X)))
    if shuffle:
        random.Random(seed).shuffle(order)
    starts = range(0, len(order), size)
    parts = (order[start : start + size] for start in starts)
    return ((_chosen(X, part), _chosen(y, part)) for part in parts)


def _chosen(examples: Any, indices: list[int]) -> Any:
    if hasattr(examples, "__array__"):
        return examples[indices]
    return [examples[i] for i in indices]


# ---- 4. Images


def digits() -> tuple[Any, Any]:
    """The 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn.

    Returns:
        Arrays: images of shape (1797, 64), pixels from 0 to 1; labels from 0 to 9, shape (1797,).

    Raises:
        ImportError: scikit-learn is not installed.

    >>> X, y = digits()
    >>> X.shape, y[:3].tolist()
    ((1797, 64), [0, 1, 2])
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError(
            "the digits come with scikit-learn, which is not installed: pip install scikit-learn"
        ) from None
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def mnist(path: str | PathLike[str]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The MNIST digits of 28 x 28 pixels: `(X, y)` for training and `(X, y)` for testing.

    Args:
        path: a folder with the four files in idx format (train-images-idx3-ubyte,
            train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; `.idx` is
            accepted instead of `-idx`, and names may end in .gz), or an .npz file with the arrays
            x_train, y_train, x_test and y_test.

    Returns:
        Arrays: images of shape (n, 784), pixels from 0 to 1; labels from 0 to 9, shape (n,).

    Raises:
        FileNotFoundError: one of the files is missing.
        ValueError: a file is not in the format that its name indicates.

    Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits"; the idx format is
    described there.
    """
    import numpy as np

    path = Path(path)
    parts = {}
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    if path.suffix == ".npz":
        with np.load(path) as archive:
            missing = {"x_train", "y_train", "x_test", "y_test"} - set(archive.files)
            if missing:
                raise ValueError(f"{path}: expected an array {min(missing)}, got {archive.files}")
            for part in ("train", "test"):
                parts[part] = archive[f"x_{part}"], archive[f"y_{part}"]
    else:
        for part, name in (("train", "train"), ("test", "t10k")):
            images, labels = f"{name}-images-idx3-ubyte", f"{name}-labels-idx1-ubyte"
            parts[part] = _idx(path, images), _idx(path, labels)
    for X, y in parts.values():
        if X.ndim != 3 or len(X) != len(y):
            raise ValueError(f"{path}: expected a label for each image, got {X.shape}, {y.shape}")
    (X, y), (X_test, y_test) = (
        (images.reshape(len(images), -1) / 255.0, labels.astype(int))
        for images, labels in parts.values()
    )
    return (X, y), (X_test, y_test)


def _idx(folder: Path, name: str) -> Any:
    # The file starts with two zero bytes, the type (8: unsigned bytes), the number of axes, and the
    # length of each axis as four bytes, most significant first.
    import numpy as np

    names = [n + end for n in (name, name.replace("-idx", ".idx")) for end in ("", ".gz")]
    found = next((folder / n for n in names if (folder / n).exists()), None)
    if found is None:
        raise FileNotFoundError(f"there is no {name} in {folder}, nor {', '.join(names[1:])}")
    opened = gzip.open if found.suffix == ".gz" else open
    with opened(found, "rb") as file:
        content = file.read()
    axes = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    shape = struct.unpack_from(f">{axes}i", content, 4) if len(content) >= 4 + 4 * axes else ()
    if not shape or len(content) != 4 + 4 * axes + math.prod(shape):
        raise ValueError(f"{found} is damaged, or not an idx file of bytes: download it again")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


# ---- 5. Files


def read_csv(
    path: str | PathLike[str], target: str | None = None
) -> tuple[list[list[float]], list[Any], list[str]]:
    r"""Points, class indices and class names from a file with one row x1,x2,...,label per point.

    The first row may be a header, in which no x is a number; blank lines are skipped. Labels may be
    numbers or text. If all are numbers, classes are in numerical order (1, 1.0 and 01 are the same
    class), otherwise in alphabetical order.

    With `target`, the labels are in the column of that name. If all of them are numbers, they are
    returned as they are, for regression or as class indices, with [] as the names.

    Args:
        path: a UTF-8 text file with commas between the fields and a decimal point, as in 1.5.
        target: a name in the header; by default, the labels are in the last column.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a row is not as described or has a number that is not finite (the message gives
            the line number), there are fewer than two classes, no column has the name `target`, or
            the file is not UTF-8 text.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "points.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("x1,x2,label\n0.5,1,red\n-2,0,blue\n")
    ...     read_csv(path)
    ([[0.5, 1.0], [-2.0, 0.0]], [1, 0], ['blue', 'red'])
    """
    rows = _rows(path)
    columns = rows[0][1] if rows else []
    if target is not None and target not in columns:
        raise ValueError(f"{path}: expected a column {target!r} in the header, got {columns}")
    place = len(columns) - 1 if target is None else columns.index(target)
    features = [i for i in range(len(columns)) if i != place] or [0, 1]
    if target is not None or (place > 0 and all(_number(columns[i]) is None for i in features)):
        rows = rows[1:]
    else:
        columns = [*(f"x{i + 1}" for i in features), "label"]
    X, labels = [], []
    for line, row in rows:
        where, got = f"{path}, line {line}", f"got {','.join(row)[:60]!r}"
        if len(row) != len(columns):
            expected = ",".join(columns)[:60]
            raise ValueError(f"{where}: expected {expected} separated by commas, {got}")
        x, label = [], row[place]
        for i in features:
            if (number := _number(row[i])) is None:
                raise ValueError(f"{where}: expected {columns[i]} to be a number like -1.5, {got}")
            x.append(number)
        if not label:
            raise ValueError(f"{where}: expected a label in column {columns[place]}, {got}")
        if not all(math.isfinite(number) for number in (*x, _number(label) or 0.0)):
            raise ValueError(f"{where}: expected finite numbers, {got}: leave the row out")
        X.append(x)
        labels.append(label)
    numbers = [_number(label) for label in labels]
    keys: list[Any] = labels if None in numbers else numbers
    if target is not None and X and None not in numbers:
        is_whole = all(key.is_integer() for key in keys)
        return X, [int(key) for key in keys] if is_whole else keys, []
    classes = sorted(set(keys))
    if len(classes) < 2:
        found = f"all {len(X)} labels are {labels[0]!r}" if X else "there are no rows"
        raise ValueError(f"{path}: expected at least two classes, but {found}")
    names = [key if isinstance(key, str) else repr(key).removesuffix(".0") for key in classes]
    return X, [classes.index(key) for key in keys], names


def _rows(path: str | PathLike[str]) -> list[tuple[int, list[str]]]:
    rows = []  # all rows that are not blank, each with the number of its last line
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
        raise ValueError(f"noise expects a standard deviation of at least 0, got {noise}")
    return random.Random(seed)
