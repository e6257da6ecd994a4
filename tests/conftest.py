"""What all tests share: hypothesis times nothing, and tries the same examples in every run."""

from functools import partial

import browser
import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of pages; skips them where there is none."""
    with browser.running() as running:
        yield running


@pytest.fixture
def opened(chromium):
    """`with opened(path, width=390) as page:` is a page of a file, in a profile of its own."""
    return partial(browser.opened, chromium)
