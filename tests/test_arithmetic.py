"""Chapter 0: what the functions of numbers do beside what the engine's tests show."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from micrograd.arithmetic import (
    as_number,
    exp,
    maximum,
    minimum,
    power,
    relu,
    sigmoid,
    sin,
    take,
    tanh,
    where,
)


class Knowing:
    """A number that knows one function and one kind of choice."""

    sin = 2  # an attribute, and no function

    def exp(self):
        return "asked for exp"

    def where(self, a, b):
        return f"asked to choose from {a} and {b}"

    def take(self, table):
        return f"asked for one of {table}"


def test_other_numbers_are_asked():
    assert exp(Knowing()) == "asked for exp"
    assert where(Knowing(), 1, 2) == "asked to choose from 1 and 2"
    assert take([7, 8], Knowing()) == "asked for one of [7, 8]"
    assert exp(Decimal(0)) == Decimal(1)
    for name, function in {"tanh": tanh, "sin": sin}.items():
        with pytest.raises(TypeError, match=f"{name} is not defined on"):
            function(Knowing())


def test_take_with_indices_of_every_kind():
    for index in (1, np.int64(1), np.array(1), True):
        assert take([7, 8], index) == 8
    for index in (np.array([1]), np.float64(1.0), 1.0, "1", None):
        with pytest.raises(TypeError, match="take expects an int as index"):
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
def test_what_is_no_real_number(x):
    assert as_number(x) is NotImplemented


def test_numpy_numbers_assigned_by_hand():
    assert tanh(np.float32(0.0)) == 0.0
    assert exp(np.int64(0)) == 1.0


def test_other_kinds_of_number_are_kept():
    for x in (Fraction(1, 2), Decimal("0.1")):
        assert as_number(x) is x
