"""Superpixels and colour palettes: weighted rows that stand for all pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree
from skimage.segmentation import slic

from segapp.imaging.pyramid import halve, upsample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.features import Channels


# Colours are red, green and blue, or all the channels of an instrument (`Channels`).

if TYPE_CHECKING:
    Colours = NDArray[np.uint8] | NDArray[np.uint16]

PALETTE_LEVELS = (4096, 2048, 1024, 512, 256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2)
"""A channel, finest first, each about three quarters of the one before."""
MOST_CHANNELS = 24
"""Two levels of each are as many cells as 256 levels of three."""

_ROWS_AT_ONCE = 64
"""Of a picture, which are in the processor's caches from step to step."""
_NONE = np.uint8(255)
"""No label: a document has at most 255 classes."""


def grids_of(n_channels: int) -> tuple[int, ...]:
    """Return the levels of the grids that have few enough cells for a table, finest first."""
    return tuple(levels for levels in PALETTE_LEVELS if levels**n_channels <= 1 << MOST_CHANNELS)


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


# Compactness, and blur in pixels. In noise the first pair's regions fall into crumbs, which
# SLIC then merges into a few huge ones; the others hold out longer.
_SLIC_ATTEMPTS = ((10.0, 0.0), (20.0, 1.0), (40.0, 2.0), (100.0, 3.0))
_ENOUGH = 0.4  # of the wanted regions; with fewer, the next pair is tried
_LARGEST_REGION = 512
"""Pixels of a region on average, beyond which a picture is halved to be divided: it takes SLIC a
quarter of the time, and does no harm (SPEED.md, "What it costs in quality")."""


@dataclass(frozen=True, slots=True, eq=False)
class Prototypes:
    """Groups of pixels that are learnt as one.

    Parameters
    ----------
    index_map
        int32, the prototype of each pixel.
    sizes
        How many pixels each prototype stands for, never 0.
    palette
        Which colours they are, where they are colours.
    """

    index_map: NDArray[np.int32]
    sizes: NDArray[np.float64]
    palette: Palette | None = None

    @classmethod
    def of_map(cls, index_map: NDArray[np.integer]) -> Prototypes:
        """Take the groups of a map, numbered anew from 0 without gaps."""
        _, numbered, sizes = np.unique(index_map, return_inverse=True, return_counts=True)
        return cls(numbered.reshape(index_map.shape).astype(np.int32), sizes.astype(np.float64))

    def __len__(self) -> int:
        return len(self.sizes)

    def mean(self, image: NDArray[np.float32]) -> NDArray[np.float64]:
        """Average the channels of an ``H x W x channels`` image over each prototype."""
        index = self.index_map.ravel()
        sums = [
            np.bincount(index, image[..., k].ravel(), minlength=len(self))
            for k in range(image.shape[-1])
        ]
        return np.stack(sums, axis=1) / self.sizes[:, None]

    def count(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the pixels of a mask in each prototype."""
        return np.bincount(self.index_map[mask], minlength=len(self)).astype(np.int64)


def superpixels(seen: NDArray[np.floating], wanted: int) -> Prototypes:
    """Divide a picture into about so many compact regions of one look (SLIC).

    ``seen`` is what regions are even in, ``H x W x channels``, where 1 is as much as it is from
    black to white. A picture that has no more pixels than wanted regions is left as it is: each
    pixel is a region. One whose regions are large is halved before, and their borders follow the
    halved one's pixels.
    """
    height, width = seen.shape[:2]
    if height * width <= wanted:
        return Prototypes.of_map(np.arange(height * width).reshape(height, width))
    times = 1
    while seen.shape[0] * seen.shape[1] > _LARGEST_REGION * wanted:
        seen, times = halve(seen), 2 * times
    regions = _divided(seen, wanted).astype(np.int32)
    found = np.ascontiguousarray(upsample(regions, (height, width), times))
    # SLIC leaves no gaps between its numbers, and to sort them all would take long.
    return Prototypes(found, np.bincount(found.ravel()).astype(np.float64))


def _divided(seen: NDArray[np.floating], wanted: int) -> NDArray[np.intp]:
    """Return the region of each pixel, counted from 0."""
    found: NDArray[np.intp] = np.zeros(seen.shape[:2], dtype=np.intp)
    unit = 0.01 / (float(np.ptp(seen)) or 1.0)  # SLIC stretches any image, and counts in hundreds
    for compactness, blur in _SLIC_ATTEMPTS:
        regions = slic(
            seen,
            n_segments=wanted,
            compactness=compactness * unit,
            sigma=blur,
            start_label=0,
            convert2lab=False,
        )
        if regions.max() > found.max():
            found = regions
        if found.max() + 1 >= _ENOUGH * wanted:
            break
    return found


def palette(colours: Colours, largest: int, *, of_channels: bool = False) -> Prototypes:
    """Group equal colours, on the finest grid of levels that has at most ``largest`` colours.

    With all the colours of a picture as weighted rows, learning on the rows is learning on
    all the pixels; a coarser grid is what makes a photograph with its tens of thousands of
    colours affordable.
    """
    n_channels = colours.shape[2]
    grids = grids_of(n_channels)
    for levels in grids:
        codes = cells(colours, levels)
        present = np.zeros(levels**n_channels, dtype=bool)
        present[codes.ravel()] = True
        if levels == grids[-1] or np.count_nonzero(present) <= largest:
            made = Palette.of(present, levels, n_channels, of_channels=of_channels)
            return replace(Prototypes.of_map(codes), palette=made)
    raise ValueError(
        f"samples: wanted at most {MOST_CHANNELS} channels to group pixels by, got {n_channels}; "
        "superpixels take any number."
    )


BIN_LEVELS = 32
"""Bins along each of the three channels."""


def colour_bins(rgb: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the bin of each pixel."""
    levels = rgb.astype(np.int32) * BIN_LEVELS // 256
    return (levels[..., 0] * BIN_LEVELS + levels[..., 1]) * BIN_LEVELS + levels[..., 2]
