"""Boundaries that follow the edges of the picture.

The energy is the usual one of a graph cut: what each pixel's class costs, plus, for each pair
of neighbours of different classes, more where the picture is even than where it has an edge.
It is lowered first over whole superpixels, which finds the objects, and then over single
pixels in a narrow band around the boundary, which finds the outline. Larger pictures are
gone up level by level, with a band at each. The band is cut tile by tile, each with what is
around it held fixed: no call to the solver takes long, and the energy never rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.graph_cut import Edges, smallest_energy
from segapp.neighbours import ACROSS, BOTH_WAYS, DOWN
from segapp.pixel_features import lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from segapp.neighbours import Box

    CostsOf = Callable[[Box], NDArray[np.float32]]
    """Costs of the classes for the pixels of a box, ``height x width x classes``."""
    Bonds = tuple[NDArray[np.float32], NDArray[np.float32]]
    BondsOf = Callable[[Box], Bonds]
    """Bonds of the pixels of a box with their right and lower neighbours in it."""

_TILE = 192
_PROHIBITIVE = 1e4
"""More than a small region can gain by another class, and little enough for exact flows."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """How strongly neighbours hold together: ``exp(-difference^2 / (2 mean difference^2))``."""

    sharpness: float

    @classmethod
    def of(cls, rgb: NDArray[np.uint8]) -> Contrast:
        """Measure the mean squared difference between neighbours."""
        across, down = _squared_differences(lab(rgb))
        count = across.size + down.size
        mean = (float(across.sum()) + float(down.sum())) / max(count, 1)
        # A picture of one colour has no edges at all, whatever the sharpness.
        return cls(0.5 / mean if mean > 0 else 0.0)

    def bonds(self, rgb: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return bonds from 0 to 1 with the right and with the lower neighbour."""
        across, down = _squared_differences(lab(rgb))
        return np.exp(-self.sharpness * across), np.exp(-self.sharpness * down)


def _squared_differences(
    colours: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    across, down = (((colours[a] - colours[b]) ** 2).sum(axis=2) for a, b in (ACROSS, DOWN))
    return across, down


def region_edges(index_map: NDArray[np.int32], bonds: Bonds) -> Edges:
    """Join regions that touch, with the sum of the bonds across their border."""
    n = int(index_map.max()) + 1
    keys, weights = [], []
    for (a, b), bond in zip((ACROSS, DOWN), bonds, strict=True):
        border = index_map[a] != index_map[b]
        one, other = index_map[a][border].astype(np.int64), index_map[b][border].astype(np.int64)
        keys.append(np.minimum(one, other) * n + np.maximum(one, other))
        weights.append(bond[border])
    pairs, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    return Edges(
        (pairs // n).astype(np.int32),
        (pairs % n).astype(np.int32),
        np.bincount(inverse, np.concatenate(weights), minlength=len(pairs)).astype(np.float64),
    )


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
class Canvas:
    """One level of the picture with all that a cut needs to know about its pixels."""

    marked: NDArray[np.int16]
    costs_of: CostsOf
    bonds_of: BondsOf
    smoothness: float


def cut_band(canvas: Canvas, labels: NDArray[np.uint8], half_width: int) -> Iterator[None]:
    """Lower the energy within a band around the boundary, in place; yields after each tile."""
    band = _band(labels, half_width) & (canvas.marked < 0)
    height, width = labels.shape
    for top in range(0, height, _TILE):
        for left in range(0, width, _TILE):
            tile = (slice(top, min(top + _TILE, height)), slice(left, min(left + _TILE, width)))
            if band[tile].any():
                _cut_tile(canvas, labels, band, tile)
                yield


def _band(labels: NDArray[np.uint8], half_width: int) -> NDArray[np.bool_]:
    edge = np.zeros(labels.shape, dtype=bool)
    for here, there in BOTH_WAYS:
        edge[here] |= labels[here] != labels[there]
    if half_width <= 1:
        return edge
    return np.asarray(ndimage.binary_dilation(edge, iterations=half_width - 1))


def _cut_tile(
    canvas: Canvas, labels: NDArray[np.uint8], band: NDArray[np.bool_], tile: Box
) -> None:
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
    present, now = np.unique(labels[box], return_inverse=True)
    now = now.reshape(free.shape)
    if len(present) < 2:
        return
    number = np.full(free.shape, -1, dtype=np.int32)
    number[free] = np.arange(np.count_nonzero(free))
    costs = canvas.costs_of(box)[..., present][free].astype(np.float64)
    starts, ends, weights = [], [], []
    bonds = canvas.bonds_of(box)
    for (a, b), bond in zip((ACROSS, DOWN), bonds, strict=True):
        joined = free[a] & free[b]
        starts.append(number[a][joined])
        ends.append(number[b][joined])
        weights.append(canvas.smoothness * bond[joined])
        for here, there in ((a, b), (b, a)):
            # A neighbour that stays makes its own class cheaper.
            touches = free[here] & ~free[there]
            place = (number[here][touches], now[there][touches])
            np.subtract.at(costs, place, canvas.smoothness * bond[touches])
    edges = Edges(
        np.concatenate(starts), np.concatenate(ends), np.concatenate(weights).astype(np.float64)
    )
    labels[box][free] = present[smallest_energy(costs, edges)]
