"""Probabilities: temperature scaling of leave-one-out scores (span rule).

A single temperature for all classes keeps the order of the scores, so that the most probable class
is the one of `predict`.

f at training rows says nothing about new rows when a kernel interpolates, leave-one-out values do.
Chapelle and Vapnik, "Model selection for support vector machines" (1999): if the other support
rows remain the same, leaving out row i changes f at that row by ``alpha_i y_i S_i^2``, where S_i
is the distance of the row to the span of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_solve, lapack
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from shlcore.hinge import expected_hinge_distances, hinge_distances

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices
    from shlcore.svm import KernelFunction


_MIN_TEMPERATURE, _MAX_TEMPERATURE = 1e-3, 1e6
"""Range of the temperature, for scores in bits. Beyond it probabilities are 0 and 1, or equal."""

_AT_BOUND = 1.0 - 1e-6
"""Share of its cost from which on a dual variable counts as bounded."""

RESIDUAL_RIDGE = 0.01
"""Ridge of `residuals`, as a share of k(x, x). A tenth and ten times as much change the area under
the curve of tests/benchmarks/OPEN_SET.md by at most 0.002."""

PRIOR_DEVIATION = 5.0
"""Standard deviation of f, in margins, where training rows explain nothing of a row. On eight sets
1.6 and 5 have 0.934 and 0.943 of the area under the curve, and 0 has 0.911."""

_MIN_RIDGE = 1e-12
"""Ridge in units of the mean of the diagonal. A kernel matrix of low rank needs more, and gets a
hundred times as much at each attempt."""


def learn_temperature(scores: Array, labels: Indices, weights: Array) -> float:
    """Return the temperature with the largest likelihood of the labels.

    As in Platt's method, the target of each label is a little below 1 (by one row in n + 2), so
    that scores without an error still give a temperature above 0.

    Parameters
    ----------
    scores
        ``n x C``, leave-one-out scores.
    labels
        ``(n,)``, class indices.
    weights
        ``(n,)``, weights of the rows.
    """
    return _best_temperature(scores, labels, weights)[0]


def held_out_loss(scores: Array, labels: Indices, weights: Array) -> float:
    """Return the mean log loss at the temperature of `learn_temperature`."""
    return _best_temperature(scores, labels, weights)[1]


def _best_temperature(scores: Array, labels: Indices, weights: Array) -> tuple[float, float]:
    n_classes = scores.shape[1]
    total = float(weights.sum())
    doubt = 1.0 / (total + 2.0)
    targets = np.full(scores.shape, doubt / (n_classes - 1))
    targets[np.arange(len(labels)), labels] = 1.0 - doubt

    def loss(log_temperature: float) -> float:
        logs = log_softmax(scores / np.exp(log_temperature), axis=1)
        return float(-(weights @ (targets * logs).sum(axis=1)) / total)

    bounds = np.log(_MIN_TEMPERATURE), np.log(_MAX_TEMPERATURE)
    found = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(found.x)), float(found.fun)


def is_at_bound(temperature: float) -> bool:
    """Whether a temperature is at a bound of the range that is searched."""
    return not 1.01 * _MIN_TEMPERATURE < temperature < 0.99 * _MAX_TEMPERATURE


def log_probabilities(scores: Array, temperature: float) -> Array:
    """Return the logarithm of the probability of each class, ``n x C``."""
    return np.asarray(log_softmax(np.asarray(scores, dtype=np.float64) / temperature, axis=1))


def leave_one_out(
    weighted_sum: Callable[[Array, Indices], Array],
    functions: Sequence[KernelFunction],
    projections: Floats,
    costs: Array,
) -> Array:
    """Return f of each row by the functions of the other rows, ``n x B``.

    Parameters
    ----------
    weighted_sum
        Returns the sum of kernels under some weights among some rows.
    projections
        ``n x B``, f at the rows.
    costs
        ``(n,)``, the largest value of each row's dual variable.
    """
    held_out = np.array(projections, dtype=np.float64)
    known: dict[bytes, Array] = {}
    for bit, function in enumerate(functions):
        if not function.support.size:
            continue
        # Bits with the same SVM differ by the sign alone.
        parts = (function.support, np.abs(function.coefficients), function.scales)
        key = b"".join(part.tobytes() for part in parts)
        if key not in known:
            kernel = weighted_sum(function.scales, function.support)
            free = np.abs(function.coefficients) < _AT_BOUND * costs[function.support]
            known[key] = squared_spans(kernel, free)
        held_out[function.support, bit] -= function.coefficients * known[key]
    # Two equal rows with different labels have dual variables as large as lambda1, with which the
    # rule leaves its domain. A function of the other rows has the range of the function of all.
    return np.clip(held_out, projections.min(axis=0), projections.max(axis=0))


def residuals(kernel: Array, support: Indices, diagonal: float) -> Array:
    """Return the share of each row that other support rows do not explain.

    The squared distance of the row's image to the span of theirs, as a share of its square: the
    variance of a Gaussian process, given its values there.

    Parameters
    ----------
    kernel
        ``n x n``, a sum of kernels among all rows.
    diagonal
        ``k(x, x)``.
    """
    ridge = RESIDUAL_RIDGE * diagonal
    root = _inverse_root(kernel[np.ix_(support, support)], ridge)
    left = np.empty(len(kernel))
    left[support] = 1.0 / np.einsum("ij,ij->j", root, root) - ridge
    others = np.setdiff1d(np.arange(len(kernel)), support, assume_unique=True)
    reached = root @ kernel[np.ix_(support, others)]
    left[others] = diagonal - np.einsum("ij,ij->j", reached, reached)
    return np.asarray(np.clip(left / diagonal, 0.0, 1.0))


def new_residuals(cross: Array, factor: tuple[Array, bool], diagonal: float) -> Array:
    """Return the `residuals` of new rows.

    Parameters
    ----------
    cross
        ``m x k``, kernels between new and support rows.
    factor
        Cholesky factor of the support rows' kernels and `RESIDUAL_RIDGE`.
    """
    left = diagonal - np.einsum("ij,ji->i", cross, cho_solve(factor, cross.T))
    return np.asarray(np.clip(left / diagonal, 0.0, 1.0))


def codeword_distances(
    projections: Floats, residual: Array | None, codewords: NDArray[np.int8]
) -> Array:
    """Return the expected hinge distance to the nearest codeword, ``(n,)``.

    f of a row is taken as normal around its value, with a variance in proportion to the row's
    residual; None: f is certain.
    """
    if residual is None:
        distances = hinge_distances(projections, codewords)
    else:
        deviations = PRIOR_DEVIATION * np.sqrt(residual)
        distances = expected_hinge_distances(projections, deviations, codewords)
    return np.asarray(distances.min(axis=(1, 2)), dtype=np.float64)


def distance_quantiles(distances: Array, weights: Array) -> Array:
    """Return the quantiles 0, 0.001, ... 1 of weighted rows' distances."""
    levels = np.linspace(0.0, 1.0, 1001)
    return np.asarray(
        np.quantile(distances, levels, weights=weights, method="inverted_cdf"), dtype=np.float64
    )


def squared_spans(kernel: Array, free: NDArray[np.bool_]) -> Array:
    """Return ``S_i^2`` of each support row; ``free`` marks those below their bound."""
    diagonal = np.diagonal(kernel).copy()
    if not free.any():
        return diagonal
    root = _inverse_root(kernel if free.all() else kernel[np.ix_(free, free)])
    part = root.sum(axis=1)  # of the inverse, root' root, the sum is |part|^2
    sums = part @ root
    total = max(float(part @ part), np.finfo(float).tiny)
    spans = np.empty(len(kernel))
    # The inverse of the kernel matrix bordered by ones, which account for the offset.
    inverse_diagonal = np.einsum("ij,ij->j", root, root)
    spans[free] = 1.0 / np.maximum(inverse_diagonal - sums**2 / total, np.finfo(float).tiny)
    bounded = ~free
    if bounded.any():
        cross = kernel[np.ix_(free, bounded)]
        reached = root @ cross
        offset = (1.0 - sums @ cross) ** 2 / total
        spans[bounded] = diagonal[bounded] - np.einsum("ij,ij->j", reached, reached) + offset
    # Without rounding and offset, no row is farther from the span of the others than from 0.
    return np.clip(spans, 0.0, 2.0 * diagonal.max())


def _inverse_root(matrix: Array, ridge: float = 0.0) -> Array:
    """Return a triangular A with ``A' A`` the inverse of a kernel matrix and a ridge.

    The ridge grows as far as a singular matrix needs.
    """
    ridge = max(ridge, _MIN_RIDGE * float(np.trace(matrix)) / len(matrix))
    diagonal = np.diag_indices(len(matrix))
    while True:
        raised = np.array(matrix.T, order="F")  # symmetric: no rearrangement
        raised[diagonal] += ridge
        factor, failed = lapack.dpotrf(raised, lower=1, overwrite_a=1)
        if not failed:
            return np.asarray(lapack.dtrtri(factor, lower=1, overwrite_c=1)[0])
        ridge *= 100.0
