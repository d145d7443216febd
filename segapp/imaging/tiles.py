"""Boxes, tiles and strips of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Box = tuple[slice, slice]
    """Rows and columns."""

Rectangle = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; right and bottom are outside."""

TILE = 256
"""Pixels along a side of a tile: a multiple of all halvings."""
_STRIP_VALUES = 1 << 19


def row_strips(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of the first axis that hold about half a million values each."""
    per_row = int(np.prod(shape[1:], dtype=np.int64))
    height = max(1, _STRIP_VALUES // max(per_row, 1))
    for top in range(0, shape[0], height):
        yield slice(top, min(top + height, shape[0]))


def tiles_of(box: Box, side: int = TILE) -> Iterator[tuple[tuple[int, int], Box]]:
    """Yield row and column of each tile of a box, with the part of the box in it."""
    rows, columns = box
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return
    for row in range(rows.start // side, -(-rows.stop // side)):
        for column in range(columns.start // side, -(-columns.stop // side)):
            yield (
                (row, column),
                (_part(rows, row * side, side), _part(columns, column * side, side)),
            )


def tile_box(key: tuple[int, int], shape: tuple[int, int]) -> Box:
    """Return the box of a tile, which is smaller at the image's end."""
    rows, columns = (slice(0, size) for size in shape)
    return _part(rows, key[0] * TILE, TILE), _part(columns, key[1] * TILE, TILE)


def _part(side: slice, start: int, length: int) -> slice:
    return slice(max(start, side.start), min(start + length, side.stop))


def grow(box: Box, by: int, shape: tuple[int, ...]) -> Box:
    """Return a box with its surroundings, as far as the image goes."""
    rows, columns = (
        slice(max(side.start - by, 0), min(side.stop + by, end))
        for side, end in zip(box, shape, strict=True)
    )
    return rows, columns


def relative(inner: Box, outer: Box) -> Box:
    """Return a box as it is numbered from the corner of another."""
    rows, columns = (
        slice(one.start - other.start, one.stop - other.start)
        for one, other in zip(inner, outer, strict=True)
    )
    return rows, columns


def changed_tiles(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> Iterator[Rectangle]:
    """Yield the tiles in which two labellings of one size differ, joined along a row."""
    height, width = after.shape
    for top in range(0, height, TILE):
        bottom = min(top + TILE, height)
        columns = (before[top:bottom] != after[top:bottom]).any(axis=0)
        yield from _join_columns(columns, top, bottom, width)


def boundary_tiles(labels: NDArray[np.uint8]) -> Iterator[Rectangle]:
    """Yield the tiles with a class boundary in them or at a side, joined along a row.

    Tiles of one class alone need no drawing, comparing or converting.
    """
    height, width = labels.shape
    for top in range(0, height, TILE):
        bottom = min(top + TILE, height)
        with_next = labels[max(top - 1, 0) : bottom + 1]
        columns = (with_next[1:] != with_next[:-1]).any(axis=0)
        steps = (labels[top:bottom, 1:] != labels[top:bottom, :-1]).any(axis=0)
        columns[1:] |= steps
        columns[:-1] |= steps
        yield from _join_columns(columns, top, bottom, width)


def _join_columns(
    columns: NDArray[np.bool_], top: int, bottom: int, width: int
) -> Iterator[Rectangle]:
    """Yield the tiles of a row of tiles that hold any of the marked columns."""
    wanted = np.logical_or.reduceat(columns, np.arange(0, width, TILE)).astype(np.int8)
    steps = np.diff(wanted, prepend=0, append=0)
    for first, last in zip(np.flatnonzero(steps > 0), np.flatnonzero(steps < 0), strict=True):
        yield int(first) * TILE, top, min(int(last) * TILE, width), bottom
