"""Three views of one network, and its classic picture: `python demos/three_views.py`.

A network of 2-3-2-1 neurons and the squared error of one example, after the backward pass:

    op.svg        every operation, as the engine sees it
    neuron.svg    a card for each neuron, shaded by its output, and a line for each weight
    layer.svg     a card for each layer, with its sizes and its number of parameters
    network.svg   circles in columns, as in textbooks, with the outputs for the same example

The first three show the same graph at three levels. All are written to --out-dir. Takes less than a
second.
"""

import argparse
import random
from pathlib import Path

from micrograd import Value, draw_dot, draw_network
from micrograd.nn import MLP


def example(seed=1):
    """The network, the inputs of the example, and its loss after the backward pass, by name."""
    random.seed(seed)
    model = MLP(2, [3, 2, 1], activation="tanh")
    x = [Value(0.8), Value(-0.5)]
    loss = (model(x) - 1.0) ** 2
    loss.backward()
    return {"model": model, "x": x, "loss": loss}


def views(names):
    """The four pictures by name, as graphviz Digraphs."""
    pictures = {
        level: draw_dot(names["loss"], names=names, level=level)
        for level in ("op", "neuron", "layer")
    }
    return pictures | {"network": draw_network(names["model"], names["x"])}


def main():
    """Writes the pictures and prints the numbers of boxes and arrows."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--out-dir", default=".", metavar="FOLDER", help="(this folder)")
    parser.add_argument("--format", default="svg", help="svg, png, pdf and more (svg)")
    options = parser.parse_args()
    folder = Path(options.out_dir)
    if not folder.is_dir():
        parser.error(f"--out-dir expects an existing folder, got {options.out_dir!r}")

    pictures = views(example())
    try:
        pictures["op"].pipe(format=options.format)
    except ValueError as error:
        parser.error(str(error))
    print(f"{'view':9}{'boxes':>6}{'arrows':>8}  picture")
    for name, picture in pictures.items():
        path = folder / f"{name}.{options.format}"
        path.write_bytes(picture.pipe(format=options.format))
        svg = picture.pipe(format="svg", encoding="utf-8")
        boxes, arrows = (svg.count(f'class="{kind}"') for kind in ("node", "edge"))
        print(f"{name:9}{boxes:>6}{arrows:>8}  {path}")


if __name__ == "__main__":
    main()
