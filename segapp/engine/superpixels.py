"""Superpixels and colour palettes: weighted groups of pixels to train on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree
from skimage.segmentation import slic

from segapp.imaging.pyramid import halve, upsample
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.features import Channels

    # Red, green and blue, or all the channels of an instrument (`Channels`).
    Colours = NDArray[np.uint8] | NDArray[np.uint16]

PALETTE_LEVELS = (4096, 2048, 1024, 512, 256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2)
"""Levels per channel, finest first, each about three quarters of the one before."""
MAX_PALETTE_CHANNELS = 24
"""Two levels of each are as many cells as 256 levels of three."""

_ROWS_AT_ONCE = 64  # of an image: they stay in the processor's caches from step to step
_NO_LABEL = np.uint8(255)  # a document has at most 255 classes


def affordable_levels(n_channels: int) -> tuple[int, ...]:
    """Return the levels per channel whose colour grid fits into a table, finest first."""
    limit = 1 << MAX_PALETTE_CHANNELS
    return tuple(levels for levels in PALETTE_LEVELS if levels**n_channels <= limit)


def colour_cells(colours: Colours, levels: int) -> NDArray[np.int32]:
    """Return the cell of each pixel's colour on a grid of ``levels`` per channel."""
    bits = 8 * colours.dtype.itemsize
    steps: NDArray[np.unsignedinteger] = colours.astype(f"u{bits // 4}")  # 255 * 256 fits
    steps *= steps.dtype.type(levels)
    steps >>= steps.dtype.type(bits)
    cells = steps[..., 0].astype(np.int32)
    for channel in range(1, colours.shape[-1]):
        cells *= np.int32(levels)
        cells += steps[..., channel]
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class Palette:
    """The cells of a colour grid that occur in an image, numbered in their order.

    Parameters
    ----------
    levels, n_channels
        Of the grid.
    present
        The cells that occur.
    table
        For each cell of the grid the number of the nearest cell that occurs, -1 where it was
        not computed; read-only.
    of_channels
        Whether colours are an instrument's channels.
    """

    levels: int
    n_channels: int
    present: NDArray[np.intp]
    table: NDArray[np.int32]
    of_channels: bool

    def __post_init__(self) -> None:
        self.table.flags.writeable = False

    @classmethod
    def of(
        cls,
        present: NDArray[np.bool_],
        levels: int,
        n_channels: int = 3,
        *,
        of_channels: bool = False,
    ) -> Palette:
        """Return the palette of the cells that occur."""
        table = np.full(len(present), -1, dtype=np.int32)
        cells = np.flatnonzero(present)
        table[cells] = np.arange(len(cells))
        return cls(levels, n_channels, cells, table, of_channels)

    def extended_to(self, colours: Colours | Channels) -> Palette:
        """Return the palette with the nearest numbers of an image's colours tabulated.

        At full size an image has colours that its working resolution lacks.
        """
        occurs = np.zeros(len(self.table), dtype=bool)
        for top in range(0, colours.shape[0], _ROWS_AT_ONCE):
            rows = slice(top, top + _ROWS_AT_ONCE)
            occurs[colour_cells(colours[rows, :], self.levels)] = True
        missing = np.flatnonzero(occurs & (self.table < 0))
        table = self.table.copy()
        table[missing] = self._nearest(missing)
        return replace(self, table=table)

    def numbers(self, colours: Colours) -> NDArray[np.int32]:
        """Return the number of each pixel's colour, or of the nearest that occurs."""
        cells = colour_cells(colours, self.levels)
        numbers: NDArray[np.int32] = self.table[cells]
        missing = numbers < 0
        if missing.any():
            numbers[missing] = self._nearest(cells[missing])
        return numbers

    def painted(self, colours: Colours | Channels, labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the label of each pixel's colour, given the label of each number."""
        table = np.where(self.table < 0, _NO_LABEL, labels[self.table])
        painted = np.empty(colours.shape[:2], dtype=np.uint8)
        for top in range(0, len(painted), _ROWS_AT_ONCE):
            rows = slice(top, top + _ROWS_AT_ONCE)
            cells = colour_cells(colours[rows, :], self.levels)
            strip = table[cells]
            missing = strip == _NO_LABEL
            if missing.any():
                strip[missing] = labels[self._nearest(cells[missing])]
            painted[rows] = strip
        return painted

    def _nearest(self, cells: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return the number of the nearest cell that occurs, for each of some cells."""
        distinct, inverse = np.unique(cells, return_inverse=True)
        shape = (self.levels,) * self.n_channels
        tree = cKDTree(np.stack(np.unravel_index(self.present, shape), axis=1))
        _, nearest = tree.query(np.stack(np.unravel_index(distinct, shape), axis=1))
        return np.asarray(nearest, dtype=np.intp)[inverse]


# Compactness, and blur in pixels. In noise the regions of the first pair fall into tiny pieces,
# which SLIC then merges into a few huge ones; the other pairs hold out longer.
_SLIC_ATTEMPTS = ((10.0, 0.0), (20.0, 1.0), (40.0, 2.0), (100.0, 3.0))
_ENOUGH = 0.4  # of the wanted regions; with fewer, the next pair is tried
_LARGEST_REGION = 512
"""Mean pixels per region above which an image is halved before SLIC: that takes a quarter of the
time and does no harm (NOTES.md, "Short cuts of speed")."""


@dataclass(frozen=True, slots=True, eq=False)
class Prototypes:
    """Groups of pixels, each of which is one training row.

    Parameters
    ----------
    index_map
        int32, the prototype of each pixel.
    sizes
        The number of pixels of each prototype, never 0.
    palette
        The colours of the prototypes, where they are colours.
    """

    index_map: NDArray[np.int32]
    sizes: NDArray[np.float64]
    palette: Palette | None = None

    @classmethod
    def of_map(cls, index_map: NDArray[np.integer]) -> Prototypes:
        """Take the groups of a map, renumbered from 0 without gaps."""
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


def superpixels(image: NDArray[np.floating], n_segments: int) -> Prototypes:
    """Segment an image into about ``n_segments`` compact homogeneous regions (SLIC).

    ``image`` is ``H x W x channels``, where 1 is the distance from black to white. An image with
    at most ``n_segments`` pixels gets a region per pixel. One with large regions is halved
    first, and their boundaries follow the pixels of the halved image.
    """
    height, width = image.shape[:2]
    if height * width <= n_segments:
        return Prototypes.of_map(np.arange(height * width).reshape(height, width))
    times = 1
    while image.shape[0] * image.shape[1] > _LARGEST_REGION * n_segments:
        image, times = halve(image), 2 * times
    regions = _slic_labels(image, n_segments).astype(np.int32)
    index_map = np.ascontiguousarray(upsample(regions, (height, width), times))
    # SLIC leaves no gaps between its numbers, and sorting them all would take long.
    return Prototypes(index_map, np.bincount(index_map.ravel()).astype(np.float64))


def _slic_labels(image: NDArray[np.floating], n_segments: int) -> NDArray[np.intp]:
    """Return the region of each pixel, counted from 0."""
    best: NDArray[np.intp] = np.zeros(image.shape[:2], dtype=np.intp)
    unit = 0.01 / (float(np.ptp(image)) or 1.0)  # SLIC stretches any image to [0, 1]
    for compactness, blur in _SLIC_ATTEMPTS:
        regions = slic(
            image,
            n_segments=n_segments,
            compactness=compactness * unit,
            sigma=blur,
            start_label=0,
            convert2lab=False,
        )
        if regions.max() > best.max():
            best = regions
        if best.max() + 1 >= _ENOUGH * n_segments:
            break
    return best


def colour_palette(colours: Colours, largest: int, *, of_channels: bool = False) -> Prototypes:
    """Group equal colours on the finest grid with at most ``largest`` colours.

    With all the colours of an image as weighted rows, training on the rows equals training on
    all the pixels; a coarser grid makes a photograph with its tens of thousands of colours
    affordable.
    """
    n_channels = colours.shape[2]
    grids = affordable_levels(n_channels)
    for levels in grids:
        cells = colour_cells(colours, levels)
        present = np.zeros(levels**n_channels, dtype=bool)
        present[cells.ravel()] = True
        if levels == grids[-1] or np.count_nonzero(present) <= largest:
            palette = Palette.of(present, levels, n_channels, of_channels=of_channels)
            return replace(Prototypes.of_map(cells), palette=palette)
    raise SegappError(
        "samples: wanted at most {} channels to group pixels by, got {}; superpixels take any "
        "number.",
        MAX_PALETTE_CHANNELS,
        n_channels,
    )


BIN_LEVELS = 32
"""Bins of a colour histogram along each of the three channels."""


def colour_bins(rgb: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the histogram bin of each pixel."""
    levels = rgb.astype(np.int32) * BIN_LEVELS // 256
    return (levels[..., 0] * BIN_LEVELS + levels[..., 1]) * BIN_LEVELS + levels[..., 2]
