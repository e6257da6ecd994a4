"""The stepping page computes what the engine computes, and shows one moment at a time."""

import math
import random

import pytest
from browser import until
from operations import TABLE
from page_programs import diamond, engine, network, neuron
from random_graphs import SMOOTH, build

from micrograd import MLP, Value, calls, explain, no_grad, topological_order
from micrograd.core import arithmetic
from micrograd.core.node import operation, operations
from micrograd.draw import formulas
from micrograd.draw.graph import graph
from micrograd.draw.hierarchy import Hierarchy

HOSTILE = [
    "</script><script>document.title = 'broken'</script>", "<img src=x onerror=alert(1)>", '"', "'",
    "\\", "{{data}}", "${1}", "`", "-->", "<!--", "]]>", "&amp;", "عربي", "\u202etfel", "\u2028",
    "a\nb", "x" * 300, "größe Ω 損失", "d[0]", "__proto__", "constructor",
]  # fmt: skip


@pytest.fixture
def shown(shown):
    """`with shown(root, names) as page:` opens the page of a graph."""
    return lambda root, names=(), title=None, of=None, **options: shown(
        explain(root, names=dict(names or {}), title=title, **(of or {})), **options
    )


def cards(page):
    """The texts (data, grad) of all cards, by the names of their nodes."""
    return page.evaluate(
        "Object.fromEntries([...page.stage.cards.values()].map(({item, data, grad}) =>"
        " [itemName(page.model, item), [data?.textContent, grad?.textContent]]))"
    )


def step_to(page, at):
    page.evaluate("at => page.transport.goTo(at < 0 ? page.model.steps.count + at : at)", at)


def compared(page, root):
    """Compares what the page computes from its leaves with the engine, to 1e-12."""
    data, gradients = engine(root)
    leaves = [[i, v.item()] for i, v in enumerate(topological_order(root)) if not v._prev]
    found = page.evaluate(
        "leaves => { const steps = new Steps(page.model.graph, page.model.view, new Map(leaves));"
        " return [[...steps.d], [...steps.gradients()]]; }",
        leaves,
    )
    assert found[0] == pytest.approx(data, rel=1e-12, abs=1e-12)
    order = enumerate(topological_order(root))
    needed = [i for i, v in order if not v.is_constant]  # a constant needs no gradient
    pairs = [(found[1][i], gradients[i]) for i in needed]
    assert [a for a, _ in pairs] == pytest.approx([b for _, b in pairs], rel=1e-12, abs=1e-12)


# ---- the file


def test_the_same_graph_gives_the_same_small_page_and_stays_as_it_is():
    o, names = neuron()
    o.backward()
    before = [(v.data, v.grad, v._prev) for v in topological_order(o)]
    page = explain(o, names=names).html
    assert explain(o, names=names).html == page
    assert len(page.encode()) < 165_000
    assert [(v.data, v.grad, v._prev) for v in topological_order(o)] == before


def test_what_is_refused():
    with pytest.raises(TypeError, match="starts from a Value, got float"):
        explain(1.0)
    x = Value(2.0)
    y = x * x
    for setting, wrong in {"level": "deep", "rankdir": "up"}.items():
        with pytest.raises(ValueError, match=setting):
            explain(y, **{setting: wrong})
    with no_grad(), pytest.raises(ValueError, match="no_grad"):
        explain(y)
    x._prev = (y,)
    with pytest.raises(ValueError, match="cycle"):
        explain(y)


# ---- the same numbers as the engine


def test_every_operation_computes_in_the_page_as_in_the_engine(shown):
    def all_at_once(k):
        points = [row.points[k % len(row.points)] for row in TABLE]
        results = [row.function(*map(Value, at)) for row, at in zip(TABLE, points, strict=True)]
        return sum(results)

    with shown(all_at_once(0)) as page:
        for k in range(4):
            compared(page, all_at_once(k))


def test_random_programs_and_networks(shown):
    dice = random.Random(0)
    steps = [[dice.randrange(100) for _ in range(3)] for _ in range(12)]
    program = build([Value(dice.uniform(-2, 2)) for _ in range(3)], steps, SMOOTH)
    loss, names = network(3)
    for root, given in ((program, {}), (loss, names)):
        with shown(root, given) as page:
            compared(page, root)


def test_a_rule_that_changes_in_python_changes_on_the_page(shown):
    def wrong(a):
        def _backward(upstream, a):
            a.grad += 7 * upstream

        return arithmetic.tanh(a.data), _backward

    right = Value.tanh
    try:
        Value.tanh = operation("tanh")(wrong)
        x = Value(0.5, label="x")
        with shown(x.tanh()) as page:
            step_to(page, -1)
            assert cards(page)["x"] == ["0.5", "7"]
    finally:
        Value.tanh = operations["tanh"] = right


# ---- stepping


def test_one_clock_by_click_key_and_slider(shown):
    o, names = neuron()
    with shown(o, names) as page:
        assert cards(page)["o"] == ["·", "·"]
        assert cards(page)["w₁"] == ["−3", "·"]
        page.get_by_role("button", name="Step forward").click()
        assert "= 2 × (−3) = −6" in page.locator("#equation").inner_text()
        assert cards(page)["x₁w₁"] == ["−6", "·"]
        page.keyboard.press("End")
        assert cards(page)["w₁"] == ["−3", "1"]
        page.get_by_role("button", name="Step back").click()
        page.keyboard.press("Home")
        page.locator("#slider").fill("8")
        assert page.locator("#count").inner_text() == "8 of 12"
        assert cards(page)["n"] == ["0.8814", "0.5"]
        assert cards(page)["w₁"] == ["−3", "·"]  # not known yet
        page.get_by_role("button", name="Mistakes").click()
        page.get_by_role("button", name="forgotten zero_grad()").click()
        page.keyboard.press("ArrowRight")  # steps, wherever the focus is
        assert page.locator("#count").inner_text().startswith("9 of")


def test_the_arrows_turn_and_carry_three_factors_also_when_one_is_1(shown):
    with shown(*neuron()) as page:
        step_to(page, 8)  # n = (x1 w1 + x2 w2) + b
        assert page.locator("#graph.backward").count() == 1
        texts = page.locator("#graph .label").all_text_contents()
        assert texts == ["1 × 0.5= 0.5"] * 2
        assert page.locator("#graph .head.ahead").first.is_hidden()
        assert page.locator("#graph .arrow.now .head.back").count() == 2
        chain = page.locator("#chains").inner_text()
        assert "gradient: 0.5 (used once)" in chain
        assert "x1w1 + x2w2" in chain.replace("\n", "")
    x = Value(3.0, label="x")
    with shown(x * x) as page:
        step_to(page, -2)
        labels = page.locator("#graph .label").all_text_contents()
        assert labels == ["1st use 3 × 1= 3", "2nd use 3 × 1= 3"]
        assert "gradient: 3 + 3 = 6" in page.locator("#chains").inner_text()


def test_a_product_forms_before_it_is_added_and_at_once_for_those_who_want_no_motion(shown):
    order = (
        "['local', 'gradient', 'share', 'sum'].map(name => document.getAnimations().find("
        "({effect}) => effect.target.matches(`#chains .${name}`))?.effect.getTiming().delay ?? 0)"
    )
    for motion in ("no-preference", "reduce"):
        with shown(*neuron(), reduced_motion=motion) as page:
            step_to(page, 7)
            page.keyboard.press("ArrowRight")
            delays = page.evaluate(order)
            assert delays == sorted(delays)
            assert (len({*delays}) == 4) == (motion == "no-preference")
    a = Value(3.0, label="a")
    with shown(a * a + a) as page:  # the sum waits for what is added to it
        step_to(page, 4)
        page.keyboard.press("ArrowRight")
        grads = "document.getAnimations().some(x => x.effect.target.matches('.fresh.grad'))"
        assert page.evaluate(grads)
        sums = page.locator("#chains .sum").all_text_contents()
        assert sums == [
            "gradient: 1 + 3 = 4; more will follow",
            "gradient: 4 + 3 = 7, the sum of 3 uses",
        ]


def test_in_a_small_frame_the_first_button_is_in_sight(shown):
    with shown(*neuron(), width=720, height=480, hash="#embed") as page:
        box = page.locator("#forward").bounding_box()
        assert box["y"] + box["height"] < 480


def test_sums_add_up_as_they_are_printed(shown):
    with shown(*neuron()) as page:
        step_to(page, 4)
        assert page.locator("#equation").inner_text().endswith("= −6 + 6.8814 = 0.8814")
        pairs = [(1 / 3, 1 / 3), (2.0, -1e-3), (0.1, 0.2), (123.4567, 0.0004), (1e9, 1.0)]
        for a, b in pairs:
            said = page.evaluate("([a, b]) => added([a, b], a + b)", [a, b])
            x, y, total = (float(text.replace("−", "-")) for text in said["texts"])
            assert abs(x + y - total) < 1e-12 or said["is"] == "≈"
            assert total == pytest.approx(a + b, rel=1e-3)


def test_why_backwards_and_why_added_are_said_where_they_happen_first(shown):
    with shown(*neuron()) as page:
        step_to(page, 6)
        said = page.locator("#chains").inner_text()
        assert "only when those of the results next to it are known" in said
    with shown(*diamond()) as page:  # m = p q adds to q, to which r = m + q has contributed
        for step, is_first in enumerate([False, False, True, False]):
            step_to(page, page.evaluate("page.model.steps.seedAt") + step)
            assert ("Why add?" in page.locator("#chains").inner_text()) == is_first


def test_playing_stops_at_the_end_and_space_pauses(shown):
    with shown(*neuron(), reduced_motion="reduce") as page:
        page.select_option("#speed", "6")
        page.keyboard.press("Space")
        until(page, "page.transport.at() >= 2")
        page.keyboard.press("Space")
        assert not page.evaluate("page.transport.isPlaying()")
        assert page.locator("#graph .token").count() == 0  # no motion
        page.get_by_role("button", name="Play", exact=True).click()
        until(page, "page.transport.at() === 12 && !page.transport.isPlaying()")


# ---- knobs, nudge, predict, one step


def test_a_leaf_is_a_knob_and_undo_turns_it_back(shown):
    o, names = neuron()
    with shown(o, names) as page:
        step_to(page, -1)
        leaf = page.get_by_role("slider", name="w₁, input")
        leaf.focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("PageDown")
        assert page.evaluate("page.model.numbers.get(1)") == pytest.approx(-3.9)
        assert leaf.get_attribute("aria-valuetext") == "−3.9"
        assert page.locator("#count").inner_text() == "12 of 12"
        page.keyboard.press("Enter")  # to type a number
        page.locator("#value").fill("-2.5")
        names["w1"].data = -2.5
        x1, x2, w1, w2, b = (names[k] for k in ("x1", "x2", "w1", "w2", "b"))
        data, gradients = engine((x1 * w1 + x2 * w2 + b).tanh())
        assert page.evaluate("[...page.model.steps.d]") == pytest.approx(data, rel=1e-12)
        assert page.evaluate("[...page.model.steps.gradients()]") == pytest.approx(
            gradients, rel=1e-12
        )
        for button, value in [("Reset", -3), ("Undo", -2.5), ("Undo", -3)]:
            page.get_by_role("button", name=button).click()
            assert page.evaluate("page.model.numbers.get(1)") == value


def test_a_nudge_shows_the_predicted_move_beside_the_actual_one(shown):
    with shown(*neuron()) as page:
        page.select_option("#leaf", label="w₁")
        page.get_by_role("button", name="Nudge").click()
        assert "not known at this step" in page.locator("#nudged").inner_text()
        step_to(page, -1)
        page.locator("#delta").fill("0.02")
        actual = math.tanh(0.8813735870195432 + 2 * 0.02) - math.tanh(0.8813735870195432)
        gap = f"{0.02 - actual:.4g}"
        said = page.locator("#nudged").inner_text()
        assert "1 × 0.02 = +0.02" in said
        assert f"It moves by +{actual:.4g}: a gap of {gap}" in said
        assert cards(page)["w₁"] == ["−2.98", "1"]
        badges = page.locator("#graph .badge").all_text_contents()
        assert badges == [f"grad × Δ: +0.02actual: +{actual:.4g}"]


SLOPE = "name => $('slope').querySelector(name).getAttribute('d').match(/[\\d.-]+/g).map(Number)"


def test_the_gradient_is_the_slope_of_a_tangent_that_is_drawn_when_it_is_known(shown):
    with shown(*neuron()) as page:
        slope, caption = page.locator("#slope"), page.locator("#plot figcaption")
        assert caption.inner_text() == "o is not known yet"
        assert slope.locator(".curve").count() == 0
        step_to(page, 6)
        assert "x₁ = 2 and o = 0.7071. Its slope at the dot is the gradient" in caption.inner_text()
        assert slope.locator(".curve").count() == 1
        for at, known in ((10, 0), (11, 1), (12, 1)):
            step_to(page, at)
            assert slope.locator(".tangent").count() == known
        assert "tangent, is as steep there: 1.5 down for 1 to the right" in caption.inner_text()
        # in the middle of the curve, both go the same way
        curve, tangent = (page.evaluate(SLOPE, name) for name in (".curve", ".tangent"))
        near = [*zip(curve[::2], curve[1::2], strict=True)][29:32]
        (x, y, right, bottom), ((left, top), *_, (far, low)) = tangent, near
        assert (low - top) / (far - left) == pytest.approx((bottom - y) / (right - x), rel=0.05)
        box = slope.bounding_box()
        page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 60)
        page.mouse.down()  # the pointer moves the point
        page.mouse.up()
        assert 0.1 < page.evaluate("page.delta") < 0.4
        assert slope.locator(".gap").count() == 1
        assert "gap" in caption.inner_text()
        page.get_by_role("button", name="Mistakes").click()
        page.get_by_role("button", name="a wrong local derivative").click()
        step_to(page, -1)
        assert "is not its tangent" in caption.inner_text()


def test_predict_hides_the_next_number_until_it_has_been_typed(shown):
    with shown(*neuron()) as page:
        page.get_by_role("button", name="Predict").click()
        assert cards(page)["x₁w₁"] == ["?", "·"]
        page.locator("#answer").fill("5")
        page.get_by_role("button", name="Check").click()
        assert "Not yet" in page.locator("#verdict").inner_text()
        assert "−6" not in page.locator("#now").inner_text()
        page.locator("#answer").fill("-6")
        page.keyboard.press("Enter")
        assert page.locator("#verdict").inner_text() == "✓ Right: −6."
        assert cards(page)["x₁w₁"] == ["−6", "·"]
        step_to(page, 8)
        assert page.locator("#graph .label").all_text_contents() == ["?", "?"]
        page.get_by_role("button", name="Tell me").click()
        assert len(page.locator("#graph .label").all_text_contents()[0]) > 3


def test_one_step_moves_the_parameters_against_their_gradients(shown):
    o, names = neuron()
    o.backward()
    weights = [names["w1"], names["w2"], names["b"]]
    with shown(o, names, of={"parameters": weights}, hash="#rate=0.2") as page:
        page.get_by_role("button", name="Nudge").click()
        assert page.locator("#next").inner_text() == "w₁: −3 − 0.2 × gradient"
        step_to(page, -1)
        assert page.locator("#next").inner_text() == "w₁: −3 − 0.2 × 1 = −3.2"
        page.get_by_role("button", name="One step").click()
        assert not page.evaluate("page.nudging")  # one experiment at a time
        assert page.locator("#graph .badge").count() == 0
        order = topological_order(o)
        for w in weights:
            moved = page.evaluate("i => page.model.numbers.get(i)", order.index(w))
            assert moved == pytest.approx(w.data - 0.2 * w.grad, rel=1e-12)
        assert page.evaluate("page.model.numbers.get(0)") == 2  # an input stays
        told = page.locator("#descent").inner_text()
        assert "New = old − learning rate × gradient" in told
        assert "−3 − 0.2 × 1 = −3.2" in told
        assert "it stays, because its gradient is 0" in told  # w2, as x2 is 0
        page.get_by_role("button", name="One step").click()
        assert page.evaluate("page.descent.length") == 3
        for _ in range(2):
            page.get_by_role("button", name="Undo").click()
        assert page.evaluate("page.model.numbers.get(1)") == -3
        assert page.locator("#undo").is_disabled()


@pytest.mark.parametrize("width", [390, 960, 1280])
def test_what_a_step_did_is_in_sight(shown, width):
    o, names = neuron()
    weights = [names["w1"], names["w2"], names["b"]]
    with shown(o, names, of={"parameters": weights}, width=width) as page:
        page.get_by_role("button", name="One step").click()
        told = page.locator("#descent :is(p, li)").all()
        assert len(told) == 5
        for line in told:  # not covered by the graph, which stays in view on a phone
            assert line.evaluate("""line => {
              const seen = ({x, y, height}) => document.elementFromPoint(x + 9, y + height / 2);
              return [...line.getClientRects()].every(place => line.contains(seen(place)));
            }""")


# ---- mistakes

# By hand, for a = 3: p = 9, q = 12, m = 108, r = 120, and right are
# r' = 1, m' = 1, q' = 1 + p = 10, p' = q + q' = 22, a' = q' + 2 a p' = 142.
WRONG = {
    "= instead of +=": {"q": "9", "p": "9", "a": "27"},  # q' = p, p' = q', a' = a p'
    # r, m, p (with 12 of its 22), then q (with 10): a' = 2 * 3 * 12 + 10
    "no topological order": {"a": "82"},
    "forgotten zero_grad()": {"a": "284"},
    # by default that of m = p q: q' = 1 + 1, p' = 1 + q', a' = q' + 2 a p'
    "a wrong local derivative": {"q": "2", "p": "3", "a": "20"},
}
RIGHT = {"a": "142", "p": "22", "q": "10"}


def test_mistakes_show_the_wrong_numbers_beside_the_right_ones(shown):
    with shown(*diamond()) as page:
        step_to(page, -1)
        page.get_by_role("button", name="Mistakes").click()
        for label, wrong in WRONG.items():
            page.get_by_role("button", name=label, exact=True).click()
            step_to(page, -1)
            rows = page.locator("#comparison tbody tr").all()
            found = [row.locator("td").all_inner_texts() for row in rows]
            assert {name: [w, r] for name, w, r in found} == {
                name: [w, RIGHT[name]] for name, w in wrong.items()
            }
            assert cards(page)["a"] == ["3", wrong["a"]]
            page.get_by_role("button", name=label, exact=True).click()
        assert page.locator("#comparison").is_hidden()


def test_a_mistake_that_makes_no_difference_offers_a_graph_where_it_does(shown):
    with shown(*neuron()) as page:
        page.get_by_role("button", name="Mistakes").click()
        page.get_by_role("button", name="= instead of +=").click()
        page.get_by_role("button", name="Show it on a small graph").click()
        assert cards(page)["a"] == ["3", "27"]
        page.get_by_role("button", name="Back to my graph").click()
        assert cards(page)["w₁"] == ["−3", "·"]


# ---- levels


def test_numbers_and_folded_boxes_look_as_in_drawings(shown):
    dice = random.Random(3)
    numbers = [dice.choice([-1, 1]) * 10 ** dice.uniform(-9, 9) for _ in range(300)]
    numbers += [0.0, -0.0, 1e-4, 9.9995e-5, 9999.5, 0.30000000000000004, 1e300, 5e-324]
    loss, names = network(6)
    tree = Hierarchy(graph(loss, names=names))
    arrows = "open => { const {levels} = page.model; levels.focus = () => -1;"
    arrows += " return levels.view(new Set(open)).arrows.map(({from, to}) => [from, to]); }"
    with shown(loss, names) as page:
        assert page.evaluate("xs => xs.map(number)", numbers) == [*map(formulas.number, numbers)]
        for _ in range(20):
            opened = set()
            for part in tree.parts:
                if part.parent in {tree.root, *opened} and dice.random() < 0.6:
                    opened.add(part)
            drawn = tree.view(opened)
            count = len(tree.operands)
            names_of = {
                box.number: f"v{box.number}" if box.number < count else f"b{box.number - count}"
                for box in drawn.nodes
            }
            expected = {
                (names_of[o], names_of[box.number]) for box in drawn.nodes for o in box.operands
            }
            found = page.evaluate(arrows, [part.index for part in opened])
            assert {*map(tuple, found)} == expected


def test_a_network_opens_as_neurons_that_unfold_down_to_one_scalar(shown):
    loss, names = network()
    with shown(loss, names) as page:
        step_to(page, 3)
        before = cards(page)
        assert len(before) < 15
        assert "L1.n0.w0" not in before
        card = page.get_by_role("button", name="Unfold L0.n1")
        card.click()
        unfolded = cards(page)
        assert {"L0.n1.w0", "L0.n1.w1", "L0.n1.b"} < set(unfolded)
        page.get_by_role("button", name="Fold L0.n1").click()
        assert cards(page) == before
        page.get_by_role("button", name="Unfold: ").click()
        assert len(cards(page)) > len(before)
        names = page.locator("#graph .card title").all_text_contents()
        assert any("model.layers[0].neurons" in name for name in names)


def test_a_long_loop_opens_as_its_steps(shown):
    y = Value(1.0, label="x")
    for _ in range(2000):
        y = (y + 1.0).tanh()
    with shown(y) as page:
        assert len(cards(page)) <= 40
        page.get_by_role("button", name="Unfold: ").click()  # one step of a loop
        assert "tanh" in page.locator("#graph .sign").all_text_contents()
        step_to(page, -1)
        compared(page, y)


# ---- stacks, member by member


def largest_of(rows):
    """The sum over rows of a number made from the row's softmax."""

    def softmax(row):
        powers = [x.exp() for x in row]
        return [x / sum(powers) for x in powers]

    def largest(row):
        a, b = softmax(row)
        return (a * b + a).tanh()

    return sum(largest(row) for row in rows)


def test_a_stack_of_many_is_shown_one_member_at_a_time(shown):
    rows = [[Value(float(k), label=f"a{k}"), Value(1.0, label=f"b{k}")] for k in range(1, 27)]
    loss = calls(largest_of, rows)
    with shown(loss) as page:
        page.get_by_role("button", name="Unfold largest").press("Enter")
        which = page.get_by_role("spinbutton", name="Which largest")
        assert which.input_value() == "1"
        assert "of 26" in page.locator("#folds").inner_text()
        page.get_by_role("button", name="Unfold softmax").press("Enter")
        assert "exp" in cards(page)
        page.get_by_role("button", name="Next largest").click()  # the same place in the second
        assert page.locator("#folds b").inner_text() == "softmax"
        page.keyboard.press("PageDown")
        assert which.input_value() == "3"
        step_to(page, -1)
        compared(page, loss)
        third = cards(page)
        which.fill("26")
        page.keyboard.press("Enter")
        assert cards(page) != third
        state = "`step=${page.transport.at()}&open=${[...page.open].join('.')}`"
        until(page, f"location.hash.includes({state})")
        address, again = page.evaluate("location.hash"), cards(page)
        page.get_by_role("button", name="Whole graph").click()
        assert page.locator(".pager").count() == 0
        page.get_by_role("combobox", name="Find a box").fill("soft")
        for member in ("26", "25"):  # the last first
            page.keyboard.press("Enter")
            assert page.locator("#folds b").inner_text() == "softmax"
            assert which.input_value() == member
    with shown(loss, hash=address) as page:
        assert cards(page) == again


def test_a_box_of_many_values_shows_them_with_what_came_and_what_went_back(shown):
    w = [Value(x, label=f"w{k}") for k, x in enumerate((2.0, -1.0, 0.5))]

    def doubled(some):
        return [x * 2.0 * x for x in some]

    loss = calls(lambda: sum(x * (k + 1.0) for k, x in enumerate(doubled(w))))
    with shown(loss, of={"level": 0}) as page:
        page.get_by_role("button", name="Values").click()
        values = page.locator("#values tr")
        assert values.nth(1).locator("td").all_inner_texts() == ["·"] * 3
        step_to(page, -1)
        rows = [row.locator("td").all_inner_texts() for row in values.all()]
        assert rows[1] == ["8", "2", "0.5"]
        assert rows[2] == ["1", "2", "3"]
        assert rows[4] == ["8", "−8", "6"]  # to each w: 4 w k


# ---- readers of all kinds


def test_hostile_labels_do_no_harm(shown):
    root = sum(Value(1.0, label=label) * 2.0 for label in (*HOSTILE, HOSTILE[0]))
    with shown(root, title=HOSTILE[0], of={"level": "op"}) as page:
        step_to(page, -1)
        for name in ("All steps as text", "Code"):
            page.get_by_role("button", name=name).click()
        assert page.title() == HOSTILE[0]
        assert page.locator("img").count() == 0
        names = page.evaluate("page.model.graph.nodes.map((_, i) => page.model.name(i))")
        assert {*HOSTILE, HOSTILE[0] + " (2)"} - {"d[0]"} <= set(names)
        assert "d₀" in names
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        compared(page, root)


@pytest.mark.parametrize("width", [390, 1280])
def test_numbers_stay_inside_their_cards_and_nothing_needs_sideways_scrolling(shown, width):
    wide = Value(-2.7431234e23, label="x") * Value(7.7731234e-87, label="y")
    for root, names in (neuron(), network(3), (wide, {})):
        with shown(root, names, width=width) as page:
            step_to(page, -1)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            overlaps = page.evaluate(  # beside the words
                "[...page.stage.cards.values()].some(({data, width}) => data?.textContent &&"
                " data.getBBox().x < 20 || data?.getBBox().x + data?.getBBox().width > width)"
            )
            assert not overlaps


def test_a_finger_steps_on_a_phone_and_the_picture_stays_in_view(shown):
    with shown(*network(), width=390, height=844, has_touch=True, is_mobile=True) as page:
        page.get_by_role("button", name="Step forward").tap()
        assert page.locator("#count").inner_text().startswith("1 of")
        for _ in range(3):
            page.get_by_role("button", name="Larger").tap()
        assert page.locator("#map").is_visible()
        top = page.locator("#picture").bounding_box()["y"]
        page.evaluate("document.querySelector('#tools').scrollIntoView()")
        assert page.locator("#picture").bounding_box()["y"] >= min(top, 0)
        assert page.locator("#graph").bounding_box()["y"] < 844


def test_the_state_is_in_the_address(shown, tmp_path, opened):
    with shown(*diamond()) as page:
        page.evaluate("setLeaf(0, 2.5)")
        page.evaluate("$('switches').children[1].click()")
        step_to(page, 7)
        until(page, "location.hash.includes('step=7')")
        address = page.evaluate("location.hash")
        again = cards(page)
    with opened(tmp_path / "page.html", hash=address) as page:
        assert cards(page) == again
        assert page.evaluate("[page.mistake, page.model.numbers.get(0)]") == ["order", 2.5]


def test_each_leaf_is_found_by_the_names_that_the_page_gives_it(shown):
    with shown(*network(12)) as page:
        for name, leaf in (("model.layers[1].neurons[0].b", "L1.n0.b"), ("x10", "x₁₀")):
            page.get_by_role("combobox", name="Find a box").fill(name)
            page.keyboard.press("Enter")
            assert page.locator("#graph .picked .name").text_content() == leaf


def test_presenter_and_words(shown):
    with shown(*neuron()) as page:
        page.locator("#legend dfn").first.focus()
        assert page.locator("#meaningOf").is_visible()
        page.get_by_role("button", name="Present").click()
        assert page.locator("#slope").is_hidden()
        assert page.locator("#formula").is_visible()
        page.get_by_role("button", name="One step").click()
        assert "New = old" in page.locator("#said").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("#slope").is_visible()


def test_print_shows_all_steps_without_controls(shown):
    with shown(*neuron()) as page:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert page.locator("#transport").is_hidden()
        assert page.locator("#transcript li").count() == 13
        assert page.locator("#transcript li").nth(1).is_visible()
        page.set_viewport_size({"width": 700, "height": 990})  # paper: the result is on it
        right = "document.querySelector('#graph .result')?.getBoundingClientRect().right"
        until(page, f"0 < {right} && {right} < 700")
        assert cards(page)["w₁"] == ["−3", "1"]
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("#count").inner_text() == "0 of 12"


def test_in_a_frame_of_a_notebook_the_explanation_is_in_sight(shown):
    with shown(*neuron(), width=960, height=760) as page:
        for at in (4, 6, 8, 12):
            step_to(page, at)
            for part in ("#sentenceNow", "#equation", "#chains .share"):
                for box in [each.bounding_box() for each in page.locator(part).all()]:
                    assert box is None or box["y"] + box["height"] <= 760


def test_without_scripts_the_page_says_what_it_shows(shown):
    with shown(*neuron(), java_script_enabled=False) as page:
        assert "how strongly the result reacts" in page.locator("noscript").inner_text()


def test_in_a_notebook_and_in_a_frame_that_is_not_on_the_screen_yet(opened, tmp_path):
    cell = explain(*neuron())._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<style>* {{ color: red }}</style><div style='display: none'>{cell}</div>")
    with opened(path) as page:
        frame = page.frames[1]
        until(frame, "page.model?.steps")
        page.evaluate("document.querySelector('div').style.display = ''")
        until(frame, "page.stage.size.width > 300 && page.stage.fits()")
        frame.locator("#last").click()
        assert frame.locator("#count").inner_text() == "12 of 12"


def test_unusual_numbers_are_told(shown):
    x = Value(1.0, label="x")
    y = x.log()
    x.data = 5.0
    with shown(y) as page:
        assert "In Python the result is still 0" in page.locator("#stale").inner_text()
        page.locator("#value").fill("-1")
        step_to(page, 1)
        said = page.locator("#alarm").inner_text()
        assert said == "log(x) is nan: turn a leaf back, or press Undo."
    with shown(Value(2.0)) as page:
        page.keyboard.press("End")


def test_leaves_of_a_user_defined_operation_are_fixed(shown):
    x, w = Value(2.0, label="x"), Value(5.0, label="w")
    cube = Value(x.data**3, (x,), "cube", label="cube")

    def _backward():
        x.grad += 3 * x.data**2 * cube.grad

    cube._backward = _backward
    with shown(cube * w) as page:
        assert page.get_by_role("slider").count() == 3 - 1  # w, and the slider of the steps
        compared(page, cube * w)
        step_to(page, -2)
        page.get_by_role("button", name="Code").click()
        assert "x.grad += 3 * x.data**2" in page.locator("#code").inner_text()


@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_no_card_covers_another_and_no_arrow_points_backwards(shown, direction):
    loss, names = network(2)
    with shown(loss, names, of={"level": "op", "rankdir": direction}) as page:
        boxes, paths = page.evaluate(
            "[[...page.stage.cards.values()].map(({box}) => box), page.stage.layout.paths]"
        )
    for k, a in enumerate(boxes):
        for b in boxes[:k]:
            assert (
                a["right"] <= b["left"] + 0.1
                or b["right"] <= a["left"] + 0.1
                or a["bottom"] <= b["top"] + 0.1
                or b["bottom"] <= a["top"] + 0.1
            )
    along = "x" if direction == "LR" else "y"
    assert all(path[0][along] < path[-1][along] for path in paths)


def test_formulas_are_mathematics(shown):
    x1, w1, b = Value(2.0), Value(-3.0), Value(0.5)
    y = (x1 * w1 + b) ** 2 / 4.0 - (-b).exp()
    with shown(y, locals()) as page:
        assert page.locator("#formula .whole").inner_text() == "y = (x1w1 + b)2 / 4 − e−b"
        assert page.locator("#formula .whole sub").all_text_contents() == ["1", "1"]
        page.keyboard.press("ArrowRight")
        assert page.locator("#equation").inner_text() == "x1w1 = 2 × (−3) = −6"
        assert "x1 × w1 = 2 × (−3) = −6." in page.locator("#spoken").inner_text()


def test_outputs_of_a_network_without_a_name_are_called_out(shown):
    model, ys = MLP(2, [3, 1]), [1.0, -1.0]
    loss = sum((model([y, 2.0]) - y) ** 2 for y in ys)
    with shown(loss, {"model": model, "ys": ys}) as page:
        text = page.locator("#formula .whole").inner_text()
        assert text == "loss = (out0 − 1)2 + (out1 − (−1))2"
    with shown((model([1.0, 2.0]) - 1.0) ** 2, {"model": model}) as page:
        assert page.locator("#formula .whole").inner_text() == "loss = (out − 1)2"


def test_local_derivatives_are_shown_as_the_formulas_that_were_recorded(shown):
    x, w = Value(2.0, label="x"), Value(-3.0, label="w")
    with shown(x * w + x / w + x.tanh() + x.relu() + x**3) as page:
        told = ""
        for at in range(page.evaluate("page.model.steps.count")):
            step_to(page, at)
            told += page.locator("#chains").inner_text().replace("\n", "")
    for rule in ("1 / w", "−(x / w / w)", "1 − tanh(x)2", "1 if x > 0, else 0", "3 × x2"):
        assert rule in told
