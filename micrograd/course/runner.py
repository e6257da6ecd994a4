"""Python's side of the course: runs a learner's program, shows what it makes, and judges it.

Runs in the worker. `answer` takes a request of the page and returns the answer, both as JSON; what
a program prints and draws goes to the page while it runs.
"""

from __future__ import annotations

import ast
import builtins
import functools
import io
import json
import linecache
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from micrograd.course import tasks
from micrograd.course.pictures import pictures_of
from micrograd.draw.render import Digraph, register
from micrograd.draw.tokens import FONT
from micrograd.grade import Report
from micrograd.pages.page import Page

FILE = "my_engine.py"
MOST = 100_000  # characters that a program may print
DEEPEST = 400  # calls: at Python's own limit of 1000, the browser's stack would run over first
PAUSE = 0.1  # seconds between two messages with printed text
PLAIN = (  # before a report, which brings no styles of its own
    '<meta name="color-scheme" content="light dark">'
    "<style>body { font: 14px sans-serif } pre { white-space: pre-wrap }</style>"
)
NOT_HERE = ("numpy", "matplotlib", "tqdm", "pygraphviz", "llvmlite", "jax", "torch", "sklearn")

Post = Callable[[str, Any], None]  # sends the kind of a message and its content
post: Post = print  # replaced in `start`


def start(
    draw: Callable[[str, str, str | None], str], send: Callable[[str, str], object], texts: str
) -> None:
    """Connects Python with the page.

    Args:
        draw: takes DOT text, a format and an engine, and returns a picture as text.
        send: takes the kind of a message and its content as JSON.
        texts: the table of texts in one language, as JSON.
    """
    global post

    def post(kind: str, content: object) -> None:
        send(kind, json.dumps(content))

    def picture(source: str, format: str, engine: str | None) -> bytes:
        if format not in ("svg", "dot", "xdot", "json"):
            raise ValueError(tasks.text("format", format=format))
        # This Graphviz knows the widths of Arial's letters, and not those of a list of fonts.
        drawn = draw(source.replace(FONT["fontname"], "Arial"), format, engine)
        return drawn.replace("Arial", FONT["fontname"]).encode()

    tasks.TEXTS.update(json.loads(texts))
    os.environ["MICROGRAD_LANGUAGE"] = tasks.TEXTS.get("language", "en")
    register(picture)
    sys.stdout = sys.stderr = printed
    sys.displayhook = show
    vars(builtins).update(show=show, input=refuse_input)
    sys.setrecursionlimit(DEEPEST)


def answer(request: str) -> str:
    """The answer to a request: pictures, the chapters a program has done, or what a run gives."""
    asked = json.loads(request)
    if "pictures" in asked:
        return json.dumps(
            [as_shown(one) | {"key": key} for key, one in pictures_of(asked["pictures"])]
        )
    if "survey" in asked:
        return json.dumps(chapters_done(asked["survey"]))
    result = run(asked["chapter"], asked["text"], asked.get("engine"))
    printed.flush()
    return json.dumps(result)


def run(chapter: str, text: str, engine: str | None = None) -> dict[str, Any]:
    """What came of a program: an error, a finding, or neither.

    Args:
        chapter: one of `tasks.CHAPTERS`, or 'free' for a program that is not judged.
        text: the program.
        engine: the text of my_engine.py, which a program on the free page can import.
    """
    printed.begin()
    tasks.TRAINED.clear()
    sys.modules.pop("my_engine", None)
    file = FILE if engine is None else "program.py"
    for name, content in ((FILE, engine), (file, text)):
        if content is not None:
            with open(name, "w", encoding="utf-8") as opened:
                opened.write(content)
    linecache.checkcache()
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = file
    try:
        post("stage", {"running": file})
        tree = ast.parse(text, file)
        body = [x for x in tree.body if not _is_text(x)]
        if chapter == "boundary":
            body = _watched(body)
            vars(module).update(watched_step=watched_step)
        exec(compile(ast.Interactive(body), file, "single"), vars(module))
        if chapter == "free":
            return {}
        printed.mute()
        if chapter == "built":
            show_built(vars(module))
            return {}
        if chapter == "boundary" and tasks.TRAINED:
            post("trained", tasks.TRAINED["losses"])
        finding = tasks.first_finding(chapter, vars(module), checking)
        if finding is None and chapter == "boundary":
            show_network(module.model, module.X, module.y)
        return {"finding": as_json(finding, text)} if finding else {}
    except BaseException as error:
        return {"error": described(error, file)}


def _watched(body: list[ast.stmt]) -> list[ast.stmt]:
    """The program, in which the learner's training_step tells the page of each loss."""
    at = [i for i, x in enumerate(body) if getattr(x, "name", "") == "training_step"]
    if not at:
        return body
    watching = ast.parse("training_step = watched_step(training_step)").body
    return [*body[: at[-1] + 1], *watching, *body[at[-1] + 1 :]]


def watched_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """The learner's training step; keeps its losses, and shows them while the program runs."""
    watched: dict[str, Any] = {"model": None, "losses": [], "last": 0.0}

    @functools.wraps(step)
    def training_step(model: Any, xs: Any, ys: Any, rate: Any) -> Any:
        loss = step(model, xs, ys, rate)
        if model is not watched["model"]:  # chapter 7 has trained another one
            watched.update(model=model, losses=[], last=0.0)
        with suppress(AttributeError, TypeError, ValueError):
            watched["losses"].append(float(loss.data))
            tasks.TRAINED.update(rate=rate, losses=watched["losses"])
            if time.monotonic() - watched["last"] > 2 * PAUSE:
                watched["last"] = time.monotonic()
                post("trained", watched["losses"])
        return loss

    return training_step


def chapters_done(text: str) -> list[str]:
    """The chapters that a program has done. One that ends with an error counts up to there."""
    tasks.TRAINED.clear()
    printed.begin()
    printed.mute()
    module = sys.modules["__main__"] = ModuleType("__main__")
    with suppress(Exception, SystemExit):
        exec(compile(text, FILE, "exec"), vars(module))
    done = []
    for chapter in tasks.TEXTS["names"].split():
        with suppress(Exception, SystemExit):
            if not tasks.first_finding(chapter, vars(module), checking):
                done.append(chapter)
    return done


def checking(program: str) -> None:
    """Tells the page which program is compared."""
    post("stage", {"checking": program})


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(
        getattr(statement.value, "value", None), str
    )


def as_json(finding: tasks.Finding, text: str) -> dict[str, Any]:
    """A finding as the page needs it."""
    fields = {name: x for name, x in vars(finding).items() if name != "drawing"}
    fields["line"] = tasks.line_of(finding.method, text) if finding.method else 0
    fields["absent"] = not fields["line"]
    if fields["absent"] and "." in finding.method:  # a method to add: its class
        fields["line"] = tasks.line_of(finding.method.partition(".")[0], text)
    fields["svg"] = finding.drawing.pipe(encoding="utf-8") if finding.drawing else ""
    return fields


def described(error: BaseException, file: str) -> dict[str, Any]:
    """An error: its text, the line of the program, and the calls that led to it."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = own[-1].lineno if own else 0
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno or 0
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    lacking = getattr(error, "name", None) if isinstance(error, ImportError) else None
    calls = [f"line {frame.lineno}, in {frame.name}: {frame.line}" for frame in own]
    if len(calls) > 8:
        calls = [*calls[:4], f"... and {len(calls) - 8} more ...", *calls[-4:]]
    return {
        "text": text[:2000],
        "line": line,
        "calls": calls,
        "lacking": lacking if (lacking or "").partition(".")[0] in NOT_HERE else "",
        "kind": type(error).__name__,
    }


# ---- 1. What a program prints and shows


class Printed(io.TextIOBase):
    """Text on its way to the page: sent a few times a second, cut if it is too long."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Starts a new run."""
        self.left, self.last = MOST, time.monotonic()
        self.parts: list[str] = []

    def mute(self) -> None:
        """Sends what is left, then nothing: the comparison runs many programs."""
        self.flush()
        self.left = 0

    def write(self, text: str) -> int:
        """Keeps the text until it is time to send it."""
        if self.left > 0:
            self.parts.append(text[: self.left])
            self.left -= len(text)
            if time.monotonic() - self.last > PAUSE or self.left <= 0:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Sends the text."""
        if self.parts:
            post("printed", {"text": "".join(self.parts), "cut": self.left <= 0})
            self.parts, self.last = [], time.monotonic()


printed = Printed()


def show(thing: object) -> None:
    """Shows a drawing or a page below the program; prints anything else as Python's prompt does."""
    if thing is None:
        return
    shown = as_shown(thing)
    if shown:
        printed.flush()
        post("shown", shown)
    else:
        print(repr(thing))


def as_shown(thing: object) -> dict[str, Any]:
    """A drawing or a page as the page needs it, {} for anything else."""
    if isinstance(thing, Page):
        return {"page": thing.html, "title": thing._title, "height": thing._height}
    if isinstance(thing, Digraph):
        return {"svg": thing.pipe("svg", encoding="utf-8")}
    if isinstance(thing, Report):
        return {"page": PLAIN + thing._repr_html_(), "title": thing.name, "height": 420}
    return {}


def refuse_input(prompt: str = "") -> str:
    """Says that input() cannot work here."""
    raise RuntimeError(tasks.text("input"))


def show_built(names: tasks.Names) -> None:
    """Shows what a program has built: its parts, its training, and a step of a GPT."""
    from micrograd.course import built

    page = PLAIN + "<style>th, td { text-align: left; padding: 2px 12px 2px 0 }</style>"
    page += built.parts_of(names)
    network = built.trained(names, watched_step)
    if network is None:
        page += f"<p>{tasks.text('built-train')}</p>"
    page += built.gpt_beside_ours(names.get("Value"))
    post("shown", {"page": page, "title": tasks.TEXTS["built"], "height": 420})
    if network is not None:
        post("trained", tasks.TRAINED.get("losses", []))
        show_network(*network)


def show_network(model: Any, X: Sequence[Sequence[float]], y: Sequence[float]) -> None:
    """Shows the page on which the learner's network goes on learning."""
    from micrograd.losses import squared_error
    from micrograd.pages.playground import playground

    labels = [1 if label > 0 else -1 for label in y]
    with suppress(AttributeError, TypeError, ValueError):  # a network of the learner's own design
        show(playground(model, X, labels, loss=squared_error))
