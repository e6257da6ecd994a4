import random

import numpy as np
import pytest
from browser import until, violations
from demo_scripts import load
from page_programs import TEXTS, Bigram, Recurrent

import micrograd
from micrograd import Value, microscope
from micrograd.losses import cross_entropy
from micrograd.optim import SGD, Adam


class Short(Bigram):
    """Too few logits for each token."""

    def follow(self, token):
        return [Value(1.0)]


def trained(model, optimizer, steps, letters="ab", texts=TEXTS):
    """Trains as the page does, with the compiler; returns the last loss."""
    end = len(letters)

    def loss(tokens, targets, weights):
        rows = zip(model.logits(tokens), targets, weights, strict=True)
        return sum(w * cross_entropy(row, y) for row, y, w in rows)

    compiled = micrograd.compile(loss)
    longest = 1 + max(map(len, texts))
    for step in range(steps):
        codes = [letters.index(letter) for letter in texts[step % len(texts)]]
        n, rest = len(codes) + 1, longest - len(codes)
        tokens, targets = [end, *codes, *[end] * (rest - 1)], [*codes, *[end] * rest]
        weights = np.repeat([1 / n, 0.0], [n, longest - n])
        optimizer.zero_grad()
        batch = compiled([tokens], [targets], weights[None])
        batch.backward()
        optimizer.step()
    return batch.data


STEP = "n => {let x; for (let k = 0; k < n; k++) x = page.model.step(); return x}"


@pytest.mark.parametrize(("kind", "rule"), [(Bigram, SGD), (Recurrent, Adam)])
def test_a_thousand_steps_on_the_page_are_those_of_python(shown, kind, rule):
    random.seed(3)
    model = kind()
    optimizer = rule(model.parameters(), lr=0.01)
    with shown(microscope(model, "ab.", TEXTS, optimizer=optimizer)) as page:
        loss = page.evaluate(STEP, 1000)
        weights = page.evaluate("[...page.model.weights]")
    assert loss == pytest.approx(trained(model, optimizer, 1000), rel=1e-12, abs=1e-12)
    expected = [p.data for p in model.parameters()]
    assert weights == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_gpt_of_the_demo_trains_as_in_python(shown):
    demo, letters = load("microgpt"), "abcdefghijklmnopqrstuvwxyz"
    random.seed(0)
    model, names = demo.GPT(tokens=27), demo.NAMES.split()
    optimizer = Adam(model.parameters(), demo.LR, demo.BETAS)
    made = microscope(model, f"{letters}·", names, optimizer=optimizer)
    assert len(made.html) < 3e6
    with shown(made) as page:
        assert page.locator(".head").count() == demo.HEADS
        loss = page.evaluate(STEP, 200)
    assert loss == pytest.approx(trained(model, optimizer, 200, letters, names), rel=1e-12)


def test_a_number_is_followed_down_to_the_weights(shown):
    random.seed(3)
    with shown(microscope(Recurrent(), "ab.", TEXTS), hash="#text=ab&at=1") as page:
        assert page.locator("#boxes h3").all_inner_texts() == ["update", "hidden", "output"]
        page.locator(".box", has_text="output").locator(".strip button").first.click()
        assert page.locator("#number td").first.inner_text().startswith("output.")
        page.locator("#number td button").first.click()
        assert "training changes it" in page.locator("#number").inner_text()
        page.get_by_role("button", name="Back").click()
        page.get_by_role("button", name="Gradients", exact=True).click()
        assert page.locator("#blame").is_visible()


def test_it_opens_at_the_last_letter_with_one_number_explained(shown):
    random.seed(3)
    model = Recurrent()
    with shown(microscope(model, "ab.", TEXTS)) as page:
        assert page.locator("#positions [aria-pressed=true]").inner_text() == TEXTS[0][-1]
        codes = [2, *("ab".index(letter) for letter in TEXTS[0])]
        logits = [z.data for z in model.logits(codes)[-1]]
        best = logits.index(max(logits))
        told = page.locator("#number .big").inner_text().replace("−", "-")
        assert told == f"logit of {'ab.'[best]} at position {len(TEXTS[0])} = {max(logits):.4g}"
        strip = page.locator(".strip").last
        assert strip.locator("button").all_inner_texts() == ["a", "b", "."]
        scale = strip.locator("span").inner_text().replace("±", "")
        assert float(scale) == pytest.approx(max(map(abs, logits)), rel=1e-3)


def test_a_step_reads_the_next_text_or_the_one_typed(shown):
    with shown(microscope(Bigram(), "ab.", TEXTS), hash="#text=ba") as page:
        page.get_by_role("button", name="One step").click()
        changed = page.locator("#changed").inner_text()
        assert "read “abba”" in changed
        assert "Your text “ba” is another one" in changed
        loss = page.locator("#loss").inner_text()
        page.get_by_label("One step reads").select_option("the text above")
        page.get_by_role("button", name="One step").click()
        assert "read “ba”" in page.locator("#changed").inner_text()
        assert page.locator("#loss").inner_text() < loss


def test_steps_and_texts_can_be_undone_and_sent(shown):
    model = Bigram()
    start = [float(k) for k in range(9)]
    with shown(
        microscope(model, "ab.", TEXTS, untrained=start), hash="#text=ba&at=1&untrained"
    ) as page:
        weights = "[...page.model.weights]"
        assert page.evaluate(weights) == start
        page.get_by_role("button", name="One step").click()
        assert page.evaluate(weights) != start
        assert "→" in page.locator("#changed").inner_text()
        page.get_by_role("button", name="Undo").click()
        assert page.evaluate(weights) == start
        page.get_by_role("button", name="Trained weights", exact=True).click()
        assert page.evaluate(weights) == [p.data for p in model.parameters()]
        page.get_by_label("Your text").fill("axb")
        refused = page.locator("#refused").inner_text()
        assert "does not know “x”" in refused
        assert "knows only a b" in refused
        page.get_by_label("Your text").fill("ababab")
        assert "1 to 4 tokens" in page.locator("#refused").inner_text()
        page.get_by_label("Your text").fill("aBa")  # capitals are read as small letters
        assert page.locator("#refused").inner_text() == ""
        assert page.locator("#positions button").count() == 4


def test_a_loss_that_is_no_number_is_told_and_draws_no_bars(shown):
    model = Recurrent()
    with shown(
        microscope(model, "ab.", TEXTS, optimizer=SGD(model.parameters())),
        hash="#rate=1000&number=&text=ba",
    ) as page:
        assert page.locator("#number button").count() == 0  # an empty number is none
        page.get_by_label("Learning rate").fill("-1")
        page.keyboard.press("Tab")
        assert "stays 1000: expected" in page.locator("#refusedRate").inner_text()
        page.evaluate("page.model.weights.fill(NaN)")
        page.get_by_role("button", name="1,000 steps").click()
        until(page, "$('trained-said').innerText.includes('no longer a number')")
        assert not page.evaluate("page.isTraining()")
        assert "NaN" not in page.locator("main").inner_text()
        assert page.locator("#invented").inner_text() == ""
        widths = "[...document.querySelectorAll('.bar i')].map(line => line.style.width)"
        assert {*page.evaluate(widths)} == {"0%"}
        page.evaluate("location.hash = '#text=ab&at=1'")
        page.locator("#positions button >> nth=2 >> text=b").wait_for()
        assert "no longer a number" not in page.locator("#trained-said").inner_text()


def test_readers_of_all_kinds_can_use_it(shown):
    with shown(
        microscope(Recurrent(), ["<b>", "b c", "."], [["<b>", "b c"]], title="<i>"),
        width=390,
        hash="#gradients",
    ) as page:
        page.locator(".strip button").first.click()
        page.get_by_role("button", name="One step").click()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_wrong_arguments():
    with pytest.raises(ValueError, match="add its tokens"):
        microscope(Bigram(), "ab.", ["abc"])
    with pytest.raises(ValueError, match="parameters of the model"):
        microscope(Bigram(), "ab.", TEXTS, optimizer=SGD([Value(1.0)]))
    with pytest.raises(ValueError, match="lists of 3 logits"):
        microscope(Short(), "ab.", TEXTS)
