"""The hinge ``[1 - u]_+``: the only copy of the formula and of its weighted sum.

@@@
Who belongs to which codeword: the hinge distance and gamma (eq. 5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from shlcore.problem import UNLABELLED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices, Reals


def hinge(margins: Reals) -> Reals:
    """Return ``[1 - u]_+`` of each margin u, in the precision of the margins."""
    return cast("Reals", np.maximum(1.0 - margins, 0.0))


def hinge_loss(costs: Array, targets: NDArray[np.int8], projections: Floats) -> float:
    """Return ``sum_n c_n [1 - y_n f(x_n)]_+`` of one bit: the loss in eqs. (6) and (7)."""
    return float(costs @ hinge(targets * projections))


def hinge_distances(projections: Floats, codewords: NDArray[np.int8]) -> Array:
    """Return ``sum_b [1 - mu^b f_b]_+`` from each row to each codeword.

    ``codewords`` is ``(C, S, B)``; the answer is ``(n, C, S)``. Two products instead of an
    ``n x C S x B`` temporary, since the hinge takes one of two values a bit.
    """
    flat = codewords.reshape(-1, codewords.shape[-1])
    ups = (flat > 0).astype(projections.dtype)
    distances = hinge(projections) @ ups.T
    distances += hinge(-projections) @ (1.0 - ups).T
    return np.asarray(distances.reshape(len(projections), *codewords.shape[:2]))


def class_scores(
    projections: Floats, codewords: NDArray[np.int8], decoding: str = "hinge"
) -> Array:
    """Return a score of each class, ``n x C``, whose best is the class of the nearest codeword.

    "hinge": minus the hinge distance. "hamming": minus the Hamming distance of the code; ties,
    common with few bits, go to the smaller hinge distance, which is squeezed into [0, 1) so
    that it decides nothing else.
    """
    if decoding == "hinge":
        return np.asarray(-hinge_distances(projections, codewords).min(axis=2))
    signs = np.where(projections >= 0, 1.0, -1.0)
    words = codewords.reshape(-1, codewords.shape[-1]).astype(float)
    apart = 0.5 * (words.shape[1] - signs @ words.T)
    hinges = hinge_distances(projections, codewords).reshape(apart.shape)
    scores = -(apart + hinges / (1.0 + hinges))
    return np.asarray(scores.reshape(len(scores), *codewords.shape[:2]).max(axis=2))


def class_margins(projections: Floats, codewords: NDArray[np.int8]) -> Array:
    """Return the second-best minus the best class in hinge distance, at least 0."""
    distances = hinge_distances(projections, codewords).min(axis=2)
    best = np.partition(distances, 1, axis=1)
    return np.asarray(best[:, 1] - best[:, 0])


def nearest_codewords(distances: Array, labels: Indices) -> tuple[Indices, Array]:
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
