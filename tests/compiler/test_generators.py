"""Random numbers drawn in a compiled function are refused, and the generator is named."""

import random
import secrets

import numpy as np
import pytest

import micrograd
from micrograd import MLP, Value

w = Value(2.0)
of_python, of_numpy, old = random.Random(1), np.random.default_rng(1), np.random.RandomState(1)


class Noisy:
    def __init__(self):
        self.generator = np.random.default_rng(0)

    def __call__(self, x):
        return w * x * self.generator.normal()


DRAWS = {
    "Python's random, but": lambda x: w * x * random.uniform(0, 1),
    "Python's random": lambda x: MLP(1, [1])([x]),
    "of_python, but": lambda x: w * x * of_python.gauss(0, 1),
    "np.random, but": lambda x: w * x * np.random.rand(),
    "of_numpy, but": lambda x: w * x * of_numpy.normal(),
    "old, but": lambda x: w * x * old.rand(),
    "a generator of the class Generator": Noisy(),
}


@pytest.mark.parametrize(("named", "function"), DRAWS.items(), ids=range(len(DRAWS)))
def test_a_draw_is_refused(named, function):
    compiled = micrograd.compile(function, executor="numpy")
    for _ in range(2):
        with pytest.raises(ValueError, match=f"draws from {named}.*pass them as an argument"):
            compiled([1.0, 2.0])


def test_a_generator_made_inside_is_allowed():
    def noisy(x):
        return w * x * random.Random(0).random() * np.random.default_rng(0).random()

    assert micrograd.compile(noisy, executor="numpy")([1.0]).data == noisy(1.0).data


def test_other_generators_are_not_mistaken():
    system, unused = secrets.SystemRandom(), random.Random(3)
    compiled = micrograd.compile(lambda x: w * x * bool(system) * bool(unused), executor="numpy")
    assert compiled([1.0]).data == 2.0
