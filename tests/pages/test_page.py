"""A page in one file: how its scripts are joined, and how texts get into them."""

import json

import pytest

from micrograd import texts
from micrograd.pages.page import html_page


def page_of(folder, **files):
    """A page that consists of these files and the package's own; its script by default."""
    for name, text in {"html": "{{js}}", "css": "", **files}.items():
        name = name if name in ("html", "css") else f"{name.replace('__', '/')}.js"
        path = folder / (name if name.endswith(".js") else f"small.{name}")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return html_page("small", "small" if "small" in files else "", folder)


JOINED = {
    "modules after those they import": (
        {
            "small": 'import {\n  two,\n} from "./inner/second.js";\n'
            'import {one} from "./third.js";\nexport const first = [one, two];\n',
            "inner__second": 'import {one} from "../third.js";\n'
            "export function two() {\n  return [one];\n}\n",
            "third": "export const one = 1;\n",
        },
        "const one = 1;\nfunction two() {return [one];}\nconst first = [one, two];\n",
    ),
    "no comments": (
        {"small": "/**\n * All.\n */\nlet a = 'b // c'; // it's\n  // so is `this\nlet b = 1;\n"},
        "let a = 'b // c';let b = 1;\n",
    ),
    "code after a comment": (
        {"small": "/** One. */ let a = 1;\nlet b = 2;\n/** Two. */\nlet c = 3;\n"},
        "/** One. */ let a = 1;let b = 2;let c = 3;\n",
    ),
    "strings, patterns and templates as they are": (
        {
            "small": "let a = 'b => c && d', b = /[\"`] => \\/ d/,\n"
            "    c = `(\n  // ${b ? `${[a, {b}]}\n  )` : 'x'}\nimport it`;\n"
        },
        "let a = 'b => c && d', b = /[\"`] => \\/ d/,"
        "c = `(\n  // ${b ? `${[a, {b}]}\n  )` : 'x'}\nimport it`;\n",
    ),
}


@pytest.mark.parametrize("case", JOINED)
def test_a_page_has_one_script(case, tmp_path):
    files, expected = JOINED[case]
    assert page_of(tmp_path, **files) == expected


@pytest.mark.parametrize(
    "form",
    [
        'import * as all from "./other.js";', 'import one from "./other.js";',
        'import {one as two} from "./other.js";', "export {x};", "export default x;",
        'export * from "./other.js";',
    ],
)  # fmt: skip
def test_another_form_of_import_or_export_is_an_error(form, tmp_path):
    with pytest.raises(ValueError, match=r"^small.js: expected only import \{a, b\}") as told:
        page_of(tmp_path, small=f"let x = 1;\n{form}\n", other="export const one = 1;\n")
    assert str(told.value).endswith(f"got {form}")


def test_two_modules_with_a_name_in_common_are_an_error(tmp_path):
    small = 'import {one} from "./other.js";\nexport const both = one;\n'
    with pytest.raises(ValueError, match=r"small.js: other.js has a both, too: rename"):
        page_of(tmp_path, small=small, other="export const one = 1;\nfunction both() {}\n")


def test_an_unknown_text_is_an_error(tmp_path):
    for files in ({"html": "<p>{{no.text}}</p>"}, {"small": 'say("{{no.text}}")'}):
        with pytest.raises(KeyError, match=r"no\.text"):
            page_of(tmp_path, **files)


def test_a_group_of_texts_is_json(tmp_path):
    page = page_of(tmp_path, small='const phases = JSON.parse("{{phase.*}}");')
    phases = json.loads(json.loads(page[page.index('"') : page.rindex('"') + 1]))
    known = texts.texts_of("pages")
    assert phases == {key[6:]: known[key] for key in known if key.startswith("phase.")}


def test_a_text_may_have_any_character(tmp_path, opened):
    hostile = "</script><script>`${}\"'\\ & \u2028 {{ js }}"
    own = tmp_path / "own.toml"
    own.write_text(f'[pages]\n"steps.at" = {json.dumps(hostile)}\n', encoding="utf-8")
    script = 'import {filled} from "./shared/texts.js";\n'
    script += 'const said = "{{steps.at}}", again = `{{steps.at}}{{steps.at}}`;'
    page_of(tmp_path, html="<p title='{{steps.at}}'></p><script>{{js}}</script>", small=script)
    path = tmp_path / "page.html"
    with texts.speaking("en", own):
        path.write_text(html_page("small", "small", tmp_path), encoding="utf-8")
    with opened(path) as page:
        assert page.evaluate("[said, again]") == [hostile, 2 * hostile]
        assert page.evaluate("filled(said, {n: '{n}'})") == hostile
        assert page.get_attribute("p", "title") == hostile
