"""What an encoder's head sees, in kinds of pixels and in how far regions are apart.

Within an object the head's values are nearly even, and at its outline they change within a few
pixels. So a pixel's kind tells which object it may be of, as its colour does, and what is known of
colours holds for kinds: those under a class's strokes are likely in that class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.picture.region_graph import counts
from shlcore.threads import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from segapp.picture.prototypes import Prototypes
    from segapp.picture.region_graph import RegionGraph
    from segapp.values.encoded import EncodedPicture

_KINDS = 96
_CELLS_OF_A_KIND = 4  # on average at least, so that a kind is more than a cell
_SAMPLE = 6000
_ROUNDS = 8
_ALIKE = 0.35
"""Distance at which kinds count for each other by 0.6, where values have a variance of 1 in all.
0.2 is no different."""


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """The kind of each pixel at the size at which is learnt.

    Parameters
    ----------
    of_pixels
        int32, rows x columns.
    of_patches
        How many pixels of each kind a patch has.
    alike
        Kinds x kinds: what pixels of one kind (a column) tell of others; columns sum to 1.
    """

    of_pixels: NDArray[np.int32]
    of_patches: csr_array
    alike: NDArray[np.float32]

    @classmethod
    def of(
        cls, cells: NDArray[np.floating], cell_of: NDArray[np.int32], patches: Prototypes
    ) -> Kinds:
        """Sort cells, each a row; ``cell_of`` is the cell of each pixel."""
        values = scaled(cells)
        centres = _centres(values[:: max(1, len(values) // _SAMPLE)])
        of_pixels = _nearest(values, centres).astype(np.int32)[cell_of]
        apart = ((centres[:, None] - centres) ** 2).sum(axis=2)
        alike = np.exp(-apart / (2 * _ALIKE**2))
        return cls(
            of_pixels,
            counts(patches, of_pixels, len(centres)),
            (alike / alike.sum(axis=0)).astype(np.float32),
        )


@dataclass(frozen=True, slots=True, eq=False)
class FineRegions:
    """What a head sees of a picture's regions.

    Parameters
    ----------
    apart
        The squared difference of regions that touch, for each edge of the graph; all values have
        a variance of 1.
    """

    kinds: Kinds
    apart: NDArray[np.float64]

    @classmethod
    def of(
        cls, fine: EncodedPicture, graph: RegionGraph, prototypes: Prototypes, times: int
    ) -> FineRegions:
        """Look at regions of a picture whose pixels are ``times`` smaller along a side."""
        rows, columns, channels = fine.cells.shape
        cells = fine.cells.reshape(rows * columns, channels)
        row, column = (
            np.minimum((np.arange(length) + 0.5) * times / step, count - 1).astype(np.int32)
            for length, step, count in zip(
                prototypes.index_map.shape, fine.step, (rows, columns), strict=True
            )
        )
        cell_of = row[:, None] * np.int32(columns) + column
        in_cells = counts(prototypes, cell_of, len(cells))
        means = scaled((in_cells @ cells.astype(np.float32)) / prototypes.sizes[:, None])
        steps = means[graph.edges.u] - means[graph.edges.v]
        apart = np.square(steps).sum(axis=1, dtype=np.float64)
        return cls(Kinds.of(cells, cell_of, graph.patches), apart)


def _centres(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Find the middle of each kind: k-means from scattered rows."""
    from sklearn.cluster import kmeans_plusplus  # nobody else loads it: who has no head shall not

    wanted = max(1, min(_KINDS, len(values) // _CELLS_OF_A_KIND))
    with one_blas_thread():
        centres: NDArray[np.float32] = kmeans_plusplus(values, wanted, random_state=0)[0]
    for _ in range(_ROUNDS):
        nearest = _nearest(values, centres)
        sizes = np.bincount(nearest, minlength=wanted)[:, None]
        sums = np.stack([np.bincount(nearest, column, wanted) for column in values.T], axis=1)
        centres = np.where(sizes, sums / np.maximum(sizes, 1), centres).astype(np.float32)
    return centres


def _nearest(values: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the nearest centre of each row."""
    with one_blas_thread():  # in another order, sums would be others
        apart = np.square(centres).sum(axis=1) - 2 * values @ centres.T
    return np.asarray(apart.argmin(axis=1))


def scaled(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return rows about their mean, on a scale on which they have a variance of 1 in all."""
    centred = values.astype(np.float32)
    centred -= centred.mean(axis=0, dtype=np.float64).astype(np.float32)
    variance = float(np.einsum("ij,ij->j", centred, centred, dtype=np.float64).sum())
    if variance > 0:
        centred *= np.float32(np.sqrt(len(centred) / variance))
    return centred
