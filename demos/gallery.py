"""Makes the pictures in demos/gallery, which the README shows: `python demos/gallery.py`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from micrograd import Value, draw_dot
from micrograd.nn import Neuron

DEMOS = Path(__file__).resolve().parent
GALLERY = DEMOS / "gallery"


def neuron_picture() -> str:
    """The path of neuron.svg: the neuron tanh(b + w1 x1 + w2 x2), the chain rule on its arrows."""
    neuron = Neuron(2, activation="tanh")
    w1, w2, b = neuron.parameters()
    w1.data, w2.data, b.data = -3.0, 1.0, 6.8813735870195432
    x1, x2 = Value(2.0), Value(0.0)
    o = neuron([x1, x2])
    o.backward()
    names = {"x1": x1, "x2": x2, "w1": w1, "w2": w2, "b": b, "o": o, "neuron": neuron}
    picture = draw_dot(o, names=names, edges="derivatives")
    return picture.render(outfile=GALLERY / "neuron.svg", cleanup=True)


def moons_picture() -> str:
    """The path of moons.png: what the decision-boundary demo draws when nothing is asked of it."""
    path = str(GALLERY / "moons.png")
    demo = str(DEMOS / "decision_boundary.py")
    subprocess.run([sys.executable, demo, "--out", path], check=True)
    return path


def boundary_film() -> str:
    """The path of boundary.gif: how the same demo learns the three arms of a spiral."""
    path = str(GALLERY / "boundary.gif")
    demo = str(DEMOS / "decision_boundary.py")
    with tempfile.TemporaryDirectory() as folder:
        last = str(Path(folder, "last.png"))
        arguments = ["--data", "spirals", "--points", "120", "--out", last, "--animate", path]
        subprocess.run([sys.executable, demo, *arguments], check=True)
    return path


PICTURES = [neuron_picture, moons_picture, boundary_film]


if __name__ == "__main__":
    for picture in PICTURES:
        print(picture())
