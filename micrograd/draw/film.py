"""A film of backpropagation: gradients move from the result back to the leaves.

In each step, one node passes on its gradient to its operands: the arrows between them turn round,
and each operand adds local derivative times upstream gradient to its own gradient. A gradient that
is not known yet is shown as a dot. Cards that have passed on their gradient are solid.

    >>> a = Value(3.0, label="a")
    >>> backward_film(a * a)[:6]
    b'GIF89a'
"""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from micrograd.derivatives import contributions, local_derivatives
from micrograd.draw.cards import Cards, caption
from micrograd.draw.dot import draw_dot
from micrograd.draw.formulas import TIMES, UNKNOWN, number, sign
from micrograd.draw.graph import graph
from micrograd.draw.render import darkened, picture
from micrograd.draw.tokens import DARK, GRAPH, LIGHT
from micrograd.engine import Value, topological_order

MOST = 100  # nodes: in a larger graph, nobody can follow one operation at a time
MOVING, STANDING, LONG = 60, 2000, 4000  # milliseconds that a picture is shown
MOST_MOVING = 100  # pictures with something on its way, in the whole film
PIXELS = 96 / 72  # in a point, the unit of Graphviz
LETTER = 7.0  # points: more than the mean width of a letter of a caption
FLAT = 64  # colours of areas, which a GIF shows exactly

Picture = Any  # an array of shape (height, width, 3)


def backward_film(
    root: Value,
    names: Mapping[str, Any] | None = None,
    rankdir: str = "LR",
    *,
    dark: bool = False,
) -> bytes:
    """An animated GIF of the backward pass from `root`, which repeats forever.

    The film begins with all gradients at 0. The graph keeps the gradients that it has.

    Args:
        root: the result, a Value.
        names: as in `draw_dot`.
        rankdir: as in `draw_dot`.
        dark: whether the background is dark.

    Raises:
        ValueError: the graph has more than 100 nodes.
    """
    order = topological_order(root)
    if len(order) > MOST:
        raise ValueError(
            f"a film expects at most {MOST} nodes, got {len(order):,}: save a .html page, which "
            "folds larger graphs, or use a smaller example"
        )
    before = [node.grad for node in order]
    try:
        root.backward()
        film = Film(root, names, rankdir, dark)
        for node in order:
            node.grad = 0
        return animated_gif(*zip(*film.pictures(), strict=True))
    finally:
        for node, grad in zip(order, before, strict=True):
            node.grad = grad


class Film:
    """The pictures of a film, with cards and arrows in the same places.

    Args:
        root: the result, after the backward pass: from it, each card has its largest size.
        names, rankdir, dark: as in `backward_film`.
    """

    def __init__(
        self, root: Value, names: Mapping[str, Any] | None, rankdir: str, dark: bool
    ) -> None:
        self.root, self.dark, self.theme = root, dark, DARK if dark else LIGHT
        self.look: dict[str, Any] = {"names": names, "rankdir": rankdir, "level": "op"}
        drawn = graph(root, names=names)
        self.name_of = {value: f"v{i}" for i, value in enumerate(drawn.values)}
        titles = Cards(drawn)
        shown_as = {
            value: titles.name_of[box.name] or f"{sign(box.op)} {number(box.data)}".strip()
            for value, box in zip(drawn.values, drawn.nodes, strict=True)
        }
        self.steps = [value for value in reversed(drawn.values) if value._prev]
        self.last = draw_dot(root, **self.look)
        laid_out = json.loads(self.last.pipe("json0"))
        width, height = map(float, laid_out["bb"].split(",")[2:])
        self.texts = _captions(self.steps, shown_as, columns=max(24, int(width / LETTER)))
        # Graphviz counts upwards, and pixels are counted downwards.
        self.margin = 72 * float(GRAPH["pad"])
        self.ways: dict[str, list[Picture]] = {name: [] for name in self.name_of.values()}
        titles_of = [each["name"] for each in laid_out["objects"]]
        for arrow in laid_out.get("edges", ()):
            _, *points = arrow["pos"].split()  # the first one is the arrowhead
            x, y = np.array([list(map(float, point.split(","))) for point in points]).T
            way = PIXELS * (np.array([x, height - y]) + self.margin)
            self.ways[titles_of[arrow["head"]]].append(way.T)

    def pictures(self) -> Iterator[tuple[Picture, int]]:
        """The pictures, each with its milliseconds; it runs the closures of the graph."""
        first, seeded, *handed_on, last = self.texts
        yield self.image(self.source(), first), LONG
        self.root.grad = 1
        # The result is known now, although nothing has passed on a gradient.
        now = _changed(self.source(), [self.name_of[self.root]], UNKNOWN, "1")
        yield self.image(now, seeded), STANDING
        moving = min(10, MOST_MOVING // max(1, len(self.steps)))
        done: list[Value] = []
        for node, said in zip(self.steps, handed_on, strict=True):
            done.append(node)
            on_the_way = self.image(now, said, done)
            for i in range(moving):
                shown = Image.fromarray(on_the_way)
                for way in self.ways[self.name_of[node]]:
                    self._draw_token(shown, way, 1 - i / moving)
                yield np.asarray(shown), MOVING
            node._backward()
            now = self.source(done)
            received = [self.name_of[operand] for operand in node._prev]
            marked = _changed(now, received, LIGHT["panel"], LIGHT["gradient-soft"])
            yield self.image(marked, said, done), STANDING
        yield self.image(now, last, done), LONG

    def source(self, done: Sequence[Value] = ()) -> str:
        """The DOT text of the graph as it is now; `done` as in `draw_dot`."""
        text: str = draw_dot(self.root, **self.look, frame=self.last, done=done).source
        return text

    def image(self, source: str, said: str, done: Sequence[Value] = ()) -> Picture:
        """The picture of DOT text, above a caption; the arrows of done nodes point backward."""
        turned = {self.name_of[value] for value in done}
        lines = []
        for line in source.splitlines():
            _, _, head = line.partition(" -> ")
            if head.split(":")[0] in turned:
                line += f' [dir=back color="{LIGHT["gradient"]}" penwidth=2]'
            lines.append(line)
        lines.insert(-1, f"\tgraph [label={said}, dpi={72 * PIXELS:g}]")
        png = picture(darkened("\n".join(lines)) if self.dark else "\n".join(lines), "png")
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))

    def _draw_token(self, shown: Image.Image, way: Picture, share: float) -> None:
        # What moves along an arrow, after this share of the way from its tail to its head.
        pieces = (len(way) - 1) // 3  # cubic curves, one after the other
        k = min(pieces - 1, int(share * pieces))
        t = share * pieces - k
        bends = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
        x, y = bends @ way[3 * k : 3 * k + 4]
        ImageDraw.Draw(shown).ellipse(
            (x - 6, y - 6, x + 6, y + 6), self.theme["gradient"], self.theme["panel"], 2
        )


def _captions(steps: Sequence[Value], shown_as: Mapping[Value, str], columns: int) -> list[str]:
    # What is said at the start, at the seed, in each step and at the end, in as many lines each.
    result = list(shown_as.values())[-1]
    texts = [
        "The forward pass is done. A dot is a gradient that is not known yet.",
        f"The backward pass starts at {result}, with a gradient of 1.",
    ]
    for node in steps:
        parts = [
            f"{number(local)} {TIMES} {number(node.grad)} = {number(share)} to {shown_as[operand]}"
            for operand, local, share in zip(
                node._prev, local_derivatives(node), contributions(node, node.grad), strict=True
            )
        ]
        texts.append(f"{shown_as[node]} passes on " + " and ".join(parts))
    texts.append(f"A gradient says how much {result} moves when that number moves a little.")
    wrapped = [textwrap.wrap(text, columns) for text in texts]
    lines = max(map(len, wrapped))
    return [caption([*each, *[" "] * (lines - len(each))]) for each in wrapped]


def _changed(source: str, names: Collection[str], old: str, new: str) -> str:
    # The DOT text, with something else on the cards of these names.
    cards = tuple(f"\t{name} [" for name in names)
    return "\n".join(
        line.replace(old, new) if line.startswith(cards) else line for line in source.splitlines()
    )


def animated_gif(pictures: Sequence[Picture], milliseconds: Sequence[int]) -> bytes:
    """The pictures, arrays of shape (height, width, 3), as an animated GIF that repeats forever.

    All get one palette of 256 colours, so that each picture stores only what has changed. Smaller
    pictures are extended at the right and below.

    >>> white = np.full((2, 2, 3), 255, np.uint8)
    >>> animated_gif([white, 0 * white], [100, 100])[:6]
    b'GIF89a'
    """
    height, width = np.max([each.shape[:2] for each in pictures], axis=0)
    packed = []
    for each in pictures:
        low, right = height - each.shape[0], width - each.shape[1]
        filled = np.pad(each, [(0, low), (0, right), (0, 0)], "edge").astype(np.int32)
        packed.append(filled @ [1 << 16, 1 << 8, 1])
    colours, indices = _palette(packed)
    frames = [Image.fromarray(indices[each], "P") for each in packed]
    for frame in frames:
        frame.putpalette(colours.tobytes())
    content = io.BytesIO()
    frames[0].save(
        content, "GIF", save_all=True, append_images=frames[1:], loop=0, optimize=True,
        duration=list(milliseconds),
    )  # fmt: skip
    return content.getvalue()


def _palette(packed: Sequence[Picture]) -> tuple[Picture, Picture]:
    # At most 256 colours, rows of (red, green, blue); and the place of the nearest of them for each
    # colour, a number of 24 bits. Colours of large areas are exact; the others cover rare colours,
    # such as that of gradients, too, and `kmeans` gives shades finer steps.
    is_used = np.zeros(1 << 24, bool)
    for each in packed:
        is_used[each] = True
    used = np.flatnonzero(is_used)
    colours = np.stack([used >> 16, used >> 8 & 255, used & 255], axis=1).astype(np.uint8)
    chosen = colours
    if len(colours) > 256:
        found, counts = np.unique(np.stack([packed[0], packed[-1]]), return_counts=True)
        flat = found[np.argsort(-counts)[:FLAT]]
        others = Image.fromarray(colours[None]).quantize(
            256 - FLAT, Image.Quantize.MAXCOVERAGE, kmeans=1
        )
        shades = np.array(others.getpalette(), np.uint8).reshape(-1, 3)[: 256 - FLAT]
        chosen = np.concatenate([colours[np.isin(used, flat)], shades])
    indices = np.zeros(1 << 24, np.uint8)
    for start in range(0, len(used), 10_000):  # distances to 256 colours at a time
        some = colours[start : start + 10_000, None].astype(np.int32)
        distances = ((some - chosen.astype(np.int32)) ** 2).sum(axis=2)
        indices[used[start : start + 10_000]] = distances.argmin(axis=1)
    return chosen, indices
