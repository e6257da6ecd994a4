"""After every control of a page has been used, in random order, it shows what Python computes."""

import math
import random
import re

import pytest
from page_programs import LOSSES, TEXTS, Bigram, diamond, engine, network, neuron

from micrograd import MLP, SGD, explain, microscope, no_grad, playground, topological_order
from micrograd.derivatives import recompute
from micrograd.losses import cross_entropy, squared_error

# The key and kind of all that can be used now. Names that differ in a number alone are one key.
FIND = """() => { window.controls = [...document.querySelectorAll("button, input, select, textarea,"
    + "canvas[tabindex], .card[tabindex]")].filter(e => e.checkVisibility() && !e.disabled
      && !e.readOnly && !e.closest("[inert]"));
  return window.controls.map(e => [
    (e.id || e.dataset.mistake || e.ariaLabel?.split(/[,:]/)[0] || e.textContent)
      .replace(/[\\d.]+/g, "#"),
    e.matches(".card") ? e.getAttribute("role") : e.type ?? e.tagName]) }"""
NUMBERS = ["-1", "0", "0.5", "2", "1e308", "-2.772e306", "3e20", "1e-12", ""]


def use(page, dice, element, kind, words):
    """Uses a control as a reader could: what is typed is at random, too."""
    if kind.startswith("select"):
        options = element.query_selector_all("option:not([disabled])")
        element.select_option(index=dice.randrange(len(options)))
    elif kind == "range":
        low, high = (float(element.get_attribute(end) or 0) for end in ("min", "max"))
        step = float(element.get_attribute("step") or 1)
        element.fill(f"{low + step * dice.randint(0, round((high - low) / step)):g}")
    elif kind in ("number", "text", "textarea"):
        element.fill(dice.choice(NUMBERS if kind == "number" else words))
        page.keyboard.press("Enter" if kind == "text" else "Tab")
    elif kind == "slider":
        element.press(dice.choice(["ArrowUp", "PageDown"]))
    elif kind == "CANVAS":
        box = element.bounding_box()
        xs = [dice.uniform(0.1, 0.9) * box["width"] for _ in range(2)]
        ys = [dice.uniform(0.1, 0.9) * box["height"], 1.1 * box["height"]]
        page.mouse.move(box["x"] + xs[0], box["y"] + ys[0])
        page.mouse.down()
        page.mouse.move(box["x"] + xs[1], box["y"] + ys[1], steps=20)
        page.mouse.up()
        element.click(position={"x": xs[0], "y": ys[0]}, timeout=500)
    else:
        element.click(timeout=500)


def use_all(page, dice, needed, words, links, check):
    """Uses the needed controls, all that turn up, and links; checks the page each time."""
    used, unused = [], True
    while unused or not {*needed.split()} <= {*used}:
        found = [*page.evaluate(FIND), *[("link", "link")] * bool(links)]
        unused = [k for k, (key, _) in enumerate(found) if key not in used]
        again = not unused or dice.random() < 0.3
        k = dice.randrange(len(found)) if again else dice.choice(unused)
        key, kind = found[k]
        used.append(key)
        assert len(used) < 500, [*unused, *{*needed.split()} - {*used}]
        if kind == "link":
            here = page.evaluate("location.hash")  # a link to it would be no event in a browser
            used.append(dice.choice([link for link in links if link != here]))
            page.evaluate("hash => { location.hash = hash; }", used[-1])
        else:
            element = page.evaluate_handle("k => window.controls[k]", k).as_element()
            try:
                element.scroll_into_view_if_needed()
                use(page, dice, element, kind, words)
            except Exception as hidden:  # below something (the keyboard reaches it), or drawn anew
                if not re.search("Timeout|not attached", str(hidden)):
                    raise
                element.evaluate("e => e.click?.()")
        page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(done), 40))")
        try:
            check(used)
        except Exception as error:
            error.add_note(f"after {', '.join(used)}")
            raise
    return used


def number(x):
    """The number as the pages show it."""
    if not math.isfinite(x):
        return "nan" if x != x else "inf" if x > 0 else "−inf"
    digits, power = f"{x:.3e}".split("e")
    text = f"{x:.4g}" if -5 < int(power) < 4 else f"{float(digits):g}e{int(power)}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def read(text):
    return float(text.replace("−", "-"))


# ---- The stepping page

STEPPING_NEEDS = "oneStep undo reset nudge predict assign order twice local present Code"
STEPPING = """() => { const {model, transport} = page; const {graph} = model;
  const text = id => $(id).checkVisibility() ? $(id).innerText : "";
  const {picked, nudging, delta, mistake, rate, descent} = page;
  return {picked, nudging, delta, mistake, rate, descent, lesson: !!page.lesson,
    isOwn: model === page.own || model.labels === page.own.labels,
    numbers: [...model.numbers], isLast: transport.at() === model.steps.count - 1,
    names: graph.nodes.map((_, i) => plain(model.inMath(i))), at: transport.at(),
    formula: $("formula").textContent,
    cards: [...page.stage.cards.values()].filter(({item}) => item.box === undefined)
      .map(({item, data, grad}) => [item.node, data?.textContent, grad?.textContent]),
    descended: text("descent"), value: $("value").value,
    isCut: $("value").scrollWidth > $("value").clientWidth,
    typing: document.activeElement.id, rateShown: $("rate").value,
    lost: $("find").value && $("find").ariaInvalid, sought: $("find").value} }"""


def moved(root, numbers):
    """Data and gradients of all nodes, for other numbers of the leaves; None if Python raises."""
    order = topological_order(root)
    for i, x in numbers:
        order[i].data = math.nan if x is None else x
    try:
        return engine(recompute(root))
    except ArithmeticError:
        return None


@pytest.mark.parametrize(("make", "seed"), [(neuron, 1), (lambda: network(6), 10)])
def test_the_stepping_page_is_right_after_all_its_controls(shown, make, seed):
    root, names = make()
    formulas, first = {}, topological_order(root)[0].data
    links = {"#step=3": (3, first), "#v0=&step=5": (5, first), "#v0=0.5&step=2&nudge=1": (2, 0.5)}

    def check(used):
        now = page.evaluate(STEPPING)
        graph, numbers = root if now["isOwn"] else diamond()[0], dict(now["numbers"])
        if used[-1] in links:  # it is shown, and what is empty in it is left out
            assert (now["at"], numbers[0]) == links[used[-1]]
        assert formulas.setdefault(now["isOwn"], now["formula"]) == now["formula"]
        assert now["rateShown"] == now["typing"] or read(now["rateShown"]) == now["rate"]
        if now["typing"] != "value" and now["picked"] >= 0:
            assert read(now["value"]) == pytest.approx(numbers[now["picked"]], rel=1e-3)
        assert not now["isCut"], now["value"]
        if now["sought"] in ("L0.n1.w0", "x₃", "loss"):
            assert now["lost"] == "false" or used[-1] != "find"
        shown = [*re.findall(r"(\S+) → (\S+?)\. It (?:is smaller|grew):", now["descended"])]
        assert all(before != after for before, after in shown)
        found = moved(graph, now["numbers"])
        if found is None or not all(map(math.isfinite, found[0] + found[1])):
            return
        data, gradients = found
        after = data
        if now["nudging"] and now["picked"] >= 0 and now["delta"]:
            i = now["picked"]
            nudged = moved(graph, [*now["numbers"], (i, numbers[i] + now["delta"])])
            if nudged is None:
                return  # too far for Python, which raises
            after = nudged[0]
        for i, x, g in now["cards"]:
            assert x in ("·", "?", None, number(after[i])), now["names"][i]
            if now["isLast"] and not now["mistake"]:
                assert g in ("?", None, number(gradients[i])), now["names"][i]
        if now["lesson"]:
            assert now["descent"][-1] == pytest.approx(data[-1], rel=1e-9)

    words = ["L0.n1.w0", "x₃", "loss", "nothing", "0.5"]
    with shown(explain(root, names=names)) as page:
        page.set_default_timeout(2000)
        use_all(page, random.Random(seed), STEPPING_NEEDS, words, links, check)


# ---- The training page

TRAINING_NEEDS = (
    "train one-step undo reset seed rate rate-slider batch optimizer loss-name boundary"
)
TRAINING = """() => { const {training, curves, examples, chosen, moved, ...state} = page.state();
  const $ = id => document.getElementById(id), plane = geometry();
  const isSeen = ({numbers: [x, y]}) => plane.isInside(plane.across(x), plane.up(y));
  const {pointed} = attention;
  return {p: [...training.p], steps: training.steps, examples,
    weight: chosen.weight, kind: chosen.kind,
    sizes: state.sizes, activations: state.activations, targets: state.loss.targets,
    isRegression: state.isRegression, lossName: state.loss.name, threshold: state.loss.threshold,
    before: moved && [...moved.weights],
    inSight: !plane || examples.every(isSeen), hasPlane: !!plane, rate: state.settings.rate,
    figures: $("figures").innerText, said: $("said").textContent,
    caption: $("plane-about").innerText,
    neuron: pointed && experiment.neuronName(pointed.layer, pointed.index), names: state.names,
    details: $("details").innerText, isRunning: clock.isRunning(), rateShown: $("rate").value,
    classes: [...document.querySelectorAll("#legend bdi, #brush bdi")].map(e => e.textContent)} }"""


def judged(now):
    """The mean loss of the training points, the share that is right, and all gradients."""
    activation, output = now["activations"][0], now["activations"][-1]
    sizes = now["sizes"]
    model = MLP(sizes[0], sizes[1:], activation=activation, output=output)
    for p, x in zip(model.parameters(), now["p"], strict=True):
        p.data = x
    loss_of = squared_error if now["isRegression"] else LOSSES[now["lossName"]][0]
    if sizes[-1] > 1:
        loss_of = cross_entropy
    losses, right, trained = [], 0, [e for e in now["examples"] if not e["test"]]
    for e in trained:
        score = model(e["numbers"][: sizes[0]])
        target = e["numbers"][-1] if now["isRegression"] else now["targets"][e["label"]]
        losses.append(loss_of(score, target))
        if sizes[-1] > 1:
            scores = [z.data for z in score]
            right += scores.index(max(scores)) == e["label"]
        else:
            right += (score.data > now["threshold"]) == e["label"]
    loss = sum(losses) / len(trained)
    loss.backward()
    return loss.data, right / len(trained), [p.grad for p in model.parameters()]


def test_the_training_page_is_right_after_all_its_controls(shown):

    def check(used):
        now = page.evaluate(TRAINING)
        said, trained = now["said"], [e for e in now["examples"] if not e["test"]]
        assert now["inSight"], now["examples"]
        answer = f": {now['neuron']} alone" if now["neuron"] else "network's answer"
        assert (answer if now["hasPlane"] else "Press a point") in now["caption"]
        assert used[-1] == "rate" or read(now["rateShown"]) == now["rate"]
        if now["hasPlane"] and not now["isRegression"]:
            assert now["classes"][-len(now["names"]) :] == now["names"]
        assert ("no points" in said) == (not trained)
        if not trained:
            return
        try:
            loss, share, gradients = judged(now)
        except ArithmeticError:
            return
        assert ("no longer a number" in said) == (not math.isfinite(loss))
        if not math.isfinite(loss):
            return
        step, told, *right = re.findall(r"[−\d.]+(?:e−?\d+)?", now["figures"])
        assert int(step) == now["steps"]
        assert read(told) == pytest.approx(loss, rel=1e-3, abs=6e-4)
        assert now["isRegression"] or read(right[0]) == pytest.approx(100 * share, abs=0.06)
        if now["before"]:
            assert ("moved most" in said) == (now["before"] != now["p"])
            old_new = re.search(r"(?:fell|rose) from (\S+) to (\S+)\.", said)
            assert not old_new or old_new[1] != old_new[2]
        if now["kind"] == "weight" and not now["isRunning"]:
            assert f"g = {number(gradients[now['weight']])}\n" in now["details"]

    words = [
        "1,2,red\n-1,0.5,blue\n0,0,red",
        '5, 5, "1"\n-3,2,0',
        "1,2\n2,3",
        "1,2,a\n1,3,b\n2,2,c",
        "p,q,r,kind\n1,2,-3,a\n1,3,0.5,b\n2,2,0,c\n1,1,1,a",
        "1,2,2.5,3.5\n1,0,2,-1",
        "x^2 < y",
        "y = sin(x)",
    ]
    with shown(playground(MLP(2, [3, 1], activation="tanh"))) as page:
        page.set_default_timeout(2000)
        links = ["#rate=0.2&net=2", "#points=__0~1_1_1"]
        use_all(page, random.Random(1), TRAINING_NEEDS, words, links, check)


# ---- The microscope

READING = """() => ({isRunning: clock.isRunning(), weights: [...page.model.weights],
  codes: page.codes, at: page.at, rate: page.model.rate,
  rateShown: $("rate").value, loss: $("loss").innerText, said: $("trained-said").innerText,
  shares: [...document.querySelectorAll("#next .number")].map(e => e.textContent),
  widths: [...document.querySelectorAll("#next i")].map(e => e.style.width)})"""


def test_the_microscope_is_right_after_all_its_controls(shown):
    model = Bigram()
    made = microscope(model, "ab.", TEXTS, optimizer=SGD(model.parameters(), lr=0.5))
    links = {"#text=ab&at=1": ([0, 1], 1), "#number=&text=ba": ([1, 0], 2)}

    def check(used):
        now = page.evaluate(READING)
        assert used[-1] == "rate" or read(now["rateShown"]) == now["rate"]
        assert used[-1] not in links or (now["codes"], now["at"]) == links[used[-1]]
        if now["isRunning"]:  # the numbers are drawn every hundred steps
            return
        for p, x in zip(model.parameters(), now["weights"], strict=True):
            p.data = x if x is not None else math.nan
        with no_grad():
            rows = model.logits([2, *now["codes"]])
            losses = [
                cross_entropy(z, y).data for z, y in zip(rows, [*now["codes"], 2], strict=True)
            ]
            powers = [
                math.exp(z.data - max(z.data for z in rows[now["at"]])) for z in rows[now["at"]]
            ]
        loss = sum(losses) / len(losses)
        assert ("no longer a number" in now["said"]) == (not math.isfinite(loss))
        if not math.isfinite(loss):
            assert "NaN" not in "".join(now["shares"])
            assert {*now["widths"]} == {"0%"}
            return
        told = read(re.search(r"[\d.]+(e−?\d+)?", now["loss"])[0])
        assert told == pytest.approx(loss, abs=6e-4, rel=1e-3)
        for text, power in zip(now["shares"], powers, strict=True):
            assert read(text.rstrip("%")) == pytest.approx(100 * power / sum(powers), abs=0.06)

    with shown(made) as page:
        page.set_default_timeout(2000)
        needed, words = "one-step train undo rate", ["ab", "abba", "x"]
        use_all(page, random.Random(1), needed, words, links, check)
