"""The code blocks of the README, of the pages of the site, and of CONTRIBUTING; processes."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "demos" / "site").glob("*.md"))]
BLOCKS = {
    textwrap.dedent(text)
    for page in (*PAGES, ROOT / ".github" / "CONTRIBUTING.md")
    for text in re.findall(r"^ *```\w*\n(.*?)^ *```$", page.read_text("utf-8"), re.M | re.S)
}


def block(start):
    """The one block that begins so. A test that asks for a block runs it."""
    [found] = [text for text in BLOCKS if text.startswith(start)]
    return found


def lines(text):
    """The commands of a script, each as the set of its words; --quiet is not one of them."""
    commands = re.split(r"\n|&&|\|\||[(){};]", re.sub(r"(^|\s)#.*", "", text))
    return [frozenset(command.replace("--quiet", "").split()) for command in commands]


def written(folder, files):
    """The folder, after these texts have been written into it by their paths."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def python(*words, folder=None, code=0, **environment):
    """A fresh Python with these words, after it has ended with this exit code."""
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=folder, env=os.environ | environment,
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def shell(script, folder):
    """What a script prints, run in a folder, where `micrograd` and `python` are those of here."""
    bash = shutil.which("bash")
    if bash is None or sys.platform == "win32":
        pytest.skip("no bash here")
    done = subprocess.run(
        [bash, "-c", f'micrograd() {{ python -m micrograd "$@"; }}\n{script}'],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # killed but not reaped: a container may have no process that does so
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not os.path.exists("/proc")
