"""Means over wide squares around each pixel.

They hardly change from pixel to pixel: sums of blocks are averaged, and the pixels between the
blocks' middles get what lies between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCKS = 8
"""How many blocks a square reaches to each side, if it is that wide."""


class WideMeans:
    """The means of squares of ``2 * radius + 1`` pixels, for pictures of one size.

    Squares that reach over the picture's side are filled with its border.
    """

    def __init__(self, size: tuple[int, int], radius: int) -> None:
        self._size = size
        self._block = max(radius // _BLOCKS, 1)
        self._reach = round(radius / self._block)

    def coarse(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the means around the blocks' middles, of ``H x W x channels``."""
        block = self._block
        if block > 1:
            over = [(0, -side % block) for side in self._size]
            padded = np.pad(values, (*over, (0, 0)), mode="edge")
            height, width = (side // block for side in padded.shape[:2])
            blocks = padded.reshape(height, block, width, block, -1)
            values = blocks.sum(axis=3).sum(axis=1) / np.float32(block**2)
        side = 2 * self._reach + 1
        return np.asarray(scipy.ndimage.uniform_filter(values, (side, side, 1), mode="nearest"))

    def fine(self, coarse: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what lies between the blocks' middles, for every pixel."""
        if self._block == 1:
            return coarse
        for axis, side in enumerate(self._size):
            coarse = _between(coarse, side, self._block, axis)
        return coarse


def _between(
    values: NDArray[np.float32], length: int, block: int, axis: int
) -> NDArray[np.float32]:
    place = np.clip((np.arange(length) + 0.5) / block - 0.5, 0, values.shape[axis] - 1)
    before = place.astype(np.int64)
    after = np.minimum(before + 1, values.shape[axis] - 1)
    share = (place - before).astype(np.float32).reshape((-1, *[1] * (2 - axis)))
    one, other = values.take(before, axis), values.take(after, axis)
    other -= one
    other *= share
    other += one
    return np.asarray(other)
