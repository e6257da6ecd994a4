import html
import os
import random
import re
import shutil
import sys
import threading
from pathlib import Path

import pytest
from blocks import python
from PIL import Image

from micrograd import Neuron, Value, draw_dot, draw_network
from micrograd.draw import render
from micrograd.draw.render import Digraph, picture

DOT = "digraph { a -> b }"
BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
program = pytest.mark.skipif(shutil.which("dot") is None, reason="no dot program on this machine")


@pytest.fixture(params=["library", pytest.param("program", marks=program)])
def way(request, monkeypatch):
    """The two ways to draw: by the library, which an empty PATH enforces, and by `dot`."""
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


@pytest.mark.parametrize("format", ["bmpx", "xyz"])
def test_an_unknown_format_lists_the_known_ones(way, format):
    refusal = rf"cannot draw the DOT text as {format}: .*Use one of: .*png .*svg"
    with pytest.raises(ValueError, match=refusal):
        picture(DOT, format)
    with pytest.raises(ValueError, match=f"unknown format: '{format}'"):
        Digraph(format=format)
    with pytest.raises(ValueError, match=refusal):
        a_to_b().pipe(format=format)


def test_wrong_dot_text_is_an_error_with_the_message_of_graphviz(way):
    with pytest.raises(
        ValueError, match=r"cannot draw the DOT text as svg: .*syntax error in line 1"
    ):
        picture("digraph { a -> ", "svg")


@pytest.mark.slow
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


def test_display_in_a_notebook(way):
    bundle = a_to_b()._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml", "text/html", "image/png"]
    assert bundle["image/svg+xml"].startswith("<?xml")
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert a_to_b()._repr_image_svg_xml() == bundle["image/svg+xml"]
    assert a_to_b()._repr_mimebundle_(include=["image/png"])["image/png"][:4] == b"\x89PNG"
    assert a_to_b()._repr_html_() == bundle["text/html"]


def test_a_drawing_says_in_words_what_it_shows():
    a, b = Value(2.0, label="a<b"), Value(-3.0, label="b")
    out = (a * b).tanh()
    picture = draw_dot(out)
    words = "a<b data 2 grad •; b data −3 grad •; × data −6 grad •, from a<b and b; "
    assert f"A graph with 4 nodes and 3 arrows. {words}tanh out data −1" in (
        html.unescape(re.search('role="img" aria-label="(.*?)"', picture._repr_image_svg_xml())[1])
    )
    assert re.search('alt="(.*?)"', picture._repr_html_())[1].startswith("A graph with 4 nodes")
    out.backward()
    assert "grad 1, from ×" in draw_dot(out)._repr_image_svg_xml().partition("</desc>")[0]


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "SVG"])
def test_save_and_render_choose_the_format_by_the_ending(way, tmp_path, ending):
    path = tmp_path / "new" / f"o.{ending}"
    graph = a_to_b()
    for write in (graph.save, graph.render):
        assert write(path) == str(path)
        assert path.read_bytes().startswith(BEGINNINGS[ending.lower()])
        assert list(path.parent.iterdir()) == [path]
        path.unlink()
    assert graph.filename == "Digraph.gv"  # so render() without a name writes DOT text


@pytest.mark.parametrize("name", ["o.gv", "o.dot", "o"])
def test_save_writes_dot_text_under_its_names(tmp_path, name):
    graph = a_to_b()
    assert graph.save(tmp_path / "new" / name) == str(tmp_path / "new" / name)
    assert (tmp_path / "new" / name).read_text() == graph.source


def test_a_format_argument_takes_precedence_over_the_ending(tmp_path):
    assert a_to_b().render(tmp_path / "o.png", format="svg") == str(tmp_path / "o.png.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["o.png.svg"]


def test_render_writes_the_text_and_the_picture(way, tmp_path):
    path = a_to_b(format="svg").render(tmp_path / "gout")
    assert path == str(tmp_path / "gout.svg")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["gout", "gout.svg"]
    assert Path(path).read_bytes().startswith(b"<?xml")
    assert (tmp_path / "gout").read_text() == a_to_b().source


def test_a_registered_renderer_draws_everything(monkeypatch):
    calls = []

    def renderer(source, format, engine):
        calls.append((source, format, engine))
        if format != "svg":
            raise ValueError(f"no {format} here")
        return b"<svg/>"

    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "pygraphviz", None)  # as in a browser
    x = Value(2.0)
    render.register(renderer)
    try:
        assert draw_dot(x * x).pipe() == b"<svg/>"
        assert list(draw_dot(x * x)._repr_mimebundle_()) == ["image/svg+xml", "text/html"]
        draw_network(Neuron(2)).pipe()
        with pytest.raises(ValueError, match="no png here"):
            draw_dot(x).pipe(format="png")
    finally:
        render.register(None)
    assert [call[1:] for call in calls[-2:]] == [("svg", "neato"), ("png", "dot")]
    with pytest.raises(ImportError, match="drawing needs Graphviz"):
        draw_dot(x).pipe()


# ---- without Graphviz


def without_pygraphviz(code, folder, path=""):
    """What a fresh interpreter prints if pygraphviz cannot be imported."""
    hidden = "import sys; sys.modules['pygraphviz'] = None\n"
    words = ("-W", "error", "-c", hidden + code)
    return python(*words, folder=folder, PATH=str(path), PYTHONUTF8="1").stdout


EVERYTHING = """
import micrograd
from micrograd import *
from micrograd.grade import grade
from micrograd.plot import loss_curve
model = MLP(2, [3, 1])
loss = (model([1.0, -1.0]) - 1.0) ** 2
loss.backward()
SGD(model.parameters(), lr=0.1).step()
assert loss_curve([1.0, 0.5])
assert micrograd.compile(model)([[1.0, 2.0]]).data
drawings = draw_dot(loss, names=globals()), draw_dot(loss, level="layer"), draw_network(model)
assert all("->" in drawing.source for drawing in drawings)
assert drawings[0].save("o.gv") == "o.gv"
assert mermaid(loss).startswith("flowchart")
assert "<!doctype html>" in explain(loss).html
"""


@pytest.mark.slow
def test_without_pygraphviz_everything_but_pictures_works(tmp_path):
    code = f"""{EVERYTHING}
for show in (drawings[0].pipe, lambda: drawings[0].save("o.svg")):
    try:
        show()
    except ImportError as error:
        print(error)
"""
    said = without_pygraphviz(code, tmp_path).splitlines()
    assert len(set(said)) == 1
    for way in ("`dot`", "apt install graphviz", "pip install pygraphviz", ".source", "mermaid()"):
        assert way in said[0]
    assert {p.name for p in tmp_path.iterdir()} == {"o.gv"}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the stand-in for dot is a script")
def test_without_pygraphviz_a_dot_program_draws(tmp_path):
    program = tmp_path / "bin" / "dot"
    program.parent.mkdir()
    # A program that draws with the library, which this interpreter can import.
    program.write_text(
        f"#!{sys.executable}\nimport sys, pygraphviz\n"
        "format = sys.argv[2].removeprefix('-T')\n"
        "drawing = pygraphviz.AGraph(string=sys.stdin.read())\n"
        "sys.stdout.buffer.write(drawing.draw(format=format, prog='dot'))\n"
    )
    program.chmod(0o755)
    code = f"""{EVERYTHING}
drawings[0].save("o.svg"), drawings[0].render("o.png")
assert list(drawings[0]._repr_mimebundle_()) == ["image/svg+xml", "text/html", "image/png"]
"""
    without_pygraphviz(code, tmp_path, program.parent)
    for name, beginning in {"o.svg": b"<?xml", "o.png": b"\x89PNG"}.items():
        assert (tmp_path / name).read_bytes().startswith(beginning)


# ---- large drawings


def tangle(arrows):
    """DOT text whose layout takes minutes for a few thousand arrows."""
    rng = random.Random(0)
    ends = [f"n{rng.randrange(arrows // 3)}" for _ in range(2 * arrows)]
    pairs = (f"{a} -> {b};" for a, b in zip(ends[::2], ends[1::2], strict=True))
    return f"digraph {{ {' '.join(pairs)} }}"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends the signal of Ctrl-C to one thread")
def test_ctrl_c_ends_a_long_drawing(tmp_path):
    code = """
import pathlib, signal, threading
from micrograd.draw.render import picture
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
ctrl_c = lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
threading.Timer(1.0, ctrl_c).start()
try:
    picture(pathlib.Path("tangle.gv").read_text(), "svg")
except KeyboardInterrupt:
    print("stopped")
"""
    (tmp_path / "tangle.gv").write_text(tangle(6000))
    assert python("-c", code, folder=tmp_path, PATH="").stdout == "stopped\n"


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_a_png_has_1920_pixels_on_its_longer_side(rankdir, tmp_path):
    x = Value(2.0)
    picture = draw_dot(x * x + x, rankdir=rankdir)
    picture.attr(size="20,20!", dpi="96")
    picture.save(tmp_path / "o.png")
    with Image.open(tmp_path / "o.png") as image:
        assert max(image.size) == 1920
