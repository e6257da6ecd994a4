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


def moons_picture() -> str:
    """The path of moons.png: the decision-boundary demo with default options."""
    path = str(GALLERY / "moons.png")
    demo = str(DEMOS / "decision_boundary.py")
    subprocess.run([sys.executable, demo, "--out", path], check=True)
    return path


def boundary_animation() -> str:
    """The path of boundary.gif: the same demo learns the three arms of a spiral."""
    path = str(GALLERY / "boundary.gif")
    demo = str(DEMOS / "decision_boundary.py")
    with tempfile.TemporaryDirectory() as folder:
        last = str(Path(folder, "last.png"))
        arguments = ["--data", "spirals", "--points", "120", "--out", last, "--animate", path]
        subprocess.run([sys.executable, demo, *arguments], check=True)
    return path


PICTURES = [neuron_picture, moons_picture, boundary_animation]


if __name__ == "__main__":
    for picture in PICTURES:
        print(picture())
