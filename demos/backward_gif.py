"""A film of backpropagation: gradients move from the result of a neuron back to its leaves.

    python demos/backward_gif.py
    python demos/backward_gif.py --dark --out backward-dark.gif

The neuron is the one in the lecture, o = tanh(x1 w1 + x2 w2 + b). In each step, one node passes on
its gradient to its operands: the arrows between them turn round, and each operand adds local
derivative times upstream gradient to its own gradient. A gradient that is not known yet is shown as
a dot. Cards that have passed on their gradient are solid.

The pictures are those of `draw_dot(o, done=...)` after each call of `_backward()`.
"""

import argparse
import html
import io
import json
import re

import numpy as np
from PIL import Image, ImageDraw

from micrograd import Value, draw_dot, topological_order
from micrograd.core.files import write_whole
from micrograd.derivatives import contributions, local_derivatives
from micrograd.draw.formulas import TIMES, number
from micrograd.draw.render import picture
from micrograd.draw.tokens import DARK, LIGHT
from micrograd.plot import check_path
from micrograd.plot.history import animated_gif

ON_THE_WAY = 10  # frames from a card to its operands
MOVING, STANDING, LONG = 60, 2000, 4000  # milliseconds that a frame is shown
PIXELS, MARGIN = 96 / 72, 7.2  # pixels in a point, and points around the graph


def neuron():
    """The result of the lecture's neuron; every step of the sum has a name."""
    x1, x2 = Value(2.0, label="x1"), Value(0.0, label="x2")
    w1, w2 = Value(-3.0, label="w1"), Value(1.0, label="w2")
    b = Value(6.8813735870195432, label="b")
    x1w1, x2w2 = x1 * w1, x2 * w2
    both = x1w1 + x2w2
    n = both + b
    o = n.tanh()
    x1w1.label, x2w2.label, both.label, n.label, o.label = "x1w1", "x2w2", "x1w1 + x2w2", "n", "o"
    return o


def film(root, dark=False):
    """The frames of the backward pass from `root`: pairs of a picture and its milliseconds."""
    theme = DARK if dark else LIGHT
    nodes = {node: f"v{i}" for i, node in enumerate(topological_order(root))}  # names in pictures
    ways = arrows(root)
    now = draw_dot(root).source
    caption = "The forward pass is done. A dot is a gradient that is not known yet."
    frames = [(image(now, caption, theme), LONG)]

    root.grad = 1
    now = "\n".join(
        line.replace("•", "1") if line.startswith(f"\t{nodes[root]} [") else line
        for line in now.splitlines()
    )
    caption = f"The backward pass starts at {root.label}, with a gradient of 1."
    frames.append((image(now, caption, theme), STANDING))

    done = []
    for node in reversed(nodes):
        if not node._prev:
            continue
        caption = handed_on(node)
        done.append(node)
        turned = {nodes[giver] for giver in done}
        moving = image(now, caption, theme, turned)
        for i in range(ON_THE_WAY):
            shown = moving.copy()
            for way in ways[nodes[node]]:
                draw_token(shown, way, 1 - i / ON_THE_WAY, theme)
            frames.append((shown, MOVING))
        node._backward()
        now = draw_dot(root, done=done).source
        received = {nodes[operand] for operand in node._prev}
        frames.append((image(now, caption, theme, turned, received), STANDING))

    caption = f"A gradient says how much {root.label} moves when that number moves a little."
    frames.append((image(now, caption, theme, turned), LONG))
    return frames


def handed_on(node):
    """The chain rule of a node in numbers: what each of its operands receives."""
    parts = [
        f"{number(local)} {TIMES} {number(node.grad)} = {number(share)} to {operand.label}"
        for operand, local, share in zip(
            node._prev, local_derivatives(node), contributions(node, node.grad), strict=True
        )
    ]
    return f"{node.label} passes on " + " and ".join(parts)


def image(source, caption, theme, turned=(), received=()):
    """The picture of DOT text as pixels.

    Args:
        source: DOT text from `draw_dot`.
        caption: the line below the graph.
        theme: the colours, LIGHT or DARK.
        turned: names of the nodes whose arrows point back to their operands.
        received: names of the nodes that have just received a contribution.
    """
    lines = []
    for line in source.splitlines():
        _, _, head = line.partition(" -> ")
        if head.split(":")[0] in turned:
            line += f' [dir=back color="{LIGHT["gradient"]}" penwidth=2]'
        if line.strip().split(" ")[0] in received and not head:
            line = line.replace(LIGHT["panel"], LIGHT["gradient-soft"])
        lines.append(line)
    lines.insert(-1, f'\tgraph [label=<{html.escape(caption)}<BR ALIGN="LEFT"/>>]')
    text = re.sub("#[0-9a-f]{6}", lambda found: exchanged(found[0], theme), "\n".join(lines))
    return Image.open(io.BytesIO(picture(text, "png"))).convert("RGB")


def exchanged(colour, theme):
    """The colour of the theme that replaces one of LIGHT."""
    return next((theme[name] for name, light in LIGHT.items() if light == colour), colour)


def arrows(root):
    """For each node's name, the arrows from its operands: control points in pixels, y downwards."""
    laid_out = json.loads(draw_dot(root).pipe(format="json0"))
    _, _, _, height = map(float, laid_out["bb"].split(","))
    names = [node["name"] for node in laid_out["objects"]]
    ways = {name: [] for name in names}
    for arrow in laid_out["edges"]:
        _, *points = arrow["pos"].split()  # the first one is the arrowhead
        x, y = np.array([list(map(float, point.split(","))) for point in points]).T
        way = PIXELS * (np.array([x, height - y]) + MARGIN)
        ways[names[arrow["head"]]].append(way.T)
    return ways


def draw_token(frame, way, share, theme):
    """Draws what moves along an arrow, after this share of the way from its tail to its head."""
    pieces = (len(way) - 1) // 3  # cubic curves, one after the other
    k = min(pieces - 1, int(share * pieces))
    t = share * pieces - k
    bends = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    x, y = bends @ way[3 * k : 3 * k + 4]
    ImageDraw.Draw(frame).ellipse(
        (x - 6, y - 6, x + 6, y + 6), fill=theme["gradient"], outline=theme["panel"], width=2
    )


def gif(frames):
    """The frames as the bytes of an animated GIF."""
    pictures = [np.asarray(picture) for picture, _ in frames]
    milliseconds = [duration for _, duration in frames]
    return animated_gif(pictures, milliseconds)


def main():
    """Draws the film into a file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="backward.gif", metavar="FILE", help="(backward.gif)")
    parser.add_argument("--dark", action="store_true", help="draw on a dark background")
    options = parser.parse_args()
    try:
        check_path(options.out, ["gif"])
    except (ValueError, OSError) as error:
        parser.error(str(error))
    write_whole(options.out, gif(film(neuron(), options.dark)))
    print(f"film in {options.out}")


if __name__ == "__main__":
    main()
