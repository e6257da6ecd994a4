"""The page of a recorded run: what is in the file, and what a browser shows."""

import random
import re

import numpy as np
import pytest
from browser import assert_print_is_light, colours, until
from plotting import HOSTILE, X, Y, data_of, trained

from micrograd import plot
from micrograd.nn import MLP


@pytest.mark.slow
def test_a_hundred_steps_of_the_larger_network_stay_below_a_megabyte():
    random.seed(0)
    network = MLP(2, [16, 16, 1], activation="tanh")
    square = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 25  # the largest grid there is
    history = plot.animate(network, square, [0, 1] * 50)
    for p in network.parameters():
        p.grad = random.uniform(-1, 1)
    for _ in range(101):
        history.record(random.random())
    page = history.page().html
    data = data_of(page)
    assert len(data["steps"]) == 101
    assert "maps" in data
    assert "weights" in data
    assert len(page.encode()) < 1e6


# ---- the page in a browser


@pytest.fixture(scope="module")
def history():
    return trained(12, hidden=(4, 3))


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_the_page_fits_and_draws_on_every_screen(history, shown, width, scheme):
    options = {"color_scheme": scheme, "reduced_motion": "reduce", "device_scale_factor": 2}
    with shown(history, width=width, **options) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for canvas in ("#boundary", "#loss", "#accuracy"):
            assert colours(page, canvas) > 20, canvas
            pixels, shown_at = page.eval_on_selector(canvas, "e => [e.width, e.clientWidth]")
            assert pixels == pytest.approx(2 * shown_at, abs=1)


def test_buttons_keys_and_slider_lead_through_the_steps(history, shown):
    with shown(history, reduced_motion="reduce") as page:
        until(page, "document.querySelector('#said').textContent")
        assert page.text_content("#said").startswith("step 0 of 12 · loss ")
        assert page.get_attribute("#play", "aria-label") == "Play"
        for act, step in [
            (lambda: page.get_by_label("Step forward").click(), 1),
            (lambda: page.click("#last"), 12),
            (lambda: page.keyboard.press("ArrowRight"), 12),
            (lambda: page.get_by_label("Step back").click(), 11),
            (lambda: page.keyboard.press("ArrowLeft"), 10),
            (lambda: page.keyboard.press("Home"), 0),
            (lambda: page.keyboard.press("ArrowRight"), 1),
            (lambda: page.focus("#slider"), 1),
            (lambda: page.keyboard.press("ArrowRight"), 2),  # once, whatever has the focus
            (lambda: page.keyboard.press("End"), 12),
            (lambda: page.click("#first"), 0),
            (lambda: page.fill("#slider", "7"), 7),
            (lambda: page.focus("#show-gradients"), 7),
            (lambda: page.keyboard.press("ArrowRight"), 8),
        ]:
            act()
            until(page, f"document.querySelector('#said').textContent.includes('step {step} of')")
            value = page.get_attribute("#slider", "aria-valuetext")
            assert value.startswith(f"step {step} of 12 · loss ")
        page.focus("#forward")
        page.keyboard.press("Space")  # presses the button and does not play
        until(page, "document.querySelector('#said').textContent.includes('step 9 of')")


def test_it_plays_to_the_end_and_again(shown):
    history = plot.animate(lambda P: P[:, 0], X, Y)
    for step in range(20):
        history.record(1 / (step + 1))
    with shown(history) as page:
        assert page.text_content("#said").startswith("step 0 of")  # it waits for its reader
        assert not page.evaluate("page.transport.isPlaying()")
        page.click("#play")
        until(page, "page.now() === page.count - 1 && !page.transport.isPlaying()")
        until(page, "document.querySelector('#said').ariaLive === 'polite'")
        page.keyboard.press("Space")  # from the beginning to the end again
        until(page, "page.now() === page.count - 1 && !page.transport.isPlaying()")


def test_the_network_shows_gradients_and_what_a_neuron_sees(history, shown):
    frames = history.all_frames()
    about = "document.querySelector('#about').textContent"
    with shown(history, reduced_motion="reduce") as page:
        until(page, f"{about} !== ''")
        largest = max(abs(frame.weights).max() for frame in frames)
        assert f"Thickest line: weight of ±{largest:.3g}" in page.text_content("#about")
        label = page.get_attribute("#network > svg", "aria-label")
        assert "layers of 4, 3, 1 neurons" in label
        page.get_by_role("button", name="gradients").click()
        until(page, f"{about}.includes('gradient of')")
        assert f"{abs(frames[0].gradients).max():.2g}"[:4] in page.text_content("#about")
        page.get_by_role("button", name="weights").click()
        before = page.evaluate("document.querySelector('#boundary').toDataURL()")
        page.hover("[aria-label='L1.n1']")
        until(page, f"{about}.startsWith('L1.n1')")
        weights = frames[0].weights[4 * 3 + 5 : 4 * 3 + 10]
        text = page.text_content("#about").replace("−", "-")
        assert text.startswith("L1.n1: weights ")
        assert [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", text)[2:]] == (
            pytest.approx(weights.tolist(), rel=0.01, abs=1e-3)
        )
        assert page.evaluate("document.querySelector('#boundary').toDataURL()") != before


def test_the_regions_are_where_the_model_puts_them(shown):
    history = plot.animate(
        lambda P: np.stack([P[:, 0], -P[:, 0], 0 * P[:, 0] + P[:, 1] - 0.5], axis=1) * 9,
        [[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], [1, 0, 2], names=HOSTILE[:3],
    )  # fmt: skip
    with shown(history, reduced_motion="reduce") as page:
        left, right = page.evaluate(
            """() => {
            const canvas = document.getElementById("boundary"), {width, height} = canvas;
            const row = Math.round(0.6 * height);
            const {data} = canvas.getContext("2d").getImageData(0, row, width, 1);
            const places = [0.2, 0.8].map(x => 4 * Math.round(x * width));
            return places.map(i => [...data.slice(i, i + 3)]);
        }"""
        )
        assert left[0] > left[1] > left[2]  # the orange of class 1
        assert right[0] < right[1] < right[2]  # the blue of class 0


@pytest.mark.parametrize(
    ("make", "visible", "said"),
    [
        (lambda: trained(2, model_of=lambda n: lambda p: n(p)), False, ""),
        (lambda: trained(0, hidden=(40, 40)), True, "40, 40, 1 neurons has too many weights"),
        (lambda: trained(2, end=False), True, "Thickest line"),
        (lambda: plot.animate(lambda P: P[:, 0], [[1.0, 1.0]], [1]), False, ""),
        (lambda: plot.animate(lambda P: P[:, 0] * 0, [[0, 0], [900, 1]], [0, 1]), False, ""),
    ],
)
def test_runs_with_less_in_them_play_too(shown, make, visible, said):
    with shown(make(), reduced_motion="reduce") as page:
        page.keyboard.press("End")
        page.wait_for_timeout(100)
        assert page.is_visible("#inside") == visible
        assert said in page.text_content("#inside")


def test_the_end_says_that_gradients_are_not_known_there(shown):
    with shown(trained(2, end=False), reduced_motion="reduce") as page:
        page.click("#show-gradients")
        page.click("#last")
        until(page, "document.querySelector('#about').textContent.startsWith('No grad')")
        assert "loss not known" in page.text_content("#said")


def test_print_is_light_and_without_buttons(history, shown):
    with shown(history, color_scheme="dark", reduced_motion="reduce") as page:
        assert_print_is_light(page, ["#boundary"], hidden="#play")
