"""The colours of a picture on a grid of few levels, and the nearest of them for any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS = (256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2)
"""A channel, finest first, each about three quarters of the one before."""

_ROWS_AT_ONCE = 64
"""Of a picture, which are in the processor's caches from step to step."""
_NONE = np.uint8(255)
"""No label: a document has at most 255 classes."""


def cells(rgb: NDArray[np.uint8], levels: int) -> NDArray[np.int32]:
    """Return the cell of each pixel's colour on a grid of so many levels a channel."""
    steps = rgb.astype(np.uint16)  # 255 * 256 fits
    steps *= np.uint16(levels)
    steps >>= np.uint16(8)
    found = steps[..., 0].astype(np.int32)
    for channel in (1, 2):
        found *= np.int32(levels)
        found += steps[..., channel]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Palette:
    """Which cells of the grid hold the colours of a picture, numbered in their order.

    ``number`` has the number of the nearest such cell for each cell that was looked up, and -1
    for one that was not yet.
    """

    levels: int
    present: NDArray[np.intp]
    number: NDArray[np.int32]

    @classmethod
    def of(cls, present: NDArray[np.bool_], levels: int) -> Palette:
        """Give the cells that are present their numbers."""
        number = np.full(levels**3, -1, dtype=np.int32)
        places = np.flatnonzero(present)
        number[places] = np.arange(len(places))
        return cls(levels, places, number)

    def numbers(self, rgb: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the number of each pixel's colour, or of the nearest that there is.

        At full size a picture has colours that its halvings have not.
        """
        found = cells(rgb, self.levels)
        numbers: NDArray[np.int32] = self.number[found]
        missing = numbers < 0
        if missing.any():
            self._look_up(found[missing])
            numbers[missing] = self.number[found[missing]]
        return numbers

    def painted(self, rgb: NDArray[np.uint8], labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the label of each pixel's colour, given those of the numbers: `_NONE` is none."""
        table = np.where(self.number < 0, _NONE, labels[self.number])
        painted = np.empty(rgb.shape[:2], dtype=np.uint8)
        for top in range(0, len(rgb), _ROWS_AT_ONCE):
            rows = slice(top, top + _ROWS_AT_ONCE)
            found = cells(rgb[rows], self.levels)
            strip = table[found]
            missing = strip == _NONE
            if missing.any():
                self._look_up(found[missing])
                strip[missing] = labels[self.number[found[missing]]]
            painted[rows] = strip
        return painted

    def _look_up(self, missing: NDArray[np.int32]) -> None:
        new = np.unique(missing)
        _, nearest = cKDTree(self._places(self.present)).query(self._places(new))
        self.number[new] = nearest

    def _places(self, cell: NDArray[np.integer]) -> NDArray[np.intp]:
        return np.stack(np.unravel_index(cell, (self.levels,) * 3), axis=1)
