"""Builds the site: README, pages in demos/site, notebooks, demos, and the reference of all modules.

    python demos/site/build.py -o site/
    python demos/site/build.py -o site/ --course

The site needs no server and loads nothing from elsewhere. Whatever a code block of the README or of
a page in demos/site saves is made when the site is built and shown below the block. pdoc makes the
reference, because Sphinx needs generated stubs and a configuration, takes indented formulas for
errors, and gave 100 warnings where pdoc gives none.
`--course` also builds the course, which needs Node.js and takes a minute.

Needs pip install -e ".[site]".
"""

import argparse
import ast
import base64
import doctest
import html
import importlib.util
import os
import pkgutil
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import micrograd
from micrograd.core.files import write_whole
from micrograd.pages.page import as_json, html_page

try:
    import nbformat
    import pdoc
    from latex2mathml.converter import convert
    from markdown_it import MarkdownIt
    from mdit_py_plugins.anchors import anchors_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
except ImportError as missing:
    raise SystemExit(f'build.py needs {missing.name}: pip install -e ".[site]"') from missing

PARTS = Path(__file__).resolve().parent
DEMOS = PARTS.parent
ROOT = DEMOS.parent
PAGES = (  # in PARTS
    *("features", "gallery", "order", "inside", "class", "compared", "speed", "proof", "changes"),
)
# What a newcomer looks for
JUMPS = " · ".join([
    "[Install](#set-up)",
    "[draw a graph](gallery.html#the-chain-rule-on-a-drawing)",
    "[train on a CSV file](gallery.html#your-own-csv-file)",
    "[grade your engine](what-it-does.html#grade-your-own-engine) or [a class](for-a-class.html)",
    "[compile](what-it-does.html#compile-a-function)",
    "[cite](how-to-cite-licence-credits.html)",
])  # fmt: skip
PICTURES = {  # of demos whose picture has another name than they
    "backward_gif": "backward.gif",
    "decision_boundary": "moons.png",
    "explain_neuron": "stepping.png",
    "gallery": "layers.svg",
}
POLICY = (  # files of the site itself are all that a page can load
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src 'self' file: data:; frame-src 'self' file:; base-uri 'none'; form-action 'self' file:"
)
INLINE = r"</?(span|code|a|em|strong)\b[^>]*>"  # between letters of one word
NEEDED = {"compiler.run_jax": "jax"}
# Modules that cannot be imported here
UNAVAILABLE = [name for name, package in NEEDED.items() if not importlib.util.find_spec(package)]


def coloured(code: str, language: str, _: str = "") -> Any:
    """HTML of code, with a class for each kind of word."""
    known = {"py": "python", "python": "pycon" if ">>>" in code else "python"}
    lexer = get_lexer_by_name(known.get(language, "text"))
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def formula(tex: str, options: Mapping[str, Any]) -> str:
    """MathML, which browsers show without a script."""
    if options["display_mode"]:
        return f'<div class="wide" tabindex="0">{convert(tex, display="block")}</div>'
    return str(convert(tex))


markdown = (
    MarkdownIt("gfm-like", {"html": True, "linkify": False, "highlight": coloured})
    .use(anchors_plugin, max_level=3)
    .use(dollarmath_plugin, renderer=formula, double_inline=True)
)


def run(document: Path) -> None:
    """Runs the examples of a document in the current folder.

    Raises:
        SystemExit: an example printed something else than is written there.
    """
    if doctest.testfile(str(document), module_relative=False).failed:
        sys.exit(f"expected {document.name} to print what it says: see above")


def rendered(text: str, is_run: bool = False) -> str:
    """HTML of Markdown; if it was run, with the pages and pictures that its code saves."""
    page = markdown.render(text)

    def shown(block: re.Match[str]) -> str:
        names = dict.fromkeys(re.findall(r"[\w-]+\.(?:html|svg)", re.sub("<.*?>", "", block[0])))
        return block[0] + "".join(live(f"live/{name}") for name in names if "save" in block[0])

    if is_run:
        page = re.sub(r"<pre>.*?</pre>", shown, page, flags=re.S)
    page = re.sub(r'(<td>)(<img src="(.*?)".*?>)', r'\1<a href="\3">\2</a>', page)  # to see more
    page = re.sub(r"<table>.*?</table>", table, page, flags=re.S)
    return reachable(page)


def table(found: re.Match[str]) -> str:
    """The table, in which each cell has the heading of its column, for a screen without columns."""
    headings = [re.sub("<.*?>", "", heading) for heading in re.findall("<th>(.*?)</th>", found[0])]

    def row(match: re.Match[str]) -> str:
        named = iter(headings)
        return re.sub("<td>", lambda _: f'<td data-heading="{next(named)}">', match[0])

    rows = re.sub(r"<tr>\s*<td>.*?</tr>", row, found[0], flags=re.S)
    return f'<div class="wide" tabindex="0">{rows.replace("<th></th>", "<td></td>")}</div>'


def reachable(page: str) -> str:
    """The page, in which one can scroll wide code with the keyboard."""
    page = page.replace("<pre>", '<pre tabindex="0">')
    return page.replace('<div class="attr', '<div tabindex="0" class="attr')


def live(address: str) -> str:
    """A page in a frame, or a picture."""
    name = Path(address).stem.replace("_", " ")
    if address.endswith(".html"):
        frame = f'<iframe src="{address}" title="{name}" loading="lazy"></iframe>'
        return f'{frame}<p><a href="{address}">Open this page</a></p>'
    return f'<p><a href="{address}"><img src="{address}" alt="{name}, larger"></a></p>'


def slug(title: str) -> str:
    """The address of a page with this title."""
    return re.sub(r"\W+", "-", title.lower()).strip("-") + ".html"


def guide(repository: str = "") -> Iterator[tuple[str, str]]:
    """Pages by title: the README, which names the repository, and the pages in demos/site."""
    readme = (ROOT / "README.md").read_text("utf-8")
    if repository:
        readme = readme.replace("Clone this repository", f"Clone [the repository]({repository})")
        readme = readme.replace("git+ADDRESS", f"git+{repository}")
        year = "  year    = {2026},\n"
        readme = readme.replace(year, f"{year}  url     = {{{repository}}},\n")
    first, *sections = re.split(r"^(?=## )", readme, flags=re.M)
    by_title = {title_of(section): section for section in sections}
    [training] = re.findall(r"^## A page that trains.*?(?=^## )", text_of("gallery"), re.M | re.S)
    # Where the README has pictures of the two pages, the site has the pages themselves.
    first = re.sub(r"^\|.*?^$", "", first, flags=re.M | re.S)
    about, picture = first.split("\n\n<picture>", 1)
    first = f"{about}\n\n{JUMPS}\n\n<picture>{picture}"
    begin = first + by_title["Set-up"] + training + by_title["What it does"]
    yield "Start", rendered(begin, True)
    for name in PAGES:
        yield title_of(text_of(name)), rendered(text_of(name), True)
    for title in ("The tour", "How to cite, licence, credits"):
        yield title, rendered(by_title[title].replace("## ", "# ", 1))


def title_of(text: str) -> str:
    """The heading with which a text begins."""
    return text.partition("\n")[0].lstrip("# ")


def text_of(name: str) -> str:
    """The text of a page in demos/site; its pictures have other addresses in the site."""
    return (PARTS / f"{name}.md").read_text("utf-8").replace("../gallery/", "demos/gallery/")


def notebook(path: Path) -> str:
    """HTML of the texts, code and outputs of a notebook."""
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        is_code = cell.cell_type == "code"
        parts.append(rendered(f"```python\n{cell.source}\n```" if is_code else cell.source))
        parts += map(output, cell.get("outputs", ()))
    return "\n".join(parts)


def output(result: Mapping[str, Any]) -> str:
    """HTML of what a cell printed or drew."""
    data = result.get("data", {"text/plain": result.get("text", "")})
    if "image/svg+xml" in data:
        svg = base64.b64encode(data["image/svg+xml"].encode()).decode()
        return f'<p><img src="data:image/svg+xml;base64,{svg}" alt="result"></p>'
    if "image/png" in data:
        return f'<p><img src="data:image/png;base64,{data["image/png"].strip()}" alt="result"></p>'
    return f'<pre class="output" tabindex="0">{html.escape(data.get("text/plain", ""))}</pre>'


def demo(path: Path) -> str:
    """HTML of a demo: its code."""
    return rendered(f"# {path.name}\n\n```python\n{path.read_text('utf-8')}```")


def entry_of(path: Path) -> str:
    """The entry of a demo in the list of all: its name, its first sentence, and what it makes.

    This is its picture, or what it prints, which `gallery.py` records; of a script that measures,
    the table in speed.md before the script is named.
    """
    about = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    first = html.escape(about.partition("\n")[0].replace("`", ""))
    own = next((DEMOS / "gallery").glob(f"{path.stem}.*"), None)
    image = Path(PICTURES.get(path.stem, own.name if own else ""))
    dark = f"{image.stem}-dark{image.suffix}"
    if image.suffix == ".txt":
        text = (DEMOS / "gallery" / image).read_text("utf-8")
        shown = f'<pre tabindex="0">{html.escape(text)}</pre>'
    elif not image.name:
        before = text_of("speed").partition(path.name)[0]
        shown = rendered(re.findall(r"(?:^\|.*\n)+", before, re.M)[-1])
    else:
        shown = f'<img src="demos/gallery/{image}" alt="{first}" loading="lazy">'
        if (DEMOS / "gallery" / dark).exists():
            media = f'media="(prefers-color-scheme: dark)" srcset="demos/gallery/{dark}"'
            shown = f"<picture><source {media}>{shown}</picture>"
    return f'<li><a href="{slug(path.name)}">{path.name}</a><p>{first}</p>{shown}</li>'


def reference() -> dict[str, str]:
    """A page for each module of the package, by the module's name."""
    micrograd.__all__.append("compile")  # not for `import *`, where it would hide a builtin
    for package in (micrograd, micrograd.draw):
        for name in package.__all__:  # loaded on first use, but pdoc does not ask the module
            setattr(package, name, getattr(package, name))
    modules = [m.name for m in pkgutil.walk_packages(micrograd.__path__, "micrograd.")]
    without = [f"!micrograd.{name}" for name in ("__main__", *UNAVAILABLE)]
    pdoc.render.configure(docformat="google", search=False, template_directory=PARTS / "templates")
    pdoc.render.env.filters["coloured"] = coloured
    pdoc.render_helpers.markdown_extensions.pop("task_list")  # [x] is a list, not a ticked box
    pages = {}
    with tempfile.TemporaryDirectory() as folder:
        pdoc.pdoc("micrograd", *modules, *without, output_directory=Path(folder))
        Path(folder, "index.html").unlink()  # leads to the package, where all modules are linked
        for path in sorted(Path(folder).rglob("*.html")):
            page = re.sub(r"<(/?)main", r"<\1div", path.read_text("utf-8"))
            page = reachable(re.sub(r"<(/?)h[56]", r"<\1h2", page))
            page = re.sub(r'<a class="headerlink".*?</a>', "", page)
            page = re.sub(r'<a href="[^"]*#_[^"]*">(.*?)</a>', r"\1", page)  # private: on no page
            pages[".".join(path.relative_to(folder).with_suffix("").parts)] = page
    return pages


def linked(page: str, pages: Mapping[str, str], root: str) -> str:
    """The page; where its text names a file that has a page here, with a link to it."""

    def link(code: re.Match[str]) -> str:
        address = pages.get(code[1])
        return f'<a href="{root}{address}">{code[0]}</a>' if address else code[0]

    return re.sub(r"<code>([\w./]+)</code>(?!</a>)", link, page)


def entries(address: str, page: str) -> Iterator[tuple[str, str, str]]:
    """What the search finds in a page: address, title and text of each section."""
    [title] = re.findall(r"<title>(.*?)</title>", page)
    body = page.partition("<main")[2]
    body = re.sub(r"<(script|style|nav|math|details)\b.*?</\1>", " ", body, flags=re.S)
    parts = re.split(r'<(h[1-3]|section|div) id="([^"]+)"[^>]*>', body)
    for kind, place, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        heading = text.partition(f"</{kind}>")[0] if kind[0] == "h" else place
        heading, words = (
            " ".join(html.unescape(re.sub(r"<[^>]*>", " ", part)).split()).removesuffix(" #")
            for part in (re.sub(INLINE, "", part) for part in (heading, text))
        )
        if place not in ("arguments", "attributes", "raises", "returns"):
            name = title if title.startswith(heading) else f"{heading} · {title}"
            yield f"{address}#{place}", name, words[:2000]


def build(out: Path, course: bool = False, repository: str = "") -> None:
    """Writes the site to a folder."""
    (out / "live").mkdir(parents=True, exist_ok=True)
    shutil.copytree(DEMOS / "gallery", out / "demos" / "gallery", dirs_exist_ok=True)
    before = Path.cwd()
    os.chdir(out / "live")
    try:
        for page in (ROOT / "README.md", *(PARTS / f"{name}.md" for name in PAGES)):
            run(page)
    finally:
        os.chdir(before)

    listed = text_of("class")  # in their order
    notebooks = sorted(DEMOS.glob("*.ipynb"), key=lambda path: listed.find(path.name))
    demos = sorted(p for p in DEMOS.glob("*.py") if p.with_suffix(".ipynb") not in notebooks)
    demos += sorted((DEMOS / "speed").glob("*.py"))
    pages = dict(guide(repository))
    guided = list(pages)
    pages |= {path.stem.replace("_", " ").capitalize(): notebook(path) for path in notebooks}
    pages["Answers"] = rendered((DEMOS / "solutions.md").read_text("utf-8"))
    if course:
        from micrograd.course.build import course as course_page

        write_whole(out / "live" / "course.html", course_page().encode())
        pages["Course"] = "<h1>Course</h1>" + live("live/course.html")
    contributing = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
    pages["Contributing"] = rendered(contributing)
    teaching = [title for title in pages if title not in [*guided, "Contributing"]]
    pages |= {path.name: demo(path) for path in demos}
    modules = reference()

    addresses = {title: "index.html" if title == "Start" else slug(title) for title in pages}
    named = {path.relative_to(ROOT).as_posix(): slug(path.name) for path in demos}
    named |= {f"demos/{p.name}": slug(p.stem.replace("_", " ")) for p in notebooks}
    named |= {"demos/solutions.md": "answers.html"}
    named |= {f"demos/site/{name}.md": slug(title_of(text_of(name))) for name in PAGES}
    for module in modules:
        file = f"reference/{module.replace('.', '/')}.html"
        named |= {f"{module.replace('.', '/')}{end}": file for end in (".py", "/")}
        named[module] = addresses[module] = file
    del named["micrograd"]  # in a text it is the command
    groups = {
        "Guide": {title: addresses[title] for title in guided},
        "Learn": {title: addresses[title] for title in teaching},
        "Reference": {
            "All modules": "reference/micrograd.html",
            "Demos": "demos.html",
            "Contributing": "contributing.html",
        },
    }
    scripts = [path for path in demos if "__main__" in path.read_text("utf-8")]
    pages["Demos"] = f'<h1>Demos</h1><ul class="demos">{"".join(map(entry_of, scripts))}</ul>'
    addresses["Demos"] = "demos.html"
    for title, body in (pages | modules).items():
        write(out, addresses[title], title, body, groups, named)

    index = [
        entry
        for path in sorted(out.rglob("*.html"))
        if path.parent.name != "live"
        for entry in entries(path.relative_to(out).as_posix(), path.read_text("utf-8"))
    ]
    found = '<h1>Search</h1><p id="count" role="status"></p><ul id="found"></ul>'
    script = (PARTS / "search.js").read_text("utf-8").replace("{{index}}", as_json(index))
    write(out, "search.html", "Search", found, groups, script=script)


def write(
    out: Path,
    address: str,
    title: str,
    body: str,
    groups: Mapping[str, Mapping[str, str]],
    named: Mapping[str, str] | None = None,
    script: str = "",
) -> None:
    """Writes one page, with links to all others and to what its text names."""
    root = "../" * address.count("/")

    def item(name: str, target: str) -> str:
        current = ' aria-current="page"' * (target == address)
        return f'<li><a href="{root}{target}"{current}>{html.escape(name)}</a></li>'

    links = "\n".join(
        f"<h2>{group}</h2><ul>{''.join(item(*pair) for pair in pages.items())}</ul>"
        for group, pages in groups.items()
    )
    page = html_page(
        "site",
        folder=PARTS,
        policy=POLICY,
        title=html.escape(f"{title} · micrograd" if title != "Start" else "micrograd"),
        links=links,
        root=root,
        body=linked(body, named or {}, root),
        more=script,
    )
    (out / address).parent.mkdir(parents=True, exist_ok=True)
    write_whole(out / address, page.encode())


def main() -> None:
    """Builds the site and says how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--out", default="site", type=Path, help="the folder to write")
    parser.add_argument("--repository", default="", metavar="URL", help="where one can clone it")
    parser.add_argument("--course", action="store_true", help="with the course (needs Node.js)")
    options = parser.parse_args()
    with warnings.catch_warnings(action="error"):  # pdoc warns of names that it cannot find
        # Types of generated methods are then shown as they are written.
        warnings.filterwarnings("ignore", "Error parsing type annotation")
        # Some packages list all their modules, others only the names that users import.
        warnings.filterwarnings("ignore", "The module specification .* has already been added")
        build(options.out.resolve(), options.course, options.repository)
    files = [path for path in options.out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{options.out}: {len(files)} files, {size:.1f} MB; open {options.out}/index.html")


if __name__ == "__main__":
    main()
