"""What a network sees in each region: the cells that it covers, averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from segapp.values.settings import FeatureGroup
from shlcore.threads import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.prototypes import Prototypes
    from segapp.picture.region_graph import Edges
    from segapp.values.encoded import EncodedPicture
    from segapp.values.settings import Settings

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


def refuse_unseen(encoded: EncodedPicture | None, settings: Settings) -> None:
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
    encoded: EncodedPicture, prototypes: Prototypes, times: int
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
