"""The table of operations: tests that hold for every operation run over its rows.

A row has a function of Values, the same function of floats from an independent source (`math` and
Python's operators), and points at which both are defined. A new operation needs one new row.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from micrograd import Value


@dataclass(frozen=True)
class Row:
    name: str
    function: Callable
    reference: Callable
    points: tuple
    exact: bool = False  # keeps fractions exact

    def __str__(self):
        return self.name


def logistic(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


ONE = ((0.5,), (-1.5,), (3.0,))
POSITIVE = ((0.5,), (1.0,), (7.0,))
TWO = ((2.0, -3.0), (0.5, 4.0), (-1.25, -0.75))

TABLE = [
    Row("a + b", lambda a, b: a + b, lambda a, b: a + b, TWO, exact=True),
    Row("a - b", lambda a, b: a - b, lambda a, b: a - b, TWO, exact=True),
    Row("a * b", lambda a, b: a * b, lambda a, b: a * b, TWO, exact=True),
    Row("a / b", lambda a, b: a / b, lambda a, b: a / b, TWO, exact=True),
    Row(
        "a ** b",
        lambda a, b: a**b,
        lambda a, b: a**b,
        ((2.0, -3.0), (0.5, 4.0), (1.5, 0.5), (0.5, 0.0)),
    ),
    Row("a + 3", lambda a: a + 3, lambda a: a + 3, ONE, exact=True),
    Row("3 + a", lambda a: 3 + a, lambda a: 3 + a, ONE, exact=True),
    Row("a - 3", lambda a: a - 3, lambda a: a - 3, ONE, exact=True),
    Row("3 - a", lambda a: 3 - a, lambda a: 3 - a, ONE, exact=True),
    Row("a * 3", lambda a: a * 3, lambda a: a * 3, ONE, exact=True),
    Row("3 * a", lambda a: 3 * a, lambda a: 3 * a, ONE, exact=True),
    Row("a / 3", lambda a: a / 3, lambda a: a / 3, ONE, exact=True),
    Row("3 / a", lambda a: 3 / a, lambda a: 3 / a, ONE, exact=True),
    Row("a ** 0", lambda a: a**0, lambda a: a**0, (*ONE, (0.0,)), exact=True),
    Row("a ** 1", lambda a: a**1, lambda a: a**1, (*ONE, (0.0,)), exact=True),
    Row("a ** 2", lambda a: a**2, lambda a: a**2, (*ONE, (0.0,)), exact=True),
    Row("a ** -3", lambda a: a**-3, lambda a: a**-3, ONE, exact=True),
    Row("a ** 0.5", lambda a: a**0.5, lambda a: a**0.5, POSITIVE),
    Row("2 ** a", lambda a: 2**a, lambda a: 2**a, ONE),
    Row("0 ** a", lambda a: 0.0**a, lambda a: 0.0**a, ((1.5,), (3.0,))),
    Row("a * a", lambda a: a * a, lambda a: a * a, ONE, exact=True),
    Row("a + a", lambda a: a + a, lambda a: a + a, ONE, exact=True),
    Row("a - a", lambda a: a - a, lambda a: a - a, ONE, exact=True),
    Row("-a", lambda a: -a, lambda a: -a, ONE, exact=True),
    Row("abs(a)", abs, abs, ONE, exact=True),
    Row("exp", lambda a: a.exp(), math.exp, ONE),
    Row("log", lambda a: a.log(), math.log, POSITIVE),
    Row("sqrt", lambda a: a.sqrt(), math.sqrt, POSITIVE),
    Row("sin", lambda a: a.sin(), math.sin, ONE),
    Row("cos", lambda a: a.cos(), math.cos, ONE),
    Row("tanh", lambda a: a.tanh(), math.tanh, ONE),
    Row("sigmoid", lambda a: a.sigmoid(), logistic, ONE),
    Row("relu", lambda a: a.relu(), lambda a: max(a, 0), ONE, exact=True),
    Row("tan", lambda a: a.tan(), math.tan, ONE),
    Row("sinh", lambda a: a.sinh(), math.sinh, ONE),
    Row("cosh", lambda a: a.cosh(), math.cosh, ONE),
    Row("arcsin", lambda a: a.arcsin(), math.asin, ((0.5,), (-0.75,), (0.0,))),
    Row("arccos", lambda a: a.arccos(), math.acos, ((0.5,), (-0.75,), (0.0,))),
    Row("arctan", lambda a: a.arctan(), math.atan, ONE),
    Row("arctan2", lambda a, b: a.arctan2(b), math.atan2, (*TWO, (1.0, 0.0))),
    Row("arctan2 of 2", lambda b: Value(2.0).arctan2(b) + b.arctan2(2), lambda b: math.pi / 2, ONE),
    Row("erf", lambda a: a.erf(), math.erf, (*ONE, (-4.0,))),
    Row("expm1", lambda a: a.expm1(), math.expm1, (*ONE, (1e-9,))),
    Row("log1p", lambda a: a.log1p(), math.log1p, (*POSITIVE, (-0.5,), (1e-9,))),
    Row(
        "logaddexp",
        lambda a, b: a.logaddexp(b),
        lambda a, b: math.log(math.exp(a) + math.exp(b)),
        (*TWO, (0.5, 0.5)),
    ),
    Row("softplus", lambda a: a.softplus(), lambda a: math.log1p(math.exp(a)), (*ONE, (-30.0,))),
    Row("maximum", lambda a, b: a.maximum(b), max, TWO, exact=True),
    Row("minimum", lambda a, b: a.minimum(b), min, TWO, exact=True),
    Row("maximum of 1", lambda a: a.maximum(1), lambda a: max(a, 1), ONE, exact=True),
]

# Several operations in a row: a number that is no longer a fraction would be passed on.
COMPOSED = [
    Row("relu, + 1, / 3", lambda a: (a.relu() + 1) / 3, lambda a: (max(a, 0 * a) + 1) / 3, ONE),
    Row(
        "/ 3, relu",
        lambda a: (a / 3).relu() + a / 3,
        lambda a: max(a / 3, 0 * a) + a / 3,
        ONE,
    ),
    Row(
        "maximum, / 7, relu, minimum, / 3",
        lambda a: (a.maximum(2) / 7).relu().minimum(a) * a / 3,
        lambda a: min(max(max(a, 2 + 0 * a) / 7, 0 * a), a) * a / 3,
        ONE,
    ),
]

CASES = [(row, point) for row in TABLE for point in row.points]
EXACT_CASES = [
    (row, tuple(Fraction(x) + Fraction(1, 3) for x in point))
    for row in [*(row for row in TABLE if row.exact), *COMPOSED]
    for point in row.points
]
