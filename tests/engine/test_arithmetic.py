"""Functions of numbers, beyond the tests of the engine."""

from decimal import Decimal

import numpy as np
import pytest

from micrograd import take
from micrograd.core.arithmetic import (
    exp,
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
    assert exp(np.int64(0)) == exp(np.float32(0.0)) == 1.0
    for name, function in {"tanh": tanh, "sin": sin}.items():
        with pytest.raises(TypeError, match=f"{name} is not defined for"):
            function(HasMethods())


def test_take_accepts_every_kind_of_integer_index():
    for index in (1, np.int64(1), np.array(1), True):
        assert take([7, 8], index) == 8
    for index in (np.array([1]), np.float64(1.0), 1.0, "1", None):
        with pytest.raises(TypeError, match="take expects an int as its index"):
            take([7, 8], index)
