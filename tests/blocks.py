"""The code blocks of the README, of the pages of the site, and of CONTRIBUTING."""

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CONTRIBUTING = ROOT / ".github" / "CONTRIBUTING.md"
PAGES = [README, *sorted((ROOT / "demos" / "site").glob("*.md"))]


def blocks_of(page):
    """The code blocks of a page: within fences, or indented by four columns or more."""
    text = page.read_text(encoding="utf-8")
    fenced = re.compile(r"^( *)```\w*\n(.*?)^\1```$", re.M | re.S)
    found = [textwrap.dedent(block) for _, block in fenced.findall(text)]
    indented = re.compile(r"(?<=\n\n)((?: {4}.*\n|\n)+)", re.M)
    rest = fenced.sub("", text)
    return found + [textwrap.dedent(block).strip("\n") + "\n" for block in indented.findall(rest)]


def block(start):
    """The one block that begins so. What a test gets from here, it runs."""
    [found] = {b for page in (*PAGES, CONTRIBUTING) for b in blocks_of(page) if b.startswith(start)}
    return found
