"""Examples as they come from a user, checked: points of classes in the plane, or of a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

from micrograd.core.shapes import Numbers, fix_of, flat, plain, shape_of, without_nan

MOST_CLASSES = 8  # that a reader can tell apart


def examples(
    X: Numbers | None, y: Numbers | None, names: Sequence[object] | None = None, which: str = ""
) -> tuple[list[list[float]], list[int], list[str]]:
    """Checked points, the index of the class of each, and a name for each class.

    X has n points with two finite coordinates each; y has n labels: 0 and 1, or -1 and 1, or 0, 1,
    ..., k - 1 for k <= 8 classes. Messages call them `X{which}` and `y{which}`.

    >>> examples([[0, 0], [1, 2]], [-1, 1])
    ([[0.0, 0.0], [1.0, 2.0]], [0, 1], ['-1', '1'])
    """
    if X is None and y is None:
        return [], [], list(map(str, names or ()))
    shape, labels = shape_of(X), flat(y)
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        raise ValueError(f"X{which} expects n points, shape (n, 2), got shape {shape}")
    if shape_of(y) != shape[:1]:
        got = f"got shape {shape_of(y)}: {fix_of(y, 'pass as many labels as points')}"
        raise ValueError(f"y{which} expects {shape[0]} labels, one for each point, {got}")
    points = [[float(c) for c in flat(x)] for x in plain(X)]
    if not all(map(math.isfinite, flat(points))):
        fix = without_nan("X", 2)
        raise ValueError(f"X{which} expects finite coordinates, got NaN or infinity: {fix}")
    known = set(labels)
    signs, shown = known <= {-1, 1}, sorted(known, key=str)[:5]
    if names is None:
        usual = set(range(MOST_CLASSES))
        if known > {1} and 0 not in known and known <= usual | {MOST_CLASSES}:
            fix = f"pass y - {min(known)}, or names=[...] if class 0 has no point"
            raise ValueError(f"y{which} expects labels from 0, got {shown}: {fix}")
        k = max(2, int(max(known)) + 1) if known <= usual else 2
        names = ["-1", "1"] if signs and -1 in known else range(k)
    called = list(map(str, names))
    if not 2 <= len(called) <= MOST_CLASSES:
        most = f"names expects the names of 2 to {MOST_CLASSES} classes"
        raise ValueError(f"{most}, got {len(called)}")
    if not (signs and len(called) == 2) and not known <= set(range(len(called))):
        wrong = min(known - set(range(len(called))), key=str)
        expected = (
            f"labels 0 and 1, -1 and 1, or 0, 1, ..., k - 1 for k classes (at most {MOST_CLASSES})"
        )
        fix = fix_of(wrong, "pass class indices", len(called))
        raise ValueError(f"y{which} expects {expected}, got {shown}: {fix}")
    return points, [int(k > 0 if signs else k) for k in labels], called


def columns(X: Numbers | None) -> int:
    """1 for the inputs of a curve, which are numbers or rows of one; 2 for points in the plane."""
    shape = shape_of(X)
    return 1 if len(shape) == 1 or shape[1:] == (1,) else 2


def curve(X: Numbers, y: Numbers | None) -> list[tuple[float, float]]:
    """Each input with the number to predict for it; all must be finite.

    >>> curve([[0.0], [1.0]], [0.5, 2])
    [(0.0, 0.5), (1.0, 2.0)]
    """
    inputs, targets = ([float(x) for x in flat(plain(z))] for z in (X, y))
    if len(inputs) != len(targets) or not inputs:
        raise ValueError(f"y expects a number for each of {len(inputs)} points, got {len(targets)}")
    if not all(map(math.isfinite, inputs + targets)):
        raise ValueError("a curve expects finite numbers, got NaN or infinity: leave them out")
    return list(zip(inputs, targets, strict=True))
