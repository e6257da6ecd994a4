"""What all tests share: hypothesis times nothing, and tries the same examples in every run."""

import importlib.util
from functools import partial

import browser
import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")


def pytest_configure(config):
    """Skips the doctests of the compiler's kernel, which is all numba, where there is none."""
    if importlib.util.find_spec("numba") is None:
        config.option.doctest_ignore_import_errors = True


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of pages; skips them where there is none."""
    with browser.running() as running:
        yield running


@pytest.fixture
def opened(chromium):
    """`with opened(path, width=390) as page:` is a page of a file, in a profile of its own."""
    return partial(browser.opened, chromium)
