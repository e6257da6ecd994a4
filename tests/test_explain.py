"""The page computes what the engine computes, step by step, in a real browser."""

import random

import pytest
from operations import TABLE
from random_graphs import SMOOTH, build

from micrograd import Value, no_grad, topological_order
from micrograd.derivatives import local_derivatives
from micrograd.nn import MLP
from micrograd.pages.explain import explain

HOSTILE = [
    "</script><script>document.title = 'broken'</script>", "<img src=x onerror=alert(1)>", '"', "'",
    "\\", "{{svg}}", "${1}", "`", "-->", "<!--", "]]>", "&amp;", "عربي", "\u202etfel", "\u2028",
    "a\nb", "x" * 300, "größe Ω 損失", "d[0]", "__proto__", "constructor",
]  # fmt: skip


def neuron():
    """The lecture's neuron: its output, and its names."""
    x1, x2, w1, w2, b = map(Value, (2.0, 0.0, -3.0, 1.0, 6.8813735870195432))
    n = x1 * w1 + x2 * w2 + b
    o = n.tanh()
    return o, locals()


def diamond():
    """r = p q + q with p = a a and q = p + a: nodes that are used twice, at different depths."""
    a = Value(3.0)
    p = a * a
    q = p + a
    m = p * q
    r = m + q
    return r, locals()


def engine(root):
    """Data and gradients of all nodes, by name v0, v1, ..., as the engine has them."""
    order = topological_order(root)
    for v in order:
        v.grad = 0
    root.backward()
    return [v.item() for v in order], [float(v.grad) for v in order]


@pytest.fixture
def shown(opened, tmp_path):
    """`with shown(root, names) as page:` opens the page of a graph from its file."""

    def show(root, names=None, title=None, **options):
        path = tmp_path / "page.html"
        explain(root, names=names, title=title).save(path)
        return opened(path, **options)

    return show


def rows(page, table="#table"):
    """A table of the page: the texts of each row, by its first cell."""
    cells = [row.locator("td").all_inner_texts() for row in page.locator(f"{table} tbody tr").all()]
    return {first: rest for first, *rest in cells}


# ---- the file


def test_one_small_file_without_addresses():
    page = explain(*neuron()).html
    assert len(page.encode()) < 100_000
    assert "<link rel=stylesheet" not in page
    addresses = {part.split('"')[0] for part in page.split("http")[1:]}
    assert addresses <= {"://www.w3.org/2000/svg", "://www.w3.org/1999/xlink"}  # names, not links


def test_the_same_graph_gives_the_same_page_and_stays_as_it_is():
    o, names = neuron()
    o.backward()
    before = [(v.data, v.grad, v._prev) for v in topological_order(o)]
    assert explain(o, names=names).html == explain(o, names=names).html
    assert [(v.data, v.grad, v._prev) for v in topological_order(o)] == before


def test_what_is_refused():
    with pytest.raises(TypeError, match="starts from a Value, got float"):
        explain(1.0)
    y = Value(1.0)
    for _ in range(1000):
        y = y.tanh()
    with pytest.raises(ValueError, match=r"at most 1000 nodes, got 1001: explain"):
        explain(y)


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    page = explain(Value(1.0) + 2.0)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        page.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"


def test_what_the_repl_says():
    assert repr(explain(neuron()[0])).startswith("<page of 10 nodes and 12 steps: .save(")


# ---- the same numbers as the engine


def compared(page, root):
    """Runs the page's program on the graph's leaves and compares it with the engine to 1e-12."""
    data, gradients = engine(root)
    leaves = [[i, v.item()] for i, v in enumerate(topological_order(root)) if not v._prev]
    found = page.evaluate("leaves => (({d, g}) => [d, g])(run(new Map(leaves)))", leaves)
    assert found[0] == pytest.approx(data, rel=1e-12, abs=1e-12)
    assert found[1] == pytest.approx(gradients, rel=1e-12, abs=1e-12)


def test_every_operation_computes_in_the_page_as_in_the_engine(shown):
    def all_at_once(k):
        points = [row.points[k % len(row.points)] for row in TABLE]
        results = [row.function(*map(Value, at)) for row, at in zip(TABLE, points, strict=True)]
        return sum(results)

    with shown(all_at_once(0)) as page:
        for k in range(4):
            compared(page, all_at_once(k))


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_on_random_inputs(shown, seed):
    dice = random.Random(seed)
    steps = [[dice.randrange(100) for _ in range(3)] for _ in range(12)]

    def graph():
        return build([Value(dice.uniform(-2, 2)) for _ in range(3)], steps, SMOOTH)

    with shown(graph()) as page:
        for _ in range(10):
            compared(page, graph())


def test_local_derivatives_of_the_page_are_those_of_the_closures(shown):
    r, names = diamond()
    expected = {
        f"{i}/{edge}": d
        for i, v in enumerate(topological_order(r))
        for edge, d in enumerate(local_derivatives(v))
    }
    with shown(r, names) as page:
        found = page.evaluate(
            "Object.fromEntries(program(right.d, nodes.map(() => 1)).backward.flatMap(closure =>"
            "closure.shares.map(({edge, share}) => [`${closure.node}/${edge}`, share()])))"
        )
    assert found == expected


# ---- stepping


def test_stepping_by_click_key_and_slider_ends_with_the_gradients_of_the_engine(shown):
    o, names = neuron()
    o.backward()
    with shown(o, names) as page:
        count = page.locator("#count")
        assert count.inner_text() == "0 / 11"
        assert rows(page)["o"] == ["tanh(n)", "·", "0"]
        page.click("#next")
        assert count.inner_text() == "1 / 11"
        assert page.locator("#lines").inner_text() == "v2 = x1 * w1 = 2 * (−3) = −6"
        assert rows(page)["v2"] == ["x1 * w1", "−6", "0"]
        page.keyboard.press("ArrowRight")
        assert count.inner_text() == "2 / 11"
        page.keyboard.press("ArrowLeft")
        page.click("#back")
        assert count.inner_text() == "0 / 11"
        page.click("#last")
        assert count.inner_text() == "11 / 11"
        page.keyboard.press("Home")
        assert count.inner_text() == "0 / 11"
        page.locator("#slider").fill("11")
        table = rows(page)
        for name in ("x1", "x2", "w1", "w2", "b"):
            assert float(table[name][2].replace("−", "-")) == pytest.approx(names[name].grad, 1e-3)
        assert page.evaluate("played.g") == pytest.approx(engine(o)[1], rel=1e-12)


def test_what_is_said_and_marked_at_a_step_of_the_backward_pass(shown):
    r, names = diamond()
    with shown(r, names) as page:
        page.locator("#slider").fill("5")
        assert page.locator("#phase").inner_text() == "seed"
        assert page.locator("#lines").inner_text() == "r.grad = 1"
        page.click("#next")
        assert page.locator("#lines li").all_inner_texts() == [
            "m.grad += r.grad = 1",
            "q.grad += r.grad = 1 so q.grad = 0 + 1 = 1",
        ]
        page.click("#next")
        assert page.locator("#lines li").all_inner_texts() == [
            "p.grad += q * m.grad = 12 * 1 = 12 so p.grad = 0 + 12 = 12",
            "q.grad += p * m.grad = 9 * 1 = 9 so q.grad = 1 + 9 = 10",
        ]
        marked = page.locator("#table td.new").all_inner_texts()
        assert [text.split()[-1] for text in marked] == ["12", "10"]
        assert page.locator("#graph .node.on").count() == 1
        assert page.locator("#graph .node.touched").count() == 2
        assert page.locator("#graph .edge.on").count() == 2
        assert page.locator("#graph .flow").all_text_contents() == ["12", "9"]


def test_playing_stops_at_the_end_and_space_pauses(shown):
    with shown(*neuron()) as page:
        page.select_option("#speed", "200")
        page.locator("h1").click()
        page.keyboard.press("Space")
        assert page.locator("#play").inner_text() == "Pause"
        page.wait_for_function("at === 3")
        page.keyboard.press("Space")
        assert page.locator("#play").inner_text() == "Play"
        page.click("#play")
        page.wait_for_function("at === 11 && !timer")
        assert page.locator("#play").inner_text() == "Play"


def test_cards_show_what_the_table_shows(shown):
    with shown(*neuron()) as page:
        for step in (0, 3, 8, 11):
            page.locator("#slider").fill(str(step))
            cards = page.evaluate(
                "[...cards].map(([i, {data, grad}]) =>"
                " [nodes[i].name, data.textContent, grad.textContent])"
            )
            table = rows(page)
            assert len(cards) == 10
            for name, data, grad in cards:
                assert table[name][1:] == [data, grad]


# ---- knobs


def test_a_knob_recomputes_forward_and_backward_at_once(shown):
    o, names = neuron()
    with shown(o, names) as page:
        page.click("#last")
        page.get_by_label("w1", exact=True).fill("-2.5")
        names["w1"].data = -2.5
        x1, x2, w1, w2, b = (names[k] for k in ("x1", "x2", "w1", "w2", "b"))
        again = (x1 * w1 + x2 * w2 + b).tanh()
        data, gradients = engine(again)
        assert page.evaluate("played.d") == pytest.approx(data, rel=1e-12)
        assert page.evaluate("played.g") == pytest.approx(gradients, rel=1e-12)
        page.get_by_label("w1, slider").focus()
        page.keyboard.press("ArrowRight")  # turns the knob and does not step
        assert page.locator("#count").inner_text() == "11 / 11"
        assert page.evaluate("leaves.get(1)") > -2.5
        page.click("#reset")
        assert page.evaluate("leaves.get(1)") == -3


def test_every_leaf_has_a_knob_and_an_empty_box_changes_nothing(shown):
    x = Value(2.0, label="x")
    with shown(3 * x + 1.5) as page:
        assert page.locator("#leaves .knob").count() == 1
        assert page.locator("#knobs details .knob").count() == 2  # the constants, folded
        page.get_by_label("x", exact=True).fill("")
        assert page.evaluate("played.d[nodes.length - 1]") == 7.5
        page.get_by_label("x", exact=True).fill("-1")
        assert page.evaluate("played.d[nodes.length - 1]") == -1.5


def test_leaves_of_a_user_defined_operation_have_no_knob_and_the_page_says_why(shown):
    x, w = Value(2.0, label="x"), Value(5.0, label="w")
    cube = Value(x.data**3, (x,), "cube", label="cube")

    def _backward():
        x.grad += 3 * x.data**2 * cube.grad

    cube._backward = _backward
    root = cube * w
    with shown(root) as page:
        assert page.get_by_label("x", exact=True).is_disabled()
        assert page.get_by_label("w", exact=True).is_enabled()
        assert "No knob for x:" in page.locator("#fixed").inner_text()
        compared(page, root)


def test_a_knob_turned_out_of_the_domain_is_told_and_can_be_turned_back(shown):
    x = Value(1.0, label="x")
    with shown(x.log()) as page:
        page.get_by_label("x", exact=True).fill("-1")
        page.locator("#slider").fill("1")
        assert page.locator("#alarm").inner_text() == "v1 is nan from step 1 on: turn a knob back."
        page.get_by_label("x", exact=True).fill("2")
        assert page.locator("#alarm").is_hidden()
        assert page.locator("#lines").inner_text() == "v1 = log(x) = log(2) = 0.6931"


# ---- break it

# By hand, for a = 3: p = 9, q = 12, m = 108, r = 120, and right are
# r' = 1, m' = 1, q' = 1 + p = 10, p' = q + q' = 22, a' = q' + 2 a p' = 142.
WRONG = {
    "assign": {"q": 9, "p": 9, "a": 27},  # q' = p, p' = q', a' = a p'
    # r, m, p (with 12 of its 22), then q (with 10): a' = 2 * 3 * 12 + 10
    "order": {"a": 82},
    "twice": {"a": 284},
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_show_the_wrong_numbers_beside_the_right_ones(shown, mistake):
    r, names = diamond()
    right = {"a": "142", "p": "22", "q": "10", "m": "1", "r": "1"}
    with shown(r, names) as page:
        page.locator(f"#breaks input[value={mistake}]").check()
        table = rows(page, "#comparison")
        for name, wrong in WRONG[mistake].items():
            assert table[f"{name}.grad"] == [str(wrong), right[name]]
        assert page.locator("#comparison tr.wrong").count() == len(WRONG[mistake])
        assert page.locator("#why").inner_text().endswith(".")
        page.click("#last")
        assert rows(page)["a"][2] == str(WRONG[mistake]["a"])
        page.locator("#breaks input[value=none]").check()
        assert page.locator("#comparison").is_hidden()
        assert rows(page)["a"][2] == "142"


def test_a_wrong_local_derivative_of_a_chosen_operation(shown):
    r, names = diamond()
    with shown(r, names) as page:
        page.locator("#breaks input[value=local]").check()
        # by default that of m = p q: q' = 1 + 1, p' = 1 + q', a' = q' + 2 a p'
        assert rows(page, "#comparison")["a.grad"] == [str(2 + 6 * 3), "142"]
        page.select_option("#which select", label="p = a * a")
        assert rows(page, "#comparison")["a.grad"] == [str(10 + 2 * 22), "142"]


def test_a_mistake_that_makes_no_difference_here_is_told_so(shown):
    with shown(*neuron()) as page:
        page.locator("#breaks input[value=assign]").check()
        assert "no difference" in page.locator("#why").inner_text()


def test_two_passes_are_played_one_after_the_other(shown):
    with shown(*neuron()) as page:
        assert page.evaluate("played.frames.length") == 12
        page.locator("#breaks input[value=twice]").check()
        assert page.evaluate("played.frames.filter(f => f.phase === 'seed').length") == 2
        assert page.evaluate("played.frames.length") == 18


# ---- paths


def test_pointing_at_a_card_shows_its_paths(shown):
    r, names = diamond()
    with shown(r, names) as page:
        page.locator("#graph .node").nth(1).hover()
        assert page.locator("#sum p").inner_text() == "d r / d p = 22, the sum over 3 paths"
        assert page.locator("#sum li").all_inner_texts() == [
            "p → q → m → r: 1 × 9 × 1 = 9",
            "p → q → r: 1 × 1 = 1",
            "p → m → r: 12 × 1 = 12",
        ]
        assert page.locator("#graph .node.path").count() == 4
        assert page.locator("#graph .edge.path").count() == 5
        page.locator("h1").hover()
        assert page.locator("#graph .path").count() == 0


def test_cards_are_reached_by_keyboard_and_many_paths_are_counted(shown):
    y = Value(1.0, label="x")
    for _ in range(40):
        y = y * y
    with shown(y) as page:
        page.locator("#graph .node").first.focus()
        assert "1,099,511,627,776 paths, too many" in page.locator("#sum").inner_text()
        page.keyboard.press("Enter")
        page.locator("#play").focus()
        assert "paths, too many" in page.locator("#sum").inner_text()  # it stays


# ---- readers of all kinds


def test_hostile_labels_do_no_harm(shown):
    root = sum(Value(1.0, label=label) * 2.0 for label in (*HOSTILE, HOSTILE[0]))
    with shown(root, title=HOSTILE[0]) as page:
        page.click("#last")
        assert page.title() == HOSTILE[0]
        assert page.locator("img").count() == 0
        names = page.evaluate("nodes.map(n => n.name)")
        assert {*HOSTILE, HOSTILE[0] + " (2)"} <= set(names)
        assert page.locator("h1").text_content() == HOSTILE[0]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        compared(page, root)


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1920])
def test_no_width_needs_sideways_scrolling(shown, width):
    random.seed(0)
    model = MLP(3, [4, 4, 1])
    with shown(model([1.0, 2.0, 3.0]), {"model": model}, width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_print_shows_graph_and_all_steps_without_controls(shown):
    with shown(*neuron()) as page:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert page.locator("#transport").is_hidden()
        assert page.locator("#transcript li").count() == 12
        assert page.locator("#transcript li").nth(1).is_visible()


def test_without_scripts_the_picture_is_there(shown):
    with shown(*neuron(), java_script_enabled=False) as page:
        assert page.locator("#graph svg .node").count() == 10
        assert "need JavaScript" in page.locator("noscript").inner_text()


def test_three_lines_in_a_notebook(opened, tmp_path):
    """A notebook shows the page in a frame, whatever surrounds it."""
    a, b = Value(2.0, label='"a"'), Value(3.0)
    cell = explain(a * b)._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<style>* {{ color: red }}</style>{cell}", encoding="utf-8")
    with opened(path) as page:
        frame = page.frame_locator("iframe")
        frame.locator("#last").click()
        assert frame.locator("#count").inner_text() == "3 / 3"


def test_in_a_frame_that_is_not_on_the_screen_yet(opened, tmp_path):
    cell = explain(neuron()[0])._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<div style='display: none'>{cell}</div>", encoding="utf-8")
    with opened(path) as page:
        frame = page.frames[1]
        frame.wait_for_function("typeof played === 'object'")
        page.evaluate("document.querySelector('div').style.display = ''")
        frame.wait_for_function("svg.getBoundingClientRect().width > 100")
        for kind in ("data", "grad"):
            boxes = frame.evaluate(
                "kind => [...cards.values()].map(({group, [kind]: text}) => [text, group]"
                ".map(part => part.getBoundingClientRect()).map(({left, right}) => [left, right]))",
                kind,
            )
            for text, card in boxes:
                assert card[0] < text[0] < text[1] < card[1]


def test_a_single_leaf_and_numbers_that_are_not_finite(shown):
    with shown(Value(2.0)) as page:
        page.click("#last")
        assert rows(page) == {"v0": ["input", "2", "1"]}
    with shown(Value(float("inf")) * Value(float("nan"))) as page:
        page.click("#last")
        assert rows(page)["v2"][1] == "nan"


def test_a_constant_that_is_turned_is_called_by_its_new_number(shown):
    x = Value(3.0, label="x")
    with shown(x * 2.0) as page:
        page.locator("#knobs summary").click()
        page.get_by_label("constant 2", exact=True).fill("5")
        page.click("#next")
        assert page.locator("#lines").inner_text() == "v2 = x * 5 = 3 * 5 = 15"
        assert rows(page)["v2"][0] == "x * 5"


def test_the_second_of_two_nodes_with_one_label_is_told_apart_on_its_card_too(shown):
    a, b = Value(2.0, label="x"), Value(3.0, label="x")
    with shown(a * b) as page:
        texts = page.locator("#graph text").all_text_contents()
        assert texts.count("x") == 1
        assert texts.count("x (2)") == 1
        assert page.evaluate("nodes.map(n => n.name)") == ["x", "x (2)", "v2"]


def test_small_gradients_are_shown_and_not_taken_for_noise(shown):
    x = Value(1.0, label="x")
    y = x
    for _ in range(30):
        y = y * 1e-3
    with shown(y) as page:
        page.click("#last")
        assert rows(page)["x"][2] == "1e−90"
        assert page.locator("#leaves .rate").inner_text() == "1e−90"


def test_numbers_in_formulas_and_exponents_are_written_as_elsewhere(shown):
    x = Value(2.0, label="x")
    with shown(x**1e-5) as page:
        page.click("#next")
        assert page.locator("#lines").inner_text() == "v1 = x ** 1e−5 = 2 ** 1e−5 = 1"


def test_a_graph_whose_leaves_have_moved_since_says_so(shown):
    w = Value(1.0, label="w")
    loss = (w - 2) ** 2
    with shown(loss) as page:
        assert page.locator("#stale").is_hidden()
    w.data = 7.0
    with shown(loss) as page:
        assert page.locator("#stale").inner_text().endswith("v3 was 1 and is now 25.")


def test_a_user_defined_operation_is_called_by_its_name(shown):
    a, b = Value(3.0, label="a"), Value(4.0, label="b")
    h = Value(5.0, (a, b), "hypot", label="h")

    def _backward():
        a.grad += a.data / h.data * h.grad
        b.grad += b.data / h.data * h.grad

    h._backward = _backward
    with shown(h * 2.0) as page:
        page.click("#next")
        assert page.locator("#about").inner_text().startswith("A user-defined operation")
        assert page.locator("#lines").inner_text() == "h = hypot(a, b) = hypot(3, 4) = 5"
        assert rows(page)["h"][0] == "hypot(a, b)"


def test_a_maximum_is_called_by_its_name_and_played_by_its_program(shown):
    a, b = Value(3.0, label="a"), Value(4.0, label="b")
    with shown(a.maximum(b)) as page:
        page.click("#next")
        assert page.locator("#lines").inner_text() == "v2 = maximum(a, b) = maximum(3, 4) = 4"
        page.click("#last")
        assert page.locator("#lines li").all_inner_texts()[0].startswith("a.grad += where(a > b, ")


def test_the_tab_key_stops_only_at_the_card_of_the_step(shown):
    with shown(*neuron()) as page:
        assert page.locator("#graph [tabindex='0']").count() == 1
        page.locator("#slider").fill("3")
        focusable = page.locator("#graph [tabindex='0']")
        assert focusable.get_attribute("aria-label") == "v6, data −6, grad 0"
        focusable.click()
        assert focusable.get_attribute("aria-pressed") == "true"


def test_the_transcript_leads_to_its_steps_and_follows_the_knobs(shown):
    with shown(*neuron()) as page:
        page.locator("#transcript summary").click()
        page.locator("#transcript button").nth(4).click()
        assert page.locator("#count").inner_text() == "4 / 11"
        assert page.locator("#transcript [aria-current=step]").count() == 1
        page.get_by_label("x1", exact=True).fill("4")
        assert "x1 * w1 = 4 * (−3) = −12" in page.locator("#transcript").inner_text()


def test_reset_brings_back_sliders_and_boxes(shown):
    with shown(*neuron()) as page:
        box, slider = page.get_by_label("x1", exact=True), page.get_by_label("x1, slider")
        box.fill("3.5")
        assert slider.input_value() == "3.5"
        page.click("#reset")
        assert (box.input_value(), slider.input_value()) == ("2", "2")


def test_playing_from_the_end_starts_again(shown):
    with shown(*neuron()) as page:
        page.click("#last")
        page.click("#play")
        assert page.locator("#count").inner_text() == "0 / 11"


def test_zoom_stays_when_only_the_height_changes(shown):
    with shown(*neuron()) as page:
        page.click("#larger")
        before = page.evaluate("scale")
        page.set_viewport_size({"width": 1280, "height": 700})
        assert page.evaluate("scale") == before
        page.set_viewport_size({"width": 800, "height": 700})
        page.wait_for_function("before => scale !== before", arg=before)


def test_what_trace_refuses_explain_refuses():
    x = Value(2.0)
    y = x * x
    with no_grad(), pytest.raises(ValueError, match="no_grad"):
        explain(y)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_on_light_and_on_dark(shown, scheme):
    with shown(*neuron(), color_scheme=scheme) as page:
        colours = page.evaluate(
            "['color', 'background-color'].map(c => getComputedStyle(document.body)[c === 'color'"
            " ? 'color' : 'backgroundColor'].match(/\\d+/g).map(Number).reduce((a, b) => a + b))"
        )
    assert abs(colours[0] - colours[1]) > 500


def test_300_nodes(shown):
    random.seed(1)
    model = MLP(3, [6, 6, 1], activation="tanh")
    loss = sum((model(x) - y) ** 2 for x, y in [([2.0, 3.0, -1.0], 1.0), ([3.0, -1.0, 0.5], -1.0)])
    assert len(topological_order(loss)) > 300
    with shown(loss, {"model": model}) as page:
        page.click("#last")
        compared(page, loss)
