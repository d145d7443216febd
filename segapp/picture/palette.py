"""The colours of a picture on a grid of few levels, and the nearest of them for any other.

Colours are red, green and blue, or all the channels of an instrument (`Channels`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.channels import Channels

    Colours = NDArray[np.uint8] | NDArray[np.uint16]

LEVELS = (4096, 2048, 1024, 512, 256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2)
"""A channel, finest first, each about three quarters of the one before."""
MOST_CHANNELS = 24
"""Two levels of each are as many cells as 256 levels of three."""

_ROWS_AT_ONCE = 64
"""Of a picture, which are in the processor's caches from step to step."""
_NONE = np.uint8(255)
"""No label: a document has at most 255 classes."""


def grids_of(n_channels: int) -> tuple[int, ...]:
    """Return the levels of the grids that have few enough cells for a table, finest first."""
    return tuple(levels for levels in LEVELS if levels**n_channels <= 1 << MOST_CHANNELS)


def cells(colours: Colours, levels: int) -> NDArray[np.int32]:
    """Return the cell of each pixel's colour on a grid of so many levels a channel."""
    bits = 8 * colours.dtype.itemsize
    steps: NDArray[np.unsignedinteger] = colours.astype(f"u{bits // 4}")  # 255 * 256 fits
    steps *= steps.dtype.type(levels)
    steps >>= steps.dtype.type(bits)
    found = steps[..., 0].astype(np.int32)
    for channel in range(1, colours.shape[-1]):
        found *= np.int32(levels)
        found += steps[..., channel]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Palette:
    """Which cells of the grid hold the colours of a picture, numbered in their order.

    Parameters
    ----------
    levels, n_channels
        Of the grid.
    number
        That of the nearest such cell for each cell that was looked up, -1 for the others.
    of_channels
        Whether colours are an instrument's channels.
    """

    levels: int
    n_channels: int
    present: NDArray[np.intp]
    number: NDArray[np.int32]
    of_channels: bool

    @classmethod
    def of(
        cls,
        present: NDArray[np.bool_],
        levels: int,
        n_channels: int = 3,
        *,
        of_channels: bool = False,
    ) -> Palette:
        """Give the cells that are present their numbers."""
        number = np.full(len(present), -1, dtype=np.int32)
        places = np.flatnonzero(present)
        number[places] = np.arange(len(places))
        return cls(levels, n_channels, places, number, of_channels)

    def numbers(self, colours: Colours) -> NDArray[np.int32]:
        """Return the number of each pixel's colour, or of the nearest that there is.

        At full size a picture has colours that its halvings have not.
        """
        found = cells(colours, self.levels)
        numbers: NDArray[np.int32] = self.number[found]
        missing = numbers < 0
        if missing.any():
            self._look_up(found[missing])
            numbers[missing] = self.number[found[missing]]
        return numbers

    def painted(self, colours: Colours | Channels, labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the label of each pixel's colour, given those of the numbers: `_NONE` is none."""
        table = np.where(self.number < 0, _NONE, labels[self.number])
        painted = np.empty(colours.shape[:2], dtype=np.uint8)
        for top in range(0, len(painted), _ROWS_AT_ONCE):
            rows = slice(top, top + _ROWS_AT_ONCE)
            found = cells(colours[rows, :], self.levels)
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
        return np.stack(np.unravel_index(cell, (self.levels,) * self.n_channels), axis=1)
