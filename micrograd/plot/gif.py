"""Pictures as an animated GIF whose frames share one palette."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from PIL import Image

__all__ = ["animated_gif", "frequent_colours"]

Array = np.ndarray[Any, np.dtype[Any]]


def animated_gif(pictures: Iterable[Array], palette: Array, milliseconds: Sequence[int]) -> bytes:
    """The pictures as an animated GIF that repeats forever.

    Args:
        pictures: arrays of the same shape (height, width, 3), numbers from 0 to 255.
        palette: the colours, shape (at most 256, 3). All pictures share them, so that each frame
            stores only what has changed.
        milliseconds: how long each picture is shown.

    >>> white = np.full((2, 2, 3), 255, np.uint8)
    >>> animated_gif([white, 0 * white], np.array([[0, 0, 0], [255, 255, 255]]), [100, 100])[:6]
    b'GIF89a'
    """
    first, *others = (_indexed(pixels, palette) for pixels in pictures)
    content = io.BytesIO()
    first.save(
        content, "GIF", save_all=True, append_images=others, loop=0, optimize=True,
        duration=list(milliseconds),
    )  # fmt: skip
    return content.getvalue()


def frequent_colours(pictures: Iterable[Array]) -> Array:
    """A palette of the 256 most frequent colours of the pictures.

    >>> frequent_colours([np.array([[[9, 0, 0], [0, 0, 7], [0, 0, 7]]])]).tolist()
    [[0, 0, 7], [9, 0, 0]]
    """
    codes = np.concatenate([_codes(pixels).ravel() for pixels in pictures])
    different, counts = np.unique(codes, return_counts=True)
    return _colours(different[np.argsort(-counts, kind="stable")[:256]])


def _indexed(pixels: Array, palette: Array) -> Image.Image:
    # Each pixel gets the nearest colour of the palette. (Pillow's own search is approximate and
    # would turn white into another colour.)
    codes = _codes(pixels)
    different, places = np.unique(codes, return_inverse=True)
    distances = ((_colours(different)[:, None] - palette.astype(int)) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=1).astype(np.uint8)
    picture = Image.fromarray(nearest[places.reshape(codes.shape)])
    picture.putpalette(palette.astype(np.uint8).tobytes())
    return picture


def _codes(pixels: Array) -> Array:
    # A colour as one number.
    codes: Array = pixels.astype(int) @ [65536, 256, 1]
    return codes


def _colours(codes: Array) -> Array:
    return np.stack(np.unravel_index(codes, (256, 256, 256)), axis=-1)
