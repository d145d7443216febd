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
from segapp.picture.neighbours import BOTH_WAYS, STEPS
from segapp.picture.region_graph import Edges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from segapp.picture.contrast import Bonds
    from segapp.picture.neighbours import Box

    CostsOf = Callable[[NDArray[np.intp]], NDArray[np.float32]]
    """Costs of the classes for some pixels, counted row by row, ``pixels x classes``."""
    Places = tuple[NDArray[np.intp], NDArray[np.intp]]
    """Rows and columns of some pixels."""

_TILE = 192
"""Side of what is cut at once: SciPy holds the interpreter meanwhile, and the window waits."""
_RIM = 2
"""A boundary so many pixels from the band's edge has come to it."""
_ROOM = 3
"""How far around such a place the boundary is free again, in half widths of the band."""
_PROHIBITIVE = 1e4
"""More than a small region can gain by another class, and little enough for exact flows."""


def cut_regions(
    costs: NDArray[np.float64],
    edges: Edges,
    smoothness: float,
    held: NDArray[np.intp],
    flow: NDArray[np.float32] | None = None,
) -> NDArray[np.intp]:
    """Label regions; ``held`` has the class of those under strokes and -1 elsewhere.

    ``flow`` is that of an earlier cut of these regions: see `segapp.outline.graph_cut.min_cut`.
    """
    weighted = Edges(edges.u, edges.v, smoothness * edges.weight)
    fixed = np.flatnonzero(held >= 0)
    costs = costs.copy()
    costs[fixed] = _PROHIBITIVE
    costs[fixed, held[fixed]] = 0.0
    return smallest_energy(costs, weighted, flow)


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One level of the picture with all that a cut needs to know about its pixels.

    ``flows`` along the bonds are those of earlier cuts, and become those of the latest.
    """

    marked: NDArray[np.int16]
    costs_of: CostsOf
    bonds: Bonds
    flows: Bonds
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
                _cut_tile(level, labels, free, tile)
                yield
        if not left:
            return
        if left < again:
            moved = labels != before
        boundary = _boundary(labels)
        rows, columns = np.divmod(np.flatnonzero(boundary & unmarked), labels.shape[1])
        stuck = _at_tile_edge(labels.shape, first, (rows, columns)) & moved[rows, columns]
        stuck |= _at_rim(band, (rows, columns))
        if not stuck.any():
            return
        band = _grown(boundary, half_width - 1)
        free = band & _around(labels.shape, (rows[stuck], columns[stuck]), _ROOM * half_width)
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


def _at_tile_edge(shape: tuple[int, ...], first: int, places: Places) -> NDArray[np.bool_]:
    """Tell which of some places are on either side of an edge between tiles."""
    at = np.zeros(len(places[0]), dtype=bool)
    for size, place in zip(shape, places, strict=True):
        for beside in (place, place + 1):
            at |= (beside >= first) & (beside < size) & ((beside - first) % _TILE == 0)
    return at


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


def _at_rim(band: NDArray[np.bool_], places: Places) -> NDArray[np.bool_]:
    """Tell which of some places are within `_RIM` rows or columns of the band's edge."""
    rows, columns = places
    last_row, last_column = band.shape[0] - 1, band.shape[1] - 1
    inside = np.ones(len(rows), dtype=bool)
    for step in (-_RIM, _RIM):
        inside &= band[np.clip(rows + step, 0, last_row), columns]
        inside &= band[rows, np.clip(columns + step, 0, last_column)]
    return ~inside


def _around(shape: tuple[int, ...], places: Places, reach: int) -> NDArray[np.bool_]:
    """Mask the square around each of a few places."""
    mask = np.zeros(shape, dtype=bool)
    for row, column in zip(*(side.tolist() for side in places), strict=True):
        mask[
            max(row - reach, 0) : row + reach + 1, max(column - reach, 0) : column + reach + 1
        ] = 1
    return mask


def _cut_tile(level: Level, labels: NDArray[np.uint8], band: NDArray[np.bool_], tile: Box) -> None:
    """Cut the band's pixels in a tile, of which there must be some, in place."""
    rows, columns = (
        places + side.start for places, side in zip(np.nonzero(band[tile]), tile, strict=True)
    )
    around = labels[
        max(rows[0] - 1, 0) : rows[-1] + 2, max(columns.min() - 1, 0) : columns.max() + 2
    ]
    classes = [c for c in range(around.min(), around.max() + 1) if (around == c).any()]
    if len(classes) > 1:
        pixels = _Pixels(rows, columns, labels.shape)
        _cut_pixels(level, labels, pixels, np.array(classes, dtype=np.uint8))


@dataclass(frozen=True, slots=True, eq=False)
class _Pixels:
    """Some pixels of an image, in the order of rows."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shape: tuple[int, int]

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Where they are, counted row by row."""
        return self.rows * self.shape[1] + self.columns

    def inner(self) -> bool:
        """Tell whether all have neighbours on all sides."""
        (height, width), rows, columns = self.shape, self.rows, self.columns
        upright = rows[0] > 0 and rows[-1] < height - 1
        return bool(upright and columns.min() > 0 and columns.max() < width - 1)

    def neighbours(
        self, step: tuple[int, int], *, everywhere: bool
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return which have a neighbour that many rows down and columns to the right.

        With it come where that is, and the place of the pair among all pairs of its kind: that of
        the upper row and the left column of both.
        """
        (height, width), (down, right) = self.shape, step
        rows, columns = self.rows + down, self.columns + right
        near = rows * width + columns
        upper, left = (self.rows if down >= 0 else rows), (self.columns if right >= 0 else columns)
        place = upper * (width - abs(right)) + left
        if everywhere:
            return np.arange(len(near)), near, place
        there = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        return np.flatnonzero(there), near[there], place[there]


def _cut_pixels(
    level: Level, labels: NDArray[np.uint8], pixels: _Pixels, classes: NDArray[np.uint8]
) -> None:
    """Give some pixels the best of some classes, in place."""
    numbers, inner = pixels.numbers, pixels.inner()
    above = (pixels.rows[0] - 1) * labels.shape[1]
    node = np.full(numbers[-1] - above + 2 * labels.shape[1], -1, dtype=np.int32)
    node[numbers - above] = np.arange(len(numbers))
    position = np.zeros(classes[-1] + 1, dtype=np.intp)
    position[classes] = np.arange(len(classes))
    costs = level.costs_of(numbers)[:, classes].astype(np.float64)
    found = []
    for step, bond, flow in zip(STEPS, level.bonds, level.flows, strict=True):
        for way in (1, -1):
            there = way * step[0], way * step[1]
            here, near, place = pixels.neighbours(there, everywhere=inner)
            weight = level.smoothness * bond.take(place)
            other = node.take(near - above)
            held = np.flatnonzero(other < 0)
            # A neighbour that stays makes its own class cheaper.
            costs[here[held], position[labels.take(near[held])]] -= weight[held]
            if way > 0:
                joined = np.flatnonzero(other >= 0)
                place = place[joined]
                found.append((here[joined], other[joined], weight[joined], flow, place))
    # By where the other pixel lies, so that the neighbours of each are in order.
    found = [found[kind] for kind in sorted(range(len(STEPS)), key=STEPS.__getitem__)]
    tails, heads, weights, flows, places = zip(*found, strict=True)
    edges = Edges(
        np.concatenate(tails).astype(np.int32),
        np.concatenate(heads),
        np.concatenate(weights).astype(np.float64),
    )
    sent = np.concatenate([flow.take(place) for flow, place in zip(flows, places, strict=True)])
    np.put(labels, numbers, classes[smallest_energy(costs, edges, sent)])
    ends = np.cumsum([len(place) for place in places])
    for flow, place, part in zip(flows, places, np.split(sent, ends[:-1]), strict=True):
        np.put(flow, place, part)
