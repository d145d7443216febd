"""Tiles of a picture: where two labellings differ, and where one has more than one class.

What is even costs nothing: nobody draws, compares or converts it pixel by pixel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.values.rasterize import Rectangle

TILE = 256
"""Pixels along a side of what is drawn as one: a multiple of all halvings."""


def changed_tiles(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> Iterator[Rectangle]:
    """Yield the tiles in which two labellings of one size differ, joined along a row."""
    height, width = after.shape
    for top in range(0, height, TILE):
        bottom = min(top + TILE, height)
        columns = (before[top:bottom] != after[top:bottom]).any(axis=0)
        yield from _joined(columns, top, bottom, width)


def mixed_tiles(labels: NDArray[np.uint8]) -> Iterator[Rectangle]:
    """Yield the tiles that have a border of classes within or at one of their sides.

    They are joined along a row.
    """
    height, width = labels.shape
    for top in range(0, height, TILE):
        bottom = min(top + TILE, height)
        with_next = labels[max(top - 1, 0) : bottom + 1]
        columns = (with_next[1:] != with_next[:-1]).any(axis=0)
        steps = (labels[top:bottom, 1:] != labels[top:bottom, :-1]).any(axis=0)
        columns[1:] |= steps
        columns[:-1] |= steps
        yield from _joined(columns, top, bottom, width)


def _joined(columns: NDArray[np.bool_], top: int, bottom: int, width: int) -> Iterator[Rectangle]:
    """Yield the tiles of a row of tiles that have any of some columns."""
    wanted = np.logical_or.reduceat(columns, np.arange(0, width, TILE)).astype(np.int8)
    steps = np.diff(wanted, prepend=0, append=0)
    for first, last in zip(np.flatnonzero(steps > 0), np.flatnonzero(steps < 0), strict=True):
        yield int(first) * TILE, top, min(int(last) * TILE, width), bottom
