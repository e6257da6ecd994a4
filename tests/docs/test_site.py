"""The site: it builds without a warning, its links lead somewhere, and it loads nothing else."""

import html
import importlib.util
import re

import pytest
from blocks import python
from demo_scripts import DEMOS

REPOSITORY = "https://example.org/micrograd"
NEEDED = ("pdoc", "markdown_it", "mdit_py_plugins", "latex2mathml", "nbformat")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, NEEDED)), reason="pip install -e '.[site]'"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a built site."""
    out = tmp_path_factory.mktemp("site")
    command = (DEMOS / "site" / "build.py", "-o", out, "--repository", REPOSITORY)
    assert "warn" not in python(*command).stderr.lower()
    return out


def pages(site):
    """The text of the site's own pages, by path; those in `live` are tested elsewhere."""
    return {p: p.read_text("utf-8") for p in site.rglob("*.html") if p.parent.name != "live"}


def test_the_first_page_has_a_live_stepping_page_and_a_live_training_page(site):
    first = (site / "index.html").read_text("utf-8")
    assert re.findall(r'<iframe src="([^"]+)"', first) == ["live/neuron.html", "live/training.html"]
    assert "pip install" in first
    assert f'Clone <a href="{REPOSITORY}">' in first


def test_a_page_for_each_notebook_and_demo_and_module(site):
    names = {path.relative_to(site).as_posix() for path in pages(site)}
    assert {"lecture.html", "gallery.html", "circle-py.html", "search.html"} <= names
    demos = (site / "demos.html").read_text("utf-8")
    assert re.search(
        r"circle.py</a><p>The circle, and how.*?<img src=\"demos/gallery/circle.png\"", demos
    )
    entries = re.findall("<li>.*?</li>", demos.partition('class="demos"')[2], re.S)
    assert len(entries) >= 20
    assert all(re.search("<(img|pre|table)", entry) for entry in entries)
    assert {"reference/micrograd/engine.html", "reference/micrograd/draw/dot.html"} <= names


def test_links_and_pictures_and_frames_lead_to_what_exists(site):
    texts = pages(site)
    for path, text in texts.items():
        text = re.sub(r"<(script|pre)\b.*?</\1>", "", text, flags=re.S)
        for address in re.findall(r'\b(?:href|src|srcset)="([^"]*)"', text):
            if re.match(r"https?:|data:", address):
                continue
            file, _, place = html.unescape(address).partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_file(), (path.name, address)
            if place:
                assert f'id="{place}"' in texts[target], (path.name, address)


def test_nothing_is_loaded_from_elsewhere(site):
    for path, text in pages(site).items():
        assert not re.findall(r'<(?:img|script|iframe|link|source)[^>]*"(?:https?:)?//', text), path


ONE_OF_EACH_KIND = (
    *("index", "gallery", "lecture", "the-tour", "search", "demos", "stages-py"),
    *("reference/micrograd", "reference/micrograd/losses", "reference/micrograd/grade/process"),
)


def test_pages_fit_a_phone_and_are_accessible(site, chromium):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = chromium.new_context(viewport={"width": 390, "height": 800}, bypass_csp=True)
    for path in sorted(pages(site)):
        page = context.new_page()
        page.goto(path.as_uri())
        name = path.relative_to(site).with_suffix("").as_posix()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        for scheme in ("light", "dark") if name in ONE_OF_EACH_KIND else ():
            page.emulate_media(color_scheme=scheme)
            found = axe.run(page, options={"iframes": False}).response["violations"]
            assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found] == [], name
        page.close()
    context.close()


def test_a_table_on_a_phone_names_the_column_of_each_cell(site, chromium):
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto((site / "speed.html").as_uri())
    assert page.evaluate("document.querySelector('table').scrollWidth") <= 390
    cell = page.locator("tr", has_text="PyTorch, eager").locator("td").nth(2)
    shown = "e => getComputedStyle(e, '::before').content"
    assert cell.evaluate(shown) == '"digits"'
    page.set_viewport_size({"width": 1280, "height": 800})
    assert cell.evaluate(shown) == "none"
    context.close()


def test_the_search_finds_names_and_asks_for_no_other_site(site, chromium):
    page = chromium.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.get_by_label("Search this site").fill("cross_entropy")
    page.keyboard.press("Enter")
    page.locator("#found a", has_text="cross_entropy").first.click()
    page.wait_for_url("**/reference/micrograd/losses.html#cross_entropy")
    page.get_by_label("Search this site").fill("adam")  # from a page of the reference, too
    page.keyboard.press("Enter")
    page.locator("#found a", has_text="micrograd.optim").first.click()
    page.wait_for_url("**/reference/micrograd/optim.html#Adam")
    page.close()
    assert [url for url in asked if not url.startswith((site.as_uri(), "data:", "blob:"))] == []
