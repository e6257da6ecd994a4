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
        own = f"fetched: {address:.200}"  # more than once, if it is loaded again
        assert own in problems
        assert not {*problems} - {own}, problems
    finally:
        context.close()


def until(page, expression, seconds=10):
    """Waits until it is true. (Playwright's own wait evaluates text, which pages forbid.)"""
    for _ in range(50 * seconds):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"waited in vain for {expression}; the page says: {page.inner_text('body')[:2000]}")


def drawn(page):
    """Waits until what was asked for has been drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def colours(page, canvas):
    """The number of colours on a canvas."""
    return page.evaluate(
        """(selector) => {
          const canvas = document.querySelector(selector), context = canvas.getContext("2d");
          const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        }""",
        canvas,
    )


def assert_print_is_light(page, shown, hidden):
    """On paper a dark page is light and shows these parts, without those; then it is dark again."""
    ink = "theme.ink"
    assert page.evaluate(ink) == "#e8eaed"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ink) == "#1b1f24"
    page.emulate_media(media="print")
    assert [page.is_visible(part) for part in (*shown, hidden)] == [True] * len(shown) + [False]
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ink) == "#e8eaed"


LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page):
    """What axe-core finds against WCAG 2.2 AA: pairs of a rule and the elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": {"type": "tag", "values": LEVELS}}
    found = axe.run(page, options=options).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
