"""Films of training: what is recorded, the GIF, and the page in a real browser."""

import base64
import io
import json
import random
import re

import numpy as np
import pytest
from PIL import Image

from micrograd import plot
from micrograd.datasets import blobs, moons
from micrograd.engine import Value
from micrograd.film import as_bytes, as_scores
from micrograd.losses import binary_cross_entropy, cross_entropy
from micrograd.nn import MLP, Activation, Linear, Sequential
from micrograd.plane import Lanes, Plane, Stack, class_scores, scores

X, Y = moons(30)
HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"'&<b>",
    "w" * 500,
    "עברית",
    "$x^$",
    "\u202e\u2028",
]


def trained(steps, hidden=(4,), classes=2, film_of=None, names=None, end=True, **options):
    """A film of some steps of gradient descent; with `end`, the last state has its gradients."""
    random.seed(0)
    points, labels = (X, Y) if classes == 2 else blobs(30, classes=classes)
    network = MLP(2, [*hidden, 1 if classes == 2 else classes], activation="tanh")
    model = film_of(network) if film_of else network
    loss_of = binary_cross_entropy if classes == 2 else cross_entropy
    film = plot.animate(model, points, labels, names=names, **options)
    for step in range(steps + 1):
        loss = sum(map(loss_of, map(model, points), labels)) / len(points)
        network.zero_grad()
        loss.backward()
        if step < steps or end:
            film.record(loss)
        if step < steps:
            for p in network.parameters():
                p.data -= 0.5 * p.grad
    return film


def data_of(page):
    text = re.search(r'<script id="film" type="application/json">(.*?)</script>', page)[1]
    return json.loads(text)


# ---- what is recorded


def test_a_frame_holds_what_belongs_to_the_same_weights():
    random.seed(0)
    network = MLP(2, [1])
    film = plot.animate(network, X, Y)
    seen = []
    for _ in range(3):
        loss = sum(map(binary_cross_entropy, map(network, X), Y)) / len(X)
        network.zero_grad()
        loss.backward()
        film.record(loss)
        seen.append(
            ([p.data for p in network.parameters()], [p.grad for p in network.parameters()])
        )
        seen[-1] += (loss.data, np.mean([(network(x) > 0) == k for x, k in zip(X, Y, strict=True)]))
        for p in network.parameters():
            p.data -= p.grad
    frames = film.frames()
    assert [frame.step for frame in frames] == [0, 1, 2, 3]
    for frame, (weights, gradients, loss, accuracy) in zip(frames, seen, strict=False):
        assert frame.weights.tolist() == weights
        assert frame.gradients.tolist() == gradients
        assert (frame.loss, frame.accuracy) == (loss, pytest.approx(accuracy))
        expected = class_scores(lambda P, w=weights: P @ w[:2] + w[2], film.plane.grid, 2)
        assert np.abs(frame.scores - as_bytes(expected)[0].astype(int)).max() <= 1  # rounding
    # the weights after the last step, of which nobody told the loss
    assert frames[3].weights.tolist() == [p.data for p in network.parameters()]
    assert frames[3].loss is None
    assert frames[3].gradients is None


def test_no_frame_is_added_where_the_model_has_not_moved():
    assert [frame.step for frame in trained(2, end=True).frames()] == [0, 1, 2]
    assert [frame.step for frame in trained(2, end=False).frames()] == [0, 1, 2]
    assert trained(2, end=True).frames()[-1].gradients is not None


def test_a_film_of_a_model_that_was_not_trained_has_one_frame():
    (frame,) = plot.animate(lambda P: P[:, 0], X, Y).frames()
    assert (frame.step, frame.loss) == (0, None)


@pytest.mark.parametrize("steps", [9, 10, 11, 100, 129])
def test_of_a_long_run_some_frames_are_kept_with_the_first_and_the_last(steps):
    film = plot.animate(lambda P: P[:, 0], X, Y, resolution=3, frames=10)
    for step in range(steps + 1):
        film.record(step)
    kept = [frame.step for frame in film.frames()]
    assert kept[0] == 0
    assert kept[-1] == steps
    assert 5 <= len(kept) <= 11
    assert [frame.loss for frame in film.frames()] == kept
    gaps = np.diff(kept[:-1])
    assert len(set(gaps.tolist())) == 1


def test_ctrl_c_in_the_middle_of_recording_leaves_the_frames_before_it():
    asked = []

    def model(points):
        asked.append(1)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return points[:, 0]

    film = plot.animate(model, X, Y, resolution=3)
    film.record(1.0)
    with pytest.raises(KeyboardInterrupt):
        film.record(0.5)
    assert [(frame.step, frame.loss) for frame in film.frames()] == [(0, 1.0)]


def test_recording_leaves_the_model_alone():
    network = MLP(2, [3, 1])
    network([Value(1.0), Value(2.0)]).backward()
    before = [(p.data, p.grad) for p in network.parameters()]
    plot.animate(network, X, Y).record()
    assert [(p.data, p.grad) for p in network.parameters()] == before
    assert network([1.0, 2.0])._prev


def test_a_loss_that_is_not_finite_is_unknown_and_scores_that_are_nan_are_refused():
    film = plot.animate(lambda P: P[:, 0], X, Y)
    for loss in (np.nan, np.inf, Value(2.0), np.float64(3.0)):
        film.record(loss)
    assert [frame.loss for frame in film.frames()] == [None, None, 2.0, 3.0]
    with pytest.raises(ValueError, match="is NaN: did training diverge"):
        plot.animate(lambda P: P[:, 0] * np.nan, X, Y).record()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frames": 1}, "frames is at least 2"),
        ({"resolution": 1}, "resolution is at least 2"),
        ({"names": ["a"]}, "names of two classes"),
        ({"network": len}, "network expects an MLP, or a Sequential with layers, got <built-in"),
        ({"X": [[1.0, 2.0, 3.0]] * 30}, "two coordinates"),
    ],
)
def test_what_cannot_be_filmed_is_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        plot.animate(lambda P: P[:, 0], **{"X": X, "y": Y, **options})


def test_bytes_keep_the_boundary_where_it_is():
    z = np.linspace(-30, 30, 2001)[:, None]
    in_bytes, unit = as_bytes(z)
    again = as_scores(in_bytes, unit)
    assert in_bytes.dtype == np.int8
    assert np.all(np.sign(again) == np.sign(np.where(abs(z) < 0.015, 0, z)))
    assert np.allclose(again, z, rtol=0.05, atol=0.02)
    three = np.array([[1.0, 5.0, 2.0], [1e9, -1e9, 0.0], [0.0, 0.0, 0.0]])
    again = as_scores(*as_bytes(three))
    assert again.argmax(axis=1).tolist() == [1, 0, 0]
    assert np.isfinite(again).all()
    high = as_scores(*as_bytes(np.array([[100.0, 101.0, 60.0]])))[0]
    assert high[1] - high[0] == pytest.approx(1, abs=0.1)


# ---- all points at once


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "linear"])
def test_many_numbers_at_once_give_the_same_answers(activation):
    network = MLP(2, [5, 3, 2], activation=activation)
    grid = Plane(X, 7).grid
    at_once = scores(network, grid, 2, lanes=True)
    assert np.allclose(at_once, scores(network, grid, 2), atol=1e-12)


def test_every_operation_goes_through_lanes():
    def model(point):
        a, b = point
        z = (a.exp() + 2).log() * b.sin() / (a.cos() + 3) - abs(b) ** 2.5 + 1 / (3 + a * a)
        return z.maximum(-1).minimum(a) + (b * b + 1).sqrt() + 2 ** (a / 4) - b**2

    asked = []

    def counted(point):
        asked.append(point)
        return model([x if isinstance(x, Value) else Value(x) for x in point])

    grid = Plane(X, 9).grid
    assert np.allclose(scores(counted, grid, lanes=True), scores(counted, grid))
    assert sum(isinstance(point[0], Value) for point in asked) == 2  # a trial, and all
    assert isinstance(next(p for p in asked if isinstance(p[0], Value))[0].data, Lanes)


@pytest.mark.parametrize(
    "model",
    [
        lambda point: 1.0 if point[0] > 0.5 else -1.0,  # looks at its data
        lambda point: float(np.hypot(*point)) - 1,
        lambda point: [sum(point)],
        lambda point: Value(point[0] if isinstance(point[0], float) else 0.0),  # other answers
    ],
)
def test_models_that_cannot_take_all_points_at_once_are_asked_one_by_one(model):
    grid = Plane(X, 6).grid
    expected = [float(getattr(v := model(p), "data", v[0] if isinstance(v, list) else v))
                for p in grid.tolist()]  # fmt: skip
    assert np.allclose(scores(model, grid, lanes=True)[:, 0], expected)


def test_an_error_at_one_of_the_points_is_the_one_that_a_single_point_meets():
    points = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1000.0, 0.0]])
    with pytest.raises(OverflowError, match=r"exp"):
        scores(lambda p: (Value(1) * p[0]).exp(), points, lanes=True)


# ---- layers


def test_layers_are_found_with_their_neurons_and_answers():
    network = Sequential(
        lambda p: [2 * x for x in p], Linear(2, 3, bias=False), Activation("relu"), MLP(3, [2, 1])
    )
    stack = Stack(network)
    assert stack.sizes == [2, 3, 2, 1]
    assert len(stack.numbers("data")) == 3 * 3 + 2 * 4 + 3
    answers = [a.data for a in stack.answers([0.5, -0.25])]
    hidden = [a.data for a in network.modules[2](network.modules[1]([1.0, -0.5]))]
    assert answers[:3] == hidden
    assert answers[5:] == [network([0.5, -0.25]).data]


@pytest.mark.parametrize(
    "model", [len, Activation("relu"), Sequential(Linear(2, 3), lambda x: x[:2], Linear(2, 1))]
)
def test_models_without_a_chain_of_layers_have_no_picture_of_them(model):
    assert Stack(model).sizes == []
    with pytest.raises(ValueError, match="expected an MLP, or a Sequential with layers"):
        plot.hidden_neurons(model, X, Y)


def test_hidden_neurons_draws_a_map_of_each_neuron_in_columns():
    random.seed(0)
    network = MLP(2, [10, 3, 1], activation="tanh")
    figure = plot.hidden_neurons(network, X, Y, resolution=9)
    maps, scales = figure.axes[:14], figure.axes[14:]
    assert [ax.get_title(loc="left") for ax in maps if ax.get_title(loc="left")] == [
        "layer 1", "layer 2", "output",
    ]  # fmt: skip
    columns = {round(ax.get_position().x0, 3) for ax in maps}
    assert len(columns) == 4  # ten neurons stand in two
    assert [ax.get_ylabel() for ax in scales] == ["", "", "answer"]
    plane = Plane(X, 9)
    third = [network.layers[0](p)[2].data for p in plane.grid.tolist()]
    assert np.allclose(np.ravel(maps[2].images[0].get_array()), third)
    boxes = [ax.get_position() for ax in figure.axes]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    with pytest.raises(ValueError, match="300 neurons are too many"):
        plot.hidden_neurons(MLP(2, [300]), X, Y)


def test_every_map_of_hidden_neurons_has_the_scale_beside_its_layer():
    random.seed(0)
    network = MLP(2, [3, 2, 1])
    for w in network.layers[0].neurons[1].w:
        w.data *= 30.0
    for p in network.layers[1].parameters():
        p.data *= 0.01
    figure = plot.hidden_neurons(network, X, Y, resolution=5)
    stack, plane = Stack(network), Plane(X, 5)
    answers = np.array([[a.data for a in stack.answers(p)] for p in plane.grid.tolist()]).T
    layers = np.split(answers, [3, 5])
    maps, scales = figure.axes[:6], figure.axes[6:]
    assert abs(layers[0]).max() > 10
    assert abs(layers[1]).max() < 1
    for ax, expected in zip(maps, answers, strict=True):
        assert np.allclose(np.ravel(ax.images[0].get_array()), expected)
    of_layer = np.split(np.array(maps), [3, 5])
    for scale, axes, found in zip(scales, of_layer, layers, strict=True):
        largest = max(1.0, abs(found).max())
        assert scale.get_ylim() == pytest.approx((-largest, largest))
        ticks = [float(label.get_text().replace("\N{MINUS SIGN}", "-"))
                 for label in scale.get_yticklabels()]  # fmt: skip
        assert ticks == pytest.approx([-largest, 0.0, largest], rel=5e-3)
        for ax in axes:
            assert ax.images[0].get_clim() == pytest.approx((-largest, largest))
            others = [other.get_position().x0 for other in scales]
            right = ax.get_position().x1
            assert min(x for x in others if x > right - 1e-9) == scale.get_position().x0


# ---- the GIF


def test_a_gif_moves_at_readme_width_and_holds_the_last_frame(tmp_path):
    trained(5).save(tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.width == 720
        assert gif.n_frames == 6
        durations, first = [], gif.convert("RGB")
        for i in range(gif.n_frames):
            gif.seek(i)
            durations.append(gif.info["duration"])
        assert durations == [80] * 5 + [2000]
        assert gif.info["loop"] == 0
        assert first.getpixel((2, 2)) == (255, 255, 255)
        assert np.abs(np.asarray(gif.convert("RGB")).astype(int) - np.asarray(first)).max() > 100
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]


def test_a_gif_shows_at_most_61_frames_the_first_and_the_last_among_them():
    film = plot.animate(lambda P: P[:, 0] + film_shift[0], X, Y, resolution=3, frames=200)
    film_shift = [0.0]
    for step in range(100):
        film_shift[0] = step / 100
        film.record(1 / (step + 1))
    with Image.open(io.BytesIO(film.gif())) as gif:
        assert gif.n_frames == 61


@pytest.mark.parametrize("make", [lambda film: film.gif(), lambda film: film.page()])
def test_the_same_run_gives_the_same_bytes(make):
    assert make(trained(2)) == make(trained(2))


def test_drawing_a_film_changes_no_setting_and_loads_no_pyplot():
    import matplotlib

    before = dict(matplotlib.rcParams)
    trained(1, classes=3, names=["a", "b", "c"]).gif()
    assert dict(matplotlib.rcParams) == before


# ---- files


@pytest.mark.parametrize("name", ["film.mp4", "film.png", "film", "film.htm"])
def test_other_endings_are_refused_with_those_that_can_be(tmp_path, name):
    with pytest.raises(ValueError, match=r"expected one of the endings \.gif \.html$"):
        plot.check_path(tmp_path / name, plot.FILMS)
    with pytest.raises(ValueError, match=r"expected one of the endings \.gif \.html$"):
        plot.animate(lambda P: P[:, 0], X, Y).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_film(tmp_path, monkeypatch):
    path = tmp_path / "film.html"
    path.write_text("old")

    def full(source, target):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space left"):
        trained(1).save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_hundred_steps_of_the_larger_network_stay_below_a_megabyte():
    random.seed(0)
    network = MLP(2, [16, 16, 1], activation="tanh")
    square = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 25  # the largest grid there is
    film = plot.animate(network, square, [0, 1] * 50)
    for p in network.parameters():
        p.grad = random.uniform(-1, 1)
    for _ in range(101):
        film.record(random.random())
    page = film.page()
    data = data_of(page)
    assert len(data["steps"]) == 101
    assert "maps" in data
    assert "weights" in data
    assert len(page.encode()) < 1e6


def test_the_page_is_ascii_without_anything_to_fetch():
    page = trained(1, classes=6, names=HOSTILE).page()
    assert "alert(1)</script>" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search(r"(src|href)\s*=|@import|url\(|https?://", page)
    assert "{film}" not in page
    assert data_of(page)["names"] == HOSTILE


def test_data_of_the_page_can_be_read_back():
    film = trained(3, hidden=(4, 3))
    data, frames = data_of(film.page()), film.frames()
    weights = np.frombuffer(base64.b64decode(data["weights"]), "<i2").reshape(4, -1)
    again = weights[2] / 32000 * data["weightScales"][2]
    assert np.allclose(again, frames[2].weights, atol=1e-3)
    gradients = np.frombuffer(base64.b64decode(data["gradients"]), "<i2").reshape(4, -1)
    again = gradients[1] / 32000 * data["gradientScales"][1]
    assert np.allclose(again, frames[1].gradients, rtol=1e-2, atol=1e-4)
    stored = np.frombuffer(base64.b64decode(data["scores"]), np.int8).reshape(4, -1)
    assert np.array_equal(stored[3], frames[3].scores[:, 0])
    assert data["hasGradients"] == [True] * 4


# ---- the page in a browser


def page_of(film, folder):
    path = folder / "film.html"
    film.save(path)
    return path


def until(page, expression):
    """Waits for it. (Playwright's own way compiles text in the page, which forbids that.)"""
    for _ in range(500):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"waited in vain for {expression}, shown is: {shown(page)}")


def shown(page):
    return page.text_content("#said")


@pytest.fixture(scope="module")
def film():
    return trained(12, hidden=(4, 3))


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_draws_on_every_screen(film, tmp_path, opened, width, scheme):
    path = page_of(film, tmp_path)
    options = {"color_scheme": scheme, "reduced_motion": "reduce", "device_scale_factor": 2}
    with opened(path, width=width, **options) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for canvas in ("boundary", "loss", "accuracy", "network"):
            colours, pixels, shown_at = page.evaluate(
                """(id) => {
                  const canvas = document.getElementById(id), context = canvas.getContext("2d");
                  const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
                  const found = new Set();
                  for (let i = 0; i < data.length; i += 4) found.add(data.slice(i, i + 4).join());
                  return [found.size, canvas.width, canvas.clientWidth];
                }""",
                canvas,
            )
            assert colours > 20, canvas
            assert pixels == pytest.approx(2 * shown_at, abs=1)


def test_buttons_keys_and_slider_lead_through_the_steps(film, tmp_path, opened):
    with opened(page_of(film, tmp_path), reduced_motion="reduce") as page:
        until(page, "document.querySelector('#said').textContent")
        assert shown(page).startswith("step 0 of 12 · loss ")
        assert page.get_attribute("#play", "aria-label") == "Play"
        for act, step in [
            (lambda: page.click("#forward"), 1),
            (lambda: page.click("#last"), 12),
            (lambda: page.click("#forward"), 12),
            (lambda: page.click("#back"), 11),
            (lambda: page.keyboard.press("ArrowLeft"), 10),
            (lambda: page.keyboard.press("Home"), 0),
            (lambda: page.keyboard.press("ArrowRight"), 1),
            (lambda: page.focus("#slider"), 1),
            (lambda: page.keyboard.press("ArrowRight"), 2),  # by the slider itself, once
            (lambda: page.keyboard.press("End"), 12),
            (lambda: page.click("#first"), 0),
            (lambda: page.fill("#slider", "7"), 7),
        ]:
            act()
            until(page, f"document.querySelector('#said').textContent.includes('step {step} of')")
            value = page.get_attribute("#slider", "aria-valuetext")
            assert value.startswith(f"step {step} of 12, loss ")
        assert page.input_value("#slider") == "7"
        page.focus("#forward")
        page.keyboard.press("Space")  # presses the button, and does not play
        until(page, "document.querySelector('#said').textContent.includes('step 8 of')")
        page.focus("input[value=weights]")
        page.keyboard.press("ArrowRight")  # chooses the other, and does not step
        assert page.is_checked("input[value=gradients]")
        page.wait_for_timeout(100)
        assert "step 8 of" in shown(page)


def test_it_plays_by_itself_to_the_end_and_space_pauses(tmp_path, opened):
    film = plot.animate(lambda P: P[:, 0], X, Y, resolution=3)
    for step in range(100):  # 8 seconds, whatever else the machine does
        film.record(1 / (step + 1))
    is_playing = "document.querySelector('#play').ariaLabel === 'Pause'"
    with opened(page_of(film, tmp_path)) as page:
        assert page.evaluate(is_playing)
        assert page.get_attribute("#said", "aria-live") == "off"
        until(page, "now > 1")
        page.keyboard.press("Space")
        until(page, f"!({is_playing})")
        assert page.evaluate("now < count - 1")
        page.fill("#slider", "95")
        page.keyboard.press("Space")
        until(page, is_playing)
        until(page, f"now === 99 && !({is_playing})")
        until(page, "document.querySelector('#said').ariaLive === 'polite'")
        page.keyboard.press("Space")  # from the beginning again
        until(page, f"now < 50 && {is_playing}")
        page.check("#loop")
        page.evaluate("now = 99")
        until(page, f"now < 50 && {is_playing}")


def test_who_wants_less_motion_starts_it_by_hand(film, tmp_path, opened):
    with opened(page_of(film, tmp_path), reduced_motion="reduce") as page:
        page.wait_for_timeout(300)
        assert shown(page).startswith("step 0 of")
        page.focus("#play")
        page.keyboard.press("Space")  # the button's own key, once
        until(page, "document.querySelector('#said').textContent.includes('step 3 of')")


def test_the_network_shows_gradients_and_what_a_neuron_sees(film, tmp_path, opened):
    frames = film.frames()
    with opened(page_of(film, tmp_path), reduced_motion="reduce") as page:
        until(page, "nodes.length > 0")
        largest = max(abs(frame.weights).max() for frame in frames)
        assert f"Thickest line: weight of ±{largest:.3g}" in page.text_content("#about")
        assert "layers of 4, 3, 1 neurons" in page.get_attribute("#network", "aria-label")
        page.check("text=gradients")
        until(page, "document.querySelector('#about').textContent.includes('gradient of')")
        assert f"{abs(frames[0].gradients).max():.2g}"[:4] in page.text_content("#about")
        page.check("text=weights")
        before = page.evaluate("document.querySelector('#boundary').toDataURL()")
        x, y = page.evaluate(
            "[...nodes.map(n => [n.left + n.width / 2, n.top + n.height / 2])][5]"
        )  # of layer 2, the second
        page.hover("#network", position={"x": x, "y": y})
        until(page, "document.querySelector('#about').textContent.startsWith('Layer 2')")
        weights = frames[0].weights[4 * 3 + 5 : 4 * 3 + 10]
        text = page.text_content("#about").replace("−", "-")
        assert text.startswith("Layer 2, neuron 2: weights ")
        assert [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", text)[2:]] == (
            pytest.approx(weights.tolist(), rel=0.01, abs=1e-3)
        )
        assert page.evaluate("document.querySelector('#boundary').toDataURL()") != before


def test_the_regions_are_where_the_model_puts_them(tmp_path, opened):
    film = plot.animate(
        lambda P: np.stack([P[:, 0], -P[:, 0], 0 * P[:, 0] + P[:, 1] - 0.5], axis=1) * 9,
        [[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], [1, 0, 2], names=HOSTILE[:3],
    )  # fmt: skip
    with opened(page_of(film, tmp_path), reduced_motion="reduce") as page:
        look = """([x, y]) => {
            const row = Math.round(y * (fineRows - 1)), column = Math.round(x * (fineColumns - 1));
            return verdict(scoresOf(0), row * fineColumns + column);
        }"""
        for (x, y), label in {(0.1, 0.2): 1, (0.9, 0.2): 0, (0.5, 0.95): 2}.items():
            found, lead = page.evaluate(look, [x, y])
            assert found == label
            assert lead > 0.9
        assert page.evaluate(look, [0.5, 0.1])[1] == pytest.approx(0, abs=0.01)
        r, g, b = page.evaluate(
            """() => {
            const canvas = document.getElementById("boundary");
            const at = [canvas.width * 0.2, canvas.height * 0.6].map(Math.round);
            return [...canvas.getContext("2d").getImageData(...at, 1, 1).data].slice(0, 3);
        }"""
        )
        assert r > g > b  # the orange of class 1, on the left


def test_hostile_names_are_text_and_nothing_else(tmp_path, opened):
    path = page_of(trained(2, classes=6, names=HOSTILE), tmp_path)
    for width in (390, 1280):
        with opened(path, width=width, reduced_motion="reduce") as page:
            assert [
                item.text_content() for item in page.query_selector_all("#legend bdi")
            ] == HOSTILE
            assert page.evaluate("document.scripts.length") == 2
            assert page.evaluate("document.querySelectorAll('b').length") == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("make", "visible", "said"),
    [
        (lambda: trained(2, film_of=lambda n: lambda p: n(p)), False, ""),
        (lambda: trained(2, hidden=(40, 40)), True, "2, 40, 40, 1 neurons has too many weights"),
        (lambda: trained(2, end=False), True, "Thickest line"),
        (lambda: plot.animate(lambda P: P[:, 0], [[1.0, 1.0]], [1]), False, ""),
        (lambda: plot.animate(lambda P: P[:, 0] * 0, [[0, 0], [900, 1]], [0, 1]), False, ""),
    ],
)
def test_films_with_less_in_them_play_as_well(tmp_path, opened, make, visible, said):
    with opened(page_of(make(), tmp_path), reduced_motion="reduce") as page:
        page.click("#last")
        page.wait_for_timeout(100)
        assert page.is_visible("#inside") == visible
        assert said in page.text_content("#inside")


def test_the_network_inside_a_function_is_drawn_if_named(tmp_path, opened):
    random.seed(0)
    network = MLP(2, [3, 1])
    film = plot.animate(lambda p: network(p), X, Y, network=network)
    film.record()
    with opened(page_of(film, tmp_path), reduced_motion="reduce") as page:
        until(page, "nodes.length === 4")
        assert "Point at a neuron" not in page.text_content("#about")  # their answers are not known


def test_the_end_says_that_gradients_are_not_known_there(tmp_path, opened):
    with opened(page_of(trained(2, end=False), tmp_path), reduced_motion="reduce") as page:
        page.check("text=gradients")
        page.click("#last")
        until(page, "document.querySelector('#about').textContent.startsWith('No grad')")
        assert "loss not known" in shown(page)


def test_print_is_light_and_without_buttons(film, tmp_path, opened):
    with opened(page_of(film, tmp_path), color_scheme="dark", reduced_motion="reduce") as page:
        corner = """() => [...document.getElementById("network").getContext("2d")
            .getImageData(0, 0, 1, 1).data]"""
        ink = "theme.ink"
        assert page.evaluate(ink) == "#e8eaed"
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(ink) == "#222222"
        page.emulate_media(media="print")
        assert not page.is_visible("#play")
        assert page.is_visible("#boundary")
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(ink) == "#e8eaed"
        assert page.evaluate(corner)[3] == 0


def test_notebooks_show_the_page_in_a_frame_of_its_own(tmp_path, opened):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><p>cell</p>{trained(2, names=HOSTILE[:2])._repr_html_()}")
    with opened(path, reduced_motion="reduce") as page:
        frame = page.frames[1]
        frame.click("#first")
        until(frame, "document.querySelector('#said').textContent.includes('step 0 of 2')")
        frame.click("#last")
        until(frame, "document.querySelector('#said').textContent.includes('step 2 of 2')")
        assert page.evaluate("getComputedStyle(document.body).maxWidth") == "none"
