import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import graphviz
import pytest

from micrograd import render
from micrograd.render import Digraph, picture, write_whole

DOT = "digraph { a -> b }"
BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
program = pytest.mark.skipif(shutil.which("dot") is None, reason="no dot program on this machine")


@pytest.fixture(params=["library", pytest.param("program", marks=program)])
def way(request, monkeypatch):
    """Both ways of drawing: with PATH hidden by the library, with it by the program."""
    if request.param == "library":
        monkeypatch.setenv("PATH", "")
    return request.param


def a_to_b(**options):
    graph = Digraph(**options)
    graph.edge("a", "b")
    return graph


@pytest.mark.parametrize("format", BEGINNINGS)
def test_pictures_of_the_usual_formats(way, format):
    assert picture(DOT, format).startswith(BEGINNINGS[format])
    assert a_to_b().pipe(format=format).startswith(BEGINNINGS[format])


def test_nothing_is_said_about_a_missing_program(way, capfd):
    picture(DOT, "svg")
    picture("digraph {" + "".join(f"n{i};" for i in range(1001)) + "}", "svg")
    assert capfd.readouterr() == ("", "")


def test_no_message_either_in_a_fresh_interpreter():
    code = f"from micrograd.render import picture; picture({DOT!r}, 'png')"
    environment = {**os.environ, "PATH": ""}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    assert run.stderr == b""


def test_a_warning_about_the_text_is_passed_on_unless_quiet(way, capsys):
    odd = "digraph { a [shape=nonsense] }"
    picture(odd, "svg")
    assert "unknown shape nonsense" in capsys.readouterr().err
    picture(odd, "svg", quiet=True)
    assert capsys.readouterr().err == ""


def test_what_others_write_to_stderr_meanwhile_comes_out_afterwards(way, capfd):
    stop = threading.Event()
    written = []

    def chatter():
        while not stop.is_set():
            written.append(f"line {len(written)}")
            os.write(2, f"{written[-1]}\n".encode())
            stop.wait(0.001)

    thread = threading.Thread(target=chatter)
    thread.start()
    try:
        for _ in range(20):
            picture(DOT, "svg")
    finally:
        stop.set()
        thread.join()
    assert sorted(capfd.readouterr().err.splitlines()) == sorted(written)


@pytest.mark.parametrize("format", ["bmpx", "xyz"])
def test_a_format_that_cannot_be_made_lists_those_that_can(way, format):
    refusal = rf"no picture of format '{format}' can be made here\. Use one of: .*png .*svg"
    with pytest.raises(ValueError, match=refusal):
        picture(DOT, format)
    with pytest.raises(ValueError, match=refusal):
        Digraph(format=format)
    with pytest.raises(ValueError, match=refusal):
        a_to_b().pipe(format=format)
    with pytest.raises(ValueError, match=refusal):
        a_to_b().render("unused", format=format)
    assert not Path("unused").exists()


def test_a_format_that_the_library_knows_but_cannot_make_here(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    graph = a_to_b(format="xlib", directory=tmp_path)
    with pytest.raises(ValueError, match=r"'xlib' can be made here\. Use one of: .*svg"):
        graph.render("gout")
    assert [path.name for path in tmp_path.iterdir()] == ["gout"]


def test_a_wrong_text_is_an_error_in_graphviz_words(way):
    with pytest.raises(ValueError, match=r"no svg of the DOT text: .*syntax error in line 1"):
        picture("digraph { a -> ", "svg")


def test_a_machine_without_stderr(monkeypatch):
    def closed(descriptor):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(os, "dup", closed)
    assert picture(DOT, "svg").startswith(b"<?xml")


def test_many_threads_draw_at_once(way):
    pictures = []
    threads = [
        threading.Thread(target=lambda: pictures.append(picture(DOT, "svg"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pictures) == 8
    assert len(set(pictures)) == 1


def test_engine_and_renderer_are_passed_on(way):
    assert a_to_b(engine="circo").pipe("svg") != a_to_b().pipe("svg")
    assert b"cairo" not in a_to_b().pipe("svg")
    by_cairo = a_to_b().pipe("svg", renderer="cairo")
    assert by_cairo.startswith(b"<?xml")
    assert by_cairo != a_to_b().pipe("svg")


def test_text_is_decoded_and_what_means_nothing_here_refused(way):
    graph = a_to_b(format="svg")
    graph.node("größe")
    assert "größe" in graph.pipe(encoding="utf-8")
    assert "größe" in graph.pipe(encoding="UTF8")
    with pytest.raises(ValueError, match="neato_no_op"):
        graph.pipe(neato_no_op=2)


def test_display_in_a_notebook(way):
    bundle = a_to_b()._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml"]
    assert bundle["image/svg+xml"].startswith("<?xml")
    assert a_to_b()._repr_image_svg_xml() == bundle["image/svg+xml"]
    assert a_to_b()._repr_mimebundle_(include=["image/png"])["image/png"][:4] == b"\x89PNG"


def test_render_writes_the_text_and_the_picture(way, tmp_path):
    path = a_to_b(format="svg").render(tmp_path / "gout")
    assert path == str(tmp_path / "gout.svg")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["gout", "gout.svg"]
    assert Path(path).read_bytes().startswith(b"<?xml")
    assert (tmp_path / "gout").read_text() == a_to_b().source


def test_render_with_the_options_everyone_knows(way, tmp_path):
    graph = a_to_b(format="svg")
    assert graph.render("g", directory=tmp_path, cleanup=True) == str(tmp_path / "g.svg")
    assert graph.render("g", directory=tmp_path, format="png") == str(tmp_path / "g.png")
    assert graph.render(outfile=tmp_path / "out.pdf", cleanup=True) == str(tmp_path / "out.pdf")
    assert graph.render("g", format="svg", renderer="cairo") == str(tmp_path / "g.cairo.svg")
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["g", "g.cairo.svg", "g.png", "g.svg", "out.pdf"]
    with pytest.raises(graphviz.FileExistsError):
        graph.render("g", raise_if_result_exists=True)
    with pytest.raises(ValueError, match="would overwrite the DOT text"):
        graph.render(tmp_path / "same.svg", outfile=tmp_path / "same.svg")


def test_view_opens_the_picture(way, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(Digraph, "_view", lambda self, path, **_: opened.append(path))
    a_to_b(format="svg").view(tmp_path / "gout")
    assert opened == [str(tmp_path / "gout.svg")]


def test_a_picture_that_fails_leaves_the_old_one(way, tmp_path, monkeypatch):
    path = Path(a_to_b(format="svg").render(tmp_path / "gout"))
    old = path.read_bytes()
    broken = Digraph(format="svg", body=["a -> "])
    with pytest.raises(ValueError, match="syntax error"):
        broken.render(tmp_path / "gout")
    assert path.read_bytes() == old


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "file", b"new")


def test_a_link_is_followed_and_permissions_are_the_usual_ones(tmp_path):
    target, link, ordinary = tmp_path / "target", tmp_path / "link", tmp_path / "ordinary"
    ordinary.touch()
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode == ordinary.stat().st_mode


def test_the_program_is_preferred_where_there_is_one(monkeypatch, tmp_path):
    if os.name == "nt":
        pytest.skip("the stand-in for dot is a shell script")
    stand_in = tmp_path / "dot"
    stand_in.write_text('#!/bin/sh\necho "$@"; cat\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert render.picture("some text", "svg").decode().split("\n") == ["-Kdot -Tsvg", "some text"]


def test_a_picture_made_of_pixels_has_a_largest_size(way):
    chain = "digraph { rankdir=LR " + " -> ".join(map(str, range(400))) + " }"
    png = picture(chain, "png")
    width = int.from_bytes(png[16:20], "big")
    assert 3000 < width <= 40 * 96 + 8
    assert b'width="' in picture(chain, "svg")
    assert float(re.search(rb'width="(\d+)pt"', picture(chain, "svg"))[1]) > 20000
