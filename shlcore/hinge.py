"""Hinge distances to codewords (eq. 2), memberships gamma (eq. 5), class scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.special import ndtr

from shlcore.problem import UNLABELLED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices, Reals


def hinge(margins: Reals) -> Reals:
    """Return ``[1 - u]_+`` of each margin u, in the precision of the margins."""
    return cast("Reals", np.maximum(1.0 - margins, 0.0))


def hinge_loss(costs: Array, targets: NDArray[np.int8], projections: Floats) -> float:
    """Return the loss ``sum_n c_n [1 - y_n f(x_n)]_+`` of one bit (eqs. 6 and 7)."""
    return float(costs @ hinge(targets * projections))


def hinge_distances(projections: Floats, codewords: NDArray[np.int8]) -> Array:
    """Return ``sum_b [1 - mu^b f_b]_+`` from each row to each codeword, ``(n, C, S)``.

    ``codewords`` is ``(C, S, B)``. The hinge of a bit has one of two values, so that two matrix
    products replace an ``n x C S x B`` temporary array.
    """
    flat = codewords.reshape(-1, codewords.shape[-1])
    ups = (flat > 0).astype(projections.dtype)
    distances = hinge(projections) @ ups.T
    distances += hinge(-projections) @ (1.0 - ups).T
    return np.asarray(distances.reshape(len(projections), *codewords.shape[:2]))


def expected_hinge_distances(
    projections: Floats, deviations: Array, codewords: NDArray[np.int8]
) -> Array:
    """Return the expected `hinge_distances` where f is normal, ``(n, C, S)``.

    Parameters
    ----------
    deviations
        ``(n,)``, standard deviation of each row's f.
    """
    flat = codewords.reshape(-1, codewords.shape[-1])
    spread = np.maximum(deviations, np.finfo(float).tiny)[:, None]
    ups = (flat > 0).astype(np.float64)
    distances = _expected_hinge(projections, spread) @ ups.T
    distances += _expected_hinge(-projections, spread) @ (1.0 - ups).T
    return np.asarray(distances.reshape(len(projections), *codewords.shape[:2]))


def _expected_hinge(margins: Floats, spread: Array) -> Array:
    """Return the mean of ``[1 - u]_+`` for normal margins u."""
    short = 1.0 - margins.astype(np.float64)
    ratio = short / spread
    density = np.exp(-0.5 * np.square(np.minimum(np.abs(ratio), 40.0))) / np.sqrt(2.0 * np.pi)
    return np.asarray(short * ndtr(ratio) + spread * density)


def class_scores(
    projections: Floats, codewords: NDArray[np.int8], decoding: str = "hinge"
) -> Array:
    """Return class scores, ``n x C``, the largest for the nearest codeword's class.

    "hinge": minus the hinge distance. "hamming": minus the Hamming distance of the code. Ties,
    common with few bits, are broken by the hinge distance, mapped into [0, 1) so that it changes
    no other comparison.
    """
    if decoding == "hinge":
        return np.asarray(-hinge_distances(projections, codewords).min(axis=2))
    signs = np.where(projections >= 0, 1.0, -1.0)
    words = codewords.reshape(-1, codewords.shape[-1]).astype(float)
    hamming = 0.5 * (words.shape[1] - signs @ words.T)
    hinges = hinge_distances(projections, codewords).reshape(hamming.shape)
    scores = -(hamming + hinges / (1.0 + hinges))
    return np.asarray(scores.reshape(len(scores), *codewords.shape[:2]).max(axis=2))


def class_margins(projections: Floats, codewords: NDArray[np.int8]) -> Array:
    """Return the second smallest minus the smallest hinge distance of the classes."""
    distances = hinge_distances(projections, codewords).min(axis=2)
    best = np.partition(distances, 1, axis=1)
    return np.asarray(best[:, 1] - best[:, 0])


def nearest_codewords(distances: Array, labels: Indices) -> tuple[Indices, Array]:
    """Return gamma (eq. 5), as flat indices ``c S + s``, and the rows' distances.

    A labelled row belongs to a codeword of its own class, an unlabelled one to any.
    """
    n, _, s = distances.shape
    flat = distances.reshape(n, -1)
    members = flat.argmin(axis=1)
    labelled = np.flatnonzero(labels != UNLABELLED)
    own = distances[labelled, labels[labelled]].argmin(axis=1)
    members[labelled] = labels[labelled] * s + own
    return members, flat[np.arange(n), members]
