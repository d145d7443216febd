"""Encoder features of regions, their affinity and their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from segapp.engine.region_graph import value_counts
from segapp.model.settings import FeatureGroup
from segapp.model.validation import SegappError
from shlcore.parallel import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.region_graph import Edges, RegionGraph
    from segapp.engine.superpixels import Prototypes
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings


_DIFFUSION = 50.0
_SIMILAR = 0.2
"""A distance between directions; that of dissimilar ones is about 1.4. With this diffusion, the
ridge alone has an IoU of 0.73 from two dabs instead of 0.70, on the tuning images; 5 and 0.3, 200
and 0.2, 100 and 0.15 differ by about 0.01."""
_NEIGHBOURS = 10
_NEIGHBOUR_SCALE = 0.3
_DECAY = 0.01
"""Number of nearest neighbours that each region is joined to besides those that it touches, the
distance between directions at which an edge counts little, and the decay along a path. On the
tuning images, in colour and with half of the contrast and none of the colours, 5 to 20, 0.2 to 0.5
and 0.003 to 0.01 differ by less than a point of the ridge's IoU."""
_FINE_SCALE = 0.2
_FINE_DECAY = 0.0003
"""The same for fine features. Of the ridge alone, on half of the tuning images, 0.15 to 0.3 and
0.0001 to 0.001 differ by a point."""


def require_encoder_features(features: EncoderFeatures | None, settings: Settings) -> None:
    """Raise an error unless the features are those that the settings ask for."""
    if FeatureGroup.ENCODER not in settings.features:
        return
    if not settings.encoder:
        raise SegappError("encoder: wanted one for the features of that name, got none")
    if features is None:
        raise SegappError("encoded: wanted what the encoder sees in the picture, got nothing")
    if features.encoder != settings.encoder:
        raise SegappError(
            f"encoded: wanted what encoder {settings.encoder[:8]} sees in the picture, "
            f"got that of {features.encoder[:8]}"
        )


def directions(means: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit vectors from a centre to each region's mean feature vector.

    The component that all regions of an image share distinguishes none of them: the centre
    removes it.
    """
    vectors = means - centre
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, 1e-9))


def diffuse(vectors: NDArray[np.float64], edges: Edges) -> NDArray[np.float64]:
    """Smooth unit vectors between regions that touch and are similar.

    Each direction x becomes y, which minimises ``|y - x|² + _DIFFUSION sum w |y_u - y_v|²`` over
    all edges with ``w = exp(-|x_u - x_v|² / (2 _SIMILAR²))``, at length 1 again. It is computed
    once for an image, and has the effect on every stroke that smoothing its answer along the same
    graph would have: the parts of an object come together before any is marked.
    """
    laplacian = _laplacian(vectors, edges.u, edges.v, _SIMILAR)
    system = csc_array(eye_array(len(vectors)) + _DIFFUSION * laplacian)
    return directions(splu(system).solve(vectors), np.zeros(1))


def region_affinity(
    vectors: NDArray[np.float64],
    edges: Edges,
    edge_feature_distances: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return a kernel of regions: product of directions plus Laplacian kernel.

    The latter joins regions that touch, and those with the most similar directions wherever they
    are. Labels of one part of an object so reach its other parts, which may look different,
    through the regions in between.

    With fine features, given as squared distances along the edges, only regions that touch are
    joined, with a slower decay: fine features are nearly constant within an object.
    """
    n, products = len(vectors), vectors @ vectors.T
    if edge_feature_distances is not None:
        weights = np.exp(-edge_feature_distances / (2 * _FINE_SCALE**2))
        laplacian = _weighted_laplacian(n, edges.u, edges.v, weights)
        return np.asarray(products + laplacian_kernel(laplacian, _FINE_DECAY))
    others = products - 3.0 * np.eye(n)  # a region is not its own neighbour
    count = min(_NEIGHBOURS, n - 1)
    nearest = np.argpartition(-others, count - 1, axis=1)[:, :count] if count else others[:, :0]
    u: NDArray[np.intp] = np.concatenate((edges.u, np.repeat(np.arange(n), count)))
    v: NDArray[np.intp] = np.concatenate((edges.v, nearest.ravel().astype(np.intp)))
    laplacian = _laplacian(vectors, u, v, _NEIGHBOUR_SCALE)
    return np.asarray(products + laplacian_kernel(laplacian, _DECAY))


def laplacian_kernel(laplacian: csr_array, decay: float) -> NDArray[np.float64]:
    """Invert a regularised graph Laplacian, scaled to 1 on the diagonal."""
    kernel = inverse((laplacian + decay * eye_array(laplacian.shape[0])).toarray())
    scale = 1.0 / np.sqrt(np.diag(kernel))
    return np.asarray(kernel * scale[:, None] * scale)


def inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert a symmetric positive definite matrix: half of the usual work."""
    with one_blas_thread():  # the order of summation decides the last bits
        factor, failed = dpotrf(matrix, lower=1)
        lower, failed_too = dpotri(factor, lower=1)
    if failed or failed_too:
        raise np.linalg.LinAlgError("wanted a positive definite matrix")
    diagonal = lower.diagonal().copy()
    lower = lower + lower.T  # above the diagonal, LAPACK has left zeros
    np.fill_diagonal(lower, diagonal)
    return np.asarray(lower)


def _laplacian(
    vectors: NDArray[np.float64], u: NDArray[np.integer], v: NDArray[np.integer], scale: float
) -> csr_array:
    """Return the Laplacian of a graph with Gaussian weights of distances."""
    distances = ((vectors[u] - vectors[v]) ** 2).sum(axis=1)
    return _weighted_laplacian(len(vectors), u, v, np.exp(-distances / (2 * scale**2)))


def _weighted_laplacian(
    n: int, u: NDArray[np.integer], v: NDArray[np.integer], weights: NDArray[np.float64]
) -> csr_array:
    ends = (np.concatenate((u, v)), np.concatenate((v, u)))
    adjacency = csr_array(coo_array((np.concatenate((weights, weights)), ends), shape=(n, n)))
    return csr_array(diags_array(adjacency.sum(axis=1)) - adjacency)


def region_means(
    features: EncoderFeatures, prototypes: Prototypes, times: int
) -> NDArray[np.float64]:
    """Average the features, interpolated bilinearly, over each region's pixels."""
    height, width = prototypes.index_map.shape
    rows, columns, channels = features.cells.shape
    index = prototypes.index_map
    parts = csr_array((len(prototypes), rows * columns))
    vertical = _linear_weights(height, times / features.step[0], rows)
    horizontal = _linear_weights(width, times / features.step[1], columns)
    for top, of_top in vertical:
        for left, of_left in horizontal:
            cells = top[:, None] * columns + left
            share = of_top[:, None] * of_left
            pairs = (index.ravel(), cells.ravel())
            parts = parts + csr_array(coo_array((share.ravel(), pairs), shape=parts.shape))
    flat = features.cells.reshape(-1, channels).astype(np.float64)
    return np.asarray((parts @ flat) / prototypes.sizes[:, None])


def _linear_weights(
    length: int, cells_per_pixel: float, count: int
) -> tuple[tuple[NDArray[np.intp], NDArray[np.float64]], ...]:
    """Return the two cells around each pixel of a side, with their weights.

    Before the first centre and after the last one, it is that cell alone.
    """
    location = np.clip((np.arange(length) + 0.5) * cells_per_pixel - 0.5, 0, count - 1)
    first = np.minimum(location.astype(np.intp), max(count - 2, 0))
    share = location - first
    return (first, 1.0 - share), (np.minimum(first + 1, count - 1), share)


# Fine features are nearly constant within an object and change within a few pixels at its
# boundary. So their cluster identifies a pixel's object much as its colour does, and is counted
# under the strokes of each class in the same way.

_CLUSTERS = 96
_CELLS_PER_CLUSTER = 4  # on average at least
_SAMPLE = 6000
_ITERATIONS = 8
_CLUSTER_SIMILARITY = 0.35
"""Distance at which clusters count for each other by 0.6, where features have a variance of 1 in
all. 0.2 is no different."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureClusters:
    """Clusters of fine encoder features.

    Parameters
    ----------
    of_pixels
        int32, the cluster of each pixel at the working resolution.
    of_patches
        How many pixels of each cluster a patch has.
    similarity
        Clusters x clusters: weights of counts in other clusters; columns sum to 1.
    """

    of_pixels: NDArray[np.int32]
    of_patches: csr_array
    similarity: NDArray[np.float32]

    @classmethod
    def of(
        cls, cells: NDArray[np.floating], cell_of: NDArray[np.int32], patches: Prototypes
    ) -> FeatureClusters:
        """Cluster feature vectors, a row per cell; ``cell_of`` is the cell of each pixel."""
        values = scaled(cells)
        centres = _k_means(values[:: max(1, len(values) // _SAMPLE)])
        of_pixels = _nearest(values, centres).astype(np.int32)[cell_of]
        distances = ((centres[:, None] - centres) ** 2).sum(axis=2)
        similarity = np.exp(-distances / (2 * _CLUSTER_SIMILARITY**2))
        return cls(
            of_pixels,
            value_counts(patches, of_pixels, len(centres)),
            (similarity / similarity.sum(axis=0)).astype(np.float32),
        )


@dataclass(frozen=True, slots=True, eq=False)
class FineRegionFeatures:
    """Fine encoder features of an image's regions.

    Parameters
    ----------
    edge_distances
        The squared distance of features along each edge of the graph; all values have a
        variance of 1.
    """

    clusters: FeatureClusters
    edge_distances: NDArray[np.float64]

    @classmethod
    def of(
        cls, fine: EncoderFeatures, graph: RegionGraph, prototypes: Prototypes, times: int
    ) -> FineRegionFeatures:
        """Summarise the features over regions whose pixels have ``times`` the side length."""
        rows, columns, channels = fine.cells.shape
        cells = fine.cells.reshape(rows * columns, channels)
        row, column = (
            np.minimum((np.arange(length) + 0.5) * times / step, count - 1).astype(np.int32)
            for length, step, count in zip(
                prototypes.index_map.shape, fine.step, (rows, columns), strict=True
            )
        )
        cell_of = row[:, None] * np.int32(columns) + column
        in_cells = value_counts(prototypes, cell_of, len(cells))
        means = scaled((in_cells @ cells.astype(np.float32)) / prototypes.sizes[:, None])
        steps = means[graph.edges.u] - means[graph.edges.v]
        distances = np.square(steps).sum(axis=1, dtype=np.float64)
        return cls(FeatureClusters.of(cells, cell_of, graph.patches), distances)


def _k_means(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the centres of k-means, a row each."""
    from sklearn.cluster import kmeans_plusplus  # loaded for encoders with fine features alone

    count = max(1, min(_CLUSTERS, len(values) // _CELLS_PER_CLUSTER))
    with one_blas_thread():
        centres: NDArray[np.float32] = kmeans_plusplus(values, count, random_state=0)[0]
    for _ in range(_ITERATIONS):
        nearest = _nearest(values, centres)
        sizes = np.bincount(nearest, minlength=count)[:, None]
        sums = np.stack([np.bincount(nearest, column, count) for column in values.T], axis=1)
        centres = np.where(sizes, sums / np.maximum(sizes, 1), centres).astype(np.float32)
    return centres


def _nearest(values: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the nearest centre of each row."""
    with one_blas_thread():  # the order of summation decides the last bits
        distances = np.square(centres).sum(axis=1) - 2 * values @ centres.T
    return np.asarray(distances.argmin(axis=1))


def scaled(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Centre rows, and scale them to a total variance of 1."""
    centred = values.astype(np.float32)
    centred -= centred.mean(axis=0, dtype=np.float64).astype(np.float32)
    variance = float(np.einsum("ij,ij->j", centred, centred, dtype=np.float64).sum())
    if variance > 0:
        centred *= np.float32(np.sqrt(len(centred) / variance))
    return centred
