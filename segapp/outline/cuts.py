"""Boundaries that follow the edges of the picture.

The energy is the usual one of a graph cut: what each pixel's class costs, plus, for each pair
of neighbours of different classes, more where the picture is even than where it has an edge.
It is lowered first over whole superpixels, which finds the objects, and then over single
pixels in a narrow band around the boundary, which finds the outline. Larger pictures are
gone up level by level, with a band at each. The band is cut tile by tile, each with what is
around it held fixed: no call to the solver takes long, and the energy never rises. Where the
boundary has run into what was held, the edge of the band or of a tile, it is cut again with
room on both sides: neither edge shall be seen in the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.outline.graph_cut import smallest_energy
from segapp.picture.neighbours import BOTH_WAYS, PAIRS
from segapp.picture.region_graph import Edges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from segapp.picture.contrast import Bonds
    from segapp.picture.neighbours import Box

    CostsOf = Callable[[Box], NDArray[np.float32]]
    """Costs of the classes for the pixels of a box, ``height x width x classes``."""
    BondsOf = Callable[[Box], Bonds]
    """Bonds of the pixels of a box with their right and lower neighbours in it."""

_TILE = 192
"""Side of what is cut at once: SciPy holds the interpreter meanwhile, and the window waits."""
_RIM = 2
"""A boundary so many pixels from the band's edge has come to it."""
_ROOM = 3
"""How far around such a place the boundary is free again, in half widths of the band."""
_PROHIBITIVE = 1e4
"""More than a small region can gain by another class, and little enough for exact flows."""


def cut_regions(
    costs: NDArray[np.float64], edges: Edges, smoothness: float, held: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Label regions; ``held`` has the class of those under strokes and -1 elsewhere."""
    weighted = Edges(edges.u, edges.v, smoothness * edges.weight)
    fixed = np.flatnonzero(held >= 0)
    costs = costs.copy()
    costs[fixed] = _PROHIBITIVE
    costs[fixed, held[fixed]] = 0.0
    return smallest_energy(costs, weighted)


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One level of the picture with all that a cut needs to know about its pixels."""

    marked: NDArray[np.int16]
    costs_of: CostsOf
    bonds_of: BondsOf
    smoothness: float


def cut_band(
    level: Level, labels: NDArray[np.uint8], half_width: int, again: int = 0
) -> Iterator[None]:
    """Lower the energy within a band around the boundary, in place; yields after each tile.

    Where the boundary has run into what was held, it is cut ``again`` so often at the most.
    """
    unmarked = level.marked < 0
    band = free = moved = _band(labels, half_width)
    first = _TILE
    for left in range(again, -1, -1):
        free = free & unmarked
        before = labels.copy()
        for tile in _tiles(labels.shape, first):
            if free[tile].any():
                _cut_tile(level, labels, free, _shrunk(free, tile))
                yield
        if not left:
            return
        if left < again:
            moved = labels != before
        stuck = _boundary(labels) & unmarked
        stuck &= _rim(band, stuck) | (moved & _tile_edges(labels.shape, first))
        if not stuck.any():
            return
        band = _band(labels, half_width)
        free = band & _around(stuck, _ROOM * half_width)
        first = _TILE + _TILE // 2 - first  # the tiles' edges are elsewhere the next time


def _tiles(shape: tuple[int, ...], first: int) -> Iterator[Box]:
    """Divide an image into tiles, the first of which has that side."""
    height, width = shape
    for rows in _steps(height, first):
        for columns in _steps(width, first):
            yield rows, columns


def _steps(size: int, first: int) -> Iterator[slice]:
    starts = [0, *range(first, size, _TILE)]
    for start, stop in zip(starts, [*starts[1:], size], strict=True):
        yield slice(start, stop)


def _tile_edges(shape: tuple[int, ...], first: int) -> NDArray[np.bool_]:
    """Mask the pixels on either side of the tiles' edges."""
    edges = np.zeros(shape, dtype=bool)
    for axis, size in enumerate(shape):
        for edge in range(first, size, _TILE):
            edges[(slice(None),) * axis + (slice(edge - 1, edge + 1),)] = True
    return edges


def _boundary(labels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask the pixels on either side of a boundary."""
    edge = np.zeros(labels.shape, dtype=bool)
    for here, there in BOTH_WAYS:
        edge[here] |= labels[here] != labels[there]
    return edge


def _band(labels: NDArray[np.uint8], half_width: int) -> NDArray[np.bool_]:
    """Mask so many pixels to each side of a boundary."""
    return _grown(_boundary(labels), half_width - 1)


def _grown(mask: NDArray[np.bool_], steps: int) -> NDArray[np.bool_]:
    """Let a mask grow by a pixel to each side, so often: ten times as fast as ndimage does."""
    for _ in range(steps):
        grown = mask.copy()
        for here, there in BOTH_WAYS:
            grown[here] |= mask[there]
        mask = grown
    return mask


def _rim(band: NDArray[np.bool_], places: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask those of some places that are within `_RIM` rows or columns of the band's edge."""
    rows, columns = np.nonzero(places)
    last_row, last_column = band.shape[0] - 1, band.shape[1] - 1
    inside = np.ones(len(rows), dtype=bool)
    for step in (-_RIM, _RIM):
        inside &= band[np.clip(rows + step, 0, last_row), columns]
        inside &= band[rows, np.clip(columns + step, 0, last_column)]
    rim = np.zeros(band.shape, dtype=bool)
    rim[rows[~inside], columns[~inside]] = True
    return rim


def _around(places: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Mask the square around each of a few places."""
    mask = np.zeros(places.shape, dtype=bool)
    for row, column in np.argwhere(places).tolist():
        mask[
            max(row - reach, 0) : row + reach + 1, max(column - reach, 0) : column + reach + 1
        ] = 1
    return mask


def _shrunk(free: NDArray[np.bool_], tile: Box) -> Box:
    """Return the part of a tile that holds all that is free in it, of which there must be some."""
    sides = []
    for axis, side in enumerate(tile):
        found = np.flatnonzero(free[tile].any(axis=1 - axis))
        sides.append(slice(side.start + int(found[0]), side.start + int(found[-1]) + 1))
    return sides[0], sides[1]


def _cut_tile(level: Level, labels: NDArray[np.uint8], band: NDArray[np.bool_], tile: Box) -> None:
    """Cut the band's pixels in a tile, in place; a frame of one pixel around it stays."""
    frame = tuple(
        slice(max(side.start - 1, 0), min(side.stop + 1, size))
        for side, size in zip(tile, labels.shape, strict=True)
    )
    box: Box = (frame[0], frame[1])
    free = np.zeros(labels[box].shape, dtype=bool)
    inner = tuple(
        slice(side.start - outer.start, side.stop - outer.start)
        for side, outer in zip(tile, box, strict=True)
    )
    free[inner] = band[tile]
    present = np.flatnonzero(np.bincount(labels[box].ravel()))
    if len(present) < 2:
        return
    position = np.zeros(present[-1] + 1, dtype=np.intp)
    position[present] = np.arange(len(present))
    now = position[labels[box]]
    number = np.full(free.shape, -1, dtype=np.int32)
    number[free] = np.arange(np.count_nonzero(free))
    costs = level.costs_of(box)[..., present][free].astype(np.float64)
    starts, ends, weights = [], [], []
    bonds = level.bonds_of(box)
    for (a, b), bond in zip(PAIRS, bonds, strict=True):
        joined = free[a] & free[b]
        starts.append(number[a][joined])
        ends.append(number[b][joined])
        weights.append(level.smoothness * bond[joined])
        for here, there in ((a, b), (b, a)):
            # A neighbour that stays makes its own class cheaper.
            touches = free[here] & ~free[there]
            place = (number[here][touches], now[there][touches])
            np.subtract.at(costs, place, level.smoothness * bond[touches])
    edges = Edges(
        np.concatenate(starts), np.concatenate(ends), np.concatenate(weights).astype(np.float64)
    )
    labels[box][free] = present[smallest_energy(costs, edges)]
