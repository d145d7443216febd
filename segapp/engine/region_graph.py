"""Graphs of regions and of neighbouring pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from scipy.sparse import coo_array, csr_array

from segapp.engine.features import position
from segapp.engine.superpixels import BIN_LEVELS, Prototypes, colour_bins, superpixels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.features import SeenColours


if TYPE_CHECKING:
    Number = TypeVar("Number", bound=np.number)


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """Links both ways, node by node and in order, with room for one arc before those of a node.

    Parameters
    ----------
    starts
        Where the arcs of each node begin, the room included, and where all end.
    heads
        Where each leads to; anything where there is room.
    """

    starts: NDArray[np.int32]
    heads: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class LinkArcs:
    """The arcs of some links, none of which comes twice.

    Parameters
    ----------
    order
        For each arc the place of its link, that of a way back after all that go there; last comes
        what stands for room.
    there
        The arc of each link from its tail to its head.
    """

    arcs: Arcs
    order: NDArray[np.intp]
    there: NDArray[np.intp]

    @classmethod
    def of(cls, tails: NDArray[np.int32], heads: NDArray[np.int32], n_nodes: int) -> Self:
        """Sort links by their ends."""
        count, nodes = len(tails), np.arange(n_nodes, dtype=np.int32)
        rows = np.concatenate((nodes, tails, heads))
        columns = np.concatenate((0 * nodes, heads + 1, tails + 1))  # room comes first
        places = np.concatenate((0 * nodes + 2 * count, np.arange(2 * count)), dtype=np.int32)
        numbered = coo_array((places, (rows, columns)), shape=(n_nodes, n_nodes + 1))
        numbered.has_canonical_format = True  # no arc comes twice
        table = numbered.tocsr()
        table.sort_indices()
        order = table.data.astype(np.intp)  # as NumPy takes places
        slots = np.empty(2 * count + 1, dtype=np.intp)
        slots[order] = np.arange(len(order))
        return cls(Arcs(table.indptr, table.indices - 1), order, slots[:count])

    def laid_out(self, there: NDArray[Number], back: NDArray[Number]) -> NDArray[Number]:
        """Return what is told of links, both ways, arc by arc; 0 where there is room."""
        return np.concatenate((there, back, np.zeros(1, there.dtype))).take(self.order)


Box = tuple[slice, slice]
"""Rows and columns."""

_ALL, _BUT_LAST, _BUT_FIRST = slice(None), slice(None, -1), slice(1, None)

ACROSS: tuple[Box, Box] = ((_ALL, _BUT_LAST), (_ALL, _BUT_FIRST))
"""Each pixel that has a right neighbour, and that neighbour."""

DOWN: tuple[Box, Box] = ((_BUT_LAST, _ALL), (_BUT_FIRST, _ALL))
"""Each pixel that has a lower neighbour, and that neighbour."""

_FALLING: tuple[Box, Box] = ((_BUT_LAST, _BUT_LAST), (_BUT_FIRST, _BUT_FIRST))
_RISING: tuple[Box, Box] = ((_BUT_LAST, _BUT_FIRST), (_BUT_FIRST, _BUT_LAST))

PAIRS: tuple[tuple[Box, Box], ...] = (ACROSS, DOWN, _FALLING, _RISING)
"""Each pixel and its neighbour to the right, below, below to the right and below to the left."""

STEPS: tuple[tuple[int, int], ...] = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Rows down and columns to the right from the one to the other of each kind of `PAIRS`."""

_STRAIGHT = 1 / (1 + math.sqrt(2))
LENGTHS: tuple[float, ...] = (
    _STRAIGHT,
    _STRAIGHT,
    _STRAIGHT / math.sqrt(2),
    _STRAIGHT / math.sqrt(2),
)
"""What it counts to part a pair of each kind, so that a boundary is about as long as it looks,
whatever its direction (Cauchy and Crofton: the angle between the kinds over the distance of the
pair). Along rows, columns and diagonals it has its length in pixels, in between at most 8 % more;
with four neighbours a diagonal would be 41 % too long, and cuts would run along rows."""

AROUND: tuple[tuple[int, int], ...] = (
    (0, 0),
    *((down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right),
)
"""Rows down and columns to the right from a pixel to itself, then to all its neighbours in the
order of rows."""


if TYPE_CHECKING:
    Bonds = tuple[NDArray[np.float32], ...]
    """What it costs to part the pixels of each kind of pair in `PAIRS`, at most its length."""


def bonds_of(image: NDArray[np.float32]) -> Bonds:
    """Return the bonds of each kind of pair: ``exp(-difference^2 / (2 mean difference^2))``.

    The mean is that of neighbours in a row or column. ``image`` has any number of channels: `lab`,
    or what an instrument has measured.
    """
    planes = np.ascontiguousarray(np.moveaxis(image, 2, 0))
    squared = [_squared_differences(planes, pair) for pair in PAIRS]
    straight = [squared[PAIRS.index(pair)] for pair in (ACROSS, DOWN)]
    count = sum(part.size for part in straight)
    mean = sum(float(part.sum()) for part in straight) / max(count, 1)
    # A picture of one colour has no edges at all, whatever the sharpness.
    sharpness = 0.5 / mean if mean > 0 else 0.0
    return tuple(
        np.float32(length) * np.exp(-sharpness * part)
        for part, length in zip(squared, LENGTHS, strict=True)
    )


def pixel_by_pixel(bonds: Bonds) -> NDArray[np.float32]:
    """Return the bonds of each pixel with those `AROUND` it, ``pixels x 9``.

    That with itself, and with what would be beyond the image, is 0.
    """
    height, width = bonds[0].shape[0], bonds[1].shape[1]
    table = np.zeros((height, width, len(AROUND)), dtype=np.float32)
    for (here, there), (down, right), bond in zip(PAIRS, STEPS, bonds, strict=True):
        table[here][..., AROUND.index((down, right))] = bond
        table[there][..., AROUND.index((-down, -right))] = bond
    return table.reshape(height * width, len(AROUND))


def _squared_differences(
    planes: NDArray[np.float32], pair: tuple[Box, Box]
) -> NDArray[np.float32]:
    here, there = pair
    total: NDArray[np.float32] = np.zeros_like(planes[0][here])
    for plane in planes:
        difference = plane[here] - plane[there]
        total += np.square(difference, out=difference)
    return total


_PATCHES = 6000
"""Fewer lose thin parts, more make the cut slower and no better (SEGMENTATION.md: 4.5 strokes to
90 % over 6000 patches on the hard tuning images, 7 over prototypes, 4.6 over 12 000)."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Undirected edges ``u[k] - v[k]`` whose cost ``weight[k]`` is paid where classes differ.

    ``arcs`` are these edges node by node, where they are cut more than once.
    """

    u: NDArray[np.int32]
    v: NDArray[np.int32]
    weight: NDArray[np.float64]
    arcs: LinkArcs | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KeptFlows:
    """Room for the flows of the latest cuts, from which the next ones begin.

    They save time and change no answer, so that it does not matter what is in there.

    Parameters
    ----------
    pixels
        From each pixel to those around it, shaped like the bonds.
    patches
        Along the edges between patches.
    """

    pixels: NDArray[np.float32]
    patches: NDArray[np.float32]

    @classmethod
    def none_along(cls, bonds: NDArray[np.float32], edges: Edges) -> KeptFlows:
        """Begin with nothing."""
        pixels = np.zeros(bonds.shape, dtype=np.float32)  # pages that nobody writes are never made
        return cls(pixels, np.zeros(len(edges.u), dtype=np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class RegionGraph:
    """How the regions of a picture lie to each other.

    Parameters
    ----------
    bonds
        How strongly neighbouring pixels hold together, `pixel_by_pixel`.
    edges
        Between prototypes that touch.
    lengths
        Of the edges, from centre to centre; the average is 1.
    patches
        Smaller superpixels, over which the outline is first drawn.
    patch_edges
        Between patches that touch.
    bins
        The colour histogram's bin of each pixel.
    prototype_colours, patch_colours
        How many pixels of each bin a prototype or a patch has.
    patch_prototypes
        How many pixels of each prototype a patch has.
    flows
        What cuts through this graph leave to the next one.
    """

    bonds: NDArray[np.float32]
    edges: Edges
    lengths: NDArray[np.float64]
    patches: Prototypes
    patch_edges: Edges
    bins: NDArray[np.int32]
    prototype_colours: csr_array
    patch_colours: csr_array
    patch_prototypes: csr_array
    flows: KeptFlows

    @classmethod
    def of(
        cls,
        colours: SeenColours,
        prototypes: Prototypes,
        channels: NDArray[np.float32] | None = None,
    ) -> RegionGraph:
        """Survey a picture; edges in ``channels`` count where there are such."""
        rgb, bonds = colours.rgb, bonds_of(colours.lab if channels is None else channels)
        edges = region_edges(prototypes.index_map, bonds)
        centres = prototypes.mean(position((rgb.shape[0], rgb.shape[1])))
        lengths = np.sqrt(((centres[edges.u] - centres[edges.v]) ** 2).sum(axis=1))
        if lengths.sum() > 0:
            lengths = lengths / lengths.mean()
        patches = superpixels(colours.stretched if channels is None else channels, _PATCHES)
        patch_edges = region_edges(patches.index_map, bonds)
        arcs = LinkArcs.of(patch_edges.u, patch_edges.v, len(patches))
        bins, by_pixel = colour_bins(rgb), pixel_by_pixel(bonds)
        return cls(
            bonds=by_pixel,
            edges=edges,
            lengths=lengths,
            patches=patches,
            patch_edges=replace(patch_edges, arcs=arcs),
            bins=bins,
            prototype_colours=counts(prototypes, bins, BIN_LEVELS**3),
            patch_colours=counts(patches, bins, BIN_LEVELS**3),
            patch_prototypes=counts(patches, prototypes.index_map, len(prototypes)),
            flows=KeptFlows.none_along(by_pixel, patch_edges),
        )


def counts(regions: Prototypes, values: NDArray[np.int32], n_values: int) -> csr_array:
    """Count the pixels of each value in each region, ``regions x values``.

    Sums over the pixels of regions are then products with what each value counts, however
    many pixels there are.
    """
    ones = np.ones(values.size)
    places = (regions.index_map.ravel(), values.ravel())
    return csr_array(coo_array((ones, places), shape=(len(regions), n_values)))


def region_edges(index_map: NDArray[np.int32], bonds: Bonds) -> Edges:
    """Join regions that touch, with the sum of the bonds across their border."""
    n = int(index_map.max()) + 1
    keys, weights = [], []
    for (a, b), bond in zip(PAIRS, bonds, strict=True):
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
