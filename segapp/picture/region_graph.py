"""Regions as a graph: which of them touch, and how far apart and how strongly joined they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array

from segapp.picture.arcs import LinkArcs
from segapp.picture.colour_bins import LEVELS, colour_bins
from segapp.picture.contrast import bonds_of, pixel_by_pixel
from segapp.picture.features import position
from segapp.picture.neighbours import PAIRS
from segapp.picture.prototypes import Prototypes, superpixels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.contrast import Bonds
    from segapp.picture.features import SeenColours

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
            prototype_colours=counts(prototypes, bins, LEVELS**3),
            patch_colours=counts(patches, bins, LEVELS**3),
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
