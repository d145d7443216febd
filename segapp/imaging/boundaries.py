"""Boundaries between classes, and the tiles that contain them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.rasterise import Rectangle
    from segapp.model.classes import ClassInfo


# What is even costs nothing: nobody draws, compares or converts it pixel by pixel.

TILE = 256
"""Pixels along a side of what is drawn as one: a multiple of all halvings."""


def changed_tiles(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> Iterator[Rectangle]:
    """Yield the tiles in which two labellings of one size differ, joined along a row."""
    height, width = after.shape
    for top in range(0, height, TILE):
        bottom = min(top + TILE, height)
        columns = (before[top:bottom] != after[top:bottom]).any(axis=0)
        yield from _joined(columns, top, bottom, width)


def boundary_tiles(labels: NDArray[np.uint8]) -> Iterator[Rectangle]:
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


NOTHING, RIM, LINE = 0, 1, 2
"""Values of an edge picture: off the edge, beside the line, and on the line of class 0."""


def line_owners(classes: Sequence[ClassInfo]) -> NDArray[np.uint8]:
    """Return which of two neighbours a line belongs to: ``[one, other]``, a class.

    An object's line has the object's colour whatever it borders on; between two objects, the
    first one's.
    """
    count = len(classes)
    one, other = np.mgrid[:count, :count]
    is_ground = np.array([info.is_background for info in classes])
    first = np.minimum(one, other)
    rest = np.maximum(one, other)
    return np.asarray(np.where(is_ground[first] & ~is_ground[rest], rest, first), np.uint8)


def border_lines(
    labels: NDArray[np.uint8], owner: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the borders between pixels as straight lines, and whose line each is.

    Returns
    -------
    lines
        One row ``x0, y0, x1, y1`` a line, in pixels from the array's corner.
    whose
        The class of each line.
    """
    found, classes = [], []
    for upright in (False, True):
        grid = labels.T if upright else labels
        differ = grid[1:] != grid[:-1]
        place = np.flatnonzero(differ)
        row, column = np.divmod(place, differ.shape[1])
        whose = owner[grid[1:][row, column], grid[:-1][row, column]]
        # A line goes on as long as the next border is beside it, in its row, and as its own.
        ends = (np.diff(place) != 1) | (np.diff(row) != 0) | (np.diff(whose) != 0)
        first = np.concatenate([[True], ends])[: len(place)]
        last = np.concatenate([ends, [True]])[-len(place) :] if len(place) else first
        height = row[first] + 1
        lines = np.column_stack([column[first], height, column[last] + 1, height])
        found.append(lines[:, [1, 0, 3, 2]] if upright else lines)
        classes.append(whose[first])
    return np.concatenate(found).astype(np.int32), np.concatenate(classes).astype(np.uint8)


def edge_pyramid(
    labels: NDArray[np.uint8], owner: NDArray[np.uint8], smallest: int
) -> list[NDArray[np.uint8]]:
    """Draw the edges a pixel wide, with a rim, into the image and its halved copies.

    Every copy has lines of its own pixels' width, so that on a screen they are equally thin
    whichever is shown; no line is lost between two copies. Values are `NOTHING`, `RIM`, and
    `LINE` plus the class. The last copy's longer side has at most ``smallest`` pixels.
    """
    height, width = labels.shape
    pictures = [np.zeros((height, width), np.uint8)]
    rows, columns = height, width
    while max(rows, columns) > smallest:
        rows, columns = (rows + 1) // 2, (columns + 1) // 2
        pictures.append(np.zeros((rows, columns), np.uint8))
    for box in boundary_tiles(labels):
        update_edge_pyramid(pictures, labels, owner, box)
    return pictures


def update_edge_pyramid(
    pictures: list[NDArray[np.uint8]],
    labels: NDArray[np.uint8],
    owner: NDArray[np.uint8],
    box: Rectangle,
) -> None:
    """Bring edge pictures to labels that have changed within a box, in place."""
    # A label is seen by the lines of its neighbours, and those by the rims of theirs.
    box = _grown(box, 2, labels.shape)
    around = _grown(box, 2, labels.shape)
    drawn = _rimmed(_lines(labels[_slices(around)], owner))
    pictures[0][_slices(box)] = drawn[_slices(box, around)]
    for finer, coarser in itertools.pairwise(pictures):
        left, top, right, bottom = box
        halves = (left // 2, top // 2, (right + 1) // 2, (bottom + 1) // 2)
        box = _grown(halves, 1, coarser.shape)
        around = _grown(box, 1, coarser.shape)
        part = finer[_slices(tuple(2 * side for side in around))]
        drawn = _rimmed(_halved(np.where(part >= LINE, part, np.uint8(NOTHING))))
        coarser[_slices(box)] = drawn[_slices(box, around)]


def _grown(box: Rectangle, by: int, shape: tuple[int, ...]) -> Rectangle:
    left, top, right, bottom = box
    return (
        max(left - by, 0),
        max(top - by, 0),
        min(right + by, shape[1]),
        min(bottom + by, shape[0]),
    )


def _slices(box: tuple[int, ...], within: Rectangle = (0, 0, 0, 0)) -> tuple[slice, slice]:
    """Return the rows and columns of a box, numbered from the corner of another."""
    left, top, right, bottom = box
    return slice(top - within[1], bottom - within[1]), slice(left - within[0], right - within[0])


def _lines(labels: NDArray[np.uint8], owner: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Mark the pixels at an edge that belong to the class whose line it is."""
    lines = np.zeros(labels.shape, np.uint8)
    for here, there in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        differ = labels[here] != labels[there]
        one, other = labels[here][differ], labels[there][differ]
        whose = owner[one, other]
        for side, own in ((here, one), (there, other)):
            part = lines[side]
            part[differ] = np.where(own == whose, whose + LINE, part[differ])
    return lines


def _halved(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = lines.shape
    if height % 2 or width % 2:
        lines = np.pad(lines, ((0, height % 2), (0, width % 2)))
    rows = np.maximum(lines[0::2], lines[1::2])
    return np.asarray(np.maximum(rows[:, 0::2], rows[:, 1::2]))


def _rimmed(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Put a rim of one pixel around the lines."""
    drawn = (lines > 0).astype(np.uint8)
    rim = drawn.copy()
    rim[1:] |= drawn[:-1]
    rim[:-1] |= drawn[1:]
    wide = rim.copy()
    wide[:, 1:] |= rim[:, :-1]
    wide[:, :-1] |= rim[:, 1:]
    return np.asarray(np.maximum(lines, wide * np.uint8(RIM)))
