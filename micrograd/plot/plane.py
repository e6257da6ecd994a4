"""Labelled points in a plane, and a grid over the rectangle around them.

>>> points, labels, names = examples([[0.0, 0.0], [2.0, 1.0]], [0, 1])
>>> plane = Plane(points, resolution=5)
>>> plane.grid.shape
(15, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from micrograd.core.shapes import fix_of, without_nan
from micrograd.plot.style import MARKERS

__all__ = ["Plane", "examples"]

Array = np.ndarray[Any, np.dtype[Any]]


def examples(
    X: Any, y: Any, names: Sequence[str] | None = None, which: str = ""
) -> tuple[Array, Array, list[str]]:
    """Checked points of shape (n, 2), class indices of shape (n,), and a name for each class.

    Args:
        X: n points with two coordinates each.
        y: n labels: 0 and 1, or -1 and 1, or 0, 1, ..., k - 1.
        names: names of the classes; by default the labels.
        which: ending of the names X and y in messages, such as "_validation".

    Raises:
        ValueError: the shapes or labels are not as described, a coordinate is not finite, or there
            are more than 8 classes.

    >>> points, labels, names = examples([[0, 0], [1, 2]], [-1, 1])
    >>> labels.tolist(), names
    ([0, 1], ['-1', '1'])
    """
    points, labels = np.asarray(X, dtype=float), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(f"X{which} expects n points, shape (n, 2), got shape {points.shape}")
    if labels.shape != points.shape[:1]:
        raise ValueError(
            f"y{which} expects {len(points)} labels, one for each point, got shape "
            f"{labels.shape}: {fix_of(labels, 'pass as many labels as points')}"
        )
    if not np.isfinite(points).all():
        raise ValueError(
            f"X{which} expects finite coordinates, got NaN or infinity: {without_nan('X', 2)}"
        )
    known = set(labels.tolist())
    shown = sorted(known, key=str)[:5]
    signs = known <= {-1, 1}
    if names is None:
        if known > {1} and 0 not in known and known <= set(range(len(MARKERS) + 1)):
            raise ValueError(f"y{which} expects labels from 0, got {shown}: pass y - {min(known)}, "
                             "or names=[...] if class 0 has no point")  # fmt: skip
        k = max(2, int(max(known)) + 1) if known <= set(range(len(MARKERS))) else 2
        names = ["-1", "1"] if signs and -1 in known else [str(label) for label in range(k)]
    if not 2 <= len(names) <= len(MARKERS):
        raise ValueError(
            f"names expects the names of 2 to {len(MARKERS)} classes, got "
            f"{len(names)}: {list(names)[:9]!r}"
        )
    if not (signs and len(names) == 2) and not known <= set(range(len(names))):
        wrong = min(known - set(range(len(names))), key=str)
        raise ValueError(
            f"y{which} expects labels 0 and 1, or -1 and 1, or 0, 1, ..., k - 1 for k classes "
            f"(at most {len(MARKERS)}), got {shown}: "
            f"{fix_of(wrong, 'pass class indices', len(names))}"
        )
    return points, (labels > 0 if signs else labels).astype(int), list(names)


class Plane:
    """The rectangle around some points, and an evenly spaced grid over it.

    Args:
        X: points, shape (n, 2).
        resolution: number of grid points along the longer axis, at least 2.

    Attributes:
        low, high: lower left and upper right corners of the rectangle, including a margin.
        equal: whether both axes use the same unit of length; False if one is more than 4 times as
            long as the other.
        axis1, axis2: coordinates of the grid's columns and rows.
        shape: number of columns and number of rows of the grid.
        grid: the grid points row by row, shape (columns * rows, 2).

    >>> plane = Plane([[0.0, 0.0], [2.0, 1.0]], resolution=5)
    >>> plane.low.tolist(), plane.high.tolist(), plane.shape
    ([-0.2, -0.2], [2.2, 1.2], [5, 3])
    """

    def __init__(self, X: Any, resolution: int) -> None:
        if resolution < 2:
            raise ValueError(f"resolution expects at least 2 points, got {resolution}")
        points = np.asarray(X, dtype=float)
        low, high = points.min(axis=0), points.max(axis=0)
        margin = 0.1 * max(high - low)
        margins = np.maximum(np.minimum(margin, 0.25 * (high - low)), 0)
        margins = np.where(margins > 0, margins, margin or 1.0)
        self.low, self.high = low - margins, high + margins
        span = self.high - self.low
        self.equal = bool(max(span) <= 4 * min(span))
        shares = span / max(span) if self.equal else np.ones(2)
        counts = np.maximum(2, np.rint(resolution * shares)).astype(int)
        self.axis1, self.axis2 = (
            np.linspace(self.low[i], self.high[i], counts[i]) for i in range(2)
        )
        self.shape = [len(self.axis1), len(self.axis2)]
        self.grid = np.stack(np.meshgrid(self.axis1, self.axis2), axis=-1).reshape(-1, 2)

    def extent(self, factor: int) -> tuple[float, float, float, float]:
        """Left, right, bottom and top edges of an image with `factor` pixels for each grid point.

        The centres of the first and last pixels are on the edges of the rectangle.

        >>> Plane([[0.0, 0.0], [10.0, 10.0]], resolution=13).extent(1)
        (-1.5, 11.5, -1.5, 11.5)
        """
        half = (self.high - self.low) / (2 * (factor * np.array(self.shape) - 1))
        (left, bottom), (right, top) = (self.low - half).tolist(), (self.high + half).tolist()
        return left, right, bottom, top
