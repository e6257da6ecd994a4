"""Chapter 12a: what a model answers over a plane of points, as plain arrays of numbers.

    >>> plane = Plane([[0.0, 0.0], [2.0, 1.0]], resolution=5)
    >>> plane.grid.shape
    (15, 2)
    >>> scores(lambda point: point[0] - point[1], plane.grid).shape
    (15, 1)

A model is asked about a thousand points for each picture, and once for all of them where that can
be done: each Value then holds a `Lanes`, a number that is an array with a place for every point.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from micrograd.engine import Value, no_grad
from micrograd.nn import MLP, Activation, Layer, Linear, Sequential

__all__ = [
    "CLASSES",
    "Lanes",
    "Plane",
    "Stack",
    "class_scores",
    "examples",
    "floats",
    "scores",
]

Array = np.ndarray[Any, np.dtype[Any]]

CLASSES = (  # fill, edge, marker, shade of the region: safe for colour-blind readers up to here
    ("#0072B2", "white", "o", "#8ABADC"),
    ("#F0A30A", "#222222", "^", "#FBDA9F"),
    ("#009E73", "white", "s", "#8FD3BE"),
    ("#C4569A", "white", "D", "#E8BBD5"),
    ("#7F3F00", "white", "v", "#CDB49C"),
    ("#8DD3F5", "#222222", "P", "#D6EFFB"),
    ("#3B3B3B", "white", "X", "#B9B9B9"),
    ("#F4EC5A", "#222222", "*", "#FAF6BE"),
)


# ---- 1. Points and labels


def examples(X: Any, y: Any, names: Sequence[str] | None = None) -> tuple[Array, Array, list[str]]:
    """Points of shape (n, 2), class indices of shape (n,), and a name for each class, checked.

    Args:
        X: n points of two coordinates.
        y: n labels: 0 and 1, or -1 and 1, or 0, 1, ..., k - 1.
        names: of the classes; their indices if not given.

    Raises:
        ValueError: shapes, labels or numbers other than these, or more than 8 classes.

    >>> points, labels, names = examples([[0, 0], [1, 2]], [-1, 1])
    >>> labels.tolist(), names
    ([0, 1], ['0', '1'])
    """
    points, labels = np.asarray(X, dtype=float), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(f"X expects n points of two coordinates, got shape {points.shape}")
    if labels.shape != points.shape[:1]:
        raise ValueError(f"y expects {len(points)} labels, got shape {labels.shape}")
    if not np.isfinite(points).all():
        raise ValueError("X expects finite coordinates, got NaN or infinity")
    known = set(labels.tolist())
    shown = sorted(known, key=str)[:5]
    signs = known <= {-1, 1}
    if names is None:
        k = max(2, int(max(known)) + 1) if known <= set(range(len(CLASSES))) else 2
        names = [str(label) for label in range(k)]
    if not 2 <= len(names) <= len(CLASSES):
        raise ValueError(
            f"names expects the names of two classes, or of up to {len(CLASSES)}, got "
            f"{len(names)}: {list(names)[:9]!r}"
        )
    if not (signs and len(names) == 2) and not known <= set(range(len(names))):
        raise ValueError(
            f"y expects labels 0 and 1, or -1 and 1, got {shown}; of k classes, at most "
            f"{len(CLASSES)}, the labels are 0, 1, ..., k - 1"
        )
    return points, (labels > 0 if signs else labels).astype(int), list(names)


class Plane:
    """The rectangle around some points, and a grid of points evenly spread over it.

    Args:
        X: points, shape (n, 2).
        resolution: number of grid points along the longer axis, at least 2.

    Attributes:
        low, high: corners of the rectangle, a margin away from the points.
        equal: units of length may be equal on both axes: none spans over 4 times the other.
        axis1, axis2: coordinates of the grid's columns and rows.
        shape: number of the grid's columns and of its rows.
        grid: the grid's points row by row, shape (columns * rows, 2).

    >>> plane = Plane([[0.0, 0.0], [2.0, 1.0]], resolution=5)
    >>> plane.low.tolist(), plane.high.tolist(), plane.shape
    ([-0.2, -0.2], [2.2, 1.2], [5, 3])
    """

    def __init__(self, X: Any, resolution: int) -> None:
        if resolution < 2:
            raise ValueError(f"resolution is at least 2 points, got {resolution}")
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


# ---- 2. Scores of points


class Lanes(np.lib.mixins.NDArrayOperatorsMixin, numbers.Number):
    """A number for each of many points, which computes like one number.

    As `data` of Values it takes all points through a model at the price of one. A model that looks
    at its data to decide what to do cannot be asked in this way, and gets a TypeError.

    >>> x = Value(Lanes([1.0, -2.0]))
    >>> (3 * x + 1).relu().data.array.tolist()
    [4.0, 0.0]
    >>> (x.data > 0).where(1.0, 2.0).array.tolist(), x.sigmoid().data.array.round(2).tolist()
    ([1.0, 2.0], [0.73, 0.12])
    """

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or not all(isinstance(x, (Lanes, float, int)) for x in inputs):
            return NotImplemented
        return Lanes(ufunc(*map(_array, inputs), **options))

    def where(self, a: Any, b: Any) -> Lanes:
        """In each place the number of `a` or `b`: what `micrograd.where` asks of a condition."""
        return Lanes(np.where(self.array, _array(a), _array(b)))

    def sigmoid(self) -> Lanes:
        """1 / (1 + exp(-x)), without overflow."""
        return Lanes((1 + np.tanh(self.array / 2)) / 2)

    def __getattr__(self, name: str) -> Any:
        if name not in ("exp", "log", "sqrt", "sin", "cos", "tanh"):
            raise AttributeError(name)
        return lambda: Lanes(getattr(np, name)(self.array))

    def __bool__(self) -> bool:
        raise TypeError("many numbers at once are neither true nor false: use where")

    __hash__ = object.__hash__


def _array(x: Any) -> Any:
    return x.array if isinstance(x, Lanes) else x


def scores(
    predict: Callable[[Any], Any], points: Array, width: int = 1, *, lanes: bool = False
) -> Array:
    """The answers of a model at n points, shape (n, width), without a graph.

    Args:
        predict: called with an array of shape (n, 2) or, if that fails, with a point [x1, x2] at a
            time.
        points: shape (n, 2).
        width: how many numbers it answers for a point.
        lanes: in place of point after point, try a point of two Values that hold all of them.

    Raises:
        ValueError: it answers in neither way, or with NaN.

    >>> scores(lambda point: [point[0], -point[1]], np.array([[1.0, 2.0]]), width=2).tolist()
    [[1.0, -2.0]]
    """
    # Three points tell which of the two ways to call `predict` works, before all are computed.
    failures = []
    for way in (_all_at_once, _in_lanes if lanes else _one_by_one):
        with no_grad():
            try:
                way(predict, points[:3], width)
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error}")
                continue
            found = way(predict, points, width)
        if np.isnan(found).any():
            x1, x2 = points[np.isnan(found).any(axis=1)][0]
            raise ValueError(f"the score at [{x1:.4g}, {x2:.4g}] is NaN: did training diverge?")
        return np.clip(found, -1e9, 1e9)  # an infinite score cannot be interpolated
    n, one = ("n scores", "one") if width == 1 else (f"shape (n, {width})", f"{width} scores")
    raise ValueError(
        f"predict takes an array of shape (n, 2) and gives {n}, or a point [x1, x2] and gives "
        f"{one}; with 3 points at once: {failures[0]}; with one point: {failures[1]}"
    )


def class_scores(
    predict: Callable[[Any], Any], points: Array, classes: int, *, lanes: bool = False
) -> Array:
    """Scores of shape (n, classes), or (n, 1) for two classes, as `scores` finds them.

    >>> class_scores(lambda point: point[0], np.array([[1.0, 2.0]]), classes=2).tolist()
    [[1.0]]
    """
    width = 1 if classes == 2 else classes
    try:
        return scores(predict, points, width, lanes=lanes)
    except ValueError:
        if width == 1:
            raise
        try:
            scores(predict, points[:1])
        except ValueError:
            pass
        else:
            raise ValueError(
                "predict gives one score for a point, so y expects labels 0 and 1, or -1 and 1, "
                f"got {list(range(classes))}: more classes than two need a score for each"
            ) from None
        raise


def _all_at_once(predict: Callable[[Any], Any], points: Array, width: int) -> Array:
    # A copy: a function of two numbers may take the third of three points for a place to write to.
    return floats(predict(points.copy()), len(points), width)


def _one_by_one(predict: Callable[[Any], Any], points: Array, width: int) -> Array:
    return np.concatenate([floats(predict(point), 1, width) for point in points.tolist()])


def _in_lanes(predict: Callable[[Any], Any], points: Array, width: int) -> Array:
    try:
        with np.errstate(all="raise", under="ignore"):  # exp(1000) fails, as for one number
            answers = predict([Value(Lanes(column)) for column in points.T])
        answers = answers if isinstance(answers, (list, tuple)) else [answers]
        data = [_array(getattr(answer, "data", answer)) for answer in answers]
        columns = [np.broadcast_to(column, len(points)) for column in data]
        found = np.stack(columns, axis=1).astype(float)
        if np.allclose(found[:3], _one_by_one(predict, points[:3], width)):
            return found
    except Exception:  # what is wrong is told by the way that always works
        pass
    return _one_by_one(predict, points, width)


def floats(results: Any, n: int, width: int = 1) -> Array:
    """Numbers or Values as floats of shape (n, width).

    >>> floats([Value(1.0), 2], 2).tolist()
    [[1.0], [2.0]]
    """
    array = np.asarray(results)
    if array.size != n * width or (width > 1 and n > 1 and array.shape[0] != n):
        each = "one score" if width == 1 else f"{width} scores"
        raise ValueError(f"expected {n} of {each} each, got shape {array.shape}")
    if array.dtype == object:  # Values, maybe
        array = np.array([x.item() if hasattr(x, "item") else x for x in array.flat])
    return array.astype(float).reshape(n, width)


# ---- 3. Networks


class Stack:
    """The layers of a network, and what each of their neurons answers.

    Args:
        model: an MLP, a Layer, a Linear, or a Sequential of these and whatever else can be called.
            Of anything else, `layers` is empty.

    Attributes:
        layers: of each, a list of its neurons, each with its weights and its bias (None without).
        sizes: number of the inputs, then of the neurons of each layer; [] without layers.

    >>> stack = Stack(Sequential(Linear(2, 4), Activation("tanh"), Linear(4, 3)))
    >>> stack.sizes, len(stack.answers([0.5, 0.5]))
    ([2, 4, 3], 7)
    """

    def __init__(self, model: Any) -> None:
        self._stages = _stages(model)
        layers = [
            [(weights, bias) for _, weights, bias, _ in stage._neurons()]
            for stage in self._stages
            if isinstance(stage, (Layer, Linear))
        ]
        inputs, outputs = [len(layer[0][0]) for layer in layers], [len(layer) for layer in layers]
        fits = inputs[1:] == outputs[:-1]  # else something in between makes other numbers
        self.layers = layers if fits else []
        self.sizes = [*inputs[:1], *outputs] if fits else []

    def answers(self, point: Any) -> list[Value]:
        """What each neuron answers, layer by layer, after its activation."""
        heard: list[list[Any]] = []
        x = point
        for stage in self._stages:
            x = stage(x)
            several = list(x) if isinstance(x, (list, tuple)) else [x]
            if isinstance(stage, (Layer, Linear)):
                heard.append(several)
            elif isinstance(stage, Activation) and heard:
                heard[-1] = several
        return [answer for layer in heard for answer in layer]

    def answers_at(self, grid: Array) -> Array:
        """Answers of all neurons at n points, shape (neurons, n).

        >>> Stack(MLP(2, [3, 1])).answers_at(np.array([[0.0, 0.0]])).tolist()
        [[0.0], [0.0], [0.0], [0.0]]
        """
        return scores(self.answers, grid, sum(self.sizes[1:]), lanes=True).T

    def maps(self, grid: Array) -> Array:
        """Answers of all neurons at n points, shape (neurons, n), from -1 to 1.

        The answers of a neuron are divided by the largest of them, unless all are below 1.

        >>> Stack(MLP(2, [3, 1])).maps(np.array([[0.0, 0.0]])).tolist()
        [[0.0], [0.0], [0.0], [0.0]]
        """
        found = self.answers_at(grid)
        largest: Array = np.maximum(1.0, abs(found).max(axis=1, keepdims=True))
        return found / largest

    def numbers(self, attribute: str) -> Array:
        """`data` or `grad` of all weights and biases: each neuron's weights, then its bias.

        >>> len(Stack(MLP(2, [3, 1])).numbers("grad"))
        13
        """
        found = [
            0.0 if p is None else float(getattr(p, attribute))
            for layer in self.layers
            for weights, bias in layer
            for p in (*weights, bias)
        ]
        return np.array(found)


def _stages(model: Any) -> list[Any]:
    if isinstance(model, (MLP, Sequential)):
        parts = model.layers if isinstance(model, MLP) else model.modules
        return [stage for part in parts for stage in _stages(part)]
    return [model]
