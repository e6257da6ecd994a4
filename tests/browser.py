"""Pages opened the way readers open them: from a file, in a real browser (Chromium)."""

import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


@contextmanager
def running():
    """A headless Chromium; tests that need it are skipped if it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[browser]'")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if not program:
        pytest.skip("no Chromium on this machine: on Debian, apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, width=1280, height=800, hash="", **options):
    """The page in a file. Leaving the block fails if it logged an error or fetched anything.

    A blob, which a page makes itself, is not fetched. `hash` is added to its address. Options are
    those of Playwright's new_context: color_scheme="dark", has_touch=True, ...
    """
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    page = context.new_page()
    problems = []

    def fetched(url):
        if not url.startswith("blob:"):
            problems.append(f"fetched: {url:.200}")

    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("console", lambda said: problems.append(f"console: {said.text}"))
    page.on("request", lambda request: fetched(request.url))
    address = path.resolve().as_uri()
    page.goto(address + hash)
    try:
        yield page
        problems.remove(f"fetched: {address:.200}")
        assert not problems, problems
    finally:
        context.close()


LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page):
    """What axe-core finds against WCAG 2.2 AA: pairs of a rule and the elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": {"type": "tag", "values": LEVELS}}
    found = axe.run(page, options=options).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
