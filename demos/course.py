"""Builds the course: one HTML file with Python, this package, Graphviz and an editor inside.

    micrograd course -o course.html
    micrograd course -o course.html --tasks my_chapters/ --texts my_texts.toml

The file opens by a double click, needs no installation, and never uses the network. This program
does: it fetches three packages with npm (a part of Node.js) at fixed versions, and checks their
hashes. A second run takes them from the cache. `--pyodide FOLDER` takes their archives from a
folder instead. Node.js, where there is one, then compiles the modules with which Python starts;
without it, the page starts a few seconds later. The parts of the page are in `demos/course/`: its
texts in `micrograd/texts/`, one file for each language.

A chapter of your own is a folder, as in `demos/course/example/softmax`; `--tasks` takes the folder
around it. Your chapters come after the eight of the course, and need none of them.

    text.md       "# Label: Title", the text, "## Task", and "## Picture" with its caption
    start.py      what is put below the learner's program; its first line is a comment
    tests.py      functions test_...(check), in order; the first paragraph of each docstring says
                  what is wrong, the second how to fix it; check("f(2)", 4) compares
    picture.py    a function picture() that returns a drawing or a page of micrograd (optional)
    solution.py   what the page shows after the third hint (optional)

In the file, tests and solutions are packed: they are not there as plain text, but not secret.

The page was tried in Chromium 156, in Firefox 153.7 ESR, and in WebKitGTK 2.50.6, the nearest
thing to Safari that runs on Linux. By the documentation of what it uses (`import` in workers,
streams that decompress, WebAssembly under a content security policy, container queries), it should
work in Chrome and Edge from 105, Firefox from 114 and Safari from 16.4, on any system.
"""

import argparse
import base64
import gzip
import hashlib
import html
import json
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import graphviz

import micrograd
from micrograd.core.files import write_whole
from micrograd.pages.page import as_json, html_page
from micrograd.texts import texts_of

PARTS = Path(__file__).resolve().parent / "course"
CACHE = Path.home() / ".cache" / "micrograd-course"

# The npm packages: the version, the hash that the registry gives, and the licence.
PACKAGES = {
    "pyodide": (
        "314.0.7",
        "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
        "MPL 2.0, with CPython under the PSF licence",
    ),
    "@viz-js/viz": (
        "3.31.0",
        "sha512-r7zlQdRvcwvIpjHGgs+KNWHeE/P5/Dq7k8ZAKaMCbZqomxCBJV78gVuQYaHzFVca+kB0mX0fMW9UFevCOBG50A==",
        "MIT, with Graphviz under the EPL",
    ),
    "codemirror": (
        "5.65.21",
        "sha512-6teYk0bA0nR3QP0ihGMoxuKzpl5W80FpnHpBJpgy66NK3cZv5b/d/HY8PnRvfSsCG1MTfr92u2WUl+wT0E40mQ==",
        "MIT",
    ),
}
OWN = (micrograd, graphviz)  # Python packages, as they are installed here
RELEASE = "course.html of a release of micrograd is this page, built already"
PACKED = {  # the files that the worker starts from, compressed in the page
    "pyodide": ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"),
    "@viz-js/viz": ("dist/viz.js",),
}
PYTHON = ("runner.py", "tasks.py", "pictures.py", "built.py", "gpt.py")  # what the worker runs
EDITOR = ("lib/codemirror.js", "mode/python/python.js", "addon/comment/comment.js")
LARGEST = 13_000_000  # bytes

# What the page may do: what the other pages may, and start a worker that runs WebAssembly. It
# cannot fetch anything.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' data:; worker-src blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; frame-src blob:; base-uri 'none'; "
    "form-action 'none'"
)


def downloaded(package):
    """The archive of an npm package, such as 'codemirror@5.65.21'."""
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError(
            f"npm fetches {package}: install Node.js, of which it is a part, or give a folder with "
            f"the packages by --pyodide; {RELEASE}"
        )
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", package, "--silent", "--pack-destination", folder]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except subprocess.CalledProcessError as error:
            raise OSError(
                f"npm could not fetch {package}: connect to its registry, or give a folder with "
                f"the packages by --pyodide; {RELEASE}"
            ) from error
        (archive,) = Path(folder).iterdir()
        return archive.read_bytes()


def fetched(name, cache=CACHE):
    """The files of an npm package, as a dict from path to bytes.

    Raises:
        ValueError: the archive does not have the hash that is written here.
    """
    version, integrity, _ = PACKAGES[name]
    file = f"{name.rpartition('/')[2]}-{version}.tgz"
    stored = Path(cache, file)
    if not stored.exists():
        archive = checked(downloaded(f"{name}@{version}"), integrity, f"{name} {version}")
        stored.parent.mkdir(parents=True, exist_ok=True)
        write_whole(stored, archive)
    archive = checked(stored.read_bytes(), integrity, str(stored))
    with tarfile.open(fileobj=BytesIO(archive)) as opened:
        members = (member for member in opened if member.isfile())
        return {m.name.partition("/")[2]: opened.extractfile(m).read() for m in members}


def checked(archive, integrity, what):
    """The archive, if it has this hash: 'sha512-' and the digest in base64, as npm writes it.

    Raises:
        ValueError: it has another one.
    """
    kind, _, _ = integrity.partition("-")
    found = f"{kind}-{base64.b64encode(hashlib.new(kind, archive).digest()).decode()}"
    if found != integrity:
        raise ValueError(
            f"{what}: expected {integrity}, got {found}: delete it if it is in the cache, and "
            "fetch it again; if the hash is still wrong, do not use it"
        )
    return archive


def zipped(tasks=None, language="en", own=None):
    """An archive of what Python imports in the page: parts of the course, and two packages."""
    archive = BytesIO()
    with ZipFile(archive, "w") as opened:
        for name in PYTHON:
            opened.writestr(name, (PARTS / name).read_bytes())
        for folder in own_chapters(tasks):
            for name in ("tests", "picture"):
                if (path := folder / f"{name}.py").exists():
                    opened.writestr(f"{folder.name}_{name}.py", path.read_bytes())
        for package in OWN:
            folder = Path(package.__file__).parent
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = path.relative_to(folder.parent).as_posix()
                    opened.writestr(name, path.read_bytes())
        name = f"micrograd/texts/{language}.toml"  # for the pages and rules that are shown later
        if own and name not in opened.namelist():
            opened.writestr(name, Path(own).read_bytes())
    return archive.getvalue()


def compiled(files):
    """The files; in the archives, the modules with which the course starts are compiled.

    Otherwise the browser would compile them at every start, which takes longer than all the rest.
    """
    node = shutil.which("node")
    if node is None:
        print("No Node.js here: the page will start more slowly.")
        return files
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        subprocess.run([node, PARTS / "compiling.mjs"], cwd=folder, check=True)
        return {name: Path(folder, name).read_bytes() for name in files}


def course(cache=CACHE, language="en", own=None, tasks=None):
    """The page as text."""
    packages = {name: fetched(name, cache) for name in PACKAGES}
    files = {Path(x).name: packages[name][x] for name, paths in PACKED.items() for x in paths}
    lock = json.loads(packages["pyodide"]["pyodide-lock.json"])
    lock["packages"] = {}  # all that is installed is in the page
    files["pyodide-lock.json"] = json.dumps(lock).encode()
    files = compiled(files | {"course.zip": zipped(tasks, language, own)})
    editor, table = packages["codemirror"], texts_of("course", language, own)
    return html_page(
        "course",
        "course",
        folder=PARTS,
        policy=POLICY,
        made_of=html.escape(made_of()),
        language=language,
        texts=own,
        title=html.escape(table["title"]),
        noscript=html.escape(table["noscript"]),
        words=as_json(table | {"language": language} | solutions(table, tasks)),
        files="\n".join(map(packed, files, files.values())),
        worker=(PARTS / "worker.js").read_text(encoding="utf-8"),
        editor_css=editor["lib/codemirror.css"].decode(),
        editor_js="\n".join(editor[x].decode() for x in EDITOR),
    )


def own_chapters(tasks):
    """The folders of a teacher's own chapters, in the order of their names.

    Raises:
        ValueError: there is none, or one has no text, start or tests.
    """
    found = sorted(p for p in Path(tasks).iterdir() if (p / "text.md").exists()) if tasks else []
    if tasks and not found:
        raise ValueError(f"{tasks} has no folder with a text.md: each chapter is such a folder")
    for folder in found:
        if not folder.name.isidentifier():
            raise ValueError(f"a chapter's folder is named like a variable, got {folder.name!r}")
        for name in ("start.py", "tests.py"):
            if not (folder / name).exists():
                raise ValueError(f"{folder} has no {name}: a chapter needs it")
    return found


def texts_of_own(folder):
    """The texts of such a chapter by the keys of the table."""
    text = (folder / "text.md").read_text(encoding="utf-8")
    title, _, text = text.removeprefix("# ").partition("\n")
    text, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    sections = {
        head.strip(): part.strip() for head, _, part in (s.partition("\n") for s in sections)
    }
    if "Task" not in sections:
        raise ValueError(f"{folder / 'text.md'} has no section '## Task': it says what to do")
    label, _, title = title.partition(": ")
    start = (folder / "start.py").read_text(encoding="utf-8").strip()
    solution, key = folder / "solution.py", folder.name
    return {
        key: label,
        f"{key}.title": title or label,
        f"{key}.text": text.strip(),
        f"{key}.task": sections["Task"],
        f"{key}.start": start if start.startswith("# ") else f"# {title or label}\n\n{start}",
        f"{key}.graph": sections.get("Picture", title or label),
        f"{key}.before": "",
        f"{key}.solution": hidden(solution.read_text("utf-8") if solution.exists() else ""),
    }


def hidden(solution):
    """The solution, so that a search in the page does not find it."""
    return base64.b64encode(solution.encode("ascii", "backslashreplace")).decode()


def solutions(table, tasks=None):
    """The chapters' names; for each, a program that has done those before it, and a solution."""
    answers = runpy.run_path(str(PARTS / "answers.py"))
    made, program = {}, ""
    for chapter, edits in answers["ANSWERS"].items():
        made[f"{chapter}.before"] = program
        made[f"{chapter}.solution"] = hidden("\n\n".join(new.strip("\n") for _, new in edits))
        start = table[f"{chapter}.start"]
        program = answers["edited"](f"{program}\n\n{start}\n" if program else f"{start}\n", edits)
    names = list(answers["ANSWERS"])
    for folder in own_chapters(tasks):
        if folder.name in table:
            raise ValueError(f"the name of {folder} is taken: rename the folder")
        made |= texts_of_own(folder)
        names.append(folder.name)
    return made | {"names": " ".join(names)}


def packed(name, data):
    """An element of the page that holds a file; `files.js` reads it."""
    text = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    return f'<script type="text/plain" class="file" data-name="{html.escape(name)}">{text}</script>'


def made_of():
    """What the file contains, with versions and licences."""
    parts = [f"{name} {version} ({licence})" for name, (version, _, licence) in PACKAGES.items()]
    own = [f"{package.__name__} {package.__version__} (MIT)" for package in OWN]
    return ", ".join([*own, *parts])


def main():
    """Builds the course and says how large it is."""
    parser = argparse.ArgumentParser("micrograd course", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("-o", "--out", default="course.html", help="the file to write")
    add("--language", default="en", help="the language of the texts (default: en)")
    add("--texts", type=Path, metavar="FILE", help="texts of your own; see micrograd texts")
    add("--tasks", type=Path, metavar="FOLDER", help="a folder with chapters of your own")
    add("--pyodide", type=Path, metavar="FOLDER", default=CACHE,
        help="the folder of the npm packages, as .tgz; npm fetches into it those that are not "
        f"there (default: {CACHE})")  # fmt: skip
    options = parser.parse_args()
    try:
        page = course(options.pyodide, options.language, options.texts, options.tasks).encode()
        write_whole(options.out, page)
    except (OSError, ValueError) as error:
        parser.exit(2, f"micrograd course: {error}\n")
    print(f"{options.out}: {len(page) / 1e6:.1f} MB")
    if len(page) > LARGEST:
        sys.exit(f"expected at most {LARGEST / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
