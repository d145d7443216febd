"""Boundaries between classes: lines, pixels of a pyramid, and polygons of masks."""

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


Polygon = list[tuple[int, int]]
"""Corners ``(x, y)``; the top left pixel has the corners (0, 0) and (1, 1)."""
_Edges = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.int64]"]

# Unit edges go right (0), down, left or up (3), the mask always on the right hand.
_DOWN, _UP = 1, 3
_STEP_X = np.array([1, 0, -1, 0])
_STEP_Y = np.array([0, 1, 0, -1])


def polygons(mask: NDArray[np.bool_], *, join_corners: bool = False) -> list[Polygon]:
    """Trace a mask: filled by the even-odd rule the polygons give exactly the mask.

    Pixels that touch at a corner alone have a polygon each, so that none touches itself; with
    ``join_corners`` they share one, and each connected component has exactly one polygon. A hole
    is joined to its polygon by a bridge of no width, there and back.

    >>> polygons(np.ones((2, 3), bool))
    [[(0, 0), (3, 0), (3, 2), (0, 2)]]
    >>> diagonal = np.eye(2, dtype=bool)
    >>> len(polygons(diagonal)), len(polygons(diagonal, join_corners=True))
    (2, 1)
    """
    x, y, direction = _edges(mask)
    follower = _followers((x, y, direction), mask.shape, join_corners=join_corners)
    # Each edge's part of twice the ring's area, which is positive where the ring is an outer one.
    areas = (x * _STEP_Y[direction] - y * _STEP_X[direction]).tolist()
    outer: list[list[int]] = []
    holes: list[list[int]] = []
    for ring in _rings(follower):
        (outer if sum(areas[edge] for edge in ring) > 0 else holes).append(ring)
    _bridge(holes, (x, y, direction), follower, mask)
    return [_corners(ring[0], (x, y, direction), follower) for ring in outer]


def _edges(mask: NDArray[np.bool_]) -> _Edges:
    """Return start and direction of each unit edge of the mask, by y, x and direction."""
    padded = np.pad(np.asarray(mask, dtype=bool), 1)
    inside = padded[1:-1, 1:-1]
    sides = (
        (inside & ~padded[:-2, 1:-1], 0, 0),
        (inside & ~padded[1:-1, 2:], 1, 0),
        (inside & ~padded[2:, 1:-1], 1, 1),
        (inside & ~padded[1:-1, :-2], 0, 1),
    )
    columns, rows, directions = [], [], []
    for direction, (side, shift_x, shift_y) in enumerate(sides):
        row, column = np.nonzero(side)
        columns.append(column + shift_x)
        rows.append(row + shift_y)
        directions.append(np.full(row.size, direction))
    x, y, d = np.concatenate(columns), np.concatenate(rows), np.concatenate(directions)
    order = np.lexsort((d, x, y))
    return x[order], y[order], d[order]


def _followers(edges: _Edges, shape: tuple[int, ...], *, join_corners: bool) -> list[int]:
    """Return the index of the edge after each edge.

    Where two pixels touch at a corner alone there are two: the right turn stays with the same
    pixel, the left turn goes on with the other one.
    """
    x, y, direction = edges
    width = shape[1] + 1
    keys = (y * width + x) * 4 + direction
    end = (y + _STEP_Y[direction]) * width + x + _STEP_X[direction]
    follower = np.full(x.size, -1)
    for turn in (1, 0, 3) if join_corners else (3, 0, 1):  # the last that exists stays
        wanted = end * 4 + (direction + turn) % 4
        index = np.minimum(np.searchsorted(keys, wanted), max(x.size - 1, 0))
        exists = keys[index] == wanted if x.size else np.zeros(0, bool)
        follower[exists] = index[exists]
    result: list[int] = follower.tolist()
    return result


def _rings(follower: list[int]) -> list[list[int]]:
    rings = []
    seen = bytearray(len(follower))
    for start in range(len(follower)):
        if seen[start]:
            continue
        ring = []
        edge = start
        while not seen[edge]:
            seen[edge] = 1
            ring.append(edge)
            edge = follower[edge]
        rings.append(ring)
    return rings


def _bridge(
    holes: list[list[int]], edges: _Edges, follower: list[int], mask: NDArray[np.bool_]
) -> None:
    """Join each hole to the boundary to the left of its leftmost edge.

    The bridge runs along one row inside the mask, so that it crosses nothing; and since that
    boundary reaches further left than the hole, all holes end up with their outer ring.
    """
    x, y, direction = (values.tolist() for values in edges)
    upward = {(x[edge], y[edge]): edge for edge in range(len(x)) if direction[edge] == _UP}
    for hole in holes:
        downward = [edge for edge in hole if direction[edge] == _DOWN]
        leftmost = min(downward, key=lambda edge: (x[edge], y[edge]))
        column, row = x[leftmost], y[leftmost]
        outside = np.flatnonzero(~mask[row, :column])
        reached = int(outside[-1]) + 1 if outside.size else 0
        arrival = upward[reached, row + 1]
        before = hole[hole.index(leftmost) - 1]
        follower[arrival], follower[before] = leftmost, follower[arrival]


def _corners(start: int, edges: _Edges, follower: list[int]) -> Polygon:
    """Walk along a ring from an edge and keep the points where the direction changes."""
    x, y, direction = edges
    ring = [start]
    while follower[ring[-1]] != start:
        ring.append(follower[ring[-1]])
    before = np.roll(ring, 1)
    end_x, end_y = x[before] + _STEP_X[direction[before]], y[before] + _STEP_Y[direction[before]]
    jumped = (end_x != x[ring]) | (end_y != y[ring])
    turned = direction[before] != direction[ring]
    corners: Polygon = []
    for i in np.flatnonzero(jumped | turned):
        if jumped[i]:
            corners.append((int(end_x[i]), int(end_y[i])))
        corners.append((int(x[ring[i]]), int(y[ring[i]])))
    return corners
