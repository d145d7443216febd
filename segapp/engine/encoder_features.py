"""Encoder features of regions and their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from segapp.engine.region_graph import counts
from segapp.model.settings import FeatureGroup
from shlcore.parallel import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.region_graph import Edges, RegionGraph
    from segapp.engine.superpixels import Prototypes
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings


_SPREAD = 50.0
_ALIKE = 0.2
"""A distance between directions; that of unlike ones is about 1.4. So spread, the ridge alone has
an IoU of 0.73 from two dabs instead of 0.70, on the tuning images; 5 and 0.3, 200 and 0.2, 100
and 0.15 differ by about 0.01."""
_NEAREST = 10
_NEAR = 0.3
_LOST = 0.01
"""How many regions anywhere each one is joined to besides those that it touches, the distance
between directions at which that counts little, and what is lost on the way: the less, the longer
the ways. On the tuning images, in colour and with half of the contrast and none of the colours, 5
to 20, 0.2 to 0.5 and 0.003 to 0.01 differ by less than a point of the ridge's IoU."""
_NEAR_TO_HEAD = 0.2
_KEPT = 0.0003
"""The same along what a head sees. Of the ridge alone, on half of the tuning images, 0.15 to 0.3
and 0.0001 to 0.001 differ by a point."""


def refuse_unseen(encoded: EncoderFeatures | None, settings: Settings) -> None:
    """Refuse settings that want what this network, or none, has not seen."""
    if FeatureGroup.ENCODER not in settings.features:
        return
    if not settings.encoder:
        raise ValueError("encoder: wanted one for the features of that name, got none")
    if encoded is None:
        raise ValueError("encoded: wanted what the encoder sees in the picture, got nothing")
    if encoded.encoder != settings.encoder:
        raise ValueError(
            f"encoded: wanted what encoder {settings.encoder[:8]} sees in the picture, "
            f"got that of {encoded.encoder[:8]}"
        )


def directions(means: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return in which direction from a centre each region's mean lies, as vectors of length 1.

    What all of a picture, or of pictures of a kind, share tells nothing apart: that is what
    the centre is for.
    """
    seen = means - centre
    lengths = np.sqrt((seen**2).sum(axis=1, keepdims=True))
    return np.asarray(seen / np.maximum(lengths, 1e-9))


def spread(seen: NDArray[np.float64], edges: Edges) -> NDArray[np.float64]:
    """Let regions that touch and look alike to the network share what it sees in them.

    Each direction x becomes y, which minimises ``|y - x|² + _SPREAD sum w |y_u - y_v|²`` over
    all edges with ``w = exp(-|x_u - x_v|² / (2 _ALIKE²))``, at length 1 again. It is made once
    for a picture, and does for every stroke what smoothing its answer along the same graph
    would: an object's parts come together before anybody has marked one.
    """
    laplacian = _laplacian(seen, edges.u, edges.v, _ALIKE)
    solved = splu(csc_array(eye_array(len(seen)) + _SPREAD * laplacian)).solve(seen)
    return directions(solved, np.zeros(1))


def kinship(
    seen: NDArray[np.float64], edges: Edges, apart: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return a kernel of regions: how alike their directions are, and how well joined they are.

    The first is the product of directions. The second is that over all ways from one region to
    the other, along regions that touch and along those that look most alike wherever they are,
    each step counting by likeness: the inverse of the graph's Laplacian, at 1 on the
    diagonal. So what is told of one part of an object reaches its other parts, which may look
    different, by what is between them.

    Where a head tells how far ``apart`` regions that touch are, ways go along these alone, and
    are as long as objects are: its values are even within an object.
    """
    n, alike = len(seen), seen @ seen.T
    if apart is not None:
        steps = np.exp(-apart / (2 * _NEAR_TO_HEAD**2))
        return np.asarray(alike + _ways(_weighted_laplacian(n, edges.u, edges.v, steps), _KEPT))
    others = alike - 3.0 * np.eye(n)  # nobody is its own neighbour
    count = min(_NEAREST, n - 1)
    nearest = np.argpartition(-others, count - 1, axis=1)[:, :count] if count else others[:, :0]
    u: NDArray[np.intp] = np.concatenate((edges.u, np.repeat(np.arange(n), count)))
    v: NDArray[np.intp] = np.concatenate((edges.v, nearest.ravel().astype(np.intp)))
    return np.asarray(alike + _ways(_laplacian(seen, u, v, _NEAR), _LOST))


def _ways(laplacian: csr_array, lost: float) -> NDArray[np.float64]:
    """Return how well nodes are joined over all ways, on each of whose steps something is lost."""
    ways = inverse((laplacian + lost * eye_array(laplacian.shape[0])).toarray())
    scale = 1.0 / np.sqrt(np.diag(ways))
    return np.asarray(ways * scale[:, None] * scale)


def inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert a symmetric matrix whose eigenvalues are above 0: half of the usual work."""
    with one_blas_thread():  # in another order, sums would be others
        factor, failed = dpotrf(matrix, lower=1)
        lower, failed_too = dpotri(factor, lower=1)
    if failed or failed_too:
        raise np.linalg.LinAlgError("wanted a matrix whose eigenvalues are above 0")
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def _laplacian(
    seen: NDArray[np.float64], u: NDArray[np.integer], v: NDArray[np.integer], near: float
) -> csr_array:
    """Return that of a graph whose edges count by how near the directions at their ends are."""
    apart = ((seen[u] - seen[v]) ** 2).sum(axis=1)
    return _weighted_laplacian(len(seen), u, v, np.exp(-apart / (2 * near**2)))


def _weighted_laplacian(
    n: int, u: NDArray[np.integer], v: NDArray[np.integer], weights: NDArray[np.float64]
) -> csr_array:
    ends = (np.concatenate((u, v)), np.concatenate((v, u)))
    joined = csr_array(coo_array((np.concatenate((weights, weights)), ends), shape=(n, n)))
    return csr_array(diags_array(joined.sum(axis=1)) - joined)


def region_means(
    encoded: EncoderFeatures, prototypes: Prototypes, times: int
) -> NDArray[np.float64]:
    """Average over each region's pixels what the cells, joined by straight lines, are there."""
    height, width = prototypes.index_map.shape
    rows, columns, channels = encoded.cells.shape
    index = prototypes.index_map
    parts = csr_array((len(prototypes), rows * columns))
    vertical = _between_cells(height, times / encoded.step[0], rows)
    horizontal = _between_cells(width, times / encoded.step[1], columns)
    for top, of_top in vertical:
        for left, of_left in horizontal:
            cells = top[:, None] * columns + left
            share = of_top[:, None] * of_left
            places = (index.ravel(), cells.ravel())
            parts = parts + csr_array(coo_array((share.ravel(), places), shape=parts.shape))
    flat = encoded.cells.reshape(-1, channels).astype(np.float64)
    return np.asarray((parts @ flat) / prototypes.sizes[:, None])


def _between_cells(
    length: int, cells_per_pixel: float, count: int
) -> tuple[tuple[NDArray[np.intp], NDArray[np.float64]], ...]:
    """Return the two cells whose centres a pixel is between, along a side, and what each counts.

    Before the first centre and after the last one, it is that cell alone.
    """
    place = np.clip((np.arange(length) + 0.5) * cells_per_pixel - 0.5, 0, count - 1)
    first = np.minimum(place.astype(np.intp), max(count - 2, 0))
    share = place - first
    return (first, 1.0 - share), (np.minimum(first + 1, count - 1), share)


# Within an object the head's values are nearly even, and at its outline they change within a few
# pixels. So a pixel's kind tells which object it may be of, as its colour does, and what is known
# of colours holds for kinds: those under a class's strokes are likely in that class.

_KINDS = 96
_CELLS_OF_A_KIND = 4  # on average at least, so that a kind is more than a cell
_SAMPLE = 6000
_ROUNDS = 8
_CLUSTER_SIMILARITY = 0.35
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
        alike = np.exp(-apart / (2 * _CLUSTER_SIMILARITY**2))
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
        cls, fine: EncoderFeatures, graph: RegionGraph, prototypes: Prototypes, times: int
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
