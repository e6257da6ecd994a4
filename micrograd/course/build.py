"""Builds the course, which is one HTML file.

This uses the network: npm (a part of Node.js) fetches three packages at fixed versions, and their
hashes are checked. A second run takes them from the cache. Node.js, where there is one, then
compiles the modules with which Python starts; without it, the page starts a few seconds later.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from micrograd.core.files import FilePath, write_whole
from micrograd.course.answers import ANSWERS, edited
from micrograd.engine import Value
from micrograd.pages.page import as_json, html_page
from micrograd.plot.figure import save
from micrograd.plot.surface import slope
from micrograd.texts import FOLDER, commented, spoken, spoken_now, texts_of
from micrograd.texts import language as spoken_language

PARTS = Path(__file__).resolve().parent
WIDEST = 56  # columns of a comment in the editor
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
OWN = ("micrograd", "graphviz")  # Python packages, as they are installed here
RELEASE = "course.html of a release of micrograd is this page, built already"
PACKED = {  # the files that the worker starts from, compressed in the page
    "pyodide": ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"),
    "@viz-js/viz": ("dist/viz.js",),
}
EDITOR = ("lib/codemirror.js", "mode/python/python.js", "addon/comment/comment.js")

# What the page may do: what the other pages may, and start a worker that runs WebAssembly. It
# cannot fetch anything.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' data:; worker-src blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; frame-src blob:; base-uri 'none'; "
    "form-action 'none'"
)


def downloaded(package: str) -> bytes:
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


def fetched(name: str, cache: FilePath = CACHE) -> dict[str, bytes]:
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
        found = ((member.name, opened.extractfile(member)) for member in opened)
        return {name.partition("/")[2]: file.read() for name, file in found if file}


def checked(archive: bytes, integrity: str, what: str) -> bytes:
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


def zipped(tasks: FilePath | None = None) -> bytes:
    """An archive of what Python imports in the page: two packages, and a teacher's chapters."""
    archive, name = BytesIO(), f"{spoken_language()}.toml"
    left_out = {x.name for x in FOLDER.iterdir() if x.name.endswith(".toml")} - {"en.toml", name}
    left_out |= {"__pycache__", "demos"}
    with ZipFile(archive, "w") as opened:
        for folder in own_chapters(tasks):
            for part in ("tests", "picture"):
                if (path := folder / f"{part}.py").exists():
                    opened.writestr(f"{folder.name}_{part}.py", path.read_bytes())
        for package in map(import_module, OWN):
            (folder,) = map(Path, package.__path__)
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder.parent)
                if path.is_file() and not left_out & {*inside.parts}:
                    opened.writestr(inside.as_posix(), path.read_bytes())
        _, own = spoken_now()  # for the pages and rules that are shown later
        if own and f"micrograd/texts/{name}" not in opened.namelist():
            opened.writestr(f"micrograd/texts/{name}", Path(own).read_bytes())
    return archive.getvalue()


def compiled(files: dict[str, bytes]) -> dict[str, bytes]:
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


@spoken
def course(
    cache: FilePath = CACHE,
    language: str | None = None,
    texts: FilePath | None = None,
    tasks: FilePath | None = None,
) -> str:
    """The page as text.

    Args:
        cache: the folder with the archives of the npm packages; those that it lacks are fetched.
        language: that of the page, as in `explain`.
        texts: a TOML file of your own, as in `explain`.
        tasks: the folder around the chapters of a teacher's own.
    """
    packages = {name: fetched(name, cache) for name in PACKAGES}
    files = {Path(x).name: packages[name][x] for name, paths in PACKED.items() for x in paths}
    lock = json.loads(packages["pyodide"]["pyodide-lock.json"])
    lock["packages"] = {}  # all that is installed is in the page
    files["pyodide-lock.json"] = json.dumps(lock).encode()
    files = compiled(files | {"course.zip": zipped(tasks)})
    editor, table = packages["codemirror"], texts_and_starts()
    return html_page(
        "course",
        "course",
        folder=PARTS,
        policy=POLICY,
        made_of=html.escape(made_of()),
        title=html.escape(table["title"]),
        noscript=html.escape(table["noscript"]),
        words=as_json(table | {"language": spoken_language()} | drawn() | solutions(table, tasks)),
        files="\n".join(map(packed, files, files.values())),
        worker=(PARTS / "worker.js").read_text(encoding="utf-8"),
        editor_css=editor["lib/codemirror.css"].decode(),
        editor_js="\n".join(editor[x].decode() for x in EDITOR),
    )


def own_chapters(tasks: FilePath | None) -> list[Path]:
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


def texts_of_own(folder: Path) -> dict[str, str]:
    """The texts of such a chapter by the keys of the table."""
    text = (folder / "text.md").read_text(encoding="utf-8")
    title, _, text = text.removeprefix("# ").partition("\n")
    text, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    heads = (part.partition("\n") for part in parts)
    sections = {head.strip(): part.strip() for head, _, part in heads}
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


def hidden(solution: str) -> str:
    """The solution, so that a search in the page does not find it."""
    return base64.b64encode(solution.encode("ascii", "backslashreplace")).decode()


def texts_and_starts() -> dict[str, str]:
    """All texts of the course, and for each chapter the program with which it begins."""
    starts = tomllib.loads((PARTS / "starts.toml").read_text(encoding="utf-8"))
    made = {f"{x}.start": commented(starts[x].strip("\n"), "course", WIDEST) for x in starts}
    return texts_of("course") | made


def drawn() -> dict[str, str]:
    """The slope of the first chapter as a picture, as the page has no Matplotlib."""
    x = Value(3.0)
    y = 3 * x**2 - 4 * x + 5
    axes: Any = slope(y, x, move=1.0, names={"x": x, "y": y})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "slope.svg")
        save(axes.figure, file)
        return {"slope.svg": file.read_text(encoding="utf-8")}


def solutions(table: Mapping[str, str], tasks: FilePath | None = None) -> dict[str, str]:
    """The chapters' names; for each, a program that has done those before it, and a solution."""
    made: dict[str, str] = {}
    program = ""
    for chapter, edits in ANSWERS.items():
        made[f"{chapter}.before"] = program
        made[f"{chapter}.solution"] = hidden("\n\n".join(new.strip("\n") for _, new in edits))
        start = table[f"{chapter}.start"]
        program = edited(f"{program}\n\n{start}\n" if program else f"{start}\n", edits)
    names = list(ANSWERS)
    for folder in own_chapters(tasks):
        if folder.name in table:
            raise ValueError(f"the name of {folder} is taken: rename the folder")
        made |= texts_of_own(folder)
        names.append(folder.name)
    return made | {"names": " ".join(names)}


def packed(name: str, data: bytes) -> str:
    """An element of the page that holds a file; `files.js` reads it."""
    text = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    return f'<script type="text/plain" class="file" data-name="{html.escape(name)}">{text}</script>'


def made_of() -> str:
    """What the file contains, with versions and licences."""
    parts = [f"{name} {version} ({licence})" for name, (version, _, licence) in PACKAGES.items()]
    own = [f"{name} {import_module(name).__version__} (MIT)" for name in OWN]
    return ", ".join([*own, *parts])
