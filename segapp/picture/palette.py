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


def cells(rgb: NDArray[np.uint8], levels: int) -> NDArray[np.int32]:
    """Return the cell of each pixel's colour on a grid of so many levels a channel."""
    steps = np.arange(256, dtype=np.int32) * levels // 256
    found = (steps * levels**2)[rgb[..., 0]]
    found += (steps * levels)[rgb[..., 1]]
    found += steps[rgb[..., 2]]
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
        return np.asarray(self.number[self.looked_up(rgb)])

    def looked_up(self, rgb: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the cell of each pixel's colour; each of them has its number then."""
        found = cells(rgb, self.levels)
        seen = np.zeros(len(self.number), dtype=bool)
        seen[found.ravel()] = True
        new = np.flatnonzero(seen & (self.number < 0))
        if len(new):
            _, nearest = cKDTree(self._places(self.present)).query(self._places(new))
            self.number[new] = nearest
        return found

    def _places(self, cell: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.stack(np.unravel_index(cell, (self.levels,) * 3), axis=1)
