"""What the pages show can be read: at every step, at four sizes, also on a slide."""

import json
import random

import numpy as np
import pytest
from browser import drawn
from languages import longer, speak
from page_programs import Recurrent, neuron

from micrograd import MLP, Value, explain, microscope, playground, values
from micrograd.datasets import drawn_digits
from micrograd.losses import cross_entropy
from micrograd.texts import FOLDER

SIZES = {390: 844, 960: 760, 1280: 800, 1920: 1080}  # a phone, a notebook, a laptop, a projector


def products():
    a, b, c, f = map(Value, (2.0, -3.0, 10.0, -2.0))
    L = (a * b + c) * f
    return L, locals()


def four_points():
    random.seed(1337)
    n = MLP(3, [4, 4, 1])
    xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
    ys = [1.0, -1.0, -1.0, 1.0]
    loss = sum((n(x) - y) ** 2 for x, y in zip(xs, ys, strict=True))
    return loss, locals()


def softmax():
    z = [Value(0.5), Value(-1.0), Value(2.0)]
    loss = cross_entropy(z, 0)
    return loss, locals()


def twice():
    x = Value(3.0)
    return x * x, locals()


def deep():
    x = y = Value(0.5)
    for k in range(12):
        y = (y * 1.1 + 0.1).tanh() if k % 2 else y.sin()
    return y, locals()


def arrays():
    dice = np.random.default_rng(0)
    X, W = values(dice.normal(size=(4, 3))), values(dice.normal(size=(3, 2)))
    h = (X @ W).tanh()
    return (h * h).mean(), locals()


PROGRAMS = [products, neuron, four_points, softmax, twice, deep, arrays]

# What cannot be read at the step that is shown: labels that are cut, or over a card or another
# label; letters of less than 11 pixels, or pressed together; buttons that need a second row where
# there is one; words of a slide without room.
UNREADABLE = """() => {
  const box = element => element.getBoundingClientRect();
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
  const isInside = (a, b) => a.left > b.left - 1 && a.right < b.right + 1
    && a.top > b.top - 1 && a.bottom < b.bottom + 1;
  const all = selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility());
  const found = [], cards = all(".stage .outline, .neuron").map(box);
  const plates = all(".stage .plate, .neuron > *:not(canvas, :empty), .layer-head");
  for (const plate of plates) {
    const own = box(plate), say = what => found.push(`${what}: ${plate.parentNode.textContent}`);
    if (!isInside(own, box(plate.closest(".stage, section")))) say("cut");
    const others = cards.filter(card => !isInside(box(plate.parentNode), card));
    if (others.some(card => over(card, own))) say("over a card");
    if (plates.some(other => other !== plate && over(box(other), own))) say("over a label");
  }
  for (const word of document.querySelectorAll("#slope text"))
    if (!isInside(box(word), box($("slope")))) found.push(`cut: ${word.textContent}`);
  for (const canvas of all("canvas"))
    for (const {text, size, ...place} of canvas.words ?? []) {
      const whole = {left: 0, top: 0, right: canvas.clientWidth, bottom: canvas.clientHeight};
      if (!isInside(place, whole)) found.push(`cut: ${text}`);
      if (size < 10.9) found.push(`${size} pixels: ${text}`);
    }
  const row = all("#training > label").map(part => box(part).bottom);
  if (innerWidth >= 1280 && Math.max(...row) > Math.min(...row) + 9) found.push("a second row");
  const letters = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (letters.nextNode()) {
    const {parentElement: element, data} = letters.currentNode;
    if (!data.trim() || !element.checkVisibility() || element.closest("sub, sup, script")) continue;
    const matrix = element.getScreenCTM?.();
    const zoom = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
    const size = zoom * parseFloat(getComputedStyle(element).fontSize);
    if (size < 10.9) found.push(`${size} pixels: ${data}`);
    const room = +element.getAttribute("textLength");
    element.removeAttribute("textLength");
    if (room && room < 0.55 * element.getComputedTextLength()) found.push(`pressed: ${data}`);
    if (room) element.setAttribute("textLength", room);
  }
  if (document.body.matches(".presenting") && $("live")) {
    const {scrollHeight, scrollWidth, clientHeight, clientWidth} = $("said");
    if (scrollHeight > clientHeight + 2) found.push("slide: a line is cut");
    if (scrollWidth > clientWidth + 2) found.push("slide: a word is cut");
    if (document.documentElement.scrollHeight > innerHeight) found.push("slide: too high");
  }
  return found;
}"""


def unreadable(page, steps):
    """What cannot be read at some of the steps, the first two backward and the last included."""
    count, seed = page.evaluate("[page.model.steps.count, page.model.steps.seedAt]")
    some = {0, seed + 1, seed + 2, count - 1, *range(seed, count, max(1, (count - seed) // steps))}
    found = {}
    for at in sorted(some & set(range(count))):
        page.evaluate("at => page.transport.goTo(at)", at)
        if problems := page.evaluate(UNREADABLE):
            found[at] = problems
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("width", SIZES)
def test_every_word_can_be_read_at_every_step_and_on_a_slide(shown, program, width):
    root, names = program()
    look = {"width": width, "height": SIZES[width], "reduced_motion": "reduce"}
    with shown(explain(root, names=names), **look) as page:
        assert unreadable(page, 3) == {}
        page.get_by_role("button", name="Nudge").click()
        assert page.evaluate(UNREADABLE) == []
        for tab in ("Mistakes", "All steps as text", "Code"):
            page.evaluate("scrollTo(0, 0)")  # what a button opens is in sight
            button = page.get_by_role("button", name=tab, exact=True)
            button.evaluate("button => button.click()")
            panel = page.locator("#" + button.get_attribute("aria-controls")).bounding_box()
            seen = min(panel["y"] + panel["height"], SIZES[width]) - panel["y"]
            assert panel["y"] > 0
            assert seen >= min(panel["height"], 100)
        page.get_by_role("button", name="Present").click()
        assert unreadable(page, 3) == {}
        page.keyboard.press("End")
        assert page.locator("#slope").is_visible()  # a nudge is told beside its curve
        page.evaluate("showValues()")
        assert page.evaluate(UNREADABLE) == []
        page.evaluate("showValues()")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("PageDown")  # as a presenter's remote does
        assert page.locator("#count").inner_text().startswith("2 of")
        page.keyboard.press("PageUp")
        assert page.locator("#count").inner_text().startswith("1 of")


# What is cut, or leaves its panel or the window.
CUT = """() => {
    const box = element => element.getBoundingClientRect();
    const isOut = (a, b) => b && (a.right > b.right + 1 || a.left < b.left - 1);
    return [...document.querySelectorAll("button, label, h1, h2, h3, p, li, output, span")]
        .filter(e => e.checkVisibility() && box(e).width > 1)
        .filter(e => !e.closest(".scroll, #table, svg, .neuron"))
        .filter(e => (getComputedStyle(e).display !== "inline" && e.scrollWidth > e.clientWidth + 1)
            || isOut(box(e), box(e.closest("section") ?? document.body)))
        .map(e => e.outerHTML.slice(0, 90));
}"""


# Notes what is written on canvases, where a page has no elements.
WORDS = """() => {
  const pen = CanvasRenderingContext2D.prototype, {fillText, clearRect} = pen;
  pen.clearRect = function (...box) {
    this.canvas.words = [];
    clearRect.apply(this, box);
  };
  pen.fillText = function (text, x, y) {
    const {actualBoundingBoxLeft: left, actualBoundingBoxRight: right} = this.measureText(text);
    const size = parseFloat(this.font), [top, bottom] = [y, y]; // the lines are not checked
    this.canvas.words?.push({text, size, left: x - left, right: x + right, top, bottom});
    fillText.call(this, text, x, y);
  };
  dispatchEvent(new Event("resize"));
}"""


def dice(*shape):
    return np.random.default_rng(0).normal(size=shape)


def flowers():
    names = ["setosa", "versicolor", "virginica"]
    return playground(MLP(4, [8, 3]), dice(30, 4), [i % 3 for i in range(30)], names=names)


def digits():
    return playground(MLP(64, [5, 10]), *drawn_digits(20))


def line():
    x = np.linspace(-1, 1, 20)
    return playground(MLP(1, [4, 1]), x[:, None], 3 * x)


@pytest.mark.parametrize(
    "made", [playground, flowers, digits, line], ids=lambda made: made.__name__
)
@pytest.mark.parametrize("width", SIZES)
def test_every_word_of_the_training_page_can_be_read(shown, made, width):
    random.seed(1)
    with shown(made(), width=width, height=SIZES[width], reduced_motion="reduce") as page:
        page.evaluate(WORDS)

        def scan(when, panel="#page"):
            drawn(page)
            top = page.locator(panel).bounding_box()["y"]  # what opens is in sight
            found = ["out of sight"] * (top > SIZES[width] - 100)
            if found := [*found, *page.evaluate(UNREADABLE), *page.evaluate(CUT)]:
                problems[when] = found

        problems = {}
        scan("start")
        for kind in ("csv", "table", "health", "script"):
            page.evaluate("scrollTo(0, 0)")
            page.evaluate("kind => chooseMore({kind, [kind]: 'PyTorch'})", kind)
            scan(kind, "#details")
        page.evaluate("choose({kind: 'point', point: 3})")
        scan("point")
        page.evaluate("openNeuron(1, 0)")
        scan("neuron", "#details" if made is digits else "#arithmetic")
        page.evaluate("choose({})")
        page.select_option("#stop", "accuracy 1")
        page.evaluate("page.train(30)")
        scan("trained")
        page.get_by_role("button", name="Present").click()
        scan("slide")
        page.keyboard.press("Escape")
        page.fill("#rate", "1000")
        page.keyboard.press("Tab")
        page.evaluate("page.train(30)")
        scan("diverged")
        assert problems == {}, json.dumps(problems, indent=1)


@pytest.mark.parametrize("width", SIZES)
def test_every_word_of_a_lesson_can_be_read(shown, width):
    with shown(playground(), width=width, height=SIZES[width], reduced_motion="reduce") as page:
        page.evaluate(WORDS)
        for lesson in ("weight", "rate", "few", "dead"):
            page.select_option("#lessons", lesson)
            for _ in range(5):
                drawn(page)
                assert [*page.evaluate(UNREADABLE), *page.evaluate(CUT)] == []
                page.locator("#lesson .row:not(:first-child) button").first.click()
                drawn(page)
                assert [*page.evaluate(UNREADABLE), *page.evaluate(CUT)] == []
                page.locator("#lesson .main").click()


@pytest.mark.parametrize("width", SIZES)
def test_every_word_of_the_microscope_can_be_read(shown, width):
    made = microscope(Recurrent(), "AB.", ["ABBA", "AAB"])
    with shown(made, width=width, height=SIZES[width], reduced_motion="reduce") as page:
        for key in ("Home", "ArrowRight", "End"):
            page.keyboard.press(key)
            assert [*page.evaluate(UNREADABLE), *page.evaluate(CUT)] == []
        for button in ("#gradients", "#one-step", "#number td button"):
            page.locator(button).first.click()
            assert [*page.evaluate(UNREADABLE), *page.evaluate(CUT)] == []


# A language of longer words at all sizes, and each language that there is on a phone.
OTHERS = [path.name.removesuffix(".toml") for path in FOLDER.iterdir() if path.suffix == ".toml"]
SPOKEN = [("xx", width) for width in SIZES]
SPOKEN += [(language, 390) for language in sorted(OTHERS) if language != "en"]


@pytest.mark.parametrize(("language", "width"), SPOKEN)
def test_the_words_of_other_languages_are_not_cut(monkeypatch, shown, tmp_path, language, width):
    if language == "xx":
        speak(longer, tmp_path, monkeypatch)
    loss, names = four_points()
    pages = {
        "#last": explain(loss, names=names, language=language),
        "#one-step": playground(language=language),
        "#one-step ": microscope(Recurrent(), "AB.", ["ABBA", "AAB"], language=language),
    }
    for press, made in pages.items():
        look = {"width": width, "height": SIZES[width], "reduced_motion": "reduce"}
        with shown(made, **look) as page:
            assert page.evaluate(CUT) == []
            page.locator(press).click()
            assert page.evaluate(CUT) == []
            if press == "#last":
                assert unreadable(page, 3) == {}
                page.locator("#present").click()
                assert unreadable(page, 3) == {}
