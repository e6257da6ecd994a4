"""Makes what is in demos/gallery: pictures of the README, of the site, and of each demo.

    python demos/gallery.py
    python demos/gallery.py --only pages

Of a demo that makes no picture, it is the text that the demo prints.
The pictures of pages need Chromium, and Playwright to drive it: `pip install -e ".[browser]"`.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from micrograd import Value, draw_dot, draw_network, explain, playground
from micrograd.nn import MLP

DEMOS = Path(__file__).resolve().parent
GALLERY = DEMOS / "gallery"
SCRIPTS = {  # options of a demo, and the picture to keep of those that it makes, or a text
    "break_it": ("--out .", "1.svg"),
    "circle": ("--points 300 --epochs 60 --largest 3", "circle.png"),
    "digits": ("--out digits.png", "digits.png"),
    "graphs_to_digits": ("", "reverse.svg"),
    "microgpt": ("", "printed.txt"),
    "neuron_by_hand": ("", "neuron.svg"),
    "notebooks": ("--check", "printed.txt"),
    "orders_and_cost": ("", "orders.svg"),
    "original_demo": ("", "moons.png"),
    "stages": ("", "network-2.svg"),
    "static_graph": ("", "scalar.svg"),
    "two_regressions": ("", "printed.txt"),
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def drawings() -> Iterator[str]:
    """The paths of the SVG files, which are light or dark depending on the reader's settings."""
    o, names = neuron()
    o.backward()
    yield saved(draw_dot(o, names=names, edges="derivatives"), "neuron.svg")

    random.seed(3)
    model = MLP(2, [4, 4, 1], activation="tanh")
    x = [Value(1.0), Value(-2.0)]
    loss = (1 - model(x)) ** 2
    loss.backward()
    names = {"model": model, "x": x, "loss": loss}
    yield saved(draw_dot(loss, names=names, level="neuron"), "neurons.svg")
    yield saved(draw_dot(loss, names=names, level="layer"), "layers.svg")
    yield saved(draw_network(model, [1.0, -2.0]), "network.svg")


def plots() -> Iterator[str]:
    """The paths of the plots and animations, each on a light and on a dark background."""
    for options, dark in (((), ""), (("--dark",), "-dark")):
        yield made_by("decision_boundary", "--out", f"moons{dark}.png", *options)
        with tempfile.TemporaryDirectory() as folder:
            last = str(Path(folder, "last.png"))
            arguments = ["--data", "spirals", "--points", "120", "--out", last, *options]
            yield made_by("decision_boundary", "--animate", f"boundary{dark}.gif", *arguments)
        yield made_by("backward_gif", "--out", f"backward{dark}.gif", *options)


def pages() -> Iterator[str]:
    """The paths of the screenshots of the two pages, each in light and in dark colours."""
    from playwright.sync_api import sync_playwright

    o, names = neuron()
    parameters = [names["w1"], names["w2"], names["b"]]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        stepping = explain(o, names=names, parameters=parameters).save(Path(folder, "step.html"))
        learning = playground().save(Path(folder, "play.html"))
        program = next(filter(None, map(shutil.which, BROWSERS)))
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for scheme, dark in (("light", ""), ("dark", "-dark")):
            size = {"width": 1280, "height": 800}
            page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
            page.goto(Path(stepping).as_uri())
            for _ in range(9):  # in the middle of the backward pass
                page.keyboard.press("ArrowRight")
            yield screenshot(page, f"stepping{dark}.png")
            page.goto(Path(learning).as_uri())
            for _ in range(300):
                page.get_by_role("button", name="One step").first.click()
            yield screenshot(page, f"learning{dark}.png")
        browser.close()


def scripts() -> Iterator[str]:
    """The paths of what other demos make, each under the name of its script."""
    for demo, (options, picture) in SCRIPTS.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(DEMOS / f"{demo}.py"), *options.split()]
            printed = subprocess.check_output(command, cwd=folder)
            Path(folder, "printed.txt").write_bytes(printed)
            path = GALLERY / f"{demo}{Path(picture).suffix}"
            shutil.copy(Path(folder, picture), path)
        yield reduced(path, width=720) if path.suffix == ".png" else str(path)


def neuron() -> tuple[Value, dict[str, Any]]:
    """The result of the README's neuron, and its Values by name."""
    x1, x2 = Value(2.0), Value(0.0)
    w1, w2 = Value(-3.0), Value(1.0)
    b = Value(6.8813735870195432)
    o = (x1 * w1 + x2 * w2 + b).tanh()
    return o, {"x1": x1, "x2": x2, "w1": w1, "w2": w2, "b": b, "o": o}


def saved(picture: Any, name: str) -> str:
    """The path to which a drawing was saved."""
    return str(picture.save(GALLERY / name))


def made_by(demo: str, option: str, name: str, *arguments: str) -> str:
    """The path of a picture that a demo writes when it is run with this option."""
    path = str(GALLERY / name)
    subprocess.run(
        [sys.executable, str(DEMOS / f"{demo}.py"), option, path, *arguments], check=True
    )
    return path


def screenshot(page: Any, name: str) -> str:
    """The path of a picture of a page."""
    page.wait_for_timeout(500)  # until the page has reacted to the keys and buttons
    page.screenshot(path=GALLERY / name)
    return reduced(GALLERY / name)


def reduced(path: Path, width: int = 1280) -> str:
    """The path of a picture, in 256 colours, which are enough for it, and at most so wide."""
    from PIL import Image

    with Image.open(path) as image:
        whole = image.convert("RGB")
        whole.thumbnail((width, whole.height))
        all_hues = Image.Quantize.MAXCOVERAGE  # also rare ones; kmeans keeps frequent ones
        small = whole.quantize(256, all_hues, kmeans=1, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    return str(path)


def main() -> None:
    """Makes all, or those of one kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = {"drawings": drawings, "plots": plots, "pages": pages, "scripts": scripts}
    parser.add_argument("--only", choices=kinds, help="make only those of this kind")
    only = parser.parse_args().only
    for kind in [only] if only else kinds:
        for path in kinds[kind]():
            print(path)


if __name__ == "__main__":
    main()
