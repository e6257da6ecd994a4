"""What all tests share: hypothesis sets no time limit and tries the same examples in every run.

`--slow` also runs the tests marked slow, tries more examples, and ten times as many random
programs; with -n 2, one worker runs all tests of a file. The last lines show what a test gave to
`record_property("count", ...)`, and how many tests were left out.
"""

import gc
import importlib.util
from collections import Counter
from functools import partial

import browser
import pytest
from compiled import skip_without
from hypothesis import settings

import micrograd
from micrograd.compiler.function import compile

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=20)

SLOW = "slow: --slow runs it"


def pytest_addoption(parser):
    """Adds --slow."""
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_configure(config):
    """Sets the number of examples; without llvmlite or JAX, skips doctests that import them."""
    settings.load_profile("steady" if config.option.slow else "quick")
    if config.option.slow and config.getoption("dist", "no") != "no":
        config.option.dist = "loadfile"  # what is built for a file is built by one worker only
    config.addinivalue_line("markers", "slow: a test that runs only with --slow")
    if not all(map(importlib.util.find_spec, ("llvmlite", "jax"))):
        config.option.doctest_ignore_import_errors = True


def pytest_collection_modifyitems(config, items):
    """Skips slow tests without --slow, and without llvmlite the doctests that make machine code.

    All tests in a browser are slow.
    """
    has_llvm = importlib.util.find_spec("llvmlite")
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")  # a page takes a second to open
        if item.get_closest_marker("slow") and not config.option.slow:
            item.add_marker(pytest.mark.skip(reason=SLOW))
        if not has_llvm and isinstance(item, pytest.DoctestItem) and "llvm" in item.name:
            item.add_marker(pytest.mark.skip(reason="needs llvmlite"))


def pytest_collection_finish():
    """Spares the garbage collector the thousands of objects that pytest holds to the end."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """Shows what tests counted, a line for each, and how many tests were left out."""
    counts = Counter(
        (report.nodeid.partition("[")[0], text)
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, text in report.user_properties
        if name == "count" and report.when == "call"
    )
    for (test, text), times in counts.items():
        terminalreporter.write_line(f"{test}: {f'{times} x ' * (times > 1)}{text}")
    skipped = terminalreporter.getreports("skipped")
    slow = sum(SLOW in report.longrepr[2] for report in skipped)
    if skipped:
        others = f"{len(skipped) - slow} that cannot run here (-rs says why)"
        terminalreporter.write_line(f"left out: {slow} slow tests (--slow runs them), {others}")


@pytest.fixture
def effort(request):
    """How many times as much as usual a test tries: 10 with --slow, else 1."""
    return 10 if request.config.option.slow else 1


@pytest.fixture(scope="module", params=["numpy", pytest.param("llvm", marks=pytest.mark.slow)])
def executor(request):
    """Each executor in turn, which `micrograd.compile` uses meanwhile.

    By default machine code is made only for tests that name all executors, and for random programs.
    """
    skip_without(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(micrograd, "compile", partial(compile, executor=request.param))
        yield request.param


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of pages; skips them where there is none."""
    with browser.running() as running:
        yield running


@pytest.fixture
def opened(chromium):
    """`with opened(path, width=390) as page:` is a page of a file, in a profile of its own."""
    return partial(browser.opened, chromium)


@pytest.fixture
def shown(opened, tmp_path):
    """`with shown(explain(y), width=390) as page:` is that page, saved and opened."""

    def show(made, **options):
        path = tmp_path / "page.html"
        path.write_text(made, encoding="utf-8") if isinstance(made, str) else made.save(path)
        return opened(path, **options)

    return show
