"""A file is written completely or stays unchanged, gets what its ending says, and is shown."""

import errno
import os
import sys
import webbrowser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from micrograd import Value, draw_dot, draw_network, explain, playground, plot
from micrograd.__main__ import main
from micrograd.core.files import write_whole
from micrograd.nn import MLP
from micrograd.plot import loss_curve


def test_a_file_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match=r"nothing was written .*'.*nowhere.file'$"):
        write_whole(tmp_path / "nowhere" / "file", b"new")


def test_a_link_is_followed_and_permissions_are_the_default_ones(tmp_path):
    target, link, ordinary = tmp_path / "target", tmp_path / "link", tmp_path / "ordinary"
    ordinary.touch()
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode == ordinary.stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="Windows has other permissions")
def test_the_mode_of_an_old_file_stays(tmp_path):
    path = tmp_path / "grades.csv"
    path.touch(0o640)
    write_whole(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_what_is_not_a_file_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    draw_dot(Value(1.0)).save(path)
    assert os.read(reader, 9) == b"digraph {"
    os.close(reader)
    assert path.is_fifo()


SAVERS = {  # how each kind of thing is saved, an ending, and endings of files that it refuses
    "a drawing": (lambda path: draw_dot(Value(1.0)).save(path), "svg", "sgv html py"),
    "a rendered drawing": (lambda path: draw_dot(Value(1.0)).render(path), "png", "sgv html py"),
    "a network": (lambda path: draw_network(MLP(2, [1])).save(path), "svg", "sgv html"),
    "a page": (lambda path: explain(Value(1.0)).save(path), "html", "svg py gv"),
    "a playground": (lambda path: playground().save(path), "html", "svg py"),
    "a plot": (lambda path: plot.save(loss_curve([1.0, 0.5]).figure, path), "png", "html py"),
    "a run": (lambda path: plot.animate(lambda X: X[:, 0], *POINTS).save(path), "html", "svg py"),
    "play": (lambda path: command("play", "-o", str(path)), "html", "py svg"),
}
POINTS = [[0.0, 0.0], [1.0, 1.0]], [0, 1]


def command(*arguments):
    """Runs the command line; an error is a ValueError."""
    if main(arguments):
        raise ValueError("expected one of the endings, or a disk with space")


@pytest.mark.parametrize("kind", SAVERS)
def test_a_file_gets_what_its_ending_says_or_stays_as_it_was(kind, tmp_path, monkeypatch):
    save, right, endings = SAVERS[kind]
    for ending in endings.split():
        path = tmp_path / f"mine.{ending}"
        path.write_text("mine")
        with pytest.raises(ValueError, match="expected one of the endings"):
            save(path)
        assert path.read_text() == "mine"
        path.unlink()
        assert not list(tmp_path.iterdir())
    path = tmp_path / f"mine.{right}"
    path.write_text("mine")

    def full(*_):
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises((OSError, ValueError), match="space"):
            save(path)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]
    save(path)
    assert path.read_bytes() != b"mine"


SHOWN = {
    "svg": lambda: draw_dot(Value(1.0)),
    "html": lambda: explain(Value(1.0)),
    "png": lambda: loss_curve([1.0, 0.5]).figure,
}


@pytest.mark.parametrize("ending", SHOWN)
def test_show_opens_a_file_in_the_browser(ending, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    SHOWN[ending]().show()
    [address] = opened
    assert address.startswith("file://")
    assert address.endswith(f".{ending}")
    beginning = {"svg": b"<?xml", "html": b"<!doctype html>", "png": b"\x89PNG"}[ending]
    assert Path(url2pathname(urlparse(address).path)).read_bytes().startswith(beginning)


@pytest.mark.parametrize("ending", SHOWN)
def test_in_a_notebook_show_displays(ending, monkeypatch):
    displayed = []
    notebook = ModuleType("IPython")
    notebook.get_ipython = lambda: SimpleNamespace(kernel=None)
    notebook.display = SimpleNamespace(display=displayed.append)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setattr(webbrowser, "open", None)
    thing = SHOWN[ending]()
    thing.show()
    assert displayed == [thing]


def test_without_a_browser_show_says_where_the_file_is(monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    with pytest.raises(RuntimeError, match=r"found no browser .*page\.html"):
        explain(Value(1.0)).show()
