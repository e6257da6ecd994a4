"""Builds the course: one HTML file with Python, this package, Graphviz and an editor inside.

    python demos/course.py -o course.html

The file opens by a double click, needs no installation, and never uses the network. This program
does: it fetches three packages with npm (a part of Node.js) and one with pip, at fixed versions,
and checks their hashes. A second run takes those of npm from the cache. Node.js then compiles the
modules with which Python starts. The parts of the page are in `demos/course/`: its texts in
texts.toml, one line for each language.

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
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from micrograd.core.files import write_whole
from micrograd.pages.page import as_json, html_page
from micrograd.pages.texts import texts_of

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "demos" / "course"
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
GRAPHVIZ = (  # the Python package that writes DOT text, from PyPI
    "graphviz==0.21 --hash=sha256:54f33de9f4f911d7e84e4191749cac8cc5653f815b06738c54db9a15ab8b1e42"
)
PACKED = {  # the files that the worker starts from, compressed in the page
    "pyodide": ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"),
    "@viz-js/viz": ("dist/viz.js",),
}
PYTHON = ("runner.py", "tasks.py", "pictures.py")  # what the worker runs
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
        raise FileNotFoundError(f"npm fetches {package}: install Node.js, of which it is a part")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", package, "--silent", "--pack-destination", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
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


def wheels():
    """The wheels of this package, built now, and of graphviz: dicts from name to bytes."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as folder:
        required = Path(folder, "graphviz.txt")
        required.write_text(GRAPHVIZ)
        subprocess.run(
            [*pip, "download", "--no-deps", "--require-hashes", "-r", required, "-d", folder],
            check=True,
        )
        subprocess.run([*pip, "wheel", "--no-deps", ROOT, "-w", folder], check=True)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.whl"))}


def zipped(names):
    """An archive of parts of the course."""
    archive = BytesIO()
    with ZipFile(archive, "w") as opened:
        for name in names:
            opened.writestr(name, (PARTS / name).read_bytes())
    return archive.getvalue()


def compiled(files):
    """The files; in the archives, the modules with which the course starts are compiled.

    Otherwise the browser would compile them at every start, which takes longer than all the rest.
    """
    node = shutil.which("node")
    if node is None:
        raise FileNotFoundError("node compiles modules of the course: install Node.js")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        subprocess.run([node, PARTS / "compiling.mjs"], cwd=folder, check=True)
        return {name: Path(folder, name).read_bytes() for name in files}


def course(cache=CACHE, language="en", own=None):
    """The page as text."""
    packages = {name: fetched(name, cache) for name in PACKAGES}
    files = {Path(x).name: packages[name][x] for name, paths in PACKED.items() for x in paths}
    lock = json.loads(packages["pyodide"]["pyodide-lock.json"])
    lock["packages"] = {}  # all that is installed is in the page
    files["pyodide-lock.json"] = json.dumps(lock).encode()
    files = compiled(files | wheels() | {"course.zip": zipped(PYTHON)})
    editor, table = packages["codemirror"], texts(language, own)
    return html_page(
        "course",
        "course",
        folder=PARTS,
        policy=POLICY,
        made_of=html.escape(made_of(files)),
        language=language,
        texts=own,
        title=html.escape(table["title"]),
        noscript=html.escape(table["noscript"]),
        words=as_json(table | solutions(table)),
        files="\n".join(map(packed, files, files.values())),
        worker=(PARTS / "worker.js").read_text(encoding="utf-8"),
        editor_css=editor["lib/codemirror.css"].decode(),
        editor_js="\n".join(editor[x].decode() for x in EDITOR),
    )


def texts(language, own=None):
    """All texts of the course in one language, by name.

    Raises:
        ValueError: a text has no such language.
    """
    return texts_of(language, PARTS / "texts.toml", own)


def solutions(table):
    """For each chapter, a program that has done those before it, and what completes the chapter."""
    answers = runpy.run_path(str(PARTS / "answers.py"))
    made, program = {}, ""
    for chapter, edits in answers["ANSWERS"].items():
        made[f"{chapter}.before"] = program
        made[f"{chapter}.solution"] = "\n\n".join(new.strip("\n") for _, new in edits)
        start = table[f"{chapter}.start"]
        program = answers["edited"](f"{program}\n\n{start}\n" if program else f"{start}\n", edits)
    return made


def packed(name, data):
    """An element of the page that holds a file; `files.js` reads it."""
    text = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    return f'<script type="text/plain" class="file" data-name="{html.escape(name)}">{text}</script>'


def made_of(files):
    """What the file contains, with versions and licences."""
    parts = [f"{name} {version} ({licence})" for name, (version, _, licence) in PACKAGES.items()]
    own = [name.removesuffix("-py3-none-any.whl") for name in files if name.endswith(".whl")]
    return ", ".join([*(f"{name.replace('-', ' ')} (MIT)" for name in own), *parts])


def main():
    """Builds the course and says how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--out", default="course.html", help="the file to write")
    parser.add_argument("--texts", metavar="FILE", help="a TOML file of your own texts")
    parser.add_argument("--language", default="en", help="a column of texts.toml (default: en)")
    parser.add_argument("--cache", default=CACHE, type=Path, help="where to keep the npm packages")
    options = parser.parse_args()
    page = course(options.cache, options.language, options.texts).encode()
    write_whole(options.out, page)
    print(f"{options.out}: {len(page) / 1e6:.1f} MB")
    if len(page) > LARGEST:
        sys.exit(f"expected at most {LARGEST / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
