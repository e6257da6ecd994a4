"""Every sentence of a page is in a table, with a column for each language."""

import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from plotting import X, Y, trained

from micrograd import MLP, Value, explain, playground
from micrograd.grade import RULES, Check
from micrograd.grade.programs import TABLE as RULES_TABLE
from micrograd.pages import texts as texts_module
from micrograd.pages.page import Page, html_page
from micrograd.pages.texts import TABLE, texts_of

PAGES = Path(texts_module.__file__).parent
COURSE = PAGES.parents[1] / "demos" / "course" / "texts.toml"
TABLES = [TABLE, RULES_TABLE, COURSE]
SCRIPTS = sorted([*PAGES.glob("*.js"), *PAGES.glob("*/*.js")])
PARTS = sorted([*PAGES.glob("*.html"), *PAGES.glob("*/*.html")])
SAID = ("aria-label", "aria-description", "aria-valuetext", "title", "placeholder", "alt")
# What looks like a sentence in the scripts, but is read by the browser: classes, selectors, code.
FOR_THE_BROWSER = {
    "ArrowUp ArrowDown PageUp PageDown", "text, tspan", "input, select", "label, button",
    "button, summary, a, input, [role=button]", "input[type=number], input[type=text], "
    "input:not([type]), textarea, select", "input[type=number], input[type=text], textarea, select",
    "#rate, .weight input", "(prefers-reduced-motion: reduce)", "(prefers-color-scheme: dark)",
    "value data", "value grad", "head ahead", "head back", "code running", "stage shape",
    "card now", "faint lead", "row weight", "number gradient",
    '"use strict"; window.justBuilt = ', "let loss = NaN, ", "let loss = NaN;", "return loss;",
    "}, {rate, decay, t}",
    "no operation ",  # in an error that only a broken page would raise
    "micrograd toured", "one step",  # names under which something is kept
    "squared error", "your loss",  # names in an address, shown as their texts
    "where is",  # an instruction
}  # fmt: skip


# ---- The tables


def columns_of(table):
    """The columns of each text, by key."""
    return texts_module._columns(table.read_text(encoding="utf-8"))


def gaps(text):
    return set(re.findall(r"\{(\w+)\}", text))


def shouted(text):
    return re.sub(r"\{\w+\}|[^{]+", lambda part: part[0] if part[0][0] == "{" else part[0].upper(),
                  text)  # fmt: skip


def with_second_column(table):
    """The table with a made-up language 'xx': English in capital letters, gaps as they are."""
    return "\n".join(
        f"[{key}]\nen = {json.dumps(text)}\nxx = {json.dumps(shouted(text))}"
        for key, text in texts_of("en", table).items()
    )


@pytest.mark.parametrize("table", TABLES, ids=["pages", "rules", "course"])
def test_each_language_has_each_text_with_no_other_gaps(table):
    languages = set().union(*(texts for one in TABLES for texts in columns_of(one).values()))
    for key, texts in columns_of(table).items():
        assert texts.keys() == languages, key
        for language, text in texts.items():
            assert text.strip(), (key, language)
            assert gaps(text) <= gaps(texts["en"]), (key, language)


def test_a_text_without_the_language_is_an_error():
    with pytest.raises(ValueError, match=r"texts.toml has no 'xx' for button.first, .*: add it"):
        texts_of("xx")
    with pytest.raises(ValueError, match=r"texts.toml has no 'xx'"):
        explain(Value(1.0), language="xx")


def test_texts_of_ones_own_replace_some_and_the_rest_is_english(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        '[button.play]\nde = "Abspielen"\n[explain.title]\nde = "Rückwärts"\n'
        '[playground.title]\nde = "Lernen"\n[title]\nde = "Kurs"',
        encoding="utf-8",
    )
    mine = texts_of("de", own=own)
    assert mine == texts_of("en") | {key: mine[key] for key in ("button.play", *TITLES)}
    assert "Kurs" in texts_of("de", TABLES[2], own).values()
    for page, title in (
        (explain(Value(1.0) * 2, language="de", texts=own), "Rückwärts"),
        (playground(language="de", texts=own), "Lernen"),
    ):
        assert f"<title>{title}</title>" in page.html
        assert 'lang="de"' in page.html
    with pytest.raises(ValueError, match=r"own.toml expects texts in 'fr', got de: pass the lang"):
        explain(Value(1.0), language="fr", texts=own)


def test_every_text_is_used():
    source = "".join(path.read_text(encoding="utf-8") for path in [*SCRIPTS, *PARTS])
    used = set(re.findall(r"\{\{(\w+\.[\w.]+)\}\}", source))
    groups = tuple(re.findall(r"\{\{(\w+\.)\*\}\}", source))  # {{word.*}}: all that begin so
    python = "".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.py"))
    used |= set(re.findall(r'"(\w+\.[\w.]+)"', python))
    used |= {f"{path.stem}.title" for path in PAGES.glob("*.js")}
    unused = texts_of("en").keys() - used
    assert {key for key in unused if not key.startswith(("box.", *groups))} == set()


TITLES = ("explain.title", "playground.title")


def small_page(folder, **files):
    """A page that consists of these files and the package's own."""
    for ending, text in {"css": "", "js": "", **files}.items():
        (folder / f"small.{ending}").write_text(text, encoding="utf-8")
    return html_page("small", "small", folder=folder)


def test_an_unknown_text_is_an_error(tmp_path):
    with pytest.raises(KeyError, match=r"no\.text"):
        small_page(tmp_path, html="<p>{{no.text}}</p>")
    with pytest.raises(KeyError, match=r"no\.text"):
        small_page(tmp_path, html="<script>{{js}}</script>", js='say("{{no.text}}")')


def test_a_text_may_have_any_character(tmp_path, monkeypatch, opened):
    hostile = "</script><script>`${1}\"'\\ & \u2028 {{js}} {n}"
    added = f"\n[hostile.text]\nen = {json.dumps(hostile)}\n"
    table = tmp_path / "texts.toml"
    table.write_text(TABLE.read_text(encoding="utf-8") + added, encoding="utf-8")
    monkeypatch.setattr(texts_module, "TABLE", table)
    html = "<p title='{{hostile.text}}'></p><script>{{js}}</script>"
    script = 'import {filled} from "./shared/texts.js";\n'
    script += 'const said = "{{hostile.text}}", again = `{{hostile.text}}{{hostile.text}}`;'
    path = tmp_path / "page.html"
    path.write_text(small_page(tmp_path, html=html, js=script), encoding="utf-8")
    with opened(path) as page:
        assert page.evaluate("[said, again]") == [hostile, 2 * hostile]
        assert page.evaluate("filled(said, {n: '{n}'})") == hostile
        assert page.get_attribute("p", "title") == hostile


def test_a_group_of_texts_is_json(tmp_path):
    page = small_page(tmp_path, html="{{js}}", js='const phases = JSON.parse("{{phase.*}}");')
    phases = json.loads(json.loads(page[page.index('"') : page.rindex('"') + 1]))
    assert phases == {key[6:]: x for key, x in texts_of("en").items() if key.startswith("phase.")}


def test_a_rule_and_its_fix_in_another_language(tmp_path, monkeypatch):
    table = tmp_path / "texts.toml"
    table.write_text(with_second_column(RULES_TABLE), encoding="utf-8")
    monkeypatch.setattr("micrograd.grade.programs.TABLE", table)
    for mistake, (rule, fix) in RULES.items():
        check = Check("a * b", "value", "c = Value(1.0) * Value(2.0)", "failed", mistake)
        said = check.stated("xx")
        assert (check.rule, check.fix) == check.stated("en") != said
        for text, english in zip(said, (rule, fix), strict=True):
            begin, *_ = english.split("{")
            assert text.startswith(begin.upper())
            assert "{operation}" not in text


# ---- No sentence is written anywhere else


class Written(HTMLParser):
    """What a person reads or hears of an HTML file: its texts, and some attributes."""

    def __init__(self, source):
        super().__init__()
        self.parts, self.inside = [], ""
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        self.parts += [text for name, text in attributes if name in SAID and text]

    def handle_data(self, text):
        if self.inside not in ("style", "script"):
            self.parts.append(text)


TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|[`{}/]""", re.S)
PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
TEMPLATE = re.compile(r"((?:\\.|\$(?!\{)|[^`\\$])*)(`|\$\{)", re.S)


def strings_in(script):
    """The strings of a script; those of a template are what is between its ${...}."""
    found, at, braces = [], 0, []  # for each ${ that is open, the braces that are open in it
    while token := TOKEN.search(script, at):
        kind, at = token[0], token.end()
        if token[1]:
            found.append(kind[1:-1])
        elif kind == "/" and script[: token.start()].rstrip()[-1] in "(,=:!&|?;{}[":
            at = PATTERN.match(script, token.start()).end()
        elif kind == "{" and braces:
            braces[-1] += 1
        elif kind == "}" and braces and braces[-1]:
            braces[-1] -= 1
        elif kind == "`" or (kind == "}" and braces):
            del braces[len(braces) - (kind == "}") :]
            part = TEMPLATE.match(script, at)
            at = part.end()
            found.append(part[1])
            braces += [0] * (part[2] == "${")
    return found


def sentences_in(script):
    """The strings of a script with two words or more, apart from texts of the table."""
    rest = (re.sub(r"\{\{[\w.]+\*?\}\}", "", text) for text in strings_in(script))
    return [text for text in rest if re.search(r"[A-Za-z]{2,}[,.:;]? (a )?[A-Za-z]{2,}", text)]


def words_in(part):
    """The words of an HTML file that are not from the table."""
    rest = (re.sub(r"\{\{[\w.]+\}\}", "", text) for text in Written(part).parts)
    return [word for text in rest for word in re.findall(r"[A-Za-z]{2,}", text)]


def test_a_sentence_that_is_put_back_is_found():
    assert sentences_in('a(`x ${b ? `${c} is not` : "it is"} known`); // no text') == [
        " is not",
        "it is",
    ]
    assert sentences_in('if (/["`]/.test(x / 2)) say("It stays {{a.b}} as it is")') == [
        "It stays  as it is"
    ]
    script = (PAGES / "stepping" / "predict.js").read_text(encoding="utf-8")
    assert "Type a number." in sentences_in(script.replace("{{ask.number}}", "Type a number."))
    part = (PAGES / "explain.html").read_text(encoding="utf-8")
    assert words_in(part.replace("{{explain.predict.title}}", "Hides it")) == [
        "SVG",
        "Hides",
        "it",
    ]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_has_a_sentence_of_its_own(path):
    assert set(sentences_in(path.read_text(encoding="utf-8"))) <= FOR_THE_BROWSER


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.name)
def test_no_page_has_a_word_of_its_own(path):
    assert set(words_in(path.read_text(encoding="utf-8"))) <= {"SVG"}


# ---- The pages in another language


@pytest.fixture
def loud(tmp_path, monkeypatch):
    """A table with the second column 'xx'."""
    table = tmp_path / "texts.toml"
    table.write_text(with_second_column(TABLE), encoding="utf-8")
    monkeypatch.setattr(texts_module, "TABLE", table)


READ = """said => [...document.body.querySelectorAll("*")]
    .filter(element => !element.closest("script, noscript, pre, bdi"))
    .flatMap(element => [
        ...[...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data),
        ...said.map(name => element.getAttribute(name) ?? ""),
    ])"""
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Names of operations, attributes and optimizers; what numbers and formulas are made of.
CODE = {
    "data", "grad", "tanh", "exp", "log", "maximum", "linear", "sigmoid", "relu", "neuron", "nan",
    "dam", "omentum", "loss", "neurons",
}  # fmt: skip


def quiet_words(texts):
    """The words in small letters; a text that lacks a value would show its gap, {name}."""
    return {word for text in texts for word in re.findall(r"[a-z]{2,}|\{\w+\}", text)}


def read(page, *actions):
    """The words in small letters after each action."""
    found = quiet_words(page.evaluate(READ, SAID))
    for action in actions:
        page.evaluate(action)
        page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        found |= quiet_words(page.evaluate(READ, SAID))
    return found


@pytest.mark.slow
def test_the_stepping_page_in_another_language(loud, opened, tmp_path):
    a, b = Value(3.0, label="a"), Value(-2.0, label="b")
    p = a * a + b
    random.seed(1)
    model = MLP(2, [4, 1], activation="tanh")
    loss = sum((model([k, 1.0]) - 1.0) ** 2 for k in (0.5, -0.5))
    folded = explain(loss, language="xx", title="T")
    path = tmp_path / "page.html"
    for page in (explain(p * (p + a), language="xx", parameters=[a]), folded):
        assert 'lang="xx"' in page.html
        assert quiet_words(Written(page.html).parts) <= {"tanh"}
        page.save(path)
        with opened(path, width=1600) as shown:
            count = shown.evaluate("page.model.steps.count")
            steps = [f"page.transport.goTo({k})" for k in range(count)]
            tour = ["$('round').click()"] + ["$('tourNext').click()"] * 6
            panels = [f"$('tabs').children[{k}].click()" for k in range(5)]
            mistakes = [
                action
                for k in range(4)
                for action in (f"$('switches').children[{k}].click()", "page.transport.goTo(9)",
                               "page.transport.goTo(page.model.steps.count - 1)")
            ]  # fmt: skip
            words = [
                f"document.querySelectorAll('dfn')[{k}].dispatchEvent("
                "new FocusEvent('focusin', {bubbles: true}))"
                for k in range(shown.locator("dfn").count())
            ]
            submit = "if (!$('question').hidden) $('question').requestSubmit()"
            tried = ["$('nudge').click()", "$('oneStep').click()", "$('oneStep').click()",
                     "$('predict').click(); page.transport.goTo(2)", submit,
                     f"$('answer').value = 99; {submit}", "$('tell').click()",
                     "$('play').click()", "setLeaf(page.model.leaves[0], 1e300)"]  # fmt: skip
            code = ["$('tabs').children[4].click()", *steps[:3], steps[-2]]
            found = read(shown, *steps, *tour, *panels, *mistakes, *words, *code, *tried)
            if page is folded:
                found |= read(shown, "$('unfold').click()", "$('toExample').click()")
            assert found <= CODE


def test_the_page_of_training_in_another_language(loud, opened, tmp_path):
    path = tmp_path / "page.html"
    random.seed(3)
    page = playground(MLP(2, [3, 1], activation="tanh"), X, Y, language="xx")
    assert quiet_words(Written(page.html).parts) == set()
    page.save(path)
    press = "document.querySelector('{}').click()".format
    with opened(path, width=1600) as shown:
        found = read(shown, press("#one-step"), press("#show-gradients"))
        found |= read(shown, press("#details button"), press("#details td button"))
        for name in ("Momentum", "Adam", "AdamW"):
            shown.select_option("#optimizer", name)
            shown.select_option("#decay", "0.01")
            found |= read(shown)
        neuron = [press("[aria-label^=L1]"), *[press("#opened-forward")] * 12, press("#close")]
        found |= read(shown, press("#details button"), press("#next-point"), *neuron)
        found |= read(shown, press("#more-layers"), press("#clear"), press("#train"))
        shown.select_option("#lessons", "few")
        found |= read(shown, press("#lesson .row + p + .row button"), press("#lesson .main"))
        assert found <= CODE
    slope = Value(0.5, label="w")
    playground(lambda x: slope * x[0], X, Y, language="xx").save(path)
    with opened(path) as shown:
        assert read(shown, press("#details td button"), press("#next-point")) <= CODE


@pytest.mark.slow
def test_a_recorded_run_in_another_language(loud, opened, tmp_path):
    path = tmp_path / "page.html"
    for run in (trained(2), trained(1, hidden=(40, 40))):
        data = {"run": run._data() | {"unit": "U"}}
        page = Page("recorded", data, "", 0, language="xx", layout="playground")
        page.save(path)
        with opened(path) as shown:
            shown.evaluate("page.transport.pause()")
            shown.evaluate("document.querySelector('#show-gradients').click()")
            shown.evaluate("document.querySelector('.neuron')?.click()")
            assert read(shown, "page.transport.goTo(0)", "page.transport.goTo(1)") <= CODE
