"""Boundaries between classes, as lines and as pixels of a pyramid."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.pyramid import block_max
from segapp.imaging.tiles import boundary_tiles, grow, relative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.imaging.tiles import Rectangle
    from segapp.model.classes import ClassInfo

NOTHING, RIM, LINE = 0, 1, 2
"""Values of an edge image: off the edge, beside the line, and on the line of class 0."""


def line_owners(classes: Sequence[ClassInfo]) -> NDArray[np.uint8]:
    """Return the class that owns the line between two neighbours: ``[one, other]``.

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
    """Return the borders between pixels as straight lines, and the owner of each line.

    Returns
    -------
    lines
        One row ``x0, y0, x1, y1`` a line, in pixels from the array's corner.
    owners
        The class of each line.
    """
    lines, owners = [], []
    for upright in (False, True):
        grid = labels.T if upright else labels
        differ = grid[1:] != grid[:-1]
        index = np.flatnonzero(differ)
        row, column = np.divmod(index, differ.shape[1])
        own = owner[grid[1:][row, column], grid[:-1][row, column]]
        # A line goes on as long as the next border is beside it, in its row, and as its own.
        ends = (np.diff(index) != 1) | (np.diff(row) != 0) | (np.diff(own) != 0)
        first = np.concatenate([[True], ends])[: len(index)]
        last = np.concatenate([ends, [True]])[-len(index) :] if len(index) else first
        height = row[first] + 1
        found = np.column_stack([column[first], height, column[last] + 1, height])
        lines.append(found[:, [1, 0, 3, 2]] if upright else found)
        owners.append(own[first])
    return np.concatenate(lines).astype(np.int32), np.concatenate(owners).astype(np.uint8)


def edge_pyramid(
    labels: NDArray[np.uint8], owner: NDArray[np.uint8], smallest: int
) -> list[NDArray[np.uint8]]:
    """Draw the edges a pixel wide, with a rim, into the image and its halved copies.

    Every copy has lines of its own pixels' width, so that on a screen they are equally thin
    whichever is shown; no line is lost between two copies. Values are `NOTHING`, `RIM`, and
    `LINE` plus the class. The last copy's longer side has at most ``smallest`` pixels.
    """
    rows, columns = labels.shape
    pyramid = [np.zeros((rows, columns), np.uint8)]
    while max(rows, columns) > smallest:
        rows, columns = (rows + 1) // 2, (columns + 1) // 2
        pyramid.append(np.zeros((rows, columns), np.uint8))
    for rectangle in boundary_tiles(labels):
        update_edge_pyramid(pyramid, labels, owner, rectangle)
    return pyramid


def update_edge_pyramid(
    pyramid: list[NDArray[np.uint8]],
    labels: NDArray[np.uint8],
    owner: NDArray[np.uint8],
    rectangle: Rectangle,
) -> None:
    """Redraw the edges of labels that have changed within a rectangle, in place."""
    left, top, right, bottom = rectangle
    # A label changes the lines of its neighbours, and those change the rims of theirs.
    box = grow((slice(top, bottom), slice(left, right)), 2, labels.shape)
    around = grow(box, 2, labels.shape)
    drawn = _with_rim(_lines(labels[around], owner))
    pyramid[0][box] = drawn[relative(box, around)]
    for finer, coarser in itertools.pairwise(pyramid):
        rows, columns = (slice(side.start // 2, (side.stop + 1) // 2) for side in box)
        box = grow((rows, columns), 1, coarser.shape)
        around = grow(box, 1, coarser.shape)
        part = finer[tuple(slice(2 * side.start, 2 * side.stop) for side in around)]
        drawn = _with_rim(block_max(np.where(part >= LINE, part, np.uint8(NOTHING))))
        coarser[box] = drawn[relative(box, around)]


def _lines(labels: NDArray[np.uint8], owner: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Mark the pixels at an edge that belong to the class that owns the line."""
    lines = np.zeros(labels.shape, np.uint8)
    for here, there in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        differ = labels[here] != labels[there]
        one, other = labels[here][differ], labels[there][differ]
        own = owner[one, other]
        for side, label in ((here, one), (there, other)):
            part = lines[side]
            part[differ] = np.where(label == own, own + LINE, part[differ])
    return lines


def _with_rim(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Put a rim of one pixel around the lines."""
    drawn = (lines > 0).astype(np.uint8)
    rim = drawn.copy()
    rim[1:] |= drawn[:-1]
    rim[:-1] |= drawn[1:]
    wide = rim.copy()
    wide[:, 1:] |= rim[:, :-1]
    wide[:, :-1] |= rim[:, 1:]
    return np.asarray(np.maximum(lines, wide * np.uint8(RIM)))
