"""Graphs of regions and pixels, weighted by contrast, and distances along them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from segapp.engine.features import position
from segapp.engine.superpixels import BIN_LEVELS, Prototypes, colour_bins, superpixels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.engine.features import ColourImage
    from segapp.model.labelling import Box

    Number = TypeVar("Number", bound=np.number)


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """Links in both directions, sorted by node, with one spare arc for each node.

    Parameters
    ----------
    starts
        Where the arcs of each node begin, the spare one included, and where all end.
    heads
        The node at the end of each arc; anything for a spare one.
    """

    starts: NDArray[np.int32]
    heads: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class LinkArcs:
    """The arcs of distinct links.

    Parameters
    ----------
    order
        For each arc the index of its link, that of a reverse arc after all forward ones; the
        last index stands for a spare arc.
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
        columns = np.concatenate((0 * nodes, heads + 1, tails + 1))  # the spare arc comes first
        links = np.concatenate((0 * nodes + 2 * count, np.arange(2 * count)), dtype=np.int32)
        numbered = coo_array((links, (rows, columns)), shape=(n_nodes, n_nodes + 1))
        numbered.has_canonical_format = True  # all arcs are distinct
        table = numbered.tocsr()
        table.sort_indices()
        order = table.data.astype(np.intp)
        slots = np.empty(2 * count + 1, dtype=np.intp)
        slots[order] = np.arange(len(order))
        return cls(Arcs(table.indptr, table.indices - 1), order, slots[:count])

    def per_arc(self, there: NDArray[Number], back: NDArray[Number]) -> NDArray[Number]:
        """Return values of links in both directions arc by arc; 0 for spare arcs."""
        return np.concatenate((there, back, np.zeros(1, there.dtype))).take(self.order)


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
"""Rows down and columns to the right between the pixels of each of `PAIRS`."""

_STRAIGHT = 1 / (1 + math.sqrt(2))
LENGTHS: tuple[float, ...] = (
    _STRAIGHT,
    _STRAIGHT,
    _STRAIGHT / math.sqrt(2),
    _STRAIGHT / math.sqrt(2),
)
"""Boundary length per cut pair of each of `PAIRS` (Cauchy and Crofton: the angle between the
directions over the distance of the pair). Along rows, columns and diagonals a boundary has its
length in pixels, in between at most 8 % more; with four neighbours a diagonal would be 41 % too
long, and cuts would run along rows."""

AROUND: tuple[tuple[int, int], ...] = (
    (0, 0),
    *((down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right),
)
"""Offsets from a pixel to itself, then to its eight neighbours in the order of rows."""


if TYPE_CHECKING:
    PairWeights = tuple[NDArray[np.float32], ...]
    """Cost of a boundary between the pixels of each of `PAIRS`, at most its length."""


def pairwise_weights(image: NDArray[np.float32]) -> PairWeights:
    """Compute contrast-sensitive weights (n-links) of neighbouring pixels.

    They are ``exp(-difference^2 / (2 mean difference^2))`` times the pair's length, with the mean
    over neighbours in a row or column. ``image`` has any number of channels.
    """
    planes = np.ascontiguousarray(np.moveaxis(image, 2, 0))
    squared = [_squared_differences(planes, pair) for pair in PAIRS]
    straight = [squared[PAIRS.index(pair)] for pair in (ACROSS, DOWN)]
    count = sum(part.size for part in straight)
    mean = sum(float(part.sum()) for part in straight) / max(count, 1)
    # An image of one colour has no edges at all, whatever the sharpness.
    sharpness = 0.5 / mean if mean > 0 else 0.0
    return tuple(
        np.float32(length) * np.exp(-sharpness * part)
        for part, length in zip(squared, LENGTHS, strict=True)
    )


def weights_by_pixel(weights: PairWeights) -> NDArray[np.float32]:
    """Return the weights of each pixel with those `AROUND` it, ``pixels x 9``.

    The weight with itself, and with neighbours beyond the image, is 0.
    """
    height, width = weights[0].shape[0], weights[1].shape[1]
    table = np.zeros((height, width, len(AROUND)), dtype=np.float32)
    for (here, there), (down, right), weight in zip(PAIRS, STEPS, weights, strict=True):
        table[here][..., AROUND.index((down, right))] = weight
        table[there][..., AROUND.index((-down, -right))] = weight
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
"""Fewer lose thin parts, more make the cut slower and no better (NOTES.md: 4.5 strokes to
90 % over 6000 patches on the hard tuning images, 7 over prototypes, 4.6 over 12 000)."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Undirected edges ``u[k] - v[k]`` that cost ``weight[k]`` where classes differ.

    ``arcs`` are these edges sorted by node, where they are cut more than once.
    """

    u: NDArray[np.int32]
    v: NDArray[np.int32]
    weight: NDArray[np.float64]
    arcs: LinkArcs | None = None


_LENGTH_COST = 0.02
"""Cost of a step of average length; a change of all probability costs 1."""
_CONTRAST_COST = 0.3
"""Cost of a step across the strongest edge. Over seven strokes on the tuning images, AUC from
strokes 0.939 without, 0.940 with 0.3, 0.943 with 1; from dabs 0.912, 0.914 and 0.913."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionGraph:
    """Adjacency and contents of an image's regions.

    Parameters
    ----------
    pixel_weights
        Pairwise weights of neighbouring pixels, see `weights_by_pixel`.
    edges
        Between prototypes that touch.
    steps
        The part of a path's cost along each edge that no stroke changes: a little for its length
        from centre to centre, more for the contrast that it crosses.
    patches
        Smaller superpixels, over which a boundary is first cut.
    patch_edges
        Between patches that touch.
    bins
        The bin of each pixel in the colour histogram.
    prototype_colours, patch_colours
        How many pixels of each bin a prototype or a patch has.
    patch_prototypes
        How many pixels of each prototype a patch has.
    """

    pixel_weights: NDArray[np.float32]
    edges: Edges
    steps: NDArray[np.float64]
    patches: Prototypes
    patch_edges: Edges
    bins: NDArray[np.int32]
    prototype_colours: csr_array
    patch_colours: csr_array
    patch_prototypes: csr_array

    @classmethod
    def of(
        cls,
        image: ColourImage,
        prototypes: Prototypes,
        channels: NDArray[np.float32] | None = None,
    ) -> RegionGraph:
        """Build the graph of an image; contrast is that of ``channels`` where given."""
        rgb, weights = image.rgb, pairwise_weights(image.lab if channels is None else channels)
        edges, contrast = region_edges(prototypes.index_map, weights)
        centres = prototypes.mean(position((rgb.shape[0], rgb.shape[1])))
        lengths = np.sqrt(((centres[edges.u] - centres[edges.v]) ** 2).sum(axis=1))
        if lengths.sum() > 0:
            lengths = lengths / lengths.mean()
        patches = superpixels(image.stretched_lab if channels is None else channels, _PATCHES)
        patch_edges, _ = region_edges(patches.index_map, weights)
        arcs = LinkArcs.of(patch_edges.u, patch_edges.v, len(patches))
        bins = colour_bins(rgb)
        return cls(
            pixel_weights=weights_by_pixel(weights),
            edges=edges,
            steps=_LENGTH_COST * lengths + _CONTRAST_COST * contrast,
            patches=patches,
            patch_edges=replace(patch_edges, arcs=arcs),
            bins=bins,
            prototype_colours=value_counts(prototypes, bins, BIN_LEVELS**3),
            patch_colours=value_counts(patches, bins, BIN_LEVELS**3),
            patch_prototypes=value_counts(patches, prototypes.index_map, len(prototypes)),
        )


class FlowWarmStart:
    """Flows of the latest cuts through a graph, from which the next ones start.

    They save time and never change a cut, so that any content is valid.

    Parameters
    ----------
    graph
        The graph that is cut.
    """

    def __init__(self, graph: RegionGraph) -> None:
        self.graph = graph
        # From each pixel to those around it; memory that is never written is never allocated.
        self.pixels = np.zeros(graph.pixel_weights.shape, dtype=np.float32)
        self.patches = np.zeros(len(graph.patch_edges.u), dtype=np.float32)


def value_counts(regions: Prototypes, values: NDArray[np.int32], n_values: int) -> csr_array:
    """Count the pixels of each value in each region, ``regions x values``.

    Sums over the pixels of regions are then products with a weight per value, however many
    pixels there are.
    """
    pairs = (regions.index_map.ravel(), values.ravel())
    return csr_array(coo_array((np.ones(values.size), pairs), shape=(len(regions), n_values)))


def region_edges(
    index_map: NDArray[np.int32], weights: PairWeights
) -> tuple[Edges, NDArray[np.float64]]:
    """Join regions that touch by the sum of the pairwise weights along their boundary.

    Also return the contrast across each boundary: 0 where nothing changes, at most 1.
    """
    n = int(index_map.max()) + 1
    keys, crossing, lengths = [], [], []
    for (a, b), weight, length in zip(PAIRS, weights, LENGTHS, strict=True):
        border = index_map[a] != index_map[b]
        one, other = index_map[a][border].astype(np.int64), index_map[b][border].astype(np.int64)
        keys.append(np.minimum(one, other) * n + np.maximum(one, other))
        crossing.append(weight[border])
        lengths.append(np.full(len(one), length))
    pairs, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    total, along = (
        np.bincount(inverse, np.concatenate(part), minlength=len(pairs)).astype(np.float64)
        for part in (crossing, lengths)
    )
    edges = Edges((pairs // n).astype(np.int32), (pairs % n).astype(np.int32), total)
    return edges, 1.0 - total / along


_LARGEST_FEATURE_COST = 9.0
"""Largest cost of a step for encoder features: 3 times their deviation, squared."""
_UNREACHABLE = 1e6
"""Distance of a region without a path to it (an image has none)."""


@dataclass(frozen=True, slots=True, eq=False)
class Geodesics:
    """Step costs between regions that touch, in both directions."""

    steps: csr_array

    @classmethod
    def of(
        cls,
        edges: Edges,
        steps: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        feature_distances: NDArray[np.float64] | None = None,
    ) -> Geodesics:
        """Add the change of class probabilities to the cost of each step.

        Parameters
        ----------
        edges, steps
            Between regions that touch, with their own costs (`RegionGraph.steps`).
        probabilities
            Regions x classes, from local features alone; rows sum to 1.
        feature_distances
            Squared distance of encoder features along each edge.
        """
        n = len(probabilities)
        change = 0.5 * np.abs(probabilities[edges.u] - probabilities[edges.v]).sum(axis=1)
        costs = change + steps
        if feature_distances is not None:
            costs += np.minimum(feature_distances, _LARGEST_FEATURE_COST)
        # Both directions, or SciPy would transpose the graph for each search.
        ends = np.concatenate((edges.u, edges.v)), np.concatenate((edges.v, edges.u))
        return cls(csr_array(coo_array((np.tile(costs, 2), ends), shape=(n, n))))

    def distances(self, sources: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return each region's distance to the nearest source, of which there may be none."""
        if not len(sources):
            return np.full(self.steps.shape[0], _UNREACHABLE)
        distances = dijkstra(self.steps, indices=sources, min_only=True)
        return np.asarray(np.minimum(distances, _UNREACHABLE))


def nearness(geodesics: Geodesics, sources: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return the share of each class in a region's nearness to all strokes.

    The nearness to a class is one over the distance to the nearest of its ``sources``, the
    regions labelled so. Each row sums to 1: at a stroke of a class that class has all of it.
    """
    distances = np.stack([geodesics.distances(regions) for regions in sources], axis=1)
    closeness = 1.0 / np.maximum(distances, 1e-9)
    return np.asarray(closeness / closeness.sum(axis=1, keepdims=True))
