"""Who belongs to which codeword: the hinge distance and gamma (eq. 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shlcore.problem import UNLABELLED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def hinge_distances(projections: NDArray[np.floating[Any]], codewords: NDArray[np.int8]) -> Array:
    """Return ``sum_b [1 - mu^b f_b]_+`` from each row to each codeword.

    ``codewords`` is ``(C, S, B)``; the answer is ``(n, C, S)``. Two products instead of an
    ``n x C S x B`` temporary, since the hinge takes one of two values a bit.
    """
    flat = codewords.reshape(-1, codewords.shape[-1])
    ups = (flat > 0).astype(projections.dtype)
    distances = np.maximum(1.0 - projections, 0.0) @ ups.T
    distances += np.maximum(1.0 + projections, 0.0) @ (1.0 - ups).T
    return np.asarray(distances.reshape(len(projections), *codewords.shape[:2]))


def nearest_codewords(
    distances: Array, labels: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Array]:
    """Return gamma: the codeword (flat index ``c S + s``) of each row, and its distance.

    A labelled row chooses among its own class's codewords, an unlabelled one among all.
    """
    n, _, s = distances.shape
    flat = distances.reshape(n, -1)
    members = flat.argmin(axis=1)
    labelled = np.flatnonzero(labels != UNLABELLED)
    own = distances[labelled, labels[labelled]].argmin(axis=1)
    members[labelled] = labels[labelled] * s + own
    return members, flat[np.arange(n), members]
