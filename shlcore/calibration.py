"""From scores to probabilities: one temperature, learnt from rows that were left out.

One number for all classes keeps the order of the scores, so the most probable class is the one
that `predict` names.


@@@
What f would be at a training row, had that row not been there: the span rule.

Chapelle and Vapnik, "Model selection for support vector machines" (1999): if the other support
rows stay what they are, leaving out row i moves f at that row by ``alpha_i y_i S_i^2``, where S_i
is the distance of the row to the span of the others. f at training rows says nothing of
new ones when a kernel interpolates; these values do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices
    from shlcore.svm import KernelFunction


_COLDEST, _HOTTEST = 1e-3, 1e6
"""Scores are counted in bits. Beyond these, probabilities are 0 and 1, or all equal."""


def learn_temperature(scores: Array, labels: Indices, weights: Array) -> float:
    """Return the temperature at which the labels of rows are most likely.

    As Platt does, each label is believed a little less than wholly (by one row in n + 2), so that
    scores without a single error still get a temperature above 0.

    Parameters
    ----------
    scores
        ``n x C``, of rows by functions that these rows did not teach.
    labels
        ``(n,)``, class indices.
    weights
        ``(n,)``, how often each row counts.
    """
    n_classes = scores.shape[1]
    total = float(weights.sum())
    doubt = 1.0 / (total + 2.0)
    wanted = np.full(scores.shape, doubt / (n_classes - 1))
    wanted[np.arange(len(labels)), labels] = 1.0 - doubt

    def loss(log_temperature: float) -> float:
        logs = log_softmax(scores / np.exp(log_temperature), axis=1)
        return float(-(weights @ (wanted * logs).sum(axis=1)) / total)

    bounds = np.log(_COLDEST), np.log(_HOTTEST)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def probabilities(scores: Array, temperature: float) -> Array:
    """Return the probability of each class, ``n x C``."""
    return np.asarray(softmax(np.asarray(scores, dtype=np.float64) / temperature, axis=1))


_AT_BOUND = 1.0 - 1e-6
"""Share of its cost from which on a dual variable counts as bounded."""

_LEAST_RIDGE = 1e-12
"""Times the mean of the diagonal. A kernel of low rank needs more, and gets a hundredfold each
time."""


def leave_one_out(
    summed: Callable[[Array, Indices], Array],
    functions: Sequence[KernelFunction],
    projections: Floats,
    costs: Array,
) -> Array:
    """Return f of each row by the functions of the other rows, ``n x B``.

    Parameters
    ----------
    summed
        Returns the sum of kernels under some weights among some rows.
    projections
        ``n x B``, f at the rows.
    costs
        ``(n,)``, the largest value of each row's dual variable.
    """
    found = np.array(projections, dtype=np.float64)
    known: dict[bytes, Array] = {}
    for bit, function in enumerate(functions):
        if not function.support.size:
            continue
        # Bits that pose one SVM differ by the sign alone.
        parts = (function.support, np.abs(function.coefficients), function.scales)
        key = b"".join(part.tobytes() for part in parts)
        if key not in known:
            kernel = summed(function.scales, function.support)
            free = np.abs(function.coefficients) < _AT_BOUND * costs[function.support]
            known[key] = squared_spans(kernel, free)
        found[function.support, bit] -= function.coefficients * known[key]
    return found


def squared_spans(kernel: Array, free: NDArray[np.bool_]) -> Array:
    """Return ``S_i^2`` of each support row, given which dual variables are not at their bound."""
    diagonal = np.diagonal(kernel).copy()
    if not free.any():
        return diagonal
    inverse = _inverse(kernel[np.ix_(free, free)])
    sums = inverse.sum(axis=1)
    total = max(float(sums.sum()), np.finfo(float).tiny)
    spans = np.empty(len(kernel))
    # The inverse of the kernel bordered by ones, whose row and column stand for the offset.
    spans[free] = 1.0 / np.maximum(np.diagonal(inverse) - sums**2 / total, np.finfo(float).tiny)
    bounded = ~free
    if bounded.any():
        cross = kernel[np.ix_(bounded, free)]
        reached = np.einsum("ij,jk,ik->i", cross, inverse, cross, optimize=True)
        offset = (1.0 - cross @ sums) ** 2 / total
        spans[bounded] = diagonal[bounded] - reached + offset
    # Nobody is farther from the others' span than from 0, but for rounding and the offset.
    return np.clip(spans, 0.0, 2.0 * diagonal.max())


def _inverse(matrix: Array) -> Array:
    """Invert a kernel matrix; of a singular one what rounding leaves of it."""
    ridge = _LEAST_RIDGE * float(np.trace(matrix)) / len(matrix)
    places = np.diag_indices(len(matrix))
    while True:
        raised = matrix.copy(order="F")
        raised[places] += ridge
        factor, failed = lapack.dpotrf(raised, overwrite_a=True)
        if not failed:
            upper, _ = lapack.dpotri(factor, overwrite_c=True)
            return np.asarray(np.triu(upper) + np.triu(upper, 1).T)
        ridge *= 100.0
