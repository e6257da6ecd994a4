"""Functions of numbers, beyond the tests of the engine."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from micrograd import take
from micrograd.core.arithmetic import (
    as_number,
    exp,
    maximum,
    minimum,
    power,
    relu,
    sigmoid,
    sin,
    tanh,
    where,
)


class HasMethods:
    """A number with its own exp, where and take."""

    sin = 2  # an attribute, not a method

    def exp(self):
        return "called exp"

    def where(self, a, b):
        return f"called where on {a} and {b}"

    def take(self, table):
        return f"called take on {table}"


def test_the_methods_of_other_numbers_are_called():
    assert exp(HasMethods()) == "called exp"
    assert where(HasMethods(), 1, 2) == "called where on 1 and 2"
    assert take([7, 8], HasMethods()) == "called take on [7, 8]"
    assert exp(Decimal(0)) == Decimal(1)
    for name, function in {"tanh": tanh, "sin": sin}.items():
        with pytest.raises(TypeError, match=f"{name} is not defined for"):
            function(HasMethods())


def test_take_accepts_every_kind_of_integer_index():
    for index in (1, np.int64(1), np.array(1), True):
        assert take([7, 8], index) == 8
    for index in (np.array([1]), np.float64(1.0), 1.0, "1", None):
        with pytest.raises(TypeError, match="take expects an int as its index"):
            take([7, 8], index)


def test_fractions_and_ints_stay_exact():
    third = Fraction(1, 3)
    for exact in (relu(third), relu(-third), maximum(third, 0), minimum(third, 1), power(third, 2)):
        assert not isinstance(exact, float)
    assert maximum(third, third) == third
    assert power(third, Fraction(2)) == Fraction(1, 9)
    assert power(2, -1) == 0.5


def test_equal_numbers_and_nan():
    for pick in (maximum, minimum):
        for x in (0.0, 5.0, 5e-324, -1e308, math.inf, -math.inf):
            assert pick(x, x) == x
        assert math.isnan(pick(math.nan, 1.0))
        assert math.isnan(pick(1.0, math.nan))
    assert math.isnan(relu(math.nan))


def test_sigmoid_never_overflows():
    assert sigmoid(-1e6) == 0.0
    assert sigmoid(1e6) == 1.0
    assert sigmoid(-30.0) == pytest.approx(1 / (1 + math.exp(30.0)), rel=1e-15)


@pytest.mark.parametrize("x", ["1", None, [1], 1j, np.complex64(1), np.ones(1), np.array("1"), {}])
def test_anything_but_a_real_number_is_refused(x):
    assert as_number(x) is NotImplemented


def test_functions_accept_numpy_numbers():
    assert tanh(np.float32(0.0)) == 0.0
    assert exp(np.int64(0)) == 1.0


def test_other_kinds_of_number_are_kept():
    for x in (Fraction(1, 2), Decimal("0.1")):
        assert as_number(x) is x
