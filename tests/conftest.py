"""What all tests share: hypothesis times nothing, and tries the same examples in every run.

`--slow` runs the tests that are marked slow, too, and tries ten times as many random programs. What
a test gives to `record_property("count", ...)` is shown at the end.
"""

import importlib.util
from collections import Counter
from functools import partial

import browser
import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")


def pytest_addoption(parser):
    """Adds --slow."""
    parser.addoption("--slow", action="store_true", help="run the slow tests, too")


def pytest_configure(config):
    """Skips the doctests of the compiler's kernel, which is all numba, where there is none."""
    config.addinivalue_line("markers", "slow: a test that runs with --slow alone")
    if importlib.util.find_spec("numba") is None:
        config.option.doctest_ignore_import_errors = True


def pytest_collection_modifyitems(config, items):
    """Skips what is slow, unless asked for."""
    for item in items:
        if item.get_closest_marker("slow") and not config.option.slow:
            item.add_marker(pytest.mark.skip(reason="slow: runs with --slow"))


def pytest_terminal_summary(terminalreporter):
    """Shows what was counted, a line for each test."""
    counts = Counter(
        (report.nodeid.partition("[")[0], text)
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, text in report.user_properties
        if name == "count" and report.when == "call"
    )
    for (test, text), times in counts.items():
        terminalreporter.write_line(f"{test}: {f'{times} x ' * (times > 1)}{text}")


@pytest.fixture
def effort(request):
    """How many times as much as usual a test tries: 10 with --slow, else 1."""
    return 10 if request.config.option.slow else 1


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of pages; skips them where there is none."""
    with browser.running() as running:
        yield running


@pytest.fixture
def opened(chromium):
    """`with opened(path, width=390) as page:` is a page of a file, in a profile of its own."""
    return partial(browser.opened, chromium)
