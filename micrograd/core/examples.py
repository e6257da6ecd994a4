"""Examples as they come from a user, checked: inputs with a class each, or a number to predict.

At the end, what messages say about labels and numbers that a loss or a picture cannot take.
"""

import math
import numbers
from collections.abc import Sequence
from typing import Any

from micrograd.core.shapes import Numbers, flat, plain, shape_of

MOST_CLASSES = 8  # that a reader can tell apart in the plane
MOST_NAMES = 100  # that a table has room for


def examples(
    X: Numbers | None,
    y: Numbers | None,
    names: Sequence[object] | None = None,
    which: str = "",
    inputs: int = 2,
) -> tuple[list[list[float]], list[int], list[str]]:
    """Checked points, the index of the class of each, and a name for each class.

    X has n points with finite `inputs` each; y has n labels: 0 and 1, or -1 and 1, or 0, 1, ...,
    k - 1 for k classes, at most 8 in the plane. Messages call them `X{which}` and `y{which}`.

    >>> examples([[0, 0], [1, 2]], [-1, 1])
    ([[0.0, 0.0], [1.0, 2.0]], [0, 1], ['-1', '1'])
    """
    if X is None and y is None:
        return [], [], list(map(str, names or ()))
    shape, labels = shape_of(X), flat(y)
    most = MOST_CLASSES if inputs == 2 else MOST_NAMES
    if len(shape) != 2 or shape[1] != inputs or shape[0] == 0:
        fix = ": pass X.reshape(len(X), -1)" if len(shape) > 2 else ""
        raise ValueError(f"X{which} expects n points, shape (n, {inputs}), got shape {shape}{fix}")
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
        if 0 not in known and {1} < known <= set(range(most + 1)):
            fix = "pass y - 1, or names=[...] if class 0 has no point"
            raise ValueError(f"y{which} expects labels from 0, got {shown}: {fix}")
        k = max(2, int(max(known)) + 1) if known <= set(range(most)) else 2
        names = ["-1", "1"] if signs and -1 in known else range(k)
    called = list(map(str, names))
    if not 2 <= len(called) <= most:
        raise ValueError(f"names expects the names of 2 to {most} classes, got {len(called)}")
    if not (signs and len(called) == 2) and not known <= set(range(len(called))):
        wrong = min(known - set(range(len(called))), key=str)
        expected = f"labels 0 and 1, -1 and 1, or 0, 1, ..., k - 1 for k classes (at most {most})"
        fix = fix_of(wrong, "pass class indices", len(called))
        raise ValueError(f"y{which} expects {expected}, got {shown}: {fix}")
    return points, [int(k > 0 if signs else k) for k in labels], called


def regression(X: Numbers, y: Numbers | None) -> list[list[float]]:
    """The inputs of each example and the number to predict for it; all must be finite."""
    rows, targets = [flat(x) for x in plain(X)], flat(plain(y))
    if len(rows) != len(targets) or not rows:
        raise ValueError(f"y expects a number for each of {len(rows)} points, got {len(targets)}")
    found = [[float(c) for c in (*x, target)] for x, target in zip(rows, targets, strict=True)]
    if not all(map(math.isfinite, flat(found))):
        raise ValueError("regression expects finite numbers, got NaN or infinity: leave them out")
    return found


# ---- The fix in a message


def fix_of(label: object, otherwise: str, classes: float = math.inf) -> str:
    """The end of a message about a label: the line that mends the data, or the fix for a number.

    `classes` is the number of classes; labels that count from 1 exceed it by one.
    """
    if isinstance(label, str):
        return "write names = sorted(set(y)); y = [names.index(label) for label in y]"
    if shape := shape_of(label):
        return "for y of shape (n, 1), pass y.ravel()" if shape[-1] == 1 else otherwise
    if label != label:
        return without_nan("y")
    if isinstance(label, numbers.Real) and float(label) >= classes:
        return f"{otherwise}; if your labels count from 1, pass y - 1"
    return otherwise


def without_nan(name: str, axes: int = 1) -> str:
    """The line that leaves out the examples with NaN in X or y, for messages."""
    kept = f"np.isfinite({name})" + ".all(axis=1)" * (axes > 1)
    return f"leave these examples out: keep = {kept}; X, y = X[keep], y[keep]"


def check_no_nan(name: str, x: Any) -> None:
    """Raises a ValueError if a number in x is NaN: the loss and its gradients would be NaN, too."""
    if (x != x).any() if hasattr(x, "any") else any(number != number for number in flat(x)):
        raise ValueError(f"{name} has NaN: {without_nan(name, len(shape_of(x)))}")
