"""A film of backpropagation: gradients move from the result back to the leaves.

In each step, one node passes on its gradient to its operands: the arrows between them turn round,
and each operand adds local derivative times upstream gradient to its own gradient. A gradient that
is not known yet is shown as a dot. Cards that have passed on their gradient are solid.

    >>> a = Value(3.0, label="a")
    >>> len(backward_film(a * a))  # pictures
    14
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from micrograd.core.files import FilePath, write_whole
from micrograd.core.pause import restored
from micrograd.derivatives import local_derivatives
from micrograd.draw.cards import caption
from micrograd.draw.dot import draw_dot
from micrograd.draw.formulas import TIMES, UNKNOWN, number, sign
from micrograd.draw.graph import graph
from micrograd.draw.render import Digraph, darkened, picture
from micrograd.draw.tokens import DARK, GRAPH, LIGHT
from micrograd.engine import Value, topological_order
from micrograd.texts import listed, said, wrap

MOST = 100  # nodes: each operation is shown for two seconds
MOVING, STANDING, LONG = 60, 2000, 4000  # milliseconds that a picture is shown
INCH = 96  # pixels
LETTER = 0.1  # inches: more than the mean width of a letter of a caption
BACKWARD = f'[dir=back color="{LIGHT["gradient"]}" penwidth=2]'
Picture = Any  # an array of shape (height, width, 3)
Film = Sequence[tuple[Picture, int]]  # pictures, each with its milliseconds


def backward_film(
    root: Value, names: Mapping[str, Any] | None = None, rankdir: str = "LR", *, dark: bool = False
) -> Film:
    """The pictures of the backward pass from `root`, in which all gradients begin at 0.

    The graph keeps the gradients that it has. The other arguments are as in `draw_dot` and `save`.

    Raises:
        ValueError: the graph has more than 100 nodes.
    """
    order = topological_order(root)
    if len(order) > MOST:
        fix = "save a .html page, which folds larger graphs, or use a smaller example"
        raise ValueError(f"a film expects at most {MOST} nodes, got {len(order):,}: {fix}")
    with restored(order):
        root.backward()
        return [*_pictures(root, names, rankdir, dark)]


def _pictures(
    root: Value, names: Mapping[str, Any] | None, rankdir: str, dark: bool
) -> Iterator[tuple[Picture, int]]:
    # The pictures, each with its milliseconds. Gradients are known at first, because each card has
    # its largest size then; later the closures compute them again.
    drawn = graph(root, names=names)
    name_of = {value: f"v{i}" for i, value in enumerate(drawn.values)}
    steps = [value for value in reversed(drawn.values) if value._prev]
    draw = partial(draw_dot, root, names=names, rankdir=rankdir, level="op")
    final, done = draw(), list[Value]()
    width, ways = _layout(final)
    shown_as = {
        value: box.short or f"{sign(box.op)} {number(box.data)}".strip()
        for value, box in zip(drawn.values, drawn.nodes, strict=True)
    }
    first, seeded, *handed_on, last = _captions(steps, shown_as, max(24, int(width / LETTER)))

    def image(text: str, told: str) -> Picture:
        for node in done:  # their arrows point backward
            text = re.sub(f"-> {name_of[node]}:.*", rf"\g<0> {BACKWARD}", text)
        text = text.rstrip("}\n") + f"\ngraph [label={told}, dpi={INCH}]\n}}"
        png = picture(darkened(text) if dark else text, "png")
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))

    def changed(text: str, nodes: Sequence[Value], old: str, new: str) -> str:
        for node in nodes:
            text = re.sub(rf"\t{name_of[node]} \[.*", lambda card: card[0].replace(old, new), text)
        return text

    for node in drawn.values:
        node.grad = 0
    now = draw(frame=final).source
    yield image(now, first), LONG
    root.grad = 1
    # The result is known now, although nothing has passed on a gradient.
    now = changed(now, [root], UNKNOWN, "1")
    yield image(now, seeded), STANDING
    moving = min(10, 100 // max(1, len(steps)))  # pictures with something on its way, of each step
    for node, told in zip(steps, handed_on, strict=True):
        done.append(node)
        on_the_way, arrows = image(now, told), ways.get(name_of[node], ())
        for i in range(moving):
            yield _with_tokens(on_the_way, arrows, 1 - i / moving, dark), MOVING
        node._backward()
        now = draw(frame=final, done=done).source
        marked = changed(now, node._prev, LIGHT["panel"], LIGHT["gradient-soft"])
        yield image(marked, told), STANDING
    yield image(now, last), LONG


def _layout(drawing: Digraph) -> tuple[float, dict[str, list[Picture]]]:
    # The width of a drawing in inches, and the arrows to each card: the points of their curves, in
    # pixels. Graphviz counts upwards, and pixels are counted downwards.
    rows = [line.split() for line in drawing.pipe("plain", encoding="utf-8").splitlines()]
    width, height = map(float, rows[0][2:])
    ways: dict[str, list[Picture]] = {}
    for _, _, head, n, *numbers in (row for row in rows if row[0] == "edge"):
        x, y = np.array(numbers[: 2 * int(n)], float).reshape(-1, 2).T
        way = INCH * np.array([x, height - y]).T + INCH * float(GRAPH["pad"])
        ways.setdefault(head.split(":")[0], []).append(way)
    return width, ways


def _with_tokens(shown: Picture, ways: Sequence[Picture], share: float, dark: bool) -> Picture:
    # The picture with something on its way, after this share of each arrow. An arrow is several
    # cubic curves, one after the other.
    image, theme = Image.fromarray(shown), DARK if dark else LIGHT
    for way in ways:
        pieces = (len(way) - 1) // 3
        k = min(pieces - 1, int(share * pieces))
        t = share * pieces - k
        bends = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
        x, y = bends @ way[3 * k : 3 * k + 4]
        box = (x - 6, y - 6, x + 6, y + 6)
        ImageDraw.Draw(image).ellipse(box, theme["gradient"], theme["panel"], 2)
    return np.asarray(image)


def _captions(steps: Sequence[Value], shown_as: Mapping[Value, str], columns: int) -> list[str]:
    # What is said at the start, at the seed, in each step and at the end, in as many lines each.
    result = list(shown_as.values())[-1]
    texts = [said("draw", "film.start"), said("draw", "film.seed", result=result)]
    for node in steps:
        parts = []
        for d, x in zip(local_derivatives(node), node._prev, strict=True):
            share = f"{number(d)} {TIMES} {number(node.grad)} = {number(d * node.grad)}"
            parts.append(said("draw", "film.share", share=share, to=shown_as[x]))
        texts.append(said("draw", "film.passes", name=shown_as[node], parts=listed(parts)))
    texts.append(said("draw", "film.end", result=result))
    wrapped = [wrap(text, columns) for text in texts]
    most = max(map(len, wrapped))
    return [caption([*lines, *[" "] * (most - len(lines))]) for lines in wrapped]


def write_film(path: FilePath, film: Film) -> None:
    """Writes an animated GIF; or if the path has no ending, a folder of PNGs for slides of a talk.

    These are numbered from 001.png on. Pictures with something on its way are left out.
    """
    if Path(path).suffix:
        return write_whole(path, animated_gif(*zip(*film, strict=True)))
    Path(path).mkdir(parents=True, exist_ok=True)
    still = [shown for shown, milliseconds in film if milliseconds != MOVING]
    for i, shown in enumerate(still, start=1):
        content = io.BytesIO()
        Image.fromarray(shown).save(content, "PNG")
        write_whole(Path(path, f"{i:03}.png"), content.getvalue())


def animated_gif(pictures: Sequence[Picture], milliseconds: Sequence[int]) -> bytes:
    """The pictures, arrays of shape (height, width, 3), as an animated GIF that repeats forever.

    All get one palette of 256 colours, so that each picture stores only what has changed. Smaller
    pictures are extended at the right and below.
    """
    height, width = np.max([each.shape[:2] for each in pictures], axis=0)
    rooms = [[(0, height - len(each)), (0, width - len(each[0])), (0, 0)] for each in pictures]
    tall = np.concatenate([np.pad(*each, "edge") for each in zip(pictures, rooms, strict=True)])
    reduced = Image.fromarray(tall).quantize(256, Image.Quantize.MAXCOVERAGE)
    palette = np.resize(np.array(reduced.getpalette(), np.uint8), (256, 3))
    # Of the colours that one stands for, the most frequent one comes last, and so areas are exact.
    ends = np.r_[:height, -height:0]  # rows of the first and the last picture
    packed = np.array(reduced)[ends].astype(int) << 24 | tall[ends] @ [1 << 16, 1 << 8, 1]
    codes, counts = np.unique(packed, return_counts=True)
    codes = codes[counts.argsort()]
    palette[codes >> 24] = np.stack([codes >> 16, codes >> 8, codes], axis=1) & 255
    reduced.putpalette(palette.tobytes())
    frames = [reduced.crop((0, top, width, top + height)) for top in range(0, len(tall), height)]
    content, (first, *others) = io.BytesIO(), frames
    looks: dict[str, Any] = {"duration": list(milliseconds), "loop": 0, "optimize": True}
    first.save(content, "GIF", save_all=True, append_images=others, **looks)
    return content.getvalue()
