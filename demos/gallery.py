"""Makes the pictures in demos/gallery, including those of the README: `python demos/gallery.py`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from micrograd import Value, draw_dot

DEMOS = Path(__file__).resolve().parent
GALLERY = DEMOS / "gallery"


def neuron_picture() -> str:
    """The path of neuron.svg: the neuron of the README, with the chain rule on its arrows."""
    x1, x2 = Value(2.0), Value(0.0)
    w1, w2 = Value(-3.0), Value(1.0)
    b = Value(6.88)
    o = (x1 * w1 + x2 * w2 + b).tanh()
    o.backward()
    picture = draw_dot(o, names=locals(), edges="derivatives")
    return picture.render(outfile=GALLERY / "neuron.svg", cleanup=True)


def moons_picture(*options: str) -> str:
    """The path of moons.png: the decision-boundary demo with default options."""
    path = path_of("moons", "png", options)
    run("decision_boundary", "--out", path, *options)
    return path


def boundary_animation(*options: str) -> str:
    """The path of boundary.gif: the same demo learns the three arms of a spiral."""
    path = path_of("boundary", "gif", options)
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--data", "spirals", "--points", "120", "--out", str(Path(folder, "last.png"))]
        run("decision_boundary", *arguments, "--animate", path, *options)
    return path


def backward_animation(*options: str) -> str:
    """The path of backward.gif: gradients on their way back through a neuron."""
    path = path_of("backward", "gif", options)
    run("backward_gif", "--out", path, *options)
    return path


def path_of(name: str, ending: str, options: tuple[str, ...]) -> str:
    """The path of a picture; those on a dark ground have -dark in their names."""
    return str(GALLERY / f"{name}{'-dark' * ('--dark' in options)}.{ending}")


def run(demo: str, *arguments: str) -> None:
    """Runs a demo in a process of its own."""
    subprocess.run([sys.executable, str(DEMOS / f"{demo}.py"), *arguments], check=True)


if __name__ == "__main__":
    print(neuron_picture())
    for picture in (moons_picture, boundary_animation, backward_animation):
        for options in ((), ("--dark",)):
            print(picture(*options))
