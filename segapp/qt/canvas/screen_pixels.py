"""Pixels as the screen wants them: RGBA words, their order, and halved copies."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Two bytes of a word with room above each, and what rounds their sum of four up at a half.
_LANES, _HALVES = np.uint32(0x00FF00FF), np.uint32(0x00020002)
_TWO, _EIGHT = np.uint32(2), np.uint32(8)
# Of a little-endian word of RGBA: green and alpha, and the lowest byte.
_GREEN_ALPHA, _BYTE, _SIXTEEN = np.uint32(0xFF00FF00), np.uint32(0xFF), np.uint32(16)


def opaque(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Add an alpha channel of 255 to an ``H x W x 3`` array."""
    rgba = np.empty((*rgb.shape[:2], 4), dtype=np.uint8)
    rgba[..., :3] = rgb
    rgba[..., 3] = 255
    return rgba


def in_screen_order(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Exchange red and blue, which is the order that the screen wants; return a copy."""
    words = np.ascontiguousarray(rgba).view(np.uint32)[..., 0]
    swapped = words & _GREEN_ALPHA
    swapped |= (words >> _SIXTEEN) & _BYTE
    swapped |= (words & _BYTE) << _SIXTEEN
    return swapped[..., np.newaxis].view(np.uint8)


def untouched(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return zeros in small pages of memory, none of which is there before it is written to.

    NumPy asks for pages of 2 MB. The first stroke over 300 rows of a picture of 100 MP would touch
    seven of them, each of which is cleared first: 20 ms instead of one.
    """
    memory = mmap.mmap(-1, max(math.prod(shape), 1))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.uint8, math.prod(shape)).reshape(shape)


def halved(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Average 2 x 2 pixels; an odd last row or column is averaged with itself."""
    height, width, _ = rgba.shape
    if height % 2 or width % 2:
        rgba = np.pad(rgba, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    # The mean is that of `segapp.picture.pyramid`, which has three channels and no hurry. Here
    # two channels go at a time in one word, with room for the carry: four times fewer numbers.
    # Rows are summed first: what lies side by side is read faster than every second pixel.
    pixels = rgba.view(np.uint32)[..., 0]
    even = _halved_lanes(pixels & _LANES)
    odd = _halved_lanes((pixels >> _EIGHT) & _LANES)
    odd <<= _EIGHT
    even |= odd
    return even[..., np.newaxis].view(np.uint8)


def _halved_lanes(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    rows = words[::2] + words[1::2]
    lanes = rows[:, ::2] + rows[:, 1::2]
    lanes += _HALVES
    lanes >>= _TWO
    lanes &= _LANES
    return lanes
