"""The texts that people read: another language, texts of one's own, the list of what is lacking.

That a page says nothing in another language than its own is seen in the browser, with all texts in
capital letters: what is left in small letters is not from the file of texts.
"""

import json
import random
import re
import tomllib
from pathlib import Path

import pytest
from browser import drawn
from languages import ENGLISH, speak
from page_programs import Recurrent
from plotting import X, Y, trained

from micrograd import MLP, Value, draw_dot, explain, microscope, playground, texts, watch
from micrograd.__main__ import main
from micrograd.draw import draw_network
from micrograd.grade import RULES, Check, Report
from micrograd.grade.programs import ROWS, skeleton
from micrograd.pages.page import Page
from micrograd.plot import training_figure
from micrograd.texts import FOLDER, texts_of

PAGES = Path(texts.__file__).parents[1] / "pages"


def shouted(text):
    """A text in capital letters; its gaps stay."""
    return re.sub(r"\{\w+:?|[^{]+", lambda part: part[0] if part[0][0] == "{" else part[0].upper(),
                  text)  # fmt: skip


@pytest.fixture
def loud(tmp_path, monkeypatch):
    """A language 'xx': English in capital letters."""
    speak(shouted, tmp_path, monkeypatch)


@pytest.fixture
def own(tmp_path):
    """Writes a file of texts of one's own."""

    def written(text):
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        return tmp_path / "own.toml"

    return written


def test_pages_use_each_text_and_no_others():
    files = [x for x in PAGES.rglob("*") if x.suffix in (".html", ".js", ".py")]
    source = "".join(x.read_text(encoding="utf-8") for x in files)
    used = set(re.findall(r"\{\{(\w+\.[\w.]+)\}\}", source)) - {"tool.try"}  # an example
    used |= {f"{x.stem}.title" for x in PAGES.glob("*.js")}
    english = texts_of("pages").keys()
    assert used <= english
    groups = tuple(re.findall(r"\{\{(\w+\.[\w.]*)\*\}\}", source))
    named = set(re.findall(r'"(\w+\.[\w.]+)"', source))
    assert {x for x in english - used - named if not x.startswith(groups)} == set()
    python = "".join(x.read_text(encoding="utf-8") for x in PAGES.parent.rglob("*.*[yt]"))
    for section in ("draw", "report", "plot"):  # a key in Python may end with a gap
        keys = {key for key in texts_of(section) if not re.search(f"[\"']{key}[\"']", python)}
        begun = (*re.findall(r'f"([\w.]+)\{', python), "skeleton.")
        assert {key for key in keys if not key.startswith(begun)} == set()
    assert {x.rpartition(".")[0] for x in texts_of("grade")} == ROWS.keys()


def test_texts_of_ones_own_replace_some_and_the_rest_is_english(own):
    mine = {"button.play": "Abspielen", "explain.title": "Rückwärts", "playground.title": "Lernen"}
    lines = (f'"{key}" = "{text}"' for key, text in mine.items())
    file = own("\n".join(['[course]\ntitle = "Kurs"\n[pages]', *lines]))
    english = {section: texts_of(section) for section in ("pages", "course")}
    with texts.speaking("fr", file):
        assert texts_of("pages") == english["pages"] | mine
        assert texts_of("course") == english["course"] | {"title": "Kurs"}
    for page, title in (
        (explain(Value(1.0) * 2, language="fr", texts=file), "Rückwärts"),
        (playground(language="fr", texts=file), "Lernen"),
    ):
        assert f"<title>{title}</title>" in page.html
        assert 'lang="fr"' in page.html


def test_a_file_beside_the_english_one_is_a_language(own, monkeypatch):
    file = own('[grade]\n"load.how" = "OG"\n')
    (file.parent / "en.toml").write_text(ENGLISH, encoding="utf-8")
    file.rename(file.parent / "xx.toml")
    monkeypatch.setattr(texts, "FOLDER", file.parent)
    assert texts_of("grade", "xx") == texts_of("grade") | {"load.how": "OG"}
    assert texts_of("pages", "xx") == texts_of("pages")
    for make in (lambda: explain(Value(1.0), language="yy"), lambda: texts_of("course", "yy")):
        with pytest.raises(ValueError, match=r"'yy' has no texts: copy .*en.toml to yy.toml besi"):
            make()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            '[button.play]\nde = "Los"',
            r"\[button\]: English has no",
        ),  # once the form of such a file
        ("pages = 3", r"\[pages\] \"\": English has no such text"),
        ('"button.play" = "Los"', r"\[button.play\]: English has no such section"),
        ('[pages]\nbutton.play = "Los"', r"\[pages\] \"button\": English has no such text"),
        ('[pages]\n"button.paly" = "Los"', r"\[pages\] \"button.paly\": English has no such text"),
        ('[course]\n"title" = 3', r"\[course\] \"title\": expected a text"),
    ],
)
def test_what_is_not_a_text_is_an_error(text, wrong, own):
    with pytest.raises(ValueError, match=rf'^own.toml: {wrong}.*write lines such as "button'):
        explain(Value(1.0), texts=own(text))


def test_the_command_line_prints_all_texts_and_lists_what_is_wrong_in_a_file(own, capsys):
    assert main(["texts"]) == 0
    assert tomllib.loads(printed := capsys.readouterr().out) == tomllib.loads(ENGLISH)
    assert main(["texts", str(own(printed))]) == 0
    assert capsys.readouterr().out == "\n"
    left = tomllib.loads(ENGLISH)
    lines = [f"[grade]\n{json.dumps(key)} = 'x'" for key in [left["grade"].popitem()[0]]]
    assert main(["texts", str(own("\n".join(lines)))]) == 1
    assert tomllib.loads(capsys.readouterr().out) == left


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"steps.count" = "{at} of {last}"', '"steps.count" = "{at} von {end}"',
         r"\[pages\] \"steps.count\": expected the gaps \['at', 'last'\], got .*end"),
        ('"steps.count" = "{at} of {last}"', '"steps.count" = "{last}: {at}"', ""),
        ('"button.play" =', '"button.go" = "Los"\n"button.play" =', '"button.go": English has no'),
        ("\n[draw]", "\n[drawn]\n[draw]", r"\[drawn\]: English has no such section"),
        ("{n:step|steps}", "{n:Schritt|Schritte}", ""),
        ("{n:step|steps}", "{n:1|2|3|4}", "expected at most 3 forms of a noun, got 4"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_listed(old, new, fault):
    found = [*texts.faults(ENGLISH.replace(old, new))]
    assert re.search(fault, "".join(found))
    assert not fault or found


@pytest.mark.parametrize("file", [x for x in FOLDER.iterdir() if x.name.endswith(".toml")], ids=str)
def test_each_language_has_all_texts_with_the_right_gaps(file):
    assert [*texts.faults(file.read_text(encoding="utf-8"))] == []


FORMS = {"en": "one other", "de": "one other", "es": "one other", "pt-PT": "one other",
         "ru": "one few many", "zh": "other"}  # fmt: skip


def test_numbers_choose_the_form_of_a_noun_as_unicode_says(shown):
    with shown(explain(Value(1.0) * 2, names={})) as page:
        for language, forms in FORMS.items():
            rules = f"Array.from({{length: 230}}, (_, n) => new Intl.PluralRules('{language}')"
            known = page.evaluate(f"{rules}.select(n))")
            assert [texts.form(forms.split(), n) for n in range(230)] == known
            assert page.evaluate(f"{rules} && formOf({forms.split()}, n))") == known
        word = "partsOf('{n} {w:слова}', {n: 2, w: word('gradient', 'слово')}).at(-2).outerHTML"
        assert page.evaluate(word) == '<dfn data-word="gradient" tabindex="0">слова</dfn>'


def test_what_is_drawn_plotted_and_told_in_another_language(loud, monkeypatch):
    def english(*words):
        return {word for text in words for word in re.findall("[a-z]{4,}", text)} - CODE

    model, x = MLP(2, [3, 1]), Value(2.0)
    y = x * x + 1
    drawings = [
        draw_dot(y, language="xx"),
        draw_dot(sum(model([k, 1.0]) for k in (1.0, 2.0)), language="xx"),
        draw_network(model, [1.0, 2.0], numbers=True, language="xx"),
    ]
    y.backward()
    drawings += [draw_dot(y, edges="derivatives", language="xx"), draw_dot(y, level="array")]
    for drawing in drawings[:-1]:
        svg = drawing.pipe("svg", encoding="utf-8")
        assert 'lang="xx"' in svg
        shown = re.findall("<(?:text|desc)[^>]*>([^<]*)", svg)
        assert english(*(re.sub(r"draw_dot\(.*?\)", "", text) for text in shown)) == set()
    figure = training_figure(lambda X: X[:, 0], [[0, 0], [1, 1]], [0, 1], [2.0, 1.0], language="xx")
    assert {ax.get_ylabel() for ax in figure.axes} == {"x2", "LOSS", "CONFIDENCE IN CLASS 1"}
    run = watch(range(3), [x], bar=False, language="xx")
    for _ in run:
        (x * x).backward()
    assert english(*str(run.report()).split(" ")) == set()
    monkeypatch.setenv("MICROGRAD_LANGUAGE", "xx")
    assert Report("mine", ()).verdict == "VERDICT: NO MISTAKE FOUND (0 CHECKS PASSED)."
    assert 'lang="xx"' in explain(y).html
    assert "TASK 8. MORE OPERATIONS" in skeleton("mine.py")


def test_a_rule_and_its_fix_in_another_language(loud):
    for mistake, (rule, fix) in RULES.items():
        check = Check("a * b", "value", "c = Value(1.0) * Value(2.0)", "failed", mistake)
        with texts.speaking("xx"):
            said = check.rule, check.fix
        assert (check.rule, check.fix) != said
        for text, english in zip(said, (rule, fix), strict=True):
            assert text.startswith(english.partition("{")[0].upper())
            assert "{operation}" not in text


# ---- The pages in another language


SAID = ("aria-label", "aria-description", "aria-valuetext", "title", "placeholder", "alt")
READ = """said => [...document.body.querySelectorAll("*")]
    .filter(element => !element.closest("script, noscript, pre, bdi"))
    .flatMap(element => [
        ...[...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data),
        ...said.map(name => element.getAttribute(name) ?? ""),
    ])"""
# Names of operations, attributes, methods and packages; what numbers and formulas are made of.
CODE = {
    "data", "grad", "tanh", "exp", "log", "maximum", "linear", "sigmoid", "relu", "neuron", "nan",
    "dam", "omentum", "loss", "neurons", "micrograd", "orch", "avier", "out",
}  # fmt: skip


def quiet_words(texts):
    """The words in small letters; a text that lacks a value would show its gap, {name}."""
    return {word for text in texts for word in re.findall(r"[a-z]{2,}|\{\w+\}", text)}


def read(page, *actions):
    """The words in small letters after each action."""
    found = quiet_words(page.evaluate(READ, SAID))
    for action in actions:
        page.evaluate(action)
        drawn(page)
        found |= quiet_words(page.evaluate(READ, SAID))
    return found


def test_the_stepping_page_in_another_language(loud, shown):
    a, b = Value(3.0, label="a"), Value(-2.0, label="b")
    p = a * a + b
    random.seed(1)
    model = MLP(2, [4, 1], activation="tanh")
    loss = sum((model([k, 1.0]) - 1.0) ** 2 for k in (0.5, -0.5))
    folded = explain(loss, names={}, language="xx", title="T")
    for page in (explain(p * (p + a), names={}, language="xx", parameters=[a]), folded):
        assert 'lang="xx"' in page.html
        with shown(page, width=1600) as window:
            count = window.evaluate("page.model.steps.count")
            steps = [f"page.transport.goTo({k})" for k in range(count)]
            panels = [f"$('tabs').children[{k}].click()" for k in range(3)]
            mistakes = [
                action
                for k in range(4)
                for action in (f"$('switches').children[{k}].click()", "page.transport.goTo(9)",
                               "page.transport.goTo(page.model.steps.count - 1)")
            ]  # fmt: skip
            words = [
                f"document.querySelectorAll('dfn')[{k}].dispatchEvent("
                "new FocusEvent('focusin', {bubbles: true}))"
                for k in range(window.locator("dfn").count())
            ]
            submit = "if (!$('question').hidden) $('question').requestSubmit()"
            tried = ["$('nudge').click()", "$('oneStep').click()", "$('oneStep').click()",
                     "$('predict').click(); page.transport.goTo(2)", submit,
                     f"$('answer').value = 99; {submit}", "$('tell').click()",
                     "$('play').click()", "setLeaf(page.model.leaves[0], 1e300)"]  # fmt: skip
            code = ["$('tabs').children[2].click()", *steps[:3], steps[-2]]
            found = read(window, *steps, *panels, *mistakes, *words, *code, *tried)
            if page is folded:
                found |= read(window, "$('unfold').click()", "$('toExample').click()")
            assert found <= CODE


def test_the_page_of_training_in_another_language(loud, shown):
    random.seed(3)
    page = playground(MLP(2, [3, 1], activation="tanh"), X, Y, language="xx")
    press = "document.querySelector('{}').click()".format
    with shown(page, width=1600) as window:
        found = read(window, press("#one-step"), press("#show-gradients"))
        found |= read(window, press("#details button"), press("#details td button"))
        for name in ("Momentum", "Adam", "AdamW"):
            window.select_option("#optimizer", name)
            window.select_option("#decay", "0.01")
            found |= read(window)
        neuron = [press("[aria-label^=L1]"), *[press("#opened-forward")] * 12, press("#close")]
        found |= read(window, press("#details button"), press("#next-point"), *neuron)
        found |= read(window, press("#more-layers"), press("#clear"), press("#train"))
        window.select_option("#lessons", "few")
        found |= read(window, press("#lesson .row + p + .row button"), press("#lesson .main"))
        assert found <= CODE
    slope = Value(0.5, label="w")
    with shown(playground(lambda x: slope * x[0], X, Y, language="xx")) as window:
        found = read(window, press("#details td button"), press("#next-point"))
        assert found <= CODE | {"wx"}  # a formula, w times x₁


def test_a_recorded_run_in_another_language(loud, shown):
    for run in (trained(2), trained(1, hidden=(40, 40))):
        data = {"run": run._data() | {"unit": "U"}}
        with texts.speaking("xx"):
            page = Page("recorded", data, "", 0, layout="playground")
        with shown(page) as window:
            window.evaluate("page.transport.pause()")
            window.evaluate("document.querySelector('#show-gradients').click()")
            window.evaluate("document.querySelector('.neuron')?.click()")
            assert read(window, "page.transport.goTo(0)", "page.transport.goTo(1)") <= CODE


def test_the_microscope_in_another_language(loud, shown):
    page = microscope(Recurrent(), "AB.", ["ABBA", "AAB"], language="xx")
    with shown(page, width=1600) as window:
        press = [f"document.querySelectorAll('button')[{k}]?.click()" for k in range(40)]
        of_model = {"logits", "table", "update", "hidden", "output", "weight", "bias"}
        assert read(window, *press) <= CODE | of_model


def test_a_page_of_several_languages_has_a_menu_that_keeps_its_state(loud, shown):
    a = Value(3.0, label="a")
    page = explain(a * a + a, names={}, languages=["en", "xx"], title="</script>\ue000")
    assert 'id="language"' not in explain(a * a, names={}, languages=["xx"]).html
    with shown(page) as window:
        menu = window.locator("#language")
        assert window.evaluate("document.documentElement.lang") == "en"
        assert menu.locator("option").all_inner_texts() == ["English", "xx"]
        window.get_by_role("button", name="Step forward").click()
        for language, forward in (("xx", "STEP FORWARD"), ("en", "Step forward")):
            menu.select_option(language)
            window.locator(f"html[lang={language}]").wait_for()
            window.get_by_role("button", name=forward, exact=True).wait_for()
            assert window.evaluate("[page.transport.at(), location.hash]") == [
                1, f"#step=1&language={language}"
            ]  # fmt: skip
    with shown(playground(languages=["xx", "en"]), locale="en-US") as window:
        assert window.evaluate("document.documentElement.lang") == "en"  # as the browser's
        window.get_by_role("button", name="One step").click()
        weights = window.evaluate("page.numbers()")
        window.locator("#language").select_option("xx")
        window.get_by_role("button", name="ONE STEP").wait_for()
        assert window.evaluate("page.numbers()") == weights
