"""Long lists of similar cases, of which the default tests run only a few."""

import pytest


def thinned(cases, every):
    """The cases, all marked slow except the first of every group of this size."""
    slow = pytest.mark.slow
    return [c if i % every == 0 else pytest.param(c, marks=slow) for i, c in enumerate(cases)]
