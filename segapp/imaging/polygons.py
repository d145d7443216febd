"""Polygons along the pixel edges of a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
